/* The methods: R's lists in, calls of fastfs.h, lists out. What R calls is at the end. */
#include "shims.h"

#include <R_ext/Error.h>
#include <R_ext/Memory.h>
#include <R_ext/Rdynload.h>
#include <R_ext/Visibility.h>

#define AT(type, member) offsetof(type, member)

/* ---- margins ----------------------------------------------------------------------------------------------------- */

static const char margin_tag[] = "fastfs_margin";

static void free_margin(SEXP pointer) {
    fastfs_margin_free(R_ExternalPtrAddr(pointer));
    R_ClearExternalPtr(pointer);
}

/* Returns a handle of the margins of X, which keeps X and its options, or the failure of the call, as all shims do. */
static SEXP margin_new(SEXP given_X, SEXP given, SEXP given_run) {
    fastfs_margin_options options = FASTFS_MARGIN_OPTIONS_INIT;
    fastfs_matrix X;
    struct call call;
    fastfs_margin* margin = NULL;
    int n_protected = 2;
    SEXP keep = PROTECT(Rf_list2(given_X, given));
    SEXP pointer = PROTECT(new_handle(margin_tag, keep, free_margin));
    read_options("fastfs_margin_options", given, &options);
    read_matrix(given_X, &X);
    begin_call(&call, given_run);
    const fastfs_status status = fastfs_margin_new(&X, &options, &call.run, &margin);
    R_SetExternalPtrAddr(pointer, margin);
    RETURN_FAILURE(call, status);
    UNPROTECT(n_protected);
    return pointer;
}

/* Restricts a margin to features (from 0) with weights, and returns NULL or the failure. */
static SEXP margin_use(SEXP pointer, SEXP features, SEXP weights, SEXP given_run) {
    struct call call;
    const int64_t* columns = as_int64s(features);
    begin_call(&call, given_run);
    int n_protected = 0;
    RETURN_FAILURE(call, fastfs_margin_use(handle_of(pointer, margin_tag), columns, Rf_xlength(features), REAL(weights),
                                           &call.run));
    return R_NilValue;
}

/* The X of a handle that keeps it first. */
static SEXP kept_X(SEXP pointer) { return CAR(R_ExternalPtrProtected(pointer)); }

static const struct output relief_outputs[] = {
    {"stored", AT(fastfs_relief_result, stored), I32, 0, 0, 0},
    {"n_apart", AT(fastfs_relief_result, n_apart), I64, 0, 0, 0},
    {"scores", AT(fastfs_relief_result, scores), DOUBLES, 0, 0, 0},
    {"scores_se", AT(fastfs_relief_result, scores_se), DOUBLES, 0, 0, 0},
};

/* Fits a method of the RELIEF family to a margin, and returns its outputs as a list, or the failure. */
static SEXP relief(SEXP pointer, SEXP labels, SEXP n_classes, SEXP given, SEXP given_run) {
    const fastfs_margin* margin = handle_of(pointer, margin_tag);
    fastfs_relief_options options = FASTFS_RELIEF_OPTIONS_INIT;
    fastfs_relief_result result = FASTFS_RELIEF_RESULT_INIT;
    fastfs_fitted* fitted = NULL;
    struct call call;
    int n_protected = 2;
    read_options("fastfs_relief_options", given, &options);
    SEXP found = PROTECT(new_list(4));
    SEXP owner = PROTECT(new_handle(fitted_tag, R_NilValue, free_fitted));
    const int64_t* y = as_int64s(labels);
    begin_call(&call, given_run);
    RETURN_FAILED_FIT(fastfs_relief(margin, y, (int64_t)Rf_asReal(n_classes), &options, &call.run, &result, &fitted));
    ADD_OUTPUTS(found, result, relief_outputs, (R_xlen_t)number(kept_X(pointer), "n_cols"));
    free_fitted(owner);
    UNPROTECT(n_protected);
    return found;
}

static const struct output im4e_outputs[] = {
    {"stored", AT(fastfs_im4e_result, stored), I32, 0, 0, 0},
    {"n_iter", AT(fastfs_im4e_result, n_iter), I64, 0, 0, 0},
    {"converged", AT(fastfs_im4e_result, converged), I32, 0, 0, 0},
    {"sigma", AT(fastfs_im4e_result, sigma), F64, 0, 0, 0},
    {"weights", AT(fastfs_im4e_result, weights), DOUBLES, 0, 0, 0},
    {"cost", AT(fastfs_im4e_result, cost), DOUBLES, AT(fastfs_im4e_result, n_iter), 0, 0},
    {"objective", AT(fastfs_im4e_result, objective), DOUBLES, AT(fastfs_im4e_result, n_iter), 0, 0},
};

