#include "ikdr/ikdr.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "engines/isa/tiles.hpp"
#include "ikdr/simplex.hpp"
#include "engines/spectral.hpp"
#include "support/errors.hpp"
#include "support/lapack.hpp"
#include "support/parallel.hpp"
#include "support/random.hpp"

namespace fastfs::core {
namespace {

using Numbers = std::vector<double>;
Numbers numbers(std::int64_t size) { return Numbers(static_cast<std::size_t>(size)); }
std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void require_in_range(double value) {
    require(
        std::isfinite(value),
        "the objective must stay within the range of doubles: scale the kernels, or lower lambda, mu, tau and zeta");
}

// ---- 2: samples by class --------------------------------------------------------------------------------------------

// Within, samples are sorted by class, and A, B and other samples x k arrays are k columns, one after the other.
struct Classes {
    std::vector<std::int64_t> order;    // what the caller calls sample i
    std::vector<std::int64_t> begins;   // class q is begins[q]..begins[q + 1]
    std::vector<std::int64_t> classes;  // of sample i

    Classes(const std::int64_t* labels, std::int64_t n_samples, std::int64_t n_classes)
        : order(at(n_samples)), begins(at(n_classes + 1)), classes(at(n_samples)) {
        for (std::int64_t i = 0; i < n_samples; ++i) ++begins[at(labels[i] + 1)];
        std::partial_sum(begins.begin(), begins.end(), begins.begin());
        std::vector<std::int64_t> next(begins.begin(), begins.end() - 1);
        for (std::int64_t i = 0; i < n_samples; ++i) {
            const std::int64_t sorted = next[at(labels[i])]++;
            order[at(sorted)] = i;
            classes[at(sorted)] = labels[i];
        }
    }

    std::int64_t n_samples() const { return static_cast<std::int64_t>(order.size()); }
    std::int64_t n() const { return static_cast<std::int64_t>(begins.size()) - 1; }
    std::int64_t size(std::int64_t q) const { return begins[at(q + 1)] - begins[at(q)]; }

    // From samples x k, row-major, in the caller's order, and back.
    Numbers sorted(const double* A, std::int64_t k) const {
        Numbers columns = numbers(n_samples() * k);
        for (std::int64_t i = 0; i < n_samples(); ++i) {
            for (std::int64_t j = 0; j < k; ++j) columns[at(j * n_samples() + i)] = A[order[at(i)] * k + j];
        }
        return columns;
    }
    void unsort(const double* columns, std::int64_t k, double* A) const {
        for (std::int64_t i = 0; i < n_samples(); ++i) {
            for (std::int64_t j = 0; j < k; ++j) A[order[at(i)] * k + j] = columns[j * n_samples() + i];
        }
    }
};

// ---- 3: the objective -----------------------------------------------------------------------------------------------

// Its weights; lambda and mu are the paper's.
struct Terms {
    double lambda, mu, tau, zeta;
    bool distance;  // the interpretability term of (7), not of (15)

    Terms(const fastfs_ikdr_options& o, double lambda_, std::int64_t n_samples)
        : lambda(lambda_ / static_cast<double>(n_samples)),
          mu(o.mu / static_cast<double>(n_samples)),
          tau(o.tau == 0 ? kInfinity : o.tau),
          zeta(o.zeta == 0 ? kInfinity : o.zeta),
          distance(o.interpretability == FASTFS_IKDR_DISTANCE) {}

    double constant(std::int64_t k) const { return distance ? mu * static_cast<double>(k) : 0; }

    // om_q, for class q of `size` samples and |P_q|^2
    double omega(std::int64_t size, double square) const {
        const double w = std::isinf(tau) ? 1 : tau / (tau + static_cast<double>(size));
        return std::isinf(zeta) ? w : w * zeta / (zeta + w * square);
    }
};

// Loops over parts that take about as long as waking a thread aren't worth one.
constexpr std::int64_t kWorthThreads = std::int64_t{1} << 20;

template <class Body>
void for_each(Run& run, std::int64_t n, bool threads, Body&& body) {
    if (threads) return parallel_for(run, n, [&](std::int64_t task, int) { body(task); });
    for (std::int64_t task = 0; task < n; ++task) body(task);
}

// (R), the problem that F15 leaves once S and Gamma are eliminated, as a function of A for one kernel. With samples
// sorted by class a value and a gradient read K once each: 2 N^2 multiply-adds, whatever k is.
template <class T>
class Reduced : public SimplexFunction {
  public:
    // K (n x n, both triangles) must outlive it.
    Reduced(const T* K, const Classes& classes, const Terms& terms, std::int64_t k, Run& run)
        : classes_(classes),
          terms_(terms),
          run_(run),
          N_(classes.n_samples()),
          C_(classes.n()),
          k_(k),
          threads_(N_ * N_ >= kWorthThreads),
          rows_(at(N_)),
          KH_(numbers(C_ * N_)),
          K1_(numbers(N_)),
          P_(numbers(C_ * k)),
          T_(numbers(C_ * k)),
          omega_(numbers(C_)),
          by_class_(numbers(C_ * N_)),
          KR_(numbers(C_ * N_)),
          r_(numbers(N_)),
          B_(terms.mu > 0 ? numbers(k * N_) : Numbers()),
          ones_(at(N_), 1.0) {
        for (std::int64_t i = 0; i < N_; ++i) rows_[at(i)] = K + i * N_;
        class_sums(ones_, KH_);
        std::vector<const double*> all;
        for (std::int64_t q = 0; q < C_; ++q) all.push_back(&KH_[at(q * N_)]);
        f64_.combine(all.data(), Numbers(at(C_), 1.0).data(), C_, N_, K1_.data());
        for (std::int64_t q = 0; q < C_; ++q) {
            for (std::int64_t i = classes.begins[at(q)]; i < classes.begins[at(q + 1)]; i += kRows) {
                blocks_.push_back({q, i, std::min(i + kRows, classes.begins[at(q + 1)])});
            }
        }
    }

    double value(const double* A) override {
        A_ = A;
        columns_.clear();
        for (std::int64_t j = 0; j < k_; ++j) columns_.push_back(A + j * N_);

        // P = H A, T = (K H)' A, and A P', of which sample i needs column y_i alone
        double similarity = 0, lambda_part = 0;
        Numbers column_sums = numbers(k_);
        std::vector<const double*> parts(at(k_));
        for (std::int64_t q = 0; q < C_; ++q) {
            for (std::int64_t j = 0; j < k_; ++j) parts[at(j)] = columns_[at(j)] + classes_.begins[at(q)];
            f64_.dots(parts.data(), k_, ones_.data(), classes_.size(q), &P_[at(q * k_)]);
            f64_.dots(columns_.data(), k_, &KH_[at(q * N_)], N_, &T_[at(q * k_)]);
            double square = 0;
            for (std::int64_t j = 0; j < k_; ++j) {
                square += P_[at(q * k_ + j)] * P_[at(q * k_ + j)];
                column_sums[at(j)] += T_[at(q * k_ + j)];
                lambda_part -= T_[at(q * k_ + j)] * T_[at(q * k_ + j)];
            }
            omega_[at(q)] = terms_.omega(classes_.size(q), square);
            combine_columns(columns_, &P_[at(q * k_)], &by_class_[at(q * N_)]);
        }
        for (double sum : column_sums) lambda_part += sum * sum;
        total_ = column_sums;

        // r_i = 1 - P[y_i,:] . B[i,:]
        for_each(run_, static_cast<std::int64_t>(blocks_.size()), threads_, [&](std::int64_t task) {
            const Block& b = blocks_[at(task)];
            rows_kernels_.dots(&rows_[at(b.begin)], b.end - b.begin, &by_class_[at(b.q * N_)], N_, &r_[at(b.begin)]);
            for (std::int64_t i = b.begin; i < b.end; ++i) r_[at(i)] = 1 - r_[at(i)];
        });
        for (std::int64_t i = 0; i < N_; ++i) similarity += omega_[at(classes_.classes[at(i)])] * r_[at(i)] * r_[at(i)];
        linear_ = interpretability_part();
        const double value = similarity + terms_.lambda * lambda_part + linear_ + terms_.constant(k_);
        require_in_range(value);
        return value;
    }

