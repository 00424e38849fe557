// What IM4E and IMMIGRATE share. f_nj is the distance of samples n and j under the weights; alpha and beta are the
// softmax of -f / sigma over the hits and over the misses of each sample.
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

// Rows of samples that one task softens, and bytes of f if it isn't stored whole.
constexpr std::int64_t kTaskRows = 16, kBlockBytes = std::int64_t{1} << 26;

constexpr const char* kAdvice = "give fewer samples or features";

template <class T>
constexpr double kRounding = std::numeric_limits<T>::epsilon();

// p = softmax(-f / sigma) in place of n distances f; z: scratch. With the smallest taken off first, no sigma is too
// small. mean = sum p f, entropy = sum p log p, soft_minimum = -sigma log sum exp(-f / sigma).
struct Softmax {
    double mean = 0, entropy = 0, soft_minimum = 0;
};
Softmax softmax(double* f, std::int64_t n, double sigma, double* z);

// Over all samples: tr(W Sigma) under the weights that gave f, ent, and G, all with the class factors.
struct Totals {
    double linear = 0, entropy = 0, objective = 0;
};

// Rows of f (ld = n_samples), those of the samples anchors[i0..i1 - 1], become alpha on hits, -beta on misses, 0 for
// the anchor itself, times the factor of its class. What is `negligible` in either becomes 0.
void soften(const Classes& classes, const std::vector<std::int64_t>& anchors, std::int64_t i0, std::int64_t i1,
            double sigma, const double* factors, double negligible, double* f, Totals& totals, Run& run);

// f (anchors x samples) as a whole, if the budget allows that and `others`, or rows of it at a time. bytes: for each of
// its values, with what is made of them besides.
struct Blocks {
    bool stored;
    std::int64_t rows;
    Buffer<double> f;

    Blocks(std::int64_t n_anchors, std::int64_t n, std::int64_t bytes, std::int64_t others, const char* what,
           const Run& run);

    // body(first, last) for each block in turn.
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

// sigma itself, or that factor of the median distance of anchors to the nearest hit, duplicates apart; distances(i0,
// i1) fills the block with those of anchors[i0..i1 - 1]. automatic: the factor of FASTFS_MARGIN_SIGMA_AUTO.
double softmax_scale(double sigma, int rule, double automatic, const Classes& classes,
                     const std::vector<std::int64_t>& anchors, Blocks& blocks, Run& run,
                     const std::function<void(std::int64_t, std::int64_t)>& distances);

void require_finite_cost(double cost);

// Has the cost settled?
bool settled(const std::vector<double>& cost, double tol);

// Features with a positive weight, that weight in their factor; its `root` for squared differences.
ScaledFeatures weighted(const ScaledFeatures& features, const double* weights, bool root);

}  // namespace fastfs::core
