// Bits of genotypes, compiled once per instruction set: see tiles.cpp for what that asks of this file.
#include "engines/isa/genotype_bits.hpp"

#include "engines/isa/tiles.hpp"
#include "engines/isa/words.hpp"

namespace fastfs::core {
namespace {

// ---- carry-save adders ---------------------------------------------------------------------------------------------

// The carry of plane + a + b, of which the rest stays in the plane.
inline Word add(Word& plane, Word a, Word b) {
#if defined(__AVX512F__)
    // Three operations on three inputs each; of the form below GCC makes four.
    const Word carry = (plane & a) | ((plane | a) & b);
    plane = plane ^ a ^ b;
#else
    const Word u = plane ^ a, carry = (plane & a) | (u & b);
    plane = u ^ b;
#endif
    return carry;
}

// Adds 2^n values to the planes 0..n - 1, of weights 1, 2, 4..., and returns the carry of weight 2^n (Harley and Seal).
template <int n, class Next>
inline __attribute__((always_inline)) Word add_values(Word* planes, Next& next) {
    Word a, b;
    if constexpr (n == 1) {
        a = next();
        b = next();
    } else {
        a = add_values<n - 1>(planes, next);
        b = add_values<n - 1>(planes, next);
    }
    return add(planes[n - 1], a, b);
}

constexpr int kDepth = 4, kValues = 1 << kDepth;

// ---- bits of pairs -------------------------------------------------------------------------------------------------

std::uint32_t differing_bits(const std::uint64_t* a, const std::uint64_t* b, std::int64_t n_words) {
    // Bytes hold the sums of a row: of the carries, 8 a round and 31 rounds, and of the rest, (1 + 2 + 4 + 8) * 8 of
    // the planes and 15 * 8 of the last values.
    static_assert(kPanelLines * kLineWords / (kValues * kWords) <= 31);
    Word planes[kDepth] = {}, carries{}, rest{};
    std::int64_t k = 0;
    auto next = [&]() __attribute__((always_inline)) {
        const Word differ = load_words(a + k) ^ load_words(b + k);
        k += kWords;
        return differ;
    };
    for (std::int64_t r = n_words / (kValues * kWords); r > 0; --r) {
        carries += bits_of_bytes(add_values<kDepth>(planes, next));
    }
    while (k < n_words) rest += bits_of_bytes(next());
    for (int p = 0; p < kDepth; ++p) rest += bits_of_bytes(planes[p]) << p;
    const Word sums = sum_of_bytes(carries) * std::uint64_t{kValues} + sum_of_bytes(rest);
    std::uint64_t sum = 0;
    for (int w = 0; w < kWords; ++w) sum += sums[w];
    return static_cast<std::uint32_t>(sum);
}

void pair_bits(const std::uint64_t* left, const std::uint64_t* right, std::int64_t stride, std::int64_t n,
               std::int64_t n_lines, std::uint32_t* sums) {
    for (std::int64_t j = 0; j < n; ++j) sums[j] += differing_bits(left, right + j * stride, n_lines * kLineWords);
}

// ---- bits of SNPs --------------------------------------------------------------------------------------------------

// A counter for each bit of a register is a column through the planes. A register of AVX-512 holds the high and the low
// bits of a line, which are added at the end; narrower ones take one after the other.
constexpr int kHalf = kLineWords / 2;
constexpr bool kWholeLine = kWords == kLineWords;
constexpr int kParts = kWholeLine ? 1 : kHalf / kWords;     // registers of counters
constexpr int kPairs = kWholeLine ? kValues : kValues / 2;  // that a round counts
constexpr int kPlanes = 40;

// counts = the numbers of which the planes are the bits; up to 16 of them.
void read_planes(const std::uint64_t (*planes)[kHalf], int n, std::uint16_t* counts) {
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
}

void snp_bits(const std::uint64_t* lines, const LinePair* pairs, std::int64_t n, double by_high, double by_low,
              double* high, double* low) {
    const std::int64_t n_rounds = n / kPairs, n_last = n % kPairs;
    LinePair last[kPairs] = {};  // filled up with pairs of one line with itself
    for (std::int64_t p = 0; p < n_last; ++p) last[p] = pairs[n_rounds * kPairs + p];
    const std::int64_t n_all = n_rounds + (n_last > 0);
    const int n_planes = 64 - __builtin_clzll(static_cast<std::uint64_t>(2 * n));
    alignas(64) std::uint64_t found[kPlanes][kHalf];
    for (int part = 0; part < kParts; ++part) {
        // Carries wait until there are two of a weight, so that each costs about one more addition.
        Word planes[kPlanes], waiting[kPlanes];
        for (int p = 0; p < n_planes + 2 || p < kDepth + 2; ++p) planes[p] = Word{};
        const std::uint64_t* from = lines + part * kWords;
        for (std::int64_t r = 0; r < n_all; ++r) {
            const LinePair* pair = r < n_rounds ? pairs + r * kPairs : last;
            int step = 0;
            auto next = [&]() __attribute__((always_inline)) {
                const LinePair& one = pair[kWholeLine ? step : step / 2];
                const int word = kWholeLine || step % 2 == 0 ? 0 : kHalf;
                ++step;
                return load_words(from + one.i * kLineWords + word) ^ load_words(from + one.j * kLineWords + word);
            };
            Word carry = add_values<kDepth>(planes, next);
            int p = kDepth;
            for (std::int64_t rounds = r; rounds & 1; rounds >>= 1, ++p) carry = add(planes[p], waiting[p], carry);
            waiting[p] = carry;
        }
        const int top = n_planes > kDepth ? n_planes : kDepth;
        for (int w = kDepth; n_all >> (w - kDepth) != 0; ++w) {
            if (!(n_all >> (w - kDepth) & 1)) continue;
            Word carry = waiting[w];
            for (int p = w; p <= top; ++p) {
                const Word both = planes[p] & carry;
                planes[p] ^= carry;
                carry = both;
            }
        }
        if constexpr (kWholeLine) {
            std::uint64_t carries[kHalf] = {};
            for (int p = 0; p < n_planes; ++p) {
                for (int w = 0; w < kHalf; ++w) {
                    const std::uint64_t a = planes[p][w], b = planes[p][kHalf + w], c = carries[w];
                    found[p][w] = a ^ b ^ c;
                    carries[w] = (a & b) | ((a | b) & c);
                }
            }
        } else {
            for (int p = 0; p < n_planes; ++p) {
                for (int w = 0; w < kWords; ++w) found[p][part * kWords + w] = planes[p][w];
            }
        }
    }
    for (int p = 0; p < n_planes; p += 16) {
        std::uint16_t counts[kLineSnps];
        read_planes(found + p, n_planes - p < 16 ? n_planes - p : 16, counts);
        const double unit = p == 0 ? 1.0 : p == 16 ? 0x1p16 : 0x1p32;
        const double unit_high = by_high * unit, unit_low = by_low * unit;
        for (int k = 0; k < kLineSnps; ++k) {
            high[k] += unit_high * counts[k];
            low[k] += unit_low * counts[k];
        }
    }
}

}  // namespace

extern const GenotypeIsa FASTFS_GLUE(genotypes_, FASTFS_ISA_NAME);
constexpr GenotypeIsa FASTFS_GLUE(genotypes_, FASTFS_ISA_NAME) = {pair_bits, snp_bits};

}  // namespace fastfs::core
