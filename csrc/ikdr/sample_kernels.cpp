#include "ikdr/sample_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "engines/isa/tiles.hpp"
#include "fastfs/fastfs.h"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// Kernels of a task if each has one feature: four units of float, eight of double.
constexpr std::int64_t kBlockKernels = 64;

// The number of samples of a class that are added up in T.
constexpr std::int64_t kSamplesInT = 64;

// The most bytes of kernels of several features that are held to be weighted and added up, and the most kernels.
constexpr std::int64_t kBatchBytes = std::int64_t{1} << 25, kBatch = 64;

// Returns the place of K(a, b) in the lower triangle.
std::int64_t lower(std::int64_t a, std::int64_t b, std::int64_t n) { return std::max(a, b) * n + std::min(a, b); }

}  // namespace

// The kernels of a task, and where their products go.
template <class T>
struct SampleKernels<T>::Block {
    const std::int64_t* which;  // nullptr: first, first + 1, ..
    std::int64_t first, count;
    T *c, *totals;
    double* v;

    std::int64_t operator[](std::int64_t p) const { return which ? which[p] : first + p; }
};

// A Support in the layout and type in which kernels read it.
template <class T>
struct SampleKernels<T>::Prepared {
    std::int64_t k, columns;
    std::vector<std::int64_t> rows;   // of X, s of them
    std::vector<double> A;            // s x columns: rows of A, and row_factors as a last column, if there are any
    std::vector<T> by_class;          // C x s
    std::vector<T> pair_factors;      // s x s
    std::vector<const T*> pair_rows;  // per sample: its pair_factors, or null outside the support

    // Copies the factors of the support as T, with rows of X in place of sorted samples.
    Prepared(const SampleKernels& kernels, const Support& support)
        : k(support.k), columns(k + !support.row_factors.empty()), by_class(support.by_class.size()) {
        const auto s = static_cast<std::int64_t>(support.rows.size());
        const std::int64_t C = kernels.n_classes();
        for (std::int64_t t = 0; t < s; ++t) {
            rows.push_back(kernels.order_[at(support.rows[at(t)])]);
            A.insert(A.end(), support.A.begin() + t * k, support.A.begin() + (t + 1) * k);
            if (columns > k) A.push_back(support.row_factors[at(t)]);
            for (std::int64_t q = 0; q < C; ++q) {
                by_class[at(q * s + t)] = static_cast<T>(support.by_class[at(t * C + q)]);
            }
        }
        if (support.pair_factors.empty()) return;
        for (const double g : support.pair_factors) pair_factors.push_back(static_cast<T>(g));
        pair_rows.assign(kernels.order_.size(), nullptr);
        for (std::int64_t t = 0; t < s; ++t) pair_rows[at(support.rows[at(t)])] = pair_factors.data() + t * s;
    }

    std::int64_t size() const { return static_cast<std::int64_t>(rows.size()); }
};

// The buffers of one thread.
template <class T>
struct SampleKernels<T>::Scratch {
    Buffer<T> packed, c;             // n x kBlockKernels, n x a unit
    Buffer<double> sums, with_A;     // units: C x s, of the kernels' values in each class, and C x columns
    Buffer<double> kernel;           // n x n
    Buffer<T> block_c, block_total;  // for the visitor
    Buffer<double> block_v;
};

// ---- features and widths -------------------------------------------------------------------------------------------

template <class T>
SampleKernels<T>::SampleKernels(const KernelSource& source, std::vector<std::int64_t> order,
                                std::vector<std::int64_t> class_begins, Run& run)
    : source_(source), order_(std::move(order)), class_begins_(std::move(class_begins)) {
    if (!source_.X) return;
    FeatureScales scaling = find_scales(*source_.X, Scaling::kStandard, run);
    means_ = std::move(scaling.shift);
    scales_ = std::move(scaling.factor);
    std::vector<double> deviations(scales_.size());
    for (std::size_t f = 0; f < scales_.size(); ++f) {
        if (scales_[f] == 0) continue;
        deviations[f] = source_.standardize ? 1 : 1 / scales_[f];
        scales_[f] = source_.standardize ? 1 / scales_[f] : 1;
    }

    const std::int64_t d = source_.X->n_cols(), m = n_kernels();
    const auto group = [&](std::int64_t f) { return source_.groups ? source_.groups[f] : m == d ? f : 0; };
    begins_.assign(at(m + 1), 0);
    for (std::int64_t f = 0; f < d; ++f) begins_[at(group(f) + 1)] += scales_[at(f)] != 0;
    one_feature_each_ = *std::max_element(begins_.begin(), begins_.end()) == 1;
    for (std::int64_t g = 0; g < m; ++g) begins_[at(g + 1)] += begins_[at(g)];
    features_.resize(at(begins_.back()));
    std::vector<std::int64_t> next(begins_.begin(), begins_.end() - 1);
    for (std::int64_t f = 0; f < d; ++f) {
        if (scales_[at(f)] != 0) features_[at(next[at(group(f))]++)] = f;
    }

    deltas_.assign(at(m), 0.0);
    parallel_for(run, ceil_div(m, kBlockKernels), [&](std::int64_t task, int) {
        const std::int64_t first = task * kBlockKernels, last = std::min(first + kBlockKernels, m);
        const Run::Part part(run, share(first, m), share(last, m));
        for (std::int64_t g = first; g < last; ++g) set_width(g, deviations, run);
    });
}

