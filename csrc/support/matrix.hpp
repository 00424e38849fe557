// A samples x features matrix that belongs to the caller; checked once, by the C entry.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "fastfs/fastfs.h"
#include "support/buffer.hpp"
#include "support/errors.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// The largest number of features, which keeps byte counts of square matrices within 64 bits.
constexpr std::int64_t kMostFeatures = 400000000;

// The largest number of values: more would take petabytes, and the bytes of several matrices of this size still fit 64
// bits.
constexpr std::int64_t kMostValues = std::int64_t{1} << 50;

// The names in messages of the first and the second matrix of a call.
inline const Name kX = Name::of_matrix(0, "X");
inline const Name kY = Name::of_matrix(1, "Y");

// Throws InvalidArgument, which names the value at this row and column as NaN or infinity.
[[noreturn]] void refuse_not_finite(const Name& matrix, std::int64_t row, std::int64_t column);

class Matrix {
  public:
    // Throws InvalidArgument if the description can't be right (sizes, strides, sparse structure). dense_row_list: true
    // if a dense matrix can have a row_list, which only Values reads.
    explicit Matrix(const fastfs_matrix& description, const Name& name = kX, bool dense_row_list = false);

    std::int64_t n_rows() const { return m_.n_rows; }
    std::int64_t n_cols() const { return m_.n_cols; }
    bool is_float32() const { return m_.dtype == FASTFS_FLOAT32; }
    bool is_dense() const { return m_.storage == FASTFS_DENSE; }
    bool is_sparse() const { return m_.storage == FASTFS_CSR || m_.storage == FASTFS_CSC; }
    bool is_genotypes() const { return m_.storage == FASTFS_GENOTYPE; }
    bool is_csr() const { return m_.storage == FASTFS_CSR; }
    const fastfs_matrix& description() const { return m_; }
    std::int64_t n_stored() const;  // values held: all of a dense matrix, the stored entries of a sparse one

    // Returns the largest |x| of each row. Throws InvalidArgument naming the first row and column with NaN or infinity;
    // first_row is the number of the first row in that message.
    std::vector<double> row_maxima(Run& run, std::int64_t first_row = 0) const;

  private:
    fastfs_matrix m_;
    Name name_;
};

// The samples of a call: row chunks of equal width, all dense or all sparse. Most calls have one chunk.
class Samples {
  public:
    explicit Samples(std::vector<Matrix> chunks);
    explicit Samples(const Matrix& X) : Samples(std::vector<Matrix>{X}) {}

    std::int64_t n_rows() const { return begins_.back(); }
    std::int64_t n_cols() const { return chunks_.front().n_cols(); }
    bool is_sparse() const { return chunks_.front().is_sparse(); }
    bool is_float32() const;  // all chunks are
    std::int64_t n_stored() const;

    // Returns the largest |x| of each row, as Matrix::row_maxima; rows count over all chunks.
    std::vector<double> row_maxima(Run& run) const;

    // Tests if rows can be taken in blocks: dense and CSR chunks allow it.
    bool has_row_blocks() const;
    // Calls f(block, first row) for blocks of at most `most` consecutive rows, in their order.
    void for_row_blocks(std::int64_t most, const std::function<void(const Matrix&, std::int64_t)>& f) const;

    // Calls f(chunk, begin, end, offset) for each chunk that has some of the ascending `rows`: rows[begin] - offset ..
    // rows[end - 1] - offset are their numbers within the chunk.
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
    std::vector<std::int64_t> begins_;  // the first row of each chunk, and the number of all rows
};

// Calls f(values, indptr, indices), each a pointer to the type that the sparse matrix has.
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

// Calls f(values), a pointer to the type that the dense matrix has, or that genotypes decode to.
template <class F>
auto visit_dense(const fastfs_matrix& m, F&& f) {
    if (m.dtype == FASTFS_FLOAT32) return f(static_cast<const float*>(m.values));
    return f(static_cast<const double*>(m.values));
}

// Returns a pointer to the first byte of a SNP.
inline const unsigned char* snp(const fastfs_matrix& m, std::int64_t column) {
    return static_cast<const unsigned char*>(m.values) + (m.col_list ? m.col_list[column] : column) * m.col_stride;
}

