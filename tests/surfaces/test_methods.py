"""The table of methods agrees with the methods."""

import warnings

import numpy as np
import pytest

import fastfs
from covering import together
from fastfs import _methods, demo

RNG = np.random.default_rng(0)
Y = np.repeat(["a", "b", "c"], 20)
X = RNG.normal(size=(60, 12)) + np.eye(3, 12)[np.repeat([0, 1, 2], 20)]
OPTIONS = {"disc": {"n_components": 3, "bandwidth_neighbors": 5}}


@together
@pytest.mark.parametrize("word", _methods.METHODS)
def test_facts_are_true(word):
    method = _methods.METHODS[word]
    assert method.word == word
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = getattr(fastfs, method.estimator)(**OPTIONS.get(word, {})).fit(X, Y if method.classes else X[:, 0])
    assert hasattr(fitted, "classes_") == method.classes
    assert hasattr(fitted, "class_scores_") == method.class_scores
    assert hasattr(fitted, "interactions_") == method.pairs
    for name in (*method.of_fit, *method.by_class, *method.of_classes):
        assert hasattr(fitted, f"{name}_"), name
    for name in (*method.by_class, *method.of_classes):
        assert len(getattr(fitted, f"{name}_")) == 3
    for name, _ in method.unranked:
        assert name in fitted.get_params()
    if method.table:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = fitted.set_params(sigma="grid").fit(X, Y).sensitivity_
        assert set(method.table) <= set(table)


@pytest.mark.parametrize("word", _methods.METHODS)
def test_given_is_taken_or_refused_with_a_reason(word):
    method = _methods.METHODS[word]
    make = getattr(fastfs, method.estimator)
    assert ("given" in make().get_params()) != bool(method.no_given)
    if not method.no_given:
        return
    function, tool = getattr(fastfs, {"manifest": "manifest_scores"}.get(word, word)), getattr(fastfs.tl, word)
    for call in (make, lambda given: function(X, Y, given=given), lambda given: tool(None, "type", given=given)):
        with pytest.raises(TypeError, match=r"takes no given columns, because it (fits all weights|compares how)"):
            call(given=[0])


def test_every_surface_has_every_method():
    words = [word for word, method in _methods.METHODS.items() if method.classes]
    others = ["assess", "differential_correlation", "interaction_scan", "panel", "projse_two_view"]
    assert sorted([*words, *others]) == sorted(fastfs.tl.__all__)
    assert set(demo.ROWS) <= set(_methods.METHODS)


@together
@pytest.mark.parametrize("flag", [flag.name for flag in _methods.FLAGS])
def test_every_flag_is_a_parameter(flag):
    estimators = [getattr(fastfs, method.estimator)() for method in _methods.METHODS.values()]
    assert any(flag in estimator.get_params() for estimator in estimators)
