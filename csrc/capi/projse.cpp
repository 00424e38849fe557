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
#include "capi/fields.hpp"
#include "capi/fitted.hpp"
#include "capi/stream.hpp"
#include "projse/projse.hpp"
#include "support/errors.hpp"
#include "support/fingerprint.hpp"

namespace {

using namespace fastfs::core;

fastfs_projse_options read_projse_options(const fastfs_projse_options* given) {
    const auto o = read_options(given, FASTFS_PROJSE_OPTIONS_INIT);
    if (o.sigma_rule == FASTFS_PROJSE_SIGMA_GIVEN) require_positive(o.sigma, "sigma");
    return o;
}

// Checks the arrays of the result, and lets choose(result) fill it with a choice among n_candidates features.
template <class F>
void fill_projse(const Run& run, fastfs_projse_result* result, fastfs_fitted** fitted, const fastfs_projse_options& o,
                 std::int64_t n_candidates, F&& choose) {
    require(o.n_select <= n_candidates, "n_select must be at most the ", n_candidates, " candidates; got ", o.n_select);
    fill_fitted(run, result, FASTFS_PROJSE_RESULT_INIT, fitted, choose);
}

// Throws if both Y and labels are given, if Y is sparse or lacks rows of X, or if a label is outside 0..n_classes - 1.
void require_targets(const Matrix& X, const Matrix* Y, const std::int64_t* labels, std::int64_t n_classes) {
    require(!Y || !labels, "one of Y and labels must be null; got both");
    if (Y) {
        require(!Y->is_sparse(), "Y must be dense; got a sparse Y: make it dense");
        require(Y->n_rows() == X.n_rows(), "X and Y must have the same number of rows; got ", X.n_rows(), " and ",
                Y->n_rows());
        require_size(Y->n_cols(), 1, "the number of columns of Y");
    }
    if (labels) require_in_range(labels, X.n_rows(), n_classes);
    require_size(X.n_cols(), 1, "the number of columns of X");
}

class ProjseBlocks : public Stream {
  public:
    static constexpr auto kMethod = FASTFS_STREAM_PROJSE;

    ProjseBlocks(std::int64_t n_y, std::int64_t n_x, std::int64_t views) : n_y_(n_y), views_(views) {
        const bool has_xx = views == FASTFS_PROJSE_TWO_VIEWS || n_y == 0;
        for (std::int64_t g = has_groups() ? n_y : 1; g > 0; --g) {
            sums_.emplace_back(has_groups() ? 1 : n_y, n_x, has_xx);
        }
    }

    fastfs_stream_method method() const override { return kMethod; }
    std::int64_t n_cols() const override { return sums_.front().columns(ProjseSums::kX).n; }
    std::int64_t n_rows() const override {
        std::int64_t n = 0;
        for (const ProjseSums& sums : sums_) n += sums.n_rows();
        return n;
    }
    std::int64_t n_groups() const override { return std::ssize(sums_); }
    std::int64_t n_y() const override { return n_y_; }
    std::uint64_t fingerprint() const override { return Fingerprint().hash(n_y_).hash(n_cols()).hash(views_).value(); }

