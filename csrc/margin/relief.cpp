#include "margin/relief.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "margin/data_warnings.hpp"
#include "margin/neighbors.hpp"
#include "margin/target_scores.hpp"
#include "margin/targets.hpp"
#include "support/errors.hpp"
#include "support/parallel.hpp"
#include "support/warnings.hpp"

namespace fastfs::core {
namespace {

// The score of feature a is W_a = sum of w_n g_nj d_nj(a) over targets n and their neighbors j, divided by the sum of
// the w_n, with g = factor * strength of the neighbor. For all targets and complete features this is one sum over
// pairs, which ListedPairs or PairMatrix form; a TargetScores computes all other scores.

// Targets per block if the distances of all of them don't fit, and per task of a thread.
constexpr std::int64_t kRowsPerBlock = 256;
constexpr std::int64_t kRowsPerTask = 16;

// Targets with many neighbors that are listed together.
constexpr std::int64_t kTargetsGrouped = 64;

constexpr const char* kSmallerFit = "give n_targets, or fewer samples";

// The neighbors of a range of targets, in the order of the targets: pairs with weights w_n g, or complete neighbors if
// the fit needs more.
struct FoundNeighbors {
    std::vector<WeightedPair> pairs;
    std::vector<TargetNeighbor> neighbors;
    std::int64_t n_alone = 0, n_apart = 0;  // as in fastfs_relief_result

    void append_neighbors(const FoundNeighbors& more) {
        pairs.insert(pairs.end(), more.pairs.begin(), more.pairs.end());
        neighbors.insert(neighbors.end(), more.neighbors.begin(), more.neighbors.end());
        n_alone += more.n_alone;
        n_apart += more.n_apart;
    }
};

// A fit of the family. The two classes below form the sums over pairs.
class ReliefFit {
  public:
    ReliefFit(const Margin& margin, const Target& target, const fastfs_relief_options& options, Run& run)
        : margin_(margin),
          target_(target),
          differences_(margin.differences()),
          options_(options),
          run_(run),
          n_(margin.X().n_rows()),
          rule_(options, target, margin.sample_weights()),
          drawn_targets_(draw_targets(target.classes() ? target.classes()->labels.data() : nullptr, target.n_groups(),
                                      n_, options.n_targets, options.seed)),
          targets_(differences_.targets(drawn_targets_.rows, run)),
          means_(drawn_targets_, weights_of_targets(), is_draw()),
          expected_(target.classes() ? margin.expected(*target.classes()) : nullptr),
          stored_distances_(expected_ && !margin.distances_are_given() ? nullptr : margin.stored_distances(squared())) {
        if (stored_distances_ || expected_) rule_.set_rounding(margin.rounding());
        if (is_draw() || differences_.ignores_gaps()) {
            target_scores_ = TargetScores::make_for({differences_, rule_, targets_, means_, summed(), run_});
        }
    }
    virtual ~ReliefFit() = default;
    ReliefFit(const ReliefFit&) = delete;
    ReliefFit& operator=(const ReliefFit&) = delete;

    // Tells if a list of all pairs is shorter than a matrix of them, and serves the fit.
    static bool has_short_list(const Margin& margin, const Target& target, const fastfs_relief_options& options);

    void compute(Owned<fastfs_relief_result>& result);

  protected:
    // Returns the bytes of all neighbors of n_drawn targets, with the copies that feature_sums and TargetScores make.
    std::int64_t neighbors_memory(std::int64_t n_drawn, std::int64_t n_neighbors) const {
        return n_drawn * n_neighbors * (target_scores_ || rule_.by_totals() ? 224 : 120);
    }

    // ---- The strategy ----------------------------------------------------------------------------------------------

