#include "margin/differences.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "engines/adjacent_rows.hpp"
#include "engines/isa/tiles.hpp"
#include "support/errors.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {

// Copies the rows of the targets from a dense X; genotypes are read in place, and nothing is copied if all samples are
// targets.
Targets::Targets(const Matrix* dense, std::int64_t n_samples, std::vector<std::int64_t> rows, Run& run)
    : rows_(std::move(rows)), all_(size() == n_samples) {
    if (all_ || !dense) return;
    fastfs_matrix m = dense->description();
    m.n_rows = size();
    if (dense->is_genotypes()) {
        for (const std::int64_t r : rows_) places_.push_back(m.row_list ? m.row_list[r] : r);
        m.row_list = places_.data();
        copied_.emplace(m);
        return;
    }
    run.require_memory(memory(*dense, size()), "a copy of the targets", "give a smaller n_targets");
    visit_dense(m, [&]<class T>(const T* from) {
        values_ = Buffer<char>(size() * m.n_cols * static_cast<std::int64_t>(sizeof(T)));
        T* to = reinterpret_cast<T*>(values_.data());
        parallel_for(run, size(), [&](std::int64_t t, int) {
            for (std::int64_t c = 0; c < m.n_cols; ++c) {
                to[t * m.n_cols + c] = from[row(t) * m.row_stride + c * m.col_stride];
            }
        });
        m.values = to;
    });
    m.row_stride = m.n_cols;
    m.col_stride = 1;
    copied_.emplace(m);
}

ScaledFeatures Targets::features_of_targets(const ScaledFeatures& features) const {
    ScaledFeatures of_targets = features;
    if (copied_) of_targets.X = &*copied_;
    return of_targets;
}

std::int64_t Targets::memory(const Matrix& X, std::int64_t n_drawn) {
    if (n_drawn == X.n_rows()) return 0;
    return n_drawn * (X.is_genotypes() ? 8 : X.n_cols() * (X.is_float32() ? 4 : 8));
}

// ---- which kernel takes which features -----------------------------------------------------------------------------

namespace {

// Tells if float sums over a panel of differences of integers are exact: all differences are multiples of one power of
// two, and none is too large.
bool has_exact_sums(const FeatureScales& scales, const std::int64_t* levels, bool squared) {
    constexpr double kMost = double{1 << 24} / kWidth<float>;
    double unit = 1, largest = 1;
    for (std::size_t c = 0; c < scales.factor.size(); ++c) {
        const double factor = scales.factor[c];
        if (factor == 0 || (levels && levels[c] > 2)) continue;
        int exponent = 0;
        if (std::frexp(factor, &exponent) != 0.5) return false;
        unit = std::min(unit, factor);
        largest = std::max(largest, scales.range[c] * factor);
    }
    return squared ? largest * largest <= kMost * unit * unit : largest <= kMost * unit;
}

}  // namespace

Differences::Differences(const Matrix& X, const FeatureScales& scales, const fastfs_margin_options& options,
                         std::vector<std::int64_t> columns, const double* weights, Run& run, const DensitySplit* split)
    : X_(&X),
      scales_(&scales),
      levels_(options.levels),
      missing_rule_(options.missing),
      ramp_(options.ramp),
      ramp_low_(options.ramp_low),
      ramp_high_(options.ramp_high),
      columns_(std::move(columns)),
      dense_(&X) {
    if (X.is_sparse()) split_sparse(split ? *split : split_by_density(X, columns_, run), weights, run);
    if (weights) weights_.assign(weights, weights + columns_.size());
    if (computes_on_bits(X, options) && !weights) {
        add_genotypes(run);
    } else if (!scales.incomplete.empty()) {
        find_gaps(run);
    }
    for (const bool squared : {false, true}) {
        widens_[squared] = scales.whole && (weights || !has_exact_sums(scales, levels_, squared));
    }
    add_parts(true, weights, for_distances_);
    add_parts(false, nullptr, for_scores_);
}

bool Differences::computes_on_bits(const Matrix& X, const fastfs_margin_options& options) {
    const bool categories = options.levels && std::all_of(options.levels, options.levels + X.n_cols(),
                                                          [](auto levels) { return levels == 3; });
    return X.is_genotypes() && (categories || (!options.levels && options.scaling == FASTFS_SCALE_NONE)) &&
           options.missing != FASTFS_MISSING_CLASS && options.ramp == FASTFS_RAMP_NONE &&
           options.keep != FASTFS_KEEP_SQUARED_EUCLIDEAN;
}

