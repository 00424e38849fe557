#include "interactions/genotype_scan.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>
#include <vector>

#include "engines/basis.hpp"
#include "engines/columns.hpp"
#include "engines/isa/tiles.hpp"
#include "engines/permuted_pairs.hpp"
#include "engines/snp_planes.hpp"
#include "engines/strongest.hpp"
#include "interactions/exclusions.hpp"
#include "interactions/genotype_fit.hpp"
#include "interactions/target.hpp"
#include "support/buffer.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// Gram tiles of the indicators of genotypes find candidates (genotype_fit.hpp has the test); reported pairs are
// computed anew, sample by sample.

// The indicators of a SNP: a genotype is known, heterozygous, or two copies; and the SNPs on a side of a tile.
constexpr std::int64_t kIndicators = 3, kSnps = kTile / kIndicators;

// The relative difference of strengths from tiles and from samples.
constexpr double kTileSlack = 1e-9;

// Samples of the panels that are made together, and labelings that are compared together.
constexpr std::int64_t kPanelSamples = 2048, kTargetsAtOnce = 64;

constexpr unsigned kMissingCode = 1;

// Returns the copies of allele 1, 2, 1 or 0, of the code of a genotype, or -1 for a missing one.
int copies(unsigned code) { return code == kMissingCode ? -1 : code == 0 ? 2 : code == 2 ? 1 : 0; }

unsigned code_at(const unsigned char* snp, std::size_t place) { return snp[place / 4] >> (2 * (place % 4)) & 3U; }

struct SnpPair {
    std::int64_t i, j;
    double strength;
};

// The sums of a tile, and the panels that they come from.
struct GenotypeTiles {
    GenotypeTiles(std::int64_t n_sums, std::int64_t n_products, std::int64_t n_samples)
        : sums(n_sums * kTile * kTile),
          products(n_products * kSnps * kTile),
          panels(kPanels * kTile * std::min(n_samples, kPanelSamples)) {}

    static std::int64_t memory(std::int64_t n_sums, std::int64_t n_products, std::int64_t n_samples) {
        return 8 * (n_sums * kTile * kTile + n_products * kSnps * kTile +
                    kPanels * kTile * std::min(n_samples, kPanelSamples));
    }

    double* sum(std::int64_t k) { return sums.data() + k * kTile * kTile; }
    double* product(std::int64_t k) { return products.data() + k * kSnps * kTile; }
    double* panel(std::int64_t k, std::int64_t n) { return panels.data() + k * kTile * n; }

    // The indicators of both sides and those times a column; whether a genotype is known, alike.
    static constexpr std::int64_t kPanels = 6;
    Buffer<double> sums, products, panels;
};

// Places of panels.
constexpr std::int64_t kLeft = 0, kRight = 1, kScaled = 2, kLeftKnown = 3, kRightKnown = 4, kScaledKnown = 5;

class GenotypeScan {
  public:
    GenotypeScan(const Genotypes& genotypes, std::vector<GenotypeFacts> facts, std::int64_t n_samples,
                 const Basis& covariates, const fastfs_snp_pairs_options& options, Run& run)
        : genotypes_(genotypes),
          facts_(std::move(facts)),
          covariates_(covariates),
          options_(options),
          n_(n_samples),
          run_(run),
          places_(genotypes.places(up_to(n_samples).data(), n_samples)),
          tiles_(ceil_div(genotypes.n_snps(), kSnps)) {}

    static std::int64_t n_sums(std::int64_t n_covariates) { return n_covariates + 2; }
    static std::int64_t n_products(std::int64_t n_covariates) { return (n_covariates + 1) * (n_covariates + 2) / 2; }

    void observe(const Basis& target, const std::vector<std::int64_t>& columns, Owned<fastfs_snp_pairs_result>& result);
    // Writes the largest statistic under each labeling, and the p-values of the strongest pairs, to the result.
    void permute(std::int64_t at_once, Owned<fastfs_snp_pairs_result>& result);

