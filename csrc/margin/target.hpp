// The target y of the RELIEF family: classes, numbers, or times to an event.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "support/classes.hpp"
#include "support/index.hpp"

namespace fastfs::core {

// Divides all samples into groups, as seen from a sample n: by class or, if the target isn't classes, group 0 for the
// hits and 1 for the misses of n.
class Target {
  public:
    explicit Target(Classes classes) : classes_(std::move(classes)) {}

    // Takes numbers y or, with events, times, which it replaces by shares of the samples with an event by then. events:
    // null, or for each sample 1 for an event at the time y, 0 for none until y. weights: of the samples.
    Target(const double* y, const std::int32_t* events, const Numbers& weights);

    const Classes* classes() const { return classes_ ? &*classes_ : nullptr; }
    std::int64_t n_groups() const { return classes_ ? classes_->n_classes() : 2; }
    std::int64_t own(std::int64_t n) const { return classes_ ? classes_->of(n) : 0; }

    // Returns the group of each sample as seen from n, in `scratch` unless they are known.
    const std::int64_t* groups(std::int64_t n, std::vector<std::int64_t>& scratch) const {
        if (classes_) return classes_->labels.data();
        scratch.resize(y_.size());
        for (std::size_t j = 0; j < y_.size(); ++j) scratch[j] = std::abs(y_[at(n)] - y_[j]) < near_ ? 0 : 1;
        return scratch.data();
    }

    double total_weight() const { return total_weight_; }

    // Returns the difference of two numbers or times, from 0 to 1.
    double difference(std::int64_t n, std::int64_t j) const;

  private:
    std::optional<Classes> classes_;
    Numbers y_;                // with events the share of samples that had one by then: 1 - Kaplan and Meier's survival
    std::vector<char> event_;  // empty unless y holds times
    double near_ = 0;          // the standard deviation of y, of repeated samples
    double total_weight_ = 0;
    double range_ = 1;
};

}  // namespace fastfs::core
