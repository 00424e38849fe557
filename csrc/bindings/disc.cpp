#include "arrays.hpp"
#include "options.hpp"
#include "results.hpp"
#include "run.hpp"

namespace fastfs::bindings {
namespace {

py::tuple nearest_features(const py::object& X_, std::int64_t n_neighbors, const py::object& run_) {
    const Matrix X(X_);
    const std::int64_t d = X.view.n_cols();
    // What the core will refuse gets no arrays.
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

using Neighbors = py::array_t<std::int64_t, py::array::c_style>;
using Distances = py::array_t<double, py::array::c_style>;

// A condition as fastfs._functions.disc hands it over, a dict; of X, W, and neighbors with distances, those that are needed are
// there, others None.
struct Set {
    explicit Set(const py::dict& given) : core(FASTFS_DISC_SET_INIT) {
        if (!given["X"].is_none()) core.X = samples.emplace(given["X"]).view.get();
        if (!given["W"].is_none()) core.W = graph.emplace(given["W"]).view.get();
        if (!given["neighbors"].is_none()) {
            if (!py::isinstance<Neighbors>(given["neighbors"]) || !py::isinstance<Distances>(given["distances"])) {
                throw py::type_error("neighbors must be a contiguous int64 array, distances a float64 one");
            }
            neighbors = given["neighbors"].cast<Neighbors>();
            distances = given["distances"].cast<Distances>();
            if (neighbors.ndim() != 2 || distances.ndim() != 2 || neighbors.shape(0) != distances.shape(0) ||
                neighbors.shape(1) != distances.shape(1)) {
                throw std::invalid_argument("neighbors and distances must have the same 2-D shape");
            }
            core.neighbors = neighbors.data();
            core.distances = distances.data();
            core.n_features = neighbors.shape(0);
            core.n_neighbors = neighbors.shape(1);
        }
        core.n_components = given["n_components"].cast<std::int64_t>();
        core.kernel = reinterpret_cast<fastfs_tile_kernel>(given["kernel"].cast<std::uintptr_t>());
    }
    Set(const Set&) = delete;  // `core` points into it
    Set& operator=(const Set&) = delete;

    std::optional<Matrix> samples, graph;
    Neighbors neighbors;
    Distances distances;
    fastfs_disc_set core;
};

template <class T>
py::object array_of(const T* values, std::vector<py::ssize_t> shape) {
    if (values == nullptr) return py::none();
    return py::array_t<T>(std::move(shape), values);
}

py::dict to_dict(const fastfs::disc_result& r) {
    const auto p = static_cast<py::ssize_t>(r.n_features), m = static_cast<py::ssize_t>(r.n_vectors),
               d = static_cast<py::ssize_t>(r.n_components), stored = static_cast<py::ssize_t>(r.n_stored);
    static const char* graphs[] = {"dense", "knn"};
    static const char* reasons[] = {"asked", "size", "memory"};
    py::dict result;
    result["graph"] = graphs[r.graph];
    result["graph_reason"] = reasons[r.graph_reason];
    result["dense_bytes"] = r.dense_bytes;
    result["warnings"] = r.warnings;
    result["n_connected"] = r.n_connected;
    result["n_differential"] = r.n_differential;
    result["gap"] = r.gap;
    result["ratio"] = r.ratio;
    result["significance"] = array_of(r.significance, {m});
    result["vectors"] = array_of(r.vectors, {m, p});
    result["trivial"] = array_of(r.trivial, {m});
    result["eigenvalues"] = array_of(r.eigenvalues, {d + 1});
    result["diffusion"] = array_of(r.diffusion, {d, p});
    result["bandwidths"] = array_of(r.bandwidths, {p});
    result["scores"] = array_of(r.scores, {p});
    result["indptr"] = array_of(r.indptr, {p + 1});
    result["indices"] = array_of(r.indices, {stored});
    result["weights"] = array_of(r.weights, {stored});
    return result;
}

py::list disc(const py::list& sets, const std::string& graph, const std::string& constant,
              std::int64_t bandwidth_neighbors, std::int64_t n_neighbors, double density, std::int64_t n_vectors,
              std::int64_t n_differential, std::uint64_t seed, const py::object& run_) {
    std::vector<std::unique_ptr<Set>> owners;
    std::vector<fastfs::disc_set> views;
    for (const auto& set : sets) {
        owners.push_back(std::make_unique<Set>(set.cast<py::dict>()));
        views.push_back(owners.back()->core);
    }
    auto options = fastfs::default_disc_options();
    options.graph = choose(graph, {"dense", "knn", "auto"});
    options.constant = constant == "project" ? FASTFS_CONSTANT_PROJECT : FASTFS_CONSTANT_DROP;
    options.bandwidth_neighbors = bandwidth_neighbors;
    options.n_neighbors = n_neighbors;
    options.density = density;
    options.n_vectors = n_vectors;
    options.n_differential = n_differential;
    options.seed = seed;
    Call call(run_);
    const auto fitted = call([&](const fastfs::run& run) { return fastfs::disc(views, options, run); });
    py::list results;
    for (std::int64_t s = 0; s < fitted.n_sets(); ++s) results.append(to_dict(fitted.result(s)));
    return results;
}

}  // namespace

void bind_disc(py::module_& m) {
    m.attr("DISC_ONE_SAMPLE") = int{FASTFS_DISC_ONE_SAMPLE};
    m.attr("DISC_CLAMPED") = int{FASTFS_DISC_CLAMPED};
    m.attr("DISC_DUPLICATES") = int{FASTFS_DISC_DUPLICATES};
    m.attr("DISC_DISCONNECTED") = int{FASTFS_DISC_DISCONNECTED};
    m.attr("DISC_SMALL_GAP") = int{FASTFS_DISC_SMALL_GAP};
    m.attr("DISC_NOT_CONVERGED") = int{FASTFS_DISC_NOT_CONVERGED};
    m.attr("DISC_IDENTICAL") = int{FASTFS_DISC_IDENTICAL};
    m.attr("DISC_FLAT") = int{FASTFS_DISC_FLAT};

    m.def("disc", &disc, py::arg("sets"), py::arg("graph"), py::arg("constant"), py::arg("bandwidth_neighbors"),
          py::arg("n_neighbors"), py::arg("density"), py::arg("n_vectors"), py::arg("n_differential"), py::arg("seed"),
          py::arg("run"));
    m.def("nearest_features", &nearest_features, py::arg("X"), py::arg("n_neighbors"), py::arg("run"));
}

}  // namespace fastfs::bindings
