// One problem by d x d kernels.
#pragma once

#include <vector>

#include "manifest/problem.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// At all scales, which share the distances.
void exact_problem(const Fit& fit, const Problem& problem, Run& run, std::vector<Outcome>& outcomes);

}  // namespace fastfs::core
