"""Defaults have no cliffs: CPU seconds of every method as a user calls it first, from small to large tables.

    python -m benchmarks.bench_defaults [--only ReliefF ...] [--limit 20] [--classes] [--tests] [--threads]

Each method runs at its defaults, on one thread, on tables whose samples and features double from cell to cell: standard
normal values, two equal classes, and a shift of one standard deviation in five features. A ratio is the time of a cell
over that of the cell with half as many samples, or features. Work that grows with the square of a size doubles twice,
so 4 is in order; the target is 4.5 for every pair of neighbours in which the larger cell takes 0.1 s. A cell isn't run
if its smaller neighbours make it likely to take more than ``--limit`` seconds.

``--classes`` times 2, 4 and 16 classes at 400 x 2000 in place of the grid. ``--tests`` times what calls the methods
many times: ``permutation_test`` and ``stability`` of each method, ``report``, and ``tl``, along one line of sizes.
``--threads`` shows how much wall time two threads save each method.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import fastfs
from benchmarks import harness
from benchmarks.harness import Report

METHODS = (
    "Relief",
    "ReliefF",
    "SURF",
    "MultiSURF",
    "SWRF",
    "MuRelief",
    "RReliefF",
    "IM4E",
    "Immigrate",
    "ManiFeSt",
    "ProjSe",
    "DiSC",
    "IKDR",
)
SAMPLES = (60, 120, 240, 480, 960, 1920, 3840)
FEATURES = (500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000)
MOST_RATIO, COUNTED_FROM = 4.5, 0.1
SIZES_OF_THREADS = ((200, 20_000), (400, 2000), (100, 1000))

# Sizes of the tests, which a user runs on tables of tens to hundreds of samples.
LINE = ((60, 500), (60, 1000), (60, 2000), (60, 4000), (60, 8000), (60, 16_000))


def make_table(n_samples: int, n_features: int, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return normal values with five shifted features, and balanced classes."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n_samples, n_features)), np.arange(n_samples) % n_classes
    X[:, :5] += y[:, None]
    return X, y


def cpu_seconds(call: Callable[[], Any]) -> float:
    """Return the CPU time of a call: the least of two, or of three if it is short.

    The first call also pays for the system's clearing of memory: 0.1 to 0.4 s for 100 MB.
    """
    timing = harness.Timing()
    with warnings.catch_warnings(), harness.one_thread():
        warnings.simplefilter("ignore")
        timing.add(call)
        timing.add(call)
        if timing.cpu[0] < 1:
            timing.add(call)
    return min(timing.cpu)


def fit_seconds(name: str, n_samples: int, n_features: int, n_classes: int = 2) -> float:
    """Return the CPU time of a fit at the defaults."""
    X, y = make_table(n_samples, n_features, n_classes)
    model = getattr(fastfs, name)(n_jobs=1)
    target = X[:, 0] + y if name == "RReliefF" else y
    return cpu_seconds(lambda: model.fit(X, target))


def neighbours(times: Mapping[tuple[int, int], float]) -> dict[tuple[int, int], float]:
    """Return for each cell the largest ratio to a cell with half the samples or half the features."""
    ratios = {}
    for (n, p), seconds in times.items():
        smaller = [times[cell] for cell in ((n // 2, p), (n, p // 2)) if cell in times]
        if smaller and seconds >= COUNTED_FROM:
            ratios[n, p] = max(seconds / one for one in smaller)
    return ratios


def run_grid(name: str, limit: float) -> dict[tuple[int, int], float]:
    """Return the CPU times of the cells of a method that are likely to stay below the limit."""
    times: dict[tuple[int, int], float] = {}
    for n, p in sorted(itertools.product(SAMPLES, FEATURES), key=lambda cell: (cell[0] * cell[1], cell)):
        smaller = [cell for cell in ((n // 2, p), (n, p // 2)) if cell[0] >= SAMPLES[0] and cell[1] >= FEATURES[0]]
        if all(cell in times and MOST_RATIO * times[cell] < limit for cell in smaller):
            times[n, p] = fit_seconds(name, n, p)
    return times


def print_grid(name: str, times: Mapping[tuple[int, int], float]) -> None:
    """Print the times of a method as a table of samples x features."""
    print(f"{name}: CPU seconds of one thread\n{'':>8}" + "".join(f"{p:>9}" for p in FEATURES))
    for n in SAMPLES:
        cells = [f"{times[n, p]:9.3f}" if (n, p) in times else f"{'-':>9}" for p in FEATURES]
        print(f"{n:>8}" + "".join(cells))


def report_ratio(report: Report, name: str, times: Mapping[tuple[int, int], float]) -> None:
    """Add the largest ratio between neighbouring sizes to the report."""
    ratios = neighbours(times)
    if not ratios:
        report.row(
            f"{name}: largest ratio between neighbours", "none", note=f"all cells take less than {COUNTED_FROM} s"
        )
        return
    cell = max(ratios, key=lambda key: ratios[key])
    report.row(
        f"{name}: largest ratio between neighbours",
        ratios[cell],
        at_most=MOST_RATIO,
        note=f"{cell[0]} x {cell[1]}, {times[cell]:.2f} s",
    )


def run_classes(report: Report, name: str) -> None:
    """Add the times of 2, 4 and 16 classes, each of at least 25 samples."""
    times = {k: fit_seconds(name, 400, 2000, k) for k in (2, 4, 16)}
    report.row(f"{name}, 400 x 2000, 2 / 4 / 16 classes", " / ".join(f"{t:.3f}" for t in times.values()) + " s")


def run_threads(report: Report, name: str) -> None:
    """Add the ratios of the wall times of one thread and of two, at sizes that one thread ends within ten seconds."""
    for n, p in SIZES_OF_THREADS:
        X, y = make_table(n, p)
        target = X[:, 0] + y if name == "RReliefF" else y

        def fit(n_jobs: int, X: np.ndarray = X, target: np.ndarray = target) -> None:
            getattr(fastfs, name)(n_jobs=n_jobs).fit(X, target)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first = harness.measure(lambda: fit(1), 1, warm_up=False)
            if first.wall[0] > 10:
                continue
            t = harness.compare({"one": lambda: fit(1), "two": lambda: fit(2)}, 7 if first.wall[0] < 1 else 3)
        report.times(f"{name}, {n} x {p}, one thread / two", t["one"], t["two"], clock="wall")
    report.row("load", harness.load())


def tests() -> dict[str, Callable[[np.ndarray, np.ndarray], Any]]:
    """Return the calls of `--tests` by name."""
    calls: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {}
    for name in METHODS:
        if name == "RReliefF":
            continue
        make = getattr(fastfs, name)
        calls[f"permutation_test({name})"] = lambda X, y, make=make: fastfs.permutation_test(
            make(n_jobs=1), X, y, n_permutations=99
        )
        calls[f"stability({name})"] = lambda X, y, make=make: fastfs.stability(make(n_jobs=1), X, y)
    calls["report"] = lambda X, y: fastfs.report(X, y, n_jobs=1)
    for name in ("manifest", "relieff", "projse"):
        calls[f"tl.{name}"] = lambda X, y, name=name: getattr(fastfs.tl, name)(as_cells(X, y), "label")
    return calls


def as_cells(X: np.ndarray, y: np.ndarray) -> Any:
    """Return a table as AnnData."""
    import anndata

    cells = anndata.AnnData(X)
    cells.obs["label"] = np.array(["a", "b"])[y]
    return cells


def run_tests(report: Report, only: list[str], limit: float) -> None:
    """Add the times of the tests along the line of sizes."""
    for name, call in tests().items():
        if only and not any(one in name for one in only):
            continue
        times: dict[tuple[int, int], float] = {}
        for n, p in LINE:
            if times and 2 * times[n, p // 2] > limit:
                break
            X, y = make_table(n, p)
            start = time.process_time()
            with warnings.catch_warnings(), harness.one_thread():
                warnings.simplefilter("ignore")
                call(X, y)
            times[n, p] = time.process_time() - start
        report.row(name, ", ".join(f"{n} x {p}: {seconds:.2f} s" for (n, p), seconds in times.items()))
        report_ratio(report, name, times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], metavar="METHOD")
    parser.add_argument("--limit", type=float, default=20, metavar="SECONDS")
    parser.add_argument("--classes", action="store_true")
    parser.add_argument("--tests", action="store_true")
    parser.add_argument("--threads", action="store_true")
    arguments = parser.parse_args()
    harness.machine()
    report = Report()
    if arguments.tests:
        run_tests(report, arguments.only, arguments.limit)
        return report.finish()
    for name in METHODS:
        if arguments.only and name not in arguments.only:
            continue
        if arguments.classes or arguments.threads:
            (run_classes if arguments.classes else run_threads)(report, name)
            continue
        times = run_grid(name, arguments.limit)
        print_grid(name, times)
        report_ratio(report, name, times)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
