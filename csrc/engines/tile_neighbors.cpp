#include "engines/tile_neighbors.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "engines/affinity.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// Writes the n_neighbors features with the smallest key(value) of each feature, and these keys, ascending; value: the
// kernel of the two features; end: the share of the call that is finished afterwards.
template <class Key>
void smallest_by_tiles(const Features<double>& features, Kernel::Kind kind, std::int64_t n_neighbors, Run& run,
                       std::int64_t* neighbors, double* keys, double end, Key&& key) {
    using Near = std::pair<double, std::int64_t>;  // key, feature: the order of the result
    const std::int64_t d = features.n_features(), n_blocks = ceil_div(d, kTile);
    const KernelTiles<double> kernel_tile(features, features, {.kind = kind}, run);
    auto tiles = buffers<double>(run.n_threads(), kTile * kTile);
    run.step("neighbors of the features", end);
    parallel_for(run, n_blocks, [&](std::int64_t block, int slot) {
        const std::int64_t i0 = block * kTile, ni = std::min(kTile, d - i0);
        double* tile = tiles[at(slot)].data();
        std::vector<std::vector<Near>> nearest(at(ni));  // of each feature a heap, farthest first
        for (std::int64_t j0 = 0; j0 < d; j0 += kTile) {
            run.checkpoint();
            const std::int64_t nj = std::min(kTile, d - j0);
            kernel_tile(i0, ni, j0, nj, tile, run);
            for (std::int64_t a = 0; a < ni; ++a) {
                std::vector<Near>& heap = nearest[at(a)];
                for (std::int64_t b = 0; b < nj; ++b) {
                    if (i0 + a == j0 + b) continue;
                    const Near near(key(tile[a * kTile + b]), j0 + b);
                    const bool full = std::ssize(heap) == n_neighbors;
                    if (full && !(near < heap.front())) continue;
                    if (full) {
                        std::pop_heap(heap.begin(), heap.end());
                        heap.pop_back();
                    }
                    heap.push_back(near);
                    std::push_heap(heap.begin(), heap.end());
                }
            }
        }
        for (std::int64_t a = 0; a < ni; ++a) {
            std::sort_heap(nearest[at(a)].begin(), nearest[at(a)].end());
            for (std::int64_t k = 0; k < n_neighbors; ++k) {
                std::tie(keys[(i0 + a) * n_neighbors + k], neighbors[(i0 + a) * n_neighbors + k]) =
                    nearest[at(a)][at(k)];
            }
        }
    });
}

}  // namespace

void nearest_features_by_tiles(const Features<double>& features, std::int64_t n_neighbors, Run& run,
                               std::int64_t* neighbors, double* distances, double end) {
    smallest_by_tiles(features, Kernel::Kind::kSquaredDistance, n_neighbors, run, neighbors, distances, end,
                      [](double squared) { return squared; });
    const double unit = features.unit();
    std::for_each_n(distances, features.n_features() * n_neighbors, [&](double& d2) { d2 = std::sqrt(d2) * unit; });
}

void largest_products_by_tiles(const Features<double>& features, std::int64_t n_neighbors, Run& run,
                               std::int64_t* neighbors, double* products, double end) {
    smallest_by_tiles(features, Kernel::Kind::kLinear, n_neighbors, run, neighbors, products, end,
                      [](double product) { return -std::abs(product); });
    std::for_each_n(products, features.n_features() * n_neighbors, [](double& product) { product = -product; });
}

}  // namespace fastfs::core
