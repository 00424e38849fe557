// The C interface of ManiFeSt.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capi/abi.hpp"
#include "capi/checks.hpp"
#include "capi/fields.hpp"
#include "capi/fitted.hpp"
#include "capi/handle.hpp"
#include "capi/stream.hpp"
#include "manifest/manifest.hpp"
#include "manifest/sums.hpp"
#include "support/errors.hpp"

struct fastfs_manifest : fastfs::core::Handle<fastfs::core::Manifest> {
    using Handle::Handle;
    static constexpr const char* kType = "fastfs_manifest";
};

namespace {

using namespace fastfs::core;

// Throws unless the options, the number of scales and the d features fit together.
void check_options(const fastfs_manifest_options& o, std::int64_t n_scales, std::int64_t d) {
    require(o.first_problem >= 0 && o.n_problems >= 0, "first_problem and n_problems must not be negative; got ",
            o.first_problem, " and ", o.n_problems);
    require(n_scales >= 1 && n_scales <= 1000, "n_scales must be from 1 to 1000; got ", n_scales);
    require(o.n_components >= 0 && o.n_components <= d, "n_components must be from 0 to the ", d, " features; got ",
            o.n_components);
    require(
        o.accuracy == FASTFS_MANIFEST_AUTO || o.accuracy == FASTFS_MANIFEST_EXACT || o.form == FASTFS_MANIFEST_PENCIL,
        "form must be \"pencil\" for the accuracies domains, small_domains, low_rank and low_rank_high");
    require(o.n_fits >= 0, "n_fits must not be negative; got ", o.n_fits);
}

// Throws unless all fields of the scale are in their ranges, and it has the value, or a sigma for each of n_kernels
// kernels, that its rule takes.
void check_scale(const fastfs_manifest_scale& scale, std::int64_t n_kernels) {
    switch (scale.rule) {
        case FASTFS_MANIFEST_SIGMA_MEDIAN:
            require_positive(scale.value, "sigma_factor (the value of a scale)");
            break;
        case FASTFS_MANIFEST_SIGMA_PERCENTILE:
            require(scale.value > 0 && scale.value < 100,
                    "sigma_percentile (the value of a scale) must lie between 0 and 100, both excluded; got ",
                    scale.value);
            break;
        case FASTFS_MANIFEST_SIGMA_GIVEN:
            require_array(scale.sigma, "sigma");
            for (std::int64_t k = 0; k < n_kernels; ++k) {
                require(scale.sigma[k] > 0 && std::isfinite(scale.sigma[k]), "sigma must hold positive numbers; got ",
                        scale.sigma[k]);
            }
            break;
        default:
            throw InvalidArgument({"the rule of a scale must be one of FASTFS_MANIFEST_SIGMA_*; got ", scale.rule});
    }
    for (const Field& field : fields_of(&scale)) field.require_allowed(&scale);
}

// Checks options and scales of the caller, and lets fit(options, scales, run, results) compute the results of all
// scales.
template <class F>
void fit_scales(std::int64_t d, std::int64_t n_classes, const fastfs_manifest_options* options,
                const fastfs_manifest_scale* scales, std::int64_t n_scales, const fastfs_run* run_,
                fastfs_manifest_result* results, fastfs_fitted** fitted, F&& fit) {
    const auto how = read_options(options, FASTFS_MANIFEST_OPTIONS_INIT);
    Run run = read_run(run_);
    check_options(how, n_scales, d);
    const auto sigmas = read_all(scales, n_scales, FASTFS_MANIFEST_SCALE_INIT, "scales");
    for (const auto& scale : sigmas) check_scale(scale, count_kernels(n_classes, how.multiclass));
    fill_fitted(run, results, n_scales, FASTFS_MANIFEST_RESULT_INIT, fitted,
                [&](auto& computed) { fit(how, sigmas, run, computed); });
}

class ManifestBlocks : public Stream {
  public:
    static constexpr auto kMethod = FASTFS_STREAM_MANIFEST;

    ManifestBlocks(std::int64_t n_features, std::int64_t n_groups, const fastfs_manifest_options& options)
        : data_(n_features, n_groups, options) {}
    explicit ManifestBlocks(const ManifestSums& data) : data_(data) {}

    fastfs_stream_method method() const override { return kMethod; }
    std::int64_t n_cols() const override { return data_.n_features(); }
    std::int64_t n_rows() const override { return data_.sums().n_rows(); }
    std::int64_t n_groups() const override { return data_.n_groups(); }
    std::uint64_t fingerprint() const override { return data_.sums().fingerprint(); }

