// The engine of the margin methods against plain loops, and RELIEF, ReliefF and MultiSURF with distances stored and by
// blocks of rows. Exits with 77 (skipped) if FASTFS_ISA names a set that this machine hasn't.
#include "margin/margin.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "engines/isa/genotype_bits.hpp"
#include "engines/isa/tiles.hpp"
#include "fastfs/fastfs.h"
#include "margin/quadratic_forms.hpp"
#include "results.hpp"
#include "support/errors.hpp"
#include "tests.hpp"

namespace {

using namespace fastfs::core;

fastfs_margin_options stage(Scaling scaling, int keep = FASTFS_KEEP_NONE) {
    fastfs_margin_options options = FASTFS_MARGIN_OPTIONS_INIT;
    options.scaling = static_cast<std::int32_t>(scaling);
    options.keep = keep;
    return options;
}

// Feature k of a sample as the kernels see it, before it is rounded to T.
template <class T>
double scaled(const Data<T>& X, const ScaledFeatures& data, std::int64_t r, std::size_t k) {
    return (static_cast<double>(X.at(r, data.features[k])) - data.shift[k]) * data.factor[k];
}

double apply(Difference difference, double d) { return difference == Difference::kAbsolute ? std::abs(d) : d * d; }

// Selects features, with weights folded into their factors.
ScaledFeatures weighted(const ScaledFeatures& all) {
    ScaledFeatures some{all.X, {}, {}, {}};
    for (std::size_t k = 0; k < all.features.size(); ++k) {
        if (below(3) == 0) continue;
        some.features.push_back(all.features[k]);
        some.shift.push_back(all.shift[k]);
        some.factor.push_back(all.factor[k] * static_cast<double>(1 + below(5)));
    }
    return some;
}

// Rounding of a difference of scaled values, each rounded to T, through `apply`.
double rounding(Difference difference, double a, double b, double eps) {
    const double of_d = eps * (std::abs(a) + std::abs(b));
    return difference == Difference::kAbsolute ? of_d : 2 * of_d * std::abs(a - b) + of_d * of_d;
}

template <class T>
void test_pair_sums(std::int64_t n, std::int64_t d, int layout, Scaling scaling, bool subset, Difference difference) {
    const double eps = std::numeric_limits<T>::epsilon();
    const Data<T> X(n, d, layout);
    const Matrix m(X.m);
    Run run(threads(1));
    const Margin margin(m, stage(scaling), run);
    const ScaledFeatures data = subset ? weighted(margin.features()) : margin.features();
    const std::int64_t ld = n + 3;
    std::vector<double> out(static_cast<std::size_t>(n * ld), -1.0);
    pair_sums<T>(data, 0, n, data, 0, n, difference, out.data(), ld, run);

    bool close = true, symmetric = true, outside_untouched = true;
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
            const double found = out[static_cast<std::size_t>(i * ld + j)];
            symmetric = symmetric && found == out[static_cast<std::size_t>(j * ld + i)] && (i != j || found == 0);
            if (n > 80 && (i * 7 + j) % 11 != 0) continue;
            double sum = 0, error = 0;
            for (std::size_t k = 0; k < data.features.size(); ++k) {
                const double a = scaled(X, data, i, k), b = scaled(X, data, j, k);
                sum += apply(difference, a - b);
                error += rounding(difference, a, b, eps);
            }
            // Each lane adds up at most 192 terms of a panel (baseline, 4 lanes).
            close = close && std::abs(found - sum) <= error + 200 * eps * sum;
        }
        for (std::int64_t j = n; j < ld; ++j) {
            outside_untouched = outside_untouched && out[static_cast<std::size_t>(i * ld + j)] == -1.0;
        }
    }
    CHECK(close);
    CHECK(symmetric);
    CHECK(outside_untouched);

    for (int n_threads = 2; n_threads <= 4; ++n_threads) {
        std::vector<double> again(out.size(), -1.0);
        Run more(threads(n_threads));
        pair_sums<T>(data, 0, n, data, 0, n, difference, again.data(), ld, more);
        CHECK(again == out);
    }
    // Any block of pairs has equal bits.
    const std::int64_t i0 = below(n), i1 = i0 + 1 + below(n - i0), j0 = below(i0 + 1), j1 = i1 + below(n - i1 + 1);
    std::vector<double> part(static_cast<std::size_t>((i1 - i0) * (j1 - j0)));
    pair_sums<T>(data, i0, i1, data, j0, j1, difference, part.data(), j1 - j0, run);
    bool same = true;
    for (std::int64_t i = i0; i < i1; ++i) {
        for (std::int64_t j = j0; j < j1; ++j) {
            same = same && part[static_cast<std::size_t>((i - i0) * (j1 - j0) + j - j0)] ==
                               out[static_cast<std::size_t>(i * ld + j)];
        }
    }
    CHECK(same);
    // Samples of another matrix with equal values give equal bits.
    Data<T> copy(i1 - i0, d, (layout + 1) % 4);
    for (std::int64_t r = i0; r < i1; ++r) {
        for (std::int64_t c = 0; c < d; ++c) copy.at(r - i0, c) = X.at(r, c);
    }
    const Matrix other(copy.m);
    ScaledFeatures left = data;
    left.X = &other;
    pair_sums<T>(left, 0, i1 - i0, data, j0, j1, difference, part.data(), j1 - j0, run);
    for (std::int64_t i = i0; i < i1; ++i) {
        for (std::int64_t j = j0; j < j1; ++j) {
            same = same && part[static_cast<std::size_t>((i - i0) * (j1 - j0) + j - j0)] ==
                               out[static_cast<std::size_t>(i * ld + j)];
        }
    }
    CHECK(same);
}

