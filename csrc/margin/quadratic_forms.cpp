#include "margin/quadratic_forms.hpp"

#include <algorithm>
#include <cmath>

#include "engines/isa/tiles.hpp"
#include "engines/spectral.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// Rows of a task of quadratic_forms: the mirror image of its results then fills entire cache lines.
constexpr std::int64_t kRowsOfTask = 8;

// Features with differences that are multiplied together, if W is given by factors: a panel of them takes 96 kB.
constexpr std::int64_t kChunk = 512;

// Pairs with rows that are made together, and pairs that are summed up in T before they are added in double.
constexpr std::int64_t kRows = 32, kFlush = 256;

// Sides of the tiles that Sigma is cut into beyond kWholeSide, doubles in all its copies, and how many copies at most.
constexpr std::int64_t kWholeSide = 256, kTileSide = 192, kCopies = std::int64_t{1} << 22, kMostCopies = 16;

template <class T>
const FormKernels<T>& form_kernels();
template <>
const FormKernels<float>& form_kernels<float>() {
    return isa().forms->f32;
}
template <>
const FormKernels<double>& form_kernels<double>() {
    return isa().forms->f64;
}

std::int64_t tile_side(std::int64_t A) {
    return round_up(A <= kWholeSide ? A : ceil_div(A, ceil_div(A, kTileSide)), kUnit<float>);
}
std::int64_t n_copies(std::int64_t A) { return std::clamp<std::int64_t>(kCopies / (A * A), 1, kMostCopies); }

}  // namespace

// Copies the scaled features of all samples into both layouts; the last unit is filled up with the last sample.
template <class T>
PackedSamples<T>::PackedSamples(const ScaledFeatures& data, Run& run)
    : n_(data.n_samples()),
      A_(data.n_features()),
      ld_(round_up(A_, kUnit<T>)),
      rows_(pack_samples<T>(data, 0, n_, ld_, run)),
      units_(ceil_div(n_, kUnit<T>) * A_ * kUnit<T>) {
    parallel_for(run, ceil_div(n_, kUnit<T>), [&](std::int64_t u, int) {
        T* to = units_.data() + u * A_ * kUnit<T>;
        for (std::int64_t l = 0; l < kUnit<T>; ++l) {
            const T* from = row(std::min(u * kUnit<T> + l, n_ - 1));
            for (std::int64_t a = 0; a < A_; ++a) to[a * kUnit<T> + l] = from[a];
        }
    });
}

template <class T>
std::int64_t PackedSamples<T>::memory(std::int64_t n, std::int64_t A) {
    return static_cast<std::int64_t>(sizeof(T)) * (n * round_up(A, kUnit<T>) + round_up(n, kUnit<T>) * A);
}

template <class T>
QuadraticForm<T>::QuadraticForm(std::int64_t n, std::int64_t rank, const double* values, const double* vectors)
    : triangle_(false) {
    std::vector<std::int64_t> order[2];  // of the positive and the negative values
    for (std::int64_t k = 0; k < rank; ++k) order[values[k] < 0].push_back(k);
    const auto blocks = [&](int side) { return ceil_div(static_cast<std::int64_t>(order[side].size()), kFormRows); };
    W_ = Buffer<T>((blocks(0) + blocks(1)) * kFormRows * n);
    T* to = W_.data();
    for (const int side : {0, 1}) {
        for (std::int64_t block = 0; block < blocks(side); ++block) {
            blocks_.push_back({0, side ? T(-1) : T(1), to});
            for (std::int64_t r = 0; r < kFormRows; ++r) {
                const auto at = static_cast<std::size_t>(block * kFormRows + r);
                if (at >= order[side].size()) {
                    for (std::int64_t a = 0; a < n; ++a) to[a * kFormRows + r] = 0;
                    continue;
                }
                const std::int64_t k = order[side][at];
                const double root = std::sqrt(std::abs(values[k]));
                for (std::int64_t a = 0; a < n; ++a) to[a * kFormRows + r] = static_cast<T>(root * vectors[k * n + a]);
            }
            to += kFormRows * n;
        }
    }
}

