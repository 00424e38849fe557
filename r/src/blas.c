/* R's own BLAS and LAPACK for the core. */
#define R_NO_REMAP
#include <R_ext/Error.h>
#include <stddef.h>
#include <stdint.h>

#if !defined(_WIN32)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT */
#endif
#include <dlfcn.h>
#endif

#include "shims.h"

/* The threads of R's BLAS are only known at run time, as it may be exchanged without linking again: OpenBLAS is held at
 * one thread during a call, any other library is taken as it is. */
typedef void (*set_threads)(int);
typedef int (*get_threads)(void);

static void* routine(const char* name) {
#if defined(_WIN32)
    (void)name;
    return NULL;
#else
    return dlsym(RTLD_DEFAULT, name);
#endif
}

#define FASTFS_BLAS_SET_THREADS fastfs_r_set_blas_threads
#define FASTFS_BLAS_GET_THREADS fastfs_r_get_blas_threads
#ifdef FASTFS_R_WITHOUT_SGEMM
/* The BLAS that comes with R has no routines of single precision. */
#define sgemm_ fastfs_r_sgemm
#endif
#include "fastfs/link_blas.h"

void fastfs_r_set_blas_threads(int n) {
    set_threads set = (set_threads)(uintptr_t)routine("openblas_set_num_threads");
    if (set != NULL) set(n);
}

int fastfs_r_get_blas_threads(void) {
    get_threads get = (get_threads)(uintptr_t)routine("openblas_get_num_threads");
    return get == NULL ? 1 : get();
}

#ifdef FASTFS_R_WITHOUT_SGEMM
void fastfs_r_sgemm(const char* trans_a, const char* trans_b, const fastfs_blas_int* m, const fastfs_blas_int* n,
                    const fastfs_blas_int* k, const float* alpha, const float* A, const fastfs_blas_int* lda,
                    const float* B, const fastfs_blas_int* ldb, const float* beta, float* C,
                    const fastfs_blas_int* ldc) {
    const int a_is_transposed = *trans_a == 'T' || *trans_a == 't',
              b_is_transposed = *trans_b == 'T' || *trans_b == 't';
    const ptrdiff_t a_row = a_is_transposed ? *lda : 1, a_col = a_is_transposed ? 1 : *lda;
    const ptrdiff_t b_row = b_is_transposed ? *ldb : 1, b_col = b_is_transposed ? 1 : *ldb;
    for (ptrdiff_t j = 0; j < *n; ++j) {
        float* column = C + j * *ldc;
        for (ptrdiff_t i = 0; i < *m; ++i) column[i] = *beta == 0 ? 0 : *beta * column[i];
        for (ptrdiff_t p = 0; p < *k; ++p) {
            const float factor = *alpha * B[p * b_row + j * b_col];
            for (ptrdiff_t i = 0; i < *m; ++i) column[i] += factor * A[i * a_row + p * a_col];
        }
    }
}
#endif

void register_blas(void) {
    static int is_registered = 0;
    if (is_registered) return;
    const fastfs_status status = fastfs_link_blas();
    if (status != FASTFS_OK && status != FASTFS_EEXIST) Rf_error("%s", fastfs_last_error());
    is_registered = 1;
}
