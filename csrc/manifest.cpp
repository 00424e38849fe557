#include "manifest.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "kernels/affinity.hpp"
#include "kernels/isa/tiles.hpp"
#include "kernels/spectral.hpp"
#include "support/errors.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

constexpr std::int64_t kMostFeatures = 400000000;  // keeps byte counts of square matrices within 64 bits

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
void normalize(double* K, std::int64_t d, int times) {
    std::vector<double> g(static_cast<std::size_t>(d), 1.0), Kg(static_cast<std::size_t>(d));
    for (int t = 0; t < times; ++t) {
        symv_lower(d, K, g.data(), Kg.data());
        for (std::size_t i = 0; i < g.size(); ++i) g[i] /= std::sqrt(g[i] * Kg[i]);
    }
    for (std::int64_t i = 0; i < d; ++i) {
        for (std::int64_t j = i; j < d; ++j)
            K[i * d + j] *= g[static_cast<std::size_t>(i)] * g[static_cast<std::size_t>(j)];
    }
}

// Rows that are laid out at once: 64 MB of them, so that any number of samples can be summed.
std::int64_t rows_at_once(const Samples& X) {
    constexpr std::int64_t kBytes = std::int64_t{64} << 20;
    return X.is_sparse() ? X.n_rows() : std::max<std::int64_t>(kBytes / 8 / X.n_cols(), 256);
}

// Upper triangle of D2 = squared distances between the columns of these rows, in units of unit^2. They add up over
// blocks of rows.
void distances(const Samples& X, const std::vector<std::int64_t>& rows, double unit, Run& run, double* D2) {
    const auto n = static_cast<std::int64_t>(rows.size()), step = rows_at_once(X);
    for (std::int64_t first = 0; first < n; first += step) {
        const std::vector<std::int64_t> block(rows.begin() + first, rows.begin() + std::min(first + step, n));
        const Features<double> features(X, block, unit, Shift::kRow, run);
        squared_distances_upper(features, first > 0, run, D2);
    }
}

