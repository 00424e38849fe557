#include "capi/checks.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/matrix.hpp"

namespace fastfs::core {

void require_size(std::int64_t n, std::int64_t least, const char* name) {
    require(n >= least && n <= kMostFeatures, name, " must be from ", least, " to 4e8; got ", n);
}

void require_fits(std::int64_t n_rows, std::int64_t n_cols, const char* name) {
    require(n_cols <= kMostValues / n_rows, name, " must fit the memory; got ", n_rows, " x ", n_cols,
            " values: correct these sizes");
}

void require_array(const void* values, std::size_t alignment, const char* name) {
    require(values != nullptr, name, " must not be null");
    require(reinterpret_cast<std::uintptr_t>(values) % alignment == 0, name, " must be aligned to ", alignment,
            " bytes: copy it into an array of its type");
}

void require_in_range(const std::int64_t* labels, std::int64_t n_rows, std::int64_t n_classes, const char* name) {
    require_array(labels, name);
    for (std::int64_t r = 0; r < n_rows; ++r) {
        if (labels[r] >= 0 && labels[r] < n_classes) continue;
        refuse({name, " must be from 0 to ", n_classes - 1, "; got ", labels[r], " for ", Name::row(r)});
    }
}

// Throws unless n_classes is from 2 to n_rows, labels are from 0 to n_classes - 1, and each class has a row.
void require_labels(const std::int64_t* labels, std::int64_t n_rows, std::int64_t n_classes) {
    require_array(labels, "labels");
    require(n_classes >= 2 && n_classes <= n_rows, "n_classes must be from 2 to the ", n_rows, " rows; got ",
            n_classes);
    std::vector<bool> seen(at(n_classes));
    require_in_range(labels, n_rows, n_classes);
    for (std::int64_t r = 0; r < n_rows; ++r) seen[at(labels[r])] = true;
    for (std::int64_t c = 0; c < n_classes; ++c) {
        require(seen[at(c)], "labels must have rows of each class; got none of ", Name::class_(c),
                ": number the classes without gaps");
    }
}

void require_positive(double value, const char* name) {
    require(value > 0 && std::isfinite(value), name, " must be a positive number; got ", value);
}

void require_features(const std::int64_t* features, std::int64_t n, std::int64_t n_cols, const char* name) {
    require_array_or_null(features, name);
    require(!features || (n >= 1 && n <= n_cols), name, " must name from 1 to ", n_cols, " columns of X; got ", n);
    for (std::int64_t k = 0; features && k < n; ++k) {
        require(features[k] >= 0 && features[k] < n_cols && (k == 0 || features[k] > features[k - 1]), name,
                " must be columns of X from 0 to ", n_cols - 1, " in ascending order; got ", features[k],
                k > 0 ? " after " + std::to_string(features[k - 1]) : "");
    }
}

void require_labelings(const std::int64_t* labelings, std::int64_t n_labelings, std::int64_t n_rows,
                       std::int64_t n_classes) {
    require_size(n_labelings, 0, "n_labelings");
    if (n_labelings == 0) return;
    require_array(labelings, "labelings");
    require_fits(n_rows, n_labelings, "labelings");
    for (std::int64_t b = 0; b < n_labelings; ++b) require_in_range(labelings + b * n_rows, n_rows, n_classes);
}

// Throws unless n_covariates fits n_rows samples and all covariates are finite.
void require_covariates(const double* covariates, std::int64_t n_covariates, std::int64_t n_rows) {
    require(n_covariates >= 0 && n_covariates <= n_rows, "n_covariates must be from 0 to the ", n_rows,
            " samples; got ", n_covariates);
    if (n_covariates == 0) return;
    require_array(covariates, "covariates");
    require_numbers(covariates, n_rows * n_covariates, "covariates");
}

// Throws for the first of n values that isn't finite or is below `least`, and names its place.
void require_numbers(const double* values, std::int64_t n, const char* name, Name (*place)(std::int64_t),
                     double least) {
    require_array(values, name);
    for (std::int64_t i = 0; i < n; ++i) {
        if (std::isfinite(values[i]) && values[i] >= least) continue;
        refuse({name, " must be finite numbers", least == 0 ? " of at least 0" : "", "; got ", values[i], " for ",
                place(i)});
    }
}

void require_positive(const double* values, std::int64_t n, const char* name) {
    require_array(values, name);
    for (std::int64_t i = 0; i < n; ++i) {
        if (std::isfinite(values[i]) && values[i] > 0) continue;
        refuse({name, " must be positive numbers; got ", values[i], " at position ", i});
    }
}

void require_relief_options(const fastfs_relief_options& o, std::int64_t n_samples) {
    require(o.closed_form == 0 || (o.closed_form == 1 && o.method == FASTFS_RELIEF),
            "closed_form must be 0, or 1 with FASTFS_RELIEF; got ", o.closed_form);
    require(o.n_targets >= 0 && o.n_targets <= n_samples, "n_targets must be from 1 to the ", n_samples,
            " samples, or not given for all; got ", o.n_targets);
}

}  // namespace fastfs::core
