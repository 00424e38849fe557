#include "correlation/differential.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "correlation/class_difference.hpp"
#include "correlation/standard_rows.hpp"
#include "engines/basis.hpp"
#include "engines/columns.hpp"
#include "engines/feature_rows.hpp"
#include "engines/heavy_tails.hpp"
#include "engines/isa/tiles.hpp"
#include "engines/permuted_pairs.hpp"
#include "engines/strongest.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"
#include "support/warnings.hpp"

namespace fastfs::core {
namespace {

// The statistic of a pair under a labeling is z = (atanh r_0 - atanh r_1) / scale, with r_c its correlation in class c,
// cut to +-limit, and scale^2 the variance of the difference; it is 0 if a feature is constant in a class, and for
// copies: if r_0 = r_1 = +-1. Products of tiles of features give r_0 and r_1 of all pairs; since
//
//     atanh r_0 - atanh r_1 = atanh D,  D = (r_0 - r_1) / (1 - r_0 r_1),
//
// |z| reaches a level if |r_0 - r_1| >= t (1 - r_0 r_1), t = tanh(level scale), without a logarithm, and cutting r_0
// and r_1 can't raise |z|. Few pairs reach the level, within the rounding of the tile: their z is computed again, in
// double and in one order of summation. So reported values have equal bits for any precision of the tiles, any
// instruction set and any number of threads.
//
// With more than two classes the statistic is the chi-square of homogeneity, with w_c the inverse variance of atanh
// r_c,
//
//     Q = sum_c w_c (atanh r_c - mean)^2 = sum_{c < d} w_c w_d (atanh r_c - atanh r_d)^2 / sum_c w_c,
//
// and as |t| <= |sinh t|, Q is at most the sum of w_c w_d (r_c - r_d)^2 / ((1 - r_c^2) (1 - r_d^2)) / sum_c w_c.

// Samples between two looks at the progress callback.
constexpr std::int64_t kSamplesPerCall = 4096;

// The number of tiles up to which labelings are packed together, for many threads, and the most bytes of packed
// labelings.
constexpr std::int64_t kTilesAtOnce = 64, kPackedBytes = 64 << 20;

// The number of factors of a product before its logarithm is taken: (1 - |r|)^2 is at least kCopy^2, and kCopy^24 is
// 1e-288.
constexpr std::int64_t kFactors = 12, kLanes = kTile / kFactors;
static_assert(kTile % kFactors == 0);

// The features under one labeling in panels (isa/tiles.hpp): of mean 0 and length 1 in each class, zeros for constants.
template <class T>
class Panels {
  public:
    static std::int64_t size(std::int64_t n_features, std::int64_t n_samples) {
        return round_up(n_features, kPanel<T>) * n_samples;
    }
    static std::int64_t n_panels(const StandardRows& data) { return ceil_div(data.n_features(), kPanel<T>); }

    void set_labeling(const StandardRows& data, const CorrelationLabeling& labeling) {
        if (values_.size() == 0) values_ = Buffer<T>(size(data.n_features(), data.n_samples));
        labeling_ = &labeling;
        n_panels_ = n_panels(data);
    }

    // Writes a panel of features to values_, class by class, each scaled to mean 0 and length 1 in the class. Computes
    // the moments of its features side by side, so that no sum waits for another, with the bits of moments().
    void pack(const StandardRows& data, std::int64_t panel) {
        constexpr std::int64_t K = kPanel<T>;
        for (std::int64_t c = 0; c < labeling_->n_classes(); ++c) {
            const std::int64_t n = labeling_->size(c), last = data.n_features() - 1;
            const double* rows[K];
            for (std::int64_t k = 0; k < K; ++k) rows[k] = labeling_->values(std::min(panel * K + k, last), c);
            double mean[K] = {}, squares[K] = {}, factor[K] = {};
            for (std::int64_t s = 0; s < n; ++s) {
                for (std::int64_t k = 0; k < K; ++k) mean[k] += rows[k][s];
            }
            for (double& sum : mean) sum /= static_cast<double>(n);
            for (std::int64_t s = 0; s < n; ++s) {
                for (std::int64_t k = 0; k < K; ++k) squares[k] += (rows[k][s] - mean[k]) * (rows[k][s] - mean[k]);
            }
            for (std::int64_t k = 0; k < K && panel * K + k <= last; ++k) {
                if (const double length = length_of(squares[k], n); length > 0) factor[k] = 1 / length;
            }
            T* to = values_.data() + begin(c) + panel * n * K;
            for (std::int64_t s = 0; s < n; ++s) {
                for (std::int64_t k = 0; k < K; ++k) {
                    to[s * K + k] = static_cast<T>((rows[k][s] - mean[k]) * factor[k]);
                }
            }
        }
    }

