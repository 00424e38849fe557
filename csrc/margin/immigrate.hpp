// IMMIGRATE (Zhao, Hong, Liu 2020, "IMMIGRATE: A Margin-based Feature Selection Method with Interaction Terms").
#pragma once

#include <cstdint>
#include <vector>

#include "fastfs/fastfs.h"
#include "margin/margin.hpp"
#include "support/buffer.hpp"
#include "support/classes.hpp"

namespace fastfs::core {

// The result of a fit, with the fields of fastfs_immigrate_result.
struct Immigrate {
    bool stored = false, converged = false;
    double sigma = 0;
    double last_objective = 0;  // G of W, if several starts are compared
    std::vector<std::int64_t> features;
    std::vector<double> values, vectors, scores, cost, objective, prefilter_weights;
    Buffer<double> W;  // empty if W is kept in factors only
};

Immigrate immigrate(const Margin& margin, const Classes& classes, const fastfs_immigrate_options& options, Run& run);

}  // namespace fastfs::core
