#include "engines/affinity.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engines/isa/tiles.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

std::int64_t n_blocks(std::int64_t d) { return ceil_div(d, kTile); }

std::int64_t block_size(std::int64_t d, std::int64_t block) { return std::min(kTile, d - block * kTile); }

// A squared distance from a Gram has an error of some eps (|z_i|^2 + |z_j|^2). If the distance is below this share of
// |z_i|^2 + |z_j|^2, it has lost more than 8 of its bits, and is computed again by differences.
template <class T>
constexpr T kFewBits = T(1) / 256;

// Share of |z_i|^2 + |z_j|^2 below which no digit is left.
constexpr double kNoDigits = 64 * std::numeric_limits<double>::epsilon();

// Values between two checkpoints of recomputed pairs: 0.02 s or so.
constexpr std::int64_t kValuesPerCheckpoint = std::int64_t{1} << 20;

// Returns 1 / (2 sigma^2) for distances in units of `unit`; finite, so that its product with 0 is 0.
template <class T>
T rbf_scale(double sigma, double unit) {
    const double ratio = unit / sigma;
    return static_cast<T>(std::min(0.5 * ratio * ratio, static_cast<double>(std::numeric_limits<T>::max())));
}

// Returns norms |x_i|^2 times `square`, the squared unit, which brings them to the scale of the data. Throws
// InvalidArgument if a distance between features can overflow.
std::vector<double> data_norms(std::vector<double> norms, double square) {
    for (double& norm : norms) {
        norm *= square;
        if (4 * norm <= std::numeric_limits<double>::max()) continue;
        throw InvalidArgument(
            "the values of X are too large: their squares overflow float64; divide X by a constant first");
    }
    return norms;
}

// Returns |x_i|^2 of each feature before its shifts, on the scale of the data; throws as above.
template <class T>
std::vector<double> data_norms(const Features<T>& features, Run& run) {
    std::vector<double> norms(at(features.n_features()), 0.0);
    features.add_original_norms(norms.data(), run);
    return data_norms(std::move(norms), features.unit() * features.unit());
}

// Calls f(i0, ni, j0, nj, slot) in parallel for all tiles of the upper triangle: their first row, rows, first column
// and columns, and the number of the thread.
template <class F>
void for_upper_tiles(std::int64_t d, Run& run, F&& f) {
    const std::int64_t blocks = n_blocks(d);
    parallel_for(run, blocks * (blocks + 1) / 2, [&](std::int64_t index, int slot) {
        // The row of the triangle that holds this index: rows have blocks, blocks - 1, ... entries.
        const double b = static_cast<double>(2 * blocks + 1);
        auto I = static_cast<std::int64_t>((b - std::sqrt(b * b - 8.0 * static_cast<double>(index))) / 2);
        auto first = [&](std::int64_t row) { return row * blocks - row * (row - 1) / 2; };
        while (first(I) > index) --I;
        while (first(I + 1) <= index) ++I;
        const std::int64_t J = I + index - first(I);
        f(I * kTile, block_size(d, I), J * kTile, block_size(d, J), slot);
    });
}

// Outputs larger than an L2 cache are stored past the caches: a line needn't be fetched only to be overwritten. On Zen
// 4 (1 MiB of L2, 32 of L3) this made entire calls 6 to 25 % faster at any size from 1 MiB on, even if all of the
// output was read right afterwards.
constexpr std::int64_t kStreamedBytes = std::int64_t{4} << 20;

template <class Out>
bool streamed(const Out* out, std::int64_t d) {
    const bool aligned = reinterpret_cast<std::uintptr_t>(out) % sizeof(Out) == 0;
    return aligned && d * d * static_cast<std::int64_t>(sizeof(Out)) >= kStreamedBytes;
}

