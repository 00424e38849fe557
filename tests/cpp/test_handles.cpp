// Handles of the C interface that are misused: after an update that stopped halfway, with rows that come twice or not
// at all, within their own calls, as handles of another type; and arrays that are not aligned or have no strides.
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

namespace {

int failures = 0;

void check(bool fine, int line, const char* what) {
    if (fine) return;
    ++failures;
    std::fprintf(stderr, "%s:%d: %s (last error: %s)\n", __FILE__, line, what, fastfs_last_error());
}
#define CHECK(condition) check(condition, __LINE__, #condition)

bool says(const char* text) { return std::strstr(fastfs_last_error(), text) != nullptr; }

// The call is refused with these words.
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

// A large group and a small one, of which a stream of DiSC keeps sketches (from 257 rows on) and rows.
std::vector<std::int64_t> unequal(std::int64_t n) {
    std::vector<std::int64_t> labels(static_cast<std::size_t>(n));
    for (std::size_t r = 0; r < labels.size(); ++r) labels[r] = r % 32 == 31;
    return labels;
}

// ---- streams --------------------------------------------------------------------------------------------------------

// The functions that both kinds of streams have, and what ends a stream.
struct ReliefStreams {
    using Handle = fastfs_relief_stream;
    static constexpr int kPasses = 2;
    std::int64_t n, d;
    std::vector<std::int64_t> labels = alternating(n);

    Handle* make() const {
        fastfs_relief_options options = FASTFS_RELIEF_OPTIONS_INIT;
        options.n_neighbors = 2;
        Handle* stream = nullptr;
        fastfs::check(fastfs_relief_stream_new(n, d, labels.data(), 2, FASTFS_SCALE_RANGE, &options, nullptr, &stream));
        return stream;
    }
    static fastfs_status update(Handle* s, const fastfs_matrix* X, std::int64_t first, const fastfs_run* run) {
        return fastfs_relief_stream_update(s, X, first, run);
    }
    static fastfs_status copy(const Handle* s, Handle** made) { return fastfs_relief_stream_copy(s, made); }
    static fastfs_status merge(Handle* s, const Handle* other) { return fastfs_relief_stream_merge(s, other); }
    static std::int64_t size(const Handle* s) { return fastfs_relief_stream_size(s); }
    static fastfs_status save(const Handle* s, void* to, std::int64_t n) { return fastfs_relief_stream_save(s, to, n); }
    static fastfs_status load(Handle* s, const void* of, std::int64_t n) { return fastfs_relief_stream_load(s, of, n); }
    static fastfs_status next(Handle* s) { return fastfs_relief_stream_next(s, nullptr); }
    static void free(Handle* s) { fastfs_relief_stream_free(s); }
    // Ends the last pass.
    fastfs_status end(Handle* s, std::vector<double>* scores = nullptr) const {
        std::vector<double> own(static_cast<std::size_t>(d));
        fastfs_relief_result result = FASTFS_RELIEF_RESULT_INIT;
        result.scores = own.data();
        const fastfs_status status = fastfs_relief_stream_scores(s, nullptr, 0, nullptr, &result);
        if (scores) *scores = own;
        return status;
    }
};

struct DiscStreams {
    using Handle = fastfs_disc_stream;
    static constexpr int kPasses = 2;  // with more than FASTFS_DISC_MOST_SUMS features
    std::int64_t n, d;
    std::vector<std::int64_t> labels = unequal(n);

