// Engine: the affinity of a whole table. Chooses the unit of its columns, which offset of a row is taken off, and
// whether single precision serves.
#pragma once

#include <cstdint>

#include "engines/affinity.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// out (d x d, row-major) = kernel of all pairs of columns. out, V: of the dtype of X.
void table_affinity(const Samples& X, const Kernel& kernel, Run& run, void* out);

// out (d x p, row-major) = K V, K never stored.
void table_affinity_product(const Samples& X, const Kernel& kernel, const void* V, std::int64_t p, Run& run, void* out);

}  // namespace fastfs::core
