#include "margin/target_scores.hpp"

#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

namespace fastfs::core {

// Sorts the neighbors of targets first..last - 1 into one bin per target and group.
GroupedNeighbors TargetScores::group_neighbors(const std::vector<TargetNeighbor>& neighbors, std::int64_t first,
                                               std::int64_t last) const {
    const std::int64_t n_groups = input_.rule.n_groups(), n_bins = (last - first) * n_groups;
    input_.run.require_memory(std::ssize(neighbors) * 24 + n_bins * 16, "the neighbors of each target",
                              "give n_targets");
    GroupedNeighbors grouped{n_groups, std::vector<std::int64_t>(at(n_bins + 1)), {}, {}, {}};
    const auto bin = [&](const TargetNeighbor& one) { return at((one.t - first) * n_groups + one.neighbor.group); };
    for (const TargetNeighbor& one : neighbors) ++grouped.begins[bin(one) + 1];
    std::partial_sum(grouped.begins.begin(), grouped.begins.end(), grouped.begins.begin());
    grouped.samples.resize(neighbors.size());
    grouped.strengths.resize(neighbors.size());
    grouped.weights.resize(neighbors.size());
    std::vector<std::int64_t> next_places = grouped.begins;
    for (const TargetNeighbor& one : neighbors) {
        const auto place = at(next_places[bin(one)]++);
        grouped.samples[place] = one.neighbor.j;
        grouped.strengths[place] = one.neighbor.strength;
        grouped.weights[place] = one.neighbor.weight;
    }
    return grouped;
}

namespace {

// Means over the targets of sum_j g_nj d_nj; the factors of a target come from the neighbors that have the feature.
class MeansOverTargets : public TargetScores {
  public:
    explicit MeansOverTargets(const TargetScoresInput& input) : TargetScores(input) {}

    std::int64_t n_sums() const override { return input_.means.n_rows(); }

    // Adds the shares and mean differences of the targets' groups to sums_, by TargetMeans::add_target.
    void add_targets(const std::vector<TargetNeighbor>& neighbors, std::int64_t first, std::int64_t last) override {
        const auto add_target = [&](std::int64_t t, std::int64_t, std::int64_t n_features, const double* sums,
                                    const double* counts, std::int64_t ld, double* out, std::int64_t out_ld) {
            input_.means.add_target(input_.rule, input_.targets.row(t), t, n_features, sums, counts, ld, out, out_ld);
        };
        input_.differences.sums(input_.targets, first, group_neighbors(neighbors, first, last), input_.summed,
                                !input_.is_draw(), n_sums(), add_target, sums_.data(), input_.run);
    }

    ScoreWithError score(std::int64_t feature) const override {
        const auto [mean, error] = input_.means.mean_and_error(sums_.data(), input_.differences.n_features(), feature);
        return {mean, error};
    }
};

// Means over all targets, from bins of neighbors with mean differences that are counted on the bits of genotypes.
class MeansOverBins final : public MeansOverTargets {
  public:
    explicit MeansOverBins(const TargetScoresInput& input) : MeansOverTargets(input) {}

    // Appends a bin of neighbors per target and group to bins_, with its share in the score; finish_targets sums them.
    void add_targets(const std::vector<TargetNeighbor>& neighbors, std::int64_t first, std::int64_t last) override {
        const GroupedNeighbors grouped = group_neighbors(neighbors, first, last);
        Numbers shares(at(input_.rule.n_groups()));
        for (std::int64_t bin = 0; bin + 1 < std::ssize(grouped.begins); ++bin) {
            const std::int64_t row = input_.targets.row(first + bin / grouped.n_groups), group = bin % grouped.n_groups;
            if (group == 0) input_.rule.shares(row, shares.data());
            const std::int64_t begin = grouped.begins[at(bin)], end = grouped.begins[at(bin + 1)];
            if (begin == end) continue;
            for (std::int64_t p = begin; p < end; ++p) {
                bins_.members.push_back(static_cast<std::int32_t>(grouped.samples[at(p)]));
            }
            bins_.begins.push_back(std::ssize(bins_.members));
            bins_.targets.push_back(static_cast<std::int32_t>(row));
            bins_.shares.push_back(shares[at(group)]);
        }
    }

