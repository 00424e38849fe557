#include "engines/genotype_pairs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "engines/snp_lines.hpp"
#include "support/buffer.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

using Sample = GenotypePairs::Sample;
using Equal = GenotypePairs::Equal;

// The numbers of SNPs and of samples with genotypes that are transposed together.
constexpr std::int64_t kWordSnps = 64, kWordSamples = 32;

// ---- packed lines --------------------------------------------------------------------------------------------------

// Returns all rows of X with their places in the bytes of a SNP, ascending by place.
std::vector<Sample> samples_by_place(const Matrix& X) {
    std::vector<Sample> samples(at(X.n_rows()));
    const std::int64_t* places = X.description().row_list;
    for (std::int64_t r = 0; r < X.n_rows(); ++r) samples[at(r)] = {places ? places[r] : r, r};
    const auto before = [](const Sample& a, const Sample& b) { return a.place < b.place; };
    if (places) std::stable_sort(samples.begin(), samples.end(), before);
    return samples;
}

// Calls f(row, high bits, low bits) for each sample, in the given order, with its genotypes in n <= 64 SNPs: bit s of
// both words is the genotype in snps[s], all further bits are 0.
template <class F>
void visit_words(const Matrix& X, const std::vector<Sample>& samples, const std::int64_t* snps, std::int64_t n, F&& f) {
    const fastfs_matrix& m = X.description();
    const auto* bytes = static_cast<const unsigned char*>(m.values);
    const unsigned char* from[kWordSnps];
    for (std::int64_t s = 0; s < n; ++s) {
        from[s] = bytes + (m.col_list ? m.col_list[snps[s]] : snps[s]) * m.col_stride;
    }
    alignas(64) Word words[kWordSnps];
    for (std::size_t p = 0; p < samples.size();) {
        const std::int64_t block = samples[p].place / kWordSamples, begin = block * 8;
        if (begin + 8 <= m.col_stride) {
            for (std::int64_t s = 0; s < n; ++s) std::memcpy(words + s, from[s] + begin, 8);
        } else {
            for (std::int64_t s = 0; s < n; ++s) {
                words[s] = 0;
                std::memcpy(words + s, from[s] + begin, at(m.col_stride - begin));
            }
        }
        std::fill(words + n, words + kWordSnps, Word{0});
        transpose(words);
        for (; p < samples.size() && samples[p].place / kWordSamples == block; ++p) {
            const std::int64_t bit = 2 * (samples[p].place % kWordSamples);
            f(samples[p].row, words[bit + 1], words[bit]);
        }
    }
}

// Packs the line that starts at snps, and writes it to to + row * stride (in words). If gaps isn't null, missing
// genotypes become 00, and their bits are written to gaps + row * stride / 2.
void pack_line(const Matrix& X, const std::vector<Sample>& samples, const std::int64_t* snps, std::int64_t n,
               std::int64_t stride, Word* to, Word* gaps = nullptr) {
    for (std::int64_t w = 0; w < kGapWords; ++w) {
        const std::int64_t size = std::clamp(n - w * kWordSnps, std::int64_t{0}, kWordSnps);
        visit_words(X, samples, snps + w * kWordSnps, size, [&](std::int64_t row, Word high, Word low) {
            Word* line = to + row * stride + w;
            line[0] = high;
            line[kGapWords] = gaps ? low & high : low;
            if (gaps) gaps[row * stride / 2 + w] = low & ~high;
        });
    }
}

// ---- rounded weights -----------------------------------------------------------------------------------------------

// A split of weights into two parts, multiples of powers of two by which all products with counts, and their sums, are
// exact in doubles: in any order, with FMA or without. The remainder of both parts is far below the precision of a
// double.
class Rounding {
  public:
    // Makes a rounding for sums of terms: `total` bounds the sum of their absolute values, and `count` the sum of their
    // counts.
    Rounding(double total, double count) : high_(unit(total)), low_(unit(count * high_)) {}

