// How one call runs: its threads, its memory budget, its progress and its cancellation.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

#include "fastfs/fastfs.h"

namespace fastfs::core {

int thread_count(int requested);
std::int64_t memory_budget(std::int64_t requested);

// Ends a call that is a question (fastfs_run.bytes_needed) once it has its answer. Not an error.
struct Answered {};

class Run {
  public:
    explicit Run(const fastfs_run& options);

    int n_threads() const { return n_threads_; }

    // Whether the caller only wants to know what the call would take.
    bool is_question() const { return options_.bytes_needed != nullptr; }

    // Throws OutOfMemory, before anything is allocated, if `bytes` exceed the budget; `what` starts the sentence and
    // `advice` ends it. Answers a question: a method that asks for memory in several places gives the sum of them first
    // if the call is one.
    void require_memory(std::int64_t bytes, std::string_view what, std::string_view advice) const;

    bool allows(std::int64_t bytes) const;

    // Names the step that starts now and the share of the call that it will have finished at its end.
    void step(const char* name, double end);

    // While it is alive, loops count from `begin` to `end` of the running step, or of the part that it is in.
    class Part {
      public:
        Part(Run& run, double begin, double end);
        ~Part();
        Part(const Part&) = delete;
        Part& operator=(const Part&) = delete;

      private:
        Run& run_;
        bool counts_;
        double begin_ = 0, end_ = 0;
    };

    // From any thread, often: throws Canceled once the call is to stop. On the calling thread it also reports, at most
    // 20 times a second; `done` is the finished share of the running step.
    void checkpoint(double done);
    void checkpoint();  // no news of the share

  private:
    void report_if_due();

    fastfs_run options_;
    int n_threads_;
    std::thread::id caller_ = std::this_thread::get_id();
    std::atomic<bool> stop_{false};
    const char* step_ = "starting";
    // The calling thread's alone, as all below. A step may hold several loops, each of which counts from 0: what is
    // reported never goes back.
    double begin_ = 0, end_ = 0, done_ = 0;
    double part_begin_ = 0, part_end_ = 1;
    std::chrono::steady_clock::time_point last_report_;  // or the start of a call that reports
};

}  // namespace fastfs::core
