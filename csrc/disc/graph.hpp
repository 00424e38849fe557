// The graph of the features of a set, and its random walk.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "disc/operators.hpp"
#include "engines/feature_sums.hpp"
#include "fastfs/fastfs.h"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// A condition that the C entry has checked, with at least one of W, neighbors, sums and X.
struct DiscSet {
    std::optional<Matrix> X, W;
    const std::int64_t* neighbors = nullptr;
    const double* distances = nullptr;
    std::int64_t n_neighbors = 0, n_features = 0, n_components = 0;
    fastfs_tile_kernel custom = nullptr;
    void* user = nullptr;
    const FeatureSums* sums = nullptr;  // with the products of all pairs of features
    std::int64_t group = 0;             // of these sums
    bool lost_digits = false;           // true if distances have lost digits

    std::int64_t n_rows() const;  // 0 if unknown
};

// What the result of a set warns of, added up.
enum : int {
    kSetOneSample = 1,
    kSetClamped = 2,       // bandwidth_neighbors or n_neighbors exceeded the other features
    kSetDuplicates = 4,    // a bandwidth was 0: the smallest positive distance was taken
    kSetDisconnected = 8,  // the graph falls apart
    kSetSmallGap = 16,     // n_components splits a cluster of eigenvalues
    kSetNotConverged = 32,
    kSetIdentical = 64,   // another set has the same graph
    kSetFlat = 128,       // there is no clear gap after n_differential vectors
    kSetLowRecall = 256,  // lists found too few of the nearest features
    kSetDigits = 512      // sums over rows: hardly a digit is left of a distance between features
};

// W, dense or as entries, with the factors of its random walk P = diag(c / g) W diag(c), c = q^-alpha.
struct Graph {
    std::int64_t p = 0;
    // The feature of each row of W, in an order that puts neighbours near each other in memory: a product of 850,000
    // features takes a tenth of the time. Empty if row i is feature i. c, g and all vectors below are by row.
    std::vector<std::int64_t> features;
    DenseSymmetric dense;
    SparseSymmetric sparse;
    Numbers c, g;
    Numbers bandwidths;  // by feature; empty if W was given
    double recall = 0;   // of neighbours by lists
    int warnings = 0;    // kSet...

    bool is_of_lists() const { return !features.empty(); }
    std::int64_t feature(std::int64_t row) const { return is_of_lists() ? features[at(row)] : row; }

    // Returns consecutive vectors with their entries moved from the numbering of rows to that of features.
    Numbers by_feature(Numbers of_rows) const;
    // Returns consecutive vectors with their entries moved from the numbering of features to that of rows.
    Numbers by_row(Numbers of_features) const;

    // Returns diag(left) W diag(right) x.
    Numbers times(const Numbers& left, const Numbers& x, const Numbers& right, Run& run) const;
};

// Products of a graph with blocks, and the scratch for them.
class GraphProducts {
  public:
    enum class Precision {
        kDouble,
        kSingle  // of X alone. A sparse graph of many features reads its rows at random places, from L3 if they fit.
    };
    GraphProducts(const Graph& graph, Precision precision);

    // Sets Y to diag(left) W diag(right) X, for blocks of kBlock vectors. Overwrites the scratch.
    void multiply(const Numbers& left, const double* X, const Numbers& right, double* Y, Run& run);

  private:
    const Graph& graph_;
    Buffer<double> scaled_;
    Buffer<float> single_;
};

// Returns the graph of a set, with its bandwidths, walk factors and flags. end: the share of the call that is finished
// afterwards.
Graph make_graph(const DiscSet& set, const fastfs_disc_options& options, const Name& name, double end, Run& run);

// Returns the number of connected components of the graph.
std::int64_t count_components(const Graph& graph, Run& run);

bool is_dense(const DiscSet& set, const fastfs_disc_options& options);

// Returns the bytes of a set's graph, which becomes part of the result if it is sparse.
std::int64_t graph_memory(const DiscSet& set, const fastfs_disc_options& options);

// Returns the bytes that make_graph takes, including the graph.
std::int64_t making_memory(const DiscSet& set, const fastfs_disc_options& options, Run& run);

}  // namespace fastfs::core
