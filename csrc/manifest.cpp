#include "manifest.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
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
struct ClassKernel {
    double sigma = 0;
    bool zero_distance = false;  // the rule gave 0, and the positive distances were taken instead
};

std::vector<std::int64_t> rows_of_class(const std::int64_t* labels, std::int64_t n, std::int64_t which) {
    std::vector<std::int64_t> rows;
    for (std::int64_t r = 0; r < n; ++r) {
        if (labels[r] == which) rows.push_back(r);
    }
    return rows;
}

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

// sigma of one class in units of its features; D2 is its upper triangle.
ClassKernel choose_sigma(const double* D2, std::int64_t d, const fastfs_manifest_options& options, int which,
                         Run& run) {
    const bool median = options.sigma_rule == FASTFS_SIGMA_MEDIAN;
    const double percentile = median ? 50 : options.sigma_percentile;
    ClassKernel kernel;
    kernel.sigma = percentile_distance(D2, d, percentile, false, run);
    if (kernel.sigma == 0) {
        bool distinct = false;
        for_pairs(D2, d, run, [&](double d2) { distinct |= d2 > 0; });
        require(distinct, "all features have equal values in every sample of class " + std::to_string(which) +
                              ": there are no distances between features to set sigma from");
        kernel.zero_distance = true;
        kernel.sigma = percentile_distance(D2, d, percentile, true, run);
    }
    if (median) kernel.sigma *= options.sigma_factor;
    return kernel;
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

// (1): K of one class, into the upper triangle of K.
ClassKernel class_kernel(const Matrix& X, const std::vector<double>& row_maxima, const std::vector<std::int64_t>& rows,
                         const fastfs_manifest_options& options, int which, Run& run, double* K) {
    const Features<double> features(X, row_maxima, rows, Shift::kRow, run);
    const std::int64_t d = features.n_features();
    squared_distances_upper(features, run, K);
    ClassKernel kernel;
    if (options.sigma_rule == FASTFS_SIGMA_GIVEN) {
        kernel.sigma = options.sigma[which] / features.unit();
    } else {
        kernel = choose_sigma(K, d, options, which, run);
    }
    // Kept finite, so that distance 0 stays affinity 1 however small sigma is.
    const double scale = std::min(0.5 / kernel.sigma / kernel.sigma, std::numeric_limits<double>::max());
    parallel_for(run, (d + kTile - 1) / kTile, [&](std::int64_t block, int) {
        for (std::int64_t i = block * kTile; i < std::min((block + 1) * kTile, d); ++i) {
            tile_kernels<double>().exp_neg(K + i * d + i, d - i, scale);
        }
    });
    if (options.normalize > 0) normalize(K, d, options.normalize);
    kernel.sigma *= features.unit();
    return kernel;
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
                     fastfs_manifest_result& result) {
    std::vector<double> root(nu.begin(), nu.begin() + q);
    for (double& r : root) r = std::sqrt(mean_weight(r));
    scale_columns(W, d, q, root);
    syrk(d, q, 1.0, W, 0.0, M, run);
    run.checkpoint(0.2);
    largest_eigenpairs(d, M, result.n_components, result.mean_values, result.mean_vectors, run);
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
void scores(std::int64_t d, double* D, Buffer<double> spare, Run& run, fastfs_manifest_result& result) {
    const std::int64_t k = result.n_components;
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

    double* r = result.scores;
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
        result.difference_values[c] = lam[static_cast<std::size_t>(i)];
        std::copy(eigen.vector(i), eigen.vector(i + 1), result.difference_vectors + c * d);
        fix_sign(d, result.difference_vectors + c * d);
    }
}

void check_arguments(const Matrix& X, const std::int64_t* labels, const fastfs_manifest_options& o,
                     const fastfs_manifest_result& result) {
    require(labels != nullptr, "labels are null");
    require(o.reserved == 0 && result.reserved == 0, "the reserved fields of options and result must be 0");
    require(result.scores != nullptr, "result.scores is null");
    for (std::int64_t r = 0; r < X.n_rows(); ++r) {
        if (labels[r] == 0 || labels[r] == 1) continue;
        throw InvalidArgument("labels must be 0 or 1, but that of row " + std::to_string(r) + " is " +
                              std::to_string(labels[r]));
    }
    require(X.n_cols() >= 2 && X.n_cols() <= kMostFeatures,
            "ManiFeSt compares features with each other and needs from 2 to 4e8 of them, but X has " +
                std::to_string(X.n_cols()) + " feature(s)");
    auto positive = [](double value) { return value > 0 && std::isfinite(value); };
    switch (o.sigma_rule) {
        case FASTFS_SIGMA_MEDIAN:
            require(positive(o.sigma_factor), "sigma_factor must be a positive number, not " + text(o.sigma_factor));
            break;
        case FASTFS_SIGMA_PERCENTILE:
            require(o.sigma_percentile > 0 && o.sigma_percentile < 100,
                    "sigma_percentile must lie between 0 and 100, both excluded, but is " + text(o.sigma_percentile));
            break;
        case FASTFS_SIGMA_GIVEN:
            require(positive(o.sigma[0]) && positive(o.sigma[1]),
                    "sigma must be two positive numbers, not " + text(o.sigma[0]) + " and " + text(o.sigma[1]));
            break;
        default:
            throw InvalidArgument("sigma_rule must be one of FASTFS_SIGMA_*, not " + std::to_string(o.sigma_rule));
    }
    require(o.normalize >= 0, "normalize must not be negative, but is " + std::to_string(o.normalize));
    require(result.n_components >= 0 && result.n_components <= X.n_cols(),
            "n_components must lie between 0 and the " + std::to_string(X.n_cols()) + " features, but is " +
                std::to_string(result.n_components));
    require(result.n_components == 0 ||
                (result.mean_values && result.mean_vectors && result.difference_values && result.difference_vectors),
            "n_components is positive, but an array of the components is null");
}

}  // namespace

