// I-KDR: projections and the reduced problem against their definitions, fits through fastfs.hpp. Exits with 77
// (skipped) if FASTFS_ISA names a set that this machine hasn't.
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "fastfs/fastfs.hpp"
#include "fastfs/testing.h"
#include "ikdr/simplex.hpp"
#include "tests.hpp"

// The scipy-openblas32 wheel has its own names for the routines.
#define FASTFS_BLAS_SYMBOL(name) scipy_##name##_
#define FASTFS_BLAS_SET_THREADS scipy_openblas_set_num_threads
#define FASTFS_BLAS_GET_THREADS scipy_openblas_get_num_threads
#include "fastfs/link_blas.h"

namespace {

using Numbers = std::vector<double>;
using Labels = std::vector<std::int64_t>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
double uniform() { return std::uniform_real_distribution<double>()(engine); }

// ---- the simplex ----------------------------------------------------------------------------------------------------

void test_projection() {
    for (const std::int64_t n : {1, 2, 3, 17, 500}) {
        for (const double size : {1e-9, 0.1, 1.0, 1e3, 1e12, 1e17, 1e300}) {
            Numbers x(at(n)), work(at(n));
            for (double& v : x) v = size * normal();
            Numbers y = x;
            fastfs::core::project_on_simplex(y.data(), n, work.data());
            const double sum = std::accumulate(y.begin(), y.end(), 0.0);
            CHECK(std::abs(sum - 1) <= 1e-14 * static_cast<double>(n));
            CHECK(*std::min_element(y.begin(), y.end()) >= 0);
            // x - y is one number where y is positive, and not larger elsewhere.
            double level = -kInfinity;
            for (std::size_t i = 0; i < x.size(); ++i) level = y[i] > 0 ? std::max(level, x[i] - y[i]) : level;
            for (std::size_t i = 0; i < x.size(); ++i) {
                CHECK(x[i] - y[i] <= level + 1e-14 * size);
                CHECK(y[i] == 0 || x[i] - y[i] >= level - 1e-14 * static_cast<double>(n) * (1 + size));
            }
        }
    }
    for (const double size : {4.0, -1e17, 1e300}) {
        Numbers equal(9, size), work(9);
        fastfs::core::project_on_simplex(equal.data(), 9, work.data());
        for (double v : equal) CHECK(std::abs(v - 1.0 / 9) <= 1e-16);
    }
}

// Computes scale sum_j |a_j - b_j|^2 / 2: its minimum is the projection of b.
struct Distance : fastfs::core::SimplexFunction {
    Numbers b, last;
    double scale = 1;
    double value(const double* A) override {
        last.assign(A, A + b.size());
        double sum = 0;
        for (std::size_t e = 0; e < b.size(); ++e) sum += 0.5 * (A[e] - b[e]) * (A[e] - b[e]);
        return scale * sum;
    }
    void gradient(double* G) override {
        for (std::size_t e = 0; e < b.size(); ++e) G[e] = scale * (last[e] - b[e]);
    }
};

void test_minimisation() {
    constexpr std::int64_t n = 60, k = 3;
    Distance f;
    f.b.resize(n * k);
    for (double& v : f.b) v = 0.2 * normal();
    Numbers work(n), wanted = f.b;
    for (std::int64_t j = 0; j < k; ++j) fastfs::core::project_on_simplex(&wanted[at(j * n)], n, work.data());
    fastfs::core::Run run(threads(1));
    for (const double scale : {1e-200, 1e-20, 1.0, 1e20, 1e200}) {
        f.scale = scale;
        Numbers A(n * k, 1.0 / n);
        const auto found = fastfs::core::minimize_on_simplex(f, n, k, 1e-13, 500, run, A.data());
        CHECK(found.converged && found.gap <= 1e-13 * found.value);
        for (std::size_t e = 0; e < A.size(); ++e) CHECK(std::abs(A[e] - wanted[e]) <= 1e-6);
        CHECK(std::abs(found.value - f.value(wanted.data())) <= 1e-12 * scale);
    }
}

// ---- the reduced problem --------------------------------------------------------------------------------------------

struct Problem {
    std::int64_t n, C, k;
    Labels y;
    Numbers X, K, A;  // 3 features; Gaussian kernel; columns on the simplex, with zeros

