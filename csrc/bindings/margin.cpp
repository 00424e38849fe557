#include "arrays.hpp"
#include "options.hpp"
#include "results.hpp"
#include "run.hpp"
#include "streams.hpp"

namespace fastfs::bindings {
namespace {

using Doubles = py::array_t<double, py::array::c_style>;
using Labels = py::array_t<std::int64_t, py::array::c_style>;

py::ssize_t length(const py::object& given) { return static_cast<py::ssize_t>(py::len(given)); }

// The result of IM4E or IMMIGRATE for all columns of X: w, or the factors of W. Keeps its arrays alive.
struct Metric {
    // Views the weights, or else the values and vectors, which this object keeps alive.
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

// Reads the options of a call with n rows.
fastfs_relief_options read_relief_options(const py::dict& given, py::ssize_t n, std::int64_t n_classes) {
    return read_options("fastfs_relief_options", fastfs::default_relief_options(), given,
                        {{"n_rows", n}, {"n_classes", static_cast<py::ssize_t>(n_classes)}});
}

// Returns the result as a dict with views of its arrays.
py::dict to_dict(fastfs::fitted<fastfs::relief_result>&& fitted, py::ssize_t n_cols) {
    const Views view(std::move(fitted));
    const fastfs::relief_result& r = **view;
    py::dict result;
    result["scores"] = view(r.scores, {n_cols});
    result["scores_se"] = view(r.scores_se, {n_cols});
    result["stored"] = r.stored != 0;
    result["n_alone"] = r.n_alone;
    result["n_apart"] = r.n_apart;
    return result;
}

struct ReliefStream : Stream {
    // Makes a stream, and keeps the arguments for pickling.
    static ReliefStream make(const Labels& labels, std::int64_t n_classes, std::int64_t n_cols,
                             const std::string& scaling, const py::dict& given, const py::object& run_) {
        const auto options = read_relief_options(given, labels.size(), n_classes);
        const int scale = choose("scaling", scaling, words_of(field_of("fastfs_margin_options", "scaling")));
        const std::int64_t *values = labels.data(), n_rows = labels.size();
        Call call(run_);
        return {
            {py::make_tuple(labels, n_classes, n_cols, scaling, given), py::none(), call([&](const fastfs::run& run) {
                 return fastfs::relief_stream(n_rows, n_cols, values, n_classes, scale, options, run);
             })}};
    }

    // Makes a stream from the arguments of a pickled one, and brings it to its state.
    static ReliefStream unpickled(const py::tuple& state) {
        const py::tuple args = state[0];
        const auto run = py::module_::import("fastfs._machine.run").attr("Run")();
        const py::dict options = args[4].attr("copy")();
        if (options.contains("priors") && !options["priors"].is_none())
            options["priors"] = received<double>(options["priors"]);
        ReliefStream made = make(received<std::int64_t>(args[0]), args[1].cast<std::int64_t>(),
                                 args[2].cast<std::int64_t>(), args[3].cast<std::string>(), options, run);
        made.restore(state, run);
        return made;
    }
};

// The label-free stage; keeps the arrays of X and of its options alive.
class Margin {
  public:
    Margin(const py::object& X, const py::dict& given, const py::object& run_) : X_(X), given_(given) {
        const auto n = static_cast<py::ssize_t>(X_.view.n_rows()), n_cols = static_cast<py::ssize_t>(X_.view.n_cols());
        const auto options = read_options("fastfs_margin_options", fastfs::default_margin_options(), given,
                                          {{"n_rows", n}, {"n_cols", n_cols}});
        Call call(run_);
        margin_ = call([&](const fastfs::run& run) { return std::make_unique<fastfs::margin>(X_.view, options, run); });
    }

    void use(const py::object& features, const py::object& weights, const py::object& run_) {
        const py::ssize_t n = length(features);
        const auto* columns = data_or_null<std::int64_t>(features, "features", {n});
        const auto* w = data_or_null<double>(weights, "weights", {n});
        Call call(run_);
        call([&](const fastfs::run& run) { margin_->use({columns, columns + n}, w, run); });
    }

    py::tuple scaling() const {
        py::array_t<double> shift(X_.view.n_cols()), factor(X_.view.n_cols());
        margin_->scaling(shift.mutable_data(), factor.mutable_data());
        return py::make_tuple(shift, factor);
    }

