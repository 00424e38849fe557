// ProjSe, of tables, kernels and sums.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "call.hpp"

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

class Choice {
  public:
    Choice(Input& in, std::int64_t n_candidates, std::int64_t n_select)
        : scores_(static_cast<std::size_t>(n_candidates)),
          selected_(static_cast<std::size_t>(std::clamp<std::int64_t>(n_select, 1, n_candidates))),
          more_(selected_.size()),
          gaps_(selected_.size()),
          captured_(selected_.size()) {
        result.scores = scores_.data();
        result.selected = selected_.data();
        result.selection_scores = more_.data();
        result.gaps = gaps_.data();
        result.captured = captured_.data();
        if (in.one_in(64)) result.gaps = nullptr;
    }
    Bytes bytes() const {
        Bytes all;
        all.add(scores_);
        all.add(selected_);
        all.add(more_);
        all.add(gaps_);
        all.add(captured_);
        for (const double number : {double(result.n_selected), double(result.rank), double(result.warnings),
                                    double(result.center), result.sigma}) {
            all.add(number);
        }
        return all;
    }
    void clear() {
        for (auto* one : {&scores_, &more_, &gaps_, &captured_}) std::fill(one->begin(), one->end(), 0.0);
        std::fill(selected_.begin(), selected_.end(), 0);
        result.n_selected = result.rank = result.warnings = result.center = 0;
        result.sigma = 0;
    }
    void check(const char* name) const {
        expect_finite(scores_.data(), std::ssize(scores_), name, "score");
        expect(result.n_selected >= 0 && result.n_selected <= std::ssize(selected_), name,
               "n_selected is out of range");
        expect_finite(more_.data(), result.n_selected, name, "selection score");
        expect_finite(gaps_.data(), result.n_selected, name, "gap");
        expect_finite(captured_.data(), result.n_selected, name, "captured share");
        std::vector<bool> seen(scores_.size());
        for (std::int64_t k = 0; k < result.n_selected; ++k) {
            const std::int64_t c = selected_[static_cast<std::size_t>(k)];
            expect(c >= 0 && c < std::ssize(scores_) && !seen[static_cast<std::size_t>(c)], name,
                   "a choice is no candidate, or comes twice");
            seen[static_cast<std::size_t>(c)] = true;
        }
    }

    // The score of a column for one target is the square of their cosine.
    void expect_cosines(const Table& X, const Table& Y) const {
        for (std::int64_t c = 0; c < X.d; ++c) {
            double means[2] = {0, 0}, xx = 0, xy = 0, yy = 0;
            for (std::int64_t r = 0; result.center && r < X.n; ++r) {
                means[0] += X.at(r, c) / static_cast<double>(X.n);
                means[1] += Y.at(r, 0) / static_cast<double>(X.n);
            }
            for (std::int64_t r = 0; r < X.n; ++r) {
                const double x = X.at(r, c) - means[0], y = Y.at(r, 0) - means[1];
                xx += x * x, xy += x * y, yy += y * y;
            }
            const double least = 1e-12 * static_cast<double>(X.n);  // constant, but for rounding of its mean
            const double wanted = xx > least && yy > least ? xy * xy / (xx * yy) : 0;
            expect_near(scores_[static_cast<std::size_t>(c)], wanted, 1e-5, "fastfs_projse", "a score");
        }
    }

    fastfs_projse_result result = FASTFS_PROJSE_RESULT_INIT;