// Returns the factor from computed values to output values: 1 for RBF, which has no unit, and for a custom kernel,
// which has the unit of the data; unit^2 for all other kernels. Throws InvalidArgument if values could overflow Out.
template <class T, class Out>
Out output_factor(const Features<T>& features, const Kernel& kernel) {
    if (kernel.kind == Kernel::Kind::kRbf || kernel.kind == Kernel::Kind::kCustom) return 1;
    const double factor = features.unit() * features.unit();
    const double largest = factor * std::max(1.0, 4 * static_cast<double>(features.largest_squared_norm()));
    require(largest <= static_cast<double>(std::numeric_limits<Out>::max()),
            "the values of X are too large: their squares overflow ", sizeof(Out) == 4 ? "float32" : "float64",
            "; divide X by a constant first");
    return static_cast<Out>(factor);
}

}  // namespace

// Calls refuse(a, b, value, other) for entries of `tile` (n x m) that differ from the transposed `exchanged` by more
// than the rounding of a value and of terms as large as the largest value that cancel in it. Finds the largest value
// only if the result depends on it.
void require_symmetric_values(std::int64_t n, std::int64_t m, const double* tile, std::int64_t ld,
                              const double* exchanged, std::int64_t exchanged_ld, const RefuseAsymmetry& refuse) {
    double largest = 0;
    for (std::int64_t a = 0; a < n; ++a) {
        for (std::int64_t b = tile == exchanged ? a + 1 : 0; b < m; ++b) {
            const double value = tile[a * ld + b], other = exchanged[b * exchanged_ld + a];
            const double difference = std::abs(value - other);
            const double rounding = 1e-8 * std::max(std::abs(value), std::abs(other));
            if (difference <= rounding) continue;
            for (std::int64_t r = 0; r < n && largest == 0; ++r) {
                for (std::int64_t c = 0; c < m; ++c) largest = std::max(largest, std::abs(tile[r * ld + c]));
            }
            if (difference > rounding + 1e-13 * largest) refuse(a, b, value, other);
        }
    }
}

// A custom kernel: prepares its arguments and checks its values.
class CustomKernel {
  public:
    // norms: |x_i|^2 of the rows; column_norms: empty if the columns have the norms of the rows; largest: the largest
    // value that the output can hold.
    CustomKernel(const Kernel& kernel, std::vector<double> norms, std::vector<double> column_norms = {},
                 double largest = std::numeric_limits<double>::max())
        : kernel_(kernel), norms_(std::move(norms)), column_norms_(std::move(column_norms)), largest_(largest) {}

    // Tests if this is a tile of its features with themselves, and if it must be evaluated in one call.
    bool is_diagonal(std::int64_t i0, std::int64_t j0) const { return column_norms_.empty() && i0 == j0; }
    bool takes_whole(std::int64_t i0, std::int64_t j0) const {
        return is_diagonal(i0, j0) || (column_norms_.empty() && i0 == 0 && j0 == kTile);
    }

    // Replaces the squared distances in `tile` (ni x nj, rows ld apart), of features i0.. with features j0.., by
    // values. A tile on the diagonal needs its upper triangle only, is checked for symmetry, and has both triangles
    // afterwards. One tile off the diagonal is checked too, by a second call with rows and columns exchanged.
    void operator()(std::int64_t i0, std::int64_t ni, std::int64_t j0, std::int64_t nj, double* tile,
                    std::int64_t ld) const {
        const bool symmetric = column_norms_.empty(), diagonal = is_diagonal(i0, j0);
        if (diagonal) mirror(tile, ld, ni);
        std::vector<double> exchanged;
        if (symmetric && i0 == 0 && j0 == kTile) {
            exchanged.resize(at(ni * nj));
            for (std::int64_t b = 0; b < nj; ++b) {
                for (std::int64_t a = 0; a < ni; ++a) exchanged[at(b * ni + a)] = tile[a * ld + b];
            }
            call(j0, nj, i0, ni, exchanged.data(), ni);
        }
        call(i0, ni, j0, nj, tile, ld);
        if (diagonal) {
            require_symmetric(i0, ni, j0, nj, tile, ld, tile, ld);
            mirror(tile, ld, ni);
        } else if (!exchanged.empty()) {
            require_symmetric(i0, ni, j0, nj, tile, ld, exchanged.data(), ni);
        }
    }

