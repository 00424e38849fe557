"""Assessment: how well the best features of a method tell new samples, from folds that repeat the selection."""

import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fastfs._inference.folds import Folds
from fastfs._inference.permutation import silence_warnings
from fastfs._inference.scorers import as_label_scorer, expect_fits, last_step
from fastfs._inputs.response import martingale_residuals
from fastfs._inputs.storage import dense, take_rows
from fastfs._machine.errors import in_rows
from fastfs._machine.params import rank_features
from fastfs._machine.results import DrawnResult, result_class
from fastfs._machine.run import wants_workers
from fastfs._types import Array, Floats, Integers, Progress

# Difference that `n_for_5_points` is about, and the normal quantiles of a test at 5 % that finds it in 80 % of cases.
_POINTS, _QUANTILES = 0.05, 1.959964 + 0.841621

# Variance of each metric over that of independent units, which share no training samples. Measured on noise with 5
# folds (benchmarks/bench_assess.py --coverage, --targets): no unbiased estimate exists.
_DEPENDENCE = {"class": (3.0, 4.0), "number": (3.0, 4.0), "survival": (4.0,)}

# The same of a single deal of the folds: 0.8 to 1.9 (benchmarks/bench_assess.py --one-run).
_DEPENDENCE_OF_ONE = 2.0

# Limits within which the transformed ends of intervals of numbers are finite.
_LARGEST_LOGARITHM, _LARGEST_CORRELATION = 50.0, 1 - 1e-12

PLAIN = ("anova", "variance")

# The metrics of each kind of target, with their lowest values.
METRICS: dict[str, dict[str, float]] = {
    "class": {"balanced_accuracy": 0.0, "auc": 0.0},
    "number": {"r2": -np.inf, "rank_correlation": -1.0},
    "survival": {"concordance": 0.0},
}

# The metrics in words.
WORDS = {
    "balanced_accuracy": "balanced accuracy",
    "auc": "AUC",
    "r2": "R²",
    "rank_correlation": "rank correlation",
    "concordance": "concordance",
}


