// All pairs of samples of a sparse matrix, its scales, and its dense columns, against plain loops. Exits with 77
// (skipped) if FASTFS_ISA names a set that this machine hasn't.
#include "engines/sparse_pairs.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "engines/isa/tiles.hpp"
#include "engines/scaling.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "tests.hpp"

namespace {

using namespace fastfs::core;

// A sparse matrix and a dense one with its values. Half of the lines are out of order, and some places are stored
// several times, or although they are zero.
template <class T>
struct Sparse {
    std::int64_t n, d;
    std::vector<T> dense;  // row-major
    std::vector<T> values;
    std::vector<std::int64_t> indices, indptr;
    std::vector<std::int32_t> short_indices, short_indptr;
    fastfs_matrix m = FASTFS_MATRIX_INIT;

    T& at_place(std::int64_t r, std::int64_t c) { return dense[at(r * d + c)]; }

    Sparse(std::int64_t n_rows, std::int64_t n_cols) : n(n_rows), d(n_cols), dense(at(n * d)) {
        for (std::int64_t c = 1; c < d; ++c) {  // column 0 stays empty
            const double share = c == 1 ? 1.0 : 0.5 * static_cast<double>(below(100)) / 100.0;
            const bool negative = below(2) == 0;
            for (std::int64_t r = 0; r < n; ++r) {
                if (static_cast<double>(below(1000)) >= 1000 * share) continue;
                at_place(r, c) = static_cast<T>(negative ? normal() : std::abs(normal()));
            }
        }
        for (std::int64_t c = 0; c < d; ++c) {
            at_place(n / 3, c) = 0;               // an empty row
            at_place(n - 1, c) = at_place(0, c);  // and two equal ones
        }
    }

    Matrix store(bool csr, int bits) {
        values.clear();
        indices.clear();
        indptr = {0};
        for (std::int64_t o = 0; o < (csr ? n : d); ++o) {
            for (std::int64_t i = 0; i < (csr ? d : n); ++i) {
                const T x = csr ? at_place(o, i) : at_place(i, o);
                if (x == 0 && below(50) > 0) continue;
                const int times = below(10) == 0 ? 2 : 1;
                for (int k = 0; k < times; ++k) {
                    indices.push_back(i);
                    values.push_back(x / static_cast<T>(times));  // halves are exact
                }
            }
            if (below(2) == 0) {
                std::reverse(indices.begin() + static_cast<std::ptrdiff_t>(indptr.back()), indices.end());
                std::reverse(values.begin() + static_cast<std::ptrdiff_t>(indptr.back()), values.end());
            }
            indptr.push_back(static_cast<std::int64_t>(indices.size()));
        }
        short_indices.assign(indices.begin(), indices.end());
        short_indptr.assign(indptr.begin(), indptr.end());
        m.values = values.data();
        m.dtype = sizeof(T) == 4 ? FASTFS_FLOAT32 : FASTFS_FLOAT64;
        m.n_rows = n;
        m.n_cols = d;
        m.storage = csr ? FASTFS_CSR : FASTFS_CSC;
        m.index_bits = bits;
        m.indices = bits == 32 ? static_cast<const void*>(short_indices.data()) : indices.data();
        m.indptr = bits == 32 ? static_cast<const void*>(short_indptr.data()) : indptr.data();
        return Matrix(m);
    }

