#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "engines/isa/tiles.hpp"
#include "ikdr/ikdr.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {

void ikdr_embed(const fastfs_ikdr_model& model, const Matrix& X, Run& run, double* out) {
    constexpr std::int64_t kRows = 32;  // samples side by side
    const std::int64_t n = X.n_rows(), s = model.n_support, k = model.n_components,
                       width = model.begins[model.n_kernels];
    run.require_memory(16 * (run.n_threads() + 1) * kRows * s + 8 * n * k, {"the embedding of ", n, " samples"});
    run.step("embedding", 1.0);
    X.row_maxima(run);
    std::vector<Numbers> scratch(at(run.n_threads()), numbers(2 * kRows * s));
    const auto exp_neg = tile_kernels<double>().exp_neg;
    visit_values(X.description(), [&](const auto& values) {
        parallel_for(run, ceil_div(n, kRows), [&](std::int64_t task, int slot) {
            const std::int64_t first = task * kRows, rows = std::min(kRows, n - first);
            double* K = scratch[at(slot)].data();  // s x kRows, as large as one kernel's part
            double* part = K + kRows * s;
            std::fill_n(K, kRows * s, 0.0);
            for (std::int64_t m = 0; m < model.n_kernels; ++m) {
                if (!(model.weights[m] > 0)) continue;
                std::fill_n(part, kRows * s, 0.0);
                for (std::int64_t c = model.begins[m]; c < model.begins[m + 1]; ++c) {
                    if (!(model.scales[c] > 0)) continue;
                    double x[kRows] = {};
                    for (std::int64_t r = 0; r < rows; ++r) {
                        const double value = values(first + r, model.features[c]);
                        x[r] = (value - model.means[c]) / model.scales[c];
                    }
                    for (std::int64_t t = 0; t < s; ++t) {
                        const double y = model.support[t * width + c];
                        for (std::int64_t r = 0; r < kRows; ++r) part[t * kRows + r] += (x[r] - y) * (x[r] - y);
                    }
                }
                exp_neg(part, kRows * s, 1 / model.deltas[m]);
                for (std::int64_t e = 0; e < kRows * s; ++e) K[e] += model.weights[m] * part[e];
            }
            double* to = out + first * k;
            std::fill_n(to, rows * k, 0.0);
            for (std::int64_t r = 0; r < rows; ++r) {
                for (std::int64_t t = 0; t < s; ++t) {
                    for (std::int64_t j = 0; j < k; ++j)
                        to[r * k + j] += K[t * kRows + r] * model.coefficients[t * k + j];
                }
            }
        });
    });
}

}  // namespace fastfs::core
