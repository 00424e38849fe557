// Step 2 of ProjSe: kernels between variables, from the sums over the rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "fastfs/fastfs.h"
#include "projse/columns.hpp"
#include "support/index.hpp"

namespace fastfs::core {

// Columns as the kernel uses them, centred or not.
struct Variables {
    const ProjseColumns* columns = nullptr;
    Numbers norms;  // squared
    Numbers scale;  // of kernel values: 1 / sqrt(k(x, x)), 1, or 0 for a column without values
    std::int64_t n_zero = 0;

    Variables() = default;
    Variables(const ProjseColumns& c, const Name& matrix, std::int64_t n_rows, bool center);
};

// Returns |a - b|^2 from inner products. The two squares can add up to more than the largest number while their
// distance is 0.
inline double squared_distance(double aa, double bb, double ab) { return std::max((aa - ab) + (bb - ab), 0.0); }

// Throws if all variables are without values.
void require_candidates(const Variables& v, const Name& matrix, bool center);

struct VariableKernel {
    const fastfs_projse_options& o;
    double n_rows;
    double sigma = 0;

    bool uses_distances() const { return o.custom || o.kernel == FASTFS_RBF; }
    bool linear() const { return !o.custom && o.kernel == FASTFS_LINEAR; }

    static void require_self(std::int64_t j, double value);

    // Sets v.scale so that the kernel has a unit diagonal, if the options ask for it and it hasn't anyway.
    void normalize_variables(Variables& v) const;

    // Replaces the centred inner products of all targets t with candidates s0 .. s0 + w - 1 in `tile` (n_t x w,
    // column-major) by squared distances.
    void to_squared_distances(double* tile, std::int64_t n_t, std::int64_t w, const Variables& t, const Variables& s,
                              std::int64_t s0) const;

    // Replaces centred inner products of all targets t with candidates s0 .. s0 + w - 1 (column-major, n_t x w) by
    // kernel values, times the scales of both. same: the targets are the candidates.
    void to_kernel_values(double* tile, std::int64_t n_t, std::int64_t w, const Variables& t, const Variables& s,
                          std::int64_t s0, bool same) const;

  private:
    // Replaces squared distances by values of the caller's kernel. Throws if they aren't symmetric: compared within the
    // tile if `same` (s is t), else for the first columns (s0 = 0) by a second call in exchanged order.
    void call_custom(double* tile, std::int64_t n_t, std::int64_t w, const Variables& t, const Variables& s,
                     std::int64_t s0, bool same) const;
};

// Returns sigma by its rule: given, from the number of rows, or the mean distance over all pairs, including a target
// with itself, as in the authors' scripts. Returns 0 for a kernel without sigma.
double choose_sigma(const fastfs_projse_options& o, std::int64_t n_rows, const std::function<double()>& mean_distance);

}  // namespace fastfs::core