    Problem(std::int64_t n_, std::int64_t C_, std::int64_t k_) : n(n_), C(C_), k(k_), y(at(n_)), A(at(n_ * k_)) {
        for (std::int64_t i = 0; i < n; ++i) y[at(i)] = i < C ? i : below(C);
        for (std::int64_t e = 0; e < 3 * n; ++e) X.push_back(normal());
        K = kernel(X, 3, 4.0);
        for (double& a : A) a = below(3) ? 0 : uniform();
        for (std::int64_t j = 0; j < k; ++j) {
            double sum = A[at(j)] += 0.5;
            for (std::int64_t i = 1; i < n; ++i) sum += A[at(i * k + j)];
            for (std::int64_t i = 0; i < n; ++i) A[at(i * k + j)] /= sum;
        }
    }

    Numbers kernel(const Numbers& values, std::int64_t d, double delta) const {
        Numbers M(at(n * n));
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = 0; j < n; ++j) {
                double square = 0;
                for (std::int64_t f = 0; f < d; ++f) {
                    square += std::pow(values[at(i * d + f)] - values[at(j * d + f)], 2);
                }
                M[at(i * n + j)] = std::exp(-square / delta);
            }
        }
        return M;
    }
};

double evaluate(const fastfs::matrix& K, const std::int64_t* labels, std::int64_t n_classes,
                const fastfs::ikdr_options& options, const double* A, double* gradient = nullptr, int repeats = 1,
                const fastfs::run& how = fastfs::default_run()) {
    double objective = 0;
    fastfs::check(fastfs_ikdr_evaluate(K.get(), labels, n_classes, &options, A, repeats, &how, &objective, gradient));
    return objective;
}

fastfs::ikdr_options options_of(std::int64_t k, double tau, double zeta, int interpretability) {
    auto options = fastfs::default_ikdr_options();
    options.n_components = k;
    options.tau = tau;
    options.zeta = zeta;
    options.mu = 0.4;
    options.interpretability = interpretability;
    return options;
}

// F15 for S and Gamma (k x n), with all its matrices formed.
double relaxed(const Problem& p, const Numbers& S, const Numbers& Gamma, double lambda, double mu, double tau,
               double zeta, bool distance) {
    const std::int64_t n = p.n, k = p.k;
    Numbers B(at(n * k));
    double F = 0, ip = distance ? static_cast<double>(k) : 0;
    for (std::int64_t i = 0; i < n; ++i) {
        double row = 0;
        for (std::int64_t t = 0; t < n; ++t) {
            row += p.K[at(i * n + t)];
            for (std::int64_t j = 0; j < k; ++j) B[at(i * k + j)] += p.K[at(i * n + t)] * p.A[at(t * k + j)];
        }
        for (std::int64_t j = 0; j < k; ++j) {
            const double a = p.A[at(i * k + j)];
            ip += (distance ? 0 : row * a * a) - a * B[at(i * k + j)];
        }
    }
    for (std::int64_t i = 0; i < n; ++i) {
        double us = -1;
        for (std::int64_t t = 0; t < n; ++t) {
            if (p.y[at(t)] == p.y[at(i)]) us += S[at(t * n + i)];
            double AGamma = 0;
            for (std::int64_t j = 0; j < k; ++j) {
                AGamma += p.A[at(t * k + j)] * Gamma[at(j * n + i)];
                if (p.y[at(t)] != p.y[at(i)]) F += lambda * B[at(i * k + j)] * B[at(t * k + j)];
            }
            F += tau * std::pow(S[at(t * n + i)] - AGamma, 2);
        }
        F += us * us;
        for (std::int64_t j = 0; j < k; ++j) F += zeta * std::pow(Gamma[at(j * n + i)] - B[at(i * k + j)], 2);
    }
    return F + mu * ip;
}

