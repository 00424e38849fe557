#include "run.hpp"

#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace fastfs::bindings {

// Reports progress to Python and takes its signals; returns 1, and keeps the Python error, if the call must stop.
int Call::poll(void* self, const char* step, double fraction) noexcept {
    auto& call = *static_cast<Call*>(self);
#if PY_VERSION_HEX >= 0x030D0000
    if (Py_IsFinalizing()) return 1;  // the interpreter ends: a thread that asked for the GIL now would be killed
#else
    if (_Py_IsFinalizing()) return 1;
#endif
    py::gil_scoped_acquire held;
    try {
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
        if (!call.progress_.is_none()) call.progress_(step, fraction);
        return 0;
    } catch (py::error_already_set& error) {
        call.error_.emplace(error);
        return 1;
    } catch (...) {
        return 1;
    }
}

namespace {

thread_local std::vector<fastfs::warning> warnings;  // of the last Call

// Returns the word for a kind of place in messages, as `places` has it in Python.
const char* name_of(std::int32_t kind) {
    switch (kind) {
        case FASTFS_PLACE_MATRIX:
            return "matrix";
        case FASTFS_PLACE_ROW:
            return "row";
        case FASTFS_PLACE_COLUMN:
            return "column";
        case FASTFS_PLACE_CLASS:
            return "class";
        case FASTFS_PLACE_SET:
            return "set";
        case FASTFS_PLACE_CHUNK:
            return "chunk";
        default:
            return "kernel";
    }
}

// Messages of the core with places are ASCII, so bytes are characters.
py::tuple to_tuple(const fastfs::places& where) {
    py::list places;
    for (const auto& place : where) {
        places.append(py::make_tuple(name_of(place.kind), place.number, place.begin, place.end));
    }
    return py::tuple(places);
}

// Sets type(message) with its `places` as the current Python error.
void raise(const py::handle& type, const char* message, const fastfs::places& where) {
    py::object error = type(message);
    error.attr("places") = to_tuple(where);
    py::set_error(type, error);
}

// Lists the code, the message and the places of each warning of the last Call on this thread.
py::list last_warnings() {
    py::list all;
    for (const auto& warning : warnings) {
        all.append(py::make_tuple(warning.code, warning.message, to_tuple(warning.places)));
    }
    return all;
}

}  // namespace

void Call::forget_warnings() noexcept { warnings.clear(); }

void Call::collect_warnings() {
    for (auto& warning : fastfs::last_warnings()) warnings.push_back(std::move(warning));
}

void bind_messages(py::module_& m) {
    m.def("last_warnings", &last_warnings);
    // Translates errors of this module alone, all that it throws: pybind11 has one list of translators for all modules
    // in a process, in which a translator of another package that takes any std::runtime_error would come first.
    py::register_local_exception_translator([](std::exception_ptr p) {
        try {
            if (p) std::rethrow_exception(p);
        } catch (const py::builtin_exception& e) {
            e.set_error();
        } catch (const std::bad_alloc& e) {
            py::set_error(PyExc_MemoryError, e.what());
        } catch (const fastfs::invalid_argument& e) {
            raise(PyExc_ValueError, e.what(), e.places);
        } catch (const fastfs::numeric_error& e) {
            raise(py::module_::import("numpy.linalg").attr("LinAlgError"), e.what(), e.places);
        } catch (const std::invalid_argument& e) {
            py::set_error(PyExc_ValueError, e.what());
        }
    });
}

}  // namespace fastfs::bindings
