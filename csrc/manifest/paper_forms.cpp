#include "manifest/paper_forms.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engines/spectral.hpp"
#include "manifest/operators.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"

namespace fastfs::core {
namespace {

struct Eigenpairs {
    std::vector<double> w;  // ascending
    Buffer<double> V;
};

Eigenpairs eigenpairs(std::int64_t n, double* A, Buffer<double> room, Run& run) {
    SymmetricEigen eigen(n, A, run, std::move(room));
    eigen.make_vectors(0, n, run);
    return {eigen.values(), eigen.take_vectors()};
}

template <class F>
std::vector<double> map(std::vector<double> values, F&& f) {
    for (double& value : values) value = f(value);
    return values;
}

double root(double x) { return std::sqrt(x); }
double inverse_root(double x) { return 1 / std::sqrt(x); }
double fourth_root(double x) { return std::sqrt(std::sqrt(std::max(x, 0.0))); }

// Returns log e; values below the rounding of the largest e are raised to that rounding, the threshold of the public
// program.
std::vector<double> clipped_log(const std::vector<double>& e) {
    const double least = e.back() * static_cast<double>(e.size()) * std::numeric_limits<double>::epsilon();
    return map(e, [&](double x) { return std::log(std::max(x, least)); });
}

// Computes log e of the paper's two forms, where log e = 1/2 log(mu / (1 - mu)) = atanh(nu).
double steepest_of_logs(const std::vector<double>& logs, std::int64_t d) {
    return static_cast<std::int64_t>(logs.size()) < d ? 1 : std::tanh(std::max(-logs.front(), logs.back()));
}

void scale_rows(double* A, std::int64_t n, const std::vector<double>& factors) {
    const auto m = static_cast<std::int64_t>(factors.size());
    for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i < m; ++i) A[j * m + i] *= factors[at(i)];
    }
}

void transpose(double* A, std::int64_t n) {
    for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i < j; ++i) std::swap(A[j * n + i], A[i * n + j]);
    }
}

// Writes the leading eigenpairs of M from its eigenpairs: ascending w, and vectors V, d values each. If M has fewer
// pairs than wanted, the remaining ones are 0.
void write_mean_components(const std::vector<double>& w, const double* V, std::int64_t d, Outcome& outcome) {
    const auto n = static_cast<std::int64_t>(w.size());
    for (std::int64_t c = 0; c < outcome.n_components; ++c) {
        double* vector = outcome.mean_vectors + c * d;
        outcome.mean_values[c] = c < n ? w[at(n - 1 - c)] : 0;
        if (c < n) {
            std::copy(V + (n - 1 - c) * d, V + (n - c) * d, vector);
        } else {
            std::fill_n(vector, d, 0.0);
        }
        fix_sign(d, vector);
    }
}

// Counts the eigenvalues above the rounding error of the largest.
std::int64_t numerical_rank(const std::vector<double>& w, std::int64_t d) {
    const double cut = w.back() * static_cast<double>(d) * std::numeric_limits<double>::epsilon();
    return w.end() - std::upper_bound(w.begin(), w.end(), std::max(cut, 0.0));
}

// Throws if a kernel is singular: the public program turns its inverse into NaN or noise.
void require_invertible(const std::vector<double>& w, const std::string& what) {
    const auto d = static_cast<std::int64_t>(w.size());
    if (numerical_rank(w, d) == d) return;
    throw NumericError({what, " must be invertible for form=\"spd\"; got eigenvalues from ", w.front(), " to ",
                        w.back(), ": use form=\"pencil\", which inverts no kernel"});
}

// For P = V diag(w) V' and Q (lower triangle), returns e, ascending, and overwrites Q by B, with P = B B', Q = B
// diag(e) B'. The e are the eigenvalues of P^(-1/2) Q P^(-1/2), and in its eigenbasis (2) and (3) act on each e
// alone. V and T, a scratch, are destroyed.
std::vector<double> relate_kernels(std::int64_t d, const std::vector<double>& w, double* V, double* Q,
                                   Buffer<double>& T, Run& run) {
    scale_columns(V, d, d, map(w, inverse_root));
    mirror_lower(d, Q);
    multiply_in_parts('N', d, d, d, Q, d, V, d, T.data(), d, run);
    multiply_in_parts('T', d, d, d, V, d, T.data(), d, Q, d, run);
    Eigenpairs inner = eigenpairs(d, Q, std::move(T), run);
    scale_columns(V, d, d, w);
    multiply_in_parts('N', d, d, d, V, d, inner.V.data(), d, Q, d, run);
    T = std::move(inner.V);
    return inner.w;
}

