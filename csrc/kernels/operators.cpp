#include "kernels/operators.hpp"

#include "support/errors.hpp"

namespace fastfs::core {

LeadingPairs leading_pairs(std::int64_t, std::int64_t, const BlockOperator&, double, std::uint64_t, Run&) {
    throw NumericError("the eigensolver isn't there yet");
}

void SparseSymmetric::multiply(const double*, std::int64_t, double*, Run&) const {
    throw NumericError("the product isn't there yet");
}

}  // namespace fastfs::core
