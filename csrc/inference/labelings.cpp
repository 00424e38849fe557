// Labelings of a design: draws, and all of them in turn.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "inference/design.hpp"
#include "support/errors.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {

namespace {

// Number of rounds of swaps in a walk of the star sampler.
constexpr std::int64_t kRounds = 50;

// Stream of the star's hub: the last one with a number of one word.
constexpr std::uint64_t kHub = 0xffffffff;

// Number of units from which on a pool is sorted in buckets.
constexpr std::int64_t kFewUnits = 24;

// Number of units to order in a part of a loop.
constexpr std::int64_t kWorkOfPart = 1 << 16;

// Sorts n keys in place, ascending, and items with them; equal keys keep their order. Nearly sorted ones are fast.
void insert_in_order(double* keys, std::int32_t* items, std::int64_t n) {
    for (std::int64_t i = 1; i < n; ++i) {
        const double key = keys[i];
        const std::int32_t item = items[i];
        std::int64_t j = i;
        for (; j > 0 && keys[j - 1] > key; --j) {
            keys[j] = keys[j - 1];
            items[j] = items[j - 1];
        }
        keys[j] = key;
        items[j] = item;
    }
}

}  // namespace

struct Design::Scratch {
    explicit Scratch(const Design& design)
        : order(design.codes_.size()), keys(design.codes_.size()), sorted_keys(keys.size()), buckets(keys.size() + 1) {}

    Codes order, codes;
    Numbers keys, sorted_keys;
    std::vector<std::int32_t> buckets;
};

// Sets s.order to a random order of the places within each pool, the order of uniform keys, to which the number of the
// pool is added. Overwrites the keys and buckets of s.
void Design::shuffle_pools(NumpyRandom& random, Scratch& s) const {
    for (std::int64_t p = 0; p < n_pools(); ++p) {
        const std::int64_t begin = bounds_[at(p)], n = bounds_[at(p) + 1] - begin;
        const auto offset = static_cast<double>(p);
        std::int32_t* order = s.order.data() + begin;
        double* keys = s.keys.data() + begin;
        for (std::int64_t k = 0; k < n; ++k) keys[k] = random.uniform() + offset;
        if (n <= kFewUnits) {
            for (std::int64_t k = 0; k < n; ++k) order[k] = static_cast<std::int32_t>(begin + k);
            insert_in_order(keys, order, n);
            continue;
        }
        // Keys are uniform, so that n_keys buckets have one key each, on average.
        const auto bucket = [&](double key) {
            return at(std::min(static_cast<std::int64_t>((key - offset) * static_cast<double>(n)), n - 1));
        };
        std::fill(s.buckets.begin(), s.buckets.begin() + n + 1, 0);
        for (std::int64_t k = 0; k < n; ++k) ++s.buckets[bucket(keys[k]) + 1];
        for (std::int64_t k = 0; k < n; ++k) s.buckets[at(k) + 1] += s.buckets[at(k)];
        for (std::int64_t k = 0; k < n; ++k) {
            const std::int32_t to = s.buckets[bucket(keys[k])]++;
            s.sorted_keys[at(to)] = keys[k];
            order[to] = static_cast<std::int32_t>(begin + k);
        }
        insert_in_order(s.sorted_keys.data(), order, n);
    }
}

// Sets s.codes to labels drawn by a walk from `from`: kRounds rounds of swaps between random pairs of places of each
// pool, which the logits accept. Overwrites s.order.
void Design::swap_labels(const Codes& from, NumpyRandom random, Scratch& s) const {
    s.codes = from;
    const std::int64_t K = n_kinds();
    NumpyRandom thresholds = random;  // which are drawn after all orders
    thresholds.skip(static_cast<std::uint64_t>(kRounds * n_units()));
    for (std::int64_t round = 0; round < kRounds; ++round) {
        shuffle_pools(random, s);
        for (std::int64_t p = 0; p < n_pools(); ++p) {
            for (std::int64_t k = bounds_[at(p)]; k + 1 < bounds_[at(p) + 1]; k += 2) {
                const std::int64_t i = s.order[at(k)], j = s.order[at(k) + 1];
                const std::int32_t a = s.codes[at(i)], b = s.codes[at(j)];
                const double* of_i = logits_.data() + i * K;
                const double* of_j = logits_.data() + j * K;
                const double gain = (of_i[b] - of_j[b]) - (of_i[a] - of_j[a]);
                if (thresholds.logistic() < gain) std::swap(s.codes[at(i)], s.codes[at(j)]);
            }
        }
    }
}