@result_class
class AssessResult(DrawnResult):
    """Result of :func:`fastfs.assess`.

    Parameters
    ----------
    table : dict of str to ndarray
        The columns of `to_frame`, with one row per method and number of features: `method` and `n_features`; then
        `balanced_accuracy` (or `r2`, or `concordance`) with its 95 % interval `low` to `high`; `permuted`, the mean
        under permuted labels, and `permuted_low` to `permuted_high`, where one permuted labeling falls in 95 % of
        cases; `difference` from ANOVA's ranking with `difference_low` and `difference_high`; and `n_for_5_points`, the
        number of units with which a test at 5 % would find a difference of 0.05 from ANOVA in 80 % of cases. These four
        are NaN for ANOVA itself, and the last one if nothing differs from ANOVA. Then the same of the other metric, if
        there is one, with its name in front, such as `auc`, `auc_low` and `auc_permuted`.
    metrics : tuple of str
        ("balanced_accuracy", "auc"); of numbers ("r2", "rank_correlation"); of times ("concordance",).
    methods : tuple of str
        The methods, and the plain rankings "anova" and "variance".
    n_features : tuple of int
    classifier : str
        What learns from the selected features: "logistic", "centroid" or, for numbers and times, "ridge".
    n_splits, n_repeats : int
    n_units : int
        Number of units that folds take whole, over which the intervals are.
    unit : {"sample", "group", "block"}
        What a unit is.
    n_labelings : int
        Number of permuted labelings.
    design : str
        Units that were permuted.

    Examples
    --------
    >>> import numpy as np
    >>> import fastfs
    >>> X, y = np.random.default_rng(0).normal(size=(60, 50)), np.arange(60) % 2
    >>> X[:, 3] += 2 * y
    >>> result = fastfs.assess(X, y, methods=["multisurf"], n_features=[1, 5], n_repeats=3)
    >>> frame = result.to_frame()
    >>> frame.method[0], int(frame.n_features[0]), bool(frame.low[0] > 0.5)
    ('multisurf', 1, True)
    """

    table: dict[str, Array]
    metrics: tuple[str, ...]
    methods: tuple[str, ...]
    n_features: tuple[int, ...]
    classifier: str
    n_splits: int
    n_repeats: int
    n_units: int
    unit: str
    n_labelings: int
    design: str

    _picture = "assess"
    _row = "row"
    _printed: ClassVar = (
        "method",
        "n_features",
        *(next(iter(m)) for m in METRICS.values()),
        "low",
        "high",
        "permuted",
        "difference",
    )

    def _table(self) -> dict[str, Any]:
        return self.table

    def _best(self, table: dict[str, Any]) -> Integers:
        """Return the rows of the number of features that `describe` is about: the best of several seems too good."""
        return np.arange(len(self.methods)) * len(self.n_features) + self._place()

    def _place(self) -> int:
        """Return the place of the number of features nearest to 10."""
        return min(range(len(self.n_features)), key=lambda g: abs(np.log(self.n_features[g] / 10)))

    def describe(self) -> list[str]:
        """Say of each method whether its features serve better than ANOVA's, with the number of features nearest to 10.

        That number is fixed beforehand, because the best of several seems better than it is.

        Returns
        -------
        list of str
            A sentence or two per method, without the plain rankings.
        """
        return [self._describe(m) for m in range(len(self.methods) - len(PLAIN))]

    def _describe(self, m: int) -> str:
        """Return a sentence on method m: its metric with about 10 features, and if it differs from ANOVA's.

        If it doesn't, the sentence tells how many samples or groups would show a difference of 0.05.
        """
        grid = self.n_features
        place = self._place()
        row = {name: values[m * len(grid) + place] for name, values in self.table.items()}
        low, high, gain = row["difference_low"], row["difference_high"], row["difference"]
        metric = WORDS[self.metrics[0]]
        text = (
            f"{self.methods[m]}, {grid[place]} feature{'s' * (grid[place] > 1)}: {metric} {row[self.metrics[0]]:.2f} "
            f"({row['low']:.2f} to {row['high']:.2f}), {row['permuted']:.2f} with permuted labels; "
        )
        if low > 0 or high < 0:
            return f"{text}{'better' if low > 0 else 'worse'} than ANOVA by {abs(gain):.2f} ({low:.2f} to {high:.2f})"
        if np.isnan(row["n_for_5_points"]):
            return f"{text}no sample is told otherwise than by ANOVA's features"
        return (
            f"{text}no difference from ANOVA is shown ({gain:+.2f}, {low:.2f} to {high:.2f}): one of 0.05 would need "
            f"{row['n_for_5_points']:.0f} {self.unit}s"
        )


@dataclass(frozen=True)
class Problem:
    """What all folds share.

    Parameters
    ----------
    X : ndarray or CSR container of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        Numbers of the classes (int64), numbers (float64), or records of an event and a time.
    classes : ndarray or None
        Their names.
    blocks, groups : array-like or None
    rankers : mapping of str to estimator
    n_features : sequence of int
        Ascending.
    model : estimator
        Learns from the selected features.
    n_splits : int
    n_fits : int
        Number of fits of each method in all runs.
    seed : int
    """

    X: Any
    y: Array
    classes: Array | None
    blocks: Any
    groups: Any
    rankers: Mapping[str, Any]
    n_features: Sequence[int]
    model: Any
    n_splits: int
    n_fits: int
    seed: int

    @property
    def methods(self) -> tuple[str, ...]:
        return (*self.rankers, *PLAIN)

    @property
    def kind(self) -> str:
        return "survival" if self.y.dtype.names else "number" if self.classes is None else "class"


@dataclass(frozen=True)
class Outcome:
    """Metrics of one run of all folds, and the part of each unit in their error.

    Parameters
    ----------
    metrics : ndarray of shape (n_metrics, n_methods, n_grid)
        NaN if no fold has all classes, or two times that can be compared.
    influences : ndarray of shape (n_metrics, n_methods, n_grid, n_units)
        What each unit adds to its metric, to first order; their sum is 0.
    best : ndarray of shape (n_splits, n_methods)
        The best feature of each training set.
    economies : set of str
        What methods chose because of the number of fits.
    """

    metrics: Floats
    influences: Floats
    best: Integers
    economies: set[str]


