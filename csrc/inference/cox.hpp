// Cox's regression of times on covariates, within pools.
#pragma once

#include <cstdint>
#include <vector>

#include "support/index.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Units of each pool in the order of their times.
struct RiskSets {
    Numbers Z;  // n x n_columns
    std::vector<std::int64_t>
        begin;  // of each row: the first row at risk at its time; others follow up to the pool's end
    std::vector<std::int64_t> bounds;  // pool p has the rows bounds[p] .. bounds[p + 1] - 1
};

// Returns the n_columns coefficients of the logarithm of the hazard of the rows with kinds[k] == kind, their events, by
// the partial likelihood with Breslow's rule for ties; each pool has a separate baseline. With little shrinkage, as in
// logistic_regression.
Numbers cox_regression(const RiskSets& sets, std::int64_t n_columns, const std::vector<char>& kinds, int kind,
                       Run& run);

}  // namespace fastfs::core