// Sets deltas_[m], the width of kernel m, by the rule of the source, from the deviations of its features; it stays 0
// for constant features. Throws if the width is out of range.
template <class T>
void SampleKernels<T>::set_width(std::int64_t m, const std::vector<double>& deviations, Run& run) {
    if (begins_[at(m)] == begins_[at(m + 1)]) return;
    const auto count = static_cast<double>(n_samples());
    double unit = 0, variance = 0;  // in units of the largest deviation, so that squares stay within range
    for (std::int64_t f = begins_[at(m)]; f < begins_[at(m + 1)]; ++f) {
        unit = std::max(unit, deviations[at(features_[at(f)])]);
    }
    for (std::int64_t f = begins_[at(m)]; f < begins_[at(m + 1)]; ++f) {
        const double deviation = deviations[at(features_[at(f)])] / unit;
        variance += deviation * deviation;
    }
    double& delta = deltas_[at(m)];
    if (source_.width == FASTFS_WIDTH_MEAN_SQUARED) {
        delta = 2 * variance * count / (count - 1) * unit * unit;
    } else if (source_.width == FASTFS_WIDTH_MEAN) {
        delta = mean_distance(m, 1 / unit, run) * unit;
    } else {
        delta = source_.delta;
    }
    if (!std::isnormal(delta) || !std::isnormal(1 / delta) || unit / std::sqrt(delta) > 1e15) {
        const Name name{FASTFS_PLACE_KERNEL, m, "kernel " + std::to_string(m)};
        refuse({"the width of ", name, " must fit its features, which deviate by ", unit, "; got ", delta,
                ": standardise them, or give another width"});
    }
}

template <class T>
double SampleKernels<T>::mean_distance(std::int64_t m, double factor, Run& run) const {
    const std::int64_t n = n_samples();
    ScaledFeatures data{&*source_.X, {}, {}, {}};
    add_features(m, factor, data);
    double sum = 0;
    if (data.n_features() == 1) {  // sum_{i<j} (z_j - z_i) of sorted z
        const Values<T> x(source_.X->description());
        std::vector<double> z;
        Buffer<T> room;
        for (std::int64_t first = 0, step = x.most(1), f = data.features[0]; first < n; first += step) {
            const std::int64_t last = std::min(first + step, n);
            const auto [values, rs, cs] = x.block(first, last, f, f + 1, room);
            for (std::int64_t i = 0; i < last - first; ++i) {
                z.push_back((static_cast<double>(values[i * rs]) - data.shift[0]) * data.factor[0]);
            }
        }
        std::sort(z.begin(), z.end());
        for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(2 * i - n + 1) * z[at(i)];
    } else {
        Buffer<double> D(n * n);
        pair_sums<T>(data, 0, n, data, 0, n, Difference::kSquared, D.data(), n, run);
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = 0; j < i; ++j) sum += std::sqrt(D[i * n + j]);
        }
    }
    return sum / (static_cast<double>(n) * static_cast<double>(n - 1) / 2);
}

// Appends the varying features of kernel m to `data`, centred and scaled, times `factor`.
template <class T>
void SampleKernels<T>::add_features(std::int64_t m, double factor, ScaledFeatures& data) const {
    for (std::int64_t f = begins_[at(m)]; f < begins_[at(m + 1)]; ++f) {
        const std::int64_t feature = features_[at(f)];
        data.features.push_back(feature);
        data.shift.push_back(means_[at(feature)]);
        data.factor.push_back(factor / scales_[at(feature)]);
    }
}