    void gradient(double* G) override {
        Numbers factors = numbers(N_), squares = numbers(C_);
        for (std::int64_t i = 0; i < N_; ++i) {
            const std::int64_t q = classes_.classes[at(i)];
            factors[at(i)] = -2 * omega_[at(q)] * r_[at(i)];
            squares[at(q)] += r_[at(i)] * r_[at(i)];
        }
        class_sums(factors, KR_);  // K R, R[i, y_i] = -2 om r_i
        Numbers dP = numbers(C_ * k_), factors_of = numbers(2 * C_);
        for (std::int64_t q = 0; q < C_; ++q) {
            f64_.dots(columns_.data(), k_, &KR_[at(q * N_)], N_, &dP[at(q * k_)]);
            if (std::isinf(terms_.zeta)) continue;
            const double factor = 2 * omega_[at(q)] * omega_[at(q)] / terms_.zeta * squares[at(q)];
            for (std::int64_t j = 0; j < k_; ++j) dP[at(q * k_ + j)] -= factor * P_[at(q * k_ + j)];
        }
        // K dB = (K R) P + (K H) V, V_q = 2 lambda (sum_q T_q - T_q)
        std::vector<const double*> both;
        for (std::int64_t q = 0; q < C_; ++q) both.push_back(&KR_[at(q * N_)]);
        for (std::int64_t q = 0; q < C_; ++q) both.push_back(&KH_[at(q * N_)]);
        for (std::int64_t j = 0; j < k_; ++j) {
            double* column = G + j * N_;
            for (std::int64_t q = 0; q < C_; ++q) {
                factors_of[at(q)] = P_[at(q * k_ + j)];
                factors_of[at(C_ + q)] = 2 * terms_.lambda * (total_[at(j)] - T_[at(q * k_ + j)]);
            }
            combine_columns(both, factors_of.data(), column);
            for (std::int64_t i = 0; i < N_; ++i) column[i] += dP[at(classes_.classes[at(i)] * k_ + j)];
            if (terms_.mu == 0) continue;
            const double* B = &B_[at(j * N_)];
            for (std::int64_t i = 0; i < N_; ++i) {
                const double own = terms_.distance ? 0 : K1_[at(i)] * A_[j * N_ + i];
                column[i] += 2 * terms_.mu * (own - B[i]);
            }
        }
    }

    // Of the last value: its point in the space of the beta-step, c_i = P[y_i,:] . B[i,:] and T (C x k), its om_q, and
    // mu times the interpretability term.
    const Numbers& omega() const { return omega_; }
    const Numbers& P() const { return P_; }
    const Numbers& residuals() const { return r_; }
    double linear() const { return linear_; }  // without the constant mu k
    Numbers point() const {
        Numbers x = r_;
        for (double& c : x) c = 1 - c;
        x.insert(x.end(), T_.begin(), T_.end());
        return x;
    }

    // B = K A
    void embed(const double* A, double* B) const {
        for_each(run_, k_, threads_, [&](std::int64_t j) {
            std::vector<const T*> rows;
            Numbers factors;
            for (std::int64_t t = 0; t < N_; ++t) {
                if (A[j * N_ + t] == 0) continue;
                rows.push_back(rows_[at(t)]);
                factors.push_back(A[j * N_ + t]);
            }
            rows_kernels_.combine(rows.data(), factors.data(), static_cast<std::int64_t>(rows.size()), N_, B + j * N_);
        });
    }

  private:
    static constexpr std::int64_t kRows = 64, kColumns = 512;
    struct Block {
        std::int64_t q, begin, end;
    };

    double interpretability_part() {
        if (terms_.mu == 0) return 0;
        embed(A_, B_.data());
        double sum = 0;
        for (std::int64_t j = 0; j < k_; ++j) {
            double column = 0;
            for (std::int64_t i = 0; i < N_; ++i) {
                const double a = A_[j * N_ + i];
                column += a * ((terms_.distance ? 0 : K1_[at(i)] * a) - B_[at(j * N_ + i)]);
            }
            sum += column;
        }
        return terms_.mu * sum;
    }

    // out (n) = sum of factors[c] columns[c]; many factors are 0.
    void combine_columns(const std::vector<const double*>& columns, const double* factors, double* out) const {
        std::vector<const double*> used;
        Numbers with;
        for (std::size_t c = 0; c < columns.size(); ++c) {
            if (factors[c] == 0) continue;
            used.push_back(columns[c]);
            with.push_back(factors[c]);
        }
        f64_.combine(used.data(), with.data(), static_cast<std::int64_t>(used.size()), N_, out);
    }

    // sums[q, :] = sum over samples t of class q of factors[t] K[t, :]
    void class_sums(const Numbers& factors, Numbers& sums) const {
        const std::int64_t chunks = (N_ + kColumns - 1) / kColumns;
        for_each(run_, C_ * chunks, threads_, [&](std::int64_t task) {
            const std::int64_t q = task / chunks, first = task % chunks * kColumns, begin = classes_.begins[at(q)];
            std::vector<const T*> rows(rows_.begin() + begin, rows_.begin() + classes_.begins[at(q + 1)]);
            for (const T*& row : rows) row += first;
            rows_kernels_.combine(rows.data(), &factors[at(begin)], classes_.size(q), std::min(kColumns, N_ - first),
                                  &sums[at(q * N_ + first)]);
        });
    }

    const Classes& classes_;
    const Terms terms_;
    Run& run_;
    const std::int64_t N_, C_, k_;
    const bool threads_;
    const RowKernels<double>& f64_ = row_kernels<double>();
    const RowKernels<T>& rows_kernels_ = row_kernels<T>();
    std::vector<const T*> rows_;
    std::vector<Block> blocks_;
    Numbers KH_, K1_;  // C x n; n
    // Of the last value.
    const double* A_ = nullptr;
    std::vector<const double*> columns_;
    Numbers P_, T_, omega_, by_class_, KR_, r_, B_, total_;
    double linear_ = 0;
    const Numbers ones_;
};

// ---- 4: the kernel's weights ----------------------------------------------------------------------------------------

// A mixture of kernels: those that have weight.
struct Mixture {
    std::vector<std::int64_t> which;  // ascending
    Numbers weights;
};

// F as a function of beta, for a fixed A: 1/2 x'W x + h'x + v'beta + constant, with x = sum_m beta_m phi_m. What there
// is to know of kernel m is phi_m = (c_m, T_m), or B_m for the paper's own step, and v_m.
struct MixtureObjective {
    std::int64_t size = 0;  // of x
    double constant = 0;
    Numbers h;
    std::function<Numbers(const Numbers&)> W;

    Numbers gradient(const Numbers& x) const {
        Numbers g = W(x);
        for (std::size_t e = 0; e < g.size(); ++e) g[e] += h[e];
        return g;
    }
};

// (R) as a function of beta, x = (c, T).
MixtureObjective reduced_objective(const Classes& classes, const Terms& terms, const Numbers& omega, std::int64_t k) {
    const std::int64_t N = classes.n_samples(), C = classes.n();
    MixtureObjective F;
    F.size = N + C * k;
    F.h = numbers(F.size);
    F.constant = terms.constant(k);
    for (std::int64_t i = 0; i < N; ++i) {
        const double om = omega[at(classes.classes[at(i)])];
        F.constant += om;
        F.h[at(i)] = -2 * om;
    }
    F.W = [&classes, terms, omega, N, C, k](const Numbers& x) {
        Numbers y = x;
        for (std::int64_t i = 0; i < N; ++i) y[at(i)] *= 2 * omega[at(classes.classes[at(i)])];
        for (std::int64_t j = 0; j < k; ++j) {
            double sum = 0;
            for (std::int64_t q = 0; q < C; ++q) sum += x[at(N + q * k + j)];
            for (std::int64_t q = 0; q < C; ++q) {
                y[at(N + q * k + j)] = 2 * terms.lambda * (sum - x[at(N + q * k + j)]);
            }
        }
        return y;
    };
    return F;
}

// phi and v of all kernels at one A: stored, if there is room, else found anew for each pass over them.
template <class T>
class Products {
  public:
    Products(const SampleKernels<T>& kernels, const Support& support, bool with_c, bool store, Run& run)
        : kernels_(kernels),
          support_(support),
          run_(run),
          n_c_(with_c ? kernels.n_samples() : 0),
          n_totals_(kernels.n_classes() * support.k) {
        if (!store) return;
        const std::int64_t d = kernels.n_kernels();
        phi_ = Buffer<T>(d * size());
        v_ = numbers(d);
        kernels.for_products(support, run,
                             [&](std::int64_t first, std::int64_t count, const T* c, const T* totals, const double* v) {
                                 for (std::int64_t b = 0; b < count; ++b)
                                     copy(b, c, totals, phi_.data() + (first + b) * size());
                                 std::copy_n(v, count, v_.begin() + first);
                             });
    }

