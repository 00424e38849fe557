// Inner products of a dense matrix's columns from its values where they are.
#pragma once

#include <cstdint>
#include <vector>

#include "projse/columns.hpp"
#include "projse/residual.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Inner products of one column with all columns. If X is larger than the caches, a pass over it also takes the products
// of the columns that would be chosen next among a few likely ones: ten choices among 20,000 columns of 500 samples
// need two passes.
class ColumnsInPlace {
  public:
    // Tells whether the values of X lie in rows or in columns without gaps, and the means of all columns are so small
    // that products with a centred column need no shift.
    static bool serve(const Matrix& X, const ProjseColumns& columns);
    // Returns the bytes that products take.
    static std::int64_t memory(std::int64_t n_rows, std::int64_t n_cols, std::int64_t n_select) {
        return 8 * (kTogether * (n_rows + n_cols) + (2 * kConsidered + n_select) * n_rows);
    }

    explicit ColumnsInPlace(const Matrix& X) : X_(X), m_(X.n_rows()), n_(X.n_cols()) {}

    // Writes the centred inner products of column k with all columns to out.
    void inner(std::int64_t k, double* out, const LikelyChoices& likely, Run& run);

  private:
    // Tells if a pass also takes the products of likely columns.
    bool looks_ahead() const;

    static constexpr std::int64_t kTogether = 8;     // columns of a pass
    static constexpr std::int64_t kConsidered = 48;  // likely columns that these are chosen from
    // Bytes of X that the caches hold: passes over 8 MB cost as much as the arithmetic (Zen 4 with 32 MB of L3).
    static constexpr std::int64_t kCached = 16 << 20;

    // Makes k, and the choices that would follow it if likely ones were the only candidates, the held columns.
    void choose_columns(std::int64_t k, const LikelyChoices& likely);
    // Appends the direction of a centred column to those of the columns that were asked for.
    void add_direction(const double* column);
    // Writes the products of the held columns with all columns.
    void multiply_columns(Run& run);

    const Matrix& X_;
    std::int64_t m_, n_;
    std::vector<std::int64_t> held_;
    Buffer<double> centred_, products_;  // of the held columns: m and n values each
    std::vector<Numbers> directions_;    // orthonormal
};

}  // namespace fastfs::core
