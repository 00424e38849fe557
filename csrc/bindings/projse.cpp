#include <algorithm>
#include <string>
#include <utility>

#include "arrays.hpp"
#include "options.hpp"
#include "results.hpp"
#include "run.hpp"
#include "streams.hpp"

namespace fastfs::bindings {
namespace {

using Doubles = py::array_t<double, py::array::c_style>;

// Returns the result of a choice among n_candidates as a dict with views of its arrays.
py::dict to_dict(fastfs::fitted<fastfs::projse_result>&& fitted, std::int64_t n_candidates) {
    const Views view(std::move(fitted));
    const fastfs::projse_result& r = **view;
    py::dict result;
    result["scores"] = view(r.scores, {n_candidates});
    result["selected"] = view(r.selected, {r.n_selected});
    result["selection_scores"] = view(r.selection_scores, {r.n_selected});
    result["gaps"] = view(r.gaps, {r.n_selected});
    result["captured"] = view(r.captured, {r.n_selected});
    result["explained"] = r.explained ? view(r.explained, {r.n_selected}) : py::none();
    result["rank"] = r.rank;
    result["sigma"] = r.sigma;
    result["center"] = r.center != 0;
    return result;
}

fastfs::projse_options to_projse_options(const py::dict& given) {
    return read_options("fastfs_projse_options", fastfs::default_projse_options(), given);
}

// Returns the fields of fastfs_projse_result as a dict, with arrays that keep the result alive.
py::dict projse(const py::object& X_, const py::object& Y_, const py::object& labels_, std::int64_t n_classes,
                const py::dict& options_, const py::object& run_) {
    const Matrix X(X_);
    const std::int64_t n_candidates = X.view.n_cols();
    const auto options = to_projse_options(options_);
    Call call(run_);
    if (!labels_.is_none()) {
        const auto* labels = labels_of(labels_, X.view.n_rows());
        return to_dict(
            call([&](const fastfs::run& run) { return fastfs::projse(X.view, labels, n_classes, options, run); }),
            n_candidates);
    }
    if (!Y_.is_none()) {
        const Matrix Y(Y_);
        return to_dict(call([&](const fastfs::run& run) { return fastfs::projse(X.view, Y.view, options, run); }),
                       n_candidates);
    }
    return to_dict(call([&](const fastfs::run& run) { return fastfs::projse(X.view, options, run); }), n_candidates);
}

// Chooses from precomputed kernels, of K_XX the diagonal, and returns the result as a dict.
py::dict projse_kernels(const Doubles& K_YY, const Doubles& K_YX, const Doubles& K_XX, const py::dict& options_,
                        const py::object& run_) {
    if (K_YY.ndim() != 2 || K_YX.ndim() != 2 || K_XX.ndim() != 1 || K_YY.shape(0) != K_YY.shape(1) ||
        K_YX.shape(0) != K_YY.shape(0) || K_XX.shape(0) != K_YX.shape(1)) {
        throw std::invalid_argument(
            "K_YY, K_YX and K_XX must have the shapes (n_y, n_y), (n_y, n_x) and (n_x,) of one n_y and one n_x; "
            "got other shapes");
    }
    const double *yy = K_YY.data(), *yx = K_YX.data(), *xx = K_XX.data();
    const std::int64_t n_y = K_YX.shape(0), n_x = K_YX.shape(1);
    const auto options = to_projse_options(options_);
    Call call(run_);
    return to_dict(
        call([&](const fastfs::run& run) { return fastfs::projse_kernels(n_y, n_x, yy, yx, xx, options, run); }), n_x);
}

// Returns the scores before any choice under each labeling, n_labelings x n_cols.
py::array_t<double> label_scores(const py::object& X_, const py::array_t<std::int64_t, py::array::c_style>& labels,
                                 std::int64_t n_classes, const py::dict& options_, const py::object& run_) {
    const Matrix X(X_);
    if (labels.ndim() != 2 || labels.shape(1) != X.view.n_rows()) {
        throw std::invalid_argument(
            "labels must have a row for each labeling and a column for each row of X; got another shape");
    }
    const auto options = to_projse_options(options_);
    Call call(run_);
    py::array_t<double> scores({labels.shape(0), static_cast<py::ssize_t>(X.view.n_cols())});
    const std::int64_t *given = labels.data(), n_labelings = labels.shape(0);
    double* out = scores.mutable_data();
    call([&](const fastfs::run& run) {
        fastfs::projse_label_scores(X.view, given, n_labelings, n_classes, options, out, run);
    });
    return scores;
}

const Words kViews{{"one", FASTFS_PROJSE_ONE_VIEW}, {"two", FASTFS_PROJSE_TWO_VIEWS}, {"groups", FASTFS_PROJSE_GROUPS}};

struct ProjseStream : Stream {
    static ProjseStream make(std::int64_t n_y, std::int64_t n_x, const std::string& views, const py::object& run_) {
        const int view = choose("views", views, kViews);
        Call call(run_);
        return {{py::make_tuple(n_y, n_x, views), py::none(),
                 call([&](const fastfs::run& run) { return fastfs::projse_stream(n_y, n_x, view, run); })}};
    }

