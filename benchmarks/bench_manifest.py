"""Exact ManiFeSt: time, memory and error against the authors' algorithms and the floor, and what it finds.

    python -m benchmarks.bench_manifest [--sizes 500 1000 2000] [--repeats 3]
    python -m benchmarks.bench_manifest --quality

The peers are `baselines.manifest`: the authors' published algorithms in NumPy on the BLAS that fastfs uses. The floor
is two ``dsyevd``: of L^-1 (K1 - K2) L^-T and of D, the matrices that have to be diagonalised, measured in turn with the
candidates. ``--quality`` runs the selection experiments; Madelon is read from ``$FASTFS_TEST_DATA/madelon.npz``.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import numpy as np
from scipy import linalg
from sklearn.datasets import make_classification
from tests.reference import manifest as reference

import fastfs
from benchmarks import harness
from benchmarks.baselines import manifest as authors
from benchmarks.harness import Report

MADELON_USEFUL = {28, 48, 64, 105, 128, 153, 241, 281, 318, 336, 338, 378, 433, 442, 451, 453, 455, 472, 475, 493}


def normal_data(d: int, N: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """N standard normal samples of d features, half of them in each class."""
    return np.random.default_rng(0).standard_normal((N, d)), np.arange(N) % 2


def operators(K1: np.ndarray, K2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two matrices that exact ManiFeSt has to diagonalise."""
    L = linalg.cholesky(K1 + K2, lower=True)
    C = linalg.solve_triangular(L, linalg.solve_triangular(L, K1 - K2, lower=True).T, lower=True)
    C = (C + C.T) / 2
    nu, Y = linalg.eigh(C, driver="evd")
    nu = np.clip(nu, -1 + 1e-16, 1 - 1e-16)
    W = L @ Y
    return C, (W * (0.5 * np.sqrt((1 - nu) * (1 + nu)) * np.arctanh(nu))) @ W.T


def equations(K1: np.ndarray, K2: np.ndarray) -> np.ndarray:
    """Scores by equations (2) to (4) in float64: the tests' plain NumPy reference."""
    return reference.scores(reference.difference(K1, K2))


def timing(report: Report, d: int, repeats: int) -> None:
    """One size: peers, floor, memory, error, two threads."""
    report.heading(f"exact ManiFeSt, d = {d} features, N = 60, median x 0.5, float64")
    X, y = normal_data(d)
    K1, K2 = authors.kernels(X, y, 0.5)
    C, D = operators(K1, K2)
    candidates = {
        "fastfs": lambda: fastfs.manifest_scores(X, y, sigma_factor=0.5, n_threads=1),
        "two dsyevd": lambda: (harness.syevd(C), harness.syevd(D)),
        "SPSD": lambda: authors.spsd_scores(X, y, 0.5),
        "SPSD, least": lambda: authors.spsd_scores(X, y, 0.5, as_published=False),
        "SPD": lambda: authors.spd_scores(X, y, 0.5),
        "SPD, least": lambda: authors.spd_scores(X, y, 0.5, as_published=False),
    }
    with harness.one_thread():
        t = harness.compare(candidates, repeats, warm_up=d <= 500)
    for who, timing_ in t.items():
        report.row(f"{who}, one thread, CPU", timing_.text())
    at_size = d == 2000
    report.times("SPSD as published / fastfs", t["SPSD"], t["fastfs"], at_least=9.0 if at_size else None)
    report.times("SPSD, least work / fastfs", t["SPSD, least"], t["fastfs"])
    report.times("SPD as published / fastfs", t["SPD"], t["fastfs"], at_least=4.5 if at_size else None)
    report.times("SPD, least work / fastfs", t["SPD, least"], t["fastfs"])
    report.times("fastfs / two dsyevd (floor)", t["fastfs"], t["two dsyevd"], at_most=1.5 if at_size else None)

    setup = (
        "import numpy as np, fastfs\nfrom benchmarks.baselines import manifest as authors\n"
        "from benchmarks.bench_manifest import normal_data\n"
        f"X, y = normal_data({d})\nfastfs.manifest_scores(X[:, :50], y); authors.spsd_scores(X[:, :50], y)"
    )
    for who, call in (
        ("fastfs", "fastfs.manifest_scores(X, y, n_threads=1)"),
        ("SPSD", "authors.spsd_scores(X, y)"),
        ("SPD", "authors.spd_scores(X, y)"),
    ):
        above = harness.peak_memory(setup, call)[1]
        report.row(f"{who}, peak memory", f"{above / 1e6:.0f} MB", note=f"{above / (8 * d * d):.1f} d x d doubles")

    error(report, d, 0.5)
    error(report, d, 1.0)

    if harness.cores() >= 2:
        t = harness.compare(
            {
                "one": lambda: fastfs.manifest_scores(X, y, n_threads=1),
                "two": lambda: fastfs.manifest_scores(X, y, n_threads=2),
            },
            repeats,
            warm_up=False,
        )
        report.row("one thread, wall", t["one"].text("wall"))
        report.row("two threads, wall", t["two"].text("wall"), note=harness.load())
        report.times("one thread / two threads, wall", t["one"], t["two"], clock="wall")


