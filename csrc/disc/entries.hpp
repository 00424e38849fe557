// Entries of sparse matrices while a graph is made of them.
#pragma once

#include <cstdint>
#include <vector>

#include "disc/operators.hpp"
#include "support/index.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Entries of a p x p matrix, row by row, columns ascending.
struct Entries {
    std::vector<std::int64_t> begins;
    std::vector<std::int32_t> columns;
    Numbers values;
};

// Returns A'. Counting by column keeps the order of the rows: its columns ascend, in whatever order those of A are.
Entries transpose(const Entries& A);

// Returns (A + A') / 2 + diagonal, of entries whose columns ascend.
SparseSymmetric symmetric_mean(const Entries& A, const Entries& transposed, const Numbers& diagonal, Run& run);

}  // namespace fastfs::core
