// The agreement of selections, and of scores, from different samples of one population.
#pragma once

#include <cstdint>
#include <vector>

#include "fastfs/fastfs.h"
#include "support/owned.hpp"

namespace fastfs::core {

// Returns the mean of Spearman's (or Pearson's) correlation over all pairs of rows of n finite scores, or NaN if a row
// has equal scores.
double mean_correlation(const std::vector<const double*>& rows, std::int64_t n, bool ranks);

// Fills `result` for checked options.
void stability(const fastfs_stability_options& options, Owned<fastfs_stability_result>& result);

}  // namespace fastfs::core
