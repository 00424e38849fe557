// Sums over sparse rows: Y'X as sparse times dense, column by column of X. X is not shifted, and is centred at the end.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "projse/packed.hpp"
#include "projse/sparse_columns.hpp"
#include "projse/sum_tasks.hpp"
#include "projse/sums.hpp"
#include "support/csr.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {

// Adds up one update, part by part: a part is a range of rows.
struct ProjseSums::SparseUpdate {
    const ProjseRows& rows;
    Run& run;
    const std::int64_t n_y, n_x, ld;  // ld: of rows of Y
    ProjseSums total;

    // The sums of a part, complete for the targets.
    struct Part {
        std::int64_t r0, r1;
        ProjseSums sums;
        Buffer<double> Y;  // rows of Y less a shift; empty if targets are labels
        std::vector<double> y_sums;

        std::int64_t n_rows() const { return r1 - r0; }
    };

    // Returns a new part of rows r0..r1 - 1, with its labels counted or its targets summed; the sums with X are still
    // empty. Reports progress.
    Part start_part(std::int64_t r0, std::int64_t r1) const {
        run.step("sums over the rows", 0.9 * static_cast<double>(r1) / static_cast<double>(rows.X.n_rows()));
        Part part{r0, r1, ProjseSums(n_y, n_x, false), Buffer<double>(), std::vector<double>(at(n_y), 0.0)};
        part.sums.n_rows_ = r1 - r0;
        if (rows.labels) {
            part.sums.count_labels(rows.labels, r0, r1);
            for (std::int64_t r = r0; r < r1; ++r) part.y_sums[at(rows.labels[r])] += 1;
        } else {
            sum_targets(part);
        }
        return part;
    }

    void finish_part(Part& part) {
        part.sums.require_finite(rows, part.r0, part.r1);
        total.merge(std::move(part.sums), run);
    }

    // Sets part.Y to the part's rows of Y minus the first of them, and sets the sums and inner products of their
    // columns.
    void sum_targets(Part& part) const {
        ProjseSums& sums = part.sums;
        Buffer<double>& Y = part.Y;
        const std::int64_t n = part.n_rows();
        run.require_memory(8 * n * ld, {"a copy of ", n, " rows of Y with a sparse X"}, "give fewer rows at a time");
        Y = Buffer<double>(n * ld);
        std::fill(Y.data(), Y.data() + n * ld, 0.0);
        std::vector<double> shift(at(n_y)), squares(at(n_y), 0.0);
        visit_values(rows.Y->description(), [&]<class T>(const Values<T>& v) {
            Buffer<T> room;
            for (std::int64_t first = part.r0, step = v.most(n_y); first < part.r1; first += step) {
                const std::int64_t last = std::min(first + step, part.r1);
                const auto [values, rs, cs] = v.block(first, last, 0, n_y, room);
                copy_rows(values, rs, cs, last - first, n_y, Y.data() + (first - part.r0) * ld, ld);
            }
        });
        std::copy(Y.data(), Y.data() + n_y, shift.data());
        for (std::int64_t i = 0; i < n; ++i) {
            double* __restrict row = Y.data() + i * ld;
            for (std::int64_t k = 0; k < n_y; ++k) {
                row[k] -= shift[at(k)];
                part.y_sums[at(k)] += row[k];
                squares[at(k)] += row[k] * row[k];
            }
        }
        for (std::int64_t i = 0; i < n; i += kPartRows) {
            run.checkpoint();
            syrk_lower('N', n_y, std::min(kPartRows, n - i), 1.0, Y.data() + i * ld, ld, i == 0 ? 0.0 : 1.0,
                       sums.yy_.data(), n_y);
        }
        center_block(part.y_sums.data(), n_y, part.y_sums.data(), n_y, n, true, sums.yy_.data(), n_y);
        for (std::int64_t k = 0; k < n_y; ++k) {
            sums.side_[kY].set_column(k, n, shift[at(k)], part.y_sums[at(k)], squares[at(k)]);
        }
    }

