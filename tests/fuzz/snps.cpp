// Pairs of features that differ between classes, pairs and clumps of SNPs, and the functions without data.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "call.hpp"

namespace fuzz {
namespace {

// Labels of two classes, and some more labelings; ascending columns.
struct Classes {
    std::vector<std::int64_t> labels, labelings, columns;
    std::int64_t n_labelings = 0;
};

Classes draw_classes(Input& in, std::int64_t n, std::int64_t d) {
    Classes all;
    all.labels = draw_labels(in, n, 2);
    all.n_labelings = in.one_in(2) ? 0 : in.from(1, 3);
    for (std::int64_t b = 0; b < all.n_labelings; ++b) {
        const auto more = draw_labels(in, n, 2);
        all.labelings.insert(all.labelings.end(), more.begin(), more.end());
    }
    Random random(in.word());
    for (std::int64_t c = 0; in.one_in(2) && c < d; ++c) {
        if (random.below(3) > 0) all.columns.push_back(c);
    }
    if (!all.columns.empty() && in.one_in(16)) all.columns.back() = in.mostly(d);
    return all;
}

// Pearson's, over the rows of a class.
double correlation(const Table& X, const std::vector<std::int64_t>& labels, std::int64_t of, std::int64_t a,
                   std::int64_t b) {
    double n = 0, means[2] = {0, 0}, aa = 0, ab = 0, bb = 0;
    for (std::int64_t r = 0; r < X.n; ++r) {
        if (labels[static_cast<std::size_t>(r)] != of) continue;
        n += 1, means[0] += X.at(r, a), means[1] += X.at(r, b);
    }
    for (std::int64_t r = 0; r < X.n; ++r) {
        if (labels[static_cast<std::size_t>(r)] != of) continue;
        const double x = X.at(r, a) - means[0] / n, y = X.at(r, b) - means[1] / n;
        aa += x * x, ab += x * y, bb += y * y;
    }
    return ab / std::sqrt(aa * bb);
}

// Twice the difference of log-likelihoods of a table (3 x 3 x 2) and of the one that its margins of two fit, which
// proportional fitting approaches from above; -1 while it's far.
double likelihood_ratio(const std::int64_t* table) {
    constexpr int kCells = 18, kMargins[3][2] = {{6, 2}, {6, 1}, {2, 1}};  // steps of the two that are kept
    constexpr int kSizes[7] = {0, 2, 3, 0, 0, 0, 3};
    double fitted[kCells], ratio = 0, before = 0;
    std::fill(fitted, fitted + kCells, 1.0);
    const auto add_up = [&](auto&& of, const int* steps, double* sums) {
        std::fill(sums, sums + 9, 0.0);
        for (int c = 0; c < kCells; ++c)
            sums[c / steps[0] % kSizes[steps[0]] * 3 + c / steps[1] % kSizes[steps[1]]] += of(c);
    };
    for (int round = 0; round < 400; ++round) {
        for (const auto& steps : kMargins) {
            double wanted[9], found[9];
            add_up([&](int c) { return static_cast<double>(table[c]); }, steps, wanted);
            add_up([&](int c) { return fitted[c]; }, steps, found);
            for (int c = 0; c < kCells; ++c) {
                const int at = c / steps[0] % kSizes[steps[0]] * 3 + c / steps[1] % kSizes[steps[1]];
                fitted[c] = wanted[at] > 0 ? fitted[c] * wanted[at] / found[at] : 0;
            }
        }
        if (round != 299 && round != 399) continue;
        before = ratio;
        ratio = 0;
        for (int c = 0; c < kCells; ++c) {
            const auto n = static_cast<double>(table[c]);
            if (n > 0) ratio += 2 * n * std::log(n / fitted[c]);
        }
    }
    return before - ratio < 1e-10 ? ratio : -1;
}

}  // namespace

void try_correlation(Input& in) {
    const std::int64_t n = draw_size(in, 2), d = draw_size(in, 1);
    const auto X = draw_table(in, n, d);
    const Classes of = draw_classes(in, n, d);
    fastfs_differential_correlation_options o = FASTFS_DIFFERENTIAL_CORRELATION_OPTIONS_INIT;
    o.correlation = in.mostly<std::int32_t>(in.pick({FASTFS_PEARSON, FASTFS_SPEARMAN}));
    o.n_pairs = in.mostly(in.pick<std::int64_t>({1, 5, 100000}));
    if (!of.columns.empty()) {
        o.features = of.columns.data();
        o.n_features = std::ssize(of.columns);
    }
    o.labelings = of.labelings.data();
    o.n_labelings = of.n_labelings;
    Owned<fastfs_differential_correlation_result> made(FASTFS_DIFFERENTIAL_CORRELATION_RESULT_INIT);
    const fastfs_differential_correlation_result& r = made.result;
    const char* const name = "fastfs_differential_correlation";
    const fastfs_status status = attempt(in, {name,
                                              [&](const fastfs_run* run) {
                                                  return fastfs_differential_correlation(
                                                      &X->m, of.labels.data(), &o, run, &made.result, &made.fitted);
                                              },
                                              [&] {
                                                  Bytes bytes;
                                                  bytes.add(r.n_pairs);
                                                  bytes.add(r.n_copies);
                                                  bytes.add(r.pairs, 2 * r.n_pairs);
                                                  bytes.add(r.correlations, 2 * r.n_pairs);
                                                  bytes.add(r.z, r.n_pairs);
                                                  bytes.add(r.scores, d);
                                                  bytes.add(r.null_maxima, o.n_labelings);
                                                  return bytes;
                                              },
                                              [&] { made.clear(); }});
    expect(!X->broken || status == FASTFS_EINVAL, name, "a broken matrix is accepted");
    if (status != FASTFS_OK) return;
    expect_finite(r.scores, d, name, "score");
    expect_finite(r.z, r.n_pairs, name, "z");
    for (std::int64_t k = 0; k < r.n_pairs; ++k) {
        expect(r.pairs[2 * k] >= 0 && r.pairs[2 * k] < r.pairs[2 * k + 1] && r.pairs[2 * k + 1] < d, name,
               "no pair of columns");
        expect(k == 0 || std::abs(r.z[k - 1]) >= std::abs(r.z[k]), name, "the order of pairs");
        if (o.n_labelings > 0) expect(r.pvalues[k] > 0 && r.pvalues[k] <= 1, name, "a p-value");
        if (o.correlation != FASTFS_PEARSON || !is_exact(X->kind) || k > 100) continue;
        for (std::int64_t c = 0; c < 2; ++c) {
            const double wanted = correlation(*X, of.labels, c, r.pairs[2 * k], r.pairs[2 * k + 1]);
            expect_near(r.correlations[2 * k + c], wanted, 1e-12 * static_cast<double>(n + 8), name, "a correlation");
        }
    }
}

void try_snps(Input& in) {
    const std::int64_t n = draw_size(in, 2), d = draw_size(in, 1);
    const auto X = draw_table(in, n, d, kGenotype);
    if (in.one_in(2)) {
        const Classes of = draw_classes(in, n, d);
        fastfs_snp_pairs_options o = FASTFS_SNP_PAIRS_OPTIONS_INIT;
        o.n_pairs = in.mostly(in.pick<std::int64_t>({1, 5, 100000}));
        if (!of.columns.empty()) {
            o.snps = of.columns.data();
            o.n_snps = std::ssize(of.columns);
        }
        o.n_labelings = of.n_labelings;
        const bool numbers = in.one_in(3);
        const std::vector<double> y(of.labels.begin(), of.labels.end());
        const std::vector<double> permuted(of.labelings.begin(), of.labelings.end());
        if (numbers) {
            o.y = y.data();
            o.y_permutations = permuted.data();
        } else {
            o.labelings = of.labelings.data();
        }
        Owned<fastfs_snp_pairs_result> made(FASTFS_SNP_PAIRS_RESULT_INIT);
        const fastfs_snp_pairs_result& r = made.result;
        const char* const name = "fastfs_snp_pairs";
        const fastfs_status status =
            attempt(in, {name,
                         [&](const fastfs_run* run) {
                             return fastfs_snp_pairs(&X->m, numbers ? nullptr : of.labels.data(), &o, run, &made.result,
                                                     &made.fitted);
                         },
                         [&] {
                             Bytes bytes;
                             bytes.add(r.n_pairs);
                             bytes.add(r.n_tested);
                             bytes.add(r.pairs, 2 * r.n_pairs);
                             bytes.add(r.statistics, r.n_pairs);
                             if (numbers) {
                                 bytes.add(r.cells, 18 * r.n_pairs);
                                 bytes.add(r.rest_degrees, r.n_pairs);
                             } else {
                                 bytes.add(r.tables, 18 * r.n_pairs);
                             }
                             bytes.add(r.null_maxima, o.n_labelings);
                             return bytes;
                         },
                         [&] { made.clear(); }});
        expect(!X->broken || status == FASTFS_EINVAL, name, "a broken matrix is accepted");
        if (status != FASTFS_OK) return;
        expect_finite(r.statistics, r.n_pairs, name, "statistic");
        for (std::int64_t k = 0; k < r.n_pairs; ++k) {
            const std::int64_t a = r.pairs[2 * k], b = r.pairs[2 * k + 1];
            expect(a >= 0 && a < b && b < d, name, "no pair of columns");
            expect(k == 0 || r.statistics[k - 1] >= r.statistics[k], name, "the order of pairs");
            std::vector<std::int64_t> counts(18);
            for (std::int64_t s = 0; s < n; ++s) {
                const double x = X->at(s, a), y = X->at(s, b);
                if (std::isnan(x) || std::isnan(y)) continue;
                ++counts[static_cast<std::size_t>(6 * x + 2 * y) +
                         static_cast<std::size_t>(of.labels[static_cast<std::size_t>(s)])];
            }
            for (std::size_t cell = 0; numbers && cell < 9; ++cell) {
                const double* found = r.cells + 18 * k + 2 * cell;
                const double of_first = static_cast<double>(counts[2 * cell + 1]);
                const double both = static_cast<double>(counts[2 * cell]) + of_first;
                expect(found[0] == both, name, "a count");
                if (both > 0) expect_near(found[1], of_first / both, 1e-12, name, "a mean");
            }
            if (numbers) continue;
            expect(std::equal(counts.begin(), counts.end(), r.tables + 18 * k), name, "a table of counts");
            const double wanted = k < 20 ? likelihood_ratio(counts.data()) : -1;
            if (wanted >= 0) expect_near(r.statistics[k], wanted, 1e-7 * (1 + wanted), name, "a statistic");
        }
        return;
    }
    Random random(in.word());
    fastfs_ld_clumps_options o = FASTFS_LD_CLUMPS_OPTIONS_INIT;
    o.r2 = in.mostly_real(in.pick({0.5, 0.0, 1.0, 0.1}));
    o.window = in.mostly(in.pick<std::int64_t>({0, 10, 250000}));
    o.n_clumps = in.mostly(in.pick<std::int64_t>({0, 1, 5}));
    std::vector<std::int64_t> positions, chromosomes;
    std::vector<double> scores;
    const std::int64_t span = in.pick<std::int64_t>({1, 30, 1000000});
    for (std::int64_t c = 0; c < d; ++c) {
        positions.push_back(random.below(span));
        chromosomes.push_back(random.below(3) - 1);
        scores.push_back(draw_value(random, Values::kDigits));
    }
    if (in.one_in(16)) positions.back() = in.mostly<std::int64_t>(1LL << 50);
    if (in.one_in(16)) scores.back() = in.mostly_real(-1e300);
    o.positions = positions.data();
    if (in.one_in(2)) o.chromosomes = chromosomes.data();
    Owned<fastfs_ld_clumps_result> made(FASTFS_LD_CLUMPS_RESULT_INIT);
    const fastfs_ld_clumps_result& r = made.result;
    const char* const name = "fastfs_ld_clumps";
    const fastfs_status status =
        attempt(in, {name,
                     [&](const fastfs_run* run) {
                         return fastfs_ld_clumps(&X->m, scores.data(), &o, run, &made.result, &made.fitted);
                     },
                     [&] {
                         Bytes bytes;
                         bytes.add(r.n_clumps);
                         bytes.add(r.leads, r.n_clumps);
                         bytes.add(r.clumps, d);
                         return bytes;
                     },
                     [&] { made.clear(); }});
    expect(!X->broken || status == FASTFS_EINVAL, name, "a broken matrix is accepted");
    if (status != FASTFS_OK) return;
    // The walk, by plain loops; its comparisons are of fractions, so ties of r^2 are left out.
    const auto r2 = [&](std::int64_t a, std::int64_t b) {
        double m = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
        for (std::int64_t s = 0; s < n; ++s) {
            const double u = X->at(s, a), v = X->at(s, b);
            if (std::isnan(u) || std::isnan(v)) continue;
            m += 1, x += u, y += v, xx += u * u, yy += v * v, xy += u * v;
        }
        const double variances = (m * xx - x * x) * (m * yy - y * y);
        return variances > 0 ? (m * xy - x * y) * (m * xy - x * y) / variances : 0.0;
    };
    std::vector<std::int64_t> ranking, wanted(static_cast<std::size_t>(d), -1);
    for (std::int64_t c = 0; c < d; ++c) ranking.push_back(c);
    std::stable_sort(ranking.begin(), ranking.end(), [&](auto a, auto b) {
        return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
    });
    std::int64_t n_clumps = 0;
    for (const std::int64_t lead : ranking) {
        if (wanted[static_cast<std::size_t>(lead)] >= 0 || (o.n_clumps > 0 && n_clumps == o.n_clumps)) continue;
        for (std::int64_t c = 0; c < d; ++c) {
            const auto at = static_cast<std::size_t>(c), of_lead = static_cast<std::size_t>(lead);
            if (wanted[at] >= 0 || c == lead || std::abs(positions[at] - positions[of_lead]) > o.window) continue;
            if (o.chromosomes && chromosomes[at] != chromosomes[of_lead]) continue;
            const double value = r2(lead, c);
            if (value != o.r2 && std::abs(value - o.r2) < 1e-9) return;
            if (value > o.r2) wanted[at] = n_clumps;
        }
        wanted[static_cast<std::size_t>(lead)] = n_clumps++;
    }
    expect(r.n_clumps == n_clumps && std::equal(wanted.begin(), wanted.end(), r.clumps), name,
           "other clumps than by the definition");
}

void try_machine(Input& in) {
    expect(fastfs_abi_version() == FASTFS_ABI_VERSION && std::strlen(fastfs_version()) >= 5, "fastfs_version",
           "another version than that of the header");
    const auto threads = in.mostly<std::int32_t>(static_cast<std::int32_t>(in.below(4)));
    const auto bytes = in.mostly<std::int64_t>(in.below(1000));
    fastfs_run run = FASTFS_RUN_INIT;
    run.n_threads = threads;
    run.max_memory = bytes;
    std::int32_t count = 0;
    std::int64_t budget = 0;
    const fastfs_status limited = fastfs_run_limits(&run, &count, &budget);
    const bool fine = threads >= 0 && threads <= 1024 && bytes >= 0;
    expect(fine == (limited == FASTFS_OK) && fine == (count > 0 && budget > 0), "fastfs_run_limits",
           "no error, or one too many");
    fastfs_blas table;
    std::memset(&table, 0, sizeof table);
    table.struct_size = in.pick<std::size_t>({sizeof table, 0, 8, 24, 4096, 1});
    table.integer_bits = in.pick({32, 64, 0});
    alignas(8) unsigned char longer[4104] = {};
    std::memcpy(longer, &table, sizeof table);
    longer[sizeof table] = in.byte();
    const auto status = fastfs_register_blas(reinterpret_cast<const fastfs_blas*>(longer));
    expect(status == FASTFS_EINVAL || status == FASTFS_EEXIST, "fastfs_register_blas", "an empty table is accepted");
    fastfs_place places[4] = {FASTFS_PLACE_INIT, FASTFS_PLACE_INIT, FASTFS_PLACE_INIT, FASTFS_PLACE_INIT};
    places[0].struct_size = in.pick<std::size_t>({sizeof(fastfs_place), 8, 16, 0});
    fastfs_last_error_places(in.one_in(4) ? nullptr : places, in.mostly(2) & 3);
    const auto X = draw_table(in, draw_size(in, 1), draw_size(in, 1));
    X->m.struct_size = in.one_in(8) ? in.pick<std::size_t>({0, 7, 8, 48, 100000}) : sizeof(fastfs_matrix);
    const bool whole = X->m.struct_size == sizeof(fastfs_matrix);
    const fastfs_status checked = fastfs_check_matrix(&X->m);
    if (whole) expect((checked == FASTFS_OK) == !X->broken, "fastfs_check_matrix", "what is broken, or isn't");
}

}  // namespace fuzz
