#include "manifest/sums.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
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
    return o.accuracy == FASTFS_MANIFEST_EXACT || o.rank > d / kColumnsPerRank;
}

std::int64_t count_landmarks(std::int64_t d, const fastfs_manifest_options& o) {
    return keeps_all(d, o) ? d : kColumnsPerRank * o.rank;
}

}  // namespace

fastfs_manifest_plan ManifestSums::plan(std::int64_t d, std::int64_t n_groups, std::int64_t n_classes,
                                        const fastfs_manifest_options& o, std::int64_t n_scales,
                                        std::int64_t n_components, const Run& run) {
    require(o.accuracy != FASTFS_MANIFEST_DOMAINS,
            "accuracy=\"domains\" takes the features themselves, not sums over blocks of rows: choose "
            "accuracy=\"low_rank\", or give X in memory");
    require(o.accuracy != FASTFS_MANIFEST_LOW_RANK_HIGH,
            "accuracy=\"low_rank_high\" multiplies kernels, which sums over blocks of rows don't give: choose "
            "accuracy=\"low_rank\"");
    require(!o.custom,
            "a kernel of your own takes the features themselves, not sums over blocks of rows: take the "
            "Gaussian kernel, or give X in memory");
    const bool only_exact = keeps_all(d, o) || o.form != FASTFS_MANIFEST_PENCIL;
    require(d <= kMostExactFromSums || !only_exact,
            "the exact form keeps the products of all pairs of features, which blocks ", "of rows have for at most ",
            kMostExactFromSums, " features, but X has ", d,
            ": choose accuracy=\"low_rank\" with form=\"pencil\" and a rank of at most a quarter of the features");
    const std::int64_t m = count_landmarks(d, o);
    auto low_rank = [&](std::int32_t) {
        const std::int64_t features = 3 * 8 * d * (m + 3);  // of both sides, and what they are made from
        return FeatureSums::memory(d, n_groups, m) +
               low_rank_memory(d, o.rank, landmarks_memory(d, o.rank, run.n_threads()), features, run);
    };
    const Needs needs{.labels = n_groups,
                      .exact = FeatureSums::memory_of_all(d, n_groups),
                      .gathering = 16 * d,
                      .beyond = low_rank,
                      .most_exact = kMostExactFromSums,
                      .accuracy_beyond = FASTFS_MANIFEST_LOW_RANK};
    return plan_problems(d, n_classes, o, n_scales, n_components, needs, run);
}

std::int64_t ManifestSums::memory(std::int64_t d, std::int64_t n_groups, const fastfs_manifest_options& o) {
    return keeps_all(d, o) ? FeatureSums::memory_of_all(d, n_groups)
                           : FeatureSums::memory(d, n_groups, count_landmarks(d, o));
}

std::int32_t ManifestSums::resolve_accuracy(std::int64_t d, std::int64_t n_groups, const fastfs_manifest_options& o,
                                            const Run& run) {
    if (o.accuracy != FASTFS_MANIFEST_AUTO) return o.accuracy;
    fastfs_run limits = FASTFS_RUN_INIT;  // without the question that this call may be
    limits.n_threads = run.n_threads();
    limits.max_memory = run.max_memory();
    return plan(d, n_groups, 2, o, 1, 0, Run(limits)).accuracy;
}

ManifestSums::ManifestSums(std::int64_t n_features, std::int64_t n_groups, const fastfs_manifest_options& options)
    : exact_(keeps_all(n_features, options)),
      rank_(options.rank),
      sums_(exact_ ? FeatureSums(n_features, n_groups)
                   : FeatureSums(n_features, n_groups,
                                 Random(options.seed, ~std::uint64_t{0} - 2)
                                     .subset(n_features, count_landmarks(n_features, options)))) {}

// Makes features with the distances of a side's rows: the columns of A', with A A' the part of the products that the
// landmarks explain, and for each feature one more component that no other feature shares. Distances from landmarks are
// exact, all others approximate.
Features<double> ManifestSums::features_of(const Side& side, Run& run, std::int32_t& warnings) const {
    FeatureSums::Total total = sums_.total(side.rows, side.name);
    if (total.n_rows == 1) warnings |= FASTFS_MANIFEST_WARN_ONE_SAMPLE;
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
    if (std::count(lost.begin(), lost.end(), 1) > 0) warnings |= FASTFS_MANIFEST_WARN_DIGITS;
    total.products = Buffer<double>();
    std::vector<double> own;
    const std::int64_t n = through_landmarks(A, landmarks, total.norms, own, run);
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
    features.add_own(own);
    return features;
}

