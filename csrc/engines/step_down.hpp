// Engine: family-wise p-values by step-down comparisons under permuted labels (Westfall and Young 1993).
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/index.hpp"

namespace fastfs::core {

// Relative difference below which statistics are ties: a permutation that gives an equal partition of the samples may
// sum it in another order.
constexpr double kStatisticTie = 1e-9;

// Each item is tested against all items but the stronger ones.
class StepDown {
  public:
    // limits: for each item, the strongest first, the smallest value that counts as at least as strong.
    explicit StepDown(Numbers limits) : limits_(std::move(limits)), reached_(limits_.size()) {}

    // Adds a labeling. strengths: those of the items under it, in the order of the limits; largest: the largest
    // strength of all other items. Returns the largest of all.
    double add_labeling(const double* strengths, double largest) {
        for (std::size_t k = limits_.size(); k-- > 0;) {
            largest = std::max(largest, strengths[k]);
            reached_[k] += largest >= limits_[k];
        }
        ++n_labelings_;
        return largest;
    }

    // Writes the p-value of each item: the share of labelings, the true one included, that reach its limit, and no less
    // than the p-value of a stronger item.
    void write_pvalues(double* pvalues) const {
        double pvalue = 0;
        for (std::size_t k = 0; k < limits_.size(); ++k) {
            pvalue = std::max(pvalue, static_cast<double>(1 + reached_[k]) / static_cast<double>(1 + n_labelings_));
            pvalues[k] = pvalue;
        }
    }

  private:
    Numbers limits_;
    std::vector<std::int64_t> reached_;
    std::int64_t n_labelings_ = 0;
};

}  // namespace fastfs::core
