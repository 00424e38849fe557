#include "margin/soft_neighbors.hpp"

#include <cmath>

#include "engines/isa/tiles.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// Returns the sum of n numbers, added up in four lanes: a fixed order, which compilers can vectorise.
double sum_in_four_lanes(const double* x, std::int64_t n) {
    double sum[4] = {};
    std::int64_t k = 0;
    for (; k + 4 <= n; k += 4) {
        for (int l = 0; l < 4; ++l) sum[l] += x[k + l];
    }
    for (; k < n; ++k) sum[0] += x[k];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// Returns the smallest of n >= 1 numbers.
double smallest_of(const double* x, std::int64_t n) {
    double least[4] = {x[0], x[0], x[0], x[0]};
    std::int64_t k = 0;
    for (; k + 4 <= n; k += 4) {
        for (int l = 0; l < 4; ++l) least[l] = x[k + l] < least[l] ? x[k + l] : least[l];
    }
    for (; k < n; ++k) least[0] = std::min(least[0], x[k]);
    return std::min(std::min(least[0], least[1]), std::min(least[2], least[3]));
}

// Multiplies n numbers by a factor, and sets those that are at most `negligible` to 0.
void scale_above(double negligible, double factor, double* x, std::int64_t n) {
    for (std::int64_t k = 0; k < n; ++k) x[k] = x[k] <= negligible ? 0 : factor * x[k];
}

}  // namespace

// Replaces n distances f by their softmax exp(-f / sigma) / sum, and returns its sums. z: scratch of n values.
Softmax softmax(double* f, std::int64_t n, double sigma, double* z) {
    if (n == 0) return {};
    const double least = smallest_of(f, n);
    for (std::int64_t k = 0; k < n; ++k) {
        const double scaled = (f[k] - least) / sigma;
        z[k] = f[k] = scaled < 1e300 ? scaled : 1e300;
    }
    tile_kernels<double>().exp_neg(f, n, 1.0);
    const double sum = sum_in_four_lanes(f, n), share = 1 / sum;  // sum >= 1
    for (std::int64_t k = 0; k < n; ++k) {
        f[k] *= share;
        z[k] *= f[k];
    }
    const double mean = sum_in_four_lanes(z, n), log_sum = std::log(sum);
    return {least + sigma * mean, -mean - log_sum, least - sigma * log_sum};
}

void soften(const Classes& classes, const std::vector<std::int64_t>& anchors, std::int64_t i0, std::int64_t i1,
            double sigma, const double* factors, double negligible, double* f, Totals& totals, Run& run) {
    const std::int64_t n = classes.n_samples();
    std::vector<Buffer<double>> scratch;
    for (int t = 0; t < run.n_threads(); ++t) scratch.emplace_back(2 * n);
    std::vector<Totals> of_row(at(i1 - i0));
    parallel_for(run, (i1 - i0 + kTaskRows - 1) / kTaskRows, [&](std::int64_t task, int slot) {
        double *p = scratch[at(slot)].data(), *z = p + n;
        for (std::int64_t a = i0 + task * kTaskRows; a < std::min(i0 + (task + 1) * kTaskRows, i1); ++a) {
            double* row = f + (a - i0) * n;
            const std::int64_t i = anchors[at(a)], c = classes.of(i), n_hits = classes.size(c) - 1;
            const std::int64_t *order = classes.order.data(), *first = order + classes.begins[at(c)],
                               *last = order + classes.begins[at(c) + 1], *end = order + n;
            double* to = p;
            for (const auto* j = first; j < last; ++j) {
                if (*j != i) *to++ = row[*j];
            }
            for (const auto* j = order; j < first; ++j) *to++ = row[*j];
            for (const auto* j = last; j < end; ++j) *to++ = row[*j];
            const Softmax hits = softmax(p, n_hits, sigma, z), misses = softmax(p + n_hits, n - 1 - n_hits, sigma, z);

            const double factor = factors ? factors[c] : 1;
            scale_above(negligible, factor, p, n_hits);
            scale_above(negligible, -factor, p + n_hits, n - 1 - n_hits);
            to = p;
            for (const auto* j = first; j < last; ++j) row[*j] = *j == i ? 0 : *to++;
            for (const auto* j = order; j < first; ++j) row[*j] = *to++;
            for (const auto* j = last; j < end; ++j) row[*j] = *to++;
            of_row[at(a - i0)] = {factor * (hits.mean - misses.mean), factor * (hits.entropy - misses.entropy),
                                  factor * (hits.soft_minimum - misses.soft_minimum)};
        }
    });
    for (const Totals& row : of_row) {
        totals.linear += row.linear;
        totals.entropy += row.entropy;
        totals.objective += row.objective;
    }
}

