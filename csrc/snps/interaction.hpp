// The interaction of two SNPs in their effect on a class: the likelihood ratio of all tables of two genotypes and a
// class against tables without a three-way term, which is logistic regression of the class on both genotypes as factors
// against the full model (Wan et al. 2010, BOOST).
#pragma once

#include <array>
#include <cstdint>

namespace fastfs::core {

// The numbers of samples with genotypes a and b and class c, at 6 a + 2 b + c.
using GenotypeTable = std::array<std::int64_t, 18>;

// Returns the degrees of freedom of chi^2 under the hypothesis: (r - 1)(s - 1) if r genotypes of one SNP occur and s of
// the other.
std::int64_t degrees_of_freedom(const GenotypeTable& table);

// Returns the statistic G^2 within 1e-10, or any number below `level` if G^2 is below.
double interaction(const GenotypeTable& table, double level = 0);

}  // namespace fastfs::core
