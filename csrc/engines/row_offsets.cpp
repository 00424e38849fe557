#include <algorithm>
#include <cmath>

#include "engines/columns.hpp"
#include "support/index.hpp"

namespace fastfs::core {
namespace {

constexpr std::int64_t kSampled = 256;

double median(double a, double b, double c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); }

// Tests if more than half of the n values could lie within half of one number, on either side of it. Two values of
// different signs can't, and neither can two of one sign if one is three times as large: each pair of this kind
// excludes one value. Centred rows end here, and their values are compared in one pass without branches.
bool can_share(const double* x, std::int64_t n) {
    constexpr double kApart = 3 * (1 + 0x1p-50);
    const std::int64_t half = n / 2;
    double positive = 0, negative = 0;
    for (std::int64_t i = 0; i < half; ++i) {
        const double a = x[i], b = x[i + half];
        const double low = a < b ? a : b, high = a < b ? b : a;
        const double both = kApart * low <= high ? 1.0 : 2.0, neither = kApart * high >= low ? 1.0 : 2.0;
        positive += low > 0 ? both : (high > 0 ? 1.0 : 0.0);
        negative += high < 0 ? neither : (low < 0 ? 1.0 : 0.0);
    }
    if (n % 2) {
        positive += x[n - 1] > 0 ? 1 : 0;
        negative += x[n - 1] < 0 ? 1 : 0;
    }
    return 2 * std::max(positive, negative) > static_cast<double>(n);
}

}  // namespace

// Returns an offset that nearly all values of a row share, times per_unit, or 0 if there is none. Subtracting an offset
// from values that don't share it would bury their digits: the mean of lengths in millimetres buries the digits of
// lengths in kilometres. Subtracting an offset that is small compared with the spread gains nothing. The offset is one
// of the values, so that subtracting it from values of its size rounds nothing, in float either. It is a median that
// some 256 of the values confirm: usually the median of five values; if the five are atypical, the median of all 256.
template <class T>
double shared_offset(const Values<T>& values, std::int64_t row, std::int64_t n, double per_unit) {
    const std::int64_t step = ceil_div(n, kSampled);
    auto value = [&](std::int64_t i) { return static_cast<double>(values(row, i)) * per_unit; };
    double sample[kSampled];
    std::int64_t size = 0;
    for (std::int64_t i = 0; i < n; i += step) sample[size++] = value(i);
    auto is_shared = [&](double offset) {
        std::int64_t much_smaller = 0, close = 0;
        for (std::int64_t i = 0; i < size; ++i) {
            much_smaller += 16 * std::abs(sample[i]) < std::abs(offset);
            close += 2 * std::abs(sample[i] - offset) < std::abs(offset);
        }
        return 16 * much_smaller <= size && 2 * close > size;
    };
    auto quarter = [&](std::int64_t k) { return value(k * (n - 1) / 4); };
    const double a = quarter(0), b = quarter(1), c = quarter(2), d = quarter(3), e = quarter(4);
    // If the five have one sign, an offset is likely; otherwise test first that there is none.
    const bool likely = std::min({a, b, c, d, e}) > 0 || std::max({a, b, c, d, e}) < 0;
    if (!likely && !can_share(sample, size)) return 0;
    // The least and the largest of four can't be the median of five; the fifth decides between the two middle ones.
    const double few = median(std::max(std::min(a, b), std::min(c, d)), std::min(std::max(a, b), std::max(c, d)), e);
    if (is_shared(few)) return few;
    if (likely && !can_share(sample, size)) return 0;
    std::nth_element(sample, sample + size / 2, sample + size);
    const double all = sample[size / 2];
    return is_shared(all) ? all : 0;
}

// Multiplies the maxima of dense rows that hold one value by 2^-900.
std::vector<double> maxima_of_differences(const Samples& X, Run& run) {
    constexpr double kFinite = 0x1p-900;
    std::vector<double> maxima = X.row_maxima(run);
    if (X.is_sparse()) return maxima;
    X.for_chunks(up_to(X.n_rows()), [&](const Matrix& chunk, std::size_t begin, std::size_t end, std::int64_t offset) {
        visit_values(chunk.description(), [&](const auto& x) {
            for (std::size_t r = begin; r < end; ++r) {
                const std::int64_t row = static_cast<std::int64_t>(r) - offset;
                const auto first = x(row, 0);
                std::int64_t c = 1;
                while (c < X.n_cols() && x(row, c) == first) ++c;
                if (c == X.n_cols()) maxima[r] *= kFinite;
            }
        });
    });
    return maxima;
}

double common_unit(const std::vector<double>& row_maxima, const std::vector<std::int64_t>& rows) {
    double largest = 0;
    for (std::int64_t r : rows) largest = std::max(largest, row_maxima[at(r)]);
    if (largest == 0) return 1;
    // Clamped so that 1 / unit is a finite normal number too.
    return std::ldexp(1.0, std::clamp(std::ilogb(largest), -1020, 1020));
}

template double shared_offset(const Values<float>&, std::int64_t, std::int64_t, double);
template double shared_offset(const Values<double>&, std::int64_t, std::int64_t, double);

}  // namespace fastfs::core
