// Streams of all methods: each function and each misuse, in one table of methods.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

// The symbols of the scipy-openblas32 wheel.
#define FASTFS_BLAS_SYMBOL(name) scipy_##name##_
#define FASTFS_BLAS_SET_THREADS scipy_openblas_set_num_threads
#define FASTFS_BLAS_GET_THREADS scipy_openblas_get_num_threads

#include "fastfs/fastfs.hpp"
#include "fastfs/link_blas.h"
#include "results.hpp"

namespace {

int failures = 0;
std::string running;  // the method that is tested

void check(bool fine, int line, const char* what) {
    if (fine) return;
    ++failures;
    std::fprintf(stderr, "%s:%d: %s: %s (last error: %s)\n", __FILE__, line, running.c_str(), what,
                 fastfs_last_error());
}
#define CHECK(condition) check(condition, __LINE__, #condition)

bool says(const std::string& text) { return std::strstr(fastfs_last_error(), text.c_str()) != nullptr; }

// Tests if a call is refused with a message that contains `text`.
bool refused(fastfs_status status, const std::string& text) { return status == FASTFS_EINVAL && says(text); }

struct Free {
    void operator()(fastfs_stream* stream) const { fastfs_stream_free(stream); }
};
using Owned = std::unique_ptr<fastfs_stream, Free>;

// ---- the table of methods -------------------------------------------------------------------------------------------

struct Method {
    const char* name;  // in messages
    const char* finish_name;
    std::int64_t n, d;
    int n_passes;
    std::vector<std::int64_t> labels;
    bool knows_rows;    // which have come, and how many there are
    bool takes_labels;  // with blocks
    bool is_copied;     // can be copied and saved
    bool has_means;
    // Makes a stream; with other arguments if `other`.
    std::function<fastfs_status(const Method&, bool other, fastfs_stream**)> create;
    std::function<fastfs_status(const Method&, fastfs_stream*, std::vector<double>*)> end;

