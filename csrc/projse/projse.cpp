#include "projse/projse.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engines/spectral.hpp"
#include "projse/choice.hpp"
#include "projse/in_place.hpp"
#include "projse/residual.hpp"
#include "projse/variables.hpp"
#include "projse/wide.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

// Returns the kernel between the variables x, which computes columns on demand. Refers to all arguments, which must
// outlive it.
CandidateKernel kernel_between(const Variables& x, const VariableKernel& kernel, const InnerProducts& inner) {
    // Turns the w inner products in `out`, of variable k with variables j0.., into kernel values.
    const auto apply = [&x, &kernel](std::int64_t k, double* out, std::int64_t w, std::int64_t j0) {
        ProjseColumns one(1);
        one.mean[0] = x.columns->mean[at(k)];
        one.squares[0] = x.columns->squares[at(k)];
        one.summed[0] = x.columns->summed[at(k)];
        Variables t;
        t.columns = &one;
        t.norms = {x.norms[at(k)]};
        t.scale = {x.scale[at(k)]};
        kernel.to_kernel_values(out, 1, w, t, x, j0, false);
    };
    const std::int64_t n = x.columns->n;
    CandidateKernel between{Numbers(at(n)), [=, &x, &inner](std::int64_t k, double* out, const LikelyChoices& likely) {
                                inner(k, out, likely);
                                out[k] = x.columns->squares[at(k)];
                                apply(k, out, n, 0);
                            }};
    for (std::int64_t j = 0; j < n; ++j) {
        double& value = between.diagonal[at(j)];
        if (x.scale[at(j)] == 0) continue;
        value = 1;
        if (kernel.o.normalize) continue;
        value = x.columns->squares[at(j)];
        apply(j, &value, 1, j);
        VariableKernel::require_self(j, value);
    }
    return between;
}

// Chooses among the columns with all columns as targets, and fills the result. Computes columns of K = K_XX on demand.
void select_without_targets(const ProjseColumns& columns, std::int64_t n_rows, const InnerProducts& inner,
                            const fastfs_projse_options& o, Run& run, Owned<fastfs_projse_result>& result) {
    require(o.beyond == FASTFS_PROJSE_STOP, "beyond needs a target, but there is none: leave it out");
    const std::int64_t n = columns.n;
    Variables x(columns, kX, n_rows, o.center != 0);
    require_candidates(x, kX, o.center != 0);
    VariableKernel kernel{o, static_cast<double>(n_rows)};
    Buffer<double> products(n);
    kernel.sigma = choose_sigma(o, n_rows, [&] {
        double sum = 0;
        for (std::int64_t k = 0; k < n; ++k) {
            run.checkpoint();
            inner(k, products.data(), {});
            for (std::int64_t j = 0; j < n; ++j) {
                const double d = columns.mean[at(j)] - columns.mean[at(k)];
                const double between = o.center ? 0.0 : static_cast<double>(n_rows) * d * d;
                const double within = squared_distance(columns.squares[at(j)], columns.squares[at(k)], products[j]);
                if (j != k) sum += std::sqrt(within + between);
            }
        }
        return sum / static_cast<double>(n) / static_cast<double>(n);
    });
    result.sigma = kernel.sigma;
    kernel.normalize_variables(x);
    select_by_cholesky(kernel_between(x, kernel, inner), o, run, result);
}

// Returns the options with `center` settled, which it also writes to the result. AUTO centres for labels: about zero, a
// feature of positive values is explained by the one-hot columns of any labels, whether or not its values differ
// between the classes.
fastfs_projse_options settle_center(fastfs_projse_options o, bool of_labels, Owned<fastfs_projse_result>& result) {
    if (o.center == FASTFS_PROJSE_CENTER_AUTO) o.center = of_labels;
    result.center = o.center;
    return o;
}

// Returns the rounding of values as they came.
double epsilon_of(const Matrix& M) {
    return M.description().dtype == FASTFS_FLOAT32 ? double{std::numeric_limits<float>::epsilon()}
                                                   : std::numeric_limits<double>::epsilon();
}

