#include "margin/relief.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "margin/neighbors.hpp"
#include "margin/targets.hpp"
#include "support/errors.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// The score of feature a is W_a = sum of w_n g_nj d_nj(a) over targets n and their neighbors j, divided by the sum of
// the w_n, with g = factor * strength of the neighbor. Where values of a are missing, factors count the neighbors that
// have a: then, and where each target's part is wanted, a feature's sum is taken target by target.

// Samples whose distances to all are held at once, where not those of all are.
constexpr std::int64_t kRowsPerBlock = 256;
constexpr std::int64_t kRowsPerTask = 16;

// Targets whose many neighbors are held as a list.
constexpr std::int64_t kTargetsGrouped = 64;

// Sums of a rule by totals: those of both groups, and their weights.
constexpr std::int64_t kTotals = 4;

// A neighbor of the target number t.
struct Found {
    std::int64_t t;
    Neighbor neighbor;
};

// What a block of targets found, in the order of the targets: pairs with w_n g, or all that is known of them.
struct Findings {
    std::vector<WeightedPair> pairs;
    std::vector<Found> all;
    std::int64_t n_alone = 0, n_apart = 0;

    void add(const Findings& more) {
        pairs.insert(pairs.end(), more.pairs.begin(), more.pairs.end());
        all.insert(all.end(), more.all.begin(), more.all.end());
        n_alone += more.n_alone;
        n_apart += more.n_apart;
    }
};

class Scores {
  public:
    Scores(const Margin& margin, const Target& target, const fastfs_relief_options& options, Run& run)
        : margin_(margin),
          differences_(margin.differences()),
          options_(options),
          run_(run),
          n_(margin.X().n_rows()),
          rule_(options, target, margin.sample_weights()),
          chosen_(draw_targets(target.classes() ? target.classes()->labels.data() : nullptr, target.n_groups(), n_,
                               options.n_targets, options.seed)),
          targets_(differences_.targets(chosen_.rows, run)),
          expected_(target.classes() ? margin.expected(*target.classes()) : nullptr),
          kept_(expected_ && !margin.distances_are_given() ? nullptr : margin.distances(squared())),
          listed_(!expected_ && (rule_.by_totals() || rule_.most() * 8 <= n_)),
          drawn_(!targets_.all()),
          means_(chosen_, weights_of_targets(), drawn_),
          by_target_(drawn_ || differences_.ignores_gaps()),
          by_means_(!drawn_ && differences_.adds_means() && rule_.takes_means()) {
        if (kept_ || expected_) rule_.set_rounding(margin.rounding());
    }

    void compute(fastfs_relief_result& result);

  private:
    bool squared() const { return options_.method == FASTFS_RELIEF; }
    // Whether more than w_n g must be known of each neighbor.
    bool in_detail() const { return by_target_ || rule_.by_totals(); }
    Summed summed() const {
        if (squared() && !options_.closed_form) return Summed::kSquares;
        const bool varied = options_.method == FASTFS_SWRF || margin_.is_weighted() ||
                            (rule_.by_totals() && differences_.ignores_gaps());
        return varied ? Summed::kVaried : Summed::kDifferences;
    }
    // Rows of parts_.
    std::int64_t n_parts() const {
        return !by_target_          ? 0
               : !rule_.by_totals() ? means_.n_rows()
                                    : kTotals + (drawn_ ? kTotals * (kTotals + 1) / 2 : 0);
    }
    Numbers weights_of_targets() const {
        Numbers weights;
        for (const std::int64_t row : chosen_.rows) weights.push_back(margin_.sample_weights()[at(row)]);
        return weights;
    }
    void ask_for_memory();
    void find_all_pairs(double* rows, std::int64_t block);
    void compute_rows(const Targets& targets, std::int64_t first, std::int64_t last, double* rows);
    Findings find(std::int64_t first, std::int64_t last, double* rows);
    GroupedNeighbors grouped(const std::vector<Found>& found, std::int64_t first, std::int64_t last) const;
    std::vector<WeightedPair> weighted(const std::vector<Found>& found, const Numbers& totals) const;
    void add_by_target(const std::vector<Found>& found, std::int64_t first, std::int64_t last);
    void add_to_bins(const std::vector<Found>& found, std::int64_t first, std::int64_t last);
    std::pair<double, double> score_by_target(std::int64_t k) const;
    void finish(fastfs_relief_result& result);

