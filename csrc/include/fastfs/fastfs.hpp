// fastfs.hpp: fastfs for C++17. Header only, over the C interface of fastfs.h; comments there aren't repeated here.
//
//     fastfs::matrix X(values, n_samples, n_features);                 // row-major double or float, not copied
//     auto fitted = fastfs::manifest(X).fit(labels, n_classes);        // throws std::invalid_argument, std::bad_alloc
//     double first = fitted->scores[0];
#ifndef FASTFS_HPP
#define FASTFS_HPP

#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fastfs.h"

namespace fastfs {

// ---- errors ---------------------------------------------------------------------------------------------------------

struct memory_error : std::bad_alloc {
    explicit memory_error(std::string message) : message_(std::move(message)) {}
    const char* what() const noexcept override { return message_.c_str(); }

  private:
    std::string message_;
};

// What the message names by number, as of fastfs_last_error_places.
using places = std::vector<fastfs_place>;

struct invalid_argument : std::invalid_argument {
    invalid_argument(const std::string& message, fastfs::places where)
        : std::invalid_argument(message), places(std::move(where)) {}
    fastfs::places places;
};

struct numeric_error : std::runtime_error {
    numeric_error(const std::string& message, fastfs::places where)
        : std::runtime_error(message), places(std::move(where)) {}
    fastfs::places places;
};

struct canceled : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Throws the exception of a failed status, with the message and the places of the last error.
inline void check(fastfs_status status) {
    if (status == FASTFS_OK) return;
    const std::string message = fastfs_last_error();
    places where(static_cast<std::size_t>(fastfs_last_error_places(nullptr, 0)), FASTFS_PLACE_INIT);
    fastfs_last_error_places(where.data(), static_cast<std::int32_t>(where.size()));
    switch (status) {
        case FASTFS_EINVAL:
            throw invalid_argument(message, std::move(where));
        case FASTFS_ENOMEM:
            throw memory_error(message);
        case FASTFS_ENUMERIC:
            throw numeric_error(message, std::move(where));
        case FASTFS_ECANCELED:
            throw canceled(message);
        case FASTFS_EEXIST:
            throw std::logic_error(message);
        default:
            throw std::runtime_error("fastfs has a defect: " + message);
    }
}

struct warning {
    std::string code, message;
    fastfs::places places;
};

// Returns the warnings of this thread's last call: see fastfs_last_warning.
inline std::vector<warning> last_warnings() {
    std::vector<warning> all;
    const fastfs_warning* one;
    while ((one = fastfs_last_warning(static_cast<std::int32_t>(all.size()))) != nullptr) {
        all.push_back({one->code, one->message, {one->places, one->places + one->n_places}});
    }
    return all;
}

// A number that is -1, with an error, if there is none.
inline std::int64_t checked(std::int64_t number) {
    if (number < 0) check(FASTFS_EINVAL);
    return number;
}

// ---- what every call takes ------------------------------------------------------------------------------------------

template <class T>
constexpr int dtype_of = 0;
template <>
inline constexpr int dtype_of<float> = FASTFS_FLOAT32;
template <>
inline constexpr int dtype_of<double> = FASTFS_FLOAT64;

// A view of samples x features that somebody else owns.
class matrix {
  public:
    template <class T>
    matrix(const T* values, std::int64_t n_rows, std::int64_t n_cols) : matrix(values, n_rows, n_cols, n_cols, 1) {}

    // Views dense values, which aren't copied; strides in elements.
    template <class T>
    matrix(const T* values, std::int64_t n_rows, std::int64_t n_cols, std::int64_t row_stride, std::int64_t col_stride)
        : m_{} {
        m_.struct_size = sizeof m_;
        m_.dtype = dtype_of<T>;
        m_.storage = FASTFS_DENSE;
        m_.n_rows = n_rows;
        m_.n_cols = n_cols;
        m_.values = values;
        m_.row_stride = row_stride;
        m_.col_stride = col_stride;
        static_assert(dtype_of<T> != 0, "fastfs takes float and double");
    }

    template <class T, class Index>
    static matrix csr(const T* values, const Index* indices, const Index* indptr, std::int64_t n_rows,
                      std::int64_t n_cols) {
        return sparse(FASTFS_CSR, values, indices, indptr, n_rows, n_cols);
    }

    template <class T, class Index>
    static matrix csc(const T* values, const Index* indices, const Index* indptr, std::int64_t n_rows,
                      std::int64_t n_cols) {
        return sparse(FASTFS_CSC, values, indices, indptr, n_rows, n_cols);
    }

    // Genotypes of two bits, as of FASTFS_GENOTYPE; SNPs are bytes_per_snp apart. rows and columns: places of samples
    // and of SNPs, or null for the first n_rows and n_cols. T: the type of the numbers that they stand for.
    template <class T = float>
    static matrix genotypes(const std::uint8_t* values, std::int64_t n_rows, std::int64_t n_cols,
                            std::int64_t bytes_per_snp, const std::int64_t* rows = nullptr,
                            const std::int64_t* columns = nullptr) {
        matrix m(static_cast<const T*>(nullptr), n_rows, n_cols, 0, bytes_per_snp);
        m.m_.storage = FASTFS_GENOTYPE;
        m.m_.values = values;
        m.m_.row_list = rows;
        m.m_.col_list = columns;
        return m;
    }

