// DiSC through fastfs.hpp: equal results from samples, neighbours and graphs, and for any number of threads; refused
// calls leave nothing behind. Exits with 77 (skipped) if FASTFS_ISA names an instruction set that this machine lacks.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "fastfs/fastfs.hpp"

// The scipy-openblas32 wheel has its own names for the routines.
#define FASTFS_BLAS_SYMBOL(name) scipy_##name##_
#define FASTFS_BLAS_SET_THREADS scipy_openblas_set_num_threads
#define FASTFS_BLAS_GET_THREADS scipy_openblas_get_num_threads
#include "fastfs/link_blas.h"

namespace {

int failures = 0;

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            ++failures;                                                          \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
        }                                                                        \
    } while (false)

constexpr std::int64_t kFeatures = 211, kSamples = 40;

// Noise, and features from `first` on that move together.
template <class T>
std::vector<T> samples(std::int64_t first, unsigned seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<double> normal;
    std::vector<T> X;
    for (std::int64_t r = 0; r < kSamples; ++r) {
        const double common = 3 * normal(engine);
        for (std::int64_t j = 0; j < kFeatures; ++j) {
            X.push_back(static_cast<T>(normal(engine) + (j >= first && j < first + 20 ? common : 0)));
        }
    }
    return X;
}

fastfs::run threads(int n, std::int64_t max_memory = 0) {
    auto run = fastfs::default_run();
    run.n_threads = n;
    run.max_memory = max_memory;
    return run;
}

using Fitted = fastfs::fitted<fastfs::disc_result>;

bool same(const Fitted& a, const Fitted& b, double tolerance) {
    bool equal = a.size() == b.size();
    for (std::int64_t s = 0; s < a.size() && equal; ++s) {
        const auto x = a[s], y = b[s];
        equal = x.n_vectors == y.n_vectors && x.n_differential == y.n_differential;
        for (std::int64_t j = 0; j < x.n_vectors && equal; ++j) {
            equal = std::abs(x.significance[j] - y.significance[j]) <= tolerance;
        }
        for (std::int64_t i = 0; i < kFeatures && equal; ++i) equal = std::abs(x.scores[i] - y.scores[i]) <= tolerance;
    }
    return equal;
}

template <class T>
void test_routes(int graph) {
    const auto A = samples<T>(30, 1), B = samples<T>(90, 2), C = samples<T>(150, 3);
    const std::vector<fastfs::matrix> X = {
        {A.data(), kSamples, kFeatures}, {B.data(), kSamples, kFeatures}, {C.data(), kSamples, kFeatures}};
    std::vector<fastfs::disc_set> sets;
    for (const auto& x : X) sets.push_back(fastfs::disc_samples(x, 4));
    auto options = fastfs::default_disc_options();
    options.graph = graph;
    options.bandwidth_neighbors = 8;
    options.n_neighbors = 12;
    options.n_vectors = 5;
    const auto found = fastfs::disc(sets, options, threads(1));
    CHECK((found[0].n_stored == 0) == (graph == FASTFS_GRAPH_DENSE));
    CHECK(same(found, fastfs::disc(sets, options, threads(3)), 0));
    for (std::int64_t s = 0; s < 3; ++s) {  // the planted features come first, before those of the other sets
        const auto result = found[s];
        double own = 0, all = 0;
        for (std::int64_t i = 0; i < kFeatures; ++i) {
            all += result.scores[i];
            own += i >= 30 + 60 * s && i < 50 + 60 * s ? result.scores[i] : 0;
        }
        CHECK(own > 0.3 * all);
        CHECK(result.n_features == kFeatures && result.n_components == 4 && result.n_connected >= 1);
    }
    if (graph != FASTFS_GRAPH_KNN) return;

    std::vector<fastfs::nearest> near;
    for (const auto& x : X) near.push_back(fastfs::nearest_features(x, 12, threads(2)));
    std::vector<fastfs::disc_set> by_neighbors, by_graph;
    for (const auto& n : near) by_neighbors.push_back(fastfs::disc_neighbors(n, kFeatures, 4));
    CHECK(same(found, fastfs::disc(by_neighbors, options, threads(2)), 1e-10));
    struct Entries {
        std::vector<std::int32_t> indptr = std::vector<std::int32_t>(kFeatures + 1), indices;
        std::vector<double> weights;
    };
    std::vector<Entries> entries(3);
    std::vector<fastfs::matrix> W;
    for (std::int64_t s = 0; s < 3; ++s) {
        const auto result = found[s];
        Entries& own = entries[static_cast<std::size_t>(s)];
        own.weights.resize(static_cast<std::size_t>(result.n_stored));
        own.indices.resize(own.weights.size());
        fastfs::write_disc_graph(found, s, own.indptr.data(), own.indices.data(), own.weights.data(), threads(2));
        W.push_back(
            fastfs::matrix::csr(own.weights.data(), own.indices.data(), own.indptr.data(), kFeatures, kFeatures));
    }
    for (const auto& w : W) by_graph.push_back(fastfs::disc_graph(w, 4));
    CHECK(same(found, fastfs::disc(by_graph, options, threads(2)), 1e-10));
}

