#include "manifest/domains.hpp"

#include <algorithm>
#include <numeric>
#include <queue>
#include <utility>

#include "support/index.hpp"

namespace fastfs::core {
namespace {

// Returns cores of at most `size` features, grown until each feature has one (see make_domains).
std::vector<std::vector<std::int64_t>> grow_cores(const Edges& edges, std::int64_t size) {
    const std::size_t d = edges.begins.size() - 1;
    std::vector<double> strongest(d, 0.0), gain(d, 0.0);
    for (std::size_t i = 0; i < d; ++i) {
        for (const auto& end : edges.ends_of(i)) strongest[i] = std::max(strongest[i], static_cast<double>(end.weight));
    }
    std::vector<std::size_t> seeds(d);
    std::iota(seeds.begin(), seeds.end(), std::size_t{0});
    std::stable_sort(seeds.begin(), seeds.end(),
                     [&](std::size_t i, std::size_t j) { return strongest[i] > strongest[j]; });
    std::vector<char> free(d, 1);
    std::vector<std::vector<std::int64_t>> cores;
    for (std::size_t seed : seeds) {
        if (!free[seed]) continue;
        using Offer = std::pair<double, std::int64_t>;  // gain, and the negative index: the top is the lowest of equals
        std::priority_queue<Offer> offers;
        std::vector<std::int64_t> core, touched;
        auto j = static_cast<std::int64_t>(seed);
        while (true) {
            core.push_back(j);
            free[at(j)] = 0;
            if (static_cast<std::int64_t>(core.size()) == size) break;
            for (const auto& [i, weight] : edges.ends_of(at(j))) {
                gain[at(i)] += weight;
                touched.push_back(i);
                if (free[at(i)] && gain[at(i)] > 0) offers.emplace(gain[at(i)], -i);
            }
            while (!offers.empty()) {  // gains only grow: an offer below the feature's gain is outdated
                const auto& [value, negative] = offers.top();
                if (free[at(-negative)] && value == gain[at(-negative)]) break;
                offers.pop();
            }
            if (offers.empty()) break;
            j = -offers.top().second;
        }
        for (std::int64_t i : touched) gain[at(i)] = 0;
        cores.push_back(std::move(core));
    }
    return cores;
}

// Returns the cores, with cores below four fifths of the size joined, largest first, while they fit.
std::vector<std::vector<std::int64_t>> pack_cores(std::vector<std::vector<std::int64_t>> cores, std::int64_t size) {
    std::stable_sort(cores.begin(), cores.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
    std::vector<std::vector<std::int64_t>> packed;
    std::vector<std::int64_t> rest;
    for (auto& core : cores) {
        const auto n = static_cast<std::int64_t>(core.size());
        if (5 * n >= 4 * size) {
            packed.push_back(std::move(core));
            continue;
        }
        if (!rest.empty() && static_cast<std::int64_t>(rest.size()) + n > size) {
            packed.push_back(std::move(rest));
            rest.clear();
        }
        rest.insert(rest.end(), core.begin(), core.end());
    }
    if (!rest.empty()) packed.push_back(std::move(rest));
    return packed;
}

}  // namespace

Edges gather_edges(std::int64_t d, std::int64_t n_listed, const std::function<ListedEdge(std::int64_t)>& listed) {
    std::vector<std::int64_t> next(at(d) + 1, 0);
    for (std::int64_t e = 0; e < n_listed; ++e) {
        const ListedEdge edge = listed(e);
        ++next[at(edge.from) + 1];
        ++next[at(edge.to) + 1];
    }
    std::partial_sum(next.begin(), next.end(), next.begin());
    Edges edges{.begins = std::vector<std::int64_t>(at(d) + 1, 0), .ends = std::vector<Edges::End>(2 * at(n_listed))};
    for (std::int64_t e = 0; e < n_listed; ++e) {
        const ListedEdge edge = listed(e);
        edges.ends[at(next[at(edge.from)]++)] = {edge.to, edge.weight};
        edges.ends[at(next[at(edge.to)]++)] = {edge.from, edge.weight};
    }
    auto row = edges.ends.begin(), out = row;
    for (std::int64_t i = 0; i < d; ++i) {  // next[i] is by now where row i ends
        const auto end = edges.ends.begin() + next[at(i)], first = out;
        std::sort(row, end, [](const Edges::End& a, const Edges::End& b) {
            return a.feature != b.feature ? a.feature < b.feature : a.weight > b.weight;
        });
        for (; row != end; ++row) {
            if (out == first || (out - 1)->feature != row->feature) *out++ = *row;
        }
        edges.begins[at(i) + 1] = out - edges.ends.begin();
    }
    edges.ends.resize(at(edges.begins.back()));
    return edges;
}

std::vector<Domain> make_domains(const Edges& edges, std::int64_t core, std::int64_t buffer) {
    std::vector<Domain> domains;
    std::vector<double> pull(edges.begins.size() - 1, 0.0);
    std::vector<char> inside(pull.size(), 0);
    for (auto& members : pack_cores(grow_cores(edges, core), core)) {
        std::vector<std::int64_t> tied;
        for (std::int64_t i : members) inside[at(i)] = 1;
        for (std::int64_t i : members) {
            for (const auto& [j, weight] : edges.ends_of(at(i))) {
                if (inside[at(j)] || !(weight > 0)) continue;
                if (pull[at(j)] == 0) tied.push_back(j);
                pull[at(j)] += weight;
            }
        }
        std::sort(tied.begin(), tied.end(), [&](std::int64_t i, std::int64_t j) {
            return pull[at(i)] != pull[at(j)] ? pull[at(i)] > pull[at(j)] : i < j;
        });
        for (std::int64_t i : members) inside[at(i)] = 0;
        for (std::int64_t j : tied) pull[at(j)] = 0;
        tied.resize(std::min(tied.size(), at(buffer)));
        Domain domain{.features = std::move(members), .core = 0};
        domain.core = static_cast<std::int64_t>(domain.features.size());
        domain.features.insert(domain.features.end(), tied.begin(), tied.end());
        domains.push_back(std::move(domain));
    }
    return domains;
}

}  // namespace fastfs::core
