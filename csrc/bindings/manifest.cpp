#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "options.hpp"
#include "results.hpp"
#include "run.hpp"
#include "streams.hpp"

namespace fastfs::bindings {
namespace {

const Words kReasons{{"asked", FASTFS_BECAUSE_ASKED}, {"size", FASTFS_BECAUSE_SIZE}, {"memory", FASTFS_BECAUSE_MEMORY},
                     {"rank", FASTFS_BECAUSE_RANK},   {"form", FASTFS_BECAUSE_FORM}, {"work", FASTFS_BECAUSE_WORK}};

fastfs::manifest_options to_manifest_options(const py::dict& given) {
    return read_options("fastfs_manifest_options", fastfs::default_manifest_options(), given);
}

// Reads a scale; its sigma has one number per kernel.
fastfs::manifest_scale to_scale(const py::dict& given, py::ssize_t n_kernels) {
    return read_options("fastfs_manifest_scale", fastfs::manifest_scale FASTFS_MANIFEST_SCALE_INIT, given,
                        {{"n_kernels", n_kernels}});
}

// Tells if classes are compared in pairs, not each with all other classes.
bool is_pairwise(std::int64_t n_classes, const fastfs::manifest_options& options) {
    return n_classes == 2 || options.multiclass == FASTFS_MANIFEST_OVO;
}

// Returns accuracy, reason and bytes of the exact form of a plan or a result as a dict.
template <class Found>
py::dict form_to_dict(const Found& found) {
    py::dict form;
    form["accuracy"] = word_of(found.accuracy, words_of(field_of("fastfs_manifest_options", "accuracy")));
    form["reason"] = word_of(found.reason, kReasons);
    form["exact_bytes"] = found.exact_bytes;
    return form;
}

py::dict to_dict(const fastfs::manifest_plan& found) {
    py::dict plan = form_to_dict(found);
    plan["bytes"] = found.bytes;
    plan["n_problems"] = found.n_problems;
    return plan;
}

// Reads scales for the kernels of a fit with these options.
std::vector<fastfs::manifest_scale> to_scales(const py::list& given, std::int64_t n_classes,
                                              const fastfs::manifest_options& options) {
    std::vector<fastfs::manifest_scale> scales;
    for (const auto& scale : given) {
        scales.push_back(to_scale(scale.cast<py::dict>(), (is_pairwise(n_classes, options) ? 1 : 2) * n_classes));
    }
    return scales;
}

// Returns the result of each scale. A share of the problems has their scores instead of the classes', and 0 for the
// kernels of the other problems.
py::list to_list(fastfs::fitted<fastfs::manifest_result>&& fitted, std::int64_t d, std::int64_t n_classes) {
    const Views view(std::move(fitted));
    py::list results;
    for (std::int64_t s = 0; s < (*view).size(); ++s) {
        const fastfs::manifest_result& r = (*view)[s];
        const std::int64_t p = r.n_problems, k = r.n_kernels, m = r.n_components;
        py::dict result = form_to_dict(r);
        result["scores"] = view(r.scores, {d});
        if (r.problem_scores) {
            result["problem_scores"] = view(r.problem_scores, {p, d});
        } else {
            result["class_scores"] = view(r.class_scores, {n_classes, d});
        }
        result["sigma"] = view(r.sigma, {k});
        result["kept_trace"] = view(r.kept_trace, {k});
        result["ranks"] = view(r.ranks, {p});
        if (r.agreement) result["agreement"] = view(r.agreement, {p});
        result["mean_values"] = view(r.mean_values, {p, m});
        result["mean_vectors"] = view(r.mean_vectors, {p, m, d});
        result["difference_values"] = view(r.difference_values, {p, m});
        result["difference_vectors"] = view(r.difference_vectors, {p, m, d});
        results.append(result);
    }
    return results;
}

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
    py::dict plan(std::int64_t n_classes, std::int64_t n_scales, const py::dict& given, const py::object& run_) const {
        const auto options = to_manifest_options(given);
        Call call(run_);
        return to_dict(
            call([&](const fastfs::run& run) { return manifest_->plan(n_classes, options, n_scales, run); }));
    }

    // Returns a result for each scale.
    py::list fit(const py::object& labels_, std::int64_t n_classes, const py::list& scales_, const py::dict& given,
                 const py::object& run_) const {
        const auto* labels = labels_of(labels_, n_rows_);
        const auto options = to_manifest_options(given);
        const auto scales = to_scales(scales_, n_classes, options);
        Call call(run_);
        return to_list(
            call([&](const fastfs::run& run) { return manifest_->fit(labels, n_classes, scales, options, run); }),
            n_features_, n_classes);
    }

  private:
    std::vector<std::unique_ptr<Matrix>> chunks_;
    std::vector<fastfs::matrix> views_;
    std::int64_t n_rows_ = 0, n_features_ = 0;
    std::unique_ptr<fastfs::manifest> manifest_;
};

struct ManifestStream : Stream {
    // Makes a stream of sums per group of rows, and keeps the arguments for pickling.
    static ManifestStream make(std::int64_t n_features, std::int64_t n_groups, const py::dict& given,
                               const py::object& run_) {
        const auto options = to_manifest_options(given);
        Call call(run_);
        return {{py::make_tuple(n_features, n_groups, given), py::none(), call([&](const fastfs::run& run) {
                     return fastfs::manifest_stream(n_features, n_groups, options, run);
                 })}};
    }

