// Loops over tiles on the library's own threads, with BLAS held meanwhile.
#pragma once

#include <cstdint>
#include <functional>

#include "support/run.hpp"

namespace fastfs::core {

// Calls body(index, slot) for every index in [0, n), on at most run.n_threads() threads, the calling one among them.
// slot < n_threads tells the threads apart, for their scratch. Which thread takes an index is open, so a body writes
// only what belongs to its index: results then have the same bits for any number of threads. BLAS is held at one thread.
// The first exception of a body ends the loop and is thrown here.
void parallel_for(Run& run, std::int64_t n, const std::function<void(std::int64_t, int)>& body);

// While alive, BLAS uses at most n threads; of several guards in the process the smallest n counts, and the last one
// to go restores what was there before the first.
class BlasThreads {
  public:
    explicit BlasThreads(int n);
    ~BlasThreads();
    BlasThreads(const BlasThreads&) = delete;
    BlasThreads& operator=(const BlasThreads&) = delete;

  private:
    int n_;
    std::uint64_t generation_;
};

}  // namespace fastfs::core
