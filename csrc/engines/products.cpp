#include "engines/products.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// Side of the tiles of a product, and the inner size of one BLAS call: a cancel is noticed after each call, 0.05 s at
// most.
constexpr std::int64_t kProductSide = 512;
constexpr std::int64_t kStep = 4096;

// Calls product(i, rows, j, columns, k0, step) for all tiles of an m x n matrix, or of its lower triangle, and for all
// steps of the inner size k in order, so that k0 = 0 sets the tile; k = 0 is one step of size 0. Tiles run in parallel.
template <class F>
void for_tiles(Run& run, std::int64_t m, std::int64_t n, std::int64_t k, bool lower, F&& product) {
    std::vector<std::pair<std::int64_t, std::int64_t>> tiles;
    for (std::int64_t j = 0; j < n; j += kProductSide) {
        for (std::int64_t i = lower ? j : 0; i < m; i += kProductSide) tiles.emplace_back(i, j);
    }
    parallel_for(run, static_cast<std::int64_t>(tiles.size()), [&](std::int64_t t, int) {
        const auto [i, j] = tiles[at(t)];
        std::int64_t k0 = 0;
        do {  // once even for k = 0, to set the result
            run.checkpoint();
            product(i, std::min(kProductSide, m - i), j, std::min(kProductSide, n - j), k0, std::min(kStep, k - k0));
            k0 += kStep;
        } while (k0 < k);
    });
}

// A tile on the diagonal is computed in strips, so that few entries above it are computed.
constexpr std::int64_t kProductStrip = 128;

// Columns that are factored between updates of the remaining matrix, and columns of a triangular solve.
constexpr std::int64_t kFactorBlock = 256, kSolved = 64;

// Computes the lower triangle of C (n x n) = alpha A A' + beta C, tile by tile in parallel.
void syrk_tiles(std::int64_t n, std::int64_t k, double alpha, const double* A, std::int64_t lda, double beta, double* C,
                std::int64_t ldc, Run& run) {
    for_tiles(run, n, n, k, true,
              [&](std::int64_t i, std::int64_t rows, std::int64_t j, std::int64_t columns, std::int64_t k0,
                  std::int64_t step) {
                  const double *Ai = A + k0 * lda + i, *Aj = A + k0 * lda + j;
                  const double b = k0 == 0 ? beta : 1;
                  if (i == j) {
                      syrk_lower('N', rows, step, alpha, Ai, lda, b, C + j * ldc + i, ldc);
                  } else {
                      gemm('N', 'T', rows, columns, step, alpha, Ai, lda, Aj, lda, b, C + j * ldc + i, ldc);
                  }
              });
}

}  // namespace

void mirror_lower(std::int64_t n, double* A) {
    constexpr std::int64_t kSquare = 32;
    for (std::int64_t j0 = 0; j0 < n; j0 += kSquare) {
        for (std::int64_t i0 = j0; i0 < n; i0 += kSquare) {
            for (std::int64_t j = j0; j < std::min(j0 + kSquare, n); ++j) {
                for (std::int64_t i = std::max(i0, j); i < std::min(i0 + kSquare, n); ++i) A[i * n + j] = A[j * n + i];
            }
        }
    }
}

void syrk(std::int64_t n, std::int64_t k, double alpha, const double* A, double beta, double* C, Run& run) {
    syrk_tiles(n, k, alpha, A, n, beta, C, n, run);
}

void multiply_in_parts(char ta, std::int64_t m, std::int64_t n, std::int64_t k, const double* A, std::int64_t lda,
                       const double* B, std::int64_t ldb, double* C, std::int64_t ldc, Run& run) {
    for_tiles(run, m, n, k, false,
              [&](std::int64_t i, std::int64_t rows, std::int64_t j, std::int64_t columns, std::int64_t k0,
                  std::int64_t step) {
                  const double* Ai = ta == 'N' ? A + k0 * lda + i : A + i * lda + k0;
                  gemm(ta, 'N', rows, columns, step, 1.0, Ai, lda, B + j * ldb + k0, ldb, k0 == 0 ? 0.0 : 1.0,
                       C + j * ldc + i, ldc);
              });
}

// Replaces B (n x m) in place by L B, L (n x n) lower triangular. Multiplies blocks of rows from the bottom up: each
// needs the blocks above it unchanged.
void trmm(std::int64_t n, std::int64_t m, const double* L, double* B, Run& run) {
    parallel_for(run, ceil_div(m, kProductSide), [&](std::int64_t slab, int) {
        const std::int64_t columns = std::min(kProductSide, m - slab * kProductSide);
        double* slab_of_B = B + slab * kProductSide * n;
        for (std::int64_t i = (n - 1) / kProductSide * kProductSide; i >= 0; i -= kProductSide) {
            const std::int64_t rows = std::min(kProductSide, n - i);
            trmm_lower(rows, columns, L + i * n + i, n, slab_of_B + i, n);
            for (std::int64_t k0 = 0; k0 < i; k0 += kStep) {
                run.checkpoint();
                gemm('N', 'N', rows, columns, std::min(kStep, i - k0), 1.0, L + k0 * n + i, n, slab_of_B + k0, n, 1.0,
                     slab_of_B + i, n);
            }
        }
    });
}

