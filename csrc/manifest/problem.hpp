// The data that ManiFeSt's steps share: a problem, the input of a fit, and its outcome.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engines/feature_sums.hpp"
#include "fastfs/fastfs.h"
#include "manifest/low_rank.hpp"
#include "support/buffer.hpp"
#include "support/errors.hpp"
#include "support/matrix.hpp"
#include "support/owned.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// d x d matrices hold one triangle: the upper one row by row, which LAPACK reads as the lower one column by column.

// One of the two kernels of a problem.
struct Side {
    std::int64_t index;              // among the kernels of the fit
    Name name;                       // "class 3", "all classes but 3"
    std::vector<std::int64_t> rows;  // or groups of rows, if the fit is from sums
};

using Problem = std::array<Side, 2>;

// The input of a fit: the data of the handle, and the arguments of the call.
struct Fit {
    const Samples& X;
    const std::vector<double>& row_maxima;
    const fastfs_manifest_options& options;
    const std::vector<fastfs_manifest_scale>& scales;
    const double* all;  // upper triangle of the distances over all rows, or null
    double unit_of_all;
};

// The options of a fit with its scales.
struct ScaledOptions {
    const fastfs_manifest_options& options;
    const std::vector<fastfs_manifest_scale>& scales;
};

// What Findings warns of: of a kernel, and of a problem, added up.
enum : std::int32_t {
    kKernelSigma = 1,      // the chosen distance was 0; sigma comes from the positive distances
    kKernelOneSample = 2,  // the class has one sample
    kKernelTrace = 4,      // the low-rank kernel keeps less than half of its trace
    kKernelDigits = 8      // sums over rows: hardly a digit is left of a distance between features
};
enum : std::int32_t {
    kProblemFlat = 1,       // no score exceeds rounding errors
    kProblemAgreement = 2,  // the agreement is below kTrustedAgreement
    kProblemAngle = 4       // SPSD: a direction of one kernel is orthogonal to all of the other
};

// The result of a problem at one scale.
struct Outcome {
    std::vector<double> scores;
    double sigma[2] = {};
    double kept_trace[2] = {1, 1};
    std::int32_t kernel_flags[2] = {};
    std::int64_t rank = 0;
    double steepest = 0;  // the largest |nu| with a weight in the difference
    bool measures_agreement = true;
    double agreement = 1;
    std::int32_t warnings = 0;
    std::int64_t n_components = 0;
    double *mean_values = nullptr, *mean_vectors = nullptr, *difference_values = nullptr, *difference_vectors = nullptr;
};

// Tests if classes are compared in pairs, not each with all other classes.
bool pairwise(std::int64_t n_classes, std::int32_t multiclass);

// Solves all problems of n rows (or groups of rows) with the labels; rows with label -1 stay out. solve writes the
// outcomes of one problem, one per scale. Makes the arrays of the results, one per scale. Warns of what the problems
// found at the first scale. of_kernels: the caller has computed the kernels.
using Solve = std::function<void(const Problem&, Run&, std::vector<Outcome>&)>;
void solve_problems(const std::int64_t* labels, std::int64_t n, std::int64_t d, std::int64_t n_classes,
                    const fastfs_manifest_options& options, const fastfs_manifest_plan& plan, bool of_kernels, Run& run,
                    std::vector<Owned<fastfs_manifest_result>>& results, const Solve& solve);

// The largest number of features for which accuracy="auto" is exact, if memory allows: an exact fit of this size takes
// as long as a few domains.
constexpr std::int64_t kMostExact = 1500;

// Tests if an accuracy other than auto solves domains.
constexpr bool is_by_domains(std::int32_t accuracy) {
    return accuracy == FASTFS_MANIFEST_DOMAINS || accuracy == FASTFS_MANIFEST_SMALL_DOMAINS;
}

// Returns options with another accuracy, such as that of a plan in place of auto.
inline fastfs_manifest_options with_accuracy(fastfs_manifest_options options, std::int32_t accuracy) {
    options.accuracy = accuracy;
    return options;
}

// The bytes of a fit that depend on the source of its kernels, for the plan.
struct Needs {
    std::int64_t labels;     // how many there are
    std::int64_t exact;      // of the exact form, besides its kernels
    std::int64_t gathering;  // of the exact form, before the kernels are solved
    std::function<std::int64_t(const fastfs_manifest_options&)> beyond;  // of an accuracy other than auto and exact
};
fastfs_manifest_plan plan_problems(std::int64_t d, std::int64_t n_classes, const fastfs_manifest_options& options,
                                   std::int64_t n_scales, const Needs& needs, const Run& run);

// Squared distances of one side in units of unit^2, an upper triangle; norms: only for a custom kernel.
struct Distances {
    Buffer<double> D2;
    double unit = 1;
    std::vector<double> norms;
};

