// The graph of the features of a set, and its random walk.
#pragma once

#include <cstdint>
#include <optional>

#include "disc/operators.hpp"
#include "fastfs/fastfs.h"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// A condition as the C entry has checked it; one of W, neighbors and X is there.
struct DiscSet {
    std::optional<Matrix> X, W;
    const std::int64_t* neighbors = nullptr;
    const double* distances = nullptr;
    std::int64_t n_neighbors = 0, n_features = 0, n_components = 0;
    fastfs_tile_kernel custom = nullptr;
    void* user = nullptr;
};

// W, all of it or its entries, with the factors of its random walk P = diag(c / g) W diag(c), c = q^-alpha.
struct Graph {
    std::int64_t p = 0;
    DenseSymmetric dense;
    SparseSymmetric sparse;
    Numbers c, g;
    Numbers bandwidths;  // none of a graph of the caller's
    int warnings = 0;    // FASTFS_DISC_*

    // Y = diag(left) W diag(right) X for a block X, which is destroyed.
    void multiply(const Numbers& left, double* X, const Numbers& right, double* Y, Run& run) const;

    // diag(left) W diag(right) x
    Numbers times(const Numbers& left, const Numbers& x, const Numbers& right, Run& run) const;
};

// options.graph is FASTFS_GRAPH_DENSE or FASTFS_GRAPH_KNN; end: the share of the call that is finished afterwards.
Graph make_graph(const DiscSet& set, const fastfs_disc_options& options, const Name& name, double end, Run& run);

std::int64_t count_components(const Graph& graph, Run& run);

bool is_dense(const DiscSet& set, const fastfs_disc_options& options);

// Bytes of a set's graph; a sparse one is in the result, too.
std::int64_t graph_memory(const DiscSet& set, const fastfs_disc_options& options);

// Bytes besides while it is made.
std::int64_t making_memory(const DiscSet& set, const fastfs_disc_options& options, Run& run);

}  // namespace fastfs::core
