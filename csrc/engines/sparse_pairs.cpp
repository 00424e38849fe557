#include "engines/sparse_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "support/csr.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

constexpr std::int64_t kSide = SparseFeatures::kSide;

// Entries, or pairs of them, between two checkpoints: some 0.01 s.
constexpr std::int64_t kPerCheckpoint = std::int64_t{1} << 22;

// Returns the number of groups, for any number of threads, in which sums of features are added up; the partial sum of
// each group is in memory.
std::int64_t most_groups(std::int64_t n_features) {
    constexpr std::int64_t kBytes = std::int64_t{1} << 26;
    return std::clamp<std::int64_t>(kBytes / (8 * n_features), 4, 64);
}

// Returns the tasks first .. last - 1 of n that belong to group g of n_groups.
std::pair<std::int64_t, std::int64_t> share(std::int64_t g, std::int64_t n_groups, std::int64_t n) {
    return {g * n / n_groups, (g + 1) * n / n_groups};
}

// Returns the largest number of stored entries in a row of a CSR matrix or in a column of a CSC matrix.
std::int64_t longest_line(const Matrix& X) {
    return visit_sparse(X.description(), [&](auto*, auto* indptr, auto*) {
        std::int64_t longest = 0;
        for (std::int64_t o = 0; o < (X.is_csr() ? X.n_rows() : X.n_cols()); ++o) {
            longest = std::max<std::int64_t>(longest, indptr[o + 1] - indptr[o]);
        }
        return longest;
    });
}

// Returns the number of each column among the chosen ones, or -1.
std::vector<std::int32_t> numbers_of(const std::vector<std::int64_t>& columns, std::int64_t n_cols) {
    std::vector<std::int32_t> numbers(at(n_cols), -1);
    for (std::size_t k = 0; k < columns.size(); ++k) numbers[at(columns[k])] = static_cast<std::int32_t>(k);
    return numbers;
}

// Samples and values of one part of a feature in one block.
struct Entries {
    const std::uint8_t* samples;
    const double* values;
    std::int64_t n;
};

constexpr int kLanes = 4;

// Calls f(lane, tile[a * kSide + b], min of the values) for all entries a of left and b of right; with one_triangle, if
// left is right, for all a <= b and some further pairs. Calls with one lane, of kLanes, follow each other.
template <class F>
inline void for_minima(const Entries& left, const Entries& right, bool one_triangle, double* tile, F&& f) {
    const std::uint8_t* const columns = right.samples;
    const double* const values = right.values;
    const std::int64_t n = right.n;
    std::int64_t e = 0;
    for (; e + kLanes <= left.n; e += kLanes) {
        double* const row0 = tile + left.samples[e] * kSide;
        double* const row1 = tile + left.samples[e + 1] * kSide;
        double* const row2 = tile + left.samples[e + 2] * kSide;
        double* const row3 = tile + left.samples[e + 3] * kSide;
        const double x0 = left.values[e], x1 = left.values[e + 1], x2 = left.values[e + 2], x3 = left.values[e + 3];
        for (std::int64_t i = one_triangle ? e : 0; i < n; ++i) {
            const std::int64_t b = columns[i];
            const double y = values[i];
            f(0, row0[b], std::min(x0, y));
            f(1, row1[b], std::min(x1, y));
            f(2, row2[b], std::min(x2, y));
            f(3, row3[b], std::min(x3, y));
        }
    }
    for (; e < left.n; ++e) {
        double* const row = tile + left.samples[e] * kSide;
        const double x = left.values[e];
        for (std::int64_t i = one_triangle ? e : 0; i < n; ++i) f(0, row[columns[i]], std::min(x, values[i]));
    }
}