  private:
    const double* column(std::int64_t k, const Basis& target) const {
        return k < covariates_.size() ? covariates_.column(k) : target.column(0);
    }
    std::int64_t width(std::int64_t I) const { return std::min(kSnps, genotypes_.n_snps() - I * kSnps); }
    bool some_missing(std::int64_t I) const {
        const auto begin = facts_.begin() + I * kSnps;
        return std::any_of(begin, begin + width(I), [](const GenotypeFacts& facts) { return facts.missing; });
    }
    void write_indicators(std::int64_t I, std::int64_t s, std::int64_t n, double* panels, double* known) const;
    void add_sums(GenotypeTiles& tiles, std::int64_t I, std::int64_t J, const Basis& target, bool only_target) const;
    void read_pair(GenotypeTiles& tiles, std::int64_t a, std::int64_t b, bool gaps, GenotypeFit& fit) const;
    void sum_pair(std::int64_t i, std::int64_t j, const Basis& target, GenotypeFit& fit) const;
    void write_pairs(const Basis& target, const std::vector<std::int64_t>& columns,
                     Owned<fastfs_snp_pairs_result>& result) const;
    bool is_top(std::int64_t i, std::int64_t j) const {
        return std::binary_search(keys_.begin(), keys_.end(), i * genotypes_.n_snps() + j);
    }
    // Calls visit(i, j, test) for the pairs of a tile, after its sums were made. fit: scratch.
    template <class Visit>
    void for_pairs(GenotypeTiles& tiles, std::int64_t I, std::int64_t J, GenotypeFit& fit, Visit&& visit) const {
        const bool gaps = some_missing(I) || some_missing(J);
        for (std::int64_t a = 0; a < width(I); ++a) {
            for (std::int64_t b = I == J ? a + 1 : 0; b < width(J); ++b) {
                read_pair(tiles, a, b, gaps, fit);
                visit(I * kSnps + a, J * kSnps + b, fit.test());
            }
        }
    }
    std::vector<GenotypeTiles> make_scratch() const {
        std::vector<GenotypeTiles> scratch;
        const bool gaps =
            std::any_of(facts_.begin(), facts_.end(), [](const GenotypeFacts& facts) { return facts.missing; });
        for (int t = 0; t < run_.n_threads(); ++t) {
            scratch.emplace_back(n_sums(covariates_.size()), gaps ? n_products(covariates_.size()) : 0, n_);
        }
        return scratch;
    }

    const Genotypes& genotypes_;
    const std::vector<GenotypeFacts> facts_;
    const Basis& covariates_;
    const fastfs_snp_pairs_options& options_;
    const std::int64_t n_;
    Run& run_;
    const std::vector<std::size_t> places_;
    const TilePairs tiles_;
    std::vector<SnpPair> top_;
    std::vector<std::int64_t> keys_;  // i n_snps + j of the strongest pairs, ascending
};

// Writes the indicators of the SNPs of block I at samples s .. s + n - 1 to panels, and those of known genotypes alone.
void GenotypeScan::write_indicators(std::int64_t I, std::int64_t s, std::int64_t n, double* panels,
                                    double* known) const {
    constexpr std::int64_t K = kPanel<double>;
    std::fill_n(panels, kTile * n, 0.0);
    std::fill_n(known, round_up(kSnps, K) * n, 0.0);
    for (std::int64_t a = 0; a < width(I); ++a) {
        const unsigned char* snp = genotypes_.snp(I * kSnps + a);
        double *to = panels + kIndicators * a / K * n * K + kIndicators * a % K,
               *to_known = known + a / K * n * K + a % K;
        for (std::int64_t t = 0; t < n; ++t) {
            const int g = copies(code_at(snp, places_[at(s + t)]));
            to[t * K] = to_known[t * K] = g >= 0 ? 1 : 0;
            to[t * K + 1] = g == 1 ? 1 : 0;
            to[t * K + 2] = g == 2 ? 1 : 0;
        }
    }
}

