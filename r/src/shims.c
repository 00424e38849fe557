#include "shims.h"

#include <R_ext/Error.h>
#include <R_ext/Memory.h>
#include <R_ext/Print.h>
#include <R_ext/Utils.h>
#include <string.h>
#include <time.h>
#ifndef _WIN32
#include <unistd.h>
#endif

/* ---- options ----------------------------------------------------------------------------------------------------- */

int32_t number_of(const char* option, const char* word, const struct word* words) {
    for (; words->name != NULL; ++words) {
        if (strcmp(words->name, word) == 0) return words->value;
    }
    Rf_error("%s has no value '%s'", option, word);
}

const char* word_of(int32_t value, const struct word* words) {
    for (; words->name != NULL; ++words) {
        if (words->value == value) return words->name;
    }
    return "";
}

/* Returns the field of a struct by its name, or NULL if it has none. */
static const fastfs_field* field_of(const char* type, const char* name) {
    const fastfs_field* field;
    for (int32_t i = 0; (field = fastfs_fields(type, i)) != NULL; ++i) {
        if (strcmp(field->name, name) == 0) return field;
    }
    return NULL;
}

/* Returns the number of a scalar, or the value of a word of the field; an error of R if the field has no such word. */
static double number_or_word(SEXP value, const fastfs_field* field) {
    if (TYPEOF(value) != STRSXP) return Rf_asReal(value);
    const char* word = CHAR(Rf_asChar(value));
    for (int32_t i = 0; i < field->n_words; ++i) {
        if (strcmp(field->words[i], word) == 0) return field->values[i];
    }
    Rf_error("%s has no value '%s'", field->name, word);
}

static const void* array_or_null(SEXP value, int32_t type) {
    if (value == R_NilValue) return NULL;
    if (type == FASTFS_INT64S) return as_int64s(value);
    return type == FASTFS_DOUBLES ? (const void*)REAL(value) : (const void*)INTEGER(value);
}

void read_options(const char* type, SEXP given, void* options) {
    SEXP names = Rf_getAttrib(given, R_NamesSymbol);
    for (R_xlen_t i = 0; i < Rf_xlength(given); ++i) {
        const char* name = CHAR(STRING_ELT(names, i));
        const fastfs_field* field = field_of(type, name);
        if (field == NULL) Rf_error("there is no option '%s'", name);
        SEXP value = VECTOR_ELT(given, i);
        char* to = (char*)options + field->offset;
        switch (field->type) {
            case FASTFS_INT32:
                *(int32_t*)to = (int32_t)number_or_word(value, field);
                break;
            case FASTFS_INT64:
                *(int64_t*)to = (int64_t)number_or_word(value, field); /* exact up to 2^53 */
                break;
            case FASTFS_UINT64:
                *(uint64_t*)to = (uint64_t)number_or_word(value, field);
                break;
            case FASTFS_DOUBLE:
                *(double*)to = number_or_word(value, field);
                break;
            case FASTFS_KERNEL:
                Rf_error("%s is a C function, which R has no way to give", name);
            default: {
                *(const void**)to = array_or_null(value, field->type);
                const fastfs_field* length = field->sizes[1] == NULL ? field_of(type, field->sizes[0]) : NULL;
                if (length != NULL) *(int64_t*)((char*)options + length->offset) = (int64_t)Rf_xlength(value);
            }
        }
    }
}

