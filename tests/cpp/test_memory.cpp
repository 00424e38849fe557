// A call takes no more memory than its answer to the question (fastfs_run.bytes_needed), and the answer is enough as a
// budget: every allocation of C++ is counted here, and the caller's output arrays are added.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <numeric>
#include <random>
#include <string>
#include <vector>

// The symbols of the scipy-openblas32 wheel.
#define FASTFS_BLAS_SYMBOL(name) scipy_##name##_
#define FASTFS_BLAS_SET_THREADS scipy_openblas_set_num_threads
#define FASTFS_BLAS_GET_THREADS scipy_openblas_get_num_threads

#include "engines/sparse_pairs.hpp"
#include "fastfs/fastfs.hpp"
#include "fastfs/link_blas.h"
#include "fastfs/testing.h"
#include "results.hpp"
#include "streams.hpp"

namespace {

std::atomic<std::int64_t> live{0}, peak{0};
std::atomic<std::int64_t> left{-1};  // blocks until one can't be had; -1: all can
constexpr std::size_t kHeader = 64;  // before each block: its size, and no other alignment is asked for

void* take(std::size_t size) {
    if (left >= 0 && left.fetch_sub(1) == 0) throw std::bad_alloc();
    auto* block =
        static_cast<unsigned char*>(std::aligned_alloc(kHeader, (size + 2 * kHeader - 1) / kHeader * kHeader));
    if (block == nullptr) throw std::bad_alloc();
    *reinterpret_cast<std::size_t*>(block) = size;
    const std::int64_t now = live += static_cast<std::int64_t>(size);
    std::int64_t most = peak;
    while (now > most && !peak.compare_exchange_weak(most, now)) {
    }
    return block + kHeader;
}

void give(void* p) {
    if (p == nullptr) return;
    unsigned char* block = static_cast<unsigned char*>(p) - kHeader;
    live -= static_cast<std::int64_t>(*reinterpret_cast<std::size_t*>(block));
    std::free(block);
}

}  // namespace

