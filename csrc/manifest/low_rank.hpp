// Engine: a kernel between all features by its leading eigenpairs and a shift, which never stores d x d numbers: K ~ G
// diag(w) G' + delta (I - G G'), in which delta preserves the trace of K.
// The bits don't depend on the number of threads if the caller holds BLAS at one (SingleThreadedBlas).
#pragma once

#include <cstdint>
#include <vector>

#include "engines/affinity.hpp"
#include "support/buffer.hpp"

namespace fastfs::core {

struct LowRank {
    Buffer<double> G;       // d x rank, row-major, with orthonormal columns
    std::vector<double> w;  // descending
    double delta = 0;
    double kept_trace = 1;  // share of the trace within the rank
    double largest = 1;     // entry of K
    double eps = 0;         // relative rounding error of K's entries

    std::int64_t rank() const { return static_cast<std::int64_t>(w.size()); }
};

// landmarks and nystrom factor diag(g) K diag(g), with g from `normalize` rounds of K <- diag(q)^(-1/2) K
// diag(q)^(-1/2), q = K 1. They return fewer than `rank` columns if K has lower rank. room: memory that consecutive
// calls can share, since fresh pages cost as much as a pass over them.

// Returns a low-rank K from 4 rank columns, drawn in batches with probabilities proportional to the remaining diagonal
// (randomly pivoted Cholesky: Chen, Epperly, Tropp, Webber 2022, arXiv 2207.06503), and cuts it to `rank`. Takes O(d m
// (N + m)) time with m = 4 rank, and O(d m) memory. g comes from columns that are drawn in a first round.
template <class T>
LowRank landmarks(const Features<T>& features, const Kernel& kernel, int normalize, std::int64_t rank,
                  std::uint64_t seed, Buffer<double>& room, Run& run);

// Columns of K per rank that landmarks computes.
constexpr std::int64_t kColumnsPerRank = 4;

// The approximation K ~ F F' + diag(rest) with F = diag(g) k(all features, points) L^-T, which isn't stored.
struct Landmarks {
    Features<double> points;
    Buffer<double> L;  // n x n, lower triangle, column-major: L L' = k(points, points)
    std::vector<double> g;
    std::vector<double> rest;  // the diagonal of K - F F'

    std::int64_t n() const { return points.n_features(); }
};

// The number of features above which landmarks are drawn among kMostDrawnFrom of them, since all columns of the factor
// wouldn't fit the memory.
constexpr std::int64_t kMostDrawnFrom = 100'000;

// Draws at most m landmarks of K = diag(g) k diag(g), as landmarks() does, among all features or most_drawn_from of
// them, and returns them; sets cut_to_rank to K cut to `rank` by them.
template <class T>
Landmarks draw_landmarks(const Features<T>& features, const Kernel& kernel, std::vector<double> g, std::int64_t m,
                         std::int64_t rank, std::uint64_t seed, Run& run, LowRank& cut_to_rank,
                         std::int64_t most_drawn_from = kMostDrawnFrom);

// Returns g of `normalize` rounds from products with k, in O(d^2) time. For more than most_drawn_from features,
// computes it from F F' + diag(rest) of m landmarks, in O(d).
template <class T>
std::vector<double> normalizing_factors(const Features<T>& features, const Kernel& kernel, int normalize,
                                        std::int64_t m, std::uint64_t seed, Run& run,
                                        std::int64_t most_drawn_from = kMostDrawnFrom);

// Returns k(features, points), row by row.
Buffer<double> kernel_with_landmarks(const Features<double>& features, const Landmarks& landmarks, const Kernel& kernel,
                                     Run& run);

// Replaces F (d x m with m ascending landmarks, row-major), on input the landmarks' columns of a semidefinite G, by F
// with G ~ F F', and sets c to the diagonal of G - F F', which is 0 at the landmarks. diagonal: of G. Returns the
// number of columns of F, fewer than m if only rounding is left.
std::int64_t factor_through_landmarks(Buffer<double>& F, const std::vector<std::int64_t>& landmarks,
                                      const std::vector<double>& diagonal, std::vector<double>& c, Run& run);

// Returns a low-rank K by one-pass Gaussian Nystrom (Tropp, Yurtsever, Udell, Cevher 2017, arXiv 1706.05736) from K
// Omega, Omega d x p with p = 2 rank, and cuts it to `rank`. room: reused for K Omega. Takes O(d^2 (N + p)) time and
// O(d p) memory.
template <class T>
LowRank nystrom(const Features<T>& features, const Kernel& kernel, int normalize, std::int64_t rank, std::uint64_t seed,
                Buffer<double>& room, Run& run);

// Count the bytes of landmarks, draw_landmarks and nystrom, with G and without the features.
std::int64_t landmarks_memory(std::int64_t d, std::int64_t rank, int n_threads);
std::int64_t draw_landmarks_memory(std::int64_t d, std::int64_t n_samples, std::int64_t m, std::int64_t rank,
                                   bool in_double, int n_threads);
std::int64_t nystrom_memory(std::int64_t d, std::int64_t rank, int n_threads);

}  // namespace fastfs::core
