/* fastfs.h: the C interface of fastfs, for C, C++ (see fastfs.hpp), Cython, Numba, R, Julia, Rust.
 *
 * Conventions
 *   - Every function that can fail returns a fastfs_status; fastfs_last_error() has the message, per thread.
 *   - Every struct starts with struct_size = sizeof(the struct): start from its _INIT macro. With an older header and a
 *     newer library, missing fields take their defaults. With a newer header and an older library, a struct is accepted
 *     while the bytes that the library doesn't know are zero. Arrays of structs are read in steps of the first one's
 *     struct_size.
 *   - Sizes and indices are int64_t. A fastfs_fitted owns the arrays of results; the caller owns all others, which are
 *     aligned to their values: anything else is FASTFS_EINVAL.
 *     fastfs_manifest_new (chunks), fastfs_margin_new (X, distances, levels, sample_weights) and fastfs_disc_set
 *     (stream) keep pointers until their handle is freed; all other functions copy what they need.
 *   - All functions may be called from any number of threads together, also with the same handle. But a handle must not
 *     be freed while a call uses it. The progress callback or the kernel of a call must not use a handle that this call
 *     works on: functions then return FASTFS_EINVAL. The same holds for a handle of another type.
 *   - BLAS is held at one thread (a setting of the whole process) while a call runs, and restored when it ends.
 */
#ifndef FASTFS_H
#define FASTFS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#if defined(FASTFS_BUILDING)
#define FASTFS_API __declspec(dllexport)
#else
#define FASTFS_API __declspec(dllimport)
#endif
#else
#define FASTFS_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ---------------------------------------------------------------------------------------------------- */

typedef enum fastfs_status {
    FASTFS_OK = 0,
    FASTFS_EINVAL = 1,    /* an argument is wrong, or the data are not finite */
    FASTFS_ENOMEM = 2,    /* the memory budget would be exceeded, or an allocation failed */
    FASTFS_ENUMERIC = 3,  /* a numerical step failed */
    FASTFS_ECANCELED = 4, /* the progress callback asked to stop */
    FASTFS_EINTERNAL = 5, /* a defect of fastfs */
    FASTFS_EEXIST = 6     /* fastfs_register_blas: this process has another BLAS already, which stays in use */
} fastfs_status;

/* The message of the last failed call of this thread; "" before the first. Valid until the thread's next failure. */
FASTFS_API const char* fastfs_last_error(void);

/* Things that messages name by their 0-based numbers. */
typedef enum fastfs_place_kind {
    FASTFS_PLACE_MATRIX = 1, /* an array of the call: 0 is X, 1 is Y */
    FASTFS_PLACE_ROW = 2,
    FASTFS_PLACE_COLUMN = 3, /* of a matrix; a feature */
    FASTFS_PLACE_CLASS = 4,  /* a label */
    FASTFS_PLACE_SET = 5,    /* of DiSC */
    FASTFS_PLACE_CHUNK = 6,  /* of rows */
    FASTFS_PLACE_KERNEL = 7  /* a matrix of I-KDR; a kernel of ManiFeSt */
} fastfs_place_kind;

typedef struct fastfs_place {
    size_t struct_size;
    int32_t kind; /* fastfs_place_kind */
    int32_t reserved;
    int64_t number;
    int64_t begin; /* the bytes begin..end - 1 of the message name it, as in "class 3" */
    int64_t end;
} fastfs_place;
#define FASTFS_PLACE_INIT {sizeof(fastfs_place), 0, 0, 0, 0, 0}

/* Writes up to `most` of the places that fastfs_last_error() names, in the order of the message, and returns their
 * number, or -1 if the struct_size of the first one is wrong. Callers who know a better name put it in. */
FASTFS_API int32_t fastfs_last_error_places(fastfs_place* places, int32_t most);

/* ---- warnings --------------------------------------------------------------------------------------------------- */

/* A reason why a result, or a part of it, says less than it seems to. */
typedef struct fastfs_warning {
    size_t struct_size;
    const char* code;           /* a word, such as "tie": the functions that give warnings list theirs */
    const char* message;        /* one sentence, UTF-8 */
    int64_t n_places;           /* things that the message names by number, as of fastfs_last_error_places */
    const fastfs_place* places; /* in steps of the first one's struct_size */
} fastfs_warning;

/* The warning with this number, 0-based, of this thread's last call that returned a status; NULL after the last one,
 * and after a call that failed. Valid until the thread's next call. Code "not_converged" says that an iteration stopped
 * early; all other codes are about the data and the options. */
FASTFS_API const fastfs_warning* fastfs_last_warning(int32_t number);

/* "major.minor.patch" of the library. */
FASTFS_API const char* fastfs_version(void);

/* The version of this interface, in the header that you compile with and in the library that you have loaded.
 * Incremented only by incompatible changes; new functions and trailing fields don't count. Compare the two if you load
 * the library by its path, for instance that of a Python package; otherwise the SONAME does it. */
#define FASTFS_ABI_VERSION 1
FASTFS_API int32_t fastfs_abi_version(void);

/* ---- the machine ------------------------------------------------------------------------------------------------ */

/* Instruction set of the kernels in use: "base", "avx2", "avx512" or "neon". The variable FASTFS_ISA forces one;
 * NULL (and an error) if this machine or this build doesn't have it. */
FASTFS_API const char* fastfs_isa(void);

/* ---- BLAS and LAPACK -------------------------------------------------------------------------------------------- */

/* The routines that fastfs calls, in Fortran convention, with 32-bit integers (LP64), or with 64-bit integers (ILP64)
 * if the library and the program are compiled with FASTFS_ILP64. link_blas.h fills a table from the BLAS that your
 * program links. */
#if defined(FASTFS_ILP64)
typedef int64_t fastfs_blas_int;
#else
typedef int32_t fastfs_blas_int;
#endif
#define FASTFS_IN_ const fastfs_blas_int*
#define FASTFS_CHAR_ const char*
typedef struct fastfs_blas {
    size_t struct_size;
    int32_t integer_bits;         /* 8 * sizeof(fastfs_blas_int) */
    int32_t reserved;             /* 0 */
    void (*set_num_threads)(int); /* both may be NULL: then BLAS threads are not held */
    int (*get_num_threads)(void);
    void (*sgemm)(FASTFS_CHAR_, FASTFS_CHAR_, FASTFS_IN_, FASTFS_IN_, FASTFS_IN_, const float*, const float*,
                  FASTFS_IN_, const float*, FASTFS_IN_, const float*, float*, FASTFS_IN_);
    void (*dgemm)(FASTFS_CHAR_, FASTFS_CHAR_, FASTFS_IN_, FASTFS_IN_, FASTFS_IN_, const double*, const double*,
                  FASTFS_IN_, const double*, FASTFS_IN_, const double*, double*, FASTFS_IN_);
    void (*dsyrk)(FASTFS_CHAR_, FASTFS_CHAR_, FASTFS_IN_, FASTFS_IN_, const double*, const double*, FASTFS_IN_,
                  const double*, double*, FASTFS_IN_);
    void (*dsymv)(FASTFS_CHAR_, FASTFS_IN_, const double*, const double*, FASTFS_IN_, const double*, FASTFS_IN_,
                  const double*, double*, FASTFS_IN_);
    void (*dtrmm)(FASTFS_CHAR_, FASTFS_CHAR_, FASTFS_CHAR_, FASTFS_CHAR_, FASTFS_IN_, FASTFS_IN_, const double*,
                  const double*, FASTFS_IN_, double*, FASTFS_IN_);
    void (*dpotrf)(FASTFS_CHAR_, FASTFS_IN_, double*, FASTFS_IN_, fastfs_blas_int*);
    void (*dpocon)(FASTFS_CHAR_, FASTFS_IN_, const double*, FASTFS_IN_, const double*, double*, double*,
                   fastfs_blas_int*, fastfs_blas_int*);
    void (*dsygst)(FASTFS_IN_, FASTFS_CHAR_, FASTFS_IN_, double*, FASTFS_IN_, const double*, FASTFS_IN_,
                   fastfs_blas_int*);
    void (*dtrsm)(FASTFS_CHAR_, FASTFS_CHAR_, FASTFS_CHAR_, FASTFS_CHAR_, FASTFS_IN_, FASTFS_IN_, const double*,
                  const double*, FASTFS_IN_, double*, FASTFS_IN_);
    void (*dsytrd)(FASTFS_CHAR_, FASTFS_IN_, double*, FASTFS_IN_, double*, double*, double*, double*, FASTFS_IN_,
                   fastfs_blas_int*);
    void (*dstedc)(FASTFS_CHAR_, FASTFS_IN_, double*, double*, double*, FASTFS_IN_, double*, FASTFS_IN_,
                   fastfs_blas_int*, FASTFS_IN_, fastfs_blas_int*);
    void (*dsteqr)(FASTFS_CHAR_, FASTFS_IN_, double*, double*, double*, FASTFS_IN_, double*, fastfs_blas_int*);
    void (*dsyevr)(FASTFS_CHAR_, FASTFS_CHAR_, FASTFS_CHAR_, FASTFS_IN_, double*, FASTFS_IN_, const double*,
                   const double*, FASTFS_IN_, FASTFS_IN_, const double*, fastfs_blas_int*, double*, double*, FASTFS_IN_,
                   fastfs_blas_int*, double*, FASTFS_IN_, fastfs_blas_int*, FASTFS_IN_, fastfs_blas_int*);
} fastfs_blas;
#undef FASTFS_IN_
#undef FASTFS_CHAR_

/* The first table is registered for the whole process, so its library must not be unloaded. Registering an equal table
 * again does nothing. A different table is rejected with FASTFS_EEXIST and the registered one stays in use; callers may
 * treat this as success (a plug-in, for instance, in a Python process that has used fastfs). FASTFS_EINVAL if an entry
 * is missing, or if the routines have integers of the other length (LP64, ILP64). */
FASTFS_API fastfs_status fastfs_register_blas(const fastfs_blas* table);

/* ---- what every call takes ------------------------------------------------------------------------------------- */

enum { FASTFS_FLOAT32 = 32, FASTFS_FLOAT64 = 64 };
enum {
    FASTFS_DENSE = 0,
    FASTFS_CSR = 1,
    FASTFS_CSC = 2,
    FASTFS_GENOTYPE = 3 /* two bits a value, as in PLINK's .bed files: four samples a byte, the first one in its lowest
                           bits, SNP after SNP; 00 is 2, 10 is 1, 11 is 0, and 01 is missing */
};

/* A samples x features matrix that the caller owns: numbers and indices aligned to their size, strides of any sign.
 * Genotypes are read as numbers of dtype, missing ones as NaN, and are decoded in small blocks. Arrays may lie in a
 * file that is mapped into memory, but if the file shrinks while a call reads it, the system ends the process (SIGBUS).
 */
typedef struct fastfs_matrix {
    size_t struct_size;
    int32_t dtype;       /* FASTFS_FLOAT32 or FASTFS_FLOAT64 */
    int32_t storage;     /* FASTFS_DENSE, FASTFS_CSR, FASTFS_CSC, FASTFS_GENOTYPE */
    int64_t n_rows;      /* samples */
    int64_t n_cols;      /* features */
    const void* values;  /* dense: element (0, 0); sparse: the stored values; genotypes: first byte of the first SNP */
    int64_t row_stride;  /* dense only, in elements: distance from (i, j) to (i + 1, j); 0: n_cols */
    int64_t col_stride;  /* dense, in elements: distance from (i, j) to (i, j + 1), not 0; genotypes: bytes of a SNP */
    const void* indices; /* sparse only: column (CSR) or row (CSC) of each value; entries at one place add up */
    const void* indptr;  /* sparse only: n_rows + 1 (CSR) or n_cols + 1 (CSC) offsets, the first one 0 */
    int32_t index_bits;  /* sparse only: 32 or 64, for indices and indptr alike */
    int32_t reserved;    /* 0 */
    const int64_t* row_list; /* genotypes, and dense X of a fastfs_disc_set: n_rows samples by their places in a SNP, or
                                among rows, in any order; NULL: all */
    const int64_t* col_list; /* genotypes only: n_cols SNPs by their places after `values`; NULL: all */
} fastfs_matrix;
#define FASTFS_MATRIX_INIT \
    {sizeof(fastfs_matrix), FASTFS_FLOAT64, FASTFS_DENSE, 0, 0, NULL, 0, 1, NULL, NULL, 0, 0, NULL, NULL}

/* FASTFS_EINVAL unless X is a matrix that calls accept: the indptr and indices of a sparse matrix are read, and must
 * stay within it; values aren't read. Every call makes this check itself: use it only if other code indexes X before.
 */
FASTFS_API fastfs_status fastfs_check_matrix(const fastfs_matrix* X);

/* Called on the calling thread, at most 20 times a second and not in the first 50 ms, with the running step and the
 * finished share of the call in [0, 1]. Shorter calls never call it. Any value other than 0 cancels the call, which
 * then returns FASTFS_ECANCELED within 0.2 s, or when the running LAPACK routine returns. The callback must return: no
 * exception, no longjmp. */
typedef int (*fastfs_progress)(void* user, const char* step, double fraction);

/* How to run a call. NULL means FASTFS_RUN_INIT.
 *
 * With bytes_needed the call only estimates its memory: it checks its arguments and the description of its data, writes
 * the bytes that it would take with these threads and this budget, outputs included, and returns FASTFS_OK, or
 * FASTFS_ENOMEM if they exceed the budget. Outputs aren't touched and may be NULL. The estimate is an upper bound, so
 * the call itself might still fit; it includes 4 MiB plus half a MiB per thread for memory that doesn't grow with the
 * data. If the memory of a method depends on values that only the call finds, the comment of the method says so. */
typedef struct fastfs_run {
    size_t struct_size;
    int32_t n_threads;        /* 0 to 1024; 0: see fastfs_run_limits */
    int64_t max_memory;       /* bytes for outputs and workspace; 0: see fastfs_run_limits */
    fastfs_progress progress; /* may be NULL */
    void* user;               /* handed to progress */
    int64_t* bytes_needed;    /* NULL: run the call; otherwise only write the estimate */
} fastfs_run;
#define FASTFS_RUN_INIT {sizeof(fastfs_run), 0, 0, NULL, NULL, NULL}

