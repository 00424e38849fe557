#include "margin/margin.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "margin/data_warnings.hpp"
#include "support/errors.hpp"

namespace fastfs::core {

Margin::Margin(const Matrix& X, const fastfs_margin_options& options, Run& run) : X_(X), options_(options) {
    const std::int64_t n = X_.n_rows();
    if (options.levels) {
        levels_.assign(options.levels, options.levels + X_.n_cols());
        options_.levels = levels_.data();
    }
    const bool keep = options.keep != FASTFS_KEEP_NONE && !options.distances;
    const bool stores = keep && run.allows(stored_distances_memory(n));
    if (run.is_question()) {
        const bool gaps = options.missing != FASTFS_MISSING_ERROR;
        run.require_memory(80 * X_.n_cols() + 32 * n + Differences::memory(X_, scales_, gaps, run.n_threads()) +
                               (stores ? stored_distances_memory(n) + (X_.is_genotypes() && gaps ? n * n * 4 : 0) : 0),
                           "scaling features");
    }
    // Without distances, scaling is the short beginning of fits, which report from 0 on: shares never go back.
    run.step("scaling features", keep ? 0.1 : 0.0);
    on_bits_ = Differences::computes_on_bits(X_, options);
    scales_ = on_bits_ ? find_varying(X_, options.missing != FASTFS_MISSING_ERROR, run)
                       : find_scales(X_, static_cast<Scaling>(options.scaling), run,
                                     {.missing = options.missing != FASTFS_MISSING_ERROR,
                                      .levels = options.levels,
                                      .weights = options.sample_weights,
                                      .deviations = options.ramp == FASTFS_RAMP_DEVIATION});
    sample_weights_ =
        options.sample_weights ? Numbers(options.sample_weights, options.sample_weights + n) : Numbers(at(n), 1.0);
    differences_ = std::make_unique<Differences>(X_, scales_, options_, varying(), nullptr, run);
    for (std::int64_t r = 0; r < n && differences_->has_gaps(); ++r) {
        if (differences_->n_missing(r) < differences_->n_features()) continue;
        refuse({"every sample must have a value of a feature that varies; got none in ", Name::row(r), ": drop it"});
    }
    if (!stores) return;
    keep_ = options.keep == FASTFS_KEEP_MANHATTAN ? Keep::kManhattan : Keep::kSquaredEuclidean;
    distances_ = Buffer<double>(n * n);
    keep_distances(run);
}

// Sets distances_ to the distances between all samples, over the columns in use.
void Margin::keep_distances(Run& run) {
    const std::int64_t n = X_.n_rows();
    run.step("distances between samples", 1.0);
    std::vector<std::int64_t> rows(at(n));
    std::iota(rows.begin(), rows.end(), std::int64_t{0});
    differences_->distances(differences_->targets(std::move(rows), run), 0, n, keep_ == Keep::kSquaredEuclidean,
                            distances_.data(), n, run);
    n_computed_ = differences_->n_features();
    rounding_ = 0;
}

bool Margin::is_plain() const {
    return !X_.is_sparse() && scales_.incomplete.empty() && !options_.levels && options_.ramp == FASTFS_RAMP_NONE &&
           !options_.distances;
}

void Margin::warn(const Classes& classes, bool skips_targets) const {
    warn_of_data(classes.sizes(), scales_.uneven, skips_targets);
}

std::vector<std::int64_t> Margin::varying() const {
    std::vector<std::int64_t> columns;
    for (std::int64_t c = 0; c < X_.n_cols(); ++c) {
        if (scales_.factor[at(c)] != 0) columns.push_back(c);
    }
    return columns;
}

ScaledFeatures Margin::features() const { return features(X_); }

ScaledFeatures Margin::features(const Matrix& other) const { return features(other, varying()); }

ScaledFeatures Margin::features(const Matrix& other, std::vector<std::int64_t> columns) const {
    ScaledFeatures scaled{&other, std::move(columns)};
    for (const auto c : scaled.features) {
        scaled.shift.push_back(scales_.shift[at(c)]);
        scaled.factor.push_back(scales_.factor[at(c)]);
    }
    return scaled;
}

const double* Margin::kept(Difference difference) const {
    return restricted_ || options_.distances ? nullptr : stored_distances(difference == Difference::kSquared);
}

const double* Margin::stored_distances(bool squared) const {
    if (options_.distances && !squared) return options_.distances;
    return keep_ == (squared ? Keep::kSquaredEuclidean : Keep::kManhattan) ? distances_.data() : nullptr;
}

std::unique_ptr<ExpectedDifferences> Margin::expected(const Classes& classes) const {
    if (!expects_missing()) return nullptr;
    return std::make_unique<ExpectedDifferences>(X_, scales_, options_.levels, sample_weights_, classes,
                                                 differences_->columns(), feature_weights_);
}

void Margin::restrict_to_columns(const std::vector<std::int64_t>& columns, const double* weights, Run& run) {
    std::vector<std::int64_t> used;
    Numbers weights_used;
    for (std::size_t k = 0; k < columns.size(); ++k) {
        if (scales_.factor[at(columns[k])] == 0) continue;
        used.push_back(columns[k]);
        if (weights) weights_used.push_back(weights[k]);
    }
    const bool weighs = weights == nullptr ||
                        std::any_of(weights_used.begin(), weights_used.end(), [](double weight) { return weight > 0; });
    require(!used.empty() && weighs, "features must name one that varies and has weight; got none: name others");
    // Makes the new differences before anything is given up, because memory may run out here.
    auto before =
        std::make_unique<Differences>(X_, scales_, options_, used, weights ? weights_used.data() : nullptr, run);
    before.swap(differences_);
    if (keep_ != Keep::kNone) {
        std::vector<std::int64_t> gone;
        std::set_difference(before->columns().begin(), before->columns().end(), used.begin(), used.end(),
                            std::back_inserter(gone));
        const bool plain = !weights && feature_weights_.empty() && !before->ignores_gaps() && !X_.is_sparse();
        try {
            update_distances(*before, gone, plain, run);
        } catch (...) {
            before.swap(differences_);
            keep_ = Keep::kNone;  // the distances are half updated
            distances_ = {};
            rounding_ = 0;
            throw;
        }
    }
    feature_weights_ = weights_used;
    restricted_ = true;
}

void Margin::update_distances(const Differences& before, const std::vector<std::int64_t>& gone, bool plain, Run& run) {
    // Repeated subtraction loses digits: float sums have errors of 1e-4 if 1 % of the features is left.
    const std::int64_t n = X_.n_rows(), left = differences_->n_features();
    const bool subset = before.n_features() == left + static_cast<std::int64_t>(gone.size());
    const bool exact = (on_bits_ && keep_ == Keep::kManhattan) ||
                       differences_->adds_doubles(keep_ == Keep::kSquaredEuclidean) || left * 8 >= n_computed_;
    if (plain && subset && exact && static_cast<std::int64_t>(gone.size()) < left) {
        if (gone.empty()) return;
        run.step("distances between samples", 1.0);
        if (rounding_ == 0) rounding_ = 1e-12 * *std::max_element(distances_.data(), distances_.data() + n * n);
        const Differences removed(X_, scales_, options_, gone, nullptr, run);
        std::vector<std::int64_t> rows(at(n));
        std::iota(rows.begin(), rows.end(), std::int64_t{0});
        removed.distances(differences_->targets(std::move(rows), run), 0, n, keep_ == Keep::kSquaredEuclidean,
                          distances_.data(), n, run, Into::kSubtract);
    } else {
        keep_distances(run);
    }
}

}  // namespace fastfs::core
