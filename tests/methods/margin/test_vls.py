"""VLS: brute force over the functions and the NumPy oracle, subsets of each kind, the probability that a pair meets."""

import itertools
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

import fastfs
from covering import rotating, together
from fastfs import IM4E, VLS, MultiSURF, ReliefF, TuRF
from fastfs._estimators.vls import deal_subsets, pair_probability, union_subsets
from reference import relief as oracle
from reference.data import classes_that_differ

X, Y = classes_that_differ(50, 23, 3)
NAMES = [f"gene {j}" for j in range(23)]
GIVEN = [[0, 1, 2, 3, 4, 5, 6, 7], list(range(5, 23)), [22, 0, 11]]


def brute_force(score, X, y, subsets):
    best = [-np.inf] * X.shape[1]
    for subset in subsets:
        for column, value in zip(subset, score(X[:, subset], y), strict=True):
            best[column] = max(best[column], value)
    return best


def assert_is_cover(subsets, n_features, size):
    assert set(itertools.chain(*subsets)) == set(range(n_features))
    assert all(len(subset) <= size for subset in subsets)
    assert all(np.all(np.diff(subset) > 0) for subset in subsets)


@rotating(
    2,
    n_features=[9, 10, 11, 23],
    options=[
        {},
        {"n_subsets": 3, "subset_size": 8},
        {"n_subsets": 5, "subset_size": 7},
        {"subsets": "pairs", "subset_size": 5},
    ],
)
def test_agrees_with_brute_force(options, n_features):
    data, size = X[:, :n_features], options.get("subset_size", 10)
    for model, score in (
        (MultiSURF(), fastfs.multisurf_scores),
        (ReliefF(n_neighbors=3), lambda X, y: fastfs.relieff_scores(X, y, n_neighbors=3)),
    ):
        fitted = VLS(model, **options).fit(data, Y)
        assert_is_cover(fitted.subsets_, n_features, size)
        np.testing.assert_array_equal(fitted.scores_, brute_force(score, data, Y, fitted.subsets_))
        best_first = np.argsort(-fitted.scores_, kind="stable")
        assert fitted.ranking_[best_first].tolist() == list(range(1, n_features + 1))
        held = [sum(column in subset.tolist() for subset in fitted.subsets_) for column in range(n_features)]
        assert fitted.n_scored_.tolist() == held


def test_agrees_with_the_oracle():
    expected = brute_force(oracle.multisurf, X, Y, GIVEN)
    np.testing.assert_allclose(VLS(MultiSURF(), subsets=GIVEN).fit(X, Y).scores_, expected, rtol=0, atol=1e-12)


# -------------------------------------------------------------------------------------------------------------- subsets


def test_the_default_is_eight_deals_of_fifths():
    model = VLS(MultiSURF()).fit(np.random.default_rng(0).normal(size=(20, 100)), np.arange(20) % 2)
    assert [len(subset) for subset in model.subsets_] == [20] * 40
    assert model.n_scored_.tolist() == [8] * 100
    for deal in range(0, 40, 5):
        assert sorted(np.concatenate(model.subsets_[deal : deal + 5])) == list(range(100))
    assert model.pair_probability_ == pytest.approx(1 - (1 - 19 / 99) ** 8)


def test_the_last_subset_of_a_deal_is_filled_up():
    subsets = deal_subsets(10, 4, 3, np.random.default_rng(0))
    assert_is_cover(subsets, 10, 4)
    assert [len(subset) for subset in subsets] == [4, 4, 4]
    assert len(np.intersect1d(subsets[0], subsets[2])) == 2


def pairs_met(subsets):
    return {pair for subset in subsets for pair in itertools.combinations(sorted(subset.tolist()), 2)}


