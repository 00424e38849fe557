// Centres and features are rounded to 12 bits for the products between them, which single precision then holds exactly:
// their sums have equal bits whether an instruction set fuses multiplications with additions or not.
#include "engines/feature_lists.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <vector>

#include "support/index.hpp"
#include "support/parallel.hpp"
#include "support/random.hpp"

namespace fastfs::core {
namespace {

constexpr float kFarthest = std::numeric_limits<float>::infinity();
constexpr std::int64_t kCentresWide = kPanel<float>;

// With 4 sqrt(p) lists, the search for the nearest centres and the search within lists take similar times.
constexpr double kListsPerRoot = 4;
constexpr std::int64_t kTrainedPerList = 40, kTurns = 6;

// A feature probes 1 / kShare of the lists, at least kFewest.
constexpr std::int64_t kShare = 64, kFewest = 16;

std::int64_t list_count(std::int64_t d) {
    const auto roots = static_cast<std::int64_t>(kListsPerRoot * std::sqrt(static_cast<double>(d)));
    return std::clamp<std::int64_t>(roots, 1, ceil_div(d, 8));
}

std::int64_t probe_count(std::int64_t d) { return std::min(list_count(d), std::max(list_count(d) / kShare, kFewest)); }

std::int64_t trained_count(std::int64_t d) { return std::min(d, kTrainedPerList * list_count(d)); }

// Rounds z to 12 significant bits, and values below 2^-60 to 0.
float rounded(float z) {
    if (std::abs(z) < 0x1p-60f) return 0;  // below, products would lose digits
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(z) + 0x800u) & ~0xfffu);
}

// Centres of the lists: points with one rounded value per sample, zero and infinitely far until they are set.
class Centres {
  public:
    Centres(std::int64_t count, std::int64_t n_samples)
        : count_(count),
          n_(n_samples),
          values_(round_up(count, kTile) * n_samples),
          half_norms_(at(round_up(count, kTile)), kFarthest) {
        std::fill_n(values_.data(), values_.size(), 0.0f);
    }

    std::int64_t count() const { return count_; }
    std::int64_t n_samples() const { return n_; }

    // Sets a centre to the rounded `values`, one per sample, and half_norms() to half of its squared norm.
    void set_centre(std::int64_t centre, const double* values) {
        double norm = 0;
        for (std::int64_t s = 0; s < n_; ++s) {
            const float z = rounded(static_cast<float>(values[s]));
            centre_value(centre, s) = z;
            norm += static_cast<double>(z) * z;
        }
        half_norms_[at(centre)] = static_cast<float>(norm / 2);
    }

    float centre_value(std::int64_t centre, std::int64_t s) const {
        return values_[(centre / kCentresWide * n_ + s) * kCentresWide + centre % kCentresWide];
    }

    const float* panel(std::int64_t centre) const { return &values_[centre * n_]; }  // centre: that of a panel's start
    const float* half_norms() const { return half_norms_.data(); }

  private:
    float& centre_value(std::int64_t centre, std::int64_t s) {
        return values_[(centre / kCentresWide * n_ + s) * kCentresWide + centre % kCentresWide];
    }

    const std::int64_t count_, n_;
    Buffer<float> values_;           // panels, laid out as in Features
    std::vector<float> half_norms_;  // infinite in the places without a centre
};

