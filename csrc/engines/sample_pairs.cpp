#include "engines/sample_pairs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>

#include "engines/adjacent_rows.hpp"
#include "engines/isa/tiles.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// ---- packed samples ------------------------------------------------------------------------------------------------

bool same_data(const ScaledFeatures& a, const ScaledFeatures& b) {
    const fastfs_matrix &m = a.X->description(), &n = b.X->description();
    return &a == &b || (m.values == n.values && m.row_stride == n.row_stride && m.col_stride == n.col_stride &&
                        m.row_list == n.row_list && m.col_list == n.col_list && a.features == b.features &&
                        a.shift == b.shift && a.factor == b.factor);
}

}  // namespace

namespace {

void pack_as_doubles(const ScaledFeatures& data, std::int64_t k0, std::int64_t n, std::int64_t r0, std::int64_t r1,
                     double* to, std::int64_t ld) {
    AdjacentRows<float> rows(data.X->description(), data.features.data() + k0, n);
    double wide[kWidth<double>];
    for (std::int64_t r = r0; r < r1; r += kRowsRead) {
        const std::int64_t last = std::min(r + kRowsRead, r1);
        const float* from = rows.read(r, last);
        for (std::int64_t i = r; i < last; ++i, from += rows.stride(), to += ld) {
            std::copy_n(from, n, wide);
            margin_kernels<double>().scale(wide, n, data.shift.data() + k0, data.factor.data() + k0, to);
            std::fill(to + n, to + round_up(n, kRowUnit<double>), 0.0);
        }
    }
}

}  // namespace

template <class T>
void pack_features(const ScaledFeatures& data, std::int64_t k0, std::int64_t n, std::int64_t r0, std::int64_t r1, T* to,
                   std::int64_t ld) {
    if constexpr (sizeof(T) == sizeof(double)) {
        if (data.X->is_float32()) return pack_as_doubles(data, k0, n, r0, r1, to, ld);
    }
    AdjacentRows<T> rows(data.X->description(), data.features.data() + k0, n);
    for (std::int64_t r = r0; r < r1; r += kRowsRead) {
        const std::int64_t last = std::min(r + kRowsRead, r1);
        const T* from = rows.read(r, last);
        for (std::int64_t i = r; i < last; ++i, from += rows.stride(), to += ld) {
            // The next row begins in another page, where no cache foresees it: 3.5 instead of 2.2 G values/s (Zen 4).
            for (std::int64_t k = 0; k < n; k += kRowUnit<T>) __builtin_prefetch(from + rows.stride() + k, 0, 2);
            margin_kernels<T>().scale(from, n, data.shift.data() + k0, data.factor.data() + k0, to);
            std::fill(to + n, to + round_up(n, kRowUnit<T>), T(0));
        }
    }
}

namespace {

constexpr std::int64_t kPassBytes = std::int64_t{2} << 20;

// Panels of all samples are shared by the tasks and pass by once: they may well be as large as a cache.
constexpr std::int64_t kPanelBytes = std::int64_t{32} << 20;

template <class T>
std::int64_t panel_width(std::int64_t n_rows, std::int64_t n_features, std::int64_t panel_bytes) {
    constexpr std::int64_t kLeast = 4 * kRowUnit<T>;
    const std::int64_t fits = panel_bytes / (n_rows * static_cast<std::int64_t>(sizeof(T))) / kRowUnit<T> * kRowUnit<T>;
    return std::min(std::clamp(fits, kLeast, kWidth<T>), round_up(n_features, kRowUnit<T>));
}

// Samples, packed in panels of `width` features: within a panel the rows follow each other. One pass over the features
// holds enough panels to make a parallel loop worth its start, and no more than stay in a near cache, if possible.
// packed: all panels, if they have been packed before.
template <class T>
class Panels {
  public:
    Panels(std::int64_t n_rows, std::int64_t n_features, std::int64_t panel_bytes, Run& run, const T* packed = nullptr)
        : n_rows_(n_rows),
          n_features_(n_features),
          width_(panel_width<T>(n_rows, n_features, panel_bytes)),
          packed_(packed) {
        constexpr std::int64_t kSize = sizeof(T);
        per_pass_ = std::clamp(kPassBytes / (n_rows * width_ * kSize), std::int64_t{1}, ceil_div(n_features, width_));
        if (packed_) return;
        const std::int64_t size = n_rows * width_ * per_pass_;
        run.require_memory(size * kSize, "packing " + std::to_string(n_rows) + " samples");
        values_ = Buffer<T>(size);
    }

