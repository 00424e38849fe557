"""TuRF: brute force over the functions and the NumPy oracle, rounds, ties, tiers, bad steps."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import fastfs
from covering import rotating, together
from fastfs import MultiSURF, ReliefF, TuRF
from reference import relief as oracle
from reference.data import classes_that_differ

X, Y = classes_that_differ(50, 23, 3)


def brute_force(score, X, y, step, n_kept):
    """Rounds of lists: the round that removes each column, its last score, and the order, best first."""
    n_features = X.shape[1]
    size = step if isinstance(step, int) else max(1, int(step * n_features))
    left, removed_at, last, removed = list(range(n_features)), [0] * n_features, [0.0] * n_features, []
    while True:
        for column, value in zip(left, score(X[:, left], y), strict=True):
            last[column] = float(value)
        left.sort(key=lambda column: (-last[column], column))
        n_out = min(size, len(left) - n_kept)
        if n_out == 0:
            return removed_at, last, left + [column for gone in reversed(removed) for column in gone]
        removed.append(left[-n_out:])
        for column in removed[-1]:
            removed_at[column] = len(removed)
        left = sorted(left[:-n_out])


def assert_agrees(model, score, X, y, atol=0.0):
    n_kept = int(model.get_support().sum())
    removed_at, last, order = brute_force(score, X, y, model.step, n_kept)
    n_rounds = max(removed_at)
    assert model.removed_at_.tolist() == removed_at
    assert model.ranking_[order].tolist() == list(range(1, X.shape[1] + 1))
    kept = [value for value, gone in zip(last, removed_at, strict=True) if gone == 0]
    spread = max(kept) - min(kept) or 1.0
    for column, gone in enumerate(removed_at):
        tier = min(kept) - 0.01 * spread * (n_rounds - gone + 1)
        np.testing.assert_allclose(model.scores_[column], tier if gone else last[column], rtol=1e-14, atol=atol)
        expected = last[column] if gone else np.nan
        np.testing.assert_allclose(model.score_at_removal_[column], expected, rtol=1e-14, atol=atol)


@rotating(2, step=[0.1, 0.3, 0.99, 0.001, 1, 4, 22], n_kept=[None, 1, 7, 0.9, 22, 23])
def test_agrees_with_brute_force(step, n_kept):
    if isinstance(step, int) or n_kept != 1:
        model = TuRF(ReliefF(n_neighbors=3), n_features_to_select=n_kept, step=step).fit(X, Y)
        assert_agrees(model, lambda X, y: fastfs.relieff_scores(X, y, n_neighbors=3), X, Y)
    model = TuRF(MultiSURF(), n_features_to_select=n_kept, step=step).fit(X, Y)
    assert_agrees(model, fastfs.multisurf_scores, X, Y)


def test_agrees_with_the_oracle():
    assert_agrees(TuRF(ReliefF(n_neighbors=5), step=0.2).fit(X, Y), lambda X, y: oracle.relieff(X, y, 5), X, Y, 1e-12)
    assert_agrees(TuRF(MultiSURF(), step=0.2).fit(X, Y), oracle.multisurf, X, Y, 1e-12)


class Fixed(BaseEstimator):
    """Scores of columns that don't change from round to round: their values in the first row."""

    def fit(self, X, y=None):
        self.scores_ = X[0]
        return self


@pytest.mark.parametrize(
    "n_features, step, n_kept, removed",
    [
        (10, 0.1, 5, [1] * 5),
        (100, 0.1, 50, [10] * 5),
        (100, 0.1, 45, [10, 10, 10, 10, 10, 5]),
        (30, 0.1, 1, [3] * 9 + [2]),
        (7, 0.1, 3, [1] * 4),
        (12, 5, 1, [5, 5, 1]),
        (12, 11, 6, [6]),
        (12, 0.5, 1, [6, 5]),
        (12, 0.5, 12, []),
        (1, 0.1, 1, []),
    ],
)
def test_number_of_features_of_each_round(n_features, step, n_kept, removed):
    model = TuRF(Fixed(), step=step, n_features_to_select=n_kept).fit(np.arange(2.0 * n_features).reshape(2, -1))
    assert np.bincount(model.removed_at_, minlength=1).tolist() == [n_kept, *removed]
    assert np.all(np.diff(model.removed_at_[: n_features - n_kept]) >= 0)  # lowest first
    assert model.ranking_.tolist() == list(range(n_features, 0, -1))


def test_among_equal_scores_the_highest_column_goes_first():
    model = TuRF(Fixed(), step=2, n_features_to_select=1).fit(np.ones((3, 6)))
    assert model.removed_at_.tolist() == [0, 3, 2, 2, 1, 1]
    assert model.ranking_.tolist() == [1, 2, 3, 4, 5, 6]
    np.testing.assert_allclose(model.scores_, [1, 0.99, 0.98, 0.98, 0.97, 0.97])
    np.testing.assert_array_equal(model.score_at_removal_, [np.nan, 1, 1, 1, 1, 1])


def test_ties_among_many_features():
    """Beyond the length from which NumPy's other sorts lose the order."""
    values = np.arange(100.0)[None] // 40
    model = TuRF(Fixed(), step=10, n_features_to_select=10).fit(values)
    assert model.ranking_.tolist() == np.r_[61:101, 21:61, 1:21].tolist()
    assert model.removed_at_.tolist() == np.repeat([4, 3, 2, 1, 8, 7, 6, 5, 0, 9], 10).tolist()


def test_tiers_and_measured_scores():
    values = [[5.0, -3.0, 7.0, 1.0, 0.0, 2.0]]
    model = TuRF(Fixed(), step=2, n_features_to_select=2).fit(values)
    assert model.removed_at_.tolist() == [0, 1, 0, 2, 1, 2]
    np.testing.assert_allclose(model.scores_, [5, 4.96, 7, 4.98, 4.96, 4.98], rtol=1e-14)
    np.testing.assert_array_equal(model.score_at_removal_, [np.nan, -3, np.nan, 1, 0, 2])
    assert model.ranking_.tolist() == [2, 6, 1, 4, 5, 3]


@together
@pytest.mark.parametrize(
    "step, error, message",
    [
        (23, ValueError, "^step must be below the number of features, 23; got 23, which would take out all of them"),
        (100, ValueError, "^step must be below the number of features, 23; got 100"),
        (0, ValueError, "^step must be at least 1; got 0$"),
        (1.0, ValueError, "^step as a share of the features must lie between 0 and 1; got 1.0$"),
        (0.0, ValueError, "^step as a share of the features must lie between 0 and 1; got 0.0$"),
        (-0.5, ValueError, "^step as a share"),
        (np.nan, ValueError, "^step as a share"),
        ("10%", TypeError, "^step must be an integer; got '10%'"),
        (True, TypeError, "^step must be an integer; got True"),
        (None, TypeError, "^step must be an integer; got None"),
    ],
)
def test_bad_steps(step, error, message):
    with pytest.raises(error, match=message):
        TuRF(ReliefF(), step=step).fit(X, Y)


def test_errors_name_the_round():
    """The noise of the first round lets the constant features stay."""

    class Preferring(BaseEstimator):
        def fit(self, X, y):
            self.scores_ = -fastfs.relieff_scores(X, y)
            return self

    data = np.column_stack([X[:, :6], np.ones((50, 6))])
    data[:, :6] = np.arange(50)[:, None] % 3 + 0.01 * X[:, :6]
    with pytest.raises(ValueError, match=r"^in round 2: X must have a feature that varies; got 6"):
        TuRF(Preferring(), step=6, n_features_to_select=3).fit(data, np.arange(50) % 3)
