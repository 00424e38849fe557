"""A report from a file on the disk to the page: reading, three methods, p-values, frequencies, figures.

    python -m benchmarks.bench_report

100 samples x 20,000 features from NPZ; MultiSURF, ManiFeSt and ProjSe, 199 permutations, 50 subsamples, all cores. Time
and peak memory are those of a process of its own, without its imports. The first paint is that of headless Chromium, if
that is installed: median of five.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import harness
from benchmarks.harness import Report

SETUP = """
import warnings
import jinja2, matplotlib.figure, sklearn.base
import fastfs
warnings.simplefilter("ignore")
"""

CALL = """
found = fastfs.report({path!r}, n_permutations=199, n_subsamples=50, n_pairs={n_pairs})
found.save({folder!r} + "/report.html")
result = len(found.html.encode())
"""


PAINT = """<script>setInterval(() => {
const paints = performance.getEntriesByType("paint");
if (paints.length) document.title = paints[0].startTime;
}, 100)</script></body>"""


def first_paint(page: Path) -> float:
    """Return the seconds from the start of the navigation to the first paint."""
    timed = page.with_name("timed.html")
    timed.write_text(page.read_text(encoding="utf-8").replace("</body>", PAINT), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000"]
    command = ["chromium", *options, "--dump-dom", timed.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r"<title>([\d.]+)</title>", done.stdout)
    assert found is not None, done.stdout[:500]
    return float(found[1]) / 1000


def main() -> int:
    harness.machine()
    report = Report()
    report.heading("A report on 100 x 20,000 from NPZ: 3 methods, 199 permutations, 50 subsamples")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 20_000)), np.arange(100) % 2
    X[:, :20] += y[:, None]
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "table.npz"))
        np.savez(path, X=X, y=y)
        found, without = (
            harness.alone(SETUP, CALL.format(path=path, folder=folder, n_pairs=n_pairs)) for n_pairs in (10, 0)
        )
        if isinstance(found, str) or isinstance(without, str):
            print(found, without)
            return 1
        if shutil.which("chromium"):
            paint = statistics.median(first_paint(Path(folder, "report.html")) for _ in range(5))
            report.row("first paint in Chromium", paint, at_most=1, unit=" s")
    report.row("wall time", found.wall, at_most=60, unit=" s", note=f"CPU {found.cpu:.1f} s")
    of_pairs = found.cpu - without.cpu
    report.row("CPU time of the section Pairs", of_pairs, unit=" s", note=f"{found.cpu / without.cpu:.2f} x without it")
    report.row("peak memory of the process", found.peak / 1e9, at_most=2, unit=" GB")
    report.row("size of the page", found.result / 1e6, at_most=3, unit=" MB")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
