// Engine: minimisation over the simplex {x >= 0, sum x = 1}, and over matrices whose columns lie on it.
#pragma once

#include <cstdint>
#include <functional>

#include "support/run.hpp"

namespace fastfs::core {

// x (n values, stride apart) is replaced by the nearest point of the simplex (Michelot 1986: exact, in finitely many
// passes).
void project_on_simplex(double* x, std::int64_t n, std::int64_t stride);

struct SimplexMinimum {
    double value = 0;
    double gap =
        0;  // Frank-Wolfe gap sum_j (g_j' a_j - min g_j): an upper bound of the decrease that is left, if convex
    std::int64_t n_iter = 0;
    bool converged = false;
};

// f(A, gradient or null) for A (n x k, row-major, columns on the simplex).
using SimplexFunction = std::function<double(const double* A, double* gradient)>;

// Spectral projected gradient (Birgin, Martinez and Raydan 2000): Barzilai-Borwein steps, non-monotone line search. A
// is the start, and is replaced by the best point seen. Stops when gap <= tol * |value|, or after max_iter steps.
SimplexMinimum minimize_on_simplex(const SimplexFunction& f, std::int64_t n, std::int64_t k, double tol,
                                   std::int64_t max_iter, Run& run, double* A);

}  // namespace fastfs::core
