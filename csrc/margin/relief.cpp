#include "margin/relief.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/classes.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"
#include "support/random.hpp"

namespace fastfs::core {
namespace {

// All three methods give each sample some others with weights g, and score feature a by the sum of g |x_na - x_ja|
// (RELIEF: of its square). They differ in which samples, and in g.

struct Neighbor {
    std::int64_t j;
    double g;
};

// ---- RELIEF: the nearest hit and the nearest miss ------------------------------------------------------------------

struct Nearest {
    const Classes& classes;
    std::int64_t n_samples;

    std::int64_t most() const { return 2; }

    void operator()(std::int64_t n, const double* distances, std::vector<Neighbor>& found) const {
        constexpr double kNone = std::numeric_limits<double>::infinity();
        std::int64_t at[2] = {-1, -1};  // miss, hit
        double least[2] = {kNone, kNone};
        for (std::int64_t j = 0; j < n_samples; ++j) {
            if (j == n) continue;
            const bool hit = classes.of(j) == classes.of(n);
            if (distances[j] < least[hit]) {
                least[hit] = distances[j];
                at[hit] = j;
            }
        }
        if (at[1] < 0) return;  // a miss alone would only tell how far samples are apart
        found.push_back({at[0], 1.0});
        found.push_back({at[1], -1.0});
    }
};

// ---- ReliefF: k nearest hits, k nearest misses of each other class --------------------------------------------------

struct NearestOfEachClass {
    const Classes& classes;
    std::int64_t n_samples, k;
    // Scratch: candidates of each class, and the distance from which on a row is none.
    std::vector<std::vector<std::int64_t>> candidates;
    std::vector<double> limits;

    std::int64_t most() const {
        std::int64_t sum = 0;
        for (std::int64_t c = 0; c < classes.n_classes(); ++c) sum += std::min(k, classes.size(c));
        return sum;
    }

    // At most k candidates, the nearest. Rows come in ascending order, so one that is at the limit has lost.
    void keep_nearest(std::size_t c, const double* distances) {
        auto& rows = candidates[c];
        if (static_cast<std::int64_t>(rows.size()) < k) return;
        std::nth_element(rows.begin(), rows.begin() + (k - 1), rows.end(), [&](std::int64_t a, std::int64_t b) {
            return distances[a] != distances[b] ? distances[a] < distances[b] : a < b;
        });
        rows.resize(static_cast<std::size_t>(k));
        limits[c] = distances[rows.back()];
    }

    void operator()(std::int64_t n, const double* distances, std::vector<Neighbor>& found) {
        candidates.resize(at(classes.n_classes()));
        for (auto& rows : candidates) rows.clear();
        limits.assign(at(classes.n_classes()), std::numeric_limits<double>::infinity());
        const std::int64_t* labels = classes.labels.data();
        const double* limit = limits.data();
        for (std::int64_t j = 0; j < n_samples; ++j) {
            if (!(distances[j] < limit[labels[j]]) || j == n) continue;
            const auto c = static_cast<std::size_t>(labels[j]);
            candidates[c].push_back(j);
            if (static_cast<std::int64_t>(candidates[c].size()) == 2 * k) keep_nearest(c, distances);
        }
        const auto own = static_cast<std::size_t>(labels[n]);
        for (std::size_t c = 0; c < candidates.size(); ++c) {
            keep_nearest(c, distances);
            // p_c / (1 - p_y), and the mean.
            const double share = c == own ? -1.0
                                          : static_cast<double>(classes.size(static_cast<std::int64_t>(c))) /
                                                static_cast<double>(n_samples - classes.size(labels[n]));
            for (const std::int64_t j : candidates[c]) {
                found.push_back({j, share / static_cast<double>(candidates[c].size())});
            }
        }
    }
};

// ---- MultiSURF: all that are nearer than most -----------------------------------------------------------------------

struct NearerThanMost {
    const Classes& classes;
    std::int64_t n_samples;
    std::vector<std::int64_t> counts;  // scratch

    std::int64_t most() const { return n_samples; }

