// Samples sorted by class, the order in which I-KDR computes.
#pragma once

#include <cstdint>
#include <vector>

#include "support/classes.hpp"
#include "support/index.hpp"

namespace fastfs::core {

// Sample i is the caller's sample order[i]. A, B and other samples x k arrays are stored as k consecutive columns.
struct SortedSamples : Classes {
    std::vector<std::int64_t> classes;  // by sample

    SortedSamples(const std::int64_t* labels_, std::int64_t n_samples_, std::int64_t n_classes_)
        : Classes(labels_, n_samples_, n_classes_) {
        for (const std::int64_t i : order) classes.push_back(labels[at(i)]);
    }

    // Converts an array of samples x k, row-major, from the caller's order; unsort converts it back.
    Numbers sorted(const double* A, std::int64_t k) const {
        Numbers columns = numbers(n_samples() * k);
        for (std::int64_t i = 0; i < n_samples(); ++i) {
            for (std::int64_t j = 0; j < k; ++j) columns[at(j * n_samples() + i)] = A[order[at(i)] * k + j];
        }
        return columns;
    }
    void unsort(const double* columns, std::int64_t k, double* A) const {
        for (std::int64_t i = 0; i < n_samples(); ++i) {
            for (std::int64_t j = 0; j < k; ++j) A[order[at(i)] * k + j] = columns[j * n_samples() + i];
        }
    }
};

}  // namespace fastfs::core
