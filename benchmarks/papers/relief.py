"""A pair of features among a thousand: MultiSURF alone, and inside TuRF and VLS.

    python -m benchmarks.papers.relief [--tables 20]

Made-up tables of 1000 random bits, in random order; the label is the exclusive or of two of them, and 10 % of the
labels are flipped. Printed are the median over the tables of the worse rank of the two (2: both on top), in how many
tables it is 2, and the CPU time on one thread relative to MultiSURF alone.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from statistics import median
from typing import Any

import numpy as np

import fastfs
from benchmarks import harness
from benchmarks.harness import Report

N_FEATURES = 1000


def table(n_samples: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bits, labels, and the columns of the pair."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(n_samples, N_FEATURES)).astype(float)
    pair = rng.choice(N_FEATURES, 2, replace=False)
    return X, (X[:, pair[0]] != X[:, pair[1]]) ^ (rng.random(n_samples) < 0.1), pair


def selectors(seed: int) -> dict[str, Any]:
    core = fastfs.MultiSURF(n_jobs=1)
    random = fastfs.VLS(core, random_state=seed)
    pairs = fastfs.VLS(core, subsets="pairs", random_state=seed)
    return {
        "MultiSURF": core,
        "TuRF": fastfs.TuRF(core, n_features_to_select=10),
        "VLS, random subsets": random,
        'VLS, "pairs"': pairs,
        "TuRF around VLS, random subsets": fastfs.TuRF(random, n_features_to_select=10),
        'TuRF around VLS, "pairs"': fastfs.TuRF(pairs, n_features_to_select=10),
    }


def pairs_found(report: Report, n_samples: int, n_tables: int) -> None:
    """One row a selector."""
    report.heading(f"worse rank of a pair, {n_samples} x {N_FEATURES}, {n_tables} tables: median, 2 in, CPU")
    ranks, seconds = defaultdict(list), defaultdict(float)
    for seed in range(n_tables):
        X, y, pair = table(n_samples, seed)
        for name, selector in selectors(seed).items():
            begin = time.process_time()
            ranks[name].append(int(selector.fit(X, y).ranking_[pair].max()))
            seconds[name] += time.process_time() - begin
    for name, found in ranks.items():
        note = f"{found.count(2)} of {n_tables}, {seconds[name] / seconds['MultiSURF']:.3g}x"
        report.row(name, median(found), note=note)


def main() -> int:
    parser = argparse.ArgumentParser(description="A pair of features among a thousand")
    parser.add_argument("--tables", type=int, default=20)
    args = parser.parse_args()
    harness.machine()
    report = Report()
    for n_samples in (200, 400):
        pairs_found(report, n_samples, args.tables)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
