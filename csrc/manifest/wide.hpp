// One problem by low-rank kernels, for any number of features.
#pragma once

#include <cstdint>
#include <vector>

#include "manifest/problem.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// At all scales, one after the other.
void wide_problem(const Fit& fit, const Problem& problem, Run& run, std::vector<Outcome>& outcomes);

// Bytes that it takes: one side's low-rank kernel, and the other one's beside its features; then both and the joint
// range.
std::int64_t wide_memory(const Samples& X, const fastfs_manifest_options& options, std::int32_t accuracy,
                         const Run& run);

}  // namespace fastfs::core
