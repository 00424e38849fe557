"""What a score rests on: the grid of scales, its figures of sensitivity, and blending with other scores."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.feature_selection import SelectKBest, f_classif, mutual_info_classif
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import fastfs
from covering import rotating, together
from fastfs import ManiFeSt
from reference import manifest as oracle
from reference.data import exclusive_or, factor_model, hypercube, repeated_columns, several_classes
from reference.tolerance import PROMISED, SINGULAR, assert_close

# Scales of a tenth of the median and of its 95th percentile seldom agree; where that isn't what a test is about:
unsteady = pytest.mark.filterwarnings("ignore:.*ranking depends on sigma:fastfs.DataWarning")


def fit(X, y, *, n_jobs=1, **options):
    return ManiFeSt(n_jobs=n_jobs, **options).fit(X, y)


def steady_fit(X, y, **options):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*ranking depends on sigma", fastfs.DataWarning)
        return fit(X, y, **options)


def in_words(rule, value, times):
    name = f"median x {value:g}" if rule == "median" else f"percentile {value:g}"
    return f"{name}, normalized {times} times" if times else name


GRID = {in_words(*entry): entry for entry in oracle.GRID}

# ----------------------------------------------------------------------------------------------------------------- grid


@unsteady
@pytest.mark.parametrize(
    "multiclass, n_classes", [("ovr", 2), ("ovr", 3), ("ovo", 3)], ids=["two classes", "one-vs-rest", "one-vs-one"]
)
def test_the_grid_is_the_oracle_at_each_scale(multiclass, n_classes):
    X, y = several_classes(60, 16, n_classes, seed=2)
    found = fit(X, y, sigma="grid", multiclass=multiclass).sensitivity_
    assert sorted(found["scale"]) == sorted(GRID)
    expected = dict(zip(GRID, oracle.grid(X, y, multiclass=multiclass, singular=True), strict=True))
    for i, name in enumerate(found["scale"]):
        assert_close(found["scores"][i], expected[name].scores, SINGULAR)
        np.testing.assert_allclose(found["sigma"][i], expected[name].sigma, rtol=1e-9)
        assert found["normalize"][i] == GRID[name][2]


@unsteady
@pytest.mark.parametrize("top", [1, 3, 8])
def test_the_figures_of_sensitivity(top):
    """From the scores that are reported with them, so that ties and rounding are the same on both sides."""
    X, y = several_classes(60, 16, 2, seed=2)
    found = fit(X, y, sigma="grid", n_features_to_select=top).sensitivity_
    scores = found["scores"]
    n = len(scores)
    assert n == 22
    assert all(
        len(found[key]) == n for key in ("scale", "normalize", "sigma", "spearman_next", "overlap_next", "contrast")
    )
    np.testing.assert_allclose(found["contrast"], [oracle.contrast(r) for r in scores], rtol=1e-12)
    # Ascending scales, first without normalisation and then with it; the last of each has no next one.
    assert found["normalize"].tolist() == [0] * 11 + [3] * 11
    scale = np.log(found["sigma"]).mean(axis=1)
    for i in range(n):
        if i in (10, 21):
            assert np.isnan(found["spearman_next"][i])
            assert np.isnan(found["overlap_next"][i])
            continue
        assert scale[i] <= scale[i + 1]
        assert found["spearman_next"][i] == pytest.approx(oracle.spearman(scores[i], scores[i + 1]), abs=1e-12)
        assert found["overlap_next"][i] == pytest.approx(oracle.top_overlap(scores[i], scores[i + 1], top))


@unsteady
def test_scores_are_those_of_the_median_rule():
    X, y = factor_model(40, 30, 1)
    for options in ({}, {"sigma_factor": 0.2}, {"normalize": 3}, {"sigma_factor": 0.2, "normalize": 3}):
        found, plain = fit(X, y, sigma="grid", **options), fit(X, y, **options)
        np.testing.assert_array_equal(found.scores_, plain.scores_)
        np.testing.assert_array_equal(found.sigma_, plain.sigma_)
        assert len(found.sensitivity_["scale"]) == 22
        assert not hasattr(plain, "sensitivity_")


@unsteady
@pytest.mark.parametrize("options", [{"sigma_factor": 0.37}, {"normalize": 2}], ids=str)
def test_a_scale_beside_the_grid_joins_it(options):
    X, y = factor_model(40, 30, 1)
    found = fit(X, y, sigma="grid", **options)
    np.testing.assert_array_equal(found.scores_, fit(X, y, **options).scores_)
    assert len(found.sensitivity_["scale"]) == 23
    assert np.any(np.all(found.sensitivity_["scores"] == found.scores_, axis=1))
    order = list(zip(found.sensitivity_["normalize"], np.log(found.sensitivity_["sigma"]).mean(axis=1), strict=True))
    assert order == sorted(order)


def test_neighbours_that_share_little_are_named():
    """Exclusive or: a tenth of the median finds the two features, half of it doesn't."""
    X, y = exclusive_or()
    with pytest.warns(fastfs.DataWarning, match="ranking depends on sigma") as caught:
        found = fit(X, y, sigma="grid", n_features_to_select=2)
    assert len([w for w in caught if "ranking depends" in str(w.message)]) == 1
    text = str(next(w.message for w in caught if "ranking depends" in str(w.message)))
    assert "\n" not in text
    overlap = found.sensitivity_["overlap_next"]
    worst = np.nanargmin(overlap)
    assert overlap[worst] < 0.5
    for i in (worst, worst + 1):
        assert found.sensitivity_["scale"][i] in text
    (tenth,) = np.flatnonzero(np.array(found.sensitivity_["scale"]) == "median x 0.1")
    assert set(np.argsort(-found.sensitivity_["scores"][tenth])[:2]) == {0, 1}


