#include "support/matrix.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

constexpr std::int64_t kRowsPerTask = 64;

void require_aligned(const void* values, std::size_t size, const char* part, const Name& name) {
    require(reinterpret_cast<std::uintptr_t>(values) % size == 0, part, " of ", name,
            " must be aligned to their size of ", size, " bytes: copy them into an array of their type");
}

// Throws InvalidArgument if an array of the description isn't aligned to its values.
void check_alignment(const fastfs_matrix& m, const Name& name) {
    if (m.storage != FASTFS_GENOTYPE) require_aligned(m.values, at(m.dtype / 8), "the values", name);
    if (m.storage == FASTFS_CSR || m.storage == FASTFS_CSC) {
        require(m.index_bits == 32 || m.index_bits == 64, "index_bits must be 32 or 64; got ", m.index_bits);
        require_aligned(m.indices, at(m.index_bits / 8), "the indices", name);
        require_aligned(m.indptr, at(m.index_bits / 8), "the offsets indptr", name);
    }
    require_aligned(m.row_list, sizeof(std::int64_t), "the places row_list", name);
    require_aligned(m.col_list, sizeof(std::int64_t), "the places col_list", name);
}

// Throws InvalidArgument unless indptr ascends from 0 and all indices lie in the matrix.
void check_sparse(const fastfs_matrix& m) {
    require(m.indptr != nullptr, "indptr of a sparse matrix must not be null");
    const bool csr = m.storage == FASTFS_CSR;
    const std::int64_t outer = csr ? m.n_rows : m.n_cols, inner = csr ? m.n_cols : m.n_rows;
    visit_sparse(m, [&](auto* values, auto* indptr, auto* indices) {
        require(indptr[0] == 0, "the first entry of indptr must be 0; got ", indptr[0]);
        for (std::int64_t o = 0; o < outer; ++o) {
            if (indptr[o] <= indptr[o + 1]) continue;
            throw InvalidArgument({"indptr must not decrease; got a smaller value at position ", o + 1});
        }
        const std::int64_t stored = indptr[outer];
        require(stored == 0 || (values && indices), "values and indices of a sparse matrix must not be null; got no ",
                values ? "indices" : "values");
        // Sets the sign bit if i or last - i is negative, which means that i is outside, without a branch.
        using Index = std::remove_cv_t<std::remove_reference_t<decltype(*indices)>>;
        using Bits = std::make_unsigned_t<Index>;
        const auto last = static_cast<Bits>(std::min<std::int64_t>(inner - 1, std::numeric_limits<Index>::max()));
        Bits outside = 0;
        for (std::int64_t e = 0; e < stored; ++e) {
            const auto i = static_cast<Bits>(indices[e]);
            outside |= i | (last - i);
        }
        if (outside <= std::numeric_limits<Bits>::max() / 2) return;
        for (std::int64_t e = 0; e < stored; ++e) {
            if (indices[e] >= 0 && indices[e] < inner) continue;
            throw InvalidArgument(
                {"indices of a sparse matrix must be from 0 to ", inner - 1, "; got ", indices[e], " at position ", e});
        }
    });
}