// Lists the pairs of blocks; with one_triangle, if left is right, only one direction of each pair.
std::vector<std::pair<std::int64_t, std::int64_t>> tiles_of(std::int64_t n_left, std::int64_t n_right,
                                                            bool one_triangle) {
    std::vector<std::pair<std::int64_t, std::int64_t>> tiles;
    for (std::int64_t i = 0; i < n_left; ++i) {
        for (std::int64_t j = one_triangle ? i : 0; j < n_right; ++j) tiles.emplace_back(i, j);
    }
    return tiles;
}

}  // namespace

// ---- entries -------------------------------------------------------------------------------------------------------

// Reads the listed features of a sparse X, times their factors, and cuts the samples into blocks. Throws if the
// features are too many, or exceed the memory budget of `run`.
SparseFeatures::SparseFeatures(const Matrix& X, const std::vector<std::int64_t>& features,
                               const std::vector<double>& factor, Run& run)
    : n_features_(static_cast<std::int64_t>(features.size())) {
    require(n_features_ <= kMostFeatures, "X must have at most ", kMostFeatures, " features that vary; got ",
            n_features_);
    run.require_memory(memory(X, n_features_, run.n_threads()),
                       "the nonzeros of " + std::to_string(X.n_rows()) + " samples");
    ends_.resize(at(X.n_rows()));
    {
        const Run::Part part(run, 0.0, 0.5);
        X.is_csr() ? read_rows(X, features, factor, run) : read_columns(X, features, factor, run);
    }
    const Run::Part part(run, 0.5, 1.0);
    std::vector<std::int64_t> all(ends_.size());
    for (std::size_t r = 0; r < all.size(); ++r) all[r] = static_cast<std::int64_t>(r);
    blocks_ = make_blocks(all.data(), n_samples(), run);
}

// Sets the entries of all samples from a CSR matrix, in parallel; entries at one place add up.
void SparseFeatures::read_rows(const Matrix& X, const std::vector<std::int64_t>& features,
                               const std::vector<double>& factor, Run& run) {
    visit_sparse(X.description(), [&]<class V>(const V* values, auto* indptr, auto* indices) {
        const auto numbers = numbers_of(features, X.n_cols());
        std::vector<std::int64_t> counts(ends_.size());
        // Calls f(row, slot) for all samples, in parallel.
        const auto parallel_for_rows = [&](auto&& f) {
            parallel_for(run, ceil_div(n_samples(), kSide), [&](std::int64_t task, int slot) {
                std::int64_t since = 0;
                for (std::int64_t r = task * kSide; r < std::min((task + 1) * kSide, n_samples()); ++r) {
                    if ((since += indptr[r + 1] - indptr[r]) > kPerCheckpoint) {
                        run.checkpoint();
                        since = 0;
                    }
                    f(r, slot);
                }
            });
        };
        parallel_for_rows([&](std::int64_t r, int) {
            counts[at(r)] = std::count_if(indices + indptr[r], indices + indptr[r + 1],
                                          [&](auto column) { return numbers[at(column)] >= 0; });
        });
        start_rows(std::move(counts));
        std::vector<SparseLine<V>> lines(at(run.n_threads()));
        parallel_for_rows([&](std::int64_t r, int slot) {
            lines[at(slot)].visit(indices + indptr[r], values + indptr[r], indptr[r + 1] - indptr[r],
                                  [&](auto* columns, const V* x, std::int64_t n) {
                                      for (std::int64_t e = 0; e < n; ++e) {
                                          const std::int64_t k = numbers[at(columns[e])];
                                          if (k >= 0) append_entry(r, k, static_cast<double>(x[e]) * factor[at(k)]);
                                      }
                                  });
        });
    });
}

