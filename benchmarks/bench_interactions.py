"""The scan of interactions: time and memory against the floor, what it finds, and its error rates.

    python -m benchmarks.bench_interactions [--labelings 10]
    python -m benchmarks.bench_interactions --recall [--seeds 5]
    python -m benchmarks.bench_interactions --errors [--sets 1000] [--only KIND ...]

Floors are CPU time of one core at the rate of SciPy's gemm in float64: with p features of n samples, the observed pass
takes five products of all pairs, 5 n p (p + 1) flops, and a labeling one; what is computed of a pair's moments comes on
top. The peer is the arithmetic of MatrixEpistasis (Zhu and Fang 2018) in NumPy, the same F from the same products of
blocks, with temporary arrays.

``--recall`` plants an exclusive or of the signs of two normal features, with 10 % of the labels flipped, and counts how
often the pair comes first, among all pairs, and how often both features are among the ten best of other selectors.
``--errors`` draws data sets whose target has no interaction: 100 samples, 40 features of a kind, 59 permutations; with
"main" the first two features have strong effects of their own; with "donors" the samples are four of each of 25 donors,
a donor's mean has the variance of the rest, the four share a target, and whole donors exchange it (``groups=``). The
share with p <= 0.05 is to be .05; with 1000 sets its standard error is .007.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import warnings
from typing import Any

import numpy as np
from scipy.stats import norm, poisson, t
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import f_classif

import fastfs
from benchmarks import harness
from benchmarks.harness import Report
from fastfs._machine.run import Run, load_core

N, P = 100, 20_000


def blocks_in_numpy(X: np.ndarray, y: np.ndarray, size: int = 1000) -> float:
    """Return the largest F of all pairs, from products of blocks of standardised features."""
    n, p = X.shape
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    target = (y - y.mean()) / y.std()
    c = Z.T @ target / n
    largest = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        for i0, j0 in itertools.product(range(0, p, size), repeat=2):
            if j0 < i0:
                continue
            A, B, ci, cj = Z[:, i0 : i0 + size], Z[:, j0 : j0 + size], c[i0 : i0 + size, None], c[j0 : j0 + size]
            r, a, b = A.T @ B / n, (A**2).T @ B / n, A.T @ (B**2) / n
            q, s = (A**2).T @ (B**2) / n, (A * target[:, None]).T @ B / n
            d = 1 - r**2
            rest = q - r**2 - (a**2 + b**2 - 2 * r * a * b) / d
            cov = s - (a * ci + b * cj - r * (a * cj + b * ci)) / d
            of_target = 1 - (ci**2 + cj**2 - 2 * r * ci * cj) / d
            share = cov**2 / (rest * of_target)
            if i0 == j0:
                np.fill_diagonal(share, 0)
            largest = max(largest, float(np.nanmax(share)))
    return largest * (n - 4) / (1 - largest)


def speed(n_labelings: int) -> int:
    """Print times and memory beside the floor and the peer; return an exit code."""
    harness.machine()
    report = Report()
    rng = np.random.default_rng(0)
    rate = harness.gemm_rate("float64")
    core = load_core()

    def scan(X: np.ndarray, y: np.ndarray, draws: np.ndarray | None = None) -> Any:
        return core.interaction_scan(X, None, y, {} if draws is None else {"y_permutations": draws}, Run(1))

    X, y = rng.standard_normal((N, P), dtype=np.float32), rng.normal(size=N)
    report.heading(f"{N} x {P} float32, numbers, CPU seconds of one thread")
    floor = N * P * (P + 1) / rate
    observed = min(harness.measure(lambda: scan(X, y), 3).cpu)
    report.row("observed pass", observed, at_most=8, unit=" s", note=f"floor {5 * floor:.2f} s")
    report.row("observed pass / floor", observed / (5 * floor), at_most=1.5, unit="x")
    draws = np.array([rng.permutation(y) for _ in range(n_labelings)])
    with_labelings = min(harness.measure(lambda: scan(X, y, draws), 1, warm_up=False).cpu)
    each = (with_labelings - 2 * observed) / n_labelings  # the second pass finds the moments again
    report.row("a labeling", each, at_most=0.6, unit=" s", note=f"floor {floor:.2f} s")
    setup = f"import numpy as np, fastfs\nX = np.random.default_rng(0).standard_normal(({N}, {P}), dtype=np.float32)\n"
    setup += "y = X[:, 0].astype(float)\nfastfs.interaction_scan(X[:, :50], y[::-1], n_permutations=0)"
    call = "fastfs.interaction_scan(X, y[::-1], n_permutations=9, n_threads=2)"
    _, above = harness.peak_memory(setup, call)
    report.row("peak memory above X", above / 1e9, at_most=0.5, unit=" GB")

    report.heading("100 x 4000, beside NumPy")
    X, y = rng.normal(size=(100, 4000)), rng.normal(size=100)
    with harness.one_thread():
        times = harness.compare({"NumPy": lambda: blocks_in_numpy(X, y), "fastfs": lambda: scan(X, y)}, 3)
    report.times("NumPy / fastfs", times["NumPy"], times["fastfs"])
    report.row("difference of the largest F", abs(scan(X, y)["statistics"][0] / blocks_in_numpy(X, y) - 1))
    return report.finish()


def planted(n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return normal features and the exclusive or of the signs of the first two, of which 10 % are flipped."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p), dtype=np.float32)
    return X, ((X[:, 0] * X[:, 1] > 0) ^ (rng.random(n) < 0.1)).astype(int)


def recall(seeds: int) -> int:
    """Print how often planted pairs come first."""
    report = Report()
    for n, p in ((100, 2000), (100, 6000), (200, 6000), (500, 20_000)):
        first, among = [], {"F test": 0, "random forest": 0, "MultiSURF": 0}
        for seed in range(seeds):
            X, y = planted(n, p, seed)
            found = fastfs.interaction_scan(X, y, n_permutations=0, n_pairs=1)
            first.append(found.pairs[0].tolist() == [0, 1])
            forest = RandomForestClassifier(500, random_state=0, n_jobs=1).fit(X, y)
            scores = {
                "F test": f_classif(X, y)[0],
                "random forest": forest.feature_importances_,
                "MultiSURF": fastfs.multisurf_scores(X, y),
            }
            for name, of_features in scores.items():
                among[name] += {0, 1} <= set(np.argsort(-of_features)[:10].tolist())
        others = ", ".join(f"{name} {count} of {seeds}" for name, count in among.items())
        report.row(f"{n} x {p}: planted pair first", f"{sum(first)} of {seeds}", note=f"both in the ten best: {others}")
    return report.finish()


KINDS = ("normal", "lognormal", "t3", "rare", "counts", "correlated")


def columns(kind: str, n: int, p: int, rng: np.random.Generator, n_donors: int | None = None) -> np.ndarray:
    """Return features of a kind; "rare" are 1 in a fifth of the samples, else 0.

    Of `n_donors` donors, which have equal numbers of successive samples, each has means of its own.
    """
    Z = rng.normal(size=(n, p))
    if n_donors:
        Z = (Z + np.repeat(rng.normal(size=(n_donors, p)), n // n_donors, axis=0)) / np.sqrt(2)
    if kind == "correlated":
        return Z + 1.5 * rng.normal(size=(n, 1))
    if kind == "normal":
        return Z
    if kind == "lognormal":
        return np.exp(Z)
    if kind == "rare":
        return (norm.isf(0.2) < Z).astype(float)
    return {"t3": lambda u: t.ppf(u, 3), "counts": lambda u: poisson.ppf(u, 1.0)}[kind](norm.cdf(Z))


def make_target(kind: str, effect: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a target that has these effects."""
    n = len(effect)
    if kind == "survival":
        y = np.zeros(n, dtype=[("event", bool), ("time", float)])
        event, censored = rng.exponential(size=n) * np.exp(-0.7 * effect), rng.exponential(2, size=n)
        y["event"], y["time"] = event <= censored, np.minimum(event, censored)
        return y
    numbers = effect + rng.normal(size=n)
    return numbers if kind == "number" else (numbers > np.median(numbers)).astype(int)


