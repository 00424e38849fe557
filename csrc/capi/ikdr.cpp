// The C interface of I-KDR.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "capi/abi.hpp"
#include "capi/checks.hpp"
#include "capi/fields.hpp"
#include "capi/fitted.hpp"
#include "fastfs/testing.h"
#include "ikdr/ikdr.hpp"
#include "ikdr/kernel_source.hpp"
#include "ikdr/simplex.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"

namespace {

using namespace fastfs::core;

// Checks the kernels of the caller, and returns a view of them.
KernelSource read_ikdr_kernels(const fastfs_ikdr_kernels* kernels) {
    require(kernels != nullptr, "kernels must not be null");
    const auto given = read_options(kernels, FASTFS_IKDR_KERNELS_INIT, "kernels");
    require((given.X != nullptr) != (given.matrices != nullptr), "kernels must have either X or matrices; got ",
            given.X ? "both" : "neither");
    KernelSource source;
    source.n_kernels = given.n_kernels;
    if (given.matrices) {
        const std::int64_t n = given.n_samples;
        require(n >= 2 && n <= kMostFeatures, "n_samples must be from 2 to 4e8; got ", n);
        require(given.n_kernels >= 1, "n_kernels must be at least 1 with matrices; got ", given.n_kernels);
        require_fits(given.n_kernels, n * n, "an array of matrices");
        require(!given.groups, "groups must be null with matrices, which have no features");
        require_array(given.matrices, "matrices");
        source.matrices = given.matrices;
        source.n_samples = n;
        return source;
    }
    source.X.emplace(read_matrix(given.X));
    const Matrix& X = *source.X;
    const std::int64_t d = X.n_cols();
    require(!X.is_sparse(), "X must be dense; got a sparse X: make it dense");
    require_size(X.n_rows(), 2, "the number of samples");
    require_size(d, 1, "the number of features");
    require(given.n_kernels >= 0 && given.n_kernels <= d, "n_kernels must be from 0 to the ", d, " features; got ",
            given.n_kernels);
    require(given.n_kernels <= 1 || given.n_kernels == d || given.groups, "groups must give each of the ", d,
            " features the number of its kernel for n_kernels = ", given.n_kernels, "; got null");
    require(given.n_kernels > 1 || !given.groups, "n_kernels must be above 1 with groups; got ", given.n_kernels);
    if (given.width == FASTFS_WIDTH_GIVEN) require_positive(given.delta, "delta");
    source.n_samples = X.n_rows();
    source.standardize = given.scaling == FASTFS_SCALE_STANDARD;
    source.width = given.width;
    source.delta = given.delta;
    if (source.n_kernels == 0) source.n_kernels = d;
    if (given.groups) {
        require_array(given.groups, "groups");
        std::vector<bool> seen(at(source.n_kernels));
        for (std::int64_t a = 0; a < d; ++a) {
            const std::int64_t group = given.groups[a];
            require(group >= 0 && group < source.n_kernels, "groups must be from 0 to ", source.n_kernels - 1, "; got ",
                    group, " for ", Name::column(a));
            seen[at(group)] = true;
        }
        const auto missing = std::find(seen.begin(), seen.end(), false) - seen.begin();
        require(missing == source.n_kernels, "groups must have a feature of each of the ", source.n_kernels,
                " kernels, from 0; got none of kernel ", missing);
        source.groups = given.groups;
    }
    return source;
}

// Throws unless the options, already resolved, fit n_samples samples.
void require_options(const fastfs_ikdr_options& o, std::int64_t n_samples) {
    require(o.n_components >= 1 && o.n_components <= n_samples, "n_components must be from 1 to the ", n_samples,
            " samples; got ", o.n_components);
    require_array(o.lambdas, "lambdas");
    for (std::int64_t l = 0; l < o.n_lambdas; ++l) {
        require(o.lambdas[l] >= 0 && std::isfinite(o.lambdas[l]), "lam must be a number of at least 0; got ",
                o.lambdas[l]);
    }
    require(o.solver != FASTFS_IKDR_ADMM || (std::isfinite(o.tau) && std::isfinite(o.zeta)),
            "tau and zeta must be finite for solver='admm'; got ", o.tau, " and ", o.zeta, ": give both, such as 10");
}

}  // namespace