template <class T>
void test_feature_sums(std::int64_t n, std::int64_t d, int layout, int zeros, Difference difference) {
    const double eps = std::numeric_limits<T>::epsilon();
    const Data<T> X(n, d, layout);
    const Matrix m(X.m);
    Run run(threads(1));
    const Margin margin(m, stage(Scaling::kStandard), run);
    const ScaledFeatures data = weighted(margin.features());
    const std::size_t width = data.features.size();
    const std::int64_t ld = n + 1;
    std::vector<double> g(static_cast<std::size_t>(n * ld), std::numeric_limits<double>::quiet_NaN());
    std::vector<WeightedPair> pairs;
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
            const double weight = below(zeros) == 0 ? normal() : 0.0;
            g[static_cast<std::size_t>(i * ld + j)] = weight;
            if (weight != 0) pairs.push_back({i, j, weight});
        }
    }
    const auto expected = [&](std::int64_t i0, std::int64_t i1, std::int64_t j0, std::int64_t j1) {
        std::vector<double> sums(2 * width, 0.0);  // and what rounding may take
        for (std::size_t k = 0; k < width; ++k) {
            for (std::int64_t i = i0; i < i1; ++i) {
                for (std::int64_t j = j0; j < j1; ++j) {
                    const double weight = g[static_cast<std::size_t>(i * ld + j)];
                    if (weight == 0) continue;
                    const double a = scaled(X, data, i, k), b = scaled(X, data, j, k);
                    const double term = weight * apply(difference, a - b);
                    sums[k] += term;
                    // 256 pairs are added before the sum goes to double; each weight is rounded once.
                    sums[width + k] += std::abs(weight) * rounding(difference, a, b, eps) + 256 * eps * std::abs(term);
                }
            }
        }
        return sums;
    };
    const auto check = [&](const std::vector<double>& sums, const std::vector<double>& exact, double start) {
        bool close = true;
        for (std::size_t k = 0; k < width; ++k) {
            const double error = exact[width + k] + 1e-14 * std::abs(start);
            close = close && std::abs(sums[k] - start - exact[k]) <= error;
        }
        CHECK(close);
    };
    const auto all = expected(0, n, 0, n);
    std::vector<double> first;
    for (int n_threads = 1; n_threads <= 4; ++n_threads) {
        Run more(threads(n_threads));
        std::vector<double> directed(width, 5.0), triangle(width, 0.0), listed(width, 0.0);
        feature_sums<T>(data, 0, n, data, 0, n, difference, g.data(), ld, false, directed.data(), more);
        feature_sums<T>(data, 0, n, data, 0, n, difference, g.data(), ld, true, triangle.data(), more);
        feature_sums<T>(data, pairs, difference, listed.data(), more);
        auto joined = directed;
        joined.insert(joined.end(), triangle.begin(), triangle.end());
        joined.insert(joined.end(), listed.begin(), listed.end());
        if (n_threads == 1) {
            check(directed, all, 5.0);
            check(triangle, all, 0.0);
            check(listed, all, 0.0);
            first = joined;
        } else {
            CHECK(joined == first);
        }
    }
    const std::int64_t i0 = below(n), i1 = i0 + 1 + below(n - i0), j0 = below(n), j1 = j0 + 1 + below(n - j0);
    std::vector<double> part(width, 0.0);
    feature_sums<T>(data, i0, i1, data, j0, j1, difference, &g[static_cast<std::size_t>(i0 * ld + j0)], ld, false,
                    part.data(), run);
    check(part, expected(i0, i1, j0, j1), 0.0);

    if (width == 0) return;
    const PackedPanels<T> packed(data, run);  // the same bits, from all samples or some
    const auto all_sums = [&](const ScaledFeatures& from) {
        std::vector<double> triangle(width, 0.0), rows(width, 0.0), block(width, 0.0);
        std::vector<double> distances(static_cast<std::size_t>(n * n));
        feature_sums<T>(from, 0, n, from, 0, n, difference, g.data(), ld, true, triangle.data(), run);
        feature_sums<T>(from, i0, i1, from, 0, n, difference, &g[static_cast<std::size_t>(i0 * ld)], ld, false,
                        rows.data(), run);
        feature_sums<T>(from, i0, i1, from, j0, j1, difference, &g[static_cast<std::size_t>(i0 * ld + j0)], ld, false,
                        block.data(), run);
        pair_sums<T>(from, 0, n, from, 0, n, difference, distances.data(), n, run);
        return std::vector{triangle, rows, block, distances};
    };
    CHECK(all_sums(packed.features()) == all_sums(data));
}