template <class T>
QuadraticForm<T>::QuadraticForm(std::int64_t n, const double* W) : triangle_(true) {
    std::int64_t size = 0;
    for (std::int64_t r0 = 0; r0 < n; r0 += kFormRows) size += kFormRows * (n - r0);
    W_ = Buffer<T>(size);
    T* to = W_.data();
    for (std::int64_t r0 = 0; r0 < n; r0 += kFormRows) {
        blocks_.push_back({r0, T(1), to});
        for (std::int64_t a = r0; a < n; ++a) {
            for (std::int64_t r = r0; r < r0 + kFormRows; ++r) {
                *to++ = r > a || r >= n ? T(0) : static_cast<T>((r == a ? 1 : 2) * W[r * n + a]);
            }
        }
    }
}

Buffer<double> dense_of_factors(std::int64_t n, std::int64_t rank, const double* values, const double* vectors,
                                Run& run) {
    Buffer<double> scaled(n * rank), W(n * n);
    for (std::int64_t k = 0; k < rank; ++k) {
        for (std::int64_t a = 0; a < n; ++a) scaled[k * n + a] = -values[k] * vectors[k * n + a];
    }
    std::fill_n(W.data(), n * n, 0.0);
    update_lower(n, rank, scaled.data(), vectors, n, W.data(), n, run);
    mirror_lower(n, W.data());
    return W;
}

template <class T>
QuadraticForm<T> form_of(std::int64_t n, std::int64_t rank, const double* values, const double* vectors, Run& run) {
    // d'(U d) takes n^2 / 2 multiplications, the product with the factors n * rank.
    if (2 * rank < n || !run.allows(8 * 3 * n * n)) return QuadraticForm<T>(n, rank, values, vectors);
    return QuadraticForm<T>(n, dense_of_factors(n, rank, values, vectors, run).data());
}

template <class T>
void quadratic_forms(const PackedSamples<T>& left, std::int64_t i0, std::int64_t i1, const PackedSamples<T>& right,
                     bool one_triangle, const QuadraticForm<T>& W, double* out, std::int64_t ld, Run& run) {
    const FormKernels<T>& kernels = form_kernels<T>();
    const std::int64_t A = left.n_features(), n_right = right.n_samples(), n_units = ceil_div(n_right, kUnit<T>);
    const std::int64_t chunk = W.is_triangle() ? A : std::min(A, kChunk);
    const auto n_blocks = static_cast<std::int64_t>(W.blocks().size());
    const bool in_chunks = chunk < A;
    std::vector<Buffer<T>> panels, sums;
    for (int t = 0; t < run.n_threads(); ++t) {
        panels.emplace_back(round_up(chunk, kFormRows) * kPairs<T>);
        sums.emplace_back(in_chunks ? n_blocks * kFormRows * kPairs<T> : 1);
    }
    parallel_for(run, ceil_div(i1 - i0, kRowsOfTask), [&](std::int64_t task, int slot) {
        const std::int64_t first = i0 + task * kRowsOfTask, last = std::min(first + kRowsOfTask, i1);
        T *d = panels[static_cast<std::size_t>(slot)].data(), *S = sums[static_cast<std::size_t>(slot)].data();
        std::fill(d + chunk * kPairs<T>, d + round_up(chunk, kFormRows) * kPairs<T>, T(0));  // meets zeros of U
        std::int64_t rows[3], units[3];
        int filled = 0;
        // Writes the forms of the pairs that fill the panel so far, and empties it.
        auto compute = [&] {
            if (filled == 0) return;
            run.checkpoint();
            for (int s = filled; s < 3; ++s) {  // repeats a unit, because the panel must hold numbers
                rows[s] = rows[0];
                units[s] = units[0];
            }
            alignas(64) T f[kPairs<T>] = {};
            for (std::int64_t a0 = 0; a0 < A; a0 += chunk) {
                const std::int64_t n = std::min(chunk, A - a0);
                for (int s = 0; s < 3; ++s) {
                    kernels.panel(left.row(rows[s]) + a0, right.unit(units[s]) + a0 * kUnit<T>, n, d + s * kUnit<T>);
                }
                for (std::int64_t b = 0; b < n_blocks; ++b) {
                    const auto& block = W.blocks()[static_cast<std::size_t>(b)];
                    const T* from = d + block.begin * kPairs<T>;
                    kernels.form(block.W + a0 * kFormRows, from, n - block.begin, a0 == 0, a0 + n == A,
                                 in_chunks ? S + b * kFormRows * kPairs<T> : nullptr, W.is_triangle() ? from : nullptr,
                                 block.sign, f);
                }
            }
            for (int s = 0; s < filled; ++s) {
                const std::int64_t j0 = units[s] * kUnit<T>;
                double* to = out + (rows[s] - i0) * ld + j0;
                // Entries below the diagonal are written by the mirror, in another task perhaps.
                const std::int64_t begin = one_triangle ? std::max<std::int64_t>(0, rows[s] - j0) : 0;
                for (std::int64_t l = begin; l < std::min(kUnit<T>, n_right - j0); ++l) to[l] = f[s * kUnit<T> + l];
            }
            filled = 0;
        };
        for (std::int64_t i = first; i < last; ++i) {
            for (std::int64_t u = one_triangle ? i / kUnit<T> : 0; u < n_units; ++u) {
                rows[filled] = i;
                units[filled] = u;
                if (++filled == 3) compute();
            }
        }
        compute();
        for (std::int64_t j = first + 1; one_triangle && j < n_right; ++j) {
            for (std::int64_t i = first; i < std::min(last, j); ++i) out[j * ld + i] = out[i * ld + j];
        }
    });
}