    const Margin& margin_;
    const Differences& differences_;
    const fastfs_relief_options& options_;
    Run& run_;
    std::int64_t n_;
    NeighborRule rule_;
    const DrawnTargets chosen_;
    Targets targets_;
    const std::unique_ptr<const ExpectedDifferences> expected_;
    const double* kept_;
    bool listed_, drawn_;
    const TargetMeans means_;
    bool by_target_;
    bool by_means_;  // in the place of sums target by target
    bool found_few_ = false;
    bool stored_ = false;
    std::int64_t block_ = 0;  // targets at once
    Numbers sums_;            // of features
    Numbers parts_;           // rows by target, see add_by_target
    NeighborBins bins_;
    std::int64_t n_parts_ = 0;
};

// Distances of the targets first..last - 1, given or made.
void Scores::compute_rows(const Targets& targets, std::int64_t first, std::int64_t last, double* rows) {
    const double* base = expected_ ? margin_.distances(squared()) : nullptr;
    if (base) {
        parallel_for(run_, last - first,
                     [&](std::int64_t t, int) { std::copy_n(base + targets.row(first + t) * n_, n_, rows + t * n_); });
    } else {
        differences_.distances(targets, first, last, squared(), rows, n_, run_);
    }
    if (expected_) expected_->add_to_distances(targets, first, last, rows, run_);
}

