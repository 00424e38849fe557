"""Options that have no effect are told, and the table that says so has the defaults of the signatures."""

import inspect
import warnings
from dataclasses import fields

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

import fastfs
from covering import together
from fastfs._functions.disc import DiSCOptions
from fastfs._functions.ikdr import FunctionOptions, IKDROptions
from fastfs._functions.ikdr_kernels import KernelOptions
from fastfs._functions.manifest import ManiFeStOptions
from fastfs._functions.projse import ProjSeOptions

X = np.random.default_rng(0).normal(size=(40, 45))
Y = np.arange(40) % 2
CALLS = {
    "manifest": (ManiFeStOptions, fastfs.ManiFeSt, fastfs.manifest_scores),
    "projse": (ProjSeOptions, fastfs.ProjSe, fastfs.projse),
    "disc": (DiSCOptions, fastfs.DiSC, fastfs.disc),
    "ikdr": (IKDROptions, fastfs.IKDR, fastfs.ikdr),
    "ikdr's kernels": (KernelOptions, fastfs.IKDR, fastfs.ikdr),
    "ikdr's function": (FunctionOptions, fastfs.ikdr),
}


@pytest.mark.parametrize("method", CALLS)
def test_needs_name_options_and_their_defaults(method):
    options, *callables = CALLS[method]
    needing = [f for f in fields(options) if f.metadata["needs"] is not None]
    assert needing
    for function in callables:
        parameters = inspect.signature(function).parameters
        for option in needing:
            assert parameters[option.name].default == option.default
            assert option.metadata["needs"].other in parameters


@together
@pytest.mark.parametrize(
    "estimator, message",
    [
        (
            fastfs.ManiFeSt(sigma_percentile=10),
            r"sigma_percentile=10 has no effect with sigma='median': it needs",
        ),
        (fastfs.ManiFeSt(accuracy="exact", rank=3), r"rank=3 has no effect with accuracy='exact'"),
        (
            fastfs.ManiFeSt(sigma=[1.0, 2.0], sigma_factor=0.1),
            r"sigma_factor=0.1 has no effect with sigma=\[1.0, 2.0\]",
        ),
        (
            fastfs.ProjSe(kernel="linear", degree=7),
            r"degree=7 has no effect with kernel='linear': it needs kernel='poly'",
        ),
        (fastfs.ProjSe(kernel="poly", sigma=2.0), r"sigma=2.0 has no effect with kernel='poly': it needs kernel='rbf'"),
        (
            fastfs.IKDR(kernel=rbf_kernel, width=2.0),
            r"width=2.0 has no effect with kernel=<function .*: it needs kernel=",
        ),
        (
            fastfs.IKDR(mu=0, interpretability="distance"),
            r"interpretability='distance' has no effect with mu=0: it needs mu above 0",
        ),
        (fastfs.DiSC(graph="dense", n_neighbors=3), r"n_neighbors=3 has no effect with graph='dense': it needs graph="),
    ],
)
def test_options_without_effect_are_told(estimator, message):
    with pytest.warns(fastfs.DataWarning, match=message):
        estimator.fit(X, Y)


@together
@pytest.mark.parametrize(
    "estimator",
    [
        fastfs.ManiFeSt(sigma="percentile", sigma_percentile=10),
        fastfs.ManiFeSt(sigma_factor=0.1),
        fastfs.ProjSe(kernel="poly", degree=2),
        fastfs.ProjSe(kernel="rbf", sigma=2.0),
        fastfs.DiSC(graph="knn", n_neighbors=5),
        fastfs.IKDR(width=2.0, interpretability="distance"),
        fastfs.IKDR(kernel=rbf_kernel, mu=0),
    ],
)
def test_options_with_effect_are_silent(estimator):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X, Y)
    assert [str(w.message) for w in caught if "has no effect" in str(w.message)] == []


def test_rho_needs_the_alternation():
    with pytest.warns(fastfs.DataWarning, match=r"rho=2.0 has no effect with solver='projected_gradient': it needs"):
        unchanged = fastfs.ikdr(X, Y, rho=2.0)
    assert unchanged.scores.tolist() == fastfs.ikdr(X, Y).scores.tolist()
