// The core without Python, for the sanitizers: engines against plain loops, ManiFeSt's invariants, the C interface with
// every kind of bad argument, threads that call at once, cancel, fork. Exits with 77 (skipped) if FASTFS_ISA names a
// set that this machine hasn't.
#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

// The symbols of the scipy-openblas32 wheel.
#define FASTFS_BLAS_SYMBOL(name) scipy_##name##_
#define FASTFS_BLAS_SET_THREADS scipy_openblas_set_num_threads
#define FASTFS_BLAS_GET_THREADS scipy_openblas_get_num_threads

#include "disc/operators.hpp"
#include "engines/isa/tiles.hpp"
#include "engines/spectral.hpp"
#include "fastfs/fastfs.hpp"
#include "fastfs/link_blas.h"
#include "manifest/low_rank.hpp"
#include "results.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"
#include "support/random.hpp"

namespace {

int failures = 0;

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            ++failures;                                                          \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
        }                                                                        \
    } while (false)

template <class T>
std::vector<T> random_values(std::size_t n, unsigned seed, double offset = 0, double scale = 1) {
    std::mt19937 engine(seed);
    std::normal_distribution<double> normal;
    std::vector<T> values(n);
    for (T& v : values) v = static_cast<T>(offset + scale * normal(engine));
    return values;
}

fastfs::run threads(int n) {
    auto how = fastfs::default_run();
    how.n_threads = n;
    return how;
}

// Returns |x_i - x_j|^2 of row-major X, in long double.
template <class T>
long double squared_distance(const std::vector<T>& X, std::int64_t n, std::int64_t d, std::int64_t i, std::int64_t j) {
    long double sum = 0;
    for (std::int64_t r = 0; r < n; ++r) {
        const auto k = static_cast<std::size_t>(r * d);
        const long double difference = static_cast<long double>(X[k + static_cast<std::size_t>(i)]) -
                                       static_cast<long double>(X[k + static_cast<std::size_t>(j)]);
        sum += difference * difference;
    }
    return sum;
}

// The exponential of every kernel set is within 2 ulp over its range, 0 below it, and exactly 1 at 0.
template <class T>
void test_exp() {
    const auto& kernels = fastfs::core::tile_kernels<T>();
    const double lowest = sizeof(T) == 4 ? 87 : 708;
    std::vector<T> x;
    for (int i = 0; i <= 100000; ++i) x.push_back(static_cast<T>(lowest * i / 100000.0));
    std::vector<T> y = x;
    kernels.exp_neg(y.data(), static_cast<std::int64_t>(y.size()), T(1));
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const long double exact = std::exp(-static_cast<long double>(x[i]));
        worst = std::max(worst, static_cast<double>(std::abs((static_cast<long double>(y[i]) - exact) / exact)) /
                                    static_cast<double>(std::numeric_limits<T>::epsilon()));
    }
    CHECK(worst <= 2);
    CHECK(y[0] == T(1));
    T far[2] = {static_cast<T>(2 * lowest), std::numeric_limits<T>::infinity()};
    kernels.exp_neg(far, 2, T(1));
    CHECK(far[0] == 0 && far[1] == 0);
}

template <class T>
void test_affinity() {
    const double eps = std::numeric_limits<T>::epsilon();
    for (std::int64_t d : {1, 2, 47, 49, 191, 192, 193, 385}) {
        for (std::int64_t n : {1, 7, 40}) {
            const auto X = random_values<T>(static_cast<std::size_t>(n * d), 1, 100.0);
            const double sigma = std::sqrt(static_cast<double>(n));
            std::vector<T> K(static_cast<std::size_t>(d * d)), again = K;
            fastfs::affinity({X.data(), n, d}, fastfs::rbf(sigma), K.data(), threads(1));
            fastfs::affinity({X.data(), n, d}, fastfs::rbf(sigma), again.data(), threads(3));
            CHECK(K == again);
            double worst = 0;
            for (std::int64_t i = 0; i < d; i += 3) {
                for (std::int64_t j = 0; j < d; ++j) {
                    const double exact =
                        std::exp(-static_cast<double>(squared_distance(X, n, d, i, j)) / (2 * sigma * sigma));
                    worst =
                        std::max(worst, std::abs(exact - static_cast<double>(K[static_cast<std::size_t>(i * d + j)])));
                }
            }
            // The exponent is a difference of sums near 4 and inherits their rounding: a handful of eps in all.
            CHECK(worst <= 16 * eps);
        }
    }
}

void test_streamed_product() {
    const std::int64_t n = 30, d = 300, p = 3;
    const auto X = random_values<double>(static_cast<std::size_t>(n * d), 2),
               V = random_values<double>(static_cast<std::size_t>(d * p), 3);
    std::vector<double> K(static_cast<std::size_t>(d * d)), product(V.size());
    fastfs::affinity({X.data(), n, d}, fastfs::rbf(4), K.data());
    fastfs::affinity_product({X.data(), n, d}, fastfs::rbf(4), V.data(), p, product.data(), threads(2));
    for (std::int64_t i = 0; i < d; ++i) {
        for (std::int64_t c = 0; c < p; ++c) {
            double sum = 0, size = 0;
            for (std::int64_t j = 0; j < d; ++j) {
                const double term = K[static_cast<std::size_t>(i * d + j)] * V[static_cast<std::size_t>(j * p + c)];
                sum += term;
                size += std::abs(term);
            }
            CHECK(std::abs(sum - product[static_cast<std::size_t>(i * p + c)]) <= 300 * 2.3e-16 * size);
        }
    }
}

// exp(-|x_i - x_j| / sigma), as the documents have it; user counts the values.
void laplacian(double* tile, std::int64_t ld, std::int64_t n_rows, std::int64_t n_cols, const double*, const double*,
               double sigma, void* user) {
    for (std::int64_t i = 0; i < n_rows; ++i) {
        for (std::int64_t j = 0; j < n_cols; ++j) tile[i * ld + j] = std::exp(-std::sqrt(tile[i * ld + j]) / sigma);
    }
    if (user) *static_cast<std::atomic<std::int64_t>*>(user) += n_rows * n_cols;
}

void test_custom_kernel() {
    for (std::int64_t d : {1, 192, 193, 400}) {
        const std::int64_t n = 9;
        const auto X = random_values<float>(static_cast<std::size_t>(n * d), 7, 100.0);
        std::vector<float> K(static_cast<std::size_t>(d * d)), again = K, sums(static_cast<std::size_t>(d));
        std::atomic<std::int64_t> values{0};
        const auto kernel = fastfs::custom(laplacian, 2.0, &values);
        fastfs::affinity({X.data(), n, d}, kernel, K.data(), threads(1));
        CHECK(values >= d * (d + 1) / 2);
        fastfs::affinity({X.data(), n, d}, kernel, again.data(), threads(3));
        CHECK(K == again);
        const std::vector<float> ones(static_cast<std::size_t>(d), 1.0f);
        fastfs::affinity_product({X.data(), n, d}, kernel, ones.data(), 1, sums.data(), threads(3));
        for (std::int64_t i = 0; i < d; ++i) {
            double sum = 0;
            for (std::int64_t j = 0; j < d; ++j) {
                const auto distance = std::sqrt(squared_distance(X, n, d, i, j));
                const double exact = std::exp(-static_cast<double>(distance) / 2);
                CHECK(std::abs(exact - static_cast<double>(K[static_cast<std::size_t>(i * d + j)])) <= 1e-7);
                sum += exact;
            }
            CHECK(std::abs(sum - static_cast<double>(sums[static_cast<std::size_t>(i)])) <= 1e-6 * sum);
        }
    }
}

void test_sparse_and_chunks() {
    const std::int64_t n = 50, d = 300;
    auto X = random_values<double>(static_cast<std::size_t>(n * d), 4);
    for (double& x : X) x = x > 1.2 ? x : 0;
    std::vector<double> values;
    std::vector<std::int32_t> columns, begins{0};
    for (std::int64_t r = 0; r < n; ++r) {
        for (std::int64_t c = 0; c < d; ++c) {
            if (X[static_cast<std::size_t>(r * d + c)] != 0) {
                values.push_back(X[static_cast<std::size_t>(r * d + c)]);
                columns.push_back(static_cast<std::int32_t>(c));
            }
        }
        begins.push_back(static_cast<std::int32_t>(values.size()));
    }
    std::vector<double> dense(static_cast<std::size_t>(d * d)), sparse = dense, chunked = dense;
    fastfs::affinity({X.data(), n, d}, fastfs::sqeuclidean(), dense.data());
    fastfs::affinity(fastfs::matrix::csr(values.data(), columns.data(), begins.data(), n, d), fastfs::sqeuclidean(),
                     sparse.data());
    fastfs::stream gram = fastfs::gram_stream(d), other = fastfs::gram_stream(d);
    gram.update({X.data(), 20, d});
    other.update({X.data() + 20 * d, n - 20, d});
    gram.merge(other);
    CHECK(gram.state().n_rows == n);
    fastfs::gram_stream_finish(gram, fastfs::sqeuclidean(), chunked.data());
    double largest = 0, worst = 0;
    for (std::size_t e = 0; e < dense.size(); ++e) {
        largest = std::max(largest, dense[e]);
        worst = std::max({worst, std::abs(dense[e] - sparse[e]), std::abs(dense[e] - chunked[e])});
    }
    CHECK(worst <= 64 * 2.3e-16 * largest);
}