fastfs_manifest_options ManifestSums::resolve(const fastfs_manifest_options& options) const {
    fastfs_manifest_options o = options;
    const char* made_for = exact_ ? "exact" : "low_rank";
    const bool open = o.accuracy == FASTFS_MANIFEST_AUTO;
    if (open) o.accuracy = exact_ ? FASTFS_MANIFEST_EXACT : FASTFS_MANIFEST_LOW_RANK;
    require(o.accuracy == FASTFS_MANIFEST_EXACT || o.accuracy == FASTFS_MANIFEST_LOW_RANK,
            "accuracy must be \"auto\" or \"", made_for, "\", which these sums were made for, not \"low_rank_high\"");
    require(exact_ || o.form == FASTFS_MANIFEST_PENCIL,
            "form must be \"pencil\" for sums of accuracy=\"low_rank\": make the sums with accuracy=\"exact\"");
    require(exact_ || o.accuracy == FASTFS_MANIFEST_LOW_RANK,
            "accuracy must be \"auto\" or \"low_rank\", which these sums ",
            "were made for, not \"exact\": make other sums for that");
    require(exact_ || o.rank == rank_, "rank must be ", rank_, ", which these sums were made for, not ", o.rank);
    require(!exact_ || keeps_all(n_features(), o), "accuracy must be \"auto\" or \"exact\", which these sums were ",
            "made for, not \"low_rank\" of rank ", o.rank, ": make other sums for that");
    return o;
}

void ManifestSums::fit(const std::int64_t* labels, std::int64_t n_classes, const fastfs_manifest_options& options,
                       const std::vector<fastfs_manifest_scale>& scales, Run& run,
                       const std::vector<fastfs_manifest_result>& results) const {
    const std::int64_t d = n_features();
    const fastfs_manifest_options o = resolve(options);
    const auto plan = ManifestSums::plan(d, n_groups(), n_classes, o, static_cast<std::int64_t>(scales.size()),
                                         results.front().n_components, run);
    const SingleThreadedBlas held;
    auto exactly = [&](const Problem& problem, Run& of_problem, std::vector<Outcome>& outcomes) {
        of_problem.step("distances of the features", 0.05);
        std::array<Distances, 2> sides;
        for (std::size_t l : {0, 1}) {
            FeatureSums::Total total = sums_.total(problem[l].rows, problem[l].name);
            const bool lost = total.make_distances(of_problem);
            for (Outcome& outcome : outcomes) {
                if (total.n_rows == 1) outcome.kernel_warnings[l] |= FASTFS_MANIFEST_WARN_ONE_SAMPLE;
                if (lost) outcome.kernel_warnings[l] |= FASTFS_MANIFEST_WARN_DIGITS;
            }
            sides[l].D2 = std::move(total.products);
        }
        compare_distances(d, o, scales, problem, std::move(sides), of_problem, outcomes);
    };
    auto by_landmarks = [&](const Problem& problem, Run& of_problem, std::vector<Outcome>& outcomes) {
        std::array<Features<double>, 2> features;
        for (std::size_t l : {0, 1}) {
            std::int32_t warnings = 0;
            features[l] = features_of(problem[l], of_problem, warnings);
            for (Outcome& outcome : outcomes) outcome.kernel_warnings[l] |= warnings;
        }
        auto make = [&](std::size_t l, const fastfs_manifest_scale& scale, Buffer<double>& room, Outcome& outcome,
                        Excerpt& excerpt) {
            return low_rank_kernel(features[l], o, problem[l], l, scale, room, of_problem, outcome, excerpt);
        };
        compare_low_rank(d, scales, make, of_problem, outcomes);
    };
    solve_problems(labels, n_groups(), d, n_classes, o, plan.n_problems, run, results,
                   exact_ ? Solve(exactly) : Solve(by_landmarks));
}

}  // namespace fastfs::core
