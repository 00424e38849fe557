// Conversion of results to NumPy arrays.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <utility>
#include <vector>

namespace fastfs::bindings {

namespace py = pybind11;

using Shape = std::vector<py::ssize_t>;

// Copies the values to an array; returns None for a null pointer.
template <class T>
py::object to_array(const T* values, Shape shape) {
    if (values == nullptr) return py::none();
    return py::array_t<T>(std::move(shape), values);
}

template <class T>
py::object to_array(const std::vector<T>& values, Shape shape) {
    return py::array_t<T>(std::move(shape), values.data());
}

template <class T>
py::object to_array(const std::vector<T>& values) {
    return to_array(values, {static_cast<py::ssize_t>(values.size())});
}

}  // namespace fastfs::bindings
