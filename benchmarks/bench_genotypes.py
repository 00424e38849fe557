"""The RELIEF family on genotypes of two bits: distances and scores by instruction set, against the float32 tiles.

    python -m benchmarks.bench_genotypes [--repeats 5] [--only rates agreement missing turf growth rivals]
                                        [--large NAMES]

--large takes files of half a million SNPs, made in a temporary folder, two threads and minutes: wall time and the peak
of the process, the pages of the file included. Rates count a pair of samples in one SNP, on one thread in CPU time,
packing and storing included. The floor of the distances is that of the carry-save adder: of each register of differing
bits (AVX-512: 256 SNPs, AVX2: 128) an XOR and 15 / 16 additions of three or of five operations, or an XOR, a count and
an addition where words are counted (VPOPCNTDQ), in vector units that are twice as many as those of multiply-adds, which
the rate of SciPy's sgemm tells. Scores are those of a label-free
stage that has the distances.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fastfs
from benchmarks import harness
from benchmarks.harness import Report
from fastfs._functions.margin import MarginStage
from fastfs._machine.run import Run
from fastfs.io import Genotypes, pack_genotypes

N, P = 1600, 32_768


def dosages(n: int, p: int) -> np.ndarray:
    """Copies of an allele, of frequencies from 0.05 to 0.5."""
    rng = np.random.default_rng(0)
    return rng.binomial(2, rng.uniform(0.05, 0.5, p), (n, p)).astype(np.int8)


def stage(X: Any, keep: str = "none") -> Any:
    """The core's label-free stage on one thread."""
    return MarginStage(X, {"scaling": "none"}, Run(1), keep).core_margin


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
    counts = isa == "avx512" and "avx512_vpopcntdq" in Path("/proc/cpuinfo").read_text()
    return per_second * registers * snps / (3 if counts else 1 + 15 / 16 * additions)


def by_isa(report: Report, repeats: int) -> None:
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


def growth(report: Report, repeats: int) -> None:
    report.heading("ReliefF with more samples, 1000 SNPs, one thread: the least CPU time of several calls")
    times = {}
    for n in (3000, 10_000):
        G, y = pack_genotypes(dosages(n, 1000)), np.arange(n) % 2
        found = harness.measure(lambda G=G, y=y: fastfs.relieff_scores(G, y, n_threads=1), repeats, warm_up=False)
        times[n] = min(found.cpu)
        first = f"the first call {harness.seconds(found.cpu[0])}, for which the system clears {4 * n * n / 1e6:.0f} MB"
        report.row(f"{n} samples", harness.seconds(times[n]), note=first)
    exponent = np.log(times[10_000] / times[3000]) / np.log(10_000 / 3000)
    report.row("exponent of the number of samples", exponent, at_most=2.1, note=harness.load())


def agreement(report: Report, repeats: int) -> None:
    report.heading("the largest difference from float64 scores, 400 x 5000")
    X, y = dosages(400, 5000).astype(float), np.arange(400) % 2
    gaps = np.where(np.random.default_rng(1).random(X.shape) < 0.02, np.nan, X)
    for what, values, options in (
        ("complete", X, {}),
        ("2 % missing", gaps, {"missing": "ignore"}),
        ("different or not, 2 % missing", gaps, {"missing": "ignore", "categorical_features": "all"}),
    ):
        for name in ("relieff", "multisurf"):
            score = getattr(fastfs, f"{name}_scores")
            given: dict[str, Any] = {"scaling": None} | options
            difference = np.abs(score(pack_genotypes(values), y, **given) - score(values, y, **given)).max()
            report.row(f"{name}, {what}", difference, at_most=1e-12)


def missing(report: Report, repeats: int) -> None:
    report.heading(f"missing calls, {N} x {P}, one thread: CPU time against that without them")
    complete, y = dosages(N, P), np.arange(N) % 2
    tables = {"none": pack_genotypes(complete)}
    for percent in (1, 2, 10):
        gaps = np.random.default_rng(1).random((N, P), dtype=np.float32) < percent / 100
        tables[f"{percent} %"] = pack_genotypes(np.where(gaps, np.int8(-1), complete))
    for name, score in (("ReliefF k = 10", fastfs.relieff_scores), ("MultiSURF", fastfs.multisurf_scores)):
        calls: dict[str, Callable[[], Any]] = {
            rate: lambda G=G, score=score: score(G, y, missing="ignore", n_threads=1)  # type: ignore[misc]
            for rate, G in tables.items()
        }
        t = harness.compare(calls, repeats)
        for rate in ("1 %", "2 %", "10 %"):
            target = {} if rate == "10 %" else {"at_most": 1.3}
            least = min(t[rate].cpu) / min(t["none"].cpu)
            report.row(f"{name}, {rate}", least, unit="x", note=f"{harness.seconds(min(t[rate].cpu))}", **target)


