#include "projse/sums.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>

#include "projse/packed.hpp"
#include "projse/sparse_columns.hpp"
#include "support/csr.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
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
constexpr std::int64_t kWaveBytes = 64 << 20;  // of parts that are summed at once
constexpr std::int64_t kSparsePart = 4 << 20;  // entries of a CSR matrix that are sorted by column at once
constexpr std::int64_t kSparseColumns = 64;    // a task

// Tiles of nearly equal width.
std::int64_t tile_columns(std::int64_t n) { return n == 0 ? 1 : ceil_div(n, ceil_div(n, kMostTileColumns)); }

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

template <class P, class I>
bool ascending_rows(std::int64_t r0, std::int64_t r1, const P* indptr, const I* indices) {
    for (std::int64_t r = r0; r < r1; ++r) {
        if (!ascends(indices + indptr[r], indptr[r + 1] - indptr[r])) return false;
    }
    return true;
}

// Rows r0 .. r1 - 1 by group, those of a group in their order: what is summed for a group then stays in the cache.
std::vector<std::int64_t> rows_by_group(std::int64_t r0, std::int64_t r1, const std::int64_t* groups,
                                        std::int64_t n_groups) {
    std::vector<std::int64_t> begins(at(n_groups + 1), 0), rows(at(r1 - r0));
    for (std::int64_t r = r0; r < r1; ++r) ++begins[at(groups[r] + 1)];
    for (std::int64_t g = 0; g < n_groups; ++g) begins[at(g + 1)] += begins[at(g)];
    for (std::int64_t r = r0; r < r1; ++r) rows[at(begins[at(groups[r])]++)] = r;
    return rows;
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

const Name& name_of(int side) { return side == ProjseSums::kX ? kX : kY; }

}  // namespace

