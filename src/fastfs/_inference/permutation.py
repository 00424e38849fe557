"""Permutation tests: p-values for the scores of any method, from its scores under permuted labels."""

import contextlib
import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastfs._inference.calibration import TIE, Moments, Scale, StepDown, mean_correlation, tie_limits
from fastfs._inference.scorers import Labels, Scorer, as_label_scorer, last_step, make_scorer, sums_scorer
from fastfs._inputs.design import SIGNIFICANT, Design
from fastfs._inputs.entry import entry
from fastfs._inputs.values import as_values
from fastfs._machine.brief import brief
from fastfs._machine.params import as_bool, as_permutations, as_seed, check_choice, rank_features
from fastfs._machine.run import DataWarning, Run, as_progress, wants_workers, warn
from fastfs._types import Array, Floats, Integers, Progress

# A test stops when _N_TO_STOP statistics have reached the true one; _N_FOR_SCALE permutations before give z its scale.
_N_TO_STOP = 10
_N_FOR_SCALE = 49

# Number of permutations that z of skewed scores needs.
_N_FOR_SKEWED = 999

# Number of permutations that are scored together; a test that may stop early begins with the smaller one.
_FIRST_BATCH, _LARGEST_BATCH = 64, 1024
_BATCH_BYTES = 1 << 28


@brief
@dataclass(frozen=True)
class PermutationResult:
    """Result of :func:`fastfs.permutation_test`.

    Parameters
    ----------
    scores : ndarray of shape (n_features,)
        Scores under the true labels.
    z : ndarray of shape (n_features,)
        (scores - null_mean) / null_sd, and 0 for degenerate features. It isn't a normal deviate, because it can't
        exceed sqrt(n_permutations).
    ranking : ndarray of shape (n_features,)
        Ranking by scores or by z, depending on the option `ranking`; 1 is best.
    pvalues : ndarray of shape (n_features,)
        (1 + number of permutations with as large a score for this feature) / (1 + n_permutations).
    pvalues_adjusted : ndarray of shape (n_features,)
        `pvalues` after control of the false discovery rate (see `fdr`).
    pvalues_max : ndarray of shape (n_features,)
        p-values against the largest z, or score, of the features that aren't better. They control the family-wise error
        rate if the labels say nothing about X, without any other correction.
    statistic : float
        Statistic of all features together: the largest z, or the largest score, which for :class:`fastfs.DiSC` is the
        largest significance.
    pvalue : float
        p-value of `statistic`, for the hypothesis that the labels have nothing to do with X.
    null_statistics : ndarray of shape (n_permutations,)
        `statistic` under permuted labels.
    null_mean, null_sd : ndarray of shape (n_features,)
        Mean and standard deviation of each feature's scores under all labelings, the true one included.
    null_skew : ndarray of shape (n_features,)
        Skewness of the scores under permuted labels.
    degenerate : ndarray
        Indices of the features whose scores don't depend on labels; their p-values are 1.
    label_free : float
        Rank correlation (Spearman) of the scores with their means under permuted labels: near 1, the method ranks
        features much as without labels. NaN if all are equal.
    n_distinct : int or float
        The number of labelings that the design allows, the true one included; infinity from 10^6 on.
    n_permutations : int
        The number of labelings compared with the true one.
    exact : bool
        True if these are all labelings of the design, so that chance has no part in the p-values.
    stopped : bool
        True if the test ended early, because the labels are clearly no better than permuted ones.
    design : str
        Description of the permutations.
    resolution : float
        No p-value can be smaller: 1 / (1 + n_permutations), or, if all labelings were taken, the share of those that
        differ from the true one in the names of the classes alone, under which the estimators of this library give the
        same scores: with two classes of equal sizes 2 / n_distinct.
    fdr : {"bh", "by"}

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).normal(size=(40, 20))
    >>> y = np.arange(40) % 2
    >>> X[:, 3] += 3 * y
    >>> result = fastfs.permutation_test(fastfs.ReliefF(), X, y, n_permutations=99)
    >>> result.pvalues[3].item(), result.pvalues_adjusted[3].round(2).item(), result.resolution
    (0.01, 0.2, 0.01)
    >>> result.ranking[3].item(), result.design
    (1, '20 + 20 samples')
    """

    scores: Floats
    z: Floats
    ranking: Integers
    pvalues: Floats
    pvalues_adjusted: Floats
    pvalues_max: Floats
    statistic: float
    pvalue: float
    null_statistics: Floats
    null_mean: Floats
    null_sd: Floats
    null_skew: Floats
    degenerate: Integers
    label_free: float
    n_distinct: int | float
    n_permutations: int
    exact: bool
    stopped: bool
    design: str
    resolution: float
    fdr: str


