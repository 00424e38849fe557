// Engine: many kernels between the same few samples, one a feature, or a group of features, or a matrix of the
// caller's. None of them is stored: sums of them are, and products with a few columns.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "support/buffer.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// What the C entry received: either X or matrices.
struct KernelSource {
    std::optional<Matrix> X;
    std::int64_t n_kernels = 0;            // resolved: never 0
    const std::int64_t* groups = nullptr;  // of n_features; nullptr: one kernel a feature, or one of all
    bool standardize = true;
    int width = 0;  // FASTFS_WIDTH_*
    double delta = 0;
    const double* matrices = nullptr;
    std::int64_t n_samples = 0;  // also with X
};

// What the products of each kernel are taken with: `rows` are the samples (as sorted) whose rows of A aren't zero.
struct Support {
    std::vector<std::int64_t> rows;    // ascending, s of them
    std::vector<double> A;             // s x k: rows of A
    std::vector<double> by_class;      // s x C: (A P')
    std::vector<double> row_factors;   // s: r_t, and
    std::vector<double> pair_factors;  // s x s: G, so that v = sum_t r_t (K_m 1)_t + sum_st G_st K_m(s, t); both
                                       // may be empty (v = 0)
    std::int64_t k = 0;
};

// T: that of X; float64 with matrices.
template <class T>
class SampleKernels {
  public:
    // order: sample i of this object is row order[i] of X; sorted by class, those of class q being
    // class_begins[q]..class_begins[q + 1]. Finds means, scales and widths in double.
    SampleKernels(const KernelSource& source, std::vector<std::int64_t> order, std::vector<std::int64_t> class_begins,
                  Run& run);

    std::int64_t n_samples() const;
    std::int64_t n_kernels() const;
    std::int64_t n_classes() const;
    bool is_constant(std::int64_t m) const;     // all its features are constant: excluded from everything
    const std::vector<double>& deltas() const;  // n_kernels, 0 if constant; empty with matrices
    const std::vector<double>& means() const;   // n_features
    const std::vector<double>& scales() const;  // n_features, 0 if constant

    // K (n x n, row-major, both triangles, the same bits on both sides) = sum_w weights[w] K_which[w]; float64 sums
    // over at most 64 kernels of T each.
    void sum(const std::vector<std::int64_t>& which, const std::vector<double>& weights, Run& run, T* K) const;

    // For each listed kernel m: c[i] = sum_s K_m(i, rows[s]) by_class[s][class of i] (n), T[q k + j] = sum over samples
    // i of class q and s of K_m(i, rows[s]) A[s][j] (C k), and v as above. c, T, v: kernel after kernel in the order of
    // `which`. Threads take fixed blocks of kernels.
    void products(const std::vector<std::int64_t>& which, const Support& support, Run& run, T* c, T* totals,
                  double* v) const;
    // All of them, in order, a block at a time: for those that keep a number of each.
    // visit(first, count, c, totals, v) is called from any thread.
    template <class Visit>
    void for_products(const Support& support, Run& run, Visit&& visit) const;

    // Bytes of products for all kernels, and of the object with its scratch.
    std::int64_t products_memory(std::int64_t k) const;
    static std::int64_t memory(const KernelSource& source, int n_threads);
};

}  // namespace fastfs::core
