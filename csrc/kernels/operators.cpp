#include "kernels/operators.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/spectral.hpp"
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
constexpr std::int64_t kDenseRows = 64;

// Vectors that are multiplied at once.
constexpr std::int64_t kBlock = 4;

// Up to this size LAPACK is as fast.
constexpr std::int64_t kSmall = 200;

constexpr int kMostCycles = 500;

std::int64_t n_chunks(std::int64_t n) { return (n + kChunk - 1) / kChunk; }

// total (size) = the sum of what part(first, rows, sums) returns in sums for all chunks of rows, in their order.
template <class F>
void sum_chunks(std::int64_t n, std::int64_t size, double* total, Run& run, F&& part) {
    Buffer<double> parts(n_chunks(n) * size);
    parallel_for(run, n_chunks(n), [&](std::int64_t chunk, int) {
        part(chunk * kChunk, std::min(kChunk, n - chunk * kChunk), parts.data() + chunk * size);
    });
    std::fill_n(total, size, 0.0);
    for (std::int64_t chunk = 0; chunk < n_chunks(n); ++chunk) {
        for (std::int64_t e = 0; e < size; ++e) total[e] += parts[chunk * size + e];
    }
}

template <int b>
void multiply_rows(const SparseSymmetric& A, std::int64_t first, std::int64_t last, const double* X, double* Y) {
    for (std::int64_t i = first; i < last; ++i) {
        double sum[b] = {};
        for (std::int64_t e = A.begins[i]; e < A.begins[i + 1]; ++e) {
            const double a = A.values[e];
            const double* x = X + std::int64_t{A.columns[e]} * b;
            for (int c = 0; c < b; ++c) sum[c] += a * x[c];
        }
        for (int c = 0; c < b; ++c) Y[i * b + c] = sum[c];
    }
}

// The upper Cholesky factor F of G (b x b). A pivot below the rounding of a column's square counts as that.
void cholesky(std::int64_t b, const double* G, double* F) {
    for (std::int64_t i = 0; i < b; ++i) {
        for (std::int64_t j = 0; j < b; ++j) {
            double sum = j < i ? 0 : G[i * b + j];
            for (std::int64_t l = 0; l < i && j >= i; ++l) sum -= F[l * b + i] * F[l * b + j];
            if (j == i) F[i * b + i] = std::sqrt(std::max(sum, 16 * kEps * G[i * b + i]));
            if (j != i) F[i * b + j] = sum / F[i * b + i];
        }
    }
}

// A (m x b, row-major) = A F^-1, F upper triangular.
void divide(std::int64_t m, std::int64_t b, const double* F, double* A) {
    for (double* row = A; row < A + m * b; row += b) {
        for (std::int64_t j = 0; j < b; ++j) {
            double sum = row[j];
            for (std::int64_t l = 0; l < j; ++l) sum -= row[l] * F[l * b + j];
            row[j] = sum / F[j * b + j];
        }
    }
}

// The same with A given by columns.
void divide_columns(std::int64_t m, std::int64_t b, const double* F, double* A) {
    for (std::int64_t j = 0; j < b; ++j) {
        for (std::int64_t l = 0; l < j; ++l) {
            for (std::int64_t i = 0; i < m; ++i) A[j * m + i] -= A[l * m + i] * F[l * b + j];
        }
        for (std::int64_t i = 0; i < m; ++i) A[j * m + i] /= F[j * b + j];
    }
}

void set_identity(std::int64_t b, double* F) {
    for (std::int64_t e = 0; e < b * b; ++e) F[e] = e % (b + 1) == 0;
}

using Numbers = std::vector<double>;
Numbers numbers(std::int64_t size) { return Numbers(static_cast<std::size_t>(size)); }

