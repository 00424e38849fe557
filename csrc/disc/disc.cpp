#include "disc/disc.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "engines/affinity.hpp"
#include "engines/isa/tiles.hpp"
#include "engines/neighbors.hpp"
#include "engines/spectral.hpp"
#include "support/errors.hpp"
#include "support/parallel.hpp"
#include "support/random.hpp"

namespace fastfs::core {
namespace {

using Numbers = std::vector<double>;
Numbers numbers(std::int64_t size) { return Numbers(static_cast<std::size_t>(size)); }

constexpr double kHuge = std::numeric_limits<double>::max();

// Residuals of eigenpairs, relative to the largest eigenvalue. The differential vectors feel those of the diffusion
// vectors divided by the gap, and have to be right to ten digits.
constexpr double kTolerance = 1e-12;

// The same of what no vector is wanted of: the eigenvalue beyond the gap, and the significance after the last.
constexpr double kGapTolerance = 1e-5, kNextTolerance = 1e-6;

// Below this gap n_components cuts a cluster of eigenvalues; below this ratio of significances there is no step.
constexpr double kSmallGap = 1e-3, kFlat = 1.25;

// What a set is to be called in messages.
std::string name_of(std::size_t s) { return "set " + std::to_string(s); }

// ---- 1: the graph W of a set ----------------------------------------------------------------------------------------

// W, all of it or its entries, with the factors of its random walk P = diag(c / g) W diag(c), c = q^-alpha.
class Graph {
  public:
    std::int64_t p = 0;
    DenseSymmetric dense;
    SparseSymmetric sparse;
    Numbers c, g;

    // Y = diag(left) W diag(right) X for a block X, which is destroyed.
    void multiply(const Numbers& left, double* X, const Numbers& right, double* Y, Run& run) const {
        scale(right, X);
        if (dense.n() > 0) {
            dense.multiply(X, Y, run);
        } else {
            sparse.multiply(X, Y, run);
        }
        scale(left, Y);
    }

    // diag(left) W diag(right) x
    Numbers times(const Numbers& left, const Numbers& x, const Numbers& right, Run& run) const {
        Buffer<double> X(p * kBlock), Y(p * kBlock);
        std::fill_n(X.data(), p * kBlock, 0.0);
        Numbers y = x;
        for (std::size_t i = 0; i < x.size(); ++i) X[static_cast<std::int64_t>(i) * kBlock] = x[i];
        multiply(left, X.data(), right, Y.data(), run);
        for (std::size_t i = 0; i < x.size(); ++i) y[i] = Y[static_cast<std::int64_t>(i) * kBlock];
        return y;
    }

