#include "engines/scaling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "engines/adjacent_rows.hpp"
#include "engines/isa/tiles.hpp"
#include "support/buffer.hpp"
#include "support/csr.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// Limit beyond which the square of a difference or a sum of many could overflow in T; below its inverse they could
// vanish.
template <class T>
constexpr double kLargest = sizeof(T) == 4 ? 1e16 : 1e150;

// Tests if a value is an integer from 0 to levels - 1; a float holds all integers in this range.
template <class T>
bool is_code(T value, std::int64_t levels) {
    const T inside = value >= 0 && value < static_cast<T>(levels) ? value : T(0.5);
    return inside == static_cast<T>(static_cast<std::int32_t>(inside));
}

// Sets broken[c] to 1 if values[c] isn't an integer, and leaves it alone otherwise. NaN counts as an integer, and so do
// all values from 2^23 on.
void find_broken_numbers(const float* __restrict values, std::int64_t n, float* __restrict broken) {
    for (std::int64_t c = 0; c < n; ++c) {
        const float inside = std::abs(values[c]) < 0x1p23F ? values[c] : 0.0F;
        broken[c] = inside == static_cast<float>(static_cast<std::int32_t>(inside)) ? broken[c] : 1.0F;
    }
}

// Sets broken[c] to 1 if values[c] lies from 0 to below limits[c] and isn't an integer, and leaves it alone otherwise.
template <class T>
void find_broken_codes(const T* __restrict values, std::int64_t n, const T* __restrict limits, T* __restrict broken) {
    for (std::int64_t c = 0; c < n; ++c) {
        const T inside = (values[c] >= T(0)) & (values[c] < limits[c]) ? values[c] : T(0);
        broken[c] = inside == static_cast<T>(static_cast<std::int32_t>(inside)) ? broken[c] : T(1);
    }
}

// Returns a power of two near 1 / x; multiplying by it changes exponents only.
double unit_factor(double x) { return std::ldexp(1.0, -std::clamp(std::ilogb(x), -1000, 1000)); }

// Throws InvalidArgument for the topmost value of column c that the rules don't allow; there must be one.
template <class T>
[[noreturn]] void refuse_value(const Values<T>& x, std::int64_t n_rows, std::int64_t c, const TableRules& rules) {
    const std::int64_t levels = rules.levels ? rules.levels[c] : 0;
    for (std::int64_t r = 0; r < n_rows; ++r) {
        const auto value = static_cast<double>(x(r, c));
        if (std::isnan(value) ? !rules.missing : std::isinf(value)) refuse_not_finite(kX, r, c);
        if (levels == 0 || std::isnan(value) || is_code(value, levels)) continue;
        refuse({"codes of a category must be whole numbers from 0 to ", levels - 1, "; got ", value, " in ",
                Name::row(r), ", ", Name::column(c)});
    }
    throw std::logic_error("all values are allowed");
}

// Statistics of each column of a matrix.
struct Columns {
    std::vector<double> lowest, highest;
    std::vector<double> mean, deviation;  // not of kRange, unless rules want deviations
    std::vector<char> incomplete;         // empty: no value is missing
    std::vector<char> broken;             // 1 if a value of float32 isn't whole
    bool finite;

    explicit Columns(std::int64_t n)
        : lowest(at(n)), highest(at(n)), mean(at(n)), deviation(at(n)), broken(at(n)), finite(true) {}
};

