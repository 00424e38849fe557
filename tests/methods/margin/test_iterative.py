"""Iterative Relief: rounds against the NumPy oracle with distances weighed here, ends, estimators that can't weigh."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectKBest

import fastfs
from covering import rotating
from fastfs import IM4E, SURF, SWRF, VLS, IterativeRelief, MultiSURF, MuRelief, Relief, ReliefF, RReliefF, TuRF
from reference import relief_family as oracle
from reference.data import exclusive_or
from sentences import assert_one_sentence

RNG = np.random.default_rng(0)
N = 60
Y = np.arange(N) % 3
X = RNG.normal(size=(N, 7))
X[:, 1] += 1.5 * Y
X[:, 5] = RNG.integers(0, 3, N)
X[:, 6] = 3.0  # constant
CATEGORIES = [5]
GAPS = np.where((RNG.random(X.shape) < 0.1) & (np.arange(7) < 6), np.nan, X)
# Sums in another order: of N^2 terms of at most 1, with eps.
ROUNDING = 1e-12
# float32 differences of values up to 6, in sums of float64.
ROUNDING32 = 1e-5


def weighed_distances(data, weights, missing, y, categorical, sample_weight):
    """sum_a weights_a d_a, of scaled numbers and of categories; a constant feature has no differences."""
    varies = np.array([len(np.unique(column[~np.isnan(column)])) > 1 for column in data.T])
    w = np.ones(len(data)) if sample_weight is None else sample_weight
    categories = oracle.mask(categorical, data.shape[1])[varies]
    Z = oracle.scaled(data[:, varies], categories, "range", w)
    D = oracle.differences(Z, categories, y if missing == "class" else None, w)
    weights = weights[varies]
    shared = np.sum(~np.isnan(D) * weights, axis=2)
    return np.nansum(D * weights, axis=2) * weights.sum() / shared


def brute_force(
    data, y, core, n_iter, rate=0.1, tol=1e-4, *, missing="error", categorical=(), sample_weight=None, **options
):
    """Scores of the last round, weights after it, and the number of rounds."""
    weights, n_rounds, moved = np.ones(data.shape[1]), 0, np.inf
    while n_rounds < n_iter and moved >= tol:
        n_rounds += 1
        distances = weighed_distances(data, weights, missing, y, categorical, sample_weight)
        given = {"missing": missing, "categorical": categorical, "sample_weight": sample_weight}
        scores = oracle.scores(data, y, core, distances=distances, **given, **options)
        before = weights.copy()
        weights = weights + rate * (np.clip(scores, 0, None) / scores.max() - weights)
        moved = np.abs(weights - before).max()
    return scores, weights, n_rounds


def assert_agrees(model, expected, atol=ROUNDING):
    scores, weights, n_iter = expected
    assert model.n_iter_ == n_iter
    np.testing.assert_allclose(model.scores_, scores, rtol=0, atol=atol)
    # A weight has the error of scores, over the largest.
    np.testing.assert_allclose(model.weights_, weights, rtol=0, atol=2 * atol / scores.max())
    np.testing.assert_array_equal(model.scores_[np.argsort(model.ranking_)], -np.sort(-model.scores_))


CORES = {
    "relieff": (ReliefF(n_neighbors=4), {"k": 4}),
    "surf": (SURF(), {}),
    "surf*": (SURF(far=True), {"far": True}),
    "multisurf": (MultiSURF(), {}),
    "swrf": (SWRF(), {}),
    "murelief": (MuRelief(n_neighbors=4), {"k": 4}),
}


@rotating(1, core=CORES.keys(), **{"n_iter, rate": [(1, 0.1), (2, 0.5), (6, 0.1), (4, 1.0)]})
def test_agrees_with_the_oracle(core, n_iter, rate):
    method, options = CORES[core]
    model = IterativeRelief(method, n_iter=n_iter, rate=rate).fit(X, Y)
    assert_agrees(model, brute_force(X, Y, core.rstrip("*"), n_iter, rate, **options))


@rotating(1, core=CORES.keys(), missing=["ignore", "class"])
def test_categories_gaps_and_sample_weights(core, missing):
    """Weights multiply differences of categories, and expected differences; not those that scores are made of."""
    method, options = CORES[core]
    method = type(method)(**{**method.get_params(), "categorical_features": CATEGORIES, "missing": missing})
    # Under some weights SURF's far samples leave no feature above 0, which is a warning.
    sample_weight = np.random.default_rng(2).uniform(0.5, 2, N)
    model = IterativeRelief(method, n_iter=4, rate=0.3).fit(GAPS, Y, sample_weight=sample_weight)
    given = {"missing": missing, "categorical": CATEGORIES, "sample_weight": sample_weight}
    assert_agrees(model, brute_force(GAPS, Y, core.rstrip("*"), 4, 0.3, **given, **options))


def test_numbers_as_target():
    y = X[:, 1] + 0.1 * X[:, 2]
    model = IterativeRelief(RReliefF(), n_iter=5, rate=0.3).fit(X, y)
    assert_agrees(model, brute_force(X, y, "rrelieff", 5, 0.3, target_type="number"))


def test_float32():
    data = X.astype(np.float32)
    model = IterativeRelief(ReliefF(n_neighbors=4), n_iter=5, rate=1.0).fit(data, Y)
    assert_agrees(model, brute_force(data.astype(float), Y, "relieff", 5, 1.0, k=4), ROUNDING32)


def test_the_first_round_is_a_fit():
    model = IterativeRelief(MultiSURF(), n_iter=1).fit(X, Y)
    np.testing.assert_array_equal(model.scores_, MultiSURF().fit(X, Y).scores_)


def test_a_weight_of_zero_is_not_the_end_of_a_feature():
    """Its differences leave the distances, but are still scored."""
    model = IterativeRelief(MultiSURF(), n_iter=3, rate=1.0).fit(X, Y)
    gone = (model.weights_ == 0) & (np.ptp(X, axis=0) > 0)
    assert gone.any()
    assert (model.scores_[gone] != 0).all()


@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-4])
def test_stops_when_the_weights_come_to_rest(tol):
    model = IterativeRelief(ReliefF(), n_iter=200, rate=0.2, tol=tol).fit(X, Y)
    assert model.n_iter_ < 200
    assert_agrees(model, brute_force(X, Y, "relieff", 200, 0.2, tol))
    assert IterativeRelief(ReliefF(), n_iter=model.n_iter_ + 1, rate=0.2, tol=0.0).fit(X, Y).n_iter_ > model.n_iter_


def test_no_positive_score():
    """Hits that differ and misses that don't: weights stay, there is no NaN, and no round follows."""
    data, y = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]), [0, 0, 1, 1]
    method = ReliefF(n_neighbors=1)
    with pytest.warns(fastfs.DataWarning, match=r"^no feature scores above 0 in round 1, so the weights stay"):
        model = IterativeRelief(method, tol=0.0).fit(data, y)
    assert model.n_iter_ == 1
    assert model.weights_.tolist() == [1, 1]
    np.testing.assert_array_equal(model.scores_, method.fit(data, y).scores_)
    assert (model.scores_ < 0).all()


