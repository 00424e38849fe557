// Scores from the contributions of the targets, target by target. Sums over pairs aren't enough if targets are drawn,
// because the spread of their contributions gives the standard error, or if values are missing, because the factors of
// a target's neighbors then depend on the feature.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engines/sample_pairs.hpp"
#include "fastfs/fastfs.h"
#include "margin/differences.hpp"
#include "margin/neighbors.hpp"
#include "margin/targets.hpp"
#include "support/index.hpp"
#include "support/owned.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// A neighbor of the target number t.
struct TargetNeighbor {
    std::int64_t t;
    Neighbor neighbor;
};

// The score of a feature, and its standard error over draws of the targets: 0 if all samples are targets, NaN if a
// single target was drawn.
struct ScoreWithError {
    double score, error;
};

// The data of a fit from which the contributions of targets are computed. All of them must outlive the TargetScores.
struct TargetScoresInput {
    const Differences& differences;
    const NeighborRule& rule;
    const Targets& targets;
    const TargetMeans& means;
    Summed summed;
    Run& run;

    bool is_draw() const { return !targets.all(); }
};

class TargetScores {
  public:
    // Returns the strategy that serves the fit: means over targets, means over bins of neighbors (all targets, on
    // genotypes with gaps), or ratios of sums over all targets (RReliefF).
    static std::unique_ptr<TargetScores> make_for(const TargetScoresInput& input);

    virtual ~TargetScores() = default;
    TargetScores(const TargetScores&) = delete;
    TargetScores& operator=(const TargetScores&) = delete;

    // Returns the number of sums per feature.
    virtual std::int64_t n_sums() const = 0;

    // Allocates the sums.
    void start_targets() { sums_ = numbers(n_sums() * input_.differences.n_features()); }

    // Adds the neighbors of the targets first..last - 1, listed target by target.
    virtual void add_targets(const std::vector<TargetNeighbor>& neighbors, std::int64_t first, std::int64_t last) = 0;

    // Tells if add only collects neighbors, so that finish_targets() takes most of the time.
    virtual bool sums_in_finish() const { return false; }
    virtual void finish_targets() {}

    virtual ScoreWithError score(std::int64_t feature) const = 0;

  protected:
    explicit TargetScores(const TargetScoresInput& input) : input_(input) {}

    GroupedNeighbors group_neighbors(const std::vector<TargetNeighbor>& neighbors, std::int64_t first,
                                     std::int64_t last) const;

    const TargetScoresInput input_;
    Numbers sums_;  // n_sums() x n_features
};

// Writes the scores of the columns that are used and, if n_targets is given, their standard errors, 0 unless targets
// are drawn; all other columns get 0. score_of(k) is the ScoreWithError of columns[k].
template <class ScoreOf>
void write_scores(const std::vector<std::int64_t>& columns, std::int64_t n_cols, std::int64_t n_targets, bool is_draw,
                  ScoreOf&& score_of, Owned<fastfs_relief_result>& result) {
    result.set_zeros(result.scores, n_cols);
    if (n_targets > 0) result.set_zeros(result.scores_se, n_cols);
    for (std::size_t k = 0; k < columns.size(); ++k) {
        const ScoreWithError scored = score_of(static_cast<std::int64_t>(k));
        result.scores[columns[k]] = scored.score;
        if (is_draw) result.scores_se[columns[k]] = scored.error;
    }
}

}  // namespace fastfs::core