    // Returns n_rows rows of a dense matrix, by their places: for disc_samples.
    matrix rows(const std::int64_t* list, std::int64_t n_rows) const {
        matrix m(*this);
        m.m_.n_rows = n_rows;
        m.m_.row_list = list;
        return m;
    }

    const fastfs_matrix* get() const { return &m_; }
    std::int64_t n_rows() const { return m_.n_rows; }
    std::int64_t n_cols() const { return m_.n_cols; }

  private:
    // Views a sparse matrix; storage: FASTFS_CSR or FASTFS_CSC.
    template <class T, class Index>
    static matrix sparse(int storage, const T* values, const Index* indices, const Index* indptr, std::int64_t n_rows,
                         std::int64_t n_cols) {
        static_assert(sizeof(Index) == 4 || sizeof(Index) == 8, "sparse indices have 32 or 64 bits");
        matrix m(values, n_rows, n_cols);
        m.m_.storage = storage;
        m.m_.indices = indices;
        m.m_.indptr = indptr;
        m.m_.index_bits = 8 * sizeof(Index);
        return m;
    }

    fastfs_matrix m_;
};

using run = fastfs_run;
inline run default_run() { return FASTFS_RUN_INIT; }

// Threads and bytes that a call with this run may use.
struct limits {
    std::int32_t n_threads;
    std::int64_t max_memory;
};
inline limits run_limits(const run& how = default_run()) {
    limits found{};
    check(fastfs_run_limits(&how, &found.n_threads, &found.max_memory));
    return found;
}

// What a call would take with these threads and this budget, before it runs; throws memory_error if that is too much.
//     fastfs::bytes_needed([&](const fastfs::run& how) { fastfs::affinity(X, fastfs::rbf(2), nullptr, how); });
template <class Call>
std::int64_t bytes_needed(Call&& call, run how = default_run()) {
    std::int64_t bytes = 0;
    how.bytes_needed = &bytes;
    call(static_cast<const run&>(how));
    return bytes;
}

// Owns a handle of the C interface, which create(&handle) makes.
template <class Handle, void (*free_handle)(Handle*)>
class owned {
  public:
    template <class Create>
    explicit owned(Create&& create) {
        Handle* made = nullptr;
        check(create(&made));
        handle_.reset(made);
    }
    Handle* get() const { return handle_.get(); }

  private:
    struct free {
        void operator()(Handle* handle) const { free_handle(handle); }
    };
    std::unique_ptr<Handle, free> handle_;
};

// One or more results of the C interface, and the owner of the arrays that they point to. Movable.
//     fastfs::fitted<fastfs_relief_result> found = margin.relief(labels, n_classes);
//     double first = found->scores[0];
template <class Result>
class fitted {
  public:
    // fit(results, &owner) fills n results, which are `empty` so far.
    template <class Fit>
    fitted(std::size_t n, const Result& empty, Fit&& fit)
        : results_(n, empty), owner_([&](fastfs_fitted** made) { return fit(results_.data(), made); }) {}

    std::int64_t size() const { return static_cast<std::int64_t>(results_.size()); }
    const Result& operator[](std::int64_t k) const& { return results_.at(static_cast<std::size_t>(k)); }
    const Result& operator*() const& { return results_.front(); }
    const Result* operator->() const& { return &results_.front(); }
    const Result& operator[](std::int64_t k) const&& = delete;  // its arrays would be gone
    const Result& operator*() const&& = delete;
    const Result* operator->() const&& = delete;
    fastfs_fitted* get() const { return owner_.get(); }

  private:
    std::vector<Result> results_;
    owned<fastfs_fitted, fastfs_fitted_free> owner_;
};

// ---- streams --------------------------------------------------------------------------------------------------------

using stream_state = fastfs_stream_state;
using block = fastfs_block;

// A table in blocks of rows: see fastfs_stream. relief_stream and the other streams make one; relief_stream_finish and
// the others give its result.
class stream {
  public:
    template <class Create, class = decltype(std::declval<Create>()(static_cast<fastfs_stream**>(nullptr)))>
    explicit stream(Create&& create) : handle_(std::forward<Create>(create)) {}

