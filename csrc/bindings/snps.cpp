#include <algorithm>

#include "arrays.hpp"
#include "options.hpp"
#include "results.hpp"
#include "run.hpp"

namespace fastfs::bindings {
namespace {

// Returns the fields of fastfs_snp_pairs_result as a dict, with arrays that keep the result alive. labels: the class of
// each sample, or None with the numbers y of the options.
py::dict snp_pairs(const py::object& X_, const py::object& labels_, const py::dict& given, const py::object& run_) {
    const Matrix X(X_);
    const auto* labels = labels_.is_none() ? nullptr : labels_of(labels_, X.view.n_rows());
    const auto options = read_options("fastfs_snp_pairs_options", fastfs::default_snp_pairs_options(), given,
                                      {{"n_rows", X.view.n_rows()}});
    Call call(run_);
    const Views view(call([&](const fastfs::run& run) { return fastfs::snp_pairs(X.view, labels, options, run); }));
    const fastfs::snp_pairs_result& r = **view;
    const py::ssize_t n = r.n_pairs;
    py::dict result;
    result["pairs"] = view(r.pairs, {n, 2});
    result["statistics"] = view(r.statistics, {n});
    result["degrees"] = view(r.degrees, {n});
    if (labels) {
        result["tables"] = view(r.tables, {n, 3, 3, 2});
    } else {
        const py::ssize_t n_excluded = r.n_products + r.n_few + r.n_explained;
        result["tables"] = view(r.cells, {n, 3, 3, 2});
        result["rest_degrees"] = view(r.rest_degrees, {n});
        result["scores"] = view(r.scores, {X.view.n_cols()});
        result["n_products"] = r.n_products;
        result["n_few"] = r.n_few;
        result["n_explained"] = r.n_explained;
        result["excluded"] = view(r.excluded, {std::min<py::ssize_t>(n_excluded, FASTFS_INTERACTION_LISTED), 2});
    }
    result["pvalues"] = view(r.pvalues, {options.n_labelings > 0 ? n : 0});
    result["null_maxima"] = view(r.null_maxima, {options.n_labelings});
    result["constant"] = view(r.constant, {X.view.n_cols()});
    result["n_tested"] = r.n_tested;
    return result;
}

// Returns the fields of fastfs_ld_clumps_result as a dict, with arrays that keep the result alive.
py::dict ld_clumps(const py::object& X_, const py::object& scores_, const py::dict& given, const py::object& run_) {
    const Matrix X(X_);
    const py::ssize_t p = X.view.n_cols();
    const auto options =
        read_options("fastfs_ld_clumps_options", fastfs::default_ld_clumps_options(), given, {{"n_cols", p}});
    const auto* scores = data_or_null<double>(scores_, "scores", {p});
    Call call(run_);
    const Views view(call([&](const fastfs::run& run) { return fastfs::ld_clumps(X.view, scores, options, run); }));
    const fastfs::ld_clumps_result& r = **view;
    py::dict result;
    result["leads"] = view(r.leads, {r.n_clumps});
    result["clumps"] = view(r.clumps, {p});
    return result;
}

}  // namespace

void bind_snps(py::module_& m) {
    m.def("snp_pairs", &snp_pairs, py::arg("X"), py::arg("labels"), py::arg("options"), py::arg("run"));
    m.def("ld_clumps", &ld_clumps, py::arg("X"), py::arg("scores"), py::arg("options"), py::arg("run"));
}

}  // namespace fastfs::bindings
