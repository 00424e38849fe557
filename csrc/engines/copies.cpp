#include "engines/copies.hpp"

#include <algorithm>
#include <utility>

#include "support/index.hpp"

namespace fastfs::core {

// Compares the first column of each hash with all others of that hash; columns at distance 0 are its copies, and copies
// beyond the first `kept` are flagged.
Copies::Copies(const std::vector<std::uint64_t>& hashes, const Compare& compare, std::int64_t kept, Run& run)
    : kept_(kept) {
    std::vector<std::int64_t> order = up_to(std::ssize(hashes));
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t i, std::int64_t j) { return hashes[at(i)] < hashes[at(j)]; });
    struct Alike {
        std::int64_t first;
        std::vector<Other> others;
    };
    std::vector<Alike> groups;  // of columns with one hash, if more than `kept`
    for (auto first = order.begin(), last = first; first != order.end(); first = last) {
        while (last != order.end() && hashes[at(*last)] == hashes[at(*first)]) ++last;
        if (last - first <= kept) continue;
        Alike& alike = groups.emplace_back(*first);
        for (auto other = first + 1; other != last; ++other) alike.others.push_back({0, *other});
    }
    std::vector<Query> queries;  // all in one call, which may read X
    for (Alike& alike : groups) {
        queries.push_back({alike.first, alike.others.data(), alike.others.data() + alike.others.size()});
    }
    if (!queries.empty()) compare(queries, run);
    for (const Alike& alike : groups) {
        std::vector<std::int64_t> kind{alike.first};
        for (const Other& other : alike.others) {
            if (other.sum == 0) kind.push_back(other.feature);
        }
        if (std::ssize(kind) <= kept) continue;
        left_out_.resize(order.size());
        for (std::size_t c = at(kept); c < kind.size(); ++c) left_out_[at(kind[c])] = 1;
        kinds_.push_back(std::move(kind));
    }
}

// Gives each left-out column the first k columns of its kind as neighbours, at distance 0.
void Copies::write_neighbors(std::int64_t k, std::int64_t* neighbors, double* distances) const {
    for (const auto& kind : kinds_) {
        for (std::size_t c = at(kept_); c < kind.size(); ++c) {
            std::copy_n(kind.begin(), k, neighbors + kind[c] * k);
            std::fill_n(distances + kind[c] * k, k, 0.0);
        }
    }
}

// Inserts the left-out columns of a kind behind its first column.
std::vector<std::int64_t> Copies::insert_left_out(const std::vector<std::int64_t>& order) const {
    if (kinds_.empty()) return order;
    std::vector<std::int64_t> kind_of(left_out_.size(), -1), completed;
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind) kind_of[at(kinds_[kind][0])] = std::int64_t(kind);
    for (std::int64_t column : order) {
        completed.push_back(column);
        if (kind_of[at(column)] < 0) continue;
        const auto& kind = kinds_[at(kind_of[at(column)])];
        completed.insert(completed.end(), kind.begin() + kept_, kind.end());
    }
    return completed;
}

}  // namespace fastfs::core
