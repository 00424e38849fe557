// Engine: the nearest features of each feature.
#pragma once

#include <cstdint>
#include <vector>

#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// All features that are no farther than one place of a list, where the list is too short for them: as its last
// neighbour is as far as that place, others may be, too.
struct TiedFeatures {
    struct Neighbor {
        std::int64_t feature;
        double distance;
    };
    std::int64_t place;                     // from 0
    std::int64_t most;                      // no more are kept for a feature
    std::vector<std::vector<Neighbor>> of;  // each feature, ascending; empty: its list has them, or they are too many
};

// As of fastfs_nearest_features. n_neighbors < n_cols; end: the share of the call that is finished afterwards; ties:
// null, or those that are wanted.
void nearest_features(const Samples& X, std::int64_t n_neighbors, Run& run, std::int64_t* neighbors, double* distances,
                      double end = 1, TiedFeatures* ties = nullptr);

// The same by some rows of X, ascending.
void nearest_features(const Samples& X, const std::vector<std::int64_t>& rows, std::int64_t n_neighbors, Run& run,
                      std::int64_t* neighbors, double* distances, double end = 1, TiedFeatures* ties = nullptr);

std::int64_t nearest_features_memory(const Samples& X, std::int64_t n_neighbors, int n_threads);

struct ListedNeighbors {
    std::vector<std::int64_t> order;  // of the features: similar ones stand together
    double recall;                    // share of the nearest features that was found, estimated on a sample
};

// The same by some rows of a dense X, ascending, with distances that are exact and neighbours that may miss some of the
// nearest: features are compared with those in lists near theirs, and with those in the lists of their neighbours'
// neighbours.
ListedNeighbors nearest_features_by_lists(const Samples& X, const std::vector<std::int64_t>& rows,
                                          std::int64_t n_neighbors, std::uint64_t seed, Run& run,
                                          std::int64_t* neighbors, double* distances, double end);

std::int64_t nearest_features_by_lists_memory(const Samples& X, std::int64_t n_neighbors, int n_threads);

}  // namespace fastfs::core
