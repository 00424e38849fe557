"""Permutation tests: the label-free stages, the counting, the p-values' calibration, Dask."""

import math
import warnings
from dataclasses import fields

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from scipy.sparse import csc_matrix, csr_matrix
from scipy.stats import false_discovery_control, skew, spearmanr
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import RFE, SelectKBest, f_regression
from sklearn.linear_model import LogisticRegression
from tests.reference.calibration import TIE, Moments, Scale, StepDown, mean_correlation, tie_limits

import fastfs
from covering import rotating, together
from fastfs._inference.scorers import LabelScorer, make_scorer
from fastfs._inputs.design import Design
from fastfs._machine.run import Run, as_threads, load_core

MODELS = [
    fastfs.Relief(),
    fastfs.Relief(n_targets=7),
    fastfs.ReliefF(3),
    fastfs.ReliefF(priors="uniform"),
    fastfs.MultiSURF(),
    fastfs.SWRF(radius="sample"),
    fastfs.MuRelief(),
    fastfs.IM4E(),
    fastfs.IM4E(class_weight={"a": 2.0}),
    fastfs.Immigrate(),
    fastfs.Immigrate(prefilter="im4e"),
    fastfs.ManiFeSt(),
    fastfs.ManiFeSt(combine="f"),
    fastfs.ManiFeSt(sigma="percentile", sigma_percentile=80, normalize=3),
    fastfs.ProjSe(1),
    fastfs.ProjSe(1, center=False),
    fastfs.ProjSe(1, normalize=False),
    fastfs.ProjSe(1, kernel="rbf"),
    fastfs.DiSC(n_components=3, bandwidth_neighbors=5),
]
pytestmark = pytest.mark.filterwarnings("ignore::fastfs.DataWarning")


def problem(n_classes, n=36, d=25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 5
    labels = rng.permutation(np.arange(n) % n_classes)
    X[:, 4] += 2.5 * labels
    return X, np.array(["b", "a", "c"])[labels]


@rotating(1, model=MODELS, n_classes=[2, 3])
def test_scorer_is_the_fit(model, n_classes):
    """Whatever is done once: the scores of each labeling are those of a fit with these labels."""
    X, y = problem(n_classes)
    labels, scorer = make_scorer(clone(model), X, y)
    classes = np.unique(y)
    assert np.array_equal(classes[labels], y)
    rng = np.random.default_rng(1)
    labelings = [labels, rng.permutation(labels), rng.permutation(labels)]
    found = list(scorer(labelings))
    assert len(found) == 3
    for labels, (scores, statistic) in zip(labelings, found, strict=True):
        fitted = clone(model).fit(X, classes[labels])
        np.testing.assert_allclose(scores, fitted.scores_, rtol=0, atol=1e-11 * np.abs(fitted.scores_).max())
        assert statistic == pytest.approx(np.max(getattr(fitted, "statistic_", fitted.scores_)), rel=1e-11)


@rotating(1, make=[csr_matrix, csc_matrix], center=[True, False])
def test_projse_of_counts(make, center):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.4, size=(50, 30)).astype(float)
    y = np.arange(50) % 3
    model = fastfs.ProjSe(1, center=center)
    labels, scorer = make_scorer(clone(model), make(X), y)
    ((scores, _),) = scorer([labels])
    np.testing.assert_allclose(scores, clone(model).fit(X, y).scores_, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_projse_with_an_offset(dtype):
    """Products about the mean: an offset of 1e4 leaves float32 its digits."""
    X, y = problem(2)
    X = (X + 1e4).astype(dtype)
    labels, scorer = make_scorer(fastfs.ProjSe(1, center=True), X, y)
    ((scores, _),) = scorer([labels])
    expected = fastfs.ProjSe(1, center=True).fit(X.astype("float64"), y).scores_
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-5 if dtype == "float32" else 1e-12)


def step_down(S, reached):
    """Family-wise p-values of the first row of statistics, in the plainest way."""
    order = np.argsort(-S[0], kind="stable")
    pvalues = np.empty(len(order))
    previous = 0.0
    for place, j in enumerate(order):
        largest = S[:, order[place:]].max(axis=1)
        previous = max(previous, np.mean(largest >= reached[j]))
        pvalues[j] = previous
    return pvalues


