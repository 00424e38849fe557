// The rules of the RELIEF family: the samples with which a target is compared, and the weight of each.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "fastfs/fastfs.h"
#include "margin/target.hpp"
#include "support/index.hpp"
#include "support/ties.hpp"

namespace fastfs::core {

// A sample j with which target n is compared. Its difference counts factor * strength, with the factor of its group.
// Near samples are in the groups of the Target, far samples in as many groups after them. RReliefF has two groups, with
// strengths o tau and o (1 - tau).
struct Neighbor {
    std::int64_t j, group;
    double strength;
    double weight;  // the weight of sample j, from which the factor is computed
};

// Mean and standard deviation (ddof 0) of distances.
struct Moments {
    double mean = 0, deviation = 0;
};

// Returns the weighted moments of the distances from sample n to all other samples, except NaN; zeros if there are
// none. total: null, or set to the sum of their weights.
Moments row_moments(const double* distances, std::int64_t n, const Numbers& weights, double* total = nullptr);

// The rule of one method. Each thread has a copy, because of the scratch.
class NeighborRule {
  public:
    NeighborRule(const fastfs_relief_options& options, const Target& target, const Numbers& weights);
    // Tells if the rule compares distances with the moments of all pairs, which set_all_pairs gives.
    static bool needs_all_pairs(const fastfs_relief_options& options);
    void set_all_pairs(Moments all) { all_ = all; }
    // Sets the absolute error that distances can have besides the relative one.
    void set_rounding(double rounding) { rounding_ = rounding; }

    std::int64_t n_samples() const { return n_samples_; }
    std::int64_t n_groups() const { return n_groups_; }
    // Returns the most neighbors that a target can have.
    std::int64_t most_neighbors() const;
    // Tells if factors depend on the neighbors of all targets together (RReliefF).
    bool by_totals() const { return options_.method == FASTFS_RRELIEFF; }

    // Appends the neighbors of sample n to `neighbors`, which must be empty, and returns whether any is near.
    // distances: from n to all samples, NaN if unknown. Updates found_few().
    bool find(std::int64_t n, const double* distances, std::vector<Neighbor>& neighbors);

    // Tells if a group of any target so far had fewer than n_neighbors, by weight.
    bool found_few() const { return found_few_; }

    // Tells if scores are sums of means over groups: all neighbors weigh 1, and factors are shares over the numbers of
    // neighbors. shares() gives the share of each group.
    bool takes_means() const { return has_shares() && !weighted_ && options_.method != FASTFS_SWRF; }
    void shares(std::int64_t n, double* shares) const;

    // Sets factors[group] to the factor of each group of sample n from the weights of its neighbors, 0 for a group
    // without neighbors: both are rows of n_features values, ld apart.
    void factors(std::int64_t n, const double* weights, double* factors, std::int64_t n_features = 1,
                 std::int64_t ld = 1) const;

  private:
    bool has_shares() const;
    void find_nearest_hit_and_miss(std::int64_t n, const double* distances, std::vector<Neighbor>& neighbors) const;
    void find_within_radius(std::int64_t n, const double* distances, std::vector<Neighbor>& neighbors);
    // Refills kept_ with the n_neighbors samples with the lowest keys of each group, except sample n. Keys are
    // distances, or their differences from an origin of each group. groups: null if there is one group; origins: empty
    // for 0.
    void keep_lowest_keys(std::int64_t n, const double* keys, const std::int64_t* groups, std::int64_t n_groups,
                          const Numbers& origins);
    void find_of_each_group(std::int64_t n, const double* distances, std::vector<Neighbor>& neighbors);
    void find_by_rank(std::int64_t n, const double* distances, std::vector<Neighbor>& neighbors);

    struct Kept {
        double key;
        std::int64_t j;
        double weight;
    };
    static constexpr auto by_key = [](const Kept& a, const Kept& b) { return a.key < b.key; };
    static constexpr auto by_row = [](const Kept& a, const Kept& b) { return a.j < b.j; };
    // Returns the largest difference of keys that count as equal.
    double tolerance(double key, double origin) const { return kTie * (std::abs(key) + origin) + rounding_; }
    void sort_nearest_first(std::vector<Kept>& rows, double origin) const;
    void keep_lowest(std::size_t group, double origin);

    fastfs_relief_options options_;
    const Target& target_;
    const Numbers& weights_;
    bool weighted_;
    std::int64_t n_samples_, n_groups_;
    Numbers priors_;  // of the groups, not normalised
    Moments all_;
    double rounding_ = 0;
    bool found_few_ = false;
    // Scratch of find().
    std::vector<std::int64_t> groups_;
    std::vector<std::vector<Kept>> kept_;
    Numbers limits_, keys_;
};

}  // namespace fastfs::core
