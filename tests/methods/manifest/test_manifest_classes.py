"""ManiFeSt for more than two classes: one-vs-rest, one-vs-one, and what each class contributes.

The oracle solves each problem from the rows of its two sides; the core takes the rest of a class from the distances
over all rows. What that loses is within the tolerances of two classes.
"""

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from joblib import Parallel, delayed, parallel_config
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import fastfs
from covering import rotating, together
from fastfs import ManiFeSt
from fastfs._functions import manifest as _manifest
from fastfs._machine.run import Run
from reference import manifest as oracle
from reference.data import factor_model, repeated_columns, several_classes
from reference.tolerance import EPS, PROMISED, SINGULAR, assert_close, full_rank_tolerance, singular_noise

BOTH = pytest.mark.parametrize("multiclass", ["ovr", "ovo"])


def fit(X, y, *, n_jobs=1, **options):
    return ManiFeSt(n_jobs=n_jobs, **options).fit(X, y)


def fit_stage(stage, labels, **options):
    options = _manifest.ManiFeStOptions.from_arguments(ManiFeSt(**options))
    return stage.fit_scales(labels.astype(np.int64), np.unique(labels), options).warn_and_return()


def tolerance_of(expected, n):
    return max(full_rank_tolerance(p.K1, p.K2, n) for p in expected.problems)


def assert_agrees(found, expected, relative, absolute=0.0):
    assert_close(found.scores_, expected.scores, relative, absolute)
    assert_close(found.class_scores_, expected.class_scores, relative, absolute)
    assert found.sigma_.shape == expected.sigma.shape
    np.testing.assert_allclose(found.sigma_, expected.sigma, rtol=1e-9)
    assert np.shape(found.kernel_rank_) == ((len(expected.problems),) if len(expected.problems) > 1 else ())


# --------------------------------------------------------------------------------------------------------------- oracle

RULES = st.one_of(
    st.fixed_dictionaries({"sigma_factor": st.floats(0.1, 0.7)}),
    st.fixed_dictionaries({"sigma": st.just("percentile"), "sigma_percentile": st.floats(0.1, 40)}),
)


@given(
    n_classes=st.integers(2, 6),
    per_class=st.integers(8, 20),
    d=st.integers(3, 25),
    seed=st.integers(0, 2**31 - 1),
    multiclass=st.sampled_from(["ovr", "ovo"]),
    rule=RULES,
    normalize=st.sampled_from([0, 1, 3]),
    dtype=st.sampled_from([np.float32, np.float64]),
    form=st.sampled_from([np.asarray, sp.csr_matrix]),
    n_jobs=st.integers(1, 3),
)
def test_equations(n_classes, per_class, d, seed, multiclass, rule, normalize, dtype, form, n_jobs):
    X, y = several_classes(n_classes * per_class, d, n_classes, seed)
    X = X.astype(dtype)
    options = {"multiclass": multiclass, "normalize": normalize, **rule}
    expected = oracle.manifest_classes(X, y, **options)
    tolerance = tolerance_of(expected, len(y))
    assume(tolerance <= PROMISED * expected.scores.max())
    assume(min(p.scores.max() for p in expected.problems) > 1e-6)  # else a warning says that the kernels agree
    assert_agrees(fit(form(X), y, n_jobs=n_jobs, **options), expected, 0, tolerance)
    np.testing.assert_array_equal(
        fastfs.manifest_scores(form(X), y, n_threads=1, **options), fit(form(X), y, **options).scores_
    )


@rotating(1, multiclass=["ovr", "ovo"], scaled={"as measured": False, "z-scores": True})
def test_wine(load, multiclass, scaled):
    """Three classes of 59, 71 and 48; as measured, one feature is 100 times the others."""
    X, y = load("wine")
    if scaled:
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    found = fit(X, y, multiclass=multiclass)
    assert_agrees(found, oracle.manifest_classes(X, y, multiclass=multiclass), PROMISED)
    assert found.sigma_.shape == ((3, 2) if multiclass == "ovr" else (3,))
    assert found.kernel_rank_.tolist() == [13] * 3


