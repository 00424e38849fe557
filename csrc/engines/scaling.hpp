// What makes features comparable: shifts and factors of the columns of a matrix.
#pragma once

#include <vector>

#include "support/matrix.hpp"
#include "support/run.hpp"

namespace fastfs::core {

enum class Scaling { kNone, kRange, kStandard };

// A scaled value is (x - shift) * factor. find_scales throws InvalidArgument if X holds NaN or infinity, if nothing
// varies, or if a column can't be scaled. A sparse X keeps its zeros: its shifts are 0, and kStandard is refused.
struct FeatureScales {
    std::vector<double> shift, factor;  // factor 0: the feature is constant
    bool uneven = false;                // not scaled, and standard deviations 1e3 apart
};
FeatureScales find_scales(const Matrix& X, Scaling scaling, Run& run);

}  // namespace fastfs::core
