// The C interface of ManiFeSt.
#include <memory>

#include "capi/abi.hpp"
#include "capi/checks.hpp"
#include "manifest/manifest.hpp"
#include "support/errors.hpp"

struct fastfs_manifest {
    const fastfs::core::Manifest data;
};

using namespace fastfs::core;

extern "C" {

fastfs_status fastfs_manifest_new(const fastfs_matrix* chunks, int64_t n_chunks, int32_t keep_distances,
                                  const fastfs_run* run_, fastfs_manifest** manifest) {
    return guarded([&] {
        Run run = read_run(run_);
        require_output(run, manifest != nullptr, "manifest is null");
        require(n_chunks >= 1, "X needs at least one chunk, but n_chunks is " + std::to_string(n_chunks));
        require(chunks != nullptr, "X is null");
        require(keep_distances == 0 || keep_distances == 1,
                "keep_distances must be 0 or 1, not " + std::to_string(keep_distances));
        std::vector<Matrix> X;
        for (const auto& chunk : read_all(chunks, n_chunks, fastfs_matrix{}, "X")) X.emplace_back(chunk);
        *manifest = new fastfs_manifest{Manifest(Samples(std::move(X)), keep_distances == 1, run)};
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
        const auto how = read(options, FASTFS_MANIFEST_OPTIONS_INIT, "options");
        Run run = read_run(run_);
        manifest->data.fit(labels, n_classes, how, read_all(scales, n_scales, FASTFS_MANIFEST_SCALE_INIT, "scales"),
                           run, read_all(results, n_scales, FASTFS_MANIFEST_RESULT_INIT, "results"));
    });
}

}  // extern "C"
