// The kernels that are compiled once per instruction set, and the choice between them at run time.
#pragma once

#include <cstdint>

namespace fastfs::core {

// Row-major tiles: row a starts at tile + a * ld. Squared distances come from a Gram tile G as n_a + n_b - 2 G_ab; where
// that is at most tolerance * (n_a + n_b), cancellation has eaten the digits and the kernel leaves a mark instead, for
// the caller to replace. Each returns the number of marks.
template <class T>
struct TileKernels {
    static constexpr T kMarkedDistance = T(-1);
    static constexpr T kMarkedAffinity = T(2);

    // G -> squared distances
    std::int64_t (*sqdist)(T* tile, std::int64_t ld, std::int64_t rows, std::int64_t cols, const T* row_norms,
                           const T* col_norms, T tolerance);
    // G -> exp(-scale * squared distance)
    std::int64_t (*rbf)(T* tile, std::int64_t ld, std::int64_t rows, std::int64_t cols, const T* row_norms,
                        const T* col_norms, T tolerance, T scale);
    // x -> exp(-scale * x), for x >= 0
    void (*exp_neg)(T* x, std::int64_t n, T scale);
};

struct Isa {
    const char* name;
    TileKernels<float> f32;
    TileKernels<double> f64;
};

// The best set that this machine has, or the one that FASTFS_ISA names; throws InvalidArgument if it has not.
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

}  // namespace fastfs::core
