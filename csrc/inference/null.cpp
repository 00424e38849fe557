#include "inference/null.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>

#include "inference/stability.hpp"
#include "support/errors.hpp"
#include "support/warnings.hpp"

namespace fastfs::core {

namespace {

// Scores that differ by less than kRounding times the largest score are ties, too: a feature without any relation to
// other features has scores around 1e-17 instead of 0.
constexpr double kRounding = 1e-14;

// A test stops when kToStop statistics have reached the true one; kForScale labelings before give z its scale.
constexpr std::int64_t kToStop = 10, kForScale = 49;

// Number of labelings that z of skewed scores needs.
constexpr std::int64_t kForSkewed = 999;

double largest_magnitude(const Numbers& values) {
    double most = 0;
    for (const double value : values) most = std::max(most, std::abs(value));
    return most;
}

// Returns for each score the smallest value that counts as at least as large: a little below the score, for rounding
// errors.
Numbers tie_limits(const Numbers& scores) {
    const double rounding = kRounding * largest_magnitude(scores);
    Numbers limits = scores;
    for (double& limit : limits) limit -= std::max(kStatisticTie * std::abs(limit), rounding);
    return limits;
}

// Returns the smallest standardized value of each feature that counts as at least as large as z of its true score.
// limits: tie_limits of the scores; spread: the divisor of each score in z, or null for 1.
Numbers standardized_limits(const Numbers& z, const Numbers& scores, const Numbers& limits, const Numbers* spread) {
    Numbers found = z;
    for (std::size_t k = 0; k < z.size(); ++k) {
        found[k] -= std::max(kStatisticTie * std::abs(z[k]), (scores[k] - limits[k]) / (spread ? (*spread)[k] : 1.0));
    }
    return found;
}

// Returns the p-values in their order, adjusted to bound the share of false discoveries: by Benjamini-Hochberg, or
// Benjamini-Yekutieli.
Numbers adjust_pvalues(const Numbers& pvalues, std::int32_t fdr) {
    const auto m = static_cast<std::int64_t>(pvalues.size());
    auto order = up_to(m);
    std::sort(order.begin(), order.end(),
              [&](std::int64_t a, std::int64_t b) { return pvalues[at(a)] < pvalues[at(b)]; });
    double factor = fdr == FASTFS_FDR_BH ? 1 : 0;
    for (std::int64_t i = m; fdr == FASTFS_FDR_BY && i > 0; --i) factor += 1 / static_cast<double>(i);
    Numbers found = numbers(m);
    double least = 1;
    for (std::int64_t i = m; i-- > 0;) {
        const double scaled = pvalues[at(order[at(i)])] * (static_cast<double>(m) / static_cast<double>(i + 1));
        least = std::min(least, scaled * factor);
        found[at(order[at(i)])] = least;
    }
    return found;
}

// Returns the median; of an even number of values the mean of the two in the middle.
double median(Numbers values) {
    if (values.empty()) return 0;
    const std::size_t half = values.size() / 2;
    std::sort(values.begin(), values.end());
    return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::string with_decimals(double value, int n) {
    char digits[400];
    std::snprintf(digits, sizeof digits, "%.*f", n, value);
    return digits;
}

}  // namespace

ScoreSums::ScoreSums(const Numbers& scores)
    : first_(scores.size()), second_(scores.size()), third_(scores.size()), largest_(scores) {
    for (double& value : largest_) value = std::abs(value);
}

// Adds the row's differences from the first row, their squares and their cubes to the sums, and raises the largest
// magnitudes.
void ScoreSums::add_scores(const double* row) {
    if (n_++ == 0) about_.assign(row, row + largest_.size());
    for (std::size_t k = 0; k < largest_.size(); ++k) {
        const double difference = row[k] - about_[k];
        const double square = difference * difference;
        first_[k] += difference;
        second_[k] += square;
        third_[k] += square * difference;
        largest_[k] = std::max(largest_[k], std::abs(row[k]));
    }
}

// Returns mean and standard deviation per feature, with the true scores counted as a row if with_true; infinity for a
// spread that is rounding error.
ScoreScale ScoreSums::find_scale(const Numbers& scores, bool with_true) const {
    const double n = static_cast<double>(n_ + with_true), rounding = kRounding * largest_magnitude(scores);
    ScoreScale found{about_, Numbers(scores.size())};
    for (std::size_t k = 0; k < scores.size(); ++k) {
        const double difference = with_true ? scores[k] - about_[k] : 0;
        const double mean = (first_[k] + difference) / n;
        const double sd = std::sqrt(std::max((second_[k] + difference * difference) / n - mean * mean, 0.0));
        found.center[k] += mean;
        const bool is_constant = sd <= std::max(kStatisticTie * largest_[k], rounding);
        found.spread[k] = is_constant ? std::numeric_limits<double>::infinity() : sd;
    }
    return found;
}

bool ScoreSums::is_finite() const {
    return std::all_of(third_.begin(), third_.end(), [](double sum) { return std::isfinite(sum); });
}

Numbers ScoreSums::means() const {
    Numbers found = about_;
    for (std::size_t k = 0; k < found.size(); ++k) found[k] += first_[k] / static_cast<double>(n_);
    return found;
}

// Returns the skewness of the rows, feature by feature; 0 for constant ones. scores: the true scores, for the rounding
// of find_scale().
Numbers ScoreSums::skewness(const Numbers& scores) const {
    const Numbers spread = find_scale(scores, false).spread;
    const auto n = static_cast<double>(n_);
    Numbers found(scores.size());
    for (std::size_t k = 0; k < found.size(); ++k) {
        const double first = first_[k] / n, second = second_[k] / n, third = third_[k] / n;
        found[k] = (third - 3 * first * second + 2 * std::pow(first, 3)) / std::pow(spread[k], 3);
    }
    return found;
}

Null::Null(const Design& design, const fastfs_null_options& o, const Run& run)
    : scores_(o.scores, o.scores + o.n_features),
      limits_(tie_limits(scores_)),
      statistic_(std::isnan(o.statistic) ? *std::max_element(scores_.begin(), scores_.end()) : o.statistic),
      is_z_(o.by_score == 0),
      ranks_by_z_(o.ranks_by_z != 0),
      fdr_(o.fdr),
      method_(o.method_name ? o.method_name : "the method"),
      is_exact_(design.is_exact()),
      may_stop_(o.stop != 0 && !design.is_exact()),
      n_labelings_(design.n_labelings()),
      smallest_pvalue_(design.smallest_pvalue()),
      moments_(scores_),
      reached_(scores_.size()),
      stop_limit_(statistic_ - kStatisticTie * std::abs(statistic_)) {
    const std::int64_t half = memory_budget(run.max_memory()) / 2;
    keeps_rows_ = n_labelings_ < half / 8 / n_features();
}

// Adds the scores and the statistic under the next labeling: to counts and moments in the first pass, to the step-down
// in the second; ignores them after the end. Advances next_, to -1 at the end. At the end of the first pass, or if it
// may stop early, begins the step-down, with the kept rows if there are any.
void Null::add_labeling(const double* row, double statistic) {
    if (next_ < 0) return;
    if (steps_) {  // in the second pass over the labelings
        add_to_step_down(row);
        if (++next_ == n()) next_ = -1;
        return;
    }
    for (std::size_t k = 0; k < scores_.size(); ++k) reached_[k] += row[k] >= limits_[k];
    moments_.add_scores(row);
    statistics_.push_back(statistic);
    if (keeps_rows_) {
        rows_.emplace_back(n_features());
        std::copy(row, row + n_features(), rows_.back().data());
    }
    is_stopped_ = may_stop_ && has_enough(row, statistic);
    if (++next_ < n_labelings_ && !is_stopped_) return;
    begin_step_down();
    next_ = keeps_rows_ ? -1 : 0;
    for (const Buffer<double>& kept : rows_) add_to_step_down(kept.data());
    rows_.clear();
}

// Counts the statistic of this labeling, and tells if enough statistics have reached the true one to stop early. z gets
// its scale from the first labelings, which aren't counted.
bool Null::has_enough(const double* row, double statistic) {
    if (is_z_) {
        if (n() == kForScale) {
            pilot_ = moments_.find_scale(scores_, false);
            Numbers z = scores_;
            for (std::int64_t k = 0; k < n_features(); ++k) z[at(k)] = pilot_->standardized(k, scores_[at(k)]);
            const auto best = std::max_element(z.begin(), z.end()) - z.begin();
            stop_limit_ = standardized_limits(z, scores_, limits_, &pilot_->spread)[at(best)];
        }
        if (n() <= kForScale) return false;
        statistic = -std::numeric_limits<double>::infinity();
        for (std::int64_t k = 0; k < n_features(); ++k) {
            statistic = std::max(statistic, pilot_->standardized(k, row[k]));
        }
    }
    ++n_compared_;
    n_reached_ += statistic >= stop_limit_;
    return n_reached_ == kToStop;
}

// Sets scale_, true_values_, the features' descending order_ by them, and steps_, which compares each feature with the
// largest of the features not above it. Throws if the sums of the scores overflow.
void Null::begin_step_down() {
    require(moments_.is_finite(),
            "scores under permuted labels are too large for the sums of their cubes: divide them by a constant");
    scale_ = moments_.find_scale(scores_, true);
    true_values_ = scores_;
    if (is_z_) {
        for (std::int64_t k = 0; k < n_features(); ++k) true_values_[at(k)] = scale_->standardized(k, scores_[at(k)]);
    }
    order_ = up_to(n_features());
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::int64_t a, std::int64_t b) { return true_values_[at(a)] > true_values_[at(b)]; });
    const Numbers limits = standardized_limits(true_values_, scores_, limits_, is_z_ ? &scale_->spread : nullptr);
    Numbers sorted;
    for (const std::int64_t k : order_) sorted.push_back(limits[at(k)]);
    steps_.emplace(std::move(sorted));
    sorted_ = numbers(n_features());
}

