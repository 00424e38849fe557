#include "support/lapack.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "support/buffer.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"

namespace fastfs::core {
namespace {

using blas_int = fastfs_blas_int;
constexpr int kIntegerBits = 8 * sizeof(blas_int);

std::mutex registration;
std::atomic<const fastfs_blas*> registered{nullptr};

blas_int narrow(std::int64_t n) {
    require(n >= 0 && n <= std::numeric_limits<blas_int>::max(), "sizes must fit the ", kIntegerBits,
            "-bit integers of this BLAS; got ", n, ": give fewer rows or columns, or link a BLAS of 64-bit integers");
    return static_cast<blas_int>(n);
}

void check(blas_int info, const char* routine) {
    if (info != 0)
        throw NumericError({routine, " of LAPACK failed with info = ", info, ": scale the data, or link another BLAS"});
}

// Calls routine(work, lwork) twice: the first call returns the best length of the workspace, the second one works.
template <class F>
void with_workspace(F&& routine) {
    blas_int lwork = -1;
    double best = 0;
    routine(&best, &lwork);
    lwork = narrow(static_cast<std::int64_t>(best));
    Buffer<double> work(lwork);
    routine(work.data(), &lwork);
}

// Returns the length of the routines' integers without trusting the table: on little-endian machines both kinds read
// the 64 bits of 1 as 1, but the shorter kind overwrites only half of the -1 that it is given to write 0 to.
int integer_bits(const fastfs_blas& table) {
    if constexpr (std::endian::native != std::endian::little) return kIntegerBits;
    alignas(std::int64_t) unsigned char one[8] = {1}, info[8];
    std::memset(info, 0xff, sizeof info);
    const auto* n = reinterpret_cast<const blas_int*>(one);
    double A = 1;
    table.dpotrf("L", n, &A, n, reinterpret_cast<blas_int*>(info));
    return info[7] == 0 ? 64 : 32;
}

}  // namespace

void register_blas(const fastfs_blas& table) {
    // A newer header's table may have more routines than are called here.
    require(table.struct_size >= sizeof(fastfs_blas) && table.struct_size <= 4096, "the BLAS table must have ",
            sizeof(fastfs_blas), " bytes or more; got ", table.struct_size,
            ": compile the program with the header of this fastfs");
    fastfs_blas known = table;
    known.struct_size = sizeof known;
    const std::string calls = "this fastfs calls BLAS with " + std::to_string(kIntegerBits) + "-bit integers, but ";
    require(table.integer_bits == kIntegerBits, calls, "the table says ", table.integer_bits,
            ": link a BLAS with such integers");
    require(table.sgemm && table.dgemm && table.dsyrk && table.dsymv && table.dtrmm && table.dpotrf && table.dpocon &&
                table.dsygst && table.dtrsm && table.dsytrd && table.dstedc && table.dsteqr && table.dsyevr,
            "fastfs_blas must have every routine of the header; got an empty entry: set all thirteen");
    require(!table.set_num_threads == !table.get_num_threads,
            "the BLAS table must have both set_num_threads and get_num_threads, or neither; got one: set the other");
    std::lock_guard lock(registration);
    if (const fastfs_blas* old = registered.load()) {
        if (std::memcmp(old, &known, sizeof known) == 0) return;
        throw AlreadyRegistered("another BLAS is registered in this process already: it stays and serves all callers");
    }
    const int bits = integer_bits(table);
    require(bits == kIntegerBits, calls, "the routines of the table have ", bits, "-bit ones: link the ",
            kIntegerBits == 32 ? "LP64" : "ILP64", " build of that BLAS");
    registered = new fastfs_blas(known);  // never freed
}

bool blas_registered() { return registered.load() != nullptr; }

const fastfs_blas& blas() {
    const fastfs_blas* table = registered.load(std::memory_order_acquire);
    require(table != nullptr,
            "no BLAS is registered: call fastfs_register_blas, fastfs_link_blas of link_blas.h, or fastfs.link_blas() "
            "in Python");
    return *table;
}

void gemm(char ta, char tb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const float* A,
          std::int64_t lda, const float* B, std::int64_t ldb, float beta, float* C, std::int64_t ldc) {
    const blas_int m_ = narrow(m), n_ = narrow(n), k_ = narrow(k);
    const blas_int lda_ = narrow(lda), ldb_ = narrow(ldb), ldc_ = narrow(ldc);
    blas().sgemm(&ta, &tb, &m_, &n_, &k_, &alpha, A, &lda_, B, &ldb_, &beta, C, &ldc_);
}

void gemm(char ta, char tb, std::int64_t m, std::int64_t n, std::int64_t k, double alpha, const double* A,
          std::int64_t lda, const double* B, std::int64_t ldb, double beta, double* C, std::int64_t ldc) {
    const blas_int m_ = narrow(m), n_ = narrow(n), k_ = narrow(k);
    const blas_int lda_ = narrow(lda), ldb_ = narrow(ldb), ldc_ = narrow(ldc);
    blas().dgemm(&ta, &tb, &m_, &n_, &k_, &alpha, A, &lda_, B, &ldb_, &beta, C, &ldc_);
}

void syrk_lower(char ta, std::int64_t n, std::int64_t k, double alpha, const double* A, std::int64_t lda, double beta,
                double* C, std::int64_t ldc) {
    const blas_int n_ = narrow(n), k_ = narrow(k), lda_ = narrow(lda), ldc_ = narrow(ldc);
    blas().dsyrk("L", &ta, &n_, &k_, &alpha, A, &lda_, &beta, C, &ldc_);
}

void symv_lower(std::int64_t n, const double* A, std::int64_t lda, const double* x, double* y) {
    const blas_int n_ = narrow(n), lda_ = narrow(lda), one = 1;
    const double alpha = 1, beta = 0;
    blas().dsymv("L", &n_, &alpha, A, &lda_, x, &one, &beta, y, &one);
}

void trmm_lower(std::int64_t n, std::int64_t m, const double* L, std::int64_t ldl, double* B, std::int64_t ldb) {
    const blas_int n_ = narrow(n), m_ = narrow(m), ldl_ = narrow(ldl), ldb_ = narrow(ldb);
    const double alpha = 1;
    blas().dtrmm("L", "L", "N", "N", &n_, &m_, &alpha, L, &ldl_, B, &ldb_);
}

bool potrf_lower(std::int64_t n, double* A, std::int64_t lda) {
    const blas_int n_ = narrow(n), lda_ = narrow(lda);
    blas_int info = 0;
    blas().dpotrf("L", &n_, A, &lda_, &info);
    if (info < 0) check(info, "dpotrf");
    return info == 0;
}

double pocon_lower(std::int64_t n, const double* L, double norm1) {
    const blas_int n_ = narrow(n);
    blas_int info = 0;
    double rcond = 0;
    Buffer<double> work(3 * n);
    Buffer<blas_int> iwork(n);
    blas().dpocon("L", &n_, L, &n_, &norm1, &rcond, work.data(), iwork.data(), &info);
    check(info, "dpocon");
    return rcond;
}

void sygst_lower(std::int64_t n, double* A, const double* L, std::int64_t ld) {
    const blas_int n_ = narrow(n), ld_ = narrow(ld), itype = 1;
    blas_int info = 0;
    blas().dsygst(&itype, "L", &n_, A, &ld_, L, &ld_, &info);
    check(info, "dsygst");
}

void trsm(char triangle, std::int64_t n, std::int64_t m, const double* T, std::int64_t ldt, double* B,
          std::int64_t ldb) {
    const blas_int n_ = narrow(n), m_ = narrow(m), ldt_ = narrow(ldt), ldb_ = narrow(ldb);
    const double alpha = 1;
    blas().dtrsm("L", &triangle, "N", "N", &n_, &m_, &alpha, T, &ldt_, B, &ldb_);
}

void trsm_right(char transposed, std::int64_t m, std::int64_t n, const double* L, std::int64_t ldl, double* B,
                std::int64_t ldb) {
    const blas_int m_ = narrow(m), n_ = narrow(n), ldl_ = narrow(ldl), ldb_ = narrow(ldb);
    const double alpha = 1;
    blas().dtrsm("R", "L", &transposed, "N", &m_, &n_, &alpha, L, &ldl_, B, &ldb_);
}

void sytrd_lower(std::int64_t n, double* A, std::int64_t lda, double* d, double* e, double* tau) {
    const blas_int n_ = narrow(n), lda_ = narrow(lda);
    with_workspace([&](double* work, const blas_int* lwork) {
        blas_int info = 0;
        blas().dsytrd("L", &n_, A, &lda_, d, e, tau, work, lwork, &info);
        check(info, "dsytrd");
    });
}

void stedc(std::int64_t n, double* d, double* e, double* Z, std::int64_t ldz) {
    const blas_int n_ = narrow(n), ldz_ = narrow(ldz);
    // LAPACK's documented minima.
    const blas_int lwork = narrow(1 + 4 * n + n * n), liwork = narrow(3 + 5 * n);
    Buffer<double> work(lwork);
    Buffer<blas_int> iwork(liwork);
    const std::vector<double> diagonal(d, d + n), off_diagonal(e, e + n - 1);
    blas_int info = 0;
    blas().dstedc("I", &n_, d, e, Z, &ldz_, work.data(), &lwork, iwork.data(), &liwork, &info);
    // A secular equation didn't converge, among clustered eigenvalues: QR iteration is slow but sure.
    if (info > 0) {
        std::copy(diagonal.begin(), diagonal.end(), d);
        std::copy(off_diagonal.begin(), off_diagonal.end(), e);
        blas().dsteqr("I", &n_, d, e, Z, &ldz_, work.data(), &info);
        check(info, "dsteqr");
    }
    check(info, "dstedc");
}

void eigh_range_lower(std::int64_t n, double* A, std::int64_t first, std::int64_t last, double* w, double* V) {
    const blas_int n_ = narrow(n), il = narrow(first + 1), iu = narrow(last + 1);
    const double unused = 0, tolerance = 0;
    const bool all = last - first + 1 == n;
    blas_int n_found = 0, info = 0, lwork = -1, liwork = -1;
    double best_work = 0;
    blas_int best_iwork = 0;
    Buffer<double> all_w(n);  // LAPACK uses all n entries even for a range
    Buffer<blas_int> support(2 * n);
    auto call = [&](double* work, blas_int* iwork) {
        blas().dsyevr("V", all ? "A" : "I", "L", &n_, A, &n_, &unused, &unused, &il, &iu, &tolerance, &n_found,
                      all_w.data(), V, &n_, support.data(), work, &lwork, iwork, &liwork, &info);
        check(info, "dsyevr");
    };
    call(&best_work, &best_iwork);
    lwork = static_cast<blas_int>(best_work);
    liwork = best_iwork;
    Buffer<double> work(lwork);
    Buffer<blas_int> iwork(liwork);
    call(work.data(), iwork.data());
    if (n_found != last - first + 1)
        throw NumericError(
            "dsyevr of LAPACK found fewer eigenpairs than asked for: scale the data, or link another BLAS");
    std::memcpy(w, all_w.data(), sizeof(double) * at(n_found));
}

}  // namespace fastfs::core
