#include "margin/expected.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// Features at a time, whose tables are held together.
constexpr std::int64_t kFeaturesAtOnce = 32;

// E|x - Z| for each x, Z being one of the values by weight: sorted, with prefix sums.
class ExpectedDistance {
  public:
    ExpectedDistance(const Numbers& values, const Numbers& weights) : values_(values.size()), below_{0}, sums_{0} {
        std::vector<std::size_t> order(values.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
        for (std::size_t r = 0; r < order.size(); ++r) {
            values_[r] = values[order[r]];
            below_.push_back(below_.back() + weights[order[r]]);
            sums_.push_back(sums_.back() + weights[order[r]] * values_[r]);
        }
    }

    double operator()(double x) const {
        const auto r = static_cast<std::size_t>(std::lower_bound(values_.begin(), values_.end(), x) - values_.begin());
        const double total = below_.back();
        return (x * (2 * below_[r] - total) + sums_.back() - 2 * sums_[r]) / total;
    }

  private:
    Numbers values_, below_, sums_;
};

// 1 - P(Z = x).
class ExpectedMismatch {
  public:
    ExpectedMismatch(const Numbers& codes, const Numbers& weights, std::int64_t n_levels) : share_(at(n_levels)) {
        const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
        for (std::size_t i = 0; i < codes.size(); ++i) share_[static_cast<std::size_t>(codes[i])] += weights[i] / total;
    }
    double operator()(double code) const { return 1 - share_[static_cast<std::size_t>(code)]; }

  private:
    Numbers share_;
};

}  // namespace

ExpectedDifferences::ExpectedDifferences(const Matrix& X, const FeatureScales& scales, const std::int64_t* levels,
                                         const Numbers& sample_weights, const Classes& classes,
                                         const std::vector<std::int64_t>& columns, const Numbers& feature_weights)
    : X_(X),
      scales_(scales),
      levels_(levels),
      sample_weights_(sample_weights),
      classes_(classes),
      columns_(columns),
      feature_weights_(feature_weights) {
    for (std::size_t k = 0; k < columns.size() && !scales.incomplete.empty(); ++k) {
        if (scales.incomplete[at(columns[k])]) incomplete_.push_back(static_cast<std::int64_t>(k));
    }
}

std::int64_t ExpectedDifferences::memory() const {
    const std::int64_t at_once = std::min(kFeaturesAtOnce, static_cast<std::int64_t>(incomplete_.size()));
    return at_once * X_.n_rows() * (classes_.n_classes() + 8) * 8;
}

template <class T>
ExpectedDifferences::OfFeature ExpectedDifferences::of_feature(std::int64_t k, const T* values) const {
    const fastfs_matrix& m = X_.description();
    const std::int64_t n = m.n_rows, n_classes = classes_.n_classes(), c = columns_[at(k)];
    const std::int64_t levels = levels_ ? levels_[c] : 0;
    OfFeature found{{}, numbers(n_classes * n)};
    Numbers x(at(n));
    for (std::int64_t j = 0; j < n; ++j) {
        const auto value = static_cast<double>(values[j * m.row_stride + c * m.col_stride]);
        x[at(j)] = (value - scales_.shift[at(c)]) * scales_.factor[at(c)];
        if (std::isnan(value)) found.missing.push_back(j);
    }
    const auto fill_class = [&](std::int64_t of_class, const std::vector<std::vector<std::int64_t>>& donors) {
        Numbers known, weights;
        for (const std::int64_t j : donors[at(of_class)]) {
            known.push_back(x[at(j)]);
            weights.push_back(sample_weights_[at(j)]);
        }
        double* row = found.to_class.data() + of_class * n;
        const auto fill = [&](const auto& expected) {
            for (std::int64_t j = 0; j < n; ++j) row[j] = std::isnan(x[at(j)]) ? 0.0 : expected(x[at(j)]);
        };
        if (levels > 0) {
            fill(ExpectedMismatch(known, weights, levels));
        } else {
            fill(ExpectedDistance(known, weights));
        }
        // A missing value has the mean of its donors, both being missing independently.
        Numbers means(at(n_classes));
        for (std::int64_t other = 0; other < n_classes; ++other) {
            double sum = 0, total = 0;
            for (const std::int64_t j : donors[at(other)]) {
                sum += sample_weights_[at(j)] * row[j];
                total += sample_weights_[at(j)];
            }
            means[at(other)] = sum / total;
        }
        for (const std::int64_t j : found.missing) row[j] = means[at(classes_.of(j))];
    };
    std::vector<std::vector<std::int64_t>> donors(at(n_classes));
    for (std::int64_t j = 0; j < n; ++j) {
        if (!std::isnan(x[at(j)])) donors[at(classes_.of(j))].push_back(j);
    }
    std::vector<std::int64_t> all;
    for (std::int64_t j = 0; j < n; ++j) {
        if (!std::isnan(x[at(j)])) all.push_back(j);
    }
    for (auto& some : donors) {
        if (some.empty()) some = all;
    }
    for (std::int64_t of_class = 0; of_class < n_classes; ++of_class) fill_class(of_class, donors);
    return found;
}

