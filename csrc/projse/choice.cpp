#include "projse/choice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "engines/isa/tiles.hpp"
#include "engines/spectral.hpp"
#include "support/errors.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"
#include "support/random.hpp"
#include "support/warnings.hpp"

namespace fastfs::core {
namespace {

// Names a column in a sentence that has said if it is of X or Y.
Name number(std::int64_t column) { return {FASTFS_PLACE_COLUMN, column, std::to_string(column)}; }

constexpr double kNothingLeft = 1e-12;  // share of the first score that counts as 0
constexpr double kTinyScore = 1e-8;
constexpr double kRecompute = 1e-6;           // share of its last exact value below which a score has lost digits
constexpr std::int64_t kBlock = 128;          // columns of R that share a bound
constexpr std::int64_t kTargetColumns = 512;  // of R that are made together

// Returns the sum of the scores; captured scores are reported as shares of it.
double sum_of(const std::vector<double>& scores) {
    double total = 0;
    for (const double c : scores) total += c;
    require(std::isfinite(total), "the scores add up to more than the largest number: scale the columns, or normalize");
    return total;
}

// Copies the scores to the result, and makes room for n choices.
void set_arrays(Owned<fastfs_projse_result>& result, const std::vector<double>& scores, std::int64_t n) {
    result.set(result.scores, scores);
    result.set_zeros(result.selected, n);
    result.set_zeros(result.selection_scores, n);
    result.set_zeros(result.gaps, n);
    result.set_zeros(result.captured, n);
}

// Appends a choice to the result; returns true if it is the first one, and a tie.
bool keep_choice(Owned<fastfs_projse_result>& result, std::int64_t j, double score, double rival, double first) {
    const std::int64_t t = result.n_selected++;
    result.selected[t] = j;
    result.selection_scores[t] = score;
    result.gaps[t] = std::max(score - rival, 0.0);
    return t == 0 && rival >= first * (1 - kTie);
}

// Warns of fewer selected features than asked for, and of a first choice that is a tie.
void warn_of_choice(const fastfs_projse_options& o, const fastfs_projse_result& result, bool has_target, bool is_tie) {
    if (result.n_selected < o.n_select) {
        const Message reason = o.beyond == FASTFS_PROJSE_RESIDUAL
                                   ? Message("the others explain nothing more of the target")
                                   : Message("the kernel of ", has_target ? "the target" : "the features", " has rank ",
                                             result.rank, ", and then nothing is left to explain");
        warn("few_selected",
             {"only ", result.n_selected, " of the ", o.n_select, " features asked for were selected: ", reason});
    }
    if (is_tie) {
        warn("tie", {"the first choice is a tie: the lowest index wins, and all later choices depend on it",
                     has_target ? "" : " (without a target it always is)"});
    }
}

// Chooses by step 4 with R0 (r x n, column-major) read only: the remainder of column j after directions q_1 .. q_t is
// |r_j|^2 - sum_s (q_s' r_j)^2, which only falls. So an old value bounds a new one. A block of columns is brought up to
// date only when its bound can still win, for all missed steps in one product.
class Projection {
  public:
    Projection(const double* R, std::int64_t r, std::int64_t n, std::vector<double> scores, std::int64_t n_select,
               Run& run)
        : R_(R),
          r_(r),
          n_(n),
          n_blocks_(ceil_div(n, kBlock)),
          n_select_(n_select),
          run_(run),
          c_(std::move(scores)),
          exact_(c_),
          chosen_(at(n), 0),
          Q_(r * n_select),
          blocks_(at(n_blocks_)),
          removed_(n_blocks_ * n_select),
          scratch_(at(run.n_threads())) {
        for (std::int64_t b = 0; b < n_blocks_; ++b) find_top(b);
    }