// Decomposes A = U diag(s) V' of matrices with given singular values, which may be equal, near the rounding of the
// largest, or 0.
void test_singular_vectors() {
    namespace core = fastfs::core;
    const auto basis = [](std::int64_t n, unsigned seed) {
        auto A = random_values<double>(static_cast<std::size_t>(n * n), seed);
        core::Run run(threads(1));
        core::SymmetricEigen eigen(n, A.data(), run);
        eigen.make_vectors(0, n, run);
        return std::vector<double>(eigen.vector(0), eigen.vector(0) + n * n);
    };
    // Returns the largest entry of A diag(w) B' - C, or of A' B - C.
    const auto apart = [](std::int64_t n, const std::vector<double>& A, const double* w, const std::vector<double>& B,
                          auto&& C) {
        double worst = 0;
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = 0; j < n; ++j) {
                double sum = 0;
                for (std::int64_t k = 0; k < n; ++k) {
                    sum += w ? A[static_cast<std::size_t>(k * n + i)] * w[k] * B[static_cast<std::size_t>(k * n + j)]
                             : A[static_cast<std::size_t>(i * n + k)] * B[static_cast<std::size_t>(j * n + k)];
                }
                worst = std::max(worst, std::abs(sum - C(i, j)));
            }
        }
        return worst;
    };
    const auto identity = [](std::int64_t i, std::int64_t j) { return i == j ? 1.0 : 0.0; };
    for (std::int64_t n : {1, 2, 60, 130}) {
        const auto left = basis(n, 31), right = basis(n, 32);
        for (int spectrum = 0; spectrum < 6; ++spectrum) {
            std::vector<double> values;
            for (std::int64_t k = 0; k < n; ++k) {
                const double share = static_cast<double>(k) / static_cast<double>(n);
                const double of[] = {1,
                                     std::pow(10.0, -20 * share),
                                     share < 0.5 ? 1.0 : 0.0,
                                     share < 0.3   ? 1.0
                                     : share < 0.6 ? 1e-9
                                                   : 1e-12,
                                     1e-30 * (1 - share),
                                     0};
                values.push_back(of[spectrum]);
            }
            std::vector<double> A(left.size()), U(A), V(A), s(values.size());
            for (std::int64_t i = 0; i < n; ++i) {
                for (std::int64_t j = 0; j < n; ++j) {
                    for (std::size_t k = 0; k < values.size(); ++k) {
                        A[static_cast<std::size_t>(j * n + i)] +=
                            left[k * values.size() + static_cast<std::size_t>(i)] * values[k] *
                            right[k * values.size() + static_cast<std::size_t>(j)];
                    }
                }
            }
            auto destroyed = A;
            core::Run run(threads(2));
            core::singular_vectors(n, destroyed.data(), s.data(), U.data(), V.data(), run);
            const double rounding = 1e-15 * static_cast<double>(n);
            CHECK(apart(n, U, nullptr, U, identity) <= 10 * rounding);
            CHECK(apart(n, V, nullptr, V, identity) <= 10 * rounding);
            CHECK(apart(n, U, s.data(), V, [&](std::int64_t i, std::int64_t j) {
                      return A[static_cast<std::size_t>(j * n + i)];
                  }) <= 10 * rounding * values.front());
            for (std::size_t k = 0; k < s.size(); ++k)
                CHECK(std::abs(s[k] - values[k]) <= 10 * rounding * values.front());
        }
    }
}

// Eigenpairs from either algorithm, complete or in part, and both routes of the pencil.
void test_spectral() {
    namespace core = fastfs::core;
    for (std::int64_t n : {1, 2, 3, 97, 98, 230}) {
        const auto G = random_values<double>(static_cast<std::size_t>(n * n), 5);
        std::vector<double> A(G.size());
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = 0; j < n; ++j) {
                A[static_cast<std::size_t>(j * n + i)] =
                    (G[static_cast<std::size_t>(j * n + i)] + G[static_cast<std::size_t>(i * n + j)]) / 2;
            }
        }
        auto destroyed = A;
        core::Run run(threads(2));
        core::SymmetricEigen eigen(n, destroyed.data(), run);
        eigen.make_vectors(0, n / 2, run);
        eigen.make_vectors(n / 2, n, run);
        double worst = 0;
        for (std::int64_t k = 0; k < n; ++k) {  // A v = w v
            for (std::int64_t i = 0; i < n; ++i) {
                double sum = 0;
                for (std::int64_t j = 0; j < n; ++j) sum += A[static_cast<std::size_t>(j * n + i)] * eigen.vector(k)[j];
                worst =
                    std::max(worst, std::abs(sum - eigen.values()[static_cast<std::size_t>(k)] * eigen.vector(k)[i]));
            }
        }
        CHECK(worst <= 1e-13 * static_cast<double>(n));

        std::vector<double> w(1), v(static_cast<std::size_t>(n));
        destroyed = A;
        core::largest_eigenpairs(n, destroyed.data(), 1, w.data(), v.data(), run);
        CHECK(std::abs(w[0] - eigen.values().back()) <= 1e-13 * static_cast<double>(n));
    }
    for (bool singular : {false, true}) {
        const std::int64_t n = 120, m = singular ? 40 : 300;
        const auto F = random_values<double>(static_cast<std::size_t>(n * m), 6),
                   H = random_values<double>(static_cast<std::size_t>(n * m), 7);
        std::vector<double> K1(static_cast<std::size_t>(n * n)), K2 = K1;
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = 0; j < n; ++j) {
                for (std::int64_t k = 0; k < m; ++k) {
                    K1[static_cast<std::size_t>(j * n + i)] +=
                        F[static_cast<std::size_t>(k * n + i)] * F[static_cast<std::size_t>(k * n + j)];
                    K2[static_cast<std::size_t>(j * n + i)] +=
                        H[static_cast<std::size_t>(k * n + i)] * H[static_cast<std::size_t>(k * n + j)];
                }
            }
        }
        auto W = K1, destroyed = K2;
        std::vector<double> nu(static_cast<std::size_t>(n));
        const auto rank = fastfs::pencil(n, W.data(), destroyed.data(), nu.data(), threads(2));
        CHECK(rank == (singular ? 80 : 120));
        double worst = 0;
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = 0; j < n; ++j) {
                double sum = 0, difference = 0;
                for (std::int64_t k = 0; k < rank; ++k) {
                    const double term = W[static_cast<std::size_t>(k * n + i)] * W[static_cast<std::size_t>(k * n + j)];
                    sum += term;
                    difference += nu[static_cast<std::size_t>(k)] * term;
                }
                const auto e = static_cast<std::size_t>(j * n + i);
                worst = std::max({worst, std::abs(sum - K1[e] - K2[e]), std::abs(difference - K1[e] + K2[e])});
            }
        }
        CHECK(worst <= 1e-11 * static_cast<double>(m));
    }
}

// H diag(w) H with a Householder reflection H = I - 2 u u': every spectrum, and its eigenvectors are the columns of H.
struct Reflected {
    std::vector<double> w, u;
    explicit Reflected(std::vector<double> values) : w(std::move(values)), u(random_values<double>(w.size(), 21)) {
        double square = 0;
        for (double x : u) square += x * x;
        for (double& x : u) x /= std::sqrt(square);
    }
    void reflect(double* x, std::int64_t stride) const {
        double dot = 0;
        for (std::size_t i = 0; i < u.size(); ++i) dot += u[i] * x[static_cast<std::int64_t>(i) * stride];
        for (std::size_t i = 0; i < u.size(); ++i) x[static_cast<std::int64_t>(i) * stride] -= 2 * dot * u[i];
    }
    void apply(const double* X, double* Y) const {
        const std::int64_t b = fastfs::core::kBlock, n = static_cast<std::int64_t>(w.size());
        std::copy(X, X + n * b, Y);
        for (std::int64_t c = 0; c < b; ++c) {
            reflect(Y + c, b);
            for (std::int64_t i = 0; i < n; ++i) Y[i * b + c] *= w[static_cast<std::size_t>(i)];
            reflect(Y + c, b);
        }
    }
};

// Cuts problems where a cancel can be noticed, down to the size `whole`: every size about a cut, and spectra from which
// much or nothing is left after the halves, against the eigenvalues that define them and LAPACK's single call.
void test_cut_problems() {
    namespace core = fastfs::core;
    const std::function<double(double, double)> spectra[] = {
        [](double i, double n) { return std::sin(7 * i) - i / n; },                     // spread
        [](double, double) { return -3.0; },                                            // one value
        [](double i, double) { return std::fmod(i, 3) - 1; },                           // three
        [](double i, double n) { return i < n / 2 ? 1 + 1e-15 * i : 1 - 1e-7 * i; },    // clusters
        [](double i, double n) { return std::pow(10, -16 * i / n); },                   // graded
        [](double i, double n) { return i < n / 4 ? 1 + i : 0; },                       // of low rank
        [](double i, double n) { return 1e-160 * (i < n / 4 ? 1 + i : 1e-150 / n); }};  // whose squares vanish
    for (const auto& spectrum : spectra) {
        for (const std::int64_t n : {1, 2, 3, 31, 32, 33, 66, 200}) {
            std::vector<double> w(static_cast<std::size_t>(n));
            for (std::int64_t i = 0; i < n; ++i) w[static_cast<std::size_t>(i)] = spectrum(double(i), double(n));
            const Reflected reflected(w);
            std::sort(w.begin(), w.end());
            const double largest = std::max(std::abs(w.front()), std::abs(w.back()));
            std::vector<double> A(static_cast<std::size_t>(n * n));
            for (std::int64_t j = 0; j < n; ++j) {
                double* column = A.data() + j * n;
                column[j] = 1;
                reflected.reflect(column, 1);
                for (std::int64_t i = 0; i < n; ++i) column[i] *= reflected.w[static_cast<std::size_t>(i)];
                reflected.reflect(column, 1);
            }
            for (const std::int64_t whole : {2, 3, 16, 50, 1000}) {
                const double allowed = 8 * 2.3e-16 * double(n);
                auto first = A, second = A;
                core::Run one(threads(1)), two(threads(2));
                core::SymmetricEigen eigen(n, first.data(), one, {}, whole), again(n, second.data(), two, {}, whole);
                for (auto [made, run] : {std::pair(&eigen, &one), std::pair(&again, &two)}) {
                    made->make_vectors(n / 3, n, *run);
                    made->make_vectors(0, n / 3, *run);
                }
                CHECK(eigen.values() == again.values());
                CHECK(std::equal(eigen.vector(0), eigen.vector(n), again.vector(0)));
                double values = 0, residual = 0, product = 0;
                for (std::int64_t k = 0; k < n; ++k) {
                    const double *v = eigen.vector(k), value = eigen.values()[static_cast<std::size_t>(k)];
                    CHECK(k == 0 || value >= eigen.values()[static_cast<std::size_t>(k - 1)]);
                    values = std::max(values, std::abs(value - w[static_cast<std::size_t>(k)]));
                    for (std::int64_t i = 0; i < n; ++i) {
                        double sum = -value * v[i], dot = i == k ? -1 : 0;
                        for (std::int64_t j = 0; j < n; ++j) {
                            sum += A[static_cast<std::size_t>(j * n + i)] * v[j];
                            dot += eigen.vector(i)[j] * v[j];
                        }
                        residual = std::max(residual, std::abs(sum));
                        product = std::max(product, std::abs(dot));
                    }
                }
                CHECK(values <= allowed * largest && residual <= allowed * largest && product <= allowed);
            }
        }
    }
}

