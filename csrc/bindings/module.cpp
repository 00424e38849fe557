// The module _core: a list of the functions that it binds.
#include <pybind11/pybind11.h>

#include "run.hpp"

namespace fastfs::bindings {

// Each adds the functions and classes of its area to the module.
void bind_machine(py::module_& m);
void bind_affinity(py::module_& m);
void bind_spectral(py::module_& m);
void bind_manifest(py::module_& m);
void bind_projse(py::module_& m);
void bind_margin(py::module_& m);
void bind_disc(py::module_& m);
void bind_ikdr(py::module_& m);
void bind_correlation(py::module_& m);
void bind_interactions(py::module_& m);
void bind_snps(py::module_& m);
void bind_inference(py::module_& m);

// Makes the module fastfs._core, part by part.
PYBIND11_MODULE(_core, m) {
    m.doc() = "The compiled core of fastfs: convert, allocate, release the GIL, one call, return.";
    bind_messages(m);
    bind_machine(m);
    bind_affinity(m);
    bind_spectral(m);
    bind_manifest(m);
    bind_projse(m);
    bind_margin(m);
    bind_disc(m);
    bind_ikdr(m);
    bind_correlation(m);
    bind_interactions(m);
    bind_snps(m);
    bind_inference(m);
}

}  // namespace fastfs::bindings