void fold_into_upper(std::int64_t n, double* g, std::int64_t ld, Run& run) {
    constexpr std::int64_t kSquare = 32;
    parallel_for(run, ceil_div(n, kSquare), [&](std::int64_t task, int) {
        const std::int64_t i0 = task * kSquare, i1 = std::min(i0 + kSquare, n);
        for (std::int64_t j0 = i0; j0 < n; j0 += kSquare) {
            for (std::int64_t i = i0; i < i1; ++i) {
                for (std::int64_t j = std::max(j0, i + 1); j < std::min(j0 + kSquare, n); ++j) {
                    g[i * ld + j] += g[j * ld + i];
                }
            }
        }
    });
}

template <class T>
void outer_sums(const PackedSamples<T>& left, std::int64_t i0, std::int64_t i1, const PackedSamples<T>& right,
                const double* g, std::int64_t ld, bool one_triangle, double negligible, double* Sigma, Run& run) {
    const FormKernels<T>& kernels = form_kernels<T>();
    const std::int64_t A = left.n_features(), n_right = right.n_samples();
    const std::int64_t side = tile_side(A), tiles = ceil_div(A, side), n_tiles = tiles * (tiles + 1) / 2;

    // Slices of rows with about as many pairs in each.
    std::vector<std::int64_t> active(static_cast<std::size_t>(i1 - i0));
    parallel_for(run, ceil_div(i1 - i0, kRowsOfTask), [&](std::int64_t task, int) {
        for (std::int64_t i = i0 + task * kRowsOfTask; i < std::min(i0 + (task + 1) * kRowsOfTask, i1); ++i) {
            const double* row = g + (i - i0) * ld;
            std::int64_t count = 0;
            for (std::int64_t j = one_triangle ? i + 1 : 0; j < n_right; ++j) count += std::abs(row[j]) > negligible;
            active[static_cast<std::size_t>(i - i0)] = count;
        }
    });
    std::int64_t total = 0;
    for (const std::int64_t count : active) total += count;
    const std::int64_t copies = std::min(n_copies(A), std::max<std::int64_t>(ceil_div(total, 16 * kFlush), 1));
    std::vector<std::int64_t> begins{i0};
    std::int64_t sum = 0;
    for (std::int64_t i = i0; i < i1; ++i) {
        sum += active[static_cast<std::size_t>(i - i0)];
        const auto slice = static_cast<std::int64_t>(begins.size());
        if (slice < copies && sum * copies >= total * slice) begins.push_back(i + 1);
    }
    begins.push_back(i1);
    const auto n_slices = static_cast<std::int64_t>(begins.size()) - 1;

    Buffer<double> partial(n_slices * A * A);
    std::vector<Buffer<T>> scratch;
    for (int t = 0; t < run.n_threads(); ++t) scratch.emplace_back(side * side + 2 * kRows * side);
    parallel_for(run, n_slices * n_tiles, [&](std::int64_t task, int slot) {
        const std::int64_t slice = task / n_tiles;
        std::int64_t ta = 0, tb = task % n_tiles;  // the tile's row and column
        while (tb >= tiles - ta) tb -= tiles - ta++;
        tb += ta;
        const std::int64_t a0 = ta * side, rows = std::min(side, A - a0), b0 = tb * side, cols = std::min(side, A - b0);
        const bool diagonal = ta == tb;
        T *tile = scratch[static_cast<std::size_t>(slot)].data(), *times_g = tile + side * side,
          *d = times_g + kRows * side;
        double* to = partial.data() + slice * A * A + a0 * A + b0;
        const std::int64_t row_ld = round_up(rows, kUnit<T>), col_ld = round_up(cols, kUnit<T>);

        for (std::int64_t a = 0; a < rows; ++a) std::fill_n(to + a * A, cols, 0.0);
        std::fill_n(tile, side * side, T(0));
        std::int64_t n_filled = 0, since = 0;
        auto multiply = [&] {
            run.checkpoint();
            kernels.outer(times_g, row_ld, d, col_ld, n_filled, round_up(rows, kFormRows), col_ld, diagonal, tile,
                          side);
            since += n_filled;
            n_filled = 0;
        };
        auto flush = [&] {
            for (std::int64_t a = 0; a < rows; ++a) {
                for (std::int64_t b = diagonal ? a : 0; b < cols; ++b) {
                    to[a * A + b] += static_cast<double>(tile[a * side + b]);
                    tile[a * side + b] = 0;
                }
            }
            since = 0;
        };
        for (std::int64_t i = begins[static_cast<std::size_t>(slice)]; i < begins[static_cast<std::size_t>(slice) + 1];
             ++i) {
            const double* row = g + (i - i0) * ld;
            const T* x = left.row(i);
            for (std::int64_t j = one_triangle ? i + 1 : 0; j < n_right; ++j) {
                if (!(std::abs(row[j]) > negligible)) continue;
                const T* y = right.row(j);
                const T weight = static_cast<T>(row[j]);
                T *to_d = d + n_filled * col_ld, *to_g = times_g + n_filled * row_ld;
                if (diagonal) {
                    kernels.row(x + a0, y + a0, col_ld, weight, to_d, to_g);
                } else {
                    kernels.row(x + b0, y + b0, col_ld, T(1), to_d, nullptr);
                    kernels.row(x + a0, y + a0, row_ld, weight, nullptr, to_g);
                }
                if (++n_filled == kRows) multiply();
                if (since == kFlush) flush();
            }
        }
        multiply();
        flush();
    });
    parallel_for(run, A, [&](std::int64_t a, int) {
        for (std::int64_t slice = 0; slice < n_slices; ++slice) {
            const double* from = partial.data() + slice * A * A + a * A;
            for (std::int64_t b = a; b < A; ++b) Sigma[a * A + b] += from[b];
        }
    });
}

