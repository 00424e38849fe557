// The cores of the RELIEF family: which samples a target is compared with, and how much each counts.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "fastfs/fastfs.h"
#include "margin/target.hpp"
#include "support/index.hpp"
#include "support/ties.hpp"

namespace fastfs::core {

// A sample j that target n is compared with: its difference counts factor * strength, where the factor is that of its
// group. Groups are those of the target, then the same of far samples. RReliefF has two: strengths o tau, o (1 - tau).
struct Neighbor {
    std::int64_t j, group;
    double strength, weight;  // the second of those that count in the factor: the weight of the sample
};

// Mean and standard deviation (ddof 0) of distances.
struct Moments {
    double mean = 0, deviation = 0;
};

// Those of a row of distances to the others, NaN being none.
Moments row_moments(const double* distances, std::int64_t n, const Numbers& weights, double* total = nullptr);

// One core. Each thread has its own, for its scratch.
class NeighborRule {
  public:
    // all: the distances of all pairs, if needs_all_pairs.
    NeighborRule(const fastfs_relief_options& options, const Target& target, const Numbers& weights);
    static bool needs_all_pairs(const fastfs_relief_options& options);
    void set_all_pairs(Moments all) { all_ = all; }
    // What distances may be off by, besides a share of them.
    void set_rounding(double rounding) { rounding_ = rounding; }

    std::int64_t n_samples() const { return n_samples_; }
    std::int64_t n_groups() const { return n_groups_; }
    // Neighbors of a target at most.
    std::int64_t most() const;
    // Whether factors are those of all targets together, which only the sums over all tell.
    bool by_totals() const { return options_.method == FASTFS_RRELIEFF; }

    // Returns whether a sample is near. distances: to all samples, NaN where there is none.
    bool find(std::int64_t n, const double* distances, std::vector<Neighbor>& found);

    // Whether a group of a target had fewer than n_neighbors, by weight.
    bool found_few() const { return found_few_; }

    // Whether all neighbors weigh 1, and factors are shares over the numbers of neighbors: a mean for each group.
    bool takes_means() const { return has_shares() && !weighted_ && options_.method != FASTFS_SWRF; }
    void shares(std::int64_t n, double* shares) const;

    // By group, from the weights of its neighbors, 0 for a group that has none: rows of n_features values, ld apart.
    void factors(std::int64_t n, const double* weights, double* factors, std::int64_t n_features = 1,
                 std::int64_t ld = 1) const;

  private:
    bool has_shares() const;
    void find_nearest_hit_and_miss(std::int64_t n, const double* distances, std::vector<Neighbor>& found) const;
    void find_within_radius(std::int64_t n, const double* distances, std::vector<Neighbor>& found);
    // The n_neighbors with the lowest keys of each group, by groups from 0 on; kept_ has them. Keys are distances, or
    // their differences from an origin of each group.
    void select(std::int64_t n, const double* keys, const std::int64_t* groups, std::int64_t n_groups,
                const Numbers& origins);
    void find_of_each_group(std::int64_t n, const double* distances, std::vector<Neighbor>& found);
    void find_by_rank(std::int64_t n, const double* distances, std::vector<Neighbor>& found);

    struct Kept {
        double key;
        std::int64_t j;
        double weight;
    };
    static bool by_key(const Kept& a, const Kept& b) { return a.key < b.key; }
    static bool by_row(const Kept& a, const Kept& b) { return a.j < b.j; }
    // By how much equal keys differ at most.
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
    // Scratch.
    std::vector<std::int64_t> groups_;
    std::vector<std::vector<Kept>> kept_;
    Numbers limits_, keys_;
};

}  // namespace fastfs::core
