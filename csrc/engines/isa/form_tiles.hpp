// Kernels for quadratic forms d'Wd, and sums of g d d', of differences d = |x_i - x_j| that are computed on the fly.
#pragma once

#include <cstdint>

namespace fastfs::core {

// Sizes: kUnit samples lie side by side, feature by feature, in a unit of 64 bytes; a panel of differences has kPairs
// pairs side by side, which fill three units; kFormRows rows of W are multiplied together.
template <class T>
constexpr std::int64_t kUnit = 64 / static_cast<std::int64_t>(sizeof(T));
template <class T>
constexpr std::int64_t kPairs = 3 * kUnit<T>;
constexpr std::int64_t kFormRows = 8;

template <class T>
struct FormKernels {
    // Computes d[a * kPairs + l] = |x[a] - unit[a * kUnit + l]| for n features a and l < kUnit.
    void (*panel)(const T* x, const T* unit, std::int64_t n, T* d);
    // Computes S (kFormRows x kPairs) = sum over n features of W[a * kFormRows + r] d[a * kPairs + l], added to the
    // previous S unless `first`. S is stored unless `last`; then form[l] += sum_r by[r * kPairs + l] S_rl if `by` is
    // given, and sign * sum_r S_rl^2 otherwise.
    void (*form)(const T* W, const T* d, std::int64_t n, bool first, bool last, T* S, const T* by, T sign, T* form);
    // Computes d[a] = |x[a] - y[a]| and times_g[a] = g d[a]; a null destination is skipped.
    void (*row)(const T* x, const T* y, std::int64_t n, T g, T* d, T* times_g);
    // Adds to tile (ld) the sum over n pairs p of left[p * left_ld + a] right[p * right_ld + b], for a < rows (a
    // multiple of kFormRows) and b < cols (of kUnit); with `upper` only b >= a is complete.
    void (*outer)(const T* left, std::int64_t left_ld, const T* right, std::int64_t right_ld, std::int64_t n,
                  std::int64_t rows, std::int64_t cols, bool upper, T* tile, std::int64_t ld);
};

struct FormIsa {
    FormKernels<float> f32;
    FormKernels<double> f64;
};

}  // namespace fastfs::core