@pytest.mark.parametrize("n, size", [(10, 5), (10, 4), (10, 9), (11, 3), (12, 2), (7, 6), (9, 1)])
def test_pair_probability_within_a_deal(n, size):
    """Any deal lets the same number of pairs meet."""
    per_deal = -(-n // size)
    for seed in range(5):
        subsets = deal_subsets(n, size, per_deal, np.random.default_rng(seed))
        for n_subsets in range(1, per_deal + 1):
            share = len(pairs_met(subsets[:n_subsets])) / (n * (n - 1) / 2)
            assert pair_probability(n, size, n_subsets) == pytest.approx(share)


@pytest.mark.parametrize("n, size, n_subsets", [(12, 4, 8), (11, 4, 7), (20, 10, 5)])
def test_pair_probability_of_several_deals(n, size, n_subsets):
    """The mean share over draws, within four standard errors."""
    shares = [
        len(pairs_met(deal_subsets(n, size, n_subsets, np.random.default_rng(seed)))) / (n * (n - 1) / 2)
        for seed in range(2000)
    ]
    error = np.std(shares) / np.sqrt(len(shares))
    assert abs(np.mean(shares) - pair_probability(n, size, n_subsets)) < 4 * error


@pytest.mark.parametrize("n, size", [(3, 2), (23, 5), (23, 22), (24, 6), (100, 20), (101, 21)])
def test_unions_hold_every_pair(n, size):
    subsets = union_subsets(n, size, np.random.default_rng(0))
    assert_is_cover(subsets, n, size)
    assert len(pairs_met(subsets)) == n * (n - 1) / 2
    groups = -(-n // (size // 2))
    assert len(subsets) == groups * (groups - 1) / 2


def test_pairs_as_an_option():
    model = VLS(ReliefF(), subsets="pairs", subset_size=6, n_subsets=1).fit(X, Y)
    assert len(pairs_met(model.subsets_)) == 23 * 22 / 2
    assert model.pair_probability_ == 1


def test_equal_subsets_are_scored_once():
    assert [len(subset) for subset in VLS(ReliefF(), subset_size=23).fit(X, Y).subsets_] == [23]
    twice = [*GIVEN, GIVEN[2][::-1]]
    model = VLS(ReliefF(), subsets=twice).fit(X, Y)
    assert [subset.tolist() for subset in model.subsets_] == [sorted(subset) for subset in GIVEN]
    assert np.isnan(model.pair_probability_)


def test_random_state():
    first, again = (VLS(ReliefF(), subset_size=6).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(first.scores_, again.scores_)
    other = VLS(ReliefF(), subset_size=6, random_state=1).fit(X, Y)
    assert not np.array_equal(other.subsets_, first.subsets_)


def test_subsets_as_masks_numbers_and_names():
    table = pd.DataFrame(X, columns=NAMES)
    expected = VLS(ReliefF(), subsets=GIVEN).fit(X, Y)
    for subsets in (
        [np.isin(np.arange(23), subset) for subset in GIVEN],
        [[NAMES[column] for column in subset] for subset in GIVEN],
        tuple(np.array(subset) for subset in GIVEN),
        [[NAMES[column] for column in GIVEN[0]], GIVEN[1], np.isin(np.arange(23), GIVEN[2])],
    ):
        np.testing.assert_array_equal(VLS(ReliefF(), subsets=subsets).fit(table, Y).scores_, expected.scores_)


@together
@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"subset_size": 24}, ValueError, "^subset_size must be at most the 23 features of X; got 24$"),
        ({"subset_size": 0}, ValueError, "^subset_size must be at least 1; got 0$"),
        ({"subset_size": 1, "subsets": "pairs"}, ValueError, "^subset_size must be at least 2; got 1$"),
        ({"subset_size": 0.5}, TypeError, "^subset_size must be an integer; got 0.5$"),
        ({"n_subsets": 0}, ValueError, "^n_subsets must be at least 1; got 0$"),
        ({"n_subsets": 2}, ValueError, "^n_subsets must be at least 3, for each of 23 features to be in a su"),
        ({"random_state": -1}, ValueError, "^random_state must be at least 0; got -1$"),
        ({"subsets": "all"}, ValueError, "^subsets must be 'pairs', None or a list of subsets; got 'all'$"),
        ({"subsets": GIVEN[:1]}, ValueError, "^subsets must hold each feature of X; got subsets without 15 of 23"),
        ({"subsets": []}, ValueError, "^subsets must hold each feature of X; got subsets without 23 of 23, columns"),
        ({"subsets": [*GIVEN, []]}, ValueError, r"^subsets\[3\] is empty: leave it out, or name its columns$"),
        ({"subsets": [*GIVEN, [23]]}, ValueError, r"^subsets\[3\] must hold column numbers from 0 to 22; got 23"),
        ({"subsets": [*GIVEN, ["x"]]}, ValueError, r"^subsets\[3\] holds 'x', .*: X has no names, so give numbers"),
        ({"subsets": [*GIVEN, [True]]}, ValueError, r"^subsets\[3\] as a mask must have 23 values, one per feature"),
        ({"subsets": [1, 2]}, ValueError, r"^subsets\[0\] must be a 1-D mask, or a list of column numbers or names"),
        ({"subsets": 7}, ValueError, "^subsets must be 'pairs', None or a list of subsets; got 7$"),
    ],
    ids=str,
)  # fmt: skip
def test_bad_subsets(options, error, message):
    with pytest.raises(error, match=message):
        VLS(ReliefF(), **options).fit(X, Y)


