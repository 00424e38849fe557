// The tiles of a scan.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engines/isa/tiles.hpp"
#include "support/buffer.hpp"

namespace fastfs::core {

// Samples of the panels that are made together.
constexpr std::int64_t kSamplesAtOnce = 2048;

// The tiles of two blocks of columns that don't depend on the target.
struct Tiles {
    explicit Tiles(std::int64_t n_tiles, std::int64_t n_samples)
        : values(n_tiles * kTile * kTile), panels(kOperands * kTile * std::min(n_samples, kSamplesAtOnce)) {}

    static std::int64_t memory(std::int64_t n_tiles, std::int64_t n_samples) {
        return 8 * (n_tiles * kTile * kTile + kOperands * kTile * std::min(n_samples, kSamplesAtOnce));
    }

    double* tile(std::int64_t k) { return values.data() + k * kTile * kTile; }
    const double* tile(std::int64_t k) const { return values.data() + k * kTile * kTile; }
    double* operand(std::int64_t k, std::int64_t n) { return panels.data() + k * kTile * n; }

    // x_I, x_I^2, x_J, x_J^2, and x_J times a column about the samples.
    static constexpr std::int64_t kOperands = 5;
    Buffer<double> values, panels;
};

// Places of tiles: moments, the rest e, and products with covariates or the target's columns from kFirstProduct on.
constexpr std::int64_t kR = 0, kA = 1, kB = 2, kQ = 3, kE = 4, kFirstProduct = 5;

}  // namespace fastfs::core
