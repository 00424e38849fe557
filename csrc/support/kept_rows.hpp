// Some rows of a matrix that comes in blocks, which are gone when the next one comes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "support/buffer.hpp"
#include "support/bytes.hpp"
#include "support/matrix.hpp"

namespace fastfs::core {

// A matrix that has its values.
struct OwnedMatrix {
    Buffer<char> values, indptr, indices;
    std::optional<Matrix> matrix;
};

class KeptRows {
  public:
    // A row of X, dense, CSR or genotypes, under a number. All have the storage and dtype of the first.
    void keep(const Matrix& X, std::int64_t row, std::int64_t number);
    bool has(std::int64_t number) const { return rows_.contains(number); }
    bool is_sparse() const { return is_sparse_; }
    bool is_float32() const { return is_float32_; }
    // Whether X, or the rows of another one, have the storage and dtype of these.
    bool fits(const Matrix& X) const { return rows_.empty() || same_form(X.is_sparse(), X.is_float32()); }
    bool fits(const KeptRows& other) const {
        return rows_.empty() || other.rows_.empty() || same_form(other.is_sparse_, other.is_float32_);
    }
    // Keeps these only, which ascend.
    void keep_only(const std::vector<std::int64_t>& numbers);
    void merge(const KeptRows& other);

    std::int64_t memory() const { return memory_; }
    // What a row of X adds to it.
    static std::int64_t memory(const Matrix& X, std::int64_t row);
    std::vector<std::int64_t> numbers() const;  // ascending
    // All of them in that order.
    OwnedMatrix matrix(std::int64_t n_cols) const;

    void save(ByteWriter& to) const;
    // Rows of a matrix of this form, under numbers below n_rows.
    void load(ByteReader& from, std::int64_t n_rows, std::int64_t n_cols, bool is_sparse, bool is_float32);

  private:
    static constexpr std::int64_t kOfAnyRow = 128;
    struct Row {
        std::vector<char> values;
        std::vector<std::int32_t> columns;  // of the values of a CSR matrix
        std::int64_t memory() const { return std::ssize(values) + 4 * std::ssize(columns) + kOfAnyRow; }
    };

    bool same_form(bool is_sparse, bool is_float32) const {
        return is_sparse == is_sparse_ && is_float32 == is_float32_;
    }

    std::map<std::int64_t, std::shared_ptr<const Row>> rows_;  // shared by copies
    std::int64_t memory_ = 0;
    bool is_sparse_ = false, is_float32_ = false;
};

}  // namespace fastfs::core