/* What a call with this run may use. n_threads: those of the run; 0: FASTFS_NUM_THREADS, or the CPUs of the affinity
 * mask, cut by the cgroup quota. max_memory: the bytes of the run; 0: FASTFS_MAX_MEMORY, or what is available. Either
 * may be NULL. */
FASTFS_API fastfs_status fastfs_run_limits(const fastfs_run* run, int32_t* n_threads, int64_t* max_memory);

/* The owner of the arrays of a result. A function that fills a struct of results makes one: the arrays that the struct
 * points to are the caller's to read and to change until the owner is freed, in any thread. Free it once. A call that
 * fails makes none, and leaves the struct as it was. With fastfs_run.bytes_needed, both may be NULL. */
typedef struct fastfs_fitted fastfs_fitted;
FASTFS_API void fastfs_fitted_free(fastfs_fitted* fitted); /* NULL is fine */

/* ---- options by name --------------------------------------------------------------------------------------------- */

typedef enum fastfs_type {
    FASTFS_INT32 = 1,
    FASTFS_INT64 = 2,
    FASTFS_UINT64 = 3,
    FASTFS_DOUBLE = 4,
    FASTFS_KERNEL = 5, /* fastfs_tile_kernel */
    FASTFS_INT32S = 6, /* a pointer to an array, NULL if there is none; so are the next ones */
    FASTFS_INT64S = 7,
    FASTFS_DOUBLES = 8
} fastfs_type;

/* A field of a struct of options, for bindings of other languages: the same row from which calls check its range. */
typedef struct fastfs_field {
    size_t struct_size;
    const char* name;
    int32_t type; /* fastfs_type */
    int32_t n_words;
    int64_t offset;      /* bytes from the start of the struct */
    const void* initial; /* its value in the _INIT macro, of this type */
    double low;          /* bounds of a number that hold with any other options; -INFINITY and INFINITY if none */
    double high;
    const char* const* words; /* n_words: names for the values of an enumeration, or for values beyond the bounds */
    const int32_t* values;    /* n_words: these values */
    const char* const* sizes; /* of an array: the names of its sizes, such as "n_rows", and NULL after the last one. A
                                 size with the name of another field of the struct is held by that field */
} fastfs_field;

/* The field with this number, 0-based, of the struct with this name, such as "fastfs_relief_options"; NULL after the
 * last one, and for structs that hold no options. Valid until the library is unloaded. */
FASTFS_API const fastfs_field* fastfs_fields(const char* type, int32_t number);

/* ---- streams: tables in blocks of rows -------------------------------------------------------------------------- */

/* A stream reads a table that is larger than memory, or that several programs share, in blocks of rows. Each method has
 * a function that makes its streams and one that gives the result; the other functions are the same for all methods:
 *
 *     fastfs_<method>_stream_new      makes a stream for these options
 *     fastfs_stream_update            reads a block; call it for each one
 *     fastfs_stream_next              ends a pass, if the method takes another one; then update again
 *     fastfs_<method>_stream_finish   gives the result of the last pass
 *     fastfs_stream_free
 *
 * Threads and processes share a pass like this: copy the stream at the start of the pass, update each copy with other
 * rows, merge the copies, and end the pass. A copy in another process comes back as bytes: save it there, load the
 * bytes here into another copy from the start of the pass, and merge that.
 *
 * A call that fails leaves the stream as it was. An update that stops halfway, as when it is canceled, can break the
 * stream: then every later call but fastfs_stream_free is FASTFS_EINVAL. So is a stream of another method, and what a
 * method can't do: the message says so. */
typedef struct fastfs_stream fastfs_stream;

typedef enum fastfs_stream_method {
    FASTFS_STREAM_RELIEF = 1, /* two passes */
    FASTFS_STREAM_DISC = 2,   /* one pass, or two: see fastfs_disc_stream_new */
    FASTFS_STREAM_PROJSE = 3, /* this and the next ones: one pass, which can go on after a finish */
    FASTFS_STREAM_MANIFEST = 4,
    FASTFS_STREAM_GRAM = 5
} fastfs_stream_method;

/* A block of rows, and what belongs to them. */
typedef struct fastfs_block {
    size_t struct_size;
    const fastfs_matrix* X;
    const fastfs_matrix* Y; /* ProjSe: targets that are numbers; else NULL */
    const int64_t* labels;  /* ManiFeSt: the group of each row; ProjSe: its class or group; else NULL */
    int64_t first_row;      /* RELIEF, DiSC: the number of the first row of X in the whole table, 0-based */
} fastfs_block;
#define FASTFS_BLOCK_INIT {sizeof(fastfs_block), NULL, NULL, NULL, 0}

typedef struct fastfs_stream_state {
    size_t struct_size;
    int32_t method;      /* fastfs_stream_method */
    int32_t pass_number; /* from 1; n_passes + 1 after fastfs_disc_stream_finish */
    int32_t n_passes;    /* that the stream takes in all */
    int32_t reserved;
    int64_t n_rows;   /* read in this pass */
    int64_t n_cols;   /* of X */
    int64_t n_groups; /* of rows: RELIEF's classes, groups of DiSC and ManiFeSt; 1 or more for ProjSe; else 0 */
    int64_t n_y;      /* columns of Y, or classes: ProjSe */
} fastfs_stream_state;
#define FASTFS_STREAM_STATE_INIT {sizeof(fastfs_stream_state), 0, 0, 0, 0, 0, 0, 0, 0}

/* Makes another stream in the same state. The two are independent from then on. */
FASTFS_API fastfs_status fastfs_stream_copy(const fastfs_stream* stream, fastfs_stream** copy);
/* Reads the rows of a block, each once in a pass, in any order. X has the same columns in all blocks.
 * FASTFS_EINVAL names a row that has come before. */
FASTFS_API fastfs_status fastfs_stream_update(fastfs_stream* stream, const fastfs_block* block, const fastfs_run* run);
/* Adds the rows that `other` has read in this pass, as if this stream had read them; `other` stays as it is. Both have
 * the same method and arguments, and have read the same rows in the passes before. */
FASTFS_API fastfs_status fastfs_stream_merge(fastfs_stream* stream, const fastfs_stream* other);
/* Ends a pass that isn't the last one. FASTFS_EINVAL names a row that has not come. */
FASTFS_API fastfs_status fastfs_stream_next(fastfs_stream* stream, const fastfs_run* run);
/* Writes the method, the pass and the sizes with which the stream was made. */
FASTFS_API fastfs_status fastfs_stream_get(const fastfs_stream* stream, fastfs_stream_state* state);
/* Writes the rows of each group (counts, n_groups) and the means of the columns over them (means, n_groups x n_cols, 0
 * for groups without rows), so far or, later, in the first pass. Either may be NULL. */
FASTFS_API fastfs_status fastfs_stream_means(const fastfs_stream* stream, double* counts, double* means);
/* Returns the bytes that saving the stream takes now, or -1, with an error. */
FASTFS_API int64_t fastfs_stream_size(const fastfs_stream* stream);
/* Writes the state of this pass, n_bytes = fastfs_stream_size bytes, for machines of the same kind. What the passes
 * before have found isn't part of it. */
FASTFS_API fastfs_status fastfs_stream_save(const fastfs_stream* stream, void* bytes, int64_t n_bytes);
/* Restores a saved state. The stream has the method and arguments of the saved one, is in the same pass, and has read
 * no rows in it; so a new stream comes to pass 2 by loading the end of pass 1 and fastfs_stream_next. FASTFS_EINVAL for
 * bytes that are cut short, of another stream, or of another version of fastfs. */
FASTFS_API fastfs_status fastfs_stream_load(fastfs_stream* stream, const void* bytes, int64_t n_bytes);
FASTFS_API void fastfs_stream_free(fastfs_stream* stream); /* NULL is fine */

/* ---- affinity: all pairs of features ---------------------------------------------------------------------------- */

enum {
    FASTFS_RBF = 0,         /* exp(-|x_i - x_j|^2 / (2 sigma^2)), x_i column i of X */
    FASTFS_SQEUCLIDEAN = 1, /* |x_i - x_j|^2 */
    FASTFS_LINEAR = 2,      /* x_i' x_j */
    FASTFS_CUSTOM = 3       /* the caller's function */
};

/* A custom kernel, called for a tile at a time. tile (n_rows x n_cols, row a at tile + a * ld) holds squared distances
 * |x_i - x_j|^2, to be overwritten by kernel values; row_norms and col_norms hold |x_i|^2 and |x_j|^2, so that x_i' x_j
 * = (row_norms[a] + col_norms[b] - tile[a * ld + b]) / 2. Values must be finite, symmetric in i and j, and positive
 * semidefinite as a matrix. Called from several threads at the same time; it must return: no exception, no longjmp. */
typedef void (*fastfs_tile_kernel)(double* tile, int64_t ld, int64_t n_rows, int64_t n_cols, const double* row_norms,
                                   const double* col_norms, double sigma, void* user);

typedef struct fastfs_affinity_options {
    size_t struct_size;
    int32_t kernel;
    int32_t reserved;          /* 0 */
    double sigma;              /* RBF and CUSTOM: > 0 */
    fastfs_tile_kernel custom; /* CUSTOM only */
    void* user;                /* handed to custom */
} fastfs_affinity_options;
#define FASTFS_AFFINITY_OPTIONS_INIT {sizeof(fastfs_affinity_options), FASTFS_RBF, 0, 1.0, NULL, NULL}

/* out (d x d, row-major, of the dtype of X) = the kernel between all columns of X. */
FASTFS_API fastfs_status fastfs_affinity(const fastfs_matrix* X, const fastfs_affinity_options* options,
                                         const fastfs_run* run, void* out);

/* out (d x p, row-major) = K V with K as above, which is never stored; V (d x p, row-major), both of the dtype of X. */
FASTFS_API fastfs_status fastfs_affinity_product(const fastfs_matrix* X, const fastfs_affinity_options* options,
                                                 const void* V, int64_t p, const fastfs_run* run, void* out);

/* The same kernels from sums over rows in blocks, of any storage and dtype. Sums are kept in double, 8 n_features^2
 * bytes. Squared distances below 64 eps (|x_i|^2 + |x_j|^2) can't be told from zero once the rows are gone, and count
 * as zero. These streams can't be copied and saved: make one for each share. */
FASTFS_API fastfs_status fastfs_gram_stream_new(int64_t n_features, const fastfs_run* run, fastfs_stream** stream);
/* out: d x d doubles, row-major. The stream stays as it is and can be updated further. */
FASTFS_API fastfs_status fastfs_gram_stream_finish(const fastfs_stream* stream, const fastfs_affinity_options* options,
                                                   const fastfs_run* run, double* out);

/* ---- spectral: symmetric eigenproblems --------------------------------------------------------------------------- */

/* A (n x n, column-major, lower triangle read) = V diag(w) V'; w ascending; A is overwritten by V. */
FASTFS_API fastfs_status fastfs_eigh(int64_t n, double* A, double* w, const fastfs_run* run);

/* K1 + K2 = W W' and K1 - K2 = W diag(nu) W' for symmetric positive semidefinite K1, K2 (n x n, column-major, lower
 * triangles read, K1 overwritten): K1 = W diag((1 + nu) / 2) W', K2 = W diag((1 - nu) / 2) W'. rank = rank of K1 +
 * K2, numerically; nu (n) ascending in its first rank entries; W replaces the first rank columns of K1. */
FASTFS_API fastfs_status fastfs_pencil(int64_t n, double* K1, const double* K2, double* nu, int64_t* rank,
                                       const fastfs_run* run);

/* ---- ManiFeSt -------------------------------------------------------------------------------------------------- */

/* Everything about X that doesn't depend on the labels. Make it once, then fit any labels on it, from several threads
 * if you like. */
typedef struct fastfs_manifest fastfs_manifest;

/* X as one or more row chunks of equal width, all dense or all sparse, with finite values. The handle keeps
 * pointers to the chunks' arrays, which must outlive it. keep_distances: 0, or 1 to compute the distances over all rows
 * now (8 d^2 bytes), so that each exact fit has only those of the smaller side left to do. */
FASTFS_API fastfs_status fastfs_manifest_new(const fastfs_matrix* chunks, int64_t n_chunks, int32_t keep_distances,
                                             const fastfs_run* run, fastfs_manifest** manifest);
FASTFS_API void fastfs_manifest_free(fastfs_manifest* manifest); /* NULL is fine */

enum { FASTFS_MANIFEST_PENCIL = 0, FASTFS_MANIFEST_SPD = 1, FASTFS_MANIFEST_SPSD = 2 };
enum {
    FASTFS_MANIFEST_AUTO = 0,
    FASTFS_MANIFEST_EXACT = 1,
    FASTFS_MANIFEST_LOW_RANK = 2,
    FASTFS_MANIFEST_LOW_RANK_HIGH = 3,
    FASTFS_MANIFEST_DOMAINS = 4,
    FASTFS_MANIFEST_SMALL_DOMAINS = 5
};
enum { FASTFS_MANIFEST_OVR = 0, FASTFS_MANIFEST_OVO = 1 };

typedef struct fastfs_manifest_options {
    size_t struct_size;
    int32_t form;       /* FASTFS_MANIFEST_PENCIL; exact only: _SPD (the equations as printed), _SPSD (Algorithm 2) */
    int32_t accuracy;   /* FASTFS_MANIFEST_EXACT: d x d kernels; _DOMAINS, _SMALL_DOMAINS: of near features;
                           _LOW_RANK...; _AUTO */
    int64_t rank;       /* of the low-rank kernels; eigenvectors of each kernel for domains, five times those of small
                           domains; >= 1 */
    int32_t multiclass; /* more than two classes: FASTFS_MANIFEST_OVR, each against the rest; _OVO, all pairs */
    int32_t agreement; /* 1: measure how far scores that aren't exact agree with exact ones; 0: don't, which saves up to
                          a third of the time */
    uint64_t seed;     /* of everything drawn: landmarks, test vectors, features to take sigma from */
    fastfs_tile_kernel custom; /* NULL: the Gaussian kernel */
    void* user;                /* handed to custom */
    int64_t first_problem;     /* solve only some problems, starting with this one: to split a fit over machines */
    int64_t n_problems;        /* how many; 0: all from first_problem on. See fastfs_manifest_mean_scores */
    int64_t n_components;      /* leading eigenpairs wanted of M and of D, by magnitude, of each problem; 0: none */
    int64_t n_fits; /* how many fits of such tables the caller will compare, as a permutation test does: _AUTO takes
                       small domains for all of them if they would take minutes otherwise. 0, 1: no other one */
} fastfs_manifest_options;
#define FASTFS_MANIFEST_OPTIONS_INIT  \
    {sizeof(fastfs_manifest_options), \
     FASTFS_MANIFEST_PENCIL,          \
     FASTFS_MANIFEST_AUTO,            \
     50,                              \
     FASTFS_MANIFEST_OVR,             \
     1,                               \
     0,                               \
     NULL,                            \
     NULL,                            \
     0,                               \
     0,                               \
     0,                               \
     0}

