#include "disc/disc.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "disc/operators.hpp"
#include "disc/scaling.hpp"
#include "engines/spectral.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"
#include "support/random.hpp"
#include "support/warnings.hpp"

namespace fastfs::core {
namespace {

// The gap below which n_components cuts a cluster of eigenvalues; the ratio of significances below which there is no
// step.
constexpr double kSmallGap = 1e-3, kFlat = 1.25;

// Differential vectors feel residuals of the diffusion vectors divided by the gap, and have to be right to ten digits.
// The eigenvalue beyond the gap and the significance after the last need no exact vectors.
constexpr Residuals kOfDiffusion{1e-12, 1e-5}, kOfDifferences{1e-12, 1e-6};

// Residuals for neighbours from lists. Lists miss some neighbours, which moves significances by up to .01
// (docs/disc.md), and these residuals turn the space of the diffusion vectors by at most .01 for any gap that raises no
// warning. Eigenvalues of noise are so near to each other that vectors to 1e-12 would take twice the products.
constexpr Residuals kOfLists{1e-5, 1e-4, kSmallGap};

// Returns single precision for lists, unless a kernel's affinities are so far from 1 that products would leave its
// range. Blocks are multiplied by c, by c / g, and by values between them.
GraphProducts::Precision precision_of(const Graph& graph) {
    const auto fits = [](double factor) { return factor > 0x1p-60 && factor < 0x1p60; };
    bool single = graph.is_of_lists();
    for (std::size_t i = 0; i < graph.c.size() && single; ++i) {
        single = fits(graph.c[i]) && fits(graph.c[i] / graph.g[i]);
    }
    return single ? GraphProducts::Precision::kSingle : GraphProducts::Precision::kDouble;
}

// ---- 1: diffusion vectors -------------------------------------------------------------------------------------------

// Computes the largest eigenpairs of S = diag(g)^(-1/2) Wt diag(g)^(-1/2), Wt = diag(c) W diag(c), one more than are
// used; u_j = diag(g)^(-1/2) z_j, scaled to |u_j| = 1. Returns n_components + 1 vectors by feature, the constant one
// first; writes the others as the diffusion vectors, and eigenvalues, gap and flags, to the result.
Numbers diffusion_vectors(const Graph& graph, std::int64_t n_components, std::uint64_t seed, Run& run,
                          DiscResult& result) {
    const std::int64_t p = graph.p, d = n_components;
    Numbers factor = numbers(p), root = graph.g;
    for (std::size_t i = 0; i < factor.size(); ++i) {
        root[i] = std::sqrt(root[i]);
        factor[i] = graph.c[i] / root[i];
    }
    GraphProducts products(graph, precision_of(graph));
    const BlockOperator S = [&](const double* X, double* Y) { products.multiply(factor, X, factor, Y, run); };
    LeadingPairs pairs = leading_pairs(p, d + 2, d + 1, S, graph.is_of_lists() ? kOfLists : kOfDiffusion, seed, run);
    if (!pairs.converged) result.warnings |= kSetNotConverged;
    result.gap = pairs.values[at(d)] - pairs.values[at(d + 1)];
    if (result.gap < kSmallGap) result.warnings |= kSetSmallGap;
    result.eigenvalues.assign(pairs.values.begin(), pairs.values.end() - 1);
    Numbers U = std::move(pairs.vectors);
    U.resize(at((d + 1) * p));
    for (std::int64_t j = 0; j <= d; ++j) {
        double* u = U.data() + j * p;
        double square = 0;
        for (std::int64_t i = 0; i < p; ++i) {
            u[i] /= root[at(i)];
            square += u[i] * u[i];
        }
        for (std::int64_t i = 0; i < p; ++i) u[i] /= std::sqrt(square);
    }
    U = graph.by_feature(std::move(U));
    for (std::int64_t j = 0; j <= d; ++j) fix_sign(p, U.data() + j * p);
    result.diffusion.assign(U.begin() + p, U.end());
    return U;
}

// ---- 2: the space of the other sets ---------------------------------------------------------------------------------

// Returns an orthonormal basis of the span of the columns, p x rank and row-major, and sets rank. Gram-Schmidt with
// column pivoting: takes the column of the largest norm next, and takes all earlier ones out of it once more, until
// |R_jj| <= 1e-10 |R_00|.
Numbers orthonormal_basis(std::int64_t p, std::vector<Numbers> columns, std::int64_t& rank, Run& run) {
    auto axpy = [&](double a, const Numbers& x, Numbers& y) {
        for (std::size_t i = 0; i < y.size(); ++i) y[i] -= a * x[i];
    };
    Numbers norms;
    for (const Numbers& u : columns) norms.push_back(std::sqrt(dot(p, u.data(), u.data())));
    double largest = 0;
    std::size_t done = 0;
    for (; done < columns.size(); ++done) {
        const auto most =
            at(std::max_element(norms.begin() + static_cast<std::ptrdiff_t>(done), norms.end()) - norms.begin());
        std::swap(columns[done], columns[most]);
        std::swap(norms[done], norms[most]);
        largest = std::max(largest, norms[done]);
        if (norms[done] <= 1e-10 * largest) break;
        Numbers& q = columns[done];
        for (std::size_t j = 0; j < done; ++j) axpy(dot(p, columns[j].data(), q.data()), columns[j], q);
        const double norm = std::sqrt(dot(p, q.data(), q.data()));
        for (double& value : q) value /= norm;
        parallel_for(run, static_cast<std::int64_t>(columns.size() - done - 1), [&](std::int64_t task, int) {
            Numbers& u = columns[done + 1 + at(task)];
            axpy(dot(p, q.data(), u.data()), q, u);
            norms[done + 1 + at(task)] = std::sqrt(dot(p, u.data(), u.data()));
        });
    }
    rank = static_cast<std::int64_t>(done);
    Numbers B = numbers(p * rank);
    for (std::size_t j = 0; j < done; ++j) {
        for (std::int64_t i = 0; i < p; ++i) B[at(i * rank) + j] = columns[j][at(i)];
    }
    return B;
}

// ---- 3: differential vectors ----------------------------------------------------------------------------------------

struct Triplets {
    Numbers sigma, V;  // descending; V has consecutive vectors
};

// Returns the `count` largest singular values and right singular vectors (by feature, the first n_vectors exact) of
// A = P Q, Q = I - B B' with B by row of the graph, from the eigenpairs of A'A - B B': its eigenvalues -1 separate the
// range of B from vectors that A makes small. Flags the result if they didn't converge.
Triplets differential_vectors(Graph& graph, const Numbers& B, std::int64_t rank, std::int64_t n_vectors,
                              std::int64_t count, std::uint64_t seed, Run& run, DiscResult& result) {
    const std::int64_t p = graph.p;
    Numbers per_g = graph.c;
    for (std::size_t i = 0; i < per_g.size(); ++i) per_g[i] /= graph.g[i];
    Buffer<double> inside(p * kBlock), walked(p * kBlock);
    GraphProducts products(graph, precision_of(graph));
    Numbers T = numbers(rank * kBlock), again = T;
    // walked = P (X - B T), T = B'X
    auto forward = [&](const double* X) {
        std::copy_n(X, p * kBlock, inside.data());
        inner_products(p, rank, B.data(), rank, X, T.data(), run);
        subtract_product(p, rank, B.data(), rank, T.data(), inside.data(), run);
        products.multiply(per_g, inside.data(), graph.c, walked.data(), run);
    };
    const BlockOperator AtA = [&](const double* X, double* Y) {
        forward(X);
        products.multiply(graph.c, walked.data(), per_g, Y, run);
        inner_products(p, rank, B.data(), rank, Y, again.data(), run);
        for (std::size_t e = 0; e < T.size(); ++e) again[e] += T[e];
        subtract_product(p, rank, B.data(), rank, again.data(), Y, run);
    };
    LeadingPairs pairs =
        leading_pairs(p, count, n_vectors, AtA, graph.is_of_lists() ? kOfLists : kOfDifferences, seed, run);
    if (!pairs.converged) result.warnings |= kSetNotConverged;
    Triplets triplets;
    triplets.sigma = numbers(count);
    triplets.V = std::move(pairs.vectors);
    Buffer<double> block(p * kBlock);
    for (std::int64_t first = 0; first < count; first += kBlock) {  // |A v| keeps digits that an eigenvalue's root lost
        std::fill_n(block.data(), p * kBlock, 0.0);
        const std::int64_t last = std::min(first + kBlock, count);
        for (std::int64_t j = first; j < last; ++j) {
            for (std::int64_t i = 0; i < p; ++i) block[i * kBlock + j - first] = triplets.V[at(j * p + i)];
        }
        forward(block.data());
        for (std::int64_t j = first; j < last; ++j) {
            double square = 0;
            for (std::int64_t i = 0; i < p; ++i)
                square += walked[i * kBlock + j - first] * walked[i * kBlock + j - first];
            triplets.sigma[at(j)] = std::sqrt(square);
        }
    }
    triplets.V = graph.by_feature(std::move(triplets.V));
    return triplets;
}

// Writes to the result the first n_vectors vectors with their significance and whether each is trivial, the number of
// vectors that matter (`wanted`, or by the largest ratio if 0), and the scores of the features.
void write_vectors_and_scores(const Triplets& triplets, std::int64_t p, std::int64_t n_vectors, std::int64_t wanted,
                              DiscResult& result) {
    constexpr double kTrivial = 0.9;
    constexpr std::size_t kMostRatios = 10;
    std::vector<std::int64_t> real;
    const auto count = static_cast<std::int64_t>(triplets.sigma.size());
    for (std::int64_t j = 0; j < count; ++j) {
        const double* v = triplets.V.data() + j * p;
        const double sum = std::accumulate(v, v + p, 0.0);
        const bool trivial = std::abs(sum) > kTrivial * std::sqrt(static_cast<double>(p));
        if (!trivial) real.push_back(j);
        if (j < n_vectors) result.trivial.push_back(trivial);
    }
    result.significance.assign(triplets.sigma.begin(), triplets.sigma.begin() + n_vectors);
    result.vectors.assign(triplets.V.begin(), triplets.V.begin() + n_vectors * p);

    auto ratio = [&](std::size_t q) {  // of the q-th significance to the next; 0 if there is no next
        if (q == 0 || q >= real.size()) return 0.0;
        return triplets.sigma[at(real[q - 1])] /
               std::max(triplets.sigma[at(real[q])], std::numeric_limits<double>::epsilon() * triplets.sigma.front());
    };
    std::size_t available = real.size();
    if (available > 0 && real.back() >= n_vectors) --available;
    std::size_t q = std::min(at(wanted), available);
    if (wanted == 0) {
        for (std::size_t j = 1; j <= std::min(available, kMostRatios); ++j) {
            if (q == 0 || ratio(j) > ratio(q)) q = j;
        }
    }
    result.n_differential = static_cast<std::int64_t>(q);
    result.ratio = ratio(q);
    if (q > 0 && q < real.size() && result.ratio < kFlat) result.warnings |= kSetFlat;

    result.scores = numbers(p);
    for (std::size_t j = 0; j < q; ++j) {
        const double sigma = triplets.sigma[at(real[j])];
        const double* v = triplets.V.data() + real[j] * p;
        for (std::int64_t i = 0; i < p; ++i) result.scores[at(i)] += sigma * sigma * v[i] * v[i];
    }
}

// ---- all of it ------------------------------------------------------------------------------------------------------

}  // namespace

std::int64_t components_that_fit(std::int64_t n_features, std::int64_t n_sets) {
    return (n_features - 2) / (n_sets - 1);
}

namespace {

// Throws if n_components is too large for the features and sets, neighbours or vectors can't be held, or a set lacks
// the X that its custom kernel or its graph needs; flags sets of one sample and sets in which neighbours are clamped.
void check_sets(const std::vector<DiscSet>& sets, const fastfs_disc_options& options,
                std::vector<DiscResult>& results) {
    const std::int64_t p = sets.front().n_features;
    const auto n_sets = static_cast<std::int64_t>(sets.size());
    const std::int64_t most = components_that_fit(p, n_sets);
    require(most >= 1, "X must have at least ", n_sets + 1, " features for ", n_sets, " sets; got ", p,
            ": compare fewer sets");
    std::int64_t all = 0;
    for (const DiscSet& set : sets) all += std::min(set.n_components, p);
    for (std::size_t s = 0; s < sets.size(); ++s) {
        const DiscSet& set = sets[s];
        const Name name = Name::set(static_cast<std::int64_t>(s));
        require(all - set.n_components < p - 1, "n_components must be at most ", most, " for ", n_sets, " sets of ", p,
                " features; got more, so that the diffusion vectors of the other sets leave no room in ", name);
        require(set.n_components <= p - 2, "n_components must be at most ", most, " for ", n_sets, " sets of ", p,
                " features; got ", set.n_components, " in ", name);
        require(!set.custom || !set.W, name, " must have affinities or a custom kernel; got both");
        require(!set.custom || set.X, name,
                " must have X for a custom kernel, which takes the norms of features; got neighbors or a stream: give "
                "X instead");
        if (set.n_rows() == 1) results[s].warnings |= kSetOneSample;
        const bool knn = set.neighbors || options.graph != FASTFS_GRAPH_DENSE;
        require(options.graph != FASTFS_GRAPH_LISTS || set.W || set.neighbors || (set.X && !set.X->is_sparse()),
                "X of ", name, " must be dense for graph='lists'; got ", set.X ? "a sparse X" : "X in blocks",
                ": make it dense, or choose graph='knn'");
        const std::int64_t lists = std::max(options.n_neighbors, options.bandwidth_neighbors);
        const std::int64_t widest = std::max({std::min(knn && !set.W ? lists
                                                       : set.W       ? 1
                                                                     : p,
                                                       p),
                                              set.n_components, std::min(options.n_vectors, p)});
        require(widest <= kMostValues / p / static_cast<std::int64_t>(sets.size()),
                "n_neighbors, n_vectors and n_components must fit the memory; got ", widest, " values for each of ", p,
                " features: give smaller ones");
        if (!set.W && (options.bandwidth_neighbors >= p || (knn && options.n_neighbors >= p))) {
            results[s].warnings |= kSetClamped;
        }
    }
}

// Bytes of a fit: `kept` if all graphs are kept, `least` if only the sparse ones are, and each dense graph is made
// twice.
struct Needs {
    std::int64_t kept = 0, least = 0;
};

// Returns the bytes that a fit of the sets takes with all graphs in memory, and the fewest bytes, if dense graphs are
// made anew.
Needs memory_needs(const std::vector<DiscSet>& sets, const fastfs_disc_options& options, Run& run) {
    const std::int64_t p = sets.front().n_features;
    std::int64_t kept = 0, least = 0, making = 0, results = 0, vectors = 0, most_components = 0;
    for (const DiscSet& set : sets) {
        const std::int64_t graph = graph_memory(set, options);
        kept += graph;
        if (!is_dense(set, options)) least += graph;
        making = std::max(making, making_memory(set, options, run) - graph);
        results += 8 * p * (2 * set.n_components + 6);  // when the graph of the last set is made
        vectors += 8 * p * (3 * set.n_components + 2 * std::min(options.n_vectors, p) + 6);
        most_components = std::max(most_components, set.n_components);
    }
    const std::int64_t solving =
        leading_pairs_memory(p, std::max(most_components + 2, std::min(options.n_vectors, p - 1) + 1));
    const std::int64_t all = std::max(results + making, vectors + solving);
    // Dense graphs that aren't kept are made once more while all vectors are in memory.
    least += least < kept ? 8 * p * p + vectors + std::max(making, solving) : all;
    kept += all;
    std::int64_t inputs = 0;
    if (options.scaling == FASTFS_DISC_SCALING_STANDARD) inputs += scaled_memory(sets);
    if (sets.front().sums) inputs += 8 * sets.front().sums->size();
    return {kept + inputs, least + inputs};
}

// The sets with a flag in their results.
class Flagged {
  public:
    Flagged(const std::vector<DiscResult>& results, int flag) {
        for (std::size_t s = 0; s < results.size(); ++s) {
            if (results[s].warnings & flag) add(results[s], s);
        }
    }
    Flagged() = default;

