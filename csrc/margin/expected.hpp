// Missing values as the distribution of their class (Kononenko 1994): expected differences.
#pragma once

#include <cstdint>
#include <vector>

#include "engines/scaling.hpp"
#include "margin/differences.hpp"
#include "support/classes.hpp"
#include "support/index.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// A missing value of sample j is a known one of j's class, by weight, or of any class if that has none. Differences are
// those of sums that count 0 for a missing value, plus what this adds. O(n_missing n_samples) a feature.
class ExpectedDifferences {
  public:
    // levels: as in fastfs_margin_options. weights_of_features: null, or of the differences in distances.
    ExpectedDifferences(const Matrix& X, const FeatureScales& scales, const std::int64_t* levels,
                        const Numbers& sample_weights, const Classes& classes, const std::vector<std::int64_t>& columns,
                        const Numbers& feature_weights);

    // out (row-major, n_samples apart) += what is missing from the distances of the targets t0..t1 - 1 to all samples.
    void add_to_distances(const Targets& targets, std::int64_t t0, std::int64_t t1, double* out, Run& run) const;

    // sums[k] += the sum of g times what is missing; g as of distances.
    void add_to_sums(const Targets& targets, std::int64_t t0, std::int64_t t1, const double* g, double* sums,
                     Run& run) const;

    std::int64_t memory(int n_threads) const;

  private:
    struct OfFeature {
        std::vector<std::int64_t> missing;  // samples, ascending
        // Row c: the expected difference of each sample to a value of class c; of those that miss it, half of it.
        Numbers to_class;
    };
    Numbers read(std::int64_t first, std::int64_t size) const;
    OfFeature of_feature(std::int64_t f, const double* x) const;

    const Matrix& X_;
    const FeatureScales& scales_;
    const std::int64_t* levels_;
    const Numbers& sample_weights_;
    const Classes& classes_;
    const std::vector<std::int64_t>& columns_;
    const Numbers& feature_weights_;
    std::vector<std::int64_t> incomplete_;  // positions in columns_
};

}  // namespace fastfs::core
