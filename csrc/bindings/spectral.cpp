#include "arrays.hpp"
#include "options.hpp"
#include "results.hpp"
#include "run.hpp"

namespace fastfs::bindings {
namespace {

// A square matrix in Fortran order, which calls overwrite: the Python side passes a fresh copy.
using Square = py::array_t<double, py::array::f_style>;

std::int64_t size_of(const Square& A) {
    if (A.ndim() != 2 || A.shape(0) != A.shape(1))
        throw std::invalid_argument("a matrix must be square; got another shape");
    return A.shape(0);
}

// Returns the eigenvalues of A, ascending, and its eigenvectors, which overwrite A.
py::tuple eigh(Square A, const py::object& run_) {
    const auto n = size_of(A);
    py::array_t<double> w(n);
    double *a = A.mutable_data(), *values = w.mutable_data();
    Call call(run_);
    call([&](const fastfs::run& run) { fastfs::eigh(n, a, values, run); });
    return py::make_tuple(w, A);
}

// Returns the eigenvalues, the eigenvectors, which overwrite K1, and the rank of the pencil of K1 and K2.
py::tuple pencil(Square K1, Square K2, const py::object& run_) {
    const auto n = size_of(K1);
    if (size_of(K2) != n) throw std::invalid_argument("K1 and K2 must have the same size");
    py::array_t<double> nu(n);
    double *k1 = K1.mutable_data(), *values = nu.mutable_data();
    const double* k2 = K2.data();
    Call call(run_);
    const auto rank = call([&](const fastfs::run& run) { return fastfs::pencil(n, k1, k2, values, run); });
    return py::make_tuple(nu, K1, rank);
}

}  // namespace

void bind_spectral(py::module_& m) {
    m.def("eigh", &eigh, py::arg("A").noconvert(), py::arg("run"));
    m.def("pencil", &pencil, py::arg("K1").noconvert(), py::arg("K2").noconvert(), py::arg("run"));
}

}  // namespace fastfs::bindings