template <class T>
void test_pack_samples() {
    for (const std::int64_t d : {1, 16, 17, 767, 768, 2000}) {
        const Data<T> X(70, d, static_cast<int>(below(4)));
        const Matrix m(X.m);
        Run run(threads(2));
        const Margin margin(m, stage(Scaling::kRange), run);
        const ScaledFeatures data = margin.features();
        const std::int64_t ld = (d + 15) / 16 * 16 + 16;
        const auto packed = pack_samples<T>(data, 3, 70, ld, run);
        bool same = true;
        for (std::int64_t r = 3; r < 70; ++r) {
            for (std::int64_t k = 0; k < ld; ++k) {
                const T wanted = k < d ? static_cast<T>(scaled(X, data, r, static_cast<std::size_t>(k))) : T(0);
                same = same && packed[(r - 3) * ld + k] == wanted;
            }
        }
        CHECK(same);
    }
}

template <class T>
void test_scaling() {
    for (int layout = 0; layout < 4; ++layout) {
        Data<T> X(37, 601, layout);
        for (std::int64_t r = 0; r < 37; ++r) X.at(r, 5) = T(2.5);
        const Matrix m(X.m);
        Run run(threads(2));
        for (const Scaling scaling : {Scaling::kNone, Scaling::kRange, Scaling::kStandard}) {
            const Margin margin(m, stage(scaling, FASTFS_KEEP_MANHATTAN), run);
            CHECK(margin.factor()[5] == 0);
            CHECK(margin.features().n_features() == 600);
            CHECK(margin.kept(Difference::kAbsolute) && !margin.kept(Difference::kSquared));
            bool right = true;
            for (std::int64_t c = 0; c < 601; ++c) {
                if (c == 5) continue;
                double low = 1e300, high = -1e300, mean = 0, variance = 0;
                for (std::int64_t r = 0; r < 37; ++r) {
                    const double x = X.at(r, c);
                    low = std::min(low, x);
                    high = std::max(high, x);
                    mean += x / 37;
                }
                for (std::int64_t r = 0; r < 37; ++r) variance += (X.at(r, c) - mean) * (X.at(r, c) - mean) / 37;
                const double shift = scaling == Scaling::kNone ? 0 : scaling == Scaling::kRange ? low : mean;
                const double unit = scaling == Scaling::kNone    ? 1
                                    : scaling == Scaling::kRange ? high - low
                                                                 : std::sqrt(variance);
                const auto at = static_cast<std::size_t>(c);
                right = right && std::abs(margin.shift()[at] - shift) <= 1e-13 * (std::abs(mean) + unit) &&
                        std::abs(margin.factor()[at] * unit - 1) <= 1e-12;
            }
            CHECK(right);
        }
        Run small(threads(1, 30000));
        CHECK(!Margin(m, stage(Scaling::kRange, FASTFS_KEEP_MANHATTAN), small).kept(Difference::kAbsolute));

        const T before = X.at(8, 300);
        for (const double bad : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
            X.at(8, 300) = X.at(9, 20) = static_cast<T>(bad);
            const auto said = refusal([&] { Margin(m, stage(Scaling::kRange), run); });
            CHECK(said.find("row 8, column 300") != std::string::npos);
        }
        X.at(8, 300) = before;
        X.at(9, 20) = sizeof(T) == 4 ? T(1e30) : static_cast<T>(1e200);
        CHECK(refusal([&] { Margin(m, stage(Scaling::kNone), run); }).find("column 20 ") != std::string::npos);
        X.at(9, 20) = T(5000);
        CHECK(find_scales(m, Scaling::kNone, run).uneven);
        CHECK(!find_scales(m, Scaling::kStandard, run).uneven);
        for (std::int64_t c = 0; c < 601; ++c) {
            for (std::int64_t r = 0; r < 37; ++r) X.at(r, c) = T(c);
        }
        CHECK(refusal([&] { Margin(m, stage(Scaling::kRange), run); }).find("constant") != std::string::npos);
    }
    Data<double> wide(3, 2, 0);  // ranges that doubles don't hold
    wide.at(0, 1) = -1.5e308;
    wide.at(1, 1) = 1.5e308;
    Run run(threads(1));
    const Matrix m(wide.m);
    for (const Scaling scaling : {Scaling::kRange, Scaling::kStandard}) {
        CHECK(refusal([&] { Margin(m, stage(scaling), run); }).find("column 1 ") != std::string::npos);
    }
    wide.at(0, 1) = wide.at(1, 1) = 0;
    wide.at(2, 1) = 1e-310;
    CHECK(refusal([&] { Margin(m, stage(Scaling::kRange), run); }).find("column 1 ") != std::string::npos);
}

