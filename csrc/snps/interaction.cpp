#include "snps/interaction.hpp"

#include <algorithm>
#include <cmath>

namespace fastfs::core {
namespace {

// The model of class 1 is log odds = effects[a] + effects[3 + b], where effects[3] = 0. It is fitted by Newton's method
// on the cells of two genotypes. The usual method, iterative proportional fitting, has an error of 1 / t after t rounds
// if effects are infinite, as they often are for rare genotypes. No effects have a larger likelihood than the best
// effects, so every step has an upper bound of the statistic.
constexpr int kEffects = 6;
using Effects = std::array<double, kEffects>;

// The fit ends when a step gains less than this, in units of the statistic.
constexpr double kConverged = 1e-11;

// A direction with less than this share of the curvature of its effect is taken for rounding: it is redundant, or its
// effect is so large that it doesn't matter any more.
constexpr double kFlat = 1e-13;

// If effects are infinite, each step divides the remaining likelihood gain by three.
constexpr int kMostSteps = 100, kMostHalvings = 30;

// The largest rounding error of a statistic, relative and absolute.
constexpr double kRoundingOfStatistics = 1e-9;

struct Cell {
    double n, ones;  // samples, and samples of class 1
};
using Cells = std::array<Cell, 9>;

double x_log_x(double x) { return x > 0 ? x * std::log(x) : 0.0; }

struct Fit {
    Effects effects{};
    double likelihood = 0;  // its logarithm
    Effects gradient{};
    std::array<Effects, kEffects> curvature{};  // minus the second derivatives, lower triangle
};

// Sets likelihood, gradient and curvature of the fit at its effects.
void evaluate(const Cells& cells, Fit& fit) {
    fit.likelihood = 0;
    fit.gradient = {};
    fit.curvature = {};
    for (std::size_t a = 0; a < 3; ++a) {
        for (std::size_t b = 0; b < 3; ++b) {
            const auto [n, ones] = cells[3 * a + b];
            if (n == 0) continue;
            const double odds = fit.effects[a] + fit.effects[3 + b];
            const double e = std::exp(-std::abs(odds));
            fit.likelihood += ones * odds - n * (std::max(odds, 0.0) + std::log1p(e));
            const double residual = ones - n * (odds > 0 ? 1 : e) / (1 + e), weight = n * e / ((1 + e) * (1 + e));
            fit.gradient[a] += residual;
            fit.gradient[3 + b] += residual;
            fit.curvature[a][a] += weight;
            fit.curvature[3 + b][3 + b] += weight;
            fit.curvature[3 + b][a] += weight;
        }
    }
}

// Sets step to the solution of curvature * step = gradient, with 0 in flat directions and for the effect at 3. Returns
// the gain of the step in units of the statistic.
double find_step(const Fit& fit, Effects& step) {
    std::array<Effects, kEffects> L{};
    Effects pivots{}, y{};
    for (std::size_t k = 0; k < kEffects; ++k) {
        if (k == 3) continue;
        double pivot = fit.curvature[k][k], rest = fit.gradient[k];
        for (std::size_t m = 0; m < k; ++m) {
            pivot -= L[k][m] * L[k][m] * pivots[m];
            rest -= L[k][m] * y[m];
        }
        if (!(pivot > kFlat * fit.curvature[k][k])) continue;
        pivots[k] = pivot;
        y[k] = rest;
        for (std::size_t r = k + 1; r < kEffects; ++r) {
            double entry = fit.curvature[r][k];
            for (std::size_t m = 0; m < k; ++m) entry -= L[r][m] * L[k][m] * pivots[m];
            L[r][k] = entry / pivot;
        }
    }
    double gain = 0;
    step = {};
    for (std::size_t k = kEffects; k-- > 0;) {
        if (pivots[k] == 0) continue;
        step[k] = y[k] / pivots[k];
        gain += y[k] * step[k];
        for (std::size_t r = k + 1; r < kEffects; ++r) step[k] -= L[r][k] * step[r];
    }
    return gain;
}

double log_odds(double ones, double n) { return std::log((ones + 0.5) / (n - ones + 0.5)); }

}  // namespace

std::int64_t degrees_of_freedom(const GenotypeTable& table) {
    std::int64_t occur[2] = {};
    for (std::size_t g = 0; g < 3; ++g) {
        bool any[2] = {};
        for (std::size_t k = 0; k < 6; ++k) {
            any[0] = any[0] || table[6 * g + k] > 0;
            any[1] = any[1] || table[6 * (k / 2) + 2 * g + k % 2] > 0;
        }
        for (std::size_t side = 0; side < 2; ++side) occur[side] += any[side];
    }
    return std::max(occur[0] - 1, std::int64_t{0}) * std::max(occur[1] - 1, std::int64_t{0});
}

double interaction(const GenotypeTable& table, double level) {
    Cells cells;
    Cell of_a[3] = {}, of_b[3] = {}, all = {};
    double saturated = 0;
    for (std::size_t k = 0; k < 9; ++k) {
        const auto zeros = static_cast<double>(table[2 * k]), ones = static_cast<double>(table[2 * k + 1]);
        cells[k] = {zeros + ones, ones};
        saturated += x_log_x(zeros) + x_log_x(ones) - x_log_x(zeros + ones);
        for (Cell* margin : {of_a + k / 3, of_b + k % 3, &all}) {
            margin->n += zeros + ones;
            margin->ones += ones;
        }
    }
    if (degrees_of_freedom(table) == 0) return 0;
    // Start from the sum of the effects of each genotype alone: the approximation of Kirkwood, given the genotypes.
    Fit fit;
    const double other = log_odds(of_b[0].ones, of_b[0].n) - log_odds(all.ones, all.n);
    for (std::size_t g = 0; g < 3; ++g) {
        fit.effects[g] = log_odds(of_a[g].ones, of_a[g].n) + other;
        if (g > 0) fit.effects[3 + g] = log_odds(of_b[g].ones, of_b[g].n) - log_odds(of_b[0].ones, of_b[0].n);
    }
    evaluate(cells, fit);
    const double low = level - kRoundingOfStatistics * (1 + level);
    for (int n_steps = 0; n_steps < kMostSteps; ++n_steps) {
        Effects step;
        if (2 * (saturated - fit.likelihood) < low || find_step(fit, step) < kConverged) break;
        Fit next;
        for (int halvings = 0; halvings < kMostHalvings; ++halvings) {
            for (std::size_t k = 0; k < kEffects; ++k) next.effects[k] = fit.effects[k] + step[k];
            evaluate(cells, next);
            if (next.likelihood >= fit.likelihood) break;
            for (double& s : step) s /= 2;
        }
        if (!(next.likelihood > fit.likelihood)) break;
        fit = next;
    }
    return std::max(0.0, 2 * (saturated - fit.likelihood));
}

}  // namespace fastfs::core
