// Registers of bits, for the files compiled once per instruction set. Internal linkage only, see tiles.cpp.
#pragma once

#include "engines/isa/vector.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace fastfs::core {
namespace {

typedef std::uint64_t Word __attribute__((vector_size(kRegister)));
typedef std::uint64_t WordInMemory __attribute__((vector_size(kRegister), aligned(8), may_alias));
constexpr int kWords = kRegister / 8;

inline Word load_words(const std::uint64_t* from) { return *reinterpret_cast<const WordInMemory*>(from); }

// Takes the bits of a where `where` is 1, and the bits of b elsewhere.
template <class W>
inline W select_bits(W where, W a, W b) {
#if defined(FASTFS_NEON)
    return __builtin_bit_cast(W, vbslq_u64(__builtin_bit_cast(uint64x2_t, where), __builtin_bit_cast(uint64x2_t, a),
                                           __builtin_bit_cast(uint64x2_t, b)));
#else
    return (where & a) | (~where & b);
#endif
}

// Returns the number of 1 bits of each byte, in this byte.
inline Word bits_of_bytes(Word x) {
#if defined(__AVX512BW__)
    const __m512i low = _mm512_set1_epi8(0x0f), bytes = __builtin_bit_cast(__m512i, x);
    const __m512i bits = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const __m512i below = _mm512_shuffle_epi8(bits, _mm512_and_si512(bytes, low));
    const __m512i above = _mm512_shuffle_epi8(bits, _mm512_and_si512(_mm512_srli_epi16(bytes, 4), low));
    return __builtin_bit_cast(Word, _mm512_add_epi8(below, above));
#elif defined(__AVX2__)
    const __m256i low = _mm256_set1_epi8(0x0f), bytes = __builtin_bit_cast(__m256i, x);
    const __m256i bits = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const __m256i below = _mm256_shuffle_epi8(bits, _mm256_and_si256(bytes, low));
    const __m256i above = _mm256_shuffle_epi8(bits, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), low));
    return __builtin_bit_cast(Word, _mm256_add_epi8(below, above));
#elif defined(FASTFS_NEON)
    return __builtin_bit_cast(Word, vcntq_u8(__builtin_bit_cast(uint8x16_t, x)));
#else
    constexpr std::uint64_t kBytes = 0x0101010101010101;
    x = x - ((x >> 1) & (0x55 * kBytes));
    x = (x & (0x33 * kBytes)) + ((x >> 2) & (0x33 * kBytes));
    return (x + (x >> 4)) & (0x0f * kBytes);
#endif
}

// Returns the sum of the bytes of each word.
inline Word sum_of_bytes(Word x) {
#if defined(__AVX512BW__)
    return __builtin_bit_cast(Word, _mm512_sad_epu8(__builtin_bit_cast(__m512i, x), _mm512_setzero_si512()));
#elif defined(__AVX2__)
    return __builtin_bit_cast(Word, _mm256_sad_epu8(__builtin_bit_cast(__m256i, x), _mm256_setzero_si256()));
#elif defined(__SSE2__)
    return __builtin_bit_cast(Word, _mm_sad_epu8(__builtin_bit_cast(__m128i, x), _mm_setzero_si128()));
#elif defined(FASTFS_NEON)
    return __builtin_bit_cast(Word, vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(__builtin_bit_cast(uint8x16_t, x)))));
#else
    constexpr std::uint64_t kEvery2 = 0x00ff00ff00ff00ff, kEvery4 = 0x0000ffff0000ffff;
    x = (x & kEvery2) + ((x >> 8) & kEvery2);
    x = (x & kEvery4) + ((x >> 16) & kEvery4);
    return (x & 0xffffffff) + (x >> 32);
#endif
}

}  // namespace
}  // namespace fastfs::core