std::int64_t manifest_memory(const Matrix& X, std::int64_t n_components, const Run& run) {
    const std::int64_t d = X.n_cols();
    require(d <= kMostFeatures, "the kernels of " + std::to_string(d) + " features can't be stored");
    // K1 and S; besides, first the features of a class and a tile a thread, later as much again for LAPACK, and panels
    // for the eigenvectors; and those that are handed out, as arrays and once more by the caller's language.
    const std::int64_t gathering = Features<double>::memory(X, X.n_rows()) + tile_memory(run.n_threads());
    const std::int64_t bytes = 16 * d * d + std::max(16 * d * d + vectors_memory(d, run.n_threads()), gathering) +
                               32 * d * std::max<std::int64_t>(n_components, 0);
    run.require_memory(bytes, "ManiFeSt in its exact form on " + std::to_string(d) + " features",
                       "raise max_memory (or FASTFS_MAX_MEMORY), or give fewer features");
    return bytes;
}

void manifest(const Matrix& X, const std::int64_t* labels, const fastfs_manifest_options& options, Run& run,
              fastfs_manifest_result& result) {
    check_arguments(X, labels, options, result);
    const std::int64_t d = X.n_cols();
    std::vector<std::int64_t> rows[2];
    for (int l : {0, 1}) {
        rows[l] = rows_of_class(labels, X.n_rows(), l);
        require(!rows[l].empty(), "class " + std::to_string(l) + " has no samples");
    }
    manifest_memory(X, result.n_components, run);

    const SingleThreadedBlas held;
    // Shares of the whole as measured at d = 2000.
    run.step("affinity of the features", 0.05);
    const std::vector<double> row_maxima = X.row_maxima(run);
    Buffer<double> K1(d * d), S(d * d);
    ClassKernel kernels[2];
    kernels[0] = class_kernel(X, row_maxima, rows[0], options, 0, run, K1.data());
    kernels[1] = class_kernel(X, row_maxima, rows[1], options, 1, run, S.data());
    parallel_for(run, d, [&](std::int64_t i, int) {  // K1, K2 -> K1 - K2, S = K1 + K2
        for (std::int64_t j = i; j < d; ++j) {
            const double k1 = K1[i * d + j], k2 = S[i * d + j];
            K1[i * d + j] = k1 - k2;
            S[i * d + j] = k1 + k2;
        }
    });

    run.step("pencil of the class kernels", 0.55);
    Pencil classes = pencil(d, K1.data(), S, run);
    const auto q = static_cast<std::int64_t>(classes.nu.size());

    if (result.n_components > 0) {
        run.step("components of the mean", 0.6);
        mean_components(classes.W.data(), classes.nu, d, q, S.data(), run, result);
    }

    run.step("difference operator", 0.65);
    difference(classes.W.data(), classes.nu, d, q, S.data(), run);
    classes.W = Buffer<double>();

    run.step("eigenvectors of the difference", 1.0);
    scores(d, S.data(), std::move(K1), run, result);

    result.rank = q;
    result.warnings = 0;
    for (int l : {0, 1}) {
        result.sigma[l] = kernels[l].sigma;
        if (kernels[l].zero_distance) result.warnings |= FASTFS_WARN_SIGMA_0 << l;
        if (rows[l].size() == 1) result.warnings |= FASTFS_WARN_ONE_SAMPLE_0 << l;
    }
    const double largest = *std::max_element(result.scores, result.scores + d);
    if (!std::isfinite(largest)) throw NumericError("ManiFeSt met a value that isn't finite; please report the data");
    // Kernels that agree to rounding leave scores of the size of rounding: that of nu, which singular kernels have at
    // its ends too, where the weight is steep.
    const double rounding = static_cast<double>(d) * std::numeric_limits<double>::epsilon();
    if (largest <= (q < d ? std::abs(difference_weight(1 - rounding)) : 8 * rounding)) {
        result.warnings |= FASTFS_WARN_NO_CONTRAST;
    }
}

}  // namespace fastfs::core
