"""What should be added to the standard deviation of a null-standardised score, so that z ranks better?

    FASTFS_TEST_DATA=... python -m benchmarks.papers.floor [--sets colon sonar ...] [--methods DiSC ...] [--splits 6]
        [--labelings 100]

z of a feature is its score, less the mean over shuffled labels, divided by d + s0: d is the standard deviation over the
same labels, s0 a quantile of all features' d (SAM's floor; 0: the plain z). Features are ranked on two thirds of the
samples, and a linear support vector machine on the ten best of each ranking is judged on the others.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import wilcoxon
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import fastfs
from benchmarks import harness
from benchmarks.harness import Report
from benchmarks.papers.protocol import read
from fastfs._inference.scorers import make_scorer

N_SELECTED = 10
QUANTILES = (0.05, 0.25, 0.5, 0.75, 1.0)
RANKINGS = ["score", "z", *(f"z, s0 = {q:g} quantile" for q in QUANTILES)]

# Rows that are taken, at random; None: all. "counts" get a logarithm.
SETS: dict[str, tuple[int | None, str]] = {
    "colon": (None, "log"),
    "glioma": (None, ""),
    "srbct_khan": (None, ""),
    "lung_discrete": (None, ""),
    "madelon": (400, ""),
    "sonar": (None, ""),
    "wdbc": (200, ""),
    "mnist_4v9": (200, ""),
    "sc_pbmc68k_reduced": (300, "counts"),
    "ucr_gunpoint": (None, ""),
}


def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Samples x varying features, and labels; classes of fewer than six samples are left out."""
    from scipy.sparse import csr_matrix

    data = read(name)
    rows, transform = SETS[name]
    if "X" in data.files:
        X = data["X"].astype(float)
    else:
        X = csr_matrix(
            (data["data"].astype(float), data["indices"], data["indptr"]), shape=tuple(data["shape"])
        ).toarray()
    y = data["y"].astype(int)
    if transform:
        X = np.log2(X + (transform == "counts"))
    chosen = np.flatnonzero(np.bincount(y)[y] >= 6)
    if rows is not None:
        chosen = np.sort(np.random.default_rng(0).choice(chosen, rows, replace=False))
        chosen = chosen[np.bincount(y[chosen])[y[chosen]] >= 6]
    X, y = X[chosen], y[chosen]
    return X[:, X.std(axis=0) > 0], y


def methods() -> dict[str, Any]:
    return {
        "ManiFeSt": fastfs.ManiFeSt(accuracy="low_rank"),
        "ManiFeSt, factor 0.1": fastfs.ManiFeSt(accuracy="low_rank", sigma_factor=0.1),
        "DiSC": fastfs.DiSC(),
        "DiSC, dense graph": fastfs.DiSC(graph="dense"),
        "MultiSURF": fastfs.MultiSURF(),
        "IM4E": fastfs.IM4E(),
    }


def orders(estimator: Any, X: np.ndarray, y: np.ndarray, n_labelings: int, seed: int) -> Iterator[np.ndarray]:
    """Features, best first: for each of `RANKINGS`."""
    labels, scorer = make_scorer(estimator, X, y)
    rng = np.random.default_rng(seed)
    labelings = [labels, *(rng.permutation(labels) for _ in range(n_labelings))]
    scores = np.array([found for found, _ in scorer(labelings)])
    mean, deviation = scores.mean(axis=0), scores.std(axis=0)
    deviation[deviation <= 1e-9 * np.abs(scores).max(axis=0)] = np.inf
    finite = deviation[np.isfinite(deviation)]
    yield np.argsort(-scores[0], kind="stable")
    for floor in (0.0, *np.quantile(finite, QUANTILES)):
        yield np.argsort(-(scores[0] - mean) / (deviation + floor), kind="stable")


def accuracies(estimator: Any, X: np.ndarray, y: np.ndarray, n_splits: int, n_labelings: int) -> np.ndarray:
    """Percent of each split's test samples, for each of `RANKINGS`."""
    found = []
    for train, test in StratifiedShuffleSplit(n_splits, test_size=1 / 3, random_state=0).split(X, y):
        kept = np.flatnonzero(X[train].std(axis=0) > 0)
        scaled = StandardScaler().fit_transform(X[np.ix_(train, kept)])
        row = []
        for order in orders(estimator, scaled, y[train], n_labelings, len(found)):
            best = kept[order[:N_SELECTED]]
            judge = make_pipeline(StandardScaler(), SVC(kernel="linear")).fit(X[np.ix_(train, best)], y[train])
            row.append(100 * judge.score(X[np.ix_(test, best)], y[test]))
        found.append(row)
    return np.array(found)


def main() -> int:
    parser = argparse.ArgumentParser(description="A floor for the standard deviation in z")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--methods", nargs="+", choices=methods(), default=list(methods()))
    parser.add_argument("--splits", type=int, default=6)
    parser.add_argument("--labelings", type=int, default=100)
    args = parser.parse_args()
    harness.machine()
    report = Report()
    begin = time.process_time()
    cells: dict[str, list[np.ndarray]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in args.sets:
            X, y = table(name)
            report.heading(f"{name}: {X.shape[0]} x {X.shape[1]}, {len(np.unique(y))} classes; accuracy in %")
            for method in args.methods:
                found = accuracies(methods()[method], X, y, args.splits, args.labelings).mean(axis=0)
                cells.setdefault(method, []).append(found)
                print(f"{method:<22}" + "".join(f"{value:>8.1f}" for value in found), flush=True)
    report.heading("mean over the sets: " + "; ".join(RANKINGS))
    for method, rows in cells.items():
        print(f"{method:<22}" + "".join(f"{value:>8.1f}" for value in np.mean(rows, axis=0)))
    every = np.concatenate([*cells.values()])
    print(f"{'all':<22}" + "".join(f"{value:>8.1f}" for value in every.mean(axis=0)))
    if len(every) > 5:
        for k, ranking in enumerate(RANKINGS[2:], start=2):
            p = wilcoxon(every[:, k], every[:, 1]).pvalue
            print(f"{ranking} against the plain z: {np.mean(every[:, k] - every[:, 1]):+.1f}, Wilcoxon p = {p:.2g}")
    report.row("CPU time", time.process_time() - begin, unit=" s")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
