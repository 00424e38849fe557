// A hash of values, by which objects that must agree are compared.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "support/index.hpp"

namespace fastfs::core {

// Hashes values in their order: equal values have equal hashes on machines of one architecture.
class Fingerprint {
  public:
    // Adds the bytes of n values, and their number, to the hash.
    template <class T>
    Fingerprint& hash(const T* values, std::int64_t n) {
        static_assert(std::is_trivially_copyable_v<T>);
        const auto* bytes = reinterpret_cast<const char*>(values);
        const std::int64_t n_bytes = n * std::int64_t{sizeof(T)};
        mix(static_cast<std::uint64_t>(n_bytes));
        for (std::int64_t b = 0; b < n_bytes; b += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, bytes + b, at(std::min<std::int64_t>(8, n_bytes - b)));
            mix(word);
        }
        return *this;
    }
    template <class T>
    Fingerprint& hash(const std::vector<T>& values) {
        return hash(values.data(), std::ssize(values));
    }
    Fingerprint& hash(std::int64_t value) { return hash(&value, 1); }

    std::uint64_t value() const { return hash_; }

  private:
    void mix(std::uint64_t word) {
        hash_ = (hash_ ^ word) * 0x9E3779B97F4A7C15;
        hash_ ^= hash_ >> 32;
    }

    std::uint64_t hash_ = 0x5851F42D4C957F2D;
};

}  // namespace fastfs::core
