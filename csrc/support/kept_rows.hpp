// Storage for selected rows of a matrix that comes in blocks: each is gone when the next one comes.
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

// A matrix together with the memory of its values.
struct OwnedMatrix {
    Buffer<char> values, indptr, indices;
    std::optional<Matrix> matrix;
};

class KeptRows {
  public:
    // Copies a row of X (dense, CSR or genotypes) and stores it under `number`; does nothing if a row has that number.
    // All rows must have the storage and dtype of the first.
    void keep_row(const Matrix& X, std::int64_t row, std::int64_t number);
    bool has(std::int64_t number) const { return rows_.contains(number); }
    bool is_sparse() const { return is_sparse_; }
    bool is_float32() const { return is_float32_; }
    // Tests if X, or the rows of `other`, have the storage and dtype of the stored rows.
    bool has_form_of(const Matrix& X) const { return rows_.empty() || same_form(X.is_sparse(), X.is_float32()); }
    bool has_form_of(const KeptRows& other) const {
        return rows_.empty() || other.rows_.empty() || same_form(other.is_sparse_, other.is_float32_);
    }
    // Drops all rows except the listed `numbers`, which ascend.
    void keep_only(const std::vector<std::int64_t>& numbers);
    // Adds the rows of `other` with new numbers; they must have the form of the stored ones.
    void merge(const KeptRows& other);

    std::int64_t memory() const { return memory_; }
    // Returns the bytes that `keep_row` of this row of X adds to memory().
    static std::int64_t memory(const Matrix& X, std::int64_t row);
    std::vector<std::int64_t> numbers() const;  // ascending
    // Returns all rows as a matrix, in ascending order of their numbers.
    OwnedMatrix matrix(std::int64_t n_cols) const;

    // Writes the number of rows, and then number, values and columns of each row, in ascending order.
    void save_state(ByteWriter& to) const;
    // Adds saved rows of a matrix of this form to an object without rows; their numbers must be below n_rows.
    void load_state(ByteReader& from, std::int64_t n_rows, std::int64_t n_cols, bool is_sparse, bool is_float32);

  private:
    static constexpr std::int64_t kOfAnyRow = 128;
    struct Row {
        std::vector<char> values;
        std::vector<std::int32_t> columns;  // the column of each value, if the matrix is CSR
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