@pytest.mark.filterwarnings("ignore:.*equal in:fastfs.DataWarning")
@rotating(1, multiclass=["ovr", "ovo"], normalize=[0, 3])
def test_lymphography(load, multiclass, normalize):
    """Category codes; classes of 2, 4, 61 and 81 samples, the small ones with many equal features."""
    X, y = load("lymphography")
    assert np.bincount(y).min() == 2
    expected = oracle.manifest_classes(X, y, multiclass=multiclass, normalize=normalize, singular=True)
    noise = max(singular_noise(p.K1, p.K2) for p in expected.problems)
    assert_agrees(fit(X, y, multiclass=multiclass, normalize=normalize), expected, SINGULAR, noise)


@BOTH
def test_singular_kernels(multiclass):
    X, y = repeated_columns(45, 30, 11, n_classes=3)
    expected = oracle.manifest_classes(X, y, multiclass=multiclass, singular=True)
    found = fit(X, y, multiclass=multiclass)
    assert_agrees(found, expected, SINGULAR)
    assert found.kernel_rank_.tolist() == [11] * 3


def test_two_hundred_classes():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(200), 3)
    X = rng.normal(size=(600, 6)) + y[:, None] % 7 * rng.normal(size=6)
    expected = oracle.manifest_classes(X, y, sigma_factor=0.4)
    found = fit(X, y, sigma_factor=0.4)
    assert_agrees(found, expected, 0, tolerance_of(expected, len(y)))
    assert found.class_scores_.shape == (200, 6)
    assert found.sigma_.shape == (200, 2)


def test_all_pairs_of_sixty_classes():
    """1770 problems of 60 kernels."""
    y = np.repeat(np.arange(60), 8)
    X = np.random.default_rng(0).normal(size=(480, 5))
    expected = oracle.manifest_classes(X, y, multiclass="ovo", sigma_factor=0.4)
    found = fit(X, y, multiclass="ovo", sigma_factor=0.4)
    assert_agrees(found, expected, 0, tolerance_of(expected, len(y)))
    assert found.kernel_rank_.shape == (1770,)


# ----------------------------------------------------------------------------------------------------------- properties


def test_a_class_against_the_rest_is_a_problem_of_two_classes():
    X, y = several_classes(60, 20, 4)
    found = fit(X, y)
    for c in range(4):
        alone = fit(X, y != c)  # False, the class itself, is the first one
        assert_close(found.class_scores_[c], alone.scores_, PROMISED)
        np.testing.assert_allclose(found.sigma_[c], alone.sigma_, rtol=1e-12)
    np.testing.assert_allclose(found.scores_, found.class_scores_.mean(axis=0), rtol=10 * EPS)


def test_a_pair_is_a_problem_of_two_classes():
    X, y = several_classes(60, 20, 4)
    found = fit(X, y, multiclass="ovo")
    pairs = {(a, b): fit(X[np.isin(y, (a, b))], y[np.isin(y, (a, b))]) for a in range(4) for b in range(a + 1, 4)}
    assert_close(found.scores_, np.mean([pair.scores_ for pair in pairs.values()], axis=0), PROMISED)
    for c in range(4):
        of_class = np.mean([pair.scores_ for names, pair in pairs.items() if c in names], axis=0)
        assert_close(found.class_scores_[c], of_class, PROMISED)
    assert found.kernel_rank_.tolist() == [pair.kernel_rank_ for pair in pairs.values()]


@pytest.mark.parametrize("multiclass", ["ovr", "ovo", "raise"])
def test_two_classes_are_one_problem(multiclass):
    X, y = several_classes(40, 15, 2)
    found = fit(X, y, multiclass=multiclass)
    np.testing.assert_array_equal(found.scores_, fit(X, y).scores_)
    np.testing.assert_array_equal(found.class_scores_, [found.scores_] * 2)
    assert found.sigma_.shape == found.kept_trace_.shape == (2,)
    assert found.kernel_rank_ == 15


