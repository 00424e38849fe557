// The label-free stage of the methods that compare samples feature by feature: the RELIEF family, IM4E and IMMIGRATE.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engines/sample_pairs.hpp"
#include "engines/scaling.hpp"
#include "fastfs/fastfs.h"
#include "margin/differences.hpp"
#include "margin/expected.hpp"
#include "support/buffer.hpp"
#include "support/classes.hpp"
#include "support/index.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// The most levels of a category: a float holds their codes exactly.
constexpr std::int64_t kMostLevels = std::int64_t{1} << 24;

// The label-free stage.
class Margin {
  public:
    // Scales the features of X and, if the options ask for it and the budget allows it, stores the distances between
    // all samples. Throws if a sample has no value at all.
    Margin(const Matrix& X, const fastfs_margin_options& options, Run& run);
    Margin(const Margin&) = delete;
    Margin& operator=(const Margin&) = delete;

    const Matrix& X() const { return X_; }
    const std::vector<double>& shift() const { return scales_.shift; }
    const std::vector<double>& factor() const { return scales_.factor; }
    const Numbers& sample_weights() const { return sample_weights_; }
    int missing() const { return options_.missing; }
    // Tells if X isn't sparse and holds complete numbers, without a ramp and without given distances.
    bool is_plain() const;
    bool is_weighted() const { return options_.sample_weights != nullptr; }
    // Warns of what the scales of the features and the sizes of the classes may spoil.
    void warn(const Classes& classes, bool skips_targets = false) const;

    // Returns all features that aren't constant, scaled.
    ScaledFeatures features() const;
    // Returns the features of features() in another matrix, which must outlive the result: samples to predict.
    ScaledFeatures features(const Matrix& other) const;
    // Returns the given columns of another matrix, scaled, constant or not.
    ScaledFeatures features(const Matrix& other, std::vector<std::int64_t> columns) const;
    // Returns the stored distances over features(), n_samples x n_samples, or null if they aren't stored.
    const double* kept(Difference difference) const;

    // Restricts differences() and stored_distances(), which the RELIEF family uses, to the listed columns that vary,
    // and updates stored distances; if that fails, drops them. Throws, and changes nothing, if no column is left.
    // weights: null, or factors of the columns' differences in distances.
    void restrict_to_columns(const std::vector<std::int64_t>& columns, const double* weights, Run& run);
    const Differences& differences() const { return *differences_; }
    const double* stored_distances(bool squared) const;
    // Returns the absolute error of distances that were made by subtraction, besides the relative error of all sums.
    double rounding() const { return distances_are_given() ? 0 : rounding_; }
    bool distances_are_given() const { return options_.distances != nullptr; }
    // Tells if X has missing values that count as the distribution of their class.
    bool expects_missing() const { return options_.missing == FASTFS_MISSING_CLASS && !scales_.incomplete.empty(); }
    // Returns the expected differences of missing values, or null unless expects_missing().
    std::unique_ptr<ExpectedDifferences> expected(const Classes& classes) const;

  private:
    enum class Keep { kNone, kManhattan, kSquaredEuclidean };
    std::vector<std::int64_t> varying() const;
    void keep_distances(Run& run);
    // Updates stored distances from the distances over the features of `before`: subtracts the features `gone` if that
    // is exact enough and cheaper, otherwise computes all anew. plain: neither weights nor gaps.
    void update_distances(const Differences& before, const std::vector<std::int64_t>& gone, bool plain, Run& run);

    Matrix X_;
    fastfs_margin_options options_;
    std::vector<std::int64_t> levels_;
    FeatureScales scales_;
    Numbers sample_weights_;
    std::unique_ptr<Differences> differences_;
    Keep keep_ = Keep::kNone;
    bool on_bits_ = false;         // see Differences
    bool restricted_ = false;      // restrict_to_columns() has been called
    Numbers feature_weights_;      // of restrict_to_columns(), or empty
    std::int64_t n_computed_ = 0;  // features in the last distances that weren't made by subtraction
    double rounding_ = 0;          // of distances that were made by subtraction
    Buffer<double> distances_;
};

}  // namespace fastfs::core
