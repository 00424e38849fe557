// ProjSe, of tables, kernels and sums.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "../cpp/streams.hpp"
#include "call.hpp"
#include "textbook.hpp"

namespace fuzz {
namespace {

fastfs_projse_options draw_options(Input& in, std::int64_t n_candidates) {
    fastfs_projse_options o = FASTFS_PROJSE_OPTIONS_INIT;
    o.kernel = in.mostly<std::int32_t>(in.pick<std::int32_t>({FASTFS_LINEAR, FASTFS_LINEAR, FASTFS_POLY, FASTFS_RBF}));
    o.degree = in.mostly<std::int32_t>(in.pick({1, 2, 3, 9}));
    o.sigma_rule = in.mostly<std::int32_t>(in.pick({0, 0, 1, 2}));
    o.center = in.mostly<std::int32_t>(in.pick({0, 1, 2}));
    o.normalize = in.mostly<std::int32_t>(in.pick({0, 1, 1}));
    o.sigma = in.mostly_real(in.pick({1.0, 1e-3, 30.0}));
    o.eps = in.mostly_real(in.pick({1e-6, 0.0, 0.5}));
    o.n_select = in.mostly<std::int64_t>(std::min(n_candidates, in.pick<std::int64_t>({1, 2, 5, n_candidates})));
    if (in.one_in(8)) o.custom = gaussian;
    return o;
}

// A row of targets that stands for a label.
void add_label(Table& Y, std::int64_t label, std::int64_t n_classes) {
    for (std::int64_t c = 0; c < n_classes; ++c) Y.numbers.push_back(c == label ? 1 : 0);
    Y.d = n_classes;
    Y.n += 1;
}

// Step 2 of the paper's figure, and how far rounding may move an entry, in units of the roots of its diagonals.
struct Kernels {
    Square yy;
    std::vector<double> yx, xx;  // n_y x n_x; the diagonal of K_XX
    double error;
    double yx_of(std::int64_t i, std::int64_t j) const { return yx[at(i * std::ssize(xx) + j)]; }
};

Kernels textbook_kernels(const Table& X, const Table& Y, const fastfs_projse_options& o, bool center, double epsilon) {
    const std::int64_t n = X.n, n_y = Y.d;
    double growth = 1, most = 0;  // of squares by centring; the largest square
    const auto columns_of = [&](const Table& of) {
        std::vector<std::vector<double>> columns;
        for (std::int64_t c = 0; c < of.d; ++c) {
            auto& x = columns.emplace_back();
            for (std::int64_t r = 0; r < n; ++r) x.push_back(of.at(r, c));
            const double raw = dot(x, x), first = x.front();
            for (double& value : x) value -= center ? first : 0;  // constants become zeros
            const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(n);
            for (double& value : x) value -= center ? mean : 0;
            const double square = dot(x, x);
            if (square > 0) growth = std::max(growth, raw / square);
            most = std::max({most, raw, square});
        }
        return columns;
    };
    const auto x = columns_of(X), y = columns_of(Y);
    const bool is_rbf = o.kernel == FASTFS_RBF;
    double sigma = o.sigma_rule == FASTFS_PROJSE_SIGMA_SQRT_ROWS ? std::sqrt(static_cast<double>(n)) : o.sigma;
    double of_sigma = 0;  // distances of equal columns may be the root of rounding
    if (o.sigma_rule == FASTFS_PROJSE_SIGMA_MEAN) {
        sigma = 0;
        for (const auto& a : y) {
            for (const auto& b : y) {
                const double square = squared_distance(a, b), noise = epsilon * static_cast<double>(n + 64) * most;
                sigma += std::sqrt(square) / static_cast<double>(n_y * n_y);
                of_sigma += (std::sqrt(square + noise) - std::sqrt(square)) / static_cast<double>(n_y * n_y);
            }
        }
    }
    const auto kernel = [&](const std::vector<double>& a, const std::vector<double>& b) {
        if (is_rbf) return std::exp(-squared_distance(a, b) / (2 * sigma * sigma));
        const double norms = std::sqrt(dot(a, a) * dot(b, b));
        return std::pow(dot(a, b) / (o.normalize && norms > 0 ? norms : 1), o.kernel == FASTFS_POLY ? o.degree : 1);
    };
    Kernels kernels{Square(n_y), {}, {}, 0};
    for (std::int64_t i = 0; i < n_y; ++i) {
        const auto& target = y[at(i)];
        for (std::int64_t j = 0; j < n_y; ++j) kernels.yy(i, j) = kernel(target, y[at(j)]);
        for (const auto& candidate : x) {
            kernels.yx.push_back(dot(candidate, candidate) > 0 ? kernel(target, candidate) : 0);
        }
    }
    for (const auto& candidate : x) kernels.xx.push_back(kernel(candidate, candidate));
    kernels.error = epsilon * static_cast<double>(n + n_y + 64) *
                        (is_rbf ? 1 + most / (sigma * sigma) : growth * (o.kernel == FASTFS_POLY ? o.degree : 1)) +
                    (is_rbf ? of_sigma / sigma : 0);
    return kernels;
}

class Choice {
  public:
    explicit Choice(std::int64_t n_candidates) : n_candidates_(n_candidates) {}
    Bytes bytes() const {
        Bytes all;
        all.add(result.scores, result.scores ? n_candidates_ : 0);
        all.add(result.selected, result.n_selected);
        for (const double* of_choices : {result.selection_scores, result.gaps, result.captured, result.explained}) {
            all.add(of_choices, result.n_selected);
        }
        for (const double number :
             {double(result.n_selected), double(result.rank), double(result.center), result.sigma}) {
            all.add(number);
        }
        return all;
    }
    void check(const char* name) const {
        expect_finite(result.scores, n_candidates_, name, "score");
        expect(result.n_selected >= 0 && result.n_selected <= n_candidates_, name, "n_selected is out of range");
        expect_finite(result.selection_scores, result.n_selected, name, "selection score");
        expect_finite(result.gaps, result.n_selected, name, "gap");
        expect_finite(result.captured, result.n_selected, name, "captured share");
        if (result.explained) expect_finite(result.explained, result.n_selected, name, "explained share");
        std::vector<bool> seen(at(n_candidates_));
        for (std::int64_t k = 0; k < result.n_selected; ++k) {
            const std::int64_t c = result.selected[k];
            expect(c >= 0 && c < n_candidates_ && !seen[at(c)], name, "a choice is no candidate, or comes twice");
            seen[at(c)] = true;
        }
    }

