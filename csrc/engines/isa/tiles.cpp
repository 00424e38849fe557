// Compiled once per instruction set, with FASTFS_ISA_NAME one of base, avx2, avx512, neon. Everything but the table at
// the end has internal linkage and nothing comes from the standard library's templates: the linker merges equal
// symbols, and must never give the baseline a function that was compiled for AVX-512. FMA contraction is on here.
#include "engines/isa/tiles.hpp"

#include "engines/isa/exp.hpp"
#include "engines/isa/vector.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace fastfs::core {
namespace {

// Rows of three registers that hold sums: as many as the register file has room for.
constexpr int kSumRows = kManyRegisters ? 8 : 4;

// Copies n samples of kPanel features, `stride` apart, less the shifts of the features, to a panel, which can be x
// itself; adds the copied values and their squares to `sums` and `squares`.
template <class T>
void copy_shifted(const T* x, std::int64_t stride, std::int64_t n, const T* shifts, T* panel, double* sums,
                  double* squares) {
    using V = Vector<T>;
    constexpr int kLanes = V::kLanes, kAtOnce = 8;  // samples that are summed in T
    typedef double Doubles __attribute__((vector_size(kLanes * sizeof(double))));
    typedef double DoublesInMemory __attribute__((vector_size(kLanes * sizeof(double)), aligned(8), may_alias));
    for (std::int64_t c = 0; c < kPanel<T>; c += kLanes) {
        const typename V::Type from = *reinterpret_cast<const typename V::InMemory*>(shifts + c);
        Doubles sum = *reinterpret_cast<const DoublesInMemory*>(sums + c);
        Doubles square = *reinterpret_cast<const DoublesInMemory*>(squares + c);
        for (std::int64_t k0 = 0; k0 < n; k0 += kAtOnce) {
            const std::int64_t end = n - k0 < kAtOnce ? n : k0 + kAtOnce;
            typename V::Type part = {}, part_square = {};
            for (std::int64_t k = k0; k < end; ++k) {
                const typename V::Type v = *reinterpret_cast<const typename V::InMemory*>(x + k * stride + c) - from;
                *reinterpret_cast<typename V::InMemory*>(panel + k * kPanel<T> + c) = v;
                part += v;
                part_square += v * v;
            }
            sum += __builtin_convertvector(part, Doubles);
            square += __builtin_convertvector(part_square, Doubles);
        }
        *reinterpret_cast<DoublesInMemory*>(sums + c) = sum;
        *reinterpret_cast<DoublesInMemory*>(squares + c) = square;
    }
}

// Sets the tile to the inner products of kRows features (at left) with kVectors registers of features (at right) over n
// samples, n >= 1, or adds them to it (add). Features of a panel are kPanel<T> values apart.
template <class T, int kRows, int kVectors>
inline void gram_block(const T* __restrict left, const T* __restrict right, std::int64_t n, bool add,
                       T* __restrict tile, std::int64_t ld) {
    using V = Vector<T>;
    if (n < 1) __builtin_unreachable();  // otherwise the sums start in memory, for a loop that doesn't run
    typename V::Type sum[kRows][kVectors] = {};
    for (int r = 0; r < kRows; ++r) {  // larger tiles than the cache come from memory meanwhile
        for (int v = 0; v < kVectors; ++v) __builtin_prefetch(tile + r * ld + v * V::kLanes, 1);
    }
    for (std::int64_t k = 0; k < n; ++k) {
        typename V::Type b[kVectors];
        for (int v = 0; v < kVectors; ++v) b[v] = *reinterpret_cast<const typename V::InMemory*>(right + v * V::kLanes);
        for (int r = 0; r < kRows; ++r) {
            for (int v = 0; v < kVectors; ++v) sum[r][v] += factor(left, r) * b[v];
        }
        left += kPanel<T>;
        right += kPanel<T>;
    }
    for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < kVectors; ++v) {
            auto* to = reinterpret_cast<typename V::InMemory*>(tile + r * ld + v * V::kLanes);
            *to = add ? *to + sum[r][v] : sum[r][v];
        }
    }
}

