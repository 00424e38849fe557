#include "kernels/spectral.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "support/lapack.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();

void mirror_lower(std::int64_t n, double* A) {
    constexpr std::int64_t kBlock = 32;
    for (std::int64_t j0 = 0; j0 < n; j0 += kBlock) {
        for (std::int64_t i0 = j0; i0 < n; i0 += kBlock) {
            for (std::int64_t j = j0; j < std::min(j0 + kBlock, n); ++j) {
                for (std::int64_t i = std::max(i0, j); i < std::min(i0 + kBlock, n); ++i) A[i * n + j] = A[j * n + i];
            }
        }
    }
}

// Largest column sum of |A|; both triangles stored.
double norm1(std::int64_t n, const double* A) {
    double largest = 0;
    for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t i = 0; i < n; ++i) sum += std::abs(A[j * n + i]);
        largest = std::max(largest, sum);
    }
    return largest;
}

void fix_sign(std::int64_t n, double* v) {
    const double* largest =
        std::max_element(v, v + n, [](double a, double b) { return std::abs(a) < std::abs(b); });
    if (*largest < 0) std::transform(v, v + n, v, std::negate<>());
}

// S = L L', C = L^-1 D L^-T = Y diag(nu) Y', W = L Y. False, with S and D as before, if S is singular to rounding.
bool pencil_by_cholesky(std::int64_t n, double* D, double* S, double* nu, Run& run) {
    // The upper triangle keeps S, which the factor would destroy; LAPACK doesn't touch it.
    mirror_lower(n, S);
    std::vector<double> diagonal(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) diagonal[static_cast<std::size_t>(i)] = S[i * n + i];
    const double norm = norm1(n, S);
    if (!potrf_lower(n, S) || pocon_lower(n, S, norm) < static_cast<double>(n) * kEps) {
        for (std::int64_t j = 0; j < n; ++j) {
            S[j * n + j] = diagonal[static_cast<std::size_t>(j)];
            for (std::int64_t i = j + 1; i < n; ++i) S[j * n + i] = S[i * n + j];
        }
        return false;
    }
    run.checkpoint(0.05);
    sygst_lower(n, D, S);
    run.checkpoint(0.2);
    eigh_lower(n, D, nu);
    run.checkpoint(0.9);
    trmm_lower(n, S, D);
    return true;
}

// S = V diag(w) V' with w > n eps w_max kept, Z = V diag(w)^(-1/2), C = Z' D Z = Y diag(nu) Y', W = V diag(w)^(1/2) Y.
std::int64_t pencil_by_eigenvalues(std::int64_t n, double* D, double* S, double* nu, Run& run) {
    std::vector<double> w(static_cast<std::size_t>(n));
    eigh_lower(n, S, w.data());
    run.checkpoint(0.4);
    const double cut = std::max(w.back(), 0.0) * static_cast<double>(n) * kEps;
    const auto first = std::upper_bound(w.begin(), w.end(), cut) - w.begin();
    const std::int64_t q = n - first;
    double* V = S + first * n;  // the columns that are kept
    std::vector<double> root(w.begin() + first, w.end());
    for (double& r : root) r = std::sqrt(r);

    mirror_lower(n, D);
    {
        Buffer<double> T(n * q);  // D V
        gemm('N', 'N', n, q, n, 1.0, D, n, V, n, 0.0, T.data(), n);
        run.checkpoint(0.5);
        gemm('T', 'N', q, q, n, 1.0, V, n, T.data(), n, 0.0, D, q);
    }
    for (std::int64_t j = 0; j < q; ++j) {
        for (std::int64_t i = 0; i < q; ++i) {
            D[j * q + i] /= root[static_cast<std::size_t>(i)] * root[static_cast<std::size_t>(j)];
        }
    }
    run.checkpoint(0.6);
    eigh_lower(q, D, nu);
    run.checkpoint(0.9);
    for (std::int64_t j = 0; j < q; ++j) {
        for (std::int64_t i = 0; i < q; ++i) D[j * q + i] *= root[static_cast<std::size_t>(i)];
    }
    Buffer<double> W(n * q);
    gemm('N', 'N', n, q, q, 1.0, V, n, D, q, 0.0, W.data(), n);
    std::memcpy(D, W.data(), sizeof(double) * static_cast<std::size_t>(n * q));
    return q;
}

}  // namespace

void eigh(std::int64_t n, double* A, double* w, Run& run) {
    const BlasThreads threads(run.n_threads());
    eigh_lower(n, A, w);
    run.checkpoint(1.0);
}

void pick_leading(std::int64_t n, const double* all_w, const double* all_V, std::int64_t k, double* w, double* V) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return std::abs(all_w[a]) > std::abs(all_w[b]); });
    for (std::int64_t c = 0; c < k; ++c) {
        const std::int64_t from = order[static_cast<std::size_t>(c)];
        w[c] = all_w[from];
        std::copy(all_V + from * n, all_V + (from + 1) * n, V + c * n);
        fix_sign(n, V + c * n);
    }
}

void leading_eigenpairs(std::int64_t n, double* A, std::int64_t k, double* w, double* V, Run& run) {
    const BlasThreads threads(run.n_threads());
    eigh_range_lower(n, A, n - k, n - 1, w, V);
    std::reverse(w, w + k);
    for (std::int64_t c = 0; c < k / 2; ++c) {
        std::swap_ranges(V + c * n, V + (c + 1) * n, V + (k - 1 - c) * n);
    }
    for (std::int64_t c = 0; c < k; ++c) fix_sign(n, V + c * n);
    run.checkpoint(1.0);
}

std::int64_t pencil(std::int64_t n, double* D, double* S, double* nu, Run& run) {
    const BlasThreads threads(run.n_threads());
    const std::int64_t q = pencil_by_cholesky(n, D, S, nu, run) ? n : pencil_by_eigenvalues(n, D, S, nu, run);
    for (std::int64_t i = 0; i < q; ++i) nu[i] = std::clamp(nu[i], -1.0, 1.0);
    run.checkpoint(1.0);
    return q;
}

}  // namespace fastfs::core
