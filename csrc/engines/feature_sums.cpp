#include "engines/feature_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "engines/columns.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// Dense rows that are multiplied together: with PairPanels::kColumns columns they take 0.5 MB of doubles, half an L2
// cache of 1 MiB.
constexpr std::int64_t kRowsAtOnce = 256;
constexpr std::int64_t kRowsOfSums = 16;

// Sparse rows that are added together have this many products for each sum, so that reading and writing the sums costs
// little, and yet stay in a cache, since a row is read again for each of its values.
constexpr double kProductsPerSum = 4;
constexpr std::int64_t kLandmarksOfTask = 16;

// Largest magnitude of a value: the squares of 10^15 values within it add up to a finite number, so that any sums can
// be saved and loaded.
constexpr double kLargestValue = 1e145;

// Squared norms below this have lost digits, if not all of them, to underflow.
constexpr double kSmallestNorm = std::numeric_limits<double>::min() / std::numeric_limits<double>::epsilon();

// Share of the squared norms below which a distance has lost most of its digits.
constexpr double kFewDigits = 1e-10;

// Returns the number of stored values after which no more sparse rows are added together.
std::int64_t stored_at_once(std::int64_t n_rows, std::int64_t n_stored, std::int64_t d) {
    const double per_row = std::max(1.0, static_cast<double>(n_stored) / static_cast<double>(n_rows));
    const double sums = static_cast<double>(d) * static_cast<double>(d);
    return static_cast<std::int64_t>(
        std::clamp(kProductsPerSum * sums / per_row, 1.0, 1.0 + static_cast<double>(n_stored)));
}

}  // namespace

std::vector<std::int64_t> by_group(const std::int64_t* groups, std::int64_t n, std::int64_t n_groups) {
    std::vector<std::int64_t> next(at(n_groups + 1), 0), order(at(n));
    for (std::int64_t r = 0; r < n; ++r) ++next[at(groups[r] + 1)];
    for (std::int64_t g = 0; g < n_groups; ++g) next[at(g + 1)] += next[at(g)];
    for (std::int64_t r = 0; r < n; ++r) order[at(next[at(groups[r])]++)] = r;
    return order;
}

Numbers row_offsets(const Matrix& X, Run& run) {
    Numbers offsets(at(X.n_rows()), 0.0);
    if (X.is_sparse()) return offsets;
    visit_values(X.description(), [&]<class T>(const Values<T>& x) {
        parallel_for(run, ceil_div(X.n_rows(), kRowsOfSums), [&](std::int64_t task, int) {
            for (std::int64_t r = task * kRowsOfSums; r < std::min((task + 1) * kRowsOfSums, X.n_rows()); ++r) {
                offsets[at(r)] = shared_offset(x, r, X.n_cols(), 1.0);
            }
        });
    });
    return offsets;
}

double RowTotals::distance(std::int64_t i, std::int64_t j, double product, std::uint8_t& lost) const {
    const double q = norms[at(i)] + norms[at(j)], d2 = q - 2 * product;
    if (d2 >= kFewDigits * q) return d2;
    if (i == j || (norms[at(i)] == norms[at(j)] && sums[at(i)] == sums[at(j)])) return 0;  // equal columns
    lost = 1;
    return std::max(d2, 0.0);
}

// Overwrites the upper triangle of products with squared distances; returns true if one has lost its digits.
bool FeatureSums::Total::make_distances(Run& run) {
    const auto d = static_cast<std::int64_t>(sums.size());
    std::vector<std::uint8_t> lost(at(d), 0);
    parallel_for(run, d, [&](std::int64_t i, int) {
        double* row = products.data() + i * d;
        for (std::int64_t j = i; j < d; ++j) row[j] = distance(i, j, row[j], lost[at(i)]);
    });
    return std::count(lost.begin(), lost.end(), 1) > 0;
}

bool PairProducts::has_lost_digits(Run& run) const {
    const std::int64_t d = n_features();
    std::vector<std::uint8_t> lost(at(d), 0);
    parallel_for(run, d, [&](std::int64_t i, int) {
        for (std::int64_t j = i; j < d; ++j) totals_.distance(i, j, product(i, j), lost[at(i)]);
    });
    return std::count(lost.begin(), lost.end(), 1) > 0;
}

FeatureSums::FeatureSums(std::int64_t n_features, std::int64_t n_groups, std::vector<std::int64_t> landmarks,
                         bool is_whole)
    : d_(n_features),
      n_groups_(n_groups),
      landmarks_(std::move(landmarks)),
      is_whole_(is_whole),
      place_(at(n_features), -1),
      numbers_(n_groups * group_size()) {
    for (std::size_t l = 0; l < landmarks_.size(); ++l) place_[at(landmarks_[l])] = static_cast<std::int32_t>(l);
    std::fill_n(numbers_.data(), numbers_.size(), 0.0);
}

