"""RELIEF, ReliefF and MultiSURF: the distance kernel against its floor, the methods against fast-select and skrebate.

    python -m pip install fast-select==0.3.0 skrebate==0.8.4        # the peers; what is missing is left out
    python -m benchmarks.bench_relief [--repeats 5] [--skrebate] [--million]

Floors:

* Manhattan distances: a pair of samples costs a subtraction, an absolute value and an addition per feature, where a
  matrix product costs one multiply-add. On Zen 4, which has four vector units and multiplies in two of them, that is
  1.5 times the product's time at least. N (N - 1) / 2 pairs, at the rate of SciPy's gemm;
* ReliefF: these, and the differences of the 2 k neighbours of each sample at the same rate; MultiSURF: these, and
  those of all pairs, of which every second one is near for one of its samples or the other;
* RELIEF: SYRK of SciPy's BLAS on the same matrix, the Gram that its distances could be made of.

The peers scale to [0, 1] as we do, meet no ties in these data, and take a feature for discrete only if it has at most
10 distinct values; fast-select computes in float32 whatever it gets, and is compiled before the clock starts.
``--skrebate`` takes two minutes. ``--million`` scores 10^6 features of 200 samples in a fresh process: 0.8 GB.
"""

from __future__ import annotations

import argparse
import functools
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from scipy.linalg import blas

import fastfs
from benchmarks import harness
from benchmarks.baselines import relief as plain
from benchmarks.harness import Report, Timing
from fastfs._functions.margin import MarginStage
from fastfs._machine.run import Run

K = 10


