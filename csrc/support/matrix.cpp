#include "support/matrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

constexpr std::int64_t kRowsPerTask = 64;

void check_sparse(const fastfs_matrix& m) {
    require(m.index_bits == 32 || m.index_bits == 64, "index_bits must be 32 or 64, not ", m.index_bits);
    require(m.indptr != nullptr, "a sparse matrix needs indptr, but it is null");
    const bool csr = m.storage == FASTFS_CSR;
    const std::int64_t outer = csr ? m.n_rows : m.n_cols, inner = csr ? m.n_cols : m.n_rows;
    visit_sparse(m, [&](auto* values, auto* indptr, auto* indices) {
        require(indptr[0] == 0, "the first entry of indptr must be 0, but is ", indptr[0]);
        for (std::int64_t o = 0; o < outer; ++o) {
            if (indptr[o] <= indptr[o + 1]) continue;
            throw InvalidArgument({"indptr must not decrease, but does at position ", o + 1});
        }
        const std::int64_t stored = indptr[outer];
        require(stored == 0 || (values && indices), "the values or indices of a sparse matrix are null");
        for (std::int64_t e = 0; e < stored; ++e) {
            if (indices[e] >= 0 && indices[e] < inner) continue;
            throw InvalidArgument({"the sparse index ", indices[e], " at position ", e, " is outside 0..", inner - 1});
        }
    });
}

template <class T>
std::vector<double> dense_row_maxima(const fastfs_matrix& m, const T* x, const Name& name, std::int64_t first_row,
                                     Run& run) {
    std::vector<double> maxima(at(m.n_rows));
    const std::int64_t rs = m.row_stride, cs = m.col_stride;
    // x * 0 is 0 for finite x and NaN otherwise, so one sum a row, added to its maximum, tells whether it is clean.
    parallel_for(run, ceil_div(m.n_rows, kRowsPerTask), [&](std::int64_t task, int) {
        const std::int64_t first = task * kRowsPerTask, last = std::min(first + kRowsPerTask, m.n_rows);
        T largest[kRowsPerTask] = {}, sum[kRowsPerTask] = {};
        if (std::abs(cs) <= std::abs(rs)) {
            for (std::int64_t r = first; r < last; ++r) {
                const T* row = x + r * rs;
                constexpr int kLanes = 16;
                T row_largest = 0, row_sum = 0;
                std::int64_t c = 0;
                if (cs == 1 && m.n_cols >= kLanes) {
                    T lane_largest[kLanes] = {}, lane_sum[kLanes] = {};
                    for (; c + kLanes <= m.n_cols; c += kLanes) {
                        for (int l = 0; l < kLanes; ++l) {
                            const T v = std::abs(row[c + l]);
                            lane_largest[l] = v > lane_largest[l] ? v : lane_largest[l];
                            lane_sum[l] += v * T(0);
                        }
                    }
                    for (int l = 0; l < kLanes; ++l) {
                        row_largest = std::max(row_largest, lane_largest[l]);
                        row_sum += lane_sum[l];
                    }
                }
                for (; c < m.n_cols; ++c) {
                    const T v = std::abs(row[c * cs]);
                    row_largest = v > row_largest ? v : row_largest;
                    row_sum += v * T(0);
                }
                largest[r - first] = row_largest;
                sum[r - first] = row_sum;
            }
        } else {
            for (std::int64_t c = 0; c < m.n_cols; ++c) {
                const T* column = x + c * cs;
                for (std::int64_t r = first; r < last; ++r) {
                    const T v = std::abs(column[r * rs]);
                    largest[r - first] = v > largest[r - first] ? v : largest[r - first];
                    sum[r - first] += v * T(0);
                }
            }
        }
        for (std::int64_t r = first; r < last; ++r) {
            maxima[at(r)] = static_cast<double>(largest[r - first] + sum[r - first]);
        }
    });
    for (std::int64_t r = 0; r < m.n_rows; ++r) {
        if (!std::isnan(maxima[at(r)])) continue;
        for (std::int64_t c = 0; c < m.n_cols; ++c) {
            if (!std::isfinite(x[r * rs + c * cs])) refuse_not_finite(name, first_row + r, c);
        }
    }
    return maxima;
}

