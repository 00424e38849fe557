// Products of pairs of columns of sparse rows, from the rows that both have a value in.
#pragma once

#include <cstdint>

namespace fastfs::core {

// Rows at a time: the bits of a column fill a cache line.
constexpr std::int64_t kRowWords = 8, kRowsOfBits = 64 * kRowWords;

// Some rows by column.
template <class T>
struct ColumnsOfRows {
    const std::uint64_t* bits;   // kRowWords of each column, at 64 bytes: which rows have a value
    const std::int32_t* begins;  // of each word: where its values begin
    const T* values;             // of each column, in the order of the rows
};

// products[e] += the products of columns first[e] and second[e], row after row, for n pairs.
template <class T>
using AddProducts = void (*)(const ColumnsOfRows<T>& rows, const std::int32_t* first, const std::int32_t* second,
                             std::int64_t n, double* products);

struct SharedIsa {
    AddProducts<float> f32;
    AddProducts<double> f64;
};

}  // namespace fastfs::core