void* operator new(std::size_t size) { return take(size); }
void* operator new(std::size_t size, std::align_val_t) { return take(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {  // of std::stable_sort
    try {
        return take(size);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
void operator delete(void* p) noexcept { give(p); }
void operator delete(void* p, std::size_t) noexcept { give(p); }
void operator delete(void* p, std::align_val_t) noexcept { give(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { give(p); }

namespace {

int failures = 0, n_threads = 1;

// outputs: bytes of the caller's arrays that the call fills.
template <class Call>
void test(const std::string& name, std::int64_t outputs, Call&& call) {
    std::int64_t needed = 0;
    auto how = fastfs::default_run();
    how.n_threads = n_threads;
    how.bytes_needed = &needed;
    fastfs::check(call(how));
    how.bytes_needed = nullptr;
    how.max_memory = needed;
    const std::int64_t before = live;
    peak = before;
    if (call(how) != FASTFS_OK) {
        ++failures;
        std::fprintf(stderr, "%s on %d threads: %s\n", name.c_str(), n_threads, fastfs_last_error());
        how.max_memory = 0;
        fastfs::check(call(how));
    }
    const std::int64_t taken = peak - before + outputs;
    if (taken <= needed) return;
    ++failures;
    std::fprintf(stderr, "%s on %d threads took %lld bytes and had said %lld\n", name.c_str(), n_threads,
                 static_cast<long long>(taken), static_cast<long long>(needed));
}

// A differential correlation with one labeling.
class Comparison {
  public:
    explicit Comparison(const std::int64_t* labeling) {
        options.labelings = labeling;
        options.n_labelings = 1;
    }

    fastfs_status call(const fastfs_matrix* X, const std::int64_t* labels, const fastfs_run& how) {
        return fastfs_differential_correlation(X, labels, &options, &how, &result_, owner());
    }

    fastfs_differential_correlation_options options = fastfs::default_differential_correlation_options();

  private:
    fastfs_differential_correlation_result result_ = FASTFS_DIFFERENTIAL_CORRELATION_RESULT_INIT;
};

template <class T>
void test_calls(std::int64_t n, std::int64_t d, bool genotypes = false) {
    constexpr std::int64_t size = sizeof(T), C = 3;
    const std::string shape = " of " + std::to_string(n) + " x " + std::to_string(d) +
                              (genotypes   ? " genotypes"
                               : size == 4 ? " floats"
                                           : " doubles");
    std::mt19937 engine(1);
    std::normal_distribution<T> normal;
    std::vector<T> values(static_cast<std::size_t>(n * d));
    for (T& v : values) v = normal(engine);
    std::vector<std::int64_t> labels(static_cast<std::size_t>(n)), lists(static_cast<std::size_t>(10 * std::max(n, d)));
    for (std::int64_t i = 0; i < n; ++i) labels[static_cast<std::size_t>(i)] = i % C;
    const auto* y = labels.data();
    const std::int64_t of_snp = (n + 3) / 4;
    std::vector<std::uint8_t> bits(static_cast<std::size_t>(of_snp * d), 0);
    for (std::uint8_t& byte : bits) {
        for (int k = 0; k < 4; ++k) byte = static_cast<std::uint8_t>(byte << 2 | (0b111000 >> engine() % 3 * 2 & 3));
    }
    const auto samples =
        genotypes ? fastfs::matrix::genotypes<T>(bits.data(), n, d, of_snp) : fastfs::matrix(values.data(), n, d);
    const fastfs_matrix* X = samples.get();
    std::vector<double> out(static_cast<std::size_t>(std::max({d * d, n * n, n * C, 10 * d}))),
        scores(static_cast<std::size_t>(d));

    test("affinity" + shape, d * d * size, [&](auto& how) { return fastfs_affinity(X, nullptr, &how, out.data()); });
    test("affinity_product" + shape, d * size,
         [&](auto& how) { return fastfs_affinity_product(X, nullptr, values.data(), 1, &how, out.data()); });
    fastfs_stream* gram = nullptr;
    test("gram_stream_new" + shape, 0, [&](auto& how) { return fastfs_gram_stream_new(d, &how, &gram); });
    test("gram_update" + shape, 0, [&](auto& how) { return update_stream(gram, X, &how); });
    test("gram_stream_finish" + shape, 8 * d * d,
         [&](auto& how) { return fastfs_gram_stream_finish(gram, nullptr, &how, out.data()); });
    fastfs_stream_free(gram);
    std::vector<double> K(static_cast<std::size_t>(n * n), 0.0);
    for (std::int64_t i = 0; i < n; ++i) K[static_cast<std::size_t>(i * n + i)] = 1;
    std::vector<double> K2 = K, nu(labels.size());
    std::int64_t rank = 0;
    test("eigh" + shape, 0, [&](auto& how) { return fastfs_eigh(n, K2.data(), nu.data(), &how); });
    test("pencil" + shape, 0, [&](auto& how) { return fastfs_pencil(n, K2.data(), K.data(), nu.data(), &rank, &how); });

    std::vector<double> of_samples(labels.size());
    fastfs_manifest_result of_kernels = FASTFS_MANIFEST_RESULT_INIT;
    test("manifest_kernels" + shape, 0, [&](auto& how) {
        return fastfs_manifest_kernels(n, K.data(), K.data(), nullptr, &how, &of_kernels, owner());
    });

    for (const int keep : {0, 1}) {
        fastfs_manifest* manifest = nullptr;
        test("manifest_new" + shape, 0, [&](auto& how) { return fastfs_manifest_new(X, 1, keep, &how, &manifest); });
        for (const int accuracy : {FASTFS_MANIFEST_EXACT, FASTFS_MANIFEST_LOW_RANK, FASTFS_MANIFEST_LOW_RANK_HIGH}) {
            auto options = fastfs::default_manifest_options();
            options.accuracy = accuracy;
            options.rank = 5;
            const fastfs_manifest_scale scale = FASTFS_MANIFEST_SCALE_INIT;
            fastfs_manifest_result result = FASTFS_MANIFEST_RESULT_INIT;
            test("manifest_fit" + shape, 0, [&](auto& how) {
                return fastfs_manifest_fit(manifest, y, C, &options, &scale, 1, &how, &result, owner());
            });
        }
        fastfs_manifest_free(manifest);
    }

    fastfs_projse_result selection = FASTFS_PROJSE_RESULT_INIT;
    test("projse with labels" + shape, 0,
         [&](auto& how) { return fastfs_projse(X, nullptr, y, C, nullptr, &how, &selection, owner()); });
    test("projse without targets" + shape, 0,
         [&](auto& how) { return fastfs_projse(X, nullptr, nullptr, 0, nullptr, &how, &selection, owner()); });
    test("projse with Y" + shape, 0,
         [&](auto& how) { return fastfs_projse(X, X, nullptr, 0, nullptr, &how, &selection, owner()); });
    fastfs_projse_options with_given = FASTFS_PROJSE_OPTIONS_INIT;
    with_given.n_given = d / 3;
    with_given.center = 1;
    for (int beyond : {FASTFS_PROJSE_STOP, FASTFS_PROJSE_RESIDUAL}) {
        with_given.beyond = beyond;
        test("projse with given columns" + shape, 0, [&](auto& how) {
            const fastfs_status status = fastfs_projse(X, X, nullptr, 0, &with_given, &how, &selection, owner());
            return status == FASTFS_EINVAL && how.bytes_needed == nullptr ? FASTFS_OK : status;  // more than samples
        });
    }
    test("projse_label_scores" + shape, 8 * d,
         [&](auto& how) { return fastfs_projse_label_scores(X, y, 1, C, nullptr, &how, scores.data()); });
    fastfs_stream* sums = nullptr;
    test("projse_stream_new" + shape, 0,
         [&](auto& how) { return fastfs_projse_stream_new(0, d, FASTFS_PROJSE_ONE_VIEW, &how, &sums); });
    for (int chunk = 0; chunk < 2; ++chunk) {
        test("projse_update" + shape, 0, [&](auto& how) { return update_stream(sums, X, &how); });
    }
    test("projse_stream_finish" + shape, 0,
         [&](auto& how) { return fastfs_projse_stream_finish(sums, nullptr, 0, nullptr, &how, &selection, owner()); });
    fastfs_stream_free(sums);

    for (const int keep : {FASTFS_KEEP_NONE, FASTFS_KEEP_MANHATTAN, FASTFS_KEEP_SQUARED_EUCLIDEAN}) {
        fastfs_margin* margin = nullptr;
        const auto stage = fastfs::default_margin_options(
            genotypes && keep == FASTFS_KEEP_MANHATTAN ? FASTFS_SCALE_NONE : FASTFS_SCALE_STANDARD, keep);
        test("margin_new" + shape, 0, [&](auto& how) { return fastfs_margin_new(X, &stage, &how, &margin); });
        for (int method = FASTFS_RELIEF; method <= FASTFS_MU_RELIEF; ++method) {
            auto options = fastfs::default_relief_options();
            options.method = method;
            fastfs_relief_result result = FASTFS_RELIEF_RESULT_INIT;
            test("relief" + shape, 0,
                 [&](auto& how) { return fastfs_relief(margin, y, C, &options, &how, &result, owner()); });
        }
        auto options = fastfs::default_im4e_options();
        options.max_iter = 2;
        fastfs_im4e_result result = FASTFS_IM4E_RESULT_INIT;
        test("im4e" + shape, 0, [&](auto& how) { return fastfs_im4e(margin, y, C, &options, &how, &result, owner()); });
        fastfs_margin_metric metric = FASTFS_MARGIN_METRIC_INIT;
        std::copy(result.weights, result.weights + d, scores.begin());
        metric.weights = scores.data();
        test("margin_distances" + shape, 8 * n * C,
             [&](auto& how) { return fastfs_margin_distances(margin, y, C, &metric, X, &how, out.data()); });
        const fastfs::matrix few(values.data(), 2, d);
        test("margin_explain" + shape, 8 * 2 * d,
             [&](auto& how) { return fastfs_margin_explain(margin, y, C, &metric, few.get(), y, &how, out.data()); });
        if (d <= 100) {  // many features take a time
            auto iteration = fastfs::default_immigrate_options();
            iteration.max_iter = 2;
            fastfs_fitted* fitted = nullptr;
            fastfs_immigrate_result made = FASTFS_IMMIGRATE_RESULT_INIT;
            test("immigrate_fit" + shape, 0,
                 [&](auto& how) { return fastfs_immigrate_fit(margin, y, C, &iteration, &how, &made, &fitted); });
            fastfs_fitted_free(fitted);
        }
        fastfs_margin_free(margin);
    }

    test("nearest_features" + shape, 160 * d,
         [&](auto& how) { return fastfs_nearest_features(X, 10, &how, lists.data(), out.data()); });
    for (const int graph : {FASTFS_GRAPH_DENSE, FASTFS_GRAPH_KNN, FASTFS_GRAPH_LISTS}) {
        auto options = fastfs::default_disc_options();
        options.graph = graph;
        const std::vector<fastfs_disc_set> sets(2, fastfs::disc_samples(samples, 5));
        fastfs_fitted* fitted = nullptr;
        fastfs_disc_result made[] = {FASTFS_DISC_RESULT_INIT, FASTFS_DISC_RESULT_INIT};
        test("disc_fit" + shape, 0,
             [&](auto& how) { return fastfs_disc_fit(sets.data(), 2, &options, &how, made, &fitted); });
        fastfs_fitted_free(fitted);
    }

    std::vector<std::int64_t> halves(labels.size());
    for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = i % 2;
    Comparison compared(halves.data());
    for (const int correlation : {FASTFS_PEARSON, FASTFS_SPEARMAN}) {
        compared.options.correlation = correlation;
        test("differential_correlation" + shape, 0, [&](auto& how) { return compared.call(X, halves.data(), how); });
    }

    for (const auto& [with_table, along] : {std::pair(false, 0), std::pair(true, 0), std::pair(true, 1)}) {
        auto scan = fastfs::default_interaction_options();
        scan.along = along;
        std::vector<double> numbers(labels.begin(), labels.end());
        scan.y_permutations = numbers.data();
        scan.n_labelings = 1;
        fastfs_interaction_result r = FASTFS_INTERACTION_RESULT_INIT;
        test("interaction_scan" + shape, 0, [&](auto& how) {
            return fastfs_interaction_scan(X, with_table ? X : nullptr, nullptr, numbers.data(), &scan, &how, &r,
                                           owner());
        });
    }

    auto options = fastfs::default_ikdr_options();
    options.max_iter = 2;
    options.max_inner = 5;
    for (const auto& kernels : {fastfs::ikdr_features(samples), fastfs::ikdr_matrices(K.data(), 1, n)}) {
        fastfs_fitted* fitted = nullptr;
        fastfs_ikdr_result made = FASTFS_IKDR_RESULT_INIT;
        test("ikdr_fit" + shape, 0,
             [&](auto& how) { return fastfs_ikdr_fit(&kernels, y, C, &options, &how, &made, &fitted); });
        fastfs_fitted_free(fitted);
    }
    const std::vector<double> uniform(static_cast<std::size_t>(n * C), 1.0 / static_cast<double>(n));
    double objective = 0;
    test("ikdr_evaluate" + shape, 8 * n * C, [&](auto& how) {
        return fastfs_ikdr_evaluate(fastfs::matrix(K.data(), n, n).get(), y, C, &options, uniform.data(), 1, &how,
                                    &objective, out.data());
    });
    const std::vector<std::int64_t> begins{0, 1}, columns{0};
    fastfs_ikdr_model model = FASTFS_IKDR_MODEL_INIT;
    model.n_kernels = 1;
    model.n_support = n;
    model.n_components = C;
    model.weights = model.deltas = model.scales = model.support = model.coefficients = model.means = uniform.data();
    model.begins = begins.data();
    model.features = columns.data();
    test("ikdr_embed" + shape, 8 * n * C, [&](auto& how) { return fastfs_ikdr_embed(&model, X, &how, out.data()); });
}

void test_genotypes(std::int64_t n, std::int64_t p, bool gaps) {
    constexpr std::int64_t C = 3;
    const std::string shape =
        " of " + std::to_string(n) + " x " + std::to_string(p) + " genotypes" + (gaps ? " with gaps" : "");
    const std::int64_t bytes = (n + 3) / 4;
    std::vector<std::uint8_t> values(static_cast<std::size_t>(bytes * p));
    std::mt19937 engine(1);
    for (auto& v : values) {
        v = static_cast<std::uint8_t>(engine());
        if (!gaps) v = static_cast<std::uint8_t>(v | (v & 0x55) << 1);
    }
    std::vector<std::int64_t> labels(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) labels[static_cast<std::size_t>(i)] = i % C;
    const auto* y = labels.data();
    std::vector<double> scores(static_cast<std::size_t>(p)), errors(scores), numbers(labels.begin(), labels.end());
    const auto samples = fastfs::matrix::genotypes(values.data(), n, p, bytes);
    for (const int keep : {FASTFS_KEEP_NONE, FASTFS_KEEP_MANHATTAN}) {
        fastfs_margin* margin = nullptr;
        auto stage = fastfs::default_margin_options(FASTFS_SCALE_NONE, keep);
        if (gaps) stage.missing = FASTFS_MISSING_IGNORE;
        test("margin_new" + shape, 0,
             [&](auto& how) { return fastfs_margin_new(samples.get(), &stage, &how, &margin); });
        for (int method = FASTFS_RELIEFF; method <= FASTFS_RRELIEFF; ++method) {
            for (const std::int64_t n_targets : {std::int64_t{0}, n / 3}) {
                auto options = fastfs::default_relief_options();
                options.method = method;
                options.n_targets = n_targets;
                if (method == FASTFS_RRELIEFF) {
                    options.target = FASTFS_TARGET_NUMBER;
                    options.y = numbers.data();
                }
                fastfs_relief_result result = FASTFS_RELIEF_RESULT_INIT;
                test("relief " + std::to_string(method) + shape, 0,
                     [&](auto& how) { return fastfs_relief(margin, y, C, &options, &how, &result, owner()); });
            }
        }
        fastfs_margin_free(margin);
    }
}

// Tables of so many rows that the memory per row exceeds the allowance for memory that doesn't grow with the data.
template <class T>
void test_many_rows(std::int64_t n, std::int64_t d) {
    constexpr std::int64_t size = sizeof(T);
    const std::string shape = " of many rows, " + std::string(size == 4 ? "floats" : "doubles");
    std::vector<T> values(static_cast<std::size_t>(n * d));
    std::vector<std::int64_t> labels(static_cast<std::size_t>(n)), begins(labels.size() + 1, 0), columns,
        lists(static_cast<std::size_t>(d));
    std::vector<T> stored;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(10 + static_cast<double>(i * i % 97));
    for (std::int64_t r = 0; r < n; ++r) {
        labels[static_cast<std::size_t>(r)] = r % 2;
        if (r % 50 == 0) {
            columns.push_back(r / 50 % d);
            stored.push_back(1);
        }
        begins[static_cast<std::size_t>(r + 1)] = static_cast<std::int64_t>(columns.size());
    }
    const fastfs::matrix samples(values.data(), n, d);
    const fastfs_matrix* X = samples.get();
    fastfs_matrix sparse = *X;
    sparse.storage = FASTFS_CSR;
    sparse.values = stored.data();
    sparse.indptr = begins.data();
    sparse.indices = columns.data();
    sparse.index_bits = 64;
    std::vector<double> out(static_cast<std::size_t>(d * d)), scores(static_cast<std::size_t>(d));
    for (const fastfs_matrix* one : {X, static_cast<const fastfs_matrix*>(&sparse)}) {
        const std::string which = (one == X ? "" : " that are sparse") + shape;
        test("affinity" + which, d * d * size,
             [&](auto& how) { return fastfs_affinity(one, nullptr, &how, out.data()); });
        fastfs_stream* gram = nullptr;
        fastfs::check(fastfs_gram_stream_new(d, nullptr, &gram));
        test("gram_update" + which, 0, [&](auto& how) { return update_stream(gram, one, &how); });
        fastfs_stream_free(gram);
        test("nearest_features" + which, 16 * d,
             [&](auto& how) { return fastfs_nearest_features(one, 1, &how, lists.data(), out.data()); });
    }
    Comparison compared(labels.data());
    test("differential_correlation" + shape, 0, [&](auto& how) { return compared.call(X, labels.data(), how); });
    fastfs_manifest* manifest = nullptr;
    test("manifest_new" + shape, 0, [&](auto& how) { return fastfs_manifest_new(X, 1, 0, &how, &manifest); });
    const fastfs_manifest_scale scale = FASTFS_MANIFEST_SCALE_INIT;
    fastfs_manifest_result result = FASTFS_MANIFEST_RESULT_INIT;
    test("manifest_fit" + shape, 0, [&](auto& how) {
        return fastfs_manifest_fit(manifest, labels.data(), 2, nullptr, &scale, 1, &how, &result, owner());
    });
    fastfs_manifest_free(manifest);
}

// States that take blocks of rows.
template <class T>
void test_states(std::int64_t n, std::int64_t d, std::int64_t stored_of_row) {
    const bool is_sparse = stored_of_row < d;
    const std::string shape = std::string(is_sparse ? " of sparse blocks" : " of blocks") + ", " + std::to_string(n) +
                              " x " + std::to_string(d) + (sizeof(T) == 4 ? ", floats" : ", doubles");
    std::vector<T> values;
    std::vector<std::int64_t> begins(1, 0), columns, groups;
    for (std::int64_t r = 0; r < n; ++r) {
        groups.push_back(r % 2);
        for (std::int64_t k = 0; k < stored_of_row; ++k) {
            columns.push_back(k * (d / stored_of_row) + (is_sparse ? r % (d / stored_of_row) : 0));
            values.push_back(static_cast<T>(1 + (r * r + 3 * k + r * k) % 97));
        }
        begins.push_back(static_cast<std::int64_t>(columns.size()));
    }
    const fastfs::matrix samples(values.data(), n, stored_of_row);
    fastfs_matrix X = *samples.get();
    if (is_sparse) {
        X.n_cols = d;
        X.storage = FASTFS_CSR;
        X.indptr = begins.data();
        X.indices = columns.data();
        X.index_bits = 64;
    }
    std::vector<double> out(static_cast<std::size_t>(d));
    const std::int64_t classes[] = {0, 1};

    fastfs_stream* sums = nullptr;
    test("projse_stream_new, groups" + shape, 0,
         [&](auto& how) { return fastfs_projse_stream_new(2, d, FASTFS_PROJSE_GROUPS, &how, &sums); });
    test("projse_stream_update, groups" + shape, 0,
         [&](auto& how) { return update_stream(sums, &X, &how, groups.data()); });
    fastfs_projse_result selection = FASTFS_PROJSE_RESULT_INIT;
    test("projse_stream_finish, groups" + shape, 0,
         [&](auto& how) { return fastfs_projse_stream_finish(sums, classes, 2, nullptr, &how, &selection, owner()); });
    fastfs_stream_free(sums);

    for (const auto& [accuracy, name] : std::map<int, std::string>{{FASTFS_MANIFEST_EXACT, ", exact"},
                                                                   {FASTFS_MANIFEST_DOMAINS, ", domains"},
                                                                   {FASTFS_MANIFEST_LOW_RANK, ", low rank"}}) {
        auto options = fastfs::default_manifest_options();
        options.accuracy = accuracy;
        const std::string which = name + shape;
        fastfs_stream* of_groups = nullptr;
        test("manifest_stream_new" + which, 0,
             [&](auto& how) { return fastfs_manifest_stream_new(d, 2, &options, &how, &of_groups); });
        test("manifest_stream_update" + which, 0,
             [&](auto& how) { return update_stream(of_groups, &X, &how, groups.data()); });
        const fastfs_manifest_scale scale = FASTFS_MANIFEST_SCALE_INIT;
        fastfs_manifest_result result = FASTFS_MANIFEST_RESULT_INIT;
        test("manifest_stream_finish" + which, 0, [&](auto& how) {
            return fastfs_manifest_stream_finish(of_groups, classes, 2, &options, &scale, 1, &how, &result, owner());
        });
        fastfs_stream_free(of_groups);
    }

    auto options = fastfs::default_relief_options();
    options.n_targets = n / 2;
    fastfs_stream* stream = nullptr;
    test("relief_stream_new" + shape, 0, [&](auto& how) {
        return fastfs_relief_stream_new(n, d, groups.data(), 2, FASTFS_SCALE_RANGE, &options, &how, &stream);
    });
    fastfs_block block = FASTFS_BLOCK_INIT;
    block.X = &X;
    auto update = [&](auto& how) { return fastfs_stream_update(stream, &block, &how); };
    test("relief_stream_update, first pass" + shape, 0, update);
    test("relief_stream_next" + shape, 0, [&](auto& how) { return fastfs_stream_next(stream, &how); });
    test("relief_stream_update, second pass" + shape, 0, update);
    fastfs_relief_result found = FASTFS_RELIEF_RESULT_INIT;
    test("relief_stream_finish" + shape, 0,
         [&](auto& how) { return fastfs_relief_stream_finish(stream, nullptr, 0, &how, &found, owner()); });
    fastfs_stream_free(stream);
}

// Tests a group with a sketch, and a group with stored rows.
void test_disc_stream(std::int64_t n, std::int64_t p) {
    const std::string shape = " of " + std::to_string(n) + " x " + std::to_string(p);
    std::vector<float> values(static_cast<std::size_t>(n * p));
    std::vector<std::int64_t> labels;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * i % 97);
    for (std::int64_t r = 0; r < n; ++r) labels.push_back(r < n / 4 ? 0 : 1);
    const fastfs::matrix X(values.data(), n, p);
    auto options = fastfs::default_disc_options();
    options.graph = FASTFS_GRAPH_KNN;
    options.n_neighbors = options.bandwidth_neighbors = 5;
    fastfs_stream* stream = nullptr;
    test("disc_stream_new" + shape, 0,
         [&](auto& how) { return fastfs_disc_stream_new(n, p, labels.data(), 2, &options, &how, &stream); });
    fastfs_block block = FASTFS_BLOCK_INIT;
    block.X = X.get();
    fastfs_stream_state state = FASTFS_STREAM_STATE_INIT;
    fastfs::check(fastfs_stream_get(stream, &state));
    for (std::int32_t pass = 1; pass <= state.n_passes; ++pass) {
        const std::string which = ", pass " + std::to_string(pass) + shape;
        test("disc_stream_update" + which, 0, [&](auto& how) { return fastfs_stream_update(stream, &block, &how); });
        if (pass == state.n_passes) break;
        test("disc_stream_next" + which, 0, [&](auto& how) { return fastfs_stream_next(stream, &how); });
    }
    test("disc_stream_finish" + shape, 0, [&](auto& how) { return fastfs_disc_stream_finish(stream, &how); });
    fastfs_stream_free(stream);
}

void test_snps(std::int64_t n, std::int64_t p, std::int64_t n_labelings) {
    const std::string shape = " of " + std::to_string(n) + " x " + std::to_string(p);
    const std::int64_t bytes = (n + 3) / 4;
    std::vector<std::uint8_t> bits(static_cast<std::size_t>(bytes * p));
    for (std::size_t k = 0; k < bits.size(); ++k) bits[k] = static_cast<std::uint8_t>(k * k * 2654435761U >> 13);
    const auto G = fastfs::matrix::genotypes(bits.data(), n, p, bytes);
    std::vector<std::int64_t> labels(static_cast<std::size_t>(n)), labelings;
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = i % 2;
    for (std::int64_t b = 0; b < n_labelings; ++b) labelings.insert(labelings.end(), labels.begin(), labels.end());
    auto options = fastfs::default_snp_pairs_options();
    options.labelings = labelings.data();
    options.n_labelings = n_labelings;
    fastfs_snp_pairs_result result = FASTFS_SNP_PAIRS_RESULT_INIT;
    test("snp_pairs" + shape, 0,
         [&](auto& how) { return fastfs_snp_pairs(G.get(), labels.data(), &options, &how, &result, owner()); });
    const std::vector<double> y(labels.begin(), labels.end()), permuted(labelings.begin(), labelings.end());
    auto of_numbers = fastfs::default_snp_pairs_options();
    of_numbers.y = y.data();
    of_numbers.y_permutations = permuted.data();
    of_numbers.n_labelings = n_labelings;
    std::vector<std::int64_t> some(static_cast<std::size_t>(std::min<std::int64_t>(p, 300)));
    std::iota(some.begin(), some.end(), 0);
    of_numbers.snps = some.data();
    of_numbers.n_snps = static_cast<std::int64_t>(some.size());
    std::vector<double> covariates(y.size());
    for (std::size_t i = 0; i < y.size(); ++i) covariates[i] = static_cast<double>(i * i % 31);
    of_numbers.covariates = covariates.data();
    of_numbers.n_covariates = 1;
    test("snp_pairs of numbers" + shape, 0,
         [&](auto& how) { return fastfs_snp_pairs(G.get(), nullptr, &of_numbers, &how, &result, owner()); });
    const std::vector<std::int64_t> positions(static_cast<std::size_t>(p));
    const std::vector<double> scores(positions.size());
    auto of_clumps = fastfs::default_ld_clumps_options();
    of_clumps.positions = positions.data();
    fastfs_ld_clumps_result clumped = FASTFS_LD_CLUMPS_RESULT_INIT;
    test("ld_clumps" + shape, 0,
         [&](auto& how) { return fastfs_ld_clumps(G.get(), scores.data(), &of_clumps, &how, &clumped, owner()); });
}

// The engine's own figures, for the calls that use it.
void test_sparse_pairs(bool csr, std::int64_t n, std::int64_t d, std::int64_t step) {
    const std::int64_t lines = csr ? n : d, length = csr ? d : n;
    std::vector<std::int64_t> indptr{0}, indices, features, rows;
    for (std::int64_t o = 0; o < lines; ++o) {
        for (std::int64_t i = length - 1 - o % step; i >= 0; i -= step) indices.push_back(i);  // not in order
        indptr.push_back(static_cast<std::int64_t>(indices.size()));
    }
    const std::vector<double> values(indices.size(), 1.0), factor(static_cast<std::size_t>(d), -1.0);
    for (std::int64_t k = 0; k < d; ++k) features.push_back(k);
    for (std::int64_t i = 0; i < n; ++i) rows.push_back(n - 1 - i);
    fastfs_matrix m = FASTFS_MATRIX_INIT;
    m.values = values.data();
    m.dtype = FASTFS_FLOAT64;
    m.n_rows = n;
    m.n_cols = d;
    m.storage = csr ? FASTFS_CSR : FASTFS_CSC;
    m.index_bits = 64;
    m.indices = indices.data();
    m.indptr = indptr.data();
    const fastfs::core::Matrix X(m);
    fastfs_run how = FASTFS_RUN_INIT;
    how.n_threads = n_threads;
    fastfs::core::Run run(how);
    std::vector<double> g(static_cast<std::size_t>(n * n)), sums(static_cast<std::size_t>(d));
    std::int64_t before = 0;
    const auto check = [&](const char* what, std::int64_t said) {
        if (peak - before > said) {
            ++failures;
            std::fprintf(stderr, "%s of %lld x %lld on %d threads took %lld bytes and had said %lld\n", what,
                         static_cast<long long>(n), static_cast<long long>(d), n_threads,
                         static_cast<long long>(peak - before), static_cast<long long>(said));
        }
        before = live;
        peak = before;
    };
    check("nothing", peak);
    const fastfs::core::SparseFeatures data(X, features, factor, run);
    check("SparseFeatures", fastfs::core::SparseFeatures::memory(X, d, n_threads));
    const std::int64_t said = fastfs::core::SparseFeatures::sums_memory(X, d, true, n_threads);
    data.pair_sums(rows, 0, n, g.data(), n, run);
    check("pair_sums", said);
    data.feature_sums(rows, 0, n, g.data(), n, sums.data(), run);
    check("feature_sums", said);
    const std::vector<fastfs::core::WeightedPair> pairs(1000, {0, 1, 1.0});
    before = live;
    data.feature_sums(pairs, sums.data(), run);
    check("feature_sums of a list", said);
}

// An update of sums that runs out of memory, at any allocation, leaves the sums unchanged.
void test_updates_without_memory(const fastfs_matrix* X, const std::string& name) {
    std::vector<std::int64_t> groups(static_cast<std::size_t>(X->n_rows));
    for (std::size_t r = 0; r < groups.size(); ++r) groups[r] = static_cast<std::int64_t>(r % 3);
    fastfs_run how = FASTFS_RUN_INIT;
    how.n_threads = n_threads;
    for (const int accuracy : {FASTFS_MANIFEST_EXACT, FASTFS_MANIFEST_LOW_RANK}) {
        fastfs_manifest_options options = FASTFS_MANIFEST_OPTIONS_INIT;
        options.accuracy = accuracy;
        options.rank = 2;
        fastfs_stream* sums = nullptr;
        const auto update = [&] { return update_stream(sums, X, &how, groups.data()); };
        const auto start = [&](const std::vector<char>& bytes) {
            fastfs_stream_free(sums);
            fastfs::check(fastfs_manifest_stream_new(X->n_cols, 3, &options, &how, &sums));
            fastfs::check(load_stream(sums, bytes));
        };
        fastfs::check(fastfs_manifest_stream_new(X->n_cols, 3, &options, &how, &sums));
        fastfs::check(update());
        const std::vector<char> before = bytes_of(sums);
        fastfs::check(update());
        const std::vector<char> after = bytes_of(sums);
        start(before);
        std::int64_t n_failed = 0;
        for (;; ++n_failed) {
            left = n_failed;
            const fastfs_status status = update();
            const bool is_short = left.exchange(-1) < 0;
            const std::vector<char> now = bytes_of(sums);
            // The thread pool can lack memory without harm: the caller then works alone.
            if (status == FASTFS_OK ? now != after : status != FASTFS_ENOMEM || now != before || !is_short) {
                ++failures;
                std::fprintf(stderr, "sums of %s with %d threads: status %d without block %lld, and other sums\n",
                             name.c_str(), n_threads, status, static_cast<long long>(n_failed));
                break;
            }
            if (!is_short) break;
            start(before);
        }
        if (n_failed < 3) {
            ++failures;
            std::fprintf(stderr, "an update of %s asked for %lld blocks\n", name.c_str(),
                         static_cast<long long>(n_failed));
        }
        fastfs_stream_free(sums);
    }
}

void test_updates_without_memory() {
    constexpr std::int64_t n = 600, d = 300;
    std::mt19937 engine(3);
    std::vector<double> values(n * d);
    for (double& value : values) value = std::normal_distribution<double>()(engine);
    test_updates_without_memory(fastfs::matrix(values.data(), n, d).get(), "rows");
    for (const bool ascending : {true, false}) {
        std::vector<std::int64_t> indptr{0}, indices;
        for (std::int64_t r = 0; r < n; ++r) {
            const auto first = static_cast<std::ptrdiff_t>(indices.size());
            for (std::int64_t c = r % 5; c < d; c += 5) indices.push_back(c);
            if (!ascending) std::reverse(indices.begin() + first, indices.end());
            indptr.push_back(static_cast<std::int64_t>(indices.size()));
        }
        const auto X = fastfs::matrix::csr(values.data(), indices.data(), indptr.data(), n, d);
        test_updates_without_memory(X.get(), ascending ? "CSR" : "CSR out of order");
    }
}

}  // namespace

int main() {
    if (fastfs_isa() == nullptr) {
        std::printf("skipped: %s\n", fastfs_last_error());
        return 77;
    }
    fastfs::check(fastfs_link_blas());
    for (const int threads : {1, 3}) {
        n_threads = threads;
        test_calls<double>(60, 400);
        test_calls<float>(60, 400);
        test_calls<float>(1000, 40);
        for (const bool gaps : {false, true}) {
            test_genotypes(60, 400, gaps);
            test_genotypes(60, 40000, gaps);
            test_genotypes(1000, 40, gaps);
        }
        test_genotypes(2000, 3, false);
        test_calls<float>(60, 400, true);
        test_calls<float>(1000, 40, true);
        test_calls<double>(60, 400, true);
        test_many_rows<double>(1000000, 4);
        test_many_rows<float>(1000000, 4);
        test_states<double>(60, 700, 700);
        test_states<float>(1000, 40, 40);
        test_states<float>(1000, 400, 20);
        test_states<double>(3000, 40, 4);
        test_snps(100, 3000, 20);
        test_snps(20000, 200, 3);
        test_disc_stream(700, FASTFS_DISC_MOST_SUMS + 1);
        test_updates_without_memory();
        for (const bool csr : {true, false}) {
            test_sparse_pairs(csr, 40, 100000, 20);
            test_sparse_pairs(csr, 1000, 3000, 1000);
            test_sparse_pairs(csr, 3000, 30, 2);
        }
    }
    std::printf("%s: %d failures\n", fastfs_isa(), failures);
    return failures == 0 ? 0 : 1;
}
