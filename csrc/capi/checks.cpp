#include "capi/checks.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "support/errors.hpp"
#include "support/matrix.hpp"

namespace fastfs::core {

void require_size(std::int64_t n, std::int64_t least, const char* name) {
    require(n >= least && n <= kMostFeatures,
            std::string(name) + " must be from " + std::to_string(least) + " to 4e8, not " + std::to_string(n));
}

void require_fits(std::int64_t n_rows, std::int64_t n_cols, const char* name) {
    require(n_cols <= kMostValues / n_rows, std::string(name) + " of " + std::to_string(n_rows) + " x " +
                                                std::to_string(n_cols) + " values is more than a machine can hold");
}

void require_output(const Run& run, bool given, const char* message) { require(given || run.is_question(), message); }

void require_aligned(const void* values, std::size_t size, const char* name) {
    require(values != nullptr, std::string(name) + " is null");
    require(reinterpret_cast<std::uintptr_t>(values) % size == 0,
            std::string(name) + " must be aligned to its values of " + std::to_string(size) + " bytes");
}

void require_in_range(const std::int64_t* labels, std::int64_t n_rows, std::int64_t n_classes) {
    for (std::int64_t r = 0; r < n_rows; ++r) {
        if (labels[r] >= 0 && labels[r] < n_classes) continue;
        refuse(Message() << "labels must lie in 0.." << n_classes - 1 << ", but that of " << Name::row(r) << " is "
                         << labels[r]);
    }
}

void require_labels(const std::int64_t* labels, std::int64_t n_rows, std::int64_t n_classes) {
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

void require_features(const std::int64_t* features, std::int64_t n, std::int64_t n_cols) {
    require(!features || (n >= 1 && n <= n_cols),
            "features must be from 1 to " + std::to_string(n_cols) + ", not " + std::to_string(n));
    for (std::int64_t k = 0; features && k < n; ++k) {
        require(features[k] >= 0 && features[k] < n_cols && (k == 0 || features[k] > features[k - 1]),
                "features must be ascending columns of X, but number " + std::to_string(k) + " is " +
                    std::to_string(features[k]));
    }
}

void require_numbers(const double* values, std::int64_t n, const char* name, double least) {
    for (std::int64_t i = 0; i < n; ++i) {
        if (std::isfinite(values[i]) && values[i] >= least) continue;
        throw InvalidArgument(std::string(name) + " must be numbers" + (least == 0 ? " of at least 0" : "") +
                              ", but one is " + text(values[i]));
    }
}

void require_positive(const double* values, std::int64_t n, const char* name) {
    for (std::int64_t i = 0; i < n; ++i) {
        if (std::isfinite(values[i]) && values[i] > 0) continue;
        throw InvalidArgument(std::string(name) + " must be positive numbers, but one is " + text(values[i]));
    }
}

}  // namespace fastfs::core