// Reads rows of three groups in passes, in which each share of the rows goes to a copy; copies are merged in the given
// `order`.
template <class T>
fastfs::stream read(const std::vector<T>& X, std::int64_t n_features, const std::vector<std::int64_t>& groups,
                    const std::vector<std::int64_t>& ends, const std::vector<std::size_t>& order,
                    const fastfs::disc_options& options, int n_threads) {
    fastfs::stream stream = fastfs::disc_stream(ends.back(), n_features, groups.data(), 3, options, threads(n_threads));
    for (int left = stream.state().n_passes; left > 0; --left) {
        std::vector<fastfs::stream> shares;
        for (std::size_t s = 0; s < ends.size(); ++s) {
            const std::int64_t first = s == 0 ? 0 : ends[s - 1];
            shares.push_back(stream.copy());
            shares[s].update({X.data() + first * n_features, ends[s] - first, n_features}, first, threads(n_threads));
        }
        for (const std::size_t s : order) stream.merge(shares[s]);
        if (left > 1) stream.next(threads(n_threads));
    }
    fastfs::disc_stream_finish(stream, threads(n_threads));
    return stream;
}

template <class T>
std::vector<T> rows(const std::vector<std::int64_t>& groups, std::int64_t n_features) {
    std::mt19937 engine(5);
    std::normal_distribution<double> normal;
    std::vector<T> X;
    for (const std::int64_t group : groups) {
        double common = 0;
        for (std::int64_t j = 0; j < n_features; ++j) {  // modules of ten, other ones in each group
            if ((j + 3 * group) % 10 == 0) common = 2 * normal(engine);
            X.push_back(static_cast<T>(normal(engine) + common));
        }
    }
    return X;
}

Fitted fit(const fastfs::stream& stream, const fastfs::disc_options& options, int n_threads) {
    std::vector<fastfs::disc_set> sets;
    for (std::int64_t g = 0; g < 3; ++g) sets.push_back(fastfs::disc_group(stream, g, 4));
    return fastfs::disc(sets, options, threads(n_threads));
}

// A stream and a fit of thousands of features take minutes under a sanitizer, and one reaches the code that four would.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSlow = true;
#else
constexpr bool kSlow = false;
#endif

