#include "projse/in_place.hpp"

#include <algorithm>
#include <cmath>

#include "engines/isa/tiles.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// Values of X that stay in an L2 cache while all held columns pass by.
constexpr std::int64_t kBlockRows = 64, kBlockColumns = 1024;
constexpr double kShort = 1e-6;  // length of what is left of a column of length 1 that counts as nothing

void center(double* values, std::int64_t m) {
    const double first = values[0];
    double sum = 0;
    for (std::int64_t i = 0; i < m; ++i) sum += values[i] - first;
    const double mean = first + sum / static_cast<double>(m);
    for (std::int64_t i = 0; i < m; ++i) values[i] -= mean;
}

double dot(const double* a, const double* b, std::int64_t m) {
    double product;
    row_kernels<double>().dots(&a, 1, b, m, &product);
    return product;
}

// Subtracts from `column` its part along a direction, and returns the length of this part.
double take_out(const double* direction, double* __restrict column, std::int64_t m) {
    const double along = dot(column, direction, m);
    for (std::int64_t i = 0; i < m; ++i) column[i] -= along * direction[i];
    return along;
}

// Scales a column to length 1, or to 0 if it is shorter than `least`.
void normalize(double* column, std::int64_t m, double least) {
    const double length = std::sqrt(dot(column, column, m)), factor = length > least ? 1 / length : 0;
    for (std::int64_t i = 0; i < m; ++i) column[i] *= factor;
}

}  // namespace

bool ColumnsInPlace::serve(const Matrix& X, const ProjseColumns& columns) {
    const fastfs_matrix& x = X.description();
    if (x.storage != FASTFS_DENSE || x.row_list || (x.row_stride != 1 && x.col_stride != 1)) return false;
    constexpr double kLargestOffset = 100;  // in standard deviations; costs two digits of 16
    const double limit = kLargestOffset * kLargestOffset / static_cast<double>(X.n_rows());
    for (std::int64_t j = 0; j < columns.n; ++j) {
        const double mean = columns.mean[at(j)], square = columns.squares[at(j)];
        if (square > 0 && mean * mean > limit * square) return false;
    }
    return true;
}

void ColumnsInPlace::inner(std::int64_t k, double* out, const LikelyChoices& likely, Run& run) {
    if (std::find(held_.begin(), held_.end(), k) == held_.end()) {
        choose_columns(k, likely);
        multiply_columns(run);
    }
    const std::int64_t place = std::find(held_.begin(), held_.end(), k) - held_.begin();
    const double* products = products_.data() + place * n_;
    std::copy(products, products + n_, out);
    if (looks_ahead()) add_direction(centred_.data() + place * m_);
}

bool ColumnsInPlace::looks_ahead() const {
    return m_ * n_ * static_cast<std::int64_t>(X_.is_float32() ? sizeof(float) : sizeof(double)) > kCached;
}

void ColumnsInPlace::add_direction(const double* column) {
    directions_.emplace_back(column, column + m_);
    double* direction = directions_.back().data();
    normalize(direction, m_, 0);
    for (std::size_t d = 0; d + 1 < directions_.size(); ++d) take_out(directions_[d].data(), direction, m_);
    normalize(direction, m_, kShort);
}

