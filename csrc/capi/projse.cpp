// The C interface of ProjSe.
#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capi/abi.hpp"
#include "capi/checks.hpp"
#include "capi/handle.hpp"
#include "projse/projse.hpp"
#include "support/errors.hpp"

struct fastfs_projse_sums : fastfs::core::Handle<fastfs::core::ProjseSums> {
    using Handle::Handle;
    static constexpr const char* kType = "fastfs_projse_sums";
};

namespace {

using namespace fastfs::core;

fastfs_projse_options read_projse_options(const fastfs_projse_options* given) {
    const auto o = read(given, FASTFS_PROJSE_OPTIONS_INIT, "options");
    require(o.kernel == FASTFS_LINEAR || o.kernel == FASTFS_POLY || o.kernel == FASTFS_RBF,
            "kernel must be FASTFS_LINEAR, FASTFS_POLY or FASTFS_RBF, not ", o.kernel);
    require(o.degree >= 1, "degree must be at least 1, but is ", o.degree);
    require(o.sigma_rule >= FASTFS_PROJSE_SIGMA_MEAN && o.sigma_rule <= FASTFS_PROJSE_SIGMA_GIVEN,
            "sigma_rule must be one of FASTFS_PROJSE_SIGMA_*, not ", o.sigma_rule);
    if (o.sigma_rule == FASTFS_PROJSE_SIGMA_GIVEN) require_positive(o.sigma, "sigma");
    require(o.eps >= 0 && std::isfinite(o.eps), "eps must be a number of at least 0, but is ", o.eps);
    require(o.n_select >= 1, "n_select must be at least 1, but is ", o.n_select);
    require(o.center == 0 || o.center == 1 || o.center == FASTFS_PROJSE_CENTER_AUTO,
            "center must be 0, 1 or FASTFS_PROJSE_CENTER_AUTO, not ", o.center);
    for (const int flag : {o.normalize, o.from_y}) {
        require(flag == 0 || flag == 1, "normalize and from_y must be 0 or 1, not ", flag);
    }
    return o;
}

// Lets choose(result) fill the result of a choice among n_candidates features.
template <class F>
void fill_projse(fastfs_projse_result* given, const fastfs_projse_options& o, std::int64_t n_candidates, const Run& run,
                 F&& choose) {
    require(o.n_select <= n_candidates, "n_select = ", o.n_select, " is more than the ", n_candidates, " candidates");
    require_output(run, given, "result");
    fill(given, FASTFS_PROJSE_RESULT_INIT, "result", [&](fastfs_projse_result& r) {
        require_output(run, r.scores, "scores of the result");
        require_output(run, r.selected, "selected of the result");
        require_output(run, r.selection_scores, "selection_scores of the result");
        require_output(run, r.gaps, "gaps of the result");
        require_output(run, r.captured, "captured of the result");
        r.n_selected = 0;
        r.warnings = 0;
        r.center = 0;
        r.rank = 0;
        r.sigma = 0;
        choose(r);
    });
}

// The rows of Y or of labels, of which at most one is given, with as many rows as X.
struct TargetRows {
    std::optional<Matrix> Y;

    TargetRows(const Matrix& X, const fastfs_matrix* Y_, const int64_t* labels, std::int64_t n_classes) {
        require(!Y_ || !labels, "give Y or labels, not both");
        if (Y_) {
            Y.emplace(read_matrix(Y_, kY));
            require(!Y->is_sparse(), "Y must be dense");
            require(Y->n_rows() == X.n_rows(), "X and Y must have the same rows, but have ", X.n_rows(), " and ",
                    Y->n_rows());
            require_size(Y->n_cols(), 1, "the number of columns of Y");
        }
        if (labels) require_in_range(labels, X.n_rows(), n_classes);
        require_size(X.n_cols(), 1, "the number of columns of X");
    }
    const Matrix* y() const { return Y ? &*Y : nullptr; }
};

void require_class(const ProjseSums& sums) {
    require(sums.columns(ProjseSums::kY).n == 1 && sums.of_labels() && !sums.has_xx(),
            "rows of one class come as sums with n_y = 1 and labels");
}

}  // namespace