    Matrix dense_matrix() const {
        fastfs_matrix of_all = FASTFS_MATRIX_INIT;
        of_all.values = dense.data();
        of_all.dtype = sizeof(T) == 4 ? FASTFS_FLOAT32 : FASTFS_FLOAT64;
        of_all.n_rows = n;
        of_all.n_cols = d;
        of_all.row_stride = d;
        of_all.col_stride = 1;
        return Matrix(of_all);
    }
};

std::vector<std::int64_t> range(std::int64_t n) {
    std::vector<std::int64_t> numbers(at(n));
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

constexpr double kEps = std::numeric_limits<double>::epsilon();

template <class T>
void test_sums(std::int64_t n, std::int64_t d, bool csr, int bits) {
    Sparse<T> X(n, d);
    const Matrix m = X.store(csr, bits);
    std::vector<std::int64_t> features;  // some, out of order
    std::vector<double> factor;
    for (std::int64_t c = d - 1; c >= 0; --c) {
        if (below(4) == 0) continue;
        features.push_back(c);
        factor.push_back(std::exp(normal()));
    }
    const std::size_t width = features.size();
    const auto value = [&](std::int64_t r, std::size_t k) {
        return static_cast<double>(X.at_place(r, features[k])) * factor[k];
    };
    const std::int64_t ld = n + 3, n_some = n / 2 + 1, t0 = 1, t1 = n_some - 1;
    const auto all = range(n);
    std::vector<std::int64_t> some;  // in any order, some twice
    for (std::int64_t t = 0; t < n_some; ++t) some.push_back(below(n));
    const double nothing = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> g(at(n * ld), nothing), other_g(at((t1 - t0) * ld), nothing);
    std::vector<WeightedPair> pairs;
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
            if (i != j) g[at(i * ld + j)] = normal();
            if (i < t1 - t0) other_g[at(i * ld + j)] = normal();
            if (below(20) == 0) pairs.push_back({i, j, normal()});
        }
    }

    std::vector<std::vector<double>> first;
    for (const int n_threads : {1, 2, 3}) {
        Run run(threads(n_threads));
        const SparseFeatures data(m, features, factor, run);
        CHECK(data.n_samples() == n && data.n_features() == static_cast<std::int64_t>(width));
        std::vector<double> distances(at(n * ld), 0.0), added(at(n * ld), 8.0), others(at((t1 - t0) * ld), 0.0);
        data.pair_sums(all, 0, n, distances.data(), ld, run);
        data.pair_sums(all, 0, n, added.data(), ld, run);
        data.pair_sums(some, t0, t1, others.data(), ld, run);
        std::vector<double> of_all(width, 5.0), of_some(width, 5.0), of_list(width, 5.0);
        data.feature_sums(all, 0, n, g.data(), ld, of_all.data(), run);
        data.feature_sums(some, t0, t1, other_g.data(), ld, of_some.data(), run);
        data.feature_sums(pairs, of_list.data(), run);
        const std::vector<std::vector<double>> found{distances, added, others, of_all, of_some, of_list};
        if (n_threads == 1) first = found;
        CHECK(found == first);
    }

    // Each term is rounded once per addition.
    bool close = true, symmetric = true, same = true, outside_untouched = true, adds = true;
    const double additions = static_cast<double>(d + 4) * kEps;
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
            const double found = first[0][at(i * ld + j)];
            double sum = 0, size = 0;
            for (std::size_t k = 0; k < width; ++k) {
                sum += std::abs(value(i, k) - value(j, k));
                size += std::abs(value(i, k)) + std::abs(value(j, k));
            }
            close = close && found >= 0 && std::abs(found - sum) <= additions * size;
            symmetric = symmetric && found == first[0][at(j * ld + i)] && (sum != 0 || found == 0);
            adds = adds && first[1][at(i * ld + j)] == 8.0 + found;
        }
        for (std::int64_t j = n; j < ld; ++j) outside_untouched = outside_untouched && first[1][at(i * ld + j)] == 8;
    }
    for (std::int64_t t = t0; t < t1; ++t) {
        for (std::int64_t j = 0; j < n; ++j) {
            same = same && first[2][at((t - t0) * ld + j)] == first[0][at(some[at(t)] * ld + j)];
        }
    }
    CHECK(close);
    CHECK(symmetric);
    CHECK(adds);
    CHECK(same);
    CHECK(outside_untouched);
    CHECK(first[0][at(n - 1)] == 0);  // of equal samples

    const auto check = [&](const std::vector<double>& found, auto&& for_pairs) {
        bool right = true;
        for (std::size_t k = 0; k < width; ++k) {
            double sum = 5, size = 5;
            for_pairs([&](std::int64_t i, std::int64_t j, double weight) {
                sum += weight * std::abs(value(i, k) - value(j, k));
                size += std::abs(weight) * (std::abs(value(i, k)) + std::abs(value(j, k)));
            });
            right = right && std::abs(found[k] - sum) <= 4 * static_cast<double>(n) * kEps * size;
        }
        CHECK(right);
    };
    check(first[3], [&](auto&& f) {
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = 0; j < n; ++j) {
                if (i != j) f(i, j, g[at(i * ld + j)]);
            }
        }
    });
    check(first[4], [&](auto&& f) {
        for (std::int64_t t = t0; t < t1; ++t) {
            for (std::int64_t j = 0; j < n; ++j) f(some[at(t)], j, other_g[at((t - t0) * ld + j)]);
        }
    });
    check(first[5], [&](auto&& f) {
        for (const auto& [i, j, weight] : pairs) f(i, j, weight);
    });
}