@given(seed=st.integers(0, 1000), multiclass=st.sampled_from(["ovr", "ovo"]))
def test_names_and_order_of_the_classes(seed, multiclass):
    X, y = several_classes(60, 12, 4)
    permutation = np.random.default_rng(seed).permutation(4)
    found, renamed = fit(X, y, multiclass=multiclass), fit(X, permutation[y], multiclass=multiclass)
    assert_close(renamed.scores_, found.scores_, PROMISED)
    assert_close(renamed.class_scores_[permutation], found.class_scores_, PROMISED)
    np.testing.assert_allclose(renamed.sigma_[permutation], found.sigma_, rtol=1e-12)


@BOTH
def test_labels_of_any_kind(multiclass):
    X, y = several_classes(60, 12, 3)
    expected = fit(X, y, multiclass=multiclass).scores_
    names = np.array(["ba", "bb", "c"])[y]
    for labels in (names, pd.Categorical(names, categories=["c", "unused", "bb", "ba"]), y - 1.0, list(names)):
        found = fit(X, labels, multiclass=multiclass)
        np.testing.assert_array_equal(found.scores_, expected)
        assert len(found.classes_) == 3


@BOTH
def test_permuted_features_and_samples(multiclass):
    X, y = several_classes(60, 12, 3)
    rng = np.random.default_rng(0)
    features, samples = rng.permutation(12), rng.permutation(60)
    found = fit(X, y, multiclass=multiclass)
    permuted = fit(X[samples][:, features], y[samples], multiclass=multiclass)
    assert_close(permuted.scores_, found.scores_[features], PROMISED)
    assert_close(permuted.class_scores_, found.class_scores_[:, features], PROMISED)


def test_planted_features_of_each_class():
    """Class c ties feature c to the last one, in no other class."""
    X, y = several_classes(600, 20, 3, seed=1)
    found = fit(X, y)
    for c in range(3):
        assert set(np.argsort(-found.class_scores_[c])[:2]) == {c, 19}
    assert set(np.argsort(-found.scores_)[:4]) == {0, 1, 2, 19}


@rotating(1, ratio=[1e-3, 1e-6], small=[0, 1])
def test_the_rest_keeps_its_digits(ratio, small):
    """A class whose values are huge beside the others': the rest's distances must not be what its cancellation left."""
    X, y = several_classes(60, 12, 3)
    X[y != small] *= ratio
    assert_agrees(fit(X, y), oracle.manifest_classes(X, y), PROMISED)


