// The samples of each class.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "support/index.hpp"

namespace fastfs::core {

struct Classes {
    // labels: 0..n_classes - 1.
    Classes(const std::int64_t* labels, std::int64_t n_samples, std::int64_t n_classes)
        : label(labels, labels + n_samples), begin(at(n_classes + 1)), order(at(n_samples)) {
        for (const auto c : label) ++begin[at(c) + 1];
        std::partial_sum(begin.begin(), begin.end(), begin.begin());
        auto next = begin;
        for (std::int64_t i = 0; i < n_samples; ++i) order[at(next[at(of(i))]++)] = i;
    }

    std::int64_t n_samples() const { return static_cast<std::int64_t>(order.size()); }
    std::int64_t n_classes() const { return static_cast<std::int64_t>(begin.size()) - 1; }
    std::int64_t of(std::int64_t i) const { return label[at(i)]; }
    std::int64_t size(std::int64_t c) const { return begin[at(c) + 1] - begin[at(c)]; }
    std::int64_t smallest() const {
        std::int64_t least = n_samples();
        for (std::int64_t c = 0; c < n_classes(); ++c) least = std::min(least, size(c));
        return least;
    }

    std::vector<std::int64_t> label, begin, order;  // order: samples by class, those of class c from begin[c] on
};

}  // namespace fastfs::core