    Owned made(bool other = false) const {
        fastfs_stream* stream = nullptr;
        fastfs::check(create(*this, other, &stream));
        return Owned(stream);
    }
    fastfs_status finish(const Owned& stream, std::vector<double>* result = nullptr) const {
        return end(*this, stream.get(), result);
    }
    // Ends a pass.
    fastfs_status next_or_finish(const Owned& stream, int pass) const {
        return pass == n_passes ? finish(stream) : fastfs_stream_next(stream.get(), nullptr);
    }
};

std::vector<std::int64_t> alternating(std::int64_t n) {
    std::vector<std::int64_t> labels(static_cast<std::size_t>(n));
    for (std::size_t r = 0; r < labels.size(); ++r) labels[r] = static_cast<std::int64_t>(r % 2);
    return labels;
}

// A large group and a small one, of which a stream of DiSC keeps sketches (from 257 rows on) and rows.
std::vector<std::int64_t> unequal(std::int64_t n) {
    std::vector<std::int64_t> labels(static_cast<std::size_t>(n));
    for (std::size_t r = 0; r < labels.size(); ++r) labels[r] = r % 32 == 31;
    return labels;
}

Method relief(std::int64_t n, std::int64_t d) {
    return {"RELIEF",
            "fastfs_relief_stream_finish",
            n,
            d,
            2,
            alternating(n),
            true,
            false,
            true,
            false,
            [](const Method& m, bool other, fastfs_stream** stream) {
                fastfs_relief_options options = FASTFS_RELIEF_OPTIONS_INIT;
                options.n_neighbors = other ? 3 : 2;
                return fastfs_relief_stream_new(m.n, m.d, m.labels.data(), 2, FASTFS_SCALE_RANGE, &options, nullptr,
                                                stream);
            },
            [](const Method& m, fastfs_stream* stream, std::vector<double>* scores) {
                fastfs_relief_result result = FASTFS_RELIEF_RESULT_INIT;
                const fastfs_status status = fastfs_relief_stream_finish(stream, nullptr, 0, nullptr, &result, owner());
                if (scores) *scores = list(result.scores, m.d);
                return status;
            }};
}

// More than FASTFS_DISC_MOST_SUMS features take two passes.
Method disc(std::int64_t n, std::int64_t d) {
    return {"DiSC",
            "fastfs_disc_stream_finish",
            n,
            d,
            d > FASTFS_DISC_MOST_SUMS ? 2 : 1,
            unequal(n),
            true,
            false,
            true,
            true,
            [](const Method& m, bool other, fastfs_stream** stream) {
                fastfs_disc_options options = FASTFS_DISC_OPTIONS_INIT;
                options.seed = other;
                return fastfs_disc_stream_new(m.n, m.d, m.labels.data(), 2, &options, nullptr, stream);
            },
            [](const Method& m, fastfs_stream* stream, std::vector<double>* scores) {
                const fastfs_status status = fastfs_disc_stream_finish(stream, nullptr);
                if (status != FASTFS_OK || !scores || m.d > FASTFS_DISC_MOST_SUMS) return status;
                std::vector<fastfs_disc_set> sets(2, FASTFS_DISC_SET_INIT);
                sets[0].stream = sets[1].stream = stream;
                sets[1].group = 1;
                const auto fitted = fastfs::disc(sets);
                *scores = list(fitted->scores, m.d);
                return status;
            }};
}

fastfs_status select(const Method& m, const fastfs_stream* stream, const std::int64_t* classes,
                     std::vector<double>* scores) {
    fastfs_projse_result result = FASTFS_PROJSE_RESULT_INIT;
    const fastfs_status status =
        fastfs_projse_stream_finish(stream, classes, classes ? 2 : 0, nullptr, nullptr, &result, owner());
    if (scores) *scores = list(result.scores, m.d);
    return status;
}

Method projse(std::int64_t n, std::int64_t d) {
    return {"ProjSe",
            "fastfs_projse_stream_finish",
            n,
            d,
            1,
            alternating(n),
            false,
            true,
            true,
            true,
            [](const Method& m, bool other, fastfs_stream** stream) {
                return fastfs_projse_stream_new(other ? 3 : 2, m.d, FASTFS_PROJSE_GROUPS, nullptr, stream);
            },
            [](const Method& m, fastfs_stream* stream, std::vector<double>* scores) {
                const std::int64_t classes[] = {0, 1};
                return select(m, stream, classes, scores);
            }};
}

// X without targets.
Method projse_alone(std::int64_t n, std::int64_t d) {
    Method m = projse(n, d);
    m.takes_labels = false;
    m.create = [](const Method& method, bool, fastfs_stream** stream) {
        return fastfs_projse_stream_new(0, method.d, FASTFS_PROJSE_ONE_VIEW, nullptr, stream);
    };
    return m;
}

Method manifest(std::int64_t n, std::int64_t d) {
    return {"ManiFeSt",
            "fastfs_manifest_stream_finish",
            n,
            d,
            1,
            alternating(n),
            false,
            true,
            true,
            true,
            [](const Method& m, bool other, fastfs_stream** stream) {
                return fastfs_manifest_stream_new(m.d, other ? 3 : 2, nullptr, nullptr, stream);
            },
            [](const Method& m, fastfs_stream* stream, std::vector<double>* scores) {
                fastfs_manifest_result result = FASTFS_MANIFEST_RESULT_INIT;
                const fastfs_manifest_scale scale = FASTFS_MANIFEST_SCALE_INIT;
                const std::int64_t classes[] = {0, 1};
                const fastfs_status status =
                    fastfs_manifest_stream_finish(stream, classes, 2, nullptr, &scale, 1, nullptr, &result, owner());
                if (scores) *scores = list(result.scores, m.d);
                return status;
            }};
}

// A stream without arguments except the number of features.
Method gram(std::int64_t n, std::int64_t d) {
    return {"Gram matrices",
            "fastfs_gram_stream_finish",
            n,
            d,
            1,
            {},
            false,
            false,
            false,
            false,
            [](const Method& m, bool other, fastfs_stream** stream) {
                return fastfs_gram_stream_new(other ? m.d + 1 : m.d, nullptr, stream);
            },
            [](const Method& m, fastfs_stream* stream, std::vector<double>* kernel) {
                std::vector<double> own(static_cast<std::size_t>(m.d * m.d));
                const fastfs_status status = fastfs_gram_stream_finish(stream, nullptr, nullptr, own.data());
                if (kernel) *kernel = own;
                return status;
            }};
}

const std::vector<Method>& small_methods() {
    static const std::vector<Method> methods{relief(150, 6), disc(150, 12), projse(150, 6), manifest(150, 6),
                                             gram(150, 6)};
    return methods;
}

std::vector<double> normal_values(const Method& m, unsigned seed = 1) {
    std::mt19937 engine(seed);
    std::normal_distribution<double> normal;
    std::vector<double> values(static_cast<std::size_t>(m.n * m.d));
    for (double& v : values) v = normal(engine);
    return values;
}

// Rows first..last - 1 of the method's table.
class Rows {
  public:
    Rows(const Method& m, const std::vector<double>& values, std::int64_t first, std::int64_t last)
        : X(*fastfs::matrix(values.data() + first * m.d, last - first, m.d).get()) {
        block.X = &X;
        block.first_row = first;
        if (m.takes_labels) block.labels = m.labels.data() + first;
    }
    Rows(const Method& m, const std::vector<double>& values) : Rows(m, values, 0, m.n) {}
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;

    fastfs_status into(const Owned& stream, const fastfs_run* run = nullptr) const {
        return fastfs_stream_update(stream.get(), &block, run);
    }

