"""Consensus: ranks are matched by the names of features."""

import numpy as np
import pandas as pd
import pytest

import fastfs
from sentences import assert_one_sentence

NAMES = [*"abcdef"]
y = np.repeat([0, 1], 20)
TABLE = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 6)), columns=NAMES)
TABLE["b"] += 3 * y
OTHER = TABLE[NAMES[::-1]]


def test_fits_are_matched_by_names():
    fits = {"ReliefF": fastfs.ReliefF().fit(TABLE, y), "ProjSe": fastfs.ProjSe().fit(OTHER, y)}
    found = fastfs.consensus(fits)
    expected = fastfs.consensus({"ReliefF": fits["ReliefF"], "ProjSe": fastfs.ProjSe().fit(TABLE, y)})
    assert np.array_equal(found.ranks, expected.ranks)
    assert NAMES[found.ranking.argmin()] == "b"


def test_series_are_matched_by_names():
    scores = pd.Series([5.0, 6, 1, 2, 3, 4], index=NAMES)
    found = fastfs.consensus({"one": scores, "other": scores.sample(frac=1, random_state=0)})
    assert np.array_equal(found.ranks[0], found.ranks[1])
    plain = fastfs.consensus({"one": scores, "other": scores.to_numpy()})
    assert np.array_equal(plain.ranks, found.ranks)


def test_other_names_are_refused():
    fitted = fastfs.ReliefF().fit(TABLE, y)
    for other, words in (
        (fastfs.ReliefF().fit(TABLE.rename(columns={"c": "x"}), y), "the same features; got 'x' from B, which A lacks"),
        (pd.Series(range(6), index=[*"abcdex"]), "the same features; got 'x' from B, which A lacks"),
        (pd.Series(range(6), index=[*"abcdee"]), "a feature once; got 'e' more than once from B"),
    ):
        with pytest.raises(ValueError, match=words) as raised:
            fastfs.consensus({"A": fitted, "B": other})
        assert_one_sentence(raised)


def test_scores_without_names_beside_two_orders():
    methods = {"A": fastfs.ReliefF().fit(TABLE, y), "B": fastfs.IM4E().fit(OTHER, y), "C": np.arange(6.0)}
    with pytest.raises(ValueError, match=r"in different orders, and C names none: give pandas\.Series\(C, names\)"):
        fastfs.consensus(methods)
    methods["C"] = pd.Series(methods["C"], NAMES)
    assert np.array_equal(fastfs.consensus(methods).ranks[2], np.arange(6, 0, -1))
