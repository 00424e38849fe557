// DiSC, of tables, graphs, lists and streams.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "call.hpp"
#include "textbook.hpp"

namespace fuzz {
namespace {

void diffusion(double* tile, std::int64_t ld, std::int64_t n_rows, std::int64_t n_cols, const double*, const double*,
               double sigma, void*) {
    for (std::int64_t a = 0; a < n_rows; ++a) {
        for (std::int64_t b = 0; b < n_cols; ++b) {
            double& value = tile[a * ld + b];
            value = std::exp(-value / (sigma * sigma));
        }
    }
}

fastfs_disc_options draw_options(Input& in) {
    fastfs_disc_options o = FASTFS_DISC_OPTIONS_INIT;
    o.graph = in.mostly<std::int32_t>(in.pick({FASTFS_GRAPH_DENSE, FASTFS_GRAPH_KNN, FASTFS_GRAPH_LISTS}));
    o.constant = in.mostly<std::int32_t>(static_cast<std::int32_t>(in.below(2)));
    o.bandwidth_neighbors = in.mostly<std::int64_t>(in.pick<std::int64_t>({1, 3, 30}));
    o.n_neighbors = in.mostly<std::int64_t>(in.pick<std::int64_t>({1, 3, 30}));
    o.density = in.mostly_real(in.pick({1.0, 0.0, 0.5}));
    o.n_vectors = in.mostly<std::int64_t>(in.pick<std::int64_t>({1, 3, 10}));
    o.n_differential = in.one_in(4) ? in.mostly<std::int64_t>(1) : 0;
    o.seed = in.byte();
    o.cut = in.mostly<std::int32_t>(FASTFS_CUT_RATIO);
    o.scaling = in.one_in(4) ? in.mostly<std::int32_t>(FASTFS_DISC_SCALING_STANDARD) : 0;
    return o;
}

// Sets with all that they point to.
struct Sets {
    std::deque<std::unique_ptr<Table>> tables;
    std::deque<std::vector<std::int64_t>> neighbors;
    std::deque<std::vector<double>> distances;
    std::vector<fastfs_disc_set> sets;
    bool broken = false, moderate = true;
};

// A graph that is mostly symmetric and not negative.
std::unique_ptr<Table> draw_graph(Input& in, std::int64_t p) {
    auto table = std::make_unique<Table>();
    Table& t = *table;
    Random random(in.word());
    const std::int64_t degree = in.pick<std::int64_t>({0, 1, 3, 8});
    const bool sorted = in.one_in(2), is_float = in.one_in(2);
    std::vector<std::vector<std::pair<std::int64_t, double>>> rows(static_cast<std::size_t>(p));
    for (std::int64_t a = 0; a < p; ++a) {
        for (std::int64_t k = 0; k < degree; ++k) {
            const std::int64_t b = random.below(p);
            const double w = static_cast<double>(1 + random.below(16)) / 16;
            rows[static_cast<std::size_t>(a)].emplace_back(b, w);
            if (b != a) rows[static_cast<std::size_t>(b)].emplace_back(a, w);
        }
    }
    std::vector<std::int64_t> indptr{0}, indices;
    std::vector<double> values;
    for (auto& row : rows) {
        if (sorted) std::sort(row.begin(), row.end());
        for (const auto& [b, w] : row) {
            indices.push_back(b);
            values.push_back(w);
        }
        indptr.push_back(std::ssize(indices));
    }
    if (!values.empty() && in.one_in(8)) {
        values[static_cast<std::size_t>(random.below(std::ssize(values)))] =
            in.pick({-1.0, 0.0, 5.0, 1e300, 1e-300, double(NAN)});
    }
    if (!indices.empty() && in.one_in(32)) {
        indices.front() = in.pick<std::int64_t>({-1, p, kMost64});
        t.broken = true;
    }
    t.n = t.d = t.m.n_rows = t.m.n_cols = p;
    t.m.storage = FASTFS_CSR;
    t.m.index_bits = 64;
    if (is_float) {
        t.m.dtype = FASTFS_FLOAT32;
        std::vector<float> narrowed;
        for (const double x : values) narrowed.push_back(narrow<float>(x));
        t.m.values = t.values.put(narrowed);
    } else {
        t.m.values = t.values.put(values);
    }
    t.m.indices = t.indices.put(indices);
    t.m.indptr = t.indptr.put(indptr);
    t.kind = Values::kSpecial;
    return table;
}

// All rows of a dense table, in another order.
void list_rows(Input& in, Table& t) {
    if (t.m.storage != FASTFS_DENSE || t.broken) return;
    std::vector<std::int64_t> places;
    for (std::int64_t r = 0; r < t.m.n_rows; ++r) places.push_back(t.m.n_rows - 1 - r);
    if (in.one_in(16)) {
        places.front() = in.pick<std::int64_t>({-1, -kMost64});
        t.broken = true;
    }
    t.m.row_list = t.row_list.put(places);
}

Sets draw_sets(Input& in, std::int64_t p, const fastfs_disc_options& o) {
    Sets all;
    const std::int64_t n_sets = in.one_in(3) ? 3 : 2;
    for (std::int64_t s = 0; s < n_sets; ++s) {
        fastfs_disc_set set = FASTFS_DISC_SET_INIT;
        set.n_components = in.mostly<std::int64_t>(in.pick<std::int64_t>({1, 2, 5}));
        const std::int64_t source = o.scaling != 0 || o.graph == FASTFS_GRAPH_LISTS ? 0 : in.below(6);
        if (source == 1) {
            all.tables.push_back(draw_graph(in, p));
            set.W = &all.tables.back()->m;
            all.moderate = false;
        } else if (source == 2) {
            Random random(in.word());
            const std::int64_t k = std::min<std::int64_t>(in.from(1, 5), p - 1);
            auto& neighbors = all.neighbors.emplace_back();
            auto& distances = all.distances.emplace_back();
            for (std::int64_t a = 0; a < p; ++a) {
                for (std::int64_t j = 0; j < k; ++j) {
                    neighbors.push_back(random.below(16) == 0 ? a : (a + 1 + j + random.below(2)) % p);
                    distances.push_back(static_cast<double>(j) / 2 + random.uniform());
                }
            }
            if (in.one_in(8)) neighbors.back() = in.pick<std::int64_t>({-1, p, kMost64});
            if (in.one_in(8)) distances.back() = in.mostly_real(in.pick({-1.0, 0.0, 1e300}));
            set.neighbors = neighbors.data();
            set.distances = distances.data();
            set.n_neighbors = k;
            set.n_features = in.one_in(64) ? p - 1 : p;
            all.moderate = false;
        } else {
            all.tables.push_back(draw_table(in, draw_size(in, 1), in.one_in(64) ? p + 1 : p,
                                            o.scaling != 0 ? unsigned{kDense} : unsigned{kAny}));
            set.X = &all.tables.back()->m;
            if (in.one_in(8)) set.custom = diffusion;
            if (in.one_in(4)) list_rows(in, *all.tables.back());
        }
        if (!all.tables.empty()) {
            all.broken = all.broken || all.tables.back()->broken;
            all.moderate = all.moderate && is_moderate(all.tables.back()->kind);
        }
        all.sets.push_back(set);
    }
    return all;
}

// Steps 1 to 3 of the paper, on all pairs of features or on neighbours: the random walk P, similar to the symmetric S;
// `error` bounds that of S.
struct Walk {
    Square P;
    Eigenpairs of_S;
    std::vector<double> roots;  // of g, by which S and P differ
    double error, spread;       // the latter: of the roots, the largest by the least
    bool falls_apart, sharp;
};

Walk textbook_walk(const Table& X, const fastfs_disc_options& o, bool of_neighbors) {
    const std::int64_t p = X.d, k = std::min(o.bandwidth_neighbors, p - 1);
    const std::int64_t n_neighbors = of_neighbors ? std::min(o.n_neighbors, p - 1) : p - 1;
    Square W(p), P(p), S(p);
    double error = 0;
    std::vector<double> widths, reaches, beyond, q(at(p)), g(q), roots;
    for (std::int64_t i = 0; i < p; ++i) {
        std::vector<double> others;
        double norm = 0;
        for (std::int64_t j = 0; j < p; ++j) {
            for (std::int64_t r = 0; r < X.n; ++r) W(i, j) += (X.at(r, i) - X.at(r, j)) * (X.at(r, i) - X.at(r, j));
            if (j != i) others.push_back(W(i, j));
        }
        for (std::int64_t r = 0; r < X.n; ++r) norm += X.at(r, i) * X.at(r, i);
        std::sort(others.begin(), others.end());
        const double kth = others[at(k - 1)];
        const auto known = others.begin() + (of_neighbors ? std::max(k, n_neighbors) : p - 1);
        const auto positive = std::upper_bound(others.begin(), known, 0.0);
        widths.push_back(kth > 0 ? kth : positive < known ? *positive : 1);
        reaches.push_back(others[at(n_neighbors - 1)]);
        beyond.push_back(n_neighbors < p - 1 ? others[at(n_neighbors)] : INFINITY);
        error = std::max(error, norm);
    }
    error = (X.m.dtype == FASTFS_FLOAT32 ? 0x1p-23 : 0x1p-52) * static_cast<double>(X.n + p + 64) *
            (1 + error / *std::min_element(widths.begin(), widths.end()));
    bool sharp = true;  // no tie at the last neighbour, whose lists follow from distances
    for (std::int64_t i = 0; i < p; ++i) sharp = sharp && beyond[at(i)] - reaches[at(i)] > error * widths[at(i)];
    const Square D = W;
    const auto from = [&](std::int64_t i, std::int64_t j) {
        return i == j || D(i, j) <= reaches[at(i)] ? std::exp(-D(i, j) / widths[at(i)]) : 0;
    };
    for (std::int64_t i = 0; i < p; ++i) {
        for (std::int64_t j = 0; j < p; ++j) {
            W(i, j) = (from(i, j) + from(j, i)) / 2;
            q[at(i)] += W(i, j);
        }
    }
    std::vector<bool> reached(q.size());  // from the first feature
    reached[0] = true;
    for (std::int64_t pass = 0; pass < p; ++pass) {
        for (std::int64_t e = 0; e < p * p; ++e) {
            if (reached[at(e / p)] && W(e / p, e % p) > 0) reached[at(e % p)] = true;
        }
    }
    for (std::int64_t i = 0; i < p; ++i) {
        for (std::int64_t j = 0; j < p; ++j) {
            P(i, j) = W(i, j) / std::pow(q[at(i)] * q[at(j)], o.density);
            g[at(i)] += P(i, j);
        }
    }
    for (const double x : g) roots.push_back(std::sqrt(x));
    for (std::int64_t i = 0; i < p; ++i) {
        for (std::int64_t j = 0; j < p; ++j) {
            S(i, j) = P(i, j) / (roots[at(i)] * roots[at(j)]);
            P(i, j) /= g[at(i)];
        }
    }
    // The sums q are from 1 to p, so that errors of affinities grow by p^2 at most.
    const auto [low, high] = std::minmax_element(roots.begin(), roots.end());
    const double spread = *high / *low;
    const bool falls_apart = std::find(reached.begin(), reached.end(), false) != reached.end();
    return {P, eigenpairs(S), roots, 4 * error * static_cast<double>(p * p) + 1e-12, spread, falls_apart, sharp};
}

// Eigenvalues of the walks move no more than S does. Significances also move by how far the spaces of the other sets'
// diffusion vectors turn, so they are compared where a gap holds these, and where these are no copies of each other.
void expect_walks(const Sets& all, const fastfs_disc_options& o, const std::vector<fastfs_disc_result>& results) {
    const char* const name = "fastfs_disc_fit";
    std::vector<Walk> walks;
    const std::int64_t p = all.tables.front()->d;
    for (std::size_t s = 0; s < results.size(); ++s) {
        const auto& r = results[s];
        walks.push_back(textbook_walk(*all.tables[s], o, o.graph == FASTFS_GRAPH_KNN));
        if (!walks.back().sharp) return;
        const auto& values = walks[s].of_S.values;
        for (std::int64_t k = 0; k <= r.n_components; ++k) {
            expect_near(r.eigenvalues[k], values[at(p - 1 - k)], walks[s].error, name, "an eigenvalue");
        }
    }
    for (std::size_t s = 0; s < walks.size(); ++s) {
        std::vector<std::vector<double>> U;
        double turned = 0;  // of the spaces, as an angle
        for (std::size_t t = 0; t < walks.size(); ++t) {
            if (t == s) continue;
            const Square& vectors = walks[t].of_S.vectors;
            const bool whole = o.constant == FASTFS_CONSTANT_PROJECT || walks[t].falls_apart;
            const auto value = [&](std::int64_t k) { return walks[t].of_S.values[at(p - 1 - k)]; };
            const std::int64_t d = results[t].n_components;
            const double gap = std::min(value(d) - value(d + 1), whole ? 1.0 : value(0) - value(1));
            turned += 2 * walks[t].error / std::max(gap, 1e-300) * walks[t].spread * walks[t].spread;
            for (std::int64_t k = whole ? 0 : 1; k <= d; ++k) {
                auto& u = U.emplace_back();
                for (std::int64_t i = 0; i < p; ++i) {
                    u.push_back(vectors(i, p - 1 - k) / walks[t].roots[at(i)]);
                }
                const double norm = std::sqrt(dot(u, u));
                for (double& x : u) x /= norm;
            }
        }
        // Q = I - U (U'U)^(-1) U'
        const std::int64_t m = std::ssize(U);
        Square of_U(m), Q(p);
        for (std::int64_t a = 0; a < m; ++a) {
            for (std::int64_t b = 0; b < m; ++b) of_U(a, b) = dot(U[at(a)], U[at(b)]);
        }
        const auto inner = eigenpairs(of_U);
        if (inner.values.front() < 1e-6) continue;
        turned *= std::sqrt(static_cast<double>(m) / inner.values.front());
        const Square inverse = function_of(inner, [](double x) { return 1 / x; });
        for (std::int64_t i = 0; i < p; ++i) {
            for (std::int64_t j = 0; j < p; ++j) {
                Q(i, j) = i == j;
                for (std::int64_t e = 0; e < m * m; ++e) {
                    Q(i, j) -= U[at(e / m)][at(i)] * inverse.entries[at(e)] * U[at(e % m)][at(j)];
                }
            }
        }
        Square A = multiply(walks[s].P, Q), transposed(p);
        for (std::int64_t i = 0; i < p; ++i) {
            for (std::int64_t j = 0; j < p; ++j) transposed(i, j) = A(j, i);
        }
        const auto squares = eigenpairs(multiply(transposed, A)).values;
        const double size = walks[s].spread, of_A = 3 * size * walks[s].error + 2 * size * turned;
        if (!(of_A < 1e-3)) continue;
        for (std::int64_t k = 0; k < results[s].n_vectors; ++k) {  // squares, since a root near 0 has no digits
            expect_near(results[s].significance[k] * results[s].significance[k], squares[at(p - 1 - k)],
                        2 * size * of_A + of_A * of_A, name, "the square of a significance");
        }
    }
}

Bytes bytes_of(const fastfs_fitted* fitted, const std::vector<fastfs_disc_result>& results, const char* name) {
    Bytes bytes;
    for (std::int64_t s = 0; fitted && s < std::ssize(results); ++s) {
        const fastfs_disc_result& r = results[at(s)];
        const std::int64_t p = r.n_features;
        bytes.add(r.scores, p);
        bytes.add(r.significance, r.n_vectors);
        bytes.add(r.vectors, r.n_vectors * p);
        bytes.add(r.eigenvalues, r.n_components + 1);
        bytes.add(r.diffusion, r.n_components * p);
        bytes.add(r.bandwidths, p);
        bytes.add(r.trivial, r.n_vectors);
        if (r.n_stored > 0) {
            std::vector<std::int64_t> indptr(static_cast<std::size_t>(p + 1)),
                indices(static_cast<std::size_t>(r.n_stored));
            std::vector<double> weights(indices.size());
            expect(
                fastfs_disc_graph(fitted, s, 64, nullptr, indptr.data(), indices.data(), weights.data()) == FASTFS_OK,
                "fastfs_disc_graph", "it fails");
            bytes.add(indptr);
            bytes.add(indices);
            bytes.add(weights);
        }
        expect_finite(r.scores, p, name, "score");
        expect_finite(r.vectors, r.n_vectors * p, name, "entry of a vector");
        expect_finite(r.eigenvalues, r.n_components + 1, name, "eigenvalue");
    }
    return bytes;
}

void try_sets(Input& in, const std::vector<fastfs_disc_set>& sets, const fastfs_disc_options& o, std::int64_t p,
              bool broken, const Sets* all = nullptr) {
    fastfs_fitted* fitted = nullptr;
    const std::int64_t n_sets = std::ssize(sets);
    std::vector<fastfs_disc_result> results(sets.size(), FASTFS_DISC_RESULT_INIT);
    bool has_converged = true;
    fastfs_status status = attempt(
        in, {"fastfs_disc_fit",
             [&](const fastfs_run* run) {
                 const fastfs_status done = fastfs_disc_fit(sets.data(), n_sets, &o, run, results.data(), &fitted);
                 has_converged = true;
                 const fastfs_warning* warning;
                 for (std::int32_t i = 0; (warning = fastfs_last_warning(i)) != nullptr; ++i) {
                     has_converged = has_converged && std::strcmp(warning->code, "not_converged") != 0;
                 }
                 return done;
             },
             [&] { return bytes_of(fitted, results, "fastfs_disc_fit"); },
             [&] {
                 fastfs_fitted_free(fitted);
                 fitted = nullptr;
             }});
    if (status == FASTFS_OK && has_converged && all && all->moderate && o.graph != FASTFS_GRAPH_LISTS &&
        o.scaling == 0 && p <= 18 &&
        std::all_of(sets.begin(), sets.end(), [](const auto& set) { return !set.custom; })) {
        expect_walks(*all, o, results);
    }
    fastfs_fitted_free(fitted);
    expect(!broken || status == FASTFS_EINVAL, "fastfs_disc_fit", "a broken matrix is accepted");
    if (in.one_in(3)) {
        const std::int64_t n_groups = in.from(1, 3);
        std::vector<std::int64_t> groups;
        for (std::int64_t k = 0; k < n_groups * p; ++k) groups.push_back(k % p == 0 || (k % p != 1 && k % 3 == 0));
        if (in.one_in(16)) groups.back() = 2;
        std::vector<double> cuts(static_cast<std::size_t>(n_groups * n_sets));
        status = attempt(in, {"fastfs_disc_cuts",
                              [&](const fastfs_run* run) {
                                  return fastfs_disc_cuts(sets.data(), n_sets, &o, groups.data(), n_groups, run,
                                                          cuts.data());
                              },
                              [&] {
                                  Bytes bytes;
                                  bytes.add(cuts);
                                  return bytes;
                              },
                              [&] { cuts.assign(cuts.size(), 0.0); }});
        if (status == FASTFS_OK) expect_finite(cuts.data(), std::ssize(cuts), "fastfs_disc_cuts", "cut");
    }
}

}  // namespace

void try_disc(Input& in) {
    const std::int64_t p = in.one_in(64) ? 3 : draw_size(in, 4);
    const auto o = draw_options(in);
    const Sets all = draw_sets(in, p, o);
    try_sets(in, all.sets, o, p + 1, all.broken, &all);
}

void try_disc_stream(Input& in) {
    // Beyond the features of sums, groups of rows are kept as they are or, if they are large, sketched.
    const bool many = in.one_in(128);
    const std::int64_t p = many ? FASTFS_DISC_MOST_SUMS + in.from(0, 1) : draw_size(in, 4);
    const std::int64_t G = in.from(2, 3), n = many ? in.pick<std::int64_t>({6, 520}) : draw_size(in, 4);
    auto o = draw_options(in);
    if (!in.one_in(16)) {
        o.graph = in.pick({FASTFS_GRAPH_DENSE, FASTFS_GRAPH_KNN});
        o.scaling = 0;
    }
    if (many) {
        o.graph = FASTFS_GRAPH_KNN;
        o.n_neighbors = o.bandwidth_neighbors = 2;
    }
    const auto labels = draw_labels(in, n, G);
    fastfs_stream *stream = nullptr, *kept = nullptr, *start = nullptr;
    fastfs_status status = attempt(
        in, {"fastfs_disc_stream_new",
             [&](const fastfs_run* run) { return fastfs_disc_stream_new(n, p, labels.data(), G, &o, run, &stream); },
             [&] {
                 Bytes bytes;
                 bytes.add(fastfs_stream_size(stream));
                 return bytes;
             },
             [&] {
                 fastfs_stream_free(stream);
                 stream = nullptr;
             }});
    if (status != FASTFS_OK) return;
    const auto save = [&] {
        std::vector<char> bytes(static_cast<std::size_t>(fastfs_stream_size(stream)));
        expect(fastfs_stream_save(stream, bytes.data(), std::ssize(bytes)) == FASTFS_OK, "fastfs_stream_save",
               "it fails");
        return bytes;
    };
    fastfs_stream_state made = FASTFS_STREAM_STATE_INIT;
    expect(fastfs_stream_get(stream, &made) == FASTFS_OK, "fastfs_stream_get", "it fails");
    const std::int32_t n_passes = made.n_passes;
    std::int32_t pass = 0;
    const auto block_of = [](const Table& X, std::int64_t first_row) {
        fastfs_block block = FASTFS_BLOCK_INIT;
        block.X = &X.m;
        block.first_row = first_row;
        return block;
    };
    const auto state = [&] {
        Bytes bytes;
        if (pass < n_passes) bytes.add(save());
        return bytes;
    };
    const auto copy = [](const fastfs_stream* of, fastfs_stream*& to) {
        fastfs_stream_free(to);
        to = nullptr;
        expect(fastfs_stream_copy(of, &to) == FASTFS_OK, "fastfs_stream_copy", "it fails");
    };
    const auto keep = [&] { copy(stream, kept); };
    const auto bring_back = [&] { copy(kept, stream); };
    bool alive = true, known = true;  // the latter: the rows are those of the blocks
    std::vector<std::unique_ptr<Table>> blocks;
    std::vector<std::int64_t> begins;
    for (std::int64_t first = 0; first < n;) {
        const std::int64_t size = std::min(n - first, in.one_in(2) ? n : draw_size(in, 1));
        blocks.push_back(draw_table(in, size, p, kDense | kCsr | kGenotype));
        begins.push_back(first);
        first += size;
    }
    for (; pass < n_passes && alive; ++pass) {
        copy(stream, start);
        const std::size_t lone = in.one_in(4) ? static_cast<std::size_t>(in.below(std::ssize(blocks))) : blocks.size();
        for (std::size_t k = 0; k < blocks.size() && alive; ++k) {
            const std::int64_t at = in.mostly(begins[k]);
            known = known && at == begins[k];
            const fastfs_block block = block_of(*blocks[k], at);
            keep();
            if (k == lone && at == begins[k]) {  // by a worker, whose copy is sent back
                fastfs_stream* worker = nullptr;
                copy(stream, worker);
                alive = fastfs_stream_update(worker, &block, nullptr) == FASTFS_OK;
                if (alive) {
                    status = attempt(in, {"fastfs_stream_merge",
                                          [&](const fastfs_run*) { return fastfs_stream_merge(stream, worker); }, state,
                                          bring_back, true, false});
                    alive = status == FASTFS_OK && k == 0;  // later copies bring rows that are there
                }
                fastfs_stream_free(worker);
                continue;
            }
            fastfs_status last = FASTFS_OK;
            status = attempt(in, {"fastfs_stream_update",
                                  [&](const fastfs_run* run) {
                                      const auto now = fastfs_stream_update(stream, &block, run);
                                      if (!run->bytes_needed) last = now;  // a question leaves the stream alone
                                      return now;
                                  },
                                  [&] { return last == FASTFS_OK ? state() : Bytes(); },
                                  [&] {
                                      bring_back();
                                      last = FASTFS_OK;
                                  }});
            expect(!blocks[k]->broken || status == FASTFS_EINVAL, "fastfs_stream_update",
                   "a broken matrix is accepted");
            alive = status == FASTFS_OK;
        }
        if (!alive) break;
        if (in.one_in(4)) {  // bytes of a stranger, or of another pass
            std::vector<char> bytes = save();
            spoil_saved(in, bytes, {n, p});
            keep();
            copy(start, stream);
            const auto restart = [&] { copy(start, stream); };
            attempt(in, {"fastfs_stream_load",
                         [&](const fastfs_run*) { return fastfs_stream_load(stream, bytes.data(), std::ssize(bytes)); },
                         state, restart, true, false});
            if (in.one_in(4)) {
                known = false;  // the stranger's rows stay
            } else {
                bring_back();
            }
        }
        keep();
        std::int32_t of_state = pass;
        const bool last = pass + 1 == n_passes;
        status = attempt(in, {last ? "fastfs_disc_stream_finish" : "fastfs_stream_next",
                              [&](const fastfs_run* run) {
                                  const auto now =
                                      last ? fastfs_disc_stream_finish(stream, run) : fastfs_stream_next(stream, run);
                                  if (now == FASTFS_OK && !run->bytes_needed) of_state = pass + 1;
                                  return now;
                              },
                              [&] { return of_state < n_passes ? state() : Bytes(); },
                              [&] {
                                  bring_back();
                                  of_state = pass;
                              },
                              true});
        alive = status == FASTFS_OK;
        std::vector<double> means(static_cast<std::size_t>(G * p));
        if (alive)
            expect(fastfs_stream_means(stream, nullptr, means.data()) == FASTFS_OK, "fastfs_stream_means",
                   fastfs_last_error());
    }
    fastfs_stream* copied = nullptr;
    const auto release = [&] {
        fastfs_stream_free(copied);
        copied = nullptr;
    };
    attempt(in, {"fastfs_stream_copy", [&](const fastfs_run*) { return fastfs_stream_copy(stream, &copied); },
                 [&] {
                     Bytes bytes;
                     bytes.add(copied == nullptr);
                     return bytes;
                 },
                 release, false, false});
    release();
    // Of a few rows, graphs of so many features fall into pieces, whose vectors take minutes.
    if (many ? alive && n_passes == 2 : alive || in.one_in(8)) {
        Sets all;
        for (std::int64_t g = 0; g < G; ++g) {
            fastfs_disc_set set = FASTFS_DISC_SET_INIT;
            set.n_components = in.pick<std::int64_t>({1, 2});
            set.stream = stream;
            set.group = in.mostly(g);
            all.sets.push_back(set);
            auto& rows = all.tables.emplace_back(std::make_unique<Table>());
            for (std::size_t k = 0; k < blocks.size() && !many; ++k) {
                for (std::int64_t r = 0; r < blocks[k]->n; ++r) {
                    if (labels[at(begins[k] + r)] == set.group) add_row(*rows, *blocks[k], r);
                }
            }
            all.moderate = all.moderate && is_moderate(rows->kind);
        }
        try_sets(in, all.sets, o, p, false, alive && known && !many ? &all : nullptr);
    }
    fastfs_stream_free(stream);
    fastfs_stream_free(kept);
    fastfs_stream_free(start);
}

}  // namespace fuzz