void test_leading_pairs() {
    namespace core = fastfs::core;
    auto check = [](const std::vector<double>& spectrum, std::int64_t k) {
        const Reflected A(spectrum);
        const auto n = static_cast<std::int64_t>(spectrum.size());
        const core::BlockOperator apply = [&](const double* X, double* Y) { A.apply(X, Y); };
        core::Run one(threads(1)), three(threads(3));
        const auto pairs = core::leading_pairs(n, k, k, apply, {1e-12, 1e-6}, 3, one);
        const auto again = core::leading_pairs(n, k, k, apply, {1e-12, 1e-6}, 3, three);
        CHECK(pairs.values == again.values && pairs.vectors == again.vectors);
        CHECK(pairs.converged);
        auto sorted = spectrum;
        std::sort(sorted.begin(), sorted.end(), std::greater<>());
        double largest = 0, worst = 0, residual = 0, product = 0;
        for (double w : spectrum) largest = std::max(largest, std::abs(w));
        std::vector<double> X(static_cast<std::size_t>(n * core::kBlock)), Y = X;
        for (std::int64_t j = 0; j < k; ++j) {
            const double w = pairs.values[static_cast<std::size_t>(j)], *v = pairs.vectors.data() + j * n;
            worst = std::max(worst, std::abs(w - sorted[static_cast<std::size_t>(j)]));
            std::fill(X.begin(), X.end(), 0.0);
            for (std::int64_t i = 0; i < n; ++i) X[static_cast<std::size_t>(i * core::kBlock)] = v[i];
            A.apply(X.data(), Y.data());
            double square = 0;
            for (std::int64_t i = 0; i < n; ++i) {
                const double r = Y[static_cast<std::size_t>(i * core::kBlock)] - w * v[i];
                square += r * r;
            }
            residual = std::max(residual, std::sqrt(square));
            for (std::int64_t l = 0; l <= j; ++l) {
                double dot = l == j ? -1 : 0;
                for (std::int64_t i = 0; i < n; ++i) dot += v[i] * pairs.vectors[static_cast<std::size_t>(l * n + i)];
                product = std::max(product, std::abs(dot));
            }
        }
        CHECK(worst <= 1e-13 * largest + 1e-300);
        CHECK(residual <= 2e-12 * largest + 1e-300);
        CHECK(product <= 1e-13);
    };
    auto spectrum = [](std::size_t n, auto&& f) {
        std::vector<double> w(n);
        for (std::size_t i = 0; i < n; ++i) w[i] = f(static_cast<double>(i));
        return w;
    };
    for (std::size_t n : {1u, 5u, 60u})
        check(spectrum(n, [](double i) { return 1 / (1 + i); }), static_cast<std::int64_t>(n));
    check(spectrum(1001, [](double i) { return 1 / (1 + i); }), 12);
    check(spectrum(1500, [](double i) { return 1 - i / 1500; }), 22);
    check(spectrum(900, [](double i) { return -1e150 * (1 + i); }), 5);
    check(spectrum(700, [](double i) { return i < 50 ? 1 : 0.5 - i * 1e-4; }), 22);                 // 50 copies of 1
    check(spectrum(700, [](double i) { return i < 13 ? 1 : 0.5 - i * 1e-4; }), 22);                 // 13 of them
    check(spectrum(800, [](double i) { return 1 - std::floor(i / 9) * 0.01; }), 30);                // each 9 times
    check(spectrum(600, [](double i) { return i < 3 ? 1 - i * 0.3 : 0; }), 10);                     // of rank 3
    check(spectrum(600, [](double) { return 0.0; }), 4);                                            // nothing
    check(spectrum(600, [](double i) { return i < 4 ? 1 : i < 9 ? 1 - 1e-9 * i : 0.5 / i; }), 12);  // a tight cluster
}

void test_block_products() {
    namespace core = fastfs::core;
    constexpr std::int64_t b = core::kBlock;
    core::Run run(threads(2));
    for (std::int64_t n : {1, 7, 8, 65, 600, 1100}) {
        const std::int64_t m = n / 2 + 1, ld = m + 3;
        const auto V = random_values<double>(static_cast<std::size_t>(n * ld), 8),
                   X = random_values<double>(static_cast<std::size_t>(n * b), 9);
        std::vector<double> H(static_cast<std::size_t>(m * b)), rest = X;
        core::inner_products(n, m, V.data(), ld, X.data(), H.data(), run);
        core::subtract_product(n, m, V.data(), ld, H.data(), rest.data(), run);
        double worst = 0;
        for (std::int64_t c = 0; c < b; ++c) {
            std::vector<double> expected(static_cast<std::size_t>(m));
            for (std::int64_t j = 0; j < m; ++j) {
                double sum = 0;
                for (std::int64_t i = 0; i < n; ++i)
                    sum += V[static_cast<std::size_t>(i * ld + j)] * X[static_cast<std::size_t>(i * b + c)];
                expected[static_cast<std::size_t>(j)] = sum;
                worst = std::max(
                    worst, std::abs(sum - H[static_cast<std::size_t>(j * b + c)]) / std::sqrt(static_cast<double>(n)));
            }
            for (std::int64_t i = 0; i < n; ++i) {
                double sum = X[static_cast<std::size_t>(i * b + c)];
                for (std::int64_t j = 0; j < m; ++j)
                    sum -= V[static_cast<std::size_t>(i * ld + j)] * expected[static_cast<std::size_t>(j)];
                worst =
                    std::max(worst, std::abs(sum - rest[static_cast<std::size_t>(i * b + c)]) / static_cast<double>(n));
            }
        }
        CHECK(worst <= 1e-13);

        // A sparse matrix and its dense copy; some rows are empty.
        std::vector<double> dense(static_cast<std::size_t>(n * n));
        core::SparseSymmetric A;
        A.n = n;
        A.begins = core::Buffer<std::int64_t>(n + 1);
        A.columns = core::Buffer<std::int32_t>(n * n);
        A.values = core::Buffer<double>(n * n);
        std::int64_t at = A.begins[0] = 0;
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = 0; j < n; ++j) {
                if (i % 5 == 1 || j % 5 == 1 || (i * j) % 7 != 2) continue;
                dense[static_cast<std::size_t>(i * n + j)] = A.values[at] = std::sin(static_cast<double>(i + j));
                A.columns[at++] = static_cast<std::int32_t>(j);
            }
            A.begins[i + 1] = at;
        }
        std::vector<double> from_sparse(X.size()), from_dense(X.size());
        A.multiply(X.data(), from_sparse.data(), run);
        // A block in single precision gives equal bits.
        const std::vector<float> single(X.begin(), X.end());
        const std::vector<double> rounded(single.begin(), single.end());
        std::vector<double> from_single(X.size()), from_rounded(X.size());
        A.multiply(single.data(), from_single.data(), run);
        A.multiply(rounded.data(), from_rounded.data(), run);
        CHECK(from_single == from_rounded);
        core::Buffer<double> copy(n * n);
        std::copy(dense.begin(), dense.end(), copy.data());
        const core::DenseSymmetric B(n, std::move(copy), run);
        B.multiply(X.data(), from_dense.data(), run);
        bool same = B.n() == n;
        for (std::int64_t e = 0; e < n * n; ++e) same = same && B(e / n, e % n) == dense[static_cast<std::size_t>(e)];
        CHECK(same);
        worst = 0;
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t c = 0; c < b; ++c) {
                const auto e = static_cast<std::size_t>(i * b + c);
                double sum = 0;
                for (std::int64_t j = 0; j < n; ++j)
                    sum += dense[static_cast<std::size_t>(i * n + j)] * X[static_cast<std::size_t>(j * b + c)];
                worst = std::max({worst, std::abs(sum - from_sparse[e]), std::abs(sum - from_dense[e])});
            }
        }
        CHECK(worst <= 1e-13 * std::sqrt(static_cast<double>(n)));
    }
}

// The generator is the published one, and draws no number twice.
void test_random() {
    fastfs::core::Random random(0);
    for (std::uint64_t expected : {5987356902031041503u, 7051070477665621255u, 6633766593972829180u}) {
        CHECK(random.bits() == expected);
    }
    const auto some = random.subset(1000, 100), all = random.subset(7, 7);
    CHECK(some.size() == 100 && some.front() >= 0 && some.back() < 1000);
    for (std::size_t i = 1; i < some.size(); ++i) CHECK(some[i] > some[i - 1]);
    CHECK((all == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6}));
    double sum = 0, squares = 0, pair[2];
    for (int i = 0; i < 20000; ++i) {
        random.normal_pair(pair);
        sum += pair[0] + pair[1];
        squares += pair[0] * pair[0] + pair[1] * pair[1];
    }
    CHECK(std::abs(sum / 40000) <= 0.02 && std::abs(squares / 40000 - 1) <= 0.03);  // 4 standard errors
}

struct Sparse {
    std::vector<double> values;
    std::vector<std::int32_t> columns, begins{0};
    Sparse(const std::vector<double>& X, std::int64_t n, std::int64_t d) {
        for (std::int64_t r = 0; r < n; ++r) {
            for (std::int64_t c = 0; c < d; ++c) {
                if (X[static_cast<std::size_t>(r * d + c)] == 0) continue;
                values.push_back(X[static_cast<std::size_t>(r * d + c)]);
                columns.push_back(static_cast<std::int32_t>(c));
            }
            begins.push_back(static_cast<std::int32_t>(values.size()));
        }
    }
    fastfs::matrix matrix(std::int64_t n, std::int64_t d) const {
        return fastfs::matrix::csr(values.data(), columns.data(), begins.data(), n, d);
    }
};

template <class T>
fastfs::core::Features<T> features_of(const fastfs::matrix& X, fastfs::core::Run& run) {
    const fastfs::core::Samples samples{fastfs::core::Matrix(*X.get())};
    std::vector<std::int64_t> rows(static_cast<std::size_t>(samples.n_rows()));
    for (std::size_t r = 0; r < rows.size(); ++r) rows[r] = static_cast<std::int64_t>(r);
    const double unit = fastfs::core::common_unit(samples.row_maxima(run), rows);
    return {samples, rows, unit, fastfs::core::Shift::kRow, run};
}

