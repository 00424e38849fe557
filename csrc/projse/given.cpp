// Features that are given: ProjSe of what they don't explain.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "engines/spectral.hpp"
#include "projse/choice.hpp"
#include "projse/sums.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// Directions with eigenvalues of the given columns' correlations below this share of the largest are left out: they
// belong to copies, or sums have few digits of them.
constexpr double kCopies = 1e-10;
constexpr std::int64_t kTaskColumns = 512;

// Calls f with the first column and the number of columns of each task.
template <class F>
void for_columns(std::int64_t n, Run& run, F&& f) {
    parallel_for(run, ceil_div(n, kTaskColumns), [&](std::int64_t task, int) {
        const std::int64_t first = task * kTaskColumns;
        f(first, std::min(kTaskColumns, n - first));
    });
}

}  // namespace

std::int64_t Given::memory(std::int64_t n_given, std::int64_t n_y, std::int64_t n_x, bool with_xx) {
    return 8 * (5 * n_given * n_given + n_given * (n_y + n_x)) + ProjseSums::memory(n_y, n_x, with_xx);
}

Given ProjseSums::explained_by(std::int64_t n_given, bool center, Run& run) const {
    const std::int64_t g = n_given, n_y = side_[kY].n, first = n_y - g, n_x = side_[kX].n;
    const double m = center ? 0.0 : static_cast<double>(n_rows_);  // products about zero have the means, too
    const Numbers& mean = side_[kY].mean;
    Buffer<double> K(g * g);
    Numbers scale(at(g));
    for (std::int64_t i = 0; i < g; ++i) {
        const double square = side_[kY].squares[at(first + i)], about = m * mean[at(first + i)] * mean[at(first + i)];
        const bool is_constant = square <= 1e-14 * side_[kY].summed[at(first + i)] && about == 0;
        scale[at(i)] = is_constant || square + about == 0 ? 0.0 : 1 / std::sqrt(square + about);
    }
    for (std::int64_t j = 0; j < g; ++j) {
        for (std::int64_t i = j; i < g; ++i) {
            const double about = m * mean[at(first + i)] * mean[at(first + j)];
            K[j * g + i] = (product_on_side(kY, first + i, first + j) + about) * scale[at(i)] * scale[at(j)];
        }
    }
    SymmetricEigen eigen(g, K.data(), run);
    const std::vector<double>& values = eigen.values();
    const std::int64_t cut =
        std::upper_bound(values.begin(), values.end(), kCopies * std::max(values.back(), 0.0)) - values.begin();
    Given given{g, g - cut, center, Buffer<double>((g - cut) * first), Buffer<double>((g - cut) * n_x)};
    if (given.rank == 0) return given;
    eigen.make_vectors(cut, g, run);
    given.least_kept = values[at(cut)];
    given.largest = values.back();
    given.is_nearly_dependent =
        given.least_kept < kFewDigits * given.largest || (cut > 0 && values[at(cut - 1)] >= 1e-12 * given.largest);
    if (cut > std::count(scale.begin(), scale.end(), 0.0)) {
        given.outside = draw_outside(eigen, g, cut, scale);
        for (std::int64_t i = 0; i < g; ++i) given.outside[at(i)] *= scale[at(i)];
    }
    given.basis = Buffer<double>(g * given.rank);
    Buffer<double>& W = given.basis;
    Numbers of_means(at(given.rank));
    for (std::int64_t r = 0; r < given.rank; ++r) {
        const double factor = 1 / std::sqrt(values[at(cut + r)]);
        for (std::int64_t i = 0; i < g; ++i) {
            W[r * g + i] = eigen.vector(cut + r)[i] * scale[at(i)] * factor;
            of_means[at(r)] += m * W[r * g + i] * mean[at(first + i)];
        }
    }
    // Writes W' K for the rows of the given columns in K, which has n columns of n_y values.
    const auto project = [&](const double* products, std::int64_t n, const Numbers& means, double* out) {
        for_columns(n, run, [&](std::int64_t j0, std::int64_t w) {
            gemm('T', 'N', given.rank, w, g, 1.0, W.data(), g, products + j0 * n_y + first, n_y, 0.0,
                 out + j0 * given.rank, given.rank);
            for (std::int64_t j = j0; j < j0 + w; ++j) {
                for (std::int64_t r = 0; r < given.rank; ++r) out[j * given.rank + r] += of_means[at(r)] * means[at(j)];
            }
        });
    };
    project(yy_.data(), first, mean, given.of_y.data());
    project(yx_.data(), n_x, side_[kX].mean, given.of_x.data());
    return given;
}