// Sets the entries of all samples from a CSC matrix, column by column; entries at one place add up.
void SparseFeatures::read_columns(const Matrix& X, const std::vector<std::int64_t>& features,
                                  const std::vector<double>& factor, Run& run) {
    visit_sparse(X.description(), [&]<class V>(const V* values, auto* indptr, auto* indices) {
        std::int64_t since = 0;
        // Calls f(feature, rows, values, n) for the entries of each feature, with checkpoints.
        const auto for_columns = [&](auto&& f) {
            for (std::int64_t k = 0; k < n_features_; ++k) {
                const std::int64_t c = features[at(k)], begin = indptr[c], n = indptr[c + 1] - begin;
                if ((since += n + 1) > kPerCheckpoint) {
                    run.checkpoint();
                    since = 0;
                }
                f(k, indices + begin, values + begin, n);
            }
        };
        std::vector<std::int64_t> counts(ends_.size());
        for_columns([&](std::int64_t, auto* rows, const V*, std::int64_t n) {
            for (std::int64_t e = 0; e < n; ++e) ++counts[at(rows[e])];
        });
        start_rows(std::move(counts));
        SparseLine<V> line;
        for_columns([&](std::int64_t k, auto* at_rows, const V* x, std::int64_t count) {
            line.visit(at_rows, x, count, [&](auto* rows, const V* sums, std::int64_t n) {
                for (std::int64_t e = 0; e < n; ++e)
                    append_entry(rows[e], k, static_cast<double>(sums[e]) * factor[at(k)]);
            });
        });
    });
}

// Makes room for the rows, which have no entries yet. counts: the largest number of entries that each row can get.
void SparseFeatures::start_rows(std::vector<std::int64_t> counts) {
    begins_ = std::move(counts);
    std::int64_t total = 0;
    for (auto& begin : begins_) total += std::exchange(begin, total);
    ends_ = begins_;
    parts_ = Buffer<std::int32_t>(total);
    values_ = Buffer<double>(total);
}

// Appends a value to the entries of a row: its magnitude, in the part of the feature for its sign. Ignores 0.
void SparseFeatures::append_entry(std::int64_t row, std::int64_t feature, double value) {
    if (value == 0) return;
    const std::int64_t to = ends_[at(row)]++;
    parts_[to] = static_cast<std::int32_t>(2 * feature + (value < 0 ? 1 : 0));
    values_[to] = std::abs(value);
}

// Returns blocks of up to kSide of the n listed samples, made in parallel.
std::vector<SparseFeatures::Block> SparseFeatures::make_blocks(const std::int64_t* rows, std::int64_t n,
                                                               Run& run) const {
    std::vector<Block> blocks(at(ceil_div(n, kSide)));
    std::vector<Buffer<std::int64_t>> begins(at(run.n_threads()));
    parallel_for(run, static_cast<std::int64_t>(blocks.size()), [&](std::int64_t task, int slot) {
        auto& scratch = begins[at(slot)];
        if (scratch.size() == 0) scratch = Buffer<std::int64_t>(2 * n_features_);
        blocks[at(task)] = make_block(rows + task * kSide, std::min(kSide, n - task * kSide), scratch.data());
    });
    return blocks;
}

// Returns the block of n listed samples, sorted by part. begins: scratch of one number per part.
SparseFeatures::Block SparseFeatures::make_block(const std::int64_t* rows, std::int64_t n, std::int64_t* begins) const {
    std::fill_n(begins, 2 * n_features_, 0);
    for (std::int64_t s = 0; s < n; ++s) {
        for (std::int64_t e = begins_[at(rows[s])]; e < ends_[at(rows[s])]; ++e) ++begins[parts_[e]];
    }
    const std::int64_t n_segments = 2 * n_features_ - std::count(begins, begins + 2 * n_features_, 0);
    Block block{n, n_segments, Buffer<Segment>(n_segments + 1), {}, {}, {}};
    std::int64_t total = 0;
    Segment* segment = block.segments.data();
    for (std::int64_t part = 0; part < 2 * n_features_; ++part) {
        if (begins[part] == 0) continue;
        *segment++ = {part, total};
        total += std::exchange(begins[part], total);
    }
    *segment = {std::numeric_limits<std::int64_t>::max(), total};
    block.samples = Buffer<std::uint8_t>(total);
    block.values = Buffer<double>(total);
    for (std::int64_t s = 0; s < n; ++s) {
        for (std::int64_t e = begins_[at(rows[s])]; e < ends_[at(rows[s])]; ++e) {
            const std::int64_t to = begins[parts_[e]]++;
            block.samples[to] = static_cast<std::uint8_t>(s);
            block.values[to] = values_[e];
        }
    }
    for (std::int64_t e = 0; e < total; ++e) block.totals[block.samples[e]] += block.values[e];
    return block;
}