def run_folds(problem: Problem, y: Array, seed: Sequence[int]) -> Outcome:
    """Return the judgement of held-out samples: select and learn on all folds but one in turn, and predict that one.

    Also return the best feature of each method in each fold. Methods that select equal features share a model.
    """
    from sklearn import config_context

    folds = Folds(y, problem.blocks, problem.groups)
    fold_of = folds.deal(problem.n_splits, np.random.default_rng(seed))
    is_class = problem.classes is not None
    n_told = (len(problem.classes),) if problem.classes is not None else ()
    told = np.empty((len(problem.methods), len(problem.n_features), len(y), *n_told))
    best = np.empty((problem.n_splits, len(problem.methods)), dtype=np.int64)
    means = np.empty(len(y))
    economies: set[str] = set()
    for fold in range(problem.n_splits):
        held, train = np.flatnonzero(fold_of == fold), np.flatnonzero(fold_of != fold)
        learned = martingale_residuals(y[train]) if problem.kind == "survival" else y[train]
        means[held] = learned.mean()
        X_train, X_held = take_rows(problem.X, train), take_rows(problem.X, held)
        known: dict[bytes, Floats] = {}
        with config_context(assume_finite=True, skip_parameter_validation=True):
            for m, order in enumerate(_rank(problem, X_train, y[train], learned, train, economies)):
                best[fold, m] = order[0]
                for g, k in enumerate(problem.n_features):
                    columns = np.sort(order[:k])
                    if (key := columns.tobytes()) not in known:
                        parts = [np.asarray(dense(part[:, columns]), dtype=np.float64) for part in (X_train, X_held)]
                        known[key] = _learn(problem.model, parts[0], learned, parts[1], is_class=is_class)
                    told[m, g, held] = known[key]
    judges: dict[str, Callable[[Floats, Array, Integers], Judgement]] = {
        "class": _judge_classes,
        "number": functools.partial(_judge_numbers, means),
        "survival": _judge_times,
    }
    judged = [judges[problem.kind](one, y, fold_of) for row in told for one in row]
    metrics = np.array([values for values, _ in judged]).reshape(*told.shape[:2], -1)
    influences = np.array([of_samples for _, of_samples in judged]).reshape(*metrics.shape, len(y))
    per_unit = influences @ np.eye(folds.n_units)[folds.units]
    return Outcome(np.moveaxis(metrics, 2, 0), np.moveaxis(per_unit, 2, 0), best, economies)


def run_all(
    problem: Problem, labelings: Sequence[Array], n_repeats: int, n_jobs: int | None, report: Progress | None
) -> tuple[list[Outcome], list[Outcome]]:
    """Return the outcomes of repeated folds under the true labels, and of one run under each other labeling.

    They run on workers of joblib if `n_jobs` or its context asks for them, without progress; otherwise in turn.
    """
    tasks = [(problem.y, (problem.seed, 0, repeat)) for repeat in range(n_repeats)]
    tasks += [(labeling, (problem.seed, 1, number)) for number, labeling in enumerate(labelings)]
    outcomes: list[Outcome] = []
    if wants_workers(n_jobs):
        from joblib import Parallel, delayed

        outcomes = list(Parallel(n_jobs=n_jobs)(delayed(run_folds)(problem, *task) for task in tasks))
    else:
        for done, task in enumerate(tasks):
            outcomes.append(run_folds(problem, *task))
            if report is not None:
                report("folds", (done + 1) / len(tasks))
    return outcomes[:n_repeats], outcomes[n_repeats:]