std::int64_t Differences::memory(const Matrix& X, const FeatureScales& scales, bool gaps, int n_threads) {
    const std::int64_t of_gaps = scales.incomplete.empty() ? 0 : X.n_rows() * (X.n_cols() / 8 + 24);
    const std::int64_t sparse = !X.is_sparse() ? 0
                                               : SparseFeatures::memory(X, X.n_cols(), n_threads) +
                                                     SparseFeatures::sums_memory(X, X.n_cols(), true, n_threads) +
                                                     4 * X.n_stored() * (X.is_float32() ? 4 : 8);
    const std::int64_t genotypes =
        X.is_genotypes() ? GenotypePairs::memory(X.n_rows(), X.n_cols(), gaps, n_threads) : 0;
    return X.n_cols() * 200 + of_gaps + sparse + genotypes;
}

// Sets genotypes_: the SNPs with gaps and those without, on their bits; counts the gaps of each sample.
void Differences::add_genotypes(Run& run) {
    for (const bool gaps : {true, false}) {
        std::vector<std::int64_t> snps, places;
        for (std::int64_t k = 0; k < n_features(); ++k) {
            if (incomplete(k) != gaps) continue;
            snps.push_back(columns_[at(k)]);
            places.push_back(k);
        }
        if (snps.empty()) continue;
        genotypes_.push_back({GenotypePairs(*X_, std::move(snps), levels_ != nullptr, gaps), std::move(places)});
        if (gaps) n_missing_ = genotypes_.back().data.n_missing(run);
    }
}

// Stores the columns of a sparse X as `split` says: sparse ones for differences of entries, with their factors and
// weights, dense ones as a dense table.
void Differences::split_sparse(const DensitySplit& split, const double* weights, Run& run) {
    dense_columns_.assign(columns_.size(), -1);
    const auto place = [&](std::int64_t c) {
        return std::lower_bound(columns_.begin(), columns_.end(), c) - columns_.begin();
    };
    Numbers factor, weighted;
    for (const std::int64_t c : split.sparse) {
        sparse_places_.push_back(place(c));
        factor.push_back(scales_->factor[at(c)]);
        if (weights) weighted.push_back(weighted_factor(c, weights[place(c)]));
    }
    if (!split.sparse.empty()) sparse_.emplace(*X_, split.sparse, factor, run);
    if (!weighted.empty()) weighted_sparse_.emplace(*X_, split.sparse, weighted, run);
    dense_ = nullptr;
    if (split.dense.empty()) return;
    const auto n_dense = static_cast<std::int64_t>(split.dense.size());
    const std::int64_t size = X_->is_float32() ? 4 : 8;
    run.require_memory(X_->n_rows() * n_dense * size, "a dense copy of the features with few zeros");
    gathered_ = Buffer<char>(X_->n_rows() * n_dense * size);
    if (X_->is_float32()) {
        gather_columns(*X_, split.dense, reinterpret_cast<float*>(gathered_.data()), run);
    } else {
        gather_columns(*X_, split.dense, reinterpret_cast<double*>(gathered_.data()), run);
    }
    fastfs_matrix m = FASTFS_MATRIX_INIT;
    m.values = gathered_.data();
    m.dtype = X_->description().dtype;
    m.n_rows = X_->n_rows();
    m.n_cols = n_dense;
    m.row_stride = n_dense;
    m.col_stride = 1;
    gathered_matrix_.emplace(m);
    dense_ = &*gathered_matrix_;
    for (std::int64_t k = 0; k < n_dense; ++k) dense_columns_[at(place(split.dense[at(k)]))] = k;
}

// Returns the scale factor of column c times a weight; throws if the product overflows.
double Differences::weighted_factor(std::int64_t c, double weight) const {
    const double factor = scales_->factor[at(c)] * weight;
    if (!std::isfinite(factor)) {
        refuse({"the range of a feature must be large enough for a division by it, also with the weight ", weight,
                " in distances; got ", Name::column(c), " with the range ", 1 / scales_->factor[at(c)],
                ": give it in another unit"});
    }
    return factor;
}

