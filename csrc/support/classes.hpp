// The samples of each class.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "support/index.hpp"

namespace fastfs::core {

struct Classes {
    Classes(const std::int64_t* labels_, std::int64_t n_samples_, std::int64_t n_classes_)
        : labels(labels_, labels_ + n_samples_), begins(at(n_classes_ + 1)), order(at(n_samples_)) {
        for (const auto label : labels) ++begins[at(label) + 1];
        std::partial_sum(begins.begin(), begins.end(), begins.begin());
        auto next = begins;
        for (std::int64_t i = 0; i < n_samples_; ++i) order[at(next[at(of(i))]++)] = i;
    }

    std::int64_t n_samples() const { return static_cast<std::int64_t>(order.size()); }
    std::int64_t n_classes() const { return static_cast<std::int64_t>(begins.size()) - 1; }
    std::int64_t of(std::int64_t i) const { return labels[at(i)]; }
    std::int64_t size(std::int64_t c) const { return begins[at(c) + 1] - begins[at(c)]; }
    std::vector<std::int64_t> sizes() const {
        std::vector<std::int64_t> all;
        for (std::int64_t c = 0; c < n_classes(); ++c) all.push_back(size(c));
        return all;
    }
    std::int64_t smallest() const {
        std::int64_t least = n_samples();
        for (std::int64_t c = 0; c < n_classes(); ++c) least = std::min(least, size(c));
        return least;
    }

    std::vector<std::int64_t> labels;  // of each sample
    std::vector<std::int64_t> begins;  // class c has the samples order[begins[c]] .. order[begins[c + 1] - 1]
    std::vector<std::int64_t> order;   // samples class by class, ascending within each
};

}  // namespace fastfs::core
