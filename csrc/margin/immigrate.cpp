// "The paper": Zhao, Hong, Liu (2020). W of one iteration minimises the linear part of the margin, given alpha and beta
// from the previous W: no descent is promised, see docs/immigrate.md.
#include "margin/immigrate.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "engines/spectral.hpp"
#include "margin/data_warnings.hpp"
#include "margin/im4e.hpp"
#include "margin/quadratic_forms.hpp"
#include "margin/soft_neighbors.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"
#include "support/random.hpp"
#include "support/warnings.hpp"

namespace fastfs::core {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();

// FASTFS_MARGIN_SIGMA_AUTO is kImmigrateSigma times the median distance to the nearest hit, see kIm4eSigma.
constexpr double kImmigrateSigma = 4;

// The factors of W = sum_k values[k] v_k v_k', with the largest |value| first. W itself is stored if it was cut or
// given, and its diagonal if W is diagonal.
struct Weights {
    std::int64_t n = 0;
    std::vector<double> diagonal, values;
    Buffer<double> vectors;  // at least values.size() rows of n
    Buffer<double> W;        // n x n, or empty

    std::int64_t rank() const { return static_cast<std::int64_t>(values.size()); }
};

// Sets values and vectors of the weights to the eigenpairs of W (n x n, destroyed), the largest |value| first; drops
// values below `cut` times the largest.
void factorise(Weights& weights, Buffer<double> W, double cut, Run& run) {
    const std::int64_t n = weights.n;
    SymmetricEigen eigen(n, W.data(), run);
    eigen.make_vectors(0, n, run);
    std::vector<std::int64_t> order(at(n));
    std::iota(order.begin(), order.end(), 0);
    const auto& w = eigen.values();
    const auto size = [&](std::int64_t k) { return std::abs(w[at(k)]); };
    std::stable_sort(order.begin(), order.end(), [&](auto k, auto l) { return size(k) > size(l); });
    weights.values.clear();
    weights.vectors = Buffer<double>(n * n);
    for (const auto k : order) {
        if (size(k) < cut * size(order[0])) break;
        std::copy_n(eigen.vector(k), n, weights.vectors.data() + weights.rank() * n);
        weights.values.push_back(w[at(k)]);
    }
}

// Sets eta = max(-mu, 0) / |max(-mu, 0)| for ascending eigenvalues mu of Sigma (Theorem 3.1), drops values below `cut`
// times the first, and sets trace to tr(W Sigma). Returns false, and changes nothing, if no eigenvalue is negative
// beyond rounding.
bool negative_part(const std::vector<double>& mu, double cut, std::vector<double>& eta, double& trace) {
    const double least = mu.front(), largest = std::max(std::abs(least), std::abs(mu.back()));
    if (!(least < -static_cast<double>(mu.size()) * kEps * largest)) return false;
    double sum = 0;  // of squared ratios to the least, which neither overflow nor vanish
    for (const double m : mu) sum += m < 0 ? m / least * (m / least) : 0;
    trace = least * std::sqrt(sum);
    eta.clear();
    for (const double m : mu) {
        if (m > cut * least) break;
        eta.push_back(m / least / std::sqrt(sum));
    }
    return true;
}

// A pair of samples and its weight in Sigma.
struct Pair {
    std::int64_t i, j;
    double g;
};

// Sets E (n_pairs x (a1 - a0), row-major) to |x_i - x_j| of the pairs in the features a0..a1 - 1.
template <class T>
void fill_pair_differences(const PackedSamples<T>& samples, const Pair* pairs, std::int64_t n_pairs, std::int64_t a0,
                           std::int64_t a1, double* E) {
    for (std::int64_t p = 0; p < n_pairs; ++p) {
        const T *x = samples.row(pairs[p].i), *y = samples.row(pairs[p].j);
        double* e = E + p * (a1 - a0);
        for (std::int64_t a = a0; a < a1; ++a)
            e[a - a0] = std::abs(static_cast<double>(x[a]) - static_cast<double>(y[a]));
    }
}

constexpr std::int64_t kPairTile = 256, kFeatureChunk = 256;

// Return the bytes of a step in the space of m pairs, and of a step in the space of A features.
std::int64_t pair_step_memory(std::int64_t m, std::int64_t A, int n_threads) {
    return 8 * (6 * m * m + m * A + n_threads * kFeatureChunk * (m + 2 * kPairTile));
}
std::int64_t dense_step_memory(std::int64_t A) { return 8 * 6 * A * A; }

// Replaces the factors of W by a step in the space of pairs, and sets `trace`; returns false, and changes nothing, if
// no eigenvalue of Sigma is negative. Sigma = E G E', with a column |x_i - x_j| of E and an entry of the diagonal G,
// its weight, for each of m active pairs. With E'E = V diag(k) V', Q = E V k^(-1/2) has orthonormal columns, and Sigma
// = Q (k^(1/2) V' G V k^(1/2)) Q': an eigenproblem of m x m. Directions with k below rounding have no part in Sigma
// beyond rounding.
template <class T>
bool step_in_pair_space(const PackedSamples<T>& samples, const std::vector<Pair>& pairs, double cut, Weights& weights,
                        double& trace, Run& run) {
    const auto m = static_cast<std::int64_t>(pairs.size());
    const std::int64_t A = samples.n_features();
    if (m == 0) return false;
    Buffer<double> K(m * m);
    std::vector<std::pair<std::int64_t, std::int64_t>> tiles;
    for (std::int64_t q = 0; q < m; q += kPairTile) {
        for (std::int64_t p = q; p < m; p += kPairTile) tiles.emplace_back(p, q);
    }
    std::vector<Buffer<double>> scratch;
    for (int t = 0; t < run.n_threads(); ++t) scratch.emplace_back(2 * kPairTile * kFeatureChunk);
    parallel_for(run, static_cast<std::int64_t>(tiles.size()), [&](std::int64_t t, int slot) {
        const auto [p, q] = tiles[at(t)];
        const std::int64_t np = std::min(kPairTile, m - p), nq = std::min(kPairTile, m - q);
        double *Ep = scratch[at(slot)].data(), *Eq = Ep + kPairTile * kFeatureChunk;
        for (std::int64_t a0 = 0; a0 < A; a0 += kFeatureChunk) {
            run.checkpoint();
            const std::int64_t a1 = std::min(a0 + kFeatureChunk, A), n = a1 - a0;
            const double beta = a0 == 0 ? 0 : 1;
            fill_pair_differences(samples, pairs.data() + p, np, a0, a1, Ep);
            if (p == q) {
                syrk_lower('T', np, n, 1.0, Ep, n, beta, K.data() + q * m + p, m);
            } else {
                fill_pair_differences(samples, pairs.data() + q, nq, a0, a1, Eq);
                gemm('T', 'N', np, nq, n, 1.0, Ep, n, Eq, n, beta, K.data() + q * m + p, m);
            }
        }
    });

    SymmetricEigen of_K(m, K.data(), run);
    const auto& k = of_K.values();
    const auto first = std::upper_bound(k.begin(), k.end(), static_cast<double>(m) * kEps * k.back()) - k.begin();
    const std::int64_t q = m - first;
    if (q == 0) return false;
    of_K.make_vectors(first, m, run);
    Buffer<double> V = of_K.take_vectors(), L(m * q), GL(m * q), B(q * q);
    const double* directions = V.data() + first * m;
    std::vector<double> root(at(q));
    for (std::int64_t c = 0; c < q; ++c) {
        root[at(c)] = std::sqrt(k[at(first + c)]);
        for (std::int64_t p = 0; p < m; ++p) {
            L[c * m + p] = directions[c * m + p] * root[at(c)];
            GL[c * m + p] = L[c * m + p] * pairs[at(p)].g;
        }
    }
    multiply_in_parts('T', q, q, m, L.data(), m, GL.data(), m, B.data(), q, run);
    SymmetricEigen of_B(q, B.data(), run);
    if (!negative_part(of_B.values(), cut, weights.values, trace)) return false;
    const std::int64_t r = weights.rank();
    of_B.make_vectors(0, r, run);
    for (std::int64_t c = 0; c < r; ++c) {
        for (std::int64_t i = 0; i < q; ++i) of_B.vector(c)[i] /= root[at(i)];
    }
    multiply_in_parts('N', m, r, q, directions, m, of_B.vector(0), q, L.data(), m, run);

    if (weights.vectors.size() < r * A) weights.vectors = Buffer<double>(r * A);
    for (auto& s : scratch) s = Buffer<double>(m * kFeatureChunk);
    parallel_for(run, (A + kFeatureChunk - 1) / kFeatureChunk, [&](std::int64_t chunk, int slot) {
        double* E = scratch[at(slot)].data();
        const std::int64_t a0 = chunk * kFeatureChunk, a1 = std::min(a0 + kFeatureChunk, A), n = a1 - a0;
        fill_pair_differences(samples, pairs.data(), m, a0, a1, E);
        gemm('N', 'N', n, r, m, 1.0, E, n, L.data(), m, 0.0, weights.vectors.data() + a0, A);
    });
    return true;
}

// Sets entries of W below `smallest` to 0, with `clip` or a positive `smallest`, and scales W to norm 1; throws if no
// entry is left.
void cut_entries(Buffer<double>& W, std::int64_t n, bool clip, double smallest) {
    const double least = clip || smallest > 0 ? smallest : -std::numeric_limits<double>::infinity();
    const double largest = *std::max_element(W.data(), W.data() + n * n);
    double sum = 0;
    for (std::int64_t k = 0; k < n * n; ++k) {
        if (W[k] < least) W[k] = 0;
        sum += W[k] * W[k];
    }
    require(sum > 0, "smallest must be below the largest entry of W, ", largest, "; got ", smallest);
    const double norm = std::sqrt(sum);
    for (std::int64_t k = 0; k < n * n; ++k) W[k] /= norm;
}

// Replaces W by a step in the space of features, from Sigma (A x A, column-major, lower triangle, destroyed), and sets
// `trace`; returns false, and leaves W, if no eigenvalue of Sigma is negative. `whole` forms W and cuts its entries
// (see cut_entries). room: memory that eigenvectors reuse; gets the memory of the last step's.
bool step_in_feature_space(Buffer<double>& Sigma, double cut, bool whole, bool clip, double smallest, Weights& weights,
                           Buffer<double>& room, double& trace, Run& run) {
    const std::int64_t A = weights.n;
    Buffer<double> copy;
    if (whole) {
        mirror_lower(A, Sigma.data());
        copy = Buffer<double>(A * A);
        std::copy_n(Sigma.data(), A * A, copy.data());
    }
    SymmetricEigen eigen(A, Sigma.data(), run, std::move(room));
    std::vector<double> eta;
    if (!negative_part(eigen.values(), cut, eta, trace)) return false;
    eigen.make_vectors(0, std::ssize(eta), run);
    weights.values = std::move(eta);
    room = std::move(weights.vectors);
    weights.vectors = eigen.take_vectors();
    if (whole) {
        weights.W = dense_of_factors(A, weights.rank(), weights.values.data(), weights.vectors.data(), run);
        cut_entries(weights.W, A, clip, smallest);
        trace = std::inner_product(copy.data(), copy.data() + A * A, weights.W.data(), 0.0);
    }
    return true;
}

// The matrix that bindings call W0.
const Name kStartMatrix = Name::of_matrix(2, "start_matrix");

// Returns the W of the start, scaled to norm 1, as a diagonal or, from start_matrix, as a matrix; appends its columns
// of X to `used`: the columns asked for, without constant ones. Throws unless the start is valid.
Weights starting_W(const Margin& margin, const fastfs_immigrate_options& options, std::vector<std::int64_t>& used,
                   Run& run) {
    const std::int64_t n_requested = options.features ? options.n_features : margin.X().n_cols();
    std::vector<std::int64_t> position;
    for (std::int64_t k = 0; k < n_requested; ++k) {
        const std::int64_t a = options.features ? options.features[k] : k;
        if (margin.factor()[at(a)] == 0) continue;
        used.push_back(a);
        position.push_back(k);
    }
    require(!used.empty(), "features must name some that vary; got ", n_requested, " constant ones");
    const auto used_position = [&](std::int64_t k) { return position[at(k)]; };
    Weights weights;
    weights.n = static_cast<std::int64_t>(used.size());
    const std::int64_t n = weights.n;
    double largest = 0, sum = 0;
    if (!options.start_matrix) {
        for (const auto k : position) {
            const double w = options.start ? options.start[k] : 1;
            require(std::isfinite(w) && w >= 0, "start must hold finite numbers of at least 0; got ", w,
                    " at position ", k);
            weights.diagonal.push_back(w);
            largest = std::max(largest, w);
        }
        require(largest > 0, "start must have a positive weight of a feature that varies; got none");
        for (const double w : weights.diagonal) sum += w / largest * (w / largest);
        for (double& w : weights.diagonal) w /= largest * std::sqrt(sum);
        return weights;
    }
    run.require_memory(dense_step_memory(n), "a W of " + std::to_string(n) + " features", kAdvice);
    weights.W = Buffer<double>(n * n);
    for (std::int64_t a = 0; a < n; ++a) {
        run.checkpoint();
        for (std::int64_t b = 0; b < n; ++b) {
            const double w = options.start_matrix[used_position(a) * n_requested + used_position(b)];
            require(std::isfinite(w), kStartMatrix, " must be finite; got ", w, " for ", Name::column(used[at(a)]),
                    " with ", Name::column(used[at(b)]));
            weights.W[a * n + b] = w;
            largest = std::max(largest, std::abs(w));
        }
    }
    require(largest > 0, kStartMatrix, " must have a positive entry; got zeros alone");
    for (std::int64_t a = 0; a < n; ++a) {
        run.checkpoint();
        for (std::int64_t b = 0; b <= a; ++b) {
            const double w = weights.W[a * n + b] / largest, mirrored = weights.W[b * n + a] / largest;
            require(std::abs(w - mirrored) <= 1e-10, kStartMatrix, " must be symmetric; got entries for (",
                    Name::column(used[at(b)]), ", ", Name::column(used[at(a)]), ") and for the reverse that differ by ",
                    std::abs(w - mirrored), " times the largest entry: give the mean of the matrix and its transpose");
            weights.W[a * n + b] = weights.W[b * n + a] = (w + mirrored) / 2;
            sum += (a == b ? 1 : 2) * weights.W[a * n + b] * weights.W[a * n + b];
        }
    }
    const double norm = std::sqrt(sum);
    for (std::int64_t k = 0; k < n * n; ++k) weights.W[k] /= norm;
    if (!options.clip) {
        Buffer<double> copy(n * n);
        std::copy_n(weights.W.data(), n * n, copy.data());
        const SymmetricEigen eigen(n, copy.data(), run);
        const double least = eigen.values().front() * std::sqrt(sum);
        require(least >= -1e-10, kStartMatrix, " must be positive semidefinite; got a negative eigenvalue, ", least,
                " of the largest entry: take its part with positive eigenvalues, or set clip");
    }
    return weights;
}

// Appends the pairs i < j of samples with |g[i, j]| > negligible (g: n x n) to `pairs` and returns true if a step in
// their space needs fewer flops than a step in the space of the features, or if only it fits; otherwise returns false.
// Throws OutOfMemory if neither fits. An eigenproblem counts as 8 n^3 at the rate of products.
bool collect_pairs_if_cheaper(const double* g, std::int64_t n, double negligible, std::int64_t n_active_features,
                              bool dense_fits, std::vector<Pair>& pairs, Run& run) {
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = i + 1; j < n; ++j) count += std::abs(g[i * n + j]) > negligible;
    }
    const auto m = static_cast<double>(count), a = static_cast<double>(n_active_features);
    if (dense_fits && a * a * (m + 9 * a) <= m * m * (2 * a + 19 * m)) return false;
    const std::int64_t bytes = pair_step_memory(count, n_active_features, run.n_threads());
    if (dense_fits && !run.allows(bytes)) return false;
    run.require_memory(bytes,
                       "IMMIGRATE on " + std::to_string(n_active_features) + " features and " + std::to_string(count) +
                           " pairs of samples with a weight",
                       "give fewer features (those that IM4E keeps), a larger negligible or a smaller sigma");
    pairs.reserve(at(count));
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = i + 1; j < n; ++j) {
            if (std::abs(g[i * n + j]) > negligible) pairs.push_back({i, j, g[i * n + j]});
        }
    }
    return true;
}

