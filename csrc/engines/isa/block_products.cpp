// Matrices times blocks of kBlock vectors, compiled once per instruction set under the rules of tiles.cpp. BLAS is slow
// if one side of a product has four columns: with these kernels the eigenpairs of a graph of 20,000 features took 0.82
// s instead of 1.33 (CPU time, Zen 4).
#include "engines/isa/tiles.hpp"
#include "engines/isa/vector.hpp"

namespace fastfs::core {
namespace {

static_assert(kBlock == 4);
// The registers of one row: GCC keeps vectors in memory that don't fit a register.
constexpr int kRow = kBlock * sizeof(double), kPart = kRegister < kRow ? kRegister : kRow;
constexpr int kParts = kRow / kPart, kPartLanes = kBlock / kParts;
typedef double Part __attribute__((vector_size(kPart)));
typedef double InMemory __attribute__((vector_size(kPart), aligned(sizeof(double)), may_alias));

inline const InMemory& part(const double* row, int p) {
    return *reinterpret_cast<const InMemory*>(row + p * kPartLanes);
}
inline InMemory& part(double* row, int p) { return *reinterpret_cast<InMemory*>(row + p * kPartLanes); }

// Rows that are in registers together, and columns that keep their part of X in L1 meanwhile.
constexpr std::int64_t kRows = 8, kColumns = 512;

// Computes Y (rows x kBlock) = factor A X, or adds it to Y (add), for rows of m values, ld apart.
template <int rows>
inline void multiply_rows(const double* __restrict A, std::int64_t ld, std::int64_t m, const double* __restrict X,
                          double factor, bool add, double* __restrict Y) {
    Part sum[rows][kParts] = {};
    for (std::int64_t j = 0; j < m; ++j) {
        Part x[kParts];
        for (int p = 0; p < kParts; ++p) x[p] = part(X + j * kBlock, p);
        for (int r = 0; r < rows; ++r) {
            for (int p = 0; p < kParts; ++p) sum[r][p] += A[r * ld + j] * x[p];
        }
    }
    for (int r = 0; r < rows; ++r) {
        for (int p = 0; p < kParts; ++p) sum[r][p] *= factor;
    }
    for (int r = 0; r < rows; ++r) {
        for (int p = 0; p < kParts; ++p) {
            InMemory& y = part(Y + r * kBlock, p);
            y = add ? y + sum[r][p] : sum[r][p];
        }
    }
}

// Computes Y (rows x kBlock) = factor A X, or adds it to Y (add), in steps of kColumns columns of A.
void multiply(const double* A, std::int64_t ld, std::int64_t rows, std::int64_t m, const double* X, double factor,
              bool add, double* Y) {
    for (std::int64_t j = 0; j < m; j += kColumns) {
        const std::int64_t columns = m - j < kColumns ? m - j : kColumns;
        const bool more = add || j > 0;
        std::int64_t i = 0;
        for (; i + kRows <= rows; i += kRows) {
            multiply_rows<kRows>(A + i * ld + j, ld, columns, X + j * kBlock, factor, more, Y + i * kBlock);
        }
        for (; i < rows; ++i) {
            multiply_rows<1>(A + i * ld + j, ld, columns, X + j * kBlock, factor, more, Y + i * kBlock);
        }
    }
}

// Columns of a panel with products in registers, for all vectors of a block; rows of the panel that stay in L1 until
// its last columns have been read. If the columns are only a part of the panel, rows are read with gaps and no cache
// foresees the lines of the next rows, so they are prefetched: with AVX2 and p = 1000 `bench_disc` takes 0.95 of the
// time. If all lines are read in turn, prefetching takes longer.
constexpr std::int64_t kWidth = 3 * Vector<double>::kLanes, kHeight = 96;
constexpr bool kHasGaps = kWidth < kPanel<double>;
static_assert(kPanel<double> % kWidth == 0);

// Computes Y (kPanel<double> x kBlock) = A' X for a panel A of m rows of kPanel<double> values.
void multiply_panel(const double* __restrict A, std::int64_t m, const double* __restrict X, double* __restrict Y) {
    using V = Vector<double>::Type;
    constexpr int kVectors = 3, kLanes = Vector<double>::kLanes;
    double products[kBlock][kPanel<double>] = {};
    for (std::int64_t j0 = 0; j0 < m; j0 += kHeight) {
        const std::int64_t end = m - j0 < kHeight ? m : j0 + kHeight;
        for (std::int64_t first = 0; first < kPanel<double>; first += kWidth) {
            V sum[kBlock][kVectors] = {};
            for (std::int64_t j = j0; j < end; ++j) {
                V a[kVectors];
                for (int v = 0; v < kVectors; ++v) {
                    const double* row = A + j * kPanel<double> + first + v * kLanes;
                    a[v] = load(row);
                    if constexpr (kHasGaps) __builtin_prefetch(row + kHeight * kPanel<double>, 0, 2);
                }
                for (int c = 0; c < kBlock; ++c) {
                    for (int v = 0; v < kVectors; ++v) sum[c][v] += a[v] * factor(X + j * kBlock, c);
                }
            }
            for (int c = 0; c < kBlock; ++c) {
                double* to = products[c] + first;
                for (int v = 0; v < kVectors; ++v) store(to + v * kLanes, load(to + v * kLanes) + sum[c][v]);
            }
        }
    }
    for (std::int64_t i = 0; i < kPanel<double>; ++i) {
        for (std::int64_t c = 0; c < kBlock; ++c) Y[i * kBlock + c] = products[c][i];
    }
}

// Adds A' W to P (m x kBlock): A has `rows` rows of m values, ld apart, W `rows` rows of kBlock values.
template <int rows>
inline void add_transposed(const double* __restrict A, std::int64_t ld, std::int64_t m, const double* __restrict W,
                           double* __restrict P) {
    Part w[rows][kParts];
    for (int r = 0; r < rows; ++r) {
        for (int p = 0; p < kParts; ++p) w[r][p] = part(W + r * kBlock, p);
    }
    for (std::int64_t j = 0; j < m; ++j) {
        for (int p = 0; p < kParts; ++p) {
            Part sum = part(P + j * kBlock, p);
            for (int r = 0; r < rows; ++r) sum += A[r * ld + j] * w[r][p];
            part(P + j * kBlock, p) = sum;
        }
    }
}

// Overwrites P (m x kBlock) with A' W, A (rows x m) with its rows ld apart.
void multiply_transposed(const double* A, std::int64_t ld, std::int64_t rows, std::int64_t m, const double* W,
                         double* P) {
    for (std::int64_t j = 0; j < m * kBlock; ++j) P[j] = 0;
    std::int64_t i = 0;
    for (; i + kRows <= rows; i += kRows) add_transposed<kRows>(A + i * ld, ld, m, W + i * kBlock, P);
    for (; i < rows; ++i) add_transposed<1>(A + i * ld, ld, m, W + i * kBlock, P);
}

inline Part part_of(const double* row, int p) { return part(row, p); }
inline Part part_of(const float* row, int p) {
    typedef float Single __attribute__((vector_size(kPartLanes * sizeof(float)), aligned(sizeof(float)), may_alias));
    return __builtin_convertvector(*reinterpret_cast<const Single*>(row + p * kPartLanes), Part);
}

// Computes Y (rows x kBlock) = A X for rows of a CSR matrix, with sums in double.
template <class T>
void multiply_sparse(const std::int64_t* begins, const std::int32_t* columns, const double* values, std::int64_t rows,
                     const T* X, double* Y) {
    // Blocks in single precision belong to many features: their rows lie anywhere, and the end of a row of A keeps the
    // processor from looking far ahead, so rows are prefetched. Blocks that fit L2 would only become slower.
    constexpr bool kFetches = sizeof(T) == sizeof(float);
    constexpr std::int64_t kAhead = 32;
    const std::int64_t last = begins[rows] - 1;
    for (std::int64_t i = 0; i < rows; ++i) {
        Part even[kParts] = {}, odd[kParts] = {};
        const auto add = [&](Part(&to)[kParts], std::int64_t entry) {
            if constexpr (kFetches) {
                const std::int64_t ahead = entry + kAhead < last ? entry + kAhead : last;
                __builtin_prefetch(X + std::int64_t{columns[ahead]} * kBlock);
            }
            for (int p = 0; p < kParts; ++p)
                to[p] += values[entry] * part_of(X + std::int64_t{columns[entry]} * kBlock, p);
        };
        std::int64_t e = begins[i];
        for (; e + 2 <= begins[i + 1]; e += 2) {
            add(even, e);
            add(odd, e + 1);
        }
        if (e < begins[i + 1]) add(even, e);
        for (int p = 0; p < kParts; ++p) part(Y + i * kBlock, p) = even[p] + odd[p];
    }
}

}  // namespace

extern const BlockKernels FASTFS_GLUE(blocks_, FASTFS_ISA_NAME);
constexpr BlockKernels FASTFS_GLUE(blocks_, FASTFS_ISA_NAME) = {multiply, multiply_panel, multiply_transposed,
                                                                multiply_sparse<double>, multiply_sparse<float>};

}  // namespace fastfs::core