    fastfs_matrix X;
    fastfs_block block = FASTFS_BLOCK_INIT;
};

// Returns a stream at the start of a pass, with the given rows in the passes before.
Owned at_pass(const Method& m, int pass, const Rows& all) {
    Owned stream = m.made();
    for (int p = 1; p < pass; ++p) {
        fastfs::check(all.into(stream));
        fastfs::check(fastfs_stream_next(stream.get(), nullptr));
    }
    return stream;
}

Owned copy_of(const Owned& stream) {
    fastfs_stream* made = nullptr;
    fastfs::check(fastfs_stream_copy(stream.get(), &made));
    return Owned(made);
}

std::vector<char> saved(const Owned& stream) {
    std::vector<char> bytes(static_cast<std::size_t>(fastfs_stream_size(stream.get())));
    fastfs::check(fastfs_stream_save(stream.get(), bytes.data(), std::ssize(bytes)));
    return bytes;
}

fastfs_status load(const Owned& stream, const std::vector<char>& bytes) {
    return fastfs_stream_load(stream.get(), bytes.data(), std::ssize(bytes));
}

fastfs_stream_state state_of(const Owned& stream) {
    fastfs_stream_state state = FASTFS_STREAM_STATE_INIT;
    fastfs::check(fastfs_stream_get(stream.get(), &state));
    return state;
}

// ---- what each function does ----------------------------------------------------------------------------------------

// The result of a stream equals the result of one stream that reads all rows.
void expect_result(const Method& m, const Owned& stream, const Rows& all) {
    const Owned whole = at_pass(m, m.n_passes, all);
    CHECK(all.into(whole) == FASTFS_OK);
    std::vector<double> shared, expected;
    CHECK(m.finish(stream, &shared) == FASTFS_OK && m.finish(whole, &expected) == FASTFS_OK);
    double largest = 0, difference = 0;
    for (std::size_t f = 0; f < expected.size(); ++f) {
        largest = std::max(largest, std::abs(expected[f]));
        difference = std::max(difference, std::abs(shared[f] - expected[f]));
    }
    CHECK(difference <= 1e-9 * largest);
}

// A pass by two copies, one of which comes back as bytes, is the pass of one stream.
void test_shares(const Method& m, const std::vector<double>& values) {
    const Rows all(m, values), first(m, values, 0, m.n / 2), second(m, values, m.n / 2, m.n);
    Owned stream = m.made();
    for (int pass = 1; pass <= m.n_passes; ++pass) {
        const fastfs_stream_state before = state_of(stream);
        CHECK(before.pass_number == pass && before.n_passes == m.n_passes && before.n_rows == 0 &&
              before.n_cols == m.d);
        const Owned other = copy_of(stream), received = copy_of(stream), both = copy_of(stream);
        CHECK(second.into(other) == FASTFS_OK && state_of(other).n_rows == m.n - m.n / 2);
        CHECK(load(received, saved(other)) == FASTFS_OK && saved(received) == saved(other));
        CHECK(first.into(both) == FASTFS_OK && first.into(stream) == FASTFS_OK);
        CHECK(fastfs_stream_merge(both.get(), other.get()) == FASTFS_OK);
        CHECK(fastfs_stream_merge(stream.get(), received.get()) == FASTFS_OK);
        CHECK(saved(stream) == saved(both) && state_of(stream).n_rows == m.n);
        CHECK(state_of(other).n_rows == m.n - m.n / 2);  // it stays as it was
        if (pass < m.n_passes) CHECK(fastfs_stream_next(stream.get(), nullptr) == FASTFS_OK);
    }
    expect_result(m, stream, all);
}

// Tests shares of a method with streams that can't be copied: each share is a separate stream.
void test_shares_without_copies(const Method& m, const std::vector<double>& values) {
    const Rows all(m, values), first(m, values, 0, m.n / 2), second(m, values, m.n / 2, m.n);
    const Owned stream = m.made(), other = m.made();
    CHECK(first.into(stream) == FASTFS_OK && second.into(other) == FASTFS_OK);
    CHECK(fastfs_stream_merge(stream.get(), other.get()) == FASTFS_OK && state_of(stream).n_rows == m.n);
    expect_result(m, stream, all);
    const std::string what = std::string("a stream of ") + m.name + " can't ";
    char byte = 0;
    fastfs_stream* made = nullptr;
    CHECK(refused(fastfs_stream_copy(stream.get(), &made), what + "be copied") && made == nullptr);
    CHECK(fastfs_stream_size(stream.get()) == -1 && says(what + "be saved"));
    CHECK(refused(fastfs_stream_save(stream.get(), &byte, 1), what + "be saved"));
    CHECK(refused(fastfs_stream_load(stream.get(), &byte, 1), "n_bytes must be that of a saved stream"));
}

// A new stream restores a saved state of any pass, and continues to the bits of the saved stream.
void test_saved(const Method& m, const std::vector<double>& values) {
    const Rows first(m, values, 0, m.n / 2), second(m, values, m.n / 2, m.n);
    const Owned stream = m.made(), resumed = m.made();
    for (int pass = 1; pass <= m.n_passes; ++pass) {
        CHECK(first.into(stream) == FASTFS_OK);
        const std::vector<char> half = saved(stream);
        CHECK(load(resumed, half) == FASTFS_OK && saved(resumed) == half);
        CHECK(second.into(stream) == FASTFS_OK && second.into(resumed) == FASTFS_OK);
        CHECK(saved(resumed) == saved(stream));
        if (pass == m.n_passes) break;
        CHECK(fastfs_stream_next(stream.get(), nullptr) == FASTFS_OK);
        CHECK(fastfs_stream_next(resumed.get(), nullptr) == FASTFS_OK);
    }
    std::vector<double> found, expected;
    CHECK(m.finish(resumed, &found) == FASTFS_OK && m.finish(stream, &expected) == FASTFS_OK && found == expected);
}

void test_means(const Method& m, const std::vector<double>& values) {
    const Owned stream = m.made();
    CHECK(Rows(m, values).into(stream) == FASTFS_OK);
    std::vector<double> counts(2), means(static_cast<std::size_t>(2 * m.d));
    if (!m.has_means) {
        CHECK(refused(fastfs_stream_means(stream.get(), counts.data(), means.data()),
                      std::string("a stream of ") + m.name + " can't tell the means"));
        return;
    }
    CHECK(fastfs_stream_means(stream.get(), counts.data(), means.data()) == FASTFS_OK);
    for (std::int64_t g = 0; g < 2; ++g) {
        double sum = 0, n = 0;
        for (std::int64_t r = 0; r < m.n; ++r) {
            if (m.labels[static_cast<std::size_t>(r)] != g) continue;
            sum += values[static_cast<std::size_t>(r * m.d)];
            ++n;
        }
        CHECK(counts[static_cast<std::size_t>(g)] == n);
        CHECK(std::abs(means[static_cast<std::size_t>(g * m.d)] - sum / n) < 1e-12);
    }
}

// ---- what is refused ------------------------------------------------------------------------------------------------

void test_null() {
    running = "no method";
    const std::string null = "stream must not be null";
    char byte = 0;
    CHECK(refused(fastfs_stream_copy(nullptr, nullptr), null));
    CHECK(refused(fastfs_stream_update(nullptr, nullptr, nullptr), null));
    CHECK(refused(fastfs_stream_merge(nullptr, nullptr), null));
    CHECK(refused(fastfs_stream_next(nullptr, nullptr), null));
    CHECK(refused(fastfs_stream_get(nullptr, nullptr), null));
    CHECK(refused(fastfs_stream_means(nullptr, nullptr, nullptr), null));
    CHECK(fastfs_stream_size(nullptr) == -1 && says(null));
    CHECK(refused(fastfs_stream_save(nullptr, &byte, 1), null));
    CHECK(refused(fastfs_stream_load(nullptr, &byte, 1), null));
    CHECK(refused(fastfs_relief_stream_finish(nullptr, nullptr, 0, nullptr, nullptr, nullptr), null));
    CHECK(refused(fastfs_disc_stream_finish(nullptr, nullptr), null));
    CHECK(refused(fastfs_projse_stream_finish(nullptr, nullptr, 0, nullptr, nullptr, nullptr, nullptr), null));
    CHECK(refused(fastfs_manifest_stream_finish(nullptr, nullptr, 2, nullptr, nullptr, 1, nullptr, nullptr, nullptr),
                  null));
    CHECK(refused(fastfs_gram_stream_finish(nullptr, nullptr, nullptr, nullptr), null));
    fastfs_stream_free(nullptr);
}

void test_nulls_beside_a_stream(const Method& m) {
    const Owned stream = m.made();
    CHECK(refused(fastfs_stream_copy(stream.get(), nullptr), "copy must not be null"));
    CHECK(refused(fastfs_stream_update(stream.get(), nullptr, nullptr), "X must not be null"));
    CHECK(refused(fastfs_stream_merge(stream.get(), nullptr), "other must not be null"));
    CHECK(refused(fastfs_stream_get(stream.get(), nullptr), "state must not be null"));
    CHECK(refused(fastfs_stream_save(stream.get(), nullptr, 1), "bytes must not be null"));
    CHECK(refused(fastfs_stream_load(stream.get(), nullptr, 1), "bytes must not be null"));
    CHECK(refused(m.create(m, false, nullptr), "stream must not be null"));
}

// Refuses streams of another method; the message names the method.
void test_other_methods(const Method& m, const std::vector<double>& values) {
    const Owned mine = m.made();
    CHECK(Rows(m, values).into(mine) == FASTFS_OK);
    for (const Method& o : small_methods()) {
        if (o.name == std::string(m.name)) continue;
        const Owned other = o.made();
        const std::string both = std::string("a stream of ") + o.name, got = std::string("; got one of ") + m.name;
        CHECK(refused(fastfs_stream_merge(other.get(), mine.get()), "other must be " + both) && says(got));
        if (m.is_copied) CHECK(refused(load(other, saved(mine)), "bytes must hold " + both) && says(got));
        CHECK(refused(o.finish(mine), "stream must be " + both) && says(got));
    }
}

// Bytes that aren't a saved stream, or not of this one.
void test_foreign_bytes(const Method& m, const std::vector<double>& values) {
    const Rows all(m, values);
    for (int pass = 1; pass <= m.n_passes; ++pass) {
        const Owned stream = at_pass(m, pass, all), fresh = copy_of(stream);
        CHECK(all.into(stream) == FASTFS_OK);
        const std::vector<char> bytes = saved(stream), before = saved(fresh);
        const auto changed = [&](std::size_t place, char value) {
            std::vector<char> other = bytes;
            other[place] = value;
            return other;
        };
        const std::int64_t n = std::ssize(bytes);
        CHECK(refused(fastfs_stream_save(stream.get(), const_cast<char*>(before.data()), 1), "n_bytes must be"));
        for (const std::int64_t cut : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{40}, n / 2, n - 1, n + 1}) {
            std::vector<char> short_or_long = bytes;
            short_or_long.resize(static_cast<std::size_t>(n + 1));
            CHECK(refused(fastfs_stream_load(fresh.get(), short_or_long.data(), cut), "n_bytes must be"));
        }
        CHECK(refused(load(fresh, changed(0, 'F')), "a stream that fastfs_stream_save wrote; got other bytes"));
        CHECK(refused(load(fresh, changed(8, 2)), "version 1 of the format of saved streams; got version 2"));
        CHECK(refused(load(fresh, changed(12, 99)), "got damaged ones"));
        CHECK(refused(load(m.made(true), bytes), "got one with other arguments"));
        CHECK(refused(load(stream, bytes), "must have read no rows in this pass"));
        if (pass == 2) {
            CHECK(refused(load(m.made(), bytes), "a stream in pass 1, as this one; got one in pass 2"));
            const std::vector<double> others = normal_values(m, 2);
            CHECK(refused(load(at_pass(m, 2, Rows(m, others)), bytes), "got one after other rows"));
        }
        std::mt19937 engine(3);
        for (int trial = 0; trial < 200; ++trial) {  // no damage may reach memory of others
            std::vector<char> broken = bytes;
            for (int k = 0; k < 8; ++k) broken[48 + engine() % (bytes.size() - 48)] = static_cast<char>(engine());
            const Owned target = copy_of(fresh);
            const fastfs_status status = load(target, broken);
            CHECK(status == FASTFS_OK || status == FASTFS_EINVAL);
            if (status == FASTFS_EINVAL) CHECK(saved(target) == before);
        }
        CHECK(load(fresh, bytes) == FASTFS_OK && saved(fresh) == bytes);  // after all that was refused
    }
}

