// RELIEF's family, IM4E and IMMIGRATE through fastfs.hpp: properties of any fit, equal bits for any number of threads,
// predictions and their parts, and refused calls. Exits with 77 (skipped) if FASTFS_ISA names an instruction set that
// this machine lacks.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "fastfs/fastfs.hpp"

// The scipy-openblas32 wheel has its own names for the routines.
#define FASTFS_BLAS_SYMBOL(name) scipy_##name##_
#define FASTFS_BLAS_SET_THREADS scipy_openblas_set_num_threads
#define FASTFS_BLAS_GET_THREADS scipy_openblas_get_num_threads
#include "fastfs/link_blas.h"
#include "results.hpp"

namespace {

int failures = 0;

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            ++failures;                                                          \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
        }                                                                        \
    } while (false)

template <class F>
bool refused(F&& f) {
    try {
        f();
    } catch (const std::invalid_argument&) {
        return true;
    }
    return false;
}

constexpr std::int64_t kSamples = 61, kFeatures = 13, kClasses = 3;

// Features 2 and 7 tell the classes apart, feature 5 is constant.
template <class T>
struct Data {
    std::vector<T> X;
    std::vector<std::int64_t> labels;
    fastfs::matrix view() const { return {X.data(), kSamples, kFeatures}; }

    Data() {
        std::mt19937 engine(1);
        std::normal_distribution<double> normal;
        for (std::int64_t r = 0; r < kSamples; ++r) {
            labels.push_back(r % kClasses);
            for (std::int64_t j = 0; j < kFeatures; ++j) {
                const double level = j == 2 ? 4.0 * static_cast<double>(r % kClasses == 0) : 0.0;
                const double other = j == 7 ? 4.0 * static_cast<double>(r % kClasses == 1) : 0.0;
                X.push_back(j == 5 ? T(3) : static_cast<T>(normal(engine) + level + other));
            }
        }
    }
};

fastfs::run threads(int n) {
    auto run = fastfs::default_run();
    run.n_threads = n;
    return run;
}

template <class T>
void test_relief() {
    const Data<T> data;
    const fastfs::margin margin(data.view(), fastfs::default_margin_options(FASTFS_SCALE_RANGE, FASTFS_KEEP_MANHATTAN));
    const fastfs::margin bare(data.view());
    for (const int method : {FASTFS_RELIEF, FASTFS_RELIEFF, FASTFS_MULTISURF}) {
        auto options = fastfs::default_relief_options();
        options.method = method;
        const auto scores_of = [&](const fastfs::margin& of, int n_threads) {
            const auto found = of.relief(data.labels.data(), kClasses, options, threads(n_threads));
            CHECK(found->scores_se == nullptr);
            return list(found->scores, kFeatures);
        };
        const auto scores = scores_of(margin, 1);
        CHECK(scores == scores_of(margin, 3));
        CHECK(scores == scores_of(bare, 2));
        CHECK(scores[5] == 0);
        for (std::int64_t j = 0; j < kFeatures; ++j) {
            CHECK(j == 2 || j == 7 || scores[static_cast<std::size_t>(j)] < std::min(scores[2], scores[7]));
        }
        std::vector<std::int64_t> wrong = data.labels;
        wrong[3] = kClasses;
        CHECK(refused([&] { margin.relief(wrong.data(), kClasses, options); }));
        options.n_neighbors = 0;
        CHECK(refused([&] { margin.relief(data.labels.data(), kClasses, options); }));
    }
}

