// The RELIEF family, its streams, IM4E and IMMIGRATE.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "call.hpp"
#include "textbook.hpp"

namespace fuzz {
namespace {

// A label-free stage with all that its handle points to.
struct Stage {
    std::unique_ptr<Table> X;
    std::vector<std::int64_t> levels;
    std::vector<double> distances, weights;
    fastfs_margin_options options = FASTFS_MARGIN_OPTIONS_INIT;
    fastfs_margin* margin = nullptr;

    ~Stage() { fastfs_margin_free(margin); }
    bool plain() const {
        return X->m.storage != FASTFS_CSR && X->m.storage != FASTFS_CSC && levels.empty() && weights.empty() &&
               distances.empty() && options.missing == FASTFS_MISSING_ERROR && options.ramp == FASTFS_RAMP_NONE;
    }
};

std::unique_ptr<Stage> draw_stage(Input& in, bool plain) {
    auto stage = std::make_unique<Stage>();
    const std::int64_t n = draw_size(in, 2), d = draw_size(in, 1);
    stage->X = draw_table(in, n, d, plain && !in.one_in(16) ? unsigned{kDense} : unsigned{kAny});
    Random random(in.word());
    auto& o = stage->options;
    const bool is_sparse = stage->X->m.storage == FASTFS_CSR || stage->X->m.storage == FASTFS_CSC;
    o.scaling = in.mostly<std::int32_t>(
        in.pick({FASTFS_SCALE_NONE, FASTFS_SCALE_RANGE, is_sparse ? FASTFS_SCALE_NONE : FASTFS_SCALE_STANDARD}));
    o.keep = in.mostly<std::int32_t>(in.pick(
        {FASTFS_KEEP_NONE, FASTFS_KEEP_MANHATTAN, is_sparse ? FASTFS_KEEP_NONE : FASTFS_KEEP_SQUARED_EUCLIDEAN}));
    if (!plain || in.one_in(16)) {
        const bool gaps = stage->X->has_gaps || stage->X->kind == Values::kSpecial;
        if (!is_sparse || in.one_in(16)) {
            o.missing = in.mostly<std::int32_t>(gaps ? in.pick({1, 1, 2}) : in.pick({0, 0, 1, 2}));
            if (o.missing != FASTFS_MISSING_CLASS || in.one_in(8))
                o.ramp = in.mostly<std::int32_t>(in.pick({0, 0, 1, 2}));
            if (in.one_in(4)) {
                for (std::int64_t c = 0; c < d; ++c) stage->levels.push_back(random.below(2) == 0 ? 0 : 3);
                if (in.one_in(16)) stage->levels.front() = in.mostly<std::int64_t>(100000);
                o.levels = stage->levels.data();
            }
        }
        o.ramp_low = in.mostly_real(0.05);
        o.ramp_high = in.mostly_real(0.5);
        if (in.one_in(6)) {
            stage->distances.assign(static_cast<std::size_t>(n * n), 0.0);
            for (std::int64_t a = 0; a < n; ++a) {
                for (std::int64_t b = 0; b < a; ++b) {
                    stage->distances[static_cast<std::size_t>(a * n + b)] =
                        stage->distances[static_cast<std::size_t>(b * n + a)] =
                            static_cast<double>(random.below(40)) / 4;
                }
            }
            if (in.one_in(8)) stage->distances[stage->distances.size() / 2] = in.mostly_real(1e100);
            o.distances = stage->distances.data();
        }
        if (in.one_in(4)) {
            for (std::int64_t r = 0; r < n; ++r) stage->weights.push_back(static_cast<double>(1 + random.below(3)));
            if (in.one_in(8)) stage->weights.back() = in.mostly_real(in.pick({1e100, 1e-100}));
            o.sample_weights = stage->weights.data();
        }
    }
    const fastfs_status status = attempt(in, {"fastfs_margin_new",
                                              [s = stage.get()](const fastfs_run* run) {
                                                  return fastfs_margin_new(&s->X->m, &s->options, run, &s->margin);
                                              },
                                              [s = stage.get(), d] {
                                                  Bytes bytes;
                                                  std::vector<double> shift(static_cast<std::size_t>(d)), factor(shift);
                                                  if (s->margin)
                                                      fastfs_margin_scaling(s->margin, shift.data(), factor.data());
                                                  bytes.add(shift);
                                                  bytes.add(factor);
                                                  return bytes;
                                              },
                                              [s = stage.get()] {
                                                  fastfs_margin_free(s->margin);
                                                  s->margin = nullptr;
                                              }});
    expect(!stage->X->broken || status == FASTFS_EINVAL, "fastfs_margin_new", "a broken matrix is accepted");
    if (status != FASTFS_OK) return nullptr;
    return stage;
}

// Of what fastfs_relief asks for.
struct Relief {
    std::vector<double> y, priors;
    std::vector<std::int32_t> events;
    fastfs_relief_options options = FASTFS_RELIEF_OPTIONS_INIT;
    std::int64_t n_classes = 0;
};

Relief draw_relief(Input& in, std::int64_t n, std::int64_t C, bool plain) {
    Relief relief;
    auto& o = relief.options;
    Random random(in.word());
    o.method = in.mostly<std::int32_t>(
        static_cast<std::int32_t>(in.from(plain ? FASTFS_RELIEF : FASTFS_RELIEFF, FASTFS_RRELIEFF)));
    if (o.method == FASTFS_RELIEF) o.closed_form = in.mostly<std::int32_t>(static_cast<std::int32_t>(in.below(2)));
    o.n_neighbors = in.mostly<std::int64_t>(in.pick<std::int64_t>({1, 3, 10, 1000}));
    o.n_targets = in.one_in(3) ? in.mostly<std::int64_t>(in.from(1, std::min<std::int64_t>(n, 200))) : 0;
    o.seed = in.byte();
    if (o.method >= FASTFS_MULTISURF && o.method <= FASTFS_SWRF)
        o.far = in.mostly<std::int32_t>(static_cast<std::int32_t>(in.below(2)));
    o.radius = in.mostly<std::int32_t>(static_cast<std::int32_t>(in.below(2)));
    o.dead_band = in.mostly_real(in.pick({0.0, 0.5, 3.0}));
    o.sigma = in.mostly_real(in.pick({20.0, 0.1}));
    if (o.method == FASTFS_RRELIEFF) {
        o.target = in.mostly<std::int32_t>(in.pick({FASTFS_TARGET_NUMBER, FASTFS_TARGET_SURVIVAL}));
    } else if (o.method != FASTFS_RELIEF && in.one_in(4)) {
        o.target = in.mostly<std::int32_t>(FASTFS_TARGET_NUMBER);
    }
    if (o.target != FASTFS_TARGET_CLASS) {
        const Values kind =
            in.pick({Values::kDigits, Values::kQuarters, Values::kQuarters, Values::kSpecial, Values::kEqual});
        for (std::int64_t r = 0; r < n; ++r) {
            const double y = draw_value(random, kind);
            relief.y.push_back(o.target == FASTFS_TARGET_SURVIVAL ? std::abs(y) : y);
            relief.events.push_back(static_cast<std::int32_t>(random.below(2)));
        }
        o.y = relief.y.data();
        o.events = relief.events.data();
    } else {
        relief.n_classes = C;
        if (in.one_in(4)) {
            for (std::int64_t c = 0; c < C; ++c) relief.priors.push_back(in.mostly_real(0.25 + static_cast<double>(c)));
            o.priors = relief.priors.data();
        }
    }
    return relief;
}

// Miss less hit in squares, where distances are exact and so their order is.
std::vector<double> textbook_relief(const Table& X, const std::vector<std::int64_t>& labels) {
    const std::int64_t n = X.n, d = X.d;
    std::vector<double> sums(static_cast<std::size_t>(d));
    for (std::int64_t i = 0; i < n; ++i) {
        std::int64_t nearest[2] = {-1, -1};
        double least[2] = {0, 0};
        for (std::int64_t j = 0; j < n; ++j) {
            if (j == i) continue;
            double D = 0;
            for (std::int64_t c = 0; c < d; ++c) D += (X.at(i, c) - X.at(j, c)) * (X.at(i, c) - X.at(j, c));
            const int of = labels[static_cast<std::size_t>(i)] != labels[static_cast<std::size_t>(j)];
            if (nearest[of] < 0 || D < least[of]) {
                nearest[of] = j;
                least[of] = D;
            }
        }
        if (nearest[0] < 0) continue;
        for (std::int64_t c = 0; c < d; ++c) {
            const double hit = X.at(i, c) - X.at(nearest[0], c), miss = X.at(i, c) - X.at(nearest[1], c);
            sums[static_cast<std::size_t>(c)] += (miss * miss - hit * hit) / static_cast<double>(n);
        }
    }
    return sums;
}

struct Scores : Owned<fastfs_relief_result> {
    explicit Scores(std::int64_t n_cols) : Owned(FASTFS_RELIEF_RESULT_INIT), d(n_cols) {}
    Bytes bytes() const {
        Bytes all;
        all.add(result.scores, d);
        all.add(result.scores_se, d);
        for (const std::int64_t x : {std::int64_t{result.stored}, result.n_alone, result.n_apart}) all.add(x);
        return all;
    }
    const std::int64_t d;
};

// Of the same table as doubles in rows.
std::vector<double> scores_of_numbers(const Table& X, const fastfs_margin_options& how,
                                      const std::vector<std::int64_t>& labels, const Relief& relief) {
    const fastfs_matrix dense = dense_of(X);
    fastfs_margin* margin = nullptr;
    expect(fastfs_margin_new(&dense, &how, nullptr, &margin) == FASTFS_OK, "fastfs_margin_new", fastfs_last_error());
    Scores scores(X.d);
    expect(fastfs_relief(margin, relief.n_classes > 0 ? labels.data() : nullptr, relief.n_classes, &relief.options,
                         nullptr, &scores.result, &scores.fitted) == FASTFS_OK,
           "fastfs_relief", fastfs_last_error());
    fastfs_margin_free(margin);
    return {scores.result.scores, scores.result.scores + X.d};
}

}  // namespace

void try_relief(Input& in) {
    const auto stage = draw_stage(in, in.one_in(4));
    if (!stage) return;
    const std::int64_t n = stage->X->n, d = stage->X->d;
    bool used = false;
    if (in.one_in(4)) {
        Random random(in.word());
        std::vector<std::int64_t> features;
        std::vector<double> weights;
        for (std::int64_t c = 0; c < d; ++c) {
            if (random.below(2) == 0) continue;
            features.push_back(c);
            weights.push_back(static_cast<double>(random.below(3)) / 2);
        }
        if (features.empty()) features.push_back(0), weights.push_back(1);
        if (in.one_in(32)) features.back() = in.mostly(d);
        if (in.one_in(16)) weights.back() = in.mostly_real(-1);
        const bool weighted = in.one_in(2);
        used = fastfs_margin_use(stage->margin, features.data(), std::ssize(features),
                                 weighted ? weights.data() : nullptr, nullptr) == FASTFS_OK;
    }
    for (std::int64_t fit = in.from(1, 2); fit > 0; --fit) {
        const std::int64_t C = in.from(2, 4);
        const auto labels = draw_labels(in, n, C);
        const Relief relief = draw_relief(in, n, C, stage->plain());
        Scores scores(d);
        const fastfs_status status = attempt(
            in, {"fastfs_relief",
                 [&](const fastfs_run* run) {
                     return fastfs_relief(stage->margin, relief.n_classes > 0 ? labels.data() : nullptr,
                                          relief.n_classes, &relief.options, run, &scores.result, &scores.fitted);
                 },
                 [&] { return scores.bytes(); }, [&] { scores.clear(); }});
        if (status != FASTFS_OK) continue;
        if (is_moderate(stage->X->kind)) expect_finite(scores.result.scores, d, "fastfs_relief", "score");
        if (relief.options.method == FASTFS_RELIEF && stage->plain() && stage->options.scaling == FASTFS_SCALE_NONE &&
            is_exact(stage->X->kind) && relief.options.closed_form == 0 && relief.options.n_targets == 0 && !used) {
            const auto wanted = textbook_relief(*stage->X, labels);
            for (std::int64_t c = 0; c < d; ++c) {
                expect_near(scores.result.scores[c], wanted[static_cast<std::size_t>(c)], 1e-9, "fastfs_relief",
                            "a score of RELIEF");
            }
        }
        if (stage->X->m.storage == FASTFS_GENOTYPE && relief.options.method == FASTFS_RELIEFF && !used &&
            stage->options.missing == FASTFS_MISSING_ERROR && stage->options.scaling == FASTFS_SCALE_NONE) {
            const auto wanted = scores_of_numbers(*stage->X, stage->options, labels, relief);
            for (std::int64_t c = 0; c < d; ++c) {
                expect_near(scores.result.scores[c], wanted[static_cast<std::size_t>(c)], 1e-5, "fastfs_relief",
                            "a score of genotypes");
            }
        }
    }
}

void try_relief_stream(Input& in) {
    const std::int64_t n = draw_size(in, 2), d = draw_size(in, 1), C = in.from(2, 4);
    const auto labels = draw_labels(in, n, C);
    Relief relief = draw_relief(in, n, C, true);
    if (!in.one_in(16)) {
        relief.options.method = relief.options.method == FASTFS_RELIEF ? FASTFS_RELIEF : FASTFS_RELIEFF;
        relief.options.closed_form &= relief.options.method == FASTFS_RELIEF;
        relief.options.target = FASTFS_TARGET_CLASS;
        relief.n_classes = C;
    }
    const std::int32_t scaling = in.mostly<std::int32_t>(static_cast<std::int32_t>(in.below(3)));
    const auto X = draw_table(in, n, d, kDense | kCsr);
    fastfs_stream* stream = nullptr;
    fastfs_status status = attempt(in, {"fastfs_relief_stream_new",
                                        [&](const fastfs_run* run) {
                                            return fastfs_relief_stream_new(n, d, labels.data(), C, scaling,
                                                                            &relief.options, run, &stream);
                                        },
                                        [&] {
                                            Bytes bytes;
                                            bytes.add(fastfs_stream_size(stream));
                                            return bytes;
                                        },
                                        [&] {
                                            fastfs_stream_free(stream);
                                            stream = nullptr;
                                        }});
    if (status != FASTFS_OK) return;
    const auto save = [](const fastfs_stream* of) {
        std::vector<char> bytes(static_cast<std::size_t>(fastfs_stream_size(of)));
        expect(fastfs_stream_save(of, bytes.data(), std::ssize(bytes)) == FASTFS_OK, "fastfs_stream_save", "it fails");
        return bytes;
    };
    const auto state = [&] {
        Bytes bytes;
        bytes.add(save(stream));
        return bytes;
    };
    fastfs_stream* kept = nullptr;
    const auto keep = [&] {
        fastfs_stream_free(kept);
        kept = nullptr;
        expect(fastfs_stream_copy(stream, &kept) == FASTFS_OK, "fastfs_stream_copy", "it fails");
    };
    const auto bring_back = [&] {
        fastfs_stream_free(stream);
        stream = nullptr;
        expect(fastfs_stream_copy(kept, &stream) == FASTFS_OK, "fastfs_stream_copy", "it fails");
    };
    fastfs_stream* start = nullptr;  // of this pass
    const auto restart = [&] {
        fastfs_stream_free(stream);
        stream = nullptr;
        expect(fastfs_stream_copy(start, &stream) == FASTFS_OK, "fastfs_stream_copy", "it fails");
    };
    // Rows a..b - 1 of X as a block.
    const auto rows = [&](std::int64_t a, std::int64_t b, std::vector<std::int64_t>& indptr) {
        fastfs_matrix m = X->m;
        m.n_rows = b - a;
        const std::size_t each = m.dtype == FASTFS_FLOAT32 ? 4 : 8;
        if (m.storage == FASTFS_DENSE) {
            m.values = static_cast<const unsigned char*>(m.values) + a * m.row_stride * static_cast<std::int64_t>(each);
        } else if (m.storage == FASTFS_CSR) {
            const auto offset = [&](std::int64_t r) {
                return m.index_bits == 32 ? std::int64_t{static_cast<const std::int32_t*>(X->m.indptr)[r]}
                                          : static_cast<const std::int64_t*>(X->m.indptr)[r];
            };
            indptr.clear();
            for (std::int64_t r = a; r <= b; ++r) indptr.push_back(offset(r) - offset(a));
            const std::size_t width = static_cast<std::size_t>(m.index_bits) / 8;
            if (m.values)
                m.values = static_cast<const unsigned char*>(m.values) + static_cast<std::size_t>(offset(a)) * each;
            m.indices = static_cast<const unsigned char*>(m.indices) + static_cast<std::size_t>(offset(a)) * width;
        }
        return m;
    };
    bool alive = true, strange = false;
    for (int pass = 1; pass <= 2 && alive; ++pass) {
        fastfs_stream_free(start);
        start = nullptr;
        expect(fastfs_stream_copy(stream, &start) == FASTFS_OK, "fastfs_stream_copy", "it fails");
        const std::int64_t cut = in.one_in(2) ? n : in.from(1, std::min<std::int64_t>(n, 200));
        for (std::int64_t first = 0; first < n && alive; first += cut) {
            std::vector<std::int64_t> indptr;
            std::vector<std::int32_t> narrow_indptr;
            fastfs_matrix m = X->m;
            if (!X->broken) {
                m = rows(first, std::min(n, first + cut), indptr);
                if (m.storage == FASTFS_CSR && m.index_bits == 32) {
                    narrow_indptr.assign(indptr.begin(), indptr.end());
                    m.indptr = narrow_indptr.data();
                } else if (m.storage == FASTFS_CSR) {
                    m.indptr = indptr.data();
                }
            }
            const std::int64_t at = in.mostly(first);
            fastfs_block block = FASTFS_BLOCK_INIT;
            block.X = &m;
            block.first_row = at;
            keep();
            fastfs_status last = FASTFS_OK;
            status = attempt(in, {"fastfs_stream_update",
                                  [&](const fastfs_run* run) {
                                      const fastfs_status now = fastfs_stream_update(stream, &block, run);
                                      if (!run->bytes_needed) last = now;  // a question leaves the stream alone
                                      return now;
                                  },
                                  [&] { return last == FASTFS_OK ? state() : Bytes(); },
                                  [&] {
                                      bring_back();
                                      last = FASTFS_OK;
                                  }});
            expect(!X->broken || status == FASTFS_EINVAL, "fastfs_stream_update", "a broken matrix is accepted");
            alive = status == FASTFS_OK && at == first;
        }
        if (!alive) break;
        if (in.one_in(2)) {  // bytes of a stranger, or of another pass
            std::vector<char> bytes = save(stream);
            spoil_saved(in, bytes, {n, d});
            keep();
            restart();
            attempt(in, {"fastfs_stream_load",
                         [&](const fastfs_run*) { return fastfs_stream_load(stream, bytes.data(), std::ssize(bytes)); },
                         state, restart, true, false});
            if (in.one_in(4)) {
                strange = true;  // the stranger's rows stay
            } else {
                bring_back();
            }
        }
        if (in.one_in(4)) {
            fastfs_stream* other = nullptr;
            keep();
            fastfs_stream_copy(stream, &other);
            attempt(in, {"fastfs_stream_merge", [&](const fastfs_run*) { return fastfs_stream_merge(stream, other); },
                         state, bring_back, true, false});
            fastfs_stream_free(other);
            bring_back();
        }
        if (pass == 1) {
            keep();
            status = attempt(
                in, {"fastfs_stream_next", [&](const fastfs_run* run) { return fastfs_stream_next(stream, run); },
                     state, bring_back, true});
            alive = status == FASTFS_OK;
        }
    }
    fastfs_stream* copied = nullptr;
    const auto release = [&] {
        fastfs_stream_free(copied);
        copied = nullptr;
    };
    attempt(in, {"fastfs_stream_copy", [&](const fastfs_run*) { return fastfs_stream_copy(stream, &copied); },
                 [&] {
                     Bytes bytes;
                     bytes.add(copied == nullptr);
                     return bytes;
                 },
                 release, false, false});
    release();
    if (alive) {
        Scores scores(d);
        std::vector<std::int64_t> merged;
        for (std::int64_t c = 0; c < C; ++c) merged.push_back(c == 0 ? 0 : 1);
        if (in.one_in(16)) merged.back() = in.mostly<std::int64_t>(0);
        const bool merges = in.one_in(2);
        status =
            attempt(in, {"fastfs_relief_stream_finish",
                         [&](const fastfs_run* run) {
                             return fastfs_relief_stream_finish(stream, merges ? merged.data() : nullptr,
                                                                merges ? 2 : 0, run, &scores.result, &scores.fitted);
                         },
                         [&] { return scores.bytes(); }, [&] { scores.clear(); }});
        if (status == FASTFS_OK && is_moderate(X->kind) && !strange) {
            expect_finite(scores.result.scores, d, "fastfs_relief_stream_finish", "score");
        }
        if (status == FASTFS_OK && is_exact(X->kind) && scaling == FASTFS_SCALE_NONE && !strange && !merges) {
            fastfs_margin_options how = FASTFS_MARGIN_OPTIONS_INIT;
            how.scaling = scaling;
            Relief same = relief;  // but for what a stream doesn't read
            same.options.sigma = 20;
            same.options.dead_band = same.options.radius = 0;
            const auto wanted = scores_of_numbers(*X, how, labels, same);
            for (std::int64_t c = 0; c < d; ++c) {
                const double score = wanted[static_cast<std::size_t>(c)];
                expect_near(scores.result.scores[c], score, 1e-5 * (1 + std::abs(score)), "fastfs_relief_stream_finish",
                            "a score");
            }
        }
    }
    fastfs_stream_free(stream);
    fastfs_stream_free(kept);
    fastfs_stream_free(start);
}

namespace {

// The expected distance of row r of X to a class by weights of features, and how far rounding may move it.
std::pair<double, double> textbook_distance(const Stage& stage, const std::vector<std::int64_t>& labels,
                                            std::int64_t of, const double* weights, double sigma, const Table& X,
                                            std::int64_t r) {
    const std::int64_t d = X.d;
    std::vector<double> shift(static_cast<std::size_t>(d)), factor(shift), all;
    fastfs_margin_scaling(stage.margin, shift.data(), factor.data());
    const auto scaled = [&](const Table& from, std::int64_t row, std::int64_t c) {
        return (from.at(row, c) - shift[static_cast<std::size_t>(c)]) * factor[static_cast<std::size_t>(c)];
    };
    double most = 0;
    for (std::int64_t j = 0; j < stage.X->n; ++j) {
        if (labels[static_cast<std::size_t>(j)] != of) continue;
        double f = 0, norm = 0;
        for (std::int64_t c = 0; c < d; ++c) {
            if (weights[c] == 0) continue;  // and a missing value is none
            const double x = scaled(X, r, c), y = scaled(*stage.X, j, c);
            f += weights[c] * std::abs(x - y);
            norm += weights[c] * (std::abs(x) + std::abs(y));
        }
        all.push_back(f);
        most = std::max(most, norm);
    }
    const auto [low, high] = std::minmax_element(all.begin(), all.end());
    double total = 0, sum = 0;
    for (const double f : all) {
        const double p = std::exp((*low - f) / sigma);
        total += p;
        sum += p * f;
    }
    const double epsilon = stage.X->m.dtype == FASTFS_FLOAT32 ? 0x1p-23 : 0x1p-52;
    const double of_f = epsilon * static_cast<double>(d + 64) * most;
    return {sum / total, 4 * of_f * (1 + (*high - *low) / sigma)};
}

// Asks for distances and explanations by a metric that a fit may have found.
void try_metric(Input& in, const Stage& stage, const std::vector<std::int64_t>& labels, std::int64_t C,
                fastfs_margin_metric metric) {
    const std::int64_t d = stage.X->d, n_new = in.from(1, 6);
    const auto X = draw_table(in, n_new, d, kDense | kGenotype);
    if (!in.one_in(8)) X->m.dtype = X->broken || X->m.storage == FASTFS_DENSE ? X->m.dtype : stage.X->m.dtype;
    metric.sigma = in.mostly_real(metric.sigma);
    const std::int64_t A = metric.features ? metric.n_features : d;
    const char* name = "fastfs_margin_distances";
    std::vector<double> out(static_cast<std::size_t>(n_new * C));
    const auto bytes = [&] {
        Bytes all;
        all.add(out);
        return all;
    };
    fastfs_status status = attempt(in, {name,
                                        [&](const fastfs_run* run) {
                                            return fastfs_margin_distances(stage.margin, labels.data(), C, &metric,
                                                                           &X->m, run, out.data());
                                        },
                                        bytes, [&] { out.assign(out.size(), 0.0); }});
    const bool moderate = is_moderate(stage.X->kind) && is_moderate(X->kind);
    if (status == FASTFS_OK && moderate) expect_finite(out.data(), std::ssize(out), name, "distance");
    const bool plain = metric.sigma > 1e-3 && metric.sigma < 1e3 &&
                       (!metric.weights || *std::max_element(metric.weights, metric.weights + A) <= 1);
    for (std::int64_t e = 0; status == FASTFS_OK && moderate && plain && metric.weights && e < n_new * C; ++e) {
        const auto [wanted, tolerance] =
            textbook_distance(stage, labels, e % C, metric.weights, metric.sigma, *X, e / C);
        expect_near(out[static_cast<std::size_t>(e)], wanted, tolerance, name, "a distance");
    }
    const std::vector<double> distances = out;
    const std::int64_t parts = metric.weights ? A : A * A;
    if (parts > 6000) return;
    name = "fastfs_margin_explain";
    out.assign(static_cast<std::size_t>(n_new * parts), 0.0);
    auto wanted = draw_labels(in, n_new, C);
    status = attempt(in, {name,
                          [&](const fastfs_run* run) {
                              return fastfs_margin_explain(stage.margin, labels.data(), C, &metric, &X->m,
                                                           wanted.data(), run, out.data());
                          },
                          bytes, [&] { out.assign(out.size(), 0.0); }});
    if (status != FASTFS_OK || !moderate) return;
    expect_finite(out.data(), std::ssize(out), name, "part");
    for (std::int64_t r = 0; plain && r < n_new; ++r) {
        double own = 0, other = INFINITY, sum = 0, size = 0;
        for (std::int64_t c = 0; c < C; ++c) {
            const double e = distances[static_cast<std::size_t>(r * C + c)];
            (c == wanted[static_cast<std::size_t>(r)] ? own : other) =
                c == wanted[static_cast<std::size_t>(r)] ? e : std::min(e, other);
        }
        for (std::int64_t k = 0; k < parts; ++k) {
            sum += out[static_cast<std::size_t>(r * parts + k)];
            size += std::abs(out[static_cast<std::size_t>(r * parts + k)]);
        }
        const double of_one = stage.X->m.dtype == FASTFS_FLOAT32 ? 1e-4 : 1e-9;
        expect_near(sum, other - own, of_one * (size + std::abs(own) + std::abs(other)) * (1 + 1 / metric.sigma), name,
                    "the sum of parts");
    }
}

// IMMIGRATE by the paper's equations, step after step, as long as rounding leaves digits of W. A step takes Sigma's
// part with negative eigenvalues, which moves no more than Sigma does, and divides by its norm; softmax multiplies
// errors of f by 1 / sigma.
void expect_iterations(const Stage& stage, const std::vector<std::int64_t>& labels, const fastfs_immigrate_options& o,
                       const fastfs_immigrate_result& found) {
    const char* const name = "fastfs_immigrate_fit";
    const Table& X = *stage.X;
    const std::int64_t n = X.n, A = found.n_features;
    std::vector<double> shift(at(X.d)), factor(shift), z;
    fastfs_margin_scaling(stage.margin, shift.data(), factor.data());
    double most = 0;  // of |d|^2, rounding included
    for (std::int64_t i = 0; i < n; ++i) {
        double norm = 0;
        for (std::int64_t a = 0; a < A; ++a) {
            const auto c = at(found.features[a]);
            z.push_back((X.at(i, found.features[a]) - shift[c]) * factor[c]);
            norm += std::pow((std::abs(X.at(i, found.features[a])) + std::abs(shift[c])) * factor[c], 2);
        }
        most = std::max(most, 4 * norm);
    }
    const auto difference = [&](std::int64_t i, std::int64_t j, std::int64_t a) {
        return std::abs(z[at(i * A + a)] - z[at(j * A + a)]);
    };
    const double size = static_cast<double>(n), sigma = found.sigma;
    const double rounding = X.m.dtype == FASTFS_FLOAT32 ? 0x1p-23 : 0x1p-52;
    const double epsilon = rounding * static_cast<double>(2 * A + 64);
    const double smallest = o.smallest == double{FASTFS_SMALLEST_AUTO} ? 1 / static_cast<double>(A) : o.smallest;
    Square W(A);
    for (std::int64_t a = 0, k = 0; a < A; ++a) {
        const std::int64_t c = found.features[a];
        while (o.features && o.features[k] < c) ++k;
        W(a, a) = found.prefilter_weights ? found.prefilter_weights[c] : o.start ? o.start[o.features ? k : c] : 1;
    }
    const double largest = *std::max_element(W.entries.begin(), W.entries.end());
    for (double& entry : W.entries) entry /= largest;
    const double first = std::sqrt(dot(W.entries, W.entries));
    for (double& entry : W.entries) entry /= first;
    double of_W = epsilon;  // what bounds its error, in its norm
    for (std::int32_t step = 0; step < found.n_iter; ++step) {
        const double of_f = of_W * most + epsilon * (most + sigma);
        Square f(n), g(n), Sigma(A);
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = 0; j < i; ++j) {
                for (std::int64_t a = 0; a < A; ++a) {
                    for (std::int64_t b = 0; b < A; ++b) f(i, j) += W(a, b) * difference(i, j, a) * difference(i, j, b);
                }
                f(j, i) = f(i, j);
            }
        }
        double entropy = 0, objective = 0;
        for (std::int64_t i = 0; i < n; ++i) {
            for (const double sign : {1.0, -1.0}) {  // hits, misses
                double least = INFINITY, total = 0;
                const auto among = [&](std::int64_t j) {
                    const bool hit = labels[at(i)] == labels[at(j)];
                    return j != i && hit == (sign > 0);
                };
                for (std::int64_t j = 0; j < n; ++j) least = among(j) ? std::min(least, f(i, j)) : least;
                for (std::int64_t j = 0; j < n; ++j) total += among(j) ? std::exp((least - f(i, j)) / sigma) : 0;
                if (total == 0) continue;
                objective += sign * (least - sigma * std::log(total));
                for (std::int64_t j = 0; j < n; ++j) {
                    const double log_p = (least - f(i, j)) / sigma - std::log(total), p = std::exp(log_p);
                    if (!among(j) || p == 0) continue;
                    g(std::min(i, j), std::max(i, j)) += sign * p;
                    entropy += sign * p * log_p;
                }
            }
        }
        expect_near(found.objective[step], objective, 2 * size * of_f, name, "the objective");
        const double of_p = 8 * of_f / sigma;  // in the sum of a row's
        const double of_Sigma = most * size * (of_p + 2 * rounding * (size + 64));
        if (!(of_p < 0.1)) return;
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = i + 1; j < n; ++j) {
                const double weight = std::abs(g(i, j));
                if (o.negligible > 0 && std::abs(weight - o.negligible) <= of_p) return;
                if (weight <= o.negligible) continue;
                for (std::int64_t a = 0; a < A; ++a) {
                    for (std::int64_t b = 0; b < A; ++b) {
                        Sigma(a, b) += g(i, j) * difference(i, j, a) * difference(i, j, b);
                    }
                }
            }
        }
        const Eigenpairs pairs = eigenpairs(Sigma);
        double norm = 0, kept = 0;
        for (const double value : pairs.values) norm += value < 0 ? value * value : 0;
        norm = std::sqrt(norm);
        // Values of so small a share are left out.
        of_W = 2 * of_Sigma / norm + (rounding < 1e-10 ? 1e-13 : 1e-6) * static_cast<double>(A);
        if (!(of_W < 0.01)) return;
        W = function_of(pairs, [norm](double value) { return std::max(-value, 0.0) / norm; });
        const double cut = o.clip == 1 || smallest > 0 ? smallest : -INFINITY;
        for (double& entry : W.entries) {
            if (cut > 0 && std::abs(entry - cut) <= of_W) return;
            if (entry < cut) entry = 0;
            kept += entry * entry;
        }
        for (double& entry : W.entries) entry /= std::sqrt(kept);
        of_W *= 2 / std::sqrt(kept);
        const double trace = dot(W.entries, Sigma.entries);
        const double of_entropy = 2 * size * of_p * (most / sigma + std::log(size) + 1);
        expect_near(found.cost[step], trace + sigma * entropy,
                    of_Sigma + of_W * std::sqrt(dot(Sigma.entries, Sigma.entries)) + sigma * of_entropy, name,
                    "the cost");
    }
    for (std::int64_t a = 0; a < A; ++a) {
        double score = 0;
        for (std::int64_t b = 0; b < A; ++b) {
            double entry = 0;
            for (std::int64_t k = 0; k < found.rank; ++k) {
                entry += found.values[k] * found.vectors[k * A + a] * found.vectors[k * A + b];
            }
            expect_near(entry, W(a, b), of_W + epsilon, name, "an entry of the factors of W");
            if (found.W) expect_near(found.W[a * A + b], W(a, b), of_W + epsilon, name, "an entry of W");
            score += W(a, b) * W(a, b);
        }
        expect_near(found.scores[found.features[a]], score, 2 * (of_W + epsilon), name, "a score");
    }
}

}  // namespace