enum { FASTFS_MANIFEST_SIGMA_MEDIAN = 0, FASTFS_MANIFEST_SIGMA_PERCENTILE = 1, FASTFS_MANIFEST_SIGMA_GIVEN = 2 };

/* The scale of the kernels. A fit takes any number of them, which share the distances. */
typedef struct fastfs_manifest_scale {
    size_t struct_size;
    int32_t rule;        /* FASTFS_MANIFEST_SIGMA_* */
    int32_t normalize;   /* how often K is divided by the square roots of its row sums, both sides; 0 to 1000 */
    double value;        /* median: sigma = value x median distance of the class, > 0; percentile: sigma = the value-th
                            percentile of its distances, in (0, 100) */
    const double* sigma; /* given: one for each kernel, > 0 */
} fastfs_manifest_scale;
#define FASTFS_MANIFEST_SCALE_INIT {sizeof(fastfs_manifest_scale), FASTFS_MANIFEST_SIGMA_MEDIAN, 0, 0.5, NULL}

enum {                            /* the reason for the form of ManiFeSt, or for the graph of DiSC */
       FASTFS_BECAUSE_ASKED = 0,  /* options name it */
       FASTFS_BECAUSE_SIZE = 1,   /* auto: few features are exact, more by domains or low_rank */
       FASTFS_BECAUSE_MEMORY = 2, /* auto: few enough to be exact, but that exceeds the budget */
       FASTFS_BECAUSE_RANK = 3,   /* a rank that large saves nothing: exact */
       FASTFS_BECAUSE_FORM = 4,   /* auto: this form of the method is exact only */
       FASTFS_BECAUSE_WORK = 5    /* auto: n_fits fits would take minutes */
};

/* The plan of a fit. Two classes or FASTFS_MANIFEST_OVO: one kernel a class, a problem for each pair of classes a < b
 * in the order (0, 1), (0, 2), ..., (1, 2), ... More classes and FASTFS_MANIFEST_OVR: problem c compares kernels 2 c
 * (class c) and 2 c + 1 (all others). Messages name kernels by these numbers (FASTFS_PLACE_KERNEL). */
typedef struct fastfs_manifest_plan {
    size_t struct_size;
    int64_t n_kernels;   /* out */
    int64_t n_problems;  /* out: that the fit solves, those of its share */
    int64_t bytes;       /* out: of the fit, results included */
    int64_t exact_bytes; /* out: of a fit in the exact form */
    int32_t accuracy;    /* out: FASTFS_MANIFEST_EXACT, _DOMAINS, _SMALL_DOMAINS, _LOW_RANK or _LOW_RANK_HIGH */
    int32_t reason;      /* out: FASTFS_BECAUSE_* */
    int64_t n_classes;   /* in */
    int64_t n_scales;    /* in: >= 1 */
    int64_t n_features;  /* in, of a stream */
    int64_t n_groups;    /* in, of a stream */
} fastfs_manifest_plan;
#define FASTFS_MANIFEST_PLAN_INIT {sizeof(fastfs_manifest_plan), 0, 0, 0, 0, 0, 0, 2, 1, 0, 0}

/* Fills the plan of a fit of manifest or, with NULL, of a stream before it is made. FASTFS_ENOMEM if the fit takes more
 * than the budget of run; FASTFS_EINVAL if sums can't serve what options ask for. */
FASTFS_API fastfs_status fastfs_manifest_plan_fit(const fastfs_manifest* manifest,
                                                  const fastfs_manifest_options* options, const fastfs_run* run,
                                                  fastfs_manifest_plan* plan);

/* The result of one scale. A share of the problems has 0 for kernels of other problems, and its scores and class_scores
 * hold what its problems add to them. */
typedef struct fastfs_manifest_result {
    size_t struct_size;
    int32_t accuracy;    /* FASTFS_MANIFEST_EXACT, _DOMAINS, _SMALL_DOMAINS, _LOW_RANK or _LOW_RANK_HIGH */
    int32_t reason;      /* FASTFS_BECAUSE_* */
    int64_t exact_bytes; /* of a fit in the exact form */
    int64_t n_kernels;
    int64_t n_problems; /* that were solved */
    int64_t n_components;
    double* scores;            /* n_features: larger is better; the mean over the problems */
    double* class_scores;      /* n_classes x n_features: the mean over the problems that name the class */
    double* sigma;             /* n_kernels */
    double* kept_trace;        /* n_kernels: share of the kernel's trace within its rank; 1 if exact */
    int64_t* ranks;            /* n_problems: numerical rank of K1 + K2; of the joint range if low-rank */
    double* agreement;         /* n_problems: rank correlation of the low-rank scores with the exact ones on 500 to 1000
                                  features, drawn at random and taken by themselves; 1 if exact. NULL if options don't
                                  ask for it */
    double* mean_values;       /* n_problems x n_components, descending: eigenvalues of M */
    double* mean_vectors;      /* n_problems x n_components x n_features: their eigenvectors, one after the other */
    double* difference_values; /* n_problems x n_components, |.| descending: eigenvalues of D */
    double* difference_vectors; /* n_problems x n_components x n_features */
    double* problem_scores;     /* n_problems x n_features: the scores of each problem of a share; else NULL */
} fastfs_manifest_result;
#define FASTFS_MANIFEST_RESULT_INIT \
    {sizeof(fastfs_manifest_result), 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}

/* The label stage: scores how differently each feature associates with the others in two or more classes. labels: one
 * for each row, 0..n_classes - 1, each at least once. scales and results: n_scales each, in steps of the first one's
 * struct_size. Exact: O(d^3) time and 32 d^2 bytes a problem; fast: O(d (4 rank) (n_rows + 4 rank)) time; high:
 * O(d^2 (n_rows + rank)) time; both O(d (n_rows + rank)) memory.
 *
 * Warnings, of the first scale and of the problems that are solved here: "poor_agreement" (below 0.9), "one_sample",
 * "equal_features" (their distance, from which sigma was to come, is 0), "low_trace" (the low-rank kernel keeps less
 * than half of it), "lost_digits" (of distances between features, in sums over rows), "right_angle" (between kernels,
 * for SPSD), "no_contrast" (no score exceeds rounding errors), "rank_too_large", "many_fits" (small domains, because of
 * n_fits). */
FASTFS_API fastfs_status fastfs_manifest_fit(const fastfs_manifest* manifest, const int64_t* labels, int64_t n_classes,
                                             const fastfs_manifest_options* options,
                                             const fastfs_manifest_scale* scales, int64_t n_scales,
                                             const fastfs_run* run, fastfs_manifest_result* results,
                                             fastfs_fitted** fitted);

/* The scores and class_scores (or NULL) of a whole fit from the scores of each problem, to the bit: the last step
 * after shares of the problems have been solved apart. */
FASTFS_API fastfs_status fastfs_manifest_mean_scores(int64_t n_features, int64_t n_classes, int32_t multiclass,
                                                     const double* problem_scores, double* scores,
                                                     double* class_scores);

/* fastfs_manifest for tables larger than memory, in one pass over blocks of rows, each of a group in 0..n_groups - 1.
 * Of each group a stream keeps how many rows there are, the sums and the squared norms of the features, and the
 * products of all pairs of features (4 d^2 bytes a group), or with accuracy LOW_RANK the products with 4 rank
 * landmarks, which options.seed draws (32 d rank bytes). So one pass serves any comparison of groups. Double precision;
 * rows of dense blocks are moved by an offset that their values share, which changes no distance. Neither accuracy
 * LOW_RANK_HIGH nor custom kernels. Blocks are dense or CSR; an update can't be canceled once the values have been
 * found finite. */
FASTFS_API fastfs_status fastfs_manifest_stream_new(int64_t n_features, int64_t n_groups,
                                                    const fastfs_manifest_options* options, const fastfs_run* run,
                                                    fastfs_stream** stream);
/* Fits as fastfs_manifest_fit does, as often as you like. labels: the class of each group, or -1 for those that stay
 * out; each class has rows. Sums with the products of all pairs serve accuracy AUTO, EXACT, DOMAINS and SMALL_DOMAINS;
 * sums with landmarks AUTO and LOW_RANK, with the rank and the landmarks that they were made with, for any seed. */
FASTFS_API fastfs_status fastfs_manifest_stream_finish(const fastfs_stream* stream, const int64_t* labels,
                                                       int64_t n_classes, const fastfs_manifest_options* options,
                                                       const fastfs_manifest_scale* scales, int64_t n_scales,
                                                       const fastfs_run* run, fastfs_manifest_result* results,
                                                       fastfs_fitted** fitted);

/* Compares two precomputed kernels, n_features x n_features: symmetric, positive semidefinite, with a positive entry on
 * the diagonal. Options and result are those of a fit with two classes at one scale, without sigma, custom and the
 * low-rank accuracies. By domains a kernel is checked to be semidefinite on each domain only, and takes 4 n_features^2
 * bytes. */
FASTFS_API fastfs_status fastfs_manifest_kernels(int64_t n_features, const double* K1, const double* K2,
                                                 const fastfs_manifest_options* options, const fastfs_run* run,
                                                 fastfs_manifest_result* result, fastfs_fitted** fitted);

/* ---- ProjSe ---------------------------------------------------------------------------------------------------- */

enum { FASTFS_POLY = 4 }; /* a kernel of ProjSe: (x_i' x_j)^degree */

/* Which sigma RBF and custom kernels take: the mean distance of all n_y^2 pairs of targets, sqrt(rows), or `sigma` of
 * the options. */
enum { FASTFS_PROJSE_SIGMA_MEAN = 0, FASTFS_PROJSE_SIGMA_SQRT_ROWS = 1, FASTFS_PROJSE_SIGMA_GIVEN = 2 };

enum { FASTFS_PROJSE_CENTER_AUTO = 2 }; /* 1 with labels, 0 without */

/* When the chosen columns have used up the span of the targets: stop, as the paper does, or go on with the columns that
 * explain most of the targets' residual. */
enum { FASTFS_PROJSE_STOP = 0, FASTFS_PROJSE_RESIDUAL = 1 };

typedef struct fastfs_projse_options {
    size_t struct_size;
    int32_t kernel;     /* between variables: FASTFS_LINEAR, FASTFS_POLY, FASTFS_RBF */
    int32_t degree;     /* POLY: >= 1 */
    int32_t sigma_rule; /* RBF and custom: FASTFS_PROJSE_SIGMA_* */
    int32_t center;     /* 1: subtract the mean of every column of X and Y first; 0; FASTFS_PROJSE_CENTER_AUTO */
    int32_t normalize;  /* 1: scale kernels to a unit diagonal; 0 */
    int32_t from_y;     /* 0: choose columns of X that explain Y; 1: columns of Y that explain X (two views) */
    double sigma;       /* FASTFS_PROJSE_SIGMA_GIVEN: > 0 */
    int32_t beyond;     /* FASTFS_PROJSE_STOP, FASTFS_PROJSE_RESIDUAL */
    int32_t reserved;   /* 0 */
    double eps;         /* eigenvalues of the targets' kernel below eps of its largest diagonal entry don't count */
    int64_t n_select;   /* >= 1; Python's default is 10, or all if there are fewer */
    fastfs_tile_kernel custom; /* NULL, or used instead of `kernel`; norms are of centred columns if `center` */
    void* user;                /* passed to custom */
    int64_t n_given; /* >= 0: the last n_given columns of Y aren't targets: their span is taken out of all other columns
                        first. Labels then come as columns of Y. 0 for kernels and groups. */
} fastfs_projse_options;
#define FASTFS_PROJSE_OPTIONS_INIT  \
    {sizeof(fastfs_projse_options), \
     FASTFS_LINEAR,                 \
     3,                             \
     FASTFS_PROJSE_SIGMA_MEAN,      \
     FASTFS_PROJSE_CENTER_AUTO,     \
     1,                             \
     0,                             \
     0.0,                           \
     FASTFS_PROJSE_STOP,            \
     0,                             \
     1e-6,                          \
     1,                             \
     NULL,                          \
     NULL,                          \
     0}

typedef struct fastfs_projse_result {
    size_t struct_size;
    int32_t center;           /* 1 if columns were centred; 0 with fastfs_projse_kernels */
    int32_t reserved;         /* 0 */
    int64_t n_selected;       /* at most n_select, and at most the rank */
    int64_t rank;             /* of the targets' kernel; -1 if there are no targets and more could be selected */
    double sigma;             /* RBF and custom: the scale used */
    double* scores;           /* one per candidate, before any choice; 0 for columns of zeros (constants, if centred) */
    int64_t* selected;        /* n_selected, in order of choice; so are the next arrays */
    double* selection_scores; /* the score of each choice at that moment */
    double* gaps;             /* selection score less the best rival's */
    double* captured;         /* share of sum(scores) explained so far; 1 beyond the span of the targets */
    double* explained;        /* FASTFS_PROJSE_RESIDUAL: share of the targets' span explained so far, the mean R^2 of an
                                 orthonormal basis regressed on the chosen columns; else NULL */
} fastfs_projse_result;
#define FASTFS_PROJSE_RESULT_INIT {sizeof(fastfs_projse_result), 0, 0, 0, 0, 0.0, NULL, NULL, NULL, NULL, NULL, NULL}