@entry
def permutation_test(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    blocks: Any = None,
    groups: Any = None,
    covariates: Any = None,
    params: Mapping[str, Any] | None = None,
    statistic: str = "z",
    ranking: str = "score",
    n_permutations: int | str = "auto",
    stop: bool | None = None,
    fdr: str = "bh",
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: bool | Progress = False,
) -> PermutationResult:
    """Compute p-values of a feature selector's scores, under the hypothesis that the labels say nothing about X.

    Parameters
    ----------
    estimator : estimator
        Any of this library, or another one that has ``scores_`` once fitted, larger being better, or a pipeline whose
        last step is one. It isn't changed.
    X : array-like, DataFrame or sparse of shape (n_samples, n_features), or a stream of its rows
    y : array-like of shape (n_samples,), or what else the estimator takes
        Labels; of :class:`fastfs.ProjSe` also numbers, or a second view of shape (n_samples, n_targets), whose rows are
        permuted as wholes.
    blocks : array-like of shape (n_samples,), optional
        Labels are permuted within blocks only: donors that have each label, batches, strata, pairs. Anything hashable.
    groups : array-like of shape (n_samples,), optional
        Samples that belong together, such as the cells of a specimen, or of a donor with one label. The labels of whole
        groups are permuted. If each donor gave several specimens with labels of their own, such as a treated one and a
        control: ``groups=specimen, blocks=donor``. If labels vary within groups, they are permuted within these, with
        a warning that cells of one specimen aren't independent.
    covariates : array-like or DataFrame of shape (n_samples, n_covariates), optional
        Numbers, strings or categories, such as age and sex, to which the labels keep their relation: see Notes.
    params : dict, optional
        For the estimator's ``fit``, such as ``{"sample_weight": weights}``, which stay with their samples: as in
        scikit-learn's ``cross_validate``. A pipeline passes them on by metadata routing.
    statistic : {"z", "score"}
        Values that `pvalues_max` and `pvalue` compare between features. "z": scores standardized by their mean and
        standard deviation under permuted labels, so that no feature sets the maximum by its scale alone. "score": the
        scores themselves.
    ranking : {"score", "z"}
        Values that features are ranked by. "z" removes the part of a score that doesn't depend on labels, and costs
        power if the scores follow the labels already.
    n_permutations : int or "auto"
        How often the labels are permuted; all labelings of the design are taken once if there are no more. "auto": all
        if there are at most 1000, otherwise 999 with `stop`. P-values can't be below `resolution` of the result; to
        survive the adjustment for 20,000 features at level q, a p-value must be near q times the share of features
        that are found.
    stop : bool or None
        End the test once ten permutations have reached the statistic of the true labels: labels that say nothing take
        about 100 permutations instead of thousands. None: only with ``n_permutations="auto"``.
    fdr : {"bh", "by"}
        Benjamini-Hochberg, or Benjamini-Yekutieli, which holds under any dependence between features.
    random_state : int, Generator, RandomState or None
        Seed of the permutations; the estimator has a separate one.
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
        aren't finite; the design allows no labeling but the true one (the confounded block is named); missing values
        in a column of the design; a group in two blocks; covariates that determine the labels, or that vary within
        groups that move as wholes.

    Warns
    -----
    fastfs.DataWarning
        What the estimator warns of under the true labels. Under permuted ones it is silent. The design allows so few
        labelings that no p-value can be 0.05 or less; parts of it contribute nothing; labels vary within groups, where
        specimens may hide; scores are ranked much as without labels (`label_free` above 0.5); z of skewed scores rests
        on less than 1000 permutations.

    Notes
    -----
    Each permutation is a fit, but for what doesn't depend on labels, which is done once: all distances of the RELIEF
    family, the distances over all rows of ManiFeSt; ProjSe with labels and the linear kernel takes all permutations
    together, in one product with X. DiSC and I-KDR have no such stage. With `n_jobs`, once in each worker.

    If X is a stream and the labels of whole `groups` are permuted, sums over each group give the scores of any
    labeling: ProjSe reads X once for all of them, without workers. So does ManiFeSt if X is too large to load. Relief
    and ReliefF with `n_targets` then read it twice, keep the nearest rows in each group, and draw targets in each.
    Otherwise each permutation reads the stream.

    The p-values hold if, should X and the labels be independent, each labeling of the design was as likely as the true
    one. That is a statement about all features together: a feature whose score depends on others may be called
    significant because of them.

    With covariates, classes are drawn given their odds by a logistic regression on the covariates [3]_, fitted to pairs
    of samples of one block with different labels; the p-values are exact as far as it holds. Of numbers, the residuals
    of a linear regression are permuted [4]_, which is wrong if the dependence is curved: give transformed covariates,
    too, or strata of them as `blocks`. Don't take covariates out of X instead: that takes effects of the labels along.

    If a test has stopped, `pvalue` is 10 over the number of permutations [5]_, without the first 49 if z needs them for
    its scale. The result doesn't depend on `n_jobs`. Scores of all permutations are kept if they fit into half of the
    memory budget, 8 n_features (n_permutations + 1) bytes; otherwise the same labelings are scored twice.

    References
    ----------
    .. [1] B. Phipson, G. K. Smyth, "Permutation P-values should never be zero", Statistical Applications in Genetics
       and Molecular Biology 9(1), 2010: the ones in the numerator and the denominator.
    .. [2] P. H. Westfall, S. S. Young, "Resampling-based multiple testing", Wiley, 1993: step-down p-values.
    .. [3] T. B. Berrett, Y. Wang, R. F. Barber, R. J. Samworth, "The conditional permutation test for independence
       while controlling for confounders", Journal of the Royal Statistical Society B 82, 2020.
    .. [4] A. M. Winkler et al., "Permutation inference for the general linear model", NeuroImage 92, 2014.
    .. [5] J. Besag, P. Clifford, "Sequential Monte Carlo p-values", Biometrika 78, 1991.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X = np.random.default_rng(0).normal(size=(40, 20))
    >>> y = np.arange(40) % 2
    >>> X[:, 3] += 3 * y
    >>> result = fastfs.permutation_test(fastfs.ProjSe(1), X, y)
    >>> result.pvalue, np.flatnonzero(result.pvalues_max < 0.05).tolist()
    (0.001, [3])

    Eight samples of each of 12 donors: the donors' labels are permuted.

    >>> donors = np.repeat(np.arange(12), 8)
    >>> X = np.random.default_rng(0).normal(size=(96, 10)) + np.random.default_rng(1).normal(size=(12, 10))[donors]
    >>> result = fastfs.permutation_test(fastfs.ProjSe(1), X, donors % 2, groups=donors)
    >>> result.design, result.n_distinct, result.exact, result.pvalue > 0.05
    ('6 + 6 groups', 924, True, True)

    Each donor gives a treated and a control specimen: their labels are exchanged within the donor.

    >>> specimens, treated = np.arange(96) // 4, np.arange(96) // 4 % 2
    >>> result = fastfs.permutation_test(fastfs.ProjSe(1), X, treated, groups=specimens, blocks=donors)
    >>> result.design, result.n_distinct
    ('12 + 12 groups within 12 blocks', 4096)
    """
    from scipy.stats import false_discovery_control
    from sklearn.base import clone

    check_choice("statistic", statistic, ("z", "score"))
    check_choice("ranking", ranking, ("score", "z"))
    check_choice("fdr", fdr, ("bh", "by"))
    max_permutations, is_auto = as_permutations(n_permutations, low=1)
    may_stop = is_auto if stop is None else as_bool("stop", stop)
    report = as_progress(verbose)
    seed = as_seed(random_state)

    if y is None:
        raise ValueError("a permutation test shuffles the samples' labels, but y is None: give them")
    if hasattr(X, "__next__"):
        raise ValueError("X is an iterator, which can be read once, but each permutation reads it: give an array")
    model = clone(estimator)
    from_sums = None if params else sums_scorer(model, X, y, groups)
    labels, scorer = from_sums or make_scorer(model, X, y, params)
    names = as_values(y).reshape(-1) if labels.dtype.kind == "i" else None
    design = Design(
        labels,
        blocks,
        groups,
        covariates,
        names=names,
        ignores_names=as_label_scorer(last_step(model))._ignores_names,
        n_permutations=max_permutations,
        seed=seed,
    )
    design.check_labelings()
    ((scores, overall),) = scorer([labels])
    if not np.isfinite(scores).all():
        raise ValueError(f"the scores of {type(estimator).__name__} aren't finite, so they can't be compared")

    if wants_workers(n_jobs) and from_sums is None:
        scorer = _ScorerOnWorkers(estimator, X, y, params, n_jobs)
    source = _Permutations(design, scorer, max(labels.nbytes, scores.nbytes), may_stop and not design.exact)
    null = _score_permutations(
        source, scores, overall, statistic, report, Run(0, getattr(estimator, "max_memory", None))
    )
    n = null.moments.n
    scale = null.moments.make_scale(with_true=True)
    is_degenerate = np.isinf(scale.spread)
    z = scale.standardize(scores)
    pvalues = np.where(is_degenerate, 1.0, (1 + null.exceeding) / (1 + n))
    result = PermutationResult(
        scores=scores,
        z=z,
        ranking=rank_features(z if ranking == "z" else scores),
        pvalues=pvalues,
        pvalues_adjusted=false_discovery_control(pvalues, method=fdr),
        pvalues_max=np.where(is_degenerate, 1.0, null.pvalues_max),
        statistic=null.statistic,
        pvalue=null.pvalue,
        null_statistics=null.statistics,
        null_mean=scale.center,
        null_sd=np.where(is_degenerate, 0.0, scale.spread),
        null_skew=null.moments.score_skewness(),
        degenerate=np.flatnonzero(is_degenerate),
        label_free=mean_correlation([scores, null.moments.mean_scores()]),
        n_distinct=design.n_distinct,
        n_permutations=n,
        exact=design.exact,
        stopped=null.stopped,
        design=design.description,
        resolution=design.smallest_pvalue if design.exact else 1 / (1 + n),
        fdr=fdr,
    )
    warn(_describe_warnings(type(estimator).__name__, result, statistic, ranking, design.smallest_pvalue))
    return result


