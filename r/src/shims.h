/* What the shims share: how R's lists become structs of fastfs.h, and structs lists. */
#ifndef FASTFS_R_SHIMS_H
#define FASTFS_R_SHIMS_H

#ifndef R_NO_REMAP
#define R_NO_REMAP
#endif
#include <Rinternals.h>
#include <stddef.h>

#include "fastfs/fastfs.h"

/* ---- options: a named list becomes a struct, as fastfs_fields says ---------------------------------------------- */

/* Reads a list into the struct with this name. TRUE and FALSE become 1 and 0, words their values. Vectors of doubles
 * and of 32-bit integers are taken as they are, and NULL stands for none; 64-bit integers are a copy that lasts for the
 * call. A vector sets the field that holds its length. An element that the struct lacks is an error, as a defect of the
 * R code above. */
void read_options(const char* type, SEXP given, void* options);
const char* option_word(const char* type, const char* option, int32_t value);

struct word {
    const char* name;
    int32_t value;
};

int32_t number_of(const char* option, const char* word, const struct word* words);
const char* word_of(int32_t value, const struct word* words);

/* ---- results ----------------------------------------------------------------------------------------------------- */

enum kind { I32, I64, F64, DOUBLES, INT32S, INT64S };

struct output {
    const char* name;
    size_t offset;
    enum kind kind; /* a number, or an array of rows x cols, row-major */
    size_t rows,
        cols; /* offsets of the int64_t that hold them; cols 0: a vector; rows 0, too: one number per feature */
    int more_rows;
};

/* Appends what the table says to a list, from a filled struct. A row-major array of rows x cols becomes a matrix with
 * cols rows: the same numbers in R's order. */
void add_outputs(SEXP list, const void* result, const struct output* table, size_t n, R_xlen_t n_features);
#define ADD_OUTPUTS(list, result, table, n_features) \
    add_outputs(list, &(result), table, sizeof(table) / sizeof(table[0]), n_features)

/* A list with room for n named elements, which add() fills in turn. The caller protects it. */
SEXP new_list(int n);
SEXP add(SEXP list, const char* name, SEXP value); /* returns value, which the list protects */
SEXP of_int64s(const int64_t* values, R_xlen_t n); /* doubles */
SEXP of_doubles(const double* values, R_xlen_t n);

/* ---- data -------------------------------------------------------------------------------------------------------- */

SEXP element(SEXP list, const char* name); /* R_NilValue if there is none */
double number(SEXP list, const char* name);
void read_matrix(SEXP given, fastfs_matrix* X);
const int64_t* as_int64s(SEXP given); /* NULL for NULL; lasts for the call */

/* ---- calls ------------------------------------------------------------------------------------------------------- */

struct call {
    fastfs_run run;
    int is_verbose, is_interrupted;
    double started, shown; /* seconds; shown: when the bar was drawn last, or 0 */
};

/* given: a list of n_threads, max_memory and verbose. run points to the call, which must stay where it is. */
void begin_call(struct call* call, SEXP given);
/* R_NilValue if status is FASTFS_OK, else the error as a list of class "fastfs_failure". */
SEXP end_call(struct call* call, fastfs_status status);
/* The warnings of the last call: a list of their code, message and places for each. */
SEXP last_warnings(void);
/* Ends the shim if the call has failed. */
#define RETURN_FAILURE(call, status)                       \
    do {                                                   \
        SEXP failure = PROTECT(end_call(&(call), status)); \
        if (failure != R_NilValue) {                       \
            UNPROTECT(1 + n_protected);                    \
            return failure;                                \
        }                                                  \
        UNPROTECT(1);                                      \
    } while (0)

/* A handle of the core, which keeps `keep` alive and is freed with the pointer. */
SEXP new_handle(const char* tag, SEXP keep, R_CFinalizer_t free);
void* handle_of(SEXP pointer, const char* tag);

/* The owner of the arrays of a result, which is freed when R has copies of them, or if R stops before. */
extern const char fitted_tag[];
void free_fitted(SEXP pointer);
/* Ends the shim if a call that makes `fitted` has failed; otherwise `owner` keeps it. */
#define RETURN_FAILED_FIT(status_of_call)            \
    do {                                             \
        const fastfs_status status = status_of_call; \
        R_SetExternalPtrAddr(owner, fitted);         \
        RETURN_FAILURE(call, status);                \
    } while (0)

/* inference.c */
SEXP design_new(SEXP given, SEXP names, SEXP given_run);
SEXP design_get(SEXP pointer, SEXP given_run);
SEXP design_labelings(SEXP pointer, SEXP first, SEXP given_count, SEXP has_numbers, SEXP n_samples, SEXP given_run);
SEXP design_subsamples(SEXP pointer, SEXP halves, SEXP fraction, SEXP given_count, SEXP n_samples, SEXP given_run);
SEXP null_new(SEXP design_pointer, SEXP given, SEXP method_name, SEXP given_run);
SEXP null_add(SEXP pointer, SEXP scores, SEXP statistic, SEXP given_next, SEXP given_run);
SEXP null_get(SEXP pointer, SEXP given_run);
SEXP stability(SEXP n_features, SEXP selected, SEXP begins, SEXP scores, SEXP halves, SEXP threshold, SEXP given_run);

/* Registers R's BLAS and LAPACK; an error of R if that fails. */
void register_blas(void);

#endif
