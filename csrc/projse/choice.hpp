// Steps 3 and 4 of ProjSe: projection on the targets, and the choice of candidates.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engines/spectral.hpp"
#include "fastfs/fastfs.h"
#include "projse/residual.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/owned.hpp"
#include "support/run.hpp"

namespace fastfs::core {

constexpr double kTie = 1e-10;  // relative difference of scores that count as equal: then the lowest index wins

// Returns the lowest index from `begin` on with a score that nearly equals the best.
inline std::int64_t lowest_of_best(const Numbers& scores, const std::vector<char>& chosen, std::int64_t begin,
                                   double best) {
    while (chosen[at(begin)] || scores[at(begin)] < best * (1 - kTie)) ++begin;
    return begin;
}

// Writes columns j0 .. j0 + w - 1 of K_YX into tile (n_t x w, column-major).
using KernelTile = std::function<void(std::int64_t j0, std::int64_t w, double* tile)>;

// Directions of numbers with eigenvalues below these shares of the largest: sums have few digits of them, so that
// scores are off by more than 1e-8 (1e-3 in single precision); or can't tell them from nothing.
constexpr double kFewDigits = 1e-7, kFewDigitsOfSingle = 1e-4, kNoDigits = 1e-12, kNoDigitsOfSingle = 1e-6;

// How columns of the target depend on each other: by a direction of few digits that was kept, by one that was left out,
// or by one that was left out and may be nothing.
enum class Dependence { kNone, kWeakly, kNearly, kPerhaps };

// Warns of targets that depend on each other; does nothing for kNone.
void warn_of_dependent_targets(Dependence how, const fastfs_projse_options& o, std::int64_t rank,
                               bool in_single_precision);

// Tells whether a combination of the target's columns has a length beyond `floor`, more exactly than sums of products
// can.
using IsOutside = std::function<bool(const Numbers& combination, double floor)>;

// Targets that are numbers, with the linear kernel.
struct LinearTargets {
    Numbers scale;  // 0 for targets without values
    bool in_single_precision;
    IsOutside is_outside;  // for combinations of the columns times `scale`, if they are in memory
};

// Returns a random combination of length 1 that is orthogonal to the eigenvectors first..n - 1.
Numbers draw_outside(SymmetricEigen& eigen, std::int64_t n, std::int64_t first, const Numbers& scale);

// Returns the length of a combination that rounding alone can cause, if it is orthogonal to eigenvectors with
// eigenvalues from `least_kept` to `largest`. eps: of the target's values.
double rounding_of_length(double least_kept, double largest, double eps);

// Chooses from K_YY (n_t x n_t, lower triangle, destroyed) and tiles of the kernel with the candidates, and fills the
// result. largest_rank: the rank of targets that span all samples, or 0. numbers: null for labels and other kernels.
// candidates: makes the kernel between candidates, if the choice goes beyond the span of the targets.
void select_by_projection(std::int64_t n_t, std::int64_t n_s, Buffer<double>& K, const KernelTile& kernel_tile,
                          const fastfs_projse_options& o, std::int64_t largest_rank, const LinearTargets* numbers,
                          const std::function<CandidateKernel()>& candidates, Run& run,
                          Owned<fastfs_projse_result>& result);

// Chooses if the candidates are the targets, too, and K = R'R for the columns of R (m x n, column-major); fills the
// result and issues its warnings. c is the diagonal of K; a score is the square of the column's part that the chosen
// columns don't span.
void select_among_columns(const double* R, std::int64_t m, std::int64_t n, std::vector<double> c,
                          const fastfs_projse_options& o, Run& run, Owned<fastfs_projse_result>& result);

// Writes the choice to the result if the candidates are the targets, too, from columns of any K = K_XX, one per step:
// scores are the diagonal of its Schur complement, so this is Cholesky with pivots.
void select_by_cholesky(CandidateKernel kernel, const fastfs_projse_options& o, Run& run,
                        Owned<fastfs_projse_result>& result);

}  // namespace fastfs::core
