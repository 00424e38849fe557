"""Arrays of results view memory of the core: they outlive all else, and are like any other arrays."""

import gc
import multiprocessing
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import fastfs
from fastfs import _core
from fastfs._machine.run import Run


def relief(X, y):
    margin = _core.Margin(X, {"scaling": "range"}, Run())
    return margin.relief(y, 2, {"method": "relieff", "n_targets": 20, "seed": 1}, Run())


@pytest.fixture
def table():
    rng = np.random.default_rng(3)
    return rng.normal(size=(40, 300)), np.arange(40) % 2


def test_arrays_are_views_that_outlive_the_result(table):
    found = relief(*table)
    scores, errors = found["scores"], found["scores_se"]
    assert scores.base is errors.base, "one owner for all arrays of a call"
    before = scores.copy()
    del found, errors
    gc.collect()
    for _ in range(20):  # would take the freed memory
        relief(*table)
    np.testing.assert_array_equal(scores, before)
    part = scores[10:20]
    del scores
    gc.collect()
    np.testing.assert_array_equal(part, before[10:20])


def test_arrays_can_be_changed_and_pickled(table):
    found = relief(*table)
    assert found["scores"].flags.writeable
    assert found["scores"].flags.c_contiguous
    again = pickle.loads(pickle.dumps(found))
    for name in ("scores", "scores_se"):
        np.testing.assert_array_equal(again[name], found[name])
    expected = relief(*table)["scores"]
    found["scores"][:] = -1
    np.testing.assert_array_equal(relief(*table)["scores"], expected)
    np.testing.assert_array_equal(again["scores"], expected)


def test_arrays_of_no_values():
    X = np.random.default_rng(0).normal(size=(12, 3))
    result = fastfs.interaction_scan(X, np.arange(12) % 2, n_permutations=0)
    assert result.null_maxima.shape == (0,)
    assert result.excluded_pairs.shape == (0, 2)


def total(array):
    return float(array.sum())


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork")
def test_arrays_in_a_forked_process(table):
    scores = fastfs.ReliefF().fit(*table).scores_
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(total, (scores,)) == total(scores)
    assert total(scores) == total(fastfs.ReliefF().fit(*table).scores_)


def test_threads_make_and_drop_arrays(table):
    expected = relief(*table)["scores"].copy()

    def use(_):
        scores = relief(*table)["scores"]
        return np.array_equal(scores, expected)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(use, range(40)))
