// The C interface: each function is one guarded lambda, and exceptions turn into codes here and nowhere else.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "disc/disc.hpp"
#include "fastfs/fastfs.h"
#include "ikdr/ikdr.hpp"
#include "margin/immigrate.hpp"
#include "engines/affinity.hpp"
#include "engines/isa/tiles.hpp"
#include "margin/margin.hpp"
#include "engines/neighbors.hpp"
#include "engines/spectral.hpp"
#include "manifest/manifest.hpp"
#include "projse/projse.hpp"
#include "margin/relief.hpp"
#include "support/errors.hpp"
#include "support/lapack.hpp"
#include "support/matrix.hpp"
#include "support/parallel.hpp"
#include "support/run.hpp"

struct fastfs_gram {
    fastfs::core::Gram sums;
    mutable std::mutex mutex = {};
};

struct fastfs_manifest {
    const fastfs::core::Manifest data;
};

struct fastfs_margin {
    const fastfs::core::Margin data;
};

struct fastfs_immigrate {
    const fastfs::core::Immigrate fit;
};

struct fastfs_disc {
    const std::vector<fastfs::core::DiscResult> sets;
};

struct fastfs_ikdr {
    const fastfs::core::Ikdr fit;
};

struct fastfs_projse_sums {
    fastfs::core::ProjseSums sums;
    mutable std::mutex mutex = {};
};

