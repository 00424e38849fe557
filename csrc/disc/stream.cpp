#include "disc/stream.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "engines/isa/shared_rows.hpp"
#include "engines/isa/tiles.hpp"
#include "engines/neighbors.hpp"
#include "support/errors.hpp"
#include "support/fingerprint.hpp"
#include "support/parallel.hpp"
#include "support/random.hpp"

namespace fastfs::core {
namespace {

// The number of buckets to which a row is added, one in each part of the buckets.
constexpr std::int64_t kBucketsOfRow = 4, kPart = DiscStream::kBuckets / kBucketsOfRow;

// Candidates of each feature: 120 candidates contain .997 of the nearest 30 (2500 features, 4000 rows).
constexpr std::int64_t kCandidates = 120, kCandidatesPerNeighbor = 4;

// Batches of kRowsOfBits sparse rows that are sorted together; dense rows that are multiplied together.
constexpr std::int64_t kBatches = 8, kDenseAtOnce = 64;

constexpr std::int64_t kFeaturesOfTask = 128;

// Second features of a block of pairs, a task: the values of 1024 features in a batch take 0.16 MB if 3 % of them are
// nonzero, and stay in an L2 cache. Zen 4: 2048 features are as fast, 4096 take 1.4 times as long, all 20,000 four
// times.
constexpr std::int64_t kSecond = 1024;

// Returns samples that read `values` in place: kBuckets sketched rows, and a row of means.
Samples sketched_rows(const float* values, std::int64_t n_cols) {
    fastfs_matrix m = FASTFS_MATRIX_INIT;
    m.dtype = FASTFS_FLOAT32;
    m.n_rows = DiscStream::kBuckets + 1;
    m.n_cols = n_cols;
    m.values = values;
    m.row_stride = n_cols;
    return Samples(Matrix(m));
}

constexpr const char* kHint = "give fewer features";

constexpr const char* kOneForm =
    "all blocks of X with rows of small groups must have one dtype, and be sparse if one is: convert them";

struct Near {
    double squared;
    std::int64_t other;
    bool operator<(const Near& right) const {
        return squared != right.squared ? squared < right.squared : other < right.other;
    }
};

// Rows of one group: order[begin..end - 1].
struct Batch {
    std::int64_t sketch, begin, end;
};

// A batch of up to kRowsOfBits rows of a CSR matrix, sorted by column.
template <class V>
class SortedRows {
  public:
    // Returns the bytes for up to n_values values.
    static std::int64_t memory(std::int64_t n_cols, std::int64_t n_values) {
        return n_cols * (12 * kRowWords + 4) + std::int64_t{sizeof(V)} * n_values;
    }

    // Sorts the entries of the rows which[0..n_rows - 1] by column, and sets the bits of the rows in which each column
    // has one.
    template <class P, class I>
    void sort_rows(const V* from, const P* indptr, const I* indices, const std::int64_t* which, std::int64_t n_rows,
                   std::int64_t n_cols) {
        if (bits_.size() == 0) {
            bits_ = Buffer<std::uint64_t>(n_cols * kRowWords);
            begins_ = Buffer<std::int32_t>(n_cols * kRowWords);
        }
        std::fill_n(bits_.data(), bits_.size(), 0);
        for (std::int64_t r = 0; r < n_rows; ++r) {
            for (std::int64_t e = indptr[which[r]]; e < indptr[which[r] + 1]; ++e) {
                bits_[indices[e] * kRowWords + r / 64] |= std::uint64_t{1} << (r % 64);
            }
        }
        std::int32_t n_values = 0;
        next_.clear();
        for (std::int64_t word = 0; word < bits_.size(); ++word) {
            if (word % kRowWords == 0) next_.push_back(n_values);
            begins_[word] = n_values;
            n_values += std::popcount(bits_[word]);
        }
        if (values_.size() < n_values) values_ = Buffer<V>(n_values);
        for (std::int64_t r = 0; r < n_rows; ++r) {
            for (std::int64_t e = indptr[which[r]]; e < indptr[which[r] + 1]; ++e) {
                values_[next_[at(indices[e])]++] = from[e];
            }
        }
    }

