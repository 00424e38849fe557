"""ProjSe's experiments (Szedmak et al. 2023) on what is at hand, the paper's numbers beside ours.

    FASTFS_TEST_DATA=folder python -m benchmarks.papers.projse [names ...] [--rows 1000000]

Without names all run. The paper's own data (MediaMill, Carcinoma, 19 sets of time series, all of MNIST) aren't among
ours: MNIST is the first 500 of each digit, GunPoint stands for the time series. Experiments:

* scaling: X and W normal, Y = X W + noise, 100 + 100 variables, 10 selected; wall time, all cores. The paper: below 4 s
  at 10^7 samples.
* mnist: variables of the left half of the pictures chosen by the right one and vice versa; on the rest of the pictures,
  the first canonical correlation between the chosen ones (fitted with a ridge of 1e-3 of the mean variance), mean over
  5 splits. Beside it two naive choices: the pixels of largest variance, and those nearest to the cut.
* glioma: Y = X, k-means on the chosen variables, mutual information with the classes, normalised, mean of 20 runs. The
  linear kernel has rank 50: it has no more to choose.
* gunpoint: labels; an SVM on the official split, and the alignment of the centred linear kernels of the chosen
  variables and of the labels. Two classes allow two choices; further ones come by first score (`ranking_`).
* stability: Nogueira's measure of the first D = 1 .. 5 over 30 subsamples of half of the MNIST pictures.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import fastfs
from benchmarks import harness
from benchmarks.harness import Report
from benchmarks.papers.protocol import read

SETTINGS: dict[str, dict[str, Any]] = {
    "linear": {"center": False},
    "linear, centred": {"center": True},
    "poly3": {"kernel": "poly", "center": False},
    "rbf": {"kernel": "rbf", "center": False},
}


def halves() -> tuple[np.ndarray, np.ndarray]:
    """Left and right half of each picture, 392 pixels each."""
    pictures = read("mnist_10x500")["X"].astype(np.float64).reshape(-1, 28, 28)
    return pictures[:, :, :14].reshape(-1, 392), pictures[:, :, 14:].reshape(-1, 392)


# -------------------------------------------------------------------------------------------------------------- scaling


def scaling(report: Report, rows: int) -> None:
    """Time against the number of samples."""
    report.heading("scaling: 100 + 100 variables, 10 selected, float32, all cores (paper: below 4 s at 10^7)")
    rng = np.random.default_rng(0)
    for m in (10**p for p in range(3, 9)):
        if m > rows:
            break
        X = rng.standard_normal((m, 100), dtype=np.float32)
        Y = X @ rng.standard_normal((100, 100), dtype=np.float32)
        Y += rng.standard_normal((m, 100), dtype=np.float32)
        t = harness.measure(lambda X=X, Y=Y: fastfs.projse(X, Y), 3)  # type: ignore[misc]
        report.row(f"{m:.0e} samples, wall", t.text("wall"))


# ---------------------------------------------------------------------------------------------------------------- MNIST


def mnist(report: Report, rows: int) -> None:
    """Canonical correlations of the chosen pixels."""
    report.heading(
        "MNIST halves: first canonical correlation on the test pictures, 10 / 20 / 50 / 100 variables a side"
    )
    left, right = halves()
    column = np.tile(np.arange(14), 28)
    found: dict[str, list[list[float]]] = {}
    for seed in range(5):
        train, test = train_test_split(np.arange(len(left)), test_size=0.3, random_state=seed)
        L, R = left[train], right[train]
        orders = {
            name: [r.selected for r in fastfs.projse_two_view(L, R, n_features_to_select=100, **setting)]
            for name, setting in SETTINGS.items()
        }
        orders["largest variance"] = [np.argsort(-side.var(axis=0), kind="stable") for side in (L, R)]
        nearest = [np.lexsort((-side.var(axis=0), far)) for side, far in ((L, 13 - column), (R, column))]
        orders["nearest to the cut"] = nearest
        for name, (a, b) in orders.items():
            values = [
                fastfs.canonical_correlations(
                    L[:, a[:n]], R[:, b[:n]], test=(left[test][:, a[:n]], right[test][:, b[:n]])
                )[0]
                for n in (10, 20, 50, 100)
            ]
            found.setdefault(name, []).append(values)
    for name, runs in found.items():
        report.row(name, " ".join(f"{v:.3f}" for v in np.mean(runs, axis=0)))
    report.row("paper, linear", "0.847 0.890 0.918 0.935")


def stability(report: Report, rows: int) -> None:
    """Nogueira, Sechidis, Brown (2018), eq. 4: 1 - mean variance of the indicators over that of random choices."""
    report.heading("stability of the first 1 .. 5 pixels of the left half, 30 subsamples of half of the pictures")
    left, right = halves()
    rng = np.random.default_rng(0)
    samples = [rng.permutation(len(left))[: len(left) // 2] for _ in range(30)]
    for name, setting in SETTINGS.items():
        orders = [fastfs.projse(left[s], right[s], n_features_to_select=5, **setting).selected for s in samples]
        values = []
        for D in range(1, 6):
            Z = np.zeros((30, 392))
            for row, order in zip(Z, orders, strict=True):
                row[order[:D]] = 1
            share = D / 392
            values.append(1 - Z.var(axis=0, ddof=1).mean() / (share * (1 - share)))
        report.row(name, " ".join(f"{v:.2f}" for v in values), note=f"mean {np.mean(values):.2f}")


# ----------------------------------------------------------------------------------------------------- glioma, GunPoint


def glioma(report: Report, rows: int) -> None:
    """Clusters of the chosen genes."""
    report.heading("glioma, Y = X: k-means NMI with the 4 classes, mean and spread of 20 runs, 10 and 50 variables")
    data = read("glioma")
    X, y = data["X"].astype(np.float64), data["y"]

    def runs(columns: np.ndarray) -> np.ndarray:
        Z = StandardScaler().fit_transform(X[:, columns])
        clusters = (KMeans(4, n_init=1, random_state=seed).fit_predict(Z) for seed in range(20))
        return np.array([normalized_mutual_info_score(y, found) for found in clusters])

    def nmi(columns: np.ndarray) -> str:
        found = runs(columns)
        return f"{found.mean():.3f} +- {found.std():.3f}"

    for name, setting in SETTINGS.items():
        start = time.perf_counter()
        order = fastfs.projse(X, n_features_to_select=50, **setting).selected
        taken = time.perf_counter() - start
        report.row(name, f"{nmi(order[:10])}, {nmi(order)}", note=f"{len(order)} chosen in {harness.seconds(taken)}")
    rng = np.random.default_rng(0)
    choices = [rng.permutation(X.shape[1])[:50] for _ in range(20)]
    drawn = np.array([[runs(order[:10]).mean(), runs(order).mean()] for order in choices])
    spread = [f"{mean:.3f} +- {std:.3f}" for mean, std in zip(drawn.mean(axis=0), drawn.std(axis=0), strict=True)]
    report.row("random, 20 choices", ", ".join(spread))
    report.row("all 4434", nmi(np.arange(X.shape[1])), note="the paper: 210 to 299 s for its choice")


def gunpoint(report: Report, rows: int) -> None:
    """Accuracy and alignment against random choice."""
    report.heading("GunPoint: SVM accuracy / centred alignment with 1 / 2 / 5 / 10 points of time")
    data = read("ucr_gunpoint")
    X, y, test = data["X"].astype(np.float64), data["y"], data["is_test"].astype(bool)

    def judge(order: np.ndarray) -> list[float]:
        values = []
        for n in (1, 2, 5, 10):
            scale = StandardScaler().fit(X[~test][:, order[:n]])
            A, B = (scale.transform(X[part][:, order[:n]]) for part in (~test, test))
            values += [SVC().fit(A, y[~test]).score(B, y[test]), fastfs.kernel_alignment(A, y[~test])]
        return values

    def text(values: Any) -> str:
        return "  ".join(f"{a:.3f}/{b:.3f}" for a, b in zip(values[::2], values[1::2], strict=True))

    for name, setting in SETTINGS.items():
        result = fastfs.projse(X[~test], y[~test], **setting)
        report.row(name, text(judge(np.argsort(result.ranking))), note=f"{len(result.selected)} selected")
    rng = np.random.default_rng(0)
    report.row("random, mean of 50", text(np.mean([judge(rng.permutation(150)) for _ in range(50)], axis=0)))


EXPERIMENTS = {"scaling": scaling, "mnist": mnist, "glioma": glioma, "gunpoint": gunpoint, "stability": stability}


def main() -> int:
    """Run the experiments that were named, or all."""
    parser = argparse.ArgumentParser(description="ProjSe's experiments")
    parser.add_argument("names", nargs="*", choices=[*EXPERIMENTS, []], help="default: all")
    parser.add_argument("--rows", type=int, default=10**6, help="the most samples of the scaling experiment")
    args = parser.parse_args()
    harness.machine()
    report = Report()
    warnings.simplefilter("ignore", fastfs.DataWarning)  # dependent pixels, the tie of Y = X: known here
    for name in args.names or EXPERIMENTS:
        EXPERIMENTS[name](report, args.rows)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
