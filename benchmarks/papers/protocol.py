"""Accuracy of a classifier on selected features, with everything tuned inside the training samples.

A split has training and test samples. The training samples are divided into inner folds. Each selector ranks the
features of each fold's training part once per setting (for ManiFeSt: per kernel scale); every ranking is cut at each
number of features, and every cut meets each C and gamma of an RBF support vector machine. The combination with the
best mean accuracy on the held-out inner parts is fitted to all training samples and meets the test samples, once. Test
samples take part in nothing else: z-scores, where used, come from the training part too.

A selector ranks once per setting and a set of features is judged once, whichever selector and setting asks for it:
that is why this is not a grid search over a pipeline. All selectors see the same splits, folds and grids.
"""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from scipy.special import digamma
from scipy.stats import ttest_ind
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import f_classif, mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.svm import SVC

import fastfs
from benchmarks import harness

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # X, y to train; X, y to test


def read(name: str) -> Any:
    """One of the real data sets."""
    folder = os.environ.get("FASTFS_TEST_DATA")
    if folder is None:
        raise SystemExit(f"{name} is needed: set FASTFS_TEST_DATA to the folder that has {name}.npz")
    return np.load(Path(folder) / f"{name}.npz")


# ---------------------------------------------------------------------------------------------------------- selectors


@dataclass(frozen=True)
class Selector:
    """A name, a function from a training set and a setting to scores (larger is better), and the settings to try."""

    name: str
    scores: Callable[[Training, Any], np.ndarray]
    settings: tuple[Any, ...] = (None,)


def finite(scores: np.ndarray) -> np.ndarray:
    """Scores of constant features, which are undefined, become 0."""
    return np.nan_to_num(scores, nan=0.0, posinf=np.finfo(float).max)


def anova(training: Training, _: Any = None) -> np.ndarray:
    """F of the analysis of variance; for two classes the ranking of the t-test with one common variance."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant features
        return finite(f_classif(training.X, training.y)[0])


def t_test(training: Training, _: Any = None) -> np.ndarray:
    """|t| of Welch's test, with a variance per class."""
    first, second = (training.X[training.y == label] for label in np.unique(training.y))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant features
        return finite(np.abs(ttest_ind(first, second, equal_var=False).statistic))


def mutual_information(training: Training, _: Any = None) -> np.ndarray:
    """Mutual information with the label: by counting where X has at most three values, else by nearest neighbours."""
    values, codes = np.unique(training.X, return_inverse=True)
    discrete = len(values) <= 3
    X = codes.reshape(training.X.shape) if discrete else training.X
    return mutual_info_classif(X, training.y, discrete_features=discrete, random_state=training.seed)


NEIGHBORS = (1, 3, 5, 10, 15, 20, 30, 50, 100)  # of ReliefF and of mutual information, the grid of the ManiFeSt paper


def information(training: Training, k: int) -> np.ndarray:
    """Mutual information of continuous features with the label by k nearest neighbours, of `NEIGHBORS`.

    After Ross, "Mutual information between discrete and continuous data sets", PLoS ONE 9(2), 2014, with noise against
    ties, as scikit-learn has it, which takes a call per feature and k.
    """
    by_k: dict[int, np.ndarray] = training.once("information", lambda: information_by_k(training.X, training.y))
    return by_k[k]


def information_by_k(X: np.ndarray, y: np.ndarray) -> dict[int, np.ndarray]:
    """Return the mutual information of each column of `X` with `y` by the number of neighbours.

    A class with fewer samples has as many neighbours as it has other samples. Without noise the k-th neighbour of a
    tied value has distance 0, inside of which nobody is, and features with many ties would come first.
    """
    found = {k: np.zeros(X.shape[1]) for k in NEIGHBORS}
    X = X + 1e-10 * np.maximum(1, np.abs(X).mean(axis=0)) * np.random.default_rng(0).normal(size=X.shape)
    for start, label in itertools.product(range(0, X.shape[1], 50), np.unique(y)):
        part, own = np.ascontiguousarray(X[:, start : start + 50].T), np.flatnonzero(y == label)
        distances = np.abs(part[:, own, None] - part[:, None])
        to_own = np.sort(distances[:, :, own], axis=2)  # the first is the sample itself
        for k in NEIGHBORS:
            k_own = min(k, len(own) - 1)
            nearer = np.sum(distances < to_own[:, :, k_own, None], axis=2)
            values = digamma(len(X)) + digamma(k_own) - digamma(len(own)) - digamma(np.maximum(nearer, 1))
            found[k][start : start + 50] += values.sum(axis=1) / len(X)
    return {k: np.maximum(values, 0) for k, values in found.items()}


