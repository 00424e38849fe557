// The coefficients A from which I-KDR starts.
#pragma once

#include <cstdint>

#include "ikdr/sorted_samples.hpp"
#include "support/index.hpp"

namespace fastfs::core {

// Returns A (k consecutive columns, samples sorted by class). Each column is the mean of a cell: a class is divided
// into cells around its medoid and around the samples farthest from the earlier centres. K: n x n.
template <class T>
Numbers class_wise_start(const SortedSamples& samples, const T* K, std::int64_t k);

}  // namespace fastfs::core
