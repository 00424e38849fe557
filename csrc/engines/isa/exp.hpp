// The exponential that the files compiled once per instruction set share. Internal linkage only, see tiles.cpp.
#pragma once

#include "engines/isa/vector.hpp"

namespace fastfs::core {
namespace {

template <class T>
struct Exp;

// exp(r) = 1 + r + r^2 q(r), with q from fit_exp.py. Adding 1.5 * 2^52 (float: 2^23) rounds a number to an integer,
// which then stands in the low bits.
template <>
struct Exp<double> {
    static constexpr double kLowest = -708.0;
    static constexpr double kRound = 0x1.8p52;
    static constexpr double kLog2e = 0x1.71547652b82fep0;
    static constexpr double kLn2High = 0x1.62e42fefa3800p-1, kLn2Low = 0x1.ef35793c76730p-45;
    static constexpr Bits<double>::Int kBias = 1023;
    static constexpr int kMantissa = 52;
    // Evaluates the polynomial q of exp(r) = 1 + r + r^2 q(r).
    template <class V>
    static inline V q(V r) {
        constexpr double c[] = {0.50000000000000010211,     0.16666666666666667452,   0.041666666666624161903,
                                0.0083333333333300644495,   0.0013888888917196719077, 0.00019841269863040545271,
                                0.000024801521322368693266, 2.7557268480310025526e-6, 2.7620075879983366586e-7,
                                2.5100375832561233664e-8};
        const V r2 = r * r, r4 = r2 * r2;
#if defined(FASTFS_NEON)
        // An FMA overwrites its addend, so each sum that starts with a coefficient costs a copy: three here, instead of
        // five.
        const V r3 = r2 * r;
        const V low = c[0] + c[1] * r + c[2] * r2 + c[3] * r3, middle = c[4] + c[5] * r + c[6] * r2 + c[7] * r3;
        return low + r4 * (middle + r4 * (c[8] + c[9] * r));
#else
        const V a0 = c[0] + c[1] * r, a2 = c[2] + c[3] * r, a4 = c[4] + c[5] * r, a6 = c[6] + c[7] * r;
        const V a8 = c[8] + c[9] * r;
        return (a0 + a2 * r2) + r4 * ((a4 + a6 * r2) + r4 * a8);
#endif
    }
};

template <>
struct Exp<float> {
    static constexpr float kLowest = -87.0f;
    static constexpr float kRound = 0x1.8p23f;
    static constexpr float kLog2e = 0x1.715476p0f;
    static constexpr float kLn2High = 0x1.62e4p-1f, kLn2Low = 0x1.7f7d1cp-20f;
    static constexpr Bits<float>::Int kBias = 127;
    static constexpr int kMantissa = 23;
    template <class V>
    static inline V q(V r) {
        const V r2 = r * r;
        return (0.5f + 0.1666657702f * r) + r2 * ((0.0416665546f + 0.0083631731f * r) + r2 * 0.0013926176f);
    }
};

// Returns exp of x <= 0, for one number or (V a register, Ints integers of its size) for several. Below kLowest, near
// the first subnormal result, it returns 0 instead of the formula's value.
template <class T, class V = T, class Ints = typename Bits<T>::Int>
inline V exp_of(V x) {
    using E = Exp<T>;
    const V shifted = x * E::kLog2e + E::kRound;
    const V n = shifted - E::kRound;
    const V r = (x - n * E::kLn2High) - n * E::kLn2Low;
    const V p = T(1) + (r + r * r * E::q(r));
    const Ints bits = __builtin_bit_cast(Ints, shifted);
    const V power = __builtin_bit_cast(V, (bits + E::kBias) << E::kMantissa);
#if defined(FASTFS_NEON)
    // Uses bits, because GCC turns a choice into the opposite comparison, which takes five more instructions for NaN.
    const Ints below = x < V{} + E::kLowest ? Ints{} - 1 : Ints{};
    return __builtin_bit_cast(V, __builtin_bit_cast(Ints, p * power) & ~below);
#else
    return x < V{} + E::kLowest ? V{} : p * power;
#endif
}

}  // namespace
}  // namespace fastfs::core