// Returns the `most` nearest centres of each feature, nearest first, ties by the lower index, feature after feature.
// The nearest centres have the largest products less half of their squared norms. There must be at least `most`
// centres.
std::vector<std::int32_t> nearest_centres(const Features<float>& features, const Centres& centres, std::int64_t most,
                                          Run& run) {
    const std::int64_t d = features.n_features(), n = features.n_samples();
    std::vector<std::int32_t> nearest(at(d * most), -1);
    struct Scratch {
        Buffer<float> features, tile;
        Buffer<Hit> hits;
        std::vector<float> scores, limits;
    };
    std::vector<Scratch> scratch;
    for (int t = 0; t < run.n_threads(); ++t) {
        scratch.push_back({Buffer<float>(kTile * n), Buffer<float>(kTile * kTile), Buffer<Hit>(2 * kTile * kTile),
                           std::vector<float>(at(kTile * most)), std::vector<float>(at(kTile))});
    }
    const std::vector<float> zeros(at(kTile)), infinite(at(kTile), kFarthest), none(at(kTile), -kFarthest);
    parallel_for(run, ceil_div(d, kTile), [&](std::int64_t task, int slot) {
        Scratch& thread_scratch = scratch[at(slot)];
        const std::int64_t first = task * kTile, ni = std::min(kTile, d - first);
        const float* from = features.feature(first);
        for (std::int64_t e = 0; e < round_up(ni, kCentresWide) * n; ++e) thread_scratch.features[e] = rounded(from[e]);
        std::fill(thread_scratch.scores.begin(), thread_scratch.scores.end(), -kFarthest);
        std::fill(thread_scratch.limits.begin(), thread_scratch.limits.end(), kFarthest);
        for (std::int64_t c0 = 0; c0 < centres.count(); c0 += kTile) {
            const std::int64_t nc = std::min(round_up(centres.count() - c0, kCentresWide), kTile);
            float* tile = thread_scratch.tile.data();
            tile_kernels<float>().gram(thread_scratch.features.data(), centres.panel(c0), n * kCentresWide, n, false,
                                       tile, kTile, ni, nc);
            Hits of_rows{thread_scratch.hits.data(), thread_scratch.hits.data()};
            Hits of_cols{thread_scratch.hits.data() + kTile * kTile, thread_scratch.hits.data() + kTile * kTile};
            isa().select(tile, kTile, ni, nc, infinite.data(), thread_scratch.limits.data(), centres.half_norms() + c0,
                         none.data(), &of_rows, &of_cols);
            for (const Hit* hit = of_rows.begin; hit < of_rows.end; ++hit) {
                const float score = hit->value - centres.half_norms()[c0 + hit->col];
                float* scores = &thread_scratch.scores[at(hit->row * most)];
                std::int32_t* list = &nearest[at((first + hit->row) * most)];
                std::int64_t place = most - 1;
                if (!(score > scores[place])) continue;
                for (; place > 0 && score > scores[place - 1]; --place) {
                    scores[place] = scores[place - 1];
                    list[place] = list[place - 1];
                }
                scores[place] = score;
                list[place] = static_cast<std::int32_t>(c0 + hit->col);
                thread_scratch.limits[hit->row] = -scores[most - 1];
            }
        }
    });
    return nearest;
}

// Members of each centre: the features that have it as their first entry in `nearest`, ascending, from begins[c] on for
// centre c.
struct Members {
    std::vector<std::int64_t> begins, features;
};

// Returns for each centre the list of its features; only the first of the per_feature entries of a feature in `nearest`
// counts.
Members group_by_nearest_centre(const std::vector<std::int32_t>& nearest, std::int64_t per_feature,
                                std::int64_t n_centres) {
    Members members{std::vector<std::int64_t>(at(n_centres + 1)), {}};
    const auto d = static_cast<std::int64_t>(nearest.size()) / per_feature;
    for (std::int64_t i = 0; i < d; ++i) ++members.begins[at(nearest[at(i * per_feature)] + 1)];
    std::partial_sum(members.begins.begin(), members.begins.end(), members.begins.begin());
    members.features.resize(at(d));
    std::vector<std::int64_t> next(members.begins.begin(), members.begins.end() - 1);
    for (std::int64_t i = 0; i < d; ++i) members.features[at(next[at(nearest[at(i * per_feature)])]++)] = i;
    return members;
}

// Returns the centres of the lists, found by kTurns rounds of k-means on a random sample of the features.
Centres trained_centres(const Features<float>& features, std::uint64_t seed, Run& run) {
    const std::int64_t d = features.n_features(), n = features.n_samples(), count = list_count(d);
    Random random(seed, 2);
    const Features<float> sample(features, random.subset(d, trained_count(d)), run);
    Centres centres(count, n);
    Numbers mean = numbers(n);
    const std::vector<std::int64_t> first = random.subset(sample.n_features(), count);
    for (std::int64_t c = 0; c < count; ++c) {
        const float* z = sample.feature(first[at(c)]);
        for (std::int64_t s = 0; s < n; ++s) mean[at(s)] = z[s * kCentresWide];
        centres.set_centre(c, mean.data());
    }
    std::vector<Numbers> means(at(run.n_threads()), mean);
    for (std::int64_t turn = 0; turn < kTurns; ++turn) {
        const Members members = group_by_nearest_centre(nearest_centres(sample, centres, 1, run), 1, count);
        parallel_for(run, count, [&](std::int64_t c, int slot) {
            Numbers& sum = means[at(slot)];
            const std::int64_t begin = members.begins[at(c)], end = members.begins[at(c + 1)];
            if (begin == end) return;  // a centre without members stays where it is
            std::fill(sum.begin(), sum.end(), 0.0);
            for (std::int64_t e = begin; e < end; ++e) {
                const float* z = sample.feature(members.features[at(e)]);
                for (std::int64_t s = 0; s < n; ++s) sum[at(s)] += z[s * kCentresWide];
            }
            for (double& value : sum) value /= static_cast<double>(end - begin);
            centres.set_centre(c, sum.data());
        });
    }
    return centres;
}

