// Engine: features in lists of similar ones, by k-means, and which lists each feature is compared with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engines/columns.hpp"
#include "support/index.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Numbers of each of several things: those of thing i are numbers[begins[i]] .. numbers[begins[i + 1] - 1], ascending.
struct Ragged {
    std::vector<std::int64_t> begins;
    std::vector<std::int32_t> numbers;

    const std::int32_t* begin_of(std::int64_t i) const { return numbers.data() + begins[at(i)]; }
    const std::int32_t* end_of(std::int64_t i) const { return numbers.data() + begins[at(i + 1)]; }
    bool has(std::int64_t i, std::int32_t number) const { return std::binary_search(begin_of(i), end_of(i), number); }
};

// Features are known by their place in the order of the lists.
struct FeatureLists {
    std::vector<std::int64_t> order;    // the feature (column of X) at each place; similar lists stand together
    std::vector<std::int64_t> begins;   // the first place of each list, and the end
    std::vector<std::int32_t> list_of;  // the list of each place
    Ragged probes;                      // of each place: the lists nearest to the feature

    std::int64_t n_lists() const { return static_cast<std::int64_t>(begins.size()) - 1; }
};

// Of dense features: 1/64 of the lists are nearest to each, or so many that they have more than n_neighbors features.
// The same for any number of threads and any instruction set.
FeatureLists feature_lists(const Features<float>& features, std::int64_t n_neighbors, std::uint64_t seed, Run& run);

// Of each place, the lists of its neighbours and of the features that it is a neighbour of, without those of
// lists.probes. neighbors: n_neighbors of each column of X.
Ragged lists_of_neighbors(const FeatureLists& lists, const std::int64_t* neighbors, std::int64_t n_neighbors, Run& run);

// The things that have each number, of which there are `count`.
Ragged inverse(const Ragged& numbers, std::int64_t count);

// Bytes of all of these, and while they are made.
std::int64_t feature_lists_memory(std::int64_t n_features, std::int64_t n_samples, std::int64_t n_neighbors,
                                  int n_threads);

}  // namespace fastfs::core