  private:
    static void scale(const Numbers& factors, double* X) {
        for (double factor : factors) {
            for (std::int64_t a = 0; a < kBlock; ++a) *X++ *= factor;
        }
    }
};

double median(Numbers values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

[[noreturn]] void all_equal(const std::string& name) {
    throw InvalidArgument("all features of " + name +
                          " are equal: there are no distances between features to set bandwidths from");
}

void require_affinity(double value, std::int64_t i, std::int64_t j, const std::string& name) {
    if (value >= 0 && value <= kHuge) return;
    throw InvalidArgument("affinities must be finite and not negative, but features " + std::to_string(i) + " and " +
                          std::to_string(j) + " of " + name + " have " + text(value));
}

// eps_i^2 from the squared distances between all features: the k-th smallest to another feature, or the smallest that
// is positive.
Numbers squared_bandwidths(const double* D2, std::int64_t p, std::int64_t k, const std::string& name, bool& duplicates,
                           Run& run) {
    Numbers eps2 = numbers(p);
    constexpr std::int64_t kRows = 64;
    std::vector<std::vector<float>> rounded(static_cast<std::size_t>(run.n_threads()),
                                            std::vector<float>(static_cast<std::size_t>(p)));
    std::vector<Numbers> nearest(static_cast<std::size_t>(run.n_threads()), numbers(p));
    std::vector<std::uint8_t> zero(static_cast<std::size_t>(p));
    const auto bound_kth = isa().bound_kth;
    parallel_for(run, (p + kRows - 1) / kRows, [&](std::int64_t task, int slot) {
        float* single = rounded[static_cast<std::size_t>(slot)].data();
        double* near = nearest[static_cast<std::size_t>(slot)].data();
        for (std::int64_t i = task * kRows; i < std::min((task + 1) * kRows, p); ++i) {
            // Rounding to single precision keeps the order: the k nearest are among those up to a bound of the k-th.
            const double* row = D2 + i * p;
            for (std::int64_t j = 0; j < p; ++j) single[j] = static_cast<float>(row[j]);
            single[i] = single[p - 1];
            const float bound = bound_kth(single, p - 1, k);
            single[p - 1] = static_cast<float>(row[p - 1]);
            single[i] = std::numeric_limits<float>::quiet_NaN();
            std::int64_t count = 0;
            for (std::int64_t j = 0; j < p; ++j) {  // no branch: at most p - 1 of them stay
                near[count] = row[j];
                count += single[j] <= bound;
            }
            std::nth_element(near, near + (k - 1), near + count);
            double eps = near[k - 1];
            if (eps == 0) {
                zero[static_cast<std::size_t>(i)] = 1;
                eps = kHuge;
                for (std::int64_t j = 0; j < p; ++j) eps = row[j] > 0 ? std::min(eps, row[j]) : eps;
            }
            eps2[static_cast<std::size_t>(i)] = eps;
        }
    });
    for (double eps : eps2) {
        if (eps == kHuge) all_equal(name);
    }
    duplicates = std::find(zero.begin(), zero.end(), 1) != zero.end();
    return eps2;
}

// W_ij = (E_ij + E_ji) / 2 with E_ij = exp(-D_ij^2 / eps_i^2): the upper triangle, in the place of D2.
void adaptive_affinity(double* D2, const Numbers& eps2, Run& run) {
    const auto p = static_cast<std::int64_t>(eps2.size());
    Numbers inverse = eps2;
    for (double& e : inverse) e = std::min(1 / e, kHuge);
    constexpr std::int64_t kStep = 1024;
    std::vector<Numbers> rows(static_cast<std::size_t>(run.n_threads()), numbers(kStep));
    const auto exp_neg = tile_kernels<double>().exp_neg;
    parallel_for(run, p, [&](std::int64_t i, int slot) {
        double* other = rows[static_cast<std::size_t>(slot)].data();
        for (std::int64_t first = i; first < p; first += kStep) {
            const std::int64_t n = std::min(kStep, p - first);
            double* row = D2 + i * p + first;
            for (std::int64_t j = 0; j < n; ++j) other[j] = row[j] * inverse[static_cast<std::size_t>(first + j)];
            exp_neg(other, n, 1.0);
            exp_neg(row, n, inverse[static_cast<std::size_t>(i)]);
            for (std::int64_t j = 0; j < n; ++j) row[j] = 0.5 * (row[j] + other[j]);
        }
        D2[i * p + i] = 1;
    });
}

DenseSymmetric dense_graph(const DiscSet& set, std::int64_t k, const std::string& name, Run& run, DiscResult& result) {
    const Samples X(*set.X);
    const std::int64_t p = X.n_cols();
    std::vector<std::int64_t> rows(static_cast<std::size_t>(X.n_rows()));
    std::iota(rows.begin(), rows.end(), 0);
    const double unit = common_unit(X.row_maxima(run), rows);
    Buffer<double> W(p * p);
    const Numbers norms = squared_distances_upper(X, rows, unit, run, W.data());
    mirror_upper(p, run, W.data());
    bool duplicates = false;
    const Numbers eps2 = squared_bandwidths(W.data(), p, k, name, duplicates, run);
    if (duplicates) result.warnings |= FASTFS_DISC_DUPLICATES;
    result.bandwidths = eps2;
    for (double& eps : result.bandwidths) eps = unit * std::sqrt(eps);
    if (set.kernel) {
        const Kernel kernel{Kernel::Kind::kCustom, median(result.bandwidths), set.kernel, set.user};
        custom_kernel_upper(kernel, norms, unit, run, W.data());
        for (std::int64_t i = 0; i < p; ++i) {
            for (std::int64_t j = i; j < p; ++j) require_affinity(W[i * p + j], i, j, name);
        }
    } else {
        adaptive_affinity(W.data(), eps2, run);
    }
    mirror_upper(p, run, W.data());
    return {p, std::move(W), run};
}

// Entries of a p x p matrix, row by row, columns ascending.
struct Entries {
    std::vector<std::int64_t> begins;
    std::vector<std::int32_t> columns;
    Numbers values;
};

// Counting by column keeps the order of the rows: the columns of the result ascend, whatever the order of A's were.
Entries transpose(const Entries& A) {
    Entries T{std::vector<std::int64_t>(A.begins.size()), std::vector<std::int32_t>(A.columns.size()),
              Numbers(A.values.size())};
    for (std::int32_t column : A.columns) ++T.begins[static_cast<std::size_t>(column) + 1];
    std::partial_sum(T.begins.begin(), T.begins.end(), T.begins.begin());
    std::vector<std::int64_t> next(T.begins.begin(), T.begins.end() - 1);
    for (std::size_t i = 0; i + 1 < A.begins.size(); ++i) {
        for (auto e = static_cast<std::size_t>(A.begins[i]); e < static_cast<std::size_t>(A.begins[i + 1]); ++e) {
            const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(A.columns[e])]++);
            T.columns[at] = static_cast<std::int32_t>(i);
            T.values[at] = A.values[e];
        }
    }
    return T;
}

// (A + A') / 2 + diagonal, of entries whose columns ascend.
SparseSymmetric symmetric_mean(const Entries& A, const Entries& transposed, const Numbers& diagonal, Run& run) {
    const auto p = static_cast<std::int64_t>(A.begins.size()) - 1;
    SparseSymmetric W;
    W.n = p;
    W.begins = Buffer<std::int64_t>(p + 1);
    W.begins[0] = 0;
    constexpr std::int64_t kRows = 1024;
    // Calls entry(column, value) for those of row i in order; the diagonal is there even if it is 0.
    auto merge = [&](std::int64_t i, auto&& entry) {
        const auto row = static_cast<std::size_t>(i);
        auto e = static_cast<std::size_t>(A.begins[row]), f = static_cast<std::size_t>(transposed.begins[row]);
        const auto e_end = static_cast<std::size_t>(A.begins[row + 1]),
                   f_end = static_cast<std::size_t>(transposed.begins[row + 1]);
        const auto none = static_cast<std::int32_t>(p);
        bool passed = false;
        while (e < e_end || f < f_end || !passed) {
            const std::int32_t left = e < e_end ? A.columns[e] : none, right = f < f_end ? transposed.columns[f] : none;
            const std::int32_t column = std::min({left, right, passed ? none : static_cast<std::int32_t>(i)});
            double value = 0;
            if (left == column) value += A.values[e++];
            if (right == column) value += transposed.values[f++];
            value /= 2;
            if (column == i) {
                passed = true;
                value += diagonal[row];
            }
            entry(column, value);
        }
    };
    parallel_for(run, (p + kRows - 1) / kRows, [&](std::int64_t task, int) {
        for (std::int64_t i = task * kRows; i < std::min((task + 1) * kRows, p); ++i) {
            std::int64_t count = 0;
            merge(i, [&](std::int32_t, double) { ++count; });
            W.begins[i + 1] = count;
        }
    });
    for (std::int64_t i = 0; i < p; ++i) W.begins[i + 1] += W.begins[i];
    W.columns = Buffer<std::int32_t>(W.begins[p]);
    W.values = Buffer<double>(W.begins[p]);
    parallel_for(run, (p + kRows - 1) / kRows, [&](std::int64_t task, int) {
        for (std::int64_t i = task * kRows; i < std::min((task + 1) * kRows, p); ++i) {
            std::int64_t at = W.begins[i];
            merge(i, [&](std::int32_t column, double value) {
                W.columns[at] = column;
                W.values[at++] = value;
            });
        }
    });
    return W;
}

// |x_i|^2 of all features, in the unit of the data.
Numbers squared_norms(const Samples& X, Run& run) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(X.n_rows()));
    std::iota(rows.begin(), rows.end(), 0);
    run.require_memory(Features<double>::memory(X, X.n_rows()), "the norms of the features",
                       "raise max_memory (or FASTFS_MAX_MEMORY)");
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

