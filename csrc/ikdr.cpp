#include "ikdr.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "kernels/isa/tiles.hpp"
#include "kernels/simplex.hpp"
#include "support/errors.hpp"
#include "support/parallel.hpp"

namespace fastfs::core {
namespace {

using Numbers = std::vector<double>;
Numbers numbers(std::int64_t size) { return Numbers(static_cast<std::size_t>(size)); }
std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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
        f64_.combine(all.data(), Numbers(at(C_), 1.0).data(), C_, N_, false, K1_.data());
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
        return similarity + terms_.lambda * lambda_part + linear_;
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
    double linear() const { return linear_; }
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
            rows_kernels_.combine(rows.data(), factors.data(), static_cast<std::int64_t>(rows.size()), N_, false,
                                  B + j * N_);
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
        double sum = terms_.distance ? static_cast<double>(k_) : 0;
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
        f64_.combine(used.data(), with.data(), static_cast<std::int64_t>(used.size()), N_, false, out);
    }

    // sums[q, :] = sum over samples t of class q of factors[t] K[t, :]
    void class_sums(const Numbers& factors, Numbers& sums) const {
        const std::int64_t chunks = (N_ + kColumns - 1) / kColumns;
        for_each(run_, C_ * chunks, threads_, [&](std::int64_t task) {
            const std::int64_t q = task / chunks, first = task % chunks * kColumns, begin = classes_.begins[at(q)];
            std::vector<const T*> rows(rows_.begin() + begin, rows_.begin() + classes_.begins[at(q + 1)]);
            for (const T*& row : rows) row += first;
            rows_kernels_.combine(rows.data(), &factors[at(begin)], classes_.size(q), std::min(kColumns, N_ - first),
                                  false, &sums[at(q * N_ + first)]);
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

// W of (c, T) or, if `omega` is empty, of B, whose rows are the T of a class each.
MixtureObjective reduced_objective(const Classes& classes, const Terms& terms, const Numbers& omega, std::int64_t k) {
    const std::int64_t N = classes.n_samples(), C = classes.n();
    MixtureObjective F;
    F.size = N + C * k;
    F.h = numbers(F.size);
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
                for (std::int64_t b = 0; b < count; ++b) rows[b] = phi_.data() + (first + b) * size();
                kernel.dots(rows, count, g.data(), size(), &prices[at(first)]);
                for (std::int64_t m = first; m < first + count; ++m) prices[at(m)] += v_[at(m)];
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
        row_kernels<double>().combine(rows.data(), b, n, n, false, Qb_.data());
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
        return result(active, mixture);
    }

  private:
    // dF/dx where the active ones' weights put x, F there, and the mean price of the active ones.
    Numbers at_point(const Active& active, double& value, double& current) const {
        Numbers x = numbers(F_.size);
        std::vector<const double*> rows;
        for (std::size_t a = 0; a < active.count(); ++a) rows.push_back(active.phi.data() + a * x.size());
        row_kernels<double>().combine(rows.data(), active.weights.data(), static_cast<std::int64_t>(rows.size()),
                                      F_.size, false, x.data());
        const Numbers g = F_.gradient(x);
        value = F_.constant;
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

    void solve(Active& active) {
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
        minimize_on_simplex(f, n, 1, 0.1 * tol_, kSteps, run_, active.weights.data());
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

Ikdr ikdr(const KernelSource&, const std::int64_t*, std::int64_t, const fastfs_ikdr_options&, Run&) {
    throw NumericError("I-KDR's fit isn't there yet");
}

void ikdr_prices(const KernelSource&, const std::int64_t*, std::int64_t, const fastfs_ikdr_options&, const double*,
                 const double*, Run&, double*) {
    throw NumericError("I-KDR's prices aren't there yet");
}

void ikdr_embed(const fastfs_ikdr_model& model, const Matrix& X, Run& run, double* out) {
    run.step("embedding", 1.0);
    X.row_maxima(run);
    constexpr std::int64_t kRows = 32;  // samples side by side
    const std::int64_t n = X.n_rows(), s = model.n_support, k = model.n_components,
                       width = model.begins[model.n_kernels];
    run.require_memory(24 * run.n_threads() * kRows * s, "the embedding of " + std::to_string(n) + " samples",
                       "raise max_memory (or FASTFS_MAX_MEMORY)");
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
