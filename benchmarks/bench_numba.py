"""What kernels of your own cost: those that Numba compiles against the built-in one.

python -m benchmarks.bench_numba [--features 4000] [--samples 64] [--repeats 9]

Whole calls of ``fastfs.affinity`` into an array that exists already, float64, one thread, CPU time. Candidates take
turns; a ratio is the median of the ratios within a turn.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from functools import partial

import numpy as np

import fastfs
from benchmarks import harness
from benchmarks.harness import Report
from fastfs.numba import cosine_power, exp, kernel, laplacian, rational_quadratic


@kernel
def rbf(d2: float, sigma: float) -> float:
    """The built-in kernel, once more."""
    return exp(-d2 / (2 * sigma * sigma))


@kernel(tile=True)
def rbf_of_tiles(tile, row_norms, col_norms, sigma):  # type: ignore[no-untyped-def]
    """The same, a tile at a time."""
    for i in range(tile.shape[0]):
        for j in range(tile.shape[1]):
            tile[i, j] = exp(-tile[i, j] / (2 * sigma * sigma))


@kernel
def rbf_of_libm(d2: float, sigma: float) -> float:
    """The same with the exponential function of the C library, value by value."""
    return math.exp(-d2 / (2 * sigma * sigma))


def main() -> int:
    """Compare; the exit code says whether the target was reached."""
    parser = argparse.ArgumentParser(description="kernels compiled by Numba against the built-in one")
    parser.add_argument("--features", type=int, default=4000)
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=9)
    args = parser.parse_args()
    harness.machine()
    report = Report()
    d, n = args.features, args.samples
    X = np.random.default_rng(0).standard_normal((n, d))
    out = np.empty((d, d))
    call = partial(fastfs.affinity, X, sigma=math.sqrt(n), out=out, n_threads=1)
    kernels = {
        "built-in rbf": "rbf",
        "rbf in Numba, of elements": rbf,
        "rbf in Numba, of tiles": rbf_of_tiles,
        "rbf in Numba, with math.exp": rbf_of_libm,
        "rational_quadratic": rational_quadratic,
        "laplacian": laplacian,
        "cosine_power(2)": cosine_power(2),
    }
    candidates = {name: partial(call, kernel=k) for name, k in kernels.items()}
    candidates["squared distances alone"] = partial(call, kernel="sqeuclidean", sigma=None)

    report.heading(f"n_features = {d}, n_samples = {n}, {args.repeats} turns, {harness.load()}")
    start = time.process_time()
    _ = rbf.address
    report.row("compilation of one kernel, once", time.process_time() - start, unit=" s")
    times = harness.compare(candidates, args.repeats)
    for name, timing in times.items():
        report.row(name, timing.text())
    print()
    for name in list(kernels)[1:]:
        target = {"at_most": 1.15} if name == "rbf in Numba, of elements" else {}
        report.times(f"{name}, against built-in", times[name], times["built-in rbf"], **target)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