// Sets a tile of at most kSumRows rows and three registers of columns to inner products, or adds them to it (add), as
// gram_block does, but writes only the rows x cols part that the tile has room for.
template <class T>
void gram_edge(const T* left, const T* right, std::int64_t n, bool add, T* tile, std::int64_t ld, std::int64_t rows,
               std::int64_t cols) {
    constexpr std::int64_t kLanes = Vector<T>::kLanes, kCols = 3 * kLanes;
    T block[kSumRows * kCols];
    auto compute = [&]<int kVectors>() {
        if (2 * rows <= kSumRows) {
            gram_block<T, kSumRows / 2, kVectors>(left, right, n, false, block, kCols);
        } else {
            gram_block<T, kSumRows, kVectors>(left, right, n, false, block, kCols);
        }
    };
    if (cols <= kLanes) {
        compute.template operator()<1>();
    } else if (cols <= 2 * kLanes) {
        compute.template operator()<2>();
    } else {
        compute.template operator()<3>();
    }
    for (std::int64_t a = 0; a < rows; ++a) {
        for (std::int64_t b = 0; b < cols; ++b) {
            tile[a * ld + b] = add ? tile[a * ld + b] + block[a * kCols + b] : block[a * kCols + b];
        }
    }
}

// Sets the tile (rows x cols) to the inner products of left with right features over n samples, or adds them to it
// (add).
template <class T>
void gram(const T* left, const T* right, std::int64_t panel_stride, std::int64_t n, bool add, T* tile, std::int64_t ld,
          std::int64_t rows, std::int64_t cols) {
    constexpr std::int64_t kCols = 3 * Vector<T>::kLanes;
    static_assert(kPanel<T> % kCols == 0 && kPanel<T> % kSumRows == 0);
    for (std::int64_t n0 = 0; n0 < n; n0 += kSamplesPerPass) {
        const std::int64_t pass = n - n0 < kSamplesPerPass ? n - n0 : kSamplesPerPass;
        for (std::int64_t b = 0; b < cols; b += kCols) {
            const T* at_b = right + b / kPanel<T> * panel_stride + n0 * kPanel<T> + b % kPanel<T>;
            for (std::int64_t a = 0; a < rows; a += kSumRows) {
                const T* at_a = left + a / kPanel<T> * panel_stride + n0 * kPanel<T> + a % kPanel<T>;
                T* to = tile + a * ld + b;
                if (rows - a >= kSumRows && cols - b >= kCols) {
                    gram_block<T, kSumRows, 3>(at_a, at_b, pass, add || n0 > 0, to, ld);
                } else {
                    gram_edge(at_a, at_b, pass, add || n0 > 0, to, ld, rows - a < kSumRows ? rows - a : kSumRows,
                              cols - b < kCols ? cols - b : kCols);
                }
            }
        }
    }
}

// Replaces inner products in the tile by squared distances, or by a mark if cancellation has eaten the digits; returns
// the number of marks.
template <class T>
std::int64_t sqdist(T* tile, std::int64_t ld, std::int64_t rows, std::int64_t cols, const T* row_norms,
                    const T* __restrict col_norms, T tolerance) {
    using Int = typename Bits<T>::Int;
    std::int64_t marks = 0;
    for (std::int64_t a = 0; a < rows; ++a) {
        T* __restrict row = tile + a * ld;
        const T norm = row_norms[a];
        Int row_marks = 0;
        for (std::int64_t b = 0; b < cols; ++b) {
            const T sum = norm + col_norms[b];
            const T d2 = sum - T(2) * row[b];
            const bool lost = d2 <= tolerance * sum && sum > T(0);
            row[b] = lost ? TileKernels<T>::kMarkedDistance : d2;
            row_marks += lost ? Int(1) : Int(0);
        }
        marks += row_marks;
    }
    return marks;
}

// Replaces inner products in the tile by exp(-scale * squared distance), or by a mark if cancellation has eaten the
// digits; returns the number of marks.
template <class T>
std::int64_t rbf(T* tile, std::int64_t ld, std::int64_t rows, std::int64_t cols, const T* row_norms,
                 const T* __restrict col_norms, T tolerance, T scale) {
    using Int = typename Bits<T>::Int;
    std::int64_t marks = 0;
    for (std::int64_t a = 0; a < rows; ++a) {
        T* __restrict row = tile + a * ld;
        const T norm = row_norms[a];
        Int row_marks = 0;
        for (std::int64_t b = 0; b < cols; ++b) {
            const T sum = norm + col_norms[b];
            const T d2 = sum - T(2) * row[b];
            const bool lost = d2 <= tolerance * sum && sum > T(0);
            row[b] = lost ? TileKernels<T>::kMarkedAffinity : exp_of<T>(d2 * -scale);
            row_marks += lost ? Int(1) : Int(0);
        }
        marks += row_marks;
    }
    return marks;
}

