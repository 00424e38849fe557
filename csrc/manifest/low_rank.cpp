#include "manifest/low_rank.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include "engines/pivoted_cholesky.hpp"
#include "engines/spectral.hpp"
#include "manifest/tall.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"
#include "support/random.hpp"

namespace fastfs::core {
namespace {

// Landmarks per batch, a multiple of the panel. 24 and 96 gave an equal agreement with the exact ranking within 0.01 to
// 0.03; 24 takes twice the passes over F.
constexpr std::int64_t kBatch = 48;

// Test vectors per rank of nystrom.
constexpr std::int64_t kTestsPerRank = 2;

// The least value of delta or of a kept eigenvalue, and the least share of the largest eigenvalue that is more than
// rounding.
constexpr double kSmallestShift = 1e-12, kSmallestShare = 1e-12;

// Cuts F F' - nu I to `rank`: F'F = V diag(w) V', G = F V diag(w)^(-1/2) for the largest w. rows_of(first, n, scratch)
// returns rows of F (d x n), ld apart.
template <class Rows>
LowRank truncated_model(Rows&& rows_of, std::int64_t d, std::int64_t n, std::int64_t ld, std::int64_t rank,
                        double trace, double nu, double largest, double eps, Run& run) {
    const double smallest = kSmallestShift * largest;
    LowRank model;
    model.largest = largest;
    model.eps = eps;
    if (n > 0) {
        Buffer<double> H = sum_over_rows(d, n * n, run, [&](std::int64_t first, std::int64_t rows, double* part) {
            Buffer<double> scratch;
            syrk_lower('N', n, rows, 1.0, rows_of(first, rows, scratch), ld, 1.0, part, n);
        });
        SymmetricEigen eigen(n, H.data(), run);
        const std::vector<double>& w = eigen.values();
        std::int64_t k = 0;
        while (k < std::min(rank, n) && w[at(n - 1 - k)] > kSmallestShare * w.back()) ++k;
        eigen.make_vectors(n - k, n, run);
        Buffer<double> V(n * k);  // k x n: what BLAS multiplies by fastest
        for (std::int64_t c = 0; c < k; ++c) {
            const double value = w[at(n - 1 - c)], scale = 1 / std::sqrt(value);
            const double* v = eigen.vector(n - 1 - c);
            for (std::int64_t j = 0; j < n; ++j) V[j * k + c] = scale * v[j];
            model.w.push_back(std::max(value - nu, smallest));
        }
        model.G = Buffer<double>(d * k);
        for_rows(d, run, [&](std::int64_t i0, std::int64_t rows, int) {
            Buffer<double> scratch;
            gemm('N', 'N', k, rows, n, 1.0, V.data(), k, rows_of(i0, rows, scratch), ld, 0.0, model.G.data() + i0 * k,
                 k);
        });
    }
    double trace_within = 0;
    for (double w : model.w) trace_within += w;
    model.kept_trace = std::min(trace_within / trace, 1.0);
    model.delta = std::max((trace - trace_within) / static_cast<double>(d - model.rank()), smallest);
    return model;
}

// Returns a function that returns rows of the stored F.
auto stored_rows(const Buffer<double>& F, std::int64_t ld) {
    return [&F, ld](std::int64_t first, std::int64_t, Buffer<double>&) { return F.data() + first * ld; };
}

NumericError not_semidefinite() {
    return NumericError("the kernel must be positive semidefinite: choose another one, such as the Gaussian");
}

// Returns the trace of diag(g) K diag(g) from the diagonal of K; throws if it is 0, negative or too large.
double trace_of(const std::vector<double>& diagonal, const std::vector<double>& g) {
    double trace = 0;
    for (std::size_t i = 0; i < g.size(); ++i) {
        if (diagonal[i] < 0) throw not_semidefinite();
        trace += g[i] * g[i] * diagonal[i];
    }
    if (trace > 1e290)
        throw NumericError("the kernel's values are too large to be multiplied: divide it by a constant");
    if (trace == 0)
        throw NumericError(
            "the kernel must be positive for some feature with itself; got 0 for all: choose another kernel");
    return trace;
}

// Updates g of feature i by one round of normalisation.
void divide_by_root(std::int64_t i, double& g, double Kg) {
    if (!(Kg > 0)) {
        throw NumericError({"row sums of a kernel must be positive for normalize; got ", Kg, " for feature ", i,
                            ": set normalize=0, or choose another kernel"});
    }
    g /= std::sqrt(g * Kg);
}

// Updates g by `times` rounds of normalisation, each by a product of K with g, in O(d^2) time.
template <class T>
void normalize_by_products(const Features<T>& features, const Kernel& kernel, int times, Run& run,
                           std::vector<double>& g) {
    std::vector<double> Kg(g.size());
    for (int time = 0; time < times; ++time) {
        affinity_product(features, kernel, g.data(), 1, run, Kg.data());
        for (std::size_t i = 0; i < g.size(); ++i) divide_by_root(static_cast<std::int64_t>(i), g[i], Kg[i]);
    }
}

std::vector<double> squares_of(std::vector<double> values) {
    for (double& value : values) value *= value;
    return values;
}

std::vector<double> at_places(const std::vector<double>& values, const std::vector<std::int64_t>& places) {
    std::vector<double> taken;
    for (std::int64_t i : places) taken.push_back(values[at(i)]);
    return taken;
}

// Computes F = diag(g) F, for the first n columns of F, with rows ld apart.
void scale_rows(const std::vector<double>& g, std::int64_t ld, std::int64_t n, Run& run, Buffer<double>& F) {
    for_rows(std::ssize(g), run, [&](std::int64_t i0, std::int64_t rows, int) {
        for (std::int64_t i = i0; i < i0 + rows; ++i) {
            for (std::int64_t j = 0; j < n; ++j) F[i * ld + j] *= g[at(i)];
        }
    });
}

// Returns at most `count` features, drawn with probabilities proportional to c, each once; `total` is the sum of c.
std::vector<std::int64_t> draw_by_weight(const std::vector<double>& c, double total, std::int64_t count,
                                         Random& random) {
    std::vector<double> targets;
    for (std::int64_t i = 0; i < count; ++i) targets.push_back(random.uniform() * total);
    std::sort(targets.begin(), targets.end());
    std::vector<std::int64_t> drawn;
    double sum = 0;
    std::size_t next = 0;
    for (std::size_t i = 0; i < c.size() && next < targets.size(); ++i) {
        sum += c[i];
        if (targets[next] >= sum) continue;
        drawn.push_back(static_cast<std::int64_t>(i));
        while (next < targets.size() && targets[next] < sum) ++next;
    }
    return drawn;
}

// Fills F (d x m, row-major, allocated) with K ~ F F' from at most m landmarks, drawn in proportion to weight c, and
// sets c to the diagonal of K - F F'. diagonal: the diagonal of K. Returns the landmarks, one per column of F: fewer
// than m if only rounding is left.
template <class T>
std::vector<std::int64_t> landmark_columns(const Features<T>& features, const Kernel& kernel,
                                           const std::vector<double>& diagonal, const std::vector<double>& weight,
                                           std::int64_t m, std::uint64_t seed, Run& run, Buffer<double>& F,
                                           std::vector<double>& c) {
    // rounding: the error of a kernel value as a share of the diagonal; a smaller residual isn't worth a column.
    // A residual below -kIndefinite can't be rounding.
    constexpr double kIndefinite = 1e-3;
    constexpr double rounding = 64 * static_cast<double>(std::numeric_limits<T>::epsilon());
    const std::int64_t d = features.n_features();
    double whole = 0;
    for (std::size_t i = 0; i < weight.size(); ++i) whole += weight[i] * diagonal[i];
    c = diagonal;
    std::vector<double> R, left(weight.size());
    auto tiles = buffers<T>(run.n_threads(), kTile * kTile);
    Buffer<double> at_drawn(kBatch * m), residual(kBatch * kBatch);
    Random random(seed);
    std::vector<std::int64_t> all_chosen;
    std::int64_t n = 0;
    while (n < m) {
        double total = 0;
        for (std::size_t i = 0; i < c.size(); ++i) total += left[i] = weight[i] * c[i];
        if (total <= std::max(1e-10, rounding / 8) * whole) break;
        const std::vector<std::int64_t> I = draw_by_weight(left, total, std::min(kBatch, m - n), random);

        // Factors K[I, I] - F[I] F[I]' = R R', without features of I that the other features of I explain to rounding.
        auto b = static_cast<std::int64_t>(I.size());
        {
            const Features<T> drawn(features, I, run);
            T* tile = tiles[0].data();
            KernelTiles<T>(drawn, drawn, kernel, run)(0, b, 0, b, tile, run);
            for (std::int64_t i = 0; i < b; ++i) {
                for (std::int64_t j = 0; j < b; ++j) residual[j * b + i] = static_cast<double>(tile[i * kTile + j]);
                const double* row = F.data() + I[at(i)] * m;
                std::copy(row, row + n, at_drawn.data() + i * n);
            }
            if (n > 0) {
                gemm('T', 'N', b, b, n, -1.0, at_drawn.data(), n, at_drawn.data(), n, 1.0, residual.data(), b);
            }
        }
        std::vector<double> least;
        for (std::int64_t i : I) least.push_back(rounding * diagonal[at(i)]);
        const std::vector<std::int64_t> order = pivoted_cholesky(b, residual.data(), least, R);
        if (order.empty()) break;
        b = static_cast<std::int64_t>(order.size());
        std::vector<std::int64_t> chosen;
        for (std::int64_t i = 0; i < b; ++i) {
            chosen.push_back(I[at(order[at(i)])]);
            const double* row = F.data() + chosen.back() * m;
            std::copy(row, row + n, at_drawn.data() + i * n);
        }

        // F[:, n : n + b] = (K[:, I] - F[:, : n] F[I]') R^-T
        const Features<T> landmark(features, chosen, run);
        const KernelTiles<T> kernel_tile(features, landmark, kernel, run);
        for_rows(d, run, [&](std::int64_t i0, std::int64_t rows, int slot) {
            T* tile = tiles[at(slot)].data();
            kernel_tile(i0, rows, 0, b, tile, run);
            double* block = F.data() + i0 * m;
            for (std::int64_t a = 0; a < rows; ++a) std::copy_n(tile + a * kTile, b, block + a * m + n);
            if (n > 0) gemm('T', 'N', b, rows, n, -1.0, at_drawn.data(), n, block, m, 1.0, block + n, m);
            trsm('L', b, rows, R.data(), b, block + n, m);
            for (std::int64_t a = 0; a < rows; ++a) {
                double sum = 0;
                for (std::int64_t j = 0; j < b; ++j) sum += block[a * m + n + j] * block[a * m + n + j];
                double& rest = c[at(i0 + a)];
                if (rest - sum < -kIndefinite * diagonal[at(i0 + a)]) throw not_semidefinite();
                rest = std::max(rest - sum, 0.0);
            }
        });
        for (std::int64_t i : chosen) c[at(i)] = 0;
        all_chosen.insert(all_chosen.end(), chosen.begin(), chosen.end());
        n += b;
    }
    return all_chosen;
}

}  // namespace

std::int64_t factor_through_landmarks(Buffer<double>& F, const std::vector<std::int64_t>& landmarks,
                                      const std::vector<double>& diagonal, std::vector<double>& c, Run& run) {
    // kLeast is far above the rounding of sums over any number of rows, and too small for a column.
    constexpr double kLeast = 1e-10;
    const auto d = static_cast<std::int64_t>(diagonal.size()), m = static_cast<std::int64_t>(landmarks.size());
    Buffer<double> A(m * m);
    std::vector<double> least, R;
    for (std::int64_t a = 0; a < m; ++a) {
        std::copy_n(F.data() + landmarks[at(a)] * m, m, A.data() + a * m);
        least.push_back(kLeast * diagonal[at(landmarks[at(a)])]);
    }
    const std::vector<std::int64_t> order = pivoted_cholesky(m, A.data(), least, R);
    const auto n = static_cast<std::int64_t>(order.size());
    c = diagonal;
    auto rows_of = buffers<double>(run.n_threads(), m);
    for_rows(d, run, [&](std::int64_t i0, std::int64_t rows, int slot) {
        double* old_row = rows_of[at(slot)].data();
        for (std::int64_t i = i0; i < i0 + rows; ++i) {
            double* row = F.data() + i * m;
            std::copy_n(row, m, old_row);
            for (std::int64_t j = 0; j < n; ++j) row[j] = old_row[order[at(j)]];
        }
        if (n > 0) trsm('L', n, rows, R.data(), n, F.data() + i0 * m, m);
        for (std::int64_t i = i0; i < i0 + rows; ++i) {
            const double* row = F.data() + i * m;
            for (std::int64_t j = 0; j < n; ++j) c[at(i)] -= row[j] * row[j];
            c[at(i)] = std::max(c[at(i)], 0.0);
        }
    });
    for (std::int64_t landmark : landmarks) c[at(landmark)] = 0;
    return n;
}

template <class T>
LowRank landmarks(const Features<T>& features, const Kernel& kernel, int normalize, std::int64_t rank,
                  std::uint64_t seed, Buffer<double>& F, Run& run) {
    const std::int64_t d = features.n_features(), m = std::min(kColumnsPerRank * rank, d);
    if (F.size() < d * m) F = Buffer<double>(d * m);
    std::vector<double> g(at(d), 1.0), c;
    const std::vector<double> diagonal = kernel_diagonal(features, kernel, run);
    double trace = trace_of(diagonal, g);
    std::int64_t n = std::ssize(landmark_columns(features, kernel, diagonal, g, m, seed, run, F, c));
    if (normalize > 0) {
        // Computes g from the approximation of K so far, F F' plus the rest of the diagonal, since K 1 itself would
        // take O(d^2) time. Then draws new landmarks for columns of diag(g) K diag(g).
        for (int time = 0; time < normalize; ++time) {
            const Buffer<double> Fg =
                sum_over_rows(d, n, run, [&](std::int64_t first, std::int64_t rows, double* part) {
                    for (std::int64_t i = first; i < first + rows; ++i) {
                        const double* row = F.data() + i * m;
                        for (std::int64_t j = 0; j < n; ++j) part[j] += g[at(i)] * row[j];
                    }
                });
            for_rows(d, run, [&](std::int64_t i0, std::int64_t rows, int) {
                for (std::int64_t i = i0; i < i0 + rows; ++i) {
                    double& gi = g[at(i)];
                    double Kg = c[at(i)] * gi;
                    for (std::int64_t j = 0; j < n; ++j) Kg += F[i * m + j] * Fg[j];
                    divide_by_root(i, gi, Kg);
                }
            });
        }
        trace = trace_of(diagonal, g);
        n = std::ssize(landmark_columns(features, kernel, diagonal, squares_of(g), m, seed, run, F, c));
        scale_rows(g, m, n, run, F);
    }
    return truncated_model(stored_rows(F, m), d, n, m, rank, trace, 0,
                           *std::max_element(diagonal.begin(), diagonal.end()), std::numeric_limits<T>::epsilon(), run);
}

Buffer<double> kernel_with_landmarks(const Features<double>& features, const Landmarks& landmarks, const Kernel& kernel,
                                     Run& run) {
    const std::int64_t d = features.n_features(), n = landmarks.n();
    Buffer<double> K(d * n), tile(kTile * kTile);
    const KernelTiles<double> kernel_tile(features, landmarks.points, kernel, run);
    for (std::int64_t i0 = 0; i0 < d; i0 += kTile) {
        const std::int64_t ni = std::min(kTile, d - i0);
        for (std::int64_t j0 = 0; j0 < n; j0 += kTile) {
            const std::int64_t nj = std::min(kTile, n - j0);
            kernel_tile(i0, ni, j0, nj, tile.data(), run);
            for (std::int64_t a = 0; a < ni; ++a) std::copy_n(&tile[a * kTile], nj, &K[(i0 + a) * n + j0]);
        }
    }
    return K;
}

namespace {

// Returns a copy in double of n features, from `first` on.
template <class T>
Features<double> features_from(const Features<T>& features, std::int64_t first, std::int64_t n, Run& run) {
    std::vector<std::int64_t> places(at(n));
    std::iota(places.begin(), places.end(), first);
    return {features, places, run};
}

// Replaces g by the factors of `times` rounds of normalisation, from the landmarks' F F' + diag(rest) ~ K.
// plain: landmarks with g = 1.
template <class T>
void normalize_by_landmarks(const Features<T>& features, const Kernel& kernel, int times, const Landmarks& plain,
                            Run& run, std::vector<double>& g) {
    const std::int64_t d = features.n_features(), n = plain.n();
    auto rows_of_K = [&](std::int64_t first, std::int64_t rows) {
        return kernel_with_landmarks(features_from(features, first, rows, run), plain, kernel, run);
    };
    for (int time = 0; time < times; ++time) {
        // Computes F F' g = K_P u, u = L^-T L^-1 K_P' g, with P the landmarks.
        Buffer<double> u = sum_over_rows(d, n, run, [&](std::int64_t first, std::int64_t rows, double* part) {
            const Buffer<double> K = rows_of_K(first, rows);
            for (std::int64_t i = 0; i < rows; ++i) {
                for (std::int64_t j = 0; j < n; ++j) part[j] += g[at(first + i)] * K[i * n + j];
            }
        });
        trsm_right('T', 1, n, plain.L.data(), n, u.data(), 1);
        trsm_right('N', 1, n, plain.L.data(), n, u.data(), 1);
        for_rows(d, run, [&](std::int64_t first, std::int64_t rows, int) {
            const Buffer<double> K = rows_of_K(first, rows);
            for (std::int64_t i = 0; i < rows; ++i) {
                double& gi = g[at(first + i)];
                double Kg = plain.rest[at(first + i)] * gi;
                for (std::int64_t j = 0; j < n; ++j) Kg += K[i * n + j] * u[j];
                divide_by_root(first + i, gi, Kg);
            }
        });
    }
}

}  // namespace

template <class T>
std::vector<double> normalizing_factors(const Features<T>& features, const Kernel& kernel, int normalize,
                                        std::int64_t m, std::uint64_t seed, Run& run, std::int64_t most_drawn_from) {
    std::vector<double> g(at(features.n_features()), 1.0);
    if (normalize == 0) return g;
    if (features.n_features() <= most_drawn_from) {
        normalize_by_products(features, kernel, normalize, run, g);
    } else {
        LowRank unused;
        const Landmarks plain = draw_landmarks(features, kernel, g, m, 1, seed, run, unused, most_drawn_from);
        unused = {};
        normalize_by_landmarks(features, kernel, normalize, plain, run, g);
    }
    return g;
}

template <class T>
Landmarks draw_landmarks(const Features<T>& features, const Kernel& kernel, std::vector<double> g_, std::int64_t m,
                         std::int64_t rank, std::uint64_t seed, Run& run, LowRank& cut_to_rank,
                         std::int64_t most_drawn_from) {
    constexpr std::uint64_t kStream = ~std::uint64_t{0} - 4;
    const std::int64_t d = features.n_features(), drawn_from = std::min(d, most_drawn_from);
    m = std::min(m, drawn_from);
    Landmarks landmarks;
    landmarks.g = std::move(g_);
    const std::vector<double>& g = landmarks.g;
    std::vector<double>& rest = landmarks.rest;
    const bool stored = drawn_from == d;
    const std::vector<double> diagonal = kernel_diagonal(features, kernel, run);

    // Columns of K between the features that landmarks are drawn from: all, if F is stored.
    const std::vector<std::int64_t> candidates = Random(seed, kStream).subset(d, drawn_from);
    Buffer<double> F(drawn_from * m);
    std::vector<std::int64_t> chosen;
    auto draw_among = [&](const Features<double>& some) {
        chosen = landmark_columns(some, kernel, at_places(diagonal, candidates), squares_of(at_places(g, candidates)),
                                  m, seed, run, F, rest);
        landmarks.points = Features<double>(some, chosen, run);
    };
    const Features<double>* all = nullptr;
    if constexpr (std::is_same_v<T, double>) all = stored ? &features : nullptr;
    if (all) {
        draw_among(*all);
    } else {
        draw_among(Features<double>(features, candidates, run));
    }
    const std::int64_t n = landmarks.n();
    landmarks.L = Buffer<double>(n * n);
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) landmarks.L[j * n + i] = j <= i ? F[chosen[at(i)] * m + j] : 0;
    }

    const double largest = *std::max_element(diagonal.begin(), diagonal.end()), trace = trace_of(diagonal, g);
    constexpr double eps = std::numeric_limits<double>::epsilon();
    if (stored) {
        scale_rows(g, m, n, run, F);
        for (std::size_t i = 0; i < rest.size(); ++i) rest[i] *= g[i] * g[i];
        cut_to_rank = truncated_model(stored_rows(F, m), d, n, m, rank, trace, 0, largest, eps, run);
        return landmarks;
    }
    F = Buffer<double>();
    rest.assign(at(d), 0.0);
    // Computes rows first..first + rows - 1 of diag(g) F, with F F' ~ the kernel, from the landmarks again; sets their
    // `rest`, and returns their place in scratch.
    auto factor_rows = [&](std::int64_t first, std::int64_t rows, Buffer<double>& scratch) -> const double* {
        scratch = kernel_with_landmarks(features_from(features, first, rows, run), landmarks, kernel, run);
        trsm('L', n, rows, landmarks.L.data(), n, scratch.data(), n);
        for (std::int64_t i = 0; i < rows; ++i) {
            double square = 0;
            for (double* f = &scratch[i * n]; f < &scratch[(i + 1) * n]; ++f) {
                square += *f * *f;
                *f *= g[at(first + i)];
            }
            const double gi = g[at(first + i)];
            rest[at(first + i)] = gi * gi * std::max(diagonal[at(first + i)] - square, 0.0);
        }
        return scratch.data();
    };
    cut_to_rank = truncated_model(factor_rows, d, n, n, rank, trace, 0, largest, eps, run);
    return landmarks;
}