extern "C" {

fastfs_status fastfs_projse(const fastfs_matrix* X_, const fastfs_matrix* Y_, const int64_t* labels, int64_t n_classes,
                            const fastfs_projse_options* options, const fastfs_run* run_,
                            fastfs_projse_result* result) {
    return guarded([&] {
        const Matrix X = read_matrix(X_);
        if (labels) require_size(n_classes, 1, "n_classes");
        const TargetRows targets(X, Y_, labels, n_classes);
        const auto o = read_projse_options(options);
        require(!o.from_y, "from_y must be 0: to choose among the columns of Y, exchange X and Y");
        Run run = read_run(run_);
        fill_projse(result, o, X.n_cols(), run,
                    [&](fastfs_projse_result& r) { projse({X, targets.y(), labels}, n_classes, o, run, r); });
    });
}

fastfs_status fastfs_projse_kernels(int64_t n_y, int64_t n_x, const double* K_YY, const double* K_YX,
                                    const double* K_XX, const fastfs_projse_options* options, const fastfs_run* run_,
                                    fastfs_projse_result* result) {
    return guarded([&] {
        require_size(n_y, 1, "n_y");
        require_size(n_x, 1, "n_x");
        require_array(K_YY, "K_YY");
        require_array(K_YX, "K_YX");
        require_array(K_XX, "K_XX");
        const auto o = read_projse_options(options);
        require(!o.from_y, "from_y must be 0: exchange the kernels instead");
        Run run = read_run(run_);
        fill_projse(result, o, n_x, run,
                    [&](fastfs_projse_result& r) { projse_kernels(n_y, n_x, K_YY, K_YX, K_XX, o, run, r); });
    });
}

fastfs_status fastfs_projse_label_scores(const fastfs_matrix* X_, const int64_t* labels, int64_t n_labelings,
                                         int64_t n_classes, const fastfs_projse_options* options,
                                         const fastfs_run* run_, double* scores) {
    return guarded([&] {
        const Matrix X = read_matrix(X_);
        require_size(n_labelings, 1, "n_labelings");
        require_size(n_classes, 2, "n_classes");
        require_fits(X.n_rows(), n_labelings, "labels");
        require_fits(X.n_rows(), n_classes, "one-hot labels");
        require_fits(X.n_cols(), n_labelings, "scores");
        for (std::int64_t b = 0; b < n_labelings; ++b) require_in_range(labels + b * X.n_rows(), X.n_rows(), n_classes);
        const auto o = read_projse_options(options);
        require(o.kernel == FASTFS_LINEAR && !o.custom, "the scores of many labelings need the linear kernel");
        Run run = read_run(run_);
        require_output(run, scores, "scores");
        projse_label_scores(X, labels, n_labelings, n_classes, o, run, scores);
    });
}

fastfs_status fastfs_projse_new(int64_t n_y, int64_t n_x, int32_t two_views, const fastfs_run* run_,
                                fastfs_projse_sums** sums) {
    return guarded([&] {
        const Run run = read_run(run_);
        require_output(run, sums, "sums");
        require_size(n_y, 0, "n_y");
        require_size(n_x, 1, "n_x");
        require(two_views == 0 || two_views == 1, "two_views must be 0 or 1, not ", two_views);
        const bool with_xx = two_views || n_y == 0;
        run.require_memory(2 * ProjseSums::memory(n_y, n_x, with_xx),
                           {"the table of sums of ", n_y, " and ", n_x, " variables"}, "give fewer variables");
        *sums = new fastfs_projse_sums(n_y, n_x, with_xx);
    });
}

fastfs_status fastfs_projse_update(fastfs_projse_sums* sums, const fastfs_matrix* X_, const fastfs_matrix* Y_,
                                   const int64_t* labels, const fastfs_run* run_) {
    return guarded([&] {
        const Use data(sums, "sums");
        const Matrix X = read_matrix(X_);
        const std::int64_t n_y = data->columns(ProjseSums::kY).n, n_x = data->columns(ProjseSums::kX).n;
        const TargetRows targets(X, Y_, labels, n_y);
        require(X.n_cols() == n_x, "this chunk of X has ", X.n_cols(), " columns, not ", n_x, " as those before");
        require(!targets.y() || targets.y()->n_cols() == n_y, "this chunk of Y has ",
                targets.y() ? targets.y()->n_cols() : 0, " columns, not ", n_y, " as those before");
        require((targets.y() || labels) == (n_y > 0),
                n_y > 0 ? "Y or labels are needed with every chunk" : "these sums take no Y");
        require(!labels || !data->has_xx(), "two views need Y as numbers, not as labels");
        Run run = read_run(run_);
        data->update({X, targets.y(), labels}, run);
    });
}

fastfs_status fastfs_projse_update_groups(fastfs_projse_sums* const* sums, int64_t n_groups, const fastfs_matrix* X_,
                                          const int64_t* groups, const fastfs_run* run_) {
    return guarded([&] {
        require_size(n_groups, 1, "n_groups");
        require(sums != nullptr, "sums must not be null");
        const Matrix X = read_matrix(X_);
        std::vector<fastfs_projse_sums*> handles(sums, sums + n_groups);
        // Handles are locked in one order, so that two calls never wait for each other.
        std::sort(handles.begin(), handles.end(), std::less<>());
        require(std::adjacent_find(handles.begin(), handles.end()) == handles.end() && handles.front() != nullptr,
                "each group needs sums of its own, but some are null or come twice");
        std::deque<Use<fastfs_projse_sums>> uses;
        for (fastfs_projse_sums* one : handles) {
            const auto& data = uses.emplace_back(one, "sums");
            require_class(*data);
            const std::int64_t n_x = data->columns(ProjseSums::kX).n;
            require(X.n_cols() == n_x, "this chunk of X has ", X.n_cols(), " columns, not ", n_x, " as the sums");
        }
        require_in_range(groups, X.n_rows(), n_groups, "groups");
        std::vector<ProjseSums*> of_groups;
        for (std::int64_t g = 0; g < n_groups; ++g) of_groups.push_back(&sums[g]->data);
        Run run = read_run(run_);
        ProjseSums::update_groups(of_groups, X, groups, run);
    });
}

fastfs_status fastfs_projse_merge(fastfs_projse_sums* sums, const fastfs_projse_sums* other) {
    return guarded([&] {
        use_both(sums, other, "sums", [](ProjseSums& mine, const ProjseSums& others) {
            for (int side : {ProjseSums::kY, ProjseSums::kX}) {
                const auto n = mine.columns(side).n, n_others = others.columns(side).n;
                require(n == n_others, "the sums are of ", n, " and ", n_others, " variables and can't be merged");
            }
            require(mine.has_xx() == others.has_xx(), "only one of the sums has two views");
            if (others.n_rows() == 0) return;
            Run run(FASTFS_RUN_INIT);
            mine.merge(others.copy(), run);
        });
    });
}

fastfs_status fastfs_projse_merge_class(fastfs_projse_sums* sums, const fastfs_projse_sums* other, int64_t label) {
    return guarded([&] {
        use_both(sums, other, "sums", [&](ProjseSums& mine, const ProjseSums& others) {
            const std::int64_t n_y = mine.columns(ProjseSums::kY).n, n_x = mine.columns(ProjseSums::kX).n;
            const std::int64_t other_x = others.columns(ProjseSums::kX).n;
            require(n_x == other_x, "the sums are of ", n_x, " and ", other_x, " variables and can't be merged");
            require_class(others);
            require(!mine.has_xx(), "sums with two views or without targets have no classes");
            require(label >= 0 && label < n_y, "label must be in 0..", n_y - 1, ", but is ", label);
            if (others.n_rows() == 0) return;
            Run run(FASTFS_RUN_INIT);
            mine.merge(others.as_class(n_y, label), run);
        });
    });
}

fastfs_status fastfs_projse_means(const fastfs_projse_sums* sums, double* means) {
    return guarded([&] {
        const Use data(sums, "sums");
        require_array(means, "means");
        const auto& mean = data->columns(ProjseSums::kX).mean;
        std::copy(mean.begin(), mean.end(), means);
    });
}

fastfs_status fastfs_projse_select(const fastfs_projse_sums* sums, const fastfs_projse_options* options,
                                   const fastfs_run* run_, fastfs_projse_result* result) {
    return guarded([&] {
        const Use data(sums, "sums");
        const auto o = read_projse_options(options);
        Run run = read_run(run_);
        const std::int64_t n_s = data->columns(o.from_y ? ProjseSums::kY : ProjseSums::kX).n;
        fill_projse(result, o, n_s, run, [&](fastfs_projse_result& chosen) { projse_select(*data, o, run, chosen); });
    });
}

int64_t fastfs_projse_rows(const fastfs_projse_sums* sums) {
    return number_or_error([&] { return Use(sums, "sums")->n_rows(); });
}

int64_t fastfs_projse_size(const fastfs_projse_sums* sums) {
    return number_or_error([&] { return require_handle(sums, "sums").data.size(); });
}

fastfs_status fastfs_projse_save(const fastfs_projse_sums* sums, double* numbers, int64_t n_numbers) {
    return guarded([&] {
        const Use data(sums, "sums");
        require_array(numbers, "numbers");
        require_count_of_numbers(n_numbers, data->size());
        data->save(numbers);
    });
}

fastfs_status fastfs_projse_load(fastfs_projse_sums* sums, const double* numbers, int64_t n_numbers) {
    return guarded([&] {
        const Use data(sums, "sums");
        require_array(numbers, "numbers");
        require_count_of_numbers(n_numbers, data->size());
        require(numbers[0] >= 0 && numbers[0] < 9e15, "these numbers are no sums: they start with ", numbers[0]);
        require(numbers[1] >= 0 && numbers[1] <= numbers[0], "these numbers are no sums: ", numbers[1], " of ",
                numbers[0], " rows have labels");
        require(std::all_of(numbers, numbers + n_numbers, [](double x) { return std::isfinite(x); }),
                "these numbers are no sums: they contain NaN or infinity");
        data->load(numbers);
    });
}

void fastfs_projse_free(fastfs_projse_sums* sums) { free_handle(sums, "sums"); }

}  // extern "C"