// Replaces each x >= 0 by exp(-scale * x).
template <class T>
void exp_neg(T* __restrict x, std::int64_t n, T scale) {
    for (std::int64_t i = 0; i < n; ++i) x[i] = exp_of<T>(x[i] * -scale);
}

// Tests if no |x| exceeds `largest` or is NaN.
template <class T>
bool all_within(const T* x, std::int64_t n, T largest) {
    typename Bits<T>::Int outside = 0;
    for (std::int64_t i = 0; i < n; ++i) outside += ((x[i] <= largest) & (x[i] >= -largest)) ? 0 : 1;
    return outside == 0;
}

// Returns the sum of (a_n - b_n)^2 in double; n is a multiple of 8.
template <class T>
double squared_distance(const T* a, const T* b, std::int64_t n) {
    using Sum = Vector<double>::Type;
    constexpr int kLanes = Vector<double>::kLanes;
    constexpr int kSums = 8 / kLanes;
    Sum sum[kSums] = {};
    for (std::int64_t i = 0; i < n; i += 8) {
        for (int s = 0; s < kSums; ++s) {
            const Sum difference = load_doubles(a + i + s * kLanes) - load_doubles(b + i + s * kLanes);
            sum[s] += difference * difference;
        }
    }
    double total = 0;
    for (int s = 0; s < kSums; ++s) {
        for (int lane = 0; lane < kLanes; ++lane) total += sum[s][lane];
    }
    return total;
}

// Returns an upper bound of the k-th smallest value, by halving the range of the values until just k are left. Some ten
// steps suffice; if values are far apart the bound is poor, but never wrong.
float bound_kth(const float* __restrict x, std::int64_t n, std::int64_t k) {
    float low = x[0], high = x[0];
    for (std::int64_t i = 0; i < n; ++i) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    for (int step = 0; step < 16; ++step) {
        const float middle = low + (high - low) / 2;
        std::int32_t count = 0;
        for (std::int64_t i = 0; i < n; ++i) count += x[i] <= middle ? 1 : 0;
        if (count < k) {
            low = middle;
        } else {
            high = middle;
            if (count == k) break;
        }
    }
    return high;
}

#if defined(FASTFS_NEON)
// Returns a mask: bit n is set if lane n of the registers of a panel is all ones, and not all zeros.
inline std::uint64_t panel_bits(const Vector<float>::Ints* lanes) {
    constexpr int kBytes = 4;  // registers that fill one with their lanes as bytes
    static_assert(kPanel<float> == 3 * kBytes * Vector<float>::kLanes);
    const uint8x16_t bit = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201));
    uint8x16_t bits[kBytes] = {};
    for (int i = 0; i < 3; ++i) {
        uint16x8_t pairs[kBytes];
        for (int k = 0; k < kBytes; ++k) pairs[k] = __builtin_bit_cast(uint16x8_t, lanes[i * kBytes + k]);
        const uint16x8_t low = vuzp1q_u16(pairs[0], pairs[1]), high = vuzp1q_u16(pairs[2], pairs[3]);
        bits[i] = vandq_u8(vuzp1q_u8(vreinterpretq_u8_u16(low), vreinterpretq_u8_u16(high)), bit);
    }
    const uint8x16_t sums = vpaddq_u8(vpaddq_u8(bits[0], bits[1]), vpaddq_u8(bits[2], bits[3]));
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)), 0);
}
#else
// Returns a mask: bit n is set if lane n of x is at least lane n of y.
inline unsigned at_least(Vector<float>::Type x, Vector<float>::Type y) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask(x, y, _CMP_GE_OQ);
#elif defined(__AVX2__)
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(x, y, _CMP_GE_OQ)));
#elif defined(__SSE2__)
    return static_cast<unsigned>(_mm_movemask_ps(_mm_cmpge_ps(x, y)));