template <class T>
LowRank nystrom(const Features<T>& features, const Kernel& kernel, int normalize, std::int64_t rank, std::uint64_t seed,
                Buffer<double>& Y, Run& run) {
    const std::int64_t d = features.n_features(), p = std::min(kTestsPerRank * rank, d);
    std::vector<double> g(at(d), 1.0);
    normalize_by_products(features, kernel, normalize, run, g);
    const std::vector<double> diagonal = kernel_diagonal(features, kernel, run);
    const double trace = trace_of(diagonal, g);

    // The result depends on the span of Omega alone, so normal numbers needn't be made orthonormal.
    Buffer<double> Omega(d * p);
    if (Y.size() < d * p) Y = Buffer<double>(d * p);
    const double scale = 1 / std::sqrt(static_cast<double>(d));
    for_rows(d, run, [&](std::int64_t i0, std::int64_t rows, int) {
        Random random(seed, static_cast<std::uint64_t>(i0 / kRows));
        double pair[2];
        for (std::int64_t i = i0; i < i0 + rows; ++i) {
            const double factor = scale * g[at(i)];
            for (std::int64_t j = 0; j < p; j += 2) {
                random.normal_pair(pair);
                Omega[i * p + j] = factor * pair[0];
                if (j + 1 < p) Omega[i * p + j + 1] = factor * pair[1];
            }
        }
    });
    affinity_product(features, kernel, Omega.data(), p, run, Y.data());
    if (normalize > 0) {
        for_rows(d, run, [&](std::int64_t i0, std::int64_t rows, int) {
            for (std::int64_t i = i0; i < i0 + rows; ++i) {
                const double gi = g[at(i)];
                for (std::int64_t j = 0; j < p; ++j) {
                    Y[i * p + j] *= gi;
                    Omega[i * p + j] /= gi;
                }
            }
        });
    }

    // (K + nu I) Omega = Y: the shift keeps Omega' Y positive definite in spite of rounding.
    const Buffer<double> squares = sum_over_rows(d, 1, run, [&](std::int64_t first, std::int64_t rows, double* part) {
        for (std::int64_t e = first * p; e < (first + rows) * p; ++e) part[0] += Y[e] * Y[e];
    });
    const double size = std::sqrt(squares[0]);
    constexpr double kShare = 1e-6;
    double nu = 0;
    Buffer<double> C;
    for (double share = kShare;; share *= 10) {
        const double more = share * size - nu;
        for_rows(d, run, [&](std::int64_t i0, std::int64_t rows, int) {
            for (std::int64_t e = i0 * p; e < (i0 + rows) * p; ++e) Y[e] += more * Omega[e];
        });
        nu += more;
        C = sum_over_rows(d, p * p, run, [&](std::int64_t first, std::int64_t rows, double* part) {
            gemm('N', 'T', p, p, rows, 1.0, Omega.data() + first * p, p, Y.data() + first * p, p, 1.0, part, p);
        });
        for (std::int64_t j = 0; j < p; ++j) {
            for (std::int64_t i = j; i < p; ++i) C[j * p + i] = (C[j * p + i] + C[i * p + j]) / 2;
        }
        if (potrf_lower(p, C.data(), p)) break;
        if (kernel.kind == Kernel::Kind::kCustom) throw not_semidefinite();
        if (share > 1e3 * kShare) {
            throw NumericError(
                "the kernel of a class must be positive definite to rounding: choose accuracy=\"low_rank\", or a "
                "larger scale");
        }
    }
    Omega = Buffer<double>();
    for_rows(d, run,
             [&](std::int64_t i0, std::int64_t rows, int) { trsm('L', p, rows, C.data(), p, Y.data() + i0 * p, p); });
    return truncated_model(stored_rows(Y, p), d, p, p, rank, trace, nu,
                           *std::max_element(diagonal.begin(), diagonal.end()), std::numeric_limits<T>::epsilon(), run);
}

