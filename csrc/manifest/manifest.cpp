#include "manifest/manifest.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "engines/affinity.hpp"
#include "engines/isa/tiles.hpp"
#include "manifest/low_rank.hpp"
#include "engines/spectral.hpp"
#include "support/errors.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"
#include "support/random.hpp"

namespace fastfs::core {
namespace {

// d x d matrices hold one triangle: the upper one row by row, which LAPACK reads as the lower one column by column.

// One of the two kernels of a problem.
struct Side {
    std::int64_t index;  // among the kernels of the fit
    std::string name;    // for messages: "class 3", "all classes but 3"
    std::vector<std::int64_t> rows;
};

using Problem = std::array<Side, 2>;

// What comes out of a problem at one scale.
struct Outcome {
    std::vector<double> scores;
    double sigma[2] = {};
    double kept_trace[2] = {1, 1};
    std::int32_t kernel_warnings[2] = {};
    std::int64_t rank = 0;
    double steepest = 0;  // the largest |nu| that the difference has a weight at
    double agreement = 1;
    std::int32_t warnings = 0;
    std::int64_t n_components = 0;
    double *mean_values = nullptr, *mean_vectors = nullptr, *difference_values = nullptr, *difference_vectors = nullptr;
};

// A part of the call that counts its own shares from 0 to 1.
class Part {
  public:
    Part(Run& run, double begin, double end) : run_(run), begin_(begin), end_(end) {}
    void step(const char* name, double end) const { run_.step(name, begin_ + (end_ - begin_) * end); }
    Part within(double begin, double end) const {
        return Part(run_, begin_ + (end_ - begin_) * begin, begin_ + (end_ - begin_) * end);
    }
    Run& run() const { return run_; }