    // Sets tile c of r to the correlations of features i0.. and j0.. in class c.
    void correlate(std::int64_t i0, std::int64_t ni, std::int64_t j0, std::int64_t nj, T* r, Run& run) const {
        for (std::int64_t c = 0; c < labeling_->n_classes(); ++c) {
            const std::int64_t n = labeling_->size(c), stride = n * kPanel<T>;
            const T* first = values_.data() + begin(c);
            const T *left = first + i0 / kPanel<T> * stride, *right = first + j0 / kPanel<T> * stride;
            for (std::int64_t s = 0; s < n; s += kSamplesPerCall) {
                run.checkpoint();
                tile_kernels<T>().gram(left + s * kPanel<T>, right + s * kPanel<T>, stride,
                                       std::min(kSamplesPerCall, n - s), s > 0, r + c * kTile * kTile, kTile, ni, nj);
            }
        }
    }

    // Returns a bound on the rounding error of both sides of the test, 4 times the error of a correlation: values are
    // rounded once, and sums of kSamplesPerPass products are added up.
    T slack() const {
        const std::vector<std::int64_t> sizes = labeling_->sizes();
        const std::int64_t n = *std::max_element(sizes.begin(), sizes.end());
        const auto roundings = static_cast<T>(std::min(n, kSamplesPerPass) + n / kSamplesPerPass + 8);
        return 4 * roundings * std::numeric_limits<T>::epsilon();
    }

  private:
    std::int64_t begin(std::int64_t c) const { return n_panels_ * kPanel<T> * labeling_->begins[at(c)]; }

    Buffer<T> values_;
    const CorrelationLabeling* labeling_ = nullptr;
    std::int64_t n_panels_ = 0;
};

template <class T>
bool reaches(T r0, T r1, T t, T slack) {
    return std::abs(r0 - r1) + slack >= t * (1 - r0 * r1);
}

// Tells if is(b) for any of the places first..n - 1, without a branch and with integers as wide as T, so that compilers
// vectorise the loop.
template <class T, class F>
bool any_of_row(std::int64_t first, std::int64_t n, F&& is) {
    std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t> any = 0;
    for (std::int64_t b = first; b < n; ++b) any |= is(b) ? 1 : 0;
    return any != 0;
}

// Tests if pairs reach a level of the statistic.
template <class T>
class Test {
  public:
    Test(const Level& level, const CorrelationLabeling& labeling, T slack)
        : level_(level), labeling_(labeling), slack_(slack) {}

    // Calls f(b) for the pairs first..n - 1 of a row that reach the level, which f can raise. r: the row in the tile of
    // the first class.
    template <class F>
    void visit(const T* r, std::int64_t first, std::int64_t n, F&& f) {
        follow_level();
        if (labeling_.n_classes() > 2) {
            T bounds[kTile];
            find_bounds(r, bounds);
            const T low = low_;
            if (!any_of_row<T>(first, n, [&](std::int64_t b) { return bounds[b] >= low; })) return;
            for (std::int64_t b = first; b < n; ++b) {
                if (!(bounds[b] >= low_)) continue;
                f(b);
                follow_level();
            }
            return;
        }
        const T *r0 = r, *r1 = r + kTile * kTile;
        const T t = t_, slack = slack_;
        if (!any_of_row<T>(first, n, [=](std::int64_t b) { return reaches(r0[b], r1[b], t, slack); })) return;
        for (std::int64_t b = first; b < n; ++b) {
            if (!reaches(r0[b], r1[b], t_, slack_)) continue;
            f(b);
            follow_level();
        }
    }

  private:
    void follow_level() {
        if (level_.value() == known_) return;
        known_ = level_.value();
        t_ = static_cast<T>(std::tanh(known_ * labeling_.scale));
        low_ = static_cast<T>(known_) * (1 - kRounding);
    }

