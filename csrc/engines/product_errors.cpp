#include "engines/product_errors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// Columns of X that are read together.
constexpr std::int64_t kColumnsChecked = 64;

// The grid of the values of X: the largest power of two, in units, that divides all values minus the shifts, or 0 if it
// is below 2^-24; and a flag for values so small that their products lose digits, or vanish, in float.
struct Grid {
    double quantum = 0;
    bool tiny = false;
};

// Returns the grid of the values of X less their shifts.
template <class T>
Grid grid_of_values(const Samples& X, const std::vector<std::int64_t>& rows, const Features<T>& features, Run& run) {
    constexpr double kFine = 0x1p24, kTiny = 0x1p-60;
    const double per_unit = 1 / features.unit();
    struct Found {
        std::int64_t bits = 0;
        bool fractions = false, tiny = false;
        void add_value(double z) {
            const double fine = z * kFine;
            const auto whole = static_cast<std::int64_t>(fine);
            bits |= whole;
            fractions |= static_cast<double>(whole) != fine;
            tiny |= z != 0 && std::abs(z) < kTiny;
        }
        void add(const Found& other) {
            bits |= other.bits;
            fractions |= other.fractions;
            tiny |= other.tiny;
        }
    };
    Found all;
    X.for_chunks(rows, [&](const Matrix& chunk, std::size_t begin, std::size_t end, std::int64_t offset) {
        const fastfs_matrix& m = chunk.description();
        constexpr std::int64_t kRowsPerTask = 16;
        const std::int64_t tasks = ceil_div(static_cast<std::int64_t>(end - begin), kRowsPerTask);
        std::vector<Found> of_tasks(at(tasks));
        if (chunk.is_sparse()) {
            visit_sparse(m, [&](auto* values, auto*, auto*) {
                const std::int64_t n = chunk.n_stored();
                parallel_for(run, tasks, [&](std::int64_t task, int) {
                    for (std::int64_t e = n * task / tasks; e < n * (task + 1) / tasks; ++e) {
                        of_tasks[at(task)].add_value(static_cast<double>(values[e]) * per_unit);
                    }
                });
            });
        } else {
            visit_values(m, [&]<class V>(const Values<V>& x) {
                parallel_for(run, tasks, [&](std::int64_t task, int) {
                    const std::size_t first = begin + at(task * kRowsPerTask),
                                      last = std::min(first + at(kRowsPerTask), end);
                    Found in_rows;
                    Buffer<V> room;
                    for_runs(rows, first, last, x.most(kColumnsChecked),
                             [&](std::size_t run_begin, std::size_t run_end) {
                                 const std::int64_t top = rows[run_begin];
                                 for (std::int64_t c0 = 0; c0 < chunk.n_cols(); c0 += kColumnsChecked) {
                                     const std::int64_t c1 = std::min(c0 + kColumnsChecked, chunk.n_cols());
                                     const auto [values, rs, cs] =
                                         x.block(top - offset, rows[run_end - 1] + 1 - offset, c0, c1, room);
                                     for (std::size_t r = run_begin; r < run_end; ++r) {
                                         const V* row = values + (rows[r] - top) * rs;
                                         const double shift = features.row_shifts()[r] * per_unit;
                                         for (std::int64_t c = 0; c < c1 - c0; ++c) {
                                             in_rows.add_value(static_cast<double>(row[c * cs]) * per_unit - shift);
                                         }
                                     }
                                 }
                             });
                    of_tasks[at(task)] = in_rows;
                });
            });
        }
        for (const Found& part : of_tasks) all.add(part);
    });
    Grid grid;
    grid.tiny = all.tiny;
    if (!all.fractions && all.bits != 0) grid.quantum = static_cast<double>(all.bits & -all.bits) / kFine;
    return grid;
}

// Returns for each feature the bound e_i of candidates.hpp, 0 if the grid makes its products exact.
template <class T>
std::vector<float> errors_of(const Features<T>& features, const Grid& grid) {
    constexpr double u = 0.55 * std::numeric_limits<float>::epsilon();
    const std::int64_t d = features.n_features();
    std::vector<double> errors(at(d));
    features.product_errors(errors.data());
    const double exact = 0x1p22 * grid.quantum * grid.quantum;
    std::vector<float> result(errors.size());
    for (std::int64_t i = 0; i < d; ++i) {
        const double norm = static_cast<double>(features.squared_norms()[i]);
        // The second condition excludes sparse entries at one place that cancel.
        const bool no_cancellation = sizeof(T) == sizeof(float) || errors[at(i)] <= exact / 0x1p24;
        if (grid.quantum > 0 && norm <= exact && no_cancellation) continue;
        // Values in float cost 4 u, the norms 1, and each step from G to a comparison about as much.
        double error = errors[at(i)] + 24 * u * norm;
        if (grid.quantum > 0) error *= 2;  // it covers a smaller partner that has none
        if (grid.tiny) error += static_cast<double>(features.n_samples()) * 0x1p-120;
        result[at(i)] = static_cast<float>(error);
    }
    return result;
}

}  // namespace

template <class T>
std::vector<float> product_error_bounds(const Samples& X, const std::vector<std::int64_t>& rows,
                                        const Features<T>& features, Run& run) {
    return errors_of(features, grid_of_values(X, rows, features, run));
}

template std::vector<float> product_error_bounds(const Samples&, const std::vector<std::int64_t>&,
                                                 const Features<float>&, Run&);
template std::vector<float> product_error_bounds(const Samples&, const std::vector<std::int64_t>&,
                                                 const Features<double>&, Run&);

}  // namespace fastfs::core