#else
    unsigned bits = 0;
    for (int lane = 0; lane < Vector<float>::kLanes; ++lane) bits |= static_cast<unsigned>(x[lane] >= y[lane]) << lane;
    return bits;
#endif
}
#endif

// Appends an entry (a, column, value) for each bit of `marks` at `end`, bit n for column b + n of row a; returns the
// new end.
inline Hit* append_hits(Hit* end, std::uint64_t marks, const float* row, std::int64_t a, std::int64_t b) {
    for (; marks; marks &= marks - 1) {
        const std::int64_t at = b + __builtin_ctzll(marks);
        *end++ = {static_cast<std::uint16_t>(a), static_cast<std::uint16_t>(at), row[at]};
    }
    return end;
}

// Writes the entries tile[a, b] >= col_floors[b] - row_limits[a] to of_rows, and the entries tile[a, b] >=
// row_floors[a] - col_limits[b] to of_cols, row after row from `begin` on, over earlier entries; sets their `end`.
void select(const float* tile, std::int64_t ld, std::int64_t rows, std::int64_t cols, const float* row_floors,
            const float* row_limits, const float* col_floors, const float* col_limits, Hits* of_rows, Hits* of_cols) {
    using V = Vector<float>;
    static_assert(kPanel<float> <= 64, "a bit for each column of a panel");
    Hit *row_hit = of_rows->begin, *col_hit = of_cols->begin;
    for (std::int64_t a = 0; a < rows; ++a) {
        const float* row = tile + a * ld;
        const float floor = row_floors[a], limit = row_limits[a];
        for (std::int64_t b = 0; b < cols; b += kPanel<float>) {
            std::uint64_t by_row = 0, by_col = 0;
#if defined(FASTFS_NEON)
            V::Ints row_lanes[kPanel<float> / V::kLanes], col_lanes[kPanel<float> / V::kLanes];
            for (int v = 0; v < kPanel<float> / V::kLanes; ++v) {
                const auto x = load(row + b + v * V::kLanes);
                row_lanes[v] = x >= load(col_floors + b + v * V::kLanes) - limit;
                col_lanes[v] = x >= floor - load(col_limits + b + v * V::kLanes);
            }
            by_row = panel_bits(row_lanes);
            by_col = panel_bits(col_lanes);
#else
            for (std::int64_t v = 0; v < kPanel<float>; v += V::kLanes) {
                const auto x = *reinterpret_cast<const V::InMemory*>(row + b + v);
                const auto floors = *reinterpret_cast<const V::InMemory*>(col_floors + b + v);
                const auto limits = *reinterpret_cast<const V::InMemory*>(col_limits + b + v);
                by_row |= static_cast<std::uint64_t>(at_least(x, floors - limit)) << v;
                by_col |= static_cast<std::uint64_t>(at_least(x, floor - limits)) << v;
            }
#endif
            row_hit = append_hits(row_hit, by_row, row, a, b);
            col_hit = append_hits(col_hit, by_col, row, a, b);
        }
    }
    of_rows->end = row_hit;
    of_cols->end = col_hit;
}

#if defined(__AVX512F__)
using Register = __m512i;
inline void stream_register(void* to, Register x) { _mm512_stream_si512(static_cast<__m512i*>(to), x); }
inline void finish_streams() { _mm_sfence(); }
#elif defined(__AVX2__)
using Register = __m256i;
inline void stream_register(void* to, Register x) { _mm256_stream_si256(static_cast<__m256i*>(to), x); }
inline void finish_streams() { _mm_sfence(); }
#else
typedef char Register __attribute__((vector_size(kRegister), may_alias));
inline void stream_register(void* to, Register x) { *static_cast<Register*>(to) = x; }
inline void finish_streams() {}
#endif

