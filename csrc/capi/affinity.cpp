// The C interface: pairs of features, and eigenproblems.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <type_traits>
#include <vector>

#include "capi/abi.hpp"
#include "capi/checks.hpp"
#include "engines/affinity.hpp"
#include "engines/columns.hpp"
#include "engines/neighbors.hpp"
#include "engines/spectral.hpp"
#include "support/buffer.hpp"
#include "support/errors.hpp"
#include "support/parallel.hpp"

struct fastfs_gram {
    fastfs::core::Gram sums;
    mutable std::mutex mutex = {};
};

namespace {

using namespace fastfs::core;

Kernel read_kernel(const fastfs_affinity_options* given) {
    const auto options = read(given, FASTFS_AFFINITY_OPTIONS_INIT, "options");
    require(options.reserved == 0, "options.reserved must be 0");
    switch (options.kernel) {
        case FASTFS_RBF:
            require(options.sigma > 0 && std::isfinite(options.sigma),
                    "sigma must be a positive number, not " + text(options.sigma));
            return {Kernel::Kind::kRbf, options.sigma};
        case FASTFS_SQEUCLIDEAN:
            return {Kernel::Kind::kSquaredDistance};
        case FASTFS_LINEAR:
            return {Kernel::Kind::kLinear};
        case FASTFS_CUSTOM:
            require(options.custom != nullptr, "a FASTFS_CUSTOM kernel needs its function: custom is null");
            require(options.sigma > 0 && std::isfinite(options.sigma),
                    "sigma must be a positive number, not " + text(options.sigma));
            return {Kernel::Kind::kCustom, options.sigma, options.custom, options.user};
        default:
            throw InvalidArgument(
                "kernel must be one of FASTFS_RBF, FASTFS_SQEUCLIDEAN, FASTFS_LINEAR, FASTFS_CUSTOM, not " +
                std::to_string(options.kernel));
    }
}

template <class T>
Features<T> all_features(const Samples& X, const std::vector<double>& maxima, const Kernel& kernel, Run& run) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(X.n_rows()));
    std::iota(rows.begin(), rows.end(), 0);
    // A kernel of the caller's takes distances in units of the data: unless these could overflow, they start in them.
    const double unit = common_unit(maxima, rows);
    const bool as_is = kernel.kind == Kernel::Kind::kCustom && unit > 1e-100 && unit < 1e100;
    // The offset of a row takes as long to find as a few distances to compute again, where these lose their digits; a
    // double has enough of them for those that aren't. The squares of larger values may be more than the output can
    // hold, although those of what offsets leave aren't.
    constexpr std::int64_t kFewFeatures = 8;
    const bool few = std::is_same_v<T, double> && X.n_cols() <= kFewFeatures && unit < 0x1p30;
    const Shift shift = few ? Shift::kNone : kernel.shift();
    Features<T> features(X, rows, as_is ? 1 : unit, shift, run);
    if (std::is_same_v<T, float> || X.is_sparse() || shift == Shift::kNone || as_is) return features;
    // Offsets that are much larger than all the rest take its squares below what a double can hold, or their unit's
    // square above what the output can: what is left is measured by itself.
    if (features.largest_squared_norm() >= (unit < 0x1p60 ? 0x1p-20 : 0.25)) return features;
    for (const double maximum : maxima) {
        require(maximum == 0 || maximum >= 0x1p-900 * unit, "the values of X lie too far from each other, from " +
                                                                text(maximum) + " to " + text(unit) +
                                                                ": drop the rows that are so much larger");
    }
    const double rest = features.largest_value();
    const double smaller = std::max(rest == 0 ? unit : unit * std::ldexp(1.0, std::ilogb(rest)), 0x1p-1020);
    if (smaller == unit) return features;
    features = Features<T>();  // before there is another one
    return Features<T>(X, rows, smaller, shift, run);
}

// Calls f with the features of X in single precision if that serves, in double otherwise.
template <class F>
void with_features(const Samples& X, const Kernel& kernel, Run& run, F&& f) {
    run.step("affinity", 1.0);
    const auto maxima = X.row_maxima(run);
    if (X.is_float32()) {
        const auto features = all_features<float>(X, maxima, kernel, run);
        if (float_tiles_serve(features, kernel)) return f(features);
    }
    f(all_features<double>(X, maxima, kernel, run));
}

