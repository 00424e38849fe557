#include "ikdr/beta_step.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "engines/isa/tiles.hpp"
#include "ikdr/simplex.hpp"

namespace fastfs::core {

MixtureObjective kernel_weight_objective(const SortedSamples& samples, const Terms& terms, const Numbers& omega,
                                         std::int64_t k) {
    const std::int64_t N = samples.n_samples(), C = samples.n_classes();
    MixtureObjective F;
    F.size = N + C * k;
    F.h = numbers(F.size);
    F.constant = terms.constant(k);
    for (std::int64_t i = 0; i < N; ++i) {
        const double om = omega[at(samples.classes[at(i)])];
        F.constant += om;
        F.h[at(i)] = -2 * om;
    }
    // Returns the quadratic term of F times x.
    F.W = [&samples, terms, omega, N, C, k](const Numbers& x) {
        Numbers y = x;
        for (std::int64_t i = 0; i < N; ++i) y[at(i)] *= 2 * omega[at(samples.classes[at(i)])];
        for (std::int64_t j = 0; j < k; ++j) {
            double sum = 0;
            for (std::int64_t q = 0; q < C; ++q) sum += x[at(N + q * k + j)];
            for (std::int64_t q = 0; q < C; ++q) {
                y[at(N + q * k + j)] = 2 * terms.lambda * (sum - x[at(N + q * k + j)]);
            }
        }
        return y;
    };
    return F;
}

namespace {

// The function 1/2 b'Q b + p'b + constant.
class Quadratic : public SimplexFunction {
  public:
    Numbers Q, p;
    // Returns b'Q b / 2 + p'b + constant for the weights b, and keeps Q b for gradient().
    double value(const double* b) override {
        const auto n = static_cast<std::int64_t>(p.size());
        Qb_ = numbers(n);
        std::vector<const double*> rows;
        for (std::int64_t a = 0; a < n; ++a) rows.push_back(&Q[at(a * n)]);
        row_kernels<double>().combine(rows.data(), b, n, n, Qb_.data());
        double sum = 0;
        for (std::int64_t a = 0; a < n; ++a) sum += b[a] * (0.5 * Qb_[at(a)] + p[at(a)]);
        return sum + constant;
    }
    void gradient(double* g) override {
        for (std::size_t a = 0; a < p.size(); ++a) g[a] = Qb_[a] + p[a];
    }
    double constant = 0;

  private:
    Numbers Qb_;
};

// The beta-step, by a working set: minimise over a few kernels, price all, add the best. A starting mixture of more
// than kSingle kernels enters the set as one kernel, with the (phi, v) of the mixture, and loses its weight to single
// kernels.
constexpr std::int64_t kSingle = 128, kAdded = 16, kRounds = 50, kSteps = 2000;

// The kernels of the working set.
struct Active {
    std::vector<std::int64_t> which;
    Numbers phi, v, weights;  // of the starting mixture, if it takes part, and then of each kernel
    bool whole = false;       // the mixture that the step starts from takes part
    std::size_t count() const { return weights.size(); }
};

template <class T>
class BetaStep {
  public:
    BetaStep(const MixtureObjective& F, const Products<T>& products, double tol, Run& run)
        : F_(F), products_(products), tol_(tol), run_(run) {}

    // Minimises F over the weights of all kernels, from `mixture`, which has the products x and v; returns the mixture
    // of the minimum.
    Mixture minimize(const Mixture& mixture, const Numbers& x, double v) {
        Active active;
        if (static_cast<std::int64_t>(mixture.which.size()) <= kSingle) {
            active.which = mixture.which;
            active.weights = mixture.weights;
            products_.gather_products(active.which, active.phi, active.v);
        } else {
            active.whole = true;
            active.weights = {1.0};
            active.phi = x;
            active.v = {v};
        }
        for (std::int64_t round = 0; round < kRounds; ++round) {
            const Run::Part part(run_, share(round, kRounds), share(round + 1, kRounds));
            double value = 0, current = 0;
            const Numbers g = gradient_at(active, value, current);
            const Numbers prices = products_.prices(g);
            // The Frank-Wolfe gap bounds the decrease that is left; the kernels with the lowest prices gain most.
            std::vector<std::int64_t> best = up_to(static_cast<std::int64_t>(prices.size()));
            const auto end = best.begin() + std::min<std::ptrdiff_t>(kAdded, static_cast<std::ptrdiff_t>(best.size()));
            std::partial_sort(best.begin(), end, best.end(), [&](std::int64_t a, std::int64_t b) {
                return prices[at(a)] < prices[at(b)] || (prices[at(a)] == prices[at(b)] && a < b);
            });
            if (round > 0 && current - prices[at(best.front())] <= tol_ * std::abs(value)) break;
            std::vector<std::int64_t> added;
            for (auto m = best.begin(); m != end; ++m) {
                if (prices[at(*m)] < current &&
                    std::find(active.which.begin(), active.which.end(), *m) == active.which.end()) {
                    added.push_back(*m);
                }
            }
            if (added.empty() && round > 0) break;
            products_.gather_products(added, active.phi, active.v);
            active.which.insert(active.which.end(), added.begin(), added.end());
            active.weights.resize(active.weights.size() + added.size());
            minimize_weights(active);
        }
        if (active.whole && active.count() > 1) active = without_whole(active);
        return expand_mixture(active, mixture);
    }

