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
    // Computes x2[k] for n SNPs (and up to the next multiple of kSnpUnit): Pearson's statistic of the class against a
    // logistic model that adds up an effect of each genotype of both SNPs. `first` has the counts of one class, `all`
    // the counts of both classes. snp_roots: the three roots of odds of the SNP, then their inverses; roots: the roots
    // and inverses of the n SNPs, `stride` apart. Returns true if a statistic reaches the threshold.
    bool (*screen)(const PairCounts* all, const PairCounts* first, const float* snp_roots, const float* roots,
                   std::int64_t stride, std::int64_t n, float threshold, float* x2);
};

// Returns the kernels of isa(). With AVX-512, returns separate kernels for machines that count bits (VPOPCNTDQ).
const TableIsa& table_isa();

}  // namespace fastfs::core
