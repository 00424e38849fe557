#include "immigrate.hpp"

#include "support/errors.hpp"

namespace fastfs::core {

void im4e(const Margin&, const std::int64_t*, std::int64_t, const fastfs_im4e_options&, Run&, fastfs_im4e_result&) {
    throw NumericError("IM4E isn't there yet");
}

Immigrate immigrate(const Margin&, const std::int64_t*, std::int64_t, const fastfs_immigrate_options&, Run&) {
    throw NumericError("IMMIGRATE isn't there yet");
}

std::int64_t immigrate_pairs(std::int64_t, std::int64_t, const double*, const double*, bool, std::int64_t, Run&,
                             std::int64_t*, std::int64_t*, double*) {
    throw NumericError("IMMIGRATE isn't there yet");
}

void margin_distances(const Margin&, const std::int64_t*, std::int64_t, const fastfs_margin_metric&, const Matrix&,
                      Run&, double*) {
    throw NumericError("the prediction isn't there yet");
}

void margin_explain(const Margin&, const std::int64_t*, std::int64_t, const fastfs_margin_metric&, const Matrix&,
                    const std::int64_t*, Run&, double*) {
    throw NumericError("the prediction isn't there yet");
}

}  // namespace fastfs::core
