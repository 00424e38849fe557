// Interactions: pairs of features with a product that tells more about a target than both of them, with family-wise
// p-values from permutations (Westfall and Young 1993).
#pragma once

#include "fastfs/fastfs.h"
#include "support/matrix.hpp"
#include "support/owned.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Tests the interactions of all pairs of columns with a target, and writes the strongest pairs and their p-values to
// the result. other: null, or the table with columns to be paired with the columns of X. labels: the classes of the
// target, or null; y: its numbers, or null.
void scan_interactions(const Matrix& X, const Matrix* other, const std::int64_t* labels, const double* y,
                       const fastfs_interaction_options& options, Run& run, Owned<fastfs_interaction_result>& result);

}  // namespace fastfs::core