const char* option_word(const char* type, const char* option, int32_t value) {
    const fastfs_field* field = field_of(type, option);
    for (int32_t i = 0; field != NULL && i < field->n_words; ++i) {
        if (field->values[i] == value) return field->words[i];
    }
    return "";
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

SEXP new_list(int n) {
    SEXP list = PROTECT(Rf_allocVector(VECSXP, n));
    Rf_setAttrib(list, R_NamesSymbol, PROTECT(Rf_allocVector(STRSXP, n)));
    UNPROTECT(2);
    return list;
}

/* The places of elements yet to come have names of no characters. */
static R_xlen_t n_added(SEXP names) {
    R_xlen_t n = 0;
    while (n < Rf_xlength(names) && LENGTH(STRING_ELT(names, n)) > 0) ++n;
    return n;
}

SEXP add(SEXP list, const char* name, SEXP value) {
    PROTECT(value);
    SEXP names = Rf_getAttrib(list, R_NamesSymbol);
    const R_xlen_t n = n_added(names);
    if (n == Rf_xlength(names)) Rf_error("the list has no room for '%s'", name);
    SET_VECTOR_ELT(list, n, value);
    SET_STRING_ELT(names, n, Rf_mkChar(name));
    UNPROTECT(1);
    return value;
}

SEXP of_int64s(const int64_t* values, R_xlen_t n) {
    SEXP found = Rf_allocVector(REALSXP, n);
    for (R_xlen_t i = 0; i < n; ++i) REAL(found)[i] = (double)values[i];
    return found;
}

SEXP of_doubles(const double* values, R_xlen_t n) {
    SEXP found = Rf_allocVector(REALSXP, n);
    for (R_xlen_t i = 0; i < n; ++i) REAL(found)[i] = values[i];
    return found;
}

/* Returns n values of a kind of array as a vector, 64-bit integers as doubles. */
static SEXP copy_of(const void* from, enum kind kind, R_xlen_t n) {
    if (kind == INT64S) return of_int64s(from, n);
    SEXP found = Rf_allocVector(kind == DOUBLES ? REALSXP : INTSXP, n);
    if (n > 0)
        memcpy(kind == DOUBLES ? (void*)REAL(found) : (void*)INTEGER(found), from,
               (size_t)n * (kind == DOUBLES ? sizeof(double) : sizeof(int32_t)));
    return found;
}

/* Returns an output of a filled struct as a scalar, a vector, a matrix, or NULL for an array that is null. */
static SEXP value_of(const char* result, const struct output* output, R_xlen_t n_features) {
    const char* at = result + output->offset;
    switch (output->kind) {
        case I32:
            return Rf_ScalarInteger(*(const int32_t*)at);
        case I64:
            return Rf_ScalarReal((double)*(const int64_t*)at);
        case F64:
            return Rf_ScalarReal(*(const double*)at);
        default:
            break;
    }
    const void* from = *(const void* const*)at;
    if (from == NULL) return R_NilValue;
    const R_xlen_t rows =
        output->more_rows + (output->rows == 0 ? n_features : *(const int64_t*)(result + output->rows));
    const R_xlen_t cols = output->cols == 0 ? 1 : *(const int64_t*)(result + output->cols);
    SEXP found = PROTECT(copy_of(from, output->kind, rows * cols));
    if (output->cols != 0) {
        SEXP dim = PROTECT(Rf_allocVector(INTSXP, 2));
        INTEGER(dim)[0] = (int)cols;
        INTEGER(dim)[1] = (int)rows;
        Rf_setAttrib(found, R_DimSymbol, dim);
        UNPROTECT(1);
    }
    UNPROTECT(1);
    return found;
}

void add_outputs(SEXP list, const void* result, const struct output* table, size_t n, R_xlen_t n_features) {
    for (size_t i = 0; i < n; ++i) add(list, table[i].name, value_of(result, &table[i], n_features));
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

SEXP element(SEXP list, const char* name) {
    SEXP names = Rf_getAttrib(list, R_NamesSymbol);
    for (R_xlen_t i = 0; i < Rf_xlength(names); ++i) {
        if (strcmp(CHAR(STRING_ELT(names, i)), name) == 0) return VECTOR_ELT(list, i);
    }
    return R_NilValue;
}

double number(SEXP list, const char* name) { return Rf_asReal(element(list, name)); }

void read_matrix(SEXP given, fastfs_matrix* X) {
    static const struct word storages[] = {
        {"dense", FASTFS_DENSE}, {"csr", FASTFS_CSR}, {"csc", FASTFS_CSC}, {"genotype", FASTFS_GENOTYPE}, {NULL, 0}};
    const fastfs_matrix empty = FASTFS_MATRIX_INIT;
    *X = empty;
    X->storage = number_of("storage", CHAR(Rf_asChar(element(given, "storage"))), storages);
    X->n_rows = (int64_t)number(given, "n_rows");
    X->n_cols = (int64_t)number(given, "n_cols");
    SEXP values = element(given, "values");
    X->values = TYPEOF(values) == RAWSXP ? (const void*)RAW(values) : (const void*)REAL(values);
    if (X->storage == FASTFS_GENOTYPE) {
        X->col_stride = (int64_t)number(given, "col_stride");
    } else if (X->storage == FASTFS_DENSE) {
        X->row_stride = (int64_t)number(given, "row_stride");
        X->col_stride = (int64_t)number(given, "col_stride");
    } else {
        X->indices = INTEGER(element(given, "indices"));
        X->indptr = INTEGER(element(given, "indptr"));
        X->index_bits = 32;
    }
}

const int64_t* as_int64s(SEXP given) {
    if (given == R_NilValue) return NULL;
    const R_xlen_t n = Rf_xlength(given);
    int64_t* values = (int64_t*)R_alloc((size_t)n + 1, sizeof(int64_t));
    for (R_xlen_t i = 0; i < n; ++i) {
        values[i] = TYPEOF(given) == INTSXP ? INTEGER(given)[i] : (int64_t)REAL(given)[i];
    }
    return values;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static double seconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct tick {
    struct call* call;
    const char* step;
    double fraction;
};

enum { BAR = 30 };

/* Writes a bar of the progress over the last line of stderr. */
static void draw_bar(const char* step, double fraction) {
    char bar[BAR + 1];
    const int done = (int)(fraction * BAR);
    for (int i = 0; i < BAR; ++i) bar[i] = i < done ? '=' : ' ';
    bar[BAR] = '\0';
    REprintf("\r[fastfs] |%s| %3.0f %%  %-32.32s", bar, 100 * fraction, step);
}

/* Draws the bar at most 5 times a second, and lets R look for an interrupt, which leaves by a jump. */
static void tick(void* data) {
    struct tick* at = data;
    const double now = seconds();
    if (at->call->is_verbose && now > at->call->started + 2 && now > at->call->shown + 0.2) {
        at->call->shown = now;
        draw_bar(at->step, at->fraction);
    }
    R_CheckUserInterrupt();
}

/* Reports progress, and returns 1, which cancels the call, after an interrupt. */
static int watch(void* user, const char* step, double fraction) {
    struct tick at = {user, step, fraction};
    if (R_ToplevelExec(tick, &at)) return 0;
    at.call->is_interrupted = 1;
    return 1;
}

#ifdef _WIN32
static int is_forked(void) { return 0; }
void remember_process(void) {}
#else
static pid_t process;
static int is_forked(void) { return getpid() != process; }
void remember_process(void) { process = getpid(); }
#endif

void begin_call(struct call* call, SEXP given) {
    const fastfs_run run = FASTFS_RUN_INIT;
    register_blas();
    memset(call, 0, sizeof *call);
    call->run = run;
    call->run.n_threads = (int32_t)number(given, "n_threads");
    /* Workers of mclapply share the machine. */
    if (call->run.n_threads == 0 && is_forked()) call->run.n_threads = 1;
    call->run.max_memory = (int64_t)number(given, "max_memory");
    call->run.progress = watch;
    call->run.user = call;
    call->is_verbose = Rf_asLogical(element(given, "verbose"));
    call->started = seconds();
}

/* Adds a message and its places to a list with room for five more elements. */
static void add_message(SEXP list, const char* message, const fastfs_place* places, R_xlen_t n) {
    add(list, "message", Rf_ScalarString(Rf_mkCharCE(message, CE_UTF8)));
    SEXP kinds = add(list, "kinds", Rf_allocVector(INTSXP, n));
    SEXP numbers = add(list, "numbers", Rf_allocVector(REALSXP, n));
    SEXP begins = add(list, "begins", Rf_allocVector(INTSXP, n));
    SEXP ends = add(list, "ends", Rf_allocVector(INTSXP, n));
    for (R_xlen_t i = 0; i < n; ++i) {
        INTEGER(kinds)[i] = places[i].kind;
        REAL(numbers)[i] = (double)places[i].number;
        INTEGER(begins)[i] = (int)places[i].begin;
        INTEGER(ends)[i] = (int)places[i].end;
    }
}

SEXP last_warnings(void) {
    int32_t n = 0;
    while (fastfs_last_warning(n) != NULL) ++n;
    SEXP all = PROTECT(Rf_allocVector(VECSXP, n));
    for (int32_t i = 0; i < n; ++i) {
        const fastfs_warning* warning = fastfs_last_warning(i);
        SEXP one = new_list(6);
        SET_VECTOR_ELT(all, i, one);
        add(one, "code", Rf_mkString(warning->code));
        add_message(one, warning->message, warning->places, (R_xlen_t)warning->n_places);
    }
    UNPROTECT(1);
    return all;
}

SEXP end_call(struct call* call, fastfs_status status) {
    enum { MOST_PLACES = 16 };
    if (call->shown > 0) REprintf("\n");
    if (status == FASTFS_OK) return R_NilValue;
    fastfs_place places[MOST_PLACES];
    const fastfs_place empty = FASTFS_PLACE_INIT;
    for (int i = 0; i < MOST_PLACES; ++i) places[i] = empty;
    const int32_t named = fastfs_last_error_places(places, MOST_PLACES);
    const int32_t n = named < MOST_PLACES ? named : MOST_PLACES;
    SEXP failure = PROTECT(new_list(7));
    add(failure, "status", Rf_ScalarInteger(status));
    add(failure, "is_interrupted", Rf_ScalarLogical(call->is_interrupted));
    add_message(failure, fastfs_last_error(), places, n);
    Rf_setAttrib(failure, R_ClassSymbol, Rf_mkString("fastfs_failure"));
    UNPROTECT(1);
    return failure;
}

const char fitted_tag[] = "fastfs_fitted";

void free_fitted(SEXP pointer) {
    fastfs_fitted_free(R_ExternalPtrAddr(pointer));
    R_ClearExternalPtr(pointer);
}

SEXP new_handle(const char* tag, SEXP keep, R_CFinalizer_t free) {
    SEXP pointer = PROTECT(R_MakeExternalPtr(NULL, Rf_install(tag), keep));
    R_RegisterCFinalizerEx(pointer, free, TRUE);
    UNPROTECT(1);
    return pointer;
}

void* handle_of(SEXP pointer, const char* tag) {
    if (TYPEOF(pointer) != EXTPTRSXP || R_ExternalPtrTag(pointer) != Rf_install(tag)) {
        Rf_error("expected a handle of %s", tag);
    }
    void* found = R_ExternalPtrAddr(pointer);
    if (found == NULL) Rf_error("the handle of %s was saved by another session: make it again", tag);
    return found;
}
