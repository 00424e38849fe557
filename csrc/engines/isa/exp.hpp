// The exponential that the files compiled once per instruction set share. Internal linkage only, see tiles.cpp.
#pragma once

#include "engines/isa/vector.hpp"

namespace fastfs::core {
namespace {

template <class T>
struct Exp;

// exp(r) = 1 + r + r^2 q(r); q from fit_exp.py; 1.5 * 2^52 (2^23) added to a number rounds it to an integer, which then
// stands in the low bits.
template <>
struct Exp<double> {
    static constexpr double kLowest = -708.0;
    static constexpr double kRound = 0x1.8p52;
    static constexpr double kLog2e = 0x1.71547652b82fep0;
    static constexpr double kLn2High = 0x1.62e42fefa3800p-1, kLn2Low = 0x1.ef35793c76730p-45;
    static constexpr Bits<double>::Int kBias = 1023;
    static constexpr int kMantissa = 52;
    template <class V>
    static inline V q(V r) {
        const V r2 = r * r, r4 = r2 * r2;
        const V a = 0.50000000000000010211 + 0.16666666666666667452 * r;
        const V b = 0.041666666666624161903 + 0.0083333333333300644495 * r;
        const V c = 0.0013888888917196719077 + 0.00019841269863040545271 * r;
        const V d = 0.000024801521322368693266 + 2.7557268480310025526e-6 * r;
        const V e = 2.7620075879983366586e-7 + 2.5100375832561233664e-8 * r;
        return (a + b * r2) + r4 * ((c + d * r2) + r4 * e);
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

// exp of x <= 0, of one number or (V a register, Ints integers of its size) of several; below kLowest the result is 0
// (it would be subnormal soon), whatever the rest makes of such numbers.
template <class T, class V = T, class Ints = typename Bits<T>::Int>
inline V exp_of(V x) {
    using E = Exp<T>;
    const V shifted = x * E::kLog2e + E::kRound;
    const V n = shifted - E::kRound;
    const V r = (x - n * E::kLn2High) - n * E::kLn2Low;
    const V p = T(1) + (r + r * r * E::q(r));
    const Ints bits = __builtin_bit_cast(Ints, shifted);
    const V power = __builtin_bit_cast(V, (bits + E::kBias) << E::kMantissa);
    return x < V{} + E::kLowest ? V{} : p * power;
}

}  // namespace
}  // namespace fastfs::core