    stream copy() const {
        return stream([&](fastfs_stream** made) { return fastfs_stream_copy(get(), made); });
    }
    void update(const block& rows, const run& how = default_run()) { check(fastfs_stream_update(get(), &rows, &how)); }
    // X alone, and the number of its first row.
    void update(const matrix& X, std::int64_t first_row = 0, const run& how = default_run()) {
        update({sizeof(block), X.get(), nullptr, nullptr, first_row}, how);
    }
    void update_targets(const matrix& X, const matrix& Y, const run& how = default_run()) {
        update({sizeof(block), X.get(), Y.get(), nullptr, 0}, how);
    }
    void update_labels(const matrix& X, const std::int64_t* labels, const run& how = default_run()) {
        update({sizeof(block), X.get(), nullptr, labels, 0}, how);
    }
    void merge(const stream& other) { check(fastfs_stream_merge(get(), other.get())); }
    void next(const run& how = default_run()) { check(fastfs_stream_next(get(), &how)); }
    stream_state state() const {
        stream_state found = FASTFS_STREAM_STATE_INIT;
        check(fastfs_stream_get(get(), &found));
        return found;
    }
    // Of each group: its rows, and the means of the columns, n_groups x n_cols.
    std::vector<double> counts() const {
        std::vector<double> numbers(static_cast<std::size_t>(state().n_groups));
        check(fastfs_stream_means(get(), numbers.data(), nullptr));
        return numbers;
    }
    std::vector<double> means() const {
        const stream_state now = state();
        std::vector<double> numbers(static_cast<std::size_t>(now.n_groups * now.n_cols));
        check(fastfs_stream_means(get(), nullptr, numbers.data()));
        return numbers;
    }
    std::int64_t size() const { return checked(fastfs_stream_size(get())); }
    void save(void* bytes, std::int64_t n_bytes) const { check(fastfs_stream_save(get(), bytes, n_bytes)); }
    void load(const void* bytes, std::int64_t n_bytes) { check(fastfs_stream_load(get(), bytes, n_bytes)); }
    fastfs_stream* get() const { return handle_.get(); }

  private:
    owned<fastfs_stream, fastfs_stream_free> handle_;
};

// ---- affinity -------------------------------------------------------------------------------------------------------

using affinity_options = fastfs_affinity_options;

inline affinity_options rbf(double sigma) { return {sizeof(affinity_options), FASTFS_RBF, 0, sigma, nullptr, nullptr}; }
inline affinity_options sqeuclidean() {
    return {sizeof(affinity_options), FASTFS_SQEUCLIDEAN, 0, 1.0, nullptr, nullptr};
}
inline affinity_options linear() { return {sizeof(affinity_options), FASTFS_LINEAR, 0, 1.0, nullptr, nullptr}; }
inline affinity_options custom(fastfs_tile_kernel kernel, double sigma = 1, void* user = nullptr) {
    return {sizeof(affinity_options), FASTFS_CUSTOM, 0, sigma, kernel, user};
}

// out: n_cols x n_cols of the dtype of X.
inline void affinity(const matrix& X, const affinity_options& options, void* out, const run& how = default_run()) {
    check(fastfs_affinity(X.get(), &options, &how, out));
}

// V, out: n_cols x p of the dtype of X.
inline void affinity_product(const matrix& X, const affinity_options& options, const void* V, std::int64_t p, void* out,
                             const run& how = default_run()) {
    check(fastfs_affinity_product(X.get(), &options, V, p, &how, out));
}

inline stream gram_stream(std::int64_t n_features, const run& how = default_run()) {
    return stream([&](auto** made) { return fastfs_gram_stream_new(n_features, &how, made); });
}
// out: n_features x n_features
inline void gram_stream_finish(const stream& of, const affinity_options& options, double* out,
                               const run& how = default_run()) {
    check(fastfs_gram_stream_finish(of.get(), &options, &how, out));
}

// ---- spectral -------------------------------------------------------------------------------------------------------

inline void eigh(std::int64_t n, double* A, double* w, const run& how = default_run()) {
    check(fastfs_eigh(n, A, w, &how));
}

// Returns the rank.
inline std::int64_t pencil(std::int64_t n, double* K1, const double* K2, double* nu, const run& how = default_run()) {
    std::int64_t rank = 0;
    check(fastfs_pencil(n, K1, K2, nu, &rank, &how));
    return rank;
}

// ---- ManiFeSt -------------------------------------------------------------------------------------------------------

using manifest_options = fastfs_manifest_options;
inline manifest_options default_manifest_options() { return FASTFS_MANIFEST_OPTIONS_INIT; }

using manifest_scale = fastfs_manifest_scale;
inline manifest_scale median_scale(double factor, int normalize = 0) {
    return {sizeof(manifest_scale), FASTFS_MANIFEST_SIGMA_MEDIAN, normalize, factor, nullptr};
}
inline manifest_scale percentile_scale(double percentile, int normalize = 0) {
    return {sizeof(manifest_scale), FASTFS_MANIFEST_SIGMA_PERCENTILE, normalize, percentile, nullptr};
}
// sigma: one for each kernel, and must outlive the fit.
inline manifest_scale given_scale(const double* sigma, int normalize = 0) {
    return {sizeof(manifest_scale), FASTFS_MANIFEST_SIGMA_GIVEN, normalize, 0.0, sigma};
}

using manifest_plan = fastfs_manifest_plan;

using manifest_result = fastfs_manifest_result;

class manifest {
  public:
    // The arrays behind X must outlive the object.
    explicit manifest(const matrix& X, bool keep_distances = false, const run& how = default_run())
        : manifest(std::vector<matrix>{X}, keep_distances, how) {}
    explicit manifest(const std::vector<matrix>& chunks, bool keep_distances = false, const run& how = default_run())
        : handle_([&](auto** made) {
              std::vector<fastfs_matrix> X;
              for (const matrix& chunk : chunks) X.push_back(*chunk.get());
              return fastfs_manifest_new(X.data(), static_cast<std::int64_t>(X.size()), keep_distances, &how, made);
          }) {}

