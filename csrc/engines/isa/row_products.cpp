// Products of rows with vectors in double, for rows of any type; compiled once per instruction set under the rules of
// tiles.cpp.
#include "engines/isa/tiles.hpp"
#include "engines/isa/vector.hpp"

namespace fastfs::core {
namespace {

typedef Vector<double>::Type RowDoubles;
constexpr std::int64_t kLanes = Vector<double>::kLanes;

// Loads the first of `n` values that don't fill a register, followed by zeros.
template <class T>
inline RowDoubles load_rest(const T* at, std::int64_t n) {
    RowDoubles values = {};
    for (std::int64_t l = 0; l < n && l < kLanes; ++l) values[l] = static_cast<double>(at[l]);
    return values;
}

// Sets out[r] to the inner product of row at[r] with x, over n values. The order of each row's sum doesn't depend on
// the number of rows. A loop over single values would break this: compilers fuse its products and sums for four rows,
// and not for one.
template <int rows, class T>
inline void dot_rows(const T* const* at, const double* x, std::int64_t n, double* out) {
    RowDoubles even[rows] = {}, odd[rows] = {};
    std::int64_t j = 0;
    for (; j + 2 * kLanes <= n; j += 2 * kLanes) {
        const RowDoubles left = load_doubles(x + j), right = load_doubles(x + j + kLanes);
        for (int r = 0; r < rows; ++r) {
            even[r] += load_doubles(at[r] + j) * left;
            odd[r] += load_doubles(at[r] + j + kLanes) * right;
        }
    }
    for (; j < n; j += kLanes) {
        const RowDoubles right = load_rest(x + j, n - j);
        for (int r = 0; r < rows; ++r) even[r] += load_rest(at[r] + j, n - j) * right;
    }
    for (int r = 0; r < rows; ++r) {
        const RowDoubles both = even[r] + odd[r];
        double sum = 0;
        for (int l = 0; l < kLanes; ++l) sum += both[l];
        out[r] = sum;
    }
}

// Sets out[r] to the inner product of rows[r] with x, over n values, for `count` rows.
template <class T>
void dots(const T* const* rows, std::int64_t count, const double* x, std::int64_t n, double* out) {
    std::int64_t r = 0;
    for (; r + 4 <= count; r += 4) dot_rows<4>(rows + r, x, n, out + r);
    for (; r < count; ++r) dot_rows<1>(rows + r, x, n, out + r);
}

// Computes out[j] = sum_r factors[r] at[r][j], or adds it to out (add). Takes a few rows together, so that out is read
// and written less often: each value is a chain over the rows in any case.
template <int rows, class T>
inline void add_rows(const T* const* at, const double* factors, std::int64_t n, bool add, double* out) {
    RowDoubles f[rows];
    for (int r = 0; r < rows; ++r) f[r] = RowDoubles{} + factors[r];
    std::int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes) {
        RowDoubles sum = add ? load_doubles(out + j) : RowDoubles{};
        for (int r = 0; r < rows; ++r) sum += f[r] * load_doubles(at[r] + j);
        store(out + j, sum);
    }
    for (; j < n; ++j) {
        double sum = add ? out[j] : 0.0;
        for (int r = 0; r < rows; ++r) sum += factors[r] * static_cast<double>(at[r][j]);
        out[j] = sum;
    }
}

// Overwrites the n values of out with the sum over `count` rows of factors[r] rows[r]; zeros for no rows.
template <class T>
void combine(const T* const* rows, const double* factors, std::int64_t count, std::int64_t n, double* out) {
    if (count == 0) {
        for (std::int64_t j = 0; j < n; ++j) out[j] = 0;
    }
    std::int64_t r = 0;
    for (; r + 8 <= count; r += 8) add_rows<8>(rows + r, factors + r, n, r > 0, out);
    for (; r + 2 <= count; r += 2) add_rows<2>(rows + r, factors + r, n, r > 0, out);
    for (; r < count; ++r) add_rows<1>(rows + r, factors + r, n, r > 0, out);
}

}  // namespace

extern const RowIsa FASTFS_GLUE(rows_, FASTFS_ISA_NAME);
constexpr RowIsa FASTFS_GLUE(rows_, FASTFS_ISA_NAME) = {{dots<float>, combine<float>}, {dots<double>, combine<double>}};

}  // namespace fastfs::core
