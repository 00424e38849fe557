#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "options.hpp"
#include "results.hpp"
#include "run.hpp"
#include "streams.hpp"

namespace fastfs::bindings {
namespace {

const Words kReasons{{"asked", FASTFS_BECAUSE_ASKED},
                     {"size", FASTFS_BECAUSE_SIZE},
                     {"memory", FASTFS_BECAUSE_MEMORY},
                     {"rank", FASTFS_BECAUSE_RANK},
                     {"form", FASTFS_BECAUSE_FORM}};

fastfs::manifest_options to_manifest_options(const py::dict& given) {
    return read_options("fastfs_manifest_options", fastfs::default_manifest_options(), given);
}

// Reads a scale; its sigma has one number per kernel.
fastfs::manifest_scale to_scale(const py::dict& given, py::ssize_t n_kernels) {
    return read_options("fastfs_manifest_scale", fastfs::manifest_scale FASTFS_MANIFEST_SCALE_INIT, given,
                        {{"n_kernels", n_kernels}});
}

py::dict to_dict(const fastfs::manifest_plan& found) {
    py::dict plan;
    plan["accuracy"] = word_of(found.accuracy, words_of(field_of("fastfs_manifest_options", "accuracy")));
    plan["reason"] = word_of(found.reason, kReasons);
    plan["bytes"] = found.bytes;
    plan["exact_bytes"] = found.exact_bytes;
    plan["n_problems"] = found.n_problems;
    return plan;
}

// Results of all scales, in arrays for the core to fill. A share of the problems has their scores instead of the
// classes', and 0 for the kernels of the other problems.
struct Fitted {
    std::vector<fastfs::manifest_scale> scales;
    std::vector<fastfs_manifest_result> results;
    py::list arrays;

    Fitted(const py::list& scales_, std::int64_t d, std::int64_t n_classes, const fastfs::manifest_plan& plan,
           std::int64_t n_components, bool is_share, bool with_agreement) {
        for (const auto& scale : scales_) {
            scales.push_back(to_scale(scale.cast<py::dict>(), plan.n_kernels));
            py::dict of_scale;
            results.push_back(room_for(d, n_classes, plan, n_components, is_share, with_agreement, of_scale));
            arrays.append(of_scale);
        }
    }

  private:
    // Returns a result with arrays of zeros of the sizes in the plan, which it adds to `arrays`.
    static fastfs_manifest_result room_for(std::int64_t d, std::int64_t n_classes, const fastfs::manifest_plan& plan,
                                           std::int64_t m, bool is_share, bool with_agreement, py::dict& arrays) {
        const std::int64_t p = plan.n_problems, k = plan.n_kernels;
        fastfs_manifest_result out = FASTFS_MANIFEST_RESULT_INIT;
        const auto room = [&](const char* name, auto*& member, Shape shape) {
            py::array_t<std::remove_reference_t<decltype(*member)>> array(std::move(shape));
            member = array.mutable_data();
            std::fill_n(member, array.size(), 0);
            arrays[name] = std::move(array);
        };
        room("scores", out.scores, {d});
        if (is_share) {
            room("problem_scores", out.problem_scores, {p, d});
        } else {
            room("class_scores", out.class_scores, {n_classes, d});
        }
        room("sigma", out.sigma, {k});
        room("kept_trace", out.kept_trace, {k});
        room("ranks", out.ranks, {p});
        if (with_agreement) room("agreement", out.agreement, {p});
        out.n_components = m;
        room("mean_values", out.mean_values, {p, m});
        room("mean_vectors", out.mean_vectors, {p, m, d});
        room("difference_values", out.difference_values, {p, m});
        room("difference_vectors", out.difference_vectors, {p, m, d});
        return out;
    }
};

// The label-free stage; keeps the chunks' arrays alive.
class Manifest {
  public:
    // Views the chunks, which this object keeps alive, and reads them.
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

