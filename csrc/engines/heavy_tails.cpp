#include "engines/heavy_tails.hpp"

#include "support/warnings.hpp"

namespace fastfs::core {

bool has_heavy_tails(const double* values, std::int64_t n) {
    constexpr double kLimit = 3 + 2;
    double sum = 0;
    for (std::int64_t s = 0; s < n; ++s) sum += values[s] * values[s] * values[s] * values[s];
    return sum > kLimit * static_cast<double>(n);
}

void warn_of_heavy_tails(const std::vector<std::int64_t>& columns, std::int64_t n_features, const char* given) {
    constexpr std::int64_t kFewest = 2, kOneIn = 20;
    const std::int64_t n = std::ssize(columns);
    if (n < kFewest || n * kOneIn < n_features) return;
    warn("heavy_tails", {n, " of ", n_features, " features have heavy tails ", given,
                         " (an excess kurtosis above 2), for which p-values of Pearson's correlations are too small: "
                         "take Spearman's, or leave out ",
                         list_columns(columns)});
}

}  // namespace fastfs::core
