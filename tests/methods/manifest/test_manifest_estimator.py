"""The estimator as scikit-learn and its users handle it."""

import pickle
import re
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import fastfs
from covering import rotating, together
from fastfs import ManiFeSt
from fastfs._functions import manifest as _manifest
from fastfs._machine import run as _run
from sklearn_checks import assert_passes_checks

RNG = np.random.default_rng(0)
# Two computations of the same scores that add up in another order: (40 + 12) eps times a condition below 1e4.
ROUNDING = 1e-9
Y = np.arange(40) % 2
X = RNG.normal(size=(40, 12))
X[Y == 1, 3] = X[Y == 1, 7] + 0.1 * RNG.normal(size=20)  # 3 and 7 are tied to each other in class 1 only
NAMES = [f"gene {j}" for j in range(12)]


def planted(n_features_to_select=2, **options):
    return ManiFeSt(n_features_to_select, **options)


# --------------------------------------------------------------------------------------------------------- scikit-learn


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")  # the checks use tiny data
@pytest.mark.parametrize(
    "estimator", [ManiFeSt(), ManiFeSt(n_features_to_select=1, normalize=3, n_components=1)], ids=str
)
def test_scikit_learn_checks(estimator):
    assert_passes_checks(estimator)


def test_parameters_are_stored_untouched():
    given = {
        "n_features_to_select": np.int64(3),
        "kernel": "none",
        "sigma": [1.0, 2.0],
        "sigma_factor": "nonsense",
        "sigma_percentile": -1,
        "normalize": None,
        "form": 0,
        "accuracy": "much",
        "rank": "first",
        "multiclass": True,
        "combine": "all",
        "n_components": 1.5,
        "random_state": object(),
        "n_jobs": 0,
        "max_memory": "nonsense",
        "verbose": print,
    }
    estimator = ManiFeSt(**given)
    assert all(getattr(estimator, name) is value for name, value in given.items())
    assert estimator.get_params() == given


def test_clone_and_repr():
    estimator = planted(sigma="percentile", sigma_percentile=20.0).fit(X, Y)
    copy = clone(estimator)
    assert copy.get_params() == estimator.get_params()
    assert not hasattr(copy, "scores_")
    assert repr(copy) == "ManiFeSt(n_features_to_select=2, sigma='percentile', sigma_percentile=20.0)"


def test_attributes():
    estimator = planted(n_components=2).fit(X, Y)
    assert estimator.get_support(indices=True).tolist() == [3, 7]
    assert sorted(estimator.ranking_) == list(range(1, 13))
    assert np.all(np.diff(estimator.scores_[np.argsort(estimator.ranking_)]) <= 0)
    assert estimator.scores_.dtype == np.float64
    assert estimator.ranking_.dtype == np.int64
    assert estimator.sigma_.shape == (2,)
    assert estimator.kernel_rank_ == 12
    assert estimator.classes_.tolist() == [0, 1]
    assert estimator.n_features_in_ == 12
    assert estimator.mean_eigenvectors_.shape == (12, 2)
    np.testing.assert_allclose(estimator.scores_, fastfs.manifest_scores(X, Y), rtol=ROUNDING)


def test_pickle():
    estimator = planted(n_components=1).fit(X, Y)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        copy = pickle.loads(pickle.dumps(estimator, protocol))
        np.testing.assert_array_equal(copy.scores_, estimator.scores_)
        np.testing.assert_array_equal(copy.transform(X), estimator.transform(X))
        np.testing.assert_array_equal(copy.fit(X, Y).scores_, estimator.scores_)


def test_refit_forgets_what_it_no_longer_has():
    estimator = planted(n_components=2).fit(pd.DataFrame(X, columns=NAMES), Y)
    estimator.set_params(n_components=0).fit(X[:, :8], Y)
    assert estimator.mean_eigenvectors_.shape == estimator.difference_eigenvectors_.shape == (8, 0)
    assert estimator.mean_eigenvalues_.shape == estimator.difference_eigenvalues_.shape == (0,)
    assert not hasattr(estimator, "feature_names_in_")
    assert estimator.n_features_in_ == 8


