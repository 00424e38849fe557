#include "manifest/sums.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <utility>

#include "engines/columns.hpp"
#include "support/csr.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"
#include "support/random.hpp"

namespace fastfs::core {
namespace {

// Dense rows that are multiplied at once, and columns of a task: 0.5 MB of doubles, half an L2 cache of 1 MiB.
constexpr std::int64_t kRowsAtOnce = 256, kColumnsAtOnce = 256;
constexpr std::int64_t kRowsPerTask = 16;

// Below this share of the squared norms a distance has lost most of its digits.
constexpr double kFewDigits = 1e-10;

std::int64_t count_landmarks(std::int64_t d, const fastfs_manifest_options& o) {
    return o.accuracy == FASTFS_MANIFEST_EXACT || o.rank > d / kColumnsPerRank ? d : kColumnsPerRank * o.rank;
}

// Of the groups' sums.
std::int64_t state_memory(std::int64_t d, std::int64_t n_groups, std::int64_t n_landmarks) {
    return 8 * n_groups * (1 + d * (2 + n_landmarks));
}

// Rows group by group.
std::vector<std::int64_t> by_group(const std::int64_t* groups, std::int64_t n, std::int64_t n_groups) {
    std::vector<std::int64_t> next(at(n_groups + 1), 0), order(at(n));
    for (std::int64_t r = 0; r < n; ++r) ++next[at(groups[r] + 1)];
    for (std::int64_t g = 0; g < n_groups; ++g) next[at(g + 1)] += next[at(g)];
    for (std::int64_t r = 0; r < n; ++r) order[at(next[at(groups[r])]++)] = r;
    return order;
}

}  // namespace

// The sums over the groups of a side.
struct ManifestSums::Total {
    double n_rows = 0;
    std::vector<double> sums, norms;
    Buffer<double> products;