@rotating(1, model=[MODELS[2], MODELS[8], MODELS[12], MODELS[15], MODELS[18]], statistic=["z", "score"])
def test_counting(model, statistic):
    """All results from scores of fits, counted in the plainest way."""
    X, y = problem(2)
    found = fastfs.permutation_test(model, X, y, statistic=statistic, n_permutations=19, random_state=5)
    classes, labels = np.unique(y, return_inverse=True)
    design = Design(labels, seed=5)
    labelings = [labels, *design.labelings(0, 19)]
    fits = [clone(model).fit(X, classes[labeling]) for labeling in labelings]
    S = np.array([fitted.scores_ for fitted in fits])
    np.testing.assert_allclose(found.scores, S[0], rtol=1e-11)
    lower = S[0] - np.maximum(1e-9 * np.abs(S[0]), 1e-14 * np.abs(S[0]).max())
    assert np.array_equal(found.pvalues, (lower <= S).mean(axis=0))
    assert np.array_equal(found.pvalues_adjusted, false_discovery_control(found.pvalues))

    mean, sd = S.mean(axis=0), S.std(axis=0)
    flat = sd <= 1e-9 * np.abs(S).max(axis=0)
    assert np.array_equal(found.degenerate, np.flatnonzero(flat))
    np.testing.assert_allclose(found.null_mean, mean, rtol=1e-11, atol=1e-15)
    np.testing.assert_allclose(found.null_sd[~flat], sd[~flat], rtol=1e-9)
    z = np.where(flat, 0, (S - mean) / np.where(flat, 1, sd))
    np.testing.assert_allclose(found.z, z[0], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.null_skew[~flat], skew(S[1:, ~flat], axis=0), rtol=1e-7, atol=1e-8)
    assert found.label_free == pytest.approx(spearmanr(S[0], S[1:].mean(axis=0)).statistic)
    assert np.argsort(found.ranking).tolist() == np.argsort(-found.scores, kind="stable").tolist()

    if statistic == "z":
        T, reached, overall = z, z[0] - 1e-9 * np.abs(z[0]) - 1e-9, z.max(axis=1)
    else:
        T, reached, overall = S, lower, np.array([np.max(getattr(f, "statistic_", f.scores_)) for f in fits])
    expected = step_down(T, reached)
    expected[flat] = 1
    assert np.array_equal(found.pvalues_max, expected)
    assert found.statistic == pytest.approx(overall[0])
    np.testing.assert_allclose(found.null_statistics, overall[1:], rtol=1e-8)
    assert found.pvalue == np.mean(overall >= overall[0] * (1 - 1e-9))
    assert np.all(found.pvalues <= found.pvalues_max)
    assert (found.n_permutations, found.resolution, found.exact, found.stopped) == (19, 0.05, False, False)


def assert_same_bits(one, other):
    for field in fields(one):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name), err_msg=field.name)


@rotating(
    1,
    model=[MODELS[2], MODELS[4], MODELS[8], MODELS[12], MODELS[14]],
    how={"21": {"n_permutations": 21}, "stop": {"n_permutations": 400, "stop": True}},
)
def test_any_number_of_jobs(model, how):
    X, y = problem(2)
    if "stop" in how:
        X = np.random.default_rng(3).normal(size=X.shape)
    alone = fastfs.permutation_test(model, X, y, **how)
    assert alone.stopped == ("stop" in how)
    for n_jobs, backend in ((1, None), (2, "threading"), (8, "threading"), (2, "loky")):
        with parallel_config(backend or "loky"):
            assert_same_bits(fastfs.permutation_test(model, X, y, n_jobs=n_jobs, **how), alone)
    with parallel_config("threading", n_jobs=2):
        assert_same_bits(fastfs.permutation_test(model, X, y, **how), alone)
    other = fastfs.permutation_test(model, X, y, random_state=1, **how)
    assert not np.array_equal(other.null_mean, alone.null_mean)


@rotating(1, statistic=["z", "score"], how={"99": {"n_permutations": 99}, "auto": {}})
def test_two_passes(statistic, how):
    """Where the scores of all permutations exceed the budget, the same labelings are scored twice."""
    X, y = np.random.default_rng(0).normal(size=(30, 5000)), np.arange(30) % 2
    one = fastfs.permutation_test(fastfs.ProjSe(1, max_memory="1G"), X, y, statistic=statistic, **how)
    shares = []
    two = fastfs.permutation_test(
        fastfs.ProjSe(1, max_memory="6M"),
        X,
        y,
        statistic=statistic,
        verbose=lambda _, share: shares.append(share),
        **how,
    )
    assert_same_bits(one, two)
    assert len(shares) == 2 * one.n_permutations
    assert np.all(np.diff(shares) > 0)


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("dask.distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
        ) as two,
        distributed.Client(two) as client,
    ):
        yield client


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_on_a_cluster(cluster):
    X, y = problem(2)
    for model in (fastfs.ReliefF(), fastfs.DiSC(n_components=3, bandwidth_neighbors=5)):
        alone = fastfs.permutation_test(model, X, y, n_permutations=12)
        with parallel_config("dask"):
            found = fastfs.permutation_test(model, X, y, n_permutations=12, n_jobs=-1)
        assert np.array_equal(found.pvalues, alone.pvalues)
        np.testing.assert_allclose(found.null_statistics, alone.null_statistics, rtol=1e-12)
    alone = fastfs.stability(fastfs.ReliefF(3), X, y, n_subsamples=6)
    with parallel_config("dask"):
        found = fastfs.stability(fastfs.ReliefF(3), X, y, n_subsamples=6, n_jobs=-1)
    assert np.array_equal(found.frequencies, alone.frequencies)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_blocks_of_dask_arrays_on_a_cluster(cluster):
    da = pytest.importorskip("dask.array")
    X, y = problem(3)
    for model in (fastfs.ProjSe(2, center=True), fastfs.ProjSe(2, kernel="rbf")):
        alone, found = clone(model).fit(X, y), clone(model).fit(da.from_array(X, chunks=(10, 25)), y)
        assert np.array_equal(found.selected_, alone.selected_)
        np.testing.assert_allclose(found.scores_, alone.scores_, rtol=1e-10, atol=1e-12)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_groups_on_a_cluster(cluster):
    """Each pair of groups is a task."""
    anndata = pytest.importorskip("anndata")
    X, y = problem(3)
    adata = anndata.AnnData(X, obs={"group": y.astype(str)})
    adata.obs_names = [f"cell{i}" for i in range(len(y))]
    alone = fastfs.tl.relieff(adata, "group", reference=str(y[0]), copy=True)
    with parallel_config("dask", n_jobs=-1):
        found = fastfs.tl.relieff(adata, "group", reference=str(y[0]), copy=True)
    for column in ("names", "scores", "logfoldchanges"):
        assert np.array_equal(found.uns["relieff"][column], alone.uns["relieff"][column])


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_comparisons_of_classes_on_a_cluster(cluster, multiclass):
    X, y = problem(3)
    alone = fastfs.ManiFeSt(multiclass=multiclass).fit(X, y)
    with parallel_config("dask", n_jobs=-1):
        found = fastfs.ManiFeSt(multiclass=multiclass).fit(X, y)
    for name in ("scores_", "class_scores_", "sigma_"):
        assert np.array_equal(getattr(found, name), getattr(alone, name))


