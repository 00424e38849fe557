// The baseline's kernels against those of every other instruction set of this machine, on numbers whose sums are exact
// in any order, so that the results must be equal.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "call.hpp"
#include "engines/isa/form_tiles.hpp"
#include "engines/isa/genotype_bits.hpp"
#include "engines/isa/genotype_tables.hpp"
#include "engines/isa/tiles.hpp"

namespace fastfs::core {
extern const Isa isa_base;
#if defined(__x86_64__)
extern const Isa isa_avx2;
extern const Isa isa_avx512;
#elif defined(__aarch64__)
extern const Isa isa_neon;
#endif
}  // namespace fastfs::core

namespace fuzz {
namespace {

using namespace fastfs::core;

std::vector<const Isa*> others() {
    std::vector<const Isa*> all;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) all.push_back(&isa_avx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl")) {
        all.push_back(&isa_avx512);
    }
#elif defined(__aarch64__)
    all.push_back(&isa_neon);
#endif
    return all;
}

// An array at 64 bytes, of whose values `from` on are NaN or zero until they are written.
template <class T>
class Array {
  public:
    explicit Array(std::int64_t n) : size_(n), values_(static_cast<T*>(std::aligned_alloc(64, rounded(n)))) {
        std::fill(values_, values_ + rounded(n) / static_cast<std::int64_t>(sizeof(T)), T(0));
    }
    Array(const Array& other) : Array(other.size_) { std::copy(other.values_, other.values_ + size_, values_); }
    Array& operator=(const Array&) = delete;
    ~Array() { std::free(values_); }
    T* data() { return values_; }
    const T* data() const { return values_; }
    T& operator[](std::int64_t k) { return values_[k]; }
    bool operator==(const Array& other) const {
        return std::equal(values_, values_ + size_, other.values_,
                          [](T a, T b) { return a == b || (a != a && b != b); });
    }

