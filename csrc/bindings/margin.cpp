#include "arrays.hpp"

namespace fastfs::bindings {
namespace {

using Labels = py::array_t<std::int64_t, py::array::c_style>;
using Doubles = py::array_t<double, py::array::c_style>;

py::ssize_t length(const py::object& given) { return static_cast<py::ssize_t>(py::len(given)); }

// What IM4E or IMMIGRATE found, of all columns of X: w, or the factors of W. Keeps its arrays.
struct Metric {
    Metric(double sigma, py::object weights_, py::object values_, py::object vectors_)
        : weights(std::move(weights_)), values(std::move(values_)), vectors(std::move(vectors_)) {
        view.sigma = sigma;
        if (!weights.is_none()) {
            view.n_features = length(weights);
            view.weights = data_or_null<double>(weights, "weights", {view.n_features});
        } else {
            view.rank = length(values);
            view.n_features = vectors.attr("shape").attr("__getitem__")(-1).cast<std::int64_t>();
            view.values = data_or_null<double>(values, "values", {view.rank});
            view.vectors = data_or_null<double>(vectors, "vectors", {view.rank, view.n_features});
        }
    }

    py::object weights, values, vectors;
    fastfs::margin_metric view = fastfs::default_margin_metric();
};

// The label-free stage; keeps the arrays of X alive.
class Margin {
  public:
    Margin(const py::object& X, const std::string& scaling, const std::string& keep, int n_threads,
           std::int64_t max_memory, py::object progress)
        : X_(X) {
        const int scale = choose(scaling, {"none", "range", "standard"});
        const int kept = choose(keep, {"none", "manhattan", "sqeuclidean"});
        Call call(n_threads, max_memory, std::move(progress));
        margin_ =
            call([&](const fastfs::run& run) { return std::make_unique<fastfs::margin>(X_.view, scale, kept, run); });
    }

    py::tuple scaling() const {
        py::array_t<double> shift(X_.view.n_cols()), factor(X_.view.n_cols());
        margin_->scaling(shift.mutable_data(), factor.mutable_data());
        return py::make_tuple(shift, factor);
    }

    py::dict relief(const py::object& labels, std::int64_t n_classes, const std::string& method, bool closed_form,
                    std::int64_t n_neighbors, std::int64_t n_targets, std::uint64_t seed, int n_threads,
                    std::int64_t max_memory, py::object progress) const {
        const auto* y = labels_of(labels);
        auto options = fastfs::default_relief_options();
        options.method = choose(method, {"relief", "relieff", "multisurf"});
        options.closed_form = closed_form;
        options.n_neighbors = n_neighbors;
        options.n_targets = n_targets;
        options.seed = seed;
        Call call(n_threads, max_memory, std::move(progress));
        const auto r = call([&](const fastfs::run& run) { return margin_->relief(y, n_classes, options, run); });
        py::dict result;
        result["scores"] = to_array(r.scores);
        result["warnings"] = r.warnings;
        result["stored"] = r.stored;
        return result;
    }

    py::dict im4e(const py::object& labels, std::int64_t n_classes, const std::string& sigma_rule, double sigma,
                  int max_iter, double tol, const py::object& class_factors, int n_threads, std::int64_t max_memory,
                  py::object progress) const {
        const auto* y = labels_of(labels);
        auto options = fastfs::default_im4e_options();
        options.sigma = sigma;
        options.sigma_rule = choose(sigma_rule, {"given", "nearest"});
        options.max_iter = max_iter;
        options.tol = tol;
        options.class_factors = data_or_null<double>(class_factors, "class_factors", {n_classes});
        Call call(n_threads, max_memory, std::move(progress));
        const auto r = call([&](const fastfs::run& run) { return margin_->im4e(y, n_classes, options, run); });
        py::dict result;
        result["weights"] = to_array(r.weights);
        add_iteration(result, r);
        return result;
    }

