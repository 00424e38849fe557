// The columns of a table for the scan of pairs: standardised, and in panels for Gram tiles.
#pragma once

#include <cstdint>
#include <vector>

#include "engines/basis.hpp"
#include "engines/isa/tiles.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

class StandardColumns {
  public:
    std::vector<std::int64_t> columns;   // of the table, ascending: those that are compared
    std::vector<std::int64_t> constant;  // columns that covariates, or the target, explain, as the mean does constants
    std::vector<std::int64_t> heavy;  // those of `columns` that have heavy tails along a target, but for ranks and ties

    // Scales columns to mean 0 and mean square 1; ranks: after replacing values by the normal scores of their ranks,
    // the quantiles at (rank - 1/2) / n_samples; ties share one. Throws InvalidArgument naming the first value
    // that isn't finite. along: null, or a target of one column; columns then also lose what the covariates and the
    // target explain of their mean, and are divided by the deviation that follows the target, before they are scaled.
    // A column without a remainder is listed in `constant` instead of `columns`.
    StandardColumns(const Matrix& X, const std::vector<std::int64_t>& wanted, bool ranks, const Basis& covariates,
                    const Basis* along, Run& run);

    // Returns the columns as they would be along another target; one that only rounding is left of becomes zeros.
    StandardColumns along(const Basis& covariates, const Basis& target, Run& run) const;

    // Returns the bytes of n_features columns and of their temporary copies.
    static std::int64_t memory(std::int64_t n_features, std::int64_t n_samples, std::int64_t n_covariates) {
        return 8 * n_features * (2 * n_samples + n_covariates + 4) + 8 * kPanel<double> * n_samples;
    }

    std::int64_t size() const { return static_cast<std::int64_t>(columns.size()); }
    std::int64_t n_samples() const { return n_samples_; }
    const double* of(std::int64_t i) const { return values_.data() + i * n_samples_; }

    // Returns the mean products of column i with the covariates, m_i.
    const double* with_covariates(std::int64_t i) const { return with_covariates_.data() + i * n_covariates_; }
    // Returns v_i = 1 - |m_i|^2, the mean square that the covariates leave of column i.
    double rest(std::int64_t i) const { return rest_[at(i)]; }

    // Writes columns i0 .. i0 + count - 1 at samples s .. s + n - 1 to panels, times `factors` of the samples unless
    // null, and their squares unless `squares` is null. Panels are n samples apart; the last one ends with zeros.
    void write_panels(std::int64_t i0, std::int64_t count, std::int64_t s, std::int64_t n, const double* factors,
                      double* panels, double* squares) const;

  private:
    StandardColumns(std::int64_t n_samples, std::int64_t n_covariates)
        : n_samples_(n_samples), n_covariates_(n_covariates) {}
    double measure_rest(const double* row, const Basis& covariates, double* means) const;

    std::int64_t n_samples_, n_covariates_;
    Buffer<double> values_;
    Numbers with_covariates_, rest_;
};

}  // namespace fastfs::core
