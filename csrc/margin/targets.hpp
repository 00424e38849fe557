// Targets, the samples with neighbors that are used: all samples or a draw; and scores as means of their contributions.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "margin/neighbors.hpp"
#include "support/index.hpp"

namespace fastfs::core {

// Samples and the strata that they were drawn from: classes, or one stratum of all.
struct DrawnTargets {
    std::vector<std::int64_t> rows;          // ascending
    std::vector<std::int64_t> strata;        // by target
    std::vector<std::int64_t> sizes, drawn;  // by stratum: its samples, and how many of them were drawn

    std::int64_t size() const { return static_cast<std::int64_t>(rows.size()); }
    std::int64_t n_strata() const { return static_cast<std::int64_t>(sizes.size()); }
    // Returns the number of samples that the target t represents in its stratum.
    double stands_for(std::int64_t t) const {
        const auto s = at(strata[at(t)]);
        return static_cast<double>(sizes[s]) / static_cast<double>(drawn[s]);
    }
};

// Draws n_targets of n samples, or takes all samples if n_targets is 0. Each class gets at least kLeastOfClass targets,
// or an equal share if that is less, or all its samples. Classes don't matter if labels are null or there are fewer
// than two targets per class.
constexpr std::int64_t kLeastOfClass = 50;
DrawnTargets draw_targets(const std::int64_t* labels, std::int64_t n_classes, std::int64_t n, std::int64_t n_targets,
                          std::uint64_t seed);

// The mean of c_n = sum_j g_nj d_nj over the targets n, and its standard error over draws of them, feature by
// feature.
class TargetMeans {
  public:
    // weights: of the targets, without the number of samples that each represents. Without standard_errors, fewer sums
    // are kept.
    TargetMeans(const DrawnTargets& targets, Numbers weights, bool standard_errors);

    double total_weight() const { return total_; }
    // Returns the number of rows of sums: w c or, for each stratum, w c, w^2 c and w^2 c^2.
    std::int64_t n_rows() const { return errors_ ? 3 * targets_.n_strata() : 1; }

    // Adds the contribution of the target t, sample n of the rule, to `out`: n_rows() rows, out_ld apart, of n_features
    // values. sums and counts are those of CombineGroups.
    void add_target(const NeighborRule& rule, std::int64_t n, std::int64_t t, std::int64_t n_features,
                    const double* sums, const double* counts, std::int64_t ld, double* out, std::int64_t out_ld) const;

    // Returns the mean over the targets of feature k of n_features, from the rows that add_target has filled, and its
    // standard error: NaN if a stratum of several samples has a single target, and 0 without errors.
    std::pair<double, double> mean_and_error(const double* rows, std::int64_t n_features, std::int64_t k) const;

  private:
    const DrawnTargets& targets_;
    bool errors_;
    Numbers weights_;                                    // of the targets
    Numbers stratum_weights_, stratum_squared_weights_;  // sums of the weights, and of their squares
    double total_ = 0;
};

}  // namespace fastfs::core