  private:
    // Copies the upper triangle to the lower one, to the bit: below the diagonal, sparse sums can be added in another
    // order.
    static void mirror(double* tile, std::int64_t ld, std::int64_t n) {
        for (std::int64_t a = 0; a < n; ++a) {
            for (std::int64_t b = 0; b < a; ++b) tile[a * ld + b] = tile[b * ld + a];
        }
    }

    // Replaces a tile of squared distances by values of the caller's function; throws if one isn't finite, or exceeds
    // the type of the output.
    void call(std::int64_t i0, std::int64_t ni, std::int64_t j0, std::int64_t nj, double* tile, std::int64_t ld) const {
        const double* columns = column_norms_.empty() ? norms_.data() : column_norms_.data();
        kernel_.function(tile, ld, ni, nj, norms_.data() + i0, columns + j0, kernel_.sigma, kernel_.user);
        for (std::int64_t a = 0; a < ni; ++a) {
            if (tile_kernels<double>().all_within(tile + a * ld, nj, largest_)) continue;
            for (std::int64_t b = 0; b < nj; ++b) {
                const double value = tile[a * ld + b];
                if (std::abs(value) <= largest_) continue;
                const Message where("for features ", i0 + a, " and ", j0 + b);
                require(!std::isfinite(value), "the kernel returned ", value, " ", where,
                        ", which float32 can't hold: give X as float64");
                throw InvalidArgument({"the kernel must return finite numbers; got ", value, " ", where});
            }
        }
    }

    // Throws InvalidArgument, which names the features, if a value of the tile differs from the transposed `exchanged`
    // by more than rounding.
    static void require_symmetric(std::int64_t i0, std::int64_t ni, std::int64_t j0, std::int64_t nj,
                                  const double* tile, std::int64_t ld, const double* exchanged,
                                  std::int64_t exchanged_ld) {
        require_symmetric_values(ni, nj, tile, ld, exchanged, exchanged_ld,
                                 [=](std::int64_t a, std::int64_t b, double ij, double ji) {
                                     const std::int64_t i = i0 + a, j = j0 + b;
                                     throw InvalidArgument({"the kernel must be symmetric; got ", ij, " for features ",
                                                            i, " and ", j, ", and ", ji, " if they are exchanged"});
                                 });
    }

    const Kernel kernel_;
    const std::vector<double> norms_, column_norms_;
    const double largest_;
};

// Returns true if single precision serves: for few samples, values with squares that are normal numbers, small
// exponents, and kernels other than custom ones.
template <class T>
bool float_tiles_serve(const Features<T>& features, const Kernel& kernel) {
    constexpr std::int64_t kManySamples = 16384;
    constexpr double kLargestExponent = 1e3;
    // After offsets are subtracted, values can be too small for the squares of single precision, or for squares of
    // their unit.
    const double smallest_square = features.unit() < 0x1p60 ? 0x1p-60 : 0.25;
    if (features.n_samples() > kManySamples || kernel.kind == Kernel::Kind::kCustom) return false;
    if (features.largest_squared_norm() < smallest_square) return false;
    return kernel.kind != Kernel::Kind::kRbf ||
           static_cast<double>(features.largest_squared_norm()) * rbf_scale<double>(kernel.sigma, features.unit()) <=
               kLargestExponent;
}

template <class T>
KernelTiles<T>::KernelTiles(const Features<T>& left, const Features<T>& right, const Kernel& kernel, Run& run,
                            double largest)
    : left_(left), right_(right), kernel_(kernel), scale_(rbf_scale<T>(kernel.sigma, left.unit())) {
    if (kernel.kind != Kernel::Kind::kCustom) return;
    custom_ = std::make_shared<CustomKernel>(kernel, data_norms(left, run),
                                             &left == &right ? std::vector<double>() : data_norms(right, run), largest);
}

