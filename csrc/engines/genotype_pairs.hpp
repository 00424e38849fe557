// Engine: all pairs of samples by their genotypes, in the stored two bits. Sums of |x_i - x_j| over SNPs are counts of
// bits, and exact; sums over weighted pairs are exact up to the rounding of the weights. Missing genotypes are packed
// as 00, and their contribution is subtracted.
#pragma once

#include <cstdint>
#include <vector>

#include "engines/isa/genotype_bits.hpp"
#include "engines/sample_pairs.hpp"
#include "engines/scaling.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Returns the scales of genotypes that find_scales returns for other tables without scaling: factor 1 for SNPs that
// vary, 0 for all others, and a flag for SNPs with missing genotypes. Throws if none varies or, unless `gaps`, if a
// genotype is missing.
FeatureScales find_varying(const Matrix& X, bool gaps, Run& run);

// Neighbors of targets in bins: the rows members[begins[b]..begins[b + 1] - 1] are the neighbors of row targets[b].
struct NeighborBins {
    std::vector<std::int64_t> begins{0};
    std::vector<std::int32_t> targets, members;
    std::vector<double> shares;  // one per bin
};

// The samples of a genotype matrix, compared by some of its SNPs. A difference is |x_i - x_j| or, if `differ`, 1 for
// unequal genotypes; it is 0 if either genotype is missing.
class GenotypePairs {
  public:
    // X must outlive this object. gaps: genotypes can be missing.
    GenotypePairs(const Matrix& X, std::vector<std::int64_t> snps, bool differ, bool gaps);

    const std::vector<std::int64_t>& snps() const { return snps_; }
    bool gaps() const { return gaps_; }
    // Returns the number of missing genotypes of each sample.
    std::vector<std::int64_t> n_missing(Run& run) const;

    // Sets out (rows ld apart) to the sums over SNPs of the differences between the samples rows[t0..t1 - 1],
    // ascending, and all samples; `into` can add to out or subtract from it instead. If rows t0..t1 - 1 are all
    // samples, each pair is computed once. With gaps, `into` must be Into::kEmpty, and the number of SNPs in which both
    // genotypes are missing is added to `lacking` (rows n_samples apart).
    void distances(const std::vector<std::int64_t>& rows, std::int64_t t0, std::int64_t t1, double* out,
                   std::int64_t ld, Run& run, Into into, std::uint32_t* lacking = nullptr) const;

    // Adds to sums[k] the sum over listed pairs of g * difference in SNP k. Without gaps only.
    void sums(std::vector<WeightedPair> pairs, double* sums, Run& run) const;
    // Adds to sums[k] the sum over the pairs of targets rows[t0..t1 - 1] with all samples, g row-major. Without gaps
    // only.
    void sums(const std::vector<std::int64_t>& rows, std::int64_t t0, std::int64_t t1, const double* g, double* sums,
              Run& run) const;

    // Adds to out (n_out x the number of SNPs) the sums of target_sums (sample_pairs.hpp) on genotypes.
    void target_sums(const std::vector<std::int64_t>& rows, std::int64_t t0, const GroupedNeighbors& neighbors,
                     std::int64_t n_out, const CombineGroups& combine, double* out, Run& run) const;

    // Adds to out[k], for each bin, share * the mean difference in SNP k between the target and the members that have
    // the SNP; 0 if the target lacks it. Requires gaps.
    void add_means(const NeighborBins& bins, double* out, Run& run) const;

    // Returns the largest number of bytes that this object takes with one of its calls, except the neighbors that are
    // passed to the sums, and their order.
    static std::int64_t memory(std::int64_t n_samples, std::int64_t n_snps, bool gaps, int n_threads);

    // A sample: its row in X, and its place in the bytes of a SNP.
    struct Sample {
        std::int64_t place, row;
    };

    // A run of pairs with equal weights.
    struct Equal {
        double weight;
        std::int64_t begin, end;
    };

  private:
    const GenotypeDifference& kernels() const;
    // Calls f(snp, n, lines, thread) for each line: the n <= kLineSnps SNPs from place `snp` of snps_ on. lines:
    // kLineWords words for each sample, sample after sample, then as many zeros, for no sample.
    template <class F>
    void for_lines_of_snps(Run& run, F&& f) const;
    void add_runs(const std::vector<LinePair>& pairs, const std::vector<Equal>& equal, double* sums, Run& run) const;

    const Matrix* X_;
    std::vector<std::int64_t> snps_;
    bool differ_, gaps_;
    std::vector<Sample> samples_;  // by place
};

}  // namespace fastfs::core
