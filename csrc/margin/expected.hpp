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

// A missing value of sample j has the distribution of the known values of j's class, by weight, or of all classes if
// its class has none. Sums of differences count 0 for a missing value; this class adds the expected difference. Takes
// O(n_missing n_samples) time per feature.
class ExpectedDifferences {
  public:
    // Refers to all arguments, which must outlive this object, and lists the columns with gaps. levels: as in
    // fastfs_margin_options. feature_weights: empty, or the factors of the columns in distances.
    ExpectedDifferences(const Matrix& X, const FeatureScales& scales, const std::int64_t* levels,
                        const Numbers& sample_weights, const Classes& classes, const std::vector<std::int64_t>& columns,
                        const Numbers& feature_weights);

    // Adds to out (row-major, n_samples apart) the expected differences in the distances of the targets t0..t1 - 1 to
    // all samples.
    void add_to_distances(const Targets& targets, std::int64_t t0, std::int64_t t1, double* out, Run& run) const;

    // Adds to sums[k] the sum of g times the expected differences; g has the layout of the distances.
    void add_to_sums(const Targets& targets, std::int64_t t0, std::int64_t t1, const double* g, double* sums,
                     Run& run) const;

    std::int64_t memory(int n_threads) const;

  private:
    struct ExpectedOfFeature {
        std::vector<std::int64_t> missing;  // samples, ascending
        // Row c has the expected difference of each sample from a value of class c, or half of it if the sample misses
        // the value.
        Numbers to_class;
    };
    // Returns the scaled values of a range of the incomplete features, feature after feature.
    Numbers read_features(std::int64_t first, std::int64_t size) const;
    ExpectedOfFeature expected_of_feature(std::int64_t f, const double* x) const;

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