// Writes factor * from to `to`, n values. Complete cache lines can be streamed past the caches, but not the partial
// lines at both ends: neighbouring tiles complete them, and memory would have to merge the parts.
template <class T, class Out>
inline void store_row(const T* __restrict from, std::int64_t n, Out factor, Out* __restrict to, bool stream) {
    constexpr std::int64_t kLine = 64, kInLine = kLine / sizeof(Out), kInRegister = kRegister / sizeof(Out);
    typedef T From __attribute__((vector_size(kInRegister * sizeof(T)), aligned(sizeof(T)), may_alias));
    typedef Out To __attribute__((vector_size(kRegister)));
    const auto past_line = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % kLine / sizeof(Out));
    const std::int64_t head = (kInLine - past_line) % kInLine;
    std::int64_t i = 0;
    for (; i < head && i < n; ++i) to[i] = factor * static_cast<Out>(from[i]);
    for (const std::int64_t last = i + (n - i) / kInLine * kInLine; i < last; i += kInRegister) {
        const From x = *reinterpret_cast<const From*>(from + i);
        const auto y = __builtin_bit_cast(Register, factor * __builtin_convertvector(x, To));
        if (stream) {
            stream_register(to + i, y);
        } else {
            *reinterpret_cast<Register*>(to + i) = y;
        }
    }
    for (; i < n; ++i) to[i] = factor * static_cast<Out>(from[i]);
}

// Transposes kSide x kSide values in as many registers (baseline doubles: pairs of registers), in rounds that swap
// single values, pairs and fours.
#if defined(FASTFS_NEON)
template <class T>
constexpr int kSide = kRegister / sizeof(T);
#else
template <class T>
constexpr int kSide = kRegister / sizeof(T) >= 8 ? 8 : 4;
#endif

