// Sums over dense rows.
#include <algorithm>
#include <cmath>
#include <utility>

#include "projse/packed.hpp"
#include "projse/sum_tasks.hpp"
#include "projse/sums.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {

// A task, which forms the inner products of a tile of columns p and a tile of columns q.
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

std::vector<ProjseSums::Task> ProjseSums::dense_tasks(bool has_labels) const {
    auto tiles = [&](int side) {
        std::vector<std::pair<std::int64_t, std::int64_t>> first_and_width;
        const std::int64_t n = side_[side].n, width = tile_columns(n);
        for (std::int64_t first = 0; first < n; first += width) {
            first_and_width.emplace_back(first, std::min(width, n - first));
        }
        return first_and_width;
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
        if (has_labels && !has_xx_) break;
        if (has_labels || side_[kY].n == 0) tasks.push_back({kX, kX, 0, 0, x0, xw, false, true, false, !has_labels});
        if (has_labels) continue;
        for (auto [y0, yw] : tiles(kY)) {
            tasks.push_back({kY, kX, y0, yw, x0, xw, x0 == 0, has_xx_ && y0 == 0, x0 == 0, y0 == 0});
        }
    }
    if (!has_labels) off_diagonal(kY);
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
    if (task.pw) p->start_columns(matrix(task.p), r0, task.p0, task.pw, std::min(step, r1 - r0));
    q->start_columns(matrix(task.q), r0, task.q0, task.qw, std::min(step, r1 - r0));
    std::int64_t ld = 0, p_ld = 0, q_ld = 0;
    double* C = task.pw ? block(task.p, task.p0, task.q, task.q0, ld) : nullptr;
    double* PP = task.p_squares ? block(task.p, task.p0, task.p, task.p0, p_ld) : nullptr;
    double* QQ = task.q_squares ? block(task.q, task.q0, task.q, task.q0, q_ld) : nullptr;
    for (std::int64_t r = r0; r < r1; r += step) {
        const std::int64_t end = std::min(r + step, r1);
        if (task.pw) p->fill_rows(matrix(task.p), r, end, task.p0);
        q->fill_rows(matrix(task.q), r, end, task.q0);
        if (C) accumulate<T>(r == r0, task.pw, task.qw, C, ld, scratch.tile, *p, *q);
        if (PP) accumulate<T>(r == r0, task.pw, task.pw, PP, p_ld, scratch.tile, *p);
        if (QQ) accumulate<T>(r == r0, task.qw, task.qw, QQ, q_ld, scratch.tile, *q);
    }
    const std::int64_t n = r1 - r0;
    if (sizeof(T) == sizeof(float) && !((!task.pw || p->sums_fit(n)) && q->sums_fit(n))) return false;
    auto center = [&](const Packed<T>& a, const Packed<T>& b, double* to, std::int64_t to_ld) {
        center_block(a.sums.data(), a.w, b.sums.data(), b.w, n, &a == &b, to, to_ld);
    };
    if (C) center(*p, *q, C, ld);
    if (PP) center(*p, *p, PP, p_ld);
    if (QQ) center(*q, *q, QQ, q_ld);
    auto keep = [&](int side, std::int64_t first, const Packed<T>& packed) {
        for (std::int64_t j = 0; j < packed.w; ++j) {
            side_[side].set_column(first + j, n, static_cast<double>(packed.shift[at(j)]), packed.sums[at(j)],
                                   packed.squares[at(j)]);
        }
    };
    if (task.p_columns) keep(task.p, task.p0, *p);
    if (task.q_columns) keep(task.q, task.q0, *q);
    return true;
}

// Rows that are fetched before they are summed. By itself the processor doesn't read ahead from one short row to the
// next: 500 x 20,000 took 12.7 instead of 7.8 ms (Zen 4).
constexpr std::int64_t kRowsAhead = 4;

// Fetches n values, which can lie behind the end of their array.
template <class T>
inline void prefetch_row(const T* values, std::int64_t n) {
    for (std::int64_t j = 0; j < n; j += 64 / static_cast<std::int64_t>(sizeof(T))) {
        __builtin_prefetch(values + j, 0, 2);
    }
}

// Sets the sums of the columns x0..x0 + w - 1 over rows r0..r1 - 1, and their inner products with one-hot targets. The
// one-hot columns are never made: the products are sums over the rows of each class.
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
                        prefetch_row(x + (r - first + kRowsAhead) * rs, w);
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
        side_[kX].set_column(x0 + j, n, shift[at(j)], total[at(j)], squares[at(j)]);
    }
}

// Returns the sums over the rows of one dense update, in parts that are merged in their order; this object stays as it
// is.
ProjseSums ProjseSums::of_dense(const ProjseRows& rows, Run& run) const {
    const std::int64_t m = rows.X.n_rows(), n_y = side_[kY].n, n_x = side_[kX].n;
    const bool single = rows.X.is_float32() && (!rows.Y || rows.Y->is_float32());
    const std::vector<Task> tasks = dense_tasks(rows.labels != nullptr);
    const std::int64_t width = tile_columns(n_x), n_label_tasks = rows.labels ? ceil_div(n_x, width) : 0;
    const auto n_tasks = n_label_tasks + std::ssize(tasks);
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
            sums.in_single_ = single;
            if (rows.labels) sums.count_labels(rows.labels, r0, r0 + sums.n_rows_);
        }
        parallel_for(run, (last - first) * n_tasks, [&](std::int64_t index, int slot) {
            ProjseSums& sums = parts[at(index / n_tasks)];
            const std::int64_t r0 = (first + index / n_tasks) * kPartRows, r1 = r0 + sums.n_rows_, t = index % n_tasks;
            if (t < n_label_tasks) {
                const std::int64_t x0 = t * width;
                return sums.label_task(x0, std::min(width, n_x - x0), rows, r0, r1, scratch[at(slot)]);
            }
            const Task& task = tasks[at(t - n_label_tasks)];
            if (!single || !sums.dense_task<float>(task, rows, r0, r1, scratch[at(slot)])) {
                sums.dense_task<double>(task, rows, r0, r1, scratch[at(slot)]);
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

}  // namespace fastfs::core
