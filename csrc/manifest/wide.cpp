#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "engines/affinity.hpp"
#include "engines/spectral.hpp"
#include "manifest/low_rank.hpp"
#include "manifest/operators.hpp"
#include "manifest/scale.hpp"
#include "manifest/tall.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"
#include "support/random.hpp"

namespace fastfs::core {
namespace {

constexpr std::int64_t kSampled = 2000;  // features that sigma is taken from

// Returns sigma of one side by a rule, from the pairs of a sample of features; adds flags to `warnings`.
template <class T>
double sampled_sigma(const Features<T>& features, const fastfs_manifest_options& o, const Side& side,
                     const fastfs_manifest_scale& scale, std::int32_t& warnings, Run& run) {
    constexpr std::uint64_t kStream = ~std::uint64_t{0};  // differs from all streams of the low-rank kernels
    const std::int64_t n = std::min(features.n_features(), kSampled);
    const Features<double> some(features, Random(o.seed, kStream).subset(features.n_features(), n), run);
    Buffer<double> D2(n * n);
    squared_distances_upper(some, false, run, D2.data());
    return in_units_of_data(choose_sigma(D2.data(), n, scale, side.name, warnings, run), features.unit(), side.name);
}

std::int64_t excerpt_size(std::int64_t d, std::int64_t rank) {
    return std::min(d, std::clamp<std::int64_t>(4 * rank, 500, 1000));
}

// The arguments that all steps of a low-rank kernel need.
struct How {
    const fastfs_manifest_options& options;
    const Side& side;
    std::size_t which;
    const fastfs_manifest_scale& scale;
};

// Returns the kernel cut to `rank`, by Nystrom products for accuracy LOW_RANK_HIGH, otherwise by landmarks. room:
// memory that calls share.
template <class T>
LowRank factor_kernel(const Features<T>& features, const Kernel& kernel, const How& how, std::int64_t rank,
                      Buffer<double>& room, Run& run) {
    const std::uint64_t seed = how.options.seed;
    const int times = how.scale.normalize;
    return how.options.accuracy == FASTFS_MANIFEST_LOW_RANK_HIGH
               ? nystrom(features, kernel, times, rank, seed, room, run)
               : landmarks(features, kernel, times, rank, seed, room, run);
}

// Returns the kernel of one side at one scale, and writes its sigma to the outcome.
template <class T>
Kernel choose_kernel(const Features<T>& features, const How& how, Run& run, Outcome& outcome) {
    const auto& o = how.options;
    double& sigma = outcome.sigma[how.which];
    sigma = how.scale.rule == FASTFS_MANIFEST_SIGMA_GIVEN
                ? how.scale.sigma[how.side.index]
                : sampled_sigma(features, o, how.side, how.scale, outcome.kernel_flags[how.which], run);
    return Kernel{.kind = o.custom ? Kernel::Kind::kCustom : Kernel::Kind::kRbf,
                  .sigma = sigma,
                  .function = o.custom,
                  .user = o.user};
}

// Returns the kernel cut to o.rank and, if the excerpt is wanted, sets it to the exact and low-rank kernels on a random
// sample of features.
template <class T>
LowRank make_low_rank(const Features<T>& features, const Kernel& kernel, const How& how, Buffer<double>& room, Run& run,
                      Excerpt& excerpt) {
    constexpr std::uint64_t kStream = ~std::uint64_t{0} - 1;
    const auto& o = how.options;
    if (excerpt.wanted) {
        const std::int64_t n = excerpt_size(features.n_features(), o.rank);
        const Features<double> some(features, Random(o.seed, kStream).subset(features.n_features(), n), run);
        excerpt.exact = Buffer<double>(n * n);
        affinity(some, kernel, run, excerpt.exact.data());
        if (how.scale.normalize > 0) normalize_kernel(excerpt.exact.data(), n, how.scale.normalize, run);
        Buffer<double> small;
        excerpt.low_rank = factor_kernel(some, kernel, how, std::min(o.rank, n / 4), small, run);
    }
    return factor_kernel(features, kernel, how, o.rank, room, run);
}

// Returns the low-rank K of one side at one scale, equation (1) of docs/manifest.md, from its rows; writes sigma to the
// outcome, and the excerpt if it is wanted.
LowRank kernel_of_rows(const Fit& fit, const How& how, Buffer<double>& room, Run& run, Outcome& outcome,
                       Excerpt& excerpt) {
    const std::vector<std::int64_t>& rows = how.side.rows;
    const double unit = common_unit(fit.row_maxima, rows);
    if (!fit.options.custom && (fit.options.accuracy == FASTFS_MANIFEST_LOW_RANK_HIGH || fit.X.is_float32())) {
        const Features<float> features(fit.X, rows, unit, Shift::kRow, run);
        const Kernel kernel = choose_kernel(features, how, run, outcome);
        if (float_tiles_serve(features, kernel)) return make_low_rank(features, kernel, how, room, run, excerpt);
    }
    const Features<double> features(fit.X, rows, unit, Shift::kRow, run);
    return make_low_rank(features, choose_kernel(features, how, run, outcome), how, room, run, excerpt);
}

// Both low-rank kernels in their joint range: Q = [G1, R Z] is orthonormal, with R = (I - G1 G1') G2, R'R = V diag(w)
// V', Z = V diag(w)^(-1/2) for the w that are more than rounding; A_l = Q' K_l Q.
struct JointRange {
    std::int64_t q;
    Buffer<double> R, Z;  // d x k2, row-major; k2 x (q - k1)
    Buffer<double> A[2];  // q x q
};

// Returns a basis of the joint range of two low-rank kernels, and both kernels in it.
JointRange joint_range(std::int64_t d, const LowRank& K1, const LowRank& K2, Run& run) {
    const std::int64_t k1 = K1.rank(), k2 = K2.rank();
    const double *G1 = K1.G.data(), *G2 = K2.G.data();
    JointRange joint;
    joint.R = Buffer<double>(d * k2);
    double* R = joint.R.data();

    // Computes R = G2 - G1 C, projected twice: first with C, then with the remainder of G1 in R.
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
        syrk_lower('N', k2, rows, 1.0, R + i0 * k2, k2, 1.0, part, k2);
    });
    for (std::int64_t e = 0; e < k1 * k2; ++e) C[e] += rest[e];