  private:
    Run& run_;
    double begin_, end_;
};

// Calls f(value) for the entries above the diagonal.
template <class F>
void for_pairs(const double* D2, std::int64_t d, Run& run, F&& f) {
    for (std::int64_t i = 0; i < d; ++i) {
        if (i % 256 == 0) run.checkpoint();
        for (std::int64_t j = i + 1; j < d; ++j) f(D2[i * d + j]);
    }
}

// Percentile of the positive distances, or of all, by linear interpolation over ordered pairs: each of the m squared
// distances above the diagonal counts twice. The value of a rank is found 16 bits at a time, counting those that share
// the bits found so far: nothing is copied.
double percentile_distance(const double* D2, std::int64_t d, double percentile, bool positive, Run& run) {
    std::int64_t zeros = 0;
    if (positive) for_pairs(D2, d, run, [&](double d2) { zeros += d2 == 0; });
    const std::int64_t m = d * (d - 1) / 2 - zeros;
    const double t = percentile / 100 * static_cast<double>(2 * m - 1);
    const auto a = static_cast<std::int64_t>(t);
    std::int64_t rank = zeros + a / 2;
    const bool next = std::min(a + 1, 2 * m - 1) / 2 > a / 2;

    constexpr int kBits = 16;
    std::uint64_t found = 0;
    std::int64_t equal = 0;
    for (int shift = 64 - kBits; shift >= 0; shift -= kBits) {
        std::vector<std::int64_t> counts(std::size_t{1} << kBits);
        for_pairs(D2, d, run, [&](double d2) {
            const std::uint64_t bits = std::bit_cast<std::uint64_t>(d2) >> shift;
            if (bits >> kBits == found) ++counts[bits & ((1u << kBits) - 1)];
        });
        std::uint64_t bin = 0;
        for (; rank >= counts[bin]; ++bin) rank -= counts[bin];
        found = found << kBits | bin;
        equal = counts[bin];
    }
    const double value = std::bit_cast<double>(found);
    double above = value;
    if (next && rank + 1 >= equal) {
        above = std::numeric_limits<double>::infinity();
        for_pairs(D2, d, run, [&](double d2) { above = d2 > value ? std::min(above, d2) : above; });
    }
    return std::sqrt(value) + (t - static_cast<double>(a)) * (std::sqrt(above) - std::sqrt(value));
}

// sigma by a rule, in units of the distances; D2 is their upper triangle.
double choose_sigma(const double* D2, std::int64_t d, const fastfs_manifest_scale& scale, const std::string& name,
                    std::int32_t& warnings, Run& run) {
    const bool median = scale.rule == FASTFS_SIGMA_MEDIAN;
    const double percentile = median ? 50 : scale.value;
    double sigma = percentile_distance(D2, d, percentile, false, run);
    if (sigma == 0) {
        bool distinct = false;
        for_pairs(D2, d, run, [&](double d2) { distinct |= d2 > 0; });
        require(distinct, "all features have equal values in every sample of " + name +
                              ": there are no distances between features to set sigma from");
        warnings |= FASTFS_WARN_SIGMA;
        sigma = percentile_distance(D2, d, percentile, true, run);
    }
    return median ? sigma * scale.value : sigma;
}

// K <- diag(q)^(-1/2) K diag(q)^(-1/2), q = K 1, `times` over; only the diagonal factors are iterated.
void normalize(double* K, std::int64_t d, int times, Run& run) {
    std::vector<double> g(static_cast<std::size_t>(d), 1.0), Kg(static_cast<std::size_t>(d));
    for (int t = 0; t < times; ++t) {
        run.checkpoint();
        symv_lower(d, K, g.data(), Kg.data());
        for (std::size_t i = 0; i < g.size(); ++i) {
            if (!(Kg[i] > 0)) {
                throw NumericError("normalize divides by the root of a kernel's row sums, but that of feature " +
                                   std::to_string(i) + " isn't positive: set normalize=0, or choose another kernel");
            }
            g[i] /= std::sqrt(g[i] * Kg[i]);
        }
    }
    for (std::int64_t i = 0; i < d; ++i) {
        for (std::int64_t j = i; j < d; ++j)
            K[i * d + j] *= g[static_cast<std::size_t>(i)] * g[static_cast<std::size_t>(j)];
    }
}

// rest = all - part, upper triangles; what is no more than their rounding is 0, as between equal columns: 64 eps of the
// squared norms, which are up to 256 times the distance where a Gram was good enough (kFewDigits of affinity.cpp).
// False if some distance over all rows is so large beside those of the rest that too many of their digits are gone.
bool subtract_distances(const double* all, const double* part, std::int64_t d, Run& run, double* rest) {
    constexpr double kRounding = 256 * 64 * std::numeric_limits<double>::epsilon(), kLostBits = 256;
    std::vector<double> largest(static_cast<std::size_t>(d), 0.0), sum(static_cast<std::size_t>(d), 0.0);
    parallel_for(run, d, [&](std::int64_t i, int) {
        const auto row = static_cast<std::size_t>(i);
        for (std::int64_t e = i * d + i; e < (i + 1) * d; ++e) {
            const double difference = all[e] - part[e];
            rest[e] = difference <= kRounding * all[e] ? 0 : difference;
            largest[row] = std::max(largest[row], all[e]);
            sum[row] += rest[e];
        }
    });
    const double mean = 2 * std::accumulate(sum.begin(), sum.end(), 0.0) / static_cast<double>(d * (d - 1));
    return *std::max_element(largest.begin(), largest.end()) <= kLostBits * mean;
}

// (1): K of one side at one scale from its distances and norms, upper triangles; K may be D2.
void kernel(const fastfs_manifest_options& options, const double* D2, const std::vector<double>& norms, std::int64_t d,
            double unit, const Side& side, int which, const fastfs_manifest_scale& scale, Run& run, double* K,
            Outcome& outcome) {
    const double sigma = scale.rule == FASTFS_SIGMA_GIVEN
                             ? scale.sigma[side.index] / unit
                             : choose_sigma(D2, d, scale, side.name, outcome.kernel_warnings[which], run);
    // Kept finite, so that distance 0 stays affinity 1 however small sigma is.
    const double per_distance = std::min(0.5 / sigma / sigma, std::numeric_limits<double>::max());
    parallel_for(run, (d + kTile - 1) / kTile, [&](std::int64_t block, int) {
        for (std::int64_t i = block * kTile; i < std::min((block + 1) * kTile, d); ++i) {
            if (K != D2) std::copy(D2 + i * d + i, D2 + (i + 1) * d, K + i * d + i);
            if (!options.kernel) tile_kernels<double>().exp_neg(K + i * d + i, d - i, per_distance);
        }
    });
    if (options.kernel) {
        const Kernel custom{Kernel::Kind::kCustom, sigma * unit, options.kernel, options.user};
        custom_kernel_upper(custom, norms, unit, run, K);
        Buffer<double> scratch(d * d);
        require_semidefinite(d, K, scratch.data());
    }
    if (scale.normalize > 0) normalize(K, d, scale.normalize, run);
    outcome.sigma[which] = sigma * unit;
}

// With nu = 2 mu - 1, mu the eigenvalues of K1 against S = K1 + K2: the weight sqrt(mu (1 - mu)) of M, and the weight
// 1/2 sqrt(mu (1 - mu)) log(mu / (1 - mu)) of D, continued by 0 at both ends.
double mean_weight(double nu) { return 0.5 * std::sqrt((1 - nu) * (1 + nu)); }
double difference_weight(double nu) { return std::abs(nu) < 1 ? mean_weight(nu) * std::atanh(nu) : 0; }

void scale_columns(double* W, std::int64_t d, std::int64_t q, const std::vector<double>& factors) {
    for (std::int64_t j = 0; j < q; ++j) {
        for (std::int64_t i = 0; i < d; ++i) W[j * d + i] *= factors[static_cast<std::size_t>(j)];
    }
}

// (2): the leading eigenpairs of M = W diag(mean_weight(nu)) W'. W is scaled back to what it was, but for columns with
// nu = -1 or 1, which neither M nor D needs. M, spare: d x d scratch; spare comes back.
Buffer<double> mean_components(double* W, const std::vector<double>& nu, std::int64_t d, std::int64_t q, double* M,
                               Buffer<double> spare, Run& run, Outcome& outcome) {
    std::vector<double> root(nu.begin(), nu.begin() + q);
    for (double& r : root) r = std::sqrt(mean_weight(r));
    scale_columns(W, d, q, root);
    syrk(d, q, 1.0, W, 0.0, M, run);
    run.checkpoint(0.2);
    spare = largest_eigenpairs(d, M, outcome.n_components, outcome.mean_values, outcome.mean_vectors, run,
                               std::move(spare));
    for (double& r : root) r = r > 0 ? 1 / r : 0;
    scale_columns(W, d, q, root);
    return spare;
}

// Lower triangle of D = W diag(weights) W' = Wp Wp' - Wn Wn': the columns of positive and negative weight, scaled by
// the root of its magnitude. The negative ones come first; zeros may stand anywhere.
void weighted_squares(double* W, const std::vector<double>& weights, std::int64_t d, double* D, Run& run) {
    std::vector<double> roots = weights;
    for (double& w : roots) w = std::sqrt(std::abs(w));
    const auto q = static_cast<std::int64_t>(weights.size());
    scale_columns(W, d, q, roots);
    std::int64_t negative = q;
    while (negative > 0 && weights[static_cast<std::size_t>(negative - 1)] >= 0) --negative;
    syrk(d, negative, -1.0, W, 0.0, D, run);
    syrk(d, q - negative, 1.0, W + negative * d, 1.0, D, run);
}

// (3): D = W diag(difference_weight(nu)) W'.
void difference(double* W, const std::vector<double>& nu, std::int64_t d, std::int64_t q, double* D, Run& run) {
    std::vector<double> weights(nu.begin(), nu.begin() + q);
    for (double& w : weights) w = difference_weight(w);
    weighted_squares(W, weights, d, D, run);
}

// The leading eigenpairs of D by magnitude; vector(i) belongs to lam[i]. lam ascends: the largest |lam| is always at
// one of the ends that are left. Where there are fewer than asked for, the rest is 0.
template <class F>
void difference_components(const std::vector<double>& lam, F&& vector, std::int64_t d, Outcome& outcome) {
    std::fill_n(outcome.difference_values, outcome.n_components, 0.0);
    std::fill_n(outcome.difference_vectors, outcome.n_components * d, 0.0);
    std::int64_t first = 0, last = static_cast<std::int64_t>(lam.size()) - 1;
    for (std::int64_t c = 0; c < outcome.n_components && first <= last; ++c) {
        const bool from_below = -lam[static_cast<std::size_t>(first)] > lam[static_cast<std::size_t>(last)];
        const std::int64_t i = from_below ? first++ : last--;
        outcome.difference_values[c] = lam[static_cast<std::size_t>(i)];
        std::copy(vector(i), vector(i) + d, outcome.difference_vectors + c * d);
        fix_sign(d, outcome.difference_vectors + c * d);
    }
}

// (4): r = diag |D|, from the eigenpairs (lam, P) of D. With D = D+ - D-, |D| = 2 D+ - D = 2 D- + D: the eigenvectors
// of one sign will do, and those of the rarer one are completed; besides, the k eigenpairs of largest |lam| on request.
// spare: d x d, for the eigenvectors.
void scores(std::int64_t d, double* D, Buffer<double> spare, Run& run, Outcome& outcome) {
    const std::int64_t k = outcome.n_components;
    std::vector<double> diagonal(static_cast<std::size_t>(d));
    for (std::int64_t j = 0; j < d; ++j) diagonal[static_cast<std::size_t>(j)] = D[j * d + j];
    SymmetricEigen eigen(d, D, run, std::move(spare));
    const std::vector<double>& lam = eigen.values();
    const std::int64_t negative = std::lower_bound(lam.begin(), lam.end(), 0.0) - lam.begin();
    const bool use_positive = 2 * negative >= d;
    const std::int64_t low = std::max(use_positive ? 0 : negative, std::min(k, d)),
                       high = std::max(low, std::min(use_positive ? negative : d, d - k));
    eigen.make_vectors(0, low, run);
    eigen.make_vectors(high, d, run);

    double* r = outcome.scores.data();
    for (std::int64_t j = 0; j < d; ++j)
        r[j] = use_positive ? -diagonal[static_cast<std::size_t>(j)] : diagonal[static_cast<std::size_t>(j)];
    for (std::int64_t i = use_positive ? negative : 0; i < (use_positive ? d : negative); ++i) {
        const double weight = 2 * std::abs(lam[static_cast<std::size_t>(i)]);
        const double* P = eigen.vector(i);
        for (std::int64_t j = 0; j < d; ++j) r[j] += weight * P[j] * P[j];
    }
    for (std::int64_t j = 0; j < d; ++j) r[j] = std::max(r[j], 0.0);

    difference_components(lam, [&](std::int64_t i) { return eigen.vector(i); }, d, outcome);
}

// Scores that don't exceed what rounding errors make of the weights say nothing: those of the kernels' entries, if they
// are of single precision, and those of nu, which count for little where the kernels agree, and for far more where one
// of them is all but singular, since the weight's slope is infinite at both ends. n: rows of the pencil; diagonal, eps:
// the size of the kernels' entries, and their relative rounding error.
void check_contrast(std::int64_t n, double diagonal, double eps, Outcome& outcome) {
    const double largest = *std::max_element(outcome.scores.begin(), outcome.scores.end());
    if (!std::isfinite(largest)) {
        throw NumericError(
            "ManiFeSt met a value that isn't finite, as very large values of a kernel make it: scale them");
    }
    const double rounding = nu_rounding(n), nu = outcome.steepest;
    const double at_the_end = difference_weight(nu - rounding) - difference_weight(nu + rounding);
    if (largest <= diagonal * std::max({static_cast<double>(n) * eps, rounding, at_the_end})) {
        outcome.warnings |= FASTFS_WARN_NO_CONTRAST;
    }
}

// The largest |nu| of a pencil with n rows: 1 where it is cut, at eigenvalues that are rounding.
double steepest(const std::vector<double>& nu, std::int64_t n) {
    return static_cast<std::int64_t>(nu.size()) < n ? 1 : std::max(-nu.front(), nu.back());
}

// K1 and K2 (in S) are consumed.
void pencil_form(std::int64_t d, Buffer<double> K1, Buffer<double> S, const Part& part, Outcome& outcome) {
    Run& run = part.run();
    parallel_for(run, d, [&](std::int64_t i, int) {  // K1, K2 -> K1 - K2, S = K1 + K2
        for (std::int64_t j = i; j < d; ++j) {
            const double k1 = K1[i * d + j], k2 = S[i * d + j];
            K1[i * d + j] = k1 - k2;
            S[i * d + j] = k1 + k2;
        }
    });
    // Shares of the whole as measured at d = 2000.
    part.step("pencil of the class kernels", 0.55);
    Pencil classes = pencil(d, K1.data(), S, run);
    const auto q = static_cast<std::int64_t>(classes.nu.size());
    outcome.rank = q;
    outcome.steepest = steepest(classes.nu, d);

    if (outcome.n_components > 0) {
        part.step("components of the mean", 0.6);
        K1 = mean_components(classes.W.data(), classes.nu, d, q, S.data(), std::move(K1), run, outcome);
    }

    part.step("difference operator", 0.65);
    difference(classes.W.data(), classes.nu, d, q, S.data(), run);
    classes.W = Buffer<double>();

    part.step("eigenvectors of the difference", 1.0);
    scores(d, S.data(), std::move(K1), run, outcome);
}

// ---- forms of the paper, as the authors' program has them -----------------------------------------------------------

struct Eigenpairs {
    std::vector<double> w;  // ascending
    Buffer<double> V;
};

Eigenpairs eigenpairs(std::int64_t n, double* A, Buffer<double> room, Run& run) {
    SymmetricEigen eigen(n, A, run, std::move(room));
    eigen.make_vectors(0, n, run);
    return {eigen.values(), eigen.take_vectors()};
}

template <class F>
std::vector<double> map(std::vector<double> values, F&& f) {
    for (double& value : values) value = f(value);
    return values;
}

double root(double x) { return std::sqrt(x); }
double inverse_root(double x) { return 1 / std::sqrt(x); }
double fourth_root(double x) { return std::sqrt(std::sqrt(std::max(x, 0.0))); }

// log e, with what lies below the rounding of the largest e raised to that: the threshold of the public program.
std::vector<double> clipped_log(const std::vector<double>& e) {
    const double least = e.back() * static_cast<double>(e.size()) * std::numeric_limits<double>::epsilon();
    return map(e, [&](double x) { return std::log(std::max(x, least)); });
}

// The same for the two forms of the paper, where log e = 1/2 log(mu / (1 - mu)) = atanh(nu).
double steepest_of_logs(const std::vector<double>& logs, std::int64_t d) {
    return static_cast<std::int64_t>(logs.size()) < d ? 1 : std::tanh(std::max(-logs.front(), logs.back()));
}

void scale_rows(double* A, std::int64_t n, const std::vector<double>& factors) {
    const auto m = static_cast<std::int64_t>(factors.size());
    for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i < m; ++i) A[j * m + i] *= factors[static_cast<std::size_t>(i)];
    }
}