    manifest_plan plan(std::int64_t n_classes, const manifest_options& options = default_manifest_options(),
                       std::int64_t n_scales = 1, const run& how = default_run()) const {
        manifest_plan found = FASTFS_MANIFEST_PLAN_INIT;
        found.n_classes = n_classes;
        found.n_scales = n_scales;
        check(fastfs_manifest_plan_fit(handle_.get(), &options, &how, &found));
        return found;
    }

    // Fits and returns one result for each scale. labels: 0..n_classes - 1, one for each row.
    fitted<manifest_result> fit(const std::int64_t* labels, std::int64_t n_classes,
                                const std::vector<manifest_scale>& scales = {median_scale(0.5)},
                                const manifest_options& options = default_manifest_options(),
                                const run& how = default_run()) const {
        return {scales.size(), FASTFS_MANIFEST_RESULT_INIT, [&](auto* results, auto** made) {
                    return fastfs_manifest_fit(handle_.get(), labels, n_classes, &options, scales.data(),
                                               static_cast<std::int64_t>(scales.size()), &how, results, made);
                }};
    }

  private:
    owned<fastfs_manifest, fastfs_manifest_free> handle_;
};

// Returns the plan of a fit by a stream, before it is made.
inline manifest_plan manifest_stream_plan(std::int64_t n_features, std::int64_t n_groups, std::int64_t n_classes,
                                          const manifest_options& options = default_manifest_options(),
                                          std::int64_t n_scales = 1, const run& how = default_run()) {
    manifest_plan found = FASTFS_MANIFEST_PLAN_INIT;
    found.n_classes = n_classes;
    found.n_scales = n_scales;
    found.n_features = n_features;
    found.n_groups = n_groups;
    check(fastfs_manifest_plan_fit(nullptr, &options, &how, &found));
    return found;
}
inline stream manifest_stream(std::int64_t n_features, std::int64_t n_groups,
                              const manifest_options& options = default_manifest_options(),
                              const run& how = default_run()) {
    return stream([&](auto** made) { return fastfs_manifest_stream_new(n_features, n_groups, &options, &how, made); });
}
// Fits from the sums of a stream, and returns one result for each scale. labels: the class of each group, or -1.
inline fitted<manifest_result> manifest_stream_finish(const stream& of, const std::int64_t* labels,
                                                      std::int64_t n_classes,
                                                      const std::vector<manifest_scale>& scales = {median_scale(0.5)},
                                                      const manifest_options& options = default_manifest_options(),
                                                      const run& how = default_run()) {
    return {scales.size(), FASTFS_MANIFEST_RESULT_INIT, [&](auto* results, auto** made) {
                return fastfs_manifest_stream_finish(of.get(), labels, n_classes, &options, scales.data(),
                                                     static_cast<std::int64_t>(scales.size()), &how, results, made);
            }};
}

// Of the scores of each problem: see fastfs_manifest_mean_scores.
inline void manifest_mean_scores(std::int64_t n_features, std::int64_t n_classes, const manifest_options& options,
                                 const double* problem_scores, double* scores, double* class_scores = nullptr) {
    check(fastfs_manifest_mean_scores(n_features, n_classes, options.multiclass, problem_scores, scores, class_scores));
}

// Compares two precomputed kernels.
inline fitted<manifest_result> manifest_kernels(std::int64_t n_features, const double* K1, const double* K2,
                                                const manifest_options& options = default_manifest_options(),
                                                const run& how = default_run()) {
    return {1, FASTFS_MANIFEST_RESULT_INIT, [&](auto* result, auto** made) {
                return fastfs_manifest_kernels(n_features, K1, K2, &options, &how, result, made);
            }};
}

// ---- ProjSe ---------------------------------------------------------------------------------------------------------

using projse_options = fastfs_projse_options;
inline projse_options default_projse_options() { return FASTFS_PROJSE_OPTIONS_INIT; }

using projse_result = fastfs_projse_result;

inline fitted<projse_result> projse(const matrix& X, const matrix& Y, const projse_options& options,
                                    const run& how = default_run()) {
    return {1, FASTFS_PROJSE_RESULT_INIT, [&](auto* result, auto** made) {
                return fastfs_projse(X.get(), Y.get(), nullptr, 0, &options, &how, result, made);
            }};
}

inline fitted<projse_result> projse(const matrix& X, const std::int64_t* labels, std::int64_t n_classes,
                                    const projse_options& options, const run& how = default_run()) {
    return {1, FASTFS_PROJSE_RESULT_INIT, [&](auto* result, auto** made) {
                return fastfs_projse(X.get(), nullptr, labels, n_classes, &options, &how, result, made);
            }};
}

// Without targets.
inline fitted<projse_result> projse(const matrix& X, const projse_options& options, const run& how = default_run()) {
    return projse(X, nullptr, 0, options, how);
}

inline fitted<projse_result> projse_kernels(std::int64_t n_y, std::int64_t n_x, const double* K_YY, const double* K_YX,
                                            const double* K_XX, const projse_options& options,
                                            const run& how = default_run()) {
    return {1, FASTFS_PROJSE_RESULT_INIT, [&](auto* result, auto** made) {
                return fastfs_projse_kernels(n_y, n_x, K_YY, K_YX, K_XX, &options, &how, result, made);
            }};
}

// Scores of n_labelings x X.n_rows() labels, n_labelings x X.n_cols().
inline void projse_label_scores(const matrix& X, const std::int64_t* labels, std::int64_t n_labelings,
                                std::int64_t n_classes, const projse_options& options, double* scores,
                                const run& how = default_run()) {
    check(fastfs_projse_label_scores(X.get(), labels, n_labelings, n_classes, &options, &how, scores));
}

// views: FASTFS_PROJSE_ONE_VIEW, _TWO_VIEWS or _GROUPS.
inline stream projse_stream(std::int64_t n_y, std::int64_t n_x, int views = FASTFS_PROJSE_ONE_VIEW,
                            const run& how = default_run()) {
    return stream([&](auto** made) { return fastfs_projse_stream_new(n_y, n_x, views, &how, made); });
}
// classes: with FASTFS_PROJSE_GROUPS the class of each group, or -1; else null.
inline fitted<projse_result> projse_stream_finish(const stream& of, const projse_options& options,
                                                  const run& how = default_run(), const std::int64_t* classes = nullptr,
                                                  std::int64_t n_classes = 0) {
    return {1, FASTFS_PROJSE_RESULT_INIT, [&](auto* result, auto** made) {
                return fastfs_projse_stream_finish(of.get(), classes, n_classes, &options, &how, result, made);
            }};
}

// ---- margins: the RELIEF family, IM4E, IMMIGRATE -------------------------------------------------------------------

using margin_options = fastfs_margin_options;
// scaling: FASTFS_SCALE_*, keep: FASTFS_KEEP_*.
inline margin_options default_margin_options(int scaling = FASTFS_SCALE_RANGE, int keep = FASTFS_KEEP_NONE) {
    margin_options options = FASTFS_MARGIN_OPTIONS_INIT;
    options.scaling = scaling;
    options.keep = keep;
    return options;
}

using relief_options = fastfs_relief_options;
inline relief_options default_relief_options() { return FASTFS_RELIEF_OPTIONS_INIT; }

using relief_result = fastfs_relief_result;

inline stream relief_stream(std::int64_t n_rows, std::int64_t n_cols, const std::int64_t* labels,
                            std::int64_t n_classes, int scaling = FASTFS_SCALE_RANGE,
                            const relief_options& options = default_relief_options(), const run& how = default_run()) {
    return stream([&](auto** made) {
        return fastfs_relief_stream_new(n_rows, n_cols, labels, n_classes, scaling, &options, &how, made);
    });
}
// Returns the scores of the second pass, as often as you like. merged: the class that each class counts as, or empty.
inline fitted<relief_result> relief_stream_finish(const stream& of, const std::vector<std::int64_t>& merged = {},
                                                  const run& how = default_run()) {
    const stream_state state = of.state();
    if (!merged.empty() && static_cast<std::int64_t>(merged.size()) != state.n_groups) {
        throw invalid_argument("merged must hold a number for each of the " + std::to_string(state.n_groups) +
                                   " classes; got " + std::to_string(merged.size()),
                               {});
    }
    std::int64_t n_merged = 0;
    for (const std::int64_t c : merged) n_merged = c >= n_merged ? c + 1 : n_merged;
    return {1, FASTFS_RELIEF_RESULT_INIT, [&](auto* result, auto** made) {
                return fastfs_relief_stream_finish(of.get(), merged.empty() ? nullptr : merged.data(), n_merged, &how,
                                                   result, made);
            }};
}

using im4e_options = fastfs_im4e_options;
inline im4e_options default_im4e_options() { return FASTFS_IM4E_OPTIONS_INIT; }

using im4e_result = fastfs_im4e_result;

using immigrate_options = fastfs_immigrate_options;
inline immigrate_options default_immigrate_options() { return FASTFS_IMMIGRATE_OPTIONS_INIT; }

using immigrate_result = fastfs_immigrate_result;

// Its arrays must outlive the calls that take it.
using margin_metric = fastfs_margin_metric;
inline margin_metric default_margin_metric() { return FASTFS_MARGIN_METRIC_INIT; }

class margin {
  public:
    // The arrays behind X and options.distances must outlive the object.
    explicit margin(const matrix& X, const margin_options& options = default_margin_options(),
                    const run& how = default_run())
        : handle_([&](fastfs_margin** made) { return fastfs_margin_new(X.get(), &options, &how, made); }) {}

