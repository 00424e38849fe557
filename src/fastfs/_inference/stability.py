"""Stability of a selection: the agreement of selections on different samples of one population."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from fastfs._inference.scorers import as_label_scorer, expect_fits, last_step
from fastfs._inputs.design import Design
from fastfs._inputs.entry import entry
from fastfs._inputs.matrix import load_stream, require_table
from fastfs._inputs.storage import by_rows, take_rows
from fastfs._inputs.values import for_core
from fastfs._machine.errors import renumber
from fastfs._machine.params import RANDOM_STATE, as_float, as_int, as_seed, check_choice, rank_features, some_of
from fastfs._machine.results import DrawnResult, result_class
from fastfs._machine.run import DataWarning, Run, as_jobs, as_progress, load_core, wants_workers, warn
from fastfs._types import Array, Floats, Integers, Progress


@result_class
class StabilityResult(DrawnResult):
    """Result of :func:`fastfs.stability`.

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
    relevance_pearson : float
        The same by Pearson's correlation of the scores themselves, in which large ones count most.
    selected : list of ndarray
        Indices of the selected features of each subsample; the two of a complementary pair are neighbors.
    selected_stable : ndarray
        Indices of the features with a frequency of at least the threshold.
    rare_bound : float
        Complementary pairs: bound on the expected number of those features in `selected_stable` that half of the data
        selects with a probability of at most q / n_features, where q is the mean number of selected features [2]_.
        NaN for ``scheme="subsamples"``, for which there is none.
    rare_bound_unimodal : float
        The same, lower, if the frequencies of such features are distributed with a single peak. NaN if q is above
        0.57 n_features, or the threshold is too near to 0.5.

    References
    ----------
    .. [1] S. Nogueira, K. Sechidis, G. Brown, "On the stability of feature selection algorithms", Journal of Machine
       Learning Research 18(174), 2018.
    .. [2] R. D. Shah, R. J. Samworth, "Variable selection with error control: another look at stability selection",
       Journal of the Royal Statistical Society B 75, 2013.

    Examples
    --------
    <stability_example>
    >>> X[:, :3] += 3 * y[:, None]
    >>> result = fastfs.stability(fastfs.ReliefF(3), X, y, n_subsamples=20)
    >>> result.stability, result.frequencies[:3].tolist()
    (1.0, [1.0, 1.0, 1.0])
    """

    frequencies: Floats
    stability: float
    interval: tuple[float, float]
    relevance_correlation: float
    relevance_pearson: float
    selected: list[Integers]
    selected_stable: Integers
    rare_bound: float
    rare_bound_unimodal: float

    _picture = "stability"
    _columns: ClassVar = {"frequency": "frequencies"}

    def _table(self) -> dict[str, Any]:
        is_stable = np.isin(np.arange(len(self.frequencies)), self.selected_stable)
        return {**super()._table(), "rank": rank_features(self.frequencies), "stable": is_stable}


@entry
def stability(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    blocks: Any = None,
    groups: Any = None,
    params: Mapping[str, Any] | None = None,
    scheme: str = "subsamples",
    n_subsamples: int = 100,
    fraction: float = 0.5,
    n_pairs: int = 50,
    threshold: float = 0.75,
    confidence: float = 0.95,
    random_state: Any = 0,
    rng: Any = RANDOM_STATE,
    n_jobs: int | None = None,
    verbose: bool | Progress = False,
) -> StabilityResult:
    """Select features on random parts of the samples, and measure how much the selections have in common.

    Parameters
    ----------
    estimator : estimator
        Any feature selector with ``get_support``. It isn't changed.
    X : array-like, DataFrame or sparse of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), or what else the estimator takes
        Labels. Each class keeps its share in the subsamples. Of :class:`fastfs.ProjSe` also numbers, a second
        view of shape (n_samples, n_outputs), or None.
    blocks : array-like of shape (n_samples,), optional
        Batches or strata. Each keeps its share, class by class. If no two samples, or groups, of a block have
        one label, as in pairs and in donors of a treated and a control specimen, whole blocks are drawn. Anything
        hashable.
    groups : array-like of shape (n_samples,), optional
        Samples that are drawn together, such as the cells of a donor.
    params : dict, optional
        For the estimator's ``fit``, such as ``{"sample_weight": weights}``; of values with one entry per sample, each
        part takes those of its samples.
    scheme : {"subsamples", "complementary"}
        "complementary": in pairs of disjoint halves of the samples or groups, which bounds the number of features that
        are selected often by chance (`rare_bound`).
    n_subsamples : int
        Of "subsamples"; at least 2.
    fraction : float
        Of "subsamples": the share of the samples or groups of each class and block, in (0, 1); drawn without
        replacement, at least one.
    n_pairs : int
        Of "complementary": how many pairs. Of an odd number of samples or groups in a class and block, each pair leaves
        out one.
    threshold : float
        The frequency from which on a feature is in `selected_stable`, in (0.5, 1].
    confidence : float
        Of `interval`, in (0, 1).
    random_state : int, Generator, RandomState or None
        Of the subsamples; the estimator has another one.
    <rng>
    n_jobs, verbose
        As for :func:`fastfs.permutation_test`.

    Returns
    -------
    StabilityResult

    Raises
    ------
    ValueError
        Fewer than two subsamples, or a pair; a share outside (0, 1); a threshold outside (0.5, 1]; missing values in
        `blocks` or `groups`; a group in two blocks; every subsample would hold all samples, or halves would have none
        of a class, as with one donor of that class; no feature, or all features, were selected in every subsample,
        which says nothing; what the estimator raises.

    Warns
    -----
    fastfs.DataWarning
        A class has one sample or group in some block, so that all subsamples hold it, or halves never do.

    Notes
    -----
    `n_subsamples` or 2 `n_pairs` fits. Subsamples overlap, so that stability over new data is lower than this; the
    index compares methods, numbers of features and parameters on the same data.

    Without `groups`, samples of one donor come into both halves, and features peculiar to the donor look stable. With
    16 donors of 10 samples each, 100 features and labels that say nothing, ``ReliefF(10)`` has an index of 0.37 and 2.3
    features in `selected_stable`, above the bound of 2; by halves of whole donors 0.20 and 0.15 (mean of 20 data sets).

    `rare_bound` counts features that half of the data rarely selects, which isn't the same as irrelevant ones: what a
    method selects with any labels, it selects often (see :func:`fastfs.shuffled_twin`). With q selected of p
    features, the threshold t and B pairs, it is q^2 / (p (2t - 1)), and `rare_bound_unimodal` is C q^2 / p with
    C = 1 / (2 (2t - 1 - 1/(2B))) for t <= 3/4, and 4 (1 - t + 1/(2B)) / (1 + 1/B) above.

    References
    ----------
    .. [1] S. Nogueira, K. Sechidis, G. Brown, "On the stability of feature selection algorithms", Journal of Machine
       Learning Research 18(174), 2018, definition 4 (the index) and theorem 7 (its variance).
    .. [2] N. Meinshausen, P. Buehlmann, "Stability selection", Journal of the Royal Statistical Society B 72, 2010:
       halves of the samples.
    .. [3] R. D. Shah, R. J. Samworth, "Variable selection with error control: another look at stability selection",
       Journal of the Royal Statistical Society B 75, 2013: complementary pairs, theorems 1 and 2.

    Examples
    --------
    <stability_example>
    >>> result = fastfs.stability(fastfs.ReliefF(3), X, y, n_subsamples=20)  # nothing to find
    >>> result.stability < 0.4
    True
    >>> X[:, 3] += 2 * y
    >>> result = fastfs.stability(fastfs.ReliefF(3), X, y, scheme="complementary", n_pairs=10)
    >>> result.selected_stable.tolist(), round(result.rare_bound, 2)
    ([3], 0.6)
    """
    from sklearn.base import clone

    check_choice("scheme", scheme, ("subsamples", "complementary"))
    n_subsamples, n_pairs = as_int("n_subsamples", n_subsamples, low=2), as_int("n_pairs", n_pairs, low=1)
    for name, share in (("fraction", fraction), ("confidence", confidence)):
        if not 0 < as_float(name, share) < 1:
            raise ValueError(f"{name} must lie between 0 and 1; got {share}")
    if not 0.5 < as_float("threshold", threshold) <= 1:
        raise ValueError(f"threshold must lie above 0.5 and be at most 1; got {threshold}")
    report, n_jobs = as_progress(verbose), as_jobs(n_jobs)
    if hasattr(X, "__next__"):
        raise ValueError(
            "X must be an array, since each subsample reads it; got an iterator, which can be read once: "
            "stack its blocks"
        )
    X = load_stream(X, Run())
    require_table(X)
    X = by_rows(X)  # other sparse formats have no rows to take
    shape = np.shape(X)
    if shape[0] == 0:
        raise ValueError("X must have samples; got none")
    classes, values = as_label_scorer(last_step(estimator))._encode_target(y, shape)
    names = None if classes is None else classes[values]
    design = Design(values, blocks, groups, names=names, seed=as_seed(random_state))
    halves = scheme == "complementary"
    rows = design.subsamples(0, 2 * n_pairs if halves else n_subsamples, halves=halves, fraction=fraction)
    alone, n_strata = design.lonely_strata()
    if alone:
        warn(
            [
                f"{len(alone)} of {n_strata} combinations of class and block have one {design.unit_word}, which is in "
                f"{'no half' if halves else 'every subsample'}: {some_of([f'that of row {row}' for row in alone])}"
            ]
        )
    if wants_workers(n_jobs):
        from joblib import Parallel, delayed

        results = Parallel(n_jobs=n_jobs)(
            delayed(_select_on_rows)(expect_fits(clone(estimator), len(rows)), X, y, params, part) for part in rows
        )
    else:
        results = []
        for m, part in enumerate(rows):
            results.append(_select_on_rows(expect_fits(clone(estimator), len(rows)), X, y, params, part))
            if report is not None:
                report("subsamples", (m + 1) / len(rows))
    selected = [support for support, _, _, _ in results]
    n_features, economy = results[0][1], results[0][3]
    if economy:
        warn([economy])
    comparison = compare_selections(
        n_features, selected, [scores for _, _, scores, _ in results], halves=halves, threshold=threshold
    )
    from scipy.stats import norm

    index = comparison["stability"]
    half = float(norm.ppf((1 + confidence) / 2) * np.sqrt(comparison.pop("variance")))
    return StabilityResult(
        interval=(index - half, index + half),
        selected=selected,
        selected_stable=np.flatnonzero(comparison["frequencies"] >= threshold),
        **comparison,
    )


def compare_selections(
    n_features: int,
    selected: Sequence[Integers] | None,
    scores: Sequence[Array | None],
    *,
    halves: bool = False,
    threshold: float = 0.75,
) -> dict[str, Any]:
    """Return the core's measures of stability by name: of selections (ascending indices, or None) and of scores.

    Those of scores are NaN if some are missing or not finite.
    """
    begins, flat = None, None
    if selected is not None:
        begins = np.cumsum([0, *map(len, selected)])
        flat = for_core(np.concatenate(selected), np.int64)
    rows = [for_core(one, np.float64) for one in scores if one is not None and np.isfinite(one).all()]
    compared: dict[str, Any] = load_core(with_blas=False).stability(
        len(scores), n_features, flat, begins, rows if len(rows) == len(scores) else None, halves, threshold
    )
    return compared


def _select_on_rows(model: Any, X: Any, y: Any, params: Any, rows: Array) -> tuple[Array, int, Array | None, str]:
    """Fit the model to some rows, and return the selected features, the number of all features, their scores, if there
    are any, and what the method chose because of many fits.

    Warnings are ignored, and errors name rows of X.
    """
    from sklearn.utils.validation import _check_method_params

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        of_rows = _check_method_params(X, params or {}, indices=rows)
        try:
            model.fit(take_rows(X, rows), None if y is None else take_rows(y, rows), **of_rows)
        except ValueError as error:
            renumber(error, {"row": rows})
            raise
        selector = last_step(model)
        support = selector.get_support()
    scores = getattr(selector, "scores_", None)
    return np.flatnonzero(support), len(support), scores, as_label_scorer(selector)._economy
