// Kernels on genotypes of two bits.
#pragma once

#include <cstdint>

namespace fastfs::core {

// Genotypes of one sample lie in lines of 256 SNPs, at 64 bytes: 4 words of their high bits, then 4 of the low ones.
// The codes 00, 10 and 11 then differ in |g - h| bits, for genotypes g and h. 01 is missing.
constexpr std::int64_t kLineSnps = 256, kLineWords = 8;

// Largest number of lines of a sample that are summed in one call.
constexpr std::int64_t kPanelLines = 64;

// Largest number of lines that are counted in one call.
constexpr std::int64_t kMostLines = 65535;

// A pair of samples in a table of lines.
struct LinePair {
    std::int32_t i, j;
};

// Counts over some lines, for each SNP: lines with the high bit set, with the low bit set, and without the genotype.
struct LineCounts {
    alignas(64) std::uint16_t high[kLineSnps], low[kLineSnps], gaps[kLineSnps];
};

// Planes of bits for the sums of differences in the SNPs of a line, over targets with equal numbers of known neighbors.
// The sums fit 32 bits with a sign.
constexpr int kSumPlanes = 31;
struct KnownSums {
    alignas(64) std::uint64_t planes[kSumPlanes][kLineSnps / 64];
    std::int64_t most;  // upper bound on the sums; 0: all are 0
};

// Kernels for one kind of difference: |x - y|, the number of bits in which the codes differ, or 1 if x isn't y.
struct GenotypeDifference {
    // Adds to sums[j] the differences of n_lines (at most kPanelLines) of `left` from right + j * stride (in words),
    // for n samples j.
    void (*pair_sums)(const std::uint64_t* left, const std::uint64_t* right, std::int64_t stride, std::int64_t n,
                      std::int64_t n_lines, std::uint32_t* sums);
    // Adds by_high * c to high[k] and by_low * c to low[k] for each of 256 SNPs, where c is the sum of the differences
    // of n (less than 2^31) pairs of lines. No genotype may be missing in pair_sums and here. The sums are exact if the
    // caller has rounded the factors for that.
    void (*snp_sums)(const std::uint64_t* lines, const LinePair* pairs, std::int64_t n, double by_high, double by_low,
                     double* high, double* low);
    // For each of 256 SNPs that `line` has, adds to known[k] the number of n other lines that have the SNP, and to
    // sums[k] the differences from these lines. counts: the counts of the n lines.
    void (*add_known)(const LineCounts& counts, std::int64_t n, const std::uint64_t* line, std::uint32_t* sums,
                      std::uint32_t* known);
    // For each of 256 SNPs that `line` has, finds the c of n chosen lines that have the SNP, and adds the differences
    // from the c lines to sums[c], which must stay below 2^kSumPlanes; or, if one of the SNPs is missing in many lines,
    // the means of all SNPs to `means`. zero: a line without bits.
    void (*add_by_known)(const std::uint64_t* lines, const std::int32_t* chosen, std::int64_t n, std::int32_t zero,
                         const std::uint64_t* line, KnownSums* sums, double* means);
    // Takes n (less than 2^15) chosen lines with the genotypes of samples k < n_samples: distances[k] -= the
    // differences from 00, and lacking[k] += the number of lines in which k lacks the genotype. zero: a line without
    // bits.
    void (*take_off)(const std::uint64_t* lines, const std::int32_t* chosen, std::int64_t n, std::int32_t zero,
                     std::int64_t n_samples, double* distances, std::uint32_t* lacking);
};

struct GenotypeIsa {
    GenotypeDifference differences[2];  // |x - y|, and whether x isn't y
    // Counts the bits of n (at most kMostLines) chosen lines. zero: a line without bits.
    void (*count_lines)(const std::uint64_t* lines, const std::int32_t* chosen, std::int64_t n, std::int32_t zero,
                        LineCounts* counts);
    // Adds sum / known to means[k] for each of 256 SNPs, and sets all sums to 0.
    void (*add_means)(KnownSums& sums, std::int64_t known, double* means);
};

// Returns the kernels of isa(). With AVX-512, returns separate kernels for machines that count bits (VPOPCNTDQ), which
// compute twice as many distances per second.
const GenotypeIsa& genotype_isa();

}  // namespace fastfs::core
