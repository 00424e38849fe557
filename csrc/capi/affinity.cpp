// The C interface: pairs of features, and eigenproblems.
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "capi/abi.hpp"
#include "capi/checks.hpp"
#include "capi/stream.hpp"
#include "engines/affinity.hpp"
#include "engines/neighbors.hpp"
#include "engines/spectral.hpp"
#include "engines/table_affinity.hpp"
#include "support/errors.hpp"
#include "support/fingerprint.hpp"

namespace {

using namespace fastfs::core;

class GramBlocks : public Stream {
  public:
    static constexpr auto kMethod = FASTFS_STREAM_GRAM;

    GramBlocks(std::int64_t n_features, Run& run) : sums_(n_features, run) {}

    fastfs_stream_method method() const override { return kMethod; }
    std::int64_t n_cols() const override { return sums_.n_features(); }
    std::int64_t n_rows() const override { return sums_.n_rows(); }
    std::uint64_t fingerprint() const override { return Fingerprint().hash(sums_.n_features()).value(); }

    void update(const RowBlock& block, Run& run) override {
        require_only_X(block);
        sums_.update(Samples(block.X), run);
    }
    void merge(const Stream& other) override { sums_.merge(static_cast<const GramBlocks&>(other).sums_); }

    const Gram& sums() const { return sums_; }

  private:
    Gram sums_;
};

// Checks the options, and returns the kernel that they choose.
Kernel read_kernel(const fastfs_affinity_options* given) {
    const auto options = read(given, FASTFS_AFFINITY_OPTIONS_INIT, "options");
    require(options.reserved == 0, "options.reserved must be 0; got ", options.reserved);
    switch (options.kernel) {
        case FASTFS_RBF:
            require_positive(options.sigma, "sigma");
            return {Kernel::Kind::kRbf, options.sigma};
        case FASTFS_SQEUCLIDEAN:
            return {Kernel::Kind::kSquaredDistance};
        case FASTFS_LINEAR:
            return {Kernel::Kind::kLinear};
        case FASTFS_CUSTOM:
            require(options.custom != nullptr, "custom must be a function for FASTFS_CUSTOM; got null");
            require_positive(options.sigma, "sigma");
            return {Kernel::Kind::kCustom, options.sigma, options.custom, options.user};
        default:
            throw InvalidArgument(
                {"kernel must be one of FASTFS_RBF, FASTFS_SQEUCLIDEAN, FASTFS_LINEAR, FASTFS_CUSTOM; got ",
                 options.kernel});
    }
}

}  // namespace

extern "C" {

fastfs_status fastfs_affinity(const fastfs_matrix* X_, const fastfs_affinity_options* options, const fastfs_run* run_,
                              void* out) {
    return guarded([&] {
        const Samples X(read_matrix(X_));
        const Kernel kernel = read_kernel(options);
        Run run = read_run(run_);
        const std::int64_t d = X.n_cols();
        require(d <= kMostFeatures, "X must have at most ", kMostFeatures,
                " features, or their pairs can't be stored; got ", d);
        if (!run.is_question()) require_array(out, X.is_float32() ? 4 : 8, "out");
        table_affinity(X, kernel, run, out);
    });
}

fastfs_status fastfs_affinity_product(const fastfs_matrix* X_, const fastfs_affinity_options* options, const void* V,
                                      int64_t p, const fastfs_run* run_, void* out) {
    return guarded([&] {
        const Samples X(read_matrix(X_));
        const Kernel kernel = read_kernel(options);
        Run run = read_run(run_);
        require(p >= 1 && p <= kMostValues / 1024 / X.n_cols(), "V must have from 1 to ",
                kMostValues / 1024 / X.n_cols(), " columns; got ", p);
        for (const auto& [array, name] : {std::pair<const void*, const char*>{V, "V"}, {out, "out"}}) {
            if (!run.is_question()) require_array(array, X.is_float32() ? 4 : 8, name);
        }
        table_affinity_product(X, kernel, V, p, run, out);
    });
}

fastfs_status fastfs_gram_stream_new(int64_t n_features, const fastfs_run* run_, fastfs_stream** stream) {
    return guarded([&] {
        Run run = read_run(run_);
        require_output(run, stream, "stream");
        require(n_features >= 1 && n_features <= kMostFeatures, "n_features must be from 1 to 4e8; got ", n_features);
        *stream = new fastfs_stream(std::make_unique<GramBlocks>(n_features, run));
    });
}

fastfs_status fastfs_gram_stream_finish(const fastfs_stream* stream, const fastfs_affinity_options* options,
                                        const fastfs_run* run_, double* out) {
    return guarded([&] {
        const UseStream<GramBlocks> use(stream, "stream");
        const Kernel kernel = read_kernel(options);
        Run run = read_run(run_);
        require_output(run, out, "out");
        use->sums().affinity(kernel, run, out);
    });
}

// Replaces A by its eigenvectors, and writes the ascending eigenvalues to w.
fastfs_status fastfs_eigh(int64_t n, double* A, double* w, const fastfs_run* run_) {
    return guarded([&] {
        Run run = read_run(run_);
        require_output(run, A, "A");
        require_output(run, w, "w");
        require(n >= 1 && n <= kMostFeatures, "n must be from 1 to 4e8; got ", n);
        eigh(n, A, w, run);
    });
}

// Replaces K1 by W, and writes nu and the rank, where K1 + K2 = W W' and K1 - K2 = W diag(nu) W'.
fastfs_status fastfs_pencil(int64_t n, double* K1, const double* K2, double* nu, int64_t* rank,
                            const fastfs_run* run_) {
    return guarded([&] {
        Run run = read_run(run_);
        require_output(run, K1, "K1");
        require_output(run, K2, "K2");
        require_output(run, nu, "nu");
        require_output(run, rank, "rank");
        require(n >= 1 && n <= kMostFeatures, "n must be from 1 to 4e8; got ", n);
        *rank = pencil(n, K1, K2, nu, run);
    });
}

fastfs_status fastfs_nearest_features(const fastfs_matrix* X_, int64_t n_neighbors, const fastfs_run* run_,
                                      int64_t* neighbors, double* distances) {
    return guarded([&] {
        const Samples X(read_matrix(X_));
        Run run = read_run(run_);
        require_size(X.n_cols(), 2, "the number of features");
        require(n_neighbors >= 1 && n_neighbors < X.n_cols(), "n_neighbors must be from 1 to the ", X.n_cols() - 1,
                " other features; got ", n_neighbors);
        require_output(run, neighbors, "neighbors");
        require_output(run, distances, "distances");
        run.require_memory(nearest_features_memory(X, n_neighbors, run.n_threads()),
                           {"the neighbours of ", X.n_cols(), " features"});
        nearest_features(X, n_neighbors, run, neighbors, distances);
    });
}

}  // extern "C"
