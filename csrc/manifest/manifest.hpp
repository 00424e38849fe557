// ManiFeSt (Cohen, Shnitzer, Kluger, Talmon 2022, arXiv 2207.08574); equation numbers are the paper's.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engines/feature_sums.hpp"
#include "fastfs/fastfs.h"
#include "support/buffer.hpp"
#include "support/matrix.hpp"
#include "support/owned.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Counts the kernels of a fit: one per class if classes are compared in pairs, otherwise two, for the class and for all
// other classes.
std::int64_t count_kernels(std::int64_t n_classes, std::int32_t multiclass);

class Manifest {
  public:
    Manifest(Samples X, bool keep_distances, Run& run);

    const Samples& samples() const { return X_; }

    fastfs_manifest_plan plan(std::int64_t n_classes, const fastfs_manifest_options& options, std::int64_t n_scales,
                              const Run& run) const;

    void fit(const std::int64_t* labels, std::int64_t n_classes, const fastfs_manifest_options& options,
             const std::vector<fastfs_manifest_scale>& scales, Run& run,
             std::vector<Owned<fastfs_manifest_result>>& results) const;

  private:
    // Tests if a fit by domains first computes the products of all features in each class, from which domains are
    // solved without X: domains of a tall table would read it again and again.
    bool takes_products_first(std::int64_t n_classes, const fastfs_manifest_options& options, const Run& run) const;
    std::int64_t memory_of_products(std::int64_t n_classes, const fastfs_manifest_options& options,
                                    std::int64_t n_components, const Run& run) const;
    std::unique_ptr<const FeatureSums> sum_products(const std::int64_t* labels, std::int64_t n_classes, Run& run) const;

    Samples X_;
    std::vector<double> row_maxima_;
    double unit_ = 1;           // of all rows
    Buffer<double> distances_;  // over all rows, upper triangle in units of unit_^2; empty if not kept
};

// Sets scores (d) and, unless it is null, class_scores (n_classes x d) to means of problem_scores, the scores of all
// problems row by row.
void manifest_mean_scores(std::int64_t d, std::int64_t n_classes, std::int32_t multiclass, const double* problem_scores,
                          double* scores, double* class_scores);

// Compares two d x d kernels that the caller has computed, and fills the result. Throws unless both are finite,
// symmetric and semidefinite, with a positive entry on the diagonal; by domains, kernels are checked to be semidefinite
// on each domain.
void manifest_kernels(std::int64_t d, const double* K1, const double* K2, const fastfs_manifest_options& options,
                      Run& run, std::vector<Owned<fastfs_manifest_result>>& results);

}  // namespace fastfs::core
