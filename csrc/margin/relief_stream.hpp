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
#include "support/row_set.hpp"
#include "support/run.hpp"
#include "support/ties.hpp"

namespace fastfs::core {

// The first pass finds the scales of the columns and keeps the targets; the second one keeps, for each target and each
// class, the k nearest rows, ties going to the lowest: so neither the blocks nor the order of merging matter. Scores
// are those of the pairs. A class may stand for a part of one: the k nearest of a union are among the k nearest of each
// part.
class ReliefStream {
  public:
    ReliefStream(std::int64_t n_rows, std::int64_t n_cols, const std::int64_t* labels, std::int64_t n_classes,
                 Scaling scaling, const fastfs_relief_options& options);

    std::int64_t n_cols() const { return plan_->n_cols; }
    std::int64_t n_rows() const { return plan_->n_rows; }
    std::int64_t n_classes() const { return std::ssize(plan_->sizes); }
    int pass() const { return search_ ? 2 : 1; }
    // Whether both are copies of one that have come to the same pass together.
    bool is_copy_of(const ReliefStream& other) const { return plan_ == other.plan_ && search_ == other.search_; }
    void require_like(const ReliefStream& other) const;
    void require_all_rows() const { rows_.require_all(pass()); }
    // Refuses every use after an update that stopped halfway.
    void require_intact() const { intact_.require_for("an update of this stream"); }
    // A block is refused that isn't like the first one, or if the method takes no such blocks.
    void require_like(const Matrix& X) const;

    // Rows from first_row on, dense or CSR, all blocks of one dtype and storage, each once in a pass.
    void update(const Matrix& X, std::int64_t first_row, Run& run);
    // Of other rows, in the same pass. That must be a copy of this one from the start of the pass.
    void merge(const ReliefStream& other);
    // What it has found in this pass, in bytes, for another one of the same arguments that has come to the same pass,
    // which adds it.
    void save(ByteWriter& to) const;
    void load(ByteReader& from);
    // Ends the first pass.
    void next(Run& run);
    // Ends the second. merged: what each class is a part of, from 0; null: itself.
    void scores(const std::int64_t* merged, std::int64_t n_merged, Run& run, fastfs_relief_result& result) const;

  private:
    struct Plan {
        std::int64_t n_rows, n_cols;
        Scaling scaling;
        std::vector<std::int32_t> labels;
        std::vector<std::int64_t> sizes;  // of the classes
        Numbers priors;                   // of the classes, not normalised
        DrawnTargets targets;
        fastfs_relief_options options;

        bool squared() const { return options.method == FASTFS_RELIEF; }
        std::int64_t k() const { return squared() ? 1 : options.n_neighbors; }
    };
    // What the second pass needs to know.
    struct Search {
        FeatureScales scales;
        std::vector<std::int64_t> columns;  // those that vary
        DensitySplit split;
        OwnedMatrix targets;
        std::unique_ptr<const Differences> differences;  // of these
    };
    struct Near {
        double distance;
        std::int64_t row;

        bool operator<(const Near& other) const {
            return equal_distances(distance, other.distance) ? row < other.row : distance < other.distance;
        }
    };
    // At most k, a heap with the farthest on top.
    class Nearest : public std::vector<Near> {
      public:
        void add(const Near& one, std::size_t k);
    };

    // As it was when its pass began.
    ReliefStream fresh() const;
    // Of its arguments and its pass.
    std::vector<std::int64_t> signature() const;
    Differences differences(const Matrix& X, const Search& search, Run& run) const;
    void find_nearest(const Matrix& X, std::int64_t first_row, Run& run);
    // In lists of the nearest, ascending.
    std::vector<std::int64_t> listed_rows() const;
    // Bytes of what this object has in a pass, without neighbors; of all that it has now.
    std::int64_t memory_of_pass(int pass) const;
    std::int64_t kept_memory() const { return memory_of_pass(pass()) + neighbors_.memory(); }
    // Of the targets first..last - 1, by group of NeighborRule, ascending.
    using Neighbors = std::vector<std::vector<std::int64_t>>;
    std::vector<Neighbors> neighbors(std::int64_t first, std::int64_t last, const std::vector<std::int64_t>& of_class,
                                     std::int64_t n_merged) const;

    std::shared_ptr<const Plan> plan_;
    RowSet rows_;  // of this pass
    Intact intact_;
    ScalesOfBlocks scales_;
    Numbers n_stored_;  // in each column of a sparse matrix
    KeptRows target_rows_;
    std::shared_ptr<const Search> search_;
    std::vector<Nearest> nearest_;  // by target and class
    KeptRows neighbors_;
};

}  // namespace fastfs::core
