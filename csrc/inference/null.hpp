// The scores under permuted labels, which give true scores a scale and p-values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engines/step_down.hpp"
#include "fastfs/fastfs.h"
#include "inference/design.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Centers and spreads of the features' scores; a score that never changes has an infinite spread.
struct ScoreScale {
    double standardized(std::int64_t feature, double score) const {
        return (score - center[at(feature)]) / spread[at(feature)];
    }

    Numbers center, spread;
};

// Sums of the scores' differences from the first row, in the order of the rows.
class ScoreSums {
  public:
    explicit ScoreSums(const Numbers& scores);

    // Adds a row of scores to the sums of their first three powers, and to the largest magnitudes.
    void add_scores(const double* row);
    bool is_finite() const;
    std::int64_t n() const { return n_; }
    // Returns the means and standard deviations of the rows, with the true scores as another row if asked for; the
    // spread of scores that hardly change is infinite.
    ScoreScale find_scale(const Numbers& scores, bool with_true) const;
    Numbers means() const;  // of the rows, feature by feature
    Numbers skewness(const Numbers& scores) const;

  private:
    std::int64_t n_ = 0;
    Numbers about_, first_, second_, third_, largest_;
};

struct NullResult {
    Numbers z, pvalues, pvalues_adjusted, pvalues_max, mean, sd, skew;
    std::vector<std::int32_t> degenerate;
    double statistic, pvalue, label_free, resolution;
};

// Takes the scores under labelings 0, 1, .. of a design, once if they can be kept, else twice.
class Null {
  public:
    // Copies the scores and options, and decides to keep the rows of scores if they fit half of the memory budget.
    Null(const Design& design, const fastfs_null_options& options, const Run& run);

    std::int64_t n_features() const { return static_cast<std::int64_t>(scores_.size()); }
    // Number of the labeling with the next scores; -1 at the end.
    std::int64_t next() const { return next_; }
    // Largest number of rows that one call takes.
    std::int64_t room() const { return (steps_ ? n() : n_labelings_) - next_; }
    void add_labeling(const double* row, double statistic);

    std::int64_t n() const { return moments_.n(); }
    bool is_exact() const { return is_exact_; }
    bool keeps_rows() const { return keeps_rows_; }
    bool is_stopped() const { return is_stopped_; }
    const Numbers& statistics() const { return is_z_ ? largest_ : statistics_; }
    // Returns the result, made in the first call, and warns in each call of its weaknesses. All labelings must be
    // added.
    const NullResult& result();

  private:
    bool has_enough(const double* row, double statistic);
    void begin_step_down();
    void add_to_step_down(const double* row);
    NullResult make_result();
    void warn_of(const NullResult& result) const;

    const Numbers scores_;
    Numbers limits_;
    const double statistic_;
    const bool is_z_, ranks_by_z_;
    const std::int32_t fdr_;
    const std::string method_;
    const bool is_exact_, may_stop_;
    const std::int64_t n_labelings_;
    const double smallest_pvalue_;
    bool keeps_rows_;

    std::int64_t next_ = 0;
    ScoreSums moments_;
    std::vector<std::int64_t> reached_;  // by each feature: the labelings under which its score is as large
    Numbers statistics_;
    std::vector<Buffer<double>> rows_;

    // The early end: how many statistics have been compared with the limit, and how many have reached it.
    std::optional<ScoreScale> pilot_;
    double stop_limit_;
    std::int64_t n_compared_ = 0, n_reached_ = 0;
    bool is_stopped_ = false;

    // The second look at the rows.
    std::optional<ScoreScale> scale_;  // of z
    std::vector<std::int64_t> order_;
    std::optional<StepDown> steps_;
    Numbers true_values_, sorted_, largest_;
    std::optional<NullResult> result_;
};

}  // namespace fastfs::core
