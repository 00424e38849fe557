// Misuse of the C interface, for the address sanitizer: null pointers, negative sizes, structs of older and newer
// headers in blocks of exactly their size, BLAS tables that are incomplete, of the wrong kind or too late, kernels that
// return NaN. Also asks for the memory of calls.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// The symbols of the scipy-openblas32 wheel.
#define FASTFS_BLAS_SYMBOL(name) scipy_##name##_
#define FASTFS_BLAS_SET_THREADS scipy_openblas_set_num_threads
#define FASTFS_BLAS_GET_THREADS scipy_openblas_get_num_threads

#include "capi/abi.hpp"
#include "fastfs/fastfs.hpp"
#include "fastfs/link_blas.h"
#include "fastfs/testing.h"
#include "results.hpp"
#include "streams.hpp"

namespace {

int failures = 0;

void check(bool fine, const char* file, int line, const std::string& what) {
    if (fine) return;
    ++failures;
    std::fprintf(stderr, "%s:%d: %s (last error: %s)\n", file, line, what.c_str(), fastfs_last_error());
}
#define CHECK(condition) check(condition, __FILE__, __LINE__, #condition)

bool says(const char* text) { return std::strstr(fastfs_last_error(), text) != nullptr; }

constexpr std::int64_t n = 12, d = 6;

std::vector<double> made_up() {
    std::mt19937 engine(1);
    std::normal_distribution<double> normal;
    std::vector<double> values(n * d);
    for (double& v : values) v = normal(engine);
    return values;
}

const std::vector<double> values = made_up();
const std::vector<std::int64_t> labels{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
const fastfs_matrix X = *fastfs::matrix(values.data(), n, d).get();

// A model of I-KDR: the kernel of the first feature, and two samples.
struct OneKernel {
    const std::vector<std::int64_t> begins{0, 1}, features{0};
    const std::vector<double> ones{1, 1};
    fastfs_ikdr_model model = FASTFS_IKDR_MODEL_INIT;

    OneKernel() {
        model.n_kernels = model.n_components = 1;
        model.n_support = 2;
        model.begins = begins.data();
        model.features = features.data();
        model.weights = model.deltas = model.means = model.scales = model.support = model.coefficients = ones.data();
    }
    OneKernel(const OneKernel&) = delete;  // model points into this one
    OneKernel& operator=(const OneKernel&) = delete;
};

// ---- BLAS tables ----------------------------------------------------------------------------------------------------

fastfs_blas linked_table() {
    fastfs_blas table{};
    table.struct_size = sizeof table;
    table.integer_bits = 32;
    table.set_num_threads = FASTFS_BLAS_SET_THREADS;
    table.get_num_threads = FASTFS_BLAS_GET_THREADS;
#define SET(name) table.name = FASTFS_BLAS_SYMBOL(name)
    SET(sgemm), SET(dgemm), SET(dsyrk), SET(dsymv), SET(dtrmm), SET(dpotrf), SET(dpocon), SET(dsygst);
    SET(dtrsm), SET(dsytrd), SET(dstedc), SET(dsteqr), SET(dsyevr);
#undef SET
    return table;
}

// A routine as a build with 64-bit integers has it.
void long_dpotrf(const char*, const fastfs_blas_int*, double*, const fastfs_blas_int*, fastfs_blas_int* info) {
    const std::int64_t fine = 0;
    std::memcpy(info, &fine, sizeof fine);
}

void test_tables_before_registration() {
    CHECK(fastfs_register_blas(nullptr) == FASTFS_EINVAL && says("null"));
    const fastfs_blas good = linked_table();
    for (std::size_t place = offsetof(fastfs_blas, sgemm); place < sizeof good; place += sizeof(void*)) {
        fastfs_blas half = good;
        std::memset(reinterpret_cast<char*>(&half) + place, 0, sizeof(void*));
        CHECK(fastfs_register_blas(&half) == FASTFS_EINVAL && says("empty entry"));
    }
    fastfs_blas wrong = good;
    wrong.get_num_threads = nullptr;
    CHECK(fastfs_register_blas(&wrong) == FASTFS_EINVAL && says("both"));
    wrong = good;
    wrong.integer_bits = 64;
    CHECK(fastfs_register_blas(&wrong) == FASTFS_EINVAL && says("32-bit integers"));
    wrong = good;
    wrong.dpotrf = long_dpotrf;
    CHECK(fastfs_register_blas(&wrong) == FASTFS_EINVAL &&
          says("the routines of the table have 64-bit ones: link the LP64 build"));
    for (const std::size_t size : {std::size_t{0}, sizeof good - 8, std::size_t{1} << 40}) {
        wrong = good;
        wrong.struct_size = size;
        CHECK(fastfs_register_blas(&wrong) == FASTFS_EINVAL && says("the BLAS table must have"));
    }
    std::vector<double> A(9, 1.0), w(3);
    CHECK(fastfs_eigh(3, A.data(), w.data(), nullptr) == FASTFS_EINVAL && says("no BLAS is registered"));
}

void test_tables_after_registration() {
    struct {
        fastfs_blas known;
        void* later;
    } newer{linked_table(), nullptr};
    newer.known.struct_size = sizeof newer;
    CHECK(fastfs_register_blas(&newer.known) == FASTFS_OK);
    CHECK(fastfs_link_blas() == FASTFS_OK);  // the same once more
    fastfs_blas other = linked_table();
    other.set_num_threads = nullptr;
    other.get_num_threads = nullptr;
    CHECK(fastfs_register_blas(&other) == FASTFS_EEXIST && says("another BLAS is registered"));
    std::vector<double> A{2, 0, 0, 3}, w(2);  // who came too late goes on
    CHECK(fastfs_eigh(2, A.data(), w.data(), nullptr) == FASTFS_OK && w[0] == 2 && w[1] == 3);
    bool thrown = false;
    try {
        fastfs::check(fastfs_register_blas(&other));
    } catch (const std::logic_error&) {
        thrown = true;
    }
    CHECK(thrown);
}

// ---- options by name ------------------------------------------------------------------------------------------------

void test_fields() {
    CHECK(fastfs_fields(nullptr, 0) == nullptr);
    CHECK(fastfs_fields("fastfs_run", 0) == nullptr);
    CHECK(fastfs_fields("fastfs_relief_options", -1) == nullptr);
    CHECK(fastfs_fields("fastfs_relief_options", INT32_MAX) == nullptr);
    const fastfs_field* band = nullptr;
    const fastfs_field* y = nullptr;
    std::int32_t number = 0;
    while (const fastfs_field* field = fastfs_fields("fastfs_relief_options", number)) {
        ++number;
        if (std::string(field->name) == "dead_band") band = field;
        if (std::string(field->name) == "y") y = field;
    }
    CHECK(number == 13 && band && y);
    CHECK(band->struct_size == sizeof(fastfs_field) && band->type == FASTFS_DOUBLE && band->n_words == 0);
    CHECK(band->offset == offsetof(fastfs_relief_options, dead_band) && band->sizes[0] == nullptr);
    CHECK(*static_cast<const double*>(band->initial) == 0 && band->low == 0 && std::isfinite(band->high));
    CHECK(y->type == FASTFS_DOUBLES && std::string(y->sizes[0]) == "n_rows" && y->sizes[1] == nullptr);
    const fastfs_field* method = fastfs_fields("fastfs_relief_options", 0);
    CHECK(method->type == FASTFS_INT32 && method->n_words == 7 && std::string(method->words[1]) == "relieff" &&
          method->values[1] == FASTFS_RELIEFF);
}

// ---- null pointers and negative sizes -------------------------------------------------------------------------------

void test_null() {
    CHECK(fastfs_affinity(nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_affinity(&X, nullptr, nullptr, nullptr) == FASTFS_EINVAL && says("out must not be null"));
    CHECK(fastfs_affinity_product(nullptr, nullptr, nullptr, 1, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_affinity_product(&X, nullptr, nullptr, 1, nullptr, nullptr) == FASTFS_EINVAL &&
          says("V must not be null"));
    CHECK(fastfs_gram_stream_new(3, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_gram_stream_finish(nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_eigh(3, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_pencil(3, nullptr, nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_manifest_new(nullptr, 1, 0, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_manifest_plan_fit(nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_manifest_fit(nullptr, nullptr, 2, nullptr, nullptr, 1, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_manifest_mean_scores(2, 2, 0, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_manifest_kernels(2, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_manifest_stream_new(3, 2, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_manifest_stream_finish(nullptr, nullptr, 2, nullptr, nullptr, 1, nullptr, nullptr, nullptr) ==
          FASTFS_EINVAL);
    CHECK(fastfs_projse(nullptr, nullptr, nullptr, 0, nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_projse(&X, nullptr, labels.data(), 2, nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_projse_label_scores(nullptr, labels.data(), 1, 2, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_projse_label_scores(&X, nullptr, 1, 2, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_projse_label_scores(&X, labels.data(), 1, 2, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_projse_kernels(1, 1, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_projse_stream_new(1, 1, 0, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_projse_stream_finish(nullptr, nullptr, 0, nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_margin_new(nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_margin_scaling(nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_relief(nullptr, nullptr, 2, nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_relief_stream_new(4, 2, nullptr, 2, 0, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_relief_stream_finish(nullptr, nullptr, 0, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_im4e(nullptr, nullptr, 2, nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_immigrate_fit(nullptr, nullptr, 2, nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_immigrate_pairs(2, 1, nullptr, nullptr, 0, 1, nullptr, nullptr, nullptr, nullptr, nullptr) ==
          FASTFS_EINVAL);
    CHECK(fastfs_margin_distances(nullptr, nullptr, 2, nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_margin_explain(nullptr, nullptr, 2, nullptr, nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_nearest_features(nullptr, 1, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_nearest_features(&X, 1, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_disc_fit(nullptr, 2, nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_disc_stream_new(3, 4, nullptr, 2, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_disc_stream_finish(nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_disc_cuts(nullptr, 2, nullptr, labels.data(), 1, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_ikdr_fit(nullptr, nullptr, 2, nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_run_limits(nullptr, nullptr, nullptr) == FASTFS_OK);
    CHECK(fastfs_ikdr_evaluate(nullptr, nullptr, 2, nullptr, nullptr, 1, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_ikdr_prices(nullptr, nullptr, 2, nullptr, nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_ikdr_embed(nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_differential_correlation(nullptr, labels.data(), nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_differential_correlation(&X, nullptr, nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_differential_correlation(&X, labels.data(), nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_interaction_scan(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) ==
          FASTFS_EINVAL);
    CHECK(fastfs_interaction_scan(&X, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL &&
          says("one of labels and y must be null"));
    CHECK(fastfs_snp_pairs(nullptr, labels.data(), nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_snp_pairs(&X, labels.data(), nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL &&
          says("(FASTFS_GENOTYPE); got storage 0"));
    CHECK(fastfs_ld_clumps(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_check_matrix(nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_exp_seconds(FASTFS_FLOAT64, 8, 1, nullptr) == FASTFS_EINVAL);
    fastfs_manifest_free(nullptr);
    fastfs_margin_free(nullptr);
    fastfs_fitted_free(nullptr);

    fastfs_matrix empty = X;
    empty.values = nullptr;
    std::vector<double> out(d * d);
    CHECK(fastfs_affinity(&empty, nullptr, nullptr, out.data()) == FASTFS_EINVAL &&
          says("values of X must not be null"));
}

void test_negative_sizes() {
    std::vector<double> out(d * d);
    std::vector<std::int64_t> indices(d * d);
    for (const std::int64_t size : {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
        for (const auto member : {&fastfs_matrix::n_rows, &fastfs_matrix::n_cols}) {
            fastfs_matrix wrong = X;
            wrong.*member = size;
            CHECK(fastfs_affinity(&wrong, nullptr, nullptr, out.data()) == FASTFS_EINVAL && says("at least one"));
        }
        fastfs_stream* gram = nullptr;
        CHECK(fastfs_gram_stream_new(size, nullptr, &gram) == FASTFS_EINVAL && gram == nullptr);
        CHECK(fastfs_affinity_product(&X, nullptr, out.data(), size, nullptr, out.data()) == FASTFS_EINVAL);
        CHECK(fastfs_eigh(size, out.data(), out.data(), nullptr) == FASTFS_EINVAL);
        std::int64_t rank = 0;
        CHECK(fastfs_pencil(size, out.data(), out.data(), out.data(), &rank, nullptr) == FASTFS_EINVAL);
        fastfs_manifest* manifest = nullptr;
        CHECK(fastfs_manifest_new(&X, size, 0, nullptr, &manifest) == FASTFS_EINVAL && manifest == nullptr);
        auto exact = fastfs::default_manifest_options();
        exact.accuracy = FASTFS_MANIFEST_EXACT;
        fastfs_stream* of_groups = nullptr;
        CHECK(fastfs_manifest_stream_new(size, 2, &exact, nullptr, &of_groups) == FASTFS_EINVAL && !of_groups);
        CHECK(fastfs_manifest_stream_new(d, size, &exact, nullptr, &of_groups) == FASTFS_EINVAL && !of_groups);
        CHECK(fastfs_manifest_kernels(size, out.data(), out.data(), nullptr, nullptr, nullptr, nullptr) ==
              FASTFS_EINVAL);
        CHECK(fastfs_projse_kernels(size, 1, out.data(), out.data(), out.data(), nullptr, nullptr, nullptr, nullptr) ==
              FASTFS_EINVAL);
        fastfs_stream* sums = nullptr;
        CHECK(fastfs_projse_stream_new(1, size, 0, nullptr, &sums) == FASTFS_EINVAL && sums == nullptr);
        CHECK(fastfs_nearest_features(&X, size, nullptr, indices.data(), out.data()) == FASTFS_EINVAL);
        CHECK(fastfs_immigrate_pairs(size, 1, out.data(), out.data(), 0, 1, nullptr, indices.data(), indices.data(),
                                     out.data(), &rank) == FASTFS_EINVAL);
        CHECK(fastfs_disc_fit(nullptr, size, nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
        fastfs_margin* margin = nullptr;
        CHECK(fastfs_margin_new(&X, nullptr, nullptr, &margin) == FASTFS_OK);
        fastfs_relief_result result = FASTFS_RELIEF_RESULT_INIT;
        fastfs_fitted* fitted = nullptr;
        CHECK(fastfs_relief(margin, labels.data(), size, nullptr, nullptr, &result, &fitted) == FASTFS_EINVAL);
        fastfs_im4e_result weights = FASTFS_IM4E_RESULT_INIT;
        CHECK(fastfs_im4e(margin, labels.data(), size, nullptr, nullptr, &weights, &fitted) == FASTFS_EINVAL);
        fastfs_immigrate_result of_immigrate = FASTFS_IMMIGRATE_RESULT_INIT;
        CHECK(fastfs_immigrate_fit(margin, labels.data(), size, nullptr, nullptr, &of_immigrate, &fitted) ==
                  FASTFS_EINVAL &&
              fitted == nullptr);
        fastfs_margin_free(margin);

        const fastfs::matrix samples(values.data(), n, d);
        fastfs_disc_result of_sets[] = {FASTFS_DISC_RESULT_INIT, FASTFS_DISC_RESULT_INIT};
        for (const auto member : {&fastfs_disc_options::bandwidth_neighbors, &fastfs_disc_options::n_neighbors,
                                  &fastfs_disc_options::n_vectors}) {
            const std::vector<fastfs_disc_set> sets(2, fastfs::disc_samples(samples, 2));
            auto options = fastfs::default_disc_options();
            options.*member = size;
            CHECK(fastfs_disc_fit(sets.data(), 2, &options, nullptr, of_sets, &fitted) == FASTFS_EINVAL && !fitted);
        }
        const std::vector<fastfs_disc_set> sets(2, fastfs::disc_samples(samples, size));
        if (size != 0) {  // 0 components: as many as there can be, up to the default
            CHECK(fastfs_disc_fit(sets.data(), 2, nullptr, nullptr, of_sets, &fitted) == FASTFS_EINVAL && !fitted);
        }
        fastfs_ikdr_result of_ikdr = FASTFS_IKDR_RESULT_INIT;
        const auto features = fastfs::ikdr_features(samples);
        CHECK(fastfs_ikdr_fit(&features, labels.data(), size, nullptr, nullptr, &of_ikdr, &fitted) == FASTFS_EINVAL);
        for (const auto& kernels :
             {fastfs::ikdr_matrices(out.data(), size, d), fastfs::ikdr_matrices(out.data(), 1, size)}) {
            CHECK(fastfs_ikdr_fit(&kernels, labels.data(), 2, nullptr, nullptr, &of_ikdr, &fitted) == FASTFS_EINVAL);
        }
        const double lambda = 0.1;
        for (const auto member :
             {&fastfs_ikdr_options::n_lambdas, &fastfs_ikdr_options::max_iter, &fastfs_ikdr_options::max_inner}) {
            auto options = fastfs::default_ikdr_options();
            options.lambdas = &lambda;
            options.*member = size;
            CHECK(fastfs_ikdr_fit(&features, labels.data(), 2, &options, nullptr, &of_ikdr, &fitted) == FASTFS_EINVAL);
        }
        CHECK(fitted == nullptr);
        const OneKernel of_one;
        for (const auto member :
             {&fastfs_ikdr_model::n_kernels, &fastfs_ikdr_model::n_support, &fastfs_ikdr_model::n_components}) {
            fastfs_ikdr_model model = of_one.model;
            model.*member = size;
            CHECK(fastfs_ikdr_embed(&model, &X, nullptr, out.data()) == FASTFS_EINVAL);
        }
    }
}

// ---- options of the RELIEF family
// ------------------------------------------------------------------------------------

void test_margin_options() {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> ones(n, 1.0), zeros(n * n), scores(d), y(values.begin(), values.begin() + n);
    const std::vector<std::int64_t> numbers(d, 0);
    fastfs_margin* margin = nullptr;
    const auto refused = [&](const char* what, auto&& change, const fastfs_matrix* of = & X) {
        auto o = fastfs::default_margin_options();
        change(o);
        check(fastfs_margin_new(of, &o, nullptr, &margin) == FASTFS_EINVAL && !margin && says(what), __FILE__, __LINE__,
              what);
    };
    for (const int wrong : {-1, 3}) {
        refused("FASTFS_SCALE_", [&](auto& o) { o.scaling = wrong; });
        refused("FASTFS_KEEP_", [&](auto& o) { o.keep = wrong; });
        refused("FASTFS_MISSING_", [&](auto& o) { o.missing = wrong; });
        refused("FASTFS_RAMP_", [&](auto& o) { o.ramp = wrong; });
    }
    for (const auto& [low, high] : {std::pair{-0.1, 1.0}, {0.5, 0.5}, {0.0, nan}, {nan, 1.0}}) {
        refused("a ramp must go from", [&, low = low, high = high](auto& o) {
            o.ramp = FASTFS_RAMP_GIVEN;
            o.ramp_low = low;
            o.ramp_high = high;
        });
    }
    refused("expected differences have no ramp", [](auto& o) {
        o.ramp = FASTFS_RAMP_DEVIATION;
        o.missing = FASTFS_MISSING_CLASS;
    });
    for (const std::int64_t wrong : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
        std::vector<std::int64_t> levels(numbers);
        levels[2] = wrong;
        refused(" for column 2", [&](auto& o) { o.levels = levels.data(); });
    }
    for (const double wrong : {0.0, -1.0, nan, 1e-300, 1e300}) {
        std::vector<double> weights(ones);
        weights[3] = wrong;
        refused(" for row 3", [&](auto& o) { o.sample_weights = weights.data(); });
        if (wrong == 0 || wrong == 1e-300) continue;
        std::vector<double> distances(zeros);
        distances[4 * n + 3] = distances[3 * n + 4] = wrong;
        refused(" between row 4 and row 3", [&](auto& o) { o.distances = distances.data(); });
    }
    for (const std::int64_t cell : {4 * n + 3, 3 * n + 4, 3 * n + 3}) {
        std::vector<double> distances(zeros);
        distances[cell] = 1;
        refused("distances must be", [&](auto& o) { o.distances = distances.data(); });
    }
    std::vector<std::int64_t> indptr(n + 1, 2), columns{0, 1};
    indptr[0] = 0;
    const fastfs::matrix sparse = fastfs::matrix::csr(values.data(), columns.data(), indptr.data(), n, d);
    refused("make it dense", [](auto& o) { o.scaling = FASTFS_SCALE_STANDARD; }, sparse.get());
    refused("make it dense", [](auto& o) { o.missing = FASTFS_MISSING_IGNORE; }, sparse.get());
    refused("make it dense", [](auto& o) { o.ramp = FASTFS_RAMP_DEVIATION; }, sparse.get());
    refused("make it dense", [&](auto& o) { o.levels = numbers.data(); }, sparse.get());
    refused("make it dense", [](auto& o) { o.keep = FASTFS_KEEP_SQUARED_EUCLIDEAN; }, sparse.get());

    auto by_class = fastfs::default_margin_options();
    by_class.missing = FASTFS_MISSING_CLASS;
    for (const bool of_class : {false, true}) {
        CHECK(fastfs_margin_new(&X, of_class ? &by_class : nullptr, nullptr, &margin) == FASTFS_OK);
        const auto relief_refused = [&](const char* what, auto&& change) {
            auto o = fastfs::default_relief_options();
            change(o);
            fastfs_relief_result result = FASTFS_RELIEF_RESULT_INIT;
            fastfs_fitted* fitted = nullptr;
            check(fastfs_relief(margin, labels.data(), 2, &o, nullptr, &result, &fitted) == FASTFS_EINVAL &&
                      says(what) && result.scores == nullptr && fitted == nullptr,
                  __FILE__, __LINE__, what);
        };
        const auto numeric = [&](fastfs_relief_options& o) {
            o.target = FASTFS_TARGET_NUMBER;
            o.y = y.data();
        };
        if (of_class) {
            relief_refused("unless y holds classes", numeric);
            relief_refused("missing must not be 'class' with n_targets", [](auto& o) { o.n_targets = 3; });
            fastfs_margin_free(margin);
            continue;
        }
        for (const int wrong : {-1, FASTFS_RRELIEFF + 1}) relief_refused("method", [&](auto& o) { o.method = wrong; });
        for (const int wrong : {-1, 1, 2}) {
            relief_refused("closed_form", [&](auto& o) { o.closed_form = wrong; });
            relief_refused("far must be", [&](auto& o) { o.far = wrong; });
            if (wrong != 1) relief_refused("radius", [&](auto& o) { o.radius = wrong; });
        }
        for (const std::int64_t wrong : {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
            relief_refused("n_neighbors", [&](auto& o) { o.n_neighbors = wrong; });
            relief_refused("n_targets", [&](auto& o) { o.n_targets = wrong == 0 ? n + 1 : wrong; });
        }
        for (const double wrong : {-1.0, nan, std::numeric_limits<double>::infinity()}) {
            relief_refused("dead_band", [&](auto& o) { o.dead_band = wrong; });
            relief_refused("sigma", [&](auto& o) { o.sigma = wrong; });
            const std::vector<double> priors{1, wrong};
            relief_refused("priors", [&](auto& o) { o.priors = priors.data(); });
            std::vector<double> numbers_of(y);
            if (wrong >= 0 || wrong != wrong) numbers_of[2] = wrong;
            if (numbers_of != y) {
                relief_refused("y must be finite numbers", [&](auto& o) {
                    numeric(o);
                    o.y = numbers_of.data();
                });
            }
        }
        for (const int wrong : {-1, 3}) relief_refused("FASTFS_TARGET_", [&](auto& o) { o.target = wrong; });
        relief_refused("for FASTFS_RRELIEFF", [](auto& o) { o.method = FASTFS_RRELIEFF; });
        relief_refused("for FASTFS_TARGET_SURVIVAL", [](auto& o) { o.target = FASTFS_TARGET_SURVIVAL; });
        relief_refused("for FASTFS_RELIEF", [&](auto& o) {
            numeric(o);
            o.method = FASTFS_RELIEF;
        });
        relief_refused("y must not be null", [](auto& o) { o.target = FASTFS_TARGET_NUMBER; });
        relief_refused("priors must be null", [&](auto& o) {
            numeric(o);
            o.priors = ones.data();
        });
        relief_refused("different values", [&](auto& o) {
            numeric(o);
            o.y = ones.data();
        });
        std::vector<double> times(n);
        for (std::int64_t i = 0; i < n; ++i) times[i] = static_cast<double>(i);
        for (const std::int32_t event : {-1, 0, 2}) {
            const std::vector<std::int32_t> events(n, event);
            relief_refused(event == 0 ? "events must hold 1" : "must hold 0 and 1", [&](auto& o) {
                o.method = FASTFS_RRELIEFF;
                o.target = FASTFS_TARGET_SURVIVAL;
                o.y = times.data();
                o.events = events.data();
            });
        }
        relief_refused("events must not be null", [&](auto& o) {
            o.method = FASTFS_RRELIEFF;
            o.target = FASTFS_TARGET_SURVIVAL;
            o.y = times.data();
        });

        std::vector<double> weights(d, 0.0);
        const auto use = [&](const std::vector<std::int64_t>& features, const double* w) {
            return fastfs_margin_use(margin, features.data(), static_cast<std::int64_t>(features.size()), w, nullptr);
        };
        CHECK(fastfs_margin_use(nullptr, numbers.data(), 1, nullptr, nullptr) == FASTFS_EINVAL && says("null"));
        CHECK(fastfs_margin_use(margin, nullptr, 1, nullptr, nullptr) == FASTFS_EINVAL && says("null"));
        CHECK(fastfs_margin_use(margin, numbers.data(), 0, nullptr, nullptr) == FASTFS_EINVAL && says("n_features"));
        CHECK(fastfs_margin_use(margin, numbers.data(), d + 1, nullptr, nullptr) == FASTFS_EINVAL);
        for (const auto& wrong : {std::vector<std::int64_t>{0, 0}, {1, 0}, {-1}, {d}}) {
            CHECK(use(wrong, nullptr) == FASTFS_EINVAL && says("in ascending order"));
        }
        CHECK(use({0, 2}, weights.data()) == FASTFS_EINVAL && says("has weight"));
        for (const double wrong : {-1.0, nan}) {
            weights[1] = wrong;
            CHECK(use({0, 2}, weights.data()) == FASTFS_EINVAL && says("weights must be"));
        }
        // A refused call leaves the handle unchanged.
        fastfs_relief_result result = FASTFS_RELIEF_RESULT_INIT;
        CHECK(fastfs_relief(margin, labels.data(), 2, nullptr, nullptr, &result, owner()) == FASTFS_OK);
        CHECK(result.scores[5] != 0);
        fastfs_margin_free(margin);
        margin = nullptr;
    }
}

// ---- sizes whose products leave 64 bits, and arrays of one value ----------------------------------------------------

// Asks for a call that no machine has memory for: it must be too much, or refused, never a small number.
template <class Call>
void test_too_large(const std::string& name, Call&& call) {
    std::int64_t bytes = 0;
    auto how = fastfs::default_run();
    how.n_threads = 1024;
    how.max_memory = std::int64_t{1} << 42;
    how.bytes_needed = &bytes;
    const fastfs_status status = call(how);
    check(status == FASTFS_EINVAL || (status == FASTFS_ENOMEM && bytes > how.max_memory), __FILE__, __LINE__, name);
}

void test_too_large_sizes() {
    const auto two_to = [](int power) { return std::int64_t{1} << power; };
    const double one = 1;
    std::vector<double> out(n * d * d);
    for (const auto& [rows, columns] : {std::pair{31, 28}, {30, 28}, {59, 0}, {1, 58}, {40, 20}, {0, 60}, {60, 0}}) {
        const std::string shape = " of 2^" + std::to_string(rows) + " x 2^" + std::to_string(columns);
        const fastfs::matrix large(&one, two_to(rows), two_to(columns));
        const fastfs_matrix* L = large.get();
        if (columns > 0) {
            test_too_large("affinity" + shape, [&](auto& how) { return fastfs_affinity(L, nullptr, &how, nullptr); });
            for (const std::int64_t k : {std::int64_t{1} << 27, std::int64_t{1} << 62}) {
                test_too_large("nearest_features" + shape,
                               [&, L = L](auto& how) { return fastfs_nearest_features(L, k, &how, nullptr, nullptr); });
            }
            for (const int graph : {FASTFS_GRAPH_DENSE, FASTFS_GRAPH_KNN, FASTFS_GRAPH_LISTS}) {
                auto options = fastfs::default_disc_options();
                options.graph = graph;
                options.n_neighbors = options.bandwidth_neighbors = two_to(61);
                options.n_vectors = std::numeric_limits<std::int64_t>::max();
                for (const std::int64_t components : {std::int64_t{20}, two_to(62)}) {
                    const std::vector<fastfs_disc_set> sets(2, fastfs::disc_samples(large, components));
                    test_too_large("disc_fit" + shape, [&](auto& how) {
                        return fastfs_disc_fit(sets.data(), 2, &options, &how, nullptr, nullptr);
                    });
                }
            }
        }
        test_too_large("affinity_product" + shape, [&, columns = columns](auto& how) {
            return fastfs_affinity_product(L, nullptr, nullptr, two_to(60 - columns), &how, nullptr);
        });
    }
    for (const auto& [rows, columns] : {std::pair{two_to(60), std::int64_t{1}},
                                        {std::numeric_limits<std::int64_t>::min(), 1},
                                        {d, std::numeric_limits<std::int64_t>::max()}}) {
        fastfs_matrix far = X;
        far.row_stride = rows;
        far.col_stride = columns;
        CHECK(fastfs_affinity(&far, nullptr, nullptr, out.data()) == FASTFS_EINVAL &&
              says("must reach less than 2^58 values"));
    }
    std::vector<double> A(d * d, 1e308), w(d);
    CHECK(fastfs_eigh(d, A.data(), w.data(), nullptr) == FASTFS_EINVAL && says("so large that eigenvalues overflow"));
    const fastfs::matrix tall(&one, two_to(40), 1);
    fastfs_margin* margin = nullptr;
    CHECK(fastfs_margin_new(tall.get(), nullptr, nullptr, &margin) == FASTFS_EINVAL && says("number of samples"));
    test_too_large("gram_stream_new", [&](auto& how) { return fastfs_gram_stream_new(400000000, &how, nullptr); });
    test_too_large("eigh", [&](auto& how) { return fastfs_eigh(400000000, nullptr, nullptr, &how); });
    const auto matrices = fastfs::ikdr_matrices(&one, two_to(62), n);
    test_too_large("ikdr_fit", [&](auto& how) {
        return fastfs_ikdr_fit(&matrices, labels.data(), 2, nullptr, &how, nullptr, nullptr);
    });
    const OneKernel of_one;
    for (const auto member :
         {&fastfs_ikdr_model::n_kernels, &fastfs_ikdr_model::n_support, &fastfs_ikdr_model::n_components}) {
        fastfs_ikdr_model model = of_one.model;
        model.*member = two_to(62);
        test_too_large("ikdr_embed", [&](auto& how) { return fastfs_ikdr_embed(&model, &X, &how, nullptr); });
    }

    // Ranks that vectors can't have are refused before the vectors are read.
    CHECK(fastfs_margin_new(&X, nullptr, nullptr, &margin) == FASTFS_OK);
    fastfs_margin_metric metric = FASTFS_MARGIN_METRIC_INIT;
    metric.values = metric.vectors = &one;
    for (const std::int64_t rank : {d + 1, two_to(61), std::numeric_limits<std::int64_t>::max()}) {
        metric.rank = rank;
        CHECK(fastfs_margin_distances(margin, labels.data(), 2, &metric, &X, nullptr, out.data()) == FASTFS_EINVAL &&
              says("rank"));
        CHECK(fastfs_margin_explain(margin, labels.data(), 2, &metric, &X, labels.data(), nullptr, out.data()) ==
                  FASTFS_EINVAL &&
              says("rank"));
        std::int64_t found = 0;
        CHECK(fastfs_immigrate_pairs(d, rank, &one, &one, 0, 1, nullptr, &found, &found, out.data(), &found) ==
                  FASTFS_EINVAL &&
              says("rank"));
    }
    // Few rows make small blocks.
    metric.weights = out.data();
    std::fill(out.begin(), out.end(), 1.0);
    std::vector<double> distances(2);
    const fastfs::matrix sample(values.data(), 1, d);
    CHECK(fastfs_margin_distances(margin, labels.data(), 2, &metric, sample.get(), nullptr, distances.data()) ==
          FASTFS_OK);
    fastfs_margin_free(margin);

    double seconds = 0;
    for (const int dtype : {FASTFS_FLOAT32, FASTFS_FLOAT64}) {
        CHECK(fastfs_exp_seconds(dtype, two_to(62), 1, &seconds) == FASTFS_ENOMEM);
    }
    fastfs_stream *sums = nullptr, *read = nullptr;
    CHECK(fastfs_projse_stream_new(1, 1, 0, nullptr, &sums) == FASTFS_OK);
    CHECK(fastfs_projse_stream_new(1, 1, 0, nullptr, &read) == FASTFS_OK);
    const double number = 1;
    const std::int64_t label = 0;
    CHECK(update_stream(sums, fastfs::matrix(&number, 1, 1).get(), nullptr, &label) == FASTFS_OK);
    const std::vector<char> saved = bytes_of(sums);
    std::vector<char> broken = saved;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    std::memcpy(broken.data() + broken.size() - 8, &nan, 8);
    CHECK(load_stream(read, broken) == FASTFS_EINVAL && says("got damaged ones") && rows_of(read) == 0);
    broken = saved;
    const std::int64_t two = 2;
    std::memcpy(broken.data() + kHeaderBytes + 8, &two, 8);  // labels of two rows, of one that there is
    CHECK(load_stream(read, broken) == FASTFS_EINVAL && says("got damaged ones") && rows_of(read) == 0);
    CHECK(load_stream(read, saved) == FASTFS_OK && rows_of(read) == 1);
    fastfs_stream_free(sums);
    fastfs_stream_free(read);
}

// ---- structs of other versions --------------------------------------------------------------------------------------

// The first `size` bytes of a struct, zeros behind it, in a block that ends there.
class Block {
  public:
    template <class Struct>
    Block(const Struct& whole, std::size_t size)
        : size_(std::max(size, sizeof(std::size_t))), bytes_(static_cast<unsigned char*>(std::calloc(1, size_))) {
        std::memcpy(bytes_, &whole, std::min(size_, sizeof whole));
        std::memcpy(bytes_, &size, sizeof size);
    }
    ~Block() { std::free(bytes_); }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    template <class Struct>
    Struct* as() {
        return reinterpret_cast<Struct*>(bytes_);
    }
    void set_last_byte() { bytes_[size_ - 1] = 1; }
    std::size_t struct_size() const { return *reinterpret_cast<const std::size_t*>(bytes_); }

  private:
    std::size_t size_;
    unsigned char* bytes_;
};

// Returns two consecutive structs of a header in which the struct is `longer` bytes longer (shorter, if negative).
template <class Struct>
std::vector<unsigned char> two_of(Struct first, Struct second, int longer) {
    const std::size_t size = sizeof(Struct) + static_cast<std::size_t>(longer);
    first.struct_size = second.struct_size = size;
    std::vector<unsigned char> bytes(2 * size);
    std::memcpy(bytes.data(), &first, std::min(size, sizeof first));
    std::memcpy(bytes.data() + size, &second, std::min(size, sizeof second));
    return bytes;
}

// least: the size of the smallest struct with which the call still works.
template <class Struct, class Call>
void test_versions(const char* name, const Struct& whole, std::size_t least, Call&& call) {
    for (std::size_t size = 0; size <= sizeof whole + 24; ++size) {
        Block block(whole, size);
        const fastfs_status status = call(block.as<Struct>());
        const std::string what = std::string(name) + " of " + std::to_string(size) + " bytes";
        const bool possible = size >= sizeof(std::size_t) && size % sizeof(std::size_t) == 0;
        check(possible || (status == FASTFS_EINVAL && says("struct_size")), __FILE__, __LINE__, what);
        check(!possible || size < least || status == FASTFS_OK, __FILE__, __LINE__, what);
        check(block.struct_size() == size, __FILE__, __LINE__, what);
        if (!possible || size <= sizeof whole) continue;
        block.set_last_byte();
        check(call(block.as<Struct>()) == FASTFS_EINVAL && says("doesn't know"), __FILE__, __LINE__, what);
    }
    for (const std::size_t size : {std::size_t{4104}, std::numeric_limits<std::size_t>::max() - 7}) {
        Struct huge = whole;
        huge.struct_size = size;
        check(call(&huge) == FASTFS_EINVAL && says("struct_size"), __FILE__, __LINE__, name);
    }
}

void test_struct_sizes() {
    std::vector<double> out(d * d), scores(d);
    test_versions("fastfs_matrix", X, offsetof(fastfs_matrix, row_stride),
                  [&](fastfs_matrix* m) { return fastfs_affinity(m, nullptr, nullptr, out.data()); });
    test_versions("fastfs_run", fastfs::default_run(), 8,
                  [&](fastfs_run* run) { return fastfs_affinity(&X, nullptr, run, out.data()); });
    test_versions("fastfs_affinity_options", fastfs::rbf(1), 8,
                  [&](fastfs_affinity_options* options) { return fastfs_affinity(&X, options, nullptr, out.data()); });

    fastfs_manifest* manifest = nullptr;
    CHECK(fastfs_manifest_new(&X, 1, 0, nullptr, &manifest) == FASTFS_OK);
    const fastfs_manifest_scale scale = FASTFS_MANIFEST_SCALE_INIT;
    fastfs_manifest_result result = FASTFS_MANIFEST_RESULT_INIT;
    const auto fit = [&](const fastfs_manifest_options* o, const fastfs_manifest_scale* s, fastfs_manifest_result* r) {
        return fastfs_manifest_fit(manifest, labels.data(), 2, o, s, 1, nullptr, r, owner());
    };
    test_versions("fastfs_manifest_options", fastfs::default_manifest_options(), 8,
                  [&](fastfs_manifest_options* o) { return fit(o, &scale, &result); });
    test_versions("fastfs_manifest_scale", scale, 8,
                  [&](fastfs_manifest_scale* s) { return fit(nullptr, s, &result); });
    result = FASTFS_MANIFEST_RESULT_INIT;
    test_versions("fastfs_manifest_result", result, 8,
                  [&](fastfs_manifest_result* r) { return fit(nullptr, &scale, r); });
    const fastfs_manifest_plan plan = FASTFS_MANIFEST_PLAN_INIT;
    test_versions("fastfs_manifest_plan", plan, 8,
                  [&](fastfs_manifest_plan* p) { return fastfs_manifest_plan_fit(manifest, nullptr, nullptr, p); });
    fastfs_manifest_free(manifest);
    fastfs_matrix upper = X, lower = X;
    upper.n_rows = lower.n_rows = n / 2;
    lower.values = values.data() + n / 2 * d;
    for (const int longer : {0, 8}) {
        const auto chunks = two_of(upper, lower, longer);
        const auto* first = reinterpret_cast<const fastfs_matrix*>(chunks.data());
        CHECK(fastfs_manifest_new(first, 2, 0, nullptr, &manifest) == FASTFS_OK);
        CHECK(fastfs_manifest_fit(manifest, labels.data(), 2, nullptr, &scale, 1, nullptr, &result, owner()) ==
              FASTFS_OK);
        fastfs_manifest_free(manifest);
    }

    fastfs_projse_result selection = FASTFS_PROJSE_RESULT_INIT;
    const auto select = [&](const fastfs_projse_options* o, fastfs_projse_result* r) {
        return fastfs_projse(&X, nullptr, labels.data(), 2, o, nullptr, r, owner());
    };
    test_versions("fastfs_projse_options", fastfs::default_projse_options(), 8,
                  [&](fastfs_projse_options* o) { return select(o, &selection); });
    selection = FASTFS_PROJSE_RESULT_INIT;
    test_versions("fastfs_projse_result", selection, 8, [&](fastfs_projse_result* r) { return select(nullptr, r); });

    fastfs_margin* margin = nullptr;
    test_versions("fastfs_margin_options", fastfs::default_margin_options(), 8, [&](fastfs_margin_options* o) {
        fastfs_margin_free(margin);
        margin = nullptr;
        return fastfs_margin_new(&X, o, nullptr, &margin);
    });
    CHECK(fastfs_margin_new(&X, nullptr, nullptr, &margin) == FASTFS_OK);
    fastfs_relief_result relief = FASTFS_RELIEF_RESULT_INIT;
    test_versions("fastfs_relief_options", fastfs::default_relief_options(), 8, [&](fastfs_relief_options* o) {
        return fastfs_relief(margin, labels.data(), 2, o, nullptr, &relief, owner());
    });
    relief = FASTFS_RELIEF_RESULT_INIT;
    test_versions("fastfs_relief_result", relief, 8, [&](fastfs_relief_result* r) {
        return fastfs_relief(margin, labels.data(), 2, nullptr, nullptr, r, owner());
    });
    fastfs_im4e_result weights = FASTFS_IM4E_RESULT_INIT;
    test_versions("fastfs_im4e_options", fastfs::default_im4e_options(), 8, [&](fastfs_im4e_options* o) {
        return fastfs_im4e(margin, labels.data(), 2, o, nullptr, &weights, owner());
    });
    weights = FASTFS_IM4E_RESULT_INIT;
    test_versions("fastfs_im4e_result", weights, 8, [&](fastfs_im4e_result* r) {
        return fastfs_im4e(margin, labels.data(), 2, nullptr, nullptr, r, owner());
    });
    fastfs_fitted* fitted = nullptr;
    const auto fit_immigrate = [&](const fastfs_immigrate_options* o, fastfs_immigrate_result* r) {
        fastfs_fitted_free(fitted);
        fitted = nullptr;
        return fastfs_immigrate_fit(margin, labels.data(), 2, o, nullptr, r, &fitted);
    };
    fastfs_immigrate_result of_immigrate = FASTFS_IMMIGRATE_RESULT_INIT;
    test_versions("fastfs_immigrate_options", fastfs::default_immigrate_options(), 8,
                  [&](fastfs_immigrate_options* o) { return fit_immigrate(o, &of_immigrate); });
    of_immigrate = FASTFS_IMMIGRATE_RESULT_INIT;
    test_versions("fastfs_immigrate_result", of_immigrate, 8,
                  [&](fastfs_immigrate_result* r) { return fit_immigrate(nullptr, r); });
    CHECK(fit_immigrate(nullptr, nullptr) == FASTFS_EINVAL && says("result must not be null"));
    fastfs_margin_metric metric = FASTFS_MARGIN_METRIC_INIT;
    const std::vector<double> ones(d, 1.0);
    metric.weights = ones.data();
    test_versions("fastfs_margin_metric", metric, offsetof(fastfs_margin_metric, rank), [&](fastfs_margin_metric* m) {
        return fastfs_margin_distances(margin, labels.data(), 2, m, &X, nullptr, out.data());
    });
    fastfs_margin_free(margin);

    const fastfs::matrix samples(values.data(), n, d);
    const std::vector<fastfs_disc_set> sets(2, fastfs::disc_samples(samples, 2));
    auto options = fastfs::default_disc_options();
    options.bandwidth_neighbors = 2;
    fastfs_disc_result of_sets[] = {FASTFS_DISC_RESULT_INIT, FASTFS_DISC_RESULT_INIT};
    const auto fit_disc = [&](const fastfs_disc_set* s, const fastfs_disc_options* o, fastfs_disc_result* r) {
        fastfs_fitted_free(fitted);
        fitted = nullptr;
        return fastfs_disc_fit(s, 2, o, nullptr, r, &fitted);
    };
    test_versions("fastfs_disc_options", options, 8,
                  [&](fastfs_disc_options* o) { return fit_disc(sets.data(), o, of_sets); });
    CHECK(fit_disc(sets.data(), &options, nullptr) == FASTFS_EINVAL && says("results must not be null"));
    for (const int longer : {-16, 0, 8}) {  // results without scale and recall; sets without kernel and user
        auto results =
            two_of(fastfs_disc_result(FASTFS_DISC_RESULT_INIT), fastfs_disc_result(FASTFS_DISC_RESULT_INIT), longer);
        auto* first = reinterpret_cast<fastfs_disc_result*>(results.data());
        CHECK(fit_disc(sets.data(), &options, first) == FASTFS_OK && first->n_features == d);
        auto pair = two_of(sets[0], sets[1], longer);
        CHECK(fit_disc(reinterpret_cast<const fastfs_disc_set*>(pair.data()), &options, of_sets) == FASTFS_OK);
        if (longer <= 0) continue;
        pair.back() = 1;
        CHECK(fit_disc(reinterpret_cast<const fastfs_disc_set*>(pair.data()), &options, of_sets) == FASTFS_EINVAL &&
              says("doesn't know"));
    }

    const auto kernels = fastfs::ikdr_features(samples);
    fastfs_ikdr_result of_ikdr = FASTFS_IKDR_RESULT_INIT;
    const auto fit_ikdr = [&](const fastfs_ikdr_kernels* k, const fastfs_ikdr_options* o, fastfs_ikdr_result* r) {
        fastfs_fitted_free(fitted);
        fitted = nullptr;
        return fastfs_ikdr_fit(k, labels.data(), 2, o, nullptr, r, &fitted);
    };
    test_versions("fastfs_ikdr_kernels", kernels, offsetof(fastfs_ikdr_kernels, n_kernels),
                  [&](fastfs_ikdr_kernels* k) { return fit_ikdr(k, nullptr, &of_ikdr); });
    test_versions("fastfs_ikdr_options", fastfs::default_ikdr_options(), 8,
                  [&](fastfs_ikdr_options* o) { return fit_ikdr(&kernels, o, &of_ikdr); });
    of_ikdr = FASTFS_IKDR_RESULT_INIT;
    test_versions("fastfs_ikdr_result", of_ikdr, 8,
                  [&](fastfs_ikdr_result* r) { return fit_ikdr(&kernels, nullptr, r); });
    CHECK(fit_ikdr(&kernels, nullptr, nullptr) == FASTFS_EINVAL && says("results must not be null"));
    std::int64_t index = 0;
    double weight = 0;
    CHECK(fit_ikdr(&kernels, nullptr, &of_ikdr) == FASTFS_OK);
    CHECK(fastfs_disc_graph(fitted, 0, 64, nullptr, &index, &index, &weight) == FASTFS_EINVAL &&
          says("fitted must come from fastfs_disc_fit"));
    fastfs_fitted_free(fitted);
    fastfs_differential_correlation_result compared = FASTFS_DIFFERENTIAL_CORRELATION_RESULT_INIT;
    test_versions("fastfs_differential_correlation_options", fastfs::default_differential_correlation_options(), 8,
                  [&](fastfs_differential_correlation_options* o) {
                      return fastfs_differential_correlation(&X, labels.data(), o, nullptr, &compared, owner());
                  });
    compared = FASTFS_DIFFERENTIAL_CORRELATION_RESULT_INIT;
    test_versions("fastfs_differential_correlation_result", compared, 8,
                  [&](fastfs_differential_correlation_result* r) {
                      return fastfs_differential_correlation(&X, labels.data(), nullptr, nullptr, r, owner());
                  });
    const OneKernel one;
    test_versions("fastfs_ikdr_model", one.model, sizeof one.model,
                  [&](fastfs_ikdr_model* m) { return fastfs_ikdr_embed(m, &X, nullptr, out.data()); });
}

// ---- what a call would take -----------------------------------------------------------------------------------------

// call(run, given): with outputs, or with null in their place. The answer must be enough for the call, and nothing may
// have been done for it.
template <class Call>
void test_question(const char* name, Call&& call) {
    std::int64_t bytes = -1;
    auto how = fastfs::default_run();
    how.bytes_needed = &bytes;
    check(call(how, false) == FASTFS_OK && bytes > 0, __FILE__, __LINE__, name);
    how.bytes_needed = nullptr;
    how.max_memory = bytes;
    check(call(how, true) == FASTFS_OK, __FILE__, __LINE__, std::string(name) + " with the budget that it asked for");
    std::int64_t again = -1;
    how.bytes_needed = &again;
    how.max_memory = 1;
    check(call(how, false) == FASTFS_ENOMEM && again > 1 && says("memory budget"), __FILE__, __LINE__, name);
}

constexpr auto give = [](bool given, auto* array) { return given ? array : nullptr; };

void test_questions() {
    std::vector<double> out(n * d * d), scores(d), V(d, 1.0);
    std::vector<std::int64_t> a(d * d), b(d * d);
    std::int64_t found = 0;

    test_question("affinity", [&](const fastfs_run& how, bool given) {
        return fastfs_affinity(&X, nullptr, &how, give(given, out.data()));
    });
    test_question("affinity_product", [&](const fastfs_run& how, bool given) {
        return fastfs_affinity_product(&X, nullptr, give(given, V.data()), 1, &how, give(given, out.data()));
    });
    CHECK(fastfs::bytes_needed([&](const fastfs::run& how) {
              fastfs::affinity(fastfs::matrix(values.data(), n, d), fastfs::rbf(1), nullptr, how);
          }) > 8 * d * d);

    fastfs_stream* gram = nullptr;
    test_question("gram_stream_new", [&](const fastfs_run& how, bool given) {
        return fastfs_gram_stream_new(d, &how, give(given, &gram));
    });
    test_question("stream_update of Gram matrices",
                  [&](const fastfs_run& how, bool) { return update_stream(gram, &X, &how); });
    CHECK(rows_of(gram) == n);  // questions add nothing
    test_question("gram_stream_finish", [&](const fastfs_run& how, bool given) {
        return fastfs_gram_stream_finish(gram, nullptr, &how, give(given, out.data()));
    });
    fastfs_stream_free(gram);

    std::vector<double> A(d * d, 0.0), B(d * d, 0.0);
    for (std::int64_t i = 0; i < d; ++i) A[static_cast<std::size_t>(i * d + i)] = 1;
    B = A;
    test_question("eigh", [&](const fastfs_run& how, bool given) {
        return fastfs_eigh(d, give(given, A.data()), give(given, out.data()), &how);
    });
    test_question("pencil", [&](const fastfs_run& how, bool given) {
        return fastfs_pencil(d, give(given, A.data()), give(given, B.data()), give(given, out.data()),
                             give(given, &found), &how);
    });

    std::vector<double> ridge(d * d, 0.0);
    for (std::int64_t i = 0; i < d; ++i) ridge[static_cast<std::size_t>(i * d + i)] = 1 + static_cast<double>(i);
    test_question("manifest_kernels", [&](const fastfs_run& how, bool given) {
        fastfs_manifest_result result = FASTFS_MANIFEST_RESULT_INIT;
        return fastfs_manifest_kernels(d, B.data(), ridge.data(), nullptr, &how, give(given, &result),
                                       give(given, owner()));
    });
    for (const int keep : {0, 1}) {
        fastfs_manifest* manifest = nullptr;
        test_question("manifest_new", [&](const fastfs_run& how, bool given) {
            return fastfs_manifest_new(&X, 1, keep, &how, give(given, &manifest));
        });
        const fastfs_manifest_scale scale = FASTFS_MANIFEST_SCALE_INIT;
        test_question("manifest_fit", [&](const fastfs_run& how, bool given) {
            fastfs_manifest_result result = FASTFS_MANIFEST_RESULT_INIT;
            return fastfs_manifest_fit(manifest, labels.data(), 2, nullptr, &scale, 1, &how, give(given, &result),
                                       give(given, owner()));
        });
        fastfs_manifest_free(manifest);
    }
    {
        auto exact = fastfs::default_manifest_options();
        exact.accuracy = FASTFS_MANIFEST_EXACT;
        fastfs_stream* sums = nullptr;
        test_question("manifest_stream_new", [&](const fastfs_run& how, bool given) {
            return fastfs_manifest_stream_new(d, 2, &exact, &how, give(given, &sums));
        });
        test_question("stream_update of ManiFeSt",
                      [&](const fastfs_run& how, bool) { return update_stream(sums, &X, &how, labels.data()); });
        const fastfs_manifest_scale scale = FASTFS_MANIFEST_SCALE_INIT;
        const std::int64_t classes[] = {0, 1};
        test_question("manifest_stream_finish", [&](const fastfs_run& how, bool given) {
            fastfs_manifest_result result = FASTFS_MANIFEST_RESULT_INIT;
            return fastfs_manifest_stream_finish(sums, classes, 2, &exact, &scale, 1, &how, give(given, &result),
                                                 give(given, owner()));
        });
        fastfs_stream_free(sums);
    }

    fastfs_projse_result selection = FASTFS_PROJSE_RESULT_INIT;
    const fastfs::matrix wide(values.data(), d, n);  // fewer rows than columns
    test_question("projse, labels", [&](const fastfs_run& how, bool given) {
        return fastfs_projse(&X, nullptr, labels.data(), 2, nullptr, &how, give(given, &selection),
                             give(given, owner()));
    });
    test_question("projse, no targets", [&](const fastfs_run& how, bool given) {
        return fastfs_projse(&X, nullptr, nullptr, 0, nullptr, &how, give(given, &selection), give(given, owner()));
    });
    test_question("projse, wide", [&](const fastfs_run& how, bool given) {
        return fastfs_projse(wide.get(), nullptr, nullptr, 0, nullptr, &how, give(given, &selection),
                             give(given, owner()));
    });
    test_question("projse, more targets than rows", [&](const fastfs_run& how, bool given) {
        return fastfs_projse(wide.get(), wide.get(), nullptr, 0, nullptr, &how, give(given, &selection),
                             give(given, owner()));
    });
    CHECK(selection.n_selected == 1);
    fastfs_stream* sums = nullptr;
    test_question("projse_stream_new", [&](const fastfs_run& how, bool given) {
        return fastfs_projse_stream_new(2, d, 0, &how, give(given, &sums));
    });
    test_question("stream_update of ProjSe",
                  [&](const fastfs_run& how, bool) { return update_stream(sums, &X, &how, labels.data()); });
    CHECK(rows_of(sums) == n);
    test_question("projse_stream_finish", [&](const fastfs_run& how, bool given) {
        return fastfs_projse_stream_finish(sums, nullptr, 0, nullptr, &how, give(given, &selection),
                                           give(given, owner()));
    });
    fastfs_stream_free(sums);
    const std::vector<double> K{1, 0.5, 0.5, 1}, diagonal{1, 1};
    test_question("projse_kernels", [&](const fastfs_run& how, bool given) {
        return fastfs_projse_kernels(2, 2, K.data(), K.data(), diagonal.data(), nullptr, &how, give(given, &selection),
                                     give(given, owner()));
    });

    for (const int keep : {FASTFS_KEEP_NONE, FASTFS_KEEP_MANHATTAN, FASTFS_KEEP_SQUARED_EUCLIDEAN}) {
        fastfs_margin* margin = nullptr;
        test_question("margin_new", [&](const fastfs_run& how, bool given) {
            const auto stage = fastfs::default_margin_options(FASTFS_SCALE_RANGE, keep);
            return fastfs_margin_new(&X, &stage, &how, give(given, &margin));
        });
        for (int method = FASTFS_RELIEF; method <= FASTFS_MU_RELIEF; ++method) {
            for (const std::int64_t targets : {0, 3}) {
                auto options = fastfs::default_relief_options();
                options.method = method;
                options.n_targets = targets;
                options.n_neighbors = 1;
                test_question("relief", [&](const fastfs_run& how, bool given) {
                    fastfs_relief_result result = FASTFS_RELIEF_RESULT_INIT;
                    return fastfs_relief(margin, labels.data(), 2, &options, &how, give(given, &result),
                                         give(given, owner()));
                });
            }
        }
        test_question("im4e", [&](const fastfs_run& how, bool given) {
            fastfs_im4e_result result = FASTFS_IM4E_RESULT_INIT;
            return fastfs_im4e(margin, labels.data(), 2, nullptr, &how, give(given, &result), give(given, owner()));
        });
        auto filtered = fastfs::default_immigrate_options();
        filtered.prefilter = FASTFS_PREFILTER_IM4E;
        test_question("immigrate_fit behind IM4E", [&](const fastfs_run& how, bool given) {
            fastfs_fitted* fitted = nullptr;
            fastfs_immigrate_result result = FASTFS_IMMIGRATE_RESULT_INIT;
            const auto status = fastfs_immigrate_fit(margin, labels.data(), 2, &filtered, &how, give(given, &result),
                                                     give(given, &fitted));
            fastfs_fitted_free(fitted);
            return status;
        });
        for (const int clip : {0, 1}) {
            auto options = fastfs::default_immigrate_options();
            options.clip = clip;
            options.start_matrix = B.data();  // the identity
            fastfs_fitted* fitted = nullptr;
            fastfs_immigrate_result result = FASTFS_IMMIGRATE_RESULT_INIT;
            test_question("immigrate_fit", [&](const fastfs_run& how, bool given) {
                return fastfs_immigrate_fit(margin, labels.data(), 2, &options, &how, give(given, &result),
                                            give(given, &fitted));
            });
            CHECK(result.n_features == d);
            test_question("immigrate_pairs", [&](const fastfs_run& how, bool given) {
                return fastfs_immigrate_pairs(d, result.rank, result.values, result.vectors, 0, 4, &how,
                                              give(given, a.data()), give(given, b.data()), give(given, out.data()),
                                              give(given, &found));
            });
            for (const bool factors : {false, true}) {
                fastfs_margin_metric metric = FASTFS_MARGIN_METRIC_INIT;
                if (factors) {
                    metric.rank = result.rank;
                    metric.values = result.values;
                    metric.vectors = result.vectors;
                } else {
                    metric.weights = V.data();
                }
                test_question("margin_distances", [&](const fastfs_run& how, bool given) {
                    return fastfs_margin_distances(margin, labels.data(), 2, &metric, &X, &how,
                                                   give(given, out.data()));
                });
                test_question("margin_explain", [&](const fastfs_run& how, bool given) {
                    return fastfs_margin_explain(margin, labels.data(), 2, &metric, &X, labels.data(), &how,
                                                 give(given, out.data()));
                });
            }
            fastfs_fitted_free(fitted);
        }
        fastfs_margin_free(margin);
    }

    test_question("nearest_features", [&](const fastfs_run& how, bool given) {
        return fastfs_nearest_features(&X, 2, &how, give(given, a.data()), give(given, out.data()));
    });
    for (const int graph : {FASTFS_GRAPH_DENSE, FASTFS_GRAPH_KNN, FASTFS_GRAPH_LISTS}) {
        auto options = fastfs::default_disc_options();
        options.graph = graph;
        options.bandwidth_neighbors = options.n_neighbors = 2;
        std::vector<fastfs_disc_set> sets(2, FASTFS_DISC_SET_INIT);
        for (auto& set : sets) {
            set.X = &X;
            set.n_components = 1;
        }
        fastfs_fitted* fitted = nullptr;
        fastfs_disc_result results[] = {FASTFS_DISC_RESULT_INIT, FASTFS_DISC_RESULT_INIT};
        test_question("disc_fit", [&](const fastfs_run& how, bool given) {
            return fastfs_disc_fit(sets.data(), 2, &options, &how, give(given, &results[0]), give(given, &fitted));
        });
        fastfs_fitted_free(fitted);
    }

    const std::vector<double> uniform_A(n * 2, 1.0 / n), weights(d, 1.0 / d);
    std::vector<double> identity(n * n, 0.0);
    for (std::int64_t i = 0; i < n; ++i) identity[static_cast<std::size_t>(i * n + i)] = 1;
    const fastfs::matrix square(identity.data(), n, n);
    const fastfs::matrix samples(values.data(), n, d);
    auto options = fastfs::default_ikdr_options();
    for (const int solver : {FASTFS_IKDR_PROJECTED_GRADIENT, FASTFS_IKDR_ADMM}) {
        options.solver = solver;
        options.tau = options.zeta = 10;
        for (const auto& kernels : {fastfs::ikdr_features(samples), fastfs::ikdr_matrices(identity.data(), 1, n)}) {
            fastfs_fitted *fitted = nullptr, *other = nullptr;
            fastfs_ikdr_result whole = FASTFS_IKDR_RESULT_INIT, part = FASTFS_IKDR_RESULT_INIT;
            test_question("ikdr_fit", [&](const fastfs_run& how, bool given) {
                return fastfs_ikdr_fit(&kernels, labels.data(), 2, &options, &how, give(given, &whole),
                                       give(given, &fitted));
            });
            part.struct_size = offsetof(fastfs_ikdr_result, similarity);  // of an older header
            CHECK(fastfs_ikdr_fit(&kernels, labels.data(), 2, &options, nullptr, &part, &other) == FASTFS_OK);
            CHECK(part.objective == whole.objective && part.A == nullptr && whole.A != nullptr);
            fastfs_fitted_free(fitted);
            fastfs_fitted_free(other);
        }
    }
    test_question("ikdr_evaluate", [&](const fastfs_run& how, bool given) {
        return fastfs_ikdr_evaluate(square.get(), labels.data(), 2, &options, uniform_A.data(), 1, &how,
                                    give(given, out.data()), nullptr);
    });
    const auto features = fastfs::ikdr_features(samples);
    test_question("ikdr_prices", [&](const fastfs_run& how, bool given) {
        return fastfs_ikdr_prices(&features, labels.data(), 2, &options, uniform_A.data(), weights.data(), &how,
                                  give(given, out.data()));
    });
    for (const int correlation : {FASTFS_PEARSON, FASTFS_SPEARMAN}) {
        auto compare = fastfs::default_differential_correlation_options();
        compare.correlation = correlation;
        compare.labelings = labels.data();
        compare.n_labelings = 1;
        fastfs_differential_correlation_result result = FASTFS_DIFFERENTIAL_CORRELATION_RESULT_INIT;
        test_question("differential_correlation", [&](const fastfs_run& how, bool given) {
            return fastfs_differential_correlation(&X, labels.data(), &compare, &how, give(given, &result),
                                                   give(given, owner()));
        });
        // The true labels once more: every p-value is 1.
        CHECK(fastfs_differential_correlation(&X, labels.data(), &compare, nullptr, &result, owner()) == FASTFS_OK);
        CHECK(result.n_pairs == d * (d - 1) / 2 && result.n_copies == 0 && result.copies == nullptr);
        CHECK(result.pvalues[0] == 1 && result.null_maxima[0] == std::abs(result.z[0]));
        CHECK(result.pairs[0] < result.pairs[1]);
        compare.labelings = nullptr;
        CHECK(fastfs_differential_correlation(&X, labels.data(), &compare, nullptr, &result, owner()) ==
                  FASTFS_EINVAL &&
              says("labelings must not be null"));
        compare.n_labelings = 0;
        CHECK(fastfs_differential_correlation(&X, labels.data(), &compare, nullptr, &result, owner()) == FASTFS_OK);
        CHECK(result.pvalues == nullptr && result.null_maxima == nullptr);
        compare.n_pairs = 0;
        CHECK(fastfs_differential_correlation(&X, labels.data(), &compare, nullptr, &result, owner()) ==
                  FASTFS_EINVAL &&
              says("n_pairs"));
        compare.n_pairs = 1;
        compare.correlation = 2;
        CHECK(fastfs_differential_correlation(&X, labels.data(), &compare, nullptr, &result, owner()) ==
                  FASTFS_EINVAL &&
              says("FASTFS_SPEARMAN"));
    }
    const OneKernel of_one;
    test_question("ikdr_embed", [&](const fastfs_run& how, bool given) {
        return fastfs_ikdr_embed(&of_one.model, &X, &how, give(given, out.data()));
    });
}

// Asks through the classes and functions of fastfs.hpp, which call more than one function, or make room for results.
void test_questions_in_cpp() {
    const fastfs::matrix samples(values.data(), n, d);
    const fastfs::margin margin(samples);
    const fastfs::manifest manifest(samples);
    const auto answer = [](auto&& call) { CHECK(fastfs::bytes_needed(call) > 0); };
    answer([&](const fastfs::run& how) { fastfs::manifest(samples, true, how); });
    answer([&](const fastfs::run& how) {
        manifest.fit(labels.data(), 2, {fastfs::median_scale(1)}, fastfs::default_manifest_options(), how);
    });
    answer([&](const fastfs::run& how) { fastfs::projse(samples, fastfs::default_projse_options(), how); });
    answer([&](const fastfs::run& how) { margin.relief(labels.data(), 2, fastfs::default_relief_options(), how); });
    answer([&](const fastfs::run& how) { margin.im4e(labels.data(), 2, fastfs::default_im4e_options(), how); });
    answer(
        [&](const fastfs::run& how) { margin.immigrate(labels.data(), 2, fastfs::default_immigrate_options(), how); });
    answer([&](const fastfs::run& how) { fastfs::nearest_features(samples, 2, how); });
    answer([&](const fastfs::run& how) {
        fastfs::differential_correlation(samples, labels.data(), fastfs::default_differential_correlation_options(),
                                         how);
    });
    auto few = fastfs::default_disc_options();
    few.bandwidth_neighbors = 2;
    answer([&](const fastfs::run& how) {
        fastfs::disc({fastfs::disc_samples(samples, 1), fastfs::disc_samples(samples, 1)}, few, how);
    });
    answer([&](const fastfs::run& how) {
        fastfs::ikdr(fastfs::ikdr_features(samples), labels.data(), 2, fastfs::default_ikdr_options(), how);
    });
    // Results get their memory in the call that computes them, not in a refusal or an answer to a question.
    const fastfs::matrix wide(values.data(), 1, 400000000);
    auto plenty = fastfs::default_run();
    plenty.max_memory = std::int64_t{1} << 42;
    const auto ask = [&](const fastfs::run& how) { fastfs::projse(wide, fastfs::default_projse_options(), how); };
    CHECK(fastfs::bytes_needed(ask, plenty) > wide.n_cols());
    const auto refuses = [](const char* what, auto&& call) {
        bool said = false;
        try {
            call();
        } catch (const std::invalid_argument& error) {
            said = std::strstr(error.what(), what) != nullptr;
        }
        check(said, __FILE__, __LINE__, what);
    };
    for (const std::int64_t columns : {std::int64_t{-1}, std::int64_t{1} << 40}) {
        refuses(columns < 0 ? "at least one" : "4e8",
                [&] { fastfs::projse(fastfs::matrix(values.data(), 1, columns), fastfs::default_projse_options()); });
    }
    auto endless = fastfs::default_im4e_options();
    endless.max_iter = std::numeric_limits<std::int32_t>::max();
    refuses("max_iter", [&] { margin.im4e(labels.data(), 2, endless); });
    for (const std::int64_t wrong : {std::int64_t{0}, d}) {
        refuses("n_neighbors must be from 1 to the 5 other features",
                [&] { fastfs::nearest_features(samples, wrong); });
    }
}

// ---- a call that is canceled while a helper is busy -----------------------------------------------------------------

std::thread::id caller;

void slow(double*, std::int64_t, std::int64_t, std::int64_t, const double*, const double*, double, void*) {
    std::this_thread::sleep_for(std::chrono::milliseconds(std::this_thread::get_id() == caller ? 60 : 300));
}

void test_progress_after_cancel() {
    caller = std::this_thread::get_id();
    constexpr std::int64_t many = 500;
    const std::vector<double> ones(many, 1.0);
    std::vector<double> out(many * many);
    int calls = 0;
    auto how = fastfs::default_run();
    how.n_threads = 2;
    how.user = &calls;
    how.progress = [](void* user, const char*, double) { return ++*static_cast<int*>(user); };
    const auto kernel = fastfs::custom(slow);
    const fastfs::matrix wide(ones.data(), 1, many);
    CHECK(fastfs_affinity(wide.get(), &kernel, &how, out.data()) == FASTFS_ECANCELED && calls == 1);
}

// ---- refused calls leave outputs alone ------------------------------------------------------------------------------

void test_untouched_outputs() {
    fastfs_manifest* manifest = nullptr;
    for (const int flag : {-1, 2}) {
        CHECK(fastfs_manifest_new(&X, 1, flag, nullptr, &manifest) == FASTFS_EINVAL && says("must be 0 or 1"));
    }
    CHECK(fastfs_manifest_new(&X, 1, 0, nullptr, &manifest) == FASTFS_OK);
    fastfs_manifest_result result = FASTFS_MANIFEST_RESULT_INIT;
    fastfs_fitted* fitted = nullptr;
    fastfs_manifest_scale scale = FASTFS_MANIFEST_SCALE_INIT;
    std::vector<std::int64_t> wrong(labels);
    wrong[3] = 5;
    CHECK(fastfs_manifest_fit(manifest, wrong.data(), 2, nullptr, &scale, 1, nullptr, &result, &fitted) ==
          FASTFS_EINVAL);
    scale.normalize = 1001;
    CHECK(fastfs_manifest_fit(manifest, labels.data(), 2, nullptr, &scale, 1, nullptr, &result, &fitted) ==
              FASTFS_EINVAL &&
          says("normalize must lie between 0 and 1000; got 1001"));
    CHECK(result.scores == nullptr && fitted == nullptr);
    fastfs_manifest_free(manifest);
}

// ---- kernels that return NaN ----------------------------------------------------------------------------------------

void no_number(double* tile, std::int64_t, std::int64_t, std::int64_t, const double*, const double*, double, void*) {
    tile[0] = std::numeric_limits<double>::quiet_NaN();
}

void huge_number(double* tile, std::int64_t ld, std::int64_t rows, std::int64_t cols, const double*, const double*,
                 double, void*) {
    for (std::int64_t a = 0; a < rows; ++a) std::fill_n(tile + a * ld, cols, 1e308);
}

void no_number_far_away(double* tile, std::int64_t ld, std::int64_t rows, std::int64_t cols, const double*,
                        const double*, double, void*) {
    for (std::int64_t a = 0; a < rows; ++a) {
        for (std::int64_t b = 0; b < cols; ++b) {
            double& value = tile[a * ld + b];
            value = value > 0 ? std::numeric_limits<double>::quiet_NaN() : 1;
        }
    }
}

void minus_one(double* tile, std::int64_t ld, std::int64_t rows, std::int64_t cols, const double*, const double*,
               double, void*) {
    for (std::int64_t a = 0; a < rows; ++a) std::fill_n(tile + a * ld, cols, -1.0);
}

void test_kernels_without_numbers() {
    std::vector<double> out(d * d), scores(d), V(d, 1.0);
    const auto options = fastfs::custom(no_number);
    CHECK(fastfs_affinity(&X, &options, nullptr, out.data()) == FASTFS_EINVAL &&
          says("the kernel must return finite numbers"));
    CHECK(fastfs_affinity_product(&X, &options, V.data(), 1, nullptr, out.data()) == FASTFS_EINVAL &&
          says("the kernel must return finite numbers"));
    fastfs_stream* gram = nullptr;
    CHECK(fastfs_gram_stream_new(d, nullptr, &gram) == FASTFS_OK && update_stream(gram, &X) == FASTFS_OK);
    CHECK(fastfs_gram_stream_finish(gram, &options, nullptr, out.data()) == FASTFS_EINVAL &&
          says("must return finite numbers"));
    fastfs_stream_free(gram);
    fastfs_manifest* manifest = nullptr;
    CHECK(fastfs_manifest_new(&X, 1, 0, nullptr, &manifest) == FASTFS_OK);
    for (const int accuracy : {FASTFS_MANIFEST_EXACT, FASTFS_MANIFEST_LOW_RANK, FASTFS_MANIFEST_LOW_RANK_HIGH}) {
        auto how = fastfs::default_manifest_options();
        how.custom = no_number;
        how.accuracy = accuracy;
        how.rank = 1;
        const fastfs_manifest_scale scale = FASTFS_MANIFEST_SCALE_INIT;
        fastfs_manifest_result result = FASTFS_MANIFEST_RESULT_INIT;
        CHECK(fastfs_manifest_fit(manifest, labels.data(), 2, &how, &scale, 1, nullptr, &result, owner()) ==
                  FASTFS_EINVAL &&
              says("must return finite numbers"));
        if (accuracy == FASTFS_MANIFEST_EXACT) continue;
        how.custom = huge_number;
        CHECK(fastfs_manifest_fit(manifest, labels.data(), 2, &how, &scale, 1, nullptr, &result, owner()) ==
                  FASTFS_ENUMERIC &&
              says("too large to be multiplied"));
    }
    fastfs_manifest_free(manifest);
    auto choice = fastfs::default_projse_options();
    choice.custom = no_number;
    fastfs_projse_result selection = FASTFS_PROJSE_RESULT_INIT;
    CHECK(fastfs_projse(&X, nullptr, labels.data(), 2, &choice, nullptr, &selection, owner()) == FASTFS_EINVAL &&
          says("nan"));
    // Without targets, a column of K has the kernels of one feature with all features, and only columns of chosen
    // features are computed.
    choice.custom = no_number_far_away;
    for (const int normalize : {0, 1}) {
        choice.normalize = normalize;
        CHECK(fastfs_projse(&X, nullptr, nullptr, 0, &choice, nullptr, &selection, owner()) == FASTFS_EINVAL &&
              says("the kernel must return finite numbers"));
    }
    choice.normalize = 0;
    choice.custom = minus_one;
    CHECK(fastfs_projse(&X, nullptr, nullptr, 0, &choice, nullptr, &selection, owner()) == FASTFS_EINVAL &&
          says("the kernel of column 0 with itself must be finite and not negative; got -1"));
    CHECK(fastfs_projse(&X, nullptr, labels.data(), 2, &choice, nullptr, &selection, owner()) == FASTFS_EINVAL &&
          says("must have a positive eigenvalue"));
    std::vector<fastfs_disc_set> sets(2, FASTFS_DISC_SET_INIT);
    for (auto& set : sets) {
        set.X = &X;
        set.n_components = 1;
        set.custom = no_number;
    }
    auto graph = fastfs::default_disc_options();
    graph.bandwidth_neighbors = 2;
    fastfs_fitted* disc = nullptr;
    fastfs_disc_result of_sets[] = {FASTFS_DISC_RESULT_INIT, FASTFS_DISC_RESULT_INIT};
    CHECK(fastfs_disc_fit(sets.data(), 2, &graph, nullptr, of_sets, &disc) == FASTFS_EINVAL &&
          says("got nan for column 0 and column 0 of set 0"));
    graph.graph = FASTFS_GRAPH_DENSE;
    CHECK(fastfs_disc_fit(sets.data(), 2, &graph, nullptr, of_sets, &disc) == FASTFS_EINVAL &&
          says("must return finite numbers"));
    CHECK(disc == nullptr);
}

}  // namespace

// A message records the places of the objects that it names, so that callers can insert their users' names for them.
// Compares two-bit genotypes with equal numbers, for all samples and for selected ones, and refuses wrong descriptions.
void test_genotypes() {
    constexpr std::int64_t n_samples = 9, n_snps = 5, bytes = 3;
    const std::vector<std::int64_t> rows{8, 0, 3, 3, 7, 1}, columns{4, 0, 2}, labels{0, 1, 0, 1, 0, 1};
    std::vector<std::uint8_t> bits(bytes * n_snps, 0xb4);  // garbage after the last sample
    std::vector<float> dosages(n_samples * n_snps), chosen;
    for (std::int64_t s = 0; s < n_snps; ++s) {
        for (std::int64_t i = 0; i < n_samples; ++i) {
            const std::int64_t dosage = (i * i + s * (i + 1)) % 3, shift = 2 * (i % 4);
            std::uint8_t& byte = bits[static_cast<std::size_t>(s * bytes + i / 4)];
            const int code = dosage == 2 ? 0 : dosage == 1 ? 2 : 3;
            byte = static_cast<std::uint8_t>((byte & ~(3 << shift)) | code << shift);
            dosages[static_cast<std::size_t>(i * n_snps + s)] = static_cast<float>(dosage);
        }
    }
    for (const auto r : rows) {
        for (const auto c : columns) chosen.push_back(dosages[static_cast<std::size_t>(r * n_snps + c)]);
    }
    const auto G = fastfs::matrix::genotypes(bits.data(), 6, 3, bytes, rows.data(), columns.data());
    fastfs_margin_options options = FASTFS_MARGIN_OPTIONS_INIT;
    options.scaling = FASTFS_SCALE_NONE;
    fastfs_relief_options of_relief = FASTFS_RELIEF_OPTIONS_INIT;
    of_relief.n_neighbors = 2;
    const auto scores = [&](const fastfs::matrix& samples) {
        const auto fitted = fastfs::margin(samples, options).relief(labels.data(), 2, of_relief);
        return list(fitted->scores, samples.n_cols());
    };
    const fastfs::matrix decoded(chosen.data(), 6, 3);
    const auto found = scores(G), expected = scores(decoded);
    for (std::size_t k = 0; k < found.size(); ++k) CHECK(std::abs(found[k] - expected[k]) < 1e-12);
    CHECK(fastfs_check_matrix(G.get()) == FASTFS_OK);

    fastfs_margin* margin = nullptr;
    fastfs_matrix bad = *G.get();
    float out[9], other[9];
    fastfs::check(fastfs_affinity(G.get(), nullptr, nullptr, out));
    fastfs::check(fastfs_affinity(decoded.get(), nullptr, nullptr, other));
    CHECK(std::equal(out, out + 9, other));
    for (const int scaling : {FASTFS_SCALE_RANGE, FASTFS_SCALE_STANDARD}) {
        const auto stage = fastfs::default_margin_options(scaling, FASTFS_KEEP_MANHATTAN);
        const auto weights = [&](const fastfs::matrix& samples) {
            const auto fitted = fastfs::margin(samples, stage).im4e(labels.data(), 2);
            return list(fitted->weights, samples.n_cols());
        };
        CHECK(weights(G) == weights(decoded));
    }
    const auto chosen_by_projse = [&](const fastfs::matrix& samples, double* selection) {
        fastfs_projse_result result = FASTFS_PROJSE_RESULT_INIT;
        fastfs::check(fastfs_projse(samples.get(), nullptr, labels.data(), 2, nullptr, nullptr, &result, owner()));
        std::copy(result.scores, result.scores + 3, selection);
    };
    double of_bits[3], of_numbers[3];
    chosen_by_projse(G, of_bits);
    chosen_by_projse(decoded, of_numbers);
    CHECK(std::equal(of_bits, of_bits + 3, of_numbers));
    // Genotypes that differ or not, and a missing one.
    const std::vector<std::int64_t> levels(3, 3);
    options.levels = levels.data();
    const auto compare = [&] {
        const auto with_bits = scores(G), with_numbers = scores(fastfs::matrix(chosen.data(), 6, 3));
        for (std::size_t k = 0; k < 3; ++k) CHECK(std::abs(with_bits[k] - with_numbers[k]) < 1e-12);
    };
    compare();
    bits[0] = static_cast<std::uint8_t>((bits[0] & ~3) | 1);
    chosen[1 * 3 + 1] = std::numeric_limits<float>::quiet_NaN();
    for (const int missing : {FASTFS_MISSING_IGNORE, FASTFS_MISSING_CLASS}) {
        options.missing = missing;
        for (const auto* given : {levels.data(), static_cast<const std::int64_t*>(nullptr)}) {
            options.levels = given;
            compare();
        }
    }
    options.missing = FASTFS_MISSING_ERROR;
    CHECK(fastfs_affinity(&bad, nullptr, nullptr, out) == FASTFS_EINVAL &&
          says("must be finite; got NaN or infinity") && says("row 1, column 1"));
    CHECK(fastfs_margin_new(&bad, nullptr, nullptr, &margin) == FASTFS_EINVAL && says("row 1, column 1"));
    CHECK(fastfs_margin_new(&bad, &options, nullptr, &margin) == FASTFS_EINVAL && says("must have all genotypes") &&
          says("row 1, column 1"));
    bad.row_list = nullptr;
    bad.n_rows = 13;
    CHECK(fastfs_check_matrix(&bad) == FASTFS_EINVAL && says("n_rows must be at most 12"));
    const std::vector<std::int64_t> far{0, 12};
    bad.row_list = far.data();
    bad.n_rows = 2;
    CHECK(fastfs_check_matrix(&bad) == FASTFS_EINVAL &&
          says("row_list must be from 0 to 11 for SNPs of 3 bytes; got 12 at position 1"));
    bad.storage = FASTFS_DENSE;
    CHECK(fastfs_check_matrix(&bad) == FASTFS_EINVAL && says("for other storage than genotypes"));
}

// Scans pairs for a product that is the target, within a table and between two, with classes and numbers.
void test_interactions() {
    std::vector<double> y(n), covariates(n), permutations(2 * n);
    std::vector<std::int64_t> classes(n);
    for (std::size_t i = 0; i < n; ++i) {
        y[i] = values[i * d + 1] * values[i * d + 4];
        covariates[i] = static_cast<double>(i % 5);
        classes[i] = y[i] > 0;
        permutations[i] = permutations[n + n - 1 - i] = y[i];
    }
    auto options = fastfs::default_interaction_options();
    const fastfs::matrix table(values.data(), n, d);
    auto found = fastfs::interaction_scan(table, nullptr, nullptr, y.data(), options);
    CHECK(found->n_tested == d * (d - 1) / 2 && found->n_pairs == found->n_tested && found->pvalues == nullptr);
    CHECK(found->pairs[0] == 1 && found->pairs[1] == 4 && found->statistics[0] > 1e6 && found->excluded == nullptr);
    CHECK(found->degrees == 1 && found->rest_degrees == n - 4 && std::isfinite(found->statistics[0]));
    CHECK(found->scores[4] == found->statistics[0] && found->n_copies + found->n_products + found->n_explained == 0);

    found = fastfs::interaction_scan(table, &table, nullptr, y.data(), options);
    CHECK(found->n_copies == d && found->n_tested == d * (d - 1) && found->other_scores[1] == found->scores[1]);
    CHECK(found->excluded[0] == 0 && found->excluded[1] == 0 && d < FASTFS_INTERACTION_LISTED);

    options.n_classes = 2;
    found = fastfs::interaction_scan(table, nullptr, classes.data(), nullptr, options);
    CHECK(found->degrees == 1 && found->n_tested == d * (d - 1) / 2);

    options = fastfs::default_interaction_options();
    const auto every = fastfs::interaction_scan(table, nullptr, nullptr, y.data(), options);
    const std::vector<std::int64_t> first{0, 1, 2}, second{3, 4, 3};
    options.first_of_pairs = first.data();
    options.second_of_pairs = second.data();
    options.n_chosen = 3;
    found = fastfs::interaction_scan(table, nullptr, nullptr, y.data(), options);
    CHECK(found->n_tested == 3 && found->pairs[0] == 1 && found->pairs[1] == 4);
    CHECK(found->statistics[0] == every->statistics[0] && found->scores[5] == 0);
    fastfs_interaction_result of_chosen = FASTFS_INTERACTION_RESULT_INIT;
    const auto refuses_pairs = [&](const std::vector<std::int64_t>& lower, const char* words) {
        options.first_of_pairs = lower.data();
        return fastfs_interaction_scan(&X, nullptr, nullptr, y.data(), &options, nullptr, &of_chosen, owner()) ==
                   FASTFS_EINVAL &&
               says(words);
    };
    CHECK(refuses_pairs({3, 1, 2}, "each of second_of_pairs must be larger than its first column; got 3 for 3"));
    CHECK(refuses_pairs({1, 0, 2}, "chosen pairs must be in ascending order"));
    CHECK(refuses_pairs({-1, 1, 2}, "first_of_pairs"));

    options = fastfs::default_interaction_options();
    options.n_pairs = 4;
    options.covariates = covariates.data();
    options.n_covariates = 1;
    options.y_permutations = permutations.data();
    options.n_labelings = 2;
    fastfs_interaction_result result = FASTFS_INTERACTION_RESULT_INIT;
    test_question("interaction_scan", [&](const fastfs_run& how, bool given) {
        return fastfs_interaction_scan(&X, nullptr, nullptr, y.data(), &options, &how, give(given, &result),
                                       give(given, owner()));
    });
    fastfs::check(fastfs_interaction_scan(&X, nullptr, nullptr, y.data(), &options, nullptr, &result, owner()));
    // The true target is among the labelings.
    CHECK(result.n_pairs == 4 && result.null_maxima[0] == result.statistics[0] && result.pvalues[0] >= 2.0 / 3);
    CHECK(result.rest_degrees == n - 5 && result.other_scores == nullptr);
    options.along = 1;
    fastfs::check(fastfs_interaction_scan(&X, nullptr, nullptr, y.data(), &options, nullptr, &result, owner()));
    // A feature that followed the target once follows it.
    CHECK(std::abs(result.null_maxima[0] / result.statistics[0] - 1) < 1e-6 && result.pvalues[0] >= 2.0 / 3);
    CHECK(
        std::abs(result.effects[0] * result.effects[0] / (result.errors[0] * result.errors[0]) / result.statistics[0] -
                 1) < 1e-9 &&
        std::abs(result.correlations[0]) <= 1);
    options.along = 2;
    CHECK(fastfs_interaction_scan(&X, nullptr, nullptr, y.data(), &options, nullptr, &result, owner()) ==
              FASTFS_EINVAL &&
          says("along must be 0 or 1"));
    options.along = 1;
    options.n_classes = 2;
    CHECK(fastfs_interaction_scan(&X, nullptr, classes.data(), nullptr, &options, nullptr, &result, owner()) ==
              FASTFS_EINVAL &&
          says("y must be given with along"));
    options.along = 0;
    options.n_classes = 0;
    test_versions("fastfs_interaction_options", fastfs::default_interaction_options(), 8,
                  [&](fastfs_interaction_options* o) {
                      return fastfs_interaction_scan(&X, nullptr, nullptr, y.data(), o, nullptr, &result, owner());
                  });
    const auto refuses = [&](const fastfs_matrix* other, const std::int64_t* of_classes, const double* numbers,
                             const char* words) {
        const auto status =
            fastfs_interaction_scan(&X, other, of_classes, numbers, &options, nullptr, &result, owner());
        return status == FASTFS_EINVAL && says(words);
    };
    CHECK(refuses(nullptr, classes.data(), y.data(), "one of labels and y must be null"));
    CHECK(refuses(nullptr, classes.data(), nullptr, "n_classes must be at least 2"));
    fastfs_matrix shorter = X;
    shorter.n_rows = n - 1;
    CHECK(refuses(&shorter, nullptr, y.data(), "X and other must have the same rows"));
    options.y_permutations = nullptr;
    CHECK(refuses(nullptr, nullptr, y.data(), "y_permutations must not be null"));
    options.n_labelings = -1;
    CHECK(refuses(nullptr, nullptr, y.data(), "n_labelings must be at least 0"));
    options.n_labelings = std::int64_t{1} << 60;
    options.y_permutations = permutations.data();
    CHECK(refuses(nullptr, nullptr, y.data(), "labelings"));
    options.n_labelings = 0;
    options.n_covariates = n + 1;
    CHECK(refuses(nullptr, nullptr, y.data(), "n_covariates must be from 0 to the 12 samples"));
    options.n_covariates = 1;
    options.covariates = nullptr;
    CHECK(refuses(nullptr, nullptr, y.data(), "covariates must not be null"));
    options.covariates = y.data();
    CHECK(refuses(nullptr, nullptr, y.data(), "covariates must not determine the target"));
    options.n_covariates = 0;
    options.n_classes = 2;
    CHECK(refuses(nullptr, nullptr, y.data(), "n_classes must be 0 with y"));
    options.label_permutations = classes.data();
    options.n_labelings = 1;
    classes[3] = 2;
    CHECK(refuses(nullptr, labels.data(), nullptr, "label_permutations"));
    y[5] = std::numeric_limits<double>::quiet_NaN();
    options.n_classes = options.n_labelings = 0;
    CHECK(refuses(nullptr, nullptr, y.data(), "y"));
    options.n_pairs = 0;
    CHECK(refuses(nullptr, labels.data(), nullptr, "n_pairs"));
}

// Finds all pairs of SNPs, with a class that one SNP makes together with another: from the bits of a .bed file, for
// selected samples and SNPs.
void test_snp_pairs() {
    constexpr std::int64_t n_samples = 200, n_snps = 9, bytes = 50;
    std::vector<std::uint8_t> bits(bytes * n_snps);
    for (std::size_t k = 0; k < bits.size(); ++k) {
        for (int place = 0; place < 4; ++place) {
            const std::size_t code = (k * k * 7 + k * 3 + static_cast<std::size_t>(place) * (k + 5)) % 11 % 3;
            bits[k] |= static_cast<std::uint8_t>((code == 0 ? 0 : code == 1 ? 2 : 3) << 2 * place);
        }
    }
    const auto is_heterozygous = [&](std::int64_t s, std::int64_t i) {
        return (bits[static_cast<std::size_t>(s * bytes + i / 4)] >> 2 * (i % 4) & 3) == 2;
    };
    std::vector<std::int64_t> rows, own, columns{8, 6, 5, 4, 3, 1, 0};
    for (std::int64_t i = n_samples - 1; i >= 0; --i) rows.push_back(i);
    for (const auto i : rows) own.push_back(is_heterozygous(6, i) != is_heterozygous(1, i));
    const auto G = fastfs::matrix::genotypes(bits.data(), n_samples, 7, bytes, rows.data(), columns.data());
    const fastfs_matrix& samples = *G.get();

    auto options = fastfs::default_snp_pairs_options();
    options.labelings = own.data();
    options.n_labelings = 1;
    const auto found = fastfs::snp_pairs(G, own.data(), options);
    CHECK(found->n_tested == 21 && found->n_pairs == 21 && list(found->constant, 7) == std::vector<std::int32_t>(7));
    CHECK(found->pairs[0] == 1 && found->pairs[1] == 5 && found->degrees[0] == 4 && found->statistics[0] > 100);
    // The true labels once more: every p-value is 1.
    CHECK(found->pvalues[0] == 1 && found->null_maxima[0] == found->statistics[0]);
    std::int64_t both = 0, of_class = 0, wrong = 0;
    for (std::size_t k = 0; k < 18; ++k) {
        const bool differ = (k / 6 == 1) != (k / 2 % 3 == 1);
        both += found->tables[k];
        of_class += k % 2 == 1 ? found->tables[k] : 0;
        wrong += differ != (k % 2 == 1) ? found->tables[k] : 0;
    }
    CHECK(both == n_samples && of_class == std::count(own.begin(), own.end(), 1) && wrong == 0);

    fastfs_snp_pairs_result result = FASTFS_SNP_PAIRS_RESULT_INIT;
    test_question("snp_pairs", [&](const fastfs_run& how, bool given) {
        return fastfs_snp_pairs(&samples, own.data(), &options, &how, give(given, &result), give(given, owner()));
    });
    fastfs::check(fastfs_snp_pairs(&samples, own.data(), &options, nullptr, &result, owner()));
    CHECK(result.n_pairs == 21 && list(result.statistics, 21) == list(found->statistics, 21));
    CHECK(list(result.tables, 21 * 18) == list(found->tables, 21 * 18));
    test_versions("fastfs_snp_pairs_options", fastfs::default_snp_pairs_options(), 8, [&](fastfs_snp_pairs_options* o) {
        return fastfs_snp_pairs(&samples, own.data(), o, nullptr, &result, owner());
    });
    result = FASTFS_SNP_PAIRS_RESULT_INIT;
    test_versions("fastfs_snp_pairs_result", result, 8, [&](fastfs_snp_pairs_result* r) {
        return fastfs_snp_pairs(&samples, own.data(), nullptr, nullptr, r, owner());
    });
    const auto refuses = [&](const char* words) {
        return fastfs_snp_pairs(&samples, own.data(), &options, nullptr, &result, owner()) == FASTFS_EINVAL &&
               says(words);
    };
    options.labelings = nullptr;
    CHECK(refuses("labelings must not be null"));
    options.n_labelings = 0;
    options.n_pairs = 0;
    CHECK(refuses("n_pairs"));
    options.n_pairs = 1;
    const std::vector<std::int64_t> chosen{5, 1};
    options.snps = chosen.data();
    options.n_snps = 2;
    CHECK(refuses("snps must be columns of X"));
    options.n_snps = 1;
    CHECK(refuses("X must have two SNPs or more"));
    CHECK(fastfs_snp_pairs(&samples, nullptr, nullptr, nullptr, &result, owner()) == FASTFS_EINVAL &&
          says("one of labels and y must be null, and the other one not; got neither"));

    // The classes as numbers: the same pair is first, and the means are shares.
    std::vector<double> y(own.begin(), own.end()), with_noise = y;
    for (std::size_t s = 0; s < y.size(); ++s) with_noise[s] += static_cast<double>(s * s % 17) / 20;
    auto of_numbers = fastfs::default_snp_pairs_options();
    of_numbers.y = with_noise.data();
    of_numbers.y_permutations = with_noise.data();
    of_numbers.n_labelings = 1;
    of_numbers.covariates = y.data();
    const auto linear = fastfs::snp_pairs(G, nullptr, of_numbers);
    CHECK(linear->n_tested == 21 && linear->pairs[0] == 1 && linear->pairs[1] == 5 && linear->degrees[0] == 4);
    CHECK(linear->rest_degrees[0] == n_samples - 9);
    CHECK(std::abs(linear->scores[5] / linear->statistics[0] - 1) < 1e-9);
    CHECK(linear->tables == nullptr && linear->pvalues[0] == 1 && linear->null_maxima[0] >= linear->statistics[0]);
    double n_both = 0;
    for (std::size_t cell = 0; cell < 9; ++cell) n_both += linear->cells[2 * cell];
    CHECK(n_both == n_samples && linear->n_products + linear->n_few + linear->n_explained == 0);
    const auto refuses_numbers = [&](const char* words, const std::int64_t* labels = nullptr) {
        return fastfs_snp_pairs(&samples, labels, &of_numbers, nullptr, &result, owner()) == FASTFS_EINVAL &&
               says(words);
    };
    CHECK(refuses_numbers("got both", own.data()));
    of_numbers.labelings = own.data();
    CHECK(refuses_numbers("labelings must be null with y: give y_permutations"));
    of_numbers.labelings = nullptr;
    of_numbers.n_covariates = n_samples + 1;
    CHECK(refuses_numbers("n_covariates must be from 0 to the 200 samples; got 201"));
    of_numbers.n_covariates = 1;
    of_numbers.y = y.data();
    CHECK(refuses_numbers("covariates must not determine the target"));
    of_numbers.n_covariates = 0;
    of_numbers.y_permutations = nullptr;
    CHECK(refuses_numbers("y_permutations must not be null"));
    of_numbers.n_labelings = -1;
    CHECK(refuses_numbers("n_labelings must be at least 0; got -1"));
    with_noise[3] = std::nan("");
    of_numbers.y = with_noise.data();
    CHECK(refuses_numbers("y must"));
    of_numbers.y = nullptr;
    of_numbers.n_labelings = 0;
    of_numbers.n_covariates = 1;
    CHECK(refuses_numbers("n_covariates must be 0 with labels; got 1", own.data()));

    // Column 7 of a table of eight is column 2 once more, and 3 is too far away to be compared.
    const std::vector<std::int64_t> twice{8, 6, 5, 4, 3, 1, 0, 5}, positions{0, 1, 2, 1000, 4, 5, 6, 7};
    const auto clumped = fastfs::matrix::genotypes(bits.data(), n_samples, 8, bytes, rows.data(), twice.data());
    const std::vector<double> scores{1, 2, 3, 4, 5, 6, 7, 8};
    auto of_clumps = fastfs::default_ld_clumps_options();
    of_clumps.window = 100;
    of_clumps.positions = positions.data();
    const auto clumps = fastfs::ld_clumps(clumped, scores.data(), of_clumps);
    CHECK(clumps->leads[0] == 7 && clumps->leads[1] == 6 && clumps->clumps[7] == 0 && clumps->clumps[2] == 0);
    CHECK(clumps->clumps[3] == std::find(clumps->leads, clumps->leads + clumps->n_clumps, 3) - clumps->leads);
    fastfs_ld_clumps_result found_clumps = FASTFS_LD_CLUMPS_RESULT_INIT;
    test_question("ld_clumps", [&](const fastfs_run& how, bool given) {
        return fastfs_ld_clumps(clumped.get(), scores.data(), &of_clumps, &how, give(given, &found_clumps),
                                give(given, owner()));
    });
    fastfs::check(fastfs_ld_clumps(clumped.get(), scores.data(), &of_clumps, nullptr, &found_clumps, owner()));
    CHECK(list(found_clumps.clumps, 8) == list(clumps->clumps, 8));
    found_clumps = FASTFS_LD_CLUMPS_RESULT_INIT;
    test_versions("fastfs_ld_clumps_result", found_clumps, 8, [&](fastfs_ld_clumps_result* r) {
        return fastfs_ld_clumps(clumped.get(), scores.data(), &of_clumps, nullptr, r, owner());
    });
    of_clumps.positions = nullptr;
    CHECK(fastfs_ld_clumps(clumped.get(), scores.data(), &of_clumps, nullptr, &found_clumps, owner()) ==
              FASTFS_EINVAL &&
          says("positions must not be null"));
    CHECK(fastfs::bytes_needed([&](const fastfs::run& how) {
              fastfs::snp_pairs(G, own.data(), fastfs::default_snp_pairs_options(), how);
          }) > 0);
}

void test_places() {
    using namespace fastfs::core;
    const auto status = guarded([] {
        naming_place(Name::kernel(1), [] {
            naming_place(Name::chunk(2), [] { refuse(Message() << "no sample of " << Name::class_(3) << " is left"); });
        });
    });
    CHECK(status == FASTFS_EINVAL);
    const std::string message = fastfs_last_error();
    CHECK(message == "in matrix 1, chunk 2: no sample of class 3 is left");
    CHECK(fastfs_last_error_places(nullptr, 0) == 3);
    fastfs_place places[4] = {FASTFS_PLACE_INIT};
    CHECK(fastfs_last_error_places(places, 1) == 3);
    CHECK(places[1].kind == 0);
    CHECK(fastfs_last_error_places(places, 4) == 3);
    const fastfs_place_kind kinds[] = {FASTFS_PLACE_KERNEL, FASTFS_PLACE_CHUNK, FASTFS_PLACE_CLASS};
    const char* names[] = {"matrix 1", "chunk 2", "class 3"};
    for (int k = 0; k < 3; ++k) {
        const auto begin = static_cast<std::size_t>(places[k].begin), end = static_cast<std::size_t>(places[k].end);
        CHECK(places[k].kind == kinds[k] && places[k].number == k + 1);
        CHECK(message.substr(begin, end - begin) == names[k]);
    }

    // An error with places, and an error without.
    const double values[] = {1, 2, 3, std::numeric_limits<double>::quiet_NaN()};
    double out[4];
    const auto options = fastfs::sqeuclidean();
    CHECK(fastfs_affinity(fastfs::matrix(values, 2, 2).get(), &options, nullptr, out) == FASTFS_EINVAL);
    CHECK(fastfs_last_error_places(places, 4) == 3);  // X, row 1, column 1
    CHECK(places[1].kind == FASTFS_PLACE_ROW && places[1].number == 1);
    CHECK(places[2].kind == FASTFS_PLACE_COLUMN && places[2].number == 1);
    const double more[] = {1, 2, 3, 4};
    fastfs_matrix chunks[] = {*fastfs::matrix(more, 2, 2).get(), *fastfs::matrix(more, 2, 2).get()};
    chunks[1].values = nullptr;
    fastfs_manifest* manifest = nullptr;
    CHECK(fastfs_manifest_new(chunks, 2, 0, nullptr, &manifest) == FASTFS_EINVAL);
    CHECK(says("in chunk 1: the values of X must not be null"));
    CHECK(fastfs_last_error_places(places, 4) == 2);
    CHECK(places[0].kind == FASTFS_PLACE_CHUNK && places[0].number == 1);
    fastfs_run negative = FASTFS_RUN_INIT;
    negative.max_memory = -1;
    CHECK(fastfs_run_limits(&negative, nullptr, nullptr) == FASTFS_EINVAL);
    CHECK(fastfs_last_error_places(places, 4) == 0);
}

bool warned_of(std::initializer_list<const char*> codes) {
    const auto warnings = fastfs::last_warnings();
    return std::equal(warnings.begin(), warnings.end(), codes.begin(), codes.end(),
                      [](const fastfs::warning& one, const char* code) { return one.code == code; });
}

void test_warnings() {
    using namespace fastfs::core;
    const auto one_and_two = [] {
        warn("one", {"there is one sample in ", some_of({Message() << Name::class_(2), Message() << Name::class_(4)})});
        warn("two", "there are two");
        warn("two", "there are two");  // a call says it once
    };
    CHECK(guarded(one_and_two) == FASTFS_OK);
    const fastfs_warning* one = fastfs_last_warning(0);
    CHECK(one && one->struct_size == sizeof *one && std::strcmp(one->code, "one") == 0);
    CHECK(one->message == std::string("there is one sample in class 2, class 4") && one->n_places == 2);
    for (int k = 0; k < 2; ++k) {
        CHECK(one->places[k].kind == FASTFS_PLACE_CLASS && one->places[k].number == 2 + 2 * k);
        CHECK(one->places[k].begin == 23 + 9 * k && one->places[k].end == 30 + 9 * k);
    }
    CHECK(fastfs_last_warning(1) && fastfs_last_warning(1)->n_places == 0);
    CHECK(fastfs_last_warning(-1) == nullptr && fastfs_last_warning(2) == nullptr);
    std::thread([] { CHECK(fastfs_last_warning(0) == nullptr); }).join();

    // Functions without a status leave the warnings as they are; the next call replaces them, and so does a failure.
    fastfs_stream* stream = nullptr;
    CHECK(guarded([&] {
              fastfs::check(fastfs_gram_stream_new(3, nullptr, &stream));
              warn("outer", "said after a call within the call");
          }) == FASTFS_OK);
    CHECK(warned_of({"outer"}));
    fastfs_stream_free(stream);
    CHECK(fastfs_stream_size(nullptr) == -1 && fastfs_fields("fastfs_projse_options", 0) && fastfs_isa());
    CHECK(warned_of({"outer"}));
    CHECK(fastfs_run_limits(nullptr, nullptr, nullptr) == FASTFS_OK && warned_of({}));
    CHECK(guarded([&] {
              one_and_two();
              refuse("no");
          }) == FASTFS_EINVAL);
    CHECK(warned_of({}));

    // Tasks on other threads have no call, so a warning there is a defect, which isn't lost.
    fastfs_status elsewhere = FASTFS_OK;
    CHECK(guarded([&] {
              std::thread([&] { elsewhere = attempt([] { warn("lost", "nobody would hear this"); }); }).join();
          }) == FASTFS_OK);
    CHECK(elsewhere == FASTFS_EINTERNAL);

    // Those of methods: of this call only, and none while it asks for memory.
    auto options = fastfs::default_projse_options();
    const fastfs::matrix two_rows(values.data(), 2, d);
    const std::vector<std::int64_t> two{0, 1};
    options.n_select = 3;
    fastfs::projse(two_rows, two.data(), 2, options);
    CHECK(warned_of({"all_samples", "few_selected"}));
    CHECK(fastfs::last_warnings()[1].message.find("only 1 of the 3 features asked for") == 0);
    fastfs::bytes_needed([&](const fastfs::run& how) { fastfs::projse(two_rows, two.data(), 2, options, how); });
    CHECK(warned_of({}));
    std::vector<std::int64_t> alone(n, 0);
    alone[3] = 1;
    alone[4] = 2;
    auto relieff = fastfs::default_relief_options();
    relieff.n_neighbors = 2;
    const auto warned_by_relief = [&] {
        fastfs::margin(fastfs::matrix(values.data(), n, d)).relief(alone.data(), 3, relieff);
        const auto warnings = fastfs::last_warnings();
        CHECK(warnings.size() == 2 && warnings[0].code == "one_sample" && warnings[1].code == "few_neighbors");
        CHECK(warnings[0].places.size() == 2 && warnings[0].places[1].number == 2);
        return warnings.empty() ? std::string() : warnings[0].message;
    };
    std::string there;
    std::thread([&] { there = warned_by_relief(); }).join();
    CHECK(there == warned_by_relief());
}

// Inputs that the fuzzer of tests/fuzz found.
void test_findings() {
    const double values[] = {1, 2, 3, 4, 5, 7, 6, 8, 9, 1, 1, 2}, ones[] = {1, 1, 0.5};
    const std::int64_t labels[] = {0, 1, 2, 0, 1, 2}, begins[] = {0, std::int64_t{1} << 60};
    const fastfs::matrix X(values, 6, 2);
    fastfs_relief_options options = FASTFS_RELIEF_OPTIONS_INIT;
    fastfs_stream* stream = nullptr;
    options.far = 1;  // groups that a stream doesn't make
    CHECK(fastfs_relief_stream_new(6, 2, labels, 3, FASTFS_SCALE_RANGE, &options, nullptr, &stream) == FASTFS_EINVAL);
    CHECK(says("far must be 0 for a stream; got 1"));
    options.far = 0;
    fastfs::check(fastfs_relief_stream_new(6, 2, labels, 3, FASTFS_SCALE_RANGE, &options, nullptr, &stream));
    fastfs_block block = FASTFS_BLOCK_INIT;
    block.X = X.get();
    block.first_row = std::numeric_limits<std::int64_t>::max();
    CHECK(fastfs_stream_update(stream, &block, nullptr) == FASTFS_EINVAL);
    block.first_row = 0;
    fastfs::check(fastfs_stream_update(stream, &block, nullptr));
    std::vector<char> bytes(static_cast<std::size_t>(fastfs_stream_size(stream)));
    const std::int64_t n_bytes = std::ssize(bytes);
    fastfs::check(fastfs_stream_save(stream, bytes.data(), n_bytes));
    fastfs_stream* other = nullptr;
    fastfs::check(fastfs_relief_stream_new(6, 2, labels, 3, FASTFS_SCALE_RANGE, &options, nullptr, &other));
    const double nan = std::numeric_limits<double>::quiet_NaN();
    std::int64_t n_refused = 0;
    for (std::int64_t at = 0; at + 8 <= n_bytes; at += 8) {  // numbers, and how many there are
        std::vector<char> changed = bytes;
        std::memcpy(changed.data() + at, &nan, 8);
        const fastfs_status status = fastfs_stream_load(other, changed.data(), n_bytes);
        n_refused += status == FASTFS_EINVAL;
    }
    CHECK(n_refused == n_bytes / 8);
    fastfs::check(fastfs_stream_load(other, bytes.data(), n_bytes));
    fastfs_stream_free(other);
    fastfs_stream_free(stream);

    // Sums that could be saved, but not be loaded.
    const double large[] = {1e160, 1, 2, 3}, small[] = {1, 2, 3, 4};
    fastfs_manifest_options of_sums = FASTFS_MANIFEST_OPTIONS_INIT;
    of_sums.accuracy = FASTFS_MANIFEST_EXACT;
    fastfs_stream *sums = nullptr, *read = nullptr;
    fastfs::check(fastfs_manifest_stream_new(2, 2, &of_sums, nullptr, &sums));
    fastfs::check(fastfs_manifest_stream_new(2, 2, &of_sums, nullptr, &read));
    const std::int64_t groups[] = {0, 1};
    CHECK(update_stream(sums, fastfs::matrix(large, 2, 2).get(), nullptr, groups) == FASTFS_EINVAL);
    CHECK(says("the values of row 0 are too large"));
    fastfs::check(update_stream(sums, fastfs::matrix(small, 2, 2).get(), nullptr, groups));
    CHECK(load_stream(read, bytes_of(sums)) == FASTFS_OK);
    fastfs_stream_free(sums);
    fastfs_stream_free(read);

    // Sums of no rows at all: a fit ends. Some of them have negative squares.
    of_sums.accuracy = FASTFS_MANIFEST_LOW_RANK;
    of_sums.rank = 1;
    fastfs::check(fastfs_manifest_stream_new(6, 2, &of_sums, nullptr, &sums));
    const std::int64_t two[] = {0, 1};
    fastfs::check(update_stream(sums, fastfs::matrix(values, 2, 6).get(), nullptr, two));
    const std::vector<char> saved = bytes_of(sums);
    fastfs_stream_free(sums);
    fastfs_manifest_result result = FASTFS_MANIFEST_RESULT_INIT;
    const fastfs_manifest_scale scale = FASTFS_MANIFEST_SCALE_INIT;
    for (std::size_t first = kHeaderBytes; first < saved.size(); first += 8) {
        std::vector<char> strange = saved;
        for (std::size_t e = first; e < std::min(first + 32, saved.size()); e += 8) {
            double sum;
            std::memcpy(&sum, strange.data() + e, 8);
            sum = -1e3 * (sum + 1);
            std::memcpy(strange.data() + e, &sum, 8);
        }
        fastfs::check(fastfs_manifest_stream_new(6, 2, &of_sums, nullptr, &sums));
        if (load_stream(sums, strange) == FASTFS_OK) {
            CHECK(fastfs_manifest_stream_finish(sums, two, 2, &of_sums, &scale, 1, nullptr, &result, owner()) !=
                  FASTFS_EINTERNAL);
        }
        fastfs_stream_free(sums);
    }

    // A sample without the value of a feature that has no weight.
    fastfs_margin* margin = nullptr;
    fastfs::check(fastfs_margin_new(X.get(), nullptr, nullptr, &margin));
    fastfs_margin_metric metric = FASTFS_MARGIN_METRIC_INIT;
    const double weights[] = {1, 0}, gap[] = {2, nan};
    metric.weights = weights;
    double parts[2] = {nan, nan};
    fastfs::check(
        fastfs_margin_explain(margin, labels, 3, &metric, fastfs::matrix(gap, 1, 2).get(), labels, nullptr, parts));
    CHECK(std::isfinite(parts[0]) && parts[1] == 0);
    fastfs_margin_free(margin);

    fastfs_ikdr_model model = FASTFS_IKDR_MODEL_INIT;
    model.n_kernels = 1;
    model.weights = model.deltas = model.means = model.scales = model.support = model.coefficients = ones;
    model.begins = begins;  // more columns than there can be
    model.features = labels;
    model.n_support = 1000;
    model.n_components = 1;
    double out[6];
    CHECK(fastfs_ikdr_embed(&model, X.get(), nullptr, out) == FASTFS_EINVAL);
    CHECK(says("the support must fit the memory; got 1000 x 1152921504606846976 values"));
}

int main() {
    if (fastfs_isa() == nullptr) {
        std::printf("skipped: %s\n", fastfs_last_error());
        return 77;
    }
    CHECK(fastfs_abi_version() == FASTFS_ABI_VERSION);
    test_tables_before_registration();
    fastfs::check(fastfs_link_blas());
    test_tables_after_registration();
    test_fields();
    test_null();
    test_negative_sizes();
    test_margin_options();
    test_too_large_sizes();
    test_struct_sizes();
    test_questions();
    test_questions_in_cpp();
    test_progress_after_cancel();
    test_untouched_outputs();
    test_kernels_without_numbers();
    test_genotypes();
    test_interactions();
    test_snp_pairs();
    test_places();
    test_warnings();
    test_findings();
    std::printf("%s: %d failures\n", fastfs_isa(), failures);
    return failures == 0 ? 0 : 1;
}