@pytest.mark.filterwarnings("ignore:many features are equal")
def test_equal_features_of_the_rest_are_at_distance_zero():
    """Their distances over all rows lose some digits in a Gram; sigma must not come from what is left of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(620, 100)) * 1e-3  # no offset that nearly all values of a row share
    X[:600, :88] = np.pi * rng.normal(size=(600, 1))
    X[600:] = rng.normal(size=(20, 100)) * np.sqrt(1.02 / 256 * 600 * np.pi**2 / 20)
    y = np.r_[np.arange(600) % 2 + 1, np.zeros(20, int)]
    several, two = fit(X, y), fit(X, y > 0)
    np.testing.assert_allclose(several.sigma_[0], two.sigma_, rtol=1e-9)
    assert_close(several.class_scores_[0], two.scores_, SINGULAR)


def test_progress_never_goes_back():
    shares = []
    X, y = several_classes(2000, 300, 10)
    fastfs.manifest_scores(X, y, n_threads=1, progress=lambda step, share: shares.append(share))
    assert shares
    assert shares == sorted(shares)
    assert shares[-1] <= 1


@BOTH
def test_threads_change_no_bit(multiclass):
    X, y = several_classes(60, 250, 3)
    one = fit(X, y, multiclass=multiclass, n_components=1)
    for n_jobs in (2, 3, 7):
        found = fit(X, y, multiclass=multiclass, n_components=1, n_jobs=n_jobs)
        np.testing.assert_array_equal(found.scores_, one.scores_)
        np.testing.assert_array_equal(found.class_scores_, one.class_scores_)
        np.testing.assert_array_equal(found.difference_eigenvectors_, one.difference_eigenvectors_)


@BOTH
def test_chunks(multiclass):
    X, y = several_classes(60, 30, 3)
    expected = fit(X, y, multiclass=multiclass)
    for form in (np.asarray, sp.csr_matrix):
        found = fit(iter([form(X[:7]), form(X[7:8]), form(X[8:])]), y, multiclass=multiclass)
        assert_close(found.scores_, expected.scores_, PROMISED)
        assert_close(found.class_scores_, expected.class_scores_, PROMISED)


@BOTH
def test_given_sigma(multiclass):
    X, y = several_classes(60, 12, 3)
    by_rule = fit(X, y, multiclass=multiclass)
    given = fit(X, y, multiclass=multiclass, sigma=by_rule.sigma_.tolist())
    assert_close(given.scores_, by_rule.scores_, PROMISED)
    np.testing.assert_array_equal(given.sigma_, by_rule.sigma_)
    changed = by_rule.sigma_ * np.linspace(1, 2, by_rule.sigma_.size).reshape(by_rule.sigma_.shape)
    expected = oracle.manifest_classes(X, y, multiclass=multiclass, sigma=changed)
    assert_agrees(fit(X, y, multiclass=multiclass, sigma=changed), expected, 0, tolerance_of(expected, 60))


@together
@rotating(1, shape=[(2,), (4,), (2, 3), (3, 3), (3, 1), (1, 3), ()], multiclass=["ovr", "ovo"])
def test_given_sigma_of_a_wrong_shape(multiclass, shape):
    X, y = several_classes(60, 12, 3)
    with pytest.raises(ValueError, match=r"sigma must be .*3") as raised:
        fit(X, y, multiclass=multiclass, sigma=np.ones(shape))
    assert ("3 x 2" in str(raised.value)) == (multiclass == "ovr")


@rotating(1, multiclass=["ovr", "ovo"], data=[several_classes, repeated_columns])
def test_components(data, multiclass):
    """Each problem's own, against its M and D."""
    X, y = several_classes(60, 20, 3) if data is several_classes else repeated_columns(45, 30, 11, n_classes=3)
    d = X.shape[1]
    tolerance = PROMISED if data is several_classes else SINGULAR
    expected = oracle.manifest_classes(X, y, multiclass=multiclass, singular=True)
    found = fit(X, y, multiclass=multiclass, n_components=4)
    for p, problem in enumerate(expected.problems):
        for operator, values, vectors in (
            (problem.M, found.mean_eigenvalues_, found.mean_eigenvectors_),
            (problem.D, found.difference_eigenvalues_, found.difference_eigenvectors_),
        ):
            assert values.shape == (3, 4)
            assert vectors.shape == (3, d, 4)
            w, V, norm = values[p], vectors[p], np.linalg.norm(operator, 2)
            by_magnitude = sorted(np.linalg.eigvalsh(operator), key=abs, reverse=True)[:4]
            np.testing.assert_allclose(np.abs(w), np.abs(by_magnitude), atol=tolerance * norm)
            assert np.linalg.norm(operator @ V - V * w, 2) <= tolerance * norm
            assert np.linalg.norm(V.T @ V - np.eye(4), 2) <= 8 * d * EPS
    assert fit(X, y, multiclass=multiclass).mean_eigenvectors_.shape == (3, d, 0)


# ------------------------------------------------------------------------------------------------- one X, many labels


