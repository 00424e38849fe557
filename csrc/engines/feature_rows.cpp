#include "engines/feature_rows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engines/adjacent_rows.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// Features per task: several share the cache lines of a row-major X.
constexpr std::int64_t kFeaturesPerTask = 64;

// Writes the wanted features of a dense X to `values`, feature after feature.
void read_dense(const Matrix& X, const std::vector<std::int64_t>& wanted, double* values, Run& run) {
    const fastfs_matrix& m = X.description();
    const auto n_wanted = static_cast<std::int64_t>(wanted.size());
    visit_dense(m, [&]<class T>(const T*) {
        parallel_for(run, ceil_div(n_wanted, kFeaturesPerTask), [&](std::int64_t task, int) {
            const std::int64_t first = task * kFeaturesPerTask, n = std::min(kFeaturesPerTask, n_wanted - first);
            AdjacentRows<T> rows(m, wanted.data() + first, n);
            for (std::int64_t r = 0; r < m.n_rows; r += kRowsRead) {
                const std::int64_t last = std::min(r + kRowsRead, m.n_rows);
                const T* from = rows.read_rows(r, last);
                for (std::int64_t i = r; i < last; ++i, from += rows.stride()) {
                    for (std::int64_t k = 0; k < n; ++k) {
                        values[(first + k) * m.n_rows + i] = static_cast<double>(from[k]);
                    }
                }
            }
        });
    });
}

// Overwrites `values` with the wanted features of a sparse X, feature after feature; entries at one place add up.
void read_sparse(const Matrix& X, const std::vector<std::int64_t>& wanted, double* values) {
    const fastfs_matrix& m = X.description();
    std::vector<std::int64_t> place(at(m.n_cols), -1);
    for (std::size_t k = 0; k < wanted.size(); ++k) place[at(wanted[k])] = static_cast<std::int64_t>(k);
    std::fill_n(values, static_cast<std::int64_t>(wanted.size()) * m.n_rows, 0.0);
    visit_sparse(m, [&](auto* entries, auto* indptr, auto* indices) {
        for (std::int64_t o = 0; o < (X.is_csr() ? m.n_rows : m.n_cols); ++o) {
            for (std::int64_t e = indptr[o]; e < indptr[o + 1]; ++e) {
                const std::int64_t inner = indices[e], r = X.is_csr() ? o : inner,
                                   k = place[at(X.is_csr() ? inner : o)];
                if (k >= 0) values[k * m.n_rows + r] += static_cast<double>(entries[e]);
            }
        }
    });
}

}  // namespace

// Writes the wanted columns of X as contiguous rows of doubles; refuses NaN and infinity in any column.
void read_feature_rows(const Matrix& X, const std::vector<std::int64_t>& wanted, double* values, Run& run) {
    X.row_maxima(run);  // refuses NaN and infinity
    if (X.is_sparse()) {
        read_sparse(X, wanted, values);
    } else {
        read_dense(X, wanted, values, run);
    }
}

void replace_by_ranks(Numbers& values) {
    const auto n = static_cast<std::int64_t>(values.size());
    std::vector<std::int64_t> order = up_to(n);
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return values[at(a)] < values[at(b)]; });
    Numbers ranks(values.size());
    for (std::int64_t first = 0, last; first < n; first = last) {
        last = first + 1;
        while (last < n && values[at(order[at(last)])] == values[at(order[at(first)])]) ++last;
        for (std::int64_t k = first; k < last; ++k) ranks[at(order[at(k)])] = static_cast<double>(first + last + 1) / 2;
    }
    values = std::move(ranks);
}

// Removes five different values as long as it can, which leaves at least one copy of each value that makes up more than
// a fifth.
std::int64_t most_equal(const Numbers& values) {
    constexpr int kLeft = 4;
    double left[kLeft] = {};
    std::int64_t counts[kLeft] = {}, most = 0;
    for (const double value : values) {
        int same = 0, empty = 0;
        while (same < kLeft && (counts[same] == 0 || left[same] != value)) ++same;
        while (empty < kLeft && counts[empty] > 0) ++empty;
        if (same < kLeft) {
            ++counts[same];
        } else if (empty < kLeft) {
            left[empty] = value;
            counts[empty] = 1;
        } else {
            for (std::int64_t& count : counts) --count;
        }
    }
    for (int k = 0; k < kLeft; ++k) {
        if (counts[k] > 0) most = std::max<std::int64_t>(most, std::count(values.begin(), values.end(), left[k]));
    }
    return 4 * most >= static_cast<std::int64_t>(values.size()) ? most : 0;
}

bool standardise(Numbers& values) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    if (*low == *high) return false;
    const int exponent = std::clamp(std::ilogb(*high / 2 - *low / 2), -1000, 1000);
    const double half = std::ldexp(1.0, -exponent), start = values[0] / 2;
    for (double& value : values) value = (value / 2 - start) * half;
    const double n = static_cast<double>(values.size());
    double sum = 0, squares = 0;
    for (const double value : values) sum += value;
    for (double& value : values) {
        value -= sum / n;
        squares += value * value;
    }
    if (squares == 0) return false;
    const double factor = std::sqrt(n / squares);
    for (double& value : values) value *= factor;
    return true;
}

}  // namespace fastfs::core