// Flags the outcome if subspaces are at right angles. A singular vector of 0 has no partner, so its choice and its sign
// are up to rounding. This matters if both cores give weight to it: w_left applies to the columns of U, w_right to the
// columns of V.
void check_angles(std::int64_t k, const std::vector<double>& cosines, const std::vector<double>& w_left,
                  const double* U, const std::vector<double>& w_right, const double* V, Outcome& outcome) {
    constexpr double kRightAngle = 1e-12, kNoWeight = 1e-8;
    for (std::int64_t j = 0; j < k; ++j) {
        if (cosines[at(j)] >= kRightAngle) continue;
        double left = 0, right = 0;
        for (std::int64_t i = 0; i < k; ++i) {
            left += w_left[at(i)] * U[j * k + i] * U[j * k + i];
            right += w_right[at(i)] * V[j * k + i] * V[j * k + i];
        }
        if (left * right > kNoWeight * kNoWeight * w_left.back() * w_right.back()) {
            outcome.warnings |= kProblemAngle;
        }
    }
}

void keep_last(std::vector<double>& values, std::int64_t n) { values.erase(values.begin(), values.end() - n); }

// Returns e and sets B of the pencil of the cores of two kernels, k x k, in the principal vectors of their ranges: Vt
// diag(w_right) Vt' = B B' and U' diag(w_left) U = B diag(e) B', for orthogonal U and Vt. A: scratch of k x k or more,
// replaced by another buffer.
std::vector<double> relate_cores(std::int64_t k, const double* U, const double* Vt, const std::vector<double>& w_left,
                                 const std::vector<double>& w_right, Buffer<double>& A, Buffer<double>& B, Run& run) {
    multiply_in_parts('N', k, k, k, U, k, Vt, k, A.data(), k, run);
    scale_rows(A.data(), k, map(w_left, root));
    scale_columns(A.data(), k, k, map(w_right, inverse_root));
    multiply_in_parts('T', k, k, k, A.data(), k, A.data(), k, B.data(), k, run);
    Eigenpairs inner = eigenpairs(k, B.data(), std::move(A), run);
    scale_rows(inner.V.data(), k, map(w_right, root));
    multiply_in_parts('N', k, k, k, Vt, k, inner.V.data(), k, B.data(), k, run);
    A = std::move(inner.V);
    return inner.w;
}

}  // namespace

void spd_form(std::int64_t d, Buffer<double> K1, Buffer<double> K2, Run& run, Outcome& outcome) {
    Buffer<double> A(d * d), B(d * d);
    for (std::int64_t i = 0; i < d; ++i) {
        K1[i * d + i] += 2 * std::numeric_limits<double>::epsilon();
        K2[i * d + i] += 2 * std::numeric_limits<double>::epsilon();
    }
    run.step("mean of the class kernels", 0.4);
    std::copy(K1.data(), K1.data() + d * d, A.data());
    Eigenpairs first = eigenpairs(d, A.data(), std::move(B), run);
    require_invertible(first.w, "the kernel of the first class");
    const std::vector<double> e = relate_kernels(d, first.w, first.V.data(), K2.data(), A, run);
    require_invertible(e, "the kernel of the second class");
    scale_columns(K2.data(), d, d, map(e, fourth_root));
    syrk(d, d, 1.0, K2.data(), 0.0, first.V.data(), run);  // (2)

    run.step("difference operator", 0.85);
    Eigenpairs mean = eigenpairs(d, first.V.data(), std::move(A), run);
    require_invertible(mean.w, "the mean of both kernels");
    write_mean_components(mean.w, mean.V.data(), d, outcome);
    const std::vector<double> logs = clipped_log(relate_kernels(d, mean.w, mean.V.data(), K1.data(), first.V, run));
    weighted_squares(K1.data(), logs, d, first.V.data(), run);  // (3)
    outcome.rank = d;
    outcome.steepest = steepest_of_logs(logs, d);

    run.step("eigenvectors of the difference", 1.0);
    write_difference_scores(d, first.V.data(), std::move(mean.V), run, outcome);
}

