#include "engines/sample_pairs.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "engines/isa/tiles.hpp"
#include "engines/sample_panels.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// Pairs with sums that are kept in T before they are added to doubles.
constexpr std::int64_t kPairsPerFlush = 256;

// Runs over the panels pass by pass: calls pack() at the start of a pass, then f(panel, task, partial sums) in parallel
// for each task of each panel, with zeroed doubles for the panel's features. Adds the partial sums to `sums` in the
// order of the tasks. Both can have n_out rows; the rows of `sums` are n_features apart.
template <class T, class Pack, class F>
void sum_panels(SamplePanels<T>& panels, std::int64_t n_tasks, Pack&& pack, F&& f, double* sums, Run& run,
                std::int64_t n_out = 1, std::int64_t n_features = 0) {
    const std::int64_t size = n_out * panels.width();
    run.require_memory(panels.per_pass() * n_tasks * size * 8, "adding up pairs of samples");
    Buffer<double> partial(panels.per_pass() * n_tasks * size);
    const auto n_passes = static_cast<double>(panels.n_passes());
    for (std::int64_t pass = 0; pass < panels.n_passes(); ++pass) {
        const Run::Part part(run, static_cast<double>(pass) / n_passes, static_cast<double>(pass + 1) / n_passes);
        panels.start_pass(pass);
        pack();
        parallel_for(run, panels.n_panels() * n_tasks, [&](std::int64_t index, int) {
            double* to = partial.data() + index * size;
            std::fill_n(to, size, 0.0);
            f(index / n_tasks, index % n_tasks, to);
        });
        for (std::int64_t panel = 0; panel < panels.n_panels(); ++panel) {
            for (std::int64_t task = 0; task < n_tasks; ++task) {
                for (std::int64_t o = 0; o < n_out; ++o) {
                    const double* from = partial.data() + (panel * n_tasks + task) * size + o * panels.width();
                    double* to = sums + o * n_features + panels.first_feature(panel);
                    for (std::int64_t k = 0; k < panels.n_features(panel); ++k) to[k] += from[k];
                }
            }
        }
    }
}

// The sums of one task in T, flushed to double from time to time.
template <class T>
class Sums {
  public:
    Sums(std::int64_t n, double* to) : n_(n), to_(to) { std::fill_n(in_t_, n, T(0)); }

    // Returns the sums in T, to which the caller adds n_pairs more pairs; flushes them first if they would hold too
    // many.
    T* sums_for(std::int64_t n_pairs) {
        if (n_pairs_ + n_pairs > kPairsPerFlush) flush();
        n_pairs_ += n_pairs;
        return in_t_;
    }

    // Adds the sums in T to the doubles, and sets them to zero.
    void flush() {
        margin_kernels<T>().flush(in_t_, n_, to_);
        n_pairs_ = 0;
    }

  private:
    std::int64_t n_, n_pairs_ = 0;
    double* to_;
    alignas(64) T in_t_[kWidth<T>];
};

}  // namespace

