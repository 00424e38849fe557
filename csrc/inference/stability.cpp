#include "inference/stability.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "support/errors.hpp"
#include "support/index.hpp"

namespace fastfs::core {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// A finite number as bits that ascend as numbers do, and its place.
struct Placed {
    std::uint64_t bits;
    std::int64_t place;
};

// Returns bits that ascend as finite numbers do; equal for 0 and -0.
std::uint64_t ascending_bits(double value) {
    constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
    const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);  // -0 becomes 0, its equal
    return bits & kSign ? ~bits : bits | kSign;
}

// Returns n finite numbers in ascending order: sorted byte by byte, in a fifth of the time that comparisons take.
std::vector<Placed> sort_numbers(const double* values, std::int64_t n) {
    constexpr std::size_t kBytes = 8, kValues = 256;
    std::vector<Placed> sorted(at(n)), next(at(n));
    std::array<std::array<std::int64_t, kValues>, kBytes> counts{};
    for (std::int64_t a = 0; a < n; ++a) {
        sorted[at(a)] = {ascending_bits(values[a]), a};
        for (std::size_t byte = 0; byte < kBytes; ++byte) ++counts[byte][sorted[at(a)].bits >> 8 * byte & 255];
    }
    for (std::size_t byte = 0; byte < kBytes; ++byte) {
        auto& begins = counts[byte];
        if (std::count(begins.begin(), begins.end(), n) == 1) continue;  // all numbers have the same byte
        std::exclusive_scan(begins.begin(), begins.end(), begins.begin(), std::int64_t{0});
        for (const Placed& one : sorted) next[at(begins[one.bits >> 8 * byte & 255]++)] = one;
        sorted.swap(next);
    }
    return sorted;
}

// Returns the ranks 1..n of finite numbers, ties at their mean.
Numbers ranks_of(const double* values, std::int64_t n) {
    const std::vector<Placed> order = sort_numbers(values, n);
    Numbers ranks = numbers(n);
    for (std::int64_t begin = 0, end; begin < n; begin = end) {
        end = begin;
        while (end < n && order[at(end)].bits == order[at(begin)].bits) ++end;
        for (std::int64_t k = begin; k < end; ++k) {
            ranks[at(order[at(k)].place)] = static_cast<double>(begin + 1 + end) / 2;
        }
    }
    return ranks;
}

struct Index {
    double value, variance;
};

// Returns the stability index of Nogueira et al. (definition 4) and its variance (theorem 7); throws if all selections
// are empty or complete.
Index nogueira_index(const fastfs_stability_options& o, const double* frequencies) {
    const auto M = static_cast<double>(o.n_selections), d = static_cast<double>(o.n_features);
    const double k = static_cast<double>(o.begins[o.n_selections]) / M;
    const double chance = k / d * (1 - k / d);
    require(chance != 0, "subsamples must select some of the ", o.n_features, " features; got ",
            k == 0 ? "none" : "all", " of them in each: choose another n_features_to_select");
    double spread = 0;
    for (std::int64_t a = 0; a < o.n_features; ++a) spread += frequencies[a] * (1 - frequencies[a]);
    const double index = 1 - M / (M - 1) * (spread / d) / chance;
    Numbers phi;
    for (std::int64_t m = 0; m < o.n_selections; ++m) {
        double shared = 0;
        for (std::int64_t e = o.begins[m]; e < o.begins[m + 1]; ++e) shared += frequencies[o.selected[e]];
        const auto size = static_cast<double>(o.begins[m + 1] - o.begins[m]);
        const double expected = index / 2 * (2 * k * size / (d * d) - size / d - k / d + 1);
        phi.push_back((shared / d - size * k / (d * d) + expected) / chance);
    }
    const double mean = std::accumulate(phi.begin(), phi.end(), 0.0) / M;
    double squares = 0;
    for (const double value : phi) squares += (value - mean) * (value - mean);
    return {index, 4 / (M * M) * squares};
}

// Sets the bounds of Shah and Samworth (theorems 1 and 2) on the number of stable features that are rarely selected;
// leaves the bound of theorem 2 where there is none.
void bound_rare_features(const fastfs_stability_options& o, fastfs_stability_result& r) {
    const double q = static_cast<double>(o.begins[o.n_selections]) / static_cast<double>(o.n_selections);
    const double rare = q / static_cast<double>(o.n_features);
    const double step = 1 / static_cast<double>(o.n_selections);
    r.rare_bound = rare * q / (2 * o.threshold - 1);
    if (rare > 1 / std::sqrt(3.0) || o.threshold <= 0.5 + std::min(rare * rare, step + 0.75 * rare * rare)) return;
    const double factor =
        o.threshold <= 0.75 ? 1 / (2 * (2 * o.threshold - 1 - step)) : 4 * (1 - o.threshold + step) / (1 + 2 * step);
    r.rare_bound_unimodal = factor * rare * q;
}

}  // namespace

// Returns the mean over all pairs of rows, from the squared length of the sum of their standardised values; NaN if a
// row is constant.
double mean_correlation(const std::vector<const double*>& rows, std::int64_t n, bool ranks) {
    Numbers total = numbers(n);
    for (const double* row : rows) {
        double most = 0;
        for (std::int64_t a = 0; a < n; ++a) most = std::max(most, std::abs(row[a]));
        if (std::all_of(row, row + n, [&](double value) { return value == row[0]; })) return kNaN;
        Numbers values = ranks ? ranks_of(row, n) : Numbers(row, row + n);
        if (!ranks) {
            for (double& value : values) value /= most;  // so that squares neither overflow nor vanish
        }
        const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(n);
        double squares = 0;
        for (double& value : values) {
            value -= mean;
            squares += value * value;
        }
        const double norm = std::sqrt(squares);
        for (std::int64_t a = 0; a < n; ++a) total[at(a)] += values[at(a)] / norm;
    }
    const auto M = static_cast<double>(rows.size());
    const double product = std::inner_product(total.begin(), total.end(), total.begin(), 0.0);
    return (product - M) / (M * (M - 1));
}

// Writes the index, its variance and bounds if there are selections, and the mean correlations if there are scores.
void stability(const fastfs_stability_options& o, Owned<fastfs_stability_result>& r) {
    r.stability = r.variance = r.rare_bound = r.rare_bound_unimodal = kNaN;
    r.relevance_correlation = r.relevance_pearson = kNaN;
    if (o.selected) {
        Numbers frequencies = numbers(o.n_features);
        for (std::int64_t e = 0; e < o.begins[o.n_selections]; ++e) ++frequencies[at(o.selected[e])];
        for (double& frequency : frequencies) frequency /= static_cast<double>(o.n_selections);
        const Index index = nogueira_index(o, frequencies.data());
        r.stability = index.value;
        r.variance = index.variance;
        if (o.halves) bound_rare_features(o, r);
        r.set(r.frequencies, std::move(frequencies));
    }
    if (o.scores) {
        const std::vector<const double*> rows(o.scores, o.scores + o.n_selections);
        r.relevance_correlation = mean_correlation(rows, o.n_features, true);
        r.relevance_pearson = mean_correlation(rows, o.n_features, false);
    }
}

}  // namespace fastfs::core