// Writes the Gram tile, and replaces it by kernel values strip by strip, while they are in L1; a custom kernel takes a
// tile on the diagonal in one call.
template <class T>
void KernelTiles<T>::operator()(std::int64_t i0, std::int64_t ni, std::int64_t j0, std::int64_t nj, T* tile,
                                Run& run) const {
    if (custom_ && custom_->is_diagonal(i0, j0)) {
        // The upper triangle suffices: each step begins at its own diagonal.
        const std::int64_t step = left_.alignment();
        for (std::int64_t a = 0; a < ni; a += step) {
            const std::int64_t rows = std::min(step, ni - a);
            T* from = tile + a * kTile + a;
            left_.gram_tile(i0 + a, rows, right_, j0 + a, nj - a, from, run);
            make_values(i0 + a, rows, j0 + a, nj - a, from, run);
        }
        make_custom_values(i0, ni, j0, nj, tile);
        return;
    }
    left_.gram_tile(i0, ni, right_, j0, nj, tile, run);
    if (kernel_.kind == Kernel::Kind::kLinear) return;
    // A custom kernel makes three passes over a strip of 24 kB, which stays in L1 meanwhile.
    constexpr std::int64_t kStrip = 16;
    const std::int64_t strip = custom_ && !custom_->takes_whole(i0, j0) ? kStrip : ni;
    for (std::int64_t a = 0; a < ni; a += strip) {
        const std::int64_t rows = std::min(strip, ni - a);
        make_values(i0 + a, rows, j0, nj, tile + a * kTile, run);
        if (custom_) make_custom_values(i0 + a, rows, j0, nj, tile + a * kTile);
    }
}

// Replaces inner products in the tile by values of a built-in kernel, or by the squared distances that a custom kernel
// receives; values that have lost their digits are computed again by differences.
template <class T>
void KernelTiles<T>::make_values(std::int64_t i0, std::int64_t ni, std::int64_t j0, std::int64_t nj, T* tile,
                                 Run& run) const {
    const T *row_norms = left_.squared_norms() + i0, *column_norms = right_.squared_norms() + j0;
    std::int64_t marks = 0;
    T mark{};
    switch (kernel_.kind) {
        case Kernel::Kind::kLinear:
            break;
        case Kernel::Kind::kSquaredDistance:
        case Kernel::Kind::kCustom:
            marks = tile_kernels<T>().sqdist(tile, kTile, ni, nj, row_norms, column_norms, kFewBits<T>);
            mark = TileKernels<T>::kMarkedDistance;
            break;
        case Kernel::Kind::kRbf:
            marks = tile_kernels<T>().rbf(tile, kTile, ni, nj, row_norms, column_norms, kFewBits<T>, scale_);
            mark = TileKernels<T>::kMarkedAffinity;
            break;
    }
    std::int64_t since = 0;  // values looked at since the last checkpoint
    for (std::int64_t a = 0; a < ni && marks > 0; ++a) {
        T* row = tile + a * kTile;
        for (std::int64_t b = 0; b < nj; ++b) {
            if (row[b] != mark) continue;
            row[b] = value_by_differences(i0 + a, j0 + b);
            since += left_.n_samples();
            if (since < kValuesPerCheckpoint) continue;
            run.checkpoint();
            since = 0;
        }
    }
    if (!custom_) return;
    const auto square = static_cast<T>(left_.unit() * left_.unit());
    for (std::int64_t a = 0; a < ni && square != 1; ++a) {
        for (std::int64_t b = 0; b < nj; ++b) tile[a * kTile + b] *= square;
    }
}

// Replaces the squared distances in the tile by values of a custom kernel. Does nothing for a tile of floats, which a
// custom kernel never gets.
template <class T>
void KernelTiles<T>::make_custom_values(std::int64_t i0, std::int64_t ni, std::int64_t j0, std::int64_t nj,
                                        T* tile) const {
    if constexpr (sizeof(T) == sizeof(double)) (*custom_)(i0, ni, j0, nj, tile, kTile);
}