void transpose(double* A, std::int64_t n) {
    for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i < j; ++i) std::swap(A[j * n + i], A[i * n + j]);
    }
}

// The leading eigenpairs of M; w ascends, V holds its vectors. Where there are fewer than asked for, the rest is 0.
void mean_components(const std::vector<double>& w, const double* V, std::int64_t d, Outcome& outcome) {
    const auto n = static_cast<std::int64_t>(w.size());
    for (std::int64_t c = 0; c < outcome.n_components; ++c) {
        double* vector = outcome.mean_vectors + c * d;
        outcome.mean_values[c] = c < n ? w[static_cast<std::size_t>(n - 1 - c)] : 0;
        if (c < n) {
            std::copy(V + (n - 1 - c) * d, V + (n - c) * d, vector);
        } else {
            std::fill_n(vector, d, 0.0);
        }
        fix_sign(d, vector);
    }
}

// The eigenvalues above the rounding of the largest.
std::int64_t numerical_rank(const std::vector<double>& w, std::int64_t d) {
    const double cut = w.back() * static_cast<double>(d) * std::numeric_limits<double>::epsilon();
    return w.end() - std::upper_bound(w.begin(), w.end(), std::max(cut, 0.0));
}

// Of the inverse of a singular kernel the public program makes NaN, or noise.
void require_invertible(const std::vector<double>& w, const std::string& what) {
    const auto d = static_cast<std::int64_t>(w.size());
    if (numerical_rank(w, d) == d) return;
    throw NumericError("form=\"spd\" needs the inverse of " + what +
                       ", which is singular to rounding (eigenvalues from " + text(w.front()) + " to " +
                       text(w.back()) + "): use form=\"pencil\", which inverts no kernel");
}

// For P = V diag(w) V' and Q (lower triangle): e, ascending, and B, in the place of Q, with P = B B', Q = B diag(e) B'.
// They hold the eigenvalues e of P^(-1/2) Q P^(-1/2), in whose basis (2) and (3) act on each e alone. V and T, a
// scratch, are destroyed.
std::vector<double> relate(std::int64_t d, const std::vector<double>& w, double* V, double* Q, Buffer<double>& T,
                           Run& run) {
    scale_columns(V, d, d, map(w, inverse_root));
    mirror_lower(d, Q);
    multiply('N', d, d, d, Q, d, V, d, T.data(), d, run);
    multiply('T', d, d, d, V, d, T.data(), d, Q, d, run);
    Eigenpairs inner = eigenpairs(d, Q, std::move(T), run);
    scale_columns(V, d, d, w);
    multiply('N', d, d, d, V, d, inner.V.data(), d, Q, d, run);
    T = std::move(inner.V);
    return inner.w;
}

// (2) and (3) as they are printed, K_l + 2 eps I in place of K_l as in the public program. Takes 5 d^2 doubles.
void spd_form(std::int64_t d, Buffer<double> K1, Buffer<double> K2, const Part& part, Outcome& outcome) {
    Run& run = part.run();
    Buffer<double> A(d * d), B(d * d);
    for (std::int64_t i = 0; i < d; ++i) {
        K1[i * d + i] += 2 * std::numeric_limits<double>::epsilon();
        K2[i * d + i] += 2 * std::numeric_limits<double>::epsilon();
    }
    part.step("mean of the class kernels", 0.4);
    std::copy(K1.data(), K1.data() + d * d, A.data());
    Eigenpairs first = eigenpairs(d, A.data(), std::move(B), run);
    require_invertible(first.w, "the kernel of the first class");
    const std::vector<double> e = relate(d, first.w, first.V.data(), K2.data(), A, run);
    require_invertible(e, "the kernel of the second class");
    scale_columns(K2.data(), d, d, map(e, fourth_root));
    syrk(d, d, 1.0, K2.data(), 0.0, first.V.data(), run);  // (2)

    part.step("difference operator", 0.85);
    Eigenpairs mean = eigenpairs(d, first.V.data(), std::move(A), run);
    require_invertible(mean.w, "the mean of both kernels");
    mean_components(mean.w, mean.V.data(), d, outcome);
    const std::vector<double> logs = clipped_log(relate(d, mean.w, mean.V.data(), K1.data(), first.V, run));
    weighted_squares(K1.data(), logs, d, first.V.data(), run);  // (3)
    outcome.rank = d;
    outcome.steepest = steepest_of_logs(logs, d);

    part.step("eigenvectors of the difference", 1.0);
    scores(d, first.V.data(), std::move(mean.V), run, outcome);
}

void keep_last(std::vector<double>& values, std::int64_t n) { values.erase(values.begin(), values.end() - n); }

// The same for the cores of two kernels, k x k, seen from principal vectors of their ranges: Vt diag(w_right) Vt' = B
// B' and U' diag(w_left) U = B diag(e) B', for orthogonal U and Vt. A: scratch.
std::vector<double> relate_cores(std::int64_t k, const double* U, const double* Vt, const std::vector<double>& w_left,
                                 const std::vector<double>& w_right, Buffer<double>& A, Buffer<double>& B, Run& run) {
    multiply('N', k, k, k, U, k, Vt, k, A.data(), k, run);
    scale_rows(A.data(), k, map(w_left, root));
    scale_columns(A.data(), k, k, map(w_right, inverse_root));
    multiply('T', k, k, k, A.data(), k, A.data(), k, B.data(), k, run);
    Eigenpairs inner = eigenpairs(k, B.data(), std::move(A), run);
    scale_rows(inner.V.data(), k, map(w_right, root));
    multiply('N', k, k, k, Vt, k, inner.V.data(), k, B.data(), k, run);
    A = std::move(inner.V);
    return inner.w;
}