def test_columns_left_out_are_named():
    with pytest.raises(
        ValueError, match="got subsets without 15 of 23, columns gene 8, gene 9, gene 10 and 12 more: add"
    ):
        VLS(ReliefF(), subsets=GIVEN[:1]).fit(pd.DataFrame(X, columns=NAMES), Y)


def test_errors_name_the_subset_and_the_column_of_X():
    data = X.copy()
    data[:, 5:] = np.where(np.arange(23) < 10, 1.0, data)[:, 5:]
    subsets = [range(8), range(5, 10), range(23)]
    with pytest.raises(ValueError, match=r"^in subset 1: X must have a feature that varies; got 5"):
        VLS(IM4E(), subsets=subsets).fit(data, Y)
    data[4, 17] = np.nan
    with pytest.raises(
        ValueError, match=r"^in subset 1: X must be finite; got NaN or infinity first at row 4, column 17: impute"
    ):
        VLS(IM4E(), subsets=[range(8), range(8, 23)]).fit(data, Y)
    with pytest.raises(
        ValueError, match=r"^in round 1, subset 1: X must be finite; got NaN or infinity first at row 4, column 17"
    ):
        TuRF(VLS(IM4E(), subsets=[range(8), range(8, 23)])).fit(data, Y)


# ----------------------------------------------------------------------------------------------------------------- TuRF


class Counter(BaseEstimator):
    """Keeps the columns that it was given, by their values in the first row; likes the first ones."""

    seen: ClassVar[list] = []

    def fit(self, X, y):
        self.seen.append(X[0].astype(int).tolist())
        self.scores_ = -X[0]
        return self


def rounds_of_turf(vls, n_features, n_kept, step):
    """The subsets of each round, as columns of X."""
    Counter.seen.clear()
    data = np.arange(float(n_features)) + np.zeros((2, 1))
    model = TuRF(vls, step=step, n_features_to_select=n_kept).fit(data, [0, 1])
    assert model.get_support(indices=True).tolist() == list(range(n_kept))
    return list(Counter.seen)


def test_subset_size_keeps_its_share_in_turf():
    seen = rounds_of_turf(VLS(Counter(), n_subsets=4, subset_size=40), 160, 40, 40)
    assert [len(subset) for subset in seen] == [40] * 4 + [30] * 4 + [20] * 4 + [10] * 4
    for k, left in enumerate((160, 120, 80, 40)):
        assert sorted(itertools.chain(*seen[4 * k : 4 * k + 4])) == list(range(left))
    assert seen[:4] != [sorted(subset) for subset in seen[4:8]]


@pytest.mark.parametrize("subset_size, smallest", [(None, 10), (8, 8), (20, 10)])
def test_subsets_do_not_become_too_small_in_turf(subset_size, smallest):
    seen = rounds_of_turf(VLS(Counter(), subset_size=subset_size), 100, 2, 0.3)
    assert min(len(subset) for subset in seen if len(subset) > 2) == smallest
    assert seen[-1] == [0, 1]


def test_given_subsets_lose_the_features_that_turf_takes_out():
    seen = rounds_of_turf(VLS(Counter(), subsets=[[0, 1, 4], [2, 3, 1], [5, 4]]), 6, 2, 2)
    assert seen == [[0, 1, 4], [1, 2, 3], [4, 5], [0, 1], [1, 2, 3], [0, 1], [1]]


def test_turf_in_each_subset():
    rng = np.random.default_rng(4)
    X = rng.integers(0, 2, size=(200, 60)).astype(float)
    y = X[:, 0] != X[:, 1]
    turf = fastfs.TuRF(fastfs.MultiSURF(), n_features_to_select=4, step=0.3)
    model = fastfs.VLS(turf, n_subsets=15, subset_size=20).fit(X, y)
    expected = np.full(60, -np.inf)
    for subset in model.subsets_:
        expected[subset] = np.fmax(expected[subset], turf.fit(X[:, subset], y).scores_)
    np.testing.assert_allclose(model.scores_, expected, rtol=0, atol=1e-12)
    assert set(model.ranking_[:2].tolist()) == {1, 2}