def test_one_thread_on_a_worker(cluster):
    """Others run beside it: each with all threads of the machine would be too many."""
    with parallel_config("dask", n_jobs=-1):
        assert Parallel()(delayed(as_threads)(0) for _ in range(4)) == [1] * 4
    assert cluster.submit(as_threads, 0).result() == 1
    assert as_threads(0) == 0


DONORS = np.random.default_rng(3).permutation(np.repeat(np.arange(14), 60))
STATES = np.array(["ill", "well", "other"])[DONORS % 3]
CELLS = np.random.default_rng(4).normal(size=(840, 20)) + np.random.default_rng(5).normal(size=(14, 20))[DONORS]
BY_DONORS = {
    "ProjSe": (fastfs.ProjSe(1, center=True), 1),
    "ProjSe, rbf": (fastfs.ProjSe(1, kernel="rbf", center=True), 1),
    "ManiFeSt": (fastfs.ManiFeSt(), 1),
    "ManiFeSt, sigma": (fastfs.ManiFeSt(sigma=(40.0, 50.0, 60.0), multiclass="ovo"), 1),
    "ReliefF": (fastfs.ReliefF(n_targets=840), 2),
    "Relief": (fastfs.Relief(n_targets=840), 2),
}


@pytest.mark.parametrize("name", BY_DONORS)
def test_whole_donors_of_a_stream(name, monkeypatch):
    """One pass, or two, for any number of permutations: the test in memory, which fits each of them."""
    model, n_passes = BY_DONORS[name]
    n_read = []

    def blocks():
        n_read.append(1)
        yield from np.split(CELLS, [1, 280, 281, 600])

    monkeypatch.setattr("fastfs._functions.relief_family._fits_in_memory", lambda *_: False)
    monkeypatch.setattr("fastfs._inputs.source.Source.measure", lambda self, run, n=None: (False, self))
    how = {"groups": DONORS, "n_permutations": 19}
    found = fastfs.permutation_test(model, blocks, STATES, **how)
    assert len(n_read) == n_passes
    expected = fastfs.permutation_test(model, CELLS, STATES, **how)
    assert found.design == expected.design == "5 + 4 + 5 groups"
    size = np.abs(expected.scores).max()
    for field in ("scores", "null_mean", "null_sd"):
        there = getattr(expected, field)
        np.testing.assert_allclose(getattr(found, field), there, rtol=0, atol=1e-11 * size, err_msg=field)
    np.testing.assert_array_equal(found.pvalues, expected.pvalues)
    assert found.pvalue == expected.pvalue
    again = fastfs.permutation_test(model, blocks, STATES, n_jobs=2, **how)
    assert len(n_read) == 2 * n_passes  # from the sums, without workers
    np.testing.assert_array_equal(again.scores, found.scores)


def test_whole_donors_of_a_dask_array():
    da = pytest.importorskip("dask.array")
    table = da.from_array(CELLS, chunks=(300, 20))
    model = fastfs.ProjSe(1, center=True)
    how = {"groups": DONORS, "n_permutations": 19}
    expected = fastfs.permutation_test(model, CELLS, STATES, **how)
    found = fastfs.permutation_test(model, table, STATES, **how)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-12)
    np.testing.assert_array_equal(found.pvalues, expected.pvalues)
    with pytest.raises(ValueError, match="X and y must have the same rows; got 840 in X and 839 in y"):
        fastfs.permutation_test(model, table, STATES[1:], groups=DONORS[1:], n_permutations=19)
    for rows in (CELLS[1:], np.concatenate([CELLS, CELLS])):
        with pytest.raises(ValueError, match="X and y must have the same rows; got"):
            fastfs.permutation_test(model, lambda rows=rows: iter([rows]), STATES, groups=DONORS, n_permutations=19)


def test_under_the_null_p_values_are_uniform():
    """Of 150 data sets of noise, the share with p <= q is q, within four standard errors."""
    n_sets, rng = 150, np.random.default_rng(0)
    single, whole, best = [], [], []
    for _ in range(n_sets):
        X, y = rng.normal(size=(20, 10)), np.arange(20) % 2
        found = fastfs.permutation_test(fastfs.ReliefF(3), X, y, n_permutations=39, random_state=int(rng.integers(1e9)))
        single.append(found.pvalues[0])
        whole.append(found.pvalue)
        best.append(found.pvalues_max.min())
    for pvalues in (single, whole, best):
        for q in (0.1, 0.5):
            share = np.mean(np.array(pvalues) <= q)
            assert abs(share - q) < 4 * np.sqrt(q * (1 - q) / n_sets)


@rotating(1, make=[np.asarray, csr_matrix], offset=[0, 1000])
def test_projse_in_single_precision(make, offset):
    """Ties stay ties, and columns with an offset keep their digits."""
    X, y = np.random.default_rng(0).poisson(2.0, size=(24, 60)) + offset, np.arange(24) % 2
    single, double = (
        fastfs.permutation_test(fastfs.ProjSe(1, center=True), make(X.astype(kind)), y, n_permutations=99)
        for kind in ("float32", "float64")
    )
    np.testing.assert_allclose(single.scores, double.scores, rtol=1e-9, atol=1e-12)
    assert np.array_equal(single.pvalues, double.pvalues)