// Fills the result from the last weights, which it moves from: factors with fixed signs, the scores, and W, except with
// only_factors, which avoids a W of more features than pairs.
void set_result(Weights& weights, bool only_factors, double cut, const Margin& margin, Immigrate& result, Run& run) {
    const std::int64_t n = weights.n;
    if (!only_factors) {
        Buffer<double>& W = weights.W;
        if (W.size() == 0 && weights.diagonal.empty()) {
            W = dense_of_factors(n, weights.rank(), weights.values.data(), weights.vectors.data(), run);
        } else {
            if (W.size() == 0) {
                run.require_memory(dense_step_memory(n), "a W of " + std::to_string(n) + " features", kAdvice);
                W = Buffer<double>(n * n);
                std::fill_n(W.data(), n * n, 0.0);
                for (std::int64_t a = 0; a < n; ++a) W[a * n + a] = weights.diagonal[at(a)];
            }
            Buffer<double> copy(n * n);
            std::copy_n(W.data(), n * n, copy.data());
            factorise(weights, std::move(copy), cut, run);
        }
        result.W = std::move(W);
    }
    result.scores.assign(at(margin.X().n_cols()), 0.0);
    for (std::int64_t k = 0; k < weights.rank(); ++k) {
        run.checkpoint();
        double* v = weights.vectors.data() + k * n;
        fix_sign(n, v);
        const double value = weights.values[at(k)];
        for (std::int64_t a = 0; a < n; ++a) {
            result.scores[at(result.features[at(a)])] += value * v[a] * (value * v[a]);
        }
    }
    result.values = std::move(weights.values);
    result.vectors.assign(weights.vectors.data(),
                          weights.vectors.data() + static_cast<std::int64_t>(result.values.size()) * n);
    run.checkpoint();
}