@rotating(1, form=[np.asarray, sp.csr_matrix], keep_distances=[False, True])
def test_many_labels_of_one_stage(keep_distances, form):
    """What permutations and grids repeat: fits of other labels on data that were prepared once."""
    X, y = several_classes(60, 40, 4)
    stage = _manifest.ManiFeStStage([form(X)], Run(), keep_distances=keep_distances)
    rng = np.random.default_rng(0)
    for labels in (y, rng.permutation(y), y % 2, rng.permutation(y % 2), (y == 0) * 1, rng.permutation(y % 3)):
        for options in ({}, {"multiclass": "ovo"}, {"normalize": 3}, {"sigma": "percentile", "sigma_percentile": 20.0}):
            found = fit_stage(stage, labels, **options)
            alone = fit(form(X), labels, **options)
            assert_close(found["scores"], alone.scores_, PROMISED)
            np.testing.assert_allclose(found["sigma"], alone.sigma_, rtol=1e-12)


@pytest.mark.parametrize("ratio", [1e-4, 1e-8])
def test_kept_distances_keep_their_digits(ratio):
    """One class is large beside the other, in either order."""
    X, y = several_classes(50, 12, 2)
    for small in (0, 1):
        Z = np.where((y == small)[:, None], ratio * X, X)
        stage = _manifest.ManiFeStStage([Z], Run(), keep_distances=True)
        found = fit_stage(stage, y)["scores"]
        assert_close(found, oracle.manifest(Z, y).scores, PROMISED)


def test_fits_of_one_stage_at_once():
    X, y = several_classes(60, 150, 3)
    rng = np.random.default_rng(0)
    labels = [rng.permutation(y).astype(np.int64) for _ in range(12)]
    for keep_distances in (False, True):
        stage = _manifest.ManiFeStStage([X], Run(2), keep_distances=keep_distances)

        def scores(own, stage=stage):
            return fit_stage(stage, own)["scores"].tobytes()

        alone = [scores(own) for own in labels]
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(scores, labels)) == alone


# -------------------------------------------------------------------------------------------------------- the wide form


@pytest.mark.filterwarnings("ignore:.*trace:fastfs.DataWarning")
@BOTH
def test_all_features_as_landmarks(multiclass):
    """rank = d / 4: the models are the leading eigenpairs, see test_manifest_wide.py."""
    X, y = several_classes(90, 48, 3)
    exact = oracle.manifest_classes(X, y, multiclass=multiclass)
    models = [[oracle.leading(K, 12) for K in (p.K1, p.K2)] for p in exact.problems]
    scores = np.array([oracle.joint_step(*pair) for pair in models])
    kept = np.array([[w.sum() / t for _, w, t in pair] for pair in models])
    found = fit(X, y, multiclass=multiclass, accuracy="low_rank", rank=12)
    assert_close(found.scores_, scores.mean(axis=0), 1e-7)
    np.testing.assert_allclose(found.sigma_, exact.sigma, rtol=1e-9)
    if multiclass == "ovr":
        assert_close(found.class_scores_, scores, 1e-7)
        np.testing.assert_allclose(found.kept_trace_, kept, rtol=1e-7)
    else:
        np.testing.assert_allclose(found.kept_trace_, [kept[0, 0], kept[0, 1], kept[1, 1]], rtol=1e-7)
    assert found.kernel_rank_.shape == (3,)


@rotating(1, multiclass=["ovr", "ovo"], accuracy=["low_rank", "low_rank_high"])
def test_kernels_of_small_rank(accuracy, multiclass):
    X, y = repeated_columns(60, 200, 10, n_classes=3)
    exact = fit(X, y, multiclass=multiclass)
    found = fit(X, y, multiclass=multiclass, accuracy=accuracy, rank=25)
    assert_close(found.class_scores_, exact.class_scores_, {"low_rank": SINGULAR, "low_rank_high": 3e-3}[accuracy])
    assert found.kept_trace_.shape == exact.sigma_.shape
    np.testing.assert_allclose(found.kept_trace_, 1, atol=1e-4)


