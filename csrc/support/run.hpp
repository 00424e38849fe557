// The execution of one call: its threads, its memory budget, its progress and its cancellation.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

#include "fastfs/fastfs.h"
#include "support/errors.hpp"

namespace fastfs::core {

int thread_count(int requested);
// Returns the bytes that a call may take: those requested or, for 0, FASTFS_MAX_MEMORY or else the memory that is
// available now. Throws InvalidArgument if requested is negative or the variable isn't a number of bytes.
std::int64_t memory_budget(std::int64_t requested);

// The exception that ends a call which only asks for its memory (fastfs_run.bytes_needed) once that is known. Not an
// error.
struct Answered {};

// Returns i / n, the finished share of a loop or call.
inline double share(std::int64_t i, std::int64_t n) { return static_cast<double>(i) / static_cast<double>(n); }

class Run {
    // Shares of the call, from 0 to 1.
    struct Shares {
        double whole_begin = 0, whole_end = 1;  // the part that steps divide
        double begin = 0, end = 0;              // the step, or a part before its first step: what loops divide
        double next = 0;                        // where the next step starts
    };

  public:
    explicit Run(const fastfs_run& options);

    int n_threads() const { return n_threads_; }
    std::int64_t max_memory() const { return options_.max_memory; }  // 0: the default

    // Tests if the caller only asks how much memory the call would take.
    bool is_question() const { return options_.bytes_needed != nullptr; }

    // Throws OutOfMemory, before anything is allocated, if `bytes` exceed the budget; the message is `what`, the bytes,
    // and `advice`. If the call is a question, notes the bytes and throws Answered instead: a method that asks for
    // memory in several places first asks for the sum of them then.
    void require_memory(std::int64_t bytes, const Message& what,
                        std::string_view advice = "give fewer samples or features") const;

    bool allows(std::int64_t bytes) const;

    // Names the step that starts now and the share of the call that it will have finished at its end. On another
    // thread, where loops may be nested, it is a checkpoint, and a Part does nothing.
    void step(const char* name, double end);

    // A share of the running step. While this object is alive, steps and loops in the share run from 0 to 1.
    class Part {
      public:
        Part(Run& run, double begin, double end);
        ~Part();
        Part(const Part&) = delete;
        Part& operator=(const Part&) = delete;

      private:
        Run& run_;
        bool counts_;
        Shares outer_;
    };

    // Throws Canceled once the call is to stop; any thread may call it often. On the calling thread it also reports
    // progress, at most 20 times a second; `done` is the finished share of the running step or part.
    void checkpoint(double done);
    void checkpoint();  // without a new share

  private:
    void report_if_due();

    fastfs_run options_;
    int n_threads_;
    std::thread::id caller_ = std::this_thread::get_id();
    std::atomic<bool> stop_{false};
    const char* step_ = "starting";
    // The calling thread alone uses the members below. A step may hold several loops, which count from zero each: the
    // reported share never decreases.
    Shares shares_;
    double done_ = 0;
    std::chrono::steady_clock::time_point last_report_;  // or the start of a call that reports
};

}  // namespace fastfs::core
