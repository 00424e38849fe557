// The C interface of I-KDR.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capi/abi.hpp"
#include "capi/checks.hpp"
#include "ikdr/ikdr.hpp"
#include "ikdr/sample_kernels.hpp"
#include "support/buffer.hpp"
#include "support/errors.hpp"
#include "support/lapack.hpp"

struct fastfs_ikdr {
    const fastfs::core::Ikdr fit;
};

namespace {

using namespace fastfs::core;

// Kernel m of the caller's: finite, symmetric, positive semidefinite, each up to 1e-8.
void require_kernel(const double* K, std::int64_t n, std::int64_t m, bool unit_diagonal, Run& run) {
    const std::string name = "matrix " + std::to_string(m);
    const auto place = [](std::int64_t i, std::int64_t j) {
        return "row " + std::to_string(i) + ", column " + std::to_string(j);
    };
    double largest = 0, trace = 0;
    for (std::int64_t e = 0; e < n * n; ++e) {
        if (!std::isfinite(K[e])) {
            throw InvalidArgument(name + " must not contain NaN or infinity, but has " + text(K[e]) + " in " +
                                  place(e / n, e % n) + " (counted from 0): mend it, or leave that sample out");
        }
        largest = std::max(largest, std::abs(K[e]));
    }
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < i; ++j) {
            if (std::abs(K[i * n + j] - K[j * n + i]) <= 1e-8 * largest) continue;
            throw InvalidArgument(name + " must be symmetric, but has " + text(K[j * n + i]) + " in " + place(j, i) +
                                  " and " + text(K[i * n + j] - K[j * n + i]) + " more in " + place(i, j) +
                                  " (counted from 0): if that is rounding, take its mean with its transpose");
        }
        trace += K[i * n + i];
        if (!unit_diagonal || std::abs(K[i * n + i] - 1) <= 1e-8) continue;
        throw InvalidArgument("with the distance term diagonals must be 1, but that of " + name + " has " +
                              text(K[i * n + i]) + " in row " + std::to_string(i) +
                              " (counted from 0): divide rows and columns by the roots of the diagonal");
    }
    run.checkpoint();
    Buffer<double> factor(n * n);
    std::copy_n(K, n * n, factor.data());
    for (std::int64_t i = 0; i < n; ++i) factor[i * n + i] += 1e-8 * trace;
    require(trace > 0 && potrf_lower(n, factor.data()),
            name +
                " must be positive semidefinite, but has a negative eigenvalue (or is zero): add a number to its "
                "diagonal, or take another kernel");
}

