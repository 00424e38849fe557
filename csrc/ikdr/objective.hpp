// The objective of I-KDR, and its gradient, as a function of A for one kernel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engines/isa/tiles.hpp"
#include "fastfs/fastfs.h"
#include "ikdr/simplex.hpp"
#include "ikdr/sorted_samples.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Throws InvalidArgument unless the value, of the objective or of a part of it, is finite.
void require_finite_objective(double value);

// The weights of its terms; lambda and mu are the paper's.
struct Terms {
    double lambda, mu, tau, zeta;
    bool distance;  // the interpretability term of (7), not of (15)

    Terms(const fastfs_ikdr_options& o, double lambda_, std::int64_t n_samples)
        : lambda(lambda_ / static_cast<double>(n_samples)),
          mu(o.mu / static_cast<double>(n_samples)),
          tau(o.tau),
          zeta(o.zeta),
          distance(o.interpretability == FASTFS_IKDR_DISTANCE) {}

    double constant(std::int64_t k) const { return distance ? mu * static_cast<double>(k) : 0; }

    // om_q, for class q of `size` samples and |P_q|^2
    double omega(std::int64_t size, double square) const {
        const double w = std::isinf(tau) ? 1 : tau / (tau + static_cast<double>(size));
        return std::isinf(zeta) ? w : w * zeta / (zeta + w * square);
    }
};

// Threads are worth waking for loops over matrices of this many values or more.
constexpr std::int64_t kWorthThreads = std::int64_t{1} << 20;

template <class Body>
void for_each(Run& run, std::int64_t n, bool threads, Body&& body) {
    if (threads) return parallel_for(run, n, [&](std::int64_t task, int) { body(task); });
    for (std::int64_t task = 0; task < n; ++task) body(task);
}

// (R), the problem that F15 leaves once S and Gamma are eliminated, as a function of A for one kernel. With samples
// sorted by class, a value and a gradient read K once each: 2 N^2 multiply-adds for any k.
template <class T>
class Reduced : public SimplexFunction {
  public:
    // K (n x n, both triangles) must outlive it.
    Reduced(const T* K, const SortedSamples& samples, const Terms& terms, std::int64_t k, Run& run);

    double value(const double* A) override;

    void gradient(double* G) override;

    // Of the last value: its point in the space of the beta-step, c_i = P[y_i,:] . B[i,:] and T (C x k), its om_q, and
    // mu times the interpretability term.
    const Numbers& omega() const { return omega_; }
    const Numbers& P() const { return P_; }
    const Numbers& residuals() const { return r_; }
    double linear() const { return linear_; }  // without the constant mu k
    Numbers point() const;

    // B = K A
    void embed(const double* A, double* B) const;

  private:
    static constexpr std::int64_t kRows = 64, kColumns = 512;
    struct Block {
        std::int64_t q, begin, end;
    };

    double interpretability_part();

    // out (n) = sum of factors[c] columns[c]; many factors are 0.
    void combine_columns(const std::vector<const double*>& columns, const double* factors, double* out) const;

    // sums[q, :] = sum over samples t of class q of factors[t] K[t, :]
    void class_sums(const Numbers& factors, Numbers& sums) const;

    const SortedSamples& samples_;
    const Terms terms_;
    Run& run_;
    const std::int64_t N_, C_, k_;
    const bool threads_;
    const RowKernels<double>& f64_ = row_kernels<double>();
    const RowKernels<T>& rows_kernels_ = row_kernels<T>();
    std::vector<const T*> rows_;
    std::vector<Block> blocks_;
    Numbers KH_, K1_;  // C x n; n
    // Of the last value.
    const double* A_ = nullptr;
    std::vector<const double*> columns_;
    Numbers P_, T_, omega_, by_class_, KR_, r_, B_, total_;
    double linear_ = 0;
    const Numbers ones_;
};

}  // namespace fastfs::core