// rest = all - part, upper triangles; what is no more than the rounding of `all` is 0, as between equal columns. False
// if some distance over all rows is so large beside those of the rest that too many of their digits are gone.
bool subtract_distances(const double* all, const double* part, std::int64_t d, Run& run, double* rest) {
    constexpr double kRounding = 64 * std::numeric_limits<double>::epsilon(), kLostBits = 256;
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

// (1): K of one side at one scale from its distances, upper triangles; K may be D2.
void kernel(const double* D2, std::int64_t d, double unit, const Side& side, int which,
            const fastfs_manifest_scale& scale, Run& run, double* K, Outcome& outcome) {
    const double sigma = scale.rule == FASTFS_SIGMA_GIVEN
                             ? scale.sigma[side.index] / unit
                             : choose_sigma(D2, d, scale, side.name, outcome.kernel_warnings[which], run);
    // Kept finite, so that distance 0 stays affinity 1 however small sigma is.
    const double per_distance = std::min(0.5 / sigma / sigma, std::numeric_limits<double>::max());
    parallel_for(run, (d + kTile - 1) / kTile, [&](std::int64_t block, int) {
        for (std::int64_t i = block * kTile; i < std::min((block + 1) * kTile, d); ++i) {
            if (K != D2) std::copy(D2 + i * d + i, D2 + (i + 1) * d, K + i * d + i);
            tile_kernels<double>().exp_neg(K + i * d + i, d - i, per_distance);
        }
    });
    if (scale.normalize > 0) normalize(K, d, scale.normalize);
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
// nu = -1 or 1, which neither M nor D needs. M: d x d scratch.
void mean_components(double* W, const std::vector<double>& nu, std::int64_t d, std::int64_t q, double* M, Run& run,
                     Outcome& outcome) {
    std::vector<double> root(nu.begin(), nu.begin() + q);
    for (double& r : root) r = std::sqrt(mean_weight(r));
    scale_columns(W, d, q, root);
    syrk(d, q, 1.0, W, 0.0, M, run);
    run.checkpoint(0.2);
    largest_eigenpairs(d, M, outcome.n_components, outcome.mean_values, outcome.mean_vectors, run);
    for (double& r : root) r = r > 0 ? 1 / r : 0;
    scale_columns(W, d, q, root);
}

// (3): D = W diag(difference_weight(nu)) W' = Wp Wp' - Wn Wn', the columns of positive and negative weight scaled by
// the root of its magnitude. nu ascends, so the negative ones come first. Lower triangle of D.
void difference(double* W, const std::vector<double>& nu, std::int64_t d, std::int64_t q, double* D, Run& run) {
    std::vector<double> root(nu.begin(), nu.begin() + q);
    for (double& r : root) r = std::sqrt(std::abs(difference_weight(r)));
    scale_columns(W, d, q, root);
    const std::int64_t negative = std::lower_bound(nu.begin(), nu.begin() + q, 0.0) - nu.begin();
    syrk(d, negative, -1.0, W, 0.0, D, run);
    syrk(d, q - negative, 1.0, W + negative * d, 1.0, D, run);
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

    // Ascending values: the largest |lam| is always at one of the ends that are left, and only there are vectors
    // complete.
    for (std::int64_t c = 0, first = 0, last = d - 1; c < k; ++c) {
        const bool from_below = -lam[static_cast<std::size_t>(first)] > lam[static_cast<std::size_t>(last)];
        const std::int64_t i = from_below ? first++ : last--;
        outcome.difference_values[c] = lam[static_cast<std::size_t>(i)];
        std::copy(eigen.vector(i), eigen.vector(i + 1), outcome.difference_vectors + c * d);
        fix_sign(d, outcome.difference_vectors + c * d);
    }
}

// Kernels that agree to rounding leave scores of the size of rounding: that of nu, which singular kernels have at its
// ends too, where the weight is steep.
void check_contrast(std::int64_t d, Outcome& outcome) {
    const double largest = *std::max_element(outcome.scores.begin(), outcome.scores.end());
    if (!std::isfinite(largest)) throw NumericError("ManiFeSt met a value that isn't finite; please report the data");
    const double rounding = static_cast<double>(d) * std::numeric_limits<double>::epsilon();
    if (largest <= (outcome.rank < d ? std::abs(difference_weight(1 - rounding)) : 8 * rounding)) {
        outcome.warnings |= FASTFS_WARN_NO_CONTRAST;
    }
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

    if (outcome.n_components > 0) {
        part.step("components of the mean", 0.6);
        mean_components(classes.W.data(), classes.nu, d, q, S.data(), run, outcome);
    }

    part.step("difference operator", 0.65);
    difference(classes.W.data(), classes.nu, d, q, S.data(), run);
    classes.W = Buffer<double>();

    part.step("eigenvectors of the difference", 1.0);
    scores(d, S.data(), std::move(K1), run, outcome);
}

// What a fit reads: the handle's data, and what the call asks for.
struct Fit {
    const Samples& X;
    const std::vector<double>& row_maxima;
    const fastfs_manifest_options& options;
    const std::vector<fastfs_manifest_scale>& scales;
    const double* all;  // upper triangle of the distances over all rows, or null
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
    bool done = false;
    if (fit.all) {
        const std::size_t smaller = problem[1].rows.size() < problem[0].rows.size();
        unit[0] = unit[1] = fit.unit_of_all;
        distances(fit.X, problem[smaller].rows, fit.unit_of_all, run, D2[smaller].data());
        done = subtract_distances(fit.all, D2[smaller].data(), d, run, D2[1 - smaller].data());
    }
    for (std::size_t l : {0, 1}) {
        if (done) break;
        unit[l] = common_unit(fit.row_maxima, problem[l].rows);
        distances(fit.X, problem[l].rows, unit[l], run, D2[l].data());
    }
    for (std::size_t s = 0; s < fit.scales.size(); ++s) {
        const bool last = s + 1 == fit.scales.size();  // the distances have served: the kernels take their place
        Buffer<double> K[2];
        for (std::size_t l : {0, 1}) {
            Buffer<double> fresh = last ? Buffer<double>() : Buffer<double>(d * d);
            kernel(D2[l].data(), d, unit[l], problem[l], static_cast<int>(l), fit.scales[s], run,
                   last ? D2[l].data() : fresh.data(), outcomes[s]);
            K[l] = last ? std::move(D2[l]) : std::move(fresh);
        }
        const double begin = 0.05 + 0.95 * static_cast<double>(s) / static_cast<double>(fit.scales.size());
        const double end = 0.05 + 0.95 * static_cast<double>(s + 1) / static_cast<double>(fit.scales.size());
        require(fit.options.form == FASTFS_PENCIL, "this form isn't built yet");
        pencil_form(d, std::move(K[0]), std::move(K[1]), part.within(begin, end), outcomes[s]);
        check_contrast(d, outcomes[s]);
    }
}

// One problem by low-rank kernels, at all scales.
void wide_problem(const Fit&, const Problem&, const Part&, std::vector<Outcome>&) {
    throw InvalidArgument("the low-rank forms aren't built yet");
}

std::int64_t wide_memory(const Samples&, const fastfs_manifest_options&, const Run&) { return 0; }

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
    require(scale.normalize >= 0, "normalize must not be negative, but is " + std::to_string(scale.normalize));
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
    if (result.problem_warnings) result.problem_warnings[p] = o.warnings;
}

std::vector<std::int64_t> all_rows(const Samples& X) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(X.n_rows()));
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
}