// Raises largest[r] to the largest |x| of row r, and adds x * 0 of all its values to sum[r]: 0 for finite values and
// NaN otherwise.
template <class T>
void raise_row_maxima(const Block<T>& x, std::int64_t n_rows, std::int64_t n_cols, T* largest, T* sum) {
    const std::int64_t rs = x.row_stride, cs = x.col_stride;
    if (std::abs(cs) <= std::abs(rs)) {
        for (std::int64_t r = 0; r < n_rows; ++r) {
            const T* row = x.values + r * rs;
            constexpr int kLanes = 16;
            T row_largest = largest[r], row_sum = sum[r];
            std::int64_t c = 0;
            if (cs == 1 && n_cols >= kLanes) {
                T lane_largest[kLanes] = {}, lane_sum[kLanes] = {};
                for (; c + kLanes <= n_cols; c += kLanes) {
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
            for (; c < n_cols; ++c) {
                const T v = std::abs(row[c * cs]);
                row_largest = v > row_largest ? v : row_largest;
                row_sum += v * T(0);
            }
            largest[r] = row_largest;
            sum[r] = row_sum;
        }
        return;
    }
    for (std::int64_t c = 0; c < n_cols; ++c) {
        const T* column = x.values + c * cs;
        for (std::int64_t r = 0; r < n_rows; ++r) {
            const T v = std::abs(column[r * rs]);
            largest[r] = v > largest[r] ? v : largest[r];
            sum[r] += v * T(0);
        }
    }
}

// Returns the largest |x| of each row of a dense matrix or genotypes; throws if a value isn't finite. first_row: the
// number of the first row in errors.
template <class T>
std::vector<double> row_maxima_of(const fastfs_matrix& m, const Values<T>& x, const Name& name, std::int64_t first_row,
                                  Run& run) {
    std::vector<double> maxima(at(m.n_rows));
    // One sum per row, added to its maximum, tells if the row is finite.
    parallel_for(run, ceil_div(m.n_rows, kRowsPerTask), [&](std::int64_t task, int) {
        const std::int64_t first = task * kRowsPerTask, n = std::min(kRowsPerTask, m.n_rows - first);
        T largest[kRowsPerTask] = {}, sum[kRowsPerTask] = {};
        Buffer<T> room;
        for (std::int64_t c = 0, step = x.most(n); c < m.n_cols; c += step) {
            const std::int64_t last = std::min(c + step, m.n_cols);
            raise_row_maxima(x.block(first, first + n, c, last, room), n, last - c, largest, sum);
        }
        for (std::int64_t r = 0; r < n; ++r) maxima[at(first + r)] = static_cast<double>(largest[r] + sum[r]);
    });
    for (std::int64_t r = 0; r < m.n_rows; ++r) {
        if (!std::isnan(maxima[at(r)])) continue;
        for (std::int64_t c = 0; c < m.n_cols; ++c) {
            if (!std::isfinite(x(r, c))) refuse_not_finite(name, first_row + r, c);
        }
    }
    return maxima;
}

// Returns the row maxima of a CSR matrix; throws if a value isn't finite.
template <class T, class I>
std::vector<double> csr_row_maxima(const fastfs_matrix& m, const T* values, const I* indptr, const I* indices,
                                   const Name& name, std::int64_t first_row, Run& run) {
    std::vector<double> maxima(at(m.n_rows));
    parallel_for(run, ceil_div(m.n_rows, kRowsPerTask), [&](std::int64_t task, int) {
        for (std::int64_t r = task * kRowsPerTask; r < std::min((task + 1) * kRowsPerTask, m.n_rows); ++r) {
            T largest = 0, sum = 0;
            const std::int64_t n = indptr[r + 1] - indptr[r];
            raise_row_maxima(Block<T>{values + indptr[r], n, 1}, 1, n, &largest, &sum);
            maxima[at(r)] = static_cast<double>(largest + sum);
        }
    });
    for (std::int64_t r = 0; r < m.n_rows; ++r) {
        if (!std::isnan(maxima[at(r)])) continue;
        std::int64_t column = m.n_cols;
        for (std::int64_t e = indptr[r]; e < indptr[r + 1]; ++e) {
            if (!std::isfinite(values[e])) column = std::min(column, std::int64_t{indices[e]});
        }
        refuse_not_finite(name, first_row + r, column);
    }
    return maxima;
}

// Returns the row maxima of a CSC matrix; throws if a value isn't finite.
template <class T, class I>
std::vector<double> csc_row_maxima(const fastfs_matrix& m, const T* values, const I* indptr, const I* indices,
                                   const Name& name, std::int64_t first_row, Run& run) {
    std::vector<double> maxima(at(m.n_rows), 0.0);
    std::int64_t bad_row = std::numeric_limits<std::int64_t>::max(), bad_column = bad_row;
    std::int64_t since = 0;
    for (std::int64_t c = 0; c < m.n_cols; ++c) {
        since += indptr[c + 1] - indptr[c] + 1;
        if (since > (std::int64_t{1} << 20)) {  // columns may have none or a million of them
            run.checkpoint();
            since = 0;
        }
        for (std::int64_t e = indptr[c]; e < indptr[c + 1]; ++e) {
            const std::int64_t r = indices[e];
            double& largest = maxima[at(r)];
            largest = std::max(largest, std::abs(static_cast<double>(values[e])));
            if (!std::isfinite(values[e]) && r < bad_row) {
                bad_row = r;
                bad_column = c;
            }
        }
    }
    if (bad_row != std::numeric_limits<std::int64_t>::max()) refuse_not_finite(name, first_row + bad_row, bad_column);
    return maxima;
}

// Throws InvalidArgument unless the sizes of a table of SNPs fit, and its row_list and col_list stay in it.
void check_genotypes(const fastfs_matrix& m, const Name& name) {
    require(m.values != nullptr, "the values of ", name, " must not be null");
    require(m.row_stride == 0, "row_stride of genotypes must be 0; got ", m.row_stride);
    require(m.col_stride >= 1 && m.col_stride <= kMostValues,
            "col_stride must be the number of bytes per SNP, at least 1; got ", m.col_stride);
    const std::int64_t n_samples = 4 * m.col_stride;
    if (!m.row_list) {
        require(m.n_rows <= n_samples, "n_rows must be at most ", n_samples, " for SNPs of ", m.col_stride,
                " bytes; got ", m.n_rows);
    }
    for (std::int64_t r = 0; m.row_list && r < m.n_rows; ++r) {
        if (m.row_list[r] >= 0 && m.row_list[r] < n_samples) continue;
        throw InvalidArgument({"row_list must be from 0 to ", n_samples - 1, " for SNPs of ", m.col_stride,
                               " bytes; got ", m.row_list[r], " at position ", r});
    }
    const std::int64_t most = kMostValues / m.col_stride;  // only the caller knows the number of SNPs
    for (std::int64_t c = 0; m.col_list && c < m.n_cols; ++c) {
        if (m.col_list[c] >= 0 && m.col_list[c] < most) continue;
        throw InvalidArgument({"col_list must be from 0 to ", most - 1, "; got ", m.col_list[c], " at position ", c});
    }
}

// Table of the four genotypes of each byte as numbers.
template <class T>
constexpr auto kOfByte = [] {
    constexpr T of_code[4] = {2, std::numeric_limits<T>::quiet_NaN(), 1, 0};
    std::array<std::array<T, 4>, 256> numbers{};
    for (std::size_t byte = 0; byte < 256; ++byte) {
        for (std::size_t k = 0; k < 4; ++k) numbers[byte][k] = of_code[byte >> 2 * k & 3];
    }
    return numbers;
}();

#if __has_builtin(__builtin_shufflevector)
// Writes the genotypes of four samples in four SNPs to `to`, a row of ld values per sample, transposed in registers.
template <class T>
void decode_square(const unsigned char* const* of, std::int64_t byte, T* to, std::int64_t ld) {
    typedef T Four __attribute__((vector_size(4 * sizeof(T))));
    Four snps[4];
    for (int k = 0; k < 4; ++k) std::memcpy(snps + k, kOfByte<T>[of[k][byte]].data(), sizeof(Four));
    const Four low[2] = {__builtin_shufflevector(snps[0], snps[1], 0, 4, 1, 5),
                         __builtin_shufflevector(snps[2], snps[3], 0, 4, 1, 5)},
               high[2] = {__builtin_shufflevector(snps[0], snps[1], 2, 6, 3, 7),
                          __builtin_shufflevector(snps[2], snps[3], 2, 6, 3, 7)};
    const Four samples[4] = {
        __builtin_shufflevector(low[0], low[1], 0, 1, 4, 5), __builtin_shufflevector(low[0], low[1], 2, 3, 6, 7),
        __builtin_shufflevector(high[0], high[1], 0, 1, 4, 5), __builtin_shufflevector(high[0], high[1], 2, 3, 6, 7)};
    for (int i = 0; i < 4; ++i) std::memcpy(to + i * ld, samples + i, sizeof(Four));
}
#endif

}  // namespace

template <class T>
void decode(const fastfs_matrix& m, std::int64_t r0, std::int64_t r1, const unsigned char* const* snps, std::int64_t n,
            T* to, std::int64_t ld) {
    constexpr std::int64_t kTogether = 64;  // SNPs with bytes that stay in the nearest cache from row to row
    const auto place = [&](std::int64_t r) { return m.row_list ? m.row_list[r] : r; };
    for (std::int64_t k0 = 0; k0 < n; k0 += kTogether, to += kTogether) {
        const unsigned char* const* snps_together = snps + k0;
        const std::int64_t size = std::min(kTogether, n - k0);
        T* row = to;
        for (std::int64_t r = r0; r < r1;) {
            const std::int64_t first = place(r), byte = first / 4;
            bool whole = first % 4 == 0 && r + 4 <= r1;
            for (std::int64_t i = 1; i < 4 && whole; ++i) whole = place(r + i) == first + i;
            if (whole) {
                std::int64_t k = 0;
#if __has_builtin(__builtin_shufflevector)  // GCC has had this builtin since version 12
                for (; k + 4 <= size; k += 4) decode_square<T>(snps_together + k, byte, row + k, ld);
#endif
                for (; k < size; ++k) {
                    const auto& numbers = kOfByte<T>[snps_together[k][byte]];
                    for (std::int64_t i = 0; i < 4; ++i) row[i * ld + k] = numbers[at(i)];
                }
            } else {
                for (std::int64_t k = 0; k < size; ++k) row[k] = kOfByte<T>[snps_together[k][byte]][at(first % 4)];
            }
            r += whole ? 4 : 1;
            row += (whole ? 4 : 1) * ld;
        }
    }
}

template void decode<float>(const fastfs_matrix&, std::int64_t, std::int64_t, const unsigned char* const*, std::int64_t,
                            float*, std::int64_t);
template void decode<double>(const fastfs_matrix&, std::int64_t, std::int64_t, const unsigned char* const*,
                             std::int64_t, double*, std::int64_t);

void refuse_not_finite(const Name& matrix, std::int64_t row, std::int64_t column) {
    refuse({matrix, " must be finite; got NaN or infinity first at ", Name::row(row), ", ", Name::column(column),
            ": impute or drop it"});
}

Matrix::Matrix(const fastfs_matrix& description, const Name& name, bool dense_row_list) : m_(description), name_(name) {
    require(m_.dtype == FASTFS_FLOAT32 || m_.dtype == FASTFS_FLOAT64,
            "dtype must be FASTFS_FLOAT32 or FASTFS_FLOAT64; got ", m_.dtype);
    require(m_.reserved == 0, "reserved of a matrix must be 0; got ", m_.reserved);
    require(m_.storage >= FASTFS_DENSE && m_.storage <= FASTFS_GENOTYPE,
            "storage must be FASTFS_DENSE, FASTFS_CSR, FASTFS_CSC or FASTFS_GENOTYPE; got ", m_.storage);
    require(is_genotypes() || !(m_.col_list || (m_.row_list && !(is_dense() && dense_row_list))),
            "row_list and col_list of ", name, " must be null for other storage than genotypes; got storage ",
            m_.storage);
    require(m_.n_rows >= 1 && m_.n_cols >= 1, name, " must have at least one sample and one feature; got ", m_.n_rows,
            " x ", m_.n_cols);
    require(m_.n_rows <= kMostValues / m_.n_cols, name, " must fit the memory; got ", m_.n_rows, " x ", m_.n_cols,
            " values");
    check_alignment(m_, name);
    if (is_sparse()) {
        check_sparse(m_);
    } else if (is_genotypes()) {
        check_genotypes(m_, name);
    } else {
        require(m_.values != nullptr, "the values of ", name, " must not be null");
        if (m_.row_stride == 0) {
            require(m_.col_stride == 1 || (m_.n_rows == 1 && !m_.row_list), "row_stride of ", name,
                    " must be given if col_stride isn't 1; got 0 with a col_stride of ", m_.col_stride);
            m_.row_stride = m_.n_cols;
        }
        require(m_.col_stride != 0 || m_.n_cols == 1, "col_stride of ", name,
                " must not be 0, which makes all columns one: give 1, or the distance of columns");
        // No memory reaches further, and no sum of steps below this limit overflows.
        auto reach = [](std::int64_t n, std::int64_t stride) {
            return static_cast<double>(n) * std::abs(static_cast<double>(stride));
        };
        std::int64_t n_rows = m_.n_rows;
        for (std::int64_t r = 0; m_.row_list && r < m_.n_rows; ++r) {
            require(m_.row_list[r] >= 0, "row_list of ", name, " must hold rows from 0 on; got ", m_.row_list[r],
                    " at position ", r);
            n_rows = std::max(n_rows, m_.row_list[r]);
        }
        require(reach(n_rows, m_.row_stride) + reach(m_.n_cols, m_.col_stride) <= 0x1p58, "strides of ", name,
                " must reach less than 2^58 values; got row_stride ", m_.row_stride, " and col_stride ", m_.col_stride,
                " for ", n_rows, " x ", m_.n_cols, " values");
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
            return is_csr() ? csr_row_maxima(m_, values, indptr, indices, name_, first_row, run)
                            : csc_row_maxima(m_, values, indptr, indices, name_, first_row, run);
        });
    }
    return visit_values(m_, [&](const auto& x) { return row_maxima_of(m_, x, name_, first_row, run); });
}

