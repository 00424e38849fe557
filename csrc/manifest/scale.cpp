#include "manifest/scale.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"
#include "support/random.hpp"

namespace fastfs::core {
namespace {

// Calls f(value) for the entries above the diagonal.
template <class F>
void for_pairs(const double* D2, std::int64_t d, Run& run, F&& f) {
    for (std::int64_t i = 0; i < d; ++i) {
        if (i % 256 == 0) run.checkpoint();
        for (std::int64_t j = i + 1; j < d; ++j) f(D2[i * d + j]);
    }
}

// Collects the entries above the diagonal strictly between two bounds; counts the entries below and at the bounds.
struct Window {
    double low, high;
    std::int64_t below = 0, at_low = 0, at_high = 0;
    std::vector<double> between;

    // Reads the entries of D2 above the diagonal, and sets all members.
    Window(const double* D2, std::int64_t d, double low_, double high_, Run& run) : low(low_), high(high_) {
        std::size_t n = 0;
        for (std::int64_t i = 0; i < d; ++i) {
            if (i % 256 == 0) run.checkpoint();
            if (between.size() < n + at(d)) between.resize(2 * n + at(d));
            double* to = between.data();
            for (std::int64_t j = i + 1; j < d; ++j) {  // without a branch, which would be mispredicted
                const double value = D2[i * d + j];
                below += value < low;
                at_low += value == low;
                at_high += value == high;
                to[n] = value;
                n += (value > low) & (value < high);
            }
        }
        between.resize(n);
    }

    // Returns the entry of a 0-based rank among all entries, or nothing if it lies outside the bounds.
    std::optional<double> operator()(std::int64_t rank) {
        const auto inside = static_cast<std::int64_t>(between.size());
        if ((rank -= below) < 0) return {};
        if (rank < at_low) return low;
        if ((rank -= at_low) < inside) {
            const auto nth = between.begin() + rank;
            std::nth_element(between.begin(), nth, between.end());
            return *nth;
        }
        if (low < high && rank - inside < at_high) return high;
        return {};
    }
};

// Returns a percentile of the positive distances, or of all, by linear interpolation over ordered pairs: each of the m
// squared distances above the diagonal counts twice. Random pairs bound the value of a rank, so that one pass over all
// pairs has few candidates left; bounds that turn out too narrow are widened.
double percentile_distance(const double* D2, std::int64_t d, double percentile, bool positive, Run& run) {
    constexpr std::int64_t kGuessed = 4096, kMargin = 128;  // 4 standard deviations of a median
    std::int64_t zeros = 0;
    if (positive) for_pairs(D2, d, run, [&](double d2) { zeros += d2 == 0; });
    const std::int64_t all = d * (d - 1) / 2, m = all - zeros;
    const double t = percentile / 100 * static_cast<double>(2 * m - 1);
    const auto a = static_cast<std::int64_t>(t);
    const std::int64_t rank = zeros + a / 2, next = zeros + std::min(a + 1, 2 * m - 1) / 2;

    Random random(0);
    std::vector<double> guessed;
    const auto below = [&](std::int64_t n) {
        return static_cast<std::int64_t>(random.uniform() * static_cast<double>(n));
    };
    for (std::int64_t g = 0; g < kGuessed; ++g) {
        const std::int64_t i = below(d), j = (i + 1 + below(d - 1)) % d;
        guessed.push_back(D2[std::min(i, j) * d + std::max(i, j)]);
    }
    std::sort(guessed.begin(), guessed.end());
    const auto middle =
        static_cast<std::int64_t>(static_cast<double>(rank) / static_cast<double>(all) * static_cast<double>(kGuessed));
    for (std::int64_t margin = kMargin;; margin *= 4) {
        const bool lowest = middle < margin, highest = middle + margin >= kGuessed;
        Window window(D2, d, lowest ? 0 : guessed[at(middle - margin)],
                      highest ? std::numeric_limits<double>::infinity() : guessed[at(middle + margin)], run);
        const std::optional<double> value = window(rank), above = window(next);
        if (value && above)
            return std::sqrt(*value) + (t - static_cast<double>(a)) * (std::sqrt(*above) - std::sqrt(*value));
    }
}

}  // namespace

double choose_sigma(const double* D2, std::int64_t d, const fastfs_manifest_scale& scale, const Name& name,
                    std::int32_t& warnings, Run& run) {
    const bool median = scale.rule == FASTFS_MANIFEST_SIGMA_MEDIAN;
    const double percentile = median ? 50 : scale.value;
    double sigma = percentile_distance(D2, d, percentile, false, run);
    if (sigma == 0) {
        bool distinct = false;
        for_pairs(D2, d, run, [&](double d2) { distinct |= d2 > 0; });
        require(distinct, "features must differ in samples of ", name,
                ", so that their distances set sigma; got equal values, or values that are nothing against the largest "
                "of X: drop copies, or give sigma");
        warnings |= kKernelSigma;
        sigma = percentile_distance(D2, d, percentile, true, run);
    }
    return median ? sigma * scale.value : sigma;
}

double in_units_of_data(double sigma, double unit, const Name& name) {
    const double scaled = sigma * unit;
    require(std::isfinite(scaled), "the sigma of ", name,
            " must fit float64; got a larger one: choose a smaller one, or divide X by a constant");
    return scaled;
}

void normalize_kernel(double* K, std::int64_t d, int times, Run& run) {
    std::vector<double> g(at(d), 1.0), Kg(at(d));
    for (int t = 0; t < times; ++t) {
        run.checkpoint();
        symv_lower(d, K, d, g.data(), Kg.data());
        for (std::size_t i = 0; i < g.size(); ++i) {
            if (!(Kg[i] > 0)) {
                throw NumericError({"row sums of a kernel must be positive for normalize; got ", Kg[i], " for feature ",
                                    i, ": set normalize=0, or choose another kernel"});
            }
            g[i] /= std::sqrt(g[i] * Kg[i]);
        }
    }
    for (std::int64_t i = 0; i < d; ++i) {
        for (std::int64_t j = i; j < d; ++j) K[i * d + j] *= g[at(i)] * g[at(j)];
    }
}

}  // namespace fastfs::core
