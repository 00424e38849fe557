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

// Writes columns j0 .. j0 + w of K_YX into tile (n_t x w, column-major).
using KernelTile = std::function<void(std::int64_t j0, std::int64_t w, double* tile)>;

// Warns that targets without own directions were left out.
void warn_of_dependent_targets(const fastfs_projse_options& o, std::int64_t rank);

// Tells whether a combination of the target's columns has a length beyond `floor`, more exactly than sums of products
// can.
using IsOutside = std::function<bool(const Numbers& combination, double floor)>;

// Returns a random combination of length 1 that is orthogonal to the eigenvectors first..n - 1.
Numbers draw_outside(SymmetricEigen& eigen, std::int64_t n, std::int64_t first, const Numbers& scale);

// Returns the length of a combination that rounding alone can cause, if it is orthogonal to eigenvectors with
// eigenvalues from `least_kept` to `largest`. eps: of the target's values.
double rounding_of_length(double least_kept, double largest, double eps);

// Chooses from K_YY (n_t x n_t, lower triangle, destroyed) and tiles of the kernel with the candidates, and fills the
// result. largest_rank: the rank of targets that span all samples, or 0. is_outside: of the linear kernel of numbers
// in memory, otherwise empty; scale: 0 for targets without values. candidates: makes the kernel between
// candidates, if the choice goes beyond the span of the targets.
void select_by_projection(std::int64_t n_t, std::int64_t n_s, Buffer<double>& K, const KernelTile& kernel_tile,
                          const fastfs_projse_options& o, std::int64_t largest_rank, const Numbers& scale,
                          double eps_of_values, const IsOutside& is_outside,
                          const std::function<CandidateKernel()>& candidates, Run& run,
                          Owned<fastfs_projse_result>& result);

// Chooses if the candidates are the targets, too, and K = R'R for the columns of R (m x n, column-major). c is the
// diagonal of K; a score is the square of the column's part that the chosen columns don't span.
void select_among_columns(const double* R, std::int64_t m, std::int64_t n, std::vector<double> c,
                          const fastfs_projse_options& o, Run& run, Owned<fastfs_projse_result>& result);

// Writes the choice to the result if the candidates are the targets, too, from columns of any K = K_XX, one per step:
// scores are the diagonal of its Schur complement, so this is Cholesky with pivots.
void select_by_cholesky(CandidateKernel kernel, const fastfs_projse_options& o, Run& run,
                        Owned<fastfs_projse_result>& result);

}  // namespace fastfs::core