    py::dict immigrate(const py::object& labels, std::int64_t n_classes, const std::string& sigma_rule, double sigma,
                       int max_iter, double tol, bool clip, double smallest, double negligible,
                       const py::object& features, const py::object& start, const py::object& start_matrix,
                       int n_threads, std::int64_t max_memory, py::object progress) const {
        const auto* y = labels_of(labels);
        const py::ssize_t n = features.is_none() ? X_.view.n_cols() : length(features);
        auto options = fastfs::default_immigrate_options();
        options.sigma = sigma;
        options.sigma_rule = choose(sigma_rule, {"given", "nearest"});
        options.max_iter = max_iter;
        options.tol = tol;
        options.clip = clip;
        options.smallest = smallest;
        options.negligible = negligible;
        options.features = data_or_null<std::int64_t>(features, "features", {n});
        options.n_features = features.is_none() ? 0 : n;
        options.start = data_or_null<double>(start, "start", {n});
        options.start_matrix = data_or_null<double>(start_matrix, "start_matrix", {n, n});
        Call call(n_threads, max_memory, std::move(progress));
        const auto r = call([&](const fastfs::run& run) { return margin_->immigrate(y, n_classes, options, run); });
        const auto kept = static_cast<py::ssize_t>(r.features.size()), rank = static_cast<py::ssize_t>(r.values.size());
        py::dict result;
        result["features"] = to_array(r.features);
        result["values"] = to_array(r.values);
        result["vectors"] = to_array(r.vectors, {rank, kept});
        result["W"] = r.W.empty() ? py::object(py::none()) : py::object(to_array(r.W, {kept, kept}));
        result["scores"] = to_array(r.scores);
        add_iteration(result, r);
        return result;
    }

    py::array_t<double> distances(const py::object& labels, std::int64_t n_classes, const Metric& metric,
                                  const py::object& samples, int n_threads, std::int64_t max_memory,
                                  py::object progress) const {
        const auto* y = labels_of(labels);
        require_width(metric);
        const Matrix X(samples);
        py::array_t<double> out({static_cast<py::ssize_t>(X.view.n_rows()), static_cast<py::ssize_t>(n_classes)});
        auto* values = out.mutable_data();
        Call call(n_threads, max_memory, std::move(progress));
        call([&](const fastfs::run& run) { margin_->distances(y, n_classes, metric.view, X.view, values, run); });
        return out;
    }

    py::array_t<double> explain(const py::object& labels, std::int64_t n_classes, const Metric& metric,
                                const py::object& samples, const py::object& wanted, int n_threads,
                                std::int64_t max_memory, py::object progress) const {
        const auto* y = labels_of(labels);
        require_width(metric);
        const Matrix X(samples);
        const py::ssize_t rows = X.view.n_rows(), n = metric.view.n_features;
        const auto* classes = data_or_null<std::int64_t>(wanted, "wanted", {rows});
        py::array_t<double> out(metric.view.weights ? std::vector<py::ssize_t>{rows, n}
                                                    : std::vector<py::ssize_t>{rows, n, n});
        auto* values = out.mutable_data();
        Call call(n_threads, max_memory, std::move(progress));
        call(
            [&](const fastfs::run& run) { margin_->explain(y, n_classes, metric.view, X.view, classes, values, run); });
        return out;
    }

  private:
    void require_width(const Metric& metric) const {
        if (metric.view.n_features == X_.view.n_cols()) return;
        throw std::invalid_argument("the metric is of " + std::to_string(metric.view.n_features) +
                                    " features, but X has " + std::to_string(X_.view.n_cols()));
    }

    const std::int64_t* labels_of(const py::object& labels) const {
        if (!py::isinstance<Labels>(labels)) throw py::type_error("labels must be a contiguous int64 array");
        return data_or_null<std::int64_t>(labels, "labels", {static_cast<py::ssize_t>(X_.view.n_rows())});
    }

    template <class Result>
    static void add_iteration(py::dict& result, const Result& r) {
        result["cost"] = to_array(r.cost);
        result["objective"] = to_array(r.objective);
        result["sigma"] = r.sigma;
        result["converged"] = r.converged;
        result["warnings"] = r.warnings;
        result["stored"] = r.stored;
    }

