// Shifts and factors of the columns of a matrix, which make features comparable.
#pragma once

#include <cstdint>
#include <vector>

#include "support/bytes.hpp"
#include "support/index.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

enum class Scaling { kNone, kRange, kStandard };

// Contents that a table can have besides complete columns of numbers.
struct TableRules {
    bool missing = false;                  // NaN is a missing value
    const std::int64_t* levels = nullptr;  // per column: 0 for numbers, otherwise its codes are 0..levels - 1
    const double* weights = nullptr;       // of the rows, in means and deviations; null: 1 each
    bool deviations = false;               // compute FeatureScales::deviation
};

// A scaled value is (x - shift) * factor, and a code itself. find_scales throws InvalidArgument if X holds infinity, or
// NaN or codes against the rules, if nothing varies, or if a column can't be scaled. A sparse X keeps its zeros: its
// shifts are 0, kStandard is refused, and there are no rules.
struct FeatureScales {
    std::vector<double> shift, factor;  // factor 0: the feature is constant
    std::vector<double> deviation;      // not scaled; divides by n_rows, not n_rows - 1; or empty
    std::vector<double> range;          // not scaled; empty for genotypes
    std::vector<char> incomplete;       // 1 if a value is missing; empty if none is
    bool whole = false;                 // X is float32, and features that vary hold whole numbers
    bool uneven = false;                // not scaled, and standard deviations 1e3 apart
};
FeatureScales find_scales(const Matrix& X, Scaling scaling, Run& run, const TableRules& rules = {});

// Scales of complete numbers that come in blocks of rows, all of one storage and dtype. Ranges equal the ranges of
// find_scales to the bit, means and deviations within rounding.
class ScalesOfBlocks {
  public:
    ScalesOfBlocks(std::int64_t n_cols, Scaling scaling);
    // Adds the rows of X to the statistics; throws InvalidArgument if a value isn't finite.
    void add_block(const Matrix& X, Run& run);
    // Adds the rows of `other`; has_form_of(other) must hold.
    void merge(const ScalesOfBlocks& other);
    // Tests if X, or the blocks of `other`, have the storage and dtype of the blocks added so far.
    bool has_form_of(const Matrix& X) const {
        return n_rows_ == 0 || (X.is_sparse() == is_sparse_ && X.is_float32() == is_float32_);
    }
    bool has_form_of(const ScalesOfBlocks& other) const {
        return n_rows_ == 0 || other.n_rows_ == 0 ||
               (other.is_sparse_ == is_sparse_ && other.is_float32_ == is_float32_);
    }
    bool is_sparse() const { return is_sparse_; }
    bool is_float32() const { return is_float32_; }
    // Returns the scales of all rows added so far; throws as find_scales.
    FeatureScales scales() const;

    void save_state(ByteWriter& to) const;
    // Replaces the statistics by saved ones; throws unless they have n_rows rows, an equal number of columns, and
    // possible values.
    void load_state(ByteReader& from, std::int64_t n_rows);

  private:
    // Adds n_rows rows, given by the statistics of their columns.
    void add_block(std::int64_t n_rows, const Numbers& lowest, const Numbers& highest, const Numbers& mean,
                   const Numbers& deviation, const std::vector<char>& broken);

    Scaling scaling_;
    bool is_sparse_ = false, is_float32_ = false;
    std::int64_t n_rows_ = 0;
    Numbers lowest_, highest_, mean_, deviation_;
    std::vector<char> broken_;
};

}  // namespace fastfs::core