// Returns the RBF value, or for other kernels the squared distance, of left feature i and right feature j, summed from
// the differences of their values.
template <class T>
T KernelTiles<T>::value_by_differences(std::int64_t i, std::int64_t j) const {
    const bool rbf = kernel_.kind == Kernel::Kind::kRbf;
    if (i == j && &left_ == &right_) return rbf ? T(1) : T(0);
    const T d2 = left_.squared_distance(i, right_, j);
    return rbf ? std::exp(-d2 * scale_) : d2;
}

// Returns ones for RBF, zeros for squared distances, squared norms for the linear kernel, and calls a custom one per
// feature.
template <class T>
std::vector<double> kernel_diagonal(const Features<T>& features, const Kernel& kernel, Run& run) {
    std::vector<double> diagonal(at(features.n_features()), kernel.kind == Kernel::Kind::kRbf ? 1.0 : 0.0);
    if (kernel.kind == Kernel::Kind::kSquaredDistance || kernel.kind == Kernel::Kind::kRbf) return diagonal;
    const std::vector<double> norms = data_norms(features, run);
    if (kernel.kind == Kernel::Kind::kLinear) return norms;
    const CustomKernel custom(kernel, norms);
    parallel_for(run, n_blocks(features.n_features()), [&](std::int64_t block, int) {
        const std::int64_t first = block * kTile;
        for (std::int64_t i = first; i < first + block_size(features.n_features(), block); ++i) {
            custom(i, 1, i, 1, &diagonal[at(i)], 1);
        }
    });
    return diagonal;
}

template <class T, class Out>
void affinity(const Features<T>& features, const Kernel& kernel, Run& run, Out* out) {
    const std::int64_t d = features.n_features();
    const KernelTiles<T> kernel_tile(features, features, kernel, run, std::numeric_limits<Out>::max());
    const Out factor = output_factor<T, Out>(features, kernel);
    const bool stream = streamed(out, d);
    const auto store = store_tile<T, Out>();
    auto tiles = buffers<T>(d <= kTile ? 1 : run.n_threads(), std::min(kTile, d) * kTile);
    for_upper_tiles(d, run, [&](std::int64_t i0, std::int64_t, std::int64_t j0, std::int64_t nj, int slot) {
        T* tile = tiles[at(slot)].data();
        if (i0 != j0) {
            kernel_tile(i0, kTile, j0, nj, tile, run);
            store(tile, kTile, kTile, nj, factor, out + i0 * d + j0, out + j0 * d + i0, d, stream);
            return;
        }
        // The diagonal tile is computed in steps, each from its own columns on; a custom kernel takes it in one step.
        const std::int64_t step = kernel.kind == Kernel::Kind::kCustom ? kTile : features.alignment();
        for (; i0 < j0 + nj; i0 += step) {
            const std::int64_t cols = j0 + nj - i0, rows = std::min(step, cols);
            kernel_tile(i0, rows, i0, cols, tile, run);
            // Below the diagonal, sparse sums can be added in another order.
            for (std::int64_t a = 0; a < rows; ++a) {
                for (std::int64_t b = 0; b < a; ++b) tile[a * kTile + b] = tile[b * kTile + a];
            }
            store(tile, kTile, rows, cols, factor, out + i0 * d + i0, nullptr, d, stream);
            store(tile + rows, kTile, rows, cols - rows, factor, nullptr, out + (i0 + rows) * d + i0, d, stream);
        }
    });
}

// Writes squared distances to the upper triangle of out tile by tile, or adds them to it.
template <class T>
void squared_distances_upper(const Features<T>& features, bool add, Run& run, T* out) {
    const std::int64_t d = features.n_features();
    const Kernel kernel{Kernel::Kind::kSquaredDistance};
    const KernelTiles<T> kernel_tile(features, features, kernel, run, std::numeric_limits<T>::max());
    auto tiles = buffers<T>(run.n_threads(), kTile * kTile);
    for_upper_tiles(d, run, [&](std::int64_t i0, std::int64_t ni, std::int64_t j0, std::int64_t nj, int slot) {
        T* tile = tiles[at(slot)].data();
        kernel_tile(i0, ni, j0, nj, tile, run);
        for (std::int64_t a = 0; a < ni; ++a) {
            const T* from = tile + a * kTile;
            T* to = out + (i0 + a) * d + j0;
            for (std::int64_t b = i0 == j0 ? a : 0; b < nj; ++b) to[b] = add ? to[b] + from[b] : from[b];
        }
    });
}

