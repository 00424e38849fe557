// Rounding bounds of products of features in single precision.
#pragma once

#include <cstdint>
#include <vector>

#include "engines/columns.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Computes the bounds e_i of candidates.hpp for features of the listed rows of X: 0 if all values lie on a grid that is
// coarse enough for exact products.
template <class T>
std::vector<float> product_error_bounds(const Samples& X, const std::vector<std::int64_t>& rows,
                                        const Features<T>& features, Run& run);

}  // namespace fastfs::core
