// Columns of equal values, which a search among features leaves out.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engines/listed_distances.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Columns of X with equal values, which have equal distances to all other columns. A search leaves out the columns
// beyond the first `kept` of a kind: ties go to the lower column, so no left-out column is among the `kept` - 2 nearest
// of another column.
class Copies {
  public:
    using Compare = std::function<void(const std::vector<Query>&, Run&)>;

    // Finds the kinds of columns with more than `kept` copies. hashes: one per column (Features::hashes); compare: adds
    // squared distances to the sums of queries.
    Copies(const std::vector<std::uint64_t>& hashes, const Compare& compare, std::int64_t kept, Run& run);

    // Returns a flag per column; empty if none is left out.
    const std::vector<char>& left_out() const { return left_out_; }

    // Writes the rows of `neighbors` and `distances` (k per column of X, k < kept) of the columns that are left out:
    // the first k columns of their kind, at distance 0. Leaves the rows of other columns alone.
    void write_neighbors(std::int64_t k, std::int64_t* neighbors, double* distances) const;

    // Returns `order` with the columns that are left out inserted behind the first one of their kind.
    std::vector<std::int64_t> insert_left_out(const std::vector<std::int64_t>& order) const;

  private:
    std::int64_t kept_;
    std::vector<char> left_out_;
    std::vector<std::vector<std::int64_t>> kinds_;  // columns of a kind, ascending
};

}  // namespace fastfs::core
