// Engine: all pairs of samples by their genotypes, as they are stored. Sums of |x_i - x_j| over SNPs are numbers of
// bits, and exact; sums over weighted pairs are of rounded weights, and exact but for that.
#pragma once

#include <cstdint>
#include <vector>

#include "engines/isa/genotype_bits.hpp"
#include "engines/sample_pairs.hpp"
#include "engines/scaling.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Which SNPs vary, as find_scales tells it of other tables without scaling. Refuses missing genotypes.
FeatureScales find_varying(const Matrix& X, Run& run);

// The samples of a matrix of genotypes in some of its SNPs.
class GenotypePairs {
  public:
    // X must outlive it.
    GenotypePairs(const Matrix& X, std::vector<std::int64_t> snps);

    // out (ld) = sum over SNPs of |difference|, between the samples rows[t0..t1 - 1] and all; each pair is computed
    // once if these are all samples.
    void distances(const std::vector<std::int64_t>& rows, std::int64_t t0, std::int64_t t1, double* out,
                   std::int64_t ld, Run& run, Into into) const;

    // sums[k] += sum of g |difference| in SNP k over the pairs; or, of the targets t0..t1 - 1, with g row-major.
    void sums(std::vector<WeightedPair> pairs, double* sums, Run& run) const;
    void sums(const std::vector<std::int64_t>& rows, std::int64_t t0, std::int64_t t1, const double* g, double* sums,
              Run& run) const;

    // As target_sums: out is n_out x the number of SNPs.
    void target_sums(const std::vector<std::int64_t>& rows, std::int64_t t0, const GroupedNeighbors& neighbors,
                     std::int64_t n_out, const CombineGroups& combine, double* out, Run& run) const;

    // Bytes that this takes at most, with one of its calls, besides the pairs that sums are given and their order.
    static std::int64_t memory(std::int64_t n_samples, std::int64_t n_snps, int n_threads);

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
    // Calls f(line, table) for each line of SNPs, with it of all samples side by side.
    template <class F>
    void for_lines(Run& run, F&& f) const;
    void add_runs(const std::vector<LinePair>& pairs, const std::vector<Equal>& equal, double* sums, Run& run) const;

    const Matrix* X_;
    std::vector<std::int64_t> snps_;
    std::vector<Sample> samples_;  // by place
};

}  // namespace fastfs::core
