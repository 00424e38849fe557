"""Differential correlation: both passes against their floors, memory, DGCA's definition, and error rates.

    python -m benchmarks.bench_correlation [--labelings 10] [--full]     # --full: all 999 labelings
    python -m benchmarks.bench_correlation --errors [--sets 1000]        # tables of docs/pairs.md
    python -m benchmarks.bench_correlation --designs [covariates ...] [--sets 1000] [--stream 1]
    python -m benchmarks.bench_correlation --batches [--sets 1000]       # numbers of batches and donors
    python -m benchmarks.bench_correlation --classes [--sets 1000]       # three classes, and recall
    python -m benchmarks.bench_correlation --numbers [--sets 1000]       # error rates along numbers, and recall
    python -m benchmarks.bench_correlation --tied [--sets 1000]          # shares of tied values, both rules
    python -m benchmarks.bench_correlation --tails [--sets 1000]         # how often heavy tails are told

Floors: a labeling multiplies and adds n_samples p (p + 1) / 2 times, at the rate of SciPy's gemm in float32; its 4
n_samples p bytes stay in the caches. The observed pass is the same in float64. Times are CPU times, over the cores that
the target names: two.
"""

from __future__ import annotations

import argparse
import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import norm

import fastfs
from benchmarks import harness
from benchmarks.harness import Report
from fastfs._functions.correlation import CorrelationOptions
from fastfs._inputs.design import Design
from fastfs._machine.run import Run, load_core

N, P, CORES = 100, 20_000, 2


def made_up(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, p)), rng.permutation(np.arange(n) % 2)


