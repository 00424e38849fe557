// Results of the C interface in tests.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fastfs/fastfs.h"

namespace {

// Returns a place for the owner of a call's results, who lives until the thread asks for another place.
[[maybe_unused]] fastfs_fitted** owner() {
    struct Place {
        fastfs_fitted* fitted = nullptr;
        ~Place() { fastfs_fitted_free(fitted); }
    };
    thread_local std::unique_ptr<Place> place;
    place = std::make_unique<Place>();
    return &place->fitted;
}

// Copies an array of a result; empty for a null pointer.
template <class T>
std::vector<T> list(const T* values, std::int64_t n) {
    return values ? std::vector<T>(values, values + n) : std::vector<T>();
}

}  // namespace