std::int64_t landmarks_memory(std::int64_t d, std::int64_t rank, int n_threads) {
    const std::int64_t m = std::min(kColumnsPerRank * rank, d);
    return 8 * (d * (m + rank + 2) + 4 * m * m) + sum_over_rows_memory(d, m * m) + tile_memory(n_threads);
}

std::int64_t draw_landmarks_memory(std::int64_t d, std::int64_t n_samples, std::int64_t m, std::int64_t rank,
                                   bool in_double, int n_threads) {
    const std::int64_t drawn_from = std::min(d, kMostDrawnFrom),
                       kernel_rows = d > drawn_from ? n_threads * kRows * m : 0;
    const std::int64_t copied = in_double && drawn_from == d ? 0 : drawn_from * n_samples;
    return 8 * (drawn_from * (m + 2) + copied + d * (rank + 4) + 5 * m * m + kernel_rows) +
           sum_over_rows_memory(d, m * m) + tile_memory(n_threads);
}

std::int64_t nystrom_memory(std::int64_t d, std::int64_t rank, int n_threads) {
    const std::int64_t p = std::min(kTestsPerRank * rank, d);
    return 8 * (d * (3 * p + 2) + 4 * p * p) + sum_over_rows_memory(d, p * p) + tile_memory(n_threads, p);
}

