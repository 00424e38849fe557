#include "snps/snp_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "engines/permuted_pairs.hpp"
#include "engines/snp_planes.hpp"
#include "engines/strongest.hpp"
#include "snps/interaction.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// G^2 of a pair is at most 2 sum n log(n / m) for any fitted counts m of the model without interaction. The counts m of
// the screen multiply the odds of a class that each genotype gives alone, and keep the true number of samples with each
// two genotypes (the approximation of Kirkwood, by which BOOST and PLINK screen, normalised given the genotypes). The
// screen bounds the logarithm by a quotient, so that only pairs are compared with the rest that are within some
// hundredths of the level. The G^2 of a pair that passes is computed in double and in one order of summation, so that
// reported values have equal bits on any instruction set and for any number of threads.

// Rounding of the roots of the terms of a bound in float32, relative to n_1 / s and n_0 s, where s is the root of the
// odds: s and 1 / s are products of two numbers that were rounded, and the counts may be rounded. The difference of the
// two parts exceeds either of them, or the smaller one is at most half of the root of the samples. A term is at most
// twice Pearson's, which has 16 units; the quotient has as many again.
constexpr double kRounding = 32 * 0x1p-24;

// Bytes of the SNPs with which a tile compares SNP by SNP: they stay in the second cache.
constexpr std::int64_t kTileBytes = 192 << 10;

// The most labelings that share the counts of all samples, and the most bytes of their packed planes.
constexpr std::int64_t kLabelingsAtOnce = 16, kPackedBytes = 256 << 20;

// A search keeps the pairs with the largest bounds, twice as many as it reports and these. If a pair beyond can have a
// larger G^2 than the last one that is reported, all pairs are visited again.
constexpr std::int64_t kMoreCandidates = 64;

// A bound that exceeds this number, and the level of the bounds by this factor, is replaced by G^2: chance seldom makes
// such bounds, but strong effects of SNPs in disequilibrium do, for whole blocks of pairs.
constexpr double kLargeBound = 30, kLargeToLevel = 1.5;

// Returns the value that a bound must reach in float32 for G^2 to reach a level.
float threshold_of(double level, std::int64_t n_samples) {
    const double root = std::sqrt(level) * (1 - kRounding) - kRounding * std::sqrt(static_cast<double>(n_samples));
    return root > 0 ? static_cast<float>(root * root * (1 - kRounding)) : 0.0F;
}

class Threshold {
  public:
    Threshold(const Level& level, std::int64_t n_samples) : level_(level), n_samples_(n_samples) {}
    float value() const { return value_; }
    // Sets the value from the level, after it has risen.
    void follow_level() {
        if (level_.value() == known_) return;
        known_ = level_.value();
        value_ = threshold_of(known_, n_samples_);
    }

  private:
    const Level& level_;
    std::int64_t n_samples_;
    double known_ = 0;
    float value_ = 0;
};

// Returns the table of the k-th pair from its counts, with genotypes as copies of allele 1.
GenotypeTable table_of(const PairCounts& all, const PairCounts& first, std::int64_t k, std::int64_t first_class) {
    const auto cell = [&](const PairCounts& counts, std::int64_t a, std::int64_t b) {
        const auto plane = [&](std::int64_t x, std::int64_t y) {
            return x < 3 && y < 3 ? std::int64_t{counts[3 * x + y][k]} : 0;
        };
        return plane(a, b) - plane(a + 1, b) - plane(a, b + 1) + plane(a + 1, b + 1);
    };
    GenotypeTable table;
    for (std::int64_t a = 0; a < 3; ++a) {
        for (std::int64_t b = 0; b < 3; ++b) {
            const std::int64_t place = 6 * (2 - a) + 2 * (2 - b), ones = cell(first, a, b);
            table[at(place + first_class)] = ones;
            table[at(place + 1 - first_class)] = cell(all, a, b) - ones;
        }
    }
    return table;
}

struct Pair {
    std::int64_t i, j;
    double strength;  // G^2, or a bound of it
};

// A labeling, represented by its smaller class and the roots of the odds of this class given the genotypes of each SNP.
class Labeling {
  public:
    Labeling() = default;
    Labeling(std::int64_t n_snps, bool with_known)
        : planes_(n_snps, with_known), n_snps_(n_snps), roots_(6 * stride()) {
        std::fill_n(roots_.data(), roots_.size(), 1.0F);
    }