/* Fits IM4E to a margin, and returns its outputs as a list, or the failure. */
static SEXP im4e(SEXP pointer, SEXP labels, SEXP n_classes, SEXP given, SEXP given_run) {
    const fastfs_margin* margin = handle_of(pointer, margin_tag);
    fastfs_im4e_options options = FASTFS_IM4E_OPTIONS_INIT;
    fastfs_im4e_result result = FASTFS_IM4E_RESULT_INIT;
    fastfs_fitted* fitted = NULL;
    struct call call;
    int n_protected = 2;
    read_options("fastfs_im4e_options", given, &options);
    SEXP found = PROTECT(new_list(7));
    SEXP owner = PROTECT(new_handle(fitted_tag, R_NilValue, free_fitted));
    const int64_t* y = as_int64s(labels);
    begin_call(&call, given_run);
    RETURN_FAILED_FIT(fastfs_im4e(margin, y, (int64_t)Rf_asReal(n_classes), &options, &call.run, &result, &fitted));
    ADD_OUTPUTS(found, result, im4e_outputs, (R_xlen_t)number(kept_X(pointer), "n_cols"));
    free_fitted(owner);
    UNPROTECT(n_protected);
    return found;
}

#define OF(member) AT(fastfs_immigrate_result, member)
static const struct output immigrate_outputs[] = {
    {"stored", OF(stored), I32, 0, 0, 0},
    {"n_iter", OF(n_iter), I64, 0, 0, 0},
    {"converged", OF(converged), I32, 0, 0, 0},
    {"sigma", OF(sigma), F64, 0, 0, 0},
    {"cost", OF(cost), DOUBLES, OF(n_iter), 0, 0},
    {"objective", OF(objective), DOUBLES, OF(n_iter), 0, 0},
    {"features", OF(features), INT64S, OF(n_features), 0, 0},
    {"eigenvalues", OF(values), DOUBLES, OF(rank), 0, 0},
    {"eigenvectors", OF(vectors), DOUBLES, OF(rank), OF(n_features), 0},
    {"W", OF(W), DOUBLES, OF(n_features), OF(n_features), 0},
    {"scores", OF(scores), DOUBLES, 0, 0, 0},
    {"prefilter_weights", OF(prefilter_weights), DOUBLES, 0, 0, 0},
};
#undef OF

/* Fits IMMIGRATE to a margin, and returns its outputs as a list, or the failure. */
static SEXP immigrate(SEXP pointer, SEXP labels, SEXP n_classes, SEXP given, SEXP given_run) {
    const fastfs_margin* margin = handle_of(pointer, margin_tag);
    fastfs_immigrate_options options = FASTFS_IMMIGRATE_OPTIONS_INIT;
    fastfs_immigrate_result result = FASTFS_IMMIGRATE_RESULT_INIT;
    fastfs_fitted* fitted = NULL;
    struct call call;
    int n_protected = 2;
    read_options("fastfs_immigrate_options", given, &options);
    SEXP found = PROTECT(new_list(12));
    SEXP owner = PROTECT(new_handle(fitted_tag, R_NilValue, free_fitted));
    const int64_t* y = as_int64s(labels);
    begin_call(&call, given_run);
    RETURN_FAILED_FIT(
        fastfs_immigrate_fit(margin, y, (int64_t)Rf_asReal(n_classes), &options, &call.run, &result, &fitted));
    ADD_OUTPUTS(found, result, immigrate_outputs, (R_xlen_t)number(kept_X(pointer), "n_cols"));
    free_fitted(owner);
    UNPROTECT(n_protected);
    return found;
}

/* Returns a list of the features a and b (from 0) of the pairs with the largest |W|, the largest first. */
static SEXP immigrate_pairs(SEXP values, SEXP vectors, SEXP without_leading, SEXP n_pairs, SEXP given_run) {
    struct call call;
    int n_protected = 1;
    const int64_t rank = Rf_xlength(values), most = (int64_t)Rf_asReal(n_pairs);
    const int64_t n = rank == 0 ? 0 : Rf_xlength(vectors) / rank;
    int64_t* a = (int64_t*)R_alloc((size_t)most + 1, sizeof(int64_t));
    int64_t* b = (int64_t*)R_alloc((size_t)most + 1, sizeof(int64_t));
    double* weights = (double*)R_alloc((size_t)most + 1, sizeof(double));
    int64_t n_found = 0;
    SEXP found = PROTECT(new_list(2));
    begin_call(&call, given_run);
    RETURN_FAILURE(call, fastfs_immigrate_pairs(n, rank, REAL(values), REAL(vectors), Rf_asLogical(without_leading),
                                                most, &call.run, a, b, weights, &n_found));
    add(found, "a", of_int64s(a, n_found));
    add(found, "b", of_int64s(b, n_found));
    UNPROTECT(n_protected);
    return found;
}

/* ---- predictions of IM4E and IMMIGRATE ------------------------------------------------------------------------------
 */

