// The C interface of streams of the RELIEF family.
#include <algorithm>
#include <memory>
#include <vector>

#include "capi/abi.hpp"
#include "capi/checks.hpp"
#include "capi/fields.hpp"
#include "capi/fitted.hpp"
#include "capi/stream.hpp"
#include "margin/relief_stream.hpp"
#include "support/errors.hpp"

namespace {

using namespace fastfs::core;

class ReliefBlocks : public Stream {
  public:
    static constexpr auto kMethod = FASTFS_STREAM_RELIEF;

    template <class... Arguments>
    explicit ReliefBlocks(Arguments&&... arguments) : data_(std::forward<Arguments>(arguments)...) {}

    fastfs_stream_method method() const override { return kMethod; }
    std::int64_t n_cols() const override { return data_.n_cols(); }
    std::int64_t n_rows() const override { return data_.n_rows_read(); }
    std::int64_t n_groups() const override { return data_.n_classes(); }
    int n_passes() const override { return 2; }
    int pass() const override { return data_.pass(); }
    std::uint64_t fingerprint() const override { return data_.fingerprint(); }
    std::uint64_t fingerprint_of_passes() const override { return data_.fingerprint_of_passes(); }
    void require_intact() const override { data_.require_intact(); }

    void update(const RowBlock& block, Run& run) override {
        const Matrix& X = block.X;
        require_only_X(block);
        require(X.is_dense() || X.is_csr(), "a block of X must be dense or CSR; got CSC or genotypes: convert it");
        require_rows(block, data_.n_rows());
        data_.require_like(X);
        if (X.n_rows() > 0) data_.update(X, block.first_row, run);
    }
    void merge(const Stream& other) override {
        const ReliefStream& others = static_cast<const ReliefBlocks&>(other).data_;
        data_.require_like(others);
        data_.merge(others);
    }
    void next_pass(Run& run) override {
        data_.require_all_rows();
        data_.next_pass(run);
    }
    std::unique_ptr<Stream> copy() const override { return std::make_unique<ReliefBlocks>(data_); }
    void save_state(ByteWriter& to) const override { data_.save_state(to); }
    void load_state(ByteReader& from) override { data_.load_state(from); }

    const ReliefStream& data() const { return data_; }

  private:
    ReliefStream data_;
};

// Reads the options of the caller, and checks that a stream can follow them.
fastfs_relief_options read_stream_options(const fastfs_relief_options* given, std::int64_t n_rows,
                                          std::int64_t n_classes, int scaling) {
    const auto o = read_options(given, FASTFS_RELIEF_OPTIONS_INIT);
    require(o.method == FASTFS_RELIEF || o.method == FASTFS_RELIEFF,
            "method must be FASTFS_RELIEF or FASTFS_RELIEFF for a stream; got ", o.method);
    require(o.target == FASTFS_TARGET_CLASS, "target must be FASTFS_TARGET_CLASS for a stream; got ", o.target);
    require(o.far == 0, "far must be 0 for a stream; got ", o.far);
    require_relief_options(o, n_rows);
    require(scaling >= FASTFS_SCALE_NONE && scaling <= FASTFS_SCALE_STANDARD,
            "scaling must be one of FASTFS_SCALE_*; got ", scaling);
    if (o.priors) require_positive(o.priors, n_classes, "priors");
    return o;
}

// Throws unless `merged` gives each of n_classes classes the merged class that holds it, from 0 to n_merged - 1, none
// of them empty.
void require_merged(const std::int64_t* merged, std::int64_t n_classes, std::int64_t n_merged) {
    require_array(merged, "merged");
    require(n_merged >= 2 && n_merged <= n_classes, "n_merged must be from 2 to the ", n_classes, " classes; got ",
            n_merged);
    std::vector<bool> seen(at(n_merged));
    for (std::int64_t c = 0; c < n_classes; ++c) {
        if (merged[c] < 0 || merged[c] >= n_merged) {
            refuse({"merged must be from 0 to ", n_merged - 1, "; got ", merged[c], " for ", Name::class_(c)});
        }
        seen[at(merged[c])] = true;
    }
    const auto missing = std::find(seen.begin(), seen.end(), false) - seen.begin();
    require(missing == n_merged, "merged must hold each number from 0 to ", n_merged - 1, "; got no ", missing);
}

}  // namespace

extern "C" {

fastfs_status fastfs_relief_stream_new(int64_t n_rows, int64_t n_cols, const int64_t* labels, int64_t n_classes,
                                       int32_t scaling, const fastfs_relief_options* options, const fastfs_run* run_,
                                       fastfs_stream** stream) {
    return guarded([&] {
        const Run run = read_run(run_);
        require_output(run, stream, "stream");
        require_size(n_rows, 2, "n_rows");
        require_size(n_cols, 1, "n_cols");
        require(n_cols <= kMostFeatures, "n_cols must be at most ", kMostFeatures, "; got ", n_cols);
        require_labels(labels, n_rows, n_classes);
        const auto o = read_stream_options(options, n_rows, n_classes, scaling);
        run.require_memory(24 * n_rows + 48 * n_cols, {"the labels of ", n_rows, " rows"});
        *stream = new fastfs_stream(
            std::make_unique<ReliefBlocks>(n_rows, n_cols, labels, n_classes, static_cast<Scaling>(scaling), o));
    });
}

fastfs_status fastfs_relief_stream_finish(const fastfs_stream* stream, const int64_t* merged, int64_t n_merged,
                                          const fastfs_run* run_, fastfs_relief_result* result,
                                          fastfs_fitted** fitted) {
    return guarded([&] {
        const UseStream<ReliefBlocks> use(stream, "stream");
        const ReliefStream& data = use->data();
        Run run = read_run(run_);
        require_last_pass(*use);
        data.require_all_rows();
        if (merged) require_merged(merged, data.n_classes(), n_merged);
        fill_fitted(run, result, FASTFS_RELIEF_RESULT_INIT, fitted,
                    [&](auto& r) { data.scores(merged, n_merged, run, r); });
    });
}

}  // extern "C"
