// Kernels between samples, one a feature, a group or a matrix, against plain loops. Exits with 77 (skipped) if
// FASTFS_ISA names a set that this machine hasn't.
#include "ikdr/sample_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "engines/isa/tiles.hpp"
#include "support/errors.hpp"
#include "tests.hpp"

namespace {

using namespace fastfs::core;

// Samples in a random order, C classes of uneven sizes.
struct Classes {
    std::vector<std::int64_t> order, begins, of;  // of: class of sample i

    Classes(std::int64_t n, std::int64_t C) : order(static_cast<std::size_t>(n)), begins{0} {
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), engine);
        for (std::int64_t q = 1; q < C; ++q)
            begins.push_back(begins.back() + 1 + below((n - begins.back()) / (C - q + 1)));
        begins.push_back(n);
        for (std::int64_t q = 0; q < C; ++q)
            of.insert(of.end(), static_cast<std::size_t>(begins[q + 1] - begins[q]), q);
    }
};

Support random_support(const Classes& classes, std::int64_t s, std::int64_t k, bool with_v) {
    Support support;
    const auto n = static_cast<std::int64_t>(classes.order.size());
    std::vector<std::int64_t> rows(static_cast<std::size_t>(n));
    std::iota(rows.begin(), rows.end(), 0);
    std::shuffle(rows.begin(), rows.end(), engine);
    rows.resize(static_cast<std::size_t>(s));
    std::sort(rows.begin(), rows.end());
    support.rows = rows;
    support.k = k;
    const auto C = static_cast<std::int64_t>(classes.begins.size()) - 1;
    for (std::int64_t e = 0; e < s * k; ++e) support.A.push_back(below(2) ? std::abs(normal()) : 0);
    for (std::int64_t e = 0; e < s * C; ++e) support.by_class.push_back(normal());
    if (!with_v) return support;
    for (std::int64_t e = 0; e < s; ++e) support.row_factors.push_back(normal());
    support.pair_factors.resize(static_cast<std::size_t>(s * s));
    for (std::int64_t a = 0; a < s; ++a) {
        for (std::int64_t b = 0; b <= a; ++b) {
            support.pair_factors[static_cast<std::size_t>(a * s + b)] =
                support.pair_factors[static_cast<std::size_t>(b * s + a)] = normal();
        }
    }
    return support;
}

// A kernel between the caller's samples, in double, and a bound on its change by rounding the scaled values to T.
struct Plain {
    double delta = 0, delta_error = 0;  // relative
    std::vector<double> K, error;
};

