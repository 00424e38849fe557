#include "margin/neighbors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fastfs::core {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

bool has_radius(const fastfs_relief_options& o) {
    return o.method == FASTFS_SURF || o.method == FASTFS_MULTISURF || o.method == FASTFS_SWRF;
}

bool has_radius_of_all_pairs(const fastfs_relief_options& o) {
    return o.method == FASTFS_SURF || (o.method == FASTFS_SWRF && o.radius == FASTFS_RADIUS_ALL);
}

}  // namespace

Moments row_moments(const double* distances, std::int64_t n, const Numbers& weights, double* total) {
    const auto n_samples = static_cast<std::int64_t>(weights.size());
    const auto weight = [&](std::int64_t j) { return j == n || std::isnan(distances[j]) ? 0.0 : weights[at(j)]; };
    // Measure distances from the first one, so that equal distances are equal to their mean to the bit.
    std::int64_t first = 0;
    while (first < n_samples && weight(first) == 0) ++first;
    if (total) *total = 0;
    if (first == n_samples) return {};
    const double origin = distances[first];
    double sum = 0, count = 0, squares = 0;
    for (std::int64_t j = 0; j < n_samples; ++j) {
        const double w = weight(j);
        sum += w == 0 ? 0.0 : w * (distances[j] - origin);
        count += w;
    }
    const double mean = origin + sum / count;
    for (std::int64_t j = 0; j < n_samples; ++j) {
        const double w = weight(j), difference = w == 0 ? 0.0 : distances[j] - mean;
        squares += w * difference * difference;
    }
    if (total) *total = count;
    return {mean, std::sqrt(squares / count)};
}

// Sets the groups, the priors of the classes (the options', or the classes' weights), and the n_neighbors and dead band
// that the method uses.
NeighborRule::NeighborRule(const fastfs_relief_options& options, const Target& target, const Numbers& weights)
    : options_(options),
      target_(target),
      weights_(weights),
      weighted_(std::any_of(weights.begin(), weights.end(), [](double w) { return w != 1; })),
      n_samples_(static_cast<std::int64_t>(weights.size())),
      n_groups_(options.method == FASTFS_RELIEF || by_totals() ? 2 : target.n_groups() * (options.far ? 2 : 1)),
      priors_(at(target.n_groups()), 1.0) {
    if (!weighted_) options_.n_neighbors = std::min(options.n_neighbors, n_samples_);
    if (options.method != FASTFS_SWRF) options_.dead_band = options.method == FASTFS_MULTISURF ? 0.5 : 0;
    if (!target.classes()) return;
    if (options.priors) {
        priors_.assign(options.priors, options.priors + target.n_groups());
    } else {
        std::fill(priors_.begin(), priors_.end(), 0.0);
        for (std::int64_t j = 0; j < n_samples_; ++j) priors_[at(target.own(j))] += weights[at(j)];
    }
}

bool NeighborRule::needs_all_pairs(const fastfs_relief_options& options) { return has_radius_of_all_pairs(options); }

std::int64_t NeighborRule::most_neighbors() const {
    if (options_.method == FASTFS_RELIEF) return 2;
    if (has_radius(options_) || weighted_) return n_samples_;
    if (by_totals()) return 2 * options_.n_neighbors;
    const Classes* classes = target_.classes();
    if (!classes) return std::min(n_samples_, 2 * options_.n_neighbors);
    std::int64_t sum = 0;
    for (std::int64_t c = 0; c < classes->n_classes(); ++c) sum += std::min(options_.n_neighbors, classes->size(c));
    return sum;
}

bool NeighborRule::find(std::int64_t n, const double* distances, std::vector<Neighbor>& neighbors) {
    if (options_.method == FASTFS_RELIEF) {
        find_nearest_hit_and_miss(n, distances, neighbors);
    } else if (by_totals()) {
        find_by_rank(n, distances, neighbors);
    } else if (has_radius(options_)) {
        find_within_radius(n, distances, neighbors);
    } else {
        find_of_each_group(n, distances, neighbors);
    }
    const std::int64_t n_near = options_.far ? n_groups_ / 2 : n_groups_;
    return std::any_of(neighbors.begin(), neighbors.end(), [&](const Neighbor& one) { return one.group < n_near; });
}

