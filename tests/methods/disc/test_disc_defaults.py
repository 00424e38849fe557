"""DiSC() on tables of few features: it fits, or says what would."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

import fastfs
from covering import covering, rotating
from sentences import assert_one_sentence

pytestmark = pytest.mark.filterwarnings("ignore::fastfs.DataWarning", "ignore:.*converge")


def table(n_features, n_classes):
    rng = np.random.default_rng(n_features)
    return rng.normal(size=(12 * n_classes, n_features)), np.repeat(np.arange(n_classes), 12)


@rotating(1, n_features=range(2, 31), n_classes=range(2, 6))
def test_defaults_fit_or_say_what_does(n_features, n_classes):
    X, y = table(n_features, n_classes)
    if n_features >= max(4, n_classes + 1):
        fitted = fastfs.DiSC().fit(X, y)
        assert np.isfinite(fitted.scores_).all()
        assert [len(values) - 1 for values in fitted.eigenvalues_] == [
            min(20, max(1, (n_features - 2) // (n_classes - 1) // 4))
        ] * n_classes
        return
    with pytest.raises(ValueError, match=r"must have at least \d+ features") as raised:
        fastfs.DiSC().fit(X, y)
    assert_one_sentence(raised)


@covering(n_features=range(6, 31, 6), n_classes=range(2, 6), constant=["drop", "project"])
def test_following_the_advice_fits(n_features, n_classes, constant):
    X, y = table(n_features, n_classes)
    for given in (n_features, 20, [n_features - 1] + [1] * (n_classes - 1)):
        try:
            fastfs.DiSC(n_components=given, constant=constant).fit(X, y)
        except ValueError as error:
            most = int(re.match(r"n_components must be at most (\d+) for", str(error))[1])
            fastfs.DiSC(n_components=most, constant=constant).fit(X, y)
        else:
            assert given == 20
            assert (n_classes - 1) * 20 <= n_features - 2


def test_the_default_is_the_papers_where_it_fits_well():
    X, y = table(90, 2)
    found, expected = (fastfs.DiSC(n_components=n).fit(X, y).scores_ for n in (None, 20))
    assert np.array_equal(found, expected)
    A, B = X[y == 0], X[y == 1]
    assert np.array_equal(fastfs.disc([A, B]).scores, fastfs.disc([A, B], n_components=20).scores)
    with pytest.raises(ValueError, match="n_components must be at least 1; got 0"):
        fastfs.DiSC(n_components=0).fit(X, y)


def small_sets():
    """Sets of the folders of real data with up to 200 features."""
    folder = Path(os.environ.get("FASTFS_TEST_DATA", "nowhere"))
    for path in sorted([*folder.glob("*.npz"), *folder.glob("papers/*.npz")]):
        with np.load(path, allow_pickle=False) as data:
            if {"X", "y"} <= set(data) and data["X"].ndim == 2 and data["X"].shape[1] <= 200:
                step = -(-len(data["X"]) // 500)
                yield path.stem, data["X"][::step].astype(float), data["y"][::step]


def test_defaults_on_every_small_set_of_the_data():
    sets = list(small_sets())
    if not sets:
        pytest.skip("FASTFS_TEST_DATA isn't set: it names the folder of the real data sets")
    refused = {}
    for name, X, y in sets:
        complete = ~np.isnan(X).any(axis=1)
        try:
            assert np.isfinite(fastfs.DiSC().fit(X[complete], y[complete]).scores_).all(), name
        except ValueError as error:
            refused[name] = str(error)
    assert len(sets) - len(refused) >= 20
    for name, message in refused.items():
        assert re.search(
            r"must have at least \d+ features .*; got \d+.*: (compare fewer sets|add some, or take)", message
        ), name
