#include <optional>
#include <string>

#include "arrays.hpp"
#include "fastfs/testing.h"
#include "options.hpp"
#include "results.hpp"
#include "run.hpp"

namespace fastfs::bindings {
namespace {

py::ssize_t extent(const py::object& array, py::ssize_t axis) {
    return array.attr("shape").attr("__getitem__")(axis).cast<py::ssize_t>();
}

// Kernels in the form that fastfs._functions.ikdr passes: of X (with groups, scaling and width), or matrices (n_kernels
// x n x n).
struct Kernels {
    // Views X and reads the other entries as fields of fastfs_ikdr_kernels; the arrays must stay alive.
    explicit Kernels(const py::dict& given) {
        py::dict options;
        for (const auto& [key, value] : given) {
            if (key.cast<std::string>() == "X") {
                view.X = X.emplace(py::reinterpret_borrow<py::object>(value)).view.get();
            } else {
                options[key] = value;
            }
        }
        view = read_options("fastfs_ikdr_kernels", view, options, {{"n_features", X ? X->view.n_cols() : 0}});
    }
    Kernels(const Kernels&) = delete;  // `view` points into it
    Kernels& operator=(const Kernels&) = delete;

    py::ssize_t n_samples() const { return X ? X->view.n_rows() : view.n_samples; }
    py::ssize_t n() const { return X && view.n_kernels == 0 ? X->view.n_cols() : view.n_kernels; }