// The caller's neighbours, checked.
void check_neighbors(const DiscSet& set, std::int64_t k, const std::string& name) {
    const std::int64_t p = set.n_features, K = set.n_neighbors;
    require(K < p, name + " has " + std::to_string(p - 1) + " other features, but " + std::to_string(K) + " neighbors");
    require(K >= k, "bandwidth_neighbors is " + std::to_string(k) + ", but the neighbors of " + name + " are only " +
                        std::to_string(K) + " each: give as many, or a smaller bandwidth_neighbors");
    std::vector<std::int64_t> seen(static_cast<std::size_t>(p), -1);
    for (std::int64_t i = 0; i < p; ++i) {
        for (std::int64_t e = i * K; e < (i + 1) * K; ++e) {
            const std::int64_t j = set.neighbors[e];
            const double d = set.distances[e];
            const std::string at =
                "neighbor " + std::to_string(e - i * K) + " of feature " + std::to_string(i) + " in " + name;
            if (j < 0 || j >= p || j == i) {
                throw InvalidArgument(at + " must be another feature, from 0 to " + std::to_string(p - 1) + ", not " +
                                      std::to_string(j));
            }
            if (seen[static_cast<std::size_t>(j)] == i)
                throw InvalidArgument(at + " is there twice: " + std::to_string(j));
            seen[static_cast<std::size_t>(j)] = i;
            if (!(d >= 0 && d <= kHuge) || (e > i * K && d < set.distances[e - 1])) {
                throw InvalidArgument(
                    "distances must be finite and not negative, and ascend in each row, but that of " + at + " is " +
                    text(d));
            }
        }
    }
}

// E_ij for the n_neighbors nearest j of i, W = I + (E + E') / 2.
SparseSymmetric neighbor_graph(const DiscSet& set, std::int64_t k, std::int64_t n_neighbors, const std::string& name,
                               double end, Run& run, DiscResult& result) {
    const std::int64_t p = set.n_features;
    std::int64_t stride = set.n_neighbors;
    const std::int64_t* neighbors = set.neighbors;
    const double* distances = set.distances;
    Buffer<std::int64_t> found;
    Buffer<double> their_distances;
    if (neighbors) {
        check_neighbors(set, k, name);
        n_neighbors = std::min(n_neighbors, stride);
    } else {
        stride = std::max(k, n_neighbors);
        const Samples X(*set.X);
        found = Buffer<std::int64_t>(p * stride);
        their_distances = Buffer<double>(p * stride);
        nearest_features(X, stride, run, found.data(), their_distances.data(), end);
        neighbors = found.data();
        distances = their_distances.data();
    }

    result.bandwidths = numbers(p);
    bool distinct = false;
    for (std::int64_t i = 0; i < p; ++i) {
        const double* row = distances + i * stride;
        double eps = row[k - 1];
        distinct |= row[stride - 1] > 0;
        if (eps == 0) {
            // If there is none, the affinities to all these neighbours are 1 for any bandwidth.
            const double* positive = std::find_if(row, row + stride, [](double d) { return d > 0; });
            eps = positive < row + stride ? *positive : 0;
            result.warnings |= FASTFS_DISC_DUPLICATES;
        }
        result.bandwidths[static_cast<std::size_t>(i)] = eps;
    }
    if (!distinct) all_equal(name);

    const Numbers norms = set.kernel ? squared_norms(Samples(*set.X), run) : Numbers();
    const double sigma = set.kernel ? median(result.bandwidths) : 0;
    Entries E{std::vector<std::int64_t>(static_cast<std::size_t>(p + 1)),
              std::vector<std::int32_t>(static_cast<std::size_t>(p * n_neighbors)), numbers(p * n_neighbors)};
    Numbers diagonal(static_cast<std::size_t>(p), 1.0);
    for (std::int64_t i = 0; i <= p; ++i) E.begins[static_cast<std::size_t>(i)] = i * n_neighbors;
    constexpr std::int64_t kRows = 256;
    parallel_for(run, (p + kRows - 1) / kRows, [&](std::int64_t task, int) {
        std::vector<std::pair<std::int32_t, double>> row(static_cast<std::size_t>(n_neighbors));
        Numbers near(set.kernel ? row.size() : 0);
        for (std::int64_t i = task * kRows; i < std::min((task + 1) * kRows, p); ++i) {
            for (std::int64_t e = 0; e < n_neighbors; ++e) {
                const double d = distances[i * stride + e];
                row[static_cast<std::size_t>(e)] = {static_cast<std::int32_t>(neighbors[i * stride + e]), d};
            }
            std::sort(row.begin(), row.end());
            double* values = E.values.data() + i * n_neighbors;
            for (std::int64_t e = 0; e < n_neighbors; ++e) {
                E.columns[static_cast<std::size_t>(i * n_neighbors + e)] = row[static_cast<std::size_t>(e)].first;
                // In units of the bandwidth, so that no square overflows. If that is 0, so are the distances.
                const double eps = set.kernel ? 1 : result.bandwidths[static_cast<std::size_t>(i)];
                const double d = row[static_cast<std::size_t>(e)].second / (eps > 0 ? eps : 1);
                values[e] = d * d;
            }
            if (!set.kernel) {
                tile_kernels<double>().exp_neg(values, n_neighbors, 1.0);
                continue;
            }
            const double norm = norms[static_cast<std::size_t>(i)];
            for (std::size_t e = 0; e < row.size(); ++e) near[e] = norms[static_cast<std::size_t>(row[e].first)];
            set.kernel(values, n_neighbors, 1, n_neighbors, &norm, near.data(), sigma, set.user);
            double& self = diagonal[static_cast<std::size_t>(i)] = 0;
            set.kernel(&self, 1, 1, 1, &norm, &norm, sigma, set.user);
            require_affinity(self, i, i, name);
            for (std::size_t e = 0; e < row.size(); ++e) require_affinity(values[e], i, row[e].first, name);
        }
    });
    return symmetric_mean(E, transpose(E), diagonal, run);
}

