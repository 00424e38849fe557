#include "manifest/tall.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include "support/index.hpp"

namespace fastfs::core {
namespace {

// The largest number of groups that sums are split into, and the fewest rows of a group.
constexpr std::int64_t kGroups = 32, kFewestRows = 4 * kRows;

// Returns the rows of a group: groups are enough for all threads, but fewer for wide sums, so that partial sums stay
// below a quarter of the matrix together.
std::int64_t rows_per_group(std::int64_t d, std::int64_t size) {
    const auto columns = static_cast<std::int64_t>(std::sqrt(static_cast<double>(size)));
    const std::int64_t rows = std::max({kFewestRows, d / kGroups, 4 * columns});
    return ceil_div(rows, kRows) * kRows;
}

}  // namespace

Buffer<double> sum_over_rows(std::int64_t d, std::int64_t size, Run& run,
                             const std::function<void(std::int64_t, std::int64_t, double*)>& add) {
    const std::int64_t group_rows = rows_per_group(d, size), groups = ceil_div(d, group_rows);
    std::vector<Buffer<double>> parts(at(groups));
    parallel_for(run, groups, [&](std::int64_t group, int) {
        Buffer<double>& part = parts[at(group)];
        part = Buffer<double>(size);
        std::fill_n(part.data(), size, 0.0);
        const std::int64_t last = std::min((group + 1) * group_rows, d);
        for (std::int64_t i0 = group * group_rows; i0 < last; i0 += kRows) {
            run.checkpoint();
            add(i0, std::min(kRows, last - i0), part.data());
        }
    });
    for (std::size_t group = 1; group < parts.size(); ++group) {
        for (std::int64_t e = 0; e < size; ++e) parts[0][e] += parts[group][e];
    }
    return std::move(parts[0]);
}

std::int64_t sum_over_rows_memory(std::int64_t d, std::int64_t size) {
    const std::int64_t group_rows = rows_per_group(d, size);
    return 8 * size * (ceil_div(d, group_rows));
}

}  // namespace fastfs::core
