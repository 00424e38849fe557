"""IMMIGRATE: weights of pairs of features that enlarge the margins between classes.

Arrays in, arrays out, without scikit-learn; the estimator, which also predicts, is :class:`fastfs.Immigrate`.
"""

from collections.abc import Sequence
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
from fastfs._inputs.entry import named_arguments
from fastfs._inputs.matrix import as_floats
from fastfs._inputs.values import for_core
from fastfs._machine.errors import last_warnings, naming
from fastfs._machine.params import as_bool, as_int, as_not_negative, check_choice
from fastfs._machine.results import DrawnResult, result_class
from fastfs._machine.run import Run, load_core
from fastfs._types import Array, Integers


def as_prefilter(name: str, prefilter: Any) -> str:
    return "none" if prefilter is None else check_choice(name, prefilter, ("auto", "im4e"), "None")


def as_smallest(name: str, smallest: Any) -> float | str:
    if isinstance(smallest, str):
        return check_choice(name, smallest, ("auto",), "a number", "None")
    return 0.0 if smallest is None else as_not_negative(name, smallest)


def as_start_matrix(name: str, W0: Any) -> npt.NDArray[np.float64] | None:
    if W0 is None:
        return None
    W: npt.NDArray[np.float64] = for_core(as_floats(np.asarray(W0), name), dtype=np.float64)
    return W


@option_class
class ImmigrateFields(IterationFields):
    prefilter: str | None = option_field(as_prefilter, default="auto")
    clip: bool = option_field(as_bool, default=False)
    smallest: float | str | None = option_field(as_smallest, default=None)
    negligible: float = option_field(as_not_negative, default=0.0)
    W0: Any = option_field(as_start_matrix, key="start_matrix", default=None)
    n_starts: int = option_field(lambda name, value: as_int(name, value, low=1, high=1_000_000), default=1)


@dataclass(kw_only=True)
class ImmigrateOptions(ImmigrateFields, IterationOptions):
    """Options of a fit, as the core takes them."""


@result_class
class ImmigrateResult(DrawnResult):
    """Result of IMMIGRATE, returned by :func:`fastfs.immigrate`.

    Parameters
    ----------
    scores : ndarray of shape (n_features,)
        A feature's share of W, sum_b W_ab^2, which add up to 1; 0 for features that W isn't of.
    features : ndarray of shape (n_kept,)
        The columns of X that W is of: all but the constant ones, or those that the prefilter kept.
    eigenvalues : ndarray of shape (rank,)
        Eigenvalues of W, largest magnitude first.
    eigenvectors : ndarray of shape (n_kept, rank)
        W = eigenvectors diag(eigenvalues) eigenvectors'. The entry of largest magnitude is positive.
    W : ndarray of shape (n_kept, n_kept) or None
        Symmetric, of Frobenius norm 1; None if only its factors were made, because W would be too large.
    sigma, cost, objective, n_iter, converged, algorithm
        As in :class:`fastfs.IM4EResult`; the cost is tr(W Sigma) + sigma times the entropies.
    prefilter_weights : ndarray of shape (n_features,) or None
        Weights of IM4E, if it ran first.

    Examples
    --------
    <immigrate_example>
    >>> pair = result.top_pairs(1)[0]
    >>> int(pair["a"]), int(pair["b"])
    (1, 3)
    """

    scores: npt.NDArray[np.float64]
    features: npt.NDArray[np.int64]
    eigenvalues: npt.NDArray[np.float64]
    eigenvectors: npt.NDArray[np.float64]
    W: npt.NDArray[np.float64] | None
    sigma: float
    cost: npt.NDArray[np.float64]
    objective: npt.NDArray[np.float64]
    n_iter: int
    converged: bool
    algorithm: str
    prefilter_weights: npt.NDArray[np.float64] | None

    _picture = "interactions"
    _columns: ClassVar = {"score": "scores", "prefilter_weight": "prefilter_weights"}

    @named_arguments
    def top_pairs(self, n: int = 20, by: str = "weight") -> Array:
        """Return the strongest pairs of features.

        <top_pairs>
        """
        vectors = for_core(self.eigenvectors.T)
        return top_pairs(self.features, self.eigenvalues, vectors, n, by)


@option_class
class _ImmigrateCall(ImmigrateFields, IterationCall):
    def fit(self) -> ImmigrateResult:
        """Return the result of a fit to all samples, or to those that are drawn."""
        return self.fit_samples(ImmigrateOptions, fit_immigrate)