    // Steps 3 and 4 of the paper's figure, along the choices that were made.
    void expect_projections(const Kernels& kernels, const fastfs_projse_options& o, const char* name) const {
        const std::int64_t m = kernels.yy.n, n = std::ssize(kernels.xx);
        if (!(kernels.error < 1)) return;
        const auto [values, vectors] = eigenpairs(kernels.yy);
        double largest = 0, norm = 0;
        for (std::int64_t i = 0; i < m; ++i) largest = std::max(largest, kernels.yy(i, i));
        for (const double entry : kernels.yy.entries) norm = std::max(norm, std::abs(entry));
        const double cut = o.eps * largest, noise = kernels.error * static_cast<double>(m) * norm;
        std::int64_t dropped = 0;
        for (const double value : values) {
            if (std::abs(value - cut) <= noise) return;  // whether it counts is a matter of rounding
            dropped += value < cut;
        }
        const std::int64_t rank = m - dropped;
        expect(result.rank == rank, name, "another rank");
        // How far rounding may move R0, but for a rotation: by the error of K_YX over the root of the least eigenvalue
        // that counts, and by how far the eigenvectors that count turn, over what keeps them apart from the others.
        const double least = values[at(dropped)],
                     gap = least - (dropped > 0 ? std::max(values[at(dropped - 1)], 0.0) : 0);
        const double relative = kernels.error * std::pow(static_cast<double>(m) * norm / gap, 1.5);
        Candidates all;
        for (std::int64_t j = 0; j < n; ++j) {
            auto& column = all.R.emplace_back();
            double size = std::sqrt(kernels.xx[at(j)]);
            for (std::int64_t k = dropped; k < m; ++k) {
                double sum = 0;
                for (std::int64_t i = 0; i < m; ++i) sum += vectors(i, k) * kernels.yx_of(i, j);
                column.push_back(sum / std::sqrt(values[at(k)]));
            }
            for (std::int64_t i = 0; i < m; ++i) {
                size = std::max(size, std::abs(kernels.yx_of(i, j)) / std::sqrt(largest));
            }
            all.errors.push_back(relative * size);
            all.floors.push_back(0);
        }
        if (relative < 1e-3) expect_choices(std::move(all), 0, std::min(o.n_select, rank), name);
    }

