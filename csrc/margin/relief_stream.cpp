#include "margin/relief_stream.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "margin/data_warnings.hpp"
#include "margin/relief.hpp"
#include "margin/target_scores.hpp"
#include "support/errors.hpp"
#include "support/fingerprint.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// Targets with neighbors that are put into one table, from which their differences are summed together.
constexpr std::int64_t kStreamTargets = 64;

constexpr const char* kHint = "give a smaller n_targets";
constexpr const char* kOneForm =
    "all blocks of X must have the dtype of the first, and be sparse if that is: convert them";

}  // namespace

// Adds the row to this heap of at most k rows if it is among the k nearest so far, in place of the farthest.
void ReliefStream::NearestRows::offer(const NearRow& one, std::size_t k) {
    if (size() == k) {
        if (!(one < front())) return;
        std::pop_heap(begin(), end());
        back() = one;
    } else {
        push_back(one);
    }
    std::push_heap(begin(), end());
}

ReliefStream::ReliefStream(std::int64_t n_rows, std::int64_t n_cols, const std::int64_t* labels, std::int64_t n_classes,
                           Scaling scaling, const fastfs_relief_options& options)
    : rows_(n_rows), scales_(n_cols, scaling) {
    auto plan = std::make_shared<Plan>();
    plan->n_rows = n_rows;
    plan->n_cols = n_cols;
    plan->scaling = scaling;
    plan->labels.assign(labels, labels + n_rows);
    plan->class_sizes.assign(at(n_classes), 0);
    for (std::int64_t r = 0; r < n_rows; ++r) ++plan->class_sizes[at(labels[r])];
    plan->priors = options.priors ? Numbers(options.priors, options.priors + n_classes)
                                  : Numbers(plan->class_sizes.begin(), plan->class_sizes.end());
    plan->targets = draw_targets(labels, n_classes, n_rows, options.n_targets, options.seed);
    plan->options = options;
    plan->options.n_neighbors = std::min(options.n_neighbors, n_rows);
    plan->options.priors = nullptr;
    plan->fingerprint = Fingerprint()
                            .hash(n_rows)
                            .hash(n_cols)
                            .hash(plan->labels)
                            .hash(n_classes)
                            .hash(static_cast<std::int64_t>(scaling))
                            .hash(options.method)
                            .hash(options.closed_form)
                            .hash(plan->k())
                            .hash(options.priors ? plan->priors : Numbers())
                            .hash(plan->targets.rows)
                            .value();
    plan_ = std::move(plan);
}

void ReliefStream::require_like(const Matrix& X) const {
    require(scales_.has_form_of(X), kOneForm);
    require(!X.is_sparse() || (!plan_->squared() && plan_->scaling != Scaling::kStandard),
            "X must be dense for RELIEF and for scaling by variance; got a sparse X: make it dense");
}

void ReliefStream::require_like(const ReliefStream& other) const {
    require(scales_.has_form_of(other.scales_), kOneForm);
}

void ReliefStream::update(const Matrix& X, std::int64_t first_row, Run& run) {
    run.step("reading rows", 1.0);
    rows_.require_new(first_row, first_row + X.n_rows());
    if (search_) {
        find_nearest(X, first_row, run);
        return;
    }
    const auto& targets = plan_->targets.rows;
    const auto begin = std::lower_bound(targets.begin(), targets.end(), first_row),
               end = std::lower_bound(begin, targets.end(), first_row + X.n_rows());
    std::int64_t more = 0;
    for (auto t = begin; t != end; ++t) more += KeptRows::memory(X, *t - first_row);
    run.require_memory(kept_memory() + more, "the targets so far, and the ranges of the features,", kHint);
    const Numbers stored = X.is_sparse() ? stored_by_column(X, run) : Numbers();
    scales_.add_block(X, run);  // all or nothing
    Intact::Change change(intact_);
    n_stored_.resize(std::max(n_stored_.size(), stored.size()));
    for (std::size_t c = 0; c < stored.size(); ++c) n_stored_[c] += stored[c];
    for (auto t = begin; t != end; ++t) target_rows_.keep_row(X, *t - first_row, *t);
    rows_.add_rows(first_row, first_row + X.n_rows());
    change.finish();
}

