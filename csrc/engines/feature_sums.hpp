// Engine: sums over groups of rows that come in blocks. Distances between features follow from them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "fastfs/fastfs.h"
#include "support/buffer.hpp"
#include "support/bytes.hpp"
#include "support/csr.hpp"
#include "support/errors.hpp"
#include "support/fingerprint.hpp"
#include "support/index.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// The places of the pairs i <= j of d features in an array: in panels of kColumns features, each with the features up
// to its last one, row by row.
struct PairPanels {
    static constexpr std::int64_t kColumns = 256;

    static std::int64_t begin(std::int64_t j) {  // of the panel of feature j
        const std::int64_t t = j / kColumns;
        return kColumns * kColumns * (t * (t + 1) / 2);
    }
    static std::int64_t width(std::int64_t j, std::int64_t d) {
        return std::min(kColumns, d - j / kColumns * kColumns);
    }
    static std::int64_t pair_place(std::int64_t i, std::int64_t j, std::int64_t d) {
        return begin(j) + i * width(j, d) + j % kColumns;
    }
    static std::int64_t size(std::int64_t d) { return begin(d - 1) + d * width(d - 1, d); }
};

// Sums over rows from which distances between features follow.
struct RowTotals {
    double n_rows = 0, offsets = 0;  // offsets of all rows, added up
    std::vector<double> sums, norms;

    // Returns the squared distance of two features, at least 0, from their product. Sets `lost` to 1 if the distance
    // has hardly a digit left, and otherwise leaves it alone; equal columns have distance 0.
    double distance(std::int64_t i, std::int64_t j, double product, std::uint8_t& lost) const;
};

// The products of all pairs of features, summed over rows.
class PairProducts {
  public:
    // Owns the panels, or refers to panels that must outlive this object.
    PairProducts(RowTotals totals, Buffer<double> panels)
        : totals_(std::move(totals)), taken_(std::move(panels)), panels_(taken_.data()) {}
    PairProducts(RowTotals totals, const double* panels) : totals_(std::move(totals)), panels_(panels) {}

    static std::int64_t memory(std::int64_t d) { return 8 * (2 * d + PairPanels::size(d)); }

    std::int64_t n_features() const { return std::ssize(totals_.norms); }
    const RowTotals& totals() const { return totals_; }
    double product(std::int64_t i, std::int64_t j) const {
        return panels_[PairPanels::pair_place(std::min(i, j), std::max(i, j), n_features())];
    }
    double squared_distance(std::int64_t i, std::int64_t j) const {
        std::uint8_t lost = 0;
        return totals_.distance(i, j, product(i, j), lost);
    }
    // Tests if the distance of any two features has hardly a digit left.
    bool has_lost_digits(Run& run) const;

  private:
    RowTotals totals_;
    Buffer<double> taken_;
    const double* panels_;
};

// Sums for each group of rows: the number of rows, the sums and squared norms of the features, and the products of all
// features with selected features, the landmarks. Distances follow from norms and products, and the sums of a union of
// groups are the sums over its groups, so one pass serves any comparison of groups. From dense rows, the offset that
// their values share is subtracted first, which changes no distance and saves digits. Sums are in double, since users
// divide by small differences of the products.
class FeatureSums {
  public:
    // landmarks: ascending.
    FeatureSums(std::int64_t n_features, std::int64_t n_groups, std::vector<std::int64_t> landmarks)
        : FeatureSums(n_features, n_groups, std::move(landmarks), false) {}
    // Makes sums with the products of all pairs of features.
    FeatureSums(std::int64_t n_features, std::int64_t n_groups)
        : FeatureSums(n_features, n_groups, up_to(n_features), true) {}
    FeatureSums(const FeatureSums& other);
    FeatureSums(FeatureSums&&) = default;
    FeatureSums& operator=(FeatureSums&&) = default;

    static std::int64_t memory(std::int64_t n_features, std::int64_t n_groups, std::int64_t n_landmarks) {
        return 8 * n_groups * (2 + n_features * (2 + n_landmarks));
    }
    static std::int64_t memory_of_all(std::int64_t n_features, std::int64_t n_groups) {
        return 8 * n_groups * (2 + 2 * n_features + PairPanels::size(n_features));
    }

    std::int64_t n_features() const { return d_; }
    std::int64_t n_groups() const { return n_groups_; }
    const std::vector<std::int64_t>& landmarks() const { return landmarks_; }
    bool is_whole() const { return is_whole_; }
    // Returns a hash of the sizes and landmarks, which must agree if sums are merged.
    std::uint64_t fingerprint() const {
        return Fingerprint().hash(d_).hash(n_groups_).hash(landmarks_).hash(is_whole_).value();
    }

    // Returns the bytes of scratch that an update takes.
    std::int64_t update_memory(const Matrix& X, int n_threads) const;
    // Adds dense or CSR rows; `groups` has the group of each row. A refused block leaves the sums unchanged. Ignores a
    // cancel once the values are known to be finite, unless `stoppable`: then a cancel leaves partial sums, which the
    // caller must throw away.
    void update(const Matrix& X, const std::int64_t* groups, Run& run, bool stoppable = false);
    // Adds the sums of `other`, which must have an equal fingerprint.
    void merge(const FeatureSums& other);
    std::int64_t n_rows() const;  // of all groups

