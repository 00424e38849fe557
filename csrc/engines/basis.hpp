// Engine: columns about the samples, such as covariates and targets, as an orthonormal basis.
#pragma once

#include <cstdint>

#include "support/index.hpp"

namespace fastfs::core {

// Columns of mean 0, mean square 1 and mean products 0.
class Basis {
  public:
    explicit Basis(std::int64_t n_samples) : n_samples_(n_samples) {}

    std::int64_t size() const { return size_; }
    std::int64_t n_samples() const { return n_samples_; }
    const double* column(std::int64_t k) const { return columns_.data() + k * n_samples_; }

    // Adds the part of a column that the mean, the other columns and those of `before`, unless null, don't explain.
    // Returns its length in units of the column's deviation, or 0, and adds nothing, if only rounding is left.
    double add_column(Numbers column, const Basis* before = nullptr);

    // Subtracts from a column of n_samples() values the part that the columns of the basis explain.
    void take_from(double* column) const;

  private:
    std::int64_t n_samples_, size_ = 0;
    Numbers columns_;
};

}  // namespace fastfs::core
