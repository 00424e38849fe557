#include "engines/columns.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "engines/feature_sums.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

static_assert(kTile <= 256, "column numbers within a block are bytes");

static_assert(kTile % kPanel<float> == 0 && kTile % kPanel<double> == 0, "a tile starts with a panel");

// Samples between two checkpoints: keeps a tile's call below 0.05 s, so that a cancel is seen in time.
constexpr std::int64_t kSamplesPerCall = 8192;

std::int64_t parts(std::int64_t n_samples) { return ceil_div(n_samples, kSamplesPerCall); }

// Entries of a sparse matrix between two checkpoints, which take 0.01 s or so: rows can have none or a million of them.
constexpr std::int64_t kEntriesPerCheckpoint = std::int64_t{1} << 20;

template <class T>
std::int64_t n_panels(std::int64_t n_features) {
    return ceil_div(n_features, kPanel<T>);
}

}  // namespace

template <class T>
Features<T>::Features(const Samples& X, const std::vector<std::int64_t>& rows, double unit, Shift shift, Run& run)
    : n_features_(X.n_cols()),
      n_samples_(static_cast<std::int64_t>(rows.size())),
      sparse_(X.is_sparse()),
      unit_(unit),
      row_shifts_(rows.size(), 0.0),
      squared_norms_(X.n_cols()) {
    if (sparse_) {
        pack_sparse(X, rows, run);
    } else {
        if (shift == Shift::kNone) row_shifts_.clear();
        pack_dense(X, rows, run);
        row_shifts_.resize(rows.size(), 0.0);
    }
    sum_squares(run);
}

template <class T>
Features<T>::Features(std::shared_ptr<const PairProducts> products)
    : n_features_(products->n_features()),
      unit_(common_unit(
          {std::sqrt(*std::max_element(products->totals().norms.begin(), products->totals().norms.end()))}, {0})),
      squared_norms_(n_features_),
      products_(std::move(products)),
      names_(up_to(n_features_)) {
    set_norms_of_products();
}

// Sets squared_norms_ and largest_squared_norm_ from the norms in products_.
template <class T>
void Features<T>::set_norms_of_products() {
    for (std::int64_t i = 0; i < n_features_; ++i) {
        squared_norms_[i] = static_cast<T>(products_->totals().norms[at(names_[at(i)])] / unit_ / unit_);
    }
    largest_squared_norm_ = *std::max_element(squared_norms_.data(), squared_norms_.data() + n_features_);
}

template <class T>
template <class From>
Features<T>::Features(const Features<From>& all, const std::vector<std::int64_t>& columns, Run& run)
    : n_features_(static_cast<std::int64_t>(columns.size())),
      n_samples_(all.n_samples_),
      sparse_(all.sparse_),
      unit_(all.unit_),
      row_shifts_(all.row_shifts_),
      squared_norms_(n_features_),
      products_(all.products_) {
    if (products_) {
        for (std::int64_t c : columns) names_.push_back(all.names_[at(c)]);
        set_norms_of_products();
        return;
    }
    if (sparse_) {
        copy_sparse(all, columns);
    } else {
        dense_ = Buffer<T>(n_panels<T>(n_features_) * panel_stride());
        std::fill_n(dense_.data(), dense_.size(), T(0));
        parallel_for(run, n_panels<T>(n_features_), [&](std::int64_t panel, int) {
            for (std::int64_t i = panel * kPanel<T>; i < std::min((panel + 1) * kPanel<T>, n_features_); ++i) {
                const From* from = all.feature(columns[at(i)]);
                T* to = dense_.data() + panel * panel_stride() + i % kPanel<T>;
                for (std::int64_t n = 0; n < n_samples_; ++n)
                    to[n * kPanel<T>] = static_cast<T>(from[n * kPanel<From>]);
            }
        });
    }
    for (std::int64_t c : columns) {
        if (all.own_.empty()) break;
        own_.push_back(all.own_[at(c)]);
        names_.push_back(all.names_[at(c)]);
    }
    sum_squares(run);
}

template <class T>
void Features<T>::add_own(const std::vector<double>& squares) {
    names_ = up_to(n_features_);
    for (double square : squares) own_.push_back(square / (unit_ * unit_));
    for (std::int64_t i = 0; i < n_features_; ++i) squared_norms_[i] += static_cast<T>(own_[at(i)]);
    largest_squared_norm_ = *std::max_element(squared_norms_.data(), squared_norms_.data() + n_features_);
}

