"""RELIEF, ReliefF and MultiSURF: the oracle, other packages, the properties of the methods, and real data.

Scores are means of differences between scaled values: in float64 within 1e-12 of the largest mean difference of the
oracle, in float32 within 1e-5. Which neighbours are nearest is decided by distances, so made-up data are drawn until no
decision is closer than `DECIDED`: a float32 distance over a hundred features of range 1 is right to about 20 eps.
"""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import fastfs
from covering import covering, rotating
from reference import relief as oracle
from reference.data import classes_that_differ

PROMISED = {"float64": 1e-12, "float32": 1e-5}
DECIDED = {"float64": 1e-12, "float32": 1e-5}
FORMS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "strided": lambda A: np.repeat(np.repeat(A, 2, axis=1), 3, axis=0)[::3, ::2],
    "reversed": lambda A: A[::-1, ::-1].copy()[::-1, ::-1],
}


METHODS = {
    "relief": (fastfs.relief_scores, {}, oracle.relief),
    "closed form": (fastfs.relief_scores, {"closed_form": True}, oracle.relief_closed_form),
    "relieff 1": (fastfs.relieff_scores, {"n_neighbors": 1}, lambda X, y, s: oracle.relieff(X, y, 1, s)),
    "relieff 10": (fastfs.relieff_scores, {}, lambda X, y, s: oracle.relieff(X, y, 10, s)),
    "multisurf": (fastfs.multisurf_scores, {}, oracle.multisurf),
}
TERMS = {
    "relief": oracle.relief_terms,
    "closed form": oracle.relief_terms,
    "relieff 1": lambda X, y, s: oracle.relieff_terms(X, y, 1, s),
    "relieff 10": lambda X, y, s: oracle.relieff_terms(X, y, 10, s),
    "multisurf": oracle.multisurf_terms,
}


def scores(method, X, y, **options):
    call, own, _ = METHODS[method]
    return call(X, y, **(own | options))


def gap(method, X, y, scaling="range"):
    return TERMS[method](X, y, scaling)[-1]


def assert_agrees(found, method, X, y, scaling="range", dtype="float64"):
    expected = METHODS[method][2](X, y, scaling)
    Z, _ = oracle.scale(X, scaling)
    unit = 1 if method == "closed form" else np.ptp(Z, axis=0).max() ** (2 if method == "relief" else 1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=PROMISED[dtype] * unit)


# --------------------------------------------------------------------------------------------------------------- oracle


@pytest.mark.huge  # to compile
@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_oracle_is_what_other_packages_compute(n_classes, balanced):
    """Where their definitions are ours: fast-select pools misses in MultiSURF, scikit-rebate doesn't know priors."""
    skrebate, fast_select = pytest.importorskip("skrebate"), pytest.importorskip("fast_select")
    X, y = classes_that_differ(n_classes=n_classes)
    if not balanced:
        y = np.sort(np.random.default_rng(0).integers(0, n_classes, len(y)))
    peer = {"backend": "cpu", "n_jobs": 1, "n_features_to_select": 2}
    for k in (1, 10):
        expected = oracle.relieff(X, y, k)
        found = fast_select.ReliefF(n_neighbors=k, **peer).fit(X.copy(), y).feature_importances_
        np.testing.assert_allclose(found, expected, rtol=0, atol=5e-7)  # it computes in float32
        if balanced or n_classes == 2:
            found = skrebate.ReliefF(n_features_to_select=2, n_neighbors=k).fit(X.copy(), y).feature_importances_
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)
    expected = oracle.multisurf(X, y)
    found = skrebate.MultiSURF(n_features_to_select=2).fit(X.copy(), y).feature_importances_
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)
    if n_classes == 2:
        found = fast_select.MultiSURF(**peer).fit(X.copy(), y).feature_importances_
        np.testing.assert_allclose(found, expected, rtol=0, atol=5e-7)


@given(
    method=st.sampled_from(sorted(METHODS)),
    n=st.integers(22, 90),
    n_features=st.integers(1, 40),
    n_classes=st.integers(2, 4),
    seed=st.integers(0, 2**32 - 1),
    scaling=st.sampled_from(["range", "standard", None]),
    n_threads=st.integers(1, 4),
    form=st.sampled_from(sorted(FORMS)),
)
@pytest.mark.filterwarnings("ignore:n_neighbors:fastfs.DataWarning")
@pytest.mark.filterwarnings("ignore:no feature:fastfs.DataWarning")
@pytest.mark.filterwarnings("ignore:the standard deviations:fastfs.DataWarning")
def test_agrees_with_oracle(method, n, n_features, n_classes, seed, scaling, n_threads, form):
    X, y = classes_that_differ(n, n_features, n_classes, seed)
    assume(gap(method, X, y, scaling) > DECIDED["float64"])
    assert_agrees(scores(method, FORMS[form](X), y, scaling=scaling, n_threads=n_threads), method, X, y, scaling)


