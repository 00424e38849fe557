// ManiFeSt from sums over blocks of rows, in one pass: for tables larger than memory.
#pragma once

#include <cstdint>
#include <vector>

#include "engines/feature_sums.hpp"
#include "fastfs/fastfs.h"
#include "manifest/problem.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Sums over groups of rows: the products of all pairs of features, for fits that are exact or by domains, or the
// products with landmarks, for accuracy LOW_RANK. Landmarks are drawn before the pass and therefore with equal
// probabilities. A feature is represented by the part that the landmarks explain and one component that no other
// feature shares, which keeps all distances from landmarks exact.
class ManifestSums {
  public:
    // Returns the plan of a fit: accuracy, problems, kernels and memory. Throws if sums can't serve the options.
    static fastfs_manifest_plan plan(std::int64_t n_features, std::int64_t n_groups, std::int64_t n_classes,
                                     const fastfs_manifest_options& options, std::int64_t n_scales, const Run& run);

    ManifestSums(std::int64_t n_features, std::int64_t n_groups, const fastfs_manifest_options& options);

    static std::int64_t memory(std::int64_t n_features, std::int64_t n_groups, const fastfs_manifest_options& options);

    std::int64_t n_features() const { return sums_.n_features(); }
    std::int64_t n_groups() const { return sums_.n_groups(); }
    FeatureSums& sums() { return sums_; }
    const FeatureSums& sums() const { return sums_; }

    // Solves all problems from the sums of the groups, and fills one result per scale. labels: the class of each group,
    // or -1. Each class has rows.
    void fit(const std::int64_t* labels, std::int64_t n_classes, const fastfs_manifest_options& options,
             const std::vector<fastfs_manifest_scale>& scales, Run& run,
             std::vector<Owned<fastfs_manifest_result>>& results) const;

  private:
    // Returns the options with the accuracy of sums with landmarks; throws if this object can't serve the options.
    fastfs_manifest_options resolved_options(const fastfs_manifest_options& options) const;
    Features<double> features_of(const Side& side, Run& run, std::int32_t& warnings) const;

    std::int64_t rank_;  // that the landmarks were drawn for
    FeatureSums sums_;
};

}  // namespace fastfs::core
