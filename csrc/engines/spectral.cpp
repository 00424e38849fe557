#include "engines/spectral.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();

// Reflectors that are applied together, and vectors per task. Measured at n = 2000, one thread: blocks of 64 / 96 / 128
// / 192 take 0.42 / 0.40 / 0.41 / 0.43 s, against 0.46 s of dormtr; slabs of 256 take 3 % more.
constexpr std::int64_t kVectorBlock = 96;
constexpr std::int64_t kSlab = 512;

// Returns the largest column sum of |A|; both triangles are stored.
double norm1(std::int64_t n, const double* A) {
    double largest = 0;
    for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t i = 0; i < n; ++i) sum += std::abs(A[j * n + i]);
        largest = std::max(largest, sum);
    }
    return largest;
}

double length(std::int64_t n, const double* x) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
    return std::sqrt(sum);
}

// Divides the lower triangle of A in place by a power of two if its largest value lies outside 1e-100 to 1e100, so that
// no square inside LAPACK over- or underflows. Returns the power, by which the eigenvalues must be multiplied; 1 if A
// is unchanged. Throws InvalidArgument for NaN and infinity.
double scale_to_one(std::int64_t n, double* A) {
    double largest = 0;
    for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = j; i < n; ++i) {
            const double a = std::abs(A[j * n + i]);
            if (!(a <= std::numeric_limits<double>::max())) {
                throw InvalidArgument(
                    {"the matrix must be finite; got NaN or infinity first at row ", i, ", column ", j});
            }
            largest = std::max(largest, a);
        }
    }
    if (largest == 0 || (largest > 1e-100 && largest < 1e100)) return 1;
    const double unit = std::ldexp(1.0, std::clamp(std::ilogb(largest), -1020, 1020));
    for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = j; i < n; ++i) A[j * n + i] /= unit;
    }
    return unit;
}

// Sets the result to the pencil by S = L L', C = L^-1 D L^-T = Y diag(nu) Y', W = L Y; destroys D and S. Returns false,
// with the lower triangles of S and D unchanged, if S is singular to rounding.
bool pencil_by_cholesky(std::int64_t n, double* D, double* S, Run& run, Pencil& result) {
    // The upper triangle keeps S, which the factor would destroy; LAPACK doesn't touch it.
    mirror_lower(n, S);
    std::vector<double> diagonal(at(n));
    for (std::int64_t i = 0; i < n; ++i) diagonal[at(i)] = S[i * n + i];
    const double norm = norm1(n, S);
    if (!cholesky(n, S, run) || pocon_lower(n, S, norm) < static_cast<double>(n) * kEps) {
        for (std::int64_t j = 0; j < n; ++j) {
            S[j * n + j] = diagonal[at(j)];
            for (std::int64_t i = j + 1; i < n; ++i) S[j * n + i] = S[i * n + j];
        }
        return false;
    }
    run.checkpoint(0.05);
    divide_by_factor(n, D, S, run);
    run.checkpoint(0.2);
    SymmetricEigen eigen(n, D, run);
    run.checkpoint(0.6);
    eigen.make_vectors(0, n, run);
    result.nu = eigen.values();
    result.W = eigen.take_vectors();
    run.checkpoint(0.9);
    trmm(n, n, S, result.W.data(), run);
    return true;
}

// Sets the result to the pencil by S = V diag(w) V' with w > n eps w_max kept, Z = V diag(w)^(-1/2), C = Z' D Z = Y
// diag(nu) Y', W = V diag(w)^(1/2) Y. Destroys the values of D and S; S still has room for n x n afterwards.
void pencil_by_eigenvalues(std::int64_t n, double* D, Buffer<double>& S, Run& run, Pencil& result) {
    Buffer<double> V;
    std::vector<double> root;
    {
        SymmetricEigen eigen(n, S.data(), run);
        const auto& w = eigen.values();
        const double cut = std::max(w.back(), 0.0) * static_cast<double>(n) * kEps;
        const auto first = std::upper_bound(w.begin(), w.end(), cut) - w.begin();
        eigen.make_vectors(first, n, run);
        root.assign(w.begin() + first, w.end());
        V = eigen.take_vectors();
    }
    for (double& r : root) r = std::sqrt(r);
    const auto q = static_cast<std::int64_t>(root.size());
    const double* range = V.data() + (n - q) * n;
    run.checkpoint(0.4);

    // Uses S for D V and then for the eigenvectors of C, and D for C and then for W.
    mirror_lower(n, D);
    multiply_in_parts('N', n, q, n, D, n, range, n, S.data(), n, run);
    multiply_in_parts('T', q, q, n, range, n, S.data(), n, D, q, run);
    for (std::int64_t j = 0; j < q; ++j) {
        for (std::int64_t i = 0; i < q; ++i) {
            D[j * q + i] /= root[at(i)] * root[at(j)];
        }
    }
    if (q > 0) {
        SymmetricEigen eigen(q, D, run, std::move(S));
        eigen.make_vectors(0, q, run);
        result.nu = eigen.values();
        for (std::int64_t j = 0; j < q; ++j) {
            for (std::int64_t i = 0; i < q; ++i) eigen.vector(j)[i] *= root[at(i)];
        }
        multiply_in_parts('N', n, q, q, range, n, eigen.vector(0), q, D, n, run);
        S = eigen.take_vectors();
    }
    std::copy(D, D + n * q, V.data());
    result.W = std::move(V);
}

}  // namespace

