#include "projse/columns.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/errors.hpp"

namespace fastfs::core {

void ProjseColumns::set_column(std::int64_t j, std::int64_t n_rows, double shift, double sum, double square) {
    const double about = sum / static_cast<double>(n_rows);
    mean[at(j)] = shift + about;
    squares[at(j)] = std::max(square - sum * about, 0.0);
    summed[at(j)] = in_range<double>(sum, square, n_rows) ? square : std::numeric_limits<double>::quiet_NaN();
}

void refuse_scale(const Name& matrix, std::int64_t column) {
    refuse({"the squares of ", Name::column(column), " of ", matrix,
            " overflow or underflow: scale that column to values near 1"});
}

void refuse_column(const Matrix& M, const Name& matrix, std::int64_t column, std::int64_t r0, std::int64_t r1) {
    const fastfs_matrix& m = M.description();
    std::int64_t row = -1;
    if (M.is_sparse()) {
        visit_sparse(m, [&](auto* values, auto* indptr, auto* indices) {
            const std::int64_t outer = M.is_csr() ? m.n_rows : m.n_cols;
            for (std::int64_t o = 0; o < outer; ++o) {
                for (std::int64_t e = indptr[o]; e < indptr[o + 1]; ++e) {
                    const std::int64_t i = M.is_csr() ? o : std::int64_t{indices[e]};
                    const std::int64_t j = M.is_csr() ? std::int64_t{indices[e]} : o;
                    if (j == column && !std::isfinite(values[e]) && (row < 0 || i < row)) row = i;
                }
            }
        });
    } else {
        visit_values(m, [&](const auto& x) {
            for (std::int64_t i = r0; i < r1 && row < 0; ++i) {
                if (!std::isfinite(x(i, column))) row = i;
            }
        });
    }
    if (row >= 0) refuse_not_finite(matrix, row, column);
    refuse_scale(matrix, column);
}

}  // namespace fastfs::core
