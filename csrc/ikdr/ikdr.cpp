#include "ikdr/ikdr.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "ikdr/alternation.hpp"
#include "ikdr/beta_step.hpp"
#include "ikdr/objective.hpp"
#include "ikdr/products.hpp"
#include "ikdr/sample_kernels.hpp"
#include "ikdr/simplex.hpp"
#include "ikdr/sorted_samples.hpp"
#include "ikdr/start.hpp"
#include "support/buffer.hpp"
#include "support/errors.hpp"
#include "support/index.hpp"
#include "support/lapack.hpp"
#include "support/random.hpp"
#include "support/warnings.hpp"

namespace fastfs::core {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The most bytes of stored products; the most exponentials for the first kernel; and the number of kernels drawn for it
// if all kernels would take more.
constexpr std::int64_t kMostStored = std::int64_t{1} << 30, kMostExps = 1000000000, kFirstKernels = 256;

// The largest difference between the coefficients of dimensions that coincide; the share by which their coefficients
// are changed to part the dimensions; and the share of the tolerance to which they are then minimised.
constexpr double kCoincide = 1e-3, kPush = 0.01, kCloser = 0.01;

// Limits of warnings: the mean of K off its diagonal, as a number and in units of the diagonal; the least weight of a
// kernel that matters.
constexpr double kIdentity = 0.01, kConstant = 0.98, kNotable = 0.01;

// Returns the mean of the entries of a symmetric K (n x n) off its diagonal, read from the lower triangle.
template <class T>
double mean_off_diagonal(const T* K, std::int64_t n) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < i; ++j) sum += static_cast<double>(K[i * n + j]);
    }
    return 2 * sum / static_cast<double>(n * (n - 1));
}

// Tells if all samples are alike under the kernel K (n x n), except perhaps the one with the least similarity to all.
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

// Fits all lambdas in their order.
template <class T>
class IkdrFit {
  public:
    // Makes the kernels and reserves K; throws OutOfMemory if the fit exceeds the budget. n_results: how many results
    // the caller keeps.
    IkdrFit(const KernelSource& source, const SortedSamples& samples, const fastfs_ikdr_options& options,
            std::int64_t n_results, Run& run)
        : options_(options),
          samples_(samples),
          run_(run),
          N_(samples.n_samples()),
          k_(options.n_components),
          store_(has_room_for_products(source, n_results)),
          kernels_(source, samples.order, samples.begins, run),
          K_(N_ * N_) {
        if (options.solver != FASTFS_IKDR_ADMM) return;
        // If each sample is a class, the totals of the products are K_m A.
        alternates_.emplace(source, samples.order, up_to(N_ + 1), run);
    }

    // Fits the objective for all lambdas in turn, each from the result before it, and returns all results.
    Ikdr fit() {
        run_.step("first kernel", 0.2);
        start_mixture(options_.weights);
        kernels_.sum_kernels(mixture_.which, mixture_.weights, run_, K_.data());
        if (options_.A) {
            set_coefficients(options_.A);
        } else {
            A_ = class_wise_start(samples_, K_.data(), k_);
        }
        Ikdr fitted;
        fitted.n_samples = N_;
        fitted.n_features = static_cast<std::int64_t>(kernels_.means().size());
        fitted.n_kernels = kernels_.n_kernels();
        fitted.n_classes = samples_.n_classes();
        fitted.n_components = k_;
        fitted.deltas = kernels_.deltas();
        fitted.means = kernels_.means();
        fitted.scales = kernels_.scales();
        for (std::int64_t l = 0; l < options_.n_lambdas; ++l) {
            run_.step("optimization", 0.2 + 0.8 * static_cast<double>(l + 1) / static_cast<double>(options_.n_lambdas));
            fitted.steps.push_back(fit_lambda(options_.lambdas[l], l == 0));
        }
        return fitted;
    }

    // Returns the price of each kernel, the derivative of F by its weight, at A (row-major, in the caller's order) and
    // the weights of all kernels. Overwrites the state of the fit.
    Numbers prices(const double* A, const double* weights) {
        run_.step("prices", 1.0);
        start_mixture(weights);
        kernels_.sum_kernels(mixture_.which, mixture_.weights, run_, K_.data());
        set_coefficients(A);
        const Terms terms(options_, options_.lambdas[0], N_);
        CoefficientObjective<T> F(K_.data(), samples_, terms, k_, run_);
        F.value(A_.data());
        const Support support = support_of(samples_, terms, A_, F.P(), k_);
        return Products<T>(kernels_, support, true, false, run_)
            .prices(kernel_weight_objective(samples_, terms, F.omega(), k_).gradient(F.point()));
    }