/* Selects columns of X that together explain the targets: Y (n_rows x n_y, dense), or labels (one per row, in
 * 0..n_classes - 1), or, if both are NULL, X itself. O(n_rows n_y (n_y + 2 n_x)) time and 8 n_y (n_y + 2 n_x) bytes;
 * without targets, and beyond the span of the targets, O(n_select n_x (n_rows + n_select)) time and 8 n_select n_x
 * bytes more. Errors name the column.
 *
 * Warnings: "few_selected" (fewer than n_select), "tiny_scores", "nearly_dependent" (targets or given columns),
 * "perhaps_dependent" (targets, as far as sums tell), "all_samples" (which the targets span), "tie" (of the first
 * choice). */
FASTFS_API fastfs_status fastfs_projse(const fastfs_matrix* X, const fastfs_matrix* Y, const int64_t* labels,
                                       int64_t n_classes, const fastfs_projse_options* options, const fastfs_run* run,
                                       fastfs_projse_result* result, fastfs_fitted** fitted);

/* The same from kernels: K_YY (n_y x n_y), K_YX (n_y x n_x, row-major), and the diagonal of K_XX (n_x). */
FASTFS_API fastfs_status fastfs_projse_kernels(int64_t n_y, int64_t n_x, const double* K_YY, const double* K_YX,
                                               const double* K_XX, const fastfs_projse_options* options,
                                               const fastfs_run* run, fastfs_projse_result* result,
                                               fastfs_fitted** fitted);

/* The scores before any choice of many labelings of the same rows, with the linear kernel: X is read once for all of
 * them. labels: n_labelings x n_rows, in 0..n_classes - 1; scores, out: n_labelings x n_cols. Uses `center` and
 * `normalize` of the options. O(n_labelings n_classes n_rows n_cols) time; up to 32 MiB, and a copy of X of up to 64.
 */
FASTFS_API fastfs_status fastfs_projse_label_scores(const fastfs_matrix* X, const int64_t* labels, int64_t n_labelings,
                                                    int64_t n_classes, const fastfs_projse_options* options,
                                                    const fastfs_run* run, double* scores);

/* What a stream of ProjSe reads. */
enum {
    FASTFS_PROJSE_ONE_VIEW = 0,  /* Y with n_y columns, or labels in 0..n_y - 1; if n_y = 0, X alone */
    FASTFS_PROJSE_TWO_VIEWS = 1, /* as ONE_VIEW, with all that from_y (from numbers) and `beyond` need; X not sparse */
    FASTFS_PROJSE_GROUPS = 2     /* labels are groups of rows, 0..n_y - 1, and finish takes their classes: X not CSC */
};

/* fastfs_projse from blocks of rows. A stream keeps sums in double precision, 8 n_y (n_y + n_x) bytes, from which
 * finish computes any kernel; two views, and X alone, take 8 n_x^2 bytes more. views: FASTFS_PROJSE_ONE_VIEW,
 * _TWO_VIEWS or _GROUPS. */
FASTFS_API fastfs_status fastfs_projse_stream_new(int64_t n_y, int64_t n_x, int32_t views, const fastfs_run* run,
                                                  fastfs_stream** stream);
/* Selects from the rows so far, as often as you like. classes: FASTFS_PROJSE_GROUPS: the class of each group, in
 * 0..n_classes - 1, or -1 for groups that stay out; so one pass serves any comparison of groups. Else NULL. */
FASTFS_API fastfs_status fastfs_projse_stream_finish(const fastfs_stream* stream, const int64_t* classes,
                                                     int64_t n_classes, const fastfs_projse_options* options,
                                                     const fastfs_run* run, fastfs_projse_result* result,
                                                     fastfs_fitted** fitted);

/* ---- margins: the RELIEF family, IM4E, IMMIGRATE -------------------------------------------------------------------
 *
 * Methods on pairs of samples: d_nj = |x_n - x_j|, elementwise, of scaled features. The label-free stage scales X and
 * may keep distances; any number of fits with different labels may share one stage at the same time. */

enum {
    FASTFS_SCALE_NONE = 0,    /* features as they are */
    FASTFS_SCALE_RANGE = 1,   /* to [0, 1] */
    FASTFS_SCALE_STANDARD = 2 /* to mean 0 and standard deviation 1 (of n_rows, not n_rows - 1) */
};

enum { /* distances to keep, between all samples over all scaled features */
       FASTFS_KEEP_NONE = 0,
       FASTFS_KEEP_MANHATTAN = 1,        /* serves the RELIEF family but RELIEF, and the first iteration of IM4E */
       FASTFS_KEEP_SQUARED_EUCLIDEAN = 2 /* serves RELIEF, and the first iteration of IMMIGRATE */
};

enum { /* NaN in X is a missing value */
       FASTFS_MISSING_ERROR = 0,
       FASTFS_MISSING_IGNORE = 1, /* a distance is the mean difference of the features that both samples have, times the
                                     number of features; a score counts the neighbours that have the feature */
       FASTFS_MISSING_CLASS = 2   /* a missing value is the distribution of its class (Kononenko 1994) */
};

enum { /* differences of numbers in scores, though not in distances: small ones count as 0, large ones as 1 */
       FASTFS_RAMP_NONE = 0,
       FASTFS_RAMP_GIVEN = 1,    /* 0 up to ramp_low, 1 from ramp_high on, linear between, in scaled units */
       FASTFS_RAMP_DEVIATION = 2 /* 1 beyond the standard deviation of the feature, otherwise as they are */
};

typedef struct fastfs_margin_options {
    size_t struct_size;
    int32_t
        scaling; /* FASTFS_SCALE_*. Python's default is RANGE for the RELIEF family, but STANDARD for IM4E, IMMIGRATE */
    int32_t keep;    /* FASTFS_KEEP_* */
    int32_t missing; /* FASTFS_MISSING_* */
    int32_t ramp;    /* FASTFS_RAMP_* */
    double ramp_low;
    double ramp_high;
    const int64_t* levels; /* n_cols: 0 for numbers; for categories their number: the column holds codes 0..levels - 1,
                              which differ by 0 or 1; NULL: all numbers */
    const double* distances;      /* n_rows x n_rows, row-major, symmetric, at most 1e100, used by the RELIEF family but
                                     RELIEF instead of those of X; NULL: none */
    const double* sample_weights; /* n_rows, 1e-100 to 1e100 (float32: 1e-20 to 1e20): a weight w counts like w
                                     such samples; NULL: 1 each */
} fastfs_margin_options;
#define FASTFS_MARGIN_OPTIONS_INIT  \
    {sizeof(fastfs_margin_options), \
     FASTFS_SCALE_RANGE,            \
     FASTFS_KEEP_NONE,              \
     FASTFS_MISSING_ERROR,          \
     FASTFS_RAMP_NONE,              \
     0.0,                           \
     1.0,                           \
     NULL,                          \
     NULL,                          \
     NULL}

typedef struct fastfs_margin fastfs_margin;

/* Genotypes are fastest with FASTFS_SCALE_NONE, or with 3 levels for all of them, without a ramp, weights and
 * FASTFS_MISSING_CLASS: then the RELIEF family computes on their bits, otherwise they are decoded. X may be sparse if
 * it is scaled by range or not at all and has numbers only, without NaN or a ramp; then it stays sparse, and serves the
 * RELIEF family but RELIEF. Checks that X is finite and that not all features are constant. The handle keeps pointers
 * to its values and to the distances, which must outlive it. keep: 8 n_rows^2 bytes; with FASTFS_KEEP_NONE, or if that
 * exceeds the budget, each fit computes its own distances. Kernels run in the dtype of X, sums are kept in double.
 * IM4E, IMMIGRATE and RELIEF take complete tables of numbers only. */
FASTFS_API fastfs_status fastfs_margin_new(const fastfs_matrix* X, const fastfs_margin_options* options,
                                           const fastfs_run* run, fastfs_margin** margin);
/* The methods use (x - shift[a]) * factor[a] of feature a; factor is 0 for a constant feature. n_cols each. */
FASTFS_API fastfs_status fastfs_margin_scaling(const fastfs_margin* margin, double* shift, double* factor);
/* Restricts later calls of fastfs_relief to these columns, each once; the scores of all others are 0. weights: NULL, or
 * one for each, at least 0, by which the differences are multiplied in distances, though not in scores. Distances that
 * were kept are corrected, not computed anew, if that is cheaper and as exact. No fit may use the handle meanwhile. A
 * call that fails or is canceled leaves the columns as they were, but may give up the distances that were kept. */
FASTFS_API fastfs_status fastfs_margin_use(fastfs_margin* margin, const int64_t* features, int64_t n_features,
                                           const double* weights, const fastfs_run* run);
FASTFS_API void fastfs_margin_free(fastfs_margin* margin); /* NULL is fine */

enum {                       /* d: distances of a sample to the others; T, S: their mean and standard deviation */
       FASTFS_RELIEF = 0,    /* the nearest hit and the nearest miss */
       FASTFS_RELIEFF = 1,   /* the nearest hits, and the nearest misses of each other class */
       FASTFS_MULTISURF = 2, /* near: d < T - S / 2, far: d > T + S / 2 */
       FASTFS_SURF = 3,      /* near: d < T, far: d > T, with T of all pairs */
       FASTFS_SWRF = 4, /* near: d < T - dead_band S, far: d > T + dead_band S, weighed by a sigmoid of the distance
                           to that bound in units of S */
       FASTFS_MU_RELIEF = 5, /* of each class those at the distances farthest from the mean of that class */
       FASTFS_RRELIEFF = 6   /* the nearest of all, weighed by rank; for numbers and times as targets */
};

enum { /* what labels or y hold */
       FASTFS_TARGET_CLASS = 0,
       FASTFS_TARGET_NUMBER = 1,  /* y. RRELIEFF uses |y_n - y_j|; to the others, samples that are nearer than the
                                     standard deviation of y (n_rows - 1) are hits, and all others misses */
       FASTFS_TARGET_SURVIVAL = 2 /* y: times to an event or, where events is 0, to the end of observation; RRELIEFF */
};

enum { /* T and S of SWRF */
       FASTFS_RADIUS_ALL = 0,
       FASTFS_RADIUS_SAMPLE = 1
};

typedef struct fastfs_relief_options {
    size_t struct_size;
    int32_t method;      /* FASTFS_RELIEF to FASTFS_RRELIEFF */
    int32_t closed_form; /* RELIEF: 0 for Algorithm 1; 1 for the weights that maximise the margin, of norm 1 */
    int64_t n_neighbors; /* RELIEFF, MU_RELIEF: hits, and misses of each other class; RRELIEFF: of all; >= 1 */
    int64_t n_targets;   /* number of samples with neighbours that are used, drawn at random, at least 50 of each class
                            if that has them, and weighted back to the shares of the classes; 0: all */
    uint64_t seed;       /* of that draw */
    int32_t far;         /* SURF, MULTISURF, SWRF: 1 to use far samples too, with the opposite sign */
    int32_t radius;      /* SWRF: FASTFS_RADIUS_* */
    double dead_band;    /* SWRF: >= 0 */
    double sigma;        /* RRELIEFF: the r-th nearest of n_neighbors weighs exp(-(r / sigma)^2); > 0 */
    int32_t target;      /* FASTFS_TARGET_* */
    const double* y;     /* NUMBER, SURVIVAL: n_rows */
    const int32_t* events; /* SURVIVAL: n_rows */
    const double* priors;  /* RELIEFF, MU_RELIEF: n_classes, positive; NULL: shares of the samples */
} fastfs_relief_options;
#define FASTFS_RELIEF_OPTIONS_INIT                                                                    \
    {sizeof(fastfs_relief_options), FASTFS_RELIEFF, 0,    10,  0, 0, 0, FASTFS_RADIUS_ALL, 0.0, 20.0, \
     FASTFS_TARGET_CLASS,           NULL,           NULL, NULL}

typedef struct fastfs_relief_result {
    size_t struct_size;
    int32_t stored; /* 1 if all n_rows^2 distances were stored, 0 if by blocks of rows */
    int32_t reserved;
    double* scores;    /* n_cols: larger is better, may be negative; 0 for constant features */
    double* scores_se; /* n_cols: the standard error of each score over draws of n_targets, NaN if that is 1; NULL if
                          n_targets is 0 */
    int64_t n_alone;   /* targets without a near sample */
    int64_t n_apart;   /* pairs of a target and a sample without a feature that both have */
} fastfs_relief_result;
#define FASTFS_RELIEF_RESULT_INIT {sizeof(fastfs_relief_result), 0, 0, NULL, NULL, 0, 0}

/* labels: one for each row, 0..n_classes - 1, each at least once; n_classes >= 2; ignored, with n_classes = 0, if the
 * target isn't classes. RELIEF: nearest by Euclidean distance, the others by Manhattan distance; ties go to the lowest
 * row. O(n_rows^2 n_cols) time.
 *
 * Warnings: "one_sample" (in a class), "uneven_scales" (standard deviations lie more than 1000 times apart),
 * "few_neighbors" (fewer than n_neighbors in a class), "no_neighbors", "apart" (samples that no feature compares),
 * "no_weight" (all scores are 0). */
FASTFS_API fastfs_status fastfs_relief(const fastfs_margin* margin, const int64_t* labels, int64_t n_classes,
                                       const fastfs_relief_options* options, const fastfs_run* run,
                                       fastfs_relief_result* result, fastfs_fitted** fitted);

/* FASTFS_RELIEF and FASTFS_RELIEFF of more rows than memory holds: n_targets of the options, drawn from their labels,
 * against all rows. Pass 1 finds the ranges of the columns and keeps the targets; pass 2 keeps the nearest n_neighbors
 * rows in each class, for each target. Ties go to the lowest row, so that the blocks don't matter; scores are those of
 * fastfs_relief with the same draw. Blocks are complete numbers, dense or CSR (then not for RELIEF), all of one dtype
 * and storage. labels: one for each of all rows, as for fastfs_relief. scaling: FASTFS_SCALE_*. */
FASTFS_API fastfs_status fastfs_relief_stream_new(int64_t n_rows, int64_t n_cols, const int64_t* labels,
                                                  int64_t n_classes, int32_t scaling,
                                                  const fastfs_relief_options* options, const fastfs_run* run,
                                                  fastfs_stream** stream);
