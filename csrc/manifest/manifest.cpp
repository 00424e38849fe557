#include "manifest/manifest.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engines/affinity.hpp"
#include "engines/spectral.hpp"
#include "manifest/problem.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"
#include "support/warnings.hpp"

namespace fastfs::core {
namespace {

// Tests if a fit solves only some of its problems.
bool is_share(const fastfs_manifest_options& o) { return o.first_problem > 0 || o.n_problems > 0; }

std::int64_t count_problems(std::int64_t n_classes, std::int32_t multiclass) {
    return pairwise(n_classes, multiclass) ? n_classes * (n_classes - 1) / 2 : n_classes;
}

// Returns a side for each class, with the rows that carry its label.
std::vector<Side> read_classes(const std::int64_t* labels, std::int64_t n_rows, std::int64_t n_classes) {
    std::vector<Side> classes;
    for (std::int64_t c = 0; c < n_classes; ++c) {
        const Name name{.kind = FASTFS_PLACE_KERNEL, .number = c, .text = "class " + std::to_string(c)};
        classes.push_back({.index = c, .name = name, .rows = {}});
    }
    for (std::int64_t r = 0; r < n_rows; ++r) {
        if (labels[r] >= 0) classes[at(labels[r])].rows.push_back(r);
    }
    return classes;
}

// Returns the problem of class c (kernel 2c of the fit) against all other labelled rows (kernel 2c + 1).
Problem against_rest(const std::vector<Side>& classes, std::size_t c, const std::int64_t* labels, std::int64_t n_rows) {
    Side one = classes[c], rest = one;
    rest.index = rest.name.number = 2 * one.index + 1;
    rest.name.text = "all classes but " + std::to_string(one.index);
    rest.rows.clear();
    for (std::int64_t r = 0; r < n_rows; ++r) {
        if (labels[r] >= 0 && labels[r] != one.index) rest.rows.push_back(r);
    }
    one.index = one.name.number = 2 * one.index;
    return {std::move(one), std::move(rest)};
}

// Copies the numbers of the plan to the result of one scale, and allocates its arrays, with zeros.
void set_arrays(std::int64_t d, std::int64_t n_classes, const fastfs_manifest_options& options,
                const fastfs_manifest_plan& plan, Owned<fastfs_manifest_result>& result) {
    const std::int64_t n_problems = plan.n_problems, n_components = options.n_components;
    result.accuracy = plan.accuracy;
    result.reason = plan.reason;
    result.exact_bytes = plan.exact_bytes;
    result.n_kernels = plan.n_kernels;
    result.n_problems = n_problems;
    result.n_components = n_components;
    result.set_zeros(result.scores, d);
    result.set_zeros(result.class_scores, n_classes * d);
    result.set_zeros(result.sigma, plan.n_kernels);
    result.set_zeros(result.kept_trace, plan.n_kernels);
    result.set_zeros(result.ranks, n_problems);
    if (options.agreement) result.set_zeros(result.agreement, n_problems);
    result.set_zeros(result.mean_values, n_problems * n_components);
    result.set_zeros(result.mean_vectors, n_problems * n_components * d);
    result.set_zeros(result.difference_values, n_problems * n_components);
    result.set_zeros(result.difference_vectors, n_problems * n_components * d);
    if (is_share(options)) result.set_zeros(result.problem_scores, n_problems * d);
}

// Returns empty outcomes of problem p of the fit, one per scale; their components point into the results.
std::vector<Outcome> prepare_outcomes(std::int64_t p, std::int64_t d,
                                      const std::vector<Owned<fastfs_manifest_result>>& results) {
    std::vector<Outcome> outcomes(results.size());
    for (std::size_t s = 0; s < results.size(); ++s) {
        Outcome& o = outcomes[s];
        const auto& result = results[s];
        o.scores.resize(at(d));
        o.measures_agreement = result.agreement != nullptr;
        o.n_components = result.n_components;
        const std::int64_t first = p * result.n_components;
        if (result.n_components > 0) {
            o.mean_values = result.mean_values + first;
            o.mean_vectors = result.mean_vectors + first * d;
            o.difference_values = result.difference_values + first;
            o.difference_vectors = result.difference_vectors + first * d;
        }
    }
    return outcomes;
}

// Averages the scores of problems.
class MeanScores {
  public:
    // Sets scores to 0, and class_scores unless it is null.
    MeanScores(std::int64_t d, std::int64_t n_classes, std::int32_t multiclass, double* scores, double* class_scores)
        : d_(d),
          n_classes_(n_classes),
          pairs_(pairwise(n_classes, multiclass)),
          n_problems_(count_problems(n_classes, multiclass)),
          scores_(scores),
          class_scores_(class_scores) {
        std::fill_n(scores, d, 0.0);
        if (class_scores) std::fill_n(class_scores, n_classes * d, 0.0);
    }