// Throws for the first value of K that isn't finite, or that differs from its mirror image by more than rounding.
void require_symmetric(std::int64_t n, const double* K, const char* name) {
    double largest = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
            require(std::isfinite(K[i * n + j]), name, " must be finite; got NaN or infinity first at row ", i,
                    ", column ", j);
            largest = std::max(largest, std::abs(K[i * n + j]));
        }
    }
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < i; ++j) {
            const double a = K[i * n + j], b = K[j * n + i];
            require(std::abs(a - b) <= 1e-8 * largest, name, " must be symmetric; got ", a, " at row ", i, ", column ",
                    j, " and ", b, " at row ", j, ", column ", i);
        }
    }
}

// Throws unless K with 1e-8 of its trace added to the diagonal has a Cholesky factor, which overwrites T; K stays. A
// matrix of zeros passes.
void require_semidefinite(std::int64_t n, const double* K, double* T, const char* name, Run& run) {
    double trace = 0, largest = 0;
    for (std::int64_t j = 0; j < n; ++j) {
        trace += K[j * n + j];
        for (std::int64_t i = j; i < n; ++i) {
            T[j * n + i] = K[j * n + i];
            largest = std::max(largest, std::abs(K[j * n + i]));
        }
    }
    if (largest == 0) return;
    for (std::int64_t i = 0; i < n; ++i) T[i * n + i] += 1e-8 * trace;
    if (trace > 0 && cholesky(n, T, run)) return;
    refuse_indefinite(name);
}

void refuse_indefinite(const char* name) {
    throw NumericError({name,
                        " must be positive semidefinite; got a negative eigenvalue of more than 1e-8 of its trace: "
                        "choose another kernel, such as the Gaussian or the Laplacian"});
}

// Reduces A to tridiagonal form, overwriting it by the reflectors, and finds the ascending eigenvalues.
SymmetricEigen::SymmetricEigen(std::int64_t n, double* A, Run& run, Buffer<double> Z, std::int64_t whole)
    : n_(n), reflectors_(A), w_(at(n)), tau_(at(n)), Z_(Z.size() >= n * n ? std::move(Z) : Buffer<double>(n * n)) {
    const Run::Part silent(run, 0, 0);  // only callers know the share of their call that this is
    const double unit = scale_to_one(n, A);
    std::vector<double> off_diagonal(at(n));
    reduce_to_tridiagonal(n, A, w_.data(), off_diagonal.data(), tau_.data(), whole, run);
    tridiagonal_.emplace(n, w_.data(), off_diagonal.data(), Z_.data(), whole, run);
    for (double& w : w_) {
        w *= unit;
        require(
            std::isfinite(w),
            "the values of X or of a kernel are so large that eigenvalues overflow float64: divide them by a constant");
    }
    run.checkpoint();
}

