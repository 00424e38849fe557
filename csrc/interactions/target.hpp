// The target of a scan, and the mean products of features with it.
#pragma once

#include <cstdint>
#include <vector>

#include "interactions/basis.hpp"
#include "interactions/standard_columns.hpp"
#include "support/buffer.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Returns the columns of a target that are orthogonal to covariates: the numbers y, or an indicator of each class but
// the first; one of y and labels is null. share: the length of the first column's rest, unless null.
Basis make_target(const std::int64_t* labels, std::int64_t n_classes, const double* y, const Basis& covariates,
                  double* share = nullptr);

// The mean products of the columns of a table with the target's columns under some labelings.
class TargetMeans {
  public:
    TargetMeans() = default;
    // Computes the mean over samples of each feature times each column of each target.
    TargetMeans(const StandardColumns& table, const std::vector<Basis>& targets, Run& run);

    // Returns the mean products of all features with column k of the target under labeling b.
    const double* means_with(std::int64_t b, std::int64_t k) const {
        return means_.data() + (b * n_columns_ + k) * n_features_;
    }

  private:
    std::int64_t n_columns_ = 0, n_features_ = 0;
    Buffer<double> means_;
};

}  // namespace fastfs::core