// Returns the order of all centres in a chain, which starts with centre 0; each is followed by the nearest of the
// remaining ones.
std::vector<std::int64_t> chain_centres(const Centres& centres, Run& run) {
    const std::int64_t n = centres.n_samples();
    std::vector<float> values(at(centres.count() * n));
    for (std::int64_t c = 0; c < centres.count(); ++c) {
        for (std::int64_t s = 0; s < n; ++s) values[at(c * n + s)] = centres.centre_value(c, s);
    }
    std::vector<std::int64_t> left = up_to(centres.count()), order;
    Numbers distances(left.size());
    for (std::size_t next = 0; !left.empty();) {
        const float* last = &values[at(left[next] * n)];
        order.push_back(left[next]);
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(next));
        constexpr std::int64_t kAtOnce = 256;
        const auto size = static_cast<std::int64_t>(left.size());
        parallel_for(run, ceil_div(size, kAtOnce), [&](std::int64_t task, int) {
            for (std::int64_t e = task * kAtOnce; e < std::min((task + 1) * kAtOnce, size); ++e) {
                const float* other = &values[at(left[at(e)] * n)];
                double lane[4] = {};
                for (std::int64_t s = 0; s < n; ++s) {
                    const double difference = static_cast<double>(other[s]) - last[s];
                    lane[s & 3] += difference * difference;
                }
                distances[at(e)] = (lane[0] + lane[1]) + (lane[2] + lane[3]);
            }
        });
        next = at(std::min_element(distances.begin(), distances.begin() + size) - distances.begin());
    }
    return order;
}

}  // namespace

// Finds centres by k-means, puts each feature into the list of its nearest centre, orders the lists along a chain, and
// lets each feature probe the lists of its nearest centres.
FeatureLists feature_lists(const Features<float>& features, std::int64_t n_neighbors, std::uint64_t seed, Run& run) {
    const std::int64_t d = features.n_features(), probed = probe_count(d);
    const Centres centres = trained_centres(features, seed, run);
    const std::vector<std::int32_t> nearest = nearest_centres(features, centres, probed, run);
    const Members members = group_by_nearest_centre(nearest, probed, centres.count());
    const std::vector<std::int64_t> chained = chain_centres(centres, run);
    FeatureLists lists;
    lists.begins.push_back(0);
    std::vector<std::int32_t> number(chained.size());  // of each centre's list
    for (std::int64_t centre : chained) {
        const auto list = static_cast<std::int32_t>(lists.n_lists());
        number[at(centre)] = list;
        for (std::int64_t e = members.begins[at(centre)]; e < members.begins[at(centre + 1)]; ++e) {
            lists.order.push_back(members.features[at(e)]);
            lists.list_of.push_back(list);
        }
        lists.begins.push_back(static_cast<std::int64_t>(lists.order.size()));
    }
    lists.probes.begins.push_back(0);
    lists.probes.numbers.reserve(at(d * probed));
    for (std::int64_t place = 0; place < d; ++place) {
        const auto first = std::ssize(lists.probes.numbers);
        std::int64_t size = 0;
        auto probe = [&](std::int32_t list) {
            lists.probes.numbers.push_back(list);
            size += lists.begins[at(list + 1)] - lists.begins[at(list)];
        };
        for (std::int64_t e = 0; e < probed; ++e) probe(number[at(nearest[at(lists.order[at(place)] * probed + e)])]);
        const auto begin = lists.probes.numbers.begin() + first;
        if (size <= n_neighbors) {  // then the following lists are probed, too
            const std::vector<std::int32_t> known(begin, lists.probes.numbers.end());
            for (std::int32_t list = lists.list_of[at(place)]; size <= n_neighbors;) {
                list = static_cast<std::int32_t>((list + 1) % lists.n_lists());
                if (std::find(known.begin(), known.end(), list) == known.end()) probe(list);
            }
        }
        std::sort(lists.probes.numbers.begin() + first, lists.probes.numbers.end());
        lists.probes.begins.push_back(std::ssize(lists.probes.numbers));
    }
    return lists;
}

