#include "projse/residual.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "projse/choice.hpp"
#include "projse/columns.hpp"
#include "support/buffer.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

constexpr double kExplained = 1e-12;            // gain, as a share of |U|^2, that counts as 0
constexpr std::int64_t kTaskCandidates = 4096;  // candidates of a task

class Residual {
  public:
    // Starts without directions. R: U' x_j of all candidates (rank x n, column-major), copied. n_select: the most
    // directions.
    Residual(const double* R, std::int64_t rank, CandidateKernel kernel, std::int64_t n_select, Run& run)
        : rank_(rank),
          n_(static_cast<std::int64_t>(kernel.diagonal.size())),
          run_(run),
          kernel_(std::move(kernel)),
          rest_(kernel_.diagonal),
          is_chosen_(at(n_), 0),
          products_(rank * n_),
          directions_(n_ * n_select) {
        std::copy(R, R + rank * n_, products_.data());
    }

    // Returns |p_j|^2 / d_j; 0 for chosen candidates and those that the chosen ones span.
    double gain(std::int64_t j) const {
        if (is_chosen_[at(j)] || !(rest_[at(j)] > kSpanned * kernel_.diagonal[at(j)])) return 0;
        const double* p = products_.data() + j * rank_;
        double square = 0;
        for (std::int64_t i = 0; i < rank_; ++i) square += p[i] * p[i];
        return square / rest_[at(j)];
    }

    // Appends the direction of candidate c, and takes it out of the rests of all candidates and of their products with
    // the targets.
    void take_out_direction(std::int64_t c) {
        double* h = directions_.data() + n_directions_ * n_;
        kernel_.column(c, h, [&](std::int64_t n) { return likely_choices(n); });
        Numbers of_choice;  // q_s' x_c of the earlier directions
        for (std::int64_t s = 0; s < n_directions_; ++s) of_choice.push_back(directions_[s * n_ + c]);
        const double factor = 1 / std::sqrt(rest_[at(c)]);
        Numbers of_targets(products_.data() + c * rank_, products_.data() + (c + 1) * rank_);  // U' q
        for (double& value : of_targets) value *= factor;
        parallel_for(run_, ceil_div(n_, kTaskCandidates), [&](std::int64_t task, int) {
            const std::int64_t first = task * kTaskCandidates, count = std::min(kTaskCandidates, n_ - first);
            if (n_directions_ > 0) {
                gemm('N', 'N', count, 1, n_directions_, -1.0, directions_.data() + first, n_, of_choice.data(),
                     n_directions_, 1.0, h + first, n_);
            }
            for (std::int64_t j = first; j < first + count; ++j) {
                h[j] *= factor;
                rest_[at(j)] = std::max(rest_[at(j)] - h[j] * h[j], 0.0);
                for (std::int64_t i = 0; i < rank_; ++i) products_[j * rank_ + i] -= h[j] * of_targets[at(i)];
            }
        });
        ++n_directions_;
        is_chosen_[at(c)] = 1;
    }

    struct Choice {
        std::int64_t index = -1;  // -1: no candidate explains any more
        double gain = 0, rival = 0;
    };

    // Returns the candidate with the largest gain, the lowest of nearly equal ones, and the largest gain of all others;
    // index -1 if no gain is more than rounding.
    Choice best() const {
        Numbers gains = all_gains();
        const double largest = *std::max_element(gains.begin(), gains.end());
        if (!(largest > kExplained * static_cast<double>(rank_))) return {};
        const std::int64_t index = lowest_of_best(gains, is_chosen_, 0, largest);
        Choice choice{index, gains[at(index)]};
        gains[at(index)] = 0;
        choice.rival = *std::max_element(gains.begin(), gains.end());
        return choice;
    }

  private:
    Numbers all_gains() const {
        Numbers gains(at(n_));
        parallel_for(run_, ceil_div(n_, kTaskCandidates), [&](std::int64_t task, int) {
            const std::int64_t end = std::min((task + 1) * kTaskCandidates, n_);
            for (std::int64_t j = task * kTaskCandidates; j < end; ++j) gains[at(j)] = gain(j);
        });
        return gains;
    }

    // Returns the n candidates with the largest gains.
    Likely likely_choices(std::int64_t n) const {
        const Numbers gains = all_gains();
        Likely likely;
        likely.candidates.resize(at(n_));
        std::iota(likely.candidates.begin(), likely.candidates.end(), 0);
        const auto end = likely.candidates.begin() + std::min(n, n_);
        std::partial_sort(likely.candidates.begin(), end, likely.candidates.end(), [&](auto a, auto b) {
            return gains[at(a)] > gains[at(b)] || (gains[at(a)] == gains[at(b)] && a < b);
        });
        likely.candidates.erase(end, likely.candidates.end());
        for (const std::int64_t j : likely.candidates) {
            const double factor = gains[at(j)] > 0 ? 1 / std::sqrt(rest_[at(j)]) : 0;
            for (std::int64_t i = 0; i < rank_; ++i) likely.products.push_back(products_[j * rank_ + i] * factor);
        }
        return likely;
    }

    std::int64_t rank_, n_, n_directions_ = 0;
    Run& run_;
    CandidateKernel kernel_;
    Numbers rest_;  // d_j
    std::vector<char> is_chosen_;
    Buffer<double> products_;    // p_j, rank x n, column-major
    Buffer<double> directions_;  // q_s' x_j, n x n_select, column-major
};

}  // namespace

void select_by_residual(const double* R, std::int64_t rank, CandidateKernel kernel, std::int64_t n_select, Run& run,
                        Owned<fastfs_projse_result>& result) {
    run.step("choice beyond the targets' span", 1.0);
    Residual residual(R, rank, std::move(kernel), n_select, run);
    result.set_zeros(result.explained, n_select);
    double explained = 0;
    // Takes out the direction of the t-th selected candidate, and writes the explained share after it to `result`.
    const auto record_choice = [&](std::int64_t t, double gain) {
        run.checkpoint(share(t, n_select));
        residual.take_out_direction(result.selected[t]);
        explained += gain / static_cast<double>(rank);
        result.explained[t] = std::min(explained, 1.0);
    };
    for (std::int64_t t = 0; t < result.n_selected; ++t) record_choice(t, residual.gain(result.selected[t]));
    while (result.n_selected < n_select) {
        const auto choice = residual.best();
        if (choice.index < 0) break;
        const std::int64_t t = result.n_selected++;
        result.selected[t] = choice.index;
        result.selection_scores[t] = choice.gain;
        result.gaps[t] = choice.gain - choice.rival;
        result.captured[t] = 1.0;
        record_choice(t, choice.gain);
    }
}

}  // namespace fastfs::core
