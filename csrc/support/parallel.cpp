#include "support/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace fastfs::core {
namespace {

// The thread that made the call for which this helper works.
thread_local std::thread::id served;

struct Loop {
    Loop(Run& run_, std::int64_t n_, LoopBody body_, int helpers)
        : run(run_), n(n_), body(body_), helpers_wanted(helpers) {
        std::fegetenv(&environment);
    }

    Run& run;
    const std::int64_t n;
    const LoopBody body;
    const std::thread::id caller = calling_thread();
    // Of the caller: threads of a program may differ in how they round, in subnormals, and on Windows in the digits of
    // the x87 unit, which OpenBLAS uses. Under one environment the bits don't depend on the number of threads.
    std::fenv_t environment;
    std::atomic<std::int64_t> next{0};
    // Pool::mutex guards the members below.
    int helpers_wanted;
    int helpers_joined = 0;
    int helpers_active = 0;
    std::exception_ptr failure;
    std::int64_t failed_at = 0;
    std::condition_variable helper_left;

    // Works until the indices are used up. Indices are given out in order, so when an index fails, all smaller indices
    // are finished or in progress. They are left to finish, and the failure of the lowest index is kept.
    void work(int slot, std::mutex& mutex) {
        std::int64_t i = 0;
        try {
            while ((i = next.fetch_add(1)) < n) {
                run.checkpoint(share(i, n));
                body(i, slot);
            }
        } catch (...) {
            std::lock_guard lock(mutex);
            if (!failure || i < failed_at) {
                failure = std::current_exception();
                failed_at = i;
            }
            next = n;
        }
    }
};

// Persistent threads that join any loop that still wants helpers. The caller of a loop works on it too, so a loop ends
// even when every helper is busy with another loop, and loops can be nested.
struct Pool {
    std::mutex mutex;
    std::condition_variable loop_waits;
    std::deque<Loop*> loops;
    std::size_t n_workers = 0;

    // Works on loops as they are posted, forever; the body of each thread of the pool.
    void serve() {
        std::unique_lock lock(mutex);
        for (;;) {
            loop_waits.wait(lock, [&] { return !loops.empty(); });
            Loop& loop = *loops.front();
            const int slot = ++loop.helpers_joined;
            ++loop.helpers_active;
            if (--loop.helpers_wanted == 0) loops.pop_front();
            lock.unlock();
            served = loop.caller;
            std::fesetenv(&loop.environment);
            loop.work(slot, mutex);
            served = {};
            lock.lock();
            --loop.helpers_active;
            loop.helper_left.notify_one();
        }
    }

    // Appends a loop to the queue, and starts threads for the helpers that it wants, if the system gives them.
    void post_loop(Loop& loop) {
        std::lock_guard lock(mutex);
        try {
            loops.push_back(&loop);
            for (; n_workers < at(loop.helpers_wanted); ++n_workers) {
                std::thread([this] { serve(); }).detach();
            }
        } catch (const std::system_error&) {  // the system gives no more threads: the existing ones do the work
        } catch (const std::bad_alloc&) {     // nor memory for them
        }
        loop_waits.notify_all();
    }

    // Takes the loop off the queue and waits for its helpers, while the calling thread keeps reporting progress; a
    // cancel becomes the failure of the loop instead of being thrown.
    void finish_loop(Loop& loop) {
        std::unique_lock lock(mutex);
        std::erase(loops, &loop);
        while (loop.helpers_active > 0) {
            loop.helper_left.wait_for(lock, std::chrono::milliseconds(50));
            lock.unlock();
            std::exception_ptr canceled;
            try {
                loop.run.checkpoint();
            } catch (...) {
                canceled = std::current_exception();
                // kept, because the helpers must leave the loop before this function can
            }
            lock.lock();
            if (canceled && !loop.failure) loop.failure = canceled;
        }
    }
};

struct BlasGuardState {
    std::mutex mutex;
    int holders = 0;
    int before = 0;                // the setting to restore; 0: nothing to restore
    std::uint64_t generation = 1;  // counts forks, so that a guard taken in the parent isn't released in the child
};

// The pool and the guard state are never destroyed: workers wait on the pool until the process ends, and a forked
// child, which has no worker, leaves the parent's pool behind for a new one.
Pool* pool = new Pool;
BlasGuardState& guard_state = *new BlasGuardState;

#if !defined(_WIN32)
void before_fork() {
    pool->mutex.lock();
    guard_state.mutex.lock();
}
void after_fork_in_parent() {
    guard_state.mutex.unlock();
    pool->mutex.unlock();
}
void after_fork_in_child() {
    guard_state.holders = 0;  // all holders were other threads; the child's next guard restores `before`
    ++guard_state.generation;
    guard_state.mutex.unlock();
    pool->mutex.unlock();
    pool = new Pool;
}
[[maybe_unused]] const int fork_handlers = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
#endif

}  // namespace

std::thread::id calling_thread() { return served == std::thread::id{} ? std::this_thread::get_id() : served; }

void parallel_for(Run& run, std::int64_t n, LoopBody body) { parallel_for(run, n, kWorkOfThread, body); }

void parallel_for(Run& run, std::int64_t n, double multiplications, LoopBody body) {
    const SingleThreadedBlas held;
    const double worthwhile = static_cast<double>(n) * (multiplications / kWorkOfThread);
    const std::int64_t most = std::min<std::int64_t>(run.n_threads(), n);
    const int helpers = static_cast<int>(std::min(static_cast<double>(most), worthwhile)) - 1;
    if (helpers <= 0) {
        for (std::int64_t i = 0; i < n; ++i) {
            run.checkpoint(share(i, n));
            body(i, 0);
        }
    } else {
        Loop loop(run, n, body, helpers);
        pool->post_loop(loop);
        loop.work(0, pool->mutex);
        pool->finish_loop(loop);
        if (loop.failure) std::rethrow_exception(loop.failure);
    }
    run.checkpoint(1.0);
}

// Sets BLAS to one thread, unless another object holds it there already or the table has no such routine; remembers the
// number before the first holder.
SingleThreadedBlas::SingleThreadedBlas() {
    if (!blas_registered() || !blas().set_num_threads) return;
    std::lock_guard lock(guard_state.mutex);
    generation_ = guard_state.generation;
    if (guard_state.holders++ > 0) return;
    const int now = blas().get_num_threads();
    if (guard_state.before == 0) guard_state.before = now;
    if (now != 1) blas().set_num_threads(1);
}

SingleThreadedBlas::~SingleThreadedBlas() {
    if (generation_ == 0) return;
    std::lock_guard lock(guard_state.mutex);
    if (generation_ != guard_state.generation || --guard_state.holders > 0) return;
    if (guard_state.before != 1) blas().set_num_threads(guard_state.before);
    guard_state.before = 0;
}

}  // namespace fastfs::core
