// Newton's method for a loss with little shrinkage.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "support/index.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Weight of a loss against the penalty theta' theta / 2: theta is finite, also where the loss alone has no minimum.
constexpr double kLossWeight = 2e4;

constexpr int kMostNewtonSteps = 200;

// Returns the solution x of H x = b by Cholesky's factor, which overwrites H (m x m, row-major, lower triangle). H is
// at least the identity, so its pivots are at least 1, but for rounding errors.
inline Numbers solve_by_cholesky(Numbers& H, Numbers b) {
    const auto m = static_cast<std::int64_t>(b.size());
    for (std::int64_t i = 0; i < m; ++i) {
        double* row = H.data() + i * m;
        for (std::int64_t j = 0; j <= i; ++j) {
            const double* other = H.data() + j * m;
            double sum = row[j];
            for (std::int64_t k = 0; k < j; ++k) sum -= row[k] * other[k];
            row[j] = i == j ? std::sqrt(std::max(sum, 1.0)) : sum / other[j];
        }
    }
    for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t k = 0; k < i; ++k) b[at(i)] -= H[at(i * m + k)] * b[at(k)];
        b[at(i)] /= H[at(i * m + i)];
    }
    for (std::int64_t i = m; i-- > 0;) {
        for (std::int64_t k = i + 1; k < m; ++k) b[at(i)] -= H[at(k * m + i)] * b[at(k)];
        b[at(i)] /= H[at(i * m + i)];
    }
    return b;
}

// Returns the m parameters theta of least cost, by at most kMostNewtonSteps steps from 0. cost(theta): convex, with the
// penalty; derive(theta, gradient, H) adds the derivatives of the cost without the penalty to the gradient and to the
// lower triangle of H (m x m).
template <class Cost, class Derive>
Numbers minimise_by_newton(std::int64_t m, Cost&& cost, Derive&& derive, Run& run) {
    Numbers theta = numbers(m), H = numbers(m * m);
    double now = cost(theta);
    for (int step = 0; step < kMostNewtonSteps; ++step) {
        run.checkpoint();
        std::fill(H.begin(), H.end(), 0.0);
        Numbers gradient = theta;
        derive(theta, gradient, H);
        for (std::int64_t k = 0; k < m; ++k) H[at(k * m + k)] += 1;
        const Numbers direction = solve_by_cholesky(H, gradient);
        double decrease = 0;
        for (std::int64_t k = 0; k < m; ++k) decrease += gradient[at(k)] * direction[at(k)];
        // Newton's decrement tells how much is left; where it is this small, a full step squares it.
        const bool is_last = decrease <= 1e-10 * now;
        double length = 1;
        for (int halving = 0; halving < 60; ++halving, length /= 2) {
            Numbers tried = theta;
            for (std::int64_t k = 0; k < m; ++k) tried[at(k)] -= length * direction[at(k)];
            const double then = cost(tried);
            if (!is_last && !(then < now)) continue;
            theta = std::move(tried);
            now = then;
            break;
        }
        if (is_last) break;
    }
    return theta;
}

}  // namespace fastfs::core
