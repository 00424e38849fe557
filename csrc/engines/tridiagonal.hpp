// Engine: the two long halves of a symmetric eigenproblem, cut into steps between which a cancel is noticed. LAPACK has
// one uninterruptible call per half, which takes 20 s for n = 6000; this engine passes LAPACK only problems that it
// finishes in a tenth of a second.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "support/buffer.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Reduces A to the tridiagonal Q' A Q in the form of sytrd_lower: diagonal d (n), off-diagonal e (n - 1), reflectors in
// A and tau (n - 1). The last `whole` rows are left to LAPACK.
void reduce_to_tridiagonal(std::int64_t n, double* A, double* d, double* e, double* tau, std::int64_t whole, Run& run);

// Eigenpairs of the symmetric matrix with diagonal d and off-diagonal e by divide and conquer: halves are solved and
// glued, down to halves of `whole` (>= 2) rows or fewer, which are left to LAPACK. The last and longest step is done
// only for the vectors that are asked for, when they are asked for. Takes n^2 doubles at most besides Z, half as many
// if few eigenvalues agree.
class TridiagonalEigen {
  public:
    // Replaces d by the eigenvalues, ascending, and destroys e. Overwrites Z (n x n), which holds eigenvectors of the
    // matrix only after make_vectors.
    TridiagonalEigen(std::int64_t n, double* d, double* e, double* Z, std::int64_t whole, Run& run);
    ~TridiagonalEigen();

    // Writes the eigenvectors first..last - 1 to columns first..last - 1 of Z, each once. Threads can call it together,
    // with separate scratch.
    void make_vectors(std::int64_t first, std::int64_t last, double* Z, double* scratch, Run& run) const;

    // Returns the size of the scratch of make_vectors, in doubles.
    std::int64_t scratch_size(std::int64_t n_vectors) const;

  private:
    class Glue;
    std::int64_t n_;
    std::unique_ptr<Glue> last_;  // null: the vectors are complete already
};

}  // namespace fastfs::core
