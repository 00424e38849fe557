#include "support/errors.hpp"

#include <cstdio>

namespace fastfs::core {

void refuse(const std::string& message) { throw InvalidArgument(message); }

std::string text(double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%g", value);
    return digits;
}

}  // namespace fastfs::core