    void add(const DiscResult& result, std::size_t s) {
        results_.push_back(&result);
        names_.push_back(Message() << Name::set(static_cast<std::int64_t>(s)));
    }
    explicit operator bool() const { return !results_.empty(); }
    Message names() const { return some_of(names_); }
    template <class T>
    T least(T DiscResult::* member) const {
        return (*std::min_element(results_.begin(), results_.end(), [&](auto* a, auto* b) {
                   return a->*member < b->*member;
               }))->*member;
    }
    std::int64_t most_connected() const {
        std::int64_t most = 0;
        for (const DiscResult* result : results_) most = std::max(most, result->n_connected);
        return most;
    }

  private:
    std::vector<const DiscResult*> results_;
    std::vector<Message> names_;
};

// Warns of what the flags of the results say, in one sentence per flag.
void warn_of_sets(const std::vector<DiscSet>& sets, const fastfs_disc_options& o,
                  const std::vector<DiscResult>& results) {
    const std::int64_t p = sets.front().n_features;
    const bool is_given = sets.front().W.has_value(), dense = !is_given && o.graph == FASTFS_GRAPH_DENSE;
    if (const Flagged those(results, kSetOneSample); those) {
        warn("one_sample", {"one sample only in ", those.names(),
                            ": distances between features are differences of single values; give more samples, "
                            "or leave it out"});
    }
    if (Flagged(results, kSetClamped)) {
        Message high;
        if (o.bandwidth_neighbors >= p) high << "bandwidth_neighbors=" << o.bandwidth_neighbors;
        if (!dense && o.n_neighbors >= p) {
            high << (high.text().empty() ? "" : " and ") << "n_neighbors=" << o.n_neighbors;
        }
        const bool are_two = !dense && o.bandwidth_neighbors >= p && o.n_neighbors >= p;
        warn("all_neighbors",
             {high, are_two ? " exceed the " : " exceeds the ", p - 1, " other features: all of them are taken"});
    }
    if (const Flagged those(results, kSetDuplicates); those) {
        warn("duplicates",
             {"some features have ", o.bandwidth_neighbors, " copies or more in ", those.names(),
              ", so that their bandwidth would be 0: it is their smallest positive distance instead; drop the "
              "copies"});
    }
    if (const Flagged those(results, kSetDisconnected); those) {
        warn("disconnected",
             {"the graph of ", those.names(), " falls apart, into up to ", those.most_connected(),
              " pieces: eigenvalue 1 is repeated, its constant vectors were projected out with the others, and which "
              "single diffusion vectors come first is arbitrary: don't read single ones",
              is_given ? ""
              : dense  ? "; a larger bandwidth may connect it"
                       : "; a larger n_neighbors may connect it"});
    }
    if (const Flagged those(results, kSetSmallGap); those) {
        warn("small_gap",
             {"n_components cuts a cluster of eigenvalues in ", those.names(), " (the least gap is ",
              rounded(those.least(&DiscResult::gap)), "): the result depends on where, so try other numbers"});
    }
    if (const Flagged those(results, kSetLowRecall); those) {
        const double least = those.least(&DiscResult::graph_recall);
        warn("low_recall", {"graph='lists' found only ", std::llround(100 * least), "% of the nearest features in ",
                            those.names(), ": significances may be off by some .03, and graph='knn' finds all"});
    }
    if (const Flagged those(results, kSetDigits); those) {
        warn("lost_digits", {"some features are so close to each other, relative to their size, in ", those.names(),
                             " that sums over rows leave hardly a digit of their distance: subtract from each feature "
                             "what all its values share"});
    }
    if (const Flagged those(results, kSetIdentical); those) {
        warn("identical", {"the graph of ", those.names(),
                           " is that of another set too: nothing is differential between these; check that "
                           "they share no samples"});
    }
    Flagged trivial;
    for (std::size_t s = 0; s < results.size(); ++s) {
        if (results[s].n_differential == 0) trivial.add(results[s], s);
    }
    if (trivial) {
        warn("all_trivial",
             {"all vectors of ", trivial.names(), " are trivial, so that there are no scores: raise n_vectors"});
    }
    if (const Flagged those(results, kSetFlat); those && o.n_differential == 0) {
        warn("flat", {"the significances have no clear step in ", those.names(),
                      " (the largest ratio of successive ones is down to ", rounded(those.least(&DiscResult::ratio), 3),
                      "): how many vectors matter is arbitrary, so set n_differential"});
    }
    if (const Flagged those(results, kSetNotConverged); those) {
        warn("not_converged", {"an eigensolver gave up before its vectors of ", those.names(),
                               " were exact: choose a smaller n_components or n_vectors, or another random_state"});
    }
}

}  // namespace

// Compares the sets and returns one result per set: makes the graph and the diffusion vectors of each, and finds the
// vectors and scores that set it apart from all other sets. Issues the warnings.
std::vector<DiscResult> disc(const std::vector<DiscSet>& unscaled, const fastfs_disc_options& options, Run& run) {
    const SingleThreadedBlas held;
    const std::size_t C = unscaled.size();
    const std::int64_t p = unscaled.front().n_features;
    std::vector<DiscResult> results(C);
    check_sets(unscaled, options, results);

    const Needs needs = memory_needs(unscaled, options, run);
    const bool keep = run.allows(needs.kept);
    run.require_memory(
        keep ? needs.kept : needs.least, {"DiSC of ", p, " features"},
        options.graph == FASTFS_GRAPH_DENSE ? "take graph=\"knn\", or give fewer features" : "give fewer features");

    std::optional<ScaledSets> scaled;
    if (options.scaling == FASTFS_DISC_SCALING_STANDARD) {
        const DiscScaling scaling = measure_scaling(unscaled, run);
        scaled.emplace(unscaled, scaling, run);
        for (DiscResult& result : results) {
            result.mean = scaling.mean;
            result.scale = scaling.scale;
        }
    }
    const std::vector<DiscSet>& sets = scaled ? scaled->sets() : unscaled;

    std::vector<Graph> graphs(C);
    std::vector<Numbers> U(C), probes(C);
    Numbers probe = numbers(p);
    Random random(options.seed, 1);
    for (double& value : probe) value = random.uniform() - 0.5;
    for (std::size_t s = 0; s < C; ++s) {
        const double begin = 0.8 * static_cast<double>(s) / static_cast<double>(C),
                     share = 0.8 / static_cast<double>(C);
        DiscResult& result = results[s];
        const Name name = Name::set(static_cast<std::int64_t>(s));
        Graph graph = make_graph(sets[s], options, name, begin + 0.5 * share, run);
        result.warnings |= graph.warnings;
        result.bandwidths = graph.bandwidths;
        result.graph_recall = graph.recall;
        result.n_connected = count_components(graph, run);
        if (result.n_connected > 1) result.warnings |= kSetDisconnected;
        run.step("diffusion vectors", begin + share);
        U[s] = diffusion_vectors(graph, sets[s].n_components, options.seed, run, result);
        probes[s] = graph.by_feature(graph.times(graph.c, graph.by_row(probe), graph.c, run));
        if (keep || graph.dense.n() == 0) graphs[s] = std::move(graph);
    }

    for (std::size_t s = 0; s < C; ++s) {
        const double end = 0.8 + 0.2 * static_cast<double>(s + 1) / static_cast<double>(C);
        DiscResult& result = results[s];
        std::vector<Numbers> others;
        for (std::size_t t = 0; t < C; ++t) {
            if (t == s) continue;
            // If eigenvalue 1 is repeated, the choice of the constant vector is arbitrary, but the span of its vectors
            // isn't.
            const bool project = options.constant == FASTFS_CONSTANT_PROJECT || results[t].n_connected > 1;
            for (std::int64_t j = project ? 0 : 1; j <= sets[t].n_components; ++j) {
                others.push_back(graphs[s].by_row({U[t].begin() + j * p, U[t].begin() + (j + 1) * p}));
            }
            double difference = 0, size = 0;
            for (std::size_t i = 0; i < probe.size(); ++i) {
                difference = std::max(difference, std::abs(probes[s][i] - probes[t][i]));
                size = std::max(size, std::abs(probes[s][i]));
            }
            if (difference <= 1e-10 * size) result.warnings |= kSetIdentical;
        }
        std::int64_t rank = 0;
        const Numbers B = orthonormal_basis(p, std::move(others), rank, run);
        if (graphs[s].p == 0) {
            const Name name = Name::set(static_cast<std::int64_t>(s));
            graphs[s] = make_graph(sets[s], options, name, end - 0.1 / static_cast<double>(C), run);
        }
        run.step("differential vectors", end);
        require(
            rank < p,
            "n_components must leave room for other vectors; got diffusion vectors of the other sets that span all ", p,
            " features: choose a smaller one, or compare fewer sets");
        const std::int64_t n_vectors = std::min(options.n_vectors, p - rank), count = std::min(n_vectors + 1, p - rank);
        const Triplets triplets = differential_vectors(graphs[s], B, rank, n_vectors, count, options.seed, run, result);
        write_vectors_and_scores(triplets, p, n_vectors, options.n_differential, result);
        result.W = std::move(graphs[s].sparse);
        result.feature_of_row = std::move(graphs[s].features);
        graphs[s] = Graph();
    }
    warn_of_sets(sets, options, results);
    return results;
}

template <class Index>
void write_graph(const DiscResult& result, Run& run, Index* indptr, Index* indices, double* weights) {
    const SparseSymmetric& W = result.W;
    const std::vector<std::int64_t>& feature_of = result.feature_of_row;
    std::vector<std::int64_t> row_of = up_to(W.n);
    for (std::int64_t row = 0; row < std::ssize(feature_of); ++row) row_of[at(feature_of[at(row)])] = row;
    indptr[0] = 0;
    for (std::int64_t i = 0; i < W.n; ++i) {
        const std::int64_t row = row_of[at(i)];
        indptr[i + 1] = static_cast<Index>(indptr[i] + W.begins[row + 1] - W.begins[row]);
    }
    constexpr std::int64_t kRows = 1024;
    parallel_for(run, ceil_div(W.n, kRows), [&](std::int64_t task, int) {
        std::vector<std::pair<std::int64_t, double>> entries;
        for (std::int64_t i = task * kRows; i < std::min((task + 1) * kRows, W.n); ++i) {
            const std::int64_t row = row_of[at(i)];
            entries.clear();
            for (std::int64_t e = W.begins[row]; e < W.begins[row + 1]; ++e) {
                const std::int64_t column = W.columns[e];
                entries.emplace_back(feature_of.empty() ? column : feature_of[at(column)], W.values[e]);
            }
            if (!feature_of.empty()) std::sort(entries.begin(), entries.end());
            auto to = static_cast<std::int64_t>(indptr[i]);
            for (const auto& [column, weight] : entries) {
                indices[to] = static_cast<Index>(column);
                weights[to++] = weight;
            }
        }
    });
}

template void write_graph(const DiscResult&, Run&, std::int32_t*, std::int32_t*, double*);
template void write_graph(const DiscResult&, Run&, std::int64_t*, std::int64_t*, double*);

void disc_cuts(const std::vector<DiscSet>& unscaled, const fastfs_disc_options& options, const std::int64_t* groups,
               std::int64_t n_groups, Run& run, double* cuts) {
    const SingleThreadedBlas held;
    const std::size_t C = unscaled.size();
    const std::int64_t p = unscaled.front().n_features;
    std::vector<DiscResult> results(C);
    check_sets(unscaled, options, results);
    run.require_memory(memory_needs(unscaled, options, run).least, {"DiSC of ", p, " features"});
    std::optional<ScaledSets> scaled;
    if (options.scaling == FASTFS_DISC_SCALING_STANDARD) scaled.emplace(unscaled, measure_scaling(unscaled, run), run);
    const std::vector<DiscSet>& sets = scaled ? scaled->sets() : unscaled;
    for (std::size_t s = 0; s < C; ++s) {
        const double end = static_cast<double>(s + 1) / static_cast<double>(C);
        const Graph graph = make_graph(sets[s], options, Name::set(static_cast<std::int64_t>(s)), end, run);
        const bool by_size = options.cut == FASTFS_CUT_RATIO;
        const double all = by_size ? static_cast<double>(p) : std::accumulate(graph.g.begin(), graph.g.end(), 0.0);
        for (std::int64_t k = 0; k < n_groups; ++k) {
            const std::int64_t* inside = groups + k * p;
            Numbers outside(at(p));
            for (std::int64_t r = 0; r < p; ++r) outside[at(r)] = inside[graph.feature(r)] ? 0 : 1;
            const Numbers away = graph.times(graph.c, outside, graph.c, run);
            double cut = 0, within = 0;
            for (std::size_t r = 0; r < away.size(); ++r) {
                if (outside[r] != 0) continue;
                cut += away[r];
                within += by_size ? 1.0 : graph.g[r];
            }
            cuts[at(k) * C + s] = cut / within + cut / (all - within);
        }
    }
}

}  // namespace fastfs::core
