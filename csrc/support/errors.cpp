#include "support/errors.hpp"

#include <cstdio>

namespace fastfs::core {

std::string text(double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%g", value);
    return digits;
}

Message& Message::operator<<(std::string_view part) {
    text_ += part;
    return *this;
}

Message& Message::operator<<(const Name& name) {
    const auto begin = static_cast<std::int64_t>(text_.size());
    text_ += name.text;
    places_.push_back(
        {sizeof(fastfs_place), name.kind, 0, name.number, begin, static_cast<std::int64_t>(text_.size())});
    return *this;
}

// Appends the text of another message, and its places.
Message& Message::operator<<(const Message& part) {
    const auto shift = static_cast<std::int64_t>(text_.size());
    text_ += part.text_;
    for (fastfs_place place : part.places_) {
        place.begin += shift;
        place.end += shift;
        places_.push_back(place);
    }
    return *this;
}

void Failure::put_within(const Name& name) {
    within_ = within_.text().empty() ? Message() << name : Message(name, ", ", within_);
    message_ = Message("in ", within_, ": ", sentence_);
}

void refuse(const Message& message) { throw InvalidArgument(message); }

}  // namespace fastfs::core