/* Returns a matrix with a column for each row of X: its distances to the classes. */
static SEXP margin_distances(SEXP pointer, SEXP labels, SEXP n_classes_, SEXP given, SEXP given_X, SEXP given_run) {
    const fastfs_margin* margin = handle_of(pointer, margin_tag);
    fastfs_margin_metric metric = FASTFS_MARGIN_METRIC_INIT;
    fastfs_matrix X;
    struct call call;
    int n_protected = 1;
    const int64_t n_classes = (int64_t)Rf_asReal(n_classes_);
    read_options("fastfs_margin_metric", given, &metric);
    read_matrix(given_X, &X);
    SEXP distances = PROTECT(Rf_allocMatrix(REALSXP, (int)n_classes, (int)X.n_rows));
    const int64_t* y = as_int64s(labels);
    begin_call(&call, given_run);
    RETURN_FAILURE(call, fastfs_margin_distances(margin, y, n_classes, &metric, &X, &call.run, REAL(distances)));
    UNPROTECT(n_protected);
    return distances;
}

/* Returns the parts of the margins, sample after sample: of its features, or the rows of its matrix of pairs. */
static SEXP margin_explain(SEXP pointer, SEXP labels, SEXP n_classes, SEXP given, SEXP given_X, SEXP wanted,
                           SEXP given_run) {
    const fastfs_margin* margin = handle_of(pointer, margin_tag);
    fastfs_margin_metric metric = FASTFS_MARGIN_METRIC_INIT;
    fastfs_matrix X;
    struct call call;
    int n_protected = 1;
    read_options("fastfs_margin_metric", given, &metric);
    read_matrix(given_X, &X);
    const int64_t n_parts = metric.weights == NULL ? metric.n_features * metric.n_features : metric.n_features;
    SEXP parts = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)(X.n_rows * n_parts)));
    const int64_t *y = as_int64s(labels), *classes = as_int64s(wanted);
    begin_call(&call, given_run);
    RETURN_FAILURE(call, fastfs_margin_explain(margin, y, (int64_t)Rf_asReal(n_classes), &metric, &X, classes,
                                               &call.run, REAL(parts)));
    UNPROTECT(n_protected);
    return parts;
}

/* ---- ManiFeSt ---------------------------------------------------------------------------------------------------- */

static const char manifest_tag[] = "fastfs_manifest";

static void free_manifest(SEXP pointer) {
    fastfs_manifest_free(R_ExternalPtrAddr(pointer));
    R_ClearExternalPtr(pointer);
}

/* Returns a handle of the samples of X for manifest_fit, which keeps X, or the failure. */
static SEXP manifest_new(SEXP given_X, SEXP keep_distances, SEXP given_run) {
    fastfs_matrix X;
    struct call call;
    fastfs_manifest* manifest = NULL;
    int n_protected = 2;
    SEXP keep = PROTECT(Rf_list1(given_X));
    SEXP pointer = PROTECT(new_handle(manifest_tag, keep, free_manifest));
    read_matrix(given_X, &X);
    begin_call(&call, given_run);
    const fastfs_status status = fastfs_manifest_new(&X, 1, Rf_asLogical(keep_distances), &call.run, &manifest);
    R_SetExternalPtrAddr(pointer, manifest);
    RETURN_FAILURE(call, status);
    UNPROTECT(n_protected);
    return pointer;
}

static const struct word reasons[] = {{"asked", FASTFS_BECAUSE_ASKED},
                                      {"size", FASTFS_BECAUSE_SIZE},
                                      {"memory", FASTFS_BECAUSE_MEMORY},
                                      {"rank", FASTFS_BECAUSE_RANK},
                                      {"form", FASTFS_BECAUSE_FORM},
                                      {"work", FASTFS_BECAUSE_WORK},
                                      {NULL, 0}};

#define OF(member) AT(fastfs_manifest_result, member)
static const struct output manifest_outputs[] = {
    {"scores", OF(scores), DOUBLES, 0, 0, 0},
    {"sigma", OF(sigma), DOUBLES, OF(n_kernels), 0, 0},
    {"kept_trace", OF(kept_trace), DOUBLES, OF(n_kernels), 0, 0},
    {"agreement", OF(agreement), DOUBLES, OF(n_problems), 0, 0},
    {"kernel_rank", OF(ranks), INT64S, OF(n_problems), 0, 0},
    {"exact_bytes", OF(exact_bytes), I64, 0, 0, 0},
};
#undef OF