void test_wrong_states(const Method& m, const std::vector<double>& values) {
    const Rows all(m, values);
    const Owned stream = m.made(), other = m.made(true);
    CHECK(refused(fastfs_stream_merge(stream.get(), stream.get()), "stream must not be merged with itself"));
    CHECK(refused(fastfs_stream_merge(stream.get(), other.get()), "to be merged; got "));
    if (m.n_passes == 2) {
        CHECK(refused(m.finish(stream), "the stream must be in its last pass; got pass 1 of 2"));
        const Owned second = at_pass(m, 2, all);
        CHECK(refused(fastfs_stream_merge(stream.get(), second.get()), "other must be in pass 1"));
        const std::vector<double> others = normal_values(m, 2);
        const Owned after_others = at_pass(m, 2, Rows(m, others));
        CHECK(refused(fastfs_stream_merge(second.get(), after_others.get()), "the same rows in the passes before"));
    }
    const Owned last = at_pass(m, m.n_passes, all);
    CHECK(refused(fastfs_stream_next(last.get(), nullptr),
                  std::string("the stream must have passes to come; got one in its last pass, which ") + m.finish_name +
                      " ends"));
    if (m.name != std::string("DiSC")) return;
    CHECK(all.into(last) == FASTFS_OK && m.finish(last) == FASTFS_OK);
    CHECK(state_of(last).pass_number == m.n_passes + 1);
    const char* ended = "the stream must not have come to its end";
    const std::vector<char> bytes = saved(stream);
    CHECK(refused(all.into(last), ended));
    CHECK(refused(m.finish(last), ended));
    CHECK(refused(fastfs_stream_next(last.get(), nullptr), ended));
    CHECK(refused(load(last, bytes), ended));
    CHECK(fastfs_stream_size(last.get()) == -1 && says(ended));
    CHECK(refused(fastfs_stream_merge(last.get(), copy_of(last).get()), ended));
}

