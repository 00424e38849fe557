// Sparse matrices by rows become matrices by columns.
#pragma once

#include <algorithm>
#include <cstdint>

#include "support/buffer.hpp"

namespace fastfs::core {

// Some rows of a CSR matrix, sorted by column.
template <class V>
struct SortedByColumn {
    Buffer<std::int64_t> begins;
    Buffer<std::int64_t> rows;
    Buffer<V> values;

    template <class I>
    void assign(const V* from, const I* indptr, const I* indices, std::int64_t r0, std::int64_t r1,
                std::int64_t n_cols) {
        const std::int64_t n = indptr[r1] - indptr[r0];
        if (begins.size() < n_cols + 2) begins = Buffer<std::int64_t>(n_cols + 2);
        if (values.size() < n) {
            rows = Buffer<std::int64_t>(n);
            values = Buffer<V>(n);
        }
        std::fill(begins.data(), begins.data() + n_cols + 2, 0);
        for (std::int64_t e = indptr[r0]; e < indptr[r1]; ++e) ++begins[indices[e] + 2];
        for (std::int64_t j = 2; j < n_cols + 2; ++j) begins[j] += begins[j - 1];
        for (std::int64_t r = r0; r < r1; ++r) {
            for (std::int64_t e = indptr[r]; e < indptr[r + 1]; ++e) {
                const std::int64_t to = begins[indices[e] + 1]++;
                rows[to] = r;
                values[to] = from[e];
            }
        }
    }
};

}  // namespace fastfs::core
