// Domains of ManiFeSt with a stand-in for the features outside them.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "engines/affinity.hpp"
#include "engines/columns.hpp"
#include "manifest/low_rank.hpp"
#include "manifest/problem.hpp"
#include "support/buffer.hpp"

namespace fastfs::core {

// A scaled kernel, which is taken from landmarks outside of domains.
template <class T>
struct SideKernel {
    const Features<T>& features;
    Kernel kernel;
    const char* name;
    Landmarks landmarks;
};

// Stand-in for the features outside a domain: the span of leading eigenvectors of both kernels over all features, and
// both kernels on it.
struct Outside {
    std::int64_t q, ld;
    Buffer<double> V;                       // d x q, row-major with rows ld apart, with orthonormal columns
    std::array<Buffer<double>, 2> VK, VrV;  // V' diag(g) k(x, landmarks), q x n; V' diag(rest) V, q x q; column-major
};

// Returns an orthonormal basis V (d x q) of the k leading eigenvectors of both kernels over all features, and both
// kernels on it. It stands for the features outside any one domain. `spans` have k or more eigenvectors, or
// fewer if a kernel has a lower rank.
template <class T>
Outside joint_span(const std::array<SideKernel<T>, 2>& sides, const std::array<LowRank, 2>& spans, std::int64_t k,
                   Run& run);

// Returns a copy of the rows B of V, |B| x q.
Buffer<double> take_rows(const Outside& outside, std::span<const std::int64_t> B);

// Returns an outcome with the rank, the steepest nu and the scores of a domain's features B, in their order, followed
// by the scores of directions outside, computed in the span of B and of V; VB: the rows of V in B.
template <class T>
Outcome solve_domain(std::span<const std::int64_t> B, const Buffer<double>& VB,
                     const std::array<SideKernel<T>, 2>& sides, const Outside& outside, Run& run);

}  // namespace fastfs::core