def test_a_failed_refit_changes_no_score():
    estimator = planted().fit(X, Y)
    before = estimator.scores_.copy()
    with pytest.raises(ValueError, match="sigma_factor"):
        estimator.set_params(sigma_factor=-1.0).fit(2 * X, Y)
    np.testing.assert_array_equal(estimator.scores_, before)


# ---------------------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_feature_names(frame):
    table = frame(dict(zip(NAMES, X.T, strict=True)))
    estimator = planted().fit(table, Y)
    assert estimator.feature_names_in_.tolist() == NAMES
    assert estimator.get_feature_names_out().tolist() == ["gene 3", "gene 7"]
    np.testing.assert_allclose(estimator.scores_, planted().fit(X, Y).scores_, rtol=ROUNDING)
    renamed = frame(dict(zip(["x", *NAMES[1:]], X.T, strict=True)))
    with pytest.raises(ValueError, match="feature names"):
        estimator.transform(renamed)


def test_names_without_names():
    estimator = planted().fit(X, Y)
    assert estimator.get_feature_names_out().tolist() == ["x3", "x7"]
    assert estimator.get_feature_names_out(NAMES).tolist() == ["gene 3", "gene 7"]


@pytest.mark.parametrize("library, kind", [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_set_output(library, kind):
    table = pd.DataFrame(X, columns=NAMES)
    out = planted().set_output(transform=library).fit(table, Y).transform(table)
    assert isinstance(out, kind)
    assert list(out.columns) == ["gene 3", "gene 7"]
    np.testing.assert_array_equal(np.asarray(out), X[:, [3, 7]])


# --------------------------------------------------------------------------------------------------------------- labels

LABELS = {
    "strings": np.array(["sick", "healthy"])[1 - Y],
    "objects": np.array(["sick", "healthy"], dtype=object)[1 - Y],
    "bools": Y.astype(bool),
    "negative": 2 * Y - 1,
    "floats": Y + 0.0,
    "list": Y.tolist(),
    "column": Y[:, None],
    "uint8": Y.astype(np.uint8),
    "pandas": pd.Series(np.array(["healthy", "sick"])[Y], index=range(100, 140)),
    "pandas categories": pd.Series(pd.Categorical(np.array(["a", "b"])[Y], categories=["b", "unused", "a"])),
    "pandas strings": pd.Series(np.array(["healthy", "sick"])[Y], dtype="string"),
    "pandas Int64": pd.Series(Y, dtype="Int64"),
    "pandas boolean": pd.Series(Y == 1, dtype="boolean"),
    "polars": pl.Series(np.array(["healthy", "sick"])[Y]),
    "polars categories": pl.Series(np.array(["healthy", "sick"])[Y], dtype=pl.Categorical),
}


@pytest.mark.parametrize("kind", LABELS)
def test_any_labels(kind):
    y = LABELS[kind]
    estimator = planted().fit(X, y)
    np.testing.assert_array_equal(estimator.scores_, planted().fit(X, Y).scores_)
    assert list(estimator.classes_) == sorted(set(np.asarray(y).ravel().tolist()))
    np.testing.assert_array_equal(fastfs.manifest_scores(X, y), estimator.scores_)


def test_sigma_goes_with_the_sorted_classes():
    y = np.array(["b", "a"])[Y]
    estimator = planted(sigma=(2.0, 3.0)).fit(X, y)
    assert estimator.classes_.tolist() == ["a", "b"]
    assert estimator.sigma_.tolist() == [2.0, 3.0]
    np.testing.assert_array_equal(estimator.scores_, planted(sigma=(2.0, 3.0)).fit(X, 1 - Y).scores_)


# ---------------------------------------------------------------------------------------------------------------- input


@rotating(
    1, form=[np.asarray, sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array], dtype=[np.float32, np.float64]
)
def test_transform_keeps_dtype_and_form(form, dtype):
    data = form(X.astype(dtype))
    estimator = planted().fit(data, Y)
    out = estimator.transform(data)
    assert out.dtype == dtype
    assert out.shape == (40, 2)
    assert sp.issparse(out) == sp.issparse(data)
    np.testing.assert_array_equal(out.toarray() if sp.issparse(out) else out, X.astype(dtype)[:, [3, 7]])
    expected = planted().fit(X.astype(dtype).astype(float), Y).scores_
    np.testing.assert_allclose(estimator.scores_, expected, rtol=ROUNDING)


def test_read_only_memmap(tmp_path):
    path = tmp_path / "X.npy"
    np.save(path, X)
    mapped = np.load(path, mmap_mode="r")
    np.testing.assert_array_equal(planted().fit(mapped, Y).scores_, planted().fit(X, Y).scores_)
    np.testing.assert_array_equal(np.load(path), X)


def test_input_is_left_as_it_is():
    for order in "CF":
        data, labels = np.array(X, order=order), Y.copy()
        planted(n_components=2).fit(data, labels).transform(data)
        np.testing.assert_array_equal(data, X)
        np.testing.assert_array_equal(labels, Y)


def test_one_sample_at_a_time():
    estimator = planted().fit(X, Y)
    np.testing.assert_array_equal(estimator.transform(X[:1]), X[:1, [3, 7]])


# ------------------------------------------------------------------------------------------------------------ selection


@together
@pytest.mark.parametrize(
    "wanted, n", [(None, 6), (1, 1), (12, 12), (np.int32(5), 5), (1.0, 12), (0.5, 6), (0.01, 1), (np.float32(0.25), 3)]
)
def test_n_features_to_select(wanted, n):
    estimator = planted(wanted).fit(X, Y)
    assert estimator.get_support().sum() == n
    assert set(estimator.ranking_[estimator.get_support()]) == set(range(1, n + 1))
    assert estimator.transform(X).shape == (40, n)


@together
@pytest.mark.parametrize("wanted", [0, -1, 13, 0.0, -0.5, 1.5, np.nan, "2", True, [2], 2j])
def test_bad_n_features_to_select(wanted):
    with pytest.raises((ValueError, TypeError), match=r"n_features_to_select .*must .*; got "):
        planted(wanted).fit(X, Y)


def test_n_features_to_select_may_change_after_the_fit():
    estimator = planted(2).fit(X, Y)
    assert estimator.set_params(n_features_to_select=5).transform(X).shape == (40, 5)


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
def test_ties_go_to_the_lower_index():
    data = RNG.normal(size=(20, 6))
    estimator = ManiFeSt(3).fit(np.vstack([data, data]), np.repeat([0, 1], 20))
    np.testing.assert_array_equal(estimator.scores_, 0)
    assert estimator.ranking_.tolist() == [1, 2, 3, 4, 5, 6]
    assert estimator.get_support(indices=True).tolist() == [0, 1, 2]


# ------------------------------------------------------------------------------------------------- pipelines and search


def test_pipeline():
    pipeline = make_pipeline(StandardScaler(), planted(), KNeighborsClassifier())
    table = pd.DataFrame(X, columns=NAMES)
    assert pipeline.set_output(transform="pandas").fit(table, Y).predict(table).shape == (40,)
    assert pipeline[:-1].get_feature_names_out().tolist() == ["gene 3", "gene 7"]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_grid_search(n_jobs):
    """With two jobs data and estimator pass through pickles, to processes that start anew."""
    pipeline = Pipeline([("select", planted()), ("classify", KNeighborsClassifier())])
    grid = {"select__sigma_factor": [0.1, 0.5, 1.0], "select__n_features_to_select": [1, 3]}
    with joblib.parallel_config("loky"):
        search = GridSearchCV(pipeline, grid, cv=3, n_jobs=n_jobs, error_score="raise").fit(X, Y)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    assert search.best_estimator_["select"].ranking_.shape == (12,)


def default_threads():
    """Those that a fit without n_jobs asks the core for."""
    return _manifest.ManiFeStStage([X], _run.Run.from_estimator(ManiFeSt()))._run.n_threads


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_one_thread_inside_joblib_workers(backend):
    assert default_threads() == 0  # the core's default: all
    assert joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(default_threads)() for _ in range(4)) == [1] * 4
    assert default_threads() == 0


def scores_of(data, labels, n_jobs):
    return ManiFeSt(n_jobs=n_jobs).fit(data, labels).scores_


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_fits_inside_joblib_workers(backend):
    n_jobs = [None, 1, 2, -1]
    found = joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(scores_of)(X, Y, n) for n in n_jobs)
    for scores in found:
        np.testing.assert_allclose(scores, scores_of(X, Y, 1), rtol=ROUNDING)