    // See fastfs_margin_use. weights: one for each of the features, or null.
    void use(const std::vector<std::int64_t>& features, const double* weights = nullptr,
             const run& how = default_run()) {
        check(fastfs_margin_use(get(), features.data(), static_cast<std::int64_t>(features.size()), weights, &how));
    }

    // shift, factor: n_cols each.
    void scaling(double* shift, double* factor) const { check(fastfs_margin_scaling(get(), shift, factor)); }

    // labels: 0..n_classes - 1, one for each row; null, with n_classes = 0, if the target isn't classes.
    fitted<relief_result> relief(const std::int64_t* labels, std::int64_t n_classes,
                                 const relief_options& options = default_relief_options(),
                                 const run& how = default_run()) const {
        return {1, FASTFS_RELIEF_RESULT_INIT, [&](auto* result, auto** made) {
                    return fastfs_relief(get(), labels, n_classes, &options, &how, result, made);
                }};
    }

    fitted<im4e_result> im4e(const std::int64_t* labels, std::int64_t n_classes,
                             const im4e_options& options = default_im4e_options(),
                             const run& how = default_run()) const {
        return {1, FASTFS_IM4E_RESULT_INIT, [&](auto* result, auto** made) {
                    return fastfs_im4e(get(), labels, n_classes, &options, &how, result, made);
                }};
    }