    // The same without targets: what the chosen columns leave of the candidates' own kernel K = R'R.
    void expect_residuals(const Square& K, double relative, const fastfs_projse_options& o, const char* name) const {
        if (!(relative < 1e-3)) return;
        const auto [values, vectors] = eigenpairs(K);
        Candidates all;
        for (std::int64_t j = 0; j < K.n; ++j) {
            auto& column = all.R.emplace_back();
            for (std::int64_t k = 0; k < K.n; ++k) {
                column.push_back(std::sqrt(std::max(values[at(k)], 0.0)) * vectors(j, k));
            }
            all.errors.push_back(0);
            // The latter is what rotations leave of the textbook's own digits.
            all.floors.push_back(relative * K(j, j) + 0x1p-50 * static_cast<double>(K.n) * values.back());
        }
        expect_choices(std::move(all), std::max(o.eps, 1e-12), std::min(o.n_select, K.n), name);
    }

    void expect_projections(const Table& X, const Table& Y, const fastfs_projse_options& o, const char* name) const {
        constexpr std::int64_t kMost = 40;  // targets, whose eigenvectors take rotations of n_y^3
        if (!is_moderate(X.kind) || !is_moderate(Y.kind) || Y.d > kMost) return;
        const bool single = X.m.dtype == FASTFS_FLOAT32 || Y.m.dtype == FASTFS_FLOAT32;
        const auto kernels = textbook_kernels(X, Y, o, result.center == 1, single ? 0x1p-23 : 0x1p-52);
        if (&X != &Y) return expect_projections(kernels, o, name);
        Square K(X.d);
        for (std::int64_t i = 0; i < K.n; ++i) {
            for (std::int64_t j = 0; j < K.n; ++j) K(i, j) = std::min(kernels.yx_of(i, j), kernels.yx_of(j, i));
        }
        expect_residuals(K, kernels.error, o, name);
    }

    Owned<fastfs_projse_result> made{FASTFS_PROJSE_RESULT_INIT};
    const fastfs_projse_result& result = made.result;

  private:
    // Columns of R, how far rounding may move each, and how far what is left of its square, however small that is.
    struct Candidates {
        std::vector<std::vector<double>> R;
        std::vector<double> errors, floors;
    };