// Subtracts L R' from the lower triangle of C, in tiles; a tile on the diagonal in strips.
void update_lower(std::int64_t n, std::int64_t k, const double* L, const double* R, std::int64_t ld, double* C,
                  std::int64_t ldc, Run& run) {
    for_tiles(run, n, n, k, true,
              [&](std::int64_t i0, std::int64_t rows, std::int64_t j0, std::int64_t columns, std::int64_t k0,
                  std::int64_t step) {
                  const std::int64_t strip = i0 == j0 ? kProductStrip : columns;
                  for (std::int64_t j = j0; j < j0 + columns; j += strip) {
                      const std::int64_t i = std::max(i0, j);
                      gemm('N', 'T', i0 + rows - i, std::min(strip, j0 + columns - j), step, -1.0, L + k0 * ld + i, ld,
                           R + k0 * ld + j, ld, 1.0, C + j * ldc + i, ldc);
                  }
              });
}

// Factors kFactorBlock columns of A in place, divides the rows below by their factor, and subtracts their products from
// the remaining triangle, until LAPACK can factor it whole. Returns false for a pivot that isn't positive.
bool cholesky(std::int64_t n, double* A, Run& run) {
    const Run::Part silent(run, 0, 0);  // only callers know the share of their call that this is
    std::int64_t left = n;
    for (; left > kWholeProblem; left -= kFactorBlock, A += kFactorBlock * (n + 1)) {
        double* below = A + kFactorBlock;
        const std::int64_t rest = left - kFactorBlock;
        if (!potrf_lower(kFactorBlock, A, n)) return false;
        parallel_for(run, ceil_div(rest, kProductSide), [&](std::int64_t task, int) {
            const std::int64_t i = task * kProductSide;
            trsm_right('T', std::min(kProductSide, rest - i), kFactorBlock, A, n, below + i, n);
        });
        syrk_tiles(rest, kFactorBlock, -1.0, below, n, 1.0, below + kFactorBlock * n, n, run);
    }
    run.checkpoint();
    return potrf_lower(left, A, n);
}

// Replaces A by L^-1 A L^-T. A has the first columns A1 (square) above A2, and A3 to the right of A2; L is cut alike.
// Then A1 = L1^-1 A1 L1^-T, A2 = A2 L1^-T - L2 A1 / 2, A3 = A3 - A2 L2' - L2 A2', A2 = L3^-1 (A2 - L2 A1 / 2), and A3
// is divided in turn.
void divide_by_factor(std::int64_t n, double* A, const double* L, Run& run) {
    const Run::Part silent(run, 0, 0);
    constexpr std::int64_t b = kFactorBlock;
    Buffer<double> first(n > kWholeProblem ? b * b : 0), panels(n > kWholeProblem ? 3 * b * n : 0);
    std::int64_t left = n;
    for (; left > kWholeProblem; left -= b, A += b * (n + 1), L += b * (n + 1)) {
        const std::int64_t rest = left - b;
        double *A2 = A + b, *A3 = A2 + b * n;
        const double *L2 = L + b, *L3 = L2 + b * n;
        sygst_lower(b, A, L, n);
        for (std::int64_t j = 0; j < b; ++j) std::copy_n(A + j * n + j, b - j, first.data() + j * b + j);
        mirror_lower(b, first.data());
        const auto for_rows = [&](auto&& f) {
            parallel_for(run, ceil_div(rest, kProductSide), [&](std::int64_t task, int) {
                const std::int64_t i = task * kProductSide;
                f(i, std::min(kProductSide, rest - i));
            });
        };
        const auto take_half = [&](std::int64_t i, std::int64_t rows) {
            gemm('N', 'N', rows, b, b, -0.5, L2 + i, n, first.data(), b, 1.0, A2 + i, n);
        };
        for_rows([&](std::int64_t i, std::int64_t rows) {
            trsm_right('T', rows, b, L, n, A2 + i, n);
            take_half(i, rows);
            for (std::int64_t j = 0; j < b; ++j) {  // A2 L2 A2, so that two neighbours are the factors of an update
                double* to = panels.data() + j * rest + i;
                std::copy_n(A2 + j * n + i, rows, to);
                std::copy_n(L2 + j * n + i, rows, to + b * rest);
                std::copy_n(to, rows, to + 2 * b * rest);
            }
        });
        update_lower(rest, 2 * b, panels.data(), panels.data() + b * rest, rest, A3, n, run);
        for_rows(take_half);
        parallel_for(run, b / kSolved,
                     [&](std::int64_t slice, int) { trsm('L', rest, kSolved, L3, n, A2 + slice * kSolved * n, n); });
    }
    run.checkpoint();
    sygst_lower(left, A, L, n);
}

}  // namespace fastfs::core
