// The source of the kernels between samples: features, or the caller's matrices.
#pragma once

#include <cstdint>
#include <optional>

#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Kernels from features (X) or from matrices: one of the two is set.
struct KernelSource {
    std::optional<Matrix> X;
    std::int64_t n_kernels = 0;  // resolved: never 0
    const std::int64_t* groups =
        nullptr;  // per feature: its kernel; null: one kernel per feature, or one of all features
    bool standardize = true;
    int width = 0;  // FASTFS_WIDTH_*
    double delta = 0;
    const double* matrices = nullptr;
    std::int64_t n_samples = 0;  // also with X
};

// Throws InvalidArgument unless each matrix is finite, symmetric and positive semidefinite, each up to 1e-8, and has a
// diagonal of ones if asked for. Takes O(n_samples^3) time per matrix.
void require_kernels(const KernelSource& source, bool unit_diagonal, Run& run);

}  // namespace fastfs::core
