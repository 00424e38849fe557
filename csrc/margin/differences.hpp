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

// The sums over pairs: of differences, of their squares, or of differences with weights that hardly repeat, for which
// adding up numbers is faster than counting bits.
enum class Summed { kDifferences, kSquares, kVaried };

// The samples with neighbors that are used, ascending. dense: the matrix that tiles read, or null. If not all samples
// are targets, their rows of `dense` are copied, unless they are genotypes.
class Targets {
  public:
    Targets(const Matrix* dense, std::int64_t n_samples, std::vector<std::int64_t> rows, Run& run);
    std::int64_t size() const { return static_cast<std::int64_t>(rows_.size()); }
    std::int64_t row(std::int64_t t) const { return rows_[at(t)]; }
    const std::vector<std::int64_t>& rows() const { return rows_; }
    bool all() const { return all_; }
    // Returns the features of the targets alone.
    ScaledFeatures features_of_targets(const ScaledFeatures& features) const;
    static std::int64_t memory(const Matrix& X, std::int64_t n_drawn);

  private:
    std::vector<std::int64_t> rows_;
    bool all_;
    Buffer<char> values_;
    std::vector<std::int64_t> places_;  // rows of genotypes
    std::optional<Matrix> copied_;
};

class Differences {
  public:
    // Refers to X and the scales, which must outlive this object. columns: in any order, none of them constant.
    // weights: null, or the factors of their differences in distances. split: the dense and sparse columns of a sparse
    // X, or null to split them by their zeros.
    Differences(const Matrix& X, const FeatureScales& scales, const fastfs_margin_options& options,
                std::vector<std::int64_t> columns, const double* weights, Run& run,
                const DensitySplit* split = nullptr);
    // Returns the bytes of the object. gaps: values can be missing.
    static std::int64_t memory(const Matrix& X, const FeatureScales& scales, bool gaps, int n_threads);
    // Tells if differences are computed on the bits of X, unless features have weights: X holds genotypes, and no
    // option changes their numbers.
    static bool computes_on_bits(const Matrix& X, const fastfs_margin_options& options);
    Targets targets(std::vector<std::int64_t> rows, Run& run) const {
        return {dense_, X_->n_rows(), std::move(rows), run};
    }

    // Returns the columns of X. Feature k of all sums below is columns()[k].
    const std::vector<std::int64_t>& columns() const { return columns_; }
    std::int64_t n_features() const { return static_cast<std::int64_t>(columns_.size()); }
    // Tells if distances are added up in double: always for float64, and for integers in float32 unless their float
    // sums are exact. So ties stay ties in any order of the columns, and in both precisions.
    bool adds_doubles(bool squared) const { return !dense_ || !dense_->is_float32() || widens_[squared]; }
    bool has_gaps() const { return !n_missing_.empty(); }
    // Tells if distances and factors use only the features that both samples have.
    bool ignores_gaps() const { return has_gaps() && missing_rule_ == FASTFS_MISSING_IGNORE; }
    std::int64_t n_missing(std::int64_t row) const { return n_missing_[at(row)]; }

    // Sets out (row-major, ld) to the distances of the targets t0..t1 - 1 to all samples or, as `into` says, adds them
    // to out or subtracts them. If gaps are ignored, a distance is the mean difference of the features that both
    // samples have, times n_features, and NaN if they share none; otherwise a gap counts 0. squared: uses squared
    // differences, which requires complete numbers. Each pair is computed once if the targets are all samples.
    void distances(const Targets& targets, std::int64_t t0, std::int64_t t1, bool squared, double* out, std::int64_t ld,
                   Run& run, Into into = Into::kEmpty) const;

    static constexpr std::int64_t kOthers = SparseFeatures::kSide;
    // Sets out to the distances between the samples t0..t1 - 1 of `others` and all samples, as rows of n_samples. Both
    // must have numbers without gaps, and equal columns, scales and split. t1 - t0 must be at most kOthers.
    void distances(const Differences& others, std::int64_t t0, std::int64_t t1, bool squared, double* out,
                   Run& run) const;