template <class T>
Plain plain_kernel(const Data<T>& X, const KernelSource& source, const std::vector<std::int64_t>& features) {
    const double eps = std::numeric_limits<T>::epsilon();
    const std::int64_t n = X.m.n_rows;
    const auto count = static_cast<double>(n);
    Plain plain;
    std::vector<double> D(static_cast<std::size_t>(n * n)), rounding(D);
    plain.K.assign(D.size(), 0.0);
    plain.error.assign(D.size(), 0.0);
    std::vector<double> scales, z;
    double size = 0;  // to keep squares within range
    for (const std::int64_t f : features) {
        double low = X.at(0, f), high = low, mean = 0, square = 0;
        for (std::int64_t r = 1; r < n; ++r) {
            low = std::min<double>(low, X.at(r, f));
            high = std::max<double>(high, X.at(r, f));
        }
        if (low == high) continue;
        for (std::int64_t r = 0; r < n; ++r) mean += (X.at(r, f) - low) / (high - low) / count;
        for (std::int64_t r = 0; r < n; ++r) {
            z.push_back((X.at(r, f) - low) / (high - low) - mean);
            square += z.back() * z.back() / count;
        }
        const double unit = source.standardize ? 1 / std::sqrt(square) : high - low;
        for (std::size_t r = z.size() - static_cast<std::size_t>(n); r < z.size(); ++r) z[r] *= unit;
        size = std::max(size, source.standardize ? 1.0 : high - low);
    }
    if (z.empty()) return plain;
    for (std::size_t e = 0; e < z.size(); ++e) z[e] /= size;
    double squares = 0, distances = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
            const auto at = static_cast<std::size_t>(i * n + j);
            for (std::size_t f = 0; f < z.size(); f += static_cast<std::size_t>(n)) {
                const double a = z[f + static_cast<std::size_t>(i)], b = z[f + static_cast<std::size_t>(j)];
                D[at] += (a - b) * (a - b);
                const double of_d = eps * (std::abs(a) + std::abs(b));
                rounding[at] += 2 * of_d * std::abs(a - b) + of_d * of_d;
            }
            squares += D[at] / (count * (count - 1));
            distances += std::sqrt(D[at]) / (count * (count - 1));
        }
    }
    plain.delta = source.width == FASTFS_WIDTH_GIVEN  ? source.delta
                  : source.width == FASTFS_WIDTH_MEAN ? distances * size
                                                      : squares * size * size;
    // Both sides add up n^2 terms, and distances are between values rounded to T.
    plain.delta_error = count * count * std::numeric_limits<double>::epsilon();
    if (source.width == FASTFS_WIDTH_MEAN) plain.delta_error += 4 * eps;
    const double unit = size / std::sqrt(plain.delta);
    for (std::size_t e = 0; e < D.size(); ++e) {
        const double d = D[e] * unit * unit;
        plain.K[e] = std::exp(-d);
        // The rounding of the exponential is relative, the rounding of its argument absolute; sums of a group take
        // lanes of up to 200 terms.
        const double of_d = rounding[e] * unit * unit + ((features.size() > 1 ? 200 : 2) * eps + plain.delta_error) * d;
        plain.error[e] = plain.K[e] * (std::expm1(of_d) + 4 * eps);
        plain.error[e] += sizeof(T) == 4 ? 2e-38 : 4e-308;  // where the vector exponential stops
    }
    return plain;
}

template <class T>
struct Case {
    const Classes& classes;
    const SampleKernels<T>& kernels;
    const std::vector<Plain>& plain;
    double eps = std::numeric_limits<T>::epsilon();

    std::int64_t n() const { return kernels.n_samples(); }
    std::size_t at(std::int64_t i, std::int64_t j) const {
        return static_cast<std::size_t>(classes.order[static_cast<std::size_t>(i)] * n() +
                                        classes.order[static_cast<std::size_t>(j)]);
    }

    void test_sum(const std::vector<std::int64_t>& which) const {
        std::vector<double> weights;
        for (std::size_t w = 0; w < which.size(); ++w) weights.push_back(std::abs(normal()));
        std::vector<T> K(static_cast<std::size_t>(n() * n()), T(-1));
        Run one(threads(1));
        kernels.sum_kernels(which, weights, one, K.data());
        bool close = true, symmetric = true;
        for (std::int64_t i = 0; i < n(); ++i) {
            for (std::int64_t j = 0; j < n(); ++j) {
                const auto found = static_cast<double>(K[static_cast<std::size_t>(i * n() + j)]);
                symmetric = symmetric && found == static_cast<double>(K[static_cast<std::size_t>(j * n() + i)]);
                double sum = 0, error = 0;
                for (std::size_t w = 0; w < which.size(); ++w) {
                    const Plain& one_kernel = plain[static_cast<std::size_t>(which[w])];
                    if (one_kernel.K.empty() || one_kernel.delta == 0) continue;
                    sum += weights[w] * one_kernel.K[at(i, j)];
                    error += weights[w] * one_kernel.error[at(i, j)];
                }
                // A lane holds up to 192 terms.
                close = close && std::abs(found - sum) <= error + 200 * eps * sum;
            }
        }
        CHECK(close);
        CHECK(symmetric);
        for (int n_threads = 2; n_threads <= 4; ++n_threads) {
            std::vector<T> again(K.size());
            Run more(threads(n_threads));
            kernels.sum_kernels(which, weights, more, again.data());
            CHECK(again == K);
        }
    }