// The minimisers over S and Gamma.
void minimisers(const Problem& p, double tau, double zeta, Numbers& S, Numbers& Gamma) {
    const std::int64_t n = p.n, k = p.k;
    for (std::int64_t i = 0; i < n; ++i) {
        Numbers P(at(k)), b(at(k));
        double size = 0, square = 0, fit = 0;
        for (std::int64_t t = 0; t < n; ++t) {
            const bool same = p.y[at(t)] == p.y[at(i)];
            size += same;
            for (std::int64_t j = 0; j < k; ++j) {
                P[at(j)] += same ? p.A[at(t * k + j)] : 0;
                b[at(j)] += p.K[at(i * n + t)] * p.A[at(t * k + j)];
            }
        }
        for (std::int64_t j = 0; j < k; ++j) {
            square += P[at(j)] * P[at(j)];
            fit += P[at(j)] * b[at(j)];
        }
        const double w = tau / (tau + size);
        double u_z = 0;
        for (std::int64_t j = 0; j < k; ++j) {
            Gamma[at(j * n + i)] = b[at(j)] + P[at(j)] * w * (1 - fit) / (zeta + w * square);
            u_z += P[at(j)] * Gamma[at(j * n + i)];
        }
        for (std::int64_t t = 0; t < n; ++t) {
            double z = 0;
            for (std::int64_t j = 0; j < k; ++j) z += p.A[at(t * k + j)] * Gamma[at(j * n + i)];
            S[at(t * n + i)] = z + (p.y[at(t)] == p.y[at(i)] ? (1 - u_z) / (tau + size) : 0);
        }
    }
}

void test_reduced() {
    for (const std::array<std::int64_t, 3>& sizes :
         {std::array<std::int64_t, 3>{2, 2, 1}, {23, 3, 4}, {40, 2, 2}, {70, 7, 5}}) {
        const Problem p(sizes[0], sizes[1], sizes[2]);
        const double n = static_cast<double>(p.n), lambda = 0.7;
        const fastfs::matrix K(p.K.data(), p.n, p.n);
        std::vector<float> single(p.K.begin(), p.K.end());
        const fastfs::matrix K32(single.data(), p.n, p.n, 1, p.n);
        for (const int ip : {FASTFS_IKDR_LAPLACIAN, FASTFS_IKDR_DISTANCE}) {
            Numbers S(at(p.n * p.n)), Gamma(at(p.k * p.n));
            auto options = options_of(p.k, 3.0, 0.8, ip);
            options.lambdas = &lambda;
            options.n_lambdas = 1;
            const auto F = [&](const Numbers& A) { return evaluate(K, p.y.data(), p.C, options, A.data()); };
            const double value = F(p.A);
            minimisers(p, 3.0, 0.8, S, Gamma);
            const bool distance = ip == FASTFS_IKDR_DISTANCE;
            CHECK(std::abs(relaxed(p, S, Gamma, lambda / n, 0.4 / n, 3.0, 0.8, distance) - value) <= 1e-12 * value);
            for (double& s : S) s += 0.01 * normal();
            CHECK(relaxed(p, S, Gamma, lambda / n, 0.4 / n, 3.0, 0.8, distance) > value);

            for (const double tau : {3.0, kInfinity}) {
                for (const double zeta : {0.8, kInfinity}) {
                    options.tau = tau;
                    options.zeta = zeta;
                    Numbers gradient(p.A.size()), threaded = gradient;
                    const double here = evaluate(K, p.y.data(), p.C, options, p.A.data(), gradient.data());
                    CHECK(here == evaluate(K, p.y.data(), p.C, options, p.A.data(), threaded.data(), 2, threads(3)));
                    CHECK(gradient == threaded);
                    const double rounded = evaluate(K32, p.y.data(), p.C, options, p.A.data());
                    CHECK(std::abs(rounded - here) <= 1e-7 * here);
                    Numbers direction(p.A.size()), up = p.A, down = p.A;
                    double slope = 0, size = 0;
                    for (std::size_t e = 0; e < up.size(); ++e) {
                        direction[e] = normal();
                        up[e] += 1e-5 * direction[e];
                        down[e] -= 1e-5 * direction[e];
                        slope += direction[e] * gradient[e];
                        size += std::abs(direction[e] * gradient[e]);
                    }
                    CHECK(std::abs((F(up) - F(down)) / 2e-5 - slope) <= 1e-7 * size);
                }
            }
        }
    }
}

// Enough samples for the loops over K to take threads.
void test_threads_within() {
    const Problem p(1100, 3, 4);
    const fastfs::matrix K(p.K.data(), p.n, p.n);
    auto options = options_of(p.k, kInfinity, kInfinity, FASTFS_IKDR_LAPLACIAN);
    Numbers one(p.A.size()), three = one;
    const double value = evaluate(K, p.y.data(), p.C, options, p.A.data(), one.data(), 1, threads(1));
    CHECK(value == evaluate(K, p.y.data(), p.C, options, p.A.data(), three.data(), 1, threads(3)));
    CHECK(one == three);
}

// ---- fits -----------------------------------------------------------------------------------------------------------