// Returns the length of a combination of the columns of Y from `first` on, less their means unless these are empty.
double length_of_combination(const Matrix& Y, std::int64_t first, const Numbers& means, const Numbers& combination) {
    return visit_values(Y.description(), [&](const auto& values) {
        double square = 0;
        for (std::int64_t i = 0; i < Y.n_rows(); ++i) {
            double sum = 0;
            for (std::int64_t j = 0; j < std::ssize(combination); ++j) {
                const double mean = means.empty() ? 0.0 : means[at(first + j)];
                sum += (static_cast<double>(values(i, first + j)) - mean) * combination[at(j)];
            }
            square += sum * sum;
        }
        return std::sqrt(square);
    });
}

}  // namespace

void projse_select(const ProjseSums& all, const fastfs_projse_options& options, Run& run,
                   Owned<fastfs_projse_result>& result, std::int64_t bytes_of_sums, const InnerProducts& inner_products,
                   const Matrix* target_values) {
    const SingleThreadedBlas held;
    const auto o = settle_center(options, all.of_labels(), result);
    const std::int64_t m = all.n_rows();
    const int target = o.from_y ? ProjseSums::kX : ProjseSums::kY, candidate = 1 - target;
    const std::int64_t n_given = o.n_given, n_left = all.columns(ProjseSums::kY).n - n_given;
    require(n_left >= 0 && (n_given == 0 || m == 0 || !all.of_labels()), "n_given must be at most the ",
            n_left + n_given, " columns of Y, which hold numbers; got ", n_given);
    const std::int64_t n_x = all.columns(ProjseSums::kX).n;
    const std::int64_t n_t = o.from_y ? n_x : n_left, n_s = o.from_y ? n_left : n_x;
    const std::int64_t most = n_t > 0 ? std::min(n_t, m) : std::min(o.n_select, n_s);
    const bool goes_beyond = n_t > 0 && o.beyond == FASTFS_PROJSE_RESIDUAL;
    run.require_memory(bytes_of_sums + 8 * (4 * n_t * n_t + most * n_s + 8 * n_s) +
                           (goes_beyond ? memory_of_residual(most, n_s, o.n_select) : 0) +
                           (n_given > 0 ? Given::memory(n_given, n_left, n_x, o.from_y != 0) : 0),
                       {"the choice among ", n_s, " variables"}, "give fewer variables");
    require(m > 0, "the stream must have rows; got none yet: give some first");
    require(!o.from_y || n_left == 0 || (all.has_xx() && !all.of_labels()),
            "from_y must be 0 for sums of one view or of labels: make sums with two views of numbers");
    Given given;
    ProjseSums rests;
    if (n_given > 0) {
        given = all.explained_by(n_given, o.center != 0, run);
        bool is_nearly = given.is_nearly_dependent;
        if (!is_nearly && target_values && !given.outside.empty()) {
            const double length = length_of_combination(
                *target_values, n_left, o.center ? all.columns(ProjseSums::kY).mean : Numbers{}, given.outside);
            is_nearly = length > rounding_of_length(given.least_kept, given.largest, epsilon_of(*target_values));
        }
        if (is_nearly) {
            warn("nearly_dependent",
                 {"the given columns are nearly dependent: directions with eigenvalues below 1e-7 have few digits, "
                  "those "
                  "below 1e-10 are left out; their rank is ",
                  given.rank, ", and scores depend on how the columns are mixed: give columns that are less alike"});
        } else if (!target_values && !given.outside.empty()) {
            warn("nearly_dependent",
                 {"the given columns depend on each other: directions with eigenvalues below 1e-10 are left out, which "
                  "makes their rank ",
                  given.rank,
                  ": give the whole table in memory, or leave out columns that follow from others, because sums over "
                  "the rows can't tell an eigenvalue below 1e-12 from rounding, and if it isn't rounding, scores "
                  "depend on how the columns are mixed"});
        }
        rests = all.unexplained_sums(given, o.from_y != 0, run);
    }
    const ProjseSums& sums = n_given > 0 ? rests : all;
    const InnerProducts inner = [&](std::int64_t k, double* out, const LikelyChoices& likely) {
        if (inner_products) {
            inner_products(k, out, likely);
        } else {
            for (std::int64_t j = 0; j < n_s; ++j) out[j] = (o.from_y ? sums : all).product_on_side(candidate, j, k);
        }
        if (n_given > 0 && !o.from_y) all.take_out(given, k, out);
    };
    if (sums.columns(ProjseSums::kY).n == 0) {
        require(!o.from_y, "from_y must be 0 for sums without Y; got 1: leave it out");
        select_without_targets(sums.columns(ProjseSums::kX), m, inner, o, run, result);
        return;
    }
    const Name &t_name = o.from_y ? kX : kY, &s_name = o.from_y ? kY : kX;
    Variables t(sums.columns(target), t_name, m, o.center != 0), s(sums.columns(candidate), s_name, m, o.center != 0);
    require_candidates(t, t_name, o.center != 0);
    require_candidates(s, s_name, o.center != 0);

    VariableKernel kernel{o, static_cast<double>(m)};
    Buffer<double> K(n_t * n_t);
    for (std::int64_t j = 0; j < n_t; ++j) {
        for (std::int64_t i = 0; i < n_t; ++i) K[j * n_t + i] = sums.product_on_side(target, i, j);
    }
    kernel.sigma = choose_sigma(o, m, [&] {
        Buffer<double> D(n_t * n_t);
        std::copy(K.data(), K.data() + n_t * n_t, D.data());
        kernel.to_squared_distances(D.data(), n_t, n_t, t, t, 0);
        double sum = 0;
        for (std::int64_t j = 0; j < n_t; ++j) {
            for (std::int64_t i = j + 1; i < n_t; ++i) sum += 2 * std::sqrt(D[j * n_t + i]);
        }
        return sum / static_cast<double>(n_t) / static_cast<double>(n_t);
    });
    result.sigma = kernel.sigma;
    kernel.normalize_variables(t);
    kernel.normalize_variables(s);
    if (!o.custom && o.kernel == FASTFS_RBF)
        std::fill(t.scale.begin(), t.scale.end(), 1.0);  // the RBF kernel of a zero column isn't 0
    kernel.to_kernel_values(K.data(), n_t, n_t, t, t, 0, true);

    require(!goes_beyond || inner_products || candidate == ProjseSums::kY || all.has_xx(),
            "beyond needs the products of the columns of X with each other, which these sums don't have: ask for it "
            "before the first rows (FASTFS_PROJSE_TWO_VIEWS)");
    const double* yx = sums.yx();
    // Writes the kernel of all targets with candidates j0..j0 + w - 1 (column-major) to out.
    auto tile = [&](std::int64_t j0, std::int64_t w, double* out) {
        if (!o.from_y) {
            std::copy(yx + j0 * n_t, yx + (j0 + w) * n_t, out);
        } else {
            for (std::int64_t j = 0; j < w; ++j) {
                for (std::int64_t i = 0; i < n_t; ++i) out[j * n_t + i] = yx[i * n_s + j0 + j];
            }
        }
        kernel.to_kernel_values(out, n_t, w, t, s, j0, false);
    };
    // Sums alone don't tell dependent columns from nearly dependent ones below the root of their rounding.
    const bool has_values = target_values && !o.from_y;
    LinearTargets numbers{t.scale, sums.in_single_precision() || (has_values && target_values->is_float32()), {}};
    // Tells if a combination of the scaled targets, less the part that given columns explain, is longer than rounding.
    const IsOutside is_outside = [&](Numbers combination, double rounding) {
        double growth = 1;  // of rounding: by scales that go with the rests
        for (std::int64_t j = 0; j < n_t; ++j) {
            combination[at(j)] *= t.scale[at(j)];
            growth = std::max(growth, t.scale[at(j)] * std::sqrt(t.columns->summed[at(j)]));
        }
        if (given.rank > 0) {
            Numbers along(at(given.rank));
            gemm('N', 'N', given.rank, 1, n_t, -1.0, given.of_y.data(), given.rank, combination.data(), n_t, 0.0,
                 along.data(), given.rank);
            combination.resize(at(n_t + n_given));
            gemm('N', 'N', n_given, 1, given.rank, 1.0, given.basis.data(), n_given, along.data(), given.rank, 0.0,
                 combination.data() + n_t, n_given);
            growth /= std::sqrt(given.least_kept / given.largest);
        }
        const Numbers& means = all.columns(ProjseSums::kY).mean;
        const double length = length_of_combination(*target_values, 0, o.center ? means : Numbers{}, combination);
        return length > growth * rounding;
    };
    if (has_values) numbers.is_outside = is_outside;
    select_by_projection(
        n_t, n_s, K, tile, o, kernel.linear() ? m - (o.center != 0) - given.rank : 0,
        kernel.linear() && !all.of_labels() ? &numbers : nullptr, [&] { return kernel_between(s, kernel, inner); }, run,
        result);
}

