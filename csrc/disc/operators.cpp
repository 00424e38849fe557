#include "disc/operators.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "engines/spectral.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"
#include "support/random.hpp"

namespace fastfs::core {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();

// Rows of a basis that one task takes: 512 rows of 64 vectors are 0.25 MB.
constexpr std::int64_t kChunk = 512;

// Rows of a sparse and of a dense matrix that one task multiplies.
constexpr std::int64_t kSparseRows = 512;
constexpr std::int64_t kDenseRows = 2 * kPanel<double>;

// Up to this size LAPACK is as fast as the Lanczos method.
constexpr std::int64_t kSmall = 200;

constexpr int kMostCycles = 500;

std::int64_t n_chunks(std::int64_t n) { return ceil_div(n, kChunk); }

// Returns the multiplications of a chunk of kBlock vectors with m columns of a basis.
double work_of_chunk(std::int64_t m) { return static_cast<double>(kChunk * kBlock * m); }

// Sets total (size) to the sum over all chunks of rows, in their order, of the `sums` that part(first, rows, sums)
// writes, in at least one multiplication for each row and sum.
template <class F>
void sum_chunks(std::int64_t n, std::int64_t size, double* total, Run& run, F&& part) {
    Buffer<double> parts(n_chunks(n) * size);
    parallel_for(run, n_chunks(n), static_cast<double>(kChunk * size), [&](std::int64_t chunk, int) {
        part(chunk * kChunk, std::min(kChunk, n - chunk * kChunk), parts.data() + chunk * size);
    });
    std::fill_n(total, size, 0.0);
    for (std::int64_t chunk = 0; chunk < n_chunks(n); ++chunk) {
        for (std::int64_t e = 0; e < size; ++e) total[e] += parts[chunk * size + e];
    }
}

// kBlock x kBlock, row-major.
using Square = std::array<double, kBlock * kBlock>;

Square identity() {
    Square I{};
    for (std::int64_t c = 0; c < kBlock; ++c) I[at(c * kBlock + c)] = 1;
    return I;
}

// Replaces A (rows x kBlock, row-major) by A F.
void multiply_right(std::int64_t rows, double* A, const Square& F) {
    for (double* row = A; row < A + rows * kBlock; row += kBlock) {
        double product[kBlock] = {};
        for (std::int64_t l = 0; l < kBlock; ++l) {
            for (std::int64_t c = 0; c < kBlock; ++c) product[c] += row[l] * F[at(l * kBlock + c)];
        }
        std::copy_n(product, kBlock, row);
    }
}

// Sets F, upper triangular, with G = F' F, and its inverse, for G kBlock x kBlock. A pivot below the rounding of its
// column is raised to that rounding. Returns the smallest share of a column that was left for its pivot.
double cholesky(const double* G, Square& F, Square& inverse) {
    F = {};
    inverse = identity();
    double least = 1;
    auto entry = [](std::int64_t i, std::int64_t j) { return at(i * kBlock + j); };
    for (std::int64_t i = 0; i < kBlock; ++i) {
        for (std::int64_t j = i; j < kBlock; ++j) {
            double sum = G[entry(i, j)];
            for (std::int64_t l = 0; l < i; ++l) sum -= F[entry(l, i)] * F[entry(l, j)];
            if (j == i) {
                least = std::min(least, sum / G[entry(i, i)]);
                F[entry(i, i)] = std::sqrt(std::max(sum, 16 * kEps * G[entry(i, i)]));
            } else {
                F[entry(i, j)] = sum / F[entry(i, i)];
            }
        }
    }
    for (std::int64_t j = 0; j < kBlock; ++j) {  // columns of the inverse, by back substitution
        for (std::int64_t i = j; i >= 0; --i) {
            double sum = i == j;
            for (std::int64_t l = i + 1; l <= j; ++l) sum -= F[entry(i, l)] * inverse[entry(l, j)];
            inverse[entry(i, j)] = sum / F[entry(i, i)];
        }
    }
    return least;
}

// Fills one column of the block W (n x kBlock) with normal numbers.
void draw_column(std::int64_t n, std::int64_t column, Random& random, double* W) {
    for (std::int64_t i = 0; i < n; i += 2) {
        double pair[2];
        random.normal_pair(pair);
        W[i * kBlock + column] = pair[0];
        if (i + 1 < n) W[(i + 1) * kBlock + column] = pair[1];
    }
}

// Appends an orthonormal block for W to the orthonormal columns V[:, :size] (row-major, ld apart), and sets H and R: W
// = V H + V[:, size:size + kBlock] R. Columns of W that lie in V to rounding still give new directions, with an equally
// small R: rounding errors are made orthogonal like any column. Columns that vanish altogether are drawn at random. W
// is destroyed. H: V'W up to rounding on input, so that each pass sweeps over V once. The new block is orthogonal to V
// up to `precision`.
void append_orthonormal_block(std::int64_t n, std::int64_t size, double* V, std::int64_t ld, double* W, Random& random,
                              double precision, double* H, Square& R, Run& run) {
    constexpr int kMostPasses = 6;
    const auto& blocks = *isa().blocks;
    // The original W equals V H + (W F^-1) R throughout, and h = V' (W F^-1).
    Square F, inverse = identity();
    R = identity();
    Numbers h(H, H + size * kBlock), product = h, sums = numbers((size + kBlock) * kBlock);
    std::fill_n(H, size * kBlock, 0.0);
    for (int pass = 0;; ++pass) {
        product = h;
        multiply_right(size, product.data(), R);
        for (std::int64_t e = 0; e < size * kBlock; ++e) H[e] += product[at(e)];
        // One sweep subtracts V h from W, and sums up the remaining V'W.
        sum_chunks(n, (size + kBlock) * kBlock, sums.data(), run,
                   [&](std::int64_t first, std::int64_t rows, double* part) {
                       double *w = W + first * kBlock, *v = V + first * ld;
                       if (pass > 0) multiply_right(rows, w, inverse);
                       blocks.multiply(v, ld, rows, size, h.data(), -1, true, w);
                       blocks.multiply_transposed(v, ld, rows, size, w, part);
                       blocks.multiply_transposed(w, kBlock, rows, kBlock, w, part + size * kBlock);
                   });
        std::copy_n(sums.data(), size * kBlock, h.data());
        const double* G = sums.data() + size * kBlock;
        bool drawn = false;
        for (std::int64_t c = 0; c < kBlock; ++c) {
            if (G[c * kBlock + c] > 1e-280) continue;
            draw_column(n, c, random, W);
            std::fill_n(R.begin() + c * kBlock, kBlock, 0.0);
            drawn = true;
        }
        if (drawn) {
            inverse = identity();
            inner_products(n, size, V, ld, W, h.data(), run);
            continue;
        }
        const double share = cholesky(G, F, inverse);
        Square FR = F;
        multiply_right(kBlock, FR.data(), R);
        R = FR;
        multiply_right(size, h.data(), inverse);
        // One pass is enough if neither V nor the other columns of W took much of a column; otherwise two.
        double left = 0;
        for (double x : h) left = std::max(left, std::abs(x));
        if ((left <= precision && share > 0.01) || pass == kMostPasses) break;
    }
    parallel_for(run, n_chunks(n), work_of_chunk(kBlock), [&](std::int64_t chunk, int) {
        const std::int64_t first = chunk * kChunk, rows = std::min(kChunk, n - first);
        multiply_right(rows, W + first * kBlock, inverse);
        for (std::int64_t i = first; i < first + rows; ++i) std::copy_n(W + i * kBlock, kBlock, V + i * ld + size);
    });
}

// Replaces the first q columns of V (n x size, row-major, ld apart) by V[:, :size] Y, Y size x q and column-major.
void rotate(std::int64_t n, std::int64_t size, std::int64_t q, double* V, std::int64_t ld, const double* Y, Run& run) {
    auto scratch = buffers<double>(run.n_threads(), kChunk * q);
    parallel_for(run, n_chunks(n), [&](std::int64_t chunk, int slot) {
        const std::int64_t first = chunk * kChunk, rows = std::min(kChunk, n - first);
        double* rotated = scratch[at(slot)].data();
        gemm('T', 'N', q, rows, size, 1.0, Y, size, V + first * ld, ld, 0.0, rotated, q);
        for (std::int64_t i = 0; i < rows; ++i) std::copy_n(rotated + i * q, q, V + (first + i) * ld);
    });
}

// Writes the k largest eigenpairs to `pairs` by LAPACK, from the products of the operator with all columns of the
// identity.
void pairs_by_lapack(std::int64_t n, std::int64_t k, const BlockOperator& apply, LeadingPairs& pairs, Run& run) {
    Buffer<double> A(n * n), X(n * kBlock), Y(n * kBlock);
    for (std::int64_t first = 0; first < n; first += kBlock) {
        run.checkpoint();
        const std::int64_t count = std::min(kBlock, n - first);
        std::fill_n(X.data(), n * kBlock, 0.0);
        for (std::int64_t c = 0; c < count; ++c) X[(first + c) * kBlock + c] = 1;
        apply(X.data(), Y.data());
        for (std::int64_t c = 0; c < count; ++c) {
            for (std::int64_t i = 0; i < n; ++i) A[(first + c) * n + i] = Y[i * kBlock + c];
        }
    }
    largest_eigenpairs(n, A.data(), k, pairs.values.data(), pairs.vectors.data(), run);
    pairs.converged = true;
}

// Returns the number of vectors of the basis. Measured with DiSC's graphs of 20,000 features.
std::int64_t basis_size(std::int64_t k) { return 2 * k + 10 * kBlock; }

// Tests if an eigenvalue may have further copies. A Krylov space sees at most kBlock copies of an eigenvalue, so there
// may be more if kBlock of the k values agree.
bool may_repeat(std::int64_t k, const Numbers& w) {
    for (std::int64_t j = 0; j + kBlock <= k; ++j) {
        const double first = w[at(j)], last = w[at(j + kBlock - 1)];
        if (first - last <= 1e-6 * std::abs(w[0])) return true;
    }
    return false;
}

// Writes the k largest eigenpairs to `pairs`, and if their residuals fell to `allowed`: Ritz pairs of T = V' A V by Wu
// and Simon's method, in which all columns of T are computed. If V has no more room, a new basis starts from the best
// Ritz vectors.
template <class F>
void lanczos(std::int64_t n, std::int64_t k, const BlockOperator& apply, F&& allowed, double precision,
             std::uint64_t seed, LeadingPairs& pairs, Run& run) {
    const std::int64_t most = basis_size(k), ld = most + kBlock, n_restart = k + (most - k) / 2;
    Random random(seed);
    Buffer<double> V(n * ld), X(n * kBlock), W(n * kBlock), T(most * most), A(most * most), Y(most * most);
    Numbers H = numbers(ld * kBlock), w = numbers(most);
    // V' A times the waiting block, for the columns of V that are in T: nonzero only for the block before the waiting
    // one, and after a restart for all.
    Numbers coupling = numbers(most * kBlock);
    Square R;
    std::int64_t size = 0;  // columns of V that T knows; one block more waits to be multiplied
    auto draw = [&] {
        for (std::int64_t c = 0; c < kBlock; ++c) draw_column(n, c, random, W.data());
        inner_products(n, size, V.data(), ld, W.data(), H.data(), run);
        append_orthonormal_block(n, size, V.data(), ld, W.data(), random, precision, H.data(), R, run);
        std::fill(coupling.begin(), coupling.end(), 0.0);
    };
    draw();
    bool confirmed = false;
    for (int cycle = 0; cycle < kMostCycles; ++cycle) {
        for (; size + kBlock <= most; size += kBlock) {
            run.checkpoint();
            parallel_for(run, n_chunks(n), work_of_chunk(1), [&](std::int64_t chunk, int) {
                for (std::int64_t i = chunk * kChunk; i < std::min((chunk + 1) * kChunk, n); ++i) {
                    std::copy_n(V.data() + i * ld + size, kBlock, X.data() + i * kBlock);
                }
            });
            apply(X.data(), W.data());
            std::copy_n(coupling.data(), size * kBlock, H.data());
            inner_products(n, kBlock, X.data(), kBlock, W.data(), &H[at(size * kBlock)], run);
            append_orthonormal_block(n, size + kBlock, V.data(), ld, W.data(), random, precision, H.data(), R, run);
            std::fill(coupling.begin(), coupling.end(), 0.0);
            for (std::int64_t a = 0; a < kBlock; ++a) {
                for (std::int64_t c = 0; c < kBlock; ++c) {
                    coupling[at((size + a) * kBlock + c)] = R[at(c * kBlock + a)];
                }
            }
            for (std::int64_t j = 0; j < size + kBlock; ++j) {
                for (std::int64_t c = 0; c < kBlock; ++c) {
                    T[(size + c) * most + j] = T[j * most + size + c] = H[at(j * kBlock + c)];
                }
            }
        }
        for (std::int64_t j = 0; j < size; ++j) std::copy_n(T.data() + j * most, size, A.data() + j * size);
        largest_eigenpairs(size, A.data(), n_restart, w.data(), Y.data(), run);
        // A y - w y = (the waiting block) R (the last entries of y).
        bool small_residuals = true;
        for (std::int64_t j = 0; j < n_restart; ++j) {
            const double* last = Y.data() + j * size + size - kBlock;
            double square = 0;
            for (std::int64_t a = 0; a < kBlock; ++a) {
                double& r = coupling[at(j * kBlock + a)] = 0;
                for (std::int64_t c = 0; c < kBlock; ++c) r += R[at(a * kBlock + c)] * last[c];
                square += r * r;
            }
            small_residuals &= j >= k || std::sqrt(square) <= allowed(j, w);
        }
        const std::int64_t q = small_residuals ? k : n_restart;
        rotate(n, size, q, V.data(), ld, Y.data(), run);
        pairs.converged = small_residuals && (confirmed || !may_repeat(k, w));
        if (pairs.converged) break;
        for (std::int64_t j = 0; j < q; ++j) {
            std::fill_n(T.data() + j * most, q, 0.0);
            T[j * most + j] = w[at(j)];
        }
        if (!small_residuals) {
            for (std::int64_t i = 0; i < n; ++i) std::copy_n(V.data() + i * ld + size, kBlock, V.data() + i * ld + q);
        }
        size = q;
        // Further copies of an eigenvalue appear from new vectors.
        if (small_residuals) draw();
        confirmed = small_residuals;
    }
    for (std::int64_t j = 0; j < k; ++j) {
        pairs.values[at(j)] = w[at(j)];
        double* v = pairs.vectors.data() + j * n;
        for (std::int64_t i = 0; i < n; ++i) v[i] = V[i * ld + j];
        fix_sign(n, v);
    }
}

void multiply_rows(const SparseSymmetric& A, auto product, const auto* X, double* Y, Run& run) {
    parallel_for(run, ceil_div(A.n, kSparseRows), [&](std::int64_t task, int) {
        const std::int64_t first = task * kSparseRows;
        product(A.begins.data() + first, A.columns.data(), A.values.data(), std::min(kSparseRows, A.n - first), X,
                Y + first * kBlock);
    });
}

bool is_small(std::int64_t n, std::int64_t k) { return n <= kSmall || 2 * (basis_size(k) + kBlock) > n; }

}  // namespace