namespace {

using namespace fastfs::core;

thread_local std::string last_error;

fastfs_status fail(fastfs_status status, const char* message) noexcept {
    try {
        last_error = message;
    } catch (...) {
        last_error.clear();
    }
    return status;
}

// The code and message of the exception being handled. Apart from the template, of which there is one a function: the
// handlers in each took 20 kB.
[[gnu::noinline]] fastfs_status failure() noexcept {
    try {
        throw;
    } catch (const Answered&) {
        return FASTFS_OK;
    } catch (const InvalidArgument& e) {
        return fail(FASTFS_EINVAL, e.what());
    } catch (const AlreadyRegistered& e) {
        return fail(FASTFS_EEXIST, e.what());
    } catch (const OutOfMemory& e) {
        return fail(FASTFS_ENOMEM, e.what());
    } catch (const std::bad_alloc&) {
        return fail(FASTFS_ENOMEM,
                    "the system gave no more memory, although the budget allowed it: set max_memory lower");
    } catch (const NumericError& e) {
        return fail(FASTFS_ENUMERIC, e.what());
    } catch (const Canceled& e) {
        return fail(FASTFS_ECANCELED, e.what());
    } catch (const std::exception& e) {
        return fail(FASTFS_EINTERNAL, e.what());
    } catch (...) {
        return fail(FASTFS_EINTERNAL, "an exception of unknown type");
    }
}

template <class F>
fastfs_status guarded(F&& f) noexcept {
    try {
        f();
        return FASTFS_OK;
    } catch (...) {
        return failure();
    }
}

// Reads a struct of the caller's header version into ours: what an older header lacks keeps its default, what a newer
// one has besides must be zero.
template <class Struct>
Struct read(const Struct* given, Struct defaults, const char* name) {
    if (given == nullptr) return defaults;
    const std::size_t size = given->struct_size;
    require(size >= sizeof(std::size_t) && size <= 4096 && size % alignof(Struct) == 0,
            std::string(name) + ".struct_size is " + std::to_string(size) +
                ": set it to the sizeof of the struct, as the _INIT macros of fastfs.h do");
    const auto* bytes = reinterpret_cast<const unsigned char*>(given);
    for (std::size_t i = sizeof(Struct); i < size; ++i) {
        require(bytes[i] == 0, std::string(name) + " sets an option that this version of fastfs doesn't know");
    }
    std::memcpy(&defaults, given, std::min(size, sizeof(Struct)));
    defaults.struct_size = sizeof(Struct);
    return defaults;
}

// Lets f fill such a struct and hands it back; untouched where f throws.
template <class Struct, class F>
void fill(Struct* given, const Struct& defaults, const char* name, F&& f) {
    Struct ours = read(given, defaults, name);
    f(ours);
    require(given != nullptr, std::string(name) + " is null");
    const std::size_t size = given->struct_size;
    ours.struct_size = size;
    std::memcpy(given, &ours, std::min(size, sizeof(Struct)));
}

// Bytes of a few arrays of two such sizes stay within 64 bits.
void require_size(std::int64_t n, std::int64_t least, const char* name) {
    require(n >= least && n <= kMostFeatures,
            std::string(name) + " must be from " + std::to_string(least) + " to 4e8, not " + std::to_string(n));
}

// An output, or another array as large.
void require_fits(std::int64_t n_rows, std::int64_t n_cols, const char* name) {
    require(n_cols <= kMostValues / n_rows, std::string(name) + " of " + std::to_string(n_rows) + " x " +
                                                std::to_string(n_cols) + " values is more than a machine can hold");
}

// What a call writes to; a question (fastfs_run.bytes_needed) does without.
void require_output(const Run& run, bool given, const char* message) { require(given || run.is_question(), message); }

// An array of such structs, in steps of the first one's struct_size.
template <class Struct>
std::vector<Struct> read_all(const Struct* given, std::int64_t n, const Struct& defaults, const char* name) {
    require(given != nullptr && n >= 1, std::string(name) + " must hold at least one");
    std::vector<Struct> all;
    const auto* bytes = reinterpret_cast<const unsigned char*>(given);
    for (std::int64_t i = 0; i < n; ++i) {
        const auto* one = reinterpret_cast<const Struct*>(bytes + static_cast<std::size_t>(i) * given->struct_size);
        require(one->struct_size == given->struct_size, std::string(name) + " must all have the same struct_size");
        all.push_back(read(one, defaults, name));
    }
    return all;
}

Matrix read_matrix(const fastfs_matrix* X) {
    require(X != nullptr, "X is null");
    return Matrix(read(X, fastfs_matrix{}, "X"));
}

Run read_run(const fastfs_run* run) { return Run(read(run, FASTFS_RUN_INIT, "run")); }

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

// Kernels store whole registers, which start where values do.
void require_aligned(const void* values, std::size_t size, const char* name) {
    require(values != nullptr, std::string(name) + " is null");
    require(reinterpret_cast<std::uintptr_t>(values) % size == 0,
            std::string(name) + " must be aligned to its values of " + std::to_string(size) + " bytes");
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

fastfs_projse_options read_projse_options(const fastfs_projse_options* given) {
    const auto o = read(given, FASTFS_PROJSE_OPTIONS_INIT, "options");
    require(o.kernel == FASTFS_LINEAR || o.kernel == FASTFS_POLY || o.kernel == FASTFS_RBF,
            "kernel must be FASTFS_LINEAR, FASTFS_POLY or FASTFS_RBF, not " + std::to_string(o.kernel));
    require(o.degree >= 1, "degree must be at least 1, but is " + std::to_string(o.degree));
    require(o.sigma_rule >= FASTFS_PROJSE_SIGMA_MEAN && o.sigma_rule <= FASTFS_PROJSE_SIGMA_GIVEN,
            "sigma_rule must be one of FASTFS_PROJSE_SIGMA_*, not " + std::to_string(o.sigma_rule));
    require(o.sigma_rule != FASTFS_PROJSE_SIGMA_GIVEN || (o.sigma > 0 && std::isfinite(o.sigma)),
            "sigma must be a positive number, not " + text(o.sigma));
    require(o.eps >= 0 && std::isfinite(o.eps), "eps must be a number of at least 0, but is " + text(o.eps));
    require(o.n_select >= 1, "n_select must be at least 1, but is " + std::to_string(o.n_select));
    require(o.center == 0 || o.center == 1 || o.center == FASTFS_PROJSE_CENTER_AUTO,
            "center must be 0, 1 or FASTFS_PROJSE_CENTER_AUTO, not " + std::to_string(o.center));
    for (const int flag : {o.normalize, o.from_y}) {
        require(flag == 0 || flag == 1, "normalize and from_y must be 0 or 1, not " + std::to_string(flag));
    }
    return o;
}

// Lets choose(result) fill the result of a choice among so many.
template <class F>
void fill_projse(fastfs_projse_result* given, const fastfs_projse_options& o, std::int64_t n_candidates, const Run& run,
                 F&& choose) {
    require(o.n_select <= n_candidates, "n_select = " + std::to_string(o.n_select) + " is more than the " +
                                            std::to_string(n_candidates) + " candidates");
    require_output(run, given != nullptr, "result is null");
    fill(given, FASTFS_PROJSE_RESULT_INIT, "result", [&](fastfs_projse_result& r) {
        require_output(run, r.scores && r.selected && r.selection_scores && r.gaps && r.captured,
                       "an array of the result is null");
        r.n_selected = 0;
        r.warnings = 0;
        r.center = 0;
        r.rank = 0;
        r.sigma = 0;
        choose(r);
    });
}

void require_in_range(const int64_t* labels, std::int64_t n_rows, std::int64_t n_classes) {
    for (std::int64_t r = 0; r < n_rows; ++r) {
        if (labels[r] >= 0 && labels[r] < n_classes) continue;
        throw InvalidArgument("labels must lie in 0.." + std::to_string(n_classes - 1) + ", but that of row " +
                              std::to_string(r) + " is " + std::to_string(labels[r]));
    }
}

// At most one of Y and labels, with as many rows as X.
struct TargetRows {
    std::optional<Matrix> Y;

    TargetRows(const Matrix& X, const fastfs_matrix* Y_, const int64_t* labels, std::int64_t n_classes) {
        require(!Y_ || !labels, "give Y or labels, not both");
        if (Y_) {
            try {
                Y.emplace(read_matrix(Y_));
            } catch (const InvalidArgument& e) {
                throw InvalidArgument(std::string("in Y: ") + e.what());
            }
            require(!Y->is_sparse(), "Y must be dense");
            require(Y->n_rows() == X.n_rows(), "X and Y must have the same rows, but have " +
                                                   std::to_string(X.n_rows()) + " and " + std::to_string(Y->n_rows()));
            require_size(Y->n_cols(), 1, "the number of columns of Y");
        }
        if (labels) require_in_range(labels, X.n_rows(), n_classes);
        require_size(X.n_cols(), 1, "the number of columns of X");
    }
    const Matrix* y() const { return Y ? &*Y : nullptr; }
};

// One label for each row, each class at least once.
void require_labels(const int64_t* labels, std::int64_t n_rows, std::int64_t n_classes) {
    require(labels != nullptr, "labels are null");
    require(n_classes >= 2 && n_classes <= n_rows,
            "n_classes must be from 2 to the " + std::to_string(n_rows) + " rows, not " + std::to_string(n_classes));
    std::vector<bool> seen(static_cast<std::size_t>(n_classes));
    require_in_range(labels, n_rows, n_classes);
    for (std::int64_t r = 0; r < n_rows; ++r) seen[static_cast<std::size_t>(labels[r])] = true;
    for (std::int64_t c = 0; c < n_classes; ++c) {
        require(seen[static_cast<std::size_t>(c)], "no row has the label " + std::to_string(c));
    }
}

// Of IM4E and IMMIGRATE.
// Callers give arrays of so many costs.
constexpr std::int32_t kMostIterations = 1000000;

template <class Options>
void require_iteration(const Options& o) {
    require(o.sigma > 0 && std::isfinite(o.sigma), "sigma must be a positive number, not " + text(o.sigma));
    require(o.sigma_rule == FASTFS_MARGIN_SIGMA_GIVEN || o.sigma_rule == FASTFS_MARGIN_SIGMA_NEAREST,
            "sigma_rule must be one of FASTFS_MARGIN_SIGMA_*, not " + std::to_string(o.sigma_rule));
    require(o.max_iter >= 1 && o.max_iter <= kMostIterations,
            "max_iter must be from 1 to " + std::to_string(kMostIterations) + ", but is " + std::to_string(o.max_iter));
    require(o.tol >= 0 && std::isfinite(o.tol), "tol must be a number of at least 0, but is " + text(o.tol));
}

void require_features(const int64_t* features, std::int64_t n, std::int64_t n_cols) {
    require(!features || (n >= 1 && n <= n_cols),
            "features must be from 1 to " + std::to_string(n_cols) + ", not " + std::to_string(n));
    for (std::int64_t k = 0; features && k < n; ++k) {
        require(features[k] >= 0 && features[k] < n_cols && (k == 0 || features[k] > features[k - 1]),
                "features must be ascending columns of X, but number " + std::to_string(k) + " is " +
                    std::to_string(features[k]));
    }
}

// W in factors.
void require_factors(std::int64_t n_features, std::int64_t rank, const double* values, const double* vectors) {
    require(rank >= 1 && rank <= n_features, "the rank of a W must be from 1 to its " + std::to_string(n_features) +
                                                 " features, not " + std::to_string(rank));
    const auto finite = [](double x) { return std::isfinite(x); };
    require(std::all_of(values, values + rank, finite) && std::all_of(vectors, vectors + rank * n_features, finite),
            "the values and vectors of a W must not contain NaN or infinity");
}

fastfs_margin_metric read_metric(const fastfs_margin_metric* given, const Margin& margin) {
    auto metric = read(given, FASTFS_MARGIN_METRIC_INIT, "metric");
    const std::int64_t n_cols = margin.X().n_cols();
    require(metric.sigma > 0 && std::isfinite(metric.sigma),
            "sigma must be a positive number, not " + text(metric.sigma));
    require_features(metric.features, metric.n_features, n_cols);
    if (!metric.features) metric.n_features = n_cols;
    require(metric.weights || (metric.values && metric.vectors), "a metric needs weights, or values and vectors");
    if (metric.weights) {
        for (std::int64_t k = 0; k < metric.n_features; ++k) {
            require(metric.weights[k] >= 0 && std::isfinite(metric.weights[k]),
                    "the weights of a metric must be numbers of at least 0, but number " + std::to_string(k) + " is " +
                        text(metric.weights[k]));
        }
    } else {
        require_factors(metric.n_features, metric.rank, metric.values, metric.vectors);
    }
    return metric;
}

Matrix read_new_samples(const fastfs_matrix* X_, const Margin& margin) {
    const Matrix X = read_matrix(X_);
    require(!X.is_sparse(), "X must be dense");
    require(X.n_cols() == margin.X().n_cols(), "X must have the " + std::to_string(margin.X().n_cols()) +
                                                   " columns of the training data, but has " +
                                                   std::to_string(X.n_cols()));
    require(X.is_float32() == margin.X().is_float32(), "X must have the dtype of the training data");
    return X;
}

DiscSet read_disc_set(const fastfs_disc_set& given, std::int64_t number) {
    const std::string set = "set " + std::to_string(number);
    DiscSet s;
    if (given.X) s.X.emplace(read_matrix(given.X));
    if (given.W) s.W.emplace(read_matrix(given.W));
    s.neighbors = given.neighbors;
    s.distances = given.distances;
    s.n_neighbors = given.n_neighbors;
    s.n_components = given.n_components;
    s.kernel = given.kernel;
    s.user = given.user;
    s.n_features = s.W ? s.W->n_cols() : s.neighbors ? given.n_features : s.X ? s.X->n_cols() : 0;
    require(s.W || s.neighbors || s.X, set + " has no X, no W and no neighbors");
    require(s.n_features >= 4 && s.n_features <= kMostFeatures,
            "DiSC needs from 4 to 4e8 features, but " + set + " has " + std::to_string(s.n_features));
    require(!s.W || (s.W->is_csr() && s.W->is_sparse() && s.W->n_rows() == s.W->n_cols()),
            "the graph W of " + set + " must be a square CSR matrix, but is " +
                std::to_string(s.W ? s.W->n_rows() : 0) + " x " + std::to_string(s.n_features) + ", or dense");
    require(!s.neighbors || s.W || (s.distances && s.n_neighbors >= 1),
            "the neighbors of " + set + " need distances and n_neighbors >= 1");
    require(s.n_components >= 1,
            "n_components must be at least 1, but is " + std::to_string(s.n_components) + " in " + set);
    return s;
}

// Kernel m of the caller's: finite, symmetric, positive semidefinite, each up to 1e-8.
void require_kernel(const double* K, std::int64_t n, std::int64_t m, bool unit_diagonal, Run& run) {
    const std::string name = "matrix " + std::to_string(m);
    const auto place = [](std::int64_t i, std::int64_t j) {
        return "row " + std::to_string(i) + ", column " + std::to_string(j);
    };
    double largest = 0, trace = 0;
    for (std::int64_t e = 0; e < n * n; ++e) {
        if (!std::isfinite(K[e])) {
            throw InvalidArgument(name + " must not contain NaN or infinity, but has " + text(K[e]) + " in " +
                                  place(e / n, e % n) + " (counted from 0): mend it, or leave that sample out");
        }
        largest = std::max(largest, std::abs(K[e]));
    }
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < i; ++j) {
            if (std::abs(K[i * n + j] - K[j * n + i]) <= 1e-8 * largest) continue;
            throw InvalidArgument(name + " must be symmetric, but has " + text(K[j * n + i]) + " in " + place(j, i) +
                                  " and " + text(K[i * n + j] - K[j * n + i]) + " more in " + place(i, j) +
                                  " (counted from 0): if that is rounding, take its mean with its transpose");
        }
        trace += K[i * n + i];
        if (!unit_diagonal || std::abs(K[i * n + i] - 1) <= 1e-8) continue;
        throw InvalidArgument("with the distance term diagonals must be 1, but that of " + name + " has " +
                              text(K[i * n + i]) + " in row " + std::to_string(i) +
                              " (counted from 0): divide rows and columns by the roots of the diagonal");
    }
    run.checkpoint();
    Buffer<double> factor(n * n);
    std::copy_n(K, n * n, factor.data());
    for (std::int64_t i = 0; i < n; ++i) factor[i * n + i] += 1e-8 * trace;
    require(trace > 0 && potrf_lower(n, factor.data()),
            name +
                " must be positive semidefinite, but has a negative eigenvalue (or is zero): add a number to its "
                "diagonal, or take another kernel");
}

