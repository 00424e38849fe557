"""The RELIEF family: features that differ between near samples of different classes, or with different numbers.

Arrays in, arrays out, without scikit-learn; the estimators are :class:`fastfs.Relief`, :class:`fastfs.ReliefF` and the
other classes of `fastfs._estimators.relief`. The fits are in `fastfs._functions.relief_family`.
"""

from collections.abc import Callable
from dataclasses import field
from typing import Any, ParamSpec, TypeVar

from fastfs._docs import fill_shared
from fastfs._functions.options import RandomCall, option_class, own_first, takes
from fastfs._functions.relief_family import fit_relief, fit_relief_in_blocks, read_samples, source_for_blocks
from fastfs._functions.relief_options import (
    FamilyOptions,
    MultiSURFOptions,
    MuReliefOptions,
    ReliefFFields,
    ReliefFields,
    ReliefFOptions,
    ReliefOptions,
    RReliefFFields,
    RReliefFOptions,
    SURFFields,
    SURFOptions,
    SWRFFields,
    SWRFOptions,
)
from fastfs._types import Floats

_Arguments = ParamSpec("_Arguments")
_Call = TypeVar("_Call", bound="_SamplesCall")


@option_class
class _SamplesCall(RandomCall):
    """Arguments of all functions of the family besides their options."""

    X: Any = field(kw_only=False)
    y: Any = field(kw_only=False)
    sample_weight: Any = None

    def given_distances(self) -> Any:
        """Return the distances to be used instead of those of X, if the function takes them."""
        return None

    def score_features(self, options_class: type[FamilyOptions]) -> Floats:
        """Score features in memory, or in blocks of rows if X is a stream that doesn't fit in a quarter of the
        memory.
        """
        options, run, distances = options_class.from_arguments(self), self.make_run(), self.given_distances()
        source = source_for_blocks(self.X, options, run)
        if source is not None:
            others = (self.sample_weight, distances)
            return fit_relief_in_blocks(source, self.y, options, run, others=others)[0].warn_and_return().scores
        samples = read_samples(self.X, self.y, self.sample_weight, distances, options, run)
        return fit_relief(samples.make_stage(options, run), samples, samples.response, options).warn_and_return().scores


@option_class
class _TableCall(_SamplesCall):
    """Arguments of all functions except RELIEF's besides their options."""

    distances: Any = None

    def given_distances(self) -> Any:
        return self.distances


@option_class
class ReliefCall(ReliefFields, _SamplesCall): ...


@option_class
class ReliefFCall(ReliefFFields, _TableCall): ...


@option_class
class SURFCall(SURFFields, _TableCall): ...


@option_class
class SWRFCall(SWRFFields, _TableCall): ...


@option_class
class RReliefFCall(RReliefFFields, _TableCall): ...


_DESCRIPTION = """
The function behind :class:`fastfs.{estimator}`, which describes the parameters.

Parameters
----------
X : array-like, DataFrame or sparse of shape (n_samples, n_features)
    {X}
y : array-like of shape (n_samples,)
    {y}
{options}, max_memory
    As for :class:`fastfs.{estimator}`.
{of_rows}
    As for :meth:`fastfs.{estimator}.fit`.
<rng>
<machine>

Returns
-------
ndarray of shape (n_features,), float64
    {scores}

Raises
------
ValueError, TypeError, MemoryError
    As for :class:`fastfs.{estimator}`.

{example}
"""
_EXCLUSIVE_OR = """
<exclusive_or>
>>> scores = fastfs.{function}(X, y)
>>> sorted(np.argsort(-scores)[:2].tolist())
[0, 1]
"""
_ONE_FEATURE = """
Examples
--------
>>> import numpy as np
>>> import fastfs
>>> X = np.random.default_rng(0).normal(size=(60, 5))
>>> int(fastfs.{function}(X, {target}).argmax())
3
"""


def _scores_function(
    call_class: Callable[_Arguments, _Call],
    estimator: str,
    X: str = "Sparse X stays sparse.",
    y: str = "Labels of any sortable type, or numbers.",
    scores: str = 'Between -1 and 1 with ``scaling="range"``; larger is better; 0 for constant features.',
    example: str = _EXCLUSIVE_OR,
    target: str = "X[:, 3] > 0",
) -> Callable[[Callable[[_Call], Floats]], Callable[_Arguments, Floats]]:
    """Return a decorator that gives a function the arguments of `call_class` and the documentation of its family."""
    others = _TableCall.__dataclass_fields__.keys()
    names = list(own_first(call_class).parameters)  # type: ignore[arg-type]

    def decorate(function: Callable[[_Call], Floats]) -> Callable[_Arguments, Floats]:
        """Fill in the docstring of a function, and let it take the arguments of `call_class`."""
        description = _DESCRIPTION.format(
            estimator=estimator,
            X=X,
            y=y,
            options=", ".join(name for name in names if name not in {"self", *others}),
            of_rows=", ".join(name for name in ("sample_weight", "distances") if name in names),
            scores=scores,
            example=example.format(function=function.__name__, target=target).strip(),
        )
        function.__doc__ = fill_shared(function.__doc__, description=description)
        return takes(call_class)(function)

    return decorate


@_scores_function(
    ReliefCall,
    "Relief",
    X="Sparse X is made dense.",
    y="Labels of any sortable type.",
    scores="Larger is better; 0 for constant features.",
    example=_ONE_FEATURE,
)
def relief_scores(call: ReliefCall) -> Floats:
    """Score features by RELIEF, from the nearest hit and the nearest miss of each sample.

    <description>
    """
    return call.score_features(ReliefOptions)


@_scores_function(ReliefFCall, "ReliefF")
def relieff_scores(call: ReliefFCall) -> Floats:
    """Score features by ReliefF, from the nearest hits of each sample and its nearest misses in each other class.

    <description>
    """
    return call.score_features(ReliefFOptions)


@_scores_function(SURFCall, "SURF")
def surf_scores(call: SURFCall) -> Floats:
    """Score features by SURF, from all samples that are nearer than the mean distance.

    <description>
    """
    return call.score_features(SURFOptions)


@_scores_function(SURFCall, "MultiSURF")
def multisurf_scores(call: SURFCall) -> Floats:
    """Score features by MultiSURF, from all samples that are nearer than a separate threshold for each sample.

    <description>
    """
    return call.score_features(MultiSURFOptions)


@_scores_function(SWRFCall, "SWRF")
def swrf_scores(call: SWRFCall) -> Floats:
    """Score features by SWRF, from near samples that weigh the more the nearer they are.

    <description>
    """
    return call.score_features(SWRFOptions)


@_scores_function(ReliefFCall, "MuRelief", example=_ONE_FEATURE)
def mu_relief_scores(call: ReliefFCall) -> Floats:
    """Score features by mu-Relief, from the samples of each class at the most unusual distances.

    <description>
    """
    return call.score_features(MuReliefOptions)


@_scores_function(
    RReliefFCall,
    "RReliefF",
    y="Numbers, or records of an event and a time.",
    example=_ONE_FEATURE,
    target="X[:, 3]",
)
def rrelieff_scores(call: RReliefFCall) -> Floats:
    """Score features by RReliefF, which favours features that differ between near samples with different numbers.

    <description>
    """
    return call.score_features(RReliefFOptions)