def test_neighbours_that_agree_are_not_warned_of():
    """Three features tied to each other in one class, many samples."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 20))
    X[y == 1, :3] = X[y == 1, :1] + 0.05 * rng.normal(size=(200, 3))
    found = fit(X, y, sigma="grid", n_features_to_select=3)  # a warning would be an error here
    assert np.nanmin(found.sensitivity_["overlap_next"]) >= 0.5


def test_the_grid_on_the_hypercube():
    """Of the 10 features the largest percentiles find most, three normalisations nearly all: the guide's table."""
    right = []
    for seed in range(4):
        X, y = hypercube(seed=seed)
        found = steady_fit(X, y, sigma="grid", n_features_to_select=10).sensitivity_
        right.append([np.sum(np.argsort(-r)[:10] < 10) for r in found["scores"]])
        names = list(found["scale"])
    mean = dict(zip(names, np.mean(right, axis=0), strict=True))
    assert mean["percentile 95, normalized 3 times"] >= 9
    assert mean["percentile 95"] >= 7
    assert mean["median x 0.5"] <= mean["percentile 90"]


@unsteady
def test_the_grid_shares_the_work_and_the_answer():
    """An entry of the grid has the bits of a fit at its scale."""
    X, y = factor_model(40, 60, 1)
    found = fit(X, y, sigma="grid").sensitivity_
    for i, name in enumerate(found["scale"]):
        rule, value, times = GRID[name]
        scale = {"sigma_factor": value} if rule == "median" else {"sigma_percentile": value}
        alone = fit(X, y, sigma=rule, normalize=times, **scale)
        np.testing.assert_array_equal(found["scores"][i], alone.scores_)
        np.testing.assert_array_equal(found["sigma"][i], alone.sigma_)


@unsteady
def test_threads_chunks_and_storage_of_the_grid():
    X, y = factor_model(40, 230, 1)
    one = fit(X, y, sigma="grid").sensitivity_["scores"]
    np.testing.assert_array_equal(fit(X, y, sigma="grid", n_jobs=3).sensitivity_["scores"], one)
    for data in (sp.csc_matrix(X), iter([X[:11], X[11:]])):
        for r, expected in zip(fit(data, y, sigma="grid").sensitivity_["scores"], one, strict=True):
            assert_close(r, expected, SINGULAR)


@unsteady
@pytest.mark.filterwarnings("ignore:.*trace:fastfs.DataWarning")
@pytest.mark.parametrize("accuracy", ["low_rank", "low_rank_high"])
def test_the_grid_in_the_wide_form(accuracy):
    X, y = factor_model(40, 300, 1)
    found = fit(X, y, sigma="grid", accuracy=accuracy, rank=40)
    assert found.sensitivity_["scores"].shape == (22, 300)
    assert np.all(np.isfinite(found.sensitivity_["scores"]))
    np.testing.assert_array_equal(found.scores_, fit(X, y, accuracy=accuracy, rank=40).scores_)
    exact = fit(X, y, sigma="grid", accuracy="exact").sensitivity_
    assert list(found.sensitivity_["scale"]) == list(exact["scale"])
    np.testing.assert_allclose(
        found.sensitivity_["sigma"], exact["sigma"], rtol={"low_rank": 1e-9, "low_rank_high": 1e-6}[accuracy]
    )
    (best,) = np.flatnonzero(np.array(exact["scale"]) == "median x 1, normalized 3 times")
    assert oracle.spearman(found.sensitivity_["scores"][best], exact["scores"][best]) > 0.9


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
@pytest.mark.parametrize("data", ["duplicates", "equal classes", "few values", "two features"])
def test_the_grid_on_odd_data(data):
    """Percentile 5 of duplicated features is 0, scores may all be equal: figures are finite or NaN, never an error."""
    if data == "duplicates":
        X, y = repeated_columns(30, 40, 8)
    elif data == "equal classes":
        X = np.random.default_rng(0).normal(size=(15, 10))
        X, y = np.vstack([X, X]), np.repeat([0, 1], 15)
    elif data == "few values":
        X, y = np.random.default_rng(0).integers(0, 2, size=(20, 12)).astype(float), np.arange(20) % 2
    else:
        X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    found = fit(X, y, sigma="grid").sensitivity_
    assert np.all(np.isfinite(found["scores"]))
    assert np.all(found["scores"] >= 0)
    assert np.all(np.isfinite(found["sigma"]))
    inner = [i for i in range(21) if i != 10]
    assert np.all((found["overlap_next"][inner] >= 0) & (found["overlap_next"][inner] <= 1))
    assert not np.any(np.isinf(found["spearman_next"]))


