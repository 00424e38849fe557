// Engine: all pairs of samples, for methods that compare |x_i - x_j| elementwise. Samples are few and features many, so
// what is kept is samples x samples, and features pass by in chunks: packed, scaled, and read by register tiles.
#pragma once

#include <cstdint>
#include <vector>

#include "support/buffer.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Some scaled features of a dense matrix: (x - shift[k]) * factor[k] of column features[k]. A factor that holds the
// weight w_k as well makes w'|d| of sums of |d|.
struct ScaledFeatures {
    const Matrix* X;
    std::vector<std::int64_t> features;  // ascending
    std::vector<double> shift, factor;   // of these

    std::int64_t n_samples() const { return X->n_rows(); }
    std::int64_t n_features() const { return static_cast<std::int64_t>(features.size()); }
};

enum class Difference { kAbsolute, kSquared };

// out (row-major, ld >= n) = sum over features of |difference| or its square, between the samples i0..i1 of `left` and
// j0..j1 of `right`, which have the same features. Where both are the same samples of the same data, each pair is
// computed once and its mirror image has the same bits. T: the kernel's; sums over chunks of features are in double.
template <class T>
void pair_sums(const ScaledFeatures& left, std::int64_t i0, std::int64_t i1, const ScaledFeatures& right,
               std::int64_t j0, std::int64_t j1, Difference difference, double* out, std::int64_t ld, Run& run);

// The transpose: sums[k] += sum over pairs of g_ij |difference| or its square in feature k. g: row-major, ld; pairs
// with g == 0 cost nothing. With one_triangle (left and right the same samples of the same data) g_ij and g_ji are
// added first, so that each pair is computed once.
template <class T>
void feature_sums(const ScaledFeatures& left, std::int64_t i0, std::int64_t i1, const ScaledFeatures& right,
                  std::int64_t j0, std::int64_t j1, Difference difference, const double* g, std::int64_t ld,
                  bool one_triangle, double* sums, Run& run);

// One row of T per pair (i, j): factor * |x_i - x_j|, for methods that multiply them as matrices. rows: samples of one
// ScaledFeatures packed by pack_samples.
template <class T>
Buffer<T> pack_samples(const ScaledFeatures& data, std::int64_t i0, std::int64_t i1, std::int64_t ld, Run& run);

enum class Scaling { kNone, kRange, kStandard };

// The label-free stage.
class Margin {
  public:
    // keep: which distances, if any and if the budget allows it.
    enum class Keep { kNone, kManhattan, kSquaredEuclidean };
    Margin(const Matrix& X, Scaling scaling, Keep keep, Run& run);

    const Matrix& X() const { return X_; }
    const std::vector<double>& shift() const { return shift_; }
    const std::vector<double>& factor() const { return factor_; }  // 0 for constant features
    bool is_uneven() const { return uneven_; }                     // not scaled, and standard deviations 1e3 apart

    // All features that aren't constant, scaled.
    ScaledFeatures features() const;
    // The same of another matrix: samples to predict.
    ScaledFeatures features(const Matrix& other) const;

    // n_samples x n_samples over features(), or null if not kept.
    const double* kept(Difference difference) const;

  private:
    Matrix X_;
    std::vector<double> shift_, factor_;
    bool uneven_ = false;
    Keep keep_;
    Buffer<double> distances_;
};

}  // namespace fastfs::core
