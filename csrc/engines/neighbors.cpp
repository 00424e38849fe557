// Every pair of blocks of features is multiplied once, in single precision, and the tile is searched for both sides
// while it is in L2: features that may be among the nearest of a row or of a column become its candidates. Their
// distances are then computed by differences in double.
//
// The bounds that decide are derived in candidates.hpp.
//
// The search by lists multiplies each list only with the features that probe it, in two rounds.
#include "engines/neighbors.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engines/candidates.hpp"
#include "engines/columns.hpp"
#include "engines/copies.hpp"
#include "engines/feature_lists.hpp"
#include "engines/listed_distances.hpp"
#include "engines/one_by_one.hpp"
#include "engines/product_errors.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"
#include "support/random.hpp"
#include "support/ties.hpp"

namespace fastfs::core {
namespace {

// Features that are searched again together: each can have all features as candidates.
constexpr std::int64_t kSearchedAgain = 32;

// Candidates that are compared together: they take 128 MB.
constexpr std::int64_t kCompared = std::int64_t{1} << 23;

// Features that are searched exactly, to estimate how many neighbours the lists have missed.
constexpr std::int64_t kRecallSample = 1000;

std::int64_t n_tiles(std::int64_t d) { return ceil_div(d, kTile); }

// Returns the number of pairs of blocks, I <= J: each block with itself, then the rounds of a tournament, in which no
// block plays twice. In this order, tiles that are in progress simultaneously hardly ever share a block.
std::int64_t n_pairs(std::int64_t blocks) {
    const std::int64_t even = blocks + blocks % 2;
    return blocks + (even - 1) * (even / 2);
}

// Returns the pair (I, J), I <= J, at this index; J is `blocks` if I has no partner in this round.
std::pair<std::int64_t, std::int64_t> pair_of_blocks(std::int64_t index, std::int64_t blocks) {
    if (index < blocks) return {index, index};
    const std::int64_t even = blocks + blocks % 2, n = even - 1;
    const std::int64_t round = (index - blocks) / (even / 2), table = (index - blocks) % (even / 2);
    const std::int64_t a = (round + table) % n, b = table == 0 ? n : (round + n - table) % n;
    return std::minmax(a, b);
}

// Returns values[order[p]] for each place p, rounded to float.
std::vector<float> in_order(const auto& values, const std::vector<std::int64_t>& order) {
    std::vector<float> result;
    result.reserve(order.size());
    for (std::int64_t i : order) result.push_back(static_cast<float>(values[i]));
    return result;
}

// The lists that features have probed so far, round by round, without repeats.
struct Probed {
    const FeatureLists& lists;
    std::vector<const Ragged*> rounds;

    // Tests if i has probed the list of j, or j the list of i.
    bool meet(std::int64_t i, std::int64_t j) const {
        return std::any_of(rounds.begin(), rounds.end(), [&](const Ragged* round) {
            return round->has(i, lists.list_of[at(j)]) || round->has(j, lists.list_of[at(i)]);
        });
    }

    // Tests if i, which probes the list of j in the last round, must be compared with j now: they haven't met before,
    // and j won't meet i by probing the list of i.
    bool meets_now(std::int64_t i, std::int64_t j) const {
        if (i == j) return false;
        for (const Ragged* round : rounds) {
            if (round->has(j, lists.list_of[at(i)])) return round == rounds.back() && i < j;
        }
        return true;
    }
};

// Bounds of the features at some places, gathered for the tiles of one thread.
struct Bounds {
    // Copies the floors and limits of n features; fills up to kTile with bounds that no product can meet.
    void gather_bounds(Candidates& candidates, const std::int64_t* places, std::int64_t n) {
        for (std::int64_t a = 0; a < n; ++a) {
            floors[a] = candidates.floors()[places[a]];
            limits[a] = candidates.limit(places[a]);
        }
        std::fill(floors + n, floors + kTile, kInfinity);
        std::fill(limits + n, limits + kTile, -kInfinity);
    }
    float floors[kTile], limits[kTile];
};

// Features in blocks; each block is multiplied with each other block.
template <class T>
class InBlocks {
  public:
    using Value = T;
    using Some = Features<T>;