// Adds the scores under a labeling, standardized if z is tested, to the step-down, and appends their maximum to
// largest_.
void Null::add_to_step_down(const double* row) {
    for (std::size_t k = 0; k < order_.size(); ++k) {
        const std::int64_t feature = order_[k];
        sorted_[k] = is_z_ ? scale_->standardized(feature, row[feature]) : row[feature];
    }
    largest_.push_back(steps_->add_labeling(sorted_.data(), -std::numeric_limits<double>::infinity()));
}

const NullResult& Null::result() {
    if (!result_) result_ = make_result();
    warn_of(*result_);
    return *result_;
}

// Returns z, p-values and moments of all features, and the p-value of the statistic.
NullResult Null::make_result() {
    NullResult r;
    const ScoreScale& scale = *scale_;
    const std::size_t d = scores_.size();
    r.z = r.pvalues = r.pvalues_max = r.sd = Numbers(d);
    r.degenerate.resize(d);
    r.mean = scale.center;
    r.skew = moments_.skewness(scores_);
    Numbers stepped(d);
    steps_->write_pvalues(stepped.data());
    const auto n_all = static_cast<double>(1 + n());
    for (std::size_t k = 0; k < d; ++k) {
        r.z[k] = scale.standardized(static_cast<std::int64_t>(k), scores_[k]);
        r.degenerate[k] = std::isinf(scale.spread[k]);
        r.pvalues[k] = r.degenerate[k] ? 1 : static_cast<double>(1 + reached_[k]) / n_all;
        r.sd[k] = r.degenerate[k] ? 0 : scale.spread[k];
        const auto feature = at(order_[k]);
        r.pvalues_max[feature] = std::isinf(scale.spread[feature]) ? 1 : stepped[k];
    }
    r.pvalues_adjusted = adjust_pvalues(r.pvalues, fdr_);
    r.statistic = is_z_ ? true_values_[at(order_[0])] : statistic_;
    if (is_stopped_) {
        r.pvalue = static_cast<double>(kToStop) / static_cast<double>(n_compared_);
    } else if (is_z_) {
        r.pvalue = stepped[0];
    } else {
        std::int64_t reached = 1;
        for (const double statistic : statistics_) reached += statistic >= stop_limit_;
        r.pvalue = static_cast<double>(reached) / n_all;
    }
    const Numbers means = moments_.means();
    r.label_free = mean_correlation({scores_.data(), means.data()}, n_features(), true);
    r.resolution = is_exact_ ? smallest_pvalue_ : 1 / n_all;
    return r;
}