def _rank(problem: Problem, X: Any, y: Array, learned: Array, rows: Integers, economies: set[str]) -> list[Integers]:
    """Return the features by each method, by ANOVA and by variance, best first, from training samples alone.

    learned: y, or the martingale residuals of times; rows: the numbers of the training samples in X, for errors. What
    methods choose because of the number of fits is added to `economies`. Warnings are silenced.
    """
    from sklearn.base import clone
    from sklearn.feature_selection import f_classif, f_regression
    from sklearn.preprocessing import StandardScaler

    orders = []
    for estimator in problem.rankers.values():
        takes_times = problem.kind == "survival" and estimator.get_params().get("target_type") == "survival"
        target = y if takes_times else learned if problem.classes is None else problem.classes[y]
        with silence_warnings(), in_rows(rows):
            model = last_step(expect_fits(clone(estimator), problem.n_fits).fit(X, target))
        if economy := as_label_scorer(model)._economy:
            economies.add(economy)
        ranks = model.ranking_ if hasattr(model, "ranking_") else rank_features(model.scores_)
        orders.append(np.argsort(ranks, kind="stable"))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # warned of constant features, which become the last
        scores = (f_regression if problem.classes is None else f_classif)(X, learned)[0]
        plain = np.where(np.isnan(scores), -1.0, scores), StandardScaler(with_mean=False).fit(X).var_
    return orders + [np.argsort(rank_features(values)) for values in plain]


def _learn(model: Any, train: Floats, y: Array, held: Floats, *, is_class: bool) -> Floats:
    """Return the probabilities of the classes, or numbers, for held-out samples; nothing here sees their labels.

    Columns that are constant in training are left out; if none varies, the answer is equal probabilities, or the mean.
    Warnings are silenced.
    """
    from sklearn.base import clone
    from sklearn.dummy import DummyClassifier, DummyRegressor

    varies = np.ptp(train, axis=0) > 0
    if varies.any():
        train, held = train[:, varies], held[:, varies]
    else:
        model = DummyClassifier(strategy="uniform") if is_class else DummyRegressor()
    with silence_warnings():
        model = clone(model).fit(train, y)
    told: Floats = model.predict_proba(held) if is_class else model.predict(held)
    return told


# The metrics, and the influences of the samples on each.
Judgement = tuple[tuple[float, ...], tuple[Floats, ...]]


def _judge_classes(told: Floats, labels: Integers, fold_of: Integers) -> Judgement:
    """Return balanced accuracy and AUC with the influences of the samples; `told` are probabilities of the classes.

    The AUC is the mean over folds of the mean AUC of each class against the rest. Folds that lack a class are left out;
    it is NaN if all do.
    """
    is_class = labels[:, None] == np.arange(told.shape[1])
    right = (told.argmax(axis=1) == labels).astype(np.float64)
    shares = is_class / is_class.sum(axis=0) / told.shape[1]  # weight of each sample in its class
    recalls = right @ shares * told.shape[1]
    of_accuracy = (right[:, None] - recalls) * shares
    held = [np.flatnonzero(fold_of == fold) for fold in np.unique(fold_of)]
    held = [rows for rows in held if is_class[rows].any(axis=0).all()]
    areas, of_area = np.empty((len(held), told.shape[1])), np.zeros(told.shape)
    weights = np.zeros(told.shape)
    for fold, rows in enumerate(held):
        for c in range(told.shape[1]):
            inside, outside = rows[is_class[rows, c]], rows[~is_class[rows, c]]
            a, b = told[inside, c][:, None], told[outside, c]
            wins = (a > b) + 0.5 * (a == b)
            areas[fold, c] = wins.mean()
            of_area[inside, c], of_area[outside, c] = wins.mean(axis=1), wins.mean(axis=0)
            weights[inside, c], weights[outside, c] = 1 / len(inside), 1 / len(outside)
    area = areas.mean(axis=0) if held else np.full(told.shape[1], np.nan)
    of_area = (of_area - area) * weights / (max(len(held), 1) * told.shape[1])
    return (float(recalls.mean()), float(area.mean())), (of_accuracy.sum(axis=1), of_area.sum(axis=1))


