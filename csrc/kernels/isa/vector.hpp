// What the files compiled once per instruction set share. Internal linkage only, see tiles.cpp.
#pragma once

// GCC has had Clang's name for it only since version 12.
#if __has_builtin(__builtin_shufflevector)
#define FASTFS_SHUFFLE(mask, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define FASTFS_SHUFFLE(mask, a, b, ...) __builtin_shuffle(a, b, mask{__VA_ARGS__})
#endif

#define FASTFS_GLUE_(a, b) a##b
#define FASTFS_GLUE(a, b) FASTFS_GLUE_(a, b)
#define FASTFS_TEXT_(a) #a
#define FASTFS_TEXT(a) FASTFS_TEXT_(a)

namespace fastfs::core {
namespace {

// Bytes of a register, and whether there are 32 of them.
#if defined(__AVX512F__)
constexpr int kRegister = 64;
constexpr bool kManyRegisters = true;
#elif defined(__AVX2__)
constexpr int kRegister = 32;
constexpr bool kManyRegisters = false;
#elif defined(__aarch64__)
constexpr int kRegister = 16;
constexpr bool kManyRegisters = true;
#else
constexpr int kRegister = 16;
constexpr bool kManyRegisters = false;
#endif

template <class T>
struct Vector {
    static constexpr int kLanes = kRegister / static_cast<int>(sizeof(T));
    typedef T Type __attribute__((vector_size(kRegister)));
    typedef T InMemory __attribute__((vector_size(kRegister), aligned(sizeof(T)), may_alias));
};

}  // namespace
}  // namespace fastfs::core
