// Engine: all pairs of samples of a sparse matrix, by sums of |differences|, without a dense copy. The cost of a
// feature is quadratic in its nonzeros, not in the samples.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engines/sample_pairs.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Selected columns of a sparse matrix, each times its factor, without a shift: zeros stay zeros. Sums are in double for
// float32, too. X is finite, and can be destroyed after the construction.
//
// |x - y| = |x| + |y| - 2 min(|x|, |y|) if both signs agree, and |x| + |y| otherwise. So the positive values of a
// feature are one part and the magnitudes of the negative ones another: pairs need only the minima within the parts. A
// distance has the rounding error of the sums of |x| and |y|, but is never negative, is exactly 0 between equal
// samples, and has equal bits in both directions.
class SparseFeatures {
  public:
    // Samples per side of a block of pairs: 0.3 MB of doubles, which fit an L2 cache of 512 KiB. On Zen 4 (1 MiB), with
    // 5,000 x 20,000 values and 5 % of them nonzero, 128 took 1.25 times as long and 256 0.97 times.
    static constexpr std::int64_t kSide = 192;

    SparseFeatures(const Matrix& X, const std::vector<std::int64_t>& features, const std::vector<double>& factor,
                   Run& run);

    std::int64_t n_samples() const { return static_cast<std::int64_t>(ends_.size()); }
    std::int64_t n_features() const { return n_features_; }

    // Adds to out[(t - t0) * ld + j] the sum over features of |x_nk - x_jk|, n = rows[t], for t0 <= t < t1 and all
    // samples j. If rows t0..t1 - 1 are all samples in order, each pair is computed once and added to both places.
    void pair_sums(const std::vector<std::int64_t>& rows, std::int64_t t0, std::int64_t t1, double* out,
                   std::int64_t ld, Run& run) const;

    // Adds to out[(t - t0) * ld + j] the distance between sample t of `others`, which has equal features, and sample j;
    // t0 is a multiple of kSide.
    void pair_sums(const SparseFeatures& others, std::int64_t t0, std::int64_t t1, double* out, std::int64_t ld,
                   Run& run) const;

    // Adds to sums[k] the sum over t and j of g[(t - t0) * ld + j] |x_nk - x_jk|. The diagonal of g isn't read if the
    // rows are all samples in order.
    void feature_sums(const std::vector<std::int64_t>& rows, std::int64_t t0, std::int64_t t1, const double* g,
                      std::int64_t ld, double* sums, Run& run) const;

    // Adds to sums[k] the sum over listed pairs of g |x_ik - x_jk|. Pairs with equal i should be adjacent.
    void feature_sums(const std::vector<WeightedPair>& pairs, double* sums, Run& run) const;

    // Returns the bytes of an object during its construction, and of its largest call in addition. other_rows: calls
    // can ask for rows other than all samples in order.
    static std::int64_t memory(const Matrix& X, std::int64_t n_features, int n_threads);
    static std::int64_t sums_memory(const Matrix& X, std::int64_t n_features, bool other_rows, int n_threads);

  private:
    // The entries of one part of a feature in a block: part 2k of positive values of feature k, 2k + 1 of negative
    // ones.
    struct Segment {
        std::int64_t part, begin;
    };
    // A block of up to kSide samples, stored part after part, and within a part by sample.
    struct Block {
        std::int64_t n_samples, n_segments;
        Buffer<Segment> segments;  // with an extra segment at the end
        Buffer<std::uint8_t> samples;
        Buffer<double> values;             // magnitudes
        std::array<double, kSide> totals;  // of the values of each sample, added in their order
    };

    void read_rows(const Matrix& X, const std::vector<std::int64_t>& features, const std::vector<double>& factor,
                   Run& run);
    void read_columns(const Matrix& X, const std::vector<std::int64_t>& features, const std::vector<double>& factor,
                      Run& run);
    void start_rows(std::vector<std::int64_t> counts);
    void append_entry(std::int64_t row, std::int64_t feature, double value);

    std::vector<Block> make_blocks(const std::int64_t* rows, std::int64_t n, Run& run) const;
    Block make_block(const std::int64_t* rows, std::int64_t n, std::int64_t* begins) const;
    bool are_all(const std::vector<std::int64_t>& rows, std::int64_t t0, std::int64_t t1) const;
    std::vector<Block> other_blocks(const std::vector<std::int64_t>& rows, std::int64_t t0, std::int64_t t1,
                                    Run& run) const;

    // Adds to out (rows ld apart) the sums of absolute differences between the samples of n_left blocks `left`, one row
    // each, and all samples. same: `left` are all blocks; each pair is then computed once and written on both sides.
    void add_distances(const Block* left, std::int64_t n_left, bool same, double* out, std::int64_t ld, Run& run) const;

    template <class F>
    static void for_shared_parts(const Block& left, const Block& right, Run& run, F&& f);
    static void add_weighted(const Block& block, const double* weights, double* sums);
    template <class F>
    void add_groups(std::int64_t n_tasks, double* sums, Run& run, F&& f) const;

    std::int64_t n_features_;
    // Entries row by row, in any order within a row: entries begins_[r] .. ends_[r] - 1.
    std::vector<std::int64_t> begins_, ends_;
    Buffer<std::int32_t> parts_;
    Buffer<double> values_;
    std::vector<Block> blocks_;  // of all samples
};

// A split of the features of a sparse X: features in `dense` have many nonzeros and are cheaper in dense tiles.
struct DensitySplit {
    std::vector<std::int64_t> sparse, dense;
};
DensitySplit split_by_density(const Matrix& X, const std::vector<std::int64_t>& features, Run& run);
// Returns the features split into dense and sparse ones by the number of stored entries per column, which adds up over
// blocks of rows.
DensitySplit split_by_density(const Numbers& n_stored, std::int64_t n_rows, const std::vector<std::int64_t>& features);
Numbers stored_by_column(const Matrix& X, Run& run);

// Overwrites `to` (n_rows x columns.size(), row-major) with the listed columns of a sparse matrix; entries at one place
// add up.
template <class T>
void gather_columns(const Matrix& X, const std::vector<std::int64_t>& columns, T* to, Run& run);

}  // namespace fastfs::core
