#include "ikdr/objective.hpp"

#include <cmath>

#include "support/errors.hpp"

namespace fastfs::core {

void require_finite_objective(double value) {
    require(
        std::isfinite(value),
        "the objective must stay within the range of doubles: scale the kernels, or lower lambda, mu, tau and zeta");
}

template <class T>
CoefficientObjective<T>::CoefficientObjective(const T* K, const SortedSamples& samples, const Terms& terms,
                                              std::int64_t k, Run& run)
    : samples_(samples),
      terms_(terms),
      run_(run),
      N_(samples.n_samples()),
      C_(samples.n_classes()),
      k_(k),
      threads_(N_ * N_ >= kWorthThreads),
      rows_(at(N_)),
      KH_(numbers(C_ * N_)),
      K1_(numbers(N_)),
      P_(numbers(C_ * k)),
      T_(numbers(C_ * k)),
      omega_(numbers(C_)),
      by_class_(numbers(C_ * N_)),
      KR_(numbers(C_ * N_)),
      r_(numbers(N_)),
      B_(terms.mu > 0 ? numbers(k * N_) : Numbers()),
      ones_(at(N_), 1.0) {
    for (std::int64_t i = 0; i < N_; ++i) rows_[at(i)] = K + i * N_;
    class_sums(ones_, KH_);
    std::vector<const double*> class_rows;
    for (std::int64_t q = 0; q < C_; ++q) class_rows.push_back(&KH_[at(q * N_)]);
    f64_.combine(class_rows.data(), Numbers(at(C_), 1.0).data(), C_, N_, K1_.data());
    for (std::int64_t q = 0; q < C_; ++q) {
        for (std::int64_t i = samples.begins[at(q)]; i < samples.begins[at(q + 1)]; i += kRows) {
            blocks_.push_back({q, i, std::min(i + kRows, samples.begins[at(q + 1)])});
        }
    }
}

template <class T>
double CoefficientObjective<T>::value(const double* A) {
    A_ = A;
    columns_.clear();
    for (std::int64_t j = 0; j < k_; ++j) columns_.push_back(A + j * N_);

    // Set P = H A and T = (K H)' A.
    double similarity = 0, lambda_part = 0;
    Numbers column_sums = numbers(k_);
    std::vector<const double*> parts(at(k_));
    for (std::int64_t q = 0; q < C_; ++q) {
        for (std::int64_t j = 0; j < k_; ++j) parts[at(j)] = columns_[at(j)] + samples_.begins[at(q)];
        f64_.dots(parts.data(), k_, ones_.data(), samples_.size(q), &P_[at(q * k_)]);
        f64_.dots(columns_.data(), k_, &KH_[at(q * N_)], N_, &T_[at(q * k_)]);
        double square = 0;
        for (std::int64_t j = 0; j < k_; ++j) {
            square += P_[at(q * k_ + j)] * P_[at(q * k_ + j)];
            column_sums[at(j)] += T_[at(q * k_ + j)];
            lambda_part -= T_[at(q * k_ + j)] * T_[at(q * k_ + j)];
        }
        omega_[at(q)] = terms_.omega(samples_.size(q), square);
    }
    for (double sum : column_sums) lambda_part += sum * sum;
    total_ = column_sums;

    set_residuals();
    for (std::int64_t i = 0; i < N_; ++i) similarity += omega_[at(samples_.classes[at(i)])] * r_[at(i)] * r_[at(i)];
    interpretability_ = interpretability_term();
    const double value = similarity + terms_.lambda * lambda_part + interpretability_ + terms_.constant(k_);
    require_finite_objective(value);
    return value;
}

template <class T>
void CoefficientObjective<T>::set_residuals() {
    if (terms_.mu > 0) {  // the interpretability term needs B as well, which takes little where A is sparse
        embed(A_, B_.data());
        for (std::int64_t i = 0; i < N_; ++i) {
            const double* P_q = &P_[at(samples_.classes[at(i)] * k_)];
            double similarity = 0;
            for (std::int64_t j = 0; j < k_; ++j) similarity += P_q[j] * B_[at(j * N_ + i)];
            r_[at(i)] = 1 - similarity;
        }
        return;
    }
    // B = K A isn't needed: sample i takes column y_i of K (A P').
    for (std::int64_t q = 0; q < C_; ++q) combine_columns(columns_, &P_[at(q * k_)], &by_class_[at(q * N_)]);
    for_each(run_, static_cast<std::int64_t>(blocks_.size()), threads_, [&](std::int64_t task) {
        const Block& b = blocks_[at(task)];
        rows_kernels_.dots(&rows_[at(b.begin)], b.end - b.begin, &by_class_[at(b.q * N_)], N_, &r_[at(b.begin)]);
        for (std::int64_t i = b.begin; i < b.end; ++i) r_[at(i)] = 1 - r_[at(i)];
    });
}

template <class T>
void CoefficientObjective<T>::gradient(double* G) {
    Numbers factors = numbers(N_), squares = numbers(C_);
    for (std::int64_t i = 0; i < N_; ++i) {
        const std::int64_t q = samples_.classes[at(i)];
        factors[at(i)] = -2 * omega_[at(q)] * r_[at(i)];
        squares[at(q)] += r_[at(i)] * r_[at(i)];
    }
    class_sums(factors, KR_);  // K R, R[i, y_i] = -2 om r_i
    Numbers dP = numbers(C_ * k_), factors_of = numbers(2 * C_);
    for (std::int64_t q = 0; q < C_; ++q) {
        f64_.dots(columns_.data(), k_, &KR_[at(q * N_)], N_, &dP[at(q * k_)]);
        if (std::isinf(terms_.zeta)) continue;
        const double factor = 2 * omega_[at(q)] * omega_[at(q)] / terms_.zeta * squares[at(q)];
        for (std::int64_t j = 0; j < k_; ++j) dP[at(q * k_ + j)] -= factor * P_[at(q * k_ + j)];
    }
    // Form K dB = (K R) P + (K H) V, V_q = 2 lambda (sum_q T_q - T_q).
    std::vector<const double*> KR_and_KH;
    for (std::int64_t q = 0; q < C_; ++q) KR_and_KH.push_back(&KR_[at(q * N_)]);
    for (std::int64_t q = 0; q < C_; ++q) KR_and_KH.push_back(&KH_[at(q * N_)]);
    for (std::int64_t j = 0; j < k_; ++j) {
        double* column = G + j * N_;
        for (std::int64_t q = 0; q < C_; ++q) {
            factors_of[at(q)] = P_[at(q * k_ + j)];
            factors_of[at(C_ + q)] = 2 * terms_.lambda * (total_[at(j)] - T_[at(q * k_ + j)]);
        }
        combine_columns(KR_and_KH, factors_of.data(), column);
        for (std::int64_t i = 0; i < N_; ++i) column[i] += dP[at(samples_.classes[at(i)] * k_ + j)];
        if (terms_.mu == 0) continue;
        const double* B = &B_[at(j * N_)];
        for (std::int64_t i = 0; i < N_; ++i) {
            const double degree_term = terms_.distance ? 0 : K1_[at(i)] * A_[j * N_ + i];
            column[i] += 2 * terms_.mu * (degree_term - B[i]);
        }
    }
}

template <class T>
Numbers CoefficientObjective<T>::point() const {
    Numbers x = r_;
    for (double& c : x) c = 1 - c;
    x.insert(x.end(), T_.begin(), T_.end());
    return x;
}

template <class T>
void CoefficientObjective<T>::embed(const double* A, double* B) const {
    for_each(run_, k_, threads_, [&](std::int64_t j) {
        std::vector<const T*> rows;
        Numbers factors;
        for (std::int64_t t = 0; t < N_; ++t) {
            if (A[j * N_ + t] == 0) continue;
            rows.push_back(rows_[at(t)]);
            factors.push_back(A[j * N_ + t]);
        }
        rows_kernels_.combine(rows.data(), factors.data(), static_cast<std::int64_t>(rows.size()), N_, B + j * N_);
    });
}

template <class T>
double CoefficientObjective<T>::interpretability_term() const {
    if (terms_.mu == 0) return 0;
    double sum = 0;
    for (std::int64_t j = 0; j < k_; ++j) {
        double column = 0;
        for (std::int64_t i = 0; i < N_; ++i) {
            const double a = A_[j * N_ + i];
            column += a * ((terms_.distance ? 0 : K1_[at(i)] * a) - B_[at(j * N_ + i)]);
        }
        sum += column;
    }
    return terms_.mu * sum;
}

template <class T>
void CoefficientObjective<T>::combine_columns(const std::vector<const double*>& columns, const double* factors,
                                              double* out) const {
    std::vector<const double*> used_columns;
    Numbers used_factors;
    for (std::size_t c = 0; c < columns.size(); ++c) {
        if (factors[c] == 0) continue;
        used_columns.push_back(columns[c]);
        used_factors.push_back(factors[c]);
    }
    f64_.combine(used_columns.data(), used_factors.data(), std::ssize(used_columns), N_, out);
}

template <class T>
void CoefficientObjective<T>::class_sums(const Numbers& factors, Numbers& sums) const {
    const std::int64_t chunks = ceil_div(N_, kColumns);
    for_each(run_, C_ * chunks, threads_, [&](std::int64_t task) {
        const std::int64_t q = task / chunks, first = task % chunks * kColumns, begin = samples_.begins[at(q)];
        std::vector<const T*> rows(rows_.begin() + begin, rows_.begin() + samples_.begins[at(q + 1)]);
        for (const T*& row : rows) row += first;
        rows_kernels_.combine(rows.data(), &factors[at(begin)], samples_.size(q), std::min(kColumns, N_ - first),
                              &sums[at(q * N_ + first)]);
    });
}

template class CoefficientObjective<float>;
template class CoefficientObjective<double>;

}  // namespace fastfs::core
