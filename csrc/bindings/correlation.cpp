#include "arrays.hpp"
#include "options.hpp"
#include "results.hpp"
#include "run.hpp"

namespace fastfs::bindings {
namespace {

using Options = fastfs_differential_correlation_options;

// features and labelings: None, or arrays that are too long or short for X only if the caller made an error.
py::dict differential_correlation(const py::object& X_, const py::object& labels_, const py::object& features,
                                  const py::object& labelings, const py::dict& given, const py::object& run_) {
    const Matrix X(X_);
    const auto* labels = labels_of(labels_, X.view.n_rows());
    auto options = read_options<Options>(
        fastfs::default_differential_correlation_options(), given,
        {{"correlation", choice(&Options::correlation, {{"pearson", FASTFS_PEARSON}, {"spearman", FASTFS_SPEARMAN}})},
         {"n_pairs", &Options::n_pairs},
         {"wholes", &Options::wholes}});
    if (!features.is_none()) {
        options.n_features = static_cast<std::int64_t>(py::len(features));
        options.features = data_or_null<std::int64_t>(features, "features", {options.n_features});
    }
    if (!labelings.is_none()) {
        options.n_labelings = static_cast<std::int64_t>(py::len(labelings));
        options.labelings = data_or_null<std::int64_t>(labelings, "labelings", {options.n_labelings, X.view.n_rows()});
    }
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
    m.def("differential_correlation", &differential_correlation, py::arg("X"), py::arg("labels"), py::arg("features"),
          py::arg("labelings"), py::arg("options"), py::arg("run"));
}

}  // namespace fastfs::bindings