def test_n_jobs():
    cores = fastfs.info()["n_threads"]
    expected = {None: 0, 1: 1, 5: 5, -1: cores, -cores: 1, -cores - 5: 1, np.int64(2): 2}
    assert {n: _run.count_threads(n) for n in expected} == expected
    if cores > 1:
        assert _run.count_threads(-2) == cores - 1
    for n in (-1, -1000):
        np.testing.assert_allclose(scores_of(X, Y, n), scores_of(X, Y, 1), rtol=ROUNDING)


@pytest.mark.parametrize("n_jobs, error", [(0, ValueError), (1025, ValueError), (1.5, TypeError), ("2", TypeError)])
def test_bad_n_jobs(n_jobs, error):
    with pytest.raises(error):
        scores_of(X, Y, n_jobs)


# ------------------------------------------------------------------------------------------------ progress and warnings


class Clock:
    now = 100.0

    def monotonic(self):
        return self.now


def test_verbose_prints_after_two_seconds(monkeypatch, capsys):
    clock = Clock()
    monkeypatch.setattr(_run, "time", clock)
    report = _run.as_progress(True)
    for second, share in [(101.9, 0.1), (102.1, 0.5), (102.9, 0.6), (103.2, 1.0)]:
        clock.now = second
        report("eigenvectors", share)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["[fastfs]  50%  eigenvectors", "[fastfs] 100%  eigenvectors"]