// Sets the sums of a tile: counts, and sums of the covariates and of the target over the samples with each two
// indicators; with missing genotypes also the products of two of these columns. only_target: those of the target alone.
void GenotypeScan::add_sums(GenotypeTiles& tiles, std::int64_t I, std::int64_t J, const Basis& target,
                            bool only_target) const {
    constexpr std::int64_t K = kPanel<double>;
    const std::int64_t ni = kIndicators * width(I), nj = kIndicators * width(J), L = covariates_.size();
    const bool gaps = some_missing(I) || some_missing(J);
    Numbers weights(at(std::min(n_, kPanelSamples)));
    const auto multiply = [&](std::int64_t left, std::int64_t right, std::int64_t n, std::int64_t s, double* out,
                              std::int64_t rows, std::int64_t cols) {
        tile_kernels<double>().gram(tiles.panel(left, n), tiles.panel(right, n), n * K, n, s > 0, out, kTile, rows,
                                    cols);
    };
    const auto scale = [&](std::int64_t from, std::int64_t to, std::int64_t n, std::int64_t n_columns) {
        const double* x = tiles.panel(from, n);
        double* scaled = tiles.panel(to, n);
        for (std::int64_t panel = 0; panel < ceil_div(n_columns, K); ++panel) {
            for (std::int64_t t = 0; t < n; ++t) {
                for (std::int64_t k = 0; k < K; ++k) {
                    scaled[(panel * n + t) * K + k] = x[(panel * n + t) * K + k] * weights[at(t)];
                }
            }
        }
    };
    for (std::int64_t s = 0; s < n_; s += kPanelSamples) {
        run_.checkpoint();
        const std::int64_t n = std::min(kPanelSamples, n_ - s);
        if (!only_target || n < n_) {
            write_indicators(I, s, n, tiles.panel(kLeft, n), tiles.panel(kLeftKnown, n));
            write_indicators(J, s, n, tiles.panel(kRight, n), tiles.panel(kRightKnown, n));
        }
        if (!only_target) multiply(kLeft, kRight, n, s, tiles.sum(0), ni, nj);
        for (std::int64_t k = only_target ? L : 0; k <= L; ++k) {
            std::copy_n(column(k, target) + s, n, weights.begin());
            scale(kRight, kScaled, n, nj);
            multiply(kLeft, kScaled, n, s, tiles.sum(1 + k), ni, nj);
            for (std::int64_t l = 0; gaps && l <= k; ++l) {
                for (std::int64_t t = 0; t < n; ++t) {
                    weights[at(t)] = column(k, target)[s + t] * column(l, target)[s + t];
                }
                scale(kRightKnown, kScaledKnown, n, width(J));
                multiply(kLeftKnown, kScaledKnown, n, s, tiles.product(k * (k + 1) / 2 + l), width(I), width(J));
            }
        }
    }
}

// Sets the sums of `fit` from the sums of a tile, for its SNPs a and b. gaps: genotypes are missing in the tile.
void GenotypeScan::read_pair(GenotypeTiles& tiles, std::int64_t a, std::int64_t b, bool gaps, GenotypeFit& fit) const {
    // Sums over the samples with each two indicators become sums over those with each two genotypes: known samples less
    // those with one copy or more have none.
    const auto cells = [&](const double* tile, auto&& out) {
        const double* rows[kIndicators];
        for (std::int64_t k = 0; k < kIndicators; ++k) rows[k] = tile + (kIndicators * a + k) * kTile + kIndicators * b;
        for (std::int64_t g = 0; g < 3; ++g) {
            const auto at_genotype = [&](std::int64_t k) {
                return g > 0 ? rows[g][k] : rows[0][k] - rows[1][k] - rows[2][k];
            };
            const double one = at_genotype(1), two = at_genotype(2);
            out(g, 0) = at_genotype(0) - one - two;
            out(g, 1) = one;
            out(g, 2) = two;
        }
    };
    cells(tiles.sum(0), [&](std::int64_t g, std::int64_t h) -> double& { return fit.count(g, h); });
    for (std::int64_t k = 0; k < fit.size(); ++k) {
        cells(tiles.sum(1 + k), [&](std::int64_t g, std::int64_t h) -> double& { return fit.sum(k, g, h); });
        for (std::int64_t l = 0; l <= k; ++l) {
            const double of_all = k == l ? static_cast<double>(n_) : 0;
            const double product = gaps ? tiles.product(k * (k + 1) / 2 + l)[a * kTile + b] : of_all;
            fit.product(k, l) = fit.product(l, k) = product;
        }
    }
}

// Sets the sums of `fit` for a pair, sample by sample.
void GenotypeScan::sum_pair(std::int64_t i, std::int64_t j, const Basis& target, GenotypeFit& fit) const {
    const unsigned char *first = genotypes_.snp(i), *second = genotypes_.snp(j);
    for (std::int64_t cell = 0; cell < 9; ++cell) {
        fit.count(cell / 3, cell % 3) = 0;
        for (std::int64_t k = 0; k < fit.size(); ++k) fit.sum(k, cell / 3, cell % 3) = 0;
    }
    for (std::int64_t k = 0; k < fit.size(); ++k) {
        for (std::int64_t l = 0; l < fit.size(); ++l) fit.product(k, l) = 0;
    }
    for (std::int64_t s = 0; s < n_; ++s) {
        const int g = copies(code_at(first, places_[at(s)])), h = copies(code_at(second, places_[at(s)]));
        if (g < 0 || h < 0) continue;
        ++fit.count(g, h);
        for (std::int64_t k = 0; k < fit.size(); ++k) {
            const double value = column(k, target)[s];
            fit.sum(k, g, h) += value;
            for (std::int64_t l = 0; l <= k; ++l) fit.product(k, l) += value * column(l, target)[s];
        }
    }
    for (std::int64_t k = 0; k < fit.size(); ++k) {
        for (std::int64_t l = 0; l < k; ++l) fit.product(l, k) = fit.product(k, l);
    }
}