    ColumnsOfRows<V> columns() const { return {bits_.data(), begins_.data(), values_.data()}; }

  private:
    Buffer<std::uint64_t> bits_;
    Buffer<std::int32_t> begins_;
    std::vector<std::int32_t> next_;
    Buffer<V> values_;
};

// Returns the function of the instruction set that adds products of sorted rows with values of type V.
template <class V>
AddProducts<V> add_products_of_rows() {
    if constexpr (sizeof(V) == sizeof(float)) {
        return isa().shared->f32;
    } else {
        return isa().shared->f64;
    }
}

}  // namespace

DiscStream::DiscStream(std::int64_t n_rows, std::int64_t n_cols, const std::int64_t* labels, std::int64_t n_groups,
                       const fastfs_disc_options& options)
    : rows_(n_rows),
      sums_(n_cols <= FASTFS_DISC_MOST_SUMS ? FeatureSums(n_cols, n_groups) : FeatureSums(n_cols, n_groups, {})) {
    auto plan = std::make_shared<Plan>();
    plan->n_rows = n_rows;
    plan->n_cols = n_cols;
    plan->labels.assign(labels, labels + n_rows);
    plan->sizes.assign(at(n_groups), 0);
    for (std::int64_t r = 0; r < n_rows; ++r) ++plan->sizes[at(labels[r])];
    for (std::int64_t size : plan->sizes) {
        plan->sketch_of.push_back(sums_.is_whole() || size <= kBuckets ? -1 : plan->n_sketches++);
    }
    plan->n_neighbors = std::min(std::max(options.bandwidth_neighbors, options.n_neighbors), n_cols - 1);
    plan->n_candidates = std::min(std::max(kCandidates, kCandidatesPerNeighbor * plan->n_neighbors), n_cols - 1);
    plan->seed = options.seed;
    plan->fingerprint = Fingerprint()
                            .hash(n_rows)
                            .hash(n_cols)
                            .hash(plan->labels)
                            .hash(n_groups)
                            .hash(plan->n_neighbors)
                            .hash(plan->n_candidates)
                            .hash(&plan->seed, 1)
                            .value();
    for (std::int64_t s = 0; s < plan->n_sketches; ++s) sketches_.push_back(numbers(kBuckets * (n_cols + 1)));
    plan_ = std::move(plan);
}

std::int64_t DiscStream::memory(std::int64_t n_rows, std::int64_t n_cols, const std::int64_t* labels,
                                std::int64_t n_groups) {
    const std::int64_t bytes = 8 * (n_rows + n_groups) + RowSet::memory(n_rows);
    if (n_cols <= FASTFS_DISC_MOST_SUMS) return bytes + FeatureSums::memory_of_all(n_cols, n_groups);
    std::vector<std::int64_t> sizes(at(n_groups), 0);
    for (std::int64_t r = 0; r < n_rows; ++r) ++sizes[at(labels[r])];
    const auto n_sketches = std::count_if(sizes.begin(), sizes.end(), [](auto size) { return size > kBuckets; });
    return bytes + FeatureSums::memory(n_cols, n_groups, 0) + 8 * n_sketches * kBuckets * (n_cols + 1);
}

void DiscStream::update(const Matrix& X, std::int64_t first_row, Run& run) {
    run.step("reading rows", 1.0);
    rows_.require_new(first_row, first_row + X.n_rows());
    if (pass_ == 1) {
        if (!sums_.is_whole()) {
            require_memory_of_rows(X, first_row, run);
            require_like_kept(X, first_row);
        }
        sums_.update(X, plan_->labels.data() + first_row, run);  // all or nothing
        Intact::Change change(intact_);
        if (!sums_.is_whole()) {
            keep_rows(X, first_row);
            add_to_sketches(X, first_row, run);
        }
        change.finish();
    } else {
        X.row_maxima(run);  // refuses NaN and infinity
        add_products(X, first_row, run);
    }
    rows_.add_rows(first_row, first_row + X.n_rows());
}

// Rows with the buckets and signs of their sketches.
struct DiscStream::Signed {
    std::int64_t row;
    double sign;
};

// Throws OutOfMemory unless the budget holds the update by a block of X, with the rows of small groups so far and in
// it.
void DiscStream::require_memory_of_rows(const Matrix& X, std::int64_t first_row, const Run& run) const {
    std::int64_t row_bytes = kept_rows_.memory();
    for (std::int64_t r = 0; r < X.n_rows(); ++r) {
        if (is_kept(first_row + r)) row_bytes += KeptRows::memory(X, r);
    }
    const std::int64_t of_buckets = X.n_rows() * (8 + 2 * kBucketsOfRow * std::int64_t{sizeof(Signed)});
    run.require_memory(row_bytes + std::max(sums_.update_memory(X, run.n_threads()), of_buckets),
                       {"a block of ", X.n_rows(), " rows, with those of small groups so far,"}, kHint);
}

void DiscStream::require_like_kept(const Matrix& X, std::int64_t first_row) const {
    if (kept_rows_.has_form_of(X)) return;
    for (std::int64_t r = 0; r < X.n_rows(); ++r) require(!is_kept(first_row + r), kOneForm);
}

void DiscStream::keep_rows(const Matrix& X, std::int64_t first_row) {
    for (std::int64_t r = 0; r < X.n_rows(); ++r) {
        if (is_kept(first_row + r)) kept_rows_.keep_row(X, r, first_row + r);
    }
}

// Adds each row, a dense one less its offset, with random signs to kBucketsOfRow buckets of the sketch of its group;
// the signs and buckets depend on the seed and the row.
void DiscStream::add_to_sketches(const Matrix& X, std::int64_t first_row, Run& run) {
    const std::int64_t p = n_cols();
    std::vector<std::vector<Signed>> of_bucket(at(plan_->n_sketches * kBuckets));
    for (std::int64_t r = 0; r < X.n_rows(); ++r) {
        const std::int64_t sketch = plan_->sketch_of[at(plan_->labels[at(first_row + r)])];
        if (sketch < 0) continue;
        std::uint64_t bits = Random(plan_->seed, static_cast<std::uint64_t>(first_row + r)).bits();
        for (std::int64_t h = 0; h < kBucketsOfRow; ++h) {
            const double sign = (bits & 1) ? 1 : -1;
            bits >>= 1;
            const std::int64_t bucket = h * kPart + static_cast<std::int64_t>(bits % kPart);
            bits /= kPart;
            of_bucket[at(sketch * kBuckets + bucket)].push_back({r, sign});
        }
    }
    // Each bucket belongs to one task, which takes the rows in their order.
    const auto for_buckets = [&](auto&& add) {
        parallel_for(run, std::ssize(of_bucket), [&](std::int64_t task, int slot) {
            double* to = sketches_[at(task / kBuckets)].data() + task % kBuckets * (p + 1);
            for (const auto& [row, sign] : of_bucket[at(task)]) {
                add(row, sign, to, slot);
                to[p] += sign;
            }
        });
    };
    if (X.is_sparse()) {
        visit_sparse(X.description(), [&](auto* values, auto* indptr, auto* indices) {
            for_buckets([&](std::int64_t row, double sign, double* to, int) {
                for (std::int64_t e = indptr[row]; e < indptr[row + 1]; ++e) {
                    to[indices[e]] += sign * static_cast<double>(values[e]);
                }
            });
        });
        return;
    }
    const Numbers offsets = row_offsets(X, run);
    visit_values(X.description(), [&]<class T>(const Values<T>& x) {
        auto room = buffers<T>(run.n_threads(), 0);  // of genotypes
        for_buckets([&](std::int64_t row, double sign, double* to, int slot) {
            const auto [values, rs, cs] = x.block(row, row + 1, 0, p, room[at(slot)]);
            const double offset = offsets[at(row)];
            for (std::int64_t j = 0; j < p; ++j) to[j] += sign * (static_cast<double>(values[j * cs]) - offset);
        });
    });
}

void DiscStream::merge(const DiscStream& other) {
    rows_.require_new(other.rows_);
    require(kept_rows_.has_form_of(other.kept_rows_), kOneForm);
    KeptRows rows = kept_rows_;  // a copy that shares the stored rows
    rows.merge(other.kept_rows_);
    // Nothing fails from here on.
    rows_.add_rows(other.rows_);
    const auto add = [](std::vector<Numbers>& to, const std::vector<Numbers>& from) {
        for (std::size_t s = 0; s < to.size(); ++s) {
            for (std::size_t e = 0; e < to[s].size(); ++e) to[s][e] += from[s][e];
        }
    };
    if (pass_ == 1) {
        sums_.merge(other.sums_);
        kept_rows_ = std::move(rows);
        add(sketches_, other.sketches_);
    } else {
        add(products_, other.products_);
    }
}

void DiscStream::save_state(ByteWriter& to) const {
    rows_.save_state(to);
    if (pass_ == 1) {
        sums_.save_state(to);
        for (const Numbers& sketch : sketches_) to.put(sketch);
        to.put(kept_rows_.is_sparse());
        to.put(kept_rows_.is_float32());
        kept_rows_.save_state(to);
    } else {
        for (const Numbers& products : products_) to.put(products);
    }
}

// Replaces the state of this pass by a saved one, after checking all of it.
void DiscStream::load_state(ByteReader& from) {
    DiscStream other = *this;
    other.rows_.load_state(from);
    const auto get = [&](std::vector<Numbers>& to) {
        for (Numbers& numbers : to) {
            const std::size_t size = numbers.size();
            from.get(numbers);
            from.expect(numbers.size() == size);
            from.expect(std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); }));
        }
    };
    if (pass_ == 1) {
        other.sums_.set_numbers(sums_.read_numbers(from));
        Numbers counts = core::numbers(n_groups());
        other.sums_.counts(counts.data());
        for (std::size_t g = 0; g < counts.size(); ++g) from.expect(counts[g] <= static_cast<double>(plan_->sizes[g]));
        get(other.sketches_);
        const bool is_sparse = from.get() != 0, is_float32 = from.get() != 0;
        other.kept_rows_ = {};
        other.kept_rows_.load_state(from, n_rows(), n_cols(), is_sparse, is_float32);
        for (const std::int64_t row : other.kept_rows_.numbers()) {
            from.expect(!sums_.is_whole() && is_kept(row));
        }
    } else {
        get(other.products_);
    }
    from.expect_end();
    *this = std::move(other);
}