// Tests if rows[t0..t1 - 1] are all samples in order.
bool SparseFeatures::are_all(const std::vector<std::int64_t>& rows, std::int64_t t0, std::int64_t t1) const {
    if (t0 != 0 || t1 != n_samples()) return false;
    for (std::int64_t t = 0; t < t1; ++t) {
        if (rows[at(t)] != t) return false;
    }
    return true;
}

// ---- memory --------------------------------------------------------------------------------------------------------

namespace {

// Returns an upper bound on the bytes of blocks of n_samples samples that have n_entries entries.
std::int64_t blocks_memory(std::int64_t n_entries, std::int64_t n_samples, std::int64_t n_features) {
    constexpr std::int64_t kSegment = 16, kEntry = 1 + 8, kBlock = 1280;
    const std::int64_t n_blocks = ceil_div(n_samples, kSide);
    const double all_parts = 2.0 * static_cast<double>(n_features) * static_cast<double>(n_blocks);
    const std::int64_t segments = all_parts < static_cast<double>(n_entries) ? 2 * n_features * n_blocks : n_entries;
    return n_entries * kEntry + segments * kSegment + n_blocks * kBlock;
}

std::int64_t scratch_memory(std::int64_t n_features, int n_threads) { return 16 * n_features * n_threads; }

std::int64_t tiles_memory(std::int64_t n_left, std::int64_t n_right, int n_threads) {
    return n_threads * kSide * kSide * 8 + 32 * ceil_div(n_left, kSide) * ceil_div(n_right, kSide);
}

std::int64_t groups_memory(std::int64_t n_features) { return 8 * most_groups(n_features) * n_features; }

}  // namespace

std::int64_t SparseFeatures::memory(const Matrix& X, std::int64_t n_features, int n_threads) {
    constexpr std::int64_t kEntry = 4 + 8, kRow = 4 * 8, kOfLine = 2 * 16 + 2 * 16;
    const std::int64_t entries = X.n_stored(), n = X.n_rows();
    return entries * kEntry + n * kRow + blocks_memory(entries, n, n_features) + 4 * X.n_cols() +
           std::max(scratch_memory(n_features, n_threads), n_threads * longest_line(X) * kOfLine);
}

std::int64_t SparseFeatures::sums_memory(const Matrix& X, std::int64_t n_features, bool other_rows, int n_threads) {
    const std::int64_t n = X.n_rows();
    return (other_rows ? blocks_memory(X.n_stored(), n, n_features) : 0) + scratch_memory(n_features, n_threads) +
           tiles_memory(n, n, n_threads) + groups_memory(n_features) + 16 * n;
}

// Returns blocks of the samples rows[t0..t1 - 1]; throws if they exceed the memory budget.
std::vector<SparseFeatures::Block> SparseFeatures::other_blocks(const std::vector<std::int64_t>& rows, std::int64_t t0,
                                                                std::int64_t t1, Run& run) const {
    std::int64_t entries = 0;
    for (std::int64_t t = t0; t < t1; ++t) entries += ends_[at(rows[at(t)])] - begins_[at(rows[at(t)])];
    run.require_memory(blocks_memory(entries, t1 - t0, n_features_) + scratch_memory(n_features_, run.n_threads()),
                       "the nonzeros of " + std::to_string(t1 - t0) + " samples");
    return make_blocks(rows.data() + t0, t1 - t0, run);
}