// ---- RELIEF: the nearest hit and the nearest miss ------------------------------------------------------------------

// Appends the nearest miss (group 1) and the nearest hit (group 0) of sample n; nothing if it has no hit.
void NeighborRule::find_nearest_hit_and_miss(std::int64_t n, const double* distances,
                                             std::vector<Neighbor>& neighbors) const {
    std::int64_t nearest[2] = {-1, -1};  // hit, miss
    double limit[2] = {kNone, kNone};    // distances below it are less than the least so far
    for (std::int64_t j = 0; j < n_samples_; ++j) {
        if (j == n) continue;
        const bool miss = target_.own(j) != target_.own(n);
        if (distances[j] < limit[miss]) {
            limit[miss] = distances[j] - tolerance(distances[j], 0);
            nearest[miss] = j;
        }
    }
    if (nearest[0] < 0) return;  // a miss alone would only measure the distance of samples
    neighbors.push_back({nearest[1], 1, 1.0, 1.0});
    neighbors.push_back({nearest[0], 0, 1.0, 1.0});
}

// ---- SURF, MultiSURF, SWRF: all that are nearer, or farther, than most ---------------------------------------------

// Appends all samples nearer than the radius of sample n and, with `far`, the farthest ones in separate groups.
void NeighborRule::find_within_radius(std::int64_t n, const double* distances, std::vector<Neighbor>& neighbors) {
    const Moments moments = has_radius_of_all_pairs(options_) ? all_ : row_moments(distances, n, weights_);
    const double band = moments.deviation * options_.dead_band, unit = moments.deviation > 0 ? moments.deviation : 1;
    const std::int64_t* groups = target_.groups(n, groups_);
    for (const bool far : {false, true}) {
        if (far && !options_.far) break;
        // Samples at the bound are neither near nor far.
        const double bound = far ? moments.mean + band : moments.mean - band, rounding = tolerance(moments.mean, band),
                     limit = far ? bound + rounding : bound - rounding;
        const std::int64_t first_group = far ? n_groups_ / 2 : 0;
        for (std::int64_t j = 0; j < n_samples_; ++j) {
            const double d = distances[j], w = weights_[at(j)];
            if (j == n || !(far ? d > limit : d < limit)) continue;
            double strength = w;
            if (options_.method == FASTFS_SWRF) {
                strength *= 2 / (1 + std::exp(-std::min(4 * std::abs(d - bound) / unit, 50.0))) - 1;
            }
            neighbors.push_back({j, first_group + groups[j], strength, w});
        }
    }
}

// ---- ReliefF, mu-Relief: k of each class; RReliefF: k of all -------------------------------------------------------

// Sorts candidates by key, and candidates with equal keys by row.
void NeighborRule::sort_nearest_first(std::vector<Kept>& rows, double origin) const {
    std::sort(rows.begin(), rows.end(), by_key);
    for (auto first = rows.begin(); first != rows.end();) {
        const double limit = first->key + tolerance(first->key, origin);
        const auto last = std::find_if(first, rows.end(), [&](const Kept& one) { return one.key > limit; });
        std::sort(first, last, by_row);
        first = last;
    }
}

