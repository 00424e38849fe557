// The common part of the core's streams, which Dask's workers share.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "arrays.hpp"
#include "results.hpp"
#include "run.hpp"

namespace fastfs::bindings {

// A stream, with the arguments and the result of the first pass from which another process can recreate it.
struct Stream {
    py::tuple made_from;  // the arguments without the run
    py::object first;     // bytes, or None
    fastfs::stream stream;

    void update(const py::object& X_, std::int64_t first_row, const py::object& run_) {
        const Matrix X(X_);
        Call call(run_);
        call([&](const fastfs::run& run) { stream.update(X.view, first_row, run); });
    }

    // Adds a block of rows to the stream. Y and labels: None, or one per row of X.
    void update_rows(const py::object& X_, const py::object& Y_, const py::object& labels, const py::object& run_) {
        const Matrix X(X_);
        std::optional<Matrix> Y;
        if (!Y_.is_none()) Y.emplace(Y_);
        fastfs::block block = FASTFS_BLOCK_INIT;
        block.X = X.view.get();
        if (Y) block.Y = Y->view.get();
        block.labels = data_or_null<std::int64_t>(labels, "labels", {X.view.n_rows()});
        Call call(run_);
        call([&](const fastfs::run& run) { stream.update(block, run); });
    }

    void merge(const Stream& other) { stream.merge(other.stream); }

    // Ends a pass that isn't the last one. found: the state of this pass over all rows, which copies in other processes
    // need.
    void next(const py::object& run_, py::object found) {
        Call call(run_);
        call([&](const fastfs::run& run) { stream.next(run); });
        first = std::move(found);
    }

    // Returns the state of the pass, for load() here or in another process.
    py::bytes save() const {
        const std::int64_t n = stream.size();
        py::bytes found(nullptr, static_cast<std::size_t>(n));
        char* bytes = PyBytes_AS_STRING(found.ptr());
        py::gil_scoped_release released;
        stream.save(bytes, n);
        return found;
    }

    void load(const py::bytes& given) {
        const char* bytes = PyBytes_AS_STRING(given.ptr());
        const std::int64_t n = PyBytes_GET_SIZE(given.ptr());
        py::gil_scoped_release released;
        stream.load(bytes, n);
    }

    py::tuple pickled() const { return py::make_tuple(made_from, first, save()); }

    // Brings a new stream, made from the same arguments, to the state of the pickled one.
    void restore(const py::tuple& state, const py::object& run) {
        if (!state[1].is_none()) {
            load(state[1]);
            next(run, state[1]);
        }
        load(state[2]);
    }
};

// Binds the members that all streams have.
template <class Derived>
py::class_<Derived> bind_stream(py::module_& m, const char* name) {
    return py::class_<Derived>(m, name)
        .def("__copy__", [](const Derived& self) { return Derived{{self.made_from, self.first, self.stream.copy()}}; })
        .def(py::pickle([](const Derived& self) { return self.pickled(); }, &Derived::unpickled))
        .def(
            "merge", [](Derived& self, const Derived& other) { self.merge(other); }, py::arg("other"),
            py::call_guard<py::gil_scoped_release>())
        .def("save", &Derived::save)
        .def("load", &Derived::load, py::arg("found"))
        .def_property_readonly("n_rows", [](const Derived& self) { return self.stream.state().n_rows; })
        .def_property_readonly("n_cols", [](const Derived& self) { return self.stream.state().n_cols; })
        .def_property_readonly("counts", [](const Derived& self) { return to_array(self.stream.counts()); })
        .def_property_readonly("means", [](const Derived& self) {
            const fastfs::stream_state state = self.stream.state();
            return to_array(self.stream.means(), {state.n_groups, state.n_cols});
        });
}

}  // namespace fastfs::bindings
