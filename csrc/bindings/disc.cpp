#include <memory>
#include <optional>
#include <vector>

#include "arrays.hpp"
#include "options.hpp"
#include "results.hpp"
#include "run.hpp"
#include "streams.hpp"

namespace fastfs::bindings {
namespace {

using Labels = py::array_t<std::int64_t, py::array::c_style>;

// Returns the nearest features of each feature, and their distances.
py::tuple nearest_features(const py::object& X_, std::int64_t n_neighbors, const py::object& run_) {
    const Matrix X(X_);
    const std::int64_t d = X.view.n_cols();
    // No arrays for arguments that the core will reject.
    const std::int64_t rows = n_neighbors >= 1 && n_neighbors < d ? d : 1, columns = rows == d ? n_neighbors : 1;
    py::array_t<std::int64_t> neighbors({rows, columns});
    py::array_t<double> distances({rows, columns});
    auto* neighbors_data = neighbors.mutable_data();
    auto* distances_data = distances.mutable_data();
    Call call(run_);
    call([&](const fastfs::run& run) {
        fastfs::check(fastfs_nearest_features(X.view.get(), n_neighbors, &run, neighbors_data, distances_data));
    });
    return py::make_tuple(neighbors, distances);
}

fastfs_disc_options to_disc_options(const py::dict& given) {
    return read_options("fastfs_disc_options", fastfs::default_disc_options(), given);
}

struct DiscStream : Stream {
    // Makes a stream from the group of each row, and keeps the arguments for pickling.
    static DiscStream make(const Labels& labels, std::int64_t n_groups, std::int64_t n_cols, const py::dict& given,
                           const py::object& run_) {
        const auto options = to_disc_options(given);
        const std::int64_t *values = labels.data(), n_rows = labels.size();
        Call call(run_);
        return {{py::make_tuple(labels, n_groups, n_cols, given), py::none(), call([&](const fastfs::run& run) {
                     return fastfs::disc_stream(n_rows, n_cols, values, n_groups, options, run);
                 })}};
    }

    // Ends a pass, the last one included.
    void next(const py::object& run_, py::object found) {
        const fastfs::stream_state state = stream.state();
        if (state.pass_number < state.n_passes) return Stream::next(run_, std::move(found));
        Call call(run_);
        call([&](const fastfs::run& run) { fastfs::disc_stream_finish(stream, run); });
    }

    // Makes a stream from the arguments of a pickled one, and brings it to its state.
    static DiscStream unpickled(const py::tuple& state) {
        const py::tuple args = state[0];
        const auto run = py::module_::import("fastfs._machine.run").attr("Run")();
        DiscStream made = make(received<std::int64_t>(args[0]), args[1].cast<std::int64_t>(),
                               args[2].cast<std::int64_t>(), args[3].cast<py::dict>(), run);
        made.restore(state, run);
        return made;
    }
};

// A condition in the form that fastfs._functions.disc passes: a dict of n_components and kernel, and of X with rows, of
// W, or of the group in a stream.
struct Set {
    // Views the arrays of the dict, which must stay alive; unknown keys are ignored.
    explicit Set(const py::dict& given) {
        if (given.contains("X")) {
            Matrix& X = samples.emplace(given["X"]);
            if (given.contains("rows")) {
                rows = given["rows"].cast<py::array>();
                const std::int64_t n = rows.size();
                X.view = X.view.rows(data_or_null<std::int64_t>(rows, "rows", {n}), n);
            }
            core.X = X.view.get();
        }
        if (given.contains("W")) core.W = graph.emplace(given["W"]).view.get();
        if (given.contains("stream")) {
            core.stream = given["stream"].cast<const DiscStream&>().stream.get();
            core.group = given["group"].cast<std::int64_t>();
        }
        core.n_components = given["n_components"].cast<std::int64_t>();
        core.custom = reinterpret_cast<fastfs_tile_kernel>(given["kernel"].cast<std::uintptr_t>());
    }
    py::ssize_t n_features() const { return samples ? samples->view.n_cols() : 0; }
    Set(const Set&) = delete;  // `core` points into it
    Set& operator=(const Set&) = delete;