    constexpr double kSmallest = 1e-10;
    SymmetricEigen eigen(k2, H.data(), run);
    const std::vector<double>& w = eigen.values();
    const std::int64_t dropped = std::upper_bound(w.begin(), w.end(), kSmallest) - w.begin(), added = k2 - dropped;
    eigen.make_vectors(dropped, k2, run);
    const std::int64_t q = joint.q = k1 + added;

    // Computes T_l = Q' G_l, and A_l = T_l diag(w_l - delta_l) T_l' + delta_l I. T1 = [I; 0]; T2 = [C; diag(w)^(1/2)
    // V'].
    joint.Z = Buffer<double>(k2 * added);
    Buffer<double> T2(q * k2), weighted(q * k2);
    for (std::int64_t c = 0; c < k2; ++c) std::copy(C.data() + c * k1, C.data() + (c + 1) * k1, T2.data() + c * q);
    for (std::int64_t a = 0; a < added; ++a) {
        const double root = std::sqrt(w[at(dropped + a)]);
        const double* v = eigen.vector(dropped + a);
        for (std::int64_t c = 0; c < k2; ++c) {
            joint.Z[a * k2 + c] = v[c] / root;
            T2[c * q + k1 + a] = v[c] * root;
        }
    }
    for (std::int64_t c = 0; c < k2; ++c) {
        const double weight = K2.w[at(c)] - K2.delta;
        for (std::int64_t i = 0; i < q; ++i) weighted[c * q + i] = weight * T2[c * q + i];
    }
    for (auto& A : joint.A) {
        A = Buffer<double>(q * q);
        std::fill_n(A.data(), q * q, 0.0);
    }
    gemm('N', 'T', q, q, k2, 1.0, weighted.data(), q, T2.data(), q, 0.0, joint.A[1].data(), q);
    for (std::int64_t i = 0; i < q; ++i) {
        joint.A[0][i * q + i] = i < k1 ? K1.w[at(i)] : K1.delta;
        joint.A[1][i * q + i] += K2.delta;
    }
    return joint;
}

// Computes Q U (d x n), Q the basis of the joint range, U q x n column-major, in blocks of rows: calls use(first row,
// rows, values), values row-major, in parallel.
template <class F>
void multiply_joint_range(std::int64_t d, const LowRank& K1, const JointRange& joint, const double* U, std::int64_t n,
                          Run& run, F&& use) {
    const std::int64_t k1 = K1.rank(), k2 = joint.R.size() / d, added = joint.q - k1;
    Buffer<double> ZU(k2 * n);  // with this, Q U = G1 U1 + R (Z U2)
    gemm('N', 'N', k2, n, added, 1.0, joint.Z.data(), k2, U + k1, joint.q, 0.0, ZU.data(), k2);
    auto blocks = buffers<double>(run.n_threads(), kTile * n);
    parallel_for(run, ceil_div(d, kTile), [&](std::int64_t task, int slot) {
        const std::int64_t i0 = task * kTile, rows = std::min(kTile, d - i0);
        double* block = blocks[at(slot)].data();
        gemm('T', 'N', n, rows, k1, 1.0, U, joint.q, K1.G.data() + i0 * k1, k1, 0.0, block, n);
        gemm('T', 'N', n, rows, k2, 1.0, ZU.data(), k2, joint.R.data() + i0 * k2, k2, 1.0, block, n);
        use(i0, rows, block);
    });
}

