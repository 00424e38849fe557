#include "interactions/standard_columns.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engines/feature_rows.hpp"
#include "engines/heavy_tails.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// The mean square of a column, 1 in all, below which what covariates leave of it is rounding.
constexpr double kLeastRest = 1e-10;

// The largest slope of a log-variance per deviation of the target, the change of the slope at which the iteration ends,
// and the most steps, which a slope takes in vain only if rounding keeps it from settling.
constexpr double kMostSlope = 4, kSettled = 1e-12;
constexpr int kMostSteps = 50;

// The slope of a log-variance that counts as flat, and the most rounds until then.
constexpr double kFlat = 1e-9;
constexpr int kMostRounds = 20;

// Returns the quantile of the standard normal distribution at p, 0 < p <= 1/2, by Newton's method. The distribution
// function is convex there: the first step goes beyond the root, and from there on the steps lead down to it.
double lower_quantile(double p) {
    const auto step = [p](double x) {
        const double excess = std::erfc(-x / std::numbers::sqrt2) / 2 - p;
        return x - excess * std::sqrt(2 * std::numbers::pi) * std::exp(x * x / 2);
    };
    // The distribution function is at most exp(-x^2 / 2) / 2, so this start isn't above the root.
    double x = std::min(step(-std::sqrt(std::max(0.0, -2 * std::log(2 * p)))), 0.0);
    for (double next; (next = step(x)) < x;) x = next;
    return x;
}

// Replaces ranks by normal scores.
void replace_by_scores(Numbers& ranks) {
    const auto n = static_cast<double>(ranks.size());
    for (double& rank : ranks) {
        const double below = (rank - 0.5) / n, above = (n - rank + 0.5) / n;
        rank = below <= above ? lower_quantile(below) : -lower_quantile(above);
    }
}

// Returns the slope b of the log-variance along t that is most likely for normal residuals e, cut to +-kMostSlope:
// the least log(mean(e^2 exp(-b t))), a convex function, for t of mean 0, by Newton's method.
double slope_of_log_variance(const Numbers& e, const double* t) {
    double slope = 0;
    for (int step = 0; step < kMostSteps; ++step) {
        double total = 0, first = 0, second = 0;
        for (std::size_t s = 0; s < e.size(); ++s) {
            const double weight = e[s] * e[s] * std::exp(-slope * t[s]);
            total += weight;
            first += weight * t[s];
            second += weight * t[s] * t[s];
        }
        const double mean = first / total, variance = second / total - mean * mean;
        const double change = variance > 0 ? std::clamp(mean / variance, -1.0, 1.0) : std::copysign(1.0, mean);
        const double next = std::clamp(slope + change, -kMostSlope, kMostSlope);
        if (std::abs(next - slope) <= kSettled) return next;
        slope = next;
    }
    return slope;
}

// Takes from standardised values what the covariates and the target explain of their mean, divides them by the
// deviation that follows the target, and standardises them again, until that deviation is flat. Returns false if only
// rounding is left.
bool standardise_along(const Basis& covariates, const Basis& target, Numbers& values) {
    const double* t = target.column(0);
    for (int round = 0; round < kMostRounds; ++round) {
        for (int pass = 0; pass < 2; ++pass) {  // the first one leaves rounding errors, large against a small rest
            covariates.take_from(values.data());
            target.take_from(values.data());
        }
        double square = 0;
        for (const double value : values) square += value * value;
        if (!(square > kLeastRest * static_cast<double>(values.size())) || !standardise(values)) return false;
        const double slope = slope_of_log_variance(values, t);
        if (std::abs(slope) <= kFlat) break;
        for (std::size_t s = 0; s < values.size(); ++s) values[s] *= std::exp(-slope * t[s] / 2);
        if (!standardise(values)) return false;
    }
    return true;
}

}  // namespace

