#include "support/kept_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "support/index.hpp"

namespace fastfs::core {

void KeptRows::keep_row(const Matrix& X, std::int64_t row, std::int64_t number) {
    if (rows_.empty()) {
        is_sparse_ = X.is_sparse();
        is_float32_ = X.is_float32();
    }
    const fastfs_matrix& m = X.description();
    auto copy = std::make_shared<Row>();
    const auto resize = [&]<class T>(const T*, std::int64_t n) {
        copy->values.resize(at(n) * sizeof(T));
        return reinterpret_cast<T*>(copy->values.data());
    };
    if (X.is_sparse()) {
        visit_sparse(m, [&](auto* values, auto* indptr, auto* indices) {
            const std::int64_t begin = indptr[row], n = indptr[row + 1] - begin;
            std::copy_n(values + begin, n, resize(values, n));
            copy->columns.reserve(at(n));
            for (std::int64_t e = 0; e < n; ++e) {
                copy->columns.push_back(static_cast<std::int32_t>(indices[begin + e]));
            }
        });
    } else {
        visit_values(m, [&]<class T>(const Values<T>& x) {
            Buffer<T> room;  // scratch for decoded genotypes
            const auto [values, rs, cs] = x.block(row, row + 1, 0, m.n_cols, room);
            T* to = resize(values, m.n_cols);
            for (std::int64_t c = 0; c < m.n_cols; ++c) to[c] = values[c * cs];
        });
    }
    const std::int64_t n_bytes = copy->memory();
    if (rows_.try_emplace(number, std::move(copy)).second) memory_ += n_bytes;
}

std::int64_t KeptRows::memory(const Matrix& X, std::int64_t row) {
    const std::int64_t value = X.is_float32() ? 4 : 8;
    if (!X.is_sparse()) return X.n_cols() * value + kOfAnyRow;
    return visit_sparse(X.description(), [&](auto*, auto* indptr, auto*) {
        return static_cast<std::int64_t>(indptr[row + 1] - indptr[row]) * (value + 4) + kOfAnyRow;
    });
}

void KeptRows::keep_only(const std::vector<std::int64_t>& numbers) {
    std::erase_if(rows_, [&](const auto& row) {
        const bool gone = !std::binary_search(numbers.begin(), numbers.end(), row.first);
        if (gone) memory_ -= row.second->memory();
        return gone;
    });
}

void KeptRows::merge(const KeptRows& other) {
    if (rows_.empty()) {
        is_sparse_ = other.is_sparse_;
        is_float32_ = other.is_float32_;
    }
    for (const auto& [number, row] : other.rows_) {
        if (rows_.try_emplace(number, row).second) memory_ += row->memory();
    }
}

std::vector<std::int64_t> KeptRows::numbers() const {
    std::vector<std::int64_t> row_numbers;
    for (const auto& [number, row] : rows_) row_numbers.push_back(number);
    return row_numbers;
}

// Writes the number of rows, and then number, values and columns of each row, in ascending order.
void KeptRows::save_state(ByteWriter& to) const {
    to.put(std::ssize(rows_));
    for (const auto& [number, row] : rows_) {
        to.put(number);
        to.put(row->values);
        to.put(row->columns);
    }
}

void KeptRows::load_state(ByteReader& from, std::int64_t n_rows, std::int64_t n_cols, bool is_sparse, bool is_float32) {
    is_sparse_ = is_sparse;
    is_float32_ = is_float32;
    const std::int64_t bytes_each = is_float32 ? 4 : 8;
    for (std::int64_t left = from.get(); left > 0; --left) {
        const std::int64_t number = from.get();
        auto row = std::make_shared<Row>();
        from.get(row->values);
        from.get(row->columns);
        from.expect(number >= 0 && number < n_rows);
        from.expect(std::ssize(row->values) == bytes_each * (is_sparse ? std::ssize(row->columns) : n_cols));
        for (const std::int32_t column : row->columns) from.expect(column >= 0 && column < n_cols);
        const auto expect_finite = [&]<class T>(T value) {
            for (auto at = row->values.begin(); at != row->values.end(); at += sizeof(T)) {
                std::memcpy(&value, &*at, sizeof(T));
                from.expect(std::isfinite(value));
            }
        };
        is_float32 ? expect_finite(float{}) : expect_finite(double{});
        const std::int64_t n_bytes = row->memory();
        from.expect(rows_.try_emplace(number, std::move(row)).second);
        memory_ += n_bytes;
    }
}

OwnedMatrix KeptRows::matrix(std::int64_t n_cols) const {
    OwnedMatrix owned;
    fastfs_matrix m = FASTFS_MATRIX_INIT;
    m.dtype = is_float32_ ? FASTFS_FLOAT32 : FASTFS_FLOAT64;
    m.n_rows = std::ssize(rows_);
    m.n_cols = n_cols;
    std::int64_t n_bytes = 0, n_stored = 0;
    for (const auto& [number, row] : rows_) {
        n_bytes += std::ssize(row->values);
        n_stored += std::ssize(row->columns);
    }
    owned.values = Buffer<char>(n_bytes);
    char* to = owned.values.data();
    for (const auto& [number, row] : rows_) to = std::copy(row->values.begin(), row->values.end(), to);
    m.values = owned.values.data();
    if (is_sparse_) {
        const auto fill = [&]<class I>(I) {
            owned.indptr = Buffer<char>((m.n_rows + 1) * std::int64_t{sizeof(I)});
            owned.indices = Buffer<char>(n_stored * std::int64_t{sizeof(I)});
            I *ends = reinterpret_cast<I*>(owned.indptr.data()), *columns = reinterpret_cast<I*>(owned.indices.data());
            const I* const first = columns;
            *ends = 0;
            for (const auto& [number, row] : rows_) {
                columns = std::copy(row->columns.begin(), row->columns.end(), columns);
                *++ends = static_cast<I>(columns - first);
            }
            m.index_bits = 8 * sizeof(I);
        };
        m.storage = FASTFS_CSR;
        n_stored <= std::numeric_limits<std::int32_t>::max() ? fill(std::int32_t{}) : fill(std::int64_t{});
        m.indptr = owned.indptr.data();
        m.indices = owned.indices.data();
    } else {
        m.row_stride = n_cols;
        m.col_stride = 1;
    }
    owned.matrix.emplace(m);
    return owned;
}

}  // namespace fastfs::core
