// Engine: genotypes SNP by SNP, as planes of bits from which tables of two SNPs are counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "engines/isa/genotype_tables.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/matrix.hpp"

namespace fastfs::core {

// Which genotypes occur in a SNP.
struct GenotypeFacts {
    bool varies;   // at least two do
    bool missing;  // some are
};

// Some SNPs of a matrix of genotypes.
class Genotypes {
  public:
    // X must outlive it.
    Genotypes(const Matrix& X, std::vector<std::int64_t> snps) : X_(&X), snps_(std::move(snps)) {}

    std::int64_t n_snps() const { return static_cast<std::int64_t>(snps_.size()); }
    std::vector<GenotypeFacts> facts(Run& run) const;

    // The bytes of a SNP, and the places of samples (rows of X) in it: two bits each.
    const unsigned char* snp(std::int64_t i) const {
        const fastfs_matrix& m = X_->description();
        const std::int64_t place = m.col_list ? m.col_list[snps_[at(i)]] : snps_[at(i)];
        return static_cast<const unsigned char*>(m.values) + place * m.col_stride;
    }
    std::vector<std::size_t> places(const std::int64_t* rows, std::int64_t n) const;

  private:
    const Matrix* X_;
    std::vector<std::int64_t> snps_;
};

// The planes of some samples: kGroupSnps SNPs side by side, with the planes 1 and 2 of PairCounts, and with_known also
// 0.
class SnpPlanes {
  public:
    SnpPlanes() = default;
    SnpPlanes(std::int64_t n_snps, bool with_known) : n_snps_(n_snps), n_stored_(with_known ? 3 : 2) {}

    static std::int64_t n_groups(std::int64_t n_snps) { return round_up(n_snps, kSnpUnit) / kGroupSnps; }
    // n_snps, as arrays of one value a SNP are padded.
    static std::int64_t padded(std::int64_t n_snps) { return round_up(n_snps, kTableSnps); }
    static std::int64_t memory(std::int64_t n_snps, std::int64_t n_samples, bool with_known) {
        const std::int64_t words = n_groups(n_snps) * kGroupSnps * (with_known ? 3 : 2) * ceil_div(n_samples, 64);
        return 8 * words + 12 * padded(n_snps) + 8 * n_samples;
    }

    // Makes room for these samples (rows of X); pack fills it, group by group.
    void assign(const Genotypes& genotypes, const std::int64_t* rows, std::int64_t n);
    void pack(const Genotypes& genotypes, std::int64_t group);

    std::int64_t n_samples() const { return static_cast<std::int64_t>(places_.size()); }
    // Samples in plane 0, 1 or 2 of each SNP.
    const std::int32_t* margins(std::int64_t plane) const { return margins_.data() + plane * padded(n_snps_); }

    // to = from (or 0) + the counts of SNP i with n SNPs from j0, a multiple of kSnpUnit, and with those up to the next
    // multiple. Plane 0 is counted if some_missing, which needs that planes have it; otherwise it has all samples.
    void count(std::int64_t i, std::int64_t j0, std::int64_t n, bool some_missing, const PairCounts* from,
               PairCounts* to) const;

  private:
    std::int64_t group_words() const { return kGroupSnps * n_stored_ * n_words_; }

    std::int64_t n_snps_ = 0, n_stored_ = 2, n_words_ = 0;
    std::vector<std::size_t> places_;
    Buffer<std::uint64_t> words_;
    Buffer<std::int32_t> margins_;
};

}  // namespace fastfs::core
