/* link_blas.h: hands the BLAS and LAPACK that your own program links to fastfs.
 *
 *     #include <fastfs/link_blas.h>
 *     ...
 *     fastfs_status status = fastfs_link_blas();
 *     if (status != FASTFS_OK && status != FASTFS_EEXIST) { fprintf(stderr, "%s\n", fastfs_last_error()); ... }
 *
 * CMake's target fastfs::linked_blas defines what is needed. Without it, define before including:
 *
 *   - FASTFS_BLAS_PREFIX and FASTFS_BLAS_SUFFIX: what the linker's names of Fortran routines have before and behind
 *     them; default: nothing, and an underscore.
 *   - FASTFS_BLAS_SYMBOL(name): that name, where these two can't make it.
 *   - FASTFS_BLAS_SET_THREADS and FASTFS_BLAS_GET_THREADS: functions void(int) and int(void) that control the threads
 *     of that BLAS, such as openblas_set_num_threads; without them fastfs takes the BLAS as it is.
 */
#ifndef FASTFS_LINK_BLAS_H
#define FASTFS_LINK_BLAS_H

#include <string.h>

#include "fastfs.h"

#ifndef FASTFS_BLAS_SYMBOL
#ifndef FASTFS_BLAS_PREFIX
#define FASTFS_BLAS_PREFIX
#endif
#ifndef FASTFS_BLAS_SUFFIX
#define FASTFS_BLAS_SUFFIX _
#endif
#define FASTFS_PASTE_(prefix, name, suffix) prefix##name##suffix
#define FASTFS_EXPAND_(prefix, name, suffix) FASTFS_PASTE_(prefix, name, suffix)
#define FASTFS_BLAS_SYMBOL(name) FASTFS_EXPAND_(FASTFS_BLAS_PREFIX, name, FASTFS_BLAS_SUFFIX)
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifdef FASTFS_BLAS_SET_THREADS
void FASTFS_BLAS_SET_THREADS(int);
int FASTFS_BLAS_GET_THREADS(void);
#endif

#define FASTFS_IN_ const fastfs_blas_int*
#define FASTFS_OUT_ fastfs_blas_int*
#define FASTFS_CHAR_ const char*
#define FASTFS_DBL_ const double*
void FASTFS_BLAS_SYMBOL(sgemm)(FASTFS_CHAR_, FASTFS_CHAR_, FASTFS_IN_, FASTFS_IN_, FASTFS_IN_, const float*,
                               const float*, FASTFS_IN_, const float*, FASTFS_IN_, const float*, float*, FASTFS_IN_);
void FASTFS_BLAS_SYMBOL(dgemm)(FASTFS_CHAR_, FASTFS_CHAR_, FASTFS_IN_, FASTFS_IN_, FASTFS_IN_, FASTFS_DBL_, FASTFS_DBL_,
                               FASTFS_IN_, FASTFS_DBL_, FASTFS_IN_, FASTFS_DBL_, double*, FASTFS_IN_);
void FASTFS_BLAS_SYMBOL(dsyrk)(FASTFS_CHAR_, FASTFS_CHAR_, FASTFS_IN_, FASTFS_IN_, FASTFS_DBL_, FASTFS_DBL_, FASTFS_IN_,
                               FASTFS_DBL_, double*, FASTFS_IN_);
void FASTFS_BLAS_SYMBOL(dsymv)(FASTFS_CHAR_, FASTFS_IN_, FASTFS_DBL_, FASTFS_DBL_, FASTFS_IN_, FASTFS_DBL_, FASTFS_IN_,
                               FASTFS_DBL_, double*, FASTFS_IN_);
void FASTFS_BLAS_SYMBOL(dtrmm)(FASTFS_CHAR_, FASTFS_CHAR_, FASTFS_CHAR_, FASTFS_CHAR_, FASTFS_IN_, FASTFS_IN_,
                               FASTFS_DBL_, FASTFS_DBL_, FASTFS_IN_, double*, FASTFS_IN_);
