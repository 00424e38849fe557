// Bits of genotypes, compiled once per instruction set under the rules of tiles.cpp.
#include "engines/isa/genotype_bits.hpp"

#include "engines/isa/tiles.hpp"
#include "engines/isa/words.hpp"

namespace fastfs::core {
namespace {

// The high bits are one half of a line, the low bits the other. A register of AVX-512 holds a line, narrower ones a
// half or a part.
constexpr int kHalf = kLineWords / 2;
constexpr bool kWholeLine = kWords == kLineWords;
constexpr int kHalfWords = kWholeLine ? kHalf : kWords, kHalfParts = kHalf / kHalfWords;
typedef std::uint64_t HalfWord __attribute__((vector_size(8 * kHalfWords)));

template <class W>
inline W load_as(const std::uint64_t* from) {
    typedef W Unaligned __attribute__((aligned(8), may_alias));
    return *reinterpret_cast<const Unaligned*>(from);
}

template <class W>
inline void store_as(std::uint64_t* to, W words) {
    typedef W Unaligned __attribute__((aligned(8), may_alias));
    *reinterpret_cast<Unaligned*>(to) = words;
}

// ---- carry-save adders ---------------------------------------------------------------------------------------------

// Adds a and b, bit by bit, to a plane in place, and returns the carries.
template <class W>
inline W add_with_carry(W& plane, W a, W b) {
#if defined(__AVX512F__)
    // Makes three operations on three inputs each; GCC makes four of the form below.
    const W carry = (plane & a) | ((plane | a) & b);
    plane = plane ^ a ^ b;
#elif defined(FASTFS_NEON)
    const W u = plane ^ a, carry = select_bits(u, b, a);
    plane = u ^ b;
#else
    const W u = plane ^ a, carry = (plane & a) | (u & b);
    plane = u ^ b;
#endif
    return carry;
}

// Adds 2^n values to the planes 0..n - 1, of weights 1, 2, 4..., and returns the carry of weight 2^n (Harley and Seal).
template <int n, class W, class Next>
inline __attribute__((always_inline)) W add_values(W* planes, Next& next) {
    W a, b;
    if constexpr (n == 1) {
        a = next();
        b = next();
    } else {
        a = add_values<n - 1>(planes, next);
        b = add_values<n - 1>(planes, next);
    }
    return add_with_carry(planes[n - 1], a, b);
}

constexpr int kDepth = 4, kValues = 1 << kDepth;

// ---- differing bits ------------------------------------------------------------------------------------------------

// The functions below count differing bits: one for each bit in which the codes of genotypes differ or, if `differ`,
// one for each pair of unequal genotypes.

#if defined(__AVX512F__)
// Return the high bits of two lines, and their low bits.
inline Word high_halves(Word x, Word y) { return FASTFS_SHUFFLE(Word, x, y, 0, 1, 2, 3, 8, 9, 10, 11); }
inline Word low_halves(Word x, Word y) { return FASTFS_SHUFFLE(Word, x, y, 4, 5, 6, 7, 12, 13, 14, 15); }
#else
inline Word high_halves(Word x, Word) { return x; }  // never called
inline Word low_halves(Word x, Word) { return x; }
#endif

inline Word differing(const std::uint64_t* a, const std::uint64_t* b) { return load_words(a) ^ load_words(b); }

// ---- bits of pairs -------------------------------------------------------------------------------------------------

#if defined(FASTFS_NEON)
// Adds to sums[j] the differences of `left` from n samples at right + j * stride. One instruction counts the bits of
// bytes, so no adders come before it. The samples share the loads of the left one.
template <bool differ, int n>
void add_differing(const std::uint64_t* left, const std::uint64_t* right, std::int64_t stride, std::int64_t n_lines,
                   std::uint32_t* sums) {
    uint16x8_t counts[n] = {};
    static_assert(kPanelLines * 2 * 8 * kLineWords / kWords < 1 << 16);
    for (std::int64_t k = 0; k < n_lines; ++k) {
        const std::uint64_t* a = left + k * kLineWords;
        for (int j = 0; j < n; ++j) {
            const std::uint64_t* b = right + j * stride + k * kLineWords;
            Word bits{};
            for (int word = 0; word < (differ ? kHalf : kLineWords); word += kWords) {
                Word unequal = differing(a + word, b + word);
                if (differ) unequal |= differing(a + kHalf + word, b + kHalf + word);
                bits += bits_of_bytes(unequal);
            }
            counts[j] = vpadalq_u8(counts[j], __builtin_bit_cast(uint8x16_t, bits));
        }
    }
    for (int j = 0; j < n; ++j) sums[j] += vaddlvq_u16(counts[j]);
}

// Adds to sums[j] the differences of `left` from n samples at right + j * stride, in n_lines lines.
template <bool differ>
void pair_sums(const std::uint64_t* left, const std::uint64_t* right, std::int64_t stride, std::int64_t n,
               std::int64_t n_lines, std::uint32_t* sums) {
    std::int64_t j = 0;
    for (; j + 4 <= n; j += 4) add_differing<differ, 4>(left, right + j * stride, stride, n_lines, sums + j);
    for (; j < n; ++j) add_differing<differ, 1>(left, right + j * stride, stride, n_lines, sums + j);
}
#else
// Returns the number of bits in which n_lines lines of a and b differ; with `differ`, the SNPs in which they do.
template <bool differ>
std::uint32_t differing_bits(const std::uint64_t* a, const std::uint64_t* b, std::int64_t n_lines) {
    // Bytes hold the sums of a row: 8 per round from the carries, in 31 rounds, (1 + 2 + 4 + 8) * 8 from the planes,
    // and 15 * 8 from the last values.
    static_assert(kPanelLines * kLineWords / (kValues * kWords) <= 31);
    Word planes[kDepth] = {}, carries{}, rest{};
    // Values in a line (in two lines that share registers), and in all lines.
    constexpr int kUnit = differ && !kWholeLine ? kHalfParts : 1;
    const std::int64_t n_values =
        differ ? (kWholeLine ? (n_lines + 1) / 2 : n_lines * kHalfParts) : n_lines * kLineWords / kWords;
    std::int64_t k = 0;
    // Returns the next register of differing bits; with `differ`, two lines share it.
    auto next = [&]() __attribute__((always_inline)) {
        Word unequal;
        if constexpr (!differ) {
            unequal = differing(a + k * kWords, b + k * kWords);
        } else if constexpr (kWholeLine) {
            const std::int64_t first = 2 * k * kLineWords, second = first + (2 * k + 1 < n_lines ? kLineWords : 0);
            const Word x = differing(a + first, b + first);
            Word y = differing(a + second, b + second);
            if (second == first) y = Word{};
            unequal = high_halves(x, y) | low_halves(x, y);
        } else {
            const std::int64_t word = k / kUnit * kLineWords + k % kUnit * kWords;
            unequal = differing(a + word, b + word) | differing(a + word + kHalf, b + word + kHalf);
        }
        ++k;
        return unequal;
    };
    for (std::int64_t r = n_values / kValues; r > 0; --r) {
        carries += bits_of_bytes(add_values<kDepth>(planes, next));
    }
    while (k < n_values) rest += bits_of_bytes(next());
    for (int p = 0; p < kDepth; ++p) rest += bits_of_bytes(planes[p]) << p;
    const Word sums = sum_of_bytes(carries) * std::uint64_t{kValues} + sum_of_bytes(rest);
    std::uint64_t sum = 0;
    for (int w = 0; w < kWords; ++w) sum += sums[w];
    return static_cast<std::uint32_t>(sum);
}

// Adds to sums[j] the differences of `left` from n samples at right + j * stride, in n_lines lines.
template <bool differ>
void pair_sums(const std::uint64_t* left, const std::uint64_t* right, std::int64_t stride, std::int64_t n,
               std::int64_t n_lines, std::uint32_t* sums) {
    for (std::int64_t j = 0; j < n; ++j) sums[j] += differing_bits<differ>(left, right + j * stride, n_lines);
}
#endif

#if defined(__AVX512F__)
// Adds to sums[j] the differences of `left` from n samples at right + j * stride, on machines that count the bits of
// words; a separate table of functions has this kernel.
template <bool differ, int n>
__attribute__((target("avx512vpopcntdq"))) void count_differing(const std::uint64_t* left, const std::uint64_t* right,
                                                                std::int64_t stride, std::int64_t n_lines,
                                                                std::uint32_t* sums) {
    Word counts[n] = {};
    for (std::int64_t k = 0; k < n_lines; k += differ ? 2 : 1) {
        const std::uint64_t* a = left + k * kLineWords;
        for (int j = 0; j < n; ++j) {
            const std::uint64_t* b = right + j * stride + k * kLineWords;
            Word unequal = differing(a, b);
            if constexpr (differ) {
                const Word second = k + 1 < n_lines ? differing(a + kLineWords, b + kLineWords) : Word{};
                unequal = high_halves(unequal, second) | low_halves(unequal, second);
            }
            counts[j] += __builtin_bit_cast(Word, _mm512_popcnt_epi64(__builtin_bit_cast(__m512i, unequal)));
        }
    }
    for (int j = 0; j < n; ++j) {
        for (int w = 0; w < kWords; ++w) sums[j] += static_cast<std::uint32_t>(counts[j][w]);
    }
}

// Does as pair_sums, with count_differing.
template <bool differ>
void pair_counts(const std::uint64_t* left, const std::uint64_t* right, std::int64_t stride, std::int64_t n,
                 std::int64_t n_lines, std::uint32_t* sums) {
    std::int64_t j = 0;
    for (; j + 4 <= n; j += 4) count_differing<differ, 4>(left, right + j * stride, stride, n_lines, sums + j);
    for (; j < n; ++j) count_differing<differ, 1>(left, right + j * stride, stride, n_lines, sums + j);
}
#endif

// ---- vertical counters ---------------------------------------------------------------------------------------------

// Largest number of planes. A counter for each bit of a register is a column through the planes.
constexpr int kPlanes = 40;

inline int bits_of(std::int64_t count) {
    return count == 0 ? 0 : 64 - __builtin_clzll(static_cast<std::uint64_t>(count));
}

// Counts, for each bit of a register, in how many of n_rounds times kValues values, next(r, k), it is set. Bit p of the
// counts goes to planes[p], p < n_planes; the planes above are scratch.
template <class W, class Next>
inline __attribute__((always_inline)) void count_bits(std::int64_t n_rounds, int n_planes, W* planes, Next&& next) {
    // Carries wait until there are two of a weight, so that each costs about one more addition.
    W waiting[kPlanes];
    for (int p = 0; p < n_planes + 2 || p < kDepth + 2; ++p) planes[p] = W{};
    for (std::int64_t r = 0; r < n_rounds; ++r) {
        int k = 0;
        auto value = [&]() __attribute__((always_inline)) { return next(r, k++); };
        W carry = add_values<kDepth>(planes, value);
        int p = kDepth;
        for (std::int64_t rounds = r; rounds & 1; rounds >>= 1, ++p)
            carry = add_with_carry(planes[p], waiting[p], carry);
        waiting[p] = carry;
    }
    const int top = n_planes > kDepth ? n_planes : kDepth;
    for (int w = kDepth; n_rounds >> (w - kDepth) != 0; ++w) {
        if (!(n_rounds >> (w - kDepth) & 1)) continue;
        W carry = waiting[w];
        for (int p = w; p <= top; ++p) {
            const W both = planes[p] & carry;
            planes[p] ^= carry;
            carry = both;
        }
    }
}

// Writes the count of each SNP of a line to `counts`: its bit p is the SNP's bit in planes[p], p < n <= 16.
void read_planes(const std::uint64_t (*planes)[kHalf], int n, std::uint16_t* counts) {
#if defined(__AVX512BW__)
    for (int group = 0; group < kLineSnps / 32; ++group) {
        __m512i count = _mm512_setzero_si512();
        for (int p = 0; p < n; ++p) {
            std::uint32_t set;
            __builtin_memcpy(&set, reinterpret_cast<const char*>(planes[p]) + 4 * group, sizeof set);
            count = _mm512_mask_add_epi16(count, set, count, _mm512_set1_epi16(static_cast<short>(1 << p)));
        }
        _mm512_storeu_si512(counts + 32 * group, count);
    }
#else
    typedef std::uint16_t Lanes __attribute__((vector_size(32)));
    Lanes bit;
    for (int l = 0; l < 16; ++l) bit[l] = static_cast<std::uint16_t>(1 << l);
    for (int group = 0; group < kLineSnps / 16; ++group) {
        Lanes count{};
        for (int p = n - 1; p >= 0; --p) {
            const auto bits = static_cast<std::uint16_t>(planes[p][group / 4] >> (16 * (group % 4)));
            const Lanes set = __builtin_bit_cast(Lanes, ((Lanes{} + bits) & bit) == bit);
            count = count + count - set;
        }
        __builtin_memcpy(counts + 16 * group, &count, sizeof count);
    }
#endif
}

// ---- bits of SNPs --------------------------------------------------------------------------------------------------

// Adds by_high * c to high[k] and by_low * c to low[k] for each SNP of a line, where c is the sum of the differences of
// n pairs of lines.
template <bool differ>
void snp_sums(const std::uint64_t* lines, const LinePair* pairs, std::int64_t n, double by_high, double by_low,
              double* high, double* low) {
    // Pairs that a round counts: two, one, or half a pair per value.
    constexpr int kPairs = kValues * (differ ? 2 : 1) / (kWholeLine ? 1 : 2);
    const std::int64_t n_rounds = n / kPairs, n_last = n % kPairs;
    LinePair last[kPairs] = {};  // filled up with pairs of a line with itself
    for (std::int64_t p = 0; p < n_last; ++p) last[p] = pairs[n_rounds * kPairs + p];
    const int n_planes = bits_of(2 * n);
    alignas(64) std::uint64_t all_planes[kPlanes][kHalf];
    for (int part = 0; part < kHalfParts; ++part) {
        const std::uint64_t* from = lines + part * kHalfWords;
        const auto bits = [&](const LinePair& one, int word) __attribute__((always_inline)) {
            return differing(from + one.i * kLineWords + word, from + one.j * kLineWords + word);
        };
        Word planes[kPlanes];
        count_bits(n_rounds + (n_last > 0), n_planes, planes,
                   [&](std::int64_t r, int k) __attribute__((always_inline)) {
                       const LinePair* pair = r < n_rounds ? pairs + r * kPairs : last;
                       if constexpr (differ && kWholeLine) {
                           const Word x = bits(pair[2 * k], 0), y = bits(pair[2 * k + 1], 0);
                           return high_halves(x, y) | low_halves(x, y);
                       } else if constexpr (differ) {
                           return bits(pair[k], 0) | bits(pair[k], kHalf);
                       } else if constexpr (kWholeLine) {
                           return bits(pair[k], 0);
                       } else {
                           return bits(pair[k / 2], k % 2 * kHalf);
                       }
                   });
        if constexpr (kWholeLine) {  // both halves count for the same SNPs
            std::uint64_t carries[kHalf] = {};
            for (int p = 0; p < n_planes; ++p) {
                for (int w = 0; w < kHalf; ++w) {
                    const std::uint64_t a = planes[p][w], b = planes[p][kHalf + w], c = carries[w];
                    all_planes[p][w] = a ^ b ^ c;
                    carries[w] = (a & b) | ((a | b) & c);
                }
            }
        } else {
            for (int p = 0; p < n_planes; ++p) {
                for (int w = 0; w < kWords; ++w) all_planes[p][part * kWords + w] = planes[p][w];
            }
        }
    }
    for (int p = 0; p < n_planes; p += 16) {
        std::uint16_t counts[kLineSnps];
        read_planes(all_planes + p, n_planes - p < 16 ? n_planes - p : 16, counts);
        const double unit = p == 0 ? 1.0 : p == 16 ? 0x1p16 : 0x1p32;
        const double unit_high = by_high * unit, unit_low = by_low * unit;
        for (int k = 0; k < kLineSnps; ++k) {
            high[k] += unit_high * counts[k];
            low[k] += unit_low * counts[k];
        }
    }
}

// ---- bits of lines -------------------------------------------------------------------------------------------------

using Planes = std::uint64_t[kSumPlanes][kHalf];

// Writes to the planes (bit p of a count to planes[p]) in how many of n chosen lines each bit of value(line) is set;
// returns the number of planes. zero: a line without bits, with which the last round is filled up.
template <class W, class Value>
inline __attribute__((always_inline)) int count_column(const std::int32_t* chosen, std::int64_t n, std::int32_t zero,
                                                       W* planes, Value&& value) {
    const std::int64_t n_rounds = n / kValues, n_last = n % kValues;
    std::int32_t last[kValues];
    for (int k = 0; k < kValues; ++k) last[k] = k < n_last ? chosen[n_rounds * kValues + k] : zero;
    const int n_planes = bits_of(n);
    count_bits(n_rounds + (n_last > 0), n_planes, planes, [&](std::int64_t r, int k) __attribute__((always_inline)) {
        return value(std::int64_t{r < n_rounds ? chosen[r * kValues + k] : last[k]} * kLineWords);
    });
    return n_planes;
}

// Copies n_words words of each of n planes, from word `from` on, to to[p], from word `word` on.
template <class W>
void copy_planes(const W* planes, int n, int from, int n_words, std::uint64_t (*to)[kHalf], int word) {
    for (int p = 0; p < n; ++p) {
        for (int w = 0; w < n_words; ++w) to[p][word + w] = planes[p][from + w];
    }
}

// Counts, for each SNP of a line, the chosen lines in which the high bit, the low bit and both are set, as planes of
// bits; returns the number of planes.
int count_codes(const std::uint64_t* lines, const std::int32_t* chosen, std::int64_t n, std::int32_t zero, Planes high,
                Planes low, Planes both) {
    int n_planes = 0;
    if constexpr (kWholeLine) {
        Word planes[kPlanes];
        n_planes = count_column(chosen, n, zero, planes,
                                [&](std::int64_t at) __attribute__((always_inline)) { return load_words(lines + at); });
        copy_planes(planes, n_planes, 0, kHalf, high, 0);
        copy_planes(planes, n_planes, kHalf % kWords, kHalf, low, 0);
    }
    for (int word = 0; word < kHalf; word += kHalfWords) {
        HalfWord planes[kPlanes];
        const auto load = [&](std::int64_t at)
                              __attribute__((always_inline)) { return load_as<HalfWord>(lines + at + word); };
        if constexpr (!kWholeLine) {
            n_planes = count_column(chosen, n, zero, planes, load);
            copy_planes(planes, n_planes, 0, kHalfWords, high, word);
            count_column(chosen, n, zero, planes,
                         [&](std::int64_t at) __attribute__((always_inline)) { return load(at + kHalf); });
            copy_planes(planes, n_planes, 0, kHalfWords, low, word);
        }
        count_column(chosen, n, zero, planes,
                     [&](std::int64_t at) __attribute__((always_inline)) { return load(at) & load(at + kHalf); });
        copy_planes(planes, n_planes, 0, kHalfWords, both, word);
    }
    return n_planes;
}

// Sets `counts` to the numbers, for each SNP, of chosen lines with the high bit, with the low bit, and without the
// genotype.
void count_lines(const std::uint64_t* lines, const std::int32_t* chosen, std::int64_t n, std::int32_t zero,
                 LineCounts* counts) {
    Planes high, low, both;
    const int n_planes = count_codes(lines, chosen, n, zero, high, low, both);
    read_planes(high, n_planes, counts->high);
    read_planes(low, n_planes, counts->gaps);
    read_planes(both, n_planes, counts->low);
    for (int k = 0; k < kLineSnps; ++k) {
        counts->gaps[k] = static_cast<std::uint16_t>(counts->gaps[k] - counts->low[k]);
    }
}

// Adds to sums[k] the differences of `line` from n lines with known counts, and to known[k] how many of the lines have
// SNP k; nothing if `line` lacks it.
template <bool differ>
void add_known(const LineCounts& counts, std::int64_t n, const std::uint64_t* line, std::uint32_t* sums,
               std::uint32_t* known) {
    typedef std::uint16_t Count;
    alignas(64) Count high[kLineSnps], low[kLineSnps];
    const auto halves = reinterpret_cast<const std::uint64_t (*)[kHalf]>(line);
    read_planes(halves, 1, high);
    read_planes(halves + 1, 1, low);
    for (int k = 0; k < kLineSnps; ++k) {
        // Counts lines that have the genotype, its high bit and its low bit; a line with the low bit also has the high
        // bit.
        const auto c = static_cast<Count>(n - counts.gaps[k]), h = counts.high[k], l = counts.low[k];
        const auto not_h = static_cast<Count>(c - h), not_l = static_cast<Count>(c - l);
        std::uint32_t sum;
        if constexpr (differ) {
            sum = low[k] ? not_l : static_cast<Count>(high[k] ? not_h + l : h);
        } else {
            sum = std::uint32_t{high[k] ? not_h : h} + std::uint32_t{low[k] ? not_l : l};
        }
        const bool missing = low[k] > high[k];
        sums[k] += missing ? 0 : sum;
        known[k] += missing ? std::uint32_t{0} : std::uint32_t{c};
    }
}

// ---- sums by the number of known lines -----------------------------------------------------------------------------

// Subtracts a bit of b and the borrow from a bit of a; sets `borrow` to the borrow from the next bit.
inline HalfWord subtract(HalfWord a, HalfWord b, HalfWord& borrow) {
    const HalfWord difference = a ^ b ^ borrow;
#if defined(FASTFS_NEON)
    borrow = select_bits(HalfWord(a ^ b), b, borrow);
#else
    borrow = (~a & (b | borrow)) | (b & borrow);
#endif
    return difference;
}

// Largest number of planes of gaps for which sums are distinguished by their gaps: with more planes one division each
// is faster.
constexpr int kGapPlanes = 4;

// Tests if a bit of x is 1.
inline bool any(HalfWord x) {
#if defined(__AVX2__)
    return !_mm256_testz_si256(__builtin_bit_cast(__m256i, x), __builtin_bit_cast(__m256i, x));
#else
    std::uint64_t all = 0;
    for (int w = 0; w < kHalfWords; ++w) all |= x[w];
    return all != 0;
#endif
}

// For each SNP that `line` has: adds its differences from the c chosen lines that have the SNP to sums[c]. If one of
// the SNPs is missing in 2^kGapPlanes lines or more, adds the means of all SNPs to `means` instead.
template <bool differ>
void add_by_known(const std::uint64_t* lines, const std::int32_t* chosen, std::int64_t n, std::int32_t zero,
                  const std::uint64_t* line, KnownSums* sums, double* means) {
    Planes highs, lows, boths;
    const int n_planes = count_codes(lines, chosen, n, zero, highs, lows, boths);
    // From here on, `highs` holds differences, `lows` gaps, and `boths` known lines.
    int n_gaps = 0;  // planes of gaps
    for (int word = 0; word < kHalf; word += kHalfWords) {
        const auto high = load_as<HalfWord>(line + word), low = load_as<HalfWord>(line + kHalf + word);
        const HalfWord present = high | ~low;
        HalfWord carry{}, borrow[4] = {};
        for (int p = 0; p < n_planes; ++p) {
            const auto h = load_as<HalfWord>(highs[p] + word), l = load_as<HalfWord>(boths[p] + word);
            const HalfWord gap = subtract(load_as<HalfWord>(lows[p] + word), l, borrow[0]);
            const HalfWord known = subtract(HalfWord{} - static_cast<std::uint64_t>(n >> p & 1), gap, borrow[1]);
            // Known lines without the high bit, and without the low bit.
            const HalfWord not_h = subtract(known, h, borrow[2]), not_l = subtract(known, l, borrow[3]);
            HalfWord sum = differ ? select_bits(high, select_bits(low, not_l, not_h), h) : select_bits(high, not_h, h);
            carry = add_with_carry(sum, differ ? high & ~low & l : select_bits(low, not_l, l), carry);
            store_as(highs[p] + word, HalfWord(sum & present));
            store_as(lows[p] + word, gap);
            store_as(boths[p] + word, known);
            if (p >= n_gaps && any(gap)) n_gaps = p + 1;
        }
        store_as(highs[n_planes] + word, HalfWord(carry & present));
    }
    if (n_gaps > kGapPlanes && n <= kMostLines / 2) {
        std::uint16_t counts[2][kLineSnps];
        read_planes(highs, n_planes + 1, counts[0]);
        read_planes(boths, n_planes, counts[1]);
        for (int k = 0; k < kLineSnps; ++k) {
            const std::int32_t divisor = counts[1][k] > 1 ? counts[1][k] : 1;
            means[k] += static_cast<double>(std::int32_t{counts[0][k]}) / static_cast<double>(divisor);
        }
        return;
    }
    for (int word = 0; word < kHalf; word += kHalfWords) {
        HalfWord left{};
        for (int p = 0; p <= n_planes; ++p) left |= load_as<HalfWord>(highs[p] + word);
        for (std::int64_t lacking = 0; any(left); ++lacking) {
            HalfWord where = left;
            for (int p = 0; p < n_gaps; ++p) {
                where &= load_as<HalfWord>(lows[p] + word) ^
                         (HalfWord{} + (static_cast<std::uint64_t>(lacking >> p & 1) - 1));
            }
            if (!any(where)) continue;
            left ^= where;
            KnownSums& to = sums[n - lacking];
            to.most += 2 * n;
            const int bits = bits_of(to.most), top = bits < kSumPlanes ? bits : kSumPlanes;
            HalfWord carry{};
            for (int p = 0; p < top; ++p) {
                auto bit = load_as<HalfWord>(to.planes[p] + word);
                if (p <= n_planes) {
                    carry = add_with_carry(bit, load_as<HalfWord>(highs[p] + word) & where, carry);
                } else {
                    const HalfWord both = bit & carry;
                    bit ^= carry;
                    carry = both;
                }
                store_as(to.planes[p] + word, bit);
            }
        }
    }
}

// Adds sum / known to means[k] for each SNP, and sets all sums to 0.
void add_means(KnownSums& sums, std::int64_t known, double* means) {
    const int bits = bits_of(sums.most), n = bits < kSumPlanes ? bits : kSumPlanes;
    std::uint16_t counts[2][kLineSnps] = {};
    read_planes(sums.planes, n < 16 ? n : 16, counts[0]);
    if (n > 16) read_planes(sums.planes + 16, n - 16, counts[1]);
    const auto divisor = static_cast<double>(known);
    for (int k = 0; k < kLineSnps; ++k) {
        means[k] += static_cast<double>(std::int32_t{counts[0][k]} | std::int32_t{counts[1][k]} << 16) / divisor;
    }
    for (int p = 0; p < n; ++p) {
        for (int w = 0; w < kHalf; ++w) sums.planes[p][w] = 0;
    }
    sums.most = 0;
}

// ---- gaps ----------------------------------------------------------------------------------------------------------

// Subtracts from distances[k] the differences of the chosen lines from code 00, and adds to lacking[k] the number of
// lines in which sample k lacks the genotype.
template <bool differ>
void take_off(const std::uint64_t* lines, const std::int32_t* chosen, std::int64_t n, std::int32_t zero,
              std::int64_t n_samples, double* distances, std::uint32_t* lacking) {
    Planes sums, gaps, both;
    const int n_planes = count_codes(lines, chosen, n, zero, sums, gaps, both);
    int n_gaps = 0;  // planes of gaps, which are few
    for (int word = 0; word < kHalf; word += kHalfWords) {
        HalfWord borrow{}, carry{};
        for (int p = 0; p < n_planes; ++p) {
            auto sum = load_as<HalfWord>(sums[p] + word);
            const auto low = load_as<HalfWord>(both[p] + word);
            const HalfWord gap = subtract(load_as<HalfWord>(gaps[p] + word), low, borrow);
            if (!differ) carry = add_with_carry(sum, low, carry);
            store_as(sums[p] + word, sum);
            store_as(gaps[p] + word, gap);
            if (p >= n_gaps && any(gap)) n_gaps = p + 1;
        }
        store_as(sums[n_planes] + word, carry);
    }
    std::uint16_t counts[2][kLineSnps];
    read_planes(sums, n_planes + 1, counts[0]);
    read_planes(gaps, n_gaps, counts[1]);
    for (std::int64_t k = 0; k < n_samples; ++k) {
        distances[k] -= static_cast<double>(std::int32_t{counts[0][k]});
        lacking[k] += counts[1][k];
    }
}

}  // namespace

extern const GenotypeIsa FASTFS_GLUE(genotypes_, FASTFS_ISA_NAME);
constexpr GenotypeIsa FASTFS_GLUE(genotypes_, FASTFS_ISA_NAME) = {
    {{pair_sums<false>, snp_sums<false>, add_known<false>, add_by_known<false>, take_off<false>},
     {pair_sums<true>, snp_sums<true>, add_known<true>, add_by_known<true>, take_off<true>}},
    count_lines,
    add_means,
};

#if defined(__AVX512F__)
extern const GenotypeIsa FASTFS_GLUE(counted_genotypes_, FASTFS_ISA_NAME);
constexpr GenotypeIsa FASTFS_GLUE(counted_genotypes_, FASTFS_ISA_NAME) = {
    {{pair_counts<false>, snp_sums<false>, add_known<false>, add_by_known<false>, take_off<false>},
     {pair_counts<true>, snp_sums<true>, add_known<true>, add_by_known<true>, take_off<true>}},
    count_lines,
    add_means,
};
#endif

}  // namespace fastfs::core
