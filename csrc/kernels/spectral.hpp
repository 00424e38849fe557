// Engine: symmetric eigenproblems. Matrices are n x n, column-major, with their lower triangle stored. These are the few
// large LAPACK calls that may use the threads of BLAS, run.n_threads() of them: measured with OpenBLAS on 2 cores, dsyevd
// at n = 2000 takes 0.64 s instead of 1.17 s on an idle machine, and 1.8 to 3.0 s instead of 1.4 s on a busy one.
#pragma once

#include <cstdint>

#include "support/buffer.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// A = V diag(w) V', w ascending; A is overwritten by V.
void eigh(std::int64_t n, double* A, double* w, Run& run);

// The k eigenpairs of largest |w|, largest first; A is destroyed. V is n x k; the entry of largest magnitude of each
// vector is positive (ties: the first).
void leading_eigenpairs(std::int64_t n, double* A, std::int64_t k, double* w, double* V, Run& run);

// The same from all eigenpairs of a matrix, already known.
void pick_leading(std::int64_t n, const double* all_w, const double* all_V, std::int64_t k, double* w, double* V);

// With S = K1 + K2 = W W' and D = K1 - K2 = W diag(nu) W', nu ascending in [-1, 1], W has q = rank of S columns (q is
// returned). D is overwritten by W (n x q); S is destroyed. Cholesky of S where its condition allows, else eigenvalues
// of S with those below n eps of the largest cut off. While it runs it takes 2 n^2 doubles more, at most. nu rather than
// K1's own values mu = (1 + nu) / 2: where the kernels nearly agree, nu is small and keeps its digits.
std::int64_t pencil(std::int64_t n, double* D, double* S, double* nu, Run& run);

}  // namespace fastfs::core
