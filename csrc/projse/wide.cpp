#include "projse/wide.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engines/spectral.hpp"
#include "projse/choice.hpp"
#include "projse/variables.hpp"
#include "support/errors.hpp"

namespace fastfs::core {

// Returns an orthonormal basis of the span of the targets, from their m x m Gram matrix of samples.
Span span_of_targets(const Matrix& Y, const fastfs_projse_options& o, Run& run) {
    const std::int64_t m = Y.n_rows(), n = Y.n_cols();
    CenteredColumns source(Y, kY, run);
    Variables y(source.columns(), kY, m, o.center != 0);
    require_candidates(y, kY, o.center != 0);
    VariableKernel kernel{o, static_cast<double>(m)};
    kernel.normalize_variables(y);
    Buffer<double> G(m * m);
    std::fill(G.data(), G.data() + m * m, 0.0);
    // Adds tiles up in order; each product is parallel.
    constexpr std::int64_t kWidth = 1024;
    Buffer<double> tile(m * std::min(kWidth, n));
    for (std::int64_t j0 = 0; j0 < n; j0 += kWidth) {
        const std::int64_t w = std::min(kWidth, n - j0);
        parallel_for(run, w, [&](std::int64_t j, int) {
            double* column = tile.data() + j * m;
            source.column(j0 + j, column);
            const double mean = o.center ? 0.0 : source.columns().mean[at(j0 + j)];
            for (std::int64_t i = 0; i < m; ++i) column[i] = (column[i] + mean) * y.scale[at(j0 + j)];
        });
        syrk(m, w, 1.0, tile.data(), 1.0, G.data(), run);
    }
    double largest = 1;
    if (!o.normalize) largest = *std::max_element(y.norms.begin(), y.norms.end());
    SymmetricEigen eigen(m, G.data(), run);
    const std::vector<double>& lam = eigen.values();
    const std::int64_t cut = std::lower_bound(lam.begin(), lam.end(), o.eps * largest) - lam.begin();
    require(cut < m, "the target's kernel must have an eigenvalue of at least eps = ", o.eps,
            " times its largest entry; got none: lower eps");
    eigen.make_vectors(cut, m, run);
    bool is_nearly = cut > 0 && lam[at(cut - 1)] >= 1e-12 * largest;
    if (!is_nearly && cut > (o.center ? 1 : 0)) {
        Numbers combination = draw_outside(eigen, m, cut, Numbers(at(m), 1.0));
        if (o.center) {  // which every column is orthogonal to
            const double mean = std::reduce(combination.begin(), combination.end()) / static_cast<double>(m);
            for (double& value : combination) value -= mean;
        }
        const double size =
            std::sqrt(std::inner_product(combination.begin(), combination.end(), combination.begin(), 0.0));
        double square = 0;
        for (std::int64_t j = 0; j < n; ++j) {
            run.checkpoint();
            source.column(j, tile.data());
            const double mean = o.center ? 0.0 : source.columns().mean[at(j)];
            double along = 0;
            for (std::int64_t i = 0; i < m; ++i) along += (tile[i] + mean) * combination[at(i)];
            square += along * y.scale[at(j)] * (along * y.scale[at(j)]);
        }
        const double eps = Y.description().dtype == FASTFS_FLOAT32 ? double{std::numeric_limits<float>::epsilon()}
                                                                   : std::numeric_limits<double>::epsilon();
        is_nearly = std::sqrt(square) > size * rounding_of_length(lam[at(cut)], lam.back(), eps);
    }
    const Dependence how = is_nearly                             ? Dependence::kNearly
                           : lam[at(cut)] < kFewDigits * largest ? Dependence::kWeakly
                                                                 : Dependence::kNone;
    Span span{Buffer<double>(m * (m - cut)), m - cut, how};
    std::copy(eigen.vector(cut), eigen.vector(m - 1) + m, span.U.data());
    return span;
}

}  // namespace fastfs::core
