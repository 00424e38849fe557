// "The paper": Zhao, Hong, Liu (2020). f_nj is the distance of samples n and j under the weights, alpha and beta are
// the softmax of -f / sigma over the hits and over the misses of each sample. The weights of one iteration minimise the
// margin's linear part, given alpha and beta from those before: no descent is promised, see docs/immigrate.md.
#include "margin/immigrate.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "engines/isa/tiles.hpp"
#include "engines/spectral.hpp"
#include "margin/quadratic_forms.hpp"
#include "support/errors.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();

// Rows of samples that one task softens, and bytes of f where it isn't stored whole.
constexpr std::int64_t kTaskRows = 16, kBlockBytes = std::int64_t{1} << 26;

// Up to this size IM4E keeps its samples packed: packing them twice in each iteration took a seventh of it at 300 x
// 20,000 float32.
constexpr std::int64_t kPackedBytes = std::int64_t{1} << 27;

constexpr const char* kAdvice = "raise max_memory (or FASTFS_MAX_MEMORY), or give fewer samples or features";

template <class T>
constexpr double kRounding = std::numeric_limits<T>::epsilon();

// ---- hits and misses -----------------------------------------------------------------------------------------------

struct Classes {
    Classes(const std::int64_t* labels, std::int64_t n, std::int64_t n_classes)
        : label(labels, labels + n),
          begin(static_cast<std::size_t>(n_classes + 1)),
          order(static_cast<std::size_t>(n)) {
        for (const auto c : label) ++begin[static_cast<std::size_t>(c) + 1];
        std::partial_sum(begin.begin(), begin.end(), begin.begin());
        auto next = begin;
        for (std::int64_t i = 0; i < n; ++i) {
            order[static_cast<std::size_t>(next[static_cast<std::size_t>(label[static_cast<std::size_t>(i)])]++)] = i;
        }
    }
    std::int64_t n_samples() const { return static_cast<std::int64_t>(order.size()); }
    std::int64_t n_classes() const { return static_cast<std::int64_t>(begin.size()) - 1; }
    std::int64_t of(std::int64_t i) const { return label[static_cast<std::size_t>(i)]; }
    std::int64_t size(std::int64_t c) const {
        return begin[static_cast<std::size_t>(c) + 1] - begin[static_cast<std::size_t>(c)];
    }
    int warnings() const {
        for (std::int64_t c = 0; c < n_classes(); ++c) {
            if (size(c) == 1) return FASTFS_MARGIN_ONE_SAMPLE;
        }
        return 0;
    }

    std::vector<std::int64_t> label, begin, order;  // order: samples by class, those of class c from begin[c] on
};

