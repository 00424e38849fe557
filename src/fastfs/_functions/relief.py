"""RELIEF, ReliefF and MultiSURF: features that differ between near samples of different classes.

Arrays in, arrays out, without scikit-learn; the estimators are :class:`fastfs.Relief`, :class:`fastfs.ReliefF` and
:class:`fastfs.MultiSURF`.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from fastfs._functions.margin import Labels, MarginOptions, Stage, algorithm, messages, read
from fastfs._functions.options import option
from fastfs._functions.outcome import Outcome
from fastfs._inputs.checks import as_bool, as_int, as_seed
from fastfs._machine.run import Run
from fastfs._types import Array, Progress


@dataclass(frozen=True, kw_only=True)
class FamilyOptions(MarginOptions):
    """Options of all three methods, which the core tells apart by a word."""

    METHOD: ClassVar[str]

    def core(self) -> dict[str, Any]:
        return super().core() | {"method": self.METHOD}


@dataclass(frozen=True, kw_only=True)
class ReliefOptions(FamilyOptions):
    METHOD = "relief"
    n_targets: int = option(lambda name, n: 0 if n is None else as_int(name, n, low=1, high=(1 << 63) - 1))
    closed_form: bool = option(as_bool)
    random_state: int = option(lambda _, value: as_seed(value), key="seed")


@dataclass(frozen=True, kw_only=True)
class ReliefFOptions(FamilyOptions):
    METHOD = "relieff"
    n_neighbors: int = option(lambda name, n: as_int(name, n, low=1, high=(1 << 63) - 1))


@dataclass(frozen=True, kw_only=True)
class MultiSURFOptions(FamilyOptions):
    METHOD = "multisurf"


@dataclass(frozen=True)
class FamilyResult:
    """What any of the three found."""

    scores: npt.NDArray[np.float64]
    algorithm: str


def relief_scores(
    X: Any,
    y: Any,
    *,
    n_targets: int | None = None,
    closed_form: bool = False,
    scaling: str | None = "range",
    random_state: Any = 0,
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> npt.NDArray[np.float64]:
    """Score features by RELIEF, from the nearest hit and the nearest miss of each sample.

    The function behind :class:`fastfs.Relief`, which describes the parameters.

    Parameters
    ----------
    X : array-like, DataFrame or sparse of shape (n_samples, n_features)
        Sparse X is made dense.
    y : array-like of shape (n_samples,)
        Labels of any sortable type.
    n_targets, closed_form, scaling, random_state, max_memory
        As for :class:`fastfs.Relief`.
    n_threads : int
        0: all cores that this process may use.
    progress : callable, optional
        Called as ``progress(step, fraction)``, at most 20 times a second; an exception it raises ends the call.

    Returns
    -------
    ndarray of shape (n_features,), float64
        Larger is better; 0 for constant features.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As for :class:`fastfs.Relief`.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).normal(size=(60, 5))
    >>> y = X[:, 3] > 0
    >>> int(fastfs.relief_scores(X, y).argmax())
    3
    """
    return _scores(X, y, ReliefOptions.of(locals()), Run(n_threads, max_memory, progress))


def relieff_scores(
    X: Any,
    y: Any,
    *,
    n_neighbors: int = 10,
    scaling: str | None = "range",
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> npt.NDArray[np.float64]:
    """Score features by ReliefF, from the nearest hits of each sample and its nearest misses in each other class.

    The function behind :class:`fastfs.ReliefF`, which describes the parameters.

    Parameters
    ----------
    X : array-like, DataFrame or sparse of shape (n_samples, n_features)
        Sparse X is made dense.
    y : array-like of shape (n_samples,)
        Labels of any sortable type.
    n_neighbors, scaling, max_memory
        As for :class:`fastfs.ReliefF`.
    n_threads, progress
        As for :func:`fastfs.relief_scores`.

    Returns
    -------
    ndarray of shape (n_features,), float64
        Between -1 and 1 with ``scaling="range"``; larger is better; 0 for constant features.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As for :class:`fastfs.ReliefF`.

    Examples
    --------
    The label is the exclusive or of the first two features.

    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).integers(0, 2, size=(100, 10)).astype(float)
    >>> scores = fastfs.relieff_scores(X, X[:, 0] != X[:, 1])
    >>> sorted(np.argsort(-scores)[:2].tolist())
    [0, 1]
    """
    return _scores(X, y, ReliefFOptions.of(locals()), Run(n_threads, max_memory, progress))


def multisurf_scores(
    X: Any,
    y: Any,
    *,
    scaling: str | None = "range",
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> npt.NDArray[np.float64]:
    """Score features by MultiSURF, from all samples that are nearer than a threshold of each sample's own.

    The function behind :class:`fastfs.MultiSURF`, which describes the parameters.

    Parameters
    ----------
    X : array-like, DataFrame or sparse of shape (n_samples, n_features)
        Sparse X is made dense.
    y : array-like of shape (n_samples,)
        Labels of any sortable type.
    scaling, max_memory
        As for :class:`fastfs.MultiSURF`.
    n_threads, progress
        As for :func:`fastfs.relief_scores`.

    Returns
    -------
    ndarray of shape (n_features,), float64
        Between -1 and 1 with ``scaling="range"``; larger is better; 0 for constant features.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As for :class:`fastfs.MultiSURF`.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).integers(0, 2, size=(100, 10)).astype(float)
    >>> scores = fastfs.multisurf_scores(X, X[:, 0] != X[:, 1])
    >>> sorted(np.argsort(-scores)[:2].tolist())
    [0, 1]
    """
    return _scores(X, y, MultiSURFOptions.of(locals()), Run(n_threads, max_memory, progress))


def _scores(X: Any, y: Any, options: FamilyOptions, run: Run) -> npt.NDArray[np.float64]:
    data, classes, labels = read(X, y, run)
    return fit(Stage(data, options.scaling, run), labels, classes, options).deliver().scores


def fit(stage: Stage, labels: Labels, classes: Array, options: FamilyOptions) -> Outcome[FamilyResult]:
    found = stage.core.relief(labels, len(classes), options.core(), stage.run)
    said = messages(
        found["warnings"],
        classes,
        labels,
        method=options.METHOD,
        n_neighbors=getattr(options, "n_neighbors", 0),
    )
    return Outcome(FamilyResult(found["scores"], algorithm(found)), said)