template <class T, class I>
std::vector<double> sparse_row_maxima(const fastfs_matrix& m, const T* values, const I* indptr, const I* indices,
                                      const Name& name, std::int64_t first_row, Run& run) {
    std::vector<double> maxima(at(m.n_rows), 0.0);
    const bool csr = m.storage == FASTFS_CSR;
    const std::int64_t outer = csr ? m.n_rows : m.n_cols;
    std::int64_t bad_row = std::numeric_limits<std::int64_t>::max(), bad_column = bad_row;
    std::int64_t since = 0;
    for (std::int64_t o = 0; o < outer; ++o) {
        since += indptr[o + 1] - indptr[o] + 1;
        if (since > (std::int64_t{1} << 20)) {  // rows may have none or a million of them
            run.checkpoint();
            since = 0;
        }
        for (std::int64_t e = indptr[o]; e < indptr[o + 1]; ++e) {
            const std::int64_t r = csr ? o : std::int64_t{indices[e]}, c = csr ? std::int64_t{indices[e]} : o;
            double& largest = maxima[at(r)];
            largest = std::max(largest, std::abs(static_cast<double>(values[e])));
            if (!std::isfinite(values[e]) && (r < bad_row || (r == bad_row && c < bad_column))) {
                bad_row = r;
                bad_column = c;
            }
        }
    }
    if (bad_row != std::numeric_limits<std::int64_t>::max()) refuse_not_finite(name, first_row + bad_row, bad_column);
    return maxima;
}

void check_genotypes(const fastfs_matrix& m, const Name& name) {
    require(m.values != nullptr, "the values of ", name, " are null");
    require(m.row_stride == 0, "the row_stride of genotypes must be 0, but is ", m.row_stride);
    require(m.col_stride >= 1 && m.col_stride <= kMostValues, "col_stride must be the bytes of a SNP, not ",
            m.col_stride);
    const std::int64_t n_samples = 4 * m.col_stride;
    if (!m.row_list) {
        require(m.n_rows <= n_samples, "SNPs of ", m.col_stride, " bytes have at most ", n_samples,
                " samples, but n_rows is ", m.n_rows);
    }
    for (std::int64_t r = 0; m.row_list && r < m.n_rows; ++r) {
        if (m.row_list[r] >= 0 && m.row_list[r] < n_samples) continue;
        throw InvalidArgument({"the sample ", m.row_list[r], " at position ", r, " of row_list is outside 0..",
                               n_samples - 1, ", which SNPs of ", m.col_stride, " bytes have"});
    }
    const std::int64_t most = kMostValues / m.col_stride;  // how many there are is known to the caller alone
    for (std::int64_t c = 0; m.col_list && c < m.n_cols; ++c) {
        if (m.col_list[c] >= 0 && m.col_list[c] < most) continue;
        throw InvalidArgument({"the SNP ", m.col_list[c], " at position ", c, " of col_list is outside 0..", most - 1});
    }
}

}  // namespace

void refuse_not_finite(const Name& matrix, std::int64_t row, std::int64_t column) {
    refuse({matrix, " contains NaN or infinity: first at ", Name::row(row), ", ", Name::column(column),
            " (counted from 0); impute or drop it first"});
}

