#include "engines/snp_planes.hpp"

#include <algorithm>
#include <bit>

#include "support/errors.hpp"
#include "support/parallel.hpp"
#include "support/warnings.hpp"

namespace fastfs::core {
namespace {

// SNPs per task.
constexpr std::int64_t kSnpsPerTask = 64;

// Returns the two bits of a genotype: the upper bit is plane 1, both together are plane 2; the lower bit alone means
// missing.
unsigned code(const unsigned char* snp, std::size_t place) { return snp[place / 4] >> (2 * (place % 4)) & 3U; }

}  // namespace

std::vector<std::size_t> Genotypes::places(const std::int64_t* rows, std::int64_t n) const {
    const std::int64_t* list = X_->description().row_list;
    std::vector<std::size_t> places(at(n));
    for (std::int64_t s = 0; s < n; ++s) places[at(s)] = at(list ? list[rows[s]] : rows[s]);
    return places;
}

// Collects the set of codes that occur in each SNP, in parallel.
std::vector<GenotypeFacts> Genotypes::facts(Run& run) const {
    std::vector<GenotypeFacts> facts(snps_.size());
    const auto places = this->places(up_to(X_->n_rows()).data(), X_->n_rows());
    parallel_for(run, ceil_div(n_snps(), kSnpsPerTask), [&](std::int64_t task, int) {
        const std::int64_t end = std::min((task + 1) * kSnpsPerTask, n_snps());
        for (std::int64_t i = task * kSnpsPerTask; i < end; ++i) {
            const unsigned char* bytes = snp(i);
            unsigned seen = 0;
            for (const std::size_t place : places) seen |= 1U << code(bytes, place);
            facts[at(i)] = {std::popcount(seen & 0b1101U) >= 2, (seen & 0b0010U) != 0};
        }
    });
    return facts;
}

// Returns the wanted SNPs that vary, sets `constant` of all others to 1, and warns of them.
VaryingSnps find_varying_snps(const Matrix& X, const std::vector<std::int64_t>& wanted, std::int32_t* constant,
                              Run& run) {
    const auto facts = Genotypes(X, wanted).facts(run);
    VaryingSnps varying;
    std::vector<std::int64_t> left_out;
    for (std::size_t k = 0; k < wanted.size(); ++k) {
        if (facts[k].varies) {
            varying.columns.push_back(wanted[k]);
            varying.facts.push_back(facts[k]);
        } else {
            left_out.push_back(wanted[k]);
            constant[wanted[k]] = 1;
        }
    }
    require(varying.columns.size() >= 2, "X must have two SNPs or more that vary; got ", varying.columns.size(), " of ",
            wanted.size());
    if (const std::size_t n = left_out.size(); n > 0) {
        warn("constant", {n, n == 1 ? " SNP has" : " SNPs have", " fewer than two genotypes and ",
                          n == 1 ? "is" : "are", " left out: ", list_columns(left_out)});
    }
    return varying;
}

// Sets the places of n samples, and enlarges the buffers if they are too small; their old words stay until pack_group.
void SnpPlanes::set_samples(const Genotypes& genotypes, const std::int64_t* rows, std::int64_t n) {
    places_ = genotypes.places(rows, n);
    n_words_ = ceil_div(n, 64);
    const std::int64_t size = n_groups(n_snps_) * group_words();
    if (words_.size() < size) words_ = Buffer<std::uint64_t>(size);
    if (margins_.size() == 0) {
        margins_ = Buffer<std::int32_t>(3 * padded(n_snps_));
        std::fill_n(margins_.data(), margins_.size(), 0);
    }
}

// Transposes the genotypes of kGroupSnps SNPs to words of one bit per sample and plane, and counts the bits for
// margins().
void SnpPlanes::pack_group(const Genotypes& genotypes, std::int64_t group) {
    std::uint64_t* words = words_.data() + group * group_words();
    for (std::int64_t lane = 0; lane < kGroupSnps; ++lane) {
        const std::int64_t i = group * kGroupSnps + lane;
        const bool exists = i < n_snps_;
        const unsigned char* snp = exists ? genotypes.snp(i) : nullptr;
        std::int32_t totals[3] = {};
        for (std::int64_t w = 0; w < n_words_; ++w) {
            const std::int64_t first = 64 * w, n = exists ? std::min<std::int64_t>(64, n_samples() - first) : 0;
            std::uint64_t upper = 0, lower = 0;
            for (std::int64_t s = 0; s < n; ++s) {
                const std::uint64_t c = code(snp, places_[at(first + s)]);
                upper |= (c >> 1) << s;
                lower |= (c & 1) << s;
            }
            const std::uint64_t all = n == 0 ? 0 : ~std::uint64_t{0} >> (64 - n);
            const std::uint64_t bits[3] = {upper, upper & lower, all & (upper | ~lower)};  // of the planes 1, 2 and 0
            for (std::int64_t plane = 0; plane < 3; ++plane) {
                if (plane < n_stored_) words[(plane * n_words_ + w) * kGroupSnps + lane] = bits[plane];
                totals[plane] += std::popcount(bits[plane]);
            }
        }
        if (!exists) continue;
        for (std::int64_t plane = 0; plane < 3; ++plane) {
            margins_[plane * padded(n_snps_) + i] = totals[(plane + 2) % 3];
        }
    }
}

// Counts the bits that planes of SNP i share with planes of n other SNPs; copies counts with a full plane 0 from
// margins().
void SnpPlanes::count_pairs(std::int64_t i, std::int64_t j0, std::int64_t n, bool some_missing, const PairCounts* from,
                            PairCounts* to) const {
    const std::uint64_t* words = words_.data();
    table_isa().count(words + i / kGroupSnps * group_words() + i % kGroupSnps, words + j0 / kGroupSnps * group_words(),
                      n_words_, n_stored_, some_missing, n_groups(n), from, to);
    if (some_missing) return;
    const auto set = [&](std::int64_t row, auto&& count) {
        for (std::int64_t k = 0; k < round_up(n, kSnpUnit); ++k)
            (*to)[row][k] = (from ? (*from)[row][k] : 0) + count(k);
    };
    for (std::int64_t plane = 0; plane < 3; ++plane) {
        const std::int32_t* others = margins(plane) + j0;
        set(plane, [=](std::int64_t k) { return others[k]; });
        if (plane > 0) set(3 * plane, [one = margins(plane)[i]](std::int64_t) { return one; });
    }
}

}  // namespace fastfs::core
