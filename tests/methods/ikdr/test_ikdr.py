"""I-KDR: the oracle, the properties of the method, what the guide's figures say, and real data.

float64 results are promised within 1e-9 of the oracle at the same A and weights; float32 ones within 1e-6. The problem
isn't convex, so that solutions are compared by their objective, and by what is left to gain at them.
"""

import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

import fastfs
from covering import covering, rotating
from fastfs import _core
from fastfs._machine.run import Run
from reference import ikdr as oracle

PROMISED = {"float64": 1e-9, "float32": 1e-6}
SLACKS = {"infinite": (np.inf, np.inf), "finite": (3.0, 2.0), "tau": (0.5, np.inf), "zeta": (np.inf, 0.7)}
KINDS = ["laplacian", "distance"]
DTYPES = ["float64", "float32"]


def planted(n=60, d=200, seed=0):
    """Three classes; three informative features of 200, in places of their own, each with the classes in another
    order."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 3)
    X = rng.normal(size=(n, d))
    where = np.sort(rng.choice(d, 3, replace=False))
    for shift, j in enumerate(where):
        X[:, j] += 2.0 * ((y + shift) % 3)
    return X, y, where


def blobs(n, d, n_classes=3, seed=0):
    """Normal features, a third of which tell something; values that float32 holds."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % n_classes)
    X = rng.normal(size=(n, d)) * rng.uniform(0.1, 10, d) + rng.normal(size=d)
    X[:, : max(1, d // 3)] += 2 * X.std(axis=0)[: max(1, d // 3)] * rng.normal(size=(n_classes, max(1, d // 3)))[y]
    return X.astype(np.float32).astype(float), y


def point(n, k, m, seed=0, dense=False):
    """A, with few nonzeros a column unless dense, and weights."""
    rng = np.random.default_rng(seed)
    A = oracle.project(rng.normal(size=(n, k)) * (0.1 if dense else 1))
    return A, oracle.project(rng.normal(size=m))


def problem(X, y, lam=0.1, mu=0.1, tau=np.inf, zeta=np.inf, interpretability="laplacian", groups=None, **scale):
    """The oracle's, of what a call is given, and the widths."""
    Ks, deltas = oracle.kernels(X, groups, scale.get("width", "mean_squared"), scale.get("scaling", 1) is not None)
    labels = np.unique(y, return_inverse=True)[1]
    return oracle.Problem(Ks, labels, lam / len(y), mu / len(y), tau, zeta, interpretability), deltas


def quiet(*args, **options):
    """A fit that may warn of a lack of convergence, or of k."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastfs.DataWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fastfs.ikdr(*args, **options)


def assert_on_simplex(x):
    assert x.min() >= 0
    np.testing.assert_allclose(x.sum(axis=0), 1, rtol=0, atol=1e-12)


def assert_right(found, p, deltas=None, dtype="float64"):
    """All that a result says of itself is what the oracle says of its A and weights."""
    near = PROMISED[dtype]
    assert_on_simplex(found.A)
    assert_on_simplex(found.weights)
    K = p.kernel(found.weights)
    assert found.objective == pytest.approx(oracle.objective(p, found.A, found.weights), rel=near)
    np.testing.assert_allclose(found.embedding, K @ found.A, rtol=0, atol=near)
    np.testing.assert_allclose(found.class_profile, p.H @ found.A, rtol=0, atol=1e-12)
    assert found.interpretability == pytest.approx(oracle.interpretability(p, found.A), rel=1e-12)
    assert 1 / len(p.H) - 1e-12 <= found.interpretability <= 1 + 1e-12
    assert found.similarity == pytest.approx(oracle.mean_of_pairs(K), abs=near)
    assert found.support.tolist() == np.flatnonzero(found.A.any(axis=1)).tolist()
    if deltas is not None:
        np.testing.assert_allclose(found.deltas, deltas, rtol=1e-12)
    assert len(found.history) == found.n_iter
    assert np.all(np.diff(found.history) <= near * np.abs(found.history[:-1]))
    assert found.history[-1] == pytest.approx(found.objective, rel=near)


def left_to_gain(p, found):
    """What linear models promise at most, over F: of A, and of the weights."""
    by_A = oracle.gradient(p, found.A, found.weights)
    by_weights = oracle.prices(p, found.A, found.weights)
    return oracle.gap(found.A, by_A) / found.objective, float(found.weights @ by_weights) / found.objective


# ----------------------------------------------------------------------------------------------------- oracle by itself


@rotating(1, slack=SLACKS.keys(), kind=KINDS)
def test_oracle_reduced_problem(kind, slack):
    """The reduced problem is (15) at its minimum over S and Gamma, and below it elsewhere."""
    X, y = blobs(22, 5)
    p, _ = problem(X, y, 0.3, 0.4, *SLACKS[slack], kind)
    for seed in range(3):
        A, weights = point(22, 4, 5, seed, dense=True)
        S, Gamma = oracle.best_slack(p, A, weights)
        F = oracle.objective(p, A, weights)
        assert oracle.paper_objective(p, A, weights, S, Gamma) == pytest.approx(F, rel=1e-13)
        if slack == "finite":
            rng = np.random.default_rng(seed)
            for size in (1e-3, 1.0):
                other = oracle.paper_objective(
                    p, A, weights, S + size * rng.normal(size=S.shape), Gamma + size * rng.normal(size=Gamma.shape)
                )
                assert other > F


@rotating(1, slack=SLACKS.keys(), kind=KINDS)
def test_oracle_gradients(kind, slack):
    """By central differences."""
    X, y = blobs(20, 4)
    p, _ = problem(X, y, 0.3, 0.4, *SLACKS[slack], kind)
    A, weights = point(20, 4, 4, dense=True)
    h = 1e-5

    def slope(of, at):
        found = np.empty(at.shape)
        for index in np.ndindex(at.shape):
            step = np.zeros(at.shape)
            step[index] = h
            found[index] = (of(at + step) - of(at - step)) / (2 * h)
        return found

    exact = oracle.gradient(p, A, weights)
    numeric = slope(lambda a: oracle.objective(p, a, weights), A)
    np.testing.assert_allclose(numeric, exact, rtol=0, atol=1e-8 * np.abs(exact).max())
    numeric = slope(lambda b: oracle.objective(p, A, b), weights)
    prices = oracle.prices(p, A, weights)
    np.testing.assert_allclose(numeric - numeric.min(), prices, rtol=0, atol=1e-8 * prices.max())


@pytest.mark.parametrize("kind", KINDS)
def test_oracle_quadratic_of_the_weights(kind):
    """E7: with S and Gamma fixed, (15) is that quadratic form."""
    X, y = blobs(20, 6)
    p, _ = problem(X, y, 0.3, 0.4, 2.0, 3.0, kind)
    A, weights = point(20, 3, 6, dense=True)
    S, Gamma = oracle.best_slack(p, A, weights)
    Q, v = oracle.quadratic(p, A, Gamma)
    rest = [
        oracle.paper_objective(p, A, b, S, Gamma) - b @ Q @ b / 2 - v @ b
        for b in (weights, *np.eye(6), np.full(6, 0.3))
    ]
    np.testing.assert_allclose(rest, rest[0], rtol=1e-12)


def test_oracle_slack_disappears():
    X, y = blobs(20, 6)
    p, _ = problem(X, y)
    A, weights = point(20, 3, 6, dense=True)
    F = oracle.objective(p, A, weights)
    values = [oracle.objective(replace(p, tau=t, zeta=t), A, weights) for t in (1.0, 1e3, 1e6, 1e9)]
    assert np.all(np.diff(values) > 0)
    assert values[-1] == pytest.approx(F, rel=1e-7)
    assert values[-1] < F


def test_oracle_projection():
    """Against the definition: nearer than any other point of the simplex, by the variational inequality."""
    rng = np.random.default_rng(0)
    Y = 3 * rng.normal(size=(7, 50))
    X = oracle.project(Y)
    assert_on_simplex(X)
    for corner in np.eye(7):
        assert np.all(((Y - X) * (corner[:, None] - X)).sum(axis=0) <= 1e-12)


# ------------------------------------------------------------------------------------------------ one evaluation of (R)


def labels_of(p):
    return p.labels.astype(np.int64), int(p.labels.max()) + 1


def core_options(p, n):
    return {
        "lambdas": np.array([n * p.lam]),
        "mu": n * p.mu,
        "tau": p.tau,
        "zeta": p.zeta,
        "interpretability": p.interpretability,
    }


def evaluate(p, K, A, n_threads=1, repeats=1):
    labels, n_classes = labels_of(p)
    return _core.ikdr_evaluate(K, labels, n_classes, A, core_options(p, len(A)), repeats, Run(n_threads))


@covering(sizes=[(3, 2, 1), (17, 2, 2), (33, 3, 5), (64, 4, 4), (130, 7, 20)], slack=SLACKS.keys(), kind=KINDS)
def test_evaluation(kind, slack, sizes):
    n, n_classes, k = sizes
    X, y = blobs(n, 4, n_classes)
    p, _ = problem(X, y, 0.3, 0.4, *SLACKS[slack], kind, groups="all")
    K = p.kernels[0]
    for dense in (False, True):
        A, _ = point(n, k, 1, n, dense)
        F, by_A = oracle.objective(p, A, np.ones(1)), oracle.gradient(p, A, np.ones(1))
        # On the simplex a constant for each column says nothing: the distance term has such constants.
        by_A = by_A - by_A.mean(axis=0)
        for dtype in DTYPES:
            found, slope = evaluate(p, K.astype(dtype), A)
            assert found == pytest.approx(F, rel=PROMISED[dtype])
            slope = slope - slope.mean(axis=0)
            np.testing.assert_allclose(slope, by_A, rtol=0, atol=PROMISED[dtype] * max(1, np.abs(by_A).max()))
            for n_threads in (2, 3):
                again, same = evaluate(p, K.astype(dtype), A, n_threads)
                assert again == found
                assert np.array_equal(same, evaluate(p, K.astype(dtype), A)[1])


@given(
    st.integers(2, 40), st.integers(2, 5), st.integers(1, 6), st.integers(0, 2**31), st.floats(0, 10), st.floats(0, 10)
)
def test_evaluation_of_anything(n, n_classes, k, seed, lam, mu):
    """Classes of any sizes, a matrix that isn't even a kernel of data."""
    rng = np.random.default_rng(seed)
    n_classes, k = min(n, n_classes), min(n, k)
    labels = rng.permutation(np.r_[np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    F = rng.normal(size=(n, n))
    p = oracle.Problem((F @ F.T / n)[None], labels, lam / n, mu / n)
    A = oracle.project(rng.normal(size=(n, k)))
    found, slope = evaluate(p, p.kernels[0], A, n_threads=2)
    exact = oracle.gradient(p, A, np.ones(1))
    size = 1 + (1 + lam + mu) * np.abs(p.kernels[0]).sum()
    assert found == pytest.approx(oracle.objective(p, A, np.ones(1)), rel=1e-10, abs=1e-12 * size)
    np.testing.assert_allclose(slope, exact, rtol=0, atol=1e-12 * size * max(1, np.abs(exact).max()))


# --------------------------------------------------------------------------------------------------------------- prices


def core_prices(X, p, A, weights, groups=None, width="mean_squared", scaling="standard", n_threads=1, max_memory=None):
    given = {"width": width} if isinstance(width, str) else {"width": "given", "delta": width}
    which = {None: 0, "all": 1}.get(groups if isinstance(groups, (str, type(None))) else "", len(weights))
    if which > 1:
        given["groups"] = np.unique(groups, return_inverse=True)[1].astype(np.int64)
    kernels = {"X": X, "n_kernels": which, "scaling": scaling or "none"} | given
    run = Run(n_threads, max_memory)
    found = _core.ikdr_prices(kernels, *labels_of(p), A, weights, core_options(p, len(X)), run)
    # With the distance term, a constant says nothing: weights add up to 1.
    return found - found.min() if p.interpretability == "distance" else found


def assert_prices(found, p, A, weights, dtype):
    expected = oracle.slopes(p, A, weights)
    size = np.abs(expected).max()
    if p.interpretability == "distance":
        expected = expected - expected.min()
    np.testing.assert_allclose(found, expected, rtol=0, atol=10 * PROMISED[dtype] * size)


GROUPS = {"single": None, "groups": np.arange(37) // 5, "unequal": np.r_[np.zeros(20, int), np.arange(17) % 3 + 1]}


@covering(groups=GROUPS.keys(), width=["mean_squared", "mean", 1.7], scaling=["standard", None], dtype=DTYPES)
def test_prices(dtype, scaling, width, groups):
    X, y = blobs(45, 37)
    X[:, 5] /= X[:, 5].std()  # without scaling, too, some kernels must vary
    X = X.astype(np.float32).astype(float)
    p, _ = problem(X, y, 0.3, 0.4, 3.0, 2.0, groups=GROUPS[groups], width=width, scaling=scaling)
    A, weights = point(45, 3, len(p.kernels))
    found = core_prices(X.astype(dtype), p, A, weights, GROUPS[groups], width, scaling)
    assert_prices(found, p, A, weights, dtype)
    for n_threads in (2, 5):
        again = core_prices(X.astype(dtype), p, A, weights, GROUPS[groups], width, scaling, n_threads)
        assert again.tobytes() == found.tobytes()


@covering(slack=SLACKS.keys(), kind=KINDS, mu=[0.0, 0.4])
def test_prices_of_all_terms(mu, kind, slack):
    X, y = blobs(31, 70, 4)
    p, _ = problem(X, y, 0.3, mu, *SLACKS[slack], kind)
    for k, dense in ((1, False), (4, False), (9, True)):
        A, weights = point(31, k, 70, k, dense)
        for dtype in DTYPES:
            assert_prices(core_prices(X.astype(dtype), p, A, weights), p, A, weights, dtype)


# ---------------------------------------------------------------------------------------------------------------- fits


@covering(slack=SLACKS.keys(), groups=[None, "all", "pairs"], kind=KINDS, dtype=DTYPES)
def test_fit(groups, dtype, kind, slack):
    X, y = blobs(50, 24)
    groups = np.arange(24) // 2 if groups == "pairs" else groups
    tau, zeta = SLACKS[slack]
    options = {"lam": 0.2, "mu": 0.3, "tau": tau, "zeta": zeta, "interpretability": kind}
    found = quiet(X.astype(dtype), y, groups=groups, **options)
    p, deltas = problem(X, y, groups=groups, **options)
    assert_right(found, p, deltas, dtype)
    assert found.converged
    of_A, of_weights = left_to_gain(p, found)
    assert of_A <= 5e-3
    assert of_weights <= 5e-3


@covering(width=["mean", 0.4], scaling=["standard", None], k=[2, 5])
def test_fit_with_other_widths(k, scaling, width):
    X, y = blobs(40, 12)
    options = {"width": width, "scaling": scaling}
    found = quiet(X, y, n_components=k, **options)
    p, deltas = problem(X, y, **options)
    assert found.A.shape == (40, k)
    assert_right(found, p, deltas)


def test_fit_on_matrices():
    """Kernels of the caller's are those of X."""
    X, y = blobs(40, 12)
    p, _ = problem(X, y)
    found = fastfs.ikdr(list(p.kernels), y, kernel="precomputed")
    assert_right(found, p)
    assert found.feature_weights is None
    direct = fastfs.ikdr(X, y)
    assert found.objective == pytest.approx(direct.objective, rel=1e-4)  # as near as `tol` brings either
    np.testing.assert_allclose(found.weights, direct.weights, rtol=0, atol=1e-2)


def test_fit_of_layouts_and_threads():
    """The same bits, however X lies in memory and however many threads there are."""
    X, y = blobs(61, 133)
    for dtype in DTYPES:
        data = X.astype(dtype)
        wide = np.zeros((122, 266), dtype=dtype)
        wide[::2, ::2] = data
        first = quiet(data, y, n_threads=1)
        forms = [np.asfortranarray(data), wide[::2, ::2], data[::-1][::-1]]
        for form, n_threads in [(data, 2), (data, 3), (data, 7), *[(form, 2) for form in forms]]:
            again = quiet(form, y, n_threads=n_threads)
            for name in ("A", "weights", "embedding", "history", "scores"):
                assert getattr(again, name).tobytes() == getattr(first, name).tobytes(), name
    integers = np.round(X).astype(np.int32)
    assert quiet(integers, y).A.tobytes() == quiet(integers.astype(float), y).A.tobytes()


def test_a_small_budget_changes_no_bit():
    """Whether products of all kernels are stored depends on it, and on the number of threads."""
    X, y = blobs(50, 4000)
    stored, anew = (quiet(X, y, n_threads=1, max_memory=budget) for budget in ("1G", "2M"))
    for name in ("A", "weights", "embedding", "history", "scores"):
        assert getattr(anew, name).tobytes() == getattr(stored, name).tobytes(), name


@rotating(1, groups=[None, "all"], kind=KINDS)
def test_dtypes_agree(kind, groups):
    X, y = blobs(60, 30)
    double, single = (fastfs.ikdr(X.astype(t), y, groups=groups, interpretability=kind) for t in DTYPES)
    assert single.objective == pytest.approx(double.objective, rel=1e-3)  # each to its own `tol`
    p, _ = problem(X, y, groups=groups, interpretability=kind)
    # At the same point they agree to what float32 holds.
    assert oracle.objective(p, single.A, single.weights) == pytest.approx(single.objective, rel=1e-6)


# ----------------------------------------------------------------------------------------------- how good minima are


@pytest.mark.parametrize("groups", [pytest.param(None, marks=pytest.mark.slow), "all"])
@pytest.mark.parametrize("kind", KINDS)
def test_objective_against_eleven_starts(kind, groups):
    """As many dimensions as classes."""
    X, y = blobs(36, 10)
    found = fastfs.ikdr(X, y, groups=groups, interpretability=kind)
    p, _ = problem(X, y, groups=groups, interpretability=kind)
    *_, best, every = oracle.best_of_starts(p, 3)
    assert len(every) == 11
    assert found.objective <= 1.01 * best


@pytest.mark.parametrize("groups", [None, "all"])
def test_objective_against_random_starts_with_two_dimensions_a_class(groups):
    X, y = blobs(60, 10, seed=1)
    found = fastfs.ikdr(X, y, groups=groups, n_components=6)
    starts = (np.random.default_rng(seed).dirichlet(np.full(60, 0.05), 6).T for seed in range(10))
    others = [quiet(X, y, groups=groups, n_components=6, start=A).objective for A in starts]
    assert found.objective <= 1.01 * min(others)


def test_dimensions_that_coincide_are_parted():
    """Equal columns have equal gradients, so that plain descent from here stays at a saddle."""
    X, y = blobs(60, 10, seed=2)
    p, _ = problem(X, y, lam=2.0, groups="all")
    A = np.array([(y == q) / np.sum(y == q) for q in (0, 0, 1, 1, 2, 2)]).T
    stuck, least = oracle.solve_A(p, A, tol=1e-8)
    np.testing.assert_array_equal(stuck[:, ::2], stuck[:, 1::2])
    found = quiet(X, y, groups="all", n_components=6, lam=2.0, start=A)
    assert found.objective < 0.995 * least
    assert_right(found, p)


def slsqp(value, slope, start):
    """On the simplex, of columns one by one."""
    shape = start.shape
    k = 1 if len(shape) == 1 else shape[1]
    sums = np.kron(np.ones(shape[0]), np.eye(k))
    return minimize(
        lambda x: value(x.reshape(shape)),
        start.ravel(),
        jac=lambda x: slope(x.reshape(shape)).ravel(),
        bounds=[(0, 1)] * start.size,
        constraints={"type": "eq", "fun": lambda x: sums @ x - 1, "jac": lambda x: sums},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    ).fun


@pytest.mark.parametrize("slack", ["infinite", "finite"])
def test_weights_against_slsqp(slack):
    """With A as found. F is convex in the weights where lam is 0, and the minimum there the only one."""
    X, y = blobs(30, 12)
    tau, zeta = SLACKS[slack]
    for lam in (0.0, 0.1):
        found = quiet(X, y, lam=lam, tau=tau, zeta=zeta, tol=1e-6, max_iter=50)
        p, _ = problem(X, y, lam=lam, tau=tau, zeta=zeta)

        def value(b, p=p, A=found.A):
            return oracle.objective(p, A, b)

        def slope(b, p=p, A=found.A):
            return oracle.prices(p, A, b)  # less a constant, which the simplex doesn't see

        for start in (np.full(12, 1 / 12), found.weights):
            assert found.objective <= slsqp(value, slope, start) * (1 + 1e-3)


@rotating(1, kind=KINDS, k=[1, 3])
def test_coefficients_against_slsqp(k, kind):
    """Another solver gains nothing from where ours ends."""
    X, y = blobs(24, 6)
    found = quiet(X, y, n_components=k, groups="all", interpretability=kind, tol=1e-6, max_inner=1000)
    p, _ = problem(X, y, groups="all", interpretability=kind)
    one = np.ones(1)
    end = slsqp(lambda A: oracle.objective(p, A, one), lambda A: oracle.gradient(p, A, one), found.A)
    assert found.objective <= end * (1 + 1e-4)


# ----------------------------------------------------------------------------------------------------------- properties


@pytest.mark.parametrize("n, d, seed", [(300, 10, 3), (400, 20, 0)])
def test_coefficients_settle_on_skewed_data(n, d, seed):
    """The long steps of Barzilai and Borwein took more than 200 for the first table and 100 for the second."""
    X, y = np.exp(np.random.default_rng(seed).normal(size=(n, d))), np.arange(n) % 2
    fit = fastfs.ikdr(X, y, groups="all", max_iter=1, max_inner=100)
    assert fit.converged
    gradient = oracle.gradient(problem(X, y, groups="all")[0], fit.A, np.ones(1))
    assert np.sum(fit.A * gradient) - gradient.min(axis=0).sum() <= 1e-4 * fit.objective


def test_scale_and_offset_change_nothing():
    X, y = blobs(40, 15)
    X = np.round(X, 2)
    first = fastfs.ikdr(X, y)
    for other in (1e8 * X, 1e-200 * X, X * np.float64(2.0) ** np.arange(15), X + 1e5):
        again = fastfs.ikdr(other, y)
        assert again.objective == pytest.approx(first.objective, rel=1e-9)
        np.testing.assert_allclose(again.weights, first.weights, rtol=0, atol=1e-6)
        np.testing.assert_allclose(again.embedding, first.embedding, rtol=0, atol=1e-6)


def test_constant_features_change_nothing():
    X, y = blobs(40, 15)
    first = fastfs.ikdr(X, y)
    for place, value in ((0, 0.0), (7, -1e300), (15, 3.3)):
        again = fastfs.ikdr(np.insert(X, place, value, axis=1), y)
        assert again.weights[place] == again.deltas[place] == 0
        assert again.scores[place] == -1
        assert again.constant_features.tolist() == [place]
        np.testing.assert_allclose(np.delete(again.weights, place), first.weights, rtol=0, atol=1e-9)
        np.testing.assert_allclose(again.A, first.A, rtol=0, atol=1e-9)
        assert again.objective == pytest.approx(first.objective, rel=1e-9)


@pytest.mark.parametrize("groups", [None, "all"])
def test_order_of_samples_and_classes(groups):
    """Samples in another order, classes by other names: the same dimensions, in another order."""
    X, y = blobs(42, 15)
    first = fastfs.ikdr(X, y, groups=groups, tol=1e-7, max_iter=100)
    order = np.random.default_rng(1).permutation(42)
    again = fastfs.ikdr(X[order], np.array(["b", "c", "a"])[y[order]], groups=groups, tol=1e-7, max_iter=100)
    assert again.objective == pytest.approx(first.objective, rel=1e-5)
    np.testing.assert_allclose(again.weights, first.weights, rtol=0, atol=1e-2)
    assert again.interpretability == pytest.approx(first.interpretability, abs=1e-2)
    profile = again.class_profile[[1, 2, 0]]  # back in the order of y
    pair = np.abs(profile[:, :, None] - first.class_profile[:, None, :]).sum(axis=0).argmin(axis=0)
    assert sorted(pair.tolist()) == [0, 1, 2]
    np.testing.assert_allclose(again.embedding[:, pair], first.embedding[order], rtol=0, atol=1e-2)


def test_order_of_dimensions():
    X, y = blobs(42, 15)
    A, weights = point(42, 3, 15)
    options = {"tol": 1e-7, "max_iter": 100, "max_inner": 1000}
    orders = [0, 1, 2], [2, 0, 1]
    one, other = (fastfs.ikdr(X, y, start=(A[:, order], weights), **options) for order in orders)
    assert other.objective == pytest.approx(one.objective, rel=1e-5)
    np.testing.assert_allclose(other.embedding, one.embedding[:, [2, 0, 1]], rtol=0, atol=1e-2)


def test_duplicates_share_the_weight():
    """Only the sum means anything, and it is that of the feature alone."""
    X, y, _ = planted(60, 30)
    first = fastfs.ikdr(X, y)
    j = int(first.weights.argmax())
    again = fastfs.ikdr(np.c_[X, X[:, j], X[:, j]], y)
    assert again.weights[[j, 30, 31]].sum() == pytest.approx(first.weights[j], abs=0.02)
    assert again.objective == pytest.approx(first.objective, rel=2e-3)


def test_odd_samples():
    """A class with one sample; the same sample twice with different labels."""
    X, y = blobs(30, 8)
    y[np.flatnonzero(y == 2)[1:]] = 0
    assert (y == 2).sum() == 1
    X[5] = X[np.flatnonzero(y != y[5])[0]]
    found = quiet(X, y)
    p, deltas = problem(X, y)
    assert_right(found, p, deltas)
    X[:] = X[y]  # one row a class
    assert_right(quiet(X, y), problem(X, y)[0])


@rotating(1, groups=[None, "all", "fives"], dtype=DTYPES)
def test_embedding_of_new_samples(groups, dtype):
    X, y = blobs(50, 20)
    groups = np.arange(20) // 5 if groups == "fives" else groups
    found = quiet(X.astype(dtype), y, groups=groups)
    np.testing.assert_allclose(found.embed(X.astype(dtype)), found.embedding, rtol=0, atol=PROMISED[dtype])
    new = np.vstack([blobs(33, 20, seed=5)[0], np.full(20, 1e6)]).astype(np.float32).astype(float)
    cross = np.einsum("m,mij->ij", found.weights, oracle.cross_kernels(X, new, found.deltas, groups))
    np.testing.assert_allclose(found.embed(new.astype(dtype)), cross @ found.A, rtol=0, atol=PROMISED[dtype])
    assert found.embed(new, n_threads=3).tobytes() == found.embed(new, n_threads=1).tobytes()


@pytest.mark.parametrize("seed", range(8))
def test_planted_features(seed):
    """All weight on the informative three of 200: two of them tell three classes apart, too."""
    X, y, where = planted(seed=seed)
    found = fastfs.ikdr(X, y)
    chosen = np.flatnonzero(found.weights)
    assert len(chosen) >= 2
    assert set(chosen) <= set(where)
    assert found.interpretability > 0.9


def test_too_many_dimensions_are_warned_of():
    X, y, _ = planted(60, 30)
    with pytest.warns(fastfs.DataWarning, match="n_components=7"):
        fastfs.ikdr(X, y, n_components=7, max_iter=100)
    with pytest.warns(fastfs.DataWarning, match="n_components=2"):
        fastfs.ikdr(X, y, n_components=2)


# -------------------------------------------------------------------------------------------------------- path, the end


def test_path():
    """Each lambda from the solution before."""
    X, y = blobs(50, 30)
    lams = [0.01, 0.05, 0.2, 1.0]
    steps = fastfs.ikdr_path(X, y, lams)
    assert [s.lam for s in steps] == lams
    for lam, step in zip(lams, steps, strict=True):
        p, deltas = problem(X, y, lam)
        assert_right(step, p, deltas)
    alone = fastfs.ikdr(X, y, lam=lams[0])
    assert steps[0].A.tobytes() == alone.A.tobytes()
    for before, step in pairwise(steps):
        p, _ = problem(X, y, step.lam)
        assert step.objective <= oracle.objective(p, before.A, before.weights) * (1 + 1e-9)
        from_there = fastfs.ikdr(X, y, lam=step.lam, start=(before.A, before.weights))
        assert step.objective == pytest.approx(from_there.objective, rel=1e-3)


@pytest.mark.parametrize("solver", ["projected_gradient", "admm"])
def test_no_convergence_keeps_the_best(solver):
    X, y = blobs(50, 30)
    slack = {"tau": 10.0, "zeta": 10.0}
    A, weights = point(50, 3, 30)
    p, _ = problem(X, y, **slack)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        found = fastfs.ikdr(X, y, solver=solver, start=(A, weights), max_iter=1, max_inner=2, tol=0.0, **slack)
    assert not found.converged
    assert found.n_iter == 1
    assert found.objective == pytest.approx(oracle.objective(p, found.A, found.weights), rel=1e-9)
    assert found.objective <= oracle.objective(p, A, weights)


def test_start_is_where_it_starts():
    """From a minimum nothing is left to do."""
    X, y = blobs(50, 30)
    found = fastfs.ikdr(X, y, tol=1e-6, max_iter=100)
    again = fastfs.ikdr(X, y, start=(found.A, found.weights), tol=1e-3)
    assert again.n_iter <= 2
    assert again.objective <= found.objective * (1 + 1e-9)
    assert again.objective == pytest.approx(found.objective, rel=1e-3)


# ----------------------------------------------------------------------------------------------------------------- ADMM


@pytest.fixture
def plain(monkeypatch):
    from pathlib import Path

    root = Path(__file__).parents[3]
    if not (root / "benchmarks").exists():  # the source distribution leaves them out
        pytest.skip("the benchmarks aren't here")
    monkeypatch.syspath_prepend(root)
    from benchmarks.baselines import ikdr

    return ikdr


@pytest.mark.parametrize("groups", [None, "all"])
def test_admm(plain, groups):
    """The paper's alternation goes where the same alternation goes in NumPy, and not below the reduced problem."""
    X, y = blobs(40, 12)
    slack = {"tau": 10.0, "zeta": 10.0}
    p, deltas = problem(X, y, groups=groups, **slack)
    A, _ = point(40, 3, 1, dense=True)
    start = (A, np.full(len(p.kernels), 1 / len(p.kernels)))
    exact = {"rho": 0.3, "max_inner": 3000, "tol": 1e-6}
    found = quiet(X, y, groups=groups, solver="admm", max_iter=15, start=start, **exact, **slack)
    assert_right(found, p, deltas)
    alternation = plain.Alternation(
        p.kernels, p.labels, p.lam, p.mu, 10.0, 10.0, 0.3, "one", admm_steps=3000, admm_tol=1e-6
    )
    numpy = alternation.run(A, 15)
    np.testing.assert_allclose(found.history, numpy.objective, rtol=3e-4)
    assert found.history[-1] < 0.95 * found.history[0]
    reduced = quiet(X, y, groups=groups, start=start, **slack)
    assert reduced.objective <= found.objective


def test_plain_alternation_descends(plain):
    """(15) with the S and Gamma of each round falls, and is above the reduced problem; A's step is a minimum."""
    X, y = blobs(30, 8)
    p, _ = problem(X, y, tau=10.0, zeta=10.0)
    A, _ = point(30, 3, 8, dense=True)
    for split in ("paper", "one"):
        alternation = plain.Alternation(
            p.kernels, p.labels, p.lam, p.mu, 10.0, 10.0, 100.0, split, admm_steps=3000, admm_tol=1e-9
        )
        fit = alternation.run(A, 8)
        assert np.all(np.diff(fit.relaxed) <= 1e-6 * fit.relaxed[0])
        assert np.all(np.array(fit.relaxed) >= np.array(fit.objective) * (1 - 1e-12))
        assert fit.objective[-1] == pytest.approx(oracle.objective(p, fit.A, fit.weights), rel=1e-12)


# ------------------------------------------------------------------------------------------------------------ real data

# mean of K off its diagonal by widths, mean squared distance; F and I_p that a plain program reached at k = C.
REAL = {
    "wine": (0.4201, 0.0525, 26.1469, 24.727, 1.00),
    "sonar": (0.4177, 0.0061, 120.5797, 52.827, 0.99),
    "colon_discrete": (0.4016, 1e-8, 4065.574, 17.019, 0.87),
    "lung_discrete": (None, None, None, 16.315, 0.87),
    "haberman": (None, None, None, 51.044, 0.91),
}


@pytest.mark.parametrize("name", REAL)
def test_real_data(load, name):
    X, y = load(name)
    similarity, by_mean, delta, F, purity = REAL[name]
    for dtype in DTYPES:
        found = fastfs.ikdr(X.astype(dtype), y, groups="all")  # without a warning
        assert found.converged
        assert found.objective <= 1.001 * F
        assert found.interpretability == pytest.approx(purity, abs=0.02)
        assert np.count_nonzero(found.A, axis=0).max() <= 8
        if similarity is not None:
            assert found.similarity == pytest.approx(similarity, abs=1e-4)
            assert found.deltas[0] == pytest.approx(delta, rel=1e-5)
    if by_mean is not None:
        narrow = quiet(X, y, groups="all", width="mean")
        assert narrow.similarity == pytest.approx(by_mean, rel=0.1)


@pytest.mark.parametrize("name, n_features", [pytest.param("sonar", 60, marks=pytest.mark.slow), ("wine", 13)])
def test_real_features(load, name, n_features):
    """Feature selection against plain NumPy from two starts."""
    X, y = load(name)
    p, deltas = problem(X, y)
    found = fastfs.ikdr(X, y)
    assert_right(found, p, deltas)
    assert found.objective <= 1.01 * min(oracle.solve(p, A)[2] for A in oracle.starts(p, len(p.H))[:2])
    assert 1 <= np.count_nonzero(found.weights) < n_features / 2


@pytest.mark.parametrize("name", ["haberman", "monks2"])
def test_hardly_useful_features(load, name):
    """They converge, and nothing is said of them that isn't so."""
    X, y = load(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fastfs.ikdr(X, y)
    assert found.converged
    assert np.isfinite(found.embedding).all()


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) for n in ("colon", "glioma", "srbct_khan")])
def test_wide_real_data(load, name):
    """Few features. Local minima differ: plain NumPy's, from another start, is 2 % lower or 1 % higher."""
    X, y = load(name)
    X = np.log2(X) if name == "colon" else X
    X = X[:, :: X.shape[1] // 1000]
    p, deltas = problem(X, y)
    found = quiet(X, y)
    assert_right(found, p, deltas)
    assert 1 <= np.count_nonzero(found.weights) <= 60
    assert found.objective <= 1.05 * oracle.solve(p, oracle.starts(p, len(p.H))[1])[2]
