// Features centred and scaled over the samples of all sets.
#pragma once

#include <cstdint>
#include <vector>

#include "disc/graph.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Of each feature: its mean and its standard deviation, or 1 if that is rounding.
struct DiscScaling {
    Numbers mean, scale;
};

// No set has a sparse X.
DiscScaling measure_scaling(const std::vector<DiscSet>& sets, Run& run);

// The sets with (x - mean) / scale in place of each value x, rounded to the type of its matrix.
class ScaledSets {
  public:
    ScaledSets(const std::vector<DiscSet>& sets, const DiscScaling& scaling, Run& run);
    const std::vector<DiscSet>& sets() const { return sets_; }

  private:
    std::vector<DiscSet> sets_;
    std::vector<Buffer<float>> singles_;
    std::vector<Buffer<double>> doubles_;
};

// Bytes of the scaled sets.
std::int64_t scaled_memory(const std::vector<DiscSet>& sets);

}  // namespace fastfs::core
