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

// The kinds of genotypes that occur in a SNP.
struct GenotypeFacts {
    bool varies;   // at least two genotypes occur
    bool missing;  // some genotypes are missing
};

// The genotypes of selected SNPs of a matrix.
class Genotypes {
  public:
    // X must outlive this object.
    Genotypes(const Matrix& X, std::vector<std::int64_t> snps) : X_(&X), snps_(std::move(snps)) {}

    std::int64_t n_snps() const { return static_cast<std::int64_t>(snps_.size()); }
    // Returns for each SNP if it varies and if genotypes are missing.
    std::vector<GenotypeFacts> facts(Run& run) const;

    // Returns the bytes of a SNP, in which each sample has two bits (see `places`).
    const unsigned char* snp(std::int64_t i) const {
        const fastfs_matrix& m = X_->description();
        const std::int64_t place = m.col_list ? m.col_list[snps_[at(i)]] : snps_[at(i)];
        return static_cast<const unsigned char*>(m.values) + place * m.col_stride;
    }
    // Returns for each of n rows of X its place among the samples in the bytes of a SNP.
    std::vector<std::size_t> places(const std::int64_t* rows, std::int64_t n) const;

  private:
    const Matrix* X_;
    std::vector<std::int64_t> snps_;
};

// The SNPs of a list that vary.
struct VaryingSnps {
    std::vector<std::int64_t> columns;
    std::vector<GenotypeFacts> facts;
};

// Returns the listed SNPs that vary. Sets constant[j] to 1 for each other one, and warns of them; throws
// InvalidArgument if fewer than two vary.
VaryingSnps find_varying_snps(const Matrix& X, const std::vector<std::int64_t>& wanted, std::int32_t* constant,
                              Run& run);

// Bit planes of selected samples: kGroupSnps SNPs side by side, with planes 1 and 2 of PairCounts, and with_known also
// plane 0.
class SnpPlanes {
  public:
    SnpPlanes() = default;
    SnpPlanes(std::int64_t n_snps, bool with_known) : n_snps_(n_snps), n_stored_(with_known ? 3 : 2) {}

    static std::int64_t n_groups(std::int64_t n_snps) { return round_up(n_snps, kSnpUnit) / kGroupSnps; }
    // Returns n_snps, padded as arrays of one value per SNP are.
    static std::int64_t padded(std::int64_t n_snps) { return round_up(n_snps, kTableSnps); }
    static std::int64_t memory(std::int64_t n_snps, std::int64_t n_samples, bool with_known) {
        const std::int64_t words = n_groups(n_snps) * kGroupSnps * (with_known ? 3 : 2) * ceil_div(n_samples, 64);
        return 8 * words + 12 * padded(n_snps) + 8 * n_samples;
    }

    // Chooses the n listed samples (rows of X) and makes room for their planes; pack_group fills it, group by group.
    void set_samples(const Genotypes& genotypes, const std::int64_t* rows, std::int64_t n);
    // Overwrites the planes of bits of a group of SNPs, zeros for lanes without a SNP, and writes the number of samples
    // in each plane to margins().
    void pack_group(const Genotypes& genotypes, std::int64_t group);

    std::int64_t n_samples() const { return static_cast<std::int64_t>(places_.size()); }
    // Returns the number of samples in plane 0, 1 or 2 of each SNP.
    const std::int32_t* margins(std::int64_t plane) const { return margins_.data() + plane * padded(n_snps_); }

    // Sets `to` to `from` (0 if null) + the counts of SNP i with n SNPs from j0 on, a multiple of kSnpUnit; n is
    // rounded up to a multiple, too. Plane 0 is counted if some_missing, which requires stored planes 0; otherwise
    // plane 0 has all samples, and counts with it come from margins().
    void count_pairs(std::int64_t i, std::int64_t j0, std::int64_t n, bool some_missing, const PairCounts* from,
                     PairCounts* to) const;

  private:
    std::int64_t group_words() const { return kGroupSnps * n_stored_ * n_words_; }

    std::int64_t n_snps_ = 0, n_stored_ = 2, n_words_ = 0;
    std::vector<std::size_t> places_;
    Buffer<std::uint64_t> words_;
    Buffer<std::int32_t> margins_;
};

}  // namespace fastfs::core
