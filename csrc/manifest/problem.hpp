// The data that ManiFeSt's steps share: a problem, the input of a fit, and its outcome.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "fastfs/fastfs.h"
#include "support/errors.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// d x d matrices hold one triangle: the upper one row by row, which LAPACK reads as the lower one column by column.

// One of the two kernels of a problem.
struct Side {
    std::int64_t index;  // among the kernels of the fit
    Name name;           // "class 3", "all classes but 3"
    std::vector<std::int64_t> rows;
};

using Problem = std::array<Side, 2>;

// The input of a fit: the data of the handle, and the arguments of the call.
struct Fit {
    const Samples& X;
    const std::vector<double>& row_maxima;
    const fastfs_manifest_options& options;
    const std::vector<fastfs_manifest_scale>& scales;
    std::int32_t accuracy;  // of the plan
    const double* all;      // upper triangle of the distances over all rows, or null
    double unit_of_all;
};

// The result of a problem at one scale.
struct Outcome {
    std::vector<double> scores;
    double sigma[2] = {};
    double kept_trace[2] = {1, 1};
    std::int32_t kernel_warnings[2] = {};
    std::int64_t rank = 0;
    double steepest = 0;  // the largest |nu| that the difference has a weight at
    double agreement = 1;
    std::int32_t warnings = 0;
    std::int64_t n_components = 0;
    double *mean_values = nullptr, *mean_vectors = nullptr, *difference_values = nullptr, *difference_vectors = nullptr;
};

// One problem at all scales: by d x d kernels, which share the distances, or by low-rank kernels for any d, one scale
// after the other.
void exact_problem(const Fit& fit, const Problem& problem, Run& run, std::vector<Outcome>& outcomes);
void wide_problem(const Fit& fit, const Problem& problem, Run& run, std::vector<Outcome>& outcomes);

// Bytes of wide_problem: one side's low-rank kernel, and the other one's beside its features; then both and the joint
// range.
std::int64_t wide_memory(const Samples& X, const fastfs_manifest_options& options, std::int32_t accuracy,
                         const Run& run);

}  // namespace fastfs::core