// Results have equal bits for any number of threads, and are equal up to rounding for any blocks, any order of merging,
// and in memory. Without a sketch, all results are compared. One group of three has a sketch; the others are too small.
template <class T>
void test_streams(std::int64_t n_rows, std::int64_t n_features, int graph, bool sketches) {
    std::vector<std::int64_t> groups;
    for (std::int64_t r = 0; r < n_rows; ++r) {
        const std::int64_t of_eight = r % 8;
        groups.push_back(!sketches ? r % 3 : of_eight < 6 ? 0 : of_eight - 5);
    }
    const auto X = rows<T>(groups, n_features);
    auto options = fastfs::default_disc_options();
    options.graph = graph;
    options.bandwidth_neighbors = 4;
    options.n_neighbors = 40;  // so many that graphs hold together
    options.n_vectors = 5;
    const std::vector<std::int64_t> ends = {1, n_rows / 3, n_rows - 7, n_rows};
    const auto in_shares = read(X, n_features, groups, ends, {2, 0, 3, 1}, options, 2);
    CHECK(in_shares.state().n_passes == (sketches ? 2 : 1));
    const Fitted merged = fit(in_shares, options, 2);
    if (kSlow && sketches) return;
    const auto at_once = read(X, n_features, groups, {n_rows}, {0}, options, 3);
    const Fitted found = fit(at_once, options, 3),
                 again = fit(read(X, n_features, groups, {n_rows}, {0}, options, 1), options, 1);
    std::vector<std::vector<T>> values(3);
    for (std::size_t r = 0; r < groups.size(); ++r) {
        const auto row = X.begin() + static_cast<std::int64_t>(r) * n_features;
        auto& of_group = values[static_cast<std::size_t>(groups[r])];
        of_group.insert(of_group.end(), row, row + n_features);
    }
    std::vector<fastfs::matrix> own;
    std::vector<fastfs::disc_set> sets;
    for (const auto& v : values) own.emplace_back(v.data(), std::ssize(v) / n_features, n_features);
    for (const auto& x : own) sets.push_back(fastfs::disc_samples(x, 4));
    const auto memory = fastfs::disc(sets, options, threads(2));
    for (std::int64_t s = 0; s < 3; ++s) {
        const auto x = found[s], y = again[s], z = merged[s], w = memory[s];
        std::int64_t n_same = 0;
        for (std::int64_t i = 0; i < n_features; ++i) {
            CHECK(x.bandwidths[i] == y.bandwidths[i] && x.scores[i] == y.scores[i]);
            CHECK(std::abs(x.bandwidths[i] - z.bandwidths[i]) <= 1e-12 * x.bandwidths[i]);
            n_same += std::abs(x.bandwidths[i] - w.bandwidths[i]) <= 1e-10 * w.bandwidths[i];
            CHECK(x.bandwidths[i] >= w.bandwidths[i] * (1 - 1e-10));
        }
        CHECK(static_cast<double>(n_same) >= (sketches ? 0.99 : 1.0) * static_cast<double>(n_features));
        for (std::int64_t j = 0; j < x.n_vectors && !sketches; ++j) {
            CHECK(std::abs(x.significance[j] - w.significance[j]) <= 1e-10);
        }
    }
}

// Scaling gives the result of scaled samples.
void test_scaling() {
    const std::vector<std::vector<double>> X{samples<double>(30, 1), samples<double>(90, 2)};
    auto scaled = X;
    std::vector<double> mean(kFeatures), scale(kFeatures);
    for (std::size_t j = 0; j < kFeatures; ++j) {
        auto mean_of = [&](auto&& f) {
            double sum = 0;
            for (const auto& x : X) {
                for (std::size_t r = 0; r < kSamples; ++r) sum += f(x[r * kFeatures + j]);
            }
            return sum / (2 * kSamples);
        };
        mean[j] = mean_of([](double x) { return x; });
        scale[j] = std::sqrt(mean_of([&](double x) { return (x - mean[j]) * (x - mean[j]); }));
        for (auto& x : scaled) {
            for (std::size_t r = 0; r < kSamples; ++r)
                x[r * kFeatures + j] = (x[r * kFeatures + j] - mean[j]) / scale[j];
        }
    }
    auto fit = [](const auto& values, std::int32_t scaling) {
        const fastfs::matrix a(values[0].data(), kSamples, kFeatures), b(values[1].data(), kSamples, kFeatures);
        auto options = fastfs::default_disc_options();
        options.scaling = scaling;
        return fastfs::disc({fastfs::disc_samples(a, 4), fastfs::disc_samples(b, 4)}, options, threads(2));
    };
    const auto found = fit(X, FASTFS_DISC_SCALING_STANDARD), by_hand = fit(scaled, FASTFS_DISC_SCALING_NONE);
    CHECK(same(found, by_hand, 1e-10));
    CHECK(by_hand[0].mean == nullptr && by_hand[0].scale == nullptr);
    for (std::size_t j = 0; j < kFeatures; ++j) {
        CHECK(std::abs(found[1].mean[j] - mean[j]) <= 1e-12);
        CHECK(std::abs(found[1].scale[j] - scale[j]) <= 1e-12 * scale[j]);
    }
}

