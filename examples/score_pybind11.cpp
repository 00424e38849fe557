// Scores features by DiSC, two groups of samples against each other, from a pybind11 extension.
//
//     c++ -std=c++17 -shared -fPIC score_pybind11.cpp -I INCLUDE -L LIB -lfastfs $(python -m pybind11 --includes)
//         -o score_pybind11$(python -m pybind11 --extension-suffix)
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <vector>

#include "fastfs/fastfs.hpp"

namespace py = pybind11;

using Array = py::array_t<double>;  // other dtypes are converted, other strides aren't

fastfs::matrix view(const Array& X) {
    if (X.ndim() != 2) throw std::invalid_argument("X must be a 2-D array of samples x features");
    const auto item = X.itemsize();
    return {X.data(), X.shape(0), X.shape(1), X.strides(0) / item, X.strides(1) / item};
}

py::list disc_scores(const Array& X1, const Array& X2, std::int64_t n_components) {
    // SciPy's BLAS, which Python has loaded anyway.
    py::module_::import("fastfs").attr("link_blas")();
    const fastfs::matrix views[] = {view(X1), view(X2)};
    const std::vector<fastfs::disc_set> sets{fastfs::disc_samples(views[0], n_components),
                                             fastfs::disc_samples(views[1], n_components)};
    auto options = fastfs::default_disc_options();
    options.bandwidth_neighbors = 5;
    options.n_differential = 3;  // the leading differential vectors that make the scores
    const auto fitted = [&] {
        py::gil_scoped_release released;
        return fastfs::disc(sets, options);  // std::invalid_argument becomes ValueError, std::bad_alloc MemoryError
    }();
    py::list scores;
    for (std::int64_t set = 0; set < fitted.size(); ++set) {  // its arrays live as long as `fitted`
        scores.append(py::array_t<double>(fitted[set].n_features, fitted[set].scores));
    }
    return scores;
}

PYBIND11_MODULE(score_pybind11, m) {
    m.def("disc_scores", &disc_scores, py::arg("X1"), py::arg("X2"), py::arg("n_components") = 3);
}