// Algorithm 2 (appendix B), for kernels of any rank, with the thresholds of the public program, whose default it is.
// Cores and subspaces move apart from each other; D lies in the range of K1, so that the order of the classes counts.
// Takes 9 d^2 doubles, if the rank is d.
void spsd_form(std::int64_t d, Buffer<double> K1, Buffer<double> K2, const Part& part, Outcome& outcome) {
    constexpr double kEps = std::numeric_limits<double>::epsilon();
    Run& run = part.run();
    part.step("eigenvectors of the class kernels", 0.3);
    Eigenpairs first = eigenpairs(d, K1.data(), Buffer<double>(d * d), run);
    Eigenpairs second = eigenpairs(d, K2.data(), std::move(K1), run);
    const std::int64_t k = std::min(numerical_rank(first.w, d), numerical_rank(second.w, d));
    if (k == 0) throw NumericError("form=\"spsd\" needs kernels of positive rank, but one is zero");
    keep_last(first.w, k);
    keep_last(second.w, k);
    const double *G1 = first.V.data() + (d - k) * d, *G2 = second.V.data() + (d - k) * d;
    run.checkpoint();

    part.step("mean of the class kernels", 0.65);
    Buffer<double> A = std::move(K2), O1(d * d), O2(d * d);
    std::vector<double> s(static_cast<std::size_t>(k));
    multiply('T', k, k, d, G2, d, G1, d, A.data(), k, run);
    gesdd(k, A.data(), s.data(), O2.data(), O1.data());  // O1 transposed
    run.checkpoint();
    Buffer<double> B(d * d);
    const std::vector<double> e = relate_cores(k, O2.data(), O1.data(), second.w, first.w, A, B, run);
    scale_columns(B.data(), k, k, map(e, fourth_root));
    syrk(k, k, 1.0, B.data(), 0.0, A.data(), run);
    Eigenpairs mean = eigenpairs(k, A.data(), std::move(B), run);  // the core of M
    const std::int64_t kept = std::min(k, numerical_rank(mean.w, d));

    // The middle of the path between the subspaces: U1 cos(theta / 2) + (U2 - U1 U1' U2) sin(theta / 2) / sin(theta)
    std::vector<double> cosine, sine;
    const double apart = std::min(s.front(), 1.0) * static_cast<double>(k) * kEps;
    for (double& value : s) {
        value = std::min(value, 1.0);
        const double theta = std::acos(value);
        cosine.push_back(std::cos(theta / 2));
        sine.push_back(1 - value > apart ? std::sin(theta / 2) / std::sin(theta) : 0);
    }
    transpose(O1.data(), k);
    Buffer<double> C(d * d);
    multiply('N', d, k, k, G1, d, O1.data(), k, A.data(), d, run);  // U1
    multiply('N', d, k, k, G2, d, O2.data(), k, C.data(), d, run);  // U2
    multiply('T', k, k, d, A.data(), d, C.data(), d, O2.data(), k, run);
    multiply('N', d, k, k, A.data(), d, O2.data(), k, second.V.data(), d, run);
    for (std::int64_t j = 0; j < k; ++j) {
        const double c = cosine[static_cast<std::size_t>(j)], f = sine[static_cast<std::size_t>(j)];
        for (std::int64_t i = j * d; i < (j + 1) * d; ++i) C[i] = c * A[i] + f * (C[i] - second.V[i]);
    }
    multiply('N', d, kept, k, C.data(), d, mean.V.data() + (k - kept) * k, k, second.V.data(), d, run);
    const double* GM = second.V.data();
    keep_last(mean.w, kept);
    keep_last(first.w, kept);
    G1 = first.V.data() + (d - kept) * d;
    mean_components(mean.w, GM, d, outcome);
    C = Buffer<double>();
    mean.V = Buffer<double>();
    outcome.rank = kept;

    part.step("difference operator", 1.0);
    multiply('T', kept, kept, d, G1, d, GM, d, A.data(), kept, run);
    gesdd(kept, A.data(), s.data(), O1.data(), O2.data());  // of G1 and, transposed, of GM
    run.checkpoint();
    B = Buffer<double>(d * d);
    const std::vector<double> logs = clipped_log(relate_cores(kept, O1.data(), O2.data(), first.w, mean.w, A, B, run));
    weighted_squares(B.data(), logs, kept, A.data(), run);
    outcome.steepest = steepest_of_logs(logs, d);
    const Eigenpairs difference = eigenpairs(kept, A.data(), std::move(B), run);  // the core of D
    // The path from M to K1 ends at G1 O1.
    multiply('N', kept, kept, kept, O1.data(), kept, difference.V.data(), kept, O2.data(), kept, run);
    multiply('N', d, kept, kept, G1, d, O2.data(), kept, second.V.data(), d, run);
    std::fill(outcome.scores.begin(), outcome.scores.end(), 0.0);
    for (std::int64_t i = 0; i < kept; ++i) {  // (4)
        const double *P = second.V.data() + i * d, weight = std::abs(difference.w[static_cast<std::size_t>(i)]);
        for (std::int64_t j = 0; j < d; ++j) outcome.scores[static_cast<std::size_t>(j)] += weight * P[j] * P[j];
    }
    difference_components(difference.w, [&](std::int64_t i) { return second.V.data() + i * d; }, d, outcome);
}

// What a fit reads: the handle's data, and what the call asks for.
struct Fit {
    const Samples& X;
    const std::vector<double>& row_maxima;
    const fastfs_manifest_options& options;
    const std::vector<fastfs_manifest_scale>& scales;
    std::int32_t accuracy;  // that of the plan
    const double* all;      // upper triangle of the distances over all rows, or null
    double unit_of_all;
};

// One problem by d x d kernels, at all scales.
void exact_problem(const Fit& fit, const Problem& problem, const Part& part, std::vector<Outcome>& outcomes) {
    const std::int64_t d = fit.X.n_cols();
    Run& run = part.run();
    part.step("distances of the features", 0.05);
    Buffer<double> D2[2];
    for (auto& buffer : D2) buffer = Buffer<double>(d * d);
    double unit[2];
    std::vector<double> norms[2];
    bool done = false;
    if (fit.all) {
        const std::size_t smaller = problem[1].rows.size() < problem[0].rows.size();
        unit[0] = unit[1] = fit.unit_of_all;
        squared_distances_upper(fit.X, problem[smaller].rows, fit.unit_of_all, run, D2[smaller].data());
        done = subtract_distances(fit.all, D2[smaller].data(), d, run, D2[1 - smaller].data());
    }
    for (std::size_t l : {0, 1}) {
        if (done) break;
        unit[l] = common_unit(fit.row_maxima, problem[l].rows);
        norms[l] = squared_distances_upper(fit.X, problem[l].rows, unit[l], run, D2[l].data());
    }
    for (std::size_t s = 0; s < fit.scales.size(); ++s) {
        const bool last = s + 1 == fit.scales.size();  // the distances have served: the kernels take their place
        Buffer<double> K[2];
        for (std::size_t l : {0, 1}) {
            Buffer<double> fresh = last ? Buffer<double>() : Buffer<double>(d * d);
            kernel(fit.options, D2[l].data(), norms[l], d, unit[l], problem[l], static_cast<int>(l), fit.scales[s], run,
                   last ? D2[l].data() : fresh.data(), outcomes[s]);
            K[l] = last ? std::move(D2[l]) : std::move(fresh);
        }
        const double begin = 0.05 + 0.95 * static_cast<double>(s) / static_cast<double>(fit.scales.size());
        const double end = 0.05 + 0.95 * static_cast<double>(s + 1) / static_cast<double>(fit.scales.size());
        double diagonal = 0;
        for (std::int64_t i = 0; i < d; ++i) diagonal = std::max({diagonal, K[0][i * d + i], K[1][i * d + i]});
        constexpr decltype(&pencil_form) forms[] = {pencil_form, spd_form, spsd_form};
        forms[fit.options.form](d, std::move(K[0]), std::move(K[1]), part.within(begin, end), outcomes[s]);
        check_contrast(d, diagonal, std::numeric_limits<double>::epsilon(), outcomes[s]);
    }
}

