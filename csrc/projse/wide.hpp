// Inputs that need no sums: fewer samples than variables.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "projse/choice.hpp"
#include "projse/columns.hpp"
#include "projse/packed.hpp"
#include "projse/sparse_columns.hpp"
#include "support/buffer.hpp"
#include "support/csr.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"
#include "support/matrix.hpp"
#include "support/parallel.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Columns of a dense matrix minus their means, made tile by tile, or kept if they are small.
class CenteredColumns {
  public:
    static constexpr std::int64_t kWidth = 64;

    // Finds the means and norms of all columns; throws if a column isn't finite.
    CenteredColumns(const Matrix& X, const Name& matrix, Run& run) : X_(X), m_(X.n_rows()), n_(X.n_cols()) {
        columns_ = ProjseColumns(n_);
        if (keeps(m_, n_)) kept_ = Buffer<double>(m_ * n_);
        scratch_.resize(at(run.n_threads()));
        for_tiles(run, [&](std::int64_t j0, std::int64_t w, double* tile, int) {
            for (std::int64_t j = 0; j < w; ++j) {
                const double* column = tile + j * m_;
                double size = 0, square = 0;
                for (std::int64_t i = 0; i < m_; ++i) {
                    size += std::abs(column[i]);
                    square += column[i] * column[i];
                }
                columns_.squares[at(j0 + j)] = square;
                columns_.summed[at(j0 + j)] =
                    in_range<double>(size, square, m_) ? square : std::numeric_limits<double>::quiet_NaN();
            }
        });
        complete_ = kept_.size() > 0;
        for (std::int64_t j = 0; j < n_; ++j) {
            if (!std::isfinite(columns_.summed[at(j)])) refuse_column(X, matrix, j, 0, m_);
        }
    }

    const ProjseColumns& columns() const { return columns_; }

    // Calls f(j0, w, tile, slot) on several threads for the w columns from j0 on, all columns in turn; tile: their
    // centred values, m x w, column-major, valid during the call; slot: the number of the thread.
    template <class F>
    void for_tiles(Run& run, F&& f) {
        parallel_for(run, ceil_div(n_, kWidth), [&](std::int64_t task, int slot) {
            const std::int64_t j0 = task * kWidth, w = std::min(kWidth, n_ - j0);
            double* tile = kept_.data() + j0 * m_;
            if (kept_.size() == 0) {
                Buffer<double>& thread_tile = scratch_[at(slot)];
                if (thread_tile.size() == 0) thread_tile = Buffer<double>(m_ * kWidth);
                tile = thread_tile.data();
            }
            if (!complete_) center(j0, w, tile);
            f(j0, w, tile, slot);
        });
    }

    // Writes column k minus its mean to out.
    void column(std::int64_t k, double* out) { center(k, 1, out); }

    // Writes the inner products of column k with all columns to out.
    void inner(std::int64_t k, double* out, Run& run) {
        std::vector<double> x(at(m_));
        center(k, 1, x.data());
        for_tiles(run, [&](std::int64_t j0, std::int64_t w, double* tile, int) {
            gemm('T', 'N', w, 1, m_, 1.0, tile, m_, x.data(), m_, 0.0, out + j0, w);
        });
    }

    // Tells if all columns are kept.
    static bool keeps(std::int64_t m, std::int64_t n) { return 8 * m * n <= kKept; }

    static std::int64_t memory(std::int64_t m, std::int64_t n, int n_threads) {
        return 24 * n + (keeps(m, n) ? 8 * m * n : 8 * m * kWidth * n_threads);
    }

  private:
    static constexpr std::int64_t kKept = 64 << 20;

    // Writes columns j0..j0 + w - 1 minus their means to the tile, and sets the means.
    void center(std::int64_t j0, std::int64_t w, double* tile) {
        visit_values(X_.description(), [&]<class T>(const Values<T>& x) {
            Buffer<T> room;
            for (std::int64_t r = 0, step = x.most(w); r < m_; r += step) {
                const std::int64_t last = std::min(r + step, m_);
                const auto [values, rs, cs] = x.block(r, last, j0, j0 + w, room);
                copy_rows(values, cs, rs, w, last - r, tile + r, m_);
            }
        });
        for (std::int64_t j = 0; j < w; ++j) {  // a constant column becomes zero to the bit
            double* column = tile + j * m_;
            const double first = column[0];
            double sum = 0;
            for (std::int64_t i = 0; i < m_; ++i) sum += column[i] - first;
            const double mean = first + sum / static_cast<double>(m_);
            for (std::int64_t i = 0; i < m_; ++i) column[i] -= mean;
            columns_.mean[at(j0 + j)] = mean;
        }
    }