def test_scores_that_are_rounding_are_ties():
    """A feature that is far from all others has the same relations under any labels: none."""
    scores = []
    for seed in range(4):
        X, y = np.random.default_rng(seed).normal(size=(30, 12)), np.arange(30) % 2
        X[:, 6] += 1e6
        found = fastfs.permutation_test(fastfs.ManiFeSt(), X, y, n_permutations=39)
        assert found.pvalues[6] == 1
        scores.append(found.scores[6])
    assert 0 < max(scores) < 1e-14  # with luck one is 0


def test_other_peoples_selectors():
    X, y = problem(2)
    found = fastfs.permutation_test(SelectKBest(k=3), X, y, n_permutations=99)
    assert found.pvalues[4] == 0.01
    with pytest.raises(ValueError, match="no scores_"):
        fastfs.permutation_test(RFE(LogisticRegression()), X, y, n_permutations=3)


def test_leaves_the_estimator_alone():
    X, y = problem(2)
    model = fastfs.ReliefF(3)
    fastfs.permutation_test(model, X, y, n_permutations=3)
    assert not hasattr(model, "n_features_in_")


def test_without_room_for_distances():
    """Where the distances of all samples exceed the budget, they are made again for each labeling."""
    X, y = problem(2, n=600)
    plain = fastfs.permutation_test(fastfs.ReliefF(), X, y, n_permutations=5)
    assert fastfs.ReliefF(max_memory="3M").fit(X, y).algorithm_ == "blocks"
    small = fastfs.permutation_test(fastfs.ReliefF(max_memory="3M"), X, y, n_permutations=5)
    assert np.array_equal(plain.pvalues, small.pvalues)


def test_says_nothing_about_permuted_labels():
    X, y = problem(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fastfs.permutation_test(fastfs.MultiSURF(), X, y, n_permutations=20)


def test_progress():
    X, y = problem(2)
    seen = []
    fastfs.permutation_test(fastfs.ReliefF(), X, y, n_permutations=4, verbose=lambda step, share: seen.append(share))
    assert seen == [0.25, 0.5, 0.75, 1.0]


@together
@pytest.mark.parametrize(
    "parameters, error, message",
    [
        ({"n_permutations": 0}, ValueError, "n_permutations"),
        ({"n_permutations": 2.5}, TypeError, "n_permutations must be an integer"),
        ({"n_permutations": "many"}, ValueError, "n_permutations must be 'auto' or an integer; got 'many'"),
        ({"statistic": "t"}, ValueError, "statistic must be 'z' or 'score'; got 't'"),
        ({"ranking": "p"}, ValueError, "ranking must be 'score' or 'z'; got 'p'"),
        ({"stop": 10}, TypeError, "stop must be True or False; got 10"),
        ({"fdr": "holm"}, ValueError, "fdr must be 'bh' or 'by'"),
        ({"n_jobs": 0}, ValueError, "n_jobs must not be 0: give a positive number"),
        ({"blocks": [1, 2]}, ValueError, "blocks must have one value for each of the 36 samples"),
        (
            {"blocks": problem(2)[1]},
            ValueError,
            "all 18 samples of block 'b' are 'b', .* of block 'a' are 'a' .confounded",
        ),
        ({"covariates": problem(2)[1]}, ValueError, "covariates must not determine the labels"),
    ],
)
def test_bad_parameters(parameters, error, message):
    X, y = problem(2)
    with pytest.raises(error, match=message):
        fastfs.permutation_test(fastfs.ReliefF(), X, y, **parameters)


def test_bad_data():
    with pytest.raises(ValueError, match=r"X must be an array, .* got an iterator, which can be read once"):
        fastfs.permutation_test(fastfs.ProjSe(1), iter([np.ones((4, 3))]), [0, 1, 0, 1])
    X, y = problem(2)
    with pytest.raises(ValueError, match=r"labels, which .*; got None"):
        fastfs.permutation_test(fastfs.IKDR(), X, None)
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="row 3, column 2"):
        fastfs.permutation_test(fastfs.ReliefF(), X, y)
    with pytest.raises(ValueError, match="one class"):
        fastfs.permutation_test(fastfs.ReliefF(), np.ones((4, 2)), np.zeros(4))


# --------------------------------------------------------------------------------------------------------- designs


class Differences(LabelScorer, BaseEstimator):
    """Scores that are quickly made: differences of two classes' means, or products with numbers."""

    def __init__(self, transform=None):
        self.transform = transform

    def fit(self, X, y):
        self.scores_ = self._scores(X, y)
        return self

    def _scores(self, X, y):
        scores = (y - y.mean()) @ X / np.sqrt(len(y))
        return scores if self.transform is None else self.transform(scores, X)

    def _make_scorer(self, X, y):
        return y, lambda labelings: ((s, float(s.max())) for s in (self._scores(X, labels) for labels in labelings))


