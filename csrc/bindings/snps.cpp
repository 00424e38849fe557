#include "arrays.hpp"
#include "options.hpp"
#include "results.hpp"
#include "run.hpp"

namespace fastfs::bindings {
namespace {

// snps and labelings: None, or arrays that are too long or short for X only if the caller made an error.
py::dict snp_pairs(const py::object& X_, const py::object& labels_, const py::object& snps, const py::object& labelings,
                   const py::dict& given, const py::object& run_) {
    const Matrix X(X_);
    const auto* labels = labels_of(labels_, X.view.n_rows());
    auto options = read_options<fastfs_snp_pairs_options>(fastfs::default_snp_pairs_options(), given,
                                                          {{"n_pairs", &fastfs_snp_pairs_options::n_pairs}});
    if (!snps.is_none()) {
        options.n_snps = static_cast<std::int64_t>(py::len(snps));
        options.snps = data_or_null<std::int64_t>(snps, "snps", {options.n_snps});
    }
    if (!labelings.is_none()) {
        options.n_labelings = static_cast<std::int64_t>(py::len(labelings));
        options.labelings = data_or_null<std::int64_t>(labelings, "labelings", {options.n_labelings, X.view.n_rows()});
    }
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

// chromosomes: numbers, or None.
py::dict ld_clumps(const py::object& X_, const py::object& scores_, const py::object& positions,
                   const py::object& chromosomes, const py::dict& given, const py::object& run_) {
    using Options = fastfs_ld_clumps_options;
    const Matrix X(X_);
    const py::ssize_t p = X.view.n_cols();
    auto options =
        read_options<Options>(fastfs::default_ld_clumps_options(), given,
                              {{"r2", &Options::r2}, {"window", &Options::window}, {"n_clumps", &Options::n_clumps}});
    const auto* scores = data_or_null<double>(scores_, "scores", {p});
    options.positions = data_or_null<std::int64_t>(positions, "positions", {p});
    options.chromosomes = data_or_null<std::int64_t>(chromosomes, "chromosomes", {p});
    Call call(run_);
    const auto r = call([&](const fastfs::run& run) { return fastfs::ld_clumps(X.view, scores, options, run); });
    py::dict result;
    result["leads"] = to_array(r.leads);
    result["clumps"] = to_array(r.clumps);
    return result;
}

}  // namespace

void bind_snps(py::module_& m) {
    m.def("snp_pairs", &snp_pairs, py::arg("X"), py::arg("labels"), py::arg("snps"), py::arg("labelings"),
          py::arg("options"), py::arg("run"));
    m.def("ld_clumps", &ld_clumps, py::arg("X"), py::arg("scores"), py::arg("positions"), py::arg("chromosomes"),
          py::arg("options"), py::arg("run"));
}

}  // namespace fastfs::bindings