def gini(training: Training, _: Any = None) -> np.ndarray:
    """The largest decrease of Gini's impurity by one cut of a feature, two classes."""
    X, y, n = training.X, training.y == training.y[0], len(training.y)
    order = np.argsort(X, axis=0, kind="stable")
    X = np.take_along_axis(X, order, axis=0)
    left, first = np.arange(1, n)[:, None], np.cumsum(y[order], axis=0)[:-1]
    second = y.sum() - first
    impurity = 2 * first * (left - first) / left + 2 * second * (n - left - second) / (n - left)
    return -np.min(np.where(X[1:] > X[:-1], impurity, n), axis=0)


def laplacian(training: Training, percentile: float) -> np.ndarray:
    """The Laplacian score, negated; weights exp(-d^2 / s^2), s that percentile of the distances d of samples."""
    X = training.X
    d = np.sqrt(np.maximum(np.add.outer(*2 * [np.sum(X**2, axis=1)]) - 2 * X @ X.T, 0))
    W = np.exp(-((d / np.percentile(d[np.triu_indices(len(X), 1)], percentile)) ** 2))
    degrees = W.sum(axis=1)
    centred = X - degrees @ X / degrees.sum()
    with np.errstate(all="ignore"):
        spread = degrees @ centred**2
        return np.where(spread > 0, np.sum(centred * (W @ centred), axis=0) / spread - 1, -np.inf)


def at_random(training: Training, _: Any = None) -> np.ndarray:
    """What any choice of so many features would reach."""
    return np.random.default_rng(training.seed).random(training.X.shape[1])


def manifest(training: Training, rule: dict[str, Any]) -> np.ndarray:
    """ManiFeSt with one kernel scale."""
    with warnings.catch_warnings():
        # Scales for which all kernels look alike, and constant pixels, are part of the grid.
        warnings.simplefilter("ignore", fastfs.DataWarning)
        return fastfs.manifest_scores(training.X, training.y, n_threads=1, **rule)


def blend(scores: np.ndarray, univariate: np.ndarray) -> np.ndarray:
    """Both scores from 0 to 1, added; a score that is equal everywhere adds nothing."""

    def unit(s: np.ndarray) -> np.ndarray:
        span = np.ptp(s)
        return (s - s.min()) / span if span > 0 else np.zeros_like(s)

    return unit(scores) + unit(univariate)


def manifest_blended(training: Training, rule: dict[str, Any]) -> np.ndarray:
    """ManiFeSt and the F score together, for features whose level changes while their relations don't."""
    return blend(training.scores(manifest, rule), training.scores(anova, None))


def relieff(training: Training, k: int | None = None) -> np.ndarray:
    """ReliefF with ten neighbors, or k; as many as the classes have."""
    k = min(k or 10, int(np.unique(training.y, return_counts=True)[1].min()) - 1)
    return fastfs.relieff_scores(training.X, training.y, n_neighbors=k, n_threads=1)


def manifest_with_relieff(training: Training, rule: dict[str, Any]) -> np.ndarray:
    """The paper's blend."""
    return blend(training.scores(manifest, rule), training.scores(relieff, None))


def random_forest(training: Training, _: Any = None) -> np.ndarray:
    """Mean decrease of impurity in 500 trees."""
    forest = RandomForestClassifier(500, random_state=training.seed, n_jobs=1).fit(training.X, training.y)
    return np.asarray(forest.feature_importances_)


