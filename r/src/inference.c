/* Shims of designs, null distributions and stability. */
#include "shims.h"

#include <R_ext/Memory.h>
#include <math.h>

static const char design_tag[] = "fastfs_design", null_tag[] = "fastfs_null";

static void free_design(SEXP pointer) {
    fastfs_design_free(R_ExternalPtrAddr(pointer));
    R_ClearExternalPtr(pointer);
}

static void free_null(SEXP pointer) {
    fastfs_null_free(R_ExternalPtrAddr(pointer));
    R_ClearExternalPtr(pointer);
}

/* Returns pointers to UTF-8 texts that last for the call, or NULL for NULL. */
static const char* const* texts_or_null(SEXP given) {
    if (given == R_NilValue) return NULL;
    const R_xlen_t n = Rf_xlength(given);
    const char** texts = (const char**)R_alloc((size_t)n + 1, sizeof(char*));
    for (R_xlen_t i = 0; i < n; ++i) texts[i] = Rf_translateCharUTF8(STRING_ELT(given, i));
    return texts;
}

static SEXP text_or_null(const char* text) {
    return text == NULL ? R_NilValue : Rf_ScalarString(Rf_mkCharCE(text, CE_UTF8));
}

/* Returns a handle of a design, or the failure. given: the options without names; names: label_names, block_names and
 * group_names, or NULL each. */
SEXP design_new(SEXP given, SEXP names, SEXP given_run) {
    fastfs_design_options options = FASTFS_DESIGN_OPTIONS_INIT;
    struct call call;
    fastfs_design* design = NULL;
    int n_protected = 1;
    SEXP pointer = PROTECT(new_handle(design_tag, R_NilValue, free_design));
    read_options("fastfs_design_options", given, &options);
    options.label_names = texts_or_null(element(names, "label_names"));
    options.block_names = texts_or_null(element(names, "block_names"));
    options.group_names = texts_or_null(element(names, "group_names"));
    begin_call(&call, given_run);
    const fastfs_status status = fastfs_design_new(&options, &call.run, &design);
    R_SetExternalPtrAddr(pointer, design);
    RETURN_FAILURE(call, status);
    UNPROTECT(n_protected);
    return pointer;
}

/* Returns the facts of a design as a list, or the failure. */
SEXP design_get(SEXP pointer, SEXP given_run) {
    const fastfs_design* design = handle_of(pointer, design_tag);
    fastfs_design_facts f = FASTFS_DESIGN_FACTS_INIT;
    struct call call;
    int n_protected = 1;
    SEXP found = PROTECT(new_list(14));
    begin_call(&call, given_run);
    RETURN_FAILURE(call, fastfs_design_get(design, &f));
    add(found, "n_samples", Rf_ScalarReal((double)f.n_samples));
    add(found, "n_labelings", Rf_ScalarReal((double)f.n_labelings));
    add(found, "exact", Rf_ScalarLogical(f.exact));
    add(found, "n_distinct", Rf_ScalarReal(f.n_distinct));
    add(found, "smallest_pvalue", Rf_ScalarReal(f.smallest_pvalue));
    add(found, "n_units", Rf_ScalarReal((double)f.n_units));
    add(found, "moves_groups", Rf_ScalarLogical(f.moves_groups));
    add(found, "description", text_or_null(f.description));
    add(found, "confounded", text_or_null(f.confounded));
    add(found, "drawn", text_or_null(f.drawn));
    add(found, "n_strata", Rf_ScalarReal((double)f.n_strata));
    add(found, "drawn_units", of_int64s(f.drawn_units, (R_xlen_t)f.n_samples));
    add(found, "strata", of_int64s(f.strata, (R_xlen_t)f.n_drawn));
    UNPROTECT(n_protected);
    return found;
}