// Fits W by the iteration of IMMIGRATE, and returns its factors, scores and history; takes each step in the cheaper
// space.
template <class T>
Immigrate fit_immigrate(const Margin& margin, const Classes& classes, const fastfs_immigrate_options& options,
                        Run& run) {
    Immigrate result;
    run.step("distances", 0.01);
    fastfs_immigrate_options start = options;
    if (run.is_question()) start.start_matrix = nullptr;  // its checks take no more memory than a step
    Weights weights = starting_W(margin, start, result.features, run);
    const ScaledFeatures features = margin.features(margin.X(), result.features);
    const std::int64_t n = features.n_samples(), A = features.n_features();
    const double cut = sizeof(T) == 4 ? 1e-6 : 1e-13;
    const double smallest =
        options.smallest == double{FASTFS_SMALLEST_AUTO} ? 1 / static_cast<double>(A) : options.smallest;
    const bool whole = options.clip || smallest > 0;  // W is needed entry by entry
    const std::int64_t packed = PackedSamples<T>::memory(n, A) + 32 * margin.X().n_cols();
    const std::int64_t by_features = packed + dense_step_memory(A) + forms_memory(A, run.n_threads());
    if (whole && !run.is_question()) {
        run.require_memory(by_features, "a W of " + std::to_string(A) + " features",
                           "leave clip and smallest out, so that it can be kept in factors, or give fewer features");
    }
    // Steps without room for A x A are in the space of pairs, which needs all of f.
    const bool dense_fits = run.allows(8 * std::min(kTaskRows, n) * n + by_features);
    const bool only_pairs = !whole && !dense_fits && A > n && run.allows(stored_distances_memory(n) + packed);
    Blocks blocks(n, n, 8, only_pairs ? packed : by_features, "IMMIGRATE", run);
    const PackedSamples<T> samples(features, run);
    const double negligible = std::max(options.negligible, kRounding<T> / static_cast<double>(n));
    double* f = blocks.f.data();

    QuadraticForm<T> form;
    // Fills the block with the distances of samples i0..i1 - 1 under the current W.
    auto distances = [&](std::int64_t i0, std::int64_t i1) {
        if (weights.diagonal.empty()) {
            quadratic_forms(samples, i0, i1, samples, blocks.stored, form, f, n, run);
            return;
        }
        const double* stored_distances = margin.kept(Difference::kSquared);
        if (stored_distances && !options.start && A == margin.features().n_features()) {
            std::transform(stored_distances + i0 * n, stored_distances + i1 * n, f,
                           [&](double d) { return d * weights.diagonal[0]; });
            return;
        }
        const ScaledFeatures seen = weighted(features, weights.diagonal.data(), true);
        pair_sums<T>(seen, i0, i1, seen, 0, n, Difference::kSquared, f, n, run);
    };
    if (weights.W.size()) form = QuadraticForm<T>(A, weights.W.data());
    const std::vector<std::int64_t> all = up_to(n);
    result.sigma =
        softmax_scale(options.sigma, options.sigma_rule, kImmigrateSigma, classes, all, blocks, run, distances);
    margin.warn(classes);
    result.stored = blocks.stored;

    bool in_pairs = false;      // the step is in the space of pairs
    bool only_factors = false;  // the last step that found weights was in the space of pairs
    Buffer<double> Sigma, room;
    std::vector<Pair> pairs;
    while (static_cast<std::int32_t>(result.cost.size()) < options.max_iter && !result.converged) {
        run.step("IMMIGRATE", static_cast<double>(result.cost.size() + 1) / options.max_iter);
        Totals totals;
        const bool has_distances =
            result.cost.empty() && blocks.stored && options.sigma_rule != FASTFS_MARGIN_SIGMA_GIVEN;
        pairs.clear();
        in_pairs = false;
        blocks.for_each(n, run, [&](std::int64_t i0, std::int64_t i1) {
            if (!has_distances) {
                const Run::Part first(run, 0, 0.5);
                distances(i0, i1);
            }
            const Run::Part second(run, 0.5, 1);
            soften(classes, all, i0, i1, result.sigma, nullptr, 0, f, totals, run);
            if (blocks.stored) {
                fold_into_upper(n, f, n, run);
                if (!whole) in_pairs = collect_pairs_if_cheaper(f, n, negligible, A, dense_fits, pairs, run);
                if (in_pairs) return;
            }
            if (Sigma.size() == 0) Sigma = Buffer<double>(A * A);
            if (i0 == 0) std::fill_n(Sigma.data(), A * A, 0.0);
            // Blocks contain both directions of a pair, each with about half of its weight.
            outer_sums(samples, i0, i1, samples, f, n, blocks.stored, blocks.stored ? negligible : negligible / 2,
                       Sigma.data(), run);
        });
        double trace = 0;
        bool has_step = false;
        if (in_pairs) {
            has_step = step_in_pair_space(samples, pairs, cut, weights, trace, run);
        } else {
            has_step =
                step_in_feature_space(Sigma, whole ? 0 : cut, whole, options.clip, smallest, weights, room, trace, run);
        }
        if (!has_step) {
            warn_of_no_weight();
            break;
        }
        weights.diagonal.clear();
        if (!whole) weights.W = {};
        only_factors = in_pairs;
        result.objective.push_back(totals.objective);
        result.cost.push_back(trace + result.sigma * totals.entropy);
        require_finite_cost(result.cost.back());
        result.converged = settled(result.cost, options.tol);
        form = whole ? QuadraticForm<T>(A, weights.W.data())
                     : form_of<T>(A, weights.rank(), weights.values.data(), weights.vectors.data(), run);
    }
    if (options.n_starts > 1) {
        Totals totals;
        blocks.for_each(n, run, [&](std::int64_t i0, std::int64_t i1) {
            distances(i0, i1);
            soften(classes, all, i0, i1, result.sigma, nullptr, 0, f, totals, run);
        });
        result.last_objective = totals.objective;
    }
    set_result(weights, only_factors, cut, margin, result, run);
    return result;
}

