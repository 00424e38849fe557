// Logistic regression of classes on covariates, within pools.
#pragma once

#include <cstdint>
#include <vector>

#include "support/index.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Returns n_classes x n_columns coefficients, row-major. Z: n x n_columns, row-major; codes: the class of each row;
// pool p has the rows bounds[p] .. bounds[p + 1] - 1. The regression is on pairs of rows of one pool with different
// classes. It models the odds that the two classes are this way round, in which effects of the pool cancel, so that
// pools may be as small as pairs. With little shrinkage: theta' theta / 2 is added to 2e4 times the loss, so that
// separable classes have a solution.
Numbers logistic_regression(const Numbers& Z, std::int64_t n_columns, const std::vector<std::int32_t>& codes,
                            std::int64_t n_classes, const std::vector<std::int64_t>& bounds, Run& run);

}  // namespace fastfs::core
