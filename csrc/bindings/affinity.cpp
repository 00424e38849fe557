#include "arrays.hpp"
#include "options.hpp"
#include "results.hpp"
#include "run.hpp"

namespace fastfs::bindings {
namespace {

// Makes options from a kernel: its name, or the address of a fastfs_tile_kernel.
fastfs::affinity_options kernel_options(const py::object& kernel, double sigma) {
    if (py::isinstance<py::int_>(kernel)) {
        return fastfs::custom(reinterpret_cast<fastfs_tile_kernel>(kernel.cast<std::uintptr_t>()), sigma);
    }
    const auto name = kernel.cast<std::string>();
    if (name == "rbf") return fastfs::rbf(sigma);
    if (name == "sqeuclidean") return fastfs::sqeuclidean();
    if (name == "linear") return fastfs::linear();
    throw std::invalid_argument("kernel must be 'rbf', 'sqeuclidean' or 'linear'; got '" + name + "'");
}

// Returns the caller's array `out`, or a new one for None; throws TypeError unless it has this dtype and shape and can
// be written.
py::array output_array(const py::object& out, const py::dtype& dtype, std::int64_t rows, std::int64_t cols) {
    if (out.is_none()) return py::array(dtype, {rows, cols});
    if (!py::isinstance<py::array>(out)) throw py::type_error("out must be an ndarray; got another object");
    auto array = py::array(out);
    if (!array.dtype().equal(dtype) || array.ndim() != 2 || array.shape(0) != rows || array.shape(1) != cols ||
        !(array.flags() & py::array::c_style) || !array.writeable() ||
        reinterpret_cast<std::uintptr_t>(array.data()) % static_cast<std::size_t>(dtype.itemsize()) != 0) {
        throw py::type_error("out must be a writeable, aligned, C-contiguous " + py::str(dtype).cast<std::string>() +
                             " array of " + std::to_string(rows) + " x " + std::to_string(cols));
    }
    return array;
}

// Returns the kernel of all pairs of features, in `out` unless it is None.
py::array affinity(const py::object& X_, const py::object& kernel, double sigma, const py::object& out_,
                   const py::object& run_) {
    const Matrix X(X_);
    const auto options = kernel_options(kernel, sigma);
    Call call(run_);
    // Before the output is allocated.
    call([&](const fastfs::run& run) {
        return fastfs::bytes_needed([&](const auto& how) { fastfs::affinity(X.view, options, nullptr, how); }, run);
    });
    auto out = output_array(out_, X.dtype(), X.view.n_cols(), X.view.n_cols());
    void* data = out.mutable_data();
    call([&](const fastfs::run& run) { fastfs::affinity(X.view, options, data, run); });
    return out;
}

// Returns K V in a new array.
template <class T>
py::array affinity_product(const Matrix& X, const fastfs::affinity_options& options,
                           const py::array_t<T, py::array::c_style>& V, Call& call) {
    if (V.ndim() != 2 || V.shape(0) != X.view.n_cols()) {
        throw std::invalid_argument("V must have one row for each of the " + std::to_string(X.view.n_cols()) +
                                    " features; got " + std::to_string(V.ndim() == 0 ? 0 : V.shape(0)));
    }
    auto out = py::array_t<T>({V.shape(0), V.shape(1)});
    const T* v = V.data();
    T* data = out.mutable_data();
    const std::int64_t p = V.shape(1);
    call([&](const fastfs::run& run) { fastfs::affinity_product(X.view, options, v, p, data, run); });
    return out;
}

// Returns K V in a new array, for an X of either dtype.
py::array affinity_product_any(const py::object& X_, const py::array& V, const py::object& kernel, double sigma,
                               const py::object& run_) {
    const Matrix X(X_);
    const auto options = kernel_options(kernel, sigma);
    Call call(run_);
    if (!V.dtype().equal(X.dtype()) || !(V.flags() & py::array::c_style)) {
        throw py::type_error("V must be a C-contiguous array with the dtype of X");
    }
    if (X.is_float32()) return affinity_product<float>(X, options, V, call);
    return affinity_product<double>(X, options, V, call);
}

}  // namespace

// Adds GramStream and the kernels between features to the module.
void bind_affinity(py::module_& m) {
    m.def("affinity", &affinity, py::arg("X"), py::arg("kernel"), py::arg("sigma"), py::arg("out"), py::arg("run"));
    m.def("affinity_product", &affinity_product_any, py::arg("X"), py::arg("V").noconvert(), py::arg("kernel"),
          py::arg("sigma"), py::arg("run"));

    // Unlike the streams of methods (bind_stream), it can't be copied or pickled.
    py::class_<fastfs::stream>(m, "GramStream")
        .def(py::init([](std::int64_t n_features, const py::object& run_) {
                 Call call(run_);
                 return call([&](const fastfs::run& run) { return fastfs::gram_stream(n_features, run); });
             }),
             py::arg("n_features"), py::arg("run"))
        .def(
            "update",
            [](fastfs::stream& self, const py::object& X_, const py::object& run_) {
                const Matrix X(X_);
                Call call(run_);
                call([&](const fastfs::run& run) { self.update(X.view, 0, run); });
            },
            py::arg("X"), py::arg("run"))
        .def("merge", &fastfs::stream::merge, py::arg("other"), py::call_guard<py::gil_scoped_release>())
        .def(
            "finish",
            [](const fastfs::stream& self, const py::object& kernel, double sigma, const py::object& run_) {
                const auto options = kernel_options(kernel, sigma);
                const auto d = self.state().n_cols;
                auto out = py::array_t<double>({d, d});
                double* data = out.mutable_data();
                Call call(run_);
                call([&](const fastfs::run& run) { fastfs::gram_stream_finish(self, options, data, run); });
                return out;
            },
            py::arg("kernel"), py::arg("sigma"), py::arg("run"))
        .def_property_readonly("n_rows", [](const fastfs::stream& self) { return self.state().n_rows; })
        .def_property_readonly("n_cols", [](const fastfs::stream& self) { return self.state().n_cols; });
}

}  // namespace fastfs::bindings