def error(report: Report, d: int, factor: float) -> None:
    """Largest error relative to the largest score, against the equations, at full rank."""
    X, y = normal_data(d)
    K1, K2 = authors.kernels(X, y, factor)
    condition = max(np.linalg.cond(K1), np.linalg.cond(K2))
    exact = equations(K1, K2)
    ours = fastfs.manifest_scores(X, y, sigma_factor=factor)
    worst = float(np.abs(ours - exact).max() / exact.max())
    report.row(
        f"error against eqs (2)-(4), factor {factor:g}", worst, at_most=1e-9, note=f"condition of K {condition:.0e}"
    )


def singular(report: Report) -> None:
    """A rank-deficient case: a wide kernel on duplicated features. Equations (2) and (3) do not exist here."""
    report.heading("rank-deficient kernels: d = 500, 100 features twice, median x 3")
    X, y = normal_data(400)
    X = np.hstack([X, X[:, :100]])
    K1, K2 = authors.kernels(X, y, 3.0)
    model = fastfs.ManiFeSt(sigma_factor=3.0, n_jobs=1).fit(X, y)
    exact = equations(K1 + 1e-9 * np.eye(500), K2 + 1e-9 * np.eye(500))
    report.row("rank_ of K1 + K2 (400 expected)", f"{model.rank_}")
    report.row(
        "twins get equal scores: largest difference", f"{np.abs(model.scores_[:100] - model.scores_[400:]).max():.0e}"
    )
    swapped = fastfs.manifest_scores(X, 1 - y, sigma_factor=3.0)
    top = model.scores_.max()
    report.row("change under class swap", f"{np.abs(model.scores_ - swapped).max() / top:.0e}")
    report.row("distance to eqs (2)-(4) with K + 1e-9 I", f"{np.abs(model.scores_ - exact).max() / top:.0e}")
    with harness.one_thread():
        t = harness.compare(
            {
                "fastfs": lambda: fastfs.manifest_scores(X, y, sigma_factor=3.0, n_threads=1),
                "SPSD": lambda: authors.spsd_scores(X, y, 3.0),
            },
            3,
        )
    report.row("fastfs, one thread, CPU", t["fastfs"].text())
    report.times("SPSD as published / fastfs", t["SPSD"], t["fastfs"])


# ------------------------------------------------------------------------------------------------------ what it finds


def xor_100(seed: int, N: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """100 fair coins; the label is the exclusive or of the first two."""
    X = np.random.default_rng(seed).integers(0, 2, (N, 100)).astype(np.float64)
    return X, (X[:, 0] != X[:, 1]).astype(int)


def hypercube(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """50 samples around the corners of a 10-dimensional cube, 190 further features of noise."""
    X, y = make_classification(
        n_samples=50,
        n_features=200,
        n_informative=10,
        n_redundant=0,
        n_clusters_per_class=2,
        class_sep=1,
        shuffle=False,
        random_state=seed,
    )
    return X, y


def found(scores: np.ndarray, useful: set[int]) -> int:
    """How many of the useful features are among as many top ones."""
    return len(useful & set(np.argsort(-scores)[: len(useful)].tolist()))


def quality(report: Report, seeds: int = 50) -> None:
    """Selection experiments with known answers."""
    report.heading(f"features found ({seeds} seeds)")
    for factor, target in ((0.1, float(seeds)), (0.5, None), (1.0, None)):
        hits = [found(fastfs.manifest_scores(*xor_100(s), sigma_factor=factor), {0, 1}) for s in range(seeds)]
        report.row(
            f"XOR-100, factor {factor}: runs with both on top", float(sum(h == 2 for h in hits)), at_least=target
        )
    for percentile, times, target in ((95.0, 3, 9.8), (95.0, 0, None), (90.0, 0, None)):
        hits = [
            found(
                fastfs.manifest_scores(*hypercube(s), sigma="percentile", sigma_percentile=percentile, normalize=times),
                set(range(10)),
            )
            for s in range(seeds)
        ]
        report.row(
            f"hypercube, percentile {percentile:g}, normalised {times}x: of 10",
            float(np.mean(hits)),
            at_least=target,
            note=f"median {np.median(hits):g}, least {min(hits)}",
        )
    folder = os.environ.get("FASTFS_TEST_DATA")
    if folder is None:
        print("Madelon skipped: FASTFS_TEST_DATA does not name a folder with madelon.npz")
        return
    data = np.load(Path(folder) / "madelon.npz")
    X = data["X"].astype(np.float64)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for factor, target in ((0.1, 20.0), (0.5, None), (1.0, None)):
        scores = fastfs.manifest_scores(X, data["y"], sigma_factor=factor)
        useful = np.isin(np.arange(len(scores)), list(MADELON_USEFUL))
        report.row(
            f"Madelon, factor {factor}: of 20",
            float(found(scores, MADELON_USEFUL)),
            at_least=target,
            note=f"least useful {scores[useful].min():.1e}, best of the others {scores[~useful].max():.1e}",
        )


def main() -> int:
    """Run the timings or the experiments; the exit code says whether every target was reached."""
    parser = argparse.ArgumentParser(description="exact ManiFeSt")
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 1000, 2000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quality", action="store_true", help="the selection experiments instead of the timings")
    args = parser.parse_args()
    harness.machine()
    report = Report()
    if args.quality:
        quality(report)
    else:
        for d in args.sizes:
            timing(report, d, args.repeats)
        singular(report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
