"""Which planted signals are found among how many SNPs, and which SNPs are found because of population structure.

    python -m benchmarks.papers.genotypes [--snps 1000 10000 100000] [--samples 1600] [--tables N] [--pairs N]
    python -m benchmarks.papers.genotypes --structure [--tables 20]

Made-up genotypes in Hardy-Weinberg equilibrium, without linkage, of allele frequencies from 0.05 to 0.5, half of the
samples cases. Six signals are in the same table, each drawn given the class and apart from the others:

* XOR: cases have one heterozygous SNP of two more often than none or both; allele frequencies 0.5, so neither SNP alone
  says anything; heritability 0.4 and 0.2 (the variance of the penetrance over that of the class);
* pure: a random penetrance table of two SNPs without main effects, at allele frequencies 0.2; 0.4 and 0.2;
* SNP: one SNP of allele frequency 0.3 and odds ratio 1.5, and another one of 1.3.

Printed is in how many tables all SNPs of a signal are among the 100 best ones; for all pairs, in how many the pair is
among the 100 strongest of all. Scans of all pairs are made of the first ``--pairs`` tables.

``--structure``: 1600 samples of two populations (F_ST 0.01), without any signal, but two thirds of the cases and one
third of the controls are of the first one. Printed is how many of the 100 best SNPs are among the 1 % whose allele
frequencies differ most between the populations, and in how many tables the test of all SNPs has p <= 0.05, with labels
shuffled freely and within populations.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from typing import Any

import numpy as np

import fastfs
from benchmarks import harness
from benchmarks.harness import Report

TABLES = {1_000: 10, 10_000: 10, 100_000: 4}  # how many are drawn, by the number of SNPs
SCANS = {1_000: 10, 10_000: 10, 100_000: 1}
BEST = 100

Array = np.ndarray


def weights_of(frequency: float) -> Array:
    """Probabilities of 0, 1 and 2 copies."""
    other = 1 - frequency
    return np.array([other**2, 2 * frequency * other, frequency**2])


def exclusive_or(heritability: float) -> tuple[Array, Array]:
    """Probabilities of the genotypes of two SNPs, and the penetrance of each."""
    P = np.outer(weights_of(0.5), weights_of(0.5))
    heterozygous = np.arange(3) == 1
    sign = np.where(heterozygous[:, None] ^ heterozygous, 1.0, -1.0)
    return P, 0.5 + np.sqrt(heritability / 4) * sign


def pure(heritability: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """A random table without main effects: each row and each column has the same mean penetrance."""
    w = weights_of(0.2)
    P = np.outer(w, w)
    while True:
        T = rng.normal(size=(3, 3))
        T -= (T @ w)[:, None]
        T -= w @ T
        # The prevalence at which the effect may be largest, with penetrances from 0 to 1.
        T /= T.max() - T.min()
        prevalence, variance = -T.min(), (P * T**2).sum()
        largest = variance / (prevalence * (1 - prevalence))
        if largest >= heritability:
            return P, prevalence + np.sqrt(heritability / largest) * T


def draw_pair(P: Array, penetrance: Array, y: Array, rng: np.random.Generator) -> Array:
    """Genotypes of two SNPs given the class."""
    found = np.empty((len(y), 2), dtype=np.int8)
    for is_case in (False, True):
        given = P * (penetrance if is_case else 1 - penetrance)
        cells = rng.choice(9, size=int((y == is_case).sum()), p=(given / given.sum()).ravel())
        found[y == is_case] = np.stack([cells // 3, cells % 3], axis=1)
    return found


def draw_snp(frequency: float, odds: float, y: Array, rng: np.random.Generator) -> Array:
    """A SNP of this allele frequency in controls, and an odds ratio per allele."""
    in_cases = frequency * odds / (1 - frequency + frequency * odds)
    return rng.binomial(2, np.where(y, in_cases, frequency))[:, None].astype(np.int8)


def table(n_samples: int, n_snps: int, seed: int) -> tuple[Any, Array, dict[str, Array]]:
    """Genotypes, cases, and the SNPs of each signal."""
    rng = np.random.default_rng([seed, n_snps, 2026])
    y = rng.permutation(np.arange(n_samples) % 2 == 0)
    X = np.empty((n_samples, n_snps), dtype=np.int8)
    for begin in range(0, n_snps, 10_000):
        block = X[:, begin : begin + 10_000]
        block[:] = rng.binomial(2, rng.uniform(0.05, 0.5, block.shape[1]), size=block.shape)
    signals = {
        "XOR .4": draw_pair(*exclusive_or(0.4), y, rng),
        "XOR .2": draw_pair(*exclusive_or(0.2), y, rng),
        "pure .4": draw_pair(*pure(0.4, rng), y, rng),
        "pure .2": draw_pair(*pure(0.2, rng), y, rng),
        "SNP 1.5": draw_snp(0.3, 1.5, y, rng),
        "SNP 1.3": draw_snp(0.3, 1.3, y, rng),
    }
    places = iter(rng.choice(n_snps, sum(s.shape[1] for s in signals.values()), replace=False))
    of_signal = {}
    for name, genotypes in signals.items():
        of_signal[name] = np.array([next(places) for _ in genotypes.T])
        X[:, of_signal[name]] = genotypes
    return fastfs.io.pack_genotypes(X), y, of_signal


def methods(n_snps: int, seed: int) -> dict[str, Any]:
    multisurf, size = fastfs.MultiSURF(scaling=None), min(1000, n_snps // 5)
    return {
        "ReliefF, 10 neighbours": fastfs.ReliefF(n_neighbors=10, scaling=None),
        "ReliefF, 100 neighbours": fastfs.ReliefF(n_neighbors=100, scaling=None),
        "SURF*": fastfs.SURF(far=True, scaling=None),
        "MultiSURF": multisurf,
        "MultiSURF*": fastfs.MultiSURF(far=True, scaling=None),
        "TuRF(MultiSURF), 20 %": fastfs.TuRF(multisurf, n_features_to_select=BEST, step=0.2),
        "TuRF(MultiSURF), 5 %": fastfs.TuRF(multisurf, n_features_to_select=BEST, step=0.05),
        "VLS(MultiSURF)": fastfs.VLS(multisurf, n_subsets=max(40, n_snps // size), subset_size=size, random_state=seed),
    }


def power(report: Report, n_samples: int, n_snps: int, n_tables: int, n_scans: int) -> None:
    """One row a method."""
    report.heading(f"{n_samples} x {n_snps}: tables in which all SNPs of a signal are among the {BEST} best")
    hits: dict[str, dict[str, int]] = {}
    took: dict[str, float] = {}
    chance: dict[str, float] = {}
    for seed in range(n_tables):
        G, y, signals = table(n_samples, n_snps, seed)
        for name, method in methods(n_snps, seed).items():
            begin = time.perf_counter()
            best = set(np.argsort(method.fit(G, y).ranking_)[:BEST].tolist())
            took[name] = took.get(name, 0) + time.perf_counter() - begin
            row = hits.setdefault(name, dict.fromkeys(signals, 0))
            for signal, snps in signals.items():
                row[signal] += best >= set(snps.tolist())
                chance[signal] = (BEST / n_snps) ** len(snps)
        if seed >= n_scans:
            continue
        begin = time.perf_counter()
        strongest = {tuple(pair) for pair in fastfs.snp_pairs(G, y, n_pairs=BEST).pairs.tolist()}
        took["all pairs"] = took.get("all pairs", 0) + time.perf_counter() - begin
        row = hits.setdefault("all pairs", dict.fromkeys(signals, 0))
        for signal, snps in signals.items():
            row[signal] += tuple(sorted(snps.tolist())) in strongest
    print(f"{'':<28}" + "".join(f"{signal:>9}" for signal in chance) + f"{'tables':>9}{'s a table':>11}")
    for name, row in hits.items():
        n = min(n_scans, n_tables) if name == "all pairs" else n_tables
        cells = ["-" if name == "all pairs" and signal.startswith("SNP") else str(hit) for signal, hit in row.items()]
        print(f"{name:<28}" + "".join(f"{cell:>9}" for cell in cells) + f"{n:>9}{took[name] / n:>11.1f}")
    print(f"{'by chance, a table':<28}" + "".join(f"{p:>9.2g}" for p in chance.values()))
    print(harness.load())


def structured(n_samples: int, n_snps: int, seed: int) -> tuple[Any, Array, Array, set[int]]:
    """Genotypes, cases, populations, and the SNPs that differ most between these."""
    rng = np.random.default_rng([seed, 7, 2026])
    y = np.arange(n_samples) % 2 == 0
    population = (rng.random(n_samples) < np.where(y, 2 / 3, 1 / 3)).astype(int)
    ancestral, F = rng.uniform(0.1, 0.5, n_snps), 0.01
    of_population = rng.beta(
        ancestral * (1 - F) / F, (1 - ancestral) * (1 - F) / F, size=(2, n_snps)
    )  # Balding and Nichols 1995
    X = rng.binomial(2, of_population[population]).astype(np.int8)
    distant = np.argsort(-np.abs(of_population[0] - of_population[1]))[: n_snps // 100]
    return fastfs.io.pack_genotypes(X), y, population, set(distant.tolist())


def structure(report: Report, n_samples: int, n_snps: int, n_tables: int) -> None:
    report.heading(f"{n_samples} x {n_snps}, two populations, no signal; {n_tables} tables")
    ours = {
        "ReliefF, 100 neighbours": fastfs.ReliefF(n_neighbors=100, scaling=None),
        "MultiSURF": fastfs.MultiSURF(scaling=None),
    }
    print(f"{'':<28}{'of 100 best':>13}{'by chance':>11}{'p <= .05, free':>16}{'within':>8}")
    for name, method in ours.items():
        distant, free, within = [], 0, 0
        for seed in range(n_tables):
            G, y, population, differ = structured(n_samples, n_snps, seed)
            best = np.argsort(method.fit(G, y).ranking_)[:BEST]
            distant.append(len(differ & set(best.tolist())))
            options = {"n_permutations": 99, "random_state": seed}
            free += fastfs.permutation_test(method, G, y, **options).pvalue <= 0.05
            within += fastfs.permutation_test(method, G, y, blocks=population, **options).pvalue <= 0.05
        print(
            f"{name:<28}{np.mean(distant):>13.1f}{BEST / 100:>11.0f}{free:>13} of {n_tables}{within:>5} of {n_tables}"
        )
    print(harness.load())


def main() -> int:
    parser = argparse.ArgumentParser(description="What is found among genotypes")
    parser.add_argument("--snps", type=int, nargs="+", choices=TABLES, default=[*TABLES])
    parser.add_argument("--samples", type=int, default=1600)
    parser.add_argument("--tables", type=int, help="default: 10, or 4 of 100,000 SNPs")
    parser.add_argument("--pairs", type=int, help="tables whose pairs are scanned; default: 10, or 1 of 100,000 SNPs")
    parser.add_argument("--structure", action="store_true")
    args = parser.parse_args()
    harness.machine()
    report = Report()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastfs.DataWarning)
        if args.structure:
            structure(report, args.samples, 2_000, args.tables or 20)
        else:
            for n_snps in args.snps:
                n_tables = args.tables or TABLES[n_snps]
                power(report, args.samples, n_snps, n_tables, SCANS[n_snps] if args.pairs is None else args.pairs)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
