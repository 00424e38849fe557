// Comparisons of samples under the metric that IM4E or IMMIGRATE found.
#pragma once

#include <cstdint>

#include "fastfs/fastfs.h"
#include "margin/margin.hpp"
#include "support/classes.hpp"

namespace fastfs::core {

// Writes the distances of the rows of X to each class, rows x n_classes (fastfs_margin_distances).
void margin_distances(const Margin& margin, const Classes& classes, const fastfs_margin_metric& metric, const Matrix& X,
                      Run& run, double* out);

// Writes the parts, by feature or by pair of features, of the nearest other class's distance minus the distance of the
// class wanted[i], for each row i: n_features or n_features^2 numbers (fastfs_margin_explain).
void margin_explain(const Margin& margin, const Classes& classes, const fastfs_margin_metric& metric, const Matrix& X,
                    const std::int64_t* wanted, Run& run, double* out);

}  // namespace fastfs::core