def test_the_function_has_no_place_for_the_grid():
    X, y = factor_model(40, 30, 1)
    with pytest.raises(ValueError, match="ManiFeSt"):
        fastfs.manifest_scores(X, y, sigma="grid")


@unsteady
def test_refit_forgets_the_grid_and_the_blending():
    X, y = factor_model(40, 30, 1)
    estimator = fit(X, y, sigma="grid", combine="f")
    estimator.set_params(sigma="median", combine=None).fit(X, y)
    assert not hasattr(estimator, "sensitivity_")
    assert not hasattr(estimator, "manifest_scores_")


@unsteady
def test_pickle_and_clone_of_the_grid():
    X, y = factor_model(40, 30, 1)
    found = fit(X, y, sigma="grid")
    copy = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(copy.sensitivity_["scores"], found.sensitivity_["scores"])
    np.testing.assert_array_equal(clone(found).fit(X, y).sensitivity_["scores"], found.sensitivity_["scores"])


def test_search_over_scales():
    X, y = exclusive_or(200, 30)
    pipeline = make_pipeline(ManiFeSt(2), KNeighborsClassifier())
    choices = {"manifest__sigma": ["median", "percentile"], "manifest__sigma_factor": [0.1, 1.0]}
    search = GridSearchCV(pipeline, choices, cv=3, error_score="raise").fit(X, y)
    assert search.best_params_ == {"manifest__sigma": "median", "manifest__sigma_factor": 0.1}
    assert search.best_score_ == 1


# ------------------------------------------------------------------------------------------------------------- blending


@given(
    values=st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=12, max_size=12),
    multiclass=st.sampled_from(["ovr", "ovo"]),
)
def test_an_array(values, multiclass):
    X, y = several_classes(45, 12, 3)
    plain = fit(X, y, multiclass=multiclass)
    found = fit(X, y, combine=values, multiclass=multiclass)
    np.testing.assert_allclose(found.scores_, oracle.blend(plain.scores_, values), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found.manifest_scores_, plain.scores_)
    np.testing.assert_array_equal(found.class_scores_, plain.class_scores_)
    np.testing.assert_array_equal(
        found.scores_, fastfs.manifest_scores(X, y, combine=values, multiclass=multiclass, n_threads=1)
    )


@rotating(1, form=[np.asarray, sp.csr_matrix, sp.csc_matrix], n_classes=[2, 3])
def test_f(form, n_classes):
    X, y = several_classes(60, 12, n_classes)
    X[y == 0, 5] += 2
    labels = np.array(["c", "b", "a"])[y]
    found = fit(form(X), labels, combine="f")
    np.testing.assert_allclose(found.scores_, oracle.blend(fit(X, y).scores_, f_classif(X, y)[0]), rtol=0, atol=1e-9)
    assert found.scores_.argmax() == 5
    assert sorted(found.ranking_) == list(range(1, 13))
    assert found.ranking_[5] == 1


def test_f_of_chunks():
    X, y = several_classes(60, 12, 3)
    expected = fit(X, y, combine="f").scores_
    for form in (np.asarray, sp.csr_matrix):
        found = fit(iter([form(X[:20]), form(X[20:])]), y, combine="f").scores_
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_an_estimator():
    X, y = several_classes(60, 12, 3)
    test = SelectKBest(f_classif, k=3)
    found = fit(X, y, combine=test)
    assert not hasattr(test, "scores_")  # a clone is fitted
    np.testing.assert_allclose(found.scores_, fit(X, y, combine="f").scores_, rtol=0, atol=1e-12)
    informed = SelectKBest(lambda X, y: mutual_info_classif(X, y, random_state=0))
    expected = oracle.blend(fit(X, y).scores_, mutual_info_classif(X, y, random_state=0))
    np.testing.assert_allclose(fit(X, y, combine=informed).scores_, expected, rtol=0, atol=1e-12)


