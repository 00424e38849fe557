// The paper's own alternation, corrected.
#pragma once

#include <cstdint>

#include "ikdr/beta_step.hpp"
#include "ikdr/objective.hpp"
#include "ikdr/sorted_samples.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// F15 as a function of Gamma, of S, of A (by ADMM with one split) and of beta in turn. Matrices are column-major here,
// as LAPACK has them: Gamma is k x n, S = A_S Gamma_S + H'E with one number e_i a sample in E, and neither S nor D is
// formed.
class Alternation {
  public:
    Alternation(const SortedSamples& samples, const Terms& terms, std::int64_t k, double rho, Run& run);

    static std::int64_t memory(std::int64_t n, std::int64_t n_classes, std::int64_t k);

    // K (n x n) and what the A-step needs of it: Om = 2 (lambda K D K + mu L + zeta K K) = V diag(w) V', with D = 11' -
    // H'H. The distance term has -K in the place of L.
    template <class T>
    void set_kernel(const T* K) {
        K_.assign(K, K + N_ * N_);
        decompose();
    }

    // Gamma and S at the minimum over both, where the iteration starts; r = 1 - P[y_i,:] . B[i,:].
    void start(const Numbers& A, const Numbers& r);

    // Gamma = (tau A'A + zeta I)^-1 (tau A'S + zeta A'K)
    void Gamma_step(const Numbers& A);

    // s_i = A gamma_i + u_i' e_i, e_i = (1 - P[y_i,:] gamma_i) / (tau + n_q)
    void S_step(const Numbers& A);

    // min 1/2 <A, Om A + A Th> + <Psi, A> over the simplex, Th = 2 tau Gamma Gamma', Psi = -2 (tau S Gamma' + zeta K
    // Gamma'): (Om + rho I) A + A Th = rho (Z - U) - Psi, Z = P(A + U), U += A - Z. rho is in units of the mean
    // eigenvalue, and large enough for the first of these to have one solution.
    void A_step(Numbers& A, std::int64_t max_iter, double tol);

    // F15 as a function of beta for this Gamma: lambda tr(A'K D K A) + zeta |Gamma - A'K|^2 + mu ip, of B = K A, whose
    // row i is that of sample i.
    MixtureObjective objective(double scale) const;

    // (K A)', k x n
    Numbers times_kernel(const Numbers& A) const;

  private:
    void decompose();

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
