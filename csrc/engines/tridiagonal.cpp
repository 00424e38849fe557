// Divide and conquer after Cuppen (1981); secular equation by the rational interpolation of Li (1993, "the middle
// way"). Eigenvectors come, after Gu and Eisenstat (1995), from modified weights for which the computed eigenvalues are
// exact, so that they are orthogonal however close the eigenvalues.
#include "engines/tridiagonal.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engines/isa/tiles.hpp"
#include "engines/products.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

constexpr double kUlp = std::numeric_limits<double>::epsilon();

// Columns that are reduced between updates of the remaining matrix.
constexpr std::int64_t kReduction = 32;

// Rows and columns of a tile of eigenvectors, a BLAS call: 0.05 s for n = 10,000.
constexpr std::int64_t kVectorTile = 512;

// ---- reduction ------------------------------------------------------------------------------------------------------

// Replaces x (m values) by the vector v, v_0 = 1, for which I - tau v v' takes x to (beta, 0, .., 0); sets beta.
// Returns tau; 0 if all x_i but x_0 are 0.
double reflect(std::int64_t m, double* x, double& beta) {
    double largest = 0;
    for (std::int64_t i = 1; i < m; ++i) largest = std::max(largest, std::abs(x[i]));
    beta = x[0];
    x[0] = 1;
    if (largest == 0) return 0;
    largest = std::max(largest, std::abs(beta));
    double sum = beta / largest * (beta / largest);  // a sum of squared ratios, which neither overflow nor vanish
    for (std::int64_t i = 1; i < m; ++i) sum += x[i] / largest * (x[i] / largest);
    const double first = beta;
    beta = -std::copysign(largest * std::sqrt(sum), first);
    for (std::int64_t i = 1; i < m; ++i) x[i] /= first - beta;
    return (beta - first) / beta;
}

// ---- the secular equation -------------------------------------------------------------------------------------------

// Returns one of the two x with a / (p - x) + b / (q - x) + c = 0 (p < q, a and b not negative): the x between the
// poles or, if `beyond`, the x beyond both. A and B: c (p + q) + a + b and c p q + a q + b p. Returns NaN or any number
// if there is none.
double root_of_two_poles(double A, double B, double c, bool beyond) {
    const double root = std::sqrt(std::max(A * A - 4 * B * c, 0.0));
    if (beyond) return A >= 0 ? (A + root) / (2 * c) : 2 * B / (A - root);
    return A > 0 ? 2 * B / (A + root) : (A - root) / (2 * c);
}

// Finds the zeros x of 1 / rho + sum_i squares[i] / (poles[i] - x), one to the right of each of the ascending poles,
// rho > 0. A zero is returned as its distance from the nearer adjacent pole, which has all digits, however small it is.
class Secular {
  public:
    Secular(const Numbers& poles, const Numbers& squares, double rho)
        : poles_(poles), squares_(squares), rho_(rho), k_(static_cast<std::int64_t>(poles.size())) {}