    std::int64_t width() const { return width_; }
    std::int64_t per_pass() const { return per_pass_; }
    std::int64_t n_passes() const { return ceil_div(n_features_, width_ * per_pass_); }

    // Starts a pass; all calls that follow are about its panels.
    void start(std::int64_t pass) { first_ = pass * per_pass_ * width_; }
    std::int64_t n_panels() const { return std::min(per_pass_, ceil_div(n_features_ - first_, width_)); }
    std::int64_t first_feature(std::int64_t panel) const { return first_ + panel * width_; }
    std::int64_t n_features(std::int64_t panel) const { return std::min(width_, n_features_ - first_feature(panel)); }

    // Packs samples r0..r1 - 1 as the rows from at_row on.
    void pack(const ScaledFeatures& data, std::int64_t r0, std::int64_t r1, std::int64_t at_row, Run& run) {
        if (packed_) return;
        constexpr std::int64_t kRowsPerTask = 64;
        const std::int64_t blocks = ceil_div(r1 - r0, kRowsPerTask);
        parallel_for(run, n_panels() * blocks, [&](std::int64_t task, int) {
            const std::int64_t panel = task / blocks, first = r0 + task % blocks * kRowsPerTask;
            pack_features(data, first_feature(panel), n_features(panel), first, std::min(first + kRowsPerTask, r1),
                          values_.data() + (panel * n_rows_ + at_row + first - r0) * width_, width_);
        });
    }

    // Returns the rows of a panel, width() apart.
    const T* rows(std::int64_t panel) const {
        return packed_ ? packed_ + (first_ + panel * width_) * n_rows_ : values_.data() + panel * n_rows_ * width_;
    }

  private:
    std::int64_t n_rows_, n_features_, width_, per_pass_, first_ = 0;
    const T* packed_;
    Buffer<T> values_;
};

// All samples of a call: the right samples first, then the left ones, unless they are among the right ones.
template <class T>
struct Sides {
    const ScaledFeatures &left, &right;
    std::int64_t i0, i1, j0, j1;
    bool inside = same_data(left, right) && j0 <= i0 && i1 <= j1;
    std::int64_t left_row = inside ? i0 - j0 : j1 - j0;

    std::int64_t n_rows() const { return j1 - j0 + (inside ? 0 : i1 - i0); }
    void pack(Panels<T>& panels, Run& run) const {
        panels.pack(right, j0, j1, 0, run);
        if (!inside) panels.pack(left, i0, i1, left_row, run);
    }
    const T* packed() const {
        const bool all = right.packed && inside && j0 == 0 && j1 == right.n_samples();
        return all ? static_cast<const T*>(right.X->description().values) : nullptr;
    }
};

// Parameters of the features for the kernels: rows as long as all panels together.
template <class T>
class Parameters {
  public:
    Parameters(std::int64_t n_features, std::initializer_list<const std::vector<double>*> rows, Run& run)
        : n_rows_(rows.size()), ld_(round_up(n_features, kRowUnit<T>)) {
        const std::int64_t size = static_cast<std::int64_t>(n_rows_) * ld_;
        run.require_memory(size * static_cast<std::int64_t>(sizeof(T)), "the parameters of features");
        values_ = Buffer<T>(size);
        std::fill_n(values_.data(), size, T(0));
        T* to = values_.data();
        for (const auto* row : rows) {
            std::transform(row->begin(), row->end(), to, [](double x) { return static_cast<T>(x); });
            to += ld_;
        }
    }

