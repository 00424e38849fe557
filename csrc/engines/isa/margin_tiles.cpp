// Differences of samples, compiled once per instruction set under the rules of tiles.cpp.
#include "engines/isa/exp.hpp"
#include "engines/isa/tiles.hpp"
#include "engines/isa/vector.hpp"

namespace fastfs::core {
namespace {

// With few registers a tile of 4 x 4 samples is done in two halves. The split side is the one that comes from the
// second cache, the right samples for distances and the left ones for sums over pairs, so that they come at an even
// pace.
constexpr int kPairSide = 4, kHalfSide = kManyRegisters ? kPairSide : kPairSide / 2;

// Registers of a row between two jumps. A squared difference needs only two instructions, so the instructions of the
// loop matter: 42 instead of 38 G pair-features/s in L1 (Zen 3, float32). Absolute differences run at 30 either way.
constexpr int kSquareSteps = kManyRegisters ? 1 : 2;

// Adds adjacent lanes, of a and then of b. Registers of 32 bytes are added within each half, as far as one instruction
// reaches.
template <class T>
inline typename Vector<T>::Type add_adjacent(typename Vector<T>::Type a, typename Vector<T>::Type b) {
    using Mask [[maybe_unused]] = typename Vector<T>::Ints;
#if defined(FASTFS_NEON)
    if constexpr (sizeof(T) == sizeof(float)) return vpaddq_f32(a, b);
    if constexpr (sizeof(T) == sizeof(double)) return vpaddq_f64(a, b);
#else
    if constexpr (Vector<T>::kLanes == 16) {
        return FASTFS_SHUFFLE(Mask, a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30) +
               FASTFS_SHUFFLE(Mask, a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    } else if constexpr (kRegister == 64) {
        return FASTFS_SHUFFLE(Mask, a, b, 0, 2, 4, 6, 8, 10, 12, 14) +
               FASTFS_SHUFFLE(Mask, a, b, 1, 3, 5, 7, 9, 11, 13, 15);
    } else if constexpr (Vector<T>::kLanes == 8) {
        return FASTFS_SHUFFLE(Mask, a, b, 0, 2, 8, 10, 4, 6, 12, 14) +
               FASTFS_SHUFFLE(Mask, a, b, 1, 3, 9, 11, 5, 7, 13, 15);
    } else if constexpr (kRegister == 32) {
        return FASTFS_SHUFFLE(Mask, a, b, 0, 4, 2, 6) + FASTFS_SHUFFLE(Mask, a, b, 1, 5, 3, 7);
    } else if constexpr (Vector<T>::kLanes == 4) {
        return FASTFS_SHUFFLE(Mask, a, b, 0, 2, 4, 6) + FASTFS_SHUFFLE(Mask, a, b, 1, 3, 5, 7);
    } else {
        return FASTFS_SHUFFLE(Mask, a, b, 0, 2) + FASTFS_SHUFFLE(Mask, a, b, 1, 3);
    }
#endif
}

// Adds the halves of registers of 32 bytes, which add_adjacent leaves apart.
template <class T>
inline typename Vector<T>::Type add_halves(typename Vector<T>::Type a, typename Vector<T>::Type b) {
    using Mask [[maybe_unused]] = typename Vector<T>::Ints;
    if constexpr (Vector<T>::kLanes == 8) {
        return FASTFS_SHUFFLE(Mask, a, b, 0, 1, 2, 3, 8, 9, 10, 11) +
               FASTFS_SHUFFLE(Mask, a, b, 4, 5, 6, 7, 12, 13, 14, 15);
    } else {
        return FASTFS_SHUFFLE(Mask, a, b, 0, 1, 4, 5) + FASTFS_SHUFFLE(Mask, a, b, 2, 3, 6, 7);
    }
}

// Returns the lane sums of n registers side by side, n being their number of lanes; for smaller n, in the recursion, a
// register holds parts of sums.
template <class T, int n>
inline typename Vector<T>::Type lane_sums(const typename Vector<T>::Type* x) {
    if constexpr (n == 1) {
        return x[0];
    } else {
        const typename Vector<T>::Type a = lane_sums<T, n / 2>(x), b = lane_sums<T, n / 2>(x + n / 2);
        if constexpr (kRegister == 32 && n == Vector<T>::kLanes) {
            return add_halves<T>(a, b);
        } else {
            return add_adjacent<T>(a, b);
        }
    }
}

// Returns 1. Adding 1 * |d| by FMA spreads the work: if additions and FMA have separate units, a sum of |differences|
// is bound by the additions otherwise. The compiler must not see that the factor is 1.
template <class T>
inline typename Vector<T>::Type hidden_one() {
    typename Vector<T>::Type one = typename Vector<T>::Type{} + T(1);
#if defined(__FMA__)
    __asm__("" : "+v"(one));
#endif
    return one;
}

// Summands of a distance: the contribution of one feature, from the difference d of two values.
enum class Term {
    kAbsolute,  // |d|
    kSquare,    // d^2
    kKnown,     // |d|, or 0 if a value is NaN
    kDiffer,    // `top` if the values differ, or 0 if not or if one is NaN
    kRamp,      // 0 for |d| <= low, |d| - low up to `high`, `top` beyond; 0 if a value is NaN
    kGaussian,  // weight x exp(-d^2)
};

// Returns the term of a difference d in features k..; parameters: low, high and top for kRamp, the weights for
// kGaussian. A NaN leaves 0 in kKnown and kRamp: a comparison with it is false.
template <class T, Term kTerm>
inline typename Vector<T>::Type term_of(typename Vector<T>::Type d, const T* const* parameters, std::int64_t k) {
    using V = typename Vector<T>::Type;
    if constexpr (kTerm == Term::kAbsolute) {
        return absolute<T>(d);
    } else if constexpr (kTerm == Term::kSquare) {
        return d * d;
    } else if constexpr (kTerm == Term::kKnown) {
        return known<T>(d);
    } else if constexpr (kTerm == Term::kRamp) {
        const V a = absolute<T>(d), within = positive<T>(a - load(parameters[0] + k));
        return a > load(parameters[1] + k) ? load(parameters[2] + k) : within;
    } else {
        return load(parameters[0] + k) * exp_of<T, V, typename Vector<T>::Ints>(-d * d);
    }
}

// Computes the term of two values x and y; parameters of kDiffer: top.
template <class T, Term kTerm>
inline typename Vector<T>::Type term_of(typename Vector<T>::Type x, typename Vector<T>::Type y,
                                        const T* const* parameters, std::int64_t k) {
    if constexpr (kTerm == Term::kDiffer) {
        return differing<T>(x, y, load(parameters[0] + k));
    } else {
        return term_of<T, kTerm>(x - y, parameters, k);
    }
}

// Sets sums[i * kPairSide + j] to the sum of the terms of left[i] - right[j] over n features, for kHalfSide x kPairSide
// samples: row by row in a full tile, otherwise column by column.
template <class T, Term kTerm>
inline void pair_tile(const T* const* left, const T* const* right, const T* const* parameters, std::int64_t n,
                      T* sums) {
    using V = typename Vector<T>::Type;
    constexpr int kLanes = Vector<T>::kLanes;
    V sum[kHalfSide * kPairSide] = {};
    static_assert(kHalfSide * kPairSide >= kLanes);
    [[maybe_unused]] const V one = hidden_one<T>();
    const T *a[kHalfSide], *b[kPairSide];
    for (int i = 0; i < kHalfSide; ++i) a[i] = left[i];
    for (int j = 0; j < kPairSide; ++j) b[j] = right[j];
    const auto place = [](int i, int j) { return kHalfSide == kPairSide ? i * kPairSide + j : j * kHalfSide + i; };
    // Adds the terms of the features k.. of all pairs to their sums.
    const auto add_terms = [&](std::int64_t k) {
        V x[kHalfSide];
        for (int i = 0; i < kHalfSide; ++i) x[i] = load(a[i] + k);
        for (int j = 0; j < kPairSide; ++j) {
            const V y = load(b[j] + k);
            for (int i = 0; i < kHalfSide; ++i) {
                // A maximum keeps the units of additions busy, too, so half of the differences go to the FMA units.
                const V from = kTerm == Term::kKnown && i % 2 ? x[i] * one : x[i];
                const V term = term_of<T, kTerm>(from, y, parameters, k);
                if constexpr (kTerm == Term::kSquare || kTerm == Term::kDiffer || kTerm == Term::kGaussian) {
                    sum[place(i, j)] += term;
                } else {
                    sum[place(i, j)] += term * one;
                }
            }
        }
    };
    // n fills an even number of registers, except the widest.
    constexpr int kSteps = kTerm == Term::kSquare ? kSquareSteps : 1;
    for (std::int64_t k = 0; k < n; k += kSteps * kLanes) {
        unrolled<kSteps>([&](int step) { add_terms(k + step * kLanes); });
    }
    unrolled<kHalfSide * kPairSide / kLanes>(
        [&](int i) { store(sums + i * kLanes, lane_sums<T, kLanes>(sum + i * kLanes)); });
}

// Sets sums[4 i + j] to the sum of the terms of left[i] - right[j] over n features, for 4 x 4 samples.
template <class T, Term kTerm>
void pair_sums(const T* const* left, const T* const* right, const T* const* parameters, std::int64_t n, T* sums) {
    if constexpr (kHalfSide == kPairSide) {
        pair_tile<T, kTerm>(left, right, parameters, n, sums);
    } else {
        // No term depends on the sign of a difference.
        for (int j = 0; j < kPairSide; j += kHalfSide) {
            T half[kPairSide * kHalfSide];
            pair_tile<T, kTerm>(right + j, left, parameters, n, half);
            for (int i = 0; i < kPairSide; ++i) {
                for (int c = 0; c < kHalfSide; ++c) sums[i * kPairSide + j + c] = half[i * kHalfSide + c];
            }
        }
    }
}

// Adds to sums[k] the sum over kRows x 4 pairs of g[4 i + j] times the term of left[i] - right[j] in feature k.
template <class T, Term kTerm, int kRows>
inline void feature_tile(const T* const* left, const T* const* right, const T* g, const T* const* parameters,
                         std::int64_t n, T* sums) {
    using V = typename Vector<T>::Type;
    const T *a[kRows], *b[kPairSide];
    V weight[kRows][kPairSide];
    for (int i = 0; i < kRows; ++i) {
        a[i] = left[i];
        for (int j = 0; j < kPairSide; ++j) weight[i][j] = V{} + g[i * kPairSide + j];
    }
    for (int j = 0; j < kPairSide; ++j) b[j] = right[j];
    for (std::int64_t k = 0; k < n; k += Vector<T>::kLanes) {
        V sum[2] = {load(sums + k)};  // one is bound by the latency of an FMA, four by their additions
        V x[kRows];
        for (int i = 0; i < kRows; ++i) x[i] = load(a[i] + k);
        for (int j = 0; j < kPairSide; ++j) {
            const V y = load(b[j] + k);
            for (int i = 0; i < kRows; ++i) {
                sum[j % 2] += term_of<T, kTerm>(x[i], y, parameters, k) * weight[i][j];
            }
        }
        store(sums + k, sum[0] + sum[1]);
    }
}

// Adds to sums[k] the sum over 4 x 4 pairs of g[4 i + j] times the term of left[i] - right[j] in feature k.
template <class T, Term kTerm>
void feature_sums(const T* const* left, const T* const* right, const T* g, const T* const* parameters, std::int64_t n,
                  T* sums) {
    for (int i = 0; i < 4; i += kHalfSide) {
        feature_tile<T, kTerm, kHalfSide>(left + i, right, g + i * kPairSide, parameters, n, sums);
    }
}

template <class T, Term kTerm>
void row_sums(const T* left, const T* const* right, const T* g, const T* const* parameters, std::int64_t n, T* sums) {
    feature_tile<T, kTerm, 1>(&left, right, g, parameters, n, sums);
}

// Adds to sums[k] the sum over four right samples of g[j] times the term in feature k, and to counts[k] the w[j] of
// samples that have the feature if `left` has it.
template <class T, Term kTerm>
void known_sums(const T* left, const T* const* right, const T* g, const T* w, const T* const* parameters,
                std::int64_t n, T* sums, T* counts) {
    using V = typename Vector<T>::Type;
    const T* b[kPairSide];
    V strength[kPairSide], weight[kPairSide];
    for (int j = 0; j < kPairSide; ++j) {
        b[j] = right[j];
        strength[j] = V{} + g[j];
        weight[j] = V{} + w[j];
    }
    for (std::int64_t k = 0; k < n; k += Vector<T>::kLanes) {
        V sum[2] = {}, count[2] = {};
        const V x = load(left + k), zero{};
        for (int j = 0; j < kPairSide; ++j) {
            const V y = load(b[j] + k), d = x - y;
            sum[j % 2] += term_of<T, kTerm>(x, y, parameters, k) * strength[j];
            count[j % 2] += d == d ? weight[j] : zero;
        }
        store(sums + k, load(sums + k) + (sum[0] + sum[1]));
        store(counts + k, load(counts + k) + (count[0] + count[1]));
    }
}

// Writes one bit for each of n values, 1 for NaN, 64 bits per word; the last word is filled up with 0.
template <class T>
void missing_bits(const T* values, std::int64_t n, std::uint64_t* words) {
    for (std::int64_t k = 0; k < n; k += 64) {
        const std::int64_t size = n - k < 64 ? n - k : 64;
        std::uint64_t word = 0;
        for (std::int64_t b = 0; b < size; ++b) word |= static_cast<std::uint64_t>(values[k + b] != values[k + b]) << b;
        words[k / 64] = word;
    }
}

// Returns the number of bits that are 1 in both a and b, over n words.
std::int64_t shared_bits(const std::uint64_t* a, const std::uint64_t* b, std::int64_t n) {
    std::int64_t count[4] = {};
    std::int64_t k = 0;
    for (; k + 4 <= n; k += 4) {
        for (int i = 0; i < 4; ++i) count[i] += __builtin_popcountll(a[k + i] & b[k + i]);
    }
    for (; k < n; ++k) count[0] += __builtin_popcountll(a[k] & b[k]);
    return count[0] + count[1] + count[2] + count[3];
}

// Adds n sums to the doubles in `to`, and sets the sums to 0.
template <class T>
void flush(T* __restrict sums, std::int64_t n, double* __restrict to) {
    for (std::int64_t k = 0; k < n; ++k) {
        to[k] += static_cast<double>(sums[k]);
        sums[k] = T(0);
    }
}

// Writes (from[k] - shift[k]) * factor[k], computed in double, to `to` for n features.
template <class T>
void scale(const T* __restrict from, std::int64_t n, const double* __restrict shift, const double* __restrict factor,
           T* __restrict to) {
    for (std::int64_t k = 0; k < n; ++k) {
        to[k] = static_cast<T>((static_cast<double>(from[k]) - shift[k]) * factor[k]);
    }
}

// Lowers and raises the ranges of n columns to the values of n_rows rows; poison[k] becomes NaN if a value of column k
// isn't finite.
template <class T>
void column_ranges(const T* __restrict from, std::int64_t n_rows, std::int64_t row_stride, std::int64_t n,
                   T* __restrict lowest, T* __restrict highest, T* __restrict poison) {
    for (std::int64_t r = 0; r < n_rows; ++r, from += row_stride) {
        for (std::int64_t k = 0; k < n; ++k) {
            const T x = from[k];
            lowest[k] = x < lowest[k] ? x : lowest[k];
            highest[k] = x > highest[k] ? x : highest[k];
            poison[k] += x * T(0);  // NaN for NaN and infinity
        }
    }
}

// Adds weighted counts, sums and sums of squares of (x - origin) * factor to the moments of n columns; NaN is left out.
template <class T>
void column_moments(const T* __restrict from, const double* __restrict weights, std::int64_t n_rows,
                    std::int64_t row_stride, std::int64_t n, const double* __restrict origin,
                    const double* __restrict factor, double* __restrict counts, double* __restrict sums,
                    double* __restrict squares) {
    for (std::int64_t r = 0; r < n_rows; ++r, from += row_stride) {
        const double weight = weights[r];
        for (std::int64_t k = 0; k < n; ++k) {
            const double difference = static_cast<double>(from[k]) - origin[k];
            const bool known = difference == difference;
            const double w = known ? weight : 0.0, d = known ? difference : 0.0, x = d * factor[k];
            counts[k] += w;
            sums[k] += d * (w * factor[k]);
            squares[k] += (w * x) * x;
        }
    }
}

template <class T>
constexpr MarginKernels<T> kKernels = {
    {pair_sums<T, Term::kAbsolute>, pair_sums<T, Term::kSquare>, pair_sums<T, Term::kKnown>,
     pair_sums<T, Term::kDiffer>, pair_sums<T, Term::kRamp>, pair_sums<T, Term::kGaussian>},
    {feature_sums<T, Term::kAbsolute>, feature_sums<T, Term::kSquare>, feature_sums<T, Term::kKnown>,
     feature_sums<T, Term::kDiffer>, feature_sums<T, Term::kRamp>},
    {row_sums<T, Term::kAbsolute>, row_sums<T, Term::kSquare>, row_sums<T, Term::kKnown>, row_sums<T, Term::kDiffer>,
     row_sums<T, Term::kRamp>},
    {known_sums<T, Term::kSquare>, known_sums<T, Term::kKnown>, known_sums<T, Term::kDiffer>,
     known_sums<T, Term::kRamp>},
    missing_bits<T>,
    shared_bits,
    flush<T>,
    scale<T>,
    column_ranges<T>,
    column_moments<T>,
};

}  // namespace

extern const MarginIsa FASTFS_GLUE(margin_, FASTFS_ISA_NAME);
constexpr MarginIsa FASTFS_GLUE(margin_, FASTFS_ISA_NAME) = {kKernels<float>, kKernels<double>};

}  // namespace fastfs::core
