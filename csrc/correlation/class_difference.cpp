#include "correlation/class_difference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "correlation/standard_rows.hpp"

namespace fastfs::core {
namespace {

// Returns the largest |r| that z takes uncut, so that z is finite. For ranks, 1 - |r| is half the step from 1 to the
// correlation of ranks in which two neighbours have changed places; otherwise it is kCopy.
double largest_correlation(std::int64_t n, bool ranks) {
    const auto size = static_cast<double>(n);
    return 1 - (ranks ? std::max(kCopy, 6 / (size * (size * size - 1))) : kCopy);
}

}  // namespace

CorrelationLabeling::CorrelationLabeling(const Classes& classes, bool ranks, const double* values)
    : Classes(classes), limit(largest_correlation(smallest(), ranks)), values_(values) {
    // The variance of atanh of Spearman's rho has the factor 1.06 (Fieller, Hartley and Pearson 1957).
    const double factor = ranks ? 1.06 : 1.0;
    const auto part = [&](std::int64_t c) { return 1 / static_cast<double>(size(c) - 3); };
    scale = smallest() > 3 ? std::sqrt(factor * (part(0) + part(1))) : std::numeric_limits<double>::infinity();
    for (std::int64_t c = 0; c < n_classes(); ++c) weights.push_back(static_cast<double>(size(c) - 3) / factor);
}

double CorrelationLabeling::homogeneity(const double* transforms) const {
    double total = 0, sum = 0, chi_square = 0;
    for (std::size_t c = 0; c < weights.size(); ++c) {
        total += weights[c];
        sum += weights[c] * transforms[c];
    }
    const double mean = sum / total;
    for (std::size_t c = 0; c < weights.size(); ++c) {
        chi_square += weights[c] * (transforms[c] - mean) * (transforms[c] - mean);
    }
    return chi_square;
}

ClassDifference class_difference(std::int64_t i, std::int64_t j, const CorrelationLabeling& labeling, double* r) {
    ClassDifference result;
    const std::int64_t n_classes = labeling.n_classes();
    std::fill_n(r, n_classes, 0.0);
    if (std::isinf(labeling.scale)) return result;
    for (std::int64_t c = 0; c < n_classes; ++c) {
        const double *x = labeling.values(i, c), *y = labeling.values(j, c);
        const std::int64_t n = labeling.size(c);
        const Moments of_x = moments(x, n), of_y = moments(y, n);
        if (of_x.length == 0 || of_y.length == 0) return result;
        double sum = 0;
        for (std::int64_t s = 0; s < n; ++s) sum += (x[s] - of_x.mean) * (y[s] - of_y.mean);
        r[c] = std::clamp(sum / of_x.length / of_y.length, -1.0, 1.0);
    }
    const double limit = labeling.limit, total = std::accumulate(r, r + n_classes, 0.0);
    if (std::abs(total) > static_cast<double>(n_classes) - kCopy) return result;  // copies
    result.defined = true;
    if (n_classes > 2) {
        thread_local Numbers transforms;
        transforms.resize(at(n_classes));
        for (std::int64_t c = 0; c < n_classes; ++c) {
            transforms[at(c)] = std::atanh(std::clamp(r[c], -limit, limit));
        }
        result.statistic = labeling.homogeneity(transforms.data());
        return result;
    }
    const double r0 = std::clamp(r[0], -limit, limit), r1 = std::clamp(r[1], -limit, limit);
    // D would be rounded to 1 for correlations near 1 and -1.
    const double d = r0 * r1 < -0.9 ? std::atanh(r0) - std::atanh(r1) : std::atanh((r0 - r1) / (1 - r0 * r1));
    result.statistic = d / labeling.scale;
    return result;
}

ClassDifference class_difference(std::int64_t i, std::int64_t j, const CorrelationLabeling& labeling) {
    thread_local Numbers r;
    r.resize(at(labeling.n_classes()));
    return class_difference(i, j, labeling, r.data());
}

}  // namespace fastfs::core
