"""RELIEF, ReliefF and MultiSURF: features in which near samples of other classes are farther than those of the same.

Arrays in, arrays out, without scikit-learn; the estimators are :class:`fastfs.Relief`, :class:`fastfs.ReliefF` and
:class:`fastfs.MultiSURF`.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from fastfs._functions.margin import Stage, as_scaling, messages, read
from fastfs._inputs.checks import as_bool, as_int, as_seed
from fastfs._machine.run import warn
from fastfs._types import Progress


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
    options = relief_options(n_targets, closed_form, random_state)
    return _scores(X, y, scaling, options, n_threads, max_memory, progress)


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
    return _scores(X, y, scaling, relieff_options(n_neighbors), n_threads, max_memory, progress)


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
    return _scores(X, y, scaling, multisurf_options(), n_threads, max_memory, progress)


# ------------------------------------------------------------------------------------------------------- what is asked


def relief_options(n_targets: Any, closed_form: Any, random_state: Any) -> dict[str, Any]:
    """The parameters of the method, checked, as `Stage.relief` takes them."""
    return _options(
        "relief",
        n_targets=0 if n_targets is None else as_int("n_targets", n_targets, low=1, high=(1 << 63) - 1),
        closed_form=as_bool("closed_form", closed_form),
        seed=as_seed(random_state),
    )


def relieff_options(n_neighbors: Any) -> dict[str, Any]:
    return _options("relieff", n_neighbors=as_int("n_neighbors", n_neighbors, low=1, high=(1 << 63) - 1))


def multisurf_options() -> dict[str, Any]:
    return _options("multisurf")


def _options(method: str, **given: Any) -> dict[str, Any]:
    return {"method": method, "closed_form": False, "n_neighbors": 10, "n_targets": 0, "seed": 0} | given


def score(
    stage: Stage, codes: npt.NDArray[np.int64], classes: Any, options: dict[str, Any]
) -> tuple[npt.NDArray[np.float64], bool, list[str]]:
    """Return the scores, whether all distances were stored, and what is to be warned of."""
    found = stage.relief(codes, len(classes), **options)
    said = messages(found["warnings"], classes, codes, method=options["method"], n_neighbors=options["n_neighbors"])
    return found["scores"], bool(found["stored"]), said


def _scores(
    X: Any,
    y: Any,
    scaling: str | None,
    options: dict[str, Any],
    n_threads: int,
    max_memory: int | str | None,
    progress: Progress | None,
) -> npt.NDArray[np.float64]:
    as_scaling(scaling)  # a bad one is refused before X is read
    data, budget, classes, codes = read(X, y, max_memory)
    stage = Stage(data, scaling, n_threads=n_threads, budget=budget, progress=progress)
    scores, _, said = score(stage, codes, classes, options)
    warn(said)
    return scores
