"""ManiFeSt: features whose relations to the other features differ between two classes.

Arrays in, arrays out, without scikit-learn; the estimator is :class:`fastfs.ManiFeSt`.
"""

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from fastfs._base import (
    Array,
    Progress,
    as_float,
    as_int,
    as_matrix,
    as_threads,
    check_progress,
    core,
    encode_labels,
    parse_memory,
    two_classes,
    warn_data,
)


def manifest_scores(
    X: Any,
    y: npt.ArrayLike,
    *,
    sigma: str | tuple[float, float] = "median",
    sigma_factor: float = 0.5,
    sigma_percentile: float = 50.0,
    normalize: int = 0,
    n_threads: int = 0,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> npt.NDArray[np.float64]:
    """Score how differently each feature associates with the others in two classes.

    The function behind :class:`fastfs.ManiFeSt`, which describes the parameters.

    Parameters
    ----------
    X : array-like or sparse of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels of two classes, of any sortable type.
    sigma, sigma_factor, sigma_percentile, normalize, max_memory
        As for :class:`fastfs.ManiFeSt`.
    n_threads : int
        0: all cores that this process may use.
    progress : callable, optional
        Called as ``progress(step, fraction)``, at most 20 times a second; an exception it raises ends the call.

    Returns
    -------
    ndarray of shape (n_features,), float64
        Not negative; larger is better.

    Raises
    ------
    ValueError, MemoryError, numpy.linalg.LinAlgError
        As for :class:`fastfs.ManiFeSt`.

    Examples
    --------
    The label is the exclusive or of the first two features: neither says anything by itself.

    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).integers(0, 2, size=(50, 100)).astype(float)
    >>> y = X[:, 0] != X[:, 1]
    >>> scores = fastfs.manifest_scores(X, y, sigma_factor=0.1)
    >>> np.argsort(-scores)[:2].tolist()
    [0, 1]
    """
    X, budget = as_matrix(X, parse_memory(max_memory))
    classes, codes = encode_labels(y, *X.shape)
    two_classes(classes)
    scores: npt.NDArray[np.float64] = fit(
        X,
        codes,
        classes,
        sigma=sigma,
        sigma_factor=sigma_factor,
        sigma_percentile=sigma_percentile,
        normalize=normalize,
        n_components=0,
        n_threads=n_threads,
        budget=budget,
        progress=progress,
    )["scores"]
    return scores


def fit(
    X: Any,
    codes: npt.NDArray[np.int64],
    classes: Array,
    *,
    sigma: str | tuple[float, float],
    sigma_factor: float,
    sigma_percentile: float,
    normalize: int,
    n_components: int,
    n_threads: int,
    budget: int,
    progress: Progress | None,
) -> dict[str, Any]:
    """Check the parameters, call the core, issue its warnings; X, codes as of `as_matrix` and `encode_labels`."""
    rule, scales = _sigma_rule(sigma)
    arguments = {
        "sigma_rule": rule,
        "sigma_factor": as_float("sigma_factor", sigma_factor),
        "sigma_percentile": as_float("sigma_percentile", sigma_percentile),
        "sigma": scales,
        "normalize": as_int("normalize", normalize),
        "n_components": as_int("n_components", n_components),
        "n_threads": as_threads(n_threads),
        "max_memory": budget,
        "progress": check_progress(progress),
    }
    try:
        result: dict[str, Any] = core().manifest(X, codes, **arguments)
    except ValueError as error:
        found = re.search(r"in every sample of class ([01]):", str(error))
        if type(error) is not ValueError or not found:
            raise
        # The core knows classes by number only.
        message = str(error).replace(found[0], f"in every sample of class {classes[int(found[1])]}:")
        raise ValueError(message) from None
    warn_data(_warnings(result["warnings"], classes, X.shape[1]))
    return result


def _sigma_rule(sigma: str | tuple[float, float]) -> tuple[str, tuple[float, float]]:
    if isinstance(sigma, str):
        if sigma not in ("median", "percentile"):
            raise ValueError(f"sigma must be 'median', 'percentile' or a pair of numbers, not {sigma!r}")
        return sigma, (0.0, 0.0)
    try:
        first, second = (float(s) for s in sigma)
    except (TypeError, ValueError):
        raise ValueError(f"sigma must be 'median', 'percentile' or a pair of numbers, not {sigma!r}") from None
    return "given", (first, second)


def _warnings(flags: int, classes: Array, n_features: int) -> list[str]:
    from fastfs import _core

    messages = []
    for label, bit in zip(classes, _core.WARN_ONE_SAMPLE, strict=True):
        if flags & bit:
            messages.append(
                f"class {label} has one sample: its distances between features are differences of single values"
            )
    for label, bit in zip(classes, _core.WARN_SIGMA, strict=True):
        if flags & bit:
            messages.append(
                f"so many features of class {label} are equal that the distance its sigma is taken from is 0: "
                "sigma comes from the positive distances instead"
            )
    if flags & _core.WARN_NO_CONTRAST:
        reason = (
            "with 2 features and sigma relative to their distance they always do; give sigma as a pair of numbers"
            if n_features == 2
            else "either the classes don't differ, or sigma is so small or so large that every kernel looks the same"
        )
        messages.append(f"the scores are zero up to rounding, because the kernels of the two classes agree: {reason}")
    return messages