Differences ReliefStream::scaled_differences(const Matrix& X, const Search& search, Run& run) const {
    const fastfs_margin_options plain = FASTFS_MARGIN_OPTIONS_INIT;
    return Differences(X, search.scales, plain, search.columns, nullptr, run, &search.split);
}

void ReliefStream::next_pass(Run& run) {
    run.require_memory(memory_of_pass(2), {"the nearest rows of ", plan_->targets.size(), " targets"}, kHint);
    auto search = std::make_shared<Search>();
    search->scales = scales_.scales();
    for (std::int64_t c = 0; c < n_cols(); ++c) {
        if (search->scales.factor[at(c)] != 0) search->columns.push_back(c);
    }
    if (!n_stored_.empty()) search->split = split_by_density(n_stored_, n_rows(), search->columns);
    search->targets = target_rows_.matrix(n_cols());
    search->differences.reset(new Differences(scaled_differences(*search->targets.matrix, *search, run)));
    search->fingerprint = Fingerprint()
                              .hash(search->scales.shift)
                              .hash(search->scales.factor)
                              .hash(search->targets.values.data(), search->targets.values.size())
                              .value();
    std::vector<NearestRows> nearest(at(plan_->targets.size() * n_classes()));
    // Nothing fails from here on.
    search_ = std::move(search);
    nearest_ = std::move(nearest);
    rows_.clear();
}

std::int64_t ReliefStream::memory_of_pass(int pass) const {
    const std::int64_t n_lists = plan_->targets.size() * n_classes(), of_scales = 64 * n_cols();
    if (pass == 1) return of_scales + target_rows_.memory();
    // Counts three copies of the targets: rows, the matrix made of them, and the parts that Differences makes of the
    // matrix.
    return of_scales + 3 * target_rows_.memory() + n_lists * (plan_->k() * 16 + 24);
}

// Offers the rows of a block to the nearest rows of each target and class, and stores the rows that are neighbors so
// far.
void ReliefStream::find_nearest(const Matrix& X, std::int64_t first_row, Run& run) {
    const std::int64_t n = X.n_rows(), n_drawn = plan_->targets.size();
    const std::int64_t n_packed = n + Differences::kOthers,
                       n_dense = std::ssize(X.is_sparse() ? search_->split.dense : search_->columns);
    std::int64_t all_of_block = 0;
    for (std::int64_t r = 0; run.is_question() && r < n; ++r) all_of_block += KeptRows::memory(X, r);
    run.require_memory(kept_memory() + all_of_block + Differences::kOthers * n * 8 +
                           std::min(panels_memory(n_packed), n_packed * (n_dense + 16) * 8) +
                           Differences::memory(X, search_->scales, false, run.n_threads()),
                       {"a block of ", n, " rows with ", n_drawn, " targets and their neighbors so far"},
                       "give smaller blocks, or a smaller n_targets");
    const Differences block = scaled_differences(X, *search_, run);
    Buffer<double> distances(Differences::kOthers * n);
    const std::size_t k = at(plan_->k());
    const std::int32_t* labels = plan_->labels.data() + first_row;
    std::optional<Intact::Change> change;
    for (std::int64_t first = 0; first < n_drawn; first += Differences::kOthers) {
        const std::int64_t last = std::min(first + Differences::kOthers, n_drawn);
        block.distances(*search_->differences, first, last, plan_->squared(), distances.data(), run);
        if (std::any_of(distances.data(), distances.data() + (last - first) * n,
                        [](double d) { return !std::isfinite(d); })) {
            X.row_maxima(run);  // names the value: X has changed since the first pass
        }
        if (!change) change.emplace(intact_);
        parallel_for(run, last - first, [&](std::int64_t t, int) {
            const std::int64_t target_row = plan_->targets.rows[at(first + t)] - first_row;
            const double* to_rows = distances.data() + t * n;
            NearestRows* lists = nearest_.data() + (first + t) * n_classes();
            for (std::int64_t j = 0; j < n; ++j) {
                if (j != target_row) lists[labels[j]].offer({to_rows[j], first_row + j}, k);
            }
        });
    }
    const std::vector<std::int64_t> rows = listed_rows();
    neighbor_rows_.keep_only(rows);
    const auto begin = std::lower_bound(rows.begin(), rows.end(), first_row),
               end = std::lower_bound(begin, rows.end(), first_row + n);
    std::int64_t more = 0;
    for (auto row = begin; row != end; ++row) more += KeptRows::memory(X, *row - first_row);
    run.require_memory(kept_memory() + more, {"keeping the neighbors of ", n_drawn, " targets"}, kHint);
    for (auto row = begin; row != end; ++row) neighbor_rows_.keep_row(X, *row - first_row, *row);
    rows_.add_rows(first_row, first_row + n);
    change->finish();
}