    // Returns the parameters from feature k0 on, the first feature of a panel.
    std::array<const T*, 3> at(std::int64_t k0) const {
        std::array<const T*, 3> rows{};
        for (std::size_t r = 0; r < n_rows_; ++r) rows[r] = values_.data() + static_cast<std::int64_t>(r) * ld_ + k0;
        return rows;
    }

  private:
    std::size_t n_rows_;
    std::int64_t ld_;
    Buffer<T> values_;
};

template <class T>
Parameters<T> parameters_of(const ScaledFeatures& data, Difference difference, Run& run) {
    if (difference == Difference::kDiffer) return Parameters<T>(data.n_features(), {&data.top}, run);
    if (difference == Difference::kRamp) {
        return Parameters<T>(data.n_features(), {&data.low, &data.high, &data.top}, run);
    }
    return Parameters<T>(0, {}, run);
}

// Returns the number of samples on the side of a block of pairs, which is a task: if samples are few, it makes enough
// tasks for a few threads, and otherwise as many samples as fit L2 (1 MiB) with their 4 kB each.
std::int64_t block_side(std::int64_t n) { return n >= 512 ? 64 : n >= 128 ? 32 : 16; }

constexpr std::int64_t kTileSide = 4;  // of a tile

// Returns rows first..first + 3 of a panel; the last row stands in for rows beyond it.
template <class T>
std::array<const T*, kTileSide> tile_rows(const T* rows, std::int64_t width, std::int64_t first, std::int64_t end) {
    std::array<const T*, kTileSide> at;
    for (std::int64_t r = 0; r < kTileSide; ++r)
        at[static_cast<std::size_t>(r)] = rows + std::min(first + r, end - 1) * width;
    return at;
}

}  // namespace

// ---- distances -----------------------------------------------------------------------------------------------------

namespace {

// Sets `to` to sign * the sums of a tile, or adds them to it (add).
template <class T>
inline void add_sums(const T* sums, double sign, std::int64_t height, std::int64_t width, bool add, double* to,
                     std::int64_t ld) {
    for (std::int64_t r = 0; r < height; ++r, to += ld, sums += kTileSide) {
        for (std::int64_t c = 0; c < width; ++c) {
            const double sum = sign * static_cast<double>(sums[c]);
            to[c] = add ? to[c] + sum : sum;
        }
    }
}

// Computes out = sum over features of kernel(rows of left, rows of right, first feature of the panel, features, sums);
// see pair_sums.
template <class T, class Kernel>
void sum_tiles(const ScaledFeatures& left, std::int64_t i0, std::int64_t i1, const ScaledFeatures& right,
               std::int64_t j0, std::int64_t j1, Kernel&& kernel, double* out, std::int64_t ld, Run& run,
               Into into = Into::kEmpty) {
    const Sides<T> sides{left, right, i0, i1, j0, j1};
    const std::int64_t n_left = i1 - i0, n_right = j1 - j0;
    if (left.n_features() == 0) {
        for (std::int64_t i = 0; i < n_left && into == Into::kEmpty; ++i) std::fill_n(out + i * ld, n_right, 0.0);
        return;
    }
    const bool triangle = sides.inside && i0 == j0 && i1 == j1;
    Panels<T> panels(sides.n_rows(), left.n_features(), kPanelBytes, run, sides.packed());

    const std::int64_t side = block_side(n_left);
    std::vector<std::pair<std::int64_t, std::int64_t>> blocks;
    for (std::int64_t i = 0; i < n_left; i += side) {
        for (std::int64_t j = triangle ? i : 0; j < n_right; j += side) blocks.emplace_back(i, j);
    }

    const double sign = into == Into::kSubtract ? -1 : 1;
    const auto n_passes = static_cast<double>(panels.n_passes());
    for (std::int64_t pass = 0; pass < panels.n_passes(); ++pass) {
        const Run::Part part(run, static_cast<double>(pass) / n_passes, static_cast<double>(pass + 1) / n_passes);
        panels.start(pass);
        sides.pack(panels, run);
        parallel_for(run, static_cast<std::int64_t>(blocks.size()), [&](std::int64_t task, int) {
            const auto [i_first, j_first] = blocks[static_cast<std::size_t>(task)];
            const std::int64_t i_last = std::min(i_first + side, n_left), j_last = std::min(j_first + side, n_right);
            for (std::int64_t panel = 0; panel < panels.n_panels(); ++panel) {
                const bool add = into != Into::kEmpty || pass > 0 || panel > 0;
                const T *right_rows = panels.rows(panel), *left_rows = right_rows + sides.left_row * panels.width();
                const std::int64_t n = round_up(panels.n_features(panel), kRowUnit<T>);
                for (std::int64_t i = i_first; i < i_last; i += kTileSide) {
                    const auto a = tile_rows(left_rows, panels.width(), i, n_left);
                    const std::int64_t height = std::min(kTileSide, i_last - i);
                    for (std::int64_t j = triangle ? std::max(i, j_first) : j_first; j < j_last; j += kTileSide) {
                        const auto b = tile_rows(right_rows, panels.width(), j, n_right);
                        T sums[kTileSide * kTileSide];
                        kernel(a.data(), b.data(), panels.first_feature(panel), n, sums);
                        const std::int64_t width = std::min(kTileSide, j_last - j);
                        if (height == kTileSide && width == kTileSide) {  // of a size that the compiler knows
                            add_sums(sums, sign, kTileSide, kTileSide, add, out + i * ld + j, ld);
                        } else {
                            add_sums(sums, sign, height, width, add, out + i * ld + j, ld);
                        }
                    }
                }
            }
        });
    }
    if (!triangle) return;
    parallel_for(run, ceil_div(n_left, side), [&](std::int64_t task, int) {
        const std::int64_t i_first = task * side, i_last = std::min(i_first + side, n_left);
        for (std::int64_t j_first = 0; j_first <= i_first; j_first += side) {
            for (std::int64_t i = i_first; i < i_last; ++i) {
                const std::int64_t j_last = std::min(j_first + side, i);
                for (std::int64_t j = j_first; j < j_last; ++j) out[i * ld + j] = out[j * ld + i];
            }
        }
    });
}

}  // namespace