def classes(n: int, n_features: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two classes of normal features; ten of them differ in the mean."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, n_features), dtype=np.float32)
    y = rng.permutation(np.arange(n) % 2)
    X[:, :10] += y[:, None]
    return X.astype(dtype), y


def fast_select(method: str) -> Callable[[np.ndarray, np.ndarray], np.ndarray] | None:
    """A function that gives fast-select's scores, compiled, or None."""
    try:
        import fast_select as fs
    except ImportError:
        return None

    def scores(X: np.ndarray, y: np.ndarray) -> np.ndarray:
        common = {"n_features_to_select": 10, "backend": "cpu", "n_jobs": 1}
        model = fs.ReliefF(n_neighbors=K, **common) if method == "ReliefF" else fs.MultiSURF(**common)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(model.fit(X, y).feature_importances_)

    scores(*classes(40, 20, np.float32))
    return scores


def ours(method: str, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Scores on one thread."""
    if method == "ReliefF":
        return fastfs.relieff_scores(X, y, n_neighbors=K, n_threads=1)
    return fastfs.multisurf_scores(X, y, n_threads=1)


def distance_seconds(X: np.ndarray, keep: str, repeats: int, **options: Any) -> Timing:
    """CPU times of all distances: of the label-free stage with them, less without."""
    options = {"scaling": "range"} | options
    t = harness.compare(
        {
            "all": lambda: MarginStage(X, options, Run(1), keep).core_margin,
            "rest": lambda: MarginStage(X, options, Run(1)).core_margin,
        },
        repeats,
    )
    return Timing(cpu=[a - b for a, b in zip(t["all"].cpu, t["rest"].cpu, strict=True)])


def pair_features(n: int, n_features: int) -> float:
    """How many differences all pairs of samples have."""
    return n * (n - 1) / 2 * n_features


_RATE = """
import numpy as np
from benchmarks import bench_relief as b
X = b.classes(1000, 5000, np.{dtype})[0]
print(b.pair_features(*X.shape) / min(b.distance_seconds(X, "manhattan", 5).cpu))
"""


@functools.cache
def difference_rate(dtype: str) -> float:
    """The most differences a second that the head of this file counts with."""
    with harness.one_thread():
        return harness.gemm_rate(dtype) / 2 / 1.5


@functools.cache
def exact(method: str, n: int, n_features: int) -> np.ndarray:
    """Scores by plain NumPy."""
    X, y = classes(n, n_features, np.float64)
    return plain.relieff(X, y, K) if method == "ReliefF" else plain.multisurf(X, y)


def kernel(report: Report, repeats: int) -> None:
    """Manhattan distances by instruction set, packing and storing included."""
    report.heading("Manhattan distances, 1000 x 5000, G pair-features a second: the best of several runs")
    for dtype, target in (("float32", 25.0), ("float64", 12.0)):
        floor = difference_rate(dtype)
        for isa in ("avx512", "avx2", "base"):
            done = subprocess.run(
                [sys.executable, "-c", _RATE.format(dtype=dtype)],
                capture_output=True,
                text=True,
                env=os.environ | {"FASTFS_ISA": isa, "FASTFS_NUM_THREADS": "1"},
            )
            if done.returncode != 0:
                report.row(f"{dtype}, {isa}", "-", note="not on this machine")
                continue
            rate = float(done.stdout) / 1e9
            note = f"floor {floor / 1e9:.1f}; {harness.load()}" if isa == "avx512" else ""
            report.row(f"{dtype}, {isa}", rate, at_least=target if isa == "avx512" else None, note=note)


def method(report: Report, name: str, n: int, n_features: int, dtype: str, repeats: int, at_least: float) -> None:
    """One method on one shape, against its floor and fast-select."""
    report.heading(f"{name}, {n} x {n_features}, {dtype}")
    X, y = classes(n, n_features, dtype)
    peer = fast_select(name)
    candidates: dict[str, Callable[[], Any]] = {"fastfs": lambda: ours(name, X, y)}
    if peer is not None:
        candidates["fast-select"] = lambda: peer(X, y)
    t = harness.compare(candidates, repeats)
    second = 2 * K * n * n_features if name == "ReliefF" else pair_features(n, n_features)
    floor = (pair_features(n, n_features) + second) / difference_rate(dtype)
    report.row("fastfs, CPU", t["fastfs"].text(), note=harness.load())
    report.row("fastfs / floor", median(t["fastfs"].cpu) / floor, unit="x", note=f"floor {harness.seconds(floor)}")
    found, right = ours(name, X, y), exact(name, n, n_features)
    report.row(
        "largest difference from plain NumPy, float64",
        float(np.abs(found - right).max()),
        at_most=1e-12 if dtype == "float64" else 1e-6,
    )
    if peer is None:
        print("fast-select isn't installed")
        return
    report.row("fast-select, warm, CPU", t["fast-select"].text())
    report.times("fast-select / fastfs", t["fast-select"], t["fastfs"], at_least=at_least)
    theirs = peer(X, y)
    report.row("difference of fast-select from plain NumPy", f"{np.abs(theirs - right).max():.1e}")
    report.row("difference of fast-select from fastfs", f"{np.abs(theirs - found).max():.1e}")


def relief(report: Report, repeats: int) -> None:
    """RELIEF against SYRK."""
    for dtype, syrk in (("float32", blas.ssyrk), ("float64", blas.dsyrk)):
        report.heading(f"RELIEF, 1000 x 5000, {dtype}")
        X, y = classes(1000, 5000, dtype)
        with harness.one_thread():
            t = harness.compare(
                {
                    "fastfs": lambda X=X, y=y: fastfs.relief_scores(X, y, n_threads=1),
                    "SYRK": lambda X=X, syrk=syrk: syrk(1.0, X.T, trans=1, lower=1),
                },
                repeats,
            )
        report.row("fastfs, CPU", t["fastfs"].text(), note=f"SYRK {t['SYRK'].text()}; {harness.load()}")
        report.times("fastfs / SYRK (floor)", t["fastfs"], t["SYRK"], at_most=1.5)


def skrebate(report: Report) -> None:
    """Once: it takes a minute."""
    report.heading("skrebate's ReliefF, 200 x 20,000, k = 10")
    try:
        from skrebate import ReliefF
    except ImportError:
        print("skipped: skrebate isn't installed")
        return
    X, y = classes(200, 20_000, np.float32)
    model = ReliefF(n_features_to_select=10, n_neighbors=K, n_jobs=1)
    t, mine = Timing(), Timing()
    t.add(lambda: model.fit(X.astype(np.float64), y))
    for _ in range(5):
        mine.add(lambda: ours("ReliefF", X, y))
    report.row("skrebate, CPU", t.text(), note=f"fastfs {mine.text()}, float32")
    report.row("skrebate / fastfs", t.cpu[0] / median(mine.cpu), unit="x", at_least=500)
    difference = np.abs(model.feature_importances_ - ours("ReliefF", X.astype(np.float64), y)).max()
    report.row("difference from fastfs in float64", float(difference), at_most=1e-6)


_MILLION = """
import numpy as np, fastfs
rng = np.random.default_rng(0)
X = rng.standard_normal((200, 10**6), dtype=np.float32)
y = np.arange(200) % 2
"""


def million(report: Report) -> None:
    """10^6 features."""
    report.heading("ReliefF, 200 x 1,000,000, float32")
    whole, above = harness.peak_memory(_MILLION, "fastfs.relieff_scores(X, y, n_threads=1)")
    report.row(
        "peak memory, data included", whole / 1e9, unit=" GB", at_most=2.0, note=f"{above / 1e6:.0f} MB above it"
    )
    X, y = classes(200, 10**6, np.float32)
    t = harness.measure(lambda: ours("ReliefF", X, y), 2, warm_up=False)
    report.row("fastfs, CPU", t.text(), note=harness.load())


def threads(report: Report) -> None:
    """One thread against two, wall time."""
    report.heading("two threads, ReliefF, 1000 x 5000, float32")
    X, y = classes(1000, 5000, np.float32)
    t = harness.compare(
        {
            "one": lambda: fastfs.relieff_scores(X, y, n_threads=1),
            "two": lambda: fastfs.relieff_scores(X, y, n_threads=2),
        },
        7,
    )
    report.times("one thread / two threads, wall", t["one"], t["two"], clock="wall")
    report.row("load", harness.load())


def main() -> int:
    """Run all; the exit code says whether every target was reached."""
    parser = argparse.ArgumentParser(description="RELIEF, ReliefF, MultiSURF")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--skrebate", action="store_true")
    parser.add_argument("--million", action="store_true")
    args = parser.parse_args()
    harness.machine()
    report = Report()
    kernel(report, args.repeats)
    method(report, "ReliefF", 1000, 5000, "float32", args.repeats, at_least=5.0)
    method(report, "ReliefF", 1000, 5000, "float64", args.repeats, at_least=3.0)
    method(report, "ReliefF", 200, 20_000, "float32", args.repeats, at_least=3.0)
    method(report, "MultiSURF", 1000, 5000, "float32", args.repeats, at_least=6.0)
    method(report, "MultiSURF", 1000, 5000, "float64", args.repeats, at_least=3.5)
    relief(report, args.repeats)
    if harness.cores() >= 2:
        threads(report)
    if args.skrebate:
        skrebate(report)
    if args.million:
        million(report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