template <class T>
std::int64_t Features<T>::memory(const Samples& X, std::int64_t n_rows) {
    constexpr std::int64_t value = sizeof(T), index = sizeof(std::int64_t);
    const std::int64_t of_rows = 3 * n_rows * index;  // numbers, maxima and shifts of the rows
    if (!X.is_sparse()) return (n_panels<T>(X.n_cols()) * kPanel<T> * n_rows + X.n_cols()) * value + of_rows;
    // Two layouts with their indices, segments (at most one per value), and for CSC a row-wise copy on the way.
    const std::int64_t per_value = 3 * value + 4 * index + 1 + index;
    return X.n_stored() * per_value + X.n_cols() * (index + value) + X.n_rows() * index + of_rows;
}

// Copies the listed rows to the panels of dense_, divided by the unit and less their shifts. Finds the shifts and
// writes them to row_shifts_, unless it is empty.
template <class T>
void Features<T>::pack_dense(const Samples& X, const std::vector<std::int64_t>& rows, Run& run) {
    const bool shifted = !row_shifts_.empty();
    const double per_unit = 1 / unit_;
    dense_ = Buffer<T>(n_panels<T>(n_features_) * panel_stride());
    X.for_chunks(rows, [&](const Matrix& chunk, std::size_t begin, std::size_t end, std::int64_t offset) {
        const fastfs_matrix& m = chunk.description();
        visit_values(m, [&]<class V>(const Values<V>& x) {
            if (shifted) {
                const auto n = static_cast<std::int64_t>(end - begin);
                constexpr std::int64_t kRowsPerTask = 16;  // fewer aren't worth another thread
                parallel_for(run, ceil_div(n, kRowsPerTask), [&](std::int64_t task, int) {
                    const std::size_t first = begin + at(task * kRowsPerTask);
                    for (std::size_t r = first; r < std::min<std::size_t>(first + kRowsPerTask, end); ++r) {
                        row_shifts_[r] = shared_offset(x, rows[r] - offset, n_features_, per_unit);
                    }
                });
            }
            const std::int64_t n_parts = parts(static_cast<std::int64_t>(end - begin));
            parallel_for(run, n_panels<T>(n_features_) * n_parts, [&](std::int64_t task, int) {
                const std::int64_t panel = task / n_parts, part = task % n_parts;
                const std::int64_t first = panel * kPanel<T>, width = std::min(kPanel<T>, n_features_ - first);
                const std::size_t from = begin + at(part * kSamplesPerCall);
                const std::size_t to = std::min<std::size_t>(from + kSamplesPerCall, end);
                T* z = dense_.data() + panel * panel_stride() + static_cast<std::int64_t>(from) * kPanel<T>;
                Buffer<V> room;
                for_runs(rows, from, to, x.most(width), [&](std::size_t run_begin, std::size_t run_end) {
                    const std::int64_t top = rows[run_begin];
                    const auto [values, rs, cs] =
                        x.block(top - offset, rows[run_end - 1] + 1 - offset, first, first + width, room);
                    for (std::size_t r = run_begin; r < run_end; ++r, z += kPanel<T>) {
                        const V* row = values + (rows[r] - top) * rs;
                        const double shift = shifted ? row_shifts_[r] : 0;
                        for (std::int64_t c = 0; c < width; ++c) {
                            z[c] = static_cast<T>(static_cast<double>(row[c * cs]) * per_unit - shift);
                        }
                        std::fill(z + width, z + kPanel<T>, T(0));
                    }
                });
            });
        });
    });
    for (double& shift : row_shifts_) shift *= unit_;
}

namespace {

// Access to the entries of selected rows of a sparse chunk, row after row: in its own arrays, or in a transposed copy
// of a CSC matrix.
class SparseRows {
  public:
    // Copies the entries of a CSC chunk row by row; a CSR chunk is read in place.
    SparseRows(const Matrix& chunk, Run& run) : chunk_(chunk) {
        if (chunk.is_csr()) return;
        visit_sparse(chunk.description(), [&](auto* values, auto* indptr, auto* indices) {
            const std::int64_t stored = chunk.n_stored(), n_rows = chunk.n_rows();
            values_ = Buffer<double>(stored);
            columns_ = Buffer<std::int64_t>(stored);
            begins_ = Buffer<std::int64_t>(n_rows + 1);
            std::fill_n(begins_.data(), n_rows + 1, std::int64_t{0});
            for (std::int64_t e = 0; e < stored; ++e) ++begins_[indices[e] + 1];
            for (std::int64_t r = 0; r < n_rows; ++r) begins_[r + 1] += begins_[r];
            for (std::int64_t c = 0; c < chunk.n_cols(); ++c) {
                if (c % 4096 == 0) run.checkpoint();
                for (std::int64_t e = indptr[c]; e < indptr[c + 1]; ++e) {
                    const std::int64_t to = begins_[indices[e]]++;
                    values_[to] = static_cast<double>(values[e]);
                    columns_[to] = c;
                }
            }
            // Undoes the advance of begins: each has moved to the begin of the next row.
            for (std::int64_t r = n_rows; r > 0; --r) begins_[r] = begins_[r - 1];
            begins_[0] = 0;
        });
    }

