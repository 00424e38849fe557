// A column of a sparse matrix, and its products with columns of a dense one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/index.hpp"

namespace fastfs::core {

// A column of a sparse matrix: calls f(rows, values, n) with rows ascending and entries at one place added up.
template <class V>
class SparseColumn {
  public:
    template <class I, class F>
    void visit(const I* rows, const V* values, std::int64_t n, F&& f) {
        bool ascending = true;
        for (std::int64_t e = 1; e < n; ++e) ascending &= rows[e - 1] < rows[e];
        if (ascending) return f(rows, values, n);
        sort(rows, values, n);
        f(rows_.data(), values_.data(), static_cast<std::int64_t>(rows_.size()));
    }

  private:
    template <class I>
    void sort(const I* rows, const V* values, std::int64_t n) {
        std::vector<std::pair<std::int64_t, std::int64_t>> entries(at(n));
        for (std::int64_t e = 0; e < n; ++e) entries[at(e)] = {rows[e], e};
        std::sort(entries.begin(), entries.end());
        rows_.clear();
        values_.clear();
        for (const auto& [row, e] : entries) {
            if (!rows_.empty() && rows_.back() == row) {
                values_.back() += values[e];
            } else {
                rows_.push_back(row);
                values_.push_back(values[e]);
            }
        }
    }

    std::vector<std::int64_t> rows_;
    std::vector<V> values_;
};

constexpr int kTargetBlock = 16, kHalfBlock = 8;  // targets of one sweep through a sparse column

// out[k] = sum over the entries of value * Y[row * ld + k], k < kWidth; Y starts where row 0 would.
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

// The same for k < ld, a multiple of kHalfBlock.
template <class V, class I>
void sparse_products(const I* rows, const V* values, std::int64_t n, const double* Y, std::int64_t ld, double* out) {
    std::int64_t k = 0;
    for (; k + kTargetBlock <= ld; k += kTargetBlock) {
        sparse_products<kTargetBlock>(rows, values, n, Y + k, ld, out + k);
    }
    if (k < ld) sparse_products<kHalfBlock>(rows, values, n, Y + k, ld, out + k);
}

}  // namespace fastfs::core
