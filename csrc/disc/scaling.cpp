#include "disc/scaling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/errors.hpp"
#include "support/matrix.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

constexpr std::int64_t kColumns = 256;

// Calls f(x, row, column) for all values of a dense X, from several threads: the values of a column on one thread, in
// the order of the rows.
template <class F>
void for_values(const Matrix& X, Run& run, F&& f) {
    const fastfs_matrix& m = X.description();
    visit_values(m, [&]<class T>(const Values<T>& x) {
        parallel_for(run, ceil_div(m.n_cols, kColumns), [&](std::int64_t task, int) {
            const std::int64_t first = task * kColumns, last = std::min(first + kColumns, m.n_cols);
            Buffer<T> room;
            for (std::int64_t r0 = 0, step = x.most(last - first); r0 < m.n_rows; r0 += step) {
                const std::int64_t r1 = std::min(r0 + step, m.n_rows);
                const auto [values, rs, cs] = x.block(r0, r1, first, last, room);
                for (std::int64_t r = r0; r < r1; ++r) {
                    for (std::int64_t c = first; c < last; ++c) f(values[(r - r0) * rs + (c - first) * cs], r, c);
                }
            }
        });
    });
}

}  // namespace

DiscScaling measure_scaling(const std::vector<DiscSet>& sets, Run& run) {
    const std::int64_t p = sets.front().n_features;
    double n_rows = 0;
    for (const DiscSet& set : sets) {
        set.X->row_maxima(run);
        n_rows += static_cast<double>(set.X->n_rows());
    }
    // Returns the mean of f(value) over the values of each feature.
    auto mean_of = [&](auto&& f) {
        Numbers mean = numbers(p);
        for (const DiscSet& set : sets) {
            Numbers sums = numbers(p);
            for_values(*set.X, run,
                       [&](auto x, std::int64_t, std::int64_t c) { sums[at(c)] += f(static_cast<double>(x), c); });
            for (std::size_t c = 0; c < sums.size(); ++c) mean[c] += sums[c];
        }
        for (double& value : mean) value /= n_rows;
        return mean;
    };
    DiscScaling s;
    s.mean = mean_of([](double x, std::int64_t) { return x; });
    s.scale = mean_of([&](double x, std::int64_t c) { return (x - s.mean[at(c)]) * (x - s.mean[at(c)]); });
    for (std::size_t c = 0; c < s.scale.size(); ++c) {
        require(std::isfinite(s.scale[c]), "the values of ", Name::column(c),
                " are too large: their variance overflows float64; divide X by a constant first");
        s.scale[c] = std::sqrt(s.scale[c]);
        // The remainder of a constant column is the rounding of its mean.
        if (s.scale[c] <= 10 * std::numeric_limits<double>::epsilon() * std::abs(s.mean[c])) s.scale[c] = 1;
    }
    return s;
}

// Copies the rows of all sets, each feature less its mean and divided by its scale.
ScaledSets::ScaledSets(const std::vector<DiscSet>& sets, const DiscScaling& scaling, Run& run) : sets_(sets) {
    for (std::size_t s = 0; s < sets.size(); ++s) {
        const Matrix& X = *sets[s].X;
        fastfs_matrix scaled = FASTFS_MATRIX_INIT;
        scaled.dtype = X.description().dtype;
        scaled.n_rows = X.n_rows();
        scaled.n_cols = X.n_cols();
        scaled.row_stride = X.n_cols();
        auto fill = [&](auto& buffers, auto zero) {
            using T = decltype(zero);
            T* values = buffers.emplace_back(X.n_rows() * X.n_cols()).data();
            for_values(X, run, [&](auto x, std::int64_t r, std::int64_t c) {
                values[r * X.n_cols() + c] =
                    static_cast<T>((static_cast<double>(x) - scaling.mean[at(c)]) / scaling.scale[at(c)]);
            });
            scaled.values = values;
        };
        if (X.is_float32()) {
            fill(singles_, 0.0f);
        } else {
            fill(doubles_, 0.0);
        }
        sets_[s].X.emplace(scaled, Name::set(static_cast<std::int64_t>(s)));
    }
}

std::int64_t scaled_memory(const std::vector<DiscSet>& sets) {
    std::int64_t bytes = 0;
    for (const DiscSet& set : sets) bytes += set.X->n_rows() * set.X->n_cols() * (set.X->is_float32() ? 4 : 8);
    return bytes;
}

}  // namespace fastfs::core
