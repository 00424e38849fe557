#include "ikdr/alternation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "engines/spectral.hpp"
#include "ikdr/simplex.hpp"
#include "support/errors.hpp"
#include "support/lapack.hpp"

namespace fastfs::core {

Alternation::Alternation(const SortedSamples& samples, const Terms& terms, std::int64_t k, double rho, Run& run)
    : samples_(samples), terms_(terms), run_(run), N_(samples.n_samples()), k_(k), rho_(rho), e_(numbers(N_)) {}

std::int64_t Alternation::memory(std::int64_t n, std::int64_t n_classes, std::int64_t k) {
    return 8 * (6 * n * n + n * (12 * k + n_classes));
}

void Alternation::set_slack(const Numbers& A, const Numbers& r) {
    const Numbers P = profile(A);
    Gamma_ = times_kernel(A);
    for (std::int64_t i = 0; i < N_; ++i) {
        const std::int64_t q = samples_.classes[at(i)];
        const double w = terms_.tau / (terms_.tau + static_cast<double>(samples_.size(q)));
        double square = 0;
        for (std::int64_t j = 0; j < k_; ++j) square += P[at(q * k_ + j)] * P[at(q * k_ + j)];
        const double factor = w * r[at(i)] / (terms_.zeta + w * square);
        for (std::int64_t j = 0; j < k_; ++j) Gamma_[at(i * k_ + j)] += factor * P[at(q * k_ + j)];
    }
    S_step(A);
}

void Alternation::Gamma_step(const Numbers& A) {
    const Numbers P = profile(A);
    Numbers right = times_kernel(A), M = numbers(k_ * k_), product = numbers(k_ * k_);
    gemm('T', 'N', k_, k_, N_, terms_.tau, A.data(), N_, A_S_.data(), N_, 0.0, product.data(), k_);
    gemm('N', 'N', k_, N_, k_, 1.0, product.data(), k_, Gamma_.data(), k_, terms_.zeta, right.data(), k_);
    for (std::int64_t i = 0; i < N_; ++i) {
        const double* P_q = &P[at(samples_.classes[at(i)] * k_)];
        for (std::int64_t j = 0; j < k_; ++j) right[at(i * k_ + j)] += terms_.tau * e_[at(i)] * P_q[j];
    }
    syrk_lower('T', k_, N_, terms_.tau, A.data(), N_, 0.0, M.data(), k_);
    for (std::int64_t j = 0; j < k_; ++j) M[at(j * k_ + j)] += terms_.zeta;
    if (!potrf_lower(k_, M.data(), k_)) {
        throw NumericError("tau A'A + zeta I must be positive definite: give smaller tau and zeta");
    }
    trsm('L', k_, N_, M.data(), k_, right.data(), k_);
    Numbers upper = numbers(k_ * k_);
    for (std::int64_t i = 0; i < k_; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) upper[at(i * k_ + j)] = M[at(j * k_ + i)];
    }
    trsm('U', k_, N_, upper.data(), k_, right.data(), k_);
    Gamma_ = std::move(right);
}

void Alternation::S_step(const Numbers& A) {
    const Numbers P = profile(A);
    A_S_ = A;
    for (std::int64_t i = 0; i < N_; ++i) {
        const std::int64_t q = samples_.classes[at(i)];
        double fit = 0;
        for (std::int64_t j = 0; j < k_; ++j) fit += P[at(q * k_ + j)] * Gamma_[at(i * k_ + j)];
        e_[at(i)] = (1 - fit) / (terms_.tau + static_cast<double>(samples_.size(q)));
    }
}

