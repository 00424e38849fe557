#include "arrays.hpp"
#include "options.hpp"
#include "results.hpp"
#include "run.hpp"

namespace fastfs::bindings {
namespace {

using Doubles = py::array_t<double, py::array::c_style>;

py::dict to_dict(const fastfs::projse_result& r) {
    py::dict result;
    result["scores"] = to_array(r.scores);
    result["selected"] = to_array(r.selected);
    result["selection_scores"] = to_array(r.selection_scores);
    result["gaps"] = to_array(r.gaps);
    result["captured"] = to_array(r.captured);
    result["rank"] = r.rank;
    result["sigma"] = r.sigma;
    result["warnings"] = r.warnings;
    result["center"] = r.centered;
    return result;
}

fastfs::projse_options to_projse_options(const py::dict& given) {
    return read_options<fastfs_projse_options>(
        fastfs::default_projse_options(), given,
        {{"kernel", choice(&fastfs_projse_options::kernel,
                           {{"linear", FASTFS_LINEAR}, {"poly", FASTFS_POLY}, {"rbf", FASTFS_RBF}})},
         {"degree", &fastfs_projse_options::degree},
         {"sigma_rule", choice(&fastfs_projse_options::sigma_rule, {{"mean", FASTFS_PROJSE_SIGMA_MEAN},
                                                                    {"sqrt_m", FASTFS_PROJSE_SIGMA_SQRT_ROWS},
                                                                    {"given", FASTFS_PROJSE_SIGMA_GIVEN}})},
         {"sigma", &fastfs_projse_options::sigma},
         {"center",
          choice(&fastfs_projse_options::center, {{"no", 0}, {"yes", 1}, {"auto", FASTFS_PROJSE_CENTER_AUTO}})},
         {"normalize", &fastfs_projse_options::normalize},
         {"from_y", &fastfs_projse_options::from_y},
         {"eps", &fastfs_projse_options::eps},
         {"n_select", &fastfs_projse_options::n_select},
         {"custom", &fastfs_projse_options::custom}});
}

py::dict projse(const py::object& X_, const py::object& Y_, const py::object& labels_, std::int64_t n_classes,
                const py::dict& options_, const py::object& run_) {
    const Matrix X(X_);
    const auto options = to_projse_options(options_);
    Call call(run_);
    if (!labels_.is_none()) {
        const auto* labels = labels_of(labels_, X.view.n_rows());
        return to_dict(
            call([&](const fastfs::run& run) { return fastfs::projse(X.view, labels, n_classes, options, run); }));
    }
    if (!Y_.is_none()) {
        const Matrix Y(Y_);
        return to_dict(call([&](const fastfs::run& run) { return fastfs::projse(X.view, Y.view, options, run); }));
    }
    return to_dict(call([&](const fastfs::run& run) { return fastfs::projse(X.view, options, run); }));
}

py::dict projse_kernels(const Doubles& K_YY, const Doubles& K_YX, const Doubles& K_XX, const py::dict& options_,
                        const py::object& run_) {
    if (K_YY.ndim() != 2 || K_YX.ndim() != 2 || K_XX.ndim() != 1 || K_YY.shape(0) != K_YY.shape(1) ||
        K_YX.shape(0) != K_YY.shape(0) || K_XX.shape(0) != K_YX.shape(1)) {
        throw std::invalid_argument("expected K_YY of n_y x n_y, K_YX of n_y x n_x and n_x values of K_XX");
    }
    const double *yy = K_YY.data(), *yx = K_YX.data(), *xx = K_XX.data();
    const std::int64_t n_y = K_YX.shape(0), n_x = K_YX.shape(1);
    const auto options = to_projse_options(options_);
    Call call(run_);
    return to_dict(
        call([&](const fastfs::run& run) { return fastfs::projse_kernels(n_y, n_x, yy, yx, xx, options, run); }));
}

py::array_t<double> label_scores(const py::object& X_, const py::array_t<std::int64_t, py::array::c_style>& labels,
                                 std::int64_t n_classes, const py::dict& options_, const py::object& run_) {
    const Matrix X(X_);
    if (labels.ndim() != 2 || labels.shape(1) != X.view.n_rows()) {
        throw std::invalid_argument("labels must have a row for each labeling and a column for each row of X");
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

void update(fastfs::projse_sums& self, const py::object& X_, const py::object& Y_, const py::object& labels_,
            const py::object& run_) {
    const Matrix X(X_);
    Call call(run_);
    if (!labels_.is_none()) {
        const auto* labels = labels_of(labels_, X.view.n_rows());
        call([&](const fastfs::run& run) { self.update(X.view, labels, run); });
    } else if (!Y_.is_none()) {
        const Matrix Y(Y_);
        call([&](const fastfs::run& run) { self.update(X.view, Y.view, run); });
    } else {
        call([&](const fastfs::run& run) { self.update(X.view, run); });
    }
}

void update_groups(const py::list& sums_, const py::object& X_, const py::object& groups_, const py::object& run_) {
    std::vector<fastfs::projse_sums*> sums;
    for (const py::handle& one : sums_) sums.push_back(one.cast<fastfs::projse_sums*>());
    const Matrix X(X_);
    Call call(run_);
    const auto* groups = labels_of(groups_, X.view.n_rows());
    call([&](const fastfs::run& run) { fastfs::projse_sums::update_groups(sums, X.view, groups, run); });
}

}  // namespace

void bind_projse(py::module_& m) {
    m.attr("PROJSE_ALL_SAMPLES") = int{FASTFS_PROJSE_ALL_SAMPLES};
    m.attr("PROJSE_TINY") = int{FASTFS_PROJSE_TINY};
    m.attr("PROJSE_NEARLY") = int{FASTFS_PROJSE_NEARLY};
    m.attr("PROJSE_TIE") = int{FASTFS_PROJSE_TIE};

    m.def("projse", &projse, py::arg("X"), py::arg("Y"), py::arg("labels"), py::arg("n_classes"), py::arg("options"),
          py::arg("run"));
    m.def("projse_kernels", &projse_kernels, py::arg("K_YY").noconvert(), py::arg("K_YX").noconvert(),
          py::arg("K_XX").noconvert(), py::arg("options"), py::arg("run"));

    m.def("projse_label_scores", &label_scores, py::arg("X"), py::arg("labels").noconvert(), py::arg("n_classes"),
          py::arg("options"), py::arg("run"));

    py::class_<fastfs::projse_sums>(m, "ProjseSums")
        .def(py::init([](std::int64_t n_y, std::int64_t n_x, bool two_views, const py::object& run_) {
                 Call call(run_);
                 return call([&](const fastfs::run& run) { return fastfs::projse_sums(n_y, n_x, two_views, run); });
             }),
             py::arg("n_y"), py::arg("n_x"), py::arg("two_views"), py::arg("run"))
        .def("update", &update, py::arg("X"), py::arg("Y"), py::arg("labels"), py::arg("run"))
        .def_static("update_groups", &update_groups, py::arg("sums"), py::arg("X"), py::arg("groups"), py::arg("run"))
        .def("merge", &fastfs::projse_sums::merge, py::arg("other"), py::call_guard<py::gil_scoped_release>())
        .def("merge_class", &fastfs::projse_sums::merge_class, py::arg("other"), py::arg("label"),
             py::call_guard<py::gil_scoped_release>())
        .def(
            "select",
            [](const fastfs::projse_sums& self, const py::dict& options_, const py::object& run_) {
                const auto options = to_projse_options(options_);
                Call call(run_);
                return to_dict(call([&](const fastfs::run& run) { return self.select(options, run); }));
            },
            py::arg("options"), py::arg("run"))
        .def(py::pickle(
            [](const fastfs::projse_sums& self) {
                return py::make_tuple(self.n_y(), self.n_x(), self.two_views(), to_array(self.save()));
            },
            [](const py::tuple& state) {
                fastfs::projse_sums sums(state[0].cast<std::int64_t>(), state[1].cast<std::int64_t>(),
                                         state[2].cast<bool>());
                const auto numbers = received<double>(state[3]);
                sums.load(std::vector<double>(numbers.data(), numbers.data() + numbers.size()));
                return sums;
            }))
        .def_property_readonly("means", [](const fastfs::projse_sums& self) { return to_array(self.means()); })
        .def_property_readonly("n_rows", &fastfs::projse_sums::n_rows)
        .def_property_readonly("n_y", &fastfs::projse_sums::n_y)
        .def_property_readonly("n_x", &fastfs::projse_sums::n_x)
        .def_property_readonly("two_views", &fastfs::projse_sums::two_views);
}

}  // namespace fastfs::bindings