    std::int64_t size() const { return n_c_ + n_totals_; }

    // prices[m] = phi_m . g + v_m; infinite for kernels that are constant.
    Numbers prices(const Numbers& g) const {
        const std::int64_t d = kernels_.n_kernels();
        Numbers prices = numbers(d);
        const RowKernels<T>& kernel = row_kernels<T>();
        if (phi_.size() > 0) {
            constexpr std::int64_t kKernels = 256;
            for_each(run_, (d + kKernels - 1) / kKernels, phi_.size() >= kWorthThreads, [&](std::int64_t task) {
                const std::int64_t first = task * kKernels, count = std::min(kKernels, d - first);
                const T* rows[kKernels];
                double of_c[kKernels] = {}, of_totals[kKernels];  // apart, as below: the budget changes no bit
                for (std::int64_t b = 0; b < count; ++b) rows[b] = phi_.data() + (first + b) * size();
                if (n_c_ > 0) kernel.dots(rows, count, g.data(), n_c_, of_c);
                for (std::int64_t b = 0; b < count; ++b) rows[b] += n_c_;
                kernel.dots(rows, count, g.data() + n_c_, n_totals_, of_totals);
                for (std::int64_t b = 0; b < count; ++b)
                    prices[at(first + b)] = of_c[b] + of_totals[b] + v_[at(first + b)];
            });
        } else {
            kernels_.for_products(
                support_, run_,
                [&](std::int64_t first, std::int64_t count, const T* c, const T* totals, const double* v) {
                    for (std::int64_t b = 0; b < count; ++b) {
                        const T *c_row = c + b * n_c_, *totals_row = totals + b * n_totals_;
                        double of_c = 0, of_totals = 0;
                        if (n_c_ > 0) kernel.dots(&c_row, 1, g.data(), n_c_, &of_c);
                        kernel.dots(&totals_row, 1, g.data() + n_c_, n_totals_, &of_totals);
                        prices[at(first + b)] = of_c + of_totals + v[b];
                    }
                });
        }
        for (std::int64_t m = 0; m < d; ++m) {
            if (kernels_.is_constant(m)) prices[at(m)] = kInfinity;
        }
        return prices;
    }

    // phi of some kernels, in double, one after the other; appends, as for their v.
    void gather(const std::vector<std::int64_t>& which, Numbers& phi, Numbers& v) const {
        const auto count = static_cast<std::int64_t>(which.size());
        if (phi_.size() > 0) {
            for (std::int64_t m : which) {
                const T* row = phi_.data() + m * size();
                phi.insert(phi.end(), row, row + size());
                v.push_back(v_[at(m)]);
            }
            return;
        }
        Buffer<T> c(count * kernels_.n_samples()), totals(count * n_totals_);
        Numbers some = numbers(count);
        kernels_.products(which, support_, run_, c.data(), totals.data(), some.data());
        for (std::int64_t b = 0; b < count; ++b) {
            phi.resize(phi.size() + at(size()));
            copy(b, c.data(), totals.data(), phi.data() + phi.size() - size());
        }
        v.insert(v.end(), some.begin(), some.end());
    }

  private:
    template <class To>
    void copy(std::int64_t b, const T* c, const T* totals, To* to) const {
        if (n_c_ > 0) to = std::copy_n(c + b * n_c_, n_c_, to);
        std::copy_n(totals + b * n_totals_, n_totals_, to);
    }

    const SampleKernels<T>& kernels_;
    const Support& support_;
    Run& run_;
    const std::int64_t n_c_, n_totals_;
    Buffer<T> phi_;
    Numbers v_;
};

// 1/2 b'Q b + p'b
class Quadratic : public SimplexFunction {
  public:
    Numbers Q, p;
    double value(const double* b) override {
        const auto n = static_cast<std::int64_t>(p.size());
        Qb_ = numbers(n);
        std::vector<const double*> rows;
        for (std::int64_t a = 0; a < n; ++a) rows.push_back(&Q[at(a * n)]);
        row_kernels<double>().combine(rows.data(), b, n, n, Qb_.data());
        double sum = 0;
        for (std::int64_t a = 0; a < n; ++a) sum += b[a] * (0.5 * Qb_[at(a)] + p[at(a)]);
        return sum + constant;
    }
    void gradient(double* g) override {
        for (std::size_t a = 0; a < p.size(); ++a) g[a] = Qb_[a] + p[a];
    }
    double constant = 0;

  private:
    Numbers Qb_;
};

// The beta-step, by a working set: minimise over a few kernels, price all, add the best. Larger mixtures enter as one
// kernel, `whole` = (phi, v) of the mixture; they lose their weight to single ones.
constexpr std::int64_t kSingle = 128, kAdded = 16, kRounds = 50, kSteps = 2000;

struct Active {
    std::vector<std::int64_t> which;
    Numbers phi, v, weights;  // of these and, before them, of the whole mixture, if it's there
    bool whole = false;
    std::size_t count() const { return weights.size(); }
};

template <class T>
class BetaStep {
  public:
    BetaStep(const MixtureObjective& F, const Products<T>& products, double tol, Run& run)
        : F_(F), products_(products), tol_(tol), run_(run) {}

    // From `mixture`, whose x and v these are.
    Mixture minimize(const Mixture& mixture, const Numbers& x, double v) {
        Active active;
        if (static_cast<std::int64_t>(mixture.which.size()) <= kSingle) {
            active.which = mixture.which;
            active.weights = mixture.weights;
            products_.gather(active.which, active.phi, active.v);
        } else {
            active.whole = true;
            active.weights = {1.0};
            active.phi = x;
            active.v = {v};
        }
        for (std::int64_t round = 0; round < kRounds; ++round) {
            const Run::Part part(run_, static_cast<double>(round) / kRounds, static_cast<double>(round + 1) / kRounds);
            double value = 0, current = 0;
            const Numbers g = at_point(active, value, current);
            const Numbers prices = products_.prices(g);
            // What the Frank-Wolfe gap leaves to gain, and those who gain most.
            std::vector<std::int64_t> best(prices.size());
            std::iota(best.begin(), best.end(), 0);
            const auto end = best.begin() + std::min<std::ptrdiff_t>(kAdded, static_cast<std::ptrdiff_t>(best.size()));
            std::partial_sort(best.begin(), end, best.end(), [&](std::int64_t a, std::int64_t b) {
                return prices[at(a)] < prices[at(b)] || (prices[at(a)] == prices[at(b)] && a < b);
            });
            if (round > 0 && current - prices[at(best.front())] <= tol_ * std::abs(value)) break;
            std::vector<std::int64_t> added;
            for (auto m = best.begin(); m != end; ++m) {
                if (prices[at(*m)] < current &&
                    std::find(active.which.begin(), active.which.end(), *m) == active.which.end()) {
                    added.push_back(*m);
                }
            }
            if (added.empty() && round > 0) break;
            products_.gather(added, active.phi, active.v);
            active.which.insert(active.which.end(), added.begin(), added.end());
            active.weights.resize(active.weights.size() + added.size());
            solve(active);
        }
        if (active.whole && active.count() > 1) active = without_whole(active);
        return result(active, mixture);
    }

  private:
    // dF/dx where the active ones' weights put x, F there, and the mean price of the active ones.
    Numbers at_point(const Active& active, double& value, double& current) const {
        Numbers x = numbers(F_.size);
        std::vector<const double*> rows;
        for (std::size_t a = 0; a < active.count(); ++a) rows.push_back(active.phi.data() + a * x.size());
        row_kernels<double>().combine(rows.data(), active.weights.data(), static_cast<std::int64_t>(rows.size()),
                                      F_.size, x.data());
        const Numbers g = F_.gradient(x);
        value = F_.constant;
        current = 0;
        for (std::size_t e = 0; e < x.size(); ++e) {
            value += 0.5 * x[e] * (g[e] + F_.h[e]);
            current += x[e] * g[e];
        }
        for (std::size_t a = 0; a < active.count(); ++a) {
            value += active.weights[a] * active.v[a];
            current += active.weights[a] * active.v[a];
        }
        return g;
    }