    // Fits a method of the RELIEF family, and returns the result as a dict with views of its arrays. labels: None
    // unless the target is classes.
    py::dict relief(const py::object& labels, std::int64_t n_classes, const py::dict& given,
                    const py::object& run_) const {
        const auto n = static_cast<py::ssize_t>(X_.view.n_rows());
        const auto* y = data_or_null<std::int64_t>(labels, "labels", {n});
        const auto options = read_relief_options(given, n, n_classes);
        Call call(run_);
        return to_dict(call([&](const fastfs::run& run) { return margin_->relief(y, n_classes, options, run); }),
                       X_.view.n_cols());
    }

    // Fits IM4E, and returns the result as a dict with views of its arrays.
    py::dict im4e(const py::object& labels, std::int64_t n_classes, const py::dict& given,
                  const py::object& run_) const {
        const auto* y = labels_of(labels);
        const auto options = read_options("fastfs_im4e_options", fastfs::default_im4e_options(), given,
                                          {{"n_classes", static_cast<py::ssize_t>(n_classes)},
                                           {"n_cols", static_cast<py::ssize_t>(X_.view.n_cols())}});
        Call call(run_);
        const Views view(call([&](const fastfs::run& run) { return margin_->im4e(y, n_classes, options, run); }));
        const fastfs::im4e_result& r = **view;
        py::dict result;
        result["weights"] = view(r.weights, {X_.view.n_cols()});
        add_iteration(result, view);
        return result;
    }

    // Fits IMMIGRATE, and returns the result as a dict with views of its arrays.
    py::dict immigrate(const py::object& labels, std::int64_t n_classes, const py::dict& given,
                       const py::object& run_) const {
        const auto* y = labels_of(labels);
        const auto options = read_options("fastfs_immigrate_options", fastfs::default_immigrate_options(), given,
                                          {{"n_features", static_cast<py::ssize_t>(X_.view.n_cols())}});
        Call call(run_);
        const Views view(call([&](const fastfs::run& run) { return margin_->immigrate(y, n_classes, options, run); }));
        const fastfs::immigrate_result& r = **view;
        const py::ssize_t n_cols = X_.view.n_cols(), n = r.n_features, rank = r.rank;
        py::dict result;
        result["features"] = view(r.features, {n});
        result["values"] = view(r.values, {rank});
        result["vectors"] = view(r.vectors, {rank, n});
        result["W"] = view(r.W, {n, n});
        result["scores"] = view(r.scores, {n_cols});
        result["prefilter_weights"] = view(r.prefilter_weights, {n_cols});
        add_iteration(result, view);
        return result;
    }

    // Returns the distances of new samples to each class, rows x n_classes.
    py::array_t<double> distances(const py::object& labels, std::int64_t n_classes, const Metric& metric,
                                  const py::object& samples, const py::object& run_) const {
        const auto* y = labels_of(labels);
        require_width(metric);
        const Matrix X(samples);
        py::array_t<double> out({static_cast<py::ssize_t>(X.view.n_rows()), static_cast<py::ssize_t>(n_classes)});
        auto* values = out.mutable_data();
        Call call(run_);
        call([&](const fastfs::run& run) { margin_->distances(y, n_classes, metric.view, X.view, values, run); });
        return out;
    }

    // Splits, for each row of samples, its distance to other classes less that to class_of_row into parts: an array of
    // rows x features for weights w, of rows x features x features for W.
    py::array_t<double> explain(const py::object& labels, std::int64_t n_classes, const Metric& metric,
                                const py::object& samples, const py::object& class_of_row,
                                const py::object& run_) const {
        const auto* y = labels_of(labels);
        require_width(metric);
        const Matrix X(samples);
        const py::ssize_t rows = X.view.n_rows(), n = metric.view.n_features;
        const auto* classes = data_or_null<std::int64_t>(class_of_row, "class_of_row", {rows});
        py::array_t<double> out(metric.view.weights ? std::vector<py::ssize_t>{rows, n}
                                                    : std::vector<py::ssize_t>{rows, n, n});
        auto* values = out.mutable_data();
        Call call(run_);
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
        return bindings::labels_of(labels, X_.view.n_rows());
    }

    // Adds cost, objective, sigma, convergence and how distances were held to the dict, as IM4E and IMMIGRATE have
    // them.
    template <class Result>
    static void add_iteration(py::dict& result, const Views<Result>& view) {
        const Result& r = **view;
        result["cost"] = view(r.cost, {r.n_iter});
        result["objective"] = view(r.objective, {r.n_iter});
        result["sigma"] = r.sigma;
        result["converged"] = r.converged != 0;
        result["stored"] = r.stored != 0;
    }

