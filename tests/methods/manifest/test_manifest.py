"""ManiFeSt's scores for two classes: the oracle, the properties of the method, and what is known of real and planted
data. The tolerances are those of reference/tolerance.py."""

import functools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy.stats import ortho_group
from sklearn.datasets import load_digits, make_classification
from threadpoolctl import threadpool_limits

import fastfs
from covering import rotating
from fastfs import ManiFeSt
from fastfs._machine.run import Run, load_core
from reference import manifest as oracle
from reference.tolerance import EPS, PROMISED, SINGULAR, assert_close, full_rank_tolerance, singular_noise


def assert_agrees(X, y, *, n_threads=1, choose=None, **options):
    """The core and the oracle, by the equations as printed; `choose` is told whether the kernels allow it."""
    expected = oracle.manifest(np.asarray(X, dtype=float), y, **options)
    tolerance = full_rank_tolerance(expected.K1, expected.K2, len(y))
    comparable = tolerance <= PROMISED * expected.scores.max()
    if choose:
        choose(comparable)
    assert comparable
    scores = fastfs.manifest_scores(X, y, n_threads=n_threads, **options)
    assert scores.dtype == np.float64
    assert_close(scores, expected.scores, 0, tolerance)


def two_classes(n=40, d=30, seed=0):
    """Correlated features whose relations differ between the classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, d))
    X[y == 1, : d // 3] += 0.7 * X[y == 1, -1:]
    X[y == 0, d // 2 :] += 0.5 * X[y == 0, :1]
    return X, y


def singular_data(n=40, d=30, seed=0):
    X, y = two_classes(n, d, seed)
    X[:, 5] = X[:, 4] = X[:, 3]
    X[:, [10, 11]] = 2.0
    return X, y


@functools.cache
def digits():
    X, y = load_digits(return_X_y=True)
    chosen = np.isin(y, (4, 9))
    return X[chosen], y[chosen]


def fit(X, y, **options):
    return fastfs.ManiFeSt(n_jobs=1, **options).fit(X, y)


# --------------------------------------------------------------------------------------------------------------- oracle

RULES = st.one_of(
    st.fixed_dictionaries({"sigma_factor": st.floats(0.05, 0.7)}),
    st.fixed_dictionaries({"sigma": st.just("percentile"), "sigma_percentile": st.floats(0.1, 40)}),
    st.fixed_dictionaries({"sigma": st.tuples(st.floats(1, 4), st.floats(1, 4))}),
)


@given(
    n=st.integers(20, 60),
    d=st.integers(3, 40),
    seed=st.integers(0, 2**32 - 1),
    rule=RULES,
    normalize=st.integers(0, 3),
    dtype=st.sampled_from([np.float32, np.float64]),
    n_threads=st.integers(1, 3),
)
def test_equations(n, d, seed, rule, normalize, dtype, n_threads):
    X, y = two_classes(n, d, seed)
    assert_agrees(X.astype(dtype), y, normalize=normalize, n_threads=n_threads, choose=assume, **rule)


@rotating(1, d=[191, 192, 193, 385, 600], n_threads=[1, 2])
def test_equations_across_tiles(d, n_threads):
    X, y = two_classes(60, d)
    expected = oracle.manifest(X, y).scores
    assert_close(fastfs.manifest_scores(X, y, n_threads=n_threads), expected, PROMISED)


@rotating(1, ratio=[1e-2, 1e-4, 1e-6, 1e-7, 1e-8, 1e-12, 1e-15], form={"dense": np.asarray, "sparse": sp.csr_matrix})
def test_features_of_different_units(ratio, form):
    """Most features are small beside a few: their distances, and so the kernels' condition, go with the small ones.

    A constant added to a whole row changes no distance, but it must not be one that buries the small features.
    """
    X, y = two_classes(20, 13)
    X[:, 3:] *= ratio
    expected = oracle.manifest(X, y)
    assert full_rank_tolerance(expected.K1, expected.K2, len(y)) <= PROMISED * expected.scores.max()
    assert_close(fastfs.manifest_scores(form(X), y), expected.scores, PROMISED)


@pytest.mark.parametrize("q", [0.001, 1, 10, 50, 99, 99.999])
def test_percentiles_of_the_distances(q):
    # Interpolation at both ends and inside; the scale is compared, which carries rounding errors only.
    X, y = two_classes(50, 7)
    sigma = fit(X, y, sigma="percentile", sigma_percentile=q).sigma_
    expected = [oracle.sigma_rule(oracle.distances(X[y == c]), "percentile", percentile=q) for c in (0, 1)]
    np.testing.assert_allclose(sigma, expected, rtol=50 * EPS)


@pytest.mark.parametrize("d", [2, 3, 4, 5, 30])
def test_median_of_the_distances(d):
    # d (d - 1) / 2 pairs, odd or even in number: the median interpolates or doesn't.
    X, y = two_classes(50, d)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastfs.DataWarning)  # d = 2
        sigma = fit(X, y, sigma_factor=0.7).sigma_
    expected = [oracle.sigma_rule(oracle.distances(X[y == c]), "median", 0.7) for c in (0, 1)]
    np.testing.assert_allclose(sigma, expected, rtol=50 * EPS)


@rotating(1, normalize=[0, 1, 3], data={"duplicates": singular_data, "digits": digits})
def test_singular_kernels(data, normalize):
    X, y = data()
    expected = oracle.manifest(X, y, normalize=normalize, singular=True)
    found = fit(X, y, normalize=normalize)
    assert_close(found.scores_, expected.scores, SINGULAR)
    assert found.kernel_rank_ < X.shape[1]


@given(
    d=st.integers(4, 25),
    n_values=st.integers(2, 4),
    n=st.integers(4, 20),
    seed=st.integers(0, 2**32 - 1),
    normalize=st.integers(0, 3),
)
@example(d=18, n_values=4, n=4, seed=607431, normalize=1)  # pencil values of exactly -1
def test_small_integers(d, n_values, n, seed, normalize):
    """Ties, duplicated and constant columns as they come."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, n_values, size=(n, d)), np.arange(n) % 2
    # All features equal in a class: refused, see test_bad_input.py.
    assume(not any(np.all(X[y == c] == X[y == c][:, :1]) for c in (0, 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastfs.DataWarning)
        scores = fastfs.manifest_scores(X, y, sigma_factor=0.4, normalize=normalize)
    expected = oracle.manifest(X, y, singular=True, sigma_factor=0.4, normalize=normalize)
    assert_close(scores, expected.scores, SINGULAR, singular_noise(expected.K1, expected.K2))


@pytest.mark.parametrize("d, factor", [(3, 0.5), (5, 1.0), (10, 0.5), (10, 1.5)])
def test_fifty_digits(d, factor):
    """The equations in 50 digits, from the kernels in double: what is left is the core's own error."""
    X, y = two_classes(25, d)
    K1, K2, _ = oracle.kernels(X, y, sigma_factor=factor)
    exact, _ = oracle.manifest_mp(K1, K2)
    assert_close(fastfs.manifest_scores(X, y, sigma_factor=factor), exact, 0, full_rank_tolerance(K1, K2, len(y)))


# ---------------------------------------------------------------------------------------------------- known differences


def difference_of(K1, K2):
    """D of two kernels through the core's pencil."""
    nu, W, rank = load_core().pencil(np.array(K1, order="F"), np.array(K2, order="F"), Run(1))
    nu, W = nu[:rank], W[:, :rank]
    inside = np.abs(nu) < 1
    h = np.zeros(rank)
    h[inside] = np.sqrt((1 - nu[inside]) * (1 + nu[inside])) / 2 * np.arctanh(nu[inside])
    return (W * h) @ W.T


def commuting(d=20, seed=0):
    rng = np.random.default_rng(seed)
    return ortho_group.rvs(d, random_state=rng), *rng.uniform(0.2, 3, size=(2, d))


def test_commuting_kernels_have_the_known_difference():
    """lam_D = 1/2 sqrt(l1 l2) log(l1 / l2) on shared eigenvectors: with the factor 1/2."""
    Q, l1, l2 = commuting()
    D = difference_of((Q * l1) @ Q.T, (Q * l2) @ Q.T)
    expected = (Q * (0.5 * np.sqrt(l1 * l2) * np.log(l1 / l2))) @ Q.T
    assert np.abs(D - expected).max() <= 20 * EPS * (l1.max() / l1.min() + l2.max() / l2.min())


@pytest.mark.parametrize("d", [2, 3, 50, 300])
def test_equidistant_features_have_the_known_score(d):
    """X_l = a_l I puts all features at one distance: K_l = (1 - c_l) I + c_l 1 1', which commute. End to end."""
    a, sigma = np.array([1.0, 2.0]), (1.5, 1.5)
    X, y = np.vstack([a[0] * np.eye(d), a[1] * np.eye(d)]), np.repeat([0, 1], d)
    c = np.exp(-(a**2) / np.square(sigma))  # D2 = 2 a^2
    across, along = 1 - c, 1 + (d - 1) * c

    def weight(l1, l2):
        return abs(0.5 * np.sqrt(l1 * l2) * np.log(l1 / l2))

    expected = weight(*across) * (1 - 1 / d) + weight(*along) / d
    scores = fastfs.manifest_scores(X, y, sigma=sigma)
    np.testing.assert_allclose(scores, expected, rtol=d * EPS * (along / across).sum())


def test_difference_is_homogeneous_and_congruent():
    K1, K2 = (oracle.rbf(oracle.distances(two_classes(30, 15)[0][c::2]), 3.0) for c in (0, 1))
    D = difference_of(K1, K2)
    tolerance = full_rank_tolerance(K1, K2, 0)
    assert np.abs(difference_of(7 * K1, 7 * K2) - 7 * D).max() <= 7 * tolerance
    assert np.abs(difference_of(K2, K1) + D).max() <= tolerance
    T = np.random.default_rng(0).normal(size=(15, 15)) + 4 * np.eye(15)
    congruent = difference_of(T @ K1 @ T.T, T @ K2 @ T.T)
    # T multiplies the condition of the kernels by its own, squared.
    assert np.abs(congruent - T @ D @ T.T).max() <= tolerance * np.linalg.cond(T) ** 2 * np.abs(T @ T.T).max()


def test_equal_classes_score_zero():
    X = np.random.default_rng(0).normal(size=(15, 20))
    with pytest.warns(fastfs.DataWarning, match="zero up to rounding"):
        scores = fastfs.manifest_scores(np.vstack([X, X]), np.repeat([0, 1], 15))
    np.testing.assert_array_equal(scores, 0)


def test_a_direction_that_one_class_has_leaves_no_rounding_error():
    """Features 4 and 5 are equal in one class only, and D is nearly zero: 7e-8 stood where 3.5e-12 is right."""
    rng = np.random.default_rng(7)
    y = rng.permutation(np.r_[0, 1, rng.integers(0, 2, 10)])
    X = rng.integers(0, 2, (12, 6)).astype(float)
    options = {"sigma_factor": 0.1, "normalize": 1}
    K1, K2, _ = oracle.kernels(X, y, **options)
    with pytest.warns(fastfs.DataWarning, match="zero up to rounding"):
        scores = fastfs.manifest_scores(X, y, **options)
    # The weight of D has the slope 1/2 where the kernels agree, and 8 d eps is what may be off there.
    assert_close(scores, oracle.singular_mp(K1, K2), 0, 8 * 6 * EPS)


@pytest.mark.parametrize("seed", range(4))
def test_scores_below_the_noise_of_a_singular_kernel_are_warned_of(seed):
    """XOR of two features, which are equal in one class; normalised, the rest of D is nearly zero."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (50, 100)).astype(float)
    y = X[:, 0].astype(int) ^ X[:, 1].astype(int)
    found = fastfs.manifest_scores(X, y, sigma_factor=0.1)
    assert set(np.argsort(-found)[:2]) == {0, 1}  # and no warning
    K1, K2, _ = oracle.kernels(X, y, sigma_factor=0.1, normalize=3)
    with pytest.warns(fastfs.DataWarning, match="zero up to rounding"):
        scores = fastfs.manifest_scores(X, y, sigma_factor=0.1, normalize=3)
    assert scores.max() <= 3 * singular_noise(K1, K2)


# ----------------------------------------------------------------------------------------------------- properties: hold

# What leaves the scores as they are: data and labels in, the same out, and what becomes of the scores.
RNG = np.random.default_rng(1)
PERMUTATION = RNG.permutation(30)


def rotated(X, y):
    X = X.copy()
    for c in (0, 1):
        X[y == c] = ortho_group.rvs(np.sum(y == c), random_state=c) @ X[y == c]
    return X, y


def scaled(X, y):
    return np.where(y[:, None] == 1, 3.7 * X, X), y


def doubled(X, y):
    return np.vstack([X, X[y == 1]]), np.r_[y, y[y == 1]]


INVARIANT = {
    "features permuted": lambda X, y: (X[:, PERMUTATION], y),
    "samples permuted": lambda X, y: (X[order := np.random.default_rng(2).permutation(len(y))], y[order]),
    "rows of a class rotated": rotated,
    "a constant added to each row": lambda X, y: (X + np.linspace(-50, 50, len(y))[:, None], y),
    "a class scaled": scaled,
    "rows of a class doubled": doubled,
    "classes swapped": lambda X, y: (X, 1 - y),
    "signs flipped": lambda X, y: (-X, y),
}


@rotating(1, change=INVARIANT.keys(), rule=[{}, {"sigma": "percentile", "sigma_percentile": 20.0}, {"normalize": 3}])
def test_scores_do_not_change(change, rule):
    X, y = two_classes()
    K1, K2, _ = oracle.kernels(X, y, **rule)
    scores = fastfs.manifest_scores(X, y, **rule)
    expected = scores[PERMUTATION] if change == "features permuted" else scores
    changed = fastfs.manifest_scores(*INVARIANT[change](X, y), **rule)
    assert_close(changed, expected, 0, full_rank_tolerance(K1, K2, len(y)))


def test_class_swap_to_twelve_digits():
    X, y = two_classes()
    scores = fastfs.manifest_scores(X, y)
    assert_close(fastfs.manifest_scores(X, 1 - y), scores, 1e-12)


@pytest.mark.parametrize("data", [singular_data, digits], ids=["duplicates", "digits"])
def test_class_swap_with_singular_kernels(data):
    X, y = data()
    scores = fastfs.manifest_scores(X, y)
    assert_close(fastfs.manifest_scores(X, -y.astype(int)), scores, 10 * SINGULAR)


def test_powers_of_two_change_no_bit():
    X, y = two_classes()
    scores = fastfs.manifest_scores(X, y, n_threads=1)
    for power in (-600, -20, 20, 600):
        np.testing.assert_array_equal(fastfs.manifest_scores(X * 2.0**power, y, n_threads=1), scores)


@rotating(1, data=[two_classes, singular_data, digits], normalize=[0, 3])
def test_sum_of_the_scores(data, normalize):
    """sum r = nuclear norm of D <= max |h| tr(K1 + K2), and r >= |diag D| >= 0."""
    X, y = data()
    K1, K2, _ = oracle.kernels(X, y, normalize=normalize)
    _, D, _ = oracle.pencil(K1, K2)
    scores = fastfs.manifest_scores(X, y, normalize=normalize)
    assert abs(scores.sum() - np.linalg.norm(D, "nuc")) <= SINGULAR * scores.sum()
    assert scores.sum() <= 0.3314 * np.trace(K1 + K2)
    assert np.all(scores >= np.abs(np.diag(D)) - SINGULAR * scores.max())
    assert np.all(scores >= 0)


def test_equal_columns_get_equal_scores():
    X, y = singular_data()
    scores = fastfs.manifest_scores(X, y)
    for twins in ([3, 4, 5], [10, 11]):
        assert np.ptp(scores[twins]) <= SINGULAR * scores.max()


# ---------------------------------------------------------------------------------------------- properties: do not hold


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda X: X * np.r_[5.0, np.ones(29)], id="scaling a feature"),
        pytest.param(lambda X: (X - X.mean(axis=0)) / X.std(axis=0), id="z-scores"),
        pytest.param(np.exp, id="a monotone transform"),
        pytest.param(lambda X: np.hstack([X, X[:, -1:]]), id="repeating a feature"),
        pytest.param(lambda X: X[:, 1:], id="dropping a feature"),
    ],
)
def test_scores_do_change(change):
    """Not a defect but the method: features are compared with each other, in their own units."""
    X, y = two_classes()
    scores, changed = fastfs.manifest_scores(X, y), fastfs.manifest_scores(change(X), y)
    common = slice(-29, None) if len(changed) < 30 else slice(0, 29)
    difference = np.abs(changed[:29] - scores[common]).max()
    assert difference > 1e-3 * scores.max()


# ----------------------------------------------------------------------------------------------------------- components


@rotating(1, k=[1, 4, 30], data=[two_classes, singular_data])
def test_components(data, k):
    X, y = data()
    expected = oracle.manifest(X, y, singular=True)
    found = fit(X, y, n_components=k)
    tolerance = PROMISED if data is two_classes else SINGULAR
    for operator, values, vectors in (
        (expected.M, found.mean_eigenvalues_, found.mean_eigenvectors_),
        (expected.D, found.difference_eigenvalues_, found.difference_eigenvectors_),
    ):
        norm = np.linalg.norm(operator, 2)
        assert values.shape == (k,)
        assert vectors.shape == (30, k)
        by_magnitude = sorted(np.linalg.eigvalsh(operator), key=abs, reverse=True)[:k]
        np.testing.assert_allclose(np.abs(values), np.abs(by_magnitude), atol=tolerance * norm)
        assert np.all(np.diff(np.abs(values)) <= tolerance * norm)
        assert np.linalg.norm(operator @ vectors - vectors * values, 2) <= tolerance * norm
        assert np.linalg.norm(vectors.T @ vectors - np.eye(k), 2) <= 8 * 30 * EPS
        assert np.all(vectors[np.abs(vectors).argmax(axis=0), np.arange(k)] > 0)
    # All of D's eigenpairs make the scores, eq. (4); the leading ones a part of them.
    parts = found.difference_eigenvectors_**2 @ np.abs(found.difference_eigenvalues_)
    assert np.all(parts <= found.scores_ + tolerance * found.scores_.max())
    if k == 30:
        assert_close(parts, found.scores_, tolerance)


def test_components_leave_the_scores_as_they_are():
    X, y = two_classes()
    assert_close(fit(X, y, n_components=3).scores_, fit(X, y).scores_, PROMISED)


# -------------------------------------------------------------------------------------------------------- planted truth


def finds_xor(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(50, 100)).astype(float)
    scores = fastfs.manifest_scores(X, X[:, 0] != X[:, 1], sigma_factor=0.1)
    return set(np.argsort(-scores)[:2]) == {0, 1}


def test_xor_fifty_times():
    assert sum(map(finds_xor, range(50))) == 50


def found_of_the_hypercube(seed):
    """How many of the 10 informative features are among the best 10 of 200."""
    X, y = make_classification(
        n_samples=50,
        n_features=200,
        n_informative=10,
        n_redundant=0,
        n_clusters_per_class=2,
        class_sep=1,
        shuffle=False,
        random_state=seed,
    )
    scores = fastfs.manifest_scores(X, y, sigma="percentile", sigma_percentile=95, normalize=3)
    return np.sum(np.argsort(-scores)[:10] < 10)


def test_hypercube_fifty_times():
    assert np.mean([found_of_the_hypercube(seed) for seed in range(50)]) >= 9.8


# ------------------------------------------------------------------------------------------------------------ real data

MADELON = [28, 48, 64, 105, 128, 153, 241, 281, 318, 336, 338, 378, 433, 442, 451, 453, 455, 472, 475, 493]


def test_madelon(load):
    X, y = load("madelon")
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    scores = fastfs.manifest_scores(X, y, sigma_factor=0.1)
    assert sorted(np.argsort(-scores)[:20]) == MADELON


def test_mnist_4v9(load):
    X, y = load("mnist_4v9")
    scores = fastfs.manifest_scores(X, y, sigma_factor=1.0)
    rows, columns = np.divmod(np.argsort(-scores)[:10], 28)
    assert set(rows) <= {7, 8}
    assert set(columns) <= set(range(13, 19))
    constant = np.ptp(X, axis=0) == 0
    assert constant.sum() == 195
    assert np.ptp(scores[constant]) <= SINGULAR * scores.max()


@pytest.mark.parametrize("genes", [500, pytest.param(2000, marks=pytest.mark.slow)])
def test_colon(load, genes):
    X, y = load("colon")
    X = np.log2(X[:, :genes])
    scores = fastfs.manifest_scores(X, y)
    assert_close(scores, oracle.manifest(X, y, singular=True).scores, SINGULAR)


@pytest.mark.parametrize("name", ["monks1", "monks2", "monks3"])
def test_monks(load, name):
    X, y = load(name)
    for normalize in (0, 3):
        assert_agrees(X.astype(np.uint8), y, normalize=normalize)


def test_counts_stay_sparse(load):
    X, y = load("sc_pbmc68k_reduced")
    chosen = np.isin(y, (0, 9))
    X, y = X[chosen][:, :300], y[chosen]
    found, dense = fit(X, y), fit(X.toarray(), y)
    assert_close(found.scores_, oracle.manifest(X, y, singular=True).scores, SINGULAR)
    assert_close(found.scores_, dense.scores_, SINGULAR)


@pytest.mark.parametrize("seed", range(6))
def test_components_of_repeated_eigenvalues(seed):
    """Identical blocks of features, far apart, repeat the eigenvalues of D: each pair must be one of D."""
    rng = np.random.default_rng(seed)
    blocks = int(rng.integers(2, 9))

    def samples():
        apart = 1e3 * np.kron(np.eye(blocks), np.ones((1, 3)))
        return np.vstack([np.kron(np.eye(blocks), rng.standard_normal((3, 3))), apart])

    X, y = np.vstack([samples(), samples()]), np.repeat([0, 1], 3 * blocks + blocks)
    D = oracle.manifest(X, y, sigma=(1.0, 1.0)).D
    for k in (1, 2, X.shape[1]):
        fitted = ManiFeSt(sigma=(1.0, 1.0), n_components=k).fit(X, y)
        V, w = fitted.difference_eigenvectors_, fitted.difference_eigenvalues_
        np.testing.assert_allclose(D @ V, V * w, rtol=0, atol=1e-9 * np.abs(w).max())
        np.testing.assert_allclose(V.T @ V, np.eye(k), rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore:.*zero up to rounding:fastfs.DataWarning")
@pytest.mark.parametrize(
    "d, seed, factor", [(20, 0, 0.05), (20, 9, 0.02), (100, 4, 0.02), (257, 4, 0.01), (300, 9, 0.01)]
)
def test_components_of_kernels_near_the_identity(d, seed, factor):
    """Eigenvalues that agree to many digits, of which LAPACK's range routines lose some."""
    X = np.random.default_rng(seed).integers(0, 3, size=(30, d)).astype(float)
    y = np.arange(30) % 3 == 1
    expected = oracle.manifest(X, y, sigma_factor=factor)
    for k in (1, 2):
        found = fit(X, y, n_components=k, sigma_factor=factor)
        for operator, values, vectors in (
            (expected.M, found.mean_eigenvalues_, found.mean_eigenvectors_),
            (expected.D, found.difference_eigenvalues_, found.difference_eigenvectors_),
        ):
            assert np.linalg.norm(operator @ vectors - vectors * values, 2) <= PROMISED
            assert np.linalg.norm(vectors.T @ vectors - np.eye(k), 2) <= 8 * d * EPS
            np.testing.assert_allclose(np.abs(values).max(), np.linalg.norm(operator, 2), atol=PROMISED)


def test_threads_of_blas_change_no_bit():
    """normalize multiplies by a vector outside the parallel loops; BLAS must be held at one thread there too."""
    X, y = two_classes(40, 600)
    with threadpool_limits(1, "blas"):
        one = fastfs.manifest_scores(X, y, normalize=3)
    with threadpool_limits(2, "blas"):
        np.testing.assert_array_equal(fastfs.manifest_scores(X, y, normalize=3), one)
