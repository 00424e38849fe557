#include "engines/basis.hpp"

#include <cmath>

#include "engines/feature_rows.hpp"

namespace fastfs::core {
namespace {

// The share of a column's length below which its rest is rounding.
constexpr double kLeastLength = 1e-8;

}  // namespace

double Basis::add_column(Numbers column, const Basis* before) {
    if (!standardise(column)) return 0;
    // Gram and Schmidt, twice: the first pass leaves rounding errors that are large against a small rest.
    for (int pass = 0; pass < 2; ++pass) {
        if (before) before->take_from(column.data());
        take_from(column.data());
    }
    double squares = 0;
    for (const double value : column) squares += value * value;
    const double length = std::sqrt(squares / static_cast<double>(n_samples_));
    if (!(length > kLeastLength) || !standardise(column)) return 0;
    columns_.insert(columns_.end(), column.begin(), column.end());
    ++size_;
    return length;
}

void Basis::take_from(double* column) const {
    for (std::int64_t k = 0; k < size_; ++k) {
        const double* other = this->column(k);
        double product = 0;
        for (std::int64_t s = 0; s < n_samples_; ++s) product += column[s] * other[s];
        product /= static_cast<double>(n_samples_);
        for (std::int64_t s = 0; s < n_samples_; ++s) column[s] -= product * other[s];
    }
}

}  // namespace fastfs::core
