// The C interface of DiSC.
#include <algorithm>
#include <memory>
#include <vector>

#include "capi/abi.hpp"
#include "capi/checks.hpp"
#include "disc/disc.hpp"
#include "disc/scaling.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"

struct fastfs_disc {
    const std::vector<fastfs::core::DiscResult> sets;
};

namespace {

using namespace fastfs::core;

DiscSet read_set(const fastfs_disc_set& given, std::int64_t number) {
    const Name name = Name::set(number);
    DiscSet s;
    if (given.X) s.X.emplace(read_matrix(given.X, name));
    if (given.W) s.W.emplace(read_matrix(given.W, name));
    s.neighbors = given.neighbors;
    s.distances = given.distances;
    s.n_neighbors = given.n_neighbors;
    s.n_components = given.n_components;
    s.custom = given.custom;
    s.user = given.user;
    s.n_features = s.W ? s.W->n_cols() : s.neighbors ? given.n_features : s.X ? s.X->n_cols() : 0;
    require(s.W || s.neighbors || s.X, name, " has no X, no W and no neighbors");
    require(s.n_features >= 4 && s.n_features <= kMostFeatures, "DiSC needs from 4 to 4e8 features, but ", name,
            " has ", s.n_features);
    require(!s.W || (s.W->is_csr() && s.W->is_sparse() && s.W->n_rows() == s.W->n_cols()), "the graph W of ", name,
            " must be a square CSR matrix, but is ", s.W ? s.W->n_rows() : 0, " x ", s.n_features, ", or dense");
    require(!s.neighbors || s.W || (s.distances && s.n_neighbors >= 1), "the neighbors of ", name,
            " need distances and n_neighbors >= 1");
    require(s.n_components >= 1, "n_components must be at least 1, but is ", s.n_components, " in ", name);
    return s;
}

std::vector<DiscSet> read_sets(const fastfs_disc_set* sets, std::int64_t n_sets) {
    require(n_sets >= 2, "DiSC needs at least two sets, not ", n_sets);
    std::vector<DiscSet> read;
    for (const auto& given : read_all(sets, n_sets, FASTFS_DISC_SET_INIT, "sets")) {
        const auto number = static_cast<std::int64_t>(read.size());
        read.push_back(read_set(given, number));
        const std::int64_t first = read.front().n_features, n = read.back().n_features;
        require(n == first, "all sets must have the same features, but ", Name::set(0), " has ", first, " and ",
                Name::set(number), " has ", n);
    }
    return read;
}

void require_scalable(const std::vector<DiscSet>& sets) {
    for (std::size_t s = 0; s < sets.size(); ++s) {
        const Name name = Name::set(static_cast<std::int64_t>(s));
        require(!sets[s].W, "the affinities of ", name, " are given: scaling has no use");
        require(sets[s].X.has_value(), "scaling needs X of ", name);
        require(!sets[s].X->is_sparse(),
                "scaling='standard' centres features, which would fill sparse X: give a dense X, or scale it yourself");
    }
}

void require_count(std::int64_t value, const char* name) {
    require(value >= 1, name, " must be at least 1, but is ", value);
}

fastfs_disc_options read_disc_options(const fastfs_disc_options* options) {
    const auto o = read(options, FASTFS_DISC_OPTIONS_INIT, "options");
    require(o.graph >= FASTFS_GRAPH_DENSE && o.graph <= FASTFS_GRAPH_LISTS, "graph must be one of FASTFS_GRAPH_*, not ",
            o.graph);
    require(o.constant == FASTFS_CONSTANT_DROP || o.constant == FASTFS_CONSTANT_PROJECT,
            "constant must be one of FASTFS_CONSTANT_*, not ", o.constant);
    require_count(o.n_vectors, "n_vectors");
    require_count(o.bandwidth_neighbors, "bandwidth_neighbors");
    require_count(o.n_neighbors, "n_neighbors");
    require(o.n_differential >= 0 && o.n_differential <= o.n_vectors,
            "n_differential must lie between 1 and n_vectors=", o.n_vectors, ", but is ", o.n_differential);
    require(o.density >= 0 && o.density <= 1, "density must lie in [0, 1], but is ", o.density);
    require(o.scaling == FASTFS_DISC_SCALING_NONE || o.scaling == FASTFS_DISC_SCALING_STANDARD,
            "scaling must be one of FASTFS_DISC_SCALING_*, not ", o.scaling);
    require(o.reserved == 0, "the reserved field of the options must be 0, but is ", o.reserved);
    return o;
}

}  // namespace