    // Returns zero j as its distance from the pole `origin`, which it sets to the nearer adjacent pole.
    double find_root(std::int64_t j, std::int64_t& origin) const {
        origin = j;
        if (k_ == 1) return rho_ * squares_[0];
        const bool beyond = j == k_ - 1;
        const std::int64_t p = beyond ? j - 1 : j, q = p + 1;  // the poles next to the root
        double low = 0, high = 0;
        if (beyond) {
            for (const double s : squares_) high += rho_ * s;
        } else {
            high = (poles_[at(q)] - poles_[at(p)]) / 2;
        }
        Value f = secular_value(p, j, beyond ? high / 2 : high);
        double x = f.x;
        if (!beyond && f.sum() < 0) {
            origin = q;
            low = -high;
            high = 0;
            x = low;
        } else if (beyond && f.sum() < 0) {
            low = x;
        } else {
            high = x;
        }
        {  // the contribution of all other poles, taken as constant
            const double a = squares_[at(p)], b = squares_[at(q)], P = distance(p, origin), Q = distance(q, origin);
            const double c = f.sum() - a / (P - x) - b / (Q - x);
            x = inside(root_of_two_poles(c * (P + Q) + a + b, c * P * Q + a * Q + b * P, c, beyond), low, high);
        }
        double before = std::numeric_limits<double>::infinity();
        for (;;) {  // each step halves the value or the interval
            f = secular_value(p, origin, x);
            const double sum = f.sum();
            if (!(std::abs(sum) > kUlp * f.error)) break;
            (sum < 0 ? low : high) = x;
            double next = (low + high) / 2;
            if (std::abs(sum) < before / 2) {
                const double P = distance(p, origin) - x, Q = distance(q, origin) - x;
                const double c = sum - P * f.left_slope - Q * f.right_slope;
                const double change =
                    root_of_two_poles((P + Q) * sum - P * Q * (f.left_slope + f.right_slope), P * Q * sum, c, beyond);
                next = inside(x + change, low, high);
            }
            before = std::abs(sum);
            if (next == x || next == low || next == high) break;  // no number between is left
            x = next;
        }
        return x;
    }

  private:
    struct Value {
        double x, constant, left, left_slope, right, right_slope, error;
        double sum() const { return constant + left + right; }
    };

    double distance(std::int64_t i, std::int64_t origin) const { return poles_[at(i)] - poles_[at(origin)]; }

    // Returns x if it lies between low and high, otherwise their middle.
    static double inside(double x, double low, double high) { return x > low && x < high ? x : (low + high) / 2; }

    // Evaluates the function at x from the origin; the poles up to p make the left part. Both parts are summed from
    // afar, which keeps the error small.
    Value secular_value(std::int64_t p, std::int64_t origin, double x) const {
        Value f{x, 1 / rho_, 0, 0, 0, 0, 0};
        const double from = poles_[at(origin)];
        for (std::int64_t i = 0; i <= p; ++i) {
            const double share = 1 / ((poles_[at(i)] - from) - x), term = squares_[at(i)] * share;
            f.left += term;
            f.left_slope += term * share;
            f.error -= f.left;
        }
        // The last zero lies right of this pole, too.
        double right_error = 0;
        for (std::int64_t i = k_ - 1; i > p; --i) {
            const double share = 1 / ((poles_[at(i)] - from) - x), term = squares_[at(i)] * share;
            f.right += term;
            f.right_slope += term * share;
            right_error += f.right;
        }
        f.error = std::abs(f.error) + std::abs(right_error) + 8 * (std::abs(f.left) + std::abs(f.right)) + f.constant +
                  std::abs(x) * (f.left_slope + f.right_slope);
        return f;
    }

    const Numbers &poles_, &squares_;
    double rho_;
    std::int64_t k_;
};

}  // namespace

