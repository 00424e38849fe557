// Columns of a range of rows minus a shift, packed for the inner products of engines/isa/tiles.hpp, and their inner
// products.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "engines/isa/tiles.hpp"
#include "projse/columns.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/matrix.hpp"

namespace fastfs::core {

// Copies x_ij, of n rows and w columns that are rs and cs apart, to out[i * ld + j].
template <class T, class S>
void copy_rows(const S* __restrict x, std::int64_t rs, std::int64_t cs, std::int64_t n, std::int64_t w,
               T* __restrict out, std::int64_t ld) {
    if (std::abs(cs) <= std::abs(rs)) {
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = 0; j < w; ++j) out[i * ld + j] = static_cast<T>(x[i * rs + j * cs]);
        }
    } else {
        for (std::int64_t j = 0; j < w; ++j) {
            for (std::int64_t i = 0; i < n; ++i) out[i * ld + j] = static_cast<T>(x[i * rs + j * cs]);
        }
    }
}

// Columns first..first + w - 1 of a range of rows, in panels (engines/isa/tiles.hpp).
template <class T>
struct Packed {
    Buffer<T> values;
    std::vector<T> shift;
    std::vector<double> sums, squares;  // up to a multiple of kPanel, as is the shift
    std::int64_t n = 0, w = 0, panel_stride = 0;

    // Makes room for `capacity` rows of columns first..first + width - 1, takes row r0 as their shift, and sets their
    // sums to 0.
    void start_columns(const fastfs_matrix& m, std::int64_t r0, std::int64_t first, std::int64_t width,
                       std::int64_t capacity) {
        w = width;
        panel_stride = capacity * kPanel<T>;
        const std::int64_t n_panels = ceil_div(w, kPanel<T>);
        if (values.size() < n_panels * panel_stride) values = Buffer<T>(n_panels * panel_stride);
        if (w % kPanel<T> != 0) std::fill_n(panel(w), panel_stride, T(0));
        sums.assign(at(n_panels * kPanel<T>), 0.0);
        squares.assign(sums.size(), 0.0);
        shift.assign(sums.size(), T(0));
        visit_values(m, [&](const auto& x) {
            for (std::int64_t j = 0; j < w; ++j) shift[at(j)] = static_cast<T>(x(r0, first + j));
        });
    }

    // Packs rows r0..r1 - 1, less the shift, and adds them to the sums and squares.
    void fill_rows(const fastfs_matrix& m, std::int64_t r0, std::int64_t r1, std::int64_t first) {
        n = r1 - r0;
        visit_values(m, [&]<class S>(const Values<S>& x) {
            Buffer<S> room;
            for (std::int64_t r = 0; r < n; r += kRowsAtOnce) {
                const std::int64_t rows = std::min(kRowsAtOnce, n - r);
                for (std::int64_t j = 0; j < w; j += kPanel<T>) {
                    const std::int64_t cols = std::min(kPanel<T>, w - j);
                    fill_panel(x.block(r0 + r, r0 + r + rows, first + j, first + j + cols, room), r, rows, j, cols);
                }
            }
        });
    }

    // Tests if the sums and squares of all columns over n_rows rows are in the range of T.
    bool sums_fit(std::int64_t n_rows) const {
        for (std::size_t j = 0; j < at(w); ++j) {
            if (!in_range<T>(sums[j], squares[j], n_rows)) return false;
        }
        return true;
    }

    T* panel(std::int64_t j) { return values.data() + j / kPanel<T> * panel_stride; }
    const T* panel(std::int64_t j) const { return values.data() + j / kPanel<T> * panel_stride; }

  private:
    static constexpr std::int64_t kRowsAtOnce = 64;  // that stay in the cache from one panel to the next

    // Packs a block into the panel of column j from row r on, and adds it to the sums and squares.
    template <class S>
    void fill_panel(const Block<S>& block, std::int64_t r, std::int64_t rows, std::int64_t j, std::int64_t cols) {
        const auto [x, rs, cs] = block;
        // Prefetches the next rows. By itself the processor reads them at a quarter of the memory's speed, since they
        // are read piece by piece with products in between. Stays inline, because GCC drops calls of functions that
        // only prefetch.
        const bool along_rows = by_rows(block);
        const std::int64_t outer = along_rows ? rs : cs, inner = along_rows ? cs : rs;
        for (std::int64_t o = 0; o < (along_rows ? rows : cols); ++o) {
            for (std::int64_t i = 0; i < (along_rows ? cols : rows); i += 64 / sizeof(S)) {
                __builtin_prefetch(x + kRowsAtOnce * rs + o * outer + i * inner, 0, 2);
            }
        }
        T* to = panel(j) + r * kPanel<T>;
        const T* from = to;
        std::int64_t stride = kPanel<T>;
        if constexpr (std::is_same_v<S, T>) {
            if (cs == 1 && cols == kPanel<T>) from = x, stride = rs;
        }
        if (from == to) copy_rows(x, rs, cs, rows, cols, to, kPanel<T>);
        tile_kernels<T>().shift(from, stride, rows, shift.data() + j, to, sums.data() + j, squares.data() + j);
    }
};

// Sets C (p.w x q.w, column-major, which is Q' P in the tile's order) to P' Q, or adds it to C (add).
template <class T>
void multiply_packed(const Packed<T>& p, const Packed<T>& q, bool add, T* C, std::int64_t ld) {
    tile_kernels<T>().gram(q.panel(0), p.panel(0), p.panel_stride, p.n, add, C, ld, q.w, p.w);
}
// Sets the lower triangle of C to P' P, or adds it to C (add).
template <class T>
void multiply_packed(const Packed<T>& p, bool add, T* C, std::int64_t ld) {
    constexpr std::int64_t kStep = kPanel<T> / 3;  // a register of AVX-512: few products are in vain
    const auto gram = tile_kernels<T>().gram;
    for (std::int64_t i = 0; i < p.w; i += kPanel<T>) {
        const std::int64_t end = std::min(i + kPanel<T>, p.w);
        const T* panel = p.panel(i);
        if (i > 0) gram(p.panel(0), panel, p.panel_stride, p.n, add, C + i, ld, i, end - i);
        for (std::int64_t j = i; j < end; j += kStep) {
            gram(panel + (j - i), panel + (j - i), p.panel_stride, p.n, add, C + j * ld + j, ld,
                 std::min(kStep, end - j), end - j);
        }
    }
}

// Sets C to the products of a chunk of rows (first), or adds them to it, in double also from floats; with one side only
// the lower triangle. tile: scratch, which grows as needed.
template <class T, class... Sides>
void accumulate(bool first, std::int64_t n_rows, std::int64_t n_cols, double* C, std::int64_t ld, Buffer<float>& tile,
                const Sides&... sides) {
    if constexpr (sizeof(T) == sizeof(double)) {
        multiply_packed<double>(sides..., !first, C, ld);
    } else {
        constexpr bool lower = sizeof...(sides) == 1;
        if (tile.size() < n_rows * n_cols) tile = Buffer<float>(n_rows * n_cols);
        multiply_packed<float>(sides..., false, tile.data(), n_rows);
        for (std::int64_t j = 0; j < n_cols; ++j) {
            const float* __restrict from = tile.data() + j * n_rows;
            double* __restrict to = C + j * ld;
            const std::int64_t i0 = lower ? j : 0;
            if (first) {
                for (std::int64_t i = i0; i < n_rows; ++i) to[i] = static_cast<double>(from[i]);
            } else {
                for (std::int64_t i = i0; i < n_rows; ++i) to[i] += static_cast<double>(from[i]);
            }
        }
    }
}

}  // namespace fastfs::core