// A graph of the caller's: as it is, but for entries at one place, which add up.
SparseSymmetric given_graph(const Matrix& given, const std::string& name, Run& run) {
    const std::int64_t p = given.n_cols();
    Entries A;
    A.begins.assign(static_cast<std::size_t>(p + 1), 0);
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
            A.begins[static_cast<std::size_t>(i) + 1] = static_cast<std::int64_t>(A.columns.size());
        }
    });
    // Twice transposed its columns ascend. Then equal ones are neighbours.
    Entries sorted = transpose(transpose(A));
    std::size_t to = 0;
    for (std::size_t i = 0, from = 0; i < static_cast<std::size_t>(p); ++i) {
        const std::size_t first = to, end = static_cast<std::size_t>(sorted.begins[i + 1]);
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
    // To the rounding of single precision.
    for (std::size_t i = 0; i < static_cast<std::size_t>(p); ++i) {
        bool same = sorted.begins[i + 1] == transposed.begins[i + 1];
        for (auto e = static_cast<std::size_t>(sorted.begins[i]);
             same && e < static_cast<std::size_t>(sorted.begins[i + 1]); ++e) {
            same = sorted.columns[e] == transposed.columns[e] &&
                   std::abs(sorted.values[e] - transposed.values[e]) <= 1e-6 * largest;
        }
        if (same) continue;
        throw InvalidArgument("the graph W of " + name + " must be symmetric, but row " + std::to_string(i) +
                              " differs from column " + std::to_string(i) + ": give (W + W.T) / 2");
    }
    return symmetric_mean(sorted, transposed, numbers(p), run);
}

std::int64_t count_components(const Graph& graph, Run& run) {
    const std::int64_t p = graph.p;
    std::vector<std::int64_t> unseen(static_cast<std::size_t>(p)), next;
    std::iota(unseen.begin(), unseen.end(), 0);
    std::int64_t components = 0;
    std::vector<std::uint8_t> seen(static_cast<std::size_t>(p));
    for (std::int64_t start = 0; start < p; ++start) {
        if (seen[static_cast<std::size_t>(start)]) continue;
        ++components;
        seen[static_cast<std::size_t>(start)] = 1;
        next.push_back(start);
        while (!next.empty()) {
            const std::int64_t i = next.back();
            next.pop_back();
            if (graph.dense.n() == 0) {
                for (std::int64_t e = graph.sparse.begins[i]; e < graph.sparse.begins[i + 1]; ++e) {
                    const std::int64_t j = graph.sparse.columns[e];
                    if (graph.sparse.values[e] == 0 || seen[static_cast<std::size_t>(j)]) continue;
                    seen[static_cast<std::size_t>(j)] = 1;
                    next.push_back(j);
                }
                continue;
            }
            run.checkpoint();
            // Most dense graphs hold together, and the first row leaves nothing unseen.
            std::erase_if(unseen, [&](std::int64_t j) {
                if (seen[static_cast<std::size_t>(j)]) return true;
                if (graph.dense(i, j) == 0) return false;
                seen[static_cast<std::size_t>(j)] = 1;
                next.push_back(j);
                return true;
            });
        }
    }
    return components;
}

// ---- 2: the random walk ---------------------------------------------------------------------------------------------