// Writes d, e and tau, and overwrites A by the reflectors: reduces kReduction columns, and then updates the remaining
// triangle by all of them together.
void reduce_to_tridiagonal(std::int64_t n, double* A, double* d, double* e, double* tau, std::int64_t whole, Run& run) {
    const auto& kernels = row_kernels<double>();
    Buffer<double> panels(n > whole ? 3 * kReduction * n : 0);  // V W V, so that two neighbours are [V W] and [W V]
    std::int64_t j0 = 0;
    while (n - j0 > whole) {
        const std::int64_t m = n - j0 - 1, columns = std::min(kReduction, m);
        double *V = panels.data(), *W = V + columns * m, *again = W + columns * m;
        for (std::int64_t c = 0; c < columns; ++c) {
            run.checkpoint();
            const std::int64_t j = j0 + c, rows = n - j - 1;
            double *column = A + j * n + j, *v = V + c * m + c, *w = W + c * m + c;
            const double* vectors[2 * kReduction + 1];  // a vector and the panel's columns so far
            double factors[2 * kReduction + 1] = {1}, products[2 * kReduction];
            const auto choose = [&](double* vector, std::int64_t row) {
                vectors[0] = vector;
                for (std::int64_t p = 0; p < 2 * c; ++p) vectors[p + 1] = (p < c ? V + p * m : W + (p - c) * m) + row;
            };
            if (c > 0) {  // applies the panel's reflectors so far
                choose(column, c - 1);
                for (std::int64_t p = 0; p < 2 * c; ++p) factors[p + 1] = -*vectors[(p + c) % (2 * c) + 1];
                kernels.combine(vectors, factors, 2 * c + 1, rows + 1, column);
            }
            d[j] = column[0];
            tau[j] = reflect(rows, column + 1, e[j]);
            std::copy_n(column + 1, rows, v);
            std::copy_n(v, rows, again + c * m + c);
            symv_lower(rows, column + n + 1, n, v, w);
            choose(w, c);
            kernels.dots(vectors + 1, 2 * c, v, rows, products);
            for (std::int64_t p = 0; p < 2 * c; ++p) factors[p + 1] = -products[(p + c) % (2 * c)];
            kernels.combine(vectors, factors, 2 * c + 1, rows, w);
            kernels.dots(vectors, 1, v, rows, products);
            const double half = tau[j] / 2 * products[0];
            for (std::int64_t i = 0; i < rows; ++i) w[i] = tau[j] * (w[i] - half * v[i]);
        }
        j0 += columns;

        const std::int64_t done = columns - 1;  // V and W start a row below A's
        update_lower(n - j0, 2 * columns, V + done, W + done, m, A + j0 * (n + 1), n, run);
    }
    run.checkpoint();
    sytrd_lower(n - j0, A + j0 * (n + 1), n, d + j0, e + j0, tau + j0);
}

// Turns the eigenpairs of two halves, Q D Q' with Q of two diagonal blocks, into the eigenpairs of Q (D + rho z z') Q'.
// z has weight 0 in some columns of Q, or is turned to have it if two values of D agree: these columns are settled,
// since they are eigenvectors already. All other columns are multiplied by the eigenvectors of D + rho z z'.
class TridiagonalEigen::Glue {
  public:
    // Finds the eigenvalues of the glued matrix, and prepares its eigenvectors. w: the eigenvalues of both halves, each
    // ascending, on input, and the ascending eigenvalues of the glued matrix on output; e joins row n1 - 1 and row n1,
    // and the halves have |e| less there on their diagonals.
    // Z (ld): the eigenvectors of the halves, in two diagonal blocks.
    Glue(std::int64_t n, std::int64_t n1, double* w, double e, const double* Z, std::int64_t ld, Run& run)
        : n_(n), n1_(n1) {
        const double rho = 2 * std::abs(e), half = std::sqrt(0.5);
        Numbers z = numbers(n);
        for (std::int64_t c = 0; c < n; ++c) {
            z[at(c)] = c < n1 ? half * Z[c * ld + n1 - 1] : std::copysign(half, e) * Z[c * ld + n1];
        }
        gather_columns(settle(Numbers(w, w + n), z, rho), Z, ld, run);

        const std::int64_t k = n_poles();
        Numbers squares = z_;
        for (double& x : squares) x *= x;
        origins_.resize(at(k));
        offsets_.resize(at(k));
        const Secular secular(poles_, squares, rho);
        parallel_for(run, ceil_div(k, kRoots), [&](std::int64_t task, int) {
            for (std::int64_t j = task * kRoots; j < std::min((task + 1) * kRoots, k); ++j) {
                offsets_[at(j)] = secular.find_root(j, origins_[at(j)]);
            }
        });
        // Computes the weights for which the roots are exact eigenvalues, up to a factor.
        parallel_for(run, ceil_div(k, kRoots), [&](std::int64_t task, int) {
            for (std::int64_t i = task * kRoots; i < std::min((task + 1) * kRoots, k); ++i) {
                const double pole = poles_[at(i)];
                double product = -below(i, k - 1);
                for (std::int64_t j = 0; j < i; ++j) product *= -below(i, j) / (poles_[at(j)] - pole);
                for (std::int64_t j = i; j < k - 1; ++j) product *= -below(i, j) / (poles_[at(j + 1)] - pole);
                z_[at(i)] = std::copysign(std::sqrt(std::abs(product)), z_[at(i)]);
            }
        });
        for (std::int64_t j = 0; j < k; ++j) {
            columns_.push_back({poles_[at(origins_[at(j)])] + offsets_[at(j)], j, -1, -1});
        }
        std::stable_sort(columns_.begin(), columns_.end(), [](auto& a, auto& b) { return a.value < b.value; });
        for (std::int64_t c = 0; c < n; ++c) w[c] = columns_[at(c)].value;
    }