namespace {

// Chooses with the linear kernel of a few samples, from columns of X instead of columns of K, and fills the result.
void select_linear(CenteredColumns& source, std::int64_t m, const fastfs_projse_options& o, Run& run,
                   Owned<fastfs_projse_result>& result) {
    const ProjseColumns& columns = source.columns();
    Variables x(columns, kX, m, o.center != 0);
    require_candidates(x, kX, o.center != 0);
    VariableKernel{o, static_cast<double>(m)}.normalize_variables(x);
    Buffer<double> R(m * columns.n);
    source.for_tiles(run, [&](std::int64_t j0, std::int64_t w, const double* tile, int) {
        for (std::int64_t j = j0; j < j0 + w; ++j, tile += m) {
            const double mean = o.center ? 0.0 : columns.mean[at(j)], factor = x.scale[at(j)];
            for (std::int64_t i = 0; i < m; ++i) R[j * m + i] = (tile[i] + mean) * factor;
        }
    });
    std::vector<double> diagonal(at(columns.n));
    for (std::size_t j = 0; j < diagonal.size(); ++j) {
        diagonal[j] = x.scale[j] == 0 ? 0.0 : o.normalize ? 1.0 : x.norms[j];
    }
    select_among_columns(R.data(), m, columns.n, std::move(diagonal), o, run, result);
}

Matrix first_columns(const Matrix& M, std::int64_t n) {
    fastfs_matrix part = M.description();
    part.n_cols = n;
    return Matrix(part, kY);
}

}  // namespace