    static std::int64_t memory(std::int64_t n_snps, std::int64_t n_samples, bool with_known) {
        return SnpPlanes::memory(n_snps, n_samples, with_known) + 24 * SnpPlanes::padded(n_snps);
    }

    void set_classes(const Genotypes& genotypes, const Classes& classes) {
        class_ = classes.size(1) <= classes.size(0) ? 1 : 0;
        planes_.set_samples(genotypes, classes.order.data() + classes.begins[at(class_)], classes.size(class_));
        of_class_ = root_of_odds(classes.size(class_), classes.n_samples());
    }
    void pack_group(const Genotypes& genotypes, std::int64_t group) { planes_.pack_group(genotypes, group); }

    // Sets the roots of the odds of each genotype, and their inverses, for a group of SNPs. margins: SnpPlanes::margins
    // of all samples.
    void find_roots(const std::int32_t* margins, std::int64_t group) {
        const std::int64_t end = std::min((group + 1) * kGroupSnps, n_snps_);
        for (std::int64_t i = group * kGroupSnps; i < end; ++i) {
            for (std::int64_t g = 0; g < 3; ++g) {
                const auto with = [&](const std::int32_t* counts) {
                    return counts[g * stride() + i] - (g < 2 ? counts[(g + 1) * stride() + i] : 0);
                };
                const double root = root_of_odds(with(planes_.margins(0)), with(margins));
                roots_[g * stride() + i] = static_cast<float>(root);
                roots_[(3 + g) * stride() + i] = static_cast<float>(1 / root);
            }
        }
    }

    std::int64_t class_counted() const { return class_; }
    const SnpPlanes& planes() const { return planes_; }

    // Calls f(k, bound) for the k from begin to n - 1 for which SNP i can reach the level in a pair with SNP j0 + k.
    template <class F>
    void visit(std::int64_t i, std::int64_t j0, std::int64_t begin, std::int64_t n, const PairCounts& all,
               const PairCounts& first, Threshold& threshold, F&& f) const {
        float of_snp[6], bounds[kTableSnps];
        for (std::int64_t g = 0; g < 3; ++g) {
            of_snp[g] = static_cast<float>(roots_[g * stride() + i] / of_class_);
            of_snp[3 + g] = static_cast<float>(roots_[(3 + g) * stride() + i] * of_class_);
        }
        threshold.follow_level();
        if (!table_isa().screen(&all, &first, of_snp, roots_.data() + j0, stride(), n, threshold.value(), bounds))
            return;
        for (std::int64_t k = begin; k < n; ++k) {
            if (bounds[k] < threshold.value()) continue;
            f(k, double{bounds[k]});
            threshold.follow_level();
        }
    }

  private:
    static double root_of_odds(std::int64_t ones, std::int64_t n) {
        return std::sqrt((static_cast<double>(ones) + 0.5) / (static_cast<double>(n - ones) + 0.5));
    }
    std::int64_t stride() const { return SnpPlanes::padded(n_snps_); }

    SnpPlanes planes_;
    std::int64_t n_snps_ = 0, class_ = 1;
    Buffer<float> roots_;
    double of_class_ = 1;
};

class Search {
  public:
    Search(const Genotypes& genotypes, const std::vector<GenotypeFacts>& facts, const Classes& truth,
           const fastfs_snp_pairs_options& options, Run& run);

    // Returns the most bytes of a search.
    static std::int64_t memory(std::int64_t n_snps, const Classes& classes, const fastfs_snp_pairs_options& options,
                               int n_threads);

    // Writes the strongest pairs with their statistics, degrees of freedom and tables to the result, and keeps them for
    // permute(). columns: the columns of X that hold the SNPs.
    void observe(const std::vector<std::int64_t>& columns, Owned<fastfs_snp_pairs_result>& result);
    void permute(Owned<fastfs_snp_pairs_result>& result);

  private:
    static std::int64_t labelings_at_once(std::int64_t n_snps, std::int64_t n_samples, std::int64_t n_labelings) {
        const std::int64_t each = Labeling::memory(n_snps, n_samples / 2, true);
        return std::min(std::clamp(kPackedBytes / each, std::int64_t{1}, kLabelingsAtOnce), n_labelings);
    }
    std::int64_t width(std::int64_t block) const { return std::min(width_, p_ - block * width_); }
    bool is_top(std::int64_t i, std::int64_t j) const {
        return std::binary_search(keys_.begin(), keys_.end(), i * p_ + j);
    }
    void count_all(std::int64_t i, std::int64_t j0, std::int64_t n, bool some_missing, PairCounts& first,
                   PairCounts& all) const {
        truth_.planes().count_pairs(i, j0, n, some_missing, nullptr, &first);
        others_.count_pairs(i, j0, n, some_missing, &first, &all);
    }
    GenotypeTable table(const Pair& pair, const Labeling& labeling) const;

