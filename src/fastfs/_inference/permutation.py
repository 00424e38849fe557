"""Permutation tests: p-values for the scores of any method, from the same method on shuffled labels."""

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastfs._inputs.checks import as_int, as_seed, choose
from fastfs._machine.run import DataWarning, as_progress
from fastfs._types import Array, Floats, Integers, Progress

Labels = Integers

# Scores and overall statistic for each of several labelings of the same samples. What doesn't depend on labels is done
# once, by whoever made the function.
Scorer = Callable[[Sequence[Labels]], Iterator[tuple[Array, float]]]

# Scores that differ by less than this share are ties: a partition of the samples that comes back as itself may be
# summed in another order. So are those that differ by less than rounding leaves of the largest one: a feature without
# any relation to the others has scores around 1e-17 in place of 0.
TIE = 1e-9
ROUNDING = 1e-14


@dataclass(frozen=True)
class PermutationResult:
    """What :func:`fastfs.permutation_test` found.

    Parameters
    ----------
    scores : ndarray of shape (n_features,)
        Under the true labels.
    pvalues : ndarray of shape (n_features,)
        (1 + number of permutations with as large a score for this feature) / (1 + n_permutations).
    pvalues_adjusted : ndarray of shape (n_features,)
        The same after control of the false discovery rate (see `fdr`).
    pvalues_max : ndarray of shape (n_features,)
        Against the largest score of all features in each permutation, which controls the family-wise error rate: no
        other correction is needed.
    statistic : float
        Of all features together: the largest score; for :class:`fastfs.DiSC` the largest significance.
    pvalue : float
        Of `statistic`: whether the labels have anything to do with X.
    null_statistics : ndarray of shape (n_permutations,)
        The same statistic under permuted labels.
    resolution : float
        1 / (1 + n_permutations): no p-value can be smaller.
    fdr : {"bh", "by"}

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).normal(size=(40, 20))
    >>> y = np.arange(40) % 2
    >>> X[:, 3] += 3 * y
    >>> found = fastfs.permutation_test(fastfs.ReliefF(), X, y, n_permutations=99)
    >>> found.pvalues[3].item(), found.pvalues_adjusted[3].round(2).item(), found.resolution
    (0.01, 0.2, 0.01)
    """

    scores: Floats
    pvalues: Floats
    pvalues_adjusted: Floats
    pvalues_max: Floats
    statistic: float
    pvalue: float
    null_statistics: Floats
    resolution: float
    fdr: str


def permutation_test(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_permutations: int = 999,
    fdr: str = "bh",
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: bool | Progress = False,
) -> PermutationResult:
    """P-values of the scores of a feature selector, under the hypothesis that the labels say nothing about X.

    Parameters
    ----------
    estimator : estimator
        Any of this library, or another one that has ``scores_`` once fitted, larger being better. It isn't changed.
    X : array-like, DataFrame or sparse of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels, or what else the estimator takes.
    n_permutations : int
        How often the labels are shuffled. P-values can't be below 1 / (1 + n_permutations); to survive the adjustment
        for 20,000 features at level q, a p-value must be near q times the share of features that are found.
    fdr : {"bh", "by"}
        Benjamini-Hochberg, or Benjamini-Yekutieli, which holds under any dependence between features.
    random_state : int, Generator, RandomState or None
        Of the permutations; the estimator has its own.
    n_jobs : int or None
        Joblib workers, each of which takes a share of the permutations on one thread: processes, or machines under
        ``joblib.parallel_config("dask")``. None: what that says about `n_jobs`, else this process alone, with the
        threads of the estimator. The result doesn't depend on it.
    verbose : bool or callable
        True prints progress on stderr once the test takes over two seconds; a callable gets ``(step, fraction)``.

    Returns
    -------
    PermutationResult

    Raises
    ------
    ValueError
        n_permutations below 1; X is an iterator; what the estimator raises; it gives no ``scores_``, or scores that
        aren't finite.

    Warns
    -----
    fastfs.DataWarning
        What the estimator warns of under the true labels. Under permuted ones it is silent.

    Notes
    -----
    Each permutation is a fit, but for what doesn't depend on labels, which is done once: all distances of the RELIEF
    family, the distances over all rows of ManiFeSt; ProjSe with the linear kernel takes all permutations together, in
    one product with X. DiSC and I-KDR have no such stage. With `n_jobs`, once in each worker.

    Scores under permuted labels are one sample from the distribution of a feature's score if X and y are independent,
    which is a statement about all features together. A feature whose score depends on others may be called
    significant because of them; and features are exchangeable only if samples are: with batches, donors or repeated
    measurements they aren't.

    References
    ----------
    .. [1] B. Phipson, G. K. Smyth, "Permutation P-values should never be zero", Statistical Applications in Genetics
       and Molecular Biology 9(1), 2010: the ones in the numerator and the denominator.
    .. [2] P. H. Westfall, S. S. Young, "Resampling-based multiple testing", Wiley, 1993: the largest score.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).normal(size=(40, 20))
    >>> y = np.arange(40) % 2
    >>> X[:, 3] += 3 * y
    >>> found = fastfs.permutation_test(fastfs.ProjSe(1), X, y, n_permutations=199)
    >>> found.pvalue, np.flatnonzero(found.pvalues_adjusted < 0.2).tolist()
    (0.005, [3])
    """
    from scipy.stats import false_discovery_control
    from sklearn.base import clone

    n_permutations = as_int("n_permutations", n_permutations, low=1)
    choose("fdr", fdr, ("bh", "by"))
    report = as_progress(verbose)
    seeds = np.random.SeedSequence(as_seed(random_state)).spawn(n_permutations)

    if y is None:
        raise ValueError("a permutation test shuffles the samples' labels, but y is None: give them")
    if hasattr(X, "__next__"):
        raise ValueError("X is an iterator, which can be read once, but each permutation reads it: give an array")
    model = clone(estimator)
    labels, scorer = make_scorer(model, X, y)
    ((scores, statistic),) = scorer([labels])
    settle(model, model)
    if not np.isfinite(scores).all():
        raise ValueError(f"the scores of {type(estimator).__name__} aren't finite, so they can't be compared")
    limits = scores - np.maximum(TIE * np.abs(scores), ROUNDING * np.abs(scores).max())

    if not wants_workers(n_jobs):
        parts: Any = [_share(scorer, labels, seeds, limits, report)]
    else:
        from joblib import Parallel, delayed, effective_n_jobs

        n_parts = min(effective_n_jobs(n_jobs), n_permutations)
        bounds = np.linspace(0, n_permutations, n_parts + 1).astype(int)
        parts = Parallel(n_jobs=n_jobs)(
            delayed(_share_of_worker)(settle(clone(estimator), model), X, y, seeds[begin:end], limits)
            for begin, end in itertools.pairwise(bounds)
        )
    exceeding = np.sum([part[0] for part in parts], axis=0)
    null = np.concatenate([part[1] for part in parts])
    largest = np.concatenate([part[2] for part in parts])

    total = 1 + n_permutations
    pvalues = (1 + exceeding) / total
    # How many of the null's largest scores reach each score: those at or behind its place among them.
    reached = n_permutations - np.searchsorted(np.sort(largest), limits)
    return PermutationResult(
        scores=scores,
        pvalues=pvalues,
        pvalues_adjusted=false_discovery_control(pvalues, method=fdr),
        pvalues_max=(1 + reached) / total,
        statistic=statistic,
        pvalue=float((1 + np.count_nonzero(null >= statistic - TIE * abs(statistic))) / total),
        null_statistics=null,
        resolution=1 / total,
        fdr=fdr,
    )