// Decodes the genotypes of rows r0..r1 - 1 in n SNPs to numbers, missing genotypes to NaN; rows of `to` are ld apart.
template <class T>
void decode(const fastfs_matrix& m, std::int64_t r0, std::int64_t r1, const unsigned char* const* snps, std::int64_t n,
            T* to, std::int64_t ld);

// A rectangle of values, which are read by strides.
template <class T>
struct Block {
    const T* values;
    std::int64_t row_stride, col_stride;
};

// Access to the values of a matrix that isn't sparse: dense values are read where they are, unless the matrix has a
// row_list, and genotypes are decoded.
template <class T>
class Values {
  public:
    explicit Values(const fastfs_matrix& m) : m_(&m) {}

    T operator()(std::int64_t r, std::int64_t c) const {
        if (m_->storage == FASTFS_DENSE) return dense(m_->row_list ? m_->row_list[r] : r, c)[0];
        T value;
        const unsigned char* snp_bytes = snp(*m_, c);
        decode(*m_, r, r + 1, &snp_bytes, 1, &value, 1);
        return value;
    }

    // Returns rows r0..r1 - 1 of columns c0..c1 - 1: a view of X, or a copy in `room` that is valid until the next use
    // of `room`.
    Block<T> block(std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1, Buffer<T>& room) const {
        if (stay()) return {dense(r0, c0), m_->row_stride, m_->col_stride};
        const std::int64_t n = c1 - c0;
        if (room.size() < (r1 - r0) * n) room = Buffer<T>((r1 - r0) * n);
        if (m_->storage == FASTFS_DENSE) {
            for (std::int64_t r = r0; r < r1; ++r) {
                const T* from = dense(m_->row_list[r], c0);
                T* to = room.data() + (r - r0) * n;
                if (m_->col_stride == 1) {
                    std::copy_n(from, n, to);
                } else {
                    for (std::int64_t c = 0; c < n; ++c) to[c] = from[c * m_->col_stride];
                }
            }
            return {room.data(), n, 1};
        }
        const unsigned char* snps[kSnps];
        for (std::int64_t k = 0; k < n; k += kSnps) {
            const std::int64_t size = std::min(kSnps, n - k);
            for (std::int64_t s = 0; s < size; ++s) snps[s] = snp(*m_, c0 + k + s);
            decode(*m_, r0, r1, snps, size, room.data() + k, n);
        }
        return {room.data(), n, 1};
    }

    // Returns the best number of rows of a block with `across` columns (or of columns, for `across` rows): no limit if
    // the values are read in place, otherwise the number of rows that fit a cache when they are copied.
    std::int64_t most(std::int64_t across) const {
        return stay() ? kMostValues : std::max<std::int64_t>(kDecoded / across, 4);
    }

  private:
    static constexpr std::int64_t kSnps = 64, kDecoded = 1 << 14;

    bool stay() const { return m_->storage == FASTFS_DENSE && !m_->row_list; }

    const T* dense(std::int64_t r, std::int64_t c) const {
        return static_cast<const T*>(m_->values) + r * m_->row_stride + c * m_->col_stride;
    }

    const fastfs_matrix* m_;
};

// Calls f(values) with the Values of a matrix that isn't sparse.
template <class F>
auto visit_values(const fastfs_matrix& m, F&& f) {
    if (m.dtype == FASTFS_FLOAT32) return f(Values<float>(m));
    return f(Values<double>(m));
}

// Calls f(begin, end) for runs of the ascending rows[begin..end - 1] that lie within `most` rows.
template <class F>
void for_runs(const std::vector<std::int64_t>& rows, std::size_t begin, std::size_t end, std::int64_t most, F&& f) {
    while (begin < end) {
        const auto from = rows.begin() + static_cast<std::ptrdiff_t>(begin);
        const auto last = std::lower_bound(from, rows.begin() + static_cast<std::ptrdiff_t>(end), *from + most);
        const auto next = static_cast<std::size_t>(last - rows.begin());
        f(begin, next);
        begin = next;
    }
}

}  // namespace fastfs::core
