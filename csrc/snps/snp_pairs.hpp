// Pairs of SNPs with genotypes that interact in their effect on a class, with family-wise p-values from permutations
// (Westfall and Young 1993).
#pragma once

#include "fastfs/fastfs.h"
#include "support/classes.hpp"
#include "support/matrix.hpp"
#include "support/owned.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Writes the pairs with the largest G^2, and their family-wise p-values, to the result.
void snp_pairs(const Matrix& X, const Classes& classes, const fastfs_snp_pairs_options& options, Run& run,
               Owned<fastfs_snp_pairs_result>& result);

}  // namespace fastfs::core
