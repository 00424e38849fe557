#include <cmath>

#include "arrays.hpp"
#include "options.hpp"
#include "results.hpp"
#include "run.hpp"

namespace fastfs::bindings {
namespace {

py::ssize_t extent(const py::object& array, py::ssize_t axis) {
    return array.attr("shape").attr("__getitem__")(axis).cast<py::ssize_t>();
}

// Kernels as fastfs._functions.ikdr hands them over: of X, or matrices (n_kernels x n x n).
struct Kernels {
    Kernels(const py::object& X_, const py::object& matrices, const py::object& groups, std::int64_t n_kernels,
            const py::object& scaling, const py::object& width) {
        view.n_kernels = n_kernels;
        view.scaling = scaling.is_none() ? FASTFS_SCALE_NONE : FASTFS_SCALE_STANDARD;
        if (py::isinstance<py::str>(width)) {
            view.width = choose(width.cast<std::string>(), {"mean_squared", "mean"});
        } else {
            view.width = FASTFS_WIDTH_GIVEN;
            view.delta = width.cast<double>();
        }
        if (!X_.is_none()) {
            X.emplace(X_);
            view.X = X->view.get();
            view.groups = data_or_null<std::int64_t>(groups, "groups", {static_cast<py::ssize_t>(X->view.n_cols())});
        }
        if (!matrices.is_none()) {
            view.n_samples = extent(matrices, -1);
            const auto n = static_cast<py::ssize_t>(view.n_samples);
            view.matrices = data_or_null<double>(matrices, "matrices", {static_cast<py::ssize_t>(n_kernels), n, n});
        }
    }
    Kernels(const Kernels&) = delete;  // `view` points into it
    Kernels& operator=(const Kernels&) = delete;

    py::ssize_t n_samples() const { return static_cast<py::ssize_t>(X ? X->view.n_rows() : view.n_samples); }
    py::ssize_t n() const {
        return static_cast<py::ssize_t>(X && view.n_kernels == 0 ? X->view.n_cols() : view.n_kernels);
    }