// q = W 1, Wt_ij = W_ij / (q_i q_j)^alpha, g = Wt 1.
void normalize(Graph& graph, double alpha, const std::string& name, Run& run) {
    const std::int64_t p = graph.p;
    const Numbers ones(static_cast<std::size_t>(p), 1.0), q = graph.times(ones, ones, ones, run);
    graph.c = numbers(p);
    for (std::size_t i = 0; i < q.size(); ++i) {
        if (!(q[i] >= std::numeric_limits<double>::min() && q[i] <= kHuge)) {  // below, 1 / q isn't finite
            throw InvalidArgument("feature " + std::to_string(i) + " of " + name + " has affinities that add up to " +
                                  text(q[i]) + ", but a random walk needs a positive, finite sum: " +
                                  (q[i] == 0 ? "give it an affinity to itself" : "multiply them by a constant first"));
        }
        graph.c[i] = std::pow(q[i], -alpha);
    }
    graph.g = graph.times(graph.c, ones, graph.c, run);
}

// end: the share of the call that is finished afterwards.
Graph make_graph(const DiscSet& set, const fastfs_disc_options& options, const std::string& name, double end, Run& run,
                 DiscResult& result) {
    run.step("graph of the features", end);
    Graph graph;
    graph.p = set.n_features;
    const std::int64_t k = std::min(options.bandwidth_neighbors, graph.p - 1);
    if (set.W) {
        graph.sparse = given_graph(*set.W, name, run);
    } else if (set.neighbors || options.graph == FASTFS_GRAPH_KNN) {
        graph.sparse = neighbor_graph(set, k, std::min(options.n_neighbors, graph.p - 1), name, end, run, result);
    } else {
        graph.dense = dense_graph(set, k, name, run, result);
    }
    normalize(graph, options.density, name, run);
    return graph;
}

// ---- 3: diffusion vectors -------------------------------------------------------------------------------------------

// The largest eigenpairs of S = diag(g)^(-1/2) Wt diag(g)^(-1/2), one more than are used; u_j = diag(g)^(-1/2) z_j,
// scaled to |u_j| = 1. All n_components + 1 of them come back, the constant one first.
Numbers diffusion_vectors(Graph& graph, std::int64_t n_components, std::uint64_t seed, Run& run, DiscResult& result) {
    const std::int64_t p = graph.p, d = n_components;
    Numbers factor = numbers(p), root = graph.g;
    for (std::size_t i = 0; i < factor.size(); ++i) {
        root[i] = std::sqrt(root[i]);
        factor[i] = graph.c[i] / root[i];
    }
    Buffer<double> block(p * kBlock);
    const BlockOperator S = [&](const double* X, double* Y) {
        std::copy_n(X, p * kBlock, block.data());
        graph.multiply(factor, block.data(), factor, Y, run);
    };
    LeadingPairs pairs = leading_pairs(p, d + 2, d + 1, S, kTolerance, kGapTolerance, seed, run);
    if (!pairs.converged) result.warnings |= FASTFS_DISC_NOT_CONVERGED;
    result.gap = pairs.values[static_cast<std::size_t>(d)] - pairs.values[static_cast<std::size_t>(d + 1)];
    if (result.gap < kSmallGap) result.warnings |= FASTFS_DISC_SMALL_GAP;
    result.eigenvalues.assign(pairs.values.begin(), pairs.values.end() - 1);
    Numbers U = std::move(pairs.vectors);
    U.resize(static_cast<std::size_t>((d + 1) * p));
    for (std::int64_t j = 0; j <= d; ++j) {
        double* u = U.data() + j * p;
        double square = 0;
        for (std::int64_t i = 0; i < p; ++i) {
            u[i] /= root[static_cast<std::size_t>(i)];
            square += u[i] * u[i];
        }
        for (std::int64_t i = 0; i < p; ++i) u[i] /= std::sqrt(square);
        fix_sign(p, u);
    }
    result.diffusion.assign(U.begin() + p, U.end());
    return U;
}

// ---- 4: the space of the other sets ---------------------------------------------------------------------------------

double dot(std::int64_t n, const double* x, const double* y) {
    double lane[8] = {};
    std::int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        for (int l = 0; l < 8; ++l) lane[l] += x[i + l] * y[i + l];
    }
    for (; i < n; ++i) lane[0] += x[i] * y[i];
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

// An orthonormal basis of these columns, p x rank and row-major, by QR with column pivoting: Gram-Schmidt, in which the
// column of the largest norm comes next and goes through all earlier ones once more. |R_jj| <= 1e-10 |R_00| ends it.
Numbers orthonormal_basis(std::int64_t p, std::vector<Numbers> columns, std::int64_t& rank, Run& run) {
    auto axpy = [&](double a, const Numbers& x, Numbers& y) {
        for (std::size_t i = 0; i < y.size(); ++i) y[i] -= a * x[i];
    };
    Numbers norms;
    for (const Numbers& u : columns) norms.push_back(std::sqrt(dot(p, u.data(), u.data())));
    double largest = 0;
    std::size_t done = 0;
    for (; done < columns.size(); ++done) {
        const auto at = static_cast<std::size_t>(
            std::max_element(norms.begin() + static_cast<std::ptrdiff_t>(done), norms.end()) - norms.begin());
        std::swap(columns[done], columns[at]);
        std::swap(norms[done], norms[at]);
        largest = std::max(largest, norms[done]);
        if (norms[done] <= 1e-10 * largest) break;
        Numbers& q = columns[done];
        for (std::size_t j = 0; j < done; ++j) axpy(dot(p, columns[j].data(), q.data()), columns[j], q);
        const double norm = std::sqrt(dot(p, q.data(), q.data()));
        for (double& value : q) value /= norm;
        parallel_for(run, static_cast<std::int64_t>(columns.size() - done - 1), [&](std::int64_t task, int) {
            Numbers& u = columns[done + 1 + static_cast<std::size_t>(task)];
            axpy(dot(p, q.data(), u.data()), q, u);
            norms[done + 1 + static_cast<std::size_t>(task)] = std::sqrt(dot(p, u.data(), u.data()));
        });
    }
    rank = static_cast<std::int64_t>(done);
    Numbers B = numbers(p * rank);
    for (std::size_t j = 0; j < done; ++j) {
        for (std::int64_t i = 0; i < p; ++i)
            B[static_cast<std::size_t>(i * rank) + j] = columns[j][static_cast<std::size_t>(i)];
    }
    return B;
}