namespace {

// Returns the number of rows that are laid out together: 64 MB of them, so that any number of samples can be summed.
std::int64_t rows_at_once(const Samples& X) {
    constexpr std::int64_t kBytes = std::int64_t{64} << 20;
    return X.is_sparse() ? X.n_rows() : std::max<std::int64_t>(kBytes / 8 / X.n_cols(), 256);
}

}  // namespace

// Overwrites the upper triangle of out with squared distances, added up over blocks of rows, which are laid out in
// turn; returns the squared norms.
std::vector<double> squared_distances_upper(const Samples& X, const std::vector<std::int64_t>& rows, double unit,
                                            Run& run, double* out) {
    const auto n = static_cast<std::int64_t>(rows.size()), step = rows_at_once(X);
    std::vector<double> norms(at(X.n_cols()), 0.0);
    for (std::int64_t first = 0; first < n; first += step) {
        const std::vector<std::int64_t> block(rows.begin() + first, rows.begin() + std::min(first + step, n));
        const Features<double> features(X, block, unit, Shift::kRow, run);
        squared_distances_upper(features, first > 0, run, out);
        features.add_original_norms(norms.data(), run);
    }
    return norms;
}

std::int64_t squared_distances_memory(const Samples& X, std::int64_t n_rows, int n_threads) {
    return Features<double>::memory(X, std::min(n_rows, rows_at_once(X))) + tile_memory(n_threads);
}

void mirror_upper(std::int64_t d, Run& run, double* A) {
    const bool stream = streamed(A, d);
    const auto store = store_tile<double, double>();
    for_upper_tiles(d, run, [&](std::int64_t i0, std::int64_t, std::int64_t j0, std::int64_t nj, int) {
        if (i0 != j0) {
            store(A + i0 * d + j0, d, kTile, nj, 1.0, nullptr, A + j0 * d + i0, d, stream);
            return;
        }
        for (std::int64_t j = j0; j < j0 + nj; ++j) {
            for (std::int64_t i = j0; i < j; ++i) A[j * d + i] = A[i * d + j];
        }
    });
}

// Replaces the upper triangle of K in place, tile by tile, through copies on the scale of the data.
void custom_kernel_upper(const Kernel& kernel, const std::vector<double>& norms, double unit, Run& run, double* K) {
    const auto d = static_cast<std::int64_t>(norms.size());
    const double square = unit * unit;
    const CustomKernel custom(kernel, data_norms(norms, square));
    auto tiles = buffers<double>(run.n_threads(), kTile * kTile);
    for_upper_tiles(d, run, [&](std::int64_t i0, std::int64_t ni, std::int64_t j0, std::int64_t nj, int slot) {
        double* tile = tiles[at(slot)].data();
        auto first = [&](std::int64_t a) { return i0 == j0 ? a : 0; };
        for (std::int64_t a = 0; a < ni; ++a) {
            const double* row = K + (i0 + a) * d + j0;
            for (std::int64_t b = first(a); b < nj; ++b) tile[a * kTile + b] = square * row[b];
        }
        custom(i0, ni, j0, nj, tile, kTile);
        for (std::int64_t a = 0; a < ni; ++a) {
            std::copy(tile + a * kTile + first(a), tile + a * kTile + nj, K + (i0 + a) * d + j0 + first(a));
        }
    });
}