// ---- one kernel of several features, or a matrix -------------------------------------------------------------------

template <class T>
const double* SampleKernels<T>::kernel(std::int64_t m, Run& run, double* to) const {
    const std::int64_t n = n_samples();
    if (source_.matrices) return source_.matrices + m * n * n;
    ScaledFeatures data{&*source_.X, {}, {}, {}};
    add_features(m, 1 / std::sqrt(deltas_[at(m)]), data);
    pair_sums<T>(data, 0, n, data, 0, n, Difference::kSquared, to, n, run);
    tile_kernels<double>().exp_neg(to, n * n, 1.0);
    return to;
}

// ---- sums ----------------------------------------------------------------------------------------------------------

template <class T>
void SampleKernels<T>::sum_kernels(const std::vector<std::int64_t>& which, const std::vector<double>& weights, Run& run,
                                   T* K) const {
    const std::int64_t n = n_samples();
    std::vector<std::int64_t> varying;
    std::vector<double> factors;
    for (std::size_t w = 0; w < which.size(); ++w) {
        if (is_constant(which[w])) continue;
        varying.push_back(which[w]);
        factors.push_back(weights[w]);
    }
    Buffer<double> total(n * n);
    if (one_feature_each_) {
        ScaledFeatures data{&*source_.X, {}, {}, {}};
        for (const std::int64_t m : varying) add_features(m, 1 / std::sqrt(deltas_[at(m)]), data);
        gaussian_sums<T>(data, factors, total.data(), n, run);
    } else {
        sum_kernels_as_given(varying, factors, run, total.data());
    }
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) {
            K[i * n + j] = K[j * n + i] = static_cast<T>(total[lower(order_[at(i)], order_[at(j)], n)]);
        }
    }
}

template <class T>
void SampleKernels<T>::sum_kernels_as_given(const std::vector<std::int64_t>& which, const std::vector<double>& weights,
                                            Run& run, double* total) const {
    const std::int64_t n = n_samples(), count = static_cast<std::int64_t>(which.size());
    const std::int64_t batch = std::clamp<std::int64_t>(kBatchBytes / (n * n * 8), 1, std::min(kBatch, count));
    std::fill_n(total, n * n, 0.0);
    Buffer<double> held(source_.matrices ? 0 : batch * n * n);
    std::vector<const double*> kernels(at(batch));
    for (std::int64_t first = 0; first < count; first += batch) {
        const std::int64_t size = std::min(batch, count - first);
        const Run::Part part(run, share(first, count), share(first + size, count));
        parallel_for(run, size, [&](std::int64_t w, int) {
            const Run::Part of_kernel(run, share(w, size), share(w + 1, size));
            kernels[at(w)] = kernel(which[at(first + w)], run, source_.matrices ? nullptr : held.data() + w * n * n);
        });
        parallel_for(run, n, [&](std::int64_t i, int) {
            for (std::int64_t w = 0; w < size; ++w) {
                const double weight = weights[at(first + w)], *from = kernels[at(w)] + i * n;
                for (std::int64_t j = 0; j <= i; ++j) total[i * n + j] += weight * from[j];
            }
        });
    }
}

// ---- products ------------------------------------------------------------------------------------------------------