    double high(double weight) const { return std::nearbyint(weight / high_) * high_; }
    double low(double weight) const { return std::nearbyint((weight - high(weight)) / low_) * low_; }

  private:
    static double unit(double total) {
        return total > 0 ? std::ldexp(1.0, std::max(std::ilogb(total) - 51, -1000)) : 1.0;
    }
    double high_, low_;
};

// Adds the pair at `place`, which follows all earlier ones, to the last run if it has the pair's weight; otherwise
// starts a new run.
void add_to_runs(std::vector<Equal>& equal, double weight, std::int64_t place) {
    if (equal.empty() || equal.back().weight != weight) equal.push_back({weight, place, place});
    ++equal.back().end;
}

// Adds weight * the differences of the pairs of each run, in the 256 SNPs of a line, to high and low, which the caller
// adds up.
void add_equal(const GenotypeDifference& kernels, const Word* lines, const LinePair* pairs, const Equal* begin,
               const Equal* end, const Rounding& rounding, double* high, double* low) {
    for (const Equal* e = begin; e < end; ++e) {
        kernels.snp_sums(lines, pairs + e->begin, e->end - e->begin, rounding.high(e->weight), rounding.low(e->weight),
                         high, low);
    }
}

// Adds to sums the differences of a target from n members in each SNP of a line, and to `known` the number of members
// that have the SNP (GenotypeDifference::add_known). Line n_samples has no bits.
void add_known(const GenotypeDifference& kernels, const Word* lines, std::int64_t n_samples, std::int64_t target,
               const std::int32_t* members, std::int64_t n, std::uint32_t* sums, std::uint32_t* known) {
    LineCounts counts;
    for (; n > 0; members += kMostLines, n -= kMostLines) {
        const std::int64_t some = std::min(n, kMostLines);
        genotype_isa().count_lines(lines, members, some, static_cast<std::int32_t>(n_samples), &counts);
        kernels.add_known(counts, some, lines + target * kLineWords, sums, known);
    }
}

// Returns a rounding by which the sums over these runs of pairs are exact.
Rounding rounding_of(const Equal* begin, const Equal* end) {
    double total = 0, count = 0;
    for (const Equal* e = begin; e < end; ++e) {
        const auto most = 2 * static_cast<double>(e->end - e->begin);
        total += std::abs(e->weight) * most;
        count += most;
    }
    return {total, count};
}

LinePair line_pair(std::int64_t i, std::int64_t j) {
    return {static_cast<std::int32_t>(i), static_cast<std::int32_t>(j)};
}

// Largest number of pairs of targets that are summed together; a single target can have more.
constexpr std::int64_t kPairsAtOnce = std::int64_t{1} << 21;

// Side of a square of distances, and the samples in it that are compared while they are in the nearest cache.
constexpr std::int64_t kSquare = 32, kNear = 4;
constexpr std::int64_t kLinePassBytes = std::int64_t{2} << 20, kLinePanelBytes = std::int64_t{32} << 20;

// Sizes of panels of lines of all samples. Distances take several panels together if samples are few. With gaps, the
// panels stay in the second cache as SnpLines of 256 samples.
struct LinePanels {
    LinePanels(std::int64_t n_samples, std::int64_t n_snps, bool gaps)
        : n_lines(ceil_div(n_snps, kLineSnps)),
          width(std::min(std::clamp(kLinePanelBytes / (n_samples * kLineWords * 8), std::int64_t{4},
                                    gaps ? kPanelLines / 2 : kPanelLines),
                         n_lines)),
          stride(width * kLineWords),
          size(n_samples * stride),
          at_once(std::clamp(kLinePassBytes / (size * 8), std::int64_t{1}, ceil_div(n_lines, width))) {}

    std::int64_t n_lines, width;  // lines in a panel
    std::int64_t stride, size;    // words of a sample, and of a panel
    std::int64_t at_once;
};

}  // namespace