    // Adds the scores of a problem: class a against class b, or against all other classes.
    void add_problem(const double* of_problem, std::int64_t a, std::int64_t b) const {
        add_share(of_problem, n_problems_, scores_);
        if (!class_scores_) return;
        add_share(of_problem, pairs_ ? n_classes_ - 1 : 1, class_scores_ + a * d_);
        if (pairs_) add_share(of_problem, n_classes_ - 1, class_scores_ + b * d_);
    }

  private:
    void add_share(const double* of_problem, std::int64_t n, double* to) const {
        for (std::int64_t j = 0; j < d_; ++j) to[j] += of_problem[j] / static_cast<double>(n);
    }

    std::int64_t d_, n_classes_;
    bool pairs_;
    std::int64_t n_problems_;
    double *scores_, *class_scores_;
};

// Calls f(a, b) for all problems in their order: of class a and class b, or of class a and all other classes (b is a).
template <class F>
void for_problems(std::int64_t n_classes, std::int32_t multiclass, F&& f) {
    for (std::int64_t a = 0; a < n_classes; ++a) {
        if (!pairwise(n_classes, multiclass)) f(a, a);
        for (std::int64_t b = a + 1; pairwise(n_classes, multiclass) && b < n_classes; ++b) f(a, b);
    }
}

// Writes sigma, kept trace, rank and agreement of problem p, counted from the first problem of the fit's share, to the
// result, and its scores if the fit is a share of the problems.
void write_outcome(std::int64_t p, const Problem& problem, const Outcome& o, const fastfs_manifest_result& result) {
    for (std::size_t l : {0, 1}) {
        const std::int64_t k = problem[l].index;
        result.sigma[k] = o.sigma[l];
        result.kept_trace[k] = o.kept_trace[l];
    }
    result.ranks[p] = o.rank;
    if (result.agreement) result.agreement[p] = o.agreement;
    if (result.problem_scores) {
        std::copy(o.scores.begin(), o.scores.end(),
                  result.problem_scores + p * static_cast<std::int64_t>(o.scores.size()));
    }
}

// Collects what the problems of a fit warn of at the first scale; one sentence says it for all of them.
class Findings {
  public:
    // Adds the flags of a problem and of its two kernels, and notes its lowest agreement.
    void add(const Problem& problem, const Outcome& o) {
        for (std::size_t l : {0, 1}) kernels_[problem[l].index] = {problem[l].name, o.kernel_flags[l]};
        flags_ |= o.warnings;
        if (o.warnings & kProblemAgreement) agreement_ = std::min(agreement_, o.agreement);
        if (o.warnings & kProblemFlat) {
            without_contrast_.push_back({problem[0].name, " against ", problem[1].name});
        }
    }

