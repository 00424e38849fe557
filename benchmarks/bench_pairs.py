"""Searches for pairs: time and memory against the floor, what they find, and their error rates.

    python -m benchmarks.bench_pairs [--labelings 10] [--all]   # --all: the other two searches, too
    python -m benchmarks.bench_pairs --many 50000 [100000]  # numbers of features of 200 samples
    python -m benchmarks.bench_pairs --recall [--seeds 5]
    python -m benchmarks.bench_pairs --calibration [interaction|correlation|genotype] [--sets 1000] [--only KIND ...]

``bench_correlation`` and ``bench_snp_pairs`` have what is particular to these: designs, ties, batches, PLINK.

Floors are CPU time of one core at the rate of SciPy's gemm in float64: with p features of n samples, the observed pass
takes five products of all pairs, 5 n p (p + 1) flops, and a labeling one; what is computed of a pair's moments comes on
top. The peer is the arithmetic of MatrixEpistasis (Zhu and Fang 2018) in NumPy, the same F from the same products of
blocks, with temporary arrays.

``--many`` plants two products among billions of pairs, with numbers i p + j beyond 31 bits, at the first and the last
features, and compares their F with two least-squares fits. ``--recall`` plants an exclusive or of the signs of two
normal features, with 10 % of the labels flipped, and counts how often the pair comes first, among all pairs, and how
often both features are among the ten best of other selectors; then pairs with correlations that change over three
classes, and along a number. ``--calibration`` draws data sets without anything to find: 100 samples, 40 features of a
kind (20 SNPs), 59 permutations; with "main" the first two features have strong effects of their own; with "donors" the
samples are four of each of 25 donors, a donor's mean has the variance of the rest, the four share a target, and whole
donors exchange it (``groups=``). The share with p <= 0.05 is to be .05; with 1000 sets its standard error is .007.
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
from benchmarks import bench_correlation, bench_snp_pairs, harness
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


def two_fits(X: np.ndarray, y: np.ndarray, i: int, j: int) -> float:
    """Return F of the product of two columns, given both, by least squares."""
    a, b = X[:, i].astype(float), X[:, j].astype(float)
    models = [np.column_stack([np.ones(len(y)), a, b]), np.column_stack([np.ones(len(y)), a, b, a * b])]
    small, full = (float(np.linalg.lstsq(model, y, rcond=None)[1][0]) for model in models)
    return (small - full) / full * (len(y) - 4)


def many(p: int) -> int:
    """Print the time of all pairs of p features, and if planted ones come first; return an exit code."""
    report, rng = Report(), np.random.default_rng(0)
    X = rng.standard_normal((200, p), dtype=np.float32)
    pairs = [(0, p - 1), (p - 3, p - 2)]
    y = X[:, 0] * X[:, p - 1] + X[:, p - 3] * X[:, p - 2] + 0.5 * rng.normal(size=200)
    report.heading(f"200 x {p} float32, numbers, CPU seconds of one thread")
    found: list[Any] = []

    def search() -> None:
        found[:] = [fastfs.interaction_scan(X, y, n_permutations=0, n_pairs=10, n_threads=1)]

    times = harness.measure(search, 1, warm_up=False)
    report.row("observed pass", min(times.cpu), at_most=900 * (p / 100_000) ** 2, unit=" s", note=harness.load())
    report.row("pairs tested", f"{found[0].n_tested:,}", note=f"of {p * (p - 1) // 2:,}")
    first = [tuple(pair) for pair in found[0].pairs[:2].tolist()]
    report.row("planted pairs that are the first two", f"{len({*first} & {*pairs})} of 2", note=str(first))
    errors = [
        abs(F / two_fits(X, y, i, j) - 1)
        for F, (i, j) in zip(found[0].statistics, found[0].pairs.tolist(), strict=True)
    ]
    report.row("largest difference of the first ten F", max(errors), at_most=1e-10)
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
    for along_numbers in (False, True):
        report.heading("changing correlations " + ("along a number" if along_numbers else "over three classes"))
        bench_correlation.recall(along_numbers=along_numbers)
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
    if kind == "t3":
        return t.ppf(norm.cdf(Z), 3)
    return np.searchsorted(poisson.cdf(np.arange(30), 1.0), norm.cdf(Z)).astype(float)


def make_target(kind: str, effect: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a target that has these effects."""
    n = len(effect)
    if kind == "survival":
        y = np.zeros(n, dtype=[("event", bool), ("time", float)])
        event, censored = rng.exponential(size=n) * np.exp(-0.7 * effect), rng.exponential(2, size=n)
        y["event"], y["time"] = event <= censored, np.minimum(event, censored)
        return y
    numbers = effect + rng.normal(size=n)
    if kind == "three classes":
        return np.searchsorted(np.quantile(numbers, [1 / 3, 2 / 3]), numbers)
    return numbers if kind == "number" else (numbers > np.median(numbers)).astype(int)


SETTINGS = ("no effect", "main", "donors")