template <class T, class Out>
void affinity_product(const Features<T>& features, const Kernel& kernel, const Out* V, std::int64_t p, Run& run,
                      Out* out) {
    const std::int64_t d = features.n_features(), blocks = n_blocks(d);
    const KernelTiles<T> kernel_tile(features, features, kernel, run, std::numeric_limits<double>::max());
    const double factor = output_factor<T, Out>(features, kernel);
    for (std::int64_t e = 0; e < d * p; ++e) {
        if (std::isfinite(V[e])) continue;
        throw InvalidArgument({"V must be finite; got NaN or infinity first at row ", e / p, ", column ", e % p});
    }
    // One task owns a block of rows and walks the columns in order, so the bits don't depend on the number of threads.
    // Computing each tile twice costs less than sharing it between two owners.
    Buffer<T> v(d * p);
    std::copy(V, V + d * p, v.data());
    auto tiles = buffers<T>(run.n_threads(), kTile * kTile), parts = buffers<T>(run.n_threads(), kTile * p);
    auto sums = buffers<double>(run.n_threads(), kTile * p);
    parallel_for(run, blocks, [&](std::int64_t I, int slot_) {
        const auto slot = at(slot_);
        const std::int64_t i0 = I * kTile, ni = block_size(d, I);
        T *tile = tiles[slot].data(), *part = parts[slot].data();
        double* sum = sums[slot].data();
        std::fill_n(sum, ni * p, 0.0);
        for (std::int64_t J = 0; J < blocks; ++J) {
            run.checkpoint();
            const std::int64_t j0 = J * kTile, nj = block_size(d, J);
            kernel_tile(i0, ni, j0, nj, tile, run);
            gemm('N', 'N', p, ni, nj, T(1), v.data() + j0 * p, p, tile, kTile, T(0), part, p);
            for (std::int64_t e = 0; e < ni * p; ++e) sum[e] += static_cast<double>(part[e]);
        }
        for (std::int64_t e = 0; e < ni * p; ++e) {
            out[i0 * p + e] = static_cast<Out>(factor * sum[e]);
            if (!std::isfinite(out[i0 * p + e])) {
                throw InvalidArgument("the product overflows: divide X or V by a constant first");
            }
        }
    });
}

std::int64_t tile_memory(int n_threads, std::int64_t p) {
    return n_threads * (8 * kTile * kTile + 16 * kTile * p) +
           8 * kTile * kTile;  // the last tile checks a custom kernel
}

Gram::Gram(std::int64_t n_features, Run& run) : d_(n_features) {
    run.require_memory(memory(d_), {"a Gram matrix of ", d_, " features"}, "give fewer features");
    shift_sums_.assign(at(d_), 0.0);
    norms_ = shift_sums_;
    sums_ = Buffer<double>(d_ * d_);
    std::fill_n(sums_.data(), d_ * d_, 0.0);
}

// Adds the products, norms and shifts of a chunk to the sums, from copies that are complete before the first sum
// changes.
void Gram::update(const Samples& chunk, Run& run) {
    run.require_memory(Features<double>::memory(chunk, chunk.n_rows()) + memory(d_) + tile_memory(run.n_threads()),
                       {"a chunk of ", chunk.n_rows(), " rows"}, "give smaller chunks");
    run.step("Gram of a chunk", 1.0);
    const std::vector<std::int64_t> rows = up_to(chunk.n_rows());
    const Features<double> features(chunk, rows, common_unit(chunk.row_maxima(run), rows), Shift::kRow, run);
    const double square = features.unit() * features.unit();
    require(square <= 1e290 && square >= 1e-290, "the values of a chunk are too ", square > 1 ? "large" : "small",
            " to be squared: divide all chunks by a constant first");
    // The chunk's sums come first: a cancel or an error half-way must leave the handle unchanged.
    Buffer<double> fresh(d_ * d_);
    auto tiles = buffers<double>(run.n_threads(), kTile * kTile);
    const auto store = store_tile<double, double>();
    for_upper_tiles(d_, run, [&](std::int64_t i0, std::int64_t ni, std::int64_t j0, std::int64_t nj, int slot) {
        double* tile = tiles[at(slot)].data();
        features.gram_tile(i0, ni, features, j0, nj, tile, run);
        store(tile, kTile, ni, nj, square, fresh.data() + i0 * d_ + j0, nullptr, d_, false);
    });
    std::vector<double> shift_sums(at(d_));
    features.weighted_sums(features.row_shifts().data(), shift_sums.data(), run);
    std::vector<double> norms(at(d_), 0.0);
    features.add_original_norms(norms.data(), run);
    for (std::int64_t i = 0; i < d_; ++i) {
        for (std::int64_t j = i; j < d_; ++j) sums_[i * d_ + j] += fresh[i * d_ + j];
        shift_sums_[at(i)] += shift_sums[at(i)] * features.unit();
    }
    for (double shift : features.row_shifts()) squared_shifts_ += shift * shift;
    for (std::size_t i = 0; i < norms.size(); ++i) norms_[i] += square * norms[i];
    n_rows_ += chunk.n_rows();
}

