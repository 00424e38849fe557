// Engine: bits of genotypes with samples and SNPs exchanged, to look at the SNPs that a sample lacks.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "engines/isa/genotype_bits.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"
#include "support/run.hpp"

namespace fastfs::core {

using Word = std::uint64_t;

// Words of missing bits per line, one bit per genotype.
constexpr std::int64_t kGapWords = kLineWords / 2;

// Transposes a square of bits, 64 words, in place: bit b of word k goes to bit k of word b.
template <int j = 32>
void transpose(Word* words) {
    constexpr Word mask = ~Word{0} / ((Word{1} << j) + 1);
    for (int base = 0; base < 64; base += 2 * j) {
        for (int k = base; k < base + j; ++k) {
            const Word swapped = ((words[k] >> j) ^ words[k + j]) & mask;
            words[k] ^= swapped << j;
            words[k + j] ^= swapped;
        }
    }
    if constexpr (j > 1) transpose<j / 2>(words);
}

// Lines with samples and SNPs exchanged: lines of 256 samples for each SNP of a panel, and a line without bits.
class SnpLines {
  public:
    static constexpr std::int64_t kSamples = kLineSnps;

    // Makes room for at most n_samples samples, and panels of `width` lines.
    SnpLines(std::int64_t n_samples, std::int64_t width)
        : n_snps_(width * kLineSnps),
          n_blocks_(ceil_div(n_samples, kSamples)),
          lines_(n_blocks_ * (n_snps_ + 1) * kLineWords) {}

    static std::int64_t memory(std::int64_t n_samples, std::int64_t width) {
        return ceil_div(n_samples, kSamples) * (width * kLineSnps + 1) * kLineWords * 8;
    }

    // Overwrites the lines with the listed rows of a panel and of its gaps: n_lines lines per row, rows `stride` words
    // apart, gaps half as far. Bit s of block b stands for rows[b * kSamples + s]; missing genotypes get their code 01
    // back.
    void fill_lines(const Word* panel, const Word* gaps, std::int64_t stride, std::int64_t n_lines,
                    const std::int64_t* rows, std::int64_t n_rows, Run& run) {
        n_rows_ = n_rows;
        n_blocks_ = ceil_div(n_rows, kSamples);
        parallel_for(run, n_blocks_ * (n_lines + 1), [&](std::int64_t task, int) {
            const std::int64_t block = task / (n_lines + 1), line = task % (n_lines + 1);
            if (line == n_lines) {
                std::fill_n(lines(block) + n_snps_ * kLineWords, kLineWords, Word{0});
                return;
            }
            for (std::int64_t w = 0; w < kGapWords; ++w) {
                for (std::int64_t quarter = 0; quarter < kGapWords; ++quarter) {
                    const std::int64_t first = block * kSamples + quarter * 64;
                    const std::int64_t n = std::clamp(n_rows - first, std::int64_t{0}, std::int64_t{64});
                    const std::int64_t snp = line * kLineSnps + w * 64;
                    const Word *high = panel + line * kLineWords + w, *low = high + kGapWords;
                    const Word* lacks = gaps + line * kGapWords + w;
                    alignas(64) Word words[2][64] = {};
                    for (std::int64_t s = 0; s < n; ++s) {
                        const std::int64_t row = rows[first + s];
                        words[0][s] = high[row * stride];
                        words[1][s] = low[row * stride] | lacks[row * stride / 2];
                    }
                    for (std::int64_t part = 0; part < 2; ++part) {
                        transpose(words[part]);
                        Word* to = lines(block) + snp * kLineWords + part * kGapWords + quarter;
                        for (std::int64_t k = 0; k < 64; ++k) to[k * kLineWords] = words[part][k];
                    }
                }
            }
        });
    }

    // Calls f(owner, first, n_samples, lines, snps, n_snps), in parallel, for each listed row of the panel that has
    // gaps and each block of lines. owner: place in the list; snps: the SNPs that the row lacks; lines: n_samples of
    // the samples of fill_lines, from `first` on.
    template <class F>
    void visit_gaps(const Word* gaps, std::int64_t stride, std::int64_t n_lines, const std::int64_t* rows,
                    std::int64_t n_rows, Run& run, F&& f) const {
        constexpr std::int64_t kRows = 64;
        parallel_for(run, ceil_div(n_rows, kRows), [&](std::int64_t task, int) {
            const std::int64_t begin = task * kRows, end = std::min(begin + kRows, n_rows);
            std::vector<std::int32_t> snps;
            std::vector<std::size_t> begins{0};
            for (std::int64_t owner = begin; owner < end; ++owner) {
                const Word* words = gaps + rows[owner] * stride / 2;
                for (std::int64_t word = 0; word < n_lines * kGapWords; ++word) {
                    for (Word bits = words[word]; bits != 0; bits &= bits - 1) {
                        snps.push_back(static_cast<std::int32_t>(word * 64 + std::countr_zero(bits)));
                    }
                }
                begins.push_back(snps.size());
            }
            for (std::int64_t block = 0; block < n_blocks_; ++block) {
                for (std::int64_t owner = begin; owner < end; ++owner) {
                    const std::int32_t* chosen = snps.data() + begins[at(owner - begin)];
                    const auto n = static_cast<std::int64_t>(begins[at(owner - begin + 1)] - begins[at(owner - begin)]);
                    if (n == 0) continue;
                    f(owner, block * kSamples, std::min(kSamples, n_rows_ - block * kSamples), lines(block), chosen, n);
                }
            }
        });
    }

  private:
    Word* lines(std::int64_t block) { return lines_.data() + block * (n_snps_ + 1) * kLineWords; }
    const Word* lines(std::int64_t block) const { return lines_.data() + block * (n_snps_ + 1) * kLineWords; }

    std::int64_t n_snps_, n_blocks_, n_rows_ = 0;
    Buffer<Word> lines_;
};

}  // namespace fastfs::core
