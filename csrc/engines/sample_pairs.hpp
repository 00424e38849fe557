// Engine: all pairs of samples, for methods that compare |x_i - x_j| elementwise. Samples are few and features many, so
// what is kept is samples x samples, and features pass by in chunks: packed, scaled, and read by register tiles.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "support/buffer.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Some scaled features of a dense matrix: (x - shift[k]) * factor[k] of column features[k]. A factor that holds the
// weight w_k as well makes w'|d| of sums of |d|.
struct ScaledFeatures {
    const Matrix* X;
    std::vector<std::int64_t> features;        // in any order
    std::vector<double> shift{}, factor{};     // of these
    std::vector<double> low{}, high{}, top{};  // of kDiffer and kRamp below
    bool packed = false;                       // X is that of PackedPanels

    std::int64_t n_samples() const { return X->n_rows(); }
    std::int64_t n_features() const { return static_cast<std::int64_t>(features.size()); }
};

// kKnown: |difference|. kDiffer: top if values differ, otherwise 0: codes of categories. kRamp: top if |difference| >
// high, otherwise what it exceeds low by, or 0. All three are 0 if one of the values is NaN.
enum class Difference { kAbsolute, kSquared, kKnown, kDiffer, kRamp };

// out (row-major, ld >= n) = sum over features of |difference| or its square, between the samples i0..i1 of `left` and
// j0..j1 of `right`, which have the same features. Where both are the same samples of the same data, each pair is
// computed once and its mirror image has the same bits. T: that of X, or double for float32; sums over chunks of
// features are in double.
enum class Into { kEmpty, kAdd, kSubtract };
template <class T>
void pair_sums(const ScaledFeatures& left, std::int64_t i0, std::int64_t i1, const ScaledFeatures& right,
               std::int64_t j0, std::int64_t j1, Difference difference, double* out, std::int64_t ld, Run& run,
               Into into = Into::kEmpty);

// The same between all samples for sums of weights[k] exp(-difference^2), weights being rounded to T.
template <class T>
void gaussian_sums(const ScaledFeatures& data, const std::vector<double>& weights, double* out, std::int64_t ld,
                   Run& run);

// The transpose of pair_sums: sums[k] += sum over pairs of g_ij |difference| or its square in feature k. g: row-major,
// ld; tiles of 4 x 4 pairs with g == 0 cost nothing. With one_triangle (left and right the same samples of the same
// data) g_ij and g_ji are added first, so that each pair is computed once. Takes a copy of g in T, of one triangle if
// that is set.
template <class T>
void feature_sums(const ScaledFeatures& left, std::int64_t i0, std::int64_t i1, const ScaledFeatures& right,
                  std::int64_t j0, std::int64_t j1, Difference difference, const double* g, std::int64_t ld,
                  bool one_triangle, double* sums, Run& run);

// The same for some pairs of samples, where they are few.
struct WeightedPair {
    std::int64_t i, j;
    double g;
};
template <class T>
void feature_sums(const ScaledFeatures& data, std::vector<WeightedPair> pairs, Difference difference, double* sums,
                  Run& run);

// Neighbours of some targets in n_groups groups: those of the target t's group g are from begins[t * n_groups + g] on.
struct GroupedNeighbors {
    std::int64_t n_groups;
    std::vector<std::int64_t> begins, samples;  // the last of begins: their number
    std::vector<double> strengths, weights;     // of the neighbours
};

// For each target t0 + t of `left`, over features k0..k0 + n - 1: row g of sums (ld apart) is the sum over its group g
// of strength * difference, and of counts the sum of the weights of those that have the feature, 0 if the target
// hasn't. combine adds to rows of out (out_ld apart) what the target says; out, n_out x n_features, is the sum over the
// targets. difference: kKnown or kRamp.
using CombineGroups = std::function<void(std::int64_t t, std::int64_t k0, std::int64_t n, const double* sums,
                                         const double* counts, std::int64_t ld, double* out, std::int64_t out_ld)>;
template <class T>
void target_sums(const ScaledFeatures& left, std::int64_t t0, const ScaledFeatures& data,
                 const GroupedNeighbors& neighbors, Difference difference, std::int64_t n_out,
                 const CombineGroups& combine, double* out, Run& run);

// The features k0..k0 + n - 1 of the samples r0..r1 - 1, as rows of ld values, with zeros after the last feature up to
// a multiple of 64 bytes. n is at most 3072 bytes of T, which is that of X, or double for float32.
template <class T>
void pack_features(const ScaledFeatures& data, std::int64_t k0, std::int64_t n, std::int64_t r0, std::int64_t r1, T* to,
                   std::int64_t ld);

// The samples i0..i1 as rows of ld values, a multiple of 64 bytes, with zeros after the last feature.
template <class T>
Buffer<T> pack_samples(const ScaledFeatures& data, std::int64_t i0, std::int64_t i1, std::int64_t ld, Run& run);

// All samples as the sums above pack them, for many calls with the same features.
template <class T>
class PackedPanels {
  public:
    PackedPanels(const ScaledFeatures& data, Run& run);
    PackedPanels(const PackedPanels&) = delete;
    PackedPanels& operator=(const PackedPanels&) = delete;

    // In the place of what was packed. Their numbers aren't those of columns, but where the values are.
    const ScaledFeatures& features() const { return features_; }

    static std::int64_t memory(std::int64_t n_samples, std::int64_t n_features);

  private:
    Buffer<T> values_;
    Matrix matrix_;
    ScaledFeatures features_;
};

// Bytes that tiles of so many samples take.
std::int64_t panels_memory(std::int64_t n_samples);
// Bytes to ask for before distances between all samples are stored: them, and what pair_sums takes.
std::int64_t stored_distances_memory(std::int64_t n_samples);

}  // namespace fastfs::core
