// ProjSe: variable selection by projection (Szedmak, Huusari, Duong Le, Rousu 2023, "Scalable variable selection for
// two-view learning tasks with projection operators"); numbers in brackets are the steps of its Figure 3.
#pragma once

#include <cstdint>
#include <functional>

#include "fastfs/fastfs.h"
#include "projse/residual.hpp"
#include "projse/sums.hpp"
#include "support/matrix.hpp"
#include "support/owned.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Writes the centred inner products of column k of X with all columns; `likely` can be empty.
using InnerProducts = std::function<void(std::int64_t k, double* out, const LikelyChoices& likely)>;

// Chooses from sums over the rows, and fills the result. bytes_of_sums: the bytes of sums that were made for this
// choice. inner_products: for a choice beyond the targets' span from sums that don't have them. target: Y of the sums,
// dense, if it is in memory.
void projse_select(const ProjseSums& sums, const fastfs_projse_options& options, Run& run,
                   Owned<fastfs_projse_result>& result, std::int64_t bytes_of_sums = 0,
                   const InnerProducts& inner_products = {}, const Matrix* target = nullptr);

// Chooses features of the rows in the cheapest way for the shape, by sums or by kernels between samples, and fills the
// result.
void projse(const ProjseRows& rows, std::int64_t n_classes, const fastfs_projse_options& options, Run& run,
            Owned<fastfs_projse_result>& result);

void projse_kernels(std::int64_t n_y, std::int64_t n_x, const double* K_YY, const double* K_YX, const double* K_XX,
                    const fastfs_projse_options& options, Run& run, Owned<fastfs_projse_result>& result);

// Writes the scores before any choice, n_labelings x n_cols, for n_labelings x n_rows labels, with the linear kernel.
void projse_label_scores(const Matrix& X, const std::int64_t* labels, std::int64_t n_labelings, std::int64_t n_classes,
                         const fastfs_projse_options& options, Run& run, double* scores);

}  // namespace fastfs::core
