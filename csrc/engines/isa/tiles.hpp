// The kernels that are compiled once per instruction set, and the choice between them at run time.
#pragma once

#include <cstdint>

namespace fastfs::core {

// Features side by side in a panel: a row of a panel has 192 bytes, three registers of AVX-512 and a multiple of three
// for narrower ones, which leaves enough registers for 8 (4) rows of sums.
template <class T>
constexpr std::int64_t kPanel = 192 / static_cast<std::int64_t>(sizeof(T));

// Samples that are summed before they are added to the tile: their 24 kB of a panel stay in L1 while all rows pass by.
// Measured with 1000 samples in float32, Zen 4: 107 GFLOP/s, and 94 with 256. A small number keeps the rounding error
// low, too.
constexpr std::int64_t kSamplesPerPass = 128;

// Row-major tiles: row a starts at tile + a * ld. Squared distances come from a Gram tile G as n_a + n_b - 2 G_ab; if
// this is at most tolerance * (n_a + n_b), cancellation has eaten the digits, and the kernel leaves a mark for the
// caller to replace. Each kernel returns the number of marks.
template <class T>
struct TileKernels {
    static constexpr T kMarkedDistance = T(-1);
    static constexpr T kMarkedAffinity = T(2);

    // Copies n samples of kPanel features, `stride` apart, less the shifts, to a panel, which can be x itself; adds the
    // copied values and their squares to the sums.
    void (*shift)(const T* x, std::int64_t stride, std::int64_t n, const T* shifts, T* panel, double* sums,
                  double* squares);
    // Adds to the tile (add) or starts it with (!add) the inner products of features over n samples. Panels have kPanel
    // values per sample, sample after sample, any finite ones where there is no feature; left and right are the first
    // of several panels, panel_stride apart. The inner products of (a, b) and (b, a) have equal bits.
    void (*gram)(const T* left, const T* right, std::int64_t panel_stride, std::int64_t n, bool add, T* tile,
                 std::int64_t ld, std::int64_t rows, std::int64_t cols);
    // Replaces Gram values by squared distances.
    std::int64_t (*sqdist)(T* tile, std::int64_t ld, std::int64_t rows, std::int64_t cols, const T* row_norms,
                           const T* col_norms, T tolerance);
    // Replaces Gram values by exp(-scale * squared distance).
    std::int64_t (*rbf)(T* tile, std::int64_t ld, std::int64_t rows, std::int64_t cols, const T* row_norms,
                        const T* col_norms, T tolerance, T scale);
    // Replaces each x >= 0 by exp(-scale * x).
    void (*exp_neg)(T* x, std::int64_t n, T scale);
    // Tests if no |x| exceeds `largest` or is NaN.
    bool (*all_within)(const T* x, std::int64_t n, T largest);
    // Computes the sum of (a_n - b_n)^2, in double; n is a multiple of 8.
    double (*squared_distance)(const T* a, const T* b, std::int64_t n);
};

// An entry of a tile that passed the selection.
struct Hit {
    std::uint16_t row, col;
    float value;
};

// The output range of a selection, with room for all entries of a tile.
struct Hits {
    Hit *begin, *end;
};

// Selects entries of a tile, row after row: of_rows = the entries tile[a, b] >= col_floors[b] - row_limits[a], of_cols
// = the entries tile[a, b] >= row_floors[a] - col_limits[b]. Reads up to the next multiple of kPanel in each row, where
// the caller has infinite col_floors and -infinite col_limits.
using SelectTile = void (*)(const float* tile, std::int64_t ld, std::int64_t rows, std::int64_t cols,
                            const float* row_floors, const float* row_limits, const float* col_floors,
                            const float* col_limits, Hits* of_rows, Hits* of_cols);

// Stores out = factor * tile and mirrored = factor * tile', each unless null; both have rows `out_ld` apart. With
// stream the stores bypass the caches, and other threads see them once the call has returned.
template <class T, class Out>
using StoreTile = void (*)(const T* tile, std::int64_t ld, std::int64_t rows, std::int64_t cols, Out factor, Out* out,
                           Out* mirrored, std::int64_t out_ld, bool stream);

// Returns a bound that at least k of the n values don't exceed, hardly larger than the k-th smallest value: 1 <= k <=
// n.
using BoundKth = float (*)(const float* values, std::int64_t n, std::int64_t k);

// Vectors side by side, as rows of a row-major n x kBlock matrix: one entry of a matrix multiplies a register. Measured
// with DiSC's graphs of 20,000 features: blocks of 8 cost more in extra products than they save in reads of the graph.
constexpr std::int64_t kBlock = 4;

struct BlockKernels {
    // Computes Y (rows x kBlock) = factor A X, or adds it to Y (add), A (rows x m) with its rows ld apart.
    void (*multiply)(const double* A, std::int64_t ld, std::int64_t rows, std::int64_t m, const double* X,
                     double factor, bool add, double* Y);
    // Computes Y (kPanel<double> x kBlock) = A' X for a panel A of m rows of kPanel<double> values, at 64 bytes.
    void (*multiply_panel)(const double* A, std::int64_t m, const double* X, double* Y);
    // Computes P (m x kBlock) = A' W.
    void (*multiply_transposed)(const double* A, std::int64_t ld, std::int64_t rows, std::int64_t m, const double* W,
                                double* P);
    // Computes Y (rows x kBlock) = A X for rows of a CSR matrix; begins[0] belongs to the first of them. X can be in
    // single precision; sums are in double.
    void (*multiply_sparse)(const std::int64_t* begins, const std::int32_t* columns, const double* values,
                            std::int64_t rows, const double* X, double* Y);
    void (*multiply_sparse_single)(const std::int64_t* begins, const std::int32_t* columns, const double* values,
                                   std::int64_t rows, const float* X, double* Y);
};

// The unit of the row length of packed samples, 64 bytes: a register of any instruction set.
template <class T>
constexpr std::int64_t kRowUnit = 64 / static_cast<std::int64_t>(sizeof(T));

// Samples against samples: rows of n packed values, n a multiple of kRowUnit, 64-byte aligned. There is one kernel for
// each term of a difference d, in the order of Difference in sample_pairs.hpp: |d|; d^2; |d|, or 0 for NaN; top unless
// d is 0 or NaN, with parameters = {top} of the features; top if |d| > high, otherwise max(|d| - low, 0), or 0 for NaN,
// with parameters = {low, high, top}; and, in pair_sums only, exp(-d^2) times parameters[0]. Other terms ignore
// `parameters`.
template <class T>
struct MarginKernels {
    // Computes sums[4 i + j] = sum_k of the term of left[i][k] - right[j][k], for 4 x 4 samples. The bits depend
    // neither on the place in a tile nor on the order of a and b.
    void (*pair_sums[6])(const T* const* left, const T* const* right, const T* const* parameters, std::int64_t n,
                         T* sums);
    // Adds to sums[k] the sum over ij of g[4 i + j] times the term of left[i][k] - right[j][k], for 4 x 4 samples.
    void (*feature_sums[5])(const T* const* left, const T* const* right, const T* g, const T* const* parameters,
                            std::int64_t n, T* sums);
    // Adds to sums[k] as feature_sums does, for one sample by four.
    void (*row_sums[5])(const T* left, const T* const* right, const T* g, const T* const* parameters, std::int64_t n,
                        T* sums);
    // Computes row_sums for all terms but the first, and adds to counts[k] the w[j] of the right samples that have k,
    // if the left sample has it.
    void (*known_sums[4])(const T* left, const T* const* right, const T* g, const T* w, const T* const* parameters,
                          std::int64_t n, T* sums, T* counts);
    // Writes one bit for each of n values, 1 for NaN: 64 bits per word, the last word filled up with 0.
    void (*missing_bits)(const T* values, std::int64_t n, std::uint64_t* words);
    // Counts the bits that n words have in common.
    std::int64_t (*shared_bits)(const std::uint64_t* a, const std::uint64_t* b, std::int64_t n);
    // Adds the sums to `to` and sets them to 0.
    void (*flush)(T* sums, std::int64_t n, double* to);
    // Computes to = (from - shift) * factor, in double.
    void (*scale)(const T* from, std::int64_t n, const double* shift, const double* factor, T* to);
    // Updates the ranges of n columns, over rows that are row_stride apart: lowest and highest are lowered and raised
    // to the values of a column, and poison becomes NaN if a value isn't finite.
    void (*column_ranges)(const T* from, std::int64_t n_rows, std::int64_t row_stride, std::int64_t n, T* lowest,
                          T* highest, T* poison);
    // Updates the moments of columns laid out as in column_ranges: counts += weights of the rows, sums += weights *
    // (values - origin) * factor, squares += weights * their squares, in double; NaN is left out.
    void (*column_moments)(const T* from, const double* weights, std::int64_t n_rows, std::int64_t row_stride,
                           std::int64_t n, const double* origin, const double* factor, double* counts, double* sums,
                           double* squares);
};

struct MarginIsa {
    MarginKernels<float> f32;
    MarginKernels<double> f64;
};

// Kernels for rows of values (float or double) against vectors of doubles, summed in double.
template <class T>
struct RowKernels {
    // Computes out[r] = sum_j rows[r][j] x[j].
    void (*dots)(const T* const* rows, std::int64_t count, const double* x, std::int64_t n, double* out);
    // Computes out[j] = sum_r factors[r] rows[r][j].
    void (*combine)(const T* const* rows, const double* factors, std::int64_t count, std::int64_t n, double* out);
};

struct RowIsa {
    RowKernels<float> f32;
    RowKernels<double> f64;
};

// Gaussian kernels between samples, one kernel per feature: e_i = exp(-(x_i - y)^2) in each of the kRowUnit features of
// a unit.
template <class T>
struct SampleTileKernels {
    static constexpr int kAtOnce = 4;