def _judge_numbers(means: Floats, told: Floats, y: Floats, fold_of: Integers) -> Judgement:
    """Return R2 against the means of the training sets, and the rank correlation as a mean over folds (Spearman), with
    the influences of the samples.

    Folds with fewer than two different numbers are left out of the correlation; it is NaN if all are.
    """
    from scipy.stats import rankdata

    errors, spreads = (y - told) ** 2, (y - means) ** 2
    r2 = 1 - errors.sum() / spreads.sum()
    of_r2 = -(errors - (1 - r2) * spreads) / spreads.sum()
    products, squares, correlations = np.zeros(len(y)), np.zeros(len(y)), []
    for fold in np.unique(fold_of):
        rows = np.flatnonzero(fold_of == fold)
        if len(rows) < 2 or np.ptp(y[rows]) == 0:
            continue
        a, b = (rankdata(values[rows]) - (len(rows) + 1) / 2 for values in (told, y))
        a, b = (ranks / max(np.sqrt((ranks**2).sum()), 1e-300) for ranks in (a, b))  # all equal: no correlation
        products[rows], squares[rows] = a * b, (a**2 + b**2) / 2
        correlations.append(a @ b)
    correlation = float(np.mean(correlations)) if correlations else np.nan
    of_correlation = (products - correlation * squares) / max(len(correlations), 1)
    return (float(r2), correlation), (of_r2, of_correlation)


def _judge_times(told: Floats, y: Array, fold_of: Integers) -> Judgement:
    """Return the concordance of risks with times, a mean over folds (Harrell's C), with the influences of the samples.

    Two samples can be compared if the earlier time is an event; equal risks count half. Folds without such a pair are
    left out; it is NaN if all are.
    """
    concordances, of_concordance = [], np.zeros(len(y))
    for fold in np.unique(fold_of):
        rows = np.flatnonzero(fold_of == fold)
        time, event, risk = y["time"][rows], y["event"][rows] > 0, told[rows]
        later = time[:, None] < time
        later |= (time[:, None] == time) & ~event  # a sample without an event outlives one at the same time
        comparable = later & event[:, None]
        if not comparable.any():
            continue
        right = comparable * ((risk[:, None] > risk) + 0.5 * (risk[:, None] == risk))
        concordances.append(right.sum() / comparable.sum())
        excess = right - concordances[-1] * comparable
        of_concordance[rows] = (excess.sum(axis=0) + excess.sum(axis=1)) / comparable.sum()
    concordance = float(np.mean(concordances)) if concordances else np.nan
    return (concordance,), (of_concordance / max(len(concordances), 1),)


@dataclass(frozen=True)
class Estimate:
    """Means of metrics over repeats, and their standard errors over units."""

    means: Floats
    errors: Floats
    degrees: int
    n_units: int

    def interval(self) -> tuple[Floats, Floats]:
        """Return the ends of Student's 95 % intervals."""
        half = _quantile(self.degrees) * self.errors
        return self.means - half, self.means + half

    def interval_of_numbers(self) -> tuple[Floats, Floats]:
        """Return the ends of Student's 95 % intervals of log(1 - R2) and of Fisher's z of a correlation, transformed
        back: units vary most where the estimate is low.
        """
        half = _quantile(self.degrees) * self.errors
        unexplained = 1 - self.means[0]
        factor = np.divide(half[0], unexplained, out=np.zeros_like(unexplained), where=unexplained > 0)
        factor = np.exp(np.minimum(factor, _LARGEST_LOGARITHM))
        r = np.clip(self.means[1], -_LARGEST_CORRELATION, _LARGEST_CORRELATION)
        z, reach = np.arctanh(r), half[1] / (1 - r**2)
        low = np.stack([1 - unexplained * factor, np.tanh(z - reach)])
        return low, np.stack([1 - unexplained / factor, np.tanh(z + reach)])

    def interval_of_shares(self) -> tuple[Floats, Floats]:
        """Return the ends of Wilson's 95 % intervals of means from 0 to 1, near which variances are small.

        None begins above, or ends below, that of as many units that are all told right, or all wrong.
        """
        spreads = self.means * (1 - self.means)
        ratios = np.divide(self.errors**2, spreads, out=np.zeros_like(spreads), where=spreads > 0)
        quantile = _quantile(self.degrees)
        c = quantile**2 * ratios
        middles, halves = (self.means + c / 2) / (1 + c), np.sqrt(c * spreads + c**2 / 4) / (1 + c)
        of_all_right = 1 / (1 + quantile**2 / self.n_units)
        return np.minimum(middles - halves, of_all_right), np.maximum(middles + halves, 1 - of_all_right)


