#include "margin/expected.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "engines/adjacent_rows.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// The number of features with tables in memory, and the number of targets with sums in memory.
constexpr std::int64_t kFeaturesAtOnce = 128, kTargetsAtOnce = 32;

// Adds all of the rows, n values each, to the n values of `to`.
void add_up_rows(const std::vector<const double*>& rows, std::int64_t n, double* __restrict to) {
    std::size_t r = 0;
    for (; r + 4 <= rows.size(); r += 4) {
        const double *a = rows[r], *b = rows[r + 1], *c = rows[r + 2], *d = rows[r + 3];
        for (std::int64_t j = 0; j < n; ++j) to[j] += (a[j] + b[j]) + (c[j] + d[j]);
    }
    for (; r < rows.size(); ++r) {
        for (std::int64_t j = 0; j < n; ++j) to[j] += rows[r][j];
    }
}

// Stands for all classes in arguments that name a class.
constexpr std::int64_t kAll = -1;

// A value that isn't missing, with its sample and class.
struct Known {
    double x, weight;
    std::int64_t j, of_class;
};

// Sorts the known values in ascending order, in place and stably, by radix: byte by byte of their bits.
void sort_by_value(std::vector<Known>& known) {
    struct Key {
        std::uint64_t bits;
        std::size_t place;
    };
    constexpr int kBytes = 8;
    std::array<std::array<std::uint32_t, 256>, kBytes> begins{};
    std::vector<Key> keys(known.size()), moved(known.size());
    for (std::size_t k = 0; k < known.size(); ++k) {
        const auto bits = std::bit_cast<std::uint64_t>(known[k].x), sign = bits >> 63;
        keys[k] = {bits ^ ((std::uint64_t{0} - sign) | std::uint64_t{1} << 63), k};  // of negative numbers, all bits
        for (int b = 0; b < kBytes; ++b) ++begins[at(b)][keys[k].bits >> 8 * b & 255];
    }
    for (int b = 0; b < kBytes; ++b) {
        std::exclusive_scan(begins[at(b)].begin(), begins[at(b)].end(), begins[at(b)].begin(), std::uint32_t{0});
        for (const Key& key : keys) moved[begins[at(b)][key.bits >> 8 * b & 255]++] = key;
        keys.swap(moved);
    }
    const std::vector<Known> before = known;
    std::transform(keys.begin(), keys.end(), known.begin(), [&](const Key& key) { return before[key.place]; });
}

// The known values that can replace a missing one: their weight, and their weighted sum.
struct Donors {
    double weight = 0, sum = 0;
};

// Sets row[j] = E|x_j - Z| for each known sample j; `known` ascends by value. Z is a random donor, drawn by weight
// among the donors of a class, or among all. Leaves the entries of samples with a gap alone.
void expected_distances(const std::vector<Known>& known, std::int64_t of_class, const Donors& donors, double* row) {
    double below = 0, sum_below = 0;
    for (const Known& one : known) {
        row[one.j] = (one.x * (2 * below - donors.weight) + donors.sum - 2 * sum_below) / donors.weight;
        const double weight = of_class == kAll || one.of_class == of_class ? one.weight : 0.0;
        below += weight;
        sum_below += weight * one.x;
    }
}

// Sets row[j] = P(Z differs from the code x_j) for each known sample j, with Z a random donor as in expected_distances.
// Leaves the entries of samples with a gap alone.
void expected_mismatches(const std::vector<Known>& known, std::int64_t of_class, const Donors& donors,
                         std::int64_t n_levels, double* row) {
    Numbers share(at(n_levels));
    for (const Known& one : known) {
        if (of_class == kAll || one.of_class == of_class) share[static_cast<std::size_t>(one.x)] += one.weight;
    }
    for (const Known& one : known) row[one.j] = 1 - share[static_cast<std::size_t>(one.x)] / donors.weight;
}

}  // namespace

ExpectedDifferences::ExpectedDifferences(const Matrix& X, const FeatureScales& scales, const std::int64_t* levels,
                                         const Numbers& sample_weights, const Classes& classes,
                                         const std::vector<std::int64_t>& columns, const Numbers& feature_weights)
    : X_(X),
      scales_(scales),
      levels_(levels),
      sample_weights_(sample_weights),
      classes_(classes),
      columns_(columns),
      feature_weights_(feature_weights) {
    for (std::size_t k = 0; k < columns.size() && !scales.incomplete.empty(); ++k) {
        if (scales.incomplete[at(columns[k])]) incomplete_.push_back(static_cast<std::int64_t>(k));
    }
}

