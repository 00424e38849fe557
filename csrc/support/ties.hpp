// The comparison of distances up to rounding.
#pragma once

#include <algorithm>
#include <cmath>

namespace fastfs::core {

// Relative difference below which two distances are equal. The rounding of sums in double is below it (some 1e-13 for
// 1e6 terms), and the distances of numbers with fractions hardly ever are so close.
constexpr double kTie = 1e-10;

inline bool equal_distances(double a, double b) { return std::abs(a - b) <= kTie * std::max(a, b); }

}  // namespace fastfs::core