    fitted<immigrate_result> immigrate(const std::int64_t* labels, std::int64_t n_classes,
                                       const immigrate_options& options = default_immigrate_options(),
                                       const run& how = default_run()) const {
        return {1, FASTFS_IMMIGRATE_RESULT_INIT, [&](auto* result, auto** made) {
                    return fastfs_immigrate_fit(get(), labels, n_classes, &options, &how, result, made);
                }};
    }

    // out: n_rows of X x n_classes.
    void distances(const std::int64_t* labels, std::int64_t n_classes, const margin_metric& metric, const matrix& X,
                   double* out, const run& how = default_run()) const {
        check(fastfs_margin_distances(get(), labels, n_classes, &metric, X.get(), &how, out));
    }

    // wanted: a class for each row of X. out: as of fastfs_margin_explain.
    void explain(const std::int64_t* labels, std::int64_t n_classes, const margin_metric& metric, const matrix& X,
                 const std::int64_t* wanted, double* out, const run& how = default_run()) const {
        check(fastfs_margin_explain(get(), labels, n_classes, &metric, X.get(), wanted, &how, out));
    }

    fastfs_margin* get() const { return handle_.get(); }

  private:
    owned<fastfs_margin, fastfs_margin_free> handle_;
};

// Writes the strongest pairs of features to a, b and weights, n_pairs each, and returns how many there are.
inline std::int64_t immigrate_pairs(std::int64_t n_features, std::int64_t rank, const double* values,
                                    const double* vectors, bool without_leading, std::int64_t n_pairs, std::int64_t* a,
                                    std::int64_t* b, double* weights, const run& how = default_run()) {
    std::int64_t found = 0;
    check(fastfs_immigrate_pairs(n_features, rank, values, vectors, without_leading, n_pairs, &how, a, b, weights,
                                 &found));
    return found;
}

// ---- neighbours between features ------------------------------------------------------------------------------------

// The nearest features of each, nearest first, and their distances: row-major, n_cols x n_neighbors.
struct nearest {
    std::vector<std::int64_t> neighbors;
    std::vector<double> distances;
};

// Returns the n_neighbors nearest features of each feature, nearest first, and their distances, feature by feature.
inline nearest nearest_features(const matrix& X, std::int64_t n_neighbors, const run& how = default_run()) {
    nearest found;
    // Else the call says what is wrong, or what it would take.
    if (n_neighbors >= 1 && n_neighbors < X.n_cols() && how.bytes_needed == nullptr) {
        found.neighbors.resize(static_cast<std::size_t>(X.n_cols() * n_neighbors));
        found.distances.resize(found.neighbors.size());
    }
    check(fastfs_nearest_features(X.get(), n_neighbors, &how, found.neighbors.data(), found.distances.data()));
    return found;
}

// ---- DiSC -----------------------------------------------------------------------------------------------------------

using disc_options = fastfs_disc_options;
inline disc_options default_disc_options() { return FASTFS_DISC_OPTIONS_INIT; }

// A set is its samples, its graph or its neighbours; these must outlive the fit.
using disc_set = fastfs_disc_set;
disc_set disc_samples(const matrix&& X, std::int64_t n_components = 0) = delete;  // it would be gone by the fit
inline disc_set disc_samples(const matrix& X, std::int64_t n_components = 0) {
    disc_set set = FASTFS_DISC_SET_INIT;
    set.X = X.get();
    set.n_components = n_components;
    return set;
}
disc_set disc_graph(const matrix&& W, std::int64_t n_components = 0) = delete;
inline disc_set disc_graph(const matrix& W, std::int64_t n_components = 0) {
    disc_set set = FASTFS_DISC_SET_INIT;
    set.W = W.get();
    set.n_components = n_components;
    return set;
}
disc_set disc_neighbors(const nearest&& found, std::int64_t n_features, std::int64_t n_components = 0) = delete;
// Returns a set with the graph of nearest features; it points to `found`, which must outlive it.
inline disc_set disc_neighbors(const nearest& found, std::int64_t n_features, std::int64_t n_components = 0) {
    disc_set set = FASTFS_DISC_SET_INIT;
    set.neighbors = found.neighbors.data();
    set.distances = found.distances.data();
    set.n_features = n_features;
    set.n_neighbors = n_features > 0 ? static_cast<std::int64_t>(found.neighbors.size()) / n_features : 0;
    set.n_components = n_components;
    return set;
}

using disc_result = fastfs_disc_result;

inline stream disc_stream(std::int64_t n_rows, std::int64_t n_cols, const std::int64_t* labels, std::int64_t n_groups,
                          const disc_options& options = default_disc_options(), const run& how = default_run()) {
    return stream(
        [&](auto** made) { return fastfs_disc_stream_new(n_rows, n_cols, labels, n_groups, &options, &how, made); });
}
inline void disc_stream_finish(stream& of, const run& how = default_run()) {
    check(fastfs_disc_stream_finish(of.get(), &how));
}
disc_set disc_group(const stream&& of, std::int64_t group, std::int64_t n_components = 0) = delete;
inline disc_set disc_group(const stream& of, std::int64_t group, std::int64_t n_components = 0) {
    disc_set set = FASTFS_DISC_SET_INIT;
    set.stream = of.get();
    set.group = group;
    set.n_components = n_components;
    return set;
}
// A result for each set.
inline fitted<disc_result> disc(const std::vector<disc_set>& sets, const disc_options& options = default_disc_options(),
                                const run& how = default_run()) {
    return {sets.size(), FASTFS_DISC_RESULT_INIT, [&](auto* results, auto** made) {
                return fastfs_disc_fit(sets.data(), static_cast<std::int64_t>(sets.size()), &options, &how, results,
                                       made);
            }};
}
// See fastfs_disc_graph.
template <class Index>
void write_disc_graph(const fitted<disc_result>& of, std::int64_t set, Index* indptr, Index* indices, double* weights,
                      const run& how = default_run()) {
    static_assert(sizeof(Index) == 4 || sizeof(Index) == 8, "sparse indices have 32 or 64 bits");
    check(fastfs_disc_graph(of.get(), set, 8 * sizeof(Index), &how, indptr, indices, weights));
}

// ---- I-KDR ----------------------------------------------------------------------------------------------------------

// The arrays that these point to must outlive the call.
using ikdr_kernels = fastfs_ikdr_kernels;
// n_kernels: 0 (one per feature) or 1 (one of all features).
ikdr_kernels ikdr_features(const matrix&& X, std::int64_t n_kernels = 0) = delete;  // it would be gone by the call
inline ikdr_kernels ikdr_features(const matrix& X, std::int64_t n_kernels = 0) {
    ikdr_kernels kernels = FASTFS_IKDR_KERNELS_INIT;
    kernels.X = X.get();
    kernels.n_kernels = n_kernels;
    return kernels;
}
inline ikdr_kernels ikdr_matrices(const double* matrices, std::int64_t n_kernels, std::int64_t n_samples) {
    ikdr_kernels kernels = FASTFS_IKDR_KERNELS_INIT;
    kernels.matrices = matrices;
    kernels.n_kernels = n_kernels;
    kernels.n_samples = n_samples;
    return kernels;
}

using ikdr_options = fastfs_ikdr_options;
inline ikdr_options default_ikdr_options() { return FASTFS_IKDR_OPTIONS_INIT; }

using ikdr_result = fastfs_ikdr_result;

// A result for each of lambdas. labels: 0..n_classes - 1, one for each sample.
inline fitted<ikdr_result> ikdr(const ikdr_kernels& kernels, const std::int64_t* labels, std::int64_t n_classes,
                                const ikdr_options& options = default_ikdr_options(), const run& how = default_run()) {
    const std::int64_t n_steps = options.lambdas && options.n_lambdas > 1 ? options.n_lambdas : 1;
    return {static_cast<std::size_t>(n_steps), FASTFS_IKDR_RESULT_INIT, [&](auto* results, auto** made) {
                return fastfs_ikdr_fit(&kernels, labels, n_classes, &options, &how, results, made);
            }};
}

using ikdr_model = fastfs_ikdr_model;
inline ikdr_model default_ikdr_model() { return FASTFS_IKDR_MODEL_INIT; }

// out: rows of X x n_components.
inline void ikdr_embed(const ikdr_model& model, const matrix& X, double* out, const run& how = default_run()) {
    check(fastfs_ikdr_embed(&model, X.get(), &how, out));
}

// ---- differential correlation ---------------------------------------------------------------------------------------

using differential_correlation_options = fastfs_differential_correlation_options;
inline differential_correlation_options default_differential_correlation_options() {
    return FASTFS_DIFFERENTIAL_CORRELATION_OPTIONS_INIT;
}

using differential_correlation_result = fastfs_differential_correlation_result;

// labels: 0 or 1, one for each sample.
inline fitted<differential_correlation_result> differential_correlation(
    const matrix& X, const std::int64_t* labels,
    const differential_correlation_options& options = default_differential_correlation_options(),
    const run& how = default_run()) {
    return {1, FASTFS_DIFFERENTIAL_CORRELATION_RESULT_INIT, [&](auto* result, auto** made) {
                return fastfs_differential_correlation(X.get(), labels, &options, &how, result, made);
            }};
}

// ---- interactions ---------------------------------------------------------------------------------------------------

using interaction_options = fastfs_interaction_options;
inline interaction_options default_interaction_options() { return FASTFS_INTERACTION_OPTIONS_INIT; }

using interaction_result = fastfs_interaction_result;

// other: null, or the table with columns to be paired with those of X. labels: the class of each sample, or y: its
// number; the other one is null.
inline fitted<interaction_result> interaction_scan(const matrix& X, const matrix* other, const std::int64_t* labels,
                                                   const double* y,
                                                   const interaction_options& options = default_interaction_options(),
                                                   const run& how = default_run()) {
    return {1, FASTFS_INTERACTION_RESULT_INIT, [&](auto* result, auto** made) {
                return fastfs_interaction_scan(X.get(), other ? other->get() : nullptr, labels, y, &options, &how,
                                               result, made);
            }};
}

// ---- pairs of SNPs --------------------------------------------------------------------------------------------------

using snp_pairs_options = fastfs_snp_pairs_options;
inline snp_pairs_options default_snp_pairs_options() { return FASTFS_SNP_PAIRS_OPTIONS_INIT; }

using snp_pairs_result = fastfs_snp_pairs_result;

// labels: 0 or 1, one for each sample, or null with the numbers y of the options.
inline fitted<snp_pairs_result> snp_pairs(const matrix& X, const std::int64_t* labels,
                                          const snp_pairs_options& options = default_snp_pairs_options(),
                                          const run& how = default_run()) {
    return {1, FASTFS_SNP_PAIRS_RESULT_INIT,
            [&](auto* result, auto** made) { return fastfs_snp_pairs(X.get(), labels, &options, &how, result, made); }};
}

// ---- clumps of SNPs -------------------------------------------------------------------------------------------------

using ld_clumps_options = fastfs_ld_clumps_options;
inline ld_clumps_options default_ld_clumps_options() { return FASTFS_LD_CLUMPS_OPTIONS_INIT; }

using ld_clumps_result = fastfs_ld_clumps_result;

// scores and options.positions: one for each column of X.
inline fitted<ld_clumps_result> ld_clumps(const matrix& X, const double* scores, const ld_clumps_options& options,
                                          const run& how = default_run()) {
    return {1, FASTFS_LD_CLUMPS_RESULT_INIT,
            [&](auto* result, auto** made) { return fastfs_ld_clumps(X.get(), scores, &options, &how, result, made); }};
}

// ---- inference ------------------------------------------------------------------------------------------------------

using design_options = fastfs_design_options;
inline design_options default_design_options() { return FASTFS_DESIGN_OPTIONS_INIT; }
using design_facts = fastfs_design_facts;
using subsamples_options = fastfs_subsamples_options;
inline subsamples_options default_subsamples_options() { return FASTFS_SUBSAMPLES_OPTIONS_INIT; }

// Which labelings of the samples are as likely as the true one. The options' arrays are not needed any more once it is
// made.
class design {
  public:
    explicit design(const design_options& options, const run& how = default_run())
        : handle_([&](fastfs_design** made) { return fastfs_design_new(&options, &how, made); }) {}

