// Soft neighbors, which IM4E and IMMIGRATE share. f_nj is the distance of samples n and j under the weights; alpha and
// beta are the softmax of -f / sigma over the hits and over the misses of each sample.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "engines/sample_pairs.hpp"
#include "support/buffer.hpp"
#include "support/classes.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// The rows of f that one task softens, and the bytes of a block of f if not all of it is stored.
constexpr std::int64_t kTaskRows = 16, kBlockBytes = std::int64_t{1} << 26;

constexpr const char* kAdvice = "give fewer samples or features";

template <class T>
constexpr double kRounding = std::numeric_limits<T>::epsilon();

// Replaces n distances f by p = softmax(-f / sigma); z: scratch. The smallest f is subtracted first, so that no sigma
// is too small. mean = sum p f, entropy = sum p log p, soft_minimum = -sigma log sum exp(-f / sigma).
struct Softmax {
    double mean = 0, entropy = 0, soft_minimum = 0;
};
Softmax softmax(double* f, std::int64_t n, double sigma, double* z);

// Sums over all samples, with the class factors: tr(W Sigma) under the weights that gave f, the entropy, and the
// objective G.
struct Totals {
    double linear = 0, entropy = 0, objective = 0;
};

// Replaces the rows of f (ld = n_samples) of the samples anchors[i0..i1 - 1] by alpha for hits, -beta for misses and 0
// for the anchor itself, times the factor of its class. Values of alpha and beta up to `negligible` become 0.
// Adds the sums of these rows to `totals`.
void soften(const Classes& classes, const std::vector<std::int64_t>& anchors, std::int64_t i0, std::int64_t i1,
            double sigma, const double* factors, double negligible, double* f, Totals& totals, Run& run);

// A buffer for f (anchors x samples): for all of f if the budget allows it in addition to `others` bytes, otherwise for
// a block of rows. bytes: the bytes per value, including its copies.
struct Blocks {
    bool stored;
    std::int64_t rows;
    Buffer<double> f;

    Blocks(std::int64_t n_anchors, std::int64_t n, std::int64_t bytes, std::int64_t others, const char* what,
           const Run& run);

    // Calls body(first, last) for each block in turn.
    template <class F>
    void for_each(std::int64_t n, Run& run, F&& body) {
        for (std::int64_t i = 0; i < n; i += rows) {
            const std::int64_t last = std::min(i + rows, n);
            const Run::Part part(run, static_cast<double>(i) / static_cast<double>(n),
                                 static_cast<double>(last) / static_cast<double>(n));
            body(i, last);
        }
    }
};

// Returns sigma itself or, by the rule, a factor of the median distance of anchors to the nearest hit, without
// duplicates; the factor itself if there are no such distances. distances(i0, i1) fills blocks.f with the distances of
// anchors[i0..i1 - 1], and the last block stays there. automatic: the factor of FASTFS_MARGIN_SIGMA_AUTO.
double softmax_scale(double sigma, int rule, double automatic, const Classes& classes,
                     const std::vector<std::int64_t>& anchors, Blocks& blocks, Run& run,
                     const std::function<void(std::int64_t, std::int64_t)>& distances);

void require_finite_cost(double cost);

// Tells if the last change of the cost is within the tolerance.
bool settled(const std::vector<double>& cost, double tol);

// Returns the features with a positive weight, with their factors multiplied by it, or by its `root` for squared
// differences.
ScaledFeatures weighted(const ScaledFeatures& features, const double* weights, bool root);

}  // namespace fastfs::core