LeadingPairs leading_pairs(std::int64_t n, std::int64_t k, std::int64_t n_exact, const BlockOperator& apply,
                           const Residuals& residuals, std::uint64_t seed, Run& run) {
    LeadingPairs pairs;
    pairs.values = numbers(k);
    pairs.vectors = numbers(n * k);
    auto allowed = [&](std::int64_t j, const Numbers& w) {
        const double size = std::max(std::abs(w[0]), std::numeric_limits<double>::min());
        const bool flat = n_exact < k && w[at(n_exact - 1)] - w[at(n_exact)] < residuals.flat * size;
        return (j < n_exact && !flat ? residuals.exact : residuals.rough) * size;
    };
    if (is_small(n, k)) {
        pairs_by_lapack(n, k, apply, pairs, run);
    } else {
        // A precision far below the residuals that are asked for, but not below rounding.
        const double precision = std::max(16 * kEps, 1e-4 * residuals.exact);
        lanczos(n, k, apply, allowed, precision, seed, pairs, run);
    }
    return pairs;
}

std::int64_t leading_pairs_memory(std::int64_t n, std::int64_t k) {
    const std::int64_t size = basis_size(k) + kBlock;
    if (is_small(n, k)) return 8 * (2 * n * n + 2 * n * kBlock);
    return 8 * (n * (size + 4 * kBlock) + 3 * size * size);
}