void test_nothing() {
    Sparse<double> X(3, 2);
    const Matrix m = X.store(true, 32);
    Run run(threads(2));
    std::vector<double> out(9, 2.0), g(9, 1.0), sums(1, 3.0);
    const SparseFeatures none(m, {}, {}, run), empty(m, {0}, {1.0}, run);
    for (const auto* data : {&none, &empty}) {
        data->pair_sums({0, 1, 2}, 0, 3, out.data(), 3, run);
        data->feature_sums({0, 1, 2}, 0, 3, g.data(), 3, sums.data(), run);
        data->feature_sums({}, sums.data(), run);
        data->feature_sums({{0, 1, 1.0}}, sums.data(), run);
        CHECK(out == std::vector<double>(9, 2.0) && sums[0] == 3);
    }
}

template <class T>
void test_scales(bool csr) {
    Sparse<T> X(83, 70);
    for (std::int64_t r = 0; r < X.n; ++r) X.at_place(r, 3) = T(2.5);
    const Matrix m = X.store(csr, 64), dense = X.dense_matrix();
    Run run(threads(2));
    for (const Scaling scaling : {Scaling::kNone, Scaling::kRange}) {
        const auto found = find_scales(m, scaling, run), wanted = find_scales(dense, scaling, run);
        CHECK(found.factor == wanted.factor && found.uneven == wanted.uneven);
        CHECK(found.factor[0] == 0 && found.factor[3] == 0);
        CHECK(found.shift == std::vector<double>(70, 0.0));
    }
    CHECK(refusal([&] { find_scales(m, Scaling::kStandard, run); }).find("X must be dense for scaling to mean 0") !=
          std::string::npos);

    // Sparse matrices are refused with the words of dense ones.
    const auto check = [&](Scaling scaling, const char* part) {
        const auto said = refusal([&] { find_scales(X.store(csr, 32), scaling, run); });
        CHECK(said == refusal([&] { find_scales(X.dense_matrix(), scaling, run); }));
        CHECK(said.find(part) != std::string::npos);
    };
    const T before = X.at_place(8, 20);
    X.at_place(8, 20) = T(40000);
    CHECK(find_scales(X.store(csr, 32), Scaling::kNone, run).uneven);
    X.at_place(8, 20) = sizeof(T) == 4 ? T(1e30) : static_cast<T>(1e200);
    check(Scaling::kNone, "column 20 ");
    X.at_place(8, 20) = std::numeric_limits<T>::quiet_NaN();
    X.at_place(9, 10) = std::numeric_limits<T>::infinity();
    check(Scaling::kRange, "row 8, column 20");
    X.at_place(8, 20) = before;
    check(Scaling::kNone, "row 9, column 10");
    std::fill(X.dense.begin(), X.dense.end(), T(0));
    check(Scaling::kRange, "constant");
    for (std::int64_t r = 0; r < X.n; ++r) {  // deviations of 0.5 and 400
        X.at_place(r, 1) = T(r % 2);
        X.at_place(r, 2) = T(r % 2 == 0 ? 400 : -400);
    }
    CHECK(!find_scales(X.store(csr, 32), Scaling::kNone, run).uneven);
    for (std::int64_t r = 0; r < X.n; ++r) X.at_place(r, 2) *= T(1.5);
    CHECK(find_scales(X.store(csr, 32), Scaling::kNone, run).uneven);
    std::fill(X.dense.begin(), X.dense.end(), T(0));
    X.at_place(1, 1) = static_cast<T>(sizeof(T) == 4 ? 1e-30 : 1e-200);
    check(Scaling::kNone, "at least");
    X.at_place(1, 1) = 2 * std::numeric_limits<T>::denorm_min();  // store() may halve it
    if (sizeof(T) == 8) check(Scaling::kRange, "column 1 ");
}

