#include "kernels/sample_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "fastfs/fastfs.h"
#include "kernels/isa/tiles.hpp"
#include "kernels/margin.hpp"
#include "support/errors.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// Kernels of a task.
constexpr std::int64_t kBlockKernels = 64;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

template <class T>
struct SampleKernels<T>::Block {
    const std::int64_t* which;  // nullptr: first, first + 1, ..
    std::int64_t first, count;
    T *c, *totals;
    double* v;

    std::int64_t operator[](std::int64_t p) const { return which ? which[p] : first + p; }
};

template <class T>
struct SampleKernels<T>::Scratch {
    Buffer<double> K;
    std::vector<double> sums;  // s x C
    Buffer<T> c, totals;
    Buffer<double> v;
};

// ---- features and widths -------------------------------------------------------------------------------------------

template <class T>
SampleKernels<T>::SampleKernels(const KernelSource& source, std::vector<std::int64_t> order,
                                std::vector<std::int64_t> class_begins, Run& run)
    : source_(source), order_(std::move(order)), class_begins_(std::move(class_begins)), classes_(order_.size()) {
    for (std::int64_t q = 0; q < n_classes(); ++q) {
        std::fill(classes_.begin() + class_begins_[at(q)], classes_.begin() + class_begins_[at(q + 1)], q);
    }
    if (source_.X) find_features(run);
}

template <class T>
void SampleKernels<T>::find_features(Run& run) {
    FeatureScales found = find_scales(*source_.X, Scaling::kStandard, run);
    means_ = std::move(found.shift);
    scales_ = std::move(found.factor);
    const std::int64_t d = source_.X->n_cols(), m = n_kernels();
    std::vector<double> deviations(at(d));
    for (std::size_t f = 0; f < deviations.size(); ++f) {
        if (scales_[f] == 0) continue;
        deviations[f] = source_.standardize ? 1 : 1 / scales_[f];
        scales_[f] = source_.standardize ? 1 / scales_[f] : 1;
    }

    const auto group = [&](std::int64_t f) { return source_.groups ? source_.groups[f] : m == d ? f : 0; };
    begins_.assign(at(m + 1), 0);
    for (std::int64_t f = 0; f < d; ++f) begins_[at(group(f) + 1)] += scales_[at(f)] != 0;
    for (std::int64_t g = 0; g < m; ++g) begins_[at(g + 1)] += begins_[at(g)];
    features_.resize(at(begins_.back()));
    std::vector<std::int64_t> next(begins_.begin(), begins_.end() - 1);
    for (std::int64_t f = 0; f < d; ++f) {
        if (scales_[at(f)] != 0) features_[at(next[at(group(f))]++)] = f;
    }
    find_widths(deviations, run);
}

template <class T>
void SampleKernels<T>::find_widths(const std::vector<double>& deviations, Run& run) {
    const std::int64_t n = n_samples();
    const auto pairs = static_cast<double>(n) * static_cast<double>(n - 1) / 2;
    deltas_.assign(at(n_kernels()), 0.0);
    parallel_for(run, n_kernels(), [&](std::int64_t m, int) {
        const std::int64_t begin = begins_[at(m)], end = begins_[at(m + 1)];
        if (begin == end) return;
        double unit = 0, squares = 0;
        for (std::int64_t f = begin; f < end; ++f) unit = std::max(unit, deviations[at(features_[at(f)])]);
        for (std::int64_t f = begin; f < end; ++f) {
            const double ratio = deviations[at(features_[at(f)])] / unit;
            squares += ratio * ratio;
        }
        double delta = source_.delta;
        if (source_.width == FASTFS_WIDTH_MEAN_SQUARED) {
            delta = squares * unit * unit * 2 * static_cast<double>(n) / static_cast<double>(n - 1);
        } else if (source_.width == FASTFS_WIDTH_MEAN) {
            ScaledFeatures data{&*source_.X, {}, {}, {}};
            for (std::int64_t f = begin; f < end; ++f) {
                const auto feature = at(features_[at(f)]);
                data.features.push_back(features_[at(f)]);
                data.shift.push_back(means_[feature]);
                data.factor.push_back(1 / (scales_[feature] * unit));
            }
            Buffer<double> D(n * n);
            pair_sums<T>(data, 0, n, data, 0, n, Difference::kSquared, D.data(), n, run);
            double sum = 0;
            for (std::int64_t i = 0; i < n; ++i) {
                for (std::int64_t j = 0; j < i; ++j) sum += std::sqrt(D[i * n + j]);
            }
            delta = sum / pairs * unit;
        }
        if (!std::isnormal(delta) || !std::isnormal(1 / std::sqrt(delta)) || unit / std::sqrt(delta) > 1e15) {
            throw InvalidArgument("kernel " + std::to_string(m) + " needs a width that fits its features, but has " +
                                  text(delta) + ", and they deviate by " + text(unit) + ": standardise them");
        }
        deltas_[at(m)] = delta;
    });
}

// ---- one kernel ----------------------------------------------------------------------------------------------------

template <class T>
void SampleKernels<T>::kernel(std::int64_t m, Run& run, double* K) const {
    const std::int64_t n = n_samples();
    ScaledFeatures data{&*source_.X, {}, {}, {}};
    for (std::int64_t f = begins_[at(m)]; f < begins_[at(m + 1)]; ++f) {
        const auto feature = at(features_[at(f)]);
        data.features.push_back(features_[at(f)]);
        data.shift.push_back(means_[feature]);
        data.factor.push_back(1 / (scales_[feature] * std::sqrt(deltas_[at(m)])));
    }
    pair_sums<T>(data, 0, n, data, 0, n, Difference::kSquared, K, n, run);
    for (std::int64_t e = 0; e < n * n; ++e) K[e] = std::exp(-K[e]);
}

