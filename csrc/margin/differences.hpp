// The differences |x_na - x_ja| of a table, and their sums: over features, which are distances, and over pairs, which
// are scores. Tables hold numbers, categories, gaps or zeros that aren't stored.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engines/genotype_pairs.hpp"
#include "engines/sample_pairs.hpp"
#include "engines/scaling.hpp"
#include "engines/sparse_pairs.hpp"
#include "fastfs/fastfs.h"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// What is summed over pairs: differences, their squares, or differences whose weights hardly repeat, of which numbers
// are added up faster than bits.
enum class Summed { kDifferences, kSquares, kVaried };

// The samples whose neighbors are used, ascending. If they are only some, their rows of `dense` are copied, but not
// those of genotypes: the matrix that tiles read, or null if there is none.
class Targets {
  public:
    Targets(const Matrix* dense, std::int64_t n_samples, std::vector<std::int64_t> rows, Run& run);
    std::int64_t size() const { return static_cast<std::int64_t>(rows_.size()); }
    std::int64_t row(std::int64_t t) const { return rows_[at(t)]; }
    const std::vector<std::int64_t>& rows() const { return rows_; }
    bool all() const { return all_; }
    // Those features of the targets.
    ScaledFeatures of(const ScaledFeatures& features) const;
    static std::int64_t memory(const Matrix& X, std::int64_t n_targets);

  private:
    std::vector<std::int64_t> rows_;
    bool all_;
    Buffer<char> values_;
    std::vector<std::int64_t> places_;  // of genotypes
    std::optional<Matrix> copied_;
};

class Differences {
  public:
    // Of these columns, in any order, of which none is constant. weights: null, or by what the differences of each are
    // multiplied in distances. split: of a sparse X, or null for that of its own zeros.
    Differences(const Matrix& X, const FeatureScales& scales, const fastfs_margin_options& options,
                std::vector<std::int64_t> columns, const double* weights, Run& run,
                const DensitySplit* split = nullptr);
    // gaps: values may be missing.
    static std::int64_t memory(const Matrix& X, const FeatureScales& scales, bool gaps, int n_threads);
    // Whether differences are computed on the bits of X, unless features have weights: genotypes without any option
    // that makes other numbers of them.
    static bool computes_on_bits(const Matrix& X, const fastfs_margin_options& options);
    Targets targets(std::vector<std::int64_t> rows, Run& run) const {
        return {dense_, X_->n_rows(), std::move(rows), run};
    }

    // Positions in these are the features of all sums below.
    const std::vector<std::int64_t>& columns() const { return columns_; }
    std::int64_t n_features() const { return static_cast<std::int64_t>(columns_.size()); }
    // Whether distances are added up in double: always for float64, and for whole numbers in float32 unless their float
    // sums are exact. So ties stay ties in any order of the columns, and in both precisions.
    bool adds_doubles(bool squared) const { return !dense_ || !dense_->is_float32() || widens_[squared]; }
    bool has_gaps() const { return !n_missing_.empty(); }
    // Whether distances and factors are those of the features that samples have.
    bool ignores_gaps() const { return has_gaps() && missing_rule_ == FASTFS_MISSING_IGNORE; }
    std::int64_t n_missing(std::int64_t row) const { return n_missing_[at(row)]; }

    // out (row-major, ld) = distances of the targets t0..t1 - 1 to all samples; if gaps are ignored, the mean
    // difference of the features that both have times n_features, and NaN if there is none; otherwise a gap counts 0.
    // squared: of the differences; only of complete numbers. Each pair is computed once if the targets are all samples.
    void distances(const Targets& targets, std::int64_t t0, std::int64_t t1, bool squared, double* out, std::int64_t ld,
                   Run& run, Into into = Into::kEmpty) const;