    std::optional<Matrix> samples, graph;
    py::array rows;
    fastfs_disc_set core = FASTFS_DISC_SET_INIT;
};

// Returns the result of a set as a dict with views of its arrays.
py::dict to_dict(const Views<fastfs::disc_result>& view, std::int64_t set) {
    const fastfs::disc_result& r = (*view)[set];
    const py::ssize_t p = r.n_features, m = r.n_vectors, d = r.n_components;
    py::dict result;
    result["n_connected"] = r.n_connected;
    result["n_differential"] = r.n_differential;
    result["gap"] = r.gap;
    result["ratio"] = r.ratio;
    result["significance"] = view(r.significance, {m});
    result["vectors"] = view(r.vectors, {m, p});
    result["trivial"] = view(r.trivial, {m});
    result["eigenvalues"] = view(r.eigenvalues, {d + 1});
    result["diffusion"] = view(r.diffusion, {d, p});
    result["bandwidths"] = view(r.bandwidths, {p});
    result["scores"] = view(r.scores, {p});
    result["mean"] = view(r.mean, {p});
    result["scale"] = view(r.scale, {p});
    result["graph_recall"] = r.graph_recall;
    return result;
}

// Adds the graph of a set to `result`, with indices of the type that SciPy wants.
template <class Index>
void put_graph(const fastfs::fitted<fastfs::disc_result>& fitted, std::int64_t set, Call& call, py::dict& result) {
    const fastfs::disc_result& r = fitted[set];
    py::array_t<Index> indptr(r.n_features + 1), indices(r.n_stored);
    py::array_t<double> weights(r.n_stored);
    auto *indptr_data = indptr.mutable_data(), *indices_data = indices.mutable_data();
    auto* weights_data = weights.mutable_data();
    call([&](const fastfs::run& run) {
        fastfs::write_disc_graph(fitted, set, indptr_data, indices_data, weights_data, run);
    });
    result["graph_entries"] = py::make_tuple(weights, indices, indptr);
}

// Sets, and the views of them that the core reads.
struct Sets {
    explicit Sets(const py::list& given) {
        for (const auto& set : given) {
            owners.push_back(std::make_unique<Set>(set.cast<py::dict>()));
            views.push_back(owners.back()->core);
        }
    }
    std::vector<std::unique_ptr<Set>> owners;
    std::vector<fastfs::disc_set> views;
};

// Compares the sets, and returns one dict per set; with_graphs adds the sparse graphs.
py::list disc(const py::list& given, const py::dict& options_, const py::object& run_, bool with_graphs) {
    const Sets sets(given);
    const auto options = to_disc_options(options_);
    Call call(run_);
    const Views view(call([&](const fastfs::run& run) { return fastfs::disc(sets.views, options, run); }));
    const auto& fitted = *view;
    py::list results;
    for (std::int64_t s = 0; s < fitted.size(); ++s) {
        const std::int64_t n_stored = with_graphs ? fitted[s].n_stored : 0;
        py::dict result = to_dict(view, s);
        if (n_stored > INT32_MAX) {
            put_graph<std::int64_t>(fitted, s, call, result);
        } else if (n_stored > 0) {
            put_graph<std::int32_t>(fitted, s, call, result);
        }
        results.append(result);
    }
    return results;
}

// Computes the cut of each group in each set; a group is a row of 0 and 1.
py::array_t<double> disc_cuts(const py::list& given, const py::array_t<std::int64_t, py::array::c_style>& groups,
                              const py::dict& options_, const py::object& run_) {
    const Sets sets(given);
    const auto options = to_disc_options(options_);
    if (groups.ndim() != 2)
        throw std::invalid_argument(
            "groups must have a row per group and a column per feature; got another number of dimensions");
    const auto n_groups = groups.shape(0), n_sets = static_cast<py::ssize_t>(sets.views.size());
    py::array_t<double> cuts({n_groups, n_sets});
    const auto* members = groups.data();
    auto* out = cuts.mutable_data();
    Call call(run_);
    call([&](const fastfs::run& run) {
        fastfs::check(fastfs_disc_cuts(sets.views.data(), n_sets, &options, members, n_groups, &run, out));
    });
    return cuts;
}

}  // namespace

// Adds the functions and the stream of DiSC to the module.
void bind_disc(py::module_& m) {
    m.attr("DISC_MOST_SUMS") = int{FASTFS_DISC_MOST_SUMS};

    m.def("disc", &disc, py::arg("sets"), py::arg("options"), py::arg("run"), py::arg("with_graphs") = true);
    m.def("disc_cuts", &disc_cuts, py::arg("sets"), py::arg("groups").noconvert(), py::arg("options"), py::arg("run"));
    bind_stream<DiscStream>(m, "DiscStream")
        .def(py::init(&DiscStream::make), py::arg("labels").noconvert(), py::arg("n_groups"), py::arg("n_cols"),
             py::arg("options"), py::arg("run"))
        .def_property_readonly("n_passes", [](const DiscStream& self) { return self.stream.state().n_passes; })
        .def("update", &DiscStream::update, py::arg("X"), py::arg("first_row"), py::arg("run"))
        .def("next", &DiscStream::next, py::arg("run"), py::arg("found") = py::none());
    m.def("nearest_features", &nearest_features, py::arg("X"), py::arg("n_neighbors"), py::arg("run"));
}

}  // namespace fastfs::bindings