// Writes the products c, totals and v (see products) of a block of kernels of one feature each to the arrays of the
// block. Works in the lanes of a unit: each exponential is taken once and added to all sums that contain it.
template <class T>
void SampleKernels<T>::products_of_features(const Block& block, const Prepared& support, Scratch& scratch,
                                            Run& run) const {
    constexpr std::int64_t kUnit = kRowUnit<T>, kAtOnce = SampleTileKernels<T>::kAtOnce;
    const std::int64_t n = n_samples(), C = n_classes(), s = support.size(), columns = support.columns;
    if (scratch.packed.size() == 0) {
        scratch.packed = Buffer<T>(n * kBlockKernels);
        scratch.c = Buffer<T>(n * kUnit);
        scratch.sums = Buffer<double>(C * s * kUnit);
        scratch.with_A = Buffer<double>(C * columns * kUnit);
    }
    ScaledFeatures data{&*source_.X, {}, {}, {}};
    std::vector<std::int64_t> places;  // in the block
    for (std::int64_t p = 0; p < block.count; ++p) {
        if (is_constant(block[p])) continue;
        add_features(block[p], 1 / std::sqrt(deltas_[at(block[p])]), data);
        places.push_back(p);
    }
    const auto n_places = static_cast<std::int64_t>(places.size());
    if (n_places == 0) return;
    pack_features(data, 0, n_places, 0, n, scratch.packed.data(), kBlockKernels);

    const SampleTileKernels<T>& kernels = sample_tile_kernels<T>();
    for (std::int64_t first = 0; first < n_places; first += kUnit) {
        const T* x = scratch.packed.data() + first;
        T* c = scratch.c.data();
        double *sums = scratch.sums.data(), *with_A = scratch.with_A.data();
        alignas(64) double pairs[kUnit] = {};
        std::fill_n(c, n * kUnit, T(0));
        std::fill_n(sums, C * s * kUnit, 0.0);
        for (std::int64_t q = 0; q < C; ++q) {
            for (std::int64_t i = class_begins_[at(q)]; i < class_begins_[at(q + 1)]; i += kSamplesInT) {
                run.checkpoint();
                const std::int64_t height = std::min(kSamplesInT, class_begins_[at(q + 1)] - i);
                const T* const* pair_rows = support.pair_rows.empty() ? nullptr : support.pair_rows.data() + i;
                for (std::int64_t t = 0; t < s; t += kAtOnce) {
                    const T* y[kAtOnce];
                    const std::int64_t width = std::min(kAtOnce, s - t);
                    for (std::int64_t r = 0; r < width; ++r) y[r] = x + support.rows[at(t + r)] * kBlockKernels;
                    kernels.products(x, kBlockKernels, order_.data() + i, height, y, static_cast<int>(width),
                                     support.by_class.data() + q * s + t, pair_rows, t, c + i * kUnit,
                                     sums + (q * s + t) * kUnit, pairs);
                }
            }
            kernels.combine(sums + q * s * kUnit, support.A.data(), s, columns, with_A + q * columns * kUnit);
        }
        for (std::int64_t lane = 0; lane < std::min(kUnit, n_places - first); ++lane) {
            const std::int64_t p = places[at(first + lane)];
            for (std::int64_t i = 0; i < n; ++i) block.c[p * n + i] = c[i * kUnit + lane];
            double v = pairs[lane];
            for (std::int64_t q = 0; q < C; ++q) {
                const double* from = with_A + q * columns * kUnit + lane;
                T* to = block.totals + (p * C + q) * support.k;
                for (std::int64_t j = 0; j < support.k; ++j) to[j] = static_cast<T>(from[j * kUnit]);
                if (columns > support.k) v += from[support.k * kUnit];
            }
            block.v[p] = v;
        }
    }
}

// Writes the products of kernel m (see products) to c, totals and v, from all values of the kernel.
template <class T>
void SampleKernels<T>::products_of_kernel(std::int64_t m, const Prepared& support, Scratch& scratch, Run& run, T* c,
                                          T* totals, double* v) const {
    const std::int64_t n = n_samples(), C = n_classes(), s = support.size(), columns = support.columns;
    if (scratch.with_A.size() == 0) {
        scratch.kernel = Buffer<double>(source_.matrices ? 0 : n * n);
        scratch.sums = Buffer<double>(s);
        scratch.with_A = Buffer<double>(columns);
    }
    const double* K = kernel(m, run, scratch.kernel.data());
    double sum_v = 0;
    for (std::int64_t q = 0; q < C; ++q) {
        std::fill_n(scratch.sums.data(), s, 0.0);
        for (std::int64_t i = class_begins_[at(q)]; i < class_begins_[at(q + 1)]; ++i) {
            const T* by_class = support.by_class.data() + q * s;
            const T* pairs = support.pair_rows.empty() ? nullptr : support.pair_rows[at(i)];
            double sum = 0;
            for (std::int64_t t = 0; t < s; ++t) {
                const double e = K[lower(order_[at(i)], support.rows[at(t)], n)];
                sum += e * static_cast<double>(by_class[t]);
                scratch.sums[t] += e;
                if (pairs) sum_v += e * static_cast<double>(pairs[t]);
            }
            c[i] = static_cast<T>(sum);
        }
        std::fill_n(scratch.with_A.data(), columns, 0.0);
        for (std::int64_t t = 0; t < s; ++t) {
            for (std::int64_t j = 0; j < columns; ++j) {
                scratch.with_A[j] += scratch.sums[t] * support.A[at(t * columns + j)];
            }
        }
        for (std::int64_t j = 0; j < support.k; ++j) totals[q * support.k + j] = static_cast<T>(scratch.with_A[j]);
        if (columns > support.k) sum_v += scratch.with_A[support.k];
    }
    *v = sum_v;
}