void Alternation::A_step(Numbers& A, std::int64_t max_iter, double tol) {
    Numbers Th = numbers(k_ * k_), Psi = numbers(N_ * k_), products = numbers(k_ * k_), half_product = numbers(N_ * k_);
    gemm('N', 'T', k_, k_, N_, 1.0, Gamma_.data(), k_, Gamma_.data(), k_, 0.0, products.data(), k_);
    gemm('N', 'T', N_, k_, N_, -2 * terms_.zeta, K_.data(), N_, Gamma_.data(), k_, 0.0, Psi.data(), N_);
    gemm('N', 'N', N_, k_, k_, -2 * terms_.tau, A_S_.data(), N_, products.data(), k_, 1.0, Psi.data(), N_);
    Numbers by_class = numbers(samples_.n_classes() * k_);
    for (std::int64_t i = 0; i < N_; ++i) {
        for (std::int64_t j = 0; j < k_; ++j) {
            by_class[at(samples_.classes[at(i)] * k_ + j)] += e_[at(i)] * Gamma_[at(i * k_ + j)];
        }
    }
    for (std::int64_t t = 0; t < N_; ++t) {
        for (std::int64_t j = 0; j < k_; ++j) {
            Psi[at(j * N_ + t)] -= 2 * terms_.tau * by_class[at(samples_.classes[at(t)] * k_ + j)];
        }
    }
    for (std::size_t e = 0; e < Th.size(); ++e) Th[e] = 2 * terms_.tau * products[e];
    Numbers theta = numbers(k_), W = numbers(k_ * k_);
    eigh_range_lower(k_, Th.data(), 0, k_ - 1, theta.data(), W.data());

    // Turn X into V'X W, in which the linear equations are diagonal, and back.
    const auto forward = [&](const Numbers& X, Numbers& out) {
        gemm('T', 'N', N_, k_, N_, 1.0, V_.data(), N_, X.data(), N_, 0.0, half_product.data(), N_);
        gemm('N', 'N', N_, k_, k_, 1.0, half_product.data(), N_, W.data(), k_, 0.0, out.data(), N_);
    };
    const auto backward = [&](const Numbers& X, Numbers& out) {
        gemm('N', 'T', N_, k_, k_, 1.0, X.data(), N_, W.data(), k_, 0.0, half_product.data(), N_);
        gemm('N', 'N', N_, k_, N_, 1.0, V_.data(), N_, half_product.data(), N_, 0.0, out.data(), N_);
    };
    Numbers Psi_hat = Psi, X_hat = Psi, Z = A, U = numbers(N_ * k_), X = Z, work = numbers(N_);
    forward(Psi, Psi_hat);
    // Returns the objective of the A-step at Z, in the basis of the eigenvectors.
    const auto value = [&](const Numbers& at_Z) {
        forward(at_Z, X_hat);
        double sum = 0;
        for (std::int64_t j = 0; j < k_; ++j) {
            for (std::int64_t i = 0; i < N_; ++i) {
                const double a = X_hat[at(j * N_ + i)];
                sum += a * (0.5 * (w_[at(i)] + theta[at(j)]) * a + Psi_hat[at(j * N_ + i)]);
            }
        }
        return sum;
    };
    const double mean = std::accumulate(w_.begin(), w_.end(), 0.0) / static_cast<double>(N_) +
                        std::accumulate(theta.begin(), theta.end(), 0.0) / static_cast<double>(k_);
    const double rho = std::max(rho_ * std::abs(mean), -2 * w_.front());
    for (std::int64_t iteration = 0; iteration < max_iter; ++iteration) {
        run_.checkpoint(share(iteration, max_iter));
        for (std::size_t e = 0; e < X.size(); ++e) X[e] = Z[e] - U[e];
        forward(X, X_hat);
        for (std::int64_t j = 0; j < k_; ++j) {
            for (std::int64_t i = 0; i < N_; ++i) {
                double& a = X_hat[at(j * N_ + i)];
                a = (rho * a - Psi_hat[at(j * N_ + i)]) / (w_[at(i)] + rho + theta[at(j)]);
            }
        }
        backward(X_hat, X);
        double primal = 0, dual = 0, size = 0;
        for (std::int64_t j = 0; j < k_; ++j) {
            Numbers column = numbers(N_);
            for (std::int64_t i = 0; i < N_; ++i) column[at(i)] = X[at(j * N_ + i)] + U[at(j * N_ + i)];
            Numbers z = column;
            project_on_simplex(z.data(), N_, work.data());
            for (std::int64_t i = 0; i < N_; ++i) {
                double& before = Z[at(j * N_ + i)];
                U[at(j * N_ + i)] = column[at(i)] - z[at(i)];
                primal += std::pow(X[at(j * N_ + i)] - z[at(i)], 2);
                dual += std::pow(before - z[at(i)], 2);
                size += z[at(i)] * z[at(i)];
                before = z[at(i)];
            }
        }
        if (std::max(primal, dual) <= tol * tol * size) break;
    }
    if (value(Z) < value(A)) A = std::move(Z);
}