    Matrix X_;
    std::unique_ptr<fastfs::margin> margin_;
};

py::tuple immigrate_pairs(const Doubles& values, const Doubles& vectors, bool without_leading, std::int64_t n_pairs,
                          int n_threads, std::int64_t max_memory) {
    if (values.ndim() != 1 || vectors.ndim() != 2 || vectors.shape(0) != values.shape(0)) {
        throw std::invalid_argument("expected rank values and vectors of rank x n_features");
    }
    const std::int64_t rank = vectors.shape(0), n = vectors.shape(1);
    const double *lambda = values.data(), *V = vectors.data();
    if (n_pairs < 0) throw std::invalid_argument("n_pairs must not be negative, but is " + std::to_string(n_pairs));
    const std::int64_t all = n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n;
    const auto most = static_cast<std::size_t>(n_pairs < all ? n_pairs : all);
    std::vector<std::int64_t> a(most + 1), b(most + 1);  // one more: pointers to arrays even of none
    std::vector<double> weights(most + 1);
    Call call(n_threads, max_memory, py::none());
    const auto found = call([&](const fastfs::run& run) {
        return fastfs::immigrate_pairs(n, rank, lambda, V, without_leading, static_cast<std::int64_t>(most), a.data(),
                                       b.data(), weights.data(), run);
    });
    const std::vector<py::ssize_t> shape{static_cast<py::ssize_t>(found)};
    return py::make_tuple(to_array(a, shape), to_array(b, shape), to_array(weights, shape));
}

}  // namespace

void bind_margin(py::module_& m) {
    m.attr("MARGIN_ONE_SAMPLE") = int{FASTFS_MARGIN_ONE_SAMPLE};
    m.attr("MARGIN_FEW_NEIGHBORS") = int{FASTFS_MARGIN_FEW_NEIGHBORS};
    m.attr("MARGIN_NO_WEIGHT") = int{FASTFS_MARGIN_NO_WEIGHT};
    m.attr("MARGIN_UNEVEN") = int{FASTFS_MARGIN_UNEVEN};
    m.attr("MARGIN_NO_NEIGHBORS") = int{FASTFS_MARGIN_NO_NEIGHBORS};

    py::class_<Metric>(m, "MarginMetric")
        .def(py::init<double, py::object, py::object, py::object>(), py::arg("sigma"), py::arg("weights"),
             py::arg("values"), py::arg("vectors"))
        .def_property_readonly("is_matrix", [](const Metric& self) { return self.view.weights == nullptr; });
    py::class_<Margin>(m, "Margin")
        .def(py::init<const py::object&, const std::string&, const std::string&, int, std::int64_t, py::object>(),
             py::arg("X"), py::arg("scaling"), py::arg("keep"), py::arg("n_threads"), py::arg("max_memory"),
             py::arg("progress"))
        .def("scaling", &Margin::scaling)
        .def("relief", &Margin::relief, py::arg("labels"), py::arg("n_classes"), py::arg("method"),
             py::arg("closed_form"), py::arg("n_neighbors"), py::arg("n_targets"), py::arg("seed"),
             py::arg("n_threads"), py::arg("max_memory"), py::arg("progress"))
        .def("im4e", &Margin::im4e, py::arg("labels"), py::arg("n_classes"), py::arg("sigma_rule"), py::arg("sigma"),
             py::arg("max_iter"), py::arg("tol"), py::arg("class_factors"), py::arg("n_threads"), py::arg("max_memory"),
             py::arg("progress"))
        .def("immigrate", &Margin::immigrate, py::arg("labels"), py::arg("n_classes"), py::arg("sigma_rule"),
             py::arg("sigma"), py::arg("max_iter"), py::arg("tol"), py::arg("clip"), py::arg("smallest"),
             py::arg("negligible"), py::arg("features"), py::arg("start"), py::arg("start_matrix"),
             py::arg("n_threads"), py::arg("max_memory"), py::arg("progress"))
        .def("distances", &Margin::distances, py::arg("labels"), py::arg("n_classes"), py::arg("metric"), py::arg("X"),
             py::arg("n_threads"), py::arg("max_memory"), py::arg("progress"))
        .def("explain", &Margin::explain, py::arg("labels"), py::arg("n_classes"), py::arg("metric"), py::arg("X"),
             py::arg("wanted"), py::arg("n_threads"), py::arg("max_memory"), py::arg("progress"));
    m.def("immigrate_pairs", &immigrate_pairs, py::arg("values").noconvert(), py::arg("vectors").noconvert(),
          py::arg("without_leading"), py::arg("n_pairs"), py::arg("n_threads"), py::arg("max_memory"));
}

}  // namespace fastfs::bindings
