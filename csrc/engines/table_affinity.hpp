// Engine: the affinity of all columns of a table. Chooses their unit, the offset that is subtracted from each row, and
// single or double precision.
#pragma once

#include <cstdint>

#include "engines/affinity.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Computes out (d x d, row-major) = kernel of all pairs of columns. out has the dtype of X.
void table_affinity(const Samples& X, const Kernel& kernel, Run& run, void* out);

// Computes out (d x p, row-major) = K V without storing K. out and V have the dtype of X.
void table_affinity_product(const Samples& X, const Kernel& kernel, const void* V, std::int64_t p, Run& run, void* out);

}  // namespace fastfs::core
