// I-KDR: interpretable kernel dimensionality reduction (Hosseini and Hammer 2019, arXiv 1909.09218).
#pragma once

#include <cstdint>
#include <vector>

#include "fastfs/fastfs.h"
#include "ikdr/kernel_source.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// What the result for one lambda warns of, added up.
enum : int {
    kStepNotConverged = 1,
    kStepIdentity = 2,  // samples are hardly similar
    kStepConstant = 4,  // a chosen kernel hardly varies, but for one sample
    kStepFew = 8,       // a class is the main one of no dimension
    kStepMany = 16      // there are surplus dimensions, for outliers
};

// The result for one lambda, as in fastfs_ikdr_result; samples in the order of the caller.
struct IkdrResult {
    int warnings = 0;
    bool converged = false;
    double lambda = 0, objective = 0, interpretability = 0, similarity = 0;
    double diagonal = 0;  // mean of the mixture's diagonal
    std::vector<double> history, A, embedding, profile, weights, prices;
};

// The results of a fit for all lambdas.
struct Ikdr {
    std::int64_t n_samples = 0, n_features = 0, n_kernels = 0, n_classes = 0, n_components = 0;
    std::vector<double> deltas, means, scales;
    std::vector<IkdrResult> steps;
};

// Returns the options with defaults for n_components = 0 and for lambdas = null.
fastfs_ikdr_options resolve(fastfs_ikdr_options options, std::int64_t n_classes);

// Fits the objective for each lambda in turn, from the result of the lambda before, and returns one result per lambda.
Ikdr ikdr(const KernelSource& source, const std::int64_t* labels, std::int64_t n_classes,
          const fastfs_ikdr_options& options, Run& run);

// Returns the objective of one kernel K at A (row-major, n x k), and writes its gradient unless that is null. repeats:
// the number of evaluations, for timing.
double ikdr_evaluate(const Matrix& K, const std::int64_t* labels, std::int64_t n_classes,
                     const fastfs_ikdr_options& options, const double* A, int repeats, Run& run, double* gradient);

// Writes the prices of all kernels, dF/dbeta at A and the weights of a mixture.
void ikdr_prices(const KernelSource& source, const std::int64_t* labels, std::int64_t n_classes,
                 const fastfs_ikdr_options& options, const double* A, const double* weights, Run& run, double* prices);

// Writes the embedding of new samples; out: rows of X x n_components.
void ikdr_embed(const fastfs_ikdr_model& model, const Matrix& X, Run& run, double* out);

}  // namespace fastfs::core
