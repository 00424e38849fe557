// I-KDR.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "call.hpp"
#include "fastfs/testing.h"

namespace fuzz {
namespace {

// The embedding by a model whose numbers come from the input alone, against a plain loop.
void try_embed(Input& in) {
    const std::int64_t n = draw_size(in, 1), d = draw_size(in, 1), M = in.from(1, 4), S = in.from(1, 6),
                       k = in.from(1, 3);
    const auto X = draw_table(in, n, d, kDense | kGenotype);
    Random random(in.word());
    std::vector<double> weights, deltas, means, scales, support, coefficients;
    std::vector<std::int64_t> begins{0}, features;
    for (std::int64_t m = 0; m < M; ++m) {
        weights.push_back(in.mostly_real(random.below(3) == 0 ? 0.0 : 0.5));
        deltas.push_back(in.mostly_real(in.pick({1.0, 100.0, 0.01})));
        for (std::int64_t f = random.below(5); f > 0; --f) features.push_back(random.below(d));
        begins.push_back(std::ssize(features));
    }
    const auto draw = [&](std::vector<double>& to, std::int64_t size) {
        for (std::int64_t e = 0; e < size; ++e) to.push_back(draw_value(random, Values::kQuarters));
    };
    const std::int64_t width = std::ssize(features);
    draw(means, width);
    scales.assign(means.size(), in.mostly_real(2.0));
    draw(support, S * width);
    draw(coefficients, S * k);
    if (in.one_in(16) && width > 0) features.back() = in.pick<std::int64_t>({-1, d, kMost64});
    if (in.one_in(32)) begins[static_cast<std::size_t>(in.below(M))] = in.pick<std::int64_t>({-1, width + 1});
    // Empty arrays are no null pointers.
    for (auto* one : {&means, &scales, &support}) one->reserve(1);
    features.reserve(1);
    fastfs_ikdr_model model = FASTFS_IKDR_MODEL_INIT;
    model.n_kernels = M;
    model.weights = weights.data();
    model.deltas = deltas.data();
    model.begins = begins.data();
    model.features = features.data();
    model.means = means.data();
    model.scales = scales.data();
    model.n_support = S;
    model.support = support.data();
    model.n_components = k;
    model.coefficients = coefficients.data();
    std::vector<double> out(static_cast<std::size_t>(n * k));
    const char* const name = "fastfs_ikdr_embed";
    const fastfs_status status =
        attempt(in, {name, [&](const fastfs_run* run) { return fastfs_ikdr_embed(&model, &X->m, run, out.data()); },
                     [&] {
                         Bytes bytes;
                         bytes.add(out);
                         return bytes;
                     },
                     [&] { out.assign(out.size(), 0.0); }});
    expect(!X->broken || status == FASTFS_EINVAL, name, "a broken matrix is accepted");
    if (status != FASTFS_OK || !is_moderate(X->kind)) return;
    const bool plain = std::all_of(weights.begin(), weights.end(), [](double w) { return w == 0 || w == 0.5; }) &&
                       (scales.empty() || scales.front() == 2) &&
                       std::all_of(deltas.begin(), deltas.end(), [](double x) { return x > 1e-3 && x < 1e3; });
    if (!plain) return expect_finite(out.data(), std::ssize(out), name, "value");
    const double epsilon = X->m.dtype == FASTFS_FLOAT32 ? 0x1p-23 : 0x1p-52;
    for (std::int64_t r = 0; r < n; ++r) {
        for (std::int64_t c = 0; c < k; ++c) {
            double wanted = 0, tolerance = 0;
            for (std::int64_t m = 0; m < M; ++m) {
                const auto at = static_cast<std::size_t>(m);
                for (std::int64_t s = 0; s < S && weights[at] > 0; ++s) {
                    double D = 0, norms = 0;
                    for (std::int64_t f = begins[at]; f < begins[at + 1]; ++f) {
                        const auto place = static_cast<std::size_t>(f);
                        const double z = (X->at(r, features[place]) - means[place]) / scales[place];
                        const double other = support[static_cast<std::size_t>(s * width + f)];
                        D += (z - other) * (z - other);
                        norms += z * z + other * other;
                    }
                    const double coefficient = coefficients[static_cast<std::size_t>(s * k + c)];
                    wanted += weights[at] * std::exp(-D / deltas[at]) * coefficient;
                    tolerance += weights[at] * std::abs(coefficient) * epsilon * (64 + 64 * norms / deltas[at]);
                }
            }
            expect_near(out[static_cast<std::size_t>(r * k + c)], wanted, tolerance, name, "a value");
        }
    }
}

}  // namespace

void try_ikdr(Input& in) {
    if (in.one_in(3)) return try_embed(in);
    const std::int64_t n = std::min<std::int64_t>(draw_size(in, 2), 40), d = draw_size(in, 1), C = in.from(2, 3);
    const auto X = draw_table(in, n, d, kDense | kGenotype);
    const auto labels = draw_labels(in, n, C);
    Random random(in.word());
    fastfs_ikdr_kernels kernels = FASTFS_IKDR_KERNELS_INIT;
    std::vector<std::int64_t> groups;
    std::vector<double> matrices;
    const bool by_matrices = in.one_in(4);
    if (by_matrices) {
        kernels.n_kernels = in.from(1, 3);
        kernels.n_samples = in.mostly(n) == n ? n : 2;
        std::vector<double> place;
        for (std::int64_t m = 0; m < kernels.n_kernels; ++m) {
            place.clear();
            for (std::int64_t r = 0; r < n; ++r) place.push_back(draw_value(random, Values::kQuarters) / 8);
            for (std::int64_t a = 0; a < n; ++a) {
                for (std::int64_t b = 0; b < n; ++b) {
                    const double x = place[static_cast<std::size_t>(a)] - place[static_cast<std::size_t>(b)];
                    matrices.push_back(std::exp(-x * x));
                }
            }
        }
        if (in.one_in(8)) matrices[matrices.size() / 2] = in.mostly_real(in.pick({-1.0, 5.0}));
        kernels.matrices = matrices.data();
    } else {
        kernels.X = &X->m;
        kernels.n_kernels = in.pick<std::int64_t>({0, 1, 1});
        if (d >= 3 && in.one_in(3)) {
            kernels.n_kernels = 3;
            for (std::int64_t a = 0; a < d; ++a) groups.push_back(a < 3 ? a : random.below(3));
            if (in.one_in(16)) groups.back() = in.mostly<std::int64_t>(3);
            kernels.groups = groups.data();
        }
        kernels.scaling = in.mostly<std::int32_t>(in.pick({FASTFS_SCALE_NONE, FASTFS_SCALE_STANDARD}));
        kernels.width = in.mostly<std::int32_t>(in.pick({0, 1, 2}));
        kernels.delta = in.mostly_real(in.pick({1.0, 1e-3, 100.0}));
    }
    const std::int64_t of_kernels =
        kernels.matrices || kernels.groups || kernels.n_kernels == 1 ? kernels.n_kernels : d;
    fastfs_ikdr_options o = FASTFS_IKDR_OPTIONS_INIT;
    const double lambdas[] = {in.mostly_real(0.1), in.mostly_real(1.0)};
    if (in.one_in(3)) {
        o.lambdas = lambdas;
        o.n_lambdas = in.from(1, 2);
    }
    o.n_components = in.one_in(2) ? 0 : in.mostly<std::int64_t>(in.from(1, std::min<std::int64_t>(n, 5)));
    o.mu = in.mostly_real(in.pick({0.1, 0.0, 10.0}));
    o.solver = in.mostly<std::int32_t>(in.pick({0, 0, 1}));
    if (o.solver == FASTFS_IKDR_ADMM || in.one_in(3)) {
        o.tau = in.mostly_real(in.pick({10.0, 0.1}));
        o.zeta = in.mostly_real(in.pick({10.0, 0.1}));
    }
    o.interpretability = in.mostly<std::int32_t>(in.pick({0, 1}));
    o.max_iter = in.from(1, 3);
    o.max_inner = in.from(1, 8);
    o.tol = in.mostly_real(in.pick({1e-4, 0.0}));
    o.rho = in.mostly_real(in.pick({1.0, 0.01}));
    o.seed = in.byte();
    const std::int64_t k = o.n_components == 0 ? C : std::clamp<std::int64_t>(o.n_components, 1, n);
    std::vector<double> A(static_cast<std::size_t>(n * k), 1.0 / static_cast<double>(n)),
        weights(static_cast<std::size_t>(std::max<std::int64_t>(of_kernels, 1)),
                1.0 / static_cast<double>(std::max<std::int64_t>(of_kernels, 1)));
    if (in.one_in(8)) A.back() = in.mostly_real(0.5);
    if (in.one_in(4)) o.A = A.data();
    if (in.one_in(4)) o.weights = weights.data();
    fastfs_fitted* fitted = nullptr;
    std::vector<fastfs_ikdr_result> steps(static_cast<std::size_t>(std::max<std::int64_t>(o.n_lambdas, 1)),
                                          FASTFS_IKDR_RESULT_INIT);
    const char* const name = "fastfs_ikdr_fit";
    const auto result = [&] {
        Bytes bytes;
        for (std::int64_t step = 0; fitted && step < o.n_lambdas; ++step) {
            const fastfs_ikdr_result& r = steps[static_cast<std::size_t>(step)];
            bytes.add(r.A, r.n_samples * r.n_components);
            bytes.add(r.embedding, r.n_samples * r.n_components);
            bytes.add(r.weights, r.n_kernels);
            bytes.add(r.history, r.n_iter);
            bytes.add(r.prices, r.n_kernels);
            expect_finite(r.A, r.n_samples * r.n_components, name, "entry of A");
            expect_finite(r.embedding, r.n_samples * r.n_components, name, "entry of B");
            expect_finite(r.weights, r.n_kernels, name, "weight");
            for (std::int64_t c = 0; c < r.n_components; ++c) {
                double sum = 0;
                for (std::int64_t s = 0; s < r.n_samples; ++s) {
                    const double share = r.A[s * r.n_components + c];
                    expect(share >= 0, name, "a share of a sample is negative");
                    sum += share;
                }
                expect_near(sum, 1, 1e-9, name, "the sum of a column of A");
            }
            double sum_of_weights = 0;
            for (std::int64_t m = 0; m < r.n_kernels; ++m) sum_of_weights += r.weights[m];
            expect_near(sum_of_weights, 1, 1e-9, name, "the sum of the weights");
        }
        return bytes;
    };
    fastfs_status status =
        attempt(in, {name,
                     [&](const fastfs_run* run) {
                         return fastfs_ikdr_fit(&kernels, labels.data(), C, &o, run, steps.data(), &fitted);
                     },
                     result,
                     [&] {
                         fastfs_fitted_free(fitted);
                         fitted = nullptr;
                     }});
    fastfs_fitted_free(fitted);
    expect(by_matrices || !X->broken || status == FASTFS_EINVAL, name, "a broken matrix is accepted");
}

}  // namespace fuzz
