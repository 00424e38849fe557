// Domains of features: cores that are grown over the strongest edges, each with a buffer of its most strongly tied
// outside features.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace fastfs::core {

// Symmetric weights between features, by row: feature i has ends[begins[i]] .. ends[begins[i + 1] - 1].
struct Edges {
    struct End {
        std::int32_t feature;
        float weight;
    };
    std::vector<std::int64_t> begins;
    std::vector<End> ends;

    std::span<const End> ends_of(std::size_t i) const {
        return {ends.data() + begins[i], static_cast<std::size_t>(begins[i + 1] - begins[i])};
    }
};

// A listed edge, which counts in both directions.
struct ListedEdge {
    std::int32_t from, to;
    float weight;
};

// Returns, for each of d features, its listed edges in both directions; an edge that is listed repeatedly has its
// largest weight. listed(e), called twice per edge, returns edge e of 0..n_listed - 1.
Edges gather_edges(std::int64_t d, std::int64_t n_listed, const std::function<ListedEdge(std::int64_t)>& listed);

// A domain: first the features of its core, which get their scores from it, then the features of its buffer.
struct Domain {
    std::vector<std::int64_t> features;
    std::int64_t core;
};

// Partitions the features into cores of at most `core` features. A core starts at the free feature with the strongest
// edge and takes the free feature with the largest summed weight to the core, until no free feature has an edge to it.
// Cores below four fifths of the size are joined, largest first, while they fit. The buffer of a core has at most
// `buffer` outside features, with the largest summed weights to the core. Ties go to the lower index.
std::vector<Domain> make_domains(const Edges& edges, std::int64_t core, std::int64_t buffer);

}  // namespace fastfs::core
