#include "manifest/outside.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "engines/spectral.hpp"
#include "manifest/operators.hpp"
#include "manifest/tall.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// The share of `rest` that K_UU takes: a share of 1 would mean that outside features have no ties with each other.
constexpr double kShareOfRest = 0.5;

// The least share of a unit vector outside the domain that makes a separate direction, as an eigenvalue of a Gram.
constexpr double kLeastShare = 1e-8;

// Overwrites A (d x p, row-major) by an orthonormal basis of its span, in the first columns of its rows of p; returns
// the number of these columns.
std::int64_t make_orthonormal(Buffer<double>& A, std::int64_t d, std::int64_t p, Run& run) {
    std::int64_t q = p;
    for (int round = 0; round < 2; ++round) {  // the second one for the digits that the first one's Gram has lost
        const std::int64_t n = q;
        Buffer<double> H = sum_over_rows(d, n * n, run, [&](std::int64_t i0, std::int64_t rows, double* part) {
            syrk_lower('N', n, rows, 1.0, A.data() + i0 * p, p, 1.0, part, n);
        });
        SymmetricEigen eigen(n, H.data(), run);
        const auto& w = eigen.values();
        const std::int64_t dropped = std::upper_bound(w.begin(), w.end(), kLeastShare) - w.begin();
        eigen.make_vectors(dropped, n, run);
        q = n - dropped;
        for (std::int64_t j = 0; j < q; ++j) {
            double* v = eigen.vector(dropped + j);
            for (std::int64_t i = 0; i < n; ++i) v[i] /= std::sqrt(w[at(dropped + j)]);
        }
        const double* vectors = eigen.vector(dropped);
        auto blocks = buffers<double>(run.n_threads(), kTile * p);
        parallel_for(run, ceil_div(d, kTile), [&](std::int64_t task, int slot) {
            const std::int64_t i0 = task * kTile, rows = std::min(kTile, d - i0);
            double* block = blocks[at(slot)].data();
            std::copy_n(A.data() + i0 * p, rows * p, block);
            gemm('T', 'N', q, rows, n, 1.0, vectors, n, block, p, 0.0, A.data() + i0 * p, p);
        });
    }
    return q;
}

// Projects K of one side onto the span of the unit vectors of B and of U = V_out R, with V_out = V but for zero rows in
// B: returns size x size, size = |B| + r, lower triangle. Between B and outside features, K is taken as F F'; among
// outside features, as F F' + kShareOfRest diag(rest). all_VK, all_VrV: members of Outside. VB: the rows of V in B. R:
// q x r, column-major.
template <class T>
Buffer<double> project_kernel(const SideKernel<T>& side, const Buffer<double>& all_VK, const Buffer<double>& all_VrV,
                              std::span<const std::int64_t> B, const Buffer<double>& VB, const double* R,
                              std::int64_t q, std::int64_t r, Run& run) {
    const Landmarks& landmarks = side.landmarks;
    const auto nB = std::ssize(B), size = nB + r, n = landmarks.n();
    const std::vector<double>&g = landmarks.g, &rest = landmarks.rest;
    const Features<double> of_domain(side.features, {B.begin(), B.end()}, run);
    Buffer<double> KBB(nB * nB);
    affinity(of_domain, side.kernel, run, KBB.data());
    if (side.name) {
        Buffer<double> scratch(nB * nB);
        require_semidefinite(nB, KBB.data(), scratch.data(), side.name, run);
    }
    Buffer<double> M(size * size);
    for (std::int64_t j = 0; j < nB; ++j) {
        for (std::int64_t i = j; i < nB; ++i) M[j * size + i] = KBB[j * nB + i] * g[at(B[at(i)])] * g[at(B[at(j)])];
    }
    if (r == 0) return M;
    Buffer<double> KBP = kernel_with_landmarks(of_domain, landmarks, side.kernel, run);
    Buffer<double> VK(q * n), UF(r * n), VrV(q * q), weighted(nB * q), VrVR(q * r);
    for (std::int64_t i = 0; i < nB; ++i) {
        for (std::int64_t j = 0; j < n; ++j) KBP[i * n + j] *= g[at(B[at(i)])];
        for (std::int64_t j = 0; j < q; ++j) weighted[i * q + j] = rest[at(B[at(i)])] * VB[i * q + j];
    }
    // Computes U'F = R' (V' diag(g) K_P - VB' K_BP) L^-T, with P the landmarks.
    std::copy_n(all_VK.data(), q * n, VK.data());
    gemm('N', 'T', q, n, nB, -1.0, VB.data(), q, KBP.data(), n, 1.0, VK.data(), q);
    gemm('T', 'N', r, n, q, 1.0, R, q, VK.data(), q, 0.0, UF.data(), r);
    trsm_right('T', r, n, landmarks.L.data(), n, UF.data(), r);
    // Computes K_UU = U'F F'U + kShareOfRest R' (V' diag(rest) V - VB' diag(rest of B) VB) R.
    std::copy_n(all_VrV.data(), q * q, VrV.data());
    gemm('N', 'T', q, q, nB, -1.0, VB.data(), q, weighted.data(), q, 1.0, VrV.data(), q);
    gemm('N', 'N', q, r, q, kShareOfRest, VrV.data(), q, R, q, 0.0, VrVR.data(), q);
    double* KUU = M.data() + nB * size + nB;
    gemm('T', 'N', r, r, q, 1.0, R, q, VrVR.data(), q, 0.0, KUU, size);
    syrk_lower('N', r, n, 1.0, UF.data(), r, 1.0, KUU, size);
    // Computes K_UB = U'F L^-1 K_BP', which is U'F FB'.
    trsm_right('N', r, n, landmarks.L.data(), n, UF.data(), r);
    gemm('N', 'N', r, nB, n, 1.0, UF.data(), r, KBP.data(), n, 0.0, M.data() + nB, size);
    return M;
}

}  // namespace

