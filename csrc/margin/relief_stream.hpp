// RELIEF and ReliefF of more rows than memory holds: drawn targets against all rows, which come in blocks, twice.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engines/scaling.hpp"
#include "fastfs/fastfs.h"
#include "margin/differences.hpp"
#include "margin/targets.hpp"
#include "support/bytes.hpp"
#include "support/index.hpp"
#include "support/intact.hpp"
#include "support/kept_rows.hpp"
#include "support/matrix.hpp"
#include "support/owned.hpp"
#include "support/row_set.hpp"
#include "support/run.hpp"
#include "support/ties.hpp"

namespace fastfs::core {

// The first pass finds the scales of the columns and stores the targets; the second pass stores the k nearest rows for
// each target and class. Ties go to the lowest row, so neither the blocks nor the order of merging matter. Classes can
// be merged afterwards, because the k nearest rows of a union are among the k nearest of each part.
class ReliefStream {
  public:
    // Draws the targets, and takes the labels and options of the fit; no rows are read yet.
    ReliefStream(std::int64_t n_rows, std::int64_t n_cols, const std::int64_t* labels, std::int64_t n_classes,
                 Scaling scaling, const fastfs_relief_options& options);

    std::int64_t n_cols() const { return plan_->n_cols; }
    std::int64_t n_rows() const { return plan_->n_rows; }
    std::int64_t n_classes() const { return std::ssize(plan_->class_sizes); }
    int pass() const { return search_ ? 2 : 1; }
    std::int64_t n_rows_read() const { return rows_.size(); }
    // Return hashes of the arguments and of the results of the first pass. During the first pass, fingerprint_of_passes
    // is 0.
    std::uint64_t fingerprint() const { return plan_->fingerprint; }
    std::uint64_t fingerprint_of_passes() const { return search_ ? search_->fingerprint : 0; }
    void require_like(const ReliefStream& other) const;
    // Throws if the pass hasn't read every row.
    void require_all_rows() const { rows_.require_all(pass()); }
    // Throws if an update has stopped halfway.
    void require_intact() const { intact_.require_for("this stream"); }
    // Throws if a block has another dtype or storage than the first block, or one that the method can't read.
    void require_like(const Matrix& X) const;

    // Reads a block of rows, dense or CSR, that begins with first_row, each row once per pass: pass 1 adds them to the
    // scales and stores the rows of targets, pass 2 offers them to the targets as neighbors. Throws if the pass has
    // read one of the rows.
    void update(const Matrix& X, std::int64_t first_row, Run& run);
    // Adds the rows that `other`, which has equal fingerprints, has read; throws, and changes nothing, if both have
    // read a row.
    void merge(const ReliefStream& other);
    // Writes the state of this pass. load_state restores it in a stream that has equal fingerprints and has read no
    // rows.
    void save_state(ByteWriter& to) const;
    void load_state(ByteReader& from);
    // Ends the first pass: fixes the scales, prepares the targets and begins the second pass; changes nothing if it
    // throws.
    void next_pass(Run& run);
    // Computes the scores from the rows that both passes kept, fills the result and issues its warnings; changes no
    // state, so that it can be called again. merged: the index of the merged class to which each class belongs, or null
    // if no classes are merged.
    void scores(const std::int64_t* merged, std::int64_t n_merged, Run& run, Owned<fastfs_relief_result>& result) const;

  private:
    struct Plan {
        std::int64_t n_rows, n_cols;
        Scaling scaling;
        std::vector<std::int32_t> labels;
        std::vector<std::int64_t> class_sizes;
        Numbers priors;  // of the classes, not normalised
        DrawnTargets targets;
        fastfs_relief_options options;
        std::uint64_t fingerprint;

        bool squared() const { return options.method == FASTFS_RELIEF; }
        std::int64_t k() const { return squared() ? 1 : options.n_neighbors; }
    };
    // The results of the first pass.
    struct Search {
        FeatureScales scales;
        std::vector<std::int64_t> columns;  // that vary
        DensitySplit split;
        OwnedMatrix targets;
        std::unique_ptr<const Differences> differences;  // between targets
        std::uint64_t fingerprint;
    };
    struct NearRow {
        double distance;
        std::int64_t row;

        bool operator<(const NearRow& other) const {
            return equal_distances(distance, other.distance) ? row < other.row : distance < other.distance;
        }
    };
    // The k nearest rows so far, as a heap with the farthest on top.
    class NearestRows : public std::vector<NearRow> {
      public:
        void offer(const NearRow& one, std::size_t k);
    };

    // Returns a stream in the state at the start of the current pass.
    ReliefStream restarted() const;
    Differences scaled_differences(const Matrix& X, const Search& search, Run& run) const;
    void find_nearest(const Matrix& X, std::int64_t first_row, Run& run);
    // Returns the rows in any list of nearest rows, ascending.
    std::vector<std::int64_t> listed_rows() const;
    // Return the bytes of the state in a pass without the rows of neighbors, and the bytes of the current state with
    // them.
    std::int64_t memory_of_pass(int pass) const;
    std::int64_t kept_memory() const { return memory_of_pass(pass()) + neighbor_rows_.memory(); }
    // The rows of a target's neighbors, ascending, for each group of NeighborRule.
    using RowsByGroup = std::vector<std::vector<std::int64_t>>;
    // Returns the neighbors of the targets first..last - 1 among the merged classes; none if a target of RELIEF has no
    // hit.
    std::vector<RowsByGroup> neighbors(std::int64_t first, std::int64_t last,
                                       const std::vector<std::int64_t>& merged_class, std::int64_t n_merged) const;
    // Returns neighbors as positions in `rows`, ascending row numbers.
    static GroupedNeighbors group_by_target(const std::vector<RowsByGroup>& neighbors,
                                            const std::vector<std::int64_t>& rows);

    std::shared_ptr<const Plan> plan_;
    RowSet rows_;  // read in this pass
    Intact intact_;
    ScalesOfBlocks scales_;
    Numbers n_stored_;  // values in each column of a sparse matrix
    KeptRows target_rows_;
    std::shared_ptr<const Search> search_;
    std::vector<NearestRows> nearest_;  // by target and class
    KeptRows neighbor_rows_;
};

}  // namespace fastfs::core