void SparseSymmetric::multiply(const double* X, double* Y, Run& run) const {
    multiply_rows(*this, isa().blocks->multiply_sparse, X, Y, run);
}

void SparseSymmetric::multiply(const float* X, double* Y, Run& run) const {
    multiply_rows(*this, isa().blocks->multiply_sparse_single, X, Y, run);
}

// Turns the rows of A into panels, in place.
DenseSymmetric::DenseSymmetric(std::int64_t n, Buffer<double> A, Run& run)
    : n_(n), in_panels_(n / kPanel<double> * kPanel<double>), values_(std::move(A)) {
    constexpr std::int64_t kRows = kPanel<double>;
    auto scratch = buffers<double>(run.n_threads(), kRows * n);
    const auto store = store_tile<double, double>();
    parallel_for(run, in_panels_ / kRows, [&](std::int64_t panel, int slot) {
        double *rows = values_.data() + panel * kRows * n, *columns = scratch[at(slot)].data();
        store(rows, n, kRows, n, 1.0, nullptr, columns, kRows, false);
        std::copy_n(columns, kRows * n, rows);
    });
}

// Computes Y = A X for n x kBlock vectors.
void DenseSymmetric::multiply(const double* X, double* Y, Run& run) const {
    const auto& blocks = *isa().blocks;
    const auto work = static_cast<double>(kDenseRows * kBlock * n_);
    parallel_for(run, ceil_div(n_, kDenseRows), work, [&](std::int64_t task, int) {
        std::int64_t i = task * kDenseRows;
        const std::int64_t end = std::min(i + kDenseRows, n_);
        for (; i + kPanel<double> <= end; i += kPanel<double>) {
            blocks.multiply_panel(values_.data() + i * n_, n_, X, Y + i * kBlock);
        }
        blocks.multiply(values_.data() + i * n_, n_, end - i, n_, X, 1, false, Y + i * kBlock);
    });
}