double sum_of(const double* x, std::int64_t n) {
    double sum[4] = {};
    std::int64_t k = 0;
    for (; k + 4 <= n; k += 4) {
        for (int l = 0; l < 4; ++l) sum[l] += x[k + l];
    }
    for (; k < n; ++k) sum[0] += x[k];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

double smallest_of(const double* x, std::int64_t n) {
    double least[4] = {x[0], x[0], x[0], x[0]};
    std::int64_t k = 0;
    for (; k + 4 <= n; k += 4) {
        for (int l = 0; l < 4; ++l) least[l] = x[k + l] < least[l] ? x[k + l] : least[l];
    }
    for (; k < n; ++k) least[0] = std::min(least[0], x[k]);
    return std::min(std::min(least[0], least[1]), std::min(least[2], least[3]));
}

// p = softmax(-f / sigma) in place of n distances f; z: scratch. With the smallest taken off first, no sigma is too
// small. mean = sum p f, entropy = sum p log p, soft_minimum = -sigma log sum exp(-f / sigma).
struct Softmax {
    double mean = 0, entropy = 0, soft_minimum = 0;
};
Softmax softmax(double* f, std::int64_t n, double sigma, double* z) {
    if (n == 0) return {};
    const double least = smallest_of(f, n);
    for (std::int64_t k = 0; k < n; ++k) {
        const double scaled = (f[k] - least) / sigma;
        z[k] = f[k] = scaled < 1e300 ? scaled : 1e300;
    }
    tile_kernels<double>().exp_neg(f, n, 1.0);
    const double sum = sum_of(f, n), share = 1 / sum;  // sum >= 1
    for (std::int64_t k = 0; k < n; ++k) {
        f[k] *= share;
        z[k] *= f[k];
    }
    const double mean = sum_of(z, n), log_sum = std::log(sum);
    return {least + sigma * mean, -mean - log_sum, least - sigma * log_sum};
}

// Over all samples: tr(W Sigma) under the weights that gave f, ent, and G, all with the class factors.
struct Totals {
    double linear = 0, entropy = 0, objective = 0;
};

// Rows i0..i1 of f (ld = n_samples) become alpha on hits, -beta on misses, 0 on the diagonal, times the factor of the
// row's class. What is `negligible` in either becomes 0.
void soften(const Classes& classes, std::int64_t i0, std::int64_t i1, double sigma, const double* factors,
            double negligible, double* f, Totals& totals, Run& run) {
    const std::int64_t n = classes.n_samples();
    std::vector<Buffer<double>> scratch;
    for (int t = 0; t < run.n_threads(); ++t) scratch.emplace_back(2 * n);
    std::vector<Totals> of_row(static_cast<std::size_t>(i1 - i0));
    parallel_for(run, (i1 - i0 + kTaskRows - 1) / kTaskRows, [&](std::int64_t task, int slot) {
        double *p = scratch[static_cast<std::size_t>(slot)].data(), *z = p + n;
        for (std::int64_t i = i0 + task * kTaskRows; i < std::min(i0 + (task + 1) * kTaskRows, i1); ++i) {
            double* row = f + (i - i0) * n;
            const std::int64_t c = classes.of(i), n_hits = classes.size(c) - 1;
            const std::int64_t *order = classes.order.data(),
                               *first = order + classes.begin[static_cast<std::size_t>(c)],
                               *last = order + classes.begin[static_cast<std::size_t>(c) + 1], *end = order + n;
            double* to = p;
            for (const auto* j = first; j < last; ++j) {
                if (*j != i) *to++ = row[*j];
            }
            for (const auto* j = order; j < first; ++j) *to++ = row[*j];
            for (const auto* j = last; j < end; ++j) *to++ = row[*j];
            const Softmax hits = softmax(p, n_hits, sigma, z), misses = softmax(p + n_hits, n - 1 - n_hits, sigma, z);

            const double factor = factors ? factors[c] : 1;
            for (std::int64_t k = 0; k < n - 1; ++k) {
                p[k] = p[k] <= negligible ? 0 : (k < n_hits ? factor : -factor) * p[k];
            }
            to = p;
            for (const auto* j = first; j < last; ++j) row[*j] = *j == i ? 0 : *to++;
            for (const auto* j = order; j < first; ++j) row[*j] = *to++;
            for (const auto* j = last; j < end; ++j) row[*j] = *to++;
            of_row[static_cast<std::size_t>(i - i0)] = {factor * (hits.mean - misses.mean),
                                                        factor * (hits.entropy - misses.entropy),
                                                        factor * (hits.soft_minimum - misses.soft_minimum)};
        }
    });
    for (const Totals& row : of_row) {
        totals.linear += row.linear;
        totals.entropy += row.entropy;
        totals.objective += row.objective;
    }
}

// f (samples x samples) as a whole, if the budget allows that and `others`, or rows of it at a time. bytes: for each of
// its values, with what is made of them besides.
struct Blocks {
    bool stored;
    std::int64_t rows;
    Buffer<double> f;

    Blocks(std::int64_t n, std::int64_t bytes, std::int64_t others, const char* what, const Run& run)
        : stored(run.allows(stored_distances_memory(n) + (bytes - 8) * n * n + others)), rows(n) {
        if (!stored) rows = std::min(std::max(kBlockBytes / (8 * n) / kTaskRows * kTaskRows, kTaskRows), n);
        while (rows > kTaskRows && !run.allows(bytes * rows * n + others)) {
            rows = (rows / 2 + kTaskRows - 1) / kTaskRows * kTaskRows;
        }
        stored = rows >= n;
        run.require_memory(bytes * rows * n + others, what, kAdvice);
        f = Buffer<double>(rows * n);
    }
    // body(first, last) for each block in turn.
    template <class F>
    void for_each(std::int64_t n, Run& run, F&& body) {
        for (std::int64_t i = 0; i < n; i += rows) {
            const std::int64_t last = std::min(i + rows, n);
            const Run::Part part(run, static_cast<double>(i) / static_cast<double>(n),
                                 static_cast<double>(last) / static_cast<double>(n));
            body(i, last);
        }
    }
};

// sigma itself, or that factor of the median distance to the nearest hit, duplicates apart; distances(i0, i1) fills the
// block. automatic: the factor of FASTFS_MARGIN_SIGMA_AUTO.
double softmax_scale(double sigma, int rule, double automatic, const Classes& classes, Blocks& blocks, Run& run,
                     const std::function<void(std::int64_t, std::int64_t)>& distances) {
    if (rule == FASTFS_MARGIN_SIGMA_GIVEN) return sigma;
    const double factor = rule == FASTFS_MARGIN_SIGMA_AUTO ? automatic : sigma;
    const std::int64_t n = classes.n_samples();
    std::vector<double> nearest;
    blocks.for_each(n, run, [&](std::int64_t i0, std::int64_t i1) {
        distances(i0, i1);
        for (std::int64_t i = i0; i < i1; ++i) {
            const auto c = static_cast<std::size_t>(classes.of(i));
            double least = std::numeric_limits<double>::infinity();
            for (auto k = classes.begin[c]; k < classes.begin[c + 1]; ++k) {
                const std::int64_t j = classes.order[static_cast<std::size_t>(k)];
                if (j != i) least = std::min(least, blocks.f[(i - i0) * n + j]);
            }
            if (least > 0 && std::isfinite(least)) nearest.push_back(least);
        }
    });
    if (nearest.empty()) return factor;
    const auto middle = nearest.begin() + static_cast<std::ptrdiff_t>(nearest.size() / 2);
    std::nth_element(nearest.begin(), middle, nearest.end());
    const double median = nearest.size() % 2 ? *middle : (*std::max_element(nearest.begin(), middle) + *middle) / 2;
    return factor * median;
}

void require_finite(double cost) {
    require(std::isfinite(cost), "the cost overflows: choose a smaller sigma or smaller class factors, or scale X");
}

// Has the cost settled?
bool settled(const std::vector<double>& cost, double tol) {
    if (cost.size() < 2) return false;
    const double old = cost[cost.size() - 2];
    return std::abs(old - cost.back()) <= tol * std::abs(old);
}

// Features with a positive weight, that weight in their factor; its `root` for squared differences.
ScaledFeatures weighted(const ScaledFeatures& features, const double* weights, bool root) {
    ScaledFeatures result{features.X, {}, {}, {}};
    for (std::size_t k = 0; k < features.features.size(); ++k) {
        if (!(weights[k] > 0)) continue;
        result.features.push_back(features.features[k]);
        result.shift.push_back(features.shift[k]);
        result.factor.push_back(features.factor[k] * (root ? std::sqrt(weights[k]) : weights[k]));
    }
    return result;
}

// FASTFS_MARGIN_SIGMA_AUTO is this times the median distance to the nearest hit under the first weights. Of the factors
// from 0.1 to 8 these win most often against sigma = 1, on 19 or 20 data sets: see benchmarks/papers/immigrate.py.
constexpr double kIm4eSigma = 2, kImmigrateSigma = 4;

// ---- IM4E ----------------------------------------------------------------------------------------------------------

template <class T>
void fit_im4e(const Margin& margin, const Classes& classes, const fastfs_im4e_options& options, Run& run,
              fastfs_im4e_result& result) {
    const ScaledFeatures varying = margin.features();
    const std::int64_t n = varying.n_samples(), A = varying.n_features();
    run.step("distances", 0.01);
    constexpr std::int64_t kBytes = 8 + static_cast<std::int64_t>(sizeof(T));  // of a pair
    const std::int64_t packed_bytes = PackedPanels<T>::memory(n, A), others = 96 * margin.X().n_cols();
    const bool pack = packed_bytes <= kPackedBytes && run.allows(kBytes * n * n + others + packed_bytes);
    Blocks blocks(n, kBytes, others + (pack ? packed_bytes : 0), "IM4E", run);
    std::optional<PackedPanels<T>> packed;
    if (pack) packed.emplace(varying, run);
    const ScaledFeatures& all = pack ? packed->features() : varying;
    const double *kept = margin.kept(Difference::kAbsolute), *f = blocks.f.data();
    std::vector<double> w(static_cast<std::size_t>(A), 1.0 / static_cast<double>(A)), u(w.size()), cost;
    auto distances = [&](std::int64_t i0, std::int64_t i1) {
        if (cost.empty() && kept) {
            std::transform(kept + i0 * n, kept + i1 * n, blocks.f.data(), [&](double d) { return d * w[0]; });
            return;
        }
        const ScaledFeatures seen = weighted(all, w.data(), false);
        pair_sums<T>(seen, i0, i1, seen, 0, n, Difference::kAbsolute, blocks.f.data(), n, run);
    };
    result.sigma = softmax_scale(options.sigma, options.sigma_rule, kIm4eSigma, classes, blocks, run, distances);
    result.warnings = classes.warnings() | (margin.is_uneven() ? FASTFS_MARGIN_UNEVEN : 0);
    result.stored = blocks.stored;
    result.converged = 0;

    while (static_cast<std::int32_t>(cost.size()) < options.max_iter && !result.converged) {
        run.step("IM4E", static_cast<double>(cost.size() + 1) / options.max_iter);
        Totals totals;
        std::fill(u.begin(), u.end(), 0.0);
        const bool made = cost.empty() && blocks.stored && options.sigma_rule != FASTFS_MARGIN_SIGMA_GIVEN;
        blocks.for_each(n, run, [&](std::int64_t i0, std::int64_t i1) {
            if (!made) {
                const Run::Part first(run, 0, 0.5);
                distances(i0, i1);
            }
            const Run::Part second(run, 0.5, 1);
            soften(classes, i0, i1, result.sigma, options.class_factors, kRounding<T> / static_cast<double>(2 * n),
                   blocks.f.data(), totals, run);
            // u = -v: hits count positive
            feature_sums<T>(all, i0, i1, all, 0, n, Difference::kAbsolute, f, n, blocks.stored, u.data(), run);
        });
        // (3.6)
        double sum = 0;
        for (const double s : u) sum += std::max(-s, 0.0);
        if (sum == 0) {
            result.warnings |= FASTFS_MARGIN_NO_WEIGHT;
            break;
        }
        double linear = 0;
        for (std::size_t a = 0; a < w.size(); ++a) {
            w[a] = std::max(-u[a], 0.0) / sum;
            linear += w[a] * u[a];
        }
        // (3.4), without lambda, which (3.6) cancels
        if (result.objective) result.objective[cost.size()] = totals.objective;
        if (result.cost) result.cost[cost.size()] = linear + result.sigma * totals.entropy;
        cost.push_back(linear + result.sigma * totals.entropy);
        require_finite(cost.back());
        result.converged = settled(cost, options.tol);
    }
    result.n_iter = static_cast<std::int32_t>(cost.size());
    std::fill_n(result.weights, margin.X().n_cols(), 0.0);
    for (std::size_t a = 0; a < w.size(); ++a) result.weights[varying.features[a]] = w[a];
}

// ---- IMMIGRATE -----------------------------------------------------------------------------------------------------

// W = sum_k values[k] v_k v_k' with the largest |value| first; but W itself where it was cut or given, and its diagonal
// where it is that.
struct Weights {
    std::int64_t n = 0;
    std::vector<double> diagonal, values;
    Buffer<double> vectors;  // at least values.size() rows of n
    Buffer<double> W;        // n x n, or nothing

    std::int64_t rank() const { return static_cast<std::int64_t>(values.size()); }
};

// sum_k values[k] v_k v_k'
Buffer<double> dense(std::int64_t n, std::int64_t rank, const double* values, const double* vectors, Run& run) {
    Buffer<double> transposed(n * rank), W(n * n);
    for (std::int64_t k = 0; k < rank; ++k) {
        for (std::int64_t a = 0; a < n; ++a) transposed[a * rank + k] = values[k] * vectors[k * n + a];
    }
    multiply('N', n, n, rank, vectors, n, transposed.data(), std::max<std::int64_t>(rank, 1), W.data(), n, run);
    mirror_lower(n, W.data());
    return W;
}

// Eigenpairs of W (destroyed), the largest |value| first, without those below `cut` of that.
void factorise(Weights& weights, Buffer<double> W, double cut, Run& run) {
    const std::int64_t n = weights.n;
    SymmetricEigen eigen(n, W.data(), run);
    eigen.make_vectors(0, n, run);
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    const auto& w = eigen.values();
    const auto size = [&](std::int64_t k) { return std::abs(w[static_cast<std::size_t>(k)]); };
    std::stable_sort(order.begin(), order.end(), [&](auto k, auto l) { return size(k) > size(l); });
    weights.values.clear();
    weights.vectors = Buffer<double>(n * n);
    for (const auto k : order) {
        if (size(k) < cut * size(order[0])) break;
        std::copy_n(eigen.vector(k), n, weights.vectors.data() + weights.rank() * n);
        weights.values.push_back(w[static_cast<std::size_t>(k)]);
    }
}

// Theorem 3.1: eta = max(-mu, 0) / |max(-mu, 0)| of ascending eigenvalues mu of Sigma; those below `cut` of the first
// are left out. False, and nothing changed, if none is negative beyond rounding. trace: tr(W Sigma).
bool negative_part(const std::vector<double>& mu, double cut, std::vector<double>& eta, double& trace) {
    const double least = mu.front(), largest = std::max(std::abs(least), std::abs(mu.back()));
    if (!(least < -static_cast<double>(mu.size()) * kEps * largest)) return false;
    double sum = 0;  // of squares of shares, which neither overflow nor vanish
    for (const double m : mu) sum += m < 0 ? m / least * (m / least) : 0;
    trace = least * std::sqrt(sum);
    eta.clear();
    for (const double m : mu) {
        if (m > cut * least) break;
        eta.push_back(m / least / std::sqrt(sum));
    }
    return true;
}

struct Pair {
    std::int64_t i, j;
    double g;
};

// The active pairs' differences in features a0..a1, row by row.
template <class T>
void differences(const PackedSamples<T>& samples, const Pair* pairs, std::int64_t n_pairs, std::int64_t a0,
                 std::int64_t a1, double* E) {
    for (std::int64_t p = 0; p < n_pairs; ++p) {
        const T *x = samples.row(pairs[p].i), *y = samples.row(pairs[p].j);
        double* e = E + p * (a1 - a0);
        for (std::int64_t a = a0; a < a1; ++a)
            e[a - a0] = std::abs(static_cast<double>(x[a]) - static_cast<double>(y[a]));
    }
}

constexpr std::int64_t kPairTile = 256, kFeatureChunk = 256;

// Bytes of a step in the space of m pairs, and of one in that of A features.
std::int64_t pair_step_memory(std::int64_t m, std::int64_t A, int n_threads) {
    return 8 * (6 * m * m + m * A + n_threads * kFeatureChunk * (m + 2 * kPairTile));
}
std::int64_t dense_step_memory(std::int64_t A) { return 8 * 6 * A * A; }

// Sigma = E G E', E with a column |x_i - x_j| for each of m active pairs, G their weights. With E'E = V diag(k) V',
// Q = E V k^(-1/2) has orthonormal columns, and Sigma = Q (k^(1/2) V' G V k^(1/2)) Q': an eigenproblem of m x m.
// Directions with k below rounding have no part in Sigma beyond rounding.
template <class T>
bool step_of_pairs(const PackedSamples<T>& samples, const std::vector<Pair>& pairs, double cut, Weights& weights,
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
        const auto [p, q] = tiles[static_cast<std::size_t>(t)];
        const std::int64_t np = std::min(kPairTile, m - p), nq = std::min(kPairTile, m - q);
        double *Ep = scratch[static_cast<std::size_t>(slot)].data(), *Eq = Ep + kPairTile * kFeatureChunk;
        for (std::int64_t a0 = 0; a0 < A; a0 += kFeatureChunk) {
            run.checkpoint();
            const std::int64_t a1 = std::min(a0 + kFeatureChunk, A), n = a1 - a0;
            const double beta = a0 == 0 ? 0 : 1;
            differences(samples, pairs.data() + p, np, a0, a1, Ep);
            if (p == q) {
                syrk_lower('T', np, n, 1.0, Ep, n, beta, K.data() + q * m + p, m);
            } else {
                differences(samples, pairs.data() + q, nq, a0, a1, Eq);
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
    const double* kept = V.data() + first * m;
    std::vector<double> root(static_cast<std::size_t>(q));
    for (std::int64_t c = 0; c < q; ++c) {
        root[static_cast<std::size_t>(c)] = std::sqrt(k[static_cast<std::size_t>(first + c)]);
        for (std::int64_t p = 0; p < m; ++p) {
            L[c * m + p] = kept[c * m + p] * root[static_cast<std::size_t>(c)];
            GL[c * m + p] = L[c * m + p] * pairs[static_cast<std::size_t>(p)].g;
        }
    }
    multiply('T', q, q, m, L.data(), m, GL.data(), m, B.data(), q, run);
    SymmetricEigen of_B(q, B.data(), run);
    if (!negative_part(of_B.values(), cut, weights.values, trace)) return false;
    const std::int64_t r = weights.rank();
    of_B.make_vectors(0, r, run);
    for (std::int64_t c = 0; c < r; ++c) {
        for (std::int64_t i = 0; i < q; ++i) of_B.vector(c)[i] /= root[static_cast<std::size_t>(i)];
    }
    multiply('N', m, r, q, kept, m, of_B.vector(0), q, L.data(), m, run);

    if (weights.vectors.size() < r * A) weights.vectors = Buffer<double>(r * A);
    for (auto& s : scratch) s = Buffer<double>(m * kFeatureChunk);
    parallel_for(run, (A + kFeatureChunk - 1) / kFeatureChunk, [&](std::int64_t chunk, int slot) {
        double* E = scratch[static_cast<std::size_t>(slot)].data();
        const std::int64_t a0 = chunk * kFeatureChunk, a1 = std::min(a0 + kFeatureChunk, A), n = a1 - a0;
        differences(samples, pairs.data(), m, a0, a1, E);
        gemm('N', 'N', n, r, m, 1.0, E, n, L.data(), m, 0.0, weights.vectors.data() + a0, A);
    });
    return true;
}

// W below `smallest` (and below 0) becomes 0, then W has norm 1 again.
void cut_entries(Buffer<double>& W, std::int64_t n, bool clip, double smallest) {
    const double least = clip || smallest > 0 ? smallest : -std::numeric_limits<double>::infinity();
    const double largest = *std::max_element(W.data(), W.data() + n * n);
    double sum = 0;
    for (std::int64_t k = 0; k < n * n; ++k) {
        if (W[k] < least) W[k] = 0;
        sum += W[k] * W[k];
    }
    require(sum > 0, "smallest = " + text(smallest) + " leaves nothing of W, whose largest entry is " + text(largest) +
                         ": set it lower");
    for (std::int64_t k = 0; k < n * n; ++k) W[k] /= std::sqrt(sum);
}

// Callers know it by another name.
const Name kStartMatrix = Name::of_matrix(2, "start_matrix");

// W0, and the columns of X it is of: those asked for that aren't constant.
Weights first_weights(const Margin& margin, const fastfs_immigrate_options& options, std::vector<std::int64_t>& used,
                      Run& run) {
    const std::int64_t given = options.features ? options.n_features : margin.X().n_cols();
    std::vector<std::int64_t> position;
    for (std::int64_t k = 0; k < given; ++k) {
        const std::int64_t a = options.features ? options.features[k] : k;
        if (margin.factor()[static_cast<std::size_t>(a)] == 0) continue;
        used.push_back(a);
        position.push_back(k);
    }
    require(!used.empty(), "all of the features given are constant");
    const auto used_position = [&](std::int64_t k) { return position[static_cast<std::size_t>(k)]; };
    Weights weights;
    weights.n = static_cast<std::int64_t>(used.size());
    const std::int64_t n = weights.n;
    double largest = 0, sum = 0;
    if (!options.start_matrix) {
        for (const auto k : position) {
            const double w = options.start ? options.start[k] : 1;
            require(std::isfinite(w) && w >= 0,
                    "the diagonal that W starts as must be of numbers of at least 0, but has " + text(w));
            weights.diagonal.push_back(w);
            largest = std::max(largest, w);
        }
        require(largest > 0, "the matrix that W starts as is zero");
        for (const double w : weights.diagonal) sum += w / largest * (w / largest);
        for (double& w : weights.diagonal) w /= largest * std::sqrt(sum);
        return weights;
    }
    run.require_memory(dense_step_memory(n), "a W of " + std::to_string(n) + " features", kAdvice);
    weights.W = Buffer<double>(n * n);
    for (std::int64_t a = 0; a < n; ++a) {
        for (std::int64_t b = 0; b < n; ++b) {
            const double w = options.start_matrix[used_position(a) * given + used_position(b)];
            require(std::isfinite(w), Message() << kStartMatrix << " contains NaN or infinity: first at row "
                                                << used_position(a) << ", column " << used_position(b)
                                                << " (counted from 0)");
            weights.W[a * n + b] = w;
            largest = std::max(largest, std::abs(w));
        }
    }
    require(largest > 0, Message() << kStartMatrix << " is zero, but needs a positive entry to start from");
    for (std::int64_t a = 0; a < n; ++a) {
        for (std::int64_t b = 0; b <= a; ++b) {
            const double w = weights.W[a * n + b] / largest, mirrored = weights.W[b * n + a] / largest;
            require(std::abs(w - mirrored) <= 1e-10, Message() << kStartMatrix << " must be symmetric, but row "
                                                               << used_position(b) << ", column " << used_position(a)
                                                               << " and its mirror image differ by "
                                                               << std::abs(w - mirrored) << " of the largest entry");
            weights.W[a * n + b] = weights.W[b * n + a] = (w + mirrored) / 2;
            sum += (a == b ? 1 : 2) * weights.W[a * n + b] * weights.W[a * n + b];
        }
    }
    for (std::int64_t k = 0; k < n * n; ++k) weights.W[k] /= std::sqrt(sum);
    if (!options.clip) {
        Buffer<double> copy(n * n);
        std::copy_n(weights.W.data(), n * n, copy.data());
        const SymmetricEigen eigen(n, copy.data(), run);
        const double least = eigen.values().front() * std::sqrt(sum);
        require(least >= -1e-10, Message() << kStartMatrix
                                           << " must be positive semidefinite, but has a negative eigenvalue, " << least
                                           << " of the largest entry: take its part with positive eigenvalues, or set "
                                              "clip");
    }
    return weights;
}

template <class T>
QuadraticForm<T> form_of(std::int64_t n, std::int64_t rank, const double* values, const double* vectors, Run& run) {
    // d'(U d) takes n^2 / 2 multiplications, the factors take n * rank.
    if (2 * rank < n || !run.allows(8 * 3 * n * n)) return QuadraticForm<T>(n, rank, values, vectors);
    return QuadraticForm<T>(n, dense(n, rank, values, vectors, run).data());
}

ScaledFeatures some_features(const Matrix& X, const Margin& margin, const std::vector<std::int64_t>& used) {
    ScaledFeatures result{&X, used, {}, {}};
    for (const auto a : used) {
        result.shift.push_back(margin.shift()[static_cast<std::size_t>(a)]);
        result.factor.push_back(margin.factor()[static_cast<std::size_t>(a)]);
    }
    return result;
}

// Is a step in the space of the active pairs, those with |g| > negligible, cheaper than one in that of the features,
// or the only one that fits? Then collects them. Flops, an eigenproblem counted as 8 n^3 at the rate of products.
bool choose_pairs(const double* g, std::int64_t n, double negligible, std::int64_t A, bool dense_fits,
                  std::vector<Pair>& pairs, Run& run) {
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = i + 1; j < n; ++j) count += std::abs(g[i * n + j]) > negligible;
    }
    const auto m = static_cast<double>(count), a = static_cast<double>(A);
    if (dense_fits && a * a * (m + 9 * a) <= m * m * (2 * a + 19 * m)) return false;
    const std::int64_t bytes = pair_step_memory(count, A, run.n_threads());
    if (dense_fits && !run.allows(bytes)) return false;
    run.require_memory(bytes,
                       "IMMIGRATE on " + std::to_string(A) + " features and " + std::to_string(count) +
                           " pairs of samples with a weight",
                       "give fewer features (those that IM4E keeps), a larger negligible or a smaller sigma, or raise "
                       "max_memory (or FASTFS_MAX_MEMORY)");
    pairs.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = i + 1; j < n; ++j) {
            if (std::abs(g[i * n + j]) > negligible) pairs.push_back({i, j, g[i * n + j]});
        }
    }
    return true;
}