    std::optional<Matrix> X;
    fastfs::ikdr_kernels view = FASTFS_IKDR_KERNELS_INIT;
};

double penalty(double value) { return std::isinf(value) && value > 0 ? 0.0 : value == 0 ? -1.0 : value; }

fastfs::ikdr_options options_of(std::int64_t n_components, double mu, double tau, double zeta,
                                const std::string& interpretability) {
    auto options = fastfs::default_ikdr_options();
    options.n_components = n_components;
    options.mu = mu;
    options.tau = penalty(tau);
    options.zeta = penalty(zeta);
    options.interpretability = choose(interpretability, {"laplacian", "distance"});
    return options;
}

const std::int64_t* labels_of(const py::object& codes, py::ssize_t n_samples) {
    if (codes.is_none()) throw py::type_error("codes must be a contiguous int64 array");
    return data_or_null<std::int64_t>(codes, "codes", {n_samples});
}

py::object array_of(const double* values, std::vector<py::ssize_t> shape) {
    if (values == nullptr) return py::none();
    return py::array_t<double>(std::move(shape), values);
}

py::dict to_dict(const fastfs::ikdr_result& r) {
    const auto n = static_cast<py::ssize_t>(r.n_samples), d = static_cast<py::ssize_t>(r.n_features),
               m = static_cast<py::ssize_t>(r.n_kernels), k = static_cast<py::ssize_t>(r.n_components);
    py::dict result;
    result["warnings"] = r.warnings;
    result["converged"] = r.converged != 0;
    result["n_iter"] = r.n_iter;
    result["lambda"] = r.lam;
    result["n_components"] = r.n_components;
    result["objective"] = r.objective;
    result["interpretability"] = r.interpretability;
    result["similarity"] = r.similarity;
    result["history"] = array_of(r.history, {static_cast<py::ssize_t>(r.n_iter)});
    result["A"] = array_of(r.A, {n, k});
    result["embedding"] = array_of(r.embedding, {n, k});
    result["profile"] = array_of(r.profile, {static_cast<py::ssize_t>(r.n_classes), k});
    result["weights"] = array_of(r.weights, {m});
    result["prices"] = array_of(r.prices, {m});
    result["deltas"] = array_of(r.deltas, {m});
    result["means"] = array_of(r.means, {d});
    result["scales"] = array_of(r.scales, {d});
    return result;
}

py::list ikdr_fit(const py::object& X, const py::object& matrices, const py::object& groups, std::int64_t n_kernels,
                  const py::object& scaling, const py::object& width, const py::object& codes, std::int64_t n_classes,
                  std::int64_t n_components, const py::object& lams, double mu, double tau, double zeta,
                  const std::string& interpretability, const std::string& solver, std::int64_t max_iter,
                  std::int64_t max_inner, double tol, double rho, const py::object& A, const py::object& weights,
                  std::uint64_t seed, const py::object& run_) {
    const Kernels kernels(X, matrices, groups, n_kernels, scaling, width);
    const auto n = kernels.n_samples();
    const auto* labels = labels_of(codes, n);
    auto options = options_of(n_components, mu, tau, zeta, interpretability);
    options.n_lambdas = static_cast<std::int64_t>(py::len(lams));
    options.lambdas = data_or_null<double>(lams, "lams", {static_cast<py::ssize_t>(options.n_lambdas)});
    options.solver = choose(solver, {"projected_gradient", "admm"});
    options.max_iter = max_iter;
    options.max_inner = max_inner;
    options.tol = tol;
    options.rho = rho;
    options.A = data_or_null<double>(A, "A", {n, static_cast<py::ssize_t>(n_components ? n_components : n_classes)});
    options.weights = data_or_null<double>(weights, "weights", {kernels.n()});
    options.seed = seed;
    Call call(run_);
    const auto fitted =
        call([&](const fastfs::run& run) { return fastfs::ikdr(kernels.view, labels, n_classes, options, run); });
    py::list results;
    for (std::int64_t step = 0; step < fitted.n_steps(); ++step) results.append(to_dict(fitted.result(step)));
    return results;
}

py::tuple ikdr_evaluate(const py::object& K_, const py::object& codes, std::int64_t n_classes, const py::object& A,
                        double lam, double mu, double tau, double zeta, const std::string& interpretability,
                        int repeats, int n_threads) {
    const Matrix K(K_);
    const auto n = static_cast<py::ssize_t>(K.view.n_rows());
    const auto* labels = labels_of(codes, n);
    const py::ssize_t k = extent(A, -1);
    auto options = options_of(static_cast<std::int64_t>(k), mu, tau, zeta, interpretability);
    options.lambdas = &lam;
    const auto* start = data_or_null<double>(A, "A", {n, k});
    py::array_t<double> gradient({n, k});
    auto* values = gradient.mutable_data();
    Call call(run_);
    const double objective = call([&](const fastfs::run& run) {
        return fastfs::ikdr_evaluate(K.view, labels, n_classes, options, start, values, repeats, run);
    });
    return py::make_tuple(objective, gradient);
}

py::array_t<double> ikdr_prices(const py::object& X, const py::object& matrices, const py::object& groups,
                                std::int64_t n_kernels, const py::object& scaling, const py::object& width,
                                const py::object& codes, std::int64_t n_classes, const py::object& A,
                                const py::object& weights, double lam, double mu, double tau, double zeta,
                                const std::string& interpretability, const py::object& run_) {
    const Kernels kernels(X, matrices, groups, n_kernels, scaling, width);
    const auto n = kernels.n_samples();
    const auto* labels = labels_of(codes, n);
    const py::ssize_t k = extent(A, -1);
    auto options = options_of(static_cast<std::int64_t>(k), mu, tau, zeta, interpretability);
    options.lambdas = &lam;
    const auto* at = data_or_null<double>(A, "A", {n, k});
    const auto* beta = data_or_null<double>(weights, "weights", {kernels.n()});
    py::array_t<double> prices(kernels.n());
    auto* values = prices.mutable_data();
    Call call(run_);
    call([&](const fastfs::run& run) {
        fastfs::ikdr_prices(kernels.view, labels, n_classes, options, at, beta, values, run);
    });
    return prices;
}

py::array_t<double> ikdr_embed(const py::object& weights, const py::object& deltas, const py::object& begins,
                               const py::object& features, const py::object& means, const py::object& scales,
                               const py::object& support, const py::object& coefficients, const py::object& X_,
                               const py::object& run_) {
    const Matrix X(X_);
    const py::ssize_t m = extent(weights, 0), c = extent(features, 0), s = extent(support, 0),
                      k = extent(coefficients, -1);
    auto model = fastfs::default_ikdr_model();
    model.n_kernels = m;
    model.weights = data_or_null<double>(weights, "weights", {m});
    model.deltas = data_or_null<double>(deltas, "deltas", {m});
    model.begins = data_or_null<std::int64_t>(begins, "begins", {m + 1});
    model.features = data_or_null<std::int64_t>(features, "features", {c});
    model.means = data_or_null<double>(means, "means", {c});
    model.scales = data_or_null<double>(scales, "scales", {c});
    model.n_support = s;
    model.support = data_or_null<double>(support, "support", {s, c});
    model.n_components = k;
    model.coefficients = data_or_null<double>(coefficients, "coefficients", {s, k});
    if (model.begins && model.begins[m] != c)
        throw std::invalid_argument("begins must end with the number of features");
    py::array_t<double> out({static_cast<py::ssize_t>(X.view.n_rows()), k});
    auto* values = out.mutable_data();
    Call call(run_);
    call([&](const fastfs::run& run) { fastfs::ikdr_embed(model, X.view, values, run); });
    return out;
}

}  // namespace

void bind_ikdr(py::module_& m) {
    m.attr("IKDR_NOT_CONVERGED") = int{FASTFS_IKDR_NOT_CONVERGED};
    m.attr("IKDR_IDENTITY") = int{FASTFS_IKDR_IDENTITY};
    m.attr("IKDR_CONSTANT") = int{FASTFS_IKDR_CONSTANT};
    m.attr("IKDR_FEW") = int{FASTFS_IKDR_FEW};
    m.attr("IKDR_MANY") = int{FASTFS_IKDR_MANY};

    m.def("ikdr_fit", &ikdr_fit, py::arg("X"), py::arg("matrices"), py::arg("groups"), py::arg("n_kernels"),
          py::arg("scaling"), py::arg("width"), py::arg("codes"), py::arg("n_classes"), py::arg("n_components"),
          py::arg("lams"), py::arg("mu"), py::arg("tau"), py::arg("zeta"), py::arg("interpretability"),
          py::arg("solver"), py::arg("max_iter"), py::arg("max_inner"), py::arg("tol"), py::arg("rho"), py::arg("A"),
          py::arg("weights"), py::arg("seed"), py::arg("run"));
    m.def("ikdr_evaluate", &ikdr_evaluate, py::arg("K"), py::arg("codes"), py::arg("n_classes"), py::arg("A"),
          py::arg("lam"), py::arg("mu"), py::arg("tau"), py::arg("zeta"), py::arg("interpretability"),
          py::arg("repeats"), py::arg("n_threads"));
    m.def("ikdr_prices", &ikdr_prices, py::arg("X"), py::arg("matrices"), py::arg("groups"), py::arg("n_kernels"),
          py::arg("scaling"), py::arg("width"), py::arg("codes"), py::arg("n_classes"), py::arg("A"),
          py::arg("weights"), py::arg("lam"), py::arg("mu"), py::arg("tau"), py::arg("zeta"),
          py::arg("interpretability"), py::arg("run"));
    m.def("ikdr_embed", &ikdr_embed, py::arg("weights"), py::arg("deltas"), py::arg("begins"), py::arg("features"),
          py::arg("means"), py::arg("scales"), py::arg("support"), py::arg("coefficients"), py::arg("X"),
          py::arg("run"));
}

}  // namespace fastfs::bindings
