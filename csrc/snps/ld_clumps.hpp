// Clumps of SNPs in linkage disequilibrium, each led by its SNP with the largest score.
#pragma once

#include "fastfs/fastfs.h"
#include "support/matrix.hpp"
#include "support/owned.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Writes the clump of each SNP, that of the best-scored SNP with which it is in linkage disequilibrium, and the leads
// of the clumps to the result.
void ld_clumps(const Matrix& X, const double* scores, const fastfs_ld_clumps_options& options, Run& run,
               Owned<fastfs_ld_clumps_result>& result);

}  // namespace fastfs::core
