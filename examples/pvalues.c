/* P-values of ReliefF's scores, from a C pipeline: the same as those of Python and R for this seed.
 *
 *     cc -std=c99 pvalues.c -I PREFIX/include -L PREFIX/lib -Wl,-rpath,PREFIX/lib -lfastfs -o pvalues
 *     ./pvalues matrix.bin labels.bin N_SAMPLES N_FEATURES
 *
 * Arguments are those of score.c. One family-wise p-value per line; warnings and the p-value of all features together
 * go to stderr.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fastfs/fastfs.h"

static void stop_unless(int good, const char* message) {
    if (good) return;
    fprintf(stderr, "%s\n", message);
    exit(1);
}

static void ok(fastfs_status status) { stop_unless(status == FASTFS_OK, fastfs_last_error()); }

static void* read_all(const char* path, size_t size, size_t count) {
    void* values = malloc(size * count);
    FILE* file = fopen(path, "rb");
    stop_unless(values && file && fread(values, size, count, file) == count, "too few values");
    fclose(file);
    return values;
}

/* Writes what the last call warns of. */
static void say_warnings(void) {
    const fastfs_warning* warning;
    for (int32_t i = 0; (warning = fastfs_last_warning(i)) != NULL; ++i) fprintf(stderr, "%s\n", warning->message);
}

int main(int argc, char** argv) {
    stop_unless(argc == 5, "usage: pvalues matrix.bin labels.bin N_SAMPLES N_FEATURES");
    const long n = atol(argv[3]), d = atol(argv[4]);
    fastfs_matrix X = FASTFS_MATRIX_INIT;
    X.n_rows = n;
    X.n_cols = d;
    X.values = read_all(argv[1], sizeof(double), (size_t)(n * d));
    int64_t* labels = read_all(argv[2], sizeof(int64_t), (size_t)n);
    int64_t* permuted = malloc(sizeof(int64_t) * (size_t)n);
    stop_unless(permuted != NULL, "too little memory");

    /* Which labels may change places: here all; blocks, groups and covariates say less. */
    fastfs_design_options columns = FASTFS_DESIGN_OPTIONS_INIT;
    columns.n_samples = n;
    columns.labels = labels;
    columns.n_labels = 2;
    columns.n_permutations = 199;
    columns.seed = 7;
    fastfs_design* design = NULL;
    ok(fastfs_design_new(&columns, NULL, &design));
    say_warnings();
    fastfs_design_facts facts = FASTFS_DESIGN_FACTS_INIT;
    ok(fastfs_design_get(design, &facts));

    /* Distances don't depend on labels: they are computed once. */
    fastfs_margin_options stage = FASTFS_MARGIN_OPTIONS_INIT;
    stage.keep = FASTFS_KEEP_MANHATTAN;
    fastfs_margin* margin = NULL;
    ok(fastfs_margin_new(&X, &stage, NULL, &margin));
    fastfs_relief_result fit = FASTFS_RELIEF_RESULT_INIT;
    fastfs_fitted* fitted = NULL;
    ok(fastfs_relief(margin, labels, 2, NULL, NULL, &fit, &fitted));

    fastfs_null_options options = FASTFS_NULL_OPTIONS_INIT;
    options.n_features = d;
    options.scores = fit.scores; /* which fitted owns */
    options.method_name = "ReliefF";
    fastfs_null* null = NULL;
    ok(fastfs_null_new(design, &options, NULL, &null));
    fastfs_fitted_free(fitted);
    for (int64_t next = 0; next >= 0;) {
        ok(fastfs_design_labelings(design, next, 1, NULL, permuted, NULL));
        ok(fastfs_relief(margin, permuted, 2, NULL, NULL, &fit, &fitted));
        ok(fastfs_null_add(null, fit.scores, NULL, 1, &next));
        fastfs_fitted_free(fitted);
    }
    fastfs_null_result found = FASTFS_NULL_RESULT_INIT;
    ok(fastfs_null_get(null, &found));
    say_warnings();
    fprintf(stderr, "p = %g (%s, %d labelings)\n", found.pvalue, facts.description, (int)found.n_labelings);
    for (long j = 0; j < d; ++j) printf("%.17g\n", found.pvalues_max[j]);
    fastfs_null_free(null);
    fastfs_margin_free(margin);
    fastfs_design_free(design);
    return 0;
}
