// Products of a column of a sparse matrix with columns of a dense one.
#pragma once

#include <algorithm>
#include <cstdint>

namespace fastfs::core {

constexpr int kTargetBlock = 16, kHalfBlock = 8;  // targets of one sweep through a sparse column

// Sets out[k] to the sum over the entries of value * Y[row * ld + k], k < kWidth. Y points to the place of row 0.
template <int kWidth, class V, class I>
void sparse_products(const I* rows, const V* values, std::int64_t n, const double* Y, std::int64_t ld, double* out) {
    double sum[kWidth] = {};
    for (std::int64_t e = 0; e < n; ++e) {
        const double* __restrict y = Y + static_cast<std::int64_t>(rows[e]) * ld;
        const auto v = static_cast<double>(values[e]);
        for (int k = 0; k < kWidth; ++k) sum[k] += v * y[k];
    }
    std::copy(sum, sum + kWidth, out);
}

// Sets out[k] to the sum over the entries for k < ld, a multiple of kHalfBlock.
template <class V, class I>
void sparse_products(const I* rows, const V* values, std::int64_t n, const double* Y, std::int64_t ld, double* out) {
    std::int64_t k = 0;
    for (; k + kTargetBlock <= ld; k += kTargetBlock) {
        sparse_products<kTargetBlock>(rows, values, n, Y + k, ld, out + k);
    }
    if (k < ld) sparse_products<kHalfBlock>(rows, values, n, Y + k, ld, out + k);
}

}  // namespace fastfs::core
