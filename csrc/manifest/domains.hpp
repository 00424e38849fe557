// Domains of features: cores that are grown over the strongest edges, each with a buffer of what it is tied to most.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace fastfs::core {

// Symmetric weights between features, by row: those of feature i are ends[begins[i]] .. ends[begins[i + 1] - 1].
struct Edges {
    struct End {
        std::int32_t feature;
        float weight;
    };
    std::vector<std::int64_t> begins;
    std::vector<End> ends;

    std::span<const End> of(std::size_t i) const {
        return {ends.data() + begins[i], static_cast<std::size_t>(begins[i + 1] - begins[i])};
    }
};

// An edge as it was listed; both directions count.
struct ListedEdge {
    std::int32_t from, to;
    float weight;
};

// Gathers edges 0 .. n_listed - 1 of d features; of an edge that is listed more than once, the largest weight counts.
Edges gather_edges(std::int64_t d, std::int64_t n_listed, const std::function<ListedEdge(std::int64_t)>& listed);

// The features of a domain: its core first, whose scores it gives.
struct Domain {
    std::vector<std::int64_t> features;
    std::int64_t core;
};

// Each feature is in one core of at most `core` features. A core starts at the free feature with the strongest edge
// and takes the free feature with the largest summed weight to it, until none has an edge to it; those of less than
// four fifths of the size are joined, largest first, while they fit. Its buffer: the outside features with the largest
// summed weight to it, `buffer` at most. Ties go to the lower index.
std::vector<Domain> make_domains(const Edges& edges, std::int64_t core, std::int64_t buffer);

}  // namespace fastfs::core