    // Calls f(r, column, value) for all entries of the rows[r] - offset, begin <= r < end.
    template <class F>
    void for_entries(const std::vector<std::int64_t>& rows, std::size_t begin, std::size_t end, std::int64_t offset,
                     Run& run, F&& f) const {
        // Visits the entries of one layout of rows, with checkpoints.
        auto walk = [&](auto* values, auto* indptr, auto* indices) {
            std::int64_t since = 0;
            for (std::size_t r = begin; r < end; ++r) {
                const std::int64_t row = rows[r] - offset;
                since += indptr[row + 1] - indptr[row] + 1;
                if (since > kEntriesPerCheckpoint) {
                    run.checkpoint();
                    since = 0;
                }
                for (std::int64_t e = indptr[row]; e < indptr[row + 1]; ++e) {
                    f(static_cast<std::int64_t>(r), static_cast<std::int64_t>(indices[e]),
                      static_cast<double>(values[e]));
                }
            }
        };
        if (chunk_.is_csr()) {
            visit_sparse(chunk_.description(), walk);
        } else {
            walk(values_.data(), begins_.data(), columns_.data());
        }
    }

  private:
    const Matrix& chunk_;
    Buffer<double> values_;
    Buffer<std::int64_t> begins_, columns_;
};

}  // namespace

// Copies the entries of the rows, divided by the unit, in two layouts: column by column, and in blocks of kTile columns
// row by row.
template <class T>
void Features<T>::pack_sparse(const Samples& X, const std::vector<std::int64_t>& rows, Run& run) {
    const double per_unit = 1 / unit_;
    const std::int64_t n_blocks = ceil_div(n_features_, kTile);
    column_begins_ = Buffer<std::int64_t>(n_features_ + 1);
    std::fill_n(column_begins_.data(), n_features_ + 1, std::int64_t{0});
    std::vector<SparseRows> chunks;
    X.for_chunks(rows, [&](const Matrix& chunk, std::size_t begin, std::size_t end, std::int64_t offset) {
        chunks.emplace_back(chunk, run);
        chunks.back().for_entries(rows, begin, end, offset, run,
                                  [&](std::int64_t, std::int64_t c, double) { ++column_begins_[c + 1]; });
    });
    for (std::int64_t c = 0; c < n_features_; ++c) column_begins_[c + 1] += column_begins_[c];
    const std::int64_t stored = column_begins_[n_features_];

    column_values_ = Buffer<T>(stored);
    column_rows_ = Buffer<std::int64_t>(stored);
    block_values_ = Buffer<T>(stored);
    block_columns_ = Buffer<std::uint8_t>(stored);
    segments_.resize(at(n_blocks));
    std::vector<std::int64_t> column_next(column_begins_.data(), column_begins_.data() + n_features_);
    std::vector<std::int64_t> block_next;
    for (std::int64_t b = 0; b < n_blocks; ++b) {
        const std::int64_t begin = column_begins_[b * kTile];
        const std::int64_t end = column_begins_[std::min((b + 1) * kTile, n_features_)];
        block_next.push_back(begin);
        segments_[at(b)].reserve(at(std::min(end - begin, n_samples_) + 1));
    }
    auto entries = chunks.begin();
    X.for_chunks(rows, [&](const Matrix&, std::size_t begin, std::size_t end, std::int64_t offset) {
        (entries++)->for_entries(rows, begin, end, offset, run, [&](std::int64_t r, std::int64_t c, double value) {
            const T z = static_cast<T>(value * per_unit);
            const std::int64_t at_column = column_next[at(c)]++;
            column_values_[at_column] = z;
            column_rows_[at_column] = r;
            const auto block = at(c / kTile);
            const std::int64_t at_block = block_next[block]++;
            block_values_[at_block] = z;
            block_columns_[at_block] = static_cast<std::uint8_t>(c % kTile);
            auto& segments = segments_[block];
            if (segments.empty() || segments.back().row != r) segments.push_back({r, at_block});
        });
    });
    for (std::size_t b = 0; b < segments_.size(); ++b) segments_[b].push_back({n_samples_, block_next[b]});
}