// Returns ranges of the columns of a dense X or genotypes and, if scaling or rules need them, means and deviations.
// Throws for codes and infinities that the rules don't allow; for NaN or infinity without rules.missing, only sets
// `finite` to false.
template <class T>
Columns dense_statistics(const Matrix& X, const Values<T>& x, Scaling scaling, const TableRules& rules, Run& run) {
    const fastfs_matrix& m = X.description();
    Columns statistics(m.n_cols);
    const auto& kernels = margin_kernels<T>();
    constexpr std::int64_t kColumns = kWidth<T>;
    std::vector<std::int64_t> columns(at(m.n_cols));
    for (std::size_t c = 0; c < columns.size(); ++c) columns[c] = static_cast<std::int64_t>(c);
    Buffer<T> lowest(m.n_cols), highest(m.n_cols), poison(m.n_cols);
    Buffer<char> refused(m.n_cols);
    const std::vector<double> ones(rules.weights ? 0 : kRowsRead, 1.0);
    parallel_for(run, ceil_div(m.n_cols, kColumns), [&](std::int64_t task, int) {
        const std::int64_t first = task * kColumns, n = std::min(kColumns, m.n_cols - first);
        AdjacentRows<T> rows(m, columns.data() + first, n);
        const auto for_rows = [&](auto&& f) {
            for (std::int64_t r = 0; r < m.n_rows; r += kRowsRead) {
                if (r % 4096 == 0) run.checkpoint();
                const std::int64_t last = std::min(r + kRowsRead, m.n_rows);
                f(rows.read_rows(r, last), r, last - r);
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
            T limits[kColumns], broken[kColumns] = {};
            std::copy_n(rules.levels + first, n, limits);
            for_rows([&](const T* from, std::int64_t, std::int64_t n_rows) {
                for (std::int64_t r = 0; r < n_rows; ++r, from += rows.stride()) {
                    find_broken_codes(from, n, limits, broken);
                }
            });
            for (std::int64_t c = 0; c < n; ++c) {
                const T low = lowest[first + c], high = highest[first + c];
                refused[first + c] |=
                    limits[c] > 0 && (broken[c] != 0 || low < 0 || (low <= high && high >= limits[c]));
            }
        }
        if constexpr (sizeof(T) == sizeof(float)) {
            float broken[kColumns] = {};
            bool any_whole = !X.is_genotypes();  // their numbers are whole
            for (std::int64_t r = 0; r < m.n_rows && any_whole; r += kRowsRead) {
                const std::int64_t last = std::min(r + kRowsRead, m.n_rows);
                const float* from = rows.read_rows(r, last);
                for (std::int64_t i = r; i < last && any_whole; ++i, from += rows.stride()) {
                    find_broken_numbers(from, n, broken);
                    any_whole = std::find(broken, broken + n, 0.0F) < broken + n;
                }
            }
            std::copy_n(broken, n, statistics.broken.data() + first);
        }
        if (scaling == Scaling::kRange && !rules.deviations) return;
        double origin[kColumns], factor[kColumns], counts[kColumns], sums[kColumns], squares[kColumns];
        for (std::int64_t c = 0; c < n; ++c) {
            const auto start = static_cast<double>(x(0, first + c)), low = static_cast<double>(lowest[first + c]);
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
                statistics.deviation[at(first + c)] =
                    std::sqrt(std::max(0.0, squares[c] / counts[c] - error * error)) / factor[c];
            }
        }
        std::copy_n(origin, n, statistics.mean.data() + first);
    });
    std::copy_n(lowest.data(), m.n_cols, statistics.lowest.data());
    std::copy_n(highest.data(), m.n_cols, statistics.highest.data());
    const bool complete = std::all_of(poison.data(), poison.data() + m.n_cols, [](T p) { return p == T(0); });
    statistics.finite = complete || rules.missing;
    for (std::int64_t c = 0; c < m.n_cols; ++c) {
        if (refused[c] && statistics.finite) refuse_value(x, m.n_rows, c, rules);
        if (!complete) statistics.incomplete.push_back(poison[c] != T(0));
    }
    return statistics;
}

// Returns ranges and, unless scaling is kRange, means and deviations of the columns of a sparse X, zeros included; sets
// `finite` to false if a value is NaN or infinite.
template <class T, class I>
Columns sparse_statistics(const Matrix& X, const T* values, const I* indptr, const I* indices, Scaling scaling,
                          Run& run) {
    Columns statistics(X.n_cols());
    SparseLine<T> line;
    // Calls f(column, value) for all entries, with entries at one place added up.
    const auto for_entries = [&](auto&& f) {
        std::int64_t since = 0;
        for (std::int64_t o = 0; o < (X.is_csr() ? X.n_rows() : X.n_cols()); ++o) {
            const std::int64_t begin = indptr[o], n = indptr[o + 1] - begin;
            if ((since += n + 1) > (std::int64_t{1} << 20)) {
                run.checkpoint();
                since = 0;
            }
            line.visit(indices + begin, values + begin, n, [&](auto* places, const T* x, std::int64_t n_places) {
                for (std::int64_t e = 0; e < n_places; ++e) {
                    f(at(X.is_csr() ? std::int64_t{places[e]} : o), static_cast<double>(x[e]));
                }
            });
        }
    };
    const auto n_rows = static_cast<double>(X.n_rows());
    std::vector<double> n_zeros(at(X.n_cols()), n_rows);  // that aren't stored
    std::fill(statistics.lowest.begin(), statistics.lowest.end(), std::numeric_limits<double>::infinity());
    std::fill(statistics.highest.begin(), statistics.highest.end(), -std::numeric_limits<double>::infinity());
    for_entries([&](std::size_t c, double x) {
        statistics.lowest[c] = std::min(statistics.lowest[c], x);
        statistics.highest[c] = std::max(statistics.highest[c], x);
        --n_zeros[c];
        statistics.broken[c] |= x != std::trunc(x);
        statistics.finite = statistics.finite && std::isfinite(x);
    });
    for (std::size_t c = 0; c < n_zeros.size(); ++c) {
        if (n_zeros[c] == 0) continue;
        statistics.lowest[c] = std::min(statistics.lowest[c], 0.0);
        statistics.highest[c] = std::max(statistics.highest[c], 0.0);
    }
    if (scaling == Scaling::kRange) return statistics;
    const auto unit = [&](std::size_t c) { return unit_factor(statistics.highest[c] - statistics.lowest[c]); };
    for_entries([&](std::size_t c, double x) { statistics.mean[c] += x / n_rows; });
    for_entries([&](std::size_t c, double x) {
        const double of_mean = (x - statistics.mean[c]) * unit(c);
        statistics.deviation[c] += of_mean * of_mean;
    });
    for (std::size_t c = 0; c < n_zeros.size(); ++c) {
        const double of_zero = statistics.mean[c] * unit(c);
        statistics.deviation[c] =
            std::sqrt((statistics.deviation[c] + n_zeros[c] * of_zero * of_zero) / n_rows) / unit(c);
    }
    return statistics;
}

