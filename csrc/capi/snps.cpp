// The C interface of methods on SNPs.
#include <cstdint>

#include "capi/abi.hpp"
#include "capi/checks.hpp"
#include "capi/fields.hpp"
#include "capi/fitted.hpp"
#include "interactions/genotype_scan.hpp"
#include "snps/ld_clumps.hpp"
#include "snps/snp_pairs.hpp"
#include "support/classes.hpp"
#include "support/errors.hpp"

namespace {

using namespace fastfs::core;

// Returns the genotypes of the caller; throws unless they are stored in two bits.
Matrix read_genotypes(const fastfs_matrix* X_) {
    const Matrix X = read_matrix(X_);
    require(X.is_genotypes(), kX, " must be genotypes of two bits (FASTFS_GENOTYPE); got storage ",
            X.description().storage);
    require_size(X.n_rows(), 1, "the number of samples");
    require_size(X.n_cols(), 1, "the number of SNPs");
    return X;
}

// Throws unless y, its n_labelings permutations and the covariates are finite numbers for n samples, and labelings is
// null.
void require_numeric_target(const fastfs_snp_pairs_options& o, std::int64_t n) {
    require_numbers(o.y, n, "y");
    require(!o.labelings, "labelings must be null with y: give y_permutations");
    require(o.n_labelings >= 0, "n_labelings must be at least 0; got ", o.n_labelings);
    require_covariates(o.covariates, o.n_covariates, n);
    if (o.n_labelings == 0) return;
    require_fits(o.n_labelings, n, "the labelings");
    require_array(o.y_permutations, "y_permutations");
    require_numbers(o.y_permutations, o.n_labelings * n, "y_permutations");
}

// Reads the options of the caller, and checks them, the labels (null with y) and their fit to X.
fastfs_snp_pairs_options read_snp_pairs_options(const fastfs_snp_pairs_options* given, const Matrix& X,
                                                const std::int64_t* labels) {
    const auto o = read_options(given, FASTFS_SNP_PAIRS_OPTIONS_INIT);
    if (labels) {
        require(!o.y, "one of labels and y must be null, and the other one not; got both");
        require_labels(labels, X.n_rows(), 2);
        require(o.n_covariates == 0, "n_covariates must be 0 with labels; got ", o.n_covariates,
                ": give the classes as numbers in y");
        require_labelings(o.labelings, o.n_labelings, X.n_rows(), 2);
    } else {
        require(o.y != nullptr, "one of labels and y must be null, and the other one not; got neither");
        require_numeric_target(o, X.n_rows());
    }
    require_features(o.snps, o.n_snps, X.n_cols(), "snps");
    const std::int64_t n_snps = o.snps ? o.n_snps : X.n_cols();
    require(n_snps >= 2, "X must have two SNPs or more, which make pairs; got one");
    return o;
}

// Reads the options of the caller, and checks the positions.
fastfs_ld_clumps_options read_ld_clumps_options(const fastfs_ld_clumps_options* given, std::int64_t n_snps) {
    const auto o = read_options(given, FASTFS_LD_CLUMPS_OPTIONS_INIT);
    require_size(o.n_clumps, 0, "n_clumps");
    require_array(o.positions, "positions");
    require_array_or_null(o.chromosomes, "chromosomes");
    for (std::int64_t s = 0; s < n_snps; ++s) {
        require(o.positions[s] >= 0 && o.positions[s] <= kMostValues, "positions must be from 0 to 2^50; got ",
                o.positions[s], " for ", Name::column(s));
    }
    return o;
}

}  // namespace

extern "C" {

fastfs_status fastfs_snp_pairs(const fastfs_matrix* X_, const int64_t* labels, const fastfs_snp_pairs_options* options,
                               const fastfs_run* run_, fastfs_snp_pairs_result* result, fastfs_fitted** fitted) {
    return guarded([&] {
        const Matrix X = read_genotypes(X_);
        const auto o = read_snp_pairs_options(options, X, labels);
        Run run = read_run(run_);
        fill_fitted(run, result, FASTFS_SNP_PAIRS_RESULT_INIT, fitted, [&](auto& r) {
            if (labels) {
                snp_pairs(X, Classes(labels, X.n_rows(), 2), o, run, r);
            } else {
                scan_genotypes(X, o, run, r);
            }
        });
    });
}

// Fills the result with clumps of correlated SNPs, each led by its SNP of highest score.
fastfs_status fastfs_ld_clumps(const fastfs_matrix* X_, const double* scores, const fastfs_ld_clumps_options* options,
                               const fastfs_run* run_, fastfs_ld_clumps_result* result, fastfs_fitted** fitted) {
    return guarded([&] {
        const Matrix X = read_genotypes(X_);
        require_numbers(scores, X.n_cols(), "scores",
                        [](std::int64_t j) { return Name{FASTFS_PLACE_COLUMN, j, "SNP " + std::to_string(j)}; });
        const auto o = read_ld_clumps_options(options, X.n_cols());
        Run run = read_run(run_);
        fill_fitted(run, result, FASTFS_LD_CLUMPS_RESULT_INIT, fitted,
                    [&](auto& r) { ld_clumps(X, scores, o, run, r); });
    });
}

}  // extern "C"