// ---- the table -----------------------------------------------------------------------------------------------------

// Sets factor to 1 for SNPs in which the bits of known genotypes differ, by one pass over words of 64 SNPs; refuses
// missing genotypes unless `gaps`, and lists the SNPs with some.
FeatureScales find_varying(const Matrix& X, bool gaps, Run& run) {
    const std::int64_t p = X.n_cols(), n_tasks = ceil_div(p, kWordSnps);
    const auto samples = samples_by_place(X);
    const auto snps = up_to(p);
    FeatureScales scales;
    scales.shift.assign(at(p), 0.0);
    scales.factor.assign(at(p), 0.0);
    scales.range.assign(at(p), 2.0);
    scales.whole = true;
    using Place = std::pair<std::int64_t, std::int64_t>;
    constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
    std::vector<Place> missing(at(n_tasks), Place{kNone, kNone});  // the first one of each task
    std::vector<Word> incomplete(at(n_tasks));
    parallel_for(run, n_tasks, [&](std::int64_t task, int) {
        const std::int64_t first = task * kWordSnps, n = std::min(kWordSnps, p - first);
        Word any_high = 0, any_low = 0, all_high = ~Word{0}, all_low = ~Word{0};
        visit_words(X, samples, snps.data() + first, n, [&](std::int64_t row, Word high, Word low) {
            const Word lacks = low & ~high;
            any_high |= high;
            any_low |= low & high;
            all_high &= high | lacks;
            all_low &= low;
            if (lacks == 0) return;
            incomplete[at(task)] |= lacks;
            missing[at(task)] = std::min(missing[at(task)], Place{row, first + std::countr_zero(lacks)});
        });
        const Word varies = (any_high & ~all_high) | (any_low & ~all_low);
        for (std::int64_t s = 0; s < n; ++s) scales.factor[at(first + s)] = static_cast<double>(varies >> s & 1);
    });
    const auto [row, column] = *std::min_element(missing.begin(), missing.end());
    if (row != kNone && !gaps) {
        refuse({kX, " must have all genotypes; got a missing one first at ", Name::row(row), ", ", Name::column(column),
                ": drop the sample or the SNP"});
    }
    require(std::any_of(scales.factor.begin(), scales.factor.end(), [](double f) { return f != 0; }),
            "X must have a feature that varies; got ", p, " constant ones");
    for (std::int64_t c = 0; c < p && row != kNone; ++c) {
        scales.incomplete.push_back(static_cast<char>(incomplete[at(c / kWordSnps)] >> (c % kWordSnps) & 1));
    }
    return scales;
}

GenotypePairs::GenotypePairs(const Matrix& X, std::vector<std::int64_t> snps, bool differ, bool gaps)
    : X_(&X), snps_(std::move(snps)), differ_(differ), gaps_(gaps), samples_(samples_by_place(X)) {}

const GenotypeDifference& GenotypePairs::kernels() const { return genotype_isa().differences[differ_]; }

std::vector<std::int64_t> GenotypePairs::n_missing(Run& run) const {
    const auto p = static_cast<std::int64_t>(snps_.size());
    std::vector<std::vector<std::int64_t>> counts_of_threads(at(run.n_threads()));
    parallel_for(run, ceil_div(p, kWordSnps), [&](std::int64_t task, int slot) {
        auto& counts = counts_of_threads[at(slot)];
        counts.resize(at(X_->n_rows()));
        const std::int64_t first = task * kWordSnps;
        visit_words(*X_, samples_, snps_.data() + first, std::min(kWordSnps, p - first),
                    [&](std::int64_t row, Word high, Word low) { counts[at(row)] += std::popcount(low & ~high); });
    });
    std::vector<std::int64_t> all(at(X_->n_rows()));
    for (const auto& counts : counts_of_threads) {
        for (std::size_t r = 0; r < counts.size(); ++r) all[r] += counts[r];
    }
    return all;
}

