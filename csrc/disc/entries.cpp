#include "disc/entries.hpp"

#include <algorithm>
#include <numeric>

#include "support/buffer.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {

Entries transpose(const Entries& A) {
    Entries T{std::vector<std::int64_t>(A.begins.size()), std::vector<std::int32_t>(A.columns.size()),
              Numbers(A.values.size())};
    for (std::int32_t column : A.columns) ++T.begins[at(column) + 1];
    std::partial_sum(T.begins.begin(), T.begins.end(), T.begins.begin());
    std::vector<std::int64_t> next(T.begins.begin(), T.begins.end() - 1);
    for (std::size_t i = 0; i + 1 < A.begins.size(); ++i) {
        for (auto e = at(A.begins[i]); e < at(A.begins[i + 1]); ++e) {
            const auto to = at(next[at(A.columns[e])]++);
            T.columns[to] = static_cast<std::int32_t>(i);
            T.values[to] = A.values[e];
        }
    }
    return T;
}

SparseSymmetric symmetric_mean(const Entries& A, const Entries& transposed, const Numbers& diagonal, Run& run) {
    const auto p = static_cast<std::int64_t>(A.begins.size()) - 1;
    SparseSymmetric W;
    W.n = p;
    W.begins = Buffer<std::int64_t>(p + 1);
    W.begins[0] = 0;
    constexpr std::int64_t kRows = 1024;
    // Calls entry(column, value) for the entries of row i in order, and for the diagonal even if it is 0.
    auto merge = [&](std::int64_t i, auto&& entry) {
        const auto row = at(i);
        auto e = at(A.begins[row]), f = at(transposed.begins[row]);
        const auto e_end = at(A.begins[row + 1]), f_end = at(transposed.begins[row + 1]);
        const auto none = static_cast<std::int32_t>(p);
        bool passed = false;
        while (e < e_end || f < f_end || !passed) {
            const std::int32_t left = e < e_end ? A.columns[e] : none, right = f < f_end ? transposed.columns[f] : none;
            const std::int32_t column = std::min({left, right, passed ? none : static_cast<std::int32_t>(i)});
            double value = 0;
            if (left == column) value += A.values[e++];
            if (right == column) value += transposed.values[f++];
            value /= 2;
            if (column == i) {
                passed = true;
                value += diagonal[row];
            }
            entry(column, value);
        }
    };
    parallel_for(run, ceil_div(p, kRows), [&](std::int64_t task, int) {
        for (std::int64_t i = task * kRows; i < std::min((task + 1) * kRows, p); ++i) {
            std::int64_t count = 0;
            merge(i, [&](std::int32_t, double) { ++count; });
            W.begins[i + 1] = count;
        }
    });
    for (std::int64_t i = 0; i < p; ++i) W.begins[i + 1] += W.begins[i];
    W.columns = Buffer<std::int32_t>(W.begins[p]);
    W.values = Buffer<double>(W.begins[p]);
    parallel_for(run, ceil_div(p, kRows), [&](std::int64_t task, int) {
        for (std::int64_t i = task * kRows; i < std::min((task + 1) * kRows, p); ++i) {
            std::int64_t to = W.begins[i];
            merge(i, [&](std::int32_t column, double value) {
                W.columns[to] = column;
                W.values[to++] = value;
            });
        }
    });
    return W;
}

}  // namespace fastfs::core
