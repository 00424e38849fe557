#include "interactions/genotype_fit.hpp"

#include <algorithm>

namespace fastfs::core {
namespace {

// The share of an indicator, of a covariate or of the target, below which what other regressors leave is rounding.
constexpr double kGenotypeRest = 1e-10;

}  // namespace

// Eliminates the covariates from a matrix of products, after regressors of this rank; returns the rank and the residual
// sum of squares of the model.
GenotypeFit::Left GenotypeFit::eliminate_covariates(Numbers& matrix, std::int64_t rank) const {
    for (std::int64_t l = 0; l + 1 < size_; ++l) {
        const double pivot = matrix[at(l * size_ + l)];
        if (!(pivot > kGenotypeRest * products_[at(l * size_ + l)])) continue;
        ++rank;
        for (std::int64_t k = l + 1; k < size_; ++k) {
            const double share = matrix[at(k * size_ + l)] / pivot;
            for (std::int64_t m = l + 1; m < size_; ++m) matrix[at(k * size_ + m)] -= share * matrix[at(l * size_ + m)];
        }
    }
    return {rank, std::max(matrix.back(), 0.0)};
}

// Subtracts from a matrix of products the part that the means of all two genotypes explain; returns how many two
// genotypes occur.
std::int64_t GenotypeFit::take_cells(Numbers& matrix) {
    std::int64_t rank = 0;
    double* row = parts_.data();
    for (std::size_t cell = 0; cell < 9; ++cell) {
        if (counts_[cell] == 0) continue;
        ++rank;
        for (std::int64_t k = 0; k < size_; ++k) row[k] = sums_[at(9 * k) + cell];
        take(matrix, row, 1 / counts_[cell]);
    }
    return rank;
}

// Subtracts from a matrix of products the part that the genotypes of both SNPs, as factors, explain; returns the rank
// of the factors.
std::int64_t GenotypeFit::take_factors(Numbers& matrix) {
    // What the first factor leaves of two indicators of the second one, genotypes 1 and 2, and of their sums.
    double of_first = 0, both = 0, of_second = 0, n_first = 0, n_second = 0;
    double *row = parts_.data(), *first = row + size_, *second = first + size_;
    std::fill_n(first, 2 * size_, 0.0);
    std::int64_t rank = 0;
    for (std::int64_t a = 0; a < 3; ++a) {
        const double *n = counts_.data() + 3 * a, total = n[0] + n[1] + n[2];
        if (total == 0) continue;
        ++rank;
        n_first += n[1];
        n_second += n[2];
        of_first += n[1] * (1 - n[1] / total);
        of_second += n[2] * (1 - n[2] / total);
        both -= n[1] * n[2] / total;
        for (std::int64_t k = 0; k < size_; ++k) {
            const double* s = sums_.data() + 9 * k + 3 * a;
            row[k] = s[0] + s[1] + s[2];
            first[k] += s[1] - row[k] * (n[1] / total);
            second[k] += s[2] - row[k] * (n[2] / total);
        }
        take(matrix, row, 1 / total);
    }
    if (of_first > kGenotypeRest * n_first) {
        ++rank;
        take(matrix, first, 1 / of_first);
        const double share = both / of_first;
        of_second -= share * both;
        for (std::int64_t k = 0; k < size_; ++k) second[k] -= share * first[k];
    }
    if (of_second > kGenotypeRest * n_second) {
        ++rank;
        take(matrix, second, 1 / of_second);
    }
    return rank;
}

GenotypeTest GenotypeFit::test() {
    full_ = products_;
    additive_ = products_;
    double n = 0;
    for (const double count : counts_) n += count;
    const Left all = eliminate_covariates(full_, take_cells(full_));
    const Left without = eliminate_covariates(additive_, take_factors(additive_));
    GenotypeTest found;
    found.degrees = all.rank - without.rank;
    found.rest_degrees = static_cast<std::int64_t>(n) - all.rank;
    if (found.degrees <= 0) {
        found.exclusion = Exclusion::kProduct;
    } else if (found.rest_degrees < kFewestDegrees) {
        found.exclusion = Exclusion::kSamples;
    } else if (!(without.rest > kGenotypeRest * products_.back())) {
        found.exclusion = Exclusion::kTarget;
    } else {
        const double rest = std::max(all.rest, kPerfect * without.rest);
        found.strength = std::max(without.rest / rest - 1, 0.0) * static_cast<double>(found.rest_degrees);
    }
    return found;
}

}  // namespace fastfs::core
