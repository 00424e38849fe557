// Random numbers that depend on the seed alone, on every machine: xoshiro256++ (Blackman and Vigna 2019, doi
// 10.1145/3460772), seeded by splitmix64. The standard library's engines are portable too, but its distributions
// aren't.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace fastfs::core {

class Random {
  public:
    // Sets the state by hashing seed and stream. Streams of one seed are independent of each other.
    explicit Random(std::uint64_t seed, std::uint64_t stream = 0) {
        std::uint64_t x = seed ^ (stream * 0xd1342543de82ef95u);
        for (std::uint64_t& word : state_) {
            x += 0x9e3779b97f4a7c15u;
            std::uint64_t z = x;
            z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
            z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
            word = z ^ (z >> 31);
        }
    }

    // Returns 64 random bits (xoshiro256++).
    std::uint64_t bits() {
        auto& s = state_;
        const std::uint64_t result = std::rotl(s[0] + s[3], 23) + s[0], t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = std::rotl(s[3], 45);
        return result;
    }

    // Draws a number from the uniform distribution on [0, 1).
    double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

    // Sets `pair` to two standard normal numbers by Marsaglia's polar method.
    void normal_pair(double* pair) {
        double u, v, s;
        do {
            u = 2 * uniform() - 1;
            v = 2 * uniform() - 1;
            s = u * u + v * v;
        } while (s >= 1 || s == 0);
        const double factor = std::sqrt(-2 * std::log(s) / s);
        pair[0] = u * factor;
        pair[1] = v * factor;
    }

    // Draws `count` of the numbers 0..n - 1, each at most once, ascending: number i is taken with probability (numbers
    // still to be drawn) / (n - i).
    std::vector<std::int64_t> subset(std::int64_t n, std::int64_t count) {
        std::vector<std::int64_t> taken;
        for (std::int64_t i = 0; count > 0; ++i) {
            if (uniform() * static_cast<double>(n - i) >= static_cast<double>(count)) continue;
            taken.push_back(i);
            --count;
        }
        return taken;
    }

  private:
    std::uint64_t state_[4];
};

}  // namespace fastfs::core
