// The random numbers of NumPy's default generator, so that draws are the same in Python, R and C: a seed and the number
// of a stream are hashed (SeedSequence, after O'Neill's seed_seq_fe), and PCG64 draws (O'Neill 2014, "PCG: A family of
// simple fast space-efficient statistically good algorithms for random number generation").
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "support/index.hpp"

namespace fastfs::core {

class NumpyRandom {
    __extension__ typedef unsigned __int128 Word;

  public:
    // Draws as default_rng(SeedSequence(seed)), or, given a stream, as default_rng of child `stream` of that sequence.
    explicit NumpyRandom(std::uint64_t seed, std::optional<std::uint64_t> stream = {}) {
        const auto words = hashed(seed, stream);
        const Word start = joined(words[0], words[1]);
        increment_ = (joined(words[2], words[3]) << 1) | 1;
        state_ = (increment_ + start) * kMultiplier + increment_;
    }

    std::uint64_t bits() {
        state_ = state_ * kMultiplier + increment_;
        const auto high = static_cast<std::uint64_t>(state_ >> 64), low = static_cast<std::uint64_t>(state_);
        return std::rotr(high ^ low, static_cast<int>(high >> 58));
    }

    // Generator.random: uniform on [0, 1).
    double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

    // Generator.logistic.
    double logistic() {
        for (;;) {
            if (const double u = uniform(); u > 0) return std::log(u / (1 - u));
        }
    }

    // Generator.permutation of these values: each place from the last one on trades with one that isn't above it.
    template <class T>
    void shuffle(std::vector<T>& values) {
        for (std::size_t i = values.size(); i-- > 1;) {
            std::swap(values[i], values[at_most(static_cast<std::uint32_t>(i))]);
        }
    }

    // Leaves out the next n values of bits(), in O(log n).
    void skip(std::uint64_t n) {
        Word factor = 1, shift = 0, power = kMultiplier, sum = increment_;
        for (; n > 0; n >>= 1) {
            if (n & 1) {
                factor *= power;
                shift = shift * power + sum;
            }
            sum *= power + 1;
            power *= power;
        }
        state_ = state_ * factor + shift;
    }

  private:
    static Word joined(std::uint64_t high, std::uint64_t low) { return (static_cast<Word>(high) << 64) | low; }
    static constexpr Word kMultiplier = static_cast<Word>(2549297995355413924u) << 64 | 4865540595714422341u;

    // Returns a half of bits(), and with the next call the second half.
    std::uint32_t half() {
        if (is_half_left_) {
            is_half_left_ = false;
            return half_;
        }
        const std::uint64_t both = bits();
        half_ = static_cast<std::uint32_t>(both >> 32);
        is_half_left_ = true;
        return static_cast<std::uint32_t>(both);
    }

    // Draws from 0..most: as many low bits as `most` has, until they don't exceed it.
    std::uint32_t at_most(std::uint32_t most) {
        const std::uint32_t mask = ~0u >> std::countl_zero(most | 1);
        for (;;) {
            if (const std::uint32_t value = half() & mask; value <= most) return value;
        }
    }

    // Adds the words of a number, the low one first; 0 has one word.
    static void append(std::vector<std::uint32_t>& words, std::uint64_t number) {
        do {
            words.push_back(static_cast<std::uint32_t>(number));
            number >>= 32;
        } while (number > 0);
    }

    // Hashes a seed and a stream to the four words that start a generator, as NumPy's SeedSequence does.
    static std::array<std::uint64_t, 4> hashed(std::uint64_t seed, std::optional<std::uint64_t> stream) {
        std::vector<std::uint32_t> entropy;
        append(entropy, seed);
        entropy.resize(4);  // which only counts before the words of a stream: missing ones are hashed as 0
        if (stream) append(entropy, *stream);
        std::uint32_t constant = 0x43b0d7e5u;
        const auto hash = [&constant](std::uint32_t value, std::uint32_t multiplier) {
            value ^= constant;
            constant *= multiplier;
            value *= constant;
            return value ^ (value >> 16);
        };
        std::array<std::uint32_t, 4> pool;
        for (std::size_t i = 0; i < 4; ++i) pool[i] = hash(entropy[i], 0x931e8875u);
        const auto mix = [&](std::uint32_t& to, std::uint32_t from) {
            to = 0xca01f9ddu * to - 0x4973f715u * hash(from, 0x931e8875u);
            to ^= to >> 16;
        };
        for (std::size_t from = 0; from < 4; ++from) {
            for (std::size_t to = 0; to < 4; ++to) {
                if (from != to) mix(pool[to], pool[from]);
            }
        }
        for (std::size_t from = 4; from < entropy.size(); ++from) {
            for (std::uint32_t& to : pool) mix(to, entropy[from]);
        }
        constant = 0x8b51f9ddu;
        std::array<std::uint64_t, 4> words;
        for (std::size_t i = 0; i < 4; ++i) {
            const std::uint64_t low = hash(pool[2 * i % 4], 0x58f38dedu);
            words[i] = low | std::uint64_t{hash(pool[(2 * i + 1) % 4], 0x58f38dedu)} << 32;
        }
        return words;
    }

    Word state_, increment_;
    std::uint32_t half_ = 0;
    bool is_half_left_ = false;
};

}  // namespace fastfs::core
