// ManiFeSt, of a table and of sums.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "call.hpp"

namespace fuzz {
namespace {

fastfs_manifest_options draw_options(Input& in, std::int64_t d) {
    fastfs_manifest_options o = FASTFS_MANIFEST_OPTIONS_INIT;
    if (in.one_in(4)) o.form = in.mostly<std::int32_t>(in.pick({FASTFS_MANIFEST_SPD, FASTFS_MANIFEST_SPSD}));
    o.accuracy = in.mostly<std::int32_t>(
        in.pick({FASTFS_MANIFEST_AUTO, FASTFS_MANIFEST_EXACT, FASTFS_MANIFEST_FAST, FASTFS_MANIFEST_HIGH}));
    o.rank = in.mostly<std::int64_t>(in.pick<std::int64_t>({1, 2, 5, d, 50}));
    o.multiclass = in.mostly<std::int32_t>(in.pick({FASTFS_MANIFEST_OVR, FASTFS_MANIFEST_OVO}));
    o.seed = in.byte();
    if (in.one_in(8)) o.first_problem = in.mostly<std::int64_t>(in.below(3));
    if (in.one_in(8)) o.n_problems = in.mostly<std::int64_t>(in.below(3));
    return o;
}

// The results of up to two scales, with room for whatever may be asked for.
class Results {
  public:
    Results(Input& in, std::int64_t d, std::int64_t n_classes) {
        n_scales = in.one_in(4) ? 2 : 1;
        const std::int64_t C = n_classes, problems = std::max<std::int64_t>(C * (C - 1) / 2, C), kernels = 2 * C;
        const std::int64_t components =
            in.one_in(2) ? 0 : in.mostly<std::int64_t>(in.from(1, std::min<std::int64_t>(d, 3)));
        const std::int64_t k = std::clamp<std::int64_t>(components, 0, 2 * d);
        sigmas_.assign(static_cast<std::size_t>(kernels), 1.5);
        if (in.one_in(8)) sigmas_.front() = in.mostly_real(1e-3);
        const bool some = in.one_in(2);
        for (std::int64_t s = 0; s < n_scales; ++s) {
            fastfs_manifest_scale scale = FASTFS_MANIFEST_SCALE_INIT;
            scale.rule = in.mostly<std::int32_t>(in.pick({0, 0, 1, 2}));
            scale.normalize = in.one_in(4) ? in.mostly<std::int32_t>(in.pick({1, 2, 20})) : 0;
            scale.value = in.mostly_real(scale.rule == 1 ? in.pick({50.0, 0.1, 99.0}) : in.pick({0.5, 0.05, 20.0}));
            scale.sigma = sigmas_.data();
            if (in.one_in(64)) scale.sigma = nullptr;
            scales.push_back(scale);
            fastfs_manifest_result r = FASTFS_MANIFEST_RESULT_INIT;
            r.scores = reals(d);
            r.n_components = components;
            if (components > 0) {
                r.mean_values = reals(problems * k);
                r.mean_vectors = reals(problems * k * d);
                r.difference_values = reals(problems * k);
                r.difference_vectors = reals(problems * k * d);
            }
            if (some) {
                r.class_scores = reals(C * d);
                r.sigma = reals(kernels);
                r.kept_trace = reals(kernels);
                r.agreement = reals(problems);
                r.problem_scores = reals(problems * d);
                r.kernel_warnings = warnings(kernels);
                r.problem_warnings = warnings(problems);
                ranks_.emplace_back(static_cast<std::size_t>(problems));
                r.ranks = ranks_.back().data();
            }
            if (in.one_in(64)) r.scores = nullptr;
            if (in.one_in(64)) r.mean_vectors = nullptr;
            results.push_back(r);
        }
    }