// Appends the dense features to `parts`, one part per kind of difference, with gaps or without. of_distances: leaves
// the ramp out, which counts in scores only. weights: null, or factors of the features of columns_.
void Differences::add_parts(bool of_distances, const double* weights, std::vector<Part>& parts) const {
    for (const bool gaps : {false, true}) {
        for (const auto difference : {Difference::kKnown, Difference::kDiffer, Difference::kRamp}) {
            Part part{{dense_, {}}, difference, {}, gaps};
            if (!gaps && difference == Difference::kKnown) part.difference = Difference::kAbsolute;
            ScaledFeatures& data = part.data;
            for (std::int64_t k = 0; k < n_features(); ++k) {
                const std::int64_t c = columns_[at(k)], levels = levels_ ? levels_[c] : 0;
                // Codes 0 and 1 are used as numbers. One part of the distances takes features with gaps as well as
                // features without.
                const bool sloped = levels == 0 && !of_distances && ramp_ != FASTFS_RAMP_NONE;
                if (difference != (sloped       ? Difference::kRamp
                                   : levels > 2 ? Difference::kDiffer
                                                : Difference::kKnown)) {
                    continue;
                }
                if (gaps != (of_distances ? has_gaps() : incomplete(k))) continue;
                if (X_->is_sparse() && dense_columns_[at(k)] < 0) continue;
                const double weight = weights ? weights[k] : 1.0;
                double factor = scales_->factor[at(c)];
                if (difference == Difference::kDiffer) {
                    data.top.push_back(weight);
                } else if (sloped) {
                    const bool is_given = ramp_ == FASTFS_RAMP_GIVEN;
                    const double slope = is_given ? 1 / (ramp_high_ - ramp_low_) : 1.0;
                    data.low.push_back(is_given ? ramp_low_ * slope : 0.0);
                    data.high.push_back(is_given ? ramp_high_ * slope : scales_->deviation[at(c)] * factor);
                    data.top.push_back(1);
                    factor *= slope;
                } else {
                    factor = weighted_factor(c, weight);
                }
                data.features.push_back(X_->is_sparse() ? dense_columns_[at(k)] : c);
                data.shift.push_back(scales_->shift[at(c)]);
                data.factor.push_back(factor);
                part.places.push_back(k);
            }
            if (!data.features.empty()) parts.push_back(std::move(part));
        }
    }
}

// ---- distances -----------------------------------------------------------------------------------------------------

// Calls f with a null const double* or const float*, the type in which distances are added up (see adds_doubles).
template <class F>
void Differences::visit_type_of_distances(bool squared, F&& f) const {
    if (adds_doubles(squared)) {
        f(static_cast<const double*>(nullptr));
    } else {
        f(static_cast<const float*>(nullptr));
    }
}

void Differences::distances(const Targets& targets, std::int64_t t0, std::int64_t t1, bool squared, double* out,
                            std::int64_t ld, Run& run, Into into) const {
    const std::int64_t n = X_->n_rows();
    if (!genotypes_.empty() && !squared) return distances_on_bits(targets, t0, t1, out, ld, run, into);
    for (std::size_t p = 0; p < for_distances_.size(); ++p) {
        const Part& part = for_distances_[p];
        const ScaledFeatures left = targets.features_of_targets(part.data);
        const Run::Part share(run, static_cast<double>(p) / static_cast<double>(for_distances_.size()),
                              static_cast<double>(p + 1) / static_cast<double>(for_distances_.size()));
        visit_type_of_distances(squared, [&]<class T>(const T*) {
            pair_sums<T>(targets.all() ? part.data : left, t0, t1, part.data, 0, n,
                         squared ? Difference::kSquared : part.difference, out, ld, run,
                         p > 0 && into == Into::kEmpty ? Into::kAdd : into);
        });
    }
    if (sparse_) {
        for (std::int64_t t = 0; t < t1 - t0 && for_distances_.empty(); ++t) std::fill_n(out + t * ld, n, 0.0);
        (weighted_sparse_ ? *weighted_sparse_ : *sparse_).pair_sums(targets.rows(), t0, t1, out, ld, run);
    }
    if (ignores_gaps()) weigh_by_shared(targets, t0, t1, out, ld, nullptr, run);
}

