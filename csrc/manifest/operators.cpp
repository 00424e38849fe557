#include "manifest/operators.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// With nu = 2 mu - 1, mu the eigenvalues of K1 against S = K1 + K2: the weight sqrt(mu (1 - mu)) of M, and the weight
// 1/2 sqrt(mu (1 - mu)) log(mu / (1 - mu)) of D, continued by 0 at both ends.
double mean_weight(double nu) { return 0.5 * std::sqrt((1 - nu) * (1 + nu)); }
double difference_weight(double nu) { return std::abs(nu) < 1 ? mean_weight(nu) * std::atanh(nu) : 0; }

}  // namespace

void scale_columns(double* W, std::int64_t d, std::int64_t q, const std::vector<double>& factors) {
    for (std::int64_t j = 0; j < q; ++j) {
        for (std::int64_t i = 0; i < d; ++i) W[j * d + i] *= factors[at(j)];
    }
}

Buffer<double> write_mean_components(double* W, const std::vector<double>& nu, std::int64_t d, std::int64_t q,
                                     double* M, Buffer<double> spare, Run& run, Outcome& outcome) {
    std::vector<double> root(nu.begin(), nu.begin() + q);
    for (double& r : root) r = std::sqrt(mean_weight(r));
    scale_columns(W, d, q, root);
    syrk(d, q, 1.0, W, 0.0, M, run);
    run.checkpoint(0.2);
    spare = largest_eigenpairs(d, M, outcome.n_components, outcome.mean_values, outcome.mean_vectors, run,
                               std::move(spare));
    for (double& r : root) r = r > 0 ? 1 / r : 0;
    scale_columns(W, d, q, root);
    return spare;
}

void weighted_squares(double* W, const std::vector<double>& weights, std::int64_t d, double* D, Run& run) {
    std::vector<double> roots = weights;
    for (double& w : roots) w = std::sqrt(std::abs(w));
    const auto q = static_cast<std::int64_t>(weights.size());
    scale_columns(W, d, q, roots);
    std::int64_t negative = q;
    while (negative > 0 && weights[at(negative - 1)] >= 0) --negative;
    syrk(d, negative, -1.0, W, 0.0, D, run);
    syrk(d, q - negative, 1.0, W + negative * d, 1.0, D, run);
}

void difference_operator(double* W, const std::vector<double>& nu, std::int64_t d, std::int64_t q, double* D,
                         Run& run) {
    std::vector<double> weights(nu.begin(), nu.begin() + q);
    for (double& w : weights) w = difference_weight(w);
    weighted_squares(W, weights, d, D, run);
}

void write_difference_scores(std::int64_t d, double* D, Buffer<double> spare, Run& run, Outcome& outcome) {
    const std::int64_t k = outcome.n_components;
    std::vector<double> diagonal(at(d));
    for (std::int64_t j = 0; j < d; ++j) diagonal[at(j)] = D[j * d + j];
    SymmetricEigen eigen(d, D, run, std::move(spare));
    const std::vector<double>& lam = eigen.values();
    const std::int64_t negative = std::lower_bound(lam.begin(), lam.end(), 0.0) - lam.begin();
    const bool use_positive = 2 * negative >= d;
    const std::int64_t low = std::max(use_positive ? 0 : negative, std::min(k, d)),
                       high = std::max(low, std::min(use_positive ? negative : d, d - k));
    eigen.make_vectors(0, low, run);
    eigen.make_vectors(high, d, run);

    double* r = outcome.scores.data();
    for (std::int64_t j = 0; j < d; ++j) r[j] = use_positive ? -diagonal[at(j)] : diagonal[at(j)];
    for (std::int64_t i = use_positive ? negative : 0; i < (use_positive ? d : negative); ++i) {
        const double weight = 2 * std::abs(lam[at(i)]);
        const double* P = eigen.vector(i);
        for (std::int64_t j = 0; j < d; ++j) r[j] += weight * P[j] * P[j];
    }
    for (std::int64_t j = 0; j < d; ++j) r[j] = std::max(r[j], 0.0);

    difference_components(lam, [&](std::int64_t i) { return eigen.vector(i); }, d, outcome);
}

void check_contrast(std::int64_t n, double diagonal, double eps, Outcome& outcome) {
    const double largest = *std::max_element(outcome.scores.begin(), outcome.scores.end());
    if (!std::isfinite(largest)) {
        throw NumericError(
            "products of kernels must be finite; got NaN or infinity, as very large values of a kernel make it: scale "
            "them");
    }
    const double rounding = nu_rounding(n), nu = outcome.steepest;
    const double at_the_end = difference_weight(nu - rounding) - difference_weight(nu + rounding);
    if (largest <= diagonal * std::max({static_cast<double>(n) * eps, rounding, at_the_end})) {
        outcome.warnings |= kProblemFlat;
    }
}

double steepest(const std::vector<double>& nu, std::int64_t n) {
    return static_cast<std::int64_t>(nu.size()) < n ? 1 : std::max(-nu.front(), nu.back());
}

void pencil_form(std::int64_t d, Buffer<double> K1, Buffer<double> S, Run& run, Outcome& outcome) {
    parallel_for(run, d, [&](std::int64_t i, int) {  // K1, K2 (in S) -> K1 - K2, S = K1 + K2
        for (std::int64_t j = i; j < d; ++j) {
            const double k1 = K1[i * d + j], k2 = S[i * d + j];
            K1[i * d + j] = k1 - k2;
            S[i * d + j] = k1 + k2;
        }
    });
    // The shares of time were measured at d = 2000.
    run.step("pencil of the class kernels", 0.55);
    Pencil classes = pencil(d, K1.data(), S, run);
    const auto q = static_cast<std::int64_t>(classes.nu.size());
    outcome.rank = q;
    outcome.steepest = steepest(classes.nu, d);

    if (outcome.n_components > 0) {
        run.step("components of the mean", 0.6);
        K1 = write_mean_components(classes.W.data(), classes.nu, d, q, S.data(), std::move(K1), run, outcome);
    }

    run.step("difference operator", 0.65);
    difference_operator(classes.W.data(), classes.nu, d, q, S.data(), run);
    classes.W = Buffer<double>();

    run.step("eigenvectors of the difference", 1.0);
    write_difference_scores(d, S.data(), std::move(K1), run, outcome);
}

}  // namespace fastfs::core
