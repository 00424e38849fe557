// Differential correlation: pairs of features with correlations that differ between two classes or more, with
// family-wise p-values from permutations (Westfall and Young 1993). Labelings move values that were standardised within
// their true class. If a feature has one value in a fourth of a class or more, labelings move its places within the
// true class instead, unless they move groups of samples (standard_rows.hpp).
#pragma once

#include "fastfs/fastfs.h"
#include "support/classes.hpp"
#include "support/matrix.hpp"
#include "support/owned.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Writes the pairs of features with correlations that differ most between the classes (of more than two by the
// chi-square of homogeneity), and their p-values, to the result. Leaves out features that don't vary in each class, and
// warns of them.
void differential_correlation(const Matrix& X, const Classes& classes,
                              const fastfs_differential_correlation_options& options, Run& run,
                              Owned<fastfs_differential_correlation_result>& result);

}  // namespace fastfs::core
