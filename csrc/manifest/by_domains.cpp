#include "manifest/domains.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "engines/affinity.hpp"
#include "engines/feature_sums.hpp"
#include "engines/neighbors.hpp"
#include "engines/tile_neighbors.hpp"
#include "manifest/low_rank.hpp"
#include "manifest/operators.hpp"
#include "manifest/outside.hpp"
#include "manifest/problem.hpp"
#include "manifest/tall.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"
#include "support/random.hpp"

namespace fastfs::core {
namespace {

constexpr std::int64_t kNeighbors = 30;

// The largest numbers of features of a core and of a buffer, and the number of eigenvectors of each kernel.
struct DomainSizes {
    std::int64_t core, buffer, rank;
};

// Small domains take a fourth of the time (docs/design/manifest.md has what they lose).
DomainSizes sizes_of(const fastfs_manifest_options& o) {
    if (o.accuracy == FASTFS_MANIFEST_SMALL_DOMAINS) return {.core = 200, .buffer = 50, .rank = (o.rank + 4) / 5};
    return {.core = 400, .buffer = 150, .rank = o.rank};
}

// The number of features of a dense X above which neighbours are found by lists, which miss some of them. The exact
// search takes O(d^2) time; at this number of features it takes as long as all domains together.
constexpr std::int64_t kMostSearched = 100'000;

// The agreement with exact scores is estimated from kChecked domains, which are solved again without a buffer and with
// half of the eigenvectors. Scores are taken to be kDistanceToExact times as far from exact scores as from the coarser
// ones: the factor was fitted to the cells of benchmarks/bench_manifest_wide.py, where the estimate exceeds the truth
// by at most .05.
constexpr std::int64_t kChecked = 2;
constexpr double kDistanceToExact = 2;

// K outside a domain is taken from the landmarks of kFinerRank times the rank that V is cut to.
constexpr std::int64_t kFinerRank = 3;

// The kernel of one side at one scale, K = diag(g) k(x, x) diag(g).
template <class T>
struct ScaledKernel {
    const Features<T>& features;
    Kernel k;
    std::vector<double> g;
    // The name of a custom kernel in errors, as it is checked to be semidefinite on each domain; null for others.
    const char* name = nullptr;
};

std::span<const std::int64_t> core_of(const Domain& domain) { return {domain.features.data(), at(domain.core)}; }

// A sample of domains to solve again, without a buffer and with fewer eigenvectors.
struct CoarserDomains {
    std::vector<std::int64_t> drawn;
    Outside outside;                 // without V
    std::vector<Buffer<double>> VB;  // its rows in the core of each
};

// Returns at most kChecked domains, drawn at random, with the joint span of k eigenvectors per kernel and its rows in
// their cores.
template <class T>
CoarserDomains draw_coarser(const std::vector<Domain>& domains, const std::array<SideKernel<T>, 2>& sides,
                            const std::array<LowRank, 2>& spans, std::int64_t k, std::uint64_t seed, Run& run) {
    constexpr std::uint64_t kStream = ~std::uint64_t{0} - 3;
    const std::int64_t n = std::ssize(domains);
    CoarserDomains coarser{.drawn = Random(seed, kStream).subset(n, std::min(n, kChecked)),
                           .outside = joint_span(sides, spans, k, run),
                           .VB = {}};
    for (std::int64_t c : coarser.drawn) coarser.VB.push_back(take_rows(coarser.outside, core_of(domains[at(c)])));
    coarser.outside.V = Buffer<double>();
    return coarser;
}

// Returns an estimate, from 0 to 1, of the rank correlation of the scores with exact scores: from their correlation
// with the scores of coarser domains, in the cores that were drawn.
template <class T>
double estimated_agreement(const std::vector<Domain>& domains, const std::vector<double>& scores,
                           const std::array<SideKernel<T>, 2>& sides, const CoarserDomains& coarser,
                           const DomainSizes& sizes, Run& run) {
    const auto n_checked = std::ssize(coarser.drawn);
    std::vector<std::vector<double>> coarser_scores(coarser.drawn.size());
    parallel_for(run, n_checked, [&](std::int64_t c, int) {
        const Run::Part of_domain(run, share(c, n_checked), share(c + 1, n_checked));
        run.step("agreement with exact scores", 1.0);
        const auto core = core_of(domains[at(coarser.drawn[at(c)])]);
        coarser_scores[at(c)] = solve_domain(core, coarser.VB[at(c)], sides, coarser.outside, run).scores;
        coarser_scores[at(c)].resize(core.size());
    });
    std::vector<double> a, b;
    for (std::size_t c = 0; c < coarser.drawn.size(); ++c) {
        for (std::int64_t i : core_of(domains[at(coarser.drawn[c])])) a.push_back(scores[at(i)]);
        b.insert(b.end(), coarser_scores[c].begin(), coarser_scores[c].end());
    }
    // Scores that are nothing but rounding become equal, because their order says nothing.
    const double largest = *std::max_element(scores.begin(), scores.end());
    const double rounding =
        static_cast<double>(sizes.core + sizes.buffer) * std::numeric_limits<double>::epsilon() * largest;
    for (std::vector<double>* values : {&a, &b}) {
        for (double& value : *values) value = value > rounding ? value : 0;
    }
    return std::max(0.0, 1 - kDistanceToExact * (1 - rank_correlation(a, b)));
}

bool by_lists(const Samples& X) { return X.n_cols() > kMostSearched && !X.is_sparse(); }

// Returns the largest size of a core: domains of about equal size take less time than full domains and a small last
// one.
std::int64_t core_size(std::int64_t d, std::int64_t largest) { return ceil_div(d, ceil_div(d, largest)); }

// The nearest features of each feature in one class, n_near of each, and their distances in units of the features (or
// kernel values), which a float holds at any scale of the data.
struct NearFeatures {
    std::vector<std::int32_t> features;
    std::vector<float> values;
};

// Returns n_near neighbors of each of d features, from find(features, values), which fills arrays of d rows of n_near;
// divides values by `unit`.
template <class Find>
NearFeatures find_near(std::int64_t d, std::int64_t n_near, double unit, Find&& find) {
    std::vector<std::int64_t> features(at(d * n_near));
    std::vector<double> values(features.size());
    find(features.data(), values.data());
    for (double& value : values) value /= unit;
    return {{features.begin(), features.end()}, {values.begin(), values.end()}};
}

std::int64_t count_near(std::int64_t d) { return std::min(kNeighbors, d - 1); }

// Returns domains of features, made from edges between each feature and its neighbours in either class. k(class,
// value): the kernel of two features, from the value that is listed with them.
template <class T, class F>
std::vector<Domain> domains_of_near(const std::array<NearFeatures, 2>& near,
                                    const std::array<ScaledKernel<T>, 2>& kernels, const DomainSizes& sizes, F&& k) {
    const std::int64_t d = kernels[0].features.n_features(), n_near = count_near(d), n_listed = d * n_near;
    const Edges edges = gather_edges(d, 2 * n_listed, [&](std::int64_t e) {
        const std::size_t l = e < n_listed ? 0 : 1;
        const std::int64_t place = e % n_listed, i = place / n_near;
        const std::int32_t j = near[l].features[at(place)];
        const std::vector<double>& g = kernels[l].g;
        return ListedEdge{static_cast<std::int32_t>(i), j,
                          static_cast<float>(g[at(i)] * g[at(j)] * k(l, near[l].values[at(place)]))};
    });
    return make_domains(edges, core_size(d, sizes.core), sizes.buffer);
}

// Solves all domains: writes the scores of their cores to the outcome, with its rank and steepest nu, and flags an
// outcome without contrast.
template <class T>
void solve_domains(const std::vector<Domain>& domains, const std::array<SideKernel<T>, 2>& sides,
                   const Outside& outside, Run& run, Outcome& outcome) {
    struct Solved {
        std::int64_t size, rank;
        double steepest;
    };
    std::vector<Solved> solved(domains.size());
    const std::int64_t n = std::ssize(domains);
    parallel_for(run, n, [&](std::int64_t c, int) {
        const Run::Part of_domain(run, share(c, n), share(c + 1, n));
        run.step("domains", 1.0);
        const Domain& domain = domains[at(c)];
        const Outcome of_features =
            solve_domain<T>(domain.features, take_rows(outside, domain.features), sides, outside, run);
        for (std::int64_t i = 0; i < domain.core; ++i) {
            outcome.scores[at(domain.features[at(i)])] = of_features.scores[at(i)];
        }
        solved[at(c)] = {
            .size = std::ssize(of_features.scores), .rank = of_features.rank, .steepest = of_features.steepest};
    });
    std::int64_t largest = 0;
    for (const Solved& one : solved) {
        outcome.rank = std::max(outcome.rank, one.rank);
        outcome.steepest = std::max(outcome.steepest, one.steepest);
        largest = std::max(largest, one.size);
    }
    double diagonal = 0;
    for (const auto& side : sides) {
        for (double g : side.landmarks.g) diagonal = std::max(diagonal, g * g);
    }
    check_contrast(largest, diagonal, std::numeric_limits<double>::epsilon(), outcome);
}

// Data that all scales of a problem share: the features of both classes, and their neighbors.
template <class T>
struct Sides {
    std::array<Features<T>, 2> features;
    std::array<NearFeatures, 2> near;
};

using Kernels = std::vector<std::array<Kernel, 2>>;  // by scale and class

// Chooses the kernels of one class at all scales. Kernels are chosen before neighbors are searched for, which may take
// long: the features may be refused here.
template <class T>
void choose_kernels(const Features<T>& features, const ScaledOptions& how, const Problem& problem, std::size_t l,
                    Run& run, std::vector<Outcome>& outcomes, Kernels& kernels) {
    for (std::size_t s = 0; s < how.scales.size(); ++s) {
        kernels[s][l] = kernel_of_side(features, how.options, problem[l], l, how.scales[s], run, outcomes[s]);
    }
}

// Counts the landmarks of a kernel.
std::int64_t count_landmarks(const fastfs_manifest_options& o, std::int64_t d) {
    return kColumnsPerRank * kFinerRank * std::min(sizes_of(o).rank, d);
}

// Writes the scores of all features under two kernels to the outcome, each feature compared within its domain, and if
// asked for the components and the agreement with exact scores.
template <class T>
void compare_by_domains(std::array<ScaledKernel<T>, 2> kernels, const std::vector<Domain>& domains,
                        const fastfs_manifest_options& o, Run& run, Outcome& outcome) {
    const DomainSizes sizes = sizes_of(o);
    const std::int64_t d = kernels[0].features.n_features(), k = std::min(sizes.rank, d);
    auto without_landmarks = [&](std::size_t l) {
        return SideKernel<T>{kernels[l].features, kernels[l].k, kernels[l].name, {}};
    };
    std::array<SideKernel<T>, 2> sides{without_landmarks(0), without_landmarks(1)};
    std::array<LowRank, 2> spans;
    for (std::size_t l : {0, 1}) {
        run.step("landmarks of a class", l == 0 ? 0.15 : 0.3);
        sides[l].landmarks =
            draw_landmarks(sides[l].features, sides[l].kernel, std::move(kernels[l].g), count_landmarks(o, d),
                           outcome.n_components > 0 ? kFinerRank * k : k, o.seed, run, spans[l]);
    }
    run.step("joint range of the classes", 0.35);
    if (outcome.n_components > 0) {
        const Run::Part of_components(run, 0.5, 1);
        Outcome components = outcome;  // its scores aren't used
        low_rank_form(d, spans[0], spans[1], run, components);
    }
    CoarserDomains coarser;
    if (outcome.measures_agreement) coarser = draw_coarser(domains, sides, spans, (k + 1) / 2, o.seed, run);
    const Outside outside = joint_span(sides, spans, k, run);
    spans = {};
    run.step("domains", 1.0);
    {
        const Run::Part of_domains(run, 0, outcome.measures_agreement ? 0.9 : 1);
        solve_domains(domains, sides, outside, run, outcome);
    }
    if (!outcome.measures_agreement) return;
    outcome.agreement = estimated_agreement(domains, outcome.scores, sides, coarser, sizes, run);
    if (outcome.agreement < kTrustedAgreement) outcome.warnings |= kProblemAgreement;
}

// Makes the domains and the normalised kernels of each scale, compares the kernels by domains, and writes one outcome
// per scale.
template <class T>
void solve_scales(Sides<T> both, const Kernels& kernels, const ScaledOptions& how, Run& run,
                  std::vector<Outcome>& outcomes) {
    const auto& [features, near] = both;
    const std::int64_t n_scales = std::ssize(how.scales);
    run.step("scales", 1.0);
    for (std::int64_t s = 0; s < n_scales; ++s) {
        const Run::Part part(run, share(s, n_scales), share(s + 1, n_scales));
        // Makes the kernel of side l at scale s, normalised.
        auto scaled = [&](std::size_t l) {
            const Kernel& k = kernels[at(s)][l];
            run.step("row sums of a class kernel", l == 0 ? 0.05 : 0.1);
            return ScaledKernel<T>{
                .features = features[l],
                .k = k,
                .g = normalizing_factors(features[l], k, how.scales[at(s)].normalize,
                                         count_landmarks(how.options, features[l].n_features()), how.options.seed, run),
                .name = k.kind == Kernel::Kind::kCustom ? "a kernel" : nullptr};
        };
        std::array<ScaledKernel<T>, 2> both_scaled{scaled(0), scaled(1)};
        const auto domains =
            domains_of_near(near, both_scaled, sizes_of(how.options), [&](std::size_t l, double distance) {
                const double scaled_distance = distance / (both_scaled[l].k.sigma / features[l].unit());
                return std::exp(-scaled_distance * scaled_distance / 2);
            });
        if (s + 1 == n_scales) both.near = {};
        compare_by_domains(std::move(both_scaled), domains, how.options, run, outcomes[at(s)]);
    }
}

// Returns K[i, j] / (roots[i] roots[j]) of a kernel, the roots of its diagonal; 0 if a root is 0.
PairProducts divide_by_roots(std::int64_t d, const double* K, const std::vector<double>& roots, Run& run) {
    RowTotals totals{.sums = std::vector<double>(at(d), 0.0), .norms = std::vector<double>(at(d), 0.0)};
    for (std::int64_t i = 0; i < d; ++i) totals.norms[at(i)] = roots[at(i)] > 0 ? 1 : 0;
    Buffer<double> panels(PairPanels::size(d));
    parallel_for(run, ceil_div(d, PairPanels::kColumns), [&](std::int64_t panel, int) {
        const std::int64_t j0 = panel * PairPanels::kColumns, j1 = std::min(j0 + PairPanels::kColumns, d);
        for (std::int64_t i = 0; i < j1; ++i) {
            if (i % kTile == 0) run.checkpoint();
            for (std::int64_t j = j0; j < j1; ++j) {
                const double product = roots[at(i)] * roots[at(j)];
                panels[PairPanels::pair_place(i, j0, d) + j - j0] = product > 0 ? K[i * d + j] / product : 0;
            }
        }
    });
    return {std::move(totals), std::move(panels)};
}

// Finds the neighbours of the features in each class of a problem of rows, and compares the classes by domains, with
// the features of its classes stored as T: double, or float for values that have no more digits. Writes one outcome per
// scale.
template <class T>
void problem_by_domains(const Fit& fit, const Problem& problem, Run& run, std::vector<Outcome>& outcomes) {
    const ScaledOptions how{fit.options, fit.scales};
    const std::int64_t d = fit.X.n_cols(), n_near = count_near(d);
    Sides<T> both;
    Kernels kernels(fit.scales.size());
    for (std::size_t l : {0, 1}) {
        run.step("features of a class", l == 0 ? 0.01 : 0.02);
        const auto& rows = problem[l].rows;
        both.features[l] = Features<T>(fit.X, rows, common_unit(fit.row_maxima, rows), Shift::kRow, run);
        choose_kernels(both.features[l], how, problem, l, run, outcomes, kernels);
    }
    for (std::size_t l : {0, 1}) {
        const double end = l == 0 ? 0.06 : 0.1;
        both.near[l] = find_near(d, n_near, both.features[l].unit(), [&](std::int64_t* features, double* distances) {
            if (by_lists(fit.X)) {
                nearest_features_by_lists(fit.X, problem[l].rows, n_near, fit.options.seed, run, features, distances,
                                          end);
            } else {
                nearest_features(fit.X, problem[l].rows, n_near, run, features, distances, end);
            }
        });
    }
    solve_scales(std::move(both), kernels, how, run, outcomes);
}

bool stored_in_single(const Samples& X, const fastfs_manifest_options& o) {
    return X.is_float32() && !X.is_sparse() && !o.custom;
}

// Returns the bytes that domains take of d features in N samples, besides the features, which are stored in double or
// in float. searching: the bytes of the search for neighbors, besides its results.
std::int64_t bytes_of_domains(std::int64_t d, std::int64_t N, bool in_double, std::int64_t searching,
                              const fastfs_manifest_options& o, std::int64_t n_components, const Run& run) {
    const DomainSizes sizes = sizes_of(o);
    const std::int64_t k = std::min(sizes.rank, d), q = 2 * k;
    const int threads = run.n_threads();
    const std::int64_t near = count_near(d), m = std::min(kColumnsPerRank * kFinerRank * k, d);
    const std::int64_t n = std::min(sizes.core + sizes.buffer, d) + q, cut_to = n_components > 0 ? kFinerRank * k : k;
    const std::int64_t lists = 2 * d * near * 8, landmarks = 2 * 8 * (2 * d + m * (m + N));
    const std::int64_t spans = 2 * 8 * d * cut_to, joint = n_components > 0 ? spans / 2 : 0;
    const std::int64_t gathering = 4 * d * near * static_cast<std::int64_t>(sizeof(Edges::End)) + 24 * d;
    const std::int64_t describing = 8 * d * q + sum_over_rows_memory(d, m * q) + threads * 8 * kTile * (m + q + N);
    const std::int64_t solving = 8 * d * q + threads * 8 * (6 * n * n + 3 * m * n + n * N);
    return lists + std::max({searching + 16 * d * near, gathering,
                             spans / 2 + draw_landmarks_memory(d, N, m, cut_to, in_double, threads),
                             landmarks + spans + std::max(joint, describing), landmarks + solving});
}

}  // namespace

std::int64_t largest_domain(const fastfs_manifest_options& o) {
    constexpr std::int64_t kNoLess = std::int64_t{1} << 40;  // more than any number of features
    const DomainSizes sizes = sizes_of(o);
    return sizes.core + sizes.buffer + 2 * std::min(sizes.rank, kNoLess);
}

double work_of_domains(std::int64_t d, const fastfs_manifest_options& o) {
    const double largest = static_cast<double>(largest_domain(o));
    return static_cast<double>(ceil_div(d, sizes_of(o).core)) * largest * largest * largest;
}

void domains_problem(const Fit& fit, const Problem& problem, Run& run, std::vector<Outcome>& outcomes) {
    if (stored_in_single(fit.X, fit.options)) {
        problem_by_domains<float>(fit, problem, run, outcomes);
    } else {
        problem_by_domains<double>(fit, problem, run, outcomes);
    }
}

void domains_of_products(std::array<std::shared_ptr<const PairProducts>, 2> products, const Problem& problem,
                         const ScaledOptions& how, Run& run, std::vector<Outcome>& outcomes) {
    Sides<double> both;
    Kernels kernels(how.scales.size());
    for (std::size_t l : {0, 1}) {
        both.features[l] = Features<double>(std::move(products[l]));
        choose_kernels(both.features[l], how, problem, l, run, outcomes, kernels);
    }
    const std::int64_t d = both.features[0].n_features(), n_near = count_near(d);
    for (std::size_t l : {0, 1}) {
        both.near[l] = find_near(d, n_near, both.features[l].unit(), [&](std::int64_t* features, double* distances) {
            nearest_features_by_tiles(both.features[l], n_near, run, features, distances, l == 0 ? 0.06 : 0.1);
        });
    }
    solve_scales(std::move(both), kernels, how, run, outcomes);
}

void domains_of_kernels(std::int64_t d, const std::array<const double*, 2>& K, const fastfs_manifest_options& o,
                        Run& run, Outcome& outcome) {
    // K / largest = diag(g) k diag(g) with 1 on the diagonal of k: scores grow as K does.
    double largest = 0;
    for (const double* values : K) {
        for (std::int64_t i = 0; i < d; ++i) largest = std::max(largest, values[i * d + i]);
    }
    std::array<Features<double>, 2> features;
    std::array<std::vector<double>, 2> g;
    std::array<NearFeatures, 2> near;
    for (std::size_t l : {0, 1}) {
        run.step("ties of the features", l == 0 ? 0.05 : 0.1);
        std::vector<double> roots(at(d));
        for (std::int64_t i = 0; i < d; ++i) roots[at(i)] = std::sqrt(std::max(K[l][i * d + i], 0.0));
        features[l] = Features<double>(std::make_shared<const PairProducts>(divide_by_roots(d, K[l], roots, run)));
        for (const double root : roots) g[l].push_back(root / std::sqrt(largest));
        near[l] = find_near(d, count_near(d), 1.0, [&](std::int64_t* neighbors, double* products) {
            largest_products_by_tiles(features[l], count_near(d), run, neighbors, products, l == 0 ? 0.05 : 0.1);
        });
    }
    const Kernel product{.kind = Kernel::Kind::kLinear};
    std::array<ScaledKernel<double>, 2> kernels{
        ScaledKernel<double>{.features = features[0], .k = product, .g = std::move(g[0]), .name = "K1"},
        ScaledKernel<double>{.features = features[1], .k = product, .g = std::move(g[1]), .name = "K2"}};
    const auto domains = domains_of_near(near, kernels, sizes_of(o), [](std::size_t, double value) { return value; });
    near = {};
    compare_by_domains(std::move(kernels), domains, o, run, outcome);
    for (double& score : outcome.scores) score *= largest;
    for (std::int64_t c = 0; c < outcome.n_components; ++c) {
        outcome.mean_values[c] *= largest;
        outcome.difference_values[c] *= largest;
    }
}

// Counts the bytes of a fit by domains to rows in memory.
std::int64_t domains_memory(const Samples& X, const fastfs_manifest_options& o, std::int64_t n_components,
                            const Run& run) {
    const std::int64_t d = X.n_cols(), N = X.n_rows(), near = count_near(d);
    const bool in_single = stored_in_single(X, o);
    const std::int64_t stored = in_single ? Features<float>::memory(X, N) : Features<double>::memory(X, N);
    const std::int64_t searching =
        (by_lists(X) ? nearest_features_by_lists_memory : nearest_features_memory)(X, near, run.n_threads());
    return stored + bytes_of_domains(d, N, !in_single, searching, o, n_components, run);
}

std::int64_t domains_of_kernels_memory(std::int64_t d, const fastfs_manifest_options& o, std::int64_t n_components,
                                       const Run& run) {
    return 2 * PairProducts::memory(d) + domains_of_products_memory(d, o, n_components, run);
}

std::int64_t domains_of_products_memory(std::int64_t d, const fastfs_manifest_options& o, std::int64_t n_components,
                                        const Run& run) {
    constexpr std::int64_t kCandidate = 16;
    const std::int64_t searching = tile_memory(run.n_threads()) + run.n_threads() * kTile * count_near(d) * kCandidate;
    return 2 * 8 * 4 * d + bytes_of_domains(d, 1, true, searching, o, n_components, run);
}

}  // namespace fastfs::core
