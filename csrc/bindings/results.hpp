// Results as NumPy arrays.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "fastfs/fastfs.hpp"

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

// Results, and their arrays as NumPy arrays without a copy, which keep them alive.
template <class Result>
class Views {
  public:
    explicit Views(fastfs::fitted<Result>&& fitted) : fitted_(new fastfs::fitted<Result>(std::move(fitted))) {
        owner_ = py::capsule(fitted_, [](void* given) { delete static_cast<fastfs::fitted<Result>*>(given); });
    }
    const fastfs::fitted<Result>& operator*() const { return *fitted_; }

    // Returns None if there should be values, but the pointer is null.
    template <class T>
    py::object operator()(T* values, const Shape& shape) const {
        const bool is_empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
        if (values == nullptr && !is_empty) return py::none();
        return py::array_t<T>(shape, values, owner_);
    }

  private:
    const fastfs::fitted<Result>* fitted_;
    py::capsule owner_;
};

}  // namespace fastfs::bindings
