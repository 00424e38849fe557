#include <memory>
#include <vector>

#include "arrays.hpp"
#include "options.hpp"
#include "results.hpp"
#include "run.hpp"

namespace fastfs::bindings {
namespace {

const Words kAccuracies{{"auto", FASTFS_AUTO}, {"exact", FASTFS_EXACT}, {"fast", FASTFS_FAST}, {"high", FASTFS_HIGH}};
const Words kReasons{{"asked", FASTFS_BECAUSE_ASKED},
                     {"size", FASTFS_BECAUSE_SIZE},
                     {"memory", FASTFS_BECAUSE_MEMORY},
                     {"rank", FASTFS_BECAUSE_RANK},
                     {"form", FASTFS_BECAUSE_FORM}};

fastfs::manifest_options to_manifest_options(const py::dict& given) {
    return read_options<fastfs_manifest_options>(
        fastfs::default_manifest_options(), given,
        {{"form", choice(&fastfs_manifest_options::form,
                         {{"pencil", FASTFS_PENCIL}, {"spd", FASTFS_SPD}, {"spsd", FASTFS_SPSD}})},
         {"accuracy", choice(&fastfs_manifest_options::accuracy, kAccuracies)},
         {"rank", &fastfs_manifest_options::rank},
         {"multiclass", choice(&fastfs_manifest_options::multiclass, {{"ovr", FASTFS_OVR}, {"ovo", FASTFS_OVO}})},
         {"seed", &fastfs_manifest_options::seed},
         {"kernel", &fastfs_manifest_options::kernel}});
}

// sigma has one number a kernel.
fastfs::manifest_scale to_scale(const py::dict& given, std::int64_t n_kernels) {
    return read_options<fastfs_manifest_scale>(
        FASTFS_MANIFEST_SCALE_INIT, given,
        {{"rule", choice(&fastfs_manifest_scale::rule, {{"median", FASTFS_SIGMA_MEDIAN},
                                                        {"percentile", FASTFS_SIGMA_PERCENTILE},
                                                        {"given", FASTFS_SIGMA_GIVEN}})},
         {"normalize", &fastfs_manifest_scale::normalize},
         {"value", &fastfs_manifest_scale::value},
         {"sigma", array(&fastfs_manifest_scale::sigma, {static_cast<py::ssize_t>(n_kernels)})}});
}

// Label-free stage; keeps the chunks' arrays alive.
class Manifest {
  public:
    Manifest(const py::sequence& chunks, bool keep_distances, const py::object& run_) {
        for (const auto& chunk : chunks) {
            chunks_.push_back(std::make_unique<Matrix>(py::reinterpret_borrow<py::object>(chunk)));
            views_.push_back(chunks_.back()->view);
            n_rows_ += views_.back().n_rows();
            n_features_ = views_.back().n_cols();
        }
        Call call(run_);
        manifest_ = call(
            [&](const fastfs::run& run) { return std::make_unique<fastfs::manifest>(views_, keep_distances, run); });
    }

    // What a fit would do.
    py::dict plan(std::int64_t n_classes, std::int64_t n_scales, const py::dict& options, std::int64_t n_components,
                  const py::object& run_) const {
        Call call(run_);
        const auto found = plan_of(n_classes, n_scales, to_manifest_options(options), n_components, call);
        py::dict plan;
        plan["accuracy"] = word_of(found.accuracy, kAccuracies);
        plan["reason"] = word_of(found.reason, kReasons);
        plan["exact_bytes"] = found.exact_bytes;
        return plan;
    }

    // Returns a result for each scale.
    py::list fit(const py::object& labels_, std::int64_t n_classes, const py::list& scales_, const py::dict& options_,
                 std::int64_t n_components, const py::object& run_) const {
        const auto* labels = labels_of(labels_, n_rows_);
        const auto options = to_manifest_options(options_);
        Call call(run_);
        const auto found = plan_of(n_classes, static_cast<std::int64_t>(scales_.size()), options, n_components, call);
        std::vector<fastfs::manifest_scale> scales;
        for (const auto& scale : scales_) scales.push_back(to_scale(scale.cast<py::dict>(), found.n_kernels));
        const auto results = call([&](const fastfs::run& run) {
            return manifest_->fit(labels, n_classes, scales, options, n_components, run);
        });

        py::list fitted;
        for (const auto& r : results) {
            const std::int64_t d = n_features_, m = n_components, p = found.n_problems, k = found.n_kernels;
            py::dict one;
            one["scores"] = to_array(r.scores, {d});
            one["class_scores"] = to_array(r.class_scores, {n_classes, d});
            one["sigma"] = to_array(r.sigma, {k});
            one["kept_trace"] = to_array(r.kept_trace, {k});
            one["kernel_warnings"] = to_array(r.kernel_warnings, {k});
            one["ranks"] = to_array(r.ranks, {p});
            one["agreement"] = to_array(r.agreement, {p});
            one["problem_warnings"] = to_array(r.problem_warnings, {p});
            one["mean_values"] = to_array(r.mean_values, {p, m});
            one["mean_vectors"] = to_array(r.mean_vectors, {p, m, d});
            one["difference_values"] = to_array(r.difference_values, {p, m});
            one["difference_vectors"] = to_array(r.difference_vectors, {p, m, d});
            fitted.append(one);
        }
        return fitted;
    }

  private:
    fastfs::manifest_plan plan_of(std::int64_t n_classes, std::int64_t n_scales,
                                  const fastfs::manifest_options& options, std::int64_t n_components,
                                  Call& call) const {
        return call(
            [&](const fastfs::run& run) { return manifest_->plan(n_classes, options, n_scales, n_components, run); });
    }

    std::vector<std::unique_ptr<Matrix>> chunks_;
    std::vector<fastfs::matrix> views_;
    std::int64_t n_rows_ = 0, n_features_ = 0;
    std::unique_ptr<fastfs::manifest> manifest_;
};

}  // namespace

void bind_manifest(py::module_& m) {
    m.attr("WARN_SIGMA") = int{FASTFS_WARN_SIGMA};
    m.attr("WARN_ONE_SAMPLE") = int{FASTFS_WARN_ONE_SAMPLE};
    m.attr("WARN_TRACE") = int{FASTFS_WARN_TRACE};
    m.attr("WARN_NO_CONTRAST") = int{FASTFS_WARN_NO_CONTRAST};
    m.attr("WARN_AGREEMENT") = int{FASTFS_WARN_AGREEMENT};
    py::class_<Manifest>(m, "Manifest")
        .def(py::init<const py::sequence&, bool, const py::object&>(), py::arg("chunks"), py::arg("keep_distances"),
             py::arg("run"))
        .def("plan", &Manifest::plan, py::arg("n_classes"), py::arg("n_scales"), py::arg("options"),
             py::arg("n_components"), py::arg("run"))
        .def("fit", &Manifest::fit, py::arg("labels"), py::arg("n_classes"), py::arg("scales"), py::arg("options"),
             py::arg("n_components"), py::arg("run"));
}

}  // namespace fastfs::bindings