    explicit InBlocks(const Features<T>& features) : features_(features) {}

    const Features<T>& all() const { return features_; }
    Features<T> some(const std::vector<std::int64_t>& places, Run& run) const { return {features_, places, run}; }

    // Sets tile[a * kTile + b] to the product of feature i0 + a of `left` with feature j0 + b, a < ni, b < nj.
    void multiply_blocks(const Features<T>& left, std::int64_t i0, std::int64_t ni, std::int64_t j0, std::int64_t nj,
                         T* tile, Buffer<T>&, Run& run) const {
        left.gram_tile(i0, ni, features_, j0, nj, tile, run);
    }

  private:
    const Features<T>& features_;
};

constexpr std::int64_t kGathered = 2 * kTile;  // columns, for which the rows are packed once

struct Gathered {
    explicit Gathered(std::int64_t n_samples) : left(kTile * n_samples), right(kGathered * n_samples) {}
    std::vector<std::int64_t> rows, columns;
    Buffer<float> left, right;
    Bounds row_bounds, column_bounds;
};

// Mutexes that guard the candidates of all features, if the features of one tile lie anywhere.
constexpr std::int64_t kOwners = 1024;

// Search for the k nearest of all columns `ids` of X, given by `source`; norms: their squares; errors: bounds on
// rounding. left_out: see Candidates.
template <class Source>
class Search {
    using T = typename Source::Value;

  public:
    // Makes lists of candidates and scratch for each thread; nothing is searched yet.
    Search(const Source& source, const std::vector<std::int64_t>& ids, std::int64_t k, std::vector<float> norms,
           std::vector<float> errors, Run& run, const std::vector<char>& left_out = {})
        : source_(source),
          ids_(ids),
          d_(std::ssize(ids)),
          k_(k),
          run_(run),
          candidates_(d_, k, ids, std::move(norms), std::move(errors), left_out) {
        for (int t = 0; t < run.n_threads(); ++t) {
            // Rows are searched up to the next multiple of a panel, beyond the written values.
            tiles_.emplace_back(kTile * kTile);
            std::fill_n(tiles_.back().data(), kTile * kTile, T(0));
            if (sizeof(T) > sizeof(float)) {
                singles_.emplace_back(kTile * kTile);
                std::fill_n(singles_.back().data(), kTile * kTile, 0.0f);
            }
            hits_.emplace_back(2 * kTile * kTile);
        }
        scratch_.resize(tiles_.size());
        rooms_.resize(tiles_.size());
    }

    static std::int64_t memory(std::int64_t d, std::int64_t k, int n_threads) {
        return Candidates::memory(d, k) + n_threads * kTile * kTile * 28;
    }

    // Multiplies all pairs of blocks, collects the candidates, and drops the hopeless ones.
    void collect() {
        const std::int64_t blocks = n_tiles(d_);
        std::vector<std::mutex> owners(at(blocks));
        parallel_for(run_, n_pairs(blocks), [&](std::int64_t index, int slot) {
            const auto [I, J] = pair_of_blocks(index, blocks);
            if (J < blocks) collect_from_blocks(I, J, owners, slot);
        });
        drop_hopeless_candidates();
    }

