#include "manifest/domains.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

#include "engines/affinity.hpp"
#include "engines/neighbors.hpp"
#include "engines/spectral.hpp"
#include "manifest/low_rank.hpp"
#include "manifest/operators.hpp"
#include "manifest/problem.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

constexpr std::int64_t kCore = 400, kBuffer = 100, kNeighbors = 30;

// The least share of a unit vector outside the domain that makes a direction of its own, as an eigenvalue of a Gram.
constexpr double kLeastShare = 1e-8;

std::vector<std::vector<std::int64_t>> grow_cores(const Edges& edges, std::int64_t size) {
    const std::size_t d = edges.begins.size() - 1;
    std::vector<double> strongest(d, 0.0), gain(d, 0.0);
    for (std::size_t i = 0; i < d; ++i) {
        for (auto e = edges.begins[i]; e < edges.begins[i + 1]; ++e) {
            strongest[i] = std::max(strongest[i], edges.weights[at(e)]);
        }
    }
    std::vector<std::size_t> seeds(d);
    std::iota(seeds.begin(), seeds.end(), std::size_t{0});
    std::stable_sort(seeds.begin(), seeds.end(),
                     [&](std::size_t i, std::size_t j) { return strongest[i] > strongest[j]; });
    std::vector<char> free(d, 1);
    std::vector<std::vector<std::int64_t>> cores;
    for (std::size_t seed : seeds) {
        if (!free[seed]) continue;
        using Offer = std::pair<double, std::int64_t>;  // gain, and the negative index: the top is the lowest of equals
        std::priority_queue<Offer> offers;
        std::vector<std::int64_t> core, touched;
        auto j = static_cast<std::int64_t>(seed);
        while (true) {
            core.push_back(j);
            free[at(j)] = 0;
            if (static_cast<std::int64_t>(core.size()) == size) break;
            for (auto e = edges.begins[at(j)]; e < edges.begins[at(j) + 1]; ++e) {
                const std::int64_t i = edges.features[at(e)];
                gain[at(i)] += edges.weights[at(e)];
                touched.push_back(i);
                if (free[at(i)] && gain[at(i)] > 0) offers.emplace(gain[at(i)], -i);
            }
            while (!offers.empty()) {  // gains only grow: what was offered for less is outdated
                const auto& [value, negative] = offers.top();
                if (free[at(-negative)] && value == gain[at(-negative)]) break;
                offers.pop();
            }
            if (offers.empty()) break;
            j = -offers.top().second;
        }
        for (std::int64_t i : touched) gain[at(i)] = 0;
        cores.push_back(std::move(core));
    }
    return cores;
}

