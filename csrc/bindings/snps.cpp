#include "arrays.hpp"
#include "options.hpp"
#include "results.hpp"
#include "run.hpp"

namespace fastfs::bindings {
namespace {

py::dict snp_pairs(const py::object& X_, const py::object& labels_, const py::dict& given, const py::object& run_) {
    const Matrix X(X_);
    const auto* labels = labels_of(labels_, X.view.n_rows());
    const auto options = read_options("fastfs_snp_pairs_options", fastfs::default_snp_pairs_options(), given,
                                      {{"n_rows", X.view.n_rows()}});
    Call call(run_);
    const auto r = call([&](const fastfs::run& run) { return fastfs::snp_pairs(X.view, labels, options, run); });
    const auto n = static_cast<py::ssize_t>(r.statistics.size());
    py::dict result;
    result["pairs"] = to_array(r.pairs, {n, 2});
    result["statistics"] = to_array(r.statistics);
    result["degrees"] = to_array(r.degrees);
    result["tables"] = to_array(r.tables, {n, 3, 3, 2});
    result["pvalues"] = to_array(r.pvalues);
    result["null_maxima"] = to_array(r.null_maxima);
    result["constant"] = to_array(r.constant);
    result["n_tested"] = r.n_tested;
    return result;
}

py::dict ld_clumps(const py::object& X_, const py::object& scores_, const py::dict& given, const py::object& run_) {
    const Matrix X(X_);
    const py::ssize_t p = X.view.n_cols();
    const auto options =
        read_options("fastfs_ld_clumps_options", fastfs::default_ld_clumps_options(), given, {{"n_cols", p}});
    const auto* scores = data_or_null<double>(scores_, "scores", {p});
    Call call(run_);
    const auto r = call([&](const fastfs::run& run) { return fastfs::ld_clumps(X.view, scores, options, run); });
    py::dict result;
    result["leads"] = to_array(r.leads);
    result["clumps"] = to_array(r.clumps);
    return result;
}

}  // namespace

void bind_snps(py::module_& m) {
    m.def("snp_pairs", &snp_pairs, py::arg("X"), py::arg("labels"), py::arg("options"), py::arg("run"));
    m.def("ld_clumps", &ld_clumps, py::arg("X"), py::arg("scores"), py::arg("options"), py::arg("run"));
}

}  // namespace fastfs::bindings
