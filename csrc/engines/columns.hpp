// The columns of (some rows of) X, laid out for Gram tiles. All feature-space methods read this copy instead of X.
#pragma once

#include <cstdint>
#include <memory>
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
    // subtract the value that nearly all of a row share, which keeps distances and avoids their cancellation. Dense
    // rows only.
    kRow
};

// Returns the offset that nearly all of the first n values of a row share, times per_unit; 0 if they share none.
template <class T>
double shared_offset(const Values<T>& values, std::int64_t row, std::int64_t n, double per_unit);

// Returns row maxima from which the unit of distances between features is taken: a dense row of one value changes no
// distance, however large the value is, so it counts only by as much as keeps its values finite in the unit.
std::vector<double> maxima_of_differences(const Samples& X, Run& run);

// Returns the power of two near the largest |x| of the listed rows, given row_maxima of all rows; 1 if all x are zero.
double common_unit(const std::vector<double>& row_maxima, const std::vector<std::int64_t>& rows);

class PairProducts;

// A copy of the columns of X. Feature i is z_i = (x_i - row shifts) / unit, with unit a power of two near the largest
// |x|: squares neither overflow nor vanish at any scale of the data, and no bit changes. Dense data are stored in
// panels (isa/tiles.hpp); sparse data by column, and a second time by blocks of kTile columns, row after row, for the
// outer products of a tile.
template <class T>
class Features {
  public:
    Features() = default;

    // Copies the listed rows of X, ascending, divided by the unit and less their shifts. unit: the common_unit of
    // `rows` or of more rows.
    Features(const Samples& X, const std::vector<std::int64_t>& rows, double unit, Shift shift, Run& run);

    // Copies the listed features of `all`, in the order of `columns`, with the unit and row shifts of `all`.
    template <class From>
    Features(const Features<From>& all, const std::vector<std::int64_t>& columns, Run& run);

    // Makes features from the products of all pairs alone: they have Gram tiles, norms and distances, but
    // neither samples nor values.
    explicit Features(std::shared_ptr<const PairProducts> products);

    // Returns the bytes that an object takes, with the temporary memory of its construction.
    static std::int64_t memory(const Samples& X, std::int64_t n_rows);

    std::int64_t n_features() const { return n_features_; }
    std::int64_t n_samples() const { return n_samples_; }
    double unit() const { return unit_; }
    const T* squared_norms() const { return squared_norms_.data(); }
    T largest_squared_norm() const { return largest_squared_norm_; }
    T largest_value() const;                                               // of dense data, in magnitude
    const std::vector<double>& row_shifts() const { return row_shifts_; }  // in units of x, zeros without

    // Extends each dense feature by a component that no other feature shares. Its square is given in units of x. The
    // effect is one more row of X per feature, with one nonzero value. The squared norms grow by `squares`.
    void add_own(const std::vector<double>& squares);
    // Returns the values of a dense feature, one per sample, kPanel<T> apart.
    const T* feature(std::int64_t i) const { return &dense_[i / kPanel<T> * panel_stride() + i % kPanel<T>]; }

    // Adds |x_i|^2 / unit()^2 to norms[i], for the columns before their shifts.
    void add_original_norms(double* norms, Run& run) const;

    // Returns the number that must divide the first row and column of a tile.
    std::int64_t alignment() const { return sparse_ ? kTile : kPanel<T>; }

    // Computes tile[a * kTile + b] = z_(i0 + a)' y_(j0 + b) for a < ni, b < nj. y are the features of `right`: this
    // object, or an object with equal samples and unit. i0 and j0 are multiples of alignment(). No other entry of the
    // tile is written.
    void gram_tile(std::int64_t i0, std::int64_t ni, const Features& right, std::int64_t j0, std::int64_t nj, T* tile,
                   Run& run) const;

    // Returns |z_i - y_j|^2 by differences, which is right even if a Gram has lost its digits.
    T squared_distance(std::int64_t i, const Features& right, std::int64_t j) const;

    // Returns a number for each feature; features with equal values share the number.
    std::vector<std::uint64_t> hashes(Run& run) const;

    // Sets errors to rounding bounds: errors[i] + errors[j] bounds the rounding error of twice the product of i and j
    // for any order of summation.
    void product_errors(double* errors) const;

    // Sets sums[i] to sum_n a_n z_ni for all features i.
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
    void set_norms_of_products();
    // Returns the product of the components that add_own gave to features i and j of `right`: nonzero only if i and j
    // are one feature.
    double own_product(std::int64_t i, const Features& right, std::int64_t j) const {
        return names_[at(i)] == right.names_[at(j)] ? own_[at(i)] : 0;
    }

    std::int64_t n_features_ = 0, n_samples_ = 0;
    bool sparse_ = false;
    double unit_ = 1;
    std::vector<double> row_shifts_;
    Buffer<T> squared_norms_;
    T largest_squared_norm_ = 0;
    std::vector<double> own_;  // squares from add_own, in units of unit_^2, or empty
    std::shared_ptr<const PairProducts> products_;
    std::vector<std::int64_t> names_;  // with own_ or products_: numbers of these features in the first object
    std::int64_t panel_stride() const { return n_samples_ * kPanel<T>; }
    Buffer<T> dense_;  // panels of n_samples x kPanel; zeros where the last one has no features

    Buffer<T> column_values_, block_values_;
    Buffer<std::int64_t> column_rows_, column_begins_;
    Buffer<std::uint8_t> block_columns_;          // within the block
    std::vector<std::vector<Segment>> segments_;  // per block, with one more at its end
};

}  // namespace fastfs::core