void projse(const ProjseRows& rows, std::int64_t n_classes, const fastfs_projse_options& options, Run& run,
            Owned<fastfs_projse_result>& result) {
    const SingleThreadedBlas held;
    const auto o = settle_center(options, rows.labels != nullptr, result);
    const std::int64_t m = rows.X.n_rows(), n_x = rows.X.n_cols();
    const std::int64_t n_y = rows.labels ? n_classes : rows.Y ? rows.Y->n_cols() : 0;
    const bool linear = !o.custom && o.kernel == FASTFS_LINEAR;
    require(o.n_given == 0 || (rows.Y && o.n_given <= n_y), "n_given must be at most the ", rows.Y ? n_y : 0,
            " columns of Y; got ", o.n_given);
    const std::int64_t n_t = n_y - o.n_given;
    constexpr std::int64_t kMostSquare = 8192;  // variables up to which inner products are worth their n^2 doubles
    const char* advice = "give fewer variables";
    if (n_y == 0) {
        if (rows.X.is_sparse() || m < n_x || n_x > kMostSquare) {
            const std::int64_t chosen = 8 * n_x * std::min(o.n_select, n_x);
            auto select = [&](auto& source) {
                select_without_targets(
                    source.columns(), m,
                    [&](std::int64_t k, double* out, const LikelyChoices&) { source.inner(k, out, run); }, o, run,
                    result);
            };
            run.step("columns", 0.1);
            if (rows.X.is_sparse()) {
                run.require_memory(chosen + SparseColumns<double>::memory(rows.X), "ProjSe without targets", advice);
                visit_sparse(rows.X.description(), [&](auto* values, auto*, auto*) {
                    using V = std::remove_cv_t<std::remove_reference_t<decltype(*values)>>;
                    const SparseColumns<V> source(rows.X, run);
                    select(source);
                });
            } else {
                const bool keeps_all = linear && CenteredColumns::keeps(m, n_x);
                const std::int64_t twice = 8 * m * (n_x + n_x / 64 + m + 256 * run.n_threads());
                run.require_memory(
                    (keeps_all ? twice : chosen) + CenteredColumns::memory(m, n_x, run.n_threads()) + 64 * n_x,
                    "ProjSe without targets", advice);
                CenteredColumns source(rows.X, kX, run);
                if (keeps_all) {
                    select_linear(source, m, o, run, result);
                } else {
                    select(source);
                }
            }
            return;
        }
    } else if (linear && rows.Y && m < n_t) {
        run.step("span of the targets", 0.2);
        const std::int64_t span_bytes =
            24 * m * m + 8 * m * o.n_given + CenteredColumns::memory(m, n_t, run.n_threads());
        if (run.is_question()) {  // the span has up to m columns, which are the targets of the second half
            const std::int64_t second = ProjseSums::memory(m + o.n_given, n_x, false) +
                                        8 * (5 * m * m + m * n_x + 8 * n_x) +
                                        (o.n_given > 0 ? Given::memory(o.n_given, m, n_x, false) : 0);
            run.require_memory(std::max(span_bytes, second), "the span of the targets and its products", advice);
        }
        run.require_memory(span_bytes, "the span of the targets", advice);
        Span span = span_of_targets(first_columns(*rows.Y, n_t), o, run);
        const std::int64_t n_u = span.rank + o.n_given;
        if (o.n_given > 0) {
            Buffer<double> with_given(m * n_u);
            std::copy(span.U.data(), span.U.data() + m * span.rank, with_given.data());
            visit_values(rows.Y->description(), [&](const auto& values) {
                double* to = with_given.data() + m * span.rank;
                for (std::int64_t j = n_t; j < n_y; ++j) {
                    for (std::int64_t i = 0; i < m; ++i) *to++ = static_cast<double>(values(i, j));
                }
            });
            span.U = std::move(with_given);
        }
        const Matrix U({sizeof(fastfs_matrix), FASTFS_FLOAT64, FASTFS_DENSE, m, n_u, span.U.data(), 1, m, nullptr,
                        nullptr, 0, 0, nullptr, nullptr});
        projse({rows.X, &U, nullptr}, 0, o, run, result);
        warn_of_dependent_targets(span.how, o, result.rank, false);
        return;
    }
    // Beyond the targets' span, columns of the candidates' kernel come from sums if these are small against X, and from
    // X otherwise.
    const bool goes_beyond = n_t > 0 && o.beyond == FASTFS_PROJSE_RESIDUAL, needs_columns = n_t == 0 || goes_beyond;
    const bool with_xx = n_y == 0 || (needs_columns && !rows.X.is_sparse() && m >= n_x && n_x <= kMostSquare);
    const std::int64_t r = std::min(n_t, m);
    std::int64_t bytes = ProjseSums::memory(n_y, n_x, with_xx) + 8 * (4 * n_y * n_y + r * n_x + 8 * n_x);
    if (o.n_given > 0) bytes += Given::memory(o.n_given, n_t, n_x, false);
    if (needs_columns) {
        bytes += memory_of_residual(r, n_x, o.n_select);
        if (!with_xx) {
            bytes += rows.X.is_sparse() ? SparseColumns<double>::memory(rows.X)
                                        : CenteredColumns::memory(m, n_x, run.n_threads()) +
                                              ColumnsInPlace::memory(m, n_x, o.n_select);
        }
    }
    run.require_memory(bytes, {"ProjSe of ", n_y, " targets and ", n_x, " candidates"}, advice);
    ProjseSums sums(n_y, n_x, with_xx);
    sums.update(rows, run);
    if (!needs_columns || with_xx) return projse_select(sums, o, run, result, 0, {}, rows.Y);
    if (!rows.X.is_sparse()) {
        std::optional<CenteredColumns> source;  // made when the sums are no longer in use
        std::optional<ColumnsInPlace> in_place;
        if (ColumnsInPlace::serve(rows.X, sums.columns(ProjseSums::kX))) in_place.emplace(rows.X);
        return projse_select(
            sums, o, run, result, 0,
            [&](std::int64_t k, double* out, const LikelyChoices& likely) {
                if (in_place) return in_place->inner(k, out, likely, run);
                if (!source) source.emplace(rows.X, kX, run);
                source->inner(k, out, run);
            },
            rows.Y);
    }
    visit_sparse(rows.X.description(), [&](auto* values, auto*, auto*) {
        using V = std::remove_cv_t<std::remove_reference_t<decltype(*values)>>;
        std::optional<SparseColumns<V>> source;
        projse_select(
            sums, o, run, result, 0,
            [&](std::int64_t k, double* out, const LikelyChoices&) {
                if (!source) source.emplace(rows.X, run);
                source->inner(k, out, run);
            },
            rows.Y);
    });
}

