// Handles of the C interface that are misused: within their own calls, as handles of another type; and arrays that are
// not aligned or have no strides.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <new>
#include <random>
#include <string>
#include <vector>

// The symbols of the scipy-openblas32 wheel.
#define FASTFS_BLAS_SYMBOL(name) scipy_##name##_
#define FASTFS_BLAS_SET_THREADS scipy_openblas_set_num_threads
#define FASTFS_BLAS_GET_THREADS scipy_openblas_get_num_threads

#include "fastfs/fastfs.hpp"
#include "fastfs/link_blas.h"
#include "results.hpp"
#include "streams.hpp"

namespace {

int failures = 0;

void check(bool fine, int line, const char* what) {
    if (fine) return;
    ++failures;
    std::fprintf(stderr, "%s:%d: %s (last error: %s)\n", __FILE__, line, what, fastfs_last_error());
}
#define CHECK(condition) check(condition, __LINE__, #condition)

bool says(const char* text) { return std::strstr(fastfs_last_error(), text) != nullptr; }

// Tests if a call is refused with a message that contains `text`.
bool refused(fastfs_status status, const char* text) { return status == FASTFS_EINVAL && says(text); }

std::vector<double> normal_values(std::int64_t n, std::int64_t d) {
    std::mt19937 engine(1);
    std::normal_distribution<double> normal;
    std::vector<double> values(static_cast<std::size_t>(n * d));
    for (double& v : values) v = normal(engine);
    return values;
}

std::vector<std::int64_t> alternating(std::int64_t n) {
    std::vector<std::int64_t> labels(static_cast<std::size_t>(n));
    for (std::size_t r = 0; r < labels.size(); ++r) labels[r] = static_cast<std::int64_t>(r % 2);
    return labels;
}

// ---- a handle within its own call -----------------------------------------------------------------------------------

// A kernel is called on other threads too.
void test_kernel_of_gram() {
    const std::int64_t n = 20, d = 1000;
    const std::vector<double> values = normal_values(n, d);
    const fastfs_matrix X = *fastfs::matrix(values.data(), n, d).get();
    fastfs_stream* gram = nullptr;
    fastfs::check(fastfs_gram_stream_new(d, nullptr, &gram));
    CHECK(update_stream(gram, &X) == FASTFS_OK);
    struct Asked {
        fastfs_stream* gram;
        std::atomic<int> refused{0}, others{0};
    } asked{gram};
    fastfs_affinity_options options = FASTFS_AFFINITY_OPTIONS_INIT;
    options.kernel = FASTFS_CUSTOM;
    options.user = &asked;
    options.custom = [](double*, std::int64_t, std::int64_t, std::int64_t, const double*, const double*, double,
                        void* user) {
        auto* self = static_cast<Asked*>(user);
        ++(rows_of(self->gram) == -1 ? self->refused : self->others);
    };
    std::vector<double> out(static_cast<std::size_t>(d * d));
    fastfs_run four = FASTFS_RUN_INIT;
    four.n_threads = 4;
    CHECK(fastfs_gram_stream_finish(gram, &options, &four, out.data()) == FASTFS_OK);
    CHECK(asked.refused > 0 && asked.others == 0);
    fastfs_stream_free(gram);
}

// ---- handles of other types -----------------------------------------------------------------------------------------

void test_other_types() {
    const std::int64_t n = 12, d = 6;
    const std::vector<double> values = normal_values(n, d);
    const std::vector<std::int64_t> labels = alternating(n);
    const fastfs_matrix X = *fastfs::matrix(values.data(), n, d).get();
    fastfs_stream* stream = nullptr;
    fastfs::check(fastfs_gram_stream_new(d, nullptr, &stream));
    const auto as = [&]<class Other>(Other*) { return reinterpret_cast<Other*>(stream); };
    auto* margin = as(static_cast<fastfs_margin*>(nullptr));
    fastfs_relief_result result = FASTFS_RELIEF_RESULT_INIT;
    CHECK(refused(fastfs_relief(margin, labels.data(), 2, nullptr, nullptr, &result, owner()),
                  "margin must be a fastfs_margin; got a handle of another type"));
    CHECK(
        refused(fastfs_disc_graph(as(static_cast<fastfs_fitted*>(nullptr)), 0, 64, nullptr, nullptr, nullptr, nullptr),
                "fitted must be a fastfs_fitted"));
    fastfs_margin_free(margin);
    CHECK(says("margin must be a fastfs_margin") && rows_of(stream) == 0);
    fastfs_stream_free(stream);
    fastfs::check(fastfs_margin_new(&X, nullptr, nullptr, &margin));
    CHECK(refused(fastfs_stream_update(reinterpret_cast<fastfs_stream*>(margin), nullptr, nullptr),
                  "stream must be a fastfs_stream"));
    fastfs_margin_free(margin);
}

// ---- arrays ---------------------------------------------------------------------------------------------------------

// Room for values that don't begin where values should.
template <class T>
T* misaligned() {
    static std::vector<char> room(1 << 16);
    return reinterpret_cast<T*>(room.data() + 1);
}

void test_alignment() {
    const std::int64_t n = 12, d = 6;
    const std::vector<double> values = normal_values(n, d);
    const std::vector<std::int64_t> labels = alternating(n);
    const fastfs_matrix X = *fastfs::matrix(values.data(), n, d).get();
    auto *numbers = misaligned<double>(), *out = numbers;
    auto* integers = misaligned<std::int64_t>();
    const auto aligned = [](fastfs_status status, const char* name) {
        return refused(status, (std::string(name) + " must be aligned").c_str());
    };
    fastfs_matrix bad = X;
    bad.values = numbers;
    CHECK(aligned(fastfs_check_matrix(&bad), "the values of X"));
    std::vector<double> K(36), scores(36);
    CHECK(aligned(fastfs_affinity(&bad, nullptr, nullptr, K.data()), "the values of X"));
    CHECK(aligned(fastfs_affinity(&X, nullptr, nullptr, out), "out"));
    const std::vector<std::int32_t> indices{0}, indptr(13, 0);
    fastfs_matrix sparse = *fastfs::matrix::csr(values.data(), indices.data(), indptr.data(), n, d).get();
    sparse.indptr = misaligned<std::int32_t>();
    CHECK(aligned(fastfs_check_matrix(&sparse), "the offsets indptr of X"));
    sparse.indptr = indptr.data();
    sparse.indices = misaligned<std::int32_t>();
    CHECK(aligned(fastfs_check_matrix(&sparse), "the indices of X"));
    const std::vector<std::uint8_t> bits(18);
    fastfs_matrix genotypes = *fastfs::matrix::genotypes(bits.data(), n, d, 3).get();
    genotypes.row_list = integers;
    CHECK(aligned(fastfs_check_matrix(&genotypes), "the places row_list of X"));

    fastfs_margin* margin = nullptr;
    fastfs_margin_options options = FASTFS_MARGIN_OPTIONS_INIT;
    const auto make = [&] { return fastfs_margin_new(&X, &options, nullptr, &margin); };
    options.sample_weights = numbers;
    CHECK(aligned(make(), "sample_weights"));
    options.sample_weights = nullptr;
    options.distances = numbers;
    CHECK(aligned(make(), "distances"));
    options.distances = nullptr;
    options.levels = integers;
    CHECK(aligned(make(), "levels"));
    options.levels = nullptr;
    CHECK(make() == FASTFS_OK);
    fastfs_relief_options relief = FASTFS_RELIEF_OPTIONS_INIT;
    fastfs_relief_result result = FASTFS_RELIEF_RESULT_INIT;
    CHECK(aligned(fastfs_relief(margin, integers, 2, &relief, nullptr, &result, owner()), "labels"));
    relief.priors = numbers;
    CHECK(aligned(fastfs_relief(margin, labels.data(), 2, &relief, nullptr, &result, owner()), "priors"));
    relief.priors = nullptr;
    CHECK(refused(fastfs_relief(margin, labels.data(), 2, &relief, nullptr, nullptr, owner()),
                  "result must not be null"));
    CHECK(refused(fastfs_relief(margin, labels.data(), 2, &relief, nullptr, &result, nullptr),
                  "fitted must not be null"));
    CHECK(result.scores == nullptr);
    CHECK(aligned(fastfs_margin_use(margin, integers, 2, nullptr, nullptr), "features"));
    CHECK(aligned(fastfs_margin_scaling(margin, out, scores.data()), "shift"));
    fastfs_margin_free(margin);

    fastfs_projse_result chosen = FASTFS_PROJSE_RESULT_INIT;
    CHECK(refused(fastfs_projse(&X, nullptr, labels.data(), 2, nullptr, nullptr, nullptr, owner()),
                  "result must not be null"));
    CHECK(refused(fastfs_projse(&X, nullptr, labels.data(), 2, nullptr, nullptr, &chosen, nullptr),
                  "fitted must not be null"));
    CHECK(aligned(fastfs_projse(&X, nullptr, integers, 2, nullptr, nullptr, &chosen, owner()), "labels"));
    fastfs_projse_options from_y = FASTFS_PROJSE_OPTIONS_INIT;
    from_y.from_y = 1;
    CHECK(
        refused(fastfs_projse(&X, nullptr, labels.data(), 2, &from_y, nullptr, &chosen, owner()), "exchange X and Y"));

    fastfs_manifest* manifest = nullptr;
    fastfs::check(fastfs_manifest_new(&X, 1, 0, nullptr, &manifest));
    fastfs_manifest_result of_manifest = FASTFS_MANIFEST_RESULT_INIT;
    const fastfs_manifest_scale scale = FASTFS_MANIFEST_SCALE_INIT;
    const auto fit = [&](const fastfs_manifest_options* o, fastfs_manifest_result* results, fastfs_fitted** fitted) {
        return fastfs_manifest_fit(manifest, labels.data(), 2, o, &scale, 1, nullptr, results, fitted);
    };
    CHECK(refused(fit(nullptr, nullptr, owner()), "results must not be null"));
    CHECK(refused(fit(nullptr, &of_manifest, nullptr), "fitted must not be null"));
    fastfs_manifest_options unusual = FASTFS_MANIFEST_OPTIONS_INIT;
    unusual.agreement = 2;
    CHECK(refused(fit(&unusual, &of_manifest, owner()), "agreement must be 0 or 1; got 2"));
    unusual.agreement = 1;
    unusual.n_components = d + 1;
    CHECK(refused(fit(&unusual, &of_manifest, owner()), "n_components must be from 0 to the"));
    CHECK(refused(fastfs_manifest_fit(manifest, nullptr, 2, nullptr, &scale, 1, nullptr, &of_manifest, owner()),
                  "labels must not be null"));
    CHECK(refused(fastfs_manifest_fit(manifest, labels.data(), 2, nullptr, nullptr, 1, nullptr, &of_manifest, owner()),
                  "scales must not be null"));
    fastfs_manifest_free(manifest);

    CHECK(aligned(fastfs_eigh(2, out, scores.data(), nullptr), "A"));
    CHECK(aligned(fastfs_manifest_kernels(6, K.data(), numbers, nullptr, nullptr, &of_manifest, owner()), "K2"));
    CHECK(aligned(fastfs_nearest_features(&X, 2, nullptr, integers, scores.data()), "neighbors"));
    fastfs_stream* gram = nullptr;
    CHECK(aligned(fastfs_gram_stream_new(d, nullptr, reinterpret_cast<fastfs_stream**>(numbers)), "stream"));
    fastfs::check(fastfs_gram_stream_new(d, nullptr, &gram));
    CHECK(aligned(fastfs_gram_stream_finish(gram, nullptr, nullptr, out), "out"));
    fastfs_stream_free(gram);
}

// Without row_stride, rows are consecutive; a stride of 0 means one row, or column, many times.
void test_strides() {
    const std::int64_t n = 8, d = 2;
    const std::vector<double> values{0, 0, 1, 3, 2, 1, 3, 5, 4, 4, 5, 2, 6, 7, 7, 6};
    fastfs_matrix X = FASTFS_MATRIX_INIT;
    X.values = values.data();
    X.n_rows = n;
    X.n_cols = d;
    double K[4], expected[4];
    CHECK(fastfs_affinity(&X, nullptr, nullptr, K) == FASTFS_OK);
    X.row_stride = d;
    CHECK(fastfs_affinity(&X, nullptr, nullptr, expected) == FASTFS_OK);
    CHECK(std::equal(K, K + 4, expected) && K[1] > 4e-5 && K[1] < 5e-5);
    X.row_stride = 0;
    X.col_stride = n;
    CHECK(refused(fastfs_check_matrix(&X), "row_stride of X must be given if col_stride isn't 1"));
    X.row_stride = 2;
    X.col_stride = 0;
    CHECK(refused(fastfs_check_matrix(&X), "col_stride of X must not be 0"));
    X.n_cols = 1;
    CHECK(fastfs_check_matrix(&X) == FASTFS_OK);
    X.n_rows = 1;
    X.n_cols = 2;
    X.row_stride = 0;
    X.col_stride = 3;
    CHECK(fastfs_check_matrix(&X) == FASTFS_OK);
}

// ---- streams of ManiFeSt
// ---------------------------------------------------------------------------------------------

void test_manifest_stream() {
    const std::int64_t n = 40, d = 60;
    const std::vector<double> values = normal_values(n, d);
    const std::vector<std::int64_t> groups = alternating(n), classes{0, 1};
    const fastfs_matrix X = *fastfs::matrix(values.data(), n, d).get();
    const fastfs_manifest_scale scale = FASTFS_MANIFEST_SCALE_INIT;
    std::vector<double> scores;
    const auto make = [&](const fastfs_manifest_options* options) {
        fastfs_stream* sums = nullptr;
        CHECK(fastfs_manifest_stream_new(d, 2, options, nullptr, &sums) == FASTFS_OK);
        if (sums) fastfs::check(update_stream(sums, &X, nullptr, groups.data()));
        return sums;
    };
    const auto fit = [&](const fastfs_stream* sums, const fastfs_manifest_options* options) {
        fastfs_manifest_result result = FASTFS_MANIFEST_RESULT_INIT;
        const fastfs_status status =
            fastfs_manifest_stream_finish(sums, classes.data(), 2, options, &scale, 1, nullptr, &result, owner());
        if (status == FASTFS_OK) scores = list(result.scores, d);
        return status;
    };
    // A fit without options follows the plan, which is exact.
    fastfs_stream* sums = make(nullptr);
    CHECK(fit(sums, nullptr) == FASTFS_OK);
    const std::vector<double> exact = scores;
    fastfs_manifest_options options = FASTFS_MANIFEST_OPTIONS_INIT;
    options.accuracy = FASTFS_MANIFEST_EXACT;
    CHECK(fit(sums, &options) == FASTFS_OK && scores == exact);
    options.accuracy = FASTFS_MANIFEST_LOW_RANK;  // of a rank that makes it exact
    CHECK(fit(sums, &options) == FASTFS_OK && scores == exact);
    options.rank = 5;
    CHECK(refused(fit(sums, &options), "accuracy must be \"auto\", \"exact\", \"domains\" or \"small_domains\""));
    fastfs_stream_free(sums);

    sums = make(&options);
    CHECK(fit(sums, &options) == FASTFS_OK);
    const std::vector<double> fast = scores;
    CHECK(fast != exact);
    options.accuracy = FASTFS_MANIFEST_AUTO;
    CHECK(fit(sums, &options) == FASTFS_OK && scores == fast);
    options.accuracy = FASTFS_MANIFEST_EXACT;
    CHECK(refused(fit(sums, &options), "accuracy must be \"auto\" or \"low_rank\""));
    options.accuracy = FASTFS_MANIFEST_LOW_RANK_HIGH;
    CHECK(refused(fit(sums, &options), "accuracy must be another one than \"low_rank_high\""));
    options.accuracy = FASTFS_MANIFEST_LOW_RANK;
    for (const std::int64_t rank : {4, 6, 200}) {
        options.rank = rank;
        CHECK(refused(fit(sums, &options), "rank must be 5, as these sums were made"));
    }
    CHECK(refused(fit(sums, nullptr), "rank must be 5, as these sums were made; got 50"));
    options.rank = 5;
    options.accuracy = FASTFS_MANIFEST_AUTO;
    options.form = FASTFS_MANIFEST_SPD;
    CHECK(refused(fit(sums, &options), "form must be \"pencil\""));
    fastfs_stream_free(sums);
}

// ---- messages -------------------------------------------------------------------------------------------------------

void test_places_of_other_sizes() {
    fastfs_stream* gram = nullptr;
    CHECK(fastfs_gram_stream_new(-1, nullptr, &gram) == FASTFS_EINVAL);
    fastfs_place places[2] = {FASTFS_PLACE_INIT, FASTFS_PLACE_INIT};
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{61}, std::size_t{1} << 20}) {
        places[0].struct_size = size;
        CHECK(fastfs_last_error_places(places, 2) == -1);
        CHECK(fastfs_last_error_places(places, 0) == 0);  // only the number
    }
    CHECK(fastfs_last_error_places(nullptr, 2) == 0);
}

void test_unknown_fields() {
    std::vector<unsigned char> newer(1000, 1);
    fastfs_matrix* X = new (newer.data()) fastfs_matrix(FASTFS_MATRIX_INIT);
    X->struct_size = 1000;
    CHECK(refused(fastfs_check_matrix(X), "its struct_size is 1000, and only the first"));
}

}  // namespace

int main() {
    if (fastfs_isa() == nullptr) {
        std::printf("skipped: %s\n", fastfs_last_error());
        return 77;
    }
    fastfs::check(fastfs_link_blas());
    test_kernel_of_gram();
    test_other_types();
    test_alignment();
    test_strides();
    test_manifest_stream();
    test_places_of_other_sizes();
    test_unknown_fields();
    std::printf("%s: %d failures\n", fastfs_isa(), failures);
    return failures == 0 ? 0 : 1;
}
