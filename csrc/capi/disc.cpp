// The C interface of DiSC.
#include <algorithm>
#include <memory>
#include <vector>

#include "capi/abi.hpp"
#include "capi/checks.hpp"
#include "capi/fields.hpp"
#include "capi/fitted.hpp"
#include "capi/stream.hpp"
#include "disc/disc.hpp"
#include "disc/scaling.hpp"
#include "disc/stream.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"

namespace {

using namespace fastfs::core;

class DiscBlocks : public Stream {
  public:
    static constexpr auto kMethod = FASTFS_STREAM_DISC;

    template <class... Arguments>
    explicit DiscBlocks(Arguments&&... arguments) : data_(std::forward<Arguments>(arguments)...) {}

    fastfs_stream_method method() const override { return kMethod; }
    std::int64_t n_cols() const override { return data_.n_cols(); }
    std::int64_t n_rows() const override { return data_.n_rows_read(); }
    std::int64_t n_groups() const override { return data_.n_groups(); }
    int n_passes() const override { return data_.n_passes(); }
    int pass() const override { return data_.pass(); }
    std::uint64_t fingerprint() const override { return data_.fingerprint(); }
    std::uint64_t fingerprint_of_passes() const override { return data_.fingerprint_of_passes(); }
    void require_intact() const override { data_.require_intact(); }

    void update(const RowBlock& block, Run& run) override {
        const Matrix& X = block.X;
        require_only_X(block);
        require(!X.is_sparse() || X.is_csr(), "a sparse block of X must be CSR; got CSC: give X.tocsr()");
        require_rows(block, data_.n_rows());
        if (X.n_rows() > 0) data_.update(X, block.first_row, run);
    }
    void merge(const Stream& other) override { data_.merge(static_cast<const DiscBlocks&>(other).data_); }
    // Ends a pass, the last one included.
    void next_pass(Run& run) override {
        data_.require_all_rows();
        data_.next_pass(run);
    }
    void means(double* counts, double* means) const override {
        if (counts) data_.counts(counts);
        if (means) data_.means(means);
    }
    std::unique_ptr<Stream> copy() const override { return std::make_unique<DiscBlocks>(data_); }
    void save_state(ByteWriter& to) const override { data_.save_state(to); }
    void load_state(ByteReader& from) override { data_.load_state(from); }

    const DiscStream& data() const { return data_; }

