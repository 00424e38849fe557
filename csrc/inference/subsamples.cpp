// Subsamples of a design: in each, every stratum of blocks and classes keeps its share.
#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "inference/design.hpp"
#include "support/errors.hpp"

namespace fastfs::core {

// Sets drawn_unit_ of each sample, stratum_ of each unit and n_strata_. Units are drawn as wholes: a block, if no two
// of its samples or groups have one label, as in pairs and in donors of a treated and a control specimen; otherwise a
// group, or the sample. Units with equal blocks and classes form a stratum.
void Design::find_strata() {
    const std::size_t n = unit_.size();
    const auto class_of = [&](std::size_t i) { return is_class_ ? labels_.of_sample[i] : 0; };
    const auto& block = blocks_.of_sample;
    bool draws_blocks = is_class_ && blocks_.size() > 1 && (!has_groups_ || moves_groups_);
    std::vector<std::pair<std::int32_t, std::int32_t>> parts;
    if (draws_blocks) {
        std::vector<bool> seen(at(n_units()));
        for (std::size_t i = 0; i < n; ++i) {
            if (!seen[at(unit_[i])]) parts.emplace_back(block[i], class_of(i));
            seen[at(unit_[i])] = true;
        }
        std::sort(parts.begin(), parts.end());
        draws_blocks = std::adjacent_find(parts.begin(), parts.end()) == parts.end();
    }
    drawn_word_ = draws_blocks ? "block" : has_groups_ ? "group" : "sample";
    drawn_unit_ = up_to(static_cast<std::int64_t>(n));
    if (draws_blocks) drawn_unit_.assign(block.begin(), block.end());
    if (!draws_blocks && has_groups_) drawn_unit_.assign(groups_.of_sample.begin(), groups_.of_sample.end());
    const std::int64_t n_drawn = 1 + *std::max_element(drawn_unit_.begin(), drawn_unit_.end());
    // The parts of each unit, one after the other.
    std::vector<std::int64_t> begins(at(n_drawn + 1));
    for (const std::int64_t unit : drawn_unit_) ++begins[at(unit) + 1];
    for (std::size_t u = 0; u + 1 < begins.size(); ++u) begins[u + 1] += begins[u];
    parts.resize(n);
    auto next = begins;
    for (std::size_t i = 0; i < n; ++i) {
        parts[at(next[at(drawn_unit_[i])]++)] = {draws_blocks ? 0 : block[i], class_of(i)};
    }
    // Most units have one part: its number needs no set.
    std::unordered_map<std::int64_t, std::int64_t> of_part;
    std::map<std::vector<std::pair<std::int32_t, std::int32_t>>, std::int64_t> of_parts;
    n_strata_ = 0;
    stratum_.resize(at(n_drawn));
    for (std::int64_t u = 0; u < n_drawn; ++u) {
        const auto begin = parts.begin() + begins[at(u)], end = parts.begin() + begins[at(u) + 1];
        std::sort(begin, end);
        const auto last = std::unique(begin, end);
        std::int64_t& stratum = stratum_[at(u)];
        if (last - begin == 1) {
            stratum = of_part.try_emplace(begin->first * n_kinds() + begin->second, n_strata_).first->second;
        } else {
            stratum = of_parts.try_emplace({begin, last}, n_strata_).first->second;
        }
        n_strata_ += stratum == n_strata_;
    }
}

// Shuffles the units of each stratum with the random stream of the subsample, and takes the first ones; halves 2 k and
// 2 k + 1 are both parts of one shuffle.
void Design::write_subsamples(const fastfs_subsamples_options& o, std::int64_t first, std::int64_t count,
                              std::int32_t* taken) const {
    const std::string word = drawn_word_;
    std::vector<std::vector<std::int64_t>> strata(at(n_strata_));
    for (std::size_t u = 0; u < stratum_.size(); ++u) strata[at(stratum_[u])].push_back(static_cast<std::int64_t>(u));
    std::vector<std::int64_t> sizes;
    std::int64_t n_taken = 0;
    for (const auto& units : strata) {
        const auto n = static_cast<std::int64_t>(units.size());
        const double share = o.fraction * static_cast<double>(n);
        sizes.push_back(o.halves ? n / 2 : std::max<std::int64_t>(1, std::llrint(share)));
        n_taken += sizes.back();
    }
    if (o.halves) {
        std::vector<bool> stays(at(n_kinds()));
        for (std::size_t i = 0; i < unit_.size(); ++i) {
            if (sizes[at(stratum_[at(drawn_unit_[i])])] == 0) continue;
            stays[is_class_ ? at(labels_.of_sample[i]) : 0] = true;
        }
        if (!is_class_) stays.resize(1);
        std::int64_t lost = -1;  // the first class without halves
        for (std::size_t k = 0; k < stays.size(); ++k) {
            const auto code = static_cast<std::int64_t>(k);
            if (!stays[k] && (lost < 0 || labels_.given(code) < labels_.given(lost))) lost = code;
        }
        require(lost < 0, "halves need two ", word, "s", is_class_ ? " of class " + labels_.name(lost) : "",
                has_blocks_ ? " in one block, but no block has them" : ", but there is one", ": give more ", word, "s");
    } else {
        require(n_taken < static_cast<std::int64_t>(stratum_.size()), "subsamples must leave out some of the ", n_taken,
                " ", word, "s; got all with fraction=", o.fraction, " of each class and block: give more ", word,
                "s, or a smaller fraction");
    }
    const std::int64_t n_parts = o.halves ? 2 : 1;
    std::vector<bool> is_drawn(stratum_.size());
    std::vector<std::int64_t> order;
    for (std::int64_t index = first; index < first + count; ++index) {
        NumpyRandom random(seed_, static_cast<std::uint64_t>(index / n_parts));
        const std::int64_t part = index % n_parts;
        std::fill(is_drawn.begin(), is_drawn.end(), false);
        for (std::size_t s = 0; s < strata.size(); ++s) {
            order = strata[s];
            random.shuffle(order);
            for (std::int64_t k = part * sizes[s]; k < (part + 1) * sizes[s]; ++k) is_drawn[at(order[at(k)])] = true;
        }
        std::int32_t* of_index = taken + (index - first) * n_samples();
        for (std::size_t i = 0; i < unit_.size(); ++i) of_index[i] = is_drawn[at(drawn_unit_[i])];
    }
}

}  // namespace fastfs::core