// Returns the bytes of scratch of the calls below.
std::int64_t ExpectedDifferences::memory(int n_threads) const {
    const auto n_incomplete = static_cast<std::int64_t>(incomplete_.size());
    const std::int64_t n = X_.n_rows(), n_classes = classes_.n_classes(),
                       at_once = std::min(kFeaturesAtOnce, n_incomplete);
    const std::int64_t n_tasks = std::min<std::int64_t>(n_threads, ceil_div(n_incomplete, kFeaturesAtOnce));
    const std::int64_t features = at_once * n * (n_classes + 2);
    const std::int64_t of_distances = features + n_threads * kTargetsAtOnce * (2 * n + at_once * n_classes);
    const std::int64_t of_sums = n_tasks * (features + kTargetsAtOnce * n);
    return 8 * std::max(of_distances, of_sums);
}

Numbers ExpectedDifferences::read_features(std::int64_t first, std::int64_t size) const {
    const fastfs_matrix& m = X_.description();
    Numbers x(at(size * m.n_rows));
    std::vector<std::int64_t> columns;
    for (std::int64_t f = first; f < first + size; ++f) columns.push_back(columns_[at(incomplete_[at(f)])]);
    visit_dense(m, [&]<class T>(const T*) {
        AdjacentRows<T> rows(m, columns.data(), size);
        for (std::int64_t r = 0; r < m.n_rows; r += kRowsRead) {
            const std::int64_t last = std::min(r + kRowsRead, m.n_rows);
            const T* from = rows.read_rows(r, last);
            for (std::int64_t f = 0; f < size; ++f) {
                const auto c = at(columns[at(f)]);
                for (std::int64_t i = r; i < last; ++i) {
                    const auto value = static_cast<double>(from[(i - r) * rows.stride() + f]);
                    x[at(f * m.n_rows + i)] = (value - scales_.shift[c]) * scales_.factor[c];
                }
            }
        }
    });
    return x;
}

// Returns the expected difference of feature f between each sample and a missing value of each class; x: its values,
// NaN if missing.
ExpectedDifferences::ExpectedOfFeature ExpectedDifferences::expected_of_feature(std::int64_t f, const double* x) const {
    const std::int64_t n = X_.n_rows(), n_classes = classes_.n_classes();
    const std::int64_t levels = levels_ ? levels_[columns_[at(incomplete_[at(f)])]] : 0;
    ExpectedOfFeature feature{{}, numbers(n_classes * n)};
    std::vector<Donors> donors(at(n_classes));
    std::vector<Known> known;
    known.reserve(at(n));
    Donors all;
    for (std::int64_t j = 0; j < n; ++j) {
        if (std::isnan(x[j])) {
            feature.missing.push_back(j);
            continue;
        }
        const Known one{x[j], sample_weights_[at(j)], j, classes_.of(j)};
        known.push_back(one);
        for (Donors* totals : {&all, &donors[at(one.of_class)]}) {
            totals->weight += one.weight;
            totals->sum += one.weight * one.x;
        }
    }
    if (levels == 0) sort_by_value(known);
    Numbers sums(at(n_classes));
    for (std::int64_t c = 0; c < n_classes; ++c) {
        const bool any = donors[at(c)].weight > 0;
        double* row = feature.to_class.data() + c * n;
        if (levels > 0) {
            expected_mismatches(known, any ? c : kAll, any ? donors[at(c)] : all, levels, row);
        } else {
            expected_distances(known, any ? c : kAll, any ? donors[at(c)] : all, row);
        }
        // A missing value has the mean of its donors if both samples miss theirs independently. Halved, because both
        // samples add it.
        std::fill(sums.begin(), sums.end(), 0.0);
        for (const Known& one : known) sums[at(one.of_class)] += one.weight * row[one.j];
        const double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
        for (const std::int64_t j : feature.missing) {
            const Donors& class_donors = donors[at(classes_.of(j))];
            row[j] = (class_donors.weight > 0 ? sums[at(classes_.of(j))] / class_donors.weight : sum / all.weight) / 2;
        }
    }
    return feature;
}

