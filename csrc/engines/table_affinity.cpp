#include "engines/table_affinity.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "engines/columns.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"

namespace fastfs::core {
namespace {

// Returns the features of all rows in a unit in which squares neither overflow nor vanish; a custom kernel gets the
// unit of the data if possible. Throws InvalidArgument if no unit serves all rows.
template <class T>
Features<T> all_features(const Samples& X, const std::vector<double>& maxima, const Kernel& kernel, Run& run) {
    const std::vector<std::int64_t> rows = up_to(X.n_rows());
    // A custom kernel takes distances in units of the data, so the unit is 1 unless squares could overflow.
    const double unit = common_unit(maxima, rows);
    const bool as_is = kernel.kind == Kernel::Kind::kCustom && unit > 1e-100 && unit < 1e100;
    const Shift shift = kernel.shift();
    Features<T> features(X, rows, as_is ? 1 : unit, shift, run);
    if (std::is_same_v<T, float> || X.is_sparse() || shift == Shift::kNone || as_is) return features;
    // If the offsets are much larger than the remaining values, the squares of these values would underflow in the
    // common unit, or the unit's square would overflow the output: the unit is then taken from the remaining values.
    if (features.largest_squared_norm() >= (unit < 0x1p60 ? 0x1p-20 : 0.25)) return features;
    for (const double maximum : maxima) {
        require(maximum == 0 || maximum >= 0x1p-900 * unit,
                "the largest values of the rows of X must be within a factor of 1e270 of each other; got ", maximum,
                " and about ", unit, ": scale the rows alike");
    }
    const double rest = features.largest_value();
    const double smaller = std::max(rest == 0 ? unit : unit * std::ldexp(1.0, std::ilogb(rest)), 0x1p-1020);
    if (smaller == unit) return features;
    features = Features<T>();  // frees the features before new ones are made
    return Features<T>(X, rows, smaller, shift, run);
}

// Calls f with the features of X in single precision if that keeps all digits, in double otherwise.
template <class F>
void with_features(const Samples& X, const Kernel& kernel, Run& run, F&& f) {
    run.step("affinity", 1.0);
    const auto maxima = X.row_maxima(run);
    if (X.is_float32()) {
        const auto features = all_features<float>(X, maxima, kernel, run);
        if (float_tiles_serve(features, kernel)) return f(features);
    }
    f(all_features<double>(X, maxima, kernel, run));
}

// Returns the bytes of a call that multiplies by p columns, if any, and holds n_outputs values of the dtype of X.
std::int64_t affinity_memory(const Samples& X, std::int64_t n_outputs, std::int64_t p, const Run& run) {
    const std::int64_t value = X.is_float32() ? 4 : 8;
    return n_outputs * value + Features<double>::memory(X, X.n_rows()) + tile_memory(run.n_threads(), p) +
           8 * X.n_cols() * (p + 1);
}

}  // namespace

// Writes the d x d affinity in the dtype of X; the tiles are in double if single precision would lose digits.
void table_affinity(const Samples& X, const Kernel& kernel, Run& run, void* out) {
    const std::int64_t d = X.n_cols();
    run.require_memory(affinity_memory(X, d * d, 0, run), {"the affinity of ", d, " features"},
                       "give fewer features, or stream it (affinity_product)");
    with_features(X, kernel, run, [&](const auto& features) {
        if (X.is_float32()) {
            affinity(features, kernel, run, static_cast<float*>(out));
        } else if constexpr (std::is_same_v<decltype(features), const Features<double>&>) {
            affinity(features, kernel, run, static_cast<double*>(out));
        }
    });
}

void table_affinity_product(const Samples& X, const Kernel& kernel, const void* V, std::int64_t p, Run& run,
                            void* out) {
    run.require_memory(affinity_memory(X, X.n_cols() * p, p, run), {"the product of the affinity with ", p, " columns"},
                       "multiply fewer columns at a time");
    with_features(X, kernel, run, [&](const auto& features) {
        if (X.is_float32()) {
            affinity_product(features, kernel, static_cast<const float*>(V), p, run, static_cast<float*>(out));
        } else if constexpr (std::is_same_v<decltype(features), const Features<double>&>) {
            affinity_product(features, kernel, static_cast<const double*>(V), p, run, static_cast<double*>(out));
        }
    });
}

}  // namespace fastfs::core