    design_facts facts() const {
        design_facts found = FASTFS_DESIGN_FACTS_INIT;
        check(fastfs_design_get(get(), &found));
        return found;
    }
    // count x n_samples labels, or numbers of a design of numbers
    std::vector<std::int64_t> labelings(std::int64_t first, std::int64_t count, const run& how = default_run()) const {
        std::vector<std::int64_t> labels(size_of(count));
        check(fastfs_design_labelings(get(), first, count, &how, labels.data(), nullptr));
        return labels;
    }
    std::vector<double> numbers(std::int64_t first, std::int64_t count, const run& how = default_run()) const {
        std::vector<double> values(size_of(count));
        check(fastfs_design_labelings(get(), first, count, &how, nullptr, values.data()));
        return values;
    }
    // count x n_samples: 1 for samples in the subsample
    std::vector<std::int32_t> subsamples(const subsamples_options& options, std::int64_t first,
                                         std::int64_t count) const {
        std::vector<std::int32_t> taken(size_of(count));
        check(fastfs_design_subsamples(get(), &options, first, count, taken.data()));
        return taken;
    }
    fastfs_design* get() const { return handle_.get(); }

  private:
    std::size_t size_of(std::int64_t count) const { return static_cast<std::size_t>(count * facts().n_samples); }

