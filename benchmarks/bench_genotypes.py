"""The RELIEF family on genotypes of two bits: distances and scores by instruction set, against the float32 tiles.

    python -m benchmarks.bench_genotypes [--repeats 5]

Rates count a pair of samples in one SNP, on one thread in CPU time, packing and storing included. The floor of the
distances is that of the carry-save adder: of each register of differing bits (AVX-512: 256 SNPs, AVX2: 128) an XOR and
15 / 16 additions of three or of five operations, in vector units that are twice as many as those of multiply-adds,
which the rate of SciPy's sgemm tells. Scores are those of a label-free stage that has the distances.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.harness import Report
from fastfs._functions.margin import Stage
from fastfs._machine.run import Run
from fastfs.io import Genotypes

N, P = 1600, 32_768


def dosages(n: int, p: int) -> np.ndarray:
    """Copies of an allele, of frequencies from 0.05 to 0.5."""
    rng = np.random.default_rng(0)
    return rng.binomial(2, rng.uniform(0.05, 0.5, p), (n, p)).astype(np.int8)


def stage(X: Any, keep: str = "none") -> Any:
    """The core's label-free stage on one thread."""
    return Stage(X, {"scaling": "none"}, Run(1), keep).core


def rates(X: np.ndarray | Genotypes, repeats: int) -> dict[str, float]:
    """Billions of pairs a second: in distances, and in the neighbours of each score; the best of several runs."""
    n, p = X.shape
    t = harness.compare({"all": lambda: stage(X, "manhattan"), "rest": lambda: stage(X)}, repeats)
    seconds = min(a - b for a, b in zip(t["all"].cpu, t["rest"].cpu, strict=True))
    found = {"distances": n * (n - 1) / 2 * p / seconds / 1e9}
    core, labels = stage(X, "manhattan"), np.arange(n) % 2

    def score(method: str, **options: Any) -> float:
        return min(harness.measure(lambda: core.relief(labels, 2, {"method": method} | options, Run(1)), repeats).cpu)

    for k in (10, 100):
        found[f"ReliefF k = {k}"] = 2 * k * n * p / score("relieff", n_neighbors=k) / 1e9
    found["MultiSURF, all pairs"] = n * n * p / score("multisurf") / 1e9
    return found


_RATES = """
import json
from benchmarks import bench_genotypes as b
from fastfs.io import pack_genotypes
X = b.dosages({n}, {p})
print(json.dumps(b.rates(pack_genotypes(X) if {bits} else X.astype("float32"), {repeats})))
"""


def rates_of(isa: str, bits: bool, n: int, p: int, repeats: int) -> dict[str, float] | None:
    """The rates with an instruction set, or None if the machine has none such."""
    code = _RATES.format(n=n, p=p, bits=bits, repeats=repeats)
    environment = os.environ | {"FASTFS_ISA": isa}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    found: dict[str, float] = json.loads(done.stdout) if done.returncode == 0 else {}
    return found or None


def floor(isa: str) -> float:
    """The most distances, by the rate of multiply-adds, in billions of pairs a second."""
    with harness.one_thread():
        per_second = harness.gemm_rate(np.float32) / 1e9 / 2 / 16  # of 512 bits
    snps, additions, registers = (256, 3, 2) if isa == "avx512" else (128, 5, 4)
    return per_second * registers * snps / (1 + 15 / 16 * additions)


def main() -> int:
    """Run all; the exit code says whether every target was reached."""
    parser = argparse.ArgumentParser(description="genotypes of two bits")
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    harness.machine()
    report = Report()
    report.heading(f"{N} x {P} genotypes, G pairs of samples in a SNP a second and core: the best of several runs")
    for isa, target in (("avx512", 300.0), ("avx2", 120.0), ("base", None)):
        bits, floats = rates_of(isa, True, N, P, repeats), rates_of(isa, False, N, P // 8, repeats)
        if bits is None or floats is None:
            report.row(isa, "-", note="not on this machine")
            continue
        note = "" if target is None else f"floor {floor(isa):.0f}; {harness.load()}"
        report.row(f"{isa}, distances", bits["distances"], at_least=target, note=note)
        ratio = bits["distances"] / floats["distances"]
        report.row(f"{isa}, distances, against float32", ratio, at_least=6.0 if target else None, unit="x")
        for name in ("ReliefF k = 10", "ReliefF k = 100", "MultiSURF, all pairs"):
            report.row(f"{isa}, {name}", bits[name], note=f"float32 {floats[name]:.1f}")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
