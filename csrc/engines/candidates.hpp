// Candidates for the nearest features of each feature, by bounds of products in single precision.
//
// From a Gram, d_ij^2 is known up to e_i + e_j: between g_ij - e_i - e_j and g_ij + e_i + e_j. With u_i the
// n_neighbors-th smallest g_ij + e_j, at least n_neighbors features are as near to i as u_i + e_i, and j may be
// among the nearest only if g_ij - e_j <= u_i + 2 e_i. As g_ij = |z_i|^2 + |z_j|^2 - 2 G_ij, this is
//
//     G_ij >= floor_j - limit_i,   floor_j = (|z_j|^2 - e_j) / 2,   limit_i = (u_i + 2 e_i - |z_i|^2) / 2.
//
// Counts and other integers have exact products up to 2^24: for them e_i is 0, and ties are decided immediately.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "engines/columns.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"

namespace fastfs::core {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Returns the number of candidates that a feature has room for. A full list is cut: more room makes cuts rarer and
// their threshold older.
inline std::int64_t candidate_capacity(std::int64_t k, std::int64_t d) {
    return std::min(d - 1, k + std::max<std::int64_t>(32, k / 2));
}

struct Candidate {
    float lower, upper;  // g_ij - e_j and g_ij + e_j
    std::int32_t other;  // j
};

// Scratch of a thread that adds or drops candidates.
struct CandidateScratch {
    std::vector<float> uppers;
    std::vector<std::int64_t> ties;
};

// The candidates of all features; ids: their columns of X, which decide ties.
class Candidates {
  public:
    // left_out: a flag per feature, or empty; flagged features are candidates of no other feature.
    Candidates(std::int64_t d, std::int64_t k, const std::vector<std::int64_t>& ids, std::vector<float> norms,
               std::vector<float> errors, const std::vector<char>& left_out)
        : k_(k),
          capacity_(candidate_capacity(k, d)),
          all_(capacity_ == d - 1),
          ids_(ids),
          norms_(std::move(norms)),
          errors_(std::move(errors)),
          sizes_(at(d), 0),
          overflowed_(at(d), 0),
          floors_(at(round_up(d, kTile)), kInfinity),
          limits_(floors_.size(), -kInfinity),
          lists_(d * capacity_) {
        for (std::size_t i = 0; i < sizes_.size(); ++i) {
            if (!left_out.empty() && left_out[i]) continue;
            floors_[i] = (norms_[i] - errors_[i]) / 2;
            limits_[i] = kInfinity;
        }
    }

    static std::int64_t memory(std::int64_t d, std::int64_t k) {
        return d * (static_cast<std::int64_t>(sizeof(Candidate)) * candidate_capacity(k, d) + 24);
    }

    const float* floors() const { return floors_.data(); }
    const float* limits() const { return limits_.data(); }
    float limit(std::int64_t i) { return std::atomic_ref(limits_[at(i)]).load(std::memory_order_relaxed); }
    const Candidate* list(std::int64_t i) const { return &lists_[i * capacity_]; }
    std::int64_t size(std::int64_t i) const { return sizes_[at(i)]; }
    bool overflowed(std::int64_t i) const { return overflowed_[at(i)] != 0; }

    // Adds j to the candidates of i, if its product with i allows it; drops candidates if the list is full then. The
    // caller must hold the lock of i.
    void offer(std::int64_t i, std::int64_t j, float product, CandidateScratch& scratch) {
        if (product < floors_[at(j)] - limits_[at(i)]) return;
        const float value = norms_[at(i)] + norms_[at(j)] - 2 * product, error = errors_[at(j)];
        const std::int64_t end = sizes_[at(i)]++;
        lists_[i * capacity_ + end] = {value - error, value + error, static_cast<std::int32_t>(j)};
        if (end + 1 == capacity_ && !all_) make_room(i, scratch);
    }

    bool left_out(std::int64_t i) const { return floors_[at(i)] == kInfinity; }

    // Lowers the limit of i by its products with n features from j0 on, i among them; does nothing if i is left out or
    // n - 1 < k.
    void limit_from_own_block(std::int64_t i, std::int64_t j0, std::int64_t n, const float* products,
                              CandidateScratch& scratch) {
        if (n - 1 < k_ || left_out(i)) return;
        scratch.uppers.resize(at(n));
        float* uppers = scratch.uppers.data();
        const float *norms = &norms_[at(j0)], *errors = &errors_[at(j0)], norm = norms_[at(i)];
        for (std::int64_t b = 0; b < n; ++b) uppers[b] = (norm + norms[b] - 2 * products[b]) + errors[b];
        uppers[i - j0] = uppers[n - 1];
        lower_limit(i, isa().bound_kth(uppers, n - 1, k_));
    }

