#include "margin/predict.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "engines/isa/tiles.hpp"
#include "engines/spectral.hpp"
#include "margin/quadratic_forms.hpp"
#include "margin/soft_neighbors.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// A metric between the samples of X and the training samples.
template <class T>
class Distances {
  public:
    // Scales the features that the metric uses in X and in the training samples, and packs them under factors of W.
    Distances(const Margin& margin, const fastfs_margin_metric& metric, const Matrix& X, Run& run) : metric_(metric) {
        std::vector<std::int64_t> used(at(metric.n_features));
        std::iota(used.begin(), used.end(), 0);
        if (metric.features) std::copy_n(metric.features, metric.n_features, used.begin());
        left_ = margin.features(X, used);
        right_ = margin.features(margin.X(), used);
        if (metric.weights) {
            seen_left_ = weighted(left_, metric.weights, false);
            seen_right_ = weighted(right_, metric.weights, false);
            return;
        }
        const std::int64_t A = metric.n_features;
        run.require_memory(PackedSamples<T>::memory(X.n_rows(), A) + PackedSamples<T>::memory(margin.X().n_rows(), A) +
                               8 * A * (metric.rank + kFormRows),
                           "a comparison of samples under W", kAdvice);
        packed_left_.emplace(left_, run);
        packed_right_.emplace(right_, run);
        form_.emplace(form_of<T>(A, metric.rank, metric.values, metric.vectors, run));
    }

    // Sets f (rows i0..i1 - 1 of X x training samples) to distances.
    void fill_distances(std::int64_t i0, std::int64_t i1, double* f, Run& run) const {
        const std::int64_t n = right_.n_samples();
        if (metric_.weights) {
            pair_sums<T>(seen_left_, i0, i1, seen_right_, 0, n, Difference::kAbsolute, f, n, run);
        } else {
            quadratic_forms(*packed_left_, i0, i1, *packed_right_, false, *form_, f, n, run);
        }
        for (std::int64_t k = 0; k < (i1 - i0) * n; ++k) {
            if (std::isfinite(f[k])) continue;
            refuse({"rows of X must be near the training samples; got ", Name::row(i0 + k / n),
                    " so far from them that its distances overflow: check its units, or drop it"});
        }
    }

    // Packs the samples that split() reads under a metric of weights.
    void pack_parts(Run& run) {
        if (!metric_.weights) return;
        ld_ = round_up(metric_.n_features, kRowUnit<T>);
        rows_left_ = pack_samples<T>(left_, 0, left_.n_samples(), ld_, run);
        rows_right_ = pack_samples<T>(right_, 0, right_.n_samples(), ld_, run);
    }

    // Sets `to`, A or A x A values, to the parts of features, or of pairs of features before they are multiplied by W,
    // in sum_n q_n f_n of row i; q: one factor per training sample.
    void write_parts(std::int64_t i, const double* q, double* to, Run& run) const {
        const std::int64_t n = right_.n_samples(), A = metric_.n_features;
        if (metric_.weights) {
            std::fill_n(to, A, 0.0);
            const T* x = rows_left_.data() + i * ld_;
            for (std::int64_t j = 0; j < n; ++j) {
                const T* y = rows_right_.data() + j * ld_;
                if (q[j] == 0) continue;
                for (std::int64_t a = 0; a < A; ++a) to[a] += q[j] * static_cast<double>(std::abs(x[a] - y[a]));
            }
            // A feature without weight may be missing: no distance depends on it.
            for (std::int64_t a = 0; a < A; ++a) to[a] = metric_.weights[a] > 0 ? to[a] * metric_.weights[a] : 0.0;
            return;
        }
        std::fill_n(to, A * A, 0.0);
        outer_sums(*packed_left_, i, i + 1, *packed_right_, q, n, false, 0, to, run);
        mirror_lower(A, to);
    }

  private:
    fastfs_margin_metric metric_;
    ScaledFeatures left_, right_, seen_left_, seen_right_;
    Buffer<T> rows_left_, rows_right_;  // of all features, for split() with weights
    std::int64_t ld_ = 0;
    std::optional<PackedSamples<T>> packed_left_, packed_right_;
    std::optional<QuadraticForm<T>> form_;
};

