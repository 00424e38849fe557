// Bytes of a fuzzer as sizes, choices, numbers and matrices. Behind the last byte all are zeros, so any input is one.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <vector>

#include "fastfs/fastfs.h"

namespace fuzz {

constexpr std::int64_t kMost64 = std::numeric_limits<std::int64_t>::max();

class Input {
  public:
    Input(const std::uint8_t* bytes, std::size_t size) : next_(bytes), end_(bytes + size) {}

    std::uint8_t byte() { return next_ < end_ ? *next_++ : std::uint8_t{0}; }
    std::uint64_t word() {
        std::uint64_t w = 0;
        for (int k = 0; k < 8; ++k) w = w << 8 | byte();
        return w;
    }
    // 0..n - 1, for n up to 65536.
    std::int64_t below(std::int64_t n) { return n <= 256 ? byte() % n : (byte() << 8 | byte()) % n; }
    std::int64_t from(std::int64_t first, std::int64_t last) { return first + below(last - first + 1); }
    bool one_in(std::int64_t n) { return below(n) == n - 1; }
    template <class T>
    T pick(std::initializer_list<T> of) {
        return of.begin()[below(static_cast<std::int64_t>(of.size()))];
    }
    // Mostly what is good, sometimes a number that must be refused, or that is at least odd.
    template <class T>
    T mostly(T good) {
        if (!one_in(48)) return good;
        return pick<T>({T(-1), T(0), T(2), T(7), std::numeric_limits<T>::max(), std::numeric_limits<T>::lowest()});
    }
    double mostly_real(double good) {
        if (!one_in(32)) return good;
        return pick({0.0, -1.0, 1e-310, 1e-30, 1e30, 1.7e308, double(INFINITY), double(NAN)});
    }

  private:
    const std::uint8_t* next_;
    const std::uint8_t* end_;
};

// Numbers by the thousand come from a seed, so that inputs stay short.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t word() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return z ^ z >> 31;
    }
    std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(word() % static_cast<std::uint64_t>(n)); }
    double uniform() { return static_cast<double>(word() >> 11) * 0x1p-53; }

  private:
    std::uint64_t state_;
};

// Saved state as a stranger may have sent it: with other bytes, other words (sizes among them), or a part of it.
inline void spoil(Input& in, std::vector<char>& bytes, std::initializer_list<std::int64_t> sizes) {
    std::vector<std::int64_t> words(sizes);
    words.insert(words.end(), {-1, 0, 1, kMost64, 1LL << 32, 1LL << 61});
    Random random(in.word());
    for (std::int64_t k = in.from(0, 6); k > 0 && !bytes.empty(); --k) {
        const auto place = static_cast<std::size_t>(random.below(std::ssize(bytes)));
        if (random.below(2) == 0) {
            bytes[place] = static_cast<char>(random.word());
        } else if (place / 8 * 8 + 8 <= bytes.size()) {
            const std::int64_t word = words[static_cast<std::size_t>(in.below(std::ssize(words)))];
            std::memcpy(bytes.data() + place / 8 * 8, &word, 8);
        }
    }
    if (in.one_in(3)) bytes.resize(static_cast<std::size_t>(random.below(std::ssize(bytes) + 1)));
    bytes.shrink_to_fit();
}

// Spoils a saved stream, and mostly gives its header the right count of bytes, so that others are read.
inline void spoil_saved(Input& in, std::vector<char>& bytes, std::initializer_list<std::int64_t> sizes) {
    spoil(in, bytes, sizes);
    const std::int64_t n = std::ssize(bytes);
    if (n >= 24 && !in.one_in(4)) std::memcpy(bytes.data() + 16, &n, 8);
}

enum class Values { kDigits, kQuarters, kScales, kEqual, kSpecial };

// Sums of a few thousand products of these are exact in double.
inline bool is_exact(Values kind) { return kind == Values::kDigits || kind == Values::kQuarters; }
inline bool is_moderate(Values kind) { return kind != Values::kScales && kind != Values::kSpecial; }

inline Values draw_values(Input& in) {
    return in.pick(
        {Values::kDigits, Values::kQuarters, Values::kQuarters, Values::kScales, Values::kEqual, Values::kSpecial});
}

inline double draw_value(Random& random, Values kind) {
    switch (kind) {
        case Values::kDigits:
            return static_cast<double>(random.below(3));
        case Values::kQuarters:
            return static_cast<double>(random.below(129) - 64) / 4;
        case Values::kScales:
            return (random.uniform() - 0.5) * std::exp2(static_cast<double>(random.below(1600) - 800));
        case Values::kEqual:
            return 1.5;
        case Values::kSpecial:
            break;
    }
    constexpr double special[] = {0.0,  -0.0,    1.0,      -1.0,    1e-310,   -4.9e-324, 1e-40,       1e19, 3e38,
                                  1e40, 1.3e154, -1.3e154, 1.7e308, -1.7e308, INFINITY,  double(NAN), 2.0,  1e-20};
    const std::int64_t n = static_cast<std::int64_t>(sizeof special / sizeof *special);
    return random.below(8) > 0 ? random.uniform() : special[random.below(n)];
}