    // Adds to sums[k] the sum of g |difference| (or of g difference^2, as `of` says), for features without gaps if
    // `complete_only`, otherwise for all, a gap counting 0. g: the weights of the pairs of targets t0..t1 - 1,
    // row-major, n_samples apart.
    void sums(const Targets& targets, std::int64_t t0, std::int64_t t1, const double* g, Summed of, bool complete_only,
              double* sums, Run& run) const;
    // Adds to sums[k] the sum of g |difference| (or of g difference^2, as `of` says) over listed pairs, for features
    // without gaps if `complete_only`.
    void sums(const std::vector<WeightedPair>& pairs, Summed of, bool complete_only, double* sums, Run& run) const;

    // Sums the differences of each target with each group of its neighbors, and adds what `combine` makes of these sums
    // to out (n_out x n_features), as target_sums does; for features with gaps alone if `gaps_only`. k starts at 0 in
    // each call of combine.
    void sums(const Targets& targets, std::int64_t t0, const GroupedNeighbors& neighbors, Summed of, bool gaps_only,
              std::int64_t n_out, const CombineGroups& combine, double* out, Run& run) const;

    // Tells if add_means works: for genotypes with gaps.
    bool adds_means() const { return !genotypes_.empty() && ignores_gaps(); }
    // Adds to sums[k] the sum over bins of share * mean difference, for features with gaps.
    void add_means(const NeighborBins& bins, double* sums, Run& run) const;

    // Tells if feature k has gaps.
    bool incomplete(std::int64_t k) const {
        return !scales_->incomplete.empty() && scales_->incomplete[at(columns_[at(k)])];
    }

  private:
    // The features that one kernel takes.
    struct Part {
        ScaledFeatures data;
        Difference difference;
        std::vector<std::int64_t> places;  // of its features, in columns_
        bool gaps;
    };
    void split_sparse(const DensitySplit& split, const double* weights, Run& run);
    double weighted_factor(std::int64_t c, double weight) const;
    // Appends the dense features to `parts`, one part per kind of difference, with gaps or without. Distances take no
    // ramp, scores no weights.
    void add_parts(bool of_distances, const double* weights, std::vector<Part>& parts) const;
    void find_gaps(Run& run);
    double missing_weight(const std::uint64_t* words) const;
    template <class F>
    void visit_type_of_distances(bool squared, F&& f) const;
    void add_genotypes(Run& run);
    void distances_on_bits(const Targets& targets, std::int64_t t0, std::int64_t t1, double* out, std::int64_t ld,
                           Run& run, Into into) const;
    // Replaces distances by means over the features that both samples have. lacking: null to count them, or for each
    // pair (t1 - t0 rows of n_samples) the number of features in which both have gaps.
    void weigh_by_shared(const Targets& targets, std::int64_t t0, std::int64_t t1, double* out, std::int64_t ld,
                         const std::uint32_t* lacking, Run& run) const;

    const Matrix* X_;
    const FeatureScales* scales_;
    const std::int64_t* levels_;
    int missing_rule_, ramp_;
    double ramp_low_, ramp_high_;
    std::vector<std::int64_t> columns_;
    std::vector<Part> for_distances_, for_scores_;
    // The SNPs with gaps, or the SNPs without, if differences are computed on bits.
    struct GenotypePart {
        GenotypePairs data;
        std::vector<std::int64_t> places;  // of its SNPs, in columns_
    };
    std::vector<GenotypePart> genotypes_;
    // The features of a sparse X with many zeros; a second copy for distances if features have weights; and a dense
    // copy of the features with few zeros.
    std::optional<SparseFeatures> sparse_, weighted_sparse_;
    std::vector<std::int64_t> sparse_places_;
    Buffer<char> gathered_;
    std::optional<Matrix> gathered_matrix_;
    std::vector<std::int64_t> dense_columns_;  // place of each feature in the dense copy; -1 for sparse features
    const Matrix* dense_;                      // the matrix that tiles read
    std::array<bool, 2> widens_{};             // float32 for distances, and for squared ones
    // Gaps of each sample in columns_: n_words_ words of 64 features, and the number of gaps.
    std::int64_t n_words_ = 0;
    std::vector<std::uint64_t> missing_;
    std::vector<std::int64_t> n_missing_;
    Numbers weights_;  // of columns_ in distances; empty: 1 each
};

}  // namespace fastfs::core
