// The exceptions of the core; capi/abi.cpp turns them into codes, in one place.
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fastfs/fastfs.h"

namespace fastfs::core {

// A numbered object in a message, which callers may know by another name: "set 2" is "class tumour" in Python.
struct Name {
    fastfs_place_kind kind;
    std::int64_t number;  // 0-based
    std::string text;

    static Name of_matrix(std::int64_t number, std::string text) {
        return {FASTFS_PLACE_MATRIX, number, std::move(text)};
    }
    static Name row(std::int64_t n) { return {FASTFS_PLACE_ROW, n, "row " + std::to_string(n)}; }
    static Name column(std::int64_t n) { return {FASTFS_PLACE_COLUMN, n, "column " + std::to_string(n)}; }
    static Name class_(std::int64_t n) { return {FASTFS_PLACE_CLASS, n, "class " + std::to_string(n)}; }
    static Name set(std::int64_t n) { return {FASTFS_PLACE_SET, n, "set " + std::to_string(n)}; }
    static Name chunk(std::int64_t n) { return {FASTFS_PLACE_CHUNK, n, "chunk " + std::to_string(n)}; }
    static Name kernel(std::int64_t n) { return {FASTFS_PLACE_KERNEL, n, "matrix " + std::to_string(n)}; }
};

// Formats a number as people write it: std::to_string would make 0.000000 of 1e-9.
std::string text(double value);

// A sentence composed of texts, numbers, names and other messages, with the places at which it names objects.
class Message {
  public:
    Message() = default;
    Message(std::string text) : text_(std::move(text)) {}
    Message(const char* text) : text_(text) {}
    template <class First, class Second, class... Others>
    Message(const First& first, const Second& second, const Others&... others) {
        *this << first << second;
        ((*this << others), ...);
    }

    Message& operator<<(std::string_view part);
    Message& operator<<(const char* part) { return *this << std::string_view(part); }
    Message& operator<<(const std::string& part) { return *this << std::string_view(part); }
    template <std::integral I>
    Message& operator<<(I number) {
        return *this << std::string_view(std::to_string(number));
    }
    Message& operator<<(double number) { return *this << core::text(number); }
    Message& operator<<(const Name& name);
    Message& operator<<(const Message& part);

    const std::string& text() const { return text_; }
    const std::vector<fastfs_place>& places() const { return places_; }

  private:
    std::string text_;
    std::vector<fastfs_place> places_;
};

// An error that is described in one sentence.
class Failure : public std::exception {
  public:
    explicit Failure(Message message) : message_(message), sentence_(std::move(message)) {}
    const char* what() const noexcept override { return message_.text().c_str(); }
    const Message& message() const { return message_; }
    // Prefixes the sentence by the place of the failure: "in set 1: ...", and then "in chunk 2, set 1: ..."
    void put_within(const Name& name);

  private:
    Message message_, sentence_, within_;  // the whole message; its sentence; its prefix
};

struct InvalidArgument : Failure {
    using Failure::Failure;
};

struct OutOfMemory : Failure {
    using Failure::Failure;
};

struct AlreadyRegistered : Failure {
    using Failure::Failure;
};

struct NumericError : Failure {
    using Failure::Failure;
};

struct Canceled : Failure {
    Canceled() : Failure("canceled by the progress callback") {}
};

// Calls f(), and adds `name` to the message of a failure as the place where it happened.
template <class F>
decltype(auto) naming_place(const Name& name, F&& f) {
    try {
        return f();
    } catch (Failure& failure) {
        failure.put_within(name);
        throw;
    }
}

// Throws InvalidArgument. Neither inlined nor expected, which makes the code that composes messages smaller.
[[noreturn, gnu::cold]] void refuse(const Message& message);

// require(condition, parts of the message...): throws InvalidArgument unless the condition holds. A macro, so that the
// message is composed only if the check fails: the messages of all checks took a third of a call on 8 x 8 values.
#define require(condition, ...) ((condition) ? void() : ::fastfs::core::refuse({__VA_ARGS__}))

}  // namespace fastfs::core