Immigrate fit_once(const Margin& margin, const Classes& classes, const fastfs_immigrate_options& options, Run& run) {
    return visit_dense(margin.X().description(),
                       [&]<class T>(const T*) { return fit_immigrate<T>(margin, classes, options, run); });
}

// Fits from each start, returns the result with the least G, and issues the warnings of its fit alone. All starts have
// the sigma of the first one, without which G can't be compared. A diagonal needs no memory of features x features, and
// ends in the same W as a random matrix.
Immigrate fit(const Margin& margin, const Classes& classes, const fastfs_immigrate_options& options, Run& run) {
    if (options.n_starts == 1) return fit_once(margin, classes, options, run);
    fastfs_immigrate_options given = options;
    std::vector<double> start(at(options.features ? options.n_features : margin.X().n_cols()));
    Immigrate best;
    std::vector<std::unique_ptr<Warning>> warnings;
    const auto share = [&](std::int64_t s) { return static_cast<double>(s) / static_cast<double>(options.n_starts); };
    run.step("IMMIGRATE", 1);
    for (std::int64_t s = 0; s < options.n_starts; ++s) {
        const Run::Part part(run, share(s), share(s + 1));
        if (s > 0) {
            Random random(options.seed, static_cast<std::uint64_t>(s));
            for (double& w : start) w = -std::log1p(-random.uniform());
        }
        Warnings of_fit;
        Immigrate fitted = fit_once(margin, classes, given, run);
        if (s > 0 && !(fitted.last_objective < best.last_objective)) continue;
        best = std::move(fitted);
        warnings = std::move(of_fit.all);
        if (s > 0) continue;
        given.start = start.data();
        given.start_matrix = nullptr;
        given.sigma = best.sigma;
        given.sigma_rule = FASTFS_MARGIN_SIGMA_GIVEN;
    }
    for (const auto& w : warnings) warn(w->code, w->message);
    return best;
}

