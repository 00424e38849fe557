// Sums over the rows of each group, from one pass.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "projse/sum_tasks.hpp"
#include "projse/sums.hpp"
#include "support/csr.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// Lists the rows r0..r1 - 1 group by group, in their order within a group, so that the sums of a group stay in the
// cache.
std::vector<std::int64_t> rows_by_group(std::int64_t r0, std::int64_t r1, const std::int64_t* groups,
                                        std::int64_t n_groups) {
    std::vector<std::int64_t> begins(at(n_groups + 1), 0), rows(at(r1 - r0));
    for (std::int64_t r = r0; r < r1; ++r) ++begins[at(groups[r] + 1)];
    for (std::int64_t g = 0; g < n_groups; ++g) begins[at(g + 1)] += begins[at(g)];
    for (std::int64_t r = r0; r < r1; ++r) rows[at(begins[at(groups[r])]++)] = r;
    return rows;
}

}  // namespace

// Adds up one update of all groups, part by part: a part is a range of rows.
struct ProjseSums::GroupUpdate {
    const Matrix& X;
    const std::int64_t* groups;
    Run& run;
    const std::int64_t n_groups, n_x;
    std::vector<ProjseSums> total;  // by group
    Buffer<double> moments;         // of a part, by group and column: sum and sum of squares, less a shift

    double* moments_of(std::int64_t group, std::int64_t j) { return moments.data() + 2 * (group * n_x + j); }

    void start_part(std::int64_t r1) {
        run.step("sums over the rows", 0.9 * static_cast<double>(r1) / static_cast<double>(X.n_rows()));
        std::fill_n(moments.data(), moments.size(), 0.0);
    }

    // Adds the moments of rows r0..r1 - 1 (see start_part) to the totals of their groups; throws if a column isn't
    // finite. shift: n_groups x n_x, which values were reduced by, or null for 0.
    void finish_part(std::int64_t r0, std::int64_t r1, const double* shift) {
        std::vector<std::int64_t> counts(total.size(), 0);
        for (std::int64_t r = r0; r < r1; ++r) ++counts[at(groups[r])];
        parallel_for(run, n_groups, [&](std::int64_t g, int) {
            if (counts[at(g)] == 0) return;
            ProjseSums sums(0, n_x, false);
            sums.n_rows_ = counts[at(g)];
            for (std::int64_t j = 0; j < n_x; ++j) {
                const double* moment = moments_of(g, j);
                sums.side_[kX].set_column(j, sums.n_rows_, shift ? shift[g * n_x + j] : 0.0, moment[0], moment[1]);
            }
            sums.require_finite({X, nullptr, groups}, r0, r1);
            total[at(g)].merge(sums.as_class(1, 0), run);
        });
    }

    // Calls body(first column, number of columns, slot) for ranges of `width` columns, on any thread. Each column is
    // summed in the order of the rows.
    template <class Body>
    void for_columns(std::int64_t width, Body&& body) {
        parallel_for(run, ceil_div(n_x, width), [&](std::int64_t task, int slot) {
            body(task * width, std::min(width, n_x - task * width), slot);
        });
    }

    // Adds all rows of a CSR matrix to the totals, part by part.
    template <class V, class P, class I>
    void add_csr(const V* values, const P* indptr, const I* indices) {
        const std::int64_t n_rows = X.n_rows(), width = ceil_div(n_x, std::min<std::int64_t>(run.n_threads(), n_x));
        SortedByColumn<V> sorted;
        std::vector<SparseLine<V>> lines(at(run.n_threads()));
        for (std::int64_t r0 = 0, r1 = 0; r0 < n_rows; r0 = r1) {
            for (r1 = r0 + 1; r1 < n_rows && indptr[r1 + 1] - indptr[r0] <= kSparsePart;) ++r1;
            start_part(r1);
            if (has_ascending_rows(r0, r1, indptr, indices)) {
                const std::vector<std::int64_t> by_group = rows_by_group(r0, r1, groups, n_groups);
                for_columns(width, [&](std::int64_t j0, std::int64_t w, int) {
                    for (const std::int64_t r : by_group) {
                        double* row_moments = moments_of(groups[r], j0);
                        visit_entries(values, indptr, indices, r, j0, w, n_x, [&](std::int64_t j, double v) {
                            row_moments[2 * j] += v;
                            row_moments[2 * j + 1] += v * v;
                        });
                    }
                });
            } else {
                sorted.sort_rows(values, indptr, indices, r0, r1, n_x);
                for_columns(kSparseColumns, [&](std::int64_t j0, std::int64_t w, int slot) {
                    for (std::int64_t j = j0; j < j0 + w; ++j) add_sorted_column(sorted, j, lines[at(slot)]);
                });
            }
            finish_part(r0, r1, nullptr);
        }
    }

