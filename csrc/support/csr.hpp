// Lines of sparse matrices, and matrices by rows that become matrices by columns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/buffer.hpp"
#include "support/index.hpp"

namespace fastfs::core {

// Tests if n nonnegative indices ascend without repeats.
template <class I>
bool ascends(const I* indices, std::int64_t n) {
    I signs = 0;  // negative if an index is not larger than its predecessor
    for (std::int64_t e = 1; e < n; ++e) signs |= indices[e] - indices[e - 1] - 1;
    return signs >= 0;
}

// A row of a CSR matrix or a column of a CSC one: calls f(indices, values, n) with indices ascending and entries at one
// place added up.
template <class V>
class SparseLine {
  public:
    template <class I, class F>
    void visit(const I* indices, const V* values, std::int64_t n, F&& f) {
        if (ascends(indices, n)) return f(indices, values, n);
        sort_entries(indices, values, n);
        f(indices_.data(), values_.data(), static_cast<std::int64_t>(indices_.size()));
    }

  private:
    // Sets indices_ and values_ to the entries by ascending index, with entries at one place added up.
    template <class I>
    void sort_entries(const I* indices, const V* values, std::int64_t n) {
        std::vector<std::pair<std::int64_t, std::int64_t>> entries(at(n));
        for (std::int64_t e = 0; e < n; ++e) entries[at(e)] = {indices[e], e};
        std::sort(entries.begin(), entries.end());
        indices_.clear();
        values_.clear();
        for (const auto& [index, e] : entries) {
            if (!indices_.empty() && indices_.back() == index) {
                values_.back() += values[e];
            } else {
                indices_.push_back(index);
                values_.push_back(values[e]);
            }
        }
    }

    std::vector<std::int64_t> indices_;
    std::vector<V> values_;
};

// A range of rows of a CSR matrix, sorted by column.
template <class V>
struct SortedByColumn {
    Buffer<std::int64_t> begins;
    Buffer<std::int64_t> rows;
    Buffer<V> values;

    // Sorts the entries of rows r0..r1 - 1 by column: column j has the entries begins[j]..begins[j + 1] - 1.
    template <class I>
    void sort_rows(const V* from, const I* indptr, const I* indices, std::int64_t r0, std::int64_t r1,
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
