// Loops over tiles on the library's own threads; BLAS is held at one thread meanwhile.
#pragma once

#include <cstdint>
#include <thread>

#include "support/run.hpp"

namespace fastfs::core {

// A reference to the function that a loop calls; the caller keeps the function alive until the loop ends. std::function
// would copy it into separate memory, which is a good part of a call on 8 x 8 values.
class LoopBody {
  public:
    template <class F>
    LoopBody(const F& body)
        : body_(&body),
          call_([](const void* f, std::int64_t index, int slot) { (*static_cast<const F*>(f))(index, slot); }) {}
    void operator()(std::int64_t index, int slot) const { call_(body_, index, slot); }

  private:
    const void* body_;
    void (*call_)(const void*, std::int64_t, int);
};

// Calls body(index, slot) for every index in [0, n), on at most run.n_threads() threads, the calling one among them.
// slot < n_threads tells the threads apart, for their scratch. Any thread can take any index, so a body writes only to
// the places of its index: results then have equal bits for any number of threads. BLAS is held at one thread. An
// exception of a body ends the loop. This function throws the exception of the lowest index, for any number of threads.
void parallel_for(Run& run, std::int64_t n, LoopBody body);

// The multiplications that are worth waking a thread, some 40 us of products with vectors (30 GFLOP/s of AVX-512).
constexpr double kWorkOfThread = 1e6;

// Calls body for every index in [0, n) as above, on at most one thread for each kWorkOfThread of the loop, in which an
// index takes `multiplications`: for loops that follow each other by the thousand and can be short.
void parallel_for(Run& run, std::int64_t n, double multiplications, LoopBody body);

// Returns the thread that made the call for which this thread works. It differs from the running thread only in the
// library's own threads.
std::thread::id calling_thread();

// Holds BLAS at the thread that calls it while an object of this class is alive; the last object to go restores the
// number of threads from before the first. BLAS threads wait for each other in thousands of short calls: dsyevd at n =
// 2000 on 2 cores takes 0.64 s instead of 1.17 s with two of them when the machine is idle, but all of exact ManiFeSt
// took 24 s instead of 3 when it was busy. So work that is worth threads is cut into tiles here, and results have equal
// bits for any number of threads in LAPACK's part too.
class SingleThreadedBlas {
  public:
    SingleThreadedBlas();
    ~SingleThreadedBlas();
    SingleThreadedBlas(const SingleThreadedBlas&) = delete;
    SingleThreadedBlas& operator=(const SingleThreadedBlas&) = delete;

  private:
    std::uint64_t generation_ = 0;  // 0: nothing to release
};

}  // namespace fastfs::core