// Warns of a ranking that hardly depends on labels, and of skewed scores under permuted labels.
void Null::warn_of(const NullResult& r) const {
    // With few features, independent ranks may also correlate by more than 0.5. So may scores under few labelings,
    // about which the design warns: one of them may exchange two classes, which hardly changes scores.
    const double many =
        std::max(0.5, 2.5 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, n_features() - 1))));
    if (!ranks_by_z_ && smallest_pvalue_ <= kSignificant && r.label_free > many) {
        warn("label_free", {method_,
                            " ranks features much as without labels: its scores and their means under permuted "
                            "labels have a rank correlation of ",
                            with_decimals(r.label_free, 2), " (label_free): rank by z instead"});
    }
    Numbers skew;
    for (std::size_t k = 0; k < r.skew.size(); ++k) {
        if (!r.degenerate[k]) skew.push_back(r.skew[k]);
    }
    const double middle = median(skew);
    if ((is_z_ || ranks_by_z_) && middle > 2 && n() < kForSkewed && !is_exact_ && !is_stopped_) {
        warn("skewed",
             {"scores under permuted labels are skewed (null_skew has the median ", with_decimals(middle, 1),
              "), so z needs ", kForSkewed, " permutations or more, but there are ", n(), ": raise n_permutations"});
    }
}

}  // namespace fastfs::core
