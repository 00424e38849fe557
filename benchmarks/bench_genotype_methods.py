"""Every method on genotypes of two bits, which it decodes as it packs, against the same numbers as float32.

    python -m benchmarks.bench_genotype_methods [--repeats 5]

Ratios of CPU time, one thread, in turns: below 1, two bits are faster. A selection is one of shuffled
samples and SNPs, whose genotypes are decoded one by one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np

import fastfs
from benchmarks import harness
from benchmarks.bench_genotypes import dosages
from benchmarks.harness import Report
from fastfs.io import pack_genotypes

# What a method may take on two bits, as a multiple of float32.
MOST = 1.05

Method = Callable[[Any, np.ndarray], Any]

METHODS: dict[str, tuple[tuple[int, int], Method]] = {
    "Relief": ((400, 20_000), lambda X, y: fastfs.Relief(n_jobs=1).fit(X, y)),
    "ReliefF, range": ((400, 20_000), lambda X, y: fastfs.ReliefF(n_jobs=1).fit(X, y)),
    "SWRF, range": ((400, 20_000), lambda X, y: fastfs.SWRF(n_jobs=1).fit(X, y)),
    "IM4E, 3 iterations": ((400, 20_000), lambda X, y: fastfs.IM4E(max_iter=3, tol=0, n_jobs=1).fit(X, y)),
    "Immigrate, 2 iterations": ((400, 300), lambda X, y: fastfs.Immigrate(max_iter=2, n_jobs=1).fit(X, y)),
    "ManiFeSt, exact": ((800, 1500), lambda X, y: fastfs.ManiFeSt(accuracy="exact", n_jobs=1).fit(X, y)),
    "ManiFeSt, fast": ((800, 8000), lambda X, y: fastfs.ManiFeSt(accuracy="low_rank", n_jobs=1).fit(X, y)),
    "ProjSe, labels": ((1600, 30_000), lambda X, y: fastfs.ProjSe(n_jobs=1).fit(X, y)),
    "ProjSe, a number": ((1600, 30_000), lambda X, y: fastfs.ProjSe(n_jobs=1).fit(X, y[:, None] + 0.0)),
    "ProjSe, no target": (
        (400, 10_000),
        lambda X, y: fastfs.ProjSe(n_features_to_select=10, n_jobs=1).fit(X),
    ),
    "DiSC, dense": (
        (800, 1000),
        lambda X, y: fastfs.DiSC(n_components=5, n_jobs=1).fit(X, y),
    ),
    "DiSC, knn, standard": (
        (800, 4000),
        lambda X, y: fastfs.DiSC(n_components=5, graph="knn", scaling="standard", n_jobs=1).fit(X, y),
    ),
    "I-KDR": ((200, 2000), lambda X, y: fastfs.IKDR(max_iter=3, n_jobs=1).fit(X, y)),
    "differential correlation": (
        (400, 1500),
        lambda X, y: fastfs.differential_correlation(X, y, n_permutations=2, n_threads=1),
    ),
    "affinity": ((1600, 3000), lambda X, y: fastfs.affinity(X, sigma=30.0, n_threads=1)),
}


def main() -> int:
    """Run all; the exit code says whether every target was reached."""
    parser = argparse.ArgumentParser(description="every method on genotypes of two bits")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="methods whose names hold this")
    given = parser.parse_args()
    harness.machine()
    report = Report()
    report.heading("time on two bits / time on float32: the median of the turns")
    for name, ((n, p), method) in METHODS.items():
        if given.only not in name:
            continue
        X, y, rng = dosages(n, p), np.arange(n) % 2, np.random.default_rng(1)
        part = pack_genotypes(X)[rng.permutation(n), rng.permutation(p)]
        tables = {"bits": pack_genotypes(X), "floats": X.astype(np.float32), "part": part, "decoded": np.asarray(part)}
        t = harness.compare({key: partial(method, table, y) for key, table in tables.items()}, given.repeats)
        whole, selected = (
            median(a / b for a, b in zip(t[bits].cpu, t[floats].cpu, strict=True))
            for bits, floats in (("bits", "floats"), ("part", "decoded"))
        )
        note = f"a selection {selected:.2f}x; {t['bits'].text()}"
        report.row(f"{name}, {n} x {p}", whole, at_most=MOST, unit="x", note=note)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
