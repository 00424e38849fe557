// Designs, null distributions and stability through the C interface: draws and p-values that are those of Python, a
// second pass, threads that share a design, and every kind of bad argument.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fastfs/fastfs.hpp"
#include "results.hpp"
#include "support/numpy_random.hpp"

namespace {

int failures = 0;

void check(bool fine, int line, const char* what) {
    if (fine) return;
    ++failures;
    std::fprintf(stderr, "%s:%d: %s (last error: %s)\n", __FILE__, line, what, fastfs_last_error());
}
#define CHECK(condition) check(condition, __LINE__, #condition)

// Tests if a call is refused with a message that contains `text`.
bool refused(fastfs_status status, const char* text) {
    return status == FASTFS_EINVAL && std::strstr(fastfs_last_error(), text) != nullptr;
}

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// ---- random numbers -------------------------------------------------------------------------------------------------

// Numbers of numpy.random.default_rng(SeedSequence(seed, spawn_key=...)): random(), logistic(), permutation(5).
struct Drawn {
    std::uint64_t seed;
    std::int64_t stream;  // -1: none
    double uniform, logistic;
    std::vector<int> order;
};

void test_random_numbers() {
    const std::vector<Drawn> all{
        {0u, -1, 0.6369616873214543, -0.9957049665929134, {2, 4, 3, 0, 1}},
        {1u, 0, 0.6990345474368357, -1.5552067645744156, {4, 1, 2, 3, 0}},
        {7u, 4294967294, 0.04728994314546964, -2.814607439945138, {0, 3, 4, 2, 1}},
        {4294967296u, 3, 0.9861530782072976, -0.959598471706953, {1, 4, 2, 3, 0}},
        {9007199254740993u, 1099511627776, 0.5097174122841316, -3.3497119531188817, {2, 1, 4, 3, 0}},
        {9223372036854775807u, -1, 0.1754661243027813, -0.12043073983108683, {2, 3, 0, 1, 4}},
        {18446744073709551615u, 12345678901, 0.959335085435888, -0.6266436191293489, {3, 0, 4, 1, 2}},
    };
    for (const Drawn& expected : all) {
        std::optional<std::uint64_t> stream;
        if (expected.stream >= 0) stream = static_cast<std::uint64_t>(expected.stream);
        fastfs::core::NumpyRandom random(expected.seed, stream), skipped(expected.seed, stream);
        CHECK(random.uniform() == expected.uniform);
        CHECK(random.logistic() == expected.logistic);
        std::vector<int> order{0, 1, 2, 3, 4};
        fastfs::core::NumpyRandom(expected.seed, stream).shuffle(order);
        CHECK(order == expected.order);
        skipped.skip(2);
        CHECK(skipped.bits() == random.bits());
    }
}

// ---- a test from its data to its p-values ---------------------------------------------------------------------------

constexpr std::int64_t kSamples = 24, kFeatures = 6;

// Whole numbers without a pattern; feature 3 has the class added.
std::vector<double> table() {
    std::vector<double> values;
    for (std::int64_t i = 0; i < kSamples; ++i) {
        for (std::int64_t j = 0; j < kFeatures; ++j) {
            values.push_back(
                static_cast<double>((i * 37 + j * 101 + i * i * (j + 3)) % 29 + (j == 3 ? 12 * (i % 2) : 0)));
        }
    }
    return values;
}

std::vector<std::int64_t> remainders(std::int64_t n, std::int64_t divisor) {
    std::vector<std::int64_t> labels;
    for (std::int64_t i = 0; i < n; ++i) labels.push_back(i % divisor);
    return labels;
}

fastfs_design_options options_of(const std::vector<std::int64_t>& labels, std::int64_t n_labels) {
    auto options = fastfs::default_design_options();
    options.n_samples = static_cast<std::int64_t>(labels.size());
    options.labels = labels.data();
    options.n_labels = n_labels;
    return options;
}

// Scores by ReliefF under all labelings that the null asks for; returns how many it asked for.
int score(const fastfs::design& design, fastfs::null_scores& null, const fastfs::margin& margin) {
    int n = 0;
    for (std::int64_t next = 0; next >= 0; ++n) {
        const auto labels = design.labelings(next, 1);
        const auto fitted = margin.relief(labels.data(), 2);
        next = null.add(fitted->scores);
    }
    return n;
}

// Python: permutation_test(ReliefF(), X, y, blocks=np.arange(24) // 8, n_permutations=99, random_state=2**63 - 1).
void test_pvalues_are_those_of_python() {
    const std::vector<double> pvalues_max{0.9, 1.0, 0.9, 0.9, 0.9, 0.13},
        z{-0.3766338631586139,  -1.310649517370755,  -0.05162592727314136,
          -0.07967319019993335, 0.04896850484797291, 2.7961980166114624};
    const auto values = table();
    const auto labels = remainders(kSamples, 2);
    std::vector<std::int64_t> blocks;
    for (std::int64_t i = 0; i < kSamples; ++i) blocks.push_back(i / 8);
    auto options = options_of(labels, 2);
    options.blocks = blocks.data();
    options.n_blocks = 3;
    options.n_permutations = 99;
    options.seed = (std::uint64_t{1} << 63) - 1;
    const fastfs::design design(options);
    const fastfs::matrix X(values.data(), kSamples, kFeatures);
    const fastfs::margin margin(X);
    const auto fitted = margin.relief(labels.data(), 2);
    auto null_options = fastfs::default_null_options();
    null_options.n_features = kFeatures;
    null_options.scores = fitted->scores;
    for (const std::int64_t budget : {std::int64_t{0}, std::int64_t{2000}}) {
        auto how = fastfs::default_run();
        how.max_memory = budget;
        fastfs::null_scores null(design, null_options, how);
        CHECK(score(design, null, margin) == (budget == 0 ? 99 : 198));
        const auto found = null.result();
        CHECK(found.n_labelings == 99 && !found.exact && !found.stopped);
        CHECK(found.pvalue == 0.13);
        CHECK(std::string(design.facts().description) == "12 + 12 samples within 3 blocks");
        for (std::size_t k = 0; k < kFeatures; ++k) {
            CHECK(found.pvalues_max[k] == pvalues_max[k]);
            CHECK(std::abs(found.z[k] - z[k]) <= 1e-12);
        }
    }
    // Threads share the design: each labeling depends on its number alone.
    const auto alone = design.labelings(0, 40);
    std::vector<std::thread> threads;
    std::vector<int> same(4);
    for (std::size_t t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (std::int64_t b = 0; b < 40; ++b) {
                const auto one = design.labelings(b, 1);
                same[t] += std::equal(one.begin(), one.end(), alone.begin() + b * kSamples);
            }
        });
    }
    for (auto& thread : threads) thread.join();
    CHECK(std::all_of(same.begin(), same.end(), [](int n) { return n == 40; }));
}

