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
#include "support/random.hpp"

namespace fastfs::core {
namespace {

constexpr std::int64_t kCore = 400, kBuffer = 150, kNeighbors = 30;

// Dense X of more features than this have their neighbours found by lists, which miss some: the exact search takes
// O(d^2) time, and as long as all domains of so many features.
constexpr std::int64_t kMostSearched = 100'000;

// The agreement with exact scores is estimated from so many domains, solved again without a buffer and with half of the
// eigenvectors. The scores are this many times as far from exact ones as from those: fitted to the cells of
// benchmarks/bench_manifest_wide.py, where the estimate exceeds the truth by .05 at most.
constexpr std::int64_t kChecked = 2;
constexpr double kDistanceToExact = 2;

// The landmarks that K outside a domain rests on are those of so many times the rank that V is cut to.
constexpr std::int64_t kFinerRank = 3;

// Share of `rest` that K_UU takes: all of it would stand for features without ties between each other.
constexpr double kShareOfRest = 0.5;

// The least share of a unit vector outside the domain that makes a direction of its own, as an eigenvalue of a Gram.
constexpr double kLeastShare = 1e-8;

std::vector<std::vector<std::int64_t>> grow_cores(const Edges& edges, std::int64_t size) {
    const std::size_t d = edges.begins.size() - 1;
    std::vector<double> strongest(d, 0.0), gain(d, 0.0);
    for (std::size_t i = 0; i < d; ++i) {
        for (const auto& end : edges.of(i)) strongest[i] = std::max(strongest[i], end.weight);
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
            for (const auto& [i, weight] : edges.of(at(j))) {
                gain[at(i)] += weight;
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

// One side at one scale: K = diag(g) k(x, x) diag(g), in short F F' with `rest` on the diagonal.
struct SideKernel {
    const Features<double>& features;
    Kernel kernel;
    std::int64_t m;    // between rows of F
    Buffer<double> F;  // d x n, row-major
    Landmarks factor;
};

// The features outside a domain: the span of leading eigenvectors of both kernels, and what these are on it.
struct Outside {
    std::int64_t q;
    Buffer<double> V;                       // d x q, row-major, with orthonormal columns
    std::array<Buffer<double>, 2> FV, VrV;  // F'V, n x q, and V' diag(rest) V, q x q, row-major
};

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

// The first n columns of some rows of A, whose rows are ld apart.
Buffer<double> take_rows(const Buffer<double>& A, const std::vector<std::int64_t>& rows, std::int64_t n,
                         std::int64_t ld) {
    Buffer<double> taken(static_cast<std::int64_t>(rows.size()) * n);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        std::copy_n(A.data() + rows[i] * ld, n, taken.data() + static_cast<std::int64_t>(i) * n);
    }
    return taken;
}

// Describes what is outside of domains by the k leading eigenvectors of each kernel, of which spans have as many or
// more.
Outside describe_outside(const std::array<SideKernel, 2>& sides, const std::array<LowRank, 2>& spans, std::int64_t k,
                         Run& run) {
    const std::int64_t d = sides[0].features.n_features();
    const std::int64_t k1 = std::min(k, spans[0].rank()), k2 = std::min(k, spans[1].rank()), p = k1 + k2;
    Buffer<double> both(d * p);
    for (std::int64_t i = 0; i < d; ++i) {
        std::copy_n(spans[0].G.data() + i * spans[0].rank(), k1, both.data() + i * p);
        std::copy_n(spans[1].G.data() + i * spans[1].rank(), k2, both.data() + i * p + k1);
    }
    Outside outside;
    outside.V = orthonormal(std::move(both), d, p, run, outside.q);
    const double* V = outside.V.data();
    const std::int64_t q = outside.q;
    for (std::size_t l : {0, 1}) {
        const SideKernel& side = sides[l];
        const std::int64_t n = side.factor.n;
        outside.FV[l] = sum_over_rows(d, n * q, run, [&](std::int64_t i0, std::int64_t rows, double* sum) {
            gemm('N', 'T', q, n, rows, 1.0, V + i0 * q, q, side.F.data() + i0 * side.m, side.m, 1.0, sum, q);
        });
        outside.VrV[l] = sum_over_rows(d, q * q, run, [&](std::int64_t i0, std::int64_t rows, double* sum) {
            Buffer<double> weighted(rows * q);
            for (std::int64_t i = 0; i < rows; ++i) {
                const double weight = side.factor.rest[at(i0 + i)];
                for (std::int64_t j = 0; j < q; ++j) weighted[i * q + j] = weight * V[(i0 + i) * q + j];
            }
            gemm('N', 'T', q, q, rows, 1.0, V + i0 * q, q, weighted.data(), q, 1.0, sum, q);
        });
    }
    return outside;
}

// K of one side on the span of the unit vectors of B and of U = V_out R, V_out being V with its rows in B set to zero:
// size x size, size = |B| + r, lower triangle; all_FV, all_VrV: of Outside. K between B and all others is that of F F',
// K among these that of F F' and kShareOfRest of the rest of its diagonal. VB: the rows of V in B; R q x r,
// column-major.
Buffer<double> project(const SideKernel& side, const Buffer<double>& all_FV, const Buffer<double>& all_VrV,
                       const std::vector<std::int64_t>& B, const Buffer<double>& VB, const double* R, std::int64_t q,
                       std::int64_t r, Run& run) {
    const auto nB = static_cast<std::int64_t>(B.size()), size = nB + r, n = side.factor.n;
    const std::vector<double>&g = side.factor.g, &rest = side.factor.rest;
    const Features<double> of_domain(side.features, B, run);
    Buffer<double> KBB(nB * nB);
    affinity(of_domain, side.kernel, run, KBB.data());
    Buffer<double> M(size * size);
    for (std::int64_t j = 0; j < nB; ++j) {
        for (std::int64_t i = j; i < nB; ++i) M[j * size + i] = KBB[j * nB + i] * g[at(B[at(i)])] * g[at(B[at(j)])];
    }
    if (r == 0) return M;
    const Buffer<double> FB = take_rows(side.F, B, n, side.m);
    Buffer<double> FV(q * n), FU(r * n), VrV(q * q), weighted(nB * q), VrVR(q * r);
    // F'V_out = F'V - FB' VB, and F'U.
    std::copy_n(all_FV.data(), n * q, FV.data());
    gemm('N', 'T', q, n, nB, -1.0, VB.data(), q, FB.data(), n, 1.0, FV.data(), q);
    gemm('T', 'N', r, n, q, 1.0, R, q, FV.data(), q, 0.0, FU.data(), r);
    // K_BU = FB F'U, the columns of which are rows of M.
    gemm('N', 'N', r, nB, n, 1.0, FU.data(), r, FB.data(), n, 0.0, M.data() + nB, size);
    // K_UU = U'F F'U + kShareOfRest R' (V' diag(rest) V - VB' diag(rest of B) VB) R.
    std::copy_n(all_VrV.data(), q * q, VrV.data());
    for (std::int64_t i = 0; i < nB; ++i) {
        for (std::int64_t j = 0; j < q; ++j) weighted[i * q + j] = rest[at(B[at(i)])] * VB[i * q + j];
    }
    gemm('N', 'T', q, q, nB, -1.0, VB.data(), q, weighted.data(), q, 1.0, VrV.data(), q);
    gemm('N', 'N', q, r, q, kShareOfRest, VrV.data(), q, R, q, 0.0, VrVR.data(), q);
    double* KUU = M.data() + nB * size + nB;
    gemm('T', 'N', r, r, q, 1.0, R, q, VrVR.data(), q, 0.0, KUU, size);
    syrk_lower('N', r, n, 1.0, FU.data(), r, 1.0, KUU, size);
    return M;
}

// The scores of a domain's features in the span of the domain and of V.
Outcome solve_domain(const std::vector<std::int64_t>& B, const std::array<SideKernel, 2>& sides, const Outside& outside,
                     Run& run) {
    const auto nB = static_cast<std::int64_t>(B.size()), q = outside.q;
    const Buffer<double> VB = take_rows(outside.V, B, q, q);
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
        K[l] = project(sides[l], outside.FV[l], outside.VrV[l], B, VB, R.data(), q, r, run);
    }
    pencil_form(nB + r, std::move(K[0]), std::move(K[1]), run, outcome);
    return outcome;
}

// The features of a domain's core.
std::vector<std::int64_t> core_of(const Domain& domain) {
    return {domain.features.begin(), domain.features.begin() + domain.core};
}

// Estimates the rank correlation of the scores with exact ones, on the cores of some domains: from that with scores
// that take no buffer and half of the eigenvectors.
double agreement(const std::vector<Domain>& domains, const std::vector<double>& scores,
                 const std::array<SideKernel, 2>& sides, const Outside& coarser_outside, std::uint64_t seed, Run& run) {
    constexpr std::uint64_t kStream = ~std::uint64_t{0} - 3;
    const auto n = static_cast<std::int64_t>(domains.size()), n_checked = std::min(n, kChecked);
    const std::vector<std::int64_t> drawn = Random(seed, kStream).subset(n, n_checked);
    std::vector<std::vector<double>> coarser(drawn.size());
    parallel_for(run, n_checked, [&](std::int64_t c, int) {
        const Run::Part of_domain(run, share(c, n_checked), share(c + 1, n_checked));
        run.step("agreement with exact scores", 1.0);
        const Domain& domain = domains[at(drawn[at(c)])];
        coarser[at(c)] = solve_domain(core_of(domain), sides, coarser_outside, run).scores;
        coarser[at(c)].resize(at(domain.core));
    });
    std::vector<double> a, b;
    for (std::size_t c = 0; c < drawn.size(); ++c) {
        const Domain& domain = domains[at(drawn[c])];
        for (std::int64_t i = 0; i < domain.core; ++i) a.push_back(scores[at(domain.features[at(i)])]);
        b.insert(b.end(), coarser[c].begin(), coarser[c].end());
    }
    return 1 - kDistanceToExact * (1 - rank_correlation(a, b));
}

bool by_lists(const Samples& X) { return X.n_cols() > kMostSearched && !X.is_sparse(); }

// Features of a core, at most: domains of about equal sizes take less time than full ones and a rest.
std::int64_t core_size(std::int64_t d) { return ceil_div(d, ceil_div(d, kCore)); }

}  // namespace

std::int64_t largest_domain(const fastfs_manifest_options& o) {
    constexpr std::int64_t kNoLess = std::int64_t{1} << 40;  // than any number of features
    return kCore + kBuffer + 2 * std::min(o.rank, kNoLess);
}

Edges gather_edges(std::int64_t d, std::int64_t n_listed, const std::function<ListedEdge(std::int64_t)>& listed) {
    std::vector<std::int64_t> next(at(d) + 1, 0);
    for (std::int64_t e = 0; e < n_listed; ++e) {
        const ListedEdge edge = listed(e);
        ++next[at(edge.from) + 1];
        ++next[at(edge.to) + 1];
    }
    std::partial_sum(next.begin(), next.end(), next.begin());
    Edges edges{.begins = std::vector<std::int64_t>(at(d) + 1, 0), .ends = std::vector<Edges::End>(2 * at(n_listed))};
    for (std::int64_t e = 0; e < n_listed; ++e) {
        const ListedEdge edge = listed(e);
        edges.ends[at(next[at(edge.from)]++)] = {edge.to, edge.weight};
        edges.ends[at(next[at(edge.to)]++)] = {edge.from, edge.weight};
    }
    auto row = edges.ends.begin(), kept = row;
    for (std::int64_t i = 0; i < d; ++i) {  // next[i] is by now where row i ends
        const auto end = edges.ends.begin() + next[at(i)], first = kept;
        std::sort(row, end, [](const Edges::End& a, const Edges::End& b) {
            return a.feature != b.feature ? a.feature < b.feature : a.weight > b.weight;
        });
        for (; row != end; ++row) {
            if (kept == first || (kept - 1)->feature != row->feature) *kept++ = *row;
        }
        edges.begins[at(i) + 1] = kept - edges.ends.begin();
    }
    edges.ends.resize(at(edges.begins.back()));
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
            for (const auto& [j, weight] : edges.of(at(i))) {
                if (inside[at(j)] || !(weight > 0)) continue;
                if (pull[at(j)] == 0) tied.push_back(j);
                pull[at(j)] += weight;
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
        run.step("features of a class", l == 0 ? 0.01 : 0.06);
        const auto& rows = problem[l].rows;
        features[l] = Features<double>(fit.X, rows, common_unit(fit.row_maxima, rows), Shift::kRow, run);
        near[l].resize(at(d * n_near));
        distances[l].resize(at(d * n_near));
        const double end = l == 0 ? 0.05 : 0.1;
        if (by_lists(fit.X)) {
            nearest_features_by_lists(fit.X, rows, n_near, fit.options.seed, run, near[l].data(), distances[l].data(),
                                      end);
        } else {
            nearest_features(fit.X, rows, n_near, run, near[l].data(), distances[l].data(), end);
        }
    }
    run.step("scales", 1.0);
    for (std::size_t s = 0; s < fit.scales.size(); ++s) {
        const auto n_scales = static_cast<std::int64_t>(fit.scales.size()), scale = static_cast<std::int64_t>(s);
        const Run::Part part(run, share(scale, n_scales), share(scale + 1, n_scales));
        Outcome& outcome = outcomes[s];
        const std::int64_t k = std::min(fit.options.rank, d);
        std::array<SideKernel, 2> sides{SideKernel{.features = features[0]}, SideKernel{.features = features[1]}};
        std::array<LowRank, 2> spans;
        for (std::size_t l : {0, 1}) {
            run.step("landmarks of a class", l == 0 ? 0.15 : 0.3);
            SideKernel& side = sides[l];
            side.kernel = kernel_of_side(features[l], fit.options, problem[l], l, fit.scales[s], run, outcome);
            side.m = std::min(kColumnsPerRank * kFinerRank * k, d);
            spans[l] = landmarks(features[l], side.kernel, fit.scales[s].normalize, kFinerRank * k, fit.options.seed,
                                 side.F, run, &side.factor);
        }
        run.step("joint range of the classes", 0.35);
        if (outcome.n_components > 0) {
            const Run::Part of_components(run, 0.5, 1);
            Outcome components = outcome;  // its scores aren't used
            low_rank_form(d, spans[0], spans[1], run, components);
        }
        const Outside outside = describe_outside(sides, spans, k, run);
        run.step("domains", 1.0);
        const bool measured = outcome.measures_agreement;
        const std::int64_t n_listed = d * n_near;  // of a class
        auto listed = [&](std::int64_t e) {
            const std::size_t l = e < n_listed ? 0 : 1;
            const std::int64_t place = e % n_listed, i = place / n_near, j = near[l][at(place)];
            const double scaled = distances[l][at(place)] / sides[l].kernel.sigma;
            const std::vector<double>& g = sides[l].factor.g;
            return ListedEdge{i, j, g[at(i)] * g[at(j)] * std::exp(-scaled * scaled / 2)};
        };
        const auto domains = make_domains(gather_edges(d, 2 * n_listed, listed), core_size(d), kBuffer);
        const auto n = static_cast<std::int64_t>(domains.size());
        struct Solved {
            std::int64_t size, rank;
            double steepest;
        };
        std::vector<Solved> solved(domains.size());
        const Run::Part of_domains(run, 0, measured ? 0.9 : 1);
        parallel_for(run, n, [&](std::int64_t c, int) {
            const Run::Part of_domain(run, share(c, n), share(c + 1, n));
            run.step("domains", 1.0);
            const Domain& domain = domains[at(c)];
            const Outcome own = solve_domain(domain.features, sides, outside, run);
            for (std::int64_t i = 0; i < domain.core; ++i) {
                outcome.scores[at(domain.features[at(i)])] = own.scores[at(i)];
            }
            solved[at(c)] = {
                .size = static_cast<std::int64_t>(own.scores.size()), .rank = own.rank, .steepest = own.steepest};
        });
        std::int64_t largest = 0;
        for (const Solved& one : solved) {
            outcome.rank = std::max(outcome.rank, one.rank);
            outcome.steepest = std::max(outcome.steepest, one.steepest);
            largest = std::max(largest, one.size);
        }
        double diagonal = 0;
        for (const SideKernel& side : sides) {
            for (double g : side.factor.g) diagonal = std::max(diagonal, g * g);
        }
        check_contrast(largest, diagonal, std::numeric_limits<double>::epsilon(), outcome);
        if (!measured) continue;
        outcome.agreement = agreement(domains, outcome.scores, sides, describe_outside(sides, spans, (k + 1) / 2, run),
                                      fit.options.seed, run);
        if (outcome.agreement < kTrustedAgreement) outcome.warnings |= FASTFS_MANIFEST_WARN_AGREEMENT;
    }
}

std::int64_t domains_memory(const Samples& X, const fastfs_manifest_options& o, const Run& run) {
    const std::int64_t d = X.n_cols(), k = std::min(o.rank, d), q = 2 * k, near = std::min(kNeighbors, d - 1);
    const std::int64_t m = std::min(kColumnsPerRank * kFinerRank * k, d), n = std::min(kCore + kBuffer, d) + q;
    const std::int64_t lists = d * near * (2 * 16 + 2 * 2 * 16);
    const std::int64_t factors = 8 * d * (m + 2) + 8 * d * kFinerRank * k;  // of the side that is done
    const std::int64_t joint = 8 * d * (m + 2 + 3 * q) + sum_over_rows_memory(d, m * q);
    return Features<double>::memory(X, X.n_rows()) + lists + factors +
           std::max(
               {(by_lists(X) ? nearest_features_by_lists_memory : nearest_features_memory)(X, near, run.n_threads()),
                landmarks_memory(d, kFinerRank * k, run.n_threads()), joint,
                joint - 8 * d * 2 * q + run.n_threads() * 8 * (6 * n * n + 3 * m * n)});
}

}  // namespace fastfs::core
