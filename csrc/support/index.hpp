// Sizes and indices: 64 bits and signed, but unsigned in a vector's brackets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fastfs::core {

using Numbers = std::vector<double>;
inline Numbers numbers(std::int64_t size) { return Numbers(static_cast<std::size_t>(size)); }

inline std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

// a / b rounded up, for a >= 0 and b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace fastfs::core