    Handle* make() const {
        Handle* stream = nullptr;
        fastfs::check(fastfs_disc_stream_new(n, d, labels.data(), 2, nullptr, nullptr, &stream));
        return stream;
    }
    static fastfs_status update(Handle* s, const fastfs_matrix* X, std::int64_t first, const fastfs_run* run) {
        return fastfs_disc_stream_update(s, X, first, run);
    }
    static fastfs_status copy(const Handle* s, Handle** made) { return fastfs_disc_stream_copy(s, made); }
    static fastfs_status merge(Handle* s, const Handle* other) { return fastfs_disc_stream_merge(s, other); }
    static std::int64_t size(const Handle* s) { return fastfs_disc_stream_size(s); }
    static fastfs_status save(const Handle* s, void* to, std::int64_t n) { return fastfs_disc_stream_save(s, to, n); }
    static fastfs_status load(Handle* s, const void* of, std::int64_t n) { return fastfs_disc_stream_load(s, of, n); }
    static fastfs_status next(Handle* s) { return fastfs_disc_stream_next(s, nullptr); }
    static void free(Handle* s) { fastfs_disc_stream_free(s); }
    fastfs_status end(Handle* s, std::vector<double>* = nullptr) const { return next(s); }
};

// A stream that has come to a pass with all rows in the passes before.
template <class Streams>
typename Streams::Handle* at_pass(const Streams& streams, int pass, const fastfs_matrix& X) {
    auto* stream = streams.make();
    if (pass == 2) {
        fastfs::check(Streams::update(stream, &X, 0, nullptr));
        fastfs::check(Streams::next(stream));
    }
    return stream;
}

template <class Streams>
typename Streams::Handle* copy_of(const typename Streams::Handle* stream) {
    typename Streams::Handle* made = nullptr;
    fastfs::check(Streams::copy(stream, &made));
    return made;
}

template <class Streams>
std::vector<char> saved(const typename Streams::Handle* stream) {
    std::vector<char> bytes(static_cast<std::size_t>(Streams::size(stream)));
    fastfs::check(Streams::save(stream, bytes.data(), std::ssize(bytes)));
    return bytes;
}

template <class Streams>
void check_broken(const Streams& streams, typename Streams::Handle* stream, typename Streams::Handle* whole,
                  const fastfs_matrix& X) {
    const char* broken = "an update of this stream stopped halfway: free it and start again";
    CHECK(refused(Streams::update(stream, &X, 0, nullptr), broken));
    CHECK(refused(streams.end(stream), broken));
    CHECK(refused(Streams::next(stream), broken));
    typename Streams::Handle* made = nullptr;
    CHECK(refused(Streams::copy(stream, &made), broken) && made == nullptr);
    CHECK(Streams::size(stream) == -1 && says(broken));
    char byte = 0;
    CHECK(refused(Streams::save(stream, &byte, 1), broken));
    CHECK(refused(Streams::load(stream, &byte, 1), broken));
    CHECK(refused(Streams::merge(stream, whole), broken));
    CHECK(refused(Streams::merge(whole, stream), broken));
}

// Returns how often an update with all rows reports in the last pass.
template <class Streams>
int n_reports(const Streams& streams) {
    const std::vector<double> values = normal_values(streams.n, streams.d);
    const fastfs_matrix X = *fastfs::matrix(values.data(), streams.n, streams.d).get();
    auto* stream = at_pass(streams, 2, X);
    int n = 0;
    fastfs_run run = FASTFS_RUN_INIT;
    run.n_threads = 1;
    run.user = &n;
    run.progress = [](void* user, const char*, double) { return ++*static_cast<int*>(user), 0; };
    CHECK(Streams::update(stream, &X, 0, &run) == FASTFS_OK);
    Streams::free(stream);
    return n;
}

// An update that is canceled at its first report, its second, and so on: the stream is as before, or refuses all use.
template <class Streams>
void test_canceled_update(const Streams& streams) {
    const std::vector<double> values = normal_values(streams.n, streams.d);
    const fastfs_matrix X = *fastfs::matrix(values.data(), streams.n, streams.d).get();
    auto* start = at_pass(streams, 2, X);  // the pass that changes things all the time
    auto* clean = copy_of<Streams>(start);
    fastfs::check(Streams::update(clean, &X, 0, nullptr));
    const std::vector<char> expected = saved<Streams>(clean);
    int n_broken = 0, left = 0;
    fastfs_run run = FASTFS_RUN_INIT;
    run.n_threads = 1;
    run.user = &left;
    run.progress = [](void* user, const char*, double) { return static_cast<int>(--*static_cast<int*>(user) == 0); };
    for (int report = 1; n_broken < 2; ++report) {
        auto* stream = copy_of<Streams>(start);
        left = report;
        const fastfs_status status = Streams::update(stream, &X, 0, &run);
        CHECK(status == FASTFS_ECANCELED || status == FASTFS_OK);
        if (status == FASTFS_ECANCELED && Streams::size(stream) == -1) {
            ++n_broken;
            check_broken(streams, stream, start, X);
        } else {
            if (status == FASTFS_ECANCELED) fastfs::check(Streams::update(stream, &X, 0, nullptr));
            CHECK(saved<Streams>(stream) == expected);
        }
        Streams::free(stream);
        if (status == FASTFS_OK) break;
    }
    CHECK(n_broken > 0);
    Streams::free(clean);
    Streams::free(start);
}

// Updates that fail before they change anything can be made again: rows that aren't finite, too little memory.
template <class Streams>
void test_refused_update(const Streams& streams, int pass) {
    const std::vector<double> values = normal_values(streams.n, streams.d);
    std::vector<double> gap = values;
    gap.back() = std::numeric_limits<double>::quiet_NaN();
    const fastfs_matrix X = *fastfs::matrix(values.data(), streams.n, streams.d).get();
    const fastfs_matrix bad = *fastfs::matrix(gap.data(), streams.n, streams.d).get();
    fastfs_run poor = FASTFS_RUN_INIT;
    poor.max_memory = 1000;
    auto* stream = at_pass(streams, pass, X);
    auto* other = copy_of<Streams>(stream);
    CHECK(Streams::update(stream, &bad, 0, nullptr) == FASTFS_EINVAL && says("NaN"));
    CHECK(Streams::update(stream, &X, 0, &poor) == FASTFS_ENOMEM);
    CHECK(Streams::update(stream, &X, 0, nullptr) == FASTFS_OK);
    CHECK(Streams::update(other, &X, 0, nullptr) == FASTFS_OK);
    CHECK(saved<Streams>(stream) == saved<Streams>(other));
    Streams::free(other);
    Streams::free(stream);
}

// Each row once in each pass, whatever the blocks, copies and bytes it comes through.
template <class Streams>
void test_rows(const Streams& streams) {
    const std::int64_t n = streams.n, half = n / 2;
    const std::vector<double> values = normal_values(n, streams.d);
    const fastfs_matrix X = *fastfs::matrix(values.data(), n, streams.d).get();
    fastfs_matrix first = X, second = X;
    first.n_rows = half;
    second.n_rows = n - half;
    second.values = values.data() + half * streams.d;
    for (int pass = 1; pass <= Streams::kPasses; ++pass) {
        auto* stream = at_pass(streams, pass, X);
        const auto end = [&] { return pass == Streams::kPasses ? streams.end(stream) : Streams::next(stream); };
        const std::string lacks_all = "each pass must have all " + std::to_string(n) + " rows; pass " +
                                      std::to_string(pass) + " had 0 and lacks row 0";
        CHECK(refused(end(), lacks_all.c_str()));
        CHECK(Streams::update(stream, &first, 0, nullptr) == FASTFS_OK);
        CHECK(refused(Streams::update(stream, &first, 0, nullptr), "but row 0 has come before"));
        const std::string last_of_first = "but row " + std::to_string(half - 1) + " has come before";
        CHECK(refused(Streams::update(stream, &second, half - 1, nullptr), last_of_first.c_str()));
        fastfs_place place = FASTFS_PLACE_INIT;
        CHECK(fastfs_last_error_places(&place, 1) == 1 && place.kind == FASTFS_PLACE_ROW && place.number == half - 1);
        const std::string lacks = "lacks row " + std::to_string(half);
        CHECK(refused(end(), lacks.c_str()));
        // What a copy or bytes hold already can't be added.
        typename Streams::Handle* copied = nullptr;
        CHECK(Streams::copy(stream, &copied) == FASTFS_OK);
        CHECK(refused(Streams::merge(stream, copied), "but row 0 has come before"));
        std::vector<char> bytes(static_cast<std::size_t>(Streams::size(stream)));
        CHECK(Streams::save(stream, bytes.data(), Streams::size(stream)) == FASTFS_OK);
        CHECK(refused(Streams::load(stream, bytes.data(), std::ssize(bytes)), "but row 0 has come before"));
        CHECK(refused(Streams::load(stream, bytes.data(), -1), "n_bytes must be at least 0, not -1"));
        CHECK(refused(Streams::load(stream, bytes.data(), std::ssize(bytes) - 1), "n_bytes"));
        // Rows that are missing can still come.
        CHECK(Streams::update(stream, &second, half, nullptr) == FASTFS_OK);
        CHECK(end() == FASTFS_OK);
        Streams::free(copied);
        Streams::free(stream);
    }
}

template <class Streams>
void test_updates(const Streams& streams) {
    for (const int pass : {1, 2}) test_refused_update(streams, pass);
    test_rows(streams);
}

void test_merged_classes() {
    const std::int64_t n = 12, d = 3;
    const std::vector<double> values = normal_values(n, d);
    std::vector<std::int64_t> labels;
    for (std::int64_t r = 0; r < n; ++r) labels.push_back(r % 3);
    fastfs::relief_stream stream(n, d, labels.data(), 3, FASTFS_SCALE_RANGE, fastfs::default_relief_options());
    const fastfs::matrix X(values.data(), n, d);
    stream.update(X, 0);
    stream.next();
    stream.update(X, 0);
    CHECK(stream.scores({0, 1, 1}).scores.size() == 3);
    const auto message = [&](const std::vector<std::int64_t>& merged) -> std::string {
        try {
            stream.scores(merged);
        } catch (const std::invalid_argument& e) {
            return e.what();
        }
        return "";
    };
    CHECK(message({0, 1}) == "merged must hold a number for each of the 3 classes, not 2");
    CHECK(message({0, 1, 1, 0}) == "merged must hold a number for each of the 3 classes, not 4");
    CHECK(message({0, 5, 0}) == "n_merged must be from 2 to the 3 classes, not 6");
    CHECK(message({0, -1, 1}) == "merged must lie in 0..1, but that of class 1 is -1");
    CHECK(message({0, 2, 2}) == "merged must name each of 0..2, but no class has 1");
}

// ---- a handle within its own call -----------------------------------------------------------------------------------

// Runs a call with a progress callback that makes another one, once.
struct Within {
    std::function<void()> inner;
    bool called = false;
    fastfs_run run = FASTFS_RUN_INIT;