    // Writes the chosen columns, their scores and captured shares to the result, until no score is left, or only scores
    // below `eps` of the first. Returns whether the first choice is a tie.
    bool choose_columns(double eps, Owned<fastfs_projse_result>& result) {
        const double total = sum_of(c_);
        bool is_tie = false;
        double first = 0;
        for (t_ = 0; t_ < std::min(n_select_, r_);) {
            run_.checkpoint(share(t_, n_select_));
            const Choice choice = next_column();
            if (choice.index < 0) break;
            const std::int64_t j = choice.index;
            double* q = Q_.data() + t_ * r_;
            std::copy(R_ + j * r_, R_ + (j + 1) * r_, q);
            const double score = residual(q);
            if (t_ == 0) first = score;
            if (std::abs(score - c_[at(j)]) > kTie / 10 * score) {  // the choice rests on lost digits
                c_[at(j)] = exact_[at(j)] = score;
                find_top(j / kBlock);
                continue;
            }
            if (!(score > kNothingLeft * first) || score < eps * first) break;
            const double factor = 1 / std::sqrt(score);
            for (std::int64_t i = 0; i < r_; ++i) q[i] *= factor;
            chosen_[at(j)] = 1;
            find_top(j / kBlock);
            is_tie |= keep_choice(result, j, score, choice.rival, first);
            ++t_;
        }
        std::vector<std::int64_t> all;
        for (std::int64_t b = 0; b < n_blocks_; ++b) {
            if (blocks_[at(b)].steps < t_) all.push_back(b);
        }
        update_blocks(all, false);
        double captured = 0;
        for (std::int64_t t = 0; t < t_; ++t) {
            for (std::int64_t b = 0; b < n_blocks_; ++b) captured += removed_[b * n_select_ + t];
            result.captured[t] = std::min(captured / total, 1.0);
        }
        return is_tie;
    }

  private:
    struct Choice {
        std::int64_t index;  // -1: no score is left
        double rival;        // the best score of all other columns
    };

    struct Block {
        std::int64_t steps = 0;      // directions that have been subtracted
        double top = 0, second = 0;  // of the columns not chosen
    };

    // Sets the largest and the second largest score of block b, without chosen columns.
    void find_top(std::int64_t b) {
        Block& block = blocks_[at(b)];
        block.top = block.second = 0;
        for (std::int64_t j = b * kBlock; j < std::min((b + 1) * kBlock, n_); ++j) {
            const double c = chosen_[at(j)] ? 0 : c_[at(j)];
            block.second = std::max(block.second, std::min(c, block.top));
            block.top = std::max(block.top, c);
        }
    }

    // Subtracts from q (r_ values) its part in the span of the directions so far, and returns the square of the
    // remainder.
    double residual(double* q) const {
        for (int twice = 0; twice < 2; ++twice) {
            for (std::int64_t s = 0; s < t_; ++s) {
                const double* direction = Q_.data() + s * r_;
                double product = 0;
                for (std::int64_t i = 0; i < r_; ++i) product += direction[i] * q[i];
                for (std::int64_t i = 0; i < r_; ++i) q[i] -= product * direction[i];
            }
        }
        double square = 0;
        for (std::int64_t i = 0; i < r_; ++i) square += q[i] * q[i];
        return square;
    }

    // Sets h (w x k) to the products of columns j0.. with directions s0... Avoids BLAS, which copies the columns first:
    // this takes longer than a few products with each. A choice of 50 of 2500 columns of 50 took 4.0 instead of 4.7 ms
    // (Zen 3).
    void multiply_with_chosen(std::int64_t j0, std::int64_t w, std::int64_t s0, std::int64_t k, double* h) const {
        constexpr std::int64_t kFew = 4, kInL1 = 32;
        if (k > kFew) {
            gemm('T', 'N', w, k, r_, 1.0, R_ + j0 * r_, r_, Q_.data() + s0 * r_, r_, 0.0, h, w);
            return;
        }
        const double* columns[kInL1];
        for (std::int64_t j = 0; j < w; j += kInL1) {
            const std::int64_t n = std::min(kInL1, w - j);
            for (std::int64_t c = 0; c < n; ++c) columns[c] = R_ + (j0 + j + c) * r_;
            for (std::int64_t s = 0; s < k; ++s) {
                row_kernels<double>().dots(columns, n, Q_.data() + (s0 + s) * r_, r_, h + s * w + j);
            }
        }
    }

    // Brings the scores and bounds of the listed blocks up to the last direction. choosing: scores that have lost
    // digits are computed again, which is wasted after the last choice.
    void update_blocks(const std::vector<std::int64_t>& which, bool choosing) {
        parallel_for(run_, static_cast<std::int64_t>(which.size()), [&](std::int64_t index, int slot) {
            const std::int64_t b = which[at(index)], j0 = b * kBlock, w = std::min(kBlock, n_ - j0);
            Block& block = blocks_[at(b)];
            const std::int64_t s0 = block.steps, k = t_ - s0;
            Buffer<double>& h = scratch_[at(slot)];
            if (h.size() < w * k + r_) h = Buffer<double>(w * n_select_ + r_);
            multiply_with_chosen(j0, w, s0, k, h.data());
            for (std::int64_t s = 0; s < k; ++s) {
                double sum = 0;
                for (std::int64_t j = 0; j < w; ++j) {
                    const double square = h[s * w + j] * h[s * w + j];
                    c_[at(j0 + j)] -= square;
                    sum += square;
                }
                removed_[b * n_select_ + s0 + s] = sum;
            }
            block.steps = t_;
            for (std::int64_t j = j0; choosing && j < j0 + w; ++j) {
                if (chosen_[at(j)] || c_[at(j)] >= kRecompute * exact_[at(j)]) continue;
                std::copy(R_ + j * r_, R_ + (j + 1) * r_, h.data());
                c_[at(j)] = exact_[at(j)] = residual(h.data());
            }
            find_top(b);
        });
    }

