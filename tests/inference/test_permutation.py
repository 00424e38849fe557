"""Permutation tests: the label-free stages, the counting, the p-values' calibration, Dask."""

import warnings

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from scipy.sparse import csc_matrix, csr_matrix
from scipy.stats import false_discovery_control
from sklearn.base import clone
from sklearn.feature_selection import RFE, SelectKBest
from sklearn.linear_model import LogisticRegression

import fastfs
from fastfs._inference.permutation import make_scorer
from fastfs._machine.run import as_threads

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


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", MODELS, ids=str)
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


@pytest.mark.parametrize("make", [csr_matrix, csc_matrix])
@pytest.mark.parametrize("center", [True, False])
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


@pytest.mark.parametrize("model", [MODELS[2], MODELS[8], MODELS[12], MODELS[15]], ids=str)
def test_counting(model):
    """All p-values from scores of fits, counted in the plainest way."""
    X, y = problem(2)
    found = fastfs.permutation_test(model, X, y, n_permutations=19, random_state=5)
    true = clone(model).fit(X, y)
    scores, largest, statistics = [], [], []
    labels = np.unique(y, return_inverse=True)[1]
    for seed in np.random.SeedSequence(5).spawn(19):
        fitted = clone(model).fit(X, np.unique(y)[np.random.default_rng(seed).permutation(labels)])
        scores.append(fitted.scores_)
        largest.append(fitted.scores_.max())
        statistics.append(np.max(getattr(fitted, "statistic_", fitted.scores_)))
    np.testing.assert_allclose(found.scores, true.scores_, rtol=1e-11)
    exceeding = (np.array(scores) >= true.scores_ * (1 - 1e-9 * np.sign(true.scores_))).sum(axis=0)
    assert np.array_equal(found.pvalues, (1 + exceeding) / 20)
    assert found.pvalues_max.tolist() == [(1 + np.sum(np.array(largest) >= s)) / 20 for s in true.scores_]
    np.testing.assert_allclose(found.null_statistics, statistics, rtol=1e-11)
    assert found.pvalue == (1 + np.sum(found.null_statistics >= found.statistic)) / 20
    assert np.array_equal(found.pvalues_adjusted, false_discovery_control(found.pvalues))
    assert found.resolution == 0.05
    assert np.all(found.pvalues <= found.pvalues_max)


@pytest.mark.parametrize("model", [MODELS[2], MODELS[4], MODELS[8], MODELS[12]], ids=str)
def test_any_number_of_jobs(model):
    X, y = problem(2)
    alone = fastfs.permutation_test(model, X, y, n_permutations=21)
    for n_jobs, backend in ((1, None), (2, "threading"), (3, "threading"), (2, "loky")):
        with parallel_config(backend or "loky"):
            found = fastfs.permutation_test(model, X, y, n_permutations=21, n_jobs=n_jobs)
        assert np.array_equal(found.pvalues, alone.pvalues)
        assert np.array_equal(found.pvalues_max, alone.pvalues_max)
        np.testing.assert_allclose(found.null_statistics, alone.null_statistics, rtol=1e-12)
    with parallel_config("threading", n_jobs=2):
        found = fastfs.permutation_test(model, X, y, n_permutations=21)
    assert np.array_equal(found.pvalues, alone.pvalues)
    other = fastfs.permutation_test(model, X, y, n_permutations=21, random_state=1)
    assert not np.array_equal(other.null_statistics, alone.null_statistics)


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


@pytest.mark.parametrize("make", [np.asarray, csr_matrix])
@pytest.mark.parametrize("offset", [0, 1000])
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


@pytest.mark.parametrize(
    "parameters, error, message",
    [
        ({"n_permutations": 0}, ValueError, "n_permutations"),
        ({"n_permutations": 2.5}, TypeError, "n_permutations must be an integer"),
        ({"fdr": "holm"}, ValueError, "fdr must be 'bh' or 'by'"),
    ],
)
def test_bad_parameters(parameters, error, message):
    X, y = problem(2)
    with pytest.raises(error, match=message):
        fastfs.permutation_test(fastfs.ReliefF(), X, y, **parameters)


def test_bad_data():
    with pytest.raises(ValueError, match="X is an iterator, which can be read once"):
        fastfs.permutation_test(fastfs.ProjSe(1), iter([np.ones((4, 3))]), [0, 1, 0, 1])
    X, y = problem(2)
    with pytest.raises(ValueError, match="labels, but y is None"):
        fastfs.permutation_test(fastfs.IKDR(), X, None)
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="row 3, column 2"):
        fastfs.permutation_test(fastfs.ReliefF(), X, y)
    with pytest.raises(ValueError, match="one class"):
        fastfs.permutation_test(fastfs.ReliefF(), np.ones((4, 2)), np.zeros(4))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_disc_keeps_its_first_graph(n_jobs, monkeypatch):
    """What graph="auto" has chosen for the true labels is the graph of all permutations and subsamples."""
    X, y = problem(2)
    asked = []
    fit = fastfs.DiSC._fit

    def record(self, X, y):
        asked.append(self.graph)
        fit(self, X, y)

    monkeypatch.setattr(fastfs.DiSC, "_fit", record)
    model = fastfs.DiSC(3, n_components=2, bandwidth_neighbors=3, n_differential=1)
    with warnings.catch_warnings(), parallel_config("threading"):
        warnings.simplefilter("ignore", fastfs.DataWarning)
        fastfs.permutation_test(model, X, y, n_permutations=3, n_jobs=n_jobs)
        assert asked[0] == "auto"
        assert set(asked[1:]) == {"dense"}
        del asked[:]
        fastfs.stability(model, X, y, n_subsamples=3, n_jobs=n_jobs)
    assert asked == ["auto", "dense", "dense"]
    assert model.graph == "auto"