    // Issues a warning for each kind of finding in the problems. of_kernels: the caller has computed the kernels.
    void warn_of_all(std::int64_t d, std::int64_t n_classes, const fastfs_manifest_options& o,
                     const fastfs_manifest_plan& plan, bool of_kernels) const {
        if (flags_ & kProblemAgreement) warn_of_agreement(plan.accuracy);
        if (const Message names = kernels_with(kKernelOneSample); !names.text().empty()) {
            warn("one_sample",
                 {"one sample only in ", names,
                  ": its distances between features are differences of single values; give more samples, or leave it "
                  "out"});
        }
        if (const Message names = kernels_with(kKernelSigma); !names.text().empty()) {
            warn("equal_features",
                 {"many features are equal in ", names,
                  ", so that the distance its sigma is taken from is 0: sigma comes from the positive "
                  "distances instead; drop the copies, or give sigma"});
        }
        if (const Message names = kernels_with(kKernelTrace); !names.text().empty()) {
            warn("low_trace", {"the low-rank kernel keeps less than half of the trace in ", names,
                               ": sigma is too small for this accuracy, so raise sigma or rank, or choose "
                               "accuracy='exact'"});
        }
        if (const Message names = kernels_with(kKernelDigits); !names.text().empty()) {
            warn("lost_digits", {"some features are so close to each other, relative to their size, in ", names,
                                 " that sums over rows leave hardly a digit of their distance: subtract a typical "
                                 "value from each feature, or give X in memory"});
        }
        if (flags_ & kProblemAngle) {
            warn("right_angle",
                 "some direction of one class's kernel is orthogonal to all of another's, so that form='spsd' depends "
                 "on signs that are arbitrary: its scores change with the order of the features; choose "
                 "form='pencil'");
        }
        if (flags_ & kProblemFlat) {
            const bool is_one = count_problems(n_classes, o.multiclass) == 1;
            warn("no_contrast",
                 {"the scores ", is_one ? Message() : Message("of ", some_of(without_contrast_), " "),
                  "are zero up to rounding: ",
                  of_kernels ? "K1 and K2 hardly differ, or are hardly more than their diagonals: choose other "
                               "kernels"
                  : d == 2   ? "with 2 features and sigma relative to their distance the kernels always agree; give "
                               "sigma as numbers"
                             : "either the classes don't differ, or sigma is so small or so large that the kernels "
                               "hardly do: check the labels, or try other values of sigma"});
        }
        if (plan.reason == FASTFS_BECAUSE_WORK) {
            warn("many_fits", {"ManiFeSt takes small domains, since ", o.n_fits,
                               " fits in the usual form would take minutes: choose accuracy='domains' or 'exact' for "
                               "scores as of a single fit"});
        }
        if (plan.reason == FASTFS_BECAUSE_RANK) {
            warn("rank_too_large", {"rank ", o.rank, " saves nothing with ", d, " features: the exact form was used"});
        }
    }

  private:
    Message kernels_with(std::int32_t flag) const {
        std::vector<Message> names;
        for (const auto& [index, kernel] : kernels_) {
            if (kernel.second & flag) names.push_back(Message() << kernel.first);
        }
        return some_of(names);
    }

    // Warns that approximate scores may rank features otherwise than exact ones.
    void warn_of_agreement(std::int32_t accuracy) const {
        const std::string share = rounded(agreement_);
        const bool by_small_domains = accuracy == FASTFS_MANIFEST_SMALL_DOMAINS;
        if (is_by_domains(accuracy)) {
            warn("poor_agreement", {"the scores by domains may rank features otherwise than the exact ones: their rank "
                                    "correlation is estimated as ",
                                    share,
                                    by_small_domains ? "; choose accuracy='domains' or 'exact'"
                                                     : "; raise rank or choose accuracy='exact'"});
        } else {
            warn("poor_agreement",
                 {"the low-rank scores rank features otherwise than the exact ones: on some drawn at random the rank "
                  "correlation is ",
                  share,
                  ", and on all of them it is much lower as a rule; choose accuracy='domains' or 'exact', or raise "
                  "rank"});
        }
    }