    // Returns the bytes of the pairs of a block of targets, without the rows of distances.
    virtual std::int64_t pairs_memory(std::int64_t block) const = 0;
    // Refuses pairs that don't fit, as soon as their number is known.
    virtual void require_pairs_memory() const {}
    // Returns the bytes that the sums over the pairs of all targets take while all distances are held.
    virtual std::int64_t sums_memory() const = 0;
    // Tells if a block needs separate rows even if distances are stored.
    virtual bool overwrites_rows() const = 0;
    // Return the share of a block's time after which its distances are complete, and the share of the call at which the
    // step "neighbors" ends.
    virtual double share_of_distances() const = 0;
    virtual double share_of_neighbors() const = 0;
    // Finds the neighbors of the targets first..last - 1. `rows` holds the distances of the targets unless they are
    // stored.
    virtual void add_block(std::int64_t first, std::int64_t last, double* rows) = 0;
    // Completes sums_, and the sums of target_scores_, after the last block.
    virtual void finish_sums() = 0;

    // ---- What strategies use ---------------------------------------------------------------------------------------

    bool is_draw() const { return !targets_.all(); }

    Summed summed() const {
        if (squared() && !options_.closed_form) return Summed::kSquares;
        const bool varied = options_.method == FASTFS_SWRF || margin_.is_weighted() ||
                            (rule_.by_totals() && differences_.ignores_gaps());
        return varied ? Summed::kVaried : Summed::kDifferences;
    }

    // Returns the share of the step at which the targets first..last - 1 are `done`, from 0 to 1.
    double progress(std::int64_t first, std::int64_t last, double done) const {
        return (static_cast<double>(first) + done * static_cast<double>(last - first)) /
               static_cast<double>(targets_.size());
    }

    // Finds the neighbors of the targets first..last - 1. record(t, neighbors, factors by group, collected) adds the
    // neighbors of target t to `collected`, and can overwrite its row of `rows`.
    template <class Record>
    FoundNeighbors find_neighbors(std::int64_t first, std::int64_t last, const double* rows, Record&& record);

    const Margin& margin_;
    const Target& target_;
    const Differences& differences_;
    const fastfs_relief_options& options_;
    Run& run_;
    const std::int64_t n_;
    NeighborRule rule_;
    const DrawnTargets drawn_targets_;
    const Targets targets_;
    const TargetMeans means_;
    const std::unique_ptr<const ExpectedDifferences> expected_;
    const double* const stored_distances_;         // n x n, or null: rows are made block by block
    std::unique_ptr<TargetScores> target_scores_;  // null: sums over pairs are all that scores need
    Numbers sums_;                                 // over pairs, by feature
    std::int64_t n_alone_ = 0, n_apart_ = 0;

  private:
    struct Blocks {
        std::int64_t n_drawn;  // in each
        bool hold_all_distances;
    };

    bool squared() const { return options_.method == FASTFS_RELIEF; }
    Numbers weights_of_targets() const {
        Numbers weights;
        for (const std::int64_t row : drawn_targets_.rows) weights.push_back(margin_.sample_weights()[at(row)]);
        return weights;
    }
    Blocks choose_blocks() const;
    void require_memory(std::int64_t block) const;
    void compute_distances(const Targets& targets, std::int64_t first, std::int64_t last, double* rows) const;
    void measure_all_pairs(double* rows, std::int64_t block);
    void set_result(bool distances_were_stored, Owned<fastfs_relief_result>& result) const;