// Collects, for each place, the lists of its neighbours and of the features that it is a neighbour of, less the probed
// ones.
Ragged lists_of_neighbors(const FeatureLists& lists, const std::int64_t* neighbors, std::int64_t n_neighbors,
                          Run& run) {
    constexpr std::int64_t kPlaces = 1024;
    const std::int64_t d = std::ssize(lists.order), tasks = ceil_div(d, kPlaces);
    // Calls f(place, task) for all places, on the threads of the run.
    auto for_places = [&](auto&& f) {
        parallel_for(run, tasks, [&](std::int64_t task, int) {
            for (std::int64_t a = task * kPlaces; a < std::min((task + 1) * kPlaces, d); ++a) f(a, task);
        });
    };
    std::vector<std::int32_t> place_of(at(d == 0 ? 0 : *std::max_element(lists.order.begin(), lists.order.end()) + 1));
    for (std::int64_t a = 0; a < d; ++a) place_of[at(lists.order[at(a)])] = static_cast<std::int32_t>(a);
    Ragged near{std::vector<std::int64_t>(at(d + 1)), std::vector<std::int32_t>(at(d * n_neighbors))};
    for_places([&](std::int64_t a, std::int64_t) {
        near.begins[at(a + 1)] = (a + 1) * n_neighbors;
        const std::int64_t* row = neighbors + lists.order[at(a)] * n_neighbors;
        for (std::int64_t e = 0; e < n_neighbors; ++e) near.numbers[at(a * n_neighbors + e)] = place_of[at(row[e])];
    });
    Ragged near_to = invert_lists(near, d);
    Ragged result{std::vector<std::int64_t>(at(d + 1)), {}};
    std::vector<std::vector<std::int32_t>> parts(at(tasks));
    for_places([&](std::int64_t a, std::int64_t task) {
        auto& part = parts[at(task)];
        const auto first = std::ssize(part);
        for (const Ragged* places : std::initializer_list<const Ragged*>{&near, &near_to}) {
            for (const std::int32_t* b = places->begin_of(a); b < places->end_of(a); ++b) {
                part.push_back(lists.list_of[at(*b)]);
            }
        }
        std::sort(part.begin() + first, part.end());
        part.erase(std::unique(part.begin() + first, part.end()), part.end());
        part.erase(std::remove_if(part.begin() + first, part.end(),
                                  [&](std::int32_t list) { return lists.probes.has(a, list); }),
                   part.end());
        result.begins[at(a + 1)] = std::ssize(part) - first;
    });
    near = near_to = {};
    std::partial_sum(result.begins.begin(), result.begins.end(), result.begins.begin());
    result.numbers.reserve(at(result.begins.back()));
    for (auto& part : parts) {
        result.numbers.insert(result.numbers.end(), part.begin(), part.end());
        part = {};
    }
    return result;
}

// Returns, for each number below `count`, the ascending indices of the lists that hold it.
Ragged invert_lists(const Ragged& numbers, std::int64_t count) {
    Ragged things{std::vector<std::int64_t>(at(count + 1)), std::vector<std::int32_t>(numbers.numbers.size())};
    for (std::int32_t number : numbers.numbers) ++things.begins[at(number) + 1];
    std::partial_sum(things.begins.begin(), things.begins.end(), things.begins.begin());
    std::vector<std::int64_t> next(things.begins.begin(), things.begins.end() - 1);
    for (std::size_t i = 0; i + 1 < numbers.begins.size(); ++i) {
        for (std::int64_t e = numbers.begins[i]; e < numbers.begins[i + 1]; ++e) {
            things.numbers[at(next[at(numbers.numbers[at(e)])]++)] = static_cast<std::int32_t>(i);
        }
    }
    return things;
}

std::int64_t feature_lists_memory(std::int64_t n_features, std::int64_t n_samples, std::int64_t n_neighbors,
                                  int n_threads) {
    const std::int64_t count = list_count(n_features), trained = trained_count(n_features);
    // Bytes of a feature: nearest lists, lists to probe and their probers; neighbours, the inverse of neighbours, and
    // at most as many lists of both.
    const std::int64_t of_each = 12 * probe_count(n_features) + 16 * n_neighbors + 80;
    return 4 * n_samples * (round_up(trained, kCentresWide) + 2 * round_up(count, kTile)) + 64 * count + 24 * trained +
           n_features * of_each +
           n_threads * (4 * kTile * (n_samples + kTile + probe_count(n_features)) + 16 * kTile * kTile);
}

}  // namespace fastfs::core
