// The strongest pairs of features of a W that is given by factors.
#pragma once

#include <cstdint>

#include "support/run.hpp"

namespace fastfs::core {

// Implements fastfs_immigrate_pairs: writes the n_pairs pairs a < b with the largest |w_ab|, the largest first, to a, b
// and weights, and returns their number, which is smaller if there are fewer pairs. W = sum_k values[k] v_k v_k',
// vectors row by row; without_leading leaves out the k with the largest |value|.
std::int64_t strongest_pairs(std::int64_t n_features, std::int64_t rank, const double* values, const double* vectors,
                             bool without_leading, std::int64_t n_pairs, Run& run, std::int64_t* a, std::int64_t* b,
                             double* weights);

}  // namespace fastfs::core