    // Adds the entries of column j to the moments of their groups.
    template <class V>
    void add_sorted_column(const SortedByColumn<V>& sorted, std::int64_t j, SparseLine<V>& line) {
        const auto begin = sorted.begins[j], end = sorted.begins[j + 1];
        line.visit(sorted.rows.data() + begin, sorted.values.data() + begin, static_cast<std::int64_t>(end - begin),
                   [&](auto* row, auto* value, std::int64_t count) {
                       for (std::int64_t e = 0; e < count; ++e) {
                           const auto v = static_cast<double>(value[e]);
                           double* moment = moments_of(groups[row[e]], j);
                           moment[0] += v;
                           moment[1] += v * v;
                       }
                   });
    }

    // Adds all rows of a dense matrix to the totals, part by part, each group shifted by its first row in the part.
    void add_dense() {
        Buffer<double> shift(n_groups * n_x);  // the first row of each group in the part
        for (std::int64_t r0 = 0; r0 < X.n_rows(); r0 += kPartRows) {
            const std::int64_t r1 = std::min(r0 + kPartRows, X.n_rows());
            start_part(r1);
            std::vector<bool> is_first(at(r1 - r0)), seen(total.size(), false);
            for (std::int64_t r = r0; r < r1; ++r) {
                is_first[at(r - r0)] = !seen[at(groups[r])];
                seen[at(groups[r])] = true;
            }
            visit_values(X.description(), [&]<class T>(const Values<T>& values) {
                for_columns(tile_columns(n_x), [&](std::int64_t j0, std::int64_t w, int) {
                    Buffer<T> room;
                    for (std::int64_t first = r0, step = values.most(w); first < r1; first += step) {
                        const std::int64_t last = std::min(first + step, r1);
                        const auto [x, rs, cs] = values.block(first, last, j0, j0 + w, room);
                        for (std::int64_t r = first; r < last; ++r) {
                            const T* row = x + (r - first) * rs;
                            double* row_shift = shift.data() + groups[r] * n_x + j0;
                            double* row_moments = moments_of(groups[r], j0);
                            if (is_first[at(r - r0)]) {
                                for (std::int64_t j = 0; j < w; ++j) row_shift[j] = static_cast<double>(row[j * cs]);
                            }
                            for (std::int64_t j = 0; j < w; ++j) {
                                const double v = static_cast<double>(row[j * cs]) - row_shift[j];
                                row_moments[2 * j] += v;
                                row_moments[2 * j + 1] += v * v;
                            }
                        }
                    }
                });
            });
            finish_part(r0, r1, shift.data());
        }
    }
};

void ProjseSums::update_groups(const std::vector<ProjseSums*>& sums, const Matrix& X, const std::int64_t* groups,
                               Run& run) {
    const std::int64_t n_groups = std::ssize(sums), n_x = X.n_cols();
    if (run.is_question()) {
        const std::int64_t sorted = 16 * std::min(X.n_stored(), kSparsePart + n_x) + 16 * n_x + 8 * X.n_rows();
        run.require_memory(
            n_groups * (3 * memory(1, n_x, false) + (X.is_sparse() ? 16 : 24) * n_x) + (X.is_sparse() ? sorted : 0),
            {"the sums of ", n_groups, " groups of rows"});
    }
    std::vector<ProjseSums> total(sums.size());
    parallel_for(run, n_groups, [&](std::int64_t g, int) { total[at(g)] = sums[at(g)]->copy(); });
    GroupUpdate update{X, groups, run, n_groups, n_x, std::move(total), Buffer<double>(2 * n_groups * n_x)};
    if (X.is_sparse()) {
        require(X.is_csr(), "X must be CSR for groups of rows; got CSC: give X.tocsr()");
        visit_sparse(X.description(),
                     [&](auto* values, auto* indptr, auto* indices) { update.add_csr(values, indptr, indices); });
    } else {
        update.add_dense();
    }
    for (std::size_t g = 0; g < sums.size(); ++g) *sums[g] = std::move(update.total[g]);
}

}  // namespace fastfs::core