def _quantile(degrees: int) -> float:
    """Return the quantile of Student's t with 2.5 % above it."""
    from scipy.stats import t

    return float(t.ppf(0.975, degrees))


def estimate(metrics: Floats, influences: Floats, n_classes: int, dependence: Sequence[float] | float) -> Estimate:
    """Return the means over repeats of metrics, and their standard errors over units; arrays are those of outcomes,
    stacked.

    dependence: the variance over that of independent units, of each metric or of all.
    """
    n_units = influences.shape[-1]
    degrees = max(n_units - n_classes, 1)
    of_mean = (influences.mean(axis=0) ** 2).sum(axis=-1) * n_units / degrees
    factors = np.reshape(dependence, (-1, 1, 1))
    return Estimate(metrics.mean(axis=0), np.sqrt(factors * of_mean), degrees, n_units)


def tabulate(problem: Problem, truth: Sequence[Outcome], permuted: Sequence[Outcome]) -> dict[str, Array]:
    """Return the columns of `AssessResult.to_frame`.

    With one permuted labeling, its interval comes from the samples; with several, from their spread. Differences are
    from ANOVA, and NaN for ANOVA itself.
    """
    n_classes, dependence = 1 if problem.classes is None else len(problem.classes), _DEPENDENCE[problem.kind]
    anova = len(problem.rankers)
    metrics, influences = np.stack([o.metrics for o in truth]), np.stack([o.influences for o in truth])
    ours = estimate(metrics, influences, n_classes, dependence)
    of_anova = slice(anova, anova + 1)
    apart = estimate(metrics - metrics[:, :, of_anova], influences - influences[:, :, of_anova], n_classes, dependence)
    null = np.stack([o.metrics for o in permuted])
    middle, n_labelings = null.mean(axis=0), len(null)
    if n_labelings > 1:
        errors, degrees = null.std(axis=0, ddof=1), n_labelings - 1
    else:  # the labeling's own error, over units
        alone = estimate(null, np.stack([o.influences for o in permuted]), n_classes, _DEPENDENCE_OF_ONE)
        errors, degrees = alone.errors, alone.degrees
    reach = _quantile(degrees) * errors * np.sqrt(1 + 1 / n_labelings)
    needed = np.ceil(influences.shape[-1] * (_QUANTILES * apart.errors / _POINTS) ** 2)
    needed[needed == 0] = np.nan
    of_others = np.where(np.arange(len(problem.methods)) == anova, np.nan, 1.0)[:, None]
    low, high = ours.interval_of_numbers() if problem.kind == "number" else ours.interval_of_shares()
    table: dict[str, Array] = {
        "method": np.repeat(np.array(problem.methods, dtype=object), len(problem.n_features)),
        "n_features": np.tile(np.array(problem.n_features), len(problem.methods)),
    }
    for number, (metric, lowest) in enumerate(METRICS[problem.kind].items()):
        columns = {
            "": ours.means,
            "low": np.maximum(low, lowest),
            "high": np.minimum(high, 1),
            "permuted": middle,
            "permuted_low": np.maximum(middle - reach, lowest),
            "permuted_high": np.minimum(middle + reach, 1),
            "difference": apart.means * of_others,
            "difference_low": apart.interval()[0] * of_others,
            "difference_high": apart.interval()[1] * of_others,
            "n_for_5_points": needed * of_others,
        }
        for name, values in columns.items():
            table[f"{metric}_{name}" if name and number else name or metric] = values[number].ravel()
    return table


def same_as_target(problem: Problem, table: Mapping[str, Array], truth: Sequence[Outcome]) -> list[int]:
    """Return the features that alone tell every sample right, and were the best ones in all training sets.

    None is named unless sets of one feature were tried.
    """
    if problem.n_features[0] != 1:
        return []
    metric = table["rank_correlation" if problem.kind == "number" else next(iter(METRICS[problem.kind]))]
    perfect = metric.reshape(len(problem.methods), -1)[:, 0] > 1 - 1e-9
    best = np.concatenate([outcome.best for outcome in truth])[:, perfect]
    return sorted({int(column[0]) for column in best.T if (column == column[0]).all()})
