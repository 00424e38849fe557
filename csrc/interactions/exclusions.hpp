// Pairs and columns without a test.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "fastfs/fastfs.h"
#include "interactions/pair_moments.hpp"

namespace fastfs::core {

// Counts pairs without a test, and keeps the first of them.
class Excluded {
  public:
    void add(Exclusion reason, std::int64_t i, std::int64_t j) {
        const std::lock_guard lock(mutex_);
        ++counts_[static_cast<int>(reason) - 1];
        first_.emplace_back(i, j);
        std::push_heap(first_.begin(), first_.end());
        if (first_.size() <= FASTFS_INTERACTION_LISTED) return;
        std::pop_heap(first_.begin(), first_.end());
        first_.pop_back();
    }
    std::int64_t count(Exclusion reason) const { return counts_[static_cast<int>(reason) - 1]; }
    std::vector<std::pair<std::int64_t, std::int64_t>> first() const {
        auto sorted = first_;
        std::sort(sorted.begin(), sorted.end());
        return sorted;
    }

  private:
    std::mutex mutex_;
    std::int64_t counts_[4] = {};
    std::vector<std::pair<std::int64_t, std::int64_t>> first_;
};

// Warns of columns that don't vary. They are columns of X, or of the other table; along: as in the options.
void warn_of_constant(const std::vector<std::int64_t>& columns, bool is_other, bool along);

// Warns of pairs without a test, with their number by reason. first: the first excluded pairs, as columns; along: as in
// the options.
void warn_of_excluded(const std::vector<std::pair<std::int64_t, std::int64_t>>& first, bool along,
                      const fastfs_interaction_result& result);

// Warns of pairs of SNPs without a test, alike.
void warn_of_excluded_snps(const std::vector<std::pair<std::int64_t, std::int64_t>>& first,
                           const fastfs_snp_pairs_result& result);

}  // namespace fastfs::core
