// Equations (2) to (4): the mean M and the difference D of two kernels, from the pencil of their difference and sum.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engines/spectral.hpp"
#include "manifest/problem.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Scales the columns of W, d x q: W <- W diag(factors).
void scale_columns(double* W, std::int64_t d, std::int64_t q, const std::vector<double>& factors);

// Writes the leading eigenpairs of M = W diag(sqrt(1 - nu^2) / 2) W', equation (2), to the outcome. W is restored,
// except columns with nu = -1 or 1, which neither M nor D needs. M, spare: d x d scratch; returns spare.
Buffer<double> write_mean_components(double* W, const std::vector<double>& nu, std::int64_t d, std::int64_t q,
                                     double* M, Buffer<double> spare, Run& run, Outcome& outcome);

// Sets the lower triangle of D = W diag(weights) W' = Wp Wp' - Wn Wn', and overwrites W by its columns of positive and
// negative weight, scaled by the root of its magnitude. Negative weights must come before positive ones; zeros may
// stand anywhere.
void weighted_squares(double* W, const std::vector<double>& weights, std::int64_t d, double* D, Run& run);

// Sets D to W diag(sqrt(1 - nu^2) artanh(nu) / 2) W', equation (3), lower triangle, and overwrites W as
// weighted_squares does.
void difference_operator(double* W, const std::vector<double>& nu, std::int64_t d, std::int64_t q, double* D, Run& run);

// Writes the leading eigenpairs of D by magnitude; vector(i) belongs to lam[i]. lam ascends, so that the largest |lam|
// left is at one of its two ends. If D has fewer pairs than wanted, the remaining ones are 0.
template <class F>
void difference_components(const std::vector<double>& lam, F&& vector, std::int64_t d, Outcome& outcome) {
    std::fill_n(outcome.difference_values, outcome.n_components, 0.0);
    std::fill_n(outcome.difference_vectors, outcome.n_components * d, 0.0);
    std::int64_t first = 0, last = static_cast<std::int64_t>(lam.size()) - 1;
    for (std::int64_t c = 0; c < outcome.n_components && first <= last; ++c) {
        const bool from_below = -lam[at(first)] > lam[at(last)];
        const std::int64_t i = from_below ? first++ : last--;
        outcome.difference_values[c] = lam[at(i)];
        std::copy(vector(i), vector(i) + d, outcome.difference_vectors + c * d);
        fix_sign(d, outcome.difference_vectors + c * d);
    }
}

// Writes the scores r = diag |D|, equation (4), to the outcome, from the eigenpairs (lam, P) of D (lower triangle,
// destroyed). With D = D+ - D-, |D| = 2 D+ - D = 2 D- + D: the eigenvectors of the rarer sign are enough. On request,
// writes the k eigenpairs of largest |lam| too. spare: d x d, for the eigenvectors.
void write_difference_scores(std::int64_t d, double* D, Buffer<double> spare, Run& run, Outcome& outcome);

// Writes the scores and components of equations (2) to (4), in the pencil form, to the outcome. Consumes K1 and K2.
void pencil_form(std::int64_t d, Buffer<double> K1, Buffer<double> K2, Run& run, Outcome& outcome);

// Returns the largest |nu| of a pencil with n rows: 1 if the pencil is cut at eigenvalues that are rounding.
double steepest(const std::vector<double>& nu, std::int64_t n);

// Flags the outcome if rounding errors of the weights can explain all of its scores. Errors of nu come from the entries
// of the kernels, if the entries are of single precision, and from the pencil itself. They count for little if the
// kernels agree, and for far more if a kernel is all but singular, since the slope of the weight is infinite at both
// ends. Throws if a score isn't finite. n: rows of the pencil; diagonal, eps: the size of the kernels' entries, and
// their relative rounding error.
void check_contrast(std::int64_t n, double diagonal, double eps, Outcome& outcome);

}  // namespace fastfs::core