struct Relief {
    std::vector<double> scores;
    bool stored;
};

template <class T>
Relief relief(const Data<T>& X, const std::vector<std::int64_t>& labels, fastfs_relief_options options, int keep,
              fastfs_run run) {
    fastfs_margin* margin = nullptr;
    const auto first = stage(Scaling::kRange, keep);
    CHECK(fastfs_margin_new(&X.m, &first, &run, &margin) == FASTFS_OK);
    fastfs_relief_result result = FASTFS_RELIEF_RESULT_INIT;
    const auto n_classes = *std::max_element(labels.begin(), labels.end()) + 1;
    const bool done = fastfs_relief(margin, labels.data(), n_classes, &options, &run, &result, owner()) == FASTFS_OK;
    if (!done) std::fprintf(stderr, "%s\n", fastfs_last_error());
    CHECK(done);
    fastfs_margin_free(margin);
    return {list(result.scores, X.m.n_cols), result.stored != 0};
}

template <class T>
void test_relief() {
    const double eps = std::numeric_limits<T>::epsilon();
    const std::int64_t n = 600;
    const Data<T> X(n, 90, 0);
    std::vector<std::int64_t> labels;
    for (std::int64_t i = 0; i < n; ++i) labels.push_back(i < 3 ? i : below(3));
    for (const int method : {FASTFS_RELIEF, FASTFS_RELIEFF, FASTFS_MULTISURF}) {
        for (const std::int64_t k : {1, 7, 150}) {  // 150 of each class: a matrix of weights, not a list
            if (method != FASTFS_RELIEFF && k > 1) continue;
            fastfs_relief_options options = FASTFS_RELIEF_OPTIONS_INIT;
            options.method = method;
            options.n_neighbors = k;
            const int keep = method == FASTFS_RELIEF ? FASTFS_KEEP_SQUARED_EUCLIDEAN : FASTFS_KEEP_MANHATTAN;
            const Relief whole = relief(X, labels, options, FASTFS_KEEP_NONE, threads(1));
            CHECK(whole.stored);
            for (int n_threads = 1; n_threads <= 4; ++n_threads) {
                CHECK(relief(X, labels, options, FASTFS_KEEP_NONE, threads(n_threads)).scores == whole.scores);
                CHECK(relief(X, labels, options, keep, threads(n_threads)).scores == whole.scores);
                const Relief blocks = relief(X, labels, options, FASTFS_KEEP_NONE, threads(n_threads, 3800000));
                CHECK(!blocks.stored);
                const bool listed = method == FASTFS_RELIEF || (method == FASTFS_RELIEFF && k < 150);
                bool close = true;
                for (std::size_t c = 0; c < 90; ++c) {
                    // The means that are subtracted from each other are below 1; a few hundred terms at a time in T.
                    close = close && std::abs(blocks.scores[c] - whole.scores[c]) <= (listed ? 0 : 256 * eps);
                }
                CHECK(close);
            }
        }
    }
    // With as many targets as samples, all of them; with fewer, the mean over different sets tends to all.
    fastfs_relief_options options = FASTFS_RELIEF_OPTIONS_INIT;
    options.method = FASTFS_RELIEF;
    const Relief all = relief(X, labels, options, FASTFS_KEEP_NONE, threads(1));
    options.n_targets = n;
    CHECK(relief(X, labels, options, FASTFS_KEEP_NONE, threads(1)).scores == all.scores);
    options.n_targets = 300;
    const Relief half = relief(X, labels, options, FASTFS_KEEP_NONE, threads(1));
    CHECK(half.scores != all.scores);
    CHECK(relief(X, labels, options, FASTFS_KEEP_SQUARED_EUCLIDEAN, threads(2)).scores == half.scores);
    options.seed = 1;
    CHECK(relief(X, labels, options, FASTFS_KEEP_NONE, threads(1)).scores != half.scores);
}

