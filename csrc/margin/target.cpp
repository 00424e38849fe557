#include "margin/target.hpp"

#include <numeric>

#include "support/errors.hpp"

namespace fastfs::core {
namespace {

// Returns, for each sample, 1 - Kaplan and Meier's estimate of survival just after its time. events: 1 for an event at
// the time, 0 for none until then.
Numbers share_with_event(const double* times, const std::int32_t* events, const Numbers& weights) {
    std::vector<std::size_t> order(weights.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return times[a] < times[b]; });
    Numbers share(weights.size());
    double at_risk = std::accumulate(weights.begin(), weights.end(), 0.0), survival = 1;
    for (std::size_t first = 0; first < order.size();) {
        double ended = 0, left = 0;
        std::size_t last = first;
        for (; last < order.size() && times[order[last]] == times[order[first]]; ++last) {
            (events[order[last]] ? ended : left) += weights[order[last]];
        }
        // Set survival to exactly 0 after a last event, which rounding could miss.
        survival = ended > 0 && last == order.size() && left == 0 ? 0 : survival * (1 - ended / at_risk);
        for (; first < last; ++first) share[order[first]] = 1 - survival;
        at_risk -= ended + left;
    }
    return share;
}

}  // namespace

Target::Target(const double* y, const std::int32_t* events, const Numbers& weights) : y_(y, y + weights.size()) {
    if (events) {
        event_.assign(events, events + weights.size());
        y_ = share_with_event(y, events, weights);
        return;
    }
    const auto [low, high] = std::minmax_element(y_.begin(), y_.end());
    range_ = *high - *low;
    require(std::isfinite(range_), "y must have a finite range: scale it");
    // Measure deviations in units of the range, so that squares neither overflow nor vanish.
    double sum = 0, total = 0, squares = 0;
    for (std::size_t j = 0; j < y_.size(); ++j) {
        sum += weights[j] * ((y_[j] - y_[0]) / range_);
        total += weights[j];
    }
    for (std::size_t j = 0; j < y_.size(); ++j) {
        const double offset = (y_[j] - y_[0]) / range_ - sum / total;
        squares += weights[j] * offset * offset;
    }
    total_weight_ = total;
    near_ = range_ * std::sqrt(squares / std::max(total - 1, 0.0));
}

double Target::difference(std::int64_t n, std::int64_t j) const {
    const double u = y_[at(n)], v = y_[at(j)];
    if (event_.empty()) return std::abs(u - v) / range_;
    // Return E|U - V|: an event is at its time, a sample without an event is uniform between its time and 1.
    const bool ended = event_[at(n)], other_ended = event_[at(j)];
    if (ended && other_ended) return std::abs(u - v);
    if (ended || other_ended) {
        const double x = ended ? u : v, l = ended ? v : u;
        return x <= l ? (1 + l) / 2 - x : ((x - l) * (x - l) + (1 - x) * (1 - x)) / (2 * (1 - l));
    }
    const double l = std::min(u, v), m = std::max(u, v);
    if (l == 1) return 0;
    return ((m - l) * (1 - l) / 2 + (1 - m) * (1 - m) / 3) / (1 - l);
}

}  // namespace fastfs::core
