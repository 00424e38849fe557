// Minimisation over matrices with columns on the simplex {x >= 0, sum x = 1}.
#pragma once

#include <cstdint>

#include "support/run.hpp"

namespace fastfs::core {

// Replaces x (n values) by the nearest point of the simplex (Michelot 1986, doi 10.1007/BF00938486: exact, in finitely
// many passes). work: scratch of n values.
void project_on_simplex(double* x, std::int64_t n, double* work);

// Throws InvalidArgument unless the columns of A (n x k, row-major) are finite and lie on the simplex, to six digits.
void require_on_simplex(const double* A, std::int64_t n, std::int64_t k, const char* name);

// A differentiable function of A, which is stored as k consecutive columns of n values.
class SimplexFunction {
  public:
    virtual ~SimplexFunction() = default;
    virtual double value(const double* A) = 0;
    virtual void gradient(double* G) = 0;  // at the A of the last value()
};

struct SimplexMinimum {
    double value = 0;
    // The Frank-Wolfe gap sum_j (g_j' a_j - min g_j). If f is convex, the minimum is at most this much lower.
    double gap = 0;
    std::int64_t n_iter = 0;
    bool converged = false;
};

// Minimises f by spectral projected gradients (Birgin, Martinez and Raydan 2000, doi 10.1137/S1052623497330963), with
// Barzilai-Borwein steps, the short or the long one by ABBmin (Frassoldati, Zanni and Zanghirati 2008, doi
// 10.3934/jimo.2008.4.299), and a non-monotone line search. A is the start and is replaced by the best point seen. Ends
// when gap <= tol |f|, or after max_iter steps.
SimplexMinimum minimize_on_simplex(SimplexFunction& f, std::int64_t n, std::int64_t k, double tol,
                                   std::int64_t max_iter, Run& run, double* A);

// Returns the bytes that minimize_on_simplex takes.
std::int64_t simplex_memory(std::int64_t n, std::int64_t k);

}  // namespace fastfs::core