    // The choices among them: at most so many, none of which has less than this share of the first one's square.
    void expect_choices(Candidates all, double least, std::int64_t most_choices, const char* name) const {
        auto& [R, errors, floors] = all;
        const std::int64_t n = std::ssize(R);
        std::vector<double> squares;
        const auto error = [&](std::int64_t j) {
            const double e = errors[at(j)];
            return 2 * std::sqrt(squares[at(j)]) * e + e * e + floors[at(j)];
        };
        double total = 0, of_total = 0;
        for (std::int64_t j = 0; j < n; ++j) {
            squares.push_back(dot(R[at(j)], R[at(j)]));
            total += squares.back();
            of_total += error(j);
        }
        if (!(of_total < 1e-3 * total)) return;
        for (std::int64_t j = 0; j < n; ++j) {
            expect_near(result.scores[j], squares[at(j)], error(j), name, "a score");
        }
        const double first = *std::max_element(squares.begin(), squares.end());
        std::vector<bool> chosen(R.size());
        for (std::int64_t t = 0;; ++t) {
            const bool stopped = t == result.n_selected;
            const std::int64_t own = stopped ? -1 : result.selected[t];
            double rival = 0, most = 0, rest = 0, of_rest = 0;
            for (std::int64_t j = 0; j < n; ++j) {
                if (j == own || chosen[at(j)]) continue;
                rival = std::max(rival, squares[at(j)]);
                most = std::max(most, error(j));
            }
            if (stopped) {
                expect(t == most_choices || rival - most <= std::max(least, 1e-12) * (first + of_total), name,
                       "it stopped too early");
                return;
            }
            const double square = squares[at(own)], of_square = error(own);
            expect(square + of_square >= least * (first - of_total), name, "a choice has too little left");
            expect(square + of_square >= (rival - most) * (1 - 1e-10), name, "another choice is better");
            const double equal = std::max(rival + most, square + of_square) * (1 - 1e-10);  // and more: a tie
            for (std::int64_t j = 0; j < own; ++j) {
                expect(chosen[at(j)] || squares[at(j)] - error(j) < equal, name, "a tie goes to a higher index");
            }
            expect_near(result.selection_scores[t], square, of_square, name, "the score of a choice");
            // Rivals are brought up to date by subtraction, which costs eps of the first score each time.
            expect_near(result.gaps[t], std::max(square - rival, 0.0),
                        of_square + most + 0x1p-50 * static_cast<double>(t + 1) * first, name, "a gap");
            const auto q = R[at(own)];
            const double turned = errors[at(own)] / std::sqrt(square), of_floor = floors[at(own)] / square;
            if (!(turned < 1e-3) || !(of_floor < 1e-3)) return;  // hardly a digit of its direction is left
            for (std::int64_t j = 0; j < n; ++j) {
                auto& column = R[at(j)];
                const double share = dot(q, column) / square;
                for (std::size_t i = 0; i < q.size(); ++i) column[i] -= q[i] * share;
                errors[at(j)] += 3 * turned * std::sqrt(squares[at(j)]);
                // An entry of K is off by the root of both floors, and taken off as its square over the choice's own.
                const double floor = std::sqrt(floors[at(j)]) + std::sqrt(of_floor * squares[at(j)]);
                floors[at(j)] = floor * floor;
                squares[at(j)] = dot(R[at(j)], R[at(j)]);
                rest += squares[at(j)];
                of_rest += error(j);
            }
            chosen[at(own)] = true;
            expect_near(result.captured[t], 1 - rest / total, 2 * (of_total + of_rest) / total + 1e-13, name,
                        "a captured share");
        }
    }