// Cancel is seen within 0.2 s (here: with room for a busy machine and a sanitizer). The distances take seconds on any
// machine, so that the second call always comes in the middle.
void test_cancel() {
    Data<float> X(2, 6000, 0);
    X.m.n_rows = 6000;  // each row starts one value after the previous one: far fewer random numbers
    X.m.row_stride = 1;
    struct Clock {
        std::chrono::steady_clock::time_point asked;
        int calls = 0;
        double last = 0;
        bool ascending = true;
    } clock;
    fastfs_run run = threads(2);
    run.user = &clock;
    run.progress = [](void* user, const char*, double share) {
        auto& c = *static_cast<Clock*>(user);
        c.ascending = c.ascending && share >= c.last && share <= 1;
        c.last = share;
        if (++c.calls == 2) c.asked = std::chrono::steady_clock::now();
        return c.calls >= 2 ? 1 : 0;
    };
    fastfs_margin* margin = nullptr;
    const auto first = stage(Scaling::kRange, FASTFS_KEEP_MANHATTAN);
    const int code = fastfs_margin_new(&X.m, &first, &run, &margin);
    CHECK(code == FASTFS_ECANCELED && margin == nullptr);
    CHECK(clock.ascending);
    CHECK(std::chrono::steady_clock::now() - clock.asked < std::chrono::seconds(2));
}

#if defined(__SANITIZE_THREAD__)
// Races take several blocks of samples and of features, not every remainder; the plain loops take their time there.
constexpr std::int64_t kSamples[] = {17, 65}, kFeatures[] = {33, 769};
#else
constexpr std::int64_t kSamples[] = {2, 3, 5, 16, 17, 65, 131}, kFeatures[] = {1, 2, 15, 16, 33, 383, 769};
#endif

template <class T>
void test_all() {
    for (const std::int64_t n : kSamples) {
        for (const std::int64_t d : kFeatures) {
            for (int layout = 0; layout < 4; ++layout) {
                const auto scaling = static_cast<Scaling>(below(3));
                const auto difference = static_cast<Difference>(below(2));
                test_pair_sums<T>(n, d, layout, scaling, d > 2 && below(2) == 0, difference);
                if (d > 2) test_feature_sums<T>(n, d, layout, static_cast<int>(1 + below(40)), difference);
            }
        }
    }
    test_pair_sums<T>(530, 9, 0, Scaling::kRange, false, Difference::kAbsolute);  // blocks of 64
    test_feature_sums<T>(530, 9, 1, 3, Difference::kAbsolute);
    test_pair_sums<T>(7, 30000, 1, Scaling::kRange, true, Difference::kSquared);  // several passes
    test_feature_sums<T>(7, 30000, 0, 3, Difference::kSquared);
    test_pack_samples<T>();
    test_scaling<T>();
    test_relief<T>();
}

