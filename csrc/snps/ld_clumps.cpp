#include "snps/ld_clumps.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "engines/snp_planes.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// SNPs of the ranking between two looks at the progress callback.
constexpr std::int64_t kSnpsPerLook = 64;

// Returns the squared correlation of the copies of an allele over the samples that have both genotypes, 0 if a SNP is
// constant.
double squared_correlation(const PairCounts& counts, std::int64_t k) {
    const auto n = [&](std::int64_t a, std::int64_t b) { return static_cast<double>(counts[3 * a + b][k]); };
    const double x = n(1, 0) + n(2, 0), y = n(0, 1) + n(0, 2), xx = x + 2 * n(2, 0), yy = y + 2 * n(0, 2);
    const double xy = n(1, 1) + n(1, 2) + n(2, 1) + n(2, 2), total = n(0, 0);
    const double covariance = total * xy - x * y, variances = (total * xx - x * x) * (total * yy - y * y);
    return variances > 0 ? covariance * covariance / variances : 0.0;
}

}  // namespace

void ld_clumps(const Matrix& X, const double* scores, const fastfs_ld_clumps_options& options, Run& run,
               Owned<fastfs_ld_clumps_result>& result) {
    const std::int64_t p = X.n_cols(), n = X.n_rows();
    run.require_memory(SnpPlanes::memory(p, n, true) + 64 * p + 16 * n, {"the clumping of ", p, " SNPs"},
                       "give fewer SNPs");
    // Sort SNPs along the genome, so that a window is a range.
    using Place = std::pair<std::int64_t, std::int64_t>;
    const auto place = [&](std::int64_t s) {
        return Place{options.chromosomes ? options.chromosomes[s] : 0, options.positions[s]};
    };
    std::vector<std::int64_t> columns = up_to(p), ranking = up_to(p), ranks(at(p));
    std::stable_sort(columns.begin(), columns.end(), [&](auto a, auto b) { return place(a) < place(b); });
    std::stable_sort(ranking.begin(), ranking.end(), [&](auto a, auto b) { return scores[a] > scores[b]; });
    for (std::int64_t i = 0; i < p; ++i) ranks[at(columns[at(i)])] = i;

    const Genotypes genotypes(X, columns);
    run.step("packing", 0.3);
    const auto facts = genotypes.facts(run);
    const bool some_missing = std::any_of(facts.begin(), facts.end(), [](const auto& fact) { return fact.missing; });
    SnpPlanes planes(p, some_missing);
    planes.set_samples(genotypes, up_to(n).data(), n);
    parallel_for(run, SnpPlanes::n_groups(p), [&](std::int64_t group, int) { planes.pack_group(genotypes, group); });

    run.step("clumps", 1.0);
    result.set(result.clumps, std::vector<std::int64_t>(at(p), -1));
    std::vector<std::int64_t> leads;
    PairCounts counts;
    for (std::int64_t r = 0; r < p; ++r) {
        if (r % kSnpsPerLook == 0) run.checkpoint(share(r, p));
        const std::int64_t lead = ranking[at(r)], clump = std::ssize(leads);
        if (result.clumps[lead] >= 0) continue;
        if (options.n_clumps > 0 && clump == options.n_clumps) break;
        leads.push_back(lead);
        result.clumps[lead] = clump;
        const auto [chromosome, position] = place(lead);
        const auto first =
            std::partition_point(columns.begin(), columns.end(), [&, c = chromosome, x = position](auto s) {
                return place(s) < Place{c, std::max(x, options.window) - options.window};
            });
        const auto last = std::partition_point(first, columns.end(), [&, c = chromosome, x = position](auto s) {
            return place(s) <= Place{c, x + options.window};
        });
        const std::int64_t begin = first - columns.begin(), end = last - columns.begin();
        for (std::int64_t j0 = begin / kSnpUnit * kSnpUnit; j0 < end; j0 += kTableSnps) {
            const std::int64_t width = std::min(kTableSnps, end - j0);
            const auto is_free = [&](std::int64_t j) { return j >= begin && result.clumps[columns[at(j)]] < 0; };
            bool any = false;
            for (std::int64_t j = j0; j < j0 + width; ++j) any = any || is_free(j);
            if (!any) continue;
            planes.count_pairs(ranks[at(lead)], j0, width, some_missing, nullptr, &counts);
            for (std::int64_t j = j0; j < j0 + width; ++j) {
                if (is_free(j) && squared_correlation(counts, j - j0) > options.r2) {
                    result.clumps[columns[at(j)]] = clump;
                }
            }
        }
    }
    result.n_clumps = std::ssize(leads);
    result.set(result.leads, std::move(leads));
    run.checkpoint(1.0);
}

}  // namespace fastfs::core