// Overwrites s.codes, which must have its size, with the records that are dealt to the units of each pool in the order
// of their times: each to a unit that has none yet, with a probability proportional to its hazard. Uses s.order as
// scratch.
void Design::deal_records(NumpyRandom& random, Scratch& s) const {
    for (std::int64_t p = 0; p < n_pools(); ++p) {
        const std::int64_t begin = bounds_[at(p)];
        std::int64_t n_left = bounds_[at(p) + 1] - begin;
        std::int32_t* left = s.order.data() + begin;
        for (std::int64_t k = 0; k < n_left; ++k) left[k] = static_cast<std::int32_t>(begin + k);
        for (std::int64_t k = begin; n_left > 0; ++k, --n_left) {
            const double* hazards = hazards_.data() + is_event_[at(k)];
            double total = 0;
            for (std::int64_t i = 0; i < n_left; ++i) total += hazards[2 * left[i]];
            double rest = random.uniform() * total;
            std::int64_t chosen = 0;
            while (chosen + 1 < n_left && (rest -= hazards[2 * left[chosen]]) >= 0) ++chosen;
            s.codes[at(left[chosen])] = sequence_[at(k)];
            std::copy(left + chosen + 1, left + n_left, left + chosen);
        }
    }
}

// Returns the codes from which all draws walk, which makes them exchangeable with the true ones, from which the walk to
// the hub began.
Design::Codes Design::make_hub() const {
    Scratch scratch(*this);
    swap_labels(codes_, NumpyRandom(seed_, kHub), scratch);
    return scratch.codes;
}

// Sets the codes of all pools with different labels to the labeling of this rank, 0-based: the last pool changes
// fastest. Within a pool, the places of its kinds but the most frequent one are combinations in lexicographic order;
// places of the last kind change fastest.
void Design::set_order(std::int64_t rank, Codes& codes) const {
    std::vector<std::int64_t> free;
    for (std::size_t v = varying_.size(); v-- > 0;) {
        const VaryingPool& pool = varying_[v];
        std::int64_t of_pool = rank % pool.n_orders, rest = pool.n_orders;
        rank /= pool.n_orders;
        const std::size_t most = pool.most_frequent();
        free.clear();
        for (std::int64_t k = pool.begin; k < pool.end; ++k) {
            free.push_back(k);
            codes[at(k)] = pool.counts[most].first;
        }
        for (std::size_t c = 0; c < pool.counts.size(); ++c) {
            if (c == most) continue;
            auto [code, left] = pool.counts[c];
            auto m = static_cast<std::int64_t>(free.size());
            std::int64_t n_ways = 1;  // to choose `left` of m places
            for (std::int64_t j = 1; j <= std::min(left, m - left); ++j) {
                n_ways = n_ways * (m - std::min(left, m - left) + j) / j;
            }
            rest /= n_ways;
            std::int64_t chosen = of_pool / rest;
            of_pool %= rest;
            std::size_t kept = 0;
            for (std::size_t f = 0; f < free.size(); ++f, --m) {
                const std::int64_t n_with = n_ways * left / m;  // that take this place
                if (left > 0 && chosen < n_with) {
                    codes[at(free[f])] = code;
                    n_ways = n_with;
                    --left;
                } else {
                    chosen -= n_with;
                    n_ways -= n_with;
                    free[kept++] = free[f];
                }
            }
            free.resize(kept);
        }
    }
}

