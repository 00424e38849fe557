// The C interface of ManiFeSt.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "capi/abi.hpp"
#include "capi/checks.hpp"
#include "manifest/manifest.hpp"
#include "manifest/sums.hpp"
#include "support/errors.hpp"

struct fastfs_manifest {
    const fastfs::core::Manifest data;
};

struct fastfs_manifest_sums {
    fastfs::core::ManifestSums data;
    mutable std::mutex mutex = {};
};

namespace {

using namespace fastfs::core;

void check_options(const fastfs_manifest_options& o, std::int64_t n_scales, std::int64_t n_components, std::int64_t d) {
    require(o.form >= FASTFS_MANIFEST_PENCIL && o.form <= FASTFS_MANIFEST_SPSD,
            "form must be FASTFS_MANIFEST_PENCIL, FASTFS_MANIFEST_SPD or FASTFS_MANIFEST_SPSD, not ", o.form);
    require(o.accuracy >= FASTFS_MANIFEST_AUTO && o.accuracy <= FASTFS_MANIFEST_DOMAINS,
            "accuracy must be FASTFS_MANIFEST_AUTO, FASTFS_MANIFEST_EXACT, FASTFS_MANIFEST_FAST or "
            "FASTFS_MANIFEST_HIGH, not ",
            o.accuracy);
    require(o.multiclass == FASTFS_MANIFEST_OVR || o.multiclass == FASTFS_MANIFEST_OVO,
            "multiclass must be FASTFS_MANIFEST_OVR or FASTFS_MANIFEST_OVO, not ", o.multiclass);
    require(o.rank >= 1, "rank must be at least 1, but is ", o.rank);
    require(o.reserved == 0, "the reserved field of options must be 0, but is ", o.reserved);
    require(o.first_problem >= 0 && o.n_problems >= 0, "first_problem and n_problems must not be negative, but are ",
            o.first_problem, " and ", o.n_problems);
    require(n_scales >= 1 && n_scales <= 1000, "n_scales must lie between 1 and 1000, but is ", n_scales);
    require(n_components >= 0 && n_components <= d, "n_components must lie between 0 and the ", d, " features, but is ",
            n_components);
    require(
        (o.accuracy != FASTFS_MANIFEST_FAST && o.accuracy != FASTFS_MANIFEST_HIGH) || o.form == FASTFS_MANIFEST_PENCIL,
        "the fast and high accuracies exist in the pencil form only");
    if (o.accuracy == FASTFS_MANIFEST_DOMAINS) {
        require(o.form == FASTFS_MANIFEST_PENCIL && !o.custom && n_components == 0,
                "the accuracy by domains exists in the pencil form of the Gaussian kernel, without components, only");
    }
}

void check_scale(const fastfs_manifest_scale& scale, std::int64_t n_kernels) {
    switch (scale.rule) {
        case FASTFS_MANIFEST_SIGMA_MEDIAN:
            require_positive(scale.value, "sigma_factor");
            break;
        case FASTFS_MANIFEST_SIGMA_PERCENTILE:
            require(scale.value > 0 && scale.value < 100,
                    "sigma_percentile must lie between 0 and 100, both excluded, but is ", scale.value);
            break;
        case FASTFS_MANIFEST_SIGMA_GIVEN:
            require(scale.sigma != nullptr, "the given sigma is null");
            for (std::int64_t k = 0; k < n_kernels; ++k) {
                require(scale.sigma[k] > 0 && std::isfinite(scale.sigma[k]), "sigma must hold positive numbers, not ",
                        scale.sigma[k]);
            }
            break;
        default:
            throw InvalidArgument({"the rule of a scale must be one of FASTFS_MANIFEST_SIGMA_*, not ", scale.rule});
    }
    require(scale.normalize >= 0 && scale.normalize <= 1000, "normalize must lie between 0 and 1000, but is ",
            scale.normalize);
}

void check_result(const fastfs_manifest_result& result, std::int64_t n_components) {
    require(result.scores != nullptr, "result.scores is null");
    require(result.n_components == n_components, "n_components must be the same for all scales");
    require(n_components == 0 ||
                (result.mean_values && result.mean_vectors && result.difference_values && result.difference_vectors),
            "n_components is positive, but an array of the components is null");
}

// Lets fit(options, scales, run, results) write the results of all scales.
template <class F>
void fit_scales(std::int64_t d, std::int64_t n_classes, const fastfs_manifest_options* options,
                const fastfs_manifest_scale* scales, std::int64_t n_scales, const fastfs_run* run_,
                fastfs_manifest_result* results, F&& fit) {
    const auto how = read(options, FASTFS_MANIFEST_OPTIONS_INIT, "options");
    Run run = read_run(run_);
    const auto sigmas = read_all(scales, n_scales, FASTFS_MANIFEST_SCALE_INIT, "scales");
    const auto out = read_all(results, n_scales, FASTFS_MANIFEST_RESULT_INIT, "results");
    check_options(how, n_scales, out.front().n_components, d);
    for (const auto& scale : sigmas) check_scale(scale, count_kernels(n_classes, how.multiclass));
    for (const auto& result : out) {
        if (!run.is_question()) check_result(result, out.front().n_components);
    }
    fit(how, sigmas, run, out);
}

void check_sizes(std::int64_t n_features, std::int64_t n_groups) {
    require_size(n_features, 2, "n_features");
    require_size(n_groups, 1, "n_groups");
    require_fits(n_groups, n_features, "the sums of the groups");
}

}  // namespace

