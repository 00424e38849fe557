#include "arrays.hpp"

#include <algorithm>

namespace fastfs::bindings {
namespace {

// Returns a view of a 2-D array of T with any strides in whole elements, or nothing for another array. Throws TypeError
// if it isn't aligned, or is broadcast: the core reads native, aligned numbers only.
template <class T>
std::optional<fastfs::matrix> dense_view(const py::array& a) {
    if (!holds<T>(a) || a.ndim() != 2) return std::nullopt;
    constexpr auto size = static_cast<py::ssize_t>(sizeof(T));
    if (a.strides(0) % size != 0 || a.strides(1) % size != 0 ||
        reinterpret_cast<std::uintptr_t>(a.data()) % sizeof(T)) {
        throw py::type_error("a matrix must be aligned in memory; got an unaligned one: pass a copy");
    }
    // A row_stride of 0 means rows one after the other.
    // Without values NumPy's strides are 0, which nothing repeats.
    if (a.size() == 0) return fastfs::matrix(static_cast<const T*>(a.data()), a.shape(0), a.shape(1), a.shape(1), 1);
    if ((a.strides(0) == 0 && a.shape(0) > 1) || (a.strides(1) == 0 && a.shape(1) > 1)) {
        throw py::type_error("a matrix must hold each value once in memory; got a broadcast one: pass a copy");
    }
    return fastfs::matrix(static_cast<const T*>(a.data()), a.shape(0), a.shape(1), a.strides(0) / size,
                          a.strides(1) / size);
}

// Returns a view of a sparse matrix of T with indices of type Index; throws if its arrays don't fit each other.
template <class T, class Index>
fastfs::matrix sparse_view(const py::object& X, const Matrix& m, bool csr) {
    const auto values = py::array(m.values), indices = py::array(m.indices), indptr = py::array(m.indptr);
    for (const auto& part : {values, indices, indptr}) {
        if (!(part.flags() & py::array::c_style)) {
            throw py::type_error(
                "a sparse matrix must have contiguous data, indices and indptr; got strided ones: pass a copy");
        }
    }
    const auto shape = X.attr("shape").cast<std::pair<std::int64_t, std::int64_t>>();
    if (indptr.size() != (csr ? shape.first : shape.second) + 1 ||
        values.size() < indptr.attr("__getitem__")(-1).cast<std::int64_t>() || indices.size() < values.size()) {
        throw std::invalid_argument(
            "the sparse matrix is inconsistent: its indptr, indices and data don't fit each other");
    }
    const auto* v = static_cast<const T*>(values.data());
    const auto* i = static_cast<const Index*>(indices.data());
    const auto* p = static_cast<const Index*>(indptr.data());
    return csr ? fastfs::matrix::csr(v, i, p, shape.first, shape.second)
               : fastfs::matrix::csc(v, i, p, shape.first, shape.second);
}

// Returns a view of a fastfs.io.Genotypes, and stores its arrays in m; throws if they don't fit. The core knows how
// many samples a SNP has, but not how many SNPs there are.
fastfs::matrix genotypes_view(const py::object& X, Matrix& m) {
    m.values = X.attr("bits");
    m.indices = X.attr("rows");
    m.indptr = X.attr("columns");
    const auto bits = py::array(m.values);
    if (!holds<std::uint8_t>(bits) || bits.ndim() != 2 || !(bits.flags() & py::array::c_style)) {
        throw py::type_error("expected the bits of genotypes as a contiguous array of uint8");
    }
    const auto n_rows = static_cast<py::ssize_t>(py::len(m.indices)),
               n_cols = static_cast<py::ssize_t>(py::len(m.indptr));
    const auto* rows = data_or_null<std::int64_t>(m.indices, "rows", {n_rows});
    const auto* columns = data_or_null<std::int64_t>(m.indptr, "columns", {n_cols});
    if (std::any_of(columns, columns + n_cols, [&](std::int64_t c) { return c < 0 || c >= bits.shape(0); })) {
        throw std::invalid_argument("the columns of genotypes must lie within their bits");
    }
    const auto are_all = [](const std::int64_t* places, py::ssize_t n) {  // read faster without a list
        for (py::ssize_t k = 0; k < n; ++k) {
            if (places[k] != k) return false;
        }
        return true;
    };
    return fastfs::matrix::genotypes(static_cast<const std::uint8_t*>(bits.data()), n_rows, n_cols, bits.shape(1),
                                     are_all(rows, n_rows) ? nullptr : rows,
                                     are_all(columns, n_cols) ? nullptr : columns);
}

// Returns a view of X of any kind, and stores in m the arrays that the view needs alive; throws TypeError for other
// objects.
fastfs::matrix view_of(const py::object& X, Matrix& m) {
    if (py::isinstance<py::array>(X)) {
        const auto a = py::array(X);
        if (auto view = dense_view<float>(a)) return *view;
        if (auto view = dense_view<double>(a)) return *view;
    } else if (py::hasattr(X, "bits")) {
        return genotypes_view(X, m);
    } else if (py::hasattr(X, "indptr")) {
        m.values = X.attr("data");
        m.indices = X.attr("indices");
        m.indptr = X.attr("indptr");
        const bool csr = X.attr("format").cast<std::string>() == "csr";
        const bool f32 = holds<float>(m.values), f64 = holds<double>(m.values);
        const bool i32 = holds<std::int32_t>(m.indices) && holds<std::int32_t>(m.indptr);
        const bool i64 = holds<std::int64_t>(m.indices) && holds<std::int64_t>(m.indptr);
        if ((f32 || f64) && (i32 || i64)) {
            if (f32)
                return i32 ? sparse_view<float, std::int32_t>(X, m, csr) : sparse_view<float, std::int64_t>(X, m, csr);
            return i32 ? sparse_view<double, std::int32_t>(X, m, csr) : sparse_view<double, std::int64_t>(X, m, csr);
        }
    }
    throw py::type_error(
        "a matrix must be a 2-D float32 or float64 ndarray, CSR or CSC matrix, or Genotypes; got another object");
}

}  // namespace

Matrix::Matrix(const py::object& X) : values(X), view(view_of(X, *this)) {}

}  // namespace fastfs::bindings