// Returns the median of five values, or the median of up to 256 values, if more than half of the 256 lie close to it
// and few far below it; otherwise 0.
double plain_offset(const std::vector<double>& row) {
    const auto n = static_cast<std::int64_t>(row.size()), step = (n + 255) / 256;
    const auto value = [&](std::int64_t i) { return row[static_cast<std::size_t>(i)]; };
    std::vector<double> sample, five;
    for (std::int64_t i = 0; i < n; i += step) sample.push_back(value(i));
    for (std::int64_t k = 0; k < 5; ++k) five.push_back(value(k * (n - 1) / 4));
    std::sort(five.begin(), five.end());
    const auto is_shared = [&](double offset) {
        std::size_t much_smaller = 0, close = 0;
        for (double x : sample) {
            much_smaller += 16 * std::abs(x) < std::abs(offset);
            close += 2 * std::abs(x - offset) < std::abs(offset);
        }
        return 16 * much_smaller <= sample.size() && 2 * close > sample.size();
    };
    if (is_shared(five[2])) return five[2];
    std::sort(sample.begin(), sample.end());
    const double middle = sample[sample.size() / 2];
    return is_shared(middle) ? middle : 0;
}

// Rows of all kinds have the offset of plain_offset: the faster search finds an equal value.
void test_shared_offset() {
    namespace core = fastfs::core;
    core::Random random(7);
    int some = 0, none = 0;
    for (int round = 0; round < 4000; ++round) {
        const auto n = static_cast<std::int64_t>(1 + random.bits() % (round % 3 == 0 ? 12 : 700));
        const double offset = std::array{0.0, 0.3, 1.0, 2.0, -3.0, 1e6}[random.bits() % 6];
        const int kind = static_cast<int>(random.bits() % 6);
        std::vector<double> row(static_cast<std::size_t>(n));
        for (double& x : row) {
            double pair[2];
            random.normal_pair(pair);
            x = offset + pair[0];
            if (kind == 1) x = std::exp(3 * x / (1 + std::abs(offset)));               // some 1000 times others
            if (kind == 2) x = std::floor(x);                                          // ties, and zeros
            if (kind == 3) x = std::abs(x);                                            // of one sign
            if (kind == 4) x = random.bits() % 5 == 0 ? 1e300 * pair[1] : x;           // far out
            if (kind == 5) x = offset * std::array{0.5, 1.0, 1.5}[random.bits() % 3];  // on the borders
        }
        fastfs_matrix m = FASTFS_MATRIX_INIT;
        m.values = row.data();
        m.dtype = FASTFS_FLOAT64;
        m.n_rows = 1;
        m.n_cols = m.row_stride = n;
        m.col_stride = 1;
        const double expected = plain_offset(row);
        CHECK(core::shared_offset(core::Values<double>(m), 0, n, 1.0) == expected);
        (expected == 0 ? none : some) += 1;
    }
    CHECK(some > 1000 && none > 1000);
}

// Kernel values between all features and selected features equal the values between all and all.
template <class T>
void test_some_features() {
    namespace core = fastfs::core;
    const std::int64_t n = 30, d = 500;
    auto X = random_values<double>(static_cast<std::size_t>(n * d), 12);
    for (double& x : X) x = x > 1 ? x : 0;
    const Sparse sparse(X, n, d);
    const core::Kernel kernel{core::Kernel::Kind::kRbf, 3.0};
    core::Run run(threads(1));
    for (bool is_sparse : {false, true}) {
        const auto all = features_of<T>(is_sparse ? sparse.matrix(n, d) : fastfs::matrix(X.data(), n, d), run);
        const std::vector<std::int64_t> columns = core::Random(1).subset(d, 230);
        const core::Features<T> some(all, columns, run);
        std::vector<T> K(static_cast<std::size_t>(d * d));
        core::affinity(all, kernel, run, K.data());
        const core::KernelTiles<T> kernel_tile(all, some, kernel, run);
        std::vector<T> tile(core::kTile * core::kTile);
        const T tolerance = is_sparse ? 16 * std::numeric_limits<T>::epsilon() : T(0);  // sums in another order
        for (std::int64_t i0 = 0; i0 < d; i0 += core::kTile) {
            const std::int64_t ni = std::min(core::kTile, d - i0);
            for (std::int64_t j0 = 0; j0 < some.n_features(); j0 += core::kTile) {
                const std::int64_t nj = std::min(core::kTile, some.n_features() - j0);
                kernel_tile(i0, ni, j0, nj, tile.data(), run);
                T worst = 0;
                for (std::int64_t a = 0; a < ni; ++a) {
                    for (std::int64_t b = 0; b < nj; ++b) {
                        const auto e =
                            static_cast<std::size_t>((i0 + a) * d + columns[static_cast<std::size_t>(j0 + b)]);
                        worst = std::max(worst, std::abs(tile[static_cast<std::size_t>(a * core::kTile + b)] - K[e]));
                    }
                }
                CHECK(worst <= tolerance);
            }
        }
    }
}

// Returns the largest |G'G - I| of row-major G.
double orthonormality(const fastfs::core::LowRank& model, std::int64_t d) {
    const std::int64_t k = model.rank();
    double worst = 0;
    for (std::int64_t a = 0; a < k; ++a) {
        for (std::int64_t b = 0; b <= a; ++b) {
            double sum = a == b ? -1 : 0;
            for (std::int64_t i = 0; i < d; ++i) sum += model.G[i * k + a] * model.G[i * k + b];
            worst = std::max(worst, std::abs(sum));
        }
    }
    return worst;
}

bool same(const fastfs::core::LowRank& a, const fastfs::core::LowRank& b) {
    return a.w == b.w && a.delta == b.delta && a.G.size() == b.G.size() &&
           std::memcmp(a.G.data(), b.G.data(), static_cast<std::size_t>(a.G.size()) * sizeof(double)) == 0;
}

// A kernel of low rank (60 features, each many times) is reproduced, normalised or not; other kernels keep their trace.
template <class T>
void test_low_rank() {
    namespace core = fastfs::core;
    const double eps = std::numeric_limits<T>::epsilon();
    const std::int64_t n = 25, d = 1000, distinct = 60;
    const auto base = random_values<T>(static_cast<std::size_t>(n * distinct), 13);
    std::vector<T> X(static_cast<std::size_t>(n * d));
    for (std::int64_t r = 0; r < n; ++r) {
        for (std::int64_t c = 0; c < d; ++c) {
            X[static_cast<std::size_t>(r * d + c)] = base[static_cast<std::size_t>(r * distinct + c * 7 % distinct)];
        }
    }
    const core::Kernel kernel{core::Kernel::Kind::kRbf, 4.0};
    core::Run run(threads(1)), more(threads(3));
    core::Buffer<double> room;
    const auto twins = features_of<T>({X.data(), n, d}, run);
    std::vector<T> K(static_cast<std::size_t>(d * d));
    core::affinity(twins, kernel, run, K.data());
    for (int normalize : {0, 2}) {
        std::vector<double> g(static_cast<std::size_t>(d), 1.0), Kg(g.size());
        for (int time = 0; time < normalize; ++time) {
            for (std::size_t i = 0; i < g.size(); ++i) {
                Kg[i] = 0;
                for (std::size_t j = 0; j < g.size(); ++j) Kg[i] += static_cast<double>(K[i * g.size() + j]) * g[j];
            }
            for (std::size_t i = 0; i < g.size(); ++i) g[i] /= std::sqrt(g[i] * Kg[i]);
        }
        const auto model = core::landmarks(twins, kernel, normalize, 80, 5, room, run);
        const std::int64_t k = model.rank();
        CHECK(k <= distinct && k > 0);
        CHECK(orthonormality(model, d) <= 1e-9);
        double worst = 0, largest = 0;
        for (std::int64_t i = 0; i < d; i += 7) {
            for (std::int64_t j = 0; j < d; ++j) {
                double value = 0;
                for (std::int64_t a = 0; a < k; ++a) {
                    value += model.G[i * k + a] * model.w[static_cast<std::size_t>(a)] * model.G[j * k + a];
                }
                const double expected = g[static_cast<std::size_t>(i)] * g[static_cast<std::size_t>(j)] *
                                        static_cast<double>(K[static_cast<std::size_t>(i * d + j)]);
                largest = std::max(largest, expected);
                worst = std::max(worst, std::abs(value - expected));
            }
        }
        CHECK(worst <= 200 * eps * largest);
        CHECK(model.kept_trace >= 1 - 200 * eps);
        CHECK(same(model, core::landmarks(twins, kernel, normalize, 80, 5, room, more)));
    }
    const auto Y = random_values<T>(static_cast<std::size_t>(n * d), 14);
    const auto general = features_of<T>({Y.data(), n, d}, run);
    for (bool high : {false, true}) {
        auto factor = [&](std::uint64_t seed, core::Run& how) {
            return high ? core::nystrom(general, kernel, 0, 20, seed, room, how)
                        : core::landmarks(general, kernel, 0, 20, seed, room, how);
        };
        const auto model = factor(6, run);
        CHECK(model.rank() == 20);
        CHECK(orthonormality(model, d) <= 1e-11);
        double trace = model.delta * static_cast<double>(d - 20);
        for (double w : model.w) trace += w;
        CHECK(std::abs(trace - static_cast<double>(d)) <= 1e-10 * static_cast<double>(d));
        CHECK(same(model, factor(6, more)));
        CHECK(!same(model, factor(7, run)));
    }
}

// One normalization from landmarks of selected features: row sums differ from K's by at most the row sums of K - F F' -
// diag(rest). Its entries are at most sqrt(rest_i rest_j), as in any semidefinite matrix.
void test_row_sums_from_landmarks() {
    namespace core = fastfs::core;
    const std::int64_t n = 4, d = 3000, most = 1000;
    const auto X = random_values<double>(static_cast<std::size_t>(n * d), 16);
    const core::Kernel kernel{core::Kernel::Kind::kRbf, 1.5};
    core::Run run(threads(2));
    const auto features = features_of<double>({X.data(), n, d}, run);
    core::LowRank cut;
    auto factors = [&](std::int64_t most_drawn_from) {
        return core::normalizing_factors(features, kernel, 1, 60, 7, run, most_drawn_from);
    };
    const std::vector<double> found = factors(most), exact = factors(d),
                              rest = core::draw_landmarks(features, kernel, std::vector<double>(found.size(), 1.0), 60,
                                                          5, 7, run, cut, most)
                                         .rest;
    double roots = 0, largest = 0;
    for (const double r : rest) roots += std::sqrt(r);
    for (std::size_t i = 0; i < rest.size(); ++i) {
        const double error = std::abs(1 / (found[i] * found[i]) - 1 / (exact[i] * exact[i]));
        CHECK(error <= std::sqrt(rest[i]) * roots + 1e-8);
        largest = std::max(largest, error);
    }
    CHECK(largest > 0);
}

