// Engine: the nearest features of each feature, exactly.
#pragma once

#include <cstdint>

#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// As of fastfs_nearest_features. n_neighbors < n_cols; end: the share of the call that is finished afterwards.
void nearest_features(const Samples& X, std::int64_t n_neighbors, Run& run, std::int64_t* neighbors, double* distances,
                      double end = 1);

std::int64_t nearest_features_memory(const Samples& X, std::int64_t n_neighbors, int n_threads);

}  // namespace fastfs::core