// n_outputs values of the dtype of X are the caller's; p columns are multiplied, if any.
std::int64_t affinity_memory(const Samples& X, std::int64_t n_outputs, std::int64_t p, const Run& run) {
    const std::int64_t value = X.is_float32() ? 4 : 8;
    return n_outputs * value + Features<double>::memory(X, X.n_rows()) + tile_memory(run.n_threads(), p) +
           8 * X.n_cols() * (p + 1);
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
        require(d <= kMostFeatures, "the " + std::to_string(d) + " features have more pairs than can be stored");
        run.require_memory(
            affinity_memory(X, d * d, 0, run), "the affinity of " + std::to_string(d) + " features",
            "raise max_memory (or FASTFS_MAX_MEMORY), give fewer features, or stream it (affinity_product)");
        require_aligned(out, X.is_float32() ? 4 : 8, "out");
        with_features(X, kernel, run, [&](const auto& features) {
            if (X.is_float32()) {
                affinity(features, kernel, run, static_cast<float*>(out));
            } else if constexpr (std::is_same_v<decltype(features), const Features<double>&>) {
                affinity(features, kernel, run, static_cast<double*>(out));
            }
        });
    });
}

fastfs_status fastfs_affinity_product(const fastfs_matrix* X_, const fastfs_affinity_options* options, const void* V,
                                      int64_t p, const fastfs_run* run_, void* out) {
    return guarded([&] {
        const Samples X(read_matrix(X_));
        const Kernel kernel = read_kernel(options);
        Run run = read_run(run_);
        require(p >= 1 && p <= kMostValues / 1024 / X.n_cols(),
                "V must have at least one column and fit the memory, but has " + std::to_string(p));
        run.require_memory(affinity_memory(X, X.n_cols() * p, p, run),
                           "the product of the affinity with " + std::to_string(p) + " columns",
                           "raise max_memory (or FASTFS_MAX_MEMORY), or multiply fewer columns at a time");
        require_aligned(V, X.is_float32() ? 4 : 8, "V");
        require_aligned(out, X.is_float32() ? 4 : 8, "out");
        with_features(X, kernel, run, [&](const auto& features) {
            if (X.is_float32()) {
                affinity_product(features, kernel, static_cast<const float*>(V), p, run, static_cast<float*>(out));
            } else if constexpr (std::is_same_v<decltype(features), const Features<double>&>) {
                affinity_product(features, kernel, static_cast<const double*>(V), p, run, static_cast<double*>(out));
            }
        });
    });
}

fastfs_status fastfs_gram_new(int64_t n_features, const fastfs_run* run_, fastfs_gram** gram) {
    return guarded([&] {
        Run run = read_run(run_);
        require_output(run, gram != nullptr, "gram is null");
        require(n_features >= 1 && n_features <= kMostFeatures,
                "a Gram matrix needs from 1 to 4e8 features, not " + std::to_string(n_features));
        *gram = new fastfs_gram{Gram(n_features, run)};
    });
}

fastfs_status fastfs_gram_update(fastfs_gram* gram, const fastfs_matrix* chunk, const fastfs_run* run_) {
    return guarded([&] {
        require(gram != nullptr, "gram is null");
        const Samples X(read_matrix(chunk));
        Run run = read_run(run_);
        std::lock_guard lock(gram->mutex);
        gram->sums.update(X, run);
    });
}

fastfs_status fastfs_gram_merge(fastfs_gram* gram, const fastfs_gram* other) {
    return guarded([&] {
        require(gram != nullptr && other != nullptr, "gram or other is null");
        if (gram == other) {
            std::lock_guard lock(gram->mutex);
            gram->sums.merge(gram->sums);
        } else {
            std::scoped_lock lock(gram->mutex, other->mutex);
            gram->sums.merge(other->sums);
        }
    });
}

fastfs_status fastfs_gram_affinity(const fastfs_gram* gram, const fastfs_affinity_options* options,
                                   const fastfs_run* run_, double* out) {
    return guarded([&] {
        require(gram != nullptr, "gram is null");
        const Kernel kernel = read_kernel(options);
        Run run = read_run(run_);
        if (!run.is_question()) require_aligned(out, sizeof(double), "out");
        std::lock_guard lock(gram->mutex);
        gram->sums.affinity(kernel, run, out);
    });
}

