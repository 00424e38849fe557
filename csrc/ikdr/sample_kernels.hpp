// Many kernels between the samples of one small set, each from a feature, from a group of features, or a matrix of the
// caller. Kernels aren't stored, only their sums, and their products with a few columns.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engines/sample_pairs.hpp"
#include "engines/scaling.hpp"
#include "ikdr/kernel_source.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// The factors of the products of each kernel: `rows` are the samples (as sorted) with a nonzero row of A.
struct Support {
    std::vector<std::int64_t> rows;    // ascending, s of them
    std::vector<double> A;             // s x k: rows of A
    std::vector<double> by_class;      // s x C: (A P')
    std::vector<double> row_factors;   // s: r_t, and
    std::vector<double> pair_factors;  // s x s: G, so that v = sum_t r_t (K_m 1)_t + sum_st G_st K_m(s, t); both
                                       // may be empty (v = 0)
    std::int64_t k = 0;
};

// T: the type of X; double with matrices.
template <class T>
class SampleKernels {
  public:
    // Finds means, scales and widths of the kernels in double. Sample i of this object is row order[i] of X. Samples
    // are sorted by class: class q has the samples class_begins[q]..class_begins[q + 1] - 1. Throws InvalidArgument if
    // X holds NaN or infinity, no feature that varies, or features that doubles can't scale.
    SampleKernels(const KernelSource& source, std::vector<std::int64_t> order, std::vector<std::int64_t> class_begins,
                  Run& run);
    SampleKernels(const SampleKernels&) = delete;
    SampleKernels& operator=(const SampleKernels&) = delete;

    std::int64_t n_samples() const { return static_cast<std::int64_t>(order_.size()); }
    std::int64_t n_kernels() const { return source_.n_kernels; }
    std::int64_t n_classes() const { return static_cast<std::int64_t>(class_begins_.size()) - 1; }
    // Tells if all features of kernel m are constant. Sums then leave it out, and its products are zeros.
    bool is_constant(std::int64_t m) const { return source_.X && deltas_[at(m)] == 0; }
    const std::vector<double>& deltas() const { return deltas_; }  // n_kernels, 0 if constant; empty with matrices
    const std::vector<double>& means() const { return means_; }    // n_features
    const std::vector<double>& scales() const { return scales_; }  // n_features, 0 if constant

    // Sets K (n x n, row-major, symmetric to the bit) to sum_w weights[w] K_which[w]. At most 192 terms are added up in
    // T; partial sums are added in double.
    void sum_kernels(const std::vector<std::int64_t>& which, const std::vector<double>& weights, Run& run, T* K) const;

    // Writes for each listed kernel m: c[i] = sum_s K_m(i, rows[s]) by_class[s][class of i] (n), totals[q k + j] = sum
    // over samples i of class q and s of K_m(i, rows[s]) A[s][j] (C k), and v as above. c, totals, v: kernel after
    // kernel in the order of `which`. Threads take fixed blocks of kernels.
    void products(const std::vector<std::int64_t>& which, const Support& support, Run& run, T* c, T* totals,
                  double* v) const;

    // Computes the products of all kernels, block by block, for callers that keep one number per kernel: any thread
    // calls visit(first, count, c, totals, v), once per block.
    using Visit =
        std::function<void(std::int64_t first, std::int64_t count, const T* c, const T* totals, const double* v)>;
    void for_products(const Support& support, Run& run, const Visit& visit) const;

    // Returns the bytes that the object takes with its scratch.
    static std::int64_t memory(const KernelSource& source, std::int64_t n_classes, int n_threads);

  private:
    struct Block;
    struct Prepared;
    struct Scratch;

    void set_width(std::int64_t m, const std::vector<double>& deviations, Run& run);
    // Returns the mean distance of samples in the features of kernel m, times factor.
    double mean_distance(std::int64_t m, double factor, Run& run) const;
    // Appends the varying features of kernel m to `data`, centred and scaled, times `factor`.
    void add_features(std::int64_t m, double factor, ScaledFeatures& data) const;
    // Returns K_m between the samples in the caller's order: the caller's matrix, or `to` (n x n), which is then
    // filled.
    const double* kernel(std::int64_t m, Run& run, double* to) const;
    // Sets the lower triangle of `total` (n x n, row-major) to the weighted sum of the kernels `which`, in the caller's
    // order of samples, and zeros the upper one.
    void sum_kernels_as_given(const std::vector<std::int64_t>& which, const std::vector<double>& weights, Run& run,
                              double* total) const;
    void products_of_features(const Block& block, const Prepared& support, Scratch& scratch, Run& run) const;
    void products_of_kernel(std::int64_t m, const Prepared& support, Scratch& scratch, Run& run, T* c, T* totals,
                            double* v) const;
    void products_of_block(const Block& block, const Prepared& support, Scratch& scratch, Run& run) const;

    KernelSource source_;
    std::vector<std::int64_t> order_, class_begins_;
    std::vector<double> deltas_, means_, scales_;
    std::vector<std::int64_t> begins_, features_;  // the features of each kernel that vary, kernel after kernel
    bool one_feature_each_ = false;                // no kernel has several features
};

}  // namespace fastfs::core
