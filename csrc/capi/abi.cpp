#include "capi/abi.hpp"
#include "support/index.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <utility>

namespace fastfs::core {
namespace {

thread_local Message last_error;
thread_local std::vector<std::unique_ptr<Warning>> last_warnings;

// Stores the message of an error for this thread, and returns `status`. The text becomes a Message in here, since even
// that can run out of memory; the message is empty then.
template <class Text>
fastfs_status fail(fastfs_status status, const Text& message) noexcept {
    try {
        last_error = Message(message);
    } catch (...) {
        last_error = Message();
    }
    return status;
}

}  // namespace

// Maps the exception being handled to a code, and stores its message; Answered, thrown by a question, is FASTFS_OK.
fastfs_status failure() noexcept {
    try {
        throw;
    } catch (const Answered&) {
        return FASTFS_OK;
    } catch (const InvalidArgument& e) {
        return fail(FASTFS_EINVAL, e.message());
    } catch (const AlreadyRegistered& e) {
        return fail(FASTFS_EEXIST, e.message());
    } catch (const OutOfMemory& e) {
        return fail(FASTFS_ENOMEM, e.message());
    } catch (const std::bad_alloc&) {
        return fail(FASTFS_ENOMEM,
                    "the system gave no more memory, although the budget allowed it: set max_memory lower");
    } catch (const NumericError& e) {
        return fail(FASTFS_ENUMERIC, e.message());
    } catch (const Canceled& e) {
        return fail(FASTFS_ECANCELED, e.message());
    } catch (const std::exception& e) {
        return fail(FASTFS_EINTERNAL, e.what());
    } catch (...) {
        return fail(FASTFS_EINTERNAL, "an exception of unknown type");
    }
}

void set_last_warnings(Warnings& warnings, fastfs_status status) noexcept {
    last_warnings = std::move(warnings.all);
    if (status != FASTFS_OK) last_warnings.clear();
}

Matrix read_matrix(const fastfs_matrix* X, const Name& name, bool dense_row_list) {
    require(X != nullptr, name, " must not be null");
    return Matrix(read(X, FASTFS_MATRIX_INIT, name.text.c_str()), name, dense_row_list);
}

Run read_run(const fastfs_run* run) { return Run(read(run, FASTFS_RUN_INIT, "run")); }

}  // namespace fastfs::core

extern "C" {

const char* fastfs_last_error(void) { return fastfs::core::last_error.text().c_str(); }

// Writes up to `most` places of the last error, in the struct size of the first one, and returns how many there are; -1
// for a wrong struct size.
int32_t fastfs_last_error_places(fastfs_place* places, int32_t most) {
    const auto& known = fastfs::core::last_error.places();
    const auto n = static_cast<int32_t>(known.size());
    if (places == nullptr || most <= 0) return n;
    auto* bytes = reinterpret_cast<unsigned char*>(places);
    const std::size_t step = places->struct_size;
    if (!fastfs::core::is_struct_size<fastfs_place>(step)) return -1;
    for (int32_t k = 0; k < std::min(most, n); ++k) {
        fastfs_place place = known[fastfs::core::at(k)];
        place.struct_size = step;
        std::memcpy(bytes + fastfs::core::at(k) * step, &place, std::min(step, sizeof place));
    }
    return n;
}

const fastfs_warning* fastfs_last_warning(int32_t number) {
    const auto& known = fastfs::core::last_warnings;
    return number < 0 || number >= std::ssize(known) ? nullptr : &known[fastfs::core::at(number)]->view;
}

}  // extern "C"
