// IM4E (Bei and Hong 2015) and IMMIGRATE (Zhao, Hong, Liu 2020, "IMMIGRATE: A Margin-based Feature Selection Method
// with Interaction Terms").
#pragma once

#include <cstdint>
#include <vector>

#include "fastfs/fastfs.h"
#include "margin/margin.hpp"

namespace fastfs::core {

void im4e(const Margin& margin, const std::int64_t* labels, std::int64_t n_classes, const fastfs_im4e_options& options,
          Run& run, fastfs_im4e_result& result);

// A fitted W, as of fastfs_immigrate_result.
struct Immigrate {
    int warnings = 0;
    bool stored = false, converged = false;
    double sigma = 0;
    std::vector<std::int64_t> features;
    std::vector<double> values, vectors, W, scores, cost, objective, prefilter_weights;
};

Immigrate immigrate(const Margin& margin, const std::int64_t* labels, std::int64_t n_classes,
                    const fastfs_immigrate_options& options, Run& run);

std::int64_t immigrate_pairs(std::int64_t n_features, std::int64_t rank, const double* values, const double* vectors,
                             bool without_leading, std::int64_t n_pairs, Run& run, std::int64_t* a, std::int64_t* b,
                             double* weights);

void margin_distances(const Margin& margin, const std::int64_t* labels, std::int64_t n_classes,
                      const fastfs_margin_metric& metric, const Matrix& X, Run& run, double* out);

void margin_explain(const Margin& margin, const std::int64_t* labels, std::int64_t n_classes,
                    const fastfs_margin_metric& metric, const Matrix& X, const std::int64_t* wanted, Run& run,
                    double* out);

}  // namespace fastfs::core
