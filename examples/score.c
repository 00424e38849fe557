/* Scores the features of a matrix from a C pipeline.
 *
 *     cc -std=c99 score.c -I PREFIX/include -L PREFIX/lib -Wl,-rpath,PREFIX/lib -lfastfs -lopenblas -o score
 *     ./score matrix.bin labels.bin N_SAMPLES N_FEATURES
 *
 * PREFIX is the installed package (`python -m fastfs --cflags --libs` prints the options that it takes), or
 * where CMake installed the library. matrix.bin: doubles, row by row; labels.bin: int64, 0 or 1. One score a line.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fastfs/fastfs.h"
#include "fastfs/link_blas.h"

static void* read_all(const char* path, size_t size, size_t count) {
    void* values = malloc(size * count);
    FILE* file = fopen(path, "rb");
    if (values == NULL || file == NULL || fread(values, size, count, file) != count) {
        fprintf(stderr, "expected %zu values in %s\n", count, path);
        exit(2);
    }
    fclose(file);
    return values;
}

static int show(void* user, const char* step, double fraction) {
    (void)user;
    fprintf(stderr, "%3.0f %%  %s\n", 100 * fraction, step);
    return 0; /* anything else would cancel */
}

int main(int argc, char** argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: %s matrix.bin labels.bin N_SAMPLES N_FEATURES\n", argv[0]);
        return 2;
    }
    const long n = atol(argv[3]), d = atol(argv[4]);
    fastfs_matrix X = FASTFS_MATRIX_INIT;
    X.n_rows = n;
    X.n_cols = X.row_stride = d;
    X.values = read_all(argv[1], sizeof(double), (size_t)(n * d));
    int64_t* labels = read_all(argv[2], sizeof(int64_t), (size_t)n);

    fastfs_run run = FASTFS_RUN_INIT;
    run.progress = show;
    fastfs_manifest_scale scale = FASTFS_MANIFEST_SCALE_INIT;
    scale.value = 0.1; /* times the median distance */
    fastfs_manifest_result result = FASTFS_MANIFEST_RESULT_INIT;

    fastfs_manifest* manifest = NULL;
    fastfs_fitted* fitted = NULL;
    if (fastfs_link_blas() != FASTFS_OK || fastfs_manifest_new(&X, 1, 0, &run, &manifest) != FASTFS_OK ||
        fastfs_manifest_fit(manifest, labels, 2, NULL, &scale, 1, &run, &result, &fitted) != FASTFS_OK) {
        fprintf(stderr, "%s\n", fastfs_last_error());
        return 1;
    }
    fastfs_manifest_free(manifest);
    for (long j = 0; j < d; ++j) printf("%.17g\n", result.scores[j]);
    fastfs_fitted_free(fitted); /* and with it the scores */
    return 0;
}
