// The C interface of differential correlation.
#include <cstdint>
#include <limits>

#include "capi/abi.hpp"
#include "capi/checks.hpp"
#include "capi/fields.hpp"
#include "capi/fitted.hpp"
#include "correlation/differential.hpp"
#include "support/classes.hpp"
#include "support/errors.hpp"

namespace {

using namespace fastfs::core;

constexpr std::int64_t kFewestSamples = 4;  // of a class: the variance of Fisher's z is 1 / (n - 3)

// Reads the options of the caller, and checks them against X.
fastfs_differential_correlation_options read_correlation_options(const fastfs_differential_correlation_options* given,
                                                                 const Matrix& X) {
    auto o = read_options(given, FASTFS_DIFFERENTIAL_CORRELATION_OPTIONS_INIT);
    if (o.n_classes == 0) o.n_classes = 2;
    require(o.n_classes >= 2, "n_classes must be at least 2, or 0 for two; got ", o.n_classes);
    require(X.n_rows() <= std::numeric_limits<std::int32_t>::max(), "X must have at most 2^31 - 1 samples; got ",
            X.n_rows());
    require_features(o.features, o.n_features, X.n_cols());
    const std::int64_t n_features = o.features ? o.n_features : X.n_cols();
    require(n_features >= 2, "X must have two features or more, which make pairs; got one");
    require_size(n_features, 2, "the number of features");
    require_covariates(o.covariates, o.n_covariates, X.n_rows());
    require_labelings(o.labelings, o.n_labelings, X.n_rows(), o.n_classes);
    return o;
}

}  // namespace

extern "C" {

fastfs_status fastfs_differential_correlation(const fastfs_matrix* X_, const int64_t* labels,
                                              const fastfs_differential_correlation_options* options,
                                              const fastfs_run* run_, fastfs_differential_correlation_result* result,
                                              fastfs_fitted** fitted) {
    return guarded([&] {
        const Matrix X = read_matrix(X_);
        const auto o = read_correlation_options(options, X);
        require_labels(labels, X.n_rows(), o.n_classes);
        const Classes classes(labels, X.n_rows(), o.n_classes);
        for (std::int64_t c = 0; c < o.n_classes; ++c) {
            if (classes.size(c) >= kFewestSamples) continue;
            refuse({"each class must have four samples or more; got ", classes.size(c), " of ", Name::class_(c),
                    ": give more, or leave the class out"});
        }
        Run run = read_run(run_);
        fill_fitted(run, result, FASTFS_DIFFERENTIAL_CORRELATION_RESULT_INIT, fitted,
                    [&](auto& r) { differential_correlation(X, classes, o, run, r); });
    });
}

}  // extern "C"
