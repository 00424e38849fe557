// The checks that several functions of the C interface make of their arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "support/run.hpp"

namespace fastfs::core {

// Callers allocate this many costs.
constexpr std::int32_t kMostIterations = 1000000;

// Keeps the bytes of a few arrays of two such sizes within 64 bits.
void require_size(std::int64_t n, std::int64_t least, const char* name);

// An output, or another array as large.
void require_fits(std::int64_t n_rows, std::int64_t n_cols, const char* name);

// Refuses an array that is null, or not aligned to its values, as kernels and compilers expect.
void require_array(const void* values, std::size_t alignment, const char* name);
template <class T>
void require_array(const T* values, const char* name) {
    require_array(values, alignof(T), name);
}
// Refuses an array that is neither null nor aligned.
template <class T>
void require_array_or_null(const T* values, const char* name) {
    if (values) require_array(values, alignof(T), name);
}
// Refuses such an array for an output, which only a question (fastfs_run.bytes_needed) may leave out.
template <class T>
void require_output(const Run& run, const T* values, const char* name) {
    run.is_question() ? require_array_or_null(values, name) : require_array(values, name);
}

// The length of an array for saved sums.
void require_count_of_numbers(std::int64_t n_numbers, std::int64_t size);

// One label for each row: in range, and with require_labels each class at least once.
void require_in_range(const std::int64_t* labels, std::int64_t n_rows, std::int64_t n_classes,
                      const char* name = "labels");
void require_labels(const std::int64_t* labels, std::int64_t n_rows, std::int64_t n_classes);

// Above 0 and finite.
void require_positive(double value, const char* name);

// Ascending columns of X, or null for all.
void require_features(const std::int64_t* features, std::int64_t n, std::int64_t n_cols, const char* name = "features");

// Labels of two classes, n_rows in a row; none or more.
void require_labelings(const std::int64_t* labelings, std::int64_t n_labelings, std::int64_t n_rows);

// Finite, and at least so large.
void require_numbers(const double* values, std::int64_t n, const char* name,
                     double least = std::numeric_limits<double>::lowest());
void require_positive(const double* values, std::int64_t n, const char* name);

}  // namespace fastfs::core
