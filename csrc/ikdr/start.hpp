// Where I-KDR starts.
#pragma once

#include <cstdint>

#include "ikdr/sorted_samples.hpp"
#include "support/index.hpp"

namespace fastfs::core {

// Each class in cells around its medoid and the samples that are farthest from the centres before them; a column is the
// mean of a cell.
template <class T>
Numbers class_wise_start(const SortedSamples& samples, const T* K, std::int64_t k);

}  // namespace fastfs::core