  private:
    std::vector<double> scores_;
    std::vector<std::int64_t> selected_;
    std::vector<double> more_, gaps_, captured_;
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
    Choice choice(in, d, o.n_select);
    const fastfs_status status =
        attempt(in, {"fastfs_projse",
                     [&](const fastfs_run* run) {
                         return fastfs_projse(&X->m, targets == 1 ? &Y->m : nullptr,
                                              targets == 2 ? labels.data() : nullptr, C, &o, run, &choice.result);
                     },
                     [&] { return choice.bytes(); }, [&] { choice.clear(); }});
    expect(!X->broken || status == FASTFS_EINVAL, "fastfs_projse", "a broken matrix is accepted");
    if (status == FASTFS_OK) choice.check("fastfs_projse");
    if (status == FASTFS_OK && targets == 1 && Y->d == 1 && o.kernel == FASTFS_LINEAR && !o.custom &&
        o.normalize == 1 && is_exact(X->kind) && is_exact(Y->kind)) {
        choice.expect_cosines(*X, *Y);
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
        Choice of_kernels(in, d, o.n_select);
        const fastfs_status found = attempt(in, {"fastfs_projse_kernels",
                                                 [&](const fastfs_run* run) {
                                                     return fastfs_projse_kernels(m, d, yy.data(), yx.data(), xx.data(),
                                                                                  &o, run, &of_kernels.result);
                                                 },
                                                 [&] { return of_kernels.bytes(); }, [&] { of_kernels.clear(); }});
        if (found == FASTFS_OK) of_kernels.check("fastfs_projse_kernels");
    }
}

