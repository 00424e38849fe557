// The C interface: errors, versions, the machine, BLAS.
#include <ctime>

#include "capi/abi.hpp"
#include "capi/checks.hpp"
#include "engines/isa/tiles.hpp"
#include "fastfs/testing.h"
#include "support/buffer.hpp"
#include "support/errors.hpp"
#include "support/lapack.hpp"
#include "support/run.hpp"

using namespace fastfs::core;

extern "C" {

const char* fastfs_version(void) { return FASTFS_VERSION; }

int32_t fastfs_abi_version(void) { return FASTFS_ABI_VERSION; }

const char* fastfs_isa(void) {
    const char* name = nullptr;
    attempt([&] { name = isa().name; });
    return name;
}

// Writes the threads and the bytes that a call with this run can take, each unless null.
fastfs_status fastfs_run_limits(const fastfs_run* run_, int32_t* n_threads, int64_t* max_memory) {
    return guarded([&] {
        const auto run = read(run_, FASTFS_RUN_INIT, "run");
        require_array_or_null(n_threads, "n_threads");
        require_array_or_null(max_memory, "max_memory");
        const int threads = thread_count(run.n_threads);
        const std::int64_t bytes = memory_budget(run.max_memory);
        if (n_threads) *n_threads = threads;
        if (max_memory) *max_memory = bytes;
    });
}

fastfs_status fastfs_check_matrix(const fastfs_matrix* X) {
    return guarded([&] { read_matrix(X); });
}

// Writes the CPU time that `repeats` rounds of exp over n numbers of the dtype take to `seconds`.
fastfs_status fastfs_exp_seconds(int32_t dtype, int64_t n, int32_t repeats, double* seconds) {
    return guarded([&] {
        require(n > 0 && repeats > 0 && seconds, "n and repeats must be positive, and seconds not null; got ", n, ", ",
                repeats, " and ", seconds ? "an address" : "null");
        auto measure = [&](auto zero) {
            using T = decltype(zero);
            Buffer<T> x(n);
            for (std::int64_t i = 0; i < n; ++i) x[i] = T(20) * static_cast<T>(i) / static_cast<T>(n);
            const std::clock_t start = std::clock();
            // The result, in [0, 1], is as good an argument as any for the next round.
            for (int r = 0; r < repeats; ++r) tile_kernels<T>().exp_neg(x.data(), n, T(1));
            *seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
        };
        if (dtype == FASTFS_FLOAT32) {
            measure(0.0f);
        } else {
            require(dtype == FASTFS_FLOAT64, "dtype must be FASTFS_FLOAT32 or FASTFS_FLOAT64; got ", dtype);
            measure(0.0);
        }
    });
}

fastfs_status fastfs_register_blas(const fastfs_blas* table) {
    return guarded([&] {
        require(table != nullptr, "the BLAS table must not be null");
        register_blas(*table);
    });
}

}  // extern "C"
