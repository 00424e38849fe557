"""Permutation tests: p-values for the scores of any method, from its scores under permuted labels."""

import contextlib
import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from fastfs._inference.feature_groups import FeatureGroups, GroupsResult
from fastfs._inference.scorers import (
    Labels,
    Scorer,
    as_label_scorer,
    expect_fits,
    last_step,
    make_scorer,
    require_finite,
    sums_scorer,
)
from fastfs._inputs.design import Design, read_covariates
from fastfs._inputs.entry import entry
from fastfs._inputs.matrix import column_names
from fastfs._inputs.source import as_stream
from fastfs._inputs.values import as_values, for_core
from fastfs._machine.errors import last_warnings
from fastfs._machine.params import RANDOM_STATE, as_bool, as_permutations, as_seed, check_choice, rank_features
from fastfs._machine.results import DrawnResult, result_class
from fastfs._machine.run import DataWarning, Run, as_jobs, as_progress, load_core, wants_workers, warn
from fastfs._types import Array, Floats, Integers, Progress

# Number of permutations that are scored together; a test that may stop early begins with the smaller one.
_FIRST_BATCH, _LARGEST_BATCH = 64, 1024
_BATCH_BYTES = 1 << 28


@result_class
class PermutationResult(DrawnResult):
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
        Indices of the features with scores that don't depend on labels; their p-values are 1.
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
    feature_groups : GroupsResult or None
        Scores and p-values of groups of features, if there were any.

    Examples
    --------
    <permutation_example>
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
    feature_groups: GroupsResult | None = None

    _picture = "permutation"
    _columns: ClassVar = {
        "rank": "ranking",
        "score": "scores",
        "z": "z",
        "pvalue": "pvalues",
        "pvalue_adjusted": "pvalues_adjusted",
        "pvalue_max": "pvalues_max",
    }