// Returns the rank of the true labeling (see set_order).
std::int64_t Design::true_rank() const {
    std::int64_t rank = 0;
    std::vector<std::int64_t> free;
    for (const VaryingPool& pool : varying_) {
        std::int64_t of_pool = 0;
        free.clear();
        for (std::int64_t k = pool.begin; k < pool.end; ++k) free.push_back(k);
        for (std::size_t c = 0; c < pool.counts.size(); ++c) {
            if (c == pool.most_frequent()) continue;
            auto [code, left] = pool.counts[c];
            auto m = static_cast<std::int64_t>(free.size());
            std::int64_t n_ways = 1, before = 0;
            for (std::int64_t j = 1; j <= std::min(left, m - left); ++j) {
                n_ways = n_ways * (m - std::min(left, m - left) + j) / j;
            }
            const std::int64_t n_all = n_ways;
            std::size_t kept = 0;
            for (std::size_t f = 0; f < free.size(); ++f, --m) {
                const std::int64_t n_with = n_ways * left / m;
                if (codes_[at(free[f])] == code) {
                    n_ways = n_with;
                    --left;
                } else {
                    before += n_with;
                    n_ways -= n_with;
                    free[kept++] = free[f];
                }
            }
            free.resize(kept);
            of_pool = of_pool * n_all + before;
        }
        rank = rank * pool.n_orders + of_pool;
    }
    return rank;
}

// Writes the labels of all samples, the numbers plus their fits, or both, unless null: the unit at place k gets
// codes[order[k]], or codes[k] without an order.
void Design::write_labels(const std::int32_t* codes, const std::int32_t* order, std::int64_t* labels,
                          double* numbers) const {
    for (std::size_t i = 0; i < place_.size(); ++i) {
        const std::int32_t place = place_[i];
        const std::int32_t code = codes[order ? order[place] : place];
        if (labels) labels[i] = labels_.given(code);
        if (numbers) numbers[i] = numbers_[at(code)] + (fitted_.empty() ? 0 : fitted_[at(place)]);
    }
}

void Design::write_labelings(std::int64_t first, std::int64_t count, std::int64_t* labels, double* numbers,
                             Run& run) const {
    require(confounded_.empty(), confounded_);
    const std::int64_t n = n_samples();
    const std::int64_t work = count * n_units() * (is_uniform() ? 1 : kRounds);
    const std::int64_t n_parts = std::clamp<std::int64_t>(work / kWorkOfPart, 1, std::max<std::int64_t>(count, 1));
    const std::int64_t n_slots = std::min<std::int64_t>(run.n_threads(), n_parts);
    run.require_memory(n_slots * 40 * n_units(), "the workspace of labelings", "use fewer threads");
    std::vector<Scratch> scratch(at(n_slots), Scratch(*this));
    parallel_for(run, n_parts, [&](std::int64_t part, int slot) {
        for (std::int64_t index = part * count / n_parts; index < (part + 1) * count / n_parts; ++index) {
            write_labeling(first + index, labels ? labels + index * n : nullptr,
                           numbers ? numbers + index * n : nullptr, scratch[at(slot)]);
        }
    });
}

// Writes labeling `number`, as labels or as numbers: the one of its rank if all are listed, otherwise a random one.
void Design::write_labeling(std::int64_t number, std::int64_t* labels, double* numbers, Scratch& s) const {
    if (is_exact_) {
        if (!random_order_.empty()) number = random_order_[at(number)];
        s.codes = codes_;
        set_order(number < true_rank_ ? number : number + 1, s.codes);
        write_labels(s.codes.data(), nullptr, labels, numbers);
        return;
    }
    NumpyRandom random(seed_, static_cast<std::uint64_t>(number));
    if (is_uniform()) {
        shuffle_pools(random, s);
        write_labels(codes_.data(), s.order.data(), labels, numbers);
    } else if (!hazards_.empty()) {
        s.codes = codes_;
        deal_records(random, s);
        write_labels(s.codes.data(), nullptr, labels, numbers);
    } else {
        swap_labels(hub_, random, s);
        write_labels(s.codes.data(), nullptr, labels, numbers);
    }
}

}  // namespace fastfs::core