    // Calls f(pair, table) for the pairs with bounds, which are their strengths, that reach the level; table() returns
    // the table of the pair.
    template <class F>
    void visit_pairs(const Level& level, F&& f);
    // Adds a pair with its G^2 if it is among the strongest ones.
    static void add_with_statistic(Pair pair, const GenotypeTable& counts, Strongest<Pair>& strongest);

    const Genotypes& genotypes_;
    const fastfs_snp_pairs_options& options_;
    Run& run_;
    const std::int64_t n_, p_;
    bool some_missing_ = false;
    std::int64_t width_ = 0, n_blocks_ = 0;
    std::vector<char> missing_;  // per block of SNPs: 1 if it lacks genotypes
    Labeling truth_;
    SnpPlanes others_;              // samples of the class that the true labeling doesn't count
    Buffer<std::int32_t> margins_;  // of all samples
    std::vector<Pair> top_;
    std::vector<std::int64_t> keys_;  // i p + j of the strongest pairs, ascending
};

// Chooses the width of tiles, and packs the SNPs of both classes.
Search::Search(const Genotypes& genotypes, const std::vector<GenotypeFacts>& facts, const Classes& classes,
               const fastfs_snp_pairs_options& options, Run& run)
    : genotypes_(genotypes), options_(options), run_(run), n_(classes.n_samples()), p_(genotypes.n_snps()) {
    for (const auto& fact : facts) some_missing_ = some_missing_ || fact.missing;
    const std::int64_t bytes = ceil_div(n_, 64) * 8 * (some_missing_ ? 3 : 2);
    width_ = std::clamp(kTileBytes / bytes / kSnpUnit * kSnpUnit, kSnpUnit, kTableSnps);
    n_blocks_ = ceil_div(p_, width_);
    missing_.resize(at(n_blocks_));
    for (std::int64_t i = 0; i < p_; ++i) missing_[at(i / width_)] |= static_cast<char>(facts[at(i)].missing);

    truth_ = Labeling(p_, some_missing_);
    others_ = SnpPlanes(p_, some_missing_);
    margins_ = Buffer<std::int32_t>(3 * SnpPlanes::padded(p_));
    truth_.set_classes(genotypes, classes);
    const std::int64_t other = 1 - truth_.class_counted();
    others_.set_samples(genotypes, classes.order.data() + classes.begins[at(other)], classes.size(other));
    const std::int64_t n_groups = SnpPlanes::n_groups(p_);
    parallel_for(run, n_groups, [&](std::int64_t group, int) {
        truth_.pack_group(genotypes, group);
        others_.pack_group(genotypes, group);
    });
    for (std::int64_t k = 0; k < margins_.size(); ++k) {
        margins_[k] = truth_.planes().margins(0)[k] + others_.margins(0)[k];
    }
    for (std::int64_t group = 0; group < n_groups; ++group) truth_.find_roots(margins_.data(), group);
}

std::int64_t Search::memory(std::int64_t n_snps, const Classes& classes, const fastfs_snp_pairs_options& options,
                            int n_threads) {
    const std::int64_t n = classes.n_samples(), at_once = labelings_at_once(n_snps, n, options.n_labelings);
    const std::int64_t planes = Labeling::memory(n_snps, n, true) + SnpPlanes::memory(n_snps, n, true);
    const std::int64_t each = Labeling::memory(n_snps, n / 2, true) + 32 * n + 8 * options.n_pairs;
    return planes + 12 * SnpPlanes::padded(n_snps) + at_once * each + 2 * n_snps +
           Strongest<Pair>::memory(5 * options.n_pairs + 2 * kMoreCandidates) + 64 * options.n_pairs +
           n_threads * 4 * kCountValues * (at_once + 1);
}

GenotypeTable Search::table(const Pair& pair, const Labeling& labeling) const {
    const std::int64_t j0 = pair.j / kSnpUnit * kSnpUnit, n = pair.j - j0 + 1;
    PairCounts first, all;
    count_all(pair.i, j0, n, some_missing_, first, all);
    labeling.planes().count_pairs(pair.i, j0, n, some_missing_, nullptr, &first);
    return table_of(all, first, n - 1, labeling.class_counted());
}