    // Multiplies features with the lists that they probe in the last round, adds to the candidates, except for pairs
    // that have met already, and drops the hopeless ones.
    void collect(const Probed& probed) {
        const FeatureLists& lists = probed.lists;
        const Ragged probers = invert_lists(*probed.rounds.back(), lists.n_lists());
        std::vector<std::mutex> owners(kOwners);
        std::vector<Gathered> gathered;
        for (int t = 0; t < run_.n_threads(); ++t) gathered.emplace_back(source_.n_samples());
        parallel_for(run_, lists.n_lists(), [&](std::int64_t list, int slot) {
            Gathered& sides = gathered[at(slot)];
            const std::int64_t end = lists.begins[at(list + 1)];
            for (std::int64_t begin = lists.begins[at(list)]; begin < end; begin += kGathered) {
                sides.columns.clear();
                for (std::int64_t j = begin; j < std::min(begin + kGathered, end); ++j) sides.columns.push_back(j);
                source_.pack_features(sides.columns.data(), std::ssize(sides.columns), sides.right.data());
                for (const std::int32_t* q = probers.begin_of(list); q < probers.end_of(list); q += sides.rows.size()) {
                    run_.checkpoint();
                    sides.rows.assign(q, std::min(q + kTile, probers.end_of(list)));
                    source_.pack_features(sides.rows.data(), std::ssize(sides.rows), sides.left.data());
                    search_gathered(sides, probed, owners, slot);
                }
            }
        });
        drop_hopeless_candidates();
    }

    // Compares the candidates, and writes the k nearest features of each feature and their distances to rows of k, by
    // column of X; leaves the rows of left-out features alone. Features with an overflowed list are searched again.
    // probed: the argument of the last collect; null if all pairs have met.
    template <class Compare>
    void decide(Compare& compare, const Probed* probed, std::int64_t* neighbors, double* distances) {
        std::vector<std::int64_t> again;
        for (std::int64_t first = 0, last = 0; first < d_; first = last) {
            std::int64_t total = 0;
            for (; last < d_ && total < kCompared; ++last) {
                if (candidates_.overflowed(last)) again.push_back(last);
                total += candidates_.overflowed(last) ? 0 : candidates_.size(last);
            }
            Buffer<Other> others(total);
            std::vector<Query> queries;
            Other* next = others.data();
            for (std::int64_t i = first; i < last; ++i) {
                if (candidates_.overflowed(i) || candidates_.left_out(i)) continue;
                const Candidate* list = candidates_.list(i);
                Other* begin = next;
                for (std::int64_t c = 0; c < candidates_.size(i); ++c) *next++ = {0, ids_[at(list[c].other)]};
                queries.push_back({ids_[at(i)], begin, next});
            }
            write_nearest(compare, queries, neighbors, distances);
        }
        search_again(again, probed, compare, neighbors, distances);
    }

    // Replaces ties.of: lists the features up to the distance at place ties.place, ascending, for each feature with a
    // list by `decide` that can lack some of them; empty for all others (see TiedFeatures).
    template <class Compare>
    void add_ties(Compare& compare, const double* distances, TiedFeatures& ties) {
        ties.of.assign(at(d_), {});
        std::vector<std::int64_t> wanted;
        for (std::int64_t i = 0; i < d_; ++i) {
            if (candidates_.left_out(i)) continue;  // it has more copies than are kept
            const double* row = distances + ids_[at(i)] * k_;
            if (equal_distances(row[k_ - 1], row[ties.place])) wanted.push_back(i);
        }
        std::int64_t n_kept = 0;
        for_query_batches(wanted, nullptr, [&](const std::vector<Query>& queries) {
            compare(queries, run_);
            for (const Query& q : queries) {
                const double farthest = distances[q.feature * k_ + ties.place];
                std::vector<TiedFeatures::Neighbor> tied;
                for (const Other& other : std::span(q.begin, q.end)) {
                    const double distance = std::sqrt(other.sum) * compare.unit();
                    if (distance > farthest && !equal_distances(distance, farthest)) continue;
                    tied.push_back({other.feature, distance});
                }
                if (std::ssize(tied) > ties.most) continue;
                n_kept += std::ssize(tied);
                std::sort(tied.begin(), tied.end(), [](const auto& a, const auto& b) { return a.feature < b.feature; });
                ties.of[at(q.feature)] = std::move(tied);
            }
            run_.require_memory(n_kept * std::int64_t{sizeof(TiedFeatures::Neighbor)}, "features at equal distances",
                                "leave out copies of features");
        });
    }

