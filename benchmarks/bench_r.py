"""The R package: what a call costs beside Python's, and IMMIGRATE beside the arithmetic of the R package `Immigrate`.

    python -m benchmarks.bench_r LIBRARY [--repeats 9]

LIBRARY is the folder of R's libraries that has fastfs (``R CMD INSTALL --library=LIBRARY ...``). R and Python are two
processes that take turns; each turn is a batch of calls, and a time is CPU time on one thread.

`Immigrate` 0.2.1 can't be had here, neither from Debian nor from CRAN. Its arithmetic is run again (bench_r.c): d'W d
and g d d' for each ordered pair of samples, 4 N^2 A^2 flops an iteration, by R's own BLAS, without the update of W. The
times of the package itself, 0.75 and 1.95 s, are of trials on another machine (AVX-512).
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np

import fastfs
from benchmarks import harness
from benchmarks.bench_immigrate import fit, two_classes
from benchmarks.harness import Report

HERE = Path(__file__).parent
PUBLISHED = {(200, 60): 0.75, (500, 30): 1.95}


class R:
    """A process of R that runs one line after another and says how much CPU time each took."""

    def __init__(self, library: Path, folder: Path) -> None:
        shutil.copy(HERE / "bench_r.c", folder)
        subprocess.run(["R", "CMD", "SHLIB", "bench_r.c"], cwd=folder, check=True, capture_output=True)
        command = ["Rscript", str(HERE / "bench_r.R"), str(library), str(folder)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def seconds(self, code: str) -> float:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(code + "\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


def save(folder: Path, X: np.ndarray, y: np.ndarray) -> None:
    (folder / "x.f64").write_bytes(np.asarray(X, dtype="<f8").tobytes(order="F"))
    (folder / "y.f64").write_bytes(np.asarray(y, dtype="<f8").tobytes())


def python_seconds(call: Callable[[], Any], calls: int) -> float:
    start = process_time()
    for _ in range(calls):
        call()
    return process_time() - start


def overhead(report: Report, r: R, folder: Path, repeats: int) -> None:
    """Whole calls, in turns. R's and those of the estimators find scores and a ranking, the functions scores only."""
    report.heading("calls on 62 x 2000 doubles, one thread, CPU")
    X, y = two_classes(62, 2000, 20)
    X = np.asfortranarray(X)
    save(folder, X, y)
    r.seconds("read(62)")
    for name, calls, ours, estimator, function in (
        (
            "relieff",
            50,
            "relieff(x, y, n_threads = 1)",
            lambda: fastfs.ReliefF(n_jobs=1).fit(X, y),
            lambda: fastfs.relieff_scores(X, y, n_threads=1),
        ),
        (
            "projse",
            50,
            "projse(x, y, 1, n_threads = 1)",
            lambda: fastfs.ProjSe(1, n_jobs=1).fit(X, y),
            lambda: fastfs.projse(X, y, n_features_to_select=1, n_threads=1),
        ),
        (
            "im4e",
            20,
            "im4e(x, y, n_threads = 1)",
            lambda: fastfs.IM4E(n_jobs=1).fit(X, y),
            lambda: fastfs.im4e(X, y, n_threads=1),
        ),
    ):
        times: dict[str, list[float]] = {"R": [], "Python's estimator": [], "Python's function": []}
        for turn in range(-1, repeats):
            found = [r.seconds(f"for (i in 1:{calls}) {ours}")]
            found += [python_seconds(theirs, calls) for theirs in (estimator, function)]
            if turn >= 0:
                for kept, time in zip(times.values(), found, strict=True):
                    kept.append(time / calls)
        for caller, kept in times.items():
            report.row(f"{name} by {caller}", harness.seconds(median(kept)))
        for caller, limit in (("Python's estimator", 1.05), ("Python's function", None)):
            ratios = [a / b for a, b in zip(times["R"], times[caller], strict=True)]
            report.row(f"{name}, R / {caller}", median(ratios), unit="x", at_most=limit)


def immigrate(report: Report, r: R, folder: Path, n: int, n_features: int, repeats: int) -> None:
    """Ten iterations."""
    report.heading(f"IMMIGRATE, 10 iterations, {n} x {n_features}, one thread, CPU")
    X, y = two_classes(n, n_features, 1)
    save(folder, X, y)
    r.seconds(f"read({n})")
    ours = "immigrate(x, y, sigma = 1, tol = 0, prefilter = NULL, scaling = NULL, n_threads = 1)"
    times: dict[str, list[float]] = {"fastfs": [], "package": []}
    for _ in range(repeats):
        times["fastfs"].append(r.seconds(ours))
        times["package"].append(r.seconds("package_arithmetic(x, y, 10)"))
    report.row("fastfs from R", harness.seconds(median(times["fastfs"])))
    python = median(python_seconds(lambda: fit(X, y, 10), 1) for _ in range(repeats))
    report.row("fastfs from Python", harness.seconds(python))
    report.row("arithmetic of the package, run here", harness.seconds(median(times["package"])))
    ratios = [b / a for a, b in zip(*times.values(), strict=True)]
    report.row("the package's arithmetic / fastfs", median(ratios), unit="x", at_least=8.0)
    published = PUBLISHED[n, n_features]
    report.row("the package's time of the trials / fastfs", published / median(times["fastfs"]), unit="x")


def main() -> int:
    """Run all; the exit code says whether every target was reached."""
    parser = argparse.ArgumentParser(description="the R package")
    parser.add_argument("library", type=Path)
    parser.add_argument("--repeats", type=int, default=9)
    args = parser.parse_args()
    harness.machine()
    report = Report()
    with tempfile.TemporaryDirectory() as name, harness.one_thread():
        folder = Path(name)
        r = R(args.library, folder)
        overhead(report, r, folder, args.repeats)
        for n, n_features in PUBLISHED:
            immigrate(report, r, folder, n, n_features, args.repeats)
        r.close()
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