    // Makes a stream from the arguments of a pickled one, and brings it to its state.
    static ProjseStream unpickled(const py::tuple& state) {
        const py::tuple args = state[0];
        const auto run = py::module_::import("fastfs._machine.run").attr("Run")();
        ProjseStream made =
            make(args[0].cast<std::int64_t>(), args[1].cast<std::int64_t>(), args[2].cast<std::string>(), run);
        made.restore(state, run);
        return made;
    }

    // Chooses from the sums of the stream, and returns the result as a dict. classes: of each group of rows, or -1;
    // None if there are no groups.
    py::dict finish(const py::dict& options_, const py::object& run_, const py::object& classes_) const {
        const auto options = to_projse_options(options_);
        const fastfs::stream_state state = stream.state();
        const py::ssize_t n_groups = state.n_groups;
        const auto* classes = data_or_null<std::int64_t>(classes_, "classes", {n_groups});
        const std::int64_t n_classes = classes ? *std::max_element(classes, classes + n_groups) + 1 : 0;
        Call call(run_);
        return to_dict(call([&](const fastfs::run& run) {
                           return fastfs::projse_stream_finish(stream, options, run, classes, n_classes);
                       }),
                       options.from_y ? state.n_y - options.n_given : state.n_cols);
    }
};

}  // namespace

// Adds the functions and the stream of ProjSe to the module.
void bind_projse(py::module_& m) {
    m.def("projse", &projse, py::arg("X"), py::arg("Y"), py::arg("labels"), py::arg("n_classes"), py::arg("options"),
          py::arg("run"));
    m.def("projse_kernels", &projse_kernels, py::arg("K_YY").noconvert(), py::arg("K_YX").noconvert(),
          py::arg("K_XX").noconvert(), py::arg("options"), py::arg("run"));

    m.def("projse_label_scores", &label_scores, py::arg("X"), py::arg("labels").noconvert(), py::arg("n_classes"),
          py::arg("options"), py::arg("run"));

    bind_stream<ProjseStream>(m, "ProjseStream")
        .def(py::init(&ProjseStream::make), py::arg("n_y"), py::arg("n_x"), py::arg("views"), py::arg("run"))
        .def("update", &ProjseStream::update_rows, py::arg("X"), py::arg("Y"), py::arg("labels"), py::arg("run"))
        .def("finish", &ProjseStream::finish, py::arg("options"), py::arg("run"), py::arg("classes") = py::none())
        .def_property_readonly("n_y", [](const ProjseStream& self) { return self.stream.state().n_y; });
}

}  // namespace fastfs::bindings
