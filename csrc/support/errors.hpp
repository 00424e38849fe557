// The exceptions of the core; c_api.cpp turns them into codes, in one place.
#pragma once

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

// Throws InvalidArgument. Neither inlined nor expected, which makes what puts messages together a good deal smaller.
[[noreturn, gnu::cold]] void refuse(const std::string& message);

// A check: throws InvalidArgument(message). A macro, so that the message is put together only where it is needed: those
// of all checks took a third of a call on 8 x 8 values.
#define require(condition, ...) ((condition) ? void() : ::fastfs::core::refuse(__VA_ARGS__))

// A number as people write it: std::to_string would make 0.000000 of 1e-9.
std::string text(double value);

}  // namespace fastfs::core
