#include "support/buffer.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace fastfs::core {
namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

void* allocate(std::int64_t count, std::int64_t bytes_each) {
    if (count < 0 || count > std::numeric_limits<std::int64_t>::max() / bytes_each) throw std::bad_array_new_length();
    const auto bytes = static_cast<std::size_t>(count * bytes_each);
    void* const p = ::operator new(bytes, kAlignment);
#if defined(__linux__)
    // Huge pages: a fresh array of 4 KiB pages costs as much in page faults as the kernel that fills it.
    constexpr std::uintptr_t kHuge = std::uintptr_t{1} << 21;
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    const auto begin = (address + kHuge - 1) / kHuge * kHuge;
    const auto end = (address + bytes) / kHuge * kHuge;
    if (end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
    return p;
}

void release(void* p) noexcept { ::operator delete(p, kAlignment); }

}  // namespace fastfs::core
