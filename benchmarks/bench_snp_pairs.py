"""Pairs of SNPs: pairs a second, labelings, missing calls, LD, PLINK beside it, and error rates with main effects.

    python -m benchmarks.bench_snp_pairs [--snps 20000] [--full]        # --full: all pairs of 100,000 SNPs, too
    python -m benchmarks.bench_snp_pairs --errors [--sets 1000]         # the tables of docs/snp-pairs.md: main effects,
    python -m benchmarks.bench_snp_pairs --designs [--sets 1000]        # and designs

Times are CPU times, over the cores that the target names: two. The floor of a pair is that of its counts: of each of
4 x 2 planes of a class and register of AVX2, of 4 SNPs, an AND and 7 operations to count its bits, at twice the rate of
multiply-adds (sgemm), as there are twice as many vector units for them.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import fastfs
from benchmarks import harness
from benchmarks.harness import Report
from fastfs._machine.run import Run, load_core
from fastfs.io import Genotypes, pack_genotypes

N, CORES = 1600, 2


def made_up(n: int, p: int, missing: float = 0.0, copies: int = 1) -> tuple[Genotypes, np.ndarray]:
    """Unlinked SNPs with frequencies from 0.05 to 0.5, or blocks of `copies` in which one call in 20 differs."""
    rng = np.random.default_rng(0)
    parts = []
    for begin in range(0, p, 10_000):
        size = min(10_000, p - begin)
        X = rng.binomial(2, rng.uniform(0.05, 0.5, size), (n, size)).astype(np.int8)
        first = np.repeat(X[:, ::copies], copies, axis=1)[:, :size]
        if copies > 1:
            X = np.where(rng.random(X.shape) < 0.05, X, first)
        if missing:
            X[rng.random(X.shape) < missing] = -1
        parts.append(pack_genotypes(X).bits)
    G = Genotypes(
        np.concatenate(parts),
        np.arange(n),
        np.arange(p),
        samples=np.arange(n).astype(str),
        phenotype=np.full(n, np.nan),
        names=np.arange(p).astype(str),
        alleles=np.tile(["A", "G"], (p, 1)),
        chromosome=np.full(p, "1"),
        position=np.arange(p),
    )
    return G, rng.permutation(np.arange(n) % 2)


def call(G: Genotypes, y: np.ndarray, labelings: np.ndarray | None = None) -> Any:
    return load_core().snp_pairs(G, y, {"labelings": labelings}, Run(CORES))


def cpu(G: Genotypes, y: np.ndarray, labelings: np.ndarray | None = None) -> float:
    """Seconds of both cores."""
    return min(harness.measure(lambda: call(G, y, labelings), 1, warm_up=False).cpu)


def plink_seconds(G: Genotypes, y: np.ndarray) -> tuple[float, float] | None:
    """CPU and wall time of PLINK 1.9 on the same genotypes, with as many threads; None if it isn't there."""
    program = shutil.which("plink1.9") or shutil.which("plink")
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        stem = Path(folder) / "study"
        stem.with_suffix(".bed").write_bytes(b"\x6c\x1b\x01" + G.bits.tobytes())
        stem.with_suffix(".bim").write_text(
            "".join(f"{1 + j * 22 // G.shape[1]} rs{j} 0 {j + 1} A G\n" for j in range(G.shape[1]))
        )
        stem.with_suffix(".fam").write_text("".join(f"f{i} s{i} 0 0 1 {1 + c}\n" for i, c in enumerate(y)))
        options = f"--fast-epistasis boost --epi1 1e-7 --threads {CORES} --bfile {stem} --out {stem}"
        command = [program, *options.split()]
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True)
        wall = time.perf_counter() - start
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def speed(p: int, full: bool) -> int:
    """Times and memory; returns an exit code."""
    harness.machine()
    report = Report()
    rng = np.random.default_rng(1)
    n_pairs = p * (p - 1) / 2
    G, y = made_up(N, p)
    report.heading(f"{N} samples x {p} SNPs, ns of CPU time a pair")
    words = -(-N // 2 // 64)
    with harness.one_thread():
        floor = 2 * 4 * words * 8 / 4 / (harness.gemm_rate(np.float32) / 2 / 8 * 2) * 1e9
    seconds = cpu(G, y)
    each = seconds / n_pairs * 1e9
    report.row("observed pass", each, unit=" ns", note=f"floor {floor:.1f} ns; {harness.load()}")
    report.row("pairs a second and core", 1e3 / each, unit=" M")
    minutes = 5e9 * each / CORES / 60e9
    report.row("100,000 SNPs, two cores, from it", minutes, at_most=5.0, unit=" min")
    labelings = np.array([rng.permutation(y) for _ in range(16)])
    with_labelings = cpu(G, y, labelings)
    report.row("a labeling, against the observed pass", (with_labelings - seconds) / 16 / seconds, unit="x")
    for name, other in (
        ("1 % of calls missing", made_up(N, p, missing=0.01)[0]),
        ("blocks of 50 SNPs in LD", made_up(N, p, copies=50)[0]),
    ):
        report.row(name, cpu(other, y) / seconds, unit="x")
    strong = made_up(N, p, copies=50)[0]
    x = np.asarray(strong[:, [0, 50]]).sum(axis=1)
    case = (rng.random(N) < 1 / (1 + np.exp(2.0 - 1.2 * x))).astype(np.int64)
    report.row("the same with strong main effects of two blocks", cpu(strong, case) / seconds, unit="x")
    for size in (1000, 3000, 10_000):
        some = made_up(N, size)[0]
        times = [
            min(harness.measure(lambda k=k, some=some: load_core().snp_pairs(some, y, {"n_pairs": k}, Run(1)), 5).cpu)
            for k in (1, 1000)
        ]
        report.row(f"{size} SNPs: 1000 pairs against the strongest one", times[1] / times[0], at_most=1.3, unit="x")
    theirs = plink_seconds(G, y)
    if theirs is None:
        report.row("PLINK 1.9, --fast-epistasis boost", "-", note="not on this machine")
    else:
        report.row(
            "PLINK 1.9, --fast-epistasis boost", theirs[0] / n_pairs * 1e9, unit=" ns", note=f"{theirs[1]:.0f} s"
        )
        report.row("the same against the observed pass", theirs[0] / seconds, unit="x")
    if full:
        report.heading("all pairs of 100,000 SNPs")
        G, y = made_up(N, 100_000)
        start = time.perf_counter()
        seconds = cpu(G, y)
        report.row("CPU time over two cores", seconds / CORES / 60, at_most=5.0, unit=" min")
        report.row("wall time", (time.perf_counter() - start) / 60, unit=" min", note=harness.load())
    return report.finish()


def errors(n_sets: int) -> None:
    """Shares of data sets in which the strongest pair has p <= .05: no interaction, with and without main effects."""
    print(f"20 SNPs, 400 samples, 99 labelings, {n_sets} sets, standard error {np.sqrt(0.05 * 0.95 / n_sets):.3f}")
    for kind, effect, low in (
        ("no effects", 0.0, 0.05),
        ("two main effects, odds ratio 2", np.log(2.0), 0.3),
        ("two main effects, odds ratio 4", np.log(4.0), 0.3),
        ("two rare main effects, odds ratio 4", np.log(4.0), 0.05),
    ):
        rejected = 0
        for seed in range(n_sets):
            rng = np.random.default_rng(seed)
            frequency = rng.uniform(0.05, 0.5, 20)
            frequency[:2] = low
            X = rng.binomial(2, frequency, (400, 20))
            odds = effect * (X[:, :2] - 2 * low).sum(axis=1)
            y = (rng.random(400) < 1 / (1 + np.exp(-odds))).astype(int)
            found = fastfs.snp_pairs(X, y, n_permutations=99, random_state=seed, n_threads=1)
            rejected += found.pvalue <= 0.05
        print(f"{kind:<38} {rejected / n_sets:.3f}", flush=True)


DONORS, ROWS = 40, 10


def design_data(kind: str, effect: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Return SNPs that say nothing about the classes given the design, classes, and the design.

    The samples of a donor share the frequencies of their alleles, whose logits differ by `effect` standard deviations.
    """
    donor = np.repeat(np.arange(DONORS), ROWS)
    frequency = rng.uniform(0.1, 0.5, 20)
    logit = np.log(frequency / (1 - frequency)) + effect * rng.normal(size=(DONORS, 20))[donor]
    X = rng.binomial(2, 1 / (1 + np.exp(-logit)))
    whole = rng.permutation(np.arange(DONORS) % 2)[donor]
    single = rng.permutation(np.arange(len(donor)) % 2)
    block = donor % 4
    odds = np.array([-1.0, -0.4, 0.4, 1.0])
    if kind == "whole donors":
        return X, whole, {"groups": donor}
    if kind == "whole donors in blocks":
        y = (rng.random(DONORS) < 1 / (1 + np.exp(-odds[np.arange(DONORS) % 4]))).astype(int)[donor]
        return X, y, {"groups": donor, "blocks": block}
    if kind == "labels vary in donors":
        return X, single, {"blocks": donor}
    if kind == "blocks":
        X = rng.binomial(2, 1 / (1 + np.exp(-(logit + effect * rng.normal(size=(4, 20))[block]))))
        return X, (rng.random(len(donor)) < 1 / (1 + np.exp(-odds[block]))).astype(int), {"blocks": block}
    if kind == "covariates":
        z = rng.normal(size=len(donor))
        X = rng.binomial(2, 1 / (1 + np.exp(-(np.log(frequency / (1 - frequency)) + effect * 0.5 * z[:, None]))))
        return X, (rng.random(len(donor)) < 1 / (1 + np.exp(-z))).astype(int), {"covariates": z[:, None]}
    return X, single, {}


def errors_of_designs(n_sets: int) -> None:
    """Print shares of data sets without interactions in which the strongest pair has p <= .05, with 99 labelings."""
    print(f"20 SNPs, {DONORS * ROWS} samples, {n_sets} sets, standard error {np.sqrt(0.05 * 0.95 / n_sets):.3f}")
    kinds = ("none", "blocks", "labels vary in donors", "whole donors", "whole donors in blocks", "covariates")
    for kind in kinds:
        for effect in (0.0, 1.0):
            if kind == "none" and effect:
                continue
            rejected = 0
            for seed in range(n_sets):
                X, y, design = design_data(kind, effect, np.random.default_rng([seed, 1]))
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", fastfs.DataWarning)
                    found = fastfs.snp_pairs(X, y, n_permutations=99, random_state=seed, n_threads=1, **design)
                rejected += found.pvalue <= 0.05
            print(f"{kind:<26} effects {effect}: {rejected / n_sets:.3f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--snps", type=int, default=20_000)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("--designs", action="store_true")
    parser.add_argument("--sets", type=int, default=1000)
    given = parser.parse_args()
    if given.errors:
        errors(given.sets)
    elif given.designs:
        errors_of_designs(given.sets)
    else:
        sys.exit(speed(given.snps, given.full))