/* Returns a matrix with a column for each labeling: integers from 0, or numbers. */
SEXP design_labelings(SEXP pointer, SEXP first, SEXP given_count, SEXP has_numbers, SEXP n_samples, SEXP given_run) {
    const fastfs_design* design = handle_of(pointer, design_tag);
    const int count = Rf_asInteger(given_count), n = Rf_asInteger(n_samples), is_number = Rf_asLogical(has_numbers);
    struct call call;
    int n_protected = 1;
    SEXP found = PROTECT(Rf_allocMatrix(is_number ? REALSXP : INTSXP, n, count));
    const R_xlen_t size = (R_xlen_t)n * count;
    int64_t* labels = is_number ? NULL : (int64_t*)R_alloc((size_t)size + 1, sizeof(int64_t));
    begin_call(&call, given_run);
    RETURN_FAILURE(call, fastfs_design_labelings(design, (int64_t)Rf_asReal(first), count, &call.run, labels,
                                                 is_number ? REAL(found) : NULL));
    for (R_xlen_t i = 0; i < size && !is_number; ++i) INTEGER(found)[i] = (int)labels[i];
    UNPROTECT(n_protected);
    return found;
}

/* Returns a matrix with a column of 0 and 1 for each subsample. */
SEXP design_subsamples(SEXP pointer, SEXP halves, SEXP fraction, SEXP given_count, SEXP n_samples, SEXP given_run) {
    const fastfs_design* design = handle_of(pointer, design_tag);
    fastfs_subsamples_options options = FASTFS_SUBSAMPLES_OPTIONS_INIT;
    const int count = Rf_asInteger(given_count);
    struct call call;
    int n_protected = 1;
    options.halves = Rf_asLogical(halves);
    options.fraction = Rf_asReal(fraction);
    SEXP found = PROTECT(Rf_allocMatrix(INTSXP, Rf_asInteger(n_samples), count));
    begin_call(&call, given_run);
    RETURN_FAILURE(call, fastfs_design_subsamples(design, &options, 0, count, INTEGER(found)));
    UNPROTECT(n_protected);
    return found;
}

/* Returns a handle of the null distribution of a design, which takes the true scores, or the failure. */
SEXP null_new(SEXP design_pointer, SEXP given, SEXP method_name, SEXP given_run) {
    const fastfs_design* design = handle_of(design_pointer, design_tag);
    fastfs_null_options options = FASTFS_NULL_OPTIONS_INIT;
    struct call call;
    fastfs_null* null = NULL;
    int n_protected = 1;
    SEXP pointer = PROTECT(new_handle(null_tag, R_NilValue, free_null));
    read_options("fastfs_null_options", given, &options);
    options.method_name = Rf_translateCharUTF8(Rf_asChar(method_name));
    begin_call(&call, given_run);
    const fastfs_status status = fastfs_null_new(design, &options, &call.run, &null);
    R_SetExternalPtrAddr(pointer, null);
    RETURN_FAILURE(call, status);
    UNPROTECT(n_protected);
    return pointer;
}

/* Adds the scores under labeling given_next, and returns the number of the next labeling, or -1 at the end. */
SEXP null_add(SEXP pointer, SEXP scores, SEXP statistic, SEXP given_next, SEXP given_run) {
    fastfs_null* null = handle_of(pointer, null_tag);
    const double overall = Rf_asReal(statistic);
    int64_t next = (int64_t)Rf_asReal(given_next);
    struct call call;
    int n_protected = 0;
    begin_call(&call, given_run);
    RETURN_FAILURE(call, fastfs_null_add(null, REAL(scores), &overall, 1, &next));
    return Rf_ScalarReal((double)next);
}

static SEXP of_flags(const int32_t* values, R_xlen_t n) {
    SEXP found = Rf_allocVector(LGLSXP, n);
    for (R_xlen_t i = 0; i < n; ++i) LOGICAL(found)[i] = values[i];
    return found;
}

