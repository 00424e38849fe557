#include "interactions/scan.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engines/basis.hpp"
#include "engines/columns.hpp"
#include "engines/heavy_tails.hpp"
#include "engines/isa/tiles.hpp"
#include "engines/permuted_pairs.hpp"
#include "engines/strongest.hpp"
#include "interactions/chosen_pairs.hpp"
#include "interactions/exclusions.hpp"
#include "interactions/pair_moments.hpp"
#include "interactions/scan_tiles.hpp"
#include "interactions/standard_columns.hpp"
#include "interactions/target.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"
#include "support/warnings.hpp"

namespace fastfs::core {
namespace {

// Tiles find candidates (pair_moments.hpp has the test); reported pairs are computed anew, sample by sample.

// The relative difference of strengths from tiles and from samples.
constexpr double kSlack = 1e-9;

// Bytes for the mean products of features with the targets of labelings that are compared together, and the least
// number of these.
constexpr std::int64_t kBatchBytes = 64 << 20, kFewestLabelings = 8;

// A pair and its test, computed sample by sample.
struct Pair {
    std::int64_t i, j;
    double strength;
};

// The moments of a pair without the target, and mean(u^2).
struct ExactMoments {
    PairMoments rest;
    double square;
};

struct Test {
    Exclusion exclusion = Exclusion::kNone;
    double strength = 0, effect = 0, error = 0;
    double slope = 0, slope_error = 0;  // of the product in the regression on the target
};

class Scan {
  public:
    // chosen: null for all pairs, or those to test.
    Scan(const StandardColumns& left, const StandardColumns& right, const PairList* chosen, bool symmetric,
         const Basis& covariates, const fastfs_interaction_options& options, std::int64_t n_target_columns, Run& run)
        : left_(left),
          right_(right),
          chosen_(chosen),
          symmetric_(symmetric),
          covariates_(covariates),
          options_(options),
          n_(left.n_samples()),
          n_target_columns_(n_target_columns),
          run_(run),
          n_rows_(ceil_div(left.size(), kTile)),
          n_cols_(ceil_div(right.size(), kTile)),
          triangle_(symmetric ? n_rows_ : 0) {}

    void observe(const Basis& target, double spread, Owned<fastfs_interaction_result>& result);
    // Writes the largest F under each labeling, and the p-values of the strongest pairs, to the result.
    void permute(std::int64_t at_once, Owned<fastfs_interaction_result>& result);

    std::int64_t n_tiles() const { return symmetric_ ? triangle_.size() : n_rows_ * n_cols_; }
    double degrees() const { return static_cast<double>(n_ - 3 - covariates_.size() - n_target_columns_); }
    double to_F() const { return degrees() / static_cast<double>(n_target_columns_); }