// Copies the entries of the listed columns of `all`, a Features of float or of double, to both layouts (see
// pack_sparse).
template <class T>
void Features<T>::copy_sparse(const auto& all, const std::vector<std::int64_t>& columns) {
    column_begins_ = Buffer<std::int64_t>(n_features_ + 1);
    column_begins_[0] = 0;
    for (std::int64_t i = 0; i < n_features_; ++i) {
        const std::int64_t c = columns[at(i)];
        column_begins_[i + 1] = column_begins_[i] + all.column_begins_[c + 1] - all.column_begins_[c];
    }
    const std::int64_t stored = column_begins_[n_features_];
    column_values_ = Buffer<T>(stored);
    column_rows_ = Buffer<std::int64_t>(stored);
    block_values_ = Buffer<T>(stored);
    block_columns_ = Buffer<std::uint8_t>(stored);
    segments_.resize(at(ceil_div(n_features_, kTile)));
    std::vector<std::pair<std::int64_t, std::int64_t>> by_row;  // row and place of each entry of a block
    for (std::int64_t i = 0; i < n_features_; ++i) {
        if (i % kTile == 0) by_row.clear();
        std::int64_t from = all.column_begins_[columns[at(i)]];
        for (std::int64_t e = column_begins_[i]; e < column_begins_[i + 1]; ++e, ++from) {
            column_values_[e] = static_cast<T>(all.column_values_[from]);
            column_rows_[e] = all.column_rows_[from];
            by_row.emplace_back(column_rows_[e], e);
        }
        if (i % kTile < kTile - 1 && i < n_features_ - 1) continue;
        std::sort(by_row.begin(), by_row.end());
        auto& segments = segments_[at(i / kTile)];
        std::int64_t to = column_begins_[i / kTile * kTile];
        for (const auto& [row, e] : by_row) {
            if (segments.empty() || segments.back().row != row) segments.push_back({row, to});
            block_values_[to] = column_values_[e];
            const auto column = std::upper_bound(column_begins_.data(), column_begins_.data() + n_features_ + 1, e);
            block_columns_[to] = static_cast<std::uint8_t>((column - column_begins_.data() - 1) % kTile);
            ++to;
        }
        segments.push_back({n_samples_, to});
    }
}

// Sets squared_norms_ and largest_squared_norm_ from the stored values, with sums in double; adds own_.
template <class T>
void Features<T>::sum_squares(Run& run) {
    parallel_for(run, n_panels<T>(n_features_), [&](std::int64_t panel, int) {
        const std::int64_t first = panel * kPanel<T>, last = std::min(first + kPanel<T>, n_features_);
        double sums[kPanel<T>] = {};
        if (sparse_) {
            for (std::int64_t i = first; i < last; ++i) {
                // Entries at one place add up before they are squared; they stand next to each other.
                for (std::int64_t e = column_begins_[i]; e < column_begins_[i + 1];) {
                    const std::int64_t row = column_rows_[e];
                    double z = 0;
                    for (; e < column_begins_[i + 1] && column_rows_[e] == row; ++e) z += column_values_[e];
                    sums[i - first] += z * z;
                }
            }
        } else {
            const T* z = feature(first);
            for (std::int64_t n = 0; n < n_samples_;) {
                run.checkpoint();
                for (const std::int64_t end = std::min(n + kSamplesPerCall, n_samples_); n < end; ++n, z += kPanel<T>) {
                    for (std::int64_t c = 0; c < kPanel<T>; ++c) sums[c] += static_cast<double>(z[c]) * z[c];
                }
            }
        }
        for (std::int64_t i = first; i < last; ++i) {
            squared_norms_[i] = static_cast<T>(sums[i - first] + (own_.empty() ? 0 : own_[at(i)]));
        }
    });
    largest_squared_norm_ = *std::max_element(squared_norms_.data(), squared_norms_.data() + n_features_);
}

template <class T>
T Features<T>::largest_value() const {
    T largest = 0;
    for (std::int64_t e = 0; e < dense_.size(); ++e) largest = std::max(largest, std::abs(dense_[e]));
    return largest;
}