void test_all_labelings_of_a_small_design() {
    const auto labels = remainders(6, 2);
    auto options = options_of(labels, 2);
    const fastfs::design design(options);
    const auto warnings = fastfs::last_warnings();
    CHECK(warnings.size() == 1 && warnings[0].code == "few_labelings");
    CHECK(warnings[0].message.find("only 20 distinct labelings (3 + 3 samples), and 2 only") != std::string::npos);
    const auto facts = design.facts();
    CHECK(facts.exact && facts.n_labelings == 19 && facts.n_distinct == 20 && facts.n_mirrors == 2);
    auto found = design.labelings(0, 19);
    std::vector<std::vector<std::int64_t>> rows{labels};
    for (auto at = found.begin(); at != found.end(); at += 6) rows.emplace_back(at, at + 6);
    std::sort(rows.begin(), rows.end());
    CHECK(std::unique(rows.begin(), rows.end()) == rows.end());
    CHECK(
        refused(fastfs_design_labelings(design.get(), 19, 1, nullptr, found.data(), nullptr), "must be from 0 to 19"));
    options.shuffled = 1;
    const auto shuffled = fastfs::design(options).labelings(0, 19);
    CHECK(shuffled != found);
}

// ---- bad arguments --------------------------------------------------------------------------------------------------