std::vector<std::vector<std::int64_t>> pack_cores(std::vector<std::vector<std::int64_t>> cores, std::int64_t size) {
    std::stable_sort(cores.begin(), cores.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
    std::vector<std::vector<std::int64_t>> packed;
    std::vector<std::int64_t> rest;
    for (auto& core : cores) {
        const auto n = static_cast<std::int64_t>(core.size());
        if (5 * n >= 4 * size) {
            packed.push_back(std::move(core));
            continue;
        }
        if (!rest.empty() && static_cast<std::int64_t>(rest.size()) + n > size) {
            packed.push_back(std::move(rest));
            rest.clear();
        }
        rest.insert(rest.end(), core.begin(), core.end());
    }
    if (!rest.empty()) packed.push_back(std::move(rest));
    return packed;
}

// One side at one scale: K = diag(g) k(x, x) diag(g).
struct SideKernel {
    const Features<double>& features;
    Kernel kernel;
    std::vector<double> g;
    Buffer<double> KV, VKV;  // d x q, row-major; q x q
};

// out = K V, both d x p, row-major.
void multiply_kernel(const SideKernel& side, const double* V, std::int64_t p, Run& run, double* out) {
    const std::int64_t d = side.features.n_features();
    Buffer<double> scaled(d * p);
    for (std::int64_t i = 0; i < d; ++i) {
        for (std::int64_t j = 0; j < p; ++j) scaled[i * p + j] = side.g[at(i)] * V[i * p + j];
    }
    affinity_product(side.features, side.kernel, scaled.data(), p, run, out);
    for (std::int64_t i = 0; i < d; ++i) {
        for (std::int64_t j = 0; j < p; ++j) out[i * p + j] *= side.g[at(i)];
    }
}

// The factors of `times` rounds of K <- diag(q)^(-1/2) K diag(q)^(-1/2), q = K 1.
std::vector<double> normalizing_factors(const Features<double>& features, const Kernel& kernel, int times, Run& run) {
    std::vector<double> g(at(features.n_features()), 1.0), Kg(g.size());
    for (int time = 0; time < times; ++time) {
        affinity_product(features, kernel, g.data(), 1, run, Kg.data());
        for (std::size_t i = 0; i < g.size(); ++i) g[i] /= std::sqrt(g[i] * Kg[i]);
    }
    return g;
}

// An orthonormal basis of the columns of A (d x p, row-major), row-major too; q: their number.
Buffer<double> orthonormal(Buffer<double> A, std::int64_t d, std::int64_t p, Run& run, std::int64_t& q) {
    q = p;
    for (int round = 0; round < 2; ++round) {  // the second one for the digits that the first one's Gram has lost
        const std::int64_t n = q;
        Buffer<double> H = sum_over_rows(d, n * n, run, [&](std::int64_t i0, std::int64_t rows, double* part) {
            syrk_lower('N', n, rows, 1.0, A.data() + i0 * n, n, 1.0, part, n);
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
        Buffer<double> next(d * q);
        const double* vectors = eigen.vector(dropped);
        parallel_for(run, ceil_div(d, kTile), [&](std::int64_t block, int) {
            const std::int64_t i0 = block * kTile, rows = std::min(kTile, d - i0);
            gemm('T', 'N', q, rows, n, 1.0, vectors, n, A.data() + i0 * n, n, 0.0, next.data() + i0 * q, q);
        });
        A = std::move(next);
    }
    return A;
}

// Rows of a matrix of q columns.
Buffer<double> take_rows(const Buffer<double>& A, const std::vector<std::int64_t>& rows, std::int64_t q) {
    Buffer<double> taken(static_cast<std::int64_t>(rows.size()) * q);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        std::copy_n(A.data() + rows[i] * q, q, taken.data() + static_cast<std::int64_t>(i) * q);
    }
    return taken;
}

// K of one side on the span of the unit vectors of B and of V, its rows in B set to zero, times R: n x n, n = |B| + r,
// lower triangle. VB: those rows of V; R q x r, column-major.
Buffer<double> project(const SideKernel& side, const std::vector<std::int64_t>& B, const Buffer<double>& VB,
                       const double* R, std::int64_t q, std::int64_t r, Run& run) {
    const auto nB = static_cast<std::int64_t>(B.size()), n = nB + r;
    const Features<double> of_domain(side.features, B, run);
    Buffer<double> KBB(nB * nB);
    affinity(of_domain, side.kernel, run, KBB.data());
    for (std::int64_t i = 0; i < nB; ++i) {
        for (std::int64_t j = 0; j < nB; ++j) KBB[i * nB + j] *= side.g[at(B[at(i)])] * side.g[at(B[at(j)])];
    }
    Buffer<double> M(n * n);
    for (std::int64_t j = 0; j < nB; ++j) std::copy_n(KBB.data() + j * nB, nB, M.data() + j * n);
    if (r == 0) return M;
    const Buffer<double> KVB = take_rows(side.KV, B, q);
    Buffer<double> T(q * nB), KUB(r * nB), A(q * q), AR(q * r), KUU(r * r);
    std::copy_n(KVB.data(), q * nB, T.data());
    gemm('N', 'N', q, nB, nB, -1.0, VB.data(), q, KBB.data(), nB, 1.0, T.data(), q);
    gemm('T', 'N', r, nB, q, 1.0, R, q, T.data(), q, 0.0, KUB.data(), r);
    std::copy_n(side.VKV.data(), q * q, A.data());
    gemm('N', 'T', q, q, nB, -1.0, VB.data(), q, T.data(), q, 1.0, A.data(), q);
    gemm('N', 'T', q, q, nB, -1.0, KVB.data(), q, VB.data(), q, 1.0, A.data(), q);
    gemm('N', 'N', q, r, q, 1.0, A.data(), q, R, q, 0.0, AR.data(), q);
    gemm('T', 'N', r, r, q, 1.0, R, q, AR.data(), q, 0.0, KUU.data(), r);
    for (std::int64_t j = 0; j < nB; ++j) std::copy_n(KUB.data() + j * r, r, M.data() + j * n + nB);
    for (std::int64_t j = 0; j < r; ++j) {
        for (std::int64_t i = j; i < r; ++i) {
            M[(nB + j) * n + nB + i] = (KUU[j * r + i] + KUU[i * r + j]) / 2;
        }
    }
    return M;
}

// The scores of a domain's features in the span of the domain and of V.
Outcome solve_domain(const std::vector<std::int64_t>& B, const std::array<SideKernel*, 2>& sides,
                     const Buffer<double>& V, std::int64_t q, Run& run) {
    const auto nB = static_cast<std::int64_t>(B.size());
    const Buffer<double> VB = take_rows(V, B, q);
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
    Buffer<double> K1 = project(*sides[0], B, VB, R.data(), q, r, run);
    pencil_form(nB + r, std::move(K1), project(*sides[1], B, VB, R.data(), q, r, run), run, outcome);
    return outcome;
}

}  // namespace

Edges gather_edges(std::int64_t d, std::vector<ListedEdge> listed) {
    const std::size_t n = listed.size();
    listed.reserve(2 * n);
    for (std::size_t e = 0; e < n; ++e) listed.push_back({listed[e].to, listed[e].from, listed[e].weight});
    std::sort(listed.begin(), listed.end(), [](const ListedEdge& a, const ListedEdge& b) {
        return a.from != b.from ? a.from < b.from : a.to != b.to ? a.to < b.to : a.weight > b.weight;
    });
    Edges edges;
    edges.begins.assign(at(d) + 1, 0);
    for (std::size_t e = 0; e < listed.size(); ++e) {
        if (e > 0 && listed[e].from == listed[e - 1].from && listed[e].to == listed[e - 1].to) continue;
        edges.features.push_back(listed[e].to);
        edges.weights.push_back(listed[e].weight);
        ++edges.begins[at(listed[e].from) + 1];
    }
    std::partial_sum(edges.begins.begin(), edges.begins.end(), edges.begins.begin());
    return edges;
}

std::vector<Domain> make_domains(const Edges& edges, std::int64_t core, std::int64_t buffer) {
    std::vector<Domain> domains;
    std::vector<double> pull(edges.begins.size() - 1, 0.0);
    std::vector<char> inside(pull.size(), 0);
    for (auto& members : pack_cores(grow_cores(edges, core), core)) {
        std::vector<std::int64_t> tied;
        for (std::int64_t i : members) inside[at(i)] = 1;
        for (std::int64_t i : members) {
            for (auto e = edges.begins[at(i)]; e < edges.begins[at(i) + 1]; ++e) {
                const std::int64_t j = edges.features[at(e)];
                if (inside[at(j)] || !(edges.weights[at(e)] > 0)) continue;
                if (pull[at(j)] == 0) tied.push_back(j);
                pull[at(j)] += edges.weights[at(e)];
            }
        }
        std::sort(tied.begin(), tied.end(), [&](std::int64_t i, std::int64_t j) {
            return pull[at(i)] != pull[at(j)] ? pull[at(i)] > pull[at(j)] : i < j;
        });
        for (std::int64_t i : members) inside[at(i)] = 0;
        for (std::int64_t j : tied) pull[at(j)] = 0;
        tied.resize(std::min(tied.size(), at(buffer)));
        Domain domain{.features = std::move(members), .core = 0};
        domain.core = static_cast<std::int64_t>(domain.features.size());
        domain.features.insert(domain.features.end(), tied.begin(), tied.end());
        domains.push_back(std::move(domain));
    }
    return domains;
}

void domains_problem(const Fit& fit, const Problem& problem, Run& run, std::vector<Outcome>& outcomes) {
    const std::int64_t d = fit.X.n_cols(), n_near = std::min(kNeighbors, d - 1);
    std::array<Features<double>, 2> features;
    std::array<std::vector<std::int64_t>, 2> near;
    std::array<std::vector<double>, 2> distances;
    for (std::size_t l : {0, 1}) {
        const auto& rows = problem[l].rows;
        features[l] = Features<double>(fit.X, rows, common_unit(fit.row_maxima, rows), Shift::kRow, run);
        near[l].resize(at(d * n_near));
        distances[l].resize(at(d * n_near));
        nearest_features(fit.X, rows, n_near, run, near[l].data(), distances[l].data(), l == 0 ? 0.05 : 0.1);
    }
    run.step("scales", 1.0);
    const double n_scales = static_cast<double>(fit.scales.size());
    Buffer<double> room;
    for (std::size_t s = 0; s < fit.scales.size(); ++s) {
        const Run::Part part(run, static_cast<double>(s) / n_scales, static_cast<double>(s + 1) / n_scales);
        Outcome& outcome = outcomes[s];
        const std::int64_t k = std::min(fit.options.rank, d);
        std::vector<ListedEdge> listed;
        std::vector<SideKernel> sides;
        std::array<LowRank, 2> spans;
        run.step("leading eigenvectors", 0.2);
        for (std::size_t l : {0, 1}) {
            const Kernel kernel = kernel_of_side(features[l], fit.options, problem[l], l, fit.scales[s], run, outcome);
            const int times = fit.scales[s].normalize;
            sides.push_back({features[l], kernel, normalizing_factors(features[l], kernel, times, run), {}, {}});
            spans[l] = landmarks(features[l], kernel, times, k, fit.options.seed, room, run);
            const std::vector<double>& g = sides[l].g;
            for (std::int64_t i = 0; i < d; ++i) {
                for (std::int64_t e = i * n_near; e < (i + 1) * n_near; ++e) {
                    const double scaled = distances[l][at(e)] / kernel.sigma;
                    const std::int64_t j = near[l][at(e)];
                    listed.push_back({i, j, g[at(i)] * g[at(j)] * std::exp(-scaled * scaled / 2)});
                }
            }
        }
        const std::int64_t k1 = spans[0].rank(), k2 = spans[1].rank(), p = k1 + k2;
        Buffer<double> both(d * p);
        for (std::int64_t i = 0; i < d; ++i) {
            std::copy_n(spans[0].G.data() + i * k1, k1, both.data() + i * p);
            std::copy_n(spans[1].G.data() + i * k2, k2, both.data() + i * p + k1);
        }
        std::int64_t q = 0;
        const Buffer<double> V = orthonormal(std::move(both), d, p, run, q);
        run.step("products of the kernels", 0.4);
        for (SideKernel& side : sides) {
            side.KV = Buffer<double>(d * q);
            multiply_kernel(side, V.data(), q, run, side.KV.data());
            side.VKV = sum_over_rows(d, q * q, run, [&](std::int64_t i0, std::int64_t rows, double* sum) {
                gemm('N', 'T', q, q, rows, 1.0, V.data() + i0 * q, q, side.KV.data() + i0 * q, q, 1.0, sum, q);
            });
        }
        run.step("domains", 1.0);
        const auto domains = make_domains(gather_edges(d, std::move(listed)), kCore, kBuffer);
        const auto n = static_cast<std::int64_t>(domains.size());
        std::int64_t largest = 0;
        for (std::int64_t c = 0; c < n; ++c) {
            const Run::Part of_domain(run, share(c, n), share(c + 1, n));
            const Domain& domain = domains[at(c)];
            const Outcome solved = solve_domain(domain.features, {&sides[0], &sides[1]}, V, q, run);
            for (std::int64_t i = 0; i < domain.core; ++i) {
                outcome.scores[at(domain.features[at(i)])] = solved.scores[at(i)];
            }
            outcome.rank = std::max(outcome.rank, solved.rank);
            outcome.steepest = std::max(outcome.steepest, solved.steepest);
            largest = std::max(largest, static_cast<std::int64_t>(solved.scores.size()));
        }
        double diagonal = 0;
        for (const SideKernel& side : sides) {
            for (double g : side.g) diagonal = std::max(diagonal, g * g);
        }
        outcome.agreement = std::numeric_limits<double>::quiet_NaN();  // not measured
        check_contrast(largest, diagonal, std::numeric_limits<double>::epsilon(), outcome);
    }
}

std::int64_t domains_memory(const Samples& X, const fastfs_manifest_options& o, const Run& run) {
    const std::int64_t d = X.n_cols(), q = 2 * std::min(o.rank, d), n = std::min(kCore + kBuffer, d) + q;
    const std::int64_t near = std::min(kNeighbors, d - 1);
    return 2 * Features<double>::memory(X, X.n_rows()) + 8 * d * (5 * q + 3) +
           std::max(nearest_features_memory(X, near, run.n_threads()), landmarks_memory(d, o.rank, run.n_threads())) +
           d * near * (32 + 2 * 2 * 24 + 2 * 2 * 16) + sum_over_rows_memory(d, q * q) +
           tile_memory(run.n_threads(), q) + 8 * (10 * n * n);
}

}  // namespace fastfs::core