FeatureSums::FeatureSums(const FeatureSums& other)
    : d_(other.d_),
      n_groups_(other.n_groups_),
      landmarks_(other.landmarks_),
      is_whole_(other.is_whole_),
      place_(other.place_),
      numbers_(other.numbers_.size()) {
    std::copy_n(other.numbers_.data(), numbers_.size(), numbers_.data());
}

std::int64_t FeatureSums::update_memory(const Matrix& X, int n_threads) const {
    const std::int64_t n = X.n_rows(), m = n_landmarks(), rows = std::min(n, kRowsAtOnce);
    return 8 * 3 * n + (X.is_sparse() ? 16 * std::min(X.n_stored(), stored_at_once(n, X.n_stored(), d_) + d_)
                                      : 8 * rows * (m + n_threads * std::min(d_, PairPanels::kColumns)));
}

// Adds the rows of X to the sums of their groups; refuses values that aren't finite or are too large before it adds
// any.
void FeatureSums::update(const Matrix& X, const std::int64_t* groups, Run& run, bool stoppable) {
    const std::int64_t n = X.n_rows();
    run.require_memory(update_memory(X, run.n_threads()), {"the sums of ", n, " rows"});
    const std::vector<double> maxima = X.row_maxima(run);  // refuses NaN and infinity
    for (std::int64_t r = 0; r < n; ++r) {
        if (maxima[at(r)] <= kLargestValue) continue;
        refuse({"the values of ", Name::row(r),
                " are too large: their squares overflow float64; divide X by a constant first"});
    }
    const SingleThreadedBlas held;
    const std::vector<std::int64_t> order = by_group(groups, n, n_groups_);
    Run whole({sizeof(fastfs_run), run.n_threads(), 0, nullptr, nullptr, nullptr});
    Run& of_sums = stoppable ? run : whole;
    if (X.is_sparse()) {
        add_sparse(X, groups, order, of_sums);
    } else {
        add_dense(X, groups, order, of_sums);
    }
    for (std::int64_t r = 0; r < n; ++r) group(groups[r])[0] += 1;
}

// Adds dense rows to the sums of their groups, and rows less their offsets to the norms and products; adds up the
// offsets too. `order` lists the rows group by group; the caller counts the rows.
void FeatureSums::add_dense(const Matrix& X, const std::int64_t* groups, const std::vector<std::int64_t>& order,
                            Run& run) {
    const std::int64_t n = X.n_rows(), m = n_landmarks();
    Buffer<double> landmarks(std::min(n, kRowsAtOnce) * m);
    auto panels = buffers<double>(run.n_threads(), std::min(n, kRowsAtOnce) * std::min(d_, PairPanels::kColumns));
    const Numbers offsets = row_offsets(X, run);
    visit_values(X.description(), [&]<class T>(const Values<T>& x) {
        auto room = buffers<T>(run.n_threads(), std::min(d_, PairPanels::kColumns));  // of genotypes
        for (std::int64_t r = 0; r < n; ++r) group(groups[r])[1] += offsets[at(r)];
        for (std::int64_t first = 0; first < n; first += kRowsAtOnce) {
            const std::int64_t rows = std::min(kRowsAtOnce, n - first);
            const std::int64_t* which = order.data() + first;
            parallel_for(run, ceil_div(rows, kRowsOfSums), [&](std::int64_t task, int) {
                for (std::int64_t i = task * kRowsOfSums; i < std::min((task + 1) * kRowsOfSums, rows); ++i) {
                    const std::int64_t r = which[i];
                    double* row = landmarks.data() + i * m;
                    for (std::int64_t l = 0; l < m; ++l) {
                        row[l] = static_cast<double>(x(r, landmarks_[at(l)])) - offsets[at(r)];
                    }
                }
            });
            parallel_for(run, ceil_div(d_, PairPanels::kColumns), [&](std::int64_t task, int slot) {
                const std::int64_t j0 = task * PairPanels::kColumns, width = std::min(PairPanels::kColumns, d_ - j0);
                double* panel = panels[at(slot)].data();
                for (std::int64_t i = 0; i < rows; ++i) {
                    const std::int64_t r = which[i];
                    const auto [values, rs, cs] = x.block(r, r + 1, j0, j0 + width, room[at(slot)]);
                    double *sums = this->sums(groups[r]) + j0, *norms = sums + d_, *row = panel + i * width;
                    for (std::int64_t j = 0; j < width; ++j) {
                        const auto value = static_cast<double>(values[j * cs]);
                        row[j] = value - offsets[at(r)];
                        sums[j] += value;
                        norms[j] += row[j] * row[j];
                    }
                }
                const std::int64_t n_products = is_whole() ? j0 + width : m;
                const std::int64_t to = is_whole() ? PairPanels::begin(j0) : j0, ld = is_whole() ? width : d_;
                for (std::int64_t i = 0, end = 0; i < rows && m > 0; i = end) {
                    const std::int64_t g = groups[which[i]];
                    while (end < rows && groups[which[end]] == g) ++end;
                    gemm('N', 'T', width, n_products, end - i, 1.0, panel + i * width, width, landmarks.data() + i * m,
                         m, 1.0, products(g) + to, ld);
                }
            });
        }
    });
}

