// The target of a scan, and the mean products of features with it.
#pragma once

#include <cstdint>
#include <vector>

#include "engines/basis.hpp"
#include "interactions/standard_columns.hpp"
#include "support/buffer.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Returns a basis of covariates, columns of n_samples x n_covariates values row by row.
Basis make_covariates(const double* values, std::int64_t n_covariates, std::int64_t n_samples);

// Returns the columns of a target that are orthogonal to covariates: the numbers y, or an indicator of each class but
// the first; one of y and labels is null. share: the length of the first column's rest, unless null.
Basis make_target(const std::int64_t* labels, std::int64_t n_classes, const double* y, const Basis& covariates,
                  double* share = nullptr);

// Returns the targets of permutations first .. first + count - 1 of labels or of y.
std::vector<Basis> make_targets(const std::int64_t* labels, std::int64_t n_classes, const double* y, std::int64_t first,
                                std::int64_t count, const Basis& covariates);

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