// Appends a block W to the orthonormal columns V[:, :size] (row-major, ld apart): W = V H' + V[:, size:size + b] R for
// H (b x size) and R (b x b). What of W lies in V to rounding gives a new direction all the same, with as small an R:
// rounding is made orthogonal like anything else. What vanishes altogether is drawn. W is destroyed.
void append(std::int64_t n, std::int64_t size, double* V, std::int64_t ld, double* W, std::int64_t b, Random& random,
            double* H, double* R, Run& run) {
    constexpr int kMostPasses = 6;
    // W as it was given is V H' + (W F^-1) R throughout, and h = V' (W F^-1).
    Numbers F = numbers(b * b), h = numbers(b * size), sums = numbers(b * (size + b)), FR = F;
    set_identity(b, F.data());
    set_identity(b, R);
    std::fill_n(H, b * size, 0.0);
    inner_products(n, size, V, ld, W, b, h.data(), run);
    for (int pass = 0;; ++pass) {
        if (size > 0) gemm('N', 'T', size, b, b, 1.0, h.data(), size, R, b, 1.0, H, size);  // H += R' h
        // In one sweep W loses h, and what it still has of V is summed up.
        sum_chunks(n, b * (size + b), sums.data(), run, [&](std::int64_t first, std::int64_t rows, double* part) {
            double *w = W + first * b, *v = V + first * ld;
            divide(rows, b, F.data(), w);
            if (size > 0) {
                gemm('T', 'N', b, rows, size, -1.0, h.data(), size, v, ld, 1.0, w, b);
                gemm('N', 'T', size, b, rows, 1.0, v, ld, w, b, 0.0, part, size);
            }
            gemm('N', 'T', b, b, rows, 1.0, w, b, w, b, 0.0, part + b * size, b);
        });
        std::copy_n(sums.data(), b * size, h.data());
        double* G = sums.data() + b * size;
        double off = 0;
        for (std::int64_t e = 0; e < b * b; ++e) off = std::max(off, std::abs(G[e] - (e % (b + 1) == 0)));
        bool drawn = false;
        for (std::int64_t a = 0; a < b; ++a) {
            if (G[a * b + a] > 1e-280) continue;
            for (std::int64_t i = 0; i < n; i += 2) {
                double pair[2];
                random.normal_pair(pair);
                W[i * b + a] = pair[0];
                if (i + 1 < n) W[(i + 1) * b + a] = pair[1];
            }
            std::fill_n(R + a * b, b, 0.0);
            drawn = true;
        }
        if (drawn) {
            set_identity(b, F.data());
            inner_products(n, size, V, ld, W, b, h.data(), run);
            continue;
        }
        cholesky(b, G, F.data());
        gemm('N', 'N', b, b, b, 1.0, R, b, F.data(), b, 0.0, FR.data(), b);  // row-major: F R
        std::copy(FR.begin(), FR.end(), R);
        divide_columns(size, b, F.data(), h.data());
        if ((pass > 0 && off < 1e-3) || pass == kMostPasses) break;
    }
    parallel_for(run, n_chunks(n), [&](std::int64_t chunk, int) {
        const std::int64_t first = chunk * kChunk, rows = std::min(kChunk, n - first);
        divide(rows, b, F.data(), W + first * b);
        for (std::int64_t i = first; i < first + rows; ++i) std::copy_n(W + i * b, b, V + i * ld + size);
    });
}

// V[:, :q] = V[:, :size] Y, Y by columns.
void rotate(std::int64_t n, std::int64_t size, std::int64_t q, double* V, std::int64_t ld, const double* Y, Run& run) {
    std::vector<Buffer<double>> scratch;
    for (int t = 0; t < run.n_threads(); ++t) scratch.emplace_back(kChunk * q);
    parallel_for(run, n_chunks(n), [&](std::int64_t chunk, int slot) {
        const std::int64_t first = chunk * kChunk, rows = std::min(kChunk, n - first);
        double* rotated = scratch[static_cast<std::size_t>(slot)].data();
        gemm('T', 'N', q, rows, size, 1.0, Y, size, V + first * ld, ld, 0.0, rotated, q);
        for (std::int64_t i = 0; i < rows; ++i) std::copy_n(rotated + i * q, q, V + (first + i) * ld);
    });
}

// Y (n x k, by columns) = A X; returns |A x - w x| for each column if w is given.
Numbers multiply_columns(std::int64_t n, std::int64_t k, const BlockOperator& apply, const double* X,
                         const double* w, Run& run) {
    Numbers residuals = numbers(k);
    Buffer<double> block(n * kWidestBlock), product(n * kWidestBlock);
    for (std::int64_t first = 0; first < k; first += kWidestBlock) {
        run.checkpoint();
        const std::int64_t b = std::min(kWidestBlock, k - first);
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t c = 0; c < b; ++c) block[i * b + c] = X[(first + c) * n + i];
        }
        apply(block.data(), b, product.data());
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t c = 0; c < b; ++c) {
                const double r = product[i * b + c] - w[first + c] * block[i * b + c];
                residuals[static_cast<std::size_t>(first + c)] += r * r;
            }
        }
    }
    for (double& r : residuals) r = std::sqrt(r);
    return residuals;
}