// Landmarks drawn among all features, or (more than 100,000) among some: K less F F' is semidefinite with the diagonal
// `rest`, and the cut has the leading eigenpairs of F F'.
template <class T>
void test_drawn_landmarks(std::int64_t most_drawn_from, int normalize) {
    namespace core = fastfs::core;
    const std::int64_t n = 4, rank = 5, d = 3000;
    const auto X = random_values<T>(static_cast<std::size_t>(n * d), 15);
    const core::Kernel kernel{core::Kernel::Kind::kRbf, 3.0};
    core::Run run(threads(1)), more(threads(3));
    const auto features = features_of<T>({X.data(), n, d}, run);
    core::LowRank cut, again;
    auto draw = [&](core::Run& of_threads, core::LowRank& cut_to_rank) {
        auto g = core::normalizing_factors(features, kernel, normalize, 60, 7, of_threads, most_drawn_from);
        return core::draw_landmarks(features, kernel, std::move(g), 60, rank, 7, of_threads, cut_to_rank,
                                    most_drawn_from);
    };
    const core::Landmarks drawn = draw(run, cut);
    draw(more, again);
    CHECK(same(cut, again));
    CHECK(drawn.n() == 60);
    CHECK(cut.rank() == rank);
    CHECK(orthonormality(cut, d) <= 1e-9);

    std::vector<std::int64_t> columns;
    for (std::int64_t i = 0; i < d; i += d / 97) columns.push_back(i);
    const core::Features<double> some(features, columns, run);
    auto F = core::kernel_with_landmarks(some, drawn, kernel, run);
    const auto n_some = static_cast<std::int64_t>(columns.size());
    core::trsm('L', drawn.n(), n_some, drawn.L.data(), drawn.n(), F.data(), drawn.n());
    std::vector<double> K(columns.size() * columns.size());
    core::affinity(some, kernel, run, K.data());
    auto g = [&](std::int64_t a) { return drawn.g[static_cast<std::size_t>(columns[static_cast<std::size_t>(a)])]; };
    auto rest = [&](std::int64_t a) {
        return drawn.rest[static_cast<std::size_t>(columns[static_cast<std::size_t>(a)])];
    };
    double largest = 0;
    for (std::int64_t a = 0; a < n_some; ++a) {
        for (std::int64_t b = 0; b < n_some; ++b) {
            double left = K[static_cast<std::size_t>(a * n_some + b)];
            for (std::int64_t j = 0; j < drawn.n(); ++j) left -= F[a * drawn.n() + j] * F[b * drawn.n() + j];
            left *= g(a) * g(b);
            const double rounding = 1e-10 * g(a) * g(b);
            if (a == b) CHECK(std::abs(left - rest(a)) <= rounding);
            CHECK(std::abs(left) <= std::sqrt(rest(a) * rest(b)) + rounding);
            largest = std::max(largest, rest(a) / (g(a) * g(a)));
        }
    }
    CHECK(largest < 0.1);  // 60 landmarks explain most of four dimensions
    CHECK(largest > 1e-8);
    // F F' on the span of G, by rows of F of all features: G'F F'G = diag(w).
    std::vector<double> GF(static_cast<std::size_t>(rank * drawn.n()), 0.0);
    for (std::int64_t i0 = 0; i0 < d; i0 += 1000) {
        std::vector<std::int64_t> block(static_cast<std::size_t>(std::min<std::int64_t>(1000, d - i0)));
        std::iota(block.begin(), block.end(), i0);
        auto rows = core::kernel_with_landmarks(core::Features<double>(features, block, run), drawn, kernel, run);
        const auto n_rows = static_cast<std::int64_t>(block.size());
        core::trsm('L', drawn.n(), n_rows, drawn.L.data(), drawn.n(), rows.data(), drawn.n());
        for (std::int64_t i = 0; i < n_rows; ++i) {
            const double gi = drawn.g[static_cast<std::size_t>(i0 + i)];
            for (std::int64_t a = 0; a < rank; ++a) {
                for (std::int64_t j = 0; j < drawn.n(); ++j) {
                    GF[static_cast<std::size_t>(a * drawn.n() + j)] +=
                        gi * cut.G[(i0 + i) * rank + a] * rows[i * drawn.n() + j];
                }
            }
        }
    }
    for (std::int64_t a = 0; a < rank; ++a) {
        for (std::int64_t b = 0; b < rank; ++b) {
            double value = a == b ? -cut.w[static_cast<std::size_t>(a)] : 0;
            for (std::int64_t j = 0; j < drawn.n(); ++j) {
                value +=
                    GF[static_cast<std::size_t>(a * drawn.n() + j)] * GF[static_cast<std::size_t>(b * drawn.n() + j)];
            }
            CHECK(std::abs(value) <= 1e-8 * cut.w[0]);
        }
    }
}

void test_manifest() {
    const std::int64_t n = 40, d = 150;
    const auto X = random_values<double>(static_cast<std::size_t>(n * d), 8);
    std::vector<std::int64_t> y(static_cast<std::size_t>(n)), swapped = y;
    for (std::size_t r = 0; r < y.size(); ++r) {
        y[r] = static_cast<std::int64_t>(r % 2);
        swapped[r] = 1 - y[r];
    }
    const fastfs::manifest data({X.data(), n, d});
    auto fit = [&](const fastfs::manifest& from, const std::vector<std::int64_t>& labels, int n_threads) {
        auto options = fastfs::default_manifest_options();
        options.n_components = 2;
        return from.fit(labels.data(), 2, {fastfs::median_scale(0.5)}, options, threads(n_threads));
    };
    const auto scores_of = [&](const fastfs::fitted<fastfs::manifest_result>& of) { return list(of->scores, d); };
    const auto vectors_of = [&](const fastfs::fitted<fastfs::manifest_result>& of) {
        return list(of->difference_vectors, 2 * d);
    };
    const auto one = fit(data, y, 1), two = fit(data, y, 2), other = fit(data, swapped, 2);
    CHECK(scores_of(one) == scores_of(two));
    CHECK(vectors_of(one) == vectors_of(two));
    CHECK(one->ranks[0] == d && one->problem_scores == nullptr && fastfs::last_warnings().empty());
    // Two chunks of rows equal one X; the distances of one class are the distances of all rows minus those of the
    // second class.
    const fastfs::manifest chunks({{X.data(), 15, d}, {X.data() + 15 * d, n - 15, d}});
    CHECK(scores_of(fit(chunks, y, 2)) == scores_of(one));
    const fastfs::manifest keeping({X.data(), n, d}, true);
    const auto kept = fit(keeping, y, 2);
    for (std::int64_t j = 0; j < d; ++j) {
        CHECK(std::abs(kept->scores[j] - one->scores[j]) <= 1e-11 * one->scores[j]);
    }
    // At full rank all forms agree.
    for (int form : {FASTFS_MANIFEST_SPD, FASTFS_MANIFEST_SPSD}) {
        auto options = fastfs::default_manifest_options();
        options.form = form;
        options.n_components = 2;
        const auto same = data.fit(y.data(), 2, {fastfs::median_scale(0.5)}, options, threads(2));
        for (std::int64_t j = 0; j < d; ++j) {
            CHECK(std::abs(same->scores[j] - one->scores[j]) <= 1e-11 * one->scores[j]);
        }
    }
    auto options = fastfs::default_manifest_options();
    std::atomic<std::int64_t> values{0};
    options.custom = laplacian;
    options.user = &values;
    const auto by_laplacian = data.fit(y.data(), 2, {fastfs::median_scale(0.5)}, options, threads(2));
    CHECK(by_laplacian->ranks[0] == d && by_laplacian->mean_values == nullptr);
    options.agreement = 0;
    const auto unmeasured = data.fit(y.data(), 2, {fastfs::median_scale(0.5)}, options, threads(2));
    CHECK(unmeasured->agreement == nullptr && by_laplacian->agreement[0] == 1);
    CHECK(values >= d * (d + 1));
    double largest = 0, worst = 0;
    for (std::int64_t j = 0; j < d; ++j) {
        largest = std::max(largest, one->scores[j]);
        worst = std::max(worst, std::abs(one->scores[j] - other->scores[j]));
    }
    CHECK(worst <= 1e-12 * largest && largest > 0);
}

// Shares of the problems, solved apart, give the bits of one fit.
void test_shares_of_manifest() {
    const std::int64_t n = 36, d = 20, n_classes = 4, n_problems[] = {4, 6};
    const auto X = random_values<double>(static_cast<std::size_t>(n * d), 9);
    std::vector<std::int64_t> y;
    for (std::int64_t r = 0; r < n; ++r) y.push_back(r % n_classes);
    const fastfs::manifest data({X.data(), n, d});
    for (const int multiclass : {FASTFS_MANIFEST_OVR, FASTFS_MANIFEST_OVO}) {
        auto options = fastfs::default_manifest_options();
        options.multiclass = multiclass;
        const auto whole = data.fit(y.data(), n_classes, {fastfs::median_scale(0.5)}, options, threads(1));
        const std::int64_t p = n_problems[multiclass];
        CHECK(whole->n_problems == p && whole->problem_scores == nullptr);
        std::vector<double> of_each, scores(static_cast<std::size_t>(d)),
            of_classes(static_cast<std::size_t>(n_classes * d)), sigma(static_cast<std::size_t>(whole->n_kernels));
        for (const std::int64_t first : {std::int64_t{0}, std::int64_t{1}}) {
            options.first_problem = first;
            options.n_problems = first == 0 ? 1 : 0;
            CHECK(data.plan(n_classes, options).n_problems == (first == 0 ? 1 : p - 1));
            const auto share = data.fit(y.data(), n_classes, {fastfs::median_scale(0.5)}, options, threads(1));
            of_each.insert(of_each.end(), share->problem_scores, share->problem_scores + share->n_problems * d);
            for (std::size_t k = 0; k < sigma.size(); ++k) sigma[k] = std::max(sigma[k], share->sigma[k]);
            if (first == 0) CHECK(sigma.back() == 0 && sigma[0] == whole->sigma[0]);
        }
        fastfs::manifest_mean_scores(d, n_classes, options, of_each.data(), scores.data(), of_classes.data());
        CHECK(sigma == list(whole->sigma, whole->n_kernels) && scores == list(whole->scores, d));
        CHECK(of_classes == list(whole->class_scores, n_classes * d));
        for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{p, 0}, {p - 1, 2}, {-1, 1}, {0, -1}}) {
            options.first_problem = first;
            options.n_problems = count;
            bool refused = false;
            try {
                data.plan(n_classes, options);
            } catch (const std::invalid_argument&) {
                refused = true;
            }
            CHECK(refused);
        }
    }
}