// Three classes that features 5, 17 and 30 tell apart; feature 2 is constant.
template <class T>
struct Planted {
    static constexpr std::int64_t n = 90, d = 40;
    std::vector<T> X;
    Labels y;
    Planted() {
        for (std::int64_t i = 0; i < n; ++i) {
            y.push_back(i * 7 % 3);
            for (std::int64_t f = 0; f < d; ++f) {
                const bool tells =
                    (f == 5 && y.back() == 0) || (f == 17 && y.back() == 1) || (f == 30 && y.back() == 2);
                X.push_back(static_cast<T>(f == 2 ? 7 : 100 * static_cast<double>(f) + normal() + (tells ? 4 : 0)));
            }
        }
    }
    fastfs::matrix matrix() const { return {X.data(), n, d}; }
};

bool same(const fastfs::ikdr_result& a, const fastfs::ikdr_result& b) {
    return a.objective == b.objective && a.n_iter == b.n_iter &&
           std::equal(a.A, a.A + a.n_samples * a.n_components, b.A) &&
           std::equal(a.embedding, a.embedding + a.n_samples * a.n_components, b.embedding) &&
           std::equal(a.weights, a.weights + a.n_kernels, b.weights) &&
           std::equal(a.prices, a.prices + a.n_kernels, b.prices);
}

void check_result(const fastfs::ikdr_result& r) {
    for (std::int64_t j = 0; j < r.n_components; ++j) {
        double sum = 0, profile = 0;
        for (std::int64_t i = 0; i < r.n_samples; ++i) {
            CHECK(r.A[i * r.n_components + j] >= 0);
            sum += r.A[i * r.n_components + j];
        }
        for (std::int64_t q = 0; q < r.n_classes; ++q) profile += r.profile[q * r.n_components + j];
        CHECK(std::abs(sum - 1) <= 1e-12 && std::abs(profile - 1) <= 1e-12);
    }
    CHECK(std::abs(std::accumulate(r.weights, r.weights + r.n_kernels, 0.0) - 1) <= 1e-12);
    CHECK(*std::min_element(r.weights, r.weights + r.n_kernels) >= 0);
    CHECK(*std::min_element(r.prices, r.prices + r.n_kernels) == 0);
    CHECK(r.interpretability >= 1 / static_cast<double>(r.n_classes) && r.interpretability <= 1 + 1e-12);
    for (std::int64_t t = 1; t < r.n_iter; ++t) CHECK(r.history[t] <= r.history[t - 1] * (1 + 1e-12));
    CHECK(r.history[r.n_iter - 1] == r.objective);
}

// The model gives samples of the fit the embedding that the fit gave them.
template <class T>
void check_embedding(const fastfs::ikdr_result& r, const Planted<T>& data, bool one_kernel) {
    constexpr std::int64_t n = Planted<T>::n, d = Planted<T>::d;
    Labels begins{0}, features(at(d));
    std::iota(features.begin(), features.end(), 0);
    for (std::int64_t m = 1; m <= r.n_kernels; ++m) begins.push_back(one_kernel ? d : m);
    Numbers support, coefficients;
    std::int64_t rows = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        const double* a = r.A + i * r.n_components;
        if (*std::max_element(a, a + r.n_components) == 0) continue;
        ++rows;
        coefficients.insert(coefficients.end(), a, a + r.n_components);
        for (std::int64_t f = 0; f < d; ++f) {
            const double deviation = static_cast<double>(data.X[at(i * d + f)]) - r.means[f];
            support.push_back(r.scales[f] > 0 ? deviation / r.scales[f] : 0);
        }
    }
    auto model = fastfs::default_ikdr_model();
    model.n_kernels = r.n_kernels;
    model.weights = r.weights;
    model.deltas = r.deltas;
    model.begins = begins.data();
    model.features = features.data();
    model.means = r.means;
    model.scales = r.scales;
    model.n_support = rows;
    model.support = support.data();
    model.n_components = r.n_components;
    model.coefficients = coefficients.data();
    Numbers B(at(n * r.n_components)), again = B;
    fastfs::ikdr_embed(model, data.matrix(), B.data(), threads(1));
    fastfs::ikdr_embed(model, data.matrix(), again.data(), threads(3));
    CHECK(B == again);
    for (std::size_t e = 0; e < B.size(); ++e) CHECK(std::abs(B[e] - r.embedding[e]) <= 2e-6);
    // A sample far from all samples has an embedding of 0.
    const std::vector<T> far(at(d), std::numeric_limits<T>::max());
    fastfs::ikdr_embed(model, fastfs::matrix(far.data(), 1, d), B.data(), threads(1));
    for (std::int64_t j = 0; j < r.n_components; ++j) CHECK(B[at(j)] == 0);
}