ProjseSums ProjseSums::unexplained_sums(const Given& given, bool with_xx, Run& run) const {
    const std::int64_t n_y = side_[kY].n - given.n, n_x = side_[kX].n, r = given.rank;
    const double m = given.center ? 0.0 : static_cast<double>(n_rows_);
    ProjseSums result(n_y, n_x, with_xx);
    result.in_single_ = in_single_;
    result.n_rows_ = n_rows_;
    for (int side : {kY, kX}) {
        ProjseColumns& to = result.side_[side];
        const double* C = side == kY ? given.of_y.data() : given.of_x.data();
        std::int64_t n_before = 0, n_left = 0;
        for (std::int64_t j = 0; j < to.n; ++j) {
            const double about = m * side_[side].mean[at(j)] * side_[side].mean[at(j)];
            const double square = side_[side].squares[at(j)] + about;
            double rest = square;
            for (std::int64_t i = 0; i < r; ++i) rest -= C[j * r + i] * C[j * r + i];
            to.squares[at(j)] = rest > kSpanned * square ? rest : 0.0;
            to.summed[at(j)] = side_[side].summed[at(j)] + about;
            n_before += square > 1e-14 * to.summed[at(j)];
            n_left += to.squares[at(j)] > 0;
        }
        require(n_left > 0 || n_before == 0, "the given columns must leave a part of ",
                side == kX ? "X to choose from" : "the target to explain", "; got ", given.n,
                " that determine all of it: give fewer");
    }
    // Writes the products of columns of side p with columns of side q, less those of their given parts.
    const auto take_out = [&](int p, int q, const double* from, std::int64_t ld, double* to) {
        const Numbers &a = side_[p].mean, &b = side_[q].mean;
        const std::int64_t n_p = result.side_[p].n;
        const double *of_p = p == kY ? given.of_y.data() : given.of_x.data(),
                     *of_q = q == kY ? given.of_y.data() : given.of_x.data();
        for_columns(result.side_[q].n, run, [&](std::int64_t j0, std::int64_t w) {
            for (std::int64_t j = j0; j < j0 + w; ++j) {
                const std::int64_t begin = p == q ? j : 0;  // sums within a side have the lower triangle alone
                std::fill(to + j * n_p, to + j * n_p + begin, 0.0);
                for (std::int64_t i = begin; i < n_p; ++i) to[j * n_p + i] = from[j * ld + i] + m * a[at(i)] * b[at(j)];
            }
            if (r > 0) {
                gemm('T', 'N', n_p, w, r, -1.0, of_p, r, of_q + j0 * r, r, 1.0, to + j0 * n_p, n_p);
            }
        });
    };
    if (n_y > 0) {
        take_out(kY, kY, yy_.data(), side_[kY].n, result.yy_.data());
        take_out(kY, kX, yx_.data(), side_[kY].n, result.yx_.data());
    }
    if (with_xx) take_out(kX, kX, xx_.data(), n_x, result.xx_.data());
    return result;
}

void ProjseSums::take_out(const Given& given, std::int64_t k, double* out) const {
    const double m = given.center ? 0.0 : static_cast<double>(n_rows_);
    const Numbers& mean = side_[kX].mean;
    const double* C = given.of_x.data();
    for (std::int64_t j = 0; j < side_[kX].n; ++j) {
        double explained = 0;
        for (std::int64_t i = 0; i < given.rank; ++i) explained += C[j * given.rank + i] * C[k * given.rank + i];
        out[j] += m * mean[at(j)] * mean[at(k)] - explained;
    }
}

}  // namespace fastfs::core