    void update(const RowBlock& block, Run& run) override {
        const Matrix& X = block.X;
        require(!block.Y, "block.Y must be null for a stream of ManiFeSt");
        require(!X.is_sparse() || X.is_csr(), "a sparse block of X must be CSR; got CSC: give X.tocsr()");
        require_in_range(block.labels, X.n_rows(), data_.n_groups(), "groups");
        data_.sums().update(X, block.labels, run);
    }
    void merge(const Stream& other) override {
        data_.sums().merge(static_cast<const ManifestBlocks&>(other).data_.sums());
    }
    void means(double* counts, double* means) const override {
        if (counts) data_.sums().counts(counts);
        if (means) data_.sums().means(means);
    }
    std::unique_ptr<Stream> copy() const override { return std::make_unique<ManifestBlocks>(data_); }
    void save_state(ByteWriter& to) const override { data_.sums().save_state(to); }
    void load_state(ByteReader& from) override {
        Buffer<double> numbers = data_.sums().read_numbers(from);
        from.expect_end();
        data_.sums().set_numbers(std::move(numbers));
    }

    const ManifestSums& data() const { return data_; }

  private:
    ManifestSums data_;
};

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
        require_output(run, manifest, "manifest");
        require(n_chunks >= 1, "n_chunks must be at least 1; got ", n_chunks);
        require(chunks != nullptr, "chunks must not be null");
        require(keep_distances == 0 || keep_distances == 1, "keep_distances must be 0 or 1; got ", keep_distances);
        std::vector<Matrix> X;
        for (const auto& chunk : read_all(chunks, n_chunks, FASTFS_MATRIX_INIT, "X")) {
            if (n_chunks == 1) {
                X.emplace_back(chunk);
            } else {
                naming_place(Name::chunk(static_cast<std::int64_t>(X.size())), [&] { X.emplace_back(chunk); });
            }
        }
        Samples samples(std::move(X));
        require(samples.n_cols() >= 2 && samples.n_cols() <= kMostFeatures,
                "X must have from 2 to 4e8 features, which are compared with each other; got ", samples.n_cols(),
                " feature(s)");
        *manifest = new fastfs_manifest(std::move(samples), keep_distances == 1, run);
    });
}

void fastfs_manifest_free(fastfs_manifest* manifest) { free_handle(manifest, "manifest"); }

// Fills the outputs of the plan, such as bytes and accuracy, from its inputs, for a fit of `manifest` or, if null, of a
// stream.
fastfs_status fastfs_manifest_plan_fit(const fastfs_manifest* manifest, const fastfs_manifest_options* options,
                                       const fastfs_run* run_, fastfs_manifest_plan* plan) {
    return guarded([&] {
        const Manifest* data = manifest ? &require_handle(manifest, "manifest").data : nullptr;
        const auto how = read_options(options, FASTFS_MANIFEST_OPTIONS_INIT);
        const Run run = read_run(run_);
        require(plan != nullptr, "plan must not be null");
        fill(plan, FASTFS_MANIFEST_PLAN_INIT, "plan", [&](fastfs_manifest_plan& p) {
            if (!data) check_sizes(p.n_features, p.n_groups);
            const std::int64_t n_features = data ? data->samples().n_cols() : p.n_features;
            const std::int64_t most = data ? data->samples().n_rows() : p.n_groups;
            require(p.n_classes >= 2 && p.n_classes <= most, "n_classes must be from 2 to the ", most,
                    data ? " rows; got " : " groups; got ", p.n_classes);
            check_options(how, p.n_scales, n_features);
            const fastfs_manifest_plan found =
                data ? data->plan(p.n_classes, how, p.n_scales, run)
                     : ManifestSums::plan(n_features, p.n_groups, p.n_classes, how, p.n_scales, run);
            p.n_kernels = found.n_kernels;
            p.n_problems = found.n_problems;
            p.bytes = found.bytes;
            p.exact_bytes = found.exact_bytes;
            p.accuracy = found.accuracy;
            p.reason = found.reason;
        });
    });
}