/* Fits ManiFeSt at one scale to a handle of manifest_new, and returns its outputs as a list, or the failure. */
static SEXP manifest_fit(SEXP pointer, SEXP labels, SEXP n_classes_, SEXP given, SEXP given_scale, SEXP given_run) {
    const fastfs_manifest* manifest = handle_of(pointer, manifest_tag);
    fastfs_manifest_options options = FASTFS_MANIFEST_OPTIONS_INIT;
    fastfs_manifest_scale scale = FASTFS_MANIFEST_SCALE_INIT;
    fastfs_manifest_result result = FASTFS_MANIFEST_RESULT_INIT;
    fastfs_fitted* fitted = NULL;
    struct call call;
    int n_protected = 2;
    const R_xlen_t d = (R_xlen_t)number(kept_X(pointer), "n_cols");
    const int64_t n_classes = (int64_t)Rf_asReal(n_classes_);
    read_options("fastfs_manifest_options", given, &options);
    read_options("fastfs_manifest_scale", given_scale, &scale);
    SEXP found = PROTECT(new_list(options.n_components > 0 ? 13 : 9));
    SEXP owner = PROTECT(new_handle(fitted_tag, R_NilValue, free_fitted));
    const int64_t* y = as_int64s(labels);
    begin_call(&call, given_run);
    RETURN_FAILED_FIT(fastfs_manifest_fit(manifest, y, n_classes, &options, &scale, 1, &call.run, &result, &fitted));
    ADD_OUTPUTS(found, result, manifest_outputs, d);
    add(found, "class_scores", of_doubles(result.class_scores, d * (R_xlen_t)n_classes));
    const R_xlen_t n_pairs = (R_xlen_t)(result.n_problems * result.n_components);
    if (n_pairs > 0) {
        add(found, "mean_eigenvalues", of_doubles(result.mean_values, n_pairs));
        add(found, "mean_eigenvectors", of_doubles(result.mean_vectors, n_pairs * d));
        add(found, "difference_eigenvalues", of_doubles(result.difference_values, n_pairs));
        add(found, "difference_eigenvectors", of_doubles(result.difference_vectors, n_pairs * d));
    }
    add(found, "accuracy", Rf_mkString(option_word("fastfs_manifest_options", "accuracy", result.accuracy)));
    add(found, "reason", Rf_mkString(word_of(result.reason, reasons)));
    free_fitted(owner);
    UNPROTECT(n_protected);
    return found;
}

/* ---- ProjSe ------------------------------------------------------------------------------------------------------ */

#define OF(member) AT(fastfs_projse_result, member)
static const struct output projse_outputs[] = {
    {"center", OF(center), I32, 0, 0, 0},
    {"kernel_rank", OF(rank), I64, 0, 0, 0},
    {"sigma", OF(sigma), F64, 0, 0, 0},
    {"scores", OF(scores), DOUBLES, 0, 0, 0},
    {"selected", OF(selected), INT64S, OF(n_selected), 0, 0},
    {"selection_scores", OF(selection_scores), DOUBLES, OF(n_selected), 0, 0},
    {"gaps", OF(gaps), DOUBLES, OF(n_selected), 0, 0},
    {"captured", OF(captured), DOUBLES, OF(n_selected), 0, 0},
    {"explained", OF(explained), DOUBLES, OF(n_selected), 0, 0},
};
#undef OF

/* Chooses features of X by Y, by labels, or by X itself if both are NULL, and returns the outputs as a list, or the
 * failure. */
static SEXP projse(SEXP given_X, SEXP given_Y, SEXP labels, SEXP n_classes, SEXP given, SEXP given_run) {
    fastfs_projse_options options = FASTFS_PROJSE_OPTIONS_INIT;
    fastfs_projse_result result = FASTFS_PROJSE_RESULT_INIT;
    fastfs_matrix X, Y;
    fastfs_fitted* fitted = NULL;
    struct call call;
    int n_protected = 2;
    read_options("fastfs_projse_options", given, &options);
    read_matrix(given_X, &X);
    if (given_Y != R_NilValue) read_matrix(given_Y, &Y);
    SEXP found = PROTECT(new_list(9));
    SEXP owner = PROTECT(new_handle(fitted_tag, R_NilValue, free_fitted));
    const int64_t* y = as_int64s(labels);
    begin_call(&call, given_run);
    RETURN_FAILED_FIT(fastfs_projse(&X, given_Y == R_NilValue ? NULL : &Y, y, (int64_t)Rf_asReal(n_classes), &options,
                                    &call.run, &result, &fitted));
    ADD_OUTPUTS(found, result, projse_outputs, (R_xlen_t)X.n_cols);
    free_fitted(owner);
    UNPROTECT(n_protected);
    return found;
}

/* Returns a matrix with a column of scores for each labeling, a column of labels. */
static SEXP projse_label_scores(SEXP given_X, SEXP labels, SEXP n_classes, SEXP given, SEXP given_run) {
    fastfs_projse_options options = FASTFS_PROJSE_OPTIONS_INIT;
    fastfs_matrix X;
    struct call call;
    int n_protected = 1;
    read_options("fastfs_projse_options", given, &options);
    read_matrix(given_X, &X);
    const int n_labelings = Rf_ncols(labels);
    SEXP scores = PROTECT(Rf_allocMatrix(REALSXP, (int)X.n_cols, n_labelings));
    const int64_t* y = as_int64s(labels);
    begin_call(&call, given_run);
    RETURN_FAILURE(call, fastfs_projse_label_scores(&X, y, n_labelings, (int64_t)Rf_asReal(n_classes), &options,
                                                    &call.run, REAL(scores)));
    UNPROTECT(n_protected);
    return scores;
}