    // The same without the whole mixture, if that costs no more than the tolerance: what is left of its weight would
    // keep all of its kernels.
    Active without_whole(const Active& active) const {
        Active fewer = active;
        fewer.whole = false;
        fewer.weights.erase(fewer.weights.begin());
        fewer.v.erase(fewer.v.begin());
        fewer.phi.erase(fewer.phi.begin(), fewer.phi.begin() + F_.size);
        const double sum = std::accumulate(fewer.weights.begin(), fewer.weights.end(), 0.0);
        for (double& weight : fewer.weights) weight /= sum;
        solve(fewer);
        double before = 0, after = 0, price = 0;
        at_point(active, before, price);
        at_point(fewer, after, price);
        return after <= before + tol_ * std::abs(before) ? fewer : active;
    }

    void solve(Active& active) const {
        const auto n = static_cast<std::int64_t>(active.count());
        Quadratic f;
        f.constant = F_.constant;
        f.Q = numbers(n * n);
        f.p = active.v;
        std::vector<const double*> rows;
        for (std::int64_t a = 0; a < n; ++a) rows.push_back(&active.phi[at(a * F_.size)]);
        Numbers out = numbers(n);
        row_kernels<double>().dots(rows.data(), n, F_.h.data(), F_.size, out.data());
        for (std::size_t a = 0; a < out.size(); ++a) f.p[a] += out[a];
        for (std::int64_t a = 0; a < n; ++a) {
            const Numbers W = F_.W(Numbers(rows[at(a)], rows[at(a)] + F_.size));
            row_kernels<double>().dots(rows.data(), n, W.data(), F_.size, &f.Q[at(a * n)]);
        }
        for (std::int64_t a = 0; a < n; ++a) {
            for (std::int64_t b = 0; b < a; ++b) f.Q[at(a * n + b)] = f.Q[at(b * n + a)];
        }
        minimize_on_simplex(f, n, 1, 1e-3 * tol_, kSteps, run_, active.weights.data());
        // Only those with weight stay.
        Active kept;
        for (std::size_t a = 0; a < active.count(); ++a) {
            if (active.weights[a] == 0) continue;
            if (active.whole && a == 0) {
                kept.whole = true;
            } else {
                kept.which.push_back(active.which[active.whole ? a - 1 : a]);
            }
            kept.weights.push_back(active.weights[a]);
            kept.v.push_back(active.v[a]);
            const auto begin = active.phi.begin() + static_cast<std::ptrdiff_t>(a) * F_.size;
            kept.phi.insert(kept.phi.end(), begin, begin + F_.size);
        }
        active = std::move(kept);
    }

    static Mixture result(const Active& active, const Mixture& start) {
        std::vector<std::pair<std::int64_t, double>> all;
        std::size_t first = 0;
        if (active.whole) {
            for (std::size_t a = 0; a < start.which.size(); ++a) {
                all.emplace_back(start.which[a], active.weights[0] * start.weights[a]);
            }
            first = 1;
        }
        for (std::size_t a = 0; a < active.which.size(); ++a)
            all.emplace_back(active.which[a], active.weights[first + a]);
        std::sort(all.begin(), all.end());
        Mixture found;
        for (const auto& [m, weight] : all) {
            if (!found.which.empty() && found.which.back() == m) {
                found.weights.back() += weight;
            } else {
                found.which.push_back(m);
                found.weights.push_back(weight);
            }
        }
        return found;
    }

