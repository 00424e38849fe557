"""Warnings of the core: read after a call, by code, with the caller's names."""

import re
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import fastfs
from fastfs import _core
from fastfs._machine.errors import places
from fastfs._machine.run import Run

ROOT = Path(__file__).parents[2]


def test_the_header_lists_the_code_of_each_warning():
    calls = [
        call
        for path in (ROOT / "csrc").rglob("*.cpp")
        for call in re.findall(r"\bwarn(?:_and_explain)?\(\s*([^,;]*?\"[^,;]*?),", path.read_text())
    ]
    said = {code for call in calls for code in re.findall(r'"(\w+)"', call)}
    header = (ROOT / "csrc/include/fastfs/fastfs.h").read_text()
    listed = {
        code
        for comment in re.findall(r"/\*.*?\*/", header, re.DOTALL)
        if (start := re.search(r"\bWarnings?(?: are|[,:])", comment))
        for code in re.findall(r'"(\w+)"', comment[start.start() :])
    }
    assert len(said) > 30
    assert said == listed


def relieff_with_single_samples(names):
    X = np.random.default_rng(0).normal(size=(30, 5))
    y = np.array([names[0]] * 14 + [names[1]] * 14 + [names[2], names[3]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fastfs.relieff_scores(X, y, n_neighbors=3)
    return [one.message for one in caught]


def test_a_warning_has_a_code_and_the_places_of_its_names():
    first, second = relieff_with_single_samples(["a", "b", "lonely", "single"])
    assert (type(first), first.code, second.code) == (fastfs.DataWarning, "one_sample", "few_neighbors")
    assert str(first).startswith("one sample only in class lonely, class single: ")
    assert [(place.kind, place.number) for place in places(first)] == [("class", 2), ("class", 3)]
    assert [str(first)[place.begin : place.end] for place in places(first)] == ["class lonely", "class single"]
    assert str(second).endswith("class lonely (1), class single (1)")


def test_the_next_call_replaces_warnings_and_so_does_a_failure():
    X = np.arange(6.0).reshape(3, 2)
    relieff_with_single_samples("abcd")
    assert [code for code, *_ in _core.last_warnings()] == ["one_sample", "few_neighbors"]
    with pytest.raises(ValueError, match="row 1"):
        fastfs.affinity(np.where(X == 2, np.nan, X), sigma=1.0)
    assert _core.last_warnings() == []


def test_each_thread_has_its_own_warnings():
    """Calls of many threads at the same time: none misses a warning, and none gets one of another thread."""
    labels = np.r_[np.zeros(14), np.ones(14), 2, 3].astype(np.int64)
    wrong = []

    def call(number):
        X = np.random.default_rng(number).normal(size=(30, 5))
        stage = _core.Margin(X, {"scaling": "range"}, Run(1))
        for _ in range(20):
            stage.relief(labels, 4, {"method": "relieff", "n_neighbors": number}, Run(1))
            found = [message for _, message, _ in _core.last_warnings()]
            if len(found) != 2 or f"n_neighbors = {number} is" not in found[1]:
                wrong.append((number, found))

    threads = [threading.Thread(target=call, args=[number]) for number in range(3, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