// Adds the squared norm of each feature before its shifts to norms; dense values get their shifts back before they are
// squared.
template <class T>
void Features<T>::add_original_norms(double* norms, Run& run) const {
    if (sparse_ || products_) {  // never shifted
        for (std::int64_t i = 0; i < n_features_; ++i) norms[i] += static_cast<double>(squared_norms_[i]);
        return;
    }
    parallel_for(run, n_panels<T>(n_features_), [&](std::int64_t panel, int) {
        const std::int64_t first = panel * kPanel<T>, last = std::min(first + kPanel<T>, n_features_);
        double sums[kPanel<T>] = {};
        const T* z = feature(first);
        for (std::int64_t n = 0; n < n_samples_; ++n, z += kPanel<T>) {
            if (n % kSamplesPerCall == 0) run.checkpoint();
            const double shift = row_shifts_[at(n)] / unit_;
            for (std::int64_t c = 0; c < kPanel<T>; ++c) {
                const double x = static_cast<double>(z[c]) + shift;
                sums[c] += x * x;
            }
        }
        for (std::int64_t i = first; i < last; ++i) norms[i] += sums[i - first];
    });
}

// Writes the inner products of ni left with nj right features to the tile: from panels of dense values, from shared
// rows of sparse ones, or from PairProducts.
template <class T>
void Features<T>::gram_tile(std::int64_t i0, std::int64_t ni, const Features& right, std::int64_t j0, std::int64_t nj,
                            T* tile, Run& run) const {
    if (products_) {
        for (std::int64_t a = 0; a < ni; ++a) {
            const std::int64_t i = names_[at(i0 + a)];
            for (std::int64_t b = 0; b < nj; ++b) {
                tile[a * kTile + b] = static_cast<T>(products_->product(i, right.names_[at(j0 + b)]) / unit_ / unit_);
            }
        }
        return;
    }
    if (!sparse_) {
        for (std::int64_t n0 = 0; n0 < n_samples_; n0 += kSamplesPerCall) {
            if (n0 > 0) run.checkpoint();
            tile_kernels<T>().gram(feature(i0) + n0 * kPanel<T>, right.feature(j0) + n0 * kPanel<T>, panel_stride(),
                                   std::min(kSamplesPerCall, n_samples_ - n0), n0 > 0, tile, kTile, ni, nj);
        }
        for (std::int64_t a = 0; a < ni && !own_.empty(); ++a) {
            for (std::int64_t b = 0; b < nj; ++b)
                tile[a * kTile + b] += static_cast<T>(own_product(i0 + a, right, j0 + b));
        }
        return;
    }
    for (std::int64_t a = 0; a < ni; ++a) std::fill_n(tile + a * kTile, nj, T(0));
    const auto& rows = segments_[at(i0 / kTile)];
    const auto& columns = right.segments_[at(j0 / kTile)];
    for (std::size_t s = 0, t = 0; s + 1 < rows.size() && t + 1 < columns.size();) {
        if (rows[s].row < columns[t].row) {
            ++s;
        } else if (columns[t].row < rows[s].row) {
            ++t;
        } else {
            for (std::int64_t e = rows[s].begin; e < rows[s + 1].begin; ++e) {
                const T value = block_values_[e];
                T* row = tile + block_columns_[e] * kTile;
                for (std::int64_t f = columns[t].begin; f < columns[t + 1].begin; ++f) {
                    row[right.block_columns_[f]] += value * right.block_values_[f];
                }
            }
            ++s;
            ++t;
        }
    }
}

template <class T>
T Features<T>::squared_distance(std::int64_t i, const Features& right, std::int64_t j) const {
    if (products_) {
        return static_cast<T>(products_->squared_distance(names_[at(i)], right.names_[at(j)]) / unit_ / unit_);
    }
    double sum = 0;
    if (!sparse_) {
        const T *a = feature(i), *b = right.feature(j);
        double lane[4] = {};
        for (std::int64_t n = 0; n < n_samples_; ++n) {
            const double difference = static_cast<double>(a[n * kPanel<T>]) - static_cast<double>(b[n * kPanel<T>]);
            lane[n & 3] += difference * difference;
        }
        double apart = 0;
        if (!own_.empty()) apart = own_[at(i)] + right.own_[at(j)] - 2 * own_product(i, right, j);
        return static_cast<T>((lane[0] + lane[1]) + (lane[2] + lane[3]) + apart);
    }
    std::int64_t e = column_begins_[i], f = right.column_begins_[j];
    const std::int64_t e_end = column_begins_[i + 1], f_end = right.column_begins_[j + 1];
    while (e < e_end || f < f_end) {
        const std::int64_t row =
            std::min(e < e_end ? column_rows_[e] : n_samples_, f < f_end ? right.column_rows_[f] : n_samples_);
        double difference = 0;
        for (; e < e_end && column_rows_[e] == row; ++e) difference += column_values_[e];
        for (; f < f_end && right.column_rows_[f] == row; ++f) difference -= right.column_values_[f];
        sum += difference * difference;
    }
    return static_cast<T>(sum);
}