// Drops all but the n_neighbors lowest keys of a group's candidates in kept_ or, with weights, all beyond a total
// weight of n_neighbors, and cuts the last weight; sets found_few_ if there is less, otherwise limits_, which later
// keys must be below. origin: the tolerance of equal keys follows from it. Without weights rows come in ascending
// order, so a later row at the limit isn't kept.
void NeighborRule::keep_lowest(std::size_t group, double origin) {
    auto& rows = kept_[group];
    const auto k = static_cast<std::ptrdiff_t>(options_.n_neighbors);
    if (weighted_) {  // keep a total weight of n_neighbors, cutting the last weight
        sort_nearest_first(rows, origin);
        double left = static_cast<double>(options_.n_neighbors);
        std::size_t size = 0;
        for (; size < rows.size() && left > 0; ++size) {
            rows[size].weight = std::min(rows[size].weight, left);
            left -= rows[size].weight;
        }
        rows.resize(size);
        found_few_ = found_few_ || left > 1e-9 * static_cast<double>(options_.n_neighbors);
        return;
    }
    if (std::ssize(rows) < k) {
        found_few_ = true;
        return;
    }
    std::nth_element(rows.begin(), rows.begin() + k - 1, rows.end(), by_key);
    const double limit = rows[at(k) - 1].key, rounding = tolerance(limit, origin);
    const auto is_tied = [&](const Kept& one) { return one.key <= limit + rounding; };
    if (std::any_of(rows.begin() + k, rows.end(), is_tied)) {
        const auto is_nearer = [&](const Kept& one) { return one.key < limit - rounding; };
        const auto first_tied = std::partition(rows.begin(), rows.begin() + k, is_nearer);
        const auto last_tied = std::partition(rows.begin() + k, rows.end(), is_tied);
        std::nth_element(first_tied, rows.begin() + k - 1, last_tied, by_row);
    }
    rows.resize(at(k));
    limits_[group] = limit - rounding;
}

void NeighborRule::keep_lowest_keys(std::int64_t n, const double* keys, const std::int64_t* groups,
                                    std::int64_t n_groups, const Numbers& origins) {
    kept_.resize(at(n_groups));
    for (auto& rows : kept_) rows.clear();
    limits_.assign(at(n_groups), kNone);
    const auto origin = [&](std::size_t group) { return origins.empty() ? 0.0 : origins[group]; };
    const std::size_t full = weighted_ ? 0 : 2 * at(options_.n_neighbors);
    for (std::int64_t j = 0; j < n_samples_; ++j) {
        const std::size_t group = groups ? at(groups[j]) : 0;
        if (!(keys[j] < limits_[group]) || j == n) continue;
        kept_[group].push_back({keys[j], j, weights_[at(j)]});
        if (kept_[group].size() == full) keep_lowest(group, origin(group));
    }
    for (std::size_t group = 0; group < kept_.size(); ++group) keep_lowest(group, origin(group));
}

// Appends the n_neighbors samples of each group nearest to sample n or, for mu-Relief, farthest from the mean distance
// of their group.
void NeighborRule::find_of_each_group(std::int64_t n, const double* distances, std::vector<Neighbor>& neighbors) {
    const std::int64_t* groups = target_.groups(n, groups_);
    Numbers means;
    if (options_.method == FASTFS_MU_RELIEF) {  // the farther from its class's mean, the lower the key
        Numbers sums(at(n_groups_)), totals(at(n_groups_));
        const auto known = [&](std::int64_t j) { return j != n && !std::isnan(distances[j]); };
        for (std::int64_t j = 0; j < n_samples_; ++j) {
            if (!known(j)) continue;
            sums[at(groups[j])] += weights_[at(j)] * distances[j];
            totals[at(groups[j])] += weights_[at(j)];
        }
        keys_.resize(at(n_samples_));
        for (std::size_t group = 0; group < sums.size(); ++group) means.push_back(sums[group] / totals[group]);
        for (std::int64_t j = 0; j < n_samples_; ++j) keys_[at(j)] = -std::abs(distances[j] - means[at(groups[j])]);
        distances = keys_.data();
    }
    keep_lowest_keys(n, distances, groups, n_groups_, means);
    for (std::int64_t group = 0; group < n_groups_; ++group) {
        auto& rows = kept_[at(group)];  // sorted, so that float sums have a fixed order
        std::sort(rows.begin(), rows.end(), by_row);
        for (const auto& [key, j, weight] : rows) neighbors.push_back({j, group, weight, weight});
    }
}