    // Searches sampled features among all, overwrites their neighbours and distances with the exact ones, and returns
    // the share of their former neighbours that are as near as the exact ones.
    template <class Compare>
    double measure_recall(const std::vector<std::int64_t>& sample, Compare& compare, std::int64_t* neighbors,
                          double* distances) {
        Numbers listed;
        for (std::int64_t i : sample) {
            const double* row = distances + ids_[at(i)] * k_;
            listed.insert(listed.end(), row, row + k_);
        }
        search_again(sample, nullptr, compare, neighbors, distances);
        std::int64_t right = 0;
        for (std::size_t s = 0; s < sample.size(); ++s) {
            const double farthest = distances[ids_[at(sample[s])] * k_ + k_ - 1];
            right += std::count_if(&listed[s * at(k_)], &listed[s * at(k_)] + k_,
                                   [&](double distance) { return distance <= farthest; });
        }
        return share(right, static_cast<std::int64_t>(listed.size()));
    }

  private:
    // Multiplies blocks I and J, and offers each pair to the candidates of both features under the locks of both
    // blocks.
    void collect_from_blocks(std::int64_t I, std::int64_t J, std::vector<std::mutex>& owners, int slot) {
        const float* tile = products_with_block(source_.all(), I * kTile, block_size(I), J, slot);
        std::unique_lock first(owners[at(I)]), second(owners[at(J)], std::defer_lock);
        if (I != J) second.lock();
        search_tile(I, J, tile, slot);
    }

    // Multiplies the rows and columns of `sides`, and offers each pair that meets now to the candidates of both
    // features.
    void search_gathered(Gathered& sides, const Probed& probed, std::vector<std::mutex>& owners, int slot_) {
        const auto slot = at(slot_);
        const std::int64_t n = source_.n_samples(), ni = std::ssize(sides.rows);
        float* tile = tiles_[slot].data();
        Hit* hits = hits_[slot].data();
        auto offer = [&](const Hit& hit, std::int64_t first, bool to_row) {
            const std::int64_t i = sides.rows[hit.row], j = sides.columns[at(first + hit.col)];
            if (!probed.meets_now(i, j)) return;
            const std::int64_t feature = to_row ? i : j, other = to_row ? j : i;
            const std::scoped_lock lock(owners[at(feature % kOwners)]);
            candidates_.offer(feature, other, hit.value, scratch_[slot]);
        };
        const std::int64_t columns = std::ssize(sides.columns);
        for (std::int64_t first = 0; first < columns; first += kTile) {
            const std::int64_t nj = std::min(kTile, columns - first);
            source_.multiply_panels(sides.left.data(), ni, sides.right.data() + first * n, nj, tile);
            sides.row_bounds.gather_bounds(candidates_, sides.rows.data(), ni);
            sides.column_bounds.gather_bounds(candidates_, sides.columns.data() + first, nj);
            Hits of_rows{hits, hits}, of_cols{hits + kTile * kTile, hits + kTile * kTile};
            isa().select(tile, kTile, ni, nj, sides.row_bounds.floors, sides.row_bounds.limits,
                         sides.column_bounds.floors, sides.column_bounds.limits, &of_rows, &of_cols);
            for (const Hit& hit : std::span(of_rows.begin, of_rows.end)) offer(hit, first, true);
            for (const Hit& hit : std::span(of_cols.begin, of_cols.end)) offer(hit, first, false);
        }
    }

    void drop_hopeless_candidates() {
        parallel_for(run_, n_tiles(d_), [&](std::int64_t block, int slot) {
            for (std::int64_t i = block * kTile; i < std::min((block + 1) * kTile, d_); ++i) {
                candidates_.drop_hopeless(i, scratch_[at(slot)]);
            }
        });
    }

