"""What designs and standardized scores add to a permutation test.

    python -m benchmarks.bench_inference [--repeats 5]

* step-down p-values and moments of 20,000 features x 999 permutations, from scores that are there;
* permutation tests of ReliefF, 100 x 20,000, 99 permutations: CPU time with a design against free shuffling;
* counting and enumerating all labelings of designs that allow at most 1000.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

import fastfs
from benchmarks import harness
from benchmarks.harness import Report
from fastfs._inference.calibration import Moments, StepDown
from fastfs._inference.design import Design


def step_down(S: np.ndarray) -> np.ndarray:
    """Family-wise p-values of the first row, by z."""
    moments = Moments(S[0])
    for row in S[1:]:
        moments.add(row)
    scale = moments.scale(with_true=True)
    tested = StepDown(scale.of(S[0]), scale.reach(S[0]))
    for row in S[1:]:
        tested.add(scale.of(row))
    return tested.pvalues()


def overhead(report: Report, repeats: int) -> None:
    report.heading("Standardized scores and step-down p-values")
    S = np.random.default_rng(0).normal(size=(1000, 20_000))
    report.row("20,000 x 999, CPU", min(harness.measure(lambda: step_down(S), repeats).cpu), at_most=3, unit=" s")

    report.heading("Designs against free shuffling: ReliefF, 100 x 20,000, 99 permutations, CPU, one thread")
    rng = np.random.default_rng(0)
    X, y, half = rng.normal(size=(100, 20_000)), np.arange(100) % 2, np.arange(100) // 2
    designs: dict[str, dict[str, Any]] = {
        "free": {},
        "10 blocks": {"blocks": np.arange(100) // 10},
        "50 pairs": {"blocks": half},
        "50 groups in 5 blocks": {"y": half % 2, "groups": half, "blocks": half // 10},
        "a covariate": {"covariates": rng.normal(size=100)},
    }

    def test(columns: dict[str, Any]) -> Any:
        given = {"y": y} | columns
        return lambda: fastfs.permutation_test(fastfs.ReliefF(n_jobs=1), X, n_permutations=99, **given)

    with harness.one_thread():
        t = harness.compare({name: test(columns) for name, columns in designs.items()}, repeats)
    for name in list(designs)[1:]:
        report.times(name, t[name], t["free"], at_most=1.05)

    report.heading("Counting and enumerating, CPU")
    for name, design in {
        "924 labelings of 12 donors": lambda: Design(
            np.repeat(np.arange(12) % 2, 8), groups=np.repeat(np.arange(12), 8)
        ),
        "512 of 9 pairs": lambda: Design(np.arange(18) % 2, np.arange(18) // 2),
        "1000, one case": lambda: Design(np.arange(1000) < 1),
        "720 of six numbers": lambda: Design(np.arange(6.0)),
    }.items():
        spent = min(harness.measure(lambda make=design: list(make().enumerate()), repeats).cpu)  # type: ignore[misc]
        report.row(name, 1e3 * spent, at_most=50, unit=" ms")


def main() -> int:
    """Run all; the exit code says whether every target was reached."""
    parser = argparse.ArgumentParser(description="permutation tests: designs and standardized scores")
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    harness.machine()
    report = Report()
    overhead(report, args.repeats)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
