"""Defaults that once took 5 to 260 times as long as they needed to, against their targets.

    python -m benchmarks.bench_cliffs [--only cells stability ...] [--long]

``cells``: ``tl.manifest`` of 10^5 x 2000 sparse cells in memory. ``stability``: 50 subsamples against a loop of fits.
``command``: whole processes of ``fastfs score`` on text. ``pairs``: IMMIGRATE on 1000 features. ``skewed``: I-KDR on
lognormal values against normal ones, medians over five tables. ``report``: 199 permutations and 50 subsamples, four
classes of 63 x 2308 and two of 100 x 5000, with and without ManiFeSt.

CPU times of one thread, but for reports, which take two jobs; their targets are CPU times of twice the wall time that
was aimed at. ``--long`` adds the rows that take minutes: reports, and IMMIGRATE on 1600 samples.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import fastfs
from benchmarks import harness
from benchmarks.bench_defaults import as_cells, cpu_seconds, make_table
from benchmarks.harness import Report

N_SUBSAMPLES = 50


def cells(report: Report, long: bool) -> None:
    """Time `tl.manifest` of tall sparse cells."""
    import scipy.sparse as sp

    X = sp.random_array((100_000, 2000), density=0.05, format="csr", rng=0, dtype=np.float32)
    adata = as_cells(X, np.arange(X.shape[0]) % 2)
    report.row("tl.manifest, 10^5 x 2000, CSR at 5 %", cpu_seconds(lambda: fastfs.tl.manifest(adata, "label")),
               at_most=1.5, unit=" s")  # fmt: skip


def stability(report: Report, long: bool) -> None:
    """Time an analysis of stability against fits to as many halves of the samples."""
    for name, n, p in (
        ("ReliefF", 200, 2000), ("ReliefF", 100, 20_000), ("MultiSURF", 200, 2000), ("ProjSe", 100, 20_000),
        ("IM4E", 100, 5000), ("ManiFeSt", 100, 500),
    ):  # fmt: skip
        X, y = make_table(n, p)
        model = getattr(fastfs, name)(n_jobs=1)
        rng = np.random.default_rng(0)
        halves = [np.sort(rng.permutation(n)[: n // 2]) for _ in range(N_SUBSAMPLES)]

        def fit_halves(model: Any = model, X: np.ndarray = X, y: np.ndarray = y, halves: Any = halves) -> None:
            for rows in halves:
                model.fit(X[rows], y[rows])

        def analyse(model: Any = model, X: np.ndarray = X, y: np.ndarray = y) -> None:
            fastfs.stability(model, X, y, n_subsamples=N_SUBSAMPLES)

        with warnings.catch_warnings(), harness.one_thread():
            warnings.simplefilter("ignore")
            t = harness.compare({"stability": analyse, "loop": fit_halves}, 3)
        report.times(f"stability / loop, {name}, {n} x {p}", t["stability"], t["loop"], at_most=0.6)


def command(report: Report, long: bool) -> None:
    """Time `fastfs score` on text tables, start of the process included."""
    for n, p, at_most in ((62, 2000, 0.6), (200, 20_000, 0.8)):
        X, y = make_table(n, p)
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder, "table.csv")
            with table.open("w") as file:
                file.write("label," + ",".join(f"f{j}" for j in range(p)) + "\n")
                for label, row in zip(y, X, strict=True):
                    file.write(f"{'ab'[label]}," + ",".join(f"{x:.6g}" for x in row) + "\n")
            process = [sys.executable, "-m", "fastfs", "score", str(table), "--label", "label", "--method", "relieff",
                       "--threads", "1"]  # fmt: skip
            times = []
            for _ in range(5):
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                subprocess.run(process, check=True, capture_output=True)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        report.row(f"fastfs score, ReliefF, CSV of {n} x {p}", median(times), at_most=at_most, unit=" s")


def pairs(report: Report, long: bool) -> None:
    """Time IMMIGRATE, which compares all pairs of samples in all pairs of features."""
    for n in (1000, 1600) if long else (1000,):
        X, y = make_table(n, 1000)
        for dtype in (np.float64, np.float32):
            start = time.process_time()
            with warnings.catch_warnings(), harness.one_thread():
                warnings.simplefilter("ignore")
                fastfs.Immigrate(n_jobs=1).fit(X.astype(dtype), y)
            report.row(f"Immigrate, {n} x 1000, {np.dtype(dtype)}", time.process_time() - start, at_most=5, unit=" s")


def skewed(report: Report, long: bool) -> None:
    """Time I-KDR on skewed and on normal values."""
    times: dict[str, list[float]] = {"normal": [], "lognormal": []}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        y = np.arange(500) % 2
        X = rng.standard_normal((500, 1000), dtype=np.float32)
        X[:, :5] += y[:, None]
        for name, table in (("normal", X), ("lognormal", np.exp(X))):
            times[name].append(cpu_seconds(lambda table=table, y=y: fastfs.IKDR(n_jobs=1).fit(table, y)))
    one, other = (median(times[name]) for name in ("lognormal", "normal"))
    spread = ", ".join(f"{a / b:.1f}" for a, b in zip(times["lognormal"], times["normal"], strict=True))
    report.row("I-KDR, lognormal / normal, 500 x 1000", one / other, at_most=2, unit="x", note=f"by table: {spread}")


def reports(report: Report, long: bool) -> None:
    """Time whole reports."""
    if not long:
        return
    for (n, p, n_classes), minutes in (((63, 2308, 4), 2), ((100, 5000, 2), 4)):
        X, y = make_table(n, p, n_classes)
        with tempfile.TemporaryDirectory() as folder:
            np.savez(table := Path(folder, "table.npz"), X=X, y=y)
            call = f"fastfs.report({str(table)!r}, n_permutations=199, n_subsamples=50, n_jobs=2, methods={{}})"
            for methods, at_most in (
                (("multisurf", "projse"), 60),
                (("multisurf", "manifest", "projse"), 2 * 60 * minutes),
            ):
                import_all = "import fastfs, warnings; warnings.simplefilter('ignore')"
                took = harness.alone(import_all, call.format(methods))
                if isinstance(took, str):
                    raise SystemExit(took)
                report.row(f"report, {n} x {p}, {n_classes} classes, {' '.join(methods)}", took.cpu, at_most=at_most,
                           unit=" s", note=f"wall {took.wall:.0f} s; {harness.load()}")  # fmt: skip


PARTS: dict[str, Callable[[Report, bool], None]] = {
    "cells": cells, "stability": stability, "command": command, "pairs": pairs, "skewed": skewed, "report": reports,
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--long", action="store_true")
    arguments = parser.parse_args()
    harness.machine()
    report = Report()
    for name in arguments.only:
        report.heading(name)
        PARTS[name](report, arguments.long)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