// Writes n components of the joint range as vectors over the features, and zeros for the remaining wanted components.
void expand_components(std::int64_t d, const LowRank& K1, const JointRange& joint, const double* U, std::int64_t n,
                       std::int64_t wanted, Run& run, double* values, double* vectors) {
    std::fill(values + n, values + wanted, 0.0);
    std::fill(vectors + n * d, vectors + wanted * d, 0.0);
    multiply_joint_range(d, K1, joint, U, n, run, [&](std::int64_t i0, std::int64_t rows, const double* block) {
        for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t c = 0; c < n; ++c) vectors[c * d + i0 + i] = block[i * n + c];
        }
    });
    for (std::int64_t c = 0; c < n; ++c) fix_sign(d, vectors + c * d);
}

// Returns the rank correlation of low-rank with exact scores on an excerpt of features, 1 if neither find a difference,
// and destroys the exact kernels of the excerpt. No trace or gap of the kernels shows it, since exact scores rest on
// the small eigenvalues of the kernels, too.
double agreement_on_excerpt(Excerpt (&excerpt)[2], Run& run) {
    const auto n = static_cast<std::int64_t>(std::sqrt(static_cast<double>(excerpt[0].exact.size())) + 0.5);
    Outcome exact, low_rank;
    exact.scores.resize(at(n));
    low_rank.scores.resize(at(n));
    {
        const Run::Part part(run, 0, 0.2);
        low_rank_form(n, excerpt[0].low_rank, excerpt[1].low_rank, run, low_rank);
    }
    const double largest = std::max(excerpt[0].low_rank.largest, excerpt[1].low_rank.largest);
    const Run::Part part(run, 0.2, 1);
    pencil_form(n, std::move(excerpt[0].exact), std::move(excerpt[1].exact), run, exact);
    check_contrast(n, largest, std::numeric_limits<double>::epsilon(), exact);
    if (exact.warnings & low_rank.warnings & kProblemFlat) return 1;  // both find no difference
    return rank_correlation(exact.scores, low_rank.scores);
}

}  // namespace