extern "C" {

fastfs_status fastfs_disc_fit(const fastfs_disc_set* sets, int64_t n_sets, const fastfs_disc_options* options,
                              const fastfs_run* run_, fastfs_disc** fitted) {
    return guarded([&] {
        Run run = read_run(run_);
        require_output(run, fitted != nullptr, "fitted is null");
        const fastfs_disc_options o = read_disc_options(options);
        const std::vector<DiscSet> conditions = read_sets(sets, n_sets);
        if (o.scaling == FASTFS_DISC_SCALING_STANDARD) require_scalable(conditions);
        *fitted = new fastfs_disc{disc(conditions, o, run)};
    });
}

fastfs_status fastfs_disc_get(const fastfs_disc* fitted, int64_t set, fastfs_disc_result* result) {
    return guarded([&] {
        require(fitted != nullptr, "fitted is null");
        require(set >= 0 && set < static_cast<int64_t>(fitted->sets.size()), "there are ", fitted->sets.size(),
                " sets, and none is number ", set);
        require(result != nullptr, "result is null");
        const DiscResult& f = fitted->sets[at(set)];
        fill(result, FASTFS_DISC_RESULT_INIT, "result", [&](fastfs_disc_result& r) {
            r = {.struct_size = sizeof(fastfs_disc_result),
                 .warnings = f.warnings,
                 .reserved = 0,
                 .n_features = static_cast<int64_t>(f.scores.size()),
                 .n_vectors = static_cast<int64_t>(f.significance.size()),
                 .n_components = static_cast<int64_t>(f.eigenvalues.size()) - 1,
                 .n_connected = f.n_connected,
                 .n_differential = f.n_differential,
                 .gap = f.gap,
                 .ratio = f.ratio,
                 .significance = f.significance.data(),
                 .vectors = f.vectors.data(),
                 .trivial = f.trivial.data(),
                 .eigenvalues = f.eigenvalues.data(),
                 .diffusion = f.diffusion.data(),
                 .bandwidths = data_or_null(f.bandwidths),
                 .scores = f.scores.data(),
                 .n_stored = f.weights.size(),
                 .indptr = f.indptr.data(),
                 .indices = f.indices.data(),
                 .weights = f.weights.data(),
                 .graph = f.graph,
                 .graph_reason = f.graph_reason,
                 .dense_bytes = f.dense_bytes,
                 .mean = data_or_null(f.mean),
                 .scale = data_or_null(f.scale),
                 .graph_recall = f.graph_recall};
        });
    });
}

fastfs_status fastfs_disc_scale(const fastfs_disc_set* sets, int64_t n_sets, const fastfs_run* run_, double* mean,
                                double* scale) {
    return guarded([&] {
        Run run = read_run(run_);
        require_output(run, mean != nullptr && scale != nullptr, "mean or scale is null");
        const std::vector<DiscSet> conditions = read_sets(sets, n_sets);
        require_scalable(conditions);
        run.require_memory(24 * conditions.front().n_features, "the scaling of features");
        const Scaling found = measure_scaling(conditions, run);
        std::copy(found.mean.begin(), found.mean.end(), mean);
        std::copy(found.scale.begin(), found.scale.end(), scale);
    });
}

fastfs_status fastfs_disc_cuts(const fastfs_disc_set* sets, int64_t n_sets, const fastfs_disc_options* options,
                               const int64_t* groups, int64_t n_groups, const fastfs_run* run_, double* cuts) {
    return guarded([&] {
        Run run = read_run(run_);
        require_count(n_groups, "n_groups");
        require(groups != nullptr, "groups are null");
        require_output(run, cuts != nullptr, "cuts are null");
        const fastfs_disc_options o = read_disc_options(options);
        const std::vector<DiscSet> conditions = read_sets(sets, n_sets);
        const std::int64_t p = conditions.front().n_features;
        require_fits(n_groups, p, "groups");
        for (std::int64_t k = 0; k < n_groups; ++k) {
            const std::int64_t* group = groups + k * p;
            require(std::all_of(group, group + p, [](std::int64_t m) { return m == 0 || m == 1; }),
                    "groups must hold 0 and 1, but group ", k, " has other numbers");
            const auto members = std::count(group, group + p, 1);
            require(members > 0 && members < p, "a group needs features in it and beside it, but group ", k, " has ",
                    members, " of ", p);
        }
        if (o.scaling == FASTFS_DISC_SCALING_STANDARD) require_scalable(conditions);
        disc_cuts(conditions, o, groups, n_groups, run, cuts);
    });
}

void fastfs_disc_free(fastfs_disc* fitted) { std::unique_ptr<fastfs_disc> owner(fitted); }

}  // extern "C"
