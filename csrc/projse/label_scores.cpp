// The scores of many labelings of one table, as a permutation test needs them.
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "projse/projse.hpp"
#include "projse/variables.hpp"
#include "projse/wide.hpp"
#include "support/buffer.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// Bounds on the one-hot columns that are multiplied together. Their products with a tile of X stay in the L2 cache. A
// sparse X picks rows of the one-hot columns by its entries, so the columns themselves stay there, too.
constexpr std::int64_t kMostTargets = 1024;
constexpr std::int64_t kDenseBytes = 32 << 20, kSparseBytes = 512 << 10;
constexpr std::int64_t kSparseTile = 64;  // columns of X per task

// One-hot columns of several labelings, side by side. The last class of each labeling has no column: its products
// follow from the sums over all rows.
struct OneHot {
    std::int64_t n_classes, n_labelings, ld;
    Buffer<double> values;  // rows of ld values
    Numbers shares;         // 1 / rows of each class, or 0; n_classes per labeling

    // Makes the one-hot columns of `count` labelings except for the last class, rows of ld values, and the inverse size
    // of each class, 0 for an empty one.
    OneHot(const std::int64_t* labels, std::int64_t count, std::int64_t n_rows, std::int64_t classes)
        : n_classes(classes),
          n_labelings(count),
          ld(ceil_div(count * (classes - 1), kHalfBlock) * kHalfBlock),
          values(n_rows * ld),
          shares(at(count * classes), 0.0) {
        std::fill(values.data(), values.data() + n_rows * ld, 0.0);
        for (std::int64_t b = 0; b < count; ++b) {
            double* rows_of = shares.data() + b * classes;
            for (std::int64_t i = 0; i < n_rows; ++i) {
                const std::int64_t label = labels[b * n_rows + i];
                if (label < classes - 1) values[i * ld + b * (classes - 1) + label] = 1;
                rows_of[label] += 1;
            }
            for (std::int64_t c = 0; c < classes; ++c) rows_of[c] = rows_of[c] > 0 ? 1 / rows_of[c] : 0;
        }
    }

    // Calls f(labeling, explained) for each labeling: `explained` sums over the classes (sum over the rows of the
    // class)^2 / rows of the class, from the products of a column of X with the one-hot columns and its sum over all
    // rows.
    template <class F>
    void for_each_explained(const double* products, double total, F&& f) const {
        for (std::int64_t b = 0; b < n_labelings; ++b) {
            const double *sums = products + b * (n_classes - 1), *share = shares.data() + b * n_classes;
            double last = total, explained = 0;
            for (std::int64_t c = 0; c < n_classes - 1; ++c) {
                last -= sums[c];
                explained += sums[c] * sums[c] * share[c];
            }
            f(b, explained + last * last * share[n_classes - 1]);
        }
    }
};

}  // namespace

void projse_label_scores(const Matrix& X, const std::int64_t* labels, std::int64_t n_labelings, std::int64_t n_classes,
                         const fastfs_projse_options& o, Run& run, double* scores) {
    const SingleThreadedBlas held;
    const std::int64_t m = X.n_rows(), n = X.n_cols();
    const auto rows = static_cast<double>(m);
    const bool center = o.center != 0;
    const std::int64_t fitting = (X.is_sparse() ? kSparseBytes : kDenseBytes) / 8 / m;
    const std::int64_t most = std::clamp<std::int64_t>(fitting, kTargetBlock, kMostTargets);
    const std::int64_t at_once = std::clamp<std::int64_t>(most / (n_classes - 1), 1, n_labelings);
    const std::int64_t width = at_once * (n_classes - 1) + kHalfBlock;
    run.require_memory(
        8 * (m * width + at_once * n_classes + run.n_threads() * width * CenteredColumns::kWidth) +
            (X.is_sparse() ? SparseColumns<double>::memory(X) : CenteredColumns::memory(m, n, run.n_threads())),
        "the scores of many labelings", "give fewer rows or columns");
    std::vector<Buffer<double>> scratch(at(run.n_threads()));
    // Scores all columns, several labelings at a time. multiply(targets, keep) calls keep(column, products, total) for
    // each column, with `total` the sum of the column as multiplied: minus its mean if `about_mean`.
    auto score = [&](const ProjseColumns& columns, bool about_mean, auto&& multiply) {
        const Variables x(columns, kX, m, center);
        require_candidates(x, kX, center);
        for (std::int64_t first = 0; first < n_labelings; first += at_once) {
            const std::int64_t last = std::min(first + at_once, n_labelings);
            run.step("labelings", share(last, n_labelings));
            const OneHot targets(labels + first * m, last - first, m, n_classes);
            multiply(targets, [&](std::int64_t j, const double* products, double total) {
                const double mean = about_mean ? columns.mean[at(j)] : 0.0, norm = x.norms[at(j)];
                const double offset = center ? -total * total / rows : mean * (2 * total + rows * mean);
                const double factor = norm == 0 ? 0 : o.normalize ? 1 / norm : 1;
                targets.for_each_explained(products, total, [&](std::int64_t b, double explained) {
                    scores[(first + b) * n + j] = std::max(explained + offset, 0.0) * factor;
                });
            });
        }
    };
    if (X.is_sparse()) {
        visit_sparse(X.description(), [&](auto* values, auto*, auto*) {
            using V = std::remove_cv_t<std::remove_reference_t<decltype(*values)>>;
            const SparseColumns<V> source(X, run);
            score(source.columns(), false, [&](const OneHot& targets, auto&& keep) {
                parallel_for(run, ceil_div(n, kSparseTile), [&](std::int64_t task, int slot) {
                    Buffer<double>& products = scratch[at(slot)];
                    if (products.size() < targets.ld) products = Buffer<double>(targets.ld);
                    for (std::int64_t j = task * kSparseTile; j < std::min((task + 1) * kSparseTile, n); ++j) {
                        source.products(j, targets.values.data(), targets.ld, products.data());
                        keep(j, products.data(), source.columns().mean[at(j)] * rows);
                    }
                });
            });
        });
        return;
    }
    CenteredColumns source(X, kX, run);
    score(source.columns(), true, [&](const OneHot& targets, auto&& keep) {
        const std::int64_t ld = targets.ld;
        source.for_tiles(run, [&](std::int64_t j0, std::int64_t w, const double* tile, int slot) {
            Buffer<double>& products = scratch[at(slot)];
            if (products.size() < ld * w) products = Buffer<double>(ld * CenteredColumns::kWidth);
            gemm('N', 'N', ld, w, m, 1.0, targets.values.data(), ld, tile, m, 0.0, products.data(), ld);
            for (std::int64_t j = 0; j < w; ++j) {
                double total = 0;
                for (std::int64_t i = 0; i < m; ++i) total += tile[j * m + i];
                keep(j0 + j, products.data() + j * ld, total);
            }
        });
    });
}

}  // namespace fastfs::core
