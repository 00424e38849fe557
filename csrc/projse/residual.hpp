// Choices beyond the span of the targets: forward selection by the residual of the targets, as in orthogonal least
// squares (S. Chen, S. A. Billings, W. Luo 1989, "Orthogonal least squares methods and their application to non-linear
// system identification"). The paper of ProjSe stops when its projection is used up.
//
// Let U be the orthonormal basis of the targets' span that ProjSe projects on, r_j the part of candidate j that the
// chosen ones don't span, and E the same part of U. Candidate j explains
//
//     gain_j = |r_j' E|^2 / |r_j|^2 = |p_j|^2 / d_j    of    |E|^2,
//
// and the next choice is the candidate with the largest gain. A choice c adds the direction q = r_c / |r_c|, and since
// U' q = p_c / sqrt(d_c), its products h_j = q' x_j with all candidates bring both up to date:
//
//     d_j -= h_j^2,    p_j -= h_j U' q.
//
// These products come from column c of the candidates' kernel, less those with earlier directions.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "fastfs/fastfs.h"
#include "support/index.hpp"
#include "support/owned.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Candidates that the next choices are likely to take.
struct Likely {
    std::vector<std::int64_t> candidates;
    Numbers products;  // U' r_j / |r_j| of each
};

// Returns n of them, those with the largest gains.
using LikelyChoices = std::function<Likely(std::int64_t n)>;

// The kernel between candidates; a choice takes one column at a time.
struct CandidateKernel {
    Numbers diagonal;  // 0 for columns that can't be chosen
    // Writes K_XX[:, k]; `likely` can be empty.
    std::function<void(std::int64_t k, double* out, const LikelyChoices& likely)> column;
};

// Returns the bytes of select_by_residual.
inline std::int64_t memory_of_residual(std::int64_t rank, std::int64_t n, std::int64_t n_select) {
    return 8 * n * (rank + n_select + 3);
}

// Goes on with the choice in `result` up to n_select candidates, and writes the explained shares of the targets' span
// after each choice, the earlier ones included. R: U' x_j for all candidates (rank x n, column-major).
void select_by_residual(const double* R, std::int64_t rank, CandidateKernel kernel, std::int64_t n_select, Run& run,
                        Owned<fastfs_projse_result>& result);

}  // namespace fastfs::core
