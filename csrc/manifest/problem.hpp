// The data that ManiFeSt's steps share: a problem, the input of a fit, and its outcome.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "fastfs/fastfs.h"
#include "manifest/low_rank.hpp"
#include "support/buffer.hpp"
#include "support/errors.hpp"
#include "support/matrix.hpp"
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
    std::int32_t accuracy;  // of the plan
    const double* all;      // upper triangle of the distances over all rows, or null
    double unit_of_all;
};

// The result of a problem at one scale.
struct Outcome {
    std::vector<double> scores;
    double sigma[2] = {};
    double kept_trace[2] = {1, 1};
    std::int32_t kernel_warnings[2] = {};
    std::int64_t rank = 0;
    double steepest = 0;  // the largest |nu| that the difference has a weight at
    bool measures_agreement = true;
    double agreement = 1;
    std::int32_t warnings = 0;
    std::int64_t n_components = 0;
    double *mean_values = nullptr, *mean_vectors = nullptr, *difference_values = nullptr, *difference_vectors = nullptr;
};

// All problems of n rows, or groups of rows, with these labels; those with -1 stay out. solve writes the outcomes of
// one problem, a scale each.
using Solve = std::function<void(const Problem&, Run&, std::vector<Outcome>&)>;
void solve_problems(const std::int64_t* labels, std::int64_t n, std::int64_t d, std::int64_t n_classes,
                    const fastfs_manifest_options& options, std::int64_t n_problems, Run& run,
                    const std::vector<fastfs_manifest_result>& results, const Solve& solve);

// accuracy="auto" is exact for up to so many features, if they fit the memory: there a fit takes as long as some
// domains do. From sums over blocks of rows, which know no domains, it is for up to so many.
constexpr std::int64_t kMostExact = 1500, kMostExactFromSums = 5000;

// Bytes that the plan of a fit can't know by itself.
struct Needs {
    std::int64_t labels;                               // how many there are
    std::int64_t exact;                                // of the exact form, besides its kernels
    std::int64_t gathering;                            // of the exact form, before the kernels are solved
    std::function<std::int64_t(std::int32_t)> beyond;  // of the form of that accuracy, which isn't exact
    std::int64_t most_exact = kMostExact;
    std::int32_t accuracy_beyond = FASTFS_MANIFEST_DOMAINS;  // what "auto" chooses for more features
};
fastfs_manifest_plan plan_problems(std::int64_t d, std::int64_t n_classes, const fastfs_manifest_options& options,
                                   std::int64_t n_scales, std::int64_t n_components, const Needs& needs,
                                   const Run& run);

// Of one side: squared distances in units of unit^2, an upper triangle; norms: for a custom kernel only.
struct Distances {
    Buffer<double> D2;
    double unit = 1;
    std::vector<double> norms;
};

// One problem at all scales, which share the distances, by d x d kernels.
void compare_distances(std::int64_t d, const fastfs_manifest_options& options,
                       const std::vector<fastfs_manifest_scale>& scales, const Problem& problem,
                       std::array<Distances, 2> sides, Run& run, std::vector<Outcome>& outcomes);

// Some features by themselves, drawn at random: the exact kernel of one side between them, and the low-rank one. Both
// are made only if the agreement of the two is asked for.
struct Excerpt {
    bool wanted;
    Buffer<double> exact;
    LowRank low_rank;
};

// The kernel of one side at one scale, whose sigma goes to the outcome; a rule takes it from the pairs of some
// features.
template <class T>
Kernel kernel_of_side(const Features<T>& features, const fastfs_manifest_options& options, const Side& side,
                      std::size_t which, const fastfs_manifest_scale& scale, Run& run, Outcome& outcome);

// (1): K of one side at one scale from its features, in the fast form.
LowRank low_rank_kernel(const Features<double>& features, const fastfs_manifest_options& options, const Side& side,
                        std::size_t which, const fastfs_manifest_scale& scale, Buffer<double>& room, Run& run,
                        Outcome& outcome, Excerpt& excerpt);

// One problem at all scales, one after the other, by low-rank kernels: make returns that of a side, given room to
// share, and writes its part of the outcome.
using MakeLowRank = std::function<LowRank(std::size_t side, const fastfs_manifest_scale& scale, Buffer<double>& room,
                                          Outcome& outcome, Excerpt& excerpt)>;
void compare_low_rank(std::int64_t d, const std::vector<fastfs_manifest_scale>& scales, const MakeLowRank& make,
                      Run& run, std::vector<Outcome>& outcomes);

// One problem at one scale, by two low-rank kernels.
void low_rank_form(std::int64_t d, const LowRank& K1, const LowRank& K2, Run& run, Outcome& outcome);

// Spearman's correlation; equal values share their mean rank. Where one side is constant there is nothing to rank: 1 if
// both are.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

// A lower agreement than that comes with a warning.
constexpr double kTrustedAgreement = 0.9;

// The bytes of compare_low_rank: one side's low-rank kernel, and the other one's beside what it is made from; then both
// and the joint range.
std::int64_t low_rank_memory(std::int64_t d, std::int64_t rank, std::int64_t factor, std::int64_t features,
                             const Run& run);

// One problem of rows.
void exact_problem(const Fit& fit, const Problem& problem, Run& run, std::vector<Outcome>& outcomes);
void domains_problem(const Fit& fit, const Problem& problem, Run& run, std::vector<Outcome>& outcomes);
void wide_problem(const Fit& fit, const Problem& problem, Run& run, std::vector<Outcome>& outcomes);

std::int64_t domains_memory(const Samples& X, const fastfs_manifest_options& options, std::int64_t n_components,
                            const Run& run);
// Dimensions of the space in which domains_problem solves a domain, at most.
std::int64_t largest_domain(const fastfs_manifest_options& options);
std::int64_t wide_memory(const Samples& X, const fastfs_manifest_options& options, std::int32_t accuracy,
                         std::int64_t n_components, const Run& run);

}  // namespace fastfs::core