    bool found_few_ = false;
};

// Sets `rows` (last - first rows of n_samples) to the distances of the targets first..last - 1 to all samples, plus the
// expected differences of missing values.
void ReliefFit::compute_distances(const Targets& targets, std::int64_t first, std::int64_t last, double* rows) const {
    const double* without_expected = expected_ ? margin_.stored_distances(squared()) : nullptr;
    if (without_expected) {
        parallel_for(run_, last - first, [&](std::int64_t t, int) {
            std::copy_n(without_expected + targets.row(first + t) * n_, n_, rows + t * n_);
        });
    } else {
        differences_.distances(targets, first, last, squared(), rows, n_, run_);
    }
    if (expected_) expected_->add_to_distances(targets, first, last, rows, run_);
}

// Sets the rule's mean and deviation of the distances of all pairs, by combining the moments of each row (Chan, Golub
// and LeVeque 1983). rows: unless distances are stored, room for `block` rows, left with the last block.
void ReliefFit::measure_all_pairs(double* rows, std::int64_t block) {
    const Numbers& weights = margin_.sample_weights();
    std::vector<Moments> moments(at(n_));
    Numbers totals(at(n_));
    const auto set_moments = [&](std::int64_t first, std::int64_t last, const double* distances) {
        parallel_for(run_, last - first, [&](std::int64_t i, int) {
            const std::int64_t row = first + i;
            moments[at(row)] = row_moments(distances + i * n_, row, weights, &totals[at(row)]);
        });
    };
    if (stored_distances_) {
        set_moments(0, n_, stored_distances_);
    } else {
        const Targets all_samples = differences_.targets(up_to(n_), run_);
        for (std::int64_t first = 0; first < n_; first += block) {
            const std::int64_t last = std::min(first + block, n_);
            const Run::Part part(run_, 0.4 * share(first, n_), 0.4 * share(last, n_));
            compute_distances(all_samples, first, last, rows);
            set_moments(first, last, rows);
        }
    }
    Moments all;
    double total = 0, squares = 0;
    for (std::int64_t row = 0; row < n_; ++row) {
        const double w = weights[at(row)] * totals[at(row)];
        if (w == 0) continue;
        const auto [mean, deviation] = moments[at(row)];
        const double shift = total == 0 ? 0.0 : mean - all.mean;
        if (total == 0) all.mean = mean;
        squares += w * deviation * deviation + shift * shift * (total * w / (total + w));
        total += w;
        all.mean += shift * (w / total);
    }
    all.deviation = total > 0 ? std::sqrt(squares / total) : 0.0;
    rule_.set_all_pairs(all);
}

// Finds the neighbors of the targets first..last - 1, from stored_distances_ if there are any and otherwise from
// `rows`, and calls record(t, neighbors, factors, collected) for each target t, in parallel. Returns all that record
// collected, in the order of targets. Adds to n_alone_, n_apart_ and found_few_, which become warnings.
template <class Record>
FoundNeighbors ReliefFit::find_neighbors(std::int64_t first, std::int64_t last, const double* rows, Record&& record) {
    const std::int64_t n_tasks = ceil_div(last - first, kRowsPerTask), n_groups = rule_.n_groups();
    std::vector<FoundNeighbors> of_task(at(n_tasks));
    std::vector<NeighborRule> rules(at(run_.n_threads()), rule_);  // one per thread, because of their scratch
    parallel_for(run_, n_tasks, [&](std::int64_t task, int slot) {
        FoundNeighbors& task_neighbors = of_task[at(task)];
        NeighborRule& rule = rules[at(slot)];
        std::vector<Neighbor> neighbors;
        Numbers group_weights(at(n_groups)), factors(at(n_groups));
        const std::int64_t begin = first + task * kRowsPerTask, end = std::min(begin + kRowsPerTask, last);
        for (std::int64_t t = begin; t < end; ++t) {
            const std::int64_t n = targets_.row(t);
            const double* distances = stored_distances_ ? stored_distances_ + n * n_ : rows + (t - first) * n_;
            neighbors.clear();
            if (!rule.find(n, distances, neighbors)) ++task_neighbors.n_alone;
            if (differences_.ignores_gaps()) {
                for (std::int64_t j = 0; j < n_; ++j) task_neighbors.n_apart += j != n && std::isnan(distances[j]);
            }
            std::fill(group_weights.begin(), group_weights.end(), 0.0);
            for (const Neighbor& one : neighbors) group_weights[at(one.group)] += one.weight;
            rule.factors(n, group_weights.data(), factors.data());
            record(t, neighbors, factors, task_neighbors);
        }
    });
    for (const NeighborRule& rule : rules) found_few_ = found_few_ || rule.found_few();
    FoundNeighbors all;
    for (const FoundNeighbors& task_neighbors : of_task) all.append_neighbors(task_neighbors);
    n_alone_ += all.n_alone;
    n_apart_ += all.n_apart;
    return all;
}

// ---- Sums over a list of pairs -------------------------------------------------------------------------------------

// The strategy for rules with few neighbors, and for RReliefF: its factors are known only when all neighbors are.
class ListedPairs final : public ReliefFit {
  public:
    using ReliefFit::ReliefFit;