// Appends each of the n_neighbors nearest samples twice, with a weight that falls with its rank: in group 0 times the
// difference of the targets, in group 1 times 1 minus it.
void NeighborRule::find_by_rank(std::int64_t n, const double* distances, std::vector<Neighbor>& neighbors) {
    keep_lowest_keys(n, distances, nullptr, 1, {});
    auto& rows = kept_[0];
    sort_nearest_first(rows, 0);
    // o is proportional to exp(-(rank / sigma)^2). Exponents are relative to the first neighbor, so o can't vanish for
    // all neighbors.
    double rank = 0, first = 0, sum = 0;
    for (auto& [key, j, weight] : rows) {
        rank += weight;
        const double exponent = rank / options_.sigma * (rank / options_.sigma);
        if (sum == 0) first = exponent;
        weight *= std::exp(first - exponent);
        sum += weight;
    }
    for (const auto& [key, j, weight] : rows) {
        const double o = weights_[at(n)] * weight / sum, tau = target_.difference(n, j);
        neighbors.push_back({j, 0, o * tau, o * tau});
        neighbors.push_back({j, 1, o * (1 - tau), o * (1 - tau)});
    }
}

// ---- factors -------------------------------------------------------------------------------------------------------

bool NeighborRule::has_shares() const {
    return options_.method != FASTFS_RELIEF && !by_totals() && (!has_radius(options_) || target_.n_groups() == 2);
}

// Sets shares[group] to the share of each group in a score of sample n: -1 for hits, and the normalised priors of the
// misses (1 each within a radius); far groups have the opposite sign.
void NeighborRule::shares(std::int64_t n, double* shares) const {
    const std::int64_t n_classes = target_.n_groups(), own_class = target_.own(n);
    // Sums the priors of the other classes, because 1 minus one prior would vanish if its class has nearly all samples.
    double other_priors = 0;
    for (std::int64_t c = 0; c < n_classes; ++c) other_priors += c == own_class ? 0.0 : priors_[at(c)];
    for (std::int64_t group = 0; group < n_groups_; ++group) {
        const std::int64_t c = group % n_classes;
        const double share = c == own_class ? -1.0 : has_radius(options_) ? 1.0 : priors_[at(c)] / other_priors;
        shares[group] = group < n_classes ? share : -share;
    }
}

void NeighborRule::factors(std::int64_t n, const double* weights, double* factors, std::int64_t n_features,
                           std::int64_t ld) const {
    // Sets the factors of a group to factor(weight, k) for each feature k in which its weight isn't 0.
    const auto set = [&](std::int64_t group, auto&& factor) {
        const double* from = weights + group * ld;
        double* to = factors + group * ld;
        for (std::int64_t k = 0; k < n_features; ++k) {
            const double value = factor(from[k], k);
            to[k] = from[k] > 0 ? value : 0.0;
        }
    };
    if (by_totals()) {
        set(0, [](double weight, std::int64_t) { return 1 / weight; });
        set(1, [](double weight, std::int64_t) { return -1 / weight; });
        return;
    }
    if (options_.method == FASTFS_RELIEF) {
        std::fill_n(factors, n_features, -1.0);
        std::fill_n(factors + ld, n_features, 1.0);
        return;
    }
    if (has_shares()) {
        Numbers group_shares(at(n_groups_));
        shares(n, group_shares.data());
        for (std::int64_t group = 0; group < n_groups_; ++group) {
            set(group, [share = group_shares[at(group)]](double weight, std::int64_t) { return share / weight; });
        }
        return;
    }
    const std::int64_t n_classes = target_.n_groups(), own_class = target_.own(n);
    for (std::int64_t first = 0; first < n_groups_; first += n_classes) {
        const double sign = first == 0 ? 1 : -1;
        double* misses = factors + (first + own_class) * ld;  // overwritten by the factor of the hits in the end
        std::fill_n(misses, n_features, 0.0);
        for (std::int64_t c = 0; c < n_classes; ++c) {
            const double* of_class = weights + (first + c) * ld;
            for (std::int64_t k = 0; k < n_features && c != own_class; ++k) misses[k] += of_class[k];
        }
        // The sum of a class is multiplied by its share of the misses times the number of missed classes: with two
        // classes, each gets the mean.
        const auto n_missed = static_cast<double>(n_classes - 1);
        for (std::int64_t c = 0; c < n_classes; ++c) {
            if (c == own_class) continue;
            set(first + c,
                [=](double weight, std::int64_t k) { return sign * (weight / misses[k] * n_missed / misses[k]); });
        }
        set(first + own_class, [=](double weight, std::int64_t) { return sign * (-1.0 / weight); });
    }
}

}  // namespace fastfs::core