std::int64_t GenotypePairs::memory(std::int64_t n_samples, std::int64_t n_snps, bool gaps, int n_threads) {
    // Bytes per pair: the pair, and at worst one run per pair, in vectors that have grown and once more together.
    constexpr std::int64_t kPair = sizeof(LinePair) + 3 * sizeof(Equal);
    const std::int64_t pairs = std::min(kPairsAtOnce + n_samples, n_samples * n_samples);
    const LinePanels panels(n_samples, n_snps, gaps);
    const std::int64_t of_panels = panels.size * panels.at_once * 8;
    const std::int64_t of_gaps = gaps ? of_panels / 2 + SnpLines::memory(n_samples, panels.width) : 0;
    const std::int64_t of_sums = gaps ? n_samples * static_cast<std::int64_t>(sizeof(KnownSums)) : 0;
    const std::int64_t of_thread = (n_samples + 1) * kLineWords * 8 + 16 * n_samples + 12 * kLineSnps * 8 + of_sums;
    return 64 * n_samples + 24 * n_snps + n_threads * of_thread + std::max(kPair * pairs, of_panels + of_gaps);
}

// ---- distances -----------------------------------------------------------------------------------------------------

// Writes or adds distances: counts the differing bits of pairs, tile by tile, for a few panels of SNPs at a time.
// Missing genotypes count as 00 then; their differences are taken off sample by sample, and counted in `lacking` if
// both lack a SNP.
void GenotypePairs::distances(const std::vector<std::int64_t>& rows, std::int64_t t0, std::int64_t t1, double* out,
                              std::int64_t ld, Run& run, Into into, std::uint32_t* lacking) const {
    const std::int64_t n = X_->n_rows(), m = t1 - t0, p = static_cast<std::int64_t>(snps_.size());
    const bool triangle = m == n;
    const LinePanels shape(n, p, gaps_);
    const std::int64_t n_lines = shape.n_lines, width = shape.width, stride = shape.stride;
    const std::int64_t panel_bytes = shape.size * shape.at_once * 8;
    run.require_memory(panel_bytes + (gaps_ ? panel_bytes / 2 + SnpLines::memory(n, width) : 0),
                       "packing " + std::to_string(n) + " samples");
    Buffer<Word> panels(shape.size * shape.at_once), gaps(gaps_ ? panels.size() / 2 : 0);
    SnpLines by_snp(gaps_ ? n : 0, width);
    const auto all = up_to(gaps_ ? n : 0);
    // With gaps both triangles get parts of each distance, which are added in the end.
    const bool halves = gaps_ && triangle;
    for (std::int64_t t = 0; t < m && gaps_; ++t) std::fill_n(out + t * ld, n, 0.0);
    // Tiles of targets by samples; of a triangle only the tiles on and above the diagonal.
    const std::int64_t n_down = ceil_div(m, kSquare), n_across = ceil_div(n, kSquare);
    std::vector<std::pair<std::int32_t, std::int32_t>> tiles;
    for (std::int64_t a = 0; a < n_down; ++a) {
        for (std::int64_t b = triangle ? a : 0; b < n_across; ++b) {
            tiles.emplace_back(static_cast<std::int32_t>(a), static_cast<std::int32_t>(b));
        }
    }
    const double sign = into == Into::kSubtract ? -1 : 1;
    for (std::int64_t begin = 0, end = 0; begin < n_lines; begin = end) {
        end = std::min(begin + shape.at_once * width, n_lines);
        const bool empty = begin == 0 && into == Into::kEmpty && !gaps_;
        const double share = static_cast<double>(end - begin) / static_cast<double>(n_lines);
        const double before = static_cast<double>(begin) / static_cast<double>(n_lines);
        {
            const Run::Part part(run, before, before + 0.05 * share);
            parallel_for(run, end - begin, [&](std::int64_t l, int) {
                const std::int64_t snp = (begin + l) * kLineSnps;
                const std::int64_t place = l / width * shape.size + l % width * kLineWords;
                pack_line(*X_, samples_, snps_.data() + snp, std::min(kLineSnps, p - snp), stride,
                          panels.data() + place, gaps_ ? gaps.data() + place / 2 : nullptr);
            });
        }
        const Run::Part part(run, before + 0.05 * share, before + share);
        parallel_for(run, static_cast<std::int64_t>(tiles.size()), [&](std::int64_t task, int) {
            const std::int64_t i0 = tiles[at(task)].first * kSquare, j0 = tiles[at(task)].second * kSquare;
            const std::int64_t i1 = std::min(i0 + kSquare, m), j1 = std::min(j0 + kSquare, n);
            std::uint32_t bits[kSquare * kSquare] = {};
            for (std::int64_t l = 0; l < end - begin; l += width) {
                const Word* panel = panels.data() + l * n * kLineWords;
                const std::int64_t size = std::min(width, end - begin - l);
                for (std::int64_t j = j0; j < j1; j += kNear) {
                    for (std::int64_t i = i0; i < i1; ++i) {
                        kernels().pair_sums(panel + rows[at(t0 + i)] * stride, panel + j * stride, stride,
                                            std::min(kNear, j1 - j), size, bits + (i - i0) * kSquare + (j - j0));
                    }
                }
            }
            for (std::int64_t i = i0; i < i1; ++i) {
                for (std::int64_t j = halves ? std::max(i, j0) : j0; j < j1; ++j) {
                    const double distance = sign * bits[(i - i0) * kSquare + (j - j0)];
                    double& d = out[i * ld + j];
                    d = empty ? distance : d + distance;
                    if (triangle && !halves && j0 > i0) out[j * ld + i] = d;
                }
            }
        });
        for (std::int64_t l = 0; l < end - begin && gaps_; l += width) {
            const Word *panel = panels.data() + l * n * kLineWords, *of_panel = gaps.data() + l * n * kGapWords;
            const std::int64_t size = std::min(width, end - begin - l);
            const auto zero = static_cast<std::int32_t>(width * kLineSnps);
            by_snp.fill_lines(panel, of_panel, stride, size, all.data(), n, run);
            by_snp.visit_gaps(of_panel, stride, size, rows.data() + t0, m, run,
                              [&](std::int64_t t, std::int64_t j, std::int64_t n_columns, const Word* lines,
                                  const std::int32_t* lacked, std::int64_t n_lacked) {
                                  kernels().take_off(lines, lacked, n_lacked, zero, n_columns, out + t * ld + j,
                                                     lacking + t * n + j);
                              });
            if (triangle) continue;
            by_snp.fill_lines(panel, of_panel, stride, size, rows.data() + t0, m, run);
            by_snp.visit_gaps(of_panel, stride, size, all.data(), n, run,
                              [&](std::int64_t j, std::int64_t t, std::int64_t n_rows, const Word* lines,
                                  const std::int32_t* lacked, std::int64_t n_lacked) {
                                  double excess[SnpLines::kSamples] = {};
                                  std::uint32_t unused[SnpLines::kSamples] = {};
                                  kernels().take_off(lines, lacked, n_lacked, zero, n_rows, excess, unused);
                                  for (std::int64_t k = 0; k < n_rows; ++k) out[(t + k) * ld + j] += excess[k];
                              });
        }
    }
    if (!halves) return;
    parallel_for(run, static_cast<std::int64_t>(tiles.size()), [&](std::int64_t task, int) {
        const std::int64_t i0 = tiles[at(task)].first * kSquare, j0 = tiles[at(task)].second * kSquare;
        for (std::int64_t i = i0; i < std::min(i0 + kSquare, n); ++i) {
            for (std::int64_t j = std::max(i + 1, j0); j < std::min(j0 + kSquare, n); ++j) {
                out[i * ld + j] = out[j * ld + i] = out[i * ld + j] + out[j * ld + i];
            }
        }
    });
}