KernelSource read_ikdr_kernels(const fastfs_ikdr_kernels* kernels, bool unit_diagonal, Run& run) {
    require(kernels != nullptr, "kernels is null");
    const auto given = read(kernels, FASTFS_IKDR_KERNELS_INIT, "kernels");
    require((given.X != nullptr) != (given.matrices != nullptr),
            std::string("kernels must have either X or matrices, but have ") + (given.X ? "both" : "neither"));
    KernelSource source;
    source.n_kernels = given.n_kernels;
    if (given.matrices) {
        const std::int64_t n = given.n_samples;
        require(n >= 2 && n <= kMostFeatures, "kernels need from 2 to 4e8 samples, not " + std::to_string(n));
        require(given.n_kernels >= 1,
                "n_kernels must be at least 1 with matrices, but is " + std::to_string(given.n_kernels));
        require_fits(given.n_kernels, n * n, "an array of matrices");
        require(!given.groups, "groups must be null with matrices, which have no features");
        source.matrices = given.matrices;
        source.n_samples = n;
        if (run.is_question()) return source;  // the method asks for more than these checks
        run.require_memory(8 * n * n, "the check of kernels between " + std::to_string(n) + " samples",
                           "raise max_memory (or FASTFS_MAX_MEMORY)");
        for (std::int64_t m = 0; m < given.n_kernels; ++m) {
            require_kernel(given.matrices + m * n * n, n, m, unit_diagonal, run);
        }
        return source;
    }
    source.X.emplace(read_matrix(given.X));
    const Matrix& X = *source.X;
    const std::int64_t d = X.n_cols();
    require(!X.is_sparse(), "X must be dense");
    require_size(X.n_rows(), 2, "the number of samples");
    require_size(d, 1, "the number of features");
    require(given.n_kernels >= 0 && given.n_kernels <= d, "n_kernels must be from 0 to the " + std::to_string(d) +
                                                              " features, not " + std::to_string(given.n_kernels));
    require(given.n_kernels <= 1 || given.n_kernels == d || given.groups,
            std::to_string(given.n_kernels) + " kernels of " + std::to_string(d) +
                " features need groups, but groups is null: give each feature the number of its kernel");
    require(given.n_kernels > 1 || !given.groups,
            "groups need n_kernels above 1, but it is " + std::to_string(given.n_kernels));
    require(given.scaling == FASTFS_SCALE_NONE || given.scaling == FASTFS_SCALE_STANDARD,
            "scaling must be FASTFS_SCALE_NONE or FASTFS_SCALE_STANDARD, not " + std::to_string(given.scaling));
    require(given.width >= FASTFS_WIDTH_MEAN_SQUARED && given.width <= FASTFS_WIDTH_GIVEN,
            "width must be one of FASTFS_WIDTH_*, not " + std::to_string(given.width));
    require(given.width != FASTFS_WIDTH_GIVEN || (given.delta > 0 && std::isfinite(given.delta)),
            "delta must be a positive number, not " + text(given.delta));
    source.n_samples = X.n_rows();
    source.standardize = given.scaling == FASTFS_SCALE_STANDARD;
    source.width = given.width;
    source.delta = given.delta;
    if (source.n_kernels == 0) source.n_kernels = d;
    if (given.groups) {
        std::vector<bool> seen(static_cast<std::size_t>(source.n_kernels));
        for (std::int64_t a = 0; a < d; ++a) {
            if (given.groups[a] < 0 || given.groups[a] >= source.n_kernels) {
                throw InvalidArgument("groups must lie in 0.." + std::to_string(source.n_kernels - 1) +
                                      ", but that of feature " + std::to_string(a) + " is " +
                                      std::to_string(given.groups[a]));
            }
            seen[static_cast<std::size_t>(given.groups[a])] = true;
        }
        const auto missing = std::find(seen.begin(), seen.end(), false);
        require(missing == seen.end(), "each of " + std::to_string(source.n_kernels) +
                                           " groups must have a feature, but number " +
                                           std::to_string(missing - seen.begin()) + " has none");
        source.groups = given.groups;
    }
    return source;
}

constexpr double kDefaultLambda = 0.1;

fastfs_ikdr_options checked(fastfs_ikdr_options o, std::int64_t n_samples, std::int64_t n_classes) {
    if (o.n_components == 0) o.n_components = n_classes;
    require(o.n_components >= 1 && o.n_components <= n_samples, "n_components must be from 1 to the " +
                                                                    std::to_string(n_samples) + " samples, not " +
                                                                    std::to_string(o.n_components));
    if (!o.lambdas) {
        o.lambdas = &kDefaultLambda;
        o.n_lambdas = 1;
    }
    require(o.n_lambdas >= 1, "n_lambdas must be at least 1, but is " + std::to_string(o.n_lambdas));
    const auto require_least = [](double value, const char* name) {
        require(value >= 0 && std::isfinite(value),
                std::string(name) + " must be a number of at least 0, but is " + text(value));
    };
    for (std::int64_t l = 0; l < o.n_lambdas; ++l) require_least(o.lambdas[l], "lambda");
    require_least(o.mu, "mu");
    require_least(o.tau, "tau");
    require_least(o.zeta, "zeta");
    require_least(o.tol, "tol");
    require(o.interpretability == FASTFS_IKDR_LAPLACIAN || o.interpretability == FASTFS_IKDR_DISTANCE,
            "interpretability must be FASTFS_IKDR_LAPLACIAN or FASTFS_IKDR_DISTANCE, not " +
                std::to_string(o.interpretability));
    require(o.solver == FASTFS_IKDR_PROJECTED_GRADIENT || o.solver == FASTFS_IKDR_ADMM,
            "solver must be FASTFS_IKDR_PROJECTED_GRADIENT or FASTFS_IKDR_ADMM, not " + std::to_string(o.solver));
    require(o.max_iter >= 1 && o.max_iter <= kMostIterations && o.max_inner >= 1 && o.max_inner <= kMostIterations,
            "max_iter and max_inner must be from 1 to " + std::to_string(kMostIterations) + ", but are " +
                std::to_string(o.max_iter) + " and " + std::to_string(o.max_inner));
    if (o.solver == FASTFS_IKDR_ADMM) {
        require(o.rho > 0 && std::isfinite(o.rho), "rho must be a positive number, not " + text(o.rho));
        require(o.tau > 0 && o.zeta > 0,
                "the solver admm needs finite tau and zeta, but has infinite ones: give both, such as 10");
    }
    return o;
}