template <class T>
void pair_sums(const ScaledFeatures& left, std::int64_t i0, std::int64_t i1, const ScaledFeatures& right,
               std::int64_t j0, std::int64_t j1, Difference difference, double* out, std::int64_t ld, Run& run,
               Into into) {
    const auto kernel = margin_kernels<T>().pair_sums[static_cast<int>(difference)];
    const auto parameters = parameters_of<T>(right, difference, run);
    const auto of_panel = [&](const T* const* a, const T* const* b, std::int64_t k0, std::int64_t n, T* sums) {
        kernel(a, b, parameters.at(k0).data(), n, sums);
    };
    sum_tiles<T>(left, i0, i1, right, j0, j1, of_panel, out, ld, run, into);
}

template <class T>
void gaussian_sums(const ScaledFeatures& data, const std::vector<double>& weights, double* out, std::int64_t ld,
                   Run& run) {
    const Parameters<T> parameters(data.n_features(), {&weights}, run);
    const auto kernel = margin_kernels<T>().pair_sums[5];
    const auto of_panel = [&](const T* const* a, const T* const* b, std::int64_t k0, std::int64_t n, T* sums) {
        kernel(a, b, parameters.at(k0).data(), n, sums);
    };
    sum_tiles<T>(data, 0, data.n_samples(), data, 0, data.n_samples(), of_panel, out, ld, run);
}

// ---- sums over pairs -----------------------------------------------------------------------------------------------