// ---- sums over pairs -----------------------------------------------------------------------------------------------

// Packs each line of 256 SNPs of all samples into a buffer of the thread, and calls f(snp, n, lines, thread), in
// parallel.
template <class F>
void GenotypePairs::for_lines_of_snps(Run& run, F&& f) const {
    const std::int64_t n = X_->n_rows(), p = static_cast<std::int64_t>(snps_.size());
    const std::int64_t n_lines = ceil_div(p, kLineSnps);
    const auto n_threads = static_cast<int>(std::min(std::int64_t{run.n_threads()}, n_lines));
    run.require_memory(n_threads * (n + 1) * kLineWords * 8, "the genotypes of 256 SNPs for each thread");
    auto of_thread = buffers<Word>(n_threads, (n + 1) * kLineWords);
    parallel_for(run, n_lines, [&](std::int64_t l, int slot) {
        const std::int64_t snp = l * kLineSnps;
        Word* lines = of_thread[at(slot)].data();
        std::fill_n(lines + n * kLineWords, kLineWords, Word{0});
        pack_line(*X_, samples_, snps_.data() + snp, std::min(kLineSnps, p - snp), kLineWords, lines);
        f(snp, std::min(kLineSnps, p - snp), lines, slot);
    });
}

// Adds to sums[k], for each run, its weight times the differences of its pairs in SNP k.
void GenotypePairs::add_runs(const std::vector<LinePair>& pairs, const std::vector<Equal>& equal, double* sums,
                             Run& run) const {
    const Equal *begin = equal.data(), *end = begin + equal.size();
    const Rounding rounding = rounding_of(begin, end);
    for_lines_of_snps(run, [&](std::int64_t snp, std::int64_t n, const Word* lines, int) {
        double high[kLineSnps] = {}, low[kLineSnps] = {};
        add_equal(kernels(), lines, pairs.data(), begin, end, rounding, high, low);
        for (std::int64_t k = 0; k < n; ++k) sums[snp + k] += high[k] + low[k];
    });
}

