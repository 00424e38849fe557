"""IM4E and IMMIGRATE: the oracle, the properties of the methods, what the guide's figures say, and real data.

Weights are promised within 1e-10 of the oracle for float64 and 1e-5 for float32, costs within the same share of the
largest. The number of iterations must be equal where no change of the cost comes within `UNDECIDED` of the tolerance.
"""

import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_relief import FORMS, PEAK, SHAPES

import fastfs
from covering import covering, rotating
from fastfs._functions.margin import MarginStage
from fastfs._machine.run import Run
from reference import immigrate as oracle
from reference.correlation import random_bits
from reference.data import classes_that_differ

# As the oracle, unless told otherwise.
immigrate = partial(fastfs.immigrate, sigma=1.0)
Immigrate = partial(fastfs.Immigrate, sigma=1.0)
im4e = partial(fastfs.im4e, sigma=1.0)
IM4E = partial(fastfs.IM4E, sigma=1.0)

PROMISED = {"float64": 1e-10, "float32": 1e-5}
UNDECIDED = {"float64": 1e-9, "float32": 1e-3}


def assert_same_course(found, expected, tol, dtype="float64"):
    """Cost, objective, number of iterations and end."""
    changes = np.abs(np.diff(expected.cost)) / np.abs(expected.cost[:-1])
    if np.all(np.abs(changes - tol) > UNDECIDED[dtype] * tol) and tol > 0:
        assert found.n_iter == expected.n_iter
        assert found.converged == expected.converged
    n = min(found.n_iter, expected.n_iter)  # where a cost repeats itself up to rounding, either may stop first
    assert len(found.cost) == len(found.objective) == found.n_iter
    assert n == expected.n_iter or tol == 0
    assert found.sigma == pytest.approx(expected.sigma, rel=PROMISED[dtype])
    for name in ("cost", "objective"):
        exact = np.array(getattr(expected, name))[:n]
        atol = PROMISED[dtype] * np.abs(exact).max(initial=0)
        np.testing.assert_allclose(getattr(found, name)[:n], exact, rtol=0, atol=atol, err_msg=name)


def assert_im4e(found, expected, tol=1e-4, dtype="float64"):
    assert_same_course(found, expected, tol, dtype)
    np.testing.assert_allclose(found.weights, expected.scores, rtol=0, atol=PROMISED[dtype])
    assert found.weights.min() >= 0
    assert found.weights.sum() == pytest.approx(1, abs=1e-12)


def dense(found):
    W = (found.eigenvectors * found.eigenvalues) @ found.eigenvectors.T
    if found.W is not None:
        np.testing.assert_allclose(found.W, W, rtol=0, atol=1e-6 if found.W.dtype == np.float32 else 1e-12)
        return found.W
    return W


def assert_immigrate(found, expected, tol=1e-4, dtype="float64", psd=True):
    assert_same_course(found, expected, tol, dtype)
    assert found.features.tolist() == expected.used.tolist()
    W, V = dense(found), found.eigenvectors
    np.testing.assert_allclose(W, expected.weights, rtol=0, atol=PROMISED[dtype])
    np.testing.assert_allclose(W, W.T, rtol=0, atol=0 if found.W is not None else 1e-15)
    assert np.linalg.norm(W) == pytest.approx(1, abs=1e-12)
    if psd:
        assert found.eigenvalues.min() > 0
    assert np.all(np.diff(np.abs(found.eigenvalues)) <= 0)
    np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), rtol=0, atol=1e-12)
    assert np.all(np.take_along_axis(V, np.abs(V).argmax(axis=0)[None], axis=0) > 0)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=0, atol=2 * PROMISED[dtype])
    assert found.scores.sum() == pytest.approx(1, abs=1e-12)


# ----------------------------------------------------------------------------------------------------- oracle by itself


@rotating(1, factors=[None, [0.7, 1.4, 2.0]], matrix=[False, True])
def test_oracle_gradient(matrix, factors):
    """dG/dW = Sigma and dG/dw = -v by central differences, and tr(W Sigma) + sigma ent = G."""
    X, y = classes_that_differ(25, 5, 3)
    rng = np.random.default_rng(0)
    Z, _ = oracle.scale(X, "standard")
    D = oracle.differences(Z)
    weights = rng.random((5, 5)) if matrix else rng.random(5)
    weights = weights @ weights.T / 5 if matrix else weights
    now = oracle.state(D, y, weights, 0.8, factors)
    slope, h = now.gradient(D, matrix), 1e-5
    for index in np.ndindex(weights.shape):
        step = np.zeros(weights.shape)
        step[index] = h
        up, down = (oracle.state(D, y, weights + s, 0.8, factors).objective for s in (step, -step))
        assert (up - down) / (2 * h) == pytest.approx(slope[index], abs=1e-7 * np.abs(slope).max())
    assert np.sum(weights * slope) + 0.8 * now.entropy == pytest.approx(now.objective, rel=1e-12)


def test_oracle_softmax():
    X, y = classes_that_differ(20, 4, 3)
    D = oracle.differences(oracle.scale(X, "standard")[0])
    w = np.full(4, 0.25)
    hits, misses = oracle.hits_and_misses(y)
    for sigma in (1e-6, 1.0, 1e6):
        now = oracle.state(D, y, w, sigma)
        np.testing.assert_allclose(now.alpha.sum(axis=1), 1, rtol=1e-12)
        np.testing.assert_allclose(now.beta.sum(axis=1), 1, rtol=1e-12)
        assert np.all(now.alpha[~hits] == 0)
        assert np.all(now.beta[~misses] == 0)
    np.testing.assert_allclose(now.alpha[hits], np.repeat(1 / hits.sum(axis=1), hits.sum(axis=1)), rtol=1e-5)
    nearest = oracle.state(D, y, w, 1e-9)
    F = D @ w
    assert nearest.alpha.argmax(axis=1).tolist() == np.where(hits, F, np.inf).argmin(axis=1).tolist()
    assert nearest.beta.max(axis=1).tolist() == [1] * 20


# ----------------------------------------------------------------------------------------------------------------- IM4E


