#include "manifest/sums.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "engines/columns.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"
#include "support/random.hpp"

namespace fastfs::core {
namespace {

bool keeps_all(std::int64_t d, const fastfs_manifest_options& o) {
    return o.accuracy != FASTFS_MANIFEST_LOW_RANK || o.rank > d / kColumnsPerRank;
}

std::int64_t count_landmarks(std::int64_t d, const fastfs_manifest_options& o) {
    return keeps_all(d, o) ? d : kColumnsPerRank * o.rank;
}

}  // namespace

fastfs_manifest_plan ManifestSums::plan(std::int64_t d, std::int64_t n_groups, std::int64_t n_classes,
                                        const fastfs_manifest_options& o, std::int64_t n_scales, const Run& run) {
    require(o.accuracy != FASTFS_MANIFEST_LOW_RANK_HIGH,
            "accuracy must be another one than \"low_rank_high\" for rows in blocks, which give no products of "
            "kernels: choose \"low_rank\"");
    require(
        !o.custom,
        "the kernel must be the Gaussian for rows in blocks; got a custom one, which takes features: give X in memory");
    const std::int64_t m = count_landmarks(d, o);
    // Returns the bytes of a fit by domains or by landmarks.
    auto beyond = [&](const fastfs_manifest_options& form) {
        if (is_by_domains(form.accuracy)) {
            // The products of a class of one group stay in the sums.
            const std::int64_t added_up = n_groups > n_classes ? 2 : pairwise(n_classes, o.multiclass) ? 0 : 1;
            return FeatureSums::memory_of_all(d, n_groups) + added_up * PairProducts::memory(d) +
                   domains_of_products_memory(d, form, o.n_components, run);
        }
        const std::int64_t features = 3 * 8 * d * (m + 3);  // of both sides, and what they are made from
        return FeatureSums::memory(d, n_groups, m) +
               low_rank_memory(d, o.rank, landmarks_memory(d, o.rank, run.n_threads()), features, run);
    };
    const Needs needs{
        .labels = n_groups, .exact = FeatureSums::memory_of_all(d, n_groups), .gathering = 16 * d, .beyond = beyond};
    return plan_problems(d, n_classes, o, n_scales, needs, run);
}

std::int64_t ManifestSums::memory(std::int64_t d, std::int64_t n_groups, const fastfs_manifest_options& o) {
    return keeps_all(d, o) ? FeatureSums::memory_of_all(d, n_groups)
                           : FeatureSums::memory(d, n_groups, count_landmarks(d, o));
}

ManifestSums::ManifestSums(std::int64_t n_features, std::int64_t n_groups, const fastfs_manifest_options& options)
    : rank_(options.rank),
      sums_(keeps_all(n_features, options)
                ? FeatureSums(n_features, n_groups)
                : FeatureSums(n_features, n_groups,
                              Random(options.seed, ~std::uint64_t{0} - 2)
                                  .subset(n_features, count_landmarks(n_features, options)))) {}

// Returns features with the distances of a side's rows: the columns of A', with A A' the part of the products that the
// landmarks explain, and one more component per feature, which no other feature shares. Distances from landmarks are
// exact, all other distances approximate.
Features<double> ManifestSums::features_of(const Side& side, Run& run, std::int32_t& warnings) const {
    FeatureSums::Total total = sums_.total(side.rows, side.name);
    if (total.n_rows == 1) warnings |= kKernelOneSample;
    const std::vector<std::int64_t>& landmarks = sums_.landmarks();
    const std::int64_t d = n_features(), m = std::ssize(landmarks);
    Buffer<double> A(d * m);
    std::vector<std::uint8_t> lost(at(ceil_div(d, kTile)), 0);
    parallel_for(run, ceil_div(d, kTile), [&](std::int64_t task, int) {
        for (std::int64_t l = 0; l < m; ++l) {
            for (std::int64_t i = task * kTile; i < std::min((task + 1) * kTile, d); ++i) {
                A[i * m + l] = total.products[l * d + i];
                total.distance(i, landmarks[at(l)], A[i * m + l], lost[at(task)]);
            }
        }
    });
    if (std::count(lost.begin(), lost.end(), 1) > 0) warnings |= kKernelDigits;
    total.products = Buffer<double>();
    std::vector<double> own_squares;
    const std::int64_t n = factor_through_landmarks(A, landmarks, total.norms, own_squares, run);
    if (n == 0) std::fill_n(A.data(), A.size(), 0.0);
    fastfs_matrix rows{};
    rows.struct_size = sizeof rows;
    rows.storage = FASTFS_DENSE;
    rows.dtype = FASTFS_FLOAT64;
    rows.n_rows = std::max<std::int64_t>(n, 1);
    rows.n_cols = d;
    rows.values = A.data();
    rows.row_stride = 1;
    rows.col_stride = m;
    const double largest = std::sqrt(*std::max_element(total.norms.begin(), total.norms.end()));
    Features<double> features(Samples(Matrix(rows)), up_to(rows.n_rows), common_unit({largest}, {0}), Shift::kNone,
                              run);
    features.add_own(own_squares);
    return features;
}

fastfs_manifest_options ManifestSums::resolved_options(const fastfs_manifest_options& options) const {
    fastfs_manifest_options o = options;
    require(o.accuracy != FASTFS_MANIFEST_LOW_RANK_HIGH,
            "accuracy must be another one than \"low_rank_high\" for sums: choose \"low_rank\"");
    if (sums_.is_whole()) {
        require(keeps_all(n_features(), o),
                "accuracy must be \"auto\", \"exact\", \"domains\" or \"small_domains\", as these sums were made; got "
                "\"low_rank\" of rank ",
                o.rank, ": make other sums for it");
        return o;
    }
    if (o.accuracy == FASTFS_MANIFEST_AUTO) o.accuracy = FASTFS_MANIFEST_LOW_RANK;
    require(o.accuracy == FASTFS_MANIFEST_LOW_RANK,
            "accuracy must be \"auto\" or \"low_rank\", as these sums were made; got \"",
            o.accuracy == FASTFS_MANIFEST_EXACT     ? "exact"
            : o.accuracy == FASTFS_MANIFEST_DOMAINS ? "domains"
                                                    : "small_domains",
            "\": make other sums for it");
    require(o.form == FASTFS_MANIFEST_PENCIL,
            "form must be \"pencil\" for sums of accuracy=\"low_rank\": make the sums with accuracy=\"exact\"");
    require(o.rank == rank_, "rank must be ", rank_, ", as these sums were made; got ", o.rank,
            ": make other sums for it");
    return o;
}

void ManifestSums::fit(const std::int64_t* labels, std::int64_t n_classes, const fastfs_manifest_options& options,
                       const std::vector<fastfs_manifest_scale>& scales, Run& run,
                       std::vector<Owned<fastfs_manifest_result>>& results) const {
    const std::int64_t d = n_features();
    const fastfs_manifest_options resolved = resolved_options(options);
    const auto n_scales = static_cast<std::int64_t>(scales.size());
    const auto plan = ManifestSums::plan(d, n_groups(), n_classes, resolved, n_scales, run);
    const fastfs_manifest_options o = with_accuracy(resolved, plan.accuracy);
    const SingleThreadedBlas held;
    // Solves a problem by distances of all pairs, and writes its outcomes.
    auto exactly = [&](const Problem& problem, Run& of_problem, std::vector<Outcome>& outcomes) {
        of_problem.step("distances of the features", 0.05);
        std::array<Distances, 2> sides;
        for (std::size_t l : {0, 1}) {
            FeatureSums::Total total = sums_.total(problem[l].rows, problem[l].name);
            const bool lost = total.make_distances(of_problem);
            for (Outcome& outcome : outcomes) {
                if (total.n_rows == 1) outcome.kernel_flags[l] |= kKernelOneSample;
                if (lost) outcome.kernel_flags[l] |= kKernelDigits;
            }
            sides[l].D2 = std::move(total.products);
        }
        compare_distances(d, o, scales, problem, std::move(sides), of_problem, outcomes);
    };
    // Solves a problem by domains, from the products of all pairs, and writes its outcomes.
    auto by_domains = [&](const Problem& problem, Run& of_problem, std::vector<Outcome>& outcomes) {
        of_problem.step("products of the features", 0.02);
        std::array<std::shared_ptr<const PairProducts>, 2> products;
        for (std::size_t l : {0, 1}) {
            products[l] = std::make_shared<const PairProducts>(sums_.pair_products(problem[l].rows, problem[l].name));
            const bool lost = products[l]->has_lost_digits(of_problem);
            for (Outcome& outcome : outcomes) {
                if (products[l]->totals().n_rows == 1) outcome.kernel_flags[l] |= kKernelOneSample;
                if (lost) outcome.kernel_flags[l] |= kKernelDigits;
            }
        }
        domains_of_products(std::move(products), problem, {o, scales}, of_problem, outcomes);
    };
    // Solves a problem by low-rank kernels, from the products with landmarks, and writes its outcomes.
    auto by_landmarks = [&](const Problem& problem, Run& of_problem, std::vector<Outcome>& outcomes) {
        std::array<Features<double>, 2> features;
        for (std::size_t l : {0, 1}) {
            std::int32_t warnings = 0;
            features[l] = features_of(problem[l], of_problem, warnings);
            for (Outcome& outcome : outcomes) outcome.kernel_flags[l] |= warnings;
        }
        auto make = [&](std::size_t l, const fastfs_manifest_scale& scale, Buffer<double>& room, Outcome& outcome,
                        Excerpt& excerpt) {
            return low_rank_kernel(features[l], o, problem[l], l, scale, room, of_problem, outcome, excerpt);
        };
        compare_low_rank(d, scales, make, of_problem, outcomes);
    };
    solve_problems(labels, n_groups(), d, n_classes, o, plan, false, run, results,
                   is_by_domains(plan.accuracy) ? Solve(by_domains)
                   : sums_.is_whole()           ? Solve(exactly)
                                                : Solve(by_landmarks));
}

}  // namespace fastfs::core