    // Returns the form that a fit would take, and the number of its problems.
    py::dict plan(std::int64_t n_classes, std::int64_t n_scales, const py::dict& options, std::int64_t n_components,
                  const py::object& run_) const {
        Call call(run_);
        return to_dict(plan_of(n_classes, n_scales, to_manifest_options(options), n_components, call));
    }

    // Returns the plan, and a result for each scale.
    py::tuple fit(const py::object& labels_, std::int64_t n_classes, const py::list& scales_, const py::dict& options_,
                  std::int64_t n_components, bool agreement, const py::object& run_) const {
        const auto* labels = labels_of(labels_, n_rows_);
        auto options = to_manifest_options(options_);
        Call call(run_);
        const auto n_scales = static_cast<std::int64_t>(scales_.size());
        const auto found = plan_of(n_classes, n_scales, options, n_components, call);
        if (found.reason != FASTFS_BECAUSE_RANK) options.accuracy = found.accuracy;  // else the fit warns of the rank
        Fitted fitted(scales_, n_features_, n_classes, found, n_components, options.n_problems > 0, agreement);
        call([&](const fastfs::run& run) {
            manifest_->fit(labels, n_classes, fitted.scales, options, fitted.results, run);
        });
        return py::make_tuple(to_dict(found), fitted.arrays);
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

struct ManifestStream : Stream {
    static ManifestStream make(std::int64_t n_features, std::int64_t n_groups, const py::dict& given,
                               const py::object& run_) {
        const auto options = to_manifest_options(given);
        Call call(run_);
        return {{py::make_tuple(n_features, n_groups, given), py::none(), call([&](const fastfs::run& run) {
                     return fastfs::manifest_stream(n_features, n_groups, options, run);
                 })}};
    }

    static ManifestStream unpickled(const py::tuple& state) {
        const py::tuple args = state[0];
        const auto run = py::module_::import("fastfs._machine.run").attr("Run")();
        ManifestStream made =
            make(args[0].cast<std::int64_t>(), args[1].cast<std::int64_t>(), args[2].cast<py::dict>(), run);
        made.restore(state, run);
        return made;
    }

    static fastfs::manifest_plan plan(std::int64_t n_features, std::int64_t n_groups, std::int64_t n_classes,
                                      std::int64_t n_scales, const py::dict& options_, std::int64_t n_components,
                                      const py::object& run_) {
        const auto how = to_manifest_options(options_);
        Call call(run_);
        return call([&](const fastfs::run& run) {
            return fastfs::manifest_stream_plan(n_features, n_groups, n_classes, how, n_scales, n_components, run);
        });
    }

    // Fits from the sums of the stream; returns the plan and the results, as Manifest::fit. labels has the class of
    // each group, or -1.
    py::tuple finish(const py::object& labels_, std::int64_t n_classes, const py::list& scales_,
                     const py::dict& options_, std::int64_t n_components, bool agreement,
                     const py::object& run_) const {
        const fastfs::stream_state state = stream.state();
        const auto* labels = labels_of(labels_, state.n_groups);
        const auto how = to_manifest_options(options_);
        const auto found = plan(state.n_cols, state.n_groups, n_classes, static_cast<std::int64_t>(scales_.size()),
                                options_, n_components, run_);
        Call call(run_);
        Fitted fitted(scales_, state.n_cols, n_classes, found, n_components, false, agreement);
        call([&](const fastfs::run& run) {
            fastfs::manifest_stream_finish(stream, labels, n_classes, fitted.scales, how, fitted.results, run);
        });
        return py::make_tuple(to_dict(found), fitted.arrays);
    }
};

// Computes the scores of all problems together and those of the classes, from the scores of each problem.
py::tuple manifest_mean_scores(const py::array_t<double, py::array::c_style>& problem_scores, std::int64_t n_classes,
                               const std::string& multiclass) {
    auto options = fastfs::default_manifest_options();
    options.multiclass = choose("multiclass", multiclass, words_of(field_of("fastfs_manifest_options", "multiclass")));
    const bool pairs = n_classes == 2 || options.multiclass == FASTFS_MANIFEST_OVO;
    const auto n_problems = pairs ? n_classes * (n_classes - 1) / 2 : n_classes;
    if (problem_scores.ndim() != 2 || problem_scores.shape(0) != n_problems) {
        throw std::invalid_argument("problem_scores must have a row for each of the " + std::to_string(n_problems) +
                                    " problems");
    }
    const auto d = problem_scores.shape(1);
    py::array_t<double> scores(d);
    py::array_t<double> class_scores(Shape{n_classes, d});
    fastfs::manifest_mean_scores(d, n_classes, options, problem_scores.data(), scores.mutable_data(),
                                 class_scores.mutable_data());
    return py::make_tuple(scores, class_scores);
}

// Compares two precomputed kernels; returns scores and agreement.
py::dict manifest_kernels(const py::array_t<double, py::array::c_style>& K1,
                          const py::array_t<double, py::array::c_style>& K2, const py::dict& options_,
                          const py::object& run_) {
    if (K1.ndim() != 2 || K1.shape(0) != K1.shape(1) || K2.ndim() != 2 || K2.shape(0) != K1.shape(0) ||
        K2.shape(1) != K1.shape(0)) {
        throw std::invalid_argument("K1 and K2 must be square matrices of one size");
    }
    const auto options = to_manifest_options(options_);
    py::array_t<double> scores(K1.shape(0)), agreement(1);
    fastfs_manifest_result result = FASTFS_MANIFEST_RESULT_INIT;
    result.scores = scores.mutable_data();
    result.agreement = agreement.mutable_data();
    const double *a = K1.data(), *b = K2.data();
    Call call(run_);
    call([&](const fastfs::run& run) { fastfs::manifest_kernels(scores.size(), a, b, options, result, run); });
    py::dict fitted;
    fitted["scores"] = scores;
    fitted["agreement"] = agreement;
    return fitted;
}

}  // namespace

void bind_manifest(py::module_& m) {
    m.def("manifest_mean_scores", &manifest_mean_scores, py::arg("problem_scores").noconvert(), py::arg("n_classes"),
          py::arg("multiclass"));
    m.def("manifest_kernels", &manifest_kernels, py::arg("K1").noconvert(), py::arg("K2").noconvert(),
          py::arg("options"), py::arg("run"));
    py::class_<Manifest>(m, "Manifest")
        .def(py::init<const py::sequence&, bool, const py::object&>(), py::arg("chunks"), py::arg("keep_distances"),
             py::arg("run"))
        .def("plan", &Manifest::plan, py::arg("n_classes"), py::arg("n_scales"), py::arg("options"),
             py::arg("n_components"), py::arg("run"))
        .def("fit", &Manifest::fit, py::arg("labels"), py::arg("n_classes"), py::arg("scales"), py::arg("options"),
             py::arg("n_components"), py::arg("agreement"), py::arg("run"));
    bind_stream<ManifestStream>(m, "ManifestStream")
        .def(py::init(&ManifestStream::make), py::arg("n_features"), py::arg("n_groups"), py::arg("options"),
             py::arg("run"))
        .def_static(
            "plan",
            [](std::int64_t n_features, std::int64_t n_groups, std::int64_t n_classes, std::int64_t n_scales,
               const py::dict& options, std::int64_t n_components, const py::object& run) {
                return to_dict(
                    ManifestStream::plan(n_features, n_groups, n_classes, n_scales, options, n_components, run));
            },
            py::arg("n_features"), py::arg("n_groups"), py::arg("n_classes"), py::arg("n_scales"), py::arg("options"),
            py::arg("n_components"), py::arg("run"))
        .def(
            "update",
            [](ManifestStream& self, const py::object& X, const py::object& groups, const py::object& run) {
                self.update_rows(X, py::none(), groups, run);
            },
            py::arg("X"), py::arg("groups"), py::arg("run"))
        .def("finish", &ManifestStream::finish, py::arg("labels"), py::arg("n_classes"), py::arg("scales"),
             py::arg("options"), py::arg("n_components"), py::arg("agreement"), py::arg("run"));
}

}  // namespace fastfs::bindings
