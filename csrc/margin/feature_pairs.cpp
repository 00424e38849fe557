#include "margin/feature_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string>
#include <vector>

#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

constexpr std::int64_t kTile = 256;

}  // namespace

std::int64_t strongest_pairs(std::int64_t n_features, std::int64_t rank, const double* values, const double* vectors,
                             bool without_leading, std::int64_t n_pairs, Run& run, std::int64_t* a, std::int64_t* b,
                             double* weights) {
    const SingleThreadedBlas held;
    const std::int64_t n = n_features, wanted = std::min(n_pairs, n * (n - 1) / 2);
    const std::int64_t leading =
        std::max_element(values, values + rank, [](double x, double y) { return std::abs(x) < std::abs(y); }) - values;
    struct Entry {
        double w;
        std::int64_t a, b;
    };
    const auto before = [](const Entry& x, const Entry& y) {
        const double wx = std::abs(x.w), wy = std::abs(y.w);
        return wx != wy ? wx > wy : x.a != y.a ? x.a < y.a : x.b < y.b;
    };
    // The order is total, so the result doesn't depend on the order of tiles.
    std::vector<Entry> best;
    std::mutex mutex;
    const std::int64_t tiles = ceil_div(n, kTile);
    run.require_memory(run.n_threads() * (8 * kTile * (kTile + rank) + 24 * (wanted + kTile * kTile)) + 48 * wanted,
                       "a list of the largest " + std::to_string(wanted) + " pairs of features", "ask for fewer");
    if (wanted == 0) return 0;
    run.step("pairs", 1.0);
    parallel_for(run, tiles * (tiles + 1) / 2, [&](std::int64_t task, int) {
        std::int64_t ta = 0, tb = task;
        while (tb >= tiles - ta) tb -= tiles - ta++;
        tb += ta;
        const std::int64_t a0 = ta * kTile, rows = std::min(kTile, n - a0), b0 = tb * kTile,
                           cols = std::min(kTile, n - b0);
        Buffer<double> W(rows * cols), left(rank * rows);
        for (std::int64_t k = 0; k < rank; ++k) {
            const double value = without_leading && k == leading ? 0 : values[k];
            for (std::int64_t r = 0; r < rows; ++r) left[k * rows + r] = value * vectors[k * n + a0 + r];
        }
        gemm('N', 'T', cols, rows, rank, 1.0, vectors + b0, n, left.data(), rows, 0.0, W.data(), cols);
        std::vector<Entry> candidates;
        {
            std::lock_guard lock(mutex);
            if (static_cast<std::int64_t>(best.size()) == wanted) candidates.push_back(best.back());
        }
        const double least = candidates.empty() ? 0 : std::abs(candidates.back().w);
        candidates.clear();
        for (std::int64_t r = 0; r < rows; ++r) {
            for (std::int64_t c = std::max<std::int64_t>(0, a0 + r + 1 - b0); c < cols; ++c) {
                if (std::abs(W[r * cols + c]) >= least) candidates.push_back({W[r * cols + c], a0 + r, b0 + c});
            }
        }
        std::lock_guard lock(mutex);
        best.insert(best.end(), candidates.begin(), candidates.end());
        const auto end = best.begin() + std::min<std::ptrdiff_t>(wanted, static_cast<std::ptrdiff_t>(best.size()));
        std::partial_sort(best.begin(), end, best.end(), before);
        best.erase(end, best.end());
    });
    for (std::size_t k = 0; k < best.size(); ++k) {
        a[k] = best[k].a;
        b[k] = best[k].b;
        weights[k] = best[k].w;
    }
    return static_cast<std::int64_t>(best.size());
}

}  // namespace fastfs::core
