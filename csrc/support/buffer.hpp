// An owned, aligned, uninitialised array: results and workspaces are written before they are read, and a vector
// would touch every page once more to zero it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace fastfs::core {

// Allocates memory that is aligned to a cache line, and lies in huge pages if it is large. Throws bad_alloc if there is
// none, or if count is negative or too large.
void* allocate(std::int64_t count, std::int64_t bytes_each);
void release(void* p) noexcept;

template <class T>
class Buffer {
  public:
    Buffer() = default;
    explicit Buffer(std::int64_t size) : size_(size), data_(static_cast<T*>(allocate(size, sizeof(T)))) {}

    T* data() { return data_.get(); }
    const T* data() const { return data_.get(); }
    std::int64_t size() const { return size_; }
    T& operator[](std::int64_t i) { return data_[i]; }
    const T& operator[](std::int64_t i) const { return data_[i]; }

  private:
    struct Delete {
        void operator()(T* p) const { release(p); }
    };
    std::int64_t size_ = 0;
    std::unique_ptr<T[], Delete> data_;
};

// Makes one scratch array per thread of a call.
template <class T>
std::vector<Buffer<T>> buffers(int n_threads, std::int64_t size) {
    std::vector<Buffer<T>> scratch;
    for (int t = 0; t < n_threads; ++t) scratch.emplace_back(size);
    return scratch;
}

}  // namespace fastfs::core
