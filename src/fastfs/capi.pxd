# Everything in fastfs.h, for `from fastfs.capi cimport ...`.
# Made by `python -m tests.project.c_interface --write`.
# NAME_init() is what FASTFS_NAME_INIT is in C.
from libc.stdint cimport int32_t, int64_t, uint64_t

cdef extern from "fastfs/fastfs.h" nogil:
    ctypedef enum fastfs_status:
        FASTFS_OK
        FASTFS_EINVAL
        FASTFS_ENOMEM
        FASTFS_ENUMERIC
        FASTFS_ECANCELED
        FASTFS_EINTERNAL
        FASTFS_EEXIST
    const char *fastfs_last_error()
    ctypedef enum fastfs_place_kind:
        FASTFS_PLACE_MATRIX
        FASTFS_PLACE_ROW
        FASTFS_PLACE_COLUMN
        FASTFS_PLACE_CLASS
        FASTFS_PLACE_SET
        FASTFS_PLACE_CHUNK
        FASTFS_PLACE_KERNEL
    ctypedef struct fastfs_place:
        size_t struct_size
        int32_t kind
        int32_t reserved
        int64_t number
        int64_t begin
        int64_t end
    int32_t fastfs_last_error_places(fastfs_place *places, int32_t most)
    ctypedef struct fastfs_warning:
        size_t struct_size
        const char *code
        const char *message
        int64_t n_places
        const fastfs_place *places
    const fastfs_warning *fastfs_last_warning(int32_t number)
    const char *fastfs_version()
    enum: FASTFS_ABI_VERSION
    int32_t fastfs_abi_version()
    const char *fastfs_isa()
    ctypedef int32_t fastfs_blas_int
    ctypedef struct fastfs_blas:
        size_t struct_size
        int32_t integer_bits
        int32_t reserved
        void (*set_num_threads)(int) noexcept
        int (*get_num_threads)() noexcept
        void (*sgemm)(const char *, const char *, const fastfs_blas_int *, const fastfs_blas_int *, const fastfs_blas_int *, const float *, const float *, const fastfs_blas_int *, const float *, const fastfs_blas_int *, const float *, float *, const fastfs_blas_int *) noexcept
        void (*dgemm)(const char *, const char *, const fastfs_blas_int *, const fastfs_blas_int *, const fastfs_blas_int *, const double *, const double *, const fastfs_blas_int *, const double *, const fastfs_blas_int *, const double *, double *, const fastfs_blas_int *) noexcept
        void (*dsyrk)(const char *, const char *, const fastfs_blas_int *, const fastfs_blas_int *, const double *, const double *, const fastfs_blas_int *, const double *, double *, const fastfs_blas_int *) noexcept
        void (*dsymv)(const char *, const fastfs_blas_int *, const double *, const double *, const fastfs_blas_int *, const double *, const fastfs_blas_int *, const double *, double *, const fastfs_blas_int *) noexcept
        void (*dtrmm)(const char *, const char *, const char *, const char *, const fastfs_blas_int *, const fastfs_blas_int *, const double *, const double *, const fastfs_blas_int *, double *, const fastfs_blas_int *) noexcept
        void (*dpotrf)(const char *, const fastfs_blas_int *, double *, const fastfs_blas_int *, fastfs_blas_int *) noexcept
        void (*dpocon)(const char *, const fastfs_blas_int *, const double *, const fastfs_blas_int *, const double *, double *, double *, fastfs_blas_int *, fastfs_blas_int *) noexcept
        void (*dsygst)(const fastfs_blas_int *, const char *, const fastfs_blas_int *, double *, const fastfs_blas_int *, const double *, const fastfs_blas_int *, fastfs_blas_int *) noexcept
        void (*dtrsm)(const char *, const char *, const char *, const char *, const fastfs_blas_int *, const fastfs_blas_int *, const double *, const double *, const fastfs_blas_int *, double *, const fastfs_blas_int *) noexcept
        void (*dsytrd)(const char *, const fastfs_blas_int *, double *, const fastfs_blas_int *, double *, double *, double *, double *, const fastfs_blas_int *, fastfs_blas_int *) noexcept
        void (*dstedc)(const char *, const fastfs_blas_int *, double *, double *, double *, const fastfs_blas_int *, double *, const fastfs_blas_int *, fastfs_blas_int *, const fastfs_blas_int *, fastfs_blas_int *) noexcept
        void (*dsteqr)(const char *, const fastfs_blas_int *, double *, double *, double *, const fastfs_blas_int *, double *, fastfs_blas_int *) noexcept
        void (*dsyevr)(const char *, const char *, const char *, const fastfs_blas_int *, double *, const fastfs_blas_int *, const double *, const double *, const fastfs_blas_int *, const fastfs_blas_int *, const double *, fastfs_blas_int *, double *, double *, const fastfs_blas_int *, fastfs_blas_int *, double *, const fastfs_blas_int *, fastfs_blas_int *, const fastfs_blas_int *, fastfs_blas_int *) noexcept
    fastfs_status fastfs_register_blas(const fastfs_blas *table)
    enum:
        FASTFS_FLOAT32
        FASTFS_FLOAT64
    enum:
        FASTFS_DENSE
        FASTFS_CSR
        FASTFS_CSC
        FASTFS_GENOTYPE
    ctypedef struct fastfs_matrix:
        size_t struct_size
        int32_t dtype
        int32_t storage
        int64_t n_rows
        int64_t n_cols
        const void *values
        int64_t row_stride
        int64_t col_stride
        const void *indices
        const void *indptr
        int32_t index_bits
        int32_t reserved
        const int64_t *row_list
        const int64_t *col_list
    fastfs_status fastfs_check_matrix(const fastfs_matrix *X)
    ctypedef int (*fastfs_progress)(void *user, const char *step, double fraction) noexcept
    ctypedef struct fastfs_run:
        size_t struct_size
        int32_t n_threads
        int64_t max_memory
        fastfs_progress progress
        void *user
        int64_t *bytes_needed
    fastfs_status fastfs_run_limits(const fastfs_run *run, int32_t *n_threads, int64_t *max_memory)
    ctypedef struct fastfs_fitted:
        pass
    void fastfs_fitted_free(fastfs_fitted *fitted)
    ctypedef enum fastfs_type:
        FASTFS_INT32
        FASTFS_INT64
        FASTFS_UINT64
        FASTFS_DOUBLE
        FASTFS_KERNEL
        FASTFS_INT32S
        FASTFS_INT64S
        FASTFS_DOUBLES
    ctypedef struct fastfs_field:
        size_t struct_size
        const char *name
        int32_t type
        int32_t n_words
        int64_t offset
        const void *initial
        double low
        double high
        const char *const *words
        const int32_t *values
        const char *const *sizes
    const fastfs_field *fastfs_fields(const char *type, int32_t number)
    ctypedef struct fastfs_stream:
        pass
    ctypedef enum fastfs_stream_method:
        FASTFS_STREAM_RELIEF
        FASTFS_STREAM_DISC
        FASTFS_STREAM_PROJSE
        FASTFS_STREAM_MANIFEST
        FASTFS_STREAM_GRAM
    ctypedef struct fastfs_block:
        size_t struct_size
        const fastfs_matrix *X
        const fastfs_matrix *Y
        const int64_t *labels
        int64_t first_row
    ctypedef struct fastfs_stream_state:
        size_t struct_size
        int32_t method
        int32_t pass_number
        int32_t n_passes
        int32_t reserved
        int64_t n_rows
        int64_t n_cols
        int64_t n_groups
        int64_t n_y
    fastfs_status fastfs_stream_copy(const fastfs_stream *stream, fastfs_stream **copy)
    fastfs_status fastfs_stream_update(fastfs_stream *stream, const fastfs_block *block, const fastfs_run *run)
    fastfs_status fastfs_stream_merge(fastfs_stream *stream, const fastfs_stream *other)
    fastfs_status fastfs_stream_next(fastfs_stream *stream, const fastfs_run *run)
    fastfs_status fastfs_stream_get(const fastfs_stream *stream, fastfs_stream_state *state)
    fastfs_status fastfs_stream_means(const fastfs_stream *stream, double *counts, double *means)
    int64_t fastfs_stream_size(const fastfs_stream *stream)
    fastfs_status fastfs_stream_save(const fastfs_stream *stream, void *bytes, int64_t n_bytes)
    fastfs_status fastfs_stream_load(fastfs_stream *stream, const void *bytes, int64_t n_bytes)
    void fastfs_stream_free(fastfs_stream *stream)
    enum:
        FASTFS_RBF
        FASTFS_SQEUCLIDEAN
        FASTFS_LINEAR
        FASTFS_CUSTOM
    ctypedef void (*fastfs_tile_kernel)(double *tile, int64_t ld, int64_t n_rows, int64_t n_cols, const double *row_norms, const double *col_norms, double sigma, void *user) noexcept
    ctypedef struct fastfs_affinity_options:
        size_t struct_size
        int32_t kernel
        int32_t reserved
        double sigma
        fastfs_tile_kernel custom
        void *user
    fastfs_status fastfs_affinity(const fastfs_matrix *X, const fastfs_affinity_options *options, const fastfs_run *run, void *out)
    fastfs_status fastfs_affinity_product(const fastfs_matrix *X, const fastfs_affinity_options *options, const void *V, int64_t p, const fastfs_run *run, void *out)
    fastfs_status fastfs_gram_stream_new(int64_t n_features, const fastfs_run *run, fastfs_stream **stream)
    fastfs_status fastfs_gram_stream_finish(const fastfs_stream *stream, const fastfs_affinity_options *options, const fastfs_run *run, double *out)
    fastfs_status fastfs_eigh(int64_t n, double *A, double *w, const fastfs_run *run)
    fastfs_status fastfs_pencil(int64_t n, double *K1, const double *K2, double *nu, int64_t *rank, const fastfs_run *run)
    ctypedef struct fastfs_manifest:
        pass
    fastfs_status fastfs_manifest_new(const fastfs_matrix *chunks, int64_t n_chunks, int32_t keep_distances, const fastfs_run *run, fastfs_manifest **manifest)
    void fastfs_manifest_free(fastfs_manifest *manifest)
    enum:
        FASTFS_MANIFEST_PENCIL
        FASTFS_MANIFEST_SPD
        FASTFS_MANIFEST_SPSD
    enum:
        FASTFS_MANIFEST_AUTO
        FASTFS_MANIFEST_EXACT
        FASTFS_MANIFEST_LOW_RANK
        FASTFS_MANIFEST_LOW_RANK_HIGH
        FASTFS_MANIFEST_DOMAINS
        FASTFS_MANIFEST_SMALL_DOMAINS
    enum:
        FASTFS_MANIFEST_OVR
        FASTFS_MANIFEST_OVO
    ctypedef struct fastfs_manifest_options:
        size_t struct_size
        int32_t form
        int32_t accuracy
        int64_t rank
        int32_t multiclass
        int32_t agreement
        uint64_t seed
        fastfs_tile_kernel custom
        void *user
        int64_t first_problem
        int64_t n_problems
        int64_t n_components
        int64_t n_fits
    enum:
        FASTFS_MANIFEST_SIGMA_MEDIAN
        FASTFS_MANIFEST_SIGMA_PERCENTILE
        FASTFS_MANIFEST_SIGMA_GIVEN
    ctypedef struct fastfs_manifest_scale:
        size_t struct_size
        int32_t rule
        int32_t normalize
        double value
        const double *sigma
    enum:
        FASTFS_BECAUSE_ASKED
        FASTFS_BECAUSE_SIZE
        FASTFS_BECAUSE_MEMORY
        FASTFS_BECAUSE_RANK
        FASTFS_BECAUSE_FORM
        FASTFS_BECAUSE_WORK
    ctypedef struct fastfs_manifest_plan:
        size_t struct_size
        int64_t n_kernels
        int64_t n_problems
        int64_t bytes
        int64_t exact_bytes
        int32_t accuracy
        int32_t reason
        int64_t n_classes
        int64_t n_scales
        int64_t n_features
        int64_t n_groups
    fastfs_status fastfs_manifest_plan_fit(const fastfs_manifest *manifest, const fastfs_manifest_options *options, const fastfs_run *run, fastfs_manifest_plan *plan)
    ctypedef struct fastfs_manifest_result:
        size_t struct_size
        int32_t accuracy
        int32_t reason
        int64_t exact_bytes
        int64_t n_kernels
        int64_t n_problems
        int64_t n_components
        double *scores
        double *class_scores
        double *sigma
        double *kept_trace
        int64_t *ranks
        double *agreement
        double *mean_values
        double *mean_vectors
        double *difference_values
        double *difference_vectors
        double *problem_scores
    fastfs_status fastfs_manifest_fit(const fastfs_manifest *manifest, const int64_t *labels, int64_t n_classes, const fastfs_manifest_options *options, const fastfs_manifest_scale *scales, int64_t n_scales, const fastfs_run *run, fastfs_manifest_result *results, fastfs_fitted **fitted)
    fastfs_status fastfs_manifest_mean_scores(int64_t n_features, int64_t n_classes, int32_t multiclass, const double *problem_scores, double *scores, double *class_scores)
    fastfs_status fastfs_manifest_stream_new(int64_t n_features, int64_t n_groups, const fastfs_manifest_options *options, const fastfs_run *run, fastfs_stream **stream)
    fastfs_status fastfs_manifest_stream_finish(const fastfs_stream *stream, const int64_t *labels, int64_t n_classes, const fastfs_manifest_options *options, const fastfs_manifest_scale *scales, int64_t n_scales, const fastfs_run *run, fastfs_manifest_result *results, fastfs_fitted **fitted)
    fastfs_status fastfs_manifest_kernels(int64_t n_features, const double *K1, const double *K2, const fastfs_manifest_options *options, const fastfs_run *run, fastfs_manifest_result *result, fastfs_fitted **fitted)
    enum:
        FASTFS_POLY
    enum:
        FASTFS_PROJSE_SIGMA_MEAN
        FASTFS_PROJSE_SIGMA_SQRT_ROWS
        FASTFS_PROJSE_SIGMA_GIVEN
    enum:
        FASTFS_PROJSE_CENTER_AUTO
    enum:
        FASTFS_PROJSE_STOP
        FASTFS_PROJSE_RESIDUAL
    ctypedef struct fastfs_projse_options:
        size_t struct_size
        int32_t kernel
        int32_t degree
        int32_t sigma_rule
        int32_t center
        int32_t normalize
        int32_t from_y
        double sigma
        int32_t beyond
        int32_t reserved
        double eps
        int64_t n_select
        fastfs_tile_kernel custom
        void *user
        int64_t n_given
    ctypedef struct fastfs_projse_result:
        size_t struct_size
        int32_t center
        int32_t reserved
        int64_t n_selected
        int64_t rank
        double sigma
        double *scores
        int64_t *selected
        double *selection_scores
        double *gaps
        double *captured
        double *explained
    fastfs_status fastfs_projse(const fastfs_matrix *X, const fastfs_matrix *Y, const int64_t *labels, int64_t n_classes, const fastfs_projse_options *options, const fastfs_run *run, fastfs_projse_result *result, fastfs_fitted **fitted)
    fastfs_status fastfs_projse_kernels(int64_t n_y, int64_t n_x, const double *K_YY, const double *K_YX, const double *K_XX, const fastfs_projse_options *options, const fastfs_run *run, fastfs_projse_result *result, fastfs_fitted **fitted)
    fastfs_status fastfs_projse_label_scores(const fastfs_matrix *X, const int64_t *labels, int64_t n_labelings, int64_t n_classes, const fastfs_projse_options *options, const fastfs_run *run, double *scores)
    enum:
        FASTFS_PROJSE_ONE_VIEW
        FASTFS_PROJSE_TWO_VIEWS
        FASTFS_PROJSE_GROUPS
    fastfs_status fastfs_projse_stream_new(int64_t n_y, int64_t n_x, int32_t views, const fastfs_run *run, fastfs_stream **stream)
    fastfs_status fastfs_projse_stream_finish(const fastfs_stream *stream, const int64_t *classes, int64_t n_classes, const fastfs_projse_options *options, const fastfs_run *run, fastfs_projse_result *result, fastfs_fitted **fitted)
    enum:
        FASTFS_SCALE_NONE
        FASTFS_SCALE_RANGE
        FASTFS_SCALE_STANDARD
    enum:
        FASTFS_KEEP_NONE
        FASTFS_KEEP_MANHATTAN
        FASTFS_KEEP_SQUARED_EUCLIDEAN
    enum:
        FASTFS_MISSING_ERROR
        FASTFS_MISSING_IGNORE
        FASTFS_MISSING_CLASS
    enum:
        FASTFS_RAMP_NONE
        FASTFS_RAMP_GIVEN
        FASTFS_RAMP_DEVIATION
    ctypedef struct fastfs_margin_options:
        size_t struct_size
        int32_t scaling
        int32_t keep
        int32_t missing
        int32_t ramp
        double ramp_low
        double ramp_high
        const int64_t *levels
        const double *distances
        const double *sample_weights
    ctypedef struct fastfs_margin:
        pass
    fastfs_status fastfs_margin_new(const fastfs_matrix *X, const fastfs_margin_options *options, const fastfs_run *run, fastfs_margin **margin)
    fastfs_status fastfs_margin_scaling(const fastfs_margin *margin, double *shift, double *factor)
    fastfs_status fastfs_margin_use(fastfs_margin *margin, const int64_t *features, int64_t n_features, const double *weights, const fastfs_run *run)
    void fastfs_margin_free(fastfs_margin *margin)
    enum:
        FASTFS_RELIEF
        FASTFS_RELIEFF
        FASTFS_MULTISURF
        FASTFS_SURF
        FASTFS_SWRF
        FASTFS_MU_RELIEF
        FASTFS_RRELIEFF
    enum:
        FASTFS_TARGET_CLASS
        FASTFS_TARGET_NUMBER
        FASTFS_TARGET_SURVIVAL
    enum:
        FASTFS_RADIUS_ALL
        FASTFS_RADIUS_SAMPLE
    ctypedef struct fastfs_relief_options:
        size_t struct_size
        int32_t method
        int32_t closed_form
        int64_t n_neighbors
        int64_t n_targets
        uint64_t seed
        int32_t far
        int32_t radius
        double dead_band
        double sigma
        int32_t target
        const double *y
        const int32_t *events
        const double *priors
    ctypedef struct fastfs_relief_result:
        size_t struct_size
        int32_t stored
        int32_t reserved
        double *scores
        double *scores_se
        int64_t n_alone
        int64_t n_apart
    fastfs_status fastfs_relief(const fastfs_margin *margin, const int64_t *labels, int64_t n_classes, const fastfs_relief_options *options, const fastfs_run *run, fastfs_relief_result *result, fastfs_fitted **fitted)
    fastfs_status fastfs_relief_stream_new(int64_t n_rows, int64_t n_cols, const int64_t *labels, int64_t n_classes, int32_t scaling, const fastfs_relief_options *options, const fastfs_run *run, fastfs_stream **stream)
    fastfs_status fastfs_relief_stream_finish(const fastfs_stream *stream, const int64_t *merged, int64_t n_merged, const fastfs_run *run, fastfs_relief_result *result, fastfs_fitted **fitted)
    enum:
        FASTFS_MARGIN_SIGMA_GIVEN
        FASTFS_MARGIN_SIGMA_NEAREST
        FASTFS_MARGIN_SIGMA_AUTO
    ctypedef struct fastfs_im4e_options:
        size_t struct_size
        double sigma
        int32_t sigma_rule
        int32_t max_iter
        double tol
        const double *class_factors
        const double *start
        int64_t n_anchors
        uint64_t seed
    ctypedef struct fastfs_im4e_result:
        size_t struct_size
        int32_t stored
        int32_t converged
        int64_t n_iter
        double sigma
        double *weights
        double *cost
        double *objective
    fastfs_status fastfs_im4e(const fastfs_margin *margin, const int64_t *labels, int64_t n_classes, const fastfs_im4e_options *options, const fastfs_run *run, fastfs_im4e_result *result, fastfs_fitted **fitted)
    enum:
        FASTFS_PREFILTER_NONE
        FASTFS_PREFILTER_IM4E
        FASTFS_PREFILTER_AUTO
    enum:
        FASTFS_SMALLEST_AUTO
    ctypedef struct fastfs_immigrate_options:
        size_t struct_size
        double sigma
        int32_t sigma_rule
        int32_t max_iter
        double tol
        int32_t clip
        int32_t prefilter
        double smallest
        double negligible
        const int64_t *features
        int64_t n_features
        const double *start
        const double *start_matrix
        int64_t n_starts
        uint64_t seed
    ctypedef struct fastfs_immigrate_result:
        size_t struct_size
        int32_t stored
        int32_t converged
        int64_t n_iter
        double sigma
        int64_t n_features
        int64_t rank
        int64_t *features
        double *values
        double *vectors
        double *W
        double *scores
        double *cost
        double *objective
        double *prefilter_weights
    fastfs_status fastfs_immigrate_fit(const fastfs_margin *margin, const int64_t *labels, int64_t n_classes, const fastfs_immigrate_options *options, const fastfs_run *run, fastfs_immigrate_result *result, fastfs_fitted **fitted)
    fastfs_status fastfs_immigrate_pairs(int64_t n_features, int64_t rank, const double *values, const double *vectors, int32_t without_leading, int64_t n_pairs, const fastfs_run *run, int64_t *a, int64_t *b, double *weights, int64_t *found)
    ctypedef struct fastfs_margin_metric:
        size_t struct_size
        double sigma
        const int64_t *features
        int64_t n_features
        const double *weights
        int64_t rank
        const double *values
        const double *vectors
    fastfs_status fastfs_margin_distances(const fastfs_margin *margin, const int64_t *labels, int64_t n_classes, const fastfs_margin_metric *metric, const fastfs_matrix *X, const fastfs_run *run, double *out)
    fastfs_status fastfs_margin_explain(const fastfs_margin *margin, const int64_t *labels, int64_t n_classes, const fastfs_margin_metric *metric, const fastfs_matrix *X, const int64_t *wanted, const fastfs_run *run, double *out)
    fastfs_status fastfs_nearest_features(const fastfs_matrix *X, int64_t n_neighbors, const fastfs_run *run, int64_t *neighbors, double *distances)
    ctypedef struct fastfs_disc_set:
        size_t struct_size
        const fastfs_matrix *X
        const fastfs_matrix *W
        const int64_t *neighbors
        const double *distances
        int64_t n_neighbors
        int64_t n_features
        int64_t n_components
        fastfs_tile_kernel custom
        void *user
        const fastfs_stream *stream
        int64_t group
    enum:
        FASTFS_GRAPH_DENSE
        FASTFS_GRAPH_KNN
        FASTFS_GRAPH_LISTS
    enum:
        FASTFS_DISC_MOST_SUMS
    enum:
        FASTFS_CONSTANT_DROP
        FASTFS_CONSTANT_PROJECT
    enum:
        FASTFS_DISC_SCALING_NONE
        FASTFS_DISC_SCALING_STANDARD
    enum:
        FASTFS_CUT_NORMALIZED
        FASTFS_CUT_RATIO
    ctypedef struct fastfs_disc_options:
        size_t struct_size
        int32_t graph
        int32_t constant
        int64_t bandwidth_neighbors
        int64_t n_neighbors
        double density
        int64_t n_vectors
        int64_t n_differential
        uint64_t seed
        int32_t scaling
        int32_t cut
    ctypedef struct fastfs_disc_result:
        size_t struct_size
        int64_t n_features
        int64_t n_vectors
        int64_t n_components
        int64_t n_connected
        int64_t n_differential
        double gap
        double ratio
        double *significance
        double *vectors
        int32_t *trivial
        double *eigenvalues
        double *diffusion
        double *bandwidths
        double *scores
        int64_t n_stored
        double *mean
        double *scale
        double graph_recall
    fastfs_status fastfs_disc_fit(const fastfs_disc_set *sets, int64_t n_sets, const fastfs_disc_options *options, const fastfs_run *run, fastfs_disc_result *results, fastfs_fitted **fitted)
    fastfs_status fastfs_disc_graph(const fastfs_fitted *fitted, int64_t set, int32_t index_bits, const fastfs_run *run, void *indptr, void *indices, double *weights)
    fastfs_status fastfs_disc_stream_new(int64_t n_rows, int64_t n_cols, const int64_t *labels, int64_t n_groups, const fastfs_disc_options *options, const fastfs_run *run, fastfs_stream **stream)
    fastfs_status fastfs_disc_stream_finish(fastfs_stream *stream, const fastfs_run *run)
    fastfs_status fastfs_disc_cuts(const fastfs_disc_set *sets, int64_t n_sets, const fastfs_disc_options *options, const int64_t *groups, int64_t n_groups, const fastfs_run *run, double *cuts)
    enum:
        FASTFS_WIDTH_MEAN_SQUARED
        FASTFS_WIDTH_MEAN
        FASTFS_WIDTH_GIVEN
    ctypedef struct fastfs_ikdr_kernels:
        size_t struct_size
        const fastfs_matrix *X
        int64_t n_kernels
        const int64_t *groups
        int32_t scaling
        int32_t width
        double delta
        const double *matrices
        int64_t n_samples
    enum:
        FASTFS_IKDR_LAPLACIAN
        FASTFS_IKDR_DISTANCE
    enum:
        FASTFS_IKDR_PROJECTED_GRADIENT
        FASTFS_IKDR_ADMM
    ctypedef struct fastfs_ikdr_options:
        size_t struct_size
        int64_t n_components
        const double *lambdas
        int64_t n_lambdas
        double mu
        double tau
        double zeta
        int32_t interpretability
        int32_t solver
        int64_t max_iter
        int64_t max_inner
        double tol
        double rho
        const double *A
        const double *weights
        uint64_t seed
    ctypedef struct fastfs_ikdr_result:
        size_t struct_size
        int32_t converged
        int32_t reserved
        int64_t n_samples
        int64_t n_features
        int64_t n_kernels
        int64_t n_classes
        int64_t n_components
        int64_t n_iter
        double lam
        double objective
        double interpretability
        double similarity
        double *history
        double *A
        double *embedding
        double *profile
        double *weights
        double *prices
        double *deltas
        double *means
        double *scales
    fastfs_status fastfs_ikdr_fit(const fastfs_ikdr_kernels *kernels, const int64_t *labels, int64_t n_classes, const fastfs_ikdr_options *options, const fastfs_run *run, fastfs_ikdr_result *results, fastfs_fitted **fitted)
    ctypedef struct fastfs_ikdr_model:
        size_t struct_size
        int64_t n_kernels
        const double *weights
        const double *deltas
        const int64_t *begins
        const int64_t *features
        const double *means
        const double *scales
        int64_t n_support
        const double *support
        int64_t n_components
        const double *coefficients
    fastfs_status fastfs_ikdr_embed(const fastfs_ikdr_model *model, const fastfs_matrix *X, const fastfs_run *run, double *out)
    enum:
        FASTFS_PEARSON
        FASTFS_SPEARMAN
    enum:
        FASTFS_CORRELATION_LISTED
    ctypedef struct fastfs_differential_correlation_options:
        size_t struct_size
        int32_t correlation
        int32_t reserved
        int64_t n_pairs
        const int64_t *features
        int64_t n_features
        const int64_t *labelings
        int64_t n_labelings
        int64_t wholes
        int64_t n_classes
        const double *covariates
        int64_t n_covariates
    ctypedef struct fastfs_differential_correlation_result:
        size_t struct_size
        int64_t n_pairs
        int64_t n_copies
        int64_t *pairs
        double *correlations
        double *z
        double *pvalues
        double *scores
        double *null_maxima
        int32_t *constant
        int64_t *copies
        int32_t *rare
        double error
    fastfs_status fastfs_differential_correlation(const fastfs_matrix *X, const int64_t *labels, const fastfs_differential_correlation_options *options, const fastfs_run *run, fastfs_differential_correlation_result *result, fastfs_fitted **fitted)
    enum:
        FASTFS_INTERACTION_VALUES
        FASTFS_INTERACTION_RANKS
    enum:
        FASTFS_INTERACTION_LISTED
    ctypedef struct fastfs_interaction_options:
        size_t struct_size
        int32_t transform
        int32_t along
        int64_t n_classes
        int64_t n_pairs
        const int64_t *features
        int64_t n_features
        const double *covariates
        int64_t n_covariates
        const int64_t *label_permutations
        const double *y_permutations
        int64_t n_labelings
        const int64_t *first_of_pairs
        const int64_t *second_of_pairs
        int64_t n_chosen
    ctypedef struct fastfs_interaction_result:
        size_t struct_size
        int64_t n_pairs
        int64_t n_tested
        int64_t n_copies
        int64_t n_products
        int64_t n_explained
        int64_t degrees
        int64_t rest_degrees
        int64_t *pairs
        double *statistics
        double *effects
        double *errors
        double *pvalues
        double *scores
        double *other_scores
        double *null_maxima
        int32_t *constant
        int32_t *other_constant
        int64_t *excluded
        double *correlations
    fastfs_status fastfs_interaction_scan(const fastfs_matrix *X, const fastfs_matrix *other, const int64_t *labels, const double *y, const fastfs_interaction_options *options, const fastfs_run *run, fastfs_interaction_result *result, fastfs_fitted **fitted)
    ctypedef struct fastfs_snp_pairs_options:
        size_t struct_size
        int64_t n_pairs
        const int64_t *snps
        int64_t n_snps
        const int64_t *labelings
        int64_t n_labelings
        const double *y
        const double *y_permutations
        const double *covariates
        int64_t n_covariates
    ctypedef struct fastfs_snp_pairs_result:
        size_t struct_size
        int64_t n_pairs
        int64_t n_tested
        int64_t *pairs
        double *statistics
        int64_t *degrees
        int64_t *tables
        double *pvalues
        double *null_maxima
        int32_t *constant
        int64_t *rest_degrees
        double *cells
        double *scores
        int64_t n_products
        int64_t n_few
        int64_t n_explained
        int64_t *excluded
    fastfs_status fastfs_snp_pairs(const fastfs_matrix *X, const int64_t *labels, const fastfs_snp_pairs_options *options, const fastfs_run *run, fastfs_snp_pairs_result *result, fastfs_fitted **fitted)
    ctypedef struct fastfs_ld_clumps_options:
        size_t struct_size
        double r2
        int64_t window
        int64_t n_clumps
        const int64_t *positions
        const int64_t *chromosomes
    ctypedef struct fastfs_ld_clumps_result:
        size_t struct_size
        int64_t n_clumps
        int64_t *leads
        int64_t *clumps
    fastfs_status fastfs_ld_clumps(const fastfs_matrix *X, const double *scores, const fastfs_ld_clumps_options *options, const fastfs_run *run, fastfs_ld_clumps_result *result, fastfs_fitted **fitted)
    ctypedef struct fastfs_design_options:
        size_t struct_size
        int64_t n_samples
        const int64_t *labels
        int64_t n_labels
        const double *numbers
        const int64_t *blocks
        int64_t n_blocks
        const int64_t *groups
        int64_t n_groups
        const double *covariates
        int64_t n_covariates
        const char *const *label_names
        const char *const *block_names
        const char *const *group_names
        int32_t records
        int32_t keeps_names
        int64_t n_permutations
        uint64_t seed
        int32_t shuffled
        int32_t reserved
        const double *times
        const int32_t *events
    ctypedef struct fastfs_design:
        pass
    fastfs_status fastfs_design_new(const fastfs_design_options *options, const fastfs_run *run, fastfs_design **design)
    void fastfs_design_free(fastfs_design *design)
    ctypedef struct fastfs_design_facts:
        size_t struct_size
        int64_t n_samples
        int64_t n_labelings
        double n_distinct
        int64_t n_mirrors
        double smallest_pvalue
        int64_t n_units
        int32_t exact
        int32_t uniform
        int32_t moves_groups
        int32_t hides_specimens
        const int64_t *units
        const char *description
        const char *confounded
        const char *drawn
        int64_t n_drawn
        int64_t n_strata
        const int64_t *drawn_units
        const int64_t *strata
    fastfs_status fastfs_design_get(const fastfs_design *design, fastfs_design_facts *facts)
    fastfs_status fastfs_design_labelings(const fastfs_design *design, int64_t first, int64_t count, const fastfs_run *run, int64_t *labels, double *numbers)
    ctypedef struct fastfs_subsamples_options:
        size_t struct_size
        int32_t halves
        int32_t reserved
        double fraction
    fastfs_status fastfs_design_subsamples(const fastfs_design *design, const fastfs_subsamples_options *options, int64_t first, int64_t count, int32_t *taken)
    enum:
        FASTFS_FDR_BH
        FASTFS_FDR_BY
    ctypedef struct fastfs_null_options:
        size_t struct_size
        int64_t n_features
        const double *scores
        double statistic
        int32_t by_score
        int32_t ranks_by_z
        int32_t stop
        int32_t fdr
        const char *method_name
    ctypedef struct fastfs_null:
        pass
    fastfs_status fastfs_null_new(const fastfs_design *design, const fastfs_null_options *options, const fastfs_run *run, fastfs_null **null)
    void fastfs_null_free(fastfs_null *null)
    fastfs_status fastfs_null_add(fastfs_null *null, const double *scores, const double *statistics, int64_t count, int64_t *next)
    ctypedef struct fastfs_null_result:
        size_t struct_size
        int64_t n_features
        int64_t n_labelings
        int32_t exact
        int32_t stopped
        int32_t n_passes
        int32_t reserved
        double statistic
        double pvalue
        double resolution
        double label_free
        const double *z
        const double *pvalues
        const double *pvalues_adjusted
        const double *pvalues_max
        const double *mean
        const double *sd
        const double *skew
        const int32_t *degenerate
        const double *statistics
    fastfs_status fastfs_null_get(fastfs_null *null, fastfs_null_result *result)
    ctypedef struct fastfs_stability_options:
        size_t struct_size
        int64_t n_selections
        int64_t n_features
        const int64_t *selected
        const int64_t *begins
        const double *const *scores
        int32_t halves
        int32_t reserved
        double threshold
    ctypedef struct fastfs_stability_result:
        size_t struct_size
        double stability
        double variance
        double relevance_correlation
        double relevance_pearson
        double rare_bound
        double rare_bound_unimodal
        double *frequencies
    fastfs_status fastfs_stability(const fastfs_stability_options *options, fastfs_stability_result *result, fastfs_fitted **fitted)