// What the last weights are told by: factors with signs fixed, W unless it would have to be made of more features than
// pairs, and the scores.
void finish(Weights& weights, bool only_factors, double cut, const Margin& margin, Immigrate& result, Run& run) {
    const std::int64_t n = weights.n;
    if (!only_factors) {
        Buffer<double>& W = weights.W;
        if (W.size() == 0 && weights.diagonal.empty()) {
            W = dense(n, weights.rank(), weights.values.data(), weights.vectors.data(), run);
        } else {
            if (W.size() == 0) {
                run.require_memory(dense_step_memory(n), "a W of " + std::to_string(n) + " features", kAdvice);
                W = Buffer<double>(n * n);
                std::fill_n(W.data(), n * n, 0.0);
                for (std::int64_t a = 0; a < n; ++a) W[a * n + a] = weights.diagonal[static_cast<std::size_t>(a)];
            }
            Buffer<double> copy(n * n);
            std::copy_n(W.data(), n * n, copy.data());
            factorise(weights, std::move(copy), cut, run);
        }
        result.W.assign(W.data(), W.data() + n * n);
    }
    result.scores.assign(static_cast<std::size_t>(margin.X().n_cols()), 0.0);
    for (std::int64_t k = 0; k < weights.rank(); ++k) {
        double* v = weights.vectors.data() + k * n;
        fix_sign(n, v);
        const double value = weights.values[static_cast<std::size_t>(k)];
        for (std::int64_t a = 0; a < n; ++a) {
            result.scores[static_cast<std::size_t>(result.features[static_cast<std::size_t>(a)])] +=
                value * v[a] * (value * v[a]);
        }
    }
    result.values = std::move(weights.values);
    result.vectors.assign(weights.vectors.data(),
                          weights.vectors.data() + static_cast<std::int64_t>(result.values.size()) * n);
}