constexpr std::int64_t kSampled = 2000;  // features that sigma is taken from

// sigma of one side by a rule, from the pairs of some features.
template <class T>
double sampled_sigma(const Features<T>& features, const Fit& fit, const Side& side, const fastfs_manifest_scale& scale,
                     std::int32_t& warnings, Run& run) {
    constexpr std::uint64_t kStream = ~std::uint64_t{0};  // none of those of the low-rank kernels
    const std::int64_t n = std::min(features.n_features(), kSampled);
    const Features<double> some(features, Random(fit.options.seed, kStream).subset(features.n_features(), n), run);
    Buffer<double> D2(n * n);
    squared_distances_upper(some, false, run, D2.data());
    return choose_sigma(D2.data(), n, scale, side.name, warnings, run) * features.unit();
}

// Some features by themselves, drawn at random: the exact kernel of one side between them, and the low-rank one.
struct Excerpt {
    Buffer<double> exact;
    LowRank low_rank;
};

std::int64_t excerpt_size(std::int64_t d, std::int64_t rank) {
    return std::min(d, std::clamp<std::int64_t>(4 * rank, 500, 1000));
}

template <class T>
LowRank factor(const Features<T>& features, const Kernel& kernel, const Fit& fit, const fastfs_manifest_scale& scale,
               std::int64_t rank, Buffer<double>& room, Run& run) {
    const std::uint64_t seed = fit.options.seed;
    return fit.accuracy == FASTFS_HIGH ? nystrom(features, kernel, scale.normalize, rank, seed, room, run)
                                       : landmarks(features, kernel, scale.normalize, rank, seed, room, run);
}

// (1): K of one side at one scale.
LowRank low_rank_kernel(const Fit& fit, const Side& side, int which, const fastfs_manifest_scale& scale,
                        Buffer<double>& room, Run& run, Outcome& outcome, Excerpt& excerpt) {
    const double unit = common_unit(fit.row_maxima, side.rows);
    const auto& o = fit.options;
    auto choose = [&](const auto& features) {
        outcome.sigma[which] = scale.rule == FASTFS_SIGMA_GIVEN
                                   ? scale.sigma[side.index]
                                   : sampled_sigma(features, fit, side, scale, outcome.kernel_warnings[which], run);
        return Kernel{o.kernel ? Kernel::Kind::kCustom : Kernel::Kind::kRbf, outcome.sigma[which], o.kernel, o.user};
    };
    auto finish = [&](const auto& features, const Kernel& kernel) {
        constexpr std::uint64_t kStream = ~std::uint64_t{0} - 1;
        const std::int64_t n = excerpt_size(features.n_features(), o.rank);
        const Features<double> some(features, Random(o.seed, kStream).subset(features.n_features(), n), run);
        excerpt.exact = Buffer<double>(n * n);
        affinity(some, kernel, run, excerpt.exact.data());
        if (scale.normalize > 0) normalize(excerpt.exact.data(), n, scale.normalize, run);
        Buffer<double> small;
        excerpt.low_rank = factor(some, kernel, fit, scale, std::min(o.rank, n / 4), small, run);
        return factor(features, kernel, fit, scale, o.rank, room, run);
    };
    if (!o.kernel && (fit.accuracy == FASTFS_HIGH || fit.X.is_float32())) {
        const Features<float> features(fit.X, side.rows, unit, Shift::kRow, run);
        const Kernel kernel = choose(features);
        if (float_tiles_serve(features, kernel)) return finish(features, kernel);
    }
    const Features<double> features(fit.X, side.rows, unit, Shift::kRow, run);
    return finish(features, choose(features));
}

// Both low-rank kernels in their joint range: Q = [G1, R Z] is orthonormal, with R = (I - G1 G1') G2, R'R = V diag(w)
// V', Z = V diag(w)^(-1/2) for the w that are more than rounding; A_l = Q' K_l Q.
struct JointRange {
    std::int64_t q;
    Buffer<double> R, Z;  // d x k2, row-major; k2 x (q - k1)
    Buffer<double> A[2];  // q x q
};

JointRange joint_range(std::int64_t d, const LowRank& K1, const LowRank& K2, Run& run) {
    const std::int64_t k1 = K1.rank(), k2 = K2.rank();
    const double *G1 = K1.G.data(), *G2 = K2.G.data();
    JointRange joint;
    joint.R = Buffer<double>(d * k2);
    double* R = joint.R.data();

    // R = G2 - G1 C, projected twice: C, then what is left of G1 in R.
    Buffer<double> C = sum_over_rows(d, k1 * k2, run, [&](std::int64_t i0, std::int64_t rows, double* part) {
        gemm('N', 'T', k1, k2, rows, 1.0, G1 + i0 * k1, k1, G2 + i0 * k2, k2, 1.0, part, k1);
    });
    const Buffer<double> rest = sum_over_rows(d, k1 * k2, run, [&](std::int64_t i0, std::int64_t rows, double* part) {
        std::copy(G2 + i0 * k2, G2 + (i0 + rows) * k2, R + i0 * k2);
        gemm('T', 'N', k2, rows, k1, -1.0, C.data(), k1, G1 + i0 * k1, k1, 1.0, R + i0 * k2, k2);
        gemm('N', 'T', k1, k2, rows, 1.0, G1 + i0 * k1, k1, R + i0 * k2, k2, 1.0, part, k1);
    });
    Buffer<double> H = sum_over_rows(d, k2 * k2, run, [&](std::int64_t i0, std::int64_t rows, double* part) {
        gemm('T', 'N', k2, rows, k1, -1.0, rest.data(), k1, G1 + i0 * k1, k1, 1.0, R + i0 * k2, k2);
        syrk_lower(k2, rows, 1.0, R + i0 * k2, k2, 1.0, part, k2);
    });
    for (std::int64_t e = 0; e < k1 * k2; ++e) C[e] += rest[e];

    constexpr double kSmallest = 1e-10;
    SymmetricEigen eigen(k2, H.data(), run);
    const std::vector<double>& w = eigen.values();
    const std::int64_t dropped = std::upper_bound(w.begin(), w.end(), kSmallest) - w.begin(), added = k2 - dropped;
    eigen.make_vectors(dropped, k2, run);
    const std::int64_t q = joint.q = k1 + added;

    // T_l = Q' G_l, and A_l = T_l diag(w_l - delta_l) T_l' + delta_l I. T1 = [I; 0]; T2 = [C; diag(w)^(1/2) V'].
    joint.Z = Buffer<double>(k2 * added);
    Buffer<double> T2(q * k2), weighted(q * k2);
    for (std::int64_t c = 0; c < k2; ++c) std::copy(C.data() + c * k1, C.data() + (c + 1) * k1, T2.data() + c * q);
    for (std::int64_t a = 0; a < added; ++a) {
        const double root = std::sqrt(w[static_cast<std::size_t>(dropped + a)]);
        const double* v = eigen.vector(dropped + a);
        for (std::int64_t c = 0; c < k2; ++c) {
            joint.Z[a * k2 + c] = v[c] / root;
            T2[c * q + k1 + a] = v[c] * root;
        }
    }
    for (std::int64_t c = 0; c < k2; ++c) {
        const double weight = K2.w[static_cast<std::size_t>(c)] - K2.delta;
        for (std::int64_t i = 0; i < q; ++i) weighted[c * q + i] = weight * T2[c * q + i];
    }
    for (auto& A : joint.A) {
        A = Buffer<double>(q * q);
        std::fill_n(A.data(), q * q, 0.0);
    }
    gemm('N', 'T', q, q, k2, 1.0, weighted.data(), q, T2.data(), q, 0.0, joint.A[1].data(), q);
    for (std::int64_t i = 0; i < q; ++i) {
        joint.A[0][i * q + i] = i < k1 ? K1.w[static_cast<std::size_t>(i)] : K1.delta;
        joint.A[1][i * q + i] += K2.delta;
    }
    return joint;
}

