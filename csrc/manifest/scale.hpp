// The scale of ManiFeSt's kernels: sigma from the distances, and the symmetric normalisation.
#pragma once

#include <cstdint>
#include <vector>

#include "fastfs/fastfs.h"
#include "manifest/problem.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Returns sigma by a rule, in the unit of the distances; D2: the squared distances, an upper triangle. If the rule
// gives distance 0, applies it to the positive distances, and adds kKernelSigma to `warnings`. Throws if no distance is
// positive.
double choose_sigma(const double* D2, std::int64_t d, const fastfs_manifest_scale& scale, const Name& name,
                    std::int32_t& warnings, Run& run);

// Returns sigma x unit. Throws if the product overflows.
double in_units_of_data(double sigma, double unit, const Name& name);

// Normalises the upper triangle of K `times` times: K <- diag(q)^(-1/2) K diag(q)^(-1/2), q = K 1. Only the diagonal
// factors are iterated. Throws NumericError if a row sum isn't positive.
void normalize_kernel(double* K, std::int64_t d, int times, Run& run);

}  // namespace fastfs::core
