// The columns and the pairs of a scan that its options choose.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "fastfs/fastfs.h"
#include "interactions/standard_columns.hpp"
#include "support/matrix.hpp"

namespace fastfs::core {

// Pairs of columns, by their places in the tables of a scan, ascending.
using PairList = std::vector<std::pair<std::int64_t, std::int64_t>>;

// The columns of X and of the other table that are paired.
struct WantedColumns {
    std::vector<std::int64_t> of_X, of_other;
};

// Returns the columns that the options choose by themselves or by pairs; all columns unless they do. other: null, or
// the other table.
WantedColumns wanted_columns(const Matrix& X, const Matrix* other, const fastfs_interaction_options& options);

// Returns the chosen pairs of the options that have columns in both tables, by their places there.
PairList places_of_pairs(const fastfs_interaction_options& options, const StandardColumns& left,
                         const StandardColumns& right);

}  // namespace fastfs::core
