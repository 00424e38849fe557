// Square matrices as textbooks have them, for the definitions that results are compared with.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace fuzz {

inline std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

inline double dot(const std::vector<double>& x, const std::vector<double>& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

inline double squared_distance(const std::vector<double>& x, const std::vector<double>& y) {
    double sum = 0;
    for (std::size_t k = 0; k < x.size(); ++k) sum += (x[k] - y[k]) * (x[k] - y[k]);
    return sum;
}

struct Square {
    explicit Square(std::int64_t size) : n(size), entries(at(size * size)) {}
    double& operator()(std::int64_t i, std::int64_t j) { return entries[at(i * n + j)]; }
    double operator()(std::int64_t i, std::int64_t j) const { return entries[at(i * n + j)]; }

    std::int64_t n;
    std::vector<double> entries;
};

inline Square multiply(const Square& A, const Square& B) {
    Square C(A.n);
    for (std::int64_t i = 0; i < A.n; ++i) {
        for (std::int64_t k = 0; k < A.n; ++k) {
            for (std::int64_t j = 0; j < A.n; ++j) C(i, j) += A(i, k) * B(k, j);
        }
    }
    return C;
}

// Of a symmetric matrix: values ascending, vectors in columns.
struct Eigenpairs {
    std::vector<double> values;
    Square vectors;
};

// Jacobi's rotations, each of which makes a pair of entries off the diagonal zero.
inline Eigenpairs eigenpairs(Square A) {
    const std::int64_t n = A.n;
    Square V(n);
    for (std::int64_t i = 0; i < n; ++i) V(i, i) = 1;
    const auto rotate = [n](double c, double s, double* x, double* y, std::int64_t stride) {
        for (std::int64_t k = 0; k < n; ++k, x += stride, y += stride) {
            const double a = *x, b = *y;
            *x = c * a - s * b;
            *y = s * a + c * b;
        }
    };
    double off = 1, all = 1;
    for (int sweep = 0; sweep < 60 && off > 1e-32 * all; ++sweep) {
        off = all = 0;
        for (std::int64_t p = 0; p < n; ++p) {
            all += A(p, p) * A(p, p);
            for (std::int64_t q = p + 1; q < n; ++q) {
                off += A(p, q) * A(p, q);
                if (A(p, q) == 0) continue;
                const double theta = (A(q, q) - A(p, p)) / (2 * A(p, q));
                const double t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::hypot(1.0, theta));
                const double c = 1 / std::hypot(1.0, t), s = t * c;
                rotate(c, s, &A(0, p), &A(0, q), n);
                rotate(c, s, &A(p, 0), &A(q, 0), 1);
                rotate(c, s, &V(0, p), &V(0, q), n);
            }
        }
    }
    std::vector<std::int64_t> order(at(n));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return A(a, a) < A(b, b); });
    Eigenpairs pairs{{}, Square(n)};
    for (std::int64_t k = 0; k < n; ++k) {
        const std::int64_t from = order[at(k)];
        pairs.values.push_back(A(from, from));
        for (std::int64_t i = 0; i < n; ++i) pairs.vectors(i, k) = V(i, from);
    }
    return pairs;
}

// f(A) = sum_k f(value_k) v_k v_k'.
template <class F>
Square function_of(const Eigenpairs& A, F&& f) {
    const std::int64_t n = A.vectors.n;
    Square sum(n);
    for (std::int64_t k = 0; k < n; ++k) {
        const double value = f(A.values[at(k)]);
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = 0; j < n; ++j) sum(i, j) += value * A.vectors(i, k) * A.vectors(j, k);
        }
    }
    return sum;
}

}  // namespace fuzz
