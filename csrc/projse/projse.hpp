// ProjSe: variable selection by projection (Szedmak, Huusari, Duong Le, Rousu 2023, "Scalable variable selection for
// two-view learning tasks with projection operators"); numbers in brackets are the steps of its Figure 3.
#pragma once

#include <cstdint>

#include "fastfs/fastfs.h"
#include "projse/sums.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Chooses; the arrays of the result are the caller's.
void projse_select(const ProjseSums& sums, const fastfs_projse_options& options, Run& run,
                   fastfs_projse_result& result);

// All in one: routes to the cheapest way for the shape.
void projse(const ProjseRows& rows, std::int64_t n_classes, const fastfs_projse_options& options, Run& run,
            fastfs_projse_result& result);

void projse_kernels(std::int64_t n_y, std::int64_t n_x, const double* K_YY, const double* K_YX, const double* K_XX,
                    const fastfs_projse_options& options, Run& run, fastfs_projse_result& result);

// The scores before any choice, n_labelings x n_cols, of n_labelings x n_rows labels; linear kernel.
void projse_label_scores(const Matrix& X, const std::int64_t* labels, std::int64_t n_labelings, std::int64_t n_classes,
                         const fastfs_projse_options& options, Run& run, double* scores);

}  // namespace fastfs::core
