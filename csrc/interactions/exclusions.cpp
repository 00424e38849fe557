#include "interactions/exclusions.hpp"

#include <initializer_list>

#include "support/errors.hpp"
#include "support/warnings.hpp"

namespace fastfs::core {

void warn_of_constant(const std::vector<std::int64_t>& columns, bool is_other, bool along) {
    const std::size_t n = columns.size();
    if (n == 0) return;
    warn(is_other ? "constant_in_other" : "constant",
         {n, n == 1 ? " feature of " : " features of ", is_other ? Name::of_matrix(1, "Y") : kX,
          n == 1 ? " does" : " do", " not vary given the covariates", along ? ", if any, and y, and " : " and ",
          n == 1 ? "is" : "are", " left out: ", list_columns(columns)});
}

namespace {

// A number of pairs without a test for a reason.
struct Reason {
    std::int64_t count;
    const char* words;
};

// Warns once of the pairs without a test, if there are any. first: the first of all pairs.
void warn_of_untested(const std::vector<std::pair<std::int64_t, std::int64_t>>& first,
                      std::initializer_list<Reason> reasons) {
    std::int64_t n = 0;
    Message listed;
    for (const auto& [count, words] : reasons) {
        n += count;
        if (count > 0) listed << (listed.text().empty() ? "" : ", ") << count << words;
    }
    if (n == 0) return;
    warn("untested_pairs", {n, n == 1 ? " pair has" : " pairs have", " no test and ", n == 1 ? "is" : "are",
                            " left out (", listed, "): ", list_pairs(first, n)});
}

}  // namespace

void warn_of_excluded(const std::vector<std::pair<std::int64_t, std::int64_t>>& first, bool along,
                      const fastfs_interaction_result& result) {
    warn_of_untested(first, {{result.n_copies, " of copies of each other"},
                             {result.n_products, along ? " with a product that both all but determine"
                                                       : " without all combinations of their values"},
                             {result.n_explained, " explained by the target, or explaining it"}});
}

void warn_of_excluded_snps(const std::vector<std::pair<std::int64_t, std::int64_t>>& first,
                           const fastfs_snp_pairs_result& result) {
    warn_of_untested(first, {{result.n_products, " without combinations of genotypes that single SNPs don't explain"},
                             {result.n_few, " with fewer than three residual degrees of freedom"},
                             {result.n_explained, " that determine the target"}});
}

}  // namespace fastfs::core
