// The relation of labels to covariates, which labelings keep: of classes by a logistic regression, of numbers by a
// linear one, of times by Cox's.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "inference/cox.hpp"
#include "inference/design.hpp"
#include "inference/logistic.hpp"
#include "support/errors.hpp"
#include "support/warnings.hpp"

namespace fastfs::core {

namespace {

// Share of the spread of numbers below which residuals are rounding error.
constexpr double kResidue = 1e-9;

// Units that each covariate of classes and of times needs, or p-values are too small (benchmarks/bench_inference.py
// --given).
constexpr std::int64_t kUnitsPerCovariate = 8, kUnitsPerCovariateOfTimes = 4;

// Logarithm of the least hazard of a unit, relative to the largest one: no sum of hazards vanishes.
constexpr double kLeastLogHazard = -600;

// Returns the p coefficients of the linear regression of y on the columns of Z (n x p, row-major, overwritten), by
// Householder's QR with column pivoting; 0 for columns that depend on earlier pivots.
Numbers least_squares(Numbers& Z, Numbers y, std::int64_t p) {
    const auto n = static_cast<std::int64_t>(y.size());
    const auto z = [&](std::int64_t i, std::int64_t j) -> double& { return Z[at(i * p + j)]; };
    auto columns = up_to(p);
    Numbers diagonal;
    const double eps = std::numeric_limits<double>::epsilon() * static_cast<double>(std::max(n, p));
    for (std::int64_t k = 0; k < std::min(n, p); ++k) {
        std::int64_t longest = k;
        double most = -1;
        for (std::int64_t j = k; j < p; ++j) {
            double norm = 0;
            for (std::int64_t i = k; i < n; ++i) norm += z(i, j) * z(i, j);
            if (norm > most) {
                most = norm;
                longest = j;
            }
        }
        const double length = std::sqrt(most);
        if (length == 0 || (k > 0 && length <= eps * std::abs(diagonal[0]))) break;
        if (longest != k) {
            std::swap(columns[at(k)], columns[at(longest)]);
            for (std::int64_t i = 0; i < n; ++i) std::swap(z(i, k), z(i, longest));
        }
        const double pivot = z(k, k) > 0 ? -length : length;
        z(k, k) -= pivot;
        diagonal.push_back(pivot);
        const double scale = -1 / (pivot * z(k, k));
        const auto reflect = [&](auto&& value) {
            double product = 0;
            for (std::int64_t i = k; i < n; ++i) product += z(i, k) * value(i);
            product *= scale;
            for (std::int64_t i = k; i < n; ++i) value(i) -= product * z(i, k);
        };
        for (std::int64_t j = k + 1; j < p; ++j) reflect([&](std::int64_t i) -> double& { return z(i, j); });
        reflect([&](std::int64_t i) -> double& { return y[at(i)]; });
    }
    Numbers slope = numbers(p);
    for (auto k = static_cast<std::int64_t>(diagonal.size()); k-- > 0;) {
        double value = y[at(k)];
        for (std::int64_t j = k + 1; j < static_cast<std::int64_t>(diagonal.size()); ++j) {
            value -= z(k, j) * slope[at(columns[at(j)])];
        }
        slope[at(columns[at(k)])] = value / diagonal[at(k)];
    }
    return slope;
}

}  // namespace

// Standardises the covariates of each unit, and sets what labelings keep of their relation to the classes or numbers
// (fit_classes, fit_numbers); throws if they vary within a group that moves as a whole.
void Design::fit_covariates(const fastfs_design_options& o, Run& run) {
    require(is_class_ || o.numbers || o.times,
            "y must hold classes, times or one number per sample for covariates; got several numbers: give strata of "
            "the covariates as blocks");
    const std::int64_t p = o.n_covariates, n = n_units();
    const double* given = o.covariates;
    std::vector<std::int64_t> first(at(n), -1);
    for (std::int64_t i = 0; i < n_samples(); ++i) {
        std::int64_t& of_unit = first[at(unit_[at(i)])];
        if (of_unit < 0) of_unit = i;
        if (std::equal(given + i * p, given + (i + 1) * p, given + of_unit * p)) continue;
        refuse({"covariates must be constant within groups that move as wholes; got different values for ",
                Name::row(of_unit), " and ", Name::row(i),
                " of one group: give one value per group, such as its mean"});
    }
    Numbers Z;
    std::int64_t n_columns = 0;
    std::vector<Numbers> columns;
    for (std::int64_t j = 0; j < p; ++j) {
        double most = 0;
        for (std::int64_t i = 0; i < n_samples(); ++i) most = std::max(most, std::abs(given[i * p + j]));
        int exponent = 0;
        std::frexp(most, &exponent);
        Numbers column = numbers(n);  // scaled, so that squares neither overflow nor vanish
        double mean = 0, square = 0;
        for (std::int64_t k = 0; k < n; ++k) {
            column[at(k)] = std::ldexp(given[first[at(order_[at(k)])] * p + j], -exponent);
            mean += column[at(k)];
        }
        mean /= static_cast<double>(n);
        for (double& value : column) {
            value -= mean;
            square += value * value;
        }
        const double spread = std::sqrt(square / static_cast<double>(n));
        if (spread <= kResidue * std::ldexp(most, -exponent)) continue;
        for (double& value : column) value /= spread;
        columns.push_back(std::move(column));
        ++n_columns;
    }
    require(n_columns > 0, "covariates and given features must vary; got constant ones: leave them out");
    const std::int64_t needed = is_class_ ? kUnitsPerCovariate : o.times ? kUnitsPerCovariateOfTimes : 0;
    if (n < needed * n_columns) {
        const char* units = moves_groups_ ? " groups" : " samples";
        warn("weakness",
             {"there ", n_columns == 1 ? "is " : "are ", n_columns, n_columns == 1 ? " covariate" : " covariates",
              " for ", n, units, ", so that p-values are too small: give at most one for ", needed, units});
    }
    for (std::int64_t k = 0; k < n; ++k) {
        for (const Numbers& column : columns) Z.push_back(column[at(k)]);
    }
    if (is_class_) {
        fit_classes(Z, n_columns, run);
    } else if (o.times) {
        fit_times(o, Z, n_columns, run);
    } else {
        fit_numbers(Z, n_columns);
    }
}

// Sets the logits of the classes of each unit by logistic regression, and the hub; throws if no swap of labels is
// likely.
void Design::fit_classes(const Numbers& Z, std::int64_t n_columns, Run& run) {
    const std::int64_t K = n_kinds();
    const Numbers coefficients = logistic_regression(Z, n_columns, codes_, K, bounds_, run);
    logits_ = numbers(n_units() * K);
    for (std::int64_t k = 0; k < n_units(); ++k) {
        for (std::int64_t a = 0; a < K; ++a) {
            logits_[at(k * K + a)] = std::inner_product(Z.begin() + k * n_columns, Z.begin() + (k + 1) * n_columns,
                                                        coefficients.begin() + a * n_columns, 0.0);
        }
    }
    require_a_likely_swap();
    hub_ = make_hub();
}

// Throws if in each pool the most likely swap of two labels, between the unit of each that suits the label of its
// partner best, is less likely than none.
void Design::require_a_likely_swap() const {
    const std::int64_t K = n_kinds();
    for (std::int64_t p = 0; p < n_pools(); ++p) {
        const std::int64_t begin = bounds_[at(p)], end = bounds_[at(p) + 1];
        Codes kinds(codes_.begin() + begin, codes_.begin() + end);
        std::sort(kinds.begin(), kinds.end());
        kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
        const std::size_t m = kinds.size();
        Numbers best(m * m, -std::numeric_limits<double>::infinity());
        for (std::int64_t k = begin; k < end; ++k) {
            const double* logits = logits_.data() + k * K;
            const std::size_t own = at(std::lower_bound(kinds.begin(), kinds.end(), codes_[at(k)]) - kinds.begin());
            for (std::size_t b = 0; b < m; ++b) {
                best[own * m + b] = std::max(best[own * m + b], logits[kinds[b]] - logits[codes_[at(k)]]);
            }
        }
        for (std::size_t a = 0; a < m; ++a) {
            for (std::size_t b = 0; b < a; ++b) {
                if (best[a * m + b] + best[b * m + a] >= 0) return;
            }
        }
    }
    refuse(
        "covariates must not determine the labels, or no other labeling keeps their relation: leave out the covariates "
        "that separate the classes");
}

// Sets fitted_, the fit of the numbers to the covariates and the pools, which stays, replaces numbers_ and codes_ by
// residuals, which move, and counts the labelings again. Throws if the covariates determine the numbers.
void Design::fit_numbers(const Numbers& Z, std::int64_t n_columns) {
    const std::int64_t n = n_units();
    Numbers y = numbers(n), centred_y = numbers(n), centred_Z = Z;
    for (std::int64_t k = 0; k < n; ++k) y[at(k)] = numbers_[at(codes_[at(k)])];
    for (std::int64_t p = 0; p < n_pools(); ++p) {
        const std::int64_t begin = bounds_[at(p)], end = bounds_[at(p) + 1];
        const auto size = static_cast<double>(end - begin);
        double mean = 0;
        for (std::int64_t k = begin; k < end; ++k) mean += y[at(k)] / size;
        for (std::int64_t k = begin; k < end; ++k) centred_y[at(k)] = y[at(k)] - mean;
        for (std::int64_t j = 0; j < n_columns; ++j) {
            mean = 0;
            for (std::int64_t k = begin; k < end; ++k) mean += Z[at(k * n_columns + j)];
            for (std::int64_t k = begin; k < end; ++k) centred_Z[at(k * n_columns + j)] -= mean / size;
        }
    }
    // Squares of the numbers, scaled, neither overflow nor vanish.
    double most = 0;
    for (const double value : centred_y) most = std::max(most, std::abs(value));
    require(std::isfinite(most), "the numbers of y must differ by less than 1e308: divide them by a constant");
    int exponent = 0;
    std::frexp(most, &exponent);
    for (double& value : centred_y) value = std::ldexp(value, -exponent);
    Numbers factor = centred_Z;
    const Numbers slope = least_squares(factor, centred_y, n_columns);
    Numbers residuals = numbers(n);
    double largest = 0, spread = 0;
    const double mean = std::accumulate(y.begin(), y.end(), 0.0,
                                        [n](double sum, double value) { return sum + value / static_cast<double>(n); });
    for (std::int64_t k = 0; k < n; ++k) {
        const double fit = std::inner_product(slope.begin(), slope.end(), centred_Z.begin() + k * n_columns, 0.0);
        residuals[at(k)] = std::ldexp(centred_y[at(k)] - fit, exponent);
        largest = std::max(largest, std::abs(residuals[at(k)]));
        spread = std::max(spread, std::abs(y[at(k)] - mean));
    }
    require(largest > kResidue * spread,
            "covariates must not determine the numbers of y, or no other labeling keeps their relation: give fewer "
            "covariates");
    fitted_ = numbers(n);
    for (std::int64_t k = 0; k < n; ++k) fitted_[at(k)] = y[at(k)] - residuals[at(k)];
    numbers_ = residuals;
    std::sort(numbers_.begin(), numbers_.end());
    numbers_.erase(std::unique(numbers_.begin(), numbers_.end()), numbers_.end());
    for (std::int64_t k = 0; k < n; ++k) {
        codes_[at(k)] = static_cast<std::int32_t>(std::lower_bound(numbers_.begin(), numbers_.end(), residuals[at(k)]) -
                                                  numbers_.begin());
    }
    count_labelings();
}

// Sets sequence_ and is_event_, the records of each pool in the order of their times, events before the units that were
// last seen then, and hazards_ of each unit by two regressions: of events, and of being last seen. Throws if the
// samples of a record differ, or if the true order is so likely that few other labelings come up.
void Design::fit_times(const fastfs_design_options& o, const Numbers& Z, std::int64_t n_columns, Run& run) {
    const std::int64_t n = n_units();
    std::vector<std::int64_t> sample(at(n_kinds()), -1);  // one with each record
    for (std::int64_t i = 0; i < n_samples(); ++i) {
        std::int64_t& first = sample[at(labels_.of_sample[at(i)])];
        if (first < 0) first = i;
        require(o.times[i] == o.times[first] && o.events[i] == o.events[first],
                "labels must number records, so that one label has one time and one event; got two for label ",
                labels_.name(labels_.of_sample[at(i)]));
    }
    const auto record = [&](std::int64_t place) {
        const std::int64_t i = sample[at(codes_[at(place)])];
        return std::pair(o.times[i], o.events[i] == 0);
    };
    auto places = up_to(n);  // in the order of the records
    for (std::int64_t p = 0; p < n_pools(); ++p) {
        std::sort(places.begin() + bounds_[at(p)], places.begin() + bounds_[at(p) + 1],
                  [&](std::int64_t a, std::int64_t b) { return std::pair(record(a), a) < std::pair(record(b), b); });
    }
    RiskSets sets{numbers(n * n_columns), std::vector<std::int64_t>(at(n)), bounds_};
    for (std::int64_t k = 0; k < n; ++k) {
        const std::int64_t place = places[at(k)];
        sequence_.push_back(codes_[at(place)]);
        is_event_.push_back(record(place).second ? 0 : 1);
        std::copy_n(Z.begin() + place * n_columns, n_columns, sets.Z.begin() + k * n_columns);
        const bool is_tie = k > bounds_[at(pool_of_place_[at(place)])] && record(places[at(k - 1)]) == record(place);
        sets.begin[at(k)] = is_tie ? sets.begin[at(k - 1)] : k;
    }
    hazards_ = numbers(2 * n);
    for (int kind = 0; kind < 2; ++kind) {
        const Numbers slope = cox_regression(sets, n_columns, is_event_, kind, run);
        for (std::int64_t p = 0; p < n_pools(); ++p) {
            double most = -std::numeric_limits<double>::infinity();
            for (std::int64_t k = bounds_[at(p)]; k < bounds_[at(p) + 1]; ++k) {
                hazards_[at(2 * k + kind)] =
                    std::inner_product(slope.begin(), slope.end(), Z.begin() + k * n_columns, 0.0);
                most = std::max(most, hazards_[at(2 * k + kind)]);
            }
            for (std::int64_t k = bounds_[at(p)]; k < bounds_[at(p) + 1]; ++k) {
                double& hazard = hazards_[at(2 * k + kind)];
                hazard = std::exp(std::max(hazard - most, kLeastLogHazard));
            }
        }
    }
    double log_probability = 0;
    for (std::int64_t p = 0; p < n_pools(); ++p) {
        double left[2] = {}, tied = 0;
        for (std::int64_t k = bounds_[at(p) + 1]; k-- > bounds_[at(p)];) {
            const double* of_place = hazards_.data() + 2 * places[at(k)];
            for (int kind = 0; kind < 2; ++kind) left[kind] += of_place[kind];
            const int kind = is_event_[at(k)];
            const bool is_last = k + 1 == bounds_[at(p) + 1] || sets.begin[at(k + 1)] != sets.begin[at(k)];
            tied = of_place[kind] + (is_last ? 0 : tied);  // units with equal records
            log_probability += std::log(tied / left[kind]);
        }
    }
    require(log_probability < std::log(0.5),
            "covariates must not determine the times of y, or no other labeling keeps their relation: give fewer "
            "covariates");
}

}  // namespace fastfs::core