// Computes the eigenvectors first..last - 1 in place, by applying the reflectors to those of the tridiagonal matrix.
// Reflector i, stored below the subdiagonal of column i with an implied 1 on it, is I - tau_i v_i v_i'. A block of them
// is I - V T V', where the inverse of T holds 1 / tau_i on its diagonal and v_i' v_j above: Z - V T (V' Z) is two GEMM
// and a small triangular solve.
void SymmetricEigen::make_vectors(std::int64_t first, std::int64_t last, Run& run) {
    if (last <= first || n_ < 2) return;
    const std::int64_t n = n_, blocks = ceil_div(n - 1, kVectorBlock), slabs = ceil_div(last - first, kSlab);
    auto panels = buffers<double>(run.n_threads(), std::max(kVectorBlock * (n + kSlab),  // V and V' Z
                                                            tridiagonal_->scratch_size(kSlab)));
    Buffer<double> T_inverse(blocks * kVectorBlock * kVectorBlock);

    // Writes reflectors j0..j0 + columns - 1 to V, with their implied zeros and ones.
    auto copy_reflectors = [&](std::int64_t j0, std::int64_t columns, double* V) {
        const std::int64_t rows = n - 1 - j0;
        for (std::int64_t j = 0; j < columns; ++j) {
            const bool identity = tau_[at(j0 + j)] == 0;
            const double* stored = reflectors_ + (j0 + j) * n + j0 + 1;
            double* v = V + j * rows;
            std::fill_n(v, j, 0.0);
            v[j] = identity ? 0 : 1;
            if (identity) {
                std::fill(v + j + 1, v + rows, 0.0);
            } else {
                std::copy(stored + j + 1, stored + rows, v + j + 1);
            }
        }
    };
    parallel_for(run, blocks, [&](std::int64_t block, int slot) {
        const std::int64_t j0 = block * kVectorBlock, columns = std::min(kVectorBlock, n - 1 - j0), rows = n - 1 - j0;
        double *V = panels[at(slot)].data(), *T = T_inverse.data() + block * kVectorBlock * kVectorBlock;
        copy_reflectors(j0, columns, V);
        gemm('T', 'N', columns, columns, rows, 1.0, V, rows, V, rows, 0.0, T, kVectorBlock);
        for (std::int64_t j = 0; j < columns; ++j) {
            const double tau = tau_[at(j0 + j)];
            T[j * kVectorBlock + j] = tau == 0 ? 1 : 1 / tau;
        }
    });
    parallel_for(run, slabs, [&](std::int64_t slab, int slot) {
        double *V = panels[at(slot)].data(), *VtZ = V + kVectorBlock * n;
        const std::int64_t begin = first + slab * kSlab, vectors = std::min(kSlab, last - begin);
        tridiagonal_->make_vectors(begin, begin + vectors, Z_.data(), V, run);
        for (std::int64_t block = blocks - 1; block >= 0; --block) {
            run.checkpoint();
            const std::int64_t j0 = block * kVectorBlock, columns = std::min(kVectorBlock, n - 1 - j0),
                               rows = n - 1 - j0;
            double* Z = Z_.data() + begin * n + j0 + 1;
            copy_reflectors(j0, columns, V);
            gemm('T', 'N', columns, vectors, rows, 1.0, V, rows, Z, n, 0.0, VtZ, kVectorBlock);
            trsm('U', columns, vectors, T_inverse.data() + block * kVectorBlock * kVectorBlock, kVectorBlock, VtZ,
                 kVectorBlock);
            gemm('N', 'N', rows, vectors, columns, -1.0, V, rows, VtZ, kVectorBlock, 1.0, Z, n);
        }
    });
}

std::int64_t vectors_memory(std::int64_t n, int n_threads) {
    const std::int64_t width = n > kWholeProblem ? kSlab : kVectorBlock;
    return 8 * (n_threads * width * (n + kSlab) + kVectorBlock * (n + kVectorBlock));
}

void fix_sign(std::int64_t n, double* v) {
    const double* largest = std::max_element(v, v + n, [](double a, double b) { return std::abs(a) < std::abs(b); });
    if (*largest < 0) std::transform(v, v + n, v, std::negate<>());
}

// Writes the k largest eigenvalues of A, descending, to w and their eigenvectors, with fixed signs, to V; returns Z as
// room for other uses. LAPACK's dsyevr for a range can't be used: among tightly clustered eigenvalues it finds fewer
// than were asked for.
Buffer<double> largest_eigenpairs(std::int64_t n, double* A, std::int64_t k, double* w, double* V, Run& run,
                                  Buffer<double> Z) {
    SymmetricEigen eigen(n, A, run, std::move(Z));
    eigen.make_vectors(n - k, n, run);
    for (std::int64_t c = 0; c < k; ++c) {
        w[c] = eigen.values()[at(n - 1 - c)];
        std::copy(eigen.vector(n - 1 - c), eigen.vector(n - c), V + c * n);
        fix_sign(n, V + c * n);
    }
    run.checkpoint(1.0);
    return eigen.take_vectors();
}