    std::int64_t n_candidates_;
};

}  // namespace

void try_projse(Input& in) {
    const std::int64_t n = draw_size(in, 1), d = draw_size(in, 1);
    const auto X = draw_table(in, n, d);
    const auto o = draw_options(in, d);
    if (in.one_in(3)) {
        const std::int64_t B = in.from(1, 4), C = in.from(2, 4);
        std::vector<std::int64_t> labels;
        for (std::int64_t b = 0; b < B; ++b) {
            const auto more = draw_labels(in, n, C);
            labels.insert(labels.end(), more.begin(), more.end());
        }
        std::vector<double> scores(static_cast<std::size_t>(B * d));
        auto linear = o;
        if (!in.one_in(8)) {
            linear.kernel = FASTFS_LINEAR;
            linear.custom = nullptr;
        }
        const std::int64_t asked = in.mostly(B);
        const char* const name = "fastfs_projse_label_scores";
        const fastfs_status status =
            attempt(in, {name,
                         [&](const fastfs_run* run) {
                             return fastfs_projse_label_scores(&X->m, labels.data(), asked <= B ? asked : -1, C,
                                                               &linear, run, scores.data());
                         },
                         [&] {
                             Bytes bytes;
                             bytes.add(scores);
                             return bytes;
                         },
                         [&] { scores.assign(scores.size(), 0.0); }});
        expect(!X->broken || status == FASTFS_EINVAL, name, "a broken matrix is accepted");
        if (status == FASTFS_OK) expect_finite(scores.data(), std::ssize(scores), name, "score");
        return;
    }
    const std::int64_t targets = in.below(3), n_y = draw_size(in, 1), C = in.from(1, 5);
    const auto Y = draw_table(in, in.one_in(64) ? n + 1 : n, std::min<std::int64_t>(n_y, 40), kDense | kGenotype);
    const auto labels = draw_labels(in, n, C);
    Choice choice(d);
    const fastfs_status status = attempt(in, {"fastfs_projse",
                                              [&](const fastfs_run* run) {
                                                  return fastfs_projse(&X->m, targets == 1 ? &Y->m : nullptr,
                                                                       targets == 2 ? labels.data() : nullptr, C, &o,
                                                                       run, &choice.made.result, &choice.made.fitted);
                                              },
                                              [&] { return choice.bytes(); }, [&] { choice.made.clear(); }});
    expect(!X->broken || status == FASTFS_EINVAL, "fastfs_projse", "a broken matrix is accepted");
    if (status == FASTFS_OK) choice.check("fastfs_projse");
    if (status == FASTFS_OK && !o.custom) {
        Table one_hot;
        for (std::int64_t r = 0; r < n; ++r) add_label(one_hot, labels[at(r)], C);
        choice.expect_projections(*X, targets == 0 ? *X : targets == 1 ? *Y : one_hot, o, "fastfs_projse");
    }

    if (in.one_in(3)) {
        const std::int64_t m = std::min<std::int64_t>(n_y, 40);
        Random random(in.word());
        const Values kind = in.pick({Values::kDigits, Values::kQuarters, Values::kEqual, Values::kSpecial});
        const auto draw = [&](std::int64_t size) {
            std::vector<double> all;
            for (std::int64_t k = 0; k < size; ++k) all.push_back(draw_value(random, kind));
            return all;
        };
        // K = B B' of m + d columns in three dimensions.
        const auto B = draw(3 * (m + d));
        const auto product = [&](std::int64_t a, std::int64_t b) {
            double sum = 0;
            for (std::int64_t k = 0; k < 3; ++k)
                sum += B[static_cast<std::size_t>(3 * a + k)] * B[static_cast<std::size_t>(3 * b + k)];
            return sum;
        };
        std::vector<double> yy, yx, xx;
        for (std::int64_t a = 0; a < m; ++a) {
            for (std::int64_t b = 0; b < m; ++b) yy.push_back(product(a, b));
            for (std::int64_t b = 0; b < d; ++b) yx.push_back(product(a, m + b));
        }
        for (std::int64_t b = 0; b < d; ++b) xx.push_back(product(m + b, m + b));
        if (in.one_in(8)) xx.front() = in.mostly_real(-2);
        if (in.one_in(8)) yy.front() = in.mostly_real(-2);
        Choice of_kernels(d);
        const fastfs_status found =
            attempt(in, {"fastfs_projse_kernels",
                         [&](const fastfs_run* run) {
                             return fastfs_projse_kernels(m, d, yy.data(), yx.data(), xx.data(), &o, run,
                                                          &of_kernels.made.result, &of_kernels.made.fitted);
                         },
                         [&] { return of_kernels.bytes(); }, [&] { of_kernels.made.clear(); }});
        if (found == FASTFS_OK) of_kernels.check("fastfs_projse_kernels");
        if (found == FASTFS_OK && kind != Values::kSpecial) {
            Kernels kernels{Square(m), yx, xx, 0x1p-52 * static_cast<double>(m + 64)};
            const auto scale = [&](double self) { return self == 0 ? 0 : o.normalize ? 1 / std::sqrt(self) : 1; };
            for (std::int64_t i = 0; i < m; ++i) {
                const double own = scale(yy[at(i * m + i)]);
                for (std::int64_t j = 0; j < m; ++j) {
                    kernels.yy(i, j) = yy[at(i * m + j)] * own * scale(yy[at(j * m + j)]);
                }
                for (std::int64_t j = 0; j < d; ++j) {
                    kernels.yx[at(i * d + j)] *= own * scale(xx[at(j)]);
                }
            }
            for (double& self : kernels.xx) self *= scale(self) * scale(self);
            of_kernels.expect_projections(kernels, o, "fastfs_projse_kernels");
        }
    }
}

void try_projse_stream(Input& in) {
    const std::int64_t d = std::min<std::int64_t>(draw_size(in, 1), 70);
    const std::int32_t drawn = in.pick<std::int32_t>(
        {FASTFS_PROJSE_ONE_VIEW, FASTFS_PROJSE_ONE_VIEW, FASTFS_PROJSE_TWO_VIEWS, FASTFS_PROJSE_GROUPS});
    const std::int64_t n_y = in.pick<std::int64_t>({0, 1, 2, 5, 17});
    fastfs_stream *sums = nullptr, *kept = nullptr;
    const std::int64_t asked = in.mostly(n_y);
    const std::int32_t views = in.mostly(drawn);
    const auto release = [&] {
        fastfs_stream_free(sums);
        sums = nullptr;
    };
    fastfs_status status =
        attempt(in, {"fastfs_projse_stream_new",
                     [&](const fastfs_run* run) {
                         return fastfs_projse_stream_new(asked <= 400 ? asked : -1, d, views, run, &sums);
                     },
                     [&] {
                         Bytes bytes;
                         bytes.add(fastfs_stream_size(sums));
                         return bytes;
                     },
                     release});
    if (status != FASTFS_OK) return;
    const bool of_groups = views == FASTFS_PROJSE_GROUPS;
    const auto state = [&] {
        Bytes bytes;
        bytes.add(bytes_of(sums));
        bytes.add(rows_of(sums));
        return bytes;
    };
    const auto copy = [](const fastfs_stream* of, fastfs_stream*& to) {
        fastfs_stream_free(to);
        to = nullptr;
        expect(fastfs_stream_copy(of, &to) == FASTFS_OK, "fastfs_stream_copy", "it fails");
    };
    const auto keep = [&] { copy(sums, kept); };
    const auto bring_back = [&] { copy(kept, sums); };
    keep();
    const bool by_labels = asked > 0 && (of_groups || in.one_in(2));
    // Two groups or more count as one class, and one of them may stay out.
    std::vector<std::int64_t> classes;
    std::int64_t n_classes = 0;
    for (std::int64_t g = 0; of_groups && g < asked; ++g) {
        classes.push_back(in.one_in(8) ? -1 : g / 2);
        n_classes = std::max(n_classes, classes.back() + 1);
    }
    const auto label_of = [&](std::int64_t label) { return of_groups ? classes[at(label)] : label; };
    Table rows, targets;  // that the sums are of
    for (std::int64_t block = in.from(1, 3); block > 0; --block) {
        const std::int64_t n = draw_size(in, 1);
        const auto X = draw_table(in, n, in.one_in(64) ? d + 1 : d);
        const auto Y =
            draw_table(in, n, std::max<std::int64_t>(1, std::min<std::int64_t>(asked, 40)), kDense | kGenotype);
        const auto labels = draw_labels(in, n, std::max<std::int64_t>(asked, 1));
        const bool as_labels = in.one_in(32) ? !by_labels : by_labels;
        const bool has_y = asked > 0 && !as_labels;
        status =
            attempt(in, {"fastfs_stream_update",
                         [&](const fastfs_run* run) {
                             return update_stream(sums, &X->m, run, asked > 0 && as_labels ? labels.data() : nullptr,
                                                  has_y ? &Y->m : nullptr);
                         },
                         state, bring_back, true});
        expect(!X->broken || status == FASTFS_EINVAL, "fastfs_stream_update", "a broken matrix is accepted");
        keep();
        for (std::int64_t r = 0; status == FASTFS_OK && r < n; ++r) {
            if (of_groups && label_of(labels[at(r)]) < 0) continue;
            add_row(rows, *X, r);
            if (has_y) add_row(targets, *Y, r);
            if (!has_y && asked > 0) add_label(targets, label_of(labels[at(r)]), of_groups ? n_classes : asked);
        }
    }
    if (in.one_in(3)) {
        fastfs_stream* other = nullptr;
        fastfs_projse_stream_new(in.mostly(asked) == asked ? asked : 1, d, drawn, nullptr, &other);
        const bool copied = other && in.one_in(2) && load_stream(other, bytes_of(sums)) == FASTFS_OK;
        status =
            attempt(in, {"fastfs_stream_merge", [&](const fastfs_run*) { return fastfs_stream_merge(sums, other); },
                         state, bring_back, true, false});
        const std::int64_t n = copied && status == FASTFS_OK ? rows.n : 0;
        for (std::int64_t r = 0; r < n; ++r) {
            add_row(rows, rows, r);
            if (asked > 0) add_row(targets, targets, r);
        }
        fastfs_stream_free(other);
        keep();
    }
    bool strange = false;
    if (in.one_in(4)) {
        std::vector<char> bytes = bytes_of(sums);
        Random random(in.word());
        const std::int64_t n = (std::ssize(bytes) - std::int64_t{kHeaderBytes}) / 8;
        for (int k = 0; k < 4 && n > 0; ++k) {
            const std::int64_t place = random.below(k < 2 ? std::min<std::int64_t>(8, n) : n);
            const double number = in.mostly_real(in.pick({-1.0, 0.5, 1e300, 3.0, 0.0, 9e15, -1e-3}));
            std::memcpy(bytes.data() + kHeaderBytes + 8 * place, &number, 8);
        }
        const auto restart = [&] {
            release();
            expect(fastfs_projse_stream_new(asked, d, views, nullptr, &sums) == FASTFS_OK, "fastfs_projse_stream_new",
                   "it fails the second time");
        };
        restart();
        attempt(in, {"fastfs_stream_load", [&](const fastfs_run*) { return load_stream(sums, bytes); }, state, restart,
                     true, false});
        strange = true;
    }
    std::vector<double> means(static_cast<std::size_t>((of_groups ? asked : 1) * d));
    expect(fastfs_stream_means(sums, nullptr, means.data()) == FASTFS_OK, "fastfs_stream_means", fastfs_last_error());
    for (int selection = 0; selection < 2; ++selection) {
        auto o = draw_options(in, d);
        o.from_y = in.one_in(3) ? in.mostly(1) : 0;
        const std::int64_t n_candidates = o.from_y == 1 ? std::max<std::int64_t>(asked, 1) : d;
        Choice choice(n_candidates);
        status =
            attempt(in, {"fastfs_projse_stream_finish",
                         [&](const fastfs_run* run) {
                             return fastfs_projse_stream_finish(sums, of_groups ? classes.data() : nullptr, n_classes,
                                                                &o, run, &choice.made.result, &choice.made.fitted);
                         },
                         [&] { return choice.bytes(); }, [&] { choice.made.clear(); }});
        if (status != FASTFS_OK || strange) continue;
        choice.check("fastfs_projse_stream_finish");
        if (o.custom) continue;
        const Table& Y = asked > 0 ? targets : rows;
        choice.expect_projections(o.from_y == 1 ? Y : rows, o.from_y == 1 ? rows : Y, o, "fastfs_projse_stream_finish");
    }
    release();
    fastfs_stream_free(kept);
}

}  // namespace fuzz