void try_im4e(Input& in) {
    const auto stage = draw_stage(in, true);
    if (!stage) return;
    const std::int64_t n = stage->X->n, d = stage->X->d, C = in.from(2, 4);
    const auto labels = draw_labels(in, n, C);
    fastfs_im4e_options o = FASTFS_IM4E_OPTIONS_INIT;
    o.sigma = in.mostly_real(in.pick({1.0, 1e-3, 100.0}));
    o.sigma_rule = in.mostly<std::int32_t>(in.pick({2, 1, 0}));
    o.max_iter = static_cast<std::int32_t>(in.from(1, 6));
    o.tol = in.mostly_real(in.pick({1e-4, 0.0}));
    std::vector<double> factors(static_cast<std::size_t>(C), in.mostly_real(1.5)),
        start(static_cast<std::size_t>(d), 1.0);
    start.back() = in.mostly_real(in.pick({0.0, 1.0}));
    if (in.one_in(4)) o.class_factors = factors.data();
    if (in.one_in(4)) o.start = start.data();
    if (in.one_in(4)) o.n_anchors = in.mostly<std::int64_t>(in.from(1, std::min<std::int64_t>(n, 200)));
    o.seed = in.byte();
    Owned<fastfs_im4e_result> made(FASTFS_IM4E_RESULT_INIT);
    const fastfs_im4e_result& result = made.result;
    const fastfs_status status =
        attempt(in, {"fastfs_im4e",
                     [&](const fastfs_run* run) {
                         return fastfs_im4e(stage->margin, labels.data(), C, &o, run, &made.result, &made.fitted);
                     },
                     [&] {
                         Bytes bytes;
                         bytes.add(result.weights, d);
                         bytes.add(result.cost, result.n_iter);
                         bytes.add(result.objective, result.n_iter);
                         bytes.add(result.sigma);
                         bytes.add(result.n_iter);
                         return bytes;
                     },
                     [&] { made.clear(); }});
    if (status != FASTFS_OK) return;
    expect_finite(result.weights, d, "fastfs_im4e", "weight");
    fastfs_margin_metric metric = FASTFS_MARGIN_METRIC_INIT;
    metric.weights = result.weights;
    metric.sigma = result.sigma;
    if (in.one_in(8)) result.weights[0] = in.mostly_real(0.5);
    try_metric(in, *stage, labels, C, metric);
}