    // Returns a tile of inner products, in float, of ni features of `left` from i0 on with the features of block J; the
    // next call with this slot overwrites it.
    template <class Left>
    const float* products_with_block(const Left& left, std::int64_t i0, std::int64_t ni, std::int64_t J, int slot_) {
        const auto slot = at(slot_);
        const std::int64_t nj = block_size(J);
        T* tile = tiles_[slot].data();
        source_.multiply_blocks(left, i0, ni, J * kTile, nj, tile, rooms_[slot], run_);
        if constexpr (sizeof(T) == sizeof(float)) {
            return tile;
        } else {
            float* single = singles_[slot].data();
            for (std::int64_t a = 0; a < ni; ++a) {
                for (std::int64_t b = 0; b < nj; ++b) single[a * kTile + b] = static_cast<float>(tile[a * kTile + b]);
                std::fill(single + a * kTile + nj, single + (a + 1) * kTile, 0.0f);
            }
            return single;
        }
    }

    // Offers the pairs of blocks I and J, with their products in the tile, to the candidates of both features; if I ==
    // J, first lowers their limits. The caller holds the locks of both blocks.
    void search_tile(std::int64_t I, std::int64_t J, const float* tile, int slot) {
        const std::int64_t i0 = I * kTile, j0 = J * kTile, ni = block_size(I), nj = block_size(J);
        CandidateScratch& scratch = scratch_[at(slot)];
        for (std::int64_t a = 0; a < ni && I == J; ++a)
            candidates_.limit_from_own_block(i0 + a, i0, ni, tile + a * kTile, scratch);
        const float *floors = candidates_.floors(), *limits = candidates_.limits();
        Hit* hits = hits_[at(slot)].data();
        Hits of_rows{hits, hits}, of_cols{hits + kTile * kTile, hits + kTile * kTile};
        isa().select(tile, kTile, ni, nj, floors + i0, limits + i0, floors + j0, limits + j0, &of_rows, &of_cols);
        for (const Hit& hit : std::span(of_rows.begin, of_rows.end)) {
            if (I != J || hit.row != hit.col) candidates_.offer(i0 + hit.row, j0 + hit.col, hit.value, scratch);
        }
        if (I == J) return;
        for (const Hit& hit : std::span(of_cols.begin, of_cols.end)) {
            candidates_.offer(j0 + hit.col, i0 + hit.row, hit.value, scratch);
        }
    }

    // Searches features again, when limits are known, among the features that they have met, and overwrites their rows
    // of `neighbors` and `distances`.
    template <class Compare>
    void search_again(const std::vector<std::int64_t>& wanted, const Probed* probed, Compare& compare,
                      std::int64_t* neighbors, double* distances) {
        for_query_batches(wanted, probed, [&](const std::vector<Query>& queries) {
            write_nearest(compare, queries, neighbors, distances);
        });
    }

    // Calls f(queries) for batches of kSearchedAgain wanted features; a query lists all possible nearest features.
    template <class F>
    void for_query_batches(const std::vector<std::int64_t>& wanted, const Probed* probed, F&& f) {
        const auto all = static_cast<std::int64_t>(wanted.size());
        for (std::int64_t first = 0; first < all; first += kSearchedAgain) {
            const auto from = wanted.begin() + first;
            query_batch({from, from + std::min(kSearchedAgain, all - first)}, probed, f);
        }
    }

    // Calls f(queries) once, with a query for each wanted feature, which lists the features that could be among its
    // nearest; if `probed` is given, only features that it has met.
    template <class F>
    void query_batch(const std::vector<std::int64_t>& wanted, const Probed* probed, F& f) {
        const std::int64_t blocks = n_tiles(d_), size = static_cast<std::int64_t>(wanted.size());
        const typename Source::Some left = source_.some(wanted, run_);
        const float *floors = candidates_.floors(), *limits = candidates_.limits();
        std::vector<std::vector<Other>> parts(wanted.size() * at(blocks));
        parallel_for(run_, blocks, [&](std::int64_t J, int slot) {
            const float* tile = products_with_block(left, 0, size, J, slot);
            for (std::size_t w = 0; w < wanted.size(); ++w) {
                const std::int64_t i = wanted[w];
                const float* row = tile + static_cast<std::int64_t>(w) * kTile;
                auto& part = parts[w * at(blocks) + at(J)];
                for (std::int64_t b = 0; b < block_size(J); ++b) {
                    const std::int64_t j = J * kTile + b;
                    if (j == i || row[b] < floors[j] - limits[i] || (probed && !probed->meet(i, j))) continue;
                    part.push_back({0, ids_[at(j)]});
                }
            }
        });
        std::vector<std::vector<Other>> others(wanted.size());
        std::vector<Query> queries;
        for (std::size_t w = 0; w < wanted.size(); ++w) {
            auto& mine = others[w];
            for (std::int64_t J = 0; J < blocks; ++J) {
                auto& part = parts[w * at(blocks) + at(J)];
                mine.insert(mine.end(), part.begin(), part.end());
                part = {};
            }
            queries.push_back({ids_[at(wanted[w])], mine.data(), mine.data() + mine.size()});
        }
        f(queries);
    }

