// Compiled once per instruction set, with FASTFS_ISA_NAME one of base, avx2, avx512. Everything but the table at the end
// has internal linkage and nothing comes from the standard library's templates: the linker merges equal symbols, and
// must never give the baseline a function that was compiled for AVX-512. FMA contraction is on here.
#include "kernels/isa/tiles.hpp"

#define FASTFS_GLUE_(a, b) a##b
#define FASTFS_GLUE(a, b) FASTFS_GLUE_(a, b)
#define FASTFS_TEXT_(a) #a
#define FASTFS_TEXT(a) FASTFS_TEXT_(a)

namespace fastfs::core {
namespace {

template <class T>
struct Exp;

// exp(r) = 1 + r + r^2 q(r); q from fit_exp.py; 1.5 * 2^52 (2^23) added to a number rounds it to an integer, which then
// stands in the low bits.
template <>
struct Exp<double> {
    using Int = std::int64_t;
    static constexpr double kLowest = -708.0;
    static constexpr double kRound = 0x1.8p52;
    static constexpr double kLog2e = 0x1.71547652b82fep0;
    static constexpr double kLn2High = 0x1.62e42fefa3800p-1, kLn2Low = 0x1.ef35793c76730p-45;
    static constexpr Int kBias = 1023;
    static constexpr int kMantissa = 52;
    static inline double q(double r) {
        const double r2 = r * r, r4 = r2 * r2;
        const double a = 0.50000000000000010211 + 0.16666666666666667452 * r;
        const double b = 0.041666666666624161903 + 0.0083333333333300644495 * r;
        const double c = 0.0013888888917196719077 + 0.00019841269863040545271 * r;
        const double d = 0.000024801521322368693266 + 2.7557268480310025526e-6 * r;
        const double e = 2.7620075879983366586e-7 + 2.5100375832561233664e-8 * r;
        return (a + b * r2) + r4 * ((c + d * r2) + r4 * e);
    }
};

template <>
struct Exp<float> {
    using Int = std::int32_t;
    static constexpr float kLowest = -87.0f;
    static constexpr float kRound = 0x1.8p23f;
    static constexpr float kLog2e = 0x1.715476p0f;
    static constexpr float kLn2High = 0x1.62e4p-1f, kLn2Low = 0x1.7f7d1cp-20f;
    static constexpr Int kBias = 127;
    static constexpr int kMantissa = 23;
    static inline float q(float r) {
        const float r2 = r * r;
        return (0.5f + 0.1666657702f * r) + r2 * ((0.0416665546f + 0.0083631731f * r) + r2 * 0.0013926176f);
    }
};

// exp of x <= 0; below kLowest the result is 0 (it would be subnormal soon).
template <class T>
inline T exp_of(T x) {
    using E = Exp<T>;
    const T clipped = x > E::kLowest ? x : E::kLowest;
    const T shifted = clipped * E::kLog2e + E::kRound;
    const T n = shifted - E::kRound;
    const T r = (clipped - n * E::kLn2High) - n * E::kLn2Low;
    const T p = T(1) + (r + r * r * E::q(r));
    const auto bits = __builtin_bit_cast(typename E::Int, shifted);
    const T power = __builtin_bit_cast(T, static_cast<typename E::Int>((bits + E::kBias) << E::kMantissa));
    return x < E::kLowest ? T(0) : p * power;
}

template <class T>
std::int64_t sqdist(T* tile, std::int64_t ld, std::int64_t rows, std::int64_t cols, const T* row_norms,
                    const T* __restrict col_norms, T tolerance) {
    using Int = typename Exp<T>::Int;
    std::int64_t marks = 0;
    for (std::int64_t a = 0; a < rows; ++a) {
        T* __restrict row = tile + a * ld;
        const T norm = row_norms[a];
        Int row_marks = 0;
        for (std::int64_t b = 0; b < cols; ++b) {
            const T sum = norm + col_norms[b];
            const T d2 = sum - T(2) * row[b];
            const bool lost = d2 <= tolerance * sum && sum > T(0);
            row[b] = lost ? TileKernels<T>::kMarkedDistance : d2;
            row_marks += lost ? Int(1) : Int(0);
        }
        marks += row_marks;
    }
    return marks;
}

template <class T>
std::int64_t rbf(T* tile, std::int64_t ld, std::int64_t rows, std::int64_t cols, const T* row_norms,
                 const T* __restrict col_norms, T tolerance, T scale) {
    using Int = typename Exp<T>::Int;
    std::int64_t marks = 0;
    for (std::int64_t a = 0; a < rows; ++a) {
        T* __restrict row = tile + a * ld;
        const T norm = row_norms[a];
        Int row_marks = 0;
        for (std::int64_t b = 0; b < cols; ++b) {
            const T sum = norm + col_norms[b];
            const T d2 = sum - T(2) * row[b];
            const bool lost = d2 <= tolerance * sum && sum > T(0);
            row[b] = lost ? TileKernels<T>::kMarkedAffinity : exp_of(-d2 * scale);
            row_marks += lost ? Int(1) : Int(0);
        }
        marks += row_marks;
    }
    return marks;
}

template <class T>
void exp_neg(T* __restrict x, std::int64_t n, T scale) {
    for (std::int64_t i = 0; i < n; ++i) x[i] = exp_of(-x[i] * scale);
}

}  // namespace

extern const Isa FASTFS_GLUE(isa_, FASTFS_ISA_NAME);
constexpr Isa FASTFS_GLUE(isa_, FASTFS_ISA_NAME) = {
    FASTFS_TEXT(FASTFS_ISA_NAME),
    {sqdist<float>, rbf<float>, exp_neg<float>},
    {sqdist<double>, rbf<double>, exp_neg<double>},
};

}  // namespace fastfs::core