// Adds g-weighted differences of all pairs to sums: copies g to tiles of 4 x 4 weights, and skips tiles and rows of
// zeros.
template <class T>
void feature_sums(const ScaledFeatures& left, std::int64_t i0, std::int64_t i1, const ScaledFeatures& right,
                  std::int64_t j0, std::int64_t j1, Difference difference, const double* g, std::int64_t ld,
                  bool one_triangle, double* sums, Run& run) {
    if (left.n_features() == 0) return;
    const PairSides<T> sides{left, right, i0, i1, j0, j1};
    const std::int64_t n_left = i1 - i0, n_right = j1 - j0;
    const std::int64_t tiles_down = ceil_div(n_left, kTileSide), tiles_across = ceil_div(n_right, kTileSide);
    const auto& kernels = margin_kernels<T>();
    const auto tile_kernel = kernels.feature_sums[static_cast<int>(difference)];
    const auto row_kernel = kernels.row_sums[static_cast<int>(difference)];
    const auto parameters = parameters_of<T>(right, difference, run);

    // The weights of each tile side by side, and a list of its rows with nonzero weights.
    const auto tile_at = [&](std::int64_t i, std::int64_t j) {  // of the tiles j >= i, if one_triangle
        return i * tiles_across + j - (one_triangle ? i * (i + 1) / 2 : 0);
    };
    const std::int64_t n_tiles = tile_at(tiles_down - 1, tiles_across - 1) + 1;
    run.require_memory(n_tiles * (kTileSide * kTileSide * static_cast<std::int64_t>(sizeof(T)) + 1),
                       "the weights of " + std::to_string(n_left) + " x " + std::to_string(n_right) + " pairs");
    Buffer<T> weights(n_tiles * kTileSide * kTileSide);
    Buffer<std::uint8_t> rows_used(n_tiles);
    parallel_for(run, tiles_down, [&](std::int64_t i, int) {
        for (std::int64_t j = one_triangle ? i : 0; j < tiles_across; ++j) {
            T* to = weights.data() + tile_at(i, j) * kTileSide * kTileSide;
            std::fill_n(to, kTileSide * kTileSide, T(0));
            unsigned used = 0;
            const std::int64_t n_columns = std::min(kTileSide, n_right - j * kTileSide);
            for (std::int64_t r = 0; r < std::min(kTileSide, n_left - i * kTileSide); ++r) {
                const std::int64_t row = i * kTileSide + r;
                for (std::int64_t c = one_triangle && i == j ? r + 1 : 0; c < n_columns; ++c) {
                    const std::int64_t column = j * kTileSide + c;
                    T& weight = to[r * kTileSide + c];
                    weight = static_cast<T>(g[row * ld + column] + (one_triangle ? g[column * ld + row] : 0.0));
                    used |= static_cast<unsigned>(weight != T(0)) << r;
                }
            }
            rows_used[tile_at(i, j)] = static_cast<std::uint8_t>(used);
        }
    });

    SamplePanels<T> panels(sides.n_rows(), left.n_features(), kPanelBytes, run, sides.packed());
    const std::int64_t stripe = block_side(n_left) / kTileSide;  // tiles, down
    // Adds the pairs of a stripe of tiles to the sums of a panel.
    sum_panels<T>(
        panels, ceil_div(tiles_down, stripe), [&] { sides.pack_both(panels, run); },
        [&](std::int64_t panel, std::int64_t task, double* to) {
            const T *right_rows = panels.rows(panel), *left_rows = right_rows + sides.left_row * panels.width();
            const std::int64_t n = round_up(panels.n_features(panel), kRowUnit<T>);
            const auto of_panel = parameters.at(panels.first_feature(panel));
            Sums<T> sum(n, to);
            const std::int64_t i_first = task * stripe, i_last = std::min(i_first + stripe, tiles_down);
            for (std::int64_t j = one_triangle ? i_first : 0; j < tiles_across; ++j) {
                const auto b = tile_rows(right_rows, panels.width(), j * kTileSide, n_right);  // stay in L1
                for (std::int64_t i = i_first; i < (one_triangle ? std::min(i_last, j + 1) : i_last); ++i) {
                    const std::int64_t at = tile_at(i, j);
                    const unsigned used = rows_used[at];
                    if (used == 0) continue;
                    const auto a = tile_rows(left_rows, panels.width(), i * kTileSide, n_left);
                    const T* w = weights.data() + at * kTileSide * kTileSide;
                    if ((used & (used - 1)) == 0) {  // one row alone
                        const int r = used == 1 ? 0 : used == 2 ? 1 : used == 4 ? 2 : 3;
                        row_kernel(a[static_cast<std::size_t>(r)], b.data(), w + r * kTileSide, of_panel.data(), n,
                                   sum.sums_for(kTileSide));
                    } else {
                        tile_kernel(a.data(), b.data(), w, of_panel.data(), n, sum.sums_for(kTileSide * kTileSide));
                    }
                }
            }
            sum.flush();
        },
        sums, run);
}