    Bytes bytes() const {
        Bytes all;
        for (const auto& one : reals_) all.add(one);
        for (const auto& one : warnings_) all.add(one);
        for (const auto& one : ranks_) all.add(one);
        return all;
    }
    void clear() {
        for (auto& one : reals_) std::fill(one.begin(), one.end(), 0.0);
        for (auto& one : warnings_) std::fill(one.begin(), one.end(), 0);
        for (auto& one : ranks_) std::fill(one.begin(), one.end(), 0);
    }
    void expect_finite(const char* name) const {
        for (const auto& one : reals_) fuzz::expect_finite(one.data(), std::ssize(one), name, "a result");
    }

    std::int64_t n_scales = 1;
    std::vector<fastfs_manifest_scale> scales;
    std::vector<fastfs_manifest_result> results;

  private:
    double* reals(std::int64_t n) { return reals_.emplace_back(static_cast<std::size_t>(n)).data(); }
    std::int32_t* warnings(std::int64_t n) { return warnings_.emplace_back(static_cast<std::size_t>(n)).data(); }

    std::vector<double> sigmas_;
    std::vector<std::vector<double>> reals_;
    std::vector<std::vector<std::int32_t>> warnings_;
    std::vector<std::vector<std::int64_t>> ranks_;
};

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
        attempt(in, {"fastfs_manifest_plan_fit",
                     [&](const fastfs_run* run) {
                         return fastfs_manifest_plan_fit(manifest, given, &o, results.n_scales,
                                                         results.results.front().n_components, run, &plan);
                     },
                     [&] { return Bytes(); }});
        status =
            attempt(in, {"fastfs_manifest_fit",
                         [&](const fastfs_run* run) {
                             return fastfs_manifest_fit(manifest, labels.data(), n_classes, &o, results.scales.data(),
                                                        results.n_scales, run, results.results.data());
                         },
                         [&] { return results.bytes(); }, [&] { results.clear(); }});
        if (status == FASTFS_OK) results.expect_finite("fastfs_manifest_fit");
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
        std::vector<double> scores(static_cast<std::size_t>(d));
        std::int32_t warnings = 0;
        status =
            attempt(in, {"fastfs_manifest_kernels",
                         [&](const fastfs_run* run) {
                             return fastfs_manifest_kernels(d, K1.data(), K2.data(), run, scores.data(), &warnings);
                         },
                         [&] {
                             Bytes bytes;
                             bytes.add(scores);
                             bytes.add(warnings);
                             return bytes;
                         },
                         [&] { scores.assign(scores.size(), 0.0), warnings = 0; }});
        if (status == FASTFS_OK) expect_finite(scores.data(), d, "fastfs_manifest_kernels", "score");
    }
}