    Matrix X_;
    py::dict given_;
    std::unique_ptr<fastfs::margin> margin_;
};

// Returns the pairs of features with the largest |w| and their weights, at most n_pairs.
py::tuple immigrate_pairs(const Doubles& values, const Doubles& vectors, bool without_leading, std::int64_t n_pairs,
                          const py::object& run_) {
    if (values.ndim() != 1 || vectors.ndim() != 2 || vectors.shape(0) != values.shape(0)) {
        throw std::invalid_argument(
            "values and vectors must have the shapes (rank,) and (rank, n_features); got other shapes");
    }
    const std::int64_t rank = vectors.shape(0), n = vectors.shape(1);
    const double *lambda = values.data(), *V = vectors.data();
    if (n_pairs < 0) throw std::invalid_argument("n_pairs must not be negative; got " + std::to_string(n_pairs));
    const std::int64_t all = n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n;
    const auto most = static_cast<std::size_t>(n_pairs < all ? n_pairs : all);
    std::vector<std::int64_t> a(most + 1), b(most + 1);  // an extra entry: pointers to arrays even for no pairs
    std::vector<double> weights(most + 1);
    Call call(run_);
    const auto found = call([&](const fastfs::run& run) {
        return fastfs::immigrate_pairs(n, rank, lambda, V, without_leading, static_cast<std::int64_t>(most), a.data(),
                                       b.data(), weights.data(), run);
    });
    const std::vector<py::ssize_t> shape{static_cast<py::ssize_t>(found)};
    return py::make_tuple(to_array(a, shape), to_array(b, shape), to_array(weights, shape));
}

}  // namespace

// Adds the functions and classes of the RELIEF family, IM4E and IMMIGRATE to the module.
void bind_margin(py::module_& m) {
    py::class_<Metric>(m, "MarginMetric")
        .def(py::init<double, py::object, py::object, py::object>(), py::arg("sigma"), py::arg("weights"),
             py::arg("values"), py::arg("vectors"))
        .def_property_readonly("is_matrix", [](const Metric& self) { return self.view.weights == nullptr; });
    py::class_<Margin>(m, "Margin")
        .def(py::init<const py::object&, const py::dict&, const py::object&>(), py::arg("X"), py::arg("options"),
             py::arg("run"))
        .def("use", &Margin::use, py::arg("features"), py::arg("weights"), py::arg("run"))
        .def("scaling", &Margin::scaling)
        .def("relief", &Margin::relief, py::arg("labels"), py::arg("n_classes"), py::arg("options"), py::arg("run"))
        .def("im4e", &Margin::im4e, py::arg("labels"), py::arg("n_classes"), py::arg("options"), py::arg("run"))
        .def("immigrate", &Margin::immigrate, py::arg("labels"), py::arg("n_classes"), py::arg("options"),
             py::arg("run"))
        .def("distances", &Margin::distances, py::arg("labels"), py::arg("n_classes"), py::arg("metric"), py::arg("X"),
             py::arg("run"))
        .def("explain", &Margin::explain, py::arg("labels"), py::arg("n_classes"), py::arg("metric"), py::arg("X"),
             py::arg("wanted"), py::arg("run"));
    bind_stream<ReliefStream>(m, "ReliefStream")
        .def(py::init(&ReliefStream::make), py::arg("labels").noconvert(), py::arg("n_classes"), py::arg("n_cols"),
             py::arg("scaling"), py::arg("options"), py::arg("run"))
        .def("update", &ReliefStream::update, py::arg("X"), py::arg("first_row"), py::arg("run"))
        .def(
            "next", [](ReliefStream& self, const py::object& run) { self.next(run, self.save()); }, py::arg("run"))
        .def(
            "finish",
            [](const ReliefStream& self, const Labels& merged_, const py::object& run_) {
                const std::vector<std::int64_t> merged(merged_.data(), merged_.data() + merged_.size());
                Call call(run_);
                return to_dict(call([&](const fastfs::run& run) {
                                   return fastfs::relief_stream_finish(self.stream, merged, run);
                               }),
                               self.stream.state().n_cols);
            },
            py::arg("merged").noconvert(), py::arg("run"));
    m.def("immigrate_pairs", &immigrate_pairs, py::arg("values").noconvert(), py::arg("vectors").noconvert(),
          py::arg("without_leading"), py::arg("n_pairs"), py::arg("run"));
}

}  // namespace fastfs::bindings
