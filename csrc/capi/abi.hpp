// The border of the library: exceptions become codes, and structs of other header versions become ours.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "fastfs/fastfs.h"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/matrix.hpp"
#include "support/run.hpp"
#include "support/warnings.hpp"

namespace fastfs::core {

// Returns the code of the exception being handled, and keeps its message for fastfs_last_error. Not part of the
// template, which has one instance per function: the handlers in each took 20 kB.
fastfs_status failure() noexcept;

// Calls f, and returns FASTFS_OK, or the code of the exception that f throws.
template <class F>
fastfs_status attempt(F&& f) noexcept {
    try {
        f();
        return FASTFS_OK;
    } catch (...) {
        return failure();
    }
}

// Moves the warnings of a call to this thread's list for fastfs_last_warning, and clears earlier ones; keeps none if
// the call failed.
void set_last_warnings(Warnings& warnings, fastfs_status status) noexcept;

// Calls f as the body of a function that returns a status: keeps its warnings, and turns an exception into a code.
template <class F>
fastfs_status guarded(F&& f) noexcept {
    Warnings warnings;
    const fastfs_status status = attempt(f);
    set_last_warnings(warnings, status);
    return status;
}

// Tests if the struct of some header version can have this size.
template <class Struct>
bool is_struct_size(std::size_t size) {
    return size >= sizeof(std::size_t) && size <= 4096 && size % alignof(Struct) == 0;
}

// Returns a struct of the caller's header version in ours, the defaults for null: fields that an older header lacks
// keep their defaults, fields that only a newer one has must be zero.
template <class Struct>
Struct read(const Struct* given, Struct defaults, const char* name) {
    if (given == nullptr) return defaults;
    const std::size_t size = given->struct_size;
    require(is_struct_size<Struct>(size), name, ".struct_size must be the size of the struct; got ", size,
            ": set it as the _INIT macros of fastfs.h do");
    const auto* bytes = reinterpret_cast<const unsigned char*>(given);
    for (std::size_t i = sizeof(Struct); i < size; ++i) {
        require(bytes[i] == 0, name, " sets a field that this version of fastfs doesn't know: its struct_size is ",
                size, ", and only the first ", sizeof(Struct), " bytes may differ from 0");
    }
    std::memcpy(&defaults, given, std::min(size, sizeof(Struct)));
    defaults.struct_size = sizeof(Struct);
    return defaults;
}

// Lets f fill a struct of the caller's header version and copies it back; the struct stays as it was if f throws.
template <class Struct, class F>
void fill(Struct* given, const Struct& defaults, const char* name, F&& f) {
    Struct ours = read(given, defaults, name);
    f(ours);
    require(given != nullptr, name, " must not be null");
    const std::size_t size = given->struct_size;
    ours.struct_size = size;
    std::memcpy(given, &ours, std::min(size, sizeof(Struct)));
}

// Returns n structs of the caller's header version in ours, read in steps of the first one's struct_size; throws if n
// is 0, or if sizes differ.
template <class Struct>
std::vector<Struct> read_all(const Struct* given, std::int64_t n, const Struct& defaults, const char* name) {
    require(given != nullptr, name, " must not be null");
    require(n >= 1, name, " must hold at least one; got ", n);
    std::vector<Struct> all;
    const auto* bytes = reinterpret_cast<const unsigned char*>(given);
    for (std::int64_t i = 0; i < n; ++i) {
        const auto* one = reinterpret_cast<const Struct*>(bytes + at(i) * given->struct_size);
        require(one->struct_size == given->struct_size, name, " must all have the same struct_size");
        all.push_back(read(one, defaults, name));
    }
    return all;
}

// Lets f(struct, index) fill each of n structs of the caller's header version, in steps of the first one's struct_size;
// all stay as they were if f throws.
template <class Struct, class F>
void fill_all(Struct* given, std::int64_t n, const Struct& defaults, const char* name, F&& f) {
    std::vector<Struct> ours = read_all(given, n, defaults, name);
    for (std::int64_t i = 0; i < n; ++i) f(ours[at(i)], i);
    const std::size_t size = given->struct_size;
    for (std::int64_t i = 0; i < n; ++i) {
        ours[at(i)].struct_size = size;
        std::memcpy(reinterpret_cast<unsigned char*>(given) + at(i) * size, &ours[at(i)],
                    std::min(size, sizeof(Struct)));
    }
}

// Returns the values of a result's array, or null if it is empty.
template <class Values>
auto data_or_null(Values& values) {
    return values.empty() ? nullptr : values.data();
}

// Returns a view of the matrix that the caller describes; throws InvalidArgument if X is null or the description can't
// be right. dense_row_list: true if a dense matrix can have a row_list.
Matrix read_matrix(const fastfs_matrix* X, const Name& name = kX, bool dense_row_list = false);
// Returns the run that the caller describes; defaults for null.
Run read_run(const fastfs_run* run);

}  // namespace fastfs::core