void try_projse_sums(Input& in) {
    const std::int64_t d = std::min<std::int64_t>(draw_size(in, 1), 70);
    const std::int64_t n_y = in.pick<std::int64_t>({0, 1, 2, 5, 17}), G = in.from(1, 4);
    const std::int32_t two_views = in.one_in(4) ? 1 : 0;
    const bool of_groups = in.one_in(3);
    fastfs_projse_sums* sums = nullptr;
    const std::int64_t asked = in.mostly(n_y);
    const std::int32_t views = in.mostly(two_views);
    const auto release = [&] {
        fastfs_projse_free(sums);
        sums = nullptr;
    };
    fastfs_status status = attempt(
        in, {"fastfs_projse_new",
             [&](const fastfs_run* run) { return fastfs_projse_new(asked <= 400 ? asked : -1, d, views, run, &sums); },
             [&] {
                 Bytes bytes;
                 bytes.add(fastfs_projse_size(sums));
                 return bytes;
             },
             release});
    if (status != FASTFS_OK) return;
    const auto save = [](const fastfs_projse_sums* of) {
        std::vector<double> numbers(static_cast<std::size_t>(fastfs_projse_size(of)));
        expect(fastfs_projse_save(of, numbers.data()) == FASTFS_OK, "fastfs_projse_save", "it fails");
        return numbers;
    };
    std::vector<double> before = save(sums);
    const auto state = [&] {
        Bytes bytes;
        bytes.add(save(sums));
        bytes.add(fastfs_projse_rows(sums));
        return bytes;
    };
    const auto load = [](fastfs_projse_sums* into, const std::vector<double>& numbers) {
        const fastfs_status loaded = fastfs_projse_load(into, numbers.data());
        expect(loaded == FASTFS_OK, "fastfs_projse_load", "what was saved is refused");
    };
    const auto bring_back = [&] { load(sums, before); };
    const bool by_labels = asked > 0 && in.one_in(2);
    for (std::int64_t block = in.from(1, 3); block > 0; --block) {
        const std::int64_t n = draw_size(in, 1);
        const auto X = draw_table(in, n, in.one_in(64) ? d + 1 : d);
        const auto Y =
            draw_table(in, n, std::max<std::int64_t>(1, std::min<std::int64_t>(asked, 40)), kDense | kGenotype);
        const auto labels = draw_labels(in, n, std::max<std::int64_t>(asked, 1));
        const bool as_labels = in.one_in(32) ? !by_labels : by_labels;
        status = attempt(in, {"fastfs_projse_update",
                              [&](const fastfs_run* run) {
                                  return fastfs_projse_update(sums, &X->m, asked > 0 && !as_labels ? &Y->m : nullptr,
                                                              asked > 0 && as_labels ? labels.data() : nullptr, run);
                              },
                              state, bring_back, true});
        expect(!X->broken || status == FASTFS_EINVAL, "fastfs_projse_update", "a broken matrix is accepted");
        before = save(sums);
    }
    if (of_groups) {
        std::vector<fastfs_projse_sums*> handles(static_cast<std::size_t>(G));
        for (auto*& one : handles)
            expect(fastfs_projse_new(1, d, 0, nullptr, &one) == FASTFS_OK, "fastfs_projse_new", "");
        const auto X = draw_table(in, draw_size(in, 1), d);
        const auto groups = draw_labels(in, X->n, G);
        const std::vector<double> empty = save(handles.front());
        auto given = handles;
        if (in.one_in(32)) given.back() = in.one_in(2) ? nullptr : given.front();
        status = attempt(in, {"fastfs_projse_update_groups",
                              [&](const fastfs_run* run) {
                                  return fastfs_projse_update_groups(given.data(), G, &X->m, groups.data(), run);
                              },
                              [&] {
                                  Bytes bytes;
                                  for (const auto* one : handles) bytes.add(save(one));
                                  return bytes;
                              },
                              [&] {
                                  for (auto* one : handles) load(one, empty);
                              },
                              true});
        expect(!X->broken || status == FASTFS_EINVAL, "fastfs_projse_update_groups", "a broken matrix is accepted");
        for (std::int64_t g = 0; g < G; ++g) {
            const std::int64_t label = in.mostly(g);
            attempt(in, {"fastfs_projse_merge_class",
                         [&](const fastfs_run*) {
                             return fastfs_projse_merge_class(sums, handles[static_cast<std::size_t>(g)], label);
                         },
                         state, bring_back, true, false});
            before = save(sums);
        }
        for (auto* one : handles) fastfs_projse_free(one);
    }
    if (in.one_in(3)) {
        fastfs_projse_sums* other = nullptr;
        fastfs_projse_new(in.mostly(asked) == asked ? asked : 1, d, two_views, nullptr, &other);
        if (other && fastfs_projse_size(other) == std::ssize(before) && in.one_in(2))
            fastfs_projse_load(other, before.data());
        attempt(in, {"fastfs_projse_merge", [&](const fastfs_run*) { return fastfs_projse_merge(sums, other); }, state,
                     bring_back, true, false});
        fastfs_projse_free(other);
        before = save(sums);
    }
    bool strange = false;
    if (in.one_in(4)) {
        std::vector<double> numbers = before;
        Random random(in.word());
        for (int k = 0; k < 4; ++k) {
            const std::int64_t of = k < 2 ? std::min<std::int64_t>(8, std::ssize(numbers)) : std::ssize(numbers);
            numbers[static_cast<std::size_t>(random.below(of))] =
                in.mostly_real(in.pick({-1.0, 0.5, 1e300, 3.0, 0.0, 9e15, -1e-3}));
        }
        status = attempt(
            in, {"fastfs_projse_load", [&](const fastfs_run*) { return fastfs_projse_load(sums, numbers.data()); },
                 state, bring_back, true, false});
        strange = true;
    }
    std::vector<double> means(static_cast<std::size_t>(d));
    expect(fastfs_projse_means(sums, means.data()) == FASTFS_OK, "fastfs_projse_means", fastfs_last_error());
    for (int selection = 0; selection < 2; ++selection) {
        auto o = draw_options(in, d);
        o.from_y = in.one_in(3) ? in.mostly(1) : 0;
        const std::int64_t n_candidates = o.from_y == 1 ? std::max<std::int64_t>(asked, 1) : d;
        Choice choice(in, n_candidates, o.n_select);
        status =
            attempt(in, {"fastfs_projse_select",
                         [&](const fastfs_run* run) { return fastfs_projse_select(sums, &o, run, &choice.result); },
                         [&] { return choice.bytes(); }, [&] { choice.clear(); }});
        if (status == FASTFS_OK && !strange) choice.check("fastfs_projse_select");
    }
    release();
}

}  // namespace fuzz