// Columns of A (n x k, row-major) and kernel weights (k = 1) are given to six digits at least.
void require_on_simplex(const double* A, std::int64_t n, std::int64_t k, const char* name) {
    for (std::int64_t j = 0; A && j < k; ++j) {
        double sum = 0;
        for (std::int64_t i = 0; i < n; ++i) {
            if (!(A[i * k + j] >= -1e-6)) {
                throw InvalidArgument(std::string(name) + " must not be negative, but one is " + text(A[i * k + j]));
            }
            sum += A[i * k + j];
        }
        require(std::abs(sum - 1) <= 1e-6,
                std::string(name) + " must sum to 1, but sum to " + text(sum) + ": divide by that");
    }
}

}  // namespace

extern "C" {

fastfs_status fastfs_ikdr_fit(const fastfs_ikdr_kernels* kernels, const int64_t* labels, int64_t n_classes,
                              const fastfs_ikdr_options* options, const fastfs_run* run_, fastfs_ikdr** fitted) {
    return guarded([&] {
        Run run = read_run(run_);
        require_output(run, fitted != nullptr, "fitted is null");
        auto o = read(options, FASTFS_IKDR_OPTIONS_INIT, "options");
        const KernelSource source = read_ikdr_kernels(kernels, o.interpretability == FASTFS_IKDR_DISTANCE, run);
        require_labels(labels, source.n_samples, n_classes);
        o = checked(o, source.n_samples, n_classes);
        require_on_simplex(o.A, source.n_samples, o.n_components, "the columns of the start A");
        require_on_simplex(o.weights, source.n_kernels, 1, "the start's weights");
        *fitted = new fastfs_ikdr{ikdr(source, labels, n_classes, o, run)};
    });
}

fastfs_status fastfs_ikdr_get(const fastfs_ikdr* fitted, int64_t step, fastfs_ikdr_result* result) {
    return guarded([&] {
        require(fitted != nullptr, "fitted is null");
        const Ikdr& fit = fitted->fit;
        require(
            step >= 0 && step < static_cast<int64_t>(fit.steps.size()),
            "there are " + std::to_string(fit.steps.size()) + " lambdas, and none is number " + std::to_string(step));
        require(result != nullptr, "result is null");
        const IkdrResult& f = fit.steps[static_cast<std::size_t>(step)];
        const auto data_or_null = [](const std::vector<double>& v) { return v.empty() ? nullptr : v.data(); };
        fill(result, FASTFS_IKDR_RESULT_INIT, "result", [&](fastfs_ikdr_result& r) {
            r = {sizeof(fastfs_ikdr_result),
                 f.warnings,
                 f.converged,
                 fit.n_samples,
                 fit.n_features,
                 fit.n_kernels,
                 fit.n_classes,
                 fit.n_components,
                 static_cast<int64_t>(f.history.size()),
                 f.lambda,
                 f.objective,
                 f.interpretability,
                 f.similarity,
                 f.history.data(),
                 f.A.data(),
                 f.embedding.data(),
                 f.profile.data(),
                 f.weights.data(),
                 f.prices.data(),
                 data_or_null(fit.deltas),
                 data_or_null(fit.means),
                 data_or_null(fit.scales)};
        });
    });
}

void fastfs_ikdr_free(fastfs_ikdr* fitted) { std::unique_ptr<fastfs_ikdr> owner(fitted); }

fastfs_status fastfs_ikdr_evaluate(const fastfs_matrix* K_, const int64_t* labels, int64_t n_classes,
                                   const fastfs_ikdr_options* options, const double* A, int32_t repeats,
                                   const fastfs_run* run_, double* objective, double* gradient) {
    return guarded([&] {
        const Matrix K = read_matrix(K_);
        require(!K.is_sparse() && K.n_rows() == K.n_cols(), "K must be dense and square, but is " +
                                                                std::to_string(K.n_rows()) + " x " +
                                                                std::to_string(K.n_cols()) + ", or sparse");
        Run run = read_run(run_);
        require(A != nullptr, "A is null");
        require_output(run, objective != nullptr, "objective is null");
        require(repeats >= 1, "repeats must be at least 1, not " + std::to_string(repeats));
        require_labels(labels, K.n_rows(), n_classes);
        const auto o = checked(read(options, FASTFS_IKDR_OPTIONS_INIT, "options"), K.n_rows(), n_classes);
        *objective = ikdr_evaluate(K, labels, n_classes, o, A, repeats, run, gradient);
    });
}

fastfs_status fastfs_ikdr_prices(const fastfs_ikdr_kernels* kernels, const int64_t* labels, int64_t n_classes,
                                 const fastfs_ikdr_options* options, const double* A, const double* weights,
                                 const fastfs_run* run_, double* prices) {
    return guarded([&] {
        Run run = read_run(run_);
        require(A != nullptr && weights != nullptr, "A or weights is null");
        require_output(run, prices != nullptr, "prices is null");
        auto o = read(options, FASTFS_IKDR_OPTIONS_INIT, "options");
        const KernelSource source = read_ikdr_kernels(kernels, o.interpretability == FASTFS_IKDR_DISTANCE, run);
        require_labels(labels, source.n_samples, n_classes);
        o = checked(o, source.n_samples, n_classes);
        require_on_simplex(A, source.n_samples, o.n_components, "the columns of A");
        require_on_simplex(weights, source.n_kernels, 1, "weights");
        ikdr_prices(source, labels, n_classes, o, A, weights, run, prices);
    });
}

fastfs_status fastfs_ikdr_embed(const fastfs_ikdr_model* model, const fastfs_matrix* X_, const fastfs_run* run_,
                                double* out) {
    return guarded([&] {
        Run run = read_run(run_);
        require(model != nullptr, "model is null");
        require_output(run, out != nullptr, "out is null");
        const auto m = read(model, FASTFS_IKDR_MODEL_INIT, "model");
        const Matrix X = read_matrix(X_);
        require(!X.is_sparse(), "X must be dense");
        require_size(m.n_kernels, 1, "the number of kernels");
        require_size(m.n_support, 1, "the number of support samples");
        require_size(m.n_components, 1, "n_components");
        require_fits(X.n_rows(), m.n_components, "an embedding");
        require(m.weights && m.deltas && m.begins && m.features && m.means && m.scales && m.support && m.coefficients,
                "an array of the model is null");
        require(m.begins[0] == 0, "begins must start with 0, but starts with " + std::to_string(m.begins[0]));
        for (std::int64_t kernel = 0; kernel < m.n_kernels; ++kernel) {
            require(m.begins[kernel + 1] >= m.begins[kernel],
                    "begins must not descend, but does after kernel " + std::to_string(kernel));
            require(!(m.weights[kernel] > 0) || m.deltas[kernel] > 0,
                    "a kernel with weight must have a positive delta, but that of kernel " + std::to_string(kernel) +
                        " is " + text(m.deltas[kernel]));
        }
        const std::int64_t width = m.begins[m.n_kernels];
        require_numbers(m.weights, m.n_kernels, "weights", 0);
        require_numbers(m.means, width, "means");
        require_numbers(m.scales, width, "scales", 0);
        require_numbers(m.support, m.n_support * width, "support");
        require_numbers(m.coefficients, m.n_support * m.n_components, "coefficients");
        for (std::int64_t c = 0; c < width; ++c) {
            require(m.features[c] >= 0 && m.features[c] < X.n_cols(),
                    "features must lie in the " + std::to_string(X.n_cols()) + " columns of X, but one is " +
                        std::to_string(m.features[c]));
        }
        ikdr_embed(m, X, run, out);
    });
}

}  // extern "C"
