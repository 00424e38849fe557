// "The paper": Zhao, Hong, Liu (2020). The weights of one iteration minimise the linear part of the margin, given alpha
// and beta from the previous weights: no descent is promised, see docs/immigrate.md.
#include "margin/im4e.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "margin/data_warnings.hpp"
#include "margin/soft_neighbors.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/random.hpp"

namespace fastfs::core {
namespace {

// FASTFS_MARGIN_SIGMA_AUTO is kIm4eSigma times the median distance to the nearest hit under the first weights. Of the
// factors from 0.1 to 8, 2 for IM4E and 4 for IMMIGRATE win most often against sigma = 1, on 19 or 20 data sets: see
// benchmarks/papers/immigrate.py.
constexpr double kIm4eSigma = 2;

const Name kStart = Name::of_matrix(2, "start");

// The size of the samples up to which IM4E keeps them packed: packing them twice in each iteration took a seventh of
// its time at 300 x 20,000 float32.
constexpr std::int64_t kPackedBytes = std::int64_t{1} << 27;

// The least weight of a draw of anchors in the mean over all draws so far.
constexpr double kLeastShare = 0.25;

// Returns the weights of the varying features at the start, with sum 1: equal ones, or `start`, given by column. Throws
// if one of these is negative, or all are 0.
std::vector<double> starting_weights(const ScaledFeatures& varying, std::int64_t n_cols, const double* start) {
    const auto A = at(varying.n_features());
    if (!start) return std::vector<double>(A, 1.0 / static_cast<double>(A));
    for (std::int64_t j = 0; j < n_cols; ++j) {
        require(std::isfinite(start[j]) && start[j] >= 0, kStart,
                " must hold finite numbers that aren't negative; got ", start[j], " for ", Name::column(j));
    }
    std::vector<double> w(A);
    double largest = 0, sum = 0;
    for (std::size_t a = 0; a < A; ++a) largest = std::max(largest, w[a] = start[varying.features[a]]);
    require(largest > 0, kStart, " must have a positive weight of a feature that varies; got none");
    for (double& weight : w) sum += weight /= largest;
    for (double& weight : w) weight /= sum;
    return w;
}

// Fits the weights of IM4E and fills the result. A step adds up the margins of the anchors: all samples, or a fresh
// draw for each step, over which sums are averaged.
template <class T>
void fit_im4e(const Margin& margin, const Classes& classes, const fastfs_im4e_options& options, Run& run,
              Owned<fastfs_im4e_result>& result) {
    const ScaledFeatures varying = margin.features();
    const std::int64_t n = varying.n_samples(), A = varying.n_features();
    const bool drawn = options.n_anchors > 0 && options.n_anchors < n;
    const std::int64_t n_anchors = drawn ? options.n_anchors : n;
    run.step("distances", 0.01);
    constexpr std::int64_t kBytes = 8 + static_cast<std::int64_t>(sizeof(T));  // of a pair
    const std::int64_t packed_bytes = PackedPanels<T>::memory(n, A);
    const std::int64_t others = 96 * margin.X().n_cols() + Targets::memory(margin.X(), n_anchors);
    const bool pack = !drawn && packed_bytes <= kPackedBytes && run.allows(kBytes * n * n + others + packed_bytes);
    Blocks blocks(n_anchors, n, kBytes, others + (pack ? packed_bytes : 0), "IM4E", run);
    std::optional<PackedPanels<T>> packed;
    if (pack) packed.emplace(varying, run);
    const ScaledFeatures& all = pack ? packed->features() : varying;
    const double *stored_distances = drawn ? nullptr : margin.kept(Difference::kAbsolute), *f = blocks.f.data();
    std::vector<double> w = starting_weights(varying, margin.X().n_cols(), options.start), u(w.size()), mean(w.size()),
                        cost;
    Random random(options.seed);
    std::optional<Targets> anchors;
    const auto draw = [&] { anchors.emplace(&margin.X(), n, drawn ? random.subset(n, n_anchors) : up_to(n), run); };
    draw();
    // Fills the block with the weighted distances of anchors i0..i1 - 1.
    auto distances = [&](std::int64_t i0, std::int64_t i1) {
        if (cost.empty() && stored_distances && !options.start) {
            std::transform(stored_distances + i0 * n, stored_distances + i1 * n, blocks.f.data(),
                           [&](double d) { return d * w[0]; });
            return;
        }
        const ScaledFeatures seen = weighted(all, w.data(), false);
        const ScaledFeatures left = drawn ? anchors->features_of_targets(seen) : seen;
        pair_sums<T>(drawn ? left : seen, i0, i1, seen, 0, n, Difference::kAbsolute, blocks.f.data(), n, run);
    };
    result.sigma =
        softmax_scale(options.sigma, options.sigma_rule, kIm4eSigma, classes, anchors->rows(), blocks, run, distances);
    margin.warn(classes);
    result.stored = blocks.stored;
    std::vector<double> objective;

    while (static_cast<std::int32_t>(cost.size()) < options.max_iter && !result.converged) {
        run.step("IM4E", static_cast<double>(cost.size() + 1) / options.max_iter);
        Totals totals;
        std::fill(u.begin(), u.end(), 0.0);
        const bool has_distances = cost.empty() && blocks.stored && options.sigma_rule != FASTFS_MARGIN_SIGMA_GIVEN;
        if (!cost.empty() && drawn) draw();
        const ScaledFeatures left = anchors->features_of_targets(all);
        blocks.for_each(n_anchors, run, [&](std::int64_t i0, std::int64_t i1) {
            if (!has_distances) {
                const Run::Part first(run, 0, 0.5);
                distances(i0, i1);
            }
            const Run::Part second(run, 0.5, 1);
            soften(classes, anchors->rows(), i0, i1, result.sigma, options.class_factors,
                   kRounding<T> / static_cast<double>(2 * n), blocks.f.data(), totals, run);
            // Add to u = -v, to which hits contribute with a positive sign.
            feature_sums<T>(drawn ? left : all, i0, i1, all, 0, n, Difference::kAbsolute, f, n, blocks.stored && !drawn,
                            u.data(), run);
        });
        // Weigh this draw in a mean of all draws that forgets the first ones.
        const double share = drawn ? std::max(1 / static_cast<double>(cost.size() + 1), kLeastShare) : 1;
        for (std::size_t a = 0; a < u.size(); ++a) mean[a] = (1 - share) * mean[a] + share * u[a];
        // Set w by (3.6).
        double sum = 0;
        for (const double s : mean) sum += std::max(-s, 0.0);
        if (sum == 0) {
            warn_of_no_weight();
            break;
        }
        double linear = 0;
        for (std::size_t a = 0; a < w.size(); ++a) {
            w[a] = std::max(-mean[a], 0.0) / sum;
            linear += w[a] * u[a];
        }
        // Take the cost (3.4), without lambda, which (3.6) cancels.
        const double draw_cost = linear + result.sigma * totals.entropy, before = cost.empty() ? 0 : cost.back();
        objective.push_back(totals.objective);
        cost.push_back((1 - share) * before + share * draw_cost);
        require_finite_cost(cost.back());
        result.converged = settled(cost, options.tol);
    }
    result.n_iter = std::ssize(cost);
    result.set(result.cost, std::move(cost));
    result.set(result.objective, std::move(objective));
    result.set_zeros(result.weights, margin.X().n_cols());
    for (std::size_t a = 0; a < w.size(); ++a) result.weights[varying.features[a]] = w[a];
}

}  // namespace

void im4e(const Margin& margin, const Classes& classes, const fastfs_im4e_options& options, Run& run,
          Owned<fastfs_im4e_result>& result) {
    visit_dense(margin.X().description(),
                [&]<class T>(const T*) { fit_im4e<T>(margin, classes, options, run, result); });
}

}  // namespace fastfs::core
