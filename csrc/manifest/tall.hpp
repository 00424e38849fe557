// Loops and sums over the rows of tall matrices, such as the factor of a kernel between all features.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "engines/affinity.hpp"
#include "support/buffer.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {

// Rows of a tall matrix per task.
constexpr std::int64_t kRows = kTile;

// Calls f(first row, rows, slot) for all blocks of kRows rows.
template <class F>
void for_rows(std::int64_t d, Run& run, F&& f) {
    parallel_for(run, ceil_div(d, kRows),
                 [&](std::int64_t task, int slot) { f(task * kRows, std::min(kRows, d - task * kRows), slot); });
}

// Returns a sum over the d rows of a tall matrix, added up in fixed groups: add(first, n, part) adds the contribution
// of rows first..first + n - 1 to `part`, `size` doubles. Groups are merged in order.
Buffer<double> sum_over_rows(std::int64_t d, std::int64_t size, Run& run,
                             const std::function<void(std::int64_t, std::int64_t, double*)>& add);
std::int64_t sum_over_rows_memory(std::int64_t d, std::int64_t size);

}  // namespace fastfs::core
