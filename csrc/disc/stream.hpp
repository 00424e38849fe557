// DiSC of more rows than memory holds: collects from blocks of rows the sums and sketches from which graphs are made.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "disc/graph.hpp"
#include "engines/feature_sums.hpp"
#include "fastfs/fastfs.h"
#include "support/buffer.hpp"
#include "support/bytes.hpp"
#include "support/index.hpp"
#include "support/intact.hpp"
#include "support/kept_rows.hpp"
#include "support/matrix.hpp"
#include "support/row_set.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Up to FASTFS_DISC_MOST_SUMS features, one pass sums the products of all pairs. With more features, groups of up to
// kBuckets rows are stored row by row. The first pass makes a sketch of each larger group: each row is added, with
// random signs, to 4 of kBuckets buckets, so that products of columns of buckets estimate products of features. The
// nearest features by the estimates are candidates, and the second pass computes their products exactly.
//
// Signs and buckets come from the seed and the number of a row, so neither the blocks nor the order of merging matter,
// except for rounding.
class DiscStream {
  public:
    static constexpr std::int64_t kBuckets = 256;

    // Makes the plan of both passes; no rows are read yet. labels: the group of each row.
    DiscStream(std::int64_t n_rows, std::int64_t n_cols, const std::int64_t* labels, std::int64_t n_groups,
               const fastfs_disc_options& options);
    // Returns the bytes of the first pass.
    static std::int64_t memory(std::int64_t n_rows, std::int64_t n_cols, const std::int64_t* labels,
                               std::int64_t n_groups);

    std::int64_t n_cols() const { return plan_->n_cols; }
    std::int64_t n_rows() const { return plan_->n_rows; }
    std::int64_t n_groups() const { return std::ssize(plan_->sizes); }
    bool is_sketch() const { return plan_->n_sketches > 0; }
    int n_passes() const { return is_sketch() ? 2 : 1; }
    int pass() const { return pass_; }
    bool is_finished() const { return pass_ > n_passes(); }
    std::int64_t n_rows_read() const { return rows_.size(); }
    // Return hashes of the arguments and of the results of the first pass. During the first pass, fingerprint_of_passes
    // is 0.
    std::uint64_t fingerprint() const { return plan_->fingerprint; }
    std::uint64_t fingerprint_of_passes() const { return search_ ? search_->fingerprint : 0; }
    void require_all_rows() const { rows_.require_all(pass_); }
    // Throws if an update has stopped halfway.
    void require_intact() const { intact_.require_for("this stream"); }

    // Adds rows from first_row on, dense or CSR, to the state of this pass; each row comes once in a pass. Pass 1 adds
    // to the sums, stores rows of small groups and sketches large ones; pass 2 adds to the products of candidate pairs.
    void update(const Matrix& X, std::int64_t first_row, Run& run);
    // Adds to the state of this pass the rows that `other`, which has equal fingerprints, has read; throws, and changes
    // nothing, if both have read a row, or if the rows they store differ in dtype or storage.
    void merge(const DiscStream& other);
    // Writes the state of this pass. load_state restores it in a stream that has equal fingerprints and has read no
    // rows.
    void save_state(ByteWriter& to) const;
    void load_state(ByteReader& from);
    // Ends a pass: the first one by choosing pairs of features, which pass 2 multiplies; the second one by finding the
    // neighbours of each feature.
    void next_pass(Run& run);

    // Returns a group, after the last pass, as a set for disc(): as sums, stored rows or neighbours; it points to
    // values of this object.
    DiscSet disc_set(std::int64_t group) const;
    void counts(double* to) const { sums_.counts(to); }  // rows of each group in the first pass
    void means(double* to) const { sums_.means(to); }    // of each group

  private:
    struct Plan {
        std::int64_t n_rows, n_cols, n_sketches = 0;
        std::vector<std::int64_t> labels, sizes;
        std::vector<std::int64_t> sketch_of;  // of each group, or -1
        std::int64_t n_neighbors, n_candidates;
        std::uint64_t seed, fingerprint;
    };
    // Pairs of a feature and a candidate, each pair once, by blocks of second features.
    struct Pairs {
        std::vector<std::int32_t> first, second;
        std::vector<std::int64_t> begins;  // of the blocks

        std::int64_t size() const { return std::ssize(first); }
    };
    // The plan of the second pass, which the first pass makes.
    struct Search {
        std::vector<Pairs> pairs;       // of each sketch
        std::vector<OwnedMatrix> kept;  // the rows of each group without one
        std::uint64_t fingerprint;
    };
    struct Found {
        Buffer<std::int64_t> neighbors;
        Buffer<double> distances;
        bool lost;
    };

    struct Signed;
    // Tests if the row belongs to a group without a sketch.
    bool is_kept(std::int64_t row) const { return plan_->sketch_of[at(plan_->labels[at(row)])] < 0; }
    void require_memory_of_rows(const Matrix& X, std::int64_t first_row, const Run& run) const;
    void require_like_kept(const Matrix& X, std::int64_t first_row) const;
    void keep_rows(const Matrix& X, std::int64_t first_row);
    void add_to_sketches(const Matrix& X, std::int64_t first_row, Run& run);
    void add_products(const Matrix& X, std::int64_t first_row, Run& run);
    std::int64_t memory_of_next(const Run& run) const;
    Pairs candidate_pairs(std::int64_t group, Run& run) const;
    Found nearest_candidates(std::int64_t group, Run& run) const;

    std::shared_ptr<const Plan> plan_;
    int pass_ = 1;
    RowSet rows_;  // of this pass
    Intact intact_;
    FeatureSums sums_;
    KeptRows kept_rows_;
    std::vector<Numbers> sketches_;  // kBuckets x (n_cols + 1), the last column of a 1 in each row
    std::shared_ptr<const Search> search_;
    std::vector<Numbers> products_;  // of the pairs of each sketch
    std::shared_ptr<const std::vector<Found>> found_;
};

}  // namespace fastfs::core