  private:
    static std::int64_t rounded(std::int64_t n) { return (n * static_cast<std::int64_t>(sizeof(T)) + 64) / 64 * 64; }
    std::int64_t size_;
    T* values_;
};

// Quarters from -8 to 8, a few of them NaN if there are gaps.
template <class T>
Array<T> draw_numbers(Random& random, std::int64_t n, bool gaps = false) {
    Array<T> all(n);
    for (std::int64_t k = 0; k < n; ++k) {
        all[k] = gaps && random.below(8) == 0 ? T(NAN) : static_cast<T>(static_cast<double>(random.below(65) - 32) / 4);
    }
    return all;
}

template <class T>
Array<T> draw_words(Random& random, std::int64_t n, std::uint64_t mask = ~std::uint64_t{0}) {
    Array<T> all(n);
    for (std::int64_t k = 0; k < n; ++k) all[k] = static_cast<T>(random.word() & mask);
    return all;
}

// One kernel by the baseline and by the others: `call` writes to the arrays that it is given.
template <class Call, class... Results>
void compare(const char* kernel, const Call& call, const Results&... start) {
    const auto run = [&](const Isa& isa) {
        std::tuple<Results...> results(start...);
        std::apply([&](auto&... result) { call(isa, result...); }, results);
        return results;
    };
    const auto wanted = run(isa_base);
    for (const Isa* isa : others()) {
        expect(run(*isa) == wanted, kernel, std::string("other results with ") + isa->name + " than with base");
    }
}

template <class T>
const TileKernels<T>& tiles_of(const Isa& isa) {
    if constexpr (std::is_same_v<T, float>) {
        return isa.f32;
    } else {
        return isa.f64;
    }
}

template <class T, class Kernels>
const auto& typed(const Kernels& kernels) {
    if constexpr (std::is_same_v<T, float>) {
        return kernels.f32;
    } else {
        return kernels.f64;
    }
}

template <class T>
void try_tiles(Input& in, Random& random) {
    const std::int64_t n = in.from(1, 200), rows = in.from(1, 2 * kPanel<T>), cols = in.from(1, 2 * kPanel<T>);
    const std::int64_t ld = 2 * kPanel<T> + in.below(3), stride = n * kPanel<T>;
    const auto left = draw_numbers<T>(random, 2 * stride), right = draw_numbers<T>(random, 2 * stride);
    const auto tile = draw_numbers<T>(random, rows * ld);
    const bool add = in.one_in(2);
    compare(
        "gram",
        [&](const Isa& isa, Array<T>& to) {
            tiles_of<T>(isa).gram(left.data(), right.data(), stride, n, add, to.data(), ld, rows, cols);
        },
        tile);
    auto row_norms = draw_numbers<T>(random, rows), col_norms = draw_numbers<T>(random, cols);
    for (std::int64_t a = 0; a < rows; ++a) row_norms[a] = std::abs(row_norms[a]);
    for (std::int64_t b = 0; b < cols; ++b) col_norms[b] = std::abs(col_norms[b]);
    const T tolerance = in.pick({T(0), T(0.25), T(1) / 1024});
    compare(
        "sqdist",
        [&](const Isa& isa, Array<T>& to, Array<std::int64_t>& marks) {
            marks[0] =
                tiles_of<T>(isa).sqdist(to.data(), ld, rows, cols, row_norms.data(), col_norms.data(), tolerance);
        },
        tile, Array<std::int64_t>(1));
    const auto with_gaps = draw_numbers<T>(random, n, in.one_in(2));
    const T largest = in.pick({T(8), T(7.75), T(0)});
    const std::int64_t eights = n / 8 * 8;
    compare(
        "within and squared_distance",
        [&](const Isa& isa, Array<double>& to) {
            to[0] = tiles_of<T>(isa).within(with_gaps.data(), n, largest);
            to[1] = tiles_of<T>(isa).squared_distance(left.data(), right.data(), eights);
        },
        Array<double>(2));
    const auto shifts = draw_numbers<T>(random, kPanel<T>);
    compare(
        "shift",
        [&](const Isa& isa, Array<T>& panel, Array<double>& sums, Array<double>& squares) {
            tiles_of<T>(isa).shift(left.data(), kPanel<T>, n, shifts.data(), panel.data(), sums.data(), squares.data());
        },
        Array<T>(stride), Array<double>(kPanel<T>), Array<double>(kPanel<T>));
    const auto store = [&]<class Out>(const char* name, StoreTile<T, Out> Isa::* of) {
        const std::int64_t most = std::max(rows, cols), out_ld = most + in.below(5), place = in.below(16);
        const bool stream = in.one_in(2), plain = in.one_in(2), mirrored = !plain || in.one_in(2);
        compare(
            name,
            [&](const Isa& isa, Array<Out>& out, Array<Out>& other) {
                (isa.*of)(tile.data(), ld, rows, cols, Out(0.5), plain ? out.data() + place : nullptr,
                          mirrored ? other.data() + place : nullptr, out_ld, stream);
            },
            Array<Out>(place + most * out_ld), Array<Out>(place + most * out_ld));
    };
    if constexpr (std::is_same_v<T, float>) {
        store.template operator()<float>("store_f32", &Isa::store_f32);
    } else {
        store.template operator()<float>("store_f64_as_f32", &Isa::store_f64_as_f32);
        store.template operator()<double>("store_f64", &Isa::store_f64);
    }
}

void try_search(Input& in, Random& random) {
    const std::int64_t rows = in.from(1, 100), cols = in.from(1, 100), panel = kPanel<float>;
    const std::int64_t ld = (cols + panel - 1) / panel * panel;
    const auto tile = draw_numbers<float>(random, rows * ld), row_floors = draw_numbers<float>(random, rows),
               row_limits = draw_numbers<float>(random, rows);
    auto col_floors = draw_numbers<float>(random, ld), col_limits = draw_numbers<float>(random, ld);
    for (std::int64_t b = cols; b < ld; ++b) col_floors[b] = INFINITY, col_limits[b] = -INFINITY;
    compare(
        "select",
        [&](const Isa& isa, Array<float>& of_rows, Array<float>& of_cols) {
            std::vector<Hit> room(static_cast<std::size_t>(2 * rows * ld));
            Hits hits[2] = {{room.data(), nullptr}, {room.data() + rows * ld, nullptr}};
            isa.select(tile.data(), ld, rows, cols, row_floors.data(), row_limits.data(), col_floors.data(),
                       col_limits.data(), hits, hits + 1);
            for (int side = 0; side < 2; ++side) {
                float* to = (side ? of_cols : of_rows).data();
                for (const Hit* hit = hits[side].begin; hit != hits[side].end; ++hit) {
                    *to++ = static_cast<float>(hit->row * 128 + hit->col);
                    *to++ = hit->value;
                }
            }
        },
        Array<float>(2 * rows * ld), Array<float>(2 * rows * ld));
    const std::int64_t k = in.from(1, std::min<std::int64_t>(rows, 50));
    compare(
        "bound_kth", [&](const Isa& isa, Array<float>& to) { to[0] = isa.bound_kth(row_floors.data(), rows, k); },
        Array<float>(1));
}

void try_blocks(Input& in, Random& random) {
    const std::int64_t rows = in.from(1, 60), m = in.from(1, 60), ld = m + in.below(4), panel = kPanel<double>;
    const auto A = draw_numbers<double>(random, std::max(rows * ld, m * panel)),
               X = draw_numbers<double>(random, std::max(m, rows) * kBlock);
    const bool add = in.one_in(2);
    compare(
        "multiply",
        [&](const Isa& isa, Array<double>& Y) {
            isa.blocks->multiply(A.data(), ld, rows, m, X.data(), 0.5, add, Y.data());
        },
        draw_numbers<double>(random, rows * kBlock));
    compare(
        "multiply_panel",
        [&](const Isa& isa, Array<double>& Y) { isa.blocks->multiply_panel(A.data(), m, X.data(), Y.data()); },
        Array<double>(panel * kBlock));
    compare(
        "multiply_transposed",
        [&](const Isa& isa, Array<double>& P) {
            isa.blocks->multiply_transposed(A.data(), ld, rows, m, X.data(), P.data());
        },
        Array<double>(m * kBlock));
    std::vector<std::int64_t> begins{0};
    std::vector<std::int32_t> columns;
    for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t e = random.below(9); e > 0 && std::ssize(columns) < rows * ld; --e) {
            columns.push_back(static_cast<std::int32_t>(random.below(m)));
        }
        begins.push_back(std::ssize(columns));
    }
    columns.push_back(0);  // so that there are some
    compare(
        "multiply_sparse",
        [&](const Isa& isa, Array<double>& Y) {
            isa.blocks->multiply_sparse(begins.data(), columns.data(), A.data(), rows, X.data(), Y.data());
        },
        Array<double>(rows * kBlock));
    const auto single = draw_numbers<float>(random, m * kBlock);
    compare(
        "multiply_sparse_single",
        [&](const Isa& isa, Array<double>& Y) {
            isa.blocks->multiply_sparse_single(begins.data(), columns.data(), A.data(), rows, single.data(), Y.data());
        },
        Array<double>(rows * kBlock));
}

