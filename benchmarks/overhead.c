/* CPU seconds a call of fastfs_affinity on 8 x 8 values takes: one line for each batch of calls. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fastfs/fastfs.h"

int main(int argc, char** argv) {
    const int batches = argc > 1 ? atoi(argv[1]) : 200, calls = argc > 2 ? atoi(argv[2]) : 1000;
    double values[64], out[64];
    for (int i = 0; i < 64; ++i) values[i] = (double)(i * 37 % 64) / 64;
    fastfs_matrix X = FASTFS_MATRIX_INIT;
    X.values = values;
    X.n_rows = X.n_cols = X.row_stride = 8;
    for (int batch = -10; batch < batches; ++batch) {
        const clock_t start = clock();
        for (int call = 0; call < calls; ++call) {
            if (fastfs_affinity(&X, NULL, NULL, out) != FASTFS_OK) {
                fprintf(stderr, "%s\n", fastfs_last_error());
                return 1;
            }
        }
        const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC / calls;
        if (batch >= 0) printf("%.4g\n", seconds);
    }
    return 0;
}