template <class T>
Immigrate fit_immigrate(const Margin& margin, const Classes& classes, const fastfs_immigrate_options& options,
                        Run& run) {
    Immigrate result;
    run.step("distances", 0.01);
    fastfs_immigrate_options start = options;
    if (run.is_question()) start.start_matrix = nullptr;  // whose checks need as much as a step
    Weights weights = first_weights(margin, start, result.features, run);
    const ScaledFeatures features = some_features(margin.X(), margin, result.features);
    const std::int64_t n = features.n_samples(), A = features.n_features();
    const double cut = sizeof(T) == 4 ? 1e-6 : 1e-13;
    const double smallest =
        options.smallest == double{FASTFS_SMALLEST_AUTO} ? 1 / static_cast<double>(A) : options.smallest;
    const bool whole = options.clip || smallest > 0;  // W has to be had entry by entry
    const std::int64_t packed = PackedSamples<T>::memory(n, A) + 32 * margin.X().n_cols();
    const std::int64_t by_features = packed + dense_step_memory(A) + forms_memory(A, run.n_threads());
    if (whole && !run.is_question()) {
        run.require_memory(by_features, "a W of " + std::to_string(A) + " features",
                           "leave clip and smallest out, so that it can be kept in factors, or give fewer features");
    }
    // Without room for A x A, steps are in the space of pairs, which needs f whole.
    const bool dense_fits = run.allows(8 * std::min(kTaskRows, n) * n + by_features);
    const bool only_pairs = !whole && !dense_fits && A > n && run.allows(stored_distances_memory(n) + packed);
    Blocks blocks(n, 8, only_pairs ? packed : by_features, "IMMIGRATE", run);
    const PackedSamples<T> samples(features, run);
    const double negligible = std::max(options.negligible, kRounding<T> / static_cast<double>(n));
    double* f = blocks.f.data();

    QuadraticForm<T> form;
    auto distances = [&](std::int64_t i0, std::int64_t i1) {
        if (weights.diagonal.empty()) {
            quadratic_forms(samples, i0, i1, samples, blocks.stored, form, f, n, run);
            return;
        }
        const double* kept = margin.kept(Difference::kSquared);
        if (kept && !options.start && A == margin.features().n_features()) {
            std::transform(kept + i0 * n, kept + i1 * n, f, [&](double d) { return d * weights.diagonal[0]; });
            return;
        }
        const ScaledFeatures seen = weighted(features, weights.diagonal.data(), true);
        pair_sums<T>(seen, i0, i1, seen, 0, n, Difference::kSquared, f, n, run);
    };
    if (weights.W.size()) form = QuadraticForm<T>(A, weights.W.data());
    result.sigma = softmax_scale(options.sigma, options.sigma_rule, kImmigrateSigma, classes, blocks, run, distances);
    result.warnings = classes.warnings() | (margin.is_uneven() ? FASTFS_MARGIN_UNEVEN : 0);
    result.stored = blocks.stored;

    bool in_pairs = false, only_factors = false;  // the step's space; what the last weights found stand in
    Buffer<double> Sigma, room;
    std::vector<Pair> pairs;
    while (static_cast<std::int32_t>(result.cost.size()) < options.max_iter && !result.converged) {
        run.step("IMMIGRATE", static_cast<double>(result.cost.size() + 1) / options.max_iter);
        Totals totals;
        const bool made = result.cost.empty() && blocks.stored && options.sigma_rule != FASTFS_MARGIN_SIGMA_GIVEN;
        pairs.clear();
        in_pairs = false;
        blocks.for_each(n, run, [&](std::int64_t i0, std::int64_t i1) {
            if (!made) {
                const Run::Part first(run, 0, 0.5);
                distances(i0, i1);
            }
            const Run::Part second(run, 0.5, 1);
            soften(classes, i0, i1, result.sigma, nullptr, 0, f, totals, run);
            if (blocks.stored) {
                fold(n, f, n, run);
                if (!whole) in_pairs = choose_pairs(f, n, negligible, A, dense_fits, pairs, run);
                if (in_pairs) return;
            }
            if (Sigma.size() == 0) Sigma = Buffer<double>(A * A);
            if (i0 == 0) std::fill_n(Sigma.data(), A * A, 0.0);
            // By blocks a pair comes from both sides, with half of its weight or so.
            outer_sums(samples, i0, i1, samples, f, n, blocks.stored, blocks.stored ? negligible : negligible / 2,
                       Sigma.data(), run);
        });
        double trace = 0;
        bool found = false;
        if (in_pairs) {
            found = step_of_pairs(samples, pairs, cut, weights, trace, run);
        } else {
            Buffer<double> copy;
            if (whole) {
                mirror_lower(A, Sigma.data());
                copy = Buffer<double>(A * A);
                std::copy_n(Sigma.data(), A * A, copy.data());
            }
            SymmetricEigen eigen(A, Sigma.data(), run, std::move(room));
            std::vector<double> eta;
            found = negative_part(eigen.values(), whole ? 0 : cut, eta, trace);
            if (found) {
                eigen.make_vectors(0, static_cast<std::int64_t>(eta.size()), run);
                weights.values = std::move(eta);
                room = std::move(weights.vectors);
                weights.vectors = eigen.take_vectors();
                if (whole) {
                    weights.W = dense(A, weights.rank(), weights.values.data(), weights.vectors.data(), run);
                    cut_entries(weights.W, A, options.clip, smallest);
                    trace = std::inner_product(copy.data(), copy.data() + A * A, weights.W.data(), 0.0);
                }
            }
        }
        if (!found) {
            result.warnings |= FASTFS_MARGIN_NO_WEIGHT;
            break;
        }
        weights.diagonal.clear();
        if (!whole) weights.W = {};
        only_factors = in_pairs;
        result.objective.push_back(totals.objective);
        result.cost.push_back(trace + result.sigma * totals.entropy);
        require_finite(result.cost.back());
        result.converged = settled(result.cost, options.tol);
        form = whole ? QuadraticForm<T>(A, weights.W.data())
                     : form_of<T>(A, weights.rank(), weights.values.data(), weights.vectors.data(), run);
    }
    finish(weights, only_factors, cut, margin, result, run);
    return result;
}