@given(
    n=st.integers(6, 70),
    n_features=st.integers(1, 40),
    n_classes=st.integers(2, 3),
    seed=st.integers(0, 2**32 - 1),
    sigma=st.sampled_from([0.1, 1.0, 10.0]),
    scaling=st.sampled_from(["standard", "range"]),
    n_threads=st.integers(1, 4),
    form=st.sampled_from(sorted(FORMS)),
)
@pytest.mark.filterwarnings("ignore:hits came:fastfs.DataWarning")
def test_im4e(n, n_features, n_classes, seed, sigma, scaling, n_threads, form):
    X, y = classes_that_differ(n, n_features, n_classes, seed)
    options = {"sigma": sigma, "scaling": scaling}
    assert_im4e(im4e(FORMS[form](X), y, n_threads=n_threads, **options), oracle.im4e(X, y, **options))


@covering(scaling=["standard", "range", None], n_classes=[2, 3], dtype=["float64", "float32"])
def test_im4e_dtypes(dtype, scaling, n_classes):
    X, y = classes_that_differ(60, 20, n_classes, dtype=dtype)
    if scaling is None:
        X = (X / X.std(axis=0)).astype(dtype)
    options = {"scaling": scaling, "max_iter": 20}
    found = im4e(X, y, **options)
    assert found.weights.dtype == np.float64
    assert_im4e(found, oracle.im4e(X, y, **options), dtype=dtype)


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_im4e_across_tiles_and_chunks(shape):
    X, y = classes_that_differ(*shape)
    found = [im4e(X, y, sigma=0.3, n_threads=n) for n in (1, 2, 3, 4)]
    assert_im4e(found[0], oracle.im4e(X, y, sigma=0.3))
    for other in found[1:]:
        assert other.weights.tobytes() == found[0].weights.tobytes()
        assert other.cost.tobytes() == found[0].cost.tobytes()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_memory_layout_changes_no_bit(dtype):
    for shape in ((70, 33), (19, 1700)):  # the latter are several panels of features
        X, y = classes_that_differ(*shape, dtype=dtype)
        w = im4e(X, y).weights
        V = immigrate(X, y, max_iter=2).eigenvectors
        for name, form in FORMS.items():
            assert im4e(form(X), y).weights.tobytes() == w.tobytes(), name
            assert immigrate(form(X), y, max_iter=2).eigenvectors.tobytes() == V.tobytes(), name


def test_auto_sigma():
    X, y = classes_that_differ(40, 8, 3)
    y[y == 2] = 1
    y[0] = 2
    with pytest.warns(fastfs.DataWarning, match="one sample only in class 2"):
        found = im4e(X, y, sigma="auto")
    assert_im4e(found, oracle.im4e(X, y, auto=2.0))
    with pytest.warns(fastfs.DataWarning, match="one sample only in class 2"):
        matrix = immigrate(X, y, sigma="auto")
    assert_immigrate(matrix, oracle.immigrate(X, y, auto=4.0))


