// Serialization of states as plain bytes, for other processes on machines of one architecture.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "support/errors.hpp"
#include "support/index.hpp"

namespace fastfs::core {

// Writes values consecutively; if the destination is null, only counts their bytes.
class ByteWriter {
  public:
    explicit ByteWriter(char* to) : to_(to) {}

    template <class T>
    void put(const T* values, std::int64_t n) {
        static_assert(std::is_trivially_copyable_v<T>);
        const std::int64_t bytes = n * std::int64_t{sizeof(T)};
        if (to_ != nullptr && n > 0) std::memcpy(to_ + n_bytes_, values, at(bytes));
        n_bytes_ += bytes;
    }
    void put(std::int64_t value) { put(&value, 1); }
    template <class T>
    void put(const std::vector<T>& values) {
        put(std::ssize(values));
        put(values.data(), std::ssize(values));
    }

    std::int64_t n_bytes() const { return n_bytes_; }

  private:
    char* to_;
    std::int64_t n_bytes_ = 0;
};

// Reads the values that a ByteWriter wrote, and never beyond the end. Throws InvalidArgument.
class ByteReader {
  public:
    ByteReader(const char* from, std::int64_t n_bytes) : from_(from), left_(n_bytes) {}

    // Reads the next n values; throws if fewer are left.
    template <class T>
    void get(T* values, std::int64_t n) {
        static_assert(std::is_trivially_copyable_v<T>);
        expect(n >= 0 && n <= left_ / std::int64_t{sizeof(T)});
        const std::int64_t bytes = n * std::int64_t{sizeof(T)};
        if (n > 0) std::memcpy(values, from_, at(bytes));
        from_ += bytes;
        left_ -= bytes;
    }
    std::int64_t get() {
        std::int64_t value = 0;
        get(&value, 1);
        return value;
    }
    template <class T>
    void get(std::vector<T>& values) {
        const std::int64_t n = get();
        expect(n >= 0 && n <= left_ / std::int64_t{sizeof(T)});
        values.resize(at(n));
        get(values.data(), n);
    }
    // Throws InvalidArgument unless `good`: a value that was read could not have been saved.
    void expect(bool good) const {
        require(
            good,
            "bytes must be a saved state of n_bytes bytes; got damaged ones, or another number: save the state again");
    }
    void expect_end() const { expect(left_ == 0); }

  private:
    const char* from_;
    std::int64_t left_;
};

}  // namespace fastfs::core