    explicit Within(std::function<void()> inner_) : inner(std::move(inner_)) {
        run.progress = [](void* user, const char*, double) {
            auto* self = static_cast<Within*>(user);
            if (!self->called) self->inner();
            self->called = true;
            return 0;
        };
        run.user = this;
    }
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;
};

constexpr const char* kWithin = "must not be used by the progress callback or the kernel of a call that works on it";

// Calls a test with more and more features until it returns that its callback was called: reports come at intervals of
// time, so it depends on the machine, and on sanitizers, how much work has one.
template <class Test>
void until_called(Test&& test) {
    std::int64_t d = 250;
    while (d < 16000 && !test(d)) d *= 2;
    CHECK(d < 16000);
}

bool test_callback_of_gram(std::int64_t d) {
    const std::int64_t n = 1000;
    const std::vector<double> values = normal_values(n, d);
    const fastfs_matrix X = *fastfs::matrix(values.data(), n, d).get();
    fastfs_gram* gram = nullptr;
    fastfs::check(fastfs_gram_new(d, nullptr, &gram));
    Within within([&] {
        CHECK(fastfs_gram_rows(gram) == -1 && says(kWithin));
        CHECK(refused(fastfs_gram_update(gram, &X, nullptr), kWithin));
        fastfs_gram_free(gram);  // it stays
        CHECK(says(kWithin));
    });
    CHECK(fastfs_gram_update(gram, &X, &within.run) == FASTFS_OK);
    CHECK(fastfs_gram_rows(gram) == n);
    fastfs_gram_free(gram);
    return within.called;
}

// A kernel is called on other threads too.
void test_kernel_of_gram() {
    const std::int64_t n = 20, d = 1000;
    const std::vector<double> values = normal_values(n, d);
    const fastfs_matrix X = *fastfs::matrix(values.data(), n, d).get();
    fastfs_gram* gram = nullptr;
    fastfs::check(fastfs_gram_new(d, nullptr, &gram));
    CHECK(fastfs_gram_update(gram, &X, nullptr) == FASTFS_OK);
    struct Asked {
        fastfs_gram* gram;
        std::atomic<int> refused{0}, others{0};
    } asked{gram};
    fastfs_affinity_options options = FASTFS_AFFINITY_OPTIONS_INIT;
    options.kernel = FASTFS_CUSTOM;
    options.user = &asked;
    options.custom = [](double*, std::int64_t, std::int64_t, std::int64_t, const double*, const double*, double,
                        void* user) {
        auto* self = static_cast<Asked*>(user);
        ++(fastfs_gram_rows(self->gram) == -1 ? self->refused : self->others);
    };
    std::vector<double> out(static_cast<std::size_t>(d * d));
    fastfs_run four = FASTFS_RUN_INIT;
    four.n_threads = 4;
    CHECK(fastfs_gram_affinity(gram, &options, &four, out.data()) == FASTFS_OK);
    CHECK(asked.refused > 0 && asked.others == 0);
    fastfs_gram_free(gram);
}

bool test_callback_of_projse(std::int64_t d) {
    const std::int64_t n = 1000;
    const std::vector<double> values = normal_values(n, d);
    const fastfs_matrix X = *fastfs::matrix(values.data(), n, d).get();
    fastfs_projse_sums* sums = nullptr;
    fastfs::check(fastfs_projse_new(0, d, 0, nullptr, &sums));
    Within within([&] {
        CHECK(fastfs_projse_rows(sums) == -1 && says(kWithin));
        CHECK(refused(fastfs_projse_update(sums, &X, nullptr, nullptr, nullptr), kWithin));
    });
    CHECK(fastfs_projse_update(sums, &X, nullptr, nullptr, &within.run) == FASTFS_OK);
    fastfs_projse_free(sums);
    return within.called;
}

bool test_callback_of_relief(std::int64_t d) {
    const ReliefStreams streams{d, d};
    const std::vector<double> values = normal_values(streams.n, d);
    const fastfs_matrix X = *fastfs::matrix(values.data(), streams.n, d).get();
    fastfs_relief_stream* stream = at_pass(streams, 2, X);
    Within within([&] {
        CHECK(fastfs_relief_stream_size(stream) == -1 && says(kWithin));
        CHECK(refused(fastfs_relief_stream_update(stream, &X, 0, nullptr), kWithin));
    });
    CHECK(fastfs_relief_stream_update(stream, &X, 0, &within.run) == FASTFS_OK);
    CHECK(streams.end(stream) == FASTFS_OK);
    fastfs_relief_stream_free(stream);
    return within.called;
}

// ---- handles of other types -----------------------------------------------------------------------------------------

void test_other_types() {
    const std::int64_t n = 12, d = 6;
    const std::vector<double> values = normal_values(n, d);
    const std::vector<std::int64_t> labels = alternating(n);
    const fastfs_matrix X = *fastfs::matrix(values.data(), n, d).get();
    fastfs_gram* gram = nullptr;
    fastfs::check(fastfs_gram_new(d, nullptr, &gram));
    const auto as = [&]<class Other>(Other*) { return reinterpret_cast<Other*>(gram); };
    const auto* margin = as(static_cast<fastfs_margin*>(nullptr));
    std::vector<double> scores(6);
    fastfs_relief_result result = FASTFS_RELIEF_RESULT_INIT;
    result.scores = scores.data();
    CHECK(refused(fastfs_relief(margin, labels.data(), 2, nullptr, nullptr, &result),
                  "margin must be a fastfs_margin, but is a handle of another type"));
    CHECK(refused(fastfs_relief_stream_update(as(static_cast<fastfs_relief_stream*>(nullptr)), &X, 0, nullptr),
                  "stream must be a fastfs_relief_stream"));
    CHECK(fastfs_projse_rows(as(static_cast<fastfs_projse_sums*>(nullptr))) == -1 && says("fastfs_projse_sums"));
    fastfs_disc_result of_disc = FASTFS_DISC_RESULT_INIT;
    CHECK(refused(fastfs_disc_get(as(static_cast<fastfs_disc*>(nullptr)), 0, &of_disc), "fastfs_disc,"));
    fastfs_margin_free(as(static_cast<fastfs_margin*>(nullptr)));
    CHECK(says("margin must be a fastfs_margin") && fastfs_gram_rows(gram) == 0);
    CHECK(refused(fastfs_gram_merge(gram, gram), "gram must not be merged with itself"));
    fastfs_gram_free(gram);
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
    result.scores = scores.data();
    CHECK(aligned(fastfs_relief(margin, integers, 2, &relief, nullptr, &result), "labels"));
    relief.priors = numbers;
    CHECK(aligned(fastfs_relief(margin, labels.data(), 2, &relief, nullptr, &result), "priors"));
    relief.priors = nullptr;
    result.scores_se = out;
    CHECK(aligned(fastfs_relief(margin, labels.data(), 2, &relief, nullptr, &result), "scores_se of the result"));
    result.scores_se = nullptr;
    result.scores = out;
    CHECK(aligned(fastfs_relief(margin, labels.data(), 2, &relief, nullptr, &result), "scores of the result"));
    result.scores = nullptr;
    CHECK(refused(fastfs_relief(margin, labels.data(), 2, &relief, nullptr, &result),
                  "scores of the result must not be null"));
    CHECK(aligned(fastfs_margin_use(margin, integers, 2, nullptr, nullptr), "features"));
    CHECK(aligned(fastfs_margin_scaling(margin, out, scores.data()), "shift"));
    fastfs_margin_free(margin);

    fastfs_projse_result chosen = FASTFS_PROJSE_RESULT_INIT;
    chosen.scores = scores.data();
    CHECK(refused(fastfs_projse(&X, nullptr, labels.data(), 2, nullptr, nullptr, &chosen),
                  "selected of the result must not be null"));
    std::int64_t selected = 0;
    double score = 0, gap = 0;
    chosen.selected = &selected;
    chosen.selection_scores = &score;
    chosen.gaps = &gap;
    chosen.captured = out;
    CHECK(aligned(fastfs_projse(&X, nullptr, labels.data(), 2, nullptr, nullptr, &chosen), "captured of the result"));
    CHECK(aligned(fastfs_projse(&X, nullptr, integers, 2, nullptr, nullptr, &chosen), "labels"));
    fastfs_projse_options from_y = FASTFS_PROJSE_OPTIONS_INIT;
    from_y.from_y = 1;
    CHECK(refused(fastfs_projse(&X, nullptr, labels.data(), 2, &from_y, nullptr, &chosen), "exchange X and Y"));

    fastfs_manifest* manifest = nullptr;
    fastfs::check(fastfs_manifest_new(&X, 1, 0, nullptr, &manifest));
    fastfs_manifest_result of_manifest = FASTFS_MANIFEST_RESULT_INIT;
    of_manifest.scores = scores.data();
    const fastfs_manifest_scale scale = FASTFS_MANIFEST_SCALE_INIT;
    const auto fit = [&] {
        return fastfs_manifest_fit(manifest, labels.data(), 2, nullptr, &scale, 1, nullptr, &of_manifest);
    };
    of_manifest.class_scores = out;
    CHECK(aligned(fit(), "class_scores of the result"));
    of_manifest.class_scores = nullptr;
    of_manifest.ranks = integers;
    CHECK(aligned(fit(), "ranks of the result"));
    of_manifest.ranks = nullptr;
    of_manifest.n_components = 1;
    CHECK(refused(fit(), "mean_values of the result must not be null"));
    CHECK(refused(fastfs_manifest_fit(manifest, nullptr, 2, nullptr, &scale, 1, nullptr, &of_manifest),
                  "labels must not be null"));
    CHECK(refused(fastfs_manifest_fit(manifest, labels.data(), 2, nullptr, nullptr, 1, nullptr, &of_manifest),
                  "scales must not be null"));
    fastfs_manifest_free(manifest);

    CHECK(aligned(fastfs_eigh(2, out, scores.data(), nullptr), "A"));
    CHECK(aligned(fastfs_manifest_kernels(6, K.data(), numbers, nullptr, nullptr, &of_manifest), "K2"));
    CHECK(aligned(fastfs_nearest_features(&X, 2, nullptr, integers, scores.data()), "neighbors"));
    fastfs_gram* gram = nullptr;
    CHECK(aligned(fastfs_gram_new(d, nullptr, reinterpret_cast<fastfs_gram**>(numbers)), "gram"));
    fastfs::check(fastfs_gram_new(d, nullptr, &gram));
    CHECK(aligned(fastfs_gram_affinity(gram, nullptr, nullptr, out), "out"));
    fastfs_gram_free(gram);
}

// A row_stride that is left out means rows one after the other; nothing means one row, or column, many times.
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
    CHECK(refused(fastfs_check_matrix(&X), "row_stride must be given if col_stride of X is not 1"));
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

// ---- sums of ManiFeSt -----------------------------------------------------------------------------------------------

void test_manifest_sums() {
    const std::int64_t n = 40, d = 60;
    const std::vector<double> values = normal_values(n, d);
    const std::vector<std::int64_t> groups = alternating(n), classes{0, 1};
    const fastfs_matrix X = *fastfs::matrix(values.data(), n, d).get();
    const fastfs_manifest_scale scale = FASTFS_MANIFEST_SCALE_INIT;
    std::vector<double> scores(static_cast<std::size_t>(d));
    fastfs_manifest_result result = FASTFS_MANIFEST_RESULT_INIT;
    result.scores = scores.data();
    const auto make = [&](const fastfs_manifest_options* options) {
        fastfs_manifest_sums* sums = nullptr;
        CHECK(fastfs_manifest_sums_new(d, 2, options, nullptr, &sums) == FASTFS_OK);
        if (sums) fastfs::check(fastfs_manifest_sums_update(sums, &X, groups.data(), nullptr));
        return sums;
    };
    const auto fit = [&](const fastfs_manifest_sums* sums, const fastfs_manifest_options* options) {
        return fastfs_manifest_sums_fit(sums, classes.data(), 2, options, &scale, 1, nullptr, &result);
    };
    // Without options: as the plan says, exact.
    fastfs_manifest_sums* sums = make(nullptr);
    CHECK(fit(sums, nullptr) == FASTFS_OK);
    const std::vector<double> exact = scores;
    fastfs_manifest_options options = FASTFS_MANIFEST_OPTIONS_INIT;
    options.accuracy = FASTFS_MANIFEST_EXACT;
    CHECK(fit(sums, &options) == FASTFS_OK && scores == exact);
    options.accuracy = FASTFS_MANIFEST_LOW_RANK;  // of a rank that makes it exact
    CHECK(fit(sums, &options) == FASTFS_OK && scores == exact);
    options.rank = 5;
    CHECK(refused(fit(sums, &options), "accuracy must be \"auto\", \"exact\" or \"domains\""));
    const std::int64_t size = fastfs_manifest_sums_size(sums);
    std::vector<double> numbers(static_cast<std::size_t>(size));
    CHECK(refused(fastfs_manifest_sums_save(sums, numbers.data(), size - 1), "n_numbers must be"));
    CHECK(refused(fastfs_manifest_sums_load(sums, numbers.data(), size + 1), "n_numbers must be"));
    CHECK(fastfs_manifest_sums_save(sums, numbers.data(), size) == FASTFS_OK);
    fastfs_manifest_sums_free(sums);

    sums = make(&options);
    CHECK(fit(sums, &options) == FASTFS_OK);
    const std::vector<double> fast = scores;
    CHECK(fast != exact);
    options.accuracy = FASTFS_MANIFEST_AUTO;
    CHECK(fit(sums, &options) == FASTFS_OK && scores == fast);
    options.accuracy = FASTFS_MANIFEST_EXACT;
    CHECK(refused(fit(sums, &options), "accuracy must be \"auto\" or \"low_rank\""));
    options.accuracy = FASTFS_MANIFEST_LOW_RANK_HIGH;
    CHECK(refused(fit(sums, &options), "accuracy must not be \"low_rank_high\""));
    options.accuracy = FASTFS_MANIFEST_LOW_RANK;
    for (const std::int64_t rank : {4, 6, 200}) {
        options.rank = rank;
        CHECK(refused(fit(sums, &options), "rank must be 5, which these sums were made for"));
    }
    CHECK(refused(fit(sums, nullptr), "rank must be 5, which these sums were made for, not 50"));
    options.rank = 5;
    options.accuracy = FASTFS_MANIFEST_AUTO;
    options.form = FASTFS_MANIFEST_SPD;
    CHECK(refused(fit(sums, &options), "form must be \"pencil\""));
    fastfs_manifest_sums_free(sums);
}

// ---- messages -------------------------------------------------------------------------------------------------------

void test_places_of_other_sizes() {
    fastfs_gram* gram = nullptr;
    CHECK(fastfs_gram_new(-1, nullptr, &gram) == FASTFS_EINVAL);
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
    // Reports come at intervals of time: as many rows as there must be for some before and while an update changes
    // things.
    std::int64_t n = 200;
    while (n < 10000 && n_reports(ReliefStreams{n, 2 * n}) < 6) n += n / 4;
    test_canceled_update(ReliefStreams{n, 2 * n});
    test_updates(ReliefStreams{150, 6});
#ifndef __SANITIZE_THREAD__  // a minute for what no two threads share; test_disc has streams on threads
    n = 266;
    while (n < 10000 && n_reports(DiscStreams{n, 5001}) < 2) n *= 2;
    test_canceled_update(DiscStreams{n, 5001});
    test_updates(DiscStreams{266, 5001});
#endif
    test_merged_classes();
    until_called(test_callback_of_gram);
    test_kernel_of_gram();
    until_called(test_callback_of_projse);
    until_called(test_callback_of_relief);
    test_other_types();
    test_alignment();
    test_strides();
    test_manifest_sums();
    test_places_of_other_sizes();
    test_unknown_fields();
    std::printf("%s: %d failures\n", fastfs_isa(), failures);
    return failures == 0 ? 0 : 1;
}
