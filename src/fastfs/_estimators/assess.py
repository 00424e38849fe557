"""Assess: how well the best features of each method tell new samples."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from fastfs._estimators.contract import BaseEstimator
from fastfs._estimators.methods import ESTIMATORS
from fastfs._inference.assessment import METRICS, PLAIN, AssessResult, Problem, run_all, same_as_target, tabulate
from fastfs._inference.folds import Folds
from fastfs._inference.permutation import silence_warnings
from fastfs._inputs.design import Design
from fastfs._inputs.entry import entry
from fastfs._inputs.matrix import as_decoded, column_names, load_stream
from fastfs._inputs.response import read_response
from fastfs._inputs.storage import by_rows, first_not_finite
from fastfs._inputs.targets import read_target
from fastfs._inputs.values import as_values
from fastfs._machine.params import RANDOM_STATE, as_int, as_seed, check_choice, some_of
from fastfs._machine.run import Run, as_jobs, as_progress, warn
from fastfs._methods import METHODS, REPORTED
from fastfs._types import Array, Floats, Integers, Progress

# Default numbers of features; those above the features of X are left out.
_GRID = (1, 2, 5, 10, 20, 50)

# Ridge penalties for numbers, among which the errors of left-out training samples choose.
_PENALTIES = (0.1, 1.0, 10.0, 100.0, 1000.0)

# Shrinkage of the centroids, in standard errors, and the smallest standard deviation within classes of features that
# are scaled to 1. scikit-learn's NearestCentroid divides by a deviation of 0, as of a feature that is the label.
_SHRINKAGE, _SMALLEST_DEVIATION = 0.5, 1e-3


@entry
def assess(
    X: Any,
    y: Any,
    *,
    methods: Sequence[str] | Mapping[str, Any] = REPORTED,
    n_features: Sequence[int] = _GRID,
    classifier: str = "logistic",
    n_splits: int = 5,
    n_repeats: int = 10,
    groups: Any = None,
    blocks: Any = None,
    covariates: Any = None,
    feature_names: Sequence[str] | None = None,
    random_state: Any = 0,
    rng: Any = RANDOM_STATE,
    n_jobs: int | None = None,
    verbose: bool | Progress = False,
) -> AssessResult:
    """Tell how well the best features of each method classify new samples, or predict their numbers or times.

    Each method ranks the features anew in each training set, so no step sees the samples that it is judged by.

    Parameters
    ----------
    X : array-like, DataFrame, sparse or Genotypes of shape (n_samples, n_features)
        Without missing values.
    y : array-like of shape (n_samples,)
        Labels or numbers, told apart as by :meth:`fastfs.ProjSe.fit`: numbers without fractions as a column of shape
        (n_samples, 1). Or times: records of an event and a time, as for :class:`fastfs.RReliefF`.
    methods : sequence of str, or mapping of str to estimator
        Words of the command line, such as "multisurf", or estimators with ``ranking_`` or ``scores_`` once fitted.
        From the default, "manifest" is left out for numbers and times. ANOVA's F ("anova") and the largest variances
        ("variance") are always compared, too. Times are given to "rrelieff", and to estimators with
        ``target_type="survival"``; others rank the martingale residuals of the training samples, as numbers.
    n_features : sequence of int
        How many of the best features to learn from. From the default, numbers above the features of X are left out;
        others are left out with a warning.
    classifier : {"logistic", "centroid"}
        "logistic": logistic regression with a ridge penalty (C = 1) and balanced classes. "centroid": nearest shrunken
        centroids [3]_, by half a standard error. Numbers, and the martingale residuals of times, are predicted by ridge
        regression, with the penalty of 0.1 to 1000 that predicts left-out training samples best. Features are scaled to
        variance 1 in each training set.
    n_splits : int
        Number of folds.
    n_repeats : int
        How often the samples are dealt to folds, and how many permuted labelings are assessed once. Of a single
        labeling the range comes from its units.
    groups : array-like of shape (n_samples,), optional
        Samples that belong together, such as cells of a donor: they are in one fold, and intervals are over groups.
    blocks : array-like of shape (n_samples,), optional
        Batches or strata, which are spread over the folds; permuted labels stay within them. Pairs, and donors of a
        treated and a control specimen (``groups=specimen, blocks=donor``), are in one fold as wholes.
    covariates : array-like or DataFrame of shape (n_samples, n_covariates), optional
        As for :func:`fastfs.permutation_test`: permuted labels keep their relation to them.
    feature_names : sequence of str, optional
        Names of the columns of X, for a warning about one that may be the label. Default: those of a DataFrame.
    random_state : int, Generator, RandomState or None
        Seed of folds and permutations; estimators have others.
    <rng>
    n_jobs : int or None
        Joblib workers for the repeats, as for :func:`fastfs.permutation_test`. The result doesn't depend on it.
    verbose : bool or callable
        True prints progress on stderr once the call takes over two seconds; a callable gets ``(step, fraction)``.

    Returns
    -------
    AssessResult

    Raises
    ------
    ValueError
        An unknown method, or one that compares classes for numbers; more folds than groups or
        samples; a class of one group or sample; missing values in X; labels of nearly every sample alone; no number of
        features that X has; the design allows no other labeling, as if each block is one class; what the estimators
        raise.

    Warns
    -----
    fastfs.DataWarning
        Some folds lack a class; numbers of features above those of X; one feature alone tells every sample right, so
        it may be the label; parts of the design contribute nothing; ManiFeSt takes small domains because of the number
        of fits. Other warnings of the estimators are silenced.

    Notes
    -----
    ``2 n_repeats n_splits`` fits of each method. Balanced accuracy is that of all held-out samples; the AUC (of each
    class against the rest), the rank correlation, and the concordance of times with predicted residuals (Harrell's C)
    are those within folds, because predictions of different training sets have different scales. R2 compares with the
    mean of the training samples, so it is negative for bad features.

    The interval takes the quantile of Student's t over the units, less one for each class, and three times the variance
    of independent units, four times for AUC, rank correlation and concordance: units are judged by models that share
    training samples. The factors are measured; no unbiased estimate of this variance exists [1]_. For classes and times
    it is Wilson's, because units differ less where nearly all are told right, or wrong; that of features that tell
    all right begins where the interval of as many independent units does. The interval is about selection and
    classifier for training sets of this size, not about one selection.

    References
    ----------
    .. [1] Y. Bengio, Y. Grandvalet, "No unbiased estimator of the variance of k-fold cross-validation", Journal of
       Machine Learning Research 5, 2004.
    .. [2] C. Ambroise, G. J. McLachlan, "Selection bias in gene extraction on the basis of microarray gene-expression
       data", PNAS 99, 2002.
    .. [3] R. Tibshirani, T. Hastie, B. Narasimhan, G. Chu, "Diagnosis of multiple cancer types by shrunken centroids of
       gene expression", PNAS 99, 2002.

    Examples
    --------
    Features of noise are no better than chance.

    >>> import numpy as np
    >>> import fastfs
    >>> X, y = np.random.default_rng(0).normal(size=(40, 500)), np.arange(40) % 2
    >>> frame = fastfs.assess(X, y, methods=["relieff"], n_features=[10], n_repeats=4).to_frame()
    >>> bool(frame.low[0] < 0.5 < frame.high[0])
    True
    """
    n_splits = as_int("n_splits", n_splits, low=2)
    n_repeats = as_int("n_repeats", n_repeats, low=1)
    check_choice("classifier", classifier, ("logistic", "centroid"))
    seed, report, run = as_seed(random_state), as_progress(verbose), Run()
    n_jobs = as_jobs(n_jobs)
    if hasattr(X, "__next__"):
        raise ValueError("X must be an array, since each fold reads it; got an iterator, which can be read once")
    X = load_stream(X, run)
    names = column_names(X) if feature_names is None else list(feature_names)
    X = by_rows(as_decoded(X, run))
    if (place := first_not_finite(X)) is not None:
        raise ValueError(
            f"X must be finite, since classifiers take no missing values; got NaN or infinity in row {place[0]}, "
            f"column {place[1]}: impute it, or drop the feature or the sample"
        )
    classes, values = _read_target(y, X.shape, run)
    kind = "survival" if values.dtype.names else "number" if classes is None else "class"
    rankers = _rankers(methods, kind)
    problem = Problem(
        X, values, classes, blocks, groups, rankers, _grid(n_features, X.shape[1]),
        _model(classifier if kind == "class" else "ridge"), n_splits, 2 * n_repeats * n_splits, seed,
    )  # fmt: skip
    folds = Folds(values, blocks, groups)
    folds.require(n_splits, classes)
    design = Design(
        values, blocks, groups, covariates, names=None if classes is None else classes[values],
        n_permutations=n_repeats, seed=seed, shuffled=True,
    )  # fmt: skip
    with silence_warnings():  # its other warnings are about p-values
        design.check_labelings()
    warn(design.weaknesses)
    labelings = list(design.labelings(0, design.n_labelings))
    truth, permuted = run_all(problem, labelings, n_repeats, n_jobs, report)
    warn(sorted(set().union(*(run.economies for run in truth + permuted))))
    table = tabulate(problem, truth, permuted)
    if found := same_as_target(problem, table, truth):
        called = [f"column {j}" if names is None else f"{names[j]!r}" for j in found]
        warn([f"one feature alone tells every new sample right: {some_of(called)}; drop it if it is the label itself"])
    return AssessResult(
        table=table,
        metrics=tuple(METRICS[problem.kind]),
        methods=problem.methods,
        n_features=tuple(problem.n_features),
        classifier=classifier if kind == "class" else "ridge",
        n_splits=n_splits,
        n_repeats=n_repeats,
        n_units=folds.n_units,
        unit=folds.word,
        n_labelings=len(labelings),
        design=design.description,
    )


def _read_target(y: Any, shape: tuple[int, int], run: Run) -> tuple[Array | None, Array]:
    """Return the classes and the number of each sample's class, or None and a finite number, or a record of an event
    and a time, per sample.

    Raise ValueError for several columns, and for numbers that aren't finite or are all equal.
    """
    if y is not None and as_values(y).dtype.names:
        return None, read_response(y, *shape, "survival").values
    target = read_target(y, shape, run)
    if target.classes is not None:
        return target.classes, target.labels
    if target.numbers is None or target.numbers.shape[1] != 1:
        n = 0 if target.numbers is None else target.numbers.shape[1]
        raise ValueError(f"y must hold a label or one number for each sample; got {n} columns: give one at a time")
    numbers = np.asarray(target.numbers, dtype=np.float64)[:, 0]
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise ValueError(f"y must be finite; got {numbers[row]} for sample {row}: drop it")
    if np.ptp(numbers) == 0:
        raise ValueError(f"y must hold different numbers; got {numbers[0]:g} for every sample")
    return None, numbers


def _rankers(methods: Sequence[str] | Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the selectors to assess by name: from words, made for a kind of target, or as they are in a mapping.

    The default words leave out methods of classes if the target isn't one. Raise TypeError for other objects,
    ValueError if a word comes twice, names a plain ranking or is unknown, or if there is none.
    """
    if isinstance(methods, str) or not isinstance(methods, Iterable):
        raise TypeError(f"methods must be a list of words, or a mapping of names to estimators; got {methods!r}")
    if isinstance(methods, Mapping):
        rankers = {str(name): estimator for name, estimator in methods.items()}
        for name, estimator in rankers.items():
            if not (hasattr(estimator, "get_params") and hasattr(estimator, "get_support")):
                raise TypeError(f"methods must name selectors, such as ReliefF(); got {estimator!r} for '{name}'")
    else:
        for word in methods:
            if not isinstance(word, str):
                kind = type(word).__name__
                raise TypeError(f"methods must be words, or a mapping; got {kind}: give {{'a name': {kind}(...)}}")
        words = [word.lower() for word in methods]
        if tuple(words) == REPORTED and kind != "class":
            words = [word for word in words if METHODS[word].targets]
        if len(set(words)) < len(words):
            raise ValueError(f"methods must name each method once; got {', '.join(words)}")
        rankers = {word: _make(word, kind) for word in words if word not in PLAIN}
    if shared := [name for name in methods if name in PLAIN]:
        raise ValueError(f"methods must not name '{shared[0]}', which is compared in any case: leave it out")
    if not rankers:
        raise ValueError(f"methods must name at least one method; got none: choose from {', '.join(METHODS)}")
    return rankers


def _make(word: str, kind: str) -> Any:
    """Return the estimator of a method for a kind of target; most methods rank the residuals of times as numbers.

    Raise ValueError if the method is unknown or doesn't fit this kind.
    """
    if word not in METHODS:
        raise ValueError(f"There is no method '{word}': choose from {', '.join(METHODS)}")
    method, is_class = METHODS[word], kind == "class"
    if not (method.classes if is_class else method.targets or not method.classes):
        fitting = [w for w, m in METHODS.items() if (m.classes if is_class else m.targets or not m.classes)]
        does, has = (
            ("explains numbers", "classes")
            if is_class
            else ("compares classes", "times" if kind == "survival" else "numbers")
        )
        raise ValueError(f"Method '{word}' {does}, but y holds {has}: choose from {', '.join(fitting)}")
    estimator = ESTIMATORS[method.estimator]()
    if "target_type" in estimator.get_params():
        estimator.set_params(target_type="number" if kind == "survival" and method.classes else kind)
    return estimator


def _grid(n_features: Sequence[int], n: int) -> list[int]:
    """Return the distinct entries of `n_features` up to n, the features of X, ascending; warn of larger ones, unless
    `n_features` is the default.

    Raise TypeError unless it is a list, ValueError if no entry is left.
    """
    if isinstance(n_features, int | str) or not hasattr(n_features, "__iter__"):
        raise TypeError(f"n_features must be a list of integers; got {n_features!r}")
    grid = sorted({as_int("n_features", k, low=1) for k in n_features})
    fitting = [k for k in grid if k <= n]
    if not fitting:
        raise ValueError(f"n_features must name a number of at most {n}, the features of X; got {grid}")
    if len(fitting) < len(grid) and tuple(n_features) != _GRID:
        warn([f"X has {n} features, so n_features above it are left out: {some_of(grid[len(fitting) :])}"])
    return fitting


def _model(name: str) -> Any:
    """Return a pipeline of a scaler and the model of this name: "logistic", "centroid" or "ridge"."""
    from sklearn.linear_model import LogisticRegression, RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    last = {
        "logistic": LogisticRegression(class_weight="balanced", max_iter=1000),
        "centroid": _ShrunkenCentroids(),
        "ridge": RidgeCV(_PENALTIES),
    }[name]
    return make_pipeline(StandardScaler(), last)


class _ShrunkenCentroids(BaseEstimator):  # type: ignore[misc]
    """Nearest shrunken centroids of classes 0 to n - 1, which are equally likely beforehand."""

    def fit(self, X: Floats, y: Integers) -> Self:
        """Set the centroids of the classes, shrunken to the mean of all samples, and the deviations within classes."""
        counts = np.bincount(y)
        means = np.stack([X[y == c].mean(axis=0) for c in range(len(counts))])
        within = np.sqrt(((X - means[y]) ** 2).sum(axis=0) / max(len(y) - len(counts), 1))
        self.deviations_ = np.maximum(within, _SMALLEST_DEVIATION)
        units = np.sqrt(1 / counts - 1 / len(y))[:, None] * (self.deviations_ + np.median(self.deviations_))
        offsets = (means - X.mean(axis=0)) / units
        self.centroids_ = X.mean(axis=0) + units * np.sign(offsets) * np.maximum(np.abs(offsets) - _SHRINKAGE, 0)
        return self

    def predict_proba(self, X: Floats) -> Floats:
        squares = (((X[:, None, :] - self.centroids_) / self.deviations_) ** 2).sum(axis=2)
        odds = np.exp((squares.min(axis=1, keepdims=True) - squares) / 2)
        shares: Floats = odds / odds.sum(axis=1, keepdims=True)
        return shares
