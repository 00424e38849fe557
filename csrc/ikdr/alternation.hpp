// The alternation of the paper over A, the slack variables and the weights of the kernels, with the paper's errors
// corrected (see docs/ikdr.md, "Differences from the paper").
#pragma once

#include <cstdint>

#include "ikdr/beta_step.hpp"
#include "ikdr/objective.hpp"
#include "ikdr/sorted_samples.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Minimises problem (15) of the paper over Gamma, S, A (by ADMM with one split) and beta in turn. Matrices are
// column-major here, as LAPACK has them: Gamma is k x n, S = A_S Gamma_S + H'E with one number e_i per sample in E, and
// neither S nor D is formed.
class Alternation {
  public:
    Alternation(const SortedSamples& samples, const Terms& terms, std::int64_t k, double rho, Run& run);

    static std::int64_t memory(std::int64_t n, std::int64_t n_classes, std::int64_t k);

    // Takes K (n x n), and finds the eigenpairs of the A-step's quadratic term, Om = 2 (lambda K D K + mu L + zeta K K)
    // = V diag(w) V', with D = 11' - H'H. The distance term has -K in the place of L.
    template <class T>
    void set_kernel(const T* K) {
        K_.assign(K, K + N_ * N_);
        decompose_quadratic_term();
    }

    // Sets Gamma and S to their minimum for A, where the iteration starts. r: the residuals 1 - P[y_i,:] . B[i,:].
    void set_slack(const Numbers& A, const Numbers& r);

    // Sets Gamma = (tau A'A + zeta I)^-1 (tau A'S + zeta A'K); throws NumericError if that matrix isn't positive
    // definite.
    void Gamma_step(const Numbers& A);

    // Sets s_i = A gamma_i + u_i' e_i, e_i = (1 - P[y_i,:] gamma_i) / (tau + n_q).
    void S_step(const Numbers& A);

    // Replaces A by a better point of 1/2 <A, Om A + A Th> + <Psi, A> over the simplex, Th = 2 tau Gamma Gamma', Psi =
    // -2 (tau S Gamma' + zeta K Gamma'), by repeating (Om + rho I) A + A Th = rho (Z - U) - Psi, Z = P(A + U), U += A -
    // Z, until changes are within tol or max_iter times; keeps A if no point is better. rho is in units of the mean
    // eigenvalue, and large enough for the linear equations to have one solution.
    void A_step(Numbers& A, std::int64_t max_iter, double tol);

    // Returns (15) as a function of beta for the current Gamma: lambda tr(A'K D K A) + zeta |Gamma - A'K|^2 + mu ip, in
    // terms of B = K A, with one row per sample. scale: the value that tolerances are relative to, which takes the
    // place of the constant.
    MixtureObjective objective(double scale) const;

    // Returns (K A)', k x n.
    Numbers times_kernel(const Numbers& A) const;

  private:
    void decompose_quadratic_term();

    // Returns P = H A.
    Numbers profile(const Numbers& A) const;

    const SortedSamples& samples_;
    const Terms terms_;
    Run& run_;
    const std::int64_t N_, k_;
    const double rho_;
    Numbers K_, w_;
    Buffer<double> V_;
    Numbers Gamma_, A_S_, e_;
};

}  // namespace fastfs::core
