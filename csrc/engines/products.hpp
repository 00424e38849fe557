// Engine: products and factors in tiles, on the threads of the run, with the same bits for any number of them if the
// caller holds BLAS at one (SingleThreadedBlas). A cancel is seen after each tile. Matrices are column-major.
#pragma once

#include <cstdint>

#include "support/run.hpp"

namespace fastfs::core {

// Up to this size LAPACK gets a problem whole. At n = 2000, on a busy Zen 4 core, 512 takes no longer than 1024, and a
// cancel waits half as long.
constexpr std::int64_t kWholeProblem = 512;

// Lower triangle of C (n x n) = alpha A A' + beta C, A n x k.
void syrk(std::int64_t n, std::int64_t k, double alpha, const double* A, double beta, double* C, Run& run);

// C (m x n) = op(A) B, op 'N' or 'T', k the inner size.
void multiply(char ta, std::int64_t m, std::int64_t n, std::int64_t k, const double* A, std::int64_t lda,
              const double* B, std::int64_t ldb, double* C, std::int64_t ldc, Run& run);

// B (n x m) = L B, L lower triangular.
void trmm(std::int64_t n, std::int64_t m, const double* L, double* B, Run& run);

// Lower triangle of C (n x n) -= L R', which is symmetric. L and R n x k. A little above the diagonal is overwritten.
void update_lower(std::int64_t n, std::int64_t k, const double* L, const double* R, std::int64_t ld, double* C,
                  std::int64_t ldc, Run& run);

// Lower Cholesky factor in place of the lower triangle of A (n x n); false if A isn't positive definite.
bool cholesky(std::int64_t n, double* A, Run& run);

// Lower triangle of A = L^-1 A L^-T, all n x n. A little above the diagonal is overwritten.
void divide_by_factor(std::int64_t n, double* A, const double* L, Run& run);

// Copies the lower triangle to the upper one.
void mirror_lower(std::int64_t n, double* A);

}  // namespace fastfs::core