KernelSource read_ikdr_kernels(const fastfs_ikdr_kernels* kernels, bool unit_diagonal, Run& run) {
    require(kernels != nullptr, "kernels is null");
    const auto given = read(kernels, FASTFS_IKDR_KERNELS_INIT, "kernels");
    require((given.X != nullptr) != (given.matrices != nullptr),
            std::string("kernels must have either X or matrices, but have ") + (given.X ? "both" : "neither"));
    KernelSource source;
    source.n_kernels = given.n_kernels;
    if (given.matrices) {
        const std::int64_t n = given.n_samples;
        require(n >= 2 && n <= kMostFeatures, "kernels need from 2 to 4e8 samples, not " + std::to_string(n));
        require(given.n_kernels >= 1,
                "n_kernels must be at least 1 with matrices, but is " + std::to_string(given.n_kernels));
        require_fits(given.n_kernels, n * n, "an array of matrices");
        require(!given.groups, "groups must be null with matrices, which have no features");
        source.matrices = given.matrices;
        source.n_samples = n;
        if (run.is_question()) return source;  // the method asks for more than these checks
        run.require_memory(8 * n * n, "the check of kernels between " + std::to_string(n) + " samples",
                           "raise max_memory (or FASTFS_MAX_MEMORY)");
        for (std::int64_t m = 0; m < given.n_kernels; ++m) {
            require_kernel(given.matrices + m * n * n, n, m, unit_diagonal, run);
        }
        return source;
    }
    source.X.emplace(read_matrix(given.X));
    const Matrix& X = *source.X;
    const std::int64_t d = X.n_cols();
    require(!X.is_sparse(), "X must be dense");
    require_size(X.n_rows(), 2, "the number of samples");
    require_size(d, 1, "the number of features");
    require(given.n_kernels >= 0 && given.n_kernels <= d, "n_kernels must be from 0 to the " + std::to_string(d) +
                                                              " features, not " + std::to_string(given.n_kernels));
    require(given.n_kernels <= 1 || given.n_kernels == d || given.groups,
            std::to_string(given.n_kernels) + " kernels of " + std::to_string(d) +
                " features need groups, but groups is null: give each feature the number of its kernel");
    require(given.n_kernels > 1 || !given.groups,
            "groups need n_kernels above 1, but it is " + std::to_string(given.n_kernels));
    require(given.scaling == FASTFS_SCALE_NONE || given.scaling == FASTFS_SCALE_STANDARD,
            "scaling must be FASTFS_SCALE_NONE or FASTFS_SCALE_STANDARD, not " + std::to_string(given.scaling));
    require(given.width >= FASTFS_WIDTH_MEAN_SQUARED && given.width <= FASTFS_WIDTH_GIVEN,
            "width must be one of FASTFS_WIDTH_*, not " + std::to_string(given.width));
    require(given.width != FASTFS_WIDTH_GIVEN || (given.delta > 0 && std::isfinite(given.delta)),
            "delta must be a positive number, not " + text(given.delta));
    source.n_samples = X.n_rows();
    source.standardize = given.scaling == FASTFS_SCALE_STANDARD;
    source.width = given.width;
    source.delta = given.delta;
    if (source.n_kernels == 0) source.n_kernels = d;
    if (given.groups) {
        std::vector<bool> seen(static_cast<std::size_t>(source.n_kernels));
        for (std::int64_t a = 0; a < d; ++a) {
            if (given.groups[a] < 0 || given.groups[a] >= source.n_kernels) {
                throw InvalidArgument("groups must lie in 0.." + std::to_string(source.n_kernels - 1) +
                                      ", but that of feature " + std::to_string(a) + " is " +
                                      std::to_string(given.groups[a]));
            }
            seen[static_cast<std::size_t>(given.groups[a])] = true;
        }
        const auto missing = std::find(seen.begin(), seen.end(), false);
        require(missing == seen.end(), "each of " + std::to_string(source.n_kernels) +
                                           " groups must have a feature, but number " +
                                           std::to_string(missing - seen.begin()) + " has none");
        source.groups = given.groups;
    }
    return source;
}

