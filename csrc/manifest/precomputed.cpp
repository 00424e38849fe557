#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "engines/spectral.hpp"
#include "manifest/manifest.hpp"
#include "manifest/problem.hpp"
#include "support/buffer.hpp"
#include "support/errors.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

void check_kernel(std::int64_t d, const double* K, const char* name) {
    require_symmetric(d, K, name);
    double largest = 0;
    for (std::int64_t i = 0; i < d; ++i) largest = std::max(largest, K[i * d + i]);
    require(largest > 0, name, " must have a positive entry on its diagonal; got ", largest, " as the largest");
}

// Throws if the kernel of a pair of features has an eigenvalue below -1e-8 tr K, as require_semidefinite would for all
// of K.
void require_semidefinite_pairs(std::int64_t d, const double* K, const char* name, Run& run) {
    double trace = 0;
    for (std::int64_t i = 0; i < d; ++i) trace += K[i * d + i];
    const double least = -1e-8 * trace;
    parallel_for(run, d, [&](std::int64_t i, int) {
        const double a = K[i * d + i];
        if (!(a >= least)) refuse_indefinite(name);
        for (std::int64_t j = 0; j < i; ++j) {
            const double b = K[j * d + j], ab = K[i * d + j];
            if ((a + b) / 2 - std::hypot((a - b) / 2, ab) < least) refuse_indefinite(name);
        }
    });
}

}  // namespace

void manifest_kernels(std::int64_t d, const double* K1, const double* K2, const fastfs_manifest_options& asked,
                      Run& run, std::vector<Owned<fastfs_manifest_result>>& results) {
    require(!asked.custom, "custom must be null for precomputed kernels");
    require(asked.accuracy != FASTFS_MANIFEST_LOW_RANK && asked.accuracy != FASTFS_MANIFEST_LOW_RANK_HIGH,
            "accuracy must be \"auto\", \"exact\", \"domains\" or \"small_domains\" for precomputed kernels; got a "
            "low-rank one");
    const Needs needs{.labels = 2, .exact = 0, .gathering = 0, .beyond = [&](const fastfs_manifest_options& form) {
                          return domains_of_kernels_memory(d, form, asked.n_components, run);
                      }};
    const auto plan = plan_problems(d, 2, asked, 1, needs, run);
    const fastfs_manifest_options o = with_accuracy(asked, plan.accuracy);
    const SingleThreadedBlas held;
    run.step("checks of the kernels", 0.02);
    const std::array<const double*, 2> kernels{K1, K2};
    for (std::size_t l : {0, 1}) check_kernel(d, kernels[l], l == 0 ? "K1" : "K2");

    auto exactly = [&](const Problem&, Run& of_problem, std::vector<Outcome>& outcomes) {
        std::array<Buffer<double>, 2> K;
        for (std::size_t l : {0, 1}) {
            K[l] = Buffer<double>(d * d);
            require_semidefinite(d, kernels[l], K[l].data(), l == 0 ? "K1" : "K2", of_problem);
            std::copy_n(kernels[l], d * d, K[l].data());
        }
        compare_kernels(d, o.form, std::move(K), of_problem, outcomes.front());
    };
    auto by_domains = [&](const Problem&, Run& of_problem, std::vector<Outcome>& outcomes) {
        for (std::size_t l : {0, 1}) {
            require_semidefinite_pairs(d, kernels[l], l == 0 ? "K1" : "K2", of_problem);
        }
        domains_of_kernels(d, kernels, o, of_problem, outcomes.front());
    };
    const std::array<std::int64_t, 2> labels{0, 1};  // of the kernels, in place of rows
    solve_problems(labels.data(), 2, d, 2, o, plan, true, run, results,
                   is_by_domains(plan.accuracy) ? Solve(by_domains) : Solve(exactly));
}

}  // namespace fastfs::core
