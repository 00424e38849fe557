"""Ties of the RELIEF family: whole numbers have neighbours at equal distances, and a rule says which of them count.

    python -m benchmarks.bench_relief_ties [--tables 10] [--repeats 7] [--only changes rows rules cost]

* ``changes``: by how much of the largest score scores change with the order of columns, the storage and the precision:
  the largest of all tables, 150 x 30. Rounding alone is 1e-15 in float64 and 1e-6 in float32;
* ``rows``: how many of the best 20 of 100 features stay if the rows come in another order: median and least of all
  tables of 200 samples, which give their ties to other rows then;
* ``rules``: ReliefF in NumPy with three rules for the samples that tie at the border of the 10 neighbours: the lowest
  row, a row at random, or all of them, which share the places that are left. The worse rank of a pair of features whose
  exclusive or is the class (a tenth of the labels flipped), how far scores are from scikit-rebate's, of the largest,
  and how many neighbours a target has;
* ``cost``: ReliefF and MultiSURF of numbers without ties, and of whole numbers in float32, whose distances are added up
  in double unless float sums are exact.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

import fastfs
from benchmarks import harness
from benchmarks.harness import Report

K = 10
TABLES: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "counts": lambda rng, n, p: rng.poisson(rng.uniform(0.3, 4, size=p), size=(n, p)),
    "rare counts": lambda rng, n, p: rng.poisson(0.15, size=(n, p)),
    "bits": lambda rng, n, p: rng.integers(0, 2, size=(n, p)),
    "genotypes": lambda rng, n, p: rng.binomial(2, rng.uniform(0.1, 0.5, size=p), size=(n, p)),
    "five answers": lambda rng, n, p: rng.integers(1, 6, size=(n, p)),
    "six answers": lambda rng, n, p: rng.integers(1, 7, size=(n, p)),
}
CORES: dict[str, Callable[[], Any]] = {
    "RELIEF": fastfs.Relief,
    "ReliefF": fastfs.ReliefF,
    "mu-Relief": fastfs.MuRelief,
    "RReliefF": fastfs.RReliefF,
    "SURF": fastfs.SURF,
    "MultiSURF": fastfs.MultiSURF,
    "SWRF": fastfs.SWRF,
}
WRAPPED: dict[str, Callable[[], Any]] = {
    "TuRF of ReliefF": lambda: fastfs.TuRF(fastfs.ReliefF(), n_features_to_select=20),
    "TuRF of MultiSURF": lambda: fastfs.TuRF(fastfs.MultiSURF(), n_features_to_select=20),
    "VLS of ReliefF": lambda: fastfs.VLS(fastfs.ReliefF(), random_state=0),
    "VLS of MultiSURF": lambda: fastfs.VLS(fastfs.MultiSURF(), random_state=0),
}


def draw(table: str, seed: int, n: int, p: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, classes, which the first ten features say something about, and numbers."""
    rng = np.random.default_rng([seed, len(table)])
    X = TABLES[table](rng, n, p).astype(float)
    signal = X[:, :10] @ rng.normal(size=10)
    signal = signal / signal.std() + rng.normal(size=n)
    return X, (signal > np.median(signal)).astype(int), signal


def scores_of(make: Callable[[], Any], X: Any, y: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastfs.DataWarning)
        found: np.ndarray = make().fit(X, y).scores_
    return found


def changes(report: Report, tables: int) -> None:
    report.heading("largest change of scores, of the largest score: 150 x 30")
    for name, make in CORES.items():
        worst: dict[str, float] = {}
        for table in TABLES:
            for seed in range(tables):
                X, classes, numbers = draw(table, seed, 150, 30)
                y = numbers if name == "RReliefF" else classes
                columns = np.random.default_rng(seed).permutation(X.shape[1])
                expected = scores_of(make, X, y)
                moved = np.empty_like(expected)
                moved[columns] = scores_of(make, X[:, columns], y)
                for what, found in {
                    "columns": moved,
                    "CSR": scores_of(make, sp.csr_matrix(X), y),
                    "float32": scores_of(make, X.astype(np.float32), y),
                }.items():
                    change = float(np.abs(found - expected).max() / np.abs(expected).max())
                    worst[what] = max(worst.get(what, 0.0), change)
        for what, change in worst.items():
            report.row(f"{name}: {what}", change, at_most=1e-5 if what == "float32" else 1e-10)


def rows(report: Report, tables: int) -> None:
    report.heading("how many of the best 20 of 100 features stay in another order of the rows, 200 samples")
    for name, make in (CORES | WRAPPED).items():
        for table in ("counts", "bits", "genotypes", "five answers"):
            kept = []
            for seed in range(tables):
                X, classes, numbers = draw(table, seed, 200, 100)
                y = numbers if name == "RReliefF" else classes
                order = np.random.default_rng(seed).permutation(len(X))
                best = [set(np.argsort(-s, kind="stable")[:20].tolist())
                        for s in (scores_of(make, X, y), scores_of(make, X[order], y[order]))]  # fmt: skip
                kept.append(len(best[0] & best[1]))
            report.row(f"{name}, {table}", f"{np.median(kept):.4g} ({min(kept)} .. {max(kept)})")


