#include "projse/sums.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "projse/sparse_columns.hpp"
#include "projse/sum_tasks.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

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

double ProjseSums::product_on_side(int side, std::int64_t i, std::int64_t j) const {
    if (i == j) return side_[side].squares[at(i)];
    const Buffer<double>& C = side == kY ? yy_ : xx_;
    return C[std::min(i, j) * side_[side].n + std::max(i, j)];
}

double* ProjseSums::block(int p, std::int64_t p0, int q, std::int64_t q0, std::int64_t& ld) {
    ld = side_[p].n;
    Buffer<double>& C = p == kX ? xx_ : q == kY ? yy_ : yx_;
    return C.data() + q0 * ld + p0;
}

// Sets the means and inner products of the one-hot columns of rows r0..r1 - 1, which follow from counts.
void ProjseSums::count_labels(const std::int64_t* labels, std::int64_t r0, std::int64_t r1) {
    ProjseColumns& y = side_[kY];
    std::vector<double> counts(at(y.n), 0.0);
    for (std::int64_t r = r0; r < r1; ++r) counts[at(labels[r])] += 1;
    for (std::int64_t c = 0; c < y.n; ++c) {
        y.set_column(c, r1 - r0, 0.0, counts[at(c)], counts[at(c)]);
        for (std::int64_t b = c; b < y.n; ++b) {
            yy_[c * y.n + b] = (b == c ? counts[at(c)] : 0.0) - counts[at(b)] * y.mean[at(c)];
        }
    }
}

// Throws if sums of a column aren't finite: names its first NaN or infinity in rows r0..r1 - 1, or its scale.
void ProjseSums::require_finite(const ProjseRows& rows, std::int64_t r0, std::int64_t r1) const {
    for (int side : {kX, kY}) {
        for (std::int64_t j = 0; j < side_[side].n; ++j) {
            if (std::isfinite(side_[side].summed[at(j)])) continue;
            refuse_column(side == kX ? rows.X : *rows.Y, name_of(side), j, r0, r1);
        }
    }
}

void ProjseSums::update(const ProjseRows& rows, Run& run) {
    if (run.is_question()) {
        constexpr std::int64_t kScratchBytes = 8 * kPackBytes;  // per thread
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
    // Adds `from`, and the part of the difference of the means, to the products of columns of sides p and q in `to`.
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
        } else {  // without the caller's progress, which could stop it half-way
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
    in_single_ |= other.in_single_;
    n_rows_ += other.n_rows_;
    n_labelled_ += other.n_labelled_;
}

ProjseSums ProjseSums::copy() const {
    ProjseSums result(side_[kY].n, side_[kX].n, has_xx_);
    result.in_single_ = in_single_;
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
        result.side_[kY].set_column(c, n_rows_, 0.0, c == label ? n : 0, c == label ? n : 0);
    return result;
}

void ProjseSums::save_state(ByteWriter& to) const {
    to.put(n_rows_);
    to.put(n_labelled_);
    to.put(std::int64_t{in_single_});
    for (const ProjseColumns& side : side_) {
        for (const auto* values : {&side.mean, &side.squares, &side.summed}) to.put(values->data(), side.n);
    }
    if (n_rows_ == 0) return;  // the buffers are filled by the first rows
    std::vector<double> row;
    const auto symmetric = [&](int side) {  // writes the triangle that isn't summed, too
        const std::int64_t n = side == kY || has_xx_ ? side_[side].n : 0;
        row.resize(at(n));
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = 0; j < n; ++j) row[at(j)] = product_on_side(side, i, j);
            to.put(row.data(), n);
        }
    };
    symmetric(kY);
    to.put(yx_.data(), yx_.size());
    symmetric(kX);
}

void ProjseSums::load_state(ByteReader& from) {
    constexpr std::int64_t kMostRows = 1000000000000000;
    const auto get = [&](double* to, std::int64_t n) {
        from.get(to, n);
        from.expect(std::all_of(to, to + n, [](double x) { return std::isfinite(x); }));
    };
    n_rows_ = from.get();
    n_labelled_ = from.get();
    const std::int64_t in_single = from.get();
    from.expect(in_single == 0 || in_single == 1);
    in_single_ = in_single == 1;
    from.expect(n_rows_ >= 0 && n_rows_ <= kMostRows && n_labelled_ >= 0 && n_labelled_ <= n_rows_);
    for (ProjseColumns& side : side_) {
        for (auto* values : {&side.mean, &side.squares, &side.summed}) get(values->data(), side.n);
    }
    if (n_rows_ == 0) return;
    for (Buffer<double>* values : {&yy_, &yx_, &xx_}) get(values->data(), values->size());
}

}  // namespace fastfs::core