  private:
    std::pair<std::int64_t, std::int64_t> tile_place(std::int64_t tile) const {
        if (symmetric_) return triangle_[tile];
        return {tile / n_cols_, tile % n_cols_};
    }
    std::int64_t first_col(std::int64_t I, std::int64_t J, std::int64_t a) const {
        return symmetric_ && I == J ? a + 1 : 0;
    }
    // Sets out to the sums over samples of the products of operands `left` and `right` of two blocks, or adds them.
    void multiply(Tiles& tiles, std::int64_t left, std::int64_t right, std::int64_t s, std::int64_t n, std::int64_t ni,
                  std::int64_t nj, double* out) const {
        tile_kernels<double>().gram(tiles.operand(left, n), tiles.operand(right, n), n * kPanel<double>, n, s > 0, out,
                                    kTile, ni, nj);
    }
    void find_moments(Tiles& tiles, std::int64_t I, std::int64_t J) const;
    void multiply_target(Tiles& tiles, const Basis& target, std::int64_t I, std::int64_t J) const;
    void leave_out_strongest(Tiles& tiles, std::int64_t I, std::int64_t J) const;
    // Calls f(i, j) for each chosen pair, in parallel.
    template <class F>
    void for_chosen(F&& f) const {
        for_strongest(run_, 1, std::ssize(*chosen_), [&](std::int64_t, std::int64_t begin, std::int64_t end) {
            run_.checkpoint();
            for (std::int64_t k = begin; k < end; ++k) f((*chosen_)[at(k)].first, (*chosen_)[at(k)].second);
        });
    }
    std::vector<Tiles> make_scratch() const {
        std::vector<Tiles> scratch;
        for (int t = 0; !chosen_ && t < run_.n_threads(); ++t) {
            scratch.emplace_back(kFirstProduct + std::max(covariates_.size(), n_target_columns_), n_);
        }
        return scratch;
    }
    void find_levels_of_chosen(const std::vector<Basis>& targets, Level* levels) const;
    void find_levels(const std::vector<Basis>& targets, Level* levels) const;
    void find_strengths(const std::vector<Basis>& targets, double* strengths) const;
    void permute_along(const Basis& target, Level& level, double* strengths) const;
    void find_largest(const Tiles& tiles, const TargetMeans& of_left, const TargetMeans& of_right, std::int64_t b,
                      std::int64_t n_columns, std::int64_t I, std::int64_t J, Level& level) const;
    ExactMoments exact_moments(std::int64_t i, std::int64_t j) const;
    Test test(std::int64_t i, std::int64_t j, const PairMoments& without, const Basis& target) const;
    Exclusion exclusion(std::int64_t i, std::int64_t j, const PairMoments& m, double q) const {
        if (!(m.determinant(left_.rest(i), right_.rest(j)) > kRest * left_.rest(i) * right_.rest(j))) {
            return Exclusion::kCopies;
        }
        const double least = options_.along ? kRestAlong : kRest;
        return m.rest(left_.rest(i), right_.rest(j)) > least * q ? Exclusion::kNone : Exclusion::kProduct;
    }

