// Engine: searches among all pairs of n things, for the strongest ones.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "support/index.hpp"

namespace fastfs::core {

// A level that rises while threads search for larger values.
class Level {
  public:
    // Sets the level to `value` unless it is higher already.
    void raise(double value) {
        double known = value_.load(std::memory_order_relaxed);
        while (value > known && !value_.compare_exchange_weak(known, value, std::memory_order_relaxed)) {
        }
    }
    double value() const { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<double> value_{0};
};

// A thread-safe collection of the strongest of the pairs that are added, in any order. A Pair has i, j and a strength.
template <class Pair>
class Strongest {
  public:
    explicit Strongest(std::int64_t most) : most_(most) { pairs_.reserve(at(2 * most)); }

    static std::int64_t memory(std::int64_t most) { return 2 * most * static_cast<std::int64_t>(sizeof(Pair)); }

    // Adds a pair; drops all but the strongest when the room is full, which raises `level`.
    void add(const Pair& pair) {
        const std::lock_guard lock(mutex_);
        pairs_.push_back(pair);
        const auto n = static_cast<std::int64_t>(pairs_.size());
        if (n == 2 * most_ || (n == most_ && level.value() == 0)) keep_strongest();
    }

    // Returns the strongest pairs, `most` or fewer, in descending order, ties by i and j; leaves the collection empty.
    std::vector<Pair> sorted() {
        std::sort(pairs_.begin(), pairs_.end(), stronger);
        if (static_cast<std::int64_t>(pairs_.size()) > most_) pairs_.resize(at(most_));
        return std::move(pairs_);
    }

    Level level;  // the strength below which a pair can't be among the strongest

  private:
    static bool stronger(const Pair& a, const Pair& b) {
        if (a.strength != b.strength) return a.strength > b.strength;
        return std::pair(a.i, a.j) < std::pair(b.i, b.j);
    }
    // Drops all but the `most` strongest pairs, and raises `level` to the weakest of them. The caller holds the lock.
    void keep_strongest() {
        std::nth_element(pairs_.begin(), pairs_.begin() + (most_ - 1), pairs_.end(), stronger);
        pairs_.resize(at(most_));
        level.raise(pairs_.back().strength);
    }

    const std::int64_t most_;
    std::mutex mutex_;
    std::vector<Pair> pairs_;
};

// A numbering, row by row, of the tiles on and above the diagonal of an n x n grid.
class TilePairs {
  public:
    explicit TilePairs(std::int64_t n) {
        for (std::int64_t I = 0, begin = 0; I < n; begin += n - I++) begins_.push_back(begin);
    }
    static std::int64_t count(std::int64_t n) { return n * (n + 1) / 2; }
    std::int64_t size() const { return count(static_cast<std::int64_t>(begins_.size())); }
    // Returns row and column of the tile with this number.
    std::pair<std::int64_t, std::int64_t> operator[](std::int64_t tile) const {
        const std::int64_t I = std::upper_bound(begins_.begin(), begins_.end(), tile) - begins_.begin() - 1;
        return {I, I + tile - begins_[at(I)]};
    }

  private:
    std::vector<std::int64_t> begins_;
};

}  // namespace fastfs::core