/* Returns the p-values, the scores z, and the moments of the scores under labelings as a list, or the failure. */
SEXP null_get(SEXP pointer, SEXP given_run) {
    fastfs_null* null = handle_of(pointer, null_tag);
    fastfs_null_result r = FASTFS_NULL_RESULT_INIT;
    struct call call;
    int n_protected = 1;
    SEXP found = PROTECT(new_list(18));
    begin_call(&call, given_run);
    RETURN_FAILURE(call, fastfs_null_get(null, &r));
    const R_xlen_t d = r.z == NULL ? 0 : (R_xlen_t)r.n_features;
    add(found, "n_passes", Rf_ScalarInteger(r.n_passes));
    add(found, "n_permutations", Rf_ScalarReal((double)r.n_labelings));
    add(found, "exact", Rf_ScalarLogical(r.exact));
    add(found, "stopped", Rf_ScalarLogical(r.stopped));
    add(found, "statistic", Rf_ScalarReal(r.statistic));
    add(found, "pvalue", Rf_ScalarReal(r.pvalue));
    add(found, "resolution", Rf_ScalarReal(r.resolution));
    add(found, "label_free", Rf_ScalarReal(isnan(r.label_free) ? NA_REAL : r.label_free));
    add(found, "z", of_doubles(r.z, d));
    add(found, "pvalues", of_doubles(r.pvalues, d));
    add(found, "pvalues_adjusted", of_doubles(r.pvalues_adjusted, d));
    add(found, "pvalues_max", of_doubles(r.pvalues_max, d));
    add(found, "null_mean", of_doubles(r.mean, d));
    add(found, "null_sd", of_doubles(r.sd, d));
    add(found, "null_skew", of_doubles(r.skew, d));
    add(found, "degenerate", of_flags(r.degenerate, d));
    add(found, "null_statistics", of_doubles(r.statistics, (R_xlen_t)r.n_labelings));
    UNPROTECT(n_protected);
    return found;
}

static SEXP number_or_na(double value) { return Rf_ScalarReal(isnan(value) ? NA_REAL : value); }

/* Returns the stability of selections as a list. selected: columns from 0 of all selections, which begin at `begins`;
 * scores: NULL, or a list of vectors. */
SEXP stability(SEXP n_features, SEXP selected, SEXP begins, SEXP scores, SEXP halves, SEXP threshold, SEXP given_run) {
    fastfs_stability_options options = FASTFS_STABILITY_OPTIONS_INIT;
    fastfs_stability_result r = FASTFS_STABILITY_RESULT_INIT;
    fastfs_fitted* fitted = NULL;
    struct call call;
    int n_protected = 2;
    options.n_selections = Rf_xlength(begins) - 1;
    options.n_features = (int64_t)Rf_asReal(n_features);
    options.selected = as_int64s(selected);
    options.begins = as_int64s(begins);
    options.halves = Rf_asLogical(halves);
    options.threshold = Rf_asReal(threshold);
    if (scores != R_NilValue) {
        const double** rows = (const double**)R_alloc((size_t)options.n_selections, sizeof(double*));
        for (R_xlen_t m = 0; m < options.n_selections; ++m) rows[m] = REAL(VECTOR_ELT(scores, m));
        options.scores = rows;
    }
    SEXP found = PROTECT(new_list(7));
    SEXP owner = PROTECT(new_handle(fitted_tag, R_NilValue, free_fitted));
    begin_call(&call, given_run);
    RETURN_FAILED_FIT(fastfs_stability(&options, &r, &fitted));
    add(found, "frequencies", of_doubles(r.frequencies, (R_xlen_t)options.n_features));
    add(found, "stability", number_or_na(r.stability));
    add(found, "variance", number_or_na(r.variance));
    add(found, "relevance_correlation", number_or_na(r.relevance_correlation));
    add(found, "relevance_pearson", number_or_na(r.relevance_pearson));
    add(found, "rare_bound", number_or_na(r.rare_bound));
    add(found, "rare_bound_unimodal", number_or_na(r.rare_bound_unimodal));
    free_fitted(owner);
    UNPROTECT(n_protected);
    return found;
}