    void operator()(std::int64_t n, const double* distances, std::vector<Neighbor>& found) {
        // Mean and standard deviation of the distances to the others, from one of them on: where all are equal, none
        // is nearer.
        const double origin = distances[n == 0 ? 1 : 0], others = static_cast<double>(n_samples) - 1;
        double sum = 0, squares = 0;
        for (std::int64_t j = 0; j < n_samples; ++j) sum += j == n ? 0.0 : distances[j] - origin;
        const double mean = origin + sum / others;
        for (std::int64_t j = 0; j < n_samples; ++j) {
            const double difference = j == n ? 0.0 : distances[j] - mean;
            squares += difference * difference;
        }
        const double threshold = mean - std::sqrt(squares / others) / 2;

        counts.assign(at(classes.n_classes()), 0);
        for (std::int64_t j = 0; j < n_samples; ++j) {
            if (j == n || !(distances[j] < threshold)) continue;
            found.push_back({j, 0.0});
            ++counts[static_cast<std::size_t>(classes.of(j))];
        }
        const std::int64_t own = classes.of(n);
        const auto hits = static_cast<double>(counts[static_cast<std::size_t>(own)]);
        const double misses = static_cast<double>(found.size()) - hits;
        for (Neighbor& neighbor : found) {
            const std::int64_t c = classes.of(neighbor.j);
            // A class's sum is weighted by its share of the misses times the number of classes missed: with two
            // classes, each gets the mean.
            const double share = static_cast<double>(counts[static_cast<std::size_t>(c)]) / misses;
            neighbor.g = c == own ? -1.0 / hits : share * static_cast<double>(classes.n_classes() - 1) / misses;
        }
    }
};

// ---- from neighbors to scores ---------------------------------------------------------------------------------------

// Samples whose distances to all are held at once, where not those of all are.
constexpr std::int64_t kRowsPerBlock = 256;

constexpr std::int64_t kRowsPerTask = 16;

struct Sums {
    std::vector<double> of_features;  // those of margin.features()
    bool stored, any;
};

// For each feature the sum of g |x_n - x_j|, or its square, over the neighbors j of the `targets` n, ascending.
template <class T, class Find>
Sums sum_over_neighbors(const Margin& margin, const std::vector<std::int64_t>& targets, const Find& find,
                        Difference nearness, Difference summed, Run& run) {
    const ScaledFeatures data = margin.features();
    const std::int64_t n = data.n_samples(), n_targets = static_cast<std::int64_t>(targets.size());
    const bool all = n_targets == n;
    const double* kept = margin.kept(nearness);

    // Few pairs make a list, many a matrix, which takes the place of the distances if these are ours.
    const bool listed = find.most() * 8 <= n;
    constexpr std::int64_t kBytesOfPair = 96;  // with what feature_sums makes of it
    if (listed && !run.is_question()) {
        run.require_memory(n_targets * find.most() * kBytesOfPair, "a list of neighbors",
                           "raise max_memory (or FASTFS_MAX_MEMORY), or give fewer samples");
    }
    const std::int64_t weights = listed ? 0 : n * n * static_cast<std::int64_t>(sizeof(T)) / 2;
    const bool whole = (kept && listed) || (all && run.allows(stored_distances_memory(n) + weights));
    const std::int64_t block = whole ? n_targets : std::min(kRowsPerBlock, n_targets);
    Buffer<double> rows;
    if (run.is_question()) {
        run.require_memory(32 * margin.X().n_cols() + stored_distances_memory(1) +
                               (listed ? n_targets * find.most() * kBytesOfPair : 0) +
                               (!kept || !listed ? block * n * 8 : 0) + weights / n * block +
                               (all ? 0 : n_targets * margin.X().n_cols() * static_cast<std::int64_t>(sizeof(T))),
                           "looking up neighbors", "raise max_memory (or FASTFS_MAX_MEMORY), or give fewer samples");
    }
    if (!kept || !listed) {
        run.require_memory(block * n * 8, "a block of distances",
                           "raise max_memory (or FASTFS_MAX_MEMORY), or give fewer samples");
        rows = Buffer<double>(block * n);
    }

    // Targets that are only some of the samples stand in a matrix of their own.
    const std::int64_t n_cols = margin.X().n_cols();
    Buffer<T> copy;
    fastfs_matrix m = margin.X().description();
    if (!all) {
        run.require_memory(n_targets * n_cols * static_cast<std::int64_t>(sizeof(T)), "a copy of the targets",
                           "use fewer of them");
        copy = Buffer<T>(n_targets * n_cols);
        parallel_for(run, n_targets, [&](std::int64_t t, int) {
            const T* from = static_cast<const T*>(m.values) + targets[static_cast<std::size_t>(t)] * m.row_stride;
            for (std::int64_t c = 0; c < n_cols; ++c) copy[t * n_cols + c] = from[c * m.col_stride];
        });
        m.values = copy.data();
        m.n_rows = n_targets;
        m.row_stride = n_cols;
        m.col_stride = 1;
    }
    const Matrix targets_only(m);
    const ScaledFeatures left = all ? data : margin.features(targets_only);

    Sums sums{std::vector<double>(static_cast<std::size_t>(data.n_features())), kept || (all && whole), false};
    std::vector<WeightedPair> pairs;
    std::vector<Find> finders(static_cast<std::size_t>(run.n_threads()), find);  // each with its own scratch
    std::vector<std::vector<Neighbor>> found(finders.size());
    run.step("neighbors", listed ? 0.9 : 1.0);
    for (std::int64_t first = 0; first < n_targets; first += block) {
        const std::int64_t last = std::min(first + block, n_targets);
        const auto share = [&](double done) {
            return (static_cast<double>(first) + done * static_cast<double>(last - first)) /
                   static_cast<double>(n_targets);
        };
        if (!kept) {
            const Run::Part part(run, share(0), share(listed ? 0.9 : 0.45));
            pair_sums<T>(left, first, last, data, 0, n, nearness, rows.data(), n, run);
        }
        const std::int64_t n_tasks = ceil_div(last - first, kRowsPerTask);
        std::vector<std::vector<WeightedPair>> of_task(static_cast<std::size_t>(n_tasks));
        std::vector<char> any(static_cast<std::size_t>(n_tasks), 0);
        {
            const Run::Part part(run, share(listed ? 0.9 : 0.45), share(listed ? 1.0 : 0.5));
            parallel_for(run, n_tasks, [&](std::int64_t task, int slot) {
                auto& neighbors = found[static_cast<std::size_t>(slot)];
                const std::int64_t begin = first + task * kRowsPerTask, end = std::min(begin + kRowsPerTask, last);
                for (std::int64_t t = begin; t < end; ++t) {
                    const std::int64_t target = targets[static_cast<std::size_t>(t)];
                    double* row = rows.data() + (t - first) * n;
                    neighbors.clear();
                    finders[static_cast<std::size_t>(slot)](target, kept ? kept + target * n : row, neighbors);
                    if (!neighbors.empty()) any[static_cast<std::size_t>(task)] = 1;
                    if (!listed) std::fill_n(row, n, 0.0);
                    for (const auto& [j, g] : neighbors) {
                        if (listed) {
                            of_task[static_cast<std::size_t>(task)].push_back({target, j, g});
                        } else {
                            row[j] = g;
                        }
                    }
                }
            });
        }
        for (const char one : any) sums.any = sums.any || one;
        for (const auto& some : of_task) pairs.insert(pairs.end(), some.begin(), some.end());
        if (!listed) {
            const Run::Part part(run, share(0.5), share(1));
            feature_sums<T>(left, first, last, data, 0, n, summed, rows.data(), n, all && whole,
                            sums.of_features.data(), run);
        }
    }
    rows = Buffer<double>();
    run.step("scores", 1.0);
    feature_sums<T>(data, std::move(pairs), summed, sums.of_features.data(), run);
    return sums;
}

}  // namespace

void relief(const Margin& margin, const Classes& classes, const fastfs_relief_options& options, Run& run,
            fastfs_relief_result& result) {
    const std::int64_t n = margin.X().n_rows();
    std::vector<std::int64_t> targets;
    if (options.method == FASTFS_RELIEF && options.n_targets > 0 && options.n_targets < n) {
        targets = Random(options.seed).subset(n, options.n_targets);
    } else {
        for (std::int64_t i = 0; i < n; ++i) targets.push_back(i);
    }

    const auto sum = [&](const auto& find, Difference nearness, Difference summed) {
        return visit_dense(margin.X().description(), [&]<class T>(const T*) {
            return sum_over_neighbors<T>(margin, targets, find, nearness, summed, run);
        });
    };
    const auto sums = [&] {
        switch (options.method) {
            case FASTFS_RELIEF:
                return sum(Nearest{classes, n}, Difference::kSquared,
                           options.closed_form ? Difference::kAbsolute : Difference::kSquared);
            case FASTFS_RELIEFF:
                return sum(NearestOfEachClass{classes, n, std::min(options.n_neighbors, n), {}, {}},
                           Difference::kAbsolute, Difference::kAbsolute);
            default:
                return sum(NearerThanMost{classes, n, {}}, Difference::kAbsolute, Difference::kAbsolute);
        }
    }();

    result.warnings = margin.warnings(classes);
    if (options.method == FASTFS_RELIEFF && classes.smallest() <= options.n_neighbors) {
        result.warnings |= FASTFS_MARGIN_FEW_NEIGHBORS;
    }
    if (options.method == FASTFS_MULTISURF && !sums.any) result.warnings |= FASTFS_MARGIN_NO_NEIGHBORS;
    result.stored = sums.stored;

    const auto used = margin.features().features;
    std::fill_n(result.scores, margin.X().n_cols(), 0.0);
    double norm = static_cast<double>(targets.size());
    if (options.closed_form) {  // w = max(-u, 0) / |max(-u, 0)|, with -u = sum of misses less hits
        double squares = 0;
        for (const double s : sums.of_features) squares += s > 0 ? s * s : 0.0;
        norm = std::sqrt(squares);
        if (norm == 0) {
            result.warnings |= FASTFS_MARGIN_NO_WEIGHT;
            return;
        }
    }
    for (std::size_t k = 0; k < used.size(); ++k) {
        const double s = sums.of_features[k];
        result.scores[used[k]] = (options.closed_form ? std::max(s, 0.0) : s) / norm;
    }
}

}  // namespace fastfs::core