// Tests all pairs with the true target, writes the strongest ones, the largest statistic of each SNP and the numbers of
// excluded pairs to the result, and keeps the strongest pairs for permute(). columns: the columns of X that the SNPs
// are.
void GenotypeScan::observe(const Basis& target, const std::vector<std::int64_t>& columns,
                           Owned<fastfs_snp_pairs_result>& result) {
    std::vector<GenotypeTiles> scratch = make_scratch();
    Strongest<SnpPair> strongest(options_.n_pairs);
    Excluded excluded;
    std::vector<Level> largest(at(genotypes_.n_snps()));
    std::atomic<std::int64_t> n_tested{0};
    parallel_for(run_, tiles_.size(), [&](std::int64_t task, int slot) {
        const auto [I, J] = tiles_[task];
        GenotypeFit fit(covariates_.size()), exact(covariates_.size());
        add_sums(scratch[at(slot)], I, J, target, false);
        std::int64_t tested = 0;
        for_pairs(scratch[at(slot)], I, J, fit, [&](std::int64_t i, std::int64_t j, const GenotypeTest& found) {
            if (found.exclusion != Exclusion::kNone) {
                excluded.add(found.exclusion, i, j);
                return;
            }
            ++tested;
            largest[at(i)].raise(found.strength);
            largest[at(j)].raise(found.strength);
            if (found.strength * (1 + kTileSlack) < strongest.level.value()) return;
            sum_pair(i, j, target, exact);
            strongest.add({i, j, exact.test().strength});
        });
        n_tested += tested;
    });
    top_ = strongest.sorted();
    for (const SnpPair& pair : top_) keys_.push_back(pair.i * genotypes_.n_snps() + pair.j);
    std::sort(keys_.begin(), keys_.end());

    result.n_tested = n_tested;
    result.n_products = excluded.count(Exclusion::kProduct);
    result.n_few = excluded.count(Exclusion::kSamples);
    result.n_explained = excluded.count(Exclusion::kTarget);
    auto listed = excluded.first();
    result.set_zeros(result.excluded, 2 * std::ssize(listed));
    for (std::size_t k = 0; k < listed.size(); ++k) {
        result.excluded[2 * k] = listed[k].first = columns[at(listed[k].first)];
        result.excluded[2 * k + 1] = listed[k].second = columns[at(listed[k].second)];
    }
    warn_of_excluded_snps(listed, result);
    for (std::int64_t i = 0; i < genotypes_.n_snps(); ++i) result.scores[columns[at(i)]] = largest[at(i)].value();
    write_pairs(target, columns, result);
}

// Writes the strongest pairs to the result, with their counts and means.
void GenotypeScan::write_pairs(const Basis& target, const std::vector<std::int64_t>& columns,
                               Owned<fastfs_snp_pairs_result>& result) const {
    result.n_pairs = std::ssize(top_);
    result.set_zeros(result.pairs, 2 * result.n_pairs);
    result.set_zeros(result.statistics, result.n_pairs);
    result.set_zeros(result.degrees, result.n_pairs);
    result.set_zeros(result.rest_degrees, result.n_pairs);
    result.set_zeros(result.cells, 18 * result.n_pairs);
    parallel_for(run_, result.n_pairs, [&](std::int64_t k, int) {
        const SnpPair& pair = top_[at(k)];
        GenotypeFit fit(covariates_.size());
        sum_pair(pair.i, pair.j, target, fit);
        const GenotypeTest found = fit.test();
        result.pairs[2 * k] = columns[at(pair.i)];
        result.pairs[2 * k + 1] = columns[at(pair.j)];
        result.statistics[k] = found.strength;
        result.degrees[k] = found.degrees;
        result.rest_degrees[k] = found.rest_degrees;
        const unsigned char *first = genotypes_.snp(pair.i), *second = genotypes_.snp(pair.j);
        double* cells = result.cells + 18 * k;
        for (std::int64_t s = 0; s < n_; ++s) {
            const int g = copies(code_at(first, places_[at(s)])), h = copies(code_at(second, places_[at(s)]));
            if (g < 0 || h < 0) continue;
            double* cell = cells + 6 * g + 2 * h;
            cell[0] += 1;
            cell[1] += options_.y[s] / cell[0] - cell[1] / cell[0];  // the mean so far, which can't overflow
        }
        for (std::int64_t cell = 0; cell < 9; ++cell) {
            if (cells[2 * cell] == 0) cells[2 * cell + 1] = std::numeric_limits<double>::quiet_NaN();
        }
    });
}