// ---- IM4E as a filter before it -------------------------------------------------------------------------------------

// FASTFS_PREFILTER_AUTO runs IM4E on more features than this, and keeps as many at most: the time of a fit grows with
// their square. IM4E's threshold keeps 4731 of 20,000 random features of 200 samples, for which a fit took 180 s of one
// Zen 4 core; for 1000 it took 4 s.
constexpr std::int64_t kPrefilterAbove = 1000;

// The number of features to keep at most, or 0 for no filter.
std::int64_t filtered_features(const Margin& margin, const fastfs_immigrate_options& options) {
    const std::int64_t n = margin.features().n_features();
    if (options.prefilter == FASTFS_PREFILTER_IM4E) return n;
    const bool has_start = options.features || options.start || options.start_matrix;
    return options.prefilter == FASTFS_PREFILTER_AUTO && n > kPrefilterAbove && !has_start ? kPrefilterAbove : 0;
}

// IMMIGRATE of the features that IM4E gives the mean weight or more, the `most` of largest weight.
template <class T>
Immigrate fit_filtered(const Margin& margin, const Classes& classes, const fastfs_immigrate_options& options,
                       std::int64_t most, Run& run) {
    fastfs_im4e_options filter = FASTFS_IM4E_OPTIONS_INIT;
    filter.sigma = options.sigma;
    filter.sigma_rule = options.sigma_rule;
    filter.max_iter = options.max_iter;
    filter.tol = options.tol;
    std::vector<double> weights(static_cast<std::size_t>(margin.X().n_cols()));
    fastfs_im4e_result found = FASTFS_IM4E_RESULT_INIT;
    found.weights = weights.data();
    const auto weight = [&](std::int64_t a) { return weights[static_cast<std::size_t>(a)]; };
    auto features = margin.features().features;
    const double mean = 1 / static_cast<double>(features.size());
    try {
        fit_im4e<T>(margin, classes, filter, run, found);
    } catch (const Answered&) {  // then IMMIGRATE's answer comes next, of as many features as there may be
        for (const auto a : features) weights[static_cast<std::size_t>(a)] = mean;
    }

    // Equal weights must not fail to reach their own mean by rounding.
    std::erase_if(features, [&](auto a) { return !(weight(a) >= (1 - 1e-12) * mean); });
    std::stable_sort(features.begin(), features.end(), [&](auto a, auto b) { return weight(a) > weight(b); });
    if (static_cast<std::int64_t>(features.size()) > most) features.resize(static_cast<std::size_t>(most));
    std::sort(features.begin(), features.end());
    std::vector<double> start;
    for (const auto a : features) start.push_back(weight(a));

    fastfs_immigrate_options of_kept = options;
    of_kept.features = features.data();
    of_kept.n_features = static_cast<std::int64_t>(features.size());
    of_kept.start = start.data();
    Immigrate result = fit_immigrate<T>(margin, classes, of_kept, run);
    result.warnings |= found.warnings;
    result.prefilter_weights = std::move(weights);
    return result;
}

