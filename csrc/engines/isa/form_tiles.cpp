// Compiled once per instruction set, under the rules of tiles.cpp.
#include "engines/isa/form_tiles.hpp"

#include "engines/isa/vector.hpp"

namespace fastfs::core {
namespace {

// Rows of three registers that hold sums.
constexpr int kFormSums = kManyRegisters ? 8 : 4;

// Writes the differences |x[a] - unit[a * kUnit + l]| of a sample from the samples of a unit to d[a * kPairs + l], in n
// features.
template <class T>
void panel(const T* __restrict x, const T* __restrict unit, std::int64_t n, T* __restrict d) {
    constexpr int kLanes = Vector<T>::kLanes;
    for (std::int64_t a = 0; a < n; ++a) {
        for (int l = 0; l < kUnit<T>; l += kLanes) {
            store(d + a * kPairs<T> + l, absolute<T>(load(unit + a * kUnit<T> + l) - x[a]));
        }
    }
}

// Adds the products of kFormRows rows of W with kPairs differences d to S, and from the complete S the quadratic forms
// to `sums` (FormKernels::form).
template <class T>
void form(const T* __restrict W, const T* __restrict d, std::int64_t n, bool first, bool last, T* __restrict S,
          const T* __restrict by, T sign, T* __restrict sums) {
    using V = Vector<T>;
    for (int r0 = 0; r0 < kFormRows; r0 += kFormSums) {
        for (int l0 = 0; l0 < kPairs<T>; l0 += 3 * V::kLanes) {
            typename V::Type sum[kFormSums][3] = {};
            const auto at_S = [=](int r, int v) { return S + (r0 + r) * kPairs<T> + l0 + v * V::kLanes; };
            if (!first) {
                for (int r = 0; r < kFormSums; ++r) {
                    for (int v = 0; v < 3; ++v) sum[r][v] = load(at_S(r, v));
                }
            }
            const T *w = W + r0, *at_d = d + l0;
            for (std::int64_t a = 0; a < n; ++a) {
                typename V::Type b[3];
                for (int v = 0; v < 3; ++v) b[v] = load(at_d + v * V::kLanes);
                for (int r = 0; r < kFormSums; ++r) {
                    for (int v = 0; v < 3; ++v) sum[r][v] += factor(w, r) * b[v];
                }
                w += kFormRows;
                at_d += kPairs<T>;
            }
            if (!last) {
                for (int r = 0; r < kFormSums; ++r) {
                    for (int v = 0; v < 3; ++v) store(at_S(r, v), sum[r][v]);
                }
                continue;
            }
            for (int v = 0; v < 3; ++v) {
                typename V::Type total = {};
                for (int r = 0; r < kFormSums; ++r) {
                    total += sum[r][v] * (by ? load(by + (r0 + r) * kPairs<T> + l0 + v * V::kLanes) : sum[r][v]);
                }
                T* to = sums + l0 + v * V::kLanes;
                store(to, load(to) + (by ? T(1) : sign) * total);
            }
        }
    }
}

// Writes |x[a] - y[a]| to d and g times it to times_g, for n features; a null destination is skipped.
template <class T>
void row(const T* __restrict x, const T* __restrict y, std::int64_t n, T g, T* __restrict d, T* __restrict times_g) {
    constexpr int kLanes = Vector<T>::kLanes;  // n is a multiple of it
    for (std::int64_t a = 0; a < n; a += kLanes) {
        const typename Vector<T>::Type difference = absolute<T>(load(x + a) - load(y + a));
        if (d) store(d + a, difference);
        if (times_g) store(times_g + a, g * difference);
    }
}

// Adds to the tile the products of kFormSums features (at left) with kWide registers of features (at right), summed
// over n pairs, n >= 1.
template <int kWide, class T>
inline void outer_block(const T* __restrict left, std::int64_t left_ld, const T* __restrict right,
                        std::int64_t right_ld, std::int64_t n, T* __restrict tile, std::int64_t ld) {
    using V = Vector<T>;
    if (n < 1) __builtin_unreachable();  // see gram_block in tiles.cpp
    typename V::Type sum[kFormSums][kWide] = {};
    for (std::int64_t p = 0; p < n; ++p) {
        typename V::Type b[kWide];
        for (int v = 0; v < kWide; ++v) b[v] = load(right + v * V::kLanes);
        for (int r = 0; r < kFormSums; ++r) {
            for (int v = 0; v < kWide; ++v) sum[r][v] += factor(left, r) * b[v];
        }
        left += left_ld;
        right += right_ld;
    }
    for (int r = 0; r < kFormSums; ++r) {
        for (int v = 0; v < kWide; ++v) {
            T* to = tile + r * ld + v * V::kLanes;
            store(to, load(to) + sum[r][v]);
        }
    }
}

// Adds to the tile the products of left and right features summed over n pairs; with `upper`, only on and above the
// diagonal.
template <class T>
void outer(const T* left, std::int64_t left_ld, const T* right, std::int64_t right_ld, std::int64_t n,
           std::int64_t rows, std::int64_t cols, bool upper, T* tile, std::int64_t ld) {
    constexpr std::int64_t kLanes = Vector<T>::kLanes;
    for (std::int64_t a = 0; a < rows && n > 0; a += kFormSums) {
        std::int64_t b = upper ? a / kLanes * kLanes : 0;
        T* to = tile + a * ld;
        for (; b + 3 * kLanes <= cols; b += 3 * kLanes) {
            outer_block<3>(left + a, left_ld, right + b, right_ld, n, to + b, ld);
        }
        if (cols - b == 2 * kLanes) outer_block<2>(left + a, left_ld, right + b, right_ld, n, to + b, ld);
        if (cols - b == kLanes) outer_block<1>(left + a, left_ld, right + b, right_ld, n, to + b, ld);
    }
}

}  // namespace

extern const FormIsa FASTFS_GLUE(forms_, FASTFS_ISA_NAME);
constexpr FormIsa FASTFS_GLUE(forms_, FASTFS_ISA_NAME) = {
    {panel<float>, form<float>, row<float>, outer<float>},
    {panel<double>, form<double>, row<double>, outer<double>},
};

}  // namespace fastfs::core
