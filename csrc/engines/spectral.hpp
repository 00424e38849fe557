// Engine: symmetric eigenproblems. Matrices are n x n, column-major, with their lower triangle stored. They are reduced
// to tridiagonal form and solved there (tridiagonal.hpp). The vectors are transformed back in blocks that GEMM likes,
// and only as many as are wanted. All bits are independent of the number of threads if the caller holds BLAS at one
// (SingleThreadedBlas).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "engines/products.hpp"
#include "engines/tridiagonal.hpp"
#include "support/buffer.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// The eigendecomposition A = V diag(w) V', w ascending. Takes 2 n^2 doubles, n^2 once the vectors are taken.
class SymmetricEigen {
  public:
    // Computes the eigenvalues, and prepares the vectors, which make_vectors completes. Throws if an eigenvalue
    // overflows. Overwrites A (lower triangle) by the reflectors, so A must outlive the calls of make_vectors. Z:
    // optional room for the vectors, n x n: fresh pages cost as much as a pass over them. whole: the largest problem
    // that LAPACK takes undivided.
    SymmetricEigen(std::int64_t n, double* A, Run& run, Buffer<double> Z = {}, std::int64_t whole = kWholeProblem);

    const std::vector<double>& values() const { return w_; }

    // Completes the eigenvectors first..last - 1; each column must be completed once before it is read.
    void make_vectors(std::int64_t first, std::int64_t last, Run& run);
    double* vector(std::int64_t i) { return Z_.data() + i * n_; }
    Buffer<double> take_vectors() {
        tridiagonal_.reset();
        return std::move(Z_);
    }

  private:
    std::int64_t n_;
    const double* reflectors_;
    std::vector<double> w_, tau_;
    Buffer<double> Z_;
    std::optional<TridiagonalEigen> tridiagonal_;
};

// Writes the k largest eigenvalues of A to w, descending, and their eigenvectors to V (n x k), with signs set by
// fix_sign; destroys A. Z: optional room for n x n. Returns room for n x n, for other uses.
Buffer<double> largest_eigenpairs(std::int64_t n, double* A, std::int64_t k, double* w, double* V, Run& run,
                                  Buffer<double> Z = {});

// Computes A = U diag(s) V', n x n, s descending up to rounding; s is accurate to the rounding of the largest. A is
// destroyed. Takes 2 n^2 doubles.
void singular_vectors(std::int64_t n, double* A, double* s, double* U, double* V, Run& run);

// Flips the sign of v so that its entry of largest magnitude (ties: the first) is positive.
void fix_sign(std::int64_t n, double* v);

// Throws InvalidArgument unless K is finite, and symmetric within 1e-8 of its largest entry.
void require_symmetric(std::int64_t n, const double* K, const char* name);

// Throws NumericError if K has an eigenvalue below -1e-8 tr K: eigenvalues of an accepted K are negative by rounding
// only. T: n x n scratch.
void require_semidefinite(std::int64_t n, const double* K, double* T, const char* name, Run& run);
[[noreturn]] void refuse_indefinite(const char* name);

// With S = K1 + K2 = W W' and D = K1 - K2 = W diag(nu) W', nu ascending in [-1, 1], W has rank(S) columns. D and S are
// destroyed. Uses the Cholesky factor of S if its condition allows, otherwise the eigenvalues of S, cut off below n eps
// of the largest. Takes 2 n^2 doubles while it runs, W among them. Stores nu rather than K1's own values mu = (1 + nu)
// / 2: for kernels that nearly agree, nu is small and keeps its digits. A nu within rounding of -1 or 1 is set to -1 or
// 1: its direction belongs to one kernel alone, and the geometric mean is 0 there, not the root of a rounding error.
struct Pencil {
    Buffer<double> W;
    std::vector<double> nu;
};
Pencil pencil(std::int64_t n, double* D, Buffer<double>& S, Run& run);

// Computes the pencil of two kernels from their lower triangles: replaces K1 by W (n x rank), writes the ascending nu
// (room for n) and returns the rank. Throws if K1 or K2 isn't finite and semidefinite.
std::int64_t pencil(std::int64_t n, double* K1, const double* K2, double* nu, Run& run);

// Replaces A, given by its lower triangle, by its eigenvectors, and writes its eigenvalues, ascending, to w.
void eigh(std::int64_t n, double* A, double* w, Run& run);

// Returns a bound on the effect of rounding errors on nu if S is well-conditioned; the largest effect seen is 2 n eps.
constexpr double nu_rounding(std::int64_t n) {
    return 8 * static_cast<double>(n) * std::numeric_limits<double>::epsilon();
}

// Returns the bytes of scratch that make_vectors takes.
std::int64_t vectors_memory(std::int64_t n, int n_threads);

}  // namespace fastfs::core