int64_t fastfs_gram_rows(const fastfs_gram* gram) {
    if (!gram) return 0;
    std::lock_guard lock(gram->mutex);
    return gram->sums.n_rows();
}

void fastfs_gram_free(fastfs_gram* gram) { std::unique_ptr<fastfs_gram> owner(gram); }

fastfs_status fastfs_eigh(int64_t n, double* A, double* w, const fastfs_run* run_) {
    return guarded([&] {
        Run run = read_run(run_);
        require_output(run, A != nullptr && w != nullptr, "A or w is null");
        require(n >= 1 && n <= kMostFeatures, "a matrix needs from 1 to 4e8 rows, not " + std::to_string(n));
        run.require_memory(16 * n * n, "the eigenvalues of a matrix with " + std::to_string(n) + " rows",
                           "raise max_memory (or FASTFS_MAX_MEMORY)");
        run.step("eigenvalues", 1.0);
        const SingleThreadedBlas held;
        SymmetricEigen eigen(n, A, run);
        eigen.make_vectors(0, n, run);
        std::copy(eigen.values().begin(), eigen.values().end(), w);
        std::copy(eigen.vector(0), eigen.vector(n), A);
    });
}

fastfs_status fastfs_pencil(int64_t n, double* K1, const double* K2, double* nu, int64_t* rank,
                            const fastfs_run* run_) {
    return guarded([&] {
        Run run = read_run(run_);
        require_output(run, K1 != nullptr && K2 != nullptr && nu != nullptr && rank != nullptr,
                       "K1, K2, nu or rank is null");
        require(n >= 1 && n <= kMostFeatures, "a matrix needs from 1 to 4e8 rows, not " + std::to_string(n));
        run.require_memory(24 * n * n, "the pencil of two matrices with " + std::to_string(n) + " rows",
                           "raise max_memory (or FASTFS_MAX_MEMORY)");
        run.step("pencil", 1.0);
        const SingleThreadedBlas held;
        Buffer<double> S(n * n);
        auto for_lower = [n](auto&& f) {
            for (std::int64_t j = 0; j < n; ++j) {
                for (std::int64_t i = j; i < n; ++i) f(i, j, j * n + i);
            }
        };
        for_lower([&](std::int64_t i, std::int64_t j, std::int64_t e) {
            if (std::isfinite(K1[e] + K2[e]) && std::isfinite(K1[e] - K2[e])) return;
            throw InvalidArgument("K1 or K2 contains NaN or infinity: first at row " + std::to_string(i) + ", column " +
                                  std::to_string(j));
        });
        require_semidefinite(n, K1, S.data());
        require_semidefinite(n, K2, S.data());
        for_lower([&](std::int64_t, std::int64_t, std::int64_t e) {
            const double sum = K1[e] + K2[e], difference = K1[e] - K2[e];
            K1[e] = difference;
            S[e] = sum;
        });
        const Pencil result = pencil(n, K1, S, run);
        *rank = static_cast<std::int64_t>(result.nu.size());
        std::copy(result.nu.begin(), result.nu.end(), nu);
        std::copy(result.W.data(), result.W.data() + n * *rank, K1);
    });
}

fastfs_status fastfs_nearest_features(const fastfs_matrix* X_, int64_t n_neighbors, const fastfs_run* run_,
                                      int64_t* neighbors, double* distances) {
    return guarded([&] {
        const Samples X(read_matrix(X_));
        Run run = read_run(run_);
        require_size(X.n_cols(), 2, "the number of features");
        require(n_neighbors >= 1 && n_neighbors < X.n_cols(),
                "n_neighbors must be from 1 to the " + std::to_string(X.n_cols() - 1) + " other features, not " +
                    std::to_string(n_neighbors));
        require_output(run, neighbors != nullptr && distances != nullptr, "neighbors or distances is null");
        run.require_memory(nearest_features_memory(X, n_neighbors, run.n_threads()),
                           "the neighbours of " + std::to_string(X.n_cols()) + " features",
                           "raise max_memory (or FASTFS_MAX_MEMORY)");
        nearest_features(X, n_neighbors, run, neighbors, distances);
    });
}

}  // extern "C"
