"""The RELIEF family: features that differ between near samples of different classes, or with different numbers.

Arrays in, arrays out, without scikit-learn; the estimators are :class:`fastfs.Relief`, :class:`fastfs.ReliefF` and the
other classes of `fastfs._estimators.relief`. The fits are in `fastfs._functions.relief_family`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from fastfs._functions.relief_family import (
    FamilyOptions,
    MultiSURFOptions,
    MuReliefOptions,
    ReliefFOptions,
    ReliefOptions,
    RReliefFOptions,
    SURFOptions,
    SWRFOptions,
    fit_relief,
    fit_relief_in_blocks,
    read_samples,
    source_for_blocks,
)
from fastfs._inputs.entry import entry
from fastfs._machine.run import Run
from fastfs._types import Progress


def _compute_scores(
    X: Any, y: Any, options: FamilyOptions, run: Run, sample_weight: Any, distances: Any = None
) -> npt.NDArray[np.float64]:
    """Score features in memory, or in blocks of rows if X is a stream that doesn't fit in memory."""
    source = source_for_blocks(X, options, run)
    if source is not None:
        return (
            fit_relief_in_blocks(source, y, options, run, others=(sample_weight, distances))[0].warn_and_return().scores
        )
    samples = read_samples(X, y, sample_weight, distances, options, run)
    return fit_relief(samples.make_stage(options, run), samples, samples.response, options).warn_and_return().scores


