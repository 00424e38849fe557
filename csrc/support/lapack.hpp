// Typed calls of the registered BLAS and LAPACK: column-major, 64-bit sizes, narrowed here and nowhere else.
#pragma once

#include <cstdint>

#include "fastfs/fastfs.h"

namespace fastfs::core {

// Registers the routines that all calls of this process use. An equal table again does nothing; another one throws
// AlreadyRegistered, and a table without a routine or with integers of another length InvalidArgument.
void register_blas(const fastfs_blas& table);
bool blas_registered();
const fastfs_blas& blas();  // throws InvalidArgument if none is registered

// Computes C (m x n) = alpha op(A) op(B) + beta C, op given as 'N' or 'T'; k is the inner size.
void gemm(char ta, char tb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const float* A,
          std::int64_t lda, const float* B, std::int64_t ldb, float beta, float* C, std::int64_t ldc);
void gemm(char ta, char tb, std::int64_t m, std::int64_t n, std::int64_t k, double alpha, const double* A,
          std::int64_t lda, const double* B, std::int64_t ldb, double beta, double* C, std::int64_t ldc);

// Computes the lower triangle of C (n x n) = alpha op(A) op(A)' + beta C, op(A) n x k.
void syrk_lower(char ta, std::int64_t n, std::int64_t k, double alpha, const double* A, std::int64_t lda, double beta,
                double* C, std::int64_t ldc);

// Computes y = A x, A symmetric with its lower triangle stored.
void symv_lower(std::int64_t n, const double* A, std::int64_t lda, const double* x, double* y);

// Computes B (n x m) = L B, L lower triangular.
void trmm_lower(std::int64_t n, std::int64_t m, const double* L, std::int64_t ldl, double* B, std::int64_t ldb);

// Replaces the lower triangle of A by its Cholesky factor; returns false if A isn't positive definite.
bool potrf_lower(std::int64_t n, double* A, std::int64_t lda);

// Returns an estimate of the reciprocal condition number of L L' in the 1-norm; norm1 is the 1-norm of L L' itself.
double pocon_lower(std::int64_t n, const double* L, double norm1);

// Computes the lower triangle of A = L^-1 A L^-T; ld is the leading dimension of A and L.
void sygst_lower(std::int64_t n, double* A, const double* L, std::int64_t ld);

// Computes B (n x m) = T^-1 B, T triangular: 'L' for lower, 'U' for upper.
void trsm(char triangle, std::int64_t n, std::int64_t m, const double* T, std::int64_t ldt, double* B,
          std::int64_t ldb);

// Computes B (m x n) = B L^-1 ('N') or B L^-T ('T'), L lower triangular.
void trsm_right(char transposed, std::int64_t m, std::int64_t n, const double* L, std::int64_t ldl, double* B,
                std::int64_t ldb);

// Reduces A to the tridiagonal matrix Q' A Q with diagonal d (n) and off-diagonal e (n - 1); A (lower triangle) and tau
// (n - 1) then hold the reflectors of Q.
void sytrd_lower(std::int64_t n, double* A, std::int64_t lda, double* d, double* e, double* tau);

// Solves the eigenproblem of the symmetric tridiagonal matrix (d, e) by divide and conquer: writes the eigenvalues,
// ascending, to d and the eigenvectors to Z (n x n). e is destroyed.
void stedc(std::int64_t n, double* d, double* e, double* Z, std::int64_t ldz);

// Writes the eigenpairs first..last of A to w and V (lower triangle; 0-based, ascending, both included) by the MRRR
// algorithm; A is destroyed, V is n x (last - first + 1).
void eigh_range_lower(std::int64_t n, double* A, std::int64_t first, std::int64_t last, double* w, double* V);

}  // namespace fastfs::core
