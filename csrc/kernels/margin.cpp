#include "kernels/margin.hpp"

#include "support/errors.hpp"

namespace fastfs::core {

Margin::Margin(const Matrix& X, Scaling, Keep keep, Run&) : X_(X), keep_(keep) {
    throw NumericError("the margin engine isn't there yet");
}

}  // namespace fastfs::core