/* ---- DiSC -------------------------------------------------------------------------------------------------------- */

#define OF(member) AT(fastfs_disc_result, member)
static const struct output disc_outputs[] = {
    {"n_connected_components", OF(n_connected), I64, 0, 0, 0},
    {"n_differential", OF(n_differential), I64, 0, 0, 0},
    {"gap", OF(gap), F64, 0, 0, 0},
    {"ratio", OF(ratio), F64, 0, 0, 0},
    {"significance", OF(significance), DOUBLES, OF(n_vectors), 0, 0},
    {"vectors", OF(vectors), DOUBLES, OF(n_vectors), OF(n_features), 0},
    {"trivial", OF(trivial), INT32S, OF(n_vectors), 0, 0},
    {"eigenvalues", OF(eigenvalues), DOUBLES, OF(n_components), 0, 1},
    {"diffusion", OF(diffusion), DOUBLES, OF(n_components), OF(n_features), 0},
    {"bandwidths", OF(bandwidths), DOUBLES, OF(n_features), 0, 0},
    {"scores", OF(scores), DOUBLES, OF(n_features), 0, 0},
    {"mean", OF(mean), DOUBLES, OF(n_features), 0, 0},
    {"scale", OF(scale), DOUBLES, OF(n_features), 0, 0},
    {"graph_recall", OF(graph_recall), F64, 0, 0, 0},
};
#undef OF

/* Fits DiSC to matrices of samples x features, and returns a list of outputs for each, or the failure. */
static SEXP disc(SEXP given_sets, SEXP n_components, SEXP given, SEXP given_run) {
    fastfs_disc_options options = FASTFS_DISC_OPTIONS_INIT;
    fastfs_fitted* fitted = NULL;
    struct call call;
    int n_protected = 2;
    const R_xlen_t n = Rf_xlength(given_sets);
    fastfs_matrix* X = (fastfs_matrix*)R_alloc((size_t)n, sizeof(fastfs_matrix));
    fastfs_disc_set* sets = (fastfs_disc_set*)R_alloc((size_t)n, sizeof(fastfs_disc_set));
    fastfs_disc_result* fits = (fastfs_disc_result*)R_alloc((size_t)n, sizeof(fastfs_disc_result));
    const fastfs_disc_set empty = FASTFS_DISC_SET_INIT;
    const fastfs_disc_result unfitted = FASTFS_DISC_RESULT_INIT;
    for (R_xlen_t s = 0; s < n; ++s) {
        fits[s] = unfitted;
        read_matrix(VECTOR_ELT(given_sets, s), &X[s]);
        sets[s] = empty;
        sets[s].X = &X[s];
        sets[s].n_components = (int64_t)REAL(n_components)[s];
    }
    read_options("fastfs_disc_options", given, &options);
    SEXP results = PROTECT(Rf_allocVector(VECSXP, n));
    SEXP owner = PROTECT(new_handle(fitted_tag, R_NilValue, free_fitted));
    begin_call(&call, given_run);
    RETURN_FAILED_FIT(fastfs_disc_fit(sets, n, &options, &call.run, fits, &fitted));
    for (R_xlen_t s = 0; s < n; ++s) {
        SEXP found = new_list(14);
        SET_VECTOR_ELT(results, s, found);
        ADD_OUTPUTS(found, fits[s], disc_outputs, (R_xlen_t)fits[s].n_features);
    }
    free_fitted(owner);
    UNPROTECT(n_protected);
    return results;
}

/* ---- I-KDR ------------------------------------------------------------------------------------------------------- */

#define OF(member) AT(fastfs_ikdr_result, member)
static const struct output ikdr_outputs[] = {
    {"converged", OF(converged), I32, 0, 0, 0},
    {"n_iter", OF(n_iter), I64, 0, 0, 0},
    {"lam", OF(lam), F64, 0, 0, 0},
    {"objective", OF(objective), F64, 0, 0, 0},
    {"interpretability", OF(interpretability), F64, 0, 0, 0},
    {"similarity", OF(similarity), F64, 0, 0, 0},
    {"history", OF(history), DOUBLES, OF(n_iter), 0, 0},
    {"A", OF(A), DOUBLES, OF(n_samples), OF(n_components), 0},
    {"embedding", OF(embedding), DOUBLES, OF(n_samples), OF(n_components), 0},
    {"class_profile", OF(profile), DOUBLES, OF(n_classes), OF(n_components), 0},
    {"weights", OF(weights), DOUBLES, OF(n_kernels), 0, 0},
    {"prices", OF(prices), DOUBLES, OF(n_kernels), 0, 0},
    {"deltas", OF(deltas), DOUBLES, OF(n_kernels), 0, 0},
    {"scales", OF(scales), DOUBLES, OF(n_features), 0, 0},
};
#undef OF