template <class F>
void Search::visit_pairs(const Level& level, F&& f) {
    const TilePairs tiles(n_blocks_);
    parallel_for(run_, tiles.size(), [&](std::int64_t task, int) {
        const auto [I, J] = tiles[task];
        const std::int64_t i0 = I * width_, j0 = J * width_, nj = width(J);
        const bool some_missing = missing_[at(I)] || missing_[at(J)];
        PairCounts first, all;
        Threshold threshold(level, n_);
        for (std::int64_t i = i0, end = i0 + width(I); i < end; ++i) {
            count_all(i, j0, nj, some_missing, first, all);
            truth_.visit(i, j0, std::max(i + 1 - j0, std::int64_t{0}), nj, all, first, threshold,
                         [&](std::int64_t k, double bound) {
                             f(Pair{i, j0 + k, bound}, [&] { return table_of(all, first, k, truth_.class_counted()); });
                         });
        }
    });
}

void Search::add_with_statistic(Pair pair, const GenotypeTable& counts, Strongest<Pair>& strongest) {
    const double level = strongest.level.value();
    pair.strength = interaction(counts, level);
    if (pair.strength >= level && degrees_of_freedom(counts) > 0) strongest.add(pair);
}

void Search::observe(const std::vector<std::int64_t>& columns, Owned<fastfs_snp_pairs_result>& result) {
    const std::int64_t most = 2 * options_.n_pairs + kMoreCandidates;
    Strongest<Pair> candidates(most), strongest(options_.n_pairs);
    visit_pairs(candidates.level, [&](Pair pair, auto&& counts) {
        const double level = candidates.level.value();
        if (pair.strength > std::max(kLargeBound, kLargeToLevel * level)) pair.strength = interaction(counts(), level);
        if (pair.strength >= level) candidates.add(pair);
    });
    const std::vector<Pair> bounds = candidates.sorted();
    const auto n_candidates = std::ssize(bounds);
    parallel_for(run_, ceil_div(n_candidates, kPairsPerTask), [&](std::int64_t task, int) {
        Threshold threshold(strongest.level, n_);
        const std::int64_t end = std::min((task + 1) * kPairsPerTask, n_candidates);
        for (std::int64_t k = task * kPairsPerTask; k < end; ++k) {
            threshold.follow_level();
            if (bounds[at(k)].strength < threshold.value()) return;
            add_with_statistic(bounds[at(k)], table(bounds[at(k)], truth_), strongest);
        }
    });
    top_ = strongest.sorted();
    const double level = std::ssize(top_) < options_.n_pairs ? 0 : top_.back().strength;
    if (n_candidates == most && bounds.back().strength >= threshold_of(level, n_)) {
        Strongest<Pair> again(options_.n_pairs);
        again.level.raise(level);
        visit_pairs(again.level, [&](const Pair& pair, auto&& counts) { add_with_statistic(pair, counts(), again); });
        top_ = again.sorted();
    }
    for (const Pair& pair : top_) keys_.push_back(pair.i * p_ + pair.j);
    std::sort(keys_.begin(), keys_.end());

    result.n_pairs = std::ssize(top_);
    result.set_zeros(result.pairs, 2 * result.n_pairs);
    result.set_zeros(result.statistics, result.n_pairs);
    result.set_zeros(result.degrees, result.n_pairs);
    result.set_zeros(result.tables, 18 * result.n_pairs);
    for (std::size_t k = 0; k < top_.size(); ++k) {
        const GenotypeTable counts = table(top_[k], truth_);
        result.pairs[2 * k] = columns[at(top_[k].i)];
        result.pairs[2 * k + 1] = columns[at(top_[k].j)];
        result.statistics[k] = top_[k].strength;
        result.degrees[k] = degrees_of_freedom(counts);
        std::copy(counts.begin(), counts.end(), result.tables + counts.size() * k);
    }
}

