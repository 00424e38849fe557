#include "arrays.hpp"

namespace fastfs::bindings {
namespace {

using Labels = py::array_t<std::int64_t, py::array::c_style>;
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
    return result;
}

// `custom`: the address of a fastfs_tile_kernel, or 0.
fastfs::projse_options to_options(const std::string& kernel, int degree, const std::string& sigma_rule, double sigma,
                                  bool center, bool normalize, double eps, std::int64_t n_select, std::uintptr_t custom,
                                  bool from_y) {
    auto options = fastfs::default_projse_options();
    options.kernel = kernel == "poly" ? FASTFS_POLY : kernel == "rbf" ? FASTFS_RBF : FASTFS_LINEAR;
    options.degree = degree;
    options.sigma_rule = sigma_rule == "mean"     ? FASTFS_PROJSE_SIGMA_MEAN
                         : sigma_rule == "sqrt_m" ? FASTFS_PROJSE_SIGMA_SQRT_ROWS
                                                  : FASTFS_PROJSE_SIGMA_GIVEN;
    options.sigma = sigma;
    options.center = center;
    options.normalize = normalize;
    options.eps = eps;
    options.n_select = n_select;
    options.custom = reinterpret_cast<fastfs_tile_kernel>(custom);
    options.from_y = from_y;
    return options;
}

const std::int64_t* labels_of(const py::object& given, const Matrix& X) {
    if (!py::isinstance<Labels>(given)) throw py::type_error("labels must be a contiguous int64 array");
    const auto labels = py::reinterpret_borrow<Labels>(given);
    if (labels.ndim() != 1 || labels.shape(0) != X.view.n_rows()) {
        throw std::invalid_argument("expected one label for each of the " + std::to_string(X.view.n_rows()) + " rows");
    }
    return labels.data();
}

py::dict projse(const py::object& X_, const py::object& Y_, const py::object& labels_, std::int64_t n_classes,
                const fastfs::projse_options& options, int n_threads, std::int64_t max_memory, py::object progress) {
    const Matrix X(X_);
    Call call(n_threads, max_memory, std::move(progress));
    if (!labels_.is_none()) {
        const auto* labels = labels_of(labels_, X);
        return to_dict(
            call([&](const fastfs::run& run) { return fastfs::projse(X.view, labels, n_classes, options, run); }));
    }
    if (!Y_.is_none()) {
        const Matrix Y(Y_);
        return to_dict(call([&](const fastfs::run& run) { return fastfs::projse(X.view, Y.view, options, run); }));
    }
    return to_dict(call([&](const fastfs::run& run) { return fastfs::projse(X.view, options, run); }));
}

py::dict projse_kernels(const Doubles& K_YY, const Doubles& K_YX, const Doubles& K_XX,
                        const fastfs::projse_options& options, int n_threads, std::int64_t max_memory) {
    if (K_YY.ndim() != 2 || K_YX.ndim() != 2 || K_XX.ndim() != 1 || K_YY.shape(0) != K_YY.shape(1) ||
        K_YX.shape(0) != K_YY.shape(0) || K_XX.shape(0) != K_YX.shape(1)) {
        throw std::invalid_argument("expected K_YY of n_y x n_y, K_YX of n_y x n_x and n_x values of K_XX");
    }
    const double *yy = K_YY.data(), *yx = K_YX.data(), *xx = K_XX.data();
    const std::int64_t n_y = K_YX.shape(0), n_x = K_YX.shape(1);
    Call call(n_threads, max_memory, py::none());
    return to_dict(
        call([&](const fastfs::run& run) { return fastfs::projse_kernels(n_y, n_x, yy, yx, xx, options, run); }));
}

void update(fastfs::projse_sums& self, const py::object& X_, const py::object& Y_, const py::object& labels_,
            int n_threads, std::int64_t max_memory, py::object progress) {
    const Matrix X(X_);
    Call call(n_threads, max_memory, std::move(progress));
    if (!labels_.is_none()) {
        const auto* labels = labels_of(labels_, X);
        call([&](const fastfs::run& run) { self.update(X.view, labels, run); });
    } else if (!Y_.is_none()) {
        const Matrix Y(Y_);
        call([&](const fastfs::run& run) { self.update(X.view, Y.view, run); });
    } else {
        call([&](const fastfs::run& run) { self.update(X.view, run); });
    }
}

}  // namespace