std::vector<std::int64_t> ReliefStream::listed_rows() const {
    std::vector<std::int64_t> rows;
    for (const NearestRows& list : nearest_) {
        for (const NearRow& one : list) rows.push_back(one.row);
    }
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    return rows;
}

void ReliefStream::merge(const ReliefStream& other) {
    rows_.require_new(other.rows_);
    ReliefStream both = *this;  // leaves this stream unchanged if memory runs out
    both.rows_.add_rows(other.rows_);
    if (!search_) {
        both.scales_.merge(other.scales_);
        both.target_rows_.merge(other.target_rows_);
        both.n_stored_.resize(std::max(n_stored_.size(), other.n_stored_.size()));
        for (std::size_t c = 0; c < other.n_stored_.size(); ++c) both.n_stored_[c] += other.n_stored_[c];
    } else {
        const std::size_t k = at(plan_->k());
        for (std::size_t l = 0; l < nearest_.size(); ++l) {
            NearestRows& list = both.nearest_[l];
            for (const NearRow& one : other.nearest_[l]) list.offer(one, k);
            // Fix the order in the heap, so that saved bytes don't depend on the order of merging.
            std::sort(list.begin(), list.end(), [](const NearRow& a, const NearRow& b) { return a.row < b.row; });
            std::make_heap(list.begin(), list.end());
        }
        both.neighbor_rows_.merge(other.neighbor_rows_);
        both.neighbor_rows_.keep_only(both.listed_rows());
    }
    *this = std::move(both);
}

ReliefStream ReliefStream::restarted() const {
    ReliefStream restarted = *this;
    restarted.rows_.clear();
    restarted.nearest_.assign(nearest_.size(), {});
    restarted.neighbor_rows_ = {};
    if (!search_) {
        restarted.scales_ = ScalesOfBlocks(n_cols(), plan_->scaling);
        restarted.n_stored_.clear();
        restarted.target_rows_ = {};
    }
    return restarted;
}

void ReliefStream::save_state(ByteWriter& to) const {
    rows_.save_state(to);
    if (!search_) {
        scales_.save_state(to);
        to.put(n_stored_);
        target_rows_.save_state(to);
        return;
    }
    for (const NearestRows& list : nearest_) to.put(list);
    neighbor_rows_.save_state(to);
}