// ---- 5: differential vectors ----------------------------------------------------------------------------------------

struct Triplets {
    Numbers sigma, V;  // descending, V one after the other
};

// The largest singular values and right singular vectors of A = P Q, Q = I - B B', from the eigenpairs of A'A - B B':
// its eigenvalues -1 keep the range of B apart from what A makes small.
Triplets differential_vectors(Graph& graph, const Numbers& B, std::int64_t rank, std::int64_t n_vectors,
                              std::int64_t count, std::uint64_t seed, Run& run, DiscResult& result) {
    const std::int64_t p = graph.p;
    Numbers per_g = graph.c;
    for (std::size_t i = 0; i < per_g.size(); ++i) per_g[i] /= graph.g[i];
    Buffer<double> inside(p * kBlock), walked(p * kBlock);
    Numbers T = numbers(rank * kBlock), again = T;
    // walked = P (X - B T), T = B'X
    auto forward = [&](const double* X) {
        std::copy_n(X, p * kBlock, inside.data());
        inner_products(p, rank, B.data(), rank, X, T.data(), run);
        subtract_product(p, rank, B.data(), rank, T.data(), inside.data(), run);
        graph.multiply(per_g, inside.data(), graph.c, walked.data(), run);
    };
    const BlockOperator AtA = [&](const double* X, double* Y) {
        forward(X);
        graph.multiply(graph.c, walked.data(), per_g, Y, run);
        inner_products(p, rank, B.data(), rank, Y, again.data(), run);
        for (std::size_t e = 0; e < T.size(); ++e) again[e] += T[e];
        subtract_product(p, rank, B.data(), rank, again.data(), Y, run);
    };
    LeadingPairs pairs = leading_pairs(p, count, n_vectors, AtA, kTolerance, kNextTolerance, seed, run);
    if (!pairs.converged) result.warnings |= FASTFS_DISC_NOT_CONVERGED;
    Triplets triplets;
    triplets.sigma = numbers(count);
    triplets.V = std::move(pairs.vectors);
    Buffer<double> block(p * kBlock);
    for (std::int64_t first = 0; first < count; first += kBlock) {  // |A v| keeps digits that an eigenvalue's root lost
        std::fill_n(block.data(), p * kBlock, 0.0);
        const std::int64_t last = std::min(first + kBlock, count);
        for (std::int64_t j = first; j < last; ++j) {
            for (std::int64_t i = 0; i < p; ++i)
                block[i * kBlock + j - first] = triplets.V[static_cast<std::size_t>(j * p + i)];
        }
        forward(block.data());
        for (std::int64_t j = first; j < last; ++j) {
            double square = 0;
            for (std::int64_t i = 0; i < p; ++i)
                square += walked[i * kBlock + j - first] * walked[i * kBlock + j - first];
            triplets.sigma[static_cast<std::size_t>(j)] = std::sqrt(square);
        }
    }
    return triplets;
}

// Trivial vectors, the number of those that matter, and the scores of the features.
void summarize(const Triplets& triplets, std::int64_t p, std::int64_t n_vectors, std::int64_t wanted,
               DiscResult& result) {
    constexpr double kTrivial = 0.9;
    constexpr std::size_t kMostRatios = 10;
    std::vector<std::int64_t> real;
    const auto count = static_cast<std::int64_t>(triplets.sigma.size());
    for (std::int64_t j = 0; j < count; ++j) {
        const double* v = triplets.V.data() + j * p;
        const double sum = std::accumulate(v, v + p, 0.0);
        const bool trivial = std::abs(sum) > kTrivial * std::sqrt(static_cast<double>(p));
        if (!trivial) real.push_back(j);
        if (j < n_vectors) result.trivial.push_back(trivial);
    }
    result.significance.assign(triplets.sigma.begin(), triplets.sigma.begin() + n_vectors);
    result.vectors.assign(triplets.V.begin(), triplets.V.begin() + n_vectors * p);

    auto ratio = [&](std::size_t q) {  // of the q-th to the next; 0 if there is none
        if (q == 0 || q >= real.size()) return 0.0;
        return triplets.sigma[static_cast<std::size_t>(real[q - 1])] /
               std::max(triplets.sigma[static_cast<std::size_t>(real[q])],
                        std::numeric_limits<double>::epsilon() * triplets.sigma.front());
    };
    std::size_t available = real.size();
    if (available > 0 && real.back() >= n_vectors) --available;
    std::size_t q = std::min(static_cast<std::size_t>(wanted), available);
    if (wanted == 0) {
        for (std::size_t j = 1; j <= std::min(available, kMostRatios); ++j) {
            if (q == 0 || ratio(j) > ratio(q)) q = j;
        }
    }
    result.n_differential = static_cast<std::int64_t>(q);
    result.ratio = ratio(q);
    if (q > 0 && q < real.size() && result.ratio < kFlat) result.warnings |= FASTFS_DISC_FLAT;

    result.scores = numbers(p);
    for (std::size_t j = 0; j < q; ++j) {
        const double sigma = triplets.sigma[static_cast<std::size_t>(real[j])];
        const double* v = triplets.V.data() + real[j] * p;
        for (std::int64_t i = 0; i < p; ++i) result.scores[static_cast<std::size_t>(i)] += sigma * sigma * v[i] * v[i];
    }
}