// Makes the two d x d kernels of a problem at each scale from the distances of its sides, compares them, and writes one
// outcome per scale.
void compare_distances(std::int64_t d, const fastfs_manifest_options& options,
                       const std::vector<fastfs_manifest_scale>& scales, const Problem& problem,
                       std::array<Distances, 2> sides, Run& run, std::vector<Outcome>& outcomes);

// Writes the scores of two d x d kernels, and the components if asked for, to the outcome, in one of the forms
// FASTFS_MANIFEST_PENCIL, _SPD, _SPSD.
void compare_kernels(std::int64_t d, std::int32_t form, std::array<Buffer<double>, 2> K, Run& run, Outcome& outcome);

// The exact and the low-rank kernel of one side between a random sample of features, made only if `wanted`, to measure
// the agreement of their scores.
struct Excerpt {
    bool wanted;
    Buffer<double> exact;
    LowRank low_rank;
};

// Chooses the kernel of one side at one scale and writes its sigma to the outcome; a rule takes sigma from the pairs of
// a sample of features.
template <class T>
Kernel kernel_of_side(const Features<T>& features, const fastfs_manifest_options& options, const Side& side,
                      std::size_t which, const fastfs_manifest_scale& scale, Run& run, Outcome& outcome);

// Makes the low-rank K of one side at one scale, equation (1), from its features.
LowRank low_rank_kernel(const Features<double>& features, const fastfs_manifest_options& options, const Side& side,
                        std::size_t which, const fastfs_manifest_scale& scale, Buffer<double>& room, Run& run,
                        Outcome& outcome, Excerpt& excerpt);

// Writes one outcome per scale from low-rank kernels. make returns the kernel of a side, given memory to share, and
// writes its part of the outcome.
using MakeLowRank = std::function<LowRank(std::size_t side, const fastfs_manifest_scale& scale, Buffer<double>& room,
                                          Outcome& outcome, Excerpt& excerpt)>;
void compare_low_rank(std::int64_t d, const std::vector<fastfs_manifest_scale>& scales, const MakeLowRank& make,
                      Run& run, std::vector<Outcome>& outcomes);

// Writes the scores of two low-rank kernels, their rank and their components to the outcome.
void low_rank_form(std::int64_t d, const LowRank& K1, const LowRank& K2, Run& run, Outcome& outcome);

// Returns Spearman's correlation; equal values share their mean rank. Returns 0 if one side is constant, 1 if both are.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

// An agreement below kTrustedAgreement comes with a warning.
constexpr double kTrustedAgreement = 0.9;

// Counts the bytes of compare_low_rank: the low-rank kernel of one side together with the other kernel in the making,
// or both kernels with their joint range.
std::int64_t low_rank_memory(std::int64_t d, std::int64_t rank, std::int64_t factor, std::int64_t features,
                             const Run& run);

// Solve one problem of rows, exactly, by domains, or by low-rank kernels, and write one outcome per scale.
void exact_problem(const Fit& fit, const Problem& problem, Run& run, std::vector<Outcome>& outcomes);
void domains_problem(const Fit& fit, const Problem& problem, Run& run, std::vector<Outcome>& outcomes);
void wide_problem(const Fit& fit, const Problem& problem, Run& run, std::vector<Outcome>& outcomes);

// Solves one problem by domains, given the products of all pairs of features in each class, and writes one outcome per
// scale.
void domains_of_products(std::array<std::shared_ptr<const PairProducts>, 2> products, const Problem& problem,
                         const ScaledOptions& how, Run& run, std::vector<Outcome>& outcomes);

// Counts the bytes of domains_of_products, besides the products.
std::int64_t domains_of_products_memory(std::int64_t d, const fastfs_manifest_options& options,
                                        std::int64_t n_components, const Run& run);

// Writes the scores of two d x d kernels, computed by domains, to the outcome.
void domains_of_kernels(std::int64_t d, const std::array<const double*, 2>& K, const fastfs_manifest_options& options,
                        Run& run, Outcome& outcome);
std::int64_t domains_of_kernels_memory(std::int64_t d, const fastfs_manifest_options& options,
                                       std::int64_t n_components, const Run& run);
std::int64_t domains_memory(const Samples& X, const fastfs_manifest_options& options, std::int64_t n_components,
                            const Run& run);
// Returns the largest dimension of the space in which domains_problem solves a domain.
std::int64_t largest_domain(const fastfs_manifest_options& options);
// Returns the work of a problem by domains: the sum of the cubes of the sizes of its eigenproblems.
double work_of_domains(std::int64_t d, const fastfs_manifest_options& options);
std::int64_t wide_memory(const Samples& X, const fastfs_manifest_options& options, std::int64_t n_components,
                         const Run& run);

}  // namespace fastfs::core