    void test_products(const std::vector<std::int64_t>& which, const Support& support) const {
        const auto s = static_cast<std::int64_t>(support.rows.size());
        const std::int64_t C = kernels.n_classes(), k = support.k, m = static_cast<std::int64_t>(which.size());
        std::vector<T> c(static_cast<std::size_t>(m * n()), T(7)), totals(static_cast<std::size_t>(m * C * k), T(7));
        std::vector<double> v(static_cast<std::size_t>(m), 7.0);
        Run one(threads(1));
        kernels.products(which, support, one, c.data(), totals.data(), v.data());
        bool c_close = true, totals_close = true, v_close = true;
        for (std::int64_t w = 0; w < m; ++w) {
            const Plain& of = plain[static_cast<std::size_t>(which[static_cast<std::size_t>(w)])];
            const bool constant = of.delta == 0;
            std::vector<double> total(static_cast<std::size_t>(C * k)), total_error(total);
            double sum_v = 0, error_v = 0;
            for (std::int64_t i = 0; i < n(); ++i) {
                const std::int64_t q = classes.of[static_cast<std::size_t>(i)];
                const auto row = std::find(support.rows.begin(), support.rows.end(), i) - support.rows.begin();
                double sum = 0, error = 0;
                for (std::int64_t t = 0; t < s; ++t) {
                    const std::size_t e = at(i, support.rows[static_cast<std::size_t>(t)]);
                    const double K = constant ? 0 : of.K[e], K_error = constant ? 0 : of.error[e] + 200 * eps * K;
                    const auto add = [&](double factor, double& to, double& to_error) {
                        to += factor * K;
                        to_error += std::abs(factor) * K_error;
                    };
                    add(support.by_class[static_cast<std::size_t>(t * C + q)], sum, error);
                    for (std::int64_t j = 0; j < k; ++j) {
                        const auto to = static_cast<std::size_t>(q * k + j);
                        add(support.A[static_cast<std::size_t>(t * k + j)], total[to], total_error[to]);
                    }
                    if (support.row_factors.empty()) continue;
                    add(support.row_factors[static_cast<std::size_t>(t)], sum_v, error_v);
                    if (row == s) continue;
                    add(support.pair_factors[static_cast<std::size_t>(row * s + t)], sum_v, error_v);
                }
                c_close =
                    c_close && std::abs(static_cast<double>(c[static_cast<std::size_t>(w * n() + i)]) - sum) <= error;
            }
            for (std::size_t e = 0; e < total.size(); ++e) {
                const auto found = static_cast<double>(totals[static_cast<std::size_t>(w * C * k) + e]);
                totals_close = totals_close && std::abs(found - total[e]) <= total_error[e];
            }
            v_close = v_close && std::abs(v[static_cast<std::size_t>(w)] - sum_v) <= error_v;
        }
        CHECK(c_close);
        CHECK(totals_close);
        CHECK(v_close);
        for (int n_threads = 2; n_threads <= 4; ++n_threads) {
            std::vector<T> c_again(c.size()), totals_again(totals.size());
            std::vector<double> v_again(v.size());
            Run more(threads(n_threads));
            kernels.products(which, support, more, c_again.data(), totals_again.data(), v_again.data());
            CHECK(c_again == c && totals_again == totals && v_again == v);
        }
        // The kernels beside a kernel don't matter; the visitor sees all kernels.
        std::vector<T> c_all(static_cast<std::size_t>(kernels.n_kernels() * n())),
            totals_all(static_cast<std::size_t>(kernels.n_kernels() * C * k));
        std::vector<double> v_all(static_cast<std::size_t>(kernels.n_kernels()));
        Run two(threads(2));
        kernels.for_products(support, two,
                             [&](std::int64_t first, std::int64_t count, const T* c_block, const T* totals_block,
                                 const double* v_block) {
                                 std::copy_n(c_block, count * n(), c_all.data() + first * n());
                                 std::copy_n(totals_block, count * C * k, totals_all.data() + first * C * k);
                                 std::copy_n(v_block, count, v_all.data() + first);
                             });
        bool same = true;
        for (std::int64_t w = 0; w < m; ++w) {
            const std::int64_t of = which[static_cast<std::size_t>(w)];
            same = same && std::equal(c.data() + w * n(), c.data() + (w + 1) * n(), c_all.data() + of * n()) &&
                   std::equal(totals.data() + w * C * k, totals.data() + (w + 1) * C * k,
                              totals_all.data() + of * C * k) &&
                   v[static_cast<std::size_t>(w)] == v_all[static_cast<std::size_t>(of)];
        }
        CHECK(same);
    }

