// Engine: the two long halves of a symmetric eigenproblem, cut where a cancel can be seen. LAPACK does the same in one
// call each, which takes 20 s for n = 6000; here it gets what it finishes in a tenth of a second.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "support/buffer.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Q' A Q tridiagonal, as sytrd_lower gives it: diagonal d (n), off-diagonal e (n - 1), reflectors in A and tau (n - 1).
// LAPACK gets the last `whole` rows.
void reduce_to_tridiagonal(std::int64_t n, double* A, double* d, double* e, double* tau, std::int64_t whole, Run& run);

// The eigenpairs of the symmetric matrix with diagonal d and off-diagonal e by divide and conquer: halves are solved
// and glued, down to those of `whole` (>= 2) rows or fewer, which LAPACK gets. The last and longest step is done for
// the vectors that are asked for, when they are. Takes n^2 doubles at most besides Z, half of that where few
// eigenvalues agree.
class TridiagonalEigen {
  public:
    // d becomes the eigenvalues, ascending. e is destroyed. Z: n x n.
    TridiagonalEigen(std::int64_t n, double* d, double* e, double* Z, std::int64_t whole, Run& run);
    ~TridiagonalEigen();

    // Eigenvectors first..last - 1 in these columns of Z, each once. From any thread, with scratch of its own.
    void make_vectors(std::int64_t first, std::int64_t last, double* Z, double* scratch, Run& run) const;

    // Doubles of that scratch.
    std::int64_t scratch_size(std::int64_t n_vectors) const;

  private:
    class Glue;
    std::int64_t n_;
    std::unique_ptr<Glue> last_;  // null: the vectors are complete already
};

}  // namespace fastfs::core