def test_verbose_is_silent_on_fast_fits(capsys):
    for verbose in (False, True):
        ManiFeSt(verbose=verbose).fit(X, Y)
    assert capsys.readouterr() == ("", "")


def test_verbose_may_be_a_callable():
    assert _run.as_progress(print) is print
    assert _run.as_progress(False) is None


def line_of(call):
    """Where the warning that `call` issues points to, relative to the first line of `call`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    (warning,) = [w for w in caught if w.category is fastfs.DataWarning]
    return warning.filename, warning.lineno - call.__code__.co_firstlineno


CALLS = {
    "function": lambda: fastfs.manifest_scores(X[:, :2], Y),
    "fit": lambda: ManiFeSt().fit(X[:, :2], Y),
    "fit_transform": lambda: ManiFeSt().fit_transform(X[:, :2], Y),
    "pipeline": lambda: make_pipeline(ManiFeSt(), KNeighborsClassifier()).fit(X[:, :2], Y),
}


@pytest.mark.parametrize("name", CALLS)
def test_warnings_point_at_the_caller(name):
    assert line_of(CALLS[name]) == (__file__, 0)


def test_fastfs_warns_of_nothing_else():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ManiFeSt(n_components=2).fit(X, Y).transform(X)


def test_docstring_names_every_parameter_and_attribute():
    doc = ManiFeSt.__doc__
    fitted = [
        name for name in vars(planted(n_components=1).fit(pd.DataFrame(X, columns=NAMES), Y)) if name.endswith("_")
    ]
    for name in [*ManiFeSt().get_params(), *fitted]:
        assert re.search(rf"\b{name}\b.* : ", doc), name
