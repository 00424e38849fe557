#include "engines/sample_pairs.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "engines/isa/tiles.hpp"
#include "engines/sample_panels.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// Sets `to` (height x width, rows ld apart) to sign * the sums of a tile (rows kTileSide apart), or adds them to it
// (add).
template <class T>
inline void write_sums(const T* sums, double sign, std::int64_t height, std::int64_t width, bool add, double* to,
                       std::int64_t ld) {
    for (std::int64_t r = 0; r < height; ++r, to += ld, sums += kTileSide) {
        for (std::int64_t c = 0; c < width; ++c) {
            const double sum = sign * static_cast<double>(sums[c]);
            to[c] = add ? to[c] + sum : sum;
        }
    }
}

// Writes to out, for each pair of samples, the sum over panels of features that kernel(rows of left, rows of right,
// first feature of the panel, features, sums) makes for a tile of pairs; `into` can add to out or subtract instead. See
// pair_sums.
template <class T, class Kernel>
void sum_tiles(const ScaledFeatures& left, std::int64_t i0, std::int64_t i1, const ScaledFeatures& right,
               std::int64_t j0, std::int64_t j1, Kernel&& kernel, double* out, std::int64_t ld, Run& run,
               Into into = Into::kEmpty) {
    const PairSides<T> sides{left, right, i0, i1, j0, j1};
    const std::int64_t n_left = i1 - i0, n_right = j1 - j0;
    if (left.n_features() == 0) {
        for (std::int64_t i = 0; i < n_left && into == Into::kEmpty; ++i) std::fill_n(out + i * ld, n_right, 0.0);
        return;
    }
    const bool triangle = sides.inside && i0 == j0 && i1 == j1;
    SamplePanels<T> panels(sides.n_rows(), left.n_features(), kPanelBytes, run, sides.packed());

    const std::int64_t side = block_side(n_left);
    std::vector<std::pair<std::int64_t, std::int64_t>> blocks;
    for (std::int64_t i = 0; i < n_left; i += side) {
        for (std::int64_t j = triangle ? i : 0; j < n_right; j += side) blocks.emplace_back(i, j);
    }

    const double sign = into == Into::kSubtract ? -1 : 1;
    const auto n_passes = static_cast<double>(panels.n_passes());
    for (std::int64_t pass = 0; pass < panels.n_passes(); ++pass) {
        const Run::Part part(run, static_cast<double>(pass) / n_passes, static_cast<double>(pass + 1) / n_passes);
        panels.start_pass(pass);
        sides.pack_both(panels, run);
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
                            write_sums(sums, sign, kTileSide, kTileSide, add, out + i * ld + j, ld);
                        } else {
                            write_sums(sums, sign, height, width, add, out + i * ld + j, ld);
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

// Writes the sums of differences for all pairs to out, or adds or subtracts them, in tiles of 4 x 4 samples.
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

// Overwrites out with the sums of weighted Gaussian kernels of the features for all pairs of samples.
template <class T>
void gaussian_sums(const ScaledFeatures& data, const std::vector<double>& weights, double* out, std::int64_t ld,
                   Run& run) {
    const FeatureParameters<T> parameters(data.n_features(), {&weights}, run);
    const auto kernel = margin_kernels<T>().pair_sums[5];
    const auto of_panel = [&](const T* const* a, const T* const* b, std::int64_t k0, std::int64_t n, T* sums) {
        kernel(a, b, parameters.at(k0).data(), n, sums);
    };
    sum_tiles<T>(data, 0, data.n_samples(), data, 0, data.n_samples(), of_panel, out, ld, run);
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
template void gaussian_sums<float>(const ScaledFeatures&, const std::vector<double>&, double*, std::int64_t, Run&);
template void gaussian_sums<double>(const ScaledFeatures&, const std::vector<double>&, double*, std::int64_t, Run&);

}  // namespace fastfs::core
