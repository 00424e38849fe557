#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "engines/affinity.hpp"
#include "engines/isa/tiles.hpp"
#include "engines/spectral.hpp"
#include "manifest/manifest.hpp"
#include "manifest/operators.hpp"
#include "manifest/paper_forms.hpp"
#include "manifest/scale.hpp"
#include "support/buffer.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// Sets rest = all - part, upper triangles of squared distances. Differences below the rounding error become 0, as
// between equal columns: 64 eps of the squared norms, which are up to 256 times the distance if a Gram was accurate
// enough (kFewDigits of feature_sums.cpp). Returns false if a distance over all rows is so much larger than the
// distance in `rest` that too many digits of the difference are lost.
bool subtract_distances(const double* all, const double* part, std::int64_t d, Run& run, double* rest) {
    constexpr double kRounding = 256 * 64 * std::numeric_limits<double>::epsilon(), kLostBits = 256;
    std::vector<double> largest(at(d), 0.0), sum(at(d), 0.0);
    parallel_for(run, d, [&](std::int64_t i, int) {
        const auto row = at(i);
        for (std::int64_t e = i * d + i; e < (i + 1) * d; ++e) {
            const double difference = all[e] - part[e];
            rest[e] = difference <= kRounding * all[e] ? 0 : difference;
            largest[row] = std::max(largest[row], all[e]);
            sum[row] += rest[e];
        }
    });
    const double mean = 2 * std::accumulate(sum.begin(), sum.end(), 0.0) / static_cast<double>(d * (d - 1));
    return *std::max_element(largest.begin(), largest.end()) <= kLostBits * mean;
}

// Sets K of one side at one scale, equation (1) of docs/manifest.md, from squared distances D2 and norms, upper
// triangles; K may be D2. Sets outcome.sigma of the side.
void fill_kernel(const fastfs_manifest_options& options, const double* D2, const std::vector<double>& norms,
                 std::int64_t d, double unit, const Side& side, int which, const fastfs_manifest_scale& scale, Run& run,
                 double* K, Outcome& outcome) {
    const bool is_given = scale.rule == FASTFS_MANIFEST_SIGMA_GIVEN;
    const double sigma = is_given ? scale.sigma[side.index] / unit
                                  : choose_sigma(D2, d, scale, side.name, outcome.kernel_flags[which], run);
    outcome.sigma[which] = is_given ? scale.sigma[side.index] : in_units_of_data(sigma, unit, side.name);
    // The factor is finite, so that distance 0 gives affinity 1 for any sigma.
    const double per_distance = std::min(0.5 / sigma / sigma, std::numeric_limits<double>::max());
    parallel_for(run, ceil_div(d, kTile), [&](std::int64_t block, int) {
        for (std::int64_t i = block * kTile; i < std::min((block + 1) * kTile, d); ++i) {
            if (K != D2) std::copy(D2 + i * d + i, D2 + (i + 1) * d, K + i * d + i);
            if (!options.custom) tile_kernels<double>().exp_neg(K + i * d + i, d - i, per_distance);
        }
    });
    if (options.custom) {
        const Kernel custom{.kind = Kernel::Kind::kCustom,
                            .sigma = outcome.sigma[which],
                            .function = options.custom,
                            .user = options.user};
        custom_kernel_upper(custom, norms, unit, run, K);
        Buffer<double> scratch(d * d);
        require_semidefinite(d, K, scratch.data(), "a kernel", run);
    }
    if (scale.normalize > 0) normalize_kernel(K, d, scale.normalize, run);
}

}  // namespace

// Solves a problem of rows exactly, from squared distances of all pairs of features; writes one outcome per scale.
void exact_problem(const Fit& fit, const Problem& problem, Run& run, std::vector<Outcome>& outcomes) {
    const std::int64_t d = fit.X.n_cols();
    run.step("distances of the features", 0.05);
    std::array<Distances, 2> sides;
    for (Distances& side : sides) side.D2 = Buffer<double>(d * d);
    bool done = false;
    if (fit.all) {
        const std::size_t smaller = problem[1].rows.size() < problem[0].rows.size();
        sides[0].unit = sides[1].unit = fit.unit_of_all;
        squared_distances_upper(fit.X, problem[smaller].rows, fit.unit_of_all, run, sides[smaller].D2.data());
        done = subtract_distances(fit.all, sides[smaller].D2.data(), d, run, sides[1 - smaller].D2.data());
    }
    for (std::size_t l : {0, 1}) {
        if (done) break;
        sides[l].unit = common_unit(fit.row_maxima, problem[l].rows);
        sides[l].norms = squared_distances_upper(fit.X, problem[l].rows, sides[l].unit, run, sides[l].D2.data());
    }
    compare_distances(d, fit.options, fit.scales, problem, std::move(sides), run, outcomes);
}

void compare_distances(std::int64_t d, const fastfs_manifest_options& options,
                       const std::vector<fastfs_manifest_scale>& scales, const Problem& problem,
                       std::array<Distances, 2> sides, Run& run, std::vector<Outcome>& outcomes) {
    run.step("scales", 1.0);
    const auto n_scales = static_cast<double>(scales.size());
    for (std::size_t s = 0; s < scales.size(); ++s) {
        const Run::Part part(run, static_cast<double>(s) / n_scales, static_cast<double>(s + 1) / n_scales);
        run.step("kernels of the classes", 0.02);
        const bool last = s + 1 == scales.size();  // the distances have served: the kernels take their place
        std::array<Buffer<double>, 2> K;
        for (std::size_t l : {0, 1}) {
            Buffer<double> fresh = last ? Buffer<double>() : Buffer<double>(d * d);
            auto& [D2, unit, norms] = sides[l];
            fill_kernel(options, D2.data(), norms, d, unit, problem[l], static_cast<int>(l), scales[s], run,
                        last ? D2.data() : fresh.data(), outcomes[s]);
            K[l] = last ? std::move(D2) : std::move(fresh);
        }
        compare_kernels(d, options.form, std::move(K), run, outcomes[s]);
    }
}

void compare_kernels(std::int64_t d, std::int32_t form, std::array<Buffer<double>, 2> K, Run& run, Outcome& outcome) {
    double diagonal = 0;
    for (std::int64_t i = 0; i < d; ++i) diagonal = std::max({diagonal, K[0][i * d + i], K[1][i * d + i]});
    constexpr decltype(&pencil_form) forms[] = {pencil_form, spd_form, spsd_form};
    forms[form](d, std::move(K[0]), std::move(K[1]), run, outcome);
    check_contrast(d, diagonal, std::numeric_limits<double>::epsilon(), outcome);
}

}  // namespace fastfs::core