    // Returns the best column and its rival, or -1 if no score is left: brings blocks up to date, the largest bounds
    // first, until no other block can hold the best column, columns equal to it, or its best rival.
    Choice next_column() {
        std::vector<std::int64_t> stale;
        for (std::size_t batch = 8;; batch *= 2) {
            double best = 0, second = 0;
            for (const Block& block : blocks_) {
                if (block.steps < t_) continue;
                second = std::max({second, block.second, std::min(best, block.top)});
                best = std::max(best, block.top);
            }
            const double enough = std::min(second, best * (1 - kTie));
            stale.clear();
            for (std::int64_t b = 0; b < n_blocks_; ++b) {
                const Block& block = blocks_[at(b)];
                if (block.steps < t_ && block.top > 0 && block.top >= enough) stale.push_back(b);
            }
            if (stale.empty()) {
                if (best == 0) return {-1, 0};
                for (std::int64_t b = 0;; ++b) {
                    if (blocks_[at(b)].steps < t_ || blocks_[at(b)].top < best * (1 - kTie)) continue;
                    const std::int64_t j = lowest_of_best(c_, chosen_, b * kBlock, best);
                    return {j, c_[at(j)] == best ? second : best};
                }
            }
            if (stale.size() > batch) {
                std::nth_element(stale.begin(), stale.begin() + static_cast<std::ptrdiff_t>(batch), stale.end(),
                                 [&](std::int64_t a, std::int64_t b) {
                                     const double ta = blocks_[at(a)].top, tb = blocks_[at(b)].top;
                                     return ta > tb || (ta == tb && a < b);
                                 });
                stale.resize(batch);
            }
            update_blocks(stale, true);
        }
    }