extern "C" {

fastfs_status fastfs_manifest_new(const fastfs_matrix* chunks, int64_t n_chunks, int32_t keep_distances,
                                  const fastfs_run* run_, fastfs_manifest** manifest) {
    return guarded([&] {
        Run run = read_run(run_);
        require_output(run, manifest != nullptr, "manifest is null");
        require(n_chunks >= 1, "X needs at least one chunk, but n_chunks is ", n_chunks);
        require(chunks != nullptr, "X is null");
        require(keep_distances == 0 || keep_distances == 1, "keep_distances must be 0 or 1, not ", keep_distances);
        std::vector<Matrix> X;
        for (const auto& chunk : read_all(chunks, n_chunks, fastfs_matrix{}, "X")) {
            if (n_chunks == 1) {
                X.emplace_back(chunk);
            } else {
                within(Name::chunk(static_cast<std::int64_t>(X.size())), [&] { X.emplace_back(chunk); });
            }
        }
        Samples samples(std::move(X));
        require(samples.n_cols() >= 2 && samples.n_cols() <= kMostFeatures,
                "ManiFeSt compares features with each other and needs from 2 to 4e8 of them, but X has ",
                samples.n_cols(), " feature(s)");
        *manifest = new fastfs_manifest{Manifest(std::move(samples), keep_distances == 1, run)};
    });
}

void fastfs_manifest_free(fastfs_manifest* manifest) { std::unique_ptr<fastfs_manifest> owner(manifest); }

fastfs_status fastfs_manifest_plan_fit(const fastfs_manifest* manifest, int64_t n_classes,
                                       const fastfs_manifest_options* options, int64_t n_scales, int64_t n_components,
                                       const fastfs_run* run_, fastfs_manifest_plan* plan) {
    return guarded([&] {
        require(manifest != nullptr && plan != nullptr, "manifest or plan is null");
        const auto how = read(options, FASTFS_MANIFEST_OPTIONS_INIT, "options");
        const Run run = read_run(run_);
        const Samples& X = manifest->data.samples();
        require(n_classes >= 2 && n_classes <= X.n_rows(), "n_classes must be from 2 to the ", X.n_rows(),
                " rows, not ", n_classes);
        check_options(how, n_scales, n_components, X.n_cols());
        fill(plan, FASTFS_MANIFEST_PLAN_INIT, "plan", [&](fastfs_manifest_plan& found) {
            found = manifest->data.plan(n_classes, how, n_scales, n_components, run);
        });
    });
}

fastfs_status fastfs_manifest_fit(const fastfs_manifest* manifest, const int64_t* labels, int64_t n_classes,
                                  const fastfs_manifest_options* options, const fastfs_manifest_scale* scales,
                                  int64_t n_scales, const fastfs_run* run_, fastfs_manifest_result* results) {
    return guarded([&] {
        require(manifest != nullptr && labels != nullptr, "manifest or labels are null");
        const Samples& X = manifest->data.samples();
        require_labels(labels, X.n_rows(), n_classes);
        fit_scales(X.n_cols(), n_classes, options, scales, n_scales, run_, results,
                   [&](const auto& how, const auto& sigmas, Run& run, const auto& out) {
                       manifest->data.fit(labels, n_classes, how, sigmas, run, out);
                   });
    });
}

fastfs_status fastfs_manifest_sums_plan(int64_t n_features, int64_t n_groups, int64_t n_classes,
                                        const fastfs_manifest_options* options, int64_t n_scales, int64_t n_components,
                                        const fastfs_run* run_, fastfs_manifest_plan* plan) {
    return guarded([&] {
        check_sizes(n_features, n_groups);
        require(n_classes >= 2 && n_classes <= n_groups, "n_classes must be from 2 to the ", n_groups, " groups, not ",
                n_classes);
        const auto how = read(options, FASTFS_MANIFEST_OPTIONS_INIT, "options");
        check_options(how, n_scales, n_components, n_features);
        const Run run = read_run(run_);
        fill(plan, FASTFS_MANIFEST_PLAN_INIT, "plan", [&](fastfs_manifest_plan& found) {
            found = ManifestSums::plan(n_features, n_groups, n_classes, how, n_scales, n_components, run);
        });
    });
}

fastfs_status fastfs_manifest_sums_new(int64_t n_features, int64_t n_groups, const fastfs_manifest_options* options,
                                       const fastfs_run* run_, fastfs_manifest_sums** sums) {
    return guarded([&] {
        const Run run = read_run(run_);
        require_output(run, sums != nullptr, "sums is null");
        check_sizes(n_features, n_groups);
        const auto how = read(options, FASTFS_MANIFEST_OPTIONS_INIT, "options");
        check_options(how, 1, 0, n_features);
        require(how.accuracy == FASTFS_MANIFEST_EXACT || how.accuracy == FASTFS_MANIFEST_FAST,
                "accuracy must be FASTFS_MANIFEST_EXACT or FASTFS_MANIFEST_FAST, as fastfs_manifest_sums_plan says");
        run.require_memory(ManifestSums::memory(n_features, n_groups, how),
                           {"the sums of ", n_groups, " groups of rows with ", n_features, " features"},
                           "raise max_memory (or FASTFS_MAX_MEMORY), or give fewer features or groups");
        *sums = new fastfs_manifest_sums{ManifestSums(n_features, n_groups, how)};
    });
}

fastfs_status fastfs_manifest_sums_update(fastfs_manifest_sums* sums, const fastfs_matrix* X_, const int64_t* groups,
                                          const fastfs_run* run_) {
    return guarded([&] {
        require(sums != nullptr && groups != nullptr, "sums or groups is null");
        const Matrix X = read_matrix(X_);
        std::lock_guard lock(sums->mutex);
        const std::int64_t d = sums->data.n_features();
        require(X.n_cols() == d, "this block of X has ", X.n_cols(), " columns, not ", d, " as those before");
        require(!X.is_sparse() || X.is_csr(), "a sparse block of X must be CSR, but is CSC: give X.tocsr()");
        require_in_range(groups, X.n_rows(), sums->data.n_groups());
        Run run = read_run(run_);
        sums->data.sums().update(X, groups, run);
    });
}

fastfs_status fastfs_manifest_sums_merge(fastfs_manifest_sums* sums, const fastfs_manifest_sums* other) {
    return guarded([&] {
        require(sums != nullptr && other != nullptr, "sums or other is null");
        require(sums != other, "sums can't be merged with themselves");
        std::scoped_lock lock(sums->mutex, other->mutex);
        require(sums->data.sums().same_form(other->data.sums()),
                "the sums are of other features, groups or landmarks and can't be merged");
        sums->data.sums().merge(other->data.sums());
    });
}

fastfs_status fastfs_manifest_sums_means(const fastfs_manifest_sums* sums, double* counts, double* means) {
    return guarded([&] {
        require(sums != nullptr, "sums is null");
        std::lock_guard lock(sums->mutex);
        if (counts) sums->data.sums().counts(counts);
        if (means) sums->data.sums().means(means);
    });
}

fastfs_status fastfs_manifest_sums_fit(const fastfs_manifest_sums* sums, const int64_t* labels, int64_t n_classes,
                                       const fastfs_manifest_options* options, const fastfs_manifest_scale* scales,
                                       int64_t n_scales, const fastfs_run* run_, fastfs_manifest_result* results) {
    return guarded([&] {
        require(sums != nullptr && labels != nullptr, "sums or labels are null");
        std::lock_guard lock(sums->mutex);
        const ManifestSums& of = sums->data;
        std::vector<std::int64_t> given;
        std::copy_if(labels, labels + of.n_groups(), std::back_inserter(given), [](std::int64_t l) { return l != -1; });
        require_labels(given.data(), static_cast<std::int64_t>(given.size()), n_classes);
        fit_scales(of.n_features(), n_classes, options, scales, n_scales, run_, results,
                   [&](const auto& how, const auto& sigmas, Run& run, const auto& out) {
                       of.fit(labels, n_classes, how, sigmas, run, out);
                   });
    });
}

int64_t fastfs_manifest_sums_size(const fastfs_manifest_sums* sums) { return sums ? sums->data.sums().size() : 0; }

fastfs_status fastfs_manifest_sums_save(const fastfs_manifest_sums* sums, double* numbers) {
    return guarded([&] {
        require(sums != nullptr && numbers != nullptr, "sums or numbers is null");
        std::lock_guard lock(sums->mutex);
        sums->data.sums().save(numbers);
    });
}

fastfs_status fastfs_manifest_sums_load(fastfs_manifest_sums* sums, const double* numbers) {
    return guarded([&] {
        require(sums != nullptr && numbers != nullptr, "sums or numbers is null");
        std::lock_guard lock(sums->mutex);
        require_numbers(numbers, sums->data.sums().size(), "numbers");
        sums->data.sums().load(numbers);
    });
}

void fastfs_manifest_sums_free(fastfs_manifest_sums* sums) { std::unique_ptr<fastfs_manifest_sums> owner(sums); }

fastfs_status fastfs_manifest_mean_scores(int64_t n_features, int64_t n_classes, int32_t multiclass,
                                          const double* problem_scores, double* scores, double* class_scores) {
    return guarded([&] {
        require_size(n_features, 2, "n_features");
        require_size(n_classes, 2, "n_classes");
        require_fits(n_classes, n_features, "class_scores");
        require(multiclass == FASTFS_MANIFEST_OVR || multiclass == FASTFS_MANIFEST_OVO,
                "multiclass must be FASTFS_MANIFEST_OVR or FASTFS_MANIFEST_OVO, not ", multiclass);
        require(problem_scores != nullptr && scores != nullptr, "problem_scores or scores are null");
        manifest_mean_scores(n_features, n_classes, multiclass, problem_scores, scores, class_scores);
    });
}

fastfs_status fastfs_manifest_kernels(int64_t n_features, const double* K1, const double* K2, const fastfs_run* run_,
                                      double* scores, int32_t* warnings) {
    return guarded([&] {
        require_size(n_features, 2, "n_features");
        require_fits(n_features, n_features, "a kernel");
        Run run = read_run(run_);
        require(K1 != nullptr && K2 != nullptr, "K1 or K2 is null");
        require_output(run, scores != nullptr, "scores are null");
        const std::int32_t found = manifest_kernels(n_features, K1, K2, run, scores);
        if (warnings) *warnings = found;
    });
}

}  // extern "C"