// The low-rank forms: threads, chunks and layout change no bit or little, class swap neither.
void test_wide_manifest() {
    const std::int64_t n = 40, d = 1100;
    const auto X = random_values<double>(static_cast<std::size_t>(n * d), 15);
    const Sparse sparse(X, n, d);
    std::vector<std::int64_t> y(static_cast<std::size_t>(n)), swapped = y;
    for (std::size_t r = 0; r < y.size(); ++r) {
        y[r] = static_cast<std::int64_t>(r % 2);
        swapped[r] = 1 - y[r];
    }
    auto options = fastfs::default_manifest_options();
    options.rank = 12;
    for (int accuracy : {FASTFS_MANIFEST_LOW_RANK, FASTFS_MANIFEST_LOW_RANK_HIGH}) {
        options.accuracy = accuracy;
        options.n_components = 3;
        auto fit = [&](const fastfs::manifest& from, const std::vector<std::int64_t>& labels, int n_threads) {
            return from.fit(labels.data(), 2, {fastfs::median_scale(1)}, options, threads(n_threads));
        };
        const auto scores_of = [&](const fastfs::fitted<fastfs::manifest_result>& of) { return list(of->scores, d); };
        const auto vectors_of = [&](const fastfs::fitted<fastfs::manifest_result>& of) {
            return list(of->difference_vectors, 3 * d);
        };
        const fastfs::manifest data({X.data(), n, d});
        const auto one = fit(data, y, 1), two = fit(data, y, 3), other = fit(data, swapped, 2);
        CHECK(scores_of(one) == scores_of(two) && vectors_of(one) == vectors_of(two));
        CHECK(one->ranks[0] == 24 && one->accuracy == accuracy && one->reason == FASTFS_BECAUSE_ASKED);
        for (const auto& warning : fastfs::last_warnings()) CHECK(warning.code != "no_contrast");
        const fastfs::manifest chunks({{X.data(), 15, d}, {X.data() + 15 * d, n - 15, d}});
        CHECK(scores_of(fit(chunks, y, 2)) == scores_of(one));
        const auto stored = fit(fastfs::manifest(sparse.matrix(n, d)), y, 2);
        double largest = 0, swap = 0, layout = 0;
        for (std::int64_t j = 0; j < d; ++j) {
            largest = std::max(largest, one->scores[j]);
            swap = std::max(swap, std::abs(one->scores[j] - other->scores[j]));
            layout = std::max(layout, std::abs(one->scores[j] - stored->scores[j]));
        }
        CHECK(largest > 0 && swap <= 1e-11 * largest);
        CHECK(layout <=
              (accuracy == FASTFS_MANIFEST_LOW_RANK_HIGH ? 1e-4 : 1e-11) * largest);  // high computes tiles in float
        // The Gaussian kernel as a function of the caller's, and two that aren't positive semidefinite.
        auto custom = options;
        custom.n_components = 0;
        auto fit_custom = [&](fastfs_tile_kernel kernel) {
            custom.custom = kernel;
            return data.fit(y.data(), 2, {fastfs::median_scale(1)}, custom, threads(2));
        };
        const auto own = fit_custom([](double* tile, std::int64_t ld, std::int64_t rows, std::int64_t columns,
                                       const double*, const double*, double sigma, void*) {
            for (std::int64_t a = 0; a < rows; ++a) {
                for (std::int64_t b = 0; b < columns; ++b) {
                    tile[a * ld + b] = std::exp(-tile[a * ld + b] / (2 * sigma * sigma));
                }
            }
        });
        double distance = 0;
        for (std::int64_t j = 0; j < d; ++j) {
            distance = std::max(distance, std::abs(one->scores[j] - own->scores[j]));
        }
        CHECK(distance <= (accuracy == FASTFS_MANIFEST_LOW_RANK_HIGH ? 1e-4 : 1e-11) * largest);
        const fastfs_tile_kernel indefinite[] = {
            [](double*, std::int64_t, std::int64_t, std::int64_t, const double*, const double*, double, void*) {},
            [](double* tile, std::int64_t ld, std::int64_t rows, std::int64_t columns, const double*, const double*,
               double, void*) {
                for (std::int64_t a = 0; a < rows; ++a) {
                    for (std::int64_t b = 0; b < columns; ++b) tile[a * ld + b] += 1;
                }
            }};
        for (fastfs_tile_kernel kernel : indefinite) {
            bool thrown = false;
            try {
                fit_custom(kernel);
            } catch (const fastfs::numeric_error&) {
                thrown = true;
            }
            CHECK(thrown);
        }
        // Samples that occur in both classes: nothing differs.
        auto twice = X;
        for (std::int64_t r = 0; r < n; r += 2) {
            std::copy(X.begin() + r * d, X.begin() + (r + 1) * d, twice.begin() + (r + 1) * d);
        }
        const auto equal = fit(fastfs::manifest({twice.data(), n, d}), y, 2);
        const auto warnings = fastfs::last_warnings();
        CHECK(warnings.size() == 1 && warnings[0].code == "no_contrast");
    }
}