    const Matrix& X_;
    std::int64_t m_, n_;
    ProjseColumns columns_;
    Buffer<double> kept_;
    bool complete_ = false;
    std::vector<Buffer<double>> scratch_;
};

// The columns of a sparse matrix, for inner products of a column with all columns in O(entries) time.
template <class V>
class SparseColumns {
  public:
    // Copies the entries column by column, and finds means and norms.
    SparseColumns(const Matrix& X, Run& run) : m_(X.n_rows()), n_(X.n_cols()) {
        columns_ = ProjseColumns(n_);
        begins_.assign(at(n_ + 1), 0);
        const fastfs_matrix& description = X.description();
        visit_sparse(description, [&](auto* values, auto* indptr, auto* indices) {
            if constexpr (std::is_same_v<std::remove_cv_t<std::remove_reference_t<decltype(*values)>>, V>) {
                if (X.is_csr()) {
                    SortedByColumn<V> sorted;
                    sorted.sort_rows(values, indptr, indices, 0, m_, n_);
                    take_columns(sorted.values.data(), sorted.begins.data(), sorted.rows.data(), run);
                } else {
                    take_columns(values, indptr, indices, run);
                }
            }
        });
        for (std::int64_t j = 0; j < n_; ++j) {
            if (!std::isfinite(columns_.summed[at(j)])) refuse_column(X, kX, j, 0, m_);
        }
    }

    const ProjseColumns& columns() const { return columns_; }

    // Writes the centred inner products of column k with all columns to out.
    void inner(std::int64_t k, double* out, Run& run) const {
        std::vector<double> x(at(m_), 0.0);
        for (std::int64_t e = begins_[at(k)]; e < begins_[at(k + 1)]; ++e) {
            x[at(rows_[at(e)])] = static_cast<double>(values_[at(e)]);
        }
        const double mean = columns_.mean[at(k)] * static_cast<double>(m_);
        constexpr std::int64_t kStep = 512;
        parallel_for(run, ceil_div(n_, kStep), [&](std::int64_t task, int) {
            for (std::int64_t j = task * kStep; j < std::min((task + 1) * kStep, n_); ++j) {
                double sum = 0;
                for (std::int64_t e = begins_[at(j)]; e < begins_[at(j + 1)]; ++e) {
                    sum += static_cast<double>(values_[at(e)]) * x[at(rows_[at(e)])];
                }
                out[j] = sum - mean * columns_.mean[at(j)];
            }
        });
    }

    // Sets out[k] to the inner product of column j with column k < ld of Y, which has rows of ld values, a multiple of
    // kHalfBlock. Neither column is centred.
    void products(std::int64_t j, const double* Y, std::int64_t ld, double* out) const {
        const std::int64_t begin = begins_[at(j)], end = begins_[at(j + 1)];
        sparse_products(rows_.data() + begin, values_.data() + begin, end - begin, Y, ld, out);
    }

    static std::int64_t memory(const Matrix& X) { return 40 * X.n_stored() + 64 * X.n_cols(); }

  private:
    // Appends the entries of all columns, and sets their sums.
    template <class P, class I>
    void take_columns(const V* values, const P* begins, const I* rows, Run& run) {
        SparseLine<V> column;
        for (std::int64_t j = 0; j < n_; ++j) {
            if (j % 1024 == 0) run.checkpoint();
            column.visit(rows + begins[j], values + begins[j], static_cast<std::int64_t>(begins[j + 1] - begins[j]),
                         [&](auto* row, auto* value, std::int64_t n) {
                             double sum = 0, square = 0;
                             for (std::int64_t e = 0; e < n; ++e) {
                                 rows_.push_back(row[e]);
                                 values_.push_back(value[e]);
                                 const auto v = static_cast<double>(value[e]);
                                 sum += v;
                                 square += v * v;
                             }
                             columns_.set_column(j, m_, 0.0, sum, square);
                         });
            begins_[at(j + 1)] = static_cast<std::int64_t>(rows_.size());
        }
    }

    std::int64_t m_, n_;
    ProjseColumns columns_;
    std::vector<std::int64_t> begins_, rows_;
    std::vector<V> values_;
};

// The span of the targets: an orthonormal basis U (m x rank, column-major), from the m x m Gram matrix of their
// samples, which has the nonzero eigenvalues of K_YY. For the linear kernel.
struct Span {
    Buffer<double> U;
    std::int64_t rank;
    Dependence how;
};

Span span_of_targets(const Matrix& Y, const fastfs_projse_options& o, Run& run);

}  // namespace fastfs::core