  private:
    DiscStream data_;
};

// Reads a group of a finished stream, which doesn't change any more.
DiscSet read_group(const fastfs_stream* stream, std::int64_t group, const Name& name) {
    const UseStream<DiscBlocks> use(stream, "stream");
    const DiscStream& data = use->data();
    require(data.is_finished(), "the stream of ", name, " must be finished; got one in pass ", data.pass(), " of ",
            data.n_passes(), ": call fastfs_disc_stream_finish first");
    require(group >= 0 && group < data.n_groups(), "the group of ", name, " must be from 0 to ", data.n_groups() - 1,
            "; got ", group);
    return data.disc_set(group);
}

// Checks set `number` of the caller, and returns a view of the data that its graph is made of: W, or else neighbours, a
// group of a stream, or samples; other data that the set holds are ignored.
DiscSet read_set(const fastfs_disc_set& given, std::int64_t number) {
    const Name name = Name::set(number);
    DiscSet s;
    if (given.stream && !given.W && !given.neighbors) {
        s = read_group(given.stream, given.group, name);
    } else {
        if (given.X) s.X.emplace(read_matrix(given.X, name, true));
        if (given.W) s.W.emplace(read_matrix(given.W, name));
        require_array_or_null(given.neighbors, "neighbors");
        require_array_or_null(given.distances, "distances");
        s.neighbors = given.neighbors;
        s.distances = given.distances;
        s.n_neighbors = given.n_neighbors;
        s.n_features = s.W ? s.W->n_cols() : s.neighbors ? given.n_features : s.X ? s.X->n_cols() : 0;
    }
    s.n_components = given.n_components;
    s.custom = given.custom;
    s.user = given.user;
    require(s.W || s.neighbors || s.sums || s.X, name, " must have X, W, neighbors or a stream; got none of them");
    require(s.n_features >= 4 && s.n_features <= kMostFeatures, name, " must have from 4 to 4e8 features; got ",
            s.n_features);
    require(!s.W || (s.W->is_csr() && s.W->is_sparse() && s.W->n_rows() == s.W->n_cols()), "the graph W of ", name,
            " must be a square CSR matrix; got ", s.W && s.W->is_csr() ? "a CSR" : "another", " matrix of ",
            s.W ? s.W->n_rows() : 0, " x ", s.n_features);
    require(!s.neighbors || s.W || (s.distances && s.n_neighbors >= 1), "the neighbors of ", name,
            " must come with distances and n_neighbors of at least 1; got ", s.distances ? "" : "no distances and ",
            s.n_neighbors);
    require(s.n_components >= 0, "n_components must be at least 1; got ", s.n_components, " in ", name);
    return s;
}

// The number of diffusion vectors in the paper.
constexpr std::int64_t kComponents = 20;

// Returns the default of n_components: a quarter of those that fit finds more planted features than half or all of them
// (benchmarks/bench_disc_components.py).
std::int64_t default_components(std::int64_t n_features, std::int64_t n_sets) {
    return std::min<std::int64_t>(kComponents, std::max<std::int64_t>(1, components_that_fit(n_features, n_sets) / 4));
}

// Returns the sets of the caller, which must be two or more with equal numbers of features; sets without n_components
// get the default.
std::vector<DiscSet> read_sets(const fastfs_disc_set* sets, std::int64_t n_sets) {
    require(n_sets >= 2, "n_sets must be at least 2; got ", n_sets);
    std::vector<DiscSet> read;
    for (const auto& given : read_all(sets, n_sets, FASTFS_DISC_SET_INIT, "sets")) {
        const auto number = static_cast<std::int64_t>(read.size());
        read.push_back(read_set(given, number));
        const std::int64_t first = read.front().n_features, n = read.back().n_features;
        require(n == first, "all sets must have the same features; got ", first, " of ", Name::set(0), " and ", n,
                " of ", Name::set(number));
    }
    for (DiscSet& set : read) {
        if (set.n_components == 0) set.n_components = default_components(set.n_features, n_sets);
    }
    return read;
}

// Throws unless all sets have a dense X and no graph W.
void require_scalable(const std::vector<DiscSet>& sets) {
    for (std::size_t s = 0; s < sets.size(); ++s) {
        const Name name = Name::set(static_cast<std::int64_t>(s));
        require(!sets[s].W, "scaling must be none if ", name, " has affinities, which aren't scaled");
        require(sets[s].X.has_value(), name, " must have X to be scaled: give it, or scaling=None");
        require(!sets[s].X->is_sparse(),
                "X must be dense for scaling='standard', which centres features; got a sparse X: make it dense, or "
                "scale it without centring");
    }
}

using DiscResults = std::vector<DiscResult>;
constexpr const char* kDiscFit = "fastfs_disc_fit";

// Returns the result of a set; throws unless `fitted` comes from fastfs_disc_fit and has this set.
const DiscResult& result_of(const fastfs_fitted* fitted, std::int64_t set) {
    const DiscResults& sets = require_handle(fitted, "fitted").data.as<DiscResults>(kDiscFit);
    require(set >= 0 && set < std::ssize(sets), "set must be from 0 to ", std::ssize(sets) - 1, "; got ", set);
    return sets[at(set)];
}

// Reads the options of the caller, and checks each field, and n_differential against n_vectors.
fastfs_disc_options read_disc_options(const fastfs_disc_options* options) {
    const auto o = read_options(options, FASTFS_DISC_OPTIONS_INIT);
    require(o.n_differential >= 0 && o.n_differential <= o.n_vectors,
            "n_differential must be from 1 to n_vectors = ", o.n_vectors, "; got ", o.n_differential);
    return o;
}

}  // namespace