    // Drops the candidates of feature i that can't be among its k_ nearest for any rounding errors; exact ties go to
    // the lower column.
    void drop_hopeless(std::int64_t i, CandidateScratch& scratch) {
        if (size(i) <= k_) return;
        const float upper = kth_upper(i, scratch), limit = lower_limit(i, upper);
        keep_if(i, [&](const Candidate& c) { return c.lower <= limit; });
        if (size(i) <= k_ || errors_[at(i)] > 0) return;
        // Exact ties go to the lower index: a candidate that is dropped can't come back.
        auto exact_tie = [&](const Candidate& c) { return c.upper == upper && errors_[at(c.other)] == 0; };
        scratch.ties.clear();
        std::int64_t nearer = 0;
        std::for_each_n(list(i), size(i), [&](const Candidate& c) {
            nearer += c.upper < upper;
            if (exact_tie(c)) scratch.ties.push_back(ids_[at(c.other)]);
        });
        if (static_cast<std::int64_t>(scratch.ties.size()) <= k_ - nearer) return;
        const auto last = scratch.ties.begin() + (k_ - nearer - 1);
        std::nth_element(scratch.ties.begin(), last, scratch.ties.end());
        keep_if(i, [&, highest = *last](const Candidate& c) { return ids_[at(c.other)] <= highest || !exact_tie(c); });
    }

  private:
    // Lowers the limit of i, never raises it, and returns the largest `lower` that a candidate can have, if k_
    // candidates have an `upper` that is at most the argument.
    float lower_limit(std::int64_t i, float upper) {
        const float lower = upper + 2 * errors_[at(i)];
        // Other threads can read the limit without the lock that guards the candidates of i.
        const float limit = std::min(limits_[at(i)], (lower - norms_[at(i)]) / 2);
        std::atomic_ref(limits_[at(i)]).store(limit, std::memory_order_relaxed);
        return lower;
    }

    // Copies the `upper` of all candidates of i to scratch.uppers, and returns its start.
    float* uppers(std::int64_t i, CandidateScratch& scratch) {
        scratch.uppers.resize(at(size(i)));
        std::transform(list(i), list(i) + size(i), scratch.uppers.begin(), [](const Candidate& c) { return c.upper; });
        return scratch.uppers.data();
    }

    float kth_upper(std::int64_t i, CandidateScratch& scratch) {
        float* all = uppers(i, scratch);
        std::nth_element(all, all + k_ - 1, all + size(i));
        return all[k_ - 1];
    }

    // Drops candidates from the full list of feature i until at least half of the room beyond the k nearest is free. If
    // rounding confuses too many, marks the feature in overflowed_ and keeps k.
    void make_room(std::int64_t i, CandidateScratch& scratch) {
        const std::int64_t enough = (k_ + capacity_) / 2;
        const float limit = lower_limit(i, isa().bound_kth(uppers(i, scratch), capacity_, k_));
        keep_if(i, [&](const Candidate& c) { return c.lower <= limit; });
        if (size(i) > enough) drop_hopeless(i, scratch);
        if (size(i) <= enough) return;
        // Rounding confuses more candidates than there is room for. n_neighbors of the smallest uppers stay, so that
        // the limit stays right; the feature is searched again when all limits are known.
        overflowed_[at(i)] = 1;
        const float upper = kth_upper(i, scratch);
        std::int64_t ties = k_ - std::count_if(list(i), list(i) + size(i), [&](auto& c) { return c.upper < upper; });
        keep_if(i, [&](const Candidate& c) { return c.upper < upper || (c.upper == upper && ties-- > 0); });
    }

    // Drops the candidates of feature i that `wanted` rejects, and keeps the order of the remaining ones.
    template <class F>
    void keep_if(std::int64_t i, F&& wanted) {
        Candidate* list = &lists_[i * capacity_];
        std::int64_t count = 0;
        for (std::int64_t c = 0, n = size(i); c < n; ++c) {
            const Candidate candidate = list[c];
            list[count] = candidate;
            count += wanted(candidate);
        }
        sizes_[at(i)] = static_cast<std::int32_t>(count);
    }

    const std::int64_t k_, capacity_;
    const bool all_;  // there is room for all other features
    const std::vector<std::int64_t>& ids_;
    const std::vector<float> norms_, errors_;
    std::vector<std::int32_t> sizes_;
    std::vector<std::uint8_t> overflowed_;
    std::vector<float> floors_, limits_;  // up to a multiple of kTile
    Buffer<Candidate> lists_;
};

}  // namespace fastfs::core