// The basis has room for this many vectors; measured, see leading_pairs.
std::int64_t basis_size(std::int64_t k) { return 2 * k + 6 * kBlock; }

void small_pairs(std::int64_t n, std::int64_t k, const BlockOperator& apply, LeadingPairs& pairs, Run& run) {
    Buffer<double> A(n * n), block(n * kWidestBlock), product(n * kWidestBlock);
    for (std::int64_t first = 0; first < n; first += kWidestBlock) {
        run.checkpoint();
        const std::int64_t b = std::min(kWidestBlock, n - first);
        std::fill_n(block.data(), n * b, 0.0);
        for (std::int64_t c = 0; c < b; ++c) block[(first + c) * b + c] = 1;
        apply(block.data(), b, product.data());
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t c = 0; c < b; ++c) A[(first + c) * n + i] = product[i * b + c];
        }
    }
    largest_eigenpairs(n, A.data(), k, pairs.values.data(), pairs.vectors.data(), run);
}

// Wu and Simon's method: the Ritz pairs of T = V' A V, whose columns are all computed, of the best of which a new basis
// starts when there is no more room. False after too many restarts.
bool lanczos(std::int64_t n, std::int64_t k, const BlockOperator& apply, double tolerance, std::uint64_t seed,
             LeadingPairs& pairs, Run& run) {
    const std::int64_t b = kBlock, most = basis_size(k), ld = most + b, kept = k + (most - k) / 3;
    Random random(seed);
    Buffer<double> V(n * ld), X(n * b), W(n * b), T(most * most), A(most * most), Y(most * most);
    Numbers H = numbers(b * ld), R = numbers(b * b), w = numbers(most);
    std::int64_t size = 0;  // columns of V that T knows; b more wait to be multiplied
    auto draw = [&] {
        for (std::int64_t e = 0; e < n * b; e += 2) random.normal_pair(W.data() + e);
        append(n, size, V.data(), ld, W.data(), b, random, H.data(), R.data(), run);
    };
    draw();
    bool confirming = false;
    for (int cycle = 0; cycle < kMostCycles; ++cycle) {
        for (; size + b <= most; size += b) {
            run.checkpoint();
            for (std::int64_t i = 0; i < n; ++i) std::copy_n(V.data() + i * ld + size, b, X.data() + i * b);
            apply(X.data(), b, W.data());
            append(n, size + b, V.data(), ld, W.data(), b, random, H.data(), R.data(), run);
            for (std::int64_t c = 0; c < b; ++c) {
                for (std::int64_t j = 0; j < size + b; ++j) {
                    T[(size + c) * most + j] = T[j * most + size + c] = H[static_cast<std::size_t>(c * (size + b) + j)];
                }
            }
        }
        for (std::int64_t j = 0; j < size; ++j) std::copy_n(T.data() + j * most, size, A.data() + j * size);
        largest_eigenpairs(size, A.data(), kept, w.data(), Y.data(), run);
        // A y - w y = (the waiting block) R (the last entries of y).
        const double allowed = tolerance * std::max(std::abs(w[0]), std::numeric_limits<double>::min());
        bool found = true;
        for (std::int64_t j = 0; j < k && found; ++j) {
            double square = 0;
            for (std::int64_t a = 0; a < b; ++a) {
                double r = 0;
                for (std::int64_t c = 0; c < b; ++c) r += R[static_cast<std::size_t>(a * b + c)] * Y[j * size + size - b + c];
                square += r * r;
            }
            found = square <= allowed * allowed;
        }
        const std::int64_t q = found ? k : kept;
        rotate(n, size, q, V.data(), ld, Y.data(), run);
        if (found && confirming) {
            for (std::int64_t j = 0; j < k; ++j) {
                pairs.values[static_cast<std::size_t>(j)] = w[static_cast<std::size_t>(j)];
                for (std::int64_t i = 0; i < n; ++i) pairs.vectors[static_cast<std::size_t>(j * n + i)] = V[i * ld + j];
            }
            return true;
        }
        for (std::int64_t j = 0; j < q; ++j) {
            std::fill_n(T.data() + j * most, q, 0.0);
            T[j * most + j] = w[static_cast<std::size_t>(j)];
        }
        if (!found) {
            for (std::int64_t i = 0; i < n; ++i) std::copy_n(V.data() + i * ld + size, b, V.data() + i * ld + q);
        }
        size = q;
        // A block Krylov space sees no more than b copies of an eigenvalue: from new random vectors the rest appears.
        if (found) draw();
        confirming = found;
    }
    for (std::int64_t j = 0; j < k; ++j) {
        pairs.values[static_cast<std::size_t>(j)] = w[static_cast<std::size_t>(j)];
        for (std::int64_t i = 0; i < n; ++i) pairs.vectors[static_cast<std::size_t>(j * n + i)] = V[i * ld + j];
    }
    return false;
}

}  // namespace