// Listed rows of one table give the bits of a separate copy of each set.
template <class T>
void test_listed_rows(int graph, bool by_column) {
    const std::vector<T> sets[] = {samples<T>(30, 1), samples<T>(90, 2)};
    const std::int64_t n = 2 * kSamples, row_stride = by_column ? 1 : kFeatures, col_stride = by_column ? n : 1;
    std::vector<T> table(static_cast<std::size_t>(n * kFeatures));
    std::vector<std::int64_t> places(n);
    std::iota(places.begin(), places.end(), std::int64_t{0});
    std::shuffle(places.begin(), places.end(), std::mt19937(3));
    for (std::int64_t r = 0; r < n; ++r) {
        for (std::int64_t i = 0; i < kFeatures; ++i) {
            table[static_cast<std::size_t>(places[static_cast<std::size_t>(r)] * row_stride + i * col_stride)] =
                sets[r / kSamples][static_cast<std::size_t>(r % kSamples * kFeatures + i)];
        }
    }
    const fastfs::matrix X(table.data(), n, kFeatures, row_stride, col_stride), a(sets[0].data(), kSamples, kFeatures),
        b(sets[1].data(), kSamples, kFeatures), some = X.rows(places.data(), kSamples),
                                                others = X.rows(places.data() + kSamples, kSamples);
    for (const int scaling : {FASTFS_DISC_SCALING_NONE, FASTFS_DISC_SCALING_STANDARD}) {
        auto options = fastfs::default_disc_options();
        options.graph = graph;
        options.scaling = scaling;
        options.n_vectors = 4;
        const auto listed = fastfs::disc({fastfs::disc_samples(some, 4), fastfs::disc_samples(others, 4)}, options,
                                         threads(2)),
                   copied = fastfs::disc({fastfs::disc_samples(a, 4), fastfs::disc_samples(b, 4)}, options, threads(2));
        CHECK(same(listed, copied, 0));
    }
}

// The graph of a fit, with both kinds of indices.
void test_graph() {
    const auto A = samples<double>(30, 1), B = samples<double>(90, 2);
    const fastfs::matrix a(A.data(), kSamples, kFeatures), b(B.data(), kSamples, kFeatures);
    const std::vector<fastfs::disc_set> sets{fastfs::disc_samples(a, 4), fastfs::disc_samples(b, 4)};
    for (const int graph : {FASTFS_GRAPH_KNN, FASTFS_GRAPH_LISTS}) {
        auto options = fastfs::default_disc_options();
        options.graph = graph;
        const auto fitted = fastfs::disc(sets, options, threads(2));
        const auto stored = static_cast<std::size_t>(fitted[1].n_stored);
        std::vector<std::int32_t> indptr(kFeatures + 1), indices(stored);
        std::vector<std::int64_t> long_indptr(kFeatures + 1), long_indices(stored);
        std::vector<double> weights(stored), again(stored);
        fastfs::write_disc_graph(fitted, 1, indptr.data(), indices.data(), weights.data(), threads(2));
        fastfs::write_disc_graph(fitted, 1, long_indptr.data(), long_indices.data(), again.data());
        CHECK(std::equal(indptr.begin(), indptr.end(), long_indptr.begin()) && weights == again);
        CHECK(std::equal(indices.begin(), indices.end(), long_indices.begin()));
        CHECK(indptr.front() == 0 && indptr.back() == static_cast<std::int64_t>(stored));
        for (std::size_t i = 0; i < kFeatures; ++i) {
            const auto first = indices.begin() + indptr[i], last = indices.begin() + indptr[i + 1];
            CHECK(std::is_sorted(first, last) && std::binary_search(first, last, static_cast<std::int32_t>(i)));
        }
    }
    auto options = fastfs::default_disc_options();
    options.graph = FASTFS_GRAPH_DENSE;
    fastfs_fitted* dense = nullptr;
    fastfs_disc_result results[] = {FASTFS_DISC_RESULT_INIT, FASTFS_DISC_RESULT_INIT};
    fastfs::check(fastfs_disc_fit(sets.data(), 2, &options, nullptr, results, &dense));
    std::int64_t index = 0;
    double weight = 0;
    CHECK(fastfs_disc_graph(dense, 0, 64, nullptr, &index, &index, &weight) == FASTFS_EINVAL);  // it has no entries
    fastfs_fitted_free(dense);
    options.graph = FASTFS_GRAPH_KNN;
    fastfs::check(fastfs_disc_fit(sets.data(), 2, &options, nullptr, results, &dense));
    CHECK(fastfs_disc_graph(dense, 2, 64, nullptr, &index, &index, &weight) == FASTFS_EINVAL);
    CHECK(fastfs_disc_graph(dense, 0, 16, nullptr, &index, &index, &weight) == FASTFS_EINVAL);
    CHECK(fastfs_disc_graph(dense, 0, 64, nullptr, &index, nullptr, &weight) == FASTFS_EINVAL);
    CHECK(fastfs_disc_graph(nullptr, 0, 64, nullptr, &index, &index, &weight) == FASTFS_EINVAL);
    CHECK(index == 0 && weight == 0);
    fastfs_fitted_free(dense);
}

