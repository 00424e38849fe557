#include "projse/projse.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>

#include "engines/isa/tiles.hpp"
#include "engines/spectral.hpp"
#include "support/errors.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

// ---- (1) sums over the rows -----------------------------------------------------------------------------------------

namespace {

// Rows whose sums share a shift, their first row: few enough for any first row, since the error is at most that of
// kPartRows eps, and enough to make light of the merge.
constexpr std::int64_t kPartRows = 4096;
// Columns that are packed once for all products among them. 392 + 392 in one tile run at 52 GFLOP/s on Zen 4, as do
// 196.
constexpr std::int64_t kMostTileColumns = 512;
// Of the rows packed at once. On Zen 4 (1 MiB of L2) half and the whole of it do equally well.
constexpr std::int64_t kPackBytes = 512 << 10;
constexpr std::int64_t kLeastPackRows = 128, kMostPackRows = 1024;
constexpr std::int64_t kWaveBytes = 64 << 20;     // of parts that are summed at once
constexpr std::int64_t kSparsePart = 4 << 20;     // entries of a CSR matrix that are sorted by column at once
constexpr std::int64_t kSparseColumns = 64;       // a task
constexpr int kTargetBlock = 16, kHalfBlock = 8;  // targets of one sweep through a sparse column

// Tiles of nearly equal width.
std::int64_t tile_columns(std::int64_t n) { return n == 0 ? 1 : ceil_div(n, ceil_div(n, kMostTileColumns)); }

bool by_rows(const fastfs_matrix& m) { return std::abs(m.col_stride) <= std::abs(m.row_stride); }

// Whether the squares of values with that sum, and their products with those of another such column, kept their digits
// in T: summed up they don't overflow, and on average they aren't so small that bits fell off.
template <class T>
bool in_range(double sum, double square, std::int64_t n) {
    constexpr bool single = sizeof(T) == sizeof(float);
    constexpr double least = single ? 1e-30 : 1e-302, most = single ? 1e37 : std::numeric_limits<double>::max();
    return square <= most && (square >= least * static_cast<double>(n) || (square == 0 && sum == 0));
}

// out[i * ld + j] = x_ij
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

// Columns first..first + w of some rows, in panels (engines/isa/tiles.hpp).
template <class T>
struct Packed {
    Buffer<T> values;
    std::vector<T> shift;
    std::vector<double> sums, squares;  // up to a multiple of kPanel, as is the shift
    std::int64_t n = 0, w = 0, panel_stride = 0;

    void start(const fastfs_matrix& m, std::int64_t r0, std::int64_t first, std::int64_t width, std::int64_t capacity) {
        w = width;
        panel_stride = capacity * kPanel<T>;
        const std::int64_t n_panels = ceil_div(w, kPanel<T>);
        if (values.size() < n_panels * panel_stride) values = Buffer<T>(n_panels * panel_stride);
        if (w % kPanel<T> != 0) std::fill_n(panel(w), panel_stride, T(0));
        sums.assign(at(n_panels * kPanel<T>), 0.0);
        squares.assign(sums.size(), 0.0);
        shift.assign(sums.size(), T(0));
        visit_dense(m, [&](auto* x) {
            for (std::int64_t j = 0; j < w; ++j) {
                shift[at(j)] = static_cast<T>(x[r0 * m.row_stride + (first + j) * m.col_stride]);
            }
        });
    }

    void fill(const fastfs_matrix& m, std::int64_t r0, std::int64_t r1, std::int64_t first) {
        n = r1 - r0;
        visit_dense(m, [&](auto* x) {
            x += r0 * m.row_stride + first * m.col_stride;
            for (std::int64_t r = 0; r < n; r += kRowsAtOnce) {
                for (std::int64_t j = 0; j < w; j += kPanel<T>) {
                    fill_panel(x + r * m.row_stride + j * m.col_stride, m, r, std::min(kRowsAtOnce, n - r), j);
                }
            }
        });
    }

    bool fits(std::int64_t n_rows) const {
        for (std::size_t j = 0; j < at(w); ++j) {
            if (!in_range<T>(sums[j], squares[j], n_rows)) return false;
        }
        return true;
    }

    T* panel(std::int64_t j) { return values.data() + j / kPanel<T> * panel_stride; }
    const T* panel(std::int64_t j) const { return values.data() + j / kPanel<T> * panel_stride; }

  private:
    static constexpr std::int64_t kRowsAtOnce = 64;  // that stay in the cache from one panel to the next