@pytest.mark.filterwarnings("ignore:.*trace:fastfs.DataWarning")
@pytest.mark.parametrize("accuracy", ["low_rank", "low_rank_high"])
def test_two_hundred_classes_in_the_wide_form(accuracy):
    y = np.repeat(np.arange(200), 2)
    X = np.random.default_rng(0).normal(size=(400, 80))
    found = fit(X, y, accuracy=accuracy, rank=5)
    assert found.class_scores_.shape == (200, 80)
    assert np.all(np.isfinite(found.class_scores_))
    assert np.all(found.class_scores_ >= 0)
    np.testing.assert_allclose(found.scores_, found.class_scores_.mean(axis=0), rtol=1e-12)


# ----------------------------------------------------------------------------------------------------- odd data, errors


@BOTH
def test_classes_of_one_sample(multiclass):
    X, y = several_classes(30, 8, 3)
    y = np.array(["many", "some", "others"])[y]
    y[0], y[1] = "first", "second"
    with pytest.warns(fastfs.DataWarning, match="one sample") as caught:
        found = fit(X, y, multiclass=multiclass)
    text = " ".join(str(w.message) for w in caught)
    assert "first" in text
    assert "second" in text
    assert "many" not in text
    assert np.all(np.isfinite(found.class_scores_))
    # A class of one sample: distances are differences of single values. The oracle knows no other rule either.
    expected = oracle.manifest_classes(X, y, multiclass=multiclass, singular=True)
    noise = max(singular_noise(p.K1, p.K2) for p in expected.problems)
    assert_agrees(found, expected, SINGULAR, noise)


def test_a_rest_of_one_sample_cannot_be():
    """With more than two classes the rest has two samples at least; half of the classes may have one sample each."""
    X = np.random.default_rng(0).normal(size=(4, 6))
    with pytest.raises(ValueError, match="4 of 4 samples alone in their class"):
        fit(X, np.arange(4))
    for multiclass in ("ovr", "ovo"):
        with pytest.warns(fastfs.DataWarning, match="one sample") as caught:
            found = fit(X, np.array([0, 1, 2, 2]), multiclass=multiclass)
        assert len(caught) == 1, [str(w.message) for w in caught]
        assert "class 0, class 1" in str(caught[0].message)
        assert np.all(np.isfinite(found.scores_))
        assert found.scores_.max() > 0


@BOTH
def test_a_class_without_distances_is_named(multiclass):
    X, y = several_classes(30, 8, 3)
    X[y == 1] = 2.0
    with pytest.raises(ValueError, match=r"class sick\b"):
        fit(X, np.array(["healthy", "sick", "unknown"])[y], multiclass=multiclass)


def test_a_rest_without_distances_is_named():
    X, y = several_classes(30, 8, 3)
    X[y != 1] = 2.0
    with pytest.raises(ValueError, match=r"all classes but sick|class (healthy|unknown)"):
        fit(X, np.array(["healthy", "sick", "unknown"])[y])


def test_equal_classes_are_warned_of_once():
    X = np.random.default_rng(0).normal(size=(15, 8))
    with pytest.warns(fastfs.DataWarning, match="zero up to rounding") as caught:
        found = fit(np.vstack([X, X, X]), np.repeat([0, 1, 2], 15), multiclass="ovo")
    assert len(caught) == 1
    assert found.scores_.max() <= 1e-10


def test_some_classes_equal():
    """Two of three classes agree: said, and the scores come from the others."""
    X = np.random.default_rng(0).normal(size=(15, 8))
    Z = np.random.default_rng(1).normal(size=(15, 8))
    with pytest.warns(fastfs.DataWarning, match="the scores of class 0 against class 1 are zero"):
        found = fit(np.vstack([X, X, Z]), np.repeat([0, 1, 2], 15), multiclass="ovo")
    assert found.scores_.max() > 1e-3


