// ManiFeSt, of a table and of sums.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "../cpp/streams.hpp"
#include "call.hpp"
#include "textbook.hpp"

namespace fuzz {
namespace {

fastfs_manifest_options draw_options(Input& in, std::int64_t d) {
    fastfs_manifest_options o = FASTFS_MANIFEST_OPTIONS_INIT;
    if (in.one_in(4)) o.form = in.mostly<std::int32_t>(in.pick({FASTFS_MANIFEST_SPD, FASTFS_MANIFEST_SPSD}));
    o.accuracy = in.mostly<std::int32_t>(in.pick(
        {FASTFS_MANIFEST_AUTO, FASTFS_MANIFEST_EXACT, FASTFS_MANIFEST_LOW_RANK, FASTFS_MANIFEST_LOW_RANK_HIGH}));
    o.rank = in.mostly<std::int64_t>(in.pick<std::int64_t>({1, 2, 5, d, 50}));
    o.multiclass = in.mostly<std::int32_t>(in.pick({FASTFS_MANIFEST_OVR, FASTFS_MANIFEST_OVO}));
    o.seed = in.byte();
    if (in.one_in(8)) o.first_problem = in.mostly<std::int64_t>(in.below(3));
    if (in.one_in(8)) o.n_problems = in.mostly<std::int64_t>(in.below(3));
    if (in.one_in(2)) o.n_components = in.mostly<std::int64_t>(in.from(1, std::min<std::int64_t>(d, 3)));
    if (in.one_in(4)) o.agreement = in.mostly<std::int32_t>(0);
    return o;
}

// The results of up to two scales, with the owner of their arrays.
class Results {
  public:
    Results(Input& in, std::int64_t d, std::int64_t n_classes) : d_(d), n_classes_(n_classes) {
        n_scales = in.one_in(4) ? 2 : 1;
        sigmas_.assign(static_cast<std::size_t>(2 * n_classes), 1.5);
        if (in.one_in(8)) sigmas_.front() = in.mostly_real(1e-3);
        for (std::int64_t s = 0; s < n_scales; ++s) {
            fastfs_manifest_scale scale = FASTFS_MANIFEST_SCALE_INIT;
            scale.rule = in.mostly<std::int32_t>(in.pick({0, 0, 1, 2}));
            scale.normalize = in.one_in(4) ? in.mostly<std::int32_t>(in.pick({1, 2, 20})) : 0;
            scale.value = in.mostly_real(scale.rule == 1 ? in.pick({50.0, 0.1, 99.0}) : in.pick({0.5, 0.05, 20.0}));
            scale.sigma = sigmas_.data();
            if (in.one_in(64)) scale.sigma = nullptr;
            scales.push_back(scale);
        }
        clear();
    }
    ~Results() { fastfs_fitted_free(fitted); }
    Results(const Results&) = delete;
    Results& operator=(const Results&) = delete;

    Bytes bytes() const {
        Bytes all;
        for (const auto& r : results) {
            all.add(r.accuracy);
            all.add(r.reason);
            all.add(r.ranks, r.n_problems);
            for_numbers(r, [&](const double* values, std::int64_t n) { all.add(values, n); });
        }
        return all;
    }
    void clear() {
        fastfs_fitted_free(fitted);
        fitted = nullptr;
        results.assign(static_cast<std::size_t>(n_scales), FASTFS_MANIFEST_RESULT_INIT);
    }
    void expect_finite(const char* name) const {
        for (const auto& r : results) {
            for_numbers(r, [&](const double* values, std::int64_t n) {
                if (values) fuzz::expect_finite(values, n, name, "a result");
            });
        }
    }

    std::int64_t n_scales = 1;
    std::vector<fastfs_manifest_scale> scales;
    std::vector<fastfs_manifest_result> results;
    fastfs_fitted* fitted = nullptr;

  private:
    template <class F>
    void for_numbers(const fastfs_manifest_result& r, F&& f) const {
        const std::int64_t n_pairs = r.n_problems * r.n_components;
        if (!r.scores) return;
        f(r.scores, d_);
        f(r.class_scores, n_classes_ * d_);
        f(r.sigma, r.n_kernels);
        f(r.kept_trace, r.n_kernels);
        f(r.agreement, r.n_problems);
        f(r.mean_values, n_pairs);
        f(r.mean_vectors, n_pairs * d_);
        f(r.difference_values, n_pairs);
        f(r.difference_vectors, n_pairs * d_);
        f(r.problem_scores, r.n_problems * d_);
    }

