// Tables of genotypes of two SNPs, counted from bits that are stored SNP by SNP.
#pragma once

#include <cstdint>

namespace fastfs::core {

// SNPs whose words stand side by side: a register of AVX-512 holds one of each.
constexpr std::int64_t kGroupSnps = 8;

// SNPs are counted in multiples of this, a register of 32-bit numbers, up to so many with one at a time.
constexpr std::int64_t kSnpUnit = 16;
constexpr std::int64_t kTableSnps = 64;

// counts[3 * a + b][k]: samples that are in plane a of a SNP and in plane b of the k-th other one. Plane 0: the
// genotype is known; 1: it has allele 2; 2: it has it twice. Words of bits have the planes 1 and 2, and may have plane
// 0 behind.
using PairCounts = std::int32_t[9][kTableSnps];
constexpr std::int64_t kCountValues = 9 * kTableSnps;

struct TableIsa {
    // to = from (0 for null) + the counts of a SNP, with its words kGroupSnps apart, with n_groups groups. Plane after
    // plane has n_words words, n_stored planes a group. Without plane 0 among those that are counted, counts with it
    // are left to the caller.
    void (*count)(const std::uint64_t* snp, const std::uint64_t* groups, std::int64_t n_words, std::int64_t n_stored,
                  bool counts_known, std::int64_t n_groups, const PairCounts* from, PairCounts* to);
    // x2[k] = Pearson's statistic of the class against a logistic model of it that adds up what each genotype of both
    // SNPs gives, for n SNPs (and up to the next multiple of kSnpUnit); `first` are the counts of a class,
    // `all` those of both. Roots of odds, then their inverses: three of the SNP, and those of the others, stride apart.
    // Returns whether one reaches the threshold.
    bool (*screen)(const PairCounts* all, const PairCounts* first, const float* snp_roots, const float* roots,
                   std::int64_t stride, std::int64_t n, float threshold, float* x2);
};

// Returns the kernels of isa(), or with AVX-512 those of a machine that counts bits (VPOPCNTDQ).
const TableIsa& table_isa();

}  // namespace fastfs::core