// ---- sums ----------------------------------------------------------------------------------------------------------

// Calls f(part, entries of left, entries of right) for the parts that both blocks have.
template <class F>
void SparseFeatures::for_shared_parts(const Block& left, const Block& right, Run& run, F&& f) {
    const Segment *a = left.segments.data(), *b = right.segments.data();
    const Segment *const a_end = a + left.n_segments, *const b_end = b + right.n_segments;
    const auto entries = [](const Block& block, const Segment* s) {
        return Entries{block.samples.data() + s->begin, block.values.data() + s->begin, s[1].begin - s->begin};
    };
    std::int64_t since = 0;
    while (a < a_end && b < b_end) {
        const std::int64_t i = a->part, j = b->part;
        if (i == j) {
            const Entries of_left = entries(left, a), of_right = entries(right, b);
            f(i, of_left, of_right);
            if ((since += of_left.n * of_right.n) > kPerCheckpoint) {
                run.checkpoint();
                since = 0;
            }
        }
        a += i <= j;
        b += j <= i;
    }
}

void SparseFeatures::pair_sums(const std::vector<std::int64_t>& rows, std::int64_t t0, std::int64_t t1, double* out,
                               std::int64_t ld, Run& run) const {
    const bool all = are_all(rows, t0, t1);
    const auto others = all ? std::vector<Block>() : other_blocks(rows, t0, t1, run);
    const auto& left = all ? blocks_ : others;
    add_distances(left.data(), static_cast<std::int64_t>(left.size()), all, out, ld, run);
}

void SparseFeatures::pair_sums(const SparseFeatures& others, std::int64_t t0, std::int64_t t1, double* out,
                               std::int64_t ld, Run& run) const {
    add_distances(others.blocks_.data() + t0 / kSide, ceil_div(t1 - t0, kSide), false, out, ld, run);
}

// Adds |x| + |y| - 2 min(|x|, |y|), summed over features, to out for all pairs of samples of the blocks.
void SparseFeatures::add_distances(const Block* left, std::int64_t n_left, bool same, double* out, std::int64_t ld,
                                   Run& run) const {
    run.require_memory(tiles_memory(n_left * kSide, n_samples(), run.n_threads()), "pairs of samples");
    const auto tiles = tiles_of(n_left, ceil_div(n_samples(), kSide), same);
    Buffer<double> scratch(run.n_threads() * kSide * kSide);
    parallel_for(run, static_cast<std::int64_t>(tiles.size()), [&](std::int64_t task, int slot) {
        const auto [i, j] = tiles[at(task)];
        const Block &a = left[i], &b = blocks_[at(j)];
        const bool diagonal = same && i == j;
        double* const shared = scratch.data() + slot * kSide * kSide;
        std::fill_n(shared, kSide * kSide, 0.0);
        for_shared_parts(a, b, run, [&](std::int64_t, const Entries& x, const Entries& y) {
            for_minima(x, y, diagonal, shared, [](int, double& sum, double least) { sum += least; });
        });
        double* const to = out + i * kSide * ld + j * kSide;
        double* const mirrored = out + j * kSide * ld + i * kSide;
        for (std::int64_t r = 0; r < a.n_samples; ++r) {
            for (std::int64_t c = diagonal ? r : 0; c < b.n_samples; ++c) {
                const double least = shared[r * kSide + c];  // at most either total, with its rounding, too
                const double sum = (a.totals[at(r)] - least) + (b.totals[at(c)] - least);
                to[r * ld + c] += sum;
                if (same && !(diagonal && r == c)) mirrored[c * ld + r] += sum;
            }
        }
    });
}

