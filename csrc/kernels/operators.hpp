// Engine: leading eigenpairs and singular triplets of operators that are never formed.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "support/buffer.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Y = A X for a block of b vectors side by side: X and Y are n x b, row-major, so that one entry of a sparse A reads
// and writes whole cache lines.
using BlockOperator = std::function<void(const double* X, std::int64_t b, double* Y)>;

struct LeadingPairs {
    std::vector<double> values;     // descending
    std::vector<double> vectors;    // one after the other, orthonormal; signs as of fix_sign
    std::vector<double> residuals;  // |A v - w v|
    bool converged = false;
};

// The k largest eigenpairs of a symmetric operator on n-vectors.
LeadingPairs leading_pairs(std::int64_t n, std::int64_t k, const BlockOperator& apply, double tolerance,
                           std::uint64_t seed, Run& run);

// A symmetric sparse matrix with a full diagonal, and its product with a block, on the threads of the run.
struct SparseSymmetric {
    std::int64_t n = 0;
    Buffer<std::int64_t> begins;   // n + 1
    Buffer<std::int32_t> columns;  // ascending within a row
    Buffer<double> values;
    void multiply(const double* X, std::int64_t b, double* Y, Run& run) const;
};

}  // namespace fastfs::core