@covering(method=METHODS.keys(), scaling=["range", "standard", None], n_classes=[2, 3], dtype=["float64", "float32"])
def test_dtypes(dtype, method, n_classes, scaling):
    candidates = (classes_that_differ(40, 9, n_classes, seed, dtype) for seed in range(50))
    X, y = next(c for c in candidates if gap(method, *c, scaling) > DECIDED[dtype])
    found = scores(method, X, y, scaling=scaling)
    assert found.dtype == np.float64
    assert_agrees(found, method, X, y, scaling, dtype)


@covering(method=METHODS.keys(), dtype=["float64", "float32"], scaling=["range", "standard"])
def test_memory_layout_changes_no_bit(method, dtype, scaling):
    for shape in ((70, 33), (19, 1700)):  # the latter are several panels of features
        X, y = classes_that_differ(*shape, dtype=dtype)
        options = {"scaling": scaling} | ({"n_neighbors": 3} if method == "relieff 10" else {})
        expected = scores(method, X, y, **options)
        for name, form in FORMS.items():
            assert scores(method, form(X), y, **options).tobytes() == expected.tobytes(), name
        assert np.any(expected != 0)


# Samples around a tile of 4, features around a vector and around a chunk of 512 or 1024.
SHAPES = [(2, 1), (3, 5), (5, 16), (17, 511), (33, 1025), (66, 2050), (131, 130)]


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_across_tiles_and_chunks(method, shape):
    X, y = classes_that_differ(*shape)
    assert gap(method, X, y) > DECIDED["float64"]
    found = scores(method, X, y, n_threads=1)
    assert_agrees(found, method, X, y)
    for n_threads in (2, 3, 4):
        assert scores(method, X, y, n_threads=n_threads).tobytes() == found.tobytes()


@rotating(1, method=METHODS.keys(), dtype=["float64", "float32"])
def test_by_blocks_of_rows(method, dtype):
    """Distances of 700 samples would take 3.9 MB."""
    pytest.importorskip("sklearn")
    estimator = {"relief": fastfs.Relief, "closed form": fastfs.Relief, "multisurf": fastfs.MultiSURF}
    X, y = classes_that_differ(700, 5, 3, dtype=dtype)
    options = METHODS[method][1]
    models = [
        estimator.get(method, fastfs.ReliefF)(**options, max_memory=memory, n_jobs=n_jobs).fit(X, y)
        for memory, n_jobs in ((None, 2), ("3M", 1), ("3M", 2), ("3M", 4))
    ]
    assert [model.algorithm_ for model in models] == ["stored", "blocks", "blocks", "blocks"]
    for model in models[2:]:
        assert model.scores_.tobytes() == models[1].scores_.tobytes()
    np.testing.assert_allclose(models[1].scores_, models[0].scores_, rtol=0, atol=PROMISED[dtype] / 10)
    if gap(method, X, y) > DECIDED[dtype]:
        assert_agrees(models[1].scores_, method, X, y, dtype=dtype)


# ---------------------------------------------------------------------------------------------------- ties and few hits


@covering(
    method=[method for method in METHODS if method != "multisurf"],  # which takes no number
    memory=[None, "3M"],
    dtype=["float64", "float32"],
)
@pytest.mark.filterwarnings("ignore:no feature:fastfs.DataWarning")
def test_ties_go_to_the_lowest_row(method, memory, dtype):
    """Distances between small integers are exact, whatever the order of the sums, and nearly all tied."""
    X = np.random.default_rng(0).integers(0, 4, size=(700 if memory else 90, 6)).astype(dtype)
    y = np.random.default_rng(1).integers(0, 3, size=len(X))
    assert_agrees(scores(method, X, y, scaling=None, max_memory=memory), method, X, y, None, dtype)