/* Writes the scores of the second pass with all rows, as often as you like. merged[c]: the class, 0..n_merged - 1, that
 * class c counts as, each at least once; NULL: each as itself. So one pass serves each class against the rest. */
FASTFS_API fastfs_status fastfs_relief_stream_finish(const fastfs_stream* stream, const int64_t* merged,
                                                     int64_t n_merged, const fastfs_run* run,
                                                     fastfs_relief_result* result, fastfs_fitted** fitted);

enum {
    FASTFS_MARGIN_SIGMA_GIVEN = 0,
    FASTFS_MARGIN_SIGMA_NEAREST = 1, /* sigma times the median of the positive distances of samples to their nearest hit
                                        under the first weights; sigma itself if there are none */
    FASTFS_MARGIN_SIGMA_AUTO = 2     /* the same with 2 (IM4E) or 4 (IMMIGRATE) in place of sigma */
};

typedef struct fastfs_im4e_options {
    size_t struct_size;
    double sigma;                /* > 0: the scale of the softmax, or its factor, by sigma_rule */
    int32_t sigma_rule;          /* FASTFS_MARGIN_SIGMA_* */
    int32_t max_iter;            /* >= 1 */
    double tol;                  /* >= 0: the iteration stops if the cost changes by no more than this share */
    const double* class_factors; /* imIM4E: of each class, > 0; NULL: 1 */
    const double* start;         /* n_cols, >= 0: the weights to start from, normalised; NULL: all equal */
    int64_t n_anchors; /* samples with margins that a step adds up, drawn anew for each step; 0: all. The weights
                          of steps are averaged: step t has the share max(1 / t, 1 / 4) */
    uint64_t seed;     /* of these draws */
} fastfs_im4e_options;
#define FASTFS_IM4E_OPTIONS_INIT \
    {sizeof(fastfs_im4e_options), 1.0, FASTFS_MARGIN_SIGMA_AUTO, 10, 1e-4, NULL, NULL, 0, 0}

typedef struct fastfs_im4e_result {
    size_t struct_size;
    int32_t stored;    /* 1 if all n_rows^2 distances were stored, 0 if by blocks of rows */
    int32_t converged; /* 1 if the cost changed by no more than tol */
    int64_t n_iter;
    double sigma;      /* of the softmax */
    double* weights;   /* n_cols: >= 0, sum 1 */
    double* cost;      /* n_iter: of each iteration's weights, under the alpha and beta that they were made of */
    double* objective; /* n_iter: G of the weights before that iteration */
} fastfs_im4e_result;
#define FASTFS_IM4E_RESULT_INIT {sizeof(fastfs_im4e_result), 0, 0, 0, 0.0, NULL, NULL, NULL}

/* O(n_rows^2 n_cols) time an iteration, 8 n_rows^2 bytes or, if that exceeds the budget, less (and twice the time).
 * Warnings: "one_sample" and "uneven_scales" as of fastfs_relief, "no_weight" (the weights before stay). */
FASTFS_API fastfs_status fastfs_im4e(const fastfs_margin* margin, const int64_t* labels, int64_t n_classes,
                                     const fastfs_im4e_options* options, const fastfs_run* run,
                                     fastfs_im4e_result* result, fastfs_fitted** fitted);

enum { /* whether IM4E, with the same sigma, sigma_rule, max_iter and tol, runs before IMMIGRATE */
       FASTFS_PREFILTER_NONE = 0,
       FASTFS_PREFILTER_IM4E = 1, /* it does: W is of the features that reach the mean weight, and starts as the
                                     diagonal of their weights */
       FASTFS_PREFILTER_AUTO = 2  /* it does if more than 1000 features vary, and W is of the 1000 of largest weight at
                                     most; not if features, start or start_matrix is given */
};
enum { FASTFS_SMALLEST_AUTO = -1 }; /* 1 / (number of features of W), which isn't the paper's: it prints none */

typedef struct fastfs_immigrate_options {
    size_t struct_size;
    double sigma;
    int32_t sigma_rule;
    int32_t max_iter;
    double tol;                 /* as of fastfs_im4e_options */
    int32_t clip;               /* 1: negative entries of W become 0, as in the authors' package; then W isn't PSD */
    int32_t prefilter;          /* FASTFS_PREFILTER_* */
    double smallest;            /* entries of W below it become 0 in each iteration, before W is normalised; 0: none;
                                   or FASTFS_SMALLEST_AUTO */
    double negligible;          /* pairs of samples with a weight |g| up to this are skipped, >= 0; 0: only those that
                                   rounding loses, below the machine epsilon of the kernels / n_rows. Sigma changes by
                                   up to this times the sum of their |d|^2 */
    const int64_t* features;    /* columns to use, ascending; NULL: all that aren't constant */
    int64_t n_features;         /* how many, if features is given */
    const double* start;        /* one for each of these (n_cols, if features is NULL): W starts as this diagonal,
                                   normalised; NULL: all equal */
    const double* start_matrix; /* or as this symmetric matrix of features x features, which has no negative
                                   eigenvalue unless clip is 1; NULL */
    int64_t n_starts;           /* how many fits to compare; the result is the one with the least G of its last W. The
                                   first has the start above, the others have diagonals of exponential random numbers
                                   and the sigma of the first */
    uint64_t seed;              /* of these numbers */
} fastfs_immigrate_options;
#define FASTFS_IMMIGRATE_OPTIONS_INIT  \
    {sizeof(fastfs_immigrate_options), \
     1.0,                              \
     FASTFS_MARGIN_SIGMA_AUTO,         \
     10,                               \
     1e-4,                             \
     0,                                \
     FASTFS_PREFILTER_AUTO,            \
     0.0,                              \
     0.0,                              \
     NULL,                             \
     0,                                \
     NULL,                             \
     NULL,                             \
     1,                                \
     0}

/* A fitted W = sum_k values[k] v_k v_k', and W itself if features are fewer than active pairs of samples. */
typedef struct fastfs_immigrate_result {
    size_t struct_size;
    int32_t stored; /* 1 if all n_rows^2 distances were stored, 0 if by blocks of rows */
    int32_t converged;
    int64_t n_iter;
    double sigma;
    int64_t n_features;        /* of W */
    int64_t rank;              /* numerical, of W */
    int64_t* features;         /* n_features columns of X, ascending */
    double* values;            /* rank, |.| descending */
    double* vectors;           /* rank x n_features, orthonormal rows; the entry of largest magnitude is positive */
    double* W;                 /* n_features x n_features, Frobenius norm 1; NULL if it was kept in factors only */
    double* scores;            /* n_cols: sum_b W_ab^2, 0 for columns that aren't used */
    double* cost;              /* n_iter */
    double* objective;         /* n_iter */
    double* prefilter_weights; /* n_cols, of IM4E; NULL if it didn't run first */
} fastfs_immigrate_result;
#define FASTFS_IMMIGRATE_RESULT_INIT \
    {sizeof(fastfs_immigrate_result), 0, 0, 0, 0.0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}

/* O(n_rows^2 n_features (rank + n_features / 2)) time an iteration. If W itself exceeds the budget, steps are made
 * in the space of the pairs of samples that get a weight; bytes_needed can't include that. Warnings are those of
 * fastfs_im4e. */
FASTFS_API fastfs_status fastfs_immigrate_fit(const fastfs_margin* margin, const int64_t* labels, int64_t n_classes,
                                              const fastfs_immigrate_options* options, const fastfs_run* run,
                                              fastfs_immigrate_result* result, fastfs_fitted** fitted);

/* The n_pairs pairs of features a < b with the largest |W_ab|, largest first, as positions 0..n_features - 1, from the
 * factors of a W. without_leading: 1 to take the eigenpair of the largest |value| out first. Returns how many there are
 * (fewer if n_features (n_features - 1) / 2 is less) in found. */
FASTFS_API fastfs_status fastfs_immigrate_pairs(int64_t n_features, int64_t rank, const double* values,
                                                const double* vectors, int32_t without_leading, int64_t n_pairs,
                                                const fastfs_run* run, int64_t* a, int64_t* b, double* weights,
                                                int64_t* found);

/* A metric between samples that IM4E or IMMIGRATE found: f = w'd, or f = d'W d with W in factors. */
typedef struct fastfs_margin_metric {
    size_t struct_size;
    double sigma;            /* > 0 */
    const int64_t* features; /* columns of X, ascending; NULL: all */
    int64_t n_features;
    const double* weights; /* n_features: w; or NULL and */
    int64_t rank;
    const double* values;  /* rank */
    const double* vectors; /* rank x n_features */
} fastfs_margin_metric;
#define FASTFS_MARGIN_METRIC_INIT {sizeof(fastfs_margin_metric), 1.0, NULL, 0, NULL, 0, NULL, NULL}

/* For each row of X (dense, n_cols columns of the dtype of the training data) its expected distance to each class: the
 * mean of f over the class's training samples, weighted by softmax(-f / sigma). Smaller is nearer; not a probability.
 * out: rows x n_classes, row-major. */
FASTFS_API fastfs_status fastfs_margin_distances(const fastfs_margin* margin, const int64_t* labels, int64_t n_classes,
                                                 const fastfs_margin_metric* metric, const fastfs_matrix* X,
                                                 const fastfs_run* run, double* out);

/* Explains predictions: out (rows x n_features for w, rows x n_features x n_features for W) splits e_other - e_class of
 * each row of X into the parts of its features or pairs of features, where e are the expected distances, class is
 * wanted[row], and other the nearest of the other classes. Positive parts are evidence for the class. */
FASTFS_API fastfs_status fastfs_margin_explain(const fastfs_margin* margin, const int64_t* labels, int64_t n_classes,
                                               const fastfs_margin_metric* metric, const fastfs_matrix* X,
                                               const int64_t* wanted, const fastfs_run* run, double* out);

/* ---- neighbours between features --------------------------------------------------------------------------------- */

/* The n_neighbors nearest other columns of each column of X by Euclidean distance, nearest first, ties by the lower
 * index: neighbors and distances are n_cols x n_neighbors, row-major. Exact: candidates come from products in single
 * precision, and those that rounding could confuse are compared by differences in double. X is dense, CSR or CSC.
 * O(n_cols^2 n_rows) time; memory besides the results: a float32 copy of X (sparse: two in double), 16 MiB, and some
 * 28 n_cols (n_neighbors + 32) bytes. */
FASTFS_API fastfs_status fastfs_nearest_features(const fastfs_matrix* X, int64_t n_neighbors, const fastfs_run* run,
                                                 int64_t* neighbors, double* distances);

/* ---- DiSC -------------------------------------------------------------------------------------------------------- */

/* One condition. Its graph is W, or is made of neighbors and distances, or of a group of stream, or of X: the first of
 * these that is given. All sets have the same features. */
typedef struct fastfs_disc_set {
    size_t struct_size;
    const fastfs_matrix* X;   /* samples x features: dense, also some rows of a table by row_list, CSR or CSC */
    const fastfs_matrix* W;   /* a graph: features x features, CSR, symmetric, not negative */
    const int64_t* neighbors; /* features x n_neighbors, as of fastfs_nearest_features (may be approximate) */
    const double* distances;
    int64_t n_neighbors;       /* of neighbors and distances */
    int64_t n_features;        /* needed without X and W */
    int64_t n_components;      /* diffusion vectors of this set, >= 1, (n_features - 2) / (n_sets - 1) always fit; 0:
                                  20, or a quarter of those that fit if that is less, and at least one */
    fastfs_tile_kernel custom; /* NULL: exp(-D_ij^2 / eps_i^2) with the adaptive bandwidth eps_i. Else this, of squared
                                  distances; its sigma is the median of eps_i */
    void* user;                /* handed to custom */
    const fastfs_stream* stream; /* of fastfs_disc_stream_new, after its finish; without custom */
    int64_t group;               /* of stream */
} fastfs_disc_set;
#define FASTFS_DISC_SET_INIT {sizeof(fastfs_disc_set), NULL, NULL, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, 0}

enum {
    FASTFS_GRAPH_DENSE = 0,
    FASTFS_GRAPH_KNN = 1,
    FASTFS_GRAPH_LISTS = 2 /* knn of a dense X, from lists of similar features: for many features, misses a few */
};
enum { FASTFS_DISC_MOST_SUMS = 5000 /* features up to which a stream keeps the products of all pairs */ };
enum { FASTFS_CONSTANT_DROP = 0, FASTFS_CONSTANT_PROJECT = 1 };
enum { FASTFS_DISC_SCALING_NONE = 0, FASTFS_DISC_SCALING_STANDARD = 1 };
enum { FASTFS_CUT_NORMALIZED = 0, FASTFS_CUT_RATIO = 1 };

typedef struct fastfs_disc_options {
    size_t struct_size;
    int32_t graph;               /* FASTFS_GRAPH_*, of X: all pairs of features, or each one's n_neighbors nearest */
    int32_t constant;            /* FASTFS_CONSTANT_*: whether the constant vector is among those projected out */
    int64_t bandwidth_neighbors; /* k >= 1: eps_i is the distance to the k-th nearest other feature */
    int64_t n_neighbors;         /* of the graphs knn and lists, >= 1 */
    double density;              /* alpha in [0, 1]: affinities are divided by (q_i q_j)^alpha, q the row sums */
    int64_t n_vectors;           /* differential vectors of each set, >= 1 */
    int64_t n_differential;      /* of these, how many make the scores; 0: up to the largest ratio of significances */
    uint64_t seed;               /* of the start vectors of eigensolvers, and of lists */
    int32_t scaling;             /* FASTFS_DISC_SCALING_*: STANDARD subtracts the mean of each feature over the samples
                                    of all sets, which have a dense X, and divides by its standard deviation */
    int32_t cut;                 /* FASTFS_CUT_*: the form of fastfs_disc_cuts */
} fastfs_disc_options;
#define FASTFS_DISC_OPTIONS_INIT                                                                     \
    {sizeof(fastfs_disc_options), FASTFS_GRAPH_KNN,     FASTFS_CONSTANT_DROP, 30, 30, 1.0, 10, 0, 0, \
     FASTFS_DISC_SCALING_NONE,    FASTFS_CUT_NORMALIZED}

