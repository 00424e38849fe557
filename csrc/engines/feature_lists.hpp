// Engine: groups similar features into lists by k-means, and chooses the lists with which each feature is compared.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engines/columns.hpp"
#include "support/index.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Lists of numbers of different lengths: list i is numbers[begins[i]] .. numbers[begins[i + 1] - 1], ascending.
struct Ragged {
    std::vector<std::int64_t> begins;
    std::vector<std::int32_t> numbers;

    const std::int32_t* begin_of(std::int64_t i) const { return numbers.data() + begins[at(i)]; }
    const std::int32_t* end_of(std::int64_t i) const { return numbers.data() + begins[at(i + 1)]; }
    bool has(std::int64_t i, std::int32_t number) const { return std::binary_search(begin_of(i), end_of(i), number); }
};

// Features in lists. A feature is addressed by its place in the order of the lists.
struct FeatureLists {
    std::vector<std::int64_t> order;    // the feature (column of X) at each place; similar lists stand together
    std::vector<std::int64_t> begins;   // the first place of each list, and the end
    std::vector<std::int32_t> list_of;  // the list of each place
    Ragged probes;                      // of each place: the lists nearest to the feature

    std::int64_t n_lists() const { return static_cast<std::int64_t>(begins.size()) - 1; }
};

// Returns lists of near features that hold each dense feature once. Each feature probes the nearest 1/64 of the lists,
// or as many as are needed to hold more than n_neighbors features. The result doesn't depend on the number of threads
// or the instruction set.
FeatureLists feature_lists(const Features<float>& features, std::int64_t n_neighbors, std::uint64_t seed, Run& run);

// Returns for each place the lists of the feature's neighbours and of the features that have it as a neighbour,
// ascending, without the lists in lists.probes. neighbors: n_neighbors of each column of X.
Ragged lists_of_neighbors(const FeatureLists& lists, const std::int64_t* neighbors, std::int64_t n_neighbors, Run& run);

// Inverts a relation: returns for each number below `count` the indices of the lists in `numbers` that contain it.
Ragged invert_lists(const Ragged& numbers, std::int64_t count);

// Returns the bytes of a FeatureLists and of the lists of neighbours, including the scratch with which they are made.
std::int64_t feature_lists_memory(std::int64_t n_features, std::int64_t n_samples, std::int64_t n_neighbors,
                                  int n_threads);

}  // namespace fastfs::core