// Returns ranges, means and deviations of the columns of X; throws if a value isn't finite or breaks the rules.
Columns column_statistics(const Matrix& X, Scaling scaling, const TableRules& rules, Run& run) {
    const Columns columns =
        X.is_sparse()
            ? visit_sparse(X.description(),
                           [&](auto* values, auto* indptr, auto* indices) {
                               return sparse_statistics(X, values, indptr, indices, scaling, run);
                           })
            : visit_values(X.description(), [&](const auto& x) { return dense_statistics(X, x, scaling, rules, run); });
    if (!columns.finite) X.row_maxima(run);
    return columns;
}

// Returns the shifts and factors of all columns from their statistics; throws if nothing varies or a column can't be
// scaled.
FeatureScales scales_of(const Columns& columns, bool is_sparse, bool is_float32, Scaling scaling,
                        const TableRules& rules) {
    const double largest = is_float32 ? kLargest<float> : kLargest<double>;
    FeatureScales scales;
    scales.shift.assign(columns.lowest.size(), 0.0);
    scales.factor.assign(columns.lowest.size(), 0.0);
    scales.range.assign(columns.lowest.size(), 0.0);
    scales.whole = is_float32;
    double smallest_deviation = std::numeric_limits<double>::infinity(), largest_deviation = 0, largest_range = 0;
    for (std::size_t c = 0; c < scales.factor.size(); ++c) {
        const auto column = static_cast<std::int64_t>(c);
        const double low = columns.lowest[c], high = columns.highest[c], origin = is_sparse ? 0 : low;
        if (!(low < high)) {  // also if no value is known
            if (low == high) scales.shift[c] = origin;
            continue;
        }
        scales.range[c] = high - low;
        scales.whole = scales.whole && !columns.broken[c];
        double unit = 1;
        if (rules.levels && rules.levels[c] > 0) {
            largest_range = std::max(largest_range, 1.0);
        } else if (scaling == Scaling::kRange) {
            scales.shift[c] = origin;
            unit = high - low;
        } else if (scaling == Scaling::kStandard) {
            scales.shift[c] = columns.mean[c];
            unit = columns.deviation[c];
        } else {
            if (std::max(std::abs(low), std::abs(high)) > largest) {
                refuse({"features that aren't scaled must not exceed ", largest, "; got ", Name::column(column),
                        " from ", low, " to ", high, ": scale it"});
            }
            largest_range = std::max(largest_range, high - low);
            smallest_deviation = std::min(smallest_deviation, columns.deviation[c]);
            largest_deviation = std::max(largest_deviation, columns.deviation[c]);
        }
        scales.factor[c] = 1 / unit;
        if (!std::isnormal(unit) || !std::isnormal(scales.factor[c])) {
            refuse({"the range of a feature must fit a double; got ", Name::column(column), " from ", low, " to ", high,
                    ": give it in another unit"});
        }
    }
    require(std::any_of(scales.factor.begin(), scales.factor.end(), [](double f) { return f != 0; }),
            "X must have a feature that varies; got ", columns.lowest.size(), " constant ones");
    require(scaling != Scaling::kNone || largest_range >= 1 / largest,
            "features that aren't scaled must vary by at least ", 1 / largest, "; got ", largest_range,
            " at most: scale them");
    scales.uneven = scaling == Scaling::kNone && largest_deviation > 1e3 * smallest_deviation;
    scales.incomplete = columns.incomplete;
    if (rules.deviations) scales.deviation = columns.deviation;
    return scales;
}

}  // namespace

