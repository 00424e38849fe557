// Forms of the paper, as the authors' program has them. Both consume the kernels.
#pragma once

#include <cstdint>

#include "manifest/problem.hpp"
#include "support/buffer.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// (2) and (3) as they are printed, K_l + 2 eps I in place of K_l as in the public program. Takes 5 d^2 doubles.
void spd_form(std::int64_t d, Buffer<double> K1, Buffer<double> K2, Run& run, Outcome& outcome);

// Algorithm 2 (appendix B), for kernels of any rank, with the thresholds of the public program, whose default it is.
// Cores and subspaces move apart from each other; D lies in the range of K1, so that the order of the classes counts.
// Takes 9 d^2 doubles, if the rank is d.
void spsd_form(std::int64_t d, Buffer<double> K1, Buffer<double> K2, Run& run, Outcome& outcome);

}  // namespace fastfs::core
