// DiSC: differential spectral clustering of features (Sristi, Mishne, Jaffe 2022, "DiSC: Differential Spectral
// Clustering of Features").
#pragma once

#include <cstdint>
#include <vector>

#include "disc/graph.hpp"
#include "fastfs/fastfs.h"
#include "support/buffer.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// The result of one set; see fastfs_disc_result.
struct DiscResult {
    int warnings = 0;
    std::int64_t n_connected = 0, n_differential = 0;
    double gap = 0, ratio = 0, graph_recall = 0;
    std::vector<double> significance, vectors, eigenvalues, diffusion, bandwidths, scores, mean, scale;
    std::vector<std::int32_t> trivial;
    SparseSymmetric W;  // the graph, with rows as in Graph; without entries if it is dense
    std::vector<std::int64_t> feature_of_row;
};

// Returns the largest number of diffusion vectors of a set for which the vectors of all other sets leave room.
std::int64_t components_that_fit(std::int64_t n_features, std::int64_t n_sets);

// Compares the sets and returns one result per set, with the vectors and scores that set it apart from all other sets.
// Issues the warnings.
std::vector<DiscResult> disc(const std::vector<DiscSet>& sets, const fastfs_disc_options& options, Run& run);

// Writes W by feature: n + 1 offsets, and the column and the weight of each entry.
template <class Index>
void write_graph(const DiscResult& result, Run& run, Index* indptr, Index* indices, double* weights);

// Writes the cut of each group of features (groups: n_groups x p, of 0 and 1) in the graph of each set to `cuts`,
// n_groups x sets: equations 2 and 3 of the paper with FASTFS_CUT_RATIO.
void disc_cuts(const std::vector<DiscSet>& sets, const fastfs_disc_options& options, const std::int64_t* groups,
               std::int64_t n_groups, Run& run, double* cuts);

}  // namespace fastfs::core