    // Write the number of rows of each group, and the means (n_groups x n_features, row-major; 0 for a group without
    // rows).
    void counts(double* to) const;
    void means(double* to) const;

    std::int64_t size() const { return numbers_.size(); }  // of the state, in numbers
    // Writes the sums.
    void save_state(ByteWriter& to) const { to.put(numbers_.data(), numbers_.size()); }
    // Returns saved sums with an equal fingerprint, after checking that they are finite and their counts possible;
    // leaves this object unchanged. set_numbers then replaces the sums of this object by them.
    Buffer<double> read_numbers(ByteReader& from) const;
    void set_numbers(Buffer<double> numbers) { numbers_ = std::move(numbers); }

    // The sums over several groups.
    struct Total : RowTotals {
        Buffer<double> products;  // n_landmarks x d, row-major; of all pairs an upper triangle

        // Replaces the products of all pairs (an upper triangle) by squared distances; returns true if some have lost
        // their digits.
        bool make_distances(Run& run);
    };
    // Returns the sums over all listed groups, with their products; throws if they have no rows, overflow or underflow.
    // `name` stands for the groups in errors.
    Total total(const std::vector<std::int64_t>& groups, const Name& name) const;
    // Returns the products of all pairs over the listed groups; the sums must have them. Products of a single group
    // stay in this object.
    PairProducts pair_products(const std::vector<std::int64_t>& groups, const Name& name) const;

  private:
    FeatureSums(std::int64_t n_features, std::int64_t n_groups, std::vector<std::int64_t> landmarks, bool is_whole);
    std::int64_t n_landmarks() const { return static_cast<std::int64_t>(landmarks_.size()); }
    std::int64_t group_size() const { return 2 + 2 * d_ + (is_whole_ ? PairPanels::size(d_) : d_ * n_landmarks()); }
    double* group(std::int64_t g) { return numbers_.data() + g * group_size(); }
    const double* group(std::int64_t g) const { return numbers_.data() + g * group_size(); }
    double* sums(std::int64_t g) { return group(g) + 2; }
    double* products(std::int64_t g) { return sums(g) + 2 * d_; }

    // Returns the sums over all listed groups except for the products; throws if they have no rows, overflow or
    // underflow.
    RowTotals row_totals(const std::vector<std::int64_t>& groups, const Name& name) const;
    const double* products(std::int64_t g) const { return group(g) + 2 + 2 * d_; }

    void add_dense(const Matrix& X, const std::int64_t* groups, const std::vector<std::int64_t>& order, Run& run);
    void add_sparse(const Matrix& X, const std::int64_t* groups, const std::vector<std::int64_t>& order, Run& run);

    std::int64_t d_, n_groups_;
    std::vector<std::int64_t> landmarks_;
    bool is_whole_;
    std::vector<std::int32_t> place_;  // place of each feature among the landmarks, or -1
    Buffer<double> numbers_;  // of each group: count, offsets, sums, norms, products (n_landmarks x d, or PairPanels)
};

// Returns the numbers of the rows, 0..n_rows - 1, sorted by their group; ascending within each group.
std::vector<std::int64_t> by_group(const std::int64_t* groups, std::int64_t n_rows, std::int64_t n_groups);

// Returns the offset that the values of each row share; 0 for sparse rows, because an offset would fill their zeros.
Numbers row_offsets(const Matrix& X, Run& run);

// Calls f(values, indptr, indices) with the rows of a CSR matrix, after sorting and adding up entries if needed: the
// columns of a row ascend and have one entry each.
template <class F>
void with_ascending_columns(const Matrix& X, F&& f) {
    visit_sparse(X.description(), [&](auto* values, auto* indptr, auto* indices) {
        using V = std::remove_cv_t<std::remove_reference_t<decltype(*values)>>;
        bool ascending = true;
        for (std::int64_t r = 0; r < X.n_rows() && ascending; ++r) {
            ascending = ascends(indices + indptr[r], indptr[r + 1] - indptr[r]);
        }
        if (ascending) return f(values, indptr, indices);
        SparseLine<V> line;
        std::vector<V> own_values;
        std::vector<std::int64_t> own_indices, begins{0};
        for (std::int64_t r = 0; r < X.n_rows(); ++r) {
            const auto count = static_cast<std::int64_t>(indptr[r + 1] - indptr[r]);
            line.visit(indices + indptr[r], values + indptr[r], count, [&](auto* index, auto* value, std::int64_t n) {
                own_indices.insert(own_indices.end(), index, index + n);
                own_values.insert(own_values.end(), value, value + n);
            });
            begins.push_back(static_cast<std::int64_t>(own_values.size()));
        }
        f(static_cast<const V*>(own_values.data()), static_cast<const std::int64_t*>(begins.data()),
          static_cast<const std::int64_t*>(own_indices.data()));
    });
}

}  // namespace fastfs::core
