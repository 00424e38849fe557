#include <string>

#include "arrays.hpp"
#include "fastfs/testing.h"
#include "options.hpp"

namespace fastfs::bindings {

void bind_blas(py::module_& m);

namespace {

// Returns version, instruction set, threads and memory budget as a dict.
py::dict info() {
    const char* isa = fastfs_isa();
    if (isa == nullptr) throw std::invalid_argument(fastfs_last_error());
    const fastfs::limits limits = fastfs::run_limits();
    py::dict result;
    result["version"] = fastfs_version();
    result["isa"] = isa;
    result["n_threads"] = limits.n_threads;
    result["max_memory"] = limits.max_memory;
    return result;
}

double exp_seconds(const std::string& dtype, std::int64_t n, int repeats) {
    double seconds = 0;
    fastfs::check(fastfs_exp_seconds(dtype == "float32" ? FASTFS_FLOAT32 : FASTFS_FLOAT64, n, repeats, &seconds));
    return seconds;
}

}  // namespace

// Adds info, checks, timings, the tables of options and the registration of BLAS to the module.
void bind_machine(py::module_& m) {
    m.def("info", &info);
    m.def(
        "check_matrix", [](const py::object& X) { fastfs::check(fastfs_check_matrix(Matrix(X).view.get())); },
        py::arg("X"));
    m.def("exp_seconds", &exp_seconds, py::arg("dtype"), py::arg("n"), py::arg("repeats"));
    bind_fields(m);
    bind_blas(m);
}

}  // namespace fastfs::bindings