@pytest.mark.parametrize("value", ["all", "OVR", None, True, 1])
def test_unknown_multiclass(value):
    X, y = several_classes(30, 8, 3)
    for labels in (y, y == 0):
        with pytest.raises(ValueError, match=r"multiclass must be 'ovr', 'ovo' or 'raise'; got"):
            fit(X, labels, multiclass=value)


def test_three_classes_where_two_are_wanted():
    X, y = several_classes(30, 8, 3)
    with pytest.raises(ValueError, match=r"got 3 \(0, 1, 2\)"):
        fit(X, y, multiclass="raise")


def test_memory_of_several_classes():
    """One problem at a time: the budget of three classes isn't three times that of two."""
    X, y = several_classes(60, 400, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fit(X, y, max_memory="12M")  # 32 d^2 are 5 MB, 64 d^2 10 MB
    assert found.accuracy_ == "exact"


# --------------------------------------------------------------------------------------------------------- scikit-learn


def test_pipeline_and_search():
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, np.random.default_rng(0).normal(size=(150, 6))])
    pipeline = Pipeline([("scale", StandardScaler()), ("select", ManiFeSt(2)), ("classify", KNeighborsClassifier())])
    choices = {
        "select__multiclass": ["ovr", "ovo"],
        "select__sigma": ["median", "percentile"],
        "select__sigma_factor": [0.3, 1.0],
    }
    search = GridSearchCV(pipeline, choices, cv=3, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.5
    assert search.best_estimator_["select"].class_scores_.shape == (3, 10)


@BOTH
def test_clone_and_pickle(multiclass):
    X, y = several_classes(60, 12, 3)
    found = fit(X, y, multiclass=multiclass, n_components=2)
    copy = pickle.loads(pickle.dumps(found))
    for name in ("scores_", "class_scores_", "sigma_", "kernel_rank_", "kept_trace_", "mean_eigenvectors_"):
        np.testing.assert_array_equal(getattr(copy, name), getattr(found, name))
    fresh = clone(found)
    assert not hasattr(fresh, "class_scores_")
    np.testing.assert_array_equal(fresh.fit(X, y).class_scores_, found.class_scores_)


def test_refit_with_fewer_classes():
    X, y = several_classes(60, 12, 3)
    estimator = fit(X, y, n_components=2)
    estimator.fit(X, y == 0)
    assert estimator.class_scores_.shape == (2, 12)
    assert estimator.sigma_.shape == (2,)
    assert isinstance(estimator.kernel_rank_, int)
    assert estimator.mean_eigenvectors_.shape == (12, 2)


def test_selection_in_a_pipeline_keeps_names():
    X, y = several_classes(300, 12, 3)
    table = pd.DataFrame(X, columns=[f"gene {j}" for j in range(12)])
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), ManiFeSt(4))
    assert {"gene 0", "gene 11"} <= set(pipeline.fit(table, y).get_feature_names_out())


@pytest.mark.slow
def test_wide_data_of_several_classes(load):
    """40 people, 10 images each."""
    X, y = load("orl_faces32")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*trace", fastfs.DataWarning)
        found = fit(X, y, accuracy="low_rank", rank=20)
    assert found.class_scores_.shape == (40, 1024)
    assert np.all(np.isfinite(found.class_scores_))
    assert found.sigma_.shape == (40, 2)


@pytest.mark.filterwarnings("ignore:.*trace:fastfs.DataWarning")
@BOTH
def test_wide_quality(multiclass):
    """The mean over problems keeps the ranking that the problems have."""
    X, y = factor_model(90, 300, 0)
    y = y + 2 * (np.arange(90) >= 60)  # classes 0..3: the last two are like the first two
    exact = fit(X, y, multiclass=multiclass, sigma_factor=1.0).scores_
    found = fit(X, y, multiclass=multiclass, sigma_factor=1.0, accuracy="low_rank_high", rank=75).scores_
    assert oracle.spearman(found, exact) > 0.95


