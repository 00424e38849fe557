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

// A check: throws InvalidArgument(message). A macro, so that the message is put together only where it is needed: those
// of all checks took a third of a call on 8 x 8 values.
#define require(condition, ...) ((condition) ? void() : throw ::fastfs::core::InvalidArgument(__VA_ARGS__))

// A number as people write it: std::to_string would make 0.000000 of 1e-9.
inline std::string text(double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%g", value);
    return digits;
}

}  // namespace fastfs::core