    const double* R_;
    std::int64_t r_, n_, n_blocks_, n_select_, t_ = 0;
    Run& run_;
    std::vector<double> c_, exact_;
    std::vector<char> chosen_;
    Buffer<double> Q_;  // r x n_select, orthonormal columns
    std::vector<Block> blocks_;
    Buffer<double> removed_;  // n_blocks x n_select: sum of (q_s' r_j)^2 over the block
    std::vector<Buffer<double>> scratch_;
};

}  // namespace

void warn_of_dependent_targets(Dependence how, const fastfs_projse_options& o, std::int64_t rank,
                               bool in_single_precision) {
    const char* in_double = in_single_precision ? ", or double precision" : "";
    if (how == Dependence::kNearly) {
        warn("nearly_dependent",
             {"the columns of the target are nearly dependent: directions with eigenvalues below eps = ", o.eps,
              " were left out, which makes its rank ", rank,
              ", and scores depend on how the columns are mixed: give columns that are less alike, or a smaller eps"});
    } else if (how == Dependence::kPerhaps) {
        warn("perhaps_dependent",
             {"the columns of the target depend on each other: directions with eigenvalues below eps = ", o.eps,
              " were left out, which makes its rank ", rank, ": give the whole table in memory", in_double,
              ", or leave out columns that follow from others, because sums "
              "over the rows can't tell an eigenvalue below ",
              in_single_precision ? kNoDigitsOfSingle : kNoDigits,
              " from rounding, and if it isn't rounding, scores depend on how the columns are mixed"});
    } else if (how == Dependence::kWeakly) {
        warn("nearly_dependent",
             {"the columns of the target are nearly dependent: eps = ", o.eps,
              " keeps directions with eigenvalues below ", in_single_precision ? kFewDigitsOfSingle : kFewDigits,
              " that have few digits in sums, and scores depend on how the columns are mixed: "
              "give columns that are less alike",
              in_double, ", or a larger eps"});
    }
}

Numbers draw_outside(SymmetricEigen& eigen, std::int64_t n, std::int64_t first, const Numbers& scale) {
    Random random(0);
    Numbers u(at(n));
    for (std::int64_t i = 0; i < n; ++i) u[at(i)] = scale[at(i)] == 0 ? 0 : 2 * random.uniform() - 1;
    for (int turn = 0; turn < 2; ++turn) {  // the second removes the rounding of the first
        for (std::int64_t k = first; k < n; ++k) {
            const double* v = eigen.vector(k);
            const double along = std::inner_product(v, v + n, u.data(), 0.0);
            for (std::int64_t i = 0; i < n; ++i) u[at(i)] -= along * v[i];
        }
    }
    const double length = std::sqrt(std::inner_product(u.begin(), u.end(), u.begin(), 0.0));
    for (double& value : u) value /= length;
    return u;
}

double rounding_of_length(double least_kept, double largest, double eps) {
    // An eigenvector is off by eps * largest / least_kept towards one of the least kept ones, and the length of that
    // one is the root of its eigenvalue.
    return 64 * (std::numeric_limits<double>::epsilon() * largest / std::sqrt(least_kept) + eps * std::sqrt(largest));
}

void select_by_projection(std::int64_t n_t, std::int64_t n_s, Buffer<double>& K, const KernelTile& kernel_tile,
                          const fastfs_projse_options& o, std::int64_t largest_rank, const LinearTargets* numbers,
                          const std::function<CandidateKernel()>& candidates, Run& run,
                          Owned<fastfs_projse_result>& result) {
    double largest = 0;
    for (std::int64_t j = 0; j < n_t; ++j) {
        largest = std::max(largest, K[j * n_t + j]);
        for (std::int64_t i = j; i < n_t; ++i) {
            if (std::isfinite(K[j * n_t + i])) continue;
            refuse({"the kernel must be finite; got another value for the target columns ", number(j), " and ",
                    number(i), ": scale the columns, or normalize"});
        }
    }
    run.step("eigenvalues of the targets' kernel", 0.92);
    SymmetricEigen eigen(n_t, K.data(), run);
    const std::vector<double>& lam = eigen.values();
    const double least = std::max(o.eps * largest, std::numeric_limits<double>::min());
    const std::int64_t cut = std::lower_bound(lam.begin(), lam.end(), least) - lam.begin();
    const std::int64_t r = n_t - cut;
    require(r > 0, "the target's kernel must have a positive eigenvalue of eps = ", o.eps,
            " times its largest entry; got none: lower eps, or choose another kernel");
    eigen.make_vectors(cut, n_t, run);
    const bool spans_all = largest_rank > 0 && r >= largest_rank;
    const auto how = [&] {
        const bool in_single = numbers && numbers->in_single_precision;
        if (cut > 0 && lam[at(cut - 1)] >= (in_single ? kNoDigitsOfSingle : kNoDigits) * largest) {
            return Dependence::kNearly;
        }
        if (!numbers || spans_all) return Dependence::kNone;
        if (cut > std::count(numbers->scale.begin(), numbers->scale.end(), 0.0)) {
            if (!numbers->is_outside || in_single) return Dependence::kPerhaps;
            const Numbers combination = draw_outside(eigen, n_t, cut, numbers->scale);
            const double eps = std::numeric_limits<double>::epsilon();
            if (numbers->is_outside(combination, rounding_of_length(lam[at(cut)], lam.back(), eps))) {
                return Dependence::kNearly;
            }
        }
        const double few = in_single ? kFewDigitsOfSingle : kFewDigits;
        return lam[at(cut)] < few * largest ? Dependence::kWeakly : Dependence::kNone;
    }();
    for (std::int64_t k = cut; k < n_t; ++k) {
        const double factor = 1 / std::sqrt(lam[at(k)]);
        for (std::int64_t i = 0; i < n_t; ++i) eigen.vector(k)[i] *= factor;
    }
    result.rank = r;
    warn_of_dependent_targets(how, o, r, numbers && numbers->in_single_precision);
    if (spans_all) {
        warn("all_samples",
             "the target spans all samples: every feature is explained fully by it, so all scores are equal and the "
             "target has no influence on the choice; give fewer targets or more samples");
    }

    // Computes R0 = diag(lam)^(-1/2) V' K_YX.
    run.step("projection on the targets", 0.97);
    Buffer<double> R(r * n_s);
    std::vector<double> scores(at(n_s));
    std::vector<Buffer<double>> tiles(at(run.n_threads()));
    parallel_for(run, ceil_div(n_s, kTargetColumns), [&](std::int64_t task, int slot) {
        const std::int64_t j0 = task * kTargetColumns, w = std::min(kTargetColumns, n_s - j0);
        Buffer<double>& tile = tiles[at(slot)];
        if (tile.size() == 0) tile = Buffer<double>(n_t * std::min(kTargetColumns, n_s));
        kernel_tile(j0, w, tile.data());
        gemm('T', 'N', r, w, n_t, 1.0, eigen.vector(cut), n_t, tile.data(), n_t, 0.0, R.data() + j0 * r, r);
        for (std::int64_t j = j0; j < j0 + w; ++j) {
            double square = 0;
            for (std::int64_t i = 0; i < r; ++i) square += R[j * r + i] * R[j * r + i];
            scores[at(j)] = square;
        }
    });
    tiles.clear();
    double best = 0;
    for (std::int64_t j = 0; j < n_s; ++j) {
        if (!std::isfinite(scores[at(j)])) {
            refuse({"the kernel must be finite; got another value for ", Name::column(j),
                    " with the targets: scale the columns, or normalize"});
        }
        best = std::max(best, scores[at(j)]);
    }
    if (o.normalize && best < kTinyScore) {
        const bool has_sigma = o.kernel == FASTFS_RBF || o.custom;
        warn("tiny_scores", {"no score reaches 1e-8 (the largest is ", rounded(best), "), so the order means nothing: ",
                             has_sigma ? "give another sigma, or scale the columns"
                                       : "the features and the target have nothing in common"});
    }

    run.step("choice", 1.0);
    const std::int64_t n_within = std::min(o.n_select, r);
    set_arrays(result, scores, o.beyond == FASTFS_PROJSE_RESIDUAL ? o.n_select : n_within);
    const bool is_tie = Projection(R.data(), r, n_s, std::move(scores), n_within, run).choose_columns(0, result);
    if (o.beyond == FASTFS_PROJSE_RESIDUAL) select_by_residual(R.data(), r, candidates(), o.n_select, run, result);
    warn_of_choice(o, result, true, is_tie && !spans_all);
}

void select_among_columns(const double* R, std::int64_t m, std::int64_t n, std::vector<double> c,
                          const fastfs_projse_options& o, Run& run, Owned<fastfs_projse_result>& result) {
    run.step("choice", 1.0);
    const std::int64_t n_select = std::min(o.n_select, n);
    set_arrays(result, c, n_select);
    const bool is_tie = Projection(R, m, n, std::move(c), std::min(n_select, m), run).choose_columns(o.eps, result);
    result.rank = result.n_selected < n_select || n_select == n ? result.n_selected : -1;
    warn_of_choice(o, result, false, is_tie);
}

void select_by_cholesky(CandidateKernel kernel, const fastfs_projse_options& o, Run& run,
                        Owned<fastfs_projse_result>& result) {
    run.step("choice", 1.0);
    Numbers& c = kernel.diagonal;
    const auto n = static_cast<std::int64_t>(c.size());
    const std::int64_t n_select = std::min(o.n_select, n);
    set_arrays(result, c, n_select);
    const double total = sum_of(c);
    double captured = 0, first = 0;
    bool is_tie = false;
    std::vector<char> chosen(at(n), 0);
    Buffer<double> L(n * n_select);
    result.rank = n_select == n ? n : -1;
    for (std::int64_t t = 0; t < n_select; ++t) {
        run.checkpoint(share(t, n_select));
        double best = 0, second = 0;
        for (std::int64_t j = 0; j < n; ++j) {
            const double x = chosen[at(j)] ? 0 : c[at(j)];
            second = std::max(second, std::min(x, best));
            best = std::max(best, x);
        }
        if (t == 0) first = best;
        if (best == 0 || best < o.eps * first || best <= kNothingLeft * first) {
            result.rank = t;
            break;
        }
        const std::int64_t k = lowest_of_best(c, chosen, 0, best);
        const double pivot = c[at(k)];
        is_tie |= keep_choice(result, k, pivot, pivot == best ? second : best, first);
        chosen[at(k)] = 1;
        double* l = L.data() + t * n;
        kernel.column(k, l, {});
        std::vector<double> row(at(t));
        for (std::int64_t s = 0; s < t; ++s) row[at(s)] = L[s * n + k];
        const double factor = 1 / std::sqrt(pivot);
        constexpr std::int64_t kStep = 8192;
        std::vector<double> removed(at(ceil_div(n, kStep)), 0.0);
        parallel_for(run, ceil_div(n, kStep), [&](std::int64_t task, int) {
            const std::int64_t j0 = task * kStep, j1 = std::min(j0 + kStep, n);
            if (t > 0) gemm('N', 'N', j1 - j0, 1, t, -1.0, L.data() + j0, n, row.data(), t, 1.0, l + j0, n);
            for (std::int64_t j = j0; j < j1; ++j) {
                l[j] *= factor;
                c[at(j)] = std::max(c[at(j)] - l[j] * l[j], 0.0);
                removed[at(task)] += l[j] * l[j];
            }
        });
        for (double x : removed) captured += x;
        result.captured[t] = std::min(captured / total, 1.0);
    }
    warn_of_choice(o, result, false, is_tie);
}

}  // namespace fastfs::core