template <class T>
T narrow(double x) {
    if constexpr (sizeof(T) == 4) {  // beyond its range the conversion isn't defined
        if (std::abs(x) > 3.4e38) return std::isnan(x) ? T(NAN) : T(x > 0 ? INFINITY : -INFINITY);
    }
    return static_cast<T>(x);
}

// What an array of a matrix lies in: no byte more, so that the address sanitizer sees a step beyond.
class Block {
  public:
    unsigned char* take(std::size_t bytes) {
        bytes_.reset(new unsigned char[bytes]);
        size_ = bytes;
        return bytes_.get();
    }
    template <class T>
    T* put(const std::vector<T>& values) {
        unsigned char* p = take(values.size() * sizeof(T));
        if (!values.empty()) std::memcpy(p, values.data(), size_);
        return reinterpret_cast<T*>(p);
    }

  private:
    std::unique_ptr<unsigned char[]> bytes_;
    std::size_t size_ = 0;
};

struct Table {
    fastfs_matrix m = FASTFS_MATRIX_INIT;
    std::vector<double> numbers;  // row-major, what the matrix stands for, in double
    Values kind = Values::kDigits;
    bool broken = false;        // must be refused
    bool has_gaps = false;      // missing genotypes
    std::int64_t n = 0, d = 0;  // what n_rows and n_cols are, if they don't lie
    Block values, indices, indptr, row_list, col_list;

    double at(std::int64_t r, std::int64_t c) const { return numbers[static_cast<std::size_t>(r * d + c)]; }
    bool finite() const {
        for (const double x : numbers) {
            if (!std::isfinite(x)) return false;
        }
        return true;
    }
};

enum : unsigned { kDense = 1, kCsr = 2, kCsc = 4, kGenotype = 8, kAny = 15 };

inline void draw_dense_layout(Input& in, Table& t, std::int64_t& offset, std::int64_t& size) {
    const std::int64_t n = t.m.n_rows, d = t.m.n_cols, gap = in.one_in(4) ? in.from(1, 3) : 0;
    std::int64_t rs = d + gap, cs = 1;
    switch (in.below(6)) {  // strides are not 0: rows and columns that are equal have values of their own
        case 1:
            rs = 1;
            cs = n + gap;
            break;
        case 2:
            rs = 6 * d;
            cs = 3;
            break;
        case 3:
            rs = -(d + gap);
            cs = -1;
            break;
        case 4:
            rs = 1;
            cs = -(n + gap);
            break;
        default:
            break;
    }
    t.m.row_stride = rs;
    t.m.col_stride = cs;
    offset = (rs < 0 ? -rs * (n - 1) : 0) + (cs < 0 ? -cs * (d - 1) : 0);
    size = std::abs(rs) * (n - 1) + std::abs(cs) * (d - 1) + 1;
}

template <class T>
void fill_dense(Input& in, Table& t, Random& random) {
    std::int64_t offset = 0, size = 0;
    draw_dense_layout(in, t, offset, size);
    T* values = reinterpret_cast<T*>(t.values.take(static_cast<std::size_t>(size) * sizeof(T)));
    for (std::int64_t k = 0; k < size; ++k) values[k] = std::numeric_limits<T>::quiet_NaN();  // not to be read
    T* first = values + offset;
    t.m.values = first;
    const bool whole_columns = in.one_in(4);  // equal columns: ties
    for (std::int64_t c = 0; c < t.m.n_cols; ++c) {
        const double of_column = draw_value(random, t.kind);
        const bool equal = whole_columns && random.below(2) == 0;
        for (std::int64_t r = 0; r < t.m.n_rows; ++r) {
            first[r * t.m.row_stride + c * t.m.col_stride] = narrow<T>(equal ? of_column : draw_value(random, t.kind));
        }
    }
    for (std::int64_t r = 0; r < t.m.n_rows; ++r) {
        for (std::int64_t c = 0; c < t.m.n_cols; ++c) {
            t.numbers[static_cast<std::size_t>(r * t.m.n_cols + c)] =
                static_cast<double>(first[r * t.m.row_stride + c * t.m.col_stride]);
        }
    }
}