void ExpectedDifferences::add_to_distances(const Targets& targets, std::int64_t t0, std::int64_t t1, double* out,
                                           Run& run) const {
    const std::int64_t n = X_.n_rows(), n_classes = classes_.n_classes();
    const auto n_incomplete = static_cast<std::int64_t>(incomplete_.size());
    run.require_memory(memory(run.n_threads()), "expected differences");
    for (std::int64_t first = 0; first < n_incomplete; first += kFeaturesAtOnce) {
        const std::int64_t size = std::min(kFeaturesAtOnce, n_incomplete - first);
        const Numbers x = read_features(first, size);
        std::vector<ExpectedOfFeature> features(at(size));
        parallel_for(run, size, [&](std::int64_t f, int) {
            features[at(f)] = expected_of_feature(first + f, x.data() + f * n);
            if (feature_weights_.empty()) return;
            for (double& expected : features[at(f)].to_class) {
                expected *= feature_weights_[at(incomplete_[at(first + f)])];
            }
        });
        std::vector<std::vector<std::int64_t>> missing(at(n));  // features of each sample
        for (std::int64_t f = 0; f < size; ++f) {
            for (const std::int64_t j : features[at(f)].missing) missing[at(j)].push_back(f);
        }
        parallel_for(run, ceil_div(t1 - t0, kTargetsAtOnce), [&](std::int64_t task, int) {
            const std::int64_t start = task * kTargetsAtOnce, n_in_block = std::min(kTargetsAtOnce, t1 - t0 - start);
            // The expected differences for values that targets miss and, by sample, for values that other samples miss.
            Numbers of_targets(at(n_in_block * n)), of_others(at(n * n_in_block)),
                columns(at(size * n_classes * n_in_block));
            double* to = columns.data();
            for (const ExpectedOfFeature& feature : features) {
                for (std::int64_t c = 0; c < n_classes; ++c) {
                    for (std::int64_t t = start; t < start + n_in_block; ++t) {
                        *to++ = feature.to_class[at(c * n + targets.row(t0 + t))];
                    }
                }
            }
            std::vector<const double*> rows;
            for (std::int64_t t = 0; t < n_in_block; ++t) {
                const std::int64_t i = targets.row(t0 + start + t);
                rows.clear();
                for (const auto f : missing[at(i)]) rows.push_back(&features[at(f)].to_class[at(classes_.of(i) * n)]);
                add_up_rows(rows, n, of_targets.data() + t * n);
            }
            for (std::int64_t j = 0; j < n; ++j) {
                rows.clear();
                for (const auto f : missing[at(j)]) {
                    rows.push_back(columns.data() + (f * n_classes + classes_.of(j)) * n_in_block);
                }
                add_up_rows(rows, n_in_block, of_others.data() + j * n_in_block);
            }
            for (std::int64_t j = 0; j < n; ++j) {
                for (std::int64_t t = 0; t < n_in_block; ++t) {
                    out[(start + t) * n + j] += of_targets[at(t * n + j)] + of_others[at(j * n_in_block + t)];
                }
            }
        });
    }
}

void ExpectedDifferences::add_to_sums(const Targets& targets, std::int64_t t0, std::int64_t t1, const double* g,
                                      double* sums, Run& run) const {
    const std::int64_t n = X_.n_rows(), n_classes = classes_.n_classes();
    const auto n_incomplete = static_cast<std::int64_t>(incomplete_.size());
    run.require_memory(memory(run.n_threads()), "expected differences");
    parallel_for(run, ceil_div(n_incomplete, kFeaturesAtOnce), [&](std::int64_t task, int) {
        const std::int64_t first = task * kFeaturesAtOnce, size = std::min(kFeaturesAtOnce, n_incomplete - first);
        const Numbers x = read_features(first, size);
        std::vector<std::vector<std::int64_t>> missing(at(size));  // samples of each feature
        for (std::int64_t f = 0; f < size; ++f) {
            for (std::int64_t j = 0; j < n; ++j) {
                if (std::isnan(x[at(f * n + j)])) missing[at(f)].push_back(j);
            }
        }
        // The weights by which the expected differences of each feature are summed.
        Numbers weights(at(size * n_classes * n)), columns(at(n * kTargetsAtOnce)), column(at(kTargetsAtOnce));
        std::vector<std::vector<const double*>> of_targets(at(n_classes)), of_others(at(n_classes));
        for (std::int64_t start = t0; start < t1; start += kTargetsAtOnce) {
            const std::int64_t n_in_block = std::min(kTargetsAtOnce, t1 - start);
            const double* rows = g + (start - t0) * n;
            for (std::int64_t j = 0; j < n; ++j) {
                for (std::int64_t t = 0; t < n_in_block; ++t) columns[at(j * n_in_block + t)] = rows[t * n + j];
            }
            for (std::int64_t f = 0; f < size; ++f) {
                for (auto& pointers : of_targets) pointers.clear();
                for (auto& pointers : of_others) pointers.clear();
                for (std::int64_t t = 0; t < n_in_block; ++t) {
                    const std::int64_t i = targets.row(start + t);
                    if (std::isnan(x[at(f * n + i)])) of_targets[at(classes_.of(i))].push_back(rows + t * n);
                }
                for (const std::int64_t j : missing[at(f)]) {
                    of_others[at(classes_.of(j))].push_back(columns.data() + j * n_in_block);
                }
                for (std::int64_t c = 0; c < n_classes; ++c) {
                    double* to = weights.data() + (f * n_classes + c) * n;
                    add_up_rows(of_targets[at(c)], n, to);
                    std::fill(column.begin(), column.end(), 0.0);
                    add_up_rows(of_others[at(c)], n_in_block, column.data());
                    for (std::int64_t t = 0; t < n_in_block; ++t) to[targets.row(start + t)] += column[at(t)];
                }
            }
        }
        for (std::int64_t f = 0; f < size; ++f) {
            const Numbers expected = expected_of_feature(first + f, x.data() + f * n).to_class;
            sums[incomplete_[at(first + f)]] +=
                std::inner_product(expected.begin(), expected.end(), weights.begin() + f * n_classes * n, 0.0);
        }
    });
}

}  // namespace fastfs::core
