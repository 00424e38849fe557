// Entries of sparse matrices from which a graph is made.
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

// Returns A'. Counts by column, which keeps the order of the rows: the columns of A' ascend for any order in A.
Entries transpose(const Entries& A);

// Returns (A + A') / 2 + diagonal, of entries with ascending columns.
SparseSymmetric symmetric_mean(const Entries& A, const Entries& transposed, const Numbers& diagonal, Run& run);

}  // namespace fastfs::core