// Replaces the state of this pass by a saved one, after checking all of it.
void ReliefStream::load_state(ByteReader& from) {
    ReliefStream other = restarted();
    other.rows_.load_state(from);
    const auto load_rows = [&](KeptRows& rows) {
        rows.load_state(from, n_rows(), n_cols(), other.scales_.is_sparse(), other.scales_.is_float32());
    };
    if (!search_) {
        other.scales_.load_state(from, other.rows_.size());
        from.get(other.n_stored_);
        from.expect(other.n_stored_.empty() || std::ssize(other.n_stored_) == n_cols());
        for (const double n : other.n_stored_) from.expect(n >= 0 && std::isfinite(n));
        load_rows(other.target_rows_);
        const auto& targets = plan_->targets.rows;
        for (const std::int64_t row : other.target_rows_.numbers()) {
            from.expect(std::binary_search(targets.begin(), targets.end(), row));
        }
        require_like(other);
    } else {
        for (NearestRows& list : other.nearest_) {
            from.get(list);
            from.expect(std::ssize(list) <= plan_->k());
        }
        load_rows(other.neighbor_rows_);
        for (NearestRows& list : other.nearest_) {
            for (const NearRow& one : list)
                from.expect(one.distance >= 0 && std::isfinite(one.distance) && other.neighbor_rows_.has(one.row));
            std::make_heap(list.begin(), list.end());  // for any order of the saved rows
        }
    }
    from.expect_end();
    *this = std::move(other);
}

std::vector<ReliefStream::RowsByGroup> ReliefStream::neighbors(std::int64_t first, std::int64_t last,
                                                               const std::vector<std::int64_t>& merged_class,
                                                               std::int64_t n_merged) const {
    std::vector<RowsByGroup> neighbors;
    for (std::int64_t t = first; t < last; ++t) {
        const std::int64_t target_class = merged_class[at(plan_->labels[at(plan_->targets.rows[at(t)])])];
        RowsByGroup& groups = neighbors.emplace_back(at(plan_->squared() ? 2 : n_merged));
        std::vector<NearestRows> lists(groups.size());
        for (std::int64_t c = 0; c < n_classes(); ++c) {
            const std::int64_t merged = merged_class[at(c)], group = plan_->squared() ? merged != target_class : merged;
            for (const NearRow& near : nearest_[at(t * n_classes() + c)]) lists[at(group)].offer(near, at(plan_->k()));
        }
        for (std::size_t group = 0; group < groups.size(); ++group) {
            for (const NearRow& near : lists[group]) groups[group].push_back(near.row);
            std::sort(groups[group].begin(), groups[group].end());  // so that float sums are those of a fit in memory
        }
        // A miss alone would only tell how far samples are apart.
        if (plan_->squared() && groups[0].empty()) groups[1].clear();
    }
    return neighbors;
}

namespace {

std::int64_t place_of(std::int64_t row, const std::vector<std::int64_t>& rows) {
    return std::lower_bound(rows.begin(), rows.end(), row) - rows.begin();
}

}  // namespace

GroupedNeighbors ReliefStream::group_by_target(const std::vector<RowsByGroup>& neighbors,
                                               const std::vector<std::int64_t>& rows) {
    GroupedNeighbors grouped{std::ssize(neighbors.front()), {0}, {}, {}, {}};
    for (const RowsByGroup& groups : neighbors) {
        for (const auto& group : groups) {
            for (const std::int64_t row : group) grouped.samples.push_back(place_of(row, rows));
            grouped.begins.push_back(std::ssize(grouped.samples));
        }
    }
    grouped.strengths.assign(grouped.samples.size(), 1.0);
    grouped.weights.assign(grouped.samples.size(), 1.0);
    return grouped;
}