ExpectedDifferences::OfFeature ExpectedDifferences::of_feature(std::int64_t k) const {
    return visit_dense(X_.description(), [&](auto* values) { return of_feature(k, values); });
}

void ExpectedDifferences::add_to_distances(const Targets& targets, std::int64_t t0, std::int64_t t1, double* out,
                                           Run& run) const {
    const std::int64_t n = X_.n_rows(), n_incomplete = static_cast<std::int64_t>(incomplete_.size());
    run.require_memory(memory(), "expected differences", "raise max_memory");
    for (std::int64_t first = 0; first < n_incomplete; first += kFeaturesAtOnce) {
        const std::int64_t size = std::min(kFeaturesAtOnce, n_incomplete - first);
        std::vector<OfFeature> features(at(size));
        parallel_for(run, size, [&](std::int64_t i, int) { features[at(i)] = of_feature(incomplete_[at(first + i)]); });
        parallel_for(run, t1 - t0, [&](std::int64_t t, int) {
            const std::int64_t i = targets.row(t0 + t);
            double* row = out + t * n;
            for (std::int64_t f = 0; f < size; ++f) {
                const OfFeature& feature = features[at(f)];
                const double w = feature_weights_.empty() ? 1.0 : feature_weights_[at(incomplete_[at(first + f)])];
                if (std::binary_search(feature.missing.begin(), feature.missing.end(), i)) {
                    const double* expected = feature.to_class.data() + classes_.of(i) * n;
                    for (std::int64_t j = 0; j < n; ++j) row[j] += w * expected[j];
                } else {
                    for (const std::int64_t j : feature.missing) {
                        row[j] += w * feature.to_class[at(classes_.of(j) * n + i)];
                    }
                }
            }
        });
    }
}

void ExpectedDifferences::add_to_sums(const Targets& targets, std::int64_t t0, std::int64_t t1, const double* g,
                                      double* sums, Run& run) const {
    const std::int64_t n = X_.n_rows();
    parallel_for(run, static_cast<std::int64_t>(incomplete_.size()), [&](std::int64_t f, int) {
        const OfFeature feature = of_feature(incomplete_[at(f)]);
        double sum = 0;
        for (std::int64_t t = 0; t < t1 - t0; ++t) {
            const std::int64_t i = targets.row(t0 + t);
            const double* row = g + t * n;
            if (std::binary_search(feature.missing.begin(), feature.missing.end(), i)) {
                const double* expected = feature.to_class.data() + classes_.of(i) * n;
                for (std::int64_t j = 0; j < n; ++j) sum += row[j] * expected[j];
            } else {
                for (const std::int64_t j : feature.missing) {
                    sum += row[j] * feature.to_class[at(classes_.of(j) * n + i)];
                }
            }
        }
        sums[incomplete_[at(f)]] += sum;
    });
}

}  // namespace fastfs::core