// Writes the products (see products) of a block of kernels to the arrays of the block; zeros for constant kernels.
template <class T>
void SampleKernels<T>::products_of_block(const Block& block, const Prepared& support, Scratch& scratch,
                                         Run& run) const {
    const std::int64_t n = n_samples(), per_kernel = n_classes() * support.k;
    for (std::int64_t p = 0; p < block.count; ++p) {
        T *c = block.c + p * n, *totals = block.totals + p * per_kernel;
        if (is_constant(block[p])) {
            std::fill_n(c, n, T(0));
            std::fill_n(totals, per_kernel, T(0));
            block.v[p] = 0;
        } else if (!one_feature_each_) {
            products_of_kernel(block[p], support, scratch, run, c, totals, block.v + p);
        }
    }
    if (one_feature_each_) products_of_features(block, support, scratch, run);
}

template <class T>
void SampleKernels<T>::products(const std::vector<std::int64_t>& which, const Support& support, Run& run, T* c,
                                T* totals, double* v) const {
    const std::int64_t count = static_cast<std::int64_t>(which.size()), step = one_feature_each_ ? kBlockKernels : 1;
    const Prepared prepared(*this, support);
    std::vector<Scratch> scratch(at(run.n_threads()));
    parallel_for(run, ceil_div(count, step), [&](std::int64_t task, int slot) {
        const std::int64_t first = task * step;
        const Run::Part part(run, share(first, count), share(std::min(first + step, count), count));
        const Block block{which.data() + first,
                          first,
                          std::min(step, count - first),
                          c + first * n_samples(),
                          totals + first * n_classes() * support.k,
                          v + first};
        products_of_block(block, prepared, scratch[at(slot)], run);
    });
}

// Computes the products of all kernels block by block, and calls visit(first kernel, count, c, totals, v) once per
// block, from several threads; the arrays last for the call.
template <class T>
void SampleKernels<T>::for_products(const Support& support, Run& run, const Visit& visit) const {
    const std::int64_t count = n_kernels(), step = one_feature_each_ ? kBlockKernels : 1;
    const Prepared prepared(*this, support);
    std::vector<Scratch> scratch(at(run.n_threads()));
    parallel_for(run, ceil_div(count, step), [&](std::int64_t task, int slot) {
        Scratch& thread_scratch = scratch[at(slot)];
        if (thread_scratch.block_c.size() == 0) {
            thread_scratch.block_c = Buffer<T>(step * n_samples());
            thread_scratch.block_total = Buffer<T>(step * n_classes() * support.k);
            thread_scratch.block_v = Buffer<double>(step);
        }
        const std::int64_t first = task * step;
        const Run::Part part(run, share(first, count), share(std::min(first + step, count), count));
        const Block block{nullptr,
                          first,
                          std::min(step, count - first),
                          thread_scratch.block_c.data(),
                          thread_scratch.block_total.data(),
                          thread_scratch.block_v.data()};
        products_of_block(block, prepared, thread_scratch, run);
        visit(first, block.count, block.c, block.totals, block.v);
    });
}

// ---- memory --------------------------------------------------------------------------------------------------------

template <class T>
std::int64_t SampleKernels<T>::memory(const KernelSource& source, std::int64_t n_classes, int n_threads) {
    constexpr std::int64_t kSize = sizeof(T), kUnit = kRowUnit<T>;
    const std::int64_t n = source.n_samples, d = source.X ? source.X->n_cols() : 0, m = source.n_kernels;
    const std::int64_t object = 48 * d + 24 * m, total = n * n * 8;
    if (source.X && m == d) {
        const std::int64_t columns = n + 1;  // k and row_factors
        const std::int64_t scratch = n * (2 * kBlockKernels + kUnit) * kSize + n_classes * (n + columns) * kUnit * 8 +
                                     kBlockKernels * n_classes * n * kSize;
        return object + total + n * n * kSize + n_threads * scratch;
    }
    const std::int64_t held = source.matrices ? 0 : std::max(kBatchBytes, total);
    return object + total + held + n_threads * (source.matrices ? 0 : total);
}

template class SampleKernels<float>;
template class SampleKernels<double>;

}  // namespace fastfs::core
