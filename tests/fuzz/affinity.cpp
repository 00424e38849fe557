// Pairs of features, and eigenproblems.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "../cpp/streams.hpp"
#include "call.hpp"

namespace fuzz {
namespace {

fastfs_affinity_options draw_options(Input& in) {
    fastfs_affinity_options o = FASTFS_AFFINITY_OPTIONS_INIT;
    o.kernel = in.mostly<std::int32_t>(in.pick({FASTFS_RBF, FASTFS_SQEUCLIDEAN, FASTFS_LINEAR, FASTFS_CUSTOM}));
    o.sigma = in.mostly_real(in.pick({0.5, 1.0, 8.0, 300.0}));
    if (o.kernel == FASTFS_CUSTOM && !in.one_in(16)) o.custom = gaussian;
    return o;
}

double distance(const Table& X, std::int64_t a, std::int64_t b) {
    double sum = 0;
    for (std::int64_t r = 0; r < X.n; ++r) sum += (X.at(r, a) - X.at(r, b)) * (X.at(r, a) - X.at(r, b));
    return sum;
}

double product(const Table& X, std::int64_t a, std::int64_t b) {
    double sum = 0;
    for (std::int64_t r = 0; r < X.n; ++r) sum += X.at(r, a) * X.at(r, b);
    return sum;
}

// The value of a kernel, and how far rounding may move it.
struct Expected {
    double value, tolerance;
};

Expected expected(const std::vector<const Table*>& chunks, const fastfs_affinity_options& o, std::int64_t a,
                  std::int64_t b, double epsilon) {
    double D = 0, norms = 0, linear = 0;
    std::int64_t n = 64;
    for (const Table* X : chunks) {
        D += distance(*X, a, b);
        norms += product(*X, a, a) + product(*X, b, b);
        linear += product(*X, a, b);
        n += X->n;
    }
    const double of_distance = epsilon * static_cast<double>(n) * norms;
    if (o.kernel == FASTFS_LINEAR) return {linear, of_distance};
    if (o.kernel == FASTFS_SQEUCLIDEAN) return {D, of_distance};
    if (!(o.sigma > 1e-3 && o.sigma < 1e3)) return {0.5, 0.5};
    const double exponent = D / (2 * o.sigma * o.sigma);
    return {std::exp(-exponent), of_distance / (2 * o.sigma * o.sigma) + 64 * epsilon};
}

double epsilon_of(const fastfs_matrix& m) { return m.dtype == FASTFS_FLOAT32 ? 0x1p-23 : 0x1p-52; }

double get(const unsigned char* p, bool is_float, std::int64_t k) {
    return is_float ? static_cast<double>(reinterpret_cast<const float*>(p)[k]) : reinterpret_cast<const double*>(p)[k];
}

}  // namespace

void try_affinity(Input& in) {
    const std::int64_t n = draw_size(in, 1), d = draw_size(in, 1);
    const auto X = draw_table(in, n, d);
    const auto o = draw_options(in);
    const bool is_float = X->m.dtype == FASTFS_FLOAT32;
    const std::size_t each = is_float ? 4 : 8;
    const double epsilon = epsilon_of(X->m);
    Block out_, V_;
    const bool asks_product = in.one_in(3);
    const std::int64_t p = asks_product ? in.from(1, 5) : d;
    unsigned char* out = out_.take(static_cast<std::size_t>(d * p) * each);
    std::memset(out, 0, static_cast<std::size_t>(d * p) * each);
    const auto result = [&] {
        Bytes bytes;
        bytes.add(out, d * p * static_cast<std::int64_t>(each));
        return bytes;
    };
    if (!asks_product) {
        const auto call = [&](const fastfs_run* run) { return fastfs_affinity(&X->m, &o, run, out); };
        const fastfs_status status = attempt(in, {"fastfs_affinity", call, result});
        expect(!X->broken || status == FASTFS_EINVAL, "fastfs_affinity", "a broken matrix is accepted");
        if (status != FASTFS_OK) return;
        expect(X->finite(), "fastfs_affinity", "a matrix that isn't finite is accepted");
        for (std::int64_t a = 0; a < d; ++a) {
            for (std::int64_t b = 0; b < d; ++b) {
                const double value = get(out, is_float, a * d + b);
                expect(value == get(out, is_float, b * d + a), "fastfs_affinity", "it isn't symmetric");
                if (!is_moderate(X->kind)) continue;
                const auto [wanted, tolerance] = expected({X.get()}, o, a, b, epsilon);
                expect_near(value, wanted, tolerance, "fastfs_affinity", "the affinity");
            }
        }
        return;
    }
    Random random(in.word());
    std::vector<double> weights;
    for (std::int64_t k = 0; k < d * p; ++k) weights.push_back(draw_value(random, Values::kQuarters));
    unsigned char* V = nullptr;
    if (is_float) {
        V = reinterpret_cast<unsigned char*>(V_.put(std::vector<float>(weights.begin(), weights.end())));
    } else {
        V = reinterpret_cast<unsigned char*>(V_.put(weights));
    }
    const auto asked = in.mostly(p);
    const auto call = [&](const fastfs_run* run) {
        return fastfs_affinity_product(&X->m, &o, V, std::min(asked, p), run, out);
    };
    const fastfs_status status = attempt(in, {"fastfs_affinity_product", call, result});
    expect(!X->broken || status == FASTFS_EINVAL, "fastfs_affinity_product", "a broken matrix is accepted");
    if (status != FASTFS_OK || asked < p || !is_moderate(X->kind)) return;
    for (std::int64_t a = 0; a < d; ++a) {
        for (std::int64_t k = 0; k < p; ++k) {
            double sum = 0, most = 0;
            for (std::int64_t b = 0; b < d; ++b) {
                const auto [value, tolerance] = expected({X.get()}, o, a, b, epsilon);
                const double weight = weights[static_cast<std::size_t>(b * p + k)];
                sum += value * weight;
                most += (tolerance + epsilon * static_cast<double>(d + 64) * std::abs(value)) * std::abs(weight);
            }
            expect_near(get(out, is_float, a * p + k), sum, most, "fastfs_affinity_product", "the product");
        }
    }
}

void try_gram(Input& in) {
    const std::int64_t d = draw_size(in, 1);
    const auto first = draw_table(in, draw_size(in, 1), d), second = draw_table(in, draw_size(in, 1), d);
    const auto third = draw_table(in, draw_size(in, 1), in.one_in(16) ? d + 1 : d);
    const auto o = draw_options(in);
    fastfs_stream* gram = nullptr;
    const std::int64_t asked = in.mostly(d);
    fastfs_status status = attempt(
        in, {"fastfs_gram_stream_new",
             [&](const fastfs_run* run) { return fastfs_gram_stream_new(asked <= 400 ? asked : -asked, run, &gram); },
             [&] {
                 Bytes bytes;
                 bytes.add(rows_of(gram));
                 return bytes;
             },
             [&] {
                 fastfs_stream_free(gram);
                 gram = nullptr;
             }});
    if (status != FASTFS_OK) return;
    std::vector<double> out(static_cast<std::size_t>(asked * asked));
    fastfs_affinity_options linear = FASTFS_AFFINITY_OPTIONS_INIT;
    linear.kernel = FASTFS_LINEAR;
    const auto state = [&] {
        Bytes bytes;
        bytes.add(rows_of(gram));
        if (fastfs_gram_stream_finish(gram, &linear, nullptr, out.data()) == FASTFS_OK) bytes.add(out);
        return bytes;
    };
    std::vector<const Table*> seen;
    const auto replay = [&] {
        fastfs_stream_free(gram);
        gram = nullptr;
        fastfs_gram_stream_new(asked, nullptr, &gram);
        for (const Table* X : seen) update_stream(gram, &X->m);
    };
    for (const Table* X : {first.get(), second.get()}) {
        status =
            attempt(in, {"fastfs_stream_update", [&](const fastfs_run* run) { return update_stream(gram, &X->m, run); },
                         state, replay, true});
        expect(!X->broken || status == FASTFS_EINVAL, "fastfs_stream_update", "a broken matrix is accepted");
        if (status == FASTFS_OK) seen.push_back(X);
    }
    if (in.one_in(2)) {
        fastfs_stream* other = nullptr;
        fastfs_gram_stream_new(in.one_in(16) ? asked + 1 : asked, nullptr, &other);
        const bool added = update_stream(other, &third->m) == FASTFS_OK;
        status =
            attempt(in, {"fastfs_stream_merge", [&](const fastfs_run*) { return fastfs_stream_merge(gram, other); },
                         state, replay, true, false});
        fastfs_stream_free(other);
        if (status == FASTFS_OK && added) seen.push_back(third.get());
    }
    bool moderate = !seen.empty();
    std::int64_t n_rows = 0;
    for (const Table* X : seen) {
        moderate = moderate && is_moderate(X->kind);
        n_rows += X->n;
    }
    status = attempt(in, {"fastfs_gram_stream_finish",
                          [&](const fastfs_run* run) { return fastfs_gram_stream_finish(gram, &o, run, out.data()); },
                          [&] {
                              Bytes bytes;
                              bytes.add(out);
                              return bytes;
                          }});
    const bool once = rows_of(gram) == n_rows;
    if (status == FASTFS_OK && moderate && once) {
        for (std::int64_t a = 0; a < d; ++a) {
            for (std::int64_t b = 0; b < d; ++b) {
                const auto [wanted, tolerance] = expected(seen, o, a, b, 0x1p-52);
                expect_near(out[static_cast<std::size_t>(a * d + b)], wanted, 2 * tolerance,
                            "fastfs_gram_stream_finish", "the affinity");
            }
        }
    }
    fastfs_stream_free(gram);
}

void try_neighbors(Input& in) {
    const std::int64_t n = draw_size(in, 1), d = draw_size(in, 2);
    const auto X = draw_table(in, n, d, kDense | kCsr | kCsc);
    const std::int64_t k = in.mostly(in.pick<std::int64_t>({1, 2, 5, d - 1}));
    const std::int64_t room = k >= 1 && k < d ? k : 1;
    std::vector<std::int64_t> neighbors(static_cast<std::size_t>(d * room));
    std::vector<double> distances(neighbors.size());
    const char* const name = "fastfs_nearest_features";
    const fastfs_status status =
        attempt(in, {name,
                     [&](const fastfs_run* run) {
                         return fastfs_nearest_features(&X->m, k, run, neighbors.data(), distances.data());
                     },
                     [&] {
                         Bytes bytes;
                         bytes.add(neighbors);
                         bytes.add(distances);
                         return bytes;
                     }});
    expect(!X->broken || status == FASTFS_EINVAL, name, "a broken matrix is accepted");
    if (status != FASTFS_OK) return;
    for (std::int64_t a = 0; a < d; ++a) {
        std::vector<bool> seen(static_cast<std::size_t>(d));
        for (std::int64_t j = 0; j < k; ++j) {
            const std::int64_t b = neighbors[static_cast<std::size_t>(a * k + j)];
            expect(b >= 0 && b < d && b != a && !seen[static_cast<std::size_t>(b)], name, "no other feature, or twice");
            seen[static_cast<std::size_t>(b)] = true;
        }
    }
    if (!is_moderate(X->kind)) return;
    for (std::int64_t a = 0; a < d; ++a) {
        std::vector<std::pair<double, std::int64_t>> all;
        for (std::int64_t b = 0; b < d; ++b) {
            if (b != a) all.emplace_back(distance(*X, a, b), b);
        }
        std::sort(all.begin(), all.end());
        for (std::int64_t j = 0; j < k; ++j) {
            const auto at = static_cast<std::size_t>(a * k + j);
            const double wanted = std::sqrt(all[static_cast<std::size_t>(j)].first);
            expect_near(distances[at], wanted, 1e-12 * wanted, name, "a distance");
            expect(neighbors[at] == all[static_cast<std::size_t>(j)].second, name, "another neighbour");
        }
    }
}

void try_spectral(Input& in) {
    const std::int64_t n = draw_size(in, 1);
    const Values kind =
        in.pick({Values::kDigits, Values::kQuarters, Values::kEqual, Values::kQuarters, Values::kSpecial});
    Random random(in.word());
    const std::int64_t rank = in.pick<std::int64_t>({0, 1, 3, n});
    // B B', so that it is positive semidefinite, with or without full rank.
    const auto draw = [&] {
        std::vector<double> B, A(static_cast<std::size_t>(n * n));
        for (std::int64_t k = 0; k < n * rank; ++k) B.push_back(draw_value(random, kind));
        for (std::int64_t a = 0; a < n; ++a) {
            for (std::int64_t b = 0; b < n; ++b) {
                for (std::int64_t k = 0; k < rank; ++k) {
                    A[static_cast<std::size_t>(a * n + b)] +=
                        B[static_cast<std::size_t>(a * rank + k)] * B[static_cast<std::size_t>(b * rank + k)];
                }
            }
        }
        return A;
    };
    const std::vector<double> A = draw();
    std::vector<double> V = A, w(static_cast<std::size_t>(n));
    if (in.one_in(2)) {
        const std::int64_t asked = in.mostly(n);
        const auto call = [&](const fastfs_run* run) {
            return fastfs_eigh(asked <= n ? asked : -1, V.data(), w.data(), run);
        };
        const fastfs_status status = attempt(in, {"fastfs_eigh", call,
                                                  [&] {
                                                      Bytes bytes;
                                                      bytes.add(V);
                                                      bytes.add(w);
                                                      return bytes;
                                                  },
                                                  [&] { V = A; }});
        if (status != FASTFS_OK || asked != n || kind == Values::kSpecial) return;
        double norm = 0;
        for (const double x : A) norm = std::max(norm, std::abs(x));
        for (std::int64_t a = 0; a < n; ++a) {
            for (std::int64_t b = 0; b < n; ++b) {
                double sum = 0;
                for (std::int64_t k = 0; k < n; ++k) {
                    sum += V[static_cast<std::size_t>(k * n + a)] * w[static_cast<std::size_t>(k)] *
                           V[static_cast<std::size_t>(k * n + b)];
                }
                expect_near(sum, A[static_cast<std::size_t>(a * n + b)],
                            1e-13 * norm * static_cast<double>(n * (n + 4)), "fastfs_eigh", "an entry of V w V'");
            }
        }
        return;
    }
    const std::vector<double> other = draw();
    std::int64_t found = -1;
    std::vector<double> nu(static_cast<std::size_t>(n));
    const fastfs_status status = attempt(
        in, {"fastfs_pencil",
             [&](const fastfs_run* run) { return fastfs_pencil(n, V.data(), other.data(), nu.data(), &found, run); },
             [&] {
                 Bytes bytes;
                 bytes.add(V.data(), n * std::max<std::int64_t>(found, 0));
                 bytes.add(nu.data(), std::max<std::int64_t>(found, 0));
                 return bytes;
             },
             [&] {
                 V = A;
                 found = -1;
             }});
    if (status != FASTFS_OK || kind == Values::kSpecial) return;
    double norm = 0;
    for (std::size_t k = 0; k < A.size(); ++k) norm = std::max(norm, std::abs(A[k]) + std::abs(other[k]));
    for (std::int64_t a = 0; a < n; ++a) {
        for (std::int64_t b = 0; b < n; ++b) {
            double sum = 0;
            for (std::int64_t k = 0; k < found; ++k) {
                sum += V[static_cast<std::size_t>(k * n + a)] * (1 + nu[static_cast<std::size_t>(k)]) / 2 *
                       V[static_cast<std::size_t>(k * n + b)];
            }
            // Eigenvalues that don't count are below n eps of the largest.
            expect_near(sum, A[static_cast<std::size_t>(a * n + b)], 1e-11 * norm * static_cast<double>(n * (n + 4)),
                        "fastfs_pencil", "an entry of K1");
        }
    }
}

}  // namespace fuzz