void FASTFS_BLAS_SYMBOL(dpotrf)(FASTFS_CHAR_, FASTFS_IN_, double*, FASTFS_IN_, FASTFS_OUT_);
void FASTFS_BLAS_SYMBOL(dpocon)(FASTFS_CHAR_, FASTFS_IN_, FASTFS_DBL_, FASTFS_IN_, FASTFS_DBL_, double*, double*,
                                FASTFS_OUT_, FASTFS_OUT_);
void FASTFS_BLAS_SYMBOL(dsygst)(FASTFS_IN_, FASTFS_CHAR_, FASTFS_IN_, double*, FASTFS_IN_, FASTFS_DBL_, FASTFS_IN_,
                                FASTFS_OUT_);
void FASTFS_BLAS_SYMBOL(dtrsm)(FASTFS_CHAR_, FASTFS_CHAR_, FASTFS_CHAR_, FASTFS_CHAR_, FASTFS_IN_, FASTFS_IN_,
                               FASTFS_DBL_, FASTFS_DBL_, FASTFS_IN_, double*, FASTFS_IN_);
void FASTFS_BLAS_SYMBOL(dsytrd)(FASTFS_CHAR_, FASTFS_IN_, double*, FASTFS_IN_, double*, double*, double*, double*,
                                FASTFS_IN_, FASTFS_OUT_);
void FASTFS_BLAS_SYMBOL(dstedc)(FASTFS_CHAR_, FASTFS_IN_, double*, double*, double*, FASTFS_IN_, double*, FASTFS_IN_,
                                FASTFS_OUT_, FASTFS_IN_, FASTFS_OUT_);
void FASTFS_BLAS_SYMBOL(dsteqr)(FASTFS_CHAR_, FASTFS_IN_, double*, double*, double*, FASTFS_IN_, double*, FASTFS_OUT_);
void FASTFS_BLAS_SYMBOL(dsyevr)(FASTFS_CHAR_, FASTFS_CHAR_, FASTFS_CHAR_, FASTFS_IN_, double*, FASTFS_IN_, FASTFS_DBL_,
                                FASTFS_DBL_, FASTFS_IN_, FASTFS_IN_, FASTFS_DBL_, FASTFS_OUT_, double*, double*,
                                FASTFS_IN_, FASTFS_OUT_, double*, FASTFS_IN_, FASTFS_OUT_, FASTFS_IN_, FASTFS_OUT_);
#undef FASTFS_IN_
#undef FASTFS_OUT_
#undef FASTFS_CHAR_
#undef FASTFS_DBL_

static inline fastfs_status fastfs_link_blas(void) {
    fastfs_blas table;
    memset(&table, 0, sizeof table);
    table.struct_size = sizeof table;
    table.integer_bits = 8 * (int32_t)sizeof(fastfs_blas_int);
#ifdef FASTFS_BLAS_SET_THREADS
    table.set_num_threads = FASTFS_BLAS_SET_THREADS;
    table.get_num_threads = FASTFS_BLAS_GET_THREADS;
#endif
    table.sgemm = FASTFS_BLAS_SYMBOL(sgemm);
    table.dgemm = FASTFS_BLAS_SYMBOL(dgemm);
    table.dsyrk = FASTFS_BLAS_SYMBOL(dsyrk);
    table.dsymv = FASTFS_BLAS_SYMBOL(dsymv);
    table.dtrmm = FASTFS_BLAS_SYMBOL(dtrmm);
    table.dpotrf = FASTFS_BLAS_SYMBOL(dpotrf);
    table.dpocon = FASTFS_BLAS_SYMBOL(dpocon);
    table.dsygst = FASTFS_BLAS_SYMBOL(dsygst);
    table.dtrsm = FASTFS_BLAS_SYMBOL(dtrsm);
    table.dsytrd = FASTFS_BLAS_SYMBOL(dsytrd);
    table.dstedc = FASTFS_BLAS_SYMBOL(dstedc);
    table.dsteqr = FASTFS_BLAS_SYMBOL(dsteqr);
    table.dsyevr = FASTFS_BLAS_SYMBOL(dsyevr);
    return fastfs_register_blas(&table);
}

#ifdef __cplusplus
}
#endif
#endif
