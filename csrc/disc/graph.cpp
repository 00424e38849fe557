#include "disc/graph.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "disc/entries.hpp"
#include "engines/affinity.hpp"
#include "engines/isa/tiles.hpp"
#include "engines/neighbors.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"
#include "support/ties.hpp"

namespace fastfs::core {
namespace {

constexpr double kHuge = std::numeric_limits<double>::max();

// The recall of lists below which the largest significances change by more than .01 to .03 (docs/disc.md).
constexpr double kLowRecall = 0.9;

// The number of neighbours beyond which ties go to the lowest columns: a feature can have thousands of copies.
constexpr std::int64_t kMostTied = 1000;

// Sets `to`, which can be X, to diag(factors) X, for blocks of kBlock vectors.
template <class T>
void scale_rows(const Numbers& factors, const double* X, T* to, Run& run) {
    constexpr std::int64_t kRows = 4096;
    const std::int64_t n = std::ssize(factors);
    parallel_for(run, ceil_div(n, kRows), [&](std::int64_t task, int) {
        for (std::int64_t i = task * kRows; i < std::min((task + 1) * kRows, n); ++i) {
            for (std::int64_t e = i * kBlock; e < (i + 1) * kBlock; ++e) to[e] = static_cast<T>(factors[at(i)] * X[e]);
        }
    });
}

double median(Numbers values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

[[noreturn]] void all_equal(const Name& name) {
    refuse({"features of ", name, " must differ, so that their distances set bandwidths; got equal ones: drop copies"});
}

void require_affinity(double value, std::int64_t i, std::int64_t j, const Name& name) {
    require(value >= 0 && value <= kHuge, "affinities must be finite and not negative; got ", value, " for ",
            Name::column(i), " and ", Name::column(j), " of ", name);
}

// Returns eps_i^2 from the squared distances between all features: the k-th smallest distance to another feature or, if
// that is 0, the smallest positive one, which sets `duplicates`. Throws if all features are equal.
Numbers squared_bandwidths(const double* D2, std::int64_t p, std::int64_t k, const Name& name, bool& duplicates,
                           Run& run) {
    Numbers eps2 = numbers(p);
    constexpr std::int64_t kRows = 64;
    std::vector<std::vector<float>> rounded(at(run.n_threads()), std::vector<float>(at(p)));
    std::vector<Numbers> nearest(at(run.n_threads()), numbers(p));
    std::vector<std::uint8_t> zero(at(p));
    const auto bound_kth = isa().bound_kth;
    parallel_for(run, ceil_div(p, kRows), [&](std::int64_t task, int slot) {
        float* single = rounded[at(slot)].data();
        double* near = nearest[at(slot)].data();
        for (std::int64_t i = task * kRows; i < std::min((task + 1) * kRows, p); ++i) {
            // Rounding to single precision keeps the order: the k nearest are below a bound of the k-th rounded
            // distance.
            const double* row = D2 + i * p;
            for (std::int64_t j = 0; j < p; ++j) single[j] = static_cast<float>(row[j]);
            single[i] = single[p - 1];
            const float bound = bound_kth(single, p - 1, k);
            single[p - 1] = static_cast<float>(row[p - 1]);
            single[i] = std::numeric_limits<float>::quiet_NaN();
            std::int64_t count = 0;
            for (std::int64_t j = 0; j < p; ++j) {  // no branch: `near` has room for all distances
                near[count] = row[j];
                count += single[j] <= bound;
            }
            std::nth_element(near, near + (k - 1), near + count);
            double eps = near[k - 1];
            if (eps == 0) {
                zero[at(i)] = 1;
                eps = kHuge;
                for (std::int64_t j = 0; j < p; ++j) eps = row[j] > 0 ? std::min(eps, row[j]) : eps;
            }
            eps2[at(i)] = eps;
        }
    });
    for (double eps : eps2) {
        if (eps == kHuge) all_equal(name);
    }
    duplicates = std::find(zero.begin(), zero.end(), 1) != zero.end();
    return eps2;
}

// Overwrites the squared distances D2 by the upper triangle of W, W_ij = (E_ij + E_ji) / 2 with E_ij = exp(-D_ij^2 /
// eps_i^2).
void adaptive_affinity(double* D2, const Numbers& eps2, Run& run) {
    const auto p = static_cast<std::int64_t>(eps2.size());
    Numbers inverse = eps2;
    for (double& e : inverse) e = std::min(1 / e, kHuge);
    constexpr std::int64_t kStep = 1024;
    std::vector<Numbers> rows(at(run.n_threads()), numbers(kStep));
    const auto exp_neg = tile_kernels<double>().exp_neg;
    parallel_for(run, p, [&](std::int64_t i, int slot) {
        double* other = rows[at(slot)].data();
        for (std::int64_t first = i; first < p; first += kStep) {
            const std::int64_t n = std::min(kStep, p - first);
            double* row = D2 + i * p + first;
            for (std::int64_t j = 0; j < n; ++j) other[j] = row[j] * inverse[at(first + j)];
            exp_neg(other, n, 1.0);
            exp_neg(row, n, inverse[at(i)]);
            for (std::int64_t j = 0; j < n; ++j) row[j] = 0.5 * (row[j] + other[j]);
        }
        D2[i * p + i] = 1;
    });
}

// Squared distances between all features, and their norms.
struct Distances {
    double unit = 1;  // all are in units of its square
    Numbers norms;
    Buffer<double> D2;
};

// Returns the squared distances between all features of a set, their unit, and the norms of the features; flags the
// graph if digits are lost.
Distances all_distances(const DiscSet& set, const Name& name, Run& run, Graph& graph) {
    const std::int64_t p = set.n_features;
    Distances distances;
    if (set.sums) {
        FeatureSums::Total total = set.sums->total({set.group}, name);
        if (total.make_distances(run)) graph.warnings |= kSetDigits;
        distances.norms = std::move(total.norms);
        distances.D2 = std::move(total.products);
    } else {
        const Samples X(*set.X);
        const std::vector<std::int64_t> rows = up_to(X.n_rows());
        distances.unit = common_unit(maxima_of_differences(X, run), rows);
        distances.D2 = Buffer<double>(p * p);
        distances.norms = squared_distances_upper(X, rows, distances.unit, run, distances.D2.data());
    }
    mirror_upper(p, run, distances.D2.data());
    return distances;
}

// Sets the dense W, the bandwidths and the flags of the graph from the distances of all pairs. The bandwidth is
// the distance to the k-th nearest feature (k >= 1).
void make_dense(const DiscSet& set, std::int64_t k, const Name& name, Run& run, Graph& graph) {
    const std::int64_t p = set.n_features;
    auto [unit, norms, W] = all_distances(set, name, run, graph);
    bool duplicates = false;
    const Numbers eps2 = squared_bandwidths(W.data(), p, k, name, duplicates, run);
    if (duplicates) graph.warnings |= kSetDuplicates;
    graph.bandwidths = eps2;
    for (double& eps : graph.bandwidths) eps = unit * std::sqrt(eps);
    if (set.custom) {
        const Kernel kernel{Kernel::Kind::kCustom, median(graph.bandwidths), set.custom, set.user};
        custom_kernel_upper(kernel, norms, unit, run, W.data());
        for (std::int64_t i = 0; i < p; ++i) {
            for (std::int64_t j = i; j < p; ++j) require_affinity(W[i * p + j], i, j, name);
        }
    } else {
        adaptive_affinity(W.data(), eps2, run);
    }
    mirror_upper(p, run, W.data());
    graph.dense = {p, std::move(W), run};
}

// Returns |x_i|^2 of all features, in the unit of the data; throws if a square overflows.
Numbers squared_norms(const Samples& X, Run& run) {
    const std::vector<std::int64_t> rows = up_to(X.n_rows());
    run.require_memory(Features<double>::memory(X, X.n_rows()), "the norms of the features");
    const Features<double> features(X, rows, common_unit(X.row_maxima(run), rows), Shift::kNone, run);
    Numbers norms = numbers(X.n_cols());
    features.add_original_norms(norms.data(), run);
    for (double& norm : norms) {
        norm *= features.unit() * features.unit();
        require(4 * norm <= kHuge,
                "the values of X are too large: their squares overflow float64; divide X by a constant first");
    }
    return norms;
}

// Writes the k nearest features of each feature, nearest first, and their distances, rows of k, and sets ties.of as
// nearest_features does, from the distances of all pairs.
void nearest_of_all(const Distances& all, std::int64_t p, std::int64_t k, Run& run, std::int64_t* neighbors,
                    double* distances, TiedFeatures& ties) {
    constexpr std::int64_t kRows = 64;
    ties.of.assign(at(p), {});
    parallel_for(run, ceil_div(p, kRows), [&](std::int64_t task, int) {
        std::vector<std::pair<double, std::int64_t>> others(at(p));
        for (std::int64_t i = task * kRows; i < std::min((task + 1) * kRows, p); ++i) {
            for (std::int64_t j = 0; j < p; ++j) others[at(j)] = {j == i ? kHuge : all.D2[i * p + j], j};
            std::partial_sort(others.begin(), others.begin() + k, others.end());
            for (std::int64_t e = 0; e < k; ++e) {
                neighbors[i * k + e] = others[at(e)].second;
                distances[i * k + e] = all.unit * std::sqrt(others[at(e)].first);
            }
            const double farthest = distances[i * k + ties.place];
            if (!equal_distances(distances[i * k + k - 1], farthest)) continue;
            std::vector<TiedFeatures::Neighbor> tied;
            for (std::int64_t j = 0; j < p; ++j) {
                const double distance = all.unit * std::sqrt(all.D2[i * p + j]);
                if (j == i || (distance > farthest && !equal_distances(distance, farthest))) continue;
                tied.push_back({j, distance});
            }
            if (std::ssize(tied) <= ties.most) ties.of[at(i)] = std::move(tied);
        }
    });
}

// Throws unless the caller's K neighbors of each feature are K different other features, with finite, ascending
// distances of at least 0, and bandwidth_neighbors <= K.
void check_neighbors(const DiscSet& set, std::int64_t bandwidth_neighbors, const Name& name) {
    const std::int64_t p = set.n_features, K = set.n_neighbors;
    require(K < p, "n_neighbors of ", name, " must be at most the ", p - 1, " other features; got ", K);
    require(K >= bandwidth_neighbors, "bandwidth_neighbors must be at most the ", K, " neighbors of each feature of ",
            name, "; got ", bandwidth_neighbors);
    std::vector<std::int64_t> seen(at(p), -1);
    for (std::int64_t i = 0; i < p; ++i) {
        for (std::int64_t e = i * K; e < (i + 1) * K; ++e) {
            const std::int64_t j = set.neighbors[e];
            const double d = set.distances[e];
            const auto it = [&] { return Message("neighbor ", e - i * K, " of ", Name::column(i), " in ", name); };
            require(j >= 0 && j < p && j != i, it(), " must be another feature, from 0 to ", p - 1, "; got ", j);
            require(seen[at(j)] != i, it(), " must differ from those before it; got ", Name::column(j), " again");
            seen[at(j)] = i;
            require(d >= 0 && d <= kHuge && (e == i * K || d >= set.distances[e - 1]),
                    "distances must be finite and not negative, and ascend in each row; got ", d, " for ", it());
        }
    }
}

// Sets the sparse W = I + (E + E') / 2, the bandwidths, the flags and, by lists, the order of the rows of the graph,
// with E_ij for the n_neighbors nearest j of i and for all j that tie with the last of them. The bandwidth is
// the distance to the k-th nearest feature (k >= 1). end: the share of the call that is finished afterwards.
void make_of_neighbors(const DiscSet& set, const fastfs_disc_options& options, std::int64_t k, const Name& name,
                       double end, Run& run, Graph& graph) {
    const std::int64_t p = set.n_features;
    std::int64_t n_neighbors = std::min(options.n_neighbors, p - 1), stride = set.n_neighbors;
    const std::int64_t* neighbors = set.neighbors;
    const double* distances = set.distances;
    Buffer<std::int64_t> neighbor_buffer;
    Buffer<double> distance_buffer;
    std::vector<std::int64_t> row_of = up_to(p);
    TiedFeatures ties{n_neighbors - 1, std::max(kMostTied, n_neighbors), {}};
    std::int64_t n_bounding = 0;  // neighbours that bandwidths may be taken from
    if (neighbors) {
        check_neighbors(set, k, name);
        n_neighbors = std::min(n_neighbors, stride);
        n_bounding = stride;
        if (set.lost_digits) graph.warnings |= kSetDigits;
    } else {
        n_bounding = std::max(k, n_neighbors);
        // An additional neighbour tells if the last one ties with others. Lists may have missed ties anyway.
        stride = options.graph == FASTFS_GRAPH_LISTS && !set.sums ? n_bounding : std::min(n_bounding + 1, p - 1);
        neighbor_buffer = Buffer<std::int64_t>(p * stride);
        distance_buffer = Buffer<double>(p * stride);
        if (set.sums) {
            const Distances all = all_distances(set, name, run, graph);
            nearest_of_all(all, p, stride, run, neighbor_buffer.data(), distance_buffer.data(), ties);
        } else if (options.graph == FASTFS_GRAPH_LISTS) {
            const Samples X(*set.X);
            ListedNeighbors listed = nearest_features_by_lists(X, up_to(X.n_rows()), stride, options.seed, run,
                                                               neighbor_buffer.data(), distance_buffer.data(), end);
            for (std::int64_t row = 0; row < p; ++row) row_of[at(listed.order[at(row)])] = row;
            graph.features = std::move(listed.order);
            graph.recall = listed.recall;
            if (graph.recall < kLowRecall) graph.warnings |= kSetLowRecall;
        } else {
            nearest_features(Samples(*set.X), stride, run, neighbor_buffer.data(), distance_buffer.data(), end, &ties);
        }
        neighbors = neighbor_buffer.data();
        distances = distance_buffer.data();
    }

    graph.bandwidths = numbers(p);
    bool distinct = false;
    for (std::int64_t i = 0; i < p; ++i) {
        const double* row = distances + i * stride;
        double eps = row[k - 1];
        distinct |= row[n_bounding - 1] > 0;
        if (eps == 0) {
            // If no distance is positive, the affinities to the listed neighbours are 1 for any bandwidth.
            const double* positive = std::find_if(row, row + n_bounding, [](double d) { return d > 0; });
            eps = positive < row + n_bounding ? *positive : 0;
            graph.warnings |= kSetDuplicates;
        }
        graph.bandwidths[at(i)] = eps;
    }
    if (!distinct) all_equal(name);

    const Numbers norms = set.custom ? squared_norms(Samples(*set.X), run) : Numbers();
    const double sigma = set.custom ? median(graph.bandwidths) : 0;
    // Returns the number of neighbours of feature i, from its list unless `ties` has its neighbours.
    const auto n_neighbors_of = [&](std::int64_t i) {
        if (ties.of.empty()) return n_neighbors;
        if (!ties.of[at(i)].empty()) return std::ssize(ties.of[at(i)]);
        const double *from = distances + i * stride + n_neighbors, *to = distances + (i + 1) * stride;
        const double* next = std::find_if(from, to, [&](double d) { return !equal_distances(d, from[-1]); });
        return next == to && stride < p - 1 ? n_neighbors : n_neighbors + (next - from);
    };
    std::vector<std::int64_t> begins(at(p + 1));
    for (std::int64_t r = 0; r < p; ++r) begins[at(r) + 1] = begins[at(r)] + n_neighbors_of(graph.feature(r));
    run.require_memory(36 * (begins.back() - p * n_neighbors), "neighbours at equal distances",
                       "leave out copies of features");
    Entries E{std::move(begins), {}, {}};
    E.columns.resize(at(E.begins.back()));
    E.values.resize(E.columns.size());
    Numbers diagonal(at(p), 1.0);
    constexpr std::int64_t kRows = 256;
    constexpr std::int64_t kExchanged = 16;  // rows that a custom kernel is given in the other order, too
    parallel_for(run, ceil_div(p, kRows), [&](std::int64_t task, int) {
        std::vector<std::pair<std::int32_t, double>> row;
        Numbers near;
        for (std::int64_t r = task * kRows; r < std::min((task + 1) * kRows, p); ++r) {
            const std::int64_t i = graph.feature(r);
            const std::int64_t begin = E.begins[at(r)], n = E.begins[at(r) + 1] - begin;
            row.clear();
            const auto add = [&](std::int64_t j, double d) {
                row.emplace_back(static_cast<std::int32_t>(row_of[at(j)]), d);
            };
            if (!ties.of.empty() && !ties.of[at(i)].empty()) {
                for (const auto& [j, d] : ties.of[at(i)]) add(j, d);
            } else {
                for (std::int64_t e = i * stride; e < i * stride + n; ++e) add(neighbors[e], distances[e]);
            }
            std::sort(row.begin(), row.end());
            near.resize(set.custom ? row.size() : 0);
            double* values = E.values.data() + begin;
            for (std::int64_t e = 0; e < n; ++e) {
                E.columns[at(begin + e)] = row[at(e)].first;
                // Divides by the bandwidth, so that no square overflows. If the bandwidth is 0, so are the distances.
                const double eps = set.custom ? 1 : graph.bandwidths[at(i)];
                const double d = row[at(e)].second / (eps > 0 ? eps : 1);
                values[e] = d * d;
            }
            if (!set.custom) {
                tile_kernels<double>().exp_neg(values, n, 1.0);
                continue;
            }
            const double norm = norms[at(i)];
            for (std::size_t e = 0; e < row.size(); ++e) near[e] = norms[at(graph.feature(row[e].first))];
            Numbers exchanged(values, values + (r < kExchanged ? n : 0));
            set.custom(values, n, 1, n, &norm, near.data(), sigma, set.user);
            if (!exchanged.empty()) {
                set.custom(exchanged.data(), 1, n, 1, near.data(), &norm, sigma, set.user);
                const auto refuse = [&](std::int64_t, std::int64_t e, double ij, double ji) {
                    const std::int64_t j = graph.feature(row[at(e)].first);
                    throw InvalidArgument({"the kernel of ", name, " must be symmetric; got ", ij, " for ",
                                           Name::column(i), " and ", Name::column(j), ", and ", ji,
                                           " if they are exchanged"});
                };
                require_symmetric_values(1, n, values, n, exchanged.data(), 1, refuse);
            }
            double& self = diagonal[at(r)] = 0;
            set.custom(&self, 1, 1, 1, &norm, &norm, sigma, set.user);
            require_affinity(self, i, i, name);
            for (std::size_t e = 0; e < row.size(); ++e)
                require_affinity(values[e], i, graph.feature(row[e].first), name);
        }
    });
    neighbor_buffer = {};
    distance_buffer = {};
    graph.sparse = symmetric_mean(E, transpose(E), diagonal, run);
}

// Returns the caller's W as a symmetric sparse matrix; entries at one place add up. Throws if a value is negative or W
// isn't symmetric.
SparseSymmetric symmetric_graph_of_caller(const Matrix& given, const Name& name, Run& run) {
    const std::int64_t p = given.n_cols();
    Entries A;
    A.begins.assign(at(p + 1), 0);
    double largest = 0;
    visit_sparse(given.description(), [&](auto* values, auto* indptr, auto* indices) {
        for (std::int64_t i = 0; i < p; ++i) {
            for (std::int64_t e = indptr[i]; e < indptr[i + 1]; ++e) {
                const auto value = static_cast<double>(values[e]);
                require_affinity(value, i, indices[e], name);
                if (value == 0) continue;  // it may be stored on one side only
                A.columns.push_back(static_cast<std::int32_t>(indices[e]));
                A.values.push_back(value);
                largest = std::max(largest, value);
            }
            A.begins[at(i) + 1] = static_cast<std::int64_t>(A.columns.size());
        }
    });
    // Two transpositions sort the columns of a row, which makes entries at one place adjacent.
    Entries sorted = transpose(transpose(A));
    std::size_t to = 0;
    for (std::size_t i = 0, from = 0; i < at(p); ++i) {
        const std::size_t first = to, end = at(sorted.begins[i + 1]);
        for (; from < end; ++from) {
            if (to > first && sorted.columns[to - 1] == sorted.columns[from]) {
                sorted.values[to - 1] += sorted.values[from];
                continue;
            }
            sorted.columns[to] = sorted.columns[from];
            sorted.values[to++] = sorted.values[from];
        }
        sorted.begins[i + 1] = static_cast<std::int64_t>(to);
    }
    sorted.columns.resize(to);
    sorted.values.resize(to);
    const Entries transposed = transpose(sorted);
    // Tests symmetry to the rounding of single precision.
    for (std::size_t i = 0; i < at(p); ++i) {
        bool same = sorted.begins[i + 1] == transposed.begins[i + 1];
        for (auto e = at(sorted.begins[i]); same && e < at(sorted.begins[i + 1]); ++e) {
            same = sorted.columns[e] == transposed.columns[e] &&
                   std::abs(sorted.values[e] - transposed.values[e]) <= 1e-6 * largest;
        }
        const auto row = static_cast<std::int64_t>(i);
        require(same, "the graph W of ", name, " must be symmetric; got different values for ", Name::column(row),
                " as a row and as a column: give (W + W.T) / 2");
    }
    return symmetric_mean(sorted, transposed, numbers(p), run);
}

// Sets c = q^-alpha with q = W 1, and g, the row sums of diag(c) W diag(c); W stays. Throws if a row sum is 0 or not
// finite.
void set_walk_factors(Graph& graph, double alpha, const Name& name, Run& run) {
    const std::int64_t p = graph.p;
    const Numbers ones(at(p), 1.0), q = graph.times(ones, ones, ones, run);
    graph.c = numbers(p);
    for (std::size_t i = 0; i < q.size(); ++i) {
        // For a smaller q, 1 / q isn't finite.
        require(q[i] >= std::numeric_limits<double>::min() && q[i] <= kHuge,
                "affinities must have a positive, finite sum for each feature; got ", q[i], " for ",
                Name::column(graph.feature(static_cast<std::int64_t>(i))), " of ", name, ": ",
                q[i] == 0 ? "give it an affinity to itself" : "multiply them by a constant first");
        graph.c[i] = std::pow(q[i], -alpha);
    }
    graph.g = graph.times(graph.c, ones, graph.c, run);
}

}  // namespace

std::int64_t DiscSet::n_rows() const {
    if (!sums) return X ? X->n_rows() : 0;
    Numbers counts = numbers(sums->n_groups());
    sums->counts(counts.data());
    return static_cast<std::int64_t>(counts[at(group)]);
}

Numbers Graph::by_feature(Numbers of_rows) const {
    if (features.empty()) return of_rows;
    Numbers result(of_rows.size());
    for (std::size_t first = 0; first < result.size(); first += features.size()) {
        for (std::size_t row = 0; row < features.size(); ++row) {
            result[first + at(features[row])] = of_rows[first + row];
        }
    }
    return result;
}

Numbers Graph::by_row(Numbers of_features) const {
    if (features.empty()) return of_features;
    Numbers result(of_features.size());
    for (std::size_t first = 0; first < result.size(); first += features.size()) {
        for (std::size_t row = 0; row < features.size(); ++row) {
            result[first + row] = of_features[first + at(features[row])];
        }
    }
    return result;
}

Numbers Graph::times(const Numbers& left, const Numbers& x, const Numbers& right, Run& run) const {
    Buffer<double> X(p * kBlock), Y(p * kBlock);
    std::fill_n(X.data(), p * kBlock, 0.0);
    Numbers y = x;
    for (std::size_t i = 0; i < x.size(); ++i) X[static_cast<std::int64_t>(i) * kBlock] = x[i];
    GraphProducts(*this, GraphProducts::Precision::kDouble).multiply(left, X.data(), right, Y.data(), run);
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = Y[static_cast<std::int64_t>(i) * kBlock];
    return y;
}

// Allocates the scratch of the precision. Refers to the graph, which must outlive this object.
GraphProducts::GraphProducts(const Graph& graph, Precision precision) : graph_(graph) {
    const std::int64_t size = graph.p * kBlock;
    if (precision == Precision::kDouble) {
        scaled_ = Buffer<double>(size);
    } else {
        single_ = Buffer<float>(size);
    }
}

void GraphProducts::multiply(const Numbers& left, const double* X, const Numbers& right, double* Y, Run& run) {
    if (single_.size() > 0) {
        scale_rows(right, X, single_.data(), run);
        graph_.sparse.multiply(single_.data(), Y, run);
    } else {
        scale_rows(right, X, scaled_.data(), run);
        if (graph_.dense.n() > 0) {
            graph_.dense.multiply(scaled_.data(), Y, run);
        } else {
            graph_.sparse.multiply(scaled_.data(), Y, run);
        }
    }
    scale_rows(left, Y, Y, run);
}

Graph make_graph(const DiscSet& set, const fastfs_disc_options& options, const Name& name, double end, Run& run) {
    run.step("graph of the features", end);
    Graph graph;
    graph.p = set.n_features;
    const std::int64_t k = std::min(options.bandwidth_neighbors, graph.p - 1);
    if (set.W) {
        graph.sparse = symmetric_graph_of_caller(*set.W, name, run);
    } else if (is_dense(set, options)) {
        make_dense(set, k, name, run, graph);
    } else {
        make_of_neighbors(set, options, k, name, end, run, graph);
    }
    set_walk_factors(graph, options.density, name, run);
    return graph;
}

// Returns the number of connected components of the graph.
std::int64_t count_components(const Graph& graph, Run& run) {
    const std::int64_t p = graph.p;
    std::vector<std::int64_t> unseen = up_to(p), next;
    std::int64_t components = 0;
    std::vector<std::uint8_t> seen(at(p));
    for (std::int64_t start = 0; start < p; ++start) {
        if (seen[at(start)]) continue;
        ++components;
        seen[at(start)] = 1;
        next.push_back(start);
        while (!next.empty()) {
            const std::int64_t i = next.back();
            next.pop_back();
            if (graph.dense.n() == 0) {
                for (std::int64_t e = graph.sparse.begins[i]; e < graph.sparse.begins[i + 1]; ++e) {
                    const std::int64_t j = graph.sparse.columns[e];
                    if (graph.sparse.values[e] == 0 || seen[at(j)]) continue;
                    seen[at(j)] = 1;
                    next.push_back(j);
                }
                continue;
            }
            run.checkpoint();
            // Most dense graphs hold together, and the first row leaves nothing unseen.
            std::erase_if(unseen, [&](std::int64_t j) {
                if (seen[at(j)]) return true;
                if (graph.dense(i, j) == 0) return false;
                seen[at(j)] = 1;
                next.push_back(j);
                return true;
            });
        }
    }
    return components;
}

bool is_dense(const DiscSet& set, const fastfs_disc_options& options) {
    return !set.W && !set.neighbors && options.graph == FASTFS_GRAPH_DENSE;
}

std::int64_t graph_memory(const DiscSet& set, const fastfs_disc_options& options) {
    const std::int64_t p = set.n_features;
    if (is_dense(set, options)) return 8 * p * p;
    if (set.W) return 64 * set.W->n_stored();
    const std::int64_t K = std::min(options.n_neighbors, p - 1);
    return p * (12 * (2 * K + 1) + 40);
}

std::int64_t making_memory(const DiscSet& set, const fastfs_disc_options& options, Run& run) {
    const std::int64_t p = set.n_features, graph = graph_memory(set, options);
    if (set.W) return graph;
    if (is_dense(set, options)) {
        return graph + (set.sums ? 0 : squared_distances_memory(Samples(*set.X), set.X->n_rows(), run.n_threads())) +
               8 * p * ((2 + kPanel<double>)*run.n_threads() + 4);
    }
    const std::int64_t K = std::min(options.n_neighbors, p - 1),
                       stride = std::min(std::max(K, std::min(options.bandwidth_neighbors, p - 1)) + 1, p - 1);
    const std::int64_t merged =
        24 * p * K + graph;  // for the neighbours of each feature, and for the features that have it as a neighbour
    if (set.neighbors) return merged;
    const std::int64_t neighbor_lists = 8 * p * (2 * stride + 1) + 24 * p;
    const auto search =
        options.graph == FASTFS_GRAPH_LISTS ? nearest_features_by_lists_memory : nearest_features_memory;
    const std::int64_t finding =
        set.sums ? 8 * p * (p + 2 * run.n_threads()) : search(Samples(*set.X), stride, run.n_threads());
    return std::max(neighbor_lists + std::max(finding, 12 * p * K), merged);
}

}  // namespace fastfs::core