  private:
    // Returns dF/dx at the mixture of the active kernels. Sets value to F there, and current to their mean price.
    Numbers gradient_at(const Active& active, double& value, double& current) const {
        Numbers x = numbers(F_.size);
        std::vector<const double*> rows;
        for (std::size_t a = 0; a < active.count(); ++a) rows.push_back(active.phi.data() + a * x.size());
        row_kernels<double>().combine(rows.data(), active.weights.data(), static_cast<std::int64_t>(rows.size()),
                                      F_.size, x.data());
        const Numbers g = F_.gradient(x);
        value = F_.constant;
        current = 0;
        for (std::size_t e = 0; e < x.size(); ++e) {
            value += 0.5 * x[e] * (g[e] + F_.h[e]);
            current += x[e] * g[e];
        }
        for (std::size_t a = 0; a < active.count(); ++a) {
            value += active.weights[a] * active.v[a];
            current += active.weights[a] * active.v[a];
        }
        return g;
    }

    // Drops the starting mixture from the working set, because a remainder of its weight would keep all of its kernels.
    // Returns the set unchanged if F rises by more than the tolerance.
    Active without_whole(const Active& active) const {
        Active fewer = active;
        fewer.whole = false;
        fewer.weights.erase(fewer.weights.begin());
        fewer.v.erase(fewer.v.begin());
        fewer.phi.erase(fewer.phi.begin(), fewer.phi.begin() + F_.size);
        const double sum = std::accumulate(fewer.weights.begin(), fewer.weights.end(), 0.0);
        for (double& weight : fewer.weights) weight /= sum;
        minimize_weights(fewer);
        double before = 0, after = 0, price = 0;
        gradient_at(active, before, price);
        gradient_at(fewer, after, price);
        return after <= before + tol_ * std::abs(before) ? fewer : active;
    }

    // Sets the weights of the active kernels to the minimum of F, and drops kernels without weight from the set.
    void minimize_weights(Active& active) const {
        const auto n = static_cast<std::int64_t>(active.count());
        Quadratic f;
        f.constant = F_.constant;
        f.Q = numbers(n * n);
        f.p = active.v;
        std::vector<const double*> rows;
        for (std::int64_t a = 0; a < n; ++a) rows.push_back(&active.phi[at(a * F_.size)]);
        Numbers out = numbers(n);
        row_kernels<double>().dots(rows.data(), n, F_.h.data(), F_.size, out.data());
        for (std::size_t a = 0; a < out.size(); ++a) f.p[a] += out[a];
        for (std::int64_t a = 0; a < n; ++a) {
            const Numbers W = F_.W(Numbers(rows[at(a)], rows[at(a)] + F_.size));
            row_kernels<double>().dots(rows.data(), n, W.data(), F_.size, &f.Q[at(a * n)]);
        }
        for (std::int64_t a = 0; a < n; ++a) {
            for (std::int64_t b = 0; b < a; ++b) f.Q[at(a * n + b)] = f.Q[at(b * n + a)];
        }
        minimize_on_simplex(f, n, 1, 1e-3 * tol_, kSteps, run_, active.weights.data());
        Active with_weight;
        for (std::size_t a = 0; a < active.count(); ++a) {
            if (active.weights[a] == 0) continue;
            if (active.whole && a == 0) {
                with_weight.whole = true;
            } else {
                with_weight.which.push_back(active.which[active.whole ? a - 1 : a]);
            }
            with_weight.weights.push_back(active.weights[a]);
            with_weight.v.push_back(active.v[a]);
            const auto begin = active.phi.begin() + static_cast<std::ptrdiff_t>(a) * F_.size;
            with_weight.phi.insert(with_weight.phi.end(), begin, begin + F_.size);
        }
        active = std::move(with_weight);
    }

    // Returns the mixture of the active kernels, with the starting mixture expanded into its kernels.
    static Mixture expand_mixture(const Active& active, const Mixture& start) {
        std::vector<std::pair<std::int64_t, double>> weighted_kernels;
        std::size_t first = 0;
        if (active.whole) {
            for (std::size_t a = 0; a < start.which.size(); ++a) {
                weighted_kernels.emplace_back(start.which[a], active.weights[0] * start.weights[a]);
            }
            first = 1;
        }
        for (std::size_t a = 0; a < active.which.size(); ++a)
            weighted_kernels.emplace_back(active.which[a], active.weights[first + a]);
        std::sort(weighted_kernels.begin(), weighted_kernels.end());
        Mixture mixture;
        for (const auto& [m, weight] : weighted_kernels) {
            if (!mixture.which.empty() && mixture.which.back() == m) {
                mixture.weights.back() += weight;
            } else {
                mixture.which.push_back(m);
                mixture.weights.push_back(weight);
            }
        }
        return mixture;
    }

    const MixtureObjective& F_;
    const Products<T>& products_;
    const double tol_;
    Run& run_;
};

}  // namespace

template <class T>
Mixture beta_step(const MixtureObjective& F, const Products<T>& products, double tol, Run& run, const Mixture& mixture,
                  const Numbers& x, double v) {
    return BetaStep<T>(F, products, tol, run).minimize(mixture, x, v);
}

template Mixture beta_step(const MixtureObjective&, const Products<float>&, double, Run&, const Mixture&,
                           const Numbers&, double);
template Mixture beta_step(const MixtureObjective&, const Products<double>&, double, Run&, const Mixture&,
                           const Numbers&, double);

std::int64_t beta_step_memory(std::int64_t n_kernels, std::int64_t phi, bool admm) {
    const std::int64_t active = std::min(n_kernels + 1, kSingle + (admm ? kRounds : 2) * kAdded);
    return 8 * active * (2 * phi + active);
}

}  // namespace fastfs::core