def turf(report: Report, repeats: int) -> None:
    report.heading(f"TuRF, 20 rounds, {N} x 100,000, two threads: CPU time against one call")
    G, y = pack_genotypes(dosages(N, 100_000)), np.arange(N) % 2
    for name, model in (("ReliefF", fastfs.ReliefF(n_jobs=2)), ("MultiSURF", fastfs.MultiSURF(n_jobs=2))):
        wrapper = fastfs.TuRF(model, step=0.05, n_features_to_select=0.05)
        calls = {"one": lambda m=model: m.fit(G, y), "turf": lambda w=wrapper: w.fit(G, y)}  # type: ignore[misc]
        t = harness.compare(calls, 1, warm_up=False)
        rounds = len(np.unique(wrapper.removed_at_))
        note = f"{rounds} rounds, {harness.seconds(t['turf'].cpu[0])} against {harness.seconds(t['one'].cpu[0])}"
        report.row(name, t["turf"].cpu[0] / t["one"].cpu[0], at_most=4.0, unit="x", note=f"{note}; {harness.load()}")


def rivals(report: Report, repeats: int) -> None:
    """The largest tables that other packages score in a minute, doubled until they take longer."""
    report.heading(f"other packages in a minute, {N} samples, two threads: wall time")
    for package, names in (("fast_select", ("ReliefF", "MultiSURF")), ("skrebate", ("ReliefF", "MultiSURF"))):
        for name in names:
            p, least = 125, 0.0
            try:
                peer = getattr(importlib.import_module(package), name)
            except ImportError:
                report.row(f"{package}, {name}", "isn't installed")
                continue
            while least <= 60 and p <= 1 << 20:
                p *= 2
                X, y = dosages(N, p), np.arange(N) % 2
                floats, G = X.astype(np.float64), pack_genotypes(X)
                k = {"n_neighbors": 10} if name == "ReliefF" else {}
                theirs = peer(n_features_to_select=10, n_jobs=2, **k)
                t = harness.compare(
                    {
                        "theirs": lambda m=theirs, X=floats, y=y: m.fit(X, y),
                        "ours": lambda G=G, y=y, name=name: getattr(fastfs, name)(n_jobs=2).fit(G, y),
                    },
                    1,
                    warm_up=p == 250 and package == "fast_select",  # which compiles at its first call
                )
                least = t["theirs"].wall[0]
                note = f"ours {harness.seconds(t['ours'].wall[0])}; {harness.load()}"
                report.row(f"{package}, {name}, {p} SNPs", harness.seconds(least), note=note)


def write_bed(path: Path, n: int, p: int) -> None:
    """Random genotypes, none missing, in PLINK's format."""
    rng = np.random.default_rng(0)
    with path.open("wb") as bed:
        bed.write(b"\x6c\x1b\x01")
        for first in range(0, p, 10_000):
            codes = rng.integers(0, 256, (min(10_000, p - first), -(-n // 4)), np.uint8)
            bed.write((codes | (codes & 0x55) << 1).tobytes())
    with path.with_suffix(".bim").open("w") as bim:
        bim.writelines(f"1\trs{k}\t0\t{k + 1}\tA\tG\n" for k in range(p))
    with path.with_suffix(".fam").open("w") as fam:
        fam.writelines(f"f{i} s{i} 0 0 0 {i % 2 + 1}\n" for i in range(n))


_SETUP = """
import warnings
import numpy as np, fastfs
from fastfs.io import read_plink
warnings.simplefilter("ignore")
"""

# Samples, SNPs, classes, the call, seconds.
LARGE = {
    "relieff": (5000, 500_000, 2, "fastfs.ReliefF(n_jobs=2)", 60),
    "multisurf": (5000, 500_000, 2, "fastfs.MultiSURF(n_jobs=2)", 120),
    "three": (2350, 230_000, 3, "fastfs.MultiSURF(n_jobs=2)", 15),
    # Each SNP must be in a subset, so that 200 of 1000 aren't enough.
    "vls": (2350, 230_000, 3, "fastfs.VLS(fastfs.MultiSURF(n_jobs=2), n_subsets=230, subset_size=1000)", 60),
}


def large(report: Report, names: list[str], isa: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            n, p, classes, call, limit = LARGE[name]
            path = Path(folder) / f"{n}x{p}.bed"
            if not path.exists():
                write_bed(path, n, p)
            report.heading(f"{call}, {n} x {p}, {classes} classes")
            done = harness.alone(
                _SETUP, f"G = read_plink({str(path)!r})\n{call}.fit(G, np.arange(len(G)) % {classes})", isa
            )
            if isinstance(done, str):
                report.row("failed", done)
                continue
            note = f"{isa or fastfs.info()['isa']}, CPU {done.cpu:.0f} s, with reading; {harness.load()}"
            report.row("wall", done.wall, at_most=float(limit), unit=" s", note=note)
            report.row("peak memory, with the pages of the file", done.peak / 1e9, at_most=1.5, unit=" GB")


PARTS: dict[str, Callable[[Report, int], None]] = {
    "rates": by_isa,
    "agreement": agreement,
    "missing": missing,
    "turf": turf,
    "growth": growth,
    "rivals": rivals,
}


def main() -> int:
    """Run all; the exit code says whether every target was reached."""
    parser = argparse.ArgumentParser(description="genotypes of two bits")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=PARTS, default=[*PARTS])
    parser.add_argument("--large", nargs="*", choices=LARGE, help="all of them if none is named")
    parser.add_argument("--isa", help="the instruction set of --large")
    args = parser.parse_args()
    harness.machine()
    report = Report()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastfs.DataWarning)
        for name in args.only:
            PARTS[name](report, args.repeats)
        if args.large is not None:
            large(report, args.large or [*LARGE], args.isa)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
