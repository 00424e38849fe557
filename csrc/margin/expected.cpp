#include "margin/expected.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// Features at a time, whose tables are held together.
constexpr std::int64_t kFeaturesAtOnce = 32;

// row[j] = E|x_j - Z| of the samples in `order`, by ascending x, Z being one of the donors by weight.
void expected_distances(const Numbers& x, const std::vector<std::int64_t>& order, const Numbers& donor_weights,
                        double* row) {
    double total = 0, sum = 0, below = 0, sum_below = 0;
    for (const std::int64_t j : order) {
        total += donor_weights[at(j)];
        sum += donor_weights[at(j)] * x[at(j)];
    }
    for (const std::int64_t j : order) {
        row[j] = (x[at(j)] * (2 * below - total) + sum - 2 * sum_below) / total;
        below += donor_weights[at(j)];
        sum_below += donor_weights[at(j)] * x[at(j)];
    }
}

// row[j] = P(Z differs from the code x_j).
void expected_mismatches(const Numbers& x, const std::vector<std::int64_t>& known, const Numbers& donor_weights,
                         std::int64_t n_levels, double* row) {
    Numbers share(at(n_levels));
    double total = 0;
    for (const std::int64_t j : known) {
        share[static_cast<std::size_t>(x[at(j)])] += donor_weights[at(j)];
        total += donor_weights[at(j)];
    }
    for (const std::int64_t j : known) row[j] = 1 - share[static_cast<std::size_t>(x[at(j)])] / total;
}

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
    Numbers x(at(n)), known_weight(at(n_classes));
    std::vector<std::int64_t> known;
    for (std::int64_t j = 0; j < n; ++j) {
        const auto value = static_cast<double>(values[j * m.row_stride + c * m.col_stride]);
        x[at(j)] = (value - scales_.shift[at(c)]) * scales_.factor[at(c)];
        (std::isnan(value) ? found.missing : known).push_back(j);
        if (!std::isnan(value)) known_weight[at(classes_.of(j))] += sample_weights_[at(j)];
    }
    if (levels == 0) {
        std::sort(known.begin(), known.end(), [&](std::int64_t a, std::int64_t b) { return x[at(a)] < x[at(b)]; });
    }
    Numbers donor_weights(at(n)), sums(at(n_classes));
    for (std::int64_t of_class = 0; of_class < n_classes; ++of_class) {
        const bool any = known_weight[at(of_class)] > 0;
        for (const std::int64_t j : known) {
            donor_weights[at(j)] = !any || classes_.of(j) == of_class ? sample_weights_[at(j)] : 0.0;
        }
        double* row = found.to_class.data() + of_class * n;
        if (levels > 0) {
            expected_mismatches(x, known, donor_weights, levels, row);
        } else {
            expected_distances(x, known, donor_weights, row);
        }
        // A missing value has the mean of its donors, both being missing independently.
        std::fill(sums.begin(), sums.end(), 0.0);
        double all = 0, all_weights = 0;
        for (const std::int64_t j : known) {
            sums[at(classes_.of(j))] += sample_weights_[at(j)] * row[j];
            all += sample_weights_[at(j)] * row[j];
            all_weights += sample_weights_[at(j)];
        }
        for (const std::int64_t j : found.missing) {
            const double weight = known_weight[at(classes_.of(j))];
            row[j] = weight > 0 ? sums[at(classes_.of(j))] / weight : all / all_weights;
        }
    }
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