// Chooses the number of rows that the budget allows, and allocates f; throws OutOfMemory, with `what`, if not even
// kTaskRows rows fit.
Blocks::Blocks(std::int64_t n_anchors, std::int64_t n, std::int64_t bytes, std::int64_t others, const char* what,
               const Run& run)
    : stored(run.allows(stored_distances_memory(n) / n * n_anchors + (bytes - 8) * n * n_anchors + others)),
      rows(n_anchors) {
    if (!stored) rows = std::min(std::max(kBlockBytes / (8 * n) / kTaskRows * kTaskRows, kTaskRows), n_anchors);
    while (rows > kTaskRows && !run.allows(bytes * rows * n + others)) {
        rows = (rows / 2 + kTaskRows - 1) / kTaskRows * kTaskRows;
    }
    stored = rows >= n_anchors;
    run.require_memory(bytes * rows * n + others, what, kAdvice);
    f = Buffer<double>(rows * n);
}

double softmax_scale(double sigma, int rule, double automatic, const Classes& classes,
                     const std::vector<std::int64_t>& anchors, Blocks& blocks, Run& run,
                     const std::function<void(std::int64_t, std::int64_t)>& distances) {
    if (rule == FASTFS_MARGIN_SIGMA_GIVEN) return sigma;
    const double factor = rule == FASTFS_MARGIN_SIGMA_AUTO ? automatic : sigma;
    const std::int64_t n = classes.n_samples();
    std::vector<double> nearest;
    blocks.for_each(static_cast<std::int64_t>(anchors.size()), run, [&](std::int64_t i0, std::int64_t i1) {
        distances(i0, i1);
        for (std::int64_t a = i0; a < i1; ++a) {
            const std::int64_t i = anchors[at(a)];
            const auto c = at(classes.of(i));
            double least = std::numeric_limits<double>::infinity();
            for (auto k = classes.begins[c]; k < classes.begins[c + 1]; ++k) {
                const std::int64_t j = classes.order[at(k)];
                if (j != i) least = std::min(least, blocks.f[(a - i0) * n + j]);
            }
            if (least > 0 && std::isfinite(least)) nearest.push_back(least);
        }
    });
    if (nearest.empty()) return factor;
    const auto middle = nearest.begin() + static_cast<std::ptrdiff_t>(nearest.size() / 2);
    std::nth_element(nearest.begin(), middle, nearest.end());
    const double median = nearest.size() % 2 ? *middle : (*std::max_element(nearest.begin(), middle) + *middle) / 2;
    return factor * median;
}

void require_finite_cost(double cost) {
    require(std::isfinite(cost), "the cost overflows: choose a smaller sigma or smaller class factors, or scale X");
}

bool settled(const std::vector<double>& cost, double tol) {
    if (cost.size() < 2) return false;
    const double old = cost[cost.size() - 2];
    return std::abs(old - cost.back()) <= tol * std::abs(old);
}

ScaledFeatures weighted(const ScaledFeatures& features, const double* weights, bool root) {
    ScaledFeatures result{features.X, {}, {}, {}};
    for (std::size_t k = 0; k < features.features.size(); ++k) {
        if (!(weights[k] > 0)) continue;
        result.features.push_back(features.features[k]);
        result.shift.push_back(features.shift[k]);
        result.factor.push_back(features.factor[k] * (root ? std::sqrt(weights[k]) : weights[k]));
    }
    return result;
}

}  // namespace fastfs::core
