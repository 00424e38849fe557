/* A plug-in that scores features by ManiFeSt, in any host: a program, or a Python that has imported fastfs or will.
 *
 *     cc -std=c99 -shared -fPIC plugin.c -I INCLUDE -L LIB -lfastfs -lopenblas -o plugin.so
 *
 * One process has one BLAS for all users of fastfs: the first that is registered. A plug-in offers its own, and goes on
 * with any that there is.
 */
#include "fastfs/fastfs.h"
#include "fastfs/link_blas.h"

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

/* 0: ready, with the plug-in's own BLAS; 1: ready, with that of somebody who came first; -1: plugin_error() tells. */
EXPORT int plugin_start(void) {
    if (fastfs_abi_version() != FASTFS_ABI_VERSION) return -1;
    const fastfs_status status = fastfs_link_blas();
    return status == FASTFS_OK ? 0 : status == FASTFS_EEXIST ? 1 : -1;
}

EXPORT const char* plugin_error(void) {
    if (fastfs_abi_version() != FASTFS_ABI_VERSION) return "this libfastfs has another ABI than the plug-in's fastfs.h";
    return fastfs_last_error();
}

/* X: n x d, row by row; labels: n, of two classes; scores: d. 0, or else plugin_error() tells. */
EXPORT int plugin_score(const double* values, int64_t n, int64_t d, const int64_t* labels, double* scores) {
    fastfs_matrix X = FASTFS_MATRIX_INIT;
    X.n_rows = n;
    X.n_cols = X.row_stride = d;
    X.values = values;
    fastfs_manifest_scale scale = FASTFS_MANIFEST_SCALE_INIT;
    scale.value = 0.1; /* times the median distance */
    fastfs_manifest_result result = FASTFS_MANIFEST_RESULT_INIT;
    fastfs_fitted* fitted = NULL;
    fastfs_manifest* manifest = NULL;
    fastfs_status status = fastfs_manifest_new(&X, 1, 0, NULL, &manifest);
    if (status == FASTFS_OK) status = fastfs_manifest_fit(manifest, labels, 2, NULL, &scale, 1, NULL, &result, &fitted);
    for (int64_t j = 0; status == FASTFS_OK && j < d; ++j) scores[j] = result.scores[j];
    fastfs_fitted_free(fitted);
    fastfs_manifest_free(manifest);
    return status;
}
