#include "engines/scaling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "engines/adjacent_rows.hpp"
#include "engines/isa/tiles.hpp"
#include "support/buffer.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// Beyond it, the square of a difference or a sum of many could overflow in T; below its inverse, vanish.
template <class T>
constexpr double kLargest = sizeof(T) == 4 ? 1e16 : 1e150;

// Whole numbers below the levels, of which a float holds all.
template <class T>
bool is_code(T value, std::int64_t levels) {
    const T inside = value >= 0 && value < static_cast<T>(levels) ? value : T(0.5);
    return inside == static_cast<T>(static_cast<std::int32_t>(inside));
}

template <class T>
void find_wrong_codes(const T* values, std::int64_t n, const std::int64_t* levels, char* wrong) {
    for (std::int64_t c = 0; c < n; ++c) {
        wrong[c] |= levels[c] > 0 && values[c] == values[c] && !is_code(values[c], levels[c]);
    }
}

// A power of two near 1 / x, so that nothing but the exponents changes.
double unit_factor(double x) { return std::ldexp(1.0, -std::clamp(std::ilogb(x), -1000, 1000)); }

// Refuses the first value that the rules don't allow; there is one in column c.
template <class T>
[[noreturn]] void refuse_value(const fastfs_matrix& m, const T* x, std::int64_t c, const TableRules& rules) {
    const std::int64_t levels = rules.levels ? rules.levels[c] : 0;
    for (std::int64_t r = 0; r < m.n_rows; ++r) {
        const auto value = static_cast<double>(x[r * m.row_stride + c * m.col_stride]);
        if (std::isnan(value) ? !rules.missing : std::isinf(value)) refuse_not_finite(kX, r, c);
        if (levels == 0 || std::isnan(value) || is_code(value, levels)) continue;
        refuse(Message() << "the codes of a category must be whole numbers from 0 to " << levels - 1 << ", but X has "
                         << value << " in " << Name::row(r) << ", " << Name::column(c));
    }
    throw std::logic_error("all values are allowed");
}