    // Adds a block of rows to the sums: of their groups, or of all rows with Y or labels.
    void update(const RowBlock& block, Run& run) override {
        const Matrix& X = block.X;
        if (has_groups()) {
            require(!block.Y, "block.Y must be null for FASTFS_PROJSE_GROUPS");
            require(!X.is_sparse() || X.is_csr(),
                    "a sparse block of X must be CSR for groups; got CSC: give X.tocsr()");
            require_in_range(block.labels, X.n_rows(), n_y_, "groups");
            std::vector<ProjseSums*> sums;
            for (ProjseSums& one : sums_) sums.push_back(&one);
            ProjseSums::update_groups(sums, X, block.labels, run);
            return;
        }
        const Matrix* Y = block.Y ? &*block.Y : nullptr;
        require_targets(X, Y, block.labels, n_y_);
        require(!Y || Y->n_cols() == n_y_, "a block of Y must have ", n_y_, " columns; got ", Y ? Y->n_cols() : 0);
        require((Y || block.labels) == (n_y_ > 0),
                n_y_ > 0 ? "every block must have Y or labels; got X alone"
                         : "block.Y and block.labels must be null for a stream with n_y = 0");
        sums_.front().update({X, Y, block.labels}, run);
    }
    // Adds the sums of another stream, group by group; all sums stay as they were if one is out of range.
    void merge(const Stream& other) override {
        const auto& others = static_cast<const ProjseBlocks&>(other).sums_;
        Run run(FASTFS_RUN_INIT);
        if (!has_groups()) return sums_.front().merge(others.front().copy(), run);
        std::vector<ProjseSums> merged;  // so that all sums stay as they were if one is out of range
        for (std::size_t g = 0; g < sums_.size(); ++g) {
            merged.push_back(sums_[g].copy());
            merged.back().merge(others[g].copy(), run);
        }
        sums_ = std::move(merged);
    }
    void means(double* counts, double* means) const override {
        for (const ProjseSums& sums : sums_) {
            if (counts) *counts++ = static_cast<double>(sums.n_rows());
            const auto& mean = sums.columns(ProjseSums::kX).mean;
            if (means) means = std::copy(mean.begin(), mean.end(), means);
        }
    }
    std::unique_ptr<Stream> copy() const override {
        auto twin = std::make_unique<ProjseBlocks>(n_y_, n_cols(), views_);
        for (std::size_t g = 0; g < sums_.size(); ++g) twin->sums_[g] = sums_[g].copy();
        return twin;
    }
    void save_state(ByteWriter& to) const override {
        for (const ProjseSums& sums : sums_) sums.save_state(to);
    }
    void load_state(ByteReader& from) override {
        ProjseBlocks other(n_y_, n_cols(), views_);
        for (ProjseSums& sums : other.sums_) sums.load_state(from);
        from.expect_end();
        sums_ = std::move(other.sums_);
    }

    bool has_groups() const { return views_ == FASTFS_PROJSE_GROUPS; }
    // Returns the sums of all rows.
    const ProjseSums& sums() const { return sums_.front(); }
    // Returns the bytes that sums_of takes.
    std::int64_t memory_of(std::int64_t n_classes) const { return 2 * ProjseSums::memory(n_classes, n_cols(), false); }
    // Returns the sums of the groups that have a class, as rows of that class.
    ProjseSums sums_of(const std::int64_t* classes, std::int64_t n_classes, const Run& run) const {
        if (!run.is_question()) {
            run.require_memory(memory_of(n_classes), {"the sums of ", n_classes, " classes"}, "give fewer classes");
        }
        ProjseSums total(n_classes, n_cols(), false);
        Run quiet(FASTFS_RUN_INIT);
        for (std::int64_t g = 0; g < n_y_; ++g) {
            const ProjseSums& group = sums_[at(g)];
            if (classes[g] >= 0 && group.n_rows() > 0) total.merge(group.as_class(n_classes, classes[g]), quiet);
        }
        return total;
    }

  private:
    std::int64_t n_y_;
    std::int64_t views_;
    std::vector<ProjseSums> sums_;  // of each group, or of all rows
};

// Throws if the class of a group is outside -1..n_classes - 1.
void require_classes(const std::int64_t* classes, std::int64_t n_groups, std::int64_t n_classes) {
    require_array(classes, "classes");
    require_size(n_classes, 1, "n_classes");
    for (std::int64_t g = 0; g < n_groups; ++g) {
        require(classes[g] >= -1 && classes[g] < n_classes, "classes must be from -1 to ", n_classes - 1, "; got ",
                classes[g], " for group ", g);
    }
}

}  // namespace

