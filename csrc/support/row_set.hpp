// The set of rows that have come in a pass over a table in blocks.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "support/bytes.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"

namespace fastfs::core {

// A set of rows: one bit per row, n_rows in all.
class RowSet {
  public:
    explicit RowSet(std::int64_t n_rows) : n_rows_(n_rows), words_(at((n_rows + 63) / 64), 0) {}

    static std::int64_t memory(std::int64_t n_rows) { return n_rows / 8 + 8; }

    // Throws InvalidArgument if a row of begin..end - 1, or of `other`, is in the set.
    void require_new(std::int64_t begin, std::int64_t end) const {
        visit(begin, end, [&](std::size_t w, std::uint64_t bits) { require_none(w, words_[w] & bits); });
    }
    void require_new(const RowSet& other) const {
        for (std::size_t w = 0; w < words_.size(); ++w) require_none(w, words_[w] & other.words_[w]);
    }

    void add_rows(std::int64_t begin, std::int64_t end) {
        visit(begin, end, [&](std::size_t w, std::uint64_t bits) { words_[w] |= bits; });
    }
    void add_rows(const RowSet& other) {
        for (std::size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
    }
    void clear() { std::fill(words_.begin(), words_.end(), 0); }

    // Throws InvalidArgument unless all rows are in the set.
    void require_all(int pass) const {
        for (std::size_t w = 0; w < words_.size(); ++w) {
            const std::uint64_t missing = ~words_[w] & bits_of(w);
            if (missing == 0) continue;
            refuse({"each pass must have all ", n_rows_, " rows; got ", size(), " in pass ", pass, ", without ",
                    Name::row(row_of_bit(w, missing)), ": give the blocks that are missing"});
        }
    }

    std::int64_t size() const {
        std::int64_t n = 0;
        for (const std::uint64_t word : words_) n += std::popcount(word);
        return n;
    }

    void save_state(ByteWriter& to) const { to.put(words_.data(), std::ssize(words_)); }
    void load_state(ByteReader& from) {
        from.get(words_.data(), std::ssize(words_));
        for (std::size_t w = 0; w < words_.size(); ++w) from.expect((words_[w] & ~bits_of(w)) == 0);
    }

  private:
    // Calls f(word, bits) for the words that hold the rows begin..end - 1.
    template <class F>
    static void visit(std::int64_t begin, std::int64_t end, F&& f) {
        while (begin < end) {
            const std::int64_t shift = begin % 64, n = std::min(64 - shift, end - begin);
            const std::uint64_t ones = n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
            f(at(begin / 64), ones << shift);
            begin += n;
        }
    }

    // Returns the bits of word w that stand for rows: the last word can hold further bits.
    std::uint64_t bits_of(std::size_t w) const {
        const std::int64_t rest = n_rows_ % 64;
        return w + 1 < words_.size() || rest == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << rest) - 1;
    }

    static std::int64_t row_of_bit(std::size_t w, std::uint64_t bits) {
        return 64 * static_cast<std::int64_t>(w) + std::countr_zero(bits);
    }

    static void require_none(std::size_t w, std::uint64_t bits) {
        if (bits == 0) return;
        refuse({"each row must come once in a pass; got ", Name::row(row_of_bit(w, bits)),
                " again: give each block once, with its first_row"});
    }

    std::int64_t n_rows_;
    std::vector<std::uint64_t> words_;
};

}  // namespace fastfs::core