  private:
    std::int64_t pairs_memory(std::int64_t) const override {
        return neighbors_memory(targets_.size(), rule_.most_neighbors());
    }
    void require_pairs_memory() const override {
        run_.require_memory(pairs_memory(targets_.size()), "a list of neighbors", kSmallerFit);
    }
    std::int64_t sums_memory() const override { return 0; }
    bool overwrites_rows() const override { return false; }
    double share_of_distances() const override { return 0.9; }
    double share_of_neighbors() const override { return 0.9; }

    // Appends the neighbors of the targets first..last - 1, or their weighted pairs, to listed_.
    void add_block(std::int64_t first, std::int64_t last, double* rows) override {
        const Run::Part part(run_, progress(first, last, share_of_distances()), progress(first, last, 1));
        const bool lists_neighbors = target_scores_ || rule_.by_totals(),
                   lists_pairs = !is_draw() && !rule_.by_totals();
        listed_.append_neighbors(find_neighbors(
            first, last, rows,
            [&](std::int64_t t, const std::vector<Neighbor>& neighbors, const Numbers& factors,
                FoundNeighbors& collected) {
                const std::int64_t n = targets_.row(t);
                const double weight = margin_.sample_weights()[at(n)];
                for (const Neighbor& one : neighbors) {
                    if (lists_neighbors) collected.neighbors.push_back({t, one});
                    if (lists_pairs) {
                        collected.pairs.push_back({n, one.j, factors[at(one.group)] * one.strength * weight});
                    }
                }
            }));
    }

    // For RReliefF, first makes the pairs from the listed neighbors, and throws if y doesn't differ among them. Then
    // adds the differences of the pairs to sums_ unless targets are drawn, and the listed neighbors, which it empties,
    // to target_scores_ if there are any.
    void finish_sums() override {
        run_.step("scores", 1.0);
        if (rule_.by_totals()) weigh_by_totals();
        if (target_scores_) target_scores_->add_targets(listed_.neighbors, 0, targets_.size());
        listed_.neighbors = {};
        if (!is_draw()) {
            differences_.sums(listed_.pairs, summed(), target_scores_ != nullptr, sums_.data(), run_);
        }
        if (target_scores_) target_scores_->finish_targets();
    }

    // Appends the listed neighbors as pairs, unless targets are drawn, for a rule with factors that depend on all
    // neighbors together. Throws if y doesn't differ among neighbors.
    void weigh_by_totals() {
        Numbers totals(at(rule_.n_groups())), factors(totals.size());
        for (const TargetNeighbor& one : listed_.neighbors) totals[at(one.neighbor.group)] += one.neighbor.weight;
        require(totals[0] > 0, "y must differ among neighbors; got equal numbers: use more neighbors");
        if (is_draw()) return;
        rule_.factors(0, totals.data(), factors.data());
        listed_.pairs.reserve(listed_.neighbors.size());
        for (const auto& [t, neighbor] : listed_.neighbors) {
            listed_.pairs.push_back({targets_.row(t), neighbor.j, factors[at(neighbor.group)] * neighbor.strength});
        }
    }

    FoundNeighbors listed_;
};

// ---- Sums over a matrix of pairs -----------------------------------------------------------------------------------

// The strategy for rules with many neighbors, and for expected differences: the weights w_n g of a block of targets
// overwrite its distances.
class PairMatrix final : public ReliefFit {
  public:
    using ReliefFit::ReliefFit;

  private:
    std::int64_t pairs_memory(std::int64_t block) const override {
        return sums_memory() / n_ * block +
               (target_scores_ ? neighbors_memory(std::min(kTargetsGrouped, block), n_) : 0);
    }
    std::int64_t sums_memory() const override { return n_ * n_ * (margin_.X().is_float32() ? 4 : 8) / 2; }
    bool overwrites_rows() const override { return true; }
    double share_of_distances() const override { return 0.45; }
    double share_of_neighbors() const override {
        return target_scores_ && target_scores_->sums_in_finish() ? 0.5 : 1.0;
    }