def wants_workers(n_jobs: int | None) -> bool:
    """Whether joblib is asked for: by n_jobs, or by ``joblib.parallel_config`` around the call."""
    from joblib import effective_n_jobs

    return n_jobs is not None or effective_n_jobs(None) > 1


def settle(model: Any, fitted: Any) -> Any:
    """Let a model repeat the choices of a fit, such as that of DiSC's graph, on other labels or samples."""
    if hasattr(fitted, "_choices"):
        model.set_params(**fitted._choices())
    return model


def make_scorer(model: Any, X: Any, y: Any) -> tuple[Labels, Scorer]:
    """Return the labels as numbers, and the scorer of a model that may be changed."""
    own = getattr(model, "_scorer", None)
    found: tuple[Labels, Scorer] = refit(model, X, y) if own is None else own(X, y)
    return found


def refit(model: Any, X: Any, y: Any) -> tuple[Labels, Scorer]:
    """The scorer of a model without a label-free stage: fits."""
    y = np.asarray(y)
    classes, labels = np.unique(y, return_inverse=True)

    def scorer(labelings: Sequence[Labels]) -> Iterator[tuple[Array, float]]:
        for labeling in labelings:
            model.fit(X, classes[labeling])
            if not hasattr(model, "scores_"):
                raise ValueError(f"{type(model).__name__} has no scores_ after its fit, so there is nothing to test")
            scores = np.asarray(model.scores_, dtype=np.float64)
            yield scores, float(np.max(getattr(model, "statistic_", scores)))

    return labels.reshape(-1).astype(np.int64), scorer


def _share(
    scorer: Scorer, labels: Labels, seeds: Sequence[Any], limits: Array, report: Progress | None
) -> tuple[Array, Array, Array]:
    """How often scores of permutations reach the limits, the statistics, and the largest scores."""
    from sklearn.exceptions import ConvergenceWarning

    exceeding = np.zeros(len(limits), dtype=np.int64)
    statistics, largest = np.empty(len(seeds)), np.empty(len(seeds))
    labelings = [np.random.default_rng(seed).permutation(labels) for seed in seeds]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        for b, (scores, statistic) in enumerate(scorer(labelings)):
            exceeding += scores >= limits
            statistics[b], largest[b] = statistic, scores.max()
            if report is not None:
                report("permutations", (b + 1) / len(seeds))
    return exceeding, statistics, largest


def _share_of_worker(model: Any, X: Any, y: Any, seeds: Sequence[Any], limits: Array) -> tuple[Array, Array, Array]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        labels, scorer = make_scorer(model, X, y)
    return _share(scorer, labels, seeds, limits, None)