    // The same between the samples t0..t1 - 1 of `others` and all of these, as rows of n_samples: of numbers without
    // gaps that have the same columns, scales and split. Targets are taken in steps of kOthers.
    static constexpr std::int64_t kOthers = SparseFeatures::kSide;
    void distances(const Differences& others, std::int64_t t0, std::int64_t t1, bool squared, double* out,
                   Run& run) const;

    // sums[k] += sum of g |difference|, of features without gaps if `complete_only`, otherwise of all, a gap counting
    // 0. g: those of the targets t0..t1 - 1, row-major, n_samples apart.
    void sums(const Targets& targets, std::int64_t t0, std::int64_t t1, const double* g, Summed of, bool complete_only,
              double* sums, Run& run) const;
    void sums(const std::vector<WeightedPair>& pairs, Summed of, bool complete_only, double* sums, Run& run) const;

    // As target_sums does, of features with gaps, or of all: out is n_out x n_features. k is counted within the call.
    void sums(const Targets& targets, std::int64_t t0, const GroupedNeighbors& neighbors, Summed of, bool gaps_only,
              std::int64_t n_out, const CombineGroups& combine, double* out, Run& run) const;

    // Whether means of neighbors below can be added up, and the bins that they take: of genotypes with gaps.
    bool adds_means() const { return !genotypes_.empty() && ignores_gaps(); }
    // sums[k] += sum over bins of share * mean difference, of features with gaps.
    void add_means(const NeighborBins& bins, double* sums, Run& run) const;

    // Whether feature k has gaps.
    bool incomplete(std::int64_t k) const {
        return !scales_->incomplete.empty() && scales_->incomplete[at(columns_[at(k)])];
    }

  private:
    // Features that one kernel takes.
    struct Part {
        ScaledFeatures data;
        Difference difference;
        std::vector<std::int64_t> places;  // of its features, in columns_
        bool gaps;
    };
    void split_sparse(const DensitySplit& split, const double* weights, Run& run);
    void add_parts(bool of_distances, const double* weights, std::vector<Part>& parts) const;
    void find_gaps(Run& run);
    double missing_weight(const std::uint64_t* words) const;
    template <class F>
    void visit_for_distances(bool squared, F&& f) const;
    void add_genotypes(Run& run);
    void distances_on_bits(const Targets& targets, std::int64_t t0, std::int64_t t1, double* out, std::int64_t ld,
                           Run& run, Into into) const;
    // lacking: null, or in how many features both samples have gaps.
    void weigh_by_shared(const Targets& targets, std::int64_t t0, std::int64_t t1, double* out, std::int64_t ld,
                         const std::uint32_t* lacking, Run& run) const;

    const Matrix* X_;
    const FeatureScales* scales_;
    const std::int64_t* levels_;
    int missing_rule_, ramp_;
    double ramp_low_, ramp_high_;
    std::vector<std::int64_t> columns_;
    std::vector<Part> for_distances_, for_scores_;
    // If it computes on bits: SNPs with gaps, and those without.
    struct GenotypePart {
        GenotypePairs data;
        std::vector<std::int64_t> places;  // of its SNPs, in columns_
    };
    std::vector<GenotypePart> genotypes_;
    // Of a sparse X the features with many zeros, once more for distances if features have weights, and a dense copy of
    // the others.
    std::optional<SparseFeatures> sparse_, weighted_sparse_;
    std::vector<std::int64_t> sparse_places_;
    Buffer<char> gathered_;
    std::optional<Matrix> gathered_matrix_;
    std::vector<std::int64_t> dense_columns_;  // of that copy, for each of columns_; -1 if it isn't there
    const Matrix* dense_;                      // what tiles read
    std::array<bool, 2> widens_{};             // float32 for distances, and for squared ones
    // Gaps of each sample in columns_: n_words_ words of 64 features, and how many.
    std::int64_t n_words_ = 0;
    std::vector<std::uint64_t> missing_;
    std::vector<std::int64_t> n_missing_;
    Numbers weights_;  // of columns_ in distances; empty: 1 each
};

}  // namespace fastfs::core