template <class T, class I>
void fill_sparse(Input& in, Table& t, Random& random) {
    const bool csr = t.m.storage == FASTFS_CSR;
    const std::int64_t outer = csr ? t.m.n_rows : t.m.n_cols, inner = csr ? t.m.n_cols : t.m.n_rows;
    const std::int64_t most = in.pick<std::int64_t>({0, 1, 3, 8, inner});
    const bool sorted = in.one_in(2), repeats = in.one_in(4);
    std::vector<T> values;
    std::vector<I> indptr{0}, indices;
    for (std::int64_t o = 0; o < outer; ++o) {
        const std::int64_t stored = std::min(inner, most == 0 ? 0 : random.below(most + 1));
        std::int64_t i = sorted ? 0 : inner - 1;
        for (std::int64_t k = 0; k < stored; ++k) {
            if (repeats) {
                i = random.below(inner);
            } else {
                const std::int64_t step = random.below(inner / stored + 1);
                i = sorted ? i + (k > 0) + step : i - (k > 0) - step;
                if (i < 0 || i >= inner) break;
            }
            const T value = random.below(8) == 0 ? T(0) : narrow<T>(draw_value(random, t.kind));
            indices.push_back(static_cast<I>(i));
            values.push_back(value);
            t.numbers[static_cast<std::size_t>(csr ? o * t.m.n_cols + i : i * t.m.n_cols + o)] +=
                static_cast<double>(value);
        }
        indptr.push_back(static_cast<I>(indices.size()));
    }
    t.m.values = values.empty() && in.one_in(2) ? nullptr : t.values.put(values);
    t.m.index_bits = 8 * sizeof(I);
    if (t.broken) {
        // Nothing that reads beyond the arrays before it can be known: the last offset is as many as there are.
        switch (in.below(5)) {
            case 0:
                indptr[0] = 1;
                break;
            case 1:
                indptr[indptr.size() / 2] =
                    in.pick<I>({I(-1), std::numeric_limits<I>::max(), std::numeric_limits<I>::lowest()});
                t.broken = indptr.size() > 2 || indptr[0] != 0;
                if (indptr.size() <= 2) indptr.back() = static_cast<I>(indices.size());
                break;
            case 2:
                t.m.index_bits = in.pick({0, 16, -64, 96});
                break;
            default:
                t.broken = !indices.empty();
                if (t.broken) {
                    indices[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(indices.size())))] =
                        in.pick<I>({I(-1), static_cast<I>(inner), std::numeric_limits<I>::max(),
                                    std::numeric_limits<I>::lowest()});
                }
        }
    }
    t.m.indices = t.indices.put(indices);
    t.m.indptr = t.indptr.put(indptr);
}

inline void fill_genotypes(Input& in, Table& t, Random& random) {
    const bool some_rows = in.one_in(3), some_cols = in.one_in(3), gaps = in.one_in(2);
    const std::int64_t n = t.m.n_rows, d = t.m.n_cols;
    const std::int64_t samples = some_rows ? n + in.below(9) : n, snps = some_cols ? d + in.below(5) : d;
    const std::int64_t stride = (samples + 3) / 4 + (in.one_in(4) ? in.from(1, 3) : 0);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(stride * snps));
    const std::int64_t constant = in.one_in(4) ? random.below(snps) : -1;
    for (std::size_t k = 0; k < bytes.size(); ++k) {
        for (int i = 0; i < 4; ++i) {
            const std::uint8_t codes[] = {0, 2, 3, 1};
            std::uint8_t code = codes[random.below(gaps ? 4 : 3)];
            if (static_cast<std::int64_t>(k) / stride == constant) code = 2;
            bytes[k] = static_cast<std::uint8_t>(bytes[k] | code << 2 * i);
        }
    }
    const auto list = [&](std::int64_t size, std::int64_t of) {
        std::vector<std::int64_t> places;
        for (std::int64_t k = 0; k < size; ++k) places.push_back(random.below(of));
        return places;
    };
    t.m.values = t.values.put(bytes);
    t.m.col_stride = stride;
    t.m.row_stride = 0;
    std::vector<std::int64_t> rows = list(n, samples), cols = list(d, snps);
    for (std::int64_t r = 0; r < n; ++r) {
        for (std::int64_t c = 0; c < d; ++c) {
            const std::int64_t place = some_rows ? rows[static_cast<std::size_t>(r)] : r,
                               snp = some_cols ? cols[static_cast<std::size_t>(c)] : c;
            const int code = bytes[static_cast<std::size_t>(snp * stride + place / 4)] >> 2 * (place % 4) & 3;
            constexpr double of_code[] = {2, double(NAN), 1, 0};
            t.numbers[static_cast<std::size_t>(r * d + c)] = of_code[code];
            t.has_gaps = t.has_gaps || code == 1;
        }
    }
    if (t.broken) {
        switch (in.below(4)) {
            case 0:
                t.m.col_stride = in.pick<std::int64_t>({0, -1, std::numeric_limits<std::int64_t>::lowest(), kMost64});
                break;
            case 1:
                t.m.row_stride = in.pick<std::int64_t>({1, -1, kMost64});
                break;
            default:
                t.broken = some_rows;
                if (some_rows) rows.back() = in.pick<std::int64_t>({-1, 4 * stride, kMost64});
        }
    }
    if (some_rows) t.m.row_list = t.row_list.put(rows);
    if (some_cols) t.m.col_list = t.col_list.put(cols);
}

