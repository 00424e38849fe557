// The samples of each class.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "support/index.hpp"

namespace fastfs::core {

struct Classes {
    std::vector<std::int64_t> labels;  // of each sample
    std::vector<std::int64_t> begins;  // class q has the samples order[begins[q]] .. order[begins[q + 1] - 1]
    std::vector<std::int64_t> order;   // samples class by class, ascending within each

    Classes(const std::int64_t* labels_, std::int64_t n_samples_, std::int64_t n_classes_)
        : labels(labels_, labels_ + n_samples_), begins(at(n_classes_ + 1)), order(at(n_samples_)) {
        for (const std::int64_t label : labels) ++begins[at(label + 1)];
        std::partial_sum(begins.begin(), begins.end(), begins.begin());
        std::vector<std::int64_t> next(begins.begin(), begins.end() - 1);
        for (std::int64_t i = 0; i < n_samples_; ++i) order[at(next[at(labels[at(i)])]++)] = i;
    }

    std::int64_t n_samples() const { return static_cast<std::int64_t>(order.size()); }
    std::int64_t n_classes() const { return static_cast<std::int64_t>(begins.size()) - 1; }
    std::int64_t size(std::int64_t q) const { return begins[at(q + 1)] - begins[at(q)]; }
};

}  // namespace fastfs::core
