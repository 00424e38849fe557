// Engine: the test of the strongest pairs by permuted labels, for pairs of any kind.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engines/step_down.hpp"
#include "engines/strongest.hpp"
#include "support/index.hpp"
#include "support/owned.hpp"
#include "support/parallel.hpp"
#include "support/run.hpp"

namespace fastfs::core {

// Returns for strengths of pairs, which are positive, the smallest ones that count as at least as strong.
inline Numbers tie_limits_of_pairs(Numbers strengths) {
    for (double& limit : strengths) limit *= 1 - kStatisticTie;
    return strengths;
}

// The strongest pairs that a task of for_strongest() has.
constexpr std::int64_t kPairsPerTask = 64;

// Calls f(b, begin, end), in parallel, for the pairs begin..end - 1 in parts of the n_top pairs, under each of
// n_labelings labelings b.
template <class F>
void for_strongest(Run& run, std::int64_t n_labelings, std::int64_t n_top, F&& f) {
    const std::int64_t n_parts = ceil_div(n_top, kPairsPerTask);
    parallel_for(run, n_labelings * n_parts, [&](std::int64_t task, int) {
        const std::int64_t begin = task % n_parts * kPairsPerTask;
        f(task / n_parts, begin, std::min(begin + kPairsPerTask, n_top));
    });
}

// Compares the strongest pairs, in descending order, with all pairs under n_labelings labelings, `at_once` of them
// together. Writes the largest strength under each labeling, times `unit`, to result.null_maxima, and the step-down
// p-values of the pairs to result.pvalues. compare(first, count, levels, strengths) raises levels[b] to the largest
// strength of all other pairs under labeling first + b, b < count, and sets strengths[b * n_top + k] to that of the
// k-th strongest pair.
template <class Pair, class Result, class Compare>
void permute_pairs(const std::vector<Pair>& top, std::int64_t n_labelings, std::int64_t at_once, double unit, Run& run,
                   Owned<Result>& result, Compare&& compare) {
    const std::int64_t n_top = std::ssize(top);
    result.set_zeros(result.null_maxima, n_labelings);
    result.set_zeros(result.pvalues, n_top);
    Numbers strengths = numbers(at_once * n_top), observed;
    for (const Pair& pair : top) observed.push_back(pair.strength);
    StepDown step_down(tie_limits_of_pairs(observed));
    for (std::int64_t first = 0; first < n_labelings; first += at_once) {
        const std::int64_t count = std::min(at_once, n_labelings - first);
        const Run::Part part(run, share(first, n_labelings), share(first + count, n_labelings));
        std::vector<Level> levels(at(count));
        compare(first, count, levels.data(), strengths.data());
        for (std::int64_t b = 0; b < count; ++b) {
            const double largest = step_down.add_labeling(strengths.data() + b * n_top, levels[at(b)].value());
            result.null_maxima[first + b] = unit * largest;
        }
    }
    step_down.write_pvalues(result.pvalues);
}

}  // namespace fastfs::core