def share_of_border(distances: np.ndarray, candidates: np.ndarray, rule: str, rng: np.random.Generator) -> np.ndarray:
    """How much each candidate counts: K in all."""
    key = np.round(distances[candidates], 9)
    border = np.sort(key)[K - 1]
    taken = (key < border).astype(float)
    tied = np.flatnonzero(key == border)
    left = K - taken.sum()
    if rule == "shared":
        taken[tied] = left / len(tied)
    else:
        taken[tied[: int(left)] if rule == "lowest row" else rng.permutation(tied)[: int(left)]] = 1
    return taken


def relieff(X: np.ndarray, y: np.ndarray, rule: str, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Scores of two classes with equal priors, and how many neighbours a target has."""
    Z = X / np.ptp(X, axis=0)
    D = np.abs(Z[:, None] - Z[None]).sum(axis=2)
    scores, n_neighbors = np.zeros(X.shape[1]), 0
    for n in range(len(X)):
        for c in (0, 1):
            candidates = np.flatnonzero((y == c) & (np.arange(len(X)) != n))
            taken = share_of_border(D[n], candidates, rule, rng)
            n_neighbors += np.count_nonzero(taken)
            mean = taken @ np.abs(Z[candidates] - Z[n]) / K
            scores += -mean if c == y[n] else mean
    return scores / len(X), n_neighbors / len(X)


def skrebate_scores(X: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    try:
        import skrebate  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None
    model = skrebate.ReliefF(n_neighbors=K, categorical_features=np.empty(0, int), n_jobs=1)
    found: np.ndarray = model.fit(X, y).feature_importances_
    return found


def rules(report: Report, tables: int) -> None:
    report.heading("rules for ties at the border: ReliefF of an exclusive or, 200 x 60, K = 10 of each class")
    for table in ("counts", "bits", "genotypes", "five answers"):
        ranks: dict[str, list[float]] = {}
        apart: dict[str, list[float]] = {}
        counted: dict[str, list[float]] = {}
        for seed in range(tables):
            rng = np.random.default_rng(seed)
            X = TABLES[table](rng, 200, 60).astype(float)
            halves = X[:, :2] > np.median(X[:, :2], axis=0) - (table == "bits") * 0.5
            y = (halves[:, 0] ^ halves[:, 1] ^ (rng.random(200) < 0.1)).astype(int)
            theirs = skrebate_scores(X, y)
            for rule in ("lowest row", "random", "shared"):
                scores, n_neighbors = relieff(X, y, rule, rng)
                place = np.argsort(np.argsort(-scores, kind="stable"))[:2] + 1
                ranks.setdefault(rule, []).append(float(place.max()))
                counted.setdefault(rule, []).append(n_neighbors)
                if theirs is not None:
                    apart.setdefault(rule, []).append(float(np.abs(scores - theirs).max() / np.abs(theirs).max()))
        for rule, found in ranks.items():
            report.row(
                f"{table}, {rule}: rank",
                f"{np.median(found):.4g} (mean {np.mean(found):.1f})",
                note=f"{np.mean(counted[rule]):.1f} neighbours a target"
                + (f", {np.median(apart[rule]):.3f} from scikit-rebate" if rule in apart else ""),
            )


def cost(report: Report, repeats: int) -> None:
    report.heading("time on one thread, 1000 x 5000")
    rng = np.random.default_rng(0)
    y = np.arange(1000) % 2
    numbers = rng.normal(size=(1000, 5000))
    answers = {m: rng.integers(0, m + 1, size=(1000, 5000)) for m in (4, 5)}
    tables = {
        "numbers, float64": numbers,
        "numbers, float32": numbers.astype(np.float32),
        "five answers, float32, whose sums are exact": answers[4].astype(np.float32),
        "six answers, float32": answers[5].astype(np.float32),
    }
    for name, score in (("ReliefF", fastfs.relieff_scores), ("MultiSURF", fastfs.multisurf_scores)):
        times = harness.compare(
            {what: (lambda X=X, score=score: score(X, y, n_threads=1)) for what, X in tables.items()}, repeats
        )
        for what, timing in times.items():
            report.row(f"{name}, {what}", timing.text(), note=harness.load())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", nargs="+", default=["changes", "rows", "rules", "cost"])
    arguments = parser.parse_args()
    harness.machine()
    report = Report()
    for name, part in {"changes": changes, "rows": rows, "rules": rules}.items():
        if name in arguments.only:
            part(report, arguments.tables)
    if "cost" in arguments.only:
        cost(report, arguments.repeats)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