// ---- prediction ----------------------------------------------------------------------------------------------------

// A metric between the samples of X and those of training.
template <class T>
class Distances {
  public:
    Distances(const Margin& margin, const fastfs_margin_metric& metric, const Matrix& X, Run& run) : metric_(metric) {
        std::vector<std::int64_t> used(static_cast<std::size_t>(metric.n_features));
        std::iota(used.begin(), used.end(), 0);
        if (metric.features) std::copy_n(metric.features, metric.n_features, used.begin());
        left_ = some_features(X, margin, used);
        right_ = some_features(margin.X(), margin, used);
        if (metric.weights) {
            seen_left_ = weighted(left_, metric.weights, false);
            seen_right_ = weighted(right_, metric.weights, false);
            return;
        }
        const std::int64_t A = metric.n_features;
        run.require_memory(PackedSamples<T>::memory(X.n_rows(), A) + PackedSamples<T>::memory(margin.X().n_rows(), A) +
                               8 * A * (metric.rank + kFormRows),
                           "a comparison of samples under W", kAdvice);
        packed_left_.emplace(left_, run);
        packed_right_.emplace(right_, run);
        form_.emplace(form_of<T>(A, metric.rank, metric.values, metric.vectors, run));
    }

    // f (rows i0..i1 of X x training samples)
    void fill(std::int64_t i0, std::int64_t i1, double* f, Run& run) const {
        const std::int64_t n = right_.n_samples();
        if (metric_.weights) {
            pair_sums<T>(seen_left_, i0, i1, seen_right_, 0, n, Difference::kAbsolute, f, n, run);
        } else {
            quadratic_forms(*packed_left_, i0, i1, *packed_right_, false, *form_, f, n, run);
        }
        for (std::int64_t k = 0; k < (i1 - i0) * n; ++k) {
            if (std::isfinite(f[k])) continue;
            throw InvalidArgument("row " + std::to_string(i0 + k / n) +
                                  " of X lies so far from the training samples that its distances overflow");
        }
    }

