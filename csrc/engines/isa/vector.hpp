// Registers and their operations, shared by the files compiled once per instruction set. Internal linkage only, see
// tiles.cpp.
#pragma once

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(FASTFS_NEON)
#include <arm_neon.h>
#endif

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

// Bytes of a register, and whether there are 32 registers.
#if defined(__AVX512F__)
constexpr int kRegister = 64;
constexpr bool kManyRegisters = true;
#elif defined(__AVX2__)
constexpr int kRegister = 32;
constexpr bool kManyRegisters = false;
#elif defined(FASTFS_NEON)
constexpr int kRegister = 16;
constexpr bool kManyRegisters = true;
#else
constexpr int kRegister = 16;
constexpr bool kManyRegisters = false;
#endif

template <class T>
struct Bits;
template <>
struct Bits<float> {
    using Int = std::int32_t;
    static constexpr Int kAllButSign = 0x7fffffff;
};
template <>
struct Bits<double> {
    using Int = std::int64_t;
    static constexpr Int kAllButSign = 0x7fffffffffffffff;
};

template <class T>
struct Vector {
    static constexpr int kLanes = kRegister / static_cast<int>(sizeof(T));
    typedef T Type __attribute__((vector_size(kRegister)));
    typedef typename Bits<T>::Int Ints __attribute__((vector_size(kRegister)));
    typedef T InMemory __attribute__((vector_size(kRegister), aligned(sizeof(T)), may_alias));
};

// Returns |x|.
template <class T>
inline typename Vector<T>::Type absolute(typename Vector<T>::Type x) {
#if defined(FASTFS_NEON)
    // Compilers merge a difference and this call into one instruction.
    if constexpr (sizeof(T) == sizeof(float)) return vabsq_f32(x);
    if constexpr (sizeof(T) == sizeof(double)) return vabsq_f64(x);
#else
    return __builtin_bit_cast(typename Vector<T>::Type,
                              __builtin_bit_cast(typename Vector<T>::Ints, x) & Bits<T>::kAllButSign);
#endif
}

// Returns x if x is positive, otherwise 0, also for NaN: a maximum returns its second operand for NaN, and with NEON
// the operand that is a number. GCC 12 makes two instructions of a comparison.
template <class T>
inline typename Vector<T>::Type positive(typename Vector<T>::Type x) {
    const typename Vector<T>::Type zero{};
#if defined(__AVX512F__)
    // Passes a mask of all lanes, because GCC 12 warns of an uninitialised variable within the intrinsics without a
    // mask.
    if constexpr (sizeof(T) == sizeof(float)) return _mm512_maskz_max_ps(0xffff, x, zero);
    if constexpr (sizeof(T) == sizeof(double)) return _mm512_maskz_max_pd(0xff, x, zero);
#elif defined(__AVX2__)
    if constexpr (sizeof(T) == sizeof(float)) return _mm256_max_ps(x, zero);
    if constexpr (sizeof(T) == sizeof(double)) return _mm256_max_pd(x, zero);
#elif defined(FASTFS_NEON)
    if constexpr (sizeof(T) == sizeof(float)) return vmaxnmq_f32(x, zero);
    if constexpr (sizeof(T) == sizeof(double)) return vmaxnmq_f64(x, zero);
#else
    return x > zero ? x : zero;
#endif
}

// Returns |x|, or 0 for NaN.
template <class T>
inline typename Vector<T>::Type known(typename Vector<T>::Type x) {
#if defined(__AVX512DQ__)
    // Takes the larger of |x| and 0; NaN is neither.
    constexpr int kLargestMagnitude = 0b1011;
    const typename Vector<T>::Type zero{};
    if constexpr (sizeof(T) == sizeof(float)) return _mm512_maskz_range_ps(0xffff, x, zero, kLargestMagnitude);
    if constexpr (sizeof(T) == sizeof(double)) return _mm512_maskz_range_pd(0xff, x, zero, kLargestMagnitude);
#else
    return positive<T>(absolute<T>(x));
#endif
}

// Returns top where x and y differ, otherwise 0, also for NaN.
template <class T>
inline typename Vector<T>::Type differing(typename Vector<T>::Type x, typename Vector<T>::Type y,
                                          typename Vector<T>::Type top) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == sizeof(float)) {
        return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, y, _CMP_NEQ_OQ), top);
    } else {
        return _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(x, y, _CMP_NEQ_OQ), top);
    }
#elif defined(__AVX2__)
    if constexpr (sizeof(T) == sizeof(float)) return _mm256_and_ps(_mm256_cmp_ps(x, y, _CMP_NEQ_OQ), top);
    if constexpr (sizeof(T) == sizeof(double)) return _mm256_and_pd(_mm256_cmp_pd(x, y, _CMP_NEQ_OQ), top);
#else
    const typename Vector<T>::Type zero{};
    return absolute<T>(x - y) > zero ? top : zero;
#endif
}

template <class T>
inline typename Vector<T>::Type load(const T* from) {
    return *reinterpret_cast<const typename Vector<T>::InMemory*>(from);
}

template <class T>
inline void store(T* to, typename Vector<T>::Type x) {
    *reinterpret_cast<typename Vector<T>::InMemory*>(to) = x;
}

// Loads a register of doubles.
inline Vector<double>::Type load_doubles(const double* from) { return load(from); }
inline Vector<double>::Type load_doubles(const float* from) {
#if defined(FASTFS_NEON)
    return vcvt_f64_f32(vld1_f32(from));  // GCC 12 converts one value at a time otherwise
#else
    constexpr int kBytes = Vector<double>::kLanes * sizeof(float);
    typedef float Floats __attribute__((vector_size(kBytes), aligned(sizeof(float)), may_alias));
    return __builtin_convertvector(*reinterpret_cast<const Floats*>(from), Vector<double>::Type);
#endif
}

// Returns from[i], as a factor of registers; `from` has full registers.
template <class T>
inline T factor(const T* from, int i) {
#if defined(FASTFS_NEON)
    // Products take a factor from any lane of a register. A load that fills all lanes with one value would take time of
    // the units that multiply.
    constexpr int kLanes = Vector<T>::kLanes;
    return load(from + i / kLanes * kLanes)[i % kLanes];
#else
    return from[i];
#endif
}

// Calls f(0), ..., f(n - 1) without a loop. With a loop over an array, the compiler would keep the array in memory
// before and after the loop, since it decides about registers first.
template <int n, class F>
inline void unrolled(F&& f) {
    if constexpr (n > 0) {
        unrolled<n - 1>(f);
        f(n - 1);
    }
}

}  // namespace
}  // namespace fastfs::core
