// The fuzzer of the C interface: the first byte chooses functions, the others are what these get.
#include <cstdio>
#include <string>

// The symbols of the scipy-openblas32 wheel.
#define FASTFS_BLAS_SYMBOL(name) scipy_##name##_
#define FASTFS_BLAS_SET_THREADS scipy_openblas_set_num_threads
#define FASTFS_BLAS_GET_THREADS scipy_openblas_get_num_threads

#include "call.hpp"
#include "fastfs/fastfs.h"
#include "fastfs/link_blas.h"

namespace fuzz {

void begin() {
    setenv("FASTFS_MAX_MEMORY", "512M", 1);
    if (fastfs_link_blas() != FASTFS_OK) stop("fastfs_register_blas", fastfs_last_error());
    if (fastfs_isa() == nullptr) stop("fastfs_isa", fastfs_last_error());
}

namespace {

// Each failure leaves one sentence.
void check_status(const Call& c, fastfs_status status) {
    if (status == FASTFS_OK) return;
    const std::string message = fastfs_last_error();
    expect(
        status == FASTFS_EINVAL || status == FASTFS_ENOMEM || status == FASTFS_ENUMERIC || status == FASTFS_ECANCELED,
        c.name, "status " + std::to_string(status) + ": " + message);
    expect(message.size() > 10 && message.find('\n') == std::string::npos && message.find(". ") == std::string::npos,
           c.name, "no sentence: '" + message + "'");
    expect(message.find("the system gave no more memory") == std::string::npos, c.name,
           "more memory than the budget: " + message);
}

int cancel(void*, const char*, double) { return 1; }

// What the question answers is enough for the call.
void ask(const Call& c, int n_threads) {
    c.again();
    const Bytes before = c.result();
    std::int64_t needed = -1;
    fastfs_run run = FASTFS_RUN_INIT;
    run.n_threads = n_threads;
    run.bytes_needed = &needed;
    const fastfs_status answer = c.call(&run);
    check_status(c, answer);
    expect(c.result() == before, c.name, "a question of bytes_needed has touched results");
    if (answer != FASTFS_OK || needed <= 0) return;
    run.bytes_needed = nullptr;
    run.max_memory = needed;
    c.again();
    const fastfs_status status = c.call(&run);
    check_status(c, status);
    expect(status != FASTFS_ENOMEM, c.name, std::string("the answer is too low: ") + fastfs_last_error());
}

}  // namespace

fastfs_status attempt(Input& in, const Call& c) {
    static const bool traces = std::getenv("FASTFS_FUZZ_TRACE") != nullptr;
    const std::uint8_t how = in.byte();
    if (traces) std::fprintf(stderr, "%s, tried by %d\n", c.name, how);
    fastfs_run run = FASTFS_RUN_INIT;
    if (c.takes_run && (how & 3) == 1) ask(c, 1 + (how >> 2 & 1));
    if (c.takes_run && (how & 7) == 2) {
        run.max_memory = std::int64_t{1} << in.below(24);
        c.again();
        const Bytes before = c.result();
        const fastfs_status status = c.call(&run);
        check_status(c, status);
        if (c.changes_handle && status != FASTFS_OK) {
            expect(c.result() == before, c.name, "a failure has changed the handle");
        }
        run.max_memory = 0;
    }
    if (c.takes_run && (how & 15) == 6) {
        run.progress = cancel;
        c.again();
        check_status(c, c.call(&run));
        run.progress = nullptr;
    }
    fastfs_status several = FASTFS_OK;
    Bytes of_several;
    const bool compare = c.takes_run && (how & 3) != 0;
    if (compare) {
        run.n_threads = 2 + (how >> 4 & 1);
        c.again();
        several = c.call(&run);
        of_several = c.result();
    }
    run.n_threads = 1;
    c.again();
    const Bytes before = c.changes_handle ? c.result() : Bytes();
    const fastfs_status status = c.call(&run);
    if (traces) std::fprintf(stderr, "  status %d: %s\n", status, status == FASTFS_OK ? "" : fastfs_last_error());
    check_status(c, status);
    if (c.changes_handle && status != FASTFS_OK) {
        expect(c.result() == before, c.name, "a failure has changed the handle");
    }
    if (compare) {
        expect(several == status, c.name, "threads change the status");
        expect(status != FASTFS_OK || of_several == c.result(), c.name, "threads change the bits");
    }
    return status;
}

}  // namespace fuzz

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    fuzz::begin();
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    static const char* const only = std::getenv("FASTFS_FUZZ");  // the name of a group, to look at it alone
    if (size == 0) return 0;
    const auto& group = fuzz::kGroups[bytes[0] % std::size(fuzz::kGroups)];
    if (only != nullptr && std::string(only) != group.name) return -1;
    fuzz::Input in(bytes + 1, size - 1);
    group.run(in);
    return 0;
}