typedef struct fastfs_disc_result {
    size_t struct_size;
    int64_t n_features;
    int64_t n_vectors; /* at most those asked for: limited by the space */
    int64_t n_components;
    int64_t n_connected;    /* components of the graph */
    int64_t n_differential; /* leading vectors that are not trivial and make the scores */
    double gap;             /* between the last eigenvalue that is used and the next */
    double ratio;           /* of the last significance counted by n_differential to the next; 0 without either */
    double* significance;   /* n_vectors: singular values, descending */
    double* vectors;        /* n_vectors x n_features: differential vectors */
    int32_t* trivial;       /* n_vectors: 1 if a vector is the constant one */
    double* eigenvalues;    /* n_components + 1: of the diffusion, the constant's 1 first */
    double* diffusion;      /* n_components x n_features: diffusion vectors, unit norm */
    double* bandwidths;     /* n_features: eps_i; NULL if W was given */
    double* scores;         /* n_features: of this set */
    int64_t n_stored;       /* entries of the graph that was used; 0 if dense */
    double* mean;           /* n_features, of all sets: subtracted by FASTFS_DISC_SCALING_STANDARD; else NULL */
    double* scale;          /* n_features, of all sets: divided by */
    double graph_recall;    /* FASTFS_GRAPH_LISTS: share of the nearest features found, by a sample of 1000; else 0 */
} fastfs_disc_result;
#define FASTFS_DISC_RESULT_INIT \
    {sizeof(fastfs_disc_result), 0, 0, 0, 0, 0, 0.0, 0.0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, 0.0}

/* Finds features with graphs that differ between sets: an array of two or more, struct_size bytes apart, as are
 * results, one for each set. Dense: O(p^2 n) time and 8 p^2 bytes a set, p features; knn: O(p^2 n) time and O(p
 * n_neighbors) bytes; lists: a few per cent of the time of knn, and 4 p n bytes more.
 *
 * Warnings: "one_sample" (in a set), "all_neighbors" (more are asked for than there are), "duplicates" (features with
 * copies, for which eps_i would be 0), "disconnected" (graph), "small_gap" (n_components splits a cluster of
 * eigenvalues), "low_recall" (graph_recall is below 0.9), "lost_digits" (of distances, in sums over rows), "identical"
 * (graphs of two sets), "all_trivial" (vectors, so that there are no scores), "flat" (significances, so that where to
 * cut is arbitrary), "not_converged". */
FASTFS_API fastfs_status fastfs_disc_fit(const fastfs_disc_set* sets, int64_t n_sets,
                                         const fastfs_disc_options* options, const fastfs_run* run,
                                         fastfs_disc_result* results, fastfs_fitted** fitted);
/* Writes the graph of a set of fastfs_disc_fit, in symmetric form W, unless it is dense: CSR, columns ascending.
 * index_bits: 32 or 64, of indptr (n_features + 1) and indices (n_stored, as weights). */
FASTFS_API fastfs_status fastfs_disc_graph(const fastfs_fitted* fitted, int64_t set, int32_t index_bits,
                                           const fastfs_run* run, void* indptr, void* indices, double* weights);

/* Reads rows in blocks: each row has a group, and each group becomes a set. Up to FASTFS_DISC_MOST_SUMS features: one
 * pass, which keeps the products of all pairs of features (some 4 n_cols^2 bytes a group). With more of them, groups of
 * up to 256 rows are kept as they are; of larger ones the first pass makes a sketch of 256 rows (2 KB a feature and
 * group), by which each feature gets candidates for its nearest ones: four for each neighbor, and at least 120. If
 * there are such groups, a second pass computes the products of candidates exactly, and the nearest of them are the
 * neighbors of the graph knn. options: graph DENSE (one pass only) or KNN, without scaling; bandwidth_neighbors,
 * n_neighbors and seed are those of the fit. labels: the group of each of all rows, 0..n_groups - 1, each at least
 * once. */
FASTFS_API fastfs_status fastfs_disc_stream_new(int64_t n_rows, int64_t n_cols, const int64_t* labels, int64_t n_groups,
                                                const fastfs_disc_options* options, const fastfs_run* run,
                                                fastfs_stream** stream);
/* Ends the last pass: from now on the groups of the stream serve as sets. FASTFS_EINVAL names a row that has not
 * come. */
FASTFS_API fastfs_status fastfs_disc_stream_finish(fastfs_stream* stream, const fastfs_run* run);

/* How well groups of features are cut off from the others by the graph of each set, which is made as for a fit: by the
 * affinities that the random walk takes, cut / volume of the group + cut / volume of the rest (NORMALIZED), or cut /
 * size of the group + cut / size of the rest (RATIO). groups: n_groups x n_features, 1 for members and 0 for others:
 * each group needs both; cuts: n_groups x n_sets. */
FASTFS_API fastfs_status fastfs_disc_cuts(const fastfs_disc_set* sets, int64_t n_sets,
                                          const fastfs_disc_options* options, const int64_t* groups, int64_t n_groups,
                                          const fastfs_run* run, double* cuts);

/* ---- I-KDR ------------------------------------------------------------------------------------------------------ */

enum { FASTFS_WIDTH_MEAN_SQUARED = 0, FASTFS_WIDTH_MEAN = 1, FASTFS_WIDTH_GIVEN = 2 };

/* Kernels K_m between samples: exp(-|x - x'|^2 / delta_m), each of one feature or of a group of features, or matrices
 * of the caller. */
typedef struct fastfs_ikdr_kernels {
    size_t struct_size;
    const fastfs_matrix* X; /* samples x features, dense; NULL: matrices */
    int64_t n_kernels;      /* with X: 0 (one per feature), 1 (one of all features) or the number of groups */
    const int64_t* groups;  /* n_features, in 0..n_kernels - 1, each at least once; NULL unless n_kernels > 1 */
    int32_t scaling;        /* FASTFS_SCALE_NONE or FASTFS_SCALE_STANDARD */
    int32_t width; /* FASTFS_WIDTH_*: delta_m is the mean of the squared distances (or of the distances) between
                      samples in the kernel's features, or given */
    double delta;  /* FASTFS_WIDTH_GIVEN: > 0 */
    const double* matrices; /* n_kernels x n_samples x n_samples: symmetric and positive semidefinite; diagonals should
                               be about 1 */
    int64_t n_samples;      /* of matrices */
} fastfs_ikdr_kernels;
#define FASTFS_IKDR_KERNELS_INIT \
    {sizeof(fastfs_ikdr_kernels), NULL, 0, NULL, FASTFS_SCALE_STANDARD, FASTFS_WIDTH_MEAN_SQUARED, 0.0, NULL, 0}

enum { FASTFS_IKDR_LAPLACIAN = 0, FASTFS_IKDR_DISTANCE = 1 };
enum { FASTFS_IKDR_PROJECTED_GRADIENT = 0, FASTFS_IKDR_ADMM = 1 };

typedef struct fastfs_ikdr_options {
    size_t struct_size;
    int64_t n_components;  /* k; 0: the number of classes */
    const double* lambdas; /* n_lambdas, >= 0, in units of 1 / n_samples: each starts from the solution before */
    int64_t n_lambdas;     /* >= 1; if lambdas is NULL, a single lambda of 0.1 is used */
    double mu;             /* >= 0, in units of 1 / n_samples */
    double tau;            /* penalties of the slack variables, > 0, up to INFINITY */
    double zeta;
    int32_t interpretability; /* FASTFS_IKDR_LAPLACIAN: the paper's (15); FASTFS_IKDR_DISTANCE: its (7) */
    int32_t solver;           /* FASTFS_IKDR_ADMM: the paper's alternation */
    int64_t max_iter;         /* outer iterations, >= 1 */
    int64_t max_inner;        /* steps on A in each outer iteration, >= 1 */
    double tol;               /* relative decrease of the objective, >= 0 */
    double rho;               /* FASTFS_IKDR_ADMM: > 0 */
    const double* A;          /* start, n_samples x n_components; NULL: means of the classes, or of parts of them */
    const double* weights;    /* start, n_kernels; NULL: equal weights */
    uint64_t seed;            /* draws the features of the first kernel if there are very many features */
} fastfs_ikdr_options;
#define FASTFS_IKDR_OPTIONS_INIT \
    {sizeof(fastfs_ikdr_options), 0, NULL, 1, 0.1, INFINITY, INFINITY, 0, 0, 100, 200, 1e-4, 1.0, NULL, NULL, 0}

typedef struct fastfs_ikdr_result {
    size_t struct_size;
    int32_t converged;
    int32_t reserved;
    int64_t n_samples;
    int64_t n_features; /* of X; 0 with matrices */
    int64_t n_kernels;
    int64_t n_classes;
    int64_t n_components;
    int64_t n_iter;          /* outer iterations */
    double lam;              /* in units of 1 / n_samples */
    double objective;        /* F of the reduced problem */
    double interpretability; /* I_p, in [1 / n_classes, 1] */
    double similarity;       /* mean of K off its diagonal */
    double* history;         /* n_iter: F after each outer iteration */
    double* A;               /* n_samples x n_components: columns on the simplex */
    double* embedding;       /* n_samples x n_components: B = K A */
    double* profile;         /* n_classes x n_components: P = H A */
    double* weights;         /* n_kernels: beta, on the simplex */
    double* prices;          /* n_kernels: dF/dbeta_m minus the smallest one; infinite for constant kernels */
    double* deltas;          /* n_kernels; 0 if constant. NULL with matrices, as are means and scales */
    double* means;           /* n_features */
    double* scales;          /* n_features: the divisors of deviations; 0 for constant features */
} fastfs_ikdr_result;
#define FASTFS_IKDR_RESULT_INIT  \
    {sizeof(fastfs_ikdr_result), \
     0,                          \
     0,                          \
     0,                          \
     0,                          \
     0,                          \
     0,                          \
     0,                          \
     0,                          \
     0.0,                        \
     0.0,                        \
     0.0,                        \
     0.0,                        \
     NULL,                       \
     NULL,                       \
     NULL,                       \
     NULL,                       \
     NULL,                       \
     NULL,                       \
     NULL,                       \
     NULL,                       \
     NULL}

/* Finds dimensions that are mixtures of samples, mostly of one class, and the kernels that these need. labels:
 * 0..n_classes - 1. results: one for each of lambdas. Takes O(n_features n_samples (n_samples + n_support)) time and
 * memory for n_features (n_samples + n_classes n_components) numbers of the dtype of X; if that exceeds the budget,
 * hardly any memory, because exponentials are computed anew.
 *
 * Warnings: "lambda_zero", "few_components" (fewer than classes), "many_components" (surplus dimensions, for outliers),
 * "identity" (samples are hardly similar), "nearly_constant" (a kernel with weight), "diagonals" (of matrices, are far
 * from 1), "few_dimensions" (some class is the main one of none, though there are enough), "not_converged". */
FASTFS_API fastfs_status fastfs_ikdr_fit(const fastfs_ikdr_kernels* kernels, const int64_t* labels, int64_t n_classes,
                                         const fastfs_ikdr_options* options, const fastfs_run* run,
                                         fastfs_ikdr_result* results, fastfs_fitted** fitted);

/* The model that embeds new samples: the support (samples with a coefficient) in the columns that have weight. */
typedef struct fastfs_ikdr_model {
    size_t struct_size;
    int64_t n_kernels;
    const double* weights;   /* n_kernels */
    const double* deltas;    /* n_kernels */
    const int64_t* begins;   /* n_kernels + 1: kernel m has features[begins[m]] .. features[begins[m + 1] - 1] */
    const int64_t* features; /* columns of X, kernel after kernel */
    const double* means;     /* of these, as are scales */
    const double* scales;
    int64_t n_support;
    const double* support; /* n_support x (number of these): scaled values of the samples */
    int64_t n_components;
    const double* coefficients; /* n_support x n_components: rows of A */
} fastfs_ikdr_model;
#define FASTFS_IKDR_MODEL_INIT {sizeof(fastfs_ikdr_model), 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, NULL}

/* out (rows of X x n_components, row-major) = sum_m weights_m K_m(X, support) coefficients. */
FASTFS_API fastfs_status fastfs_ikdr_embed(const fastfs_ikdr_model* model, const fastfs_matrix* X,
                                           const fastfs_run* run, double* out);

/* ---- differential correlation ------------------------------------------------------------------------------------ */

enum { FASTFS_PEARSON = 0, FASTFS_SPEARMAN = 1 };
enum { FASTFS_CORRELATION_LISTED = 10 }; /* pairs of copies that a result lists at most */

typedef struct fastfs_differential_correlation_options {
    size_t struct_size;
    int32_t correlation;      /* FASTFS_PEARSON, FASTFS_SPEARMAN */
    int32_t reserved;         /* 0 */
    int64_t n_pairs;          /* the strongest pairs to report, >= 1 */
    const int64_t* features;  /* NULL for all columns of X, or ascending: the pairs are those among them */
    int64_t n_features;       /* of these, >= 2 */
    const int64_t* labelings; /* n_labelings x n_rows: draws under the hypothesis that the labels don't matter */
    int64_t n_labelings;      /* 0: no p-values */
    int64_t wholes;           /* 1: labelings move groups of samples as wholes; 0: samples */
    int64_t n_classes;        /* of labels, >= 2; 0: two */
    const double* covariates; /* n_rows x n_covariates, row-major: correlations are given these */
    int64_t n_covariates;     /* 0: none */
} fastfs_differential_correlation_options;
#define FASTFS_DIFFERENTIAL_CORRELATION_OPTIONS_INIT \
    {sizeof(fastfs_differential_correlation_options), FASTFS_PEARSON, 0, 1000, NULL, 0, NULL, 0, 0, 0, NULL, 0}