// Adds weighted differences of listed pairs to sums, after sorting the pairs by weight into runs.
void GenotypePairs::sums(std::vector<WeightedPair> weighted_pairs, double* sums, Run& run) const {
    if (weighted_pairs.empty()) return;
    // The sort is stable and leaves pairs of one sample adjacent: the line of the sample is in a near cache by then.
    std::stable_sort(weighted_pairs.begin(), weighted_pairs.end(),
                     [](const WeightedPair& a, const WeightedPair& b) { return a.g < b.g; });
    std::vector<LinePair> pairs;
    std::vector<Equal> equal;
    pairs.reserve(weighted_pairs.size());
    for (const auto& [i, j, g] : weighted_pairs) {
        add_to_runs(equal, g, static_cast<std::int64_t>(pairs.size()));
        pairs.push_back(line_pair(i, j));
    }
    weighted_pairs = {};
    add_runs(pairs, equal, sums, run);
}

// Adds weighted differences of targets and all samples to sums: for some targets at a time, their pairs with nonzero g,
// sorted by weight into runs.
void GenotypePairs::sums(const std::vector<std::int64_t>& rows, std::int64_t t0, std::int64_t t1, const double* g,
                         double* sums, Run& run) const {
    const std::int64_t n = X_->n_rows();
    std::vector<std::int64_t> begins(at(t1 - t0 + 1));  // of the pairs of each target
    parallel_for(run, t1 - t0,
                 [&](std::int64_t t, int) { begins[at(t + 1)] = n - std::count(g + t * n, g + (t + 1) * n, 0.0); });
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    for (std::int64_t first = 0, last = 0; first < t1 - t0; first = last) {
        const std::int64_t begin = begins[at(first)];
        for (last = first + 1; last < t1 - t0 && begins[at(last + 1)] - begin <= kPairsAtOnce;) ++last;
        const Run::Part part(run, share(first, t1 - t0), share(last, t1 - t0));
        std::vector<LinePair> pairs(at(begins[at(last)] - begin));
        std::vector<std::vector<Equal>> of_target(at(last - first));
        parallel_for(run, last - first, [&](std::int64_t t, int) {
            const double* row = g + (first + t) * n;
            const std::int64_t place = begins[at(first + t)] - begin;
            std::vector<std::int32_t> order;
            order.reserve(at(begins[at(first + t + 1)] - begins[at(first + t)]));
            for (std::int64_t j = 0; j < n; ++j) {
                if (row[j] != 0) order.push_back(static_cast<std::int32_t>(j));
            }
            std::stable_sort(order.begin(), order.end(),
                             [&](std::int32_t i, std::int32_t j) { return row[i] < row[j]; });
            for (std::size_t k = 0; k < order.size(); ++k) {
                const std::int64_t p = place + static_cast<std::int64_t>(k);
                add_to_runs(of_target[at(t)], row[order[k]], p);
                pairs[at(p)] = line_pair(rows[at(t0 + first + t)], order[k]);
            }
        });
        std::size_t n_runs = 0;
        for (const auto& runs : of_target) n_runs += runs.size();
        std::vector<Equal> equal;
        equal.reserve(n_runs);
        for (auto& runs : of_target) {
            equal.insert(equal.end(), runs.begin(), runs.end());
            runs = {};
        }
        add_runs(pairs, equal, sums, run);
    }
}

