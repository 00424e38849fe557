// Pairs of SNPs with genotypes that interact in their effect on a number, as classes of genotypes with up to four
// degrees of freedom.
#pragma once

#include "fastfs/fastfs.h"
#include "support/matrix.hpp"
#include "support/owned.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Tests the pairs of SNPs of X with the numbers y of the options, and writes the strongest pairs and their family-wise
// p-values to the result.
void scan_genotypes(const Matrix& X, const fastfs_snp_pairs_options& options, Run& run,
                    Owned<fastfs_snp_pairs_result>& result);

}  // namespace fastfs::core
