// Engine: Cholesky factors of semidefinite matrices, with pivots.
#pragma once

#include <cstdint>
#include <vector>

namespace fastfs::core {

// Factors the b x b matrix A (destroyed; column-major, both triangles) by Cholesky with pivots, as long as a pivot
// exceeds its `least` and 0. Returns the q pivots in order, and sets R (q x q, column-major, resized) to the lower
// factor of A at the pivots.
std::vector<std::int64_t> pivoted_cholesky(std::int64_t b, double* A, const std::vector<double>& least,
                                           std::vector<double>& R);

}  // namespace fastfs::core