    const MixtureObjective& F_;
    const Products<T>& products_;
    const double tol_;
    Run& run_;
};

// What the products of each kernel are taken with.
Support support_of(const Classes& classes, const Terms& terms, const Numbers& A, const Numbers& P, std::int64_t k) {
    const std::int64_t N = classes.n_samples(), C = classes.n();
    Support support;
    support.k = k;
    for (std::int64_t t = 0; t < N; ++t) {
        bool used = false;
        for (std::int64_t j = 0; j < k; ++j) used = used || A[at(j * N + t)] != 0;
        if (!used) continue;
        support.rows.push_back(t);
        for (std::int64_t j = 0; j < k; ++j) support.A.push_back(A[at(j * N + t)]);
    }
    const std::size_t s = support.rows.size(), width = at(k);
    const auto product = [&](const double* left, const double* right) {
        return std::inner_product(left, left + width, right, 0.0);
    };
    for (std::size_t t = 0; t < s; ++t) {
        for (std::int64_t q = 0; q < C; ++q) support.by_class.push_back(product(&support.A[t * width], &P[at(q * k)]));
    }
    if (terms.mu == 0) return support;
    for (std::size_t t = 0; t < s; ++t) {
        const double* row = &support.A[t * width];
        support.row_factors.push_back(terms.distance ? 0 : terms.mu * product(row, row));
        for (std::size_t u = 0; u < s; ++u)
            support.pair_factors.push_back(-terms.mu * product(row, &support.A[u * width]));
    }
    return support;
}

// ---- 5: where it starts ---------------------------------------------------------------------------------------------

// How many columns of A each class gets: one, the largest classes first, and then those with most samples a column.
std::vector<std::int64_t> share_columns(const Classes& classes, std::int64_t k) {
    std::vector<std::int64_t> columns(at(classes.n()));
    const auto per_column = [&](std::int64_t q) {
        const std::int64_t n = columns[at(q)];
        if (n == classes.size(q)) return 0.0;
        return static_cast<double>(classes.size(q)) *
               (n == 0 ? static_cast<double>(classes.n_samples()) : 1.0 / static_cast<double>(n));
    };
    for (std::int64_t j = 0; j < k; ++j) {
        std::int64_t most = 0;
        for (std::int64_t q = 1; q < classes.n(); ++q) {
            if (per_column(q) > per_column(most)) most = q;
        }
        ++columns[at(most)];
    }
    return columns;
}

// Each class in cells around its medoid and the samples that are farthest from the centres before them; a column is the
// mean of a cell.
template <class T>
Numbers class_wise_start(const Classes& classes, const T* K, std::int64_t k) {
    const std::int64_t N = classes.n_samples();
    const std::vector<std::int64_t> n_columns = share_columns(classes, k);
    const auto distance = [&](std::int64_t i, std::int64_t j) {
        return static_cast<double>(K[i * N + i]) + static_cast<double>(K[j * N + j]) -
               2 * static_cast<double>(K[i * N + j]);
    };
    Numbers A = numbers(N * k);
    double* column = A.data();
    for (std::int64_t q = 0; q < classes.n(); ++q) {
        const std::int64_t begin = classes.begins[at(q)], end = classes.begins[at(q + 1)];
        std::vector<std::int64_t> cell(at(end - begin));
        Numbers nearest(at(end - begin), kInfinity);
        for (std::int64_t c = 0; c < n_columns[at(q)]; ++c) {
            std::int64_t centre = begin;
            double best = kInfinity;
            for (std::int64_t i = begin; i < end; ++i) {
                double sum = 0;
                if (c == 0) {
                    for (std::int64_t j = begin; j < end; ++j) sum += distance(i, j);
                } else {
                    sum = nearest[at(i - begin)] < 0 ? kInfinity : -nearest[at(i - begin)];
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

// ---- 6: the paper's own alternation, corrected ----------------------------------------------------------------------

// F15 as a function of Gamma, of S, of A (by ADMM with one split) and of beta in turn. Matrices are column-major here,
// as LAPACK has them: Gamma is k x n, S = A_S Gamma_S + H'E with one number e_i a sample in E, and neither S nor D is
// formed.
class Alternation {
  public:
    Alternation(const Classes& classes, const Terms& terms, std::int64_t k, double rho, Run& run)
        : classes_(classes), terms_(terms), run_(run), N_(classes.n_samples()), k_(k), rho_(rho), e_(numbers(N_)) {}

    static std::int64_t memory(std::int64_t n, std::int64_t n_classes, std::int64_t k) {
        return 8 * (6 * n * n + n * (12 * k + n_classes));
    }

    // K (n x n) and what the A-step needs of it: Om = 2 (lambda K D K + mu L + zeta K K) = V diag(w) V', with D = 11' -
    // H'H. The distance term has -K in the place of L.
    template <class T>
    void set_kernel(const T* K) {
        K_.assign(K, K + N_ * N_);
        Numbers KH = numbers(N_ * classes_.n()), K1 = numbers(N_), Om = numbers(N_ * N_);
        for (std::int64_t t = 0; t < N_; ++t) {
            for (std::int64_t i = 0; i < N_; ++i) {
                KH[at(classes_.classes[at(t)] * N_ + i)] += K_[at(t * N_ + i)];
                K1[at(i)] += K_[at(t * N_ + i)];
            }
        }
        gemm('N', 'N', N_, N_, N_, 2 * terms_.zeta, K_.data(), N_, K_.data(), N_, 0.0, Om.data(), N_);
        run_.checkpoint();
        gemm('N', 'T', N_, N_, 1, 2 * terms_.lambda, K1.data(), N_, K1.data(), N_, 1.0, Om.data(), N_);
        gemm('N', 'T', N_, N_, classes_.n(), -2 * terms_.lambda, KH.data(), N_, KH.data(), N_, 1.0, Om.data(), N_);
        for (std::int64_t i = 0; i < N_; ++i) {
            for (std::int64_t j = 0; j < N_; ++j) Om[at(j * N_ + i)] -= 2 * terms_.mu * K_[at(j * N_ + i)];
            if (!terms_.distance) Om[at(i * N_ + i)] += 2 * terms_.mu * K1[at(i)];
        }
        require_in_range(std::accumulate(Om.begin(), Om.end(), 0.0));
        SymmetricEigen eigen(N_, Om.data(), run_);
        eigen.make_vectors(0, N_, run_);
        w_ = eigen.values();
        V_ = eigen.take_vectors();
    }

    // Gamma and S at the minimum over both, where the iteration starts; r = 1 - P[y_i,:] . B[i,:].
    void start(const Numbers& A, const Numbers& r) {
        const Numbers P = profile(A);
        Gamma_ = times_kernel(A);
        for (std::int64_t i = 0; i < N_; ++i) {
            const std::int64_t q = classes_.classes[at(i)];
            const double w = terms_.tau / (terms_.tau + static_cast<double>(classes_.size(q)));
            double square = 0;
            for (std::int64_t j = 0; j < k_; ++j) square += P[at(q * k_ + j)] * P[at(q * k_ + j)];
            const double factor = w * r[at(i)] / (terms_.zeta + w * square);
            for (std::int64_t j = 0; j < k_; ++j) Gamma_[at(i * k_ + j)] += factor * P[at(q * k_ + j)];
        }
        S_step(A);
    }

    // Gamma = (tau A'A + zeta I)^-1 (tau A'S + zeta A'K)
    void Gamma_step(const Numbers& A) {
        const Numbers P = profile(A);
        Numbers right = times_kernel(A), M = numbers(k_ * k_), product = numbers(k_ * k_);
        gemm('T', 'N', k_, k_, N_, terms_.tau, A.data(), N_, A_S_.data(), N_, 0.0, product.data(), k_);
        gemm('N', 'N', k_, N_, k_, 1.0, product.data(), k_, Gamma_.data(), k_, terms_.zeta, right.data(), k_);
        for (std::int64_t i = 0; i < N_; ++i) {
            const double* P_q = &P[at(classes_.classes[at(i)] * k_)];
            for (std::int64_t j = 0; j < k_; ++j) right[at(i * k_ + j)] += terms_.tau * e_[at(i)] * P_q[j];
        }
        syrk_lower('T', k_, N_, terms_.tau, A.data(), N_, 0.0, M.data(), k_);
        for (std::int64_t j = 0; j < k_; ++j) M[at(j * k_ + j)] += terms_.zeta;
        if (!potrf_lower(k_, M.data())) {
            throw NumericError("tau A'A + zeta I must be positive definite, but isn't: take smaller tau and zeta");
        }
        trsm_lower(k_, N_, M.data(), k_, right.data(), k_);
        Numbers upper = numbers(k_ * k_);
        for (std::int64_t i = 0; i < k_; ++i) {
            for (std::int64_t j = 0; j <= i; ++j) upper[at(i * k_ + j)] = M[at(j * k_ + i)];
        }
        trsm_upper(k_, N_, upper.data(), k_, right.data(), k_);
        Gamma_ = std::move(right);
    }

    // s_i = A gamma_i + u_i' e_i, e_i = (1 - P[y_i,:] gamma_i) / (tau + n_q)
    void S_step(const Numbers& A) {
        const Numbers P = profile(A);
        A_S_ = A;
        for (std::int64_t i = 0; i < N_; ++i) {
            const std::int64_t q = classes_.classes[at(i)];
            double fit = 0;
            for (std::int64_t j = 0; j < k_; ++j) fit += P[at(q * k_ + j)] * Gamma_[at(i * k_ + j)];
            e_[at(i)] = (1 - fit) / (terms_.tau + static_cast<double>(classes_.size(q)));
        }
    }

    // min 1/2 <A, Om A + A Th> + <Psi, A> over the simplex, Th = 2 tau Gamma Gamma', Psi = -2 (tau S Gamma' + zeta K
    // Gamma'): (Om + rho I) A + A Th = rho (Z - U) - Psi, Z = P(A + U), U += A - Z. rho is in units of the mean
    // eigenvalue, and large enough for the first of these to have one solution.
    void A_step(Numbers& A, std::int64_t max_iter, double tol) {
        Numbers Th = numbers(k_ * k_), Psi = numbers(N_ * k_), products = numbers(k_ * k_), some = numbers(N_ * k_);
        gemm('N', 'T', k_, k_, N_, 1.0, Gamma_.data(), k_, Gamma_.data(), k_, 0.0, products.data(), k_);
        gemm('N', 'T', N_, k_, N_, -2 * terms_.zeta, K_.data(), N_, Gamma_.data(), k_, 0.0, Psi.data(), N_);
        gemm('N', 'N', N_, k_, k_, -2 * terms_.tau, A_S_.data(), N_, products.data(), k_, 1.0, Psi.data(), N_);
        Numbers by_class = numbers(classes_.n() * k_);
        for (std::int64_t i = 0; i < N_; ++i) {
            for (std::int64_t j = 0; j < k_; ++j) {
                by_class[at(classes_.classes[at(i)] * k_ + j)] += e_[at(i)] * Gamma_[at(i * k_ + j)];
            }
        }
        for (std::int64_t t = 0; t < N_; ++t) {
            for (std::int64_t j = 0; j < k_; ++j) {
                Psi[at(j * N_ + t)] -= 2 * terms_.tau * by_class[at(classes_.classes[at(t)] * k_ + j)];
            }
        }
        for (std::size_t e = 0; e < Th.size(); ++e) Th[e] = 2 * terms_.tau * products[e];
        Numbers theta = numbers(k_), W = numbers(k_ * k_);
        eigh_range_lower(k_, Th.data(), 0, k_ - 1, theta.data(), W.data());

        // X -> V'X W, and back
        const auto forward = [&](const Numbers& X, Numbers& out) {
            gemm('T', 'N', N_, k_, N_, 1.0, V_.data(), N_, X.data(), N_, 0.0, some.data(), N_);
            gemm('N', 'N', N_, k_, k_, 1.0, some.data(), N_, W.data(), k_, 0.0, out.data(), N_);
        };
        const auto backward = [&](const Numbers& X, Numbers& out) {
            gemm('N', 'T', N_, k_, k_, 1.0, X.data(), N_, W.data(), k_, 0.0, some.data(), N_);
            gemm('N', 'N', N_, k_, N_, 1.0, V_.data(), N_, some.data(), N_, 0.0, out.data(), N_);
        };
        Numbers Psi_hat = Psi, hat = Psi, Z = A, U = numbers(N_ * k_), X = Z, work = numbers(N_);
        forward(Psi, Psi_hat);
        const auto value = [&](const Numbers& at_Z) {
            forward(at_Z, hat);
            double sum = 0;
            for (std::int64_t j = 0; j < k_; ++j) {
                for (std::int64_t i = 0; i < N_; ++i) {
                    const double a = hat[at(j * N_ + i)];
                    sum += a * (0.5 * (w_[at(i)] + theta[at(j)]) * a + Psi_hat[at(j * N_ + i)]);
                }
            }
            return sum;
        };
        const double mean = std::accumulate(w_.begin(), w_.end(), 0.0) / static_cast<double>(N_) +
                            std::accumulate(theta.begin(), theta.end(), 0.0) / static_cast<double>(k_);
        const double rho = std::max(rho_ * std::abs(mean), -2 * w_.front());
        for (std::int64_t iteration = 0; iteration < max_iter; ++iteration) {
            run_.checkpoint(static_cast<double>(iteration) / static_cast<double>(max_iter));
            for (std::size_t e = 0; e < X.size(); ++e) X[e] = Z[e] - U[e];
            forward(X, hat);
            for (std::int64_t j = 0; j < k_; ++j) {
                for (std::int64_t i = 0; i < N_; ++i) {
                    double& a = hat[at(j * N_ + i)];
                    a = (rho * a - Psi_hat[at(j * N_ + i)]) / (w_[at(i)] + rho + theta[at(j)]);
                }
            }
            backward(hat, X);
            double primal = 0, dual = 0, size = 0;
            for (std::int64_t j = 0; j < k_; ++j) {
                Numbers column = numbers(N_);
                for (std::int64_t i = 0; i < N_; ++i) column[at(i)] = X[at(j * N_ + i)] + U[at(j * N_ + i)];
                Numbers z = column;
                project_on_simplex(z.data(), N_, work.data());
                for (std::int64_t i = 0; i < N_; ++i) {
                    double& before = Z[at(j * N_ + i)];
                    U[at(j * N_ + i)] = column[at(i)] - z[at(i)];
                    primal += std::pow(X[at(j * N_ + i)] - z[at(i)], 2);
                    dual += std::pow(before - z[at(i)], 2);
                    size += z[at(i)] * z[at(i)];
                    before = z[at(i)];
                }
            }
            if (std::max(primal, dual) <= tol * tol * size) break;
        }
        if (value(Z) < value(A)) A = std::move(Z);
    }

    // F15 as a function of beta for this Gamma: lambda tr(A'K D K A) + zeta |Gamma - A'K|^2 + mu ip, of B = K A, whose
    // row i is that of sample i.
    MixtureObjective objective(double scale) const {
        MixtureObjective F;
        F.size = N_ * k_;
        F.constant = scale;
        F.h = Gamma_;
        for (double& h : F.h) h *= -2 * terms_.zeta;
        F.W = [this](const Numbers& B) {
            Numbers T = numbers(classes_.n() * k_), st = numbers(k_), y = B;
            for (std::int64_t i = 0; i < N_; ++i) {
                for (std::int64_t j = 0; j < k_; ++j) {
                    T[at(classes_.classes[at(i)] * k_ + j)] += B[at(i * k_ + j)];
                    st[at(j)] += B[at(i * k_ + j)];
                }
            }
            for (std::int64_t i = 0; i < N_; ++i) {
                for (std::int64_t j = 0; j < k_; ++j) {
                    double& b = y[at(i * k_ + j)];
                    b = 2 * terms_.zeta * b + 2 * terms_.lambda * (st[at(j)] - T[at(classes_.classes[at(i)] * k_ + j)]);
                }
            }
            return y;
        };
        return F;
    }

    // (K A)', k x n
    Numbers times_kernel(const Numbers& A) const {
        Numbers B = numbers(k_ * N_);
        gemm('T', 'N', k_, N_, N_, 1.0, A.data(), N_, K_.data(), N_, 0.0, B.data(), k_);
        return B;
    }

  private:
    Numbers profile(const Numbers& A) const {  // P = H A
        Numbers P = numbers(classes_.n() * k_);
        for (std::int64_t j = 0; j < k_; ++j) {
            for (std::int64_t i = 0; i < N_; ++i) P[at(classes_.classes[at(i)] * k_ + j)] += A[at(j * N_ + i)];
        }
        return P;
    }

    const Classes& classes_;
    const Terms terms_;
    Run& run_;
    const std::int64_t N_, k_;
    const double rho_;
    Numbers K_, w_;
    Buffer<double> V_;
    Numbers Gamma_, A_S_, e_;
};

// ---- 7: all of it ---------------------------------------------------------------------------------------------------

// Products of all kernels are kept up to this size; exponentials of more kernels than this aren't taken for the start
// alone, but those of a few kernels.
constexpr std::int64_t kMostStored = std::int64_t{1} << 30, kMostExps = 1000000000, kFirstKernels = 256;

// Beyond these a kernel says nothing, if it matters at all: the mean of K off its diagonal; that in units of the
// diagonal; its weight.
constexpr double kIdentity = 0.01, kConstant = 0.98, kNotable = 0.01;

template <class T>
double mean_off_diagonal(const T* K, std::int64_t n) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < i; ++j) sum += static_cast<double>(K[i * n + j]);
    }
    return 2 * sum / static_cast<double>(n * (n - 1));
}

// Whether all samples are alike, but perhaps the one that is least like the others: an outlier.
template <class T>
bool nearly_constant(const T* K, std::int64_t n) {
    double sum = 0, least = kInfinity, diagonal = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        double row = 0;
        for (std::int64_t j = 0; j < n; ++j) row += i == j ? 0.0 : static_cast<double>(K[i * n + j]);
        sum += row;
        least = std::min(least, row);
        diagonal += static_cast<double>(K[i * n + i]);
    }
    return sum - 2 * least > kConstant * diagonal / static_cast<double>(n) * static_cast<double>((n - 1) * (n - 2));
}

template <class T>
class Fit {
  public:
    Fit(const KernelSource& source, const Classes& classes, const fastfs_ikdr_options& options, std::int64_t n_results,
        Run& run)
        : options_(options),
          classes_(classes),
          run_(run),
          N_(classes.n_samples()),
          k_(options.n_components),
          store_(ask(source, n_results)),
          kernels_(source, classes.order, classes.begins, run),
          K_(N_ * N_) {
        if (options.solver != FASTFS_IKDR_ADMM) return;
        // With each sample as a class of its own the totals of the products are K_m A.
        std::vector<std::int64_t> begins(at(N_ + 1));
        std::iota(begins.begin(), begins.end(), 0);
        alternates_.emplace(source, classes.order, std::move(begins), run);
    }

    Ikdr fit() {
        run_.step("first kernel", 0.2);
        start_mixture(options_.weights);
        kernels_.sum(mixture_.which, mixture_.weights, run_, K_.data());
        if (options_.A) {
            set(options_.A);
        } else {
            A_ = class_wise_start(classes_, K_.data(), k_);
        }
        Ikdr all;
        all.n_samples = N_;
        all.n_features = static_cast<std::int64_t>(kernels_.means().size());
        all.n_kernels = kernels_.n_kernels();
        all.n_classes = classes_.n();
        all.n_components = k_;
        all.deltas = kernels_.deltas();
        all.means = kernels_.means();
        all.scales = kernels_.scales();
        for (std::int64_t l = 0; l < options_.n_lambdas; ++l) {
            run_.step("optimization", 0.2 + 0.8 * static_cast<double>(l + 1) / static_cast<double>(options_.n_lambdas));
            all.steps.push_back(solve(options_.lambdas[l], l == 0));
        }
        return all;
    }

    Numbers prices(const double* A, const double* weights) {
        run_.step("prices", 1.0);
        start_mixture(weights);
        kernels_.sum(mixture_.which, mixture_.weights, run_, K_.data());
        set(A);
        const Terms terms(options_, options_.lambdas[0], N_);
        Reduced<T> F(K_.data(), classes_, terms, k_, run_);
        F.value(A_.data());
        const Support support = support_of(classes_, terms, A_, F.P(), k_);
        return Products<T>(kernels_, support, true, false, run_)
            .prices(reduced_objective(classes_, terms, F.omega(), k_).gradient(F.point()));
    }

  private:
    // Whether there is room for the products of all kernels.
    bool ask(const KernelSource& source, std::int64_t n_results) const {
        constexpr std::int64_t size = sizeof(T);
        const bool admm = options_.solver == FASTFS_IKDR_ADMM;
        const std::int64_t d = source.n_kernels, C = classes_.n(), phi = std::max(N_ + C * k_, admm ? N_ * k_ : 0);
        const std::int64_t active = std::min(d + 1, kSingle + (admm ? kRounds : 2) * kAdded);
        const std::int64_t always = (admm ? Alternation::memory(N_, C, k_) : 0) +
                                    SampleKernels<T>::memory(source, admm ? N_ : C, run_.n_threads()) +
                                    4 * size * N_ * N_ + 8 * N_ * (4 * C + 4 * k_ + 8) + simplex_memory(N_, k_) +
                                    8 * active * (2 * phi + active) + 8 * 6 * d + 8 * n_results * (2 * d + 2 * N_ * k_);
        const std::int64_t stored = (size * phi + 8) * d;
        const bool store = d > 1 && stored <= kMostStored && run_.allows(always + stored);
        run_.require_memory(store ? always + stored : always,
                            "I-KDR of " + std::to_string(d) + " kernels between " + std::to_string(N_) + " samples",
                            "raise max_memory (or FASTFS_MAX_MEMORY)");
        return store;
    }

    // Equal weights, of a sample of the kernels if there are very many, or those given.
    void start_mixture(const double* weights) {
        std::vector<std::int64_t> varying;
        for (std::int64_t m = 0; m < kernels_.n_kernels(); ++m) {
            if (!kernels_.is_constant(m) && (!weights || weights[m] > 0)) varying.push_back(m);
        }
        require(!varying.empty(),
                "the start must give weight to a feature that varies, but gives it to constant ones alone");
        const auto n = static_cast<std::int64_t>(varying.size());
        if (!weights && n > kFirstKernels && N_ * (N_ - 1) / 2 > kMostExps / n) {
            std::vector<std::int64_t> some;
            for (std::int64_t m : Random(options_.seed).subset(n, kFirstKernels)) some.push_back(varying[at(m)]);
            varying = std::move(some);
        }
        mixture_.which = std::move(varying);
        mixture_.weights.assign(mixture_.which.size(), 1.0);
        double sum = 0;
        for (std::size_t a = 0; a < mixture_.which.size(); ++a) {
            if (weights) mixture_.weights[a] = weights[mixture_.which[a]];
            sum += mixture_.weights[a];
        }
        for (double& weight : mixture_.weights) weight /= sum;
    }

    // Columns that sum to 1 within rounding are scaled: a projection would add something to their zeros, and all
    // samples would be support.
    void set(const double* A) {
        A_ = classes_.sorted(A, k_);
        for (std::int64_t j = 0; j < k_; ++j) {
            double* a = &A_[at(j * N_)];
            double sum = 0;
            for (std::int64_t i = 0; i < N_; ++i) sum += a[i] = std::max(a[i], 0.0);
            for (std::int64_t i = 0; i < N_; ++i) a[i] /= sum;
        }
    }

    IkdrResult solve(double lambda, bool first) {
        const Terms terms(options_, lambda, N_);
        IkdrResult result;
        result.lambda = lambda;
        products_.reset();
        if (alternates_) {
            alternate(terms, result);
        } else if (first && !options_.weights && kernels_.n_kernels() > 1) {
            try_both(terms, result);
        } else {
            iterate(terms, options_.max_inner, result);
        }
        finish(terms, result);
        return result;
    }

    // `steps` on A in the first iteration.
    void iterate(const Terms& terms, std::int64_t steps, IkdrResult& result) {
        std::vector<double>& history = result.history;
        for (std::int64_t iteration = 0; iteration < options_.max_iter && !result.converged; ++iteration) {
            const Run::Part part = part_of(iteration);
            const double previous = history.empty() ? kInfinity : history.back();
            double value = 0;
            const bool exact = step(terms, iteration == 0 ? steps : options_.max_inner, value);
            result.converged = exact || previous - value <= options_.tol * std::abs(value);
            history.push_back(value);
        }
    }

    // A fifth of what is left: how many iterations it takes isn't known, but 10 are common.
    Run::Part part_of(std::int64_t iteration) const {
        const double left = std::pow(0.8, static_cast<double>(iteration));
        return {run_, 1 - left, 1 - 0.8 * left};
    }

    // The solution for equal weights commits A to what all features say together, but one step on A doesn't. Of 32
    // cases (50 to 569 samples, 2 to 40 classes, 4 to 4434 features, lambda 0.1 and 1) one step at first ended lower in
    // 13, by up to 38 %, and all steps in 6, by up to 16 %: so it's both.
    void try_both(const Terms& terms, IkdrResult& result) {
        const Numbers A = A_;
        const Mixture mixture = mixture_;
        Buffer<T> K(N_ * N_);
        std::copy_n(K_.data(), N_ * N_, K.data());
        iterate(terms, 1, result);
        IkdrResult other;
        std::swap(K_, K);
        Numbers first_A = std::exchange(A_, A);
        Mixture first_mixture = std::exchange(mixture_, mixture);
        iterate(terms, options_.max_inner, other);
        if (other.history.back() < result.history.back()) {
            result.history = std::move(other.history);
            result.converged = other.converged;
        } else {
            products_.reset();
            std::swap(K_, K);
            A_ = std::move(first_A);
            mixture_ = std::move(first_mixture);
        }
    }

    // The paper's alternation, which may rise: the best iterate is kept.
    void alternate(const Terms& terms, IkdrResult& result) {
        Alternation alternation(classes_, terms, k_, options_.rho, run_);
        alternation.set_kernel(K_.data());
        {
            Reduced<T> F(K_.data(), classes_, terms, k_, run_);
            F.value(A_.data());
            alternation.start(A_, F.residuals());
        }
        double least = kInfinity;
        Numbers best_A;
        Mixture best_mixture;
        for (std::int64_t iteration = 0; iteration < options_.max_iter && !result.converged; ++iteration) {
            const Run::Part part = part_of(iteration);
            const double value = alternate_once(alternation, terms);
            if (value < least) {
                least = value;
                best_A = A_;
                best_mixture = mixture_;
            }
            result.converged =
                iteration > 0 && std::abs(result.history.back() - value) <= options_.tol * std::abs(value);
            result.history.push_back(value);
        }
        if (result.history.back() <= least) return;
        A_ = std::move(best_A);
        mixture_ = std::move(best_mixture);
        kernels_.sum(mixture_.which, mixture_.weights, run_, K_.data());
    }

    double alternate_once(Alternation& alternation, const Terms& terms) {
        alternation.Gamma_step(A_);
        alternation.S_step(A_);
        alternation.A_step(A_, options_.max_inner, options_.tol);
        Reduced<T> F(K_.data(), classes_, terms, k_, run_);
        const double value = F.value(A_.data());
        if (kernels_.n_kernels() == 1) return value;
        Support support = support_of(classes_, terms, A_, F.P(), k_);
        support.by_class.assign(support.rows.size() * at(N_), 0.0);
        const Products<T> products(*alternates_, support, false, store_, run_);
        const MixtureObjective objective = alternation.objective(value);
        mixture_ = BetaStep<T>(objective, products, options_.tol, run_)
                       .minimize(mixture_, alternation.times_kernel(A_), F.linear());
        kernels_.sum(mixture_.which, mixture_.weights, run_, K_.data());
        alternation.set_kernel(K_.data());
        return Reduced<T>(K_.data(), classes_, terms, k_, run_).value(A_.data());
    }

    void find_products(const Reduced<T>& F, const Terms& terms) {
        products_.reset();
        support_ = support_of(classes_, terms, A_, F.P(), k_);
        products_.emplace(kernels_, support_, true, store_, run_);
        objective_ = reduced_objective(classes_, terms, F.omega(), k_);
    }

    // A, then beta. True if A is at its best and beta stays.
    bool step(const Terms& terms, std::int64_t steps, double& value) {
        Reduced<T> F(K_.data(), classes_, terms, k_, run_);
        const SimplexMinimum found = minimize_on_simplex(F, N_, k_, options_.tol, steps, run_, A_.data());
        value = F.value(A_.data());
        if (kernels_.n_kernels() == 1) return found.converged;
        find_products(F, terms);
        Mixture next =
            BetaStep<T>(objective_, *products_, options_.tol, run_).minimize(mixture_, F.point(), F.linear());
        Buffer<T> K(N_ * N_);
        kernels_.sum(next.which, next.weights, run_, K.data());
        const double after = Reduced<T>(K.data(), classes_, terms, k_, run_).value(A_.data());
        if (after > value) return found.converged;  // rounding leaves beta no descent
        value = after;
        mixture_ = std::move(next);
        K_ = std::move(K);
        return false;
    }

    void finish(const Terms& terms, IkdrResult& result) {
        Reduced<T> F(K_.data(), classes_, terms, k_, run_);
        result.objective = F.value(A_.data());
        const auto n = at(N_ * k_);
        Numbers B(n);
        F.embed(A_.data(), B.data());
        result.A.resize(n);
        result.embedding.resize(n);
        classes_.unsort(A_.data(), k_, result.A.data());
        classes_.unsort(B.data(), k_, result.embedding.data());
        result.profile = F.P();
        std::vector<char> stands(at(classes_.n()));  // whether the class is the main one of a dimension
        for (std::int64_t j = 0; j < k_; ++j) {
            double largest = 0, sum = 0;
            for (std::int64_t q = 0; q < classes_.n(); ++q) {
                largest = std::max(largest, result.profile[at(q * k_ + j)]);
                sum += result.profile[at(q * k_ + j)];
            }
            for (std::int64_t q = 0; q < classes_.n(); ++q) {
                if (result.profile[at(q * k_ + j)] == largest) stands[at(q)] = 1;
            }
            result.interpretability += largest / sum / static_cast<double>(k_);
        }
        result.weights = numbers(kernels_.n_kernels());
        for (std::size_t a = 0; a < mixture_.which.size(); ++a)
            result.weights[at(mixture_.which[a])] = mixture_.weights[a];
        result.prices = numbers(kernels_.n_kernels());
        if (kernels_.n_kernels() > 1) {
            if (!products_) find_products(F, terms);
            result.prices = products_->prices(objective_.gradient(F.point()));
            const double least = *std::min_element(result.prices.begin(), result.prices.end());
            for (double& price : result.prices) price -= least;
        }
        result.similarity = mean_off_diagonal(K_.data(), N_);
        if (!result.converged) result.warnings |= FASTFS_IKDR_NOT_CONVERGED;
        if (result.similarity < kIdentity) result.warnings |= FASTFS_IKDR_IDENTITY;
        if (std::count(stands.begin(), stands.end(), 0) > 0) result.warnings |= FASTFS_IKDR_FEW;
        // The first term wants similarities to the k / C dimensions of a class to add up to 1: where samples are alike,
        // they add up to more, unless dimensions are mixtures of classes.
        const double ratio = static_cast<double>(k_) / static_cast<double>(classes_.n());
        if (ratio > 2 && result.similarity * ratio > 1) result.warnings |= FASTFS_IKDR_MANY;
        Buffer<T> one(N_ * N_);
        for (std::size_t a = 0; a < mixture_.which.size(); ++a) {
            if (mixture_.weights[a] < kNotable) continue;
            kernels_.sum({mixture_.which[a]}, {1.0}, run_, one.data());
            if (nearly_constant(one.data(), N_)) {
                result.warnings |= FASTFS_IKDR_CONSTANT;
                break;
            }
        }
    }

    const fastfs_ikdr_options& options_;
    const Classes& classes_;
    Run& run_;
    const std::int64_t N_, k_;
    const bool store_;
    SampleKernels<T> kernels_;
    std::optional<SampleKernels<T>> alternates_;  // for the paper's alternation
    Buffer<T> K_;
    Mixture mixture_;
    Numbers A_;
    // Of the last beta-step.
    Support support_;
    MixtureObjective objective_;
    std::optional<Products<T>> products_;
};

template <class F>
auto with_type(const KernelSource& source, F&& f) {
    if (source.X && source.X->is_float32()) return f(float{});
    return f(double{});
}

}  // namespace

double ikdr_evaluate(const Matrix& K, const std::int64_t* labels, std::int64_t n_classes,
                     const fastfs_ikdr_options& options, const double* A, int repeats, Run& run, double* gradient) {
    const std::int64_t n = K.n_rows(), k = options.n_components;
    const Classes classes(labels, n, n_classes);
    const Terms terms(options, options.lambdas[0], n);
    run.require_memory(8 * n * n + 8 * n * (3 * k + 3 * n_classes + 8), "a kernel of " + std::to_string(n) + " samples",
                       "raise max_memory (or FASTFS_MAX_MEMORY)");
    K.row_maxima(run);
    return visit_dense(K.description(), [&](auto* values) {
        using T = std::remove_const_t<std::remove_pointer_t<decltype(values)>>;
        const auto& d = K.description();
        Buffer<T> sorted(n * n);
        for (std::int64_t i = 0; i < n; ++i) {
            const T* row = values + classes.order[at(i)] * d.row_stride;
            for (std::int64_t j = 0; j < n; ++j) sorted[i * n + j] = row[classes.order[at(j)] * d.col_stride];
        }
        Reduced<T> F(sorted.data(), classes, terms, k, run);
        const Numbers columns = classes.sorted(A, k);
        Numbers G = numbers(n * k);
        double value = 0;
        for (int repeat = 0; repeat < repeats; ++repeat) {
            run.checkpoint(static_cast<double>(repeat) / repeats);
            value = F.value(columns.data());
            F.gradient(G.data());
        }
        if (gradient) classes.unsort(G.data(), k, gradient);
        return value;
    });
}

Ikdr ikdr(const KernelSource& source, const std::int64_t* labels, std::int64_t n_classes,
          const fastfs_ikdr_options& options, Run& run) {
    const SingleThreadedBlas held;
    const Classes classes(labels, source.n_samples, n_classes);
    return with_type(
        source, [&](auto zero) { return Fit<decltype(zero)>(source, classes, options, options.n_lambdas, run).fit(); });
}

void ikdr_prices(const KernelSource& source, const std::int64_t* labels, std::int64_t n_classes,
                 const fastfs_ikdr_options& options, const double* A, const double* weights, Run& run, double* prices) {
    const Classes classes(labels, source.n_samples, n_classes);
    with_type(source, [&](auto zero) {
        const Numbers found = Fit<decltype(zero)>(source, classes, options, 0, run).prices(A, weights);
        std::copy(found.begin(), found.end(), prices);
    });
}

void ikdr_embed(const fastfs_ikdr_model& model, const Matrix& X, Run& run, double* out) {
    constexpr std::int64_t kRows = 32;  // samples side by side
    const std::int64_t n = X.n_rows(), s = model.n_support, k = model.n_components,
                       width = model.begins[model.n_kernels];
    run.require_memory(16 * (run.n_threads() + 1) * kRows * s + 8 * n * k,
                       "the embedding of " + std::to_string(n) + " samples", "raise max_memory (or FASTFS_MAX_MEMORY)");
    run.step("embedding", 1.0);
    X.row_maxima(run);
    std::vector<Numbers> scratch(at(run.n_threads()), numbers(2 * kRows * s));
    const auto exp_neg = tile_kernels<double>().exp_neg;
    visit_dense(X.description(), [&](auto* values) {
        const fastfs_matrix& d = X.description();
        parallel_for(run, (n + kRows - 1) / kRows, [&](std::int64_t task, int slot) {
            const std::int64_t first = task * kRows, rows = std::min(kRows, n - first);
            double* K = scratch[at(slot)].data();  // s x kRows, as is one kernel's part
            double* part = K + kRows * s;
            std::fill_n(K, kRows * s, 0.0);
            for (std::int64_t m = 0; m < model.n_kernels; ++m) {
                if (!(model.weights[m] > 0)) continue;
                std::fill_n(part, kRows * s, 0.0);
                for (std::int64_t c = model.begins[m]; c < model.begins[m + 1]; ++c) {
                    if (!(model.scales[c] > 0)) continue;
                    double x[kRows] = {};
                    for (std::int64_t r = 0; r < rows; ++r) {
                        const double value = values[(first + r) * d.row_stride + model.features[c] * d.col_stride];
                        x[r] = (value - model.means[c]) / model.scales[c];
                    }
                    for (std::int64_t t = 0; t < s; ++t) {
                        const double y = model.support[t * width + c];
                        for (std::int64_t r = 0; r < kRows; ++r) part[t * kRows + r] += (x[r] - y) * (x[r] - y);
                    }
                }
                exp_neg(part, kRows * s, 1 / model.deltas[m]);
                for (std::int64_t e = 0; e < kRows * s; ++e) K[e] += model.weights[m] * part[e];
            }
            double* to = out + first * k;
            std::fill_n(to, rows * k, 0.0);
            for (std::int64_t r = 0; r < rows; ++r) {
                for (std::int64_t t = 0; t < s; ++t) {
                    for (std::int64_t j = 0; j < k; ++j)
                        to[r * k + j] += K[t * kRows + r] * model.coefficients[t * k + j];
                }
            }
        });
    });
}

}  // namespace fastfs::core
