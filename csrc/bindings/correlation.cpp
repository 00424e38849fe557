#include "arrays.hpp"
#include "options.hpp"
#include "results.hpp"
#include "run.hpp"

namespace fastfs::bindings {
namespace {

py::dict differential_correlation(const py::object& X_, const py::object& labels_, const py::dict& given,
                                  const py::object& run_) {
    const Matrix X(X_);
    const auto* labels = labels_of(labels_, X.view.n_rows());
    const auto options =
        read_options("fastfs_differential_correlation_options", fastfs::default_differential_correlation_options(),
                     given, {{"n_rows", X.view.n_rows()}});
    Call call(run_);
    const auto r =
        call([&](const fastfs::run& run) { return fastfs::differential_correlation(X.view, labels, options, run); });
    const auto n = static_cast<py::ssize_t>(r.z.size());
    py::dict result;
    result["pairs"] = to_array(r.pairs, {n, 2});
    result["correlations"] = to_array(r.correlations, {n, 2});
    result["z"] = to_array(r.z);
    result["pvalues"] = to_array(r.pvalues);
    result["scores"] = to_array(r.scores);
    result["null_maxima"] = to_array(r.null_maxima);
    result["constant"] = to_array(r.constant);
    result["rare"] = to_array(r.rare);
    result["copies"] = to_array(r.copies, {static_cast<py::ssize_t>(r.copies.size()) / 2, 2});
    result["n_copies"] = r.n_copies;
    return result;
}

}  // namespace

void bind_correlation(py::module_& m) {
    m.def("differential_correlation", &differential_correlation, py::arg("X"), py::arg("labels"), py::arg("options"),
          py::arg("run"));
}

}  // namespace fastfs::bindings
