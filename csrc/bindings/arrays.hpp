// The only place where Python objects become views, and where a call gets its threads, memory and progress.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fastfs/fastfs.hpp"

namespace fastfs::bindings {

namespace py = pybind11;

// Whether the array holds native T: by equivalence, since equal dtypes may be different objects (memory maps).
template <class T>
bool holds(const py::handle& array) {
    return py::isinstance<py::array_t<T, 0>>(array);
}

// A samples x features matrix as fastfs._base hands it over: a 2-D float32 or float64 ndarray with any strides, or a
// scipy.sparse CSR or CSC container of such values. Anything else is a TypeError: no silent copies. Keeps its arrays
// alive.
struct Matrix {
    explicit Matrix(const py::object& X);
    bool is_float32() const { return view.get()->dtype == FASTFS_FLOAT32; }
    py::dtype dtype() const { return is_float32() ? py::dtype::of<float>() : py::dtype::of<double>(); }

    py::object values, indices, indptr;
    fastfs::matrix view;
};

// The number of an option of this name.
inline int choose(const std::string& name, std::initializer_list<const char*> names) {
    int index = 0;
    for (const char* known : names) {
        if (name == known) return index;
        ++index;
    }
    throw std::invalid_argument("there is no option '" + name + "'");
}

// An array of the right kind, or null for None. TypeError if it isn't one of T, ValueError if it has another shape.
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
    if (!fits) throw std::invalid_argument(std::string(name) + " has another shape than expected");
    return static_cast<const T*>(array.data());
}

template <class T>
py::array_t<T> to_array(const std::vector<T>& values, std::vector<py::ssize_t> shape) {
    return py::array_t<T>(std::move(shape), values.data());
}

template <class T>
py::array_t<T> to_array(const std::vector<T>& values) {
    return to_array(values, {static_cast<py::ssize_t>(values.size())});
}

// Runs f(run) with the GIL released; Ctrl-C and the progress callable are served from the calling thread meanwhile.
class Call {
  public:
    Call(int n_threads, std::int64_t max_memory, py::object progress)
        : progress_(std::move(progress)), run_{sizeof(fastfs_run), n_threads, max_memory, &Call::poll, this, nullptr} {}

    template <class F>
    auto operator()(F&& f) {
        try {
            py::gil_scoped_release released;
            return f(static_cast<const fastfs::run&>(run_));
        } catch (const fastfs::canceled&) {
            if (error_) throw std::move(*error_);
            throw;
        }
    }

  private:
    static int poll(void* self, const char* step, double fraction) noexcept;

    py::object progress_;
    fastfs::run run_;
    std::optional<py::error_already_set> error_;
};

void bind_blas(py::module_& m);
void bind_affinity(py::module_& m);
void bind_spectral(py::module_& m);
void bind_manifest(py::module_& m);
void bind_projse(py::module_& m);
void bind_margin(py::module_& m);
void bind_disc(py::module_& m);
void bind_ikdr(py::module_& m);

}  // namespace fastfs::bindings
