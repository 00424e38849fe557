// Statistics of columns over rows, and checks that columns can be used.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "fastfs/fastfs.h"
#include "support/index.hpp"
#include "support/matrix.hpp"

namespace fastfs::core {

struct ProjseColumns {
    std::int64_t n = 0;
    Numbers mean;
    Numbers squares;  // about the mean
    // Squares about the shift with which they were summed, of which eps is rounding. NaN: out of range.
    Numbers summed;

    ProjseColumns() = default;
    explicit ProjseColumns(std::int64_t size) : n(size), mean(at(size)), squares(at(size)), summed(at(size)) {}

    // Sets column j from the sum and the sum of squares of its values less `shift`.
    void set(std::int64_t j, std::int64_t n_rows, double shift, double sum, double square);
};

// Tells if the squares of values with this sum of squares, and their products with those of another such column, kept
// their digits in T: their sums don't overflow, and on average they aren't so small that bits fell off.
template <class T>
bool in_range(double sum, double square, std::int64_t n) {
    constexpr bool single = sizeof(T) == sizeof(float);
    constexpr double least = single ? 1e-30 : 1e-302, most = single ? 1e37 : std::numeric_limits<double>::max();
    return square <= most && (square >= least * static_cast<double>(n) || (square == 0 && sum == 0));
}

template <class T>
bool by_rows(const Block<T>& block) {
    return std::abs(block.col_stride) <= std::abs(block.row_stride);
}

// Refuses a column whose squares are out of range.
[[noreturn]] void refuse_scale(const Name& matrix, std::int64_t column);

// Refuses a column for its first NaN or infinity in rows r0 .. r1 - 1 (all rows, if sparse), or for its scale.
[[noreturn]] void refuse_column(const Matrix& M, const Name& matrix, std::int64_t column, std::int64_t r0,
                                std::int64_t r1);

}  // namespace fastfs::core