// Q U (row-major, rows of n) for U q x n, a block of rows at a time: use(first row, rows, values).
template <class F>
void times_range(std::int64_t d, const LowRank& K1, const JointRange& joint, const double* U, std::int64_t n, Run& run,
                 F&& use) {
    const std::int64_t k1 = K1.rank(), k2 = joint.R.size() / d, added = joint.q - k1;
    Buffer<double> ZU(k2 * n);  // with this, Q U = G1 U1 + R (Z U2)
    gemm('N', 'N', k2, n, added, 1.0, joint.Z.data(), k2, U + k1, joint.q, 0.0, ZU.data(), k2);
    std::vector<Buffer<double>> blocks;
    for (int t = 0; t < run.n_threads(); ++t) blocks.emplace_back(kTile * n);
    parallel_for(run, (d + kTile - 1) / kTile, [&](std::int64_t task, int slot) {
        const std::int64_t i0 = task * kTile, rows = std::min(kTile, d - i0);
        double* block = blocks[static_cast<std::size_t>(slot)].data();
        gemm('T', 'N', n, rows, k1, 1.0, U, joint.q, K1.G.data() + i0 * k1, k1, 0.0, block, n);
        gemm('T', 'N', n, rows, k2, 1.0, ZU.data(), k2, joint.R.data() + i0 * k2, k2, 1.0, block, n);
        use(i0, rows, block);
    });
}

// Components that the joint range has, handed out as vectors over the features; the rest is 0.
void expand_components(std::int64_t d, const LowRank& K1, const JointRange& joint, const double* U, std::int64_t n,
                       std::int64_t wanted, Run& run, double* values, double* vectors) {
    std::fill(values + n, values + wanted, 0.0);
    std::fill(vectors + n * d, vectors + wanted * d, 0.0);
    times_range(d, K1, joint, U, n, run, [&](std::int64_t i0, std::int64_t rows, const double* block) {
        for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t c = 0; c < n; ++c) vectors[c * d + i0 + i] = block[i * n + c];
        }
    });
    for (std::int64_t c = 0; c < n; ++c) fix_sign(d, vectors + c * d);
}

// (2) to (4) for two low-rank kernels: in the joint range, and off it, where both are multiples of the identity. There
// |D| is c = 1/2 sqrt(delta_1 delta_2) |log(delta_1 / delta_2)|, so with D = B diag(lam) B' in the range
// r_i = sum_j B_ij^2 |lam_j| + c (1 - sum_j B_ij^2).
void low_rank_form(std::int64_t d, const LowRank& K1, const LowRank& K2, const Part& part, Outcome& outcome) {
    Run& run = part.run();
    part.step("joint range of the class kernels", 0.9);
    JointRange joint = joint_range(d, K1, K2, run);
    const std::int64_t q = joint.q, n = std::min(outcome.n_components, q);
    Buffer<double>&difference_of = joint.A[0], &sum_of = joint.A[1];
    for (std::int64_t e = 0; e < q * q; ++e) {  // A1, A2 -> A1 - A2, A1 + A2
        const double a1 = difference_of[e], a2 = sum_of[e];
        difference_of[e] = a1 - a2;
        sum_of[e] = a1 + a2;
    }
    Pencil classes = pencil(q, difference_of.data(), sum_of, run);
    const auto rank = static_cast<std::int64_t>(classes.nu.size());
    Buffer<double> D(q * q);
    Outcome within;  // of the components of Q' M Q and Q' D Q
    Buffer<double> U(q * n);
    within.n_components = n;
    within.mean_values = outcome.mean_values;
    within.difference_values = outcome.difference_values;
    within.mean_vectors = within.difference_vectors = U.data();
    if (n > 0) {
        mean_components(classes.W.data(), classes.nu, q, rank, D.data(), Buffer<double>(), run, within);
        expand_components(d, K1, joint, U.data(), n, outcome.n_components, run, outcome.mean_values,
                          outcome.mean_vectors);
    }
    difference(classes.W.data(), classes.nu, q, rank, D.data(), run);
    SymmetricEigen eigen(q, D.data(), run);
    eigen.make_vectors(0, q, run);
    const std::vector<double>& lam = eigen.values();

    part.step("scores", 1.0);
    const double c = 0.5 * std::sqrt(K1.delta * K2.delta) * std::abs(std::log(K1.delta / K2.delta));
    times_range(d, K1, joint, eigen.vector(0), q, run, [&](std::int64_t i0, std::int64_t rows, const double* B) {
        for (std::int64_t i = 0; i < rows; ++i, B += q) {
            double inside = 0, share = 0;
            for (std::int64_t j = 0; j < q; ++j) {
                const double square = B[j] * B[j];
                share += square;
                inside += square * std::abs(lam[static_cast<std::size_t>(j)]);
            }
            outcome.scores[static_cast<std::size_t>(i0 + i)] = inside + c * std::max(0.0, 1 - share);
        }
    });
    if (n > 0) {
        difference_components(lam, [&](std::int64_t i) { return eigen.vector(i); }, q, within);
        expand_components(d, K1, joint, U.data(), n, outcome.n_components, run, outcome.difference_values,
                          outcome.difference_vectors);
    }
    outcome.rank = q;
    outcome.steepest = steepest(classes.nu, q);
    check_contrast(q, std::max(K1.largest, K2.largest), std::max(K1.eps, K2.eps), outcome);
}

// Spearman's correlation; equal values share their mean rank. Where one side is constant there is nothing to rank: 1 if
// both are.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
    const std::size_t n = a.size();
    auto ranks = [&](const std::vector<double>& values) {
        std::vector<std::size_t> order(n);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return values[i] < values[j]; });
        std::vector<double> centred(n);
        for (std::size_t first = 0, last = 0; first < n; first = last) {
            while (last < n && values[order[last]] == values[order[first]]) ++last;
            const double mean = 0.5 * static_cast<double>(first + last - 1) - 0.5 * static_cast<double>(n - 1);
            for (std::size_t r = first; r < last; ++r) centred[order[r]] = mean;
        }
        return centred;
    };
    const std::vector<double> x = ranks(a), y = ranks(b);
    const double xy = std::inner_product(x.begin(), x.end(), y.begin(), 0.0),
                 xx = std::inner_product(x.begin(), x.end(), x.begin(), 0.0),
                 yy = std::inner_product(y.begin(), y.end(), y.begin(), 0.0);
    return xx == 0 && yy == 0 ? 1 : xx == 0 || yy == 0 ? 0 : xy / std::sqrt(xx * yy);
}

// How far the low-rank scores can be trusted: no trace or gap of the kernels tells, since the exact scores rest on
// their small eigenvalues too, but some features scored both ways do.
double agreement(Excerpt (&excerpt)[2], const Part& part) {
    const auto n = static_cast<std::int64_t>(std::sqrt(static_cast<double>(excerpt[0].exact.size())) + 0.5);
    Outcome exact, low_rank;
    exact.scores.resize(static_cast<std::size_t>(n));
    low_rank.scores.resize(static_cast<std::size_t>(n));
    low_rank_form(n, excerpt[0].low_rank, excerpt[1].low_rank, part.within(0, 0.2), low_rank);
    const double largest = std::max(excerpt[0].low_rank.largest, excerpt[1].low_rank.largest);
    pencil_form(n, std::move(excerpt[0].exact), std::move(excerpt[1].exact), part.within(0.2, 1), exact);
    check_contrast(n, largest, std::numeric_limits<double>::epsilon(), exact);
    if (exact.warnings & low_rank.warnings & FASTFS_WARN_NO_CONTRAST) return 1;  // both say that there is nothing
    return rank_correlation(exact.scores, low_rank.scores);
}

// One problem by low-rank kernels, at all scales.
void wide_problem(const Fit& fit, const Problem& problem, const Part& whole, std::vector<Outcome>& outcomes) {
    constexpr double kTrusted = 0.9;
    const double n = static_cast<double>(fit.scales.size());
    Buffer<double> room;
    for (std::size_t s = 0; s < fit.scales.size(); ++s) {
        const Part part = whole.within(static_cast<double>(s) / n, static_cast<double>(s + 1) / n);
        LowRank K[2];
        Excerpt excerpt[2];
        for (std::size_t l : {0, 1}) {
            part.step("low-rank kernel of a class", l == 0 ? 0.38 : 0.76);
            const int which = static_cast<int>(l);
            K[l] = low_rank_kernel(fit, problem[l], which, fit.scales[s], room, part.run(), outcomes[s], excerpt[l]);
            outcomes[s].kept_trace[l] = K[l].kept_trace;
            if (K[l].kept_trace < 0.5) outcomes[s].kernel_warnings[l] |= FASTFS_WARN_TRACE;
        }
        low_rank_form(fit.X.n_cols(), K[0], K[1], part.within(0, 0.95), outcomes[s]);
        outcomes[s].agreement = agreement(excerpt, part.within(0.95, 1));
        if (outcomes[s].agreement < kTrusted) outcomes[s].warnings |= FASTFS_WARN_AGREEMENT;
    }
}