void test_refusals() {
    auto A = samples<double>(30, 1), B = samples<double>(90, 2);
    const fastfs::matrix a(A.data(), kSamples, kFeatures), b(B.data(), kSamples, kFeatures),
        narrow(B.data(), kSamples, 50, kFeatures, 1);
    auto refused = [](auto&& call) {
        try {
            call();
        } catch (const std::invalid_argument&) {
            return true;
        }
        return false;
    };
    auto options = fastfs::default_disc_options();
    using Sets = std::vector<fastfs::disc_set>;
    CHECK(refused([&] { fastfs::disc(Sets{fastfs::disc_samples(a)}, options); }));
    CHECK(refused([&] { fastfs::disc(Sets{fastfs::disc_samples(a), fastfs::disc_samples(narrow)}, options); }));
    CHECK(refused([&] { fastfs::disc(Sets{fastfs::disc_samples(a), fastfs::disc_samples(b, 210)}, options); }));
    CHECK(
        refused([&] { fastfs::disc(Sets{fastfs::disc_samples(a), fastfs::disc_set(FASTFS_DISC_SET_INIT)}, options); }));
    const std::vector<std::int64_t> places{0, -1};
    const fastfs::matrix listed = a.rows(places.data(), 2);
    CHECK(refused([&] { fastfs::disc(Sets{fastfs::disc_samples(a), fastfs::disc_samples(listed)}, options); }));
    B[777] = std::numeric_limits<double>::quiet_NaN();
    CHECK(refused([&] { fastfs::disc(Sets{fastfs::disc_samples(a), fastfs::disc_samples(b)}, options); }));

    // Neighbours that aren't: itself, twice, out of range, in the wrong order.
    const std::vector<double> good_values = samples<double>(90, 2);
    const auto good = fastfs::nearest_features(fastfs::matrix(good_values.data(), kSamples, kFeatures), 31);
    for (int defect = 0; defect < 4; ++defect) {
        auto bad = good;
        if (defect == 0) bad.neighbors[0] = 0;
        if (defect == 1) bad.neighbors[1] = bad.neighbors[0];
        if (defect == 2) bad.neighbors[40] = kFeatures;
        if (defect == 3) std::swap(bad.distances[0], bad.distances[5]);
        CHECK(refused([&] {
            fastfs::disc(Sets{fastfs::disc_neighbors(good, kFeatures), fastfs::disc_neighbors(bad, kFeatures)},
                         options);
        }));
    }
    fastfs_fitted* none = nullptr;
    CHECK(fastfs_disc_fit(nullptr, 2, &options, nullptr, nullptr, &none) == FASTFS_EINVAL && none == nullptr);
    fastfs_fitted_free(nullptr);
    bool too_large = false;
    try {
        const std::vector<float> wide(2 * 20000, 1.0f);
        const fastfs::matrix X(wide.data(), 2, 20000);
        fastfs::disc(Sets{fastfs::disc_samples(X), fastfs::disc_samples(X)}, options, threads(1, 40 << 20));
    } catch (const fastfs::memory_error&) {
        too_large = true;
    }
    CHECK(too_large);
}

}  // namespace

int main() {
    if (fastfs_isa() == nullptr) {
        std::printf("skipped: %s\n", fastfs_last_error());
        return 77;
    }
    fastfs::check(fastfs_link_blas());
    for (int graph : {FASTFS_GRAPH_DENSE, FASTFS_GRAPH_KNN, FASTFS_GRAPH_LISTS}) {
        test_routes<float>(graph);
        test_routes<double>(graph);
        test_listed_rows<float>(graph, false);
        test_listed_rows<double>(graph, true);
    }
    test_graph();
    for (int graph : {FASTFS_GRAPH_DENSE, FASTFS_GRAPH_KNN}) {
        test_streams<float>(600, kFeatures, graph, false);
        test_streams<double>(600, kFeatures, graph, false);
    }
#ifndef FASTFS_EMULATED  // minutes for each of its fits, with the kernels of the others
    test_streams<float>(360, FASTFS_DISC_MOST_SUMS + 1, FASTFS_GRAPH_KNN, true);
#endif
    test_scaling();
    test_refusals();
    std::printf("%s: %d failures\n", fastfs_isa(), failures);
    return failures != 0;
}