// Adds to sums[k] the sum of weights[s] |x_sk| over the samples of a block.
void SparseFeatures::add_weighted(const Block& block, const double* weights, double* sums) {
    for (std::int64_t s = 0; s < block.n_segments; ++s) {
        double sum = 0;
        for (std::int64_t e = block.segments[s].begin; e < block.segments[s + 1].begin; ++e) {
            sum += weights[block.samples[e]] * block.values[e];
        }
        sums[block.segments[s].part / 2] += sum;
    }
}

// Divides n_tasks tasks into groups, calls f(group, n_groups, slot, to) in parallel, which adds the sums of one group
// to the zeros in `to`, and adds the sums of all groups to `sums`, in their order.
template <class F>
void SparseFeatures::add_groups(std::int64_t n_tasks, double* sums, Run& run, F&& f) const {
    const std::int64_t n_groups = std::min(most_groups(n_features_), n_tasks);
    Buffer<double> partial(n_groups * n_features_);
    parallel_for(run, n_groups, [&](std::int64_t g, int slot) {
        double* to = partial.data() + g * n_features_;
        std::fill_n(to, n_features_, 0.0);
        f(g, n_groups, slot, to);
    });
    constexpr std::int64_t kAtOnce = 4096;
    parallel_for(run, ceil_div(n_features_, kAtOnce), [&](std::int64_t task, int) {
        for (std::int64_t g = 0; g < n_groups; ++g) {
            const double* from = partial.data() + g * n_features_;
            const auto last = std::min((task + 1) * kAtOnce, n_features_);
            for (std::int64_t k = task * kAtOnce; k < last; ++k) sums[k] += from[k];
        }
    });
}

// Adds g-weighted distances to sums: |x| with the row and column sums of g, less twice the weighted minima of each
// tile.
void SparseFeatures::feature_sums(const std::vector<std::int64_t>& rows, std::int64_t t0, std::int64_t t1,
                                  const double* g, std::int64_t ld, double* sums, Run& run) const {
    if (n_features_ == 0 || t0 == t1) return;
    const bool all = are_all(rows, t0, t1);
    const std::int64_t n_left = t1 - t0, n = n_samples();
    const auto others = all ? std::vector<Block>() : other_blocks(rows, t0, t1, run);
    const auto& left = all ? blocks_ : others;
    run.require_memory(tiles_memory(n_left, n, run.n_threads()) + groups_memory(n_features_) + 8 * (n + n_left),
                       "the weights of pairs of samples");

    Numbers of_rows = numbers(n_left), of_columns = numbers(n);
    {
        const Run::Part part(run, 0.0, 0.1);
        parallel_for(run, static_cast<std::int64_t>(left.size() + blocks_.size()), [&](std::int64_t task, int) {
            const auto n_stripes = static_cast<std::int64_t>(left.size());
            const bool down = task >= n_stripes;
            const std::int64_t first = (down ? task - n_stripes : task) * kSide;
            const std::int64_t i0 = down ? 0 : first, i1 = down ? n_left : std::min(first + kSide, n_left);
            const std::int64_t j0 = down ? first : 0, j1 = down ? std::min(first + kSide, n) : n;
            for (std::int64_t i = i0; i < i1; ++i) {
                const double* from = g + i * ld;
                for (std::int64_t j = j0; j < j1; ++j) {
                    if (!(all && i == j)) (down ? of_columns[at(j)] : of_rows[at(i)]) += from[j];
                }
            }
        });
    }
    if (all) std::transform(of_rows.begin(), of_rows.end(), of_columns.begin(), of_columns.begin(), std::plus<>());
    const Run::Part part(run, 0.1, 1.0);
    const auto tiles = tiles_of(ceil_div(n_left, kSide), ceil_div(n, kSide), all);
    const auto n_tiles = static_cast<std::int64_t>(tiles.size());
    Buffer<double> scratch(run.n_threads() * kSide * kSide);
    add_groups(n_tiles, sums, run, [&](std::int64_t group, std::int64_t n_groups, int slot, double* to) {
        const auto add_lines = [&](const std::vector<Block>& blocks, const Numbers& weights) {
            const auto [first, last] = share(group, n_groups, static_cast<std::int64_t>(blocks.size()));
            for (std::int64_t b = first; b < last; ++b) add_weighted(blocks[at(b)], &weights[at(b * kSide)], to);
        };
        if (!all) add_lines(left, of_rows);
        add_lines(blocks_, of_columns);

        double* const weights = scratch.data() + slot * kSide * kSide;
        const auto [first, last] = share(group, n_groups, n_tiles);
        for (std::int64_t tile = first; tile < last; ++tile) {
            run.checkpoint();
            const auto [i, j] = tiles[at(tile)];
            const Block &a = left[at(i)], &b = blocks_[at(j)];
            const bool diagonal = all && i == j;
            const double* const from = g + i * kSide * ld + j * kSide;
            const double* const mirrored = g + j * kSide * ld + i * kSide;
            for (std::int64_t r = 0; r < a.n_samples; ++r) {
                const std::int64_t none = diagonal ? r + 1 : 0;
                std::fill_n(weights + r * kSide, none, 0.0);
                for (std::int64_t c = none; c < b.n_samples; ++c) {
                    weights[r * kSide + c] = from[r * ld + c] + (all ? mirrored[c * ld + r] : 0.0);
                }
            }
            for_shared_parts(a, b, run, [&](std::int64_t k, const Entries& x, const Entries& y) {
                double sum[kLanes] = {};
                for_minima(x, y, diagonal, weights,
                           [&](int lane, double weight, double least) { sum[lane] += weight * least; });
                to[k / 2] -= 2 * ((sum[0] + sum[1]) + (sum[2] + sum[3]));
            });
        }
    });
}

