"""DiSC: `fastfs.disc` against the public algorithm in plain NumPy, and whole fits of wide data.

    python -m benchmarks.bench_disc [--repeats 3] [--large] [--choice] [--copies]

The public program (tests/reference/disc.py has its algorithm) takes all eigenvectors of the random walk by `eig`, forms
the projector with an inverse, and takes a full SVD. The floor of a whole fit on the neighbour graph is that of the
neighbours alone (see bench_neighbors): half of the product of all pairs of features, a set. --large adds 50,000
features. --choice compares the two graphs alone: rankings on real data if FASTFS_TEST_DATA names their folder, and
the times that decide for how many features graph="auto" is dense. --copies compares scores of equal features alone.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

import fastfs
from benchmarks import harness
from benchmarks.harness import Report

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from reference import disc as toys


def planted(n: int, p: int, seed: int = 0) -> list[np.ndarray]:
    """Two sets with ten blocks of both, and ten of each one's own, of 50 features; noise elsewhere."""
    rng = np.random.default_rng(seed)
    sets = [rng.standard_normal((n, p)).astype("f") for _ in range(2)]
    size = max(2, min(50, p // 40))
    for block in range(30):
        for s, X in enumerate(sets):
            if block % 3 in (s, 2):
                X[:, block * size : (block + 1) * size] += 2 * rng.standard_normal((n, 1)).astype("f")
    return sets


def dense(report: Report, repeats: int) -> None:
    """The method of the paper, one thread."""
    for p, least in ((250, 5.0), (1000, 40.0)):
        report.heading(f"dense, two sets of 100 samples, p = {p} features, one thread")
        sets = [X.astype(float) for X in planted(100, p)]
        with harness.one_thread():
            t = harness.compare(
                {
                    "fastfs": lambda sets=sets: fastfs.disc(sets, n_threads=1),  # type: ignore[misc]
                    "public algorithm in NumPy": lambda sets=sets: toys.public_algorithm(sets),  # type: ignore[misc]
                },
                repeats,
            )
        for who, timing in t.items():
            report.row(f"{who}, CPU", timing.text())
        report.times("public algorithm / fastfs, CPU", t["public algorithm in NumPy"], t["fastfs"], at_least=least)
        found = fastfs.disc(sets)
        expected = [sigma[:10] for sigma, _ in toys.public_algorithm(sets)]
        worst = float(np.abs(found.significance - expected).max())
        report.row("largest difference of a significance", worst, at_most=1e-10)


def whole(report: Report, p: int, most_seconds: float, repeats: int) -> None:
    """Neighbours, eigenvectors and singular vectors of two sets."""
    report.heading(f"knn, two sets of 100 samples, p = {p} features, 30 neighbours, float32")
    sets = planted(100, p)
    graph = {"graph": "knn", "n_threads": 2}
    t = harness.measure(lambda: fastfs.disc(sets, **graph), repeats, warm_up=p <= 20_000)  # type: ignore[arg-type]
    wall = float(np.median(t.wall))
    report.row("two threads, wall", wall, unit=" s", at_most=most_seconds, note=harness.load())
    report.row("the same, CPU", t.text())
    with harness.one_thread():
        rate = harness.gemm_rate(np.float32)
        alone = harness.measure(lambda: [fastfs.nearest_features(X, 30, n_threads=1) for X in sets], 1, warm_up=False)
    report.row("neighbours alone, one thread, CPU", alone.text())
    floor = 2 * float(p) ** 2 * 100 / rate
    report.row("half of the products of all pairs (floor)", harness.seconds(floor))
    report.row("whole, CPU / floor", float(np.median(t.cpu)) / floor, unit="x")
    setup = (
        "import warnings, numpy as np, fastfs\nwarnings.simplefilter('ignore')\n"
        f"sets = [np.random.default_rng(s).standard_normal((100, {p})).astype('f') for s in range(2)]\n"
        "fastfs.disc([X[:, :500] for X in sets], graph='knn')"
    )
    peak, above = harness.peak_memory(setup, "fastfs.disc(sets, graph='knn', n_threads=2)")
    report.row(
        "peak memory, NumPy and X in it", peak / 1e9, unit=" GB", at_most=1.0, note=f"{above / 1e6:.0f} MB above X"
    )


def choice(report: Report) -> None:
    """What decides how many features graph="auto" gives a dense graph."""
    for p in (1000, 2000, 4000, 6000, 8000):
        report.heading(f"dense against knn, two threads, p = {p} features, float64")
        noise = [np.random.default_rng(s).standard_normal((50, p)) for s in range(2)]
        for what, sets in (("two sets of 100", planted(100, p)), ("noise, two sets of 50", noise)):
            for graph in ("dense", "knn"):
                doubles = [X.astype(float) for X in sets]
                t = harness.measure(
                    lambda g=graph, s=doubles: fastfs.disc(s, graph=g, n_threads=2),  # type: ignore[misc]
                    1,
                    warm_up=False,
                )
                report.row(f"{what}, {graph}, CPU", t.text())


def agreement(report: Report, folder: Path) -> None:
    """How alike the rankings of the dense graph and of 30 neighbours are, on real data."""
    for name in ("colon", "srbct_khan", "glioma"):
        with np.load(folder / f"{name}.npz", allow_pickle=False) as data:
            X, y = data["X"].astype(float), data["y"]
        report.heading(f"rankings of dense and knn: {name}, {X.shape[0]} x {X.shape[1]}")
        dense, knn = (fastfs.DiSC(graph=graph, scaling="standard").fit(X, y) for graph in ("dense", "knn"))
        report.row("rank correlation of the scores", float(spearmanr(dense.scores_, knn.scores_)[0]))
        for best in (50, 200):
            both = (dense.ranking_ <= best) & (knn.ranking_ <= best)
            report.row(f"of the {best} best in both", float(both.sum()) / best)


def copies(report: Report, tables: int = 20) -> None:
    """Scores of features and of their copies on the neighbour graph, where either may be the last neighbour."""
    report.heading("copies of 8 of 90 features, two sets of 20 samples, K = 10: scores of the copies")
    draws: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
        "numbers": lambda rng: rng.normal(size=(40, 90)),
        "counts": lambda rng: rng.poisson(2.0, size=(40, 90)),
        "bits": lambda rng: rng.integers(0, 2, size=(40, 90)),
    }
    for name, draw in draws.items():
        apart, times = [], []
        for seed in range(tables):
            rng = np.random.default_rng(seed)
            X, copied = draw(rng), rng.choice(90, 8, replace=False)
            X, order = np.hstack([X, X[:, copied]]).astype(float), rng.permutation(98)
            model = fastfs.DiSC(n_components=6, bandwidth_neighbors=10, n_neighbors=10, graph="knn")
            scores = np.empty(98)
            scores[order] = model.fit(X[:, order], np.arange(40) % 2).scores_
            one, other = scores[90:], scores[copied]
            apart.append(float(np.abs(one - other).max() / np.abs(scores).max()))
            times.append(float(np.max(np.maximum(one, other) / np.minimum(one, other))))
        report.row(f"{name}: largest difference, of the largest score", max(apart), at_most=1e-9)
        report.row(f"{name}: tables with other scores", f"{sum(a > 1e-9 for a in apart)} of {tables}")
        report.row(f"{name}: largest ratio", f"{max(times):.3f}")


def main() -> int:
    """Run all."""
    parser = argparse.ArgumentParser(description="DiSC's times")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--choice", action="store_true", help="only dense against knn, for both times and rankings")
    parser.add_argument("--copies", action="store_true", help="only the scores of copies of features")
    parser.add_argument("--large", action="store_true", help="50,000 features, too")
    options = parser.parse_args()
    harness.machine()
    warnings.simplefilter("ignore", fastfs.DataWarning)  # noise has small gaps and flat tails
    report = Report()
    if options.copies:
        copies(report)
        return report.finish()
    if options.choice:
        if "FASTFS_TEST_DATA" in os.environ:
            agreement(report, Path(os.environ["FASTFS_TEST_DATA"]))
        choice(report)
        return report.finish()
    dense(report, options.repeats)
    whole(report, 20_000, 5.0, options.repeats)
    if options.large:
        whole(report, 50_000, 25.0, 1)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