    // Before the first split.
    void pack(Run& run) {
        if (!metric_.weights) return;
        ld_ = (metric_.n_features + kRowUnit<T> - 1) / kRowUnit<T> * kRowUnit<T>;
        rows_left_ = pack_samples<T>(left_, 0, left_.n_samples(), ld_, run);
        rows_right_ = pack_samples<T>(right_, 0, right_.n_samples(), ld_, run);
    }

    // to = the parts that features, or pairs of them, have in sum_n q_n f_n of row i.
    void split(std::int64_t i, const double* q, double* to, Run& run) const {
        const std::int64_t n = right_.n_samples(), A = metric_.n_features;
        if (metric_.weights) {
            std::fill_n(to, A, 0.0);
            const T* x = rows_left_.data() + i * ld_;
            for (std::int64_t j = 0; j < n; ++j) {
                const T* y = rows_right_.data() + j * ld_;
                if (q[j] == 0) continue;
                for (std::int64_t a = 0; a < A; ++a) to[a] += q[j] * static_cast<double>(std::abs(x[a] - y[a]));
            }
            for (std::int64_t a = 0; a < A; ++a) to[a] *= metric_.weights[a];
            return;
        }
        std::fill_n(to, A * A, 0.0);
        outer_sums(*packed_left_, i, i + 1, *packed_right_, q, n, false, 0, to, run);
        mirror_lower(A, to);
    }

  private:
    fastfs_margin_metric metric_;
    ScaledFeatures left_, right_, seen_left_, seen_right_;
    Buffer<T> rows_left_, rows_right_;  // all features, where w explains
    std::int64_t ld_ = 0;
    std::optional<PackedSamples<T>> packed_left_, packed_right_;
    std::optional<QuadraticForm<T>> form_;
};

// Calls body(row, f, expected) for each row of X: f becomes the softmax over each class by itself, expected the mean of
// f under it. n_classes values each row.
template <class T, class F>
void for_rows(const Distances<T>& distances, const Classes& classes, double sigma, std::int64_t n_rows, Run& run,
              F&& body) {
    const std::int64_t n = classes.n_samples();
    const std::int64_t rows = std::min(std::max(kBlockBytes / (8 * n) / kTaskRows * kTaskRows, kTaskRows), n_rows);
    run.require_memory(8 * n * (rows + 2 * run.n_threads()),
                       "a table of distances to " + std::to_string(n) + " samples", kAdvice);
    Buffer<double> f(std::min(rows, n_rows) * n);
    std::vector<Buffer<double>> scratch;
    for (int t = 0; t < run.n_threads(); ++t) scratch.emplace_back(2 * n + classes.n_classes());
    for (std::int64_t i0 = 0; i0 < n_rows; i0 += rows) {
        const std::int64_t i1 = std::min(i0 + rows, n_rows);
        run.step("distances", static_cast<double>(i1) / static_cast<double>(n_rows));
        distances.fill(i0, i1, f.data(), run);
        parallel_for(run, i1 - i0, [&](std::int64_t i, int slot) {
            double *row = f.data() + i * n, *p = scratch[static_cast<std::size_t>(slot)].data(), *expected = p + 2 * n;
            for (std::int64_t k = 0; k < n; ++k) p[k] = row[classes.order[static_cast<std::size_t>(k)]];
            for (std::int64_t c = 0; c < classes.n_classes(); ++c) {
                expected[c] =
                    softmax(p + classes.begin[static_cast<std::size_t>(c)], classes.size(c), sigma, p + n).mean;
            }
            for (std::int64_t k = 0; k < n; ++k) row[classes.order[static_cast<std::size_t>(k)]] = p[k];
            body(i0 + i, row, expected);
        });
    }
}

// Answers a question about margin_distances, or margin_explain (parts), with so many outputs.
void answer_comparison(const Margin& margin, const fastfs_margin_metric& metric, const Matrix& X, bool parts,
                       std::int64_t n_outputs, const Run& run) {
    if (!run.is_question()) return;
    const std::int64_t n = margin.X().n_rows(), both = n + X.n_rows(), A = metric.n_features;
    std::int64_t bytes = 8 * n_outputs + 8 * n * (std::max(kBlockBytes / (8 * n), kTaskRows) + 2 * run.n_threads());
    bytes += metric.weights ? stored_distances_memory(1) : 8 * A * (metric.rank + kFormRows) + 8 * 3 * A * A;
    if (parts || !metric.weights) bytes += 8 * (A + 16) * both;
    if (parts && !metric.weights) bytes += 8 * A * (A + metric.rank) + run.n_threads() * forms_memory(A, 1);
    run.require_memory(bytes, "a comparison of samples", kAdvice);
}

}  // namespace

void im4e(const Margin& margin, const std::int64_t* labels, std::int64_t n_classes, const fastfs_im4e_options& options,
          Run& run, fastfs_im4e_result& result) {
    const Classes classes(labels, margin.X().n_rows(), n_classes);
    if (margin.X().is_float32()) {
        fit_im4e<float>(margin, classes, options, run, result);
    } else {
        fit_im4e<double>(margin, classes, options, run, result);
    }
}