constexpr double kDefaultLambda = 0.1;

fastfs_ikdr_options checked(fastfs_ikdr_options o, std::int64_t n_samples, std::int64_t n_classes) {
    if (o.n_components == 0) o.n_components = n_classes;
    require(o.n_components >= 1 && o.n_components <= n_samples, "n_components must be from 1 to the " +
                                                                    std::to_string(n_samples) + " samples, not " +
                                                                    std::to_string(o.n_components));
    if (!o.lambdas) {
        o.lambdas = &kDefaultLambda;
        o.n_lambdas = 1;
    }
    require(o.n_lambdas >= 1, "n_lambdas must be at least 1, but is " + std::to_string(o.n_lambdas));
    const auto require_least = [](double value, const char* name) {
        require(value >= 0 && std::isfinite(value),
                std::string(name) + " must be a number of at least 0, but is " + text(value));
    };
    for (std::int64_t l = 0; l < o.n_lambdas; ++l) require_least(o.lambdas[l], "lambda");
    require_least(o.mu, "mu");
    require_least(o.tau, "tau");
    require_least(o.zeta, "zeta");
    require_least(o.tol, "tol");
    require(o.interpretability == FASTFS_IKDR_LAPLACIAN || o.interpretability == FASTFS_IKDR_DISTANCE,
            "interpretability must be FASTFS_IKDR_LAPLACIAN or FASTFS_IKDR_DISTANCE, not " +
                std::to_string(o.interpretability));
    require(o.solver == FASTFS_IKDR_PROJECTED_GRADIENT || o.solver == FASTFS_IKDR_ADMM,
            "solver must be FASTFS_IKDR_PROJECTED_GRADIENT or FASTFS_IKDR_ADMM, not " + std::to_string(o.solver));
    require(o.max_iter >= 1 && o.max_iter <= kMostIterations && o.max_inner >= 1 && o.max_inner <= kMostIterations,
            "max_iter and max_inner must be from 1 to " + std::to_string(kMostIterations) + ", but are " +
                std::to_string(o.max_iter) + " and " + std::to_string(o.max_inner));
    if (o.solver == FASTFS_IKDR_ADMM) {
        require(o.rho > 0 && std::isfinite(o.rho), "rho must be a positive number, not " + text(o.rho));
        require(o.tau > 0 && o.zeta > 0,
                "the solver admm needs finite tau and zeta, but has infinite ones: give both, such as 10");
    }
    return o;
}

void require_numbers(const double* values, std::int64_t n, const char* name,
                     double least = std::numeric_limits<double>::lowest()) {
    for (std::int64_t i = 0; i < n; ++i) {
        if (std::isfinite(values[i]) && values[i] >= least) continue;
        throw InvalidArgument(std::string(name) + " must be numbers" + (least == 0 ? " of at least 0" : "") +
                              ", but one is " + text(values[i]));
    }
}

// Columns of A (n x k, row-major) and kernel weights (k = 1) are given to six digits at least.
void require_on_simplex(const double* A, std::int64_t n, std::int64_t k, const char* name) {
    for (std::int64_t j = 0; A && j < k; ++j) {
        double sum = 0;
        for (std::int64_t i = 0; i < n; ++i) {
            if (!(A[i * k + j] >= -1e-6)) {
                throw InvalidArgument(std::string(name) + " must not be negative, but one is " + text(A[i * k + j]));
            }
            sum += A[i * k + j];
        }
        require(std::abs(sum - 1) <= 1e-6,
                std::string(name) + " must sum to 1, but sum to " + text(sum) + ": divide by that");
    }
}

}  // namespace