template <class T>
void try_rows(Input& in, Random& random) {
    const std::int64_t n = kRowUnit<T> * in.from(1, 20), many = in.from(1, 9);
    const bool gaps = in.one_in(2);
    std::vector<Array<T>> samples;
    std::vector<const T*> rows;
    for (int i = 0; i < 9; ++i) samples.push_back(draw_numbers<T>(random, n, false));
    for (const auto& one : samples) rows.push_back(one.data());
    std::vector<Array<T>> with_gaps;
    std::vector<const T*> gappy;
    for (int i = 0; i < 8; ++i) with_gaps.push_back(draw_numbers<T>(random, n, gaps));
    for (const auto& one : with_gaps) gappy.push_back(one.data());
    Array<T> low(n), high(n), top(n), ones(n);
    for (std::int64_t k = 0; k < n; ++k) low[k] = T(0.5), high[k] = T(6), top[k] = ones[k] = T(1);
    const T *of_ramp[3] = {low.data(), high.data(), top.data()}, *of_others[1] = {top.data()};
    const auto g = draw_numbers<T>(random, 16), w = draw_numbers<T>(random, 4);
    const auto kernels = [](const Isa& isa) -> const MarginKernels<T>& { return typed<T>(*isa.margin); };
    for (int term = 0; term < 5; ++term) {
        const T* const* parameters = term == 4 ? of_ramp : of_others;
        const T* const* from = term < 2 ? rows.data() : gappy.data();  // |d| and d^2 are of complete tables
        compare(
            "pair_sums",
            [&](const Isa& isa, Array<T>& to) {
                kernels(isa).pair_sums[term](from, from + 4, parameters, n, to.data());
            },
            Array<T>(16));
        compare(
            "feature_sums",
            [&](const Isa& isa, Array<T>& to, Array<T>& of_row) {
                kernels(isa).feature_sums[term](from, from + 4, g.data(), parameters, n, to.data());
                kernels(isa).row_sums[term](from[0], from + 4, g.data(), parameters, n, of_row.data());
            },
            draw_numbers<T>(random, n), draw_numbers<T>(random, n));
        if (term == 0) continue;
        compare(
            "known_sums",
            [&](const Isa& isa, Array<T>& to, Array<T>& counts) {
                kernels(isa).known_sums[term - 1](from[0], from + 4, g.data(), w.data(), parameters, n, to.data(),
                                                  counts.data());
            },
            draw_numbers<T>(random, n), draw_numbers<T>(random, n));
    }
    const std::int64_t n_words = (n + 63) / 64;
    compare(
        "missing_bits",
        [&](const Isa& isa, Array<std::uint64_t>& words, Array<std::int64_t>& shared) {
            kernels(isa).missing_bits(gappy[0], n, words.data());
            kernels(isa).missing_bits(gappy[1], n, words.data() + n_words);
            shared[0] = kernels(isa).shared_bits(words.data(), words.data() + n_words, n_words);
        },
        Array<std::uint64_t>(2 * n_words), Array<std::int64_t>(1));
    const auto shift = draw_numbers<double>(random, n), factor = draw_numbers<double>(random, n);
    compare(
        "scale and flush",
        [&](const Isa& isa, Array<T>& to, Array<double>& sums) {
            kernels(isa).scale(gappy[0], n, shift.data(), factor.data(), to.data());
            kernels(isa).flush(to.data(), n, sums.data());
            kernels(isa).scale(gappy[0], n, shift.data(), factor.data(), to.data());
        },
        Array<T>(n), Array<double>(n));
    const std::int64_t height = in.from(1, 12), stride = n + in.below(5);
    const auto table = draw_numbers<T>(random, height * stride, gaps);
    const auto of_rows = draw_numbers<double>(random, height);
    compare(
        "column_ranges",
        [&](const Isa& isa, Array<T>& lowest, Array<T>& highest, Array<T>& poison) {
            kernels(isa).column_ranges(table.data(), height, stride, n, lowest.data(), highest.data(), poison.data());
        },
        Array<T>(n), Array<T>(n), Array<T>(n));
    compare(
        "column_moments",
        [&](const Isa& isa, Array<double>& counts, Array<double>& sums, Array<double>& squares) {
            kernels(isa).column_moments(table.data(), of_rows.data(), height, stride, n, shift.data(), factor.data(),
                                        counts.data(), sums.data(), squares.data());
        },
        Array<double>(n), Array<double>(n), Array<double>(n));
    const std::int64_t length = in.from(1, n);
    compare(
        "dots and combine",
        [&](const Isa& isa, Array<double>& dots, Array<double>& sums) {
            typed<T>(*isa.rows).dots(rows.data(), many, shift.data(), length, dots.data());
            typed<T>(*isa.rows).combine(rows.data(), factor.data(), many, length, sums.data());
        },
        Array<double>(many), Array<double>(n));
}