// Returns the bytes that next_pass takes.
std::int64_t DiscStream::memory_of_next(const Run& run) const {
    const std::int64_t p = n_cols(), k = plan_->n_candidates;
    if (!is_sketch()) return kept_rows_.memory();
    if (pass_ == 1) {
        // Only the shape of the sketches matters.
        const Samples rows = sketched_rows(reinterpret_cast<const float*>(sketches_.front().data()), p);
        return kept_rows_.memory() + 4 * (kBuckets + 1) * p + nearest_features_memory(rows, k, run.n_threads()) +
               16 * p * k * plan_->n_sketches + 24 * p * k;
    }
    std::int64_t most = 0;
    for (const Pairs& pairs : search_->pairs) most = std::max(most, pairs.size());
    return 16 * p * plan_->n_neighbors * plan_->n_sketches + 2 * std::int64_t{sizeof(Near)} * most + 24 * p;
}

void DiscStream::next_pass(Run& run) {
    run.require_memory(memory_of_next(run), {"the nearest of ", n_cols(), " features"}, kHint);
    if (pass_ == 1) {
        auto search = std::make_shared<Search>();
        search->kept.resize(at(n_groups()));
        std::vector<Numbers> products;
        for (std::int64_t g = 0; g < n_groups(); ++g) {
            if (plan_->sketch_of[at(g)] >= 0) {
                search->pairs.push_back(candidate_pairs(g, run));
                products.push_back(numbers(search->pairs.back().size()));
            } else if (!sums_.is_whole()) {
                KeptRows rows = kept_rows_;
                std::vector<std::int64_t> rows_of_group;
                for (const std::int64_t row : kept_rows_.numbers()) {
                    if (plan_->labels[at(row)] == g) rows_of_group.push_back(row);
                }
                rows.keep_only(rows_of_group);
                search->kept[at(g)] = rows.matrix(n_cols());
            }
        }
        Fingerprint fingerprint;
        for (const Pairs& pairs : search->pairs) fingerprint.hash(pairs.first).hash(pairs.second);
        search->fingerprint = fingerprint.value();
        // Nothing fails from here on: a call that is canceled can be made again.
        sketches_ = {};
        kept_rows_ = {};
        products_ = std::move(products);
        search_ = std::move(search);
    } else {
        auto nearest_of_groups = std::make_shared<std::vector<Found>>();
        for (std::int64_t g = 0; g < n_groups(); ++g) {
            nearest_of_groups->push_back(plan_->sketch_of[at(g)] < 0 ? Found{} : nearest_candidates(g, run));
        }
        products_ = {};
        found_ = std::move(nearest_of_groups);
    }
    ++pass_;
    rows_.clear();
}

