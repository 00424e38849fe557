#include "interactions/exclusions.hpp"

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

void warn_of_excluded(const std::vector<std::pair<std::int64_t, std::int64_t>>& first, bool along,
                      const fastfs_interaction_result& result) {
    const std::int64_t n = result.n_copies + result.n_products + result.n_explained;
    if (n == 0) return;
    Message reasons;
    const auto add = [&](std::int64_t count, const char* reason) {
        if (count > 0) reasons << (reasons.text().empty() ? "" : ", ") << count << reason;
    };
    add(result.n_copies, " of copies of each other");
    add(result.n_products,
        along ? " with a product that both all but determine" : " without all combinations of their values");
    add(result.n_explained, " explained by the target, or explaining it");
    warn("untested_pairs", {n, n == 1 ? " pair has" : " pairs have", " no test and ", n == 1 ? "is" : "are",
                            " left out (", reasons, "): ", list_pairs(first, n)});
}

}  // namespace fastfs::core
