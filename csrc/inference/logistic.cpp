#include "inference/logistic.hpp"

#include <algorithm>
#include <cmath>

#include "inference/newton.hpp"

namespace fastfs::core {

namespace {

// Largest number of neighbours, on each side of a row in its pool, that it is compared with.
constexpr std::int64_t kPartners = 20;

// Calls f(i, j, weight) for pairs of rows of one pool with different classes: all pairs, or some partners of each row
// in large pools.
template <class F>
void for_each_pair(const std::vector<std::int32_t>& codes, const std::vector<std::int64_t>& bounds, F&& f) {
    for (std::size_t p = 0; p + 1 < bounds.size(); ++p) {
        const std::int64_t begin = bounds[p], size = bounds[p + 1] - begin, half = size / 2;
        const std::int64_t n_steps = std::min(half, kPartners);
        const double weight = kLossWeight / static_cast<double>(std::min(size - 1, 2 * kPartners));
        for (std::int64_t s = 0, last = 0; s < n_steps; ++s) {
            // Steps from 1 to half, evenly spaced.
            const std::int64_t step =
                s + 1 == n_steps
                    ? half
                    : static_cast<std::int64_t>(static_cast<double>(s) *
                                                    (static_cast<double>(half - 1) / static_cast<double>(n_steps - 1)) +
                                                1);
            if (step == last) continue;
            last = step;
            const std::int64_t n = 2 * step == size ? half : size;  // opposite rows meet once
            for (std::int64_t k = 0; k < n; ++k) {
                const std::int64_t i = begin + k, j = begin + (k + step) % size;
                if (codes[at(i)] != codes[at(j)]) f(i, j, weight);
            }
        }
    }
}

}  // namespace

Numbers logistic_regression(const Numbers& Z, std::int64_t p, const std::vector<std::int32_t>& codes,
                            std::int64_t n_classes, const std::vector<std::int64_t>& bounds, Run& run) {
    const std::int64_t m = n_classes * p;
    run.require_memory(8 * m * m, "the regression of the labels on the covariates", "give fewer covariates");
    // Calls f(i, j, weight, log odds that the classes of rows i and j are this way round).
    const auto for_each_log_odds = [&](const Numbers& theta, auto&& f) {
        for_each_pair(codes, bounds, [&](std::int64_t i, std::int64_t j, double weight) {
            const double* of_i = theta.data() + codes[at(i)] * p;
            const double* of_j = theta.data() + codes[at(j)] * p;
            const double* x = Z.data() + i * p;
            const double* y = Z.data() + j * p;
            double odds = 0;
            for (std::int64_t c = 0; c < p; ++c) odds += (of_i[c] - of_j[c]) * (x[c] - y[c]);
            f(i, j, weight, odds);
        });
    };
    const auto cost = [&](const Numbers& theta) {
        double sum = 0;
        for (const double t : theta) sum += t * t / 2;
        for_each_log_odds(theta, [&](std::int64_t, std::int64_t, double weight, double odds) {
            sum += weight * (std::max(-odds, 0.0) + std::log1p(std::exp(-std::abs(odds))));
        });
        return sum;
    };
    Numbers difference = numbers(p);
    const auto derive = [&](const Numbers& theta, Numbers& gradient, Numbers& H) {
        for_each_log_odds(theta, [&](std::int64_t i, std::int64_t j, double weight, double odds) {
            const double e = std::exp(-std::abs(odds));
            const double wrong = (odds > 0 ? e : 1) / (1 + e);  // the probability of the other way round
            const std::int64_t a = std::max(codes[at(i)], codes[at(j)]) * p;
            const std::int64_t b = std::min(codes[at(i)], codes[at(j)]) * p;
            const double sign = codes[at(i)] * p == a ? 1 : -1;
            for (std::int64_t c = 0; c < p; ++c) {
                difference[at(c)] = Z[at(i * p + c)] - Z[at(j * p + c)];
                gradient[at(a + c)] -= sign * weight * wrong * difference[at(c)];
                gradient[at(b + c)] += sign * weight * wrong * difference[at(c)];
            }
            const double curvature = weight * e / ((1 + e) * (1 + e));
            for (std::int64_t c = 0; c < p; ++c) {
                const double factor = curvature * difference[at(c)];
                double* between = H.data() + (a + c) * m + b;
                for (std::int64_t d = 0; d < p; ++d) between[d] -= factor * difference[at(d)];
            }
        });
        // Rows of blocks add up to 0.
        for (std::int64_t a = 0; a < n_classes; ++a) {
            for (std::int64_t b = 0; b < a; ++b) {
                for (std::int64_t c = 0; c < p; ++c) {
                    for (std::int64_t d = 0; d <= c; ++d) {
                        const double between = H[at((a * p + c) * m + b * p + d)];
                        H[at((a * p + c) * m + a * p + d)] -= between;
                        H[at((b * p + c) * m + b * p + d)] -= between;
                    }
                }
            }
        }
    };
    return minimise_by_newton(m, cost, derive, run);
}

}  // namespace fastfs::core
