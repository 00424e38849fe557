#include "inference/cox.hpp"

#include <cmath>
#include <limits>

#include "inference/newton.hpp"

namespace fastfs::core {

namespace {

// Sums over a risk set of hazards exp(eta - shift), of these times rows of Z, and times products of their entries.
struct RiskSums {
    double shift = -std::numeric_limits<double>::infinity(), zeroth = 0;
    Numbers first, second;

    RiskSums(std::int64_t p, bool with_derivatives)
        : first(numbers(with_derivatives ? p : 0)), second(numbers(with_derivatives ? p * p : 0)) {}

    // Adds a row z with the logarithm eta of its hazard; raises the shift to eta if that is the largest so far.
    void add_row(double eta, const double* z) {
        if (eta > shift) {
            const double factor = std::exp(shift - eta);
            zeroth *= factor;
            for (double& sum : first) sum *= factor;
            for (double& sum : second) sum *= factor;
            shift = eta;
        }
        const double hazard = std::exp(eta - shift);
        zeroth += hazard;
        for (std::size_t c = 0; c < first.size(); ++c) {
            first[c] += hazard * z[c];
            for (std::size_t d = 0; d <= c; ++d) second[c * first.size() + d] += hazard * z[c] * z[d];
        }
    }
};

}  // namespace

// Returns p coefficients by Newton's method; the sums of the risk sets are added up from the last row of a pool to the
// first.
Numbers cox_regression(const RiskSets& sets, std::int64_t p, const std::vector<char>& kinds, int kind, Run& run) {
    run.require_memory(16 * p * p, "the regression of the times on the covariates", "give fewer covariates");
    // Calls f(z, eta, sums) for each row of this kind, with the sums of its risk set.
    const auto for_each_event = [&](const Numbers& theta, bool with_derivatives, auto&& f) {
        Numbers etas = numbers(static_cast<std::int64_t>(kinds.size()));
        for (std::size_t pool = 0; pool + 1 < sets.bounds.size(); ++pool) {
            RiskSums sums(p, with_derivatives);
            std::int64_t end_of_tie = sets.bounds[pool + 1];
            for (std::int64_t k = end_of_tie; k-- > sets.bounds[pool];) {
                const double* z = sets.Z.data() + k * p;
                for (std::int64_t c = 0; c < p; ++c) etas[at(k)] += theta[at(c)] * z[c];
                sums.add_row(etas[at(k)], z);
                if (sets.begin[at(k)] != k) continue;
                for (std::int64_t i = k; i < end_of_tie && kinds[at(k)] == kind; ++i) {
                    f(sets.Z.data() + i * p, etas[at(i)], sums);
                }
                end_of_tie = k;
            }
        }
    };
    const auto cost = [&](const Numbers& theta) {
        double loss = 0, penalty = 0;
        for (const double t : theta) penalty += t * t / 2;
        for_each_event(theta, false, [&](const double*, double eta, const RiskSums& sums) {
            loss += std::log(sums.zeroth) + sums.shift - eta;
        });
        return penalty + kLossWeight * loss;
    };
    const auto derive = [&](const Numbers& theta, Numbers& gradient, Numbers& H) {
        for_each_event(theta, true, [&](const double* z, double, const RiskSums& sums) {
            for (std::int64_t c = 0; c < p; ++c) {
                const double mean = sums.first[at(c)] / sums.zeroth;
                gradient[at(c)] += kLossWeight * (mean - z[c]);
                for (std::int64_t d = 0; d <= c; ++d) {
                    H[at(c * p + d)] += kLossWeight * (sums.second[at(c * p + d)] / sums.zeroth -
                                                       mean * (sums.first[at(d)] / sums.zeroth));
                }
            }
        });
    };
    return minimise_by_newton(p, cost, derive, run);
}

}  // namespace fastfs::core