Immigrate immigrate(const Margin& margin, const std::int64_t* labels, std::int64_t n_classes,
                    const fastfs_immigrate_options& options, Run& run) {
    const SingleThreadedBlas held;
    const Classes classes(labels, margin.X().n_rows(), n_classes);
    const std::int64_t most = filtered_features(margin, options);
    return visit_dense(margin.X().description(), [&]<class T>(const T*) {
        return most ? fit_filtered<T>(margin, classes, options, most, run)
                    : fit_immigrate<T>(margin, classes, options, run);
    });
}

void margin_distances(const Margin& margin, const std::int64_t* labels, std::int64_t n_classes,
                      const fastfs_margin_metric& metric, const Matrix& X, Run& run, double* out) {
    answer_comparison(margin, metric, X, false, X.n_rows() * n_classes, run);
    const SingleThreadedBlas held;
    const Classes classes(labels, margin.X().n_rows(), n_classes);
    const auto predict = [&](auto zero) {
        const Distances<decltype(zero)> distances(margin, metric, X, run);
        for_rows(distances, classes, metric.sigma, X.n_rows(), run,
                 [&](std::int64_t i, const double*, const double* expected) {
                     std::copy_n(expected, n_classes, out + i * n_classes);
                 });
    };
    X.is_float32() ? predict(0.0f) : predict(0.0);
}

void margin_explain(const Margin& margin, const std::int64_t* labels, std::int64_t n_classes,
                    const fastfs_margin_metric& metric, const Matrix& X, const std::int64_t* wanted, Run& run,
                    double* out) {
    const std::int64_t A = metric.n_features;
    answer_comparison(margin, metric, X, true, X.n_rows() * A * (metric.weights ? 1 : A), run);
    const SingleThreadedBlas held;
    const Classes classes(labels, margin.X().n_rows(), n_classes);
    Buffer<double> W;
    if (!metric.weights) {
        run.require_memory(8 * A * (A + metric.rank) + run.n_threads() * forms_memory(A, 1),
                           "an explanation by pairs of " + std::to_string(A) + " features", kAdvice);
        W = dense(A, metric.rank, metric.values, metric.vectors, run);
    }
    const auto explain = [&](auto zero) {
        Distances<decltype(zero)> distances(margin, metric, X, run);
        distances.pack(run);
        for_rows(distances, classes, metric.sigma, X.n_rows(), run,
                 [&](std::int64_t i, double* q, const double* expected) {
                     const std::int64_t mine = wanted[i];
                     std::int64_t other = mine == 0;
                     for (std::int64_t c = 0; c < n_classes; ++c) {
                         if (c != mine && expected[c] < expected[other]) other = c;
                     }
                     for (std::int64_t j = 0; j < classes.n_samples(); ++j) {
                         const std::int64_t c = classes.of(j);
                         q[j] *= c == other ? 1 : c == mine ? -1 : 0;
                     }
                     double* parts = out + i * (metric.weights ? A : A * A);
                     distances.split(i, q, parts, run);
                     for (std::int64_t k = 0; k < W.size(); ++k) parts[k] *= W[k];
                 });
    };
    X.is_float32() ? explain(0.0f) : explain(0.0);
}

std::int64_t immigrate_pairs(std::int64_t n_features, std::int64_t rank, const double* values, const double* vectors,
                             bool without_leading, std::int64_t n_pairs, Run& run, std::int64_t* a, std::int64_t* b,
                             double* weights) {
    const SingleThreadedBlas held;
    const std::int64_t n = n_features, wanted = std::min(n_pairs, n * (n - 1) / 2);
    const std::int64_t leading =
        std::max_element(values, values + rank, [](double x, double y) { return std::abs(x) < std::abs(y); }) - values;
    struct Entry {
        double w;
        std::int64_t a, b;
    };
    const auto before = [](const Entry& x, const Entry& y) {
        const double wx = std::abs(x.w), wy = std::abs(y.w);
        return wx != wy ? wx > wy : x.a != y.a ? x.a < y.a : x.b < y.b;
    };
    // The order is total, so that it doesn't matter which tile comes first.
    std::vector<Entry> best;
    std::mutex mutex;
    const std::int64_t tiles = (n + kPairTile - 1) / kPairTile;
    run.require_memory(
        run.n_threads() * (8 * kPairTile * (kPairTile + rank) + 24 * (wanted + kPairTile * kPairTile)) + 48 * wanted,
        "a list of the largest " + std::to_string(wanted) + " pairs of features",
        "ask for fewer, or raise max_memory (or FASTFS_MAX_MEMORY)");
    if (wanted == 0) return 0;
    run.step("pairs", 1.0);
    parallel_for(run, tiles * (tiles + 1) / 2, [&](std::int64_t task, int) {
        std::int64_t ta = 0, tb = task;
        while (tb >= tiles - ta) tb -= tiles - ta++;
        tb += ta;
        const std::int64_t a0 = ta * kPairTile, rows = std::min(kPairTile, n - a0), b0 = tb * kPairTile,
                           cols = std::min(kPairTile, n - b0);
        Buffer<double> W(rows * cols), left(rank * rows);
        for (std::int64_t k = 0; k < rank; ++k) {
            const double value = without_leading && k == leading ? 0 : values[k];
            for (std::int64_t r = 0; r < rows; ++r) left[k * rows + r] = value * vectors[k * n + a0 + r];
        }
        gemm('N', 'T', cols, rows, rank, 1.0, vectors + b0, n, left.data(), rows, 0.0, W.data(), cols);
        std::vector<Entry> found;
        {
            std::lock_guard lock(mutex);
            if (static_cast<std::int64_t>(best.size()) == wanted) found.push_back(best.back());
        }
        const double least = found.empty() ? 0 : std::abs(found.back().w);
        found.clear();
        for (std::int64_t r = 0; r < rows; ++r) {
            for (std::int64_t c = std::max<std::int64_t>(0, a0 + r + 1 - b0); c < cols; ++c) {
                if (std::abs(W[r * cols + c]) >= least) found.push_back({W[r * cols + c], a0 + r, b0 + c});
            }
        }
        std::lock_guard lock(mutex);
        best.insert(best.end(), found.begin(), found.end());
        const auto kept = best.begin() + std::min<std::ptrdiff_t>(wanted, static_cast<std::ptrdiff_t>(best.size()));
        std::partial_sort(best.begin(), kept, best.end(), before);
        best.erase(kept, best.end());
    });
    for (std::size_t k = 0; k < best.size(); ++k) {
        a[k] = best[k].a;
        b[k] = best[k].b;
        weights[k] = best[k].w;
    }
    return static_cast<std::int64_t>(best.size());
}

}  // namespace fastfs::core