void Differences::distances(const Differences& others, std::int64_t t0, std::int64_t t1, bool squared, double* out,
                            Run& run) const {
    // Samples per call: a fixed number, so that neither panels nor the rounding of float sums depend on the number of
    // samples.
    constexpr std::int64_t kAtOnce = 4096;
    const std::int64_t n = X_->n_rows();
    for (std::size_t p = 0; p < for_distances_.size(); ++p) {
        const Difference difference = squared ? Difference::kSquared : for_distances_[p].difference;
        for (std::int64_t j = 0; j < n; j += kAtOnce) {
            visit_type_of_distances(squared, [&]<class T>(const T*) {
                pair_sums<T>(others.for_distances_[p].data, t0, t1, for_distances_[p].data, j, std::min(j + kAtOnce, n),
                             difference, out + j, n, run, p > 0 ? Into::kAdd : Into::kEmpty);
            });
        }
    }
    if (!sparse_) return;
    if (for_distances_.empty()) std::fill_n(out, (t1 - t0) * n, 0.0);
    sparse_->pair_sums(*others.sparse_, t0, t1, out, n, run);
}

// Sets out to the distances of genotypes from their bits, on the terms of distances().
void Differences::distances_on_bits(const Targets& targets, std::int64_t t0, std::int64_t t1, double* out,
                                    std::int64_t ld, Run& run, Into into) const {
    const std::int64_t n = X_->n_rows();
    std::vector<std::uint32_t> lacking;
    for (std::size_t p = 0; p < genotypes_.size(); ++p) {
        const GenotypePairs& data = genotypes_[p].data;
        if (data.gaps()) {
            run.require_memory((t1 - t0) * n * 4, "the numbers of SNPs that two samples lack");
            lacking.resize(at((t1 - t0) * n));
        }
        const Run::Part part(run, share(static_cast<std::int64_t>(p), std::ssize(genotypes_)),
                             share(static_cast<std::int64_t>(p) + 1, std::ssize(genotypes_)));
        data.distances(targets.rows(), t0, t1, out, ld, run, p > 0 && into == Into::kEmpty ? Into::kAdd : into,
                       lacking.data());
    }
    if (ignores_gaps()) weigh_by_shared(targets, t0, t1, out, ld, lacking.data(), run);
}

// Sets missing_, one bit per value, and n_missing_ per sample.
void Differences::find_gaps(Run& run) {
    const fastfs_matrix& m = X_->description();
    n_words_ = ceil_div(n_features(), 64);
    run.require_memory(m.n_rows * (n_words_ + 1) * 8, "a table of missing values");
    missing_.assign(at(m.n_rows * n_words_), 0);
    n_missing_.assign(at(m.n_rows), 0);
    visit_dense(m, [&]<class T>(const T*) {
        static_assert(kWidth<T> % 64 == 0);
        const std::int64_t n_panels = ceil_div(n_features(), kWidth<T>);
        parallel_for(run, n_panels, [&](std::int64_t panel, int) {
            const std::int64_t k = panel * kWidth<T>, size = std::min(kWidth<T>, n_features() - k);
            AdjacentRows<T> rows(m, columns_.data() + k, size);
            for (std::int64_t r = 0; r < m.n_rows; r += kRowsRead) {
                const std::int64_t last = std::min(r + kRowsRead, m.n_rows);
                const T* from = rows.read_rows(r, last);
                for (std::int64_t i = r; i < last; ++i, from += rows.stride()) {
                    margin_kernels<T>().missing_bits(from, size, missing_.data() + i * n_words_ + k / 64);
                }
            }
        });
    });
    for (std::int64_t r = 0; r < m.n_rows; ++r) {
        const std::uint64_t* words = missing_.data() + r * n_words_;
        n_missing_[at(r)] = margin_kernels<float>().shared_bits(words, words, n_words_);
    }
}

// Returns the total weight of the features with set bits.
double Differences::missing_weight(const std::uint64_t* words) const {
    double weight = 0;
    for (std::int64_t word = 0; word < n_words_; ++word) {
        for (std::uint64_t bits = words[word]; bits != 0; bits &= bits - 1) {
            weight += weights_[at(word * 64 + std::countr_zero(bits))];
        }
    }
    return weight;
}

