// Engine: the nearest features of each feature by tiles of products, for features that have no values to search by.
#pragma once

#include <cstdint>

#include "engines/columns.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Writes the nearest features of each feature, nearest first, ties by the lower index, and their distances on the scale
// of the data. n_neighbors < n_features; end: the share of the call that is finished afterwards. neighbors, distances:
// n_features x n_neighbors.
void nearest_features_by_tiles(const Features<double>& features, std::int64_t n_neighbors, Run& run,
                               std::int64_t* neighbors, double* distances, double end);

// Writes the features with the largest products in magnitude with each feature, largest first, and these magnitudes in
// units of features.unit() squared; arguments and ties as in nearest_features_by_tiles.
void largest_products_by_tiles(const Features<double>& features, std::int64_t n_neighbors, Run& run,
                               std::int64_t* neighbors, double* products, double end);

}  // namespace fastfs::core