    // Sets bounds[b], b < kTile, to upper bounds of Q, from the correlations of one feature with kTile others: r[b] in
    // the first class, with kTile * kTile values from class to class.
    void find_bounds(const T* r, T* bounds) const {
        const Numbers& w = labeling_.weights;
        const double total = std::accumulate(w.begin(), w.end(), 0.0);
        const T slack = slack_;
        std::fill_n(bounds, kTile, T{0});
        for (std::size_t c = 0; c < w.size(); ++c) {
            for (std::size_t d = c + 1; d < w.size(); ++d) {
                const T *x = r + c * kTile * kTile, *y = r + d * kTile * kTile;
                const T factor = static_cast<T>(w[c] * w[d] / total);
                for (std::int64_t b = 0; b < kTile; ++b) {
                    const T difference = std::abs(x[b] - y[b]) + slack;
                    const T u = 1 - x[b] * x[b] - slack, v = 1 - y[b] * y[b] - slack;
                    bounds[b] +=
                        factor * difference * difference / ((u > kLeast ? u : kLeast) * (v > kLeast ? v : kLeast));
                }
            }
        }
    }

    // The rounding of bounds, sums of positive terms, and the least value of 1 - r^2, as correlations are cut.
    static constexpr T kRounding = 1000 * std::numeric_limits<T>::epsilon(), kLeast = static_cast<T>(kCopy);

    const Level& level_;
    const CorrelationLabeling& labeling_;
    const T slack_;
    double known_ = 0;
    T t_ = 0, low_ = 0;
};

struct Pair {
    std::int64_t i, j;
    double statistic;
    double strength;  // |z|, or Q
};

// Pairs of copies, all r_c = 1 or all -1: their number, and the first ones in the order of the features.
class Copies {
  public:
    void add(std::int64_t i, std::int64_t j) {
        const std::lock_guard lock(mutex_);
        ++n_;
        first_.insert(std::upper_bound(first_.begin(), first_.end(), std::pair(i, j)), {i, j});
        if (first_.size() > FASTFS_CORRELATION_LISTED) first_.pop_back();
    }
    std::int64_t n() const { return n_; }
    const std::vector<std::pair<std::int64_t, std::int64_t>>& first() const { return first_; }