// ---- all of it ------------------------------------------------------------------------------------------------------

void check_sets(const std::vector<DiscSet>& sets, const fastfs_disc_options& options,
                std::vector<DiscResult>& results) {
    const std::int64_t p = sets.front().n_features;
    std::int64_t all = 0;
    for (const DiscSet& set : sets) all += std::min(set.n_components, p);
    for (std::size_t s = 0; s < sets.size(); ++s) {
        const DiscSet& set = sets[s];
        const std::int64_t most = (p - 2) / (static_cast<std::int64_t>(sets.size()) - 1);
        require(all - set.n_components < p - 1,
                "the diffusion vectors of the other sets leave no room: " + std::to_string(all - set.n_components) +
                    " of them for " + std::to_string(p) + " features; " +
                    (most >= 1 ? "n_components may be at most " + std::to_string(most) : "there are too many sets"));
        require(set.n_components <= p - 2, "n_components of " + name_of(s) + " must be at most " +
                                               std::to_string(p - 2) + ", not " + std::to_string(set.n_components));
        require(!set.X || set.X->n_rows() >= 1, name_of(s) + " has no samples");
        require(!set.kernel || !set.W, "the affinities of " + name_of(s) + " are given: a kernel has no use");
        require(!set.kernel || set.X,
                "the kernel of " + name_of(s) + " needs X besides neighbors, for the norms of the features");
        if (set.X && set.X->n_rows() == 1) results[s].warnings |= FASTFS_DISC_ONE_SAMPLE;
        const bool knn = set.neighbors || options.graph == FASTFS_GRAPH_KNN;
        const std::int64_t lists = std::max(options.n_neighbors, options.bandwidth_neighbors);
        const std::int64_t widest = std::max({std::min(knn && !set.W ? lists
                                                       : set.W       ? 1
                                                                     : p,
                                                       p),
                                              set.n_components, std::min(options.n_vectors, p)});
        require(widest <= kMostValues / p / static_cast<std::int64_t>(sets.size()),
                "graphs or vectors of " + std::to_string(p) + " features and " + std::to_string(widest) +
                    " values each are more than a machine can hold: ask for fewer");
        if (!set.W && (options.bandwidth_neighbors >= p || (knn && options.n_neighbors >= p))) {
            results[s].warnings |= FASTFS_DISC_CLAMPED;
        }
    }
}

bool is_dense(const DiscSet& set, const fastfs_disc_options& options) {
    return !set.W && !set.neighbors && options.graph == FASTFS_GRAPH_DENSE;
}

// Bytes of a set's graph; a sparse one is in the result, too.
std::int64_t graph_memory(const DiscSet& set, const fastfs_disc_options& options) {
    const std::int64_t p = set.n_features;
    if (is_dense(set, options)) return 8 * p * p;
    if (set.W) return 64 * set.W->n_stored();
    const std::int64_t K = std::min(options.n_neighbors, p - 1);
    return p * (28 * (2 * K + 1) + 16);
}

// Bytes besides while it is made.
std::int64_t making_memory(const DiscSet& set, const fastfs_disc_options& options, Run& run) {
    const std::int64_t p = set.n_features;
    if (set.W) return 0;
    if (is_dense(set, options)) {
        return squared_distances_memory(Samples(*set.X), set.X->n_rows(), run.n_threads()) +
               8 * p * ((2 + kPanel<double>)*run.n_threads() + 4);
    }
    const std::int64_t K = std::min(options.n_neighbors, p - 1),
                       stride = std::max(K, std::min(options.bandwidth_neighbors, p - 1));
    const std::int64_t lists = 24 * p * K;
    if (set.neighbors) return lists;
    return std::max(nearest_features_memory(Samples(*set.X), stride, run.n_threads()), lists) + 16 * p * stride;
}

// Bytes of a fit: with all graphs kept, and with only the sparse ones, while each dense one is made twice.
struct Needs {
    std::int64_t kept = 0, least = 0;
};

Needs memory(const std::vector<DiscSet>& sets, const fastfs_disc_options& options, Run& run) {
    const std::int64_t p = sets.front().n_features;
    std::int64_t kept = 0, least = 0, making = 0, vectors = 0, most_components = 0;
    for (const DiscSet& set : sets) {
        const std::int64_t graph = graph_memory(set, options);
        kept += graph;
        if (!is_dense(set, options)) least += graph;
        making = std::max(making, making_memory(set, options, run));
        const std::int64_t n_components = std::min(set.n_components, p);  // not checked yet if the graph is chosen
        vectors += 8 * p * (3 * n_components + 2 * std::min(options.n_vectors, p) + 6);
        most_components = std::max(most_components, n_components);
    }
    vectors += std::max(making,
                        leading_pairs_memory(p, std::max(most_components + 2, std::min(options.n_vectors, p - 1) + 1)));
    if (least < kept) least += 8 * p * p;
    return {kept + vectors, least + vectors};
}