template <class T>
void test_fit() {
    const Planted<T> data;
    const fastfs::matrix X = data.matrix();
    auto options = fastfs::default_ikdr_options();
    const auto kernels = fastfs::ikdr_features(X);
    const auto fitted = fastfs::ikdr(kernels, data.y.data(), 3, options, threads(1));
    const auto& r = *fitted;
    CHECK(r.n_components == 3 && r.n_kernels == Planted<T>::d && r.converged);
    check_result(r);
    CHECK(r.weights[5] + r.weights[17] + r.weights[30] > 0.99);
    CHECK(r.weights[2] == 0 && r.deltas[2] == 0 && r.scales[2] == 0 && std::isinf(r.prices[2]));
    for (std::int64_t m = 0; m < r.n_kernels; ++m) {  // what was left out would cost
        const bool tells = m == 5 || m == 17 || m == 30;
        CHECK(tells || r.weights[m] > 0 || r.prices[m] > 0.1 * r.objective);
        CHECK(r.weights[m] == 0 || r.prices[m] < 1e-2 * r.objective);
    }
    check_embedding(r, data, false);
    const auto on_three = fastfs::ikdr(kernels, data.y.data(), 3, options, threads(3));
    CHECK(same(r, *on_three));

    // Started from its own solution it ends no higher.
    options.A = r.A;
    options.weights = r.weights;
    const auto again = fastfs::ikdr(kernels, data.y.data(), 3, options, threads(2));
    CHECK(again->objective <= r.objective * (1 + 1e-9));

    // One kernel of all, more columns than classes; a path.
    options = fastfs::default_ikdr_options();
    const Numbers lambdas{0.01, 0.1, 1.0};
    options.lambdas = lambdas.data();
    options.n_lambdas = 3;
    options.n_components = 9;
    const auto path = fastfs::ikdr(fastfs::ikdr_features(X, 1), data.y.data(), 3, options, threads(2));
    const auto of_path = fastfs::last_warnings();
    CHECK(path.size() == 3 && !of_path.empty() && of_path[0].code == "many_components");
    CHECK(of_path[0].message.find("for lam=") != std::string::npos);
    for (std::int64_t step = 0; step < 3; ++step) {
        check_result(path[step]);
        check_embedding(path[step], data, true);
        CHECK(path[step].lam == lambdas[at(step)] && path[step].weights[0] == 1);
    }
    CHECK(path[2].objective > path[0].objective);

    options = fastfs::default_ikdr_options();
    options.n_components = 2;
    const auto narrow = fastfs::ikdr(kernels, data.y.data(), 3, options, threads(1));
    CHECK(fastfs::last_warnings().at(0).code == "few_components");
    CHECK(narrow->n_components == 2);

    // The paper's own alternation reaches hardly less, and nothing else.
    options = fastfs::default_ikdr_options();
    options.tau = options.zeta = 10;
    options.max_iter = 60;
    const auto direct = fastfs::ikdr(fastfs::ikdr_features(X, 1), data.y.data(), 3, options, threads(1));
    options.solver = FASTFS_IKDR_ADMM;
    const auto admm = fastfs::ikdr(fastfs::ikdr_features(X, 1), data.y.data(), 3, options, threads(1));
    CHECK(admm->objective >= direct->objective * (1 - 1e-3));
    CHECK(admm->history[0] > admm->objective);
    options.max_iter = 5;
    const auto weighted = fastfs::ikdr(kernels, data.y.data(), 3, options, threads(1));
    CHECK(fastfs::last_warnings().back().code == "not_converged");
    const auto weighted_on_three = fastfs::ikdr(kernels, data.y.data(), 3, options, threads(3));
    CHECK(same(*weighted, *weighted_on_three));
    CHECK(weighted->history[4] < weighted->history[0]);
}