template <class T>
void try_forms(Input& in, Random& random) {
    const std::int64_t n = in.from(1, 60), pairs = kPairs<T>;
    const auto x = draw_numbers<T>(random, n), unit = draw_numbers<T>(random, n * kUnit<T>),
               W = draw_numbers<T>(random, n * kFormRows), by = draw_numbers<T>(random, kFormRows * pairs);
    const auto kernels = [](const Isa& isa) -> const FormKernels<T>& { return typed<T>(*isa.forms); };
    compare(
        "panel", [&](const Isa& isa, Array<T>& d) { kernels(isa).panel(x.data(), unit.data(), n, d.data()); },
        Array<T>(n * pairs));
    // Integers: the squares of sums of products of quarters would have more digits than float32.
    auto d = draw_numbers<T>(random, n * pairs);
    for (std::int64_t k = 0; k < n * pairs; ++k) d[k] = std::round(d[k] / 8);
    auto whole = W;
    for (std::int64_t k = 0; k < n * kFormRows; ++k) whole[k] = std::round(W.data()[k] / 8);
    const bool first = in.one_in(2), last = in.one_in(2), of_rows = in.one_in(2);
    Array<T> S(kFormRows * pairs), form(pairs);
    compare(
        "form",
        [&](const Isa& isa, Array<T>& sums, Array<T>& to) {
            kernels(isa).form(whole.data(), d.data(), n, first, last, sums.data(), of_rows ? by.data() : nullptr, T(-1),
                              to.data());
            if (last) std::fill(sums.data(), sums.data() + kFormRows * pairs, T(0));  // not kept
        },
        S, form);
    const auto y = draw_numbers<T>(random, n);
    compare(
        "row",
        [&](const Isa& isa, Array<T>& of_d, Array<T>& times_g) {
            kernels(isa).row(x.data(), y.data(), n, T(0.5), of_d.data(), times_g.data());
        },
        Array<T>(n), Array<T>(n));
    const std::int64_t rows = kFormRows * in.from(1, 6), cols = kUnit<T> * in.from(1, 5), of = in.from(1, 20);
    const auto left = draw_numbers<T>(random, of * rows), right = draw_numbers<T>(random, of * cols);
    const bool upper = in.one_in(2);
    compare(
        "outer",
        [&](const Isa& isa, Array<T>& tile) {
            kernels(isa).outer(left.data(), rows, right.data(), cols, of, rows, cols, upper, tile.data(), cols);
            for (std::int64_t e = 0; upper && e < rows * cols; ++e) {
                if (e % cols < e / cols) tile[e] = 0;  // need not be complete
            }
        },
        draw_numbers<T>(random, rows * cols));
}

