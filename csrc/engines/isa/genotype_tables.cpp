// Tables of genotypes, compiled once per instruction set under the rules of tiles.cpp.
#include "engines/isa/genotype_tables.hpp"

#include "engines/isa/tiles.hpp"
#include "engines/isa/words.hpp"

namespace fastfs::core {
namespace {

static_assert(kGroupSnps % kWords == 0 && kSnpUnit % Vector<float>::kLanes == 0);

// Words that are counted in bytes before the bytes are added up: 31 * 8 bits fit a byte.
constexpr std::int64_t kWordsPerPass = 31;

// The plane in each row of stored planes.
constexpr int kPlane[] = {1, 2, 0};

// Counts, for a register of other SNPs, the bits that each of their planes shares with each plane of the SNP.
template <int n_planes>
using Shared = Word[n_planes][n_planes];

// Adds to sums[a][b] the bits that plane a of a SNP shares with plane b of a register of other SNPs. Word w of plane a
// of a SNP is at (a n_words + w) kGroupSnps.
template <int n_planes>
void count_bytes(const std::uint64_t* snp, const std::uint64_t* others, std::int64_t n_words, Shared<n_planes>& sums) {
    for (std::int64_t first = 0; first < n_words; first += kWordsPerPass) {
        const std::int64_t end = n_words - first < kWordsPerPass ? n_words : first + kWordsPerPass;
        Shared<n_planes> bytes = {};
        for (std::int64_t w = first; w < end; ++w) {
            Word other[n_planes];
            for (int b = 0; b < n_planes; ++b) other[b] = load_words(others + (b * n_words + w) * kGroupSnps);
            for (int a = 0; a < n_planes; ++a) {
                const Word one = Word{} + snp[(a * n_words + w) * kGroupSnps];
                for (int b = 0; b < n_planes; ++b) bytes[a][b] += bits_of_bytes(one & other[b]);
            }
        }
        for (int a = 0; a < n_planes; ++a) {
            for (int b = 0; b < n_planes; ++b) sums[a][b] += sum_of_bytes(bytes[a][b]);
        }
    }
}

#if defined(__AVX512F__)
// Sets sums[a][b] to the bits that count_bytes adds, on machines that count the bits of words; a separate table of
// functions has this kernel.
template <int n_planes>
__attribute__((target("avx512vpopcntdq"))) void count_words(const std::uint64_t* snp, const std::uint64_t* others,
                                                            std::int64_t n_words, Shared<n_planes>& sums) {
    Shared<n_planes> counts = {};
    for (std::int64_t w = 0; w < n_words; ++w) {
        Word other[n_planes];
        for (int b = 0; b < n_planes; ++b) other[b] = load_words(others + (b * n_words + w) * kGroupSnps);
        for (int a = 0; a < n_planes; ++a) {
            const Word one = Word{} + snp[(a * n_words + w) * kGroupSnps];
            for (int b = 0; b < n_planes; ++b) {
                const auto both = __builtin_bit_cast(__m512i, one & other[b]);
                counts[a][b] += __builtin_bit_cast(Word, _mm512_popcnt_epi64(both));
            }
        }
    }
    for (int a = 0; a < n_planes; ++a) {
        for (int b = 0; b < n_planes; ++b) sums[a][b] = counts[a][b];
    }
}
#endif

// Computes to = from (0 if null) + the bits that the planes of a SNP share with the planes of SNPs in n_groups groups.
template <int n_planes, auto count>
void count_planes(const std::uint64_t* snp, const std::uint64_t* groups, std::int64_t n_words, std::int64_t n_stored,
                  std::int64_t n_groups, const PairCounts* from, PairCounts* to) {
    typedef std::int32_t Counts __attribute__((vector_size(4 * kWords)));
    typedef std::int32_t CountsInMemory __attribute__((vector_size(4 * kWords), aligned(4), may_alias));
    for (std::int64_t k = 0; k < n_groups * kGroupSnps; k += kWords) {
        Shared<n_planes> sums = {};
        count(snp, groups + k / kGroupSnps * n_stored * n_words * kGroupSnps + k % kGroupSnps, n_words, sums);
        for (int a = 0; a < n_planes; ++a) {
            for (int b = 0; b < n_planes; ++b) {
                const int row = 3 * kPlane[a] + kPlane[b];
                Counts counts = __builtin_convertvector(sums[a][b], Counts);
                if (from) counts += *reinterpret_cast<const CountsInMemory*>((*from)[row] + k);
                *reinterpret_cast<CountsInMemory*>((*to)[row] + k) = counts;
            }
        }
    }
}

// Sets `to` as count_planes does, with plane 0 of both SNPs if counts_known, otherwise without (TableIsa::count).
template <auto two_planes, auto three_planes>
void count(const std::uint64_t* snp, const std::uint64_t* groups, std::int64_t n_words, std::int64_t n_stored,
           bool counts_known, std::int64_t n_groups, const PairCounts* from, PairCounts* to) {
    const auto counting = counts_known ? count_planes<3, three_planes> : count_planes<2, two_planes>;
    counting(snp, groups, n_words, n_stored, n_groups, from, to);
}

typedef Vector<float>::Type Floats;
typedef Vector<float>::Ints Ints;
typedef std::int32_t IntsInMemory __attribute__((vector_size(kRegister), aligned(4), may_alias));

// Sets cells[a][b] to the numbers of samples with a copies of allele 2 in the SNP and b copies in the other SNPs k..
inline void read_cells(const PairCounts* counts, std::int64_t k, Ints (&cells)[3][3]) {
    Ints planes[3][3];
    for (int a = 0; a < 3; ++a) {
        for (int b = 0; b < 3; ++b) planes[a][b] = *reinterpret_cast<const IntsInMemory*>((*counts)[3 * a + b] + k);
    }
    for (int b = 0; b < 3; ++b) {
        planes[0][b] -= planes[1][b];
        planes[1][b] -= planes[2][b];
    }
    for (int a = 0; a < 3; ++a) {
        cells[a][0] = planes[a][0] - planes[a][1];
        cells[a][1] = planes[a][1] - planes[a][2];
        cells[a][2] = planes[a][2];
    }
}

// A register of cells with the same two genotypes: ones / s - others * s, where s^2 are the odds of the model, and the
// numbers that it consists of.
struct Cell {
    Floats root, inverse, difference, total;
};

// An empty cell counts as 1: its difference is 0.
inline Cell make_cell(Ints ones, Ints totals, Floats root, Floats inverse) {
    const Ints occupied = totals > 0 ? totals : Ints{} + 1;
    const Floats one = __builtin_convertvector(ones, Floats);
    const Floats other = __builtin_convertvector(totals - ones, Floats);
    return {root, inverse, one * inverse - other * root, __builtin_convertvector(occupied, Floats)};
}

// Returns a cell's contribution to the bound of TableIsa::screen: d^2 (n + 2 m) / (m (m + 2 n)), added over both
// classes, with the counts n, the fitted counts m of the model, and d = n - m.
inline Floats bound_of_cell(const Cell& cell, Ints ones, Ints totals) {
    const Floats share = 1 / (cell.root + cell.inverse);
    const Floats fitted = cell.total * cell.root * share, other_fitted = cell.total * cell.inverse * share;
    const Floats one = __builtin_convertvector(ones, Floats), d = cell.difference * share;
    const Floats other = __builtin_convertvector(totals - ones, Floats);
    const Floats below = fitted * (fitted + 2 * one), other_below = other_fitted * (other_fitted + 2 * other);
    const Floats above = (one + 2 * fitted) * other_below + (other + 2 * other_fitted) * below;
    return d * d * above / (below * other_below);
}

// Sets bounds[k] to an upper bound of the statistic of a SNP with each of n SNPs, or to 0 if a cheaper bound shows that
// it stays below the threshold; returns true if one reaches the threshold (TableIsa::screen).
bool screen(const PairCounts* all, const PairCounts* first, const float* snp_roots, const float* roots,
            std::int64_t stride, std::int64_t n, float threshold, float* bounds) {
    Ints any{};
    for (std::int64_t k = 0; k < n; k += Vector<float>::kLanes) {
        Ints totals[3][3], ones[3][3];
        read_cells(all, k, totals);
        read_cells(first, k, ones);
        const auto cell = [&](int a, int b) __attribute__((always_inline)) {
            return make_cell(ones[a][b], totals[a][b], snp_roots[a] * load(roots + b * stride + k),
                             snp_roots[3 + a] * load(roots + (3 + b) * stride + k));
        };
        Floats x2{};
        for (int a = 0; a < 3; ++a) {
            for (int b = 0; b < 3; ++b) {
                const Cell here = cell(a, b);
                x2 += here.difference * here.difference / here.total;
            }
        }
        const Ints reaching = 2 * x2 >= threshold;
        bool some = false;
        for (int l = 0; l < Vector<float>::kLanes; ++l) some = some || reaching[l] != 0;
        Floats bound{};
        if (some) {
            for (int a = 0; a < 3; ++a) {
                for (int b = 0; b < 3; ++b) bound += bound_of_cell(cell(a, b), ones[a][b], totals[a][b]);
            }
        }
        store(bounds + k, bound);
        any |= bound >= threshold;
    }
    bool reached = false;
    for (int l = 0; l < Vector<float>::kLanes; ++l) reached = reached || any[l] != 0;
    return reached;
}

}  // namespace

extern const TableIsa FASTFS_GLUE(tables_, FASTFS_ISA_NAME);
constexpr TableIsa FASTFS_GLUE(tables_, FASTFS_ISA_NAME) = {count<count_bytes<2>, count_bytes<3>>, screen};

#if defined(__AVX512F__)
extern const TableIsa FASTFS_GLUE(counted_tables_, FASTFS_ISA_NAME);
constexpr TableIsa FASTFS_GLUE(counted_tables_, FASTFS_ISA_NAME) = {count<count_words<2>, count_words<3>>, screen};
#endif

}  // namespace fastfs::core
