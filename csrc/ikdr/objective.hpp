// The objective of I-KDR, and its gradient, as a function of the coefficients A for one kernel. The slack variables S
// and Gamma of the paper's problem (15) have best values in closed form; inserting them gives the objective F of
// docs/ikdr.md. Numbers in parentheses are the paper's (arXiv 1909.09218).
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

// Throws InvalidArgument unless the value of the objective, or of a part of it, is finite.
void require_finite_objective(double value);

// The weights of the objective's terms. lambda and mu are the paper's, divided by the number of samples.
struct Terms {
    double lambda, mu, tau, zeta;
    bool distance;  // the interpretability term is that of (7), by distances, instead of that of (15), by the Laplacian

    Terms(const fastfs_ikdr_options& o, double lambda_, std::int64_t n_samples)
        : lambda(lambda_ / static_cast<double>(n_samples)),
          mu(o.mu / static_cast<double>(n_samples)),
          tau(o.tau),
          zeta(o.zeta),
          distance(o.interpretability == FASTFS_IKDR_DISTANCE) {}

    // Returns the part of the objective that doesn't depend on A, with k components.
    double constant(std::int64_t k) const { return distance ? mu * static_cast<double>(k) : 0; }

    // Returns om_q, the weight of the squared residuals of a class with `size` samples and `square` = |P_q|^2.
    double omega(std::int64_t size, double square) const {
        const double w = std::isinf(tau) ? 1 : tau / (tau + static_cast<double>(size));
        return std::isinf(zeta) ? w : w * zeta / (zeta + w * square);
    }
};

// Matrices with fewer values are looped over by the calling thread alone.
constexpr std::int64_t kWorthThreads = std::int64_t{1} << 20;

// Calls body(task) for n tasks, on threads if `threads` is true.
template <class Body>
void for_each(Run& run, std::int64_t n, bool threads, Body&& body) {
    if (threads) return parallel_for(run, n, [&](std::int64_t task, int) { body(task); });
    for (std::int64_t task = 0; task < n; ++task) body(task);
}

// F as a function of A (n x k). Samples are sorted by class, so a gradient reads K once: N^2 multiply-adds for any k. A
// value reads K once, too, or with mu > 0 the rows of each column's samples.
template <class T>
class CoefficientObjective : public SimplexFunction {
  public:
    // Computes K H' and the row sums of K, which all values share. K (n x n, both triangles) must outlive the object.
    CoefficientObjective(const T* K, const SortedSamples& samples, const Terms& terms, std::int64_t k, Run& run);

    // Returns F at A, and keeps its parts for gradient() and the members below. A must outlive their use.
    double value(const double* A) override;

    // Writes dF/dA (n x k) at the A of the last value() to G.
    void gradient(double* G) override;

    // Return values at the A of the last value(): the weights om_q, P = H A, the residuals, mu times the
    // interpretability term without its constant mu k, and x = (c, T), on which F depends in the beta-step: c_i =
    // P[y_i,:] . B[i,:], and T (C x k) has the sums of B over each class.
    const Numbers& omega() const { return omega_; }
    const Numbers& P() const { return P_; }
    const Numbers& residuals() const { return r_; }
    double interpretability() const { return interpretability_; }
    Numbers point() const;

    // Writes B = K A (n x k), the embedding; both have consecutive columns.
    void embed(const double* A, double* B) const;

  private:
    static constexpr std::int64_t kRows = 64, kColumns = 512;
    struct Block {
        std::int64_t q, begin, end;
    };

    // Sets r_i = 1 - P[y_i,:] . B[i,:], and B if the interpretability term has weight.
    void set_residuals();

    // Returns mu times the interpretability term, without its constant mu k, from B = K A.
    double interpretability_term() const;

    // Sets out (n) to the sum of factors[c] columns[c], without columns with factor 0.
    void combine_columns(const std::vector<const double*>& columns, const double* factors, double* out) const;

    // Sets sums (C x n, row-major), row q, to the sum over the samples t of class q of factors[t] K[t, :].
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
    // The A of the last value(), and the parts of F there.
    const double* A_ = nullptr;
    std::vector<const double*> columns_;
    Numbers P_, T_, omega_, by_class_, KR_, r_, B_, total_;
    double interpretability_ = 0;
    const Numbers ones_;
};

}  // namespace fastfs::core