// Prices are the derivatives of F by the weights; kernels of one feature each have the prices that equal matrices have.
void test_prices() {
    Problem p(35, 3, 3);
    Numbers scaled(at(3 * p.n)), matrices;
    for (std::int64_t f = 0; f < 3; ++f) {
        double mean = 0, square = 0;
        for (std::int64_t i = 0; i < p.n; ++i) mean += p.X[at(3 * i + f)] / static_cast<double>(p.n);
        for (std::int64_t i = 0; i < p.n; ++i) square += std::pow(p.X[at(3 * i + f)] - mean, 2);
        Numbers one;
        for (std::int64_t i = 0; i < p.n; ++i) {
            one.push_back((p.X[at(3 * i + f)] - mean) / std::sqrt(square / static_cast<double>(p.n)));
        }
        const auto K = p.kernel(one, 1, 2 * static_cast<double>(p.n) / static_cast<double>(p.n - 1));
        matrices.insert(matrices.end(), K.begin(), K.end());
    }
    const Numbers weights{0.2, 0.5, 0.3};
    for (const int ip : {FASTFS_IKDR_LAPLACIAN, FASTFS_IKDR_DISTANCE}) {
        for (const double zeta : {0.8, kInfinity}) {
            auto options = options_of(p.k, 3.0, zeta, ip);
            const auto F = [&](const Numbers& beta) {
                Numbers K(at(p.n * p.n));
                for (std::size_t m = 0; m < 3; ++m) {
                    for (std::size_t e = 0; e < K.size(); ++e) K[e] += beta[m] * matrices[m * K.size() + e];
                }
                return evaluate(fastfs::matrix(K.data(), p.n, p.n), p.y.data(), p.C, options, p.A.data());
            };
            Numbers prices(3), of_matrices(3);
            const fastfs::matrix X(p.X.data(), p.n, 3);
            const auto price = [&](const fastfs::ikdr_kernels& kernels, Numbers& found) {
                fastfs::check(fastfs_ikdr_prices(&kernels, p.y.data(), p.C, &options, p.A.data(), weights.data(),
                                                 nullptr, found.data()));
            };
            price(fastfs::ikdr_features(X), prices);
            price(fastfs::ikdr_matrices(matrices.data(), 3, p.n), of_matrices);
            for (std::size_t m = 0; m < 3; ++m) {
                Numbers up = weights, down = weights;
                up[m] += 1e-5;
                down[m] -= 1e-5;
                CHECK(std::abs((F(up) - F(down)) / 2e-5 - prices[m]) <= 1e-7 * std::abs(prices[m]));
                CHECK(std::abs(prices[m] - of_matrices[m]) <= 1e-10 * std::abs(prices[m]));
            }
        }
    }
}

