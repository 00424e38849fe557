// Kernels between samples, one per feature, compiled once per instruction set under the rules of tiles.cpp.
#include "engines/isa/exp.hpp"
#include "engines/isa/tiles.hpp"
#include "engines/isa/vector.hpp"

namespace fastfs::core {
namespace {

template <class T>
struct Doubles {
    static constexpr int kBytes = Vector<T>::kLanes * static_cast<int>(sizeof(double));
    typedef double Type __attribute__((vector_size(kBytes)));
    typedef double InMemory __attribute__((vector_size(kBytes), aligned(sizeof(double)), may_alias));
};

// Adds the values of a register of T to as many doubles at `to`.
template <class T>
inline void add_as_doubles(double* to, typename Vector<T>::Type x) {
    auto& at = *reinterpret_cast<typename Doubles<T>::InMemory*>(to);
    at = at + __builtin_convertvector(x, typename Doubles<T>::Type);
}

// Computes e = exp(-(x_i - y_s)^2) for n samples of x and kSamples samples y, in the features of one register, from
// `lane` on: adds sum_s weights[s] e to c[i], sum_i e to totals[s], and with pair_factors, sum_is pair_factors[i][first
// + s] e to `pairs` (SampleTileKernels::products).
template <class T, int kSamples>
inline void add_gaussian_sums(const T* x, std::int64_t ld, const std::int64_t* rows, std::int64_t n, const T* const* y,
                              std::int64_t lane, const T* weights, const T* const* pair_factors, std::int64_t first,
                              T* c, double* totals, double* pairs) {
    using V = typename Vector<T>::Type;
    V other[kSamples], weight[kSamples], total[kSamples] = {}, pair_sum = {};
    for (int s = 0; s < kSamples; ++s) {
        other[s] = load(y[s] + lane);
        weight[s] = V{} + weights[s];
    }
    for (std::int64_t i = 0; i < n; ++i) {
        const V value = load(x + rows[i] * ld + lane);
        V e[kSamples], sum = {};
        for (int s = 0; s < kSamples; ++s) {
            const V d = value - other[s];
            e[s] = exp_of<T, V, typename Vector<T>::Ints>(-d * d);
            sum += weight[s] * e[s];
            total[s] += e[s];
        }
        T* to = c + i * kRowUnit<T> + lane;
        store(to, load(to) + sum);
        if (pair_factors && pair_factors[i]) {
            for (int s = 0; s < kSamples; ++s) pair_sum += pair_factors[i][first + s] * e[s];
        }
    }
    for (int s = 0; s < kSamples; ++s) add_as_doubles<T>(totals + s * kRowUnit<T> + lane, total[s]);
    if (pair_factors) add_as_doubles<T>(pairs + lane, pair_sum);
}

// Compares n samples with n_y samples in a unit of features by e = exp(-(x - y)^2): adds weighted sums of e to c per
// sample, to `totals` per sample of y, and to `pairs`, unless pair_factors is null.
template <class T>
void products(const T* x, std::int64_t ld, const std::int64_t* rows, std::int64_t n, const T* const* y, int n_y,
              const T* weights, const T* const* pair_factors, std::int64_t first, T* c, double* totals, double* pairs) {
    constexpr int kAtOnce = SampleTileKernels<T>::kAtOnce;
    for (std::int64_t lane = 0; lane < kRowUnit<T>; lane += Vector<T>::kLanes) {
        if (n_y == kAtOnce) {
            add_gaussian_sums<T, kAtOnce>(x, ld, rows, n, y, lane, weights, pair_factors, first, c, totals, pairs);
            continue;
        }
        for (int s = 0; s < n_y; ++s) {
            add_gaussian_sums<T, 1>(x, ld, rows, n, y + s, lane, weights + s, pair_factors, first + s, c,
                                    totals + s * kRowUnit<T>, pairs);
        }
    }
}

// Overwrites out[j] (a unit of features), j < k, with the sum of A[s * k + j] totals[s] (a unit) over n rows s of A.
template <class T>
void combine(const double* __restrict totals, const double* __restrict A, std::int64_t n, std::int64_t k,
             double* __restrict out) {
    constexpr std::int64_t kUnit = kRowUnit<T>;
    for (std::int64_t j = 0; j < k; ++j) {
        double sum[kUnit] = {};
        for (std::int64_t s = 0; s < n; ++s) {
            const double a = A[s * k + j];
            if (a == 0) continue;
            for (std::int64_t lane = 0; lane < kUnit; ++lane) sum[lane] += a * totals[s * kUnit + lane];
        }
        for (std::int64_t lane = 0; lane < kUnit; ++lane) out[j * kUnit + lane] = sum[lane];
    }
}

}  // namespace

extern const SampleIsa FASTFS_GLUE(samples_, FASTFS_ISA_NAME);
constexpr SampleIsa FASTFS_GLUE(samples_, FASTFS_ISA_NAME) = {
    {products<float>, combine<float>},
    {products<double>, combine<double>},
};

}  // namespace fastfs::core
