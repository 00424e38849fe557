// Handles of the C interface: their kind, and calls that take turns on one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "capi/abi.hpp"
#include "support/errors.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {

// A variable with an address that distinguishes handles of one type from all others.
template <class Data>
inline char kind_of_handle = 0;

// The start of each handle. `name` is the name of its type in messages.
template <class Data>
struct Handle {
    using Content = Data;

    template <class... Arguments>
    explicit Handle(Arguments&&... of_data) : data(std::forward<Arguments>(of_data)...) {}

    const void* const kind = &kind_of_handle<Data>;
    Data data;
    mutable std::mutex mutex;
    mutable std::atomic<std::thread::id> user{};  // the thread of the call that holds the mutex
};

// Throws InvalidArgument unless `handle` is a handle of its type. argument: its name in the function's declaration.
template <class H>
H& require_handle(H* handle, const char* argument) {
    require(handle != nullptr, argument, " must not be null");
    require(handle->kind == &kind_of_handle<typename H::Content>, argument, " must be a ", H::kType,
            "; got a handle of another type, or a freed one");
    return *handle;
}

// A call's exclusive use of a handle: other calls wait while it is alive. Refuses a call from within a call that has
// the handle, which would wait for ever, and a handle that a failed update left halfway.
template <class H>
class Use {
  public:
    // Locks the handle for the calling thread; throws if it is null, in use by this thread, or broken.
    Use(H* handle, const char* argument) : handle_(require_handle(handle, argument)) {
        require_free(handle_, argument);
        handle_.mutex.lock();
        handle_.user.store(calling_thread(), std::memory_order_relaxed);
        if constexpr (requires { handle_.data->require_intact(); }) {
            try {
                handle_.data->require_intact();
            } catch (...) {
                release();
                throw;
            }
        }
    }
    ~Use() { release(); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    auto& operator*() const { return handle_.data; }
    auto* operator->() const { return &handle_.data; }

    // Throws InvalidArgument if the call of this thread has the handle.
    static void require_free(H& handle, const char* argument) {
        require(handle.user.load(std::memory_order_relaxed) != calling_thread(), argument,
                " must not be used by the progress callback or the kernel of a call that works on it: use it when "
                "that call has returned");
    }

  private:
    void release() {
        handle_.user.store({}, std::memory_order_relaxed);
        handle_.mutex.unlock();
    }

    H& handle_;
};

// Calls f(data, other data) with the contents of two different handles, which are locked by their addresses, so that
// two calls can't wait for each other.
template <class H, class F>
void use_both(H* handle, const H* other, const char* argument, F&& f) {
    require_handle(handle, argument);
    require_handle(other, "other");
    require(handle != other, argument, " must not be merged with itself: give another handle as other");
    if (std::less<const H*>()(handle, other)) {
        const Use<H> first(handle, argument);
        const Use<const H> second(other, "other");
        f(*first, *second);
    } else {
        const Use<const H> first(other, "other");
        const Use<H> second(handle, argument);
        f(*second, *first);
    }
}

// Frees a handle; null is allowed. A handle that must not be freed stays, and fastfs_last_error tells why.
template <class H>
void free_handle(H* handle, const char* argument) noexcept {
    if (handle == nullptr) return;
    attempt([&] {
        require_handle(handle, argument);
        Use<H>::require_free(*handle, argument);
        delete handle;
    });
}

// Returns the number that f returns, or -1, with an error, if f throws.
template <class F>
std::int64_t number_or_error(F&& f) noexcept {
    std::int64_t number = -1;
    attempt([&] { number = f(); });
    return number;
}

}  // namespace fastfs::core