def _describe_warnings(
    estimator: str, result: PermutationResult, statistic: str, ranking: str, smallest_pvalue: float
) -> list[str]:
    """Return a sentence for each weakness of a test; `smallest_pvalue` is that of the design."""
    messages = []
    # With few features, independent ranks may also correlate by more than 0.5. So may scores under few labelings, about
    # which `check_labelings` has warned: one of them may exchange two classes, which hardly changes scores.
    if (
        ranking == "score"
        and smallest_pvalue <= SIGNIFICANT
        and result.label_free > max(0.5, 2.5 / np.sqrt(max(1, len(result.scores) - 1)))
    ):
        messages.append(
            f"{estimator} ranks features much as without labels: its scores and their means under permuted labels have "
            f"a rank correlation of {result.label_free:.2f} (label_free): rank by z instead"
        )
    n, skewness = result.n_permutations, np.delete(result.null_skew, result.degenerate)
    skew = float(np.median(skewness)) if len(skewness) else 0.0
    if "z" in (statistic, ranking) and skew > 2 and n < _N_FOR_SKEWED and not (result.exact or result.stopped):
        messages.append(
            f"scores under permuted labels are skewed (null_skew has the median {skew:.1f}), so z needs "
            f"{_N_FOR_SKEWED} permutations or more, but there are {n}: raise n_permutations"
        )
    return messages