extern "C" {

fastfs_status fastfs_disc_fit(const fastfs_disc_set* sets, int64_t n_sets, const fastfs_disc_options* options,
                              const fastfs_run* run_, fastfs_disc_result* results, fastfs_fitted** fitted) {
    return guarded([&] {
        Run run = read_run(run_);
        require_output(run, fitted, "fitted");
        const fastfs_disc_options o = read_disc_options(options);
        const std::vector<DiscSet> conditions = read_sets(sets, n_sets);
        if (o.scaling == FASTFS_DISC_SCALING_STANDARD) require_scalable(conditions);
        if (run.is_question()) {
            disc(conditions, o, run);
            return;
        }
        std::unique_ptr<fastfs_fitted> made;
        fill_all(results, n_sets, FASTFS_DISC_RESULT_INIT, "results", [&](fastfs_disc_result& r, std::int64_t set) {
            if (!made) made = std::make_unique<fastfs_fitted>(disc(conditions, o, run));
            DiscResult& f = made->data.as<DiscResults>(kDiscFit)[at(set)];
            r = {.struct_size = sizeof(fastfs_disc_result),
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
                 .n_stored = f.W.values.size(),
                 .mean = data_or_null(f.mean),
                 .scale = data_or_null(f.scale),
                 .graph_recall = f.graph_recall};
        });
        *fitted = made.release();
    });
}

// Writes the sparse graph of a fitted set as CSR, with indptr and indices of 32 or 64 bits.
fastfs_status fastfs_disc_graph(const fastfs_fitted* fitted, int64_t set, int32_t index_bits, const fastfs_run* run_,
                                void* indptr, void* indices, double* weights) {
    return guarded([&] {
        Run run = read_run(run_);
        const DiscResult& f = result_of(fitted, set);
        require(f.W.n > 0, "the graph of ", Name::set(set), " must be sparse to be written; got a dense one");
        require(index_bits == 32 || index_bits == 64, "index_bits must be 32 or 64; got ", index_bits);
        if (!run.is_question()) {
            require_array(indptr, at(index_bits / 8), "indptr");
            require_array(indices, at(index_bits / 8), "indices");
        }
        require_output(run, weights, "weights");
        run.require_memory(8 * f.W.n, "writing the graph");
        if (index_bits == 64) {
            write_graph(f, run, static_cast<int64_t*>(indptr), static_cast<int64_t*>(indices), weights);
            return;
        }
        require(f.W.values.size() <= INT32_MAX, "index_bits must be 64 for more than 2^31 - 1 entries; got 32 for ",
                f.W.values.size());
        write_graph(f, run, static_cast<int32_t*>(indptr), static_cast<int32_t*>(indices), weights);
    });
}

// Writes the cut of each group of features (0 and 1 per feature) in the graph of each set, n_groups x n_sets, to cuts.
fastfs_status fastfs_disc_cuts(const fastfs_disc_set* sets, int64_t n_sets, const fastfs_disc_options* options,
                               const int64_t* groups, int64_t n_groups, const fastfs_run* run_, double* cuts) {
    return guarded([&] {
        Run run = read_run(run_);
        require(n_groups >= 1, "n_groups must be at least 1; got ", n_groups);
        require_array(groups, "groups");
        require_output(run, cuts, "cuts");
        const fastfs_disc_options o = read_disc_options(options);
        const std::vector<DiscSet> conditions = read_sets(sets, n_sets);
        const std::int64_t p = conditions.front().n_features;
        require_fits(n_groups, p, "groups");
        for (std::int64_t k = 0; k < n_groups; ++k) {
            const std::int64_t* group = groups + k * p;
            require(std::all_of(group, group + p, [](std::int64_t m) { return m == 0 || m == 1; }),
                    "groups must hold 0 and 1; got other numbers in group ", k);
            const auto members = std::count(group, group + p, 1);
            require(members > 0 && members < p, "a group must have some of the ", p, " features, not all; got ",
                    members, " in group ", k);
        }
        if (o.scaling == FASTFS_DISC_SCALING_STANDARD) require_scalable(conditions);
        disc_cuts(conditions, o, groups, n_groups, run, cuts);
    });
}

fastfs_status fastfs_disc_stream_new(int64_t n_rows, int64_t n_cols, const int64_t* labels, int64_t n_groups,
                                     const fastfs_disc_options* options, const fastfs_run* run_,
                                     fastfs_stream** stream) {
    return guarded([&] {
        const Run run = read_run(run_);
        require_output(run, stream, "stream");
        const fastfs_disc_options o = read_disc_options(options);
        require_size(n_rows, 2, "n_rows");
        require(n_cols >= 4 && n_cols <= kMostFeatures, "n_cols must be from 4 to 4e8; got ", n_cols);
        require_labels(labels, n_rows, n_groups);
        require(o.scaling == FASTFS_DISC_SCALING_NONE,
                "scaling must be None for rows in blocks; got 'standard': scale the rows yourself");
        require(o.graph != FASTFS_GRAPH_LISTS, "graph must be 'knn' or 'dense' for rows in blocks; got 'lists'");
        require(o.graph != FASTFS_GRAPH_DENSE || n_cols <= FASTFS_DISC_MOST_SUMS, "X must have at most ",
                std::int64_t{FASTFS_DISC_MOST_SUMS}, " features for graph='dense' and rows in blocks; got ", n_cols,
                ": choose graph='knn'");
        run.require_memory(DiscStream::memory(n_rows, n_cols, labels, n_groups),
                           {"what DiSC keeps of ", n_groups, " groups with ", n_cols, " features"});
        *stream = new fastfs_stream(std::make_unique<DiscBlocks>(n_rows, n_cols, labels, n_groups, o));
    });
}

// Ends the last pass, after which the groups of the stream serve as sets of fastfs_disc_fit.
fastfs_status fastfs_disc_stream_finish(fastfs_stream* stream, const fastfs_run* run_) {
    return guarded([&] {
        const UseStream<DiscBlocks> use(stream, "stream");
        Run run = read_run(run_);
        require(!use->data().is_finished(), "the stream must not have come to its end: give it to fastfs_disc_fit");
        require_last_pass(*use);
        use->next_pass(run);
    });
}

}  // extern "C"