    // Sets the sums of column j of X in `part` from its listed entries, and its products with the targets. products:
    // room for max(ld, n_y) values.
    template <class V, class I>
    void sum_column(Part& part, std::int64_t j, const I* row, const V* value, std::int64_t count,
                    std::vector<double>& products) const {
        double sum = 0, square = 0;
        for (std::int64_t e = 0; e < count; ++e) {
            const auto v = static_cast<double>(value[e]);
            sum += v;
            square += v * v;
        }
        part.sums.side_[kX].set_column(j, part.n_rows(), 0.0, sum, square);
        if (rows.labels) {
            std::fill(products.begin(), products.end(), 0.0);
            for (std::int64_t e = 0; e < count; ++e) {
                products[at(rows.labels[row[e]])] += static_cast<double>(value[e]);
            }
        } else {
            sparse_products(row, value, count, part.Y.data() - part.r0 * ld, ld, products.data());
        }
        const double mean = sum / static_cast<double>(part.n_rows());
        for (std::int64_t k = 0; k < n_y; ++k) {
            part.sums.yx_[j * n_y + k] = products[at(k)] - part.y_sums[at(k)] * mean;
        }
    }

    // Adds rows r0..r1 - 1 to the total, with the entries of column j from begins[j] to ends[j].
    template <class V, class B, class I>
    void add_columns(std::int64_t r0, std::int64_t r1, const V* values, const B* begins, const B* ends,
                     const I* indices) {
        Part part = start_part(r0, r1);
        std::vector<SparseLine<V>> lines(at(run.n_threads()));
        parallel_for(run, ceil_div(n_x, kSparseColumns), [&](std::int64_t task, int slot) {
            std::vector<double> products(at(std::max(ld, n_y)));
            for (std::int64_t j = task * kSparseColumns; j < std::min((task + 1) * kSparseColumns, n_x); ++j) {
                lines[at(slot)].visit(indices + begins[j], values + begins[j],
                                      static_cast<std::int64_t>(ends[j] - begins[j]),
                                      [&](auto* row, auto* value, std::int64_t count) {
                                          sum_column(part, j, row, value, count, products);
                                      });
            }
        });
        finish_part(part);
    }

    // Adds rows r0..r1 - 1 with labels to the total, without sorting their entries by column: each column is summed in
    // the order of the rows, as after sorting. A task has a range of columns, so the bits don't depend on the number of
    // tasks.
    template <class V, class P, class I>
    void add_labelled_rows(std::int64_t r0, std::int64_t r1, const V* values, const P* indptr, const I* indices) {
        Part part = start_part(r0, r1);
        ProjseSums& sums = part.sums;
        const std::int64_t n = r1 - r0, width = ceil_div(n_x, std::min<std::int64_t>(run.n_threads(), n_x));
        parallel_for(run, ceil_div(n_x, width), [&](std::int64_t task, int) {
            const std::int64_t j0 = task * width, w = std::min(width, n_x - j0);
            std::vector<double> moments(at(2 * w), 0.0);  // sum and sum of squares, column by column
            // Sums by class; a single class has the sums of all rows.
            std::vector<double> class_sums(at(n_y > 1 ? n_y * w : 0), 0.0);
            for (std::int64_t r = r0; r < r1; ++r) {
                double* class_sum = n_y > 1 ? class_sums.data() + rows.labels[r] * w : nullptr;
                visit_entries(values, indptr, indices, r, j0, w, n_x, [&](std::int64_t j, double v) {
                    double* moment = moments.data() + 2 * j;
                    moment[0] += v;
                    moment[1] += v * v;
                    if (class_sum) class_sum[j] += v;
                });
            }
            for (std::int64_t j = 0; j < w; ++j) {
                const double sum = moments[at(2 * j)], mean = sum / static_cast<double>(n);
                sums.side_[kX].set_column(j0 + j, n, 0.0, sum, moments[at(2 * j + 1)]);
                for (std::int64_t k = 0; k < n_y; ++k) {
                    const double product = n_y > 1 ? class_sums[at(k * w + j)] : sum;
                    sums.yx_[(j0 + j) * n_y + k] = product - part.y_sums[at(k)] * mean;
                }
            }
        });
        finish_part(part);
    }

