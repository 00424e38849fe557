// Tables of genotypes of two SNPs, counted from bits that are stored SNP by SNP.
#pragma once

#include <cstdint>

namespace fastfs::core {

// SNPs with their words side by side: a register of AVX-512 holds one word of each.
constexpr std::int64_t kGroupSnps = 8;

// Numbers of SNPs are multiples of kSnpUnit, a register of 32-bit numbers. One SNP is counted with up to kTableSnps
// SNPs in a call.
constexpr std::int64_t kSnpUnit = 16;
constexpr std::int64_t kTableSnps = 64;

// counts[3 * a + b][k] is the number of samples in plane a of a SNP and in plane b of the k-th other SNP. A sample is
// in plane 0 if its genotype is known, in plane 1 if it has allele 2, and in plane 2 if it has allele 2 twice. Words of
// bits have the planes 1 and 2, and can have plane 0 behind them.
using PairCounts = std::int32_t[9][kTableSnps];
constexpr std::int64_t kCountValues = 9 * kTableSnps;

struct TableIsa {
    // Computes to = from (0 if null) + the counts of a SNP, with its words kGroupSnps apart, with the SNPs of n_groups
    // groups. Each plane has n_words words, and a group n_stored planes. Unless counts_known, the caller fills in the
    // counts with plane 0.
    void (*count)(const std::uint64_t* snp, const std::uint64_t* groups, std::int64_t n_words, std::int64_t n_stored,
                  bool counts_known, std::int64_t n_groups, const PairCounts* from, PairCounts* to);
    // Computes bounds[k] for n SNPs (and up to the next multiple of kSnpUnit): 2 sum n r(n / m - 1) >= 2 sum n log(n /
    // m) of the counts n of both classes and m of a logistic model that adds up an effect of each genotype of both
    // SNPs, where r(x) = x (6 + x) / (6 + 4 x) >= log(1 + x). With d = n - m, which adds up to 0 in each cell, this is
    // sum d^2 (n + 2 m) / (m (m + 2 n)), at most twice Pearson's statistic; where the latter shows that SNPs stay below
    // the threshold, bounds are 0. `first` has the counts of one class, `all` the counts of both classes. snp_roots:
    // the three roots of odds of the SNP, then their inverses; roots: the roots and inverses of the n SNPs, `stride`
    // apart. Returns true if a bound reaches the threshold.
    bool (*screen)(const PairCounts* all, const PairCounts* first, const float* snp_roots, const float* roots,
                   std::int64_t stride, std::int64_t n, float threshold, float* bounds);
};

// Returns the kernels of isa(). With AVX-512, returns separate kernels for machines that count bits (VPOPCNTDQ).
const TableIsa& table_isa();

}  // namespace fastfs::core
