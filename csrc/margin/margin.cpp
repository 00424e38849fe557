#include "margin/margin.hpp"

#include <utility>

#include "support/index.hpp"

namespace fastfs::core {

Margin::Margin(const Matrix& X, Scaling scaling, Keep keep, Run& run) : X_(X), keep_(Keep::kNone) {
    const std::int64_t n = X_.n_rows();
    if (run.is_question()) {
        const bool kept = keep != Keep::kNone && run.allows(stored_distances_memory(n));
        run.require_memory(80 * X_.n_cols() + (kept ? stored_distances_memory(n) : 0), "scaling features",
                           "raise max_memory (or FASTFS_MAX_MEMORY)");
    }
    run.step("scaling features", keep == Keep::kNone ? 1.0 : 0.1);
    scales_ = find_scales(X_, scaling, run);

    if (keep == Keep::kNone || !run.allows(stored_distances_memory(n))) return;
    run.step("distances between samples", 1.0);
    distances_ = Buffer<double>(n * n);
    const auto data = features();
    const auto difference = keep == Keep::kManhattan ? Difference::kAbsolute : Difference::kSquared;
    visit_dense(X_.description(), [&]<class T>(const T*) {
        pair_sums<T>(data, 0, n, data, 0, n, difference, distances_.data(), n, run);
    });
    keep_ = keep;
}

int Margin::warnings(const Classes& classes) const {
    return (scales_.uneven ? FASTFS_MARGIN_UNEVEN : 0) | (classes.smallest() == 1 ? FASTFS_MARGIN_ONE_SAMPLE : 0);
}

ScaledFeatures Margin::features() const { return features(X_); }

ScaledFeatures Margin::features(const Matrix& other) const {
    std::vector<std::int64_t> varying;
    for (std::size_t c = 0; c < scales_.factor.size(); ++c) {
        if (scales_.factor[c] != 0) varying.push_back(static_cast<std::int64_t>(c));
    }
    return features(other, std::move(varying));
}

ScaledFeatures Margin::features(const Matrix& other, std::vector<std::int64_t> columns) const {
    ScaledFeatures scaled{&other, std::move(columns), {}, {}};
    for (const auto c : scaled.features) {
        scaled.shift.push_back(scales_.shift[at(c)]);
        scaled.factor.push_back(scales_.factor[at(c)]);
    }
    return scaled;
}

const double* Margin::kept(Difference difference) const {
    const auto wanted = difference == Difference::kAbsolute ? Keep::kManhattan : Keep::kSquaredEuclidean;
    return keep_ == wanted ? distances_.data() : nullptr;
}

}  // namespace fastfs::core