// One side's low-rank kernel, and another one's while its features are there; then both and the joint range.
std::int64_t wide_memory(const Samples& X, const fastfs_manifest_options& o, std::int32_t accuracy, const Run& run) {
    const std::int64_t d = X.n_cols(), G = 8 * d * o.rank;
    const bool high = accuracy == FASTFS_HIGH;
    const std::int64_t factor =
        high ? nystrom_memory(d, o.rank, run.n_threads()) : landmarks_memory(d, o.rank, run.n_threads());
    // In single precision as a rule; but a small sigma, which isn't known yet, asks for double.
    const std::int64_t features = Features<double>::memory(X, X.n_rows());
    const std::int64_t joint = G + sum_over_rows_memory(d, o.rank * o.rank) + 16 * run.n_threads() * kTile * o.rank;
    const std::int64_t n = excerpt_size(d, o.rank), sampled = std::min(d, kSampled);
    return G + factor + std::max(features + 8 * sampled * sampled, joint) + 8 * 40 * o.rank * o.rank + 8 * 8 * n * n;
}

bool pairwise(std::int64_t n_classes, const fastfs_manifest_options& options) {
    return n_classes == 2 || options.multiclass == FASTFS_OVO;
}

// The classes as sides.
std::vector<Side> read_classes(const std::int64_t* labels, std::int64_t n_rows, std::int64_t n_classes) {
    std::vector<Side> classes;
    for (std::int64_t c = 0; c < n_classes; ++c) classes.push_back({c, "class " + std::to_string(c), {}});
    for (std::int64_t r = 0; r < n_rows; ++r) {
        if (labels[r] < 0 || labels[r] >= n_classes) {
            throw InvalidArgument("labels must lie between 0 and " + std::to_string(n_classes - 1) +
                                  ", but that of row " + std::to_string(r) + " is " + std::to_string(labels[r]));
        }
        classes[static_cast<std::size_t>(labels[r])].rows.push_back(r);
    }
    for (const Side& side : classes) {
        if (side.rows.empty()) throw InvalidArgument(side.name + " has no samples");
    }
    return classes;
}

// Class c against all others.
Problem against_rest(const std::vector<Side>& classes, std::size_t c, const std::int64_t* labels, std::int64_t n_rows) {
    Side one = classes[c], rest{2 * one.index + 1, "all classes but " + std::to_string(one.index), {}};
    for (std::int64_t r = 0; r < n_rows; ++r) {
        if (labels[r] != one.index) rest.rows.push_back(r);
    }
    one.index *= 2;
    return {std::move(one), std::move(rest)};
}

void check_scale(const fastfs_manifest_scale& scale, std::int64_t n_kernels) {
    auto positive = [](double value) { return value > 0 && std::isfinite(value); };
    switch (scale.rule) {
        case FASTFS_SIGMA_MEDIAN:
            require(positive(scale.value), "sigma_factor must be a positive number, not " + text(scale.value));
            break;
        case FASTFS_SIGMA_PERCENTILE:
            require(scale.value > 0 && scale.value < 100,
                    "sigma_percentile must lie between 0 and 100, both excluded, but is " + text(scale.value));
            break;
        case FASTFS_SIGMA_GIVEN:
            require(scale.sigma != nullptr, "the given sigma is null");
            for (std::int64_t k = 0; k < n_kernels; ++k) {
                require(positive(scale.sigma[k]), "sigma must hold positive numbers, not " + text(scale.sigma[k]));
            }
            break;
        default:
            throw InvalidArgument("the rule of a scale must be one of FASTFS_SIGMA_*, not " +
                                  std::to_string(scale.rule));
    }
    require(scale.normalize >= 0 && scale.normalize <= 1000,
            "normalize must lie between 0 and 1000, but is " + std::to_string(scale.normalize));
}

void check_result(const fastfs_manifest_result& result, std::int64_t n_components) {
    require(result.scores != nullptr, "result.scores is null");
    require(result.n_components == n_components, "n_components must be the same for all scales");
    require(n_components == 0 ||
                (result.mean_values && result.mean_vectors && result.difference_values && result.difference_vectors),
            "n_components is positive, but an array of the components is null");
}

// The outcomes of a problem, whose components go straight into the results.
std::vector<Outcome> prepare_outcomes(std::int64_t p, const Problem& problem, std::int64_t d,
                                      const std::vector<fastfs_manifest_result>& results) {
    std::vector<Outcome> outcomes(results.size());
    for (std::size_t s = 0; s < results.size(); ++s) {
        Outcome& o = outcomes[s];
        const auto& result = results[s];
        o.scores.resize(static_cast<std::size_t>(d));
        o.n_components = result.n_components;
        const std::int64_t at = p * result.n_components;
        if (result.n_components > 0) {
            o.mean_values = result.mean_values + at;
            o.mean_vectors = result.mean_vectors + at * d;
            o.difference_values = result.difference_values + at;
            o.difference_vectors = result.difference_vectors + at * d;
        }
        for (std::size_t l : {0, 1}) {
            if (problem[l].rows.size() == 1) o.kernel_warnings[l] |= FASTFS_WARN_ONE_SAMPLE;
        }
    }
    return outcomes;
}

// Adds an outcome to the means over the problems, and keeps what is problem p's own.
void collect(std::int64_t p, const Problem& problem, bool pairs, const fastfs_manifest_plan& plan, const Outcome& o,
             const fastfs_manifest_result& result) {
    const auto d = static_cast<std::int64_t>(o.scores.size());
    auto add = [&](double* to, std::int64_t n) {
        for (std::int64_t j = 0; j < d; ++j) to[j] += o.scores[static_cast<std::size_t>(j)] / static_cast<double>(n);
    };
    add(result.scores, plan.n_problems);
    if (result.class_scores && pairs) {
        for (const Side& side : problem) add(result.class_scores + side.index * d, plan.n_kernels - 1);
    } else if (result.class_scores) {
        add(result.class_scores + p * d, 1);
    }
    for (std::size_t l : {0, 1}) {
        const std::int64_t k = problem[l].index;
        if (result.sigma) result.sigma[k] = o.sigma[l];
        if (result.kept_trace) result.kept_trace[k] = o.kept_trace[l];
        if (result.kernel_warnings) result.kernel_warnings[k] = o.kernel_warnings[l];
    }
    if (result.ranks) result.ranks[p] = o.rank;
    if (result.agreement) result.agreement[p] = o.agreement;
    if (result.problem_warnings) result.problem_warnings[p] = o.warnings;
}

std::vector<std::int64_t> all_rows(const Samples& X) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(X.n_rows()));
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
}

// Of the features of some rows while their distances are computed.
std::int64_t gathering_memory(const Samples& X, const Run& run) {
    return squared_distances_memory(X, X.n_rows(), run.n_threads());
}

}  // namespace

Manifest::Manifest(Samples X, bool keep_distances, Run& run) : X_(std::move(X)) {
    const std::int64_t d = X_.n_cols();
    require(d >= 2 && d <= kMostFeatures,
            "ManiFeSt compares features with each other and needs from 2 to 4e8 of them, but X has " +
                std::to_string(d) + " feature(s)");
    if (run.is_question()) {
        run.require_memory(24 * X_.n_rows() + (keep_distances ? 8 * d * d + gathering_memory(X_, run) : 0), "reading X",
                           "raise max_memory (or FASTFS_MAX_MEMORY)");
    }
    run.step("reading X", keep_distances ? 0.1 : 1.0);
    row_maxima_ = X_.row_maxima(run);
    unit_ = common_unit(row_maxima_, all_rows(X_));
    if (!keep_distances) return;
    run.require_memory(8 * d * d + gathering_memory(X_, run),
                       "keeping the distances of " + std::to_string(d) + " features",
                       "raise max_memory (or FASTFS_MAX_MEMORY), or don't keep them");
    run.step("distances of the features", 1.0);
    distances_ = Buffer<double>(d * d);
    squared_distances_upper(X_, all_rows(X_), unit_, run, distances_.data());
}