  private:
    std::mutex mutex_;
    std::int64_t n_ = 0;
    std::vector<std::pair<std::int64_t, std::int64_t>> first_;
};

// Adds the sums of 2 |atanh r_0 - atanh r_1|, with correlations cut to +-limit, over the columns of a tile to of_rows,
// and over its rows to of_cols. The term of a pair is the logarithm of a ratio, so a sum of terms is the logarithm of a
// product of ratios.
void add_differences(const double* r0, const double* r1, std::int64_t ni, double limit, double* of_rows,
                     double* of_cols) {
    double above[kTile], below[kTile];
    std::fill_n(above, kTile, 1.0);
    std::fill_n(below, kTile, 1.0);
    for (std::int64_t a = 0; a < ni; ++a) {
        double row_above[kLanes], row_below[kLanes];
        std::fill_n(row_above, kLanes, 1.0);
        std::fill_n(row_below, kLanes, 1.0);
        for (std::int64_t b0 = 0; b0 < kTile; b0 += kLanes) {
            const double *x = r0 + a * kTile + b0, *y = r1 + a * kTile + b0;
            for (std::int64_t l = 0; l < kLanes; ++l) {
                const double a0 = std::clamp(x[l], -limit, limit), a1 = std::clamp(y[l], -limit, limit);
                const double p = (1 + a0) * (1 - a1), q = (1 - a0) * (1 + a1);
                const double larger = p > q ? p : q, smaller = p > q ? q : p;
                row_above[l] *= larger;
                row_below[l] *= smaller;
                above[b0 + l] *= larger;
                below[b0 + l] *= smaller;
            }
        }
        for (std::int64_t l = 0; l < kLanes; ++l) of_rows[a] += std::log(row_above[l] / row_below[l]);
        if ((a + 1) % kFactors != 0 && a + 1 < ni) continue;
        for (std::int64_t b = 0; b < kTile; ++b) {
            of_cols[b] += std::log(above[b] / below[b]);
            above[b] = below[b] = 1;
        }
    }
}

// Adds sqrt(Q) of the pairs of a tile to of_rows, for its rows, and to of_cols.
void add_homogeneity(const double* r, std::int64_t ni, const CorrelationLabeling& labeling, double* of_rows,
                     double* of_cols) {
    const double limit = labeling.limit;
    Numbers transforms(at(labeling.n_classes()));
    for (std::int64_t a = 0; a < ni; ++a) {
        for (std::int64_t b = 0; b < kTile; ++b) {
            bool differs = false;
            for (std::size_t c = 0; c < transforms.size(); ++c) {
                const double of_class = r[at(a * kTile + b) + c * kTile * kTile];
                differs = differs || of_class != 0;
                transforms[c] = of_class;
            }
            if (!differs) continue;
            for (double& t : transforms) t = std::atanh(std::clamp(t, -limit, limit));
            const double term = std::sqrt(labeling.homogeneity(transforms.data()));
            of_rows[a] += term;
            of_cols[b] += term;
        }
    }
}

std::int64_t labelings_at_once(std::int64_t n_features, std::int64_t n_samples, std::int64_t n_labelings) {
    const std::int64_t wanted = ceil_div(kTilesAtOnce, TilePairs::count(ceil_div(n_features, kTile)));
    const std::int64_t bytes = 4 * Panels<float>::size(n_features, n_samples) + 8 * n_features * n_samples;
    return std::min(std::clamp<std::int64_t>(kPackedBytes / bytes, 1, wanted), n_labelings);
}

// Returns a basis of covariates, row by row, less their means in the classes; samples are class after class.
Basis centred_covariates(const Classes& classes, const double* values, std::int64_t n_covariates) {
    Basis basis(classes.n_samples());
    for (std::int64_t l = 0; l < n_covariates; ++l) {
        Numbers column;
        for (const std::int64_t i : classes.order) column.push_back(values[i * n_covariates + l]);
        if (!standardise(column)) continue;
        double squares = 0;
        for (std::int64_t c = 0; c < classes.n_classes(); ++c) {
            double* of_class = column.data() + classes.begins[at(c)];
            const auto [mean, length] = moments(of_class, classes.size(c));
            for (std::int64_t s = 0; s < classes.size(c); ++s) of_class[s] -= mean;
            squares += length * length;
        }
        if (squares > 0) basis.add_column(std::move(column));
    }
    return basis;
}

class Search {
  public:
    Search(const StandardRows& data, const CorrelationLabeling& truth,
           const fastfs_differential_correlation_options& options, Run& run)
        : data_(data),
          truth_(truth),
          options_(options),
          run_(run),
          n_classes_(truth.n_classes()),
          p_(data.n_features()),
          n_blocks_(ceil_div(p_, kTile)) {}

    void observe(Owned<fastfs_differential_correlation_result>& result);
    void permute(Owned<fastfs_differential_correlation_result>& result);

  private:
    std::int64_t width(std::int64_t block) const { return std::min(kTile, p_ - block * kTile); }
    bool is_top(std::int64_t i, std::int64_t j) const {
        return std::binary_search(keys_.begin(), keys_.end(), i * p_ + j);
    }
    void find_largest(const CorrelationLabeling& labeling, const Panels<float>& panels, std::int64_t I, std::int64_t J,
                      float* scratch, Level& level) const;

