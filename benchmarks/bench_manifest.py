"""Exact ManiFeSt: time, memory and error against the authors' algorithms and the floor.

    python -m benchmarks.bench_manifest [--sizes 500 1000 2000] [--repeats 3]

The peers are `baselines.manifest`: the authors' published algorithms in NumPy on the BLAS that fastfs uses. The floor
is two ``dsyevd``: of L^-1 (K1 - K2) L^-T and of D, the matrices that have to be diagonalised, measured in turn with the
candidates. What ManiFeSt finds is in `benchmarks.papers.manifest`.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from scipy import linalg
from tests.reference import manifest as reference

import fastfs
from benchmarks import harness
from benchmarks.baselines import manifest as authors
from benchmarks.harness import Report
from fastfs._functions import manifest as _manifest
from fastfs._machine.run import Run


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
    report.row("kernel_rank_ of K1 + K2 (400 expected)", f"{model.kernel_rank_}")
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


def forms(report: Report) -> None:
    """The compatibility modes against the authors' algorithms, thresholds included, at full rank."""
    report.heading("forms: d = 500 and 1000, median x 0.5, full rank")
    for d in (500, 1000):
        X, y = normal_data(d)
        for form, peer in (("spsd", authors.spsd_scores), ("spd", authors.spd_scores)):
            expected = peer(X, y)
            found = fastfs.manifest_scores(X, y, form=form)
            worst = float(np.abs(found - expected).max() / expected.max())
            report.row(f"{form}, d = {d}: error against the authors' algorithm", worst, at_most=1e-9)


def classes(report: Report) -> None:
    """Ten classes of 100 samples, 784 features: each against the rest, and permuted labels of two classes."""
    report.heading("one-vs-rest: 10 classes, d = 784, N = 1000, one thread; permutations of two classes")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 784)), np.arange(1000) % 10
    two = (y == 0).astype(np.int64)
    kept = _manifest.ManiFeStStage([X], Run(1), keep_distances=True)
    options = _manifest.ManiFeStOptions.from_arguments(fastfs.ManiFeSt())
    t = harness.compare(
        {
            "one": lambda: fastfs.manifest_scores(X, two, n_threads=1),
            "ten": lambda: fastfs.manifest_scores(X, y, n_threads=1),
            "permuted": lambda: kept.fit(rng.permutation(two), np.array([0, 1]), options).result,
        },
        3,
    )
    report.row("one solve, CPU", t["one"].text())
    report.times("one-vs-rest / one solve", t["ten"], t["one"], at_most=11.0)
    report.times("permuted labels, distances kept / one solve", t["permuted"], t["one"])


def main() -> int:
    """Run the timings; the exit code says whether every target was reached."""
    parser = argparse.ArgumentParser(description="exact ManiFeSt")
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 1000, 2000])
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    harness.machine()
    report = Report()
    for d in args.sizes:
        timing(report, d, args.repeats)
    singular(report)
    forms(report)
    classes(report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
