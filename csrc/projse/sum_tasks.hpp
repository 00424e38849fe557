// Sizes of the tasks in which ProjSe forms its sums, and functions that dense rows, sparse rows and groups share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/csr.hpp"
#include "support/index.hpp"

namespace fastfs::core {

// Rows that share a shift, their first row, while they are summed: few enough for any first row, since the error is at
// most kPartRows eps, and enough to make the merge cheap.
constexpr std::int64_t kPartRows = 4096;
// Columns that are packed once for all products among them. 392 + 392 columns in one tile run at 52 GFLOP/s on Zen 4,
// as do 196.
constexpr std::int64_t kMostTileColumns = 512;
// Bytes of the rows that are packed together. On Zen 4 (1 MiB of L2) a half and all of L2 do equally well.
constexpr std::int64_t kPackBytes = 512 << 10;
constexpr std::int64_t kLeastPackRows = 128, kMostPackRows = 1024;
constexpr std::int64_t kWaveBytes = 64 << 20;  // of parts that are summed together
constexpr std::int64_t kSparsePart = 4 << 20;  // entries of a CSR matrix that are sorted by column together
constexpr std::int64_t kSparseColumns = 64;    // per task

// Divides n columns into tiles of nearly equal width.
inline std::int64_t tile_columns(std::int64_t n) { return n == 0 ? 1 : ceil_div(n, ceil_div(n, kMostTileColumns)); }

// Turns C, inner products about the shifts of p_w and q_w columns, into inner products about the means. lower: C has
// one set of columns, in the lower triangle.
inline void center_block(const double* p_sums, std::int64_t p_w, const double* q_sums, std::int64_t q_w,
                         std::int64_t n_rows, bool lower, double* C, std::int64_t ld) {
    const auto m = static_cast<double>(n_rows);
    for (std::int64_t j = 0; j < q_w; ++j) {
        const double factor = q_sums[j] / m;
        double* column = C + j * ld;
        for (std::int64_t i = lower ? j : 0; i < p_w; ++i) column[i] -= p_sums[i] * factor;
    }
}

// Tells if each of the rows r0..r1 - 1 of a CSR matrix lists its columns in ascending order.
template <class P, class I>
bool has_ascending_rows(std::int64_t r0, std::int64_t r1, const P* indptr, const I* indices) {
    for (std::int64_t r = r0; r < r1; ++r) {
        if (!ascends(indices + indptr[r], indptr[r + 1] - indptr[r])) return false;
    }
    return true;
}

// Calls visit(index, value) for the entries of row r with columns j0 .. j0 + w - 1 of n, which are ascending.
template <class V, class P, class I, class Visit>
void visit_entries(const V* values, const P* indptr, const I* indices, std::int64_t r, std::int64_t j0, std::int64_t w,
                   std::int64_t n, Visit&& visit) {
    const I *index = indices + indptr[r], *end = indices + indptr[r + 1];
    if (w < n) {
        index = std::lower_bound(index, end, j0);
        end = std::lower_bound(index, end, j0 + w);
    }
    const V* value = values + (index - indices);
    for (; index != end; ++index, ++value) visit(std::int64_t{*index} - j0, static_cast<double>(*value));
}

}  // namespace fastfs::core