// Chooses from kernels of the caller, and fills the result; K_XX holds the diagonal of the kernel between candidates.
void projse_kernels(std::int64_t n_y, std::int64_t n_x, const double* K_YY, const double* K_YX, const double* K_XX,
                    const fastfs_projse_options& o, Run& run, Owned<fastfs_projse_result>& result) {
    run.require_memory(8 * (3 * n_y * n_y + n_y * n_x), "ProjSe of given kernels");
    // Returns the factors that normalise the kernel, 0 for a zero diagonal; throws unless the diagonal is finite and
    // not negative.
    auto scales = [&](std::int64_t n, const char* name, auto&& diagonal) {
        std::vector<double> scale(at(n));
        bool any = false;
        for (std::int64_t j = 0; j < n; ++j) {
            const double value = diagonal(j);
            if (!(value >= 0) || !std::isfinite(value)) {
                refuse({"the diagonal of ", name, " must be finite and not negative; got ", value, " at position ", j});
            }
            scale[at(j)] = value == 0 ? 0 : o.normalize ? 1 / std::sqrt(value) : 1;
            any = any || value > 0;
        }
        require(any, "the diagonal of ", name, " must have a positive entry; got zeros alone");
        return scale;
    };
    const auto y = scales(n_y, "K_YY", [&](std::int64_t i) { return K_YY[i * n_y + i]; });
    const auto x = scales(n_x, "K_XX", [&](std::int64_t j) { return K_XX[j]; });
    require_symmetric(n_y, K_YY, "K_YY");
    Buffer<double> K(n_y * n_y);
    for (std::int64_t i = 0; i < n_y; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) {
            K[j * n_y + i] = (K_YY[i * n_y + j] + K_YY[j * n_y + i]) / 2 * y[at(i)] * y[at(j)];
        }
    }
    const SingleThreadedBlas held;
    auto tile = [&](std::int64_t j0, std::int64_t w, double* out) {
        for (std::int64_t j = 0; j < w; ++j) {
            for (std::int64_t i = 0; i < n_y; ++i) {
                out[j * n_y + i] = K_YX[i * n_x + j0 + j] * y[at(i)] * x[at(j0 + j)];
            }
        }
    };
    require(o.beyond == FASTFS_PROJSE_STOP,
            "beyond needs the kernel between all candidates, but K_XX has the diagonal alone: leave it out");
    select_by_projection(n_y, n_x, K, tile, o, 0, nullptr, {}, run, result);
}

}  // namespace fastfs::core