void ColumnsInPlace::choose_columns(std::int64_t k, const LikelyChoices& likely) {
    Likely next;
    if (likely && looks_ahead()) next = likely(kConsidered);
    auto& candidates = next.candidates;
    if (const auto place = std::find(candidates.begin(), candidates.end(), k); place == candidates.end()) {
        candidates = {k};
        next.products.clear();
    }
    const std::int64_t n = std::ssize(candidates), rank = std::ssize(next.products) / n;
    Buffer<double> columns(m_ * n), rests(m_ * n);
    visit_values(X_.description(), [&](const auto& values) {
        for (std::int64_t i = 0; i < m_; ++i) {
            for (std::int64_t c = 0; c < n; ++c) {
                columns[c * m_ + i] = static_cast<double>(values(i, candidates[at(c)]));
            }
        }
    });
    for (std::int64_t c = 0; c < n; ++c) {
        double* rest = rests.data() + c * m_;
        center(columns.data() + c * m_, m_);
        std::copy(columns.data() + c * m_, columns.data() + (c + 1) * m_, rest);
        normalize(rest, m_, 0);
        for (const Numbers& direction : directions_) take_out(direction.data(), rest, m_);
        normalize(rest, m_, kShort);
    }
    if (centred_.size() == 0) centred_ = Buffer<double>(m_ * kTogether);
    held_.clear();
    // Chooses among the candidates as select_by_residual does among all: by |p|^2 / |r|^2.
    std::int64_t chosen = std::find(candidates.begin(), candidates.end(), k) - candidates.begin();
    std::vector<char> is_held(at(n), 0);
    while (chosen >= 0) {
        std::copy(columns.data() + chosen * m_, columns.data() + (chosen + 1) * m_,
                  centred_.data() + std::ssize(held_) * m_);
        held_.push_back(candidates[at(chosen)]);
        is_held[at(chosen)] = 1;
        if (std::ssize(held_) == kTogether) break;
        double* direction = rests.data() + chosen * m_;
        const double length = std::sqrt(dot(direction, direction, m_));
        normalize(direction, m_, kShort);
        const double* p = next.products.data() + chosen * rank;
        chosen = -1;
        double best = 0;
        for (std::int64_t c = 0; c < n; ++c) {
            if (is_held[at(c)]) continue;
            double* rest = rests.data() + c * m_;
            double* products = next.products.data() + c * rank;
            const double along = take_out(direction, rest, m_), square = dot(rest, rest, m_);
            double gain = 0;
            for (std::int64_t i = 0; i < rank; ++i) {
                products[i] -= along * p[i] / length;
                gain += products[i] * products[i];
            }
            if (square > kShort && gain > best * square) {
                best = gain / square;
                chosen = c;
            }
        }
    }
}

void ColumnsInPlace::multiply_columns(Run& run) {
    const fastfs_matrix& x = X_.description();
    const std::int64_t n_held = std::ssize(held_);
    if (products_.size() < n_ * n_held) products_ = Buffer<double>(n_ * n_held);
    const bool along_rows = x.col_stride == 1;
    const std::int64_t step =
        along_rows ? kBlockColumns : std::clamp<std::int64_t>(kBlockRows * kBlockColumns / m_, 4, kBlockColumns);
    visit_dense(x, [&]<class T>(const T* values) {
        parallel_for(run, ceil_div(n_, step), [&](std::int64_t task, int) {
            const std::int64_t j0 = task * step, w = std::min(step, n_ - j0);
            std::vector<const T*> lines(at(along_rows ? m_ : w));
            for (std::size_t l = 0; l < lines.size(); ++l) {
                const auto line = static_cast<std::int64_t>(l);
                lines[l] = values + j0 * x.col_stride + line * (along_rows ? x.row_stride : x.col_stride);
            }
            if (!along_rows) {
                for (std::int64_t h = 0; h < n_held; ++h) {
                    const double* column = centred_.data() + h * m_;
                    row_kernels<T>().dots(lines.data(), w, column, m_, products_.data() + h * n_ + j0);
                }
                return;
            }
            double part[kBlockColumns];
            for (std::int64_t r = 0; r < m_; r += kBlockRows) {
                const std::int64_t rows = std::min(kBlockRows, m_ - r);
                for (std::int64_t h = 0; h < n_held; ++h) {
                    double* __restrict to = products_.data() + h * n_ + j0;
                    const double* factors = centred_.data() + h * m_ + r;
                    row_kernels<T>().combine(lines.data() + r, factors, rows, w, r == 0 ? to : part);
                    for (std::int64_t j = 0; r > 0 && j < w; ++j) to[j] += part[j];
                }
            }
        });
    });
}

}  // namespace fastfs::core