void ReliefStream::scores(const std::int64_t* merged, std::int64_t n_merged, Run& run,
                          Owned<fastfs_relief_result>& result) const {
    const auto& targets = plan_->targets;
    std::vector<std::int64_t> merged_class = up_to(n_classes());
    if (merged) {
        merged_class.assign(merged, merged + n_classes());
    } else {
        n_merged = n_classes();
    }
    std::vector<std::int64_t> class_sizes(at(n_merged));
    Numbers priors(at(n_merged));
    for (std::int64_t c = 0; c < n_classes(); ++c) {
        class_sizes[at(merged_class[at(c)])] += plan_->class_sizes[at(c)];
        priors[at(merged_class[at(c)])] += plan_->priors[at(c)];
    }
    fastfs_relief_options options = plan_->options;
    options.priors = priors.data();

    const bool is_draw = targets.size() < n_rows();
    const TargetMeans means(targets, Numbers(at(targets.size()), 1.0), is_draw);
    const auto n_features = std::ssize(search_->columns);
    Numbers sums(at(means.n_rows() * n_features));
    KeptRows rows = target_rows_;
    rows.merge(neighbor_rows_);
    bool found_few = false;
    std::int64_t n_alone = 0;
    run.step("scores", 1.0);
    for (std::int64_t first = 0; first < targets.size(); first += kStreamTargets) {
        const std::int64_t last = std::min(first + kStreamTargets, targets.size());
        const Run::Part part(run, share(first, targets.size()), share(last, targets.size()));
        const std::vector<RowsByGroup> target_neighbors = neighbors(first, last, merged_class, n_merged);
        std::vector<std::int64_t> table_rows(targets.rows.begin() + first, targets.rows.begin() + last);
        for (const RowsByGroup& groups : target_neighbors) {
            bool alone = true;
            for (const auto& group : groups) {
                table_rows.insert(table_rows.end(), group.begin(), group.end());
                found_few = found_few || std::ssize(group) < plan_->k();
                alone = alone && group.empty();
            }
            n_alone += alone;
        }
        std::sort(table_rows.begin(), table_rows.end());
        table_rows.erase(std::unique(table_rows.begin(), table_rows.end()), table_rows.end());

        KeptRows rows_of_table = rows;
        rows_of_table.keep_only(table_rows);
        run.require_memory(kept_memory() + 4 * rows_of_table.memory() + means.n_rows() * n_features * 24,
                           "targets and their neighbors", kHint);
        const OwnedMatrix table = rows_of_table.matrix(n_cols());
        const Differences table_differences = scaled_differences(*table.matrix, *search_, run);
        std::vector<std::int64_t> labels, target_places;
        for (const std::int64_t row : table_rows) labels.push_back(merged_class[at(plan_->labels[at(row)])]);
        for (std::int64_t t = first; t < last; ++t) target_places.push_back(place_of(targets.rows[at(t)], table_rows));
        const Target target(Classes(labels.data(), std::ssize(table_rows), n_merged));
        const Numbers ones(table_rows.size(), 1.0);
        const NeighborRule rule(options, target, ones);
        const auto add_target = [&](std::int64_t t, std::int64_t, std::int64_t n, const double* group_sums,
                                    const double* counts, std::int64_t ld, double* out, std::int64_t out_ld) {
            means.add_target(rule, target_places[at(t)], first + t, n, group_sums, counts, ld, out, out_ld);
        };
        const Summed summed = plan_->squared() && !options.closed_form ? Summed::kSquares : Summed::kDifferences;
        table_differences.sums(table_differences.targets(target_places, run), 0,
                               group_by_target(target_neighbors, table_rows), summed, false, means.n_rows(), add_target,
                               sums.data(), run);
    }

    const auto score_of = [&](std::int64_t k) -> ScoreWithError {
        const auto [mean, error] = means.mean_and_error(sums.data(), n_features, k);
        return {options.closed_form ? mean * means.total_weight() : mean, error};
    };
    write_scores(search_->columns, n_cols(), options.n_targets, is_draw, score_of, result);
    if (options.closed_form) normalize_closed_form(n_cols(), result);
    warn_of_data(class_sizes, search_->scales.uneven, plan_->squared());
    if (found_few) warn_of_few_neighbors(options, Numbers(class_sizes.begin(), class_sizes.end()));
    if (n_alone == targets.size()) warn_of_no_neighbors();
    result.n_alone = n_alone;
}

}  // namespace fastfs::core
