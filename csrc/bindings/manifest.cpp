#include "arrays.hpp"

namespace fastfs::bindings {
namespace {

py::array_t<double> to_array(const std::vector<double>& values) {
    return py::array_t<double>(static_cast<py::ssize_t>(values.size()), values.data());
}

// Column-major (d, k)
py::array_t<double, py::array::f_style> to_columns(const std::vector<double>& values, std::int64_t d, std::int64_t k) {
    return py::array_t<double, py::array::f_style>({d, k}, values.data());
}

py::dict manifest(const py::object& X_, const py::array_t<std::int64_t, py::array::c_style>& labels,
                  const std::string& sigma_rule, double sigma_factor, double sigma_percentile,
                  const std::pair<double, double>& sigma, int normalize, std::int64_t n_components, int n_threads,
                  std::int64_t max_memory, py::object progress) {
    const Matrix X(X_);
    if (labels.ndim() != 1 || labels.shape(0) != X.view.n_rows()) {
        throw std::invalid_argument("expected one label for each of the " + std::to_string(X.view.n_rows()) + " rows");
    }
    auto options = fastfs::default_manifest_options();
    options.sigma_rule = sigma_rule == "median"       ? FASTFS_SIGMA_MEDIAN
                         : sigma_rule == "percentile" ? FASTFS_SIGMA_PERCENTILE
                                                      : FASTFS_SIGMA_GIVEN;
    options.sigma_factor = sigma_factor;
    options.sigma_percentile = sigma_percentile;
    options.sigma[0] = sigma.first;
    options.sigma[1] = sigma.second;
    options.normalize = normalize;

    const auto* y = labels.data();
    Call call(n_threads, max_memory, std::move(progress));
    const auto r =
        call([&](const fastfs::run& run) { return fastfs::manifest(X.view, y, options, n_components, run); });

    const auto d = X.view.n_cols();
    py::dict result;
    result["scores"] = to_array(r.scores);
    result["sigma"] = to_array({r.sigma[0], r.sigma[1]});
    result["rank"] = r.rank;
    result["warnings"] = r.warnings;
    result["mean_values"] = to_array(r.mean_values);
    result["mean_vectors"] = to_columns(r.mean_vectors, d, n_components);
    result["difference_values"] = to_array(r.difference_values);
    result["difference_vectors"] = to_columns(r.difference_vectors, d, n_components);
    return result;
}

}  // namespace

void bind_manifest(py::module_& m) {
    m.attr("WARN_SIGMA") = py::make_tuple(int{FASTFS_WARN_SIGMA_0}, int{FASTFS_WARN_SIGMA_1});
    m.attr("WARN_ONE_SAMPLE") = py::make_tuple(int{FASTFS_WARN_ONE_SAMPLE_0}, int{FASTFS_WARN_ONE_SAMPLE_1});
    m.attr("WARN_NO_CONTRAST") = int{FASTFS_WARN_NO_CONTRAST};
    m.def("manifest", &manifest, py::arg("X"), py::arg("labels").noconvert(), py::arg("sigma_rule"),
          py::arg("sigma_factor"), py::arg("sigma_percentile"), py::arg("sigma"), py::arg("normalize"),
          py::arg("n_components"), py::arg("n_threads"), py::arg("max_memory"), py::arg("progress"));
}

}  // namespace fastfs::bindings
