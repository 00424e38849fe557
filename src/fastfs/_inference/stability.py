"""Stability: how much of a selection comes back on other samples of the same population."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastfs._inference.permutation import settle, wants_workers
from fastfs._inputs.checks import as_float, as_int, as_seed
from fastfs._inputs.labels import encode_labels
from fastfs._inputs.matrix import check_structure, take_rows
from fastfs._machine.run import DataWarning, as_progress
from fastfs._types import Array, Floats, Integers, Progress


@dataclass(frozen=True)
class StabilityResult:
    """What :func:`fastfs.stability` found.

    Parameters
    ----------
    frequencies : ndarray of shape (n_features,)
        Share of the subsamples in which each feature was selected.
    stability : float
        Nogueira's index: 1 if all selections are the same, near 0 if they are as alike as random ones, and never above
        1. Above 0.75 is called excellent, below 0.4 poor [1]_.
    interval : tuple of two floats
        Of `stability`, at the confidence asked for; asymptotic in the number of subsamples.
    relevance_correlation : float
        Mean rank correlation (Spearman) of the scores between subsamples: whether more than the best features agrees.
        NaN if the estimator has no ``scores_``, or a subsample gives equal scores to all features.
    selected : list of ndarray
        Indices of the selected features of each subsample.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).normal(size=(60, 30))
    >>> y = np.arange(60) % 2
    >>> X[:, :3] += 3 * y[:, None]
    >>> found = fastfs.stability(fastfs.ReliefF(3), X, y, n_subsamples=20)
    >>> found.stability, found.frequencies[:3].tolist()
    (1.0, [1.0, 1.0, 1.0])
    """

    frequencies: Floats
    stability: float
    interval: tuple[float, float]
    relevance_correlation: float
    selected: list[Integers]


def stability(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_subsamples: int = 100,
    fraction: float = 0.5,
    confidence: float = 0.95,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: bool | Progress = False,
) -> StabilityResult:
    """Select features on random parts of the samples, and measure how much the selections have in common.

    Parameters
    ----------
    estimator : estimator
        Any feature selector with ``get_support``. It isn't changed.
    X : array-like, DataFrame or sparse of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels, of which each class keeps its share in the subsamples; or what else the estimator takes.
    n_subsamples : int
        At least 2.
    fraction : float
        Of the samples of each class in a subsample, in (0, 1); drawn without replacement, at least one.
    confidence : float
        Of `interval`, in (0, 1).
    random_state : int, Generator, RandomState or None
        Of the subsamples; the estimator has its own.
    n_jobs, verbose
        As for :func:`fastfs.permutation_test`.

    Returns
    -------
    StabilityResult

    Raises
    ------
    ValueError
        Fewer than two subsamples; a share outside (0, 1); no feature, or all features, were selected in every
        subsample, which says nothing; what the estimator raises.

    Notes
    -----
    `n_subsamples` fits. Subsamples overlap, so that stability over new data is lower than this; the index compares
    methods, numbers of features and parameters on the same data.

    References
    ----------
    .. [1] S. Nogueira, K. Sechidis, G. Brown, "On the stability of feature selection algorithms", Journal of Machine
       Learning Research 18(174), 2018, definition 4 (the index) and theorem 7 (its variance).
    .. [2] N. Meinshausen, P. Buehlmann, "Stability selection", Journal of the Royal Statistical Society B 72, 2010:
       halves of the samples.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).normal(size=(60, 30))
    >>> y = np.arange(60) % 2
    >>> found = fastfs.stability(fastfs.ReliefF(3), X, y, n_subsamples=20)  # nothing to find
    >>> found.stability < 0.4
    True
    """
    from sklearn.base import clone

    n_subsamples = as_int("n_subsamples", n_subsamples, low=2)
    for name, share in (("fraction", fraction), ("confidence", confidence)):
        if not 0 < as_float(name, share) < 1:
            raise ValueError(f"{name} must lie between 0 and 1, but is {share}")
    report = as_progress(verbose)
    if hasattr(X, "tocsr"):
        check_structure(X)
        X = X.tocsr()  # other sparse formats have no rows to take
    shape = np.shape(X)
    if len(shape) != 2 or shape[0] == 0:
        raise ValueError(f"X must be a 2-D array of samples x features, but has the shape {shape}")
    own = getattr(estimator, "_strata", None)  # of targets that may be no labels
    labels = encode_labels(y, *shape)[1] if own is None else own(y, shape)
    rows = _subsamples(labels, fraction, np.random.SeedSequence(as_seed(random_state)).spawn(n_subsamples))
    found = []
    model = clone(estimator)
    # What a fit may choose is chosen by the first one.
    n_here = int(hasattr(model, "_choices")) if wants_workers(n_jobs) else n_subsamples
    for m, part in enumerate(rows[:n_here]):
        found.append(_select(model, X, y, part))
        model = settle(clone(estimator), model)
        if report is not None:
            report("subsamples", (m + 1) / n_subsamples)
    if n_here < n_subsamples:
        from joblib import Parallel, delayed

        found += Parallel(n_jobs=n_jobs)(delayed(_select)(clone(model), X, y, part) for part in rows[n_here:])
    selected = [support for support, _, _ in found]
    n_features = found[0][1]
    frequencies = np.bincount(np.concatenate(selected), minlength=n_features) / n_subsamples
    index, variance = nogueira(selected, frequencies)
    from scipy.stats import norm

    half = float(norm.ppf((1 + confidence) / 2) * np.sqrt(variance))
    return StabilityResult(
        frequencies=frequencies,
        stability=index,
        interval=(index - half, index + half),
        relevance_correlation=_mean_correlation([scores for _, _, scores in found]),
        selected=selected,
    )


def nogueira(selected: list[Array], frequencies: Array) -> tuple[float, float]:
    """The index of Nogueira et al. (definition 4) and its variance (theorem 7)."""
    M, d = len(selected), len(frequencies)
    sizes = np.array([len(support) for support in selected])
    k = sizes.mean()
    chance = k / d * (1 - k / d)
    if chance == 0:
        raise ValueError(
            f"every subsample selected {'none' if k == 0 else 'all'} of the {d} features, so that there is nothing to "
            "compare: choose another n_features_to_select"
        )
    index = 1 - M / (M - 1) * np.mean(frequencies * (1 - frequencies)) / chance
    shared = np.array([frequencies[support].sum() for support in selected])
    phi = (shared / d - sizes * k / d**2 + index / 2 * (2 * k * sizes / d**2 - sizes / d - k / d + 1)) / chance
    return float(index), float(4 / M**2 * np.sum((phi - phi.mean()) ** 2))


def _subsamples(labels: Array, fraction: float, seeds: list[Any]) -> list[Array]:
    """The rows of each subsample, ascending."""
    classes = [np.flatnonzero(labels == c) for c in range(labels.max() + 1)]
    found = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        parts = [rng.choice(rows, max(1, round(fraction * len(rows))), replace=False) for rows in classes]
        found.append(np.sort(np.concatenate(parts)))
    return found


def _select(model: Any, X: Any, y: Any, rows: Array) -> tuple[Array, int, Array | None]:
    """Selected features, their number in all, and their scores, if there are any."""
    from sklearn.utils import _safe_indexing

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model.fit(_safe_indexing(X, rows), take_rows(y, rows))
        support = model.get_support()
    scores = getattr(model, "scores_", None)
    return np.flatnonzero(support), len(support), scores


def _mean_correlation(scores: list[Array | None]) -> float:
    """Mean of Spearman's correlation over all pairs, from the sum of the standardised ranks."""
    from scipy.stats import rankdata

    total: Any = 0.0
    for one in scores:
        if one is None:
            return float("nan")
        ranks = rankdata(one)
        ranks -= ranks.mean()
        length = np.linalg.norm(ranks)
        if length == 0:
            return float("nan")
        total = total + ranks / length
    M = len(scores)
    return float((total @ total - M) / (M * (M - 1)))
