// Engine: all pairs of samples by their genotypes, as they are stored. Sums of |x_i - x_j| over SNPs are numbers of
// bits, and exact; sums over weighted pairs are of rounded weights, and exact but for that. Missing genotypes are
// packed as 00, and what they add is taken off.
#pragma once

#include <cstdint>
#include <vector>

#include "engines/isa/genotype_bits.hpp"
#include "engines/sample_pairs.hpp"
#include "engines/scaling.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Which SNPs vary, as find_scales tells it of other tables without scaling. gaps: whether genotypes may be missing.
FeatureScales find_varying(const Matrix& X, bool gaps, Run& run);

// Neighbors of targets in bins: the rows members[begins[b]..begins[b + 1] - 1] are those of the row targets[b].
struct NeighborBins {
    std::vector<std::int64_t> begins{0};
    std::vector<std::int32_t> targets, members;
    std::vector<double> shares;  // of each bin
};

// The samples of a matrix of genotypes in some of its SNPs. A difference is |x_i - x_j| or, if genotypes `differ`, 1 if
// they aren't the same, and 0 if one of them is missing.
class GenotypePairs {
  public:
    // X must outlive it. gaps: genotypes may be missing.
    GenotypePairs(const Matrix& X, std::vector<std::int64_t> snps, bool differ, bool gaps);

    const std::vector<std::int64_t>& snps() const { return snps_; }
    bool gaps() const { return gaps_; }
    std::vector<std::int64_t> n_missing(Run& run) const;  // of each sample

    // out (ld) = sum over SNPs of differences, between the samples rows[t0..t1 - 1] and all; each pair is computed once
    // if these are all samples. With gaps, which must be Into::kEmpty: lacking (n_samples apart) += in how many SNPs
    // both are missing.
    void distances(const std::vector<std::int64_t>& rows, std::int64_t t0, std::int64_t t1, double* out,
                   std::int64_t ld, Run& run, Into into, std::uint32_t* lacking = nullptr) const;

    // sums[k] += sum of g * difference in SNP k over the pairs; or, of the targets t0..t1 - 1, with g row-major.
    // Without gaps only.
    void sums(std::vector<WeightedPair> pairs, double* sums, Run& run) const;
    void sums(const std::vector<std::int64_t>& rows, std::int64_t t0, std::int64_t t1, const double* g, double* sums,
              Run& run) const;

    // As target_sums: out is n_out x the number of SNPs.
    void target_sums(const std::vector<std::int64_t>& rows, std::int64_t t0, const GroupedNeighbors& neighbors,
                     std::int64_t n_out, const CombineGroups& combine, double* out, Run& run) const;

    // out[k] += sum over bins of share * the mean difference in SNP k between the target and those that have it; 0 if
    // the target hasn't. With gaps only.
    void add_means(const NeighborBins& bins, double* out, Run& run) const;

    // Bytes that this takes at most, with one of its calls, besides the neighbors that sums are given and their order.
    static std::int64_t memory(std::int64_t n_samples, std::int64_t n_snps, bool gaps, int n_threads);

    // Sample `row` is at `place` in a SNP.
    struct Sample {
        std::int64_t place, row;
    };

    // Pairs of one weight.
    struct Equal {
        double weight;
        std::int64_t begin, end;
    };

  private:
    const GenotypeDifference& kernels() const;
    // Calls f(snp, n, lines, thread) for each line, with those of all samples side by side, and one without bits.
    template <class F>
    void for_lines(Run& run, F&& f) const;
    void add_runs(const std::vector<LinePair>& pairs, const std::vector<Equal>& equal, double* sums, Run& run) const;

    const Matrix* X_;
    std::vector<std::int64_t> snps_;
    bool differ_, gaps_;
    std::vector<Sample> samples_;  // by place
};

}  // namespace fastfs::core
