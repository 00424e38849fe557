#include "support/warnings.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <utility>

namespace fastfs::core {
namespace {

thread_local Warnings* collecting = nullptr;

constexpr std::size_t kShown = 3;  // of a list

// Names a column in a sentence that says that numbers are columns.
Name number(std::int64_t column) { return {FASTFS_PLACE_COLUMN, column, std::to_string(column)}; }

}  // namespace

Warnings::Warnings() noexcept : outer_(collecting) { collecting = this; }

Warnings::~Warnings() { collecting = outer_; }

void warn(const char* code, Message message) {
    if (collecting == nullptr) throw std::logic_error("a warning on a thread without a call");
    for (const auto& other : collecting->all) {
        if (other->message.text() == message.text()) return;
    }
    auto warning = std::make_unique<Warning>(Warning{code, std::move(message), {}});
    const Message& kept = warning->message;
    warning->view = {sizeof(fastfs_warning), code, kept.text().c_str(), static_cast<std::int64_t>(kept.places().size()),
                     kept.places().data()};
    collecting->all.push_back(std::move(warning));
}

std::string rounded(double value, int digits) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    return text;
}

Message some_of(const std::vector<Message>& names) {
    Message list;
    for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) list << (i > 0 ? ", " : "") << names[i];
    if (names.size() > kShown) list << " and " << names.size() - kShown << " more";
    return list;
}

Message list_columns(const std::vector<std::int64_t>& columns) {
    std::vector<Message> numbers;
    for (const std::int64_t column : columns) numbers.push_back(Message() << number(column));
    return {columns.size() == 1 ? "column " : "columns ", some_of(numbers)};
}

Message list_pairs(const std::vector<std::pair<std::int64_t, std::int64_t>>& first, std::int64_t n) {
    Message list("columns ");
    const std::size_t n_shown = std::min(first.size(), kShown);
    for (std::size_t i = 0; i < n_shown; ++i) {
        list << (i > 0 ? "; " : "") << number(first[i].first) << " and " << number(first[i].second);
    }
    const std::int64_t n_more = n - static_cast<std::int64_t>(n_shown);
    if (n_more > 0) list << " and " << n_more << " more";
    return list;
}

}  // namespace fastfs::core