// Adds sparse rows to the sums, norms and products of their groups, without filling their zeros; the caller counts the
// rows. Each sum is added by one task, in the order of the rows, so the bits don't depend on the number of threads or
// blocks.
void FeatureSums::add_sparse(const Matrix& X, const std::int64_t* groups, const std::vector<std::int64_t>& order,
                             Run& run) {
    with_ascending_columns(X, [&](const auto* values, const auto* indptr, const auto* indices) {
        struct Entry {
            std::int64_t row, place;
        };
        const std::int64_t n = X.n_rows(), most = stored_at_once(n, X.n_stored(), d_);
        // Allocates all memory first: nothing after this can fail, so that the sums have all of the rows or none.
        Buffer<Entry> entries(std::min(X.n_stored(), most + d_));
        std::vector<std::int64_t> begins(landmarks_.size() + 1), next(begins.size());
        const std::int64_t n_panels = is_whole() ? ceil_div(d_, PairPanels::kColumns) : 1;
        auto panels = buffers<double*>(run.n_threads(), n_panels);
        // Adds the products of landmark l in the entries of a block. to: scratch for where its products with feature 0
        // would be in each panel.
        const auto add_products = [&](std::int64_t l, double** to) {
            std::int64_t group = -1;
            for (std::int64_t i = begins[at(l)]; i < begins[at(l + 1)]; ++i) {
                const auto [r, place] = entries[i];
                const auto value = static_cast<double>(values[place]);
                const std::int64_t end = indptr[r + 1];
                if (groups[r] != group) {
                    group = groups[r];
                    to[0] = products(group) + l * d_;
                    for (std::int64_t t = 0; is_whole() && t < n_panels; ++t) {
                        const std::int64_t j0 = t * PairPanels::kColumns;
                        to[t] = products(group) + PairPanels::begin(j0) + l * PairPanels::width(j0, d_) - j0;
                    }
                }
                if (!is_whole()) {
                    for (std::int64_t e = indptr[r]; e < end; ++e) {
                        to[0][indices[e]] += value * static_cast<double>(values[e]);
                    }
                    continue;
                }
                for (std::int64_t e = place; e < end; ++e) {
                    const std::int64_t j = indices[e];
                    to[j / PairPanels::kColumns][j] += value * static_cast<double>(values[e]);
                }
            }
        };
        const std::int64_t width = ceil_div(d_, std::min<std::int64_t>(run.n_threads(), d_));
        for (std::int64_t first = 0, last = 0; first < n; first = last) {
            std::fill(begins.begin(), begins.end(), 0);
            for (std::int64_t stored = 0; last < n && stored < most; ++last) {
                const std::int64_t r = order[at(last)];
                for (std::int64_t e = indptr[r]; e < indptr[r + 1]; ++e) {
                    if (const auto place = place_[at(indices[e])]; place >= 0) ++begins[at(place + 1)];
                }
                stored += indptr[r + 1] - indptr[r];
            }
            std::partial_sum(begins.begin(), begins.end(), begins.begin());
            next = begins;
            parallel_for(run, ceil_div(d_, width), [&](std::int64_t task, int) {
                const std::int64_t j0 = task * width;
                for (std::int64_t i = first; i < last; ++i) {
                    const std::int64_t r = order[at(i)];
                    double *sums = this->sums(groups[r]), *norms = sums + d_;
                    const auto *index = indices + indptr[r], *end = indices + indptr[r + 1];
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
            parallel_for(run, ceil_div(n_landmarks(), kLandmarksOfTask), [&](std::int64_t task, int slot) {
                const std::int64_t l0 = task * kLandmarksOfTask;
                for (std::int64_t l = l0; l < std::min(l0 + kLandmarksOfTask, n_landmarks()); ++l) {
                    add_products(l, panels[at(slot)].data());
                }
            });
        }
    });
}

void FeatureSums::merge(const FeatureSums& other) {
    for (std::int64_t e = 0; e < numbers_.size(); ++e) numbers_[e] += other.numbers_[e];
}

void FeatureSums::counts(double* to) const {
    for (std::int64_t g = 0; g < n_groups_; ++g) to[g] = group(g)[0];
}

void FeatureSums::means(double* to) const {
    for (std::int64_t g = 0; g < n_groups_; ++g) {
        const double* sums_of_group = group(g);
        for (std::int64_t j = 0; j < d_; ++j)
            to[g * d_ + j] = sums_of_group[0] > 0 ? sums_of_group[2 + j] / sums_of_group[0] : 0;
    }
}

std::int64_t FeatureSums::n_rows() const {
    double n = 0;
    for (std::int64_t g = 0; g < n_groups_; ++g) n += group(g)[0];
    return static_cast<std::int64_t>(n);
}

// Reads the sums of all groups, and throws unless they are finite and the counts possible.
Buffer<double> FeatureSums::read_numbers(ByteReader& from) const {
    constexpr double kMostRows = 1e15;
    Buffer<double> numbers(numbers_.size());
    from.get(numbers.data(), numbers.size());
    from.expect(
        std::all_of(numbers.data(), numbers.data() + numbers.size(), [](double x) { return std::isfinite(x); }));
    double n = 0;
    for (std::int64_t g = 0; g < n_groups_; ++g) {
        const double count = numbers[g * group_size()];
        from.expect(count >= 0);
        n += count;
    }
    from.expect(n <= kMostRows);
    return numbers;
}

// Adds up counts, offsets, sums and norms of the listed groups; refuses no rows, and values too large or too small to
// be squared.
RowTotals FeatureSums::row_totals(const std::vector<std::int64_t>& groups, const Name& name) const {
    RowTotals total;
    total.sums.assign(at(d_), 0.0);
    total.norms = total.sums;
    for (std::int64_t g : groups) {
        const double* sums_of_group = group(g);
        total.n_rows += sums_of_group[0];
        total.offsets += sums_of_group[1];
        for (std::int64_t j = 0; j < d_; ++j) {
            total.sums[at(j)] += sums_of_group[2 + j];
            total.norms[at(j)] += sums_of_group[2 + d_ + j];
        }
    }
    require(total.n_rows > 0, name, " must have rows; got none");
    for (std::int64_t j = 0; j < d_; ++j) {
        // Products are then finite too (Cauchy-Schwarz).
        require(std::isfinite(4 * total.norms[at(j)]), "the values of feature ", j,
                " are too large: their squares overflow float64; divide X by a constant first");
    }
    const double largest = *std::max_element(total.norms.begin(), total.norms.end());
    require(largest == 0 || largest >= kSmallestNorm, "the values of ", name,
            " are too small: their squares underflow in float64; multiply X by a constant first");
    return total;
}

// Adds up the sums and products of the listed groups; products of all pairs go from panels to an upper triangle.
FeatureSums::Total FeatureSums::total(const std::vector<std::int64_t>& groups, const Name& name) const {
    Total total{row_totals(groups, name), Buffer<double>(n_landmarks() * d_)};
    std::fill_n(total.products.data(), total.products.size(), 0.0);
    for (std::int64_t g : groups) {
        const double* products_of_group = products(g);
        for (std::int64_t l = 0; l < n_landmarks(); ++l) {
            double* row = total.products.data() + l * d_;
            if (!is_whole()) {
                for (std::int64_t j = 0; j < d_; ++j) row[j] += products_of_group[l * d_ + j];
                continue;
            }
            for (std::int64_t j0 = l / PairPanels::kColumns * PairPanels::kColumns; j0 < d_;
                 j0 += PairPanels::kColumns) {
                const std::int64_t width = PairPanels::width(j0, d_);
                const double* from = products_of_group + PairPanels::begin(j0) + l * width;
                for (std::int64_t j = 0; j < width; ++j) row[j0 + j] += from[j];
            }
        }
    }
    return total;
}

// Adds up the panels of the listed groups; refers to the panels of a single group without a copy.
PairProducts FeatureSums::pair_products(const std::vector<std::int64_t>& groups, const Name& name) const {
    RowTotals totals = row_totals(groups, name);
    if (groups.size() == 1) return {std::move(totals), products(groups.front())};
    Buffer<double> panels(PairPanels::size(d_));
    std::copy_n(products(groups.front()), panels.size(), panels.data());
    for (std::size_t g = 1; g < groups.size(); ++g) {
        const double* products_of_group = products(groups[g]);
        for (std::int64_t e = 0; e < panels.size(); ++e) panels[e] += products_of_group[e];
    }
    return {std::move(totals), std::move(panels)};
}

}  // namespace fastfs::core
