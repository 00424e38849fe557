// The paper's two forms, as in the authors' program. Both functions consume the kernels.
#pragma once

#include <cstdint>

#include "manifest/problem.hpp"
#include "support/buffer.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Writes the scores and components of (2) and (3) as printed to the outcome, with K_l replaced by K_l + 2 eps I as in
// the public program. Takes 5 d^2 doubles.
void spd_form(std::int64_t d, Buffer<double> K1, Buffer<double> K2, Run& run, Outcome& outcome);

// Writes the scores and components of Algorithm 2 (appendix B) to the outcome: the public program's default, for
// kernels of any rank, with that program's thresholds. Cores and subspaces move apart from each other; D lies in the
// range of K1, so that the order of the classes counts. Takes 9 d^2 doubles, if the rank is d.
void spsd_form(std::int64_t d, Buffer<double> K1, Buffer<double> K2, Run& run, Outcome& outcome);

}  // namespace fastfs::core
