#include "engines/snp_planes.hpp"

#include <algorithm>
#include <bit>

#include "engines/isa/tiles.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// SNPs that a task looks at.
constexpr std::int64_t kSnpsPerTask = 64;

// The codes of genotypes: bit 0 is plane 2, unless bit 1, which is plane 1, isn't set: then it is missing.
constexpr unsigned kMissing = 0b01;

unsigned code(const unsigned char* snp, std::int64_t place) { return snp[place / 4] >> (2 * (place % 4)) & 3U; }

}  // namespace

std::vector<GenotypeFacts> Genotypes::facts(Run& run) const {
    std::vector<GenotypeFacts> facts(snps_.size());
    parallel_for(run, ceil_div(n_snps(), kSnpsPerTask), [&](std::int64_t task, int) {
        const std::int64_t end = std::min((task + 1) * kSnpsPerTask, n_snps());
        for (std::int64_t i = task * kSnpsPerTask; i < end; ++i) {
            unsigned seen = 0;
            for (std::int64_t r = 0; r < X_->n_rows(); ++r) seen |= 1U << code(snp(i), place(r));
            facts[at(i)] = {std::popcount(seen & ~(1U << kMissing)) >= 2, (seen & 1U << kMissing) != 0};
        }
    });
    return facts;
}

void SnpPlanes::assign(const Genotypes& genotypes, const std::int64_t* rows, std::int64_t n) {
    places_.resize(at(n));
    for (std::int64_t s = 0; s < n; ++s) places_[at(s)] = genotypes.place(rows[s]);
    n_words_ = ceil_div(n, 64);
    const std::int64_t size = n_groups(n_snps_) * group_words();
    if (words_.size() < size) words_ = Buffer<std::uint64_t>(size);
    if (margins_.size() == 0) {
        margins_ = Buffer<std::int32_t>(3 * padded(n_snps_));
        std::fill_n(margins_.data(), margins_.size(), 0);
    }
}

void SnpPlanes::pack(const Genotypes& genotypes, std::int64_t group) {
    std::uint64_t* words = words_.data() + group * group_words();
    for (std::int64_t lane = 0; lane < kGroupSnps; ++lane) {
        const std::int64_t i = group * kGroupSnps + lane;
        const bool exists = i < n_snps_;
        const unsigned char* snp = exists ? genotypes.snp(i) : nullptr;
        std::int32_t totals[3] = {};
        for (std::int64_t w = 0; w < n_words_; ++w) {
            std::uint64_t bits[3] = {};  // of the planes 1, 2 and 0
            const std::int64_t first = 64 * w, n = exists ? std::min<std::int64_t>(64, n_samples() - first) : 0;
            for (std::int64_t s = 0; s < n; ++s) {
                const std::uint64_t c = code(snp, places_[at(first + s)]);
                bits[0] |= (c >> 1) << s;
                bits[1] |= (c >> 1 & c) << s;
                bits[2] |= std::uint64_t{c != kMissing} << s;
            }
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

void SnpPlanes::count(std::int64_t i, std::int64_t j0, std::int64_t n, bool some_missing, const PairCounts* from,
                      PairCounts* to) const {
    const std::uint64_t* words = words_.data();
    isa().tables->count(words + i / kGroupSnps * group_words() + i % kGroupSnps,
                        words + j0 / kGroupSnps * group_words(), n_words_, n_stored_, some_missing, n_groups(n), from,
                        to);
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
