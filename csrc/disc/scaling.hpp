// Features centred and scaled over the samples of all sets.
#pragma once

#include <cstdint>
#include <vector>

#include "disc/graph.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// The mean and the standard deviation of each feature; the deviation of a constant feature is 1.
struct DiscScaling {
    Numbers mean, scale;
};

// Returns the mean and the scale of each feature over the rows of all sets together; no set has a sparse X. Throws if
// values overflow.
DiscScaling measure_scaling(const std::vector<DiscSet>& sets, Run& run);

// The sets with values (x - mean) / scale, rounded to the type of each matrix.
class ScaledSets {
  public:
    ScaledSets(const std::vector<DiscSet>& sets, const DiscScaling& scaling, Run& run);
    const std::vector<DiscSet>& sets() const { return sets_; }

  private:
    std::vector<DiscSet> sets_;
    std::vector<Buffer<float>> singles_;
    std::vector<Buffer<double>> doubles_;
};

// Returns the bytes of the scaled sets.
std::int64_t scaled_memory(const std::vector<DiscSet>& sets);

}  // namespace fastfs::core