void try_genotype_bits(Input& in, Random& random) {
    const std::int64_t n = in.from(1, 20), n_lines = in.from(1, 4);
    // Of complete genotypes the low bit is set only where the high one is.
    Array<std::uint64_t> complete = draw_words<std::uint64_t>(random, (n + 1) * n_lines * kLineWords);
    for (std::int64_t k = 0; k < (n + 1) * n_lines * kLineWords; ++k) {
        if (k % kLineWords >= kLineWords / 2) complete[k] &= complete[k - kLineWords / 2];
    }
    const auto any = draw_words<std::uint64_t>(random, (n + 1) * kLineWords);
    Array<std::uint64_t> lines(any);
    std::fill(lines.data() + n * kLineWords, lines.data() + (n + 1) * kLineWords, 0);
    const auto zero = static_cast<std::int32_t>(n);
    std::vector<std::int32_t> chosen;
    std::vector<LinePair> pairs;
    const std::int64_t many = in.from(1, 70);
    for (std::int64_t k = 0; k < many; ++k) {
        chosen.push_back(static_cast<std::int32_t>(random.below(n)));
        pairs.push_back({static_cast<std::int32_t>(random.below(n)), static_cast<std::int32_t>(random.below(n))});
    }
    for (int which = 0; which < 2; ++which) {
        const auto difference = [&](const Isa& isa) -> const GenotypeDifference& {
            return isa.genotypes->differences[which];
        };
        compare(
            "genotypes: pair_sums",
            [&](const Isa& isa, Array<std::uint32_t>& sums) {
                difference(isa).pair_sums(complete.data(), complete.data() + n_lines * kLineWords, n_lines * kLineWords,
                                          n, n_lines, sums.data());
            },
            draw_words<std::uint32_t>(random, n, 255));
        compare(
            "genotypes: snp_sums",
            [&](const Isa& isa, Array<double>& high, Array<double>& low) {
                difference(isa).snp_sums(complete.data(), pairs.data(), many, 0.5, 0.25, high.data(), low.data());
            },
            Array<double>(kLineSnps), Array<double>(kLineSnps));
        compare(
            "genotypes: take_off",
            [&](const Isa& isa, Array<double>& distances, Array<std::uint32_t>& lacking) {
                difference(isa).take_off(lines.data(), chosen.data(), many, zero, kLineSnps, distances.data(),
                                         lacking.data());
            },
            Array<double>(kLineSnps), Array<std::uint32_t>(kLineSnps));
        compare(
            "genotypes: count_lines and add_known",
            [&](const Isa& isa, Array<std::uint32_t>& sums, Array<std::uint32_t>& known) {
                LineCounts counts;
                isa.genotypes->count_lines(lines.data(), chosen.data(), many, zero, &counts);
                difference(isa).add_known(counts, many, lines.data(), sums.data(), known.data());
            },
            draw_words<std::uint32_t>(random, kLineSnps, 255), draw_words<std::uint32_t>(random, kLineSnps, 255));
    }
}