    // Squared distance of two features, from their product; sets lost if hardly a digit of it is left.
    double distance(std::int64_t i, std::int64_t j, double product, std::uint8_t& lost) const {
        const double q = norms[at(i)] + norms[at(j)], d2 = q - 2 * product;
        if (d2 >= kFewDigits * q) return d2;
        if (i == j || (norms[at(i)] == norms[at(j)] && sums[at(i)] == sums[at(j)])) return 0;  // equal columns
        lost = 1;
        return std::max(d2, 0.0);
    }
};

fastfs_manifest_plan ManifestSums::plan(std::int64_t d, std::int64_t n_groups, std::int64_t n_classes,
                                        const fastfs_manifest_options& o, std::int64_t n_scales,
                                        std::int64_t n_components, const Run& run) {
    require(
        o.accuracy != FASTFS_MANIFEST_HIGH,
        "accuracy=\"high\" multiplies kernels, which sums over blocks of rows don't give: choose accuracy=\"fast\"");
    require(!o.custom,
            "a kernel of your own takes the features themselves, not sums over blocks of rows: take the "
            "Gaussian kernel, or give X in memory");
    const bool full_rank = o.rank > d / 4;
    const bool only_exact = o.accuracy == FASTFS_MANIFEST_EXACT || o.form != FASTFS_MANIFEST_PENCIL || full_rank;
    require(d <= kMostExact || !only_exact, "the exact form keeps the products of all pairs of features, which blocks ",
            "of rows have for at most ", kMostExact, " features, but X has ", d,
            ": choose accuracy=\"fast\" with form=\"pencil\" and a rank of at most a quarter of the features");
    const std::int64_t m = count_landmarks(d, o);
    auto low_rank = [&](std::int32_t) {
        const std::int64_t features = 3 * 8 * d * (m + 3);  // of both sides, and what they are made from
        return state_memory(d, n_groups, m) +
               low_rank_memory(d, o.rank, landmarks_memory(d, o.rank, run.n_threads()), features, run);
    };
    const Needs needs{
        .labels = n_groups, .exact = state_memory(d, n_groups, d), .gathering = 16 * d, .low_rank = low_rank};
    return plan_problems(d, n_classes, o, n_scales, n_components, needs, run);
}

std::int64_t ManifestSums::memory(std::int64_t d, std::int64_t n_groups, const fastfs_manifest_options& o) {
    return state_memory(d, n_groups, count_landmarks(d, o));
}

ManifestSums::ManifestSums(std::int64_t n_features, std::int64_t n_groups, const fastfs_manifest_options& options)
    : d_(n_features),
      n_groups_(n_groups),
      exact_(options.accuracy == FASTFS_MANIFEST_EXACT),
      landmarks_(Random(options.seed, ~std::uint64_t{0} - 2).subset(d_, count_landmarks(d_, options))),
      place_(at(n_features), -1),
      numbers_(n_groups * group_size()) {
    for (std::size_t l = 0; l < landmarks_.size(); ++l) place_[at(landmarks_[l])] = static_cast<std::int32_t>(l);
    std::fill_n(numbers_.data(), numbers_.size(), 0.0);
}

void ManifestSums::update(const Matrix& X, const std::int64_t* groups, Run& run) {
    const std::int64_t n = X.n_rows(), m = n_landmarks();
    const std::int64_t rows = std::min(n, kRowsAtOnce);
    run.require_memory(8 * 3 * n + (X.is_sparse() ? 32 * X.n_stored() * m / d_
                                                  : 8 * rows * (m + run.n_threads() * std::min(d_, kColumnsAtOnce))),
                       {"the sums of ", n, " rows"});
    X.row_maxima(run);  // refuses what isn't finite
    const SingleThreadedBlas held;
    const std::vector<std::int64_t> order = by_group(groups, n, n_groups_);
    Run whole({sizeof(fastfs_run), run.n_threads(), 0, nullptr, nullptr, nullptr});
    if (X.is_sparse()) {
        add_sparse(X, groups, order, whole);
    } else {
        add_dense(X, groups, order, whole);
    }
    for (std::int64_t r = 0; r < n; ++r) group(groups[r])[0] += 1;
}

// Rows less an offset that their values share, which changes no distance and saves digits; always in double, since the
// low-rank form divides by small differences of these products.
void ManifestSums::add_dense(const Matrix& X, const std::int64_t* groups, const std::vector<std::int64_t>& order,
                             Run& run) {
    const std::int64_t n = X.n_rows(), m = n_landmarks();
    Buffer<double> landmarks(std::min(n, kRowsAtOnce) * m);
    auto panels = buffers<double>(run.n_threads(), std::min(n, kRowsAtOnce) * std::min(d_, kColumnsAtOnce));
    visit_values(X.description(), [&]<class T>(const Values<T>& x) {
        std::vector<double> offsets(at(n));
        auto room = buffers<T>(run.n_threads(), std::min(d_, kColumnsAtOnce));  // of genotypes
        parallel_for(run, ceil_div(n, kRowsPerTask), [&](std::int64_t task, int) {
            for (std::int64_t r = task * kRowsPerTask; r < std::min((task + 1) * kRowsPerTask, n); ++r) {
                offsets[at(r)] = shared_offset(x, r, d_, 1.0);
            }
        });
        for (std::int64_t first = 0; first < n; first += kRowsAtOnce) {
            const std::int64_t rows = std::min(kRowsAtOnce, n - first);
            const std::int64_t* which = order.data() + first;
            parallel_for(run, ceil_div(rows, kRowsPerTask), [&](std::int64_t task, int) {
                for (std::int64_t i = task * kRowsPerTask; i < std::min((task + 1) * kRowsPerTask, rows); ++i) {
                    const std::int64_t r = which[i];
                    double* row = landmarks.data() + i * m;
                    for (std::int64_t l = 0; l < m; ++l) {
                        row[l] = static_cast<double>(x(r, landmarks_[at(l)])) - offsets[at(r)];
                    }
                }
            });
            parallel_for(run, ceil_div(d_, kColumnsAtOnce), [&](std::int64_t task, int slot) {
                const std::int64_t j0 = task * kColumnsAtOnce, width = std::min(kColumnsAtOnce, d_ - j0);
                double* panel = panels[at(slot)].data();
                for (std::int64_t i = 0; i < rows; ++i) {
                    const std::int64_t r = which[i];
                    const auto [values, rs, cs] = x.block(r, r + 1, j0, j0 + width, room[at(slot)]);
                    double *sums = group(groups[r]) + 1 + j0, *norms = sums + d_, *row = panel + i * width;
                    for (std::int64_t j = 0; j < width; ++j) {
                        const auto value = static_cast<double>(values[j * cs]);
                        row[j] = value - offsets[at(r)];
                        sums[j] += value;
                        norms[j] += row[j] * row[j];
                    }
                }
                const std::int64_t n_products = exact_ ? j0 + width : m;
                for (std::int64_t i = 0, end = 0; i < rows; i = end) {
                    const std::int64_t g = groups[which[i]];
                    while (end < rows && groups[which[end]] == g) ++end;
                    gemm('N', 'T', width, n_products, end - i, 1.0, panel + i * width, width, landmarks.data() + i * m,
                         m, 1.0, products(g) + j0, d_);
                }
            });
        }
    });
}

// Sparse rows stay as they are: an offset would fill them.
void ManifestSums::add_sparse(const Matrix& X, const std::int64_t* groups, const std::vector<std::int64_t>& order,
                              Run& run) {
    visit_sparse(X.description(), [&](auto* values, auto* indptr, auto* indices) {
        using V = std::remove_cv_t<std::remove_reference_t<decltype(*values)>>;
        bool ascending = true;
        for (std::int64_t r = 0; r < X.n_rows(); ++r) {
            for (std::int64_t e = indptr[r] + 1; e < indptr[r + 1]; ++e) ascending &= indices[e - 1] < indices[e];
        }
        if (ascending) return add_entries(values, indptr, indices, groups, order, run);
        SparseLine<V> line;
        std::vector<V> own_values;
        std::vector<std::int64_t> own_indices, begins{0};
        for (std::int64_t r = 0; r < X.n_rows(); ++r) {
            const auto count = static_cast<std::int64_t>(indptr[r + 1] - indptr[r]);
            line.visit(indices + indptr[r], values + indptr[r], count, [&](auto* index, auto* value, std::int64_t n) {
                own_indices.insert(own_indices.end(), index, index + n);
                own_values.insert(own_values.end(), value, value + n);
            });
            begins.push_back(static_cast<std::int64_t>(own_values.size()));
        }
        add_entries(own_values.data(), begins.data(), own_indices.data(), groups, order, run);
    });
}

// Each sum is of one task, in the order of the rows: the same bits for any number of threads, and of blocks.
template <class V, class P, class I>
void ManifestSums::add_entries(const V* values, const P* indptr, const I* indices, const std::int64_t* groups,
                               const std::vector<std::int64_t>& order, Run& run) {
    struct Entry {
        std::int64_t row, place;
    };
    // All memory comes first: what follows can't fail, so that sums have all of the rows or none.
    std::vector<std::int64_t> begins(landmarks_.size() + 1, 0);
    for (std::int64_t e = indptr[0]; e < indptr[order.size()]; ++e) {
        if (const auto place = place_[at(indices[e])]; place >= 0) ++begins[at(place + 1)];
    }
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    Buffer<Entry> entries(begins.back());
    std::vector<std::int64_t> next = begins;
    const std::int64_t width = ceil_div(d_, std::min<std::int64_t>(run.n_threads(), d_));
    parallel_for(run, ceil_div(d_, width), [&](std::int64_t task, int) {
        const std::int64_t j0 = task * width;
        for (std::int64_t r : order) {
            double *sums = group(groups[r]) + 1, *norms = sums + d_;
            const I *index = indices + indptr[r], *end = indices + indptr[r + 1];
            if (width < d_) {
                index = std::lower_bound(index, end, j0);
                end = std::lower_bound(index, end, j0 + width);
            }
            for (; index != end; ++index) {
                const std::int64_t j = *index, e = index - indices;
                const auto value = static_cast<double>(values[e]);
                sums[j] += value;
                norms[j] += value * value;
                if (place_[at(j)] >= 0) entries[next[at(place_[at(j)])]++] = {r, e};
            }
        }
    });
    parallel_for(run, n_landmarks(), [&](std::int64_t l, int) {
        for (std::int64_t i = begins[at(l)]; i < begins[at(l + 1)]; ++i) {
            const Entry& entry = entries[i];
            double* to = products(groups[entry.row]) + l * d_;
            const auto value = static_cast<double>(values[entry.place]);
            const std::int64_t end = indptr[entry.row + 1];
            for (std::int64_t e = exact_ ? entry.place : indptr[entry.row]; e < end; ++e) {
                to[indices[e]] += value * static_cast<double>(values[e]);
            }
        }
    });
}

void ManifestSums::merge(const ManifestSums& other) {
    for (std::int64_t e = 0; e < numbers_.size(); ++e) numbers_[e] += other.numbers_[e];
}

void ManifestSums::counts(double* to) const {
    for (std::int64_t g = 0; g < n_groups_; ++g) to[g] = group(g)[0];
}

void ManifestSums::means(double* to) const {
    for (std::int64_t g = 0; g < n_groups_; ++g) {
        const double* of = group(g);
        for (std::int64_t j = 0; j < d_; ++j) to[g * d_ + j] = of[0] > 0 ? of[1 + j] / of[0] : 0;
    }
}

void ManifestSums::save(double* numbers) const { std::copy_n(numbers_.data(), numbers_.size(), numbers); }

void ManifestSums::load(const double* numbers) { std::copy_n(numbers, numbers_.size(), numbers_.data()); }

ManifestSums::Total ManifestSums::total(const Side& side) const {
    Total total;
    total.sums.assign(at(d_), 0.0);
    total.norms = total.sums;
    total.products = Buffer<double>(n_landmarks() * d_);
    std::fill_n(total.products.data(), total.products.size(), 0.0);
    for (std::int64_t g : side.rows) {
        const double* of = group(g);
        total.n_rows += of[0];
        for (std::int64_t j = 0; j < d_; ++j) {
            total.sums[at(j)] += of[1 + j];
            total.norms[at(j)] += of[1 + d_ + j];
        }
        of += 1 + 2 * d_;
        for (std::int64_t e = 0; e < total.products.size(); ++e) total.products[e] += of[e];
    }
    require(total.n_rows > 0, side.name, " has no rows");
    for (std::int64_t j = 0; j < d_; ++j) {
        // Products are then finite too (Cauchy-Schwarz).
        require(std::isfinite(4 * total.norms[at(j)]), "the values of feature ", j,
                " are too large: their squares overflow float64; divide X by a constant first");
    }
    return total;
}

// What stands for the rows of a side: with A A' the part of the products that the landmarks explain, the distances of
// columns of A', and of a component of its own that each feature has besides, are those of the data wherever a landmark
// is one of the two.
Features<double> ManifestSums::features_of(const Side& side, Run& run, std::int32_t& warnings) const {
    Total total = this->total(side);
    if (total.n_rows == 1) warnings |= FASTFS_MANIFEST_WARN_ONE_SAMPLE;
    const std::int64_t m = n_landmarks();
    Buffer<double> A(d_ * m);
    std::vector<std::uint8_t> lost(at(ceil_div(d_, kTile)), 0);
    parallel_for(run, ceil_div(d_, kTile), [&](std::int64_t task, int) {
        for (std::int64_t l = 0; l < m; ++l) {
            for (std::int64_t i = task * kTile; i < std::min((task + 1) * kTile, d_); ++i) {
                A[i * m + l] = total.products[l * d_ + i];
                total.distance(i, landmarks_[at(l)], A[i * m + l], lost[at(task)]);
            }
        }
    });
    if (std::count(lost.begin(), lost.end(), 1) > 0) warnings |= FASTFS_MANIFEST_WARN_DIGITS;
    total.products = Buffer<double>();
    std::vector<double> own;
    const std::int64_t n = through_landmarks(A, landmarks_, total.norms, own, run);
    if (n == 0) std::fill_n(A.data(), A.size(), 0.0);
    fastfs_matrix rows{};
    rows.struct_size = sizeof rows;
    rows.storage = FASTFS_DENSE;
    rows.dtype = FASTFS_FLOAT64;
    rows.n_rows = std::max<std::int64_t>(n, 1);
    rows.n_cols = d_;
    rows.values = A.data();
    rows.row_stride = 1;
    rows.col_stride = m;
    const double largest = std::sqrt(*std::max_element(total.norms.begin(), total.norms.end()));
    Features<double> features(Samples(Matrix(rows)), up_to(rows.n_rows), common_unit({largest}, {0}), Shift::kNone,
                              run);
    features.add_own(own);
    return features;
}

void ManifestSums::fit(const std::int64_t* labels, std::int64_t n_classes, const fastfs_manifest_options& options,
                       const std::vector<fastfs_manifest_scale>& scales, Run& run,
                       const std::vector<fastfs_manifest_result>& results) const {
    fastfs_manifest_options o = options;
    o.accuracy = exact_ ? FASTFS_MANIFEST_EXACT : FASTFS_MANIFEST_FAST;
    const auto plan = ManifestSums::plan(d_, n_groups_, n_classes, o, static_cast<std::int64_t>(scales.size()),
                                         results.front().n_components, run);
    require((plan.accuracy == FASTFS_MANIFEST_EXACT) == exact_, "these sums are of ", n_landmarks(),
            " landmarks: give the rank that they were made for, not ", o.rank);
    const SingleThreadedBlas held;
    auto exactly = [&](const Problem& problem, Run& of_problem, std::vector<Outcome>& outcomes) {
        of_problem.step("distances of the features", 0.05);
        std::array<Distances, 2> sides;
        for (std::size_t l : {0, 1}) {
            Total total = this->total(problem[l]);
            std::vector<std::uint8_t> lost(at(d_), 0);
            parallel_for(of_problem, d_, [&](std::int64_t i, int) {
                double* row = total.products.data() + i * d_;
                for (std::int64_t j = i; j < d_; ++j) row[j] = total.distance(i, j, row[j], lost[at(i)]);
            });
            for (Outcome& outcome : outcomes) {
                if (total.n_rows == 1) outcome.kernel_warnings[l] |= FASTFS_MANIFEST_WARN_ONE_SAMPLE;
                if (std::count(lost.begin(), lost.end(), 1) > 0) {
                    outcome.kernel_warnings[l] |= FASTFS_MANIFEST_WARN_DIGITS;
                }
            }
            sides[l].D2 = std::move(total.products);
        }
        compare_distances(d_, o, scales, problem, std::move(sides), of_problem, outcomes);
    };
    auto by_landmarks = [&](const Problem& problem, Run& of_problem, std::vector<Outcome>& outcomes) {
        std::array<Features<double>, 2> features;
        for (std::size_t l : {0, 1}) {
            std::int32_t warnings = 0;
            features[l] = features_of(problem[l], of_problem, warnings);
            for (Outcome& outcome : outcomes) outcome.kernel_warnings[l] |= warnings;
        }
        auto make = [&](std::size_t l, const fastfs_manifest_scale& scale, Buffer<double>& room, Outcome& outcome,
                        Excerpt& excerpt) {
            return low_rank_kernel(features[l], o, problem[l], l, scale, room, of_problem, outcome, excerpt);
        };
        compare_low_rank(d_, scales, make, of_problem, outcomes);
    };
    solve_problems(labels, n_groups_, d_, n_classes, o, plan.n_problems, run, results,
                   exact_ ? Solve(exactly) : Solve(by_landmarks));
}

}  // namespace fastfs::core