// Returns a hash per feature of its nonzero values and their rows.
template <class T>
std::vector<std::uint64_t> Features<T>::hashes(Run& run) const {
    std::vector<std::uint64_t> hashes(at(n_features_), 0);
    parallel_for(run, ceil_div(n_features_, kTile), [&](std::int64_t task, int) {
        for (std::int64_t i = task * kTile; i < std::min((task + 1) * kTile, n_features_); ++i) {
            std::uint64_t& hash = hashes[at(i)];
            auto mix = [&](std::int64_t row, T z) {
                if (z == 0) return;  // a stored zero of either sign counts as none
                hash = (hash ^ std::bit_cast<std::uint64_t>(static_cast<double>(z))) * 0x9e3779b97f4a7c15u;
                hash = (hash ^ (hash >> 32) ^ static_cast<std::uint64_t>(row)) * 0xd6e8feb86659fd93u;
            };
            if (sparse_) {
                for (std::int64_t e = column_begins_[i]; e < column_begins_[i + 1]; ++e) {
                    mix(column_rows_[e], column_values_[e]);
                }
            } else {
                const T* z = feature(i);
                for (std::int64_t n = 0; n < n_samples_; ++n) mix(n, z[n * kPanel<T>]);
            }
        }
    });
    return hashes;
}

// Writes errors[i] for all features: errors[i] + errors[j] bounds the rounding error of 2 z_i'z_j. A sum of m products
// in sequence has an error of at most m u (1 + m u) times the sum of their magnitudes, which is at most half of |z_i|^2
// + |z_j|^2; m is below 2^20 for float, and the unit roundoff u = eps / 2.
template <class T>
void Features<T>::product_errors(double* errors) const {
    constexpr double u = 0.55 * std::numeric_limits<T>::epsilon();
    if (!sparse_) {
        const auto additions = static_cast<double>(kSamplesPerPass + n_samples_ / kSamplesPerPass + 2);
        for (std::int64_t i = 0; i < n_features_; ++i)
            errors[i] = additions * u * static_cast<double>(squared_norms_[i]);
        return;
    }
    std::int64_t most_at_once = 1;  // entries at one place, which are multiplied each with each
    for (std::int64_t i = 0; i < n_features_; ++i) {
        double norm = 0;
        for (std::int64_t e = column_begins_[i], begin; (begin = e) < column_begins_[i + 1];) {
            double z = 0;
            for (; e < column_begins_[i + 1] && column_rows_[e] == column_rows_[begin]; ++e) {
                z += std::abs(static_cast<double>(column_values_[e]));
            }
            norm += z * z;
            most_at_once = std::max(most_at_once, e - begin);
        }
        errors[i] = static_cast<double>(column_begins_[i + 1] - column_begins_[i] + 2) * u * norm;
    }
    for (std::int64_t i = 0; i < n_features_; ++i) errors[i] *= static_cast<double>(most_at_once);
}

// Overwrites sums[i] with the inner product of a, one number per sample, with feature i.
template <class T>
void Features<T>::weighted_sums(const double* a, double* sums, Run& run) const {
    for (std::int64_t i = 0; i < n_features_; ++i) {
        double sum = 0;
        run.checkpoint();
        if (sparse_) {
            for (std::int64_t e = column_begins_[i]; e < column_begins_[i + 1]; ++e) {
                sum += a[column_rows_[e]] * column_values_[e];
            }
        } else {
            const T* z = feature(i);
            for (std::int64_t n = 0; n < n_samples_;) {
                run.checkpoint();
                const std::int64_t end = std::min(n + kSamplesPerCall, n_samples_);
                for (; n < end; ++n) sum += a[n] * z[n * kPanel<T>];
            }
        }
        sums[i] = sum;
    }
}

template class Features<float>;
template class Features<double>;
template Features<float>::Features(const Features<float>&, const std::vector<std::int64_t>&, Run&);
template Features<double>::Features(const Features<float>&, const std::vector<std::int64_t>&, Run&);
template Features<double>::Features(const Features<double>&, const std::vector<std::int64_t>&, Run&);

}  // namespace fastfs::core
