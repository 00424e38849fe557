"""Which method finds which structure, and in how many seconds: the table of docs/which-method.md.

    python -m benchmarks.bench_which_method [--sizes 60x2000 500x2000 60x20000] [--sets 20] [--structures shift ...]

Features are standard normal noise but for the planted ones, and the classes have the same number of samples:

* shift: ten features whose means differ by 1 between the two classes;
* copies: ten kinds of features whose means differ by 1.5 to .8, each kind in five noisy copies;
* scatter: ten features with twice the standard deviation in the second class;
* exclusive or: two features; the class is the sign of their product;
* correlation: ten features with pairwise correlation .8 in the second class, and 0 in the first;
* difference: five pairs of features with correlation .95, whose differences shift: each feature alone shifts little;
* eleven classes: the kinds of "copies", with means drawn for each of eleven classes.

Printed for each method is the recall: the share of what was planted (features, or kinds) that is among its first ten
features, its mean over data sets, and the median of its CPU seconds on one thread. A method of pairs gives the features
of its strongest pairs. Peers: ANOVA, L1 logistic regression (scikit-learn's liblinear, the weakest penalty of a path
that still keeps ten features), a random forest of 500 trees, fastcan and mrmr_selection, if they are installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import fastfs
from benchmarks import harness

FIRST = 10

Planted = list[np.ndarray]  # for each kind, the columns that tell of it
Table = tuple[np.ndarray, np.ndarray, Planted]
Ranker = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _classes(n: int, n_classes: int = 2) -> np.ndarray:
    return np.arange(n) % n_classes


def shift(rng: np.random.Generator, n: int, p: int) -> Table:
    """Ten features whose means differ."""
    X, y = rng.normal(size=(n, p)), _classes(n)
    X[:, :10] += y[:, None]
    return X, y, [np.array([j]) for j in range(10)]


def copies(rng: np.random.Generator, n: int, p: int, n_classes: int = 2) -> Table:
    """Ten kinds of features whose means differ, each in five noisy copies."""
    X, y = rng.normal(size=(n, p)), _classes(n, n_classes)
    centres = rng.normal(size=(n_classes, 10)) if n_classes > 2 else np.array([[-0.5], [0.5]]) * np.ones(10)
    kinds = centres[y] * np.linspace(1.5, 0.8, 10) + rng.normal(size=(n, 10))
    X[:, :50] = np.repeat(kinds, 5, axis=1) + 0.3 * X[:, :50]
    return X, y, list(np.arange(50).reshape(10, 5))


def scatter(rng: np.random.Generator, n: int, p: int) -> Table:
    """Ten features that vary twice as much in the second class."""
    X, y = rng.normal(size=(n, p)), _classes(n)
    X[:, :10] *= 1 + y[:, None]
    return X, y, [np.array([j]) for j in range(10)]


def exclusive_or(rng: np.random.Generator, n: int, p: int) -> Table:
    """Two features that tell the class together only; classes are equal up to chance."""
    X = rng.normal(size=(n, p))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int), [np.array([0]), np.array([1])]


def correlation(rng: np.random.Generator, n: int, p: int) -> Table:
    """Ten features that follow a common one in the second class."""
    X, y = rng.normal(size=(n, p)), _classes(n)
    common = rng.normal(size=(n, 1))
    X[:, :10] = np.where(y[:, None] == 1, np.sqrt(0.8) * common + np.sqrt(0.2) * X[:, :10], X[:, :10])
    return X, y, [np.array([j]) for j in range(10)]


def difference(rng: np.random.Generator, n: int, p: int) -> Table:
    """Five pairs of nearly equal features, whose differences shift by 3 of their standard deviations."""
    X, y = rng.normal(size=(n, p)), _classes(n)
    common, scale = rng.normal(size=(n, 5)), np.sqrt(0.05)
    gap = 1.5 * np.sqrt(2) * scale * (y[:, None] - 0.5)
    X[:, 0:10:2] = np.sqrt(0.95) * common + scale * X[:, 0:10:2] + gap
    X[:, 1:10:2] = np.sqrt(0.95) * common + scale * X[:, 1:10:2] - gap
    return X, y, [np.array([j]) for j in range(10)]


def eleven_classes(rng: np.random.Generator, n: int, p: int) -> Table:
    """Ten kinds of features that tell eleven classes apart."""
    return copies(rng, n, p, 11)


STRUCTURES: dict[str, Callable[[np.random.Generator, int, int], Table]] = {
    "shift": shift,
    "copies": copies,
    "scatter": scatter,
    "exclusive or": exclusive_or,
    "correlation": correlation,
    "difference": difference,
    "eleven classes": eleven_classes,
}


def anova(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    from sklearn.feature_selection import f_classif

    return np.argsort(-f_classif(X, y)[0], kind="stable")[:FIRST]


def l1_logistic(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The ten largest coefficients at the first penalty of a falling path with ten features in the model."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import l1_min_c

    X = StandardScaler().fit_transform(X)
    weights = np.zeros(X.shape[1])
    for C in l1_min_c(X, y, loss="log") * np.logspace(0.1, 3, 30):
        one_class = LogisticRegression(C=C, l1_ratio=1, solver="liblinear", max_iter=1000)
        classes = OneVsRestClassifier(one_class).fit(X, y).estimators_
        weights = np.abs([model.coef_[0] for model in classes]).max(axis=0)
        if np.count_nonzero(weights) >= FIRST:
            break
    return np.argsort(-weights, kind="stable")[:FIRST]


def random_forest(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(500, random_state=0, n_jobs=1).fit(X, y)
    return np.argsort(-forest.feature_importances_, kind="stable")[:FIRST]


def fastcan(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    from fastcan import FastCan
    from sklearn.preprocessing import LabelBinarizer

    return FastCan(FIRST, verbose=0).fit(X, LabelBinarizer().fit_transform(y)).indices_


def mrmr(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    import pandas as pd
    from mrmr import mrmr_classif

    return np.array(mrmr_classif(pd.DataFrame(X), pd.Series(y), FIRST, n_jobs=1, show_progress=False), dtype=int)


def ranked_by(selector: Any) -> Ranker:
    return lambda X, y: np.argsort(selector.fit(X, y).ranking_, kind="stable")[:FIRST]


def of_pairs(scan: Callable[..., Any]) -> Ranker:
    """Return the features of the strongest pairs, in the order of their first pair."""

    def rank(X: np.ndarray, y: np.ndarray) -> np.ndarray:
        features = scan(X, y, n_pairs=100, n_permutations=0, n_threads=1).pairs.ravel()
        _, first = np.unique(features, return_index=True)
        return features[np.sort(first)][:FIRST]

    return rank


def rankers() -> dict[str, Ranker]:
    """Return the methods by name: peers first."""
    peers: dict[str, Ranker] = {"ANOVA": anova, "L1 logistic": l1_logistic, "random forest": random_forest}
    for name, ranker in (("fastcan", fastcan), ("mrmr", mrmr)):
        if importlib.util.find_spec(name) is None:
            print(f"{name} isn't installed")
        else:
            peers[name] = ranker
    one = {"n_jobs": 1}
    selectors = {
        "MultiSURF": fastfs.MultiSURF(**one),
        "ReliefF": fastfs.ReliefF(**one),
        "TuRF(MultiSURF)": fastfs.TuRF(fastfs.MultiSURF(**one), n_features_to_select=FIRST),
        "IM4E": fastfs.IM4E(**one),
        "Immigrate": fastfs.Immigrate(**one),
        "ProjSe": fastfs.ProjSe(**one),
        "ProjSe(beyond)": fastfs.ProjSe(FIRST, beyond="residual", **one),
        "ManiFeSt": fastfs.ManiFeSt(**one),
        "DiSC": fastfs.DiSC(**one),
        "IKDR": fastfs.IKDR(**one),
    }
    return {
        **peers,
        **{name: ranked_by(selector) for name, selector in selectors.items()},
        "interaction_scan": of_pairs(fastfs.interaction_scan),
        "differential_correlation": of_pairs(fastfs.differential_correlation),
    }


def recall(first: np.ndarray, planted: Planted) -> float:
    return float(np.mean([np.isin(kind, first).any() for kind in planted]))


def measure(structure: str, n: int, p: int, n_sets: int, methods: dict[str, Ranker]) -> None:
    """Print a row for each method."""
    print(f"\n{structure}, {n} x {p}, {n_sets} sets: recall among the first {FIRST}, CPU seconds")
    for name, rank in methods.items():
        recalls, seconds = [], []
        try:
            for seed in range(n_sets):
                X, y, planted = STRUCTURES[structure](np.random.default_rng(seed), n, p)
                with warnings.catch_warnings(), harness.one_thread():
                    warnings.simplefilter("ignore")
                    begin = time.process_time()
                    first = rank(X, y)
                    seconds.append(time.process_time() - begin)
                recalls.append(recall(first, planted))
        except ValueError as error:
            print(f"  {name:<26} refused: {error}", flush=True)
            continue
        error_of_mean = np.std(recalls) / np.sqrt(n_sets)
        print(f"  {name:<26} {np.mean(recalls):.2f} +- {error_of_mean:.2f} {median(seconds):8.2f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sizes", nargs="+", default=["60x2000", "500x2000", "60x20000"])
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--structures", nargs="+", choices=list(STRUCTURES), default=list(STRUCTURES))
    parser.add_argument("--methods", nargs="+", help="names of the methods, as printed; all by default")
    arguments = parser.parse_args()
    harness.machine()
    methods = {name: rank for name, rank in rankers().items() if name in (arguments.methods or [name])}
    for size in arguments.sizes:
        n, p = map(int, size.split("x"))
        for structure in arguments.structures:
            measure(structure, n, p, arguments.sets, methods)


if __name__ == "__main__":
    main()