namespace {

// Pairs whose sums are kept in T before they are added to doubles.
constexpr std::int64_t kPairsPerFlush = 256;

// Calls f(panel, task, sums) for each task of each panel, with sums for a panel's features in double, zeros at first,
// and adds these up in the order of the tasks. There can be n_out rows of sums, of all n_features.
template <class T, class Pack, class F>
void sum_panels(Panels<T>& panels, std::int64_t n_tasks, Pack&& pack, F&& f, double* sums, Run& run,
                std::int64_t n_out = 1, std::int64_t n_features = 0) {
    const std::int64_t size = n_out * panels.width();
    run.require_memory(panels.per_pass() * n_tasks * size * 8, "adding up pairs of samples");
    Buffer<double> partial(panels.per_pass() * n_tasks * size);
    const auto n_passes = static_cast<double>(panels.n_passes());
    for (std::int64_t pass = 0; pass < panels.n_passes(); ++pass) {
        const Run::Part part(run, static_cast<double>(pass) / n_passes, static_cast<double>(pass + 1) / n_passes);
        panels.start(pass);
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

// The sums of one task in T, flushed to double every now and then.
template <class T>
class Sums {
  public:
    Sums(std::int64_t n, double* to) : n_(n), to_(to) { std::fill_n(in_t_, n, T(0)); }

    T* add(std::int64_t n_pairs) {
        if (n_pairs_ + n_pairs > kPairsPerFlush) flush();
        n_pairs_ += n_pairs;
        return in_t_;
    }

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

template <class T>
void feature_sums(const ScaledFeatures& left, std::int64_t i0, std::int64_t i1, const ScaledFeatures& right,
                  std::int64_t j0, std::int64_t j1, Difference difference, const double* g, std::int64_t ld,
                  bool one_triangle, double* sums, Run& run) {
    if (left.n_features() == 0) return;
    const Sides<T> sides{left, right, i0, i1, j0, j1};
    const std::int64_t n_left = i1 - i0, n_right = j1 - j0;
    const std::int64_t tiles_down = ceil_div(n_left, kTileSide), tiles_across = ceil_div(n_right, kTileSide);
    const auto& kernels = margin_kernels<T>();
    const auto tile_kernel = kernels.feature_sums[static_cast<int>(difference)];
    const auto row_kernel = kernels.row_sums[static_cast<int>(difference)];
    const auto parameters = parameters_of<T>(right, difference, run);

    // The weights of each tile side by side, and which of its rows have any.
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

    Panels<T> panels(sides.n_rows(), left.n_features(), kPanelBytes, run, sides.packed());
    const std::int64_t stripe = block_side(n_left) / kTileSide;  // tiles, down
    sum_panels<T>(
        panels, ceil_div(tiles_down, stripe), [&] { sides.pack(panels, run); },
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
                                   sum.add(kTileSide));
                    } else {
                        tile_kernel(a.data(), b.data(), w, of_panel.data(), n, sum.add(kTileSide * kTileSide));
                    }
                }
            }
            sum.flush();
        },
        sums, run);
}

namespace {

// Merges both directions of a pair, and sorts pairs by i, then j.
void sort(std::vector<WeightedPair>& pairs, std::int64_t n_samples, Run& run) {
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
        const auto end = begins[static_cast<std::size_t>(sorted[p].i)];  // has moved on to the next one's begin
        std::stable_sort(sorted.begin() + static_cast<std::ptrdiff_t>(p),
                         sorted.begin() + static_cast<std::ptrdiff_t>(end),
                         [](const WeightedPair& a, const WeightedPair& b) { return a.j < b.j; });
        p = end;
    }
    pairs = std::move(sorted);
}

}  // namespace

template <class T>
void feature_sums(const ScaledFeatures& data, std::vector<WeightedPair> pairs, Difference difference, double* sums,
                  Run& run) {
    if (data.n_features() == 0 || pairs.empty()) return;
    sort(pairs, data.n_samples(), run);

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
    Panels<T> panels(data.n_samples(), data.n_features(), kPanelInL2, run);
    sum_panels<T>(
        panels, ceil_div(n_groups, kGroupsPerTask), [&] { panels.pack(data, 0, data.n_samples(), 0, run); },
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
                kernel(rows + group.i * width, right, group.g, of_panel.data(), n, sum.add(kTileSide));
            }
            sum.flush();
        },
        sums, run);
}

