// Designs of permutation tests: the labelings of the samples that are as likely as the true one if the labels say
// nothing about X.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fastfs/fastfs.h"
#include "support/index.hpp"
#include "support/numpy_random.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Level of significance: tests warn if none of their p-values can reach it.
constexpr double kSignificant = 0.05;

// A column about the samples: the number of each sample's value, in the order in which the values first occur, and what
// the caller calls them.
struct DesignColumn {
    // The number that the caller has for value k, and its name.
    std::int64_t given(std::int64_t k) const { return values[at(k)]; }
    const std::string& name(std::int64_t k) const { return names[at(k)]; }
    std::int64_t size() const { return static_cast<std::int64_t>(names.size()); }

    std::vector<std::int32_t> of_sample;
    std::vector<std::int64_t> values;
    std::vector<std::string> names;
};

// Units, which are samples or groups of samples, exchange their labels within pools: blocks, groups, or combinations of
// both. Immutable, so that threads can share it.
class Design {
  public:
    Design(const fastfs_design_options& options, Run& run);

    std::int64_t n_samples() const { return static_cast<std::int64_t>(unit_.size()); }
    bool has_numbers() const { return !numbers_.empty(); }
    double n_distinct() const { return n_distinct_; }
    std::int64_t n_mirrors() const { return n_mirrors_; }
    bool is_uniform() const { return logits_.empty() && hazards_.empty(); }
    // True if all labelings but the true one are compared with it, instead of draws.
    bool is_exact() const { return is_exact_; }
    std::int64_t n_labelings() const { return n_labelings_; }
    double smallest_pvalue() const;
    bool moves_groups() const { return moves_groups_; }
    bool hides_specimens() const { return hides_specimens_; }
    std::int64_t n_units() const { return static_cast<std::int64_t>(codes_.size()); }
    const std::vector<std::int64_t>& unit_of_sample() const { return unit_; }
    const std::string& description() const { return description_; }
    const std::string& confounded() const { return confounded_; }  // "": there are other labelings

    // Writes labelings first..first + count - 1, n_samples labels or numbers each, to the array that isn't null; throws
    // if there is none but the true one.
    void write_labelings(std::int64_t first, std::int64_t count, std::int64_t* labels, double* numbers, Run& run) const;

    // For subsamples: units that are drawn as wholes, and strata that keep their shares.
    const char* drawn_word() const { return drawn_word_; }
    const std::vector<std::int64_t>& drawn_unit() const { return drawn_unit_; }
    const std::vector<std::int64_t>& stratum_of_unit() const { return stratum_; }
    std::int64_t n_strata() const { return n_strata_; }

    // Sets taken[k * n_samples + i] to 1 if sample i is in subsample first + k, otherwise to 0, for k < count. Throws
    // if a class would lack samples, or none would be left out.
    void write_subsamples(const fastfs_subsamples_options& options, std::int64_t first, std::int64_t count,
                          std::int32_t* taken) const;

  private:
    // The units of codes_[begin] .. codes_[end - 1], which have different labels, and the kinds of these labels,
    // ascending, with the number of units of each.
    struct VaryingPool {
        std::int64_t begin, end;
        std::vector<std::pair<std::int32_t, std::int64_t>> counts;
        std::int64_t n_orders;
        std::size_t most_frequent() const;
    };
    struct Scratch;
    using Codes = std::vector<std::int32_t>;

    // Reading: design.cpp
    void find_pools(std::vector<std::int32_t>& pool);
    void sort_units(const std::vector<std::int32_t>& pool);
    void warn_of_weaknesses(const std::vector<std::int32_t>& pool, const std::vector<std::int32_t>& unit_codes);
    void count_labelings();
    void count_mirrors();
    void write_description(const fastfs_design_options& options, const std::vector<std::int64_t>& kind_counts);
    void describe_confounding();
    void warn_of_labelings() const;
    void find_strata();

    // Covariates: covariates.cpp
    void fit_covariates(const fastfs_design_options& options, Run& run);
    void fit_classes(const Numbers& Z, std::int64_t n_columns, Run& run);
    void fit_numbers(const Numbers& Z, std::int64_t n_columns);
    void fit_times(const fastfs_design_options& options, const Numbers& Z, std::int64_t n_columns, Run& run);
    void require_a_likely_swap() const;

    // Labelings: labelings.cpp
    void shuffle_pools(NumpyRandom& random, Scratch& scratch) const;
    void swap_labels(const Codes& from, NumpyRandom random, Scratch& scratch) const;
    Codes make_hub() const;
    void deal_records(NumpyRandom& random, Scratch& scratch) const;
    void write_labeling(std::int64_t number, std::int64_t* labels, double* numbers, Scratch& scratch) const;
    void set_order(std::int64_t rank, Codes& codes) const;
    std::int64_t true_rank() const;
    void write_labels(const std::int32_t* codes, const std::int32_t* order, std::int64_t* labels,
                      double* numbers) const;

    std::int64_t n_pools() const { return static_cast<std::int64_t>(bounds_.size()) - 1; }
    std::int64_t n_kinds() const { return labels_.size(); }

    DesignColumn labels_, blocks_, groups_;
    bool is_class_, has_blocks_, has_groups_, keeps_names_;
    std::int64_t n_covariates_ = 0;
    std::uint64_t seed_;

    bool moves_groups_ = false, hides_specimens_ = false, pools_are_groups_ = false;
    std::vector<std::int64_t> unit_;                                 // of each sample
    std::vector<std::pair<std::int32_t, std::int32_t>> pool_parts_;  // group and block of each pool; -1: none

    // Units in an order in which those of a pool are neighbours.
    std::vector<std::int64_t> order_;   // the unit at each place
    std::vector<std::int32_t> place_;   // the place of each sample's unit
    std::vector<std::int64_t> bounds_;  // pool p has the places bounds_[p] .. bounds_[p + 1] - 1
    std::vector<std::int32_t> pool_of_place_;
    Codes codes_;                 // the label of the unit at each place
    Numbers numbers_, fitted_;    // the number that each code stands for; the number that is added at each place
    Numbers logits_;              // n_units x n_kinds, or none
    Codes hub_;                   // from which draws given classes and covariates walk
    Codes sequence_;              // the records of each pool in the order of their times
    std::vector<char> is_event_;  // of each record in this order; otherwise the unit was last seen then
    Numbers hazards_;  // of the place k, with covariates: of its event at 2 k + 1, of being last seen at 2 k; or none

    double n_distinct_ = 1;
    std::int64_t n_mirrors_ = 1, n_labelings_ = 0, true_rank_ = 0;
    bool is_exact_ = false;
    std::vector<VaryingPool> varying_;  // if labelings can be counted
    std::vector<std::int64_t> random_order_;

    std::string description_, confounded_;
    bool has_idle_groups_ = false;  // find_pools has warned of them

    const char* drawn_word_ = "sample";
    std::vector<std::int64_t> drawn_unit_, stratum_;
    std::int64_t n_strata_ = 0;
};

// Returns a list for messages: all names if they are few, else the first three and the number of the remaining.
std::string some_of(const std::vector<std::string>& names);

}  // namespace fastfs::core
