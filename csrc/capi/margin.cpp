// The C interface of the RELIEF family, IM4E and IMMIGRATE.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "capi/abi.hpp"
#include "capi/checks.hpp"
#include "capi/fields.hpp"
#include "capi/fitted.hpp"
#include "capi/handle.hpp"
#include "margin/feature_pairs.hpp"
#include "margin/im4e.hpp"
#include "margin/immigrate.hpp"
#include "margin/margin.hpp"
#include "margin/predict.hpp"
#include "margin/relief.hpp"
#include "margin/target.hpp"
#include "support/classes.hpp"
#include "support/errors.hpp"

struct fastfs_margin : fastfs::core::Handle<fastfs::core::Margin> {
    using Handle::Handle;
    static constexpr const char* kType = "fastfs_margin";
};

namespace {

using namespace fastfs::core;

// Returns the classes of the training samples; throws unless the labels are 0..n_classes - 1 and each class has a
// sample.
Classes read_labels(const std::int64_t* labels, std::int64_t n_classes, const fastfs_margin& margin) {
    const std::int64_t n = margin.data.X().n_rows();
    require_labels(labels, n, n_classes);
    return Classes(labels, n, n_classes);
}

// Throws unless a W in factors has a rank from 1 to n_features, `rank` finite values and rank x n_features finite
// vectors.
void require_factors(std::int64_t n_features, std::int64_t rank, const double* values, const double* vectors) {
    require(rank >= 1 && rank <= n_features, "the rank of a W must be from 1 to its " + std::to_string(n_features) +
                                                 " features; got " + std::to_string(rank));
    require_array(values, "values");
    require_array(vectors, "vectors");
    const auto finite = [](double x) { return std::isfinite(x); };
    require(std::all_of(values, values + rank, finite) && std::all_of(vectors, vectors + rank * n_features, finite),
            "values and vectors of a W must be finite; got NaN or infinity");
}

// Reads the metric of the caller, and checks its features and weights or factors.
fastfs_margin_metric read_metric(const fastfs_margin_metric* given, const Margin& margin) {
    auto metric = read_options(given, FASTFS_MARGIN_METRIC_INIT, "metric");
    const std::int64_t n_cols = margin.X().n_cols();
    require_features(metric.features, metric.n_features, n_cols);
    if (!metric.features) metric.n_features = n_cols;
    require(metric.weights || (metric.values && metric.vectors),
            "a metric must have weights, or values and vectors; got ",
            metric.values    ? "values"
            : metric.vectors ? "vectors"
                             : "neither");
    require_array_or_null(metric.weights, "weights of the metric");
    if (metric.weights) {
        for (std::int64_t k = 0; k < metric.n_features; ++k) {
            require(metric.weights[k] >= 0 && std::isfinite(metric.weights[k]),
                    "weights of a metric must be finite numbers of at least 0; got ", metric.weights[k],
                    " at position ", k);
        }
    } else {
        require_factors(metric.n_features, metric.rank, metric.values, metric.vectors);
    }
    return metric;
}

// Bounds of distances and sample weights: their squares and products are added up.
constexpr double kLargest = 1e100;

// Refuses data other than complete tables of numbers: IM4E, IMMIGRATE and RELIEF compute with |x_n - x_j| of all
// features.
void require_numbers_only(const fastfs_margin* margin, const char* method) {
    require(margin->data.is_plain(), "X must be dense and complete, and hold numbers, for ", method,
            "; its margins have no meaning for missing values, categories and ramps: use another method of the "
            "RELIEF family");
}

// Reads the options of the caller, and checks them against X.
fastfs_margin_options read_margin_options(const fastfs_margin_options* given, const Matrix& X) {
    const auto o = read_options(given, FASTFS_MARGIN_OPTIONS_INIT);
    const std::int64_t n = X.n_rows();
    require(o.ramp != FASTFS_RAMP_GIVEN || (o.ramp_low >= 0 && o.ramp_low < o.ramp_high && std::isfinite(o.ramp_high)),
            "a ramp must go from a number of at least 0 to a larger one; got ", o.ramp_low, " to ", o.ramp_high);
    require(!X.is_sparse() ||
                (o.scaling != FASTFS_SCALE_STANDARD && o.missing == FASTFS_MISSING_ERROR &&
                 o.ramp == FASTFS_RAMP_NONE && o.levels == nullptr && o.keep != FASTFS_KEEP_SQUARED_EUCLIDEAN),
            "X must be dense for scaling by variance, missing values, ramps, categories and squared distances; got a "
            "sparse X: make it dense");
    require_array_or_null(o.levels, "levels");
    require_array_or_null(o.distances, "distances");
    require_array_or_null(o.sample_weights, "sample_weights");
    for (std::int64_t c = 0; o.levels && c < X.n_cols(); ++c) {
        if (o.levels[c] >= 0 && o.levels[c] <= kMostLevels) continue;
        refuse({"levels must be from 0 to ", kMostLevels, "; got ", o.levels[c], " for ", Name::column(c)});
    }
    require(o.ramp == FASTFS_RAMP_NONE || o.missing != FASTFS_MISSING_CLASS,
            "missing must not be 'class' with ramp, because expected differences have no ramp: choose 'ignore'");
    // Weighted sums over a float32 table are in single precision, sparse ones for their dense features.
    const double largest_weight = X.is_float32() ? 1e20 : kLargest;
    for (std::int64_t i = 0; o.sample_weights && i < n; ++i) {
        const double w = o.sample_weights[i];
        if (w >= 1 / largest_weight && w <= largest_weight) continue;
        refuse({"the weight of a sample that isn't left out must be from ", 1 / largest_weight, " to ", largest_weight,
                "; got ", w, " for ", Name::row(i), ": scale the weights, or leave the sample out"});
    }
    for (std::int64_t i = 0; o.distances && i < n; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) {
            const double d = o.distances[i * n + j], mirrored = o.distances[j * n + i];
            if (d >= 0 && d <= kLargest && d == mirrored && (i != j || d == 0)) continue;
            refuse({"distances must be from 0 to ", kLargest, ", symmetric, and 0 on the diagonal; got ", d, " and ",
                    mirrored, " between ", Name::row(i), " and ", Name::row(j)});
        }
    }
    return o;
}