// Predicts samples 0, 1, 2, ..., which are training samples, too; parts add up to the margin.
template <class T>
void test_prediction(const Data<T>& data, const fastfs::margin& margin, const fastfs::margin_metric& metric,
                     std::int64_t parts_of_row) {
    std::vector<double> e(static_cast<std::size_t>(kSamples * kClasses));
    const auto* labels = data.labels.data();
    margin.distances(labels, kClasses, metric, data.view(), e.data());
    std::vector<double> parts(static_cast<std::size_t>(kSamples * parts_of_row));
    margin.explain(labels, kClasses, metric, data.view(), labels, parts.data());
    int right = 0;
    for (std::int64_t r = 0; r < kSamples; ++r) {
        const double* row = e.data() + r * kClasses;
        right += std::min_element(row, row + kClasses) - row == labels[r];
        double other = std::numeric_limits<double>::infinity(), sum = 0;
        for (std::int64_t c = 0; c < kClasses; ++c) {
            CHECK(std::isfinite(row[c]));
            if (c != labels[r]) other = std::min(other, row[c]);
        }
        for (std::int64_t k = 0; k < parts_of_row; ++k) sum += parts[static_cast<std::size_t>(r * parts_of_row + k)];
        CHECK(std::abs(sum - (other - row[labels[r]])) < (sizeof(T) == 4 ? 1e-5 : 1e-12));
    }
    CHECK(right > kSamples * 8 / 10);
    auto wrong = metric;
    wrong.sigma = 0;
    CHECK(refused([&] { margin.distances(labels, kClasses, wrong, data.view(), e.data()); }));
}

template <class T>
void test_im4e() {
    const Data<T> data;
    const fastfs::margin margin(data.view(), fastfs::default_margin_options(FASTFS_SCALE_STANDARD));
    const auto* labels = data.labels.data();
    auto options = fastfs::default_im4e_options();
    options.sigma_rule = FASTFS_MARGIN_SIGMA_GIVEN;
    options.tol = 0;
    const auto found = margin.im4e(labels, kClasses, options, threads(1)),
               on_three = margin.im4e(labels, kClasses, options, threads(3));
    CHECK(std::equal(found->weights, found->weights + kFeatures, on_three->weights));
    double sum = 0;
    for (const double w : list(found->weights, kFeatures)) {
        CHECK(w >= 0);
        sum += w;
    }
    CHECK(std::abs(sum - 1) < 1e-12);
    CHECK(found->weights[5] == 0 && found->weights[2] > 0.2 && found->weights[7] > 0.2);
    CHECK(found->n_iter == 10 && !found->converged && found->sigma == 1);

    auto metric = fastfs::default_margin_metric();
    metric.weights = found->weights;
    metric.n_features = kFeatures;
    test_prediction(data, margin, metric, kFeatures);

    const double factors[kClasses] = {1, 1, 0};
    options.class_factors = factors;
    CHECK(refused([&] { margin.im4e(labels, kClasses, options); }));
    options.class_factors = nullptr;
    options.sigma = -1;
    CHECK(refused([&] { margin.im4e(labels, kClasses, options); }));
}

