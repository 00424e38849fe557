// Clumps of SNPs in linkage disequilibrium, each led by its SNP with the largest score.
#pragma once

#include "fastfs/fastfs.h"
#include "support/matrix.hpp"
#include "support/owned.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Writes to the result the clump of each SNP, which is the clump of the best-scored SNP with which it is in linkage
// disequilibrium, -1 beyond options.n_clumps clumps; and the leads of the clumps, best first.
void ld_clumps(const Matrix& X, const double* scores, const fastfs_ld_clumps_options& options, Run& run,
               Owned<fastfs_ld_clumps_result>& result);

}  // namespace fastfs::core
