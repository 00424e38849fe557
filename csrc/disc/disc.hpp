// DiSC: differential spectral clustering of features (Sristi, Mishne, Jaffe 2022, "DiSC: Differential Spectral
// Clustering of Features").
#pragma once

#include <cstdint>
#include <vector>

#include "disc/graph.hpp"
#include "fastfs/fastfs.h"
#include "support/run.hpp"

namespace fastfs::core {

// Of one set, as of fastfs_disc_result.
struct DiscResult {
    int warnings = 0;
    std::int32_t graph = FASTFS_GRAPH_DENSE, graph_reason = FASTFS_BECAUSE_ASKED;
    std::int64_t dense_bytes = 0;
    std::int64_t n_connected = 0, n_differential = 0;
    double gap = 0, ratio = 0;
    std::vector<double> significance, vectors, eigenvalues, diffusion, bandwidths, scores;
    std::vector<std::int32_t> trivial;
    std::vector<std::int64_t> indptr, indices;
    std::vector<double> weights;
};

std::vector<DiscResult> disc(const std::vector<DiscSet>& sets, const fastfs_disc_options& options, Run& run);

}  // namespace fastfs::core