template <class T>
void target_sums(const ScaledFeatures& left, std::int64_t t0, const ScaledFeatures& data,
                 const GroupedNeighbors& neighbors, Difference difference, std::int64_t n_out,
                 const CombineGroups& combine, double* out, Run& run) {
    if (data.n_features() == 0) return;
    constexpr std::int64_t kPanelInL2 = std::int64_t{1} << 19, kTargetsPerTask = 16;
    const std::int64_t n_groups = neighbors.n_groups;
    const std::int64_t n_targets = static_cast<std::int64_t>(neighbors.begins.size() - 1) / n_groups;
    const Sides<T> sides{left, data, t0, t0 + n_targets, 0, data.n_samples()};
    const auto kernel = margin_kernels<T>().known_sums[static_cast<int>(difference) - 1];
    const auto parameters = parameters_of<T>(data, difference, run);
    Panels<T> panels(sides.n_rows(), data.n_features(), kPanelInL2, run);
    const std::int64_t width = panels.width();
    run.require_memory(run.n_threads() * 2 * n_groups * width * 8, "the sums of a target");
    sum_panels<T>(
        panels, ceil_div(n_targets, kTargetsPerTask), [&] { sides.pack(panels, run); },
        [&](std::int64_t panel, std::int64_t task, double* to) {
            const T* rows = panels.rows(panel);
            const std::int64_t n = round_up(panels.n_features(panel), kRowUnit<T>);
            const auto of_panel = parameters.at(panels.first_feature(panel));
            Buffer<double> sums(2 * n_groups * width);
            double* counts = sums.data() + n_groups * width;
            const std::int64_t last = std::min((task + 1) * kTargetsPerTask, n_targets);
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
                               sum.add(kTileSide), count.add(kTileSide));
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

template <class T>
Buffer<T> pack_samples(const ScaledFeatures& data, std::int64_t i0, std::int64_t i1, std::int64_t ld, Run& run) {
    constexpr std::int64_t kRowsPerTask = 64;
    const std::int64_t n = data.n_features(), blocks = ceil_div(i1 - i0, kRowsPerTask);
    run.require_memory((i1 - i0) * ld * static_cast<std::int64_t>(sizeof(T)),
                       "packing " + std::to_string(i1 - i0) + " samples");
    Buffer<T> packed((i1 - i0) * ld);
    const std::int64_t panels = std::max<std::int64_t>(ceil_div(n, kWidth<T>), 1);
    parallel_for(run, panels * blocks, [&](std::int64_t task, int) {
        const std::int64_t k0 = task % panels * kWidth<T>, width = std::min(kWidth<T>, n - k0);
        const std::int64_t first = i0 + task / panels * kRowsPerTask, last = std::min(first + kRowsPerTask, i1);
        T* to = packed.data() + (first - i0) * ld;
        if (width > 0) pack_features(data, k0, width, first, last, to + k0, ld);
        if (k0 + kWidth<T> < n) return;
        for (std::int64_t r = first; r < last; ++r, to += ld) std::fill(to + n, to + ld, T(0));
    });
    return packed;
}

namespace {

// Describes packed values as a matrix: column c of row r is values[r * width + c].
template <class T>
Matrix panels_matrix(const Buffer<T>& values, std::int64_t n_samples, std::int64_t n_features) {
    fastfs_matrix m = FASTFS_MATRIX_INIT;
    m.values = values.data();
    m.dtype = sizeof(T) == sizeof(float) ? FASTFS_FLOAT32 : FASTFS_FLOAT64;
    m.n_rows = n_samples;
    m.n_cols = n_features;
    m.row_stride = panel_width<T>(n_samples, n_features, kPanelBytes);
    m.col_stride = 1;
    return Matrix(m);
}

}  // namespace

template <class T>
PackedPanels<T>::PackedPanels(const ScaledFeatures& data, Run& run)
    : values_(memory(data.n_samples(), data.n_features()) / static_cast<std::int64_t>(sizeof(T))),
      matrix_(panels_matrix(values_, data.n_samples(), data.n_features())),
      features_{&matrix_, data.features, {}, {}, {}, {}, {}, true} {
    const std::int64_t n = data.n_samples(), n_features = data.n_features(), width = matrix_.description().row_stride;
    features_.shift.assign(features_.features.size(), 0.0);
    features_.factor.assign(features_.features.size(), 1.0);
    for (std::int64_t k = 0; k < n_features; ++k) {
        features_.features[static_cast<std::size_t>(k)] = (k - k % width) * n + k % width;
    }
    constexpr std::int64_t kRowsPerTask = 64;
    const std::int64_t blocks = ceil_div(n, kRowsPerTask);
    parallel_for(run, ceil_div(n_features, width) * blocks, [&](std::int64_t task, int) {
        const std::int64_t k0 = task / blocks * width, first = task % blocks * kRowsPerTask;
        pack_features(data, k0, std::min(width, n_features - k0), first, std::min(first + kRowsPerTask, n),
                      values_.data() + k0 * n + first * width, width);
    });
}

template <class T>
std::int64_t PackedPanels<T>::memory(std::int64_t n_samples, std::int64_t n_features) {
    const std::int64_t width = panel_width<T>(n_samples, n_features, kPanelBytes);
    return n_samples * round_up(n_features, width) * static_cast<std::int64_t>(sizeof(T));
}

std::int64_t panels_memory(std::int64_t n_samples) {
    return std::max({kPassBytes, std::min(kPanelBytes, n_samples * 4096), n_samples * 256});
}

std::int64_t stored_distances_memory(std::int64_t n_samples) {
    if (n_samples > (std::int64_t{1} << 29)) return std::numeric_limits<std::int64_t>::max();
    return n_samples * n_samples * 8 + panels_memory(n_samples);
}

template void pair_sums<float>(const ScaledFeatures&, std::int64_t, std::int64_t, const ScaledFeatures&, std::int64_t,
                               std::int64_t, Difference, double*, std::int64_t, Run&, Into);
template void pair_sums<double>(const ScaledFeatures&, std::int64_t, std::int64_t, const ScaledFeatures&, std::int64_t,
                                std::int64_t, Difference, double*, std::int64_t, Run&, Into);
template void target_sums<float>(const ScaledFeatures&, std::int64_t, const ScaledFeatures&, const GroupedNeighbors&,
                                 Difference, std::int64_t, const CombineGroups&, double*, Run&);
template void target_sums<double>(const ScaledFeatures&, std::int64_t, const ScaledFeatures&, const GroupedNeighbors&,
                                  Difference, std::int64_t, const CombineGroups&, double*, Run&);
template void gaussian_sums<float>(const ScaledFeatures&, const std::vector<double>&, double*, std::int64_t, Run&);
template void gaussian_sums<double>(const ScaledFeatures&, const std::vector<double>&, double*, std::int64_t, Run&);
template void feature_sums<float>(const ScaledFeatures&, std::int64_t, std::int64_t, const ScaledFeatures&,
                                  std::int64_t, std::int64_t, Difference, const double*, std::int64_t, bool, double*,
                                  Run&);
template void feature_sums<double>(const ScaledFeatures&, std::int64_t, std::int64_t, const ScaledFeatures&,
                                   std::int64_t, std::int64_t, Difference, const double*, std::int64_t, bool, double*,
                                   Run&);
template void feature_sums<float>(const ScaledFeatures&, std::vector<WeightedPair>, Difference, double*, Run&);
template void feature_sums<double>(const ScaledFeatures&, std::vector<WeightedPair>, Difference, double*, Run&);
template void pack_features<double>(const ScaledFeatures&, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                                    double*, std::int64_t);
template void pack_features<float>(const ScaledFeatures&, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                                   float*, std::int64_t);
template class PackedPanels<float>;
template class PackedPanels<double>;
template Buffer<float> pack_samples<float>(const ScaledFeatures&, std::int64_t, std::int64_t, std::int64_t, Run&);
template Buffer<double> pack_samples<double>(const ScaledFeatures&, std::int64_t, std::int64_t, std::int64_t, Run&);

}  // namespace fastfs::core
