// The C interface of the scan of interactions.
#include <cstdint>
#include <optional>
#include <utility>

#include "capi/abi.hpp"
#include "capi/checks.hpp"
#include "capi/fields.hpp"
#include "capi/fitted.hpp"
#include "interactions/scan.hpp"
#include "support/errors.hpp"

namespace {

using namespace fastfs::core;

// The table that bindings call with_table.
const Name kOther = Name::of_matrix(1, "other");

// Throws unless one of labels and y is given and fits the options and n samples.
void require_target(const std::int64_t* labels, const double* y, const fastfs_interaction_options& o, std::int64_t n) {
    require((labels == nullptr) != (y == nullptr), "one of labels and y must be null, and the other one not; got ",
            labels ? "both" : "neither");
    if (labels) {
        require(o.n_classes >= 2, "n_classes must be at least 2; got ", o.n_classes);
        require_labels(labels, n, o.n_classes);
    } else {
        require(o.n_classes == 0, "n_classes must be 0 with y; got ", o.n_classes);
        require_array(y, "y");
        require_numbers(y, n, "y");
    }
}

// Throws unless each row of permutations (n_labelings x n) holds labels of n_classes classes or, for n_classes = 0,
// finite numbers.
void require_permutations(const fastfs_interaction_options& o, std::int64_t n) {
    require(o.n_labelings >= 0, "n_labelings must be at least 0; got ", o.n_labelings);
    if (o.n_labelings == 0) return;
    require_fits(o.n_labelings, n, "the labelings");
    if (o.n_classes > 0) {
        require_array(o.label_permutations, "label_permutations");
        require_in_range(o.label_permutations, o.n_labelings * n, o.n_classes, "label_permutations");
    } else {
        require_array(o.y_permutations, "y_permutations");
        require_numbers(o.y_permutations, o.n_labelings * n, "y_permutations");
    }
}

// Throws unless chosen pairs are pairs of columns in ascending order. other: null, or the table of the second ones.
void require_pairs(const fastfs_interaction_options& o, const Matrix& X, const Matrix* other) {
    if (!o.first_of_pairs) {
        require(!o.second_of_pairs && o.n_chosen == 0, "first_of_pairs must be given with second_of_pairs");
        return;
    }
    require_array(o.first_of_pairs, "first_of_pairs");
    require_array(o.second_of_pairs, "second_of_pairs");
    require(!o.features, "features must be null with first_of_pairs");
    require_size(o.n_chosen, 1, "n_chosen");
    require_in_range(o.first_of_pairs, o.n_chosen, X.n_cols(), "first_of_pairs");
    require_in_range(o.second_of_pairs, o.n_chosen, other ? other->n_cols() : X.n_cols(), "second_of_pairs");
    for (std::int64_t k = 0; k < o.n_chosen; ++k) {
        const auto pair = [&](std::int64_t of) { return std::pair(o.first_of_pairs[of], o.second_of_pairs[of]); };
        const auto [i, j] = pair(k);
        require(other || i < j, "each of second_of_pairs must be larger than its first column; got ", j, " for ", i,
                " in pair ", k);
        require(k == 0 || pair(k - 1) < pair(k), "chosen pairs must be in ascending order, each once; got ", i, " and ",
                j, " as pair ", k);
    }
}

// Reads the options of the caller, and checks them and the target against X.
fastfs_interaction_options read_interaction_options(const fastfs_interaction_options* given, const Matrix& X,
                                                    const Matrix* other, const std::int64_t* labels, const double* y) {
    const auto o = read_options(given, FASTFS_INTERACTION_OPTIONS_INIT);
    require_features(o.features, o.n_features, X.n_cols());
    const std::int64_t n_features = o.features ? o.n_features : X.n_cols();
    require(other || n_features >= 2, "X must have two features or more, which make pairs; got one");
    require_size(n_features, 1, "the number of features");
    require_covariates(o.covariates, o.n_covariates, X.n_rows());
    require_target(labels, y, o, X.n_rows());
    require(!o.along || y, "y must be given with along; got labels: compare classes by differential correlation");
    require_permutations(o, X.n_rows());
    require_pairs(o, X, other);
    return o;
}

}  // namespace

extern "C" {

fastfs_status fastfs_interaction_scan(const fastfs_matrix* X_, const fastfs_matrix* other_, const int64_t* labels,
                                      const double* y, const fastfs_interaction_options* options,
                                      const fastfs_run* run_, fastfs_interaction_result* result,
                                      fastfs_fitted** fitted) {
    return guarded([&] {
        const Matrix X = read_matrix(X_);
        std::optional<Matrix> other;
        if (other_) {
            other.emplace(read_matrix(other_, kOther));
            require_size(other->n_cols(), 1, "the number of features");
            require(other->n_rows() == X.n_rows(), Message()
                                                       << kX << " and " << kOther << " must have the same rows; got "
                                                       << X.n_rows() << " and " << other->n_rows());
        }
        const auto o = read_interaction_options(options, X, other ? &*other : nullptr, labels, y);
        Run run = read_run(run_);
        fill_fitted(run, result, FASTFS_INTERACTION_RESULT_INIT, fitted,
                    [&](auto& r) { scan_interactions(X, other ? &*other : nullptr, labels, y, o, run, r); });
    });
}

}  // extern "C"