// ---- sums ----------------------------------------------------------------------------------------------------------

template <class T>
void SampleKernels<T>::sum(const std::vector<std::int64_t>& which, const std::vector<double>& weights, Run& run,
                           T* K) const {
    const std::int64_t n = n_samples();
    Buffer<double> total(n * n), one(source_.matrices ? 0 : n * n);
    std::fill_n(total.data(), n * n, 0.0);
    for (std::size_t w = 0; w < which.size(); ++w) {
        run.checkpoint();
        if (is_constant(which[w])) continue;
        const double* from = source_.matrices + which[w] * n * n;
        if (!source_.matrices) {
            kernel(which[w], run, one.data());
            from = one.data();
        }
        for (std::int64_t e = 0; e < n * n; ++e) total[e] += weights[w] * from[e];
    }
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) {
            const std::int64_t a = order_[at(i)], b = order_[at(j)];
            K[i * n + j] = K[j * n + i] = static_cast<T>(total[std::max(a, b) * n + std::min(a, b)]);
        }
    }
}

// ---- products ------------------------------------------------------------------------------------------------------

template <class T>
void SampleKernels<T>::block(const Block& block, const Support& support, Scratch& scratch, Run& run) const {
    const std::int64_t n = n_samples(), C = n_classes(), k = support.k;
    const auto s = static_cast<std::int64_t>(support.rows.size());
    for (std::int64_t p = 0; p < block.count; ++p) {
        run.checkpoint();
        T *c = block.c + p * n, *totals = block.totals + p * C * k;
        std::fill_n(c, n, T(0));
        std::fill_n(totals, C * k, T(0));
        block.v[p] = 0;
        const std::int64_t m = block[p];
        if (is_constant(m)) continue;
        const double* K = source_.matrices + m * n * n;
        if (!source_.matrices) {
            if (scratch.K.size() == 0) scratch.K = Buffer<double>(n * n);
            kernel(m, run, scratch.K.data());
            K = scratch.K.data();
        }
        scratch.sums.assign(at(s * C), 0.0);
        double v = 0;
        for (std::int64_t i = 0, row = 0; i < n; ++i) {
            const std::int64_t q = classes_[at(i)], a = order_[at(i)];
            const bool in_support = row < s && support.rows[at(row)] == i;
            double sum = 0;
            for (std::int64_t t = 0; t < s; ++t) {
                const std::int64_t b = order_[at(support.rows[at(t)])];
                const double e = K[std::max(a, b) * n + std::min(a, b)];
                sum += e * support.by_class[at(t * C + q)];
                scratch.sums[at(t * C + q)] += e;
                if (in_support && !support.pair_factors.empty()) v += support.pair_factors[at(row * s + t)] * e;
            }
            c[i] = static_cast<T>(sum);
            row += in_support;
        }
        for (std::int64_t q = 0; q < C; ++q) {
            for (std::int64_t j = 0; j < k; ++j) {
                double sum = 0;
                for (std::int64_t t = 0; t < s; ++t) sum += scratch.sums[at(t * C + q)] * support.A[at(t * k + j)];
                totals[q * k + j] = static_cast<T>(sum);
            }
            for (std::int64_t t = 0; t < s && !support.row_factors.empty(); ++t) {
                v += support.row_factors[at(t)] * scratch.sums[at(t * C + q)];
            }
        }
        block.v[p] = v;
    }
}

template <class T>
void SampleKernels<T>::products(const std::vector<std::int64_t>& which, const Support& support, Run& run, T* c,
                                T* totals, double* v) const {
    const auto count = static_cast<std::int64_t>(which.size());
    std::vector<Scratch> scratch(at(run.n_threads()));
    parallel_for(run, (count + kBlockKernels - 1) / kBlockKernels, [&](std::int64_t task, int slot) {
        const std::int64_t first = task * kBlockKernels;
        block({which.data() + first, first, std::min(kBlockKernels, count - first), c + first * n_samples(),
               totals + first * n_classes() * support.k, v + first},
              support, scratch[at(slot)], run);
    });
}

template <class T>
void SampleKernels<T>::for_products(const Support& support, Run& run, const Visit& visit) const {
    const std::int64_t count = n_kernels();
    std::vector<Scratch> scratch(at(run.n_threads()));
    parallel_for(run, (count + kBlockKernels - 1) / kBlockKernels, [&](std::int64_t task, int slot) {
        Scratch& own = scratch[at(slot)];
        if (own.c.size() == 0) {
            own.c = Buffer<T>(kBlockKernels * n_samples());
            own.totals = Buffer<T>(kBlockKernels * n_classes() * support.k);
            own.v = Buffer<double>(kBlockKernels);
        }
        const std::int64_t first = task * kBlockKernels;
        const Block all{nullptr,           first,       std::min(kBlockKernels, count - first), own.c.data(),
                        own.totals.data(), own.v.data()};
        block(all, support, own, run);
        visit(first, all.count, all.c, all.totals, all.v);
    });
}

// ---- memory --------------------------------------------------------------------------------------------------------

template <class T>
std::int64_t SampleKernels<T>::products_memory(std::int64_t k) const {
    return n_kernels() * ((n_samples() + n_classes() * k) * static_cast<std::int64_t>(sizeof(T)) + 8);
}

template <class T>
std::int64_t SampleKernels<T>::memory(const KernelSource& source, std::int64_t n_classes, int n_threads) {
    const std::int64_t n = source.n_samples, d = source.X ? source.X->n_cols() : 0;
    return 32 * d + 16 * source.n_kernels + n_threads * (n * n * 16 + n * n_classes * 8);
}

template class SampleKernels<float>;
template class SampleKernels<double>;

}  // namespace fastfs::core