# ---------------------------------------------------------------------------------------------------- side by side


def attributes(model):
    values = {name: value for name, value in vars(model).items() if name.endswith("_")}
    return values | values.pop("sensitivity_", {})


def assert_same(found, expected):
    found, expected = attributes(found), attributes(expected)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert np.array_equal(found[name], value, equal_nan=np.asarray(value).dtype.kind == "f"), name


@pytest.mark.filterwarnings("ignore::fastfs.DataWarning")
@rotating(
    1,
    options=[
        {},
        {"n_components": 3, "form": "spd"},
        {"form": "spsd"},
        {"accuracy": "low_rank", "rank": 4, "n_components": 2},
        {"accuracy": "low_rank_high", "rank": 3, "normalize": 3},
        {"sigma": "grid"},
        {"accuracy": "low_rank", "rank": 30},  # exact, since the rank is too large
        {"combine": "f"},
        {"max_memory": "1G"},
    ],
    multiclass=["ovr", "ovo"],
)
def test_comparisons_side_by_side(options, multiclass):
    """Joblib's workers find every attribute to the bit."""
    X, y = several_classes(70, 20, 4)
    y = np.array(["d", "b", "a", "c"])[y]
    expected = fit(X, y, multiclass=multiclass, **options)
    with parallel_config("threading", n_jobs=3):
        assert_same(ManiFeSt(multiclass=multiclass, **options).fit(X, y), expected)


@rotating(
    1, make=[sp.csr_matrix, lambda X: X.astype("float32"), lambda X: iter([X[:25], X[25:]])], multiclass=["ovr", "ovo"]
)
def test_kinds_of_matrices_side_by_side(make, multiclass):
    X, y = several_classes(60, 12, 3)
    shape = (3, 2) if multiclass == "ovr" else (3,)
    sigma = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    expected = fit(make(X), y, multiclass=multiclass, sigma=sigma)
    with parallel_config("loky", n_jobs=2):
        found = ManiFeSt(multiclass=multiclass, sigma=sigma).fit(make(X), y)
        scores = fastfs.manifest_scores(make(X), y, multiclass=multiclass, sigma=sigma)
    assert_same(found, expected)
    assert np.array_equal(scores, expected.scores_)


def test_only_where_joblib_is_asked_for(monkeypatch):
    """Not by n_jobs, which are threads; not within a worker; not with two classes."""
    X, y = several_classes(60, 12, 3)
    monkeypatch.setattr(_manifest, "_solve_share", None)
    ManiFeSt(n_jobs=2).fit(X, y)
    Parallel(2, "threading")(delayed(ManiFeSt().fit)(X, y) for _ in range(2))
    with parallel_config("threading", n_jobs=2):
        ManiFeSt().fit(X, y == 0)
        with pytest.raises(TypeError):
            ManiFeSt().fit(X, y)


@BOTH
def test_what_workers_say(multiclass):
    """Errors and warnings name the classes as those of one process do."""
    X, y = several_classes(60, 12, 3)
    names = np.array(["b", "c", "a"])[y]
    flat, ones = X.copy(), np.concatenate([np.flatnonzero(y == 1)[:1], np.flatnonzero(y != 1)])
    flat[names == "c"] = 1
    said = []
    for backend in (None, "threading"):
        with parallel_config(backend or "loky", n_jobs=2 if backend else 1):
            with pytest.raises(ValueError, match="differ in samples of class c") as error:
                ManiFeSt(multiclass=multiclass).fit(flat, names)
            with pytest.warns(fastfs.DataWarning, match="one sample only in class c:") as warned:
                ManiFeSt(multiclass=multiclass).fit(X[ones], names[ones])
            said.append((str(error.value), [str(w.message) for w in warned]))
    assert said[0] == said[1]