SETTINGS = ("no effect", "main", "donors")


def share_of_errors(kind: str, target: str, setting: str, transform: str, sets: int) -> float:
    """Return the share of data sets without an interaction that have a pair with p <= 0.05."""
    n, n_donors, hits = 100, 25 if setting == "donors" else None, 0
    donors = None if n_donors is None else np.repeat(np.arange(n_donors), n // n_donors)
    for number in range(sets):
        rng = np.random.default_rng([number, KINDS.index(kind), SETTINGS.index(setting)])
        X = columns(kind, n, 40, rng, n_donors)
        if donors is not None:
            y = make_target(target, np.zeros(n_donors), rng)[donors]
        else:
            two = (X[:, :2] - X[:, :2].mean(axis=0)) / X[:, :2].std(axis=0)
            y = make_target(target, two.sum(axis=1) if setting == "main" else np.zeros(n), rng)
        found = fastfs.interaction_scan(
            X, y, groups=donors, target_type=target, transform=transform, n_permutations=59, n_pairs=1,
            random_state=number, n_threads=1,
        )  # fmt: skip
        hits += found.pvalue <= 0.05
    return hits / sets


def errors(sets: int, only: list[str]) -> int:
    """Print the share of data sets without an interaction that have a pair with p <= 0.05."""
    report = Report()
    for kind, target in itertools.product(only or KINDS, ("number", "class", "survival")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shares = [
                f"{share_of_errors(kind, target, setting, transform, sets):.3f}"
                for setting, transform in itertools.product(SETTINGS, ("none", "rank"))
            ]
        report.row(f"{kind}, {target}", " ".join(shares), note="values, ranks: no effect, main, donors")
    return report.finish()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labelings", type=int, default=10, metavar="N")
    parser.add_argument("--recall", action="store_true")
    parser.add_argument("--seeds", type=int, default=5, metavar="N")
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("--sets", type=int, default=1000, metavar="N")
    parser.add_argument("--only", nargs="*", default=[], choices=KINDS, metavar="KIND")
    arguments = parser.parse_args()
    if arguments.errors:
        return errors(arguments.sets, arguments.only)
    return recall(arguments.seeds) if arguments.recall else speed(arguments.labelings)


if __name__ == "__main__":
    sys.exit(main())
