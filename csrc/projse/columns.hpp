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

// Share of |x_j|^2 below which chosen or given columns span column j: sums of single precision have errors of 1e-7.
constexpr double kSpanned = 1e-6;

struct ProjseColumns {
    std::int64_t n = 0;
    Numbers mean;
    Numbers squares;  // about the mean
    // Sums of squares about the shift of the summation; eps times `summed` is their rounding. NaN: out of range.
    Numbers summed;

    ProjseColumns() = default;
    explicit ProjseColumns(std::int64_t size) : n(size), mean(at(size)), squares(at(size)), summed(at(size)) {}

    // Sets column j from the sum and the sum of squares of its values minus `shift`.
    void set_column(std::int64_t j, std::int64_t n_rows, double shift, double sum, double square);
};

// Tells if a column with these sums keeps its digits in T, in its squares and in its products with another column in
// range: sums don't overflow, and on average the terms aren't so small that bits fell off.
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

// Throws the error about a column with squares out of range.
[[noreturn]] void refuse_scale(const Name& matrix, std::int64_t column);

// Throws the error about a column: about its first NaN or infinity in rows r0 .. r1 - 1 (all rows, if sparse),
// otherwise about its scale.
[[noreturn]] void refuse_column(const Matrix& M, const Name& matrix, std::int64_t column, std::int64_t r0,
                                std::int64_t r1);

}  // namespace fastfs::core