// Dense graphs of two sets take 1.6 to 2.1 s of CPU time for 4000 features, 3.2 to 5.1 s for 6000 and 6.5 to 9.7 s for
// 8000, neighbour graphs a fourth to a seventh (planted blocks and noise, float64, two cores of an AMD EPYC of Zen 4).
constexpr std::int64_t kMostDense = 5000;

// The graph of sets that have X alone.
std::int32_t choose_graph(const std::vector<DiscSet>& sets, fastfs_disc_options options, Run& run, DiscResult& result) {
    if (options.graph != FASTFS_GRAPH_AUTO) return options.graph;
    result.graph_reason = FASTFS_BECAUSE_SIZE;
    if (sets.front().n_features > kMostDense) return FASTFS_GRAPH_KNN;
    options.graph = FASTFS_GRAPH_DENSE;
    const std::int64_t dense = memory(sets, options, run).least;
    if (run.allows(dense)) return FASTFS_GRAPH_DENSE;
    result.graph_reason = FASTFS_BECAUSE_MEMORY;
    result.dense_bytes = dense;
    return FASTFS_GRAPH_KNN;
}

}  // namespace

std::vector<DiscResult> disc(const std::vector<DiscSet>& sets, const fastfs_disc_options& given, Run& run) {
    const SingleThreadedBlas held;
    const std::size_t C = sets.size();
    const std::int64_t p = sets.front().n_features;
    DiscResult empty;
    fastfs_disc_options options = given;
    options.graph = empty.graph = choose_graph(sets, given, run, empty);
    std::vector<DiscResult> results(C, empty);
    check_sets(sets, options, results);

    const Needs needs = memory(sets, options, run);
    const bool keep = run.allows(needs.kept);
    run.require_memory(keep ? needs.kept : needs.least, "DiSC of " + std::to_string(p) + " features",
                       options.graph == FASTFS_GRAPH_DENSE
                           ? "take graph knn, or raise max_memory (or FASTFS_MAX_MEMORY)"
                           : "raise max_memory (or FASTFS_MAX_MEMORY)");

    std::vector<Graph> graphs(C);
    std::vector<Numbers> U(C), probes(C);
    Numbers probe = numbers(p);
    Random random(options.seed, 1);
    for (double& value : probe) value = random.uniform() - 0.5;
    for (std::size_t s = 0; s < C; ++s) {
        const double begin = 0.8 * static_cast<double>(s) / static_cast<double>(C),
                     share = 0.8 / static_cast<double>(C);
        DiscResult& result = results[s];
        Graph graph = make_graph(sets[s], options, name_of(s), begin + 0.5 * share, run, result);
        result.n_connected = count_components(graph, run);
        if (result.n_connected > 1) result.warnings |= FASTFS_DISC_DISCONNECTED;
        run.step("diffusion vectors", begin + share);
        U[s] = diffusion_vectors(graph, sets[s].n_components, options.seed, run, result);
        probes[s] = graph.times(graph.c, probe, graph.c, run);
        if (graph.dense.n() == 0) {
            const SparseSymmetric& W = graph.sparse;
            result.indptr.assign(W.begins.data(), W.begins.data() + p + 1);
            result.indices.assign(W.columns.data(), W.columns.data() + W.columns.size());
            result.weights.assign(W.values.data(), W.values.data() + W.values.size());
        }
        if (keep || graph.dense.n() == 0) graphs[s] = std::move(graph);
    }

    for (std::size_t s = 0; s < C; ++s) {
        const double end = 0.8 + 0.2 * static_cast<double>(s + 1) / static_cast<double>(C);
        DiscResult& result = results[s];
        std::vector<Numbers> others;
        for (std::size_t t = 0; t < C; ++t) {
            if (t == s) continue;
            // Where eigenvalue 1 is repeated, which vector is the constant one is arbitrary, but not their span.
            const bool project = options.constant == FASTFS_CONSTANT_PROJECT || results[t].n_connected > 1;
            for (std::int64_t j = project ? 0 : 1; j <= sets[t].n_components; ++j) {
                others.emplace_back(U[t].begin() + j * p, U[t].begin() + (j + 1) * p);
            }
            double difference = 0, size = 0;
            for (std::size_t i = 0; i < probe.size(); ++i) {
                difference = std::max(difference, std::abs(probes[s][i] - probes[t][i]));
                size = std::max(size, std::abs(probes[s][i]));
            }
            if (difference <= 1e-10 * size) result.warnings |= FASTFS_DISC_IDENTICAL;
        }
        std::int64_t rank = 0;
        const Numbers B = orthonormal_basis(p, std::move(others), rank, run);
        if (graphs[s].p == 0)
            graphs[s] = make_graph(sets[s], options, name_of(s), end - 0.1 / static_cast<double>(C), run, result);
        run.step("differential vectors", end);
        require(rank < p, "the diffusion vectors of the other sets leave no room: they span all " + std::to_string(p) +
                              " features; take fewer n_components");
        const std::int64_t n_vectors = std::min(options.n_vectors, p - rank), count = std::min(n_vectors + 1, p - rank);
        const Triplets triplets = differential_vectors(graphs[s], B, rank, n_vectors, count, options.seed, run, result);
        summarize(triplets, p, n_vectors, options.n_differential, result);
        graphs[s] = Graph();
    }
    return results;
}

}  // namespace fastfs::core