    // Makes a stream from the arguments of a pickled one, and brings it to its state.
    static ManifestStream unpickled(const py::tuple& state) {
        const py::tuple args = state[0];
        const auto run = py::module_::import("fastfs._machine.run").attr("Run")();
        ManifestStream made =
            make(args[0].cast<std::int64_t>(), args[1].cast<std::int64_t>(), args[2].cast<py::dict>(), run);
        made.restore(state, run);
        return made;
    }

    // Returns the plan of a fit from sums: accuracy, reason and bytes, before any stream is made.
    static py::dict plan(std::int64_t n_features, std::int64_t n_groups, std::int64_t n_classes, std::int64_t n_scales,
                         const py::dict& given, const py::object& run_) {
        const auto options = to_manifest_options(given);
        Call call(run_);
        return to_dict(call([&](const fastfs::run& run) {
            return fastfs::manifest_stream_plan(n_features, n_groups, n_classes, options, n_scales, run);
        }));
    }

    // Fits from the sums of the stream; returns a result for each scale. labels has the class of each group, or -1.
    py::list finish(const py::object& labels_, std::int64_t n_classes, const py::list& scales_, const py::dict& given,
                    const py::object& run_) const {
        const fastfs::stream_state state = stream.state();
        const auto* labels = labels_of(labels_, state.n_groups);
        const auto options = to_manifest_options(given);
        const auto scales = to_scales(scales_, n_classes, options);
        Call call(run_);
        return to_list(call([&](const fastfs::run& run) {
                           return fastfs::manifest_stream_finish(stream, labels, n_classes, scales, options, run);
                       }),
                       state.n_cols, n_classes);
    }
};

// Computes the scores of all problems together and those of the classes, from the scores of each problem.
py::tuple manifest_mean_scores(const py::array_t<double, py::array::c_style>& problem_scores, std::int64_t n_classes,
                               const std::string& multiclass) {
    auto options = fastfs::default_manifest_options();
    options.multiclass = choose("multiclass", multiclass, words_of(field_of("fastfs_manifest_options", "multiclass")));
    const auto n_problems = is_pairwise(n_classes, options) ? n_classes * (n_classes - 1) / 2 : n_classes;
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

// Compares two precomputed kernels, features x features, and returns the result as a dict.
py::object manifest_kernels(const py::array_t<double, py::array::c_style>& K1,
                            const py::array_t<double, py::array::c_style>& K2, const py::dict& options_,
                            const py::object& run_) {
    if (K1.ndim() != 2 || K1.shape(0) != K1.shape(1) || K2.ndim() != 2 || K2.shape(0) != K1.shape(0) ||
        K2.shape(1) != K1.shape(0)) {
        throw std::invalid_argument("K1 and K2 must be square matrices of one size");
    }
    const auto options = to_manifest_options(options_);
    const std::int64_t d = K1.shape(0);
    const double *a = K1.data(), *b = K2.data();
    Call call(run_);
    return to_list(call([&](const fastfs::run& run) { return fastfs::manifest_kernels(d, a, b, options, run); }), d,
                   2)[0];
}

}  // namespace

// Adds the functions and classes of ManiFeSt to the module.
void bind_manifest(py::module_& m) {
    m.def("manifest_mean_scores", &manifest_mean_scores, py::arg("problem_scores").noconvert(), py::arg("n_classes"),
          py::arg("multiclass"));
    m.def("manifest_kernels", &manifest_kernels, py::arg("K1").noconvert(), py::arg("K2").noconvert(),
          py::arg("options"), py::arg("run"));
    py::class_<Manifest>(m, "Manifest")
        .def(py::init<const py::sequence&, bool, const py::object&>(), py::arg("chunks"), py::arg("keep_distances"),
             py::arg("run"))
        .def("plan", &Manifest::plan, py::arg("n_classes"), py::arg("n_scales"), py::arg("options"), py::arg("run"))
        .def("fit", &Manifest::fit, py::arg("labels"), py::arg("n_classes"), py::arg("scales"), py::arg("options"),
             py::arg("run"));
    bind_stream<ManifestStream>(m, "ManifestStream")
        .def(py::init(&ManifestStream::make), py::arg("n_features"), py::arg("n_groups"), py::arg("options"),
             py::arg("run"))
        .def_static("plan", &ManifestStream::plan, py::arg("n_features"), py::arg("n_groups"), py::arg("n_classes"),
                    py::arg("n_scales"), py::arg("options"), py::arg("run"))
        .def(
            "update",
            [](ManifestStream& self, const py::object& X, const py::object& groups, const py::object& run) {
                self.update_rows(X, py::none(), groups, run);
            },
            py::arg("X"), py::arg("groups"), py::arg("run"))
        .def("finish", &ManifestStream::finish, py::arg("labels"), py::arg("n_classes"), py::arg("scales"),
             py::arg("options"), py::arg("run"));
}

}  // namespace fastfs::bindings