// Adds g |x_i - x_j| of each listed pair to sums, pair by pair: |x| by samples, less twice the minima of shared parts.
void SparseFeatures::feature_sums(const std::vector<WeightedPair>& pairs, double* sums, Run& run) const {
    if (n_features_ == 0 || pairs.empty()) return;
    run.require_memory(scratch_memory(n_features_, run.n_threads()) + groups_memory(n_features_) + 8 * n_samples(),
                       "adding up pairs of samples");
    Numbers of_samples = numbers(n_samples());
    for (const auto& [i, j, g] : pairs) {
        of_samples[at(i)] += g;
        of_samples[at(j)] += g;
    }
    Buffer<double> scratch(2 * n_features_ * run.n_threads());  // two samples per thread: zeros but for values
    std::fill_n(scratch.data(), scratch.size(), 0.0);
    const auto n_pairs = static_cast<std::int64_t>(pairs.size());
    add_groups(n_pairs, sums, run, [&](std::int64_t group, std::int64_t n_groups, int slot, double* to) {
        const auto [first_block, last_block] = share(group, n_groups, static_cast<std::int64_t>(blocks_.size()));
        for (std::int64_t b = first_block; b < last_block; ++b) {
            add_weighted(blocks_[at(b)], &of_samples[at(b * kSide)], to);
        }
        double* const values = scratch.data() + slot * 2 * n_features_;
        const auto for_entries = [&](std::int64_t r, auto&& f) {
            for (std::int64_t e = begins_[at(r)]; e < ends_[at(r)]; ++e) f(parts_[e], values_[e]);
        };
        const auto [first, last] = share(group, n_groups, n_pairs);
        std::int64_t since = 0;
        for (std::int64_t p = first; p < last; ++p) {
            const auto [i, j, g] = pairs[at(p)];
            if (p == first || pairs[at(p - 1)].i != i) {
                for_entries(i, [&](std::int32_t part, double x) { values[part] = x; });
            }
            for_entries(j, [&, twice = 2 * g](std::int32_t part, double y) {
                to[part / 2] -= twice * std::min(values[part], y);
            });
            if (p + 1 == last || pairs[at(p + 1)].i != i) {
                for_entries(i, [&](std::int32_t part, double) { values[part] = 0; });
            }
            if ((since += ends_[at(j)] - begins_[at(j)]) > kPerCheckpoint) {
                run.checkpoint();
                since = 0;
            }
        }
    });
}

