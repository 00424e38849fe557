// The only place where Python objects become views.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fastfs/fastfs.hpp"

namespace fastfs::bindings {

namespace py = pybind11;

// Tests if the array holds native T: by equivalence, since equal dtypes can be different objects (memory maps).
template <class T>
bool holds(const py::handle& array) {
    return py::isinstance<py::array_t<T, 0>>(array);
}

// A samples x features matrix in the form that fastfs._inputs passes: a 2-D float32 or float64 ndarray with any
// strides, or a scipy.sparse CSR or CSC container of such values, or fastfs.io.Genotypes. Anything else is a TypeError:
// no silent copies. Keeps its arrays alive.
struct Matrix {
    explicit Matrix(const py::object& X);
    bool is_float32() const { return view.get()->dtype == FASTFS_FLOAT32; }
    py::dtype dtype() const { return is_float32() ? py::dtype::of<float>() : py::dtype::of<double>(); }

    py::object values, indices, indptr;
    fastfs::matrix view;
};

// Returns the values of an array of T, or null for None. TypeError if it isn't an array of T, ValueError if it has
// another shape.
template <class T>
const T* data_or_null(const py::object& given, const char* name, std::vector<py::ssize_t> shape) {
    if (given.is_none()) return nullptr;
    if (!py::isinstance<py::array_t<T, py::array::c_style>>(given)) {
        throw py::type_error(std::string(name) + " must be a contiguous array of the core's type");
    }
    const auto array = py::reinterpret_borrow<py::array>(given);
    bool fits = array.ndim() == static_cast<py::ssize_t>(shape.size());
    for (py::ssize_t k = 0; fits && k < array.ndim(); ++k) {
        fits = array.shape(k) == shape[static_cast<std::size_t>(k)];
    }
    if (!fits)
        throw std::invalid_argument(std::string(name) + " must have the shape that the options say; got another one");
    return static_cast<const T*>(array.data());
}

// Returns an array that another process has sent, with values at any address, in a form that the core can read in
// place.
template <class T>
py::array_t<T, py::array::c_style> received(const py::handle& sent) {
    return py::module_::import("numpy").attr("require")(sent, py::dtype::of<T>(), "CA");
}

// Returns the labels of n_rows rows, one per row; TypeError or ValueError otherwise.
inline const std::int64_t* labels_of(const py::object& labels, py::ssize_t n_rows) {
    if (labels.is_none()) throw py::type_error("labels must be a contiguous int64 array, not None");
    return data_or_null<std::int64_t>(labels, "labels", {n_rows});
}

}  // namespace fastfs::bindings
