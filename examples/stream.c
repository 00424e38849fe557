/* Scores the features of a table that is read in blocks of rows: ReliefF, two passes, which two streams share.
 *
 *     cc -std=c99 stream.c -I PREFIX/include -L PREFIX/lib -Wl,-rpath,PREFIX/lib -lfastfs -lopenblas -o stream
 *     ./stream matrix.bin labels.bin N_SAMPLES N_FEATURES
 *
 * Arguments are those of score.c. Rows come from the file in blocks; the two streams could as well be on two threads,
 * or in two processes that send each other what fastfs_stream_save writes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fastfs/fastfs.h"
#include "fastfs/link_blas.h"

enum { BLOCK_ROWS = 50 };

static void stop_unless(int good, const char* message) {
    if (good) return;
    fprintf(stderr, "%s\n", message);
    exit(1);
}

static void ok(fastfs_status status) { stop_unless(status == FASTFS_OK, fastfs_last_error()); }

int main(int argc, char** argv) {
    stop_unless(argc == 5, "usage: stream matrix.bin labels.bin N_SAMPLES N_FEATURES");
    const long n = atol(argv[3]), d = atol(argv[4]);
    FILE *rows = fopen(argv[1], "rb"), *classes = fopen(argv[2], "rb");
    double* values = malloc(sizeof(double) * BLOCK_ROWS * (size_t)d);
    int64_t* labels = malloc(sizeof(int64_t) * (size_t)n);
    stop_unless(rows && classes && values && labels, "can't open the files, or too little memory");
    stop_unless(fread(labels, sizeof(int64_t), (size_t)n, classes) == (size_t)n, "too few labels");
    ok(fastfs_link_blas());

    fastfs_stream* stream = NULL;
    ok(fastfs_relief_stream_new(n, d, labels, 2, FASTFS_SCALE_RANGE, NULL, NULL, &stream));
    for (int pass = 1; pass <= 2; ++pass) {
        fastfs_stream* other = NULL;
        ok(fastfs_stream_copy(stream, &other)); /* at the start of the pass */
        rewind(rows);
        for (long first = 0; first < n; first += BLOCK_ROWS) {
            fastfs_matrix X = FASTFS_MATRIX_INIT;
            X.values = values;
            X.n_rows = n - first < BLOCK_ROWS ? n - first : BLOCK_ROWS;
            X.n_cols = d;
            const size_t count = (size_t)(X.n_rows * d);
            stop_unless(fread(values, sizeof(double), count, rows) == count, "too few values");
            fastfs_block block = FASTFS_BLOCK_INIT;
            block.X = &X;
            block.first_row = first;
            ok(fastfs_stream_update(first / BLOCK_ROWS % 2 == 0 ? stream : other, &block, NULL));
        }
        ok(fastfs_stream_merge(stream, other));
        fastfs_stream_free(other);
        if (pass == 1) ok(fastfs_stream_next(stream, NULL));
    }
    fastfs_relief_result result = FASTFS_RELIEF_RESULT_INIT;
    fastfs_fitted* fitted = NULL;
    ok(fastfs_relief_stream_finish(stream, NULL, 0, NULL, &result, &fitted));
    fastfs_stream_free(stream);
    for (long j = 0; j < d; ++j) printf("%.17g\n", result.scores[j]); /* which fitted owns */
    fastfs_fitted_free(fitted);
    return 0;
}