fastfs_manifest_plan Manifest::plan(std::int64_t n_classes, const fastfs_manifest_options& o, std::int64_t n_scales,
                                    std::int64_t n_components, const Run& run) const {
    const std::int64_t d = X_.n_cols();
    require(n_classes >= 2 && n_classes <= X_.n_rows(), "there must be at least 2 classes and no more than the " +
                                                            std::to_string(X_.n_rows()) + " rows, not " +
                                                            std::to_string(n_classes));
    require(o.form >= FASTFS_PENCIL && o.form <= FASTFS_SPSD,
            "form must be FASTFS_PENCIL, FASTFS_SPD or FASTFS_SPSD, not " + std::to_string(o.form));
    require(
        o.accuracy >= FASTFS_AUTO && o.accuracy <= FASTFS_HIGH,
        "accuracy must be FASTFS_AUTO, FASTFS_EXACT, FASTFS_FAST or FASTFS_HIGH, not " + std::to_string(o.accuracy));
    require(o.multiclass == FASTFS_OVR || o.multiclass == FASTFS_OVO,
            "multiclass must be FASTFS_OVR or FASTFS_OVO, not " + std::to_string(o.multiclass));
    require(o.rank >= 1, "rank must be at least 1, but is " + std::to_string(o.rank));
    require(o.reserved == 0, "the reserved field of options must be 0, but is " + std::to_string(o.reserved));
    require(n_scales >= 1 && n_scales <= 1000,
            "n_scales must lie between 1 and 1000, but is " + std::to_string(n_scales));
    require(n_components >= 0 && n_components <= d, "n_components must lie between 0 and the " + std::to_string(d) +
                                                        " features, but is " + std::to_string(n_components));
    const bool low_rank = o.accuracy == FASTFS_FAST || o.accuracy == FASTFS_HIGH, any = o.accuracy == FASTFS_AUTO;
    require(!low_rank || o.form == FASTFS_PENCIL, "the fast and high accuracies exist in the pencil form only");

    fastfs_manifest_plan plan = FASTFS_MANIFEST_PLAN_INIT;
    const bool pairs = pairwise(n_classes, o);
    plan.n_problems = pairs ? n_classes * (n_classes - 1) / 2 : n_classes;
    plan.n_kernels = pairs ? n_classes : 2 * n_classes;

    // K1 and S; besides, first the features of a class and a tile a thread, later as much again for LAPACK, and panels
    // for the eigenvectors; the distances of both sides while several scales share them, and those of all rows while
    // several problems do; and what is handed out, components as arrays and once more by the caller's language.
    const double handed_out = 8.0 * static_cast<double>(d * n_scales) *
                              (static_cast<double>(n_classes + 2) +
                               4.0 * static_cast<double>(n_components) * static_cast<double>(plan.n_problems));
    // Rows by class and against the rest; more than any budget is enough.
    const auto results =
        static_cast<std::int64_t>(std::min(handed_out + 32.0 * static_cast<double>(X_.n_rows()), 1e17));
    const std::int64_t squares = 2 + 2 * (n_scales > 1) + (!pairs && distances_.size() == 0);
    constexpr std::int64_t arrays[] = {2, 3, 7};  // by form
    const std::int64_t solving = 8 * arrays[o.form] * d * d + vectors_memory(d, run.n_threads());
    plan.exact_bytes = 8 * d * d * squares + std::max(solving, gathering_memory(X_, run)) + results;

    constexpr std::int64_t kMostExact = 5000;
    const bool full = o.rank > d / 4;  // low-rank kernels of such a rank gain nothing
    plan.accuracy = FASTFS_EXACT;
    plan.bytes = plan.exact_bytes;
    if (o.accuracy == FASTFS_EXACT) {
        plan.reason = FASTFS_BECAUSE_ASKED;
    } else if (o.form != FASTFS_PENCIL) {
        plan.reason = FASTFS_BECAUSE_FORM;
    } else if (full && (low_rank || d > kMostExact)) {
        plan.reason = FASTFS_BECAUSE_RANK;
    } else if (any && d <= kMostExact && (full || run.allows(plan.exact_bytes))) {
        plan.reason = FASTFS_BECAUSE_SIZE;
    } else {
        plan.accuracy = low_rank ? o.accuracy : FASTFS_FAST;
        plan.reason = low_rank ? FASTFS_BECAUSE_ASKED : d <= kMostExact ? FASTFS_BECAUSE_MEMORY : FASTFS_BECAUSE_SIZE;
        require(n_components <= 2 * o.rank, "n_components must not exceed twice the rank of the low-rank kernels, " +
                                                std::to_string(2 * o.rank) + ", but is " +
                                                std::to_string(n_components));
        plan.bytes = wide_memory(X_, o, plan.accuracy, run) + results;
    }
    if (plan.accuracy == FASTFS_EXACT) {
        run.require_memory(plan.bytes, "ManiFeSt in its exact form on " + std::to_string(d) + " features",
                           plan.reason == FASTFS_BECAUSE_RANK ? "raise max_memory (or FASTFS_MAX_MEMORY), or lower rank"
                           : o.form != FASTFS_PENCIL ? "raise max_memory (or FASTFS_MAX_MEMORY), or give fewer features"
                                                     : "raise max_memory (or FASTFS_MAX_MEMORY), choose "
                                                       "accuracy=\"fast\", or give fewer features");
    } else {
        run.require_memory(plan.bytes, "ManiFeSt in its low-rank form on " + std::to_string(d) + " features",
                           "raise max_memory (or FASTFS_MAX_MEMORY), or lower rank");
    }
    return plan;
}

void Manifest::fit(const std::int64_t* labels, std::int64_t n_classes, const fastfs_manifest_options& options,
                   const std::vector<fastfs_manifest_scale>& scales, Run& run,
                   const std::vector<fastfs_manifest_result>& results) const {
    const std::int64_t d = X_.n_cols();
    const auto plan =
        this->plan(n_classes, options, static_cast<std::int64_t>(scales.size()), results.front().n_components, run);
    for (const auto& scale : scales) check_scale(scale, plan.n_kernels);
    for (const auto& result : results) {
        check_result(result, results.front().n_components);
    }
    const auto classes = read_classes(labels, X_.n_rows(), n_classes);
    for (const auto& result : results) {
        std::fill_n(result.scores, d, 0.0);
        if (result.class_scores) std::fill_n(result.class_scores, n_classes * d, 0.0);
    }
    const bool pairs = pairwise(n_classes, options), exact = plan.accuracy == FASTFS_EXACT;

    const SingleThreadedBlas held;
    Fit fit{X_, row_maxima_, options, scales, plan.accuracy, nullptr, unit_};
    Buffer<double> summed;
    double begun = 0;  // share of the call before the problems
    // Both sides of a problem together are all rows. A custom kernel needs the norms of each as well.
    if (exact && (n_classes == 2 || !pairs) && !options.kernel) {
        if (distances_.size() > 0) {
            fit.all = distances_.data();
        } else if (n_classes > 2) {
            begun = 0.01;
            run.step("distances of the features", begun);
            summed = Buffer<double>(d * d);
            squared_distances_upper(X_, all_rows(X_), unit_, run, summed.data());
            fit.all = summed.data();
        }
    }
    std::int64_t p = 0;
    auto solve = [&](const Problem& problem) {
        auto outcomes = prepare_outcomes(p, problem, d, results);
        const double each = (1 - begun) / static_cast<double>(plan.n_problems);
        const Part part(run, begun + static_cast<double>(p) * each, begun + static_cast<double>(p + 1) * each);
        (exact ? exact_problem : wide_problem)(fit, problem, part, outcomes);
        for (std::size_t s = 0; s < results.size(); ++s) collect(p, problem, pairs, plan, outcomes[s], results[s]);
        ++p;
    };
    for (std::size_t a = 0; a < classes.size(); ++a) {
        if (!pairs) solve(against_rest(classes, a, labels, X_.n_rows()));
        for (std::size_t b = a + 1; pairs && b < classes.size(); ++b) solve({classes[a], classes[b]});
    }
}

}  // namespace fastfs::core
