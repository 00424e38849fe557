#include "ikdr/simplex.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "support/errors.hpp"
#include "support/index.hpp"

namespace fastfs::core {
namespace {

// The number of earlier values that the line search compares with, the sufficient decrease, and the bounds of a step in
// units of the gradient's inverse.
constexpr std::size_t kMemory = 10;
constexpr double kSufficient = 1e-4, kShortest = 1e-12, kLongest = 1e12;

// The short steps are the least of this many. They are taken while their ratio to the long ones is below a limit: its
// first value, and the factor by which it changes.
constexpr std::size_t kShortSteps = 5;
constexpr double kShortIfBelow = 0.5, kLimitGrows = 1.1;

// Smaller values of a column become zeros.
constexpr double kNegligible = 1e-12;

// Returns x'y, added up in four lanes: a fixed order, which compilers can vectorise.
double dot_in_four_lanes(const Numbers& x, const Numbers& y) {
    double lane[4] = {};
    std::size_t i = 0;
    for (; i + 4 <= x.size(); i += 4) {
        for (std::size_t l = 0; l < 4; ++l) lane[l] += x[i + l] * y[i + l];
    }
    for (; i < x.size(); ++i) lane[0] += x[i] * y[i];
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

double frank_wolfe_gap(const Numbers& x, const Numbers& g, std::int64_t n) {
    double gap = dot_in_four_lanes(x, g);
    for (auto column = g.begin(); column != g.end(); column += n) gap -= *std::min_element(column, column + n);
    return gap;
}

// Sets negligible values of A (k columns of n values) to zero, and scales columns to sum to 1 again.
void drop_negligible(double* A, std::int64_t n, std::int64_t k) {
    for (double* column = A; column != A + n * k; column += n) {
        double sum = 0;
        for (std::int64_t i = 0; i < n; ++i) {
            if (column[i] < kNegligible) column[i] = 0;
            sum += column[i];
        }
        for (std::int64_t i = 0; i < n; ++i) column[i] /= sum;
    }
}

// Inner products of the last move s and of the change y of the gradient, in the face that the point moves in: where a
// column is positive, with the mean of y there subtracted. The rest of y doesn't say how F bends along the face. y is
// in units of `unit`, so that its squares neither overflow nor vanish.
struct Curvature {
    double ss = 0, sy = 0, yy = 0;

    // Sets the inner products of the move s from x to `next` and of the change y of its gradient from g to next_g, in
    // units of `unit`: over entries of `next` that aren't 0, with y centred in each column of n entries.
    Curvature(const Numbers& x, const Numbers& next, const Numbers& g, const Numbers& next_g, std::size_t n,
              double unit) {
        for (std::size_t begin = 0; begin < x.size(); begin += n) {
            double sum = 0, count = 0;
            for (std::size_t e = begin; e < begin + n; ++e) {
                if (next[e] == 0) continue;
                sum += next_g[e] - g[e];
                ++count;
            }
            for (std::size_t e = begin; e < begin + n; ++e) {
                if (next[e] == 0) continue;
                const double s = next[e] - x[e], y = (next_g[e] - g[e] - sum / count) / unit;
                ss += s * s;
                sy += s * y;
                yy += y * y;
            }
        }
    }
};

}  // namespace

void project_on_simplex(double* x, std::int64_t n, double* work) {
    // The level that is subtracted is at least the largest value minus 1, which few values exceed. Measured from the
    // largest value, it keeps its digits after steps of any length.
    const double largest = *std::max_element(x, x + n);
    std::int64_t m = 0;
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        x[i] -= largest;
        if (x[i] <= -1) continue;
        work[m++] = x[i];
        sum += x[i];
    }
    double level = 0;
    for (;;) {
        level = (sum - 1) / static_cast<double>(m);
        std::int64_t n_left = 0;
        double above = 0;
        for (std::int64_t i = 0; i < m; ++i) {
            if (work[i] <= level) continue;
            work[n_left++] = work[i];
            above += work[i];
        }
        if (n_left == m || n_left == 0) break;
        m = n_left;
        sum = above;
    }
    double total = 0;  // 1, apart from rounding
    for (std::int64_t i = 0; i < n; ++i) {
        x[i] = std::max(x[i] - level, 0.0);
        total += x[i];
    }
    for (std::int64_t i = 0; i < n; ++i) x[i] /= total;
}

void require_on_simplex(const double* A, std::int64_t n, std::int64_t k, const char* name) {
    for (std::int64_t j = 0; j < k; ++j) {
        double sum = 0;
        for (std::int64_t i = 0; i < n; ++i) {
            const double a = A[i * k + j];
            require(std::isfinite(a), name, " must be finite; got ", a, " at row ", i, ", column ", j);
            require(a >= -1e-6, name, " must not be negative; got ", a, " at row ", i, ", column ", j);
            sum += a;
        }
        require(std::abs(sum - 1) <= 1e-6, name, " must have columns that sum to 1; got a sum of ", sum, " in column ",
                j, ": divide by it");
    }
}

SimplexMinimum minimize_on_simplex(SimplexFunction& f, std::int64_t n, std::int64_t k, double tol,
                                   std::int64_t max_iter, Run& run, double* A) {
    const auto size = at(n * k);
    Numbers x(A, A + size), g(size), next(size), direction(size), next_g(size), work(at(n));
    std::array<double, kMemory> recent;
    recent.fill(-std::numeric_limits<double>::infinity());
    // direction = P(x - step g) - x; returns its inner product with g
    auto project = [&](double step) {
        for (std::size_t e = 0; e < size; ++e) direction[e] = x[e] - step * g[e];
        for (double* column = direction.data(); column != direction.data() + size; column += n) {
            project_on_simplex(column, n, work.data());
        }
        for (std::size_t e = 0; e < size; ++e) direction[e] -= x[e];
        return dot_in_four_lanes(direction, g);
    };

    SimplexMinimum minimum;
    double value = f.value(x.data());
    f.gradient(g.data());
    minimum.value = value;
    minimum.gap = frank_wolfe_gap(x, g, n);
    project(1.0);
    double largest = 0;
    for (double d : direction) largest = std::max(largest, std::abs(d));
    double steepest = 1e-290;  // keeps steps finite
    for (double v : g) steepest = std::max(steepest, std::abs(v));
    const double shortest = kShortest / steepest, longest = kLongest / steepest;
    double step = std::clamp(1 / largest, shortest, longest), limit = kShortIfBelow;
    std::array<double, kShortSteps> short_steps;
    short_steps.fill(std::numeric_limits<double>::infinity());
    std::size_t n_short = 0;
    while (!(minimum.converged = minimum.gap <= tol * std::abs(value)) && minimum.n_iter < max_iter) {
        const Run::Part part(run, share(minimum.n_iter, max_iter), share(minimum.n_iter + 1, max_iter));
        run.checkpoint(0);
        recent[at(minimum.n_iter) % kMemory] = value;
        const double reference = *std::max_element(recent.begin(), recent.end()), slope = project(step);
        ++minimum.n_iter;
        double length = 1, next_value = 0;
        for (;;) {
            for (std::size_t e = 0; e < size; ++e) next[e] = x[e] + length * direction[e];
            next_value = f.value(next.data());
            if (next_value <= reference + kSufficient * length * slope || length < kShortest) break;
            // The minimum of the parabola through both values and the slope, within bounds.
            const double best = -0.5 * length * length * slope / (next_value - value - length * slope);
            length = best >= 0.1 * length && best <= 0.9 * length ? best : 0.5 * length;
        }
        if (length < kShortest) break;  // rounding leaves no descent
        f.gradient(next_g.data());
        const Curvature c(x, next, g, next_g, at(n), steepest);
        if (c.sy > 0) {
            const double long_step = c.ss / c.sy / steepest, short_step = c.sy / c.yy / steepest;
            short_steps[n_short++ % kShortSteps] = short_step;
            const bool is_short = short_step < limit * long_step;
            step = is_short ? *std::min_element(short_steps.begin(), short_steps.end()) : long_step;
            limit *= is_short ? 1 / kLimitGrows : kLimitGrows;
            step = std::clamp(step, shortest, longest);
        } else {
            step = longest;
        }
        std::swap(x, next);
        std::swap(g, next_g);
        value = next_value;
        if (value <= minimum.value) {
            minimum.value = value;
            std::copy(x.begin(), x.end(), A);
        }
        minimum.gap = frank_wolfe_gap(x, g, n);
    }
    drop_negligible(A, n, k);
    return minimum;
}

std::int64_t simplex_memory(std::int64_t n, std::int64_t k) { return 8 * n * (6 * k + 1); }

}  // namespace fastfs::core