@rotating(1, method=METHODS.keys(), name=["haberman", "heart_statlog"])
@pytest.mark.filterwarnings("ignore:the standard deviations:fastfs.DataWarning")
def test_ties_of_real_data(load, name, method):
    """Integers, with duplicates of both classes."""
    X, y = load(name)
    X = np.rint(10 * X) if name == "heart_statlog" else X
    assert np.all(np.rint(X) == X)
    assert len(np.unique(X, axis=0)) < len(X) or name != "haberman"
    if method == "multisurf" and gap(method, X, y, None) < DECIDED["float64"]:
        pytest.skip("a distance is its threshold, up to rounding")
    expected = METHODS[method][2](X, y, None)
    np.testing.assert_allclose(
        scores(method, X, y, scaling=None), expected, rtol=0, atol=1e-12 * np.abs(expected).max()
    )


@rotating(1, method=METHODS.keys(), name=["ecoli", "lymphography"])
@pytest.mark.filterwarnings("ignore:n_neighbors:fastfs.DataWarning")
def test_classes_of_two_samples(load, name, method):
    X, y = load(name)
    if name == "lymphography":
        expected = METHODS[method][2](X, y, None)
        found = scores(method, X, y, scaling=None)
    else:
        X = X + np.random.default_rng(0).uniform(0, 0.01, size=X.shape)  # no ties, which rounding would decide
        assert gap(method, X, y) > DECIDED["float64"]
        expected = METHODS[method][2](X, y, "range")
        found = scores(method, X, y)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore:n_neighbors:fastfs.DataWarning")
def test_class_of_one_sample(method):
    X, y = classes_that_differ(31, 8)
    y[:] = np.arange(31) % 2
    y[7] = 2
    with pytest.warns(fastfs.DataWarning, match="one sample only in class 2"):
        found = scores(method, X, y)
    assert_agrees(found, method, X, y)
    names = np.array(["a", "b", "lonely"])[y]
    with pytest.warns(fastfs.DataWarning, match="one sample only in class lonely"):
        assert scores(method, X, names).tobytes() == found.tobytes()


@pytest.mark.parametrize("n_neighbors", [10, 39, 40, 10**6, 2**62])
def test_more_neighbours_than_the_class_has(n_neighbors):
    X, _ = classes_that_differ(50, 7)
    y = (np.arange(50) < 10).astype(int)
    with pytest.warns(fastfs.DataWarning, match="n_neighbors"):
        found = fastfs.relieff_scores(X, y, n_neighbors=n_neighbors)
    np.testing.assert_allclose(found, oracle.relieff(X, y, n_neighbors), rtol=0, atol=1e-12)


def test_as_many_neighbours_as_there_are_is_no_reason_to_warn():
    X, _ = classes_that_differ(50, 7)
    y = (np.arange(50) < 10).astype(int)
    np.testing.assert_allclose(fastfs.relieff_scores(X, y, n_neighbors=9), oracle.relieff(X, y, 9), rtol=0, atol=1e-12)


def test_no_near_neighbours():
    """All distances are equal, so none is below their mean."""
    with pytest.warns(fastfs.DataWarning, match="no sample has a neighbour"):
        found = fastfs.multisurf_scores(np.eye(8), np.arange(8) % 2)
    assert found.tolist() == [0] * 8


def test_nothing_in_closed_form():
    """Each sample's twin is in the other class and its hits are farther in every feature."""
    X = np.repeat(classes_that_differ(20, 4)[0], 2, axis=0)
    with pytest.warns(fastfs.DataWarning, match="all scores are 0"):
        found = fastfs.relief_scores(X, np.arange(40) % 2, closed_form=True)
    assert found.tolist() == [0] * 4
    assert np.all(fastfs.relief_scores(X, np.arange(40) % 2) < 0)


# ----------------------------------------------------------------------------------------------------------- properties


@pytest.mark.parametrize("method", METHODS)
def test_what_changes_nothing(method):
    X, y = classes_that_differ(50, 10, 3)
    found = scores(method, X, y)
    rng = np.random.default_rng(3)
    order, features = rng.permutation(50), rng.permutation(10)
    same = {
        "samples in another order": scores(method, X[order], y[order]),
        "features in another order": scores(method, X[:, features], y)[np.argsort(features)],
        "other names": scores(method, X, np.array(["z", "a", "m"])[y]),
        "a shift": scores(method, X + 4.0, y),
        "a reflection": scores(method, X * np.where(np.arange(10) % 2, 1, -1), y),
        "other units": scores(method, X * np.logspace(-8, 8, 10), y),
        "a constant feature": scores(method, np.insert(X, 4, 7.5, axis=1), y)[np.arange(11) != 4],
    }
    for what, other in same.items():
        np.testing.assert_allclose(other, found, rtol=0, atol=1e-12, err_msg=what)
    assert scores(method, np.insert(X, 4, 7.5, axis=1), y)[4] == 0
    doubled = scores(method, np.c_[X, X[:, 3]], y)
    assert doubled[3] == doubled[10]


