// The test of a pair from its moments.
#pragma once

#include <algorithm>
#include <cstdint>

namespace fastfs::core {

// A pair is tested by the regression of the target y on x_i, x_j and the covariates, with the product u = x_i x_j and
// without it. All means are over samples of standardised columns; z_l are covariates and y_k columns of the target, in
// one orthonormal basis. With
//
//     r = mean(u)   a = mean(u x_i)   b = mean(u x_j)   q = mean(u^2)   s_l = mean(u z_l)   m_il = mean(x_i z_l),
//
// the covariates and the mean leave of these
//
//     v_i = 1 - |m_i|^2   r' = r - m_i m_j   a' = a - s m_i   b' = b - s m_j   q' = q - r^2 - |s|^2,
//
// and x_i and x_j leave of u the mean square
//
//     e = q' - (a'^2 v_j + b'^2 v_i - 2 r' a' b') / D,   D = v_i v_j - r'^2.
//
// The target's columns are taken away like covariates, which leaves e_y of e: exchanging the roles of u and the target
// doesn't change their partial correlation. So F = (e / e_y - 1) (n - 3 - L - K) / K for L covariates and K columns of
// the target. Everything but mean(u y_k) is known before the labels are, so a labeling takes one Gram tile per column.

// D / (v_i v_j), and e / q, below which a pair has no interaction: features are copies, or the product is a function of
// the features, as of two-valued ones that never have all four combinations.
constexpr double kRest = 1e-10;

// e / q below which a pair has no test along a target. Columns that lost their lines in the target have n_samples
// different values. If they had two values, and never all four combinations, only parts of these lines are left of the
// product, about 1 / n_samples of it, and the target explains them.
constexpr double kRestAlong = 0.1;

// Degrees of freedom of what is left, below which F has no mean, and chance alone makes it a million.
constexpr std::int64_t kFewestDegrees = 3;

// The least e_y / e, so that F is finite.
constexpr double kPerfect = 1e-12;

// What the model without the product leaves of a pair's moments.
struct PairMoments {
    double r, a, b, q;

    // Takes a column of the basis away: s and the mean products of x_i and x_j with it.
    void take_away(double s, double m_i, double m_j) {
        r -= m_i * m_j;
        a -= s * m_i;
        b -= s * m_j;
        q -= s * s;
    }
    double determinant(double v_i, double v_j) const { return v_i * v_j - r * r; }
    // Returns e.
    double rest(double v_i, double v_j) const {
        return q - (a * a * v_j + b * b * v_i - 2 * r * a * b) / determinant(v_i, v_j);
    }
};

enum class Exclusion { kNone, kCopies, kProduct, kTarget, kSamples };

// Returns e / e_y - 1. e: the rest of the product without the target; d: v_i v_j without the target; the other values
// are those with it. 0 if the features explain the target.
inline double strength(double e, double d, double v_i, double v_j, const PairMoments& moments) {
    if (!(moments.determinant(v_i, v_j) > kRest * d)) return 0;
    return std::max(e / std::max(moments.rest(v_i, v_j), kPerfect * e) - 1, 0.0);
}

}  // namespace fastfs::core