StandardColumns::StandardColumns(const Matrix& X, const std::vector<std::int64_t>& wanted, bool ranks,
                                 const Basis& covariates, const Basis* along, Run& run)
    : n_samples_(X.n_rows()),
      n_covariates_(covariates.size()),
      values_(static_cast<std::int64_t>(wanted.size()) * X.n_rows()) {
    read_feature_rows(X, wanted, values_.data(), run);
    const auto n_wanted = static_cast<std::int64_t>(wanted.size());
    Numbers means = numbers(n_wanted * n_covariates_), rests = numbers(n_wanted);
    std::vector<char> is_heavy(wanted.size());
    parallel_for(run, n_wanted, [&](std::int64_t i, int) {
        double* row = values_.data() + i * n_samples_;
        Numbers values(row, row + n_samples_);
        const bool is_tied = along && most_equal(values) > 0;
        if (ranks) replace_by_ranks(values);
        if (ranks) replace_by_scores(values);
        if (!standardise(values) || (along && !standardise_along(covariates, *along, values))) return;
        std::copy(values.begin(), values.end(), row);
        rests[at(i)] = measure_rest(row, covariates, means.data() + i * n_covariates_);
        is_heavy[at(i)] = along && !ranks && !is_tied && has_heavy_tails(row, n_samples_);
    });
    for (std::int64_t i = 0; i < n_wanted; ++i) {
        if (rests[at(i)] == 0) {
            constant.push_back(wanted[at(i)]);
            continue;
        }
        std::copy_n(values_.data() + i * n_samples_, n_samples_, values_.data() + size() * n_samples_);
        with_covariates_.insert(with_covariates_.end(), means.begin() + i * n_covariates_,
                                means.begin() + (i + 1) * n_covariates_);
        rest_.push_back(rests[at(i)]);
        columns.push_back(wanted[at(i)]);
        if (is_heavy[at(i)]) heavy.push_back(wanted[at(i)]);
    }
}

// Writes the mean products of a column with the covariates to `means`; returns the mean square that they leave, or 0 if
// it is rounding.
double StandardColumns::measure_rest(const double* row, const Basis& covariates, double* means) const {
    double rest = 1;
    for (std::int64_t l = 0; l < n_covariates_; ++l) {
        const double* z = covariates.column(l);
        double sum = 0;
        for (std::int64_t s = 0; s < n_samples_; ++s) sum += row[s] * z[s];
        means[l] = sum / static_cast<double>(n_samples_);
        rest -= means[l] * means[l];
    }
    return rest > kLeastRest ? rest : 0;
}

StandardColumns StandardColumns::along(const Basis& covariates, const Basis& target, Run& run) const {
    StandardColumns moved(n_samples_, n_covariates_);
    moved.columns = columns;
    moved.values_ = Buffer<double>(size() * n_samples_);
    moved.with_covariates_ = numbers(size() * n_covariates_);
    moved.rest_ = numbers(size());
    parallel_for(run, size(), [&](std::int64_t i, int) {
        Numbers values(of(i), of(i) + n_samples_);
        double* row = moved.values_.data() + i * n_samples_;
        const bool varies = standardise_along(covariates, target, values);
        for (std::int64_t s = 0; s < n_samples_; ++s) row[s] = varies ? values[at(s)] : 0;
        if (varies)
            moved.rest_[at(i)] = measure_rest(row, covariates, moved.with_covariates_.data() + i * n_covariates_);
    });
    return moved;
}

void StandardColumns::write_panels(std::int64_t i0, std::int64_t count, std::int64_t s, std::int64_t n,
                                   const double* factors, double* panels, double* squares) const {
    constexpr std::int64_t K = kPanel<double>;
    for (std::int64_t panel = 0; panel < ceil_div(count, K); ++panel) {
        double* to = panels + panel * n * K;
        double* to_squares = squares ? squares + panel * n * K : nullptr;
        for (std::int64_t k = 0; k < K; ++k) {
            const std::int64_t i = panel * K + k;
            const double* x = i < count ? of(i0 + i) + s : nullptr;
            for (std::int64_t t = 0; t < n; ++t) {
                const double value = x ? x[t] : 0;
                to[t * K + k] = factors ? value * factors[s + t] : value;
                if (to_squares) to_squares[t * K + k] = value * value;
            }
        }
    }
}

}  // namespace fastfs::core