    owned<fastfs_design, fastfs_design_free> handle_;
};

using null_options = fastfs_null_options;
inline null_options default_null_options() { return FASTFS_NULL_OPTIONS_INIT; }
using null_result = fastfs_null_result;

// The scores under the labelings of a design.
//     for (std::int64_t next = 0; next >= 0; next = null.add(scores_under_labeling(next))) {}
class null_scores {
  public:
    null_scores(const design& of, const null_options& options, const run& how = default_run())
        : handle_([&](fastfs_null** made) { return fastfs_null_new(of.get(), &options, &how, made); }) {}

    // Adds scores (n_features), and their statistic or null for the largest one, under the labeling that comes next.
    // Returns the number of the one that comes then, or -1 at the end.
    std::int64_t add(const double* scores, const double* statistic = nullptr) {
        check(fastfs_null_add(get(), scores, statistic, 1, &next_));
        return next_;
    }
    null_result result() const {
        null_result found = FASTFS_NULL_RESULT_INIT;
        check(fastfs_null_get(get(), &found));
        return found;
    }
    fastfs_null* get() const { return handle_.get(); }

  private:
    owned<fastfs_null, fastfs_null_free> handle_;
    std::int64_t next_ = 0;
};

using stability_options = fastfs_stability_options;
inline stability_options default_stability_options() { return FASTFS_STABILITY_OPTIONS_INIT; }

using stability_result = fastfs_stability_result;

inline fitted<stability_result> stability(const stability_options& options) {
    return {1, FASTFS_STABILITY_RESULT_INIT,
            [&](auto* result, auto** made) { return fastfs_stability(&options, result, made); }};
}

}  // namespace fastfs

#endif