// Computes A = U diag(s) V' (n x n); A becomes scratch. The eigenvectors V of A'A give A V with orthogonal columns, but
// only to the rounding of its largest column: columns shorter than a tenth of the largest are made orthogonal to the
// long ones and are decomposed again by themselves.
void singular_vectors(std::int64_t n, double* A, double* s, double* U, double* V, Run& run) {
    constexpr double kShort = 0.1;
    std::copy(A, A + n * n, U);
    std::fill_n(V, n * n, 0.0);
    for (std::int64_t i = 0; i < n; ++i) V[i * n + i] = 1;
    Buffer<double> M(n * n), room(n * n);
    double* T = A;  // scratch from now on
    for (std::int64_t done = 0; done < n;) {
        const std::int64_t m = n - done;
        double* C = U + done * n;
        for (int again = 0; again < 2 && done > 0; ++again) {
            multiply_in_parts('T', done, m, n, U, n, C, n, T, done, run);
            multiply_in_parts('N', n, m, done, U, n, T, done, M.data(), n, run);
            for (std::int64_t e = 0; e < n * m; ++e) C[e] -= M[e];
        }
        multiply_in_parts('T', m, m, n, C, n, C, n, M.data(), m, run);
        SymmetricEigen eigen(m, M.data(), run, std::move(room));
        eigen.make_vectors(0, m, run);
        for (double* turned : {C, V + done * n}) {
            multiply_in_parts('N', n, m, m, turned, n, eigen.vector(0), m, T, n, run);
            for (std::int64_t j = 0; j < m; ++j) std::copy_n(T + (m - 1 - j) * n, n, turned + j * n);
        }
        room = eigen.take_vectors();
        for (std::int64_t j = 0; j < m; ++j) s[done + j] = length(n, C + j * n);
        const std::int64_t level = done;
        while (done < n && s[done] >= kShort * s[level] && s[done] > static_cast<double>(n) * kEps * s[0]) {
            for (std::int64_t i = 0; i < n; ++i) U[done * n + i] /= s[done];
            ++done;
        }
        if (done > level) continue;
        // The remaining columns are rounding errors: any basis of the complement serves.
        syrk(n, done, 1.0, U, 0.0, M.data(), run);
        SymmetricEigen rest(n, M.data(), run, std::move(room));
        rest.make_vectors(0, m, run);
        std::copy_n(rest.vector(0), n * m, C);
        break;
    }
    // A step of Newton's iteration for the nearest orthogonal matrix: U (3 I - U'U) / 2.
    multiply_in_parts('T', n, n, n, U, n, U, n, M.data(), n, run);
    for (std::int64_t e = 0; e < n * n; ++e) M[e] = (e % (n + 1) == 0 ? 1.5 : 0) - M[e] / 2;
    multiply_in_parts('N', n, n, n, U, n, M.data(), n, T, n, run);
    std::copy_n(T, n * n, U);
}

// Returns W and nu by the Cholesky factor of S or, if S is nearly singular, by its eigenvalues; sets a nu within
// rounding of -1 or 1 to it.
Pencil pencil(std::int64_t n, double* D, Buffer<double>& S, Run& run) {
    Pencil result;
    if (!pencil_by_cholesky(n, D, S.data(), run, result)) pencil_by_eigenvalues(n, D, S, run, result);
    for (double& nu : result.nu) nu = 1 - std::abs(nu) <= nu_rounding(n) ? std::copysign(1.0, nu) : nu;
    run.checkpoint(1.0);
    return result;
}

// Checks both kernels, overwrites K1 with K1 - K2 and then with W, writes nu, and returns the rank.
std::int64_t pencil(std::int64_t n, double* K1, const double* K2, double* nu, Run& run) {
    run.require_memory(24 * n * n + vectors_memory(n, run.n_threads()),
                       {"the pencil of two matrices with ", n, " rows"});
    run.step("pencil", 1.0);
    const SingleThreadedBlas held;
    Buffer<double> S(n * n);
    auto for_lower = [n](auto&& f) {
        for (std::int64_t j = 0; j < n; ++j) {
            for (std::int64_t i = j; i < n; ++i) f(i, j, j * n + i);
        }
    };
    for_lower([&](std::int64_t i, std::int64_t j, std::int64_t e) {
        if (std::isfinite(K1[e] + K2[e]) && std::isfinite(K1[e] - K2[e])) return;
        refuse({"K1, K2, their sum and their difference must be finite; got NaN or infinity first at ", Name::row(i),
                ", ", Name::column(j)});
    });
    require_semidefinite(n, K1, S.data(), "K1", run);
    require_semidefinite(n, K2, S.data(), "K2", run);
    for_lower([&](std::int64_t, std::int64_t, std::int64_t e) {
        const double sum = K1[e] + K2[e], difference = K1[e] - K2[e];
        K1[e] = difference;
        S[e] = sum;
    });
    const Pencil result = pencil(n, K1, S, run);
    const auto rank = static_cast<std::int64_t>(result.nu.size());
    std::copy(result.nu.begin(), result.nu.end(), nu);
    std::copy_n(result.W.data(), n * rank, K1);
    return rank;
}

void eigh(std::int64_t n, double* A, double* w, Run& run) {
    run.require_memory(16 * n * n + vectors_memory(n, run.n_threads()),
                       {"the eigenvalues of a matrix with ", n, " rows"});
    run.step("eigenvalues", 1.0);
    const SingleThreadedBlas held;
    SymmetricEigen eigen(n, A, run);
    eigen.make_vectors(0, n, run);
    std::copy(eigen.values().begin(), eigen.values().end(), w);
    std::copy(eigen.vector(0), eigen.vector(n), A);
}

}  // namespace fastfs::core