@rotating(1, method=METHODS.keys(), offset=[1e3, 1e6])
def test_offsets_cost_no_digits(method, offset):
    """Distances come from differences, or are centred before they are multiplied."""
    X, y = classes_that_differ(40, 6)
    X = np.rint(X * 2**20) / 2**20  # so that the shifted values are exact
    shifted = X + offset
    assert np.all(shifted - offset == X)
    assert_agrees(scores(method, shifted, y, scaling=None), method, X, y, None)
    # float32: what it holds of the shifted values is the data.
    shifted32 = (np.rint(X * 16) / 16 + 1e3).astype(np.float32)
    assert_agrees(scores(method, shifted32, y, scaling=None), method, shifted32.astype(float) - 1e3, y, None, "float32")


def test_exclusive_or_of_two_features_comes_first():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 12))
    y = (X[:, 4] > 0) != (X[:, 9] > 0)
    for call in (fastfs.relief_scores, fastfs.relieff_scores, fastfs.multisurf_scores):
        assert set(np.argsort(-call(X, y))[:2]) == {4, 9}, call


# --------------------------------------------------------------------------------------------------- targets of RELIEF


def test_drawn_targets():
    """Whichever they are, scores are the mean of their terms, and each target is drawn once."""
    X, y = classes_that_differ(9, 4)
    terms = oracle.relief_terms(X, y)[0]
    means = {s: terms[list(s)].mean(axis=0) for s in itertools.combinations(range(9), 3)}
    drawn = []
    for seed in range(60):
        found = fastfs.relief_scores(X, y, n_targets=3, random_state=seed)
        (subset,) = [s for s, mean in means.items() if np.allclose(found, mean, rtol=0, atol=1e-12)]
        drawn.append(subset)
        assert fastfs.relief_scores(X, y, n_targets=3, random_state=seed, n_threads=3).tobytes() == found.tobytes()
    # Each target is in a third of the draws: 20 of 60, standard deviation 3.7.
    counts = np.bincount(np.ravel(drawn), minlength=9)
    assert counts.min() >= 5
    assert counts.max() <= 35
    everything = fastfs.relief_scores(X, y, n_targets=9, random_state=5)
    np.testing.assert_allclose(everything, fastfs.relief_scores(X, y), rtol=0, atol=1e-14)


def test_targets_are_drawn_from_each_class():
    """Two of each class or more, and the mean of a class counts by its share."""
    X, y = classes_that_differ(12, 4)
    y[:9], y[9:] = 0, 1
    terms = oracle.relief_terms(X, y)[0]
    means = {}
    for common in itertools.combinations(range(9), 3):
        for rare in itertools.combinations(range(9, 12), 2):
            means[common + rare] = (9 * terms[list(common)].mean(axis=0) + 3 * terms[list(rare)].mean(axis=0)) / 12
    for common in itertools.combinations(range(9), 2):
        means[(*common, 9, 10, 11)] = (9 * terms[list(common)].mean(axis=0) + terms[9:].sum(axis=0)) / 12
    drawn = []
    for seed in range(200):
        found = fastfs.relief_scores(X, y, n_targets=5, random_state=seed)
        (subset,) = [s for s, mean in means.items() if np.allclose(found, mean, rtol=0, atol=1e-12)]
        drawn.append(subset)
    # Of 7 common rows and one rare one that are left, the fifth target is any: 25 of 200 draws take the rare one.
    assert 8 <= sum(len(s) > 2 and s[-3] >= 9 for s in drawn) <= 45
    common = np.bincount(np.concatenate([[i for i in s if i < 9] for s in drawn]), minlength=9)
    assert common.min() > 35  # of 64 on average, standard deviation 6.6
    assert common.max() < 95


def test_drawn_targets_in_closed_form_and_by_blocks():
    X, y = classes_that_differ(700, 4)
    absolute = oracle.relief_terms(X, y)[1]
    u = np.maximum(absolute.sum(axis=0), 0)
    found = fastfs.relief_scores(X, y, closed_form=True, n_targets=700)
    np.testing.assert_allclose(found, u / np.linalg.norm(u), rtol=0, atol=1e-12)
    stored = fastfs.relief_scores(X, y, n_targets=100)
    np.testing.assert_allclose(fastfs.relief_scores(X, y, n_targets=100, max_memory="3M"), stored, rtol=0, atol=1e-13)
    assert np.abs(stored - fastfs.relief_scores(X, y)).max() > 1e-6


