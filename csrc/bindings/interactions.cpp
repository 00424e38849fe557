#include <optional>

#include "arrays.hpp"
#include "options.hpp"
#include "results.hpp"
#include "run.hpp"

namespace fastfs::bindings {
namespace {

// other: None, or the table that is paired with X. target: classes if the options have n_classes, else numbers.
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
    const auto r = call([&](const fastfs::run& run) {
        return fastfs::interaction_scan(X.view, other ? &other->view : nullptr, labels, y, options, run);
    });
    const auto n_pairs = static_cast<py::ssize_t>(r.statistics.size());
    py::dict result;
    result["pairs"] = to_array(r.pairs, {n_pairs, 2});
    result["statistics"] = to_array(r.statistics);
    result["effects"] = to_array(r.effects);
    result["errors"] = to_array(r.errors);
    result["pvalues"] = to_array(r.pvalues);
    result["scores"] = to_array(r.scores);
    result["other_scores"] = to_array(r.other_scores);
    result["null_maxima"] = to_array(r.null_maxima);
    result["constant"] = to_array(r.constant);
    result["other_constant"] = to_array(r.other_constant);
    result["excluded"] = to_array(r.excluded, {static_cast<py::ssize_t>(r.excluded.size()) / 2, 2});
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
