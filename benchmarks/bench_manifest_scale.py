"""ManiFeSt's default scale: factors of the median distance, by what they find and what a classifier makes of it.

    python -m benchmarks.bench_manifest_scale [--splits 5] [--seeds 10]

Planted data are standard normal, 60 and 120 samples x 2000 features, two classes of equal size, but for

pairs     five pairs whose correlation is .9 in one class and -.9 in the other;
group     ten features that share a factor (correlation .8) in one class only;
signs     two features whose product's sign is the class, and eight noisy copies (correlation .9) of either;
means     ten features whose means differ by one standard deviation.

A cell is the share of the planted features among as many best ones, the mean over seeds. On labelled sets of the data
folder with 300 features or more, features are scored on a random half of the samples (stratified, features with mean 0
and standard deviation 1 there); a cell is the share of the other half that a linear support vector machine and three
nearest neighbours name rightly by the best 20 features, the mean of both classifiers and of all splits.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Mapping

import numpy as np
from scipy.sparse import csr_array
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

import fastfs
from benchmarks import harness
from benchmarks.harness import Report

FACTORS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
SETS = (
    "colon", "colon_discrete", "lung_discrete", "srbct_khan", "glioma", "madelon", "sc_pbmc68k_reduced", "papers/cns",
    "papers/prostate_ge", "papers/dbworld", "fashion_10x200", "mnist_10x500", "mnist_4v9", "news_pcmac", "orl_faces32",
)  # fmt: skip
N_BEST = 20

Rng = np.random.Generator


def pairs(X: np.ndarray, y: np.ndarray, rng: Rng) -> int:
    """Turn the correlation of five pairs."""
    turned = np.where(y == 0, 0.9, -0.9)[:, None]
    X[:, 5:10] = turned * X[:, :5] + np.sqrt(1 - 0.81) * X[:, 5:10]
    return 10


def group(X: np.ndarray, y: np.ndarray, rng: Rng) -> int:
    """Let ten features share a factor in one class."""
    factor = rng.normal(size=(len(X), 1))
    X[y == 0, :10] = (np.sqrt(0.8) * factor + np.sqrt(0.2) * X[:, :10])[y == 0]
    return 10


def signs(X: np.ndarray, y: np.ndarray, rng: Rng) -> int:
    """Make the class the sign of a product, of whose factors there are noisy copies."""
    turned = np.where(y == 0, 1.0, -1.0)
    X[:, 1] = turned * np.sign(X[:, 0]) * np.abs(X[:, 1])
    X[:, 2:18] = 0.9 * np.repeat(X[:, :2], 8, axis=1) + np.sqrt(1 - 0.81) * X[:, 2:18]
    return 18


def means(X: np.ndarray, y: np.ndarray, rng: Rng) -> int:
    """Move ten features by a standard deviation in one class."""
    X[:, :10] += y[:, None]
    return 10


PLANTED: dict[str, Callable[[np.ndarray, np.ndarray, Rng], int]] = {
    "pairs": pairs,
    "group": group,
    "signs": signs,
    "means": means,
}


def print_rows(report: Report, rows: Mapping[str, list[float]]) -> None:
    """Print a row for each data set, and their mean."""
    for name, cells in rows.items():
        report.row(name, "  ".join(f"{cell:.3f}" for cell in cells))
    report.row("mean", "  ".join(f"{cell:.3f}" for cell in np.mean(list(rows.values()), axis=0)))


def recall(report: Report, seeds: int) -> None:
    """Print which share of planted features each factor finds."""
    report.heading(f"planted features found, median x {', '.join(map(str, FACTORS))} ({seeds} seeds)")
    rows: dict[str, list[float]] = {}
    for name, plant in PLANTED.items():
        for N in (60, 120):
            found = np.zeros((seeds, len(FACTORS)))
            for seed in range(seeds):
                rng = np.random.default_rng(seed)
                X, y = rng.normal(size=(N, 2000)), np.arange(N) % 2
                n_planted = plant(X, y, rng)
                for f, factor in enumerate(FACTORS):
                    scores = fastfs.manifest_scores(X, y, sigma_factor=factor)
                    found[seed, f] = (np.argsort(-scores)[:n_planted] < n_planted).mean()
            rows[f"{name}, {N} samples"] = found.mean(axis=0).tolist()
    print_rows(report, rows)


def held_out(report: Report, folder: str, splits: int) -> None:
    """Print how well the best features of each factor serve classifiers on samples that they weren't chosen by."""
    report.heading(f"held-out accuracy by the best {N_BEST}, median x {', '.join(map(str, FACTORS))} ({splits} splits)")
    rows: dict[str, list[float]] = {}
    for name in SETS:
        data = np.load(f"{folder}/{name}.npz", allow_pickle=False)
        stored = data["X"] if "X" in data else csr_array((data["data"], data["indices"], data["indptr"]), data["shape"])
        X = np.asarray(stored.toarray() if "X" not in data else stored, float)
        y = np.unique(data["y"], return_inverse=True)[1]
        if name == "colon":
            X = np.log2(X)
        if len(X) > 1000:
            kept = np.random.default_rng(0).permutation(len(X))[:1000]
            X, y = X[kept], y[kept]
        found = np.zeros((splits, len(FACTORS)))
        halves = StratifiedShuffleSplit(splits, test_size=0.5, random_state=0).split(X, y)
        for split, (train, test) in enumerate(halves):
            varies = X[train].std(axis=0) > 1e-9
            Z = (X[:, varies] - X[train][:, varies].mean(axis=0)) / X[train][:, varies].std(axis=0)
            for f, factor in enumerate(FACTORS):
                scores = fastfs.manifest_scores(Z[train], y[train], sigma_factor=factor)
                best = np.argsort(-scores)[:N_BEST]
                found[split, f] = np.mean(
                    [
                        model.fit(Z[train][:, best], y[train]).score(Z[test][:, best], y[test])
                        for model in (LinearSVC(random_state=0), KNeighborsClassifier(3))
                    ]
                )
        rows[f"{name.removeprefix('papers/')}, {len(X)} x {X.shape[1]}"] = found.mean(axis=0).tolist()
        report.row(*[(key, "  ".join(f"{cell:.3f}" for cell in cells)) for key, cells in rows.items()][-1])
    report.row("mean", "  ".join(f"{cell:.3f}" for cell in np.mean(list(rows.values()), axis=0)))


def main() -> int:
    """Compare the factors; sets are left out where the folder of data isn't named."""
    parser = argparse.ArgumentParser(description="ManiFeSt's scale")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=10)
    args = parser.parse_args()
    harness.machine()
    warnings.simplefilter("ignore")
    report = Report()
    recall(report, args.seeds)
    if folder := os.environ.get("FASTFS_TEST_DATA"):
        held_out(report, folder, args.splits)
    else:
        print("\nheld-out accuracy: FASTFS_TEST_DATA isn't set, which names the folder of the data sets")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