    // Compares the queries with `compare`, and writes the k nearest features of each, nearest first, with their
    // distances to its rows of `neighbors` and `distances`; ties go to the lower column. Throws InvalidArgument if a
    // distance overflows.
    template <class Compare>
    void write_nearest(Compare& compare, const std::vector<Query>& queries, std::int64_t* neighbors,
                       double* distances) {
        compare(queries, run_);
        parallel_for(run_, static_cast<std::int64_t>(queries.size()), [&](std::int64_t task, int) {
            const Query& q = queries[at(task)];
            for (Other& other : std::span(q.begin, q.end)) other.sum = std::sqrt(other.sum) * compare.unit();
            auto nearer = [](const Other& a, const Other& b) {
                return a.sum < b.sum || (a.sum == b.sum && a.feature < b.feature);
            };
            if (q.end - q.begin > 2 * k_) std::nth_element(q.begin, q.begin + k_, q.end, nearer);
            std::sort(q.begin, q.end - q.begin > 2 * k_ ? q.begin + k_ : q.end, nearer);
            for (std::int64_t c = 0; c < k_; ++c) {
                if (!std::isfinite(q.begin[c].sum)) {
                    throw InvalidArgument(
                        "the values of X are too large: distances overflow float64; divide X by a constant first");
                }
                neighbors[q.feature * k_ + c] = q.begin[c].feature;
                distances[q.feature * k_ + c] = q.begin[c].sum;
            }
        });
    }

    std::int64_t block_size(std::int64_t block) const { return std::min(kTile, d_ - block * kTile); }