class _ScorerOnWorkers:
    """Scorer that distributes permutations among the workers of joblib."""

    def __init__(self, estimator: Any, X: Any, y: Any, params: Any, n_jobs: int | None) -> None:
        self.estimator, self.of, self.n_jobs = estimator, (X, y, params), n_jobs

    def __call__(self, labelings: Sequence[Labels]) -> Iterator[tuple[Array, float]]:
        from joblib import Parallel, delayed, effective_n_jobs
        from sklearn.base import clone

        n_parts = min(effective_n_jobs(self.n_jobs), len(labelings))
        bounds = np.linspace(0, len(labelings), n_parts + 1).astype(int)
        parts = Parallel(n_jobs=self.n_jobs)(
            delayed(_score_on_worker)(clone(self.estimator), *self.of, labelings[begin:end])
            for begin, end in itertools.pairwise(bounds)
        )
        return itertools.chain.from_iterable(parts)


def _score_on_worker(model: Any, X: Any, y: Any, params: Any, labelings: Sequence[Labels]) -> list[tuple[Array, float]]:
    """Score some permutations on a worker."""
    with silence_warnings():
        return list(make_scorer(model, X, y, params)[1](labelings))


@contextlib.contextmanager
def silence_warnings() -> Iterator[None]:
    """Ignore the warnings of an estimator under permuted labels."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        for category in (DataWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", category)
        yield


@dataclass(frozen=True)
class _Permutations:
    """Iterable over the scores and overall statistics under the permutations of a design, in a fixed order."""

    design: Design
    scorer: Scorer
    n_bytes: int  # size of a labeling or of its scores
    may_stop: bool

    @property
    def n(self) -> int:
        """Number of the permutations."""
        return self.design.n_labelings

    def __iter__(self) -> Iterator[tuple[Array, float]]:
        size, first = _FIRST_BATCH if self.may_stop else _LARGEST_BATCH, 0
        while first < self.n:
            count = min(max(1, min(size, _BATCH_BYTES // self.n_bytes)), self.n - first)
            yield from self.scorer(list(self.design.labelings(first, count)))
            first, size = first + count, min(2 * size, _LARGEST_BATCH)


@dataclass(frozen=True)
class _Null:
    """Results of the comparison between the scores under permuted labels and the true scores."""

    moments: Moments
    exceeding: Integers
    pvalues_max: Floats
    statistic: float
    statistics: Floats
    pvalue: float
    stopped: bool


def _score_permutations(
    source: _Permutations, scores: Floats, overall: float, statistic: str, report: Progress | None, run: Run
) -> _Null:
    """Score the permutations, and compare their scores and statistics with the true ones."""
    limits = tie_limits(scores)
    exceeding = np.zeros(len(scores), dtype=np.int64)
    moments = Moments(scores)
    kept: list[Array] | None = [] if scores.nbytes * (source.n + 1) <= run.available() // 2 else None
    n_steps = source.n if kept is not None else 2 * source.n
    overall_statistics: list[float] = []
    watch = _EarlyStop(scores, overall, statistic) if source.may_stop else None
    stopped = False
    with silence_warnings():
        for row, value in source:
            exceeding += row >= limits
            moments.add_scores(row)
            overall_statistics.append(value)
            if kept is not None:
                kept.append(row)
            if report is not None:
                report("permutations", moments.n / n_steps)
            if watch is not None and watch.is_enough(row, value, moments):
                stopped = True
                break
        n = moments.n
        scale = moments.make_scale(with_true=True) if statistic == "z" else Scale(np.zeros(1), np.ones(1))
        true = scale.standardize(scores)
        tested = StepDown(true, scale.standardized_limits(scores))
        largest = []
        for b, row in enumerate(kept if kept is not None else (row for row, _ in itertools.islice(source, n))):
            z = scale.standardize(row)
            tested.add_scores(z)
            largest.append(float(z.max()))
            if kept is None and report is not None:
                report("permutations", (n + b + 1) / n_steps)
    pvalues_max = tested.step_down_pvalues()
    if statistic == "z":
        value, values, pvalue = float(true.max()), np.array(largest), float(pvalues_max.min())
    else:
        value, values = overall, np.array(overall_statistics)
        pvalue = float((1 + np.count_nonzero(values >= value - TIE * abs(value))) / (1 + n))
    if watch is not None and stopped:
        pvalue = _N_TO_STOP / watch.n
    return _Null(moments, exceeding, pvalues_max, value, values, pvalue, stopped)


class _EarlyStop:
    """Counts the permutations whose statistic reaches the true one.

    z gets its scale from the first permutations, which aren't counted.
    """

    def __init__(self, scores: Floats, overall: float, statistic: str) -> None:
        self.scores, self.is_z = scores, statistic == "z"
        self.limit = overall - TIE * abs(overall)
        self.n = self.count = 0

    def is_enough(self, row: Floats, value: float, moments: Moments) -> bool:
        """Add a permutation; return True if enough statistics have reached the true one to stop."""
        if self.is_z:
            if moments.n == _N_FOR_SCALE:
                self.scale = moments.make_scale(with_true=False)
                best = self.scale.standardize(self.scores).argmax()
                self.limit = float(self.scale.standardized_limits(self.scores)[best])
            if moments.n <= _N_FOR_SCALE:
                return False
            value = float(self.scale.standardize(row).max())
        self.n += 1
        self.count += value >= self.limit
        return self.count == _N_TO_STOP