def test_another_manifest():
    """Two scales at once: any scored estimator will do, this one too."""
    X, y = factor_model(40, 30, 1)
    found = fit(X, y, combine=ManiFeSt(sigma_factor=0.1))
    expected = oracle.blend(fit(X, y).scores_, fit(X, y, sigma_factor=0.1).scores_)
    np.testing.assert_allclose(found.scores_, expected, rtol=0, atol=1e-9)


def test_equal_scores_count_as_zero():
    X, y = factor_model(40, 30, 1)
    plain = fit(X, y).scores_
    np.testing.assert_allclose(fit(X, y, combine=np.full(30, 7.0)).scores_, oracle.min_max(plain), atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*zero up to rounding:fastfs.DataWarning")
def test_equal_manifest_scores_count_as_zero():
    X = np.random.default_rng(0).normal(size=(15, 10))
    found = fit(np.vstack([X, X]), np.repeat([0, 1], 15), combine=np.arange(10))
    np.testing.assert_allclose(found.scores_, np.arange(10) / 9, rtol=1e-12)


def test_f_of_constant_features_and_of_perfect_ones():
    """No F statistic, and an infinite one: the scores stay finite, last and first of the univariate part."""
    X, y = factor_model(40, 30, 1)
    X[:, 4] = 1.0
    X[:, 9] = y
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fit(X, y, combine="f")
    assert np.all(np.isfinite(found.scores_))
    univariate = found.scores_ - oracle.min_max(found.manifest_scores_)
    assert univariate[4] == pytest.approx(0, abs=1e-12)
    assert univariate[9] == pytest.approx(1, abs=1e-12)


def test_f_where_all_features_are_perfect_or_constant():
    y = np.repeat([0, 1], 10)
    X = np.tile([[0.0, 1.0, 2.0, 5.0]], (20, 1))
    X[y == 1, 2:] += [3, 7]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastfs.DataWarning)
        found = fit(X, y, combine="f", sigma=(2.0, 2.0))
    assert np.all(np.isfinite(found.scores_))
    univariate = found.scores_ - oracle.min_max(found.manifest_scores_)
    assert univariate[:2] == pytest.approx([0, 0], abs=1e-12)
    assert univariate[2:] == pytest.approx([1, 1], abs=1e-12)


class Unscored(KNeighborsClassifier):
    pass


BAD_COMBINE = [
    ("F", ValueError, ["combine", "'f'", "'F'"]),
    ("relief", ValueError, ["combine", "'relief'"]),
    (np.ones(5), ValueError, ["combine", "6", "5"]),
    (np.ones((6, 1)), ValueError, ["combine", "6", "(6, 1)"]),
    (1.0, (ValueError, TypeError), ["combine"]),
    (np.full(6, np.nan), ValueError, ["combine", "got nan for feature 0"]),
    (np.array([1, 2, 3, 4, 5, np.inf]), ValueError, ["combine", "got inf for feature 5"]),
    (["a"] * 6, (ValueError, TypeError), ["combine"]),
    (object(), (ValueError, TypeError), ["combine"]),
    (Unscored(), (ValueError, TypeError), ["combine", "scores_"]),
    (SelectKBest, (ValueError, TypeError), ["combine"]),
]


@together
@pytest.mark.parametrize("combine, error, parts", BAD_COMBINE, ids=[str(c[0])[:20] for c in BAD_COMBINE])
def test_bad_combine(combine, error, parts):
    X, y = factor_model(20, 6, 0)
    for call in (fit, fastfs.manifest_scores):
        with pytest.raises(error) as raised:
            call(X, y, combine=combine)
        assert "\n" not in str(raised.value)
        for part in parts:
            assert part in str(raised.value)


def test_blending_in_a_pipeline_and_a_search():
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, np.random.default_rng(0).normal(size=(150, 4))])
    pipeline = make_pipeline(ManiFeSt(2), KNeighborsClassifier())
    choices = {"manifest__combine": [None, "f", SelectKBest(mutual_info_classif, k=2)]}
    search = GridSearchCV(pipeline, choices, cv=3, error_score="raise").fit(X, y)
    scores = dict(zip([None, "f", "mutual"], search.cv_results_["mean_test_score"], strict=True))
    assert scores["f"] > 0.9


def test_clone_keeps_the_estimator_to_blend_with():
    selector = ManiFeSt(combine=SelectKBest(f_classif, k=3))
    copy = clone(selector)
    assert copy.combine.k == 3
    assert copy.combine is not selector.combine
    assert clone(selector.set_params(combine__k=2)).combine.k == 2


def test_blending_leaves_the_components_alone():
    X, y = factor_model(40, 30, 1)
    blended, plain = fit(X, y, combine="f", n_components=2), fit(X, y, n_components=2)
    np.testing.assert_array_equal(blended.difference_eigenvectors_, plain.difference_eigenvectors_)
    assert_close(blended.manifest_scores_, plain.scores_, PROMISED)
