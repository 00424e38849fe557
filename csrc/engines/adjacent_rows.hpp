// Chosen columns of chosen rows of a dense matrix or of genotypes, stored contiguously.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "fastfs/fastfs.h"
#include "support/matrix.hpp"

namespace fastfs::core {

// Rows that are read together: a cache line of a column-major float matrix.
constexpr std::int64_t kRowsRead = 16;

// Rows of a row-major matrix that are copied together, per look at the list of columns: 1.3 times as fast as row by
// row.
constexpr std::int64_t kTogether = 4;
static_assert(kRowsRead % kTogether == 0);

// Largest number of values in a row of a panel: 4 + 4 rows leave some of an L1 of 32 KiB. On Zen 4, with 1000 x 5000
// values, rows of 2 and 4 kB were 1 to 5 % slower.
template <class T>
constexpr std::int64_t kWidth = 3072 / static_cast<std::int64_t>(sizeof(T));

// A reader of n columns of X that makes each row contiguous: in place if X stores rows so, otherwise copied to `copy_`
// (kRowsRead x kWidth).
template <class T>
class AdjacentRows {
  public:
    // Refers to m and its n listed columns, at most kWidth, and decides if rows can be read in place; reads no value
    // yet.
    AdjacentRows(const fastfs_matrix& m, const std::int64_t* columns, std::int64_t n)
        : m_(m),
          x_(static_cast<const T*>(m.values)),
          rs_(m.row_stride),
          cs_(m.col_stride),
          columns_(columns),
          n_(n),
          in_place_(m.storage == FASTFS_DENSE && cs_ == 1) {
        for (std::int64_t k = 0; k < n; ++k) in_place_ = in_place_ && columns[k] == columns[0] + k;
        if (m.storage != FASTFS_GENOTYPE) return;
        for (std::int64_t k = 0; k < n; ++k) snps_.push_back(snp(m, columns[k]));
    }

    // Returns the values of rows first..last - 1, at most kRowsRead of them, stride() apart; the next call overwrites
    // them.
    const T* read_rows(std::int64_t first, std::int64_t last) {
        if (in_place_) return x_ + first * rs_ + columns_[0];
        if (m_.storage == FASTFS_GENOTYPE) {
            decode(m_, first, last, snps_.data(), n_, copy_, kWidth<T>);
            return copy_;
        }
        const T* x = x_ + first * rs_;
        const std::int64_t n_rows = last - first;
        if (std::abs(cs_) <= std::abs(rs_)) {
            for (std::int64_t r = 0; r < n_rows; r += kTogether) {
                const T* row[kTogether];
                for (std::int64_t i = 0; i < kTogether; ++i) row[i] = x + std::min(r + i, n_rows - 1) * rs_;
                T* to = copy_ + r * kWidth<T>;
                for (std::int64_t k = 0; k < n_; ++k) {
                    const std::int64_t at = columns_[k] * cs_;
                    for (std::int64_t i = 0; i < kTogether; ++i) to[i * kWidth<T> + k] = row[i][at];
                }
            }
        } else {
            for (std::int64_t k = 0; k < n_; ++k) {
                const T* column = x + columns_[k] * cs_;
                for (std::int64_t r = 0; r < n_rows; ++r) copy_[r * kWidth<T> + k] = column[r * rs_];
            }
        }
        return copy_;
    }

    std::int64_t stride() const { return in_place_ ? rs_ : kWidth<T>; }

  private:
    const fastfs_matrix& m_;
    const T* x_;
    std::int64_t rs_, cs_;
    const std::int64_t* columns_;
    std::int64_t n_;
    bool in_place_;
    std::vector<const unsigned char*> snps_;  // only for genotypes
    alignas(64) T copy_[kRowsRead * kWidth<T>];
};

}  // namespace fastfs::core