def test_finds_a_pair_that_one_fit_does_not():
    data, labels = exclusive_or(200, 1000, 0)
    assert MultiSURF().fit(data, labels).ranking_[:2].max() > 2
    assert IterativeRelief(MultiSURF(), n_iter=20).fit(data, labels).ranking_[:2].max() == 2


def test_inside_turf():
    model = TuRF(IterativeRelief(ReliefF(), n_iter=3), step=2, n_features_to_select=3).fit(X, Y)
    kept = model.get_support(indices=True)
    expected = IterativeRelief(ReliefF(), n_iter=3).fit(X[:, kept], Y)
    np.testing.assert_array_equal(model.scores_[kept], expected.scores_)


@pytest.mark.parametrize("inner", [Relief(), IM4E(), VLS(ReliefF()), SelectKBest()])
def test_estimators_that_cannot_weigh(inner):
    with pytest.raises(TypeError, match=rf"in its distances, but {type(inner).__name__} can't: give one of") as caught:
        IterativeRelief(inner).fit(X, Y)
    assert_one_sentence(caught)


def test_an_estimator_that_selects_nothing():
    with pytest.raises(TypeError, match=r"^estimator must be a selector, such as ReliefF\(\); got BaseEstimator\(\)$"):
        IterativeRelief(BaseEstimator()).fit(X, Y)


BAD = {
    "distances": ({}, X, {"distances": np.ones((N, N)) - np.eye(N)}, "custom distances can't be weighed"),
    "rate 0": ({"rate": 0}, X, {}, "rate must be above 0 and at most 1; got 0"),
    "rate 2": ({"rate": 2.0}, X, {}, "rate must be above 0 and at most 1; got 2.0"),
    "rate nan": ({"rate": np.nan}, X, {}, "rate must be above 0 and at most 1; got nan"),
    "n_iter": ({"n_iter": 0}, X, {}, "n_iter must be at least 1; got 0"),
    "tol": ({"tol": -1.0}, X, {}, "tol must be a number of at least 0; got -1.0"),
}


@pytest.mark.parametrize("mistake", BAD)
def test_bad_input(mistake):
    parameters, data, fit_params, message = BAD[mistake]
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        IterativeRelief(MultiSURF()).set_params(**parameters).fit(data, Y, **fit_params)
    assert_one_sentence(caught)


@pytest.mark.parametrize("name, value", [("rate", "fast"), ("n_iter", 2.5), ("tol", None)])
def test_parameters_of_another_type(name, value):
    with pytest.raises(TypeError, match=f"{name} must be"):
        IterativeRelief(MultiSURF()).set_params(**{name: value}).fit(X, Y)


def test_progress():
    seen = []
    IterativeRelief(MultiSURF(), n_iter=4, verbose=lambda step, share: seen.append((step, share))).fit(X, Y)
    assert seen == [(f"round {k} of 4", k / 4) for k in range(1, 5)]


@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_array])
def test_sparse(container):
    data = np.where(np.abs(X) < 1, 0.0, X)
    dense, sparse = (IterativeRelief(MultiSURF(), n_iter=4).fit(given, Y) for given in (data, container(data)))
    np.testing.assert_allclose(sparse.scores_, dense.scores_, rtol=0, atol=ROUNDING)
    assert np.ptp(sparse.weights_) > 0.1