def test_all_labelings_of_a_small_design():
    """p-values are shares of all labelings, the true one and its mirror image included."""
    X, y = problem(2, n=8)
    X[:, 4] += 10 * (y == "a")
    found = fastfs.permutation_test(fastfs.ProjSe(1), X, y)
    assert (found.exact, found.n_distinct, found.n_permutations, found.resolution) == (True, 70, 69, 2 / 70)
    labelings = [y, *Design(y, n_permutations=69).labelings(0, 69)]
    scores = np.array([fastfs.ProjSe(1).fit(X, labels).scores_ for labels in labelings])
    assert np.array_equal(found.pvalues, np.mean(scores >= scores[0] * (1 - 1e-9), axis=0))
    assert found.pvalue == found.pvalues_max[4] == 2 / 70
    assert fastfs.permutation_test(fastfs.ProjSe(1), X, y, n_permutations=69).exact
    drawn = fastfs.permutation_test(fastfs.ProjSe(1), X, y, n_permutations=68)
    assert (drawn.exact, drawn.n_permutations) == (False, 68)


@rotating(1, model=[*MODELS, fastfs.IKDR(), fastfs.VLS(fastfs.ReliefF(3))], n_classes=[2, 3])
def test_names_of_classes_change_scores_only_where_an_option_names_one(model, n_classes):
    X, y = problem(n_classes, n=48)
    renamed = np.roll(np.unique(y), 1)[np.unique(y, return_inverse=True)[1]]
    scores, others = clone(model).fit(X, y).scores_, clone(model).fit(X, renamed).scores_
    assert model._ignores_names == np.allclose(scores, others, rtol=0, atol=1e-9 * np.abs(scores).max())


SMALL_DESIGNS = {
    "3 + 3 samples": (np.arange(6) % 2, {}, 2 / 20),
    "2 + 4 samples": (np.arange(6) < 2, {}, 1 / 15),
    "2 + 2 + 2 samples": (np.arange(6) % 3, {}, 6 / 90),
    "five pairs": (np.arange(10) % 2, {"blocks": np.arange(10) // 2}, 2 / 32),
    "pairs and a block of three": (np.array([0, 1, 0, 1, 0, 1, 1]), {"blocks": [0, 0, 1, 1, 2, 2, 2]}, 1 / 12),
    "3 + 3 donors": (np.repeat(np.arange(6) % 2, 2), {"groups": np.repeat(np.arange(6), 2)}, 2 / 20),
}


@pytest.mark.filterwarnings("default::fastfs.DataWarning")
@pytest.mark.parametrize("design", SMALL_DESIGNS)
def test_resolution_is_the_smallest_pvalue_that_data_can_have(design):
    """Brute force: each labeling in turn is taken for the true one."""
    y, columns, smallest = SMALL_DESIGNS[design]
    X = np.random.default_rng(0).normal(size=(len(y), 12))
    allowed = Design(y, **columns, n_permutations=999)
    labelings = [y, *allowed.labelings(0, allowed.n_labelings)]
    scores = np.array([fastfs.ProjSe(1).fit(X, labeling).scores_ for labeling in labelings])
    with pytest.warns(fastfs.DataWarning, match=f"no p-value can be below {smallest:.2g}"):
        found = fastfs.permutation_test(fastfs.ProjSe(1), X, y, **columns)
    pvalues = np.array([np.mean(scores >= row * (1 - 1e-9), axis=0) for row in scores])
    assert found.exact
    np.testing.assert_array_equal(found.pvalues, pvalues[0])
    assert found.resolution == pvalues.min() == smallest


def test_scores_of_other_libraries_may_depend_on_the_names_of_classes():
    """A one-sided score has the mirror image at its other end."""
    X, y = problem(2, n=8)
    X[:, 4] += 10 * (y == "b")
    found = fastfs.permutation_test(Differences(), X, (y == "b").astype(int))
    assert found.pvalues.min() == found.resolution == 1 / 70


def test_the_order_of_samples_changes_nothing():
    X, y = problem(2, n=12)
    blocks = np.arange(12) // 6
    order = np.random.default_rng(0).permutation(12)
    one = fastfs.permutation_test(fastfs.ReliefF(3, n_neighbors=2), X, y, blocks=blocks)
    other = fastfs.permutation_test(
        fastfs.ReliefF(3, n_neighbors=2), X[order], y[order], blocks=np.array(["v", "u"])[blocks[order]]
    )
    assert one.exact
    assert one.n_distinct == math.prod(math.comb(6, int(np.sum(y[blocks == b] == "a"))) for b in (0, 1))
    assert one.design == "6 + 6 samples within 2 blocks"
    assert np.array_equal(one.pvalues, other.pvalues)
    assert np.array_equal(one.pvalues_max, other.pvalues_max)


@pytest.mark.parametrize("how", ["donors", "batches"])
def test_designs_hold_the_level_that_free_shuffling_loses(how):
    free, within = [], []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        if how == "donors":
            column = np.repeat(np.arange(16), 4)
            y, given = column % 2, {"groups": column}
        else:
            column = np.arange(64) // 32
            y, given = (np.arange(32)[:, None] < [8, 24]).T.reshape(-1).astype(int), {"blocks": column}
        X = rng.normal(size=(64, 5)) + rng.normal(size=(16, 5))[column]
        how_long = {"n_permutations": 39, "random_state": seed}
        free.append(fastfs.permutation_test(Differences(), X, y, **how_long).pvalue)
        within.append(fastfs.permutation_test(Differences(), X, y, **how_long, **given).pvalue)
    error = np.sqrt(0.05 * 0.95 / 150)
    assert np.mean(np.array(free) <= 0.05) > 0.15
    assert np.mean(np.array(within) <= 0.05) < 0.05 + 3 * error


@pytest.mark.parametrize("kind", [pytest.param("classes", marks=pytest.mark.slow), "numbers"])
def test_covariates_hold_the_level_that_free_shuffling_loses(kind):
    free, given = [], []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=80)
        y = z + rng.normal(size=80) if kind == "numbers" else (rng.random(80) < 1 / (1 + np.exp(-1.5 * z))).astype(int)
        X = rng.normal(size=(80, 5)) + z[:, None]
        how_long = {"n_permutations": 39, "random_state": seed}
        free.append(fastfs.permutation_test(Differences(), X, y, **how_long).pvalue)
        given.append(fastfs.permutation_test(Differences(), X, y, covariates=z, **how_long).pvalue)
    error = np.sqrt(0.05 * 0.95 / 100)
    assert np.mean(np.array(free) <= 0.05) > 0.5
    assert np.mean(np.array(given) <= 0.05) < 0.05 + 3 * error


def test_numbers_with_covariates():
    """New numbers reach methods with and without a scorer of their own."""
    rng = np.random.default_rng(0)
    X, z = rng.normal(size=(40, 6)), rng.normal(size=40)
    y = z + 3 * X[:, 2]
    for model in (fastfs.RReliefF(), fastfs.TuRF(fastfs.RReliefF()), SelectKBest(f_regression, k=3)):
        found = fastfs.permutation_test(model, X, y, covariates=z, n_permutations=39)
        assert found.pvalues[2] == 1 / 40
        assert found.design == "40 samples, given 1 covariate"
    times = np.array(list(zip(y > y.min(), np.exp(y), strict=True)), dtype=[("event", bool), ("time", float)])
    found = fastfs.permutation_test(fastfs.RReliefF(), X, times, covariates=z, n_permutations=39)
    assert found.pvalues[2] == 1 / 40
    assert found.design == "40 samples, given 1 covariate"
    assert fastfs.permutation_test(fastfs.RReliefF(), X, times, blocks=z > 0, n_permutations=9).n_permutations == 9


# ------------------------------------------------------------------------------------------------- z and its moments


@pytest.mark.slow
def test_null_only_moments_of_z_break_the_family_wise_level():
    """The textbook's z, with mean and standard deviation of the permutations alone, finds too much: so row 0 counts."""
    n_sets, B, p = 400, 99, 1000
    textbook, ours = [], []
    for seed in range(n_sets):
        S = np.random.default_rng(seed).normal(size=(B + 1, p))
        largest = ((S - S[1:].mean(axis=0)) / S[1:].std(axis=0)).max(axis=1)
        textbook.append(np.mean(largest >= largest[0]) <= 0.05)
        moments = Moments(S[0])
        for row in S[1:]:
            moments.add_scores(row)
        scale = moments.make_scale(with_true=True)
        tested = StepDown(scale.standardize(S[0]), scale.standardized_limits(S[0]))
        for row in S[1:]:
            tested.add_scores(scale.standardize(row))
        ours.append(tested.step_down_pvalues().min() <= 0.05)
    assert np.mean(textbook) > 0.1
    assert np.mean(ours) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / n_sets)