// Replaces each distance in out by the (weighted) mean over the features that both samples have, times the number (or
// weight) of all features; NaN if they share none. Mirrors the upper triangle if the rows are all samples.
void Differences::weigh_by_shared(const Targets& targets, std::int64_t t0, std::int64_t t1, double* out,
                                  std::int64_t ld, const std::uint32_t* lacking, Run& run) const {
    const std::int64_t n = X_->n_rows(), A = n_features();
    const auto both_missing = margin_kernels<float>().shared_bits;
    const bool triangle = targets.all() && t0 == 0 && t1 == n;
    const double total =
        weights_.empty() ? static_cast<double>(A) : std::accumulate(weights_.begin(), weights_.end(), 0.0);
    parallel_for(run, t1 - t0, [&](std::int64_t t, int) {
        const std::int64_t i = targets.row(t0 + t);
        const std::uint64_t* of_i = missing_.data() + i * n_words_;
        std::vector<std::uint64_t> either(weights_.empty() ? 0 : at(n_words_));
        double* row = out + t * ld;
        for (std::int64_t j = triangle ? i : 0; j < n; ++j) {
            const std::uint64_t* of_j = missing_.data() + j * n_words_;
            const std::int64_t both = lacking ? lacking[t * n + j] : both_missing(of_i, of_j, n_words_);
            const std::int64_t n_shared = A - n_missing_[at(i)] - n_missing_[at(j)] + both;
            if (n_shared == A) continue;
            auto shared = static_cast<double>(n_shared);
            if (!weights_.empty()) {
                for (std::int64_t word = 0; word < n_words_; ++word) either[at(word)] = of_i[word] | of_j[word];
                shared = total - missing_weight(either.data());
            }
            // A weight below the rounding counts as 0. Multiplies before it divides, so that equal shares of differing
            // categories stay ties.
            const bool any = n_shared > 0 && shared > 1e-12 * total;
            row[j] = any ? row[j] * total / shared : std::numeric_limits<double>::quiet_NaN();
        }
    });
    if (!triangle) return;
    parallel_for(run, n, [&](std::int64_t i, int) {
        for (std::int64_t j = 0; j < i; ++j) out[i * ld + j] = out[j * ld + i];
    });
}

// ---- sums over pairs -----------------------------------------------------------------------------------------------

namespace {

// Adds the sums of a part's features to their places.
void scatter(const Numbers& from, const std::vector<std::int64_t>& places, double* to) {
    for (std::size_t k = 0; k < from.size(); ++k) to[places[k]] += from[k];
}

}  // namespace

void Differences::sums(const Targets& targets, std::int64_t t0, std::int64_t t1, const double* g, Summed of,
                       bool complete_only, double* sums, Run& run) const {
    const std::int64_t n = X_->n_rows();
    if (!genotypes_.empty() && of == Summed::kDifferences) {
        for (const auto& [data, places] : genotypes_) {
            if (data.gaps()) continue;
            Numbers part_sums(places.size());
            data.sums(targets.rows(), t0, t1, g, part_sums.data(), run);
            scatter(part_sums, places, sums);
        }
        return;
    }
    for (const Part& part : for_scores_) {
        if (complete_only && part.gaps) continue;
        const ScaledFeatures left = targets.features_of_targets(part.data);
        Numbers part_sums(part.places.size());
        visit_dense(dense_->description(), [&]<class T>(const T*) {
            feature_sums<T>(targets.all() ? part.data : left, t0, t1, part.data, 0, n,
                            of == Summed::kSquares ? Difference::kSquared : part.difference, g, n,
                            targets.all() && t0 == 0 && t1 == n, part_sums.data(), run);
        });
        scatter(part_sums, part.places, sums);
    }
    if (!sparse_) return;
    Numbers part_sums(sparse_places_.size());
    sparse_->feature_sums(targets.rows(), t0, t1, g, n, part_sums.data(), run);
    scatter(part_sums, sparse_places_, sums);
}