Buffer<double> take_rows(const Outside& outside, std::span<const std::int64_t> B) {
    Buffer<double> taken(std::ssize(B) * outside.q);
    for (std::size_t i = 0; i < B.size(); ++i) {
        std::copy_n(outside.V.data() + B[i] * outside.ld, outside.q,
                    taken.data() + static_cast<std::int64_t>(i) * outside.q);
    }
    return taken;
}

template <class T>
Outside joint_span(const std::array<SideKernel<T>, 2>& sides, const std::array<LowRank, 2>& spans, std::int64_t k,
                   Run& run) {
    const std::int64_t d = sides[0].features.n_features();
    const std::int64_t k1 = std::min(k, spans[0].rank()), k2 = std::min(k, spans[1].rank()), p = k1 + k2;
    Outside outside{.q = p, .ld = p, .V = Buffer<double>(d * p), .VK = {}, .VrV = {}};
    for (std::int64_t i = 0; i < d; ++i) {
        std::copy_n(spans[0].G.data() + i * spans[0].rank(), k1, outside.V.data() + i * p);
        std::copy_n(spans[1].G.data() + i * spans[1].rank(), k2, outside.V.data() + i * p + k1);
    }
    const std::int64_t q = outside.q = make_orthonormal(outside.V, d, p, run);
    const double* V = outside.V.data();
    for (std::size_t l : {0, 1}) {
        const SideKernel<T>& side = sides[l];
        const Landmarks& landmarks = side.landmarks;
        const std::int64_t n = landmarks.n();
        outside.VK[l] = sum_over_rows(d, q * n, run, [&](std::int64_t i0, std::int64_t rows, double* sum) {
            std::vector<std::int64_t> block(at(rows));
            std::iota(block.begin(), block.end(), i0);
            Buffer<double> K =
                kernel_with_landmarks(Features<double>(side.features, block, run), landmarks, side.kernel, run);
            for (std::int64_t i = 0; i < rows; ++i) {
                for (std::int64_t j = 0; j < n; ++j) K[i * n + j] *= landmarks.g[at(i0 + i)];
            }
            gemm('N', 'T', q, n, rows, 1.0, V + i0 * p, p, K.data(), n, 1.0, sum, q);
        });
        outside.VrV[l] = sum_over_rows(d, q * q, run, [&](std::int64_t i0, std::int64_t rows, double* sum) {
            Buffer<double> weighted(rows * q);
            for (std::int64_t i = 0; i < rows; ++i) {
                const double weight = landmarks.rest[at(i0 + i)];
                for (std::int64_t j = 0; j < q; ++j) weighted[i * q + j] = weight * V[(i0 + i) * p + j];
            }
            gemm('N', 'T', q, q, rows, 1.0, V + i0 * p, p, weighted.data(), q, 1.0, sum, q);
        });
    }
    return outside;
}

template <class T>
Outcome solve_domain(std::span<const std::int64_t> B, const Buffer<double>& VB,
                     const std::array<SideKernel<T>, 2>& sides, const Outside& outside, Run& run) {
    const std::int64_t nB = std::ssize(B), q = outside.q;
    Buffer<double> gram(q * q), R(q * q);
    std::fill_n(gram.data(), q * q, 0.0);
    for (std::int64_t i = 0; i < q; ++i) gram[i * q + i] = 1;
    syrk_lower('N', q, nB, -1.0, VB.data(), q, 1.0, gram.data(), q);
    SymmetricEigen eigen(q, gram.data(), run);
    const auto& w = eigen.values();
    const std::int64_t dropped = std::upper_bound(w.begin(), w.end(), kLeastShare) - w.begin(), r = q - dropped;
    eigen.make_vectors(dropped, q, run);
    for (std::int64_t j = 0; j < r; ++j) {
        const double* v = eigen.vector(dropped + j);
        for (std::int64_t i = 0; i < q; ++i) R[j * q + i] = v[i] / std::sqrt(w[at(dropped + j)]);
    }
    Outcome outcome;
    outcome.scores.resize(at(nB + r));
    std::array<Buffer<double>, 2> K;
    for (std::size_t l : {0, 1}) {
        K[l] = project_kernel(sides[l], outside.VK[l], outside.VrV[l], B, VB, R.data(), q, r, run);
    }
    pencil_form(nB + r, std::move(K[0]), std::move(K[1]), run, outcome);
    return outcome;
}

template Outside joint_span(const std::array<SideKernel<float>, 2>&, const std::array<LowRank, 2>&, std::int64_t, Run&);
template Outside joint_span(const std::array<SideKernel<double>, 2>&, const std::array<LowRank, 2>&, std::int64_t,
                            Run&);
template Outcome solve_domain(std::span<const std::int64_t>, const Buffer<double>&,
                              const std::array<SideKernel<float>, 2>&, const Outside&, Run&);
template Outcome solve_domain(std::span<const std::int64_t>, const Buffer<double>&,
                              const std::array<SideKernel<double>, 2>&, const Outside&, Run&);

}  // namespace fastfs::core
