"""IM4E: weights of features that enlarge the margins between classes.

Arrays in, arrays out, without scikit-learn; the estimator, which also predicts, is :class:`fastfs.IM4E`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from fastfs._functions.margin import (
    IterationCall,
    IterationFields,
    IterationOptions,
    Labels,
    MarginStage,
    iteration_fields,
)
from fastfs._functions.options import option_class, option_field, takes
from fastfs._functions.outcome import Outcome
from fastfs._inputs.matrix import as_floats
from fastfs._inputs.values import for_core
from fastfs._machine.errors import last_warnings, naming
from fastfs._machine.params import as_count, as_float, some_of
from fastfs._machine.results import RankedResult, result_class
from fastfs._types import Array


def as_class_weight(name: str, class_weight: Any) -> Mapping[Any, Any] | None:
    if class_weight is not None and not isinstance(class_weight, Mapping):
        raise TypeError(f"{name} must be a dict of labels and factors, or None; got {class_weight!r}")
    return class_weight


def as_start(name: str, w0: Any) -> npt.NDArray[np.float64] | None:
    """Return the weights to start from as the core takes them."""
    if w0 is None:
        return None
    w: npt.NDArray[np.float64] = for_core(as_floats(np.asarray(w0), name), dtype=np.float64)
    return w


@option_class
class IM4EFields(IterationFields):
    class_weight: Mapping[Any, float] | None = option_field(as_class_weight, key="class_factors", default=None)
    w0: Any = option_field(as_start, key="start", default=None)
    n_anchors: int | None = option_field(as_count, default=None)


@dataclass(kw_only=True)
class IM4EOptions(IM4EFields, IterationOptions):
    """Options of a fit, as the core takes them."""


@result_class
class IM4EResult(RankedResult):
    """Result of IM4E, returned by :func:`fastfs.im4e`.

    Parameters
    ----------
    weights : ndarray of shape (n_features,)
        Not negative, with sum 1; also as `scores`, the name that every method's result has.
    sigma : float
        Scale of the softmax.
    cost, objective : ndarray of shape (n_iter,)
        The paper's cost (3.4, without lambda) after each step, and G before it; the part of G that is linear in the
        weights is the cost. Neither must fall.
    n_iter : int
    converged : bool
        True if the cost changed by at most `tol` in the last step.
    algorithm : {"stored", "blocks"}
        "stored": distances between all samples were stored. "blocks": made by blocks of rows, to save memory.

    Examples
    --------
    <one_of_five_features>
    >>> result = fastfs.im4e(X, X[:, 3] > 0)
    >>> int(result.weights.argmax()), len(result.cost) == result.n_iter
    (3, True)
    """

    weights: npt.NDArray[np.float64]
    sigma: float
    cost: npt.NDArray[np.float64]
    objective: npt.NDArray[np.float64]
    n_iter: int
    converged: bool
    algorithm: str

    _columns: ClassVar = {"score": "weights"}

    @property
    def scores(self) -> npt.NDArray[np.float64]:
        """The weights."""
        return self.weights


@option_class
class _IM4ECall(IM4EFields, IterationCall):
    def fit(self) -> IM4EResult:
        """Return the result of a fit to all samples, or to those that are drawn."""
        return self.fit_samples(IM4EOptions, fit_im4e)


@takes(_IM4ECall)
def im4e(call: _IM4ECall) -> IM4EResult:
    """Weigh features by IM4E, from soft neighbours of each sample.

    The function behind :class:`fastfs.IM4E`, which describes the parameters.

    Parameters
    ----------
    <dense_features_and_labels>
    sigma, class_weight, max_iter, tol, w0, n_rows, n_anchors, scaling, random_state, max_memory
        As for :class:`fastfs.IM4E`.
    <rng>
    <machine>

    Returns
    -------
    IM4EResult

    Raises
    ------
    ValueError, TypeError, MemoryError
        As for :class:`fastfs.IM4E`.

    Examples
    --------
    <one_of_five_features>
    >>> result = fastfs.im4e(X, X[:, 3] > 0, sigma=0.5)
    >>> int(result.weights.argmax()), round(float(result.weights.sum()), 6)
    (3, 1.0)
    """
    return call.fit()


@takes(_IM4ECall)
def im4e_scores(call: _IM4ECall) -> npt.NDArray[np.float64]:
    """Score features by IM4E: the weights of :func:`fastfs.im4e` alone.

    Parameters
    ----------
    X, y, sigma, class_weight, max_iter, tol, w0, n_rows, n_anchors, scaling, random_state, rng, max_memory
        As for :func:`fastfs.im4e`.
    n_threads, progress
        As for :func:`fastfs.im4e`.

    Returns
    -------
    ndarray of shape (n_features,), float64
        Larger is better; 0 for constant features.

    Examples
    --------
    <one_of_five_features>
    >>> int(fastfs.im4e_scores(X, X[:, 3] > 0).argmax())
    3
    """
    return call.fit().scores


def fit_im4e(stage: MarginStage, labels: Labels, classes: Array, options: IM4EOptions) -> Outcome[IM4EResult]:
    """Fit IM4E on the samples of a stage, from the weights `w0` if they are set; raise ValueError if their shape
    doesn't fit.
    """
    shape = (stage.X.shape[1],)
    if options.w0 is not None and options.w0.shape != shape:
        raise ValueError(f"w0 must have the shape {shape}, one weight for each feature; got {options.w0.shape}")
    core_options = options.core_options() | {"class_factors": class_factors(options.class_weight, classes)}
    margin = stage.core_margin
    with naming({"matrix": lambda _: "w0"}):
        core_result = margin.im4e(labels, len(classes), core_options, stage.run)
    result = IM4EResult(
        weights=core_result["weights"],
        **iteration_fields(core_result),
    )
    return Outcome(result, last_warnings({"class": lambda c: f"class {classes[c]}"}))


def class_factors(class_weight: Mapping[Any, Any] | None, classes: Array) -> npt.NDArray[np.float64] | None:
    """Return the factor of each class, 1 for a class that class_weight doesn't name; None without class_weight.

    Raise ValueError if it names other classes, or holds a factor that isn't positive.
    """
    if class_weight is None:
        return None
    places = {label: k for k, label in enumerate(classes.tolist())}
    unknown = [label for label in class_weight if label not in places]
    if unknown:
        raise ValueError(
            f"class_weight must name classes of y; got {some_of([*map(repr, unknown)])}: give factors for some "
            f"or all of {some_of([*map(repr, places)])}"
        )
    factors = np.ones(len(classes))
    for label, value in class_weight.items():
        factor = as_float("each factor of class_weight", value)
        if not 0 < factor < np.inf:
            raise ValueError(f"the factors of class_weight must be positive numbers; got {value!r} for {label}")
        factors[places[label]] = factor
    return factors