def no_pair(kind: str, target: str, setting: str, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return features, a target without an interaction, and the donors, if the setting has them."""
    n, n_donors = 100, 25 if setting == "donors" else None
    rng = np.random.default_rng([number, KINDS.index(kind), SETTINGS.index(setting)])
    X = columns(kind, n, 40, rng, n_donors)
    if n_donors is not None:
        donors = np.repeat(np.arange(n_donors), n // n_donors)
        return X, make_target(target, np.zeros(n_donors), rng)[donors], donors
    two = (X[:, :2] - X[:, :2].mean(axis=0)) / X[:, :2].std(axis=0)
    return X, make_target(target, two.sum(axis=1) if setting == "main" else np.zeros(n), rng), None


def no_pair_of_snps(kind: str, target: str, setting: str, number: int) -> Any:
    """Return the same of SNPs, 20 in number."""
    rng = np.random.default_rng([number, SNP_KINDS.index(kind), SETTINGS.index(setting), 1])
    n, n_donors = 100, 25
    donors = np.repeat(np.arange(n_donors), n // n_donors) if setting == "donors" else None
    frequency = {"frequency .5": 0.5, "frequency .2": 0.2, "frequency .05": 0.05}.get(kind, 0.3)
    Z = rng.normal(size=(2, n, 20))
    if donors is not None:
        Z = (Z + rng.normal(size=(2, n_donors, 20))[:, donors]) / np.sqrt(2)
    if kind == "linked":  # blocks of five
        Z = 0.9 * np.repeat(Z[:, :, ::5], 5, axis=2) + np.sqrt(1 - 0.9**2) * rng.normal(size=Z.shape)
    G = (norm.ppf(frequency) > Z).sum(axis=0)
    if donors is not None:
        return G, make_target(target, np.zeros(n_donors), rng)[donors], donors
    two = (G[:, :2] - 2 * frequency) / np.sqrt(2 * frequency * (1 - frequency))
    return G, make_target(target, two.sum(axis=1) if setting == "main" else np.zeros(n), rng), None


SNP_KINDS = ("frequency .5", "frequency .2", "frequency .05", "linked")

# Of each search: kinds of columns, targets with the arguments that they take, and what makes data sets.
SEARCHES: dict[str, Any] = {
    "interaction": (
        fastfs.interaction_scan, KINDS, no_pair,
        [(target, {"transform": how}) for target in ("number", "class", "survival") for how in ("none", "rank")],
    ),
    "correlation": (
        fastfs.differential_correlation, KINDS, no_pair,
        [(target, {"correlation": how}) for target in ("class", "three classes", "number")
         for how in ("pearson", "spearman")],
    ),
    "genotype": (
        fastfs.snp_pairs, SNP_KINDS, no_pair_of_snps,
        [("class", {"coding": "genotypic"})]
        + [(target, {"coding": how}) for target in ("number", "survival") for how in ("additive", "genotypic")],
    ),
}  # fmt: skip


def finds_a_pair(find: Any, X: np.ndarray, y: np.ndarray, **how: Any) -> bool | None:
    """Return True if p <= 0.05 with 59 labelings, or None if there is no p-value.

    That is: at most two labelings reach the strongest pair. The first nine, which are those of a test with nine, tell
    of seven in ten data sets that more do.
    """
    for n_permutations in (9, 59):
        found = find(X, y, n_permutations=n_permutations, n_pairs=1, n_threads=1, **how)
        if found.pvalue is None:
            return None
        if found.pvalue > 3.5 / (1 + n_permutations):
            return False
    return True


def share_of_errors(search: str, kind: str, target: str, setting: str, sets: int, **how: Any) -> str:
    """Return the share of data sets without a pair to find that have one with p <= 0.05."""
    find, _, make, _ = SEARCHES[search]
    how |= {"target_type": "class" if target == "three classes" else target}
    hits, tested = 0, 0
    for number in range(sets):
        X, y, donors = make(kind, target, setting, number)
        try:
            is_found = finds_a_pair(find, X, y, groups=donors, random_state=number, **how)
        except ValueError:  # a class, or a rare SNP, that says nothing
            continue
        if is_found is not None:
            tested += 1
            hits += is_found
    return "-" if not tested else f"{hits / tested:.3f}" + f" of {tested}" * (tested < sets)


def calibration(search: str, sets: int, only: list[str]) -> int:
    """Print the share of data sets without a pair to find that have one with p <= 0.05."""
    _, kinds, _, ways = SEARCHES[search]
    print(f"{search}, {sets} sets: no effect, main effects, donors")
    for kind, (target, how) in itertools.product(only or kinds, ways):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shares = [share_of_errors(search, kind, target, setting, sets, **how) for setting in SETTINGS]
        print(f"| {kind} | {target}, {', '.join(how.values())} | {' | '.join(shares)} |", flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labelings", type=int, default=10, metavar="N")
    parser.add_argument("--many", type=int, nargs="+", metavar="FEATURES")
    parser.add_argument("--recall", action="store_true")
    parser.add_argument("--seeds", type=int, default=5, metavar="N")
    parser.add_argument("--calibration", nargs="?", const="interaction", choices=SEARCHES)
    parser.add_argument("--sets", type=int, default=1000, metavar="N")
    parser.add_argument("--only", nargs="*", default=[], choices=(*KINDS, *SNP_KINDS), metavar="KIND")
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    if arguments.calibration:
        return calibration(arguments.calibration, arguments.sets, arguments.only)
    if arguments.many:
        return max(many(p) for p in arguments.many)
    if arguments.recall:
        return recall(arguments.seeds)
    failed = speed(arguments.labelings)
    if arguments.all:
        failed |= bench_correlation.speed(arguments.labelings) | bench_snp_pairs.speed(20_000, full=False)
    return failed


if __name__ == "__main__":
    sys.exit(main())
