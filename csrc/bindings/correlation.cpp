#include <algorithm>

#include "arrays.hpp"
#include "options.hpp"
#include "results.hpp"
#include "run.hpp"

namespace fastfs::bindings {
namespace {

// Returns the result as a dict with views of its arrays.
py::dict differential_correlation(const py::object& X_, const py::object& labels_, const py::dict& given,
                                  const py::object& run_) {
    const Matrix X(X_);
    const auto* labels = labels_of(labels_, X.view.n_rows());
    const auto options =
        read_options("fastfs_differential_correlation_options", fastfs::default_differential_correlation_options(),
                     given, {{"n_rows", X.view.n_rows()}});
    Call call(run_);
    const Views view(
        call([&](const fastfs::run& run) { return fastfs::differential_correlation(X.view, labels, options, run); }));
    const fastfs::differential_correlation_result& r = **view;
    const py::ssize_t n = r.n_pairs, n_cols = X.view.n_cols();
    py::dict result;
    result["pairs"] = view(r.pairs, {n, 2});
    result["correlations"] = view(r.correlations, {n, std::max<py::ssize_t>(options.n_classes, 2)});
    result["z"] = view(r.z, {n});
    result["pvalues"] = view(r.pvalues, {options.n_labelings > 0 ? n : 0});
    result["scores"] = view(r.scores, {n_cols});
    result["null_maxima"] = view(r.null_maxima, {options.n_labelings});
    result["constant"] = view(r.constant, {n_cols});
    result["rare"] = view(r.rare, {n_cols});
    result["copies"] = view(r.copies, {std::min<py::ssize_t>(r.n_copies, FASTFS_CORRELATION_LISTED), 2});
    result["n_copies"] = r.n_copies;
    result["error"] = r.error;
    return result;
}

}  // namespace

void bind_correlation(py::module_& m) {
    m.def("differential_correlation", &differential_correlation, py::arg("X"), py::arg("labels"), py::arg("options"),
          py::arg("run"));
}

}  // namespace fastfs::bindings
