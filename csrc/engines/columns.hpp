// The columns of (some rows of) X, laid out for Gram tiles: what all feature-space methods read instead of X.
#pragma once

#include <cstdint>
#include <vector>

#include "engines/isa/tiles.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/matrix.hpp"

namespace fastfs::core {

// Features per side of a tile, a multiple of kPanel. 192 x 192 doubles are 0.3 MB and fit an L2 cache of 512 KiB too.
// On Zen 4 (1 MiB) 240 was 1 to 2 % faster, 96 3 % slower for dense data and 12 % for sparse ones.
constexpr std::int64_t kTile = 192;

enum class Shift {
    kNone,
    kRow  // subtract what nearly all values of a row share: distances stay, their cancellation goes. Dense rows only.
};

// The offset that nearly all of the first n values of a row share, times per_unit, or 0.
template <class T>
double shared_offset(const Values<T>& values, std::int64_t row, std::int64_t n, double per_unit);

// Samples::row_maxima for the unit of distances between features: a dense row of one value changes none, however large
// it is, so it counts by no more than keeps its values finite in the unit.
std::vector<double> maxima_of_differences(const Samples& X, Run& run);

// The power of two near the largest |x| of these rows; row_maxima: as above.
double common_unit(const std::vector<double>& row_maxima, const std::vector<std::int64_t>& rows);

// Feature i is z_i = (x_i - row shifts) / unit, with unit a power of two near the largest |x|: squares neither overflow
// nor vanish at any scale of the data, and no bit changes. Dense data are stored in panels (isa/tiles.hpp); sparse ones
// by column, and a second time by blocks of kTile columns, row after row, for the outer products of a tile.
template <class T>
class Features {
  public:
    Features() = default;

    // rows: which rows of X, ascending; unit: as of common_unit, of these rows or more.
    Features(const Samples& X, const std::vector<std::int64_t>& rows, double unit, Shift shift, Run& run);

    // Some features of `all`, in the given order, with the same unit and row shifts.
    template <class From>
    Features(const Features<From>& all, const std::vector<std::int64_t>& columns, Run& run);

    // Bytes that such an object takes, and the passing needs of its construction.
    static std::int64_t memory(const Samples& X, std::int64_t n_rows);

    std::int64_t n_features() const { return n_features_; }
    std::int64_t n_samples() const { return n_samples_; }
    double unit() const { return unit_; }
    const T* squared_norms() const { return squared_norms_.data(); }
    T largest_squared_norm() const { return largest_squared_norm_; }
    T largest_value() const;                                               // of dense data, in magnitude
    const std::vector<double>& row_shifts() const { return row_shifts_; }  // in units of x, zeros without

    // Gives each dense feature another component, of this square in units of x, that no other one shares: as many rows
    // of X would, with one value each.
    void add_own(const std::vector<double>& squares);
    // The values of a dense feature, one for each sample, kPanel<T> apart.
    const T* feature(std::int64_t i) const { return &dense_[i / kPanel<T> * panel_stride() + i % kPanel<T>]; }

    // norms[i] += |x_i|^2 / unit()^2, of the columns as they were before the shifts.
    void add_original_norms(double* norms, Run& run) const;

    // Where the rows and columns of a tile may start.
    std::int64_t alignment() const { return sparse_ ? kTile : kPanel<T>; }

    // tile[a * kTile + b] = z_(i0 + a)' y_(j0 + b) for a < ni, b < nj, y the features of `right`: these ones, or others
    // of the same samples in the same unit. i0 and j0 are multiples of alignment(). Nothing else of the
    // tile is written to.
    void gram_tile(std::int64_t i0, std::int64_t ni, const Features& right, std::int64_t j0, std::int64_t nj, T* tile,
                   Run& run) const;

    // |z_i - y_j|^2 by differences: right where a Gram has lost its digits.
    T squared_distance(std::int64_t i, const Features& right, std::int64_t j) const;

    // A number for each feature, which features of equal values share.
    std::vector<std::uint64_t> hashes(Run& run) const;

    // errors[i] + errors[j] bounds what rounding does to twice the product of i and j, in whatever order it is summed.
    void product_errors(double* errors) const;

    // sum_n a_n z_ni for all features i.
    void weighted_sums(const double* a, double* sums, Run& run) const;

  private:
    template <class>
    friend class Features;

    struct Segment {  // the entries of one row within one block of columns
        std::int64_t row, begin;
    };

    void pack_dense(const Samples& X, const std::vector<std::int64_t>& rows, Run& run);
    void pack_sparse(const Samples& X, const std::vector<std::int64_t>& rows, Run& run);
    void copy_sparse(const auto& all, const std::vector<std::int64_t>& columns);
    void sum_squares(Run& run);
    // What features i and j of `right` have in common of their own: all, if they are the same one.
    double own_product(std::int64_t i, const Features& right, std::int64_t j) const {
        return names_[at(i)] == right.names_[at(j)] ? own_[at(i)] : 0;
    }

    std::int64_t n_features_ = 0, n_samples_ = 0;
    bool sparse_ = false;
    double unit_ = 1;
    std::vector<double> row_shifts_;
    Buffer<T> squared_norms_;
    T largest_squared_norm_ = 0;
    std::vector<double> own_;          // of add_own, in units of unit_^2, or empty
    std::vector<std::int64_t> names_;  // then: which features of the first object these are
    std::int64_t panel_stride() const { return n_samples_ * kPanel<T>; }
    Buffer<T> dense_;  // panels of n_samples x kPanel; zeros where the last one has no features

    Buffer<T> column_values_, block_values_;
    Buffer<std::int64_t> column_rows_, column_begins_;
    Buffer<std::uint8_t> block_columns_;          // within the block
    std::vector<std::vector<Segment>> segments_;  // per block, with one more at its end
};

}  // namespace fastfs::core
