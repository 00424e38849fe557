"""What a call costs that has next to nothing to do: ``affinity`` on 8 x 8 values.

python -m benchmarks.bench_overhead [--batches 200] [--calls 1000]

The estimator is the median over batches of calls; a batch's figure is its CPU time divided by its calls. Through the C
interface that is a compiled program (overhead.c, default options and threads); through Python, ``fastfs._core``, which
converts, releases the GIL, asks for the memory and calls, and ``fastfs.affinity`` above it, which checks arguments.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import fastfs
from benchmarks import harness
from benchmarks.harness import Report
from fastfs import _core
from fastfs._machine.run import Run


def c_seconds(batches: int, calls: int) -> list[float]:
    """CPU seconds a call, of each batch, in a C program."""
    compiler = shutil.which("cc") or "gcc"
    prefix = Path(fastfs.__file__).parent
    library = next((prefix / "lib").glob("libfastfs.*"))
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "overhead")
        source = Path(__file__).with_name("overhead.c")
        include = f"-I{prefix / 'include'}"
        subprocess.run(
            [compiler, "-O2", include, source, library, f"-Wl,-rpath,{library.parent}", "-o", program], check=True
        )
        done = subprocess.run([program, str(batches), str(calls)], check=True, capture_output=True, text=True)
    return list(map(float, done.stdout.split()))


def python_seconds(call: Callable[[], Any], batches: int, calls: int) -> list[float]:
    """The same of a Python function; the loop itself takes some 0.02 us a call."""
    found = []
    for batch in range(-10, batches):
        start = time.process_time()
        for _ in range(calls):
            call()
        if batch >= 0:
            found.append((time.process_time() - start) / calls)
    return found


def main() -> int:
    """Measure; the exit code says whether both targets were reached."""
    parser = argparse.ArgumentParser(description="overhead of a call")
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--calls", type=int, default=1000)
    args = parser.parse_args()
    harness.machine()
    X = (np.arange(64).reshape(8, 8) * 37 % 64) / 64
    fastfs.link_blas()
    report, run = Report(), Run()
    report.heading(f"affinity on 8 x 8, median of {args.batches} batches of {args.calls} calls, {harness.load()}")
    rows: dict[str, tuple[list[float], float | None]] = {
        "C interface": (c_seconds(args.batches, args.calls), 5.0),
        "fastfs._core": (
            python_seconds(lambda: _core.affinity(X, "rbf", 1.0, None, run), args.batches, args.calls),
            15.0,
        ),
        "fastfs.affinity": (python_seconds(lambda: fastfs.affinity(X, sigma=1.0), args.batches, args.calls), None),
    }
    for name, (seconds, at_most) in rows.items():
        us = sorted(1e6 * s for s in seconds)
        note = f"{us[len(us) // 20]:.2f} .. {us[-len(us) // 20]:.2f} from the 5th to the 95th percentile"
        report.row(name, median(us), unit=" us", at_most=at_most, note=note)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