// A matrix of n x d in one of the storages that a function takes (or sometimes, in another one).
inline std::unique_ptr<Table> draw_table(Input& in, std::int64_t n, std::int64_t d, unsigned storages = kAny) {
    auto table = std::make_unique<Table>();
    Table& t = *table;
    if (in.one_in(64)) storages = kAny;
    std::vector<int> of;
    for (int s = FASTFS_DENSE; s <= FASTFS_GENOTYPE; ++s) {
        if (storages >> s & 1) of.push_back(s);
    }
    t.m.storage = of[static_cast<std::size_t>(in.below(static_cast<std::int64_t>(of.size())))];
    t.m.dtype = in.one_in(2) ? FASTFS_FLOAT32 : FASTFS_FLOAT64;
    t.m.n_rows = t.n = n;
    t.m.n_cols = t.d = d;
    t.kind = draw_values(in);
    t.broken = in.one_in(48);
    t.numbers.assign(static_cast<std::size_t>(n * d), 0.0);
    Random random(in.word());
    const bool is_float = t.m.dtype == FASTFS_FLOAT32, narrow_indices = in.one_in(2);
    if (t.m.storage == FASTFS_DENSE) {
        is_float ? fill_dense<float>(in, t, random) : fill_dense<double>(in, t, random);
        if (t.broken) {
            t.m.row_stride = in.pick<std::int64_t>({kMost64, std::numeric_limits<std::int64_t>::lowest(), 1LL << 60});
        }
    } else if (t.m.storage == FASTFS_GENOTYPE) {
        t.kind = Values::kDigits;
        fill_genotypes(in, t, random);
    } else if (is_float) {
        narrow_indices ? fill_sparse<float, std::int32_t>(in, t, random)
                       : fill_sparse<float, std::int64_t>(in, t, random);
    } else {
        narrow_indices ? fill_sparse<double, std::int32_t>(in, t, random)
                       : fill_sparse<double, std::int64_t>(in, t, random);
    }
    if (in.one_in(64)) {  // other fields that lie
        t.broken = true;
        switch (in.below(5)) {
            case 0:
                t.m.dtype = in.pick({0, 16, -1});
                break;
            case 1:
                t.m.storage = in.pick({-1, 4, 255});
                break;
            case 2:
                t.m.reserved = 1;
                break;
            case 3:
                t.m.n_rows = in.pick<std::int64_t>({0, -1, kMost64});
                break;
            default:
                t.m.n_cols = in.pick<std::int64_t>({0, -1, kMost64});
        }
    }
    return table;
}

// Adds a row of one table to another, of which only the numbers are wanted.
inline void add_row(Table& to, const Table& from, std::int64_t row) {
    for (std::int64_t c = 0; c < from.d; ++c) to.numbers.push_back(from.at(row, c));
    to.d = from.d;
    to.n += 1;
    if (from.m.dtype == FASTFS_FLOAT32) to.m.dtype = FASTFS_FLOAT32;
    if (!is_moderate(from.kind)) to.kind = from.kind;
}

// The same numbers as rows of doubles.
inline fastfs_matrix dense_of(const Table& t) {
    fastfs_matrix m = FASTFS_MATRIX_INIT;
    m.n_rows = t.n;
    m.n_cols = t.d;
    m.values = t.numbers.data();
    m.row_stride = t.d;
    return m;
}

// Labels of n rows; mostly each class has one, if there are rows enough.
inline std::vector<std::int64_t> draw_labels(Input& in, std::int64_t n, std::int64_t n_classes) {
    Random random(in.word());
    std::vector<std::int64_t> labels;
    const bool even = in.one_in(2);
    for (std::int64_t r = 0; r < n; ++r)
        labels.push_back(r < n_classes || even ? r % n_classes : random.below(n_classes));
    if (in.one_in(48)) labels.back() = in.pick<std::int64_t>({-1, n_classes, kMost64, -kMost64});
    return labels;
}

inline std::int64_t draw_size(Input& in, std::int64_t least) {
    const std::int64_t of[] = {least, least + 1, 4, 7, 8, 12, 16, 17, 31, 33, 40, 64, 65, 70};
    const std::int64_t size = in.one_in(32) ? in.from(100, 300) : of[in.below(14)];
    return std::max(least, size);
}

}  // namespace fuzz
