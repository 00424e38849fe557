#include "arrays.hpp"

namespace fastfs::bindings {
namespace {

py::tuple nearest_features(const py::object& X_, std::int64_t n_neighbors, int n_threads, std::int64_t max_memory,
                           py::object progress) {
    const Matrix X(X_);
    const std::int64_t d = X.view.n_cols();
    // What the core will refuse gets no arrays.
    const std::int64_t rows = n_neighbors >= 1 && n_neighbors < d ? d : 1, columns = rows == d ? n_neighbors : 1;
    py::array_t<std::int64_t> neighbors({rows, columns});
    py::array_t<double> distances({rows, columns});
    auto* neighbors_data = neighbors.mutable_data();
    auto* distances_data = distances.mutable_data();
    Call call(n_threads, max_memory, std::move(progress));
    call([&](const fastfs::run& run) {
        fastfs::check(fastfs_nearest_features(X.view.get(), n_neighbors, &run, neighbors_data, distances_data));
    });
    return py::make_tuple(neighbors, distances);
}

}  // namespace

void bind_disc(py::module_& m) {
    m.def("nearest_features", &nearest_features, py::arg("X"), py::arg("n_neighbors"), py::arg("n_threads"),
          py::arg("max_memory"), py::arg("progress"));
}

}  // namespace fastfs::bindings