void bind_projse(py::module_& m) {
    m.attr("PROJSE_ALL_SAMPLES") = int{FASTFS_PROJSE_ALL_SAMPLES};
    m.attr("PROJSE_TINY") = int{FASTFS_PROJSE_TINY};
    m.attr("PROJSE_NEARLY") = int{FASTFS_PROJSE_NEARLY};
    m.attr("PROJSE_TIE") = int{FASTFS_PROJSE_TIE};

    py::class_<fastfs::projse_options>(m, "ProjseOptions")
        .def(py::init(&to_options), py::arg("kernel"), py::arg("degree"), py::arg("sigma_rule"), py::arg("sigma"),
             py::arg("center"), py::arg("normalize"), py::arg("eps"), py::arg("n_select"), py::arg("custom"),
             py::arg("from_y") = false);
    m.def("projse", &projse, py::arg("X"), py::arg("Y"), py::arg("labels"), py::arg("n_classes"), py::arg("options"),
          py::arg("n_threads"), py::arg("max_memory"), py::arg("progress"));
    m.def("projse_kernels", &projse_kernels, py::arg("K_YY").noconvert(), py::arg("K_YX").noconvert(),
          py::arg("K_XX").noconvert(), py::arg("options"), py::arg("n_threads"), py::arg("max_memory"));

    py::class_<fastfs::projse_sums>(m, "ProjseSums")
        .def(py::init([](std::int64_t n_y, std::int64_t n_x, bool two_views, std::int64_t max_memory) {
                 auto how = fastfs::default_run();
                 how.max_memory = max_memory;
                 return fastfs::projse_sums(n_y, n_x, two_views, how);
             }),
             py::arg("n_y"), py::arg("n_x"), py::arg("two_views"), py::arg("max_memory"))
        .def("update", &update, py::arg("X"), py::arg("Y"), py::arg("labels"), py::arg("n_threads"),
             py::arg("max_memory"), py::arg("progress"))
        .def("merge", &fastfs::projse_sums::merge, py::arg("other"), py::call_guard<py::gil_scoped_release>())
        .def(
            "select",
            [](const fastfs::projse_sums& self, const fastfs::projse_options& options, int n_threads,
               std::int64_t max_memory, py::object progress) {
                Call call(n_threads, max_memory, std::move(progress));
                return to_dict(call([&](const fastfs::run& run) { return self.select(options, run); }));
            },
            py::arg("options"), py::arg("n_threads"), py::arg("max_memory"), py::arg("progress"))
        .def(py::pickle(
            [](const fastfs::projse_sums& self) {
                return py::make_tuple(self.n_y(), self.n_x(), self.two_views(), to_array(self.save()));
            },
            [](const py::tuple& state) {
                fastfs::projse_sums sums(state[0].cast<std::int64_t>(), state[1].cast<std::int64_t>(),
                                         state[2].cast<bool>());
                const auto numbers = state[3].cast<py::array_t<double, py::array::c_style>>();
                sums.load(std::vector<double>(numbers.data(), numbers.data() + numbers.size()));
                return sums;
            }))
        .def_property_readonly("n_rows", &fastfs::projse_sums::n_rows)
        .def_property_readonly("n_y", &fastfs::projse_sums::n_y)
        .def_property_readonly("n_x", &fastfs::projse_sums::n_x)
        .def_property_readonly("two_views", &fastfs::projse_sums::two_views);
}

}  // namespace fastfs::bindings