template <class T>
void test_dense_columns(bool csr) {
    Sparse<T> X(300, 90);
    const Matrix m = X.store(csr, 32);
    Run run(threads(3));
    std::vector<std::int64_t> columns;
    for (std::int64_t c = 89; c >= 0; c -= 1 + below(2)) columns.push_back(c);
    std::vector<T> gathered(at(300) * columns.size(), T(-1));
    gather_columns(m, columns, gathered.data(), run);
    bool right = true;
    for (std::int64_t r = 0; r < 300; ++r) {
        for (std::size_t k = 0; k < columns.size(); ++k) {
            right = right && gathered[at(r) * columns.size() + k] == X.at_place(r, columns[k]);
        }
    }
    CHECK(right);

    const auto split = split_by_density(m, columns, run);
    CHECK(split.sparse.size() + split.dense.size() == columns.size() && !split.sparse.empty() && !split.dense.empty());
    const auto stored = [&](std::int64_t c) {
        if (!csr) return X.indptr[at(c) + 1] - X.indptr[at(c)];
        return static_cast<std::int64_t>(std::count(X.indices.begin(), X.indices.end(), c));
    };
    for (const auto c : split.sparse) CHECK(4 * stored(c) <= 300);
    for (const auto c : split.dense) CHECK(4 * stored(c) > 300);
}

void test_limits() {
    Sparse<float> X(500, 60);
    const Matrix m = X.store(true, 32);
    const auto features = range(60), rows = range(500);
    const std::vector<double> factor(60, 1.0);
    Run run(threads(1));
    const SparseFeatures data(m, features, factor, run);
    std::vector<double> out(500 * 500), sums(60);
    const auto calls = [&](Run& limited) {
        const auto stops = [&](auto&& call) {
            try {
                call();
            } catch (const OutOfMemory&) {
                return 'm';
            } catch (const Canceled&) {
                return 'c';
            } catch (const Answered&) {
                return 'a';
            }
            return '-';
        };
        return std::string{stops([&] { SparseFeatures(m, features, factor, limited); }),
                           stops([&] { data.pair_sums(rows, 0, 500, out.data(), 500, limited); }),
                           stops([&] { data.pair_sums(rows, 3, 40, out.data(), 500, limited); }),
                           stops([&] { data.feature_sums(rows, 0, 500, out.data(), 500, sums.data(), limited); }),
                           stops([&] { data.feature_sums({{1, 2, 1.0}}, sums.data(), limited); })};
    };
    CHECK(calls(run) == "-----");
    Run small(threads(1, 1000));
    CHECK(calls(small) == "mmmmm");

    auto how = threads(2);
    how.progress = [](void*, const char*, double) { return 1; };
    Run canceled(how);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));  // a report comes after 0.05 s
    CHECK(calls(canceled) == "ccccc");

    std::int64_t needed = 0;
    how = threads(1);
    how.bytes_needed = &needed;
    Run question(how);
    CHECK(calls(question) == "aaaaa");
    CHECK(needed >= SparseFeatures::memory(m, 60, 1));
}

}  // namespace

int main() {
    try {
        isa();
    } catch (const InvalidArgument& e) {
        std::printf("skipped: %s\n", e.what());
        return 77;
    }
    for (const bool csr : {true, false}) {
        test_sums<float>(2, 40, csr, 32);
        test_sums<double>(SparseFeatures::kSide, 30, csr, 64);
        test_sums<float>(SparseFeatures::kSide + 1, 30, csr, 64);
        test_sums<double>(2 * SparseFeatures::kSide + 35, 61, csr, 32);
        test_scales<float>(csr);
        test_scales<double>(csr);
        test_dense_columns<float>(csr);
        test_dense_columns<double>(csr);
    }
    test_nothing();
    test_limits();
    std::printf("%s: %d failures\n", isa().name, failures);
    return failures != 0;
}