// ---- dense columns -------------------------------------------------------------------------------------------------

DensitySplit split_by_density(const Matrix& X, const std::vector<std::int64_t>& features, Run& run) {
    return split_by_density(stored_by_column(X, run), X.n_rows(), features);
}

// Returns the number of stored entries of each column of a sparse X.
Numbers stored_by_column(const Matrix& X, Run& run) {
    Numbers counts = numbers(X.n_cols());
    visit_sparse(X.description(), [&](auto*, auto* indptr, auto* indices) {
        if (!X.is_csr()) {
            for (std::int64_t c = 0; c < X.n_cols(); ++c)
                counts[at(c)] = static_cast<double>(indptr[c + 1] - indptr[c]);
            return;
        }
        for (std::int64_t e = 0; e < X.n_stored(); ++e) {
            if (e % kPerCheckpoint == 0) run.checkpoint();
            ++counts[at(indices[e])];
        }
    });
    return counts;
}

// Puts features with entries in more than a quarter of the rows into `dense`, all others into `sparse`, in their order.
DensitySplit split_by_density(const Numbers& n_stored, std::int64_t n_rows, const std::vector<std::int64_t>& features) {
    // Share of nonzeros at which sparse and dense sums take equal times, on Zen 4 with 1500 x 4000 values: 0.27
    // (AVX-512, float), 0.29 (AVX2, float) and 0.4 (double).
    constexpr double kDense = 0.25;
    DensitySplit split;
    for (const auto c : features) {
        (n_stored[at(c)] > kDense * static_cast<double>(n_rows) ? split.dense : split.sparse).push_back(c);
    }
    return split;
}

// Fills `to` with zeros, and adds the entries of the listed columns, row by row or column by column.
template <class T>
void gather_columns(const Matrix& X, const std::vector<std::int64_t>& columns, T* to, Run& run) {
    const auto width = static_cast<std::int64_t>(columns.size());
    visit_sparse(X.description(), [&](auto* values, auto* indptr, auto* indices) {
        if (X.is_csr()) {
            const auto numbers = numbers_of(columns, X.n_cols());
            parallel_for(run, ceil_div(X.n_rows(), kSide), [&](std::int64_t task, int) {
                for (std::int64_t r = task * kSide; r < std::min((task + 1) * kSide, X.n_rows()); ++r) {
                    std::fill_n(to + r * width, width, T(0));
                    for (std::int64_t e = indptr[r]; e < indptr[r + 1]; ++e) {
                        const std::int64_t k = numbers[at(indices[e])];
                        if (k >= 0) to[r * width + k] += static_cast<T>(values[e]);
                    }
                }
            });
            return;
        }
        constexpr std::int64_t kColumns = 64;  // some cache lines of a row
        parallel_for(run, ceil_div(width, kColumns), [&](std::int64_t task, int) {
            const std::int64_t first = task * kColumns, last = std::min(first + kColumns, width);
            for (std::int64_t r = 0; r < X.n_rows(); ++r)
                std::fill(to + r * width + first, to + r * width + last, T(0));
            for (std::int64_t k = first; k < last; ++k) {
                const std::int64_t c = columns[at(k)];
                for (std::int64_t e = indptr[c]; e < indptr[c + 1]; ++e) {
                    to[indices[e] * width + k] += static_cast<T>(values[e]);
                }
            }
        });
    });
}

template void gather_columns<float>(const Matrix&, const std::vector<std::int64_t>&, float*, Run&);
template void gather_columns<double>(const Matrix&, const std::vector<std::int64_t>&, double*, Run&);

}  // namespace fastfs::core