void test_foreign_blocks(const Method& m, const std::vector<double>& values) {
    const Owned stream = m.made();
    Rows narrow(m, values), rows(m, values);
    narrow.X.n_cols = m.d - 1;
    CHECK(refused(narrow.into(stream), "a block of X must have " + std::to_string(m.d) + " columns"));
    const std::vector<std::int64_t> far(static_cast<std::size_t>(m.n), 7);
    rows.block.labels = far.data();
    CHECK(refused(rows.into(stream), m.takes_labels ? "groups must be from 0 to 1" : "block.labels must be null"));
    rows.block.labels = nullptr;
    if (m.takes_labels) CHECK(refused(rows.into(stream), "groups must not be null"));
    rows.block.Y = &rows.X;
    CHECK(refused(rows.into(stream), "must be null for"));
    rows.block.Y = nullptr;
    rows.block.struct_size = 4;
    CHECK(refused(rows.into(stream), "block.struct_size must be the size of the struct; got 4"));
}

// Each row comes once in each pass, in any blocks and copies.
void test_rows(const Method& m, const std::vector<double>& values) {
    const std::int64_t half = m.n / 2;
    const Rows all(m, values), first(m, values, 0, half), second(m, values, half, m.n);
    for (int pass = 1; pass <= m.n_passes; ++pass) {
        const Owned stream = at_pass(m, pass, all);
        const auto end = [&] { return m.next_or_finish(stream, pass); };
        CHECK(refused(end(), "each pass must have all " + std::to_string(m.n) + " rows; got 0 in pass " +
                                 std::to_string(pass) + ", without row 0"));
        CHECK(first.into(stream) == FASTFS_OK);
        CHECK(refused(first.into(stream), "once in a pass; got row 0 again"));
        Rows early(m, values, half, m.n);
        early.block.first_row = half - 1;
        CHECK(refused(early.into(stream), "once in a pass; got row " + std::to_string(half - 1) + " again"));
        fastfs_place place = FASTFS_PLACE_INIT;
        CHECK(fastfs_last_error_places(&place, 1) == 1 && place.kind == FASTFS_PLACE_ROW && place.number == half - 1);
        early.block.first_row = m.n;
        CHECK(refused(early.into(stream), "begins with row " + std::to_string(m.n)));
        CHECK(refused(end(), "without row " + std::to_string(half)));
        CHECK(refused(fastfs_stream_merge(stream.get(), copy_of(stream).get()), "once in a pass; got row 0 again"));
        // Rows that are missing can still come.
        CHECK(second.into(stream) == FASTFS_OK && end() == FASTFS_OK);
    }
}

