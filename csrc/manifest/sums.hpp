// ManiFeSt from sums over blocks of rows, in one pass: for tables larger than memory.
#pragma once

#include <cstdint>
#include <vector>

#include "fastfs/fastfs.h"
#include "manifest/problem.hpp"
#include "support/buffer.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Of each group of rows: how many there are, the sums and the squared norms of the features, and the products of all
// features with some, the landmarks; in the exact form these are all features. Distances follow from norms and
// products, and rows of a class from those of its groups, so one pass serves any comparison of groups.
//
// In the low-rank form, whose landmarks are drawn before the pass and therefore evenly, a feature is what the landmarks
// explain of it, and a component of its own that none shares. All distances from landmarks are then those of the data.
class ManifestSums {
  public:
    // How a fit would go: exact or fast. Throws if the sums can't serve what is asked for.
    static fastfs_manifest_plan plan(std::int64_t n_features, std::int64_t n_groups, std::int64_t n_classes,
                                     const fastfs_manifest_options& options, std::int64_t n_scales,
                                     std::int64_t n_components, const Run& run);

    // options.accuracy is that of the plan.
    ManifestSums(std::int64_t n_features, std::int64_t n_groups, const fastfs_manifest_options& options);

    static std::int64_t memory(std::int64_t n_features, std::int64_t n_groups, const fastfs_manifest_options& options);

    std::int64_t n_features() const { return d_; }
    std::int64_t n_groups() const { return n_groups_; }
    bool same_form(const ManifestSums& other) const {
        return d_ == other.d_ && n_groups_ == other.n_groups_ && exact_ == other.exact_ &&
               landmarks_ == other.landmarks_;
    }

    // Adds dense or CSR rows, with the group of each. What is refused leaves the sums as they were; after the values
    // have been found finite, it isn't to be stopped.
    void update(const Matrix& X, const std::int64_t* groups, Run& run);
    void merge(const ManifestSums& other);

    void counts(double* to) const;  // rows of each group
    void means(double* to) const;   // of each feature in each group; 0 for a group without rows

    // As plain numbers.
    std::int64_t size() const { return numbers_.size(); }
    void save(double* numbers) const;
    void load(const double* numbers);

    // labels: the class of each group, or -1. Each class has rows.
    void fit(const std::int64_t* labels, std::int64_t n_classes, const fastfs_manifest_options& options,
             const std::vector<fastfs_manifest_scale>& scales, Run& run,
             const std::vector<fastfs_manifest_result>& results) const;

  private:
    struct Total;
    std::int64_t n_landmarks() const { return static_cast<std::int64_t>(landmarks_.size()); }
    std::int64_t group_size() const { return 1 + d_ * (2 + n_landmarks()); }
    double* group(std::int64_t g) { return numbers_.data() + g * group_size(); }
    const double* group(std::int64_t g) const { return numbers_.data() + g * group_size(); }
    // n_landmarks x d, row-major; of the exact form an upper triangle.
    double* products(std::int64_t g) { return group(g) + 1 + 2 * d_; }

    void add_dense(const Matrix& X, const std::int64_t* groups, const std::vector<std::int64_t>& order, Run& run);
    void add_sparse(const Matrix& X, const std::int64_t* groups, const std::vector<std::int64_t>& order, Run& run);
    template <class V, class P, class I>
    void add_entries(const V* values, const P* indptr, const I* indices, const std::int64_t* groups,
                     const std::vector<std::int64_t>& order, Run& run);
    Total total(const Side& side) const;
    Features<double> features_of(const Side& side, Run& run, std::int32_t& warnings) const;

    std::int64_t d_, n_groups_;
    bool exact_;
    std::vector<std::int64_t> landmarks_;  // ascending
    std::vector<std::int32_t> place_;      // of each feature among them, or -1
    Buffer<double> numbers_;               // of each group: count, sums, norms, products
};

}  // namespace fastfs::core
