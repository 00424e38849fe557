// Engine: matrix products and factorizations in tiles, on the threads of the run. The bits don't depend on the number
// of threads if the caller holds BLAS at one (SingleThreadedBlas). A cancel by the caller is noticed after each tile.
// Matrices are column-major.
#pragma once

#include <cstdint>

#include "support/run.hpp"

namespace fastfs::core {

// Largest problem that is passed to LAPACK undivided. At n = 2000, on a busy Zen 4 core, 512 takes no longer than 1024,
// and a cancel waits half as long.
constexpr std::int64_t kWholeProblem = 512;

// Sets the lower triangle of C (n x n) to alpha A A' + beta C, A n x k; leaves the entries above the diagonal alone.
void syrk(std::int64_t n, std::int64_t k, double alpha, const double* A, double beta, double* C, Run& run);

// Overwrites C (m x n) with op(A) B; ta: 'N' or 'T' (transposed); k: the inner size, which can be 0.
void multiply_in_parts(char ta, std::int64_t m, std::int64_t n, std::int64_t k, const double* A, std::int64_t lda,
                       const double* B, std::int64_t ldb, double* C, std::int64_t ldc, Run& run);

// Replaces B (n x m) by L B, L (n x n) lower triangular.
void trmm(std::int64_t n, std::int64_t m, const double* L, double* B, Run& run);

// Subtracts the symmetric product L R' (L and R n x k, columns ld apart) from the lower triangle of C (n x n). Some
// entries just above the diagonal are overwritten.
void update_lower(std::int64_t n, std::int64_t k, const double* L, const double* R, std::int64_t ld, double* C,
                  std::int64_t ldc, Run& run);

// Replaces the lower triangle of A (n x n) by its Cholesky factor. Returns false if A isn't positive definite; A is
// then partly overwritten. Reports no progress.
bool cholesky(std::int64_t n, double* A, Run& run);

// Replaces the symmetric A by L^-1 A L^-T, all n x n; reads and writes lower triangles. Some entries just above the
// diagonal are overwritten. Reports no progress.
void divide_by_factor(std::int64_t n, double* A, const double* L, Run& run);

// Copies the lower triangle to the upper one.
void mirror_lower(std::int64_t n, double* A);

}  // namespace fastfs::core