// Reads the options of the caller, and checks them against the samples and classes.
fastfs_relief_options read_relief_options(const fastfs_relief_options* given, const fastfs_margin* margin,
                                          std::int64_t n_classes) {
    const auto o = read_options(given, FASTFS_RELIEF_OPTIONS_INIT);
    const std::int64_t n = margin->data.X().n_rows();
    if (o.method == FASTFS_RELIEF) require_numbers_only(margin, "RELIEF");
    require_relief_options(o, n);
    const bool radial = o.method == FASTFS_SURF || o.method == FASTFS_MULTISURF || o.method == FASTFS_SWRF;
    require(o.far == 0 || (o.far == 1 && radial),
            "far must be 0, or 1 with FASTFS_SURF, FASTFS_MULTISURF or FASTFS_SWRF; got " + std::to_string(o.far));
    require((o.method == FASTFS_RRELIEFF) ? o.target != FASTFS_TARGET_CLASS : o.target != FASTFS_TARGET_SURVIVAL,
            o.method == FASTFS_RRELIEFF ? "target must be FASTFS_TARGET_NUMBER or FASTFS_TARGET_SURVIVAL for "
                                          "FASTFS_RRELIEFF: use FASTFS_RELIEFF for classes"
                                        : "method must be FASTFS_RRELIEFF for FASTFS_TARGET_SURVIVAL");
    require(o.method != FASTFS_RELIEF || o.target == FASTFS_TARGET_CLASS,
            "target must be FASTFS_TARGET_CLASS for FASTFS_RELIEF: use FASTFS_RRELIEFF for numbers");
    require(o.target == FASTFS_TARGET_CLASS || margin->data.missing() != FASTFS_MISSING_CLASS,
            "missing must not be 'class' unless y holds classes: choose 'ignore' for numbers and times");
    require(o.n_targets == 0 || margin->data.missing() != FASTFS_MISSING_CLASS,
            "missing must not be 'class' with n_targets, because it uses all samples as targets: choose 'ignore'");
    if (o.target == FASTFS_TARGET_CLASS) {
        if (o.priors) require_positive(o.priors, n_classes, "priors");
    } else {
        require(o.priors == nullptr,
                "priors must be null for other targets than FASTFS_TARGET_CLASS; got some: leave them out");
        require_numbers(o.y, n, "y", Name::row,
                        o.target == FASTFS_TARGET_SURVIVAL ? 0.0 : std::numeric_limits<double>::lowest());
        require(std::any_of(o.y, o.y + n, [&](double y) { return y != o.y[0]; }), "y must hold different values; got ",
                o.y[0], " for all samples");
    }
    if (o.target == FASTFS_TARGET_SURVIVAL) {
        require_array(o.events, "events");
        require(std::all_of(o.events, o.events + n, [](std::int32_t e) { return e == 0 || e == 1; }),
                "events must hold 0 and 1; got other numbers");
        require(std::any_of(o.events, o.events + n, [](std::int32_t e) { return e == 1; }),
                "events must hold 1 for some samples; got 0 for all");
    }
    return o;
}

