// The scale of ManiFeSt's kernels: sigma from the distances, and the symmetric normalisation.
#pragma once

#include <cstdint>
#include <vector>

#include "fastfs/fastfs.h"
#include "manifest/problem.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// sigma by a rule, in the units of the distances, whose squares D2 are an upper triangle. If the distance of the rule
// is 0, it is taken among the positive ones, with a warning; without positive ones it throws.
double choose_sigma(const double* D2, std::int64_t d, const fastfs_manifest_scale& scale, const Name& name,
                    std::int32_t& warnings, Run& run);

// sigma x unit. Throws if that is no number any more.
double in_units_of_data(double sigma, double unit, const Name& name);

// K <- diag(q)^(-1/2) K diag(q)^(-1/2), q = K 1, `times` over; only the diagonal factors are iterated.
void normalize(double* K, std::int64_t d, int times, Run& run);

}  // namespace fastfs::core
