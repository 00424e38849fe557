// Products of pairs of columns of sparse rows, computed from the rows in which both columns have a value.
#pragma once

#include <cstdint>

namespace fastfs::core {

// Rows that are processed together: the bits of a column fill a cache line.
constexpr std::int64_t kRowWords = 8, kRowsOfBits = 64 * kRowWords;

// A block of sparse rows, stored by column.
template <class T>
struct ColumnsOfRows {
    const std::uint64_t* bits;   // kRowWords per column, at 64 bytes: the rows that have a value
    const std::int32_t* begins;  // the first value of each word
    const T* values;             // column by column, in the order of the rows
};

// Adds to products[e] the products of columns first[e] and second[e], row after row, for n pairs.
template <class T>
using AddProducts = void (*)(const ColumnsOfRows<T>& rows, const std::int32_t* first, const std::int32_t* second,
                             std::int64_t n, double* products);

struct SharedIsa {
    AddProducts<float> f32;
    AddProducts<double> f64;
};

}  // namespace fastfs::core
