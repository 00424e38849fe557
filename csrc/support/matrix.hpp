// A samples x features matrix that belongs to the caller; checked once, by the C entry.
#pragma once

#include <cstdint>
#include <vector>

#include "fastfs/fastfs.h"
#include "support/errors.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Keeps byte counts of square matrices within 64 bits.
constexpr std::int64_t kMostFeatures = 400000000;

// More values would take petabytes, and the bytes of several such matrices still fit 64 bits.
constexpr std::int64_t kMostValues = std::int64_t{1} << 50;

// The names of the first and second matrix of a call in messages.
inline const Name kX = Name::of_matrix(0, "X");
inline const Name kY = Name::of_matrix(1, "Y");

// Refuses a matrix for the value at that place.
[[noreturn]] void refuse_not_finite(const Name& matrix, std::int64_t row, std::int64_t column);

class Matrix {
  public:
    // Throws InvalidArgument if the description can't be right (sizes, strides, sparse structure), or if these are
    // genotypes and the caller can't read them.
    explicit Matrix(const fastfs_matrix& description, const Name& name = kX, bool reads_genotypes = false);

    std::int64_t n_rows() const { return m_.n_rows; }
    std::int64_t n_cols() const { return m_.n_cols; }
    bool is_float32() const { return m_.dtype == FASTFS_FLOAT32; }
    bool is_sparse() const { return m_.storage == FASTFS_CSR || m_.storage == FASTFS_CSC; }
    bool is_genotypes() const { return m_.storage == FASTFS_GENOTYPE; }
    bool is_csr() const { return m_.storage == FASTFS_CSR; }
    const fastfs_matrix& description() const { return m_; }
    std::int64_t n_stored() const;  // values held: all, or those of a sparse matrix

    // Largest |x| of each row. Throws InvalidArgument naming the first row and column with NaN or infinity; rows count
    // from first_row.
    std::vector<double> row_maxima(Run& run, std::int64_t first_row = 0) const;

  private:
    fastfs_matrix m_;
    Name name_;
};

// The samples of a call: row chunks of equal width, all dense or all sparse. Mostly there is one.
class Samples {
  public:
    explicit Samples(std::vector<Matrix> chunks);
    explicit Samples(const Matrix& X) : Samples(std::vector<Matrix>{X}) {}

    std::int64_t n_rows() const { return begins_.back(); }
    std::int64_t n_cols() const { return chunks_.front().n_cols(); }
    bool is_sparse() const { return chunks_.front().is_sparse(); }
    bool is_float32() const;  // all chunks are
    std::int64_t n_stored() const;

    // As Matrix::row_maxima; rows count over all chunks.
    std::vector<double> row_maxima(Run& run) const;

    // Calls f(chunk, begin, end, offset) for each chunk that has some of the ascending `rows`: rows[begin] - offset ..
    // rows[end - 1] - offset of the chunk.
    template <class F>
    void for_chunks(const std::vector<std::int64_t>& rows, F&& f) const {
        std::size_t begin = 0;
        for (std::size_t c = 0; c < chunks_.size(); ++c) {
            std::size_t end = begin;
            while (end < rows.size() && rows[end] < begins_[c + 1]) ++end;
            if (end > begin) f(chunks_[c], begin, end, begins_[c]);
            begin = end;
        }
    }

  private:
    std::vector<Matrix> chunks_;
    std::vector<std::int64_t> begins_;  // the first row of each chunk, and the number of all
};

// Calls f(values, indptr, indices) with the types that the sparse matrix has.
template <class F>
auto visit_sparse(const fastfs_matrix& m, F&& f) {
    auto with_values = [&](auto* values) {
        if (m.index_bits == 32) {
            return f(values, static_cast<const std::int32_t*>(m.indptr), static_cast<const std::int32_t*>(m.indices));
        }
        return f(values, static_cast<const std::int64_t*>(m.indptr), static_cast<const std::int64_t*>(m.indices));
    };
    if (m.dtype == FASTFS_FLOAT32) return with_values(static_cast<const float*>(m.values));
    return with_values(static_cast<const double*>(m.values));
}

// Calls f(values) with the type that the dense matrix has.
template <class F>
auto visit_dense(const fastfs_matrix& m, F&& f) {
    if (m.dtype == FASTFS_FLOAT32) return f(static_cast<const float*>(m.values));
    return f(static_cast<const double*>(m.values));
}

}  // namespace fastfs::core
