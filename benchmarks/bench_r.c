/* The arithmetic of an iteration of the R package Immigrate, for bench_r: d'W d and g d d' of all ordered pairs. */
#include <R.h>
#include <R_ext/BLAS.h>
#include <Rinternals.h>
#include <math.h>

/* Z: samples in columns; W stays the identity over the root of the number of features. Returns the last Sigma. */
SEXP package_arithmetic(SEXP Z_, SEXP labels_, SEXP n_iter_) {
    const int A = Rf_nrows(Z_), n = Rf_ncols(Z_), one = 1;
    const double *Z = REAL(Z_), unit = 1, zero = 0;
    const int* y = INTEGER(labels_);
    double* W = (double*)R_alloc((size_t)A * A, sizeof(double));
    double* d = (double*)R_alloc((size_t)A * n, sizeof(double));
    double* v = (double*)R_alloc(A, sizeof(double));
    double* f = (double*)R_alloc(n, sizeof(double));
    SEXP Sigma_ = PROTECT(Rf_allocMatrix(REALSXP, A, A));
    double* Sigma = REAL(Sigma_);
    for (int a = 0; a < A * A; ++a) W[a] = a % (A + 1) == 0 ? 1 / sqrt(A) : 0;
    for (int iteration = 0; iteration < Rf_asInteger(n_iter_); ++iteration) {
        for (int a = 0; a < A * A; ++a) Sigma[a] = 0;
        for (int i = 0; i < n; ++i) {
            double sums[2] = {0, 0};
            for (int j = 0; j < n; ++j) {
                double* own = d + (size_t)j * A;
                for (int a = 0; a < A; ++a) own[a] = fabs(Z[(size_t)i * A + a] - Z[(size_t)j * A + a]);
                F77_CALL(dgemv)("N", &A, &A, &unit, W, &A, own, &one, &zero, v, &one FCONE);
                f[j] = exp(-F77_CALL(ddot)(&A, own, &one, v, &one));
                if (i != j) sums[y[i] == y[j]] += f[j];
            }
            for (int j = 0; j < n; ++j) {
                const double g = i == j ? 0 : y[i] == y[j] ? f[j] / sums[1] : -f[j] / sums[0];
                F77_CALL(dger)(&A, &A, &g, d + (size_t)j * A, &one, d + (size_t)j * A, &one, Sigma, &A);
            }
        }
    }
    UNPROTECT(1);
    return Sigma_;
}
