// Kernels on genotypes of two bits.
#pragma once

#include <cstdint>

namespace fastfs::core {

// Genotypes of one sample lie in lines of 256 SNPs, at 64 bytes: 4 words of their high bits, then 4 of the low ones.
// The codes 00, 10 and 11 then differ in as many bits as the genotypes differ by.
constexpr std::int64_t kLineSnps = 256, kLineWords = 8;

// Lines of a sample that are summed at once, at most.
constexpr std::int64_t kPanelLines = 64;

// Two samples of a table of lines.
struct LinePair {
    std::int32_t i, j;
};

struct GenotypeIsa {
    // sums[j] += the bits in which n_lines (at most kPanelLines) of `left` and of right + j * stride (in words) differ,
    // for n samples j.
    void (*pair_bits)(const std::uint64_t* left, const std::uint64_t* right, std::int64_t stride, std::int64_t n,
                      std::int64_t n_lines, std::uint32_t* sums);
    // For each of 256 SNPs, high[k] += by_high * c and low[k] += by_low * c, where c counts the bits that differ in n
    // (less than 2^31) pairs of lines. Exact, if the caller has rounded the factors for that.
    void (*snp_bits)(const std::uint64_t* lines, const LinePair* pairs, std::int64_t n, double by_high, double by_low,
                     double* high, double* low);
};

}  // namespace fastfs::core