    // Overwrites `rows` by the weights of the pairs of targets first..last - 1, and adds their differences to sums_
    // unless the targets are a draw.
    void add_block(std::int64_t first, std::int64_t last, double* rows) override {
        {
            const Run::Part part(run_, progress(first, last, share_of_distances()), progress(first, last, 0.6));
            const std::int64_t step = target_scores_ ? kTargetsGrouped : last - first;
            for (std::int64_t t = first; t < last; t += step) {
                replace_distances_by_weights(t, std::min(t + step, last), rows + (t - first) * n_);
            }
        }
        if (is_draw()) return;
        const Run::Part part(run_, progress(first, last, 0.6), progress(first, last, 1));
        differences_.sums(targets_, first, last, rows, summed(), target_scores_ != nullptr, sums_.data(), run_);
        if (expected_) expected_->add_to_sums(targets_, first, last, rows, sums_.data(), run_);
    }

    // Replaces the distances of the targets first..last - 1 by the weights of their pairs, 0 for samples that aren't
    // neighbors, and adds the neighbors to target_scores_ if there are any.
    void replace_distances_by_weights(std::int64_t first, std::int64_t last, double* rows) {
        const FoundNeighbors listed =
            find_neighbors(first, last, rows,
                           [&](std::int64_t t, const std::vector<Neighbor>& neighbors, const Numbers& factors,
                               FoundNeighbors& collected) {
                               const double weight = margin_.sample_weights()[at(targets_.row(t))];
                               double* weights = rows + (t - first) * n_;
                               std::fill_n(weights, n_, 0.0);
                               for (const Neighbor& one : neighbors) {
                                   if (target_scores_) collected.neighbors.push_back({t, one});
                                   weights[one.j] = factors[at(one.group)] * one.strength * weight;
                               }
                           });
        if (target_scores_) target_scores_->add_targets(listed.neighbors, first, last);
    }