// Returns the samples to predict; throws unless they are dense, with the number of columns and the dtype of the
// training data.
Matrix read_new_samples(const fastfs_matrix* X_, const Margin& margin) {
    const Matrix X = read_matrix(X_);
    require(!X.is_sparse(), "X must be dense; got a sparse X: make it dense");
    require(X.n_cols() == margin.X().n_cols(), "X must have the " + std::to_string(margin.X().n_cols()) +
                                                   " columns of the training data; got " + std::to_string(X.n_cols()));
    require(X.is_float32() == margin.X().is_float32(), "X must have the dtype of the training data; got ",
            X.is_float32() ? "float32" : "float64", ": convert it");
    return X;
}

}  // namespace

extern "C" {

fastfs_status fastfs_margin_new(const fastfs_matrix* X_, const fastfs_margin_options* options, const fastfs_run* run_,
                                fastfs_margin** margin) {
    return guarded([&] {
        Run run = read_run(run_);
        require_output(run, margin, "margin");
        const Matrix X = read_matrix(X_);
        require_size(X.n_rows(), 2, "the number of samples");
        const auto o = read_margin_options(options, X);
        *margin = new fastfs_margin(X, o, run);
    });
}

// Restricts later scores by this handle to the listed columns, ascending; weights (or null) multiply differences in
// distances.
fastfs_status fastfs_margin_use(fastfs_margin* margin, const int64_t* features, int64_t n_features,
                                const double* weights, const fastfs_run* run_) {
    return guarded([&] {
        Run run = read_run(run_);
        require_handle(margin, "margin");
        require_array(features, "features");
        const std::int64_t n_cols = margin->data.X().n_cols();
        require(n_features >= 1 && n_features <= n_cols, "n_features must be from 1 to the " + std::to_string(n_cols) +
                                                             " columns of X; got " + std::to_string(n_features));
        require_features(features, n_features, n_cols);
        if (weights) require_numbers(weights, n_features, "weights", Name::column, 0.0);
        margin->data.restrict_to_columns({features, features + n_features}, weights, run);
    });
}

// Writes the shift and the factor of each column of X, by which its values are scaled.
fastfs_status fastfs_margin_scaling(const fastfs_margin* margin, double* shift, double* factor) {
    return guarded([&] {
        require_handle(margin, "margin");
        require_array(shift, "shift");
        require_array(factor, "factor");
        std::copy(margin->data.shift().begin(), margin->data.shift().end(), shift);
        std::copy(margin->data.factor().begin(), margin->data.factor().end(), factor);
    });
}

void fastfs_margin_free(fastfs_margin* margin) { free_handle(margin, "margin"); }

fastfs_status fastfs_relief(const fastfs_margin* margin, const int64_t* labels, int64_t n_classes,
                            const fastfs_relief_options* options, const fastfs_run* run_, fastfs_relief_result* result,
                            fastfs_fitted** fitted) {
    return guarded([&] {
        require_handle(margin, "margin");
        const auto o = read_relief_options(options, margin, n_classes);
        const std::int32_t* events = o.target == FASTFS_TARGET_SURVIVAL ? o.events : nullptr;
        const Target target = o.target == FASTFS_TARGET_CLASS ? Target(read_labels(labels, n_classes, *margin))
                                                              : Target(o.y, events, margin->data.sample_weights());
        Run run = read_run(run_);
        fill_fitted(run, result, FASTFS_RELIEF_RESULT_INIT, fitted,
                    [&](auto& r) { relief(margin->data, target, o, run, r); });
    });
}

fastfs_status fastfs_im4e(const fastfs_margin* margin, const int64_t* labels, int64_t n_classes,
                          const fastfs_im4e_options* options, const fastfs_run* run_, fastfs_im4e_result* result,
                          fastfs_fitted** fitted) {
    return guarded([&] {
        require_handle(margin, "margin");
        require_numbers_only(margin, "IM4E");
        require(!margin->data.is_weighted(), "sample_weights must be null for IM4E; got some: leave them out");
        const Classes classes = read_labels(labels, n_classes, *margin);
        const auto o = read_options(options, FASTFS_IM4E_OPTIONS_INIT);
        require(o.n_anchors >= 0 && o.n_anchors <= classes.n_samples(), "n_anchors must be from 1 to the ",
                classes.n_samples(), " samples, or not given for all; got ", o.n_anchors);
        require_array_or_null(o.class_factors, "class_factors");
        require_array_or_null(o.start, "start");
        for (std::int64_t c = 0; o.class_factors && c < n_classes; ++c) {
            require(o.class_factors[c] > 0 && std::isfinite(o.class_factors[c]),
                    "class_factors must be positive numbers; got ", o.class_factors[c], " for ", Name::class_(c));
        }
        Run run = read_run(run_);
        fill_fitted(run, result, FASTFS_IM4E_RESULT_INIT, fitted,
                    [&](auto& r) { im4e(margin->data, classes, o, run, r); });
    });
}

fastfs_status fastfs_immigrate_fit(const fastfs_margin* margin, const int64_t* labels, int64_t n_classes,
                                   const fastfs_immigrate_options* options, const fastfs_run* run_,
                                   fastfs_immigrate_result* result, fastfs_fitted** fitted) {
    return guarded([&] {
        Run run = read_run(run_);
        require_handle(margin, "margin");
        require_output(run, fitted, "fitted");
        require_numbers_only(margin, "IMMIGRATE");
        require(!margin->data.is_weighted(), "sample_weights must be null for IMMIGRATE; got some: leave them out");
        const Classes classes = read_labels(labels, n_classes, *margin);
        const auto o = read_options(options, FASTFS_IMMIGRATE_OPTIONS_INIT);
        require_features(o.features, o.n_features, margin->data.X().n_cols());
        require_array_or_null(o.start, "start");
        require_array_or_null(o.start_matrix, "start_matrix");
        require(!o.start || !o.start_matrix, "one of start and start_matrix must be null; got both");
        require(o.prefilter != FASTFS_PREFILTER_IM4E || !(o.features || o.start || o.start_matrix),
                "features, start and start_matrix must be null for FASTFS_PREFILTER_IM4E, which makes them");
        if (!run.is_question()) require(result != nullptr, "result must not be null");
        fill(result, FASTFS_IMMIGRATE_RESULT_INIT, "result", [&](fastfs_immigrate_result& r) {
            auto made = std::make_unique<fastfs_fitted>(immigrate(margin->data, classes, o, run));
            Immigrate& f = made->data.as<Immigrate>("fastfs_immigrate_fit");
            r = {.struct_size = sizeof(fastfs_immigrate_result),
                 .stored = f.stored,
                 .converged = f.converged,
                 .n_iter = static_cast<int64_t>(f.cost.size()),
                 .sigma = f.sigma,
                 .n_features = static_cast<int64_t>(f.features.size()),
                 .rank = static_cast<int64_t>(f.values.size()),
                 .features = f.features.data(),
                 .values = f.values.data(),
                 .vectors = f.vectors.data(),
                 .W = f.W.data(),
                 .scores = f.scores.data(),
                 .cost = f.cost.data(),
                 .objective = f.objective.data(),
                 .prefilter_weights = data_or_null(f.prefilter_weights)};
            *fitted = made.release();
        });
    });
}

// Writes up to n_pairs pairs of features with the largest |w_ab|, largest first, to a, b and weights, and their number
// to `found`.
fastfs_status fastfs_immigrate_pairs(int64_t n_features, int64_t rank, const double* values, const double* vectors,
                                     int32_t without_leading, int64_t n_pairs, const fastfs_run* run_, int64_t* a,
                                     int64_t* b, double* weights, int64_t* found) {
    return guarded([&] {
        require_size(n_features, 1, "n_features");
        require(n_pairs >= 0, "n_pairs must not be negative; got " + std::to_string(n_pairs));
        Run run = read_run(run_);
        require_output(run, a, "a");
        require_output(run, b, "b");
        require_output(run, weights, "weights");
        require_output(run, found, "found");
        require_factors(n_features, rank, values, vectors);
        *found = strongest_pairs(n_features, rank, values, vectors, without_leading != 0, n_pairs, run, a, b, weights);
    });
}

// Writes the expected distance of each row of X to each class (rows x n_classes) to out.
fastfs_status fastfs_margin_distances(const fastfs_margin* margin, const int64_t* labels, int64_t n_classes,
                                      const fastfs_margin_metric* metric, const fastfs_matrix* X_,
                                      const fastfs_run* run_, double* out) {
    return guarded([&] {
        Run run = read_run(run_);
        require_handle(margin, "margin");
        require_output(run, out, "out");
        const Classes classes = read_labels(labels, n_classes, *margin);
        const auto m = read_metric(metric, margin->data);
        const Matrix X = read_new_samples(X_, margin->data);
        require_fits(X.n_rows(), n_classes, "a table of distances");
        margin_distances(margin->data, classes, m, X, run, out);
    });
}

// Writes the parts of features, or of pairs of features, in the margin of each row of X for its class wanted[row] to
// out.
fastfs_status fastfs_margin_explain(const fastfs_margin* margin, const int64_t* labels, int64_t n_classes,
                                    const fastfs_margin_metric* metric, const fastfs_matrix* X_, const int64_t* wanted,
                                    const fastfs_run* run_, double* out) {
    return guarded([&] {
        Run run = read_run(run_);
        require_handle(margin, "margin");
        require_array(wanted, "wanted");
        require_output(run, out, "out");
        const Classes classes = read_labels(labels, n_classes, *margin);
        const auto m = read_metric(metric, margin->data);
        const Matrix X = read_new_samples(X_, margin->data);
        require_fits(X.n_rows(), m.n_features, "a table of parts");
        if (!m.weights) require_fits(X.n_rows() * m.n_features, m.n_features, "a table of parts");
        for (std::int64_t r = 0; r < X.n_rows(); ++r) {
            require(wanted[r] >= 0 && wanted[r] < n_classes, "wanted must be from 0 to ", n_classes - 1, "; got ",
                    wanted[r], " for ", Name::row(r));
        }
        margin_explain(margin->data, classes, m, X, wanted, run, out);
    });
}

}  // extern "C"