    void test(std::int64_t s, std::int64_t k, bool with_v) const {
        std::vector<std::int64_t> some, all(static_cast<std::size_t>(kernels.n_kernels()));
        std::iota(all.begin(), all.end(), 0);
        for (const std::int64_t m : all) {
            if (below(3) == 0) some.push_back(m);
        }
        std::shuffle(some.begin(), some.end(), engine);
        test_sum(all);
        test_sum(some);
        test_products(all, random_support(classes, s, k, with_v));
        test_products(some, random_support(classes, s, k, with_v));
    }
};

template <class T>
void test_features(std::int64_t n, std::int64_t d, std::int64_t C, int layout, std::int64_t n_groups,
                   KernelSource source, std::int64_t s, std::int64_t k, bool with_v) {
    const Data<T> X(n, d, layout);
    if (d > 2) {
        const double offset = sizeof(T) == 8 ? 1e8 : 1e3, scale = sizeof(T) == 8 ? 1e-200 : 1e-30;
        for (std::int64_t r = 0; r < n; ++r) {
            X.at(r, 1) += static_cast<T>(offset);
            if (source.standardize) X.at(r, 0) *= static_cast<T>(scale);
            if (d > 3) X.at(r, 3) = T(2.5);
        }
    }
    source.X.emplace(X.m);
    source.n_samples = n;
    source.n_kernels = n_groups;
    std::vector<std::int64_t> groups;
    std::vector<std::vector<std::int64_t>> features(static_cast<std::size_t>(n_groups));
    const bool one_each = n_groups == d && below(2) > 0;
    for (std::int64_t f = 0; f < d; ++f) {
        groups.push_back(one_each ? f : f < n_groups ? n_groups - 1 - f : below(n_groups));
        features[static_cast<std::size_t>(groups.back())].push_back(f);
    }
    if (n_groups > 1 && !one_each) source.groups = groups.data();

    const Classes classes(n, C);
    Run run(threads(2));
    const SampleKernels<T> kernels(source, classes.order, classes.begins, run);
    CHECK(kernels.n_samples() == n && kernels.n_kernels() == n_groups && kernels.n_classes() == C);
    std::vector<Plain> plain;
    bool widths_right = true;
    for (const auto& of : features) {
        plain.push_back(plain_kernel(X, source, of));
        const auto m = static_cast<std::int64_t>(plain.size()) - 1;
        const double found = kernels.deltas()[static_cast<std::size_t>(m)], delta = plain.back().delta;
        widths_right = widths_right && std::abs(found - delta) <= plain.back().delta_error * delta &&
                       kernels.is_constant(m) == (delta == 0);
    }
    CHECK(widths_right);
    Case<T>{classes, kernels, plain}.test(s, k, with_v);
}

template <class T>
void test_bad_input() {
    const Data<T> X(12, 70, 1);
    KernelSource source;
    source.X.emplace(X.m);
    source.n_samples = 12;
    source.n_kernels = 70;
    const Classes classes(12, 3);
    const auto said = [&] {
        Run run(threads(2));
        return refusal([&] { SampleKernels<T>(source, classes.order, classes.begins, run); });
    };
    CHECK(said().empty());
    source.width = FASTFS_WIDTH_GIVEN;
    source.delta = 1e-40;  // values 1e20 widths apart
    CHECK(said().find("the width of kernel 0 must fit") != std::string::npos);
    source.width = FASTFS_WIDTH_MEAN_SQUARED;
    X.at(3, 66) = std::numeric_limits<T>::quiet_NaN();
    CHECK(said().find("row 3, column 66") != std::string::npos);
    for (std::int64_t r = 0; r < 12; ++r) {
        for (std::int64_t f = 0; f < 70; ++f) X.at(r, f) = T(f);
    }
    CHECK(said().find("got 70 constant ones") != std::string::npos);
    if (sizeof(T) == 4) return;
    X.at(5, 69) = static_cast<T>(69 + 1e-13);
    CHECK(said().empty());
    for (std::int64_t r = 0; r < 12; ++r) X.at(r, 69) = static_cast<T>(static_cast<double>(r) * 1e-200);
    CHECK(said().empty());
    source.standardize = false;  // a width of 1e-400
    CHECK(said().find("the width of kernel 69 must fit") != std::string::npos);
}

