// Engine: the nearest features of each feature.
#pragma once

#include <cstdint>
#include <vector>

#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Features that tie with a given place of a neighbour list, for lists too short to hold all ties: if the last neighbour
// is as far as the place, further features can tie with it.
struct TiedFeatures {
    struct Neighbor {
        std::int64_t feature;
        double distance;
    };
    std::int64_t place;  // 0-based place in the list
    std::int64_t most;   // largest number kept per feature
    // per feature, ascending; empty if its list has all ties, or if there are more than `most`
    std::vector<std::vector<Neighbor>> of;
};

// Writes the nearest features of each feature and their distances, as fastfs_nearest_features does. n_neighbors <
// n_cols; end: the share of the call that is finished afterwards; ties: filled unless null.
void nearest_features(const Samples& X, std::int64_t n_neighbors, Run& run, std::int64_t* neighbors, double* distances,
                      double end = 1, TiedFeatures* ties = nullptr);

// Finds the nearest features by the listed rows (ascending) of X.
void nearest_features(const Samples& X, const std::vector<std::int64_t>& rows, std::int64_t n_neighbors, Run& run,
                      std::int64_t* neighbors, double* distances, double end = 1, TiedFeatures* ties = nullptr);

std::int64_t nearest_features_memory(const Samples& X, std::int64_t n_neighbors, int n_threads);

struct ListedNeighbors {
    std::vector<std::int64_t> order;  // of the features: similar features are adjacent
    double recall;                    // share of the true nearest features in the result, estimated on a sample
};

// Writes near features of each feature, nearest first, and their distances, by the listed rows (ascending) of a dense
// X. Distances are exact, but a feature can miss nearest features: it is compared with the members of lists near its
// own list, and of the lists of its neighbours' neighbours. Returns the order of the lists, and the recall.
ListedNeighbors nearest_features_by_lists(const Samples& X, const std::vector<std::int64_t>& rows,
                                          std::int64_t n_neighbors, std::uint64_t seed, Run& run,
                                          std::int64_t* neighbors, double* distances, double end);

std::int64_t nearest_features_by_lists_memory(const Samples& X, std::int64_t n_neighbors, int n_threads);

}  // namespace fastfs::core
