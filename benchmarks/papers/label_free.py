"""Which findings need the labels: rankings by scores and by z, under true labels and under shuffled ones.

    FASTFS_TEST_DATA=... python -m benchmarks.papers.label_free [--seeds 5] [--labelings 200] [--data XOR-100 ...]

Printed is how many of the useful features are among as many best ones: ranked by the score, by z (the score less its
mean under shuffled labels, over its standard deviation there), and both again with labels that were shuffled before.
What is found then, the method finds without labels. `label_free` is the rank correlation between the true scores and
their mean under shuffled labels. Chance is that among all features, and among those whose scores aren't rounding errors
under every labeling, which have no z.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import fastfs
from benchmarks import harness
from benchmarks.harness import Report
from benchmarks.papers.manifest import MADELON_USEFUL, Data, found, hypercube, read, xor_100, z_scores

N_CHANGED = 10


def changed_correlations(seed: int) -> Data:
    """100 x 100: ten features share a factor in one class only; ten others have three times the deviation."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(100, 100)), np.arange(100) % 2
    factor = rng.normal(size=(100, 1))
    tied = np.sqrt(0.3) * X[:, :N_CHANGED] + np.sqrt(0.7) * factor
    X[:, :N_CHANGED] = np.where(y[:, None] == 1, tied, X[:, :N_CHANGED])
    X[:, N_CHANGED : 2 * N_CHANGED] *= 3
    return X, y


def shifted(seed: int) -> Data:
    """100 x 100: five features differ by one standard deviation."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(100, 100)), np.arange(100) % 2
    X[:, :5] += y[:, None]
    return X, y


def madelon(seed: int) -> Data:
    """500 of its samples."""
    X, y = z_scores(read("madelon"))
    rows = np.random.default_rng(seed).choice(len(y), 500, replace=False)
    return X[rows], y[rows]


DATA: dict[str, tuple[Callable[[int], Data], set[int]]] = {
    "XOR-100": (lambda seed: xor_100(seed, 100), {0, 1}),
    "correlations": (changed_correlations, set(range(N_CHANGED))),
    "shift": (shifted, set(range(5))),
    "hypercube": (hypercube, set(range(10))),
    "Madelon": (madelon, MADELON_USEFUL),
}


class Pairs(BaseEstimator):  # type: ignore[misc]
    """The plain baseline: how much a feature's correlations with all others differ."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Pairs:
        self.scores_ = fastfs.differential_correlation(X, y, n_pairs=1, n_permutations=0, n_threads=1).scores
        return self


def methods(data: str) -> dict[str, Any]:
    if data == "hypercube":
        manifest = fastfs.ManiFeSt(sigma="percentile", sigma_percentile=95, normalize=3)
    else:
        manifest = fastfs.ManiFeSt(sigma_factor=0.1)
    return {"ManiFeSt": manifest, "DiSC": fastfs.DiSC(graph="dense"), "ReliefF": fastfs.ReliefF(), "pairs": Pairs()}


def rankings(estimator: Any, X: np.ndarray, y: np.ndarray, useful: set[int], n: int) -> tuple[list[int], float, int]:
    """Useful features found by scores and by z, `label_free`, and how many features have a z."""
    test = fastfs.permutation_test(estimator, X, y, n_permutations=n, random_state=1)
    return [found(test.scores, useful), found(test.z, useful)], test.label_free, X.shape[1] - len(test.degenerate)


def main() -> int:
    parser = argparse.ArgumentParser(description="What is found without labels")
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--methods", nargs="+", default=["ManiFeSt", "DiSC", "ReliefF", "pairs"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--labelings", type=int, default=200)
    args = parser.parse_args()
    harness.machine()
    report = Report()
    begin = time.process_time()
    counts: dict[tuple[str, str], np.ndarray] = {}
    report.heading("useful features found by score / by z; the same with shuffled labels; label_free (means)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in args.data:
            make, useful = DATA[name]
            for method in args.methods:
                estimator = methods(name)[method]
                rows, correlations, alive = [], [], []
                for seed in range(args.seeds):
                    X, y = make(seed)
                    true, label_free, n_alive = rankings(estimator, X, y, useful, args.labelings)
                    other = np.random.default_rng(1000 + seed).permutation(y)
                    rows.append(true + rankings(estimator, X, other, useful, args.labelings)[0])
                    correlations.append(label_free)
                    alive.append(n_alive)
                mean = counts[name, method] = np.mean(rows, axis=0)
                text = f"{mean[0]:5.1f} / {mean[1]:4.1f} of {len(useful):<4d} {mean[2]:5.1f} / {mean[3]:4.1f}"
                chance = [np.mean(len(useful) ** 2 / np.array(n)) for n in (X.shape[1], alive)]
                by_chance = f"by chance {chance[0]:.2g}, {chance[1]:.2g}"
                print(f"{name:<14}{method:<10}{text}   {np.mean(correlations):5.2f}   {by_chance}", flush=True)
    report.heading("ManiFeSt, ranked by z")
    if ("XOR-100", "ManiFeSt") in counts:
        report.row("XOR-100: found, of 2", counts["XOR-100", "ManiFeSt"][1], at_least=2)
    if ("correlations", "ManiFeSt") in counts:
        of = counts["correlations", "ManiFeSt"]
        report.row("changed correlations among decoys: found, of 10", of[1], at_least=10)
        report.row("the same, shuffled labels", of[3], at_most=1.5)
    for name in ("hypercube", "Madelon"):
        if (name, "ManiFeSt") in counts:
            report.row(f"{name}, shuffled labels: found", counts[name, "ManiFeSt"][3], at_most=2)
    report.row("CPU time", time.process_time() - begin, unit=" s")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
