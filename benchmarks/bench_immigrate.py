"""IM4E and IMMIGRATE against plain NumPy and against the flops that they are made of.

    python -m benchmarks.bench_immigrate [--repeats 5] [--large]
    python -m benchmarks.bench_immigrate --prefilter

The floor of an IMMIGRATE iteration on N samples and A features: N^2 A rank(W) flops for d'W d of each pair by its
factors and N^2 A^2 / 2 for Sigma, at the rate of a large product of SciPy's BLAS, measured in this run. fastfs can be
below it: with the upper triangle of W, d'W d takes N^2 A^2 / 2 flops, whatever the rank.

NumPy (`baselines.immigrate`) works a row of pairs at a time in the cache, with BLAS, in the dtype of the data; "as
written" takes (i, j) and (j, i), as the equations do, "once" each pair once. The targets are about the first.

``--large`` needs 2 GB and a few minutes. ``--prefilter`` compares fits with and without IM4E in front on real data of
more than 1000 features; it needs FASTFS_TEST_DATA, the folder of these.
"""

from __future__ import annotations

import argparse
import os
import sys
from statistics import median
from typing import Any

import numpy as np

import fastfs
from benchmarks import harness
from benchmarks.baselines import immigrate as plain
from benchmarks.harness import Report


def two_classes(n: int, n_features: int, n_useful: int, dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray]:
    """Normal features, of which the first few have other means in the second class; z-scores."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, n_features), dtype=dtype)
    y = rng.integers(0, 2, n)
    X[:, :n_useful] += y[:, None].astype(dtype)
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    return X, y


def fit(X: np.ndarray, y: np.ndarray, max_iter: int, **options: Any) -> Any:
    """IMMIGRATE on all features as they are, all iterations, one thread."""
    return fastfs.immigrate(
        X, y, sigma=1.0, max_iter=max_iter, tol=0.0, prefilter=None, scaling=None, n_threads=1, **options
    )


def against_numpy(report: Report, n: int, n_features: int, repeats: int) -> None:
    """Ten iterations of IMMIGRATE."""
    report.heading(f"IMMIGRATE, 10 iterations, {n} x {n_features}, CPU")
    X, y = two_classes(n, n_features, 1)
    single = X.astype(np.float32)
    with harness.one_thread():
        t = harness.compare(
            {
                "float64": lambda: fit(X, y, 10, negligible=0.0),
                "float32": lambda: fit(single, y, 10, negligible=0.0),
                "float32, 1e-6": lambda: fit(single, y, 10, negligible=1e-6),
                "NumPy": lambda: plain.immigrate(X, y, tol=0.0, once=False),
                "NumPy once": lambda: plain.immigrate(X, y, tol=0.0, once=True),
            },
            repeats,
        )
        exact = plain.immigrate(X, y, tol=0.0)
    for name, timing in t.items():
        report.row(name, timing.text())
    report.times("NumPy as written / float64", t["NumPy"], t["float64"], at_least=2.5)
    report.times("NumPy as written / float32, threshold 1e-6", t["NumPy"], t["float32, 1e-6"], at_least=5.0)
    report.times("NumPy as written / float32, no threshold", t["NumPy"], t["float32"])
    report.times("NumPy once / float64", t["NumPy once"], t["float64"])
    report.times("NumPy once / float32, no threshold", t["NumPy once"], t["float32"])
    for name, data, threshold, limit in (
        ("float64", X, 0.0, 1e-10),
        ("float32", single, 0.0, 1e-5),
        ("float32, threshold 1e-6", single, 1e-6, 1e-5),
    ):
        found = fit(data, y, 10, negligible=threshold)
        report.row(f"largest error of W, {name}", float(np.abs(found.W - exact.weights).max()), at_most=limit)


def against_floor(report: Report, n: int, n_features: int, rates: dict[str, float], repeats: int) -> None:
    """Where there is enough to multiply."""
    report.heading(f"IMMIGRATE, 3 iterations, {n} x {n_features}, against the flops")
    X, y = two_classes(n, n_features, 1)
    for dtype in ("float64", "float32"):
        data = X.astype(dtype)
        with harness.one_thread():
            t = harness.measure(lambda data=data: fit(data, y, 3, negligible=0.0), repeats)
        rank = len(fit(data, y, 3, negligible=0.0).eigenvalues)
        floor = 3 * (n**2 * n_features * rank + n**2 * n_features**2 / 2) / rates[dtype]
        report.row(f"{dtype}, CPU", t.text(), note=f"rank {rank}, floor {harness.seconds(floor)}")
        report.row(f"{dtype} / floor", median(t.cpu) / floor, unit="x", at_most=1.5)


def wide_weights(report: Report) -> None:
    """IM4E-IMMIGRATE, where features outnumber the pairs of samples that matter."""
    report.heading("IM4E-IMMIGRATE, 10 iterations, 102 x 6000, CPU")
    X, y = two_classes(102, 6000, 200)
    with harness.one_thread():
        for dtype in ("float64", "float32"):
            data = X.astype(dtype)

            def run(data: np.ndarray = data) -> Any:
                return fastfs.immigrate(data, y, sigma=1.0, tol=0.0, prefilter="im4e", scaling=None, n_threads=1)

            t, found = harness.measure(run, 1), run()
            report.row(dtype, t.text(), note=f"{len(found.features)} features kept, rank {len(found.eigenvalues)}")


def im4e(report: Report, repeats: int) -> None:
    """An iteration of IM4E at the width of expression data."""
    report.heading("IM4E, 300 x 20,000, an iteration of ten, CPU")
    X, y = two_classes(300, 20_000, 100)
    for dtype in ("float64", "float32"):
        data = X.astype(dtype)
        with harness.one_thread():
            ours = harness.measure(
                lambda data=data: fastfs.im4e(data, y, sigma=1.0, tol=0.0, scaling=None, n_threads=1), repeats
            )
            numpy = {
                once: harness.measure(
                    lambda data=data, once=once: plain.im4e(data, y, max_iter=1, once=once), 1, warm_up=False
                )
                for once in (False, True)
            }
        each = median(ours.cpu) / 10
        report.row(f"{dtype}, fastfs", harness.seconds(each), note="label-free stage included")
        for once, name in ((False, "as written"), (True, "once")):
            report.row(f"{dtype}, NumPy {name}", harness.seconds(numpy[once].cpu[0]))
            target = {} if once else {"at_least": 50.0}
            report.row(f"{dtype}, NumPy {name} / fastfs", numpy[once].cpu[0] / each, unit="x", **target)


def large(report: Report) -> None:
    """Two threads, and a million features."""
    report.heading("IM4E, 1000 x 60,000, 10 iterations, float32, two threads")
    X, y = two_classes(1000, 60_000, 100, np.float32)
    t = harness.measure(lambda: fastfs.im4e(X, y, sigma=1.0, tol=0.0, scaling=None, n_threads=2), 1, warm_up=False)
    report.row("wall", t.wall[0], unit=" s", at_most=12.0, note=f"CPU {harness.seconds(t.cpu[0])}, {harness.load()}")
    report.heading("IM4E, 200 x 1,000,000, 3 iterations, float32")
    setup = (
        "import numpy as np, time, sys, fastfs\n"
        "rng = np.random.default_rng(0)\n"
        "X = rng.standard_normal((200, 1_000_000), dtype=np.float32)\n"
        "y = rng.integers(0, 2, 200)\n"
        "fastfs.im4e(X[:, :100], y)"
    )
    call = (
        "start = time.perf_counter(), time.process_time()\n"
        "fastfs.im4e(X, y, max_iter=3, tol=0.0)\n"
        "print(time.perf_counter() - start[0], time.process_time() - start[1], file=sys.stderr)"
    )
    whole, above = harness.peak_memory(setup, call)
    report.row("peak memory, the data's 0.8 GB included", whole / 1e9, unit=" GB", at_most=2.0)
    report.row("above the data", above / 1e9, unit=" GB")


def prefilter(report: Report) -> None:
    """Compare the best features of the filtered form, the default of more than 1000 features, with the whole one."""
    folder = os.environ.get("FASTFS_TEST_DATA")
    if folder is None:
        print("FASTFS_TEST_DATA isn't set, which names the folder of the data")
        return
    report.heading("best 50 in both, and CPU seconds of one thread: all features / filtered by IM4E")
    for name in ("colon", "srbct_khan", "glioma"):
        with np.load(f"{folder}/{name}.npz") as data:
            X, y = data["X"].astype(float), data["y"]
        X = X[:, X.std(axis=0) > 1e-9]
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        fits: dict[str | None, Any] = {}

        def run(choice: str | None, X: np.ndarray = X, y: np.ndarray = y, fits: dict[str | None, Any] = fits) -> None:
            fits[choice] = fastfs.immigrate(X, y, prefilter=choice, n_threads=1).scores

        whole, filtered = (harness.measure(lambda c=c: run(c), 1, warm_up=False) for c in (None, "auto"))  # type: ignore[misc]
        both = len(set(np.argsort(-fits[None])[:50]) & set(np.argsort(-fits["auto"])[:50]))
        report.row(
            f"{name}, {X.shape[0]} x {X.shape[1]}", f"{both} of 50; {min(whole.cpu):.1f} / {min(filtered.cpu):.1f} s"
        )


def main() -> int:
    """Run all; the exit code says whether every target was reached."""
    parser = argparse.ArgumentParser(description="IM4E and IMMIGRATE")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--prefilter", action="store_true", help="the filtered form against the whole one")
    args = parser.parse_args()
    harness.machine()
    report = Report()
    if args.prefilter:
        prefilter(report)
        return report.finish()
    with harness.one_thread():
        rates = {dtype: harness.gemm_rate(dtype) for dtype in ("float64", "float32")}
    for dtype, rate in rates.items():
        report.row(f"{dtype} GEMM", f"{rate / 1e9:.0f} GFLOP/s")
    against_numpy(report, 200, 60, args.repeats)
    against_numpy(report, 500, 30, args.repeats)
    against_floor(report, 1000, 100, rates, args.repeats)
    against_floor(report, 500, 200, rates, args.repeats)
    against_floor(report, 300, 400, rates, args.repeats)
    wide_weights(report)
    im4e(report, args.repeats)
    if args.large:
        large(report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
