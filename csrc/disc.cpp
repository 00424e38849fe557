#include "disc.hpp"

#include "support/errors.hpp"

namespace fastfs::core {

std::vector<DiscResult> disc(const std::vector<DiscSet>&, const fastfs_disc_options&, Run&) {
    throw NumericError("DiSC isn't there yet");
}

}  // namespace fastfs::core
