// The label-free stage of the methods that compare samples feature by feature: RELIEF, ReliefF, MultiSURF, IM4E and
// IMMIGRATE.
#pragma once

#include <cstdint>
#include <vector>

#include "engines/sample_pairs.hpp"
#include "engines/scaling.hpp"
#include "support/buffer.hpp"
#include "support/classes.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// The label-free stage.
class Margin {
  public:
    // keep: which distances, if any and if the budget allows it.
    enum class Keep { kNone, kManhattan, kSquaredEuclidean };
    Margin(const Matrix& X, Scaling scaling, Keep keep, Run& run);
    Margin(const Margin&) = delete;
    Margin& operator=(const Margin&) = delete;

    const Matrix& X() const { return X_; }
    const std::vector<double>& shift() const { return scales_.shift; }
    const std::vector<double>& factor() const { return scales_.factor; }
    // FASTFS_MARGIN_UNEVEN and FASTFS_MARGIN_ONE_SAMPLE, where they apply.
    int warnings(const Classes& classes) const;

    // All features that aren't constant, scaled.
    ScaledFeatures features() const;
    // The same of another matrix, which must outlive the result: samples to predict.
    ScaledFeatures features(const Matrix& other) const;
    // The same of these columns only, constant or not.
    ScaledFeatures features(const Matrix& other, std::vector<std::int64_t> columns) const;

    // n_samples x n_samples over features(), or null if not kept.
    const double* kept(Difference difference) const;

  private:
    Matrix X_;
    FeatureScales scales_;
    Keep keep_;
    Buffer<double> distances_;
};

}  // namespace fastfs::core