    const StandardRows& data_;
    const CorrelationLabeling& truth_;
    const fastfs_differential_correlation_options& options_;
    Run& run_;
    const std::int64_t n_classes_, p_, n_blocks_;
    std::vector<Pair> top_;
    std::vector<std::int64_t> keys_;  // i p + j of the strongest pairs, ascending
};

// Writes the strongest pairs, the copies and the scores of the features to the result, warns of copies, and keeps the
// strongest pairs for permute(). Takes tiles row by row, so that one task at a time adds to the sums of the
// features of a column of tiles.
void Search::observe(Owned<fastfs_differential_correlation_result>& result) {
    Panels<double> panels;
    panels.set_labeling(data_, truth_);
    parallel_for(run_, Panels<double>::n_panels(data_), [&](std::int64_t panel, int) { panels.pack(data_, panel); });
    auto scratch = buffers<double>(run_.n_threads(), n_classes_ * kTile * kTile);
    Buffer<double> of_rows(n_blocks_ * kTile), sums(n_blocks_ * kTile);
    std::fill_n(sums.data(), sums.size(), 0.0);
    Strongest<Pair> strongest(options_.n_pairs);
    Copies copies;
    const double slack = panels.slack(), near = 1 - kCopy - slack;
    for (std::int64_t I = 0; I < n_blocks_; ++I) {
        const Run::Part part(run_, share(I, n_blocks_), share(I + 1, n_blocks_));
        const std::int64_t i0 = I * kTile, ni = width(I);
        std::fill_n(of_rows.data(), of_rows.size(), 0.0);
        parallel_for(run_, n_blocks_ - I, [&](std::int64_t task, int slot) {
            const std::int64_t J = I + task, j0 = J * kTile, nj = width(J);
            double* r = scratch[at(slot)].data();
            panels.correlate(i0, ni, j0, nj, r, run_);
            Test<double> test(strongest.level, truth_, slack);
            for (std::int64_t a = 0; a < ni; ++a) {
                double *x = r + a * kTile, *y = x + kTile * kTile;
                const std::int64_t i = i0 + a, first = I == J ? a + 1 : 0;
                // Places without a pair, and pairs of copies, differ by 0.
                for (std::int64_t c = 0; c < n_classes_; ++c) {
                    double* row = x + c * kTile * kTile;
                    std::fill_n(row, first, 0.0);
                    std::fill(row + nj, row + kTile, 0.0);
                }
                const auto is_near = [&](std::int64_t b) {
                    return (std::abs(x[b]) >= near) & (std::abs(y[b]) >= near);
                };
                const bool any = any_of_row<double>(first, nj, is_near);
                for (std::int64_t b = first; any && b < nj; ++b) {
                    if (!is_near(b) || class_difference(i, j0 + b, truth_).defined) continue;
                    copies.add(i, j0 + b);
                    for (std::int64_t c = 0; c < n_classes_; ++c) x[c * kTile * kTile + b] = 0;
                }
                test.visit(x, first, nj, [&](std::int64_t b) {
                    const auto [statistic, defined] = class_difference(i, j0 + b, truth_);
                    if (defined) strongest.add({i, j0 + b, statistic, std::abs(statistic)});
                });
            }
            double *to_rows = of_rows.data() + task * kTile, *to_cols = sums.data() + j0;
            if (n_classes_ > 2) {
                add_homogeneity(r, ni, truth_, to_rows, to_cols);
            } else {
                add_differences(r, r + kTile * kTile, ni, truth_.limit, to_rows, to_cols);
            }
        });
        for (std::int64_t task = 0; task < n_blocks_ - I; ++task) {
            for (std::int64_t a = 0; a < ni; ++a) sums[i0 + a] += of_rows[task * kTile + a];
        }
    }
    top_ = strongest.sorted();
    for (const Pair& pair : top_) keys_.push_back(pair.i * p_ + pair.j);
    std::sort(keys_.begin(), keys_.end());

    const auto column = [&](std::int64_t k) { return data_.columns[at(k)]; };
    const std::int64_t n_top = std::ssize(top_), n_listed = std::ssize(copies.first());
    result.set_zeros(result.pairs, 2 * n_top);
    result.set_zeros(result.correlations, n_classes_ * n_top);
    result.set_zeros(result.z, n_top);
    result.set_zeros(result.copies, 2 * n_listed);
    for (std::int64_t k = 0; k < p_; ++k) {
        result.scores[column(k)] = n_classes_ > 2 ? sums[k] : sums[k] / 2 / truth_.scale;
    }
    result.n_pairs = n_top;
    for (std::size_t k = 0; k < top_.size(); ++k) {
        const Pair& pair = top_[k];
        result.pairs[2 * k] = column(pair.i);
        result.pairs[2 * k + 1] = column(pair.j);
        class_difference(pair.i, pair.j, truth_, result.correlations + at(n_classes_) * k);
        result.z[k] = pair.statistic;
    }
    result.n_copies = copies.n();
    auto first_copies = copies.first();
    for (auto& [a, b] : first_copies) a = column(a), b = column(b);
    for (std::size_t k = 0; k < first_copies.size(); ++k) {
        result.copies[2 * k] = first_copies[k].first;
        result.copies[2 * k + 1] = first_copies[k].second;
    }
    if (const std::int64_t n = copies.n(); n > 0) {
        warn("copies", {n, n == 1 ? " pair of features is a copy" : " pairs of features are copies",
                        ", perfectly correlated alike in ", n_classes_ > 2 ? "all" : "both", " classes, and ",
                        n == 1 ? "is" : "are", " left out: ", list_pairs(first_copies, n)});
    }
}

// Raises the level to the largest statistic of the pairs of a tile that aren't among the strongest.
void Search::find_largest(const CorrelationLabeling& labeling, const Panels<float>& panels, std::int64_t I,
                          std::int64_t J, float* scratch, Level& level) const {
    const std::int64_t i0 = I * kTile, ni = width(I), j0 = J * kTile, nj = width(J);
    panels.correlate(i0, ni, j0, nj, scratch, run_);
    Test<float> test(level, labeling, panels.slack());
    for (std::int64_t a = 0; a < ni; ++a) {
        test.visit(scratch + a * kTile, I == J ? a + 1 : 0, nj, [&](std::int64_t b) {
            if (is_top(i0 + a, j0 + b)) return;
            level.raise(std::abs(class_difference(i0 + a, j0 + b, labeling).statistic));
        });
    }
}

// Writes the largest statistic under each labeling, and the p-values of the strongest pairs, to the result.
void Search::permute(Owned<fastfs_differential_correlation_result>& result) {
    const std::int64_t n = data_.n_samples, n_labelings = options_.n_labelings;
    const auto n_top = static_cast<std::int64_t>(top_.size());
    const TilePairs tiles(n_blocks_);
    const std::int64_t n_tiles = tiles.size();
    const std::int64_t at_once = labelings_at_once(p_, n, n_labelings);
    std::vector<Panels<float>> panels(at(at_once));
    auto scratch = buffers<float>(run_.n_threads(), n_classes_ * kTile * kTile);
    std::vector<Buffer<double>> values;
    for (std::int64_t b = 0; b < at_once; ++b) values.emplace_back(p_ * n);
    const bool ranks = options_.correlation == FASTFS_SPEARMAN;
    const auto compare = [&](std::int64_t first, std::int64_t count, Level* levels, double* strengths) {
        std::vector<CorrelationLabeling> labelings;
        labelings.reserve(at(count));
        for (std::int64_t b = 0; b < count; ++b) {
            labelings.emplace_back(Classes(options_.labelings + (first + b) * n, n, n_classes_), ranks,
                                   values[at(b)].data());
            panels[at(b)].set_labeling(data_, labelings.back());
        }
        const std::optional<Classes> last =
            first > 0 ? Classes(options_.labelings + (first - 1) * n, n, n_classes_) : std::optional<Classes>();
        std::vector<StandardRows::Moves> moves;
        for (std::int64_t b = 0; b < count; ++b) {
            moves.emplace_back(data_, labelings[at(b)], b > 0 ? &labelings[at(b - 1)] : last ? &*last : nullptr);
        }
        const std::int64_t n_panels = Panels<float>::n_panels(data_);
        run_.step("packing", 0.02);
        parallel_for(run_, count * n_panels, [&](std::int64_t task, int) {
            const std::int64_t b = task / n_panels, panel = task % n_panels;
            const std::int64_t end = std::min((panel + 1) * kPanel<float>, p_);
            for (std::int64_t k = panel * kPanel<float>; k < end; ++k) {
                data_.write_row(k, moves[at(b)], values[at(b)].data() + k * n);
            }
            panels[at(b)].pack(data_, panel);
        });
        run_.step("labelings", 0.98);
        parallel_for(run_, count * n_tiles, [&](std::int64_t task, int slot) {
            const std::int64_t b = task / n_tiles;
            const auto [I, J] = tiles[task % n_tiles];
            if (std::isinf(labelings[at(b)].scale)) return;
            find_largest(labelings[at(b)], panels[at(b)], I, J, scratch[at(slot)].data(), levels[b]);
        });
        run_.step("strongest pairs", 1.0);
        for_strongest(run_, count, n_top, [&](std::int64_t b, std::int64_t begin, std::int64_t end) {
            for (std::int64_t k = begin; k < end; ++k) {
                const Pair& pair = top_[at(k)];
                strengths[b * n_top + k] = std::abs(class_difference(pair.i, pair.j, labelings[at(b)]).statistic);
            }
        });
    };
    permute_pairs(top_, n_labelings, at_once, 1, run_, result, compare);
}

}  // namespace

void differential_correlation(const Matrix& X, const Classes& classes,
                              const fastfs_differential_correlation_options& given, Run& run,
                              Owned<fastfs_differential_correlation_result>& result) {
    auto options = given;
    std::vector<std::int64_t> wanted = up_to(X.n_cols());
    if (options.features) wanted.assign(options.features, options.features + options.n_features);
    const auto p = static_cast<std::int64_t>(wanted.size()), n = X.n_rows();
    options.n_pairs = std::min(options.n_pairs, p % 2 == 0 ? p / 2 * (p - 1) : (p - 1) / 2 * p);
    const std::int64_t at_once = labelings_at_once(p, n, options.n_labelings);
    const std::int64_t n_classes = classes.n_classes(), tiles = run.n_threads() * n_classes * kTile * kTile;
    const std::int64_t observing =
        8 * (Panels<double>::size(p, n) + 2 * round_up(p, kTile) + tiles) + Strongest<Pair>::memory(options.n_pairs);
    const std::int64_t permuting = at_once * (4 * Panels<float>::size(p, n) + 8 * p * n + 24 * n +
                                              StandardRows::Moves::memory(n) + 8 * options.n_pairs) +
                                   4 * tiles;
    run.require_memory(StandardRows::memory(p, n) + std::max(observing, permuting) +
                           (134 + 8 * n_classes) * options.n_pairs + 8 * options.n_labelings +
                           (64 + 8 * options.n_covariates) * n + 32 * X.n_cols(),
                       {"the search among ", p, " features"}, "give fewer features or a smaller n_pairs");

    const bool ranks = options.correlation == FASTFS_SPEARMAN;
    run.step("reading", 0.01);
    const Basis covariates = centred_covariates(classes, options.covariates, options.n_covariates);
    const StandardRows data(X, wanted, classes, covariates, ranks, options.wholes != 0, run);
    require(data.n_features() >= 2, "X must have two features or more that vary in ", n_classes > 2 ? "all" : "both",
            " classes; got ", data.n_features(), " of ", p);
    result.set_zeros(result.scores, X.n_cols());
    result.set_zeros(result.constant, X.n_cols());
    result.set_zeros(result.rare, X.n_cols());
    for (const std::int64_t column : data.constant) result.constant[column] = 1;
    for (const std::int64_t column : data.rare) result.rare[column] = 1;
    if (const std::size_t n_constant = data.constant.size(); n_constant > 0) {
        warn("constant", {n_constant, n_constant == 1 ? " feature is" : " features are", " constant in a class",
                          options.n_covariates > 0 ? " given the covariates" : "",
                          " and left out, having no correlation: ", list_columns(data.constant)});
    }
    if (const std::size_t n_rare = data.rare.size(); n_rare > 0 && options.wholes) {
        warn("rare_values",
             {"there are no valid p-values, since groups are permuted as wholes and ", n_rare,
              n_rare == 1 ? " feature has" : " features have",
              " one value in more than three fourths of a class, so that few groups decide on the correlation: leave ",
              list_columns(data.rare), " out, or give each group as one sample, such as its mean"});
    }
    if (options.n_labelings > 0) warn_of_heavy_tails(data.heavy, data.n_features(), "within the classes");
    if (const std::size_t n_tied = data.keep_line.size(); n_tied > 0 && options.n_labelings > 0) {
        warn("keep_line",
             {n_tied, n_tied == 1 ? " feature has" : " features have",
              " one value in a fourth of a class or more, so covariates can't be taken out: p-values are too small if "
              "such values follow a covariate. Leave ",
              list_columns(data.keep_line), " out, or give two classes as numbers"});
    }
    const CorrelationLabeling truth(classes, ranks, data.of(0));
    result.error = truth.scale;
    Search search(data, truth, options, run);
    run.step("pairs", options.n_labelings > 0 ? 0.02 : 1.0);
    search.observe(result);
    if (options.n_labelings == 0) return;
    run.step("labelings", 1.0);
    search.permute(result);
}

}  // namespace fastfs::core
