// Sizes and positions: 64-bit integers outside, std::size_t where the standard library wants it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace fastfs::core {

using Numbers = std::vector<double>;

inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

inline Numbers numbers(std::int64_t size) { return Numbers(at(size)); }

// Returns the numbers 0, 1, .., n - 1.
inline std::vector<std::int64_t> up_to(std::int64_t n) {
    std::vector<std::int64_t> all(at(n));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

inline std::int64_t ceil_div(std::int64_t n, std::int64_t d) { return (n + d - 1) / d; }

inline std::int64_t round_up(std::int64_t n, std::int64_t unit) { return ceil_div(n, unit) * unit; }

}  // namespace fastfs::core