// Calls body(row, f, expected) for each row of X, in parallel: f, one value per training sample, is the softmax within
// each class, and expected, one per class, the mean distance under it. body can overwrite both.
template <class T, class F>
void for_each_row(const Distances<T>& distances, const Classes& classes, double sigma, std::int64_t n_rows, Run& run,
                  F&& body) {
    const std::int64_t n = classes.n_samples();
    const std::int64_t rows = std::min(std::max(kBlockBytes / (8 * n) / kTaskRows * kTaskRows, kTaskRows), n_rows);
    run.require_memory(8 * n * (rows + 2 * run.n_threads()),
                       "a table of distances to " + std::to_string(n) + " samples", kAdvice);
    Buffer<double> f(std::min(rows, n_rows) * n);
    std::vector<Buffer<double>> scratch;
    for (int t = 0; t < run.n_threads(); ++t) scratch.emplace_back(2 * n + classes.n_classes());
    for (std::int64_t i0 = 0; i0 < n_rows; i0 += rows) {
        const std::int64_t i1 = std::min(i0 + rows, n_rows);
        run.step("distances", static_cast<double>(i1) / static_cast<double>(n_rows));
        distances.fill_distances(i0, i1, f.data(), run);
        parallel_for(run, i1 - i0, [&](std::int64_t i, int slot) {
            double *row = f.data() + i * n, *p = scratch[at(slot)].data(), *expected = p + 2 * n;
            for (std::int64_t k = 0; k < n; ++k) p[k] = row[classes.order[at(k)]];
            for (std::int64_t c = 0; c < classes.n_classes(); ++c) {
                expected[c] = softmax(p + classes.begins[at(c)], classes.size(c), sigma, p + n).mean;
            }
            for (std::int64_t k = 0; k < n; ++k) row[classes.order[at(k)]] = p[k];
            body(i0 + i, row, expected);
        });
    }
}

// Reports the memory of margin_distances, or with `parts` of margin_explain, of n_outputs numbers, if the run is a
// question; otherwise does nothing.
void answer_memory_of_comparison(const Margin& margin, const fastfs_margin_metric& metric, const Matrix& X, bool parts,
                                 std::int64_t n_outputs, const Run& run) {
    if (!run.is_question()) return;
    const std::int64_t n = margin.X().n_rows(), both = n + X.n_rows(), A = metric.n_features;
    std::int64_t bytes = 8 * n_outputs + 8 * n * (std::max(kBlockBytes / (8 * n), kTaskRows) + 2 * run.n_threads());
    bytes += metric.weights ? stored_distances_memory(1) : 8 * A * (metric.rank + kFormRows) + 8 * 3 * A * A;
    if (parts || !metric.weights) bytes += 8 * (A + 16) * both;
    if (parts && !metric.weights) bytes += 8 * A * (A + metric.rank) + run.n_threads() * forms_memory(A, 1);
    run.require_memory(bytes, "a comparison of samples", kAdvice);
}

}  // namespace

void margin_distances(const Margin& margin, const Classes& classes, const fastfs_margin_metric& metric, const Matrix& X,
                      Run& run, double* out) {
    answer_memory_of_comparison(margin, metric, X, false, X.n_rows() * classes.n_classes(), run);
    const SingleThreadedBlas held;
    const auto predict = [&](auto zero) {
        const Distances<decltype(zero)> distances(margin, metric, X, run);
        for_each_row(distances, classes, metric.sigma, X.n_rows(), run,
                     [&](std::int64_t i, const double*, const double* expected) {
                         std::copy_n(expected, classes.n_classes(), out + i * classes.n_classes());
                     });
    };
    X.is_float32() ? predict(0.0f) : predict(0.0);
}

// Writes the parts, by feature or by pair of features, of the nearest other class's distance minus the distance of the
// class wanted[i], for each row i: n_features or n_features^2 numbers.
void margin_explain(const Margin& margin, const Classes& classes, const fastfs_margin_metric& metric, const Matrix& X,
                    const std::int64_t* wanted, Run& run, double* out) {
    const std::int64_t A = metric.n_features;
    answer_memory_of_comparison(margin, metric, X, true, X.n_rows() * A * (metric.weights ? 1 : A), run);
    const SingleThreadedBlas held;
    Buffer<double> W;
    if (!metric.weights) {
        run.require_memory(8 * A * (A + metric.rank) + run.n_threads() * forms_memory(A, 1),
                           "an explanation by pairs of " + std::to_string(A) + " features", kAdvice);
        W = dense_of_factors(A, metric.rank, metric.values, metric.vectors, run);
    }
    // Explains all rows in the type of X.
    const auto explain = [&](auto zero) {
        Distances<decltype(zero)> distances(margin, metric, X, run);
        distances.pack_parts(run);
        for_each_row(distances, classes, metric.sigma, X.n_rows(), run,
                     [&](std::int64_t i, double* q, const double* expected) {
                         const std::int64_t wanted_class = wanted[i];
                         std::int64_t nearest_other = wanted_class == 0;
                         for (std::int64_t c = 0; c < classes.n_classes(); ++c) {
                             if (c != wanted_class && expected[c] < expected[nearest_other]) nearest_other = c;
                         }
                         for (std::int64_t j = 0; j < classes.n_samples(); ++j) {
                             const std::int64_t c = classes.of(j);
                             q[j] *= c == nearest_other ? 1 : c == wanted_class ? -1 : 0;
                         }
                         double* parts = out + i * (metric.weights ? A : A * A);
                         distances.write_parts(i, q, parts, run);
                         for (std::int64_t k = 0; k < W.size(); ++k) parts[k] *= W[k];
                     });
    };
    X.is_float32() ? explain(0.0f) : explain(0.0);
}

}  // namespace fastfs::core
