#include "relief.hpp"

#include "support/errors.hpp"

namespace fastfs::core {

void relief(const Margin&, const std::int64_t*, std::int64_t, const fastfs_relief_options&, Run&,
            fastfs_relief_result&) {
    throw NumericError("RELIEF isn't there yet");
}

}  // namespace fastfs::core