// Computes d'Wd by both forms and sums of g d d', in a triangle and between two sets of samples, against plain loops.
template <class T>
void test_forms(std::int64_t n, std::int64_t d, std::int64_t rank) {
    const double eps = std::numeric_limits<T>::epsilon();
    const Data<T> X(n, d, 0);
    const Matrix m(X.m);
    Run run(threads(3));
    const Margin margin(m, stage(Scaling::kStandard), run);
    const PackedSamples<T> samples(margin.features(), run);
    const std::int64_t A = samples.n_features();
    std::vector<double> values, vectors, W(static_cast<std::size_t>(A * A), 0.0);
    for (std::int64_t k = 0; k < rank; ++k) values.push_back(k % 3 == 2 ? -0.5 : 1.0);
    for (std::int64_t k = 0; k < rank * A; ++k) vectors.push_back(normal());
    for (std::int64_t k = 0; k < rank; ++k) {
        const double *v = vectors.data() + k * A, value = values[static_cast<std::size_t>(k)];
        for (std::int64_t c = 0; c < A * A; ++c) W[static_cast<std::size_t>(c)] += value * v[c / A] * v[c % A];
    }
    std::vector<double> g(static_cast<std::size_t>(n * n));
    for (double& w : g) w = below(3) == 0 ? 0 : normal();

    const QuadraticForm<T> by_factors(A, rank, values.data(), vectors.data()), by_triangle(A, W.data());
    CHECK(!by_factors.is_triangle() && by_triangle.is_triangle());
    const std::int64_t i0 = n / 3;
    for (const bool triangle : {true, false}) {
        const std::int64_t first = triangle ? 0 : i0;
        std::vector<double> found[2], Sigma(static_cast<std::size_t>(A * A), 1.0), expected = Sigma, mass = Sigma;
        for (auto& f : found) f.assign(static_cast<std::size_t>((n - first) * n), -1.0);
        quadratic_forms(samples, first, n, samples, triangle, by_factors, found[0].data(), n, run);
        quadratic_forms(samples, first, n, samples, triangle, by_triangle, found[1].data(), n, run);
        outer_sums(samples, first, n, samples, g.data(), n, triangle, 0.25, Sigma.data(), run);
        bool close = true;
        for (std::int64_t i = first; i < n; ++i) {
            for (std::int64_t j = 0; j < n; ++j) {
                const double weight = g[static_cast<std::size_t>((i - first) * n + j)];
                double f = 0, size = 0;
                for (std::int64_t a = 0; a < A; ++a) {
                    const double da = std::abs(static_cast<double>(samples.row(i)[a] - samples.row(j)[a]));
                    for (std::int64_t b = 0; b < A; ++b) {
                        const double db = std::abs(static_cast<double>(samples.row(i)[b] - samples.row(j)[b]));
                        const double term = W[static_cast<std::size_t>(a * A + b)] * da * db;
                        f += term;
                        size += std::abs(term);
                        if (std::abs(weight) > 0.25 && (!triangle || j > i)) {
                            expected[static_cast<std::size_t>(a * A + b)] += weight * da * db;
                            mass[static_cast<std::size_t>(a * A + b)] += std::abs(weight) * da * db;
                        }
                    }
                }
                for (const auto& of : found) {
                    const double error = std::abs(of[static_cast<std::size_t>((i - first) * n + j)] - f);
                    close = close && error <= 8 * static_cast<double>(A + rank) * eps * (size + 1);
                }
            }
        }
        CHECK(close);
        bool sums_close = true;
        for (std::int64_t a = 0; a < A; ++a) {
            for (std::int64_t b = a; b < A; ++b) {
                const auto at = static_cast<std::size_t>(a * A + b);
                sums_close = sums_close && std::abs(Sigma[at] - expected[at]) <= 300 * eps * mass[at];
            }
        }
        CHECK(sums_close);
    }
}

