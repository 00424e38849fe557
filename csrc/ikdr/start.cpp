#include "ikdr/start.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace fastfs::core {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// Returns how many of k columns of A each class gets: first one per class, the largest classes first, and then to the
// class with the most samples per column.
std::vector<std::int64_t> share_columns(const SortedSamples& samples, std::int64_t k) {
    std::vector<std::int64_t> columns(at(samples.n_classes()));
    const auto per_column = [&](std::int64_t q) {
        const std::int64_t n = columns[at(q)];
        if (n == samples.size(q)) return 0.0;
        return static_cast<double>(samples.size(q)) *
               (n == 0 ? static_cast<double>(samples.n_samples()) : 1.0 / static_cast<double>(n));
    };
    for (std::int64_t j = 0; j < k; ++j) {
        std::int64_t most = 0;
        for (std::int64_t q = 1; q < samples.n_classes(); ++q) {
            if (per_column(q) > per_column(most)) most = q;
        }
        ++columns[at(most)];
    }
    return columns;
}

}  // namespace

template <class T>
Numbers class_wise_start(const SortedSamples& samples, const T* K, std::int64_t k) {
    const std::int64_t N = samples.n_samples();
    const std::vector<std::int64_t> n_columns = share_columns(samples, k);
    const auto distance = [&](std::int64_t i, std::int64_t j) {
        return static_cast<double>(K[i * N + i]) + static_cast<double>(K[j * N + j]) -
               2 * static_cast<double>(K[i * N + j]);
    };
    Numbers A = numbers(N * k);
    double* column = A.data();
    for (std::int64_t q = 0; q < samples.n_classes(); ++q) {
        const std::int64_t begin = samples.begins[at(q)], end = samples.begins[at(q + 1)];
        std::vector<std::int64_t> cell(at(end - begin));
        Numbers nearest(at(end - begin), kUnbounded);
        for (std::int64_t c = 0; c < n_columns[at(q)]; ++c) {
            std::int64_t centre = begin;
            double best = kUnbounded;
            for (std::int64_t i = begin; i < end; ++i) {
                double sum = 0;
                if (c == 0) {
                    for (std::int64_t j = begin; j < end; ++j) sum += distance(i, j);
                } else {
                    sum = nearest[at(i - begin)] < 0 ? kUnbounded : -nearest[at(i - begin)];
                }
                if (sum < best) {
                    best = sum;
                    centre = i;
                }
            }
            for (std::int64_t i = begin; i < end; ++i) {
                const double d = i == centre ? -1 : distance(i, centre);  // no duplicate takes a centre's place
                if (d >= nearest[at(i - begin)]) continue;
                nearest[at(i - begin)] = d;
                cell[at(i - begin)] = c;
            }
        }
        for (std::int64_t c = 0; c < n_columns[at(q)]; ++c, column += N) {
            const auto size = static_cast<double>(std::count(cell.begin(), cell.end(), c));
            for (std::int64_t i = begin; i < end; ++i) column[i] = cell[at(i - begin)] == c ? 1 / size : 0.0;
        }
    }
    return A;
}

template Numbers class_wise_start(const SortedSamples&, const float*, std::int64_t);
template Numbers class_wise_start(const SortedSamples&, const double*, std::int64_t);

}  // namespace fastfs::core