// Writes the scores and components of (2) to (4) for two low-rank kernels to the outcome. Works in the joint range, and
// off it, where both are multiples of the identity. Off the range |D| is c = 1/2 sqrt(delta_1 delta_2) |log(delta_1 /
// delta_2)|, so with D = B diag(lam) B' in the range r_i = sum_j B_ij^2 |lam_j| + c (1 - sum_j B_ij^2).
void low_rank_form(std::int64_t d, const LowRank& K1, const LowRank& K2, Run& run, Outcome& outcome) {
    run.step("joint range of the class kernels", 0.9);
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
        write_mean_components(classes.W.data(), classes.nu, q, rank, D.data(), Buffer<double>(), run, within);
        expand_components(d, K1, joint, U.data(), n, outcome.n_components, run, outcome.mean_values,
                          outcome.mean_vectors);
    }
    difference_operator(classes.W.data(), classes.nu, q, rank, D.data(), run);
    SymmetricEigen eigen(q, D.data(), run);
    eigen.make_vectors(0, q, run);
    const std::vector<double>& lam = eigen.values();

    run.step("scores", 1.0);
    const double c = 0.5 * std::sqrt(K1.delta * K2.delta) * std::abs(std::log(K1.delta / K2.delta));
    multiply_joint_range(d, K1, joint, eigen.vector(0), q, run,
                         [&](std::int64_t i0, std::int64_t rows, const double* B) {
                             for (std::int64_t i = 0; i < rows; ++i, B += q) {
                                 double inside = 0, share = 0;
                                 for (std::int64_t j = 0; j < q; ++j) {
                                     const double square = B[j] * B[j];
                                     share += square;
                                     inside += square * std::abs(lam[at(j)]);
                                 }
                                 outcome.scores[at(i0 + i)] = inside + c * std::max(0.0, 1 - share);
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

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
    const std::size_t n = a.size();
    // Returns the ranks of the values less their mean.
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

template <class T>
Kernel kernel_of_side(const Features<T>& features, const fastfs_manifest_options& options, const Side& side,
                      std::size_t which, const fastfs_manifest_scale& scale, Run& run, Outcome& outcome) {
    return choose_kernel(features, How{options, side, which, scale}, run, outcome);
}
template Kernel kernel_of_side(const Features<float>&, const fastfs_manifest_options&, const Side&, std::size_t,
                               const fastfs_manifest_scale&, Run&, Outcome&);
template Kernel kernel_of_side(const Features<double>&, const fastfs_manifest_options&, const Side&, std::size_t,
                               const fastfs_manifest_scale&, Run&, Outcome&);

LowRank low_rank_kernel(const Features<double>& features, const fastfs_manifest_options& options, const Side& side,
                        std::size_t which, const fastfs_manifest_scale& scale, Buffer<double>& room, Run& run,
                        Outcome& outcome, Excerpt& excerpt) {
    const How how{options, side, which, scale};
    return make_low_rank(features, choose_kernel(features, how, run, outcome), how, room, run, excerpt);
}

// Solves one problem of rows by low-rank kernels, and writes one outcome per scale.
void wide_problem(const Fit& fit, const Problem& problem, Run& run, std::vector<Outcome>& outcomes) {
    auto make = [&](std::size_t l, const fastfs_manifest_scale& scale, Buffer<double>& room, Outcome& outcome,
                    Excerpt& excerpt) {
        const How how{fit.options, problem[l], l, scale};
        return kernel_of_rows(fit, how, room, run, outcome, excerpt);
    };
    compare_low_rank(fit.X.n_cols(), fit.scales, make, run, outcomes);
}

// Solves one problem by low-rank kernels at all scales; make(side, scale, ..) makes a kernel. Writes one outcome per
// scale.
void compare_low_rank(std::int64_t d, const std::vector<fastfs_manifest_scale>& scales, const MakeLowRank& make,
                      Run& run, std::vector<Outcome>& outcomes) {
    const double n = static_cast<double>(scales.size());
    Buffer<double> room;
    for (std::size_t s = 0; s < scales.size(); ++s) {
        const Run::Part of_scale(run, static_cast<double>(s) / n, static_cast<double>(s + 1) / n);
        LowRank K[2];
        const bool measured = outcomes[s].measures_agreement;
        Excerpt excerpt[2] = {{.wanted = measured, .exact = {}, .low_rank = {}},
                              {.wanted = measured, .exact = {}, .low_rank = {}}};
        for (std::size_t l : {0, 1}) {
            run.step("low-rank kernel of a class", l == 0 ? 0.38 : 0.76);
            K[l] = make(l, scales[s], room, outcomes[s], excerpt[l]);
            outcomes[s].kept_trace[l] = K[l].kept_trace;
            if (K[l].kept_trace < 0.5) outcomes[s].kernel_flags[l] |= kKernelTrace;
        }
        {
            run.step("comparison", 0.95);
            const Run::Part part(run, 0, 1);
            low_rank_form(d, K[0], K[1], run, outcomes[s]);
        }
        if (!measured) continue;
        run.step("agreement with the exact scores", 1.0);
        outcomes[s].agreement = agreement_on_excerpt(excerpt, run);
        if (outcomes[s].agreement < kTrustedAgreement) outcomes[s].warnings |= kProblemAgreement;
    }
}

// Counts the bytes of a fit in memory with low-rank kernels or, if the accuracy says so, by domains.
std::int64_t wide_memory(const Samples& X, const fastfs_manifest_options& o, std::int64_t n_components,
                         const Run& run) {
    const std::int64_t d = X.n_cols();
    if (is_by_domains(o.accuracy)) return domains_memory(X, o, n_components, run);
    const bool high = o.accuracy == FASTFS_MANIFEST_LOW_RANK_HIGH;
    const std::int64_t factor =
        high ? nystrom_memory(d, o.rank, run.n_threads()) : landmarks_memory(d, o.rank, run.n_threads());
    // Features are in single precision as a rule, but a small sigma, which isn't known yet, requires double.
    return low_rank_memory(d, o.rank, factor, Features<double>::memory(X, X.n_rows()), run);
}

std::int64_t low_rank_memory(std::int64_t d, std::int64_t rank, std::int64_t factor, std::int64_t features,
                             const Run& run) {
    const std::int64_t G = 8 * d * rank;
    const std::int64_t joint = G + sum_over_rows_memory(d, rank * rank) + 16 * run.n_threads() * kTile * rank;
    const std::int64_t n = excerpt_size(d, rank), sampled = std::min(d, kSampled);
    return G + factor + std::max(features + 9 * sampled * sampled, joint) + 8 * 40 * rank * rank + 8 * 8 * n * n;
}

}  // namespace fastfs::core