// First scores of the linear kernel for orthogonal targets: the sum of squared cosines of two random columns with the
// features, computed by plain loops. Every route must agree, and stay in its arrays.
void test_projse() {
    const std::int64_t m = 300, n_x = 37;
    auto X = random_values<double>(static_cast<std::size_t>(m * n_x), 1, 2.0);
    std::vector<std::int64_t> labels(static_cast<std::size_t>(m));
    for (std::int64_t r = 0; r < m; ++r) labels[static_cast<std::size_t>(r)] = r % 3;
    std::vector<double> one_hot(static_cast<std::size_t>(3 * m)), expected(static_cast<std::size_t>(n_x));
    for (std::int64_t r = 0; r < m; ++r) one_hot[static_cast<std::size_t>(3 * r + r % 3)] = 1;
    for (std::int64_t j = 0; j < n_x; ++j) {
        double sums[3] = {}, square = 0;
        for (std::int64_t r = 0; r < m; ++r) {
            const double x = X[static_cast<std::size_t>(r * n_x + j)];
            sums[r % 3] += x;
            square += x * x;
        }
        for (const double sum : sums) expected[static_cast<std::size_t>(j)] += sum * sum / 100 / square;
    }
    auto agrees = [&](const fastfs::fitted<fastfs::projse_result>& r, double tolerance) {
        bool same = r->rank == 3 && r->n_selected == 3;
        for (std::size_t j = 0; j < expected.size(); ++j) {
            same = same && std::abs(r->scores[j] - expected[j]) <= tolerance;
        }
        return same;
    };
    auto options = fastfs::default_projse_options();
    options.n_select = 3;
    options.center = 0;
    const fastfs::matrix rows(X.data(), m, n_x), Y(one_hot.data(), m, 3);
    std::vector<double> columns(X.size());
    std::vector<float> single(X.begin(), X.end());
    std::vector<int> indices, indptr{0};
    for (std::int64_t r = 0; r < m; ++r) {
        for (std::int64_t j = 0; j < n_x; ++j) {
            columns[static_cast<std::size_t>(j * m + r)] = X[static_cast<std::size_t>(r * n_x + j)];
            indices.push_back(static_cast<int>(j));
        }
        indptr.push_back(static_cast<int>(indices.size()));
    }
    const auto csr = fastfs::matrix::csr(X.data(), indices.data(), indptr.data(), m, n_x);
    for (int n : {1, 3}) {
        const auto how = threads(n);
        CHECK(agrees(fastfs::projse(rows, Y, options, how), 1e-13));
        CHECK(agrees(fastfs::projse(rows, labels.data(), 3, options, how), 1e-13));
        CHECK(agrees(fastfs::projse(fastfs::matrix(columns.data(), m, n_x, 1, m), Y, options, how), 1e-13));
        CHECK(agrees(fastfs::projse(fastfs::matrix(single.data(), m, n_x), labels.data(), 3, options, how), 1e-5));
        CHECK(agrees(fastfs::projse(csr, Y, options, how), 1e-13));
        CHECK(agrees(fastfs::projse(csr, labels.data(), 3, options, how), 1e-13));

        const auto make = [&] { return fastfs::projse_stream(3, n_x, FASTFS_PROJSE_ONE_VIEW, how); };
        const auto select = [&](const fastfs::stream& of, const fastfs::projse_options& o) {
            return fastfs::projse_stream_finish(of, o, how);
        };
        const auto reread = [&](const fastfs::stream& of) {
            std::vector<char> bytes(static_cast<std::size_t>(of.size()));
            of.save(bytes.data(), of.size());
            fastfs::stream read = make();
            read.load(bytes.data(), of.size());
            return read;
        };
        fastfs::stream whole = make(), part = make();
        whole.update_labels(fastfs::matrix(X.data(), 100, n_x), labels.data(), how);
        part.update_targets(fastfs::matrix(X.data() + 100 * n_x, 200, n_x),
                            fastfs::matrix(one_hot.data() + 300, 200, 3), how);
        whole.merge(part);
        const fastfs::stream read = reread(whole);
        CHECK(read.state().n_rows == m && agrees(select(read, options), 1e-13));

        auto automatic = options, centered = options;
        automatic.center = FASTFS_PROJSE_CENTER_AUTO;
        centered.center = 1;
        CHECK(agrees(select(read, automatic), 1e-13));  // only some of the rows came with labels
        fastfs::stream labelled = make();
        labelled.update_labels(rows, labels.data(), how);
        const fastfs::stream again = reread(labelled);
        const auto by_default = select(again, automatic);
        CHECK(by_default->center && by_default->rank == 2);
        const auto scores = [&](const fastfs::fitted<fastfs::projse_result>& of) { return list(of->scores, n_x); };
        CHECK(scores(by_default) == scores(select(labelled, centered)));
        CHECK(scores(by_default) == scores(fastfs::projse(rows, labels.data(), 3, automatic, how)));
        const auto about_zero = select(again, options), of_numbers = fastfs::projse(rows, Y, automatic, how);
        CHECK(!about_zero->center && agrees(about_zero, 1e-13));
        CHECK(!of_numbers->center);

        auto alone = options;
        alone.center = 1;
        const auto few = fastfs::projse(fastfs::matrix(X.data(), 10, n_x), alone, how);
        CHECK(few->n_selected == 3 && few->selected[0] == 0);
        const auto warnings = fastfs::last_warnings();
        CHECK(warnings.size() == 1 && warnings[0].code == "tie" && warnings[0].places.empty());
        CHECK(warnings[0].message.find("without a target it always is") != std::string::npos);
    }
    auto bad = X;
    bad[static_cast<std::size_t>(7 * n_x + 5)] = std::numeric_limits<double>::quiet_NaN();
    try {
        fastfs::projse(fastfs::matrix(bad.data(), m, n_x), Y, options);
        CHECK(false);
    } catch (const std::invalid_argument& e) {
        CHECK(std::string(e.what()).find("row 7, column 5") != std::string::npos);
    }
    CHECK(fastfs_projse(nullptr, nullptr, nullptr, 0, nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
}

// The kernels of the search against plain loops, and the nearest features against all pairs.
void test_neighbors() {
    namespace core = fastfs::core;
    const std::int64_t ld = 192, n = 50, d = 96;
    const auto values = random_values<float>(static_cast<std::size_t>(n * ld), 31);
    auto floors = random_values<float>(static_cast<std::size_t>(ld), 32), limits = floors;
    for (std::size_t i = 0; i < limits.size(); ++i) limits[i] = static_cast<std::int64_t>(i) < 60 ? -1.5f : -0.5f;
    for (std::size_t i = 90; i < floors.size(); ++i) {
        floors[i] = std::numeric_limits<float>::infinity();
        limits[i] = -floors[i];
    }
    std::vector<core::Hit> room(static_cast<std::size_t>(2 * n * ld));
    core::Hits of_rows{room.data(), nullptr}, of_cols{room.data() + n * ld, nullptr};
    core::isa().select(values.data(), ld, n, 90, floors.data(), limits.data(), floors.data(), limits.data(), &of_rows,
                       &of_cols);
    auto check_hits = [&](const core::Hits& hits, auto&& wanted) {
        const core::Hit* hit = hits.begin;
        for (std::int64_t a = 0; a < n; ++a) {
            for (std::int64_t b = 0; b < 90; ++b) {
                const float x = values[static_cast<std::size_t>(a * ld + b)];
                if (!wanted(static_cast<std::size_t>(a), static_cast<std::size_t>(b), x)) continue;
                CHECK(hit < hits.end && hit->row == a && hit->col == b && hit->value == x);
                ++hit;
            }
        }
        CHECK(hit == hits.end && hit > hits.begin);
    };
    check_hits(of_rows, [&](std::size_t a, std::size_t b, float x) { return x >= floors[b] - limits[a]; });
    check_hits(of_cols, [&](std::size_t a, std::size_t b, float x) { return x >= floors[a] - limits[b]; });

    for (const float scale : {1.0f, 0.0f}) {  // different values, and equal ones
        for (std::int64_t k : {1, 2, 30, 61, 62}) {
            std::vector<float> some(values.begin(), values.begin() + 62);
            for (float& x : some) x *= scale;
            const float bound = core::isa().bound_kth(some.data(), 62, k);
            std::sort(some.begin(), some.end());
            CHECK(bound >= some[static_cast<std::size_t>(k - 1)]);
            const auto covered = std::upper_bound(some.begin(), some.end(), bound) - some.begin();
            CHECK(scale == 0 || covered == k);
        }
    }

    const auto X = random_values<double>(static_cast<std::size_t>(n * d), 33, 3);
    const std::int64_t k = 7;
    const auto found = fastfs::nearest_features({X.data(), n, d}, k, threads(3));
    for (std::int64_t i = 0; i < d; ++i) {
        std::vector<std::pair<long double, std::int64_t>> all;
        for (std::int64_t j = 0; j < d; ++j) {
            if (j != i) all.emplace_back(std::sqrt(squared_distance(X, n, d, i, j)), j);
        }
        std::sort(all.begin(), all.end());
        for (std::int64_t c = 0; c < k; ++c) {
            const auto e = static_cast<std::size_t>(i * k + c);
            const auto& [distance, j] = all[static_cast<std::size_t>(c)];
            CHECK(found.neighbors[e] == j);
            CHECK(std::abs(found.distances[e] - static_cast<double>(distance)) <=
                  1e-14 * static_cast<double>(distance));
        }
    }
    // More ties than a feature has room for: eight columns, a hundred times each.
    std::vector<float> tenths(4 * 800);
    for (std::size_t e = 0; e < tenths.size(); ++e) tenths[e] = 0.1f * static_cast<float>(e % 800 / 100);
    const auto ties = fastfs::nearest_features({tenths.data(), 4, 800}, 5, threads(2));
    for (std::int64_t i = 0; i < 800; ++i) {
        const std::int64_t first = i / 100 * 100;
        for (std::int64_t c = 0; c < 5; ++c) {
            CHECK(ties.distances[static_cast<std::size_t>(i * 5 + c)] == 0);
            CHECK(ties.neighbors[static_cast<std::size_t>(i * 5 + c)] == first + c + (i - first <= c ? 1 : 0));
        }
    }
    CHECK(fastfs_nearest_features(fastfs::matrix(X.data(), n, d).get(), 3, nullptr, nullptr, nullptr) == FASTFS_EINVAL);
    bool refused = false;
    try {
        fastfs::nearest_features({X.data(), n, d}, d);
    } catch (const std::invalid_argument&) {
        refused = true;
    }
    CHECK(refused);
}

void test_bad_arguments() {
    const std::vector<double> X(12, 1.0);
    const std::vector<std::int64_t> y{0, 0, 1, 1};
    fastfs_matrix m = *fastfs::matrix(X.data(), 4, 3).get();
    fastfs_manifest_result result = FASTFS_MANIFEST_RESULT_INIT;
    auto expect = [&](fastfs_status status, fastfs_status wanted, const char* text) {
        CHECK(status == wanted);
        if (std::strstr(fastfs_last_error(), text) == nullptr) {
            ++failures;
            std::fprintf(stderr, "'%s' lacks '%s'\n", fastfs_last_error(), text);
        }
    };
    double out[9];
    expect(fastfs_affinity(nullptr, nullptr, nullptr, out), FASTFS_EINVAL, "X must not be null");
    expect(fastfs_affinity(&m, nullptr, nullptr, nullptr), FASTFS_EINVAL, "out must not be null");
    fastfs_manifest* handle = nullptr;
    fastfs_manifest_scale scale = FASTFS_MANIFEST_SCALE_INIT;
    auto fit = [&](const std::int64_t* labels, std::int64_t n_classes, fastfs_manifest_result* results) {
        return fastfs_manifest_fit(handle, labels, n_classes, nullptr, &scale, 1, nullptr, results, owner());
    };
    expect(fit(y.data(), 2, &result), FASTFS_EINVAL, "manifest must not be null");
    expect(fastfs_manifest_new(nullptr, 1, 0, nullptr, &handle), FASTFS_EINVAL, "chunks must not be null");
    CHECK(fastfs_manifest_new(&m, 1, 0, nullptr, &handle) == FASTFS_OK);
    expect(fit(nullptr, 2, &result), FASTFS_EINVAL, "labels must not be null");
    expect(fit(y.data(), 2, nullptr), FASTFS_EINVAL, "results must not be null");
    expect(fit(y.data(), 2, &result), FASTFS_EINVAL, "equal values");
    expect(fit(y.data(), 1, &result), FASTFS_EINVAL, "n_classes must be from 2 to the 4 rows; got 1");
    expect(fit(y.data(), 3, &result), FASTFS_EINVAL, "labels must have rows of each class; got none of class 2");
    const std::vector<std::int64_t> outside{0, 0, 1, 7};
    expect(fit(outside.data(), 2, &result), FASTFS_EINVAL, "got 7 for row 3");
    scale.value = -1;
    expect(fit(y.data(), 2, &result), FASTFS_EINVAL, "sigma_factor");
    scale.rule = FASTFS_MANIFEST_SIGMA_GIVEN;
    expect(fit(y.data(), 2, &result), FASTFS_EINVAL, "sigma must not be null");
    fastfs_manifest_free(handle);

    auto wrong = m;
    wrong.struct_size = 7;
    expect(fastfs_affinity(&wrong, nullptr, nullptr, out), FASTFS_EINVAL, "struct_size");
    wrong = m;
    wrong.n_cols = -3;
    expect(fastfs_affinity(&wrong, nullptr, nullptr, out), FASTFS_EINVAL, "at least one");
    wrong = m;
    wrong.n_rows = wrong.n_cols = std::int64_t{1} << 40;
    expect(fastfs_affinity(&wrong, nullptr, nullptr, out), FASTFS_EINVAL, "must fit the memory");
    wrong = m;
    wrong.dtype = 7;
    expect(fastfs_affinity(&wrong, nullptr, nullptr, out), FASTFS_EINVAL, "dtype");
    const std::int32_t begins[] = {0, 2, 1, 3, 3}, columns[] = {0, 1, 5};
    wrong = *fastfs::matrix::csr(X.data(), columns, begins, 4, 3).get();
    expect(fastfs_affinity(&wrong, nullptr, nullptr, out), FASTFS_EINVAL, "must not decrease");
    const std::int32_t fine[] = {0, 1, 2, 3, 3};
    wrong = *fastfs::matrix::csr(X.data(), columns, fine, 4, 3).get();
    expect(fastfs_affinity(&wrong, nullptr, nullptr, out), FASTFS_EINVAL, "must be from 0 to 2");

    fastfs_run how = FASTFS_RUN_INIT;
    how.n_threads = -1;
    expect(fastfs_affinity(&m, nullptr, &how, out), FASTFS_EINVAL, "n_threads");
    how = FASTFS_RUN_INIT;
    how.max_memory = 100;
    expect(fastfs_affinity(&m, nullptr, &how, out), FASTFS_ENOMEM, "budget");

    fastfs_affinity_options custom = FASTFS_AFFINITY_OPTIONS_INIT;
    custom.kernel = FASTFS_CUSTOM;
    expect(fastfs_affinity(&m, &custom, nullptr, out), FASTFS_EINVAL, "custom must be a function");
    custom.custom = [](double* tile, std::int64_t, std::int64_t, std::int64_t, const double*, const double*, double,
                       void*) { tile[0] = std::numeric_limits<double>::quiet_NaN(); };
    expect(fastfs_affinity(&m, &custom, nullptr, out), FASTFS_EINVAL,
           "the kernel must return finite numbers; got nan for features 0 and 0");
    custom.custom = laplacian;
    custom.sigma = 0;
    expect(fastfs_affinity(&m, &custom, nullptr, out), FASTFS_EINVAL, "sigma");
    custom.sigma = 1;
    custom.reserved = 1;
    expect(fastfs_affinity(&m, &custom, nullptr, out), FASTFS_EINVAL, "reserved");

    // A header newer than the library: fields it doesn't know must be zero.
    struct {
        fastfs_affinity_options known;
        std::int64_t later;
    } newer = {FASTFS_AFFINITY_OPTIONS_INIT, 0};
    newer.known.struct_size = sizeof newer;
    CHECK(fastfs_affinity(&m, &newer.known, nullptr, out) == FASTFS_OK);
    newer.later = 1;
    expect(fastfs_affinity(&m, &newer.known, nullptr, out), FASTFS_EINVAL, "doesn't know");
    // An older header: fields that it lacks keep their defaults.
    fastfs_run older = FASTFS_RUN_INIT;
    older.struct_size = offsetof(fastfs_run, progress);
    older.progress = reinterpret_cast<fastfs_progress>(std::uintptr_t{1});
    CHECK(fastfs_affinity(&m, nullptr, &older, out) == FASTFS_OK);

    auto bad = X;
    bad[7] = std::numeric_limits<double>::quiet_NaN();
    m.values = bad.data();
    expect(fastfs_affinity(&m, nullptr, nullptr, out), FASTFS_EINVAL, "row 2, column 1");

    fastfs_blas table;
    std::memset(&table, 0, sizeof table);
    expect(fastfs_register_blas(&table), FASTFS_EINVAL, "bytes");
    table.struct_size = sizeof table;
    table.integer_bits = 64;
    expect(fastfs_register_blas(&table), FASTFS_EINVAL, "32-bit");
    table.integer_bits = 32;
    expect(fastfs_register_blas(&table), FASTFS_EINVAL, "empty entry");
    CHECK(fastfs_link_blas() == FASTFS_OK);  // an equal table may come again
}

void test_cancel() {
    const std::int64_t n = 6000, d = 6000;  // over a second: the core waits 0.05 s for its first report
    const std::vector<float> X(static_cast<std::size_t>(n * d), 1.0f);
    std::vector<float> K(static_cast<std::size_t>(d * d));
    std::atomic<int> calls{0};
    auto how = threads(2);
    how.user = &calls;
    how.progress = [](void* user, const char* step, double fraction) {
        CHECK(step != nullptr && fraction >= 0 && fraction <= 1);
        return ++*static_cast<std::atomic<int>*>(user) >= 1 ? 1 : 0;
    };
    bool canceled = false;
    try {
        fastfs::affinity({X.data(), n, d}, fastfs::rbf(30), K.data(), how);
    } catch (const fastfs::canceled&) {
        canceled = true;
    }
    CHECK(canceled && calls == 1);
    CHECK(FASTFS_BLAS_GET_THREADS() != 1 || std::thread::hardware_concurrency() == 1);  // restored
}

void test_cancel_leaves_sums() {
    const std::int64_t n = 300000, d = 24;
    const auto X = random_values<double>(static_cast<std::size_t>(n * d), 11);
    fastfs::stream gram = fastfs::gram_stream(d);
    gram.update({X.data(), 50, d});
    std::vector<double> before(static_cast<std::size_t>(d * d)), after(before);
    fastfs::gram_stream_finish(gram, fastfs::linear(), before.data());
    int canceled = 0;
    double progress = 0;
    for (int k = 0; k < 60; ++k) {  // a cancel comes at a report, the first of them 0.05 s after the start
        auto how = threads(1);
        progress = 0.02 * k;
        how.user = &progress;
        how.progress = [](void* user, const char*, double fraction) {
            return fraction >= *static_cast<double*>(user) ? 1 : 0;
        };
        try {
            gram.update({X.data(), n, d}, 0, how);
            break;  // no report comes any later
        } catch (const fastfs::canceled&) {
            ++canceled;
        }
        fastfs::gram_stream_finish(gram, fastfs::linear(), after.data());
        CHECK(gram.state().n_rows == 50 && before == after);
    }
    CHECK(canceled > 0);
}

void test_threads_at_once() {
    const std::int64_t n = 30, d = 280;
    const auto X = random_values<double>(static_cast<std::size_t>(n * d), 10);
    std::vector<double> alone(static_cast<std::size_t>(d * d));
    fastfs::affinity({X.data(), n, d}, fastfs::rbf(5), alone.data(), threads(1));
    std::vector<std::vector<double>> results(4, std::vector<double>(alone.size()));
    std::vector<std::thread> callers;
    for (auto& result : results) {
        callers.emplace_back([&] {
            for (int repeat = 0; repeat < 5; ++repeat) {
                fastfs::affinity({X.data(), n, d}, fastfs::rbf(5), result.data(), threads(2));
            }
            CHECK(fastfs_affinity(nullptr, nullptr, nullptr, nullptr) == FASTFS_EINVAL);  // its message is its own
        });
    }
    for (auto& caller : callers) caller.join();
    for (const auto& result : results) CHECK(result == alone);
}

// A loop inside a loop, and bodies that throw: the exception of the lowest index arrives, and the pool goes on.
void test_parallel_for() {
    fastfs::core::Run run(threads(3));
    std::vector<int> counts(100);
    fastfs::core::parallel_for(run, 10, [&](std::int64_t i, int) {
        fastfs::core::Run inner(threads(2));
        fastfs::core::parallel_for(inner, 10,
                                   [&](std::int64_t j, int) { ++counts[static_cast<std::size_t>(10 * i + j)]; });
    });
    for (int count : counts) CHECK(count == 1);
    for (int repeat = 0; repeat < 20; ++repeat) {
        fastfs::core::Run failing(threads(3));
        bool thrown = false;
        try {
            fastfs::core::parallel_for(failing, 50, [&](std::int64_t i, int) {
                if (i == 17) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // 18 fails first
                if (i >= 17) throw std::domain_error(std::to_string(i));
            });
        } catch (const std::domain_error& error) {
            thrown = error.what() == std::string("17");
        }
        CHECK(thrown);
    }
}

// A loop takes a thread for each kWorkOfThread of its work: none besides the caller's below two of them.
void test_work_of_a_loop() {
    constexpr std::int64_t n = 8;
    for (const std::int64_t worth : {1, 2, 3}) {
        fastfs::core::Run run(threads(3));
        const double of_an_index = (static_cast<double>(worth) + 0.5) * fastfs::core::kWorkOfThread / n;
        std::vector<int> slots(n);
        fastfs::core::parallel_for(run, n, of_an_index, [&](std::int64_t i, int slot) {
            std::this_thread::sleep_for(std::chrono::milliseconds(4));  // so that helpers get indices
            slots[static_cast<std::size_t>(i)] = slot;
        });
        const int last = *std::max_element(slots.begin(), slots.end());
        CHECK(last < worth && (last > 0) == (worth > 1));
    }
}

// Helpers round as the caller does at the time of the loop, though they were started before.
void test_rounding_of_helpers() {
    const volatile double one = 1, three = 3;
    for (const int mode : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD}) {
        fastfs::core::Run run(threads(3));
        std::vector<double> thirds(30);
        std::vector<std::thread::id> workers(30);
        std::fesetround(mode);
        const double third = one / three;
        fastfs::core::parallel_for(run, 30, [&](std::int64_t i, int) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));  // so that helpers get indices
            workers[static_cast<std::size_t>(i)] = std::this_thread::get_id();
            thirds[static_cast<std::size_t>(i)] = one / three;
        });
        std::fesetround(FE_TONEAREST);
        CHECK((third == 1.0 / 3) == (mode != FE_UPWARD));  // rounded to nearest it is below 1/3
        CHECK(std::count(thirds.begin(), thirds.end(), third) == 30);
        CHECK(std::count(workers.begin(), workers.end(), workers[0]) < 30);
    }
}

