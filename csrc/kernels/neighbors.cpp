#include "kernels/neighbors.hpp"

#include "support/errors.hpp"

namespace fastfs::core {

void nearest_features(const Samples&, std::int64_t, Run&, std::int64_t*, double*) {
    throw NumericError("the neighbours aren't there yet");
}

std::int64_t nearest_features_memory(const Samples&, std::int64_t, int) { return 0; }

}  // namespace fastfs::core