    std::int64_t scratch_size(std::int64_t n_vectors) const { return (n_poles() + kVectorTile) * n_vectors; }

    // Writes eigenvectors first..last - 1 of the glued matrix to columns first..last - 1 of Z. scratch:
    // scratch_size(last - first) values.
    void write_vectors(std::int64_t first, std::int64_t last, double* Z, std::int64_t ld, double* scratch,
                       Run& run) const {
        const std::int64_t k = n_poles();
        double *S = scratch, *tile = S + k * (last - first);
        std::vector<double*> targets;
        for (std::int64_t c = first; c < last; ++c) {
            const Column& column = columns_[at(c)];
            double* target = Z + c * ld;
            if (column.root < 0) {
                copy_or_zero(n1_, top_.data(), column.top, target);
                copy_or_zero(n_ - n1_, bottom_.data(), column.bottom, target + n1_);
                continue;
            }
            double* s = S + static_cast<std::int64_t>(targets.size()) * k;
            double sum = 0;
            for (std::int64_t r = 0; r < k; ++r) {
                s[r] = z_[at(rows_[at(r)])] / below(rows_[at(r)], column.root);
                sum += s[r] * s[r];
            }
            const double length = std::sqrt(sum);
            for (std::int64_t r = 0; r < k; ++r) s[r] /= length;
            targets.push_back(target);
        }
        const auto width = static_cast<std::int64_t>(targets.size());
        const auto multiply_half = [&](const Buffer<double>& half, std::int64_t height, std::int64_t inner,
                                       const double* s, std::int64_t offset) {
            for (std::int64_t i = 0; width > 0 && i < height; i += kVectorTile) {
                run.checkpoint();
                const std::int64_t rows = std::min(kVectorTile, height - i);
                gemm('N', 'N', rows, width, inner, 1.0, half.data() + i, height, s, k, 0.0, tile, rows);
                for (std::int64_t c = 0; c < width; ++c) {
                    std::copy_n(tile + c * rows, rows, targets[at(c)] + offset + i);
                }
            }
        };
        multiply_half(top_, n1_, n_top_ + n_mixed_, S, 0);
        multiply_half(bottom_, n_ - n1_, k - n_top_, S + n_top_, n1_);
    }

  private:
    static constexpr std::int64_t kRoots = 32;  // of one task

    struct Column {
        double value;
        std::int64_t root;         // or -1:
        std::int64_t top, bottom;  // columns of top_ and bottom_ that hold the eigenvector's parts; -1: that part is 0
    };
    struct Turn {
        std::int64_t p, q;
        double c, s;
    };
    struct Settled {
        std::vector<Turn> turns;
        std::vector<std::int64_t> kept;  // columns of Q that are multiplied, poles ascending
        std::vector<bool> in_top, in_bottom;
    };

    std::int64_t n_poles() const { return static_cast<std::int64_t>(poles_.size()); }

    // Returns pole i minus root j.
    double below(std::int64_t i, std::int64_t j) const {
        return (poles_[at(i)] - poles_[at(origins_[at(j)])]) - offsets_[at(j)];
    }

    // Copies column c of `columns` (of `rows` values each) to `target`, or fills it with 0 if c is negative.
    static void copy_or_zero(std::int64_t rows, const double* columns, std::int64_t c, double* target) {
        if (c < 0) {
            std::fill_n(target, rows, 0.0);
        } else {
            std::copy_n(columns + c * rows, rows, target);
        }
    }