extern "C" {

const char* fastfs_last_error(void) { return last_error.c_str(); }

const char* fastfs_version(void) { return FASTFS_VERSION; }

int32_t fastfs_abi_version(void) { return FASTFS_ABI_VERSION; }

const char* fastfs_isa(void) {
    const char* name = nullptr;
    guarded([&] { name = isa().name; });
    return name;
}

int32_t fastfs_thread_count(int32_t requested) {
    int32_t count = 0;
    guarded([&] { count = thread_count(requested); });
    return count;
}

int64_t fastfs_memory_budget(int64_t requested) {
    int64_t bytes = 0;
    guarded([&] { bytes = memory_budget(requested); });
    return bytes;
}

fastfs_status fastfs_check_matrix(const fastfs_matrix* X) {
    return guarded([&] { read_matrix(X); });
}

fastfs_status fastfs_exp_seconds(int32_t dtype, int64_t n, int32_t repeats, double* seconds) {
    return guarded([&] {
        require(n > 0 && repeats > 0 && seconds, "n and repeats must be positive, and seconds not null");
        auto measure = [&](auto zero) {
            using T = decltype(zero);
            Buffer<T> x(n);
            for (std::int64_t i = 0; i < n; ++i) x[i] = T(20) * static_cast<T>(i) / static_cast<T>(n);
            const std::clock_t start = std::clock();
            // The result, in [0, 1], is as good an argument as any for the next round.
            for (int r = 0; r < repeats; ++r) tile_kernels<T>().exp_neg(x.data(), n, T(1));
            *seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
        };
        if (dtype == FASTFS_FLOAT32) {
            measure(0.0f);
        } else {
            require(dtype == FASTFS_FLOAT64, "dtype must be FASTFS_FLOAT32 or FASTFS_FLOAT64");
            measure(0.0);
        }
    });
}

fastfs_status fastfs_register_blas(const fastfs_blas* table) {
    return guarded([&] {
        require(table != nullptr, "the BLAS table is null");
        register_blas(*table);
    });
}

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

fastfs_status fastfs_manifest_new(const fastfs_matrix* chunks, int64_t n_chunks, int32_t keep_distances,
                                  const fastfs_run* run_, fastfs_manifest** manifest) {
    return guarded([&] {
        Run run = read_run(run_);
        require_output(run, manifest != nullptr, "manifest is null");
        require(n_chunks >= 1, "X needs at least one chunk, but n_chunks is " + std::to_string(n_chunks));
        require(chunks != nullptr, "X is null");
        require(keep_distances == 0 || keep_distances == 1,
                "keep_distances must be 0 or 1, not " + std::to_string(keep_distances));
        std::vector<Matrix> X;
        for (const auto& chunk : read_all(chunks, n_chunks, fastfs_matrix{}, "X")) X.emplace_back(chunk);
        *manifest = new fastfs_manifest{Manifest(Samples(std::move(X)), keep_distances == 1, run)};
    });
}

void fastfs_manifest_free(fastfs_manifest* manifest) { std::unique_ptr<fastfs_manifest> owner(manifest); }

fastfs_status fastfs_manifest_plan_fit(const fastfs_manifest* manifest, int64_t n_classes,
                                       const fastfs_manifest_options* options, int64_t n_scales, int64_t n_components,
                                       const fastfs_run* run_, fastfs_manifest_plan* plan) {
    return guarded([&] {
        require(manifest != nullptr && plan != nullptr, "manifest or plan is null");
        const auto how = read(options, FASTFS_MANIFEST_OPTIONS_INIT, "options");
        const Run run = read_run(run_);
        fill(plan, FASTFS_MANIFEST_PLAN_INIT, "plan", [&](fastfs_manifest_plan& found) {
            found = manifest->data.plan(n_classes, how, n_scales, n_components, run);
        });
    });
}

fastfs_status fastfs_manifest_fit(const fastfs_manifest* manifest, const int64_t* labels, int64_t n_classes,
                                  const fastfs_manifest_options* options, const fastfs_manifest_scale* scales,
                                  int64_t n_scales, const fastfs_run* run_, fastfs_manifest_result* results) {
    return guarded([&] {
        require(manifest != nullptr && labels != nullptr, "manifest or labels are null");
        const auto how = read(options, FASTFS_MANIFEST_OPTIONS_INIT, "options");
        Run run = read_run(run_);
        manifest->data.fit(labels, n_classes, how, read_all(scales, n_scales, FASTFS_MANIFEST_SCALE_INIT, "scales"),
                           run, read_all(results, n_scales, FASTFS_MANIFEST_RESULT_INIT, "results"));
    });
}

fastfs_status fastfs_projse(const fastfs_matrix* X_, const fastfs_matrix* Y_, const int64_t* labels, int64_t n_classes,
                            const fastfs_projse_options* options, const fastfs_run* run_,
                            fastfs_projse_result* result) {
    return guarded([&] {
        const Matrix X = read_matrix(X_);
        if (labels) require_size(n_classes, 1, "n_classes");
        const TargetRows targets(X, Y_, labels, n_classes);
        const auto o = read_projse_options(options);
        require(!o.from_y, "choosing among Y needs sums with two views (fastfs_projse_new)");
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
        require(K_YY && K_YX && K_XX, "K_YY, K_YX or K_XX is null");
        const auto o = read_projse_options(options);
        require(!o.from_y, "from_y must be 0: exchange the kernels instead");
        Run run = read_run(run_);
        fill_projse(result, o, n_x, run, [&](fastfs_projse_result& r) {
            run.require_memory(8 * (3 * n_y * n_y + n_y * n_x), "ProjSe of given kernels", "raise max_memory");
            projse_kernels(n_y, n_x, K_YY, K_YX, K_XX, o, run, r);
        });
    });
}

fastfs_status fastfs_projse_new(int64_t n_y, int64_t n_x, int32_t two_views, const fastfs_run* run_,
                                fastfs_projse_sums** sums) {
    return guarded([&] {
        const Run run = read_run(run_);
        require_output(run, sums != nullptr, "sums is null");
        require_size(n_y, 0, "n_y");
        require_size(n_x, 1, "n_x");
        require(two_views == 0 || two_views == 1, "two_views must be 0 or 1, not " + std::to_string(two_views));
        const bool with_xx = two_views || n_y == 0;
        run.require_memory(2 * ProjseSums::memory(n_y, n_x, with_xx),
                           "the sums of " + std::to_string(n_y) + " and " + std::to_string(n_x) + " variables",
                           "raise max_memory (or FASTFS_MAX_MEMORY), or give fewer variables");
        *sums = new fastfs_projse_sums{ProjseSums(n_y, n_x, with_xx)};
    });
}

fastfs_status fastfs_projse_update(fastfs_projse_sums* sums, const fastfs_matrix* X_, const fastfs_matrix* Y_,
                                   const int64_t* labels, const fastfs_run* run_) {
    return guarded([&] {
        require(sums != nullptr, "sums is null");
        const Matrix X = read_matrix(X_);
        std::lock_guard lock(sums->mutex);
        const std::int64_t n_y = sums->sums.columns(ProjseSums::kY).n, n_x = sums->sums.columns(ProjseSums::kX).n;
        const TargetRows targets(X, Y_, labels, n_y);
        require(X.n_cols() == n_x, "this chunk of X has " + std::to_string(X.n_cols()) + " columns, not " +
                                       std::to_string(n_x) + " as those before");
        require(!targets.y() || targets.y()->n_cols() == n_y,
                "this chunk of Y has " + std::to_string(targets.y() ? targets.y()->n_cols() : 0) + " columns, not " +
                    std::to_string(n_y) + " as those before");
        require((targets.y() || labels) == (n_y > 0),
                n_y > 0 ? "Y or labels are needed with every chunk" : "these sums take no Y");
        require(!labels || !sums->sums.has_xx(), "two views need Y as numbers, not as labels");
        Run run = read_run(run_);
        sums->sums.update({X, targets.y(), labels}, run);
    });
}

fastfs_status fastfs_projse_merge(fastfs_projse_sums* sums, const fastfs_projse_sums* other) {
    return guarded([&] {
        require(sums != nullptr && other != nullptr, "sums or other is null");
        require(sums != other, "sums can't be merged with themselves");
        std::scoped_lock lock(sums->mutex, other->mutex);
        for (int side : {ProjseSums::kY, ProjseSums::kX}) {
            const auto mine = sums->sums.columns(side).n, its = other->sums.columns(side).n;
            require(mine == its, "the sums are of " + std::to_string(mine) + " and " + std::to_string(its) +
                                     " variables and can't be merged");
        }
        require(sums->sums.has_xx() == other->sums.has_xx(), "only one of the sums has two views");
        if (other->sums.n_rows() == 0) return;
        Run run(FASTFS_RUN_INIT);
        sums->sums.merge(other->sums.copy(), run);
    });
}

fastfs_status fastfs_projse_select(const fastfs_projse_sums* sums, const fastfs_projse_options* options,
                                   const fastfs_run* run_, fastfs_projse_result* result) {
    return guarded([&] {
        require(sums != nullptr, "sums is null");
        const auto o = read_projse_options(options);
        Run run = read_run(run_);
        std::lock_guard lock(sums->mutex);
        const std::int64_t n_t = sums->sums.columns(o.from_y ? ProjseSums::kX : ProjseSums::kY).n;
        const std::int64_t n_s = sums->sums.columns(o.from_y ? ProjseSums::kY : ProjseSums::kX).n;
        fill_projse(result, o, n_s, run, [&](fastfs_projse_result& chosen) {
            const std::int64_t r = n_t > 0 ? std::min(n_t, sums->sums.n_rows()) : std::min(o.n_select, n_s);
            run.require_memory(8 * (4 * n_t * n_t + r * n_s + 8 * n_s),
                               "the choice among " + std::to_string(n_s) + " variables",
                               "raise max_memory (or FASTFS_MAX_MEMORY), or give fewer variables");
            projse_select(sums->sums, o, run, chosen);
        });
    });
}

int64_t fastfs_projse_rows(const fastfs_projse_sums* sums) {
    if (!sums) return 0;
    std::lock_guard lock(sums->mutex);
    return sums->sums.n_rows();
}

int64_t fastfs_projse_size(const fastfs_projse_sums* sums) { return sums ? sums->sums.size() : 0; }

fastfs_status fastfs_projse_save(const fastfs_projse_sums* sums, double* numbers) {
    return guarded([&] {
        require(sums != nullptr && numbers != nullptr, "sums or numbers is null");
        std::lock_guard lock(sums->mutex);
        sums->sums.save(numbers);
    });
}

fastfs_status fastfs_projse_load(fastfs_projse_sums* sums, const double* numbers) {
    return guarded([&] {
        require(sums != nullptr && numbers != nullptr, "sums or numbers is null");
        require(numbers[0] >= 0 && numbers[0] < 9e15, "these numbers are no sums: they start with " + text(numbers[0]));
        require(numbers[1] >= 0 && numbers[1] <= numbers[0],
                "these numbers are no sums: " + text(numbers[1]) + " of " + text(numbers[0]) + " rows have labels");
        std::lock_guard lock(sums->mutex);
        require(std::all_of(numbers, numbers + sums->sums.size(), [](double x) { return std::isfinite(x); }),
                "these numbers are no sums: they contain NaN or infinity");
        sums->sums.load(numbers);
    });
}

void fastfs_projse_free(fastfs_projse_sums* sums) { std::unique_ptr<fastfs_projse_sums> owner(sums); }

fastfs_status fastfs_margin_new(const fastfs_matrix* X_, int32_t scaling, int32_t keep, const fastfs_run* run_,
                                fastfs_margin** margin) {
    return guarded([&] {
        Run run = read_run(run_);
        require_output(run, margin != nullptr, "margin is null");
        const Matrix X = read_matrix(X_);
        require(!X.is_sparse(), "X must be dense");
        require_size(X.n_rows(), 2, "the number of samples");
        require(scaling >= FASTFS_SCALE_NONE && scaling <= FASTFS_SCALE_STANDARD,
                "scaling must be one of FASTFS_SCALE_*, not " + std::to_string(scaling));
        require(keep >= FASTFS_KEEP_NONE && keep <= FASTFS_KEEP_SQUARED_EUCLIDEAN,
                "keep must be one of FASTFS_KEEP_*, not " + std::to_string(keep));
        *margin = new fastfs_margin{Margin(X, static_cast<Scaling>(scaling), static_cast<Margin::Keep>(keep), run)};
    });
}

fastfs_status fastfs_margin_scaling(const fastfs_margin* margin, double* shift, double* factor) {
    return guarded([&] {
        require(margin != nullptr && shift != nullptr && factor != nullptr, "margin, shift or factor is null");
        std::copy(margin->data.shift().begin(), margin->data.shift().end(), shift);
        std::copy(margin->data.factor().begin(), margin->data.factor().end(), factor);
    });
}

void fastfs_margin_free(fastfs_margin* margin) { std::unique_ptr<fastfs_margin> owner(margin); }

fastfs_status fastfs_relief(const fastfs_margin* margin, const int64_t* labels, int64_t n_classes,
                            const fastfs_relief_options* options, const fastfs_run* run_,
                            fastfs_relief_result* result) {
    return guarded([&] {
        require(margin != nullptr, "margin is null");
        require_labels(labels, margin->data.X().n_rows(), n_classes);
        const auto o = read(options, FASTFS_RELIEF_OPTIONS_INIT, "options");
        require(o.method >= FASTFS_RELIEF && o.method <= FASTFS_MULTISURF,
                "method must be FASTFS_RELIEF, FASTFS_RELIEFF or FASTFS_MULTISURF, not " + std::to_string(o.method));
        require(o.closed_form == 0 || (o.closed_form == 1 && o.method == FASTFS_RELIEF),
                "closed_form must be 0, or 1 with FASTFS_RELIEF, not " + std::to_string(o.closed_form));
        require(o.n_neighbors >= 1, "n_neighbors must be at least 1, but is " + std::to_string(o.n_neighbors));
        require(o.n_targets >= 0 && o.n_targets <= margin->data.X().n_rows(),
                "n_targets must be from 1 to the " + std::to_string(margin->data.X().n_rows()) +
                    " samples, or not given for all, not " + std::to_string(o.n_targets));
        Run run = read_run(run_);
        require_output(run, result != nullptr, "result is null");
        fill(result, FASTFS_RELIEF_RESULT_INIT, "result", [&](fastfs_relief_result& r) {
            require_output(run, r.scores != nullptr, "the scores of result are null");
            relief(margin->data, labels, n_classes, o, run, r);
        });
    });
}

fastfs_status fastfs_im4e(const fastfs_margin* margin, const int64_t* labels, int64_t n_classes,
                          const fastfs_im4e_options* options, const fastfs_run* run_, fastfs_im4e_result* result) {
    return guarded([&] {
        require(margin != nullptr, "margin is null");
        require_labels(labels, margin->data.X().n_rows(), n_classes);
        const auto o = read(options, FASTFS_IM4E_OPTIONS_INIT, "options");
        require_iteration(o);
        for (std::int64_t c = 0; o.class_factors && c < n_classes; ++c) {
            require(o.class_factors[c] > 0 && std::isfinite(o.class_factors[c]),
                    "the factor of each class must be a positive number, but that of class " + std::to_string(c) +
                        " is " + text(o.class_factors[c]));
        }
        Run run = read_run(run_);
        require_output(run, result != nullptr, "result is null");
        fill(result, FASTFS_IM4E_RESULT_INIT, "result", [&](fastfs_im4e_result& r) {
            require_output(run, r.weights != nullptr, "the weights of result are null");
            im4e(margin->data, labels, n_classes, o, run, r);
        });
    });
}

fastfs_status fastfs_immigrate_fit(const fastfs_margin* margin, const int64_t* labels, int64_t n_classes,
                                   const fastfs_immigrate_options* options, const fastfs_run* run_,
                                   fastfs_immigrate** fitted) {
    return guarded([&] {
        Run run = read_run(run_);
        require(margin != nullptr, "margin is null");
        require_output(run, fitted != nullptr, "fitted is null");
        require_labels(labels, margin->data.X().n_rows(), n_classes);
        const auto o = read(options, FASTFS_IMMIGRATE_OPTIONS_INIT, "options");
        require_iteration(o);
        require(o.clip == 0 || o.clip == 1, "clip must be 0 or 1, not " + std::to_string(o.clip));
        for (const double limit : {o.smallest, o.negligible}) {
            require(limit >= 0 && std::isfinite(limit),
                    "smallest and negligible must be numbers of at least 0, not " + text(limit));
        }
        require_features(o.features, o.n_features, margin->data.X().n_cols());
        require(!o.start || !o.start_matrix, "give start or start_matrix, not both");
        require(o.reserved == 0, "options.reserved must be 0");
        *fitted = new fastfs_immigrate{immigrate(margin->data, labels, n_classes, o, run)};
    });
}

fastfs_status fastfs_immigrate_get(const fastfs_immigrate* fitted, fastfs_immigrate_result* result) {
    return guarded([&] {
        require(fitted != nullptr && result != nullptr, "fitted or result is null");
        const Immigrate& f = fitted->fit;
        fill(result, FASTFS_IMMIGRATE_RESULT_INIT, "result", [&](fastfs_immigrate_result& r) {
            r = {sizeof(fastfs_immigrate_result),
                 f.warnings,
                 f.stored,
                 static_cast<int32_t>(f.cost.size()),
                 f.converged,
                 f.sigma,
                 static_cast<int64_t>(f.features.size()),
                 static_cast<int64_t>(f.values.size()),
                 f.features.data(),
                 f.values.data(),
                 f.vectors.data(),
                 f.W.empty() ? nullptr : f.W.data(),
                 f.scores.data(),
                 f.cost.data(),
                 f.objective.data()};
        });
    });
}

void fastfs_immigrate_free(fastfs_immigrate* fitted) { std::unique_ptr<fastfs_immigrate> owner(fitted); }

fastfs_status fastfs_immigrate_pairs(int64_t n_features, int64_t rank, const double* values, const double* vectors,
                                     int32_t without_leading, int64_t n_pairs, const fastfs_run* run_, int64_t* a,
                                     int64_t* b, double* weights, int64_t* found) {
    return guarded([&] {
        require_size(n_features, 1, "n_features");
        require(n_pairs >= 0, "n_pairs must not be negative, but is " + std::to_string(n_pairs));
        Run run = read_run(run_);
        require(values && vectors, "values or vectors is null");
        require_output(run, a && b && weights && found, "a, b, weights or found is null");
        require_factors(n_features, rank, values, vectors);
        *found = immigrate_pairs(n_features, rank, values, vectors, without_leading != 0, n_pairs, run, a, b, weights);
    });
}

fastfs_status fastfs_margin_distances(const fastfs_margin* margin, const int64_t* labels, int64_t n_classes,
                                      const fastfs_margin_metric* metric, const fastfs_matrix* X_,
                                      const fastfs_run* run_, double* out) {
    return guarded([&] {
        Run run = read_run(run_);
        require(margin != nullptr, "margin is null");
        require_output(run, out != nullptr, "out is null");
        require_labels(labels, margin->data.X().n_rows(), n_classes);
        const auto m = read_metric(metric, margin->data);
        const Matrix X = read_new_samples(X_, margin->data);
        require_fits(X.n_rows(), n_classes, "a table of distances");
        margin_distances(margin->data, labels, n_classes, m, X, run, out);
    });
}

fastfs_status fastfs_margin_explain(const fastfs_margin* margin, const int64_t* labels, int64_t n_classes,
                                    const fastfs_margin_metric* metric, const fastfs_matrix* X_, const int64_t* wanted,
                                    const fastfs_run* run_, double* out) {
    return guarded([&] {
        Run run = read_run(run_);
        require(margin != nullptr && wanted != nullptr, "margin or wanted is null");
        require_output(run, out != nullptr, "out is null");
        require_labels(labels, margin->data.X().n_rows(), n_classes);
        const auto m = read_metric(metric, margin->data);
        const Matrix X = read_new_samples(X_, margin->data);
        require_fits(X.n_rows(), m.n_features, "a table of parts");
        if (!m.weights) require_fits(X.n_rows() * m.n_features, m.n_features, "a table of parts");
        for (std::int64_t r = 0; r < X.n_rows(); ++r) {
            require(wanted[r] >= 0 && wanted[r] < n_classes, "wanted must lie in 0.." + std::to_string(n_classes - 1) +
                                                                 ", but that of row " + std::to_string(r) + " is " +
                                                                 std::to_string(wanted[r]));
        }
        margin_explain(margin->data, labels, n_classes, m, X, wanted, run, out);
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

fastfs_status fastfs_disc_fit(const fastfs_disc_set* sets, int64_t n_sets, const fastfs_disc_options* options,
                              const fastfs_run* run_, fastfs_disc** fitted) {
    return guarded([&] {
        Run run = read_run(run_);
        require_output(run, fitted != nullptr, "fitted is null");
        require(n_sets >= 2, "DiSC needs at least two sets, not " + std::to_string(n_sets));
        const auto o = read(options, FASTFS_DISC_OPTIONS_INIT, "options");
        require(
            o.graph >= FASTFS_GRAPH_DENSE && o.graph <= FASTFS_GRAPH_AUTO,
            "graph must be FASTFS_GRAPH_DENSE, FASTFS_GRAPH_KNN or FASTFS_GRAPH_AUTO, not " + std::to_string(o.graph));
        require(o.constant == FASTFS_CONSTANT_DROP || o.constant == FASTFS_CONSTANT_PROJECT,
                "constant must be one of FASTFS_CONSTANT_*, not " + std::to_string(o.constant));
        require(o.bandwidth_neighbors >= 1 && o.n_neighbors >= 1 && o.n_vectors >= 1 && o.n_differential >= 0,
                "bandwidth_neighbors, n_neighbors and n_vectors must be at least 1, n_differential at least 0");
        require(o.density >= 0 && o.density <= 1, "density must lie in [0, 1], but is " + text(o.density));
        std::vector<DiscSet> conditions;
        for (const auto& given : read_all(sets, n_sets, FASTFS_DISC_SET_INIT, "sets")) {
            conditions.push_back(read_disc_set(given, static_cast<std::int64_t>(conditions.size())));
            require(conditions.back().n_features == conditions.front().n_features,
                    "all sets must have the same features, but set 0 has " +
                        std::to_string(conditions.front().n_features) + " and set " +
                        std::to_string(conditions.size() - 1) + " has " + std::to_string(conditions.back().n_features));
        }
        *fitted = new fastfs_disc{disc(conditions, o, run)};
    });
}

fastfs_status fastfs_disc_get(const fastfs_disc* fitted, int64_t set, fastfs_disc_result* result) {
    return guarded([&] {
        require(fitted != nullptr, "fitted is null");
        require(
            set >= 0 && set < static_cast<int64_t>(fitted->sets.size()),
            "there are " + std::to_string(fitted->sets.size()) + " sets, and none is number " + std::to_string(set));
        require(result != nullptr, "result is null");
        const DiscResult& f = fitted->sets[static_cast<std::size_t>(set)];
        fill(result, FASTFS_DISC_RESULT_INIT, "result", [&](fastfs_disc_result& r) {
            r = {sizeof(fastfs_disc_result),
                 f.warnings,
                 0,
                 static_cast<int64_t>(f.scores.size()),
                 static_cast<int64_t>(f.significance.size()),
                 static_cast<int64_t>(f.eigenvalues.size()) - 1,
                 f.n_connected,
                 f.n_differential,
                 f.gap,
                 f.ratio,
                 f.significance.data(),
                 f.vectors.data(),
                 f.trivial.data(),
                 f.eigenvalues.data(),
                 f.diffusion.data(),
                 f.bandwidths.empty() ? nullptr : f.bandwidths.data(),
                 f.scores.data(),
                 static_cast<int64_t>(f.weights.size()),
                 f.indptr.empty() ? nullptr : f.indptr.data(),
                 f.indices.empty() ? nullptr : f.indices.data(),
                 f.weights.empty() ? nullptr : f.weights.data(),
                 f.graph,
                 f.graph_reason,
                 f.dense_bytes};
        });
    });
}

void fastfs_disc_free(fastfs_disc* fitted) { std::unique_ptr<fastfs_disc> owner(fitted); }

fastfs_status fastfs_ikdr_fit(const fastfs_ikdr_kernels* kernels, const int64_t* labels, int64_t n_classes,
                              const fastfs_ikdr_options* options, const fastfs_run* run_, fastfs_ikdr** fitted) {
    return guarded([&] {
        Run run = read_run(run_);
        require_output(run, fitted != nullptr, "fitted is null");
        auto o = read(options, FASTFS_IKDR_OPTIONS_INIT, "options");
        const KernelSource source = read_ikdr_kernels(kernels, o.interpretability == FASTFS_IKDR_DISTANCE, run);
        require_labels(labels, source.n_samples, n_classes);
        o = checked(o, source.n_samples, n_classes);
        require_on_simplex(o.A, source.n_samples, o.n_components, "the columns of the start A");
        require_on_simplex(o.weights, source.n_kernels, 1, "the start's weights");
        *fitted = new fastfs_ikdr{ikdr(source, labels, n_classes, o, run)};
    });
}

fastfs_status fastfs_ikdr_get(const fastfs_ikdr* fitted, int64_t step, fastfs_ikdr_result* result) {
    return guarded([&] {
        require(fitted != nullptr, "fitted is null");
        const Ikdr& fit = fitted->fit;
        require(
            step >= 0 && step < static_cast<int64_t>(fit.steps.size()),
            "there are " + std::to_string(fit.steps.size()) + " lambdas, and none is number " + std::to_string(step));
        require(result != nullptr, "result is null");
        const IkdrResult& f = fit.steps[static_cast<std::size_t>(step)];
        const auto data_or_null = [](const std::vector<double>& v) { return v.empty() ? nullptr : v.data(); };
        fill(result, FASTFS_IKDR_RESULT_INIT, "result", [&](fastfs_ikdr_result& r) {
            r = {sizeof(fastfs_ikdr_result),
                 f.warnings,
                 f.converged,
                 fit.n_samples,
                 fit.n_features,
                 fit.n_kernels,
                 fit.n_classes,
                 fit.n_components,
                 static_cast<int64_t>(f.history.size()),
                 f.lambda,
                 f.objective,
                 f.interpretability,
                 f.similarity,
                 f.history.data(),
                 f.A.data(),
                 f.embedding.data(),
                 f.profile.data(),
                 f.weights.data(),
                 f.prices.data(),
                 data_or_null(fit.deltas),
                 data_or_null(fit.means),
                 data_or_null(fit.scales)};
        });
    });
}

void fastfs_ikdr_free(fastfs_ikdr* fitted) { std::unique_ptr<fastfs_ikdr> owner(fitted); }

fastfs_status fastfs_ikdr_evaluate(const fastfs_matrix* K_, const int64_t* labels, int64_t n_classes,
                                   const fastfs_ikdr_options* options, const double* A, int32_t repeats,
                                   const fastfs_run* run_, double* objective, double* gradient) {
    return guarded([&] {
        const Matrix K = read_matrix(K_);
        require(!K.is_sparse() && K.n_rows() == K.n_cols(), "K must be dense and square, but is " +
                                                                std::to_string(K.n_rows()) + " x " +
                                                                std::to_string(K.n_cols()) + ", or sparse");
        Run run = read_run(run_);
        require(A != nullptr, "A is null");
        require_output(run, objective != nullptr, "objective is null");
        require(repeats >= 1, "repeats must be at least 1, not " + std::to_string(repeats));
        require_labels(labels, K.n_rows(), n_classes);
        const auto o = checked(read(options, FASTFS_IKDR_OPTIONS_INIT, "options"), K.n_rows(), n_classes);
        *objective = ikdr_evaluate(K, labels, n_classes, o, A, repeats, run, gradient);
    });
}

fastfs_status fastfs_ikdr_prices(const fastfs_ikdr_kernels* kernels, const int64_t* labels, int64_t n_classes,
                                 const fastfs_ikdr_options* options, const double* A, const double* weights,
                                 const fastfs_run* run_, double* prices) {
    return guarded([&] {
        Run run = read_run(run_);
        require(A != nullptr && weights != nullptr, "A or weights is null");
        require_output(run, prices != nullptr, "prices is null");
        auto o = read(options, FASTFS_IKDR_OPTIONS_INIT, "options");
        const KernelSource source = read_ikdr_kernels(kernels, o.interpretability == FASTFS_IKDR_DISTANCE, run);
        require_labels(labels, source.n_samples, n_classes);
        o = checked(o, source.n_samples, n_classes);
        require_on_simplex(A, source.n_samples, o.n_components, "the columns of A");
        require_on_simplex(weights, source.n_kernels, 1, "weights");
        ikdr_prices(source, labels, n_classes, o, A, weights, run, prices);
    });
}

fastfs_status fastfs_ikdr_embed(const fastfs_ikdr_model* model, const fastfs_matrix* X_, const fastfs_run* run_,
                                double* out) {
    return guarded([&] {
        Run run = read_run(run_);
        require(model != nullptr, "model is null");
        require_output(run, out != nullptr, "out is null");
        const auto m = read(model, FASTFS_IKDR_MODEL_INIT, "model");
        const Matrix X = read_matrix(X_);
        require(!X.is_sparse(), "X must be dense");
        require_size(m.n_kernels, 1, "the number of kernels");
        require_size(m.n_support, 1, "the number of support samples");
        require_size(m.n_components, 1, "n_components");
        require_fits(X.n_rows(), m.n_components, "an embedding");
        require(m.weights && m.deltas && m.begins && m.features && m.means && m.scales && m.support && m.coefficients,
                "an array of the model is null");
        require(m.begins[0] == 0, "begins must start with 0, but starts with " + std::to_string(m.begins[0]));
        for (std::int64_t kernel = 0; kernel < m.n_kernels; ++kernel) {
            require(m.begins[kernel + 1] >= m.begins[kernel],
                    "begins must not descend, but does after kernel " + std::to_string(kernel));
            require(!(m.weights[kernel] > 0) || m.deltas[kernel] > 0,
                    "a kernel with weight must have a positive delta, but that of kernel " + std::to_string(kernel) +
                        " is " + text(m.deltas[kernel]));
        }
        const std::int64_t width = m.begins[m.n_kernels];
        require_numbers(m.weights, m.n_kernels, "weights", 0);
        require_numbers(m.means, width, "means");
        require_numbers(m.scales, width, "scales", 0);
        require_numbers(m.support, m.n_support * width, "support");
        require_numbers(m.coefficients, m.n_support * m.n_components, "coefficients");
        for (std::int64_t c = 0; c < width; ++c) {
            require(m.features[c] >= 0 && m.features[c] < X.n_cols(),
                    "features must lie in the " + std::to_string(X.n_cols()) + " columns of X, but one is " +
                        std::to_string(m.features[c]));
        }
        ikdr_embed(m, X, run, out);
    });
}

}  // extern "C"