    std::int64_t d_, n_classes_;
    std::vector<double> sigmas_;
};

// Equations (1) to (4) of the paper as printed, and how far rounding may move a score. They take roots and logarithms
// of kernels by their inverses, so errors of entries come back multiplied by their condition.
struct Problem {
    std::vector<double> scores;
    double tolerance = INFINITY;
};

Problem textbook_problem(const Square& K1, const Square& K2, double error) {
    const std::int64_t d = K1.n;
    if (!(error < 1)) return {};  // nor need entries be finite
    const auto root = [](double x) { return std::sqrt(x); };
    const auto inverse_root = [](double x) { return 1 / std::sqrt(x); };
    const auto between = [](const Square& A, const Square& B) { return multiply(multiply(A, B), A); };
    const Eigenpairs first = eigenpairs(K1), second = eigenpairs(K2);
    double condition = 0, largest = 0;
    for (const auto* one : {&first, &second}) {
        if (!(one->values.front() > 0)) return {};
        condition += one->values.back() / one->values.front();
    }
    error += 0x1p-52 * static_cast<double>(d);
    if (error * condition > 1e-4) return {};  // hardly a digit is left
    for (std::size_t k = 0; k < K1.entries.size(); ++k) largest = std::max(largest, K1.entries[k] + K2.entries[k]);
    const Square to_M = between(function_of(first, inverse_root), K2);
    const Eigenpairs M = eigenpairs(between(function_of(first, root), function_of(eigenpairs(to_M), root)));
    const Square to_D = between(function_of(M, inverse_root), K1);
    const Eigenpairs D =
        eigenpairs(between(function_of(M, root), function_of(eigenpairs(to_D), [](double x) { return std::log(x); })));
    const Square size = function_of(D, [](double x) { return std::abs(x); });
    Problem problem{{}, error * condition * largest};
    for (std::int64_t j = 0; j < d; ++j) problem.scores.push_back(size(j, j));
    return problem;
}

// A kernel, of the rows with a label of these, by one scale; error: how far rounding may move an entry, relatively.
Square textbook_kernel(const std::vector<const Table*>& chunks, const std::vector<std::int64_t>& labels,
                       const std::vector<bool>& classes, const fastfs_manifest_scale& scale, std::int64_t number,
                       double& error) {
    const std::int64_t d = chunks.front()->d;
    Square K(d);
    std::vector<double> norms(at(d)), pairs;
    std::int64_t n = 0;
    for (const Table* X : chunks) {
        for (std::int64_t r = 0; r < X->n; ++r) {
            const std::int64_t label = labels[at(n + r)];
            const bool own = label >= 0 && classes[at(label)];
            for (std::int64_t a = 0; a < d; ++a) {
                norms[at(a)] += X->at(r, a) * X->at(r, a);
                for (std::int64_t b = 0; own && b < d; ++b) {
                    K(a, b) += (X->at(r, a) - X->at(r, b)) * (X->at(r, a) - X->at(r, b));
                }
            }
        }
        n += X->n;
        if (X->m.dtype == FASTFS_FLOAT32) error = std::max(error, 0x1p-23);
    }
    for (std::int64_t a = 0; a < d; ++a) {
        for (std::int64_t b = 0; b < d; ++b) {
            if (a != b) pairs.push_back(std::sqrt(K(a, b)));
        }
    }
    std::sort(pairs.begin(), pairs.end());
    // The point between the two nearest of a sorted list.
    const auto percentile = [&](double of) {
        const double place = of / 100 * static_cast<double>(std::ssize(pairs) - 1);
        const auto below = static_cast<std::size_t>(place), above = std::min(below + 1, pairs.size() - 1);
        return pairs[below] + (place - static_cast<double>(below)) * (pairs[above] - pairs[below]);
    };
    const bool median = scale.rule == FASTFS_MANIFEST_SIGMA_MEDIAN;
    const auto choose = [&] { return median ? scale.value * percentile(50) : percentile(scale.value); };
    double sigma = scale.rule == FASTFS_MANIFEST_SIGMA_GIVEN ? scale.sigma[number] : choose();
    if (sigma == 0) {  // then by the positive ones
        pairs.erase(pairs.begin(), std::upper_bound(pairs.begin(), pairs.end(), 0.0));
        sigma = choose();
    }
    error *=
        static_cast<double>(n + 20 * d + 64) * (1 + *std::max_element(norms.begin(), norms.end()) / (sigma * sigma));
    for (double& entry : K.entries) entry = std::exp(-entry / (2 * sigma * sigma));
    for (std::int32_t time = 0; time < scale.normalize; ++time) {
        std::vector<double> q(at(d));
        for (std::int64_t i = 0; i < d; ++i) {
            for (std::int64_t j = 0; j < d; ++j) q[at(i)] += K(i, j);
        }
        for (std::int64_t i = 0; i < d; ++i) {
            for (std::int64_t j = 0; j < d; ++j) K(i, j) /= std::sqrt(q[at(i)] * q[at(j)]);
        }
    }
    return K;
}

// Of all problems, each of two kernels.
Problem textbook_scores(const std::vector<const Table*>& chunks, const std::vector<std::int64_t>& labels,
                        std::int64_t C, const fastfs_manifest_options& o, const fastfs_manifest_scale& scale,
                        double epsilon) {
    Problem mean{std::vector<double>(at(chunks.front()->d)), 0};
    const bool pairs = C == 2 || o.multiclass == FASTFS_MANIFEST_OVO;
    std::vector<Problem> problems;
    for (std::int64_t a = 0; a < C; ++a) {
        for (std::int64_t b = pairs ? a + 1 : C - 1; b < C; ++b) {
            std::vector<bool> own(at(C)), other(own.size(), !pairs);
            own[at(a)] = true;
            other[at(pairs ? b : a)] = pairs;
            double error[2] = {epsilon, epsilon};
            const auto K1 = textbook_kernel(chunks, labels, own, scale, pairs ? a : 2 * a, error[0]);
            const auto K2 = textbook_kernel(chunks, labels, other, scale, pairs ? b : 2 * a + 1, error[1]);
            problems.push_back(textbook_problem(K1, K2, std::max(error[0], error[1])));
        }
    }
    for (const Problem& problem : problems) {
        mean.tolerance += problem.tolerance / static_cast<double>(problems.size());
        for (std::size_t j = 0; j < problem.scores.size(); ++j) {
            mean.scores[j] += problem.scores[j] / static_cast<double>(problems.size());
        }
    }
    return mean;
}

void expect_scores(const double* scores, const Problem& wanted, const char* name) {
    for (std::size_t j = 0; j < wanted.scores.size() && std::isfinite(wanted.tolerance); ++j) {
        expect_near(scores[j], wanted.scores[j], wanted.tolerance, name, "a score");
    }
}

}  // namespace

void try_manifest(Input& in) {
    std::int64_t d = draw_size(in, 2);
    const std::int64_t n_chunks = in.one_in(3) ? in.from(1, 3) : 1;
    std::int64_t n = 0;
    std::vector<std::unique_ptr<Table>> tables;
    std::vector<fastfs_matrix> chunks;
    bool broken = false;
    const unsigned storages = in.one_in(8) ? unsigned{kAny} : in.pick<unsigned>({kDense | kGenotype, kCsr | kCsc});
    for (std::int64_t c = 0; c < n_chunks; ++c) {
        tables.push_back(draw_table(in, draw_size(in, 1), in.one_in(64) ? d + 1 : d, storages));
        chunks.push_back(tables.back()->m);
        n += tables.back()->n;
        broken = broken || tables.back()->broken;
    }
    d = tables.front()->d;
    fastfs_manifest* manifest = nullptr;
    const std::int32_t keep = in.mostly<std::int32_t>(static_cast<std::int32_t>(in.below(2)));
    const auto release = [&] {
        fastfs_manifest_free(manifest);
        manifest = nullptr;
    };
    fastfs_status status = attempt(
        in, {"fastfs_manifest_new",
             [&](const fastfs_run* run) { return fastfs_manifest_new(chunks.data(), n_chunks, keep, run, &manifest); },
             [&] {
                 Bytes bytes;
                 bytes.add(manifest == nullptr);
                 return bytes;
             },
             release});
    expect(!broken || status == FASTFS_EINVAL, "fastfs_manifest_new", "a broken matrix is accepted");
    if (status != FASTFS_OK) return;
    for (std::int64_t fit = in.from(1, 2); fit > 0; --fit) {
        const std::int64_t C = in.pick<std::int64_t>({2, 2, 3, 5}), given = in.mostly(C);
        const auto labels = draw_labels(in, n, C);
        const auto o = draw_options(in, d);
        Results results(in, d, C);
        const std::int64_t n_classes = given <= C ? given : C;
        fastfs_manifest_plan plan = FASTFS_MANIFEST_PLAN_INIT;
        plan.n_classes = given;
        plan.n_scales = results.n_scales;
        attempt(in, {"fastfs_manifest_plan_fit",
                     [&](const fastfs_run* run) { return fastfs_manifest_plan_fit(manifest, &o, run, &plan); },
                     [&] { return Bytes(); }});
        status =
            attempt(in, {"fastfs_manifest_fit",
                         [&](const fastfs_run* run) {
                             return fastfs_manifest_fit(manifest, labels.data(), n_classes, &o, results.scales.data(),
                                                        results.n_scales, run, results.results.data(), &results.fitted);
                         },
                         [&] { return results.bytes(); }, [&] { results.clear(); }});
        if (status != FASTFS_OK) continue;
        results.expect_finite("fastfs_manifest_fit");
        const bool moderate =
            std::all_of(tables.begin(), tables.end(), [](const auto& X) { return is_moderate(X->kind); });
        if (d > 12 || !moderate || given != C || plan.accuracy != FASTFS_MANIFEST_EXACT ||
            o.form == FASTFS_MANIFEST_SPSD || o.first_problem != 0 || o.n_problems != 0) {
            continue;
        }
        // Kept distances of all rows less those of a side: what is no more than 2^-38 of the former counts as 0.
        const double epsilon = keep == 1 ? 0x1p-38 : 0x1p-52;
        std::vector<const Table*> all;
        for (const auto& X : tables) all.push_back(X.get());
        for (std::int64_t k = 0; k < results.n_scales; ++k) {
            expect_scores(results.results[at(k)].scores,
                          textbook_scores(all, labels, C, o, results.scales[at(k)], epsilon), "fastfs_manifest_fit");
        }
    }
    release();

    if (in.one_in(4)) {  // what needs no table
        const std::int64_t C = in.from(2, 4), o = in.below(2),
                           problems = o == FASTFS_MANIFEST_OVO || C == 2 ? C * (C - 1) / 2 : C;
        std::vector<double> of(static_cast<std::size_t>(problems * d)), scores(static_cast<std::size_t>(d)),
            of_classes(static_cast<std::size_t>(C * d)), means(scores);
        Random random(in.word());
        for (double& x : of) x = draw_value(random, Values::kQuarters);
        for (std::size_t k = 0; k < of.size(); ++k) means[k % scores.size()] += of[k] / static_cast<double>(problems);
        const std::int64_t asked = in.mostly(C);
        attempt(in, {"fastfs_manifest_mean_scores",
                     [&](const fastfs_run*) {
                         return fastfs_manifest_mean_scores(d, asked <= C ? asked : -1, static_cast<std::int32_t>(o),
                                                            of.data(), scores.data(), of_classes.data());
                     },
                     [&] { return Bytes(); }, [] {}, false, false});
        for (std::int64_t k = 0; asked == C && k < d; ++k) {
            expect_near(scores[static_cast<std::size_t>(k)], means[static_cast<std::size_t>(k)], 1e-12,
                        "fastfs_manifest_mean_scores", "a mean");
        }
    }
    if (in.one_in(3)) {
        const Values kind = in.pick({Values::kDigits, Values::kQuarters, Values::kEqual, Values::kSpecial});
        Random random(in.word());
        const auto draw = [&] {
            std::vector<double> B, K(static_cast<std::size_t>(d * d));
            for (std::int64_t k = 0; k < 2 * d; ++k) B.push_back(draw_value(random, kind));
            for (std::size_t k = 0; k < K.size(); ++k) {
                const std::size_t a = k / static_cast<std::size_t>(d), b = k % static_cast<std::size_t>(d);
                K[k] = B[2 * a] * B[2 * b] + B[2 * a + 1] * B[2 * b + 1] + (a == b ? 1 : 0);
            }
            if (in.one_in(8)) K[K.size() / 3] = in.mostly_real(3);
            return K;
        };
        const auto K1 = draw(), K2 = draw();
        Owned<fastfs_manifest_result> of_kernels(FASTFS_MANIFEST_RESULT_INIT);
        status = attempt(in, {"fastfs_manifest_kernels",
                              [&](const fastfs_run* run) {
                                  return fastfs_manifest_kernels(d, K1.data(), K2.data(), nullptr, run,
                                                                 &of_kernels.result, &of_kernels.fitted);
                              },
                              [&] {
                                  Bytes bytes;
                                  bytes.add(of_kernels.result.scores, of_kernels.result.scores ? d : 0);
                                  return bytes;
                              },
                              [&] { of_kernels.clear(); }});
        if (status == FASTFS_OK) expect_finite(of_kernels.result.scores, d, "fastfs_manifest_kernels", "score");
        if (status == FASTFS_OK && d <= 12 && kind != Values::kSpecial) {
            Square first(d), second(d);
            first.entries = K1;
            second.entries = K2;
            expect_scores(of_kernels.result.scores, textbook_problem(first, second, 0x1p-46),
                          "fastfs_manifest_kernels");
        }
    }
}

void try_manifest_stream(Input& in) {
    const std::int64_t d = draw_size(in, 2), G = in.from(1, 5);
    auto o = draw_options(in, d);
    if (!in.one_in(16)) {
        o.form = FASTFS_MANIFEST_PENCIL;
        o.accuracy = in.pick({FASTFS_MANIFEST_EXACT, FASTFS_MANIFEST_LOW_RANK});
    }
    const std::int64_t C = std::max<std::int64_t>(2, G - in.below(2));
    fastfs_manifest_plan plan = FASTFS_MANIFEST_PLAN_INIT;
    plan.n_features = in.mostly(d);
    plan.n_groups = G;
    plan.n_classes = C;
    attempt(in, {"fastfs_manifest_plan_fit",
                 [&](const fastfs_run* run) { return fastfs_manifest_plan_fit(nullptr, &o, run, &plan); },
                 [&] { return Bytes(); }});
    fastfs_stream *sums = nullptr, *kept = nullptr;
    const std::int64_t asked = in.mostly(d);
    const auto release = [&] {
        fastfs_stream_free(sums);
        sums = nullptr;
    };
    fastfs_status status =
        attempt(in, {"fastfs_manifest_stream_new",
                     [&](const fastfs_run* run) {
                         return fastfs_manifest_stream_new(asked <= 400 ? asked : -1, G, &o, run, &sums);
                     },
                     [&] {
                         Bytes bytes;
                         bytes.add(fastfs_stream_size(sums));
                         return bytes;
                     },
                     release});
    if (status != FASTFS_OK || asked != d) return release();
    const auto state = [&] {
        Bytes bytes;
        bytes.add(bytes_of(sums));
        return bytes;
    };
    const auto copy = [](const fastfs_stream* of, fastfs_stream*& to) {
        fastfs_stream_free(to);
        to = nullptr;
        expect(fastfs_stream_copy(of, &to) == FASTFS_OK, "fastfs_stream_copy", "it fails");
    };
    const auto keep = [&] { copy(sums, kept); };
    const auto bring_back = [&] { copy(kept, sums); };
    keep();
    Table rows;  // that the sums are of, and their groups
    std::vector<std::int64_t> group_of;
    bool moderate = true;
    for (std::int64_t block = in.from(1, 3); block > 0; --block) {
        const auto X = draw_table(in, draw_size(in, 1), in.one_in(64) ? d + 1 : d, kDense | kCsr | kGenotype);
        const auto groups = draw_labels(in, X->n, G);
        status = attempt(in, {"fastfs_stream_update",
                              [&](const fastfs_run* run) { return update_stream(sums, &X->m, run, groups.data()); },
                              state, bring_back, true});
        expect(!X->broken || status == FASTFS_EINVAL, "fastfs_stream_update", "a broken matrix is accepted");
        moderate = moderate && is_moderate(X->kind);
        keep();
        for (std::int64_t r = 0; status == FASTFS_OK && r < X->n; ++r) add_row(rows, *X, r);
        if (status == FASTFS_OK) group_of.insert(group_of.end(), groups.begin(), groups.end());
    }
    if (in.one_in(3)) {
        fastfs_stream* other = nullptr;
        auto other_options = o;
        if (in.one_in(8)) other_options.seed += 1;
        if (fastfs_manifest_stream_new(d, in.one_in(16) ? G + 1 : G, &other_options, nullptr, &other) == FASTFS_OK) {
            const bool copied = in.one_in(2) && load_stream(other, bytes_of(sums)) == FASTFS_OK;
            status =
                attempt(in, {"fastfs_stream_merge", [&](const fastfs_run*) { return fastfs_stream_merge(sums, other); },
                             state, bring_back, true, false});
            const std::int64_t n = copied && status == FASTFS_OK ? rows.n : 0;
            for (std::int64_t r = 0; r < n; ++r) {
                add_row(rows, rows, r);
                group_of.push_back(group_of[at(r)]);
            }
            fastfs_stream_free(other);
            keep();
        }
    }
    if (in.one_in(4)) {  // numbers of a stranger
        std::vector<char> bytes = bytes_of(sums);
        Random random(in.word());
        const std::int64_t n = (std::ssize(bytes) - std::int64_t{kHeaderBytes}) / 8;
        for (int k = 0; k < 4 && n > 0; ++k) {
            const std::int64_t place = random.below(k == 0 ? std::min<std::int64_t>(8, n) : n);
            const double number = in.mostly_real(in.pick({-1.0, 0.5, 1e300, 3.0, 0.0, -1e-3}));
            std::memcpy(bytes.data() + kHeaderBytes + 8 * place, &number, 8);
        }
        const auto restart = [&] {
            release();
            expect(fastfs_manifest_stream_new(d, G, &o, nullptr, &sums) == FASTFS_OK, "fastfs_manifest_stream_new",
                   "it fails the second time");
        };
        restart();
        attempt(in, {"fastfs_stream_load", [&](const fastfs_run*) { return load_stream(sums, bytes); }, state, restart,
                     true, false});
        moderate = false;
    }
    std::vector<double> counts(static_cast<std::size_t>(G)), means(static_cast<std::size_t>(G * d));
    expect(fastfs_stream_means(sums, counts.data(), means.data()) == FASTFS_OK, "fastfs_stream_means",
           fastfs_last_error());
    for (std::int64_t fit = in.from(1, 2); fit > 0; --fit) {
        auto labels = draw_labels(in, G, C);
        if (in.one_in(3)) labels[static_cast<std::size_t>(in.below(G))] = -1;
        Results results(in, d, C);
        const bool other_options = in.one_in(8);
        const auto how = other_options ? draw_options(in, d) : o;
        status = attempt(in, {"fastfs_manifest_stream_finish",
                              [&](const fastfs_run* run) {
                                  return fastfs_manifest_stream_finish(sums, labels.data(), C, &how,
                                                                       results.scales.data(), results.n_scales, run,
                                                                       results.results.data(), &results.fitted);
                              },
                              [&] { return results.bytes(); }, [&] { results.clear(); }});
        if (status != FASTFS_OK || !moderate) continue;
        results.expect_finite("fastfs_manifest_stream_finish");
        if (d > 12 || how.accuracy != FASTFS_MANIFEST_EXACT || how.form == FASTFS_MANIFEST_SPSD ||
            how.first_problem != 0 || how.n_problems != 0) {
            continue;
        }
        std::vector<std::int64_t> classes;
        for (const std::int64_t group : group_of) classes.push_back(labels[at(group)]);
        for (std::int64_t k = 0; k < results.n_scales; ++k) {
            expect_scores(results.results[at(k)].scores,
                          textbook_scores({&rows}, classes, C, how, results.scales[at(k)], 0x1p-52),
                          "fastfs_manifest_stream_finish");
        }
    }
    release();
    fastfs_stream_free(kept);
}

}  // namespace fuzz
