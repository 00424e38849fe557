// Tools that the tests of the engines share: checks, random numbers, and matrices in all layouts.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "fastfs/fastfs.h"
#include "support/errors.hpp"

namespace {

int failures = 0;

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            ++failures;                                                          \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
        }                                                                        \
    } while (false)

std::mt19937 engine(1);

double normal() { return std::normal_distribution<double>()(engine); }

std::int64_t below(std::int64_t n) { return std::uniform_int_distribution<std::int64_t>(0, n - 1)(engine); }

fastfs_run threads(int n, std::int64_t max_memory = 0) {
    fastfs_run run = FASTFS_RUN_INIT;
    run.n_threads = n;
    run.max_memory = max_memory;
    return run;
}

// A matrix with its values: row-major, column-major, every second row and third column of a larger one, or backwards.
template <class T>
struct Data {
    std::vector<T> values;
    fastfs_matrix m{};

    Data(std::int64_t n, std::int64_t d, int layout) {
        const std::int64_t rs = layout == 0 ? d : layout == 1 ? 1 : layout == 2 ? 6 * d : -d;
        const std::int64_t cs = layout == 0 ? 1 : layout == 1 ? n : layout == 2 ? 3 : -1;
        values.resize(static_cast<std::size_t>((n - 1) * std::abs(rs) + (d - 1) * std::abs(cs) + 1));
        for (T& v : values) v = std::numeric_limits<T>::quiet_NaN();  // what lies between is not to be read
        m.struct_size = sizeof m;
        m.dtype = sizeof(T) == 4 ? FASTFS_FLOAT32 : FASTFS_FLOAT64;
        m.n_rows = n;
        m.n_cols = d;
        m.row_stride = rs;
        m.col_stride = cs;
        m.values = values.data() + (layout == 3 ? values.size() - 1 : 0);
        for (std::int64_t c = 0; c < d; ++c) {
            const double offset = 3 * normal(), scale = std::exp(normal());
            for (std::int64_t r = 0; r < n; ++r) at(r, c) = static_cast<T>(offset + scale * normal());
        }
    }

    T& at(std::int64_t r, std::int64_t c) const {
        return const_cast<T*>(static_cast<const T*>(m.values))[r * m.row_stride + c * m.col_stride];
    }
};

template <class F>
std::string refusal(F&& f) {
    try {
        f();
    } catch (const fastfs::core::InvalidArgument& e) {
        return e.what();
    }
    return "";
}

}  // namespace