void Gram::merge(const Gram& other) {
    for (std::int64_t i = 0; i < d_; ++i) {
        for (std::int64_t j = i; j < d_; ++j) sums_[i * d_ + j] += other.sums_[i * d_ + j];
        shift_sums_[at(i)] += other.shift_sums_[at(i)];
        norms_[at(i)] += other.norms_[at(i)];
    }
    squared_shifts_ += other.squared_shifts_;
    n_rows_ += other.n_rows_;
}

// Overwrites out with kernel values from the sums: the upper triangle first, which is then copied to the lower one.
void Gram::affinity(const Kernel& kernel, Run& run, double* out) const {
    require(n_rows_ > 0, "a Gram matrix must have rows; got no chunk yet: add one first");
    run.require_memory(8 * d_ * d_ + tile_memory(run.n_threads()), {"the affinity of ", d_, " features"},
                       "give fewer features");
    run.step("affinity", 1.0);
    const double scale = rbf_scale<double>(kernel.sigma, 1.0);
    parallel_for(run, n_blocks(d_), [&](std::int64_t I, int) {
        for (std::int64_t i = I * kTile; i < I * kTile + block_size(d_, I); ++i) {
            double* row = out + i * d_;
            const double norm_i = sums_[i * d_ + i];
            for (std::int64_t j = i; j < d_; ++j) {
                const double product = sums_[i * d_ + j], norms = norm_i + sums_[j * d_ + j];
                if (kernel.kind == Kernel::Kind::kLinear) {
                    row[j] = product + shift_sums_[at(i)] + shift_sums_[at(j)] + squared_shifts_;
                } else {
                    const double d2 = norms - 2 * product;
                    row[j] = d2 <= kNoDigits * norms ? 0 : d2;
                }
            }
            if (kernel.kind == Kernel::Kind::kRbf) tile_kernels<double>().exp_neg(row + i, d_ - i, scale);
        }
    });
    if (kernel.kind == Kernel::Kind::kCustom) custom_kernel_upper(kernel, norms_, 1.0, run, out);
    mirror_upper(d_, run, out);
}

template class KernelTiles<float>;
template class KernelTiles<double>;
template std::vector<double> kernel_diagonal(const Features<float>&, const Kernel&, Run&);
template std::vector<double> kernel_diagonal(const Features<double>&, const Kernel&, Run&);
template bool float_tiles_serve(const Features<float>&, const Kernel&);
template void affinity(const Features<float>&, const Kernel&, Run&, float*);
template void affinity(const Features<double>&, const Kernel&, Run&, float*);
template void affinity(const Features<double>&, const Kernel&, Run&, double*);
template void squared_distances_upper(const Features<double>&, bool, Run&, double*);
template void affinity_product(const Features<float>&, const Kernel&, const float*, std::int64_t, Run&, float*);
template void affinity_product(const Features<float>&, const Kernel&, const double*, std::int64_t, Run&, double*);
template void affinity_product(const Features<double>&, const Kernel&, const float*, std::int64_t, Run&, float*);
template void affinity_product(const Features<double>&, const Kernel&, const double*, std::int64_t, Run&, double*);

}  // namespace fastfs::core