    bool sums_in_finish() const override { return true; }
    void finish_targets() override { input_.differences.add_means(bins_, sums_.data(), input_.run); }

  private:
    NeighborBins bins_;
};

// RReliefF: the difference of two ratios. Each ratio is the sum over all targets of the differences of one group,
// divided by the sum of the group's weights. The sums per feature are the sums over the targets of u_n = (sum, weight
// of group 0, sum, weight of group 1) and, for a draw, of the products of pairs of entries of u_n.
class RatiosOverTargets final : public TargetScores {
  public:
    explicit RatiosOverTargets(const TargetScoresInput& input) : TargetScores(input) {}

    std::int64_t n_sums() const override { return kTotals + (input_.is_draw() ? kTotals * (kTotals + 1) / 2 : 0); }

    // Adds u_n of each target, its sum and weight for each group, and, for a draw, the products of these to sums_.
    void add_targets(const std::vector<TargetNeighbor>& neighbors, std::int64_t first, std::int64_t last) override {
        const bool products = input_.is_draw();
        const auto add_target = [products](std::int64_t, std::int64_t, std::int64_t n_features, const double* sums,
                                           const double* counts, std::int64_t ld, double* out, std::int64_t out_ld) {
            for (std::int64_t k = 0; k < n_features; ++k) {
                const double u[kTotals] = {sums[k], counts[k], sums[ld + k], counts[ld + k]};
                double* to = out + k;
                for (std::int64_t i = 0; i < kTotals; ++i, to += out_ld) *to += u[i];
                for (std::int64_t i = 0; i < kTotals && products; ++i) {
                    for (std::int64_t j = 0; j <= i; ++j, to += out_ld) *to += u[i] * u[j];
                }
            }
        };
        input_.differences.sums(input_.targets, first, group_neighbors(neighbors, first, last), input_.summed,
                                !input_.is_draw(), n_sums(), add_target, sums_.data(), input_.run);
    }

    // Returns the mean difference of group 0 less the mean difference of group 1 and, for a draw of targets, its
    // standard error.
    ScoreWithError score(std::int64_t feature) const override {
        const std::int64_t n_features = input_.differences.n_features();
        const auto total = [&](std::int64_t row) { return sums_[at(row * n_features + feature)]; };
        // To first order, the score changes by a'u_n with target n.
        double score = 0, a[kTotals] = {};
        for (std::int64_t group = 0; group < 2; ++group) {
            const double sum = total(2 * group), weight = total(2 * group + 1), sign = group == 0 ? 1 : -1;
            if (weight == 0) continue;
            score += sign * sum / weight;
            a[2 * group] = sign / weight;
            a[2 * group + 1] = -sign * sum / (weight * weight);
        }
        if (!input_.is_draw()) return {score, 0};
        const auto n_drawn = static_cast<double>(input_.targets.size()),
                   n_samples = static_cast<double>(input_.rule.n_samples());
        if (n_drawn < 2) return {score, std::numeric_limits<double>::quiet_NaN()};
        double square = 0;
        std::int64_t row = kTotals;
        for (std::int64_t i = 0; i < kTotals; ++i) {
            for (std::int64_t j = 0; j <= i; ++j, ++row) square += (i == j ? 1 : 2) * a[i] * a[j] * total(row);
        }
        const double shrink = std::sqrt((1 - n_drawn / n_samples) / (n_drawn - 1));
        return {score, std::sqrt(std::max(0.0, square) * n_drawn) * shrink};
    }

  private:
    static constexpr std::int64_t kTotals = 4;
};

}  // namespace

std::unique_ptr<TargetScores> TargetScores::make_for(const TargetScoresInput& input) {
    if (input.rule.by_totals()) return std::make_unique<RatiosOverTargets>(input);
    if (!input.is_draw() && input.differences.adds_means() && input.rule.takes_means()) {
        return std::make_unique<MeansOverBins>(input);
    }
    return std::make_unique<MeansOverTargets>(input);
}

}  // namespace fastfs::core
