// The rows that two columns share, and their products; compiled once per instruction set under the rules of tiles.cpp.
#include "engines/isa/shared_rows.hpp"

#include "engines/isa/tiles.hpp"
#include "engines/isa/vector.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace fastfs::core {
namespace {

// Pairs with shared words that are listed before they are multiplied, so that neither loop has branches that depend on
// the data; the bits of kPairs pairs stay in L1 until then. Zen 4, 600 of 20,000 columns in each row: this takes a
// fifth of the time of a branch per pair and 64 rows.
constexpr std::int64_t kPairs = 256;

typedef std::uint16_t Places __attribute__((vector_size(16), aligned(2), may_alias));

// Table of the places of the bits of each byte, from the lowest on.
struct PlacesOfBits {
    std::uint16_t of[256][8] = {};
    constexpr PlacesOfBits() {
        for (int byte = 0; byte < 256; ++byte) {
            for (std::uint16_t bit = 0, n = 0; bit < 8; ++bit) {
                if (byte >> bit & 1) of[byte][n++] = bit;
            }
        }
    }
};
alignas(64) constexpr PlacesOfBits kPlaces;

// Returns a mask: bit w is set if word w of a and b have a bit in common.
inline unsigned shared_words(const std::uint64_t* a, const std::uint64_t* b) {
    static_assert(kRowWords == 8);
#if defined(__AVX512F__)
    return _mm512_test_epi64_mask(_mm512_load_si512(a), _mm512_load_si512(b));
#elif defined(__AVX2__)
    unsigned none = 0;
    for (int half = 0; half < 2; ++half) {
        const __m256i both = _mm256_and_si256(_mm256_load_si256(reinterpret_cast<const __m256i*>(a) + half),
                                              _mm256_load_si256(reinterpret_cast<const __m256i*>(b) + half));
        const __m256i is_none = _mm256_cmpeq_epi64(both, _mm256_setzero_si256());
        none |= static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(is_none))) << (4 * half);
    }
    return none ^ 0xff;
#else
    unsigned mask = 0;
    for (int w = 0; w < kRowWords; ++w) mask |= static_cast<unsigned>((a[w] & b[w]) != 0) << w;
    return mask;
#endif
}

// Adds to products[e] the inner product of the sparse columns first[e] and second[e], row after row, for n pairs.
template <class T>
void add_products(const ColumnsOfRows<T>& rows, const std::int32_t* first, const std::int32_t* second, std::int64_t n,
                  double* products) {
    std::uint16_t words[kPairs * kRowWords + 8];
    for (; n > 0; n -= kPairs, first += kPairs, second += kPairs, products += kPairs) {
        const std::int64_t pairs = n < kPairs ? n : kPairs;
        std::int64_t n_words = 0;
        for (std::int64_t e = 0; e < pairs; ++e) {
            const unsigned shared = shared_words(rows.bits + first[e] * kRowWords, rows.bits + second[e] * kRowWords);
            *reinterpret_cast<Places*>(words + n_words) =
                *reinterpret_cast<const Places*>(kPlaces.of[shared]) + static_cast<std::uint16_t>(e * kRowWords);
            n_words += __builtin_popcount(shared);
        }
        for (std::int64_t s = 0; s < n_words; ++s) {
            const std::int64_t e = words[s] / kRowWords, word = words[s] % kRowWords;
            const std::int64_t at_first = first[e] * kRowWords + word, at_second = second[e] * kRowWords + word;
            const std::uint64_t a = rows.bits[at_first], b = rows.bits[at_second];
            const T *left = rows.values + rows.begins[at_first], *right = rows.values + rows.begins[at_second];
            double sum = products[e];
            for (std::uint64_t both = a & b; both; both &= both - 1) {
                const std::uint64_t before = (both & -both) - 1;
                sum += static_cast<double>(left[__builtin_popcountll(a & before)]) *
                       static_cast<double>(right[__builtin_popcountll(b & before)]);
            }
            products[e] = sum;
        }
    }
}

}  // namespace

extern const SharedIsa FASTFS_GLUE(shared_, FASTFS_ISA_NAME);
constexpr SharedIsa FASTFS_GLUE(shared_, FASTFS_ISA_NAME) = {add_products<float>, add_products<double>};

}  // namespace fastfs::core