// ---- IM4E as a filter before IMMIGRATE ------------------------------------------------------------------------------

// The number of features above which FASTFS_PREFILTER_AUTO runs IM4E, and the most features that it keeps: the time of
// a fit grows with their square. IM4E's threshold keeps 4731 of 20,000 random features of 200 samples, for which a fit
// took 180 s of one Zen 4 core; for 1000 it took 4 s.
constexpr std::int64_t kPrefilterAbove = 1000;

// Returns the largest number of features to keep, or 0 for no filter.
std::int64_t filtered_features(const Margin& margin, const fastfs_immigrate_options& options) {
    const std::int64_t n = margin.features().n_features();
    if (options.prefilter == FASTFS_PREFILTER_IM4E) return n;
    const bool has_start = options.features || options.start || options.start_matrix;
    return options.prefilter == FASTFS_PREFILTER_AUTO && n > kPrefilterAbove && !has_start ? kPrefilterAbove : 0;
}

// Returns the fit of IMMIGRATE to the features that IM4E gives the mean weight or more, at most the `most` with the
// largest weights.
Immigrate fit_filtered(const Margin& margin, const Classes& classes, const fastfs_immigrate_options& options,
                       std::int64_t most, Run& run) {
    fastfs_im4e_options filter = FASTFS_IM4E_OPTIONS_INIT;
    filter.sigma = options.sigma;
    filter.sigma_rule = options.sigma_rule;
    filter.max_iter = options.max_iter;
    filter.tol = options.tol;
    std::vector<double> weights(at(margin.X().n_cols()));
    Owned<fastfs_im4e_result> filter_result(FASTFS_IM4E_RESULT_INIT);
    const auto weight = [&](std::int64_t a) { return weights[at(a)]; };
    auto features = margin.features().features;
    const double mean = 1 / static_cast<double>(features.size());
    try {
        im4e(margin, classes, filter, run, filter_result);
        weights.assign(filter_result.weights, filter_result.weights + weights.size());
    } catch (const Answered&) {  // IMMIGRATE answers next, for the largest number of features
        for (const auto a : features) weights[at(a)] = mean;
    }

    // A tolerance, without which equal weights could fail to reach their own mean by rounding.
    std::erase_if(features, [&](auto a) { return !(weight(a) >= (1 - 1e-12) * mean); });
    std::stable_sort(features.begin(), features.end(), [&](auto a, auto b) { return weight(a) > weight(b); });
    if (static_cast<std::int64_t>(features.size()) > most) features.resize(at(most));
    std::sort(features.begin(), features.end());
    std::vector<double> start;
    for (const auto a : features) start.push_back(weight(a));

    fastfs_immigrate_options of_kept = options;
    of_kept.features = features.data();
    of_kept.n_features = static_cast<std::int64_t>(features.size());
    of_kept.start = start.data();
    Immigrate result = fit(margin, classes, of_kept, run);
    result.prefilter_weights = std::move(weights);
    return result;
}

}  // namespace

Immigrate immigrate(const Margin& margin, const Classes& classes, const fastfs_immigrate_options& options, Run& run) {
    const SingleThreadedBlas held;
    const std::int64_t most = filtered_features(margin, options);
    return most ? fit_filtered(margin, classes, options, most, run) : fit(margin, classes, options, run);
}

}  // namespace fastfs::core
