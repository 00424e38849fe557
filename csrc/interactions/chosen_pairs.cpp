#include "interactions/chosen_pairs.hpp"

#include <algorithm>

#include "support/index.hpp"

namespace fastfs::core {
namespace {

// Returns the columns of a table in ascending order, each once.
std::vector<std::int64_t> distinct(std::vector<std::int64_t> columns) {
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    return columns;
}

}  // namespace

WantedColumns wanted_columns(const Matrix& X, const Matrix* other, const fastfs_interaction_options& options) {
    WantedColumns wanted{up_to(X.n_cols()), up_to(other ? other->n_cols() : 0)};
    auto& [of_X, of_other] = wanted;
    if (options.features) of_X.assign(options.features, options.features + options.n_features);
    const std::int64_t *first = options.first_of_pairs, *second = options.second_of_pairs;
    if (!first) return wanted;
    const std::vector<std::int64_t> partners(second, second + options.n_chosen);
    of_X.assign(first, first + options.n_chosen);
    if (other) {
        of_other = distinct(partners);
    } else {
        of_X.insert(of_X.end(), partners.begin(), partners.end());
    }
    of_X = distinct(std::move(of_X));
    return wanted;
}

PairList places_of_pairs(const fastfs_interaction_options& options, const StandardColumns& left,
                         const StandardColumns& right) {
    const auto place = [](const StandardColumns& table, std::int64_t column) {
        const auto found = std::lower_bound(table.columns.begin(), table.columns.end(), column);
        return found != table.columns.end() && *found == column ? found - table.columns.begin() : -1;
    };
    PairList pairs;
    for (std::int64_t k = 0; k < options.n_chosen; ++k) {
        const std::int64_t i = place(left, options.first_of_pairs[k]), j = place(right, options.second_of_pairs[k]);
        if (i >= 0 && j >= 0) pairs.emplace_back(i, j);
    }
    return pairs;
}

}  // namespace fastfs::core
