#include "inference/design.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <numeric>
#include <unordered_map>

#include "support/errors.hpp"
#include "support/warnings.hpp"

namespace fastfs::core {

namespace {

// Number of labelings from which on they aren't counted.
constexpr std::int64_t kCountedBelow = 1000000;

// Numbers values in the order in which they first occur.
template <class Value>
class Numbering {
  public:
    std::int32_t operator()(Value value) {
        const auto [found, is_new] = numbers_.try_emplace(value, static_cast<std::int32_t>(numbers_.size()));
        if (is_new) values_.push_back(value);
        return found->second;
    }
    std::int64_t size() const { return static_cast<std::int64_t>(values_.size()); }
    const std::vector<Value>& values() const { return values_; }

  private:
    std::unordered_map<Value, std::int32_t> numbers_;
    std::vector<Value> values_;
};

// Returns the column of a design: the values that occur, in the order of their first samples, with their names, and the
// place of each sample's value among them. given: values from 0 to n_values - 1, or null for one value for all.
DesignColumn read_column(const std::int64_t* given, std::int64_t n_samples, std::int64_t n_values,
                         const char* const* names) {
    DesignColumn column;
    column.of_sample.resize(at(n_samples));
    if (given == nullptr) {
        column.values.push_back(0);
        column.names.emplace_back();
        return column;
    }
    std::vector<std::int32_t> number(at(n_values), -1);
    for (std::int64_t i = 0; i < n_samples; ++i) {
        std::int32_t& k = number[at(given[i])];
        if (k < 0) {
            k = static_cast<std::int32_t>(column.values.size());
            column.values.push_back(given[i]);
            column.names.push_back(names ? names[given[i]] : std::to_string(given[i]));
        }
        column.of_sample[at(i)] = k;
    }
    return column;
}

// Returns x (x - 1) .. (x - k + 1) / k!, or a number of at least kCountedBelow if that is so large.
std::int64_t binomial(std::int64_t x, std::int64_t k) {
    k = std::min(k, x - k);
    std::int64_t found = 1;
    for (std::int64_t j = 1; j <= k && found < kCountedBelow; ++j) found = found * (x - k + j) / j;
    return found;
}

std::string plural(std::int64_t n, const char* one, const char* many) { return n > 1 ? many : one; }

// Returns the shortest text that stands for this number alone.
std::string exact_text(double value) {
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

std::string in_two_digits(double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.2g", value);
    return digits;
}

}  // namespace

std::string some_of(const std::vector<std::string>& names) {
    std::string list;
    for (std::size_t i = 0; i < names.size() && i < 3; ++i) list += (i > 0 ? ", " : "") + names[i];
    if (names.size() > 3) list += " and " + std::to_string(names.size() - 3) + " more";
    return list;
}

// Reads the labels, blocks and groups, finds units and pools, counts the labelings, and fits the covariates; warns of
// weaknesses of the design.
Design::Design(const fastfs_design_options& o, Run& run)
    : blocks_(read_column(o.blocks, o.n_samples, o.n_blocks, o.block_names)),
      groups_(read_column(o.groups, o.n_samples, o.n_groups, o.group_names)),
      is_class_(o.numbers == nullptr && o.records == 0),
      has_blocks_(o.blocks != nullptr),
      has_groups_(o.groups != nullptr),
      keeps_names_(o.keeps_names != 0),
      n_covariates_(o.n_covariates),
      seed_(o.seed) {
    if (o.numbers) {
        Numbering<double> numbering;
        labels_.of_sample.resize(at(o.n_samples));
        for (std::int64_t i = 0; i < o.n_samples; ++i) labels_.of_sample[at(i)] = numbering(o.numbers[i]);
        numbers_ = numbering.values();
        labels_.values = up_to(numbering.size());
        for (const double number : numbers_) labels_.names.push_back(exact_text(number));
    } else {
        labels_ = read_column(o.labels, o.n_samples, o.n_labels, o.label_names);
    }
    std::vector<std::int32_t> pool;
    find_pools(pool);
    std::vector<std::int32_t> unit_codes(pool.size());
    for (std::size_t i = 0; i < unit_.size(); ++i) unit_codes[at(unit_[i])] = labels_.of_sample[i];
    std::vector<std::int64_t> kind_counts(at(n_kinds()));
    for (const std::int32_t code : unit_codes) ++kind_counts[at(code)];
    sort_units(pool);
    warn_of_weaknesses(pool, unit_codes);
    for (std::size_t k = 0; k < codes_.size(); ++k) codes_[k] = unit_codes[at(order_[k])];
    count_labelings();
    count_mirrors();
    find_strata();
    if (n_distinct_ == 1) describe_confounding();
    if (n_covariates_ > 0 && n_distinct_ > 1) fit_covariates(o, run);
    write_description(o, kind_counts);
    is_exact_ = is_uniform() && n_distinct_ - 1 <= static_cast<double>(o.n_permutations);
    n_labelings_ = is_exact_ ? static_cast<std::int64_t>(n_distinct_) - 1 : o.n_permutations;
    if (is_exact_) {
        true_rank_ = true_rank();
        if (o.shuffled) {
            random_order_ = up_to(n_labelings_);
            NumpyRandom(0).shuffle(random_order_);
        }
    }
    warn_of_labelings();
}

double Design::smallest_pvalue() const { return static_cast<double>(keeps_names_ ? 1 : n_mirrors_) / n_distinct_; }

// Sets unit_ of each sample, writes the pool of each unit to `pool`, and sets the group and block of each pool. Groups
// move as wholes if no label varies within one; then throws if a group lies in several blocks. Otherwise units are
// samples, and pools combinations of groups and blocks; warns of groups that contribute nothing. Without groups, units
// are samples and pools are blocks.
void Design::find_pools(std::vector<std::int32_t>& pool) {
    const auto n = static_cast<std::int64_t>(labels_.of_sample.size());
    const auto& codes = labels_.of_sample;
    const auto& block = blocks_.of_sample;
    unit_ = up_to(n);
    pool = block;
    for (std::int32_t b = 0; b < blocks_.size(); ++b) pool_parts_.emplace_back(-1, has_blocks_ ? b : -1);
    if (!has_groups_) return;
    const auto& group = groups_.of_sample;
    const auto n_groups = at(groups_.size());
    std::vector<std::int32_t> label(n_groups), of_group(n_groups);
    std::vector<std::int64_t> size(n_groups);
    for (std::size_t i = 0; i < group.size(); ++i) {
        label[at(group[i])] = codes[i];
        of_group[at(group[i])] = block[i];
        ++size[at(group[i])];
    }
    std::vector<bool> varies(n_groups);
    for (std::size_t i = 0; i < group.size(); ++i) {
        if (codes[i] != label[at(group[i])]) varies[at(group[i])] = true;
    }
    const std::int64_t n_varying = std::count(varies.begin(), varies.end(), true);
    if (n_varying == 0) {
        for (std::size_t i = 0; i < group.size(); ++i) {
            if (block[i] == of_group[at(group[i])]) continue;
            std::vector<std::string> spanned;
            std::vector<bool> seen(at(blocks_.size()));
            for (std::size_t j = 0; j < group.size(); ++j) {
                if (group[j] != group[i] || seen[at(block[j])]) continue;
                seen[at(block[j])] = true;
                spanned.push_back(blocks_.name(block[j]));
            }
            refuse({"groups that move as wholes must lie in one block; got group ", groups_.name(group[i]),
                    " in the blocks ", some_of(spanned), ": give other blocks, or leave them out"});
        }
        moves_groups_ = true;
        unit_.assign(group.begin(), group.end());
        pool = of_group;
        return;
    }
    const auto n_all = static_cast<std::int64_t>(n_groups);
    for (std::size_t g = 0; g < n_groups; ++g) {
        if (varies[g] || size[g] == 1) continue;
        warn("weakness", {"labels vary within ", n_varying, " of ", n_all,
                          " groups, so samples are permuted within groups, and the other ", n_all - n_varying,
                          " contribute nothing to the test"});
        has_idle_groups_ = true;
        break;
    }
    Numbering<std::int64_t> moved, pairs;
    std::int64_t n_moved = 0;
    for (std::size_t i = 0; i < group.size(); ++i) {
        if (varies[at(group[i])]) {
            moved(group[i] * n_kinds() + codes[i]);
            ++n_moved;
        }
        pool[i] = pairs(group[i] * blocks_.size() + block[i]);
    }
    hides_specimens_ = moved.size() < n_moved;
    pools_are_groups_ = true;
    pool_parts_.clear();
    for (const std::int64_t pair : pairs.values()) {
        pool_parts_.emplace_back(static_cast<std::int32_t>(pair / blocks_.size()),
                                 has_blocks_ ? static_cast<std::int32_t>(pair % blocks_.size()) : -1);
    }
}

// Orders the units pool by pool, sets their places and the bounds of the pools, and makes room for codes_.
void Design::sort_units(const std::vector<std::int32_t>& pool) {
    bounds_.assign(pool_parts_.size() + 1, 0);
    for (const std::int32_t p : pool) ++bounds_[at(p) + 1];
    std::partial_sum(bounds_.begin(), bounds_.end(), bounds_.begin());
    auto next = bounds_;
    order_.resize(pool.size());
    pool_of_place_.resize(pool.size());
    codes_.resize(pool.size());
    std::vector<std::int32_t> place_of_unit(pool.size());
    for (std::size_t u = 0; u < pool.size(); ++u) {
        const std::int64_t place = next[at(pool[u])]++;
        order_[at(place)] = static_cast<std::int64_t>(u);
        pool_of_place_[at(place)] = pool[u];
        place_of_unit[u] = static_cast<std::int32_t>(place);
    }
    place_.resize(unit_.size());
    for (std::size_t i = 0; i < unit_.size(); ++i) place_[i] = place_of_unit[at(unit_[i])];
}

// Warns of pools that contribute nothing to a test: with one unit, or with one label.
void Design::warn_of_weaknesses(const std::vector<std::int32_t>& pool, const std::vector<std::int32_t>& unit_codes) {
    const bool is_covered = has_idle_groups_;
    const std::string pools = std::string(pools_are_groups_ ? "group" : "block") + "s ";
    const std::string word = moves_groups_ ? "group" : "sample";
    std::int64_t single = 0;
    for (std::int64_t p = 0; p < n_pools(); ++p) single += bounds_[at(p) + 1] - bounds_[at(p)] == 1;
    const auto contribute = [](std::int64_t n) {
        return plural(n, "it contributes", "they contribute") + " nothing to the test";
    };
    if (single > 0 && !is_covered && n_pools() > 1) {
        warn("weakness", {single, " of ", n_pools(), " ", pools, plural(single, "has", "have"), " one ", word, ", so ",
                          contribute(single)});
    }
    std::vector<std::int32_t> last(at(n_pools()));
    std::vector<bool> varies(at(n_pools()));
    for (std::size_t u = 0; u < pool.size(); ++u) last[at(pool[u])] = unit_codes[u];
    for (std::size_t u = 0; u < pool.size(); ++u) {
        if (unit_codes[u] != last[at(pool[u])]) varies[at(pool[u])] = true;
    }
    const std::int64_t n_varying = std::count(varies.begin(), varies.end(), true);
    const std::int64_t idle = n_pools() - n_varying - single;
    if (idle > 0 && n_varying > 0 && !is_covered) {
        warn("weakness", {idle, " of ", n_pools(), " ", pools, plural(idle, "has", "have"), " ", word,
                          "s of one label only, so ", contribute(idle)});
    }
}

std::size_t Design::VaryingPool::most_frequent() const {
    const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
    return at(std::max_element(counts.begin(), counts.end(), fewer) - counts.begin());
}

// Sets n_distinct_, the number of labelings, to the product of the multinomial coefficients of the pools, or to
// infinity from kCountedBelow on; sets varying_, the pools with different labels, empty if labelings aren't counted.
void Design::count_labelings() {
    varying_.clear();
    std::int64_t product = 1;
    Codes sorted;
    for (std::int64_t p = 0; p < n_pools() && product < kCountedBelow; ++p) {
        VaryingPool pool{bounds_[at(p)], bounds_[at(p) + 1], {}, 1};
        sorted.assign(codes_.begin() + pool.begin, codes_.begin() + pool.end);
        std::sort(sorted.begin(), sorted.end());
        if (sorted.front() == sorted.back()) continue;
        for (const std::int32_t code : sorted) {
            if (pool.counts.empty() || pool.counts.back().first != code) pool.counts.emplace_back(code, 0);
            ++pool.counts.back().second;
        }
        // The most frequent one first, which keeps all factors below the product.
        std::int64_t left = pool.end - pool.begin;
        for (std::size_t k = 0; k < pool.counts.size() && pool.n_orders < kCountedBelow; ++k) {
            if (k == pool.most_frequent()) continue;
            pool.n_orders *= binomial(left, pool.counts[k].second);
            left -= pool.counts[k].second;
        }
        product *= std::min(pool.n_orders, kCountedBelow);
        varying_.push_back(std::move(pool));
    }
    n_distinct_ = product < kCountedBelow ? static_cast<double>(product) : std::numeric_limits<double>::infinity();
    if (product >= kCountedBelow) varying_.clear();
}

// Multiplies n_mirrors_ by the ways to exchange classes with equal counts in all pools; leaves it alone for numbers and
// for uncounted labelings.
void Design::count_mirrors() {
    if (!is_class_ || std::isinf(n_distinct_)) return;
    std::vector<std::map<std::int32_t, std::int64_t>> held(at(n_kinds()));
    for (std::size_t k = 0; k < codes_.size(); ++k) ++held[at(codes_[k])][pool_of_place_[k]];
    std::sort(held.begin(), held.end());
    std::int64_t alike = 1;
    for (std::size_t k = 1; k < held.size(); ++k) {
        alike = held[k] == held[k - 1] ? alike + 1 : 1;
        n_mirrors_ *= alike;
    }
}

// Writes the units by class, the pools that they move in and the covariates to description_: "12 + 12 samples within 3
// blocks".
void Design::write_description(const fastfs_design_options& o, const std::vector<std::int64_t>& kind_counts) {
    if (is_class_ && n_kinds() <= 4) {
        std::vector<std::pair<std::int64_t, std::int64_t>> counts;  // in the order of the classes
        for (std::int64_t k = 0; k < n_kinds(); ++k) counts.emplace_back(labels_.given(k), kind_counts[at(k)]);
        std::sort(counts.begin(), counts.end());
        for (const auto& [label, count] : counts) {
            description_ += (description_.empty() ? "" : " + ") + std::to_string(count);
        }
    } else {
        description_ = std::to_string(n_units());
    }
    description_ += moves_groups_ ? " groups" : " samples";
    if (pools_are_groups_) description_ += " within " + std::to_string(groups_.size()) + " groups";
    if (has_blocks_) description_ += " within " + std::to_string(blocks_.size()) + " blocks";
    if (const std::int64_t k = o.n_covariates; k > 0) {
        description_ += ", given " + std::to_string(k) + " covariate" + (k > 1 ? "s" : "");
    }
}

// Sets confounded_ to the error about this design, in which all units of each pool must have one label.
void Design::describe_confounding() {
    const std::string word = moves_groups_ ? "group" : "sample";
    std::vector<std::string> where;
    for (std::int64_t p = 0; p < n_pools(); ++p) {
        const auto [group, block] = pool_parts_[at(p)];
        std::string of;
        if (group >= 0)
            of = " of group " + groups_.name(group) + (block >= 0 ? " in block " + blocks_.name(block) : "");
        if (group < 0 && block >= 0) of = " of block " + blocks_.name(block);
        const std::int64_t n = bounds_[at(p) + 1] - bounds_[at(p)];
        where.push_back(
            (n == 1 ? "the only " + word + of + " is " : "all " + std::to_string(n) + " " + word + "s" + of + " are ") +
            labels_.name(codes_[at(bounds_[at(p)])]));
        if (p >= 3) {  // the first three are shown, and the others counted
            where.resize(at(n_pools()));
            break;
        }
    }
    const char* pools = pools_are_groups_ ? "groups with " : has_blocks_ ? "blocks with " : "";
    confounded_ = "no labeling but the true one is possible: " + some_of(where) + " (confounded); give " + pools +
                  "labels that differ";
}

// Warns if labels vary within groups in which several samples with one label may be one specimen (hides_specimens_),
// and if there are so few labelings that no p-value can be significant.
void Design::warn_of_labelings() const {
    if (hides_specimens_) {
        const std::string present =
            has_blocks_ ? "combinations of the present blocks and groups" : "the present groups";
        warn("hidden_specimens",
             {"labels vary within groups, so samples are permuted singly within these; if samples of a group with one "
              "label belong together, as cells of one specimen do, p-values are far too small: give the specimens as "
              "groups, and ",
              present, " as blocks; if they don't, give ", present, " as blocks, and no groups"});
    }
    if (n_distinct_ == 1 || smallest_pvalue() <= kSignificant) return;
    Message message("there are only ", static_cast<std::int64_t>(n_distinct_), " distinct labelings (", description_,
                    ")");
    if (!keeps_names_ && n_mirrors_ > 1) {
        message << ", and " << n_mirrors_ << " only exchange the names of classes";
    }
    message << ", so no p-value can be below " << in_two_digits(smallest_pvalue());
    warn("few_labelings", message);
}

}  // namespace fastfs::core