    void finish_sums() override {
        if (!target_scores_) return;
        if (target_scores_->sums_in_finish()) run_.step("scores", 1.0);
        target_scores_->finish_targets();
    }
};

// ---- The fit -------------------------------------------------------------------------------------------------------

ReliefFit::Blocks ReliefFit::choose_blocks() const {
    const bool fits = !is_draw() && run_.allows(stored_distances_memory(n_) + sums_memory());
    const bool at_once = fits || (stored_distances_ && !overwrites_rows());
    return {at_once ? targets_.size() : std::min(kRowsPerBlock, targets_.size()), stored_distances_ || fits};
}

// Answers the question of the fit's memory with blocks of `block` targets. Otherwise throws OutOfMemory if the list of
// pairs, if there is one, exceeds the budget.
void ReliefFit::require_memory(std::int64_t block) const {
    if (!run_.is_question()) return require_pairs_memory();
    // Counts the gaps that pairs share, and the neighbors of all targets in vectors that grow.
    const Matrix& X = margin_.X();
    const std::int64_t gaps =
        differences_.ignores_gaps() ? block * n_ * 4 + targets_.size() * rule_.most_neighbors() * 12 : 0;
    const std::int64_t genotypes =
        X.is_genotypes() ? GenotypePairs::memory(n_, X.n_cols(), gaps > 0, run_.n_threads()) + gaps : 0;
    run_.require_memory((48 + 16 * (target_scores_ ? target_scores_->n_sums() : 0)) * X.n_cols() +
                            stored_distances_memory(1) + pairs_memory(block) +
                            (!stored_distances_ || overwrites_rows() ? block * n_ * 8 : 0) +
                            (expected_ ? expected_->memory(run_.n_threads()) : 0) + genotypes +
                            (X.is_sparse() ? 0 : Targets::memory(X, targets_.size())),
                        "looking up neighbors", kSmallerFit);
}

// Finds the neighbors of all targets block by block, sums their differences, and fills the result.
void ReliefFit::compute(Owned<fastfs_relief_result>& result) {
    const auto [block, hold_all_distances] = choose_blocks();
    require_memory(block);
    Buffer<double> rows;
    if (!stored_distances_ || overwrites_rows()) {
        run_.require_memory(block * n_ * 8, "a block of distances", kSmallerFit);
        rows = Buffer<double>(block * n_);
    }
    sums_ = numbers(differences_.n_features());
    if (target_scores_) target_scores_->start_targets();

    run_.step("neighbors", share_of_neighbors());
    const bool all_pairs = NeighborRule::needs_all_pairs(options_);
    if (all_pairs) measure_all_pairs(rows.data(), block);
    const bool rows_are_made = all_pairs && block == n_ && !is_draw();
    for (std::int64_t first = 0; first < targets_.size(); first += block) {
        const std::int64_t last = std::min(first + block, targets_.size());
        if (!stored_distances_ && !rows_are_made) {
            const Run::Part part(run_, progress(first, last, 0), progress(first, last, share_of_distances()));
            compute_distances(targets_, first, last, rows.data());
        }
        add_block(first, last, rows.data());
    }
    rows = Buffer<double>();
    finish_sums();
    set_result(hold_all_distances, result);
}

// Writes scores, errors and how distances were held to the result, and issues the warnings.
void ReliefFit::set_result(bool distances_were_stored, Owned<fastfs_relief_result>& result) const {
    if (found_few_) {
        Numbers sizes;
        if (const Classes* classes = target_.classes()) {
            sizes.assign(at(classes->n_classes()), 0.0);
            for (std::int64_t i = 0; i < n_; ++i) sizes[at(classes->of(i))] += margin_.sample_weights()[at(i)];
        }
        warn_of_few_neighbors(options_, sizes);
    }
    if (n_alone_ == targets_.size()) warn_of_no_neighbors();
    if (n_apart_ > 0) {
        warn("apart", {n_apart_,
                       " pairs of samples have no feature that both know, so that they can't be neighbours: "
                       "impute, or drop the samples with most values missing"});
    }
    result.n_alone = n_alone_;
    result.n_apart = n_apart_;
    result.stored = distances_were_stored;
    const double norm = rule_.by_totals() || options_.closed_form ? 1.0 : means_.total_weight();
    const auto score_of = [&](std::int64_t k) -> ScoreWithError {
        if (!target_scores_ || (!is_draw() && !differences_.incomplete(k))) return {sums_[at(k)] / norm, 0.0};
        const auto [score, error] = target_scores_->score(k);
        return {options_.closed_form ? score * means_.total_weight() : score, error};
    };
    write_scores(differences_.columns(), margin_.X().n_cols(), options_.n_targets, is_draw(), score_of, result);
}

bool ReliefFit::has_short_list(const Margin& margin, const Target& target, const fastfs_relief_options& options) {
    if (target.classes() && margin.expects_missing()) return false;
    const NeighborRule rule(options, target, margin.sample_weights());
    return rule.by_totals() || rule.most_neighbors() * 8 <= margin.X().n_rows();
}

}  // namespace

// Replaces the n scores s of the result by max(s, 0) / |max(s, 0)|, and warns if none is positive.
void normalize_closed_form(std::int64_t n, fastfs_relief_result& result) {
    double squares = 0;
    for (std::int64_t c = 0; c < n; ++c) {
        result.scores[c] = std::max(result.scores[c], 0.0);
        squares += result.scores[c] * result.scores[c];
    }
    if (squares == 0)
        warn("no_weight",
             "no feature is nearer among hits than among misses, so all scores are 0: check the "
             "labels, or choose another method");
    for (std::int64_t c = 0; c < n && squares > 0; ++c) result.scores[c] /= std::sqrt(squares);
}

// Fits a method of the RELIEF family with the strategy that the rule needs, and fills the result.
void relief(const Margin& margin, const Target& target, const fastfs_relief_options& options, Run& run,
            Owned<fastfs_relief_result>& result) {
    if (const Classes* classes = target.classes()) margin.warn(*classes, options.method == FASTFS_RELIEF);
    require(target.classes() || options.method == FASTFS_RRELIEFF || target.total_weight() >= 2,
            "sample_weights must add up to at least 2, or numbers have no standard deviation by which samples are "
            "near; got ",
            target.total_weight(), ": give the number of samples that each stands for");
    if (ReliefFit::has_short_list(margin, target, options)) {
        ListedPairs(margin, target, options, run).compute(result);
    } else {
        PairMatrix(margin, target, options, run).compute(result);
    }
    if (options.closed_form) normalize_closed_form(margin.X().n_cols(), result);
}

}  // namespace fastfs::core