@takes(_ImmigrateCall)
def immigrate(call: _ImmigrateCall) -> ImmigrateResult:
    """Weigh features and pairs of features by IMMIGRATE.

    The function behind :class:`fastfs.Immigrate`, which describes the parameters.

    Parameters
    ----------
    <dense_features_and_labels>
    sigma, max_iter, tol, prefilter, clip, smallest, negligible, W0, n_starts, n_rows, scaling, random_state, max_memory
        As for :class:`fastfs.Immigrate`.
    <rng>
    n_threads, progress
        As for :func:`fastfs.im4e`.

    Returns
    -------
    ImmigrateResult

    Raises
    ------
    ValueError, TypeError, MemoryError, numpy.linalg.LinAlgError
        As for :class:`fastfs.Immigrate`.

    Examples
    --------
    <immigrate_example>
    >>> sorted(np.argsort(-result.scores)[:2].tolist()), result.W.shape
    ([1, 3], (5, 5))
    """
    return call.fit()


@takes(_ImmigrateCall)
def immigrate_scores(call: _ImmigrateCall) -> npt.NDArray[np.float64]:
    """Score features by IMMIGRATE: the scores of :func:`fastfs.immigrate` alone.

    Parameters
    ----------
    X, y, sigma, max_iter, tol, prefilter, clip, smallest, negligible, W0, n_starts, n_rows, scaling, random_state
        As for :func:`fastfs.immigrate`.
    rng, n_threads, max_memory, progress
        As for :func:`fastfs.immigrate`.

    Returns
    -------
    ndarray of shape (n_features,), float64
        Larger is better; 0 for features that W isn't of.

    Examples
    --------
    <one_of_five_features>
    >>> int(fastfs.immigrate_scores(X, X[:, 3] > 0).argmax())
    3
    """
    return call.fit().scores


def fit_immigrate(
    stage: MarginStage, labels: Labels, classes: Array, options: ImmigrateOptions
) -> Outcome[ImmigrateResult]:
    """Fit IMMIGRATE on the samples of a stage; `labels` are positions in `classes`.

    Raise ValueError if W0 has another shape, or comes with the prefilter, which makes the start.
    """
    shape = (stage.X.shape[1],) * 2
    if options.W0 is not None and options.W0.shape != shape:
        raise ValueError(f"W0 must have the shape {shape}, features x features; got {options.W0.shape}")
    if options.W0 is not None and options.prefilter == "im4e":
        raise ValueError("W0 must be left out with prefilter='im4e', because the prefilter makes the start")
    margin = stage.core_margin
    with naming({"matrix": lambda _: "W0"}):
        core_result = margin.immigrate(labels, len(classes), options.core_options(), stage.run)
    result = ImmigrateResult(
        scores=core_result["scores"],
        features=core_result["features"],
        eigenvalues=core_result["values"],
        eigenvectors=core_result["vectors"].T,
        W=core_result["W"],
        **iteration_fields(core_result),
        prefilter_weights=core_result["prefilter_weights"],
    )
    return Outcome(result, last_warnings({"class": lambda c: f"class {classes[c]}"}))


# ------------------------------------------------------------------------------------------------- pairs of features

PAIR = np.dtype([("a", np.int64), ("b", np.int64), ("weight", np.float64), ("residual", np.float64)])


def top_pairs(features: Integers, values: Array, vectors: Array, n: Any, by: Any) -> Array:
    """Return the n pairs of features with the largest |weight| or |residual| of W = vectors' diag(values) vectors, with
    both.

    `features` are the columns of X that W covers. The residual is W without its leading eigenpair.
    """
    n = as_int("n", n, low=0, high=(1 << 63) - 1)
    residual = check_choice("by", by, ("weight", "residual")) == "residual"
    a, b, _ = load_core().immigrate_pairs(values, vectors, residual, n, Run())
    pairs = np.empty(len(a), PAIR)
    pairs["a"], pairs["b"] = features[a], features[b]
    parts = values[:, None] * vectors[:, a] * vectors[:, b]
    pairs["weight"], pairs["residual"] = parts.sum(axis=0), parts[1:].sum(axis=0)
    return pairs


def matrix_from_factors(values: Array, vectors: Array, rows: Sequence[int] | Integers | None = None) -> Array:
    """Return W from its factors, or its submatrix of the given rows and columns."""
    V = vectors if rows is None else vectors[:, rows]
    W: Array = (V.T * values) @ V
    return W