@entry
def permutation_test(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    blocks: Any = None,
    groups: Any = None,
    covariates: Any = None,
    feature_groups: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    statistic: str = "z",
    ranking: str = "score",
    n_permutations: int | str = "auto",
    stop: bool | None = None,
    fdr: str = "bh",
    random_state: Any = 0,
    rng: Any = RANDOM_STATE,
    n_jobs: int | None = None,
    verbose: bool | Progress = False,
) -> PermutationResult:
    """Compute p-values of a feature selector's scores, under the hypothesis that the labels say nothing about X.

    Parameters
    ----------
    estimator : estimator
        Any of this library, or another one that has ``scores_`` once fitted, larger being better, or a pipeline
        with one as its last step. It isn't changed.
    X : array-like, DataFrame or sparse of shape (n_samples, n_features), or a stream of its rows
    y : array-like of shape (n_samples,), or what else the estimator takes
        Labels; of :class:`fastfs.ProjSe` also numbers, or a second view of shape (n_samples, n_outputs); its rows are
        permuted as wholes.
    blocks : array-like of shape (n_samples,), optional
        Labels are permuted within blocks only: donors that have each label, batches, strata, pairs. Anything hashable.
    groups : array-like of shape (n_samples,), optional
        Samples that belong together, such as the cells of a specimen, or of a donor with one label. The labels of whole
        groups are permuted. If each donor gave several specimens with separate labels, such as a treated one and a
        control: ``groups=specimen, blocks=donor``. If labels vary within groups, they are permuted within these, with
        a warning that cells of one specimen aren't independent.
    covariates : array-like or DataFrame of shape (n_samples, n_covariates), optional
        Numbers, strings or categories, such as age and sex, to which the labels keep their relation: see Notes. Columns
        that are `given` to the estimator are covariates, too.
    feature_groups : dict of names and lists of features, optional
        Groups that are tested as wholes, by the largest score of their features and by the sum: numbers or names of
        columns, such as those of a category or the genes of a pathway. They may overlap. The test doesn't end early.
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
    <rng>
    n_jobs : int or None
        Joblib workers. Each takes a share of the permutations on one thread: processes, or machines under
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
        n_permutations below 1; X is an iterator, or y None; `stop` with `feature_groups`; what the estimator raises; it
        gives no ``scores_``, or scores that aren't finite; the design allows no labeling but the true one (the
        confounded block is named); missing values in a column of the design; a group in two blocks; covariates that
        determine the labels, or that vary within groups that move as wholes.

    Warns
    -----
    fastfs.DataWarning
        Warnings of the estimator under the true labels. Under permuted ones it is silent. The design allows so few
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
    one. That is a statement about all features together: a feature with a score that depends on others may be called
    significant because of them.

    With covariates, classes are drawn given their odds by a logistic regression on the covariates [3]_, fitted to pairs
    of samples of one block with different labels; the p-values are exact as far as it holds. Of numbers, the residuals
    of a linear regression are permuted [4]_, which is wrong if the dependence is curved: give transformed covariates,
    too, or strata of them as `blocks`. Times are dealt in their order to samples that have none, with probabilities by
    Cox's regressions of events and of when samples were last seen. Don't take covariates out of X instead: that takes
    effects of the labels along.

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
    <permutation_example>
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
    from sklearn.base import clone

    check_choice("statistic", statistic, ("z", "score"))
    check_choice("ranking", ranking, ("score", "z"))
    check_choice("fdr", fdr, ("bh", "by"))
    max_permutations, is_auto = as_permutations(n_permutations, low=1)
    may_stop = is_auto and feature_groups is None if stop is None else as_bool("stop", stop)
    if may_stop and feature_groups is not None:
        raise ValueError("stop must be False with feature_groups: their p-values need all permutations")
    report = as_progress(verbose)
    seed, n_jobs = as_seed(random_state), as_jobs(n_jobs)

    if y is None:
        raise ValueError("y must hold the samples' labels, which a permutation test shuffles; got None")
    if hasattr(X, "__next__"):
        raise ValueError(
            "X must be an array, since each permutation reads it; got an iterator, which can be read once: "
            "stack its blocks"
        )
    model = expect_fits(clone(estimator), max_permutations)
    selector = as_label_scorer(last_step(model))
    covariates = _with_given(selector._given_values(X), covariates)
    given = selector._given_features(X)
    from_sums = None if params else sums_scorer(model, X, y, groups)
    labels, scorer = from_sums or make_scorer(model, X, y, params)
    names = as_values(y).reshape(-1) if labels.dtype.kind == "i" else None
    design = Design(
        labels,
        blocks,
        groups,
        covariates,
        names=names,
        ignores_names=selector._ignores_names,
        n_permutations=max_permutations,
        seed=seed,
    )
    design.check_labelings()
    ((scores, overall),) = scorer([labels])
    require_finite(estimator, scores)
    wholes = None
    if feature_groups is not None:
        wholes = FeatureGroups(
            feature_groups, len(scores), None if X is None or as_stream(X) is not None else column_names(X)
        )

    if wants_workers(n_jobs) and from_sums is None:
        scorer = _ScorerOnWorkers(estimator, X, y, params, n_jobs, max_permutations)
    options = {"by_score": statistic == "score", "ranks_by_z": ranking == "z", "stop": may_stop, "fdr": fdr}
    run = Run(0, getattr(estimator, "max_memory", None))
    values = for_core(scores, np.float64)
    null = load_core(with_blas=False).Null(design.core, values, overall, type(estimator).__name__, options, run)
    of_groups = [] if wholes is None else wholes.make_nulls(design.core, values, options, run)
    size = _FIRST_BATCH if may_stop and not design.exact else _LARGEST_BATCH
    most = _BATCH_BYTES // max(labels.nbytes, scores.nbytes)
    _score_permutations(null, of_groups, design, scorer, size, most, report)
    core_result = null.result()
    warnings_of_test = last_warnings()
    core_result["degenerate"] = np.flatnonzero(core_result["degenerate"])
    warn(warnings_of_test)
    return PermutationResult(
        scores=scores,
        ranking=rank_features(core_result["z"] if ranking == "z" else scores, last=given),
        n_distinct=design.n_distinct,
        design=design.description,
        fdr=fdr,
        feature_groups=None if wholes is None else wholes.result(values, *(null.result() for null, _ in of_groups)),
        **core_result,
    )


def _with_given(given: Any, covariates: Any) -> Any:
    """Return given columns and covariates as one table of covariates."""
    if given is None or covariates is None:
        return covariates if given is None else given
    return np.column_stack([read_covariates(given, len(given)), read_covariates(covariates, len(given))])


def _score_permutations(
    null: Any,
    of_groups: Sequence[tuple[Any, Any]],
    design: Design,
    scorer: Scorer,
    size: int,
    most: int,
    report: Progress | None,
) -> None:
    """Add the scores under the labelings of a design, as often as the null asks for them, which can end early.

    `size` of the first batch grows, and `most` are in each. Nulls of groups take the values that their functions make
    of the scores; with them, all passes are made. Warnings of the estimator are ignored.
    """
    n = design.n_labelings
    n_done, n_steps, following = 0, n * max(one.n_passes for one in (null, *(of_group for of_group, _ in of_groups))), 0
    with silence_warnings():
        while following >= 0:
            count = min(size, max(1, most), n - following)
            for row, value in scorer(list(design.labelings(following, count))):
                scores = for_core(row, np.float64)
                for of_group, make_row in of_groups:
                    if n_done < of_group.n_passes * n:
                        of_group.add(row_of_groups := for_core(make_row(scores), np.float64), row_of_groups.max())
                if n_done < null.n_passes * n:
                    following = null.add(scores, value)
                n_done += 1
                if of_groups:
                    following = n_done % n if n_done < n_steps else -1
                if report is not None:
                    report("permutations", n_done / n_steps)
                if following <= 0:  # the end of a pass, which may be an early one
                    break
            size = min(2 * size, _LARGEST_BATCH)


class _ScorerOnWorkers:
    """Scorer that distributes permutations among the workers of joblib."""

    def __init__(self, estimator: Any, X: Any, y: Any, params: Any, n_jobs: int | None, n_fits: int) -> None:
        self.estimator, self.of, self.n_jobs, self.n_fits = estimator, (X, y, params), n_jobs, n_fits

    def __call__(self, labelings: Sequence[Labels]) -> Iterator[tuple[Array, float]]:
        """Yield the scores and the largest statistic of each labeling; each worker fits a share of the labelings."""
        from joblib import Parallel, delayed, effective_n_jobs
        from sklearn.base import clone

        n_parts = min(effective_n_jobs(self.n_jobs), len(labelings))
        bounds = np.linspace(0, len(labelings), n_parts + 1).astype(int)
        parts = Parallel(n_jobs=self.n_jobs)(
            delayed(_score_on_worker)(expect_fits(clone(self.estimator), self.n_fits), *self.of, labelings[begin:end])
            for begin, end in itertools.pairwise(bounds)
        )
        return itertools.chain.from_iterable(parts)


def _score_on_worker(model: Any, X: Any, y: Any, params: Any, labelings: Sequence[Labels]) -> list[tuple[Array, float]]:
    """Score some permutations on a worker."""
    with silence_warnings():
        return list(make_scorer(model, X, y, params)[1](labelings))


@contextlib.contextmanager
def silence_warnings() -> Iterator[None]:
    """Ignore DataWarning and ConvergenceWarning in the block, which an estimator issues under permuted labels."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        for category in (DataWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", category)
        yield
