// Engine: features as rows of doubles, for methods that compare pairs of features value by value.
#pragma once

#include <cstdint>
#include <vector>

#include "support/index.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Writes the wanted columns of X, ascending, one after the other: n_rows values each. Throws InvalidArgument naming the
// first value that isn't finite.
void read_feature_rows(const Matrix& X, const std::vector<std::int64_t>& wanted, double* values, Run& run);

// Replaces values by their ranks from 1; ties share the mean of their ranks.
void replace_by_ranks(Numbers& values);

// Scales values to mean 0 and mean square 1, and returns false if all are equal. Works in a unit near the largest
// difference, so that squares neither overflow nor vanish.
bool standardise(Numbers& values);

}  // namespace fastfs::core
