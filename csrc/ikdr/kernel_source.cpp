#include "ikdr/kernel_source.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "support/buffer.hpp"
#include "support/errors.hpp"
#include "support/lapack.hpp"

namespace fastfs::core {
namespace {

Message place(std::int64_t i, std::int64_t j) { return {Name::row(i), ", ", Name::column(j)}; }

// Throws unless K (n x n) is finite, symmetric, semidefinite and not zero, with 1 on its diagonal if unit_diagonal is
// set.
void require_kernel(const double* K, std::int64_t n, const Name& name, bool unit_diagonal, Run& run) {
    double largest = 0, trace = 0;
    for (std::int64_t e = 0; e < n * n; ++e) {
        require(std::isfinite(K[e]), name, " must not contain NaN or infinity; got ", K[e], " in ", place(e / n, e % n),
                ": fix the value or drop the sample");
        largest = std::max(largest, std::abs(K[e]));
    }
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < i; ++j) {
            const double above = K[j * n + i], difference = K[i * n + j] - above;
            require(std::abs(difference) <= 1e-8 * largest, name, " must be symmetric; got ", above, " in ",
                    place(j, i), " and ", difference, " more in ", place(i, j),
                    ": if that is rounding, take its mean with its transpose");
        }
        const double self_value = K[i * n + i];
        trace += self_value;
        require(!unit_diagonal || std::abs(self_value - 1) <= 1e-8, "the diagonal of ", name,
                " must be 1 for the distance term; got ", self_value, " in ", Name::row(i),
                ": divide rows and columns by the roots of the diagonal");
    }
    run.checkpoint();
    Buffer<double> factor(n * n);
    std::copy_n(K, n * n, factor.data());
    for (std::int64_t i = 0; i < n; ++i) factor[i * n + i] += 1e-8 * trace;
    require(trace > 0 && potrf_lower(n, factor.data(), n), name,
            " must be positive semidefinite and not zero; got a negative eigenvalue, or zeros: add a number to its "
            "diagonal, or choose another kernel");
}

}  // namespace

void require_kernels(const KernelSource& source, bool unit_diagonal, Run& run) {
    if (!source.matrices || run.is_question()) return;  // the fit asks for more memory than this
    const std::int64_t size = source.n_samples * source.n_samples;
    run.require_memory(8 * size, {"the check of kernels between ", source.n_samples, " samples"});
    for (std::int64_t m = 0; m < source.n_kernels; ++m) {
        require_kernel(source.matrices + m * size, source.n_samples, Name::kernel(m), unit_diagonal, run);
    }
}

}  // namespace fastfs::core