    template <class S>
    void fill_panel(const S* x, const fastfs_matrix& m, std::int64_t r, std::int64_t rows, std::int64_t j) {
        const std::int64_t rs = m.row_stride, cs = m.col_stride, cols = std::min(kPanel<T>, w - j);
        // The rows that come next. Left to itself, the processor finds them at a quarter of the memory's speed, since
        // they are read piece by piece and with the products in between. Not in a function of its own: GCC drops calls
        // of functions that only prefetch.
        const bool along_rows = by_rows(m);
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

// C (p.w x q.w, column-major, which is Q' P in the tile's order) = P' Q, and the lower triangle of C = P' P.
template <class T>
void cross(const Packed<T>& p, const Packed<T>& q, bool add, T* C, std::int64_t ld) {
    tile_kernels<T>().gram(q.panel(0), p.panel(0), p.panel_stride, p.n, add, C, ld, q.w, p.w);
}
template <class T>
void cross(const Packed<T>& p, bool add, T* C, std::int64_t ld) {
    constexpr std::int64_t kStep = kPanel<T> / 3;  // a register of AVX-512: what is computed in vain on the diagonal
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

// C += the block of a chunk; in single precision by way of a tile.
template <class T, class... Sides>
void accumulate(bool first, std::int64_t n_rows, std::int64_t n_cols, double* C, std::int64_t ld, Buffer<float>& tile,
                const Sides&... sides) {
    if constexpr (sizeof(T) == sizeof(double)) {
        cross<double>(sides..., !first, C, ld);
    } else {
        constexpr bool lower = sizeof...(sides) == 1;
        if (tile.size() < n_rows * n_cols) tile = Buffer<float>(n_rows * n_cols);
        cross<float>(sides..., false, tile.data(), n_rows);
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

// From sums about the shifts to sums about the means.
void center_block(const double* p_sums, std::int64_t p_w, const double* q_sums, std::int64_t q_w, std::int64_t n_rows,
                  bool lower, double* C, std::int64_t ld) {
    const auto m = static_cast<double>(n_rows);
    for (std::int64_t j = 0; j < q_w; ++j) {
        const double factor = q_sums[j] / m;
        double* column = C + j * ld;
        for (std::int64_t i = lower ? j : 0; i < p_w; ++i) column[i] -= p_sums[i] * factor;
    }
}

void set_columns(ProjseSums::Columns& side, std::int64_t first, std::int64_t n_rows, std::int64_t j, double shift,
                 double sum, double square) {
    const double mean = sum / static_cast<double>(n_rows);
    side.mean[at(first + j)] = shift + mean;
    side.squares[at(first + j)] = std::max(square - sum * mean, 0.0);
    side.summed[at(first + j)] = in_range<double>(sum, square, n_rows) ? square : kNaN;
}

[[noreturn]] void refuse_scale(const char* name, std::int64_t column) {
    throw InvalidArgument("the squares of column " + std::to_string(column) + " of " + name +
                          " (counted from 0) overflow or underflow: scale that column to values near 1");
}

[[noreturn]] void name_bad_column(const Matrix& M, const char* name, std::int64_t column, std::int64_t r0,
                                  std::int64_t r1) {
    const fastfs_matrix& m = M.description();
    std::int64_t row = -1;
    if (M.is_sparse()) {
        visit_sparse(m, [&](auto* values, auto* indptr, auto* indices) {
            const std::int64_t outer = M.is_csr() ? m.n_rows : m.n_cols;
            for (std::int64_t o = 0; o < outer; ++o) {
                for (std::int64_t e = indptr[o]; e < indptr[o + 1]; ++e) {
                    const std::int64_t i = M.is_csr() ? o : std::int64_t{indices[e]};
                    const std::int64_t j = M.is_csr() ? std::int64_t{indices[e]} : o;
                    if (j == column && !std::isfinite(values[e]) && (row < 0 || i < row)) row = i;
                }
            }
        });
    } else {
        visit_dense(m, [&](auto* x) {
            for (std::int64_t i = r0; i < r1 && row < 0; ++i) {
                if (!std::isfinite(x[i * m.row_stride + column * m.col_stride])) row = i;
            }
        });
    }
    if (row >= 0) {
        throw InvalidArgument(std::string(name) + " contains NaN or infinity: first at row " + std::to_string(row) +
                              ", column " + std::to_string(column) + " (counted from 0); impute or drop it first");
    }
    refuse_scale(name, column);
}

}  // namespace

ProjseSums::ProjseSums(std::int64_t n_y, std::int64_t n_x, bool with_xx)
    : has_xx_(with_xx), yy_(n_y * n_y), yx_(n_y * n_x), xx_(with_xx ? n_x * n_x : 0) {
    side_[kY].n = n_y;
    side_[kX].n = n_x;
    for (Columns& side : side_) {
        for (auto* values : {&side.mean, &side.squares, &side.summed}) values->assign(at(side.n), 0.0);
    }
}

std::int64_t ProjseSums::memory(std::int64_t n_y, std::int64_t n_x, bool with_xx) {
    return 8 * (n_y * n_y + n_y * n_x + (with_xx ? n_x * n_x : 0) + 3 * (n_y + n_x));
}

double ProjseSums::within(int side, std::int64_t i, std::int64_t j) const {
    if (i == j) return side_[side].squares[at(i)];
    const Buffer<double>& C = side == kY ? yy_ : xx_;
    return C[std::min(i, j) * side_[side].n + std::max(i, j)];
}

// A block of one of the three matrices: columns p0.. of side p by columns q0.. of side q.
double* ProjseSums::block(int p, std::int64_t p0, int q, std::int64_t q0, std::int64_t& ld) {
    ld = side_[p].n;
    Buffer<double>& C = p == kX ? xx_ : q == kY ? yy_ : yx_;
    return C.data() + q0 * ld + p0;
}

struct ProjseSums::Task {
    int p = kX, q = kX;
    std::int64_t p0 = 0, pw = 0, q0 = 0, qw = 0;  // pw = 0: q alone
    bool p_squares = false, q_squares = false;    // with the inner products within p, within q
    bool p_columns = false, q_columns = false;    // with the means and squares of p, of q
};

struct ProjseSums::Scratch {
    Packed<float> pf, qf;
    Packed<double> pd, qd;
    Buffer<float> tile;
    Buffer<double> classes;
};

std::vector<ProjseSums::Task> ProjseSums::dense_tasks() const {
    auto tiles = [&](int side) {
        std::vector<std::pair<std::int64_t, std::int64_t>> found;
        const std::int64_t n = side_[side].n, width = tile_columns(n);
        for (std::int64_t first = 0; first < n; first += width) {
            found.emplace_back(first, std::min(width, n - first));
        }
        return found;
    };
    std::vector<Task> tasks;
    auto off_diagonal = [&](int side) {
        for (auto [p0, pw] : tiles(side)) {
            for (auto [q0, qw] : tiles(side)) {
                if (q0 < p0) tasks.push_back({side, side, p0, pw, q0, qw});
            }
        }
    };
    for (auto [x0, xw] : tiles(kX)) {
        if (side_[kY].n == 0) tasks.push_back({kX, kX, 0, 0, x0, xw, false, true, false, true});
        for (auto [y0, yw] : tiles(kY)) {
            tasks.push_back({kY, kX, y0, yw, x0, xw, x0 == 0, has_xx_ && y0 == 0, x0 == 0, y0 == 0});
        }
    }
    off_diagonal(kY);
    if (has_xx_) off_diagonal(kX);
    return tasks;
}

template <class T>
bool ProjseSums::dense_task(const Task& task, const ProjseRows& rows, std::int64_t r0, std::int64_t r1,
                            Scratch& scratch) {
    auto matrix = [&](int side) -> const fastfs_matrix& {
        return side == kY ? rows.Y->description() : rows.X.description();
    };
    Packed<T>*p, *q;
    if constexpr (sizeof(T) == sizeof(float)) {
        p = &scratch.pf, q = &scratch.qf;
    } else {
        p = &scratch.pd, q = &scratch.qd;
    }
    const std::int64_t row_bytes = (task.pw + task.qw) * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t step =
        std::clamp(kPackBytes / row_bytes / kLeastPackRows * kLeastPackRows, kLeastPackRows, kMostPackRows);
    if (task.pw) p->start(matrix(task.p), r0, task.p0, task.pw, std::min(step, r1 - r0));
    q->start(matrix(task.q), r0, task.q0, task.qw, std::min(step, r1 - r0));
    std::int64_t ld = 0, p_ld = 0, q_ld = 0;
    double* C = task.pw ? block(task.p, task.p0, task.q, task.q0, ld) : nullptr;
    double* PP = task.p_squares ? block(task.p, task.p0, task.p, task.p0, p_ld) : nullptr;
    double* QQ = task.q_squares ? block(task.q, task.q0, task.q, task.q0, q_ld) : nullptr;
    for (std::int64_t r = r0; r < r1; r += step) {
        const std::int64_t end = std::min(r + step, r1);
        if (task.pw) p->fill(matrix(task.p), r, end, task.p0);
        q->fill(matrix(task.q), r, end, task.q0);
        if (C) accumulate<T>(r == r0, task.pw, task.qw, C, ld, scratch.tile, *p, *q);
        if (PP) accumulate<T>(r == r0, task.pw, task.pw, PP, p_ld, scratch.tile, *p);
        if (QQ) accumulate<T>(r == r0, task.qw, task.qw, QQ, q_ld, scratch.tile, *q);
    }
    const std::int64_t n = r1 - r0;
    if (sizeof(T) == sizeof(float) && !((!task.pw || p->fits(n)) && q->fits(n))) return false;
    auto center = [&](const Packed<T>& a, const Packed<T>& b, double* to, std::int64_t to_ld) {
        center_block(a.sums.data(), a.w, b.sums.data(), b.w, n, &a == &b, to, to_ld);
    };
    if (C) center(*p, *q, C, ld);
    if (PP) center(*p, *p, PP, p_ld);
    if (QQ) center(*q, *q, QQ, q_ld);
    auto keep = [&](int side, std::int64_t first, const Packed<T>& packed) {
        for (std::int64_t j = 0; j < packed.w; ++j) {
            set_columns(side_[side], first, n, j, static_cast<double>(packed.shift[at(j)]), packed.sums[at(j)],
                        packed.squares[at(j)]);
        }
    };
    if (task.p_columns) keep(task.p, task.p0, *p);
    if (task.q_columns) keep(task.q, task.q0, *q);
    return true;
}

// One-hot targets are never made: what they multiply are sums over the rows of each class.
void ProjseSums::label_task(std::int64_t x0, std::int64_t w, const ProjseRows& rows, std::int64_t r0, std::int64_t r1,
                            Scratch& scratch) {
    const std::int64_t n_classes = side_[kY].n, n = r1 - r0;
    if (scratch.classes.size() < n_classes * w) scratch.classes = Buffer<double>(n_classes * w);
    double* sums = scratch.classes.data();  // n_classes x w
    std::fill(sums, sums + n_classes * w, 0.0);
    std::vector<double> shift(at(w)), squares(at(w), 0.0), total(at(w), 0.0), counts(at(n_classes), 0.0);
    for (std::int64_t r = r0; r < r1; ++r) counts[at(rows.labels[r])] += 1;
    const fastfs_matrix& m = rows.X.description();
    visit_dense(m, [&](auto* x) {
        const std::int64_t rs = m.row_stride, cs = m.col_stride;
        x += x0 * cs;
        for (std::int64_t j = 0; j < w; ++j) shift[at(j)] = static_cast<double>(x[r0 * rs + j * cs]);
        auto add = [&](double* __restrict sum, double* __restrict square, const double* __restrict c, auto* from,
                       std::int64_t step) {
            for (std::int64_t j = 0; j < w; ++j) {
                const double v = static_cast<double>(from[j * step]) - c[j];
                sum[j] += v;
                square[j] += v * v;
            }
        };
        if (by_rows(m)) {
            for (std::int64_t r = r0; r < r1; ++r) {
                double* sum = sums + rows.labels[r] * w;
                if (cs == 1) {
                    add(sum, squares.data(), shift.data(), x + r * rs, 1);
                } else {
                    add(sum, squares.data(), shift.data(), x + r * rs, cs);
                }
            }
        } else {
            for (std::int64_t j = 0; j < w; ++j) {
                double square = 0;
                for (std::int64_t r = r0; r < r1; ++r) {
                    const double v = static_cast<double>(x[r * rs + j * cs]) - shift[at(j)];
                    sums[rows.labels[r] * w + j] += v;
                    square += v * v;
                }
                squares[at(j)] = square;
            }
        }
    });
    for (std::int64_t c = 0; c < n_classes; ++c) {
        for (std::int64_t j = 0; j < w; ++j) total[at(j)] += sums[c * w + j];
    }
    for (std::int64_t j = 0; j < w; ++j) {
        const double mean = total[at(j)] / static_cast<double>(n);
        for (std::int64_t c = 0; c < n_classes; ++c) {
            yx_[(x0 + j) * n_classes + c] = sums[c * w + j] - counts[at(c)] * mean;
        }
        set_columns(side_[kX], x0, n, j, shift[at(j)], total[at(j)], squares[at(j)]);
    }
}

// The inner products of one-hot columns: counts.
void ProjseSums::count_labels(const std::int64_t* labels, std::int64_t r0, std::int64_t r1) {
    Columns& y = side_[kY];
    std::vector<double> counts(at(y.n), 0.0);
    for (std::int64_t r = r0; r < r1; ++r) counts[at(labels[r])] += 1;
    for (std::int64_t c = 0; c < y.n; ++c) {
        set_columns(y, 0, r1 - r0, c, 0.0, counts[at(c)], counts[at(c)]);
        for (std::int64_t b = c; b < y.n; ++b) {
            yy_[c * y.n + b] = (b == c ? counts[at(c)] : 0.0) - counts[at(b)] * y.mean[at(c)];
        }
    }
}

void ProjseSums::require_finite(const ProjseRows& rows, std::int64_t r0, std::int64_t r1) const {
    for (int side : {kX, kY}) {
        for (std::int64_t j = 0; j < side_[side].n; ++j) {
            if (std::isfinite(side_[side].summed[at(j)])) continue;
            name_bad_column(side == kX ? rows.X : *rows.Y, side == kX ? "X" : "Y", j, r0, r1);
        }
    }
}

ProjseSums ProjseSums::of_dense(const ProjseRows& rows, Run& run) const {
    const std::int64_t m = rows.X.n_rows(), n_y = side_[kY].n, n_x = side_[kX].n;
    const bool single = rows.X.is_float32() && (!rows.Y || rows.Y->is_float32());
    const std::vector<Task> tasks = rows.labels ? std::vector<Task>() : dense_tasks();
    const std::int64_t width = tile_columns(n_x);
    const auto n_tasks = rows.labels ? ceil_div(n_x, width) : static_cast<std::int64_t>(tasks.size());
    const std::int64_t n_parts = ceil_div(m, kPartRows);
    const std::int64_t wave =
        std::min(n_parts, std::clamp<std::int64_t>(kWaveBytes / memory(n_y, n_x, has_xx_), 1, 32));
    std::vector<Scratch> scratch(at(run.n_threads()));
    std::vector<ProjseSums> parts(at(wave));
    ProjseSums total;
    for (std::int64_t first = 0; first < n_parts; first += wave) {
        const std::int64_t last = std::min(first + wave, n_parts);
        run.step("sums over the rows", 0.9 * static_cast<double>(last) / static_cast<double>(n_parts));
        for (std::int64_t part = first; part < last; ++part) {
            ProjseSums& sums = parts[at(part - first)];
            if (sums.side_[kX].n == 0) sums = ProjseSums(n_y, n_x, has_xx_);
            const std::int64_t r0 = part * kPartRows;
            sums.n_rows_ = std::min(r0 + kPartRows, m) - r0;
            if (rows.labels) sums.count_labels(rows.labels, r0, r0 + sums.n_rows_);
        }
        parallel_for(run, (last - first) * n_tasks, [&](std::int64_t index, int slot) {
            ProjseSums& sums = parts[at(index / n_tasks)];
            const std::int64_t r0 = (first + index / n_tasks) * kPartRows, r1 = r0 + sums.n_rows_, t = index % n_tasks;
            if (rows.labels) {
                const std::int64_t x0 = t * width;
                sums.label_task(x0, std::min(width, n_x - x0), rows, r0, r1, scratch[at(slot)]);
            } else if (!single || !sums.dense_task<float>(tasks[at(t)], rows, r0, r1, scratch[at(slot)])) {
                sums.dense_task<double>(tasks[at(t)], rows, r0, r1, scratch[at(slot)]);
            }
        });
        for (std::int64_t part = first; part < last; ++part) {
            ProjseSums& sums = parts[at(part - first)];
            sums.require_finite(rows, part * kPartRows, part * kPartRows + sums.n_rows_);
            total.merge(std::move(sums), run);
        }
    }
    return total;
}

namespace {

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

// Some rows of a CSR matrix, sorted by column.
template <class V>
struct SortedByColumn {
    Buffer<std::int64_t> begins;
    Buffer<std::int64_t> rows;
    Buffer<V> values;

    template <class I>
    void assign(const V* from, const I* indptr, const I* indices, std::int64_t r0, std::int64_t r1, std::int64_t n_x) {
        const std::int64_t n = indptr[r1] - indptr[r0];
        if (begins.size() < n_x + 2) begins = Buffer<std::int64_t>(n_x + 2);
        if (values.size() < n) {
            rows = Buffer<std::int64_t>(n);
            values = Buffer<V>(n);
        }
        std::fill(begins.data(), begins.data() + n_x + 2, 0);
        for (std::int64_t e = indptr[r0]; e < indptr[r1]; ++e) ++begins[indices[e] + 2];
        for (std::int64_t j = 2; j < n_x + 2; ++j) begins[j] += begins[j - 1];
        for (std::int64_t r = r0; r < r1; ++r) {
            for (std::int64_t e = indptr[r]; e < indptr[r + 1]; ++e) {
                const std::int64_t to = begins[indices[e] + 1]++;
                rows[to] = r;
                values[to] = from[e];
            }
        }
    }
};

}  // namespace

// Y' X as sparse times dense, column by column of X; X is not shifted, and centred in the end.
ProjseSums ProjseSums::of_sparse(const ProjseRows& rows, Run& run) const {
    require(!has_xx_,
            "inner products among the columns of a sparse X would be dense: make X dense for two views and "
            "for sums without Y");
    const fastfs_matrix& m = rows.X.description();
    const std::int64_t n_y = side_[kY].n, n_x = side_[kX].n;
    const std::int64_t ld = ceil_div(n_y, kHalfBlock) * kHalfBlock;
    ProjseSums total;

    struct Part {
        ProjseSums sums;
        Buffer<double> Y;  // less a shift
        std::vector<double> y_sums;
    };
    // What rows r0..r1 - 1 of Y give.
    auto targets = [&](std::int64_t r0, std::int64_t r1) {
        Part part{ProjseSums(n_y, n_x, false), Buffer<double>(), std::vector<double>(at(n_y), 0.0)};
        ProjseSums& sums = part.sums;
        Buffer<double>& Y = part.Y;
        std::vector<double>& y_sums = part.y_sums;
        const std::int64_t n = r1 - r0;
        sums.n_rows_ = n;
        if (rows.labels) {
            sums.count_labels(rows.labels, r0, r1);
            for (std::int64_t r = r0; r < r1; ++r) y_sums[at(rows.labels[r])] += 1;
        } else {
            const fastfs_matrix& y = rows.Y->description();
            run.require_memory(8 * n * ld, "a copy of " + std::to_string(n) + " rows of Y beside a sparse X",
                               "raise max_memory (or FASTFS_MAX_MEMORY), or give fewer rows at a time");
            Y = Buffer<double>(n * ld);
            std::fill(Y.data(), Y.data() + n * ld, 0.0);
            std::vector<double> shift(at(n_y)), squares(at(n_y), 0.0);
            visit_dense(y, [&](auto* v) {
                v += r0 * y.row_stride;
                copy_rows(v, y.row_stride, y.col_stride, n, n_y, Y.data(), ld);
            });
            std::copy(Y.data(), Y.data() + n_y, shift.data());
            for (std::int64_t i = 0; i < n; ++i) {
                double* __restrict row = Y.data() + i * ld;
                for (std::int64_t k = 0; k < n_y; ++k) {
                    row[k] -= shift[at(k)];
                    y_sums[at(k)] += row[k];
                    squares[at(k)] += row[k] * row[k];
                }
            }
            for (std::int64_t i = 0; i < n; i += kPartRows) {
                run.checkpoint();
                syrk_lower(n_y, std::min(kPartRows, n - i), 1.0, Y.data() + i * ld, ld, i == 0 ? 0.0 : 1.0,
                           sums.yy_.data(), n_y);
            }
            center_block(y_sums.data(), n_y, y_sums.data(), n_y, n, true, sums.yy_.data(), n_y);
            for (std::int64_t k = 0; k < n_y; ++k) {
                set_columns(sums.side_[kY], 0, n, k, shift[at(k)], y_sums[at(k)], squares[at(k)]);
            }
        }
        return part;
    };

    // Rows r0..r1 - 1, whose entries are those of column j from begins[j] to ends[j].
    auto add_part = [&](std::int64_t r0, std::int64_t r1, auto* values, auto* begins, auto* ends, auto* indices) {
        Part part = targets(r0, r1);
        ProjseSums& sums = part.sums;
        const Buffer<double>& Y = part.Y;
        const std::vector<double>& y_sums = part.y_sums;
        const std::int64_t n = r1 - r0;
        using V = std::remove_cv_t<std::remove_reference_t<decltype(*values)>>;
        std::vector<SparseColumn<V>> columns(at(run.n_threads()));
        parallel_for(run, ceil_div(n_x, kSparseColumns), [&](std::int64_t task, int slot) {
            std::vector<double> products(at(std::max(ld, n_y)));
            auto sum_column = [&](std::int64_t j, auto* row, auto* value, std::int64_t count) {
                double sum = 0, square = 0;
                for (std::int64_t e = 0; e < count; ++e) {
                    const auto v = static_cast<double>(value[e]);
                    sum += v;
                    square += v * v;
                }
                set_columns(sums.side_[kX], 0, n, j, 0.0, sum, square);
                if (rows.labels) {
                    std::fill(products.begin(), products.end(), 0.0);
                    for (std::int64_t e = 0; e < count; ++e) {
                        products[at(rows.labels[row[e]])] += static_cast<double>(value[e]);
                    }
                } else {
                    const double* first = Y.data() - r0 * ld;
                    std::int64_t k = 0;
                    for (; k + kTargetBlock <= ld; k += kTargetBlock) {
                        sparse_products<kTargetBlock>(row, value, count, first + k, ld, products.data() + k);
                    }
                    if (k < ld) sparse_products<kHalfBlock>(row, value, count, first + k, ld, products.data() + k);
                }
                const double mean = sum / static_cast<double>(n);
                for (std::int64_t k = 0; k < n_y; ++k) {
                    sums.yx_[j * n_y + k] = products[at(k)] - y_sums[at(k)] * mean;
                }
            };
            for (std::int64_t j = task * kSparseColumns; j < std::min((task + 1) * kSparseColumns, n_x); ++j) {
                columns[at(slot)].visit(
                    indices + begins[j], values + begins[j], static_cast<std::int64_t>(ends[j] - begins[j]),
                    [&](auto* row, auto* value, std::int64_t count) { sum_column(j, row, value, count); });
            }
        });
        sums.require_finite(rows, r0, r1);
        total.merge(std::move(sums), run);
    };

    visit_sparse(m, [&](auto* values, auto* indptr, auto* indices) {
        using V = std::remove_cv_t<std::remove_reference_t<decltype(*values)>>;
        // Rows whose targets stay in the L2 cache, as long as a column has a few entries among them.
        const auto n_stored = static_cast<double>(rows.X.n_stored());
        const auto few = static_cast<std::int64_t>(
            std::min(8.0 * static_cast<double>(n_x) * static_cast<double>(m.n_rows) / std::max(n_stored, 1.0),
                     static_cast<double>(m.n_rows)));
        const std::int64_t step = std::max({std::int64_t{256}, kPackBytes / 8 / ld, few});
        auto start = [&](std::int64_t r1) {
            run.step("sums over the rows", 0.9 * static_cast<double>(r1) / static_cast<double>(m.n_rows));
        };
        if (rows.X.is_csr()) {
            SortedByColumn<V> sorted;
            for (std::int64_t r0 = 0, r1 = 0; r0 < m.n_rows; r0 = r1) {
                for (r1 = r0 + 1; r1 < std::min(r0 + step, m.n_rows) && indptr[r1 + 1] - indptr[r0] <= kSparsePart;) {
                    ++r1;
                }
                start(r1);
                sorted.assign(values, indptr, indices, r0, r1, n_x);
                add_part(r0, r1, sorted.values.data(), sorted.begins.data(), sorted.begins.data() + 1,
                         sorted.rows.data());
            }
            return;
        }
        bool ascending = true;
        for (std::int64_t j = 0; j < n_x; ++j) {
            for (std::int64_t e = indptr[j] + 1; e < indptr[j + 1]; ++e) ascending &= indices[e - 1] <= indices[e];
        }
        std::vector<std::int64_t> begins(indptr, indptr + n_x), ends(begins);
        for (std::int64_t r0 = 0, r1 = 0; r0 < m.n_rows; r0 = r1) {
            r1 = ascending ? std::min(r0 + step, m.n_rows) : m.n_rows;
            start(r1);
            for (std::int64_t j = 0; j < n_x; ++j) {
                begins[at(j)] = ends[at(j)];
                auto* end = indices + indptr[j + 1];
                ends[at(j)] = r1 == m.n_rows ? std::int64_t{indptr[j + 1]}
                                             : std::lower_bound(indices + begins[at(j)], end, r1) - indices;
            }
            add_part(r0, r1, values, begins.data(), ends.data(), indices);
        }
    });
    return total;
}

void ProjseSums::update(const ProjseRows& rows, Run& run) {
    if (run.is_question()) {
        constexpr std::int64_t kScratchBytes = 8 * kPackBytes;  // of a thread
        const std::int64_t n_y = side_[kY].n, n_x = side_[kX].n, m = rows.X.n_rows();
        const std::int64_t part = memory(n_y, n_x, has_xx_), most = std::clamp<std::int64_t>(kWaveBytes / part, 1, 32);
        const std::int64_t sparse =
            8 * m * (rows.Y ? n_y + kHalfBlock : 0) + 16 * std::min(rows.X.n_stored(), kSparsePart + n_x) + 16 * n_x;
        run.require_memory(
            run.n_threads() * kScratchBytes +
                (rows.X.is_sparse() ? 2 * part + sparse : part * (1 + std::min(most, ceil_div(m, kPartRows)))),
            "the sums of " + std::to_string(m) + " rows", "raise max_memory (or FASTFS_MAX_MEMORY)");
    }
    const SingleThreadedBlas held;
    ProjseSums sums = rows.X.is_sparse() ? of_sparse(rows, run) : of_dense(rows, run);
    sums.n_labelled_ = rows.labels ? sums.n_rows_ : 0;
    merge(std::move(sums), run);
}

void ProjseSums::merge(ProjseSums&& other, Run& run) {
    if (other.n_rows_ == 0) return;
    if (n_rows_ == 0) {
        *this = std::move(other);
        other = ProjseSums();
        return;
    }
    const auto a = static_cast<double>(n_rows_), b = static_cast<double>(other.n_rows_), m = a + b;
    const double weight = a * b / m;
    std::vector<double> delta[2];
    for (int side : {kY, kX}) {
        delta[side].resize(at(side_[side].n));
        for (std::size_t j = 0; j < delta[side].size(); ++j) {
            delta[side][j] = other.side_[side].mean[j] - side_[side].mean[j];
        }
    }
    auto add = [&](int p, int q, double* to, const double* from) {
        const std::int64_t n_p = side_[p].n, n_q = side_[q].n;
        auto column = [&](std::int64_t j) {
            const double factor = weight * delta[q][at(j)];
            const double* __restrict d = delta[p].data();
            double* __restrict t = to + j * n_p;
            const double* __restrict f = from + j * n_p;
            for (std::int64_t i = p == q ? j : 0; i < n_p; ++i) t[i] += f[i] + factor * d[i];
        };
        constexpr std::int64_t kSmall = 1 << 18;
        if (n_p * n_q <= kSmall) {
            for (std::int64_t j = 0; j < n_q; ++j) column(j);
        } else {  // not to be stopped half-way
            Run on({sizeof(fastfs_run), run.n_threads(), 0, nullptr, nullptr, nullptr});
            const std::int64_t step = std::max<std::int64_t>(1, kSmall / n_p);
            parallel_for(on, ceil_div(n_q, step), [&](std::int64_t task, int) {
                for (std::int64_t j = task * step; j < std::min((task + 1) * step, n_q); ++j) column(j);
            });
        }
    };
    if (side_[kY].n > 0) {
        add(kY, kY, yy_.data(), other.yy_.data());
        add(kY, kX, yx_.data(), other.yx_.data());
    }
    if (has_xx_) add(kX, kX, xx_.data(), other.xx_.data());
    for (int side : {kY, kX}) {
        for (std::size_t j = 0; j < delta[side].size(); ++j) {
            const double d = delta[side][j], between = weight * d * d;
            side_[side].mean[j] += d * (b / m);
            side_[side].squares[j] += other.side_[side].squares[j] + between;
            side_[side].summed[j] += other.side_[side].summed[j] + between;
        }
    }
    n_rows_ += other.n_rows_;
    n_labelled_ += other.n_labelled_;
}

ProjseSums ProjseSums::copy() const {
    ProjseSums result(side_[kY].n, side_[kX].n, has_xx_);
    result.n_rows_ = n_rows_;
    result.n_labelled_ = n_labelled_;
    for (int side : {kY, kX}) result.side_[side] = side_[side];
    std::copy(yy_.data(), yy_.data() + yy_.size(), result.yy_.data());
    std::copy(yx_.data(), yx_.data() + yx_.size(), result.yx_.data());
    std::copy(xx_.data(), xx_.data() + xx_.size(), result.xx_.data());
    return result;
}

std::int64_t ProjseSums::size() const {
    return 2 + 3 * (side_[kY].n + side_[kX].n) + yy_.size() + yx_.size() + xx_.size();
}

void ProjseSums::save(double* numbers) const {
    *numbers++ = static_cast<double>(n_rows_);
    *numbers++ = static_cast<double>(n_labelled_);
    for (const Columns& side : side_) {
        for (const auto* values : {&side.mean, &side.squares, &side.summed}) {
            numbers = std::copy(values->begin(), values->end(), numbers);
        }
    }
    if (n_rows_ == 0) {  // nothing is there before the first rows
        std::fill_n(numbers, yy_.size() + yx_.size() + xx_.size(), 0.0);
        return;
    }
    const auto symmetric = [&](int side) {  // of which one triangle is summed
        const std::int64_t n = side == kY || has_xx_ ? side_[side].n : 0;
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = 0; j < n; ++j) *numbers++ = within(side, i, j);
        }
    };
    symmetric(kY);
    numbers = std::copy(yx_.data(), yx_.data() + yx_.size(), numbers);
    symmetric(kX);
}

void ProjseSums::load(const double* numbers) {
    n_rows_ = static_cast<std::int64_t>(*numbers++);
    n_labelled_ = static_cast<std::int64_t>(*numbers++);
    for (Columns& side : side_) {
        for (auto* values : {&side.mean, &side.squares, &side.summed}) {
            std::copy(numbers, numbers + values->size(), values->begin());
            numbers += values->size();
        }
    }
    for (Buffer<double>* values : {&yy_, &yx_, &xx_}) {
        if (n_rows_ > 0) std::copy(numbers, numbers + values->size(), values->data());
        numbers += values->size();
    }
}

// ---- (2) kernels between variables ----------------------------------------------------------------------------------

namespace {

constexpr double kRounding = 64 * kEps;  // of what was summed: less variance than that is a constant column's

// Columns as the kernel sees them, centred or not.
struct Variables {
    const ProjseSums::Columns* columns = nullptr;
    std::vector<double> norms;  // squared
    std::vector<double> scale;  // of kernel values: 1 / sqrt(k(x, x)), 1, or 0 for a column without values
    std::int64_t n_zero = 0;

    Variables() = default;
    Variables(const ProjseSums::Columns& c, const char* name, std::int64_t n_rows, bool center)
        : columns(&c), norms(at(c.n)) {
        for (std::size_t j = 0; j < norms.size(); ++j) {
            double centred = c.squares[j];
            if (centred <= kRounding * c.summed[j]) centred = 0;
            norms[j] = center ? centred : centred + static_cast<double>(n_rows) * c.mean[j] * c.mean[j];
            if (!in_range<double>(center ? 0 : c.mean[j], norms[j], n_rows))
                refuse_scale(name, static_cast<std::int64_t>(j));
            n_zero += norms[j] == 0;
        }
        scale.resize(norms.size());
        for (std::size_t j = 0; j < norms.size(); ++j) scale[j] = norms[j] == 0 ? 0 : 1;
    }
};

struct VariableKernel {
    const fastfs_projse_options& o;
    double n_rows;
    double sigma = 0;

    bool uses_distances() const { return o.custom || o.kernel == FASTFS_RBF; }
    bool linear() const { return !o.custom && o.kernel == FASTFS_LINEAR; }

    static double power(double x, int p) {
        double result = 1;
        for (; p > 0; p >>= 1, x *= x) {
            if (p & 1) result *= x;
        }
        return result;
    }

    static void require_self(std::int64_t j, double value) {
        require(value >= 0 && std::isfinite(value), "the kernel of column " + std::to_string(j) +
                                                        " with itself must be finite and not negative, but is " +
                                                        text(value));
    }

    // Scales so that kernels have a unit diagonal.
    void normalize(Variables& v) const {
        if (!o.normalize || (!o.custom && o.kernel == FASTFS_RBF)) return;
        for (std::size_t j = 0; j < v.norms.size(); ++j) {
            if (v.scale[j] == 0) continue;
            double self = v.norms[j];
            if (o.custom) {
                double value = 0;
                o.custom(&value, 1, 1, 1, &v.norms[j], &v.norms[j], sigma, o.user);
                require_self(static_cast<std::int64_t>(j), value);
                self = value;
            }
            v.scale[j] = self > 0 ? 1 / std::sqrt(self) : 0;
        }
    }

    // Squared distances of row variable i from w columns, from centred inner products.
    void distances(double* tile, std::int64_t n_t, std::int64_t w, const Variables& t, const Variables& s,
                   std::int64_t s0) const {
        for (std::int64_t j = 0; j < w; ++j) {
            const ProjseSums::Columns &a = *t.columns, &b = *s.columns;
            const double square = b.squares[at(s0 + j)], mean = b.mean[at(s0 + j)];
            double* column = tile + j * n_t;
            for (std::int64_t i = 0; i < n_t; ++i) {
                const double d = a.mean[at(i)] - mean, between = o.center ? 0.0 : n_rows * d * d;
                column[i] = std::max(a.squares[at(i)] + square - 2 * column[i], 0.0) + between;
            }
        }
    }

    // Centred inner products of all targets t with candidates s0 .. s0 + w (column-major, n_t x w) -> kernel values.
    // `same`: t and s are the same variables.
    void apply(double* tile, std::int64_t n_t, std::int64_t w, const Variables& t, const Variables& s, std::int64_t s0,
               bool same) const {
        if (uses_distances()) {
            distances(tile, n_t, w, t, s, s0);
            for (std::int64_t j = 0; same && j < w; ++j) tile[j * n_t + s0 + j] = 0;
            if (o.custom) {
                o.custom(tile, n_t, w, n_t, s.norms.data() + s0, t.norms.data(), sigma, o.user);
                for (std::int64_t j = 0; j < w; ++j) {
                    if (tile_kernels<double>().within(tile + j * n_t, n_t, std::numeric_limits<double>::max()))
                        continue;
                    throw InvalidArgument("the kernel returned NaN or infinity, as for column " +
                                          std::to_string(s0 + j));
                }
            } else {
                const double factor = std::min(0.5 / sigma / sigma, std::numeric_limits<double>::max());
                tile_kernels<double>().exp_neg(tile, n_t * w, factor);
            }
        } else {
            for (std::int64_t j = 0; j < w && !o.center; ++j) {
                const double factor = n_rows * s.columns->mean[at(s0 + j)];
                for (std::int64_t i = 0; i < n_t; ++i) tile[j * n_t + i] += factor * t.columns->mean[at(i)];
            }
        }
        const int degree = !o.custom && o.kernel == FASTFS_POLY ? o.degree : 1;
        for (std::int64_t j = 0; j < w; ++j) {
            double* column = tile + j * n_t;
            const double factor = s.scale[at(s0 + j)];
            for (std::int64_t i = 0; i < n_t; ++i) column[i] = power(column[i] * (factor * t.scale[at(i)]), degree);
            if (same && o.normalize && factor > 0 && !o.custom) column[s0 + j] = 1;
        }
    }
};

// The mean over all pairs, a target with itself included, as the authors' scripts have it.
double choose_sigma(const fastfs_projse_options& o, std::int64_t n_rows, const std::function<double()>& mean_distance) {
    if (!o.custom && o.kernel != FASTFS_RBF) return 0;
    if (o.sigma_rule == FASTFS_PROJSE_SIGMA_GIVEN) return o.sigma;
    if (o.sigma_rule == FASTFS_PROJSE_SIGMA_SQRT_ROWS) return std::sqrt(static_cast<double>(n_rows));
    const double sigma = mean_distance();
    require(sigma > 0, "all columns of the target are equal: there are no distances to take sigma from, give a number");
    return sigma;
}

}  // namespace

// ---- (3), (4) the choice --------------------------------------------------------------------------------------------

namespace {

constexpr double kTie = 1e-10;          // scores closer than that, relatively, are equal: the lowest index wins
constexpr double kNothingLeft = 1e-12;  // of the first score
constexpr double kTinyScore = 1e-8;
constexpr double kRecompute = 1e-6;   // a score that fell below that share of its last exact value has lost digits
constexpr std::int64_t kBlock = 128;  // columns of R that share a bound
constexpr std::int64_t kTargetColumns = 512;  // of R that are made at once

// The lowest index from `begin` on whose score nearly equals the best.
std::int64_t lowest_of_best(const std::vector<double>& c, const std::vector<char>& chosen, std::int64_t begin,
                            double best) {
    while (chosen[at(begin)] || c[at(begin)] < best * (1 - kTie)) ++begin;
    return begin;
}

void keep_choice(fastfs_projse_result& result, std::int64_t j, double score, double rival, double first) {
    const std::int64_t t = result.n_selected++;
    result.selected[t] = j;
    result.selection_scores[t] = score;
    result.gaps[t] = std::max(score - rival, 0.0);
    if (t == 0 && rival >= first * (1 - kTie)) result.warnings |= FASTFS_PROJSE_TIE;
}

// Step 4 with R0 (r x n, column-major) read only: what is left of column j after directions q_1 .. q_t is
// |r_j|^2 - sum_s (q_s' r_j)^2, which only falls. So an old value bounds a new one, and a block of columns is brought
// up to date, for all the steps it has missed in one product, only when its bound can still win.
class Projection {
  public:
    Projection(const double* R, std::int64_t r, std::int64_t n, std::vector<double> scores, std::int64_t n_select,
               Run& run)
        : R_(R),
          r_(r),
          n_(n),
          n_blocks_(ceil_div(n, kBlock)),
          n_select_(n_select),
          run_(run),
          c_(std::move(scores)),
          exact_(c_),
          chosen_(at(n), 0),
          Q_(r * n_select),
          blocks_(at(n_blocks_)),
          removed_(n_blocks_ * n_select),
          scratch_(at(run.n_threads())) {
        for (std::int64_t b = 0; b < n_blocks_; ++b) find_top(b);
    }

    void choose(fastfs_projse_result& result) {
        double total = 0, first = 0;
        for (double c : c_) total += c;
        for (t_ = 0; t_ < std::min(n_select_, r_);) {
            run_.checkpoint(static_cast<double>(t_) / static_cast<double>(n_select_));
            const Choice choice = next();
            if (choice.index < 0) break;
            const std::int64_t j = choice.index;
            double* q = Q_.data() + t_ * r_;
            std::copy(R_ + j * r_, R_ + (j + 1) * r_, q);
            const double score = residual(q);
            if (t_ == 0) first = score;
            if (std::abs(score - c_[at(j)]) > kTie / 10 * score) {  // the choice rests on lost digits
                c_[at(j)] = exact_[at(j)] = score;
                find_top(j / kBlock);
                continue;
            }
            if (!(score > kNothingLeft * first)) break;
            const double factor = 1 / std::sqrt(score);
            for (std::int64_t i = 0; i < r_; ++i) q[i] *= factor;
            chosen_[at(j)] = 1;
            find_top(j / kBlock);
            keep_choice(result, j, score, choice.rival, first);
            ++t_;
        }
        std::vector<std::int64_t> all;
        for (std::int64_t b = 0; b < n_blocks_; ++b) {
            if (blocks_[at(b)].steps < t_) all.push_back(b);
        }
        refresh(all, false);
        double captured = 0;
        for (std::int64_t t = 0; t < t_; ++t) {
            for (std::int64_t b = 0; b < n_blocks_; ++b) captured += removed_[b * n_select_ + t];
            result.captured[t] = std::min(captured / total, 1.0);
        }
    }

  private:
    struct Choice {
        std::int64_t index;  // -1: nothing is left
        double rival;        // the best of the others
    };

    struct Block {
        std::int64_t steps = 0;      // directions that are taken off
        double top = 0, second = 0;  // of the columns not chosen
    };

    void find_top(std::int64_t b) {
        Block& block = blocks_[at(b)];
        block.top = block.second = 0;
        for (std::int64_t j = b * kBlock; j < std::min((b + 1) * kBlock, n_); ++j) {
            const double c = chosen_[at(j)] ? 0 : c_[at(j)];
            block.second = std::max(block.second, std::min(c, block.top));
            block.top = std::max(block.top, c);
        }
    }

    // q less its part in the span of the directions so far, and what is left of its square.
    double residual(double* q) const {
        for (int twice = 0; twice < 2; ++twice) {
            for (std::int64_t s = 0; s < t_; ++s) {
                const double* direction = Q_.data() + s * r_;
                double product = 0;
                for (std::int64_t i = 0; i < r_; ++i) product += direction[i] * q[i];
                for (std::int64_t i = 0; i < r_; ++i) q[i] -= product * direction[i];
            }
        }
        double square = 0;
        for (std::int64_t i = 0; i < r_; ++i) square += q[i] * q[i];
        return square;
    }

    // `choosing`: values that have lost their digits are made anew.
    void refresh(const std::vector<std::int64_t>& which, bool choosing) {
        parallel_for(run_, static_cast<std::int64_t>(which.size()), [&](std::int64_t index, int slot) {
            const std::int64_t b = which[at(index)], j0 = b * kBlock, w = std::min(kBlock, n_ - j0);
            Block& block = blocks_[at(b)];
            const std::int64_t s0 = block.steps, k = t_ - s0;
            Buffer<double>& h = scratch_[at(slot)];
            if (h.size() < w * k + r_) h = Buffer<double>(w * n_select_ + r_);
            gemm('T', 'N', w, k, r_, 1.0, R_ + j0 * r_, r_, Q_.data() + s0 * r_, r_, 0.0, h.data(), w);
            for (std::int64_t s = 0; s < k; ++s) {
                double sum = 0;
                for (std::int64_t j = 0; j < w; ++j) {
                    const double square = h[s * w + j] * h[s * w + j];
                    c_[at(j0 + j)] -= square;
                    sum += square;
                }
                removed_[b * n_select_ + s0 + s] = sum;
            }
            block.steps = t_;
            for (std::int64_t j = j0; choosing && j < j0 + w; ++j) {
                if (chosen_[at(j)] || c_[at(j)] >= kRecompute * exact_[at(j)]) continue;
                std::copy(R_ + j * r_, R_ + (j + 1) * r_, h.data());
                c_[at(j)] = exact_[at(j)] = residual(h.data());
            }
            find_top(b);
        });
    }

    // Brings blocks up to date, those with the largest bounds first, until no other can hold the best, its equals or
    // its best rival.
    Choice next() {
        std::vector<std::int64_t> stale;
        for (std::size_t batch = 8;; batch *= 2) {
            double best = 0, second = 0;
            for (const Block& block : blocks_) {
                if (block.steps < t_) continue;
                second = std::max({second, block.second, std::min(best, block.top)});
                best = std::max(best, block.top);
            }
            const double enough = std::min(second, best * (1 - kTie));
            stale.clear();
            for (std::int64_t b = 0; b < n_blocks_; ++b) {
                const Block& block = blocks_[at(b)];
                if (block.steps < t_ && block.top > 0 && block.top >= enough) stale.push_back(b);
            }
            if (stale.empty()) {
                if (best == 0) return {-1, 0};
                for (std::int64_t b = 0;; ++b) {
                    if (blocks_[at(b)].steps < t_ || blocks_[at(b)].top < best * (1 - kTie)) continue;
                    const std::int64_t j = lowest_of_best(c_, chosen_, b * kBlock, best);
                    return {j, c_[at(j)] == best ? second : best};
                }
            }
            if (stale.size() > batch) {
                std::nth_element(stale.begin(), stale.begin() + static_cast<std::ptrdiff_t>(batch), stale.end(),
                                 [&](std::int64_t a, std::int64_t b) {
                                     const double ta = blocks_[at(a)].top, tb = blocks_[at(b)].top;
                                     return ta > tb || (ta == tb && a < b);
                                 });
                stale.resize(batch);
            }
            refresh(stale, true);
        }
    }

    const double* R_;
    std::int64_t r_, n_, n_blocks_, n_select_, t_ = 0;
    Run& run_;
    std::vector<double> c_, exact_;
    std::vector<char> chosen_;
    Buffer<double> Q_;  // r x n_select, orthonormal columns
    std::vector<Block> blocks_;
    Buffer<double> removed_;  // n_blocks x n_select: sum of (q_s' r_j)^2 over the block
    std::vector<Buffer<double>> scratch_;
};

// Columns j0 .. j0 + w of K_YX into tile (n_t x w, column-major).
using KernelTile = std::function<void(std::int64_t j0, std::int64_t w, double* tile)>;

// Steps 3 and 4 from K_YY (n_t x n_t, lower triangle, destroyed). largest_rank: that of targets that span all samples,
// or 0.
void select_by_projection(std::int64_t n_t, std::int64_t n_s, Buffer<double>& K, const KernelTile& kernel_tile,
                          const fastfs_projse_options& o, std::int64_t largest_rank, Run& run,
                          fastfs_projse_result& result) {
    double largest = 0;
    for (std::int64_t j = 0; j < n_t; ++j) {
        largest = std::max(largest, K[j * n_t + j]);
        for (std::int64_t i = j; i < n_t; ++i) {
            if (std::isfinite(K[j * n_t + i])) continue;
            throw InvalidArgument("the kernel of the target columns " + std::to_string(j) + " and " +
                                  std::to_string(i) + " isn't finite: scale the columns, or normalize");
        }
    }
    run.step("eigenvalues of the targets' kernel", 0.92);
    SymmetricEigen eigen(n_t, K.data(), run);
    const std::vector<double>& lam = eigen.values();
    const double least = std::max(o.eps * largest, std::numeric_limits<double>::min());
    const std::int64_t cut = std::lower_bound(lam.begin(), lam.end(), least) - lam.begin();
    const std::int64_t r = n_t - cut;
    require(r > 0, "the target's kernel has no positive eigenvalue that reaches eps = " + text(o.eps) +
                       " of its largest entry: lower eps, or choose another kernel");
    eigen.make_vectors(cut, n_t, run);
    for (std::int64_t k = cut; k < n_t; ++k) {
        const double factor = 1 / std::sqrt(lam[at(k)]);
        for (std::int64_t i = 0; i < n_t; ++i) eigen.vector(k)[i] *= factor;
    }
    result.rank = r;
    if (cut > 0 && lam[at(cut - 1)] >= 1e-12 * largest) result.warnings |= FASTFS_PROJSE_NEARLY;
    if (largest_rank > 0 && r >= largest_rank) result.warnings |= FASTFS_PROJSE_ALL_SAMPLES;

    // R0 = diag(lam)^(-1/2) V' K_YX
    run.step("projection on the targets", 0.97);
    Buffer<double> R(r * n_s);
    std::vector<double> scores(at(n_s));
    std::vector<Buffer<double>> tiles(at(run.n_threads()));
    parallel_for(run, ceil_div(n_s, kTargetColumns), [&](std::int64_t task, int slot) {
        const std::int64_t j0 = task * kTargetColumns, w = std::min(kTargetColumns, n_s - j0);
        Buffer<double>& tile = tiles[at(slot)];
        if (tile.size() == 0) tile = Buffer<double>(n_t * std::min(kTargetColumns, n_s));
        kernel_tile(j0, w, tile.data());
        gemm('T', 'N', r, w, n_t, 1.0, eigen.vector(cut), n_t, tile.data(), n_t, 0.0, R.data() + j0 * r, r);
        for (std::int64_t j = j0; j < j0 + w; ++j) {
            double square = 0;
            for (std::int64_t i = 0; i < r; ++i) square += R[j * r + i] * R[j * r + i];
            scores[at(j)] = square;
        }
    });
    tiles.clear();
    double best = 0;
    for (std::int64_t j = 0; j < n_s; ++j) {
        if (!std::isfinite(scores[at(j)])) {
            throw InvalidArgument("the kernel of candidate column " + std::to_string(j) +
                                  " with the targets isn't finite: scale the columns, or normalize");
        }
        best = std::max(best, scores[at(j)]);
        result.scores[j] = scores[at(j)];
    }
    if (o.normalize && best < kTinyScore) result.warnings |= FASTFS_PROJSE_TINY;

    run.step("choice", 1.0);
    Projection(R.data(), r, n_s, std::move(scores), std::min(o.n_select, r), run).choose(result);
}

// Steps 3 and 4 where the targets are the candidates: c_j is the diagonal of the Schur complement of K = K_XX, so this
// is Cholesky with pivots, and needs one column of K a step.
void select_by_cholesky(std::int64_t n, std::vector<double> c, const std::function<void(std::int64_t, double*)>& column,
                        const fastfs_projse_options& o, Run& run, fastfs_projse_result& result) {
    run.step("choice", 1.0);
    const std::int64_t n_select = std::min(o.n_select, n);
    std::copy(c.begin(), c.end(), result.scores);
    double total = 0, captured = 0, first = 0;
    for (double x : c) total += x;
    std::vector<char> chosen(at(n), 0);
    Buffer<double> L(n * n_select);
    result.rank = n_select == n ? n : -1;
    for (std::int64_t t = 0; t < n_select; ++t) {
        run.checkpoint(static_cast<double>(t) / static_cast<double>(n_select));
        double best = 0, second = 0;
        for (std::int64_t j = 0; j < n; ++j) {
            const double x = chosen[at(j)] ? 0 : c[at(j)];
            second = std::max(second, std::min(x, best));
            best = std::max(best, x);
        }
        if (t == 0) first = best;
        if (best == 0 || best < o.eps * first || best <= kNothingLeft * first) {
            result.rank = t;
            break;
        }
        const std::int64_t k = lowest_of_best(c, chosen, 0, best);
        const double pivot = c[at(k)];
        keep_choice(result, k, pivot, pivot == best ? second : best, first);
        chosen[at(k)] = 1;
        double* l = L.data() + t * n;
        column(k, l);
        std::vector<double> row(at(t));
        for (std::int64_t s = 0; s < t; ++s) row[at(s)] = L[s * n + k];
        const double factor = 1 / std::sqrt(pivot);
        constexpr std::int64_t kStep = 8192;
        std::vector<double> removed(at(ceil_div(n, kStep)), 0.0);
        parallel_for(run, ceil_div(n, kStep), [&](std::int64_t task, int) {
            const std::int64_t j0 = task * kStep, j1 = std::min(j0 + kStep, n);
            if (t > 0) gemm('N', 'N', j1 - j0, 1, t, -1.0, L.data() + j0, n, row.data(), t, 1.0, l + j0, n);
            for (std::int64_t j = j0; j < j1; ++j) {
                l[j] *= factor;
                c[at(j)] = std::max(c[at(j)] - l[j] * l[j], 0.0);
                removed[at(task)] += l[j] * l[j];
            }
        });
        for (double x : removed) captured += x;
        result.captured[t] = std::min(captured / total, 1.0);
    }
}

}  // namespace

namespace {

void require_candidates(const Variables& v, const char* name, bool center) {
    require(v.n_zero < static_cast<std::int64_t>(v.norms.size()), std::string("every column of ") + name +
                                                                      (center ? " is constant" : " is zero") +
                                                                      ": there is nothing to choose by");
}

// All columns of K = K_XX on demand, from centred inner products that `inner` gives.
void select_without_targets(const ProjseSums::Columns& columns, std::int64_t n_rows,
                            const std::function<void(std::int64_t, double*)>& inner, const fastfs_projse_options& o,
                            Run& run, fastfs_projse_result& result) {
    const std::int64_t n = columns.n;
    Variables x(columns, "X", n_rows, o.center != 0);
    require_candidates(x, "X", o.center != 0);
    VariableKernel kernel{o, static_cast<double>(n_rows)};
    Buffer<double> products(n);
    kernel.sigma = choose_sigma(o, n_rows, [&] {
        double sum = 0;
        for (std::int64_t k = 0; k < n; ++k) {
            run.checkpoint();
            inner(k, products.data());
            for (std::int64_t j = 0; j < n; ++j) {
                const double d = columns.mean[at(j)] - columns.mean[at(k)];
                const double between = o.center ? 0.0 : static_cast<double>(n_rows) * d * d;
                const double within = columns.squares[at(j)] + columns.squares[at(k)] - 2 * products[j];
                if (j != k) sum += std::sqrt(std::max(within, 0.0) + between);
            }
        }
        return sum / static_cast<double>(n) / static_cast<double>(n);
    });
    result.sigma = kernel.sigma;
    kernel.normalize(x);
    // Of variable k as the only target, from the w inner products that `out` holds, with j0 and after.
    auto kernels = [&](std::int64_t k, double* out, std::int64_t w, std::int64_t j0) {
        const ProjseSums::Columns one{1, {columns.mean[at(k)]}, {columns.squares[at(k)]}, {columns.summed[at(k)]}};
        Variables t;
        t.columns = &one;
        t.norms = {x.norms[at(k)]};
        t.scale = {x.scale[at(k)]};
        kernel.apply(out, 1, w, t, x, j0, false);
    };
    auto column = [&](std::int64_t k, double* out) {
        inner(k, out);
        out[k] = columns.squares[at(k)];
        kernels(k, out, n, 0);
    };
    std::vector<double> diagonal(at(n));
    for (std::int64_t j = 0; j < n; ++j) {
        if (x.scale[at(j)] == 0) continue;
        diagonal[at(j)] = 1;
        if (o.normalize) continue;
        diagonal[at(j)] = columns.squares[at(j)];
        kernels(j, &diagonal[at(j)], 1, j);
        kernel.require_self(j, diagonal[at(j)]);
    }
    select_by_cholesky(n, std::move(diagonal), column, o, run, result);
}

// FASTFS_PROJSE_CENTER_AUTO settled: about zero, a feature of positive values is explained by the one-hot columns of
// any labels, whether or not its values differ between the classes.
fastfs_projse_options settle_center(fastfs_projse_options o, bool of_labels, fastfs_projse_result& result) {
    if (o.center == FASTFS_PROJSE_CENTER_AUTO) o.center = of_labels;
    result.center = o.center;
    return o;
}

}  // namespace

void projse_select(const ProjseSums& sums, const fastfs_projse_options& options, Run& run,
                   fastfs_projse_result& result) {
    const SingleThreadedBlas held;
    const auto o = settle_center(options, sums.of_labels(), result);
    const std::int64_t m = sums.n_rows();
    require(m > 0, "there are no rows yet: give some first");
    if (sums.columns(ProjseSums::kY).n == 0) {
        require(!o.from_y, "there is no Y to choose from");
        const auto& x = sums.columns(ProjseSums::kX);
        select_without_targets(
            x, m,
            [&](std::int64_t k, double* out) {
                for (std::int64_t j = 0; j < x.n; ++j) out[j] = sums.within(ProjseSums::kX, j, k);
            },
            o, run, result);
        return;
    }
    require(!o.from_y || sums.has_xx(), "choosing among Y needs sums with two views");
    const int target = o.from_y ? ProjseSums::kX : ProjseSums::kY, candidate = 1 - target;
    const char *t_name = o.from_y ? "X" : "Y", *s_name = o.from_y ? "Y" : "X";
    Variables t(sums.columns(target), t_name, m, o.center != 0), s(sums.columns(candidate), s_name, m, o.center != 0);
    require_candidates(t, t_name, o.center != 0);
    require_candidates(s, s_name, o.center != 0);
    const std::int64_t n_t = sums.columns(target).n, n_s = sums.columns(candidate).n;

    VariableKernel kernel{o, static_cast<double>(m)};
    Buffer<double> K(n_t * n_t);
    for (std::int64_t j = 0; j < n_t; ++j) {
        for (std::int64_t i = 0; i < n_t; ++i) K[j * n_t + i] = sums.within(target, i, j);
    }
    kernel.sigma = choose_sigma(o, m, [&] {
        Buffer<double> D(n_t * n_t);
        std::copy(K.data(), K.data() + n_t * n_t, D.data());
        kernel.distances(D.data(), n_t, n_t, t, t, 0);
        double sum = 0;
        for (std::int64_t j = 0; j < n_t; ++j) {
            for (std::int64_t i = j + 1; i < n_t; ++i) sum += 2 * std::sqrt(D[j * n_t + i]);
        }
        return sum / static_cast<double>(n_t) / static_cast<double>(n_t);
    });
    result.sigma = kernel.sigma;
    kernel.normalize(t);
    kernel.normalize(s);
    if (!o.custom && o.kernel == FASTFS_RBF) std::fill(t.scale.begin(), t.scale.end(), 1.0);  // zero is a point too
    kernel.apply(K.data(), n_t, n_t, t, t, 0, true);

    const double* yx = sums.yx();
    auto tile = [&](std::int64_t j0, std::int64_t w, double* out) {
        if (!o.from_y) {
            std::copy(yx + j0 * n_t, yx + (j0 + w) * n_t, out);
        } else {
            for (std::int64_t j = 0; j < w; ++j) {
                for (std::int64_t i = 0; i < n_t; ++i) out[j * n_t + i] = yx[i * n_s + j0 + j];
            }
        }
        kernel.apply(out, n_t, w, t, s, j0, false);
    };
    select_by_projection(n_t, n_s, K, tile, o, kernel.linear() ? m - (o.center != 0) : 0, run, result);
}

// ---- shapes that need no sums: fewer samples than variables ---------------------------------------------------------

namespace {

// Columns of a dense matrix less their means, a tile at a time; kept if they are small.
class CenteredColumns {
  public:
    CenteredColumns(const Matrix& X, const char* name, Run& run) : X_(X), m_(X.n_rows()), n_(X.n_cols()) {
        columns_.n = n_;
        columns_.mean.resize(at(n_));
        columns_.squares.resize(at(n_));
        columns_.summed.resize(at(n_));
        if (8 * m_ * n_ <= kKept) kept_ = Buffer<double>(m_ * n_);
        scratch_.resize(at(run.n_threads()));
        for_tiles(run, [&](std::int64_t j0, std::int64_t w, double* tile) {
            for (std::int64_t j = 0; j < w; ++j) {
                const double* column = tile + j * m_;
                double size = 0, square = 0;
                for (std::int64_t i = 0; i < m_; ++i) {
                    size += std::abs(column[i]);
                    square += column[i] * column[i];
                }
                columns_.squares[at(j0 + j)] = square;
                columns_.summed[at(j0 + j)] = in_range<double>(size, square, m_) ? square : kNaN;
            }
        });
        complete_ = kept_.size() > 0;
        for (std::int64_t j = 0; j < n_; ++j) {
            if (!std::isfinite(columns_.summed[at(j)])) name_bad_column(X, name, j, 0, m_);
        }
    }

    const ProjseSums::Columns& columns() const { return columns_; }

    // Calls f(j0, w, tile) for all columns in tiles, m x w, column-major.
    template <class F>
    void for_tiles(Run& run, F&& f) {
        parallel_for(run, ceil_div(n_, kWidth), [&](std::int64_t task, int slot) {
            const std::int64_t j0 = task * kWidth, w = std::min(kWidth, n_ - j0);
            double* tile = kept_.data() + j0 * m_;
            if (kept_.size() == 0) {
                Buffer<double>& own = scratch_[at(slot)];
                if (own.size() == 0) own = Buffer<double>(m_ * kWidth);
                tile = own.data();
            }
            if (!complete_) center(j0, w, tile);
            f(j0, w, tile);
        });
    }

    void column(std::int64_t k, double* out) { center(k, 1, out); }

    // Inner products of column k with all columns.
    void inner(std::int64_t k, double* out, Run& run) {
        std::vector<double> x(at(m_));
        center(k, 1, x.data());
        for_tiles(run, [&](std::int64_t j0, std::int64_t w, double* tile) {
            gemm('T', 'N', w, 1, m_, 1.0, tile, m_, x.data(), m_, 0.0, out + j0, w);
        });
    }

    static std::int64_t memory(std::int64_t m, std::int64_t n, int n_threads) {
        return 24 * n + (8 * m * n <= kKept ? 8 * m * n : 8 * m * kWidth * n_threads);
    }

  private:
    static constexpr std::int64_t kKept = 64 << 20, kWidth = 64;

    void center(std::int64_t j0, std::int64_t w, double* tile) {
        const fastfs_matrix& m = X_.description();
        visit_dense(m, [&](auto* x) {
            x += j0 * m.col_stride;
            if (by_rows(m)) {
                for (std::int64_t i = 0; i < m_; ++i) {
                    for (std::int64_t j = 0; j < w; ++j) {
                        tile[j * m_ + i] = static_cast<double>(x[i * m.row_stride + j * m.col_stride]);
                    }
                }
            } else {
                for (std::int64_t j = 0; j < w; ++j) {
                    for (std::int64_t i = 0; i < m_; ++i) {
                        tile[j * m_ + i] = static_cast<double>(x[i * m.row_stride + j * m.col_stride]);
                    }
                }
            }
        });
        for (std::int64_t j = 0; j < w; ++j) {  // a constant column becomes zero to the bit
            double* column = tile + j * m_;
            const double first = column[0];
            double sum = 0;
            for (std::int64_t i = 0; i < m_; ++i) sum += column[i] - first;
            const double mean = first + sum / static_cast<double>(m_);
            for (std::int64_t i = 0; i < m_; ++i) column[i] -= mean;
            columns_.mean[at(j0 + j)] = mean;
        }
    }

    const Matrix& X_;
    std::int64_t m_, n_;
    ProjseSums::Columns columns_;
    Buffer<double> kept_;
    bool complete_ = false;
    std::vector<Buffer<double>> scratch_;
};

// Inner products of a column of a sparse matrix with all of them: O(entries) each.
template <class V>
class SparseColumns {
  public:
    SparseColumns(const Matrix& X, Run& run) : m_(X.n_rows()), n_(X.n_cols()) {
        columns_.n = n_;
        columns_.mean.resize(at(n_));
        columns_.squares.resize(at(n_));
        columns_.summed.resize(at(n_));
        begins_.assign(at(n_ + 1), 0);
        const fastfs_matrix& description = X.description();
        visit_sparse(description, [&](auto* values, auto* indptr, auto* indices) {
            if constexpr (std::is_same_v<std::remove_cv_t<std::remove_reference_t<decltype(*values)>>, V>) {
                if (X.is_csr()) {
                    SortedByColumn<V> sorted;
                    sorted.assign(values, indptr, indices, 0, m_, n_);
                    take(sorted.values.data(), sorted.begins.data(), sorted.rows.data(), run);
                } else {
                    take(values, indptr, indices, run);
                }
            }
        });
        for (std::int64_t j = 0; j < n_; ++j) {
            if (!std::isfinite(columns_.summed[at(j)])) name_bad_column(X, "X", j, 0, m_);
        }
    }

    const ProjseSums::Columns& columns() const { return columns_; }

    void inner(std::int64_t k, double* out, Run& run) const {
        std::vector<double> x(at(m_), 0.0);
        for (std::int64_t e = begins_[at(k)]; e < begins_[at(k + 1)]; ++e) {
            x[at(rows_[at(e)])] = static_cast<double>(values_[at(e)]);
        }
        const double mean = columns_.mean[at(k)] * static_cast<double>(m_);
        constexpr std::int64_t kStep = 512;
        parallel_for(run, ceil_div(n_, kStep), [&](std::int64_t task, int) {
            for (std::int64_t j = task * kStep; j < std::min((task + 1) * kStep, n_); ++j) {
                double sum = 0;
                for (std::int64_t e = begins_[at(j)]; e < begins_[at(j + 1)]; ++e) {
                    sum += static_cast<double>(values_[at(e)]) * x[at(rows_[at(e)])];
                }
                out[j] = sum - mean * columns_.mean[at(j)];
            }
        });
    }

  private:
    template <class P, class I>
    void take(const V* values, const P* begins, const I* rows, Run& run) {
        SparseColumn<V> column;
        for (std::int64_t j = 0; j < n_; ++j) {
            if (j % 1024 == 0) run.checkpoint();
            column.visit(rows + begins[j], values + begins[j], static_cast<std::int64_t>(begins[j + 1] - begins[j]),
                         [&](auto* row, auto* value, std::int64_t n) {
                             double sum = 0, square = 0;
                             for (std::int64_t e = 0; e < n; ++e) {
                                 rows_.push_back(row[e]);
                                 values_.push_back(value[e]);
                                 const auto v = static_cast<double>(value[e]);
                                 sum += v;
                                 square += v * v;
                             }
                             set_columns(columns_, 0, m_, j, 0.0, sum, square);
                         });
            begins_[at(j + 1)] = static_cast<std::int64_t>(rows_.size());
        }
    }

    std::int64_t m_, n_;
    ProjseSums::Columns columns_;
    std::vector<std::int64_t> begins_, rows_;
    std::vector<V> values_;
};

// An orthonormal basis (m x rank, column-major) of the span of the targets, by the m x m Gram of their samples: its
// eigenvalues are those of K_YY. Linear kernel.
struct Span {
    Buffer<double> U;
    std::int64_t rank;
    bool nearly;
};

Span span_of_targets(const Matrix& Y, const fastfs_projse_options& o, Run& run) {
    const std::int64_t m = Y.n_rows(), n = Y.n_cols();
    CenteredColumns source(Y, "Y", run);
    Variables y(source.columns(), "Y", m, o.center != 0);
    require_candidates(y, "Y", o.center != 0);
    VariableKernel kernel{o, static_cast<double>(m)};
    kernel.normalize(y);
    Buffer<double> G(m * m);
    std::fill(G.data(), G.data() + m * m, 0.0);
    // Tiles are added up in order; what is parallel is the product.
    constexpr std::int64_t kWidth = 1024;
    Buffer<double> tile(m * std::min(kWidth, n));
    for (std::int64_t j0 = 0; j0 < n; j0 += kWidth) {
        const std::int64_t w = std::min(kWidth, n - j0);
        parallel_for(run, w, [&](std::int64_t j, int) {
            double* column = tile.data() + j * m;
            source.column(j0 + j, column);
            const double mean = o.center ? 0.0 : source.columns().mean[at(j0 + j)];
            for (std::int64_t i = 0; i < m; ++i) column[i] = (column[i] + mean) * y.scale[at(j0 + j)];
        });
        syrk(m, w, 1.0, tile.data(), 1.0, G.data(), run);
    }
    double largest = 1;
    if (!o.normalize) largest = *std::max_element(y.norms.begin(), y.norms.end());
    SymmetricEigen eigen(m, G.data(), run);
    const std::vector<double>& lam = eigen.values();
    const std::int64_t cut = std::lower_bound(lam.begin(), lam.end(), o.eps * largest) - lam.begin();
    require(cut < m, "no eigenvalue of the target's kernel reaches eps = " + text(o.eps) + ": lower eps");
    eigen.make_vectors(cut, m, run);
    Span span{Buffer<double>(m * (m - cut)), m - cut, cut > 0 && lam[at(cut - 1)] >= 1e-12 * largest};
    std::copy(eigen.vector(cut), eigen.vector(m - 1) + m, span.U.data());
    return span;
}

}  // namespace

void projse(const ProjseRows& rows, std::int64_t n_classes, const fastfs_projse_options& options, Run& run,
            fastfs_projse_result& result) {
    const SingleThreadedBlas held;
    const auto o = settle_center(options, rows.labels != nullptr, result);
    const std::int64_t m = rows.X.n_rows(), n_x = rows.X.n_cols();
    const std::int64_t n_y = rows.labels ? n_classes : rows.Y ? rows.Y->n_cols() : 0;
    const bool linear = !o.custom && o.kernel == FASTFS_LINEAR;
    constexpr std::int64_t kMostSquare = 8192;  // variables whose inner products are worth their n^2 doubles
    const char* advice = "raise max_memory (or FASTFS_MAX_MEMORY), or give fewer variables";
    if (n_y == 0) {
        if (rows.X.is_sparse() || m < n_x || n_x > kMostSquare) {
            const std::int64_t chosen = 8 * n_x * std::min(o.n_select, n_x);
            run.step("columns", 0.1);
            if (rows.X.is_sparse()) {
                run.require_memory(chosen + 40 * rows.X.n_stored() + 64 * n_x, "ProjSe without targets", advice);
                visit_sparse(rows.X.description(), [&](auto* values, auto*, auto*) {
                    using V = std::remove_cv_t<std::remove_reference_t<decltype(*values)>>;
                    const SparseColumns<V> source(rows.X, run);
                    select_without_targets(
                        source.columns(), m, [&](std::int64_t k, double* out) { source.inner(k, out, run); }, o, run,
                        result);
                });
            } else {
                run.require_memory(chosen + CenteredColumns::memory(m, n_x, run.n_threads()) + 64 * n_x,
                                   "ProjSe without targets", advice);
                CenteredColumns source(rows.X, "X", run);
                select_without_targets(
                    source.columns(), m, [&](std::int64_t k, double* out) { source.inner(k, out, run); }, o, run,
                    result);
            }
            return;
        }
    } else if (linear && rows.Y && m < n_y) {
        run.step("span of the targets", 0.2);
        const std::int64_t span_bytes = 24 * m * m + CenteredColumns::memory(m, n_y, run.n_threads());
        if (run.is_question()) {  // the span has up to m columns, which are the targets of the second half
            const std::int64_t second = ProjseSums::memory(m, n_x, false) + 8 * (5 * m * m + m * n_x + 8 * n_x);
            run.require_memory(std::max(span_bytes, second), "the span of the targets and its products", advice);
        }
        run.require_memory(span_bytes, "the span of the targets", advice);
        const Span span = span_of_targets(*rows.Y, o, run);
        const Matrix U({sizeof(fastfs_matrix), FASTFS_FLOAT64, FASTFS_DENSE, m, span.rank, span.U.data(), 1, m, nullptr,
                        nullptr, 0, 0});
        projse({rows.X, &U, nullptr}, 0, o, run, result);
        if (span.nearly) result.warnings |= FASTFS_PROJSE_NEARLY;
        return;
    }
    const std::int64_t r = std::min(n_y, m);
    run.require_memory(ProjseSums::memory(n_y, n_x, n_y == 0) + 8 * (4 * n_y * n_y + r * n_x + 8 * n_x),
                       "ProjSe of " + std::to_string(n_y) + " targets and " + std::to_string(n_x) + " candidates",
                       advice);
    ProjseSums sums(n_y, n_x, n_y == 0);
    sums.update(rows, run);
    projse_select(sums, o, run, result);
}

void projse_kernels(std::int64_t n_y, std::int64_t n_x, const double* K_YY, const double* K_YX, const double* K_XX,
                    const fastfs_projse_options& o, Run& run, fastfs_projse_result& result) {
    auto scales = [&](std::int64_t n, const char* name, auto&& diagonal) {
        std::vector<double> scale(at(n));
        bool any = false;
        for (std::int64_t j = 0; j < n; ++j) {
            const double value = diagonal(j);
            if (!(value >= 0) || !std::isfinite(value)) {
                throw InvalidArgument(std::string("the diagonal of ") + name +
                                      " must be finite and not negative, but entry " + std::to_string(j) + " is " +
                                      text(value));
            }
            scale[at(j)] = value == 0 ? 0 : o.normalize ? 1 / std::sqrt(value) : 1;
            any = any || value > 0;
        }
        require(any, std::string("the diagonal of ") + name + " is zero: there is nothing to choose by");
        return scale;
    };
    const auto y = scales(n_y, "K_YY", [&](std::int64_t i) { return K_YY[i * n_y + i]; });
    const auto x = scales(n_x, "K_XX", [&](std::int64_t j) { return K_XX[j]; });
    Buffer<double> K(n_y * n_y);
    double largest = 0;
    for (std::int64_t i = 0; i < n_y * n_y; ++i) largest = std::max(largest, std::abs(K_YY[i]));
    for (std::int64_t i = 0; i < n_y; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) {
            const double a = K_YY[i * n_y + j], b = K_YY[j * n_y + i];
            if (!(std::abs(a - b) <= 1e-8 * largest)) {
                throw InvalidArgument("K_YY must be symmetric, but entries " + std::to_string(i) + ", " +
                                      std::to_string(j) + " are " + text(a) + " and " + text(b));
            }
            K[j * n_y + i] = (a + b) / 2 * y[at(i)] * y[at(j)];
        }
    }
    const SingleThreadedBlas held;
    auto tile = [&](std::int64_t j0, std::int64_t w, double* out) {
        for (std::int64_t j = 0; j < w; ++j) {
            for (std::int64_t i = 0; i < n_y; ++i) {
                out[j * n_y + i] = K_YX[i * n_x + j0 + j] * y[at(i)] * x[at(j0 + j)];
            }
        }
    };
    select_by_projection(n_y, n_x, K, tile, o, 0, run, result);
}

}  // namespace fastfs::core