// Writes the transpose of a square of kSide x kSide values to `to`.
template <class T>
inline void transpose(const T* from, std::int64_t from_ld, T* to, std::int64_t to_ld) {
    constexpr int n = kSide<T>;
    typedef T Row __attribute__((vector_size(n * sizeof(T))));
    typedef typename Bits<T>::Int Mask __attribute__((vector_size(n * sizeof(T)), unused));
    typedef T InMemory __attribute__((vector_size(n * sizeof(T)), aligned(sizeof(T)), may_alias));
    Row x[n], y[n];
    for (int i = 0; i < n; ++i) x[i] = *reinterpret_cast<const InMemory*>(from + i * from_ld);
    if constexpr (n == 8) {
        for (int i = 0; i < n; i += 2) {
            y[i] = FASTFS_SHUFFLE(Mask, x[i], x[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
            y[i + 1] = FASTFS_SHUFFLE(Mask, x[i], x[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
        }
        for (int i = 0; i < n; i += 4) {
            for (int k = i; k < i + 2; ++k) {
                x[k] = FASTFS_SHUFFLE(Mask, y[k], y[k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
                x[k + 2] = FASTFS_SHUFFLE(Mask, y[k], y[k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
            }
        }
        for (int k = 0; k < 4; ++k) {
            y[k] = FASTFS_SHUFFLE(Mask, x[k], x[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
            y[k + 4] = FASTFS_SHUFFLE(Mask, x[k], x[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
        }
    } else if constexpr (n == 2) {
        y[0] = FASTFS_SHUFFLE(Mask, x[0], x[1], 0, 2);
        y[1] = FASTFS_SHUFFLE(Mask, x[0], x[1], 1, 3);
    } else {
        for (int i = 0; i < n; i += 2) {
            y[i] = FASTFS_SHUFFLE(Mask, x[i], x[i + 1], 0, 4, 2, 6);
            y[i + 1] = FASTFS_SHUFFLE(Mask, x[i], x[i + 1], 1, 5, 3, 7);
        }
        for (int k = 0; k < 2; ++k) {
            x[k] = FASTFS_SHUFFLE(Mask, y[k], y[k + 2], 0, 1, 4, 5);
            x[k + 2] = FASTFS_SHUFFLE(Mask, y[k], y[k + 2], 2, 3, 6, 7);
        }
        for (int i = 0; i < n; ++i) y[i] = x[i];
    }
    for (int i = 0; i < n; ++i) *reinterpret_cast<InMemory*>(to + i * to_ld) = y[i];
}

// Overwrites `mirrored` (cols x rows, rows out_ld apart) with factor * tile'. Turns columns into rows through a strip
// in L1, kSide columns by up to kStrip rows of the tile, so that complete cache lines are written.
template <class T, class Out>
void store_mirrored(const T* tile, std::int64_t ld, std::int64_t rows, std::int64_t cols, Out factor, Out* mirrored,
                    std::int64_t out_ld, bool stream) {
    constexpr std::int64_t kStrip = 192, side = kSide<T>;  // the height of a tile
    alignas(64) T strip[side * kStrip];
    for (std::int64_t a0 = 0; a0 < rows; a0 += kStrip) {
        const std::int64_t height = rows - a0 < kStrip ? rows - a0 : kStrip;
        for (std::int64_t b0 = 0; b0 < cols; b0 += side) {
            const std::int64_t width = cols - b0 < side ? cols - b0 : side;
            const T* from = tile + a0 * ld + b0;
            std::int64_t a = 0;
            if (width == side) {
                for (; a + side <= height; a += side) transpose(from + a * ld, ld, strip + a, kStrip);
            }
            for (; a < height; ++a) {
                for (std::int64_t b = 0; b < width; ++b) strip[b * kStrip + a] = from[a * ld + b];
            }
            for (std::int64_t b = 0; b < width; ++b) {
                store_row(strip + b * kStrip, height, factor, mirrored + (b0 + b) * out_ld + a0, stream);
            }
        }
    }
}

// Writes factor * tile to `out` and its transpose to `mirrored`, each unless null, with rows out_ld apart (StoreTile).
template <class T, class Out>
void store(const T* tile, std::int64_t ld, std::int64_t rows, std::int64_t cols, Out factor, Out* out, Out* mirrored,
           std::int64_t out_ld, bool stream) {
    if (out) {
        for (std::int64_t a = 0; a < rows; ++a) store_row(tile + a * ld, cols, factor, out + a * out_ld, stream);
    }
    if (mirrored) store_mirrored(tile, ld, rows, cols, factor, mirrored, out_ld, stream);
    if (stream) finish_streams();
}

}  // namespace

extern const BlockKernels FASTFS_GLUE(blocks_, FASTFS_ISA_NAME);    // in block_products.cpp
extern const MarginIsa FASTFS_GLUE(margin_, FASTFS_ISA_NAME);       // in margin_tiles.cpp
extern const RowIsa FASTFS_GLUE(rows_, FASTFS_ISA_NAME);            // in row_products.cpp
extern const FormIsa FASTFS_GLUE(forms_, FASTFS_ISA_NAME);          // in form_tiles.cpp
extern const SampleIsa FASTFS_GLUE(samples_, FASTFS_ISA_NAME);      // in sample_tiles.cpp
extern const SharedIsa FASTFS_GLUE(shared_, FASTFS_ISA_NAME);       // in shared_rows.cpp
extern const GenotypeIsa FASTFS_GLUE(genotypes_, FASTFS_ISA_NAME);  // in genotype_bits.cpp
extern const TableIsa FASTFS_GLUE(tables_, FASTFS_ISA_NAME);        // in genotype_tables.cpp
extern const Isa FASTFS_GLUE(isa_, FASTFS_ISA_NAME);
constexpr Isa FASTFS_GLUE(isa_, FASTFS_ISA_NAME) = {
    FASTFS_TEXT(FASTFS_ISA_NAME),
    {copy_shifted<float>, gram<float>, sqdist<float>, rbf<float>, exp_neg<float>, all_within<float>,
     squared_distance<float>},
    {copy_shifted<double>, gram<double>, sqdist<double>, rbf<double>, exp_neg<double>, all_within<double>,
     squared_distance<double>},
    store<float, float>,
    store<double, float>,
    store<double, double>,
    select,
    bound_kth,
    &FASTFS_GLUE(blocks_, FASTFS_ISA_NAME),
    &FASTFS_GLUE(margin_, FASTFS_ISA_NAME),
    &FASTFS_GLUE(rows_, FASTFS_ISA_NAME),
    &FASTFS_GLUE(forms_, FASTFS_ISA_NAME),
    &FASTFS_GLUE(samples_, FASTFS_ISA_NAME),
    &FASTFS_GLUE(shared_, FASTFS_ISA_NAME),
    &FASTFS_GLUE(genotypes_, FASTFS_ISA_NAME),
    &FASTFS_GLUE(tables_, FASTFS_ISA_NAME),
};

}  // namespace fastfs::core