void test_refusals() {
    Planted<double> data;
    const fastfs::matrix X = data.matrix();
    const auto refused = [](const std::function<void()>& call) {
        try {
            call();
        } catch (const std::invalid_argument&) {
            return true;
        }
        return false;
    };
    const auto fit = [&](const std::function<void(fastfs::ikdr_options&, fastfs::ikdr_kernels&)>& change) {
        auto options = fastfs::default_ikdr_options();
        auto kernels = fastfs::ikdr_features(X);
        change(options, kernels);
        fastfs::ikdr(kernels, data.y.data(), 3, options);
    };
    using Options = fastfs::ikdr_options;
    using Kernels = fastfs::ikdr_kernels;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<std::function<void(Options&, Kernels&)>> bad = {
        [](Options& o, Kernels&) { o.n_components = 91; },
        [](Options& o, Kernels&) { o.n_components = -1; },
        [](Options& o, Kernels&) { o.mu = -0.1; },
        [&](Options& o, Kernels&) { o.tau = nan; },
        [](Options& o, Kernels&) { o.zeta = -1; },
        [](Options& o, Kernels&) { o.max_iter = 0; },
        [](Options& o, Kernels&) { o.solver = 2; },
        [](Options& o, Kernels&) { o.solver = FASTFS_IKDR_ADMM; },  // needs finite tau and zeta
        [](Options& o, Kernels&) { o.n_lambdas = 0, o.lambdas = &o.mu; },
        [](Options&, Kernels& m) { m.width = FASTFS_WIDTH_GIVEN; },
        [](Options&, Kernels& m) { m.scaling = FASTFS_SCALE_RANGE; },
        [](Options&, Kernels& m) { m.n_kernels = 7; },  // without groups
        [](Options&, Kernels& m) { m.X = nullptr; },
        [&](Options&, Kernels& m) { m.groups = data.y.data(); },  // with a kernel for each feature
    };
    for (std::size_t b = 0; b < bad.size(); ++b) CHECK(refused([&] { fit(bad[b]); }));
    const Numbers flat(at(X.n_rows() * 3), 0.1), weights(at(X.n_cols()), 1.0);
    CHECK(refused([&] { fit([&](Options& o, Kernels&) { o.A = flat.data(); }); }));
    CHECK(refused([&] { fit([&](Options& o, Kernels&) { o.weights = weights.data(); }); }));
    Numbers on_constant(at(X.n_cols()));
    on_constant[2] = 1;
    CHECK(refused([&] { fit([&](Options& o, Kernels&) { o.weights = on_constant.data(); }); }));

    const Problem p(20, 2, 2);
    for (int defect = 0; defect < 4; ++defect) {
        Numbers K = p.K;
        auto options = fastfs::default_ikdr_options();
        if (defect == 0) K[45] = nan;
        if (defect == 1) K[45] += 1e-4;
        if (defect == 2) {
            for (std::int64_t i = 0; i < p.n; ++i) K[at(i * p.n + i)] -= 0.5;
        }
        if (defect == 3) {
            options.interpretability = FASTFS_IKDR_DISTANCE;
            for (double& value : K) value *= 2;
        }
        CHECK(refused([&] { fastfs::ikdr(fastfs::ikdr_matrices(K.data(), 1, p.n), p.y.data(), 2, options); }));
    }
    // Sizes that overflow sums of bytes, also in a question.
    std::int64_t bytes = 0;
    auto question = threads(1);
    question.bytes_needed = &bytes;
    CHECK(refused([&] {
        fastfs::ikdr(fastfs::ikdr_matrices(p.K.data(), std::int64_t{1} << 60, p.n), p.y.data(), 2,
                     fastfs::default_ikdr_options(), question);
    }));

    const std::int64_t begins[] = {0, 1}, feature = 0;
    const double one = 1;
    auto model = fastfs::default_ikdr_model();
    model.n_kernels = model.n_support = model.n_components = 1;
    model.begins = begins;
    model.features = &feature;
    model.weights = model.deltas = model.means = model.scales = model.support = model.coefficients = &one;
    Numbers out(at(X.n_rows()));
    const auto embed = [&] { fastfs::ikdr_embed(model, X, out.data()); };
    CHECK(!refused(embed));
    for (auto part : {&fastfs::ikdr_model::weights, &fastfs::ikdr_model::means, &fastfs::ikdr_model::scales,
                      &fastfs::ikdr_model::support, &fastfs::ikdr_model::coefficients}) {
        model.*part = &nan;
        CHECK(refused(embed));
        model.*part = &one;
    }
    model.n_support = std::int64_t{1} << 60;
    CHECK(refused(embed));

    data.X[77] = nan;
    CHECK(refused([&] { fit([](Options&, Kernels&) {}); }));
    fastfs_fitted* none = nullptr;
    CHECK(fastfs_ikdr_fit(nullptr, nullptr, 2, nullptr, nullptr, nullptr, &none) == FASTFS_EINVAL && none == nullptr);
    fastfs_fitted_free(nullptr);
    bool too_large = false;
    try {
        fastfs::ikdr(fastfs::ikdr_matrices(p.K.data(), 1, p.n), p.y.data(), 2, fastfs::default_ikdr_options(),
                     threads(1, 1000));
    } catch (const fastfs::memory_error&) {
        too_large = true;
    }
    CHECK(too_large);
    bool canceled = false;
    auto how = threads(2);
    how.progress = [](void*, const char*, double) { return 1; };
    auto options = options_of(20, kInfinity, kInfinity, FASTFS_IKDR_LAPLACIAN);
    options.max_inner = options.max_iter = 1000000;
    options.tol = 0;
    const Problem large(400, 3, 20);
    const fastfs::matrix many(large.X.data(), large.n, 3);
    try {
        fastfs::ikdr(fastfs::ikdr_features(many), large.y.data(), 3, options, how);
    } catch (const fastfs::canceled&) {
        canceled = true;
    }
    CHECK(canceled);
}

}  // namespace

int main() {
    if (fastfs_isa() == nullptr) {
        std::printf("skipped: %s\n", fastfs_last_error());
        return 77;
    }
    fastfs::check(fastfs_link_blas());
    test_projection();
    test_minimisation();
    test_reduced();
    test_threads_within();
    test_fit<float>();
    test_fit<double>();
    test_prices();
    test_refusals();
    std::printf("%s: %d failures\n", fastfs_isa(), failures);
    return failures != 0;
}