@entry
def relief_scores(
    X: Any,
    y: Any,
    *,
    n_targets: int | None = None,
    closed_form: bool = False,
    scaling: str | None = "auto",
    random_state: Any = 0,
    sample_weight: Any = None,
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
    sample_weight
        As for :meth:`fastfs.Relief.fit`.
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
    >>> int(fastfs.relief_scores(X, X[:, 3] > 0).argmax())
    3
    """
    run = Run(n_threads, max_memory, progress)
    return _compute_scores(X, y, ReliefOptions.from_arguments(locals()), run, sample_weight)


@entry
def relieff_scores(
    X: Any,
    y: Any,
    *,
    n_neighbors: int = 10,
    categorical_features: Any = None,
    missing: str = "error",
    target_type: str = "auto",
    ramp: str | tuple[float, float] | None = None,
    priors: str | Mapping[Any, float] | None = None,
    n_targets: int | None = None,
    scaling: str | None = "auto",
    random_state: Any = 0,
    sample_weight: Any = None,
    distances: Any = None,
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> npt.NDArray[np.float64]:
    """Score features by ReliefF, from the nearest hits of each sample and its nearest misses in each other class.

    The function behind :class:`fastfs.ReliefF`, which describes the parameters.

    Parameters
    ----------
    X : array-like, DataFrame or sparse of shape (n_samples, n_features)
        Sparse X stays sparse.
    y : array-like of shape (n_samples,)
        Labels of any sortable type, or numbers.
    n_neighbors, categorical_features, missing, target_type, ramp, priors, n_targets, scaling, random_state, max_memory
        As for :class:`fastfs.ReliefF`.
    sample_weight, distances
        As for :meth:`fastfs.ReliefF.fit`.
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
    run = Run(n_threads, max_memory, progress)
    return _compute_scores(X, y, ReliefFOptions.from_arguments(locals()), run, sample_weight, distances)


@entry
def surf_scores(
    X: Any,
    y: Any,
    *,
    far: bool = False,
    categorical_features: Any = None,
    missing: str = "error",
    target_type: str = "auto",
    ramp: str | tuple[float, float] | None = None,
    n_targets: int | None = None,
    n_rows: int | None = None,
    scaling: str | None = "auto",
    random_state: Any = 0,
    sample_weight: Any = None,
    distances: Any = None,
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> npt.NDArray[np.float64]:
    """Score features by SURF, from all samples that are nearer than the mean distance.

    The function behind :class:`fastfs.SURF`, which describes the parameters.

    Parameters
    ----------
    X : array-like, DataFrame or sparse of shape (n_samples, n_features)
        Sparse X stays sparse.
    y : array-like of shape (n_samples,)
        Labels of any sortable type, or numbers.
    far, categorical_features, missing, target_type, ramp, n_targets, n_rows, scaling, random_state, max_memory
        As for :class:`fastfs.SURF`.
    sample_weight, distances
        As for :meth:`fastfs.SURF.fit`.
    n_threads, progress
        As for :func:`fastfs.relief_scores`.

    Returns
    -------
    ndarray of shape (n_features,), float64
        Between -1 and 1 with ``scaling="range"``; larger is better; 0 for constant features.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As for :class:`fastfs.SURF`.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).integers(0, 2, size=(100, 10)).astype(float)
    >>> scores = fastfs.surf_scores(X, X[:, 0] != X[:, 1])
    >>> sorted(np.argsort(-scores)[:2].tolist())
    [0, 1]
    """
    run = Run(n_threads, max_memory, progress)
    return _compute_scores(X, y, SURFOptions.from_arguments(locals()), run, sample_weight, distances)


@entry
def multisurf_scores(
    X: Any,
    y: Any,
    *,
    far: bool = False,
    categorical_features: Any = None,
    missing: str = "error",
    target_type: str = "auto",
    ramp: str | tuple[float, float] | None = None,
    n_targets: int | None = None,
    n_rows: int | None = None,
    scaling: str | None = "auto",
    random_state: Any = 0,
    sample_weight: Any = None,
    distances: Any = None,
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> npt.NDArray[np.float64]:
    """Score features by MultiSURF, from all samples that are nearer than a separate threshold for each sample.

    The function behind :class:`fastfs.MultiSURF`, which describes the parameters.

    Parameters
    ----------
    X : array-like, DataFrame or sparse of shape (n_samples, n_features)
        Sparse X stays sparse.
    y : array-like of shape (n_samples,)
        Labels of any sortable type, or numbers.
    far, categorical_features, missing, target_type, ramp, n_targets, n_rows, scaling, random_state, max_memory
        As for :class:`fastfs.MultiSURF`.
    sample_weight, distances
        As for :meth:`fastfs.MultiSURF.fit`.
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
    run = Run(n_threads, max_memory, progress)
    return _compute_scores(X, y, MultiSURFOptions.from_arguments(locals()), run, sample_weight, distances)


@entry
def swrf_scores(
    X: Any,
    y: Any,
    *,
    far: bool = False,
    radius: str = "all",
    dead_band: float = 0.0,
    categorical_features: Any = None,
    missing: str = "error",
    target_type: str = "auto",
    ramp: str | tuple[float, float] | None = None,
    n_targets: int | None = None,
    n_rows: int | None = None,
    scaling: str | None = "auto",
    random_state: Any = 0,
    sample_weight: Any = None,
    distances: Any = None,
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> npt.NDArray[np.float64]:
    """Score features by SWRF, from near samples that weigh the more the nearer they are.

    The function behind :class:`fastfs.SWRF`, which describes the parameters.

    Parameters
    ----------
    X : array-like, DataFrame or sparse of shape (n_samples, n_features)
        Sparse X stays sparse.
    y : array-like of shape (n_samples,)
        Labels of any sortable type, or numbers.
    far, radius, dead_band, categorical_features, missing
        As for :class:`fastfs.SWRF`.
    target_type, ramp, n_targets, n_rows, scaling, random_state, max_memory
        As for :class:`fastfs.SWRF`.
    sample_weight, distances
        As for :meth:`fastfs.SWRF.fit`.
    n_threads, progress
        As for :func:`fastfs.relief_scores`.

    Returns
    -------
    ndarray of shape (n_features,), float64
        Between -1 and 1 with ``scaling="range"``; larger is better; 0 for constant features.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As for :class:`fastfs.SWRF`.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).integers(0, 2, size=(100, 10)).astype(float)
    >>> scores = fastfs.swrf_scores(X, X[:, 0] != X[:, 1])
    >>> sorted(np.argsort(-scores)[:2].tolist())
    [0, 1]
    """
    run = Run(n_threads, max_memory, progress)
    return _compute_scores(X, y, SWRFOptions.from_arguments(locals()), run, sample_weight, distances)


@entry
def mu_relief_scores(
    X: Any,
    y: Any,
    *,
    n_neighbors: int = 10,
    categorical_features: Any = None,
    missing: str = "error",
    target_type: str = "auto",
    ramp: str | tuple[float, float] | None = None,
    priors: str | Mapping[Any, float] | None = None,
    n_targets: int | None = None,
    scaling: str | None = "auto",
    random_state: Any = 0,
    sample_weight: Any = None,
    distances: Any = None,
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> npt.NDArray[np.float64]:
    """Score features by mu-Relief, from the samples of each class whose distance is the most unusual.

    The function behind :class:`fastfs.MuRelief`, which describes the parameters.

    Parameters
    ----------
    X : array-like, DataFrame or sparse of shape (n_samples, n_features)
        Sparse X stays sparse.
    y : array-like of shape (n_samples,)
        Labels of any sortable type, or numbers.
    n_neighbors, categorical_features, missing, target_type, ramp, priors, n_targets, scaling, random_state, max_memory
        As for :class:`fastfs.MuRelief`.
    sample_weight, distances
        As for :meth:`fastfs.MuRelief.fit`.
    n_threads, progress
        As for :func:`fastfs.relief_scores`.

    Returns
    -------
    ndarray of shape (n_features,), float64
        Between -1 and 1 with ``scaling="range"``; larger is better; 0 for constant features.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As for :class:`fastfs.MuRelief`.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).normal(size=(60, 5))
    >>> int(fastfs.mu_relief_scores(X, X[:, 3] > 0).argmax())
    3
    """
    run = Run(n_threads, max_memory, progress)
    return _compute_scores(X, y, MuReliefOptions.from_arguments(locals()), run, sample_weight, distances)


@entry
def rrelieff_scores(
    X: Any,
    y: Any,
    *,
    n_neighbors: int = 10,
    sigma: float = 20.0,
    categorical_features: Any = None,
    missing: str = "error",
    target_type: str = "auto",
    ramp: str | tuple[float, float] | None = None,
    n_targets: int | None = None,
    scaling: str | None = "auto",
    random_state: Any = 0,
    sample_weight: Any = None,
    distances: Any = None,
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> npt.NDArray[np.float64]:
    """Score features by RReliefF, which favours features that differ between near samples with different numbers.

    The function behind :class:`fastfs.RReliefF`, which describes the parameters.

    Parameters
    ----------
    X : array-like, DataFrame or sparse of shape (n_samples, n_features)
        Sparse X stays sparse.
    y : array-like of shape (n_samples,)
        Numbers, or records of an event and a time.
    n_neighbors, sigma, categorical_features, missing, target_type, ramp, n_targets, scaling, random_state, max_memory
        As for :class:`fastfs.RReliefF`.
    sample_weight, distances
        As for :meth:`fastfs.RReliefF.fit`.
    n_threads, progress
        As for :func:`fastfs.relief_scores`.

    Returns
    -------
    ndarray of shape (n_features,), float64
        Between -1 and 1 with ``scaling="range"``; larger is better; 0 for constant features.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As for :class:`fastfs.RReliefF`.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).normal(size=(60, 5))
    >>> int(fastfs.rrelieff_scores(X, X[:, 3]).argmax())
    3
    """
    run = Run(n_threads, max_memory, progress)
    return _compute_scores(X, y, RReliefFOptions.from_arguments(locals()), run, sample_weight, distances)