LeadingPairs leading_pairs(std::int64_t n, std::int64_t k, const BlockOperator& apply, double tolerance,
                           std::uint64_t seed, Run& run) {
    LeadingPairs pairs;
    pairs.values = numbers(k);
    pairs.vectors = numbers(n * k);
    if (n <= kSmall || basis_size(k) + kBlock > n / 2) {
        small_pairs(n, k, apply, pairs, run);
    } else {
        lanczos(n, k, apply, tolerance, seed, pairs, run);
        for (std::int64_t j = 0; j < k; ++j) fix_sign(n, pairs.vectors.data() + j * n);
    }
    pairs.residuals = multiply_columns(n, k, apply, pairs.vectors.data(), pairs.values.data(), run);
    const double largest = std::max(std::abs(pairs.values.front()), std::numeric_limits<double>::min());
    const double allowed = 10 * std::max(tolerance, static_cast<double>(n) * kEps) * largest;
    pairs.converged = *std::max_element(pairs.residuals.begin(), pairs.residuals.end()) <= allowed;
    return pairs;
}

std::int64_t leading_pairs_memory(std::int64_t n, std::int64_t k) {
    const std::int64_t size = basis_size(k) + kBlock;
    if (n <= kSmall || size > n / 2) return 8 * (3 * n * n + 2 * n * kWidestBlock);
    return 8 * (n * (size + 2 * kBlock + 2 * kWidestBlock) + 3 * size * size);
}

void SparseSymmetric::multiply(const double* X, std::int64_t b, double* Y, Run& run) const {
    parallel_for(run, (n + kSparseRows - 1) / kSparseRows, [&](std::int64_t task, int) {
        const std::int64_t first = task * kSparseRows, last = std::min(first + kSparseRows, n);
        switch (b) {
            case 1: return multiply_rows<1>(*this, first, last, X, Y);
            case 2: return multiply_rows<2>(*this, first, last, X, Y);
            case 3: return multiply_rows<3>(*this, first, last, X, Y);
            case 4: return multiply_rows<4>(*this, first, last, X, Y);
            case 5: return multiply_rows<5>(*this, first, last, X, Y);
            case 6: return multiply_rows<6>(*this, first, last, X, Y);
            case 7: return multiply_rows<7>(*this, first, last, X, Y);
            default: return multiply_rows<8>(*this, first, last, X, Y);
        }
    });
}

void multiply_symmetric(std::int64_t n, const double* A, const double* X, std::int64_t b, double* Y, Run& run) {
    parallel_for(run, (n + kDenseRows - 1) / kDenseRows, [&](std::int64_t task, int) {
        const std::int64_t first = task * kDenseRows, rows = std::min(kDenseRows, n - first);
        gemm('N', 'N', b, rows, n, 1.0, X, b, A + first * n, n, 0.0, Y + first * b, b);
    });
}

void inner_products(std::int64_t n, std::int64_t m, const double* V, std::int64_t ld, const double* X, std::int64_t b,
                    double* H, Run& run) {
    if (m == 0) return;
    sum_chunks(n, b * m, H, run, [&](std::int64_t first, std::int64_t rows, double* part) {
        gemm('N', 'T', m, b, rows, 1.0, V + first * ld, ld, X + first * b, b, 0.0, part, m);
    });
}

void subtract_product(std::int64_t n, std::int64_t m, const double* V, std::int64_t ld, const double* H, double* X,
                      std::int64_t b, Run& run) {
    if (m == 0) return;
    parallel_for(run, n_chunks(n), [&](std::int64_t chunk, int) {
        const std::int64_t first = chunk * kChunk, rows = std::min(kChunk, n - first);
        gemm('T', 'N', b, rows, m, -1.0, H, m, V + first * ld, ld, 1.0, X + first * b, b);
    });
}

}  // namespace fastfs::core
