// A result of the C interface together with the arrays that it points to.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "support/index.hpp"

namespace fastfs::core {

template <class Result>
struct Owned : Result {
    explicit Owned(const Result& empty) : Result(empty) {}

    // Points `array`, a member of the result, to these values; null if there are none.
    template <class T>
    void set(T*& array, std::vector<T> values) {
        const auto held = std::make_shared<std::vector<T>>(std::move(values));
        array = held->empty() ? nullptr : held->data();
        arrays_.push_back(held);
    }

    template <class T>
    void set_zeros(T*& array, std::int64_t n) {
        set(array, std::vector<T>(at(n)));
    }

  private:
    std::vector<std::shared_ptr<void>> arrays_;
};

}  // namespace fastfs::core