void try_genotype_tables(Input& in, Random& random) {
    const std::int64_t n_words = in.from(1, 9), n_groups = in.from(1, kTableSnps / kGroupSnps);
    const bool known = in.one_in(2);
    const std::int64_t n_stored = known || in.one_in(2) ? 3 : 2;
    const auto snp = draw_words<std::uint64_t>(random, 3 * n_words * kGroupSnps);
    const auto groups = draw_words<std::uint64_t>(random, n_groups * n_stored * n_words * kGroupSnps);
    Array<std::int32_t> start = draw_words<std::int32_t>(random, kCountValues, 1023);
    const bool from_zero = in.one_in(2);
    compare(
        "tables: count",
        [&](const Isa& isa, Array<std::int32_t>& counts) {
            PairCounts to = {};
            PairCounts from;
            std::copy(start.data(), start.data() + kCountValues, &from[0][0]);
            isa.tables->count(snp.data(), groups.data(), n_words, n_stored, known, n_groups,
                              from_zero ? nullptr : &from, &to);
            // Those of other SNPs, and of plane 0 unless it is counted, are left to the caller.
            for (std::int64_t e = 0; e < kCountValues; ++e) {
                const std::int64_t plane = e / kTableSnps;
                const bool counted = known || (plane % 3 > 0 && plane / 3 > 0);
                counts[e] = counted && e % kTableSnps < n_groups * kGroupSnps ? (&to[0][0])[e] : 0;
            }
        },
        Array<std::int32_t>(kCountValues));
}

}  // namespace

void try_isa(Input& in) {
    const std::int64_t what = in.below(10);
    Random random(in.word());
    switch (what) {
        case 0:
            return try_tiles<float>(in, random);
        case 1:
            return try_tiles<double>(in, random);
        case 2:
            return try_search(in, random);
        case 3:
            return try_blocks(in, random);
        case 4:
            return try_rows<float>(in, random);
        case 5:
            return try_rows<double>(in, random);
        case 6:
            return try_forms<float>(in, random);
        case 7:
            return try_forms<double>(in, random);
        case 8:
            return try_genotype_bits(in, random);
        default:
            return try_genotype_tables(in, random);
    }
}

}  // namespace fuzz