@rotating(1, keep=[False, True], sigma=[0.5, "auto"])
def test_im4e_starts(sigma, keep):
    """From random weights, and from such that leave features out; one column is constant."""
    X, y = classes_that_differ(40, 9, 3)
    X[:, 4] = 1.0
    rng = np.random.default_rng(0)
    for w0 in (rng.dirichlet(np.ones(9)), np.where(np.arange(9) == 2, 7.0, 0.0)):
        options = {"auto": 2.0} if sigma == "auto" else {"sigma": sigma}
        expected = oracle.im4e(X, y, w0=w0, max_iter=3, **options)
        if keep:  # distances under equal weights are at hand, and of no use
            labels, scorer = fastfs.IM4E(sigma=sigma, w0=w0, max_iter=3)._make_scorer(X, y)
            ((scores, _),) = scorer([labels])
            np.testing.assert_allclose(scores, expected.scores, rtol=1e-9, atol=1e-12)
        else:
            assert_im4e(im4e(X, y, sigma=sigma, w0=w0, max_iter=3), expected)
    equal = im4e(X, y, sigma=sigma, w0=np.full(9, 3.0))
    np.testing.assert_allclose(equal.weights, im4e(X, y, sigma=sigma).weights, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(
        IM4E(sigma=sigma, w0=list(w0)).fit(X, y).weights_, im4e(X, y, sigma=sigma, w0=w0).weights
    )


def test_im4e_class_factors():
    X, y = classes_that_differ(50, 10, 3)
    names = np.array(["a", "b", "c"])[y]
    found = im4e(X, names, class_weight={"a": 0.5, "c": 3.0})
    assert_im4e(found, oracle.im4e(X, y, factors=[0.5, 1.0, 3.0]))
    plain, ones = im4e(X, y), im4e(X, y, class_weight={0: 1.0, 1: 1.0, 2: 1.0})
    assert plain.weights.tobytes() == ones.weights.tobytes()
    assert np.abs(plain.weights - found.weights).max() > 1e-3
    model = IM4E(class_weight={"a": 0.5, "c": 3.0}).fit(X, names)
    expected = oracle.im4e(X, y, factors=[0.5, 1.0, 3.0])
    np.testing.assert_allclose(
        model.expected_distance(X[:5]), oracle.expected_distance(X, y, expected, X[:5]), rtol=1e-9
    )


# ------------------------------------------------------------------------------------------------------------ IMMIGRATE


@given(
    n=st.integers(6, 60),
    n_features=st.integers(1, 12),
    n_classes=st.integers(2, 3),
    seed=st.integers(0, 2**32 - 1),
    sigma=st.sampled_from([0.3, 1.0, 10.0]),
    scaling=st.sampled_from(["standard", "range"]),
    n_threads=st.integers(1, 4),
    form=st.sampled_from(sorted(FORMS)),
)
@pytest.mark.filterwarnings("ignore:hits came:fastfs.DataWarning")
def test_immigrate(n, n_features, n_classes, seed, sigma, scaling, n_threads, form):
    X, y = classes_that_differ(n, n_features, n_classes, seed)
    options = {"sigma": sigma, "scaling": scaling}
    expected = oracle.immigrate(X, y, **options)
    assert_immigrate(immigrate(FORMS[form](X), y, n_threads=n_threads, **options), expected)


def starts(kind, n):
    rng = np.random.default_rng(5)
    half = rng.normal(size=(n, 3))
    return {
        "diagonal": np.diag(rng.random(n) + 0.1),
        "low rank": half @ half.T,
        "indefinite": (lambda S: S + S.T + n * np.eye(n))(np.abs(rng.normal(size=(n, n)))) - 2 * np.eye(n)[0] * n,
    }[kind]


VARIANTS = {
    "paper": {},
    "package": {"clip": True},
    "small ones removed": {"smallest": "auto"},
    "small ones removed, less": {"smallest": 0.01},
    "small ones removed, clipped": {"smallest": 0.01, "clip": True},
    "negligible pairs left out": {"negligible": 1e-3},
    "few iterations": {"max_iter": 1},
    "converges": {"max_iter": 200, "tol": 1e-2},
    "start": {"W0": "diagonal"},
    "start of low rank": {"W0": "low rank"},
}


@covering(variant=VARIANTS.keys(), dtype=["float64", "float32"], n_classes=[2, 3])
def test_immigrate_variants(variant, dtype, n_classes):
    X, y = classes_that_differ(70, 14, n_classes, dtype=dtype)
    options = dict(VARIANTS[variant])
    if "W0" in options:
        options["W0"] = starts(options["W0"], 14)
    found = immigrate(X, y, **options)
    if "W0" in options:
        options["start"] = options.pop("W0")
    expected = oracle.immigrate(X, y, **options)
    if "smallest" in options:
        # No entry so close to the threshold that rounding moves it across.
        assert np.all((expected.weights == 0) | (expected.weights > 0.009))
    assert_immigrate(
        found, expected, options.get("tol", 1e-4), dtype, psd=not options.get("clip") and "smallest" not in options
    )
    if options.get("clip"):
        assert dense(found).min() >= 0


def drawn_start(seed, s, n):
    """The diagonal of start s, which is exponential."""
    bits = random_bits(seed ^ (s * 0xD1342543DE82EF95 & (1 << 64) - 1), n)
    return -np.log1p(-np.array([b >> 11 for b in bits]) * 2.0**-53)


@pytest.mark.parametrize("sigma", [1.0, "auto"])
@pytest.mark.parametrize("first", ["equal", "diagonal"])
def test_the_start_with_the_least_objective_wins(sigma, first):
    X, y = classes_that_differ(60, 8, 2)
    X[:, 3] = 1.0  # a constant column gets a number, which isn't used
    used = [0, 1, 2, 4, 5, 6, 7]
    W0 = None if first == "equal" else np.diag(drawn_start(99, 0, 8) + 0.1)
    options = {"auto": 4.0} if sigma == "auto" else {"sigma": sigma}
    D = oracle.differences(oracle.scale(X, "standard")[0])
    winners = set()
    for seed in (0, 7, 8):
        y = np.random.default_rng(seed).permutation(y)  # classes that differ let the starts agree
        fits = [oracle.immigrate(X, y, start=None if W0 is None else np.diag(W0)[used], max_iter=3, **options)]
        for s in range(1, 12):
            start = drawn_start(seed, s, 8)[used]
            fits.append(oracle.immigrate(X, y, start=start, max_iter=3, sigma=fits[0].sigma))
        G = [oracle.state(D, y, fit.weights, fit.sigma).objective for fit in fits]
        for n_starts in (1, 2, 3, 6, 12):
            best = int(np.argmin(G[:n_starts]))
            winners.add((seed, best))
            given = {"sigma": sigma, "W0": W0, "max_iter": 3, "n_starts": n_starts, "random_state": seed}
            assert_immigrate(fastfs.immigrate(X, y, **given), fits[best])
    assert len(winners) > 4, "the first start wins nearly always"


def test_starts_behind_the_prefilter_and_for_any_number_of_threads():
    X, y = classes_that_differ(60, 30, 2)
    of_one, *of_more = (
        fastfs.immigrate(X, y, prefilter="im4e", sigma=0.1, max_iter=3, n_starts=n_starts, n_threads=n_threads)
        for n_starts, n_threads in ((1, 1), (8, 1), (8, 3))
    )
    assert of_more[0].features.tolist() == of_one.features.tolist() != list(range(30))
    assert of_more[0].scores.tobytes() == of_more[1].scores.tobytes() != of_one.scores.tobytes()
    assert of_more[0].prefilter_weights.tobytes() == of_one.prefilter_weights.tobytes()
    estimator = fastfs.Immigrate(prefilter="im4e", sigma=0.1, max_iter=3, n_starts=8, n_jobs=1).fit(X, y)
    assert estimator.scores_.tobytes() == of_more[0].scores.tobytes()


def test_immigrate_start_with_negative_eigenvalues():
    """Allowed when clipping: f may be negative, and isn't cut off at 0."""
    X, y = classes_that_differ(60, 6)
    W0 = np.eye(6)
    W0[0, 1] = W0[1, 0] = 2.0
    W0[4, 4] = -0.5
    found = immigrate(X, y, W0=W0, clip=True)
    assert_immigrate(found, oracle.immigrate(X, y, start=W0, clip=True), psd=False)
    Z, _ = oracle.scale(X, "standard")
    assert oracle.form(oracle.differences(Z), W0).min() < 0


@pytest.mark.parametrize("n_samples, n_features", [(31, 64), (66, 33), (131, 17), (257, 8), (300, 70)])
def test_immigrate_across_tiles(n_samples, n_features):
    X, y = classes_that_differ(n_samples, n_features)
    found = [immigrate(X, y, n_threads=n, max_iter=3) for n in (1, 2, 3, 4)]
    assert_immigrate(found[0], oracle.immigrate(X, y, max_iter=3))
    for other in found[1:]:
        assert other.W.tobytes() == found[0].W.tobytes()
        assert other.cost.tobytes() == found[0].cost.tobytes()
        assert other.eigenvectors.tobytes() == found[0].eigenvectors.tobytes()


@covering(sizes=[(12, 100, True), (25, 530, True), (31, 530, False)], dtype=["float64", "float32"], n_classes=[2, 3])
def test_immigrate_in_the_space_of_pairs(sizes, dtype, n_classes):
    """Far fewer pairs of samples than features: W stays in factors and is never made."""
    n_samples, n_features, factors = sizes
    X, y = classes_that_differ(n_samples, n_features, n_classes, dtype=dtype)
    sigma = n_features**0.5
    found = [immigrate(X, y, sigma=sigma, prefilter=None, max_iter=5, n_threads=n) for n in (1, 3)]
    assert (found[0].W is None) == factors
    assert found[0].eigenvalues.tobytes() == found[1].eigenvalues.tobytes()
    assert found[0].eigenvectors.tobytes() == found[1].eigenvectors.tobytes()
    expected = oracle.immigrate(X, y, sigma=sigma, max_iter=5)
    assert_immigrate(found[0], expected, dtype=dtype)
    model = Immigrate(sigma=sigma, prefilter=None, max_iter=5).fit(X, y)
    np.testing.assert_allclose(model.W_, expected.weights, rtol=0, atol=PROMISED[dtype])


@pytest.mark.parametrize("options", [{}, {"smallest": "auto"}, {"clip": True}, {"max_iter": 1}], ids=str)
def test_im4e_immigrate(options):
    X, y = classes_that_differ(60, 40, 3)
    expected = oracle.im4e_immigrate(X, y, **options)
    assert 2 < len(expected.used) < 38
    model = Immigrate(prefilter="im4e", **options).fit(X, y)
    found = immigrate(X, y, prefilter="im4e", **options)
    assert_immigrate(found, expected, psd=not options.get("clip") and "smallest" not in options)
    assert model.kept_features_.tolist() == expected.used.tolist()
    assert np.all(model.scores_[np.setdiff1d(np.arange(40), expected.used)] == 0)
    first = oracle.im4e(X, y, **{k: v for k, v in options.items() if k == "max_iter"})
    np.testing.assert_allclose(model.prefilter_weights_, first.scores, rtol=0, atol=1e-10)
    assert Immigrate().fit(X, y).prefilter_weights_ is None


# ---------------------------------------------------------------------------------------------------- blocks and stages


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_by_blocks_of_rows(dtype):
    """700 x 700 doubles are 3.9 MB."""
    X, y = classes_that_differ(700, 5, 3, dtype=dtype)
    for estimator in (IM4E(max_iter=3), Immigrate(max_iter=3)):
        stored, *blocks = (
            type(estimator)(**(estimator.get_params() | {"max_memory": memory, "n_jobs": n})).fit(X, y)
            for memory, n in ((None, 2), ("3M", 1), ("3M", 2), ("3M", 4))
        )
        assert stored.algorithm_ == "stored"
        for model in blocks:
            assert model.algorithm_ == "blocks"
            assert model.scores_.tobytes() == blocks[0].scores_.tobytes()
            assert model.cost_.tobytes() == blocks[0].cost_.tobytes()
        np.testing.assert_allclose(blocks[0].scores_, stored.scores_, rtol=0, atol=PROMISED[dtype])
        np.testing.assert_allclose(blocks[0].cost_, stored.cost_, rtol=PROMISED[dtype])
        np.testing.assert_allclose(blocks[0].objective_, stored.objective_, rtol=PROMISED[dtype])


def test_by_blocks_of_rows_against_the_oracle():
    X, y = classes_that_differ(400, 4, 3)
    assert_im4e(im4e(X, y, max_memory="1M"), oracle.im4e(X, y))
    assert_immigrate(immigrate(X, y, max_memory="1M"), oracle.immigrate(X, y))


@pytest.mark.parametrize("keep", ["none", "manhattan", "sqeuclidean"])
def test_one_stage_serves_many_labels(keep):
    """Permutation tests repeat only what depends on the labels."""
    X, y = classes_that_differ(60, 20)
    run = Run()
    stage = MarginStage(X, {"scaling": "standard"}, run, keep).core_margin
    iteration = {"sigma_rule": "given", "sigma": 1.0, "max_iter": 5, "tol": 0.0}
    for seed in range(3):
        labels = np.random.default_rng(seed).permutation(y).astype(np.int64)
        found = stage.im4e(labels, 2, iteration, run)
        np.testing.assert_allclose(found["weights"], im4e(X, labels, max_iter=5, tol=0.0).weights, rtol=0, atol=1e-12)
        matrix = stage.immigrate(labels, 2, iteration, run)
        np.testing.assert_allclose(matrix["W"], immigrate(X, labels, max_iter=5, tol=0.0).W, rtol=0, atol=1e-12)
        for method in ("relief", "relieff", "multisurf"):
            scores = stage.relief(labels, 2, {"method": method}, run)["scores"]
            alone = getattr(fastfs, f"{method}_scores")(X, labels, scaling="standard")
            np.testing.assert_allclose(scores, alone, rtol=0, atol=1e-13)


@pytest.mark.parametrize("call", ["im4e", "immigrate"])
def test_blocks_stay_within_the_budget(call):
    """4000 samples: stored pairs would be 128 MB a matrix."""
    arguments = [call, "20000000", "4000", "3", "{'max_iter': 2}"]
    done = subprocess.run([sys.executable, "-c", PEAK, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 0 < int(done.stdout) <= 20e6 + 16e6  # BLAS and the allocator keep some MB


class Grouped:
    """The first step of IM4E and IMMIGRATE from few distinct rows and how often each occurs in each class.

    What sums over pairs of rows becomes a sum over pairs of groups, with counts, less each sample itself.
    """

    def __init__(self, rows, counts, sigma, matrix):
        """rows: (G, A) scaled; counts: (G, C)."""
        D = oracle.differences(rows)
        weights = np.eye(rows.shape[1]) if matrix else np.full(rows.shape[1], 1 / rows.shape[1])
        weights = weights / np.linalg.norm(weights) if matrix else weights
        F = oracle.form(D, weights)
        slope, self.objective = np.zeros(weights.shape), 0.0
        for c in range(counts.shape[1]):
            of_class = np.broadcast_to(counts[:, c], F.shape) - np.eye(len(F))  # as seen by a sample of the class
            others = np.broadcast_to(counts.sum(axis=1) - counts[:, c], F.shape)
            for sign, mass in ((1, of_class), (-1, others)):
                E = mass * np.exp(-F / sigma)
                total = E.sum(axis=1)
                self.objective -= sign * sigma * counts[:, c] @ np.log(total)
                g = sign * counts[:, c, None] * E / total[:, None]
                slope += np.einsum("ij,ija,ijb->ab", g, D, D) if matrix else np.einsum("ij,ija->a", g, D)
        if matrix:
            self.weights = oracle.from_sigma(slope)
        else:
            v = np.maximum(-slope, 0)
            self.weights = v / v.sum()


@pytest.mark.parametrize("n", [400, pytest.param(46_400, marks=pytest.mark.huge)])
@pytest.mark.parametrize("matrix", [False, True])
def test_more_samples_than_pairs_in_32_bits(n, matrix):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    first = np.where(rng.random(n) < 0.5, rng.integers(0, 6, n), 3 * y + rng.integers(0, 3, n))
    X = np.c_[first, rng.integers(0, 3, n)].astype(float)
    rows, group = np.unique(X, axis=0, return_inverse=True)
    counts = np.stack([np.bincount(group.ravel()[y == c], minlength=len(rows)) for c in (0, 1)], axis=1)
    assert counts.min() > 0
    expected = Grouped(rows, counts, 0.5, matrix)
    options = {"sigma": 0.5, "scaling": None, "max_iter": 1, "max_memory": "1G"}
    if matrix:
        found = immigrate(X, y, **options)
        np.testing.assert_allclose(dense(found), expected.weights, rtol=0, atol=1e-10)
    else:
        found = im4e(X, y, **options)
        np.testing.assert_allclose(found.weights, expected.weights, rtol=0, atol=1e-10)
    assert found.objective[0] == pytest.approx(expected.objective, rel=1e-10)


# ----------------------------------------------------------------------------------------------------------- properties


def both(X, y, **options):
    """Scores and weights by IM4E and by IMMIGRATE, after a fixed number of iterations."""
    options = {"tol": 0.0, "max_iter": 6} | options
    return im4e(X, y, **options).weights, immigrate(X, y, **options).W


def test_what_changes_nothing():
    X, y = classes_that_differ(50, 8, 3)
    w, W = both(X, y)
    rng = np.random.default_rng(3)
    order, features = rng.permutation(50), rng.permutation(8)
    back = np.argsort(features)
    moved_w, moved_W = both(X[:, features], y)
    same = {
        "samples in another order": both(X[order], y[order]),
        "features in another order": (moved_w[back], moved_W[np.ix_(back, back)]),
        "other names": both(X, np.array(["z", "a", "m"])[y]),
        "a shift": both(X + 4.0, y),
        "a reflection": both(X * np.where(np.arange(8) % 2, 1, -1), y),
        "other units": both(X * np.logspace(-8, 8, 8), y),
        "more threads": both(X, y, n_threads=3),
    }
    for what, (other_w, other_W) in same.items():
        np.testing.assert_allclose(other_w, w, rtol=0, atol=1e-12, err_msg=what)
        np.testing.assert_allclose(other_W, W, rtol=0, atol=1e-12, err_msg=what)


def test_constant_features_count_for_nothing():
    X, y = classes_that_differ(50, 8, 3)
    wider = np.insert(X, [0, 4, 8], [1.0, -3.5, 0.0], axis=1)
    rest = np.r_[1:5, 6:10]
    plain, found = im4e(X, y), im4e(wider, y)
    assert found.weights[[0, 5, 10]].tolist() == [0, 0, 0]
    np.testing.assert_allclose(found.weights[rest], plain.weights, rtol=0, atol=1e-13)
    plain, found = immigrate(X, y), immigrate(wider, y)
    assert found.features.tolist() == rest.tolist()
    np.testing.assert_allclose(found.W, plain.W, rtol=0, atol=1e-13)
    assert found.scores[[0, 5, 10]].tolist() == [0, 0, 0]
    pairs = found.top_pairs(100)
    assert not set(pairs["a"]) & {0, 5, 10}
    W0 = np.zeros((11, 11))
    W0[np.ix_(rest, rest)] = starts("low rank", 8)
    W0[0, 0] = 3.0
    plain, found = immigrate(X, y, W0=starts("low rank", 8)), immigrate(wider, y, W0=W0)
    np.testing.assert_allclose(found.W, plain.W, rtol=0, atol=1e-12)


def test_copies_stay_equal():
    X, y = classes_that_differ(50, 8, 3)
    w, W = both(np.c_[X, X[:, 2]], y)
    assert w[2] == w[8]
    np.testing.assert_allclose(W[2], W[8], rtol=0, atol=1e-14)
    np.testing.assert_allclose(W[2, 2], W[2, 8], rtol=0, atol=1e-14)


@pytest.mark.parametrize("scale", [1 / 8, 4.0, 0.3])
def test_scaling_of_all_features_is_one_of_sigma(scale):
    X, y = classes_that_differ(50, 6, 3)
    X = oracle.scale(X, "standard")[0]
    w, W = both(X, y, scaling=None)
    scaled = im4e(X * scale, y, scaling=None, sigma=scale, tol=0.0, max_iter=6)
    np.testing.assert_allclose(scaled.weights, w, rtol=0, atol=1e-12)
    scaled = immigrate(X * scale, y, scaling=None, sigma=scale**2, tol=0.0, max_iter=6)
    np.testing.assert_allclose(scaled.W, W, rtol=0, atol=1e-12)


def test_large_sigma_takes_means():
    X, y = classes_that_differ(40, 6, 3)
    D = oracle.differences(oracle.scale(X, "standard")[0])
    hits, misses = (m / m.sum(axis=1, keepdims=True) for m in oracle.hits_and_misses(y))
    S = hits - misses
    v = np.maximum(-np.einsum("ij,ija->a", S, D), 0)
    W = oracle.from_sigma(np.einsum("ij,ija,ijb->ab", S, D, D))
    for sigma in (1e9, 1e200):
        w_found, W_found = both(X, y, sigma=sigma, max_iter=3)
        np.testing.assert_allclose(w_found, v / v.sum(), rtol=0, atol=1e-7)
        np.testing.assert_allclose(W_found, W, rtol=0, atol=1e-7)


@rotating(1, sigma=[1e-6, 1e-12, 1e-300], memory=[None, "900K"])
def test_small_sigma_takes_nearest_neighbours(sigma, memory):
    """All of exp(-f / sigma) underflow, unless the least f is taken off first."""
    X, y = classes_that_differ(350, 3, 3)
    Z, _ = oracle.scale(X, "standard")
    D = oracle.differences(Z)
    hits, misses = oracle.hits_and_misses(y)
    for matrix in (False, True):
        weights = np.eye(3) / np.sqrt(3) if matrix else np.full(3, 1 / 3)
        F = oracle.form(D, weights)
        slope, objective, rows = np.zeros(weights.shape), 0.0, np.arange(350)
        for sign, mask in ((1, hits), (-1, misses)):
            nearest = np.where(mask, F, np.inf).argmin(axis=1)
            objective += sign * F[rows, nearest].sum()
            d = D[rows, nearest]
            slope += sign * (d.T @ d if matrix else d.sum(axis=0))
        options = {"sigma": sigma, "max_iter": 1, "max_memory": memory}
        if matrix:
            found = immigrate(X, y, **options)
            np.testing.assert_allclose(found.W, oracle.from_sigma(slope), rtol=0, atol=1e-6 if sigma == 1e-6 else 1e-10)
        else:
            found = im4e(X, y, **options)
            v = np.maximum(-slope, 0)
            np.testing.assert_allclose(found.weights, v / v.sum(), rtol=0, atol=1e-6 if sigma == 1e-6 else 1e-10)
        assert found.objective[0] == pytest.approx(objective, rel=1e-4 if sigma == 1e-6 else 1e-10)
        assert np.isfinite(found.cost).all()


def twins(n=20):
    """Each sample once in each class: the nearest miss is at distance 0, and no hit is."""
    X = np.repeat(classes_that_differ(n, 4)[0], 2, axis=0)
    return X, np.arange(2 * n) % 2


@pytest.mark.parametrize("memory", [None, "3M"])
def test_no_direction_with_a_positive_margin(memory):
    """The weights before stay: those of the start."""
    X, y = twins(20 if memory is None else 350)
    with pytest.warns(fastfs.DataWarning, match="hits came to lie no nearer than misses"):
        found = im4e(X, y, sigma=0.01, max_memory=memory)
    expected = oracle.im4e(X, y, sigma=0.01)
    assert expected.stuck
    assert not found.converged
    np.testing.assert_allclose(found.weights, [0.25] * 4, rtol=0, atol=1e-15)
    with pytest.warns(fastfs.DataWarning, match="hits came to lie no nearer than misses"):
        found = immigrate(X, y, sigma=0.01, max_memory=memory)
    assert oracle.immigrate(X, y, sigma=0.01).stuck
    assert not found.converged
    np.testing.assert_allclose(found.W, np.eye(4) / 2, rtol=0, atol=1e-15)
    with pytest.warns(fastfs.DataWarning, match="hits came"):
        model = Immigrate(sigma=0.01).fit(X, y)
    assert model.predict(X).tolist() == [0] * len(X)  # equal distances: the first class


def test_stuck_later():
    """Weights of the iteration before, not of the start."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(12, 2)), np.arange(12) % 2
        expected = oracle.im4e(X, y, sigma=0.1, tol=0.0, max_iter=50)
        if expected.stuck and expected.n_iter > 0:
            break
    else:
        pytest.fail("no data found that get stuck later")
    with pytest.warns(fastfs.DataWarning, match="hits came"):
        found = im4e(X, y, sigma=0.1, tol=0.0, max_iter=50)
    assert found.n_iter == expected.n_iter
    assert not found.converged
    np.testing.assert_allclose(found.weights, expected.scores, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.cost, expected.cost, rtol=1e-9)


def test_duplicate_samples():
    """Of one class and of both: distances of 0 are no trouble."""
    X, y = classes_that_differ(30, 5)
    X, y = np.r_[X, X[:10], X[:6]], np.r_[y, y[:10], 1 - y[:6]]
    assert_im4e(im4e(X, y), oracle.im4e(X, y))
    assert_immigrate(immigrate(X, y), oracle.immigrate(X, y))
    with pytest.warns(fastfs.DataWarning, match="hits came"):
        im4e(*twins(), sigma=1e-6)


def test_class_of_one_sample():
    X, y = classes_that_differ(31, 5)
    y[:] = np.arange(31) % 2
    y[7] = 2
    with pytest.warns(fastfs.DataWarning, match="one sample only in class 2"):
        assert_im4e(im4e(X, y), oracle.im4e(X, y))
    with pytest.warns(fastfs.DataWarning, match="one sample only in class 2"):
        assert_immigrate(immigrate(X, y), oracle.immigrate(X, y))


def test_only_classes_of_one_sample():
    X, _ = classes_that_differ(5, 4)
    with pytest.raises(ValueError, match="5 of 5 samples alone in their class"):
        im4e(X, np.arange(5))


@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_offsets_cost_no_digits(offset):
    X, y = classes_that_differ(40, 6)
    X = np.rint(X * 2**20) / 2**20
    assert_im4e(im4e(X + offset, y, scaling="range"), oracle.im4e(X, y, scaling="range"))
    shifted = (np.rint(X * 16) / 16 + 1e3).astype(np.float32)
    expected = oracle.immigrate(shifted.astype(float) - 1e3, y)
    assert_immigrate(immigrate(shifted, y), expected, dtype="float32")


# ----------------------------------------------------------------------------------------------------------- prediction


def models(dtype="float64", **options):
    X, y = classes_that_differ(80, 7, 3, dtype=dtype)
    X[:, 4] = 2.5  # constant
    im4e, matrix = IM4E(**options).fit(X, y), Immigrate(**options).fit(X, y)
    # The weights found, so that only the prediction is compared.
    first = oracle.Fit(im4e.weights_, np.arange(7), None, im4e.sigma_, [], [], False, False)
    second = oracle.Fit(matrix.W_, matrix.kept_features_, None, matrix.sigma_, [], [], False, False)
    first.weights, first.used = first.weights[[0, 1, 2, 3, 5, 6]], second.used
    return X, y, ((im4e, first), (matrix, second))


@covering(sigma=[0.05, 1.0, "auto"], scaling=["standard", "range"], dtype=["float64", "float32"])
def test_prediction(dtype, sigma, scaling):
    X, y, fits = models(dtype, sigma=sigma, scaling=scaling)
    new = classes_that_differ(133, 7, 3, seed=9, dtype=dtype)[0]
    for model, fit in fits:
        expected = oracle.expected_distance(X, y, fit, new, scaling)
        rtol = 1e-10 if dtype == "float64" else 1e-4 / fit.sigma
        for form in FORMS.values():
            np.testing.assert_allclose(model.expected_distance(form(new)), expected, rtol=rtol)
        clear = np.ptp(np.sort(expected, axis=1)[:, :2], axis=1) > 2 * rtol * expected.min(axis=1)
        assert clear.mean() > 0.5
        assert model.predict(new)[clear].tolist() == expected.argmin(axis=1)[clear].tolist()
        one = np.concatenate([model.expected_distance(row[None]) for row in new])
        np.testing.assert_allclose(one, expected, rtol=rtol)
        assert not hasattr(model, "predict_proba")


@pytest.mark.parametrize("n_jobs", [2, 3, 4])
def test_prediction_has_the_same_bits_for_any_number_of_threads(n_jobs):
    X, _, fits = models()
    for model, _ in fits:
        model.set_params(n_jobs=1)
        expected = model.expected_distance(X)
        model.set_params(n_jobs=n_jobs)
        assert model.expected_distance(X).tobytes() == expected.tobytes()


@pytest.mark.parametrize("distance", [1e3, 1e8])
def test_prediction_far_from_all_training_points(distance):
    X, y, fits = models(sigma=0.1)
    directions = np.random.default_rng(0).normal(size=(20, 7))
    far = X.mean(axis=0) + distance * directions * X.std(axis=0)
    for model, fit in fits:
        found = model.expected_distance(far)
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found, oracle.expected_distance(X, y, fit, far), rtol=1e-8)
    # IM4E: all distances grow alike, so the class is that of the nearest sample, where that is clear.
    model, fit = fits[0]
    D = oracle.differences(oracle.scale(X, "standard")[0], oracle.rescale(X, far, "standard"))
    nearest = oracle.form(D, fit.weights)
    least = np.stack([nearest[:, y == c].min(axis=1) for c in range(3)], axis=1)
    clear = np.diff(np.sort(least, axis=1))[:, 0] > 0.1
    if distance == 1e3:
        assert clear.sum() >= 5
        assert model.predict(far)[clear].tolist() == least.argmin(axis=1)[clear].tolist()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_prediction_at_training_points_with_small_sigma(dtype):
    """At sigma -> 0 it is the nearest neighbour, which is the sample itself."""
    X, y, fits = models(dtype, sigma=1e-6)
    for model, _ in fits:
        found = model.expected_distance(X)
        assert np.abs(found[np.arange(len(y)), y]).max() <= 1e-6
        assert model.predict(X).tolist() == y.tolist()


def test_equal_distances_give_the_first_class():
    X = np.array([[-1.0, 1], [-1, 2], [1, 1], [1, 2]])
    for model in (IM4E(scaling=None), Immigrate(scaling=None)):
        for labels in (["b", "b", "a", "a"], ["a", "a", "b", "b"]):
            found = model.fit(X, labels)
            distances = found.expected_distance([[0.0, 1.5]])
            assert distances[0, 0] == distances[0, 1]
            assert found.predict([[0.0, 1.5]]).tolist() == ["a"]


@pytest.mark.parametrize("labels", [["x", "y", "z"], [3.0, -1.0, 7.0], [False, True, True]])
def test_labels_come_back_as_they_were(labels):
    X, y = classes_that_differ(60, 5, 3)
    named = np.array(labels)[y]
    for model in (IM4E().fit(X, named), Immigrate().fit(X, named)):
        assert model.classes_.tolist() == np.unique(named).tolist()
        assert model.predict(X).dtype == named.dtype
        assert model.score(X, named) > 0.6


# --------------------------------------------------------------------------------------------------------- explanations


@pytest.mark.parametrize("sigma", [0.3, 2.0])
def test_explanation(sigma):
    X, y, fits = models(sigma=sigma)
    new = classes_that_differ(20, 7, 3, seed=9)[0]
    for model, fit in fits:
        e = model.expected_distance(new)
        for wanted in (None, np.arange(20) % 3):
            found = model.explain(new, wanted, top=1000)
            asked = e.argmin(axis=1) if wanted is None else wanted
            expected = oracle.explain(X, y, fit, new, asked)
            for n, (one, parts) in enumerate(zip(found, expected, strict=True)):
                rival = np.delete(e[n], asked[n]).min()
                assert one.label == asked[n]
                assert one.margin == pytest.approx(rival - e[n, asked[n]], abs=1e-10)
                atol = 1e-9 * np.abs(parts).max()
                assert parts.sum() == pytest.approx(one.margin, abs=20 * atol)
                by_feature = np.zeros(7)
                by_feature[one.features["feature"]] = one.features["part"]
                if parts.ndim == 1:
                    np.testing.assert_allclose(by_feature[fit.used], parts, rtol=0, atol=atol)
                    assert len(one.pairs) == 0
                    continue
                np.testing.assert_allclose(by_feature[fit.used], parts.sum(axis=0), rtol=0, atol=10 * atol)
                pairs = np.zeros((7, 7))
                pairs[one.pairs["a"], one.pairs["b"]] = one.pairs["part"]
                both_halves = np.triu(parts) + np.triu(parts.T, 1)
                np.testing.assert_allclose(pairs[np.ix_(fit.used, fit.used)], both_halves, rtol=0, atol=2 * atol)
                assert np.all(np.diff(np.abs(one.pairs["part"])) <= 0)
        first = model.explain(new, top=2)[0]
        everything = model.explain(new, top=1000)[0]
        assert first.features.tolist() == everything.features[:2].tolist()


# ---------------------------------------------------------------------------------------------------------------- pairs


@rotating(1, by=["weight", "residual"], shape=[(60, 9), (15, 150)])
def test_top_pairs(shape, by):
    X, y = classes_that_differ(*shape)
    found = immigrate(X, y, sigma=2.0)
    W = dense(found)
    leading = found.eigenvalues[0] * np.outer(found.eigenvectors[:, 0], found.eigenvectors[:, 0])
    a, _, weight = oracle.pairs(W, residual=by == "residual")
    n_pairs = len(a)
    for n in (0, 1, 20, n_pairs, 10 * n_pairs):
        pairs = found.top_pairs(n, by=by)
        assert len(pairs) == min(n, n_pairs)
        assert np.all(pairs["a"] < pairs["b"])
        np.testing.assert_allclose(np.abs(pairs[by]), np.abs(weight[: len(pairs)]), rtol=0, atol=1e-12)
        np.testing.assert_allclose(pairs["weight"], W[pairs["a"], pairs["b"]], rtol=0, atol=1e-12)
        np.testing.assert_allclose(pairs["residual"], (W - leading)[pairs["a"], pairs["b"]], rtol=0, atol=1e-12)
        assert len(set(pairs[["a", "b"]].tolist())) == len(pairs)


def test_interactions():
    X, y = classes_that_differ(60, 20)
    model = Immigrate().fit(X, y)
    assert model.interactions_.dtype.names == ("a", "b", "weight", "residual")
    assert len(model.interactions_) == 100
    assert model.interactions_.tolist() == model.top_pairs(100).tolist()
    assert model.top_pairs().tolist() == model.interactions_[:20].tolist()
    np.testing.assert_allclose(model.scores_, (model.W_**2).sum(axis=1), rtol=0, atol=1e-12)
    one = Immigrate().fit(X[:, :1], y)
    assert len(one.interactions_) == 0
    assert one.W_.tolist() == [[1.0]]


def test_pairs_are_columns_of_X():
    rng = np.random.default_rng(0)
    X = np.insert(rng.normal(size=(300, 4)), [0, 2], 1.0, axis=1)  # columns 0 and 3 are constant
    y = (X[:, 2] + X[:, 5] > 0).astype(int)
    pair = Immigrate().fit(X, y).interactions_[0]
    assert (pair["a"], pair["b"]) == (2, 5)


# ------------------------------------------------------------------------------------------------- figures of the guide


@pytest.mark.slow
def test_course_on_wdbc(load):
    """As published in the guide: neither cost nor G falls steadily."""
    X, y = load("wdbc")
    cost = [-7628, -6444, -6418, -6422, -6424]
    objective = [-2110, -6298, -6377, -6388, -6381, -6378]
    found = immigrate(X, y, clip=True, tol=0.0)
    assert found.cost[:5].round().tolist() == cost
    assert found.objective[:6].round().tolist() == objective
    assert found.objective[9].round() == -6343
    expected = oracle.immigrate(X, y, clip=True, tol=0.0)
    assert_immigrate(found, expected, tol=0.0, psd=False)
    narrow = immigrate(X.astype(np.float32), y, clip=True, tol=0.0)
    assert_immigrate(narrow, expected, tol=0.0, dtype="float32", psd=False)


def split(load, name):
    X, y = load(name)
    n_train = {"monks1": 124, "monks2": 169, "monks3": 122}[name]
    assert len(X) == n_train + 432
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


@pytest.mark.parametrize(
    "name, sigma, accuracy",
    [
        ("monks1", 0.1, 0.65),
        ("monks1", 1.0, 0.72),
        ("monks1", 4.0, 0.81),
        ("monks3", 1.0, 0.963),
        ("monks3", 4.0, 0.972),
    ],
)
def test_monks(load, name, sigma, accuracy):
    X, y, new, truth = split(load, name)
    model = Immigrate(sigma=sigma, clip=True).fit(X, y)
    assert model.score(new, truth) == pytest.approx(accuracy, abs=0.006)
    if (name, sigma) == ("monks1", 1.0):
        assert model.interactions_[0][["a", "b"]].tolist() == (1, 4)  # not (0, 1), though y asks if these are equal
    if (name, sigma) == ("monks3", 1.0):
        assert np.diag(model.W_).argmax() == 4


def test_monks1_one_hot(load):
    """|d| on codes can't say that two attributes are equal; on indicators it can, in a narrow window of sigma."""
    X, y, new, truth = split(load, "monks1")
    coded, new = (np.concatenate([A[:, [a]] == np.unique(X[:, a]) for a in range(6)], axis=1) * 1.0 for A in (X, new))
    scores = {}
    for sigma in (0.005, 0.02, 0.03, 1.0):
        model = Immigrate(sigma=sigma, clip=True, scaling=None).fit(coded, y)
        scores[sigma] = model.score(new, truth)
        if sigma == 0.02:
            assert model.interactions_[0][["a", "b"]].tolist() == (0, 1)
    assert scores[0.02] == pytest.approx(0.995, abs=0.006)
    assert scores[0.03] == pytest.approx(0.97, abs=0.01)
    assert max(scores[0.005], scores[1.0]) <= 0.81


@pytest.mark.parametrize("sigma", [0.05, 1.0, 4.0])
def test_monks2_is_beyond_the_method(load, sigma):
    X, y, new, truth = split(load, "monks2")
    accuracy = Immigrate(sigma=sigma, clip=True).fit(X, y).score(new, truth)
    assert 0.57 <= accuracy <= 0.63 < 0.67


@pytest.mark.slow
def test_im4e_on_madelon(load):
    X, y = load("madelon")
    useful = {28, 48, 64, 105, 128, 153, 241, 281, 318, 336, 338, 378, 433, 442, 451, 453, 455, 472, 475, 493}
    rows = np.random.default_rng(0).choice(len(X), 300, replace=False)
    found = im4e(X[rows], y[rows], sigma=0.1, max_iter=3)
    assert len(useful & set(np.argsort(-found.weights)[:20])) >= 17
    assert_im4e(found, oracle.im4e(X[rows], y[rows], sigma=0.1, max_iter=3))


def test_noise_figure():
    """Two pairs of clouds, with more and more noise: the interaction's weight hardly changes."""
    for noise in (0.0, 0.05, 0.25, 0.5):
        rng = np.random.default_rng(0)
        n = round(100 * (1 - noise))
        clouds = (([4, 2], [8, -2]), ([6, 0], [2, 4]))
        X = np.concatenate(
            [
                np.r_[rng.normal(clean, 1, size=(n, 2)), rng.normal(other, 8**0.5, size=(100 - n, 2))]
                for clean, other in clouds
            ]
        )
        found = immigrate(X, np.repeat([0, 1], 100))
        assert 0.35 <= found.W[0, 1] <= 0.40
        if noise == 0:
            np.testing.assert_allclose(found.W, [[0.62, 0.37], [0.37, 0.58]], rtol=0, atol=0.05)
            clipped = immigrate(X, np.repeat([0, 1], 100), clip=True)
            np.testing.assert_allclose(clipped.W, found.W, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_colon(load):
    """2000 features: IM4E first, W of what it keeps, in factors."""
    X, y = load("colon")
    X = np.log2(X)
    expected = oracle.im4e_immigrate(X, y)
    assert 500 < len(expected.used) < 800
    found = immigrate(X, y)
    assert_immigrate(found, expected)
    narrow = immigrate(X.astype(np.float32), y)
    if narrow.features.tolist() == expected.used.tolist():  # a weight at the threshold may fall on either side
        np.testing.assert_allclose(narrow.scores, expected.scores, rtol=0, atol=1e-5)
    model = Immigrate(20).fit(X, y)
    assert model.transform(X).shape == (62, 20)
    assert model.score(X, y) > 0.7


@pytest.mark.parametrize(
    "name", ["ecoli", "haberman", *(pytest.param(n, marks=pytest.mark.slow) for n in ("lymphography", "heart_statlog"))]
)
def test_small_classes_and_ties(load, name):
    """Classes of two samples; integers with duplicates of both classes."""
    X, y = load(name)
    assert_im4e(im4e(X, y), oracle.im4e(X, y))
    assert_immigrate(immigrate(X, y), oracle.immigrate(X, y))
