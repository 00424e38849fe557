#include <algorithm>
#include <optional>

#include "arrays.hpp"
#include "options.hpp"
#include "results.hpp"
#include "run.hpp"

namespace fastfs::bindings {
namespace {

// Returns the result as a dict with views of its arrays. other: None, or the table that is paired with X. target:
// classes if the options have n_classes, else numbers.
py::dict interaction_scan(const py::object& X_, const py::object& other_, const py::object& target,
                          const py::dict& given, const py::object& run_) {
    const Matrix X(X_);
    std::optional<Matrix> other;
    if (!other_.is_none()) other.emplace(other_);
    const std::int64_t n = X.view.n_rows();
    const auto options =
        read_options("fastfs_interaction_options", fastfs::default_interaction_options(), given, {{"n_rows", n}});
    const std::int64_t* labels = options.n_classes > 0 ? labels_of(target, n) : nullptr;
    const double* y = options.n_classes > 0 ? nullptr : data_or_null<double>(target, "y", {n});
    Call call(run_);
    const Views view(call([&](const fastfs::run& run) {
        return fastfs::interaction_scan(X.view, other ? &other->view : nullptr, labels, y, options, run);
    }));
    const fastfs::interaction_result& r = **view;
    const py::ssize_t n_pairs = r.n_pairs, n_cols = X.view.n_cols(), n_other = other ? other->view.n_cols() : 0;
    const py::ssize_t n_excluded = r.n_copies + r.n_products + r.n_explained;
    py::dict result;
    result["pairs"] = view(r.pairs, {n_pairs, 2});
    result["statistics"] = view(r.statistics, {n_pairs});
    result["effects"] = view(r.effects, {n_pairs});
    result["errors"] = view(r.errors, {n_pairs});
    result["correlations"] = view(r.correlations, {n_pairs});
    result["pvalues"] = view(r.pvalues, {options.n_labelings > 0 ? n_pairs : 0});
    result["scores"] = view(r.scores, {n_cols});
    result["other_scores"] = view(r.other_scores, {n_other});
    result["null_maxima"] = view(r.null_maxima, {options.n_labelings});
    result["constant"] = view(r.constant, {n_cols});
    result["other_constant"] = view(r.other_constant, {n_other});
    result["excluded"] = view(r.excluded, {std::min<py::ssize_t>(n_excluded, FASTFS_INTERACTION_LISTED), 2});
    result["n_tested"] = r.n_tested;
    result["n_copies"] = r.n_copies;
    result["n_products"] = r.n_products;
    result["n_explained"] = r.n_explained;
    result["degrees"] = py::make_tuple(r.degrees, r.rest_degrees);
    return result;
}

}  // namespace

void bind_interactions(py::module_& m) {
    m.def("interaction_scan", &interaction_scan, py::arg("X"), py::arg("other"), py::arg("target"), py::arg("options"),
          py::arg("run"));
}

}  // namespace fastfs::bindings