cdef extern from *:
    """
    #include "fastfs/fastfs.h"
    static CYTHON_INLINE fastfs_place fastfs_place_init(void) { fastfs_place v = FASTFS_PLACE_INIT; return v; }
    static CYTHON_INLINE fastfs_matrix fastfs_matrix_init(void) { fastfs_matrix v = FASTFS_MATRIX_INIT; return v; }
    static CYTHON_INLINE fastfs_run fastfs_run_init(void) { fastfs_run v = FASTFS_RUN_INIT; return v; }
    static CYTHON_INLINE fastfs_block fastfs_block_init(void) { fastfs_block v = FASTFS_BLOCK_INIT; return v; }
    static CYTHON_INLINE fastfs_stream_state fastfs_stream_state_init(void) { fastfs_stream_state v = FASTFS_STREAM_STATE_INIT; return v; }
    static CYTHON_INLINE fastfs_affinity_options fastfs_affinity_options_init(void) { fastfs_affinity_options v = FASTFS_AFFINITY_OPTIONS_INIT; return v; }
    static CYTHON_INLINE fastfs_manifest_options fastfs_manifest_options_init(void) { fastfs_manifest_options v = FASTFS_MANIFEST_OPTIONS_INIT; return v; }
    static CYTHON_INLINE fastfs_manifest_scale fastfs_manifest_scale_init(void) { fastfs_manifest_scale v = FASTFS_MANIFEST_SCALE_INIT; return v; }
    static CYTHON_INLINE fastfs_manifest_plan fastfs_manifest_plan_init(void) { fastfs_manifest_plan v = FASTFS_MANIFEST_PLAN_INIT; return v; }
    static CYTHON_INLINE fastfs_manifest_result fastfs_manifest_result_init(void) { fastfs_manifest_result v = FASTFS_MANIFEST_RESULT_INIT; return v; }
    static CYTHON_INLINE fastfs_projse_options fastfs_projse_options_init(void) { fastfs_projse_options v = FASTFS_PROJSE_OPTIONS_INIT; return v; }
    static CYTHON_INLINE fastfs_projse_result fastfs_projse_result_init(void) { fastfs_projse_result v = FASTFS_PROJSE_RESULT_INIT; return v; }
    static CYTHON_INLINE fastfs_margin_options fastfs_margin_options_init(void) { fastfs_margin_options v = FASTFS_MARGIN_OPTIONS_INIT; return v; }
    static CYTHON_INLINE fastfs_relief_options fastfs_relief_options_init(void) { fastfs_relief_options v = FASTFS_RELIEF_OPTIONS_INIT; return v; }
    static CYTHON_INLINE fastfs_relief_result fastfs_relief_result_init(void) { fastfs_relief_result v = FASTFS_RELIEF_RESULT_INIT; return v; }
    static CYTHON_INLINE fastfs_im4e_options fastfs_im4e_options_init(void) { fastfs_im4e_options v = FASTFS_IM4E_OPTIONS_INIT; return v; }
    static CYTHON_INLINE fastfs_im4e_result fastfs_im4e_result_init(void) { fastfs_im4e_result v = FASTFS_IM4E_RESULT_INIT; return v; }
    static CYTHON_INLINE fastfs_immigrate_options fastfs_immigrate_options_init(void) { fastfs_immigrate_options v = FASTFS_IMMIGRATE_OPTIONS_INIT; return v; }
    static CYTHON_INLINE fastfs_immigrate_result fastfs_immigrate_result_init(void) { fastfs_immigrate_result v = FASTFS_IMMIGRATE_RESULT_INIT; return v; }
    static CYTHON_INLINE fastfs_margin_metric fastfs_margin_metric_init(void) { fastfs_margin_metric v = FASTFS_MARGIN_METRIC_INIT; return v; }
    static CYTHON_INLINE fastfs_disc_set fastfs_disc_set_init(void) { fastfs_disc_set v = FASTFS_DISC_SET_INIT; return v; }
    static CYTHON_INLINE fastfs_disc_options fastfs_disc_options_init(void) { fastfs_disc_options v = FASTFS_DISC_OPTIONS_INIT; return v; }
    static CYTHON_INLINE fastfs_disc_result fastfs_disc_result_init(void) { fastfs_disc_result v = FASTFS_DISC_RESULT_INIT; return v; }
    static CYTHON_INLINE fastfs_ikdr_kernels fastfs_ikdr_kernels_init(void) { fastfs_ikdr_kernels v = FASTFS_IKDR_KERNELS_INIT; return v; }
    static CYTHON_INLINE fastfs_ikdr_options fastfs_ikdr_options_init(void) { fastfs_ikdr_options v = FASTFS_IKDR_OPTIONS_INIT; return v; }
    static CYTHON_INLINE fastfs_ikdr_result fastfs_ikdr_result_init(void) { fastfs_ikdr_result v = FASTFS_IKDR_RESULT_INIT; return v; }
    static CYTHON_INLINE fastfs_ikdr_model fastfs_ikdr_model_init(void) { fastfs_ikdr_model v = FASTFS_IKDR_MODEL_INIT; return v; }
    static CYTHON_INLINE fastfs_differential_correlation_options fastfs_differential_correlation_options_init(void) { fastfs_differential_correlation_options v = FASTFS_DIFFERENTIAL_CORRELATION_OPTIONS_INIT; return v; }
    static CYTHON_INLINE fastfs_differential_correlation_result fastfs_differential_correlation_result_init(void) { fastfs_differential_correlation_result v = FASTFS_DIFFERENTIAL_CORRELATION_RESULT_INIT; return v; }
    static CYTHON_INLINE fastfs_interaction_options fastfs_interaction_options_init(void) { fastfs_interaction_options v = FASTFS_INTERACTION_OPTIONS_INIT; return v; }
    static CYTHON_INLINE fastfs_interaction_result fastfs_interaction_result_init(void) { fastfs_interaction_result v = FASTFS_INTERACTION_RESULT_INIT; return v; }
    static CYTHON_INLINE fastfs_snp_pairs_options fastfs_snp_pairs_options_init(void) { fastfs_snp_pairs_options v = FASTFS_SNP_PAIRS_OPTIONS_INIT; return v; }
    static CYTHON_INLINE fastfs_snp_pairs_result fastfs_snp_pairs_result_init(void) { fastfs_snp_pairs_result v = FASTFS_SNP_PAIRS_RESULT_INIT; return v; }
    static CYTHON_INLINE fastfs_ld_clumps_options fastfs_ld_clumps_options_init(void) { fastfs_ld_clumps_options v = FASTFS_LD_CLUMPS_OPTIONS_INIT; return v; }
    static CYTHON_INLINE fastfs_ld_clumps_result fastfs_ld_clumps_result_init(void) { fastfs_ld_clumps_result v = FASTFS_LD_CLUMPS_RESULT_INIT; return v; }
    static CYTHON_INLINE fastfs_design_options fastfs_design_options_init(void) { fastfs_design_options v = FASTFS_DESIGN_OPTIONS_INIT; return v; }
    static CYTHON_INLINE fastfs_design_facts fastfs_design_facts_init(void) { fastfs_design_facts v = FASTFS_DESIGN_FACTS_INIT; return v; }
    static CYTHON_INLINE fastfs_subsamples_options fastfs_subsamples_options_init(void) { fastfs_subsamples_options v = FASTFS_SUBSAMPLES_OPTIONS_INIT; return v; }
    static CYTHON_INLINE fastfs_null_options fastfs_null_options_init(void) { fastfs_null_options v = FASTFS_NULL_OPTIONS_INIT; return v; }
    static CYTHON_INLINE fastfs_null_result fastfs_null_result_init(void) { fastfs_null_result v = FASTFS_NULL_RESULT_INIT; return v; }
    static CYTHON_INLINE fastfs_stability_options fastfs_stability_options_init(void) { fastfs_stability_options v = FASTFS_STABILITY_OPTIONS_INIT; return v; }
    static CYTHON_INLINE fastfs_stability_result fastfs_stability_result_init(void) { fastfs_stability_result v = FASTFS_STABILITY_RESULT_INIT; return v; }
    """
    fastfs_place fastfs_place_init() noexcept nogil
    fastfs_matrix fastfs_matrix_init() noexcept nogil
    fastfs_run fastfs_run_init() noexcept nogil
    fastfs_block fastfs_block_init() noexcept nogil
    fastfs_stream_state fastfs_stream_state_init() noexcept nogil
    fastfs_affinity_options fastfs_affinity_options_init() noexcept nogil
    fastfs_manifest_options fastfs_manifest_options_init() noexcept nogil
    fastfs_manifest_scale fastfs_manifest_scale_init() noexcept nogil
    fastfs_manifest_plan fastfs_manifest_plan_init() noexcept nogil
    fastfs_manifest_result fastfs_manifest_result_init() noexcept nogil
    fastfs_projse_options fastfs_projse_options_init() noexcept nogil
    fastfs_projse_result fastfs_projse_result_init() noexcept nogil
    fastfs_margin_options fastfs_margin_options_init() noexcept nogil
    fastfs_relief_options fastfs_relief_options_init() noexcept nogil
    fastfs_relief_result fastfs_relief_result_init() noexcept nogil
    fastfs_im4e_options fastfs_im4e_options_init() noexcept nogil
    fastfs_im4e_result fastfs_im4e_result_init() noexcept nogil
    fastfs_immigrate_options fastfs_immigrate_options_init() noexcept nogil
    fastfs_immigrate_result fastfs_immigrate_result_init() noexcept nogil
    fastfs_margin_metric fastfs_margin_metric_init() noexcept nogil
    fastfs_disc_set fastfs_disc_set_init() noexcept nogil
    fastfs_disc_options fastfs_disc_options_init() noexcept nogil
    fastfs_disc_result fastfs_disc_result_init() noexcept nogil
    fastfs_ikdr_kernels fastfs_ikdr_kernels_init() noexcept nogil
    fastfs_ikdr_options fastfs_ikdr_options_init() noexcept nogil
    fastfs_ikdr_result fastfs_ikdr_result_init() noexcept nogil
    fastfs_ikdr_model fastfs_ikdr_model_init() noexcept nogil
    fastfs_differential_correlation_options fastfs_differential_correlation_options_init() noexcept nogil
    fastfs_differential_correlation_result fastfs_differential_correlation_result_init() noexcept nogil
    fastfs_interaction_options fastfs_interaction_options_init() noexcept nogil
    fastfs_interaction_result fastfs_interaction_result_init() noexcept nogil
    fastfs_snp_pairs_options fastfs_snp_pairs_options_init() noexcept nogil
    fastfs_snp_pairs_result fastfs_snp_pairs_result_init() noexcept nogil
    fastfs_ld_clumps_options fastfs_ld_clumps_options_init() noexcept nogil
    fastfs_ld_clumps_result fastfs_ld_clumps_result_init() noexcept nogil
    fastfs_design_options fastfs_design_options_init() noexcept nogil
    fastfs_design_facts fastfs_design_facts_init() noexcept nogil
    fastfs_subsamples_options fastfs_subsamples_options_init() noexcept nogil
    fastfs_null_options fastfs_null_options_init() noexcept nogil
    fastfs_null_result fastfs_null_result_init() noexcept nogil
    fastfs_stability_options fastfs_stability_options_init() noexcept nogil
    fastfs_stability_result fastfs_stability_result_init() noexcept nogil