    // Returns the number of rows of a part: their targets stay in the L2 cache, unless columns would have few entries
    // among them.
    std::int64_t rows_per_part() const {
        const auto n_rows = static_cast<double>(rows.X.n_rows()), n_stored = static_cast<double>(rows.X.n_stored());
        const auto least = static_cast<std::int64_t>(
            std::min(8.0 * static_cast<double>(n_x) * n_rows / std::max(n_stored, 1.0), n_rows));
        return std::max({std::int64_t{256}, kPackBytes / 8 / ld, least});
    }

    // Adds all rows of a CSR matrix to the total, part by part.
    template <class V, class P, class I>
    void add_csr(const V* values, const P* indptr, const I* indices) {
        const std::int64_t n_rows = rows.X.n_rows(), step = rows_per_part();
        SortedByColumn<V> sorted;
        for (std::int64_t r0 = 0, r1 = 0; r0 < n_rows; r0 = r1) {
            for (r1 = r0 + 1; r1 < std::min(r0 + step, n_rows) && indptr[r1 + 1] - indptr[r0] <= kSparsePart;) ++r1;
            if (rows.labels && has_ascending_rows(r0, r1, indptr, indices)) {
                add_labelled_rows(r0, r1, values, indptr, indices);
                continue;
            }
            sorted.sort_rows(values, indptr, indices, r0, r1, n_x);
            add_columns(r0, r1, sorted.values.data(), sorted.begins.data(), sorted.begins.data() + 1,
                        sorted.rows.data());
        }
    }

    // Adds all rows of a CSC matrix to the total: part by part if its rows ascend in each column, otherwise in one
    // part.
    template <class V, class P, class I>
    void add_csc(const V* values, const P* indptr, const I* indices) {
        const std::int64_t n_rows = rows.X.n_rows(), step = rows_per_part();
        bool ascending = true;
        for (std::int64_t j = 0; j < n_x; ++j) {
            for (std::int64_t e = indptr[j] + 1; e < indptr[j + 1]; ++e) ascending &= indices[e - 1] <= indices[e];
        }
        std::vector<std::int64_t> begins(indptr, indptr + n_x), ends(begins);
        for (std::int64_t r0 = 0, r1 = 0; r0 < n_rows; r0 = r1) {
            r1 = ascending ? std::min(r0 + step, n_rows) : n_rows;
            for (std::int64_t j = 0; j < n_x; ++j) {
                begins[at(j)] = ends[at(j)];
                auto* end = indices + indptr[j + 1];
                ends[at(j)] = r1 == n_rows ? std::int64_t{indptr[j + 1]}
                                           : std::lower_bound(indices + begins[at(j)], end, r1) - indices;
            }
            add_columns(r0, r1, values, begins.data(), ends.data(), indices);
        }
    }
};

// Returns the sums over the rows of one sparse update; this object stays as it is.
ProjseSums ProjseSums::of_sparse(const ProjseRows& rows, Run& run) const {
    require(!has_xx_,
            "X must be dense for two views and for sums without Y, which take products of all columns; got a sparse X: "
            "make it dense");
    const std::int64_t n_y = side_[kY].n, n_x = side_[kX].n;
    SparseUpdate update{rows, run, n_y, n_x, ceil_div(n_y, kHalfBlock) * kHalfBlock, {}};
    visit_sparse(rows.X.description(), [&](auto* values, auto* indptr, auto* indices) {
        rows.X.is_csr() ? update.add_csr(values, indptr, indices) : update.add_csc(values, indptr, indices);
    });
    return std::move(update.total);
}

}  // namespace fastfs::core