fastfs_status fastfs_manifest_fit(const fastfs_manifest* manifest, const int64_t* labels, int64_t n_classes,
                                  const fastfs_manifest_options* options, const fastfs_manifest_scale* scales,
                                  int64_t n_scales, const fastfs_run* run_, fastfs_manifest_result* results,
                                  fastfs_fitted** fitted) {
    return guarded([&] {
        const Manifest& data = require_handle(manifest, "manifest").data;
        const Samples& X = data.samples();
        require_labels(labels, X.n_rows(), n_classes);
        fit_scales(X.n_cols(), n_classes, options, scales, n_scales, run_, results, fitted,
                   [&](const auto& how, const auto& sigmas, Run& run, auto& out) {
                       data.fit(labels, n_classes, how, sigmas, run, out);
                   });
    });
}

fastfs_status fastfs_manifest_stream_new(int64_t n_features, int64_t n_groups, const fastfs_manifest_options* options,
                                         const fastfs_run* run_, fastfs_stream** stream) {
    return guarded([&] {
        const Run run = read_run(run_);
        require_output(run, stream, "stream");
        check_sizes(n_features, n_groups);
        const auto how = read_options(options, FASTFS_MANIFEST_OPTIONS_INIT);
        check_options(how, 1, n_features);
        require(how.accuracy != FASTFS_MANIFEST_LOW_RANK_HIGH,
                "accuracy must be another one than FASTFS_MANIFEST_LOW_RANK_HIGH for sums: choose "
                "FASTFS_MANIFEST_LOW_RANK");
        run.require_memory(ManifestSums::memory(n_features, n_groups, how),
                           {"the sums of ", n_groups, " groups of rows with ", n_features, " features"},
                           "give fewer features or groups");
        *stream = new fastfs_stream(std::make_unique<ManifestBlocks>(n_features, n_groups, how));
    });
}

fastfs_status fastfs_manifest_stream_finish(const fastfs_stream* stream, const int64_t* labels, int64_t n_classes,
                                            const fastfs_manifest_options* options, const fastfs_manifest_scale* scales,
                                            int64_t n_scales, const fastfs_run* run_, fastfs_manifest_result* results,
                                            fastfs_fitted** fitted) {
    return guarded([&] {
        const UseStream<ManifestBlocks> use(stream, "stream");
        const ManifestSums& of = use->data();
        require_array(labels, "labels");
        std::vector<std::int64_t> given;
        std::copy_if(labels, labels + of.n_groups(), std::back_inserter(given), [](std::int64_t l) { return l != -1; });
        require(!given.empty(), "labels must give a class to some groups; got -1 for all");
        require_labels(given.data(), static_cast<std::int64_t>(given.size()), n_classes);
        fit_scales(of.n_features(), n_classes, options, scales, n_scales, run_, results, fitted,
                   [&](const auto& how, const auto& sigmas, Run& run, auto& out) {
                       of.fit(labels, n_classes, how, sigmas, run, out);
                   });
    });
}

// Writes the scores, and the class_scores unless null, that follow from the scores of each two-class problem.
fastfs_status fastfs_manifest_mean_scores(int64_t n_features, int64_t n_classes, int32_t multiclass,
                                          const double* problem_scores, double* scores, double* class_scores) {
    return guarded([&] {
        require_size(n_features, 2, "n_features");
        require_size(n_classes, 2, "n_classes");
        require_fits(n_classes, n_features, "class_scores");
        require(multiclass == FASTFS_MANIFEST_OVR || multiclass == FASTFS_MANIFEST_OVO,
                "multiclass must be FASTFS_MANIFEST_OVR or FASTFS_MANIFEST_OVO; got ", multiclass);
        require_array(problem_scores, "problem_scores");
        require_array(scores, "scores");
        require_array_or_null(class_scores, "class_scores");
        manifest_mean_scores(n_features, n_classes, multiclass, problem_scores, scores, class_scores);
    });
}

// Fits two precomputed kernels of features, as a fit of two classes does.
fastfs_status fastfs_manifest_kernels(int64_t n_features, const double* K1, const double* K2,
                                      const fastfs_manifest_options* options, const fastfs_run* run_,
                                      fastfs_manifest_result* result, fastfs_fitted** fitted) {
    return guarded([&] {
        require_size(n_features, 2, "n_features");
        require_fits(n_features, n_features, "a kernel");
        const auto how = read_options(options, FASTFS_MANIFEST_OPTIONS_INIT);
        Run run = read_run(run_);
        require_array(K1, "K1");
        require_array(K2, "K2");
        check_options(how, 1, n_features);
        require_output(run, result, "result");
        fill_fitted(run, result, 1, FASTFS_MANIFEST_RESULT_INIT, fitted,
                    [&](auto& computed) { manifest_kernels(n_features, K1, K2, how, run, computed); });
    });
}

}  // extern "C"