    // Returns the columns of Q that are multiplied (`kept`), the turns that come first, and which columns have a top
    // and a bottom part. Settles all other columns in columns_: they are eigenvectors to rounding, some after a turn.
    // The kept ones give the poles.
    Settled settle(Numbers d, Numbers z, double rho) {
        Settled split;
        auto& [turns, kept, in_top, in_bottom] = split;
        in_top.assign(at(n_), false);
        std::fill_n(in_top.begin(), n1_, true);
        in_bottom = in_top;
        in_bottom.flip();
        const double least = std::min(d[0], d[at(n1_)]), most = std::max(d[at(n1_ - 1)], d.back());
        const double negligible = 8 * kUlp * std::max({std::abs(least), std::abs(most), rho});
        auto order = up_to(n_);
        std::inplace_merge(order.begin(), order.begin() + n1_, order.end(),
                           [&](auto a, auto b) { return d[at(a)] < d[at(b)]; });
        std::vector<std::int64_t> settled;
        for (const auto q : order) {
            if (rho * std::abs(z[at(q)]) <= negligible) {
                settled.push_back(q);
                continue;
            }
            if (!kept.empty()) {
                const auto p = kept.back();
                const double length = std::hypot(z[at(p)], z[at(q)]), c = z[at(q)] / length, s = z[at(p)] / length;
                if (std::abs((d[at(q)] - d[at(p)]) * c * s) <= negligible) {
                    const double dp = d[at(p)], dq = d[at(q)];
                    d[at(p)] = c * c * dp + s * s * dq;
                    d[at(q)] = s * s * dp + c * c * dq;
                    z[at(q)] = length;
                    turns.push_back({p, q, c, s});
                    in_top[at(p)] = in_top[at(q)] = in_top[at(p)] || in_top[at(q)];
                    in_bottom[at(p)] = in_bottom[at(q)] = in_bottom[at(p)] || in_bottom[at(q)];
                    settled.push_back(p);
                    kept.pop_back();
                }
            }
            kept.push_back(q);
        }
        for (const auto q : kept) {
            poles_.push_back(d[at(q)]);
            z_.push_back(z[at(q)]);
        }
        for (const auto q : settled)
            columns_.push_back({d[at(q)], -1, q, q});  // q stands for the places until gather finds them
        return split;
    }

    // Copies the top and bottom parts of the columns to top_ and bottom_, first of the columns that are multiplied:
    // columns with a top part alone, with both parts, with a bottom part alone. Sets rows_ and the places of the
    // settled columns.
    void gather_columns(const Settled& split, const double* Z, std::int64_t ld, Run& run) {
        std::vector<std::int64_t> top_place(at(n_), -1), bottom_place(at(n_), -1);
        std::int64_t n_top = 0, n_bottom = 0;
        const auto place = [&](std::int64_t q) {
            if (split.in_top[at(q)]) top_place[at(q)] = n_top++;
            if (split.in_bottom[at(q)]) bottom_place[at(q)] = n_bottom++;
        };
        for (int group = 0; group < 3; ++group) {
            for (std::int64_t i = 0; i < n_poles(); ++i) {
                const auto q = split.kept[at(i)];
                if (group != (!split.in_bottom[at(q)] ? 0 : split.in_top[at(q)] ? 1 : 2)) continue;
                place(q);
                rows_.push_back(i);
            }
            if (group == 0) n_top_ = n_top;
            if (group == 1) n_mixed_ = n_top - n_top_;
        }
        for (auto& column : columns_) {
            const auto q = column.top;
            place(q);
            column.top = top_place[at(q)];
            column.bottom = bottom_place[at(q)];
        }
        const std::int64_t n2 = n_ - n1_;
        top_ = Buffer<double>(n1_ * n_top);
        bottom_ = Buffer<double>(n2 * n_bottom);
        parallel_for(run, n_, [&](std::int64_t q, int) {
            const auto t = top_place[at(q)], b = bottom_place[at(q)];
            if (t >= 0) copy_or_zero(n1_, Z + q * ld, q < n1_ ? 0 : -1, top_.data() + t * n1_);
            if (b >= 0) copy_or_zero(n2, Z + q * ld + n1_, q < n1_ ? -1 : 0, bottom_.data() + b * n2);
        });
        for (const Turn& turn : split.turns) {
            run.checkpoint();
            turn_columns(turn, n1_, top_.data(), top_place);
            turn_columns(turn, n2, bottom_.data(), bottom_place);
        }
    }

