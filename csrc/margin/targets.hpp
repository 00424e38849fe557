// The samples whose neighbors are used, which may be a draw of some, and scores as means of what each of them says.
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
    std::vector<std::int64_t> strata;        // of each
    std::vector<std::int64_t> sizes, drawn;  // of each stratum: its samples, and how many of them are here

    std::int64_t size() const { return static_cast<std::int64_t>(rows.size()); }
    std::int64_t n_strata() const { return static_cast<std::int64_t>(sizes.size()); }
    // How many samples of its stratum the target t stands for.
    double stands_for(std::int64_t t) const {
        const auto s = at(strata[at(t)]);
        return static_cast<double>(sizes[s]) / static_cast<double>(drawn[s]);
    }
};

// n_targets of n samples, or all if that is 0. Of each class at least kLeastOfClass, or the same number of each if that
// is less, or all that it has; labels: null if there are no classes. With fewer than two a class, classes don't matter.
constexpr std::int64_t kLeastOfClass = 50;
DrawnTargets draw_targets(const std::int64_t* labels, std::int64_t n_classes, std::int64_t n, std::int64_t n_targets,
                          std::uint64_t seed);

// The mean of c_n = sum_j g_nj d_nj over the targets n, and its standard error over draws of them, feature by
// feature.
class TargetMeans {
  public:
    // weights: of the targets, apart from what they stand for. standard_errors: are wanted; otherwise they aren't
    // known.
    TargetMeans(const DrawnTargets& targets, Numbers weights, bool standard_errors);

    double total_weight() const { return total_; }
    // Rows of sums that it takes: of w c or, of each stratum, w c, w^2 c and w^2 c^2.
    std::int64_t n_rows() const { return errors_ ? 3 * targets_.n_strata() : 1; }

    // Adds the target t, which is the sample n of the rule, to these rows, out_ld apart, from sums and counts as of
    // CombineGroups.
    void add(const NeighborRule& rule, std::int64_t n, std::int64_t t, std::int64_t n_features, const double* sums,
             const double* counts, std::int64_t ld, double* out, std::int64_t out_ld) const;

    // The mean of feature k of n_features, and its standard error, which isn't known of a single target.
    std::pair<double, double> of(const double* rows, std::int64_t n_features, std::int64_t k) const;

  private:
    const DrawnTargets& targets_;
    bool errors_;
    Numbers weights_;                 // of the targets
    Numbers of_strata_, of_squares_;  // sums of these and of their squares
    double total_ = 0;
};

}  // namespace fastfs::core
