#include "margin/targets.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "support/random.hpp"

namespace fastfs::core {

// Draws n_targets of n samples, or takes all if that is 0: by class if there are two per class, otherwise without
// regard to labels. Rows ascend.
DrawnTargets draw_targets(const std::int64_t* labels, std::int64_t n_classes, std::int64_t n, std::int64_t n_targets,
                          std::uint64_t seed) {
    const std::int64_t n_wanted = n_targets > 0 && n_targets < n ? n_targets : n;
    const bool by_class = labels && n_wanted < n && n_wanted >= 2 * n_classes;
    const std::int64_t n_strata = by_class ? n_classes : 1;
    const auto stratum = [&](std::int64_t row) { return by_class ? labels[row] : 0; };
    DrawnTargets drawn_targets{
        {}, {}, std::vector<std::int64_t>(at(n_strata)), std::vector<std::int64_t>(at(n_strata))};
    for (std::int64_t row = 0; row < n; ++row) ++drawn_targets.sizes[at(stratum(row))];

    // Take, in a random order, the first samples of each class, and then the first of the remaining ones.
    std::vector<std::int64_t> order = up_to(n);
    if (n_wanted < n) {
        Random random(seed);
        for (std::int64_t i = n - 1; i > 0; --i) {
            std::swap(order[at(i)],
                      order[at(static_cast<std::int64_t>(random.uniform() * static_cast<double>(i + 1)))]);
        }
    }
    const std::int64_t least = std::min(kLeastOfClass, n_wanted / n_strata);
    std::vector<char> is_taken(at(n));
    for (const bool by_stratum : {true, false}) {
        for (const std::int64_t row : order) {
            if (drawn_targets.size() == n_wanted) break;
            std::int64_t& n_drawn = drawn_targets.drawn[at(stratum(row))];
            if (is_taken[at(row)] || (by_stratum && n_drawn >= least)) continue;
            is_taken[at(row)] = 1;
            ++n_drawn;
            drawn_targets.rows.push_back(row);
        }
    }
    std::sort(drawn_targets.rows.begin(), drawn_targets.rows.end());
    for (const std::int64_t row : drawn_targets.rows) drawn_targets.strata.push_back(stratum(row));
    return drawn_targets;
}

TargetMeans::TargetMeans(const DrawnTargets& targets, Numbers weights, bool standard_errors)
    : targets_(targets),
      errors_(standard_errors),
      weights_(std::move(weights)),
      stratum_weights_(at(targets.n_strata())),
      stratum_squared_weights_(at(targets.n_strata())) {
    for (std::int64_t t = 0; t < targets.size(); ++t) {
        const double w = weights_[at(t)] *= targets.stands_for(t);
        stratum_weights_[at(targets.strata[at(t)])] += w;
        stratum_squared_weights_[at(targets.strata[at(t)])] += w * w;
        total_ += w;
    }
}

void TargetMeans::add_target(const NeighborRule& rule, std::int64_t n, std::int64_t t, std::int64_t n_features,
                             const double* sums, const double* counts, std::int64_t ld, double* out,
                             std::int64_t out_ld) const {
    const std::int64_t n_groups = rule.n_groups();
    Numbers factors(at(n_groups * ld)), contributions(at(n_features));
    rule.factors(n, counts, factors.data(), n_features, ld);
    for (std::int64_t group = 0; group < n_groups; ++group) {
        const double *factor = factors.data() + group * ld, *sum = sums + group * ld;
        for (std::int64_t k = 0; k < n_features; ++k) contributions[at(k)] += factor[k] * sum[k];
    }
    const double w = weights_[at(t)];
    double* to = out + (errors_ ? 3 * targets_.strata[at(t)] * out_ld : 0);
    for (std::int64_t k = 0; k < n_features; ++k) {
        const double c = contributions[at(k)];
        to[k] += w * c;
        if (!errors_) continue;
        to[out_ld + k] += w * w * c;
        to[2 * out_ld + k] += w * w * c * c;
    }
}

std::pair<double, double> TargetMeans::mean_and_error(const double* rows, std::int64_t n_features,
                                                      std::int64_t k) const {
    const auto sum = [&](std::int64_t row) { return rows[row * n_features + k]; };
    double mean = 0;
    for (std::int64_t row = 0; row < n_rows(); row += 3) mean += sum(row);
    mean /= total_;
    if (!errors_) return {mean, 0};
    // Take the variance of a ratio of sums, to first order the variance of e_n = w_n (c_n - mean) within each stratum.
    double variance = 0;
    for (std::int64_t s = 0; s < targets_.n_strata(); ++s) {
        const auto n = static_cast<double>(targets_.drawn[at(s)]), size = static_cast<double>(targets_.sizes[at(s)]);
        if (n == size) continue;
        if (n == 1) return {mean, std::numeric_limits<double>::quiet_NaN()};
        const double error = sum(3 * s) - mean * stratum_weights_[at(s)];
        const double square =
            sum(3 * s + 2) - 2 * mean * sum(3 * s + 1) + mean * mean * stratum_squared_weights_[at(s)];
        variance += std::max(0.0, square - error * error / n) * n / (n - 1) * (1 - n / size);
    }
    return {mean, std::sqrt(variance) / total_};
}

}  // namespace fastfs::core