void Differences::sums(const std::vector<WeightedPair>& pairs, Summed of, bool complete_only, double* sums,
                       Run& run) const {
    if (!genotypes_.empty() && of == Summed::kDifferences) {
        for (const auto& [data, places] : genotypes_) {
            if (data.gaps()) continue;
            Numbers part_sums(places.size());
            data.sums(pairs, part_sums.data(), run);
            scatter(part_sums, places, sums);
        }
        return;
    }
    for (const Part& part : for_scores_) {
        if (complete_only && part.gaps) continue;
        Numbers part_sums(part.places.size());
        visit_dense(dense_->description(), [&]<class T>(const T*) {
            feature_sums<T>(part.data, pairs, of == Summed::kSquares ? Difference::kSquared : part.difference,
                            part_sums.data(), run);
        });
        scatter(part_sums, part.places, sums);
    }
    if (!sparse_) return;
    Numbers part_sums(sparse_places_.size());
    sparse_->feature_sums(pairs, part_sums.data(), run);
    scatter(part_sums, sparse_places_, sums);
}

void Differences::sums(const Targets& targets, std::int64_t t0, const GroupedNeighbors& neighbors, Summed of,
                       bool gaps_only, std::int64_t n_out, const CombineGroups& combine, double* out, Run& run) const {
    const auto scatter_rows = [&](const Numbers& part_sums, const std::vector<std::int64_t>& places) {
        const auto size = static_cast<std::int64_t>(places.size());
        for (std::int64_t o = 0; o < n_out; ++o) {
            for (std::int64_t k = 0; k < size; ++k)
                out[o * n_features() + places[at(k)]] += part_sums[at(o * size + k)];
        }
    };
    if (!genotypes_.empty() && of == Summed::kDifferences) {
        for (const auto& [data, places] : genotypes_) {
            if (gaps_only && !data.gaps()) continue;
            Numbers part_sums(at(n_out) * places.size());
            data.target_sums(targets.rows(), t0, neighbors, n_out, combine, part_sums.data(), run);
            scatter_rows(part_sums, places);
        }
        return;
    }
    for (const Part& part : for_scores_) {
        if (gaps_only && !part.gaps) continue;
        const ScaledFeatures left = targets.features_of_targets(part.data);
        Numbers part_sums(at(n_out) * part.places.size());
        visit_dense(dense_->description(), [&]<class T>(const T*) {
            const auto plain = of == Summed::kSquares ? Difference::kSquared : Difference::kKnown;
            target_sums<T>(targets.all() ? part.data : left, t0, part.data, neighbors,
                           part.difference == Difference::kAbsolute ? plain : part.difference, n_out, combine,
                           part_sums.data(), run);
        });
        scatter_rows(part_sums, part.places);
    }
    if (!sparse_ || gaps_only) return;
    // Sums target by target: sparse tables have no gaps, so this branch serves a draw of few targets.
    const auto size = static_cast<std::int64_t>(sparse_places_.size());
    const std::int64_t n_groups = neighbors.n_groups;
    const std::int64_t n_drawn = static_cast<std::int64_t>(neighbors.begins.size() - 1) / n_groups;
    Numbers part_sums(at(n_out * size)), sums(at(n_groups * size)), counts(at(n_groups * size));
    for (std::int64_t t = 0; t < n_drawn; ++t) {
        std::fill(sums.begin(), sums.end(), 0.0);
        for (std::int64_t group = 0; group < n_groups; ++group) {
            std::vector<WeightedPair> pairs;
            double weight = 0;
            for (auto p = neighbors.begins[at(t * n_groups + group)];
                 p < neighbors.begins[at(t * n_groups + group + 1)]; ++p) {
                pairs.push_back({targets.row(t0 + t), neighbors.samples[at(p)], neighbors.strengths[at(p)]});
                weight += neighbors.weights[at(p)];
            }
            if (!pairs.empty()) sparse_->feature_sums(pairs, sums.data() + group * size, run);
            std::fill_n(counts.data() + group * size, size, weight);
        }
        combine(t0 + t, 0, size, sums.data(), counts.data(), size, part_sums.data(), size);
    }
    scatter_rows(part_sums, sparse_places_);
}

void Differences::add_means(const NeighborBins& bins, double* sums, Run& run) const {
    for (const auto& [data, places] : genotypes_) {
        if (!data.gaps()) continue;
        Numbers part_sums(places.size());
        data.add_means(bins, part_sums.data(), run);
        scatter(part_sums, places, sums);
    }
}

}  // namespace fastfs::core
