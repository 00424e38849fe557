// Leading eigenpairs of operators that are never formed, and the products that make up these operators. The bits of all
// results don't depend on the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engines/isa/tiles.hpp"
#include "support/buffer.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Computes Y = A X for a block of kBlock vectors side by side: X and Y are n x kBlock, row-major.
using BlockOperator = std::function<void(const double* X, double* Y)>;

struct LeadingPairs {
    std::vector<double> values;   // descending
    std::vector<double> vectors;  // consecutive, orthonormal; signs by fix_sign
    bool converged = false;
};

// Residuals that are small enough, relative to the largest eigenvalue. Pairs that are wanted exactly have residuals
// below `exact`. All other pairs have residuals below `rough`: a value with a rough residual is good to the square of
// the residual over the distance to the next value. If the last exact value and the next one are less than `flat`
// apart, rough residuals are enough for all pairs, because the order of the vectors of a cluster means nothing.
struct Residuals {
    double exact, rough, flat = 0;
};

// Returns the k largest eigenpairs of a symmetric operator on n-vectors, k <= n, the first n_exact of them exactly and
// the remaining ones roughly. Uses a block Lanczos method with full orthogonalisation, which knows its residuals to
// rounding, and thick restarts (Wu and Simon 2000, doi 10.1137/S0895479898334605), or LAPACK if n is small. A repeated
// eigenvalue is returned with all its copies.
LeadingPairs leading_pairs(std::int64_t n, std::int64_t k, std::int64_t n_exact, const BlockOperator& apply,
                           const Residuals& residuals, std::uint64_t seed, Run& run);

// Returns the bytes that leading_pairs takes besides its result.
std::int64_t leading_pairs_memory(std::int64_t n, std::int64_t k);

// A symmetric sparse matrix, and its product with a block, on the threads of the run.
struct SparseSymmetric {
    std::int64_t n = 0;
    Buffer<std::int64_t> begins;   // n + 1
    Buffer<std::int32_t> columns;  // ascending within a row
    Buffer<double> values;
    void multiply(const double* X, double* Y, Run& run) const;  // blocks
    void multiply(const float* X, double* Y, Run& run) const;
};

// A symmetric dense matrix, and its product with a block.
class DenseSymmetric {
  public:
    DenseSymmetric() = default;
    DenseSymmetric(std::int64_t n, Buffer<double> A, Run& run);  // A: n x n, row-major; taken over

    std::int64_t n() const { return n_; }
    double operator()(std::int64_t i, std::int64_t j) const {
        const std::int64_t r = i % kPanel<double>;
        return i - r < in_panels_ ? values_[(i - r) * n_ + j * kPanel<double> + r] : values_[i * n_ + j];
    }
    void multiply(const double* X, double* Y, Run& run) const;  // blocks

  private:
    std::int64_t n_ = 0, in_panels_ = 0;  // in_panels_: rows in complete panels
    Buffer<double> values_;  // panels of kPanel<double> rows, column by column, then the remaining rows, row by row
};

// Returns x'y in eight partial sums.
double dot(std::int64_t n, const double* x, const double* y);

// Compute H (m x kBlock) = V' X and X -= V H, for row-major V (n x m, its rows ld apart) and a block X.
void inner_products(std::int64_t n, std::int64_t m, const double* V, std::int64_t ld, const double* X, double* H,
                    Run& run);
void subtract_product(std::int64_t n, std::int64_t m, const double* V, std::int64_t ld, const double* H, double* X,
                      Run& run);

}  // namespace fastfs::core