void try_immigrate(Input& in) {
    const auto stage = draw_stage(in, true);
    if (!stage) return;
    const std::int64_t n = stage->X->n, d = stage->X->d, C = in.from(2, 3);
    const auto labels = draw_labels(in, n, C);
    fastfs_immigrate_options o = FASTFS_IMMIGRATE_OPTIONS_INIT;
    o.sigma = in.mostly_real(in.pick({1.0, 1e-3, 100.0}));
    o.sigma_rule = in.mostly<std::int32_t>(in.pick({2, 1, 0}));
    o.max_iter = static_cast<std::int32_t>(in.from(1, 4));
    o.tol = in.mostly_real(in.pick({1e-4, 0.0}));
    o.clip = in.mostly<std::int32_t>(in.pick({0, 0, 1}));
    o.prefilter = in.mostly<std::int32_t>(in.pick({2, 0, 1}));
    o.smallest = in.mostly_real(in.pick({0.0, -1.0, 0.01, 0.5}));
    o.negligible = in.mostly_real(in.pick({0.0, 1e-6, 0.1}));
    std::vector<std::int64_t> features;
    Random random(in.word());
    for (std::int64_t c = 0; c < d; ++c) {
        if (random.below(2) == 0) features.push_back(c);
    }
    if (!features.empty() && o.prefilter != FASTFS_PREFILTER_IM4E && in.one_in(3)) {
        if (in.one_in(16)) features.back() = in.mostly(d);
        o.features = features.data();
        o.n_features = std::ssize(features);
    }
    const std::int64_t A = o.features ? o.n_features : d;
    std::vector<double> start(static_cast<std::size_t>(A), 1.0), matrix(static_cast<std::size_t>(A * A));
    for (std::int64_t a = 0; a < A; ++a) matrix[static_cast<std::size_t>(a * A + a)] = 1 + static_cast<double>(a % 3);
    start.front() = in.mostly_real(0.5);
    matrix.back() = in.mostly_real(in.pick({1.0, -1.0, 0.0}));
    if (o.prefilter != FASTFS_PREFILTER_IM4E && in.one_in(3)) {
        if (in.one_in(2)) {
            o.start = start.data();
        } else {
            o.start_matrix = matrix.data();
        }
    }
    fastfs_fitted* fitted = nullptr;
    fastfs_immigrate_result found = FASTFS_IMMIGRATE_RESULT_INIT;
    const fastfs_status status =
        attempt(in, {"fastfs_immigrate_fit",
                     [&](const fastfs_run* run) {
                         return fastfs_immigrate_fit(stage->margin, labels.data(), C, &o, run, &found, &fitted);
                     },
                     [&] {
                         Bytes bytes;
                         if (fitted == nullptr) return bytes;
                         bytes.add(found.scores, d);
                         bytes.add(found.values, found.rank);
                         bytes.add(found.vectors, found.rank * found.n_features);
                         bytes.add(found.W, found.n_features * found.n_features);
                         bytes.add(found.cost, found.n_iter);
                         return bytes;
                     },
                     [&] {
                         fastfs_fitted_free(fitted);
                         fitted = nullptr;
                     }});
    if (status == FASTFS_OK) {
        expect_finite(found.scores, d, "fastfs_immigrate_fit", "score");
        expect_finite(found.values, found.rank, "fastfs_immigrate_fit", "value");
        expect_finite(found.vectors, found.rank * found.n_features, "fastfs_immigrate_fit", "entry of a vector");
        if (is_moderate(stage->X->kind) && n <= 70 && found.n_features <= 17 && !o.start_matrix) {
            expect_iterations(*stage, labels, o, found);
        }
        const std::int64_t wanted = in.mostly(in.pick<std::int64_t>({1, 5, 100000})), m = found.n_features;
        const std::int64_t room = m * (m - 1) / 2;
        std::vector<std::int64_t> a(static_cast<std::size_t>(room)), b(a);
        std::vector<double> weights(a.size());
        std::int64_t n_found = 0;
        const std::int32_t without = in.one_in(2);
        attempt(in, {"fastfs_immigrate_pairs",
                     [&](const fastfs_run* run) {
                         return fastfs_immigrate_pairs(m, found.rank, found.values, found.vectors, without, wanted, run,
                                                       a.data(), b.data(), weights.data(), &n_found);
                     },
                     [&] {
                         Bytes bytes;
                         bytes.add(n_found);
                         bytes.add(a.data(), n_found);
                         bytes.add(b.data(), n_found);
                         bytes.add(weights.data(), n_found);
                         return bytes;
                     },
                     [&] { n_found = 0; }});
        fastfs_margin_metric metric = FASTFS_MARGIN_METRIC_INIT;
        metric.sigma = found.sigma;
        metric.features = found.features;
        metric.n_features = m;
        metric.rank = found.rank;
        metric.values = found.values;
        metric.vectors = found.vectors;
        if (found.rank > 0) try_metric(in, *stage, labels, C, metric);
    }
    fastfs_fitted_free(fitted);
}

}  // namespace fuzz