/* Fits I-KDR to kernels of groups of the features of X, and returns its outputs as a list, or the failure. */
static SEXP ikdr(SEXP given_X, SEXP given_kernels, SEXP labels, SEXP n_classes, SEXP given, SEXP given_run) {
    fastfs_ikdr_kernels source = FASTFS_IKDR_KERNELS_INIT;
    fastfs_ikdr_options options = FASTFS_IKDR_OPTIONS_INIT;
    fastfs_ikdr_result result = FASTFS_IKDR_RESULT_INIT;
    fastfs_matrix X;
    fastfs_fitted* fitted = NULL;
    struct call call;
    int n_protected = 2;
    read_options("fastfs_ikdr_kernels", given_kernels, &source);
    read_options("fastfs_ikdr_options", given, &options);
    read_matrix(given_X, &X);
    source.X = &X;
    SEXP found = PROTECT(new_list(14));
    SEXP owner = PROTECT(new_handle(fitted_tag, R_NilValue, free_fitted));
    const int64_t* y = as_int64s(labels);
    begin_call(&call, given_run);
    RETURN_FAILED_FIT(
        fastfs_ikdr_fit(&source, y, (int64_t)Rf_asReal(n_classes), &options, &call.run, &result, &fitted));
    ADD_OUTPUTS(found, result, ikdr_outputs, (R_xlen_t)X.n_cols);
    free_fitted(owner);
    UNPROTECT(n_protected);
    return found;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

#define OF(member) AT(fastfs_differential_correlation_result, member)
static const struct output correlation_outputs[] = {
    {"scores", OF(scores), DOUBLES, 0, 0, 0},
    {"constant", OF(constant), INT32S, 0, 0, 0},
    {"rare", OF(rare), INT32S, 0, 0, 0},
    {"statistics", OF(z), DOUBLES, OF(n_pairs), 0, 0},
    {"pvalues", OF(pvalues), DOUBLES, OF(n_pairs), 0, 0},
    {"n_copies", OF(n_copies), I64, 0, 0, 0},
    {"error", OF(error), F64, 0, 0, 0},
};
#undef OF

/* Returns the outputs as a list. Pairs: two columns from 0 each; correlations: one for each class of a pair. */
static SEXP differential_correlation(SEXP given_X, SEXP labels, SEXP given, SEXP given_run) {
    fastfs_differential_correlation_options options = FASTFS_DIFFERENTIAL_CORRELATION_OPTIONS_INIT;
    fastfs_differential_correlation_result result = FASTFS_DIFFERENTIAL_CORRELATION_RESULT_INIT;
    fastfs_fitted* fitted = NULL;
    fastfs_matrix X;
    struct call call;
    int n_protected = 2;
    read_options("fastfs_differential_correlation_options", given, &options);
    read_matrix(given_X, &X);
    SEXP found = PROTECT(new_list(11));
    SEXP owner = PROTECT(new_handle(fitted_tag, R_NilValue, free_fitted));
    const int64_t* y = as_int64s(labels);
    begin_call(&call, given_run);
    RETURN_FAILED_FIT(fastfs_differential_correlation(&X, y, &options, &call.run, &result, &fitted));
    const int64_t n_copies = result.n_copies < FASTFS_CORRELATION_LISTED ? result.n_copies : FASTFS_CORRELATION_LISTED;
    ADD_OUTPUTS(found, result, correlation_outputs, (R_xlen_t)X.n_cols);
    add(found, "null_maxima", of_doubles(result.null_maxima, (R_xlen_t)options.n_labelings));
    add(found, "pairs", of_int64s(result.pairs, 2 * (R_xlen_t)result.n_pairs));
    add(found, "correlations", of_doubles(result.correlations, (R_xlen_t)(options.n_classes * result.n_pairs)));
    add(found, "copies", of_int64s(result.copies, 2 * (R_xlen_t)n_copies));
    free_fitted(owner);
    UNPROTECT(n_protected);
    return found;
}

#define OF(member) AT(fastfs_interaction_result, member)
static const struct output interaction_outputs[] = {
    {"scores", OF(scores), DOUBLES, 0, 0, 0},
    {"constant", OF(constant), INT32S, 0, 0, 0},
    {"statistics", OF(statistics), DOUBLES, OF(n_pairs), 0, 0},
    {"effects", OF(effects), DOUBLES, OF(n_pairs), 0, 0},
    {"standard_errors", OF(errors), DOUBLES, OF(n_pairs), 0, 0},
    {"correlations", OF(correlations), DOUBLES, OF(n_pairs), 0, 0},
    {"pvalues", OF(pvalues), DOUBLES, OF(n_pairs), 0, 0},
    {"n_tested", OF(n_tested), I64, 0, 0, 0},
    {"n_copies", OF(n_copies), I64, 0, 0, 0},
    {"n_products", OF(n_products), I64, 0, 0, 0},
    {"n_explained", OF(n_explained), I64, 0, 0, 0},
    {"degrees", OF(degrees), I64, 0, 0, 0},
    {"rest_degrees", OF(rest_degrees), I64, 0, 0, 0},
};
#undef OF

/* Returns the outputs as a list. given_other: NULL, or a second table. One of labels and y is NULL. */
static SEXP interaction_scan(SEXP given_X, SEXP given_other, SEXP labels, SEXP y, SEXP given, SEXP given_run) {
    fastfs_interaction_options options = FASTFS_INTERACTION_OPTIONS_INIT;
    fastfs_interaction_result result = FASTFS_INTERACTION_RESULT_INIT;
    fastfs_fitted* fitted = NULL;
    fastfs_matrix X, other;
    const int has_other = given_other != R_NilValue;
    struct call call;
    int n_protected = 2;
    read_options("fastfs_interaction_options", given, &options);
    read_matrix(given_X, &X);
    if (has_other) read_matrix(given_other, &other);
    SEXP found = PROTECT(new_list(18));
    SEXP owner = PROTECT(new_handle(fitted_tag, R_NilValue, free_fitted));
    const int64_t* classes = as_int64s(labels);
    const double* numbers = y == R_NilValue ? NULL : REAL(y);
    begin_call(&call, given_run);
    RETURN_FAILED_FIT(fastfs_interaction_scan(&X, has_other ? &other : NULL, classes, numbers, &options, &call.run,
                                              &result, &fitted));
    const int64_t n_all = result.n_copies + result.n_products + result.n_explained;
    const int64_t n_listed = n_all < FASTFS_INTERACTION_LISTED ? n_all : FASTFS_INTERACTION_LISTED;
    ADD_OUTPUTS(found, result, interaction_outputs, (R_xlen_t)X.n_cols);
    add(found, "null_maxima", of_doubles(result.null_maxima, (R_xlen_t)options.n_labelings));
    add(found, "pairs", of_int64s(result.pairs, 2 * (R_xlen_t)result.n_pairs));
    add(found, "excluded", of_int64s(result.excluded, 2 * (R_xlen_t)n_listed));
    if (has_other) {
        add(found, "table_scores", of_doubles(result.other_scores, (R_xlen_t)other.n_cols));
        SEXP constant = add(found, "table_constant", Rf_allocVector(INTSXP, (R_xlen_t)other.n_cols));
        for (int64_t j = 0; j < other.n_cols; ++j) INTEGER(constant)[j] = result.other_constant[j];
    }
    free_fitted(owner);
    UNPROTECT(n_protected);
    return found;
}

#define OF(member) AT(fastfs_snp_pairs_result, member)
static const struct output snp_pairs_outputs[] = {
    {"constant", OF(constant), INT32S, 0, 0, 0},
    {"statistics", OF(statistics), DOUBLES, OF(n_pairs), 0, 0},
    {"degrees", OF(degrees), INT64S, OF(n_pairs), 0, 0},
    {"pvalues", OF(pvalues), DOUBLES, OF(n_pairs), 0, 0},
    {"n_tested", OF(n_tested), I64, 0, 0, 0},
};
#undef OF

#define OF(member) AT(fastfs_snp_pairs_result, member)
static const struct output snp_pairs_of_numbers_outputs[] = {
    {"rest_degrees", OF(rest_degrees), INT64S, OF(n_pairs), 0, 0},
    {"scores", OF(scores), DOUBLES, 0, 0, 0},
    {"n_products", OF(n_products), I64, 0, 0, 0},
    {"n_few", OF(n_few), I64, 0, 0, 0},
    {"n_explained", OF(n_explained), I64, 0, 0, 0},
};
#undef OF

/* Returns the outputs as a list. labels: NULL with numbers in the options. Pairs: two numbers each; tables: 3 x 3 x 2
 * numbers a pair, the class, or the samples and their mean, first in R's order. */
static SEXP snp_pairs(SEXP given_X, SEXP labels, SEXP given, SEXP given_run) {
    fastfs_snp_pairs_options options = FASTFS_SNP_PAIRS_OPTIONS_INIT;
    fastfs_snp_pairs_result result = FASTFS_SNP_PAIRS_RESULT_INIT;
    fastfs_fitted* fitted = NULL;
    fastfs_matrix X;
    struct call call;
    int n_protected = 2;
    read_options("fastfs_snp_pairs_options", given, &options);
    read_matrix(given_X, &X);
    SEXP found = PROTECT(new_list(14));
    SEXP owner = PROTECT(new_handle(fitted_tag, R_NilValue, free_fitted));
    const int64_t* y = as_int64s(labels);
    begin_call(&call, given_run);
    RETURN_FAILED_FIT(fastfs_snp_pairs(&X, y, &options, &call.run, &result, &fitted));
    ADD_OUTPUTS(found, result, snp_pairs_outputs, (R_xlen_t)X.n_cols);
    add(found, "null_maxima", of_doubles(result.null_maxima, (R_xlen_t)options.n_labelings));
    add(found, "pairs", of_int64s(result.pairs, 2 * (R_xlen_t)result.n_pairs));
    if (y != NULL) {
        add(found, "tables", of_int64s(result.tables, 18 * (R_xlen_t)result.n_pairs));
    } else {
        const int64_t n_all = result.n_products + result.n_few + result.n_explained;
        const int64_t n_listed = n_all < FASTFS_INTERACTION_LISTED ? n_all : FASTFS_INTERACTION_LISTED;
        add(found, "tables", of_doubles(result.cells, 18 * (R_xlen_t)result.n_pairs));
        ADD_OUTPUTS(found, result, snp_pairs_of_numbers_outputs, (R_xlen_t)X.n_cols);
        add(found, "excluded", of_int64s(result.excluded, 2 * (R_xlen_t)n_listed));
    }
    free_fitted(owner);
    UNPROTECT(n_protected);
    return found;
}

static const struct output ld_clumps_outputs[] = {
    {"leads", AT(fastfs_ld_clumps_result, leads), INT64S, AT(fastfs_ld_clumps_result, n_clumps), 0, 0},
    {"clump", AT(fastfs_ld_clumps_result, clumps), INT64S, 0, 0, 0},
};

/* Returns a list of the lead of each clump and the clump of each SNP, both from 0, or the failure. */
static SEXP ld_clumps(SEXP given_X, SEXP scores, SEXP given, SEXP given_run) {
    fastfs_ld_clumps_options options = FASTFS_LD_CLUMPS_OPTIONS_INIT;
    fastfs_ld_clumps_result result = FASTFS_LD_CLUMPS_RESULT_INIT;
    fastfs_fitted* fitted = NULL;
    fastfs_matrix X;
    struct call call;
    int n_protected = 2;
    read_options("fastfs_ld_clumps_options", given, &options);
    read_matrix(given_X, &X);
    SEXP found = PROTECT(new_list(2));
    SEXP owner = PROTECT(new_handle(fitted_tag, R_NilValue, free_fitted));
    begin_call(&call, given_run);
    RETURN_FAILED_FIT(fastfs_ld_clumps(&X, REAL(scores), &options, &call.run, &result, &fitted));
    ADD_OUTPUTS(found, result, ld_clumps_outputs, (R_xlen_t)X.n_cols);
    free_fitted(owner);
    UNPROTECT(n_protected);
    return found;
}

/* ---- the machine ------------------------------------------------------------------------------------------------- */

/* Returns a list of the version, the instruction set, and the threads and memory that a call would use. */
static SEXP info(SEXP given_run) {
    struct call call;
    begin_call(&call, given_run);
    SEXP found = PROTECT(new_list(4));
    const char* isa = fastfs_isa();
    add(found, "version", Rf_mkString(fastfs_version()));
    add(found, "isa", isa == NULL ? Rf_ScalarString(NA_STRING) : Rf_mkString(isa));
    int32_t n_threads = 0;
    int64_t max_memory = 0;
    fastfs_run_limits(&call.run, &n_threads, &max_memory);
    add(found, "n_threads", Rf_ScalarInteger(n_threads));
    add(found, "max_memory", Rf_ScalarReal((double)max_memory));
    UNPROTECT(1);
    return found;
}

/* ---- what R calls ------------------------------------------------------------------------------------------------ */

#define SHIM(name, n) {"C_" #name, (DL_FUNC) & name, n}
static const R_CallMethodDef shims[] = {SHIM(margin_new, 3),
                                        SHIM(margin_use, 4),
                                        SHIM(relief, 5),
                                        SHIM(im4e, 5),
                                        SHIM(immigrate, 5),
                                        SHIM(immigrate_pairs, 5),
                                        SHIM(margin_distances, 6),
                                        SHIM(margin_explain, 7),
                                        SHIM(manifest_new, 3),
                                        SHIM(manifest_fit, 6),
                                        SHIM(projse, 6),
                                        SHIM(projse_label_scores, 5),
                                        SHIM(disc, 4),
                                        SHIM(ikdr, 6),
                                        SHIM(differential_correlation, 4),
                                        SHIM(interaction_scan, 6),
                                        SHIM(snp_pairs, 4),
                                        SHIM(ld_clumps, 4),
                                        SHIM(design_new, 3),
                                        SHIM(design_get, 2),
                                        SHIM(design_labelings, 6),
                                        SHIM(design_subsamples, 6),
                                        SHIM(null_new, 4),
                                        SHIM(null_add, 5),
                                        SHIM(null_get, 2),
                                        SHIM(stability, 7),
                                        SHIM(last_warnings, 0),
                                        SHIM(info, 1),
                                        {NULL, NULL, 0}};

void remember_process(void);

void attribute_visible R_init_fastfs(DllInfo* dll) {
    remember_process();
    R_registerRoutines(dll, NULL, shims, NULL, NULL);
    R_useDynamicSymbols(dll, FALSE);
    R_forceSymbols(dll, TRUE);
}
