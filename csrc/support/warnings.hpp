// Warnings: what a result doesn't show by itself. capi/abi.cpp keeps those of the last call for fastfs_last_warning.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fastfs/fastfs.h"
#include "support/errors.hpp"

namespace fastfs::core {

struct Warning {
    const char* code;
    Message message;
    fastfs_warning view;  // as callers see it
};

// Collects the warnings of one call: of those that run on this thread, the innermost one.
class Warnings {
  public:
    Warnings() noexcept;
    ~Warnings();
    Warnings(const Warnings&) = delete;
    Warnings& operator=(const Warnings&) = delete;

    std::vector<std::unique_ptr<Warning>> all;

  private:
    Warnings* outer_;
};

// Adds a warning to the call that runs on this thread, unless it has the sentence already; tasks on other threads
// report what they find to it. `code` lives as long as the library. The sentence says what is wrong and what to do, as
// those of errors do.
void warn(const char* code, Message message);

// Formats a number with this number of digits, as in "0.85" and "1.2e-09".
std::string rounded(double value, int digits = 2);

// Lists the names for a sentence: up to three of them, and how many more there are.
Message some_of(const std::vector<Message>& names);

// Lists columns, such as "column 3", or "columns 3, 5, 7 and 2 more". The numbers are their places.
Message list_columns(const std::vector<std::int64_t>& columns);

// Returns pairs of columns as text, such as "columns 3 and 5; 3 and 7 and 2 more". n: how many there are; `first` lists
// the first of them.
Message list_pairs(const std::vector<std::pair<std::int64_t, std::int64_t>>& first, std::int64_t n);

}  // namespace fastfs::core