namespace {

// Exchanges i and j of pairs with i > j, and sorts `pairs` in place by i, then j; repeated pairs stay separate, in
// their order.
void sort_pairs(std::vector<WeightedPair>& pairs, std::int64_t n_samples, Run& run) {
    std::vector<std::size_t> begins(static_cast<std::size_t>(n_samples) + 1, 0);
    for (auto& pair : pairs) {
        if (pair.i > pair.j) std::swap(pair.i, pair.j);
        ++begins[static_cast<std::size_t>(pair.i) + 1];
    }
    for (std::size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
    std::vector<WeightedPair> sorted(pairs.size());
    for (const auto& pair : pairs) sorted[begins[static_cast<std::size_t>(pair.i)]++] = pair;
    for (std::size_t p = 0; p < sorted.size();) {
        run.checkpoint();
        const auto end = begins[static_cast<std::size_t>(sorted[p].i)];  // has moved on to the begin of the next sample
        std::stable_sort(sorted.begin() + static_cast<std::ptrdiff_t>(p),
                         sorted.begin() + static_cast<std::ptrdiff_t>(end),
                         [](const WeightedPair& a, const WeightedPair& b) { return a.j < b.j; });
        p = end;
    }
    pairs = std::move(sorted);
}

}  // namespace

// Adds g-weighted differences of listed pairs to sums: sorts the pairs, and takes a sample with four others at a time.
template <class T>
void feature_sums(const ScaledFeatures& data, std::vector<WeightedPair> pairs, Difference difference, double* sums,
                  Run& run) {
    if (data.n_features() == 0 || pairs.empty()) return;
    sort_pairs(pairs, data.n_samples(), run);

    struct Group {  // of one sample with four others
        std::int64_t i, j[kTileSide], n;
        T g[kTileSide];
    };
    std::vector<Group> groups;
    for (std::size_t p = 0; p < pairs.size();) {
        const auto [i, j, first_g] = pairs[p];
        double weight = first_g;
        for (++p; p < pairs.size() && pairs[p].i == i && pairs[p].j == j; ++p) weight += pairs[p].g;
        if (groups.empty() || groups.back().i != i || groups.back().n == kTileSide) {
            groups.push_back({i, {j, j, j, j}, 0, {}});
        }
        Group& group = groups.back();
        group.j[group.n] = j;
        group.g[group.n++] = static_cast<T>(weight);
    }

    constexpr std::int64_t kPanelInL2 = std::int64_t{1} << 19, kGroupsPerTask = 1024;
    const auto n_groups = static_cast<std::int64_t>(groups.size());
    const auto kernel = margin_kernels<T>().row_sums[static_cast<int>(difference)];
    const auto parameters = parameters_of<T>(data, difference, run);
    SamplePanels<T> panels(data.n_samples(), data.n_features(), kPanelInL2, run);
    // Adds the groups of a task to the sums of a panel.
    sum_panels<T>(
        panels, ceil_div(n_groups, kGroupsPerTask), [&] { panels.pack_rows(data, 0, data.n_samples(), 0, run); },
        [&](std::int64_t panel, std::int64_t task, double* to) {
            const T* rows = panels.rows(panel);
            const std::int64_t n = round_up(panels.n_features(panel), kRowUnit<T>), width = panels.width();
            const auto of_panel = parameters.at(panels.first_feature(panel));
            Sums<T> sum(n, to);
            const std::int64_t last = std::min((task + 1) * kGroupsPerTask, n_groups);
            for (std::int64_t k = task * kGroupsPerTask; k < last; ++k) {
                const Group& group = groups[static_cast<std::size_t>(k)];
                const T* right[kTileSide];
                for (std::int64_t c = 0; c < kTileSide; ++c) right[c] = rows + group.j[c] * width;
                kernel(rows + group.i * width, right, group.g, of_panel.data(), n, sum.sums_for(kTileSide));
            }
            sum.flush();
        },
        sums, run);
}

// Sums, for each target and group, strength * difference and the weights of neighbours that have a feature; `combine`
// turns them into rows that are added to out (n_out x n_features).
template <class T>
void target_sums(const ScaledFeatures& left, std::int64_t t0, const ScaledFeatures& data,
                 const GroupedNeighbors& neighbors, Difference difference, std::int64_t n_out,
                 const CombineGroups& combine, double* out, Run& run) {
    if (data.n_features() == 0) return;
    constexpr std::int64_t kPanelInL2 = std::int64_t{1} << 19, kTargetsPerTask = 16;
    const std::int64_t n_groups = neighbors.n_groups;
    const std::int64_t n_left = static_cast<std::int64_t>(neighbors.begins.size() - 1) / n_groups;
    const PairSides<T> sides{left, data, t0, t0 + n_left, 0, data.n_samples()};
    const auto kernel = margin_kernels<T>().known_sums[static_cast<int>(difference) - 1];
    const auto parameters = parameters_of<T>(data, difference, run);
    SamplePanels<T> panels(sides.n_rows(), data.n_features(), kPanelInL2, run);
    const std::int64_t width = panels.width();
    run.require_memory(run.n_threads() * 2 * n_groups * width * 8, "the sums of a target");
    // Adds the targets of a task, group by group, to the sums of a panel.
    sum_panels<T>(
        panels, ceil_div(n_left, kTargetsPerTask), [&] { sides.pack_both(panels, run); },
        [&](std::int64_t panel, std::int64_t task, double* to) {
            const T* rows = panels.rows(panel);
            const std::int64_t n = round_up(panels.n_features(panel), kRowUnit<T>);
            const auto of_panel = parameters.at(panels.first_feature(panel));
            Buffer<double> sums(2 * n_groups * width);
            double* counts = sums.data() + n_groups * width;
            const std::int64_t last = std::min((task + 1) * kTargetsPerTask, n_left);
            for (std::int64_t t = task * kTargetsPerTask; t < last; ++t) {
                std::fill_n(sums.data(), sums.size(), 0.0);
                for (std::int64_t g = 0; g < n_groups; ++g) {
                    const std::int64_t first = neighbors.begins[at(t * n_groups + g)];
                    const std::int64_t end = neighbors.begins[at(t * n_groups + g + 1)];
                    Sums<T> sum(n, sums.data() + g * width), count(n, counts + g * width);
                    for (std::int64_t p = first; p < end; p += kTileSide) {
                        const T* right[kTileSide];
                        T strengths[kTileSide] = {}, weights[kTileSide] = {};
                        for (std::int64_t c = 0; c < kTileSide; ++c) {
                            const std::int64_t neighbor = std::min(p + c, end - 1);
                            right[c] = rows + neighbors.samples[at(neighbor)] * width;
                            if (p + c >= end) continue;
                            strengths[c] = static_cast<T>(neighbors.strengths[at(neighbor)]);
                            weights[c] = static_cast<T>(neighbors.weights[at(neighbor)]);
                        }
                        kernel(rows + (sides.left_row + t) * width, right, strengths, weights, of_panel.data(), n,
                               sum.sums_for(kTileSide), count.sums_for(kTileSide));
                    }
                    if (first == end) continue;
                    sum.flush();
                    count.flush();
                }
                combine(t0 + t, panels.first_feature(panel), panels.n_features(panel), sums.data(), counts, width, to,
                        width);
            }
        },
        out, run, n_out, data.n_features());
}

template void target_sums<float>(const ScaledFeatures&, std::int64_t, const ScaledFeatures&, const GroupedNeighbors&,
                                 Difference, std::int64_t, const CombineGroups&, double*, Run&);
template void target_sums<double>(const ScaledFeatures&, std::int64_t, const ScaledFeatures&, const GroupedNeighbors&,
                                  Difference, std::int64_t, const CombineGroups&, double*, Run&);
template void feature_sums<float>(const ScaledFeatures&, std::int64_t, std::int64_t, const ScaledFeatures&,
                                  std::int64_t, std::int64_t, Difference, const double*, std::int64_t, bool, double*,
                                  Run&);
template void feature_sums<double>(const ScaledFeatures&, std::int64_t, std::int64_t, const ScaledFeatures&,
                                   std::int64_t, std::int64_t, Difference, const double*, std::int64_t, bool, double*,
                                   Run&);
template void feature_sums<float>(const ScaledFeatures&, std::vector<WeightedPair>, Difference, double*, Run&);
template void feature_sums<double>(const ScaledFeatures&, std::vector<WeightedPair>, Difference, double*, Run&);

}  // namespace fastfs::core