template <class T>
FeatureScales find_scales(const Matrix& X, const T* x, Scaling scaling, Run& run, const TableRules& rules) {
    const fastfs_matrix& m = X.description();
    const auto& kernels = margin_kernels<T>();
    constexpr std::int64_t kColumns = kWidth<T>;
    std::vector<std::int64_t> columns(static_cast<std::size_t>(m.n_cols));
    for (std::size_t c = 0; c < columns.size(); ++c) columns[c] = static_cast<std::int64_t>(c);
    Buffer<T> lowest(m.n_cols), highest(m.n_cols), poison(m.n_cols);
    Buffer<double> deviation(m.n_cols);
    Buffer<char> refused(m.n_cols);
    const std::vector<double> ones(rules.weights ? 0 : kRowsRead, 1.0);
    FeatureScales scales;
    scales.shift.assign(columns.size(), 0.0);
    scales.factor.assign(columns.size(), 0.0);
    parallel_for(run, ceil_div(m.n_cols, kColumns), [&](std::int64_t task, int) {
        const std::int64_t first = task * kColumns, n = std::min(kColumns, m.n_cols - first);
        AdjacentRows<T> rows(m, columns.data() + first, n);
        const auto for_rows = [&](auto&& f) {
            for (std::int64_t r = 0; r < m.n_rows; r += kRowsRead) {
                if (r % 4096 == 0) run.checkpoint();
                const std::int64_t last = std::min(r + kRowsRead, m.n_rows);
                f(rows.read(r, last), r, last - r);
            }
        };
        std::fill_n(lowest.data() + first, n, std::numeric_limits<T>::infinity());
        std::fill_n(highest.data() + first, n, -std::numeric_limits<T>::infinity());
        std::fill_n(poison.data() + first, n, T(0));
        for_rows([&](const T* from, std::int64_t, std::int64_t n_rows) {
            kernels.column_ranges(from, n_rows, rows.stride(), n, lowest.data() + first, highest.data() + first,
                                  poison.data() + first);
        });
        for (std::int64_t c = first; c < first + n; ++c) {
            const bool infinite =
                lowest[c] < std::numeric_limits<T>::lowest() || highest[c] > std::numeric_limits<T>::max();
            refused[c] = poison[c] != T(0) && (!rules.missing || (infinite && lowest[c] <= highest[c]));
        }
        if (rules.levels) {
            for_rows([&](const T* from, std::int64_t, std::int64_t n_rows) {
                for (std::int64_t r = 0; r < n_rows; ++r, from += rows.stride()) {
                    find_wrong_codes(from, n, rules.levels + first, refused.data() + first);
                }
            });
        }
        if (scaling == Scaling::kRange && !rules.deviations) return;
        double origin[kColumns], factor[kColumns], counts[kColumns], sums[kColumns], squares[kColumns];
        for (std::int64_t c = 0; c < n; ++c) {
            const auto start = static_cast<double>(x[(first + c) * m.col_stride]),
                       low = static_cast<double>(lowest[first + c]);
            origin[c] = std::isnan(start) ? low : start;
            factor[c] = unit_factor(static_cast<double>(highest[first + c]) - low);
        }
        for (int round = 0; round < 2; ++round) {  // about any value, for the mean, and about the mean
            std::fill_n(counts, n, 0.0);
            std::fill_n(sums, n, 0.0);
            std::fill_n(squares, n, 0.0);
            for_rows([&](const T* from, std::int64_t r, std::int64_t n_rows) {
                kernels.column_moments(from, rules.weights ? rules.weights + r : ones.data(), n_rows, rows.stride(), n,
                                       origin, factor, counts, sums, squares);
            });
            for (std::int64_t c = 0; c < n; ++c) {
                const double error = sums[c] / counts[c];
                origin[c] += error / factor[c];
                deviation[first + c] = std::sqrt(std::max(0.0, squares[c] / counts[c] - error * error)) / factor[c];
            }
        }
        std::copy_n(origin, n, scales.shift.data() + first);
    });

    for (std::int64_t c = 0; c < m.n_cols; ++c) {
        if (poison[c] != T(0) && !rules.missing) X.row_maxima(run);  // names the first row
        if (refused[c]) refuse_value(m, x, c, rules);
    }
    if (std::any_of(poison.data(), poison.data() + m.n_cols, [](T p) { return p != T(0); })) {
        for (std::int64_t c = 0; c < m.n_cols; ++c) scales.incomplete.push_back(poison[c] != T(0));
    }
    if (rules.deviations) scales.deviation.assign(deviation.data(), deviation.data() + m.n_cols);

    double smallest_deviation = std::numeric_limits<double>::infinity(), largest_deviation = 0, largest_range = 0;
    for (std::size_t c = 0; c < columns.size(); ++c) {
        const auto column = static_cast<std::int64_t>(c);
        const auto low = static_cast<double>(lowest[column]), high = static_cast<double>(highest[column]);
        if (!(low < high)) {
            scales.shift[c] = low == high ? low : 0.0;
            continue;
        }
        double unit = 1;
        if (rules.levels && rules.levels[c] > 0) {
            scales.shift[c] = 0;
            largest_range = std::max(largest_range, 1.0);
        } else if (scaling == Scaling::kRange) {
            scales.shift[c] = low;
            unit = high - low;
        } else if (scaling == Scaling::kStandard) {
            unit = deviation[column];
        } else {
            scales.shift[c] = 0;
            if (std::max(std::abs(low), std::abs(high)) > kLargest<T>) {
                refuse(Message() << "features that aren't scaled must not exceed " << kLargest<T> << ", but "
                                 << Name::column(column) << " of X goes from " << low << " to " << high
                                 << ": scale it");
            }
            largest_range = std::max(largest_range, high - low);
            smallest_deviation = std::min(smallest_deviation, deviation[column]);
            largest_deviation = std::max(largest_deviation, deviation[column]);
        }
        scales.factor[c] = 1 / unit;
        if (!std::isnormal(unit) || !std::isnormal(scales.factor[c])) {
            refuse(Message() << Name::column(column) << " of X, from " << low << " to " << high
                             << ", can't be scaled within the range of doubles: multiply it by another unit");
        }
    }
    require(std::any_of(scales.factor.begin(), scales.factor.end(), [](double f) { return f != 0; }),
            "X needs a feature that varies, but all " + std::to_string(m.n_cols) + " are constant");
    require(scaling != Scaling::kNone || largest_range >= 1 / kLargest<T>,
            "features that aren't scaled must differ by at least " + text(1 / kLargest<T>) +
                ", but none does by more than " + text(largest_range) + ": scale them");
    scales.uneven = scaling == Scaling::kNone && largest_deviation > 1e3 * smallest_deviation;
    return scales;
}

}  // namespace

FeatureScales find_scales(const Matrix& X, Scaling scaling, Run& run, const TableRules& rules) {
    return visit_dense(X.description(), [&](auto* x) { return find_scales(X, x, scaling, run, rules); });
}

}  // namespace fastfs::core