MixtureObjective Alternation::objective(double scale) const {
    MixtureObjective F;
    F.size = N_ * k_;
    F.constant = scale;
    F.h = Gamma_;
    for (double& h : F.h) h *= -2 * terms_.zeta;
    // Returns the quadratic term of F times B.
    F.W = [this](const Numbers& B) {
        Numbers T = numbers(samples_.n_classes() * k_), st = numbers(k_), y = B;
        for (std::int64_t i = 0; i < N_; ++i) {
            for (std::int64_t j = 0; j < k_; ++j) {
                T[at(samples_.classes[at(i)] * k_ + j)] += B[at(i * k_ + j)];
                st[at(j)] += B[at(i * k_ + j)];
            }
        }
        for (std::int64_t i = 0; i < N_; ++i) {
            for (std::int64_t j = 0; j < k_; ++j) {
                double& b = y[at(i * k_ + j)];
                b = 2 * terms_.zeta * b + 2 * terms_.lambda * (st[at(j)] - T[at(samples_.classes[at(i)] * k_ + j)]);
            }
        }
        return y;
    };
    return F;
}

Numbers Alternation::times_kernel(const Numbers& A) const {
    Numbers B = numbers(k_ * N_);
    gemm('T', 'N', k_, N_, N_, 1.0, A.data(), N_, K_.data(), N_, 0.0, B.data(), k_);
    return B;
}

// Sets V_ and w_, the eigenpairs of Om, the quadratic term of the A-step (see set_kernel).
void Alternation::decompose_quadratic_term() {
    Numbers KH = numbers(N_ * samples_.n_classes()), K1 = numbers(N_), Om = numbers(N_ * N_);
    for (std::int64_t t = 0; t < N_; ++t) {
        for (std::int64_t i = 0; i < N_; ++i) {
            KH[at(samples_.classes[at(t)] * N_ + i)] += K_[at(t * N_ + i)];
            K1[at(i)] += K_[at(t * N_ + i)];
        }
    }
    gemm('N', 'N', N_, N_, N_, 2 * terms_.zeta, K_.data(), N_, K_.data(), N_, 0.0, Om.data(), N_);
    run_.checkpoint();
    gemm('N', 'T', N_, N_, 1, 2 * terms_.lambda, K1.data(), N_, K1.data(), N_, 1.0, Om.data(), N_);
    gemm('N', 'T', N_, N_, samples_.n_classes(), -2 * terms_.lambda, KH.data(), N_, KH.data(), N_, 1.0, Om.data(), N_);
    for (std::int64_t i = 0; i < N_; ++i) {
        for (std::int64_t j = 0; j < N_; ++j) Om[at(j * N_ + i)] -= 2 * terms_.mu * K_[at(j * N_ + i)];
        if (!terms_.distance) Om[at(i * N_ + i)] += 2 * terms_.mu * K1[at(i)];
    }
    require_finite_objective(std::accumulate(Om.begin(), Om.end(), 0.0));
    SymmetricEigen eigen(N_, Om.data(), run_);
    eigen.make_vectors(0, N_, run_);
    w_ = eigen.values();
    V_ = eigen.take_vectors();
}

Numbers Alternation::profile(const Numbers& A) const {
    Numbers P = numbers(samples_.n_classes() * k_);
    for (std::int64_t j = 0; j < k_; ++j) {
        for (std::int64_t i = 0; i < N_; ++i) P[at(samples_.classes[at(i)] * k_ + j)] += A[at(j * N_ + i)];
    }
    return P;
}

}  // namespace fastfs::core