// Of the features of some rows while their distances are computed.
std::int64_t gathering_memory(const Samples& X, const Run& run) {
    return Features<double>::memory(X, std::min(rows_at_once(X), X.n_rows())) + tile_memory(run.n_threads());
}

}  // namespace

Manifest::Manifest(Samples X, bool keep_distances, Run& run) : X_(std::move(X)) {
    const std::int64_t d = X_.n_cols();
    require(d >= 2 && d <= kMostFeatures,
            "ManiFeSt compares features with each other and needs from 2 to 4e8 of them, but X has " +
                std::to_string(d) + " feature(s)");
    run.step("reading X", keep_distances ? 0.1 : 1.0);
    row_maxima_ = X_.row_maxima(run);
    unit_ = common_unit(row_maxima_, all_rows(X_));
    if (!keep_distances) return;
    run.require_memory(8 * d * d + gathering_memory(X_, run),
                       "keeping the distances of " + std::to_string(d) + " features",
                       "raise max_memory (or FASTFS_MAX_MEMORY), or don't keep them");
    run.step("distances of the features", 1.0);
    distances_ = Buffer<double>(d * d);
    distances(X_, all_rows(X_), unit_, run, distances_.data());
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
    require(o.rank >= 1 && o.rank <= kMostFeatures, "rank must be at least 1, but is " + std::to_string(o.rank));
    require(o.reserved == 0, "the reserved field of options must be 0, but is " + std::to_string(o.reserved));
    require(n_scales >= 1, "at least one scale is needed, but n_scales is " + std::to_string(n_scales));
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
    const std::int64_t results = 8 * d * (n_scales * (n_classes + 2) + 4 * n_scales * n_components * plan.n_problems);
    const std::int64_t squares = 2 + 2 * (n_scales > 1) + (!pairs && distances_.size() == 0);
    const std::int64_t solving = 16 * d * d + vectors_memory(d, run.n_threads());
    plan.exact_bytes = 8 * d * d * squares + std::max(solving, gathering_memory(X_, run)) + results;

    constexpr std::int64_t kMostExact = 5000;
    plan.accuracy = FASTFS_EXACT;
    plan.bytes = plan.exact_bytes;
    if (o.accuracy == FASTFS_EXACT) {
        plan.reason = FASTFS_BECAUSE_ASKED;
    } else if (o.form != FASTFS_PENCIL) {
        plan.reason = FASTFS_BECAUSE_FORM;
    } else if (low_rank && 4 * o.rank > d) {
        plan.reason = FASTFS_BECAUSE_RANK;
    } else if (any && d <= kMostExact && (4 * o.rank > d || run.allows(plan.exact_bytes))) {
        plan.reason = FASTFS_BECAUSE_SIZE;
    } else {
        plan.accuracy = low_rank ? o.accuracy : FASTFS_FAST;
        plan.reason = low_rank ? FASTFS_BECAUSE_ASKED : d <= kMostExact ? FASTFS_BECAUSE_MEMORY : FASTFS_BECAUSE_SIZE;
        require(n_components <= 2 * o.rank, "n_components must not exceed twice the rank of the low-rank kernels, " +
                                                std::to_string(2 * o.rank) + ", but is " +
                                                std::to_string(n_components));
        plan.bytes = wide_memory(X_, o, run) + results;
    }
    if (plan.accuracy == FASTFS_EXACT) {
        run.require_memory(plan.bytes, "ManiFeSt in its exact form on " + std::to_string(d) + " features",
                           "raise max_memory (or FASTFS_MAX_MEMORY), choose accuracy=\"fast\", or give fewer features");
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
        std::fill_n(result.scores, d, 0.0);
        if (result.class_scores) std::fill_n(result.class_scores, n_classes * d, 0.0);
    }
    const auto classes = read_classes(labels, X_.n_rows(), n_classes);
    const bool pairs = pairwise(n_classes, options), exact = plan.accuracy == FASTFS_EXACT;

    const SingleThreadedBlas held;
    Fit fit{X_, row_maxima_, options, scales, nullptr, unit_};
    Buffer<double> summed;
    if (exact && (n_classes == 2 || !pairs)) {  // both sides of a problem together are all rows
        if (distances_.size() > 0) {
            fit.all = distances_.data();
        } else if (n_classes > 2) {
            run.step("distances of the features", 0.01);
            summed = Buffer<double>(d * d);
            distances(X_, all_rows(X_), unit_, run, summed.data());
            fit.all = summed.data();
        }
    }
    std::int64_t p = 0;
    auto solve = [&](const Problem& problem) {
        auto outcomes = prepare_outcomes(p, problem, d, results);
        const double n = static_cast<double>(plan.n_problems);
        const Part part(run, static_cast<double>(p) / n, static_cast<double>(p + 1) / n);
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