extern "C" {

fastfs_status fastfs_projse(const fastfs_matrix* X_, const fastfs_matrix* Y_, const int64_t* labels, int64_t n_classes,
                            const fastfs_projse_options* options, const fastfs_run* run_, fastfs_projse_result* result,
                            fastfs_fitted** fitted) {
    return guarded([&] {
        const Matrix X = read_matrix(X_);
        if (labels) require_size(n_classes, 1, "n_classes");
        std::optional<Matrix> Y;
        if (Y_) Y.emplace(read_matrix(Y_, kY));
        require_targets(X, Y ? &*Y : nullptr, labels, n_classes);
        const auto o = read_projse_options(options);
        require(!o.from_y, "from_y must be 0: to choose among the columns of Y, exchange X and Y");
        Run run = read_run(run_);
        fill_projse(run, result, fitted, o, X.n_cols(),
                    [&](auto& r) { projse({X, Y ? &*Y : nullptr, labels}, n_classes, o, run, r); });
    });
}

fastfs_status fastfs_projse_kernels(int64_t n_y, int64_t n_x, const double* K_YY, const double* K_YX,
                                    const double* K_XX, const fastfs_projse_options* options, const fastfs_run* run_,
                                    fastfs_projse_result* result, fastfs_fitted** fitted) {
    return guarded([&] {
        require_size(n_y, 1, "n_y");
        require_size(n_x, 1, "n_x");
        require_array(K_YY, "K_YY");
        require_array(K_YX, "K_YX");
        require_array(K_XX, "K_XX");
        const auto o = read_projse_options(options);
        require(!o.from_y, "from_y must be 0: exchange the kernels instead");
        require(o.n_given == 0, "n_given must be 0 for kernels; got ", o.n_given);
        Run run = read_run(run_);
        fill_projse(run, result, fitted, o, n_x,
                    [&](auto& r) { projse_kernels(n_y, n_x, K_YY, K_YX, K_XX, o, run, r); });
    });
}

// Writes the scores of all columns under each labeling, n_labelings x n_cols, before any choice, to `scores`.
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
        require(o.kernel == FASTFS_LINEAR && !o.custom,
                "kernel must be \"linear\", without a custom kernel, for the scores of many labelings; got ",
                o.custom ? "a custom kernel" : "another kernel", ": score one labeling at a time with it");
        Run run = read_run(run_);
        require_output(run, scores, "scores");
        projse_label_scores(X, labels, n_labelings, n_classes, o, run, scores);
    });
}

fastfs_status fastfs_projse_stream_new(int64_t n_y, int64_t n_x, int32_t views, const fastfs_run* run_,
                                       fastfs_stream** stream) {
    return guarded([&] {
        const Run run = read_run(run_);
        require_output(run, stream, "stream");
        require(views >= FASTFS_PROJSE_ONE_VIEW && views <= FASTFS_PROJSE_GROUPS,
                "views must be one of FASTFS_PROJSE_ONE_VIEW, _TWO_VIEWS and _GROUPS; got ", views);
        require_size(n_y, views == FASTFS_PROJSE_GROUPS, "n_y");
        require_size(n_x, 1, "n_x");
        const std::int64_t bytes = views == FASTFS_PROJSE_GROUPS
                                       ? n_y * ProjseSums::memory(1, n_x, false)
                                       : ProjseSums::memory(n_y, n_x, views == FASTFS_PROJSE_TWO_VIEWS || n_y == 0);
        run.require_memory(2 * bytes, {"the table of sums of ", n_y, " and ", n_x, " variables"},
                           "give fewer variables");
        *stream = new fastfs_stream(std::make_unique<ProjseBlocks>(n_y, n_x, views));
    });
}

fastfs_status fastfs_projse_stream_finish(const fastfs_stream* stream, const int64_t* classes, int64_t n_classes,
                                          const fastfs_projse_options* options, const fastfs_run* run_,
                                          fastfs_projse_result* result, fastfs_fitted** fitted) {
    return guarded([&] {
        const UseStream<ProjseBlocks> use(stream, "stream");
        const auto o = read_projse_options(options);
        Run run = read_run(run_);
        const std::int64_t n_candidates = o.from_y ? use->n_y() - o.n_given : use->n_cols();
        if (!use->has_groups()) {
            require(!classes, "classes must be null: this stream has no groups of rows");
            fill_projse(run, result, fitted, o, n_candidates,
                        [&](auto& chosen) { projse_select(use->sums(), o, run, chosen); });
            return;
        }
        require(o.n_given == 0, "n_given must be 0 for groups of rows; got ", o.n_given);
        require_classes(classes, use->n_y(), n_classes);
        const ProjseSums sums = use->sums_of(classes, n_classes, run);
        fill_projse(run, result, fitted, o, n_candidates,
                    [&](auto& chosen) { projse_select(sums, o, run, chosen, use->memory_of(n_classes)); });
    });
}

}  // extern "C"
