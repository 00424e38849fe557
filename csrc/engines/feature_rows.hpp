// Engine: features as rows of doubles, for methods that compare pairs of features value by value.
#pragma once

#include <cstdint>
#include <vector>

#include "support/index.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Writes the wanted columns of X (ascending), one after the other, to `values`: n_rows doubles each. Throws
// InvalidArgument naming the first value that isn't finite, in any column of X.
void read_feature_rows(const Matrix& X, const std::vector<std::int64_t>& wanted, double* values, Run& run);

// Replaces `values` in place by their ranks, 1 for the smallest; ties share the mean of their ranks.
void replace_by_ranks(Numbers& values);

// Returns the largest number of equal values, or 0 if it is below a quarter of all. Works without sorting.
std::int64_t most_equal(const Numbers& values);

// Shifts and scales `values` in place to mean 0 and mean square 1; returns false if all are equal. Works in a unit near
// the largest difference, so that squares neither overflow nor vanish.
bool standardise(Numbers& values);

}  // namespace fastfs::core