// Writes the largest G^2 under each labeling, and the p-values of the strongest pairs, to the result.
void Search::permute(Owned<fastfs_snp_pairs_result>& result) {
    const std::int64_t n_labelings = options_.n_labelings, n_groups = SnpPlanes::n_groups(p_);
    const auto n_top = static_cast<std::int64_t>(top_.size());
    const std::int64_t at_once = labelings_at_once(p_, n_, n_labelings);
    const TilePairs tiles(n_blocks_);
    std::vector<Labeling> labelings;
    for (std::int64_t b = 0; b < at_once; ++b) labelings.emplace_back(p_, some_missing_);
    const auto compare = [&](std::int64_t first_labeling, std::int64_t count, Level* levels, double* strengths) {
        for (std::int64_t b = 0; b < count; ++b) {
            labelings[at(b)].set_classes(genotypes_, Classes(options_.labelings + (first_labeling + b) * n_, n_, 2));
        }
        run_.step("packing", 0.02);
        parallel_for(run_, count * n_groups, [&](std::int64_t task, int) {
            labelings[at(task / n_groups)].pack_group(genotypes_, task % n_groups);
            labelings[at(task / n_groups)].find_roots(margins_.data(), task % n_groups);
        });
        run_.step("labelings", 0.98);
        parallel_for(run_, tiles.size(), [&](std::int64_t task, int) {
            const auto [I, J] = tiles[task];
            const std::int64_t i0 = I * width_, j0 = J * width_, nj = width(J);
            const bool some_missing = missing_[at(I)] || missing_[at(J)];
            PairCounts first, all;
            std::vector<Threshold> thresholds;
            for (std::int64_t b = 0; b < count; ++b) thresholds.emplace_back(levels[b], n_);
            for (std::int64_t i = i0, end = i0 + width(I); i < end; ++i) {
                count_all(i, j0, nj, some_missing, first, all);
                for (std::int64_t b = 0; b < count; ++b) {
                    const Labeling& labeling = labelings[at(b)];
                    Level& level = levels[b];
                    labeling.planes().count_pairs(i, j0, nj, some_missing, nullptr, &first);
                    labeling.visit(i, j0, std::max(i + 1 - j0, std::int64_t{0}), nj, all, first, thresholds[at(b)],
                                   [&](std::int64_t k, double) {
                                       if (is_top(i, j0 + k)) return;
                                       const auto table = table_of(all, first, k, labeling.class_counted());
                                       level.raise(interaction(table, level.value()));
                                   });
                }
            }
        });
        run_.step("strongest pairs", 1.0);
        for_strongest(run_, count, n_top, [&](std::int64_t b, std::int64_t begin, std::int64_t end) {
            for (std::int64_t k = begin; k < end; ++k) {
                strengths[b * n_top + k] = interaction(table(top_[at(k)], labelings[at(b)]));
            }
        });
    };
    permute_pairs(top_, n_labelings, at_once, 1, run_, result, compare);
}

}  // namespace

void snp_pairs(const Matrix& X, const Classes& classes, const fastfs_snp_pairs_options& given, Run& run,
               Owned<fastfs_snp_pairs_result>& result) {
    auto options = given;
    std::vector<std::int64_t> wanted = up_to(X.n_cols());
    if (options.snps) wanted.assign(options.snps, options.snps + options.n_snps);
    const auto n_wanted = static_cast<std::int64_t>(wanted.size());
    const auto count_pairs = [](std::int64_t p) { return p % 2 == 0 ? p / 2 * (p - 1) : (p - 1) / 2 * p; };
    options.n_pairs = std::min(options.n_pairs, count_pairs(n_wanted));
    // Counts the search and the arrays: the labelings, and a result of 23 numbers per pair.
    run.require_memory(Search::memory(n_wanted, classes, options, run.n_threads()) + 184 * options.n_pairs +
                           8 * options.n_labelings + 32 * n_wanted + 32 * X.n_rows() + 4 * X.n_cols(),
                       {"the search among ", n_wanted, " SNPs"}, "give fewer SNPs or a smaller n_pairs");

    run.step("reading", options.n_labelings > 0 ? 0.01 : 0.02);
    result.set_zeros(result.constant, X.n_cols());
    const auto [columns, facts] = find_varying_snps(X, wanted, result.constant, run);
    result.n_tested = count_pairs(std::ssize(columns));
    options.n_pairs = std::min(options.n_pairs, result.n_tested);
    const Genotypes genotypes(X, columns);
    Search search(genotypes, facts, classes, options, run);
    // A labeling takes about 0.6 of the time of the true one.
    const double labelings = 0.6 * static_cast<double>(options.n_labelings);
    run.step("pairs", options.n_labelings > 0 ? 0.01 + 0.99 / (1 + labelings) : 1.0);
    search.observe(columns, result);
    if (options.n_labelings == 0) return;
    run.step("labelings", 1.0);
    search.permute(result);
}

}  // namespace fastfs::core
