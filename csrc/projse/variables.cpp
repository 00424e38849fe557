#include "projse/variables.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engines/affinity.hpp"
#include "engines/isa/tiles.hpp"
#include "support/errors.hpp"

namespace fastfs::core {
namespace {

// The share of the summed squares below which the variance of a column is rounding: the column is constant.
constexpr double kRounding = 64 * std::numeric_limits<double>::epsilon();

double power(double x, int p) {
    double result = 1;
    for (; p > 0; p >>= 1, x *= x) {
        if (p & 1) result *= x;
    }
    return result;
}

}  // namespace

// Computes the squared norms of the columns, centred or not; throws if one is out of range. Constant columns have scale
// 0.
Variables::Variables(const ProjseColumns& c, const Name& matrix, std::int64_t n_rows, bool center)
    : columns(&c), norms(at(c.n)) {
    for (std::size_t j = 0; j < norms.size(); ++j) {
        double centred = c.squares[j];
        if (centred <= kRounding * c.summed[j]) centred = 0;
        norms[j] = center ? centred : centred + static_cast<double>(n_rows) * c.mean[j] * c.mean[j];
        if (!in_range<double>(center ? 0 : c.mean[j], norms[j], n_rows))
            refuse_scale(matrix, static_cast<std::int64_t>(j));
        n_zero += norms[j] == 0;
    }
    scale.resize(norms.size());
    for (std::size_t j = 0; j < norms.size(); ++j) scale[j] = norms[j] == 0 ? 0 : 1;
}

void require_candidates(const Variables& v, const Name& matrix, bool center) {
    require(v.n_zero < static_cast<std::int64_t>(v.norms.size()), matrix, " must have a column that ",
            center ? "varies; got constant ones" : "isn't zero; got zeros", " alone");
}

void VariableKernel::require_self(std::int64_t j, double value) {
    require(value >= 0 && std::isfinite(value), "the kernel of ", Name::column(j),
            " with itself must be finite and not negative; got ", value);
}

void VariableKernel::normalize_variables(Variables& v) const {
    if (!o.normalize || (!o.custom && o.kernel == FASTFS_RBF)) return;
    for (std::size_t j = 0; j < v.norms.size(); ++j) {
        if (v.scale[j] == 0) continue;
        double self = v.norms[j];
        if (o.custom) {
            double value = 0;
            o.custom(&value, 1, 1, 1, &v.norms[j], &v.norms[j], sigma, o.user);
            require_self(static_cast<std::int64_t>(j), value);
            self = value;
        }
        v.scale[j] = self > 0 ? 1 / std::sqrt(self) : 0;
    }
}

void VariableKernel::to_squared_distances(double* tile, std::int64_t n_t, std::int64_t w, const Variables& t,
                                          const Variables& s, std::int64_t s0) const {
    for (std::int64_t j = 0; j < w; ++j) {
        const ProjseColumns &a = *t.columns, &b = *s.columns;
        const double square = b.squares[at(s0 + j)], mean = b.mean[at(s0 + j)];
        double* column = tile + j * n_t;
        for (std::int64_t i = 0; i < n_t; ++i) {
            const double d = a.mean[at(i)] - mean, between = o.center ? 0.0 : n_rows * d * d;
            column[i] = squared_distance(a.squares[at(i)], square, column[i]) + between;
        }
    }
}

void VariableKernel::call_custom(double* tile, std::int64_t n_t, std::int64_t w, const Variables& t, const Variables& s,
                                 std::int64_t s0, bool same) const {
    // Kernels of targets are computed in both orders; the first kernels of candidates are computed in the other order,
    // too.
    constexpr std::int64_t kExchanged = 16;
    const std::int64_t n_exchanged = !same && s0 == 0 ? std::min(w, kExchanged) : 0;
    Numbers exchanged(at(n_exchanged * n_t));
    for (std::int64_t i = 0; i < n_t; ++i) {
        for (std::int64_t j = 0; j < n_exchanged; ++j) exchanged[at(i * n_exchanged + j)] = tile[j * n_t + i];
    }
    o.custom(tile, n_t, w, n_t, s.norms.data() + s0, t.norms.data(), sigma, o.user);
    if (same) {
        require_symmetric_values(n_t, n_t, tile, n_t, tile, n_t, [](auto j, auto i, double ji, double ij) {
            throw InvalidArgument({"the kernel must be symmetric; got ", ji, " for the target columns ", j, " and ", i,
                                   ", and ", ij, " if they are exchanged"});
        });
    } else if (n_exchanged > 0) {
        o.custom(exchanged.data(), n_exchanged, n_t, n_exchanged, t.norms.data(), s.norms.data(), sigma, o.user);
        require_symmetric_values(
            n_exchanged, n_t, tile, n_t, exchanged.data(), n_exchanged, [](auto j, auto i, double ji, double ij) {
                throw InvalidArgument({"the kernel must be symmetric; got ", ji, " for candidate ", j, " and target ",
                                       i, ", and ", ij, " if they are exchanged"});
            });
    }
}

void VariableKernel::to_kernel_values(double* tile, std::int64_t n_t, std::int64_t w, const Variables& t,
                                      const Variables& s, std::int64_t s0, bool same) const {
    if (uses_distances()) {
        to_squared_distances(tile, n_t, w, t, s, s0);
        for (std::int64_t j = 0; same && j < w; ++j) tile[j * n_t + s0 + j] = 0;
        if (o.custom) {
            call_custom(tile, n_t, w, t, s, s0, same);
            for (std::int64_t j = 0; j < w; ++j) {
                if (tile_kernels<double>().all_within(tile + j * n_t, n_t, std::numeric_limits<double>::max()))
                    continue;
                refuse({"the kernel must return finite numbers; got NaN or infinity for ", Name::column(s0 + j)});
            }
        } else {
            const double factor = std::min(0.5 / sigma / sigma, std::numeric_limits<double>::max());
            tile_kernels<double>().exp_neg(tile, n_t * w, factor);
        }
    } else {
        for (std::int64_t j = 0; j < w && !o.center; ++j) {
            const double factor = n_rows * s.columns->mean[at(s0 + j)];
            for (std::int64_t i = 0; i < n_t; ++i) tile[j * n_t + i] += factor * t.columns->mean[at(i)];
        }
    }
    const int degree = !o.custom && o.kernel == FASTFS_POLY ? o.degree : 1;
    for (std::int64_t j = 0; j < w; ++j) {
        double* column = tile + j * n_t;
        const double factor = s.scale[at(s0 + j)];
        for (std::int64_t i = 0; i < n_t; ++i) column[i] = power(column[i] * (factor * t.scale[at(i)]), degree);
        if (same && o.normalize && factor > 0 && !o.custom) column[s0 + j] = 1;
    }
}

double choose_sigma(const fastfs_projse_options& o, std::int64_t n_rows, const std::function<double()>& mean_distance) {
    if (!o.custom && o.kernel != FASTFS_RBF) return 0;
    if (o.sigma_rule == FASTFS_PROJSE_SIGMA_GIVEN) return o.sigma;
    if (o.sigma_rule == FASTFS_PROJSE_SIGMA_SQRT_ROWS) return std::sqrt(static_cast<double>(n_rows));
    const double sigma = mean_distance();
    require(sigma > 0,
            "columns of the target must differ, so that their distances set sigma; got equal ones: give sigma");
    require(std::isfinite(sigma),
            "the distances between columns must have squares within the range of float64: scale the columns");
    return sigma;
}

}  // namespace fastfs::core
