// The test of a pair of SNPs from sums over the samples with each two genotypes.
#pragma once

#include <array>
#include <cstdint>

#include "interactions/pair_moments.hpp"
#include "support/index.hpp"

namespace fastfs::core {

// A pair is tested by the linear model of the target on both genotypes as factors and the covariates, with all means of
// two genotypes and without: up to four degrees of freedom. Both models are solved from the sums S_ab over the samples
// with genotypes a and b of the covariates and the target, the counts n_ab, and the products G of the covariates and
// the target over all samples that have both genotypes. The full model leaves of G
//
//     G - sum_ab S_ab S_ab' / n_ab,
//
// and the additive one leaves G less the sums of the genotypes of the first SNP, S_a S_a' / n_a, and less the parts of
// two indicators of the second one that these leave. What the covariates leave of the last entry is the residual sum of
// squares.

struct GenotypeTest {
    Exclusion exclusion = Exclusion::kNone;
    double strength = 0;  // F times its first degrees of freedom
    std::int64_t degrees = 0, rest_degrees = 0;
};

// Sums of one pair, and room for its test. Row k < n_covariates is a covariate, and row n_covariates is the target.
class GenotypeFit {
  public:
    explicit GenotypeFit(std::int64_t n_covariates)
        : size_(n_covariates + 1),
          sums_(at(9 * size_)),
          products_(at(size_ * size_)),
          full_(products_.size()),
          additive_(products_.size()),
          parts_(at(5 * size_)) {}

    std::int64_t size() const { return size_; }
    double& count(std::int64_t a, std::int64_t b) { return counts_[at(3 * a + b)]; }
    double& sum(std::int64_t k, std::int64_t a, std::int64_t b) { return sums_[at(9 * k + 3 * a + b)]; }
    // Both triangles must be set.
    double& product(std::int64_t k, std::int64_t l) { return products_[at(k * size_ + l)]; }

    // Returns the test of the pair, or the reason for none; the sums stay.
    GenotypeTest test();

  private:
    // What a model leaves: its rank, and the residual sum of squares.
    struct Left {
        std::int64_t rank;
        double rest;
    };

    void take(Numbers& matrix, const double* row, double scale) const {
        for (std::int64_t k = 0; k < size_; ++k) {
            for (std::int64_t l = 0; l < size_; ++l) matrix[at(k * size_ + l)] -= row[k] * row[l] * scale;
        }
    }
    Left eliminate_covariates(Numbers& matrix, std::int64_t rank) const;
    std::int64_t take_cells(Numbers& matrix);
    std::int64_t take_factors(Numbers& matrix);

    std::int64_t size_;
    std::array<double, 9> counts_{};
    Numbers sums_, products_, full_, additive_, parts_;
};

}  // namespace fastfs::core