// Returns the pairs of features that the second pass multiplies, each pair once: each feature with its nearest ones by
// the sketch of the group. Scales sketched columns to the norms of the features, so that only the angles between them
// are estimated. Means are known, so columns are sketched as if they were centred, and the means make an additional
// row.
DiscStream::Pairs DiscStream::candidate_pairs(std::int64_t group, Run& run) const {
    const std::int64_t p = n_cols(), k = plan_->n_candidates;
    const Numbers& sketch = sketches_[at(plan_->sketch_of[at(group)])];
    const FeatureSums::Total total = sums_.total({group}, Name::set(group));
    Buffer<float> columns((kBuckets + 1) * p);
    const double unit = std::sqrt(*std::max_element(total.norms.begin(), total.norms.end()));
    parallel_for(run, ceil_div(p, kFeaturesOfTask), [&](std::int64_t task, int) {
        for (std::int64_t i = task * kFeaturesOfTask; i < std::min((task + 1) * kFeaturesOfTask, p); ++i) {
            const double mean = (total.sums[at(i)] - total.offsets) / total.n_rows,
                         norm = std::max(0.0, total.norms[at(i)] - total.n_rows * mean * mean);
            const auto centred = [&](std::int64_t b) {
                const double* bucket = sketch.data() + b * (p + 1);
                return bucket[i] - mean * bucket[p];
            };
            double square = 0;
            for (std::int64_t b = 0; b < kBuckets; ++b) square += centred(b) * centred(b);
            const double factor = square > 0 ? std::sqrt(norm / square) / unit : 0;
            for (std::int64_t b = 0; b < kBuckets; ++b) columns[b * p + i] = static_cast<float>(factor * centred(b));
            columns[kBuckets * p + i] = unit > 0 ? static_cast<float>(std::sqrt(total.n_rows) * mean / unit) : 0.0f;
        }
    });
    Buffer<std::int64_t> neighbors(p * k);
    Buffer<double> distances(p * k);
    nearest_features(sketched_rows(columns.data(), p), k, run, neighbors.data(), distances.data());
    // Either feature of a pair can be the first one: it is the lower one in half of the pairs, so that blocks have
    // similar sizes.
    std::vector<std::vector<std::int32_t>> others(at(p));
    for (std::int64_t i = 0; i < p; ++i) {
        for (std::int64_t e = i * k; e < (i + 1) * k; ++e) {
            const auto [low, high] = std::minmax(i, neighbors[e]);
            const bool is_low = (low + high) % 2 == 0;
            others[at(is_low ? low : high)].push_back(static_cast<std::int32_t>(is_low ? high : low));
        }
    }
    Pairs pairs;
    pairs.begins.assign(at(ceil_div(p, kSecond) + 1), 0);
    for (std::vector<std::int32_t>& partners : others) {
        std::sort(partners.begin(), partners.end());
        partners.erase(std::unique(partners.begin(), partners.end()), partners.end());
        for (const std::int32_t j : partners) ++pairs.begins[at(j / kSecond + 1)];
    }
    std::partial_sum(pairs.begins.begin(), pairs.begins.end(), pairs.begins.begin());
    pairs.first.resize(at(pairs.begins.back()));
    pairs.second.resize(pairs.first.size());
    std::vector<std::int64_t> next = pairs.begins;
    for (std::int64_t i = 0; i < p; ++i) {
        for (const std::int32_t j : others[at(i)]) {
            const std::int64_t to = next[at(j / kSecond)]++;
            pairs.first[at(to)] = static_cast<std::int32_t>(i);
            pairs.second[at(to)] = j;
        }
    }
    return pairs;
}

