// The exceptions of the core; c_api.cpp turns them into codes, in one place.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>

namespace fastfs::core {

struct InvalidArgument : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct OutOfMemory : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct AlreadyRegistered : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct NumericError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Canceled : std::runtime_error {
    Canceled() : std::runtime_error("canceled by the progress callback") {}
};

// For checks made once: the message is built even when all is well, so loops over data test and throw by themselves.
inline void require(bool condition, const std::string& message) {
    if (!condition) throw InvalidArgument(message);
}

// A number as people write it: std::to_string would make 0.000000 of 1e-9.
inline std::string text(double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%g", value);
    return digits;
}

}  // namespace fastfs::core