// Sums differences and weights of the neighbours in each bin, one for each target and group, and calls combine(target,
// SNPs, sums, counts) for each target, which adds to out. Neighbours of equal strength and weight form a run.
void GenotypePairs::target_sums(const std::vector<std::int64_t>& rows, std::int64_t t0,
                                const GroupedNeighbors& neighbors, std::int64_t /*n_out*/, const CombineGroups& combine,
                                double* out, Run& run) const {
    const std::int64_t n_groups = neighbors.n_groups, p = static_cast<std::int64_t>(snps_.size());
    const auto n_bins = static_cast<std::int64_t>(neighbors.begins.size()) - 1;
    std::vector<LinePair> pairs;        // without gaps
    std::vector<std::int32_t> members;  // with gaps: the neighbors, bin by bin
    std::vector<Equal> equal;           // of one strength and one weight
    Numbers run_weights;
    std::vector<std::size_t> begins{0};  // in equal, of each bin
    Numbers weights(at(n_bins));
    for (std::int64_t bin = 0; bin < n_bins; ++bin) {
        std::vector<std::int64_t> order(at(neighbors.begins[at(bin + 1)] - neighbors.begins[at(bin)]));
        std::iota(order.begin(), order.end(), neighbors.begins[at(bin)]);
        const auto key = [&](std::int64_t e) {
            return std::pair(neighbors.strengths[at(e)], neighbors.weights[at(e)]);
        };
        std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return key(a) < key(b); });
        for (const std::int64_t e : order) {
            const auto place = static_cast<std::int64_t>(gaps_ ? members.size() : pairs.size());
            const auto [strength, weight] = key(e);
            weights[at(bin)] += weight;
            if (equal.size() == begins.back() || equal.back().weight != strength || run_weights.back() != weight) {
                equal.push_back({strength, place, place});
                run_weights.push_back(weight);
            }
            ++equal.back().end;
            if (gaps_) {
                members.push_back(static_cast<std::int32_t>(neighbors.samples[at(e)]));
            } else {
                pairs.push_back(line_pair(rows[at(t0 + bin / n_groups)], neighbors.samples[at(e)]));
            }
        }
        begins.push_back(equal.size());
    }
    const Rounding rounding = rounding_of(equal.data(), equal.data() + equal.size());
    for_lines_of_snps(run, [&](std::int64_t snp, std::int64_t n, const Word* lines, int) {
        Numbers sums(at(n_groups * kLineSnps)), counts(at(n_groups * kLineSnps));
        for (std::int64_t bin = 0; bin < n_bins; ++bin) {
            const std::int64_t group = bin % n_groups, t = bin / n_groups;
            double *sum = sums.data() + group * kLineSnps, *count = counts.data() + group * kLineSnps;
            double high[kLineSnps] = {}, low[kLineSnps] = {};
            std::fill_n(count, n, gaps_ ? 0.0 : weights[at(bin)]);
            if (!gaps_) {
                add_equal(kernels(), lines, pairs.data(), equal.data() + begins[at(bin)],
                          equal.data() + begins[at(bin + 1)], rounding, high, low);
            }
            for (std::size_t e = begins[at(bin)]; e < begins[at(bin + 1)] && gaps_; ++e) {
                std::uint32_t differences[kLineSnps] = {}, known[kLineSnps] = {};
                add_known(kernels(), lines, X_->n_rows(), rows[at(t0 + t)], members.data() + equal[e].begin,
                          equal[e].end - equal[e].begin, differences, known);
                for (std::int64_t k = 0; k < n; ++k) {
                    high[k] += equal[e].weight * differences[k];
                    count[k] += run_weights[e] * known[k];
                }
            }
            for (std::int64_t k = 0; k < n; ++k) sum[k] = high[k] + low[k];
            if (group + 1 < n_groups) continue;
            combine(t0 + t, snp, n, sums.data(), counts.data(), kLineSnps, out + snp, p);
        }
    });
}