    std::map<std::int64_t, std::pair<Name, std::int32_t>> kernels_;  // names and flags, by index
    std::int32_t flags_ = 0;
    double agreement_ = 1;  // the least one with a flag
    std::vector<Message> without_contrast_;
};

// Returns the rows of a block for sums of products, enough to write the panels of products only a few times.
std::int64_t rows_of_block(const Samples& X) {
    constexpr double kMultiplications = 1e10;
    const double per_row = static_cast<double>(X.n_stored()) / static_cast<double>(X.n_rows());
    return static_cast<std::int64_t>(std::clamp(kMultiplications / (per_row * per_row + 1), 4096.0, 65536.0));
}

// The work of n_fits fits beyond which accuracy="auto" takes small domains: the sum of the cubes of the sizes of all
// eigenproblems. A core solves 2e9 of it a second (Zen 5, OpenBLAS with AVX2), so this is two to three minutes.
constexpr double kMostWork = 3e11;

// Returns the classes of a side: with `pairs` one class, otherwise one class or all but one.
std::vector<std::int64_t> classes_of(const Side& side, std::int64_t n_classes, bool pairs) {
    if (pairs) return {side.index};
    const std::int64_t c = side.index / 2;
    if (side.index % 2 == 0) return {c};
    std::vector<std::int64_t> others = up_to(n_classes);
    others.erase(others.begin() + c);
    return others;
}

// Counts the bytes of the features of a class while their distances are computed.
std::int64_t gathering_memory(const Samples& X, const Run& run) {
    return squared_distances_memory(X, X.n_rows(), run.n_threads());
}

}  // namespace

bool pairwise(std::int64_t n_classes, std::int32_t multiclass) {
    return n_classes == 2 || multiclass == FASTFS_MANIFEST_OVO;
}

std::int64_t count_kernels(std::int64_t n_classes, std::int32_t multiclass) {
    return pairwise(n_classes, multiclass) ? n_classes : 2 * n_classes;
}

// Keeps X, its maxima_of_differences, their unit and, with keep_distances, the upper triangle of its features' squared
// distances over all rows.
Manifest::Manifest(Samples X, bool keep_distances, Run& run) : X_(std::move(X)) {
    const std::int64_t d = X_.n_cols();
    if (run.is_question()) {
        run.require_memory(24 * X_.n_rows() + (keep_distances ? 8 * d * d + gathering_memory(X_, run) : 0),
                           "reading X");
    }
    // Without distances, reading is the short beginning of fits, which report from 0 on: shares never go back.
    run.step("reading X", keep_distances ? 0.1 : 0.0);
    row_maxima_ = maxima_of_differences(X_, run);
    unit_ = common_unit(row_maxima_, up_to(X_.n_rows()));
    if (!keep_distances) return;
    run.require_memory(8 * d * d + gathering_memory(X_, run), {"keeping the distances of ", d, " features"},
                       "don't keep them");
    run.step("distances of the features", 1.0);
    distances_ = Buffer<double>(d * d);
    squared_distances_upper(X_, up_to(X_.n_rows()), unit_, run, distances_.data());
}

// Returns the plan of a fit: chooses the accuracy, and counts its problems, kernels and memory.
fastfs_manifest_plan Manifest::plan(std::int64_t n_classes, const fastfs_manifest_options& o, std::int64_t n_scales,
                                    const Run& run) const {
    const std::int64_t d = X_.n_cols();
    const bool sums_all = !pairwise(n_classes, o.multiclass) && distances_.size() == 0;
    const Needs needs{.labels = X_.n_rows(),
                      .exact = sums_all ? 8 * d * d : 0,
                      .gathering = gathering_memory(X_, run),
                      .beyond = [&](const fastfs_manifest_options& form) {
                          return is_by_domains(form.accuracy) && takes_products_first(n_classes, form, run)
                                     ? memory_of_products(n_classes, form, o.n_components, run)
                                     : wide_memory(X_, form, o.n_components, run);
                      }};
    return plan_problems(d, n_classes, o, n_scales, needs, run);
}

bool Manifest::takes_products_first(std::int64_t n_classes, const fastfs_manifest_options& o, const Run& run) const {
    // Products of other values might overflow, or vanish; by differences they have the unit of their class.
    const bool has_products = std::all_of(row_maxima_.begin(), row_maxima_.end(), [](double largest) {
        return largest == 0 || (largest >= 1e-100 && largest <= 1e100);
    });
    return !o.custom && has_products && X_.has_row_blocks() && X_.n_rows() / n_classes >= X_.n_cols() &&
           run.allows(memory_of_products(n_classes, o, 0, run));
}

// Counts the bytes of a fit by domains that first sums the products of all features in each class.
std::int64_t Manifest::memory_of_products(std::int64_t n_classes, const fastfs_manifest_options& o,
                                          std::int64_t n_components, const Run& run) const {
    const std::int64_t d = X_.n_cols(), rows = rows_of_block(X_);
    const std::int64_t updating =
        8 * 4 * rows + (X_.is_sparse() ? 28 * ceil_div(X_.n_stored(), X_.n_rows()) * rows
                                       : 8 * 256 * (d + run.n_threads() * PairPanels::kColumns));
    const std::int64_t added_up = pairwise(n_classes, o.multiclass) ? 0 : PairProducts::memory(d);
    return FeatureSums::memory_of_all(d, n_classes) +
           std::max(updating, added_up + domains_of_products_memory(d, o, n_components, run));
}

// Returns the products of all pairs of features in each class, from one pass over X in blocks of rows.
std::unique_ptr<const FeatureSums> Manifest::sum_products(const std::int64_t* labels, std::int64_t n_classes,
                                                          Run& run) const {
    auto sums = std::make_unique<FeatureSums>(X_.n_cols(), n_classes);
    X_.for_row_blocks(rows_of_block(X_), [&](const Matrix& block, std::int64_t first) {
        const Run::Part of_block(run, share(first, X_.n_rows()), share(first + block.n_rows(), X_.n_rows()));
        sums->update(block, labels + first, run, true);
    });
    return sums;
}

// Returns the plan of a fit: the accuracy, and the counts of problems, kernels and bytes. Auto takes exact scores up to
// kMostExact features if the budget allows, else domains, and small domains if all fits together exceed kMostWork.
// Throws for problems that there aren't and for too many components; answers the question of the fit's memory.
fastfs_manifest_plan plan_problems(std::int64_t d, std::int64_t n_classes, const fastfs_manifest_options& o,
                                   std::int64_t n_scales, const Needs& needs, const Run& run) {
    const bool low_rank = o.accuracy == FASTFS_MANIFEST_LOW_RANK || o.accuracy == FASTFS_MANIFEST_LOW_RANK_HIGH;
    const bool any = o.accuracy == FASTFS_MANIFEST_AUTO;
    fastfs_manifest_plan plan = FASTFS_MANIFEST_PLAN_INIT;
    const std::int64_t n_all = count_problems(n_classes, o.multiclass);
    require(o.first_problem < n_all && o.n_problems <= n_all - o.first_problem,
            "first_problem and n_problems must name some of the ", n_all, " problems; got ", o.n_problems,
            " from problem ", o.first_problem, " on");
    plan.n_problems = o.n_problems > 0 ? o.n_problems : n_all - o.first_problem;
    plan.n_kernels = count_kernels(n_classes, o.multiclass);

    // Counts K1 and S. Adds, whichever is more, the features of a class with a tile per thread, or 2 to 7 arrays for
    // LAPACK and panels for the eigenvectors. Adds the distances of both sides if several scales share them, the
    // distances over all rows if several problems share them, and the results: components as arrays and once more in
    // the caller's language, and the scores of each problem if it is a share of them.
    const double handed_out =
        8.0 * static_cast<double>(d * n_scales) *
        (static_cast<double>(n_classes + 2) + (4.0 * static_cast<double>(o.n_components) + (is_share(o) ? 2.0 : 0.0)) *
                                                  static_cast<double>(plan.n_problems));
    // Counts the rows by class and of all other classes; a sum beyond any budget needn't be exact.
    const auto results =
        static_cast<std::int64_t>(std::min(handed_out + 32.0 * static_cast<double>(needs.labels), 1e17));
    const std::int64_t squares = 2 + 2 * (n_scales > 1);
    constexpr std::int64_t arrays[] = {2, 3, 7};  // by form
    const std::int64_t solving = 8 * arrays[o.form] * d * d + vectors_memory(d, run.n_threads());
    plan.exact_bytes = 8 * d * d * squares + needs.exact + std::max(solving, needs.gathering) + results;

    const auto beyond = with_accuracy(o, any ? FASTFS_MANIFEST_DOMAINS : o.accuracy);
    // Low-rank kernels save nothing at a rank above d / 4, nor do domains that hold all features.
    const bool full = is_by_domains(beyond.accuracy) ? largest_domain(beyond) >= d : o.rank > d / 4;
    plan.accuracy = FASTFS_MANIFEST_EXACT;
    plan.bytes = plan.exact_bytes;
    if (o.accuracy == FASTFS_MANIFEST_EXACT) {
        plan.reason = FASTFS_BECAUSE_ASKED;
    } else if (o.form != FASTFS_MANIFEST_PENCIL) {
        plan.reason = FASTFS_BECAUSE_FORM;
    } else if (full && (low_rank || d > kMostExact)) {
        plan.reason = FASTFS_BECAUSE_RANK;
    } else if (any && d <= kMostExact && (full || run.allows(plan.exact_bytes))) {
        plan.reason = FASTFS_BECAUSE_SIZE;
    } else {
        plan.accuracy = beyond.accuracy;
        plan.reason = !any ? FASTFS_BECAUSE_ASKED : d <= kMostExact ? FASTFS_BECAUSE_MEMORY : FASTFS_BECAUSE_SIZE;
        require(o.n_components <= 2 * o.rank, "n_components must not exceed twice the rank of the low-rank kernels, ",
                2 * o.rank, "; got ", o.n_components);
        plan.bytes = needs.beyond(beyond) + results;
    }
    if (any && plan.reason != FASTFS_BECAUSE_FORM && o.n_components == 0) {
        const double n_solved = static_cast<double>(o.n_fits) * static_cast<double>(n_all * n_scales);
        const auto small = with_accuracy(o, FASTFS_MANIFEST_SMALL_DOMAINS);
        const double exact_work = std::pow(static_cast<double>(d), 3);
        const double work = plan.accuracy == FASTFS_MANIFEST_EXACT ? exact_work : work_of_domains(d, beyond);
        if (n_solved * work > kMostWork && work_of_domains(d, small) < work) {
            plan.accuracy = small.accuracy;
            plan.reason = FASTFS_BECAUSE_WORK;
            plan.bytes = needs.beyond(small) + results;
        }
    }
    if (plan.accuracy == FASTFS_MANIFEST_EXACT) {
        run.require_memory(plan.bytes, {"ManiFeSt in its exact form on ", d, " features"},
                           plan.reason == FASTFS_BECAUSE_RANK ? "lower rank"
                           : o.form != FASTFS_MANIFEST_PENCIL ? "give fewer features"
                                                              : "choose accuracy=\"domains\", or give fewer features");
    } else {
        const bool by_domains = is_by_domains(plan.accuracy);
        run.require_memory(plan.bytes,
                           {"ManiFeSt ", by_domains ? "by domains" : "in its low-rank form", " on ", d, " features"},
                           by_domains ? "lower rank, or choose accuracy=\"low_rank\"" : "lower rank");
    }
    return plan;
}

// Solves the problems of the plan at all scales, and fills one result per scale.
void Manifest::fit(const std::int64_t* labels, std::int64_t n_classes, const fastfs_manifest_options& asked,
                   const std::vector<fastfs_manifest_scale>& scales, Run& run,
                   std::vector<Owned<fastfs_manifest_result>>& results) const {
    const std::int64_t d = X_.n_cols();
    const auto plan = this->plan(n_classes, asked, static_cast<std::int64_t>(scales.size()), run);
    const fastfs_manifest_options options = with_accuracy(asked, plan.accuracy);
    const bool pairs = pairwise(n_classes, options.multiclass), exact = plan.accuracy == FASTFS_MANIFEST_EXACT;

    const SingleThreadedBlas held;
    Fit fit{
        .X = X_, .row_maxima = row_maxima_, .options = options, .scales = scales, .all = nullptr, .unit_of_all = unit_};
    Buffer<double> summed;
    double begun = 0;  // share of the call before the problems
    // Both sides of a problem together have all rows. A custom kernel needs the norms of both sides as well.
    if (exact && (n_classes == 2 || !pairs) && !options.custom) {
        if (distances_.size() > 0) {
            fit.all = distances_.data();
        } else if (n_classes > 2) {
            begun = 0.01;
            run.step("distances of the features", begun);
            summed = Buffer<double>(d * d);
            squared_distances_upper(X_, up_to(X_.n_rows()), unit_, run, summed.data());
            fit.all = summed.data();
        }
    }
    std::unique_ptr<const FeatureSums> sums;
    if (is_by_domains(plan.accuracy) && takes_products_first(n_classes, options, run)) {
        std::vector<std::int64_t> sizes(at(n_classes));
        for (std::int64_t r = 0; r < X_.n_rows(); ++r) ++sizes[at(labels[r])];
        if (*std::min_element(sizes.begin(), sizes.end()) >= d) {
            run.step("products of the features", 0.3);
            const Run::Part of_sums(run, 0, 1);
            sums = sum_products(labels, n_classes, run);
        } else {  // products over few rows keep too few digits of small distances
            run.require_memory(wide_memory(X_, options, options.n_components, run),
                               {"ManiFeSt by domains on ", d, " features"},
                               "lower rank, or choose accuracy=\"low_rank\"");
        }
    }
    // Solves one problem with the accuracy of the plan, and writes one outcome per scale.
    auto solve = [&](const Problem& problem, Run& of_problem, std::vector<Outcome>& outcomes) {
        for (Outcome& o : outcomes) {
            for (std::size_t l : {0, 1}) {
                if (problem[l].rows.size() == 1) o.kernel_flags[l] |= kKernelOneSample;
            }
        }
        if (sums) {
            std::array<std::shared_ptr<const PairProducts>, 2> products;
            bool has_lost_digits = false;
            for (std::size_t l : {0, 1}) {
                products[l] = std::make_shared<const PairProducts>(
                    sums->pair_products(classes_of(problem[l], n_classes, pairs), problem[l].name));
                has_lost_digits = has_lost_digits || products[l]->has_lost_digits(of_problem);
            }
            // Distances by differences keep the digits that products have lost.
            const std::int64_t by_differences =
                memory_of_products(n_classes, options, 0, run) + wide_memory(X_, options, 0, run);
            if (!has_lost_digits || !run.allows(by_differences)) {
                for (Outcome& o : outcomes) {
                    for (std::size_t l : {0, 1}) {
                        if (has_lost_digits) o.kernel_flags[l] |= kKernelDigits;
                    }
                }
                domains_of_products(std::move(products), problem, {options, scales}, of_problem, outcomes);
                return;
            }
        }
        (exact                          ? exact_problem
         : is_by_domains(plan.accuracy) ? domains_problem
                                        : wide_problem)(fit, problem, of_problem, outcomes);
    };
    solve_problems(labels, X_.n_rows(), d, n_classes, options, plan, false, run, results, solve);
}

// Calls solve for each problem of the plan, writes the outcomes to the results, and issues the warnings. of_kernels:
// the caller has computed the kernels.
void solve_problems(const std::int64_t* labels, std::int64_t n, std::int64_t d, std::int64_t n_classes,
                    const fastfs_manifest_options& options, const fastfs_manifest_plan& plan, bool of_kernels, Run& run,
                    std::vector<Owned<fastfs_manifest_result>>& results, const Solve& solve) {
    const std::int64_t n_problems = plan.n_problems;
    const auto classes = read_classes(labels, n, n_classes);
    std::vector<MeanScores> means;
    for (auto& result : results) {
        set_arrays(d, n_classes, options, plan, result);
        means.emplace_back(d, n_classes, options.multiclass, result.scores, result.class_scores);
    }
    run.step("comparisons", 1.0);
    Findings findings;
    std::int64_t number = -options.first_problem;
    for_problems(n_classes, options.multiclass, [&](std::int64_t a, std::int64_t b) {
        const std::int64_t p = number++;
        if (p < 0 || p >= n_problems) return;
        const auto first = at(a), second = at(b);
        const Problem problem = pairwise(n_classes, options.multiclass) ? Problem{classes[first], classes[second]}
                                                                        : against_rest(classes, first, labels, n);
        auto outcomes = prepare_outcomes(p, d, results);
        const Run::Part part(run, share(p, n_problems), share(p + 1, n_problems));
        solve(problem, run, outcomes);
        for (std::size_t s = 0; s < results.size(); ++s) {
            means[s].add_problem(outcomes[s].scores.data(), a, b);
            write_outcome(p, problem, outcomes[s], results[s]);
        }
        findings.add(problem, outcomes.front());
    });
    findings.warn_of_all(d, n_classes, options, plan, of_kernels);
}

void manifest_mean_scores(std::int64_t d, std::int64_t n_classes, std::int32_t multiclass, const double* problem_scores,
                          double* scores, double* class_scores) {
    const MeanScores means(d, n_classes, multiclass, scores, class_scores);
    for_problems(n_classes, multiclass, [&](std::int64_t a, std::int64_t b) {
        means.add_problem(problem_scores, a, b);
        problem_scores += d;
    });
}

}  // namespace fastfs::core
