#include "ikdr/products.hpp"

#include <limits>
#include <numeric>

#include "engines/isa/tiles.hpp"

namespace fastfs::core {

Support support_of(const SortedSamples& samples, const Terms& terms, const Numbers& A, const Numbers& P,
                   std::int64_t k) {
    const std::int64_t N = samples.n_samples(), C = samples.n_classes();
    Support support;
    support.k = k;
    for (std::int64_t t = 0; t < N; ++t) {
        bool used = false;
        for (std::int64_t j = 0; j < k; ++j) used = used || A[at(j * N + t)] != 0;
        if (!used) continue;
        support.rows.push_back(t);
        for (std::int64_t j = 0; j < k; ++j) support.A.push_back(A[at(j * N + t)]);
    }
    const std::size_t s = support.rows.size(), n_components = at(k);
    const auto product = [&](const double* left, const double* right) {
        return std::inner_product(left, left + n_components, right, 0.0);
    };
    for (std::size_t t = 0; t < s; ++t) {
        for (std::int64_t q = 0; q < C; ++q)
            support.by_class.push_back(product(&support.A[t * n_components], &P[at(q * k)]));
    }
    if (terms.mu == 0) return support;
    for (std::size_t t = 0; t < s; ++t) {
        const double* row = &support.A[t * n_components];
        support.row_factors.push_back(terms.distance ? 0 : terms.mu * product(row, row));
        for (std::size_t u = 0; u < s; ++u)
            support.pair_factors.push_back(-terms.mu * product(row, &support.A[u * n_components]));
    }
    return support;
}

// Refers to the kernels and the support. With `store`, computes phi and v of all kernels, otherwise they are computed
// anew in each use. with_c: phi begins with c, a value for each sample.
template <class T>
Products<T>::Products(const SampleKernels<T>& kernels, const Support& support, bool with_c, bool store, Run& run)
    : kernels_(kernels),
      support_(support),
      run_(run),
      n_c_(with_c ? kernels.n_samples() : 0),
      n_totals_(kernels.n_classes() * support.k) {
    if (!store) return;
    const std::int64_t d = kernels.n_kernels();
    phi_ = Buffer<T>(d * size());
    v_ = numbers(d);
    kernels.for_products(support, run,
                         [&](std::int64_t first, std::int64_t count, const T* c, const T* totals, const double* v) {
                             for (std::int64_t b = 0; b < count; ++b)
                                 write_products(b, c, totals, phi_.data() + (first + b) * size());
                             std::copy_n(v, count, v_.begin() + first);
                         });
}

template <class T>
Numbers Products<T>::prices(const Numbers& g) const {
    const std::int64_t d = kernels_.n_kernels();
    Numbers prices = numbers(d);
    const RowKernels<T>& kernel = row_kernels<T>();
    if (phi_.size() > 0) {
        constexpr std::int64_t kKernels = 256;
        for_each(run_, ceil_div(d, kKernels), phi_.size() >= kWorthThreads, [&](std::int64_t task) {
            const std::int64_t first = task * kKernels, count = std::min(kKernels, d - first);
            const T* rows[kKernels];
            // Sums of c and of totals are separate, as below, so that the memory budget changes no bit.
            double c_price[kKernels] = {}, totals_price[kKernels];
            for (std::int64_t b = 0; b < count; ++b) rows[b] = phi_.data() + (first + b) * size();
            if (n_c_ > 0) kernel.dots(rows, count, g.data(), n_c_, c_price);
            for (std::int64_t b = 0; b < count; ++b) rows[b] += n_c_;
            kernel.dots(rows, count, g.data() + n_c_, n_totals_, totals_price);
            for (std::int64_t b = 0; b < count; ++b)
                prices[at(first + b)] = c_price[b] + totals_price[b] + v_[at(first + b)];
        });
    } else {
        kernels_.for_products(
            support_, run_, [&](std::int64_t first, std::int64_t count, const T* c, const T* totals, const double* v) {
                for (std::int64_t b = 0; b < count; ++b) {
                    const T *c_row = c + b * n_c_, *totals_row = totals + b * n_totals_;
                    double c_price = 0, totals_price = 0;
                    if (n_c_ > 0) kernel.dots(&c_row, 1, g.data(), n_c_, &c_price);
                    kernel.dots(&totals_row, 1, g.data() + n_c_, n_totals_, &totals_price);
                    prices[at(first + b)] = c_price + totals_price + v[b];
                }
            });
    }
    for (std::int64_t m = 0; m < d; ++m) {
        if (kernels_.is_constant(m)) prices[at(m)] = std::numeric_limits<double>::infinity();
    }
    return prices;
}

template <class T>
void Products<T>::gather_products(const std::vector<std::int64_t>& which, Numbers& phi, Numbers& v) const {
    const auto count = static_cast<std::int64_t>(which.size());
    if (phi_.size() > 0) {
        for (std::int64_t m : which) {
            const T* row = phi_.data() + m * size();
            phi.insert(phi.end(), row, row + size());
            v.push_back(v_[at(m)]);
        }
        return;
    }
    Buffer<T> c(count * kernels_.n_samples()), totals(count * n_totals_);
    Numbers v_of_which = numbers(count);
    kernels_.products(which, support_, run_, c.data(), totals.data(), v_of_which.data());
    for (std::int64_t b = 0; b < count; ++b) {
        phi.resize(phi.size() + at(size()));
        write_products(b, c.data(), totals.data(), phi.data() + phi.size() - size());
    }
    v.insert(v.end(), v_of_which.begin(), v_of_which.end());
}

template class Products<float>;
template class Products<double>;

}  // namespace fastfs::core