// Adds the products of the candidate pairs in these rows to products_, for each group with a sketch. Each product is
// summed by one task, in the order of the rows.
void DiscStream::add_products(const Matrix& X, std::int64_t first_row, Run& run) {
    const std::int64_t p = n_cols(), n = X.n_rows(), rows_at_once = X.is_sparse() ? kRowsOfBits : kDenseAtOnce;
    const std::int64_t* groups = plan_->labels.data() + first_row;
    const std::int64_t n_values = X.is_sparse() ? std::min(X.n_stored(), kBatches * kRowsOfBits * p) : 0;
    run.require_memory(
        24 * n + (X.is_sparse() ? SortedRows<double>::memory(kBatches * p, n_values) : 8 * kDenseAtOnce * p),
        {"the products of ", n, " rows"}, kHint);
    const std::vector<std::int64_t> order = by_group(groups, n, n_groups());
    std::vector<Batch> batches;
    for (std::int64_t begin = 0, end = 0; begin < n; begin = end) {
        const std::int64_t group = groups[order[at(begin)]], sketch = plan_->sketch_of[at(group)];
        while (end < n && end < begin + rows_at_once && groups[order[at(end)]] == group) ++end;
        if (sketch >= 0) batches.push_back({sketch, begin, end});
    }
    // Calls add(first, second, n, products) with the pairs of a block.
    const auto for_block = [&](std::int64_t sketch, std::int64_t block, auto&& add) {
        const Pairs& pairs = search_->pairs[at(sketch)];
        const std::int64_t begin = pairs.begins[at(block)], end = pairs.begins[at(block + 1)];
        add(pairs.first.data() + begin, pairs.second.data() + begin, end - begin, products_[at(sketch)].data() + begin);
    };
    const std::int64_t n_blocks = ceil_div(p, kSecond);
    Intact::Change change(intact_);
    if (X.is_sparse()) {
        with_ascending_columns(X, [&](const auto* values, const auto* indptr, const auto* indices) {
            using V = std::remove_cvref_t<decltype(*values)>;
            std::array<SortedRows<V>, kBatches> sorted;
            for (std::int64_t first = 0; first < std::ssize(batches); first += kBatches) {
                const std::int64_t count = std::min<std::int64_t>(kBatches, std::ssize(batches) - first);
                parallel_for(run, count, [&](std::int64_t b, int) {
                    const Batch& batch = batches[at(first + b)];
                    sorted[at(b)].sort_rows(values, indptr, indices, order.data() + batch.begin,
                                            batch.end - batch.begin, p);
                });
                parallel_for(run, n_blocks, [&](std::int64_t block, int) {
                    for (std::int64_t b = 0; b < count; ++b) {
                        for_block(batches[at(first + b)].sketch, block,
                                  [&](auto... pairs) { add_products_of_rows<V>()(sorted[at(b)].columns(), pairs...); });
                    }
                });
            }
        });
        change.finish();
        return;
    }
    const Numbers offsets = row_offsets(X, run);
    Buffer<double> columns(p * kDenseAtOnce);
    visit_values(X.description(), [&]<class T>(const Values<T>& x) {
        auto room = buffers<T>(run.n_threads(), 0);  // of genotypes
        for (const Batch& batch : batches) {
            const std::int64_t m = batch.end - batch.begin;
            parallel_for(run, n_blocks, [&](std::int64_t task, int slot) {
                const std::int64_t i0 = task * kSecond, i1 = std::min(i0 + kSecond, p);
                for (std::int64_t r = 0; r < m; ++r) {
                    const std::int64_t row = order[at(batch.begin + r)];
                    const auto [values, rs, cs] = x.block(row, row + 1, i0, i1, room[at(slot)]);
                    for (std::int64_t i = i0; i < i1; ++i) {
                        columns[i * m + r] = static_cast<double>(values[(i - i0) * cs]) - offsets[at(row)];
                    }
                }
            });
            parallel_for(run, n_blocks, [&](std::int64_t block, int) {
                for_block(batch.sketch, block, [&](const auto* i, const auto* j, std::int64_t n_pairs, double* to) {
                    for (std::int64_t e = 0; e < n_pairs; ++e) {
                        const double *a = columns.data() + i[e] * m, *b = columns.data() + j[e] * m;
                        double product = 0;
                        row_kernels<double>().dots(&a, 1, b, m, &product);
                        to[e] += product;
                    }
                });
            });
        }
    });
    change.finish();
}