Matrix::Matrix(const fastfs_matrix& description, const Name& name, bool reads_genotypes)
    : m_(description), name_(name) {
    require(m_.dtype == FASTFS_FLOAT32 || m_.dtype == FASTFS_FLOAT64,
            "dtype must be FASTFS_FLOAT32 or FASTFS_FLOAT64, not ", m_.dtype);
    require(m_.reserved == 0, "the reserved field of a matrix must be 0, but is ", m_.reserved);
    require(m_.storage >= FASTFS_DENSE && m_.storage <= FASTFS_GENOTYPE,
            "storage must be FASTFS_DENSE, FASTFS_CSR, FASTFS_CSC or FASTFS_GENOTYPE, not ", m_.storage);
    require(!is_genotypes() || reads_genotypes, name,
            " holds genotypes of two bits, which only the RELIEF family and functions of SNPs read: decode them to numbers");
    require(is_genotypes() || (!m_.row_list && !m_.col_list),
            "row_list and col_list select genotypes, but the storage of ", name, " is ", m_.storage);
    require(m_.n_rows >= 1 && m_.n_cols >= 1, name, " needs at least one sample and one feature, but is ", m_.n_rows,
            " x ", m_.n_cols);
    require(m_.n_rows <= kMostValues / m_.n_cols, name, " can't have ", m_.n_rows, " x ", m_.n_cols, " values");
    if (is_sparse()) {
        check_sparse(m_);
    } else if (is_genotypes()) {
        check_genotypes(m_, name);
    } else {
        require(m_.values != nullptr, "the values of ", name, " are null");
        // No memory reaches further, and no sum of such steps overflows.
        auto reach = [](std::int64_t n, std::int64_t stride) {
            return static_cast<double>(n) * std::abs(static_cast<double>(stride));
        };
        require(reach(m_.n_rows, m_.row_stride) + reach(m_.n_cols, m_.col_stride) <= 0x1p58, "the strides of ", name,
                ", ", m_.row_stride, " and ", m_.col_stride, " values, reach further than any memory");
    }
}

std::int64_t Matrix::n_stored() const {
    if (!is_sparse()) return m_.n_rows * m_.n_cols;
    return visit_sparse(m_, [&](auto*, auto* indptr, auto*) {
        return static_cast<std::int64_t>(indptr[is_csr() ? m_.n_rows : m_.n_cols]);
    });
}

std::vector<double> Matrix::row_maxima(Run& run, std::int64_t first_row) const {
    if (is_sparse()) {
        return visit_sparse(m_, [&](auto* values, auto* indptr, auto* indices) {
            return sparse_row_maxima(m_, values, indptr, indices, name_, first_row, run);
        });
    }
    return visit_dense(m_, [&](auto* x) { return dense_row_maxima(m_, x, name_, first_row, run); });
}

Samples::Samples(std::vector<Matrix> chunks) : chunks_(std::move(chunks)) {
    require(!chunks_.empty(), "X has no chunks");
    begins_.reserve(chunks_.size() + 1);
    begins_.push_back(0);
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
        const Matrix& chunk = chunks_[c];
        if (chunk.n_cols() != n_cols()) {
            refuse({"all chunks of X must have the ", n_cols(), " features of the first, but ",
                    Name::chunk(static_cast<std::int64_t>(c)), " has ", chunk.n_cols()});
        }
        if (chunk.is_sparse() != is_sparse()) {
            refuse({"the chunks of X must be all dense or all sparse, but ", Name::chunk(static_cast<std::int64_t>(c)),
                    chunk.is_sparse() ? " is sparse and the first is not" : " is dense and the first is not"});
        }
        begins_.push_back(begins_.back() + chunk.n_rows());
    }
}

bool Samples::is_float32() const {
    return std::all_of(chunks_.begin(), chunks_.end(), [](const Matrix& chunk) { return chunk.is_float32(); });
}

std::int64_t Samples::n_stored() const {
    std::int64_t stored = 0;
    for (const Matrix& chunk : chunks_) stored += chunk.n_stored();
    return stored;
}

std::vector<double> Samples::row_maxima(Run& run) const {
    std::vector<double> maxima = chunks_.front().row_maxima(run, 0);
    for (std::size_t c = 1; c < chunks_.size(); ++c) {
        const auto more = chunks_[c].row_maxima(run, begins_[c]);
        maxima.insert(maxima.end(), more.begin(), more.end());
    }
    return maxima;
}

}  // namespace fastfs::core