def speed(n_labelings: int) -> int:
    """Times, memory and agreement; returns an exit code."""
    harness.machine()
    report = Report()
    rates = {name: harness.gemm_rate(name) for name in ("float64", "float32")}
    X, y = made_up(N, P)
    rng = np.random.default_rng(1)
    labelings = np.array([rng.permutation(y) for _ in range(n_labelings)])

    def call(labelings: np.ndarray | None) -> Any:
        return load_core().differential_correlation(X, y, {"labelings": labelings}, Run(CORES))

    report.heading(f"{N} x {P}, seconds of CPU time over {CORES} cores")
    times = harness.compare({"observed": lambda: call(None)}, 3)["observed"].cpu
    observed = min(times) / CORES
    with_labelings = harness.measure(lambda: call(labelings), 1, warm_up=False)
    each = (min(with_labelings.cpu) / CORES - observed) / n_labelings
    flops = N * P * (P + 1)
    floors = {name: flops / rates[name] / CORES for name in rates}
    report.row("observed pass", observed, at_most=1.0, unit=" s", note=f"floor {floors['float64']:.2f} s")
    report.row("a labeling", each, unit=" s", note=f"floor {floors['float32']:.2f} s, {flops / 1e9:.0f} GFLOP")
    minutes = (observed + 999 * each) / 60
    report.row("999 labelings", minutes, at_most=12.0, unit=" min", note=f"from {n_labelings}; {harness.load()}")
    setup = (
        f"import numpy as np, fastfs\nX = np.random.default_rng(0).normal(size=({N}, {P}))\ny = np.arange({N}) % 2\n"
        "fastfs.differential_correlation(X[:, :100], y, n_permutations=1)"
    )
    _, above = harness.peak_memory(setup, "fastfs.differential_correlation(X, y, n_permutations=2, n_threads=2)")
    report.row("memory beside X", above / 1e9, at_most=0.5, unit=" GB")

    report.heading("copies, which are computed anew under each labeling: 2000 features, 19,000 pairs of copies")
    copies = np.repeat(X[:, :100], 20, axis=1)
    few = {
        name: harness.measure(
            lambda A=A: load_core().differential_correlation(A, y, {"labelings": labelings}, Run(1)), 3
        )
        for name, A in (("apart", X[:, :2000].copy()), ("copies", copies))
    }
    each = (min(few["copies"].cpu) - min(few["apart"].cpu)) / n_labelings / 19_000
    report.row("a pair of copies, a labeling", 1e6 * each, unit=" us")

    report.heading("500 features against DGCA's definition")
    X, y = made_up(90, 500)
    found = fastfs.differential_correlation(X, y, n_pairs=500 * 499 // 2, n_permutations=0)
    r1, r2 = (np.corrcoef(X[y == c].T)[tuple(found.pairs.T)] for c in (0, 1))
    z = (np.arctanh(r1) - np.arctanh(r2)) / np.sqrt(2 / 42)
    report.row("largest difference of z", float(np.abs(found.statistics - z).max()), at_most=1e-10)
    return report.finish()


def null_data(kind: str, rng: np.random.Generator, n: int = 80, p: int = 15) -> tuple[np.ndarray, np.ndarray]:
    """Two classes with the same correlations."""
    y = np.arange(n) % 2
    if kind == "unequal classes":
        y = (np.arange(n) < n // 4).astype(int)
    X = rng.normal(size=(n, p))
    if kind.startswith("joint t3"):
        X /= np.sqrt(rng.chisquare(3, size=(n, 1)) / 3)
    if kind == "own t3":
        X = rng.standard_t(3, size=(n, p))
    if kind == "correlated .5":
        X = np.sqrt(0.5) * (X + rng.normal(size=(n, 1)))
    if kind == "mean shift":
        X[y == 1] += 2
    if kind in ("scale x 4", "unequal classes"):
        X[y == 1] *= 4
    return X, y


def level(make: Callable[[int], Any], n_sets: int, correlation: str) -> str:
    """Return the share of data sets in which the strongest pair has p <= .05, with 99 labelings, and that of warnings
    of heavy tails.
    """
    rejected, tested, warned = 0, 0, 0
    for seed in range(n_sets):
        X, y, design = make(seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", fastfs.DataWarning)
            found = fastfs.differential_correlation(
                X, y, correlation=correlation, n_permutations=99, random_state=seed, n_threads=1, **design
            )
        warned += any(getattr(warning.message, "code", None) == "heavy_tails" for warning in caught)
        if found.pvalue is not None:
            tested += 1
            rejected += found.pvalue <= 0.05
    if not tested:
        return "no p-value"
    of = f" of {tested} sets with a p-value" * (tested < n_sets) + f", warns {warned / n_sets:.3f}" * (warned > 0)
    return f"{rejected / tested:.3f}{of}"


def levels(make: Callable[[int], Any], n_sets: int) -> str:
    """Return both correlations' shares, as text."""
    return "   ".join(f"{name.title()} {level(make, n_sets, name)}" for name in ("pearson", "spearman"))


def errors(n_sets: int) -> None:
    """Print shares for data sets without any change."""
    kinds = ("normal", "correlated .5", "mean shift", "scale x 4", "unequal classes", "own t3", "joint t3")
    print(f"15 features, 80 samples, {n_sets} sets, standard error {np.sqrt(0.05 * 0.95 / n_sets):.3f}")
    for kind in kinds:
        text = levels(lambda seed, kind=kind: (*null_data(kind, np.random.default_rng(seed)), {}), n_sets)
        print(f"{kind:<20} {text}", flush=True)


DONORS, ROWS = 12, 6

# Shares of ones, or of values other than zero, in both classes of 60 samples x 100 columns.
OF_SHARES = {
    "0/1 columns": (0.5, 0.5),
    "0/1 columns, rare": (0.15, 0.15),
    "0/1 columns, other shares": (0.3, 0.5),
    "0/1 columns, other, rare": (0.1, 0.3),
    "zeros, other shares": (0.3, 0.6),
    "zeros, other, rare": (0.1, 0.3),
}


def design_data(kind: str, effect: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Twenty features of noise with effects of donors, labels of a design, and what says so."""
    n = DONORS * ROWS
    donor = np.repeat(np.arange(DONORS), ROWS)
    X = rng.normal(size=(n, 20)) + effect * rng.normal(size=(DONORS, 20))[donor]
    of_donors = rng.permutation(np.arange(DONORS) % 2)[donor]
    in_donors = np.concatenate([rng.permutation(np.arange(ROWS) % 2) for _ in range(DONORS)])
    if kind in OF_SHARES:
        y = rng.permutation(60) % 2
        share = np.array(OF_SHARES[kind])[y][:, None]
        X = (rng.random((60, 100)) < share).astype(float)
        return X * rng.normal(2, 1, X.shape) if kind.startswith("zeros") else X, y, {}
    if kind.startswith("whole donors, 0/1 columns"):
        share = np.array((0.3, 0.1) if kind.endswith("rare") else (0.5, 0.3))[of_donors][:, None]
        return (np.sqrt(1 + effect**2) * norm.isf(share) < X).astype(float), of_donors, {"groups": donor}
    if kind == "none":
        return rng.normal(size=(n, 20)), rng.permutation(n) % 2, {}
    if kind == "whole donors":
        return X, of_donors, {"groups": donor}
    if kind == "whole donors, other means":
        return X + 3 * of_donors[:, None], of_donors, {"groups": donor}
    if kind == "blocks":
        return X, in_donors, {"blocks": donor}
    if kind == "labels vary in donors":
        return X, in_donors, {"groups": donor}
    if kind == "whole donors in blocks":
        labels = np.concatenate([rng.permutation(np.arange(4) % 2) for _ in range(DONORS // 4)])[donor]
        return X, labels, {"groups": donor, "blocks": donor // 4}
    covariate = rng.normal(size=n)
    labels = (rng.random(n) < 1 / (1 + np.exp(-covariate))).astype(int)
    return X + effect * covariate[:, None], labels, {"covariates": covariate}


ALONE = ("none", *OF_SHARES)
WITH_EFFECTS = (
    "whole donors",
    "whole donors, other means",
    "whole donors in blocks",
    "blocks",
    "labels vary in donors",
    "whole donors, 0/1 columns",
    "whole donors, 0/1 columns, rare",
    "covariates",
)


def errors_of_designs(n_sets: int, kinds: list[str], stream: int) -> None:
    """Print shares for data sets without any change, with effects of donors, or of a covariate, of two sizes."""
    print(f"20 features, {DONORS * ROWS} samples, {n_sets} sets, standard error {np.sqrt(0.05 * 0.95 / n_sets):.3f}")
    for kind in kinds or (*ALONE, *WITH_EFFECTS):
        for effect in (0.0,) if kind in ALONE else (0.0, 1.5):
            of = kind, effect
            text = levels(lambda seed, of=of: design_data(*of, np.random.default_rng([seed, stream])), n_sets)
            print(f"{kind:<31} effects {effect}: {text}", flush=True)
    if not kinds:
        exclusive_ors()


def donors_in_batches(n_donors: int, n_batches: int, effect: float, seed: int) -> Any:
    """Return normal features with effects of donors, half of each batch of which are cases, and the design."""
    rng = np.random.default_rng([seed, 3])
    donor, size = np.repeat(np.arange(n_donors), ROWS), n_donors // n_batches
    X = rng.normal(size=(len(donor), 20)) + effect * rng.normal(size=(n_donors, 20))[donor]
    labels = np.concatenate([rng.permutation(np.arange(size) % 2) for _ in range(n_batches)])[donor]
    return X, labels, {"groups": donor, "blocks": donor // size}


def errors_of_batches(n_sets: int) -> None:
    """Print shares for whole donors within batches, by the numbers of both, and how many labelings there are."""
    print(f"20 features, {ROWS} samples a donor, {n_sets} sets, standard error {np.sqrt(0.05 * 0.95 / n_sets):.3f}")
    for n_donors, n_batches in ((12, 1), (12, 2), (12, 3), (12, 6), (24, 3), (24, 6), (24, 12)):
        n_labelings = math.comb(n_donors // n_batches, n_donors // n_batches // 2) ** n_batches
        for effect in (0.0, 1.5):
            of = n_donors, n_batches, effect
            text = levels(lambda seed, of=of: donors_in_batches(*of, seed), n_sets)
            print(
                f"{n_donors} donors, {n_batches:2d} batches, {n_labelings:,} labelings, effects {effect}: {text}",
                flush=True,
            )


def data_of_classes(kind: str, seed: int) -> Any:
    """Return features of noise, three classes of 30 samples, and the design; donors are 18 of five samples.

    A covariate goes with the classes and moves all features by one and a half of their deviations. "tied" are then
    the first two features in the first class.
    """
    rng = np.random.default_rng([seed, 5])
    if kind.startswith("covariate"):
        covariate = rng.normal(size=90)
        labels = np.argsort(np.argsort(covariate + rng.normal(size=90))) // (45 if "two" in kind else 30)
        X = rng.normal(size=(90, 15))
        if "tied" in kind:
            X[:, 1] += 1.5 * X[:, 0] * (labels == 0)
        X += 1.5 * covariate[:, None]
        if "counts" in kind:
            X = rng.poisson(np.exp(0.5 * X)).astype(float)
        if "0 and 1" in kind:
            X = (np.quantile(X, 0.7, axis=0) < X).astype(float)
        return X, labels, {} if "not given" in kind else {"covariates": covariate}
    donor = np.repeat(np.arange(18), 5)
    labels = rng.permutation(np.arange(18) % 3)[donor] if kind == "whole donors" else rng.permutation(90) % 3
    X = rng.standard_t(3, size=(90, 15)) if kind == "own t3" else rng.normal(size=(90, 15))
    if kind == "means and scales":
        return (X + 2 * labels[:, None]) * np.array([1, 2, 4])[labels][:, None], labels, {}
    if kind == "counts":
        return rng.poisson(np.array([0.5, 1, 2])[labels][:, None], X.shape).astype(float), labels, {}
    if kind == "whole donors":
        return X + 1.5 * rng.normal(size=(18, 15))[donor], labels, {"groups": donor}
    return X, labels, {}


def errors_of_classes(n_sets: int) -> None:
    """Print shares for three classes."""
    print(f"15 features, 3 x 30 samples, {n_sets} sets, standard error {np.sqrt(0.05 * 0.95 / n_sets):.3f}")
    of_covariates = [
        f"covariate{two}{kind}"
        for two in ("", ", two classes")
        for kind in ("", ", counts", ", 0 and 1", ", not given", ", tied", ", tied, not given")
    ]
    for kind in ("normal", "means and scales", "own t3", "counts", "whole donors", *of_covariates):
        text = levels(lambda seed, kind=kind: data_of_classes(kind, seed), n_sets)
        print(f"{kind:<42} {text}", flush=True)
    recall(along_numbers=False)


def recall(*, along_numbers: bool) -> None:
    """Print how many of ten planted pairs come first among 20,000 features: correlations that rise from -.6 to .6
    within a deviation of a number, or are .7, 0 and -.7 in three classes.
    """
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(500, 20_000)).astype(np.float32), rng.normal(size=500)
        r = np.clip(0.6 * y, -0.95, 0.95)  # of columns 2 k and 2 k + 1, k < 10
        if not along_numbers:
            y = np.arange(500) % 3
            r = np.array([0.7, 0, -0.7])[y]
        X[:, 1:20:2] = r[:, None] * X[:, 0:20:2] + np.sqrt(1 - r**2)[:, None] * X[:, 1:20:2]
        found = fastfs.differential_correlation(
            X, y, target_type="number" if along_numbers else "class", n_pairs=10, n_permutations=0
        )
        first, second = found.pairs.T
        planted = np.count_nonzero((first % 2 == 0) & (first < 20) & (second == first + 1))
        print(
            f"500 x 20,000: {planted} of 10 planted pairs are the first ten; "
            f"statistic of the tenth {abs(found.statistics[-1]):.1f}"
        )


def data_along_numbers(kind: str, setting: str, seed: int) -> Any:
    """Return features of noise, numbers, and the design; donors are 20 of four samples, with separate means."""
    rng = np.random.default_rng([seed, 6])
    n, p = 80, 15
    donor = np.repeat(np.arange(20), 4)
    y = rng.normal(size=20)[donor] if setting == "donors" else rng.normal(size=n)
    if kind in ("own t3", "joint t3"):
        X = rng.standard_t(3, size=(n, p)) if kind == "own t3" else null_data(kind, rng, n, p)[0]
    else:
        X = rng.normal(size=(n, p))
    design: dict[str, Any] = {"target_type": "number"}
    if setting == "trends":
        X = X * np.exp(0.4 * y[:, None]) + y[:, None]
    if setting == "donors":
        X += 1.5 * rng.normal(size=(20, p))[donor]
        design["groups"] = donor
    if setting == "covariate":
        covariate = y + rng.normal(size=n)
        X += covariate[:, None]
        design["covariates"] = covariate
    if kind == "lognormal":
        X = np.exp(X)
    if kind == "counts":
        X = rng.poisson(2 * np.exp(0.5 * X)).astype(float)
    if kind == "0 and 1":
        X = (np.quantile(X, 0.7, axis=0) < X).astype(float)
    return X, y, design


def errors_along_numbers(n_sets: int) -> None:
    """Print shares for numbers, and the share of planted pairs that come first."""
    print(f"15 features, 80 samples, {n_sets} sets, standard error {np.sqrt(0.05 * 0.95 / n_sets):.3f}")
    for kind in ("normal", "own t3", "joint t3", "lognormal", "counts", "0 and 1"):
        for setting in ("none", "trends", "donors", "covariate"):
            text = levels(lambda seed, kind=kind, setting=setting: data_along_numbers(kind, setting, seed), n_sets)
            print(f"{kind:<10} {setting:<10} {text}", flush=True)
    recall(along_numbers=True)


def tied_data(share: float, effect: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features of which a share of the first class, and half of it in the second, have the lowest value."""
    rng = np.random.default_rng([seed, 4])
    donor = np.repeat(np.arange(DONORS), ROWS)
    labels = rng.permutation(np.arange(DONORS) % 2)[donor] if effect else rng.permutation(len(donor)) % 2
    X = rng.normal(size=(len(donor), 20)) + effect * rng.normal(size=(DONORS, 20))[donor]
    lowest = np.sqrt(1 + effect**2) * norm.ppf(np.array([share, share / 2])[labels])[:, None]
    return np.maximum(X, lowest) - np.where(share, lowest, 0), labels, donor


def level_of_rule(share: float, effect: float, wholes: int, correlation: str, n_sets: int) -> float:
    """Return the share of sets with p <= .05 if labelings move values (wholes), or as they move samples."""
    rejected = 0
    of_core = CorrelationOptions.from_arguments({"correlation": correlation, "n_pairs": 1}).core_options() | {
        "wholes": wholes
    }
    for seed in range(n_sets):
        X, labels, donor = tied_data(share, effect, seed)
        design = Design(labels, groups=donor if effect else None, n_permutations=99, seed=seed, shuffled=True)
        labelings = design.labelings(0, design.n_labelings)
        found = load_core().differential_correlation(X, labels, of_core | {"labelings": labelings}, Run(1))
        rejected += found["pvalues"][0] <= 0.05
    return rejected / n_sets


def errors_of_ties(n_sets: int) -> None:
    """Print shares as more values are tied: by values that move, and as the function moves them."""
    print(f"20 features, {DONORS * ROWS} samples, {n_sets} sets, standard error {np.sqrt(0.05 * 0.95 / n_sets):.3f}")
    ways = (("samples, values", 0.0, 1), ("samples, by the rule", 0.0, 0), ("whole donors, values", 1.5, 1))
    for share in (0.0, 0.1, 0.25, 0.5, 0.75, 0.9):
        for name, effect, wholes in ways:
            of = [level_of_rule(share, effect, wholes, c, n_sets) for c in ("pearson", "spearman")]
            print(
                f"{share:4g} and {share / 2:5g} tied; {name:<20} Pearson {of[0]:.3f}   Spearman {of[1]:.3f}", flush=True
            )


def tails(n_sets: int) -> None:
    """Print the shares of features with an excess kurtosis above 1 and 2 in classes, and of tables that are told."""
    draws: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
        "normal": lambda rng, size: rng.normal(size=size),
        "Laplace": lambda rng, size: rng.laplace(size=size),
        "t3": lambda rng, size: rng.standard_t(3, size=size),
        "lognormal": lambda rng, size: np.exp(rng.normal(size=size)),
    }
    for (kind, draw), n in itertools.product(draws.items(), (24, 60, 100)):
        excess, told = [], 0
        for seed in range(n_sets):
            X = draw(np.random.default_rng([seed, 7]), (n, 15))
            Z = X.reshape(2, n // 2, 15)
            Z = (Z - Z.mean(axis=1, keepdims=True)) / Z.std(axis=1, keepdims=True)
            excess.append((Z**4).mean(axis=(0, 1)) - 3)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                fastfs.differential_correlation(X, np.arange(n) // (n // 2), n_permutations=1, n_threads=1)
            told += any(getattr(warning.message, "code", None) == "heavy_tails" for warning in caught)
        shares = [np.mean(np.array(excess) > limit) for limit in (1, 2)]
        print(
            f"{kind:<9} {n:3d} samples: above 1 {shares[0]:.4f}, above 2 {shares[1]:.4f} of features; "
            f"{told / n_sets:.3f} of tables of 15 are told",
            flush=True,
        )


def exclusive_ors(n_sets: int = 50) -> None:
    """Print in how many data sets the pair whose exclusive or is the class comes first."""
    first = 0
    for seed in range(n_sets):
        rng = np.random.default_rng([seed, 2])
        X = rng.integers(0, 2, (60, 100)).astype(float)
        a, b = rng.choice(100, 2, replace=False)
        found = fastfs.differential_correlation(X, X[:, a] != X[:, b], n_permutations=0, n_threads=1)
        first += set(found.pairs[0].tolist()) == {int(a), int(b)}
    print(f"exclusive or of two of 100 columns of 0 and 1, 60 samples: first in {first} of {n_sets}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--labelings", type=int, default=10)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("--designs", nargs="*", metavar="DESIGN", choices=(*ALONE, *WITH_EFFECTS))
    # Other data than those by which the standardising was chosen, which have one seed; 2: still others.
    parser.add_argument("--stream", type=int, default=1)
    parser.add_argument("--batches", action="store_true")
    parser.add_argument("--classes", action="store_true")
    parser.add_argument("--numbers", action="store_true")
    parser.add_argument("--tied", action="store_true")
    parser.add_argument("--tails", action="store_true")
    parser.add_argument("--sets", type=int, default=1000)
    given = parser.parse_args()
    if given.errors:
        errors(given.sets)
    elif given.designs is not None:
        errors_of_designs(given.sets, given.designs, given.stream)
    elif given.batches:
        errors_of_batches(given.sets)
    elif given.classes:
        errors_of_classes(given.sets)
    elif given.numbers:
        errors_along_numbers(given.sets)
    elif given.tails:
        tails(given.sets)
    elif given.tied:
        errors_of_ties(given.sets)
    else:
        raise SystemExit(speed(999 if given.full else given.labelings))
