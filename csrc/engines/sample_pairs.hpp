// Engine: all pairs of samples, for methods that compare |x_i - x_j| elementwise. Samples are few and features many, so
// samples x samples results stay in memory, while features pass in chunks: packed, scaled, and read by register tiles.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "support/buffer.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Selected features of a dense matrix, scaled: (x - shift[k]) * factor[k] of column features[k]. If the factor contains
// a weight w_k as well, sums of |d| become w'|d|.
struct ScaledFeatures {
    const Matrix* X;
    std::vector<std::int64_t> features;        // in any order
    std::vector<double> shift{}, factor{};     // one per entry of `features`
    std::vector<double> low{}, high{}, top{};  // parameters of kDiffer and kRamp below
    bool packed = false;                       // X is the matrix of a PackedPanels

    std::int64_t n_samples() const { return X->n_rows(); }
    std::int64_t n_features() const { return static_cast<std::int64_t>(features.size()); }
};

// The difference of two values. kKnown: |difference|. kDiffer: top if the values (codes of categories) differ,
// otherwise 0. kRamp: top if |difference| > high, otherwise the excess of |difference| over low, or 0. kKnown, kDiffer
// and kRamp are 0 if either value is NaN.
enum class Difference { kAbsolute, kSquared, kKnown, kDiffer, kRamp };

// Sums differences over features: writes to out (row-major, rows ld apart) one sum for each pair of the samples i0..i1
// - 1 of `left` and j0..j1 - 1 of `right`, which have equal features; `into` can add to out or subtract from it
// instead. If both ranges are one range of one data set, each pair is computed once and its mirror image has equal
// bits. T: the type of X, or double for float32; sums over chunks of features are in double.
enum class Into { kEmpty, kAdd, kSubtract };
template <class T>
void pair_sums(const ScaledFeatures& left, std::int64_t i0, std::int64_t i1, const ScaledFeatures& right,
               std::int64_t j0, std::int64_t j1, Difference difference, double* out, std::int64_t ld, Run& run,
               Into into = Into::kEmpty);

// Overwrites out (n x n, row-major, rows ld apart) with the sums over features of weights[k] exp(-difference^2), for
// all pairs of samples; weights are rounded to T.
template <class T>
void gaussian_sums(const ScaledFeatures& data, const std::vector<double>& weights, double* out, std::int64_t ld,
                   Run& run);

// Sums differences over pairs, the transpose of pair_sums: sums[k] += sum over pairs of g_ij |difference| or its square
// in feature k. g: row-major, ld; tiles of 4 x 4 pairs with g == 0 cost nothing. With one_triangle (left and right are
// one range of one data set) g_ij and g_ji are added first, so that each pair is computed once. Takes a copy of g in T,
// of one triangle if one_triangle is set.
template <class T>
void feature_sums(const ScaledFeatures& left, std::int64_t i0, std::int64_t i1, const ScaledFeatures& right,
                  std::int64_t j0, std::int64_t j1, Difference difference, const double* g, std::int64_t ld,
                  bool one_triangle, double* sums, Run& run);

// A pair of samples with its weight, for sums over few pairs.
struct WeightedPair {
    std::int64_t i, j;
    double g;
};
// Adds to sums[k] the sum over listed pairs of g * difference in feature k; adds up the weights of repeated pairs
// first.
template <class T>
void feature_sums(const ScaledFeatures& data, std::vector<WeightedPair> pairs, Difference difference, double* sums,
                  Run& run);

// Neighbours of targets in n_groups groups: the neighbours in group g of target t start at begins[t * n_groups + g].
struct GroupedNeighbors {
    std::int64_t n_groups;
    std::vector<std::int64_t> begins, samples;  // the last entry of begins is the number of neighbours
    std::vector<double> strengths, weights;     // one per neighbour
};

// Takes the targets t0 + t of `left` and the features k0..k0 + n - 1. Row g of sums (ld apart) is the sum over group g
// of a target of strength * difference. Row g of counts sums the weights of neighbours that have the feature, and is 0
// if the target lacks it. combine adds the contribution of the target to rows of its `out` (out_ld apart). target_sums
// adds the contributions of all targets to out, n_out x n_features. difference: any but kAbsolute.
using CombineGroups = std::function<void(std::int64_t t, std::int64_t k0, std::int64_t n, const double* sums,
                                         const double* counts, std::int64_t ld, double* out, std::int64_t out_ld)>;
template <class T>
void target_sums(const ScaledFeatures& left, std::int64_t t0, const ScaledFeatures& data,
                 const GroupedNeighbors& neighbors, Difference difference, std::int64_t n_out,
                 const CombineGroups& combine, double* out, Run& run);

// Writes the scaled features k0..k0 + n - 1 of the samples r0..r1 - 1 to `to` as rows of ld values, with zeros after
// the last feature up to a multiple of 64 bytes. n is at most 3072 bytes of T; T is the type of X, or double for
// float32.
template <class T>
void pack_features(const ScaledFeatures& data, std::int64_t k0, std::int64_t n, std::int64_t r0, std::int64_t r1, T* to,
                   std::int64_t ld);

// Returns the scaled samples i0..i1 - 1 as rows of ld values, a multiple of 64 bytes, with zeros after the last
// feature.
template <class T>
Buffer<T> pack_samples(const ScaledFeatures& data, std::int64_t i0, std::int64_t i1, std::int64_t ld, Run& run);

// Packs all samples once in the layout of the sums above, for many calls with one list of features.
template <class T>
class PackedPanels {
  public:
    // Copies the scaled values of all samples.
    PackedPanels(const ScaledFeatures& data, Run& run);
    PackedPanels(const PackedPanels&) = delete;
    PackedPanels& operator=(const PackedPanels&) = delete;

    // Returns features that stand for the packed ones in calls. Their numbers are places in the packed values, not
    // columns.
    const ScaledFeatures& features() const { return features_; }

    static std::int64_t memory(std::int64_t n_samples, std::int64_t n_features);

  private:
    Buffer<T> values_;
    Matrix matrix_;
    ScaledFeatures features_;
};

// Returns the bytes that tiles of n_samples samples take.
std::int64_t panels_memory(std::int64_t n_samples);
// Returns the bytes to require before distances between all samples are stored: the distances and the scratch of
// pair_sums.
std::int64_t stored_distances_memory(std::int64_t n_samples);

}  // namespace fastfs::core
