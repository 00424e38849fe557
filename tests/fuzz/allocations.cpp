// Each call of the fuzzer's groups, again and again, without its first block of memory, its second, and so on to the
// last: it must end with FASTFS_ENOMEM, or go on without that block to the same results, leave the handle that it
// changes as it was, and lose nothing, which the leak sanitizer tells.
#include <sanitizer/lsan_interface.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <string>

// The symbols of the scipy-openblas32 wheel.
#define FASTFS_BLAS_SYMBOL(name) scipy_##name##_
#define FASTFS_BLAS_SET_THREADS scipy_openblas_set_num_threads
#define FASTFS_BLAS_GET_THREADS scipy_openblas_get_num_threads

#include "call.hpp"
#include "fastfs/fastfs.h"
#include "fastfs/link_blas.h"

namespace {

std::atomic<std::int64_t> left{-1};  // blocks until one can't be had; -1: all can

void* take(std::size_t size, std::size_t alignment) {
    if (left >= 0 && left.fetch_sub(1) == 0) return nullptr;
    return std::aligned_alloc(alignment, (size + alignment) / alignment * alignment);
}

void* must_take(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) {
    void* p = take(size, alignment);
    if (p == nullptr) throw std::bad_alloc();
    return p;
}

}  // namespace

void* operator new(std::size_t size) { return must_take(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    return must_take(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return take(size, alignof(std::max_align_t)); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace fuzz {

namespace {

struct Tally {
    std::int64_t calls = 0, missing = 0, harmless = 0, cut_short = 0;
};
std::map<std::string, Tally> tallies;

}  // namespace

fastfs_status attempt(Input& in, const Call& c) {
    in.byte();  // where the fuzzer chooses how
    Tally& tally = tallies[c.name];
    ++tally.calls;
    fastfs_run run = FASTFS_RUN_INIT;
    run.n_threads = 1;
    c.again();
    const fastfs_status status = c.call(&run);
    const Bytes result = c.result();
    for (const int n_threads : {1, 2}) {
        if (n_threads > 1 && !c.takes_run) break;
        run.n_threads = n_threads;
        const auto start = std::chrono::steady_clock::now();
        for (std::int64_t n = 0;; ++n) {
            c.again();
            const Bytes before = c.changes_handle ? c.result() : Bytes();
            left = n;
            const fastfs_status now = c.call(&run);
            const bool was_short = left.exchange(-1) < 0;
            const std::string where = " without block " + std::to_string(n);
            if (now == FASTFS_OK || now == status) {
                expect(now == status, c.name, "it succeeds" + where + ", and fails with it");
                expect(now != FASTFS_OK || c.result() == result, c.name, "other results" + where);
                if (!was_short) break;
                ++tally.harmless;
            } else {
                expect(now == FASTFS_ENOMEM && was_short, c.name,
                       "status " + std::to_string(now) + where + ": " + fastfs_last_error());
            }
            if (c.changes_handle && now != FASTFS_OK) expect(c.result() == before, c.name, "another handle" + where);
            ++tally.missing;
            if (std::chrono::steady_clock::now() - start > std::chrono::seconds(20)) {
                ++tally.cut_short;
                break;
            }
        }
    }
    run.n_threads = 1;
    c.again();
    c.call(&run);
    return status;
}

}  // namespace fuzz

// allocations N SEED [GROUP]: N inputs for each group.
int main(int argc, char** argv) {
    const std::int64_t n_inputs = argc > 1 ? std::atoll(argv[1]) : 40;
    const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    setenv("FASTFS_MAX_MEMORY", "512M", 1);
    if (fastfs_link_blas() != FASTFS_OK || fastfs_isa() == nullptr) fuzz::stop("main", fastfs_last_error());
    for (const auto& group : fuzz::kGroups) {
        if (argc > 3 && std::string(argv[3]) != group.name) continue;
        for (std::int64_t k = 0; k < n_inputs; ++k) {
            fuzz::Random random(seed * 1000003 + static_cast<std::uint64_t>(k));
            std::vector<std::uint8_t> bytes(600);
            for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random.word());
            fuzz::Input in(bytes.data(), bytes.size());
            std::fprintf(stderr, "%s %lld\r", group.name, static_cast<long long>(k));
            group.run(in);
            if (__lsan_do_recoverable_leak_check() != 0) {
                fuzz::stop(group.name, "input " + std::to_string(k) + " of seed " + std::to_string(seed) + " leaks");
            }
        }
    }
    std::printf("%-36s %8s %14s %9s %10s\n", "function", "calls", "missing blocks", "harmless", "cut short");
    for (const auto& [name, tally] : fuzz::tallies) {
        std::printf("%-36s %8lld %14lld %9lld %10lld\n", name.c_str(), static_cast<long long>(tally.calls),
                    static_cast<long long>(tally.missing), static_cast<long long>(tally.harmless),
                    static_cast<long long>(tally.cut_short));
    }
    return 0;
}