#if !defined(_WIN32) && !defined(__SANITIZE_THREAD__)  // the thread sanitizer doesn't follow threads across a fork
#define FASTFS_TEST_FORK
// A child has none of the threads; it must get its own.
void test_fork() {
    const std::int64_t n = 20, d = 300;
    const auto X = random_values<double>(static_cast<std::size_t>(n * d), 11);
    std::vector<double> before(static_cast<std::size_t>(d * d)), after = before;
    fastfs::affinity({X.data(), n, d}, fastfs::rbf(5), before.data(), threads(2));
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        fastfs::affinity({X.data(), n, d}, fastfs::rbf(5), after.data(), threads(2));
        _exit(before == after ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

}  // namespace

int main() {
    if (fastfs_isa() == nullptr) {
        std::printf("skipped: %s\n", fastfs_last_error());
        return 77;
    }
    std::vector<double> A(9, 1.0), w(3);
    CHECK(fastfs_eigh(3, A.data(), w.data(), nullptr) == FASTFS_EINVAL);
    CHECK(std::strstr(fastfs_last_error(), "no BLAS is registered") != nullptr);
    fastfs::check(fastfs_link_blas());

    test_exp<float>();
    test_exp<double>();
    test_affinity<float>();
    test_affinity<double>();
    test_streamed_product();
    test_custom_kernel();
    test_sparse_and_chunks();
    test_spectral();
    test_singular_vectors();
    test_block_products();
    test_cut_problems();
    test_leading_pairs();
    test_random();
    test_shared_offset();
    test_some_features<float>();
    test_some_features<double>();
    test_low_rank<float>();
    test_low_rank<double>();
    for (const int normalize : {0, 1, 2}) {
        test_drawn_landmarks<float>(1000, normalize);
        test_drawn_landmarks<double>(4000, normalize);
    }
    test_row_sums_from_landmarks();
    test_manifest();
    test_shares_of_manifest();
    test_wide_manifest();
    test_projse();
    test_neighbors();
    test_bad_arguments();
    test_cancel();
    test_cancel_leaves_sums();
    test_threads_at_once();
    test_parallel_for();
    test_work_of_a_loop();
    test_rounding_of_helpers();
#if defined(FASTFS_TEST_FORK)
    test_fork();
#endif
    std::printf("%s: %d failures\n", fastfs_isa(), failures);
    return failures == 0 ? 0 : 1;
}
