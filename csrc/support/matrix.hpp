// What the C entry received, checked once: a samples x features matrix that somebody else owns.
#pragma once

#include <cstdint>
#include <vector>

#include "fastfs/fastfs.h"
#include "support/run.hpp"

namespace fastfs::core {

class Matrix {
  public:
    // Throws InvalidArgument if the description can't be right (sizes, strides, sparse structure).
    explicit Matrix(const fastfs_matrix& description);

    std::int64_t n_rows() const { return m_.n_rows; }
    std::int64_t n_cols() const { return m_.n_cols; }
    bool is_float32() const { return m_.dtype == FASTFS_FLOAT32; }
    bool is_sparse() const { return m_.storage != FASTFS_DENSE; }
    bool is_csr() const { return m_.storage == FASTFS_CSR; }
    const fastfs_matrix& description() const { return m_; }
    std::int64_t n_stored() const;  // values held: all, or those of a sparse matrix

    // Largest |x| of each row. Throws InvalidArgument naming the first row and column with NaN or infinity.
    std::vector<double> row_maxima(Run& run) const;

  private:
    fastfs_matrix m_;
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
