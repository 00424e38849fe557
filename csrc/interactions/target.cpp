#include "interactions/target.hpp"

#include <algorithm>
#include <utility>

#include "support/parallel.hpp"

namespace fastfs::core {

Basis make_covariates(const double* values, std::int64_t n_covariates, std::int64_t n_samples) {
    Basis covariates(n_samples);
    for (std::int64_t l = 0; l < n_covariates; ++l) {
        Numbers column(at(n_samples));
        for (std::int64_t s = 0; s < n_samples; ++s) column[at(s)] = values[s * n_covariates + l];
        covariates.add_column(std::move(column));
    }
    return covariates;
}

Basis make_target(const std::int64_t* labels, std::int64_t n_classes, const double* y, const Basis& covariates,
                  double* share) {
    const std::int64_t n = covariates.n_samples();
    Basis target(n);
    double first = 0;
    if (y) first = target.add_column(Numbers(y, y + n), &covariates);
    for (std::int64_t c = 1; labels && c < n_classes; ++c) {
        Numbers members = numbers(n);
        for (std::int64_t s = 0; s < n; ++s) members[at(s)] = labels[s] == c ? 1 : 0;
        const double length = target.add_column(std::move(members), &covariates);
        if (c == 1) first = length;
    }
    if (share) *share = first;
    return target;
}

std::vector<Basis> make_targets(const std::int64_t* labels, std::int64_t n_classes, const double* y, std::int64_t first,
                                std::int64_t count, const Basis& covariates) {
    const std::int64_t n = covariates.n_samples();
    std::vector<Basis> targets;
    for (std::int64_t b = first; b < first + count; ++b) {
        targets.push_back(
            make_target(labels ? labels + b * n : nullptr, n_classes, y ? y + b * n : nullptr, covariates));
    }
    return targets;
}

TargetMeans::TargetMeans(const StandardColumns& table, const std::vector<Basis>& targets, Run& run)
    : n_features_(table.size()) {
    for (const Basis& target : targets) n_columns_ = std::max(n_columns_, target.size());
    const auto n_labelings = static_cast<std::int64_t>(targets.size());
    means_ = Buffer<double>(n_features_ * n_columns_ * n_labelings);
    parallel_for(run, n_features_, [&](std::int64_t i, int) {
        for (std::int64_t b = 0; b < n_labelings; ++b) {
            for (std::int64_t k = 0; k < targets[at(b)].size(); ++k) {
                const double *x = table.of(i), *y = targets[at(b)].column(k);
                double sum = 0;
                for (std::int64_t s = 0; s < table.n_samples(); ++s) sum += x[s] * y[s];
                means_[(b * n_columns_ + k) * n_features_ + i] = sum / static_cast<double>(table.n_samples());
            }
        }
    });
}

}  // namespace fastfs::core