// Mean and deviation of the distances of all pairs, those of each row put together (Chan, Golub and LeVeque 1983).
void Scores::find_all_pairs(double* rows, std::int64_t block) {
    const Numbers& weights = margin_.sample_weights();
    std::vector<Moments> moments(at(n_));
    Numbers totals(at(n_));
    const auto of_rows = [&](std::int64_t first, std::int64_t last, const double* distances) {
        parallel_for(run_, last - first, [&](std::int64_t i, int) {
            const std::int64_t row = first + i;
            moments[at(row)] = row_moments(distances + i * n_, row, weights, &totals[at(row)]);
        });
    };
    if (kept_) {
        of_rows(0, n_, kept_);
    } else {
        std::vector<std::int64_t> every(at(n_));
        std::iota(every.begin(), every.end(), std::int64_t{0});
        const Targets all = differences_.targets(std::move(every), run_);
        for (std::int64_t first = 0; first < n_; first += block) {
            const std::int64_t last = std::min(first + block, n_);
            const Run::Part part(run_, 0.4 * static_cast<double>(first) / static_cast<double>(n_),
                                 0.4 * static_cast<double>(last) / static_cast<double>(n_));
            compute_rows(all, first, last, rows);
            of_rows(first, last, rows);
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

// Replaces the rows of distances by those of w_n g, unless pairs are listed.
Findings Scores::find(std::int64_t first, std::int64_t last, double* rows) {
    const Numbers& weights = margin_.sample_weights();
    const std::int64_t n_tasks = ceil_div(last - first, kRowsPerTask), n_groups = rule_.n_groups();
    std::vector<Findings> of_task(at(n_tasks));
    std::vector<NeighborRule> rules(at(run_.n_threads()), rule_);  // each with its own scratch
    parallel_for(run_, n_tasks, [&](std::int64_t task, int slot) {
        Findings& findings = of_task[at(task)];
        NeighborRule& rule = rules[at(slot)];
        std::vector<Neighbor> neighbors;
        Numbers group_weights(at(n_groups)), factors(at(n_groups));
        const std::int64_t begin = first + task * kRowsPerTask, end = std::min(begin + kRowsPerTask, last);
        for (std::int64_t t = begin; t < end; ++t) {
            const std::int64_t n = targets_.row(t);
            double* row = rows + (t - first) * n_;
            const double* distances = kept_ ? kept_ + n * n_ : row;
            neighbors.clear();
            if (!rule.find(n, distances, neighbors)) ++findings.n_alone;
            if (differences_.ignores_gaps()) {
                for (std::int64_t j = 0; j < n_; ++j) findings.n_apart += j != n && std::isnan(distances[j]);
            }
            std::fill(group_weights.begin(), group_weights.end(), 0.0);
            for (const Neighbor& one : neighbors) group_weights[at(one.group)] += one.weight;
            rule.factors(n, group_weights.data(), factors.data());
            if (!listed_) std::fill_n(row, n_, 0.0);
            for (const Neighbor& one : neighbors) {
                const double g = factors[at(one.group)] * one.strength * weights[at(n)];
                if (in_detail()) findings.all.push_back({t, one});
                if (listed_ && !drawn_ && !rule_.by_totals()) findings.pairs.push_back({n, one.j, g});
                if (!listed_) row[one.j] = g;
            }
        }
    });
    for (const NeighborRule& rule : rules) found_few_ = found_few_ || rule.found_few();
    Findings found;
    for (auto& some : of_task) found.add(some);
    return found;
}

GroupedNeighbors Scores::grouped(const std::vector<Found>& found, std::int64_t first, std::int64_t last) const {
    const std::int64_t n_groups = rule_.n_groups(), n_bins = (last - first) * n_groups;
    run_.require_memory(static_cast<std::int64_t>(found.size()) * 24 + n_bins * 16, "the neighbors of each target",
                        "give n_targets");
    GroupedNeighbors neighbors{n_groups, std::vector<std::int64_t>(at(n_bins + 1)), {}, {}, {}};
    const auto bin = [&](const Found& one) { return at((one.t - first) * n_groups + one.neighbor.group); };
    for (const Found& one : found) ++neighbors.begins[bin(one) + 1];
    std::partial_sum(neighbors.begins.begin(), neighbors.begins.end(), neighbors.begins.begin());
    neighbors.samples.resize(found.size());
    neighbors.strengths.resize(found.size());
    neighbors.weights.resize(found.size());
    auto next = neighbors.begins;
    for (const Found& one : found) {
        const auto p = at(next[bin(one)]++);
        neighbors.samples[p] = one.neighbor.j;
        neighbors.strengths[p] = one.neighbor.strength;
        neighbors.weights[p] = one.neighbor.weight;
    }
    return neighbors;
}

// Pairs of a rule by totals, whose factors are known now.
std::vector<WeightedPair> Scores::weighted(const std::vector<Found>& found, const Numbers& totals) const {
    Numbers factors(totals.size());
    rule_.factors(0, totals.data(), factors.data());
    std::vector<WeightedPair> pairs;
    pairs.reserve(found.size());
    for (const auto& [t, neighbor] : found) {
        pairs.push_back({targets_.row(t), neighbor.j, factors[at(neighbor.group)] * neighbor.strength});
    }
    return pairs;
}

// Rows of parts_: those of TargetMeans. Of a rule by totals the sums over all targets of u_n, the sum and the weight of
// one group and then of the other, and of products of these.
void Scores::add_by_target(const std::vector<Found>& found, std::int64_t first, std::int64_t last) {
    const auto combine = [&](std::int64_t t, std::int64_t, std::int64_t n_features, const double* sums,
                             const double* counts, std::int64_t ld, double* out, std::int64_t out_ld) {
        if (rule_.by_totals()) {
            for (std::int64_t k = 0; k < n_features; ++k) {
                const double u[kTotals] = {sums[k], counts[k], sums[ld + k], counts[ld + k]};
                double* to = out + k;
                for (std::int64_t i = 0; i < kTotals; ++i, to += out_ld) *to += u[i];
                for (std::int64_t i = 0; i < kTotals && drawn_; ++i) {
                    for (std::int64_t j = 0; j <= i; ++j, to += out_ld) *to += u[i] * u[j];
                }
            }
            return;
        }
        means_.add(rule_, targets_.row(t), t, n_features, sums, counts, ld, out, out_ld);
    };
    differences_.sums(targets_, first, grouped(found, first, last), summed(), !drawn_, n_parts_, combine, parts_.data(),
                      run_);
}

void Scores::add_to_bins(const std::vector<Found>& found, std::int64_t first, std::int64_t last) {
    const GroupedNeighbors neighbors = grouped(found, first, last);
    Numbers shares(at(rule_.n_groups()));
    for (std::int64_t bin = 0; bin + 1 < std::ssize(neighbors.begins); ++bin) {
        const std::int64_t row = targets_.row(first + bin / neighbors.n_groups), group = bin % neighbors.n_groups;
        if (group == 0) rule_.shares(row, shares.data());
        const std::int64_t begin = neighbors.begins[at(bin)], end = neighbors.begins[at(bin + 1)];
        if (begin == end) continue;
        for (std::int64_t p = begin; p < end; ++p) {
            bins_.members.push_back(static_cast<std::int32_t>(neighbors.samples[at(p)]));
        }
        bins_.begins.push_back(std::ssize(bins_.members));
        bins_.targets.push_back(static_cast<std::int32_t>(row));
        bins_.shares.push_back(shares[at(group)]);
    }
}

void Scores::ask_for_memory() {
    const std::int64_t bytes_of_pair = in_detail() ? 224 : 120;  // with what feature_sums and grouped make of it
    const char* hint = "give n_targets, or fewer samples";
    if (listed_ && !run_.is_question()) {
        run_.require_memory(targets_.size() * rule_.most() * bytes_of_pair, "a list of neighbors", hint);
    }
    const std::int64_t value = margin_.X().is_float32() ? 4 : 8, weights = listed_ ? 0 : n_ * n_ * value / 2;
    const bool fits = !drawn_ && run_.allows(stored_distances_memory(n_) + weights);
    stored_ = kept_ || fits;
    block_ = (kept_ && listed_) || fits ? targets_.size() : std::min(kRowsPerBlock, targets_.size());
    if (!run_.is_question()) return;
    // With the gaps that pairs share, and the neighbors of all targets in vectors that grow.
    const Matrix& X = margin_.X();
    const std::int64_t gaps = differences_.ignores_gaps() ? block_ * n_ * 4 + targets_.size() * rule_.most() * 12 : 0;
    const std::int64_t of_genotypes =
        X.is_genotypes() ? GenotypePairs::memory(n_, X.n_cols(), gaps > 0, run_.n_threads()) + gaps : 0;
    run_.require_memory((48 + 16 * n_parts()) * X.n_cols() + stored_distances_memory(1) +
                            (listed_ ? targets_.size() * rule_.most() * bytes_of_pair : 0) +
                            (!kept_ || !listed_ ? block_ * n_ * 8 : 0) + weights / n_ * block_ +
                            (by_target_ && !listed_ ? std::min(kTargetsGrouped, block_) * n_ * bytes_of_pair : 0) +
                            (expected_ ? expected_->memory(run_.n_threads()) : 0) + of_genotypes +
                            (margin_.X().is_sparse() ? 0 : Targets::memory(margin_.X(), targets_.size())),
                        "looking up neighbors", hint);
}

void Scores::compute(fastfs_relief_result& result) {
    ask_for_memory();
    const std::int64_t n_targets = targets_.size();
    const std::int64_t block = block_;
    Buffer<double> rows;
    if (!kept_ || !listed_) {
        run_.require_memory(block * n_ * 8, "a block of distances", "give n_targets, or fewer samples");
        rows = Buffer<double>(block * n_);
    }
    sums_ = numbers(differences_.n_features());
    n_parts_ = n_parts();
    parts_ = numbers(n_parts_ * differences_.n_features());

    run_.step("neighbors", listed_ ? 0.9 : by_means_ ? 0.5 : 1.0);
    const bool all_pairs = NeighborRule::needs_all_pairs(options_);
    if (all_pairs) find_all_pairs(rows.data(), block);
    const bool rows_are_made = all_pairs && block == n_ && !drawn_;
    Findings listed;
    for (std::int64_t first = 0; first < n_targets; first += block) {
        const std::int64_t last = std::min(first + block, n_targets);
        const auto share = [&](double done) {
            return (static_cast<double>(first) + done * static_cast<double>(last - first)) /
                   static_cast<double>(n_targets);
        };
        if (!kept_ && !rows_are_made) {
            const Run::Part part(run_, share(0), share(listed_ ? 0.9 : 0.45));
            compute_rows(targets_, first, last, rows.data());
        }
        {
            const Run::Part part(run_, share(listed_ ? 0.9 : 0.45), share(listed_ ? 1.0 : 0.6));
            const std::int64_t step = by_target_ && !listed_ ? kTargetsGrouped : last - first;
            for (std::int64_t t = first; t < last; t += step) {
                const std::int64_t end = std::min(t + step, last);
                Findings found = find(t, end, rows.data() + (t - first) * n_);
                if (!listed_ && by_target_) {
                    by_means_ ? add_to_bins(found.all, t, end) : add_by_target(found.all, t, end);
                    found.all.clear();
                }
                listed.add(found);
            }
        }
        if (listed_) continue;
        const Run::Part part(run_, share(0.6), share(1));
        if (!drawn_) {
            differences_.sums(targets_, first, last, rows.data(), summed(), by_target_, sums_.data(), run_);
            if (expected_) expected_->add_to_sums(targets_, first, last, rows.data(), sums_.data(), run_);
        }
    }
    rows = Buffer<double>();
    if (listed_ || by_means_) run_.step("scores", 1.0);
    if (listed_) {
        if (rule_.by_totals()) {
            Numbers totals(at(rule_.n_groups()));
            for (const Found& one : listed.all) totals[at(one.neighbor.group)] += one.neighbor.weight;
            require(totals[0] > 0, "the numbers of all neighbors are equal: use more neighbors");
            if (!drawn_) listed.pairs = weighted(listed.all, totals);
        }
        if (by_means_) {
            add_to_bins(listed.all, 0, n_targets);
        } else if (by_target_) {
            add_by_target(listed.all, 0, n_targets);
        }
        listed.all = {};
        if (!drawn_) differences_.sums(listed.pairs, summed(), by_target_, sums_.data(), run_);
    }
    if (by_means_) differences_.add_means(bins_, parts_.data(), run_);

    if (found_few_ && !rule_.by_totals()) result.warnings |= FASTFS_MARGIN_FEW_NEIGHBORS;
    if (listed.n_alone == n_targets) result.warnings |= FASTFS_MARGIN_NO_NEIGHBORS;
    if (listed.n_apart > 0) result.warnings |= FASTFS_MARGIN_APART;
    result.n_alone = listed.n_alone;
    result.n_apart = listed.n_apart;
    result.stored = stored_;
    finish(result);
}

// The score of feature k, and its standard error over draws of the targets, M out of N, which isn't known of a
// single one.
std::pair<double, double> Scores::score_by_target(std::int64_t k) const {
    const std::int64_t n_features = differences_.n_features();
    if (!rule_.by_totals()) return means_.of(parts_.data(), n_features, k);
    const auto part = [&](std::int64_t row) { return parts_[at(row * n_features + k)]; };
    const auto M = static_cast<double>(targets_.size());
    const double shrink =
        M > 1 ? std::sqrt((1 - M / static_cast<double>(n_)) / (M - 1)) : std::numeric_limits<double>::quiet_NaN();
    // A difference of two ratios of sums, of which a target's part is a'u_n to first order.
    double score = 0, a[kTotals] = {}, square = 0;
    for (std::int64_t group = 0; group < 2; ++group) {
        const double sum = part(2 * group), weight = part(2 * group + 1), sign = group == 0 ? 1 : -1;
        if (weight == 0) continue;
        score += sign * sum / weight;
        a[2 * group] = sign / weight;
        a[2 * group + 1] = -sign * sum / (weight * weight);
    }
    std::int64_t row = kTotals;
    for (std::int64_t i = 0; i < kTotals && drawn_; ++i) {
        for (std::int64_t j = 0; j <= i; ++j, ++row) square += (i == j ? 1 : 2) * a[i] * a[j] * part(row);
    }
    return {score, std::sqrt(std::max(0.0, square) * M) * shrink};
}

void Scores::finish(fastfs_relief_result& result) {
    const auto& columns = differences_.columns();
    std::fill_n(result.scores, margin_.X().n_cols(), 0.0);
    if (result.scores_se) std::fill_n(result.scores_se, margin_.X().n_cols(), 0.0);
    const double norm = rule_.by_totals() || options_.closed_form ? 1.0 : means_.total_weight();
    for (std::int64_t k = 0; k < differences_.n_features(); ++k) {
        double& score = result.scores[columns[at(k)]];
        if (!by_target_ || (!drawn_ && !differences_.incomplete(k))) {
            score = sums_[at(k)] / norm;
            continue;
        }
        const auto [found, error] = score_by_target(k);
        score = options_.closed_form ? found * means_.total_weight() : found;
        if (result.scores_se && drawn_) result.scores_se[columns[at(k)]] = error;
    }
}

}  // namespace

void normalize_closed_form(std::int64_t n, fastfs_relief_result& result) {
    double squares = 0;
    for (std::int64_t c = 0; c < n; ++c) {
        result.scores[c] = std::max(result.scores[c], 0.0);
        squares += result.scores[c] * result.scores[c];
    }
    if (squares == 0) result.warnings |= FASTFS_MARGIN_NO_WEIGHT;
    for (std::int64_t c = 0; c < n && squares > 0; ++c) result.scores[c] /= std::sqrt(squares);
}

void relief(const Margin& margin, const Target& target, const fastfs_relief_options& options, Run& run,
            fastfs_relief_result& result) {
    if (const Classes* classes = target.classes()) result.warnings = margin.warnings(*classes);
    require(
        target.classes() || options.method == FASTFS_RRELIEFF || target.total_weight() >= 2,
        "sample weights must add up to at least 2, or numbers have no standard deviation by which samples are near; "
        "these add up to ",
        target.total_weight(), ": give the number of samples that each stands for");
    Scores(margin, target, options, run).compute(result);
    if (options.closed_form) normalize_closed_form(margin.X().n_cols(), result);
}

}  // namespace fastfs::core
