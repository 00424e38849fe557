#include "engines/pivoted_cholesky.hpp"

#include <algorithm>
#include <cmath>

#include "support/index.hpp"

namespace fastfs::core {

// Subtracts the outer product of the column of the largest pivot from A until no pivot exceeds its `least`; returns the
// pivots in order, and sets R.
std::vector<std::int64_t> pivoted_cholesky(std::int64_t b, double* A, const std::vector<double>& least,
                                           std::vector<double>& R) {
    std::vector<std::int64_t> order;
    std::vector<double> columns;  // of the factor, one after the other, all b rows
    for (;;) {
        std::int64_t pivot = -1;
        for (std::int64_t i = 0; i < b; ++i) {
            if (A[i * b + i] > std::max(least[at(i)], 0.0) && (pivot < 0 || A[i * b + i] > A[pivot * b + pivot]))
                pivot = i;
        }
        if (pivot < 0) break;
        const double root = std::sqrt(A[pivot * b + pivot]);
        order.push_back(pivot);
        const std::size_t begin = columns.size();
        for (std::int64_t i = 0; i < b; ++i) columns.push_back(A[pivot * b + i] / root);
        const double* column = columns.data() + begin;
        for (std::int64_t j = 0; j < b; ++j) {
            for (std::int64_t i = 0; i < b; ++i) A[j * b + i] -= column[i] * column[j];
        }
        for (std::int64_t taken : order) A[taken * b + taken] = 0;
    }
    const std::size_t q = order.size();
    R.assign(q * q, 0.0);
    for (std::size_t j = 0; j < q; ++j) {
        for (std::size_t i = j; i < q; ++i) {
            R[j * q + i] = columns[j * at(b) + at(order[i])];
        }
    }
    return order;
}

}  // namespace fastfs::core
