// Checks of arguments that several functions of the C interface share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "support/errors.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Largest number of iterations, for which callers allocate an array of costs.
constexpr std::int32_t kMostIterations = 1000000;

// Refuses a size below `least`, or so large that the bytes of a few arrays of two such sizes exceed 64 bits.
void require_size(std::int64_t n, std::int64_t least, const char* name);

// Refuses an output, or another array, of more values than a machine can hold.
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
// Refuses an output array that is null or not aligned; a question (fastfs_run.bytes_needed) can leave it out.
template <class T>
void require_output(const Run& run, const T* values, const char* name) {
    run.is_question() ? require_array_or_null(values, name) : require_array(values, name);
}

// Check one label per row: each is from 0 to n_classes - 1. require_labels also refuses n_classes outside 2..n_rows,
// and classes without a row.
void require_in_range(const std::int64_t* labels, std::int64_t n_rows, std::int64_t n_classes,
                      const char* name = "labels");
void require_labels(const std::int64_t* labels, std::int64_t n_rows, std::int64_t n_classes);

// Refuses a value that isn't positive and finite.
void require_positive(double value, const char* name);

// Refuses features that aren't ascending columns of X; null stands for all columns.
void require_features(const std::int64_t* features, std::int64_t n, std::int64_t n_cols, const char* name = "features");

// Refuses labelings (n_labelings x n_rows, 0 rows or more) with a label outside 0..n_classes - 1.
void require_labelings(const std::int64_t* labelings, std::int64_t n_labelings, std::int64_t n_rows,
                       std::int64_t n_classes);

// Checks n_covariates (0 or more) columns of n_rows numbers.
void require_covariates(const double* covariates, std::int64_t n_covariates, std::int64_t n_rows);

// Refuses values that aren't finite and at least `least`; `place` names the object of a value.
void require_numbers(const double* values, std::int64_t n, const char* name, Name (*place)(std::int64_t) = Name::row,
                     double least = std::numeric_limits<double>::lowest());
void require_positive(const double* values, std::int64_t n, const char* name);

// Refuses options of RELIEF and ReliefF, closed_form and n_targets, that neither tables nor streams allow.
void require_relief_options(const fastfs_relief_options& o, std::int64_t n_samples);

}  // namespace fastfs::core