    // Compares n samples, with units at x + rows[i] * ld, with n_y <= kAtOnce samples at y[s]: c[i] (a unit) += sum_s
    // weights[s] e_is, totals[s] (a unit) += sum_i e_is, and with pair_factors, pairs (a unit) += sum_is
    // pair_factors[i][first + s] e_is over the i with a row of factors. Sums are in T for the n samples, which should
    // be few, and added to doubles.
    void (*products)(const T* x, std::int64_t ld, const std::int64_t* rows, std::int64_t n, const T* const* y, int n_y,
                     const T* weights, const T* const* pair_factors, std::int64_t first, T* c, double* totals,
                     double* pairs);
    // Computes out[j] (a unit) = sum of A[s * k + j] totals[s], over n rows s of A.
    void (*combine)(const double* totals, const double* A, std::int64_t n, std::int64_t k, double* out);
};

struct SampleIsa {
    SampleTileKernels<float> f32;
    SampleTileKernels<double> f64;
};

struct FormIsa;      // in form_tiles.hpp
struct SharedIsa;    // in shared_rows.hpp
struct GenotypeIsa;  // in genotype_bits.hpp
struct TableIsa;     // in genotype_tables.hpp

struct Isa {
    const char* name;
    TileKernels<float> f32;
    TileKernels<double> f64;
    StoreTile<float, float> store_f32;
    StoreTile<double, float> store_f64_as_f32;
    StoreTile<double, double> store_f64;
    SelectTile select;
    BoundKth bound_kth;
    const BlockKernels* blocks;
    const MarginIsa* margin;
    const RowIsa* rows;
    const FormIsa* forms;
    const SampleIsa* samples;
    const SharedIsa* shared;
    const GenotypeIsa* genotypes;
    const TableIsa* tables;
};

// Returns the best instruction set that this machine has, or the one that FASTFS_ISA names; throws InvalidArgument if
// the machine lacks it.
const Isa& isa();

template <class T>
const TileKernels<T>& tile_kernels();
template <>
inline const TileKernels<float>& tile_kernels<float>() {
    return isa().f32;
}
template <>
inline const TileKernels<double>& tile_kernels<double>() {
    return isa().f64;
}

template <class T>
const MarginKernels<T>& margin_kernels() {
    if constexpr (sizeof(T) == sizeof(float)) {
        return isa().margin->f32;
    } else {
        return isa().margin->f64;
    }
}

template <class T>
const RowKernels<T>& row_kernels() {
    if constexpr (sizeof(T) == sizeof(float)) {
        return isa().rows->f32;
    } else {
        return isa().rows->f64;
    }
}

template <class T>
const SampleTileKernels<T>& sample_tile_kernels() {
    if constexpr (sizeof(T) == sizeof(float)) {
        return isa().samples->f32;
    } else {
        return isa().samples->f64;
    }
}

template <class T, class Out>
StoreTile<T, Out> store_tile() {
    if constexpr (sizeof(T) == sizeof(float)) {
        return isa().store_f32;
    } else if constexpr (sizeof(Out) == sizeof(float)) {
        return isa().store_f64_as_f32;
    } else {
        return isa().store_f64;
    }
}

}  // namespace fastfs::core