def sparse_logistic(training: Training, C: float) -> np.ndarray:
    """Coefficients of an L1 logistic regression for two classes; features without one are tied."""
    spread = training.X.std(axis=0)
    X = (training.X - training.X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    model = LogisticRegression(l1_ratio=1.0, C=C, solver="liblinear", random_state=training.seed, max_iter=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without convergence it is still a ranking
        return np.asarray(np.abs(model.fit(X, training.y).coef_[0]))


def manifest_shuffled(training: Training, rule: dict[str, Any]) -> np.ndarray:
    """ManiFeSt with the labels in random order: what it finds now, it doesn't find by the labels."""
    y = np.random.default_rng(training.seed).permutation(training.y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastfs.DataWarning)
        return fastfs.manifest_scores(training.X, y, n_threads=1, **rule)


def variance(training: Training, _: Any = None) -> np.ndarray:
    """The variance of each feature."""
    return training.X.var(axis=0)


def correlation(training: Training, _: Any = None) -> np.ndarray:
    """The largest correlation, by magnitude, of each feature with another one."""
    with np.errstate(all="ignore"):
        r = np.abs(finite(np.corrcoef(training.X, rowvar=False)))
    np.fill_diagonal(r, 0.0)
    return r.max(axis=0)


UNIVARIATE = (Selector("ANOVA", anova), Selector("t-test (Welch)", t_test), Selector("mutual info", mutual_information))
EMBEDDED = (
    Selector("random forest", random_forest),
    Selector("L1 logistic", sparse_logistic, (0.1, 1.0, 10.0)),
)
RANDOM = Selector("random features", at_random)
NO_LABELS = "no labels: "


def with_manifest(rules: Iterable[dict[str, Any]], controls: bool = False) -> tuple[Selector, ...]:
    """ManiFeSt over these kernel scales, alone and blended, beside univariate scores and a random choice.

    The controls don't know the labels: where they do as well, an experiment says nothing for the method.
    """
    rules = tuple(rules)
    selectors = (
        Selector("ManiFeSt", manifest, rules),
        Selector("ManiFeSt + F", manifest_blended, rules),
        *UNIVARIATE,
        RANDOM,
    )
    without = (
        Selector(NO_LABELS + "ManiFeSt", manifest_shuffled, rules),
        Selector(NO_LABELS + "variance", variance),
        Selector(NO_LABELS + "max |r|", correlation),
    )
    return selectors + without if controls else selectors


# ----------------------------------------------------------------------------------------------------------- protocol


@dataclass(frozen=True)
class Protocol:
    """What is tried, and how it is judged."""

    selectors: tuple[Selector, ...]
    numbers: tuple[int, ...]
    folds: int = 3
    C: tuple[float, ...] = (1.0, 10.0, 100.0)
    gamma: tuple[float, ...] = (1.0, 0.2)  # times 1 / (number of features x variance)
    z_scores: bool = True
    rank_on: int | None = None  # so many of the training samples are ranked on; the classifier gets all


class Training:
    """Training samples, and what has already been computed from them."""

    def __init__(self, protocol: Protocol, split: Split, seed: int) -> None:
        X, self.y_train, X_test, self.y_test = split
        mean, spread = (X.mean(axis=0), X.std(axis=0)) if protocol.z_scores else (0.0, np.ones(X.shape[1]))
        spread = np.where(spread > 0, spread, 1.0)
        self.X_train, self.X_test = (X - mean) / spread, (X_test - mean) / spread
        self.X, self.y, self.seed = self.X_train, self.y_train, seed
        if protocol.rank_on is not None and protocol.rank_on < len(X):
            sample = StratifiedShuffleSplit(1, train_size=protocol.rank_on, random_state=seed)
            rows = next(sample.split(X, self.y_train))[0]
            self.X, self.y = self.X_train[rows], self.y_train[rows]
        self._memory: dict[Any, Any] = {}

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        """What has been computed before."""
        if key not in self._memory:
            self._memory[key] = compute()
        return self._memory[key]

    def scores(self, function: Callable[[Training, Any], np.ndarray], setting: Any) -> np.ndarray:
        """Scores of the features on the samples for ranking."""
        result: np.ndarray = self.once((function, str(setting)), lambda: function(self, setting))
        return result

    def best(self, selector: Selector, setting: Any, number: int) -> tuple[int, ...]:
        """The best features, in ascending order, so that equal sets look equal; ties go to the first feature."""
        ranking = self.once(
            (selector.scores, str(setting), "ranking"),
            lambda: np.argsort(-self.scores(selector.scores, setting), kind="stable"),
        )
        return tuple(np.sort(ranking[:number]).tolist())

    def accuracy(self, features: tuple[int, ...], C: float, gamma: float) -> float:
        """Accuracy on the test samples of an SVM fitted to the training samples."""
        return float(self.once((features, C, gamma), lambda: self._accuracy(list(features), C, gamma)))

    def _accuracy(self, features: list[int], C: float, gamma: float) -> float:
        X = self.X_train[:, features]
        spread = X.var()
        svm = SVC(C=C, gamma=gamma / (X.shape[1] * (spread if spread > 0 else 1.0))).fit(X, self.y_train)
        return float(np.mean(svm.predict(self.X_test[:, features]) == self.y_test))


@dataclass(frozen=True)
class Outcome:
    """One selector on one split."""

    curve: tuple[float, ...]  # test accuracy for each number of features, the rest tuned inside
    accuracy: float  # test accuracy, the number of features tuned inside too
    validation: float  # what the inner folds promised for it
    number: int
    setting: Any


def one_split(protocol: Protocol, split: Split, seed: int) -> dict[str, Outcome]:
    """All selectors on one split, and all features beside them."""
    X, y, _, _ = split
    inner = StratifiedKFold(protocol.folds, shuffle=True, random_state=seed)
    parts = [Training(protocol, (X[a], y[a], X[b], y[b]), seed) for a, b in inner.split(X, y)]
    whole = Training(protocol, split, seed)
    d = X.shape[1]
    everything = Selector("all features", lambda training, _: np.zeros(d))

    def judge(selector: Selector, number: int) -> tuple[float, float, Any]:
        """Best inner accuracy with that many features; the test accuracy and setting that go with it."""
        best: tuple[float, Any] = (-1.0, None)
        for setting, C, gamma in itertools.product(selector.settings, protocol.C, protocol.gamma):
            inner = float(np.mean([p.accuracy(p.best(selector, setting, number), C, gamma) for p in parts]))
            if inner > best[0] + 1e-12:  # ties: the first, which is the least of everything
                best = inner, (setting, C, gamma)
        setting, C, gamma = best[1]
        return best[0], whole.accuracy(whole.best(selector, setting, number), C, gamma), setting

    outcomes = {}
    for selector in (*protocol.selectors, everything):
        numbers = (d,) if selector is everything else protocol.numbers
        judged = [judge(selector, number) for number in numbers]
        i = int(np.argmax([round(j[0], 12) for j in judged]))
        outcomes[selector.name] = Outcome(
            tuple(j[1] for j in judged), judged[i][1], judged[i][0], numbers[i], judged[i][2]
        )
    return outcomes


def gaps(protocol: Protocol, split: Split, seed: int) -> dict[tuple[str, str], np.ndarray]:
    """Validation accuracy and test accuracy by selector and setting, a row for each number of features.

    Features are chosen on all training samples, **outside** the inner folds that validate them and choose C and gamma.
    """
    X, y, _, _ = split
    inner = StratifiedKFold(protocol.folds, shuffle=True, random_state=seed)
    parts = [Training(protocol, (X[a], y[a], X[b], y[b]), seed) for a, b in inner.split(X, y)]
    whole = Training(protocol, split, seed)
    found = {}
    for selector in protocol.selectors:
        for setting in selector.settings:
            rows = []
            for number in protocol.numbers:
                chosen = whole.best(selector, setting, number)
                grid = list(itertools.product(protocol.C, protocol.gamma))
                inside = [float(np.mean([part.accuracy(chosen, *point) for part in parts])) for point in grid]
                rows.append((max(inside), whole.accuracy(chosen, *grid[int(np.argmax(np.round(inside, 12)))])))
            found[selector.name, rule_text(setting)] = np.array(rows)
    return found


def run(protocol: Protocol, splits: Sequence[Split], jobs: int) -> dict[str, list[Outcome]]:
    """Each selector's outcomes, in the order of the splits; the same for any number of processes."""
    return each_split(one_split, protocol, splits, jobs)


def each_split(judge: Callable[..., dict[Any, Any]], protocol: Protocol, splits: Sequence[Split], jobs: int) -> Any:
    """What `judge` finds under each key, in the order of the splits."""
    with harness.one_thread():  # for one process; joblib sees to it for several
        found = joblib.Parallel(jobs)(joblib.delayed(judge)(protocol, s, seed) for seed, s in enumerate(splits))
    return {name: [outcomes[name] for outcomes in found] for name in found[0]}


def shuffle_splits(X: np.ndarray, y: np.ndarray, n: int, **size: float) -> list[Split]:
    """Stratified random divisions of one data set."""
    chosen = StratifiedShuffleSplit(n, random_state=0, **size).split(X, y)
    return [(X[a], y[a], X[b], y[b]) for a, b in chosen]


# ------------------------------------------------------------------------------------------------------------ results

Row = tuple[float, float, int]  # mean, its standard error, number of values
KEPT: dict[str, Row] = {}  # what `python -m benchmarks.papers` compares with the papers


def keep(row: str, values: Any, error: float | None = None) -> None:
    """Remember a row's mean and its standard error: of the mean, unless it is given; 0 for one value."""
    v = np.asarray(values, dtype=float).ravel()
    if error is None:
        error = float(v.std(ddof=1) / np.sqrt(len(v))) if len(v) > 1 else 0.0
    KEPT[row] = float(v.mean()), error, len(v)


def percent(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error, in percent. Random splits overlap: the true error is larger."""
    v = 100 * np.asarray(values)
    return float(v.mean()), float(v.std(ddof=1) / np.sqrt(len(v))) if len(v) > 1 else float("nan")


def text(values: Sequence[float]) -> str:
    """Mean and standard error, e.g. ``88.6 +- 1.9``."""
    mean, error = percent(values)
    return f"{mean:.1f}" if np.isnan(error) else f"{mean:.1f} +- {error:.1f}"


def rule_text(rule: Any) -> str:
    """A kernel scale in words; nothing for the settings of other selectors."""
    if not isinstance(rule, dict):
        return ""
    scale = f"median x {rule['sigma_factor']:g}" if "sigma_factor" in rule else f"pct {rule['sigma_percentile']:g}"
    return scale + (f", {rule['normalize']}x" if rule.get("normalize") else "")


def show(
    title: str, protocol: Protocol, outcomes: dict[str, list[Outcome]], paper: dict[str, tuple[float, str]]
) -> None:
    """Print the table of an experiment, then one sentence for each of the paper's numbers and for its claim.

    `paper` has a selector's accuracy in the paper, in percent, and what to know about it.
    """
    n = len(outcomes["ManiFeSt"])
    head = f"{title}; {n} splits, {protocol.folds} inner folds"
    print(f"\n{head}\n{'-' * len(head)}")
    print(
        "test accuracy in %, mean +- standard error over the splits, for a given number of features and for a tuned one"
    )
    columns = "".join(f"{k:>13}" for k in protocol.numbers)
    print(f"{'':<20}{columns}   {'tuned':>13} {'features':>9} {'inner':>6} {'paper':>6}")
    for name, found in outcomes.items():
        curve = [text(c) for c in zip(*(o.curve for o in found), strict=True)]
        if name == "all features":
            curve = [""] * len(protocol.numbers)
        number = f"{np.median([o.number for o in found]):g}"
        inner = f"{percent([o.validation for o in found])[0]:.1f}"
        published = f"{paper[name][0]:g}" if name in paper else "-"
        row = "".join(f"{c:>13}" for c in curve)
        keep(f"{title}: {name}", [100 * o.accuracy for o in found])
        for i, k in enumerate(protocol.numbers if name != "all features" else ()):
            keep(f"{title}: {name}, {k} features", [100 * o.curve[i] for o in found])
        print(f"{name:<20}{row}   {text([o.accuracy for o in found]):>13} {number:>9} {inner:>6} {published:>6}")
    chosen = [rule_text(o.setting) for o in outcomes["ManiFeSt"]]
    counts = sorted(((chosen.count(c), c) for c in set(chosen)), reverse=True)
    print("scales that ManiFeSt's inner folds chose: " + "; ".join(f"{c} ({k})" for k, c in counts))
    for name, (published, note) in paper.items():
        mean, error = percent([o.accuracy for o in outcomes[name]])
        print(f"  {compared(name, mean, error, published)}{'; ' + note if note else ''}.")
    controls = [name for name in outcomes if name.startswith(NO_LABELS)]
    others = [name for name in outcomes if name not in controls and not name.startswith("ManiFeSt")]
    print(f"  {advantage(outcomes, 'of the others', others)}.", flush=True)
    if controls:
        print(f"  {advantage(outcomes, 'control', controls)}.", flush=True)


def compared(name: str, mean: float, error: float, published: float) -> str:
    """Our accuracy against the paper's."""
    if np.isnan(error):
        return f"{name}: {mean:.1f} here, {published:g} in the paper: one split says nothing more"
    if abs(mean - published) <= 2 * error:
        return f"{name}: {mean:.1f} +- {error:.1f} here, {published:g} in the paper: no difference beyond two errors"
    side = "above" if mean > published else "below"
    return (
        f"{name}: {mean:.1f} +- {error:.1f} here is {abs(mean - published):.1f} points {side} the paper's {published:g}"
    )


def advantage(outcomes: dict[str, list[Outcome]], rivals: str, names: Sequence[str]) -> str:
    """ManiFeSt against the best of some others, split by split."""
    rival = max(names, key=lambda name: np.mean([o.accuracy for o in outcomes[name]]))
    pairs = zip(outcomes["ManiFeSt"], outcomes[rival], strict=True)
    mean, error = percent([ours.accuracy - theirs.accuracy for ours, theirs in pairs])
    if np.isnan(error):
        says = "one split says nothing more"
    elif abs(mean) <= 2 * error:
        says = "no difference beyond two errors"
    else:
        says = "an advantage" if mean > 0 else "worse"
    return f"ManiFeSt against the best {rivals} ({rival}): {mean:+.1f} +- {error:.1f} points, {says}"


def draw(path: Path, title: str, protocol: Protocol, outcomes: dict[str, list[Outcome]]) -> None:
    """Test accuracy against the number of features, one line a selector, bars for the standard error."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 5), layout="constrained")
    ax = figure.add_subplot(xscale="log", xlabel="number of features", ylabel="test accuracy, %", title=title)
    for name, found in outcomes.items():
        values = [percent(c) for c in zip(*(o.curve for o in found), strict=True)]
        mean, error = zip(*values, strict=True)
        if name == "all features":
            ax.axhline(mean[0], color="0.5", linestyle="--", label=name)
        else:
            width = 2.5 if name.startswith("ManiFeSt") else 1.0
            style = ":" if name.startswith(NO_LABELS) else "-"
            ax.errorbar(
                protocol.numbers, mean, error, linestyle=style, linewidth=width, marker="o", capsize=2, label=name
            )
    ax.set_xticks(protocol.numbers, [str(k) for k in protocol.numbers], minor=False)
    ax.minorticks_off()
    figure.legend(loc="outside right upper")
    figure.savefig(path, dpi=120)