// ---- updates that fail ----------------------------------------------------------------------------------------------

// Updates that fail before they change anything can be made again: rows that aren't finite, too little memory.
void test_refused_updates(const Method& m, const std::vector<double>& values) {
    std::vector<double> gap = values;
    gap.back() = std::numeric_limits<double>::quiet_NaN();
    const Rows all(m, values), bad(m, gap);
    fastfs_run poor = FASTFS_RUN_INIT;
    poor.max_memory = 1000;
    for (int pass = 1; pass <= m.n_passes; ++pass) {
        const Owned stream = at_pass(m, pass, all), other = at_pass(m, pass, all);
        CHECK(bad.into(stream) == FASTFS_EINVAL && says("NaN"));
        if (m.knows_rows) CHECK(all.into(stream, &poor) == FASTFS_ENOMEM);
        CHECK(all.into(stream) == FASTFS_OK && all.into(other) == FASTFS_OK);
        std::vector<double> found, expected;
        if (m.is_copied) CHECK(saved(stream) == saved(other));
        if (pass == m.n_passes) {
            CHECK(m.finish(stream, &found) == FASTFS_OK && m.finish(other, &expected) == FASTFS_OK);
            CHECK(found == expected);
        }
    }
}

void check_broken(const Method& m, const Owned& stream, const Owned& whole, const Rows& all) {
    const char* broken =
        "this stream must not be used after an update that stopped halfway: read all rows into a new one";
    CHECK(refused(all.into(stream), broken));
    CHECK(refused(m.finish(stream), broken));
    CHECK(refused(fastfs_stream_next(stream.get(), nullptr), broken));
    fastfs_stream* made = nullptr;
    CHECK(refused(fastfs_stream_copy(stream.get(), &made), broken) && made == nullptr);
    fastfs_stream_state state = FASTFS_STREAM_STATE_INIT;
    CHECK(refused(fastfs_stream_get(stream.get(), &state), broken));
    CHECK(fastfs_stream_size(stream.get()) == -1 && says(broken));
    char byte = 0;
    CHECK(refused(fastfs_stream_save(stream.get(), &byte, 1), broken));
    CHECK(refused(fastfs_stream_load(stream.get(), &byte, 1), broken));
    CHECK(refused(fastfs_stream_merge(stream.get(), whole.get()), broken));
    CHECK(refused(fastfs_stream_merge(whole.get(), stream.get()), broken));
}

// Returns how often an update with all rows reports in the last pass.
int n_reports(const Method& m) {
    const std::vector<double> values = normal_values(m);
    const Rows all(m, values);
    const Owned stream = at_pass(m, m.n_passes, all);
    int n = 0;
    fastfs_run run = FASTFS_RUN_INIT;
    run.n_threads = 1;
    run.user = &n;
    run.progress = [](void* user, const char*, double) { return ++*static_cast<int*>(user), 0; };
    CHECK(all.into(stream, &run) == FASTFS_OK);
    return n;
}