void test_bad_designs() {
    auto labels = remainders(8, 2);
    const auto good = options_of(labels, 2);
    fastfs_design* made = nullptr;
    const auto is_refused = [&](auto change, const char* text) {
        auto options = good;
        change(options);
        const bool is_so = refused(fastfs_design_new(&options, nullptr, &made), text);
        if (made != nullptr) fastfs_design_free(made);
        return is_so && std::exchange(made, nullptr) == nullptr;
    };
    using O = fastfs_design_options&;
    CHECK(refused(fastfs_design_new(nullptr, nullptr, &made), "n_samples must be from 1"));
    CHECK(refused(fastfs_design_new(&good, nullptr, nullptr), "design must not be null"));
    for (const std::int64_t n : {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
        CHECK(is_refused([&](O o) { o.n_samples = n; }, "n_samples must be from 1 to"));
        CHECK(is_refused([&](O o) { o.n_labels = n; },
                         n > 0 ? "labels must be from 1 to 2^31" : "labels must be from 1"));
    }
    CHECK(is_refused([](O o) { o.labels = nullptr; }, "a design must have labels or numbers; got neither"));
    CHECK(is_refused([](O o) { o.n_labels = 1; }, "labels must be from 0 to 0; got 1 for row 1"));
    const std::vector<std::int64_t> far(8, std::numeric_limits<std::int64_t>::min());
    CHECK(is_refused([&](O o) { o.blocks = far.data(), o.n_blocks = 2; }, "blocks must be from 0 to 1"));
    CHECK(is_refused([&](O o) { o.groups = labels.data(); }, "the number of groups must be from 1"));
    CHECK(is_refused([](O o) { o.records = 2; }, "records must be 0 or 1; got 2"));
    CHECK(is_refused([](O o) { o.n_permutations = -1; }, "n_permutations must be from 0"));
    const char* names[] = {"a", nullptr};
    CHECK(is_refused([&](O o) { o.label_names = names; }, "label_names must hold names; got null at position 1"));
    for (const double bad : {kNaN, kInfinity, -kInfinity}) {
        std::vector<double> numbers(8, 1.0);
        numbers[5] = bad;
        CHECK(
            is_refused([&](O o) { o.labels = nullptr, o.numbers = numbers.data(); }, "numbers must be finite numbers"));
        CHECK(
            is_refused([&](O o) { o.covariates = numbers.data(), o.n_covariates = 1; }, " in row 5: drop this sample"));
    }
    const std::vector<double> constant(8, 1e308);
    CHECK(is_refused([&](O o) { o.covariates = constant.data(), o.n_covariates = 1; },
                     "covariates and given features must vary"));
    CHECK(is_refused([&](O o) { o.covariates = constant.data(), o.n_covariates = 0; }, "n_covariates must be from 1"));
    CHECK(is_refused([&](O o) { o.n_covariates = 1; }, "covariates must hold 1 columns, as n_covariates says"));
    CHECK(is_refused([&](O o) { o.covariates = constant.data(), o.n_covariates = std::int64_t{1} << 60; },
                     "n_covariates"));
    std::vector<double> separating(labels.begin(), labels.end());
    CHECK(is_refused([&](O o) { o.covariates = separating.data(), o.n_covariates = 1; }, "determine the labels"));
    std::vector<double> apart(8, -1.7e308), covariate{1, 2, 3, 5, 8, 13, 21, 34};
    apart[0] = 1.7e308;
    CHECK(is_refused(
        [&](O o) {
            o.labels = nullptr, o.numbers = apart.data();
            o.covariates = covariate.data(), o.n_covariates = 1;
        },
        "numbers of y must differ by less than 1e308"));

    const std::vector<std::int64_t> records{0, 1, 2, 3, 4, 5, 6, 7};
    std::vector<double> times{1, 2, 3, 4, 5, 6, 7, 8};
    std::vector<std::int32_t> events(8, 1);
    const auto of_times = [&](O o) {
        o.labels = records.data(), o.n_labels = 8, o.records = 1;
        o.times = times.data(), o.events = events.data();
        o.covariates = covariate.data(), o.n_covariates = 1;
    };
    CHECK(is_refused(of_times, "determine the times of y"));
    CHECK(is_refused([&](O o) { of_times(o), o.events = nullptr; }, "times and events must come together; got times"));
    CHECK(is_refused([&](O o) { of_times(o), o.times = nullptr; }, "times and events must come together; got events"));
    CHECK(is_refused([&](O o) { of_times(o), o.records = 0; }, "times must be NULL without records"));
    CHECK(is_refused([&](O o) { of_times(o), o.labels = labels.data(); }, "labels must number records"));
    events[3] = 2;
    CHECK(is_refused(of_times, "events must be 0 or 1; got 2 in row 3"));
    events[3] = 0;
    times[6] = kNaN;
    CHECK(is_refused(of_times, "times must be finite numbers"));
}

void test_bad_uses_of_a_design() {
    const auto labels = remainders(8, 2);
    const fastfs::design design(options_of(labels, 2));
    fastfs_design* handle = design.get();
    std::vector<std::int64_t> out(16);
    std::vector<double> numbers(16);
    std::vector<std::int32_t> taken(16);
    CHECK(refused(fastfs_design_get(nullptr, nullptr), "design must not be null"));
    CHECK(refused(fastfs_design_get(handle, nullptr), "facts must not be null"));
    CHECK(refused(fastfs_design_labelings(handle, -1, 1, nullptr, out.data(), nullptr), "from 0 to 69"));
    CHECK(refused(
        fastfs_design_labelings(handle, 0, std::numeric_limits<std::int64_t>::max(), nullptr, out.data(), nullptr),
        "from 0 to 69"));
    CHECK(refused(fastfs_design_labelings(handle, 0, 1, nullptr, nullptr, nullptr), "labels must not be null"));
    CHECK(refused(fastfs_design_labelings(handle, 0, 1, nullptr, out.data(), numbers.data()), "has labels"));
    CHECK(refused(fastfs_design_labelings(handle, 0, 1, nullptr, nullptr, numbers.data()), "has labels"));
    CHECK(fastfs_design_labelings(handle, 69, 0, nullptr, out.data(), nullptr) == FASTFS_OK);
    CHECK(refused(
        fastfs_design_labelings(reinterpret_cast<fastfs_design*>(out.data()), 0, 1, nullptr, out.data(), nullptr),
        "design must be a fastfs_design"));
    auto subsamples = fastfs::default_subsamples_options();
    CHECK(refused(fastfs_design_subsamples(handle, &subsamples, 0, 1, nullptr), "taken must not be null"));
    for (const double fraction : {0.0, 1.0, kNaN}) {
        subsamples.fraction = fraction;
        CHECK(refused(fastfs_design_subsamples(handle, &subsamples, 0, 1, taken.data()), "fraction must lie between"));
    }
    subsamples.fraction = 0.99;
    CHECK(
        refused(fastfs_design_subsamples(handle, &subsamples, 0, 1, taken.data()), "leave out some of the 8 samples"));
    const std::vector<std::int64_t> alone{0, 0, 0, 1};
    const fastfs::design lonely(options_of(alone, 2));
    subsamples.halves = 1;
    subsamples.fraction = 0.5;
    CHECK(refused(fastfs_design_subsamples(lonely.get(), &subsamples, 0, 2, taken.data()),
                  "halves need two samples of class 1, but there is one"));
    auto confounded = options_of(labels, 2);
    confounded.blocks = labels.data();
    confounded.n_blocks = 2;
    const char* names[] = {"\xc3\xa4", "b"};
    confounded.block_names = names;
    const fastfs::design none(confounded);
    const char* why = "all 4 samples of block \xc3\xa4 are 0, all 4 samples of block b are 1 (confounded)";
    CHECK(std::strstr(none.facts().confounded, why) != nullptr);
    CHECK(refused(fastfs_design_labelings(none.get(), 0, 1, nullptr, out.data(), nullptr), why));
    fastfs_null* null = nullptr;
    auto options = fastfs::default_null_options();
    options.n_features = 1;
    options.scores = numbers.data();
    CHECK(refused(fastfs_null_new(none.get(), &options, nullptr, &null), why));
}

void test_bad_uses_of_a_null() {
    const auto labels = remainders(20, 2);
    auto columns = options_of(labels, 2);
    columns.n_permutations = 3;
    const fastfs::design design(columns);
    std::vector<double> scores{1, 2};
    auto options = fastfs::default_null_options();
    options.n_features = 2;
    options.scores = scores.data();
    fastfs_null* null = nullptr;
    const auto is_refused = [&](auto change, const char* text) {
        auto o = options;
        change(o);
        return refused(fastfs_null_new(design.get(), &o, nullptr, &null), text) && null == nullptr;
    };
    using O = fastfs_null_options&;
    CHECK(is_refused([](O o) { o.n_features = 0; }, "n_features must be from 1"));
    CHECK(is_refused([](O o) { o.scores = nullptr; }, "scores must not be null"));
    CHECK(is_refused([](O o) { o.statistic = kInfinity; }, "statistic must be finite"));
    CHECK(is_refused([](O o) { o.fdr = 2; }, "fdr must be FASTFS_FDR_BH"));
    CHECK(is_refused([](O o) { o.stop = -1; }, "stop must be 0 or 1"));
    columns.n_permutations = 0;
    const fastfs::design empty(columns);
    CHECK(refused(fastfs_null_new(empty.get(), &options, nullptr, &null),
                  "n_permutations of the design must be at least 1"));
    scores[1] = kNaN;
    CHECK(is_refused([](O) {}, "scores must be finite; got "));
    scores[1] = 2;
    CHECK(fastfs_null_new(design.get(), &options, nullptr, &null) == FASTFS_OK);
    fastfs_null_result result = FASTFS_NULL_RESULT_INIT;
    CHECK(fastfs_null_get(null, &result) == FASTFS_OK && result.z == nullptr && result.n_passes == 1);
    CHECK(refused(fastfs_null_get(null, nullptr), "result must not be null"));
    const std::vector<double> rows{1, 3, 0, kNaN, 5, 6, 7, 8};
    std::int64_t next = 0;
    CHECK(refused(fastfs_null_add(null, rows.data(), nullptr, 2, &next), "for column 1 under labeling 1"));
    CHECK(next == 0);
    CHECK(refused(fastfs_null_add(null, rows.data(), nullptr, 4, &next), "count must be from 0 to the 3 labelings"));
    CHECK(refused(fastfs_null_add(null, rows.data(), nullptr, -1, &next), "count must be from 0"));
    CHECK(refused(fastfs_null_add(null, nullptr, nullptr, 1, &next), "scores must not be null"));
    CHECK(refused(fastfs_null_add(null, rows.data(), nullptr, 1, nullptr), "next must not be null"));
    CHECK(fastfs_null_add(null, rows.data(), nullptr, 1, &next) == FASTFS_OK && next == 1);
    next = 0;
    CHECK(refused(fastfs_null_add(null, rows.data(), nullptr, 1, &next), "next must be labeling 1; got 0"));
    next = 1;
    CHECK(fastfs_null_add(null, rows.data() + 4, nullptr, 2, &next) == FASTFS_OK && next == -1);
    next = 0;
    CHECK(refused(fastfs_null_add(null, rows.data(), nullptr, 1, &next), "null must lack labelings; got one with all"));
    CHECK(fastfs_null_get(null, &result) == FASTFS_OK && result.n_labelings == 3);
    CHECK(result.pvalues[0] == 1 && result.pvalues[1] == 1);
    fastfs_null_free(null);
    fastfs_null_free(nullptr);
}

void test_stability() {
    const std::vector<std::int64_t> selected{0, 1, 0, 2, 0, 1}, begins{0, 2, 4, 6};
    const std::vector<double> scores{3, 2, 1, 0};
    const double* rows[] = {scores.data(), scores.data(), scores.data()};
    auto good = fastfs::default_stability_options();
    good.n_selections = 3;
    good.n_features = 4;
    good.selected = selected.data();
    good.begins = begins.data();
    good.scores = rows;
    const auto found = fastfs::stability(good);
    CHECK((list(found->frequencies, 4) == std::vector<double>{1, 2.0 / 3, 1.0 / 3, 0}));
    CHECK(std::abs(found->stability - (1 - 1.5 * (4.0 / 9) / 4 / 0.25)) < 1e-15);
    CHECK(std::abs(found->relevance_correlation - 1) < 1e-15 && std::isnan(found->rare_bound));
    fastfs_stability_result result = FASTFS_STABILITY_RESULT_INIT;
    const auto is_refused = [&](auto change, const char* text) {
        auto options = good;
        change(options);
        return refused(fastfs_stability(&options, &result, owner()), text);
    };
    using O = fastfs_stability_options&;
    const std::vector<std::int64_t> down{0, 2, 1, 6}, late{1, 2, 4, 6}, twice{0, 0, 0, 2, 0, 1};
    CHECK(is_refused([](O o) { o.n_selections = 1; }, "n_selections must be from 2"));
    CHECK(is_refused([](O o) { o.n_features = 2; }, "selection 1 must name columns from 0 to 1"));
    CHECK(is_refused([&](O o) { o.begins = down.data(); },
                     "begins must rise by at most the 4 features from each selection to the next; got "));
    CHECK(is_refused([&](O o) { o.begins = late.data(); }, "begins must start with 0"));
    CHECK(is_refused([&](O o) { o.selected = twice.data(); }, "in ascending order; got 0"));
    CHECK(is_refused([](O o) { o.selected = nullptr, o.scores = nullptr; },
                     "selected or scores must be given; got neither"));
    CHECK(is_refused([](O o) { o.begins = nullptr; }, "begins must not be null"));
    for (const double threshold : {0.5, 1.1, kNaN}) {
        CHECK(is_refused([&](O o) { o.threshold = threshold; }, "threshold must lie above 0.5"));
    }
    rows[1] = nullptr;
    CHECK(is_refused([](O) {}, "scores must not be null"));
    const std::vector<std::int64_t> none{0, 0, 0, 0};
    CHECK(is_refused([&](O o) { o.begins = none.data(), o.scores = nullptr; },
                     "subsamples must select some of the 4 features; got none"));
    CHECK(refused(fastfs_stability(nullptr, &result, owner()), "n_selections must be from 2"));
}

}  // namespace

int main() {
    test_random_numbers();
    test_pvalues_are_those_of_python();
    test_all_labelings_of_a_small_design();
    test_bad_designs();
    test_bad_uses_of_a_design();
    test_bad_uses_of_a_null();
    test_stability();
    std::printf("%d failures\n", failures);
    return failures != 0;
}
