// Where I-KDR starts.
#pragma once

#include <cstdint>

#include "ikdr/sorted_samples.hpp"
#include "support/index.hpp"

namespace fastfs::core {

// Divides each class into cells around its medoid and around the samples farthest from the earlier centres; a column is
// the mean of a cell.
template <class T>
Numbers class_wise_start(const SortedSamples& samples, const T* K, std::int64_t k);

}  // namespace fastfs::core
