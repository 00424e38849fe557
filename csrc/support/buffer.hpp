// An owned, aligned, uninitialised array: results and workspaces are written before they are read, and a vector
// would touch every page once more to zero it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace fastfs::core {

template <class T>
class Buffer {
  public:
    Buffer() = default;
    explicit Buffer(std::int64_t size) : size_(size), data_(static_cast<T*>(::operator new(bytes(size), kAlignment))) {
#if defined(__linux__)
        // Huge pages: a fresh array of 4 KiB pages costs as much in page faults as the kernel that fills it.
        constexpr std::uintptr_t kHuge = std::uintptr_t{1} << 21;
        auto begin = (reinterpret_cast<std::uintptr_t>(data_.get()) + kHuge - 1) / kHuge * kHuge;
        auto end = reinterpret_cast<std::uintptr_t>(data_.get() + size) / kHuge * kHuge;
        if (end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
    }

    T* data() { return data_.get(); }
    const T* data() const { return data_.get(); }
    std::int64_t size() const { return size_; }
    T& operator[](std::int64_t i) { return data_[i]; }
    const T& operator[](std::int64_t i) const { return data_[i]; }

  private:
    static constexpr std::align_val_t kAlignment{64};
    static std::size_t bytes(std::int64_t size) {
        if (size < 0 || size > std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(sizeof(T))) {
            throw std::bad_array_new_length();
        }
        return static_cast<std::size_t>(size) * sizeof(T);
    }
    struct Delete {
        void operator()(T* p) const { ::operator delete(p, kAlignment); }
    };
    std::int64_t size_ = 0;
    std::unique_ptr<T[], Delete> data_;
};

}  // namespace fastfs::core
