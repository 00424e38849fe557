// The weights of the kernels: the objective as a function of them, and its minimum.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ikdr/objective.hpp"
#include "ikdr/products.hpp"
#include "ikdr/sorted_samples.hpp"
#include "support/index.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// A mixture of kernels, with a list of the kernels with weight.
struct Mixture {
    std::vector<std::int64_t> which;  // ascending
    Numbers weights;
};

// F as a function of beta, for a fixed A: 1/2 x'W x + h'x + v'beta + constant, with x = sum_m beta_m phi_m. Kernel m
// enters through phi_m = (c_m, T_m), or B_m in the paper's own step, and v_m.
struct MixtureObjective {
    std::int64_t size = 0;  // of x
    double constant = 0;
    Numbers h;
    std::function<Numbers(const Numbers&)> W;

    Numbers gradient(const Numbers& x) const {
        Numbers g = W(x);
        for (std::size_t e = 0; e < g.size(); ++e) g[e] += h[e];
        return g;
    }
};

// Returns the part of F that is quadratic in x = (c, T), for the weights om_q of the classes q and k components: the
// squared residuals of c, weighted by om_q, and the lambda term of T. The interpretability term is linear in beta and
// adds only its constant. `samples` must outlive the result.
MixtureObjective kernel_weight_objective(const SortedSamples& samples, const Terms& terms, const Numbers& omega,
                                         std::int64_t k);

// Returns the mixture that minimises F, starting from `mixture`, which has the products x and v.
template <class T>
Mixture beta_step(const MixtureObjective& F, const Products<T>& products, double tol, Run& run, const Mixture& mixture,
                  const Numbers& x, double v);

// Returns the bytes that beta_step takes for n_kernels kernels with `phi` numbers each; admm: for the paper's own step,
// which leaves weight to more kernels.
std::int64_t beta_step_memory(std::int64_t n_kernels, std::int64_t phi, bool admm);

}  // namespace fastfs::core