void spsd_form(std::int64_t d, Buffer<double> K1, Buffer<double> K2, Run& run, Outcome& outcome) {
    constexpr double kEps = std::numeric_limits<double>::epsilon();
    run.step("eigenvectors of the class kernels", 0.3);
    Eigenpairs first = eigenpairs(d, K1.data(), Buffer<double>(d * d), run);
    Eigenpairs second = eigenpairs(d, K2.data(), std::move(K1), run);
    const std::int64_t k = std::min(numerical_rank(first.w, d), numerical_rank(second.w, d));
    if (k == 0) {
        throw NumericError(
            "kernels must have a positive rank for form=\"spsd\"; got one of zeros: choose another kernel");
    }
    keep_last(first.w, k);
    keep_last(second.w, k);
    const double *G1 = first.V.data() + (d - k) * d, *G2 = second.V.data() + (d - k) * d;
    run.checkpoint();

    run.step("mean of the class kernels", 0.65);
    Buffer<double> A = std::move(K2), O1(d * d), O2(d * d);
    std::vector<double> s(at(k));
    multiply_in_parts('T', k, k, d, G2, d, G1, d, A.data(), k, run);
    singular_vectors(k, A.data(), s.data(), O2.data(), O1.data(), run);
    check_angles(k, s, second.w, O2.data(), first.w, O1.data(), outcome);
    transpose(O1.data(), k);
    Buffer<double> B(d * d);
    const std::vector<double> e = relate_cores(k, O2.data(), O1.data(), second.w, first.w, A, B, run);
    scale_columns(B.data(), k, k, map(e, fourth_root));
    syrk(k, k, 1.0, B.data(), 0.0, A.data(), run);
    Eigenpairs mean = eigenpairs(k, A.data(), std::move(B), run);  // the core of M
    const std::int64_t core_rank = std::min(k, numerical_rank(mean.w, d));

    // Computes the middle of the path between the subspaces: U1 cos(theta / 2) + (U2 - U1 U1' U2) sin(theta / 2) /
    // sin(theta).
    std::vector<double> cosine, sine;
    const double apart = std::min(s.front(), 1.0) * static_cast<double>(k) * kEps;
    for (double& value : s) {
        value = std::min(value, 1.0);
        const double theta = std::acos(value);
        cosine.push_back(std::cos(theta / 2));
        sine.push_back(1 - value > apart ? std::sin(theta / 2) / std::sin(theta) : 0);
    }
    transpose(O1.data(), k);
    Buffer<double> C(d * d);
    multiply_in_parts('N', d, k, k, G1, d, O1.data(), k, A.data(), d, run);  // U1
    multiply_in_parts('N', d, k, k, G2, d, O2.data(), k, C.data(), d, run);  // U2
    multiply_in_parts('T', k, k, d, A.data(), d, C.data(), d, O2.data(), k, run);
    multiply_in_parts('N', d, k, k, A.data(), d, O2.data(), k, second.V.data(), d, run);
    for (std::int64_t j = 0; j < k; ++j) {
        const double c = cosine[at(j)], f = sine[at(j)];
        for (std::int64_t i = j * d; i < (j + 1) * d; ++i) C[i] = c * A[i] + f * (C[i] - second.V[i]);
    }
    multiply_in_parts('N', d, core_rank, k, C.data(), d, mean.V.data() + (k - core_rank) * k, k, second.V.data(), d,
                      run);
    const double* GM = second.V.data();
    keep_last(mean.w, core_rank);
    keep_last(first.w, core_rank);
    G1 = first.V.data() + (d - core_rank) * d;
    write_mean_components(mean.w, GM, d, outcome);
    C = Buffer<double>();
    mean.V = Buffer<double>();
    outcome.rank = core_rank;

    run.step("difference operator", 1.0);
    multiply_in_parts('T', core_rank, core_rank, d, G1, d, GM, d, A.data(), core_rank, run);
    singular_vectors(core_rank, A.data(), s.data(), O1.data(), O2.data(), run);  // of G1 and of GM
    check_angles(core_rank, s, first.w, O1.data(), mean.w, O2.data(), outcome);
    transpose(O2.data(), core_rank);
    B = Buffer<double>(d * d);
    const std::vector<double> logs =
        clipped_log(relate_cores(core_rank, O1.data(), O2.data(), first.w, mean.w, A, B, run));
    weighted_squares(B.data(), logs, core_rank, A.data(), run);
    outcome.steepest = steepest_of_logs(logs, d);
    const Eigenpairs difference = eigenpairs(core_rank, A.data(), std::move(B), run);  // the core of D
    // The path from M to K1 ends at G1 O1.
    multiply_in_parts('N', core_rank, core_rank, core_rank, O1.data(), core_rank, difference.V.data(), core_rank,
                      O2.data(), core_rank, run);
    multiply_in_parts('N', d, core_rank, core_rank, G1, d, O2.data(), core_rank, second.V.data(), d, run);
    std::fill(outcome.scores.begin(), outcome.scores.end(), 0.0);
    for (std::int64_t i = 0; i < core_rank; ++i) {  // (4)
        const double *P = second.V.data() + i * d, weight = std::abs(difference.w[at(i)]);
        for (std::int64_t j = 0; j < d; ++j) outcome.scores[at(j)] += weight * P[j] * P[j];
    }
    difference_components(difference.w, [&](std::int64_t i) { return second.V.data() + i * d; }, d, outcome);
}

}  // namespace fastfs::core