void GenotypeScan::permute(std::int64_t at_once, Owned<fastfs_snp_pairs_result>& result) {
    const auto compare = [&](std::int64_t first, std::int64_t count, Level* levels, double* strengths) {
        const auto targets = make_targets(nullptr, 0, options_.y_permutations, first, count, covariates_);
        std::vector<GenotypeTiles> scratch = make_scratch();
        run_.step("labelings", 0.98);
        parallel_for(run_, tiles_.size(), [&](std::int64_t task, int slot) {
            const auto [I, J] = tiles_[task];
            GenotypeFit fit(covariates_.size());
            for (std::int64_t b = 0; b < count; ++b) {
                add_sums(scratch[at(slot)], I, J, targets[at(b)], b > 0);
                Level& level = levels[b];
                for_pairs(scratch[at(slot)], I, J, fit, [&](std::int64_t i, std::int64_t j, const GenotypeTest& found) {
                    if (found.strength > level.value() && !is_top(i, j)) level.raise(found.strength);
                });
            }
        });
        run_.step("strongest pairs", 1.0);
        const std::int64_t n_top = std::ssize(top_);
        for_strongest(run_, count, n_top, [&](std::int64_t b, std::int64_t begin, std::int64_t end) {
            GenotypeFit fit(covariates_.size());
            for (std::int64_t k = begin; k < end; ++k) {
                sum_pair(top_[at(k)].i, top_[at(k)].j, targets[at(b)], fit);
                strengths[b * n_top + k] = fit.test().strength;
            }
        });
    };
    permute_pairs(top_, options_.n_labelings, at_once, 1, run_, result, compare);
}

}  // namespace

void scan_genotypes(const Matrix& X, const fastfs_snp_pairs_options& given, Run& run,
                    Owned<fastfs_snp_pairs_result>& result) {
    auto options = given;
    const std::int64_t n = X.n_rows();
    std::vector<std::int64_t> wanted = up_to(X.n_cols());
    if (options.snps) wanted.assign(options.snps, options.snps + options.n_snps);
    const std::int64_t n_wanted = std::ssize(wanted);
    const double n_all = static_cast<double>(n_wanted) * static_cast<double>(n_wanted - 1) / 2;
    options.n_pairs = static_cast<std::int64_t>(std::min(static_cast<double>(options.n_pairs), n_all));

    const Basis covariates = make_covariates(options.covariates, options.n_covariates, n);
    const std::int64_t L = covariates.size(), at_once = std::min(kTargetsAtOnce, options.n_labelings);
    require(n >= 4 + L + kFewestDegrees, "X must have at least ", 4 + L + kFewestDegrees,
            " samples for this target and these covariates; got ", n, ": give more samples");
    run.require_memory(
        run.n_threads() * GenotypeTiles::memory(GenotypeScan::n_sums(L), GenotypeScan::n_products(L), n) +
            8 * n * (L + 2 + at_once) + 8 * at_once * options.n_pairs + Strongest<SnpPair>::memory(options.n_pairs) +
            232 * options.n_pairs + 8 * options.n_labelings + 48 * n_wanted + 12 * X.n_cols() + 8 * n +
            8 * run.n_threads() * kPanelSamples,
        {"the search among ", n_wanted, " SNPs"}, "give fewer SNPs or a smaller n_pairs");

    const Basis target = make_target(nullptr, 0, options.y, covariates);
    require(target.size() == 1,
            L > 0 ? "covariates must not determine the target, or no interaction can be tested: give fewer covariates"
                  : "y must vary; got equal numbers");
    run.step("reading", 0.01);
    result.set_zeros(result.constant, X.n_cols());
    result.set_zeros(result.scores, X.n_cols());
    const auto [columns, facts] = find_varying_snps(X, wanted, result.constant, run);
    const Genotypes genotypes(X, columns);
    GenotypeScan scan(genotypes, facts, n, covariates, options, run);
    run.step("pairs", options.n_labelings > 0 ? 1 / (2 + static_cast<double>(options.n_labelings)) : 1.0);
    scan.observe(target, columns, result);
    if (options.n_labelings == 0) return;
    run.step("labelings", 1.0);
    scan.permute(at_once, result);
}

}  // namespace fastfs::core
