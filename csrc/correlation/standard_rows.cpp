#include "correlation/standard_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "engines/feature_rows.hpp"
#include "engines/heavy_tails.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"
#include "support/random.hpp"

namespace fastfs::core {
namespace {

// The mean square, 1 in each true class, below which a feature is constant in a class of a labeling.
constexpr double kConstant = 1e-24;

// The share of a feature's sum of squares in a class below which what covariates leave of it is rounding.
constexpr double kLeastRest = 1e-10;

// The fewest samples of a class for which a mean and a deviation are computed.
constexpr std::int64_t kFewestSamples = 4;

// Returns the deviations of places from their mean, divided by their standard deviation.
double standard_place(std::int64_t place, std::int64_t n) {
    const auto size = static_cast<double>(n);
    return (2 * static_cast<double>(place) + 1 - size) * std::sqrt(3 / (size * size - 1));
}

// Sets by_place[p] to the index in values of the sample at place p of its class. values: of all samples, class after
// class, as the places are. Ties get places in a random order that depends on the order of the values alone: copies get
// equal places in any column and unit.
void sort_places_by_value(const double* values, const Classes& classes, std::int32_t* by_place) {
    const std::int64_t n = classes.n_samples();
    std::vector<std::int64_t> levels(at(n)), order;  // levels: of equal values within a class
    const auto each_class = [&](auto&& less, auto&& f) {
        for (std::int64_t c = 0; c < classes.n_classes(); ++c) {
            order = up_to(classes.size(c));
            for (std::int64_t& t : order) t += classes.begins[at(c)];
            std::sort(order.begin(), order.end(), less);
            for (std::size_t k = 0; k < order.size(); ++k) f(c, k);
        }
    };
    each_class([&](auto a, auto b) { return values[a] < values[b]; },
               [&](std::int64_t, std::size_t k) {
                   const bool is_new = k > 0 && values[order[k]] != values[order[k - 1]];
                   levels[at(order[k])] = k == 0 ? 0 : levels[at(order[k - 1])] + (is_new ? 1 : 0);
               });
    std::uint64_t seed = 0;
    for (const std::int64_t level : levels) seed = (seed ^ static_cast<std::uint64_t>(level)) * 0x100000001b3u;
    Random random(seed);
    std::vector<std::pair<std::int64_t, std::uint64_t>> keys;
    for (const std::int64_t level : levels) keys.emplace_back(level, random.bits());
    each_class([&](auto a, auto b) { return std::pair(keys[at(a)], a) < std::pair(keys[at(b)], b); },
               [&](std::int64_t c, std::size_t k) {
                   by_place[at(classes.begins[at(c)]) + k] = static_cast<std::int32_t>(order[k]);
               });
}

// Returns moments(), apart from rounding, from four sums that add up side by side.
Moments quick_moments(const double* values, std::int64_t n) {
    // Adds up of(value) over all values, in four sums side by side.
    const auto total = [&](auto&& of) {
        double a = 0, b = 0, c = 0, d = 0, rest = 0;
        std::int64_t s = 0;
        for (; s + 4 <= n; s += 4) {
            a += of(values[s]);
            b += of(values[s + 1]);
            c += of(values[s + 2]);
            d += of(values[s + 3]);
        }
        for (; s < n; ++s) rest += of(values[s]);
        return ((a + b) + (c + d)) + rest;
    };
    const double mean = total([](double x) { return x; }) / static_cast<double>(n);
    return {mean, length_of(total([mean](double x) { return (x - mean) * (x - mean); }), n)};
}

// Takes from values, class after class, their means in the classes and their line in the covariates, which are centred
// within the classes. Returns false if only rounding is left in a class.
bool take_lines(const Basis& covariates, const Classes& truth, double* row) {
    Numbers values(row, row + truth.n_samples()), lengths;
    if (!standardise(values)) return false;
    const auto of_class = [&](std::int64_t c) { return values.data() + truth.begins[at(c)]; };
    for (std::int64_t c = 0; c < truth.n_classes(); ++c) {
        const auto [mean, length] = moments(of_class(c), truth.size(c));
        if (length == 0) return false;
        lengths.push_back(length);
        for (std::int64_t s = 0; s < truth.size(c); ++s) of_class(c)[s] -= mean;
    }
    for (int pass = 0; pass < 2; ++pass) covariates.take_from(values.data());  // the first one leaves rounding errors
    for (std::int64_t c = 0; c < truth.n_classes(); ++c) {
        double squares = 0;
        for (std::int64_t s = 0; s < truth.size(c); ++s) squares += of_class(c)[s] * of_class(c)[s];
        if (!(squares > kLeastRest * lengths[at(c)] * lengths[at(c)])) return false;
    }
    std::copy(values.begin(), values.end(), row);
    return true;
}

// Numbers the classes of a labeling so that more samples keep their class: then the result doesn't depend on the names
// of the classes. Returns the true class of each.
std::vector<std::int64_t> matching_classes(const Classes& labeling, const Classes& truth) {
    const std::int64_t n_samples = truth.n_samples(), n_classes = truth.n_classes();
    std::vector<std::int64_t> n_shared(at(n_classes * n_classes)), found(at(n_classes), -1);
    for (std::int64_t i = 0; i < n_samples; ++i) ++n_shared[at(labeling.of(i) * n_classes + truth.of(i))];
    if (n_classes == 2) {
        if (2 * (n_shared[0] + n_shared[3]) < n_samples) return {1, 0};
        return {0, 1};
    }
    for (std::int64_t k = 0; k < n_classes; ++k) {
        const std::int64_t best = std::max_element(n_shared.begin(), n_shared.end()) - n_shared.begin();
        const std::int64_t of_labeling = best / n_classes, of_truth = best % n_classes;
        found[at(of_labeling)] = of_truth;
        for (std::int64_t c = 0; c < n_classes; ++c) {
            n_shared[at(of_labeling * n_classes + c)] = n_shared[at(c * n_classes + of_truth)] = -1;
        }
    }
    return found;
}

}  // namespace

double length_of(double squares, std::int64_t n) {
    return squares > kConstant * static_cast<double>(n) ? std::sqrt(squares) : 0.0;
}

Moments moments(const double* values, std::int64_t n) {
    double sum = 0, squares = 0;
    for (std::int64_t s = 0; s < n; ++s) sum += values[s];
    const double mean = sum / static_cast<double>(n);
    for (std::int64_t s = 0; s < n; ++s) squares += (values[s] - mean) * (values[s] - mean);
    return {mean, length_of(squares, n)};
}

StandardRows::StandardRows(const Matrix& X, const std::vector<std::int64_t>& wanted, const Classes& truth,
                           const Basis& covariates, bool ranks, bool wholes, Run& run)
    : n_samples(X.n_rows()),
      truth_(truth),
      where_(at(n_samples)),
      values_(static_cast<std::int64_t>(wanted.size()) * n_samples),
      by_place_(static_cast<std::int64_t>(wanted.size()) * n_samples) {
    read_feature_rows(X, wanted, values_.data(), run);
    for (std::int64_t t = 0; t < n_samples; ++t) where_[at(truth.order[at(t)])] = t;
    const std::int64_t n_classes = truth.n_classes();
    for (std::int64_t c = 0; c < n_classes; ++c) {
        for (std::int64_t r = 0; r < truth.size(c); ++r) standard_places_.push_back(standard_place(r, truth.size(c)));
    }
    const auto n_wanted = static_cast<std::int64_t>(wanted.size());
    std::vector<char> varies(wanted.size()), moves_places(wanted.size()), is_rare(wanted.size()),
        is_heavy(wanted.size());
    parallel_for(run, n_wanted, [&](std::int64_t k, int) {
        double* row = values_.data() + k * n_samples;
        Numbers read(row, row + n_samples), of_class;
        for (std::int64_t t = 0; t < n_samples; ++t) row[t] = read[at(truth.order[at(t)])];
        const auto take = [&](std::int64_t c) {
            of_class.assign(row + truth.begins[at(c)], row + truth.begins[at(c) + 1]);
        };
        bool is_tied = false;
        for (std::int64_t c = 0; c < n_classes; ++c) {
            take(c);
            const std::int64_t n = truth.size(c), most = most_equal(of_class);
            if (most >= 2 && 4 * most >= n) is_tied = true;
            if (4 * most > 3 * n) is_rare[at(k)] = 1;
        }
        moves_places[at(k)] = is_tied && !wholes;
        if (moves_places[at(k)]) sort_places_by_value(row, truth, by_place_.data() + k * n_samples);
        if (covariates.size() > 0 && !moves_places[at(k)] && !take_lines(covariates, truth, row)) return;
        for (std::int64_t c = 0; c < n_classes; ++c) {
            take(c);
            if (ranks) replace_by_ranks(of_class);
            if (!standardise(of_class)) return;
            std::copy(of_class.begin(), of_class.end(), row + truth.begins[at(c)]);
        }
        is_heavy[at(k)] = !ranks && !is_tied && has_heavy_tails(row, n_samples);
        varies[at(k)] = 1;
    });
    for (std::int64_t k = 0; k < n_wanted; ++k) {
        if (!varies[at(k)]) {
            constant.push_back(wanted[at(k)]);
            continue;
        }
        const std::int64_t to = n_features() * n_samples;
        std::copy_n(values_.data() + k * n_samples, n_samples, values_.data() + to);
        if (moves_places[at(k)]) std::copy_n(by_place_.data() + k * n_samples, n_samples, by_place_.data() + to);
        columns.push_back(wanted[at(k)]);
        if (is_rare[at(k)]) rare.push_back(wanted[at(k)]);
        if (is_heavy[at(k)]) heavy.push_back(wanted[at(k)]);
        if (moves_places[at(k)] && covariates.size() > 0) keep_line.push_back(wanted[at(k)]);
        moves_places_.push_back(moves_places[at(k)]);
    }
}

// Lists the positions in the rows of the samples of a labeling, class after class, and of another one unless it is
// null.
StandardRows::Moves::Moves(const StandardRows& data, const Classes& labeling, const Classes* other)
    : to_(at(data.n_samples)), begins_(labeling.begins) {
    const auto places = [&](const Classes& classes) {
        std::vector<std::int32_t> positions;
        for (const std::int64_t i : classes.order) positions.push_back(static_cast<std::int32_t>(data.where_[at(i)]));
        return positions;
    };
    from_ = places(labeling);
    for (std::size_t s = 0; s < from_.size(); ++s) to_[at(from_[s])] = static_cast<std::int32_t>(s);
    if (other && other->smallest() >= kFewestSamples) {
        other_ = places(*other);
        begins_of_other_ = other->begins;
    }
    for (std::int64_t c = 0; c < labeling.n_classes(); ++c) class_of_.insert(class_of_.end(), at(labeling.size(c)), c);

    const Classes& truth = data.truth_;
    const std::vector<std::int64_t> true_classes = matching_classes(labeling, truth);
    for (std::int64_t c = 0; c < labeling.n_classes(); ++c) {
        const std::int64_t true_class = true_classes[at(c)], n = truth.size(true_class), size = labeling.size(c);
        for (std::int64_t r = 0; r < size; ++r) {
            takes_.push_back(static_cast<std::int32_t>(truth.begins[at(true_class)] + (2 * r + 1) * n / (2 * size)));
        }
    }
}

void StandardRows::write_row(std::int64_t k, const Moves& moves, double* to) const {
    thread_local Numbers buffer;
    buffer.resize(at(3 * n_samples));
    double *in_order = buffer.data(), *of_other = in_order + n_samples, *changed = of_other + n_samples;
    const double *z = of(k), *moved = z;
    const std::int32_t* by_place = by_place_.data() + k * n_samples;
    if (moves_places_[at(k)]) {
        for (std::int64_t r = 0; r < n_samples; ++r) in_order[by_place[r]] = standard_places_[at(r)];
        moved = in_order;
    }
    if (!moves.other_.empty()) {
        for (std::int64_t s = 0; s < n_samples; ++s) of_other[s] = moved[moves.other_[at(s)]];
        for (std::int64_t c = 0; c < truth_.n_classes(); ++c) {
            const std::int64_t begin = moves.begins_of_other_[at(c)], size = moves.begins_of_other_[at(c) + 1] - begin;
            const auto [mean, length] = quick_moments(of_other + begin, size);
            const double deviation = length > 0 ? length / std::sqrt(static_cast<double>(size)) : 1.0;
            for (std::int64_t t = truth_.begins[at(c)]; t < truth_.begins[at(c) + 1]; ++t) {
                changed[t] = mean + deviation * moved[t];
            }
        }
        moved = changed;
    }
    if (!moves_places_[at(k)]) {
        for (std::int64_t s = 0; s < n_samples; ++s) to[s] = moved[moves.from_[at(s)]];
        return;
    }
    // Merge the true classes, which are sorted by place. keys: of the next sample of each class, the largest at its
    // end.
    using Key = std::pair<double, std::int32_t>;
    thread_local std::vector<Key> keys;
    thread_local std::vector<std::int64_t> read, next;
    read.assign(truth_.begins.begin(), truth_.begins.end() - 1);
    next.assign(moves.begins_.begin(), moves.begins_.end() - 1);
    const auto key = [&](std::size_t c) {
        if (read[c] == truth_.begins[c + 1]) return Key(std::numeric_limits<double>::infinity(), 0);
        const std::int32_t sample = by_place[read[c]];
        return Key(moved[sample], moves.to_[at(sample)]);
    };
    keys.clear();
    for (std::size_t c = 0; c < read.size(); ++c) keys.push_back(key(c));
    for (std::int64_t t = 0; t < n_samples; ++t) {
        std::size_t lowest = 0;
        for (std::size_t c = 1; c < keys.size(); ++c) {
            if (keys[c] < keys[lowest]) lowest = c;
        }
        const std::int32_t s = keys[lowest].second;
        to[s] = z[by_place[moves.takes_[at(next[at(moves.class_of_[at(s)])]++)]]];
        ++read[lowest];
        keys[lowest] = key(lowest);
    }
}

}  // namespace fastfs::core