void inner_products(std::int64_t n, std::int64_t m, const double* V, std::int64_t ld, const double* X, double* H,
                    Run& run) {
    const auto product = isa().blocks->multiply_transposed;
    sum_chunks(n, m * kBlock, H, run, [&](std::int64_t first, std::int64_t rows, double* part) {
        product(V + first * ld, ld, rows, m, X + first * kBlock, part);
    });
}

// Subtracts V H from the block X (n x kBlock), with V n x m, its rows ld apart, and H m x kBlock.
void subtract_product(std::int64_t n, std::int64_t m, const double* V, std::int64_t ld, const double* H, double* X,
                      Run& run) {
    const auto product = isa().blocks->multiply;
    parallel_for(run, n_chunks(n), work_of_chunk(m), [&](std::int64_t chunk, int) {
        const std::int64_t first = chunk * kChunk, rows = std::min(kChunk, n - first);
        product(V + first * ld, ld, rows, m, H, -1, true, X + first * kBlock);
    });
}

double dot(std::int64_t n, const double* x, const double* y) {
    double lane[8] = {};
    std::int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        for (int l = 0; l < 8; ++l) lane[l] += x[i + l] * y[i + l];
    }
    for (; i < n; ++i) lane[0] += x[i] * y[i];
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

}  // namespace fastfs::core