def core_null(S, *, n_labelings=None, budget=None, overall=None, **options):
    """What the core says of rows of scores, the first of which are the true ones, and which rows it asked for."""
    n = len(S) - 1 if n_labelings is None else n_labelings
    design = Design(np.arange(200) % 2, n_permutations=n)
    overall = S.max(axis=1) if overall is None else overall
    null = load_core().Null(design.core, S[0], overall[0], "Model", options, Run(1, budget))
    following, asked = 0, []
    while following >= 0:
        asked.append(following)
        following = null.add(S[1 + following], overall[1 + following])
    return null.result(), asked


def oracle_null(S, overall, by_score):
    """The same from the oracle, without an early end."""
    moments = Moments(S[0])
    for row in S[1:]:
        moments.add_scores(row)
    scale = moments.make_scale(with_true=True)
    compared = Scale(np.zeros(1), np.ones(1)) if by_score else scale
    tested = StepDown(compared.standardize(S[0]), compared.standardized_limits(S[0]))
    for row in S[1:]:
        tested.add_scores(compared.standardize(row))
    z, pvalues_max = scale.standardize(S), tested.step_down_pvalues()
    flat = np.isinf(scale.spread)
    statistics = overall if by_score else z.max(axis=1)
    limit = statistics[0] - TIE * abs(statistics[0])
    pvalues = np.where(flat, 1, np.mean(tie_limits(S[0]) <= S, axis=0))
    return {
        "z": z[0],
        "pvalues": pvalues,
        "pvalues_max": np.where(flat, 1, pvalues_max),
        "null_mean": scale.center,
        "null_sd": np.where(flat, 0, scale.spread),
        "degenerate": flat,
        "null_statistics": statistics[1:],
        "statistic": statistics[0],
        "pvalue": np.mean(statistics >= limit) if by_score else pvalues_max.min(),
    }, moments


@rotating(1, seed=range(12), by_score=[0, 1])
def test_the_null_against_its_oracle(seed, by_score):
    """Scores with ties, constant features, rounding errors and scales apart; kept, and scored twice."""
    rng = np.random.default_rng(seed)
    B, d = int(rng.integers(1, 300)), int(rng.integers(1, 60))
    S = rng.normal(size=(B + 1, d)) * np.exp(rng.normal(scale=3, size=d)) + rng.normal(size=d)
    S[:, ::7] = np.round(S[:, ::7])
    S[:, 3::11] = 0.3 * (1 + 1e-14 * rng.normal(size=S[:, 3::11].shape))
    S[:, 5::13] = 1e-18 * rng.normal(size=S[:, 5::13].shape)
    S = np.ascontiguousarray(S)
    overall = S.sum(axis=1)
    expected, moments = oracle_null(S, overall, by_score)
    found, asked = core_null(S, overall=overall, by_score=by_score)
    again, asked_again = core_null(S, overall=overall, by_score=by_score, budget=160 * d)
    assert asked == list(range(B))
    assert asked_again == (asked if B < 10 else 2 * asked)
    assert_same_values(again, found)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)
    assert found["resolution"] == 1 / (1 + B)
    np.testing.assert_allclose(found["null_skew"], moments.score_skewness(), rtol=1e-12, atol=1e-13)
    if d > 1:
        expected = mean_correlation([S[0], moments.mean_scores()])
        np.testing.assert_allclose(found["label_free"], expected, rtol=0, atol=1e-13)
    for method in ("bh", "by"):
        adjusted = core_null(S, overall=overall, fdr=method)[0]["pvalues_adjusted"]
        np.testing.assert_allclose(adjusted, false_discovery_control(found["pvalues"], method=method), rtol=1e-13)


