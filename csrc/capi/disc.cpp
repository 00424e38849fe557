// The C interface of DiSC.
#include <memory>
#include <string>
#include <vector>

#include "capi/abi.hpp"
#include "capi/checks.hpp"
#include "disc/disc.hpp"
#include "support/errors.hpp"

struct fastfs_disc {
    const std::vector<fastfs::core::DiscResult> sets;
};

namespace {

using namespace fastfs::core;

DiscSet read_disc_set(const fastfs_disc_set& given, std::int64_t number) {
    const std::string set = "set " + std::to_string(number);
    DiscSet s;
    if (given.X) s.X.emplace(read_matrix(given.X));
    if (given.W) s.W.emplace(read_matrix(given.W));
    s.neighbors = given.neighbors;
    s.distances = given.distances;
    s.n_neighbors = given.n_neighbors;
    s.n_components = given.n_components;
    s.kernel = given.kernel;
    s.user = given.user;
    s.n_features = s.W ? s.W->n_cols() : s.neighbors ? given.n_features : s.X ? s.X->n_cols() : 0;
    require(s.W || s.neighbors || s.X, set + " has no X, no W and no neighbors");
    require(s.n_features >= 4 && s.n_features <= kMostFeatures,
            "DiSC needs from 4 to 4e8 features, but " + set + " has " + std::to_string(s.n_features));
    require(!s.W || (s.W->is_csr() && s.W->is_sparse() && s.W->n_rows() == s.W->n_cols()),
            "the graph W of " + set + " must be a square CSR matrix, but is " +
                std::to_string(s.W ? s.W->n_rows() : 0) + " x " + std::to_string(s.n_features) + ", or dense");
    require(!s.neighbors || s.W || (s.distances && s.n_neighbors >= 1),
            "the neighbors of " + set + " need distances and n_neighbors >= 1");
    require(s.n_components >= 1,
            "n_components must be at least 1, but is " + std::to_string(s.n_components) + " in " + set);
    return s;
}

}  // namespace

extern "C" {

fastfs_status fastfs_disc_fit(const fastfs_disc_set* sets, int64_t n_sets, const fastfs_disc_options* options,
                              const fastfs_run* run_, fastfs_disc** fitted) {
    return guarded([&] {
        Run run = read_run(run_);
        require_output(run, fitted != nullptr, "fitted is null");
        require(n_sets >= 2, "DiSC needs at least two sets, not " + std::to_string(n_sets));
        const auto o = read(options, FASTFS_DISC_OPTIONS_INIT, "options");
        require(
            o.graph >= FASTFS_GRAPH_DENSE && o.graph <= FASTFS_GRAPH_AUTO,
            "graph must be FASTFS_GRAPH_DENSE, FASTFS_GRAPH_KNN or FASTFS_GRAPH_AUTO, not " + std::to_string(o.graph));
        require(o.constant == FASTFS_CONSTANT_DROP || o.constant == FASTFS_CONSTANT_PROJECT,
                "constant must be one of FASTFS_CONSTANT_*, not " + std::to_string(o.constant));
        require(o.bandwidth_neighbors >= 1 && o.n_neighbors >= 1 && o.n_vectors >= 1 && o.n_differential >= 0,
                "bandwidth_neighbors, n_neighbors and n_vectors must be at least 1, n_differential at least 0");
        require(o.density >= 0 && o.density <= 1, "density must lie in [0, 1], but is " + text(o.density));
        std::vector<DiscSet> conditions;
        for (const auto& given : read_all(sets, n_sets, FASTFS_DISC_SET_INIT, "sets")) {
            conditions.push_back(read_disc_set(given, static_cast<std::int64_t>(conditions.size())));
            require(conditions.back().n_features == conditions.front().n_features,
                    "all sets must have the same features, but set 0 has " +
                        std::to_string(conditions.front().n_features) + " and set " +
                        std::to_string(conditions.size() - 1) + " has " + std::to_string(conditions.back().n_features));
        }
        *fitted = new fastfs_disc{disc(conditions, o, run)};
    });
}

fastfs_status fastfs_disc_get(const fastfs_disc* fitted, int64_t set, fastfs_disc_result* result) {
    return guarded([&] {
        require(fitted != nullptr, "fitted is null");
        require(
            set >= 0 && set < static_cast<int64_t>(fitted->sets.size()),
            "there are " + std::to_string(fitted->sets.size()) + " sets, and none is number " + std::to_string(set));
        require(result != nullptr, "result is null");
        const DiscResult& f = fitted->sets[static_cast<std::size_t>(set)];
        fill(result, FASTFS_DISC_RESULT_INIT, "result", [&](fastfs_disc_result& r) {
            r = {sizeof(fastfs_disc_result),
                 f.warnings,
                 0,
                 static_cast<int64_t>(f.scores.size()),
                 static_cast<int64_t>(f.significance.size()),
                 static_cast<int64_t>(f.eigenvalues.size()) - 1,
                 f.n_connected,
                 f.n_differential,
                 f.gap,
                 f.ratio,
                 f.significance.data(),
                 f.vectors.data(),
                 f.trivial.data(),
                 f.eigenvalues.data(),
                 f.diffusion.data(),
                 f.bandwidths.empty() ? nullptr : f.bandwidths.data(),
                 f.scores.data(),
                 static_cast<int64_t>(f.weights.size()),
                 f.indptr.empty() ? nullptr : f.indptr.data(),
                 f.indices.empty() ? nullptr : f.indices.data(),
                 f.weights.empty() ? nullptr : f.weights.data(),
                 f.graph,
                 f.graph_reason,
                 f.dense_bytes};
        });
    });
}

void fastfs_disc_free(fastfs_disc* fitted) { std::unique_ptr<fastfs_disc> owner(fitted); }

}  // extern "C"