  private:
    // Tells if there is room for the products of all kernels. Throws OutOfMemory if even a fit that stores no products
    // exceeds the memory budget.
    bool has_room_for_products(const KernelSource& source, std::int64_t n_results) const {
        constexpr std::int64_t size = sizeof(T);
        const bool admm = options_.solver == FASTFS_IKDR_ADMM;
        const std::int64_t d = source.n_kernels, C = samples_.n_classes(),
                           phi = std::max(N_ + C * k_, admm ? N_ * k_ : 0);
        const std::int64_t always = (admm ? Alternation::memory(N_, C, k_) : 0) +
                                    SampleKernels<T>::memory(source, admm ? N_ : C, run_.n_threads()) +
                                    4 * size * N_ * N_ + 8 * N_ * (4 * C + 5 * k_ + 8) + simplex_memory(N_, k_) +
                                    beta_step_memory(d, phi, admm) + 8 * 6 * d + 8 * n_results * (2 * d + 2 * N_ * k_);
        const std::int64_t stored = (size * phi + 8) * d;
        const bool store = d > 1 && stored <= kMostStored && run_.allows(always + stored);
        run_.require_memory(store ? always + stored : always, {"I-KDR of ", d, " kernels between ", N_, " samples"});
        return store;
    }

    // Sets the mixture to the given weights, scaled to sum to 1, or, if null, to equal weights of the varying kernels
    // (very many: of a random sample). Throws if no kernel with weight varies.
    void start_mixture(const double* weights) {
        std::vector<std::int64_t> varying;
        for (std::int64_t m = 0; m < kernels_.n_kernels(); ++m) {
            if (!kernels_.is_constant(m) && (!weights || weights[m] > 0)) varying.push_back(m);
        }
        require(!varying.empty(),
                "the start must give weight to a feature that varies; got weights of constant ones alone");
        const auto n = static_cast<std::int64_t>(varying.size());
        if (!weights && n > kFirstKernels && N_ * (N_ - 1) / 2 > kMostExps / n) {
            std::vector<std::int64_t> drawn;
            for (std::int64_t m : Random(options_.seed).subset(n, kFirstKernels)) drawn.push_back(varying[at(m)]);
            varying = std::move(drawn);
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

    // Sets A_ from A (row-major, in the caller's order). Columns that sum to 1 within rounding are scaled, because a
    // projection would add to their zeros, and all samples would be support.
    void set_coefficients(const double* A) {
        A_ = samples_.sorted(A, k_);
        for (std::int64_t j = 0; j < k_; ++j) {
            double* a = &A_[at(j * N_)];
            double sum = 0;
            for (std::int64_t i = 0; i < N_; ++i) sum += a[i] = std::max(a[i], 0.0);
            for (std::int64_t i = 0; i < N_; ++i) a[i] /= sum;
        }
    }

    // Minimises F for one lambda, starting from the current A and mixture. first: it is the first lambda, with nothing
    // fitted before (see iterate_both_ways).
    IkdrResult fit_lambda(double lambda, bool first) {
        const Terms terms(options_, lambda, N_);
        IkdrResult result;
        result.lambda = lambda;
        products_.reset();
        if (alternates_) {
            alternate(terms, result);
        } else if (first && !options_.weights && kernels_.n_kernels() > 1) {
            iterate_both_ways(terms, result);
        } else {
            iterate(terms, options_.max_inner, result);
        }
        fill_result(terms, result);
        return result;
    }

    // Repeats step_on_both() until F settles, or max_iter times: sets A_, mixture_, K_ and the history and convergence
    // of the result. steps: the most steps on A in the first iteration.
    void iterate(const Terms& terms, std::int64_t steps, IkdrResult& result) {
        std::vector<double>& history = result.history;
        for (std::int64_t iteration = 0; iteration < options_.max_iter && !result.converged; ++iteration) {
            const Run::Part part = part_of(iteration);
            const double previous = history.empty() ? kInfinity : history.back();
            double value = 0;
            const bool exact = step_on_both(terms, iteration == 0 ? steps : options_.max_inner, value);
            result.converged = exact || previous - value <= options_.tol * std::abs(value);
            if (result.converged && separate_equal_dimensions(terms, value)) result.converged = false;
            history.push_back(value);
        }
    }

    // Parts dimensions that coincide. Their gradients are equal, so no step parts them, though F may fall if they
    // differ (a saddle): this pushes them apart on their samples and minimises again. If F fell by more than the
    // tolerance, returns true, and sets A_ and `value`, which is F.
    bool separate_equal_dimensions(const Terms& terms, double& value) {
        Numbers pushed = A_;
        Random random(options_.seed, 1);
        bool any = false;
        for (std::int64_t j = 1; j < k_; ++j) {
            if (!coincides(j)) continue;
            any = true;
            double* a = &pushed[at(j * N_)];
            double sum = 0;
            for (std::int64_t i = 0; i < N_; ++i) sum += a[i] *= 1 + kPush * (random.uniform() - 0.5);
            for (std::int64_t i = 0; i < N_; ++i) a[i] /= sum;
        }
        if (!any) return false;
        const Run::Part part(run_, 1, 1);
        CoefficientObjective<T> F(K_.data(), samples_, terms, k_, run_);
        minimize_on_simplex(F, N_, k_, kCloser * options_.tol, options_.max_inner, run_, pushed.data());
        const double lower = F.value(pushed.data());
        if (value - lower <= options_.tol * std::abs(value)) return false;
        value = lower;
        A_ = std::move(pushed);
        products_.reset();
        return true;
    }

    // Tells if dimension j has the coefficients of an earlier one.
    bool coincides(std::int64_t j) const {
        const double* a = &A_[at(j * N_)];
        for (const double* b = A_.data(); b != a; b += N_) {
            if (std::equal(a, a + N_, b, [](double x, double y) { return std::abs(x - y) <= kCoincide; })) return true;
        }
        return false;
    }

    // Gives each iteration a fifth of the remaining progress: their number isn't known, but 10 are common.
    Run::Part part_of(std::int64_t iteration) const {
        const double left = std::pow(0.8, static_cast<double>(iteration));
        return {run_, 1 - left, 1 - 0.8 * left};
    }

    // Iterates from the current A twice, with one step on A at first and with all steps, and keeps the A, mixture and
    // kernel of the lower F. The solution for equal weights locks in the consensus of all features, but a single step
    // on A doesn't. Of 32 cases (50 to 569 samples, 2 to 40 classes, 4 to 4434 features, lambda 0.1 and 1) one step at
    // first ended lower in 13, by up to 38 %, and all steps in 6, by up to 16 %.
    void iterate_both_ways(const Terms& terms, IkdrResult& result) {
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

    // Runs the paper's alternation. Sets history and converged of the result; A_, mixture_ and K_ end at the iterate of
    // least objective, because the objective can rise.
    void alternate(const Terms& terms, IkdrResult& result) {
        Alternation alternation(samples_, terms, k_, options_.rho, run_);
        alternation.set_kernel(K_.data());
        {
            CoefficientObjective<T> F(K_.data(), samples_, terms, k_, run_);
            F.value(A_.data());
            alternation.set_slack(A_, F.residuals());
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
        kernels_.sum_kernels(mixture_.which, mixture_.weights, run_, K_.data());
    }

    // Takes one round of the alternation: Gamma, S, A and then the weights of the kernels; sets A_, mixture_ and K_,
    // and returns F.
    double alternate_once(Alternation& alternation, const Terms& terms) {
        alternation.Gamma_step(A_);
        alternation.S_step(A_);
        alternation.A_step(A_, options_.max_inner, options_.tol);
        CoefficientObjective<T> F(K_.data(), samples_, terms, k_, run_);
        const double value = F.value(A_.data());
        if (kernels_.n_kernels() == 1) return value;
        Support support = support_of(samples_, terms, A_, F.P(), k_);
        support.by_class.assign(support.rows.size() * at(N_), 0.0);
        const Products<T> products(*alternates_, support, false, store_, run_);
        const MixtureObjective objective = alternation.objective(value);
        mixture_ = beta_step(objective, products, options_.tol, run_, mixture_, alternation.times_kernel(A_),
                             F.interpretability());
        kernels_.sum_kernels(mixture_.which, mixture_.weights, run_, K_.data());
        alternation.set_kernel(K_.data());
        return CoefficientObjective<T>(K_.data(), samples_, terms, k_, run_).value(A_.data());
    }

    // Computes the products of all kernels at A, and F as a function of their weights.
    void find_products(const CoefficientObjective<T>& F, const Terms& terms) {
        products_.reset();
        support_ = support_of(samples_, terms, A_, F.P(), k_);
        products_.emplace(kernels_, support_, true, store_, run_);
        objective_ = kernel_weight_objective(samples_, terms, F.omega(), k_);
    }

    // Minimises F over A, by at most `steps` steps, and then over beta; sets A_, mixture_, K_ and `value`. Returns true
    // if A is at its minimum and beta stays.
    bool step_on_both(const Terms& terms, std::int64_t steps, double& value) {
        CoefficientObjective<T> F(K_.data(), samples_, terms, k_, run_);
        const SimplexMinimum minimum = minimize_on_simplex(F, N_, k_, options_.tol, steps, run_, A_.data());
        value = F.value(A_.data());
        if (kernels_.n_kernels() == 1) return minimum.converged;
        find_products(F, terms);
        Mixture next = beta_step(objective_, *products_, options_.tol, run_, mixture_, F.point(), F.interpretability());
        Buffer<T> K(N_ * N_);
        kernels_.sum_kernels(next.which, next.weights, run_, K.data());
        const double after = CoefficientObjective<T>(K.data(), samples_, terms, k_, run_).value(A_.data());
        if (after > value) return minimum.converged;  // rounding leaves beta no descent
        value = after;
        mixture_ = std::move(next);
        K_ = std::move(K);
        return false;
    }

    // Fills a fresh result, with `converged` set, from the last A and mixture: all fields but lambda and the history.
    void fill_result(const Terms& terms, IkdrResult& result) {
        CoefficientObjective<T> F(K_.data(), samples_, terms, k_, run_);
        result.objective = F.value(A_.data());
        const auto n = at(N_ * k_);
        Numbers B(n);
        F.embed(A_.data(), B.data());
        result.A.resize(n);
        result.embedding.resize(n);
        samples_.unsort(A_.data(), k_, result.A.data());
        samples_.unsort(B.data(), k_, result.embedding.data());
        result.profile = F.P();
        std::vector<char> is_main(at(samples_.n_classes()));  // 1 if the class is the main one of a dimension
        for (std::int64_t j = 0; j < k_; ++j) {
            double largest = 0, sum = 0;
            for (std::int64_t q = 0; q < samples_.n_classes(); ++q) {
                largest = std::max(largest, result.profile[at(q * k_ + j)]);
                sum += result.profile[at(q * k_ + j)];
            }
            for (std::int64_t q = 0; q < samples_.n_classes(); ++q) {
                if (result.profile[at(q * k_ + j)] == largest) is_main[at(q)] = 1;
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
        for (std::int64_t i = 0; i < N_; ++i) {
            result.diagonal += static_cast<double>(K_[i * N_ + i]) / static_cast<double>(N_);
        }
        if (!result.converged) result.warnings |= kStepNotConverged;
        if (result.similarity < kIdentity) result.warnings |= kStepIdentity;
        if (std::count(is_main.begin(), is_main.end(), 0) > 0) result.warnings |= kStepFew;
        // The first term of F pulls similarities to the k / C dimensions of a class to add up to 1: where samples are
        // alike, they add up to more, unless dimensions are mixtures of classes.
        const double ratio = static_cast<double>(k_) / static_cast<double>(samples_.n_classes());
        if (ratio > 2 && result.similarity * ratio > 1) result.warnings |= kStepMany;
        Buffer<T> kernel(N_ * N_);
        for (std::size_t a = 0; a < mixture_.which.size(); ++a) {
            if (mixture_.weights[a] < kNotable) continue;
            kernels_.sum_kernels({mixture_.which[a]}, {1.0}, run_, kernel.data());
            if (nearly_constant(kernel.data(), N_)) {
                result.warnings |= kStepConstant;
                break;
            }
        }
    }

    const fastfs_ikdr_options& options_;
    const SortedSamples& samples_;
    Run& run_;
    const std::int64_t N_, k_;
    const bool store_;
    SampleKernels<T> kernels_;
    std::optional<SampleKernels<T>> alternates_;  // products K_m A, for the paper's alternation
    Buffer<T> K_;
    Mixture mixture_;
    Numbers A_;
    // The state of the last beta-step.
    Support support_;
    MixtureObjective objective_;
    std::optional<Products<T>> products_;
};

// Lists the lambdas of the steps that `is_told` chooses; empty if there are none.
template <class F>
Message lambdas_of(const std::vector<IkdrResult>& steps, F&& is_told) {
    std::vector<Message> lambdas;
    for (const IkdrResult& step : steps) {
        if (is_told(step)) lambdas.push_back({"lam=", step.lambda});
    }
    return some_of(lambdas);
}

// Warns of classes without a main dimension, though there are enough dimensions, and says what can help.
void warn_of_few_dimensions(const KernelSource& source, const fastfs_ikdr_options& o, const Ikdr& fit,
                            const Message& lambdas) {
    const std::int64_t k = fit.n_components;
    std::vector<char> is_missing(at(fit.n_classes), 0);
    double largest_lambda = 0;
    for (const IkdrResult& step : fit.steps) {
        if (!(step.warnings & kStepFew) || !step.converged) continue;
        largest_lambda = std::max(largest_lambda, step.lambda);
        std::vector<char> is_main(at(fit.n_classes), 0);
        for (std::int64_t j = 0; j < k; ++j) {
            double largest = 0;
            for (std::int64_t q = 0; q < fit.n_classes; ++q) largest = std::max(largest, step.profile[at(q * k + j)]);
            for (std::int64_t q = 0; q < fit.n_classes; ++q) is_main[at(q)] |= step.profile[at(q * k + j)] == largest;
        }
        for (std::size_t q = 0; q < is_main.size(); ++q) is_missing[q] |= !is_main[q];
    }
    std::vector<Message> classes;
    for (std::int64_t q = 0; q < fit.n_classes; ++q) {
        if (is_missing[at(q)]) classes.push_back(Message() << Name::class_(q));
    }
    const double smaller = 0.1 / static_cast<double>(fit.n_classes - 1);
    Message advice;
    if (largest_lambda > smaller) advice << "a smaller lam, such as " << rounded(smaller) << ", or ";
    if (o.mu > 0.1) advice << "a smaller mu, or ";
    advice << (source.n_kernels > 1 ? "groups of features, a kernel each" : "two dimensions for each class");
    warn("few_dimensions", {"no dimension is mainly of ", some_of(classes), " (of ", fit.n_classes, " classes; for ",
                            lambdas, "), so that the embedding may not tell them from others: try ", advice});
}

// Warns of what can be wrong with the results: lambdas, convergence, dimensions and kernels.
void warn_of_fit(const KernelSource& source, const fastfs_ikdr_options& o, const Ikdr& fit) {
    const std::int64_t k = fit.n_components, n_classes = fit.n_classes;
    const auto lambdas_with = [&](int flag) {
        return lambdas_of(fit.steps, [&](const IkdrResult& step) { return (step.warnings & flag) != 0; });
    };
    bool explains_few = false;  // each of these warnings explains a class without a dimension
    const auto warn_and_explain = [&](const char* code, const Message& message) {
        warn(code, message);
        explains_few = true;
    };
    if (std::count(o.lambdas, o.lambdas + o.n_lambdas, 0.0) > 0) {
        warn_and_explain(
            "lambda_zero",
            "lam=0 leaves nothing to keep classes apart: the objective is at its best where all samples are alike");
    }
    if (k < n_classes) {
        warn_and_explain("few_components", {"n_components=", k, " is less than the ", n_classes,
                                            " classes, so that some class has no separate dimension"});
    }
    if (const Message some = lambdas_with(kStepMany); !some.text().empty()) {
        warn_and_explain(
            "many_components",
            {"n_components=", k, " is more than twice the ", n_classes,
             " classes, and samples are too much alike for that (mean similarity above ",
             rounded(static_cast<double>(n_classes) / static_cast<double>(k)), " for ", some,
             "): surplus dimensions tend to stand for outliers, and the features they select with them; take fewer, or "
             "with one kernel a smaller width"});
    }
    if (const Message some = lambdas_with(kStepIdentity); !some.text().empty()) {
        warn_and_explain("identity",
                         {"samples are hardly similar to each other (mean similarity below 0.01 for ", some,
                          "), so that dimensions stand for single samples: take ",
                          source.X ? "width='mean_squared' or a larger width" : "kernels that fall more slowly"});
    }
    if (const Message some = lambdas_with(kStepConstant); !some.text().empty()) {
        warn_and_explain("nearly_constant",
                         {"a kernel with weight is nearly constant, but for one sample at most (for ", some,
                          "), as that of a feature with an outlier is: look at its values"});
    }
    const double diagonal = fit.steps.front().diagonal;
    if (!source.X && !(diagonal >= 0.1 && diagonal <= 10)) {
        warn_and_explain("diagonals", {"the kernels' diagonals are about ", rounded(diagonal, 3),
                                       ", but similarities to a sample's own class are meant to be about 1: divide "
                                       "each kernel by the mean of its diagonal"});
    }
    const Message few =
        lambdas_of(fit.steps, [](const IkdrResult& step) { return (step.warnings & kStepFew) != 0 && step.converged; });
    if (!explains_few && !few.text().empty()) warn_of_few_dimensions(source, o, fit, few);
    if (const Message some = lambdas_with(kStepNotConverged); !some.text().empty()) {
        warn("not_converged", {"I-KDR did not converge in max_iter=", o.max_iter, " iterations for ", some,
                               ": the best one is kept; raise max_iter, max_inner or tol"});
    }
}

// Calls f(0) with a zero of the type in which kernels are computed.
template <class F>
auto with_type(const KernelSource& source, F&& f) {
    if (source.X && source.X->is_float32()) return f(float{});
    return f(double{});
}

}  // namespace

double ikdr_evaluate(const Matrix& K, const std::int64_t* labels, std::int64_t n_classes,
                     const fastfs_ikdr_options& options, const double* A, int repeats, Run& run, double* gradient) {
    const std::int64_t n = K.n_rows(), k = options.n_components;
    const SortedSamples samples(labels, n, n_classes);
    const Terms terms(options, options.lambdas[0], n);
    run.require_memory(8 * n * n + 8 * n * (3 * k + 3 * n_classes + 8), {"a kernel of ", n, " samples"});
    K.row_maxima(run);
    return visit_dense(K.description(), [&](auto* values) {
        using T = std::remove_const_t<std::remove_pointer_t<decltype(values)>>;
        const auto& d = K.description();
        Buffer<T> sorted(n * n);
        for (std::int64_t i = 0; i < n; ++i) {
            const T* row = values + samples.order[at(i)] * d.row_stride;
            for (std::int64_t j = 0; j < n; ++j) sorted[i * n + j] = row[samples.order[at(j)] * d.col_stride];
        }
        CoefficientObjective<T> F(sorted.data(), samples, terms, k, run);
        const Numbers columns = samples.sorted(A, k);
        Numbers G = numbers(n * k);
        double value = 0;
        for (int repeat = 0; repeat < repeats; ++repeat) {
            run.checkpoint(static_cast<double>(repeat) / repeats);
            value = F.value(columns.data());
            F.gradient(G.data());
        }
        if (gradient) samples.unsort(G.data(), k, gradient);
        return value;
    });
}

fastfs_ikdr_options resolve(fastfs_ikdr_options options, std::int64_t n_classes) {
    static constexpr double kLambda = 0.1;
    if (options.n_components == 0) options.n_components = n_classes;
    if (!options.lambdas) {
        options.lambdas = &kLambda;
        options.n_lambdas = 1;
    }
    return options;
}

Ikdr ikdr(const KernelSource& source, const std::int64_t* labels, std::int64_t n_classes,
          const fastfs_ikdr_options& options, Run& run) {
    require_kernels(source, options.interpretability == FASTFS_IKDR_DISTANCE, run);
    const SingleThreadedBlas held;
    const SortedSamples samples(labels, source.n_samples, n_classes);
    Ikdr fit = with_type(source, [&](auto zero) {
        return IkdrFit<decltype(zero)>(source, samples, options, options.n_lambdas, run).fit();
    });
    warn_of_fit(source, options, fit);
    return fit;
}

void ikdr_prices(const KernelSource& source, const std::int64_t* labels, std::int64_t n_classes,
                 const fastfs_ikdr_options& options, const double* A, const double* weights, Run& run, double* prices) {
    require_kernels(source, options.interpretability == FASTFS_IKDR_DISTANCE, run);
    const SortedSamples samples(labels, source.n_samples, n_classes);
    with_type(source, [&](auto zero) {
        const Numbers all_prices = IkdrFit<decltype(zero)>(source, samples, options, 0, run).prices(A, weights);
        std::copy(all_prices.begin(), all_prices.end(), prices);
    });
}

}  // namespace fastfs::core
