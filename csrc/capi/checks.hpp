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

// An array that a call writes to; a question (fastfs_run.bytes_needed) needs none.
void require_output(const Run& run, bool given, const char* message);

// Kernels store whole registers, which start where values do.
void require_aligned(const void* values, std::size_t size, const char* name);

// One label for each row: in range, and with require_labels each class at least once.
void require_in_range(const std::int64_t* labels, std::int64_t n_rows, std::int64_t n_classes);
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