// Returns the n_neighbors nearest features of each feature, nearest first, with their distances, among its candidates
// and the features that have it as a candidate.
DiscStream::Found DiscStream::nearest_candidates(std::int64_t group, Run& run) const {
    const std::int64_t p = n_cols(), k = plan_->n_neighbors;
    const auto sketch = at(plan_->sketch_of[at(group)]);
    const Pairs& pairs = search_->pairs[sketch];
    const FeatureSums::Total total = sums_.total({group}, Name::set(group));
    std::vector<std::vector<Near>> near(at(p));
    std::uint8_t lost = 0;
    for (std::size_t e = 0; e < pairs.first.size(); ++e) {
        const std::int64_t i = pairs.first[e], j = pairs.second[e];
        const double squared = total.distance(i, j, products_[sketch][e], lost);
        near[at(i)].push_back({squared, j});
        near[at(j)].push_back({squared, i});
    }
    Found result{Buffer<std::int64_t>(p * k), Buffer<double>(p * k), lost != 0};
    parallel_for(run, ceil_div(p, kFeaturesOfTask), [&](std::int64_t task, int) {
        for (std::int64_t i = task * kFeaturesOfTask; i < std::min((task + 1) * kFeaturesOfTask, p); ++i) {
            std::vector<Near>& near_features = near[at(i)];
            std::partial_sort(near_features.begin(), near_features.begin() + k, near_features.end());
            for (std::int64_t e = 0; e < k; ++e) {
                result.neighbors[i * k + e] = near_features[at(e)].other;
                result.distances[i * k + e] = std::sqrt(near_features[at(e)].squared);
            }
        }
    });
    return result;
}

DiscSet DiscStream::disc_set(std::int64_t group) const {
    DiscSet set;
    set.n_features = n_cols();
    if (sums_.is_whole()) {
        set.sums = &sums_;
        set.group = group;
    } else if (plan_->sketch_of[at(group)] < 0) {
        set.X = search_->kept[at(group)].matrix;
    } else {
        const Found& nearest_of_group = (*found_)[at(group)];
        set.neighbors = nearest_of_group.neighbors.data();
        set.distances = nearest_of_group.distances.data();
        set.n_neighbors = plan_->n_neighbors;
        set.lost_digits = nearest_of_group.lost;
    }
    return set;
}

}  // namespace fastfs::core