// Adds each bin's share * mean difference to out, bins with equal shares together; means are sorted by the number of
// known members, so that a division serves many bins.
void GenotypePairs::add_means(const NeighborBins& bins, double* out, Run& run) const {
    const auto size = [&](std::int32_t bin) { return bins.begins[at(bin + 1)] - bins.begins[at(bin)]; };
    std::vector<std::int32_t> order(bins.targets.size());
    std::iota(order.begin(), order.end(), 0);
    // Sorts bins by size, so that few sums are in use.
    const auto key = [&](std::int32_t bin) { return std::pair(bins.shares[at(bin)], size(bin)); };
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return key(a) < key(b); });
    std::int64_t largest = 0;
    for (const std::int32_t bin : order) largest = std::max(largest, size(bin));
    run.require_memory(run.n_threads() * (largest + 1) * static_cast<std::int64_t>(sizeof(KnownSums)),
                       "sums of neighbors for each thread");
    std::vector<std::vector<KnownSums>> of_thread(at(run.n_threads()));
    const auto zero = static_cast<std::int32_t>(X_->n_rows());
    for_lines_of_snps(run, [&](std::int64_t snp, std::int64_t n, const Word* lines, int slot) {
        auto& sums = of_thread[at(slot)];
        sums.resize(at(largest + 1));
        for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
            const double share = bins.shares[at(order[first])];
            double means[kLineSnps] = {};
            std::int64_t most = 0;  // upper bound on the sums
            for (; last < order.size() && bins.shares[at(order[last])] == share; ++last) {
                const std::int32_t bin = order[last];
                most += 2 * size(bin);
                if (most >> kSumPlanes != 0) break;
                kernels().add_by_known(lines, bins.members.data() + bins.begins[at(bin)], size(bin), zero,
                                       lines + bins.targets[at(bin)] * kLineWords, sums.data(), means);
            }
            for (std::int64_t known = 1; known <= largest; ++known) {
                if (sums[at(known)].most > 0) genotype_isa().add_means(sums[at(known)], known, means);
            }
            for (std::int64_t k = 0; k < n; ++k) out[snp + k] += share * means[k];
        }
    });
}

}  // namespace fastfs::core
