// Engine: quadratic forms d'Wd and sums of outer products g d d' over pairs of samples, d = |x_i - x_j|. Differences
// are made in the cache, just before they are multiplied, and never stored.
#pragma once

#include <cstdint>
#include <vector>

#include "engines/isa/form_tiles.hpp"
#include "engines/sample_pairs.hpp"
#include "support/buffer.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Scaled samples in two layouts: by rows, for products over pairs, and side by side in units, for products over
// features.
template <class T>
class PackedSamples {
  public:
    // Copies the scaled features of all samples into both layouts; the last unit is filled up with the last sample.
    PackedSamples(const ScaledFeatures& data, Run& run);
    static std::int64_t memory(std::int64_t n_samples, std::int64_t n_features);

    std::int64_t n_samples() const { return n_; }
    std::int64_t n_features() const { return A_; }
    std::int64_t ld() const { return ld_; }                                // of rows: a multiple of 64 bytes
    const T* row(std::int64_t i) const { return rows_.data() + i * ld_; }  // 0 behind the last feature
    const T* unit(std::int64_t u) const { return units_.data() + u * A_ * kUnit<T>; }

  private:
    std::int64_t n_, A_, ld_;
    Buffer<T> rows_, units_;
};

// W in the layout that the kernel reads. d'Wd is either sum_k values_k (v_k'd)^2 or, in half the time of a full
// product, d'(U d) with U the upper triangle of W, doubled off the diagonal.
template <class T>
class QuadraticForm {
  public:
    QuadraticForm() = default;
    // Takes W = sum_k values[k] v_k v_k', v_k: row k of `vectors`, rank x n.
    QuadraticForm(std::int64_t n, std::int64_t rank, const double* values, const double* vectors);
    // Takes a symmetric W, n x n.
    QuadraticForm(std::int64_t n, const double* W);

    struct Block {           // kFormRows rows of W
        std::int64_t begin;  // the feature that they start with
        T sign;
        const T* W;
    };
    bool is_triangle() const { return triangle_; }
    const std::vector<Block>& blocks() const { return blocks_; }

  private:
    bool triangle_ = false;
    Buffer<T> W_;
    std::vector<Block> blocks_;
};

// Returns sum_k values[k] v_k v_k' (n x n, both triangles); v_k: row k of `vectors`, rank x n.
Buffer<double> dense_of_factors(std::int64_t n, std::int64_t rank, const double* values, const double* vectors,
                                Run& run);

// Returns the quadratic form of the factors, applied as factors or as a matrix, whichever is cheaper.
template <class T>
QuadraticForm<T> form_of(std::int64_t n, std::int64_t rank, const double* values, const double* vectors, Run& run);

// Sets out[(i - i0) * ld + j] to d'Wd for the samples i0..i1 - 1 of `left` and all of `right`. With one_triangle, left
// is right, i0..i1 - 1 are all samples, and each pair is computed once and mirrored.
template <class T>
void quadratic_forms(const PackedSamples<T>& left, std::int64_t i0, std::int64_t i1, const PackedSamples<T>& right,
                     bool one_triangle, const QuadraticForm<T>& W, double* out, std::int64_t ld, Run& run);

// Adds g_ji to g_ij for i < j < n; leaves entries on and below the diagonal alone.
void fold_into_upper(std::int64_t n, double* g, std::int64_t ld, Run& run);

// Adds to Sigma (n_features x n_features, column-major, lower triangle) the sum of g[(i - i0) * ld + j] d d' over the
// samples i0..i1 - 1 of `left` and all of `right`, or only j > i with one_triangle. Pairs with |g| <= negligible are
// left out.
template <class T>
void outer_sums(const PackedSamples<T>& left, std::int64_t i0, std::int64_t i1, const PackedSamples<T>& right,
                const double* g, std::int64_t ld, bool one_triangle, double negligible, double* Sigma, Run& run);

// Returns the bytes of scratch that quadratic_forms and outer_sums take.
std::int64_t forms_memory(std::int64_t n_features, int n_threads);

}  // namespace fastfs::core
