"""How much of the time from a CSV file to a ranking goes into reading the file, 200 samples x 20,000 features.

python -m benchmarks.bench_reading [--methods multisurf,projse,manifest] [--repeats 5]

The share is of the CPU time of `fastfs score FILE --out ranking.csv` in a fresh process, imports included. Beside it
stand other readers of CSV, if they are installed, which return a frame and no matrix yet.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.harness import Report, seconds
from fastfs.io import read_table

N_SAMPLES, N_FEATURES = 200, 20_000

# One command, and the seconds that it spends in `read_table`.
COMMAND = """
import fastfs.cli
from fastfs import io
read, spent = io.read_table, []
def timed(*args, **options):
    start = time.process_time()
    table = read(*args, **options)
    spent.append(time.process_time() - start)
    return table
io.read_table = timed
out = {path!r} + ".out.csv"
assert fastfs.cli.run(["score", {path!r}, "--label", "class", "--method", {method!r}, "--out", out]) == 0
result = spent[0]
"""


def write(path: Path) -> None:
    """Six digits a value, as expression values mostly have."""
    X = np.random.default_rng(0).standard_normal((N_SAMPLES, N_FEATURES))
    lines = [",".join(["", *(f"gene{j}" for j in range(N_FEATURES)), "class"])]
    lines += [",".join([f"s{i}", *(f"{v:.6g}" for v in row), "uv"[i % 2]]) for i, row in enumerate(X)]
    path.write_text("\n".join(lines) + "\n")


def readers(path: Path) -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {"fastfs.io.read_table": lambda: read_table(path, "class")}
    if find_spec("pyarrow"):
        import pyarrow.csv

        found["pyarrow.csv.read_csv"] = lambda: pyarrow.csv.read_csv(path)
    if find_spec("polars"):
        import polars

        found["polars.read_csv"] = lambda: polars.read_csv(path)
    if find_spec("pandas"):
        import pandas

        found["pandas.read_csv"] = lambda: pandas.read_csv(path)
    return found


def main() -> int:
    """Measure; the exit code says whether the target was reached."""
    parser = argparse.ArgumentParser(description="reading a table against ranking its features")
    parser.add_argument("--methods", default="multisurf,projse,manifest")
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    harness.machine()
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        write(path)
        report.heading(f"{N_SAMPLES} x {N_FEATURES:,} CSV, {path.stat().st_size / 1e6:.0f} MB, {harness.load()}")
        for method in args.methods.split(","):
            runs = [harness.alone("", COMMAND.format(path=str(path), method=method)) for _ in range(args.repeats)]
            failed = next((run for run in runs if isinstance(run, str)), None)
            if failed is not None:
                report.row(method, failed)
                continue
            shares = [100 * run.result / run.cpu for run in runs if not isinstance(run, str)]
            whole = median(run.cpu for run in runs if not isinstance(run, str))
            note = f"{min(shares):.0f} .. {max(shares):.0f}; {seconds(whole)} in all"
            report.row(f"share of reading: {method}", median(shares), unit=" %", at_most=60, note=note)
        for name, timing in harness.compare(readers(path), args.repeats, warm_up=False).items():
            report.row(name, timing.text("cpu"), note=f"{seconds(median(timing.wall))} of wall time")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
