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

// Writes the stability index, frequencies and correlations to the result, for checked options; NaN without selections
// or scores.
void stability(const fastfs_stability_options& options, Owned<fastfs_stability_result>& result);

}  // namespace fastfs::core
