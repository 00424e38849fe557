// Dense features for products of any few features with any few others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "engines/columns.hpp"
#include "engines/isa/tiles.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {

// Dense features, any few of them to be multiplied with any few: the values of each feature are contiguous, so that
// packing it into a panel reads no cache line of another feature.
class OneByOne {
  public:
    using Value = float;
    using Some = Buffer<float>;

    // Copies the features in the order of places: place p has feature order[p].
    OneByOne(const Features<float>& features, const std::vector<std::int64_t>& order, Run& run)
        : n_(features.n_samples()), values_(features.n_features() * n_) {
        constexpr std::int64_t kWidth = kPanel<float>;
        std::vector<std::int64_t> place_of(order.size());
        for (std::int64_t place = 0; place < std::ssize(order); ++place) place_of[at(order[at(place)])] = place;
        parallel_for(run, ceil_div(features.n_features(), kWidth), [&](std::int64_t panel, int) {
            for (std::int64_t i = panel * kWidth; i < std::min((panel + 1) * kWidth, features.n_features()); ++i) {
                const float* from = features.feature(i);
                float* to = values_.data() + place_of[at(i)] * n_;
                for (std::int64_t s = 0; s < n_; ++s) to[s] = from[s * kWidth];
            }
        });
    }

    std::int64_t n_samples() const { return n_; }

    // Packs the features at n_places places into `panels` (n_samples x kPanel each); lanes of the last panel without a
    // feature aren't set.
    template <class Place>
    void pack_features(const Place* places, std::int64_t n_places, float* panels) const {
        constexpr std::int64_t kWidth = kPanel<float>, kInLine = 64 / sizeof(float);
        const auto fetch = [&](std::int64_t place) {
            for (std::int64_t s = 0; s < n_; s += kInLine) __builtin_prefetch(values_.data() + place * n_ + s);
        };
        const float* from[kWidth];
        for (std::int64_t first = 0; first < n_places; first += kWidth) {
            const std::int64_t width = std::min(kWidth, n_places - first);
            for (std::int64_t a = 0; a < width; ++a) from[a] = values_.data() + places[first + a] * n_;
            for (std::int64_t a = first + width; a < std::min(first + width + kWidth, n_places); ++a) fetch(places[a]);
            float* to = panels + first * n_;
            for (std::int64_t s = 0; s < n_; ++s, to += kWidth) {
                for (std::int64_t a = 0; a < width; ++a) to[a] = from[a][s];
            }
        }
    }

    // Returns a copy of the features at these places, packed in panels.
    Buffer<float> some(const std::vector<std::int64_t>& places, Run&) const {
        const std::int64_t all = std::ssize(places);
        Buffer<float> panels(round_up(all, kPanel<float>) * n_);
        pack_features(places.data(), all, panels.data());
        return panels;
    }

    // Sets tile[a * kTile + b] to the product of feature i0 + a of `left`, packed in panels, with the feature at place
    // j0 + b, a < ni, b < nj. `room` is scratch, allocated in the first call.
    void multiply_blocks(const Buffer<float>& left, std::int64_t i0, std::int64_t ni, std::int64_t j0, std::int64_t nj,
                         float* tile, Buffer<float>& room, Run&) const {
        std::int64_t places[kTile];
        std::iota(places, places + nj, j0);
        if (room.size() == 0) room = Buffer<float>(kTile * n_);
        pack_features(places, nj, room.data());
        multiply_panels(left.data() + i0 * n_, ni, room.data(), nj, tile);
    }

    // Sets tile[a * kTile + b] to the product of feature a of `left` with feature b of `right`, both packed in panels.
    void multiply_panels(const float* left, std::int64_t ni, const float* right, std::int64_t nj, float* tile) const {
        tile_kernels<float>().gram(left, right, n_ * kPanel<float>, n_, false, tile, kTile, ni, nj);
    }

  private:
    std::int64_t n_;
    Buffer<float> values_;
};

}  // namespace fastfs::core