    const Source& source_;
    const std::vector<std::int64_t>& ids_;
    const std::int64_t d_, k_;
    Run& run_;
    Candidates candidates_;
    std::vector<Buffer<T>> tiles_, rooms_;
    std::vector<Buffer<float>> singles_;
    std::vector<Buffer<Hit>> hits_;
    std::vector<CandidateScratch> scratch_;
};

}  // namespace

void nearest_features(const Samples& X, std::int64_t n_neighbors, Run& run, std::int64_t* neighbors, double* distances,
                      double end, TiedFeatures* ties) {
    nearest_features(X, up_to(X.n_rows()), n_neighbors, run, neighbors, distances, end, ties);
}

void nearest_features(const Samples& X, const std::vector<std::int64_t>& rows, std::int64_t n_neighbors, Run& run,
                      std::int64_t* neighbors, double* distances, double end, TiedFeatures* ties) {
    const std::vector<std::int64_t> columns = up_to(X.n_cols());
    const double unit = common_unit(maxima_of_differences(X, run), rows);
    // Writes the nearest features: collects candidates from products of `features`, and decides by the distances of
    // `compare`.
    auto search = [&](const auto& features, auto&& compare) {
        using T = std::remove_cvref_t<decltype(*features.squared_norms())>;
        const InBlocks<T> source(features);
        const Copies copies(features.hashes(run), std::ref(compare), std::max(n_neighbors, ties ? ties->most : 0) + 2,
                            run);
        Search<InBlocks<T>> s(source, columns, n_neighbors, in_order(features.squared_norms(), columns),
                              product_error_bounds(X, rows, features, run), run, copies.left_out());
        run.step("nearest features", end);
        s.collect();
        s.decide(compare, nullptr, neighbors, distances);
        copies.write_neighbors(n_neighbors, neighbors, distances);
        if (ties) s.add_ties(compare, distances, *ties);
    };
    if (X.is_sparse()) {
        const Features<double> features(X, rows, unit, Shift::kNone, run);
        search(features, SparseDistances(features));
    } else {
        search(Features<float>(X, rows, unit, Shift::kRow, run), DenseDistances(X, rows, unit));
    }
}

// Writes near features and distances: searches the probed lists, then the lists of the neighbours found there, and
// measures the recall on sampled features. Their neighbours become exact.
ListedNeighbors nearest_features_by_lists(const Samples& X, const std::vector<std::int64_t>& rows,
                                          std::int64_t n_neighbors, std::uint64_t seed, Run& run,
                                          std::int64_t* neighbors, double* distances, double end) {
    const double unit = common_unit(maxima_of_differences(X, run), rows);
    run.step("nearest features", end);
    Features<float> features(X, rows, unit, Shift::kRow, run);
    DenseDistances compare(X, rows, unit);
    const Copies copies(features.hashes(run), std::ref(compare), n_neighbors + 2, run);
    std::vector<std::int64_t> searched;
    for (std::int64_t c = 0; c < X.n_cols(); ++c) {
        if (copies.left_out().empty() || !copies.left_out()[at(c)]) searched.push_back(c);
    }
    if (std::ssize(searched) < X.n_cols()) features = Features<float>(features, searched, run);
    FeatureLists lists = feature_lists(features, n_neighbors, seed, run);
    std::vector<float> norms = in_order(features.squared_norms(), lists.order),
                       errors = in_order(product_error_bounds(X, rows, features, run).data(), lists.order);
    const OneByOne source(features, lists.order, run);
    features = {};
    for (std::int64_t& place : lists.order) place = searched[at(place)];
    Search<OneByOne> s(source, lists.order, n_neighbors, std::move(norms), std::move(errors), run);
    Probed probed{lists, {&lists.probes}};
    s.collect(probed);
    s.decide(compare, &probed, neighbors, distances);
    const Ragged more = lists_of_neighbors(lists, neighbors, n_neighbors, run);
    probed.rounds.push_back(&more);
    s.collect(probed);
    s.decide(compare, &probed, neighbors, distances);
    Random random(seed, 3);
    const std::int64_t d = std::ssize(searched);
    const double recall = s.measure_recall(random.subset(d, std::min(d, kRecallSample)), compare, neighbors, distances);
    copies.write_neighbors(n_neighbors, neighbors, distances);
    return {copies.insert_left_out(lists.order), recall};
}

std::int64_t nearest_features_memory(const Samples& X, std::int64_t n_neighbors, int n_threads) {
    const std::int64_t d = X.n_cols(), n = X.n_rows(), room = candidate_capacity(n_neighbors, d);
    const std::int64_t others = std::max(std::min(d * room, kCompared + room), d * 2 * kSearchedAgain);
    const std::int64_t candidates = Search<InBlocks<double>>::memory(d, n_neighbors, n_threads) + 64 * d +
                                    static_cast<std::int64_t>(sizeof(Other)) * others;
    if (X.is_sparse()) return Features<double>::memory(X, n) + candidates;
    return Features<float>::memory(X, n) + candidates + DenseDistances::memory(n, d);
}

std::int64_t nearest_features_by_lists_memory(const Samples& X, std::int64_t n_neighbors, int n_threads) {
    const std::int64_t d = X.n_cols(), n = X.n_rows();
    return std::max(nearest_features_memory(X, n_neighbors, n_threads), 2 * Features<float>::memory(X, n)) +
           feature_lists_memory(d, n, n_neighbors, n_threads) + n_threads * 4 * n * (2 * kTile + kGathered) +
           8 * kRecallSample * n_neighbors;
}

}  // namespace fastfs::core