extern "C" {

fastfs_status fastfs_ikdr_fit(const fastfs_ikdr_kernels* kernels, const int64_t* labels, int64_t n_classes,
                              const fastfs_ikdr_options* options, const fastfs_run* run_, fastfs_ikdr_result* results,
                              fastfs_fitted** fitted) {
    return guarded([&] {
        Run run = read_run(run_);
        require_output(run, fitted, "fitted");
        const KernelSource source = read_ikdr_kernels(kernels);
        require_labels(labels, source.n_samples, n_classes);
        const auto o = resolve(read_options(options, FASTFS_IKDR_OPTIONS_INIT), n_classes);
        require_options(o, source.n_samples);
        require_array_or_null(o.A, "A");
        require_array_or_null(o.weights, "weights");
        if (o.A) require_on_simplex(o.A, source.n_samples, o.n_components, "the columns of the start A");
        if (o.weights) require_on_simplex(o.weights, source.n_kernels, 1, "the start's weights");
        if (run.is_question()) {
            ikdr(source, labels, n_classes, o, run);
            return;
        }
        std::unique_ptr<fastfs_fitted> made;
        fill_all(results, o.n_lambdas, FASTFS_IKDR_RESULT_INIT, "results",
                 [&](fastfs_ikdr_result& r, std::int64_t step) {
                     if (!made) made = std::make_unique<fastfs_fitted>(ikdr(source, labels, n_classes, o, run));
                     Ikdr& fit = made->data.as<Ikdr>("fastfs_ikdr_fit");
                     IkdrResult& f = fit.steps[at(step)];
                     r = {.struct_size = sizeof(fastfs_ikdr_result),
                          .converged = f.converged,
                          .reserved = 0,
                          .n_samples = fit.n_samples,
                          .n_features = fit.n_features,
                          .n_kernels = fit.n_kernels,
                          .n_classes = fit.n_classes,
                          .n_components = fit.n_components,
                          .n_iter = static_cast<int64_t>(f.history.size()),
                          .lam = f.lambda,
                          .objective = f.objective,
                          .interpretability = f.interpretability,
                          .similarity = f.similarity,
                          .history = f.history.data(),
                          .A = f.A.data(),
                          .embedding = f.embedding.data(),
                          .profile = f.profile.data(),
                          .weights = f.weights.data(),
                          .prices = f.prices.data(),
                          .deltas = data_or_null(fit.deltas),
                          .means = data_or_null(fit.means),
                          .scales = data_or_null(fit.scales)};
                 });
        *fitted = made.release();
    });
}

// Writes the objective of one kernel at A and, unless null, its gradient; repeats the evaluation for timings.
fastfs_status fastfs_ikdr_evaluate(const fastfs_matrix* K_, const int64_t* labels, int64_t n_classes,
                                   const fastfs_ikdr_options* options, const double* A, int32_t repeats,
                                   const fastfs_run* run_, double* objective, double* gradient) {
    return guarded([&] {
        const Matrix K = read_matrix(K_);
        require(K.is_dense() && K.n_rows() == K.n_cols(), "K must be dense and square; got ",
                K.is_dense() ? "" : "a sparse one of ", K.n_rows(), " x ", K.n_cols());
        Run run = read_run(run_);
        require_array(A, "A");
        require_output(run, objective, "objective");
        require_array_or_null(gradient, "gradient");
        require(repeats >= 1, "repeats must be at least 1; got ", repeats);
        require_labels(labels, K.n_rows(), n_classes);
        const auto o = resolve(read_options(options, FASTFS_IKDR_OPTIONS_INIT), n_classes);
        require_options(o, K.n_rows());
        *objective = ikdr_evaluate(K, labels, n_classes, o, A, repeats, run, gradient);
    });
}

// Writes the derivative of the objective by the weight of each kernel, at A and weights, to prices.
fastfs_status fastfs_ikdr_prices(const fastfs_ikdr_kernels* kernels, const int64_t* labels, int64_t n_classes,
                                 const fastfs_ikdr_options* options, const double* A, const double* weights,
                                 const fastfs_run* run_, double* prices) {
    return guarded([&] {
        Run run = read_run(run_);
        require_array(A, "A");
        require_array(weights, "weights");
        require_output(run, prices, "prices");
        const KernelSource source = read_ikdr_kernels(kernels);
        require_labels(labels, source.n_samples, n_classes);
        const auto o = resolve(read_options(options, FASTFS_IKDR_OPTIONS_INIT), n_classes);
        require_options(o, source.n_samples);
        require_on_simplex(A, source.n_samples, o.n_components, "the columns of A");
        require_on_simplex(weights, source.n_kernels, 1, "weights");
        ikdr_prices(source, labels, n_classes, o, A, weights, run, prices);
    });
}

// Writes the embedding of the rows of X by a fitted model, rows x n_components, to out.
fastfs_status fastfs_ikdr_embed(const fastfs_ikdr_model* model, const fastfs_matrix* X_, const fastfs_run* run_,
                                double* out) {
    return guarded([&] {
        Run run = read_run(run_);
        require(model != nullptr, "model must not be null");
        require_output(run, out, "out");
        const auto m = read(model, FASTFS_IKDR_MODEL_INIT, "model");
        const Matrix X = read_matrix(X_);
        require(!X.is_sparse(), "X must be dense; got a sparse X: make it dense");
        require_size(m.n_kernels, 1, "the number of kernels");
        require_size(m.n_support, 1, "the number of support samples");
        require_size(m.n_components, 1, "n_components");
        require_fits(X.n_rows(), m.n_components, "an embedding");
        require_array(m.weights, "weights of the model");
        require_array(m.deltas, "deltas of the model");
        require_array(m.begins, "begins of the model");
        require_array(m.features, "features of the model");
        require_array(m.means, "means of the model");
        require_array(m.scales, "scales of the model");
        require_array(m.support, "support of the model");
        require_array(m.coefficients, "coefficients of the model");
        require(m.begins[0] == 0, "begins must start with 0; got ", m.begins[0]);
        for (std::int64_t kernel = 0; kernel < m.n_kernels; ++kernel) {
            require(m.begins[kernel + 1] >= m.begins[kernel], "begins must not descend; got ", m.begins[kernel + 1],
                    " after ", m.begins[kernel]);
            require(!(m.weights[kernel] > 0) || m.deltas[kernel] > 0,
                    "deltas must be positive for kernels with weight; got ", m.deltas[kernel], " for kernel ", kernel);
        }
        const std::int64_t width = m.begins[m.n_kernels];
        require_fits(m.n_support, width, "the support");
        require_numbers(m.weights, m.n_kernels, "weights", Name::kernel, 0);
        require_numbers(m.means, width, "means");
        require_numbers(m.scales, width, "scales", Name::row, 0);
        require_numbers(m.support, m.n_support * width, "support");
        require_numbers(m.coefficients, m.n_support * m.n_components, "coefficients");
        for (std::int64_t c = 0; c < width; ++c) {
            require(m.features[c] >= 0 && m.features[c] < X.n_cols(), "features must be columns of X from 0 to ",
                    X.n_cols() - 1, "; got ", m.features[c]);
        }
        ikdr_embed(m, X, run, out);
    });
}

}  // extern "C"