    // Rotates columns p and q of a half by the turn, at their places, unless they are 0 in this half.
    static void turn_columns(const Turn& turn, std::int64_t rows, double* columns,
                             const std::vector<std::int64_t>& places) {
        const std::int64_t p = places[at(turn.p)], q = places[at(turn.q)];
        if (p < 0 || q < 0) return;  // both columns are 0 in this half
        double *x = columns + p * rows, *y = columns + q * rows;
        for (std::int64_t i = 0; i < rows; ++i) {
            const double a = x[i], b = y[i];
            x[i] = turn.c * a - turn.s * b;
            y[i] = turn.s * a + turn.c * b;
        }
    }

    std::int64_t n_, n1_, n_top_ = 0, n_mixed_ = 0;
    Numbers poles_, z_, offsets_;  // of the columns that are multiplied, ascending; root j is offsets_[j] from its pole
    std::vector<std::int64_t> origins_;
    std::vector<std::int64_t> rows_;  // the poles in the order of the columns of top_ and bottom_
    std::vector<Column> columns_;
    Buffer<double> top_, bottom_;
};

// Overwrites d by the eigenvalues: solves parts of the matrix by LAPACK, and glues neighbours until one is left; leaves
// the vectors of the last step to make_vectors.
TridiagonalEigen::TridiagonalEigen(std::int64_t n, double* d, double* e, double* Z, std::int64_t whole, Run& run)
    : n_(n) {
    std::int64_t n_parts = 1;
    while (ceil_div(n, n_parts) > whole) n_parts *= 2;
    const auto begin = [&](std::int64_t part) { return n * part / n_parts; };
    for (std::int64_t part = 1; part < n_parts; ++part) {
        const std::int64_t b = begin(part);
        d[b - 1] -= std::abs(e[b - 1]);
        d[b] -= std::abs(e[b - 1]);
    }
    const Numbers joints(e, e + n - 1);
    parallel_for(run, n_parts, [&](std::int64_t part, int) {
        const std::int64_t b = begin(part);
        stedc(begin(part + 1) - b, d + b, e + b, Z + b * n + b, n);
    });
    for (std::int64_t step = 1; step < n_parts; step *= 2) {
        for (std::int64_t part = 0; part < n_parts; part += 2 * step) {
            const std::int64_t b = begin(part), middle = begin(part + step), size = begin(part + 2 * step) - b;
            double* block = Z + b * n + b;
            auto glue = std::make_unique<Glue>(size, middle - b, d + b, joints[at(middle - 1)], block, n, run);
            if (size == n) {
                last_ = std::move(glue);
                return;
            }
            const std::int64_t width = std::min(size, kVectorTile);
            auto scratch = buffers<double>(run.n_threads(), glue->scratch_size(width));
            parallel_for(run, ceil_div(size, width), [&](std::int64_t slab, int slot) {
                glue->write_vectors(slab * width, std::min((slab + 1) * width, size), block, n,
                                    scratch[at(slot)].data(), run);
            });
        }
    }
}

TridiagonalEigen::~TridiagonalEigen() = default;

std::int64_t TridiagonalEigen::scratch_size(std::int64_t n_vectors) const {
    return last_ ? last_->scratch_size(n_vectors) : 0;
}

void TridiagonalEigen::make_vectors(std::int64_t first, std::int64_t last, double* Z, double* scratch, Run& run) const {
    if (last_) last_->write_vectors(first, last, Z, n_, scratch, run);
}

}  // namespace fastfs::core
