"""How long Ctrl-C takes: from SIGINT to KeyboardInterrupt.

    python -m benchmarks.bench_interrupt [--repeats 10] [--eigen]

The signal is sent at a random moment of a call that would run for seconds. LAPACK cannot be stopped, so large problems
are given to it in parts; --eigen runs only the calls that are mostly eigenproblems.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse as sp

import fastfs
from benchmarks import harness
from benchmarks.harness import Report


def latency(call: Callable[[], Any], delay: float) -> float | None:
    """Seconds from the signal, sent `delay` seconds after the start, to the exception; None if the call ended first."""
    sent = [0.0]
    finished = False

    def send() -> None:
        sent[0] = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(delay, send)
    timer.start()
    try:
        call()
        finished = True
        time.sleep(delay + 1)  # take the late signal here, or it would hit the next call
    except KeyboardInterrupt:
        caught = time.perf_counter()
    timer.join()
    return None if finished else caught - sent[0]


def group(report: Report, what: str, call: Callable[[], Any], repeats: int, *, at_most: float | None) -> None:
    """Time the whole call once, then interrupt it at random moments of its middle part."""
    start = time.perf_counter()
    call()
    whole = time.perf_counter() - start
    moments = np.random.default_rng(0).uniform(0.05, 0.8, repeats) * whole
    times = [t for delay in moments if (t := latency(call, float(delay))) is not None]
    report.heading(f"{what} (whole call {harness.seconds(whole)})")
    if not times:
        report.row("latency", "never caught", note="the call ended before the signal")
        return
    report.row("largest latency", max(times), unit=" s", at_most=at_most, note=f"of {len(times)}, {harness.load()}")
    report.row("median latency", median(times), unit=" s")


def of_kernels(report: Report, repeats: int) -> None:
    """Where the work is fastfs's own."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 10_000))
    V = rng.standard_normal((10_000, 50))
    for threads in sorted({1, harness.cores()}):
        group(
            report,
            f"affinity of 10,000 features, N = 3000, threads = {threads}",
            lambda n=threads: fastfs.affinity(X, sigma=50.0, n_threads=n),
            repeats,
            at_most=0.2,
        )
        group(
            report,
            f"affinity_product, the same data, 50 columns, threads = {threads}",
            lambda n=threads: fastfs.affinity_product(X, V, sigma=50.0, n_threads=n),
            repeats,
            at_most=0.2,
        )
    narrow = rng.standard_normal((6_000_000, 8)) + 1e6
    for threads in sorted({1, harness.cores()}):
        group(
            report,
            f"affinity of 8 features with one offset, N = 6 10^6, threads = {threads}",
            lambda n=threads: fastfs.affinity(narrow, kernel="sqeuclidean", n_threads=n),
            repeats,
            at_most=0.2,
        )
    A = rng.standard_normal((1_000_000, 200), dtype=np.float32)
    counts = sp.random(20_000, 20_000, 0.05, format="csr", random_state=0)
    targets = rng.standard_normal((20_000, 50))
    R = rng.standard_normal((200, 200_000))
    identity, diagonal = np.eye(200), (R**2).sum(axis=0)
    for threads in sorted({1, harness.cores()}):
        group(
            report,
            f"ProjSe, 10^6 x (100 + 100), threads = {threads}",
            lambda n=threads: fastfs.projse(A[:, :100], A[:, 100:], n_threads=n),
            repeats,
            at_most=0.2,
        )
        group(
            report,
            f"ProjSe, CSR of 20,000 x 20,000 at 5 %, 50 targets, threads = {threads}",
            lambda n=threads: fastfs.projse(counts, targets, n_threads=n),
            repeats,
            at_most=0.2,
        )
        group(
            report,
            f"ProjSe, the choice among 200,000 columns, 200 steps, threads = {threads}",
            lambda n=threads: fastfs.projse_from_kernels(
                identity, R, diagonal, n_features_to_select=200, normalize=False, n_threads=n
            ),
            repeats,
            at_most=0.2,
        )


def of_eigenproblems(report: Report, repeats: int) -> None:
    """Where LAPACK does much of the work."""
    rng = np.random.default_rng(0)
    Z, y = rng.standard_normal((60, 4000)), np.arange(60) % 2
    X, labels = rng.standard_normal((200, 6000)), np.arange(200) % 2
    for threads in sorted({1, harness.cores()}):
        for d in (2000, 4000):
            group(
                report,
                f"exact ManiFeSt, d = {d}, threads = {threads}",
                lambda n=threads, d=d: fastfs.manifest_scores(Z[:, :d], y, accuracy="exact", n_threads=n),
                repeats,
                at_most=0.2,
            )
        group(
            report,
            f"IMMIGRATE, 200 x 6000, no filter, one iteration, threads = {threads}",
            lambda n=threads: fastfs.immigrate(X, labels, prefilter=None, max_iter=1, n_threads=n),
            repeats,
            at_most=0.2,
        )


def main() -> int:
    """Run all groups; the exit code says whether every target was reached."""
    parser = argparse.ArgumentParser(description="latency of Ctrl-C")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--eigen", action="store_true")
    args = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may have inherited "ignore"
    harness.machine()
    report = Report()
    if not args.eigen:
        of_kernels(report, args.repeats)
    of_eigenproblems(report, args.repeats)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