    std::optional<Matrix> X;
    fastfs::ikdr_kernels view = FASTFS_IKDR_KERNELS_INIT;
};

// A and weights have the shapes n x k and m.
fastfs::ikdr_options to_ikdr_options(const py::dict& given, py::ssize_t n, py::ssize_t k, py::ssize_t m) {
    return read_options("fastfs_ikdr_options", fastfs::default_ikdr_options(), given,
                        {{"n_samples", n}, {"n_components", k}, {"n_kernels", m}});
}

// Returns the result of a lambda as a dict with views of its arrays.
py::dict to_dict(const Views<fastfs::ikdr_result>& view, std::int64_t step) {
    const fastfs::ikdr_result& r = (*view)[step];
    const py::ssize_t n = r.n_samples, d = r.n_features, m = r.n_kernels, k = r.n_components;
    py::dict result;
    result["converged"] = r.converged != 0;
    result["n_iter"] = r.n_iter;
    result["lambda"] = r.lam;
    result["n_components"] = r.n_components;
    result["objective"] = r.objective;
    result["interpretability"] = r.interpretability;
    result["similarity"] = r.similarity;
    result["history"] = view(r.history, {r.n_iter});
    result["A"] = view(r.A, {n, k});
    result["embedding"] = view(r.embedding, {n, k});
    result["profile"] = view(r.profile, {r.n_classes, k});
    result["weights"] = view(r.weights, {m});
    result["prices"] = view(r.prices, {m});
    result["deltas"] = view(r.deltas, {m});
    result["means"] = view(r.means, {d});
    result["scales"] = view(r.scales, {d});
    return result;
}

// Fits I-KDR, and returns one dict per lambda.
py::list ikdr_fit(const py::dict& kernels_, const py::object& labels_, std::int64_t n_classes, const py::dict& options_,
                  const py::object& run_) {
    const Kernels kernels(kernels_);
    const auto n = kernels.n_samples();
    const auto* labels = labels_of(labels_, n);
    const auto k = options_.contains("n_components") ? options_["n_components"].cast<py::ssize_t>() : 0;
    const auto options = to_ikdr_options(options_, n, k ? k : py::ssize_t{n_classes}, kernels.n());
    Call call(run_);
    const Views view(
        call([&](const fastfs::run& run) { return fastfs::ikdr(kernels.view, labels, n_classes, options, run); }));
    py::list results;
    for (std::int64_t step = 0; step < (*view).size(); ++step) results.append(to_dict(view, step));
    return results;
}

// Returns the objective at A and its gradient, as testing.h says.
py::tuple ikdr_evaluate(const py::object& K_, const py::object& labels_, std::int64_t n_classes, const py::object& A,
                        const py::dict& options_, int repeats, const py::object& run_) {
    const Matrix K(K_);
    const py::ssize_t n = K.view.n_rows();
    const auto* labels = labels_of(labels_, n);
    const py::ssize_t k = extent(A, -1);
    auto options = to_ikdr_options(options_, n, k, 1);
    options.n_components = k;
    const auto* start = data_or_null<double>(A, "A", {n, k});
    py::array_t<double> gradient({n, k});
    auto* values = gradient.mutable_data();
    Call call(run_);
    double objective = 0;
    call([&](const fastfs::run& run) {
        fastfs::check(
            fastfs_ikdr_evaluate(K.view.get(), labels, n_classes, &options, start, repeats, &run, &objective, values));
    });
    return py::make_tuple(objective, gradient);
}

// Returns the price of each kernel at A and the weights, as testing.h says.
py::array_t<double> ikdr_prices(const py::dict& kernels_, const py::object& labels_, std::int64_t n_classes,
                                const py::object& A, const py::object& weights, const py::dict& options_,
                                const py::object& run_) {
    const Kernels kernels(kernels_);
    const auto n = kernels.n_samples();
    const auto* labels = labels_of(labels_, n);
    const py::ssize_t k = extent(A, -1);
    auto options = to_ikdr_options(options_, n, k, kernels.n());
    options.n_components = k;
    const auto* at = data_or_null<double>(A, "A", {n, k});
    const auto* beta = data_or_null<double>(weights, "weights", {kernels.n()});
    py::array_t<double> prices(kernels.n());
    auto* values = prices.mutable_data();
    Call call(run_);
    call([&](const fastfs::run& run) {
        fastfs::check(fastfs_ikdr_prices(&kernels.view, labels, n_classes, &options, at, beta, &run, values));
    });
    return prices;
}

// Returns the embedding of the rows of X. The model is a dict with the arrays of fastfs_ikdr_model.
py::array_t<double> ikdr_embed(const py::dict& model_, const py::object& X_, const py::object& run_) {
    const Matrix X(X_);
    const py::ssize_t m = extent(model_["weights"], 0), c = extent(model_["features"], 0),
                      s = extent(model_["support"], 0), k = extent(model_["coefficients"], -1);
    auto model = fastfs::default_ikdr_model();
    model.n_kernels = m;
    model.n_support = s;
    model.n_components = k;
    const auto read = [&](const double*& to, const char* name, const Shape& shape) {
        to = data_or_null<double>(model_[name], name, shape);
    };
    read(model.weights, "weights", {m});
    read(model.deltas, "deltas", {m});
    model.begins = data_or_null<std::int64_t>(model_["begins"], "begins", {m + 1});
    model.features = data_or_null<std::int64_t>(model_["features"], "features", {c});
    read(model.means, "means", {c});
    read(model.scales, "scales", {c});
    read(model.support, "support", {s, c});
    read(model.coefficients, "coefficients", {s, k});
    if (model.begins && model.begins[m] != c) {
        throw std::invalid_argument("begins must end with the " + std::to_string(c) + " features; got " +
                                    std::to_string(model.begins[m]));
    }
    py::array_t<double> out({static_cast<py::ssize_t>(X.view.n_rows()), static_cast<py::ssize_t>(k)});
    auto* values = out.mutable_data();
    Call call(run_);
    call([&](const fastfs::run& run) { fastfs::ikdr_embed(model, X.view, values, run); });
    return out;
}

}  // namespace

// Adds the functions of I-KDR to the module.
void bind_ikdr(py::module_& m) {
    m.def("ikdr_fit", &ikdr_fit, py::arg("kernels"), py::arg("labels"), py::arg("n_classes"), py::arg("options"),
          py::arg("run"));
    m.def("ikdr_evaluate", &ikdr_evaluate, py::arg("K"), py::arg("labels"), py::arg("n_classes"), py::arg("A"),
          py::arg("options"), py::arg("repeats"), py::arg("run"));
    m.def("ikdr_prices", &ikdr_prices, py::arg("kernels"), py::arg("labels"), py::arg("n_classes"), py::arg("A"),
          py::arg("weights"), py::arg("options"), py::arg("run"));
    m.def("ikdr_embed", &ikdr_embed, py::arg("model"), py::arg("X"), py::arg("run"));
}

}  // namespace fastfs::bindings
