// Engine: samples packed in panels of features, which sums over all pairs of samples read in passes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "engines/adjacent_rows.hpp"
#include "engines/isa/tiles.hpp"
#include "engines/sample_pairs.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Tests if two descriptions read equal values from one matrix.
bool same_data(const ScaledFeatures& a, const ScaledFeatures& b);

constexpr std::int64_t kPassBytes = std::int64_t{2} << 20;

// SamplePanels of all samples are shared by the tasks and are read once per pass, so they can be as large as a cache.
constexpr std::int64_t kPanelBytes = std::int64_t{32} << 20;

// Returns the features per panel, a multiple of kRowUnit: as many as fit panel_bytes, within limits, at most all.
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
class SamplePanels {
  public:
    // Allocates the panels of one pass, unless `packed` is given; throws if they exceed the memory budget.
    SamplePanels(std::int64_t n_rows, std::int64_t n_features, std::int64_t panel_bytes, Run& run,
                 const T* packed = nullptr)
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

    // Starts a pass: all later calls refer to its panels.
    void start_pass(std::int64_t pass) { first_ = pass * per_pass_ * width_; }
    std::int64_t n_panels() const { return std::min(per_pass_, ceil_div(n_features_ - first_, width_)); }
    std::int64_t first_feature(std::int64_t panel) const { return first_ + panel * width_; }
    std::int64_t n_features(std::int64_t panel) const { return std::min(width_, n_features_ - first_feature(panel)); }

    // Writes the scaled samples r0..r1 - 1 to the panels of this pass, as the rows from at_row on; does nothing if all
    // panels were packed before.
    void pack_rows(const ScaledFeatures& data, std::int64_t r0, std::int64_t r1, std::int64_t at_row, Run& run) {
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

// The samples of a call: the right samples first, then the left ones, unless they are among the right ones.
template <class T>
struct PairSides {
    const ScaledFeatures &left, &right;
    std::int64_t i0, i1, j0, j1;
    bool inside = same_data(left, right) && j0 <= i0 && i1 <= j1;
    std::int64_t left_row = inside ? i0 - j0 : j1 - j0;

    std::int64_t n_rows() const { return j1 - j0 + (inside ? 0 : i1 - i0); }
    // Packs the right samples, then the left ones unless they are among them, for the pass that `panels` is in.
    void pack_both(SamplePanels<T>& panels, Run& run) const {
        panels.pack_rows(right, j0, j1, 0, run);
        if (!inside) panels.pack_rows(left, i0, i1, left_row, run);
    }
    // Returns the values of PackedPanels if they hold all samples of the call; otherwise null.
    const T* packed() const {
        const bool all = right.packed && inside && j0 == 0 && j1 == right.n_samples();
        return all ? static_cast<const T*>(right.X->description().values) : nullptr;
    }
};

// FeatureParameters of the features for the kernels, in rows as long as all panels together.
template <class T>
class FeatureParameters {
  public:
    // Copies rows of one parameter per feature to T, padded with zeros.
    FeatureParameters(std::int64_t n_features, std::initializer_list<const std::vector<double>*> rows, Run& run)
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

// Returns the parameters that the kernels of this difference take: top for kDiffer; low, high and top for kRamp; none
// for all others.
template <class T>
FeatureParameters<T> parameters_of(const ScaledFeatures& data, Difference difference, Run& run) {
    if (difference == Difference::kDiffer) return FeatureParameters<T>(data.n_features(), {&data.top}, run);
    if (difference == Difference::kRamp) {
        return FeatureParameters<T>(data.n_features(), {&data.low, &data.high, &data.top}, run);
    }
    return FeatureParameters<T>(0, {}, run);
}

// Returns the number of samples on the side of a block of pairs, which is a task: if samples are few, it makes enough
// tasks for a few threads, and otherwise the samples that fit L2 (1 MiB) with their 4 kB each.
inline std::int64_t block_side(std::int64_t n) { return n >= 512 ? 64 : n >= 128 ? 32 : 16; }

constexpr std::int64_t kTileSide = 4;  // of a tile

// Returns pointers to rows first..first + 3 of a panel; the last row, end - 1, stands in for rows beyond it.
template <class T>
std::array<const T*, kTileSide> tile_rows(const T* rows, std::int64_t width, std::int64_t first, std::int64_t end) {
    std::array<const T*, kTileSide> at;
    for (std::int64_t r = 0; r < kTileSide; ++r)
        at[static_cast<std::size_t>(r)] = rows + std::min(first + r, end - 1) * width;
    return at;
}

}  // namespace fastfs::core