typedef struct fastfs_differential_correlation_result {
    size_t struct_size;
    int64_t n_pairs;      /* at most that of the options */
    int64_t n_copies;     /* pairs left out: |correlation| above 1 - 1e-12 and of one sign in all classes */
    int64_t* pairs;       /* n_pairs x 2: columns of X, the lower one first; by descending |z|, then by columns */
    double* correlations; /* n_pairs x n_classes */
    double* z;            /* n_pairs: difference of Fisher's transforms, class 0 less class 1, over its deviation; of
                             more than two classes the chi-square of homogeneity of the transforms */
    double* pvalues;      /* n_pairs: family-wise, step-down; NULL without labelings */
    double* scores;       /* one per column of X: the sum of |z| over its pairs; 0 for columns that aren't chosen */
    double* null_maxima;  /* n_labelings: the largest |z| */
    int32_t* constant;    /* one per column of X: 1 if it was chosen, but is constant in a class */
    int64_t* copies; /* the first pairs of copies, by columns: n_copies of them, FASTFS_CORRELATION_LISTED at most */
    int32_t* rare;   /* one per column of X: 1 if it is compared, and more than three fourths of a class
                        share a value: then p-values of wholes are too small if the shares differ */
    double error;    /* the standard error of the difference of transforms of two classes, the unit of z */
} fastfs_differential_correlation_result;
#define FASTFS_DIFFERENTIAL_CORRELATION_RESULT_INIT \
    {sizeof(fastfs_differential_correlation_result), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0}

/* Finds the pairs of features with the correlations that differ most between classes: labels are 0..n_classes - 1, at
 * least four of each. With more than two classes |z| stands for the chi-square, and its root in scores. Features are
 * standardised within the true classes (FASTFS_SPEARMAN: their ranks), without ties less their lines in the covariates,
 * by least squares with slopes that the true classes share. For each labeling, samples of a true
 * class then get the mean and the deviation that the labeling before finds in the class of this number, so labelings
 * come in random order. If a fourth of a class share a value, and `wholes` is 0, places within the true classes (ties
 * in random order) take the part of values, and each class of a labeling gets the values of a true class in their
 * order. z takes correlations as at most 1 - 1e-12 in magnitude (FASTFS_SPEARMAN: 1 - 6 / (n^3 - n), n the size of the
 * smallest class). p-values are 1 + the labelings with a largest |z|, over all pairs but the stronger ones, that
 * reaches that of the pair, divided by 1 + n_labelings. Takes O(n_rows n_features^2 (1 + n_labelings)) time and
 * O(n_rows n_features) memory: no table of pairs is stored. A sparse X becomes a dense table of doubles.
 *
 * Warnings: "constant" (features, in a class), "copies" (pairs), "heavy_tails" (features, for which Pearson's p-values
 * are too small), "keep_line" (features with ties, from which covariates aren't taken out), "rare_values" (of features,
 * so that permutations of `wholes` give no valid p-values). */
FASTFS_API fastfs_status fastfs_differential_correlation(const fastfs_matrix* X, const int64_t* labels,
                                                         const fastfs_differential_correlation_options* options,
                                                         const fastfs_run* run,
                                                         fastfs_differential_correlation_result* result,
                                                         fastfs_fitted** fitted);

/* ---- interactions ------------------------------------------------------------------------------------------------ */

enum { FASTFS_INTERACTION_VALUES = 0, FASTFS_INTERACTION_RANKS = 1 };
enum { FASTFS_INTERACTION_LISTED = 10 }; /* excluded pairs that a result lists at most */

typedef struct fastfs_interaction_options {
    size_t struct_size;
    int32_t transform;        /* FASTFS_INTERACTION_VALUES, or _RANKS: normal scores of ranks, for heavy tails */
    int32_t along;            /* 1, with y: columns first lose the lines that their mean and the logarithm of their
                                 variance follow in y; F is then that of a correlation that changes along y */
    int64_t n_classes;        /* of labels, >= 2; 0 with y */
    int64_t n_pairs;          /* the strongest pairs to report, >= 1 */
    const int64_t* features;  /* NULL for all columns of X, or ascending: the pairs are those with these columns */
    int64_t n_features;       /* of these */
    const double* covariates; /* n_rows x n_covariates, row-major: part of every model */
    int64_t n_covariates;     /* 0: none */
    const int64_t* label_permutations; /* with labels: n_labelings x n_rows, draws under the hypothesis that the labels
                                          don't matter */
    const double* y_permutations;      /* with y: n_labelings x n_rows */
    int64_t n_labelings;               /* 0: no p-values */
    const int64_t* first_of_pairs;     /* NULL for all pairs, or the columns of X of those to test, without `features`:
                                          each pair once, in ascending order */
    const int64_t* second_of_pairs;    /* with these: columns of X, each above its first one, or of `other` */
    int64_t n_chosen;                  /* of these pairs */
} fastfs_interaction_options;
#define FASTFS_INTERACTION_OPTIONS_INIT  \
    {sizeof(fastfs_interaction_options), \
     FASTFS_INTERACTION_VALUES,          \
     0,                                  \
     0,                                  \
     1000,                               \
     NULL,                               \
     0,                                  \
     NULL,                               \
     0,                                  \
     NULL,                               \
     NULL,                               \
     0,                                  \
     NULL,                               \
     NULL,                               \
     0}

typedef struct fastfs_interaction_result {
    size_t struct_size;
    int64_t n_pairs;      /* at most that of the options */
    int64_t n_tested;     /* pairs that have a test */
    int64_t n_copies;     /* pairs left out: of x_i and x_j one determines the other, given the covariates */
    int64_t n_products;   /* pairs left out: their product is a linear function of both and the covariates */
    int64_t n_explained;  /* pairs left out: the target determines one of them, or both determine the target */
    int64_t degrees;      /* of freedom of the target: the first of F */
    int64_t rest_degrees; /* of freedom of what is left: the second of F */
    int64_t* pairs;       /* n_pairs x 2: columns of X, the lower one first, or of X and of `other`; by descending F,
                             then by columns */
    double* statistics;   /* n_pairs: F of the product, given both columns and the covariates */
    double* effects;      /* n_pairs: the coefficient of the product, in standard deviations of the target (two classes:
                             1 for the second one) per product of standard deviations; along y the change of the
                             correlation per standard deviation of y; NaN with more than two classes */
    double* errors;       /* n_pairs: its standard error */
    double* pvalues;      /* n_pairs: family-wise, step-down; NULL without labelings */
    double* scores;       /* one per column of X: the largest F of its pairs; 0 for columns without pairs */
    double* other_scores; /* one per column of `other`, or NULL without it */
    double* null_maxima;  /* n_labelings: the largest F */
    int32_t* constant;    /* one per column of X: 1 if it was chosen, but doesn't vary given the
                             covariates */
    int32_t* other_constant; /* one per column of `other`, or NULL */
    int64_t* excluded;       /* the first pairs left out, by columns: all of them, or FASTFS_INTERACTION_LISTED */
    double* correlations;    /* n_pairs: of the columns as they were compared, given the covariates */
} fastfs_interaction_result;
#define FASTFS_INTERACTION_RESULT_INIT  \
    {sizeof(fastfs_interaction_result), \
     0,                                 \
     0,                                 \
     0,                                 \
     0,                                 \
     0,                                 \
     0,                                 \
     0,                                 \
     NULL,                              \
     NULL,                              \
     NULL,                              \
     NULL,                              \
     NULL,                              \
     NULL,                              \
     NULL,                              \
     NULL,                              \
     NULL,                              \
     NULL,                              \
     NULL,                              \
     NULL}

/* Finds the pairs of features that say more about a target together than each alone: pairs of columns of X or, unless
 * `other` is NULL, of a column of X and one of `other`, which has the same rows. The statistic is the partial F of the
 * product x_i x_j in the linear model of the target on x_i, x_j, their product and the covariates, with 1 and n - 4 -
 * n_covariates degrees of freedom, at least 3 of the latter. labels: classes 0..n_classes - 1, each at least once: F
 * has n_classes - 1 degrees; or y: numbers. One of the two is NULL. Columns are standardised, which changes no F.
 * p-values are 1 + the labelings with a largest F, over all pairs but the stronger ones, that reaches that of the pair,
 * divided by 1 + n_labelings. Takes O(n_rows n_features^2 (5 + n_covariates + n_labelings)) time, with c classes c - 1
 * times the labelings, and O(n_rows n_features) memory: no table of pairs is stored. A sparse X becomes a dense table
 * of doubles. `along`: five products for each labeling, in which the columns follow its numbers, and twice the memory.
 * Chosen pairs are summed one by one: O(n_rows n_chosen (2 + n_covariates + n_labelings)) time.
 *
 * Warnings: "constant" and "constant_in_other" (features, given the covariates), "heavy_tails" (features, with
 * `along`), "untested_pairs". */
FASTFS_API fastfs_status fastfs_interaction_scan(const fastfs_matrix* X, const fastfs_matrix* other,
                                                 const int64_t* labels, const double* y,
                                                 const fastfs_interaction_options* options, const fastfs_run* run,
                                                 fastfs_interaction_result* result, fastfs_fitted** fitted);

/* ---- pairs of SNPs ------------------------------------------------------------------------------------------------
 */

typedef struct fastfs_snp_pairs_options {
    size_t struct_size;
    int64_t n_pairs;     /* the strongest pairs to report, >= 1 */
    const int64_t* snps; /* NULL for all columns of X, or ascending: the pairs are those among them */
    int64_t n_snps;      /* of these, >= 2 */
    const int64_t*
        labelings;       /* n_labelings x n_rows, 0 or 1: draws under the hypothesis that the labels don't matter */
    int64_t n_labelings; /* 0: no p-values */
    const double* y;     /* n_rows, in place of labels, or NULL: numbers */
    const double* y_permutations; /* with y: n_labelings x n_rows */
    const double* covariates;     /* with y: n_rows x n_covariates, row-major: part of every model */
    int64_t n_covariates;         /* 0: none */
} fastfs_snp_pairs_options;
#define FASTFS_SNP_PAIRS_OPTIONS_INIT {sizeof(fastfs_snp_pairs_options), 1000, NULL, 0, NULL, 0, NULL, NULL, NULL, 0}

typedef struct fastfs_snp_pairs_result {
    size_t struct_size;
    int64_t n_pairs;     /* at most that of the options */
    int64_t n_tested;    /* the pairs of chosen SNPs with two genotypes or more */
    int64_t* pairs;      /* n_pairs x 2: columns of X, the lower one first; by descending statistic, then by columns */
    double* statistics;  /* n_pairs: the likelihood ratio */
    int64_t* degrees;    /* n_pairs: (r - 1)(s - 1), where r and s are the numbers of genotypes that occur */
    int64_t* tables;     /* n_pairs x 3 x 3 x 2: samples by the genotypes of both SNPs (0, 1, 2) and by class */
    double* pvalues;     /* n_pairs: family-wise, step-down; NULL without labelings */
    double* null_maxima; /* n_labelings: the largest statistic */
    int32_t* constant;   /* one per column of X: 1 if it was chosen, but fewer than two genotypes occur */
    /* With y only: */
    int64_t* rest_degrees; /* n_pairs: degrees of freedom of what is left; F = statistic / degrees */
    double* cells;       /* n_pairs x 3 x 3 x 2: how many samples have both genotypes (0, 1, 2), and the mean of their y
                            (NaN without samples); `tables` is NULL */
    double* scores;      /* one per column of X: the largest statistic of its pairs; 0 for columns without pairs */
    int64_t n_products;  /* pairs left out: genotypes of single SNPs explain all that occur together */
    int64_t n_few;       /* pairs left out: fewer than three residual degrees of freedom */
    int64_t n_explained; /* pairs left out: both SNPs determine y without an interaction */
    int64_t* excluded;   /* the first pairs left out, by columns: all of them, or FASTFS_INTERACTION_LISTED */
} fastfs_snp_pairs_result;
#define FASTFS_SNP_PAIRS_RESULT_INIT \
    {sizeof(fastfs_snp_pairs_result), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, NULL}

/* Finds the pairs of SNPs that interact in their effect on a class or a number: X holds genotypes (FASTFS_GENOTYPE),
 * labels are 0 or 1, or NULL with numbers in options->y. Of classes the statistic is twice the difference of
 * log-likelihoods of the full table of two genotypes and the class, from the samples that have both genotypes, and of
 * the table without a three-way term: logistic regression of the class on both genotypes as factors against the full
 * model. Under that model it is asymptotically chi^2 with `degrees`. p-values are 1 + the labelings with a largest
 * statistic, over all pairs but the stronger ones, that reaches that of the pair, divided by 1 + n_labelings. Takes
 * O(n_rows n_snps^2 (1 + n_labelings)) time, 64 samples an operation, and n_rows n_snps / 4 bytes, with missing
 * genotypes 3/8: no table of pairs is stored.
 *
 * Of numbers the statistic is F times its first degrees of freedom, of the linear model of y on both genotypes as
 * factors, their interaction and the covariates against the model without the interaction, from the samples that have
 * both genotypes; it is asymptotically chi^2 with `degrees`. It takes O(n_rows n_snps^2 (2 + n_covariates +
 * n_labelings)) time, nine products a pair, and (n_covariates + 1)(n_covariates + 2) / 2 more with missing genotypes.
 *
 * Warnings: "constant" (SNPs with fewer than two genotypes), "untested_pairs" (with y). */
FASTFS_API fastfs_status fastfs_snp_pairs(const fastfs_matrix* X, const int64_t* labels,
                                          const fastfs_snp_pairs_options* options, const fastfs_run* run,
                                          fastfs_snp_pairs_result* result, fastfs_fitted** fitted);

/* ---- clumps of SNPs -----------------------------------------------------------------------------------------------
 */

typedef struct fastfs_ld_clumps_options {
    size_t struct_size;
    double r2;                  /* SNPs of a larger squared correlation with its lead join a clump, from 0 to 1 */
    int64_t window;             /* largest distance from the lead, in the unit of positions, >= 0 */
    int64_t n_clumps;           /* number after which to stop; 0: when each SNP has one */
    const int64_t* positions;   /* one per column of X, from 0 to 2^50 */
    const int64_t* chromosomes; /* one per column of X, or NULL if all are on one */
} fastfs_ld_clumps_options;
#define FASTFS_LD_CLUMPS_OPTIONS_INIT {sizeof(fastfs_ld_clumps_options), 0.5, 250000, 0, NULL, NULL}