// A call that is told to stop does, with one kernel a feature and with groups.
void test_cancel() {
    const Data<float> X(150, 2000, 0);
    std::vector<std::int64_t> groups;
    for (std::int64_t f = 0; f < 2000; ++f) groups.push_back(f / 4);
    const Classes classes(150, 2);
    for (const bool grouped : {false, true}) {
        KernelSource source;
        source.X.emplace(X.m);
        source.n_samples = 150;
        source.n_kernels = grouped ? 500 : 2000;
        source.groups = grouped ? groups.data() : nullptr;
        Run quiet(threads(2));
        const SampleKernels<float> kernels(source, classes.order, classes.begins, quiet);
        const Support support = random_support(classes, 150, 2, true);
        struct Shares {
            double last = 0;
            bool ascending = true;
        } shares;
        fastfs_run options = threads(2);
        options.user = &shares;
        options.progress = [](void* user, const char*, double share) {
            auto& seen = *static_cast<Shares*>(user);
            seen.ascending = seen.ascending && share >= seen.last && share <= 1;
            seen.last = share;
            return share > 0.01 ? 1 : 0;
        };
        Run run(options);
        run.step("products", 1.0);
        bool canceled = false;
        try {
            for (int round = 0; round < 200; ++round) {
                const Run::Part part(run, round / 200.0, (round + 1) / 200.0);
                kernels.for_products(support, run, [](auto...) {});
            }
        } catch (const Canceled&) {
            canceled = true;
        }
        CHECK(canceled && shares.ascending && shares.last < 1);
    }
}

// Symmetric matrices, which needn't be kernels here.
void test_matrices(std::int64_t n, std::int64_t m, std::int64_t C, std::int64_t s, std::int64_t k) {
    std::vector<double> matrices(static_cast<std::size_t>(m * n * n));
    std::vector<Plain> plain;
    for (std::int64_t w = 0; w < m; ++w) {
        double* K = matrices.data() + w * n * n;
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = 0; j <= i; ++j) K[i * n + j] = K[j * n + i] = std::abs(normal());
        }
        plain.push_back(
            {1, 0, std::vector<double>(K, K + n * n), std::vector<double>(static_cast<std::size_t>(n * n))});
    }
    KernelSource source;
    source.matrices = matrices.data();
    source.n_kernels = m;
    source.n_samples = n;
    const Classes classes(n, C);
    Run run(threads(2));
    const SampleKernels<double> kernels(source, classes.order, classes.begins, run);
    CHECK(kernels.deltas().empty() && !kernels.is_constant(0));
    Case<double>{classes, kernels, plain}.test(s, k, true);
}

template <class T>
void test_all() {
    for (const std::int64_t n : {2, 5, 17, 66, 131}) {
        for (const std::int64_t d : {1, 2, 7, 16, 65, 150}) {
            for (int layout = 0; layout < 4; ++layout) {
                KernelSource source;
                source.standardize = below(3) > 0;
                source.width = static_cast<int>(below(3));
                source.delta = 0.7;
                const std::int64_t n_groups = d == 1 || below(2) ? d : 1 + below(std::min<std::int64_t>(d, 9));
                const std::int64_t C = 2 + below(std::min<std::int64_t>(n - 1, 4));
                test_features<T>(n, d, C, layout, n_groups, source, 1 + below(n), 1 + below(4), below(2));
            }
        }
    }
}

}  // namespace

int main() {
    try {
        isa();
    } catch (const InvalidArgument& e) {
        std::printf("skipped: %s\n", e.what());
        return 77;
    }
    test_all<float>();
    test_all<double>();
    test_bad_input<float>();
    test_bad_input<double>();
    test_cancel();
    test_matrices(23, 5, 3, 7, 4);
    test_matrices(70, 70, 2, 70, 2);
    std::printf("%s: %d failures\n", isa().name, failures);
    return failures != 0;
}
