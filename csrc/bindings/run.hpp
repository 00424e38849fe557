// Calls of the core: with the GIL released, and with the threads, the memory and the progress of a Run.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>
#include <type_traits>
#include <utility>

#include "fastfs/fastfs.hpp"

namespace fastfs::bindings {

namespace py = pybind11;

// A call of the core with the n_threads, budget and progress of a fastfs._machine.run.Run. Ctrl-C and the progress
// callable are served from the calling thread while the core works. Its warnings, of any number of functions, are the
// `last_warnings()` of the thread.
class Call {
  public:
    explicit Call(const py::object& run)
        : progress_(run.attr("progress")),
          run_{sizeof(fastfs_run),
               run.attr("n_threads").cast<std::int32_t>(),
               run.attr("budget").cast<std::int64_t>(),
               &Call::poll,
               this,
               nullptr} {
        forget_warnings();
    }
    Call(const Call&) = delete;  // run_ points to it
    Call& operator=(const Call&) = delete;

    // Calls f(run) without the GIL and keeps its warnings; a Python error that stopped it is thrown again.
    template <class F>
    auto operator()(F&& f) {
        try {
            py::gil_scoped_release released;
            const auto& run = static_cast<const fastfs::run&>(run_);
            if constexpr (std::is_void_v<decltype(f(run))>) {
                f(run);
                collect_warnings();
            } else {
                auto result = f(run);
                collect_warnings();
                return result;
            }
        } catch (const fastfs::canceled&) {
            if (error_) throw std::move(*error_);
            throw;
        }
    }

    // For functions that take no run: forget the warnings before, and collect them after.
    static void forget_warnings() noexcept;
    static void collect_warnings();

  private:
    static int poll(void* self, const char* step, double fraction) noexcept;

    py::object progress_;
    fastfs::run run_;
    std::optional<py::error_already_set> error_;
};

// Turns the exceptions of fastfs.hpp into Python's, with the places that their messages name; and binds
// `last_warnings`.
void bind_messages(py::module_& m);

}  // namespace fastfs::bindings