void try_manifest_sums(Input& in) {
    const std::int64_t d = draw_size(in, 2), G = in.from(1, 5);
    auto o = draw_options(in, d);
    if (!in.one_in(16)) {
        o.form = FASTFS_MANIFEST_PENCIL;
        o.accuracy = in.pick({FASTFS_MANIFEST_EXACT, FASTFS_MANIFEST_FAST});
    }
    const std::int64_t C = std::max<std::int64_t>(2, G - in.below(2));
    fastfs_manifest_plan plan = FASTFS_MANIFEST_PLAN_INIT;
    const std::int64_t planned = in.mostly(d);
    attempt(in, {"fastfs_manifest_sums_plan",
                 [&](const fastfs_run* run) { return fastfs_manifest_sums_plan(planned, G, C, &o, 1, 0, run, &plan); },
                 [&] { return Bytes(); }});
    fastfs_manifest_sums* sums = nullptr;
    const std::int64_t asked = in.mostly(d);
    const auto release = [&] {
        fastfs_manifest_sums_free(sums);
        sums = nullptr;
    };
    fastfs_status status = attempt(
        in,
        {"fastfs_manifest_sums_new",
         [&](const fastfs_run* run) { return fastfs_manifest_sums_new(asked <= 400 ? asked : -1, G, &o, run, &sums); },
         [&] {
             Bytes bytes;
             bytes.add(fastfs_manifest_sums_size(sums));
             return bytes;
         },
         release});
    if (status != FASTFS_OK || asked != d) return release();
    const auto saved = [&] {
        std::vector<double> numbers(static_cast<std::size_t>(fastfs_manifest_sums_size(sums)));
        expect(fastfs_manifest_sums_save(sums, numbers.data()) == FASTFS_OK, "fastfs_manifest_sums_save", "it fails");
        return numbers;
    };
    const auto state = [&] {
        Bytes bytes;
        bytes.add(saved());
        return bytes;
    };
    std::vector<double> before = saved();
    const auto bring_back = [&] {
        const fastfs_status loaded = fastfs_manifest_sums_load(sums, before.data());
        expect(loaded == FASTFS_OK, "fastfs_manifest_sums_load", "what was saved is refused");
    };
    bool moderate = true;
    for (std::int64_t block = in.from(1, 3); block > 0; --block) {
        const auto X = draw_table(in, draw_size(in, 1), in.one_in(64) ? d + 1 : d, kDense | kCsr | kGenotype);
        const auto groups = draw_labels(in, X->n, G);
        status = attempt(
            in, {"fastfs_manifest_sums_update",
                 [&](const fastfs_run* run) { return fastfs_manifest_sums_update(sums, &X->m, groups.data(), run); },
                 state, bring_back, true});
        expect(!X->broken || status == FASTFS_EINVAL, "fastfs_manifest_sums_update", "a broken matrix is accepted");
        moderate = moderate && is_moderate(X->kind);
        before = saved();
    }
    if (in.one_in(3)) {
        fastfs_manifest_sums* other = nullptr;
        auto other_options = o;
        if (in.one_in(8)) other_options.seed += 1;
        if (fastfs_manifest_sums_new(d, in.one_in(16) ? G + 1 : G, &other_options, nullptr, &other) == FASTFS_OK) {
            if (in.one_in(2) && fastfs_manifest_sums_size(other) == std::ssize(before)) {
                fastfs_manifest_sums_load(other, before.data());
            }
            attempt(in, {"fastfs_manifest_sums_merge",
                         [&](const fastfs_run*) { return fastfs_manifest_sums_merge(sums, other); }, state, bring_back,
                         true, false});
            fastfs_manifest_sums_free(other);
            before = saved();
        }
    }
    if (in.one_in(4) && !before.empty()) {  // numbers of a stranger
        std::vector<double> strange = before;
        Random random(in.word());
        for (int k = 0; k < 4; ++k) {
            strange[static_cast<std::size_t>(
                random.below(k == 0 ? std::min<std::int64_t>(8, std::ssize(strange)) : std::ssize(strange)))] =
                in.mostly_real(in.pick({-1.0, 0.5, 1e300, 3.0, 0.0, -1e-3}));
        }
        attempt(in, {"fastfs_manifest_sums_load",
                     [&](const fastfs_run*) { return fastfs_manifest_sums_load(sums, strange.data()); }, state,
                     bring_back, true, false});
        moderate = false;
    }
    std::vector<double> counts(static_cast<std::size_t>(G)), means(static_cast<std::size_t>(G * d));
    expect(fastfs_manifest_sums_means(sums, counts.data(), means.data()) == FASTFS_OK, "fastfs_manifest_sums_means",
           fastfs_last_error());
    for (std::int64_t fit = in.from(1, 2); fit > 0; --fit) {
        auto labels = draw_labels(in, G, C);
        if (in.one_in(3)) labels[static_cast<std::size_t>(in.below(G))] = -1;
        Results results(in, d, C);
        const bool other_options = in.one_in(8);
        const auto how = other_options ? draw_options(in, d) : o;
        status = attempt(in, {"fastfs_manifest_sums_fit",
                              [&](const fastfs_run* run) {
                                  return fastfs_manifest_sums_fit(sums, labels.data(), C, &how, results.scales.data(),
                                                                  results.n_scales, run, results.results.data());
                              },
                              [&] { return results.bytes(); }, [&] { results.clear(); }});
        if (status == FASTFS_OK && moderate) results.expect_finite("fastfs_manifest_sums_fit");
    }
    release();
}

}  // namespace fuzz