template <class T>
void test_immigrate() {
    const Data<T> data;
    const fastfs::margin margin(data.view(), fastfs::default_margin_options(FASTFS_SCALE_STANDARD));
    const auto* labels = data.labels.data();
    auto options = fastfs::default_immigrate_options();
    options.sigma_rule = FASTFS_MARGIN_SIGMA_GIVEN;
    const auto found = margin.immigrate(labels, kClasses, options, threads(1));
    const auto W_of = [&](const fastfs::immigrate_options& o, int n_threads) {
        const auto fitted = margin.immigrate(labels, kClasses, o, threads(n_threads));
        return list(fitted->W, fitted->n_features * fitted->n_features);
    };
    const std::int64_t n = found->n_features, rank = found->rank;
    CHECK(n == kFeatures - 1);  // without the constant one
    CHECK(list(found->W, n * n) == W_of(options, 3));
    const double tolerance = sizeof(T) == 4 ? 1e-6 : 1e-12;  // factors below it are left out
    double norm = 0, largest = 0;
    for (std::int64_t a = 0; a < n; ++a) {
        double score = 0;
        for (std::int64_t b = 0; b < n; ++b) {
            const double w = found->W[a * n + b];
            CHECK(w == found->W[b * n + a]);
            double product = 0;
            for (std::int64_t k = 0; k < rank; ++k) {
                product += found->values[k] * found->vectors[k * n + a] * found->vectors[k * n + b];
            }
            CHECK(std::abs(product - w) < tolerance);
            score += w * w;
            if (a < b) largest = std::max(largest, std::abs(w));
        }
        CHECK(std::abs(score - found->scores[found->features[a]]) < tolerance);
        norm += score;
    }
    CHECK(std::abs(norm - 1) < 1e-12);
    CHECK(found->scores[5] == 0);
    std::int64_t a[3], b[3];
    double weights[3];
    CHECK(fastfs::immigrate_pairs(n, rank, found->values, found->vectors, false, 3, a, b, weights) == 3);
    CHECK(std::abs(std::abs(weights[0]) - largest) < tolerance && a[0] < b[0]);
    CHECK(std::abs(weights[0]) >= std::abs(weights[1]) && std::abs(weights[1]) >= std::abs(weights[2]));

    auto metric = fastfs::default_margin_metric();
    metric.sigma = found->sigma;
    metric.features = found->features;
    metric.n_features = n;
    metric.rank = rank;
    metric.values = found->values;
    metric.vectors = found->vectors;
    test_prediction(data, margin, metric, n * n);

    auto wrong = options;
    wrong.smallest = std::numeric_limits<double>::quiet_NaN();
    CHECK(refused([&] { margin.immigrate(labels, kClasses, wrong); }));
    wrong = options;
    const std::int64_t unordered[] = {3, 2};
    wrong.features = unordered;
    wrong.n_features = 2;
    CHECK(refused([&] { margin.immigrate(labels, kClasses, wrong); }));

    // The filter is IM4E, and the first W of the kept features is the diagonal of their weights.
    options.prefilter = FASTFS_PREFILTER_IM4E;
    const auto filtered = margin.immigrate(labels, kClasses, options, threads(2));
    auto filter = fastfs::default_im4e_options();
    filter.sigma_rule = FASTFS_MARGIN_SIGMA_GIVEN;
    const auto before = margin.im4e(labels, kClasses, filter, threads(1));
    CHECK(std::equal(before->weights, before->weights + kFeatures, filtered->prefilter_weights) &&
          found->prefilter_weights == nullptr);
    std::vector<std::int64_t> kept;
    std::vector<double> start;
    for (std::int64_t j = 0; j < kFeatures; ++j) {
        const double w = before->weights[j];
        if (w * (kFeatures - 1) < 1) continue;
        kept.push_back(j);
        start.push_back(w);
    }
    CHECK(list(filtered->features, filtered->n_features) == kept && kept.size() < static_cast<std::size_t>(n));
    options.features = kept.data();
    options.n_features = static_cast<std::int64_t>(kept.size());
    options.start = start.data();
    CHECK(refused([&] { margin.immigrate(labels, kClasses, options); }));  // the filter chooses these
    options.prefilter = FASTFS_PREFILTER_AUTO;
    const auto by_hand = margin.immigrate(labels, kClasses, options, threads(1));
    const std::int64_t size = filtered->n_features * filtered->n_features;
    const auto W_by_hand = list(by_hand->W, size);
    CHECK(W_by_hand == list(filtered->W, size) && by_hand->prefilter_weights == nullptr);
    CHECK(list(by_hand->cost, by_hand->n_iter) == list(filtered->cost, filtered->n_iter));
    options.smallest = FASTFS_SMALLEST_AUTO;
    const auto automatic = W_of(options, 1);
    options.smallest = 1 / static_cast<double>(kept.size());
    CHECK(automatic == W_of(options, 1) && automatic != W_by_hand);
    options.smallest = -0.5;
    CHECK(refused([&] { margin.immigrate(labels, kClasses, options); }));
    fastfs_fitted_free(nullptr);
    fastfs_margin_free(nullptr);
}

}  // namespace

int main() {
    if (fastfs_isa() == nullptr) {
        std::printf("skipped: %s\n", fastfs_last_error());
        return 77;
    }
    fastfs::check(fastfs_link_blas());
    test_relief<float>();
    test_relief<double>();
    test_im4e<float>();
    test_im4e<double>();
    test_immigrate<float>();
    test_immigrate<double>();
    std::printf("%s: %d failures\n", fastfs_isa(), failures);
    return failures != 0;
}