ProjseSums::ProjseSums(std::int64_t n_y, std::int64_t n_x, bool with_xx)
    : has_xx_(with_xx), yy_(n_y * n_y), yx_(n_y * n_x), xx_(with_xx ? n_x * n_x : 0) {
    side_[kY] = ProjseColumns(n_y);
    side_[kX] = ProjseColumns(n_x);
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
            side_[side].set(first + j, n, static_cast<double>(packed.shift[at(j)]), packed.sums[at(j)],
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
    visit_values(m, [&]<class T>(const Values<T>& values) {
        for (std::int64_t j = 0; j < w; ++j) shift[at(j)] = static_cast<double>(values(r0, x0 + j));
        auto add = [&](double* __restrict sum, double* __restrict square, const double* __restrict c, auto* from,
                       std::int64_t step) {
            for (std::int64_t j = 0; j < w; ++j) {
                const double v = static_cast<double>(from[j * step]) - c[j];
                sum[j] += v;
                square[j] += v * v;
            }
        };
        Buffer<T> room;
        for (std::int64_t first = r0, step = values.most(w); first < r1; first += step) {
            const std::int64_t last = std::min(first + step, r1);
            const auto block = values.block(first, last, x0, x0 + w, room);
            const auto [x, rs, cs] = block;
            if (by_rows(block)) {
                for (std::int64_t r = first; r < last; ++r) {
                    double* sum = sums + rows.labels[r] * w;
                    if (cs == 1) {
                        add(sum, squares.data(), shift.data(), x + (r - first) * rs, 1);
                    } else {
                        add(sum, squares.data(), shift.data(), x + (r - first) * rs, cs);
                    }
                }
            } else {
                for (std::int64_t j = 0; j < w; ++j) {
                    double square = 0;
                    for (std::int64_t r = first; r < last; ++r) {
                        const double v = static_cast<double>(x[(r - first) * rs + j * cs]) - shift[at(j)];
                        sums[rows.labels[r] * w + j] += v;
                        square += v * v;
                    }
                    squares[at(j)] += square;
                }
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
        side_[kX].set(x0 + j, n, shift[at(j)], total[at(j)], squares[at(j)]);
    }
}

// The inner products of one-hot columns: counts.
void ProjseSums::count_labels(const std::int64_t* labels, std::int64_t r0, std::int64_t r1) {
    ProjseColumns& y = side_[kY];
    std::vector<double> counts(at(y.n), 0.0);
    for (std::int64_t r = r0; r < r1; ++r) counts[at(labels[r])] += 1;
    for (std::int64_t c = 0; c < y.n; ++c) {
        y.set(c, r1 - r0, 0.0, counts[at(c)], counts[at(c)]);
        for (std::int64_t b = c; b < y.n; ++b) {
            yy_[c * y.n + b] = (b == c ? counts[at(c)] : 0.0) - counts[at(b)] * y.mean[at(c)];
        }
    }
}

void ProjseSums::require_finite(const ProjseRows& rows, std::int64_t r0, std::int64_t r1) const {
    for (int side : {kX, kY}) {
        for (std::int64_t j = 0; j < side_[side].n; ++j) {
            if (std::isfinite(side_[side].summed[at(j)])) continue;
            refuse_column(side == kX ? rows.X : *rows.Y, name_of(side), j, r0, r1);
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
            run.require_memory(8 * n * ld, {"a copy of ", n, " rows of Y beside a sparse X"},
                               "give fewer rows at a time");
            Y = Buffer<double>(n * ld);
            std::fill(Y.data(), Y.data() + n * ld, 0.0);
            std::vector<double> shift(at(n_y)), squares(at(n_y), 0.0);
            visit_values(y, [&]<class T>(const Values<T>& v) {
                Buffer<T> room;
                for (std::int64_t first = r0, step = v.most(n_y); first < r1; first += step) {
                    const std::int64_t last = std::min(first + step, r1);
                    const auto [values, rs, cs] = v.block(first, last, 0, n_y, room);
                    copy_rows(values, rs, cs, last - first, n_y, Y.data() + (first - r0) * ld, ld);
                }
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
                syrk_lower('N', n_y, std::min(kPartRows, n - i), 1.0, Y.data() + i * ld, ld, i == 0 ? 0.0 : 1.0,
                           sums.yy_.data(), n_y);
            }
            center_block(y_sums.data(), n_y, y_sums.data(), n_y, n, true, sums.yy_.data(), n_y);
            for (std::int64_t k = 0; k < n_y; ++k) {
                sums.side_[kY].set(k, n, shift[at(k)], y_sums[at(k)], squares[at(k)]);
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
        std::vector<SparseLine<V>> columns(at(run.n_threads()));
        parallel_for(run, ceil_div(n_x, kSparseColumns), [&](std::int64_t task, int slot) {
            std::vector<double> products(at(std::max(ld, n_y)));
            auto sum_column = [&](std::int64_t j, auto* row, auto* value, std::int64_t count) {
                double sum = 0, square = 0;
                for (std::int64_t e = 0; e < count; ++e) {
                    const auto v = static_cast<double>(value[e]);
                    sum += v;
                    square += v * v;
                }
                sums.side_[kX].set(j, n, 0.0, sum, square);
                if (rows.labels) {
                    std::fill(products.begin(), products.end(), 0.0);
                    for (std::int64_t e = 0; e < count; ++e) {
                        products[at(rows.labels[row[e]])] += static_cast<double>(value[e]);
                    }
                } else {
                    sparse_products(row, value, count, Y.data() - r0 * ld, ld, products.data());
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

    // Rows r0..r1 - 1 with labels, unsorted: each column is summed in the order of the rows, as after sorting. A task
    // has a range of columns, so the same bits come from any number of them.
    auto add_rows = [&](std::int64_t r0, std::int64_t r1, auto* values, auto* indptr, auto* indices) {
        Part part = targets(r0, r1);
        ProjseSums& sums = part.sums;
        const std::int64_t n = r1 - r0, width = ceil_div(n_x, std::min<std::int64_t>(run.n_threads(), n_x));
        parallel_for(run, ceil_div(n_x, width), [&](std::int64_t task, int) {
            const std::int64_t j0 = task * width, w = std::min(width, n_x - j0);
            std::vector<double> moments(at(2 * w), 0.0);  // sum and sum of squares, column by column
            // By class; one class has the sums of all.
            std::vector<double> products(at(n_y > 1 ? n_y * w : 0), 0.0);
            for (std::int64_t r = r0; r < r1; ++r) {
                double* product = n_y > 1 ? products.data() + rows.labels[r] * w : nullptr;
                visit_entries(values, indptr, indices, r, j0, w, n_x, [&](std::int64_t j, double v) {
                    double* moment = moments.data() + 2 * j;
                    moment[0] += v;
                    moment[1] += v * v;
                    if (product) product[j] += v;
                });
            }
            for (std::int64_t j = 0; j < w; ++j) {
                const double sum = moments[at(2 * j)], mean = sum / static_cast<double>(n);
                sums.side_[kX].set(j0 + j, n, 0.0, sum, moments[at(2 * j + 1)]);
                for (std::int64_t k = 0; k < n_y; ++k) {
                    const double own = n_y > 1 ? products[at(k * w + j)] : sum;
                    sums.yx_[(j0 + j) * n_y + k] = own - part.y_sums[at(k)] * mean;
                }
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
                if (rows.labels && ascending_rows(r0, r1, indptr, indices)) {
                    add_rows(r0, r1, values, indptr, indices);
                    continue;
                }
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
            {"the sums of ", m, " rows"});
    }
    const SingleThreadedBlas held;
    ProjseSums sums = rows.X.is_sparse() ? of_sparse(rows, run) : of_dense(rows, run);
    sums.n_labelled_ = rows.labels ? sums.n_rows_ : 0;
    merge(std::move(sums), run);
}

// Adds rows r0..r1 - 1 from their sums and sums of squares, side by side, by group and column, less `shift` of the same
// order (null: 0).
void ProjseSums::add_groups(const Matrix& X, std::int64_t r0, std::int64_t r1, const std::int64_t* groups,
                            const double* shift, const double* moments, std::vector<ProjseSums>& to, Run& run) {
    const std::int64_t n_x = X.n_cols();
    std::vector<std::int64_t> counts(to.size(), 0);
    for (std::int64_t r = r0; r < r1; ++r) ++counts[at(groups[r])];
    parallel_for(run, std::ssize(to), [&](std::int64_t g, int) {
        if (counts[at(g)] == 0) return;
        ProjseSums sums(0, n_x, false);
        sums.n_rows_ = counts[at(g)];
        for (std::int64_t j = 0; j < n_x; ++j) {
            const std::int64_t k = g * n_x + j;
            sums.side_[kX].set(j, sums.n_rows_, shift ? shift[k] : 0.0, moments[2 * k], moments[2 * k + 1]);
        }
        sums.require_finite({X, nullptr, groups}, r0, r1);
        to[at(g)].merge(sums.as_class(1, 0), run);
    });
}

void ProjseSums::update_groups(const std::vector<ProjseSums*>& sums, const Matrix& X, const std::int64_t* groups,
                               Run& run) {
    const auto n_groups = static_cast<std::int64_t>(sums.size());
    const std::int64_t n_x = X.n_cols(), m = X.n_rows();
    if (run.is_question()) {
        const std::int64_t sorted = 16 * std::min(X.n_stored(), kSparsePart + n_x) + 16 * n_x + 8 * m;
        run.require_memory(
            n_groups * (3 * memory(1, n_x, false) + (X.is_sparse() ? 16 : 24) * n_x) + (X.is_sparse() ? sorted : 0),
            {"the sums of ", n_groups, " groups of rows"});
    }
    std::vector<ProjseSums> total(sums.size());
    parallel_for(run, n_groups, [&](std::int64_t g, int) { total[at(g)] = sums[at(g)]->copy(); });
    Buffer<double> moments(2 * n_groups * n_x);
    auto clear = [&] { std::fill_n(moments.data(), moments.size(), 0.0); };
    // Columns first .. first + width - 1 of `n_tasks` ranges; each is summed in the order of the rows.
    auto over_columns = [&](std::int64_t width, auto&& body) {
        parallel_for(run, ceil_div(n_x, width), [&](std::int64_t task, int slot) {
            body(task * width, std::min(width, n_x - task * width), slot);
        });
    };
    const std::int64_t share = ceil_div(n_x, std::min<std::int64_t>(run.n_threads(), n_x));
    auto add = [&](std::int64_t group, std::int64_t j, double v) {
        double* moment = moments.data() + 2 * (group * n_x + j);
        moment[0] += v;
        moment[1] += v * v;
    };
    auto start = [&](std::int64_t r1) {
        run.step("sums over the rows", 0.9 * static_cast<double>(r1) / static_cast<double>(m));
        clear();
    };
    if (X.is_sparse()) {
        require(X.is_csr(), "groups of rows need X by rows (CSR)");
        visit_sparse(X.description(), [&](auto* values, auto* indptr, auto* indices) {
            using V = std::remove_cv_t<std::remove_reference_t<decltype(*values)>>;
            SortedByColumn<V> sorted;
            std::vector<SparseLine<V>> lines(at(run.n_threads()));
            for (std::int64_t r0 = 0, r1 = 0; r0 < m; r0 = r1) {
                for (r1 = r0 + 1; r1 < m && indptr[r1 + 1] - indptr[r0] <= kSparsePart;) ++r1;
                start(r1);
                if (ascending_rows(r0, r1, indptr, indices)) {
                    const std::vector<std::int64_t> by_group = rows_by_group(r0, r1, groups, n_groups);
                    over_columns(share, [&](std::int64_t j0, std::int64_t w, int) {
                        for (const std::int64_t r : by_group) {
                            double* own = moments.data() + 2 * (groups[r] * n_x + j0);
                            visit_entries(values, indptr, indices, r, j0, w, n_x, [&](std::int64_t j, double v) {
                                own[2 * j] += v;
                                own[2 * j + 1] += v * v;
                            });
                        }
                    });
                } else {
                    sorted.assign(values, indptr, indices, r0, r1, n_x);
                    over_columns(kSparseColumns, [&](std::int64_t j0, std::int64_t w, int slot) {
                        for (std::int64_t j = j0; j < j0 + w; ++j) {
                            const auto begin = sorted.begins[j], end = sorted.begins[j + 1];
                            lines[at(slot)].visit(sorted.rows.data() + begin, sorted.values.data() + begin,
                                                  static_cast<std::int64_t>(end - begin),
                                                  [&](auto* row, auto* value, std::int64_t count) {
                                                      for (std::int64_t e = 0; e < count; ++e) {
                                                          add(groups[row[e]], j, static_cast<double>(value[e]));
                                                      }
                                                  });
                        }
                    });
                }
                add_groups(X, r0, r1, groups, nullptr, moments.data(), total, run);
            }
        });
    } else {
        Buffer<double> shift(n_groups * n_x);  // the first row of each group in the part
        for (std::int64_t r0 = 0; r0 < m; r0 += kPartRows) {
            const std::int64_t r1 = std::min(r0 + kPartRows, m);
            start(r1);
            std::vector<bool> is_first(at(r1 - r0));
            std::vector<bool> seen(sums.size(), false);
            for (std::int64_t r = r0; r < r1; ++r) {
                is_first[at(r - r0)] = !seen[at(groups[r])];
                seen[at(groups[r])] = true;
            }
            visit_values(X.description(), [&]<class T>(const Values<T>& values) {
                over_columns(tile_columns(n_x), [&](std::int64_t j0, std::int64_t w, int) {
                    Buffer<T> room;
                    for (std::int64_t first = r0, step = values.most(w); first < r1; first += step) {
                        const std::int64_t last = std::min(first + step, r1);
                        const auto [x, rs, cs] = values.block(first, last, j0, j0 + w, room);
                        for (std::int64_t r = first; r < last; ++r) {
                            const T* from = x + (r - first) * rs;
                            double* own_shift = shift.data() + groups[r] * n_x + j0;
                            double* own = moments.data() + 2 * (groups[r] * n_x + j0);
                            if (is_first[at(r - r0)]) {
                                for (std::int64_t j = 0; j < w; ++j) own_shift[j] = static_cast<double>(from[j * cs]);
                            }
                            for (std::int64_t j = 0; j < w; ++j) {
                                const double v = static_cast<double>(from[j * cs]) - own_shift[j];
                                own[2 * j] += v;
                                own[2 * j + 1] += v * v;
                            }
                        }
                    }
                });
            });
            add_groups(X, r0, r1, groups, shift.data(), moments.data(), total, run);
        }
    }
    for (std::size_t g = 0; g < sums.size(); ++g) *sums[g] = std::move(total[g]);
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
            const double d = other.side_[side].mean[j] - side_[side].mean[j];
            const double summed = side_[side].summed[j] + other.side_[side].summed[j] + weight * d * d;
            // Products between columns are then finite too (Cauchy-Schwarz).
            if (!std::isfinite(summed)) refuse_scale(name_of(side), static_cast<std::int64_t>(j));
            delta[side][j] = d;
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

ProjseSums ProjseSums::as_class(std::int64_t n_y, std::int64_t label) const {
    ProjseSums result(n_y, side_[kX].n, false);
    result.n_rows_ = result.n_labelled_ = n_rows_;
    result.side_[kX] = side_[kX];
    // Targets that don't vary have no inner products about their means.
    std::fill_n(result.yy_.data(), result.yy_.size(), 0.0);
    std::fill_n(result.yx_.data(), result.yx_.size(), 0.0);
    const auto n = static_cast<double>(n_rows_);
    for (std::int64_t c = 0; c < n_y; ++c)
        result.side_[kY].set(c, n_rows_, 0.0, c == label ? n : 0, c == label ? n : 0);
    return result;
}

std::int64_t ProjseSums::size() const {
    return 2 + 3 * (side_[kY].n + side_[kX].n) + yy_.size() + yx_.size() + xx_.size();
}

void ProjseSums::save(double* numbers) const {
    *numbers++ = static_cast<double>(n_rows_);
    *numbers++ = static_cast<double>(n_labelled_);
    for (const ProjseColumns& side : side_) {
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
    for (ProjseColumns& side : side_) {
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

}  // namespace fastfs::core