std::int64_t forms_memory(std::int64_t A, int n_threads) {
    const std::int64_t side = tile_side(A);
    return 8 * (n_copies(A) * A * A + n_threads * (side * side + 2 * kRows * side + A * kPairs<double>));
}

template class PackedSamples<float>;
template class PackedSamples<double>;
template class QuadraticForm<float>;
template class QuadraticForm<double>;
template void quadratic_forms(const PackedSamples<float>&, std::int64_t, std::int64_t, const PackedSamples<float>&,
                              bool, const QuadraticForm<float>&, double*, std::int64_t, Run&);
template void quadratic_forms(const PackedSamples<double>&, std::int64_t, std::int64_t, const PackedSamples<double>&,
                              bool, const QuadraticForm<double>&, double*, std::int64_t, Run&);
template void outer_sums(const PackedSamples<float>&, std::int64_t, std::int64_t, const PackedSamples<float>&,
                         const double*, std::int64_t, bool, double, double*, Run&);
template void outer_sums(const PackedSamples<double>&, std::int64_t, std::int64_t, const PackedSamples<double>&,
                         const double*, std::int64_t, bool, double, double*, Run&);

template QuadraticForm<float> form_of<float>(std::int64_t, std::int64_t, const double*, const double*, Run&);
template QuadraticForm<double> form_of<double>(std::int64_t, std::int64_t, const double*, const double*, Run&);
}  // namespace fastfs::core