// Joins chunks of rows; throws unless all have the number of features of the first, and are sparse if it is.
Samples::Samples(std::vector<Matrix> chunks) : chunks_(std::move(chunks)) {
    require(!chunks_.empty(), "X must have chunks; got none");
    begins_.reserve(chunks_.size() + 1);
    begins_.push_back(0);
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
        const Matrix& chunk = chunks_[c];
        if (chunk.n_cols() != n_cols()) {
            refuse({"all chunks of X must have the ", n_cols(), " features of the first; got ", chunk.n_cols(), " in ",
                    Name::chunk(static_cast<std::int64_t>(c))});
        }
        if (chunk.is_sparse() != is_sparse()) {
            refuse({"chunks of X must be all dense or all sparse; got ", chunk.is_sparse() ? "a sparse " : "a dense ",
                    Name::chunk(static_cast<std::int64_t>(c)), " unlike the first"});
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

bool Samples::has_row_blocks() const {
    return std::all_of(chunks_.begin(), chunks_.end(),
                       [](const Matrix& chunk) { return chunk.is_dense() || chunk.is_csr(); });
}

void Samples::for_row_blocks(std::int64_t most, const std::function<void(const Matrix&, std::int64_t)>& f) const {
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
        const fastfs_matrix& chunk = chunks_[c].description();
        for (std::int64_t first = 0; first < chunk.n_rows; first += most) {
            fastfs_matrix block = chunk;
            block.n_rows = std::min(most, chunk.n_rows - first);
            if (chunks_[c].is_csr()) {
                visit_sparse(chunk, [&](auto* values, auto* indptr, auto* indices) {
                    std::vector<std::remove_cvref_t<decltype(*indptr)>> begins(indptr + first,
                                                                               indptr + first + block.n_rows + 1);
                    const auto begin = begins.front();
                    for (auto& place : begins) place -= begin;
                    block.values = values + begin;
                    block.indices = indices + begin;
                    block.indptr = begins.data();
                    f(Matrix(block), begins_[c] + first);
                });
            } else {
                visit_dense(chunk, [&](auto* values) {
                    block.values = values + first * chunk.row_stride;
                    f(Matrix(block), begins_[c] + first);
                });
            }
        }
    }
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