// Differences between lines of genotypes by carry-save adders, and by counting bits if the machine does that.
void test_genotype_lines() {
    std::mt19937_64 words(1);
    constexpr std::int64_t n = 6, stride = kPanelLines * kLineWords;
    std::vector<std::uint64_t> lines(static_cast<std::size_t>(n * stride));
    for (auto& word : lines) word = words();
    for (const GenotypeIsa* kernels : {isa().genotypes, &genotype_isa()}) {
        for (const std::int64_t n_lines : {1, 2, 3, 15, 32, 63, 64}) {
            for (const bool differ : {false, true}) {
                std::uint32_t sums[n - 1] = {1, 1, 1, 1, 1};
                kernels->differences[differ].pair_sums(lines.data(), lines.data() + stride, stride, n - 1, n_lines,
                                                       sums);
                for (std::int64_t j = 1; j < n; ++j) {
                    int expected = 1;
                    for (std::int64_t w = 0; w < n_lines * kLineWords; ++w) {
                        const auto bits = [&](std::int64_t word) {
                            return lines[static_cast<std::size_t>(word)] ^
                                   lines[static_cast<std::size_t>(j * stride + word)];
                        };
                        if (!differ) expected += std::popcount(bits(w));
                        if (differ && w % kLineWords < kLineWords / 2) {
                            expected += std::popcount(bits(w) | bits(w + kLineWords / 2));
                        }
                    }
                    CHECK(sums[j - 1] == static_cast<std::uint32_t>(expected));
                }
            }
        }
    }
}

// Means of the differences from chosen lines that have a SNP, against plain counting: of two bins, up to more lines
// than 16 bits count.
void test_genotype_means() {
    std::mt19937_64 words(2);
    constexpr std::int32_t n_lines = 40;
    std::vector<std::uint64_t> lines(static_cast<std::size_t>((n_lines + 1) * kLineWords));
    for (std::size_t word = 0; word < lines.size() - kLineWords; ++word) lines[word] = words() | words();
    const auto code = [&](std::int32_t line, std::int64_t snp) {
        const std::uint64_t* of_line = lines.data() + line * kLineWords + snp / 64;
        return std::pair(of_line[0] >> (snp % 64) & 1, of_line[kLineWords / 2] >> (snp % 64) & 1);
    };
    const std::pair<std::uint64_t, std::uint64_t> missing(0, 1);
    for (const std::int64_t n : {1, 10, 16, 37, 300, 70000}) {
        for (const bool differ : {false, true}) {
            std::vector<KnownSums> sums(static_cast<std::size_t>(n + 1));
            std::vector<double> means(kLineSnps), expected(kLineSnps);
            std::vector<std::int32_t> chosen(static_cast<std::size_t>(n));
            for (const std::int32_t target : {3, 7}) {
                for (auto& line : chosen) line = static_cast<std::int32_t>(words() % n_lines);
                isa().genotypes->differences[differ].add_by_known(lines.data(), chosen.data(), n, n_lines,
                                                                  lines.data() + target * kLineWords, sums.data(),
                                                                  means.data());
                for (std::int64_t snp = 0; snp < kLineSnps; ++snp) {
                    const auto x = code(target, snp);
                    double sum = 0, known = 0;
                    for (const std::int32_t line : chosen) {
                        const auto y = code(line, snp);
                        if (x == missing || y == missing) continue;
                        const int bits = (x.first != y.first) + (x.second != y.second);
                        sum += differ ? bits > 0 : bits;
                        ++known;
                    }
                    if (known > 0) expected[static_cast<std::size_t>(snp)] += sum / known;
                }
            }
            for (std::int64_t known = 1; known <= n; ++known) {
                KnownSums& of = sums[static_cast<std::size_t>(known)];
                isa().genotypes->add_means(of, known, means.data());
                CHECK(of.most == 0);
            }
            double largest = 0;
            for (std::size_t snp = 0; snp < kLineSnps; ++snp) {
                largest = std::max(largest, std::abs(means[snp] - expected[snp]));
            }
            CHECK(largest < 1e-12);
        }
    }
}

}  // namespace

int main() {
    try {
        isa();
    } catch (const InvalidArgument& e) {
        std::printf("skipped: %s\n", e.what());
        return 77;
    }
    test_all<float>();
    test_all<double>();
    test_forms<float>(37, 5, 2);
    test_forms<double>(37, 61, 9);
    test_forms<float>(19, 61, 20);
    test_forms<double>(11, 300, 3);
    test_forms<float>(9, 530, 4);
    test_cancel();
    test_genotype_lines();
    test_genotype_means();
    std::printf("%s: %d failures\n", isa().name, failures);
    return failures != 0;
}