typedef struct fastfs_ld_clumps_result {
    size_t struct_size;
    int64_t n_clumps;
    int64_t* leads;  /* n_clumps: the columns that lead, by descending score */
    int64_t* clumps; /* one per column of X: the number of its clump, or -1 */
} fastfs_ld_clumps_result;
#define FASTFS_LD_CLUMPS_RESULT_INIT {sizeof(fastfs_ld_clumps_result), 0, NULL, NULL}

/* Walks down the ranking of SNPs by their scores (one per column of X, not NaN): each SNP that is in no clump yet leads
 * a new one, which takes the SNPs in no clump on the same chromosome, within the window, if their squared correlation
 * with the lead exceeds r2. X holds genotypes (FASTFS_GENOTYPE); correlations are of copies of an allele, over the
 * samples that have both genotypes, where PLINK's --clump correlates haplotypes. Time grows with the SNPs in a window:
 * with positions that are all equal, with the square of their number. */
FASTFS_API fastfs_status fastfs_ld_clumps(const fastfs_matrix* X, const double* scores,
                                          const fastfs_ld_clumps_options* options, const fastfs_run* run,
                                          fastfs_ld_clumps_result* result, fastfs_fitted** fitted);

/* ---- inference: designs ------------------------------------------------------------------------------------------ */

/* Which labelings of the samples are as likely as the true one, if labels say nothing about X. Units, which are samples
 * or groups of samples, exchange their labels within blocks. If each group has one label, groups are the units;
 * otherwise samples exchange labels within their group. Given covariates, labels keep their relation to these: classes
 * by conditional permutation (Berrett et al. 2020), numbers by the permutation of residuals (Freedman and Lane). */
typedef struct fastfs_design_options {
    size_t struct_size;
    int64_t n_samples;              /* >= 1 */
    const int64_t* labels;          /* n_samples, in 0..n_labels - 1; NULL with numbers */
    int64_t n_labels;               /* >= 1; some may not occur */
    const double* numbers;          /* n_samples, finite: numbers, not classes; NULL with labels */
    const int64_t* blocks;          /* n_samples, in 0..n_blocks - 1, or NULL */
    int64_t n_blocks;               /* of these, >= 1 */
    const int64_t* groups;          /* n_samples, in 0..n_groups - 1, or NULL */
    int64_t n_groups;               /* of these, >= 1 */
    const double* covariates;       /* n_samples x n_covariates, finite, or NULL: numbers, and 0 and 1 for categories */
    int64_t n_covariates;           /* of these, >= 1 */
    const char* const* label_names; /* n_labels, n_blocks, n_groups: UTF-8 names for messages; NULL: their numbers */
    const char* const* block_names;
    const char* const* group_names;
    int32_t records;        /* 1: labels number records, such as events with times, not classes */
    int32_t keeps_names;    /* 1: exchanging the names of two classes changes the scores to test */
    int64_t n_permutations; /* labelings to compare with the true one, >= 0; all others if there are no more */
    uint64_t seed;          /* of labelings and subsamples */
    int32_t shuffled;       /* 1: all labelings come in random order, not in one where neighbours are alike */
    int32_t reserved;       /* 0 */
    const double* times;    /* n_samples, finite: with records and covariates, the time of each record; else NULL */
    const int32_t* events;  /* n_samples: 1 if the event came at this time, 0 if the sample was last seen then */
} fastfs_design_options;
#define FASTFS_DESIGN_OPTIONS_INIT  \
    {sizeof(fastfs_design_options), \
     0,                             \
     NULL,                          \
     0,                             \
     NULL,                          \
     NULL,                          \
     0,                             \
     NULL,                          \
     0,                             \
     NULL,                          \
     0,                             \
     NULL,                          \
     NULL,                          \
     NULL,                          \
     0,                             \
     0,                             \
     999,                           \
     0,                             \
     0,                             \
     0,                             \
     NULL,                          \
     NULL}

/* A design, which doesn't change. */
typedef struct fastfs_design fastfs_design;

/* FASTFS_EINVAL if a group of one label lies in two blocks; if covariates determine the labels, or vary within a group
 * that is a unit. A design that allows no other labeling is accepted, because it can still draw subsamples.
 *
 * Warnings, for tests: "weakness" (a part of the design contributes nothing), "hidden_specimens" (maybe, in groups with
 * several labels), "few_labelings" (no p-value can be small). */
FASTFS_API fastfs_status fastfs_design_new(const fastfs_design_options* options, const fastfs_run* run,
                                           fastfs_design** design);
FASTFS_API void fastfs_design_free(fastfs_design* design); /* NULL is fine */

/* All pointers are valid until the design is freed. */
typedef struct fastfs_design_facts {
    size_t struct_size;
    int64_t n_samples;
    int64_t n_labelings;        /* to compare with the true one: n_permutations, or all others */
    double n_distinct;          /* labelings that the design allows, the true one included; INFINITY from 10^6 on */
    int64_t n_mirrors;          /* of these, those that only exchange the names of classes, the true one included */
    double smallest_pvalue;     /* that all labelings together can give */
    int64_t n_units;            /* that exchange labels */
    int32_t exact;              /* 1 if n_labelings are all others */
    int32_t uniform;            /* 1 if all labelings are equally likely; 0 of classes or times given covariates */
    int32_t moves_groups;       /* 1 if units are groups */
    int32_t hides_specimens;    /* 1 if labels vary within groups, and samples of one group have one label */
    const int64_t* units;       /* n_samples: the unit of each sample, in 0..n_units - 1 */
    const char* description;    /* as in "12 + 12 groups within 6 blocks" */
    const char* confounded;     /* why there is no labeling but the true one; NULL if there are others */
    const char* drawn;          /* for subsamples: the kind that is drawn as a whole, "sample", "group" or "block" */
    int64_t n_drawn;            /* number of these */
    int64_t n_strata;           /* combinations of class and block, which keep their shares */
    const int64_t* drawn_units; /* n_samples: the one of each sample, in 0..n_drawn - 1 */
    const int64_t* strata;      /* n_drawn: the stratum of each, in 0..n_strata - 1 */
} fastfs_design_facts;
#define FASTFS_DESIGN_FACTS_INIT \
    {sizeof(fastfs_design_facts), 0, 0, 0.0, 0, 0.0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL}
FASTFS_API fastfs_status fastfs_design_get(const fastfs_design* design, fastfs_design_facts* facts);

/* Writes the labelings first..first + count - 1, count x n_samples: `labels`, or, of a design of numbers, `numbers`;
 * the other one is NULL. Each depends on its number and on the seed alone. If facts.exact, there are n_labelings, all
 * different from the true one; otherwise they are draws, and there may be more. They are those of Python's fastfs for
 * this seed. FASTFS_EINVAL, with the sentence of facts.confounded, if there are none. */
FASTFS_API fastfs_status fastfs_design_labelings(const fastfs_design* design, int64_t first, int64_t count,
                                                 const fastfs_run* run, int64_t* labels, double* numbers);

typedef struct fastfs_subsamples_options {
    size_t struct_size;
    int32_t halves;   /* 1: 2 b and 2 b + 1 are disjoint halves; 0: each takes `fraction` of every stratum */
    int32_t reserved; /* 0 */
    double fraction;  /* in (0, 1) */
} fastfs_subsamples_options;
#define FASTFS_SUBSAMPLES_OPTIONS_INIT {sizeof(fastfs_subsamples_options), 0, 0, 0.5}

/* Writes the subsamples first..first + count - 1, count x n_samples: 1 for each sample that is in it, else 0. A stratum
 * gives one unit at least, or none to halves if it has but one. FASTFS_EINVAL if nothing would be left out, or if
 * halves would lack a class. */
FASTFS_API fastfs_status fastfs_design_subsamples(const fastfs_design* design, const fastfs_subsamples_options* options,
                                                  int64_t first, int64_t count, int32_t* taken);

/* ---- inference: p-values ------------------------------------------------------------------------------------------
 */

enum { FASTFS_FDR_BH = 0, FASTFS_FDR_BY = 1 }; /* Benjamini-Hochberg; Benjamini-Yekutieli, under any dependence */

typedef struct fastfs_null_options {
    size_t struct_size;
    int64_t n_features;   /* >= 1 */
    const double* scores; /* n_features, finite: under the true labels */
    double statistic;     /* of all features together, under the true labels; NAN: the largest score */
    int32_t by_score;   /* pvalues_max and pvalue compare, 0: z, so that no feature counts by its scale alone; 1: scores
                           and statistics */
    int32_t ranks_by_z; /* 1 if features are ranked by z, for warnings */
    int32_t stop;       /* 1: end once ten labelings have reached the true statistic, unless they are all others */
    int32_t fdr;        /* FASTFS_FDR_BH, FASTFS_FDR_BY */
    const char* method_name; /* its name, UTF-8, in warnings; NULL: "the method" */
} fastfs_null_options;
#define FASTFS_NULL_OPTIONS_INIT {sizeof(fastfs_null_options), 0, NULL, NAN, 0, 0, 0, FASTFS_FDR_BH, NULL}

/* The scores under the labelings of a design: scores as likely as the true ones, if labels say nothing. */
typedef struct fastfs_null fastfs_null;

/* Copies what it needs of the design. Keeps 8 n_features bytes a labeling if all of them fit into half of the budget of
 * run; otherwise it takes the same labelings twice. */
FASTFS_API fastfs_status fastfs_null_new(const fastfs_design* design, const fastfs_null_options* options,
                                         const fastfs_run* run, fastfs_null** null);
FASTFS_API void fastfs_null_free(fastfs_null* null); /* NULL is fine */

/* Adds scores under `count` labelings, the one with number *next first: count x n_features, and count statistics (NULL:
 * the largest scores). *next becomes the number of the labeling that comes next, or -1 at the end; begin with 0. Rows
 * beyond an early end count for nothing. At most n_labelings - *next rows, in the second pass as many as the first one
 * took. If a number isn't finite, no row is added. */
FASTFS_API fastfs_status fastfs_null_add(fastfs_null* null, const double* scores, const double* statistics,
                                         int64_t count, int64_t* next);

/* All pointers are valid until the null is freed. Before *next of fastfs_null_add is -1, only n_features, exact and
 * n_passes are set, and the arrays are NULL. A feature with scores that don't depend on labels is degenerate: its z is
 * 0, its p-values are 1. */
typedef struct fastfs_null_result {
    size_t struct_size;
    int64_t n_features;
    int64_t n_labelings; /* that were compared with the true one */
    int32_t exact;       /* 1 if these are all others that the design allows */
    int32_t stopped;     /* 1 after an early end */
    int32_t n_passes;    /* over the labelings: 1, or 2 if their scores aren't kept */
    int32_t reserved;
    double statistic;               /* the largest z, or that of the options */
    double pvalue;                  /* of all features together */
    double resolution;              /* no p-value can be smaller */
    double label_free;              /* Spearman's correlation of the scores with their means under labelings, or NAN */
    const double* z;                /* n_features: (score - mean) / sd */
    const double* pvalues;          /* n_features: (1 + labelings with as large a score) / (1 + n_labelings) */
    const double* pvalues_adjusted; /* n_features: by options.fdr */
    const double* pvalues_max;      /* n_features: family-wise, step-down (Westfall and Young) */
    const double* mean;             /* n_features: of the scores under all labelings, the true one included, as is sd */
    const double* sd;
    const double* skew;        /* n_features: of the scores, without the true ones */
    const int32_t* degenerate; /* n_features: 1 if the scores don't depend on labels */
    const double* statistics;  /* n_labelings: `statistic` under each */
} fastfs_null_result;
#define FASTFS_NULL_RESULT_INIT  \
    {sizeof(fastfs_null_result), \
     0,                          \
     0,                          \
     0,                          \
     0,                          \
     0,                          \
     0,                          \
     0.0,                        \
     0.0,                        \
     0.0,                        \
     0.0,                        \
     NULL,                       \
     NULL,                       \
     NULL,                       \
     NULL,                       \
     NULL,                       \
     NULL,                       \
     NULL,                       \
     NULL,                       \
     NULL}
/* Warnings, of a complete result: "label_free" (the ranking is much the same without labels), "skewed" (scores under
 * labelings, too few for z). */
FASTFS_API fastfs_status fastfs_null_get(fastfs_null* null, fastfs_null_result* result);

/* ---- inference: stability ------------------------------------------------------------------------------------------
 */

typedef struct fastfs_stability_options {
    size_t struct_size;
    int64_t n_selections;    /* >= 2, of samples of one population */
    int64_t n_features;      /* >= 1 */
    const int64_t* selected; /* the selected columns of each, in ascending order, one selection after the other, or
                                NULL */
    const int64_t* begins;   /* n_selections + 1: selection m has selected[begins[m]] .. selected[begins[m + 1] - 1] */
    const double* const* scores; /* n_selections times n_features, finite, or NULL */
    int32_t halves;              /* 1: selections 2 b and 2 b + 1 are of disjoint halves of the samples */
    int32_t reserved;            /* 0 */
    double threshold;            /* halves: the frequency from which on a feature is stable, in (0.5, 1] */
} fastfs_stability_options;
#define FASTFS_STABILITY_OPTIONS_INIT {sizeof(fastfs_stability_options), 0, 0, NULL, NULL, NULL, 0, 0, 0.75}

/* What selections and scores have in common; NAN where there are none. */
typedef struct fastfs_stability_result {
    size_t struct_size;
    double stability;             /* Nogueira's index: 1 if all selections are the same, near 0 by chance */
    double variance;              /* of `stability` */
    double relevance_correlation; /* mean rank correlation of the scores; NAN if some are all equal */
    double relevance_pearson;     /* the same by Pearson's correlation */
    double rare_bound;            /* halves: bound on the stable features that are rarely selected (Shah, Samworth) */
    double rare_bound_unimodal;   /* a lower one, for frequencies with one peak; NAN if there is none */
    double* frequencies;          /* n_features: share of the selections; NULL without them */
} fastfs_stability_result;
#define FASTFS_STABILITY_RESULT_INIT {sizeof(fastfs_stability_result), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, NULL}

FASTFS_API fastfs_status fastfs_stability(const fastfs_stability_options* options, fastfs_stability_result* result,
                                          fastfs_fitted** fitted);

#ifdef __cplusplus
}
#endif
#endif