# ------------------------------------------------------------------------------------------------------------ real data


def test_madelon(load):
    X, y = load("madelon")
    rows = np.random.default_rng(0).choice(len(X), 600, replace=False)
    found = fastfs.relieff_scores(X[rows].astype(np.float32), y[rows])
    expected = oracle_by_chunks(X[rows], y[rows], 10)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5)
    useful = [28, 48, 64, 105, 128, 153, 241, 281, 318, 336, 338, 378, 433, 442, 451, 453, 455, 472, 475, 493]
    # 25 times what chance would give.
    assert len(set(np.argsort(-found)[:20]) & set(useful)) >= 15


def oracle_by_chunks(X, y, k):
    """ReliefF, too large for all differences at once."""
    Z, used = oracle.scale(X, "range")
    assert len(used) == X.shape[1]
    distances = np.array([np.abs(Z - z).sum(axis=1) for z in Z])
    prior = np.bincount(y) / len(y)
    total = np.zeros(X.shape[1])
    for i in range(len(y)):
        for c in range(len(prior)):
            candidates = np.flatnonzero((y == c) & (np.arange(len(y)) != i))
            found, _ = oracle.nearest(distances[i], candidates, k)
            weight = -1 if c == y[i] else prior[c] / (1 - prior[y[i]])
            total += weight * np.abs(Z[found] - Z[i]).mean(axis=0)
    return total / len(y)


def test_colon_known_genes(load):
    """The genes that the literature names are among the first of each method."""
    X, y = load("colon")
    known = [492, 248, 1670, 1771, 624, 1041, 1422, 1770]
    for method in ("relieff 10", "multisurf"):
        found = scores(method, np.log2(X), y)
        assert_agrees(found, method, np.log2(X), y)
        # 8 of 2000 at random: 0.8 expected among the first 200.
        assert len(set(np.argsort(-found)[:200]) & set(known)) >= 6


# ---------------------------------------------------------------------------------------------------------------- scale


PEAK = """
import sys
import numpy as np
import fastfs

def resident(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(key))

call, budget, n, d = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
X = np.random.default_rng(0).normal(size=(n, d))
y = np.arange(n) % 2
options = eval(sys.argv[5])
getattr(fastfs, call)(X[:200, :20], y[:200], **options)
with open("/proc/self/clear_refs", "w") as refs:
    refs.write("5")
before = resident("VmRSS")
getattr(fastfs, call)(X, y, max_memory=budget, n_threads=2, **options)
print(resident("VmHWM") - before)
"""


@pytest.mark.parametrize("call", ["relief_scores", "relieff_scores", "multisurf_scores"])
def test_blocks_stay_within_the_budget(call):
    """4000 samples: stored distances would be 128 MB."""
    done = subprocess.run(
        [sys.executable, "-c", PEAK, call, "20000000", "4000", "3", "{}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert 0 < int(done.stdout) <= 20e6 + 16e6  # BLAS and the allocator keep some MB


def grouped(values, y, k):
    """ReliefF of one feature without scaling, by sorting: what takes N log N lets N be large.

    Values have no ties but between a neighbour on the left and one on the right, which are as far.
    """
    total = 0.0
    prior = np.bincount(y) / len(y)
    for c in range(len(prior)):
        own = np.sort(values[y == c])
        padded = np.r_[np.full(k + 1, -np.inf), own, np.full(k + 2, np.inf)]
        for label in range(len(prior)):
            x = values[y == label]
            place = np.searchsorted(own, x) + k + 1  # of x itself, if it is of this class
            window = np.abs(padded[place[:, None] + np.arange(-k - 1, k + 2)] - x[:, None])
            near = np.sort(window, axis=1)
            near = near[:, 1 : k + 1] if c == label else near[:, :k]  # itself left out
            total += (-1 if c == label else prior[c] / (1 - prior[label])) * near.mean(axis=1).sum()
    return total / len(values)


@pytest.mark.parametrize("n", [300, pytest.param(46_400, marks=pytest.mark.huge)])
def test_more_samples_than_pairs_in_32_bits(n):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    values = rng.permutation(n).astype(float) + n * (rng.random(n) < 0.3 * y)
    expected = grouped(values, y, 3)
    if n == 300:
        np.testing.assert_allclose(oracle.relieff(values[:, None], y, 3, None), expected, rtol=1e-12)
    found = fastfs.relieff_scores(values[:, None], y, n_neighbors=3, scaling=None, max_memory="1G")
    np.testing.assert_allclose(found, expected, rtol=1e-12)