// Cancels an update at its first report, its second, and so on: the stream is unchanged, or refuses all use.
void test_canceled_updates(const Method& m) {
    running = m.name;
    const std::vector<double> values = normal_values(m);
    const Rows all(m, values);
    const Owned start = at_pass(m, m.n_passes, all),
                clean = copy_of(start);  // the pass that changes things all the time
    CHECK(all.into(clean) == FASTFS_OK);
    const std::vector<char> expected = saved(clean);
    int n_broken = 0, left = 0;
    fastfs_run run = FASTFS_RUN_INIT;
    run.n_threads = 1;
    run.user = &left;
    run.progress = [](void* user, const char*, double) { return static_cast<int>(--*static_cast<int*>(user) == 0); };
    for (int report = 1; n_broken < 2; ++report) {
        const Owned stream = copy_of(start);
        left = report;
        const fastfs_status status = all.into(stream, &run);
        CHECK(status == FASTFS_ECANCELED || status == FASTFS_OK);
        if (status == FASTFS_ECANCELED && fastfs_stream_size(stream.get()) == -1) {
            ++n_broken;
            check_broken(m, stream, start, all);
        } else {
            if (status == FASTFS_ECANCELED) CHECK(all.into(stream) == FASTFS_OK);
            CHECK(saved(stream) == expected);
        }
        if (status == FASTFS_OK) break;
    }
    CHECK(n_broken > 0);
}

// ---- a stream within its own call -----------------------------------------------------------------------------------

struct Within {
    const Owned& stream;
    const Rows& all;
    bool called = false;
};

// Tests calls by the progress callback of an update, which works on the stream. Returns whether it was called: reports
// come at intervals of time, so it depends on the machine, and on sanitizers, how much work has one.
bool test_callback(const Method& m) {
    running = m.name;
    const std::vector<double> values = normal_values(m);
    const Rows all(m, values);
    const Owned stream = at_pass(m, m.n_passes, all);
    Within within{stream, all};
    fastfs_run run = FASTFS_RUN_INIT;
    run.user = &within;
    run.progress = [](void* user, const char*, double) {
        auto& self = *static_cast<Within*>(user);
        const char* refusal = "must not be used by the progress callback or the kernel of a call that works on it";
        if (self.called) return 0;
        self.called = true;
        fastfs_stream_state state = FASTFS_STREAM_STATE_INIT;
        CHECK(refused(fastfs_stream_get(self.stream.get(), &state), refusal));
        CHECK(fastfs_stream_size(self.stream.get()) == -1 && says(refusal));
        CHECK(refused(self.all.into(self.stream), refusal));
        fastfs_stream_free(self.stream.get());  // it stays
        CHECK(says(refusal));
        return 0;
    };
    CHECK(all.into(stream, &run) == FASTFS_OK);
    CHECK(state_of(stream).n_rows == m.n);
    return within.called;
}

void test_callbacks(const std::function<Method(std::int64_t)>& of_size) {
    std::int64_t d = 250;
    while (d < 16000 && !test_callback(of_size(d))) d *= 2;
    CHECK(d < 16000);
}

// ---- single methods -------------------------------------------------------------------------------------------------

void test_merged_classes() {
    running = "RELIEF";
    const std::int64_t n = 12, d = 3;
    const std::vector<double> values = normal_values(relief(n, d));
    std::vector<std::int64_t> labels;
    for (std::int64_t r = 0; r < n; ++r) labels.push_back(r % 3);
    fastfs::stream stream = fastfs::relief_stream(n, d, labels.data(), 3);
    const fastfs::matrix X(values.data(), n, d);
    stream.update(X, 0);
    stream.next();
    stream.update(X, 0);
    const auto merged = fastfs::relief_stream_finish(stream, {0, 1, 1});
    CHECK(std::isfinite(merged->scores[2]));
    const auto message = [&](const std::vector<std::int64_t>& classes) -> std::string {
        try {
            fastfs::relief_stream_finish(stream, classes);
        } catch (const std::invalid_argument& e) {
            return e.what();
        }
        return "";
    };
    CHECK(message({0, 1}) == "merged must hold a number for each of the 3 classes; got 2");
    CHECK(message({0, 1, 1, 0}) == "merged must hold a number for each of the 3 classes; got 4");
    CHECK(message({0, 5, 0}) == "n_merged must be from 2 to the 3 classes; got 6");
    CHECK(message({0, -1, 1}) == "merged must be from 0 to 1; got -1 for class 1");
    CHECK(message({0, 2, 2}) == "merged must hold each number from 0 to 2; got no 1");
}

