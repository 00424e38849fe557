#include "engines/listed_distances.hpp"

#include <algorithm>
#include <span>

#include "support/index.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// Columns of X that are read together.
constexpr std::int64_t kColumnsRead = 64;

// Bytes of the columns that are compared together: they stay in L3.
constexpr std::int64_t kComparedBytes = std::int64_t{16} << 20;

std::int64_t samples_compared(std::int64_t n_samples, std::int64_t d) {
    const std::int64_t fit = std::max<std::int64_t>(16, kComparedBytes / (8 * d));
    return round_up(std::min(fit, n_samples), 8);
}

}  // namespace

std::int64_t DenseDistances::memory(std::int64_t n_samples, std::int64_t d) {
    return 8 * n_samples + 8 * d * samples_compared(n_samples, d);
}

void DenseDistances::operator()(const std::vector<Query>& queries, Run& run) {
    if (X_.is_float32()) {
        add_distances(single_, queries, run);
    } else {
        add_distances(double_, queries, run);
    }
}

// Adds the squared distance between the feature of a query and each listed feature to the sum of the listed one.
// Overwrites `columns` with the values of X, unless they hold all samples already.
template <class T>
void DenseDistances::add_distances(Buffer<T>& columns, const std::vector<Query>& queries, Run& run) {
    constexpr std::int64_t kInLine = 64 / sizeof(T);
    const auto n = static_cast<std::int64_t>(rows_.size()), d = X_.n_cols(), width = samples_compared(n, d);
    for (std::int64_t first = 0; first < n; first += width) {
        if (columns.size() == 0 || width < n) pack_columns(columns, first, std::min(width, n - first), width, run);
        parallel_for(run, static_cast<std::int64_t>(queries.size()), [&](std::int64_t task, int) {
            const Query& q = queries[at(task)];
            const T* column = &columns[q.feature * width];
            for (Other* other = q.begin; other < q.end; ++other) {
                // The columns lie anywhere in L3: prefetching two ahead saved a third of the time.
                const T* ahead = &columns[(q.end - other > 2 ? other + 2 : other)->feature * width];
                for (std::int64_t s = 0; s < width; s += kInLine) __builtin_prefetch(ahead + s);
                other->sum += tile_kernels<T>().squared_distance(column, &columns[other->feature * width], width);
            }
        });
    }
}

// Writes n_now samples of all features, from `first` on, to contiguous columns of `width` values; zeros after them.
template <class T>
void DenseDistances::pack_columns(Buffer<T>& columns, std::int64_t first, std::int64_t n_now, std::int64_t width,
                                  Run& run) {
    const std::int64_t d = X_.n_cols();
    if (columns.size() == 0) columns = Buffer<T>(d * width);
    const std::vector<std::int64_t> rows(rows_.begin() + first, rows_.begin() + first + n_now);
    const double per_unit = 1 / unit_;
    X_.for_chunks(rows, [&](const Matrix& chunk, std::size_t begin, std::size_t end, std::int64_t offset) {
        visit_values(chunk.description(), [&]<class V>(const Values<V>& x) {
            parallel_for(run, ceil_div(d, kColumnsRead), [&](std::int64_t task, int) {
                const std::int64_t i0 = task * kColumnsRead, i1 = std::min(i0 + kColumnsRead, d);
                Buffer<V> room;
                for_runs(rows, begin, end, x.most(i1 - i0), [&](std::size_t run_begin, std::size_t run_end) {
                    const std::int64_t top = rows[run_begin];
                    const auto [values, rs, cs] = x.block(top - offset, rows[run_end - 1] + 1 - offset, i0, i1, room);
                    for (std::size_t r = run_begin; r < run_end; ++r) {
                        const V* row = values + (rows[r] - top) * rs;
                        for (std::int64_t i = i0; i < i1; ++i) {
                            columns[i * width + static_cast<std::int64_t>(r)] =
                                static_cast<T>(static_cast<double>(row[(i - i0) * cs]) * per_unit);
                        }
                    }
                });
                for (std::int64_t i = i0; i < i1; ++i) {
                    std::fill(&columns[i * width + n_now], &columns[i * width] + width, T(0));
                }
            });
        });
    });
}

// Overwrites the sum of each listed feature with its squared distance from the feature of the query.
void SparseDistances::operator()(const std::vector<Query>& queries, Run& run) {
    parallel_for(run, static_cast<std::int64_t>(queries.size()), [&](std::int64_t task, int) {
        const Query& q = queries[at(task)];
        for (Other& other : std::span(q.begin, q.end)) {
            other.sum = features_.squared_distance(q.feature, features_, other.feature);
        }
    });
}

}  // namespace fastfs::core