    const StandardColumns &left_, &right_;
    const PairList* const chosen_;
    const bool symmetric_;
    const Basis& covariates_;
    const fastfs_interaction_options& options_;
    const std::int64_t n_, n_target_columns_;
    Run& run_;
    const std::int64_t n_rows_, n_cols_;
    const TilePairs triangle_;
    std::vector<Pair> top_;
    std::vector<PairMoments> top_moments_;
    std::vector<std::int64_t> keys_;  // i n_right + j of the strongest pairs, ascending
};

// Sets tiles kR to kE to the moments of all pairs of two blocks; e is 0 for pairs without a test.
void Scan::find_moments(Tiles& tiles, std::int64_t I, std::int64_t J) const {
    const std::int64_t i0 = I * kTile, ni = std::min(kTile, left_.size() - i0), j0 = J * kTile,
                       nj = std::min(kTile, right_.size() - j0), L = covariates_.size();
    for (std::int64_t s = 0; s < n_; s += kSamplesAtOnce) {
        run_.checkpoint();
        const std::int64_t n = std::min(kSamplesAtOnce, n_ - s);
        left_.write_panels(i0, ni, s, n, nullptr, tiles.operand(0, n), tiles.operand(1, n));
        right_.write_panels(j0, nj, s, n, nullptr, tiles.operand(2, n), tiles.operand(3, n));
        multiply(tiles, 0, 2, s, n, ni, nj, tiles.tile(kR));
        multiply(tiles, 1, 2, s, n, ni, nj, tiles.tile(kA));
        multiply(tiles, 0, 3, s, n, ni, nj, tiles.tile(kB));
        multiply(tiles, 1, 3, s, n, ni, nj, tiles.tile(kQ));
        for (std::int64_t l = 0; l < L; ++l) {
            right_.write_panels(j0, nj, s, n, covariates_.column(l), tiles.operand(4, n), nullptr);
            multiply(tiles, 0, 4, s, n, ni, nj, tiles.tile(kFirstProduct + l));
        }
    }
    const double unit = 1 / static_cast<double>(n_);
    for (std::int64_t a = 0; a < ni; ++a) {
        double *r = tiles.tile(kR) + a * kTile, *first = tiles.tile(kA) + a * kTile,
               *second = tiles.tile(kB) + a * kTile, *q = tiles.tile(kQ) + a * kTile, *e = tiles.tile(kE) + a * kTile;
        const double* m_i = left_.with_covariates(i0 + a);
        for (std::int64_t b = 0; b < nj; ++b) {
            PairMoments m{r[b] * unit, first[b] * unit, second[b] * unit, q[b] * unit};
            const double square = m.q;
            m.q -= m.r * m.r;
            const double* m_j = right_.with_covariates(j0 + b);
            for (std::int64_t l = 0; l < L; ++l) {
                m.take_away(tiles.tile(kFirstProduct + l)[a * kTile + b] * unit, m_i[l], m_j[l]);
            }
            r[b] = m.r;
            first[b] = m.a;
            second[b] = m.b;
            q[b] = m.q;
            const bool is_tested = b >= first_col(I, J, a) && exclusion(i0 + a, j0 + b, m, square) == Exclusion::kNone;
            e[b] = is_tested ? m.rest(left_.rest(i0 + a), right_.rest(j0 + b)) : 0;
        }
    }
}

// Sets tiles from kFirstProduct on to the products of pairs with the target's columns, summed over samples.
void Scan::multiply_target(Tiles& tiles, const Basis& target, std::int64_t I, std::int64_t J) const {
    const std::int64_t i0 = I * kTile, ni = std::min(kTile, left_.size() - i0), j0 = J * kTile,
                       nj = std::min(kTile, right_.size() - j0);
    for (std::int64_t s = 0; s < n_; s += kSamplesAtOnce) {
        run_.checkpoint();
        const std::int64_t n = std::min(kSamplesAtOnce, n_ - s);
        if (n < n_) left_.write_panels(i0, ni, s, n, nullptr, tiles.operand(0, n), nullptr);
        for (std::int64_t k = 0; k < target.size(); ++k) {
            right_.write_panels(j0, nj, s, n, target.column(k), tiles.operand(4, n), nullptr);
            multiply(tiles, 0, 4, s, n, ni, nj, tiles.tile(kFirstProduct + k));
        }
    }
}

// Returns the moments of one pair without the target, by sums over the samples in double, and the mean square of its
// product.
ExactMoments Scan::exact_moments(std::int64_t i, std::int64_t j) const {
    const double *x = left_.of(i), *y = right_.of(j), unit = 1 / static_cast<double>(n_);
    PairMoments m{0, 0, 0, 0};
    for (std::int64_t s = 0; s < n_; ++s) {
        const double u = x[s] * y[s];
        m.r += u;
        m.a += u * x[s];
        m.b += u * y[s];
        m.q += u * u;
    }
    m = {m.r * unit, m.a * unit, m.b * unit, m.q * unit};
    const double square = m.q;
    m.q -= m.r * m.r;
    for (std::int64_t l = 0; l < covariates_.size(); ++l) {
        const double* z = covariates_.column(l);
        double sum = 0;
        for (std::int64_t s = 0; s < n_; ++s) sum += x[s] * y[s] * z[s];
        m.take_away(sum * unit, left_.with_covariates(i)[l], right_.with_covariates(j)[l]);
    }
    return {m, square};
}

// Tests a pair with known moments without the target; returns its strength, its effect and slope with their errors in
// units of the target's first column, and if the target excludes it. All are 0 if the determinant of the moments isn't
// positive.
Test Scan::test(std::int64_t i, std::int64_t j, const PairMoments& without, const Basis& target) const {
    const double *x = left_.of(i), *y = right_.of(j), unit = 1 / static_cast<double>(n_);
    const double v_i = left_.rest(i), v_j = right_.rest(j), d = without.determinant(v_i, v_j);
    Test found;
    if (!(d > 0)) return found;
    const double e = without.rest(v_i, v_j);
    PairMoments with = without;
    double w_i = v_i, w_j = v_j;
    for (std::int64_t k = 0; k < target.size(); ++k) {
        const double* t = target.column(k);
        double sums[3] = {};
        for (std::int64_t s = 0; s < n_; ++s) {
            sums[0] += x[s] * y[s] * t[s];
            sums[1] += x[s] * t[s];
            sums[2] += y[s] * t[s];
        }
        for (double& sum : sums) sum *= unit;
        with.take_away(sums[0], sums[1], sums[2]);
        w_i -= sums[1] * sums[1];
        w_j -= sums[2] * sums[2];
        if (k > 0) continue;
        const double cov =
            sums[0] -
            (without.a * (sums[1] * v_j - sums[2] * without.r) + without.b * (sums[2] * v_i - sums[1] * without.r)) / d;
        const double rest_of_target =
            1 - (sums[1] * sums[1] * v_j + sums[2] * sums[2] * v_i - 2 * sums[1] * sums[2] * without.r) / d;
        found.effect = cov / e;
        found.error = std::sqrt(std::max(rest_of_target - cov * found.effect, 0.0) / e / degrees());
        found.slope = cov / rest_of_target;
        found.slope_error = std::sqrt(std::max(e - cov * found.slope, 0.0) / rest_of_target / degrees());
    }
    if (!(with.determinant(w_i, w_j) > kRest * v_i * v_j)) found.exclusion = Exclusion::kTarget;
    found.strength = strength(e, v_i * v_j, w_i, w_j, with);
    return found;
}

// Tests all pairs under the true target. Writes to the result the strongest pairs with their statistics and effects,
// the largest F of each feature and the numbers of excluded pairs; keeps the strongest pairs in top_, top_moments_ and
// keys_ for labelings. `spread` gives effects the units of y.
void Scan::observe(const Basis& target, double spread, Owned<fastfs_interaction_result>& result) {
    const std::vector<Basis> targets{target};
    const TargetMeans of_left(left_, targets, run_), of_right(right_, targets, run_);
    const std::int64_t K = target.size();
    std::vector<Tiles> scratch = make_scratch();
    Strongest<Pair> strongest(options_.n_pairs);
    Excluded excluded;
    std::vector<Level> largest_left(at(left_.size())), largest_right(at(right_.size()));
    std::atomic<std::int64_t> n_tested{0};
    const auto observe_chosen = [&](std::int64_t i, std::int64_t j) {
        const auto [without, square] = exact_moments(i, j);
        const Test found = test(i, j, without, target);
        const Exclusion of_moments = exclusion(i, j, without, square);
        const Exclusion reason = of_moments == Exclusion::kNone ? found.exclusion : of_moments;
        if (reason != Exclusion::kNone) {
            excluded.add(reason, i, j);
            return;
        }
        ++n_tested;
        largest_left[at(i)].raise(found.strength);
        largest_right[at(j)].raise(found.strength);
        strongest.add({i, j, found.strength});
    };
    if (chosen_) for_chosen(observe_chosen);
    parallel_for(run_, chosen_ ? 0 : n_tiles(), [&](std::int64_t task, int slot) {
        const auto [I, J] = tile_place(task);
        const std::int64_t i0 = I * kTile, ni = std::min(kTile, left_.size() - i0), j0 = J * kTile,
                           nj = std::min(kTile, right_.size() - j0);
        Tiles& tiles = scratch[at(slot)];
        find_moments(tiles, I, J);
        multiply_target(tiles, target, I, J);
        std::int64_t tested = 0;
        for (std::int64_t a = 0; a < ni; ++a) {
            const std::int64_t i = i0 + a, row = a * kTile;
            for (std::int64_t b = first_col(I, J, a); b < nj; ++b) {
                const std::int64_t j = j0 + b;
                const double e = tiles.tile(kE)[row + b], v_i = left_.rest(i), v_j = right_.rest(j);
                double value = 0;
                if (e > 0) {
                    PairMoments m{tiles.tile(kR)[row + b], tiles.tile(kA)[row + b], tiles.tile(kB)[row + b],
                                  tiles.tile(kQ)[row + b]};
                    double w_i = v_i, w_j = v_j;
                    for (std::int64_t k = 0; k < K; ++k) {
                        const double c_i = of_left.means_with(0, k)[i], c_j = of_right.means_with(0, k)[j];
                        m.take_away(tiles.tile(kFirstProduct + k)[row + b] / static_cast<double>(n_), c_i, c_j);
                        w_i -= c_i * c_i;
                        w_j -= c_j * c_j;
                    }
                    value = strength(e, v_i * v_j, w_i, w_j, m);
                }
                if (value == 0) {
                    const auto [without, square] = exact_moments(i, j);
                    Exclusion reason = exclusion(i, j, without, square);
                    if (reason == Exclusion::kNone) reason = test(i, j, without, target).exclusion;
                    if (reason != Exclusion::kNone) {
                        excluded.add(reason, i, j);
                        continue;
                    }
                }
                ++tested;
                largest_left[at(i)].raise(value);
                largest_right[at(j)].raise(value);
                if (value * (1 + kSlack) < strongest.level.value()) continue;
                const Test found = test(i, j, exact_moments(i, j).rest, target);
                if (found.exclusion == Exclusion::kNone) strongest.add({i, j, found.strength});
            }
        }
        n_tested += tested;
    });
    top_ = strongest.sorted();

    result.n_tested = n_tested;
    result.n_copies = excluded.count(Exclusion::kCopies);
    result.n_products = excluded.count(Exclusion::kProduct);
    result.n_explained = excluded.count(Exclusion::kTarget);
    auto listed = excluded.first();
    for (auto& [i, j] : listed) i = left_.columns[at(i)], j = right_.columns[at(j)];
    result.set_zeros(result.excluded, 2 * std::ssize(listed));
    for (std::size_t k = 0; k < listed.size(); ++k) {
        result.excluded[2 * k] = listed[k].first;
        result.excluded[2 * k + 1] = listed[k].second;
    }
    warn_of_excluded(listed, options_.along, result);
    result.n_pairs = std::ssize(top_);
    result.set_zeros(result.pairs, 2 * result.n_pairs);
    for (double** array : {&result.statistics, &result.effects, &result.errors, &result.correlations}) {
        result.set_zeros(*array, result.n_pairs);
    }
    result.degrees = n_target_columns_;
    result.rest_degrees = static_cast<std::int64_t>(degrees());
    for (std::size_t k = 0; k < top_.size(); ++k) {
        const Pair& pair = top_[k];
        top_moments_.push_back(exact_moments(pair.i, pair.j).rest);
        keys_.push_back(pair.i * right_.size() + pair.j);
        const Test found = test(pair.i, pair.j, top_moments_.back(), target);
        result.pairs[2 * k] = left_.columns[at(pair.i)];
        result.pairs[2 * k + 1] = right_.columns[at(pair.j)];
        result.statistics[k] = pair.strength * to_F();
        const bool has_effect = n_target_columns_ == 1;
        const double effect = options_.along ? found.slope / spread : found.effect * spread;
        const double error = options_.along ? found.slope_error / spread : found.error * spread;
        result.effects[k] = has_effect ? effect : std::numeric_limits<double>::quiet_NaN();
        result.errors[k] = has_effect ? error : std::numeric_limits<double>::quiet_NaN();
        result.correlations[k] = top_moments_.back().r / std::sqrt(left_.rest(pair.i) * right_.rest(pair.j));
    }
    std::sort(keys_.begin(), keys_.end());
    for (std::int64_t i = 0; i < left_.size(); ++i) {
        const double of_right_side = symmetric_ ? largest_right[at(i)].value() : 0;
        result.scores[left_.columns[at(i)]] = to_F() * std::max(largest_left[at(i)].value(), of_right_side);
    }
    for (std::int64_t j = 0; !symmetric_ && j < right_.size(); ++j) {
        result.other_scores[right_.columns[at(j)]] = to_F() * largest_right[at(j)].value();
    }
}

// Sets e to 0 for the strongest pairs.
void Scan::leave_out_strongest(Tiles& tiles, std::int64_t I, std::int64_t J) const {
    const std::int64_t i0 = I * kTile, ni = std::min(kTile, left_.size() - i0), j0 = J * kTile,
                       nj = std::min(kTile, right_.size() - j0);
    for (std::int64_t a = 0; a < ni; ++a) {
        const std::int64_t row = (i0 + a) * right_.size();
        auto key = std::lower_bound(keys_.begin(), keys_.end(), row + j0);
        for (; key != keys_.end() && *key < row + j0 + nj; ++key) tiles.tile(kE)[a * kTile + *key - row - j0] = 0;
    }
}

// Raises the level to the largest strength of the pairs of a tile under labeling b.
void Scan::find_largest(const Tiles& tiles, const TargetMeans& of_left, const TargetMeans& of_right, std::int64_t b,
                        std::int64_t n_columns, std::int64_t I, std::int64_t J, Level& level) const {
    const std::int64_t i0 = I * kTile, ni = std::min(kTile, left_.size() - i0), j0 = J * kTile,
                       nj = std::min(kTile, right_.size() - j0);
    const double unit = 1 / static_cast<double>(n_);
    double r[kTile], first[kTile], second[kTile], q[kTile], w_j[kTile];
    for (std::int64_t a = 0; a < ni; ++a) {
        const std::int64_t row = a * kTile;
        const double* e = tiles.tile(kE) + row;
        const double v_i = left_.rest(i0 + a);
        double w_i = v_i;
        std::copy_n(tiles.tile(kR) + row, nj, r);
        std::copy_n(tiles.tile(kA) + row, nj, first);
        std::copy_n(tiles.tile(kB) + row, nj, second);
        std::copy_n(tiles.tile(kQ) + row, nj, q);
        for (std::int64_t c = 0; c < nj; ++c) w_j[c] = right_.rest(j0 + c);
        for (std::int64_t k = 0; k < n_columns; ++k) {
            const double c_i = of_left.means_with(b, k)[i0 + a], *c_j = of_right.means_with(b, k) + j0,
                         *t = tiles.tile(kFirstProduct + k) + row;
            w_i -= c_i * c_i;
            for (std::int64_t c = 0; c < nj; ++c) {
                const double s = t[c] * unit;
                r[c] -= c_i * c_j[c];
                first[c] -= s * c_i;
                second[c] -= s * c_j[c];
                q[c] -= s * s;
                w_j[c] -= c_j[c] * c_j[c];
            }
        }
        // e / e_y >= 1 + level, without a division: e_y D = q D - (a^2 w_j + b^2 w_i - 2 r a b).
        const double ratio = 1 + level.value();
        std::int64_t any = 0;
        for (std::int64_t c = 0; c < nj; ++c) {
            const double D = w_i * w_j[c] - r[c] * r[c];
            const double left = q[c] * D - (first[c] * first[c] * w_j[c] + second[c] * second[c] * w_i -
                                            2 * r[c] * first[c] * second[c]);
            any |= e[c] * D > ratio * left ? 1 : 0;
        }
        if (!any) continue;
        for (std::int64_t c = 0; c < nj; ++c) {
            if (e[c] == 0) continue;
            level.raise(strength(e[c], v_i * right_.rest(j0 + c), w_i, w_j[c], {r[c], first[c], second[c], q[c]}));
        }
    }
}

// Raises the level of each target to the largest strength of the chosen pairs that aren't among the strongest.
void Scan::find_levels_of_chosen(const std::vector<Basis>& targets, Level* levels) const {
    for_chosen([&](std::int64_t i, std::int64_t j) {
        if (std::binary_search(keys_.begin(), keys_.end(), i * right_.size() + j)) return;
        const auto [without, square] = exact_moments(i, j);
        if (exclusion(i, j, without, square) != Exclusion::kNone) return;
        for (std::size_t b = 0; b < targets.size(); ++b) levels[b].raise(test(i, j, without, targets[b]).strength);
    });
}

// Raises the level of each target to the largest strength of the pairs that aren't among the strongest.
void Scan::find_levels(const std::vector<Basis>& targets, Level* levels) const {
    if (chosen_) return find_levels_of_chosen(targets, levels);
    const std::int64_t n_labelings = std::ssize(targets);
    const TargetMeans of_left(left_, targets, run_);
    const TargetMeans of_right = symmetric_ ? TargetMeans() : TargetMeans(right_, targets, run_);
    std::vector<Tiles> scratch = make_scratch();
    parallel_for(run_, n_tiles(), [&](std::int64_t task, int slot) {
        const auto [I, J] = tile_place(task);
        Tiles& tiles = scratch[at(slot)];
        find_moments(tiles, I, J);
        leave_out_strongest(tiles, I, J);
        for (std::int64_t b = 0; b < n_labelings; ++b) {
            multiply_target(tiles, targets[at(b)], I, J);
            find_largest(tiles, of_left, symmetric_ ? of_left : of_right, b, targets[at(b)].size(), I, J, levels[b]);
        }
    });
}

// Writes the strengths of the strongest pairs with each target, target after target.
void Scan::find_strengths(const std::vector<Basis>& targets, double* strengths) const {
    const std::int64_t n_top = std::ssize(top_);
    for_strongest(run_, std::ssize(targets), n_top, [&](std::int64_t b, std::int64_t begin, std::int64_t end) {
        for (std::int64_t k = begin; k < end; ++k) {
            const Pair& pair = top_[at(k)];
            strengths[b * n_top + k] = test(pair.i, pair.j, top_moments_[at(k)], targets[at(b)]).strength;
        }
    });
}

// Compares the pairs along a labeling of the target: raises the level to the largest strength of the pairs that aren't
// among the strongest, and writes the strengths of these. Features follow the labeling as they follow the target: those
// that lost their lines in the target lose their lines in the labeling, too.
void Scan::permute_along(const Basis& target, Level& level, double* strengths) const {
    const StandardColumns left = left_.along(covariates_, target, run_);
    std::optional<StandardColumns> right;
    if (!symmetric_) right.emplace(right_.along(covariates_, target, run_));
    Scan moved(left, right ? *right : left, chosen_, symmetric_, covariates_, options_, n_target_columns_, run_);
    moved.top_ = top_;
    moved.keys_ = keys_;
    for (const Pair& pair : top_) moved.top_moments_.push_back(moved.exact_moments(pair.i, pair.j).rest);
    moved.find_levels({target}, &level);
    moved.find_strengths({target}, strengths);
}

void Scan::permute(std::int64_t at_once, Owned<fastfs_interaction_result>& result) {
    const auto compare = [&](std::int64_t first, std::int64_t count, Level* levels, double* strengths) {
        const auto targets = make_targets(options_.label_permutations, options_.n_classes, options_.y_permutations,
                                          first, count, covariates_);
        for (std::int64_t b = 0; options_.along && b < count; ++b) {
            const Run::Part part(run_, share(b, count), share(b + 1, count));
            permute_along(targets[at(b)], levels[b], strengths + b * std::ssize(top_));
        }
        if (options_.along) return;
        run_.step("labelings", 0.98);
        find_levels(targets, levels);
        run_.step("strongest pairs", 1.0);
        find_strengths(targets, strengths);
    };
    permute_pairs(top_, options_.n_labelings, at_once, to_F(), run_, result, compare);
}

}  // namespace

void scan_interactions(const Matrix& X, const Matrix* other, const std::int64_t* labels, const double* y,
                       const fastfs_interaction_options& given, Run& run, Owned<fastfs_interaction_result>& result) {
    fastfs_interaction_options options = given;
    const std::int64_t n = X.n_rows();
    const auto [wanted, wanted_others] = wanted_columns(X, other, options);
    const auto p = static_cast<std::int64_t>(wanted.size()), p_other = static_cast<std::int64_t>(wanted_others.size());
    const double n_all = options.first_of_pairs ? static_cast<double>(options.n_chosen)
                         : other                ? static_cast<double>(p) * static_cast<double>(p_other)
                                                : static_cast<double>(p) * static_cast<double>(p - 1) / 2;
    options.n_pairs = static_cast<std::int64_t>(std::min(static_cast<double>(options.n_pairs), std::max(n_all, 1.0)));

    const Basis covariates = make_covariates(options.covariates, options.n_covariates, n);
    const std::int64_t L = covariates.size(), K = labels ? options.n_classes - 1 : 1;
    // Along a target, each feature of a pair has a mean and a deviation that follow it.
    const std::int64_t fewest = 3 + L + K + kFewestDegrees + (options.along ? 2 : 0);
    require(n >= fewest, "X must have at least ", fewest, " samples for this target and these covariates; got ", n,
            ": give more samples");
    const std::int64_t at_once =
        std::min(std::max(kBatchBytes / (8 * K * (p + p_other)), kFewestLabelings), options.n_labelings);
    const std::int64_t tables = StandardColumns::memory(p, n, L) + (other ? StandardColumns::memory(p_other, n, L) : 0);
    run.require_memory(tables * (options.along && options.n_labelings > 0 ? 2 : 1) + 8 * n * run.n_threads() +
                           run.n_threads() * Tiles::memory(kFirstProduct + std::max(L, K), n) +
                           8 * (at_once + 1) * K * (p + p_other + n) + 8 * at_once * options.n_pairs + 8 * L * n +
                           Strongest<Pair>::memory(options.n_pairs) + 150 * options.n_pairs + 8 * options.n_labelings +
                           32 * (X.n_cols() + (other ? other->n_cols() : 0)) + 32 * options.n_chosen,
                       {"the scan of ", p, other ? " by " + std::to_string(p_other) : "", " features"},
                       "give fewer features or a smaller n_pairs");

    double spread = 0;
    const Basis target = make_target(labels, options.n_classes, y, covariates, &spread);
    require(target.size() == K,
            L > 0 ? "covariates must not determine the target, or no interaction can be tested: give fewer covariates"
                  : "y must vary; got equal numbers: choose another target");
    run.step("reading", 0.01);
    const Basis* along = options.along ? &target : nullptr;
    const bool ranks = options.transform == FASTFS_INTERACTION_RANKS;
    const StandardColumns left(X, wanted, ranks, covariates, along, run);
    std::unique_ptr<StandardColumns> right;
    if (other) right = std::make_unique<StandardColumns>(*other, wanted_others, ranks, covariates, along, run);
    require(left.size() + (right ? right->size() : 0) >= 2 && left.size() >= 1 && (!right || right->size() >= 1),
            "X must have two features or more that vary besides the covariates; got ", left.size(), " of ", p,
            other ? " and " + std::to_string(right->size()) + " of " + std::to_string(p_other) : "");
    const auto mark = [&](std::int32_t*& constant, std::int64_t size, const std::vector<std::int64_t>& columns) {
        result.set_zeros(constant, size);
        for (const std::int64_t column : columns) constant[column] = 1;
    };
    mark(result.constant, X.n_cols(), left.constant);
    result.set_zeros(result.scores, X.n_cols());
    if (other) {
        mark(result.other_constant, other->n_cols(), right->constant);
        result.set_zeros(result.other_scores, other->n_cols());
    }

    warn_of_constant(left.constant, false, options.along);
    if (right) warn_of_constant(right->constant, true, options.along);
    if (options.n_labelings > 0) warn_of_heavy_tails(left.heavy, left.size(), "along the numbers");
    PairList chosen;
    if (options.first_of_pairs) chosen = places_of_pairs(options, left, right ? *right : left);
    Scan scan(left, right ? *right : left, options.first_of_pairs ? &chosen : nullptr, !other, covariates, options, K,
              run);
    run.step("pairs", options.n_labelings > 0 ? 0.05 : 1.0);
    scan.observe(target, spread, result);
    if (options.n_labelings == 0) return;
    run.step("labelings", 1.0);
    scan.permute(at_once, result);
}

}  // namespace fastfs::core