template LowRank landmarks(const Features<float>&, const Kernel&, int, std::int64_t, std::uint64_t, Buffer<double>&,
                           Run&);
template LowRank landmarks(const Features<double>&, const Kernel&, int, std::int64_t, std::uint64_t, Buffer<double>&,
                           Run&);
template Landmarks draw_landmarks(const Features<float>&, const Kernel&, std::vector<double>, std::int64_t,
                                  std::int64_t, std::uint64_t, Run&, LowRank&, std::int64_t);
template Landmarks draw_landmarks(const Features<double>&, const Kernel&, std::vector<double>, std::int64_t,
                                  std::int64_t, std::uint64_t, Run&, LowRank&, std::int64_t);
template std::vector<double> normalizing_factors(const Features<float>&, const Kernel&, int, std::int64_t,
                                                 std::uint64_t, Run&, std::int64_t);
template std::vector<double> normalizing_factors(const Features<double>&, const Kernel&, int, std::int64_t,
                                                 std::uint64_t, Run&, std::int64_t);
template LowRank nystrom(const Features<float>&, const Kernel&, int, std::int64_t, std::uint64_t, Buffer<double>&,
                         Run&);
template LowRank nystrom(const Features<double>&, const Kernel&, int, std::int64_t, std::uint64_t, Buffer<double>&,
                         Run&);

}  // namespace fastfs::core