def assert_same_values(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_scores_under_labelings_must_be_finite(value):
    S = np.random.default_rng(0).normal(size=(20, 4))
    S[7, 2] = value
    with pytest.raises(ValueError, match=r"scores must be finite; got .* for column 2 under labeling 6"):
        core_null(S)


def test_scores_too_large_for_their_moments():
    S = 1e150 * np.random.default_rng(0).normal(size=(20, 4))
    with pytest.raises(ValueError, match="scores under permuted labels are too large"):
        core_null(S)


def test_z_takes_out_what_is_there_without_labels():
    """Scores of scale alone: the first ranking is that of any labels, the second that of the true ones."""
    X, y = np.random.default_rng(0).normal(size=(40, 30)) * np.linspace(1, 50, 30), np.arange(40) % 2
    X[:, 2] += 12 * (y - 0.5)
    model = Differences(transform=square)
    with pytest.warns(fastfs.DataWarning, match=r"Differences ranks .* rank correlation of 0\.[5-9]\d \(label_free\)"):
        found = fastfs.permutation_test(model, X, y, n_permutations=999)
    assert found.ranking[2] > 1
    assert found.label_free > 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        standard = fastfs.permutation_test(model, X, y, n_permutations=999, ranking="z")
    assert standard.ranking[2] == 1
    assert standard.pvalues_max[2] == 0.001
    raw = fastfs.permutation_test(model, X, y, n_permutations=999, ranking="z", statistic="score")
    assert raw.pvalues_max[2] > 0.1


def square(scores, X):
    return scores**2


def skewed(scores, X):
    return np.exp(scores / X.std(axis=0) * 2)


def test_warns_of_skewed_scores():
    X, y = np.random.default_rng(0).normal(size=(40, 30)), np.arange(40) % 2
    with pytest.warns(fastfs.DataWarning, match=r"skewed \(null_skew has the median [2-9]\.\d\), .* but there are 99"):
        fastfs.permutation_test(Differences(skewed), X, y, n_permutations=99)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fastfs.permutation_test(Differences(skewed), X, y, n_permutations=999)
        fastfs.permutation_test(Differences(), X, y, n_permutations=99)


def test_degenerate_features():
    X, y = problem(2)
    X[:, 7] = 3.0
    found = fastfs.permutation_test(fastfs.ReliefF(), X, y, n_permutations=39)
    assert found.degenerate.tolist() == [7]
    assert (found.z[7], found.null_sd[7], found.null_skew[7], found.pvalues[7], found.pvalues_max[7]) == (0, 0, 0, 1, 1)


# --------------------------------------------------------------------------------------------------- the early end


def test_labels_that_say_nothing_take_few_permutations():
    """Of 9999 allowed, 49 for the scale of z and some 79 more on average; the level is kept."""
    n_sets, sizes, pvalues, best = 100, [], [], []
    for seed in range(n_sets):
        X, y = np.random.default_rng(seed).normal(size=(24, 50)), np.arange(24) % 2
        found = fastfs.permutation_test(Differences(), X, y, n_permutations=9999, stop=True, random_state=seed)
        sizes.append(found.n_permutations)
        pvalues.append(found.pvalue)
        best.append(found.pvalues_max.min())
        assert found.stopped == (found.n_permutations < 9999)
        assert not found.stopped or found.pvalue == 10 / (found.n_permutations - 49)
        assert len(found.null_statistics) == found.n_permutations
    assert np.mean(sizes) <= 150
    for found in (pvalues, best):
        for q in (0.05, 0.3):
            assert np.mean(np.array(found) <= q) < q + 3 * np.sqrt(q * (1 - q) / n_sets)


@pytest.mark.parametrize("statistic", ["z", "score"])
def test_the_early_end_is_where_the_tenth_permutation_reaches_the_truth(statistic):
    X, y = np.random.default_rng(1).normal(size=(30, 8)), np.arange(30) % 2
    found = fastfs.permutation_test(Differences(), X, y, statistic=statistic)
    full = fastfs.permutation_test(Differences(), X, y, statistic=statistic, stop=False)
    assert found.stopped
    assert (full.stopped, full.n_permutations) == (False, 999)
    S = np.array([Differences()._scores(X, labeling) for labeling in Design(y).labelings(0, 999)])
    true, first = Differences()._scores(X, y), 0
    if statistic == "z":
        center, spread, first = S[:49].mean(axis=0), S[:49].std(axis=0), 49
        S, true = (S - center) / spread, (true - center) / spread
    reached = np.cumsum(S[first:].max(axis=1) >= true.max())
    n = 1 + int(np.argmax(reached == 10))
    assert found.n_permutations == first + n
    assert found.pvalue == 10 / n
    assert full.pvalue == pytest.approx(found.pvalue, abs=0.2)


def test_labels_that_matter_take_all():
    X, y = problem(2)
    found = fastfs.permutation_test(fastfs.ReliefF(), X, y)
    assert (found.n_permutations, found.stopped, found.pvalue) == (999, False, 0.001)


def test_few_labelings_say_nothing_of_label_free():
    """The exchange of two classes has the same scores, which isn't what features are without labels."""
    X = np.random.default_rng(0).normal(size=(24, 60))
    with pytest.warns(fastfs.DataWarning) as caught:
        found = fastfs.permutation_test(fastfs.ReliefF(5), X, np.arange(24) // 12, groups=np.arange(24) // 12)
    assert found.label_free > 0.99
    assert ["only 2 distinct labelings" in str(one.message) for one in caught] == [True]


@pytest.mark.parametrize("y", [np.linspace(0, 1, 40) ** 2, np.arange(40.0)[:, None]], ids=["fractions", "column"])
def test_projse_explains_numbers(y):
    """Each permutation is a fit to permuted numbers."""
    X = np.random.default_rng(0).normal(size=(40, 6))
    X[:, 2] += 3 * y.ravel() / y.max()
    found = fastfs.permutation_test(fastfs.ProjSe(1), X, y, n_permutations=99)
    assert (found.pvalues[2], np.flatnonzero(found.pvalues_max <= 0.05).tolist()) == (0.01, [2])
    np.testing.assert_array_equal(found.scores, fastfs.ProjSe(1).fit(X, y).scores_)
    design = Design(np.asarray(y, dtype=float).ravel())
    drawn = [values[:, None] for values in design.labelings(0, 99)]
    largest = [fastfs.ProjSe(1).fit(X, values).scores_ for values in drawn]
    np.testing.assert_allclose(found.null_mean, np.mean([found.scores, *largest], axis=0), rtol=1e-9)
    assert [len(part) for part in fastfs.stability(fastfs.ProjSe(1), X, y, n_subsamples=4).selected] == [1] * 4


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_projse_with_a_second_view(kernel):
    """Rows of the second view move as wholes: each permutation is a fit to them in another order."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2, 30, 4))
    Y[:, 0] = X[:, 2] + 0.2 * Y[:, 0]
    model = fastfs.ProjSe(2, kernel=kernel)
    found = fastfs.permutation_test(model, X, Y, n_permutations=49)
    assert (found.pvalues[2], np.flatnonzero(found.pvalues_max <= 0.05).tolist()) == (0.02, [2])
    np.testing.assert_array_equal(found.scores, model.fit(X, Y).scores_)
    orders = [order.astype(int) for order in Design(np.arange(30.0)).labelings(0, 49)]
    null = [clone(model).fit(X, Y[order]).scores_ for order in orders]
    np.testing.assert_allclose(found.null_mean, np.mean([found.scores, *null], axis=0), rtol=1e-9)
    assert found.design == "30 samples"


def test_all_orders_of_a_second_view():
    """Equal rows are one kind: 4 samples of which two are alike have 4! / 2! orders."""
    Y = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 5.0], [2.0, 2.0]])
    with pytest.warns(fastfs.DataWarning, match="only 12 distinct labelings"):
        found = fastfs.permutation_test(fastfs.ProjSe(1, center=True), np.random.default_rng(0).normal(size=(4, 5)), Y)
    assert (found.n_distinct, found.n_permutations, found.exact) == (12, 11, True)


def test_projse_with_numbers_and_another_kernel():
    """A column of whole numbers stays numbers."""
    y = np.arange(30.0)[:, None]
    X = np.random.default_rng(0).normal(size=(30, 4))
    model = fastfs.ProjSe(1, kernel="rbf", sigma=50.0)
    found = fastfs.permutation_test(model, X, y, n_permutations=9)
    orders = list(Design(np.arange(30.0)).labelings(0, 9))
    null = [clone(model).fit(X, order[:, None]).scores_ for order in orders]
    np.testing.assert_allclose(found.null_mean, np.mean([found.scores, *null], axis=0), rtol=1e-9)


def test_bad_second_views():
    X, Y = np.random.default_rng(0).normal(size=(2, 30, 4))
    for test in (fastfs.permutation_test, fastfs.stability):
        with pytest.raises(ValueError, match="X and y must have the same number of rows; got 30 and 29"):
            test(fastfs.ProjSe(1), X, Y[:-1])
        with pytest.raises(ValueError, match="Y must be finite; got NaN or infinity first at row 7, column 2"):
            test(fastfs.ProjSe(1), X, np.where(np.arange(120).reshape(30, 4) == 30, np.nan, Y))
    with pytest.raises(ValueError, match="one number per sample for covariates; got several"):
        fastfs.permutation_test(fastfs.ProjSe(1), X, Y, covariates=X[:, 0])
    with pytest.raises(ValueError, match="labels, which a permutation test shuffles; got None"):
        fastfs.permutation_test(fastfs.ProjSe(1), X, None)


@pytest.mark.parametrize("model", [fastfs.MultiSURF(), fastfs.IM4E(), fastfs.ReliefF(n_neighbors=30)], ids=repr)
def test_the_estimator_warns_once(model):
    """Of what it does under the true labels, and of that only."""
    X, y = np.random.default_rng(0).normal(size=(20, 4)), np.r_[0, np.ones(19, int)]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fastfs.permutation_test(model, X, y, n_permutations=15)
    assert sum("one sample only in class 0" in str(warning.message) for warning in said) == 1