FeatureScales find_scales(const Matrix& X, Scaling scaling, Run& run, const TableRules& rules) {
    require(!X.is_sparse() || scaling != Scaling::kStandard,
            "X must be dense for scaling to mean 0; got a sparse X: scale it to [0, 1], or make it dense");
    return scales_of(column_statistics(X, scaling, rules, run), X.is_sparse(), X.is_float32(), scaling, rules);
}

ScalesOfBlocks::ScalesOfBlocks(std::int64_t n_cols, Scaling scaling)
    : scaling_(scaling),
      lowest_(at(n_cols), std::numeric_limits<double>::infinity()),
      highest_(at(n_cols), -std::numeric_limits<double>::infinity()),
      mean_(at(n_cols)),
      deviation_(at(n_cols)),
      broken_(at(n_cols)) {}

void ScalesOfBlocks::add_block(const Matrix& X, Run& run) {
    is_sparse_ = X.is_sparse();
    is_float32_ = X.is_float32();
    const Columns statistics = column_statistics(X, scaling_, {}, run);
    add_block(X.n_rows(), statistics.lowest, statistics.highest, statistics.mean, statistics.deviation,
              statistics.broken);
}

void ScalesOfBlocks::merge(const ScalesOfBlocks& other) {
    if (other.n_rows_ == 0) return;
    is_sparse_ = other.is_sparse_;
    is_float32_ = other.is_float32_;
    add_block(other.n_rows_, other.lowest_, other.highest_, other.mean_, other.deviation_, other.broken_);
}

// Adds n_rows rows by the statistics of their columns. Merges means and deviations by the formulas of Chan, Golub and
// LeVeque (1983), on deviations: their squares could overflow.
void ScalesOfBlocks::add_block(std::int64_t n_rows, const Numbers& lowest, const Numbers& highest, const Numbers& mean,
                               const Numbers& deviation, const std::vector<char>& broken) {
    const auto n = static_cast<double>(n_rows_), more = static_cast<double>(n_rows), total = n + more;
    const double share = std::sqrt(n / total), other = std::sqrt(more / total);
    for (std::size_t c = 0; c < lowest.size(); ++c) {
        lowest_[c] = std::min(lowest_[c], lowest[c]);
        highest_[c] = std::max(highest_[c], highest[c]);
        broken_[c] |= broken[c];
        if (scaling_ == Scaling::kRange) continue;
        const double apart = mean[c] - mean_[c];
        mean_[c] = n_rows_ == 0 ? mean[c] : mean_[c] + apart * (more / total);
        deviation_[c] = std::hypot(std::hypot(share * deviation_[c], other * deviation[c]), share * other * apart);
    }
    n_rows_ += n_rows;
}

void ScalesOfBlocks::save_state(ByteWriter& to) const {
    for (const std::int64_t value : {n_rows_, std::int64_t{is_sparse_}, std::int64_t{is_float32_}}) to.put(value);
    for (const Numbers* values : {&lowest_, &highest_, &mean_, &deviation_}) to.put(*values);
    to.put(Numbers(broken_.begin(), broken_.end()));
}

// Replaces the statistics by saved ones; throws if their sizes or values are impossible.
void ScalesOfBlocks::load_state(ByteReader& from, std::int64_t n_rows) {
    n_rows_ = from.get();
    is_sparse_ = from.get() != 0;
    is_float32_ = from.get() != 0;
    from.expect(n_rows_ == n_rows);
    const std::size_t n_cols = lowest_.size();
    for (Numbers* values : {&lowest_, &highest_, &mean_, &deviation_}) {
        from.get(*values);
        from.expect(values->size() == n_cols);
    }
    Numbers broken;
    from.get(broken);
    from.expect(broken.size() == n_cols);
    for (const double one : broken) from.expect(one == 0 || one == 1);
    broken_.assign(broken.begin(), broken.end());
    for (std::size_t c = 0; c < n_cols && n_rows_ > 0; ++c) {
        from.expect(std::isfinite(lowest_[c]) && std::isfinite(highest_[c]) && lowest_[c] <= highest_[c]);
        from.expect(!std::isnan(mean_[c]) && deviation_[c] >= 0);
    }
}

FeatureScales ScalesOfBlocks::scales() const {
    Columns columns(static_cast<std::int64_t>(lowest_.size()));
    columns.lowest = lowest_;
    columns.highest = highest_;
    columns.mean = mean_;
    columns.deviation = deviation_;
    columns.broken = broken_;
    return scales_of(columns, is_sparse_, is_float32_, scaling_, {});
}

}  // namespace fastfs::core
