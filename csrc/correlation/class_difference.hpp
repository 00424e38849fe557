// The statistic of one pair of features: how its correlation differs between the classes of a labeling.
#pragma once

#include <cstdint>

#include "support/classes.hpp"
#include "support/index.hpp"

namespace fastfs::core {

// Correlations above 1 - kCopy count as 1.
inline constexpr double kCopy = 1e-12;

// A labeling, and the values of all features under it, class after class.
class CorrelationLabeling : public Classes {
  public:
    double scale;     // of z; infinite if a class has fewer than four samples: the statistic is 0
    double limit;     // bound on |r| in all classes, from the smallest one
    Numbers weights;  // w_c, if no class is that small

    CorrelationLabeling(const Classes& classes, bool ranks, const double* values);

    // Returns the chi-square of homogeneity of the correlations of a pair, from their transforms (Fisher's z), one per
    // class.
    double homogeneity(const double* transforms) const;

    // Returns the values of feature i in class c.
    const double* values(std::int64_t i, std::int64_t c) const { return values_ + i * n_samples() + begins[at(c)]; }

  private:
    const double* values_;
};

// The statistic of a pair of features under a labeling.
struct ClassDifference {
    double statistic = 0;  // z, or Q
    bool defined = false;
};

// Writes the correlations of features i and j in the classes of a labeling to r, and returns the statistic of their
// difference; undefined for copies, constant features and small classes.
ClassDifference class_difference(std::int64_t i, std::int64_t j, const CorrelationLabeling& labeling, double* r);

// Returns the statistic without the correlations.
ClassDifference class_difference(std::int64_t i, std::int64_t j, const CorrelationLabeling& labeling);

}  // namespace fastfs::core