// Streams of ProjSe with Y, with labels, alone, and with two views.
void test_projse_views() {
    running = "ProjSe";
    const Method m = projse(60, 5);
    const std::vector<double> values = normal_values(m), targets = normal_values(m, 2);
    const fastfs::matrix X(values.data(), m.n, m.d), Y(targets.data(), m.n, 3);
    const auto make = [](std::int64_t n_y, int views) { return fastfs::projse_stream(n_y, 5, views); };
    const auto refusal = [](fastfs::stream of, const fastfs_matrix* samples, const fastfs_matrix* numbers,
                            const std::int64_t* of_rows) -> std::string {
        try {
            of.update({sizeof(fastfs_block), samples, numbers, of_rows, 0});
        } catch (const std::invalid_argument& e) {
            return e.what();
        }
        return "";
    };
    const std::int64_t* labels = m.labels.data();
    CHECK(refusal(make(3, FASTFS_PROJSE_ONE_VIEW), X.get(), Y.get(), nullptr).empty());
    CHECK(refusal(make(2, FASTFS_PROJSE_ONE_VIEW), X.get(), nullptr, labels).empty());
    CHECK(refusal(make(0, FASTFS_PROJSE_ONE_VIEW), X.get(), nullptr, nullptr).empty());
    CHECK(refusal(make(3, FASTFS_PROJSE_ONE_VIEW), X.get(), Y.get(), labels) ==
          "one of Y and labels must be null; got both");
    CHECK(refusal(make(3, FASTFS_PROJSE_ONE_VIEW), X.get(), nullptr, nullptr) ==
          "every block must have Y or labels; got X alone");
    CHECK(refusal(make(0, FASTFS_PROJSE_ONE_VIEW), X.get(), Y.get(), nullptr) ==
          "a block of Y must have 0 columns; got 3");
    CHECK(refusal(make(2, FASTFS_PROJSE_TWO_VIEWS), X.get(), nullptr, labels).empty());
    fastfs_stream* none = nullptr;
    CHECK(refused(fastfs_projse_stream_new(2, 5, 3, nullptr, &none), "views must be one of FASTFS_PROJSE_ONE_VIEW"));
    CHECK(refused(fastfs_projse_stream_new(0, 5, FASTFS_PROJSE_GROUPS, nullptr, &none), "n_y"));

    // Groups as classes equal rows with the labels of the groups.
    std::vector<double> of_groups, of_labels;
    const Owned groups = m.made();
    CHECK(Rows(m, values).into(groups) == FASTFS_OK && m.finish(groups, &of_groups) == FASTFS_OK);
    fastfs::stream labelled = make(2, FASTFS_PROJSE_ONE_VIEW);
    labelled.update_labels(X, labels);
    CHECK(select(m, labelled.get(), nullptr, &of_labels) == FASTFS_OK);
    for (std::size_t f = 0; f < of_labels.size(); ++f) CHECK(std::abs(of_groups[f] - of_labels[f]) < 1e-12);
    const std::int64_t classes[] = {0, 2}, alone[] = {-1, 0};
    CHECK(refused(select(m, groups.get(), classes, nullptr), "classes must be from -1 to 1; got 2 for group 1"));
    CHECK(refused(select(m, groups.get(), nullptr, nullptr), "classes must not be null"));
    CHECK(refused(select(m, labelled.get(), classes, nullptr), "classes must be null: this stream has no groups"));
    CHECK(select(m, groups.get(), alone, nullptr) != FASTFS_OK &&
          says("Y must have a column that varies; got constant ones alone"));
}

void test_all(const Method& m) {
    running = m.name;
    const std::vector<double> values = normal_values(m);
    if (m.is_copied) {
        test_shares(m, values);
        test_saved(m, values);
        test_foreign_bytes(m, values);
    } else {
        test_shares_without_copies(m, values);
    }
    test_means(m, values);
    test_nulls_beside_a_stream(m);
    test_other_methods(m, values);
    test_wrong_states(m, values);
    test_foreign_blocks(m, values);
    if (m.knows_rows) test_rows(m, values);
    test_refused_updates(m, values);
}

}  // namespace

int main() {
    if (fastfs_isa() == nullptr) {
        std::printf("skipped: %s\n", fastfs_last_error());
        return 77;
    }
    fastfs::check(fastfs_link_blas());
    test_null();
    for (const Method& m : small_methods()) test_all(m);
    test_merged_classes();
    test_projse_views();
    test_callbacks([](std::int64_t d) { return relief(d, d); });
    test_callbacks([](std::int64_t d) { return gram(1000, d); });
    test_callbacks([](std::int64_t d) { return projse_alone(1000, d); });
    // Reports come at intervals of time: n grows until reports come before and while an update changes values.
    std::int64_t n = 200;
    while (n < 10000 && n_reports(relief(n, 2 * n)) < 6) n += n / 4;
    test_canceled_updates(relief(n, 2 * n));
#ifndef __SANITIZE_THREAD__  // a minute for what no two threads share; test_disc has streams on threads
    test_all(disc(266, 5001));
    n = 266;
    while (n < 10000 && n_reports(disc(n, 5001)) < 2) n *= 2;
    test_canceled_updates(disc(n, 5001));
#endif
    std::printf("%s: %d failures\n", fastfs_isa(), failures);
    return failures == 0 ? 0 : 1;
}
