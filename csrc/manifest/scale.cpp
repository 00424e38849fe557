#include "manifest/scale.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"

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

// Percentile of the positive distances, or of all, by linear interpolation over ordered pairs: each of the m squared
// distances above the diagonal counts twice. The value of a rank is found 16 bits at a time, counting those that share
// the bits found so far: nothing is copied.
double percentile_distance(const double* D2, std::int64_t d, double percentile, bool positive, Run& run) {
    std::int64_t zeros = 0;
    if (positive) for_pairs(D2, d, run, [&](double d2) { zeros += d2 == 0; });
    const std::int64_t m = d * (d - 1) / 2 - zeros;
    const double t = percentile / 100 * static_cast<double>(2 * m - 1);
    const auto a = static_cast<std::int64_t>(t);
    std::int64_t rank = zeros + a / 2;
    const bool next = std::min(a + 1, 2 * m - 1) / 2 > a / 2;

    constexpr int kBits = 16;
    std::uint64_t found = 0;
    std::int64_t equal = 0;
    for (int shift = 64 - kBits; shift >= 0; shift -= kBits) {
        std::vector<std::int64_t> counts(std::size_t{1} << kBits);
        for_pairs(D2, d, run, [&](double d2) {
            const std::uint64_t bits = std::bit_cast<std::uint64_t>(d2) >> shift;
            if (bits >> kBits == found) ++counts[bits & ((1u << kBits) - 1)];
        });
        std::uint64_t bin = 0;
        for (; rank >= counts[bin]; ++bin) rank -= counts[bin];
        found = found << kBits | bin;
        equal = counts[bin];
    }
    const double value = std::bit_cast<double>(found);
    double above = value;
    if (next && rank + 1 >= equal) {
        above = std::numeric_limits<double>::infinity();
        for_pairs(D2, d, run, [&](double d2) { above = d2 > value ? std::min(above, d2) : above; });
    }
    return std::sqrt(value) + (t - static_cast<double>(a)) * (std::sqrt(above) - std::sqrt(value));
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
        require(distinct, "all features have equal values in every sample of ", name,
                ": there are no distances between features to set sigma from");
        warnings |= FASTFS_MANIFEST_WARN_SIGMA;
        sigma = percentile_distance(D2, d, percentile, true, run);
    }
    return median ? sigma * scale.value : sigma;
}

double in_units_of_data(double sigma, double unit, const Name& name) {
    const double scaled = sigma * unit;
    require(std::isfinite(scaled), "the sigma of ", name,
            " is larger than any float64 number: choose a smaller one, or divide X "
            "by a constant");
    return scaled;
}

void normalize(double* K, std::int64_t d, int times, Run& run) {
    std::vector<double> g(at(d), 1.0), Kg(at(d));
    for (int t = 0; t < times; ++t) {
        run.checkpoint();
        symv_lower(d, K, g.data(), Kg.data());
        for (std::size_t i = 0; i < g.size(); ++i) {
            if (!(Kg[i] > 0)) {
                throw NumericError({"normalize divides by the root of a kernel's row sums, but that of feature ", i,
                                    " isn't positive: set normalize=0, or choose another kernel"});
            }
            g[i] /= std::sqrt(g[i] * Kg[i]);
        }
    }
    for (std::int64_t i = 0; i < d; ++i) {
        for (std::int64_t j = i; j < d; ++j) K[i * d + j] *= g[at(i)] * g[at(j)];
    }
}

}  // namespace fastfs::core
